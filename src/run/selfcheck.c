/* See selfcheck.h. */
#include "run/selfcheck.h"

#include "base/log.h"
#include "run/feed.h"

#include <math.h>
#include <stdlib.h>

typedef struct worst {
    double off;
    const char *name; /* borrowed from the tensors compared */
} worst;

static tt_status first_gradients(tt_engine *e, const tt_loader *loader, int64_t seed, int64_t cursor,
                                 tt_ckpt_tensor **grads, int *n, tt_error *err)
{
    tt_step_result r;
    tt_status st;
    TT_TRY(tt_engine_init(e, seed, err));
    TT_TRY(tt_feed_step(e, loader, cursor, err));
    TT_TRY(tt_engine_step(e, 1, 0, 0, &r, err));
    TT_TRY(tt_engine_fetch_grads(e, err));
    tt_engine_grad_tensors(e, grads, n);
out:
    return st;
}

/* This rank's box of a gradient against the whole one. */
static double compare(const tt_ckpt_tensor *part, const tt_ckpt_tensor *whole)
{
    const int two = part->ndim > 1;
    const int64_t cols = two ? whole->pitch[1] : 1, n_cols = two ? part->count[1] : 1;
    const int64_t pitch = two ? part->pitch[1] : 1, c0 = two ? part->start[1] : 0;
    const float *a = part->data, *b = whole->data;
    double largest = 1e-30, off = 0;
    for (int64_t i = 0; i < whole->shape[0] * cols; i++)
        largest = fmax(largest, fabs(b[i]));
    for (int64_t i = 0; i < part->count[0]; i++)
        for (int64_t j = 0; j < n_cols; j++) {
            double d = fabs((double)a[i * pitch + j] - b[(part->start[0] + i) * cols + c0 + j]);
            off = d > off || d != d ? d : off;
        }
    return off / largest;
}

tt_status tt_selfcheck(tt_world *world, tt_engine *e, const tt_compile_opts *opts, const tt_loader *loader,
                       int64_t seed, int64_t cursor, tt_error *err)
{
    const int alone_degree[TT_N_AXES] = {1, 1, 1, 1, 1};
    const double tolerance = opts->compute_dtype == TT_F32 ? 1e-5 : 5e-2;
    tt_mesh alone_mesh;
    tt_engine *alone = NULL;
    tt_ckpt_tensor *parts = NULL, *wholes = NULL;
    tt_compile_opts o = *opts;
    worst w = {0};
    int n;
    tt_status st;
    TT_TRY(first_gradients(e, loader, seed, cursor, &parts, &n, err));
    o.n_microbatches = (int)(tt_feed_global_batch(e) / o.batch);
    o.eval_batch = 0;
    TT_TRY(tt_mesh_create(alone_degree, 1, 0, &alone_mesh, err));
    TT_TRY(tt_world_agree(world, tt_engine_create(world, &alone_mesh, e->model, e->device, &o, &alone, err), err));
    TT_TRY(first_gradients(alone, loader, seed, cursor, &wholes, &n, err));
    for (int i = 0; i < n; i++) {
        double off = compare(&parts[i], &wholes[i]);
        if (off > w.off || off != off)
            w = (worst){off, parts[i].name};
    }
    if (!(w.off <= tolerance))
        st = tt_fail(err, TT_ERR_INTERNAL, "selfcheck: %s differs from one rank's by %.2e of its largest element (allowed "
                     "%.0e): this mesh trains another model; please report it with the configuration", w.name, w.off,
                     tolerance);
    TT_TRY(tt_world_agree(world, st, err));
    tt_world_max_f64(world, &w.off, 1);
    tt_log_root(INFO, "selfcheck: every gradient of this mesh is one rank's (worst %.1e of a tensor's largest)", w.off);
out:
    free(parts);
    free(wholes);
    tt_engine_destroy(&alone);
    return st;
}
