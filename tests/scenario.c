/* See scenario.h. */
#include "scenario.h"

#include "tap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    tt_model_dims dims;
} models[N_MODELS] = {
    {"gqa", {.dim = 32, .n_layers = 3, .n_heads = 8, .n_kv_heads = 4, .head_dim = 4, .ffn_dim = 40, .vocab_size = 64}},
    {"odd", {.dim = 36, .n_layers = 2, .n_heads = 4, .n_kv_heads = 4, .head_dim = 6, .ffn_dim = 29, .vocab_size = 61}},
    {"tied", {.dim = 24, .n_layers = 2, .n_heads = 4, .n_kv_heads = 4, .head_dim = 8, .ffn_dim = 33, .vocab_size = 67,
              .tie_embeddings = 1}},
    {"tiny", {.dim = 6, .n_layers = 1, .n_heads = 4, .n_kv_heads = 4, .head_dim = 2, .ffn_dim = 3, .vocab_size = 5}},
};

/* Deterministic data: row r of the global batch of a step. Some targets are ignored, some rows hold two documents. */
static void fill_row(int step, int row, int vocab, int32_t *tokens, int32_t *targets, int32_t *positions,
                     int32_t *doc_start)
{
    uint32_t x = 2463534242u + (uint32_t)(step * 977 + row * 131);
    int cut = row % 3 == 1 ? 5 + row : 0;
    for (int i = 0; i < SEQ; i++) {
        x ^= x << 13;
        x ^= x >> 17;
        x ^= x << 5;
        tokens[i] = (int32_t)(x % (uint32_t)vocab);
        targets[i] = (x >> 12) % 7 == 0 ? -100 : (int32_t)((x >> 8) % (uint32_t)vocab);
        doc_start[i] = cut && i >= cut ? cut : 0;
        positions[i] = i - doc_start[i];
    }
}

void scenario_fill_eval(tt_engine *e, int step)
{
    const tt_program *p = e->program;
    int me = tt_mesh_group_rank(&p->mesh, TT_MASK_BATCH);
    tt_microbatch b = tt_engine_eval_inputs(e);
    for (int r = 0; r < p->eval.batch; r++) {
        int64_t at = (int64_t)r * SEQ;
        fill_row(step, me * p->eval.batch + r, (int)e->model->dims.vocab_size, b.tokens + at, b.targets + at,
                 b.positions + at, b.doc_start + at);
    }
}

void scenario_fill(tt_engine *e, int step)
{
    const tt_program *p = e->program;
    const int vocab = (int)e->model->dims.vocab_size;
    int dp = tt_mesh_group_size(&p->mesh, TT_MASK_BATCH), me = tt_mesh_group_rank(&p->mesh, TT_MASK_BATCH);
    for (int m = 0; m < p->n_microbatches; m++) {
        tt_microbatch b = tt_engine_microbatch(e, m);
        for (int r = 0; r < p->train.batch; r++) {
            int64_t at = (int64_t)r * SEQ;
            fill_row(step, (m * dp + me) * p->train.batch + r, vocab, b.tokens + at, b.targets + at, b.positions + at,
                     b.doc_start + at);
        }
    }
}

const char *scenario_model_name(int model)
{
    return models[model].name;
}

tt_status scenario_model(int model, tt_model **out, tt_error *err)
{
    tt_model_dims d = models[model].dims;
    d.norm_eps = 1e-5;
    d.rope_theta = 10000;
    return tt_model_create("llama3", &d, out, err);
}

int scenario_global_batch(int ranks)
{
    return ranks % 3 == 0 ? 6 : ranks > 8 ? 16 : 8;
}

