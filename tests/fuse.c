/* Fused ops: each can be switched off by name, and the training is the same with and without: the
 * same bits where the table says so, 1e-6 of the tensor's largest gradient else. A fused program is
 * sound and shorter; its packing may come out up to 1 % larger, since other values are live together. */
#include "graph/ops.h"
#include "graph/verify.h"
#include "plan_util.h"
#include "run/state.h"
#include "scenario.h"
#include "tap_world.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ALL_OFF = (1 << TT_N_FUSIONS) - 1 };

/* --- names
 * -----------------------------------------------------------------------------------------------------------
 */

static void test_names(void)
{
    tt_error err = {0};
    int f = -1;
    ok(tt_fusion_find("add_rmsnorms", "compile.disable", "x.cfg:3", &f, &err) == TT_ERR_CONFIG,
       "an unknown name");
    is_str(err.text,
           "x.cfg:3: compile.disable names \"add_rmsnorms\", which is no fused op; use some of "
           "add_rmsnorm, "
           "rmsnorm_dx_add, linear_dx_sum; did you mean \"add_rmsnorm\"?",
           "is refused with the names there are");
    for (int i = 0; i < TT_N_FUSIONS; i++) {
        ok(tt_fusion_find(tt_fusion_name(i), "k", "o", &f, &err) == TT_OK && f == i, "%s is found",
           tt_fusion_name(i));
        ok(tt_op_find(tt_fusion_name(i)) >= 0, "%s is an op", tt_fusion_name(i));
        char ops[64], *save = NULL;
        snprintf(ops, sizeof ops, "%s", tt_fusion_replaces(i));
        for (char *op = strtok_r(ops, ", ", &save); op; op = strtok_r(NULL, ", ", &save))
            ok(tt_op_find(op) >= 0, "it replaces %s, an op", op);
    }
}

/* --- programs
 * --------------------------------------------------------------------------------------------------------
 */

static int instructions(const tt_program *p)
{
    int n = 0;
    for (int part = 0; part < TT_N_PARTS; part++)
        n += p->part[part].code.n;
    return n;
}

/* But for what another order of packing leaves over: 1 %. */
static int is_no_larger(const tt_program *a, const tt_program *plain)
{
    return (double)tt_program_arena_bytes(a) <= 1.01 * (double)tt_program_arena_bytes(plain);
}

static void test_programs(void)
{
    static const tt_recompute_opts ac[] = {
        {TT_AC_NONE, 0}, {TT_AC_FULL, 0}, {TT_AC_SELECTIVE_LAYER, 2}, {TT_AC_SELECTIVE_OP, 0}};
    static const struct {
        int shard, tp, no_sp;
    } mesh[] = {{1, 1, 0}, {2, 1, 0}, {1, 2, 0}, {1, 2, 1}, {2, 2, 0}, {2, 4, 0}};
    const int layers = 3;
    for (size_t m = 0; m < sizeof mesh / sizeof mesh[0]; m++)
        for (int a = 0; a < 4; a++) {
            plan_case c = {.layers = layers,
                           .shard = mesh[m].shard,
                           .tp = mesh[m].tp,
                           .no_sp = mesh[m].no_sp,
                           .recompute = ac[a],
                           .compute = a % 2 ? TT_BF16 : TT_F32,
                           .fusions_off = ALL_OFF};
            tt_program *plain = plan_program(&c);
            for (int f = 0; f < TT_N_FUSIONS; f++)
                is_int(tt_fusion_count(plain, f), 0, "%s is switched off", tt_fusion_name(f));
            tt_error err = {0};
            c.fusions_off = 0;
            tt_program *all = plan_program(&c);
            ok(tt_verify(all, &err) == TT_OK, "mesh %zu, recompute %d is sound %s", m, a, err.text);
            ok(instructions(all) <= instructions(plain) - 5 * layers, "%d instructions, plain %d",
               instructions(all), instructions(plain));
            ok(is_no_larger(all, plain), "%zu bytes, plain %zu", tt_program_arena_bytes(all),
               tt_program_arena_bytes(plain));
            is_int(plan_count(all, TT_PART_FORWARD, TT_OP_add_rmsnorm, -1), layers,
                   "one normed residual a layer");
            is_int(tt_fusion_count(all, TT_FUSE_RMSNORM_DX_ADD), 2 * layers,
                   "two residual gradients a layer");
            is_int(tt_fusion_count(all, TT_FUSE_LINEAR_DX_SUM), 2 * layers,
                   "two sums of products a layer");
            tt_program_destroy(&all);
            for (int f = 0; f < TT_N_FUSIONS; f++) {
                c.fusions_off = ALL_OFF & ~(1u << f);
                tt_program *p = plan_program(&c);
                ok(tt_verify(p, &err) == TT_OK && tt_fusion_count(p, f) > 0 &&
                       instructions(p) < instructions(plain),
                   "%s alone is sound and shorter %s", tt_fusion_name(f), err.text);
                ok(is_no_larger(p, plain), "and no larger");
                tt_program_destroy(&p);
            }
            tt_program_destroy(&plain);
        }
}

/* --- training
 * --------------------------------------------------------------------------------------------------------
 */

typedef struct trained {
    float **grad; /* of step 1, by tensor */
    int64_t *n;
    int n_tensors;
    double loss[STEPS], eval;
    int named; /* the fingerprint names a fused op that is off */
} trained;

