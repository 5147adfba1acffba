/* See order.h. */
#include "passes/order.h"

#include <stdlib.h>
#include <string.h>

typedef struct access {
    int write[TT_N_QUEUES], read[TT_N_QUEUES]; /* last access on each queue, -1 = none */
} access;

typedef struct orderer {
    tt_program *p;
    tt_instr_list *code;
    tt_clock *clock;   /* before each instruction */
    access *of;        /* by root value */
    int *kept; /* room for one instruction's waits */
    int last[TT_N_QUEUES];
    int block;
    int reduce_before; /* last reduce instruction issued before the current block */
} orderer;

static void wait_for(orderer *o, int j, int i)
{
    tt_instr *x = &o->code->at[j];
    int q = i >= 0 ? (int)o->code->at[i].queue : -1;
    if (i < 0 || q == (int)x->queue || o->clock[j].at[q] >= i)
        return;
    tt_clock c = tt_clock_after(o->code, o->clock, i);
    tt_clock_join(&o->clock[j], &c);
    int *wait = tt_arena_alloc(o->p->arena, sizeof(int) * (size_t)(x->n_wait + 1));
    if (x->n_wait)
        memcpy(wait, x->wait, sizeof(int) * (size_t)x->n_wait);
    wait[x->n_wait++] = i;
    x->wait = wait;
}

/* Forget waits that another wait of the same instruction implies, and mark those that are left. */
static void keep_needed(orderer *o, int j)
{
    tt_instr *x = &o->code->at[j];
    int n = 0;
    for (int w = 0; w < x->n_wait; w++) {
        int implied = 0;
        for (int v = 0; v < x->n_wait && !implied; v++) {
            tt_clock c = tt_clock_after(o->code, o->clock, x->wait[v]);
            implied = x->wait[v] > x->wait[w] && c.at[o->code->at[x->wait[w]].queue] >= x->wait[w];
        }
        if (!implied)
            o->kept[n++] = x->wait[w];
    }
    for (int w = 0; w < n; w++) {
        x->wait[w] = o->kept[w];
        o->code->at[x->wait[w]].signals = 1;
    }
    x->n_wait = n;
}

static void wait_operands(orderer *o, int j)
{
    const tt_instr x = o->code->at[j];
    for (int k = 0; k < x.n_in; k++) {
        access *a = &o->of[tt_value_root(o->p, x.in[k])];
        for (int q = 0; q < TT_N_QUEUES; q++)
            wait_for(o, j, a->write[q]);
    }
    for (int k = 0; k < x.n_out; k++) {
        access *a = &o->of[tt_value_root(o->p, x.out[k])];
        for (int q = 0; q < TT_N_QUEUES; q++) {
            wait_for(o, j, a->write[q]);
            wait_for(o, j, a->read[q]);
        }
    }
    for (int k = 0; k < x.n_in; k++)
        o->of[tt_value_root(o->p, x.in[k])].read[x.queue] = j;
    for (int k = 0; k < x.n_out; k++)
        o->of[tt_value_root(o->p, x.out[k])].write[x.queue] = j;
}

/* Compute stays at most one block ahead of the reductions: while a block computes, the gradients of the one before it are
 * on their way, and the space of those before that is free again. */
static void hold_back(orderer *o, int j)
{
    const tt_instr *x = &o->code->at[j];
    if (x->queue != TT_Q_COMPUTE || x->block == o->block)
        return;
    wait_for(o, j, o->reduce_before);
    o->block = x->block;
    o->reduce_before = o->last[TT_Q_REDUCE];
}

static void order_part(tt_program *p, tt_instr_list *code, access *of)
{
    orderer o = {.p = p, .code = code, .of = of, .block = -1, .reduce_before = -1};
    memset(o.last, 0xff, sizeof o.last);
    memset(of, 0xff, sizeof *of * (size_t)p->n_values);
    o.clock = malloc(sizeof *o.clock * (size_t)(code->n + 1));
    o.kept = malloc(sizeof *o.kept * (size_t)(code->n + 1));
    TT_ASSERT(o.clock && o.kept);
    for (int j = 0; j < code->n; j++) {
        tt_instr *x = &code->at[j];
        x->n_wait = 0;
        x->signals = 0;
        if (o.last[x->queue] >= 0)
            o.clock[j] = tt_clock_after(code, o.clock, o.last[x->queue]);
        else
            memset(&o.clock[j], 0xff, sizeof o.clock[j]);
        hold_back(&o, j);
        if (x->after_compute)
            wait_for(&o, j, o.last[TT_Q_COMPUTE]);
        wait_operands(&o, j);
        keep_needed(&o, j);
        o.last[x->queue] = j;
    }
    free(o.clock);
    free(o.kept);
}

void tt_order(tt_program *p)
{
    access *of = malloc(sizeof *of * (size_t)(p->n_values + 1));
    TT_ASSERT(of);
    for (int i = 0; i < TT_N_PARTS; i++)
        order_part(p, &p->part[i].code, of);
    free(of);
}
