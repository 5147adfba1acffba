/* See feed.h. */
#include "run/feed.h"

#include <stdlib.h>

static int dp_size(const tt_engine *e)
{
    return tt_mesh_group_size(&e->program->mesh, TT_MASK_BATCH);
}

int64_t tt_feed_global_batch(const tt_engine *e)
{
    return (int64_t)e->program->train.batch * e->program->n_microbatches * dp_size(e);
}

tt_status tt_feed_step(tt_engine *e, const tt_loader *loader, int64_t cursor, tt_error *err)
{
    const tt_program *p = e->program;
    const int64_t me = tt_mesh_group_rank(&p->mesh, TT_MASK_BATCH);
    tt_status st = TT_OK;
    for (int m = 0; m < p->n_microbatches && st == TT_OK; m++) {
        tt_microbatch b = tt_engine_microbatch(e, m);
        int64_t first = cursor + (m * (int64_t)dp_size(e) + me) * p->train.batch;
        st = tt_loader_get(loader, first, p->train.batch, b.tokens, b.targets, b.positions, b.doc_start, err);
    }
    return st;
}

tt_status tt_feed_start(const tt_engine *e, const tt_loader *loader, int64_t cursor, int depth, tt_prefetch **prefetch,
                        tt_error *err)
{
    const tt_program *p = e->program;
    return tt_prefetch_start(&(tt_prefetch_opts){.loader = loader,
                                                 .seq_len = p->train.seq_len,
                                                 .batch = p->train.batch,
                                                 .n_microbatches = p->n_microbatches,
                                                 .offset = (int64_t)tt_mesh_group_rank(&p->mesh, TT_MASK_BATCH) * p->train.batch,
                                                 .stride = (int64_t)dp_size(e) * p->train.batch,
                                                 .step_rows = tt_feed_global_batch(e),
                                                 .depth = depth},
                             cursor, prefetch, err);
}

tt_status tt_feed_take(tt_engine *e, tt_prefetch *prefetch, int64_t cursor, tt_error *err)
{
    const int n = e->program->n_microbatches;
    tt_rows *rows = calloc((size_t)n, sizeof *rows);
    TT_ASSERT(rows);
    for (int m = 0; m < n; m++) {
        const tt_microbatch b = tt_engine_microbatch(e, m);
        rows[m] = (tt_rows){b.tokens, b.targets, b.positions, b.doc_start};
    }
    tt_status st = tt_prefetch_take(prefetch, cursor, rows, NULL, err);
    free(rows);
    return st;
}

/* Rows from `first` on; those at or past `end` make no loss. */
static tt_status fill_eval(tt_engine *e, const tt_loader *loader, int64_t first, int64_t end, tt_error *err)
{
    const tt_inputs *in = &e->program->eval;
    tt_microbatch b = tt_engine_eval_inputs(e);
    tt_status st = tt_loader_get(loader, first, in->batch, b.tokens, b.targets, b.positions, b.doc_start, err);
    for (int64_t r = 0; r < in->batch; r++)
        for (int64_t i = 0; first + r >= end && i < in->seq_len; i++)
            b.targets[r * in->seq_len + i] = TT_TARGET_NONE;
    return st;
}

tt_status tt_feed_validate(tt_engine *e, const tt_loader *loader, int64_t batches, double *loss, double *tokens,
                           tt_error *err)
{
    const int64_t batch = e->program->eval.batch, dp = dp_size(e);
    const int64_t me = tt_mesh_group_rank(&e->program->mesh, TT_MASK_BATCH);
    int64_t end = INT64_MAX;
    if (batches < 0) {
        end = tt_loader_samples_per_epoch(loader);
        batches = tt_ceil_div(end, batch * dp);
    }
    tt_status st;
    TT_TRY(tt_engine_eval_begin(e, err));
    for (int64_t i = 0; i < batches; i++) {
        TT_TRY(fill_eval(e, loader, (i * dp + me) * batch, end, err));
        TT_TRY(tt_engine_eval_batch(e, err));
    }
    TT_TRY(tt_engine_eval_end(e, loss, tokens, err));
out:
    return st;
}
