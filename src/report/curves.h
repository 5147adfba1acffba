/* The report in a terminal: curves in braille or plain characters, and where the time goes. */
#ifndef TT_REPORT_CURVES_H
#define TT_REPORT_CURVES_H

#include "report/runlog.h"

#include <stdio.h>

typedef struct tt_curves_opts {
    int width;     /* columns, at least 40 */
    int unicode;   /* 1: braille and blocks, 0: ASCII */
    int color;     /* 1: a colour per run */
    const char *x; /* "step", "tokens" or "time" */
} tt_curves_opts;

/** Print loss, validation loss, gradient norm, learning rate, throughput, MFU and memory of n runs, as far as they have values,
 *  each run's time by kind, and a line of figures for each. Without colours several runs are told apart by characters. */
void tt_curves_print(const tt_runlog *runs, int n, const tt_curves_opts *opts, FILE *out);

#endif
