/* See guard.h. */
#include "run/guard.h"

#include "graph/ops.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

static uint64_t communications(const tt_program *p)
{
    XXH64_hash_t h = 0;
    for (int part = 0; part < TT_N_PARTS; part++)
        for (int k = 0; k < p->part[part].code.n; k++) {
            const tt_instr *i = &p->part[part].code.at[k];
            if (!tt_op_is_comm(i->op))
                continue;
            int64_t row[4] = {part, i->op, i->attr.axes, i->n_in};
            h = XXH3_64bits_withSeed(row, sizeof row, h);
            for (int a = 0; a < i->n_in; a++) {
                int64_t bytes = (int64_t)tt_value_local_bytes(&p->value[i->in[a]]);
                h = XXH3_64bits_withSeed(&bytes, sizeof bytes, h);
            }
        }
    return h;
}

tt_status tt_guard_same_program(tt_world *world, const tt_program *p, tt_error *err)
{
    int64_t mine = (int64_t)(communications(p) >> 1), first = mine;
    tt_world_broadcast(world, &first, sizeof first, 0);
    tt_status st = TT_OK;
    if (mine != first)
        st = tt_fail(err, TT_ERR_INTERNAL,
                     "this rank's communications are not rank 0's: it would wait forever; use one "
                     "build and one "
                     "configuration on all ranks, and if it was so, please report it");
    return tt_world_agree(world, st, err);
}

/* Index of the first tensor with a value that is not finite, -1 when all are. */
static int first_bad(const tt_ckpt_tensor *t, int n)
{
    for (int i = 0; i < n; i++) {
        int64_t elements = 1;
        for (int d = 0; d < t[i].ndim; d++)
            elements *= t[i].pitch[d];
        const float *x = t[i].data;
        for (int64_t k = 0; k < elements; k++)
            if (!isfinite(x[k]))
                return i;
    }
    return -1;
}

tt_status tt_guard_explain(tt_world *world, tt_engine *e, int64_t step, int64_t cursor, const tt_step_result *r,
                           tt_error *err)
{
    tt_ckpt_tensor *t;
    int n;
    tt_status st = tt_engine_fetch_grads(e, err);
    if (st != TT_OK)
        return st;
    tt_engine_grad_tensors(e, &t, &n);
    int mine = first_bad(t, n);
    /* the lowest tensor over all ranks, and the lowest rank that has it */
    int64_t lowest = mine < 0 ? -(int64_t)n : -(int64_t)mine;
    tt_world_max_i64(world, &lowest, 1);
    int64_t rank = mine >= 0 && -mine == lowest ? -(int64_t)tt_world_rank(world) : INT64_MIN;
    tt_world_max_i64(world, &rank, 1);
    char where[300];
    if (-lowest < n)
        snprintf(where, sizeof where, "the first gradient that is not finite is %s on rank %lld",
                 t[-lowest].name + strlen("grad/"), (long long)-rank);
    else
        snprintf(where, sizeof where, "every gradient is finite, their norm is too large to be a float");
    free(t);
    return tt_fail(err, TT_ERR_NONFINITE,
                   "step %lld: loss %g, gradient norm %g (samples from %lld on): %s; nothing was updated. A "
                   "checkpoint of an earlier step, where there is one, is sound: go on from it with a lower optimizer.lr, a longer warmup, or without these samples",
                   (long long)step, r->loss, r->grad_norm, (long long)cursor, where);
}
