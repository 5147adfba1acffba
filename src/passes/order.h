/* Queues and events: who waits for whom.
 *
 * Issue order is program order. Queues run beside each other, each in its own order; an instruction waits for the events
 * of earlier instructions whose results it reads or whose operands it overwrites, unless that is already implied. */
#ifndef TT_PASSES_ORDER_H
#define TT_PASSES_ORDER_H

#include "graph/clock.h"
#include "graph/ops.h"

/** Set wait lists and signals of every part. */
void tt_order(tt_program *p);

#endif
