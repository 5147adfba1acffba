/* See clock.h. */
#include "graph/clock.h"

#include <stdlib.h>
#include <string.h>

void tt_clock_join(tt_clock *c, const tt_clock *other)
{
    for (int q = 0; q < TT_N_QUEUES; q++)
        if (other->at[q] > c->at[q])
            c->at[q] = other->at[q];
}

tt_clock tt_clock_after(const tt_instr_list *code, const tt_clock *clock, int i)
{
    tt_clock c = clock[i];
    c.at[code->at[i].queue] = i;
    return c;
}

tt_clock *tt_clocks(const tt_instr_list *code)
{
    tt_clock *clock = malloc(sizeof *clock * (size_t)(code->n + 1));
    int last[TT_N_QUEUES];
    TT_ASSERT(clock);
    memset(last, 0xff, sizeof last);
    for (int j = 0; j < code->n; j++) {
        const tt_instr *x = &code->at[j];
        if (last[x->queue] >= 0)
            clock[j] = tt_clock_after(code, clock, last[x->queue]);
        else
            memset(&clock[j], 0xff, sizeof clock[j]);
        for (int k = 0; k < x->n_wait; k++) {
            tt_clock c = tt_clock_after(code, clock, x->wait[k]);
            tt_clock_join(&clock[j], &c);
        }
        last[x->queue] = j;
    }
    return clock;
}
