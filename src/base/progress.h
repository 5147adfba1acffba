/* How far a long job over bytes is: a bar that is drawn anew on a terminal, a line now and then elsewhere (a batch job's log). */
#ifndef TT_BASE_PROGRESS_H
#define TT_BASE_PROGRESS_H

#include <stdint.h>
#include <stdio.h>

typedef struct tt_progress {
    FILE *out;
    int terminal;       /* 1: one line that is drawn anew */
    const char *things; /* what is counted beside bytes ("tokens"); borrowed */
    int64_t total;      /* bytes to do; 0: not known */
    double begun, last; /* times, tt_clock_s */
    int drawn;          /* columns of the line on the terminal */
} tt_progress;

/** Begin at time `now` (tt_clock_s). A terminal is found out by isatty. */
void tt_progress_begin(tt_progress *progress, FILE *out, const char *things, int64_t total, double now);
/** Say that `done` of the bytes are done, `bytes` came out of them (the same number when nothing is packed) and `count` things. Draws five
 *  times a second on a terminal, else a line every ten seconds. */
void tt_progress_show(tt_progress *progress, int64_t done, int64_t bytes, int64_t count, double now);
/** Wipe what is drawn. */
void tt_progress_end(tt_progress *progress);

/** "1.23 M" for 1234567: three digits and k, M, G or T. */
const char *tt_progress_number(double value, char out[16]);

#endif
