/* adamw: one step of AdamW (decoupled decay) or Adam (decay added to the gradient) on a flat piece
 * of parameters.
 *
 * Order of operations as in PyTorch's single-tensor code: decay, m, v, then
 * w -= lr/(1 - beta1^t) * m / (sqrt(v)/sqrt(1 - beta2^t) + eps); the scalars are fp64, the elements
 * fp32. */
#include <math.h>

#include "kernels/cpu/cpu_priv.h"

typedef struct job {
    const tt_simd *s;
    const tt_kernel_args *args;
    tt_adam_step step;
    int64_t n;
} job;

static void step_chunks(void *ctx, int64_t begin, int64_t end, int thread)
{
    const job *j = ctx;
    const float *g = j->args->in[0].data;
    float *w = j->args->out[0].data, *m = j->args->out[1].data, *v = j->args->out[2].data;
    (void)thread;
    for (int64_t i = begin; i < end; i++) {
        int64_t at = i * TT_CHUNK;
        j->s->adam(w + at, m + at, v + at, g + at, &j->step, tt_min64(TT_CHUNK, j->n - at));
    }
}

void tt_cpu_adamw(const tt_kernel_args *args)
{
    const tt_attrs *a = args->attr;
    double lr = *(const float *)args->in[2].data, t = *(const int32_t *)args->in[3].data;
    if (*(const int32_t *)args->in[4].data)
        return;
    job j = {.s = tt_pool_simd(args->pool), .args = args, .n = tt_numel(&args->out[0])};
    j.step = (tt_adam_step){.coef = *(const float *)args->in[1].data,
                            .decay = a->decoupled ? (float)(1.0 - lr * a->weight_decay) : 1.0f,
                            .l2 = a->decoupled ? 0.0f : (float)a->weight_decay,
                            .beta2 = (float)a->beta2,
                            .one_minus_beta1 = (float)(1.0 - a->beta1),
                            .one_minus_beta2 = (float)(1.0 - a->beta2),
                            .step_size = (float)(lr / (1.0 - pow(a->beta1, t))),
                            .root_correction = (float)sqrt(1.0 - pow(a->beta2, t)),
                            .eps = (float)a->eps};
    tt_pool_run(args->pool, step_chunks, &j, tt_div_up(j.n, TT_CHUNK));
}
