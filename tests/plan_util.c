/* See plan_util.h. */
#include "plan_util.h"

#include "device/device.h"

#include <stdio.h>
#include <stdlib.h>

static int or_else(int x, int otherwise)
{
    return x ? x : otherwise;
}

tt_status plan_model(int layers, tt_model **model, tt_error *err)
{
    const tt_model_dims d = {.dim = 16,
                             .n_layers = layers,
                             .n_heads = 4,
                             .n_kv_heads = 4,
                             .head_dim = 4,
                             .ffn_dim = 24,
                             .vocab_size = 32,
                             .norm_eps = 1e-5,
                             .rope_theta = 10000};
    return tt_model_create("llama3", &d, model, err);
}

tt_compile_opts plan_options(const plan_case *c)
{
    return (tt_compile_opts){.seq_len = 8,
                             .batch = or_else(c->batch, 2),
                             .n_microbatches = or_else(c->microbatches, 1),
                             .compute_dtype = c->compute,
                             .sequence_parallel = !c->no_sp,
                             .fusions_off = c->fusions_off,
                             .recompute = c->recompute,
                             .device = tt_device_cpu_profile(1),
                             .fsdp = {.reshard = c->reshard,
                                      .beta1 = 0.9,
                                      .beta2 = 0.95,
                                      .eps = 1e-8,
                                      .weight_decay = 0.1,
                                      .decoupled = 1,
                                      .max_norm = 1}};
}

tt_program *plan_program(const plan_case *c)
{
    const int degree[TT_N_AXES] = {1, or_else(c->replicate, 1), or_else(c->shard, 1), 1, or_else(c->tp, 1)};
    const tt_compile_opts o = plan_options(c);
    tt_error err = {0};
    tt_mesh mesh;
    tt_model *model = NULL;
    tt_program *p = NULL;
    tt_status st = tt_mesh_create(degree, degree[1] * degree[2] * degree[4], c->rank, &mesh, &err);
    if (st == TT_OK)
        st = plan_model(or_else(c->layers, 3), &model, &err);
    if (st == TT_OK)
        st = tt_compile(model, &mesh, &o, &p, &err);
    tt_model_destroy(&model);
    if (st != TT_OK) {
        printf("Bail out! %s\n", err.text);
        exit(1);
    }
    return p;
}

int plan_count(const tt_program *p, tt_part_id part, int op, int queue)
{
    int n = 0;
    for (int j = 0; j < p->part[part].code.n; j++)
        n += p->part[part].code.at[j].op == op && (queue < 0 || (int)p->part[part].code.at[j].queue == queue);
    return n;
}