static void train(tt_world *world, tt_device *device, const tt_model *model, const scenario *s,
                  trained *t)
{
    tt_engine *e = NULL;
    tt_ckpt_tensor *g = NULL;
    tt_error err = {0};
    tt_step_result r;
    double n;
    tt_status st;
    TT_TRY(scenario_engine(world, device, model, s, &e, &err));
    char *fingerprint = tt_state_fingerprint(e);
    t->named = strstr(fingerprint, ", linear_dx_sum off") != NULL;
    free(fingerprint);
    TT_TRY(tt_engine_init(e, 42, &err));
    for (int k = 0; k < STEPS; k++) {
        scenario_fill(e, k);
        TT_TRY(tt_engine_step(e, k + 1, 1e-2, 1, &r, &err));
        t->loss[k] = r.loss;
        if (k > 0)
            continue;
        TT_TRY(tt_engine_fetch_grads(e, &err));
        tt_engine_grad_tensors(e, &g, &t->n_tensors);
        t->grad = malloc(sizeof *t->grad * (size_t)t->n_tensors);
        t->n = malloc(sizeof *t->n * (size_t)t->n_tensors);
        for (int i = 0; i < t->n_tensors; i++) {
            t->n[i] = g[i].shape[0] * (g[i].ndim > 1 ? g[i].shape[1] : 1);
            t->grad[i] = malloc(sizeof(float) * (size_t)t->n[i]);
            memcpy(t->grad[i], g[i].data, sizeof(float) * (size_t)t->n[i]);
        }
    }
    TT_TRY(tt_engine_eval_begin(e, &err));
    scenario_fill_eval(e, STEPS);
    TT_TRY(tt_engine_eval_batch(e, &err));
    TT_TRY(tt_engine_eval_end(e, &t->eval, &n, &err));
out:
    if (st != TT_OK) {
        printf("Bail out! %s\n", err.text);
        exit(1);
    }
    free(g);
    tt_engine_destroy(&e);
}

static void forget(trained *t)
{
    for (int i = 0; i < t->n_tensors; i++)
        free(t->grad[i]);
    free(t->grad);
    free(t->n);
}

/* Largest difference of a gradient, as a share of its tensor's largest. */
static double worst(const trained *a, const trained *b)
{
    double most = 0;
    for (int i = 0; i < a->n_tensors; i++) {
        double largest = 0, off = 0;
        for (int64_t k = 0; k < a->n[i]; k++) {
            largest = fmax(largest, fabs(b->grad[i][k]));
            off = fmax(off, fabs((double)a->grad[i][k] - b->grad[i][k]));
        }
        most = fmax(most, off / largest);
    }
    return most;
}

static void test_training(tt_world *world, tt_device *device)
{
    static const tt_recompute_opts ac[] = {
        {TT_AC_NONE, 0}, {TT_AC_FULL, 0}, {TT_AC_SELECTIVE_LAYER, 2}, {TT_AC_SELECTIVE_OP, 0}};
    for (int m = 0; m < N_MODELS; m++)
        for (int t = 0; t < 2; t++) {
            tt_model *model = NULL;
            tt_error err = {0};
            ok(scenario_model(m, &model, &err) == TT_OK, "model %s %s", scenario_model_name(m),
               err.text);
            scenario s = {.model = m,
                          .degree = {1, 1, 1, 1, 1},
                          .global_batch = 4,
                          .accumulation = 2,
                          .recompute = ac[(m + t) % 4],
                          .sequence_parallel = 1,
                          .compute = t ? TT_BF16 : TT_F32,
                          .fusions_off = ALL_OFF};
            trained plain = {0};
            train(world, device, model, &s, &plain);
            for (int f = 0; f < TT_N_FUSIONS; f++) {
                trained fused = {0};
                s.fusions_off = ALL_OFF & ~(1u << f);
                train(world, device, model, &s, &fused);
                const double off = worst(&fused, &plain),
                             drift = fabs(fused.loss[STEPS - 1] / plain.loss[STEPS - 1] - 1);
                const double grad_tol = t ? 1.5e-2 : 1e-6, loss_tol = t ? 1e-3 : 1e-5;
                if (tt_fusion_keeps_bits(f))
                    ok(off == 0 && !memcmp(fused.loss, plain.loss, sizeof plain.loss) &&
                           fused.eval == plain.eval,
                       "%s, %s, %s: the same bits", tt_fusion_name(f), scenario_model_name(m),
                       tt_dtype_name(s.compute));
                else
                    ok(off <= grad_tol && drift <= loss_tol,
                       "%s, %s, %s: gradients within %.2g, last loss %.2g", tt_fusion_name(f),
                       scenario_model_name(m), tt_dtype_name(s.compute), off, drift);
                ok(fused.named == (f != TT_FUSE_LINEAR_DX_SUM),
                   "the fingerprint tells what changes bits");
                forget(&fused);
            }
            forget(&plain);
            tt_model_destroy(&model);
        }
}

int main(void)
{
    tt_error err = {0};
    tt_world *world = NULL;
    tt_device *device = NULL;
    if (tt_world_open(&world, &err) != TT_OK || tt_device_create_cpu(2, &device, &err) != TT_OK)
        return 1;
    test_names();
    test_programs();
    test_training(world, device);
    tt_device_destroy(&device);
    tt_world_close(&world, TT_OK, NULL);
    return done_testing();
}
