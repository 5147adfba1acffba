/* Law 1, any mesh, same training: on every mesh, model, recompute policy and schedule of a generated matrix, each
 * parameter's gradient at step 1 equals one rank's (1e-5 of the tensor's largest), and ten steps' losses and gradient
 * norms do (1e-5 relative). Law 4: bytes reserved and sent equal the plan. Every program passes the verifier.
 *
 * The matrix is generated from the number of ranks. TITAN_LONG=1 runs all of it, else a sample by TITAN_SEED (printed). */
#include "base/rng.h"
#include "graph/ops.h"
#include "graph/verify.h"
#include "scenario.h"
#include "tap_world.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What one rank gets: the measure of all others. */
typedef struct reference {
    float **grad; /* by parameter, whole */
    double loss[STEPS], norm[STEPS];
    double eval;
} reference;

static tt_status run_steps(tt_engine *e, double *loss, double *norm, tt_error *err)
{
    for (int s = 0; s < STEPS; s++) {
        tt_step_result r;
        scenario_fill(e, s);
        tt_status st = tt_engine_step(e, s + 1, 1e-2, 1, &r, err);
        if (st != TT_OK)
            return st;
        loss[s] = r.loss;
        norm[s] = r.grad_norm;
    }
    return TT_OK;
}

static tt_status run_eval(tt_engine *e, double *loss, tt_error *err)
{
    double n;
    tt_status st = tt_engine_eval_begin(e, err);
    scenario_fill_eval(e, STEPS);
    if (st == TT_OK)
        st = tt_engine_eval_batch(e, err);
    if (st == TT_OK)
        st = tt_engine_eval_end(e, loss, &n, err);
    return st;
}

static tt_status make_reference(tt_world *world, tt_device *device, const tt_model *model, reference *ref,
                                tt_error *err)
{
    tt_engine *e = NULL;
    tt_ckpt_tensor *t = NULL;
    tt_step_result r;
    int n;
    scenario one = {.degree = {1, 1, 1, 1, 1}, .global_batch = scenario_global_batch(tt_world_size(world)), .accumulation = 1, .compute = TT_F32, .sequence_parallel = 1};
    tt_status st;
    TT_TRY(scenario_engine(world, device, model, &one, &e, err));
    TT_TRY(tt_verify(e->program, err));
    TT_TRY(tt_engine_init(e, 42, err));
    scenario_fill(e, 0);
    TT_TRY(tt_engine_step(e, 1, 1e-2, 0, &r, err));
    TT_TRY(tt_engine_fetch_grads(e, err));
    tt_engine_grad_tensors(e, &t, &n);
    ref->grad = malloc(sizeof *ref->grad * (size_t)n);
    for (int i = 0; i < n; i++) {
        int64_t elements = t[i].shape[0] * (t[i].ndim > 1 ? t[i].shape[1] : 1);
        ref->grad[i] = malloc(sizeof(float) * (size_t)elements);
        memcpy(ref->grad[i], t[i].data, sizeof(float) * (size_t)elements);
    }
    TT_TRY(run_steps(e, ref->loss, ref->norm, err));
    TT_TRY(run_eval(e, &ref->eval, err));
out:
    free(t);
    tt_engine_destroy(&e);
    return st;
}

/* Largest |got - want| over the box, as a share of the whole tensor's largest. */
static double worst_gradient(const tt_ckpt_tensor *t, const float *whole)
{
    int64_t cols = t->ndim > 1 ? t->shape[1] : 1;
    double largest = 0, worst = 0;
    for (int64_t i = 0; i < t->shape[0] * cols; i++)
        largest = fmax(largest, fabs(whole[i]));
    int64_t n_cols = t->ndim > 1 ? t->count[1] : 1, pitch = t->ndim > 1 ? t->pitch[1] : 1;
    int64_t c0 = t->ndim > 1 ? t->start[1] : 0;
    for (int64_t i = 0; i < t->count[0]; i++)
        for (int64_t j = 0; j < n_cols; j++) {
            double want = whole[(t->start[0] + i) * cols + c0 + j];
            double d = fabs(((float *)t->data)[i * pitch + j] - want);
            if (!(d <= worst))
                worst = d;
        }
    return worst / largest;
}

