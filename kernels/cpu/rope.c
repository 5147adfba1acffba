/* Rotary position embedding: the table of angles, and the rotation of every head (forward and
 * backward). */
#include <math.h>

#include "kernels/cpu/cpu_priv.h"

#define HEAD_MAX 1024 /* largest head dim that is rotated through a buffer on the stack */

typedef struct job {
    const tt_simd *s;
    const tt_kernel_args *args;
    int64_t heads, e;
} job;

static void table_rows(void *ctx, int64_t begin, int64_t end, int thread)
{
    const job *j = ctx;
    const int32_t *position = j->args->in[0].data;
    const float *inv_freq = j->args->in[1].data;
    double scale = j->args->attr->scale;
    int64_t half = j->e / 2;
    (void)thread;
    for (int64_t n = begin; n < end; n++) {
        float *cs = (float *)j->args->out[0].data + n * j->e;
        for (int64_t i = 0; i < half; i++) {
            float angle = (float)position[n] * inv_freq[i];
            cs[i] = (float)((double)cosf(angle) * scale);
            cs[half + i] = (float)((double)sinf(angle) * scale);
        }
    }
}

void tt_cpu_rope_table(const tt_kernel_args *args)
{
    job j = {.args = args, .e = tt_cols(&args->out[0])};
    tt_pool_run(args->pool, table_rows, &j, tt_numel(&args->in[0]));
}

static void rotate_rows(void *ctx, int64_t begin, int64_t end, int thread)
{
    const job *j = ctx;
    const tt_attrs *attr = j->args->attr;
    const tt_tensor *x = &j->args->in[0], *y = &j->args->out[0];
    float xb[HEAD_MAX], yb[HEAD_MAX], sign = attr->inverse ? -1.0f : 1.0f;
    int64_t half = j->e / 2;
    (void)thread;
    for (int64_t n = begin; n < end; n++) {
        const float *cos = (const float *)j->args->in[1].data + n * j->e, *sin = cos + half;
        for (int64_t h = 0; h < j->heads; h++) {
            int64_t at = (n * j->heads + h) * j->e;
            const float *from = tt_load(j->s, x, at, j->e, xb);
            float *to = tt_dest(y, at, yb);
            if (attr->half_split)
                j->s->rotate_split(to, from, cos, sin, sign, half);
            else
                j->s->rotate_pairs(to, from, cos, sin, sign, half);
            tt_store(j->s, y, at, j->e, yb);
        }
    }
}

void tt_cpu_rope(const tt_kernel_args *args)
{
    const tt_tensor *x = &args->in[0];
    int64_t e = tt_cols(&args->in[1]);
    TT_ASSERT(e <= HEAD_MAX && tt_cols(x) % e == 0);
    job j = {.s = tt_pool_simd(args->pool), .args = args, .heads = tt_cols(x) / e, .e = e};
    tt_pool_run(args->pool, rotate_rows, &j, tt_rows(x));
}
