/* Every gradient against finite differences of the loss: for each parameter, along its gradient and along a random direction,
 * (L(w + h d) - L(w - h d)) / 2h = g . d. The loss is a double of fp32 work (about 1e-7 of itself), h is chosen so that
 * it moves by some thousandths where it can: two percent and that noise are allowed, a wrong factor or sign is far outside. */
#include "scenario.h"
#include "tap.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static double noise(uint32_t *x)
{
    *x ^= *x << 13;
    *x ^= *x >> 17;
    *x ^= *x << 5;
    return (double)*x / 4294967296.0 - 0.5;
}

static int64_t elements(const tt_ckpt_tensor *t)
{
    return t->shape[0] * (t->ndim > 1 ? t->shape[1] : 1);
}

/* The loss with w + h d in place of w. */
static tt_status loss_at(tt_engine *e, const tt_ckpt_tensor *t, const float *w, const double *d, double h, double *loss,
                         tt_error *err)
{
    tt_step_result r;
    for (int64_t i = 0; i < elements(t); i++)
        ((float *)t->data)[i] = (float)(w[i] + h * d[i]);
    tt_status st = tt_engine_restore(e, err);
    if (st == TT_OK)
        st = tt_engine_step(e, 1, 0, 0, &r, err);
    *loss = r.loss;
    memcpy(t->data, w, sizeof *w * (size_t)elements(t));
    return st;
}

static tt_status check_direction(tt_engine *e, const tt_ckpt_tensor *t, const float *g, const double *d,
                                 const char *what, tt_error *err)
{
    const int64_t n = elements(t);
    double want = 0, length = 0, high = 0, low = 0;
    float *w = malloc(sizeof *w * (size_t)n);
    memcpy(w, t->data, sizeof *w * (size_t)n);
    for (int64_t i = 0; i < n; i++) {
        want += d[i] * g[i];
        length += d[i] * d[i];
    }
    double h = fmin(4e-3 / (fabs(want) + 1e-12), 0.05 / sqrt(length));
    tt_status st = loss_at(e, t, w, d, h, &high, err);
    if (st == TT_OK)
        st = loss_at(e, t, w, d, -h, &low, err);
    free(w);
    double got = (high - low) / (2 * h);
    ok(st == TT_OK && fabs(got - want) <= 0.02 * fabs(want) + 5e-7 / h, "%s along %s: %.6g, finite difference %.6g",
       t->name, what, want, got);
    return st;
}

static tt_status check_parameter(tt_engine *e, const tt_ckpt_tensor *t, const tt_ckpt_tensor *grad, uint32_t *seed,
                                 tt_error *err)
{
    const int64_t n = elements(t);
    float *g = malloc(sizeof *g * (size_t)n);
    double *d = malloc(sizeof *d * (size_t)n);
    memcpy(g, grad->data, sizeof *g * (size_t)n);
    for (int64_t i = 0; i < n; i++)
        d[i] = g[i];
    tt_status st = check_direction(e, t, g, d, "its gradient", err);
    for (int64_t i = 0; i < n; i++)
        d[i] = noise(seed);
    if (st == TT_OK)
        st = check_direction(e, t, g, d, "a random direction", err);
    free(g);
    free(d);
    return st;
}

static tt_status check_model(int which, tt_device *device, tt_world *world, tt_error *err)
{
    tt_model *model = NULL;
    tt_engine *e = NULL;
    tt_ckpt_tensor *w = NULL, *g = NULL;
    tt_step_result r;
    uint32_t seed = 88172645u;
    int n;
    const scenario s = {.model = which, .degree = {1, 1, 1, 1, 1}, .global_batch = 8, .accumulation = 2,
                        .sequence_parallel = 1, .compute = TT_F32};
    tt_status st;
    TT_TRY(scenario_model(which, &model, err));
    TT_TRY(scenario_engine(world, device, model, &s, &e, err));
    TT_TRY(tt_engine_init(e, 42, err));
    scenario_fill(e, 0);
    TT_TRY(tt_engine_step(e, 1, 0, 0, &r, err));
    TT_TRY(tt_engine_fetch_grads(e, err));
    TT_TRY(tt_engine_snapshot(e, err));
    tt_engine_tensors(e, 0, &w, &n);
    tt_engine_grad_tensors(e, &g, &n);
    for (int i = 0; i < n; i++)
        TT_TRY(check_parameter(e, &w[i], &g[i], &seed, err));
out:
    free(w);
    free(g);
    tt_engine_destroy(&e);
    tt_model_destroy(&model);
    return st;
}

int main(void)
{
    tt_error err = {0};
    tt_world *world = NULL;
    tt_device *device = NULL;
    if (tt_world_open(&world, &err) != TT_OK || tt_device_create_cpu(1, &device, &err) != TT_OK)
        return 1;
    for (int m = 0; m < 3; m++)
        if (!ok(check_model(m, device, world, &err) == TT_OK, "%s runs", scenario_model_name(m)))
            diag("%s", err.text);
    tt_device_destroy(&device);
    tt_world_close(&world, TT_OK, NULL);
    return done_testing();
}
