/* Where the time of a step goes: one line per op kind, from the executor's own measurements. */
#ifndef TT_PROFILE_OP_TABLE_H
#define TT_PROFILE_OP_TABLE_H

#include "profile/ceilings.h"
#include "run/executor.h"

#include <stdio.h>

/** Print the ops that took time, the dearest first: calls a step, milliseconds, share of the step's wall time, and the
 *  rate that bounds it (GFLOP/s of products and attention, of which the causal half counts; GB/s of operands for the rest)
 *  with its share of the ceiling. `steps` steps took `seconds` of wall time; what no op explains, the share of products and
 *  the ceilings themselves follow. ceilings: NULL leaves them out. */
void tt_op_table_print(const tt_op_time *times, int steps, double seconds, const tt_ceilings *ceilings, FILE *out);

#endif
