/* The device seam: the same programs give the same bits on a device of separate memory whose queues run late and in an
 * adversarial order, on one rank and on several. Losses, norms, gradients, weights and moments are compared byte by byte. */
#include "far/device_far.h"
#include "scenario.h"
#include "tap_world.h"

#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

typedef struct image {
    double loss[3], norm[3], eval;
    tt_ckpt_tensor *state, *grad;
    int n_state, n_grad;
} image;

static tt_status train(tt_engine *e, image *m, tt_error *err)
{
    tt_status st = tt_engine_init(e, 7, err);
    tt_step_result r;
    double valid;
    for (int s = 0; s < 3 && st == TT_OK; s++) {
        scenario_fill(e, s);
        st = tt_engine_step(e, s + 1, 1e-2, 1, &r, err);
        m->loss[s] = r.loss;
        m->norm[s] = r.grad_norm;
    }
    if (st == TT_OK)
        st = tt_engine_fetch_grads(e, err);
    if (st == TT_OK)
        st = tt_engine_snapshot(e, err);
    tt_engine_tensors(e, 1, &m->state, &m->n_state);
    tt_engine_grad_tensors(e, &m->grad, &m->n_grad);
    if (st == TT_OK)
        st = tt_engine_eval_begin(e, err);
    scenario_fill_eval(e, 3);
    if (st == TT_OK)
        st = tt_engine_eval_batch(e, err);
    if (st == TT_OK)
        st = tt_engine_eval_end(e, &m->eval, &valid, err);
    return st;
}

static int same(const tt_ckpt_tensor *a, const tt_ckpt_tensor *b, int n)
{
    int equal = 1;
    for (int i = 0; i < n; i++) {
        size_t bytes = sizeof(float);
        for (int d = 0; d < a[i].ndim; d++)
            bytes *= (size_t)a[i].pitch[d];
        if (memcmp(a[i].data, b[i].data, bytes)) {
            diag("%s differs", a[i].name);
            equal = 0;
        }
    }
    return equal;
}

static void check(tt_world *world, tt_device *cpu, const tt_model *model, const scenario *s, uint32_t seed)
{
    tt_error err = {0};
    tt_engine *near = NULL, *away = NULL;
    tt_device *far = NULL;
    image a = {0}, b = {0};
    char what[200];
    tt_status st;
    scenario_describe(s, what, sizeof what);
    TT_TRY(tt_device_create_far(1, seed, &far, &err));
    TT_TRY(scenario_engine(world, cpu, model, s, &near, &err));
    TT_TRY(scenario_engine(world, far, model, s, &away, &err));
    TT_TRY(train(near, &a, &err));
    TT_TRY(train(away, &b, &err));
out:
    if (st != TT_OK)
        diag("%s", err.text);
    int numbers = !memcmp(a.loss, b.loss, sizeof a.loss) && !memcmp(a.norm, b.norm, sizeof a.norm) &&
                  a.eval == b.eval;
    ok(st == TT_OK && numbers && same(a.grad, b.grad, a.n_grad) && same(a.state, b.state, a.n_state),
       "the far device gives the CPU's bits (order %u): %s", seed, what);
    free(a.state);
    free(a.grad);
    free(b.state);
    free(b.grad);
    tt_engine_destroy(&near);
    tt_engine_destroy(&away);
    tt_device_destroy(&far);
}

static sigjmp_buf caught;

static void on_fault(int sig)
{
    (void)sig;
    siglongjmp(caught, 1);
}

/* The test device itself must be able to fail a program: the host cannot read its memory. */
static void check_protection(void)
{
    tt_error err = {0};
    tt_device *far = NULL;
    void *m = NULL;
    volatile int faulted = 1;
    tt_status st = tt_device_create_far(1, 1, &far, &err);
    if (st == TT_OK)
        st = far->table->alloc(far, 4096, &m, &err);
    struct sigaction on = {.sa_handler = on_fault}, segv, bus;
    sigaction(SIGSEGV, &on, &segv);
    sigaction(SIGBUS, &on, &bus);
    if (st == TT_OK && sigsetjmp(caught, 1) == 0) {
        volatile char c = *(volatile char *)m;
        (void)c;
        faulted = 0;
    }
    sigaction(SIGSEGV, &segv, NULL);
    sigaction(SIGBUS, &bus, NULL);
    ok(st == TT_OK && faulted, "the host cannot read the far device's memory");
    if (m)
        far->table->free(far, m);
    tt_device_destroy(&far);
}

int main(void)
{
    tt_error err = {0};
    tt_world *world = NULL;
    tt_device *cpu = NULL;
    static scenario all[MAX_SCENARIOS];
    if (tt_world_open(&world, &err) != TT_OK || tt_device_create_cpu(1, &cpu, &err) != TT_OK)
        return 1;
    if (tt_world_size(world) > 1)
        tap_join(world);
    check_protection();
    int take = scenario_choose(tt_world_size(world), 10, all);
    for (int i = 0; i < take; i++) {
        tt_model *model = NULL;
        if (i % 2)
            all[i].compute = TT_BF16;
        if (scenario_model(all[i].model, &model, &err) == TT_OK)
            check(world, cpu, model, &all[i], (uint32_t)i + 1);
        tt_model_destroy(&model);
    }
    tt_device_destroy(&cpu);
    tt_world_close(&world, TT_OK, NULL);
    return done_testing();
}
