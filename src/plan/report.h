/* Tables for people: what a program reserves, what it sends, and what to change when it does not fit. */
#ifndef TT_PLAN_REPORT_H
#define TT_PLAN_REPORT_H

#include "plan/cost.h"

#include <stdio.h>

/** MiB per purpose, what fills the scratch at its fullest moment, the ten largest values. limit > 0: bytes that may be
 *  reserved; when the program needs more, what to change, largest saving first. Returns 1 when it fits (or limit is 0). */
int tt_program_print_memory(const tt_program *p, FILE *out, int64_t limit);

/** Per part, group of axes and op: how often, and the bytes that this rank sends, in one training step and in one
 *  validation batch. */
void tt_program_print_comm(const tt_program *p, FILE *out);

#endif
