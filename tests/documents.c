/* Documents packed in one row do not see each other: positions restart, attention stays inside, and what stands beside a
 * document changes neither its loss nor its gradients, bit for bit. */
#include "data/loader.h"
#include "run/engine.h"
#include "tap.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { T = 24, V = 64 };

static const tt_model_dims dims = {.dim = 32, .n_layers = 3, .n_heads = 8, .n_kv_heads = 4, .head_dim = 4, .ffn_dim = 40,
                                   .vocab_size = V, .norm_eps = 1e-5, .rope_theta = 10000};

static tt_engine *make(tt_world *world, tt_device *device, const tt_model *model, int seq_len, int recompute)
{
    const int alone[TT_N_AXES] = {1, 1, 1, 1, 1};
    tt_mesh mesh;
    tt_error err = {0};
    tt_engine *e = NULL;
    const tt_compile_opts o = {.seq_len = seq_len, .batch = 1, .n_microbatches = 1, .compute_dtype = TT_F32, .logits_bytes_max = 4096,
                               .recompute = {.mode = recompute ? TT_AC_FULL : TT_AC_NONE}, .verify = 1};
    if (tt_mesh_create(alone, 1, 0, &mesh, &err) != TT_OK || tt_engine_create(world, &mesh, model, device, &o, &e, &err) != TT_OK ||
        tt_engine_init(e, 3, &err) != TT_OK)
        diag("%s", err.text);
    return e;
}

/* A row whose documents begin where begin[i] is set; only targets of from .. to-1 count. salt changes the tokens outside of them. */
static void fill(tt_engine *e, int n, const char *begin, int from, int to, unsigned salt)
{
    tt_microbatch b = tt_engine_microbatch(e, 0);
    for (int i = 0, start = 0; i < n; i++) {
        start = begin[i] ? i : start;
        const int inside = i >= from && i < to;
        b.tokens[i] = (int32_t)(((unsigned)i * 2654435761u >> 8) + (inside ? 0 : salt * 40503u * (unsigned)(i + 1))) % V;
        b.targets[i] = inside && i + 1 < to ? (int32_t)((unsigned)(i + 1) * 2654435761u >> 8) % V : TT_TARGET_NONE;
        b.positions[i] = i - start;
        b.doc_start[i] = start;
    }
}

/* Loss and all gradients of the row; *n floats, malloc'd. */
static float *gradients(tt_engine *e, double *loss, int64_t *n)
{
    tt_step_result r;
    tt_error err = {0};
    tt_ckpt_tensor *t;
    int count;
    float *all = NULL;
    *n = 0;
    if (tt_engine_step(e, 1, 0.1, 0, &r, &err) != TT_OK || tt_engine_fetch_grads(e, &err) != TT_OK)
        diag("%s", err.text);
    *loss = r.loss;
    tt_engine_grad_tensors(e, &t, &count);
    for (int i = 0; i < count; i++) {
        int64_t elements = 1;
        for (int d = 0; d < t[i].ndim; d++)
            elements *= t[i].pitch[d];
        all = realloc(all, (size_t)(*n + elements) * sizeof *all);
        memcpy(all + *n, t[i].data, (size_t)elements * sizeof *all);
        *n += elements;
    }
    free(t);
    return all;
}

/* The document from .. to-1 of a row, with two fillings of all else. */
static void others_do_not_matter(tt_engine *e, const char *begin, int from, int to, const char *what)
{
    double loss[2];
    int64_t n[2];
    float *g[2];
    for (int k = 0; k < 2; k++) {
        fill(e, T, begin, from, to, (unsigned)k * 7 + 1);
        g[k] = gradients(e, &loss[k], &n[k]);
    }
    ok(loss[0] == loss[1] && n[0] == n[1] && !memcmp(g[0], g[1], (size_t)n[0] * sizeof *g[0]) && loss[0] > 1,
       "%s: other neighbours, the same loss %.9g and gradients, bit for bit", what, loss[0]);
    free(g[0]);
    free(g[1]);
}

/* The same document alone in a row of its own length. */
static void as_if_alone(tt_world *world, tt_device *device, const tt_model *model, tt_engine *e, const char *begin, int from, int to,
                        const char *what)
{
    double loss[2], worst = 0, most = 0;
    int64_t n[2];
    fill(e, T, begin, from, to, 5);
    float *packed = gradients(e, &loss[0], &n[0]);
    tt_engine *own = make(world, device, model, to - from, 0);
    tt_microbatch b = tt_engine_microbatch(e, 0), o = tt_engine_microbatch(own, 0);
    for (int i = 0; i < to - from; i++) {
        o.tokens[i] = b.tokens[from + i];
        o.targets[i] = b.targets[from + i];
        o.positions[i] = i;
        o.doc_start[i] = 0;
    }
    float *alone = gradients(own, &loss[1], &n[1]);
    for (int64_t i = 0; i < n[0] && n[0] == n[1]; i++) {
        worst = fmax(worst, fabs((double)packed[i] - alone[i]));
        most = fmax(most, fabs((double)alone[i]));
    }
    ok(n[0] == n[1] && fabs(loss[0] - loss[1]) < 1e-6 && worst < 1e-5 * most, "%s: as if it were alone (loss %.1e, gradients %.1e off)",
       what, fabs(loss[0] - loss[1]), worst / most);
    free(packed);
    free(alone);
    tt_engine_destroy(&own);
}

int main(void)
{
    static const struct {
        const char *what;
        int from, to;
    } rows[] = {{"the second of two", 9, T}, {"the first of two", 0, 9}, {"the middle one of three", 7, 15},
                {"all but the first token", 1, T}, {"all but the last token", 0, T - 1},
                {"two tokens among lone ones", 11, 13}};
    tt_error err = {0};
    tt_world *world = NULL;
    tt_device *device = NULL;
    tt_model *model = NULL;
    if (tt_world_open(&world, &err) != TT_OK || tt_device_create_cpu(1, &device, &err) != TT_OK ||
        tt_model_create("llama3", &dims, &model, &err) != TT_OK)
        return 1;
    for (int recompute = 0; recompute < 2; recompute++) {
        tt_engine *e = make(world, device, model, T, recompute);
        for (size_t k = 0; k < sizeof rows / sizeof rows[0]; k++) {
            char begin[T] = {1}, what[100];
            begin[rows[k].from] = 1;
            if (rows[k].to < T)
                begin[rows[k].to] = 1;
            if (k == 5) /* every other token is a document */
                for (int i = 0; i < T; i++)
                    begin[i] = i != rows[k].from + 1;
            snprintf(what, sizeof what, "%s%s", rows[k].what, recompute ? ", recomputed" : "");
            others_do_not_matter(e, begin, rows[k].from, rows[k].to, what);
            as_if_alone(world, device, model, e, begin, rows[k].from, rows[k].to, what);
        }
        tt_engine_destroy(&e);
    }
    tt_model_destroy(&model);
    tt_device_destroy(&device);
    tt_world_close(&world, TT_OK, &err);
    return done_testing();
}