tt_status scenario_engine(tt_world *world, tt_device *device, const tt_model *model, const scenario *s, tt_engine **e,
                          tt_error *err)
{
    tt_mesh mesh;
    int size = 1;
    for (int a = 0; a < TT_N_AXES; a++)
        size *= s->degree[a];
    tt_status st = tt_mesh_create(s->degree, size, size == 1 ? 0 : tt_world_rank(world), &mesh, err);
    if (st != TT_OK)
        return st;
    int dp = tt_mesh_group_size(&mesh, TT_MASK_BATCH);
    tt_compile_opts o = {.seq_len = SEQ,
                         .batch = s->global_batch / dp / s->accumulation,
                         .n_microbatches = s->accumulation,
                         .compute_dtype = s->compute,
                         .sequence_parallel = s->sequence_parallel,
                         .logits_bytes_max = 4096,
                         .fusions_off = s->fusions_off,
                         .recompute = s->recompute,
                         .verify = 1,
                         .eval_batch = s->global_batch / dp,
                         .eval_seq_len = SEQ,
                         .fsdp = {.reshard = s->reshard,
                                  .beta1 = 0.9,
                                  .beta2 = 0.95,
                                  .eps = 1e-8,
                                  .weight_decay = 0.1,
                                  .decoupled = 1,
                                  .max_norm = 1.0}};
    return tt_engine_create(world, &mesh, model, device, &o, e, err);
}

void scenario_describe(const scenario *s, char *text, size_t size)
{
    static const char *const ac[] = {"none", "full", "layer", "op"};
    tt_mesh m = {0};
    char mesh[64];
    memcpy(m.degree, s->degree, sizeof m.degree);
    tt_mesh_describe(&m, mesh, sizeof mesh);
    snprintf(text, size, "%s, %s, accumulation %d, recompute %s, sp %d, reshard %d", models[s->model].name, mesh,
             s->accumulation, ac[s->recompute.mode], s->sequence_parallel, (int)s->reshard);
}

/* All scenarios for this many ranks. */
static int generate(int size, scenario *out)
{
    static const tt_recompute_opts ac[] = {
        {TT_AC_NONE, 0}, {TT_AC_FULL, 0}, {TT_AC_SELECTIVE_LAYER, 2}, {TT_AC_SELECTIVE_OP, 0}};
    const int batch = scenario_global_batch(size);
    int n = 0;
    for (int rep = 1; rep <= size; rep++)
        for (int shard = 1; shard <= size; shard++)
            for (int tp = 1; tp <= 4; tp++) {
                if (rep * shard * tp != size || batch % (rep * shard))
                    continue;
                for (int m = 0; m < N_MODELS; m++) {
                    if (models[m].dims.n_kv_heads % tp)
                        continue;
                    for (int acc = 1; acc <= 2; acc++)
                        for (int a = 0; a < 4 && batch % (acc * rep * shard) == 0; a++)
                            for (int sp = tp > 1 ? 0 : 1; sp < 2; sp++)
                                for (int re = 0; re < (shard > 1 ? 3 : 1); re++)
                                    out[n++] = (scenario){.model = m,
                                                          .degree = {1, rep, shard, 1, tp},
                                                          .global_batch = batch,
                                                          .accumulation = acc,
                                                          .recompute = ac[a],
                                                          .sequence_parallel = sp,
                                                          .reshard = (tt_reshard)re,
                                                          .compute = TT_F32};
                }
            }
    return n;
}

static uint32_t next(uint32_t *x)
{
    *x ^= *x << 13;
    *x ^= *x >> 17;
    *x ^= *x << 5;
    return *x;
}

int scenario_choose(int ranks, int sample, scenario *all)
{
    int n = generate(ranks, all);
    const char *full = getenv("TITAN_LONG"), *seed_text = getenv("TITAN_SEED"), *count = getenv("TITAN_LAWS");
    uint32_t seed = (seed_text ? (uint32_t)atoi(seed_text) : 1u) * 2654435761u + 88172645u;
    int take = full && atoi(full) ? n : count ? atoi(count) : sample;
    if (take > n)
        take = n;
    diag("%d scenarios of %d, seed %s", take, n, seed_text ? seed_text : "1");
    for (int i = n - 1; i > 0; i--) { /* shuffle; the first ones are taken */
        int j = (int)(next(&seed) % (uint32_t)(i + 1));
        scenario s = all[i];
        all[i] = all[j];
        all[j] = s;
    }
    return take;
}
