/* Vector clocks of a part: what its events prove to be finished before each instruction starts. */
#ifndef TT_GRAPH_CLOCK_H
#define TT_GRAPH_CLOCK_H

#include "graph/program.h"

/* What is known to be finished: clock[j].at[q] = the last instruction of queue q that is done before j starts, -1 none. */
typedef struct tt_clock {
    int at[TT_N_QUEUES];
} tt_clock;

/** The clocks of a part, from its wait lists alone (malloc'd, one per instruction; caller frees). */
tt_clock *tt_clocks(const tt_instr_list *code);

/** c = the later of both, queue by queue. */
void tt_clock_join(tt_clock *c, const tt_clock *other);
/** What is known once instruction i is done. */
tt_clock tt_clock_after(const tt_instr_list *code, const tt_clock *clock, int i);

#endif
