/* Queues and events: who waits for whom.
 *
 * Issue order is program order. Queues run beside each other, each in its own order; an instruction waits for the events
 * of earlier instructions whose results it reads or whose operands it overwrites, unless that is already implied. */
#ifndef TT_PASSES_ORDER_H
#define TT_PASSES_ORDER_H

#include "graph/ops.h"

/** Set wait lists and signals of every part. */
void tt_order(tt_program *p);

/* What is known to be finished: clock[j].at[q] = the last instruction of queue q that is done before j starts, -1 none. */
typedef struct tt_clock {
    int at[TT_N_QUEUES];
} tt_clock;

/** The clocks of a part, from its wait lists alone (malloc'd, one per instruction; caller frees). */
tt_clock *tt_clocks(const tt_instr_list *code);

#endif