static int64_t planned_payload(const tt_program *p)
{
    int64_t bytes = 0;
    const tt_part_id once[] = {TT_PART_BEGIN, TT_PART_REDUCE, TT_PART_UPDATE};
    for (int k = 0; k < 3; k++)
        for (int i = 0; i < p->part[once[k]].code.n; i++)
            bytes += tt_instr_payload_bytes(p, &p->part[once[k]].code.at[i]);
    const tt_part_id each[] = {TT_PART_FORWARD, TT_PART_BACKWARD};
    for (int k = 0; k < 2; k++)
        for (int i = 0; i < p->part[each[k]].code.n; i++)
            bytes += p->n_microbatches * tt_instr_payload_bytes(p, &p->part[each[k]].code.at[i]);
    return bytes;
}

static void check_scenario(tt_world *world, tt_device *device, const tt_model *model, const scenario *s,
                           const reference *ref)
{
    tt_error err = {0};
    tt_engine *e = NULL;
    tt_ckpt_tensor *t = NULL;
    tt_step_result r = {0};
    char what[200];
    int n = 0, bits = 1;
    double loss[STEPS] = {0}, norm[STEPS] = {0}, eval = 0, worst = 0, drift = 0;
    tt_status st;
    scenario_describe(s, what, sizeof what);
    TT_TRY(scenario_engine(world, device, model, s, &e, &err));
    TT_TRY(tt_verify(e->program, &err));
    TT_TRY(tt_engine_init(e, 42, &err));
    scenario_fill(e, 0);
    e->comm->payload_bytes = 0;
    TT_TRY(tt_engine_step(e, 1, 1e-2, 1, &r, &err));
    bits = e->comm->payload_bytes == planned_payload(e->program) &&
           tt_executor_reserved_bytes(e->executor) == tt_program_arena_bytes(e->program);
    TT_TRY(tt_engine_fetch_grads(e, &err));
    tt_engine_grad_tensors(e, &t, &n);
    for (int i = 0; i < n; i++) {
        double w = worst_gradient(&t[i], ref->grad[i]);
        if (!(w <= worst))
            worst = w;
        if (!(w <= 1e-5))
            diag("%s: gradient of %s is off by %.3g of its largest", what, t[i].name, w);
    }
    TT_TRY(tt_engine_init(e, 42, &err));
    TT_TRY(run_steps(e, loss, norm, &err));
    for (int k = 0; k < STEPS; k++) {
        drift = fmax(drift, fabs(loss[k] / ref->loss[k] - 1));
        drift = fmax(drift, fabs(norm[k] / ref->norm[k] - 1));
    }
    TT_TRY(run_eval(e, &eval, &err));
out:
    if (st != TT_OK)
        diag("%s: %s", what, err.text);
    if (!ok(st == TT_OK && worst <= 1e-5, "gradients of one rank: %s", what))
        diag("worst gradient %.3g", worst);
    if (!ok(st == TT_OK && drift <= 1e-5, "losses and norms of one rank: %s", what))
        for (int k = 0; k < STEPS; k++)
            diag("step %d: loss %.9g, one rank %.9g; norm %.9g, one rank %.9g", k, loss[k], ref->loss[k], norm[k],
                 ref->norm[k]);
    ok(st == TT_OK && bits, "bytes reserved and sent are the plan's: %s", what);
    ok(st == TT_OK && fabs(eval / ref->eval - 1) <= 1e-5, "validation loss of one rank: %s", what);
    free(t);
    tt_engine_destroy(&e);
}

int main(void)
{
    tt_error err = {0};
    tt_world *world = NULL;
    tt_device *device = NULL;
    static scenario all[MAX_SCENARIOS];
    tt_status st = tt_world_open(&world, &err);
    if (st != TT_OK)
        return 1;
    if (tt_world_size(world) > 1)
        tap_join(world);
    st = tt_device_create_cpu(1, &device, &err);
    int take = scenario_choose(tt_world_size(world), 12, all);
    for (int m = 0; m < N_MODELS && st == TT_OK; m++) {
        tt_model *model = NULL;
        reference ref = {0};
        st = scenario_model(m, &model, &err);
        if (st == TT_OK)
            st = make_reference(world, device, model, &ref, &err);
        if (!ok(st == TT_OK, "one rank trains %s", scenario_model_name(m)))
            diag("%s", err.text);
        for (int i = 0; i < take && st == TT_OK; i++)
            if (all[i].model == m)
                check_scenario(world, device, model, &all[i], &ref);
        for (int i = 0; ref.grad && i < model->n_rows; i++)
            free(ref.grad[i]);
        free(ref.grad);
        tt_model_destroy(&model);
    }
    tt_device_destroy(&device);
    tt_world_close(&world, TT_OK, NULL);
    return done_testing();
}
