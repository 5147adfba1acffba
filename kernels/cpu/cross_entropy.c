/* Cross entropy over a vocabulary that may be cut into R shards: ce_stats on each shard, a gather
 * of the stats, then ce_loss and ce_grad from the merged ones. Exponentials are fp32, their sums
 * and the log-sum-exp fp64. */
#include <math.h>

#include "kernels/cpu/cpu_priv.h"

#define LOSS_PARTS                                                                                 \
    64 /* partial sums of ce_loss; fixed, so that the thread count doesn't matter                  \
        */

typedef struct job {
    const tt_simd *s;
    const tt_kernel_args *args;
    int64_t n, v, valid, shards;
    double part[LOSS_PARTS];
} job;

static int64_t valid_rows(const tt_kernel_args *args, int64_t v)
{
    return tt_min64(tt_max64(args->attr->vocab_valid, 0), v);
}

static float element(const tt_tensor *t, int64_t at)
{
    return t->dtype == TT_F32 ? ((const float *)t->data)[at]
                              : tt_bf16_to_f32(((const tt_bf16 *)t->data)[at]);
}

/* Chunk by chunk: a new largest logit scales down what was summed before. */
static void stats_rows(void *ctx, int64_t begin, int64_t end, int thread)
{
    const job *j = ctx;
    const tt_tensor *logits = &j->args->in[0];
    const int32_t *target = j->args->in[1].data;
    float *stats = j->args->out[0].data, buf[TT_CHUNK];
    (void)thread;
    for (int64_t n = begin; n < end; n++) {
        float top = -INFINITY;
        double sum = 0;
        for (int64_t c = 0; c < j->valid; c += TT_CHUNK) {
            int64_t m = tt_min64(TT_CHUNK, j->valid - c);
            const float *l = tt_load(j->s, logits, n * j->v + c, m, buf);
            float chunk_top = j->s->max(l, m);
            if (!(chunk_top <= top)) {
                sum *= sum > 0 ? exp((double)top - (double)chunk_top) : 0;
                top = chunk_top;
            }
            if (!(top == -INFINITY))
                sum += j->s->sum_exp(l, top, m);
        }
        int64_t row = target[n] - j->args->attr->vocab_start;
        stats[n] = top;
        stats[j->n + n] = (float)sum;
        stats[2 * j->n + n] =
            target[n] >= 0 && row >= 0 && row < j->valid ? element(logits, n * j->v + row) : 0.0f;
    }
}

void tt_cpu_ce_stats(const tt_kernel_args *args)
{
    const tt_tensor *logits = &args->in[0];
    job j = {
        .s = tt_pool_simd(args->pool), .args = args, .n = tt_rows(logits), .v = tt_cols(logits)};
    j.valid = valid_rows(args, j.v);
    tt_pool_run(args->pool, stats_rows, &j, j.n);
}

/* Softmax of one token over all shards: largest logit, sum of exp(l - top), the target's logit. */
typedef struct merged {
    float top;
    double sum, target;
} merged;

/* A shard without rows has sum 0 and is passed over. */
static merged merge(const float *all, int64_t shards, int64_t tokens, int64_t n)
{
    merged t = {.top = -INFINITY};
    for (int64_t r = 0; r < shards; r++) {
        const float *stats = all + r * 3 * tokens;
        if (stats[tokens + n] != 0 && !(stats[n] <= t.top))
            t.top = stats[n];
    }
    for (int64_t r = 0; r < shards; r++) {
        const float *stats = all + r * 3 * tokens;
        if (stats[tokens + n] != 0)
            t.sum += stats[tokens + n] * exp((double)stats[n] - (double)t.top);
        t.target += stats[2 * tokens + n];
    }
    return t;
}

static void loss_parts(void *ctx, int64_t begin, int64_t end, int thread)
{
    job *j = ctx;
    const float *all = j->args->in[0].data;
    const int32_t *target = j->args->in[1].data;
    (void)thread;
    for (int64_t p = begin; p < end; p++) {
        double sum = 0;
        for (int64_t n = j->n * p / LOSS_PARTS; n < j->n * (p + 1) / LOSS_PARTS; n++)
            if (target[n] >= 0) {
                merged t = merge(all, j->shards, j->n, n);
                sum += (double)t.top - t.target + log(t.sum);
            }
        j->part[p] = sum;
    }
}

void tt_cpu_ce_loss(const tt_kernel_args *args)
{
    job j = {.args = args, .n = tt_numel(&args->in[1])};
    double *loss = args->out[0].data, sum = 0;
    j.shards = j.n ? tt_numel(&args->in[0]) / (3 * j.n) : 0;
    tt_pool_run(args->pool, loss_parts, &j, LOSS_PARTS);
    for (int p = 0; p < LOSS_PARTS; p++)
        sum += j.part[p];
    *loss = args->accumulate ? *loss + sum : sum;
}

static void grad_row(const job *j, int64_t n, float *buf, float *out)
{
    const tt_tensor *logits = &j->args->in[0], *grad = &j->args->out[0];
    int32_t target = ((const int32_t *)j->args->in[2].data)[n];
    float inv_valid = *(const float *)j->args->in[3].data;
    merged t = merge(j->args->in[1].data, j->shards, j->n, n);
    float factor = (float)((double)inv_valid /
                           t.sum); /* exp(l - top) of exact numbers; a rounded lse would show */
    int64_t row = target - j->args->attr->vocab_start;
    for (int64_t c = 0; c < j->v; c += TT_CHUNK) {
        int64_t m = tt_min64(TT_CHUNK, j->v - c), at = n * j->v + c,
                live = target < 0 ? 0 : j->valid - c;
        live = tt_min64(tt_max64(live, 0), m);
        float *y = tt_dest(grad, at, out);
        j->s->exp_scale(y, tt_load(j->s, logits, at, m, buf), t.top, factor, live);
        memset(y + live, 0, (size_t)(m - live) * sizeof(float));
        if (row >= c && row < c + live)
            y[row - c] -= inv_valid;
        tt_store(j->s, grad, at, m, out);
    }
}

static void grad_rows(void *ctx, int64_t begin, int64_t end, int thread)
{
    float buf[TT_CHUNK], out[TT_CHUNK];
    (void)thread;
    for (int64_t n = begin; n < end; n++)
        grad_row(ctx, n, buf, out);
}

void tt_cpu_ce_grad(const tt_kernel_args *args)
{
    const tt_tensor *logits = &args->in[0];
    job j = {
        .s = tt_pool_simd(args->pool), .args = args, .n = tt_rows(logits), .v = tt_cols(logits)};
    j.valid = valid_rows(args, j.v);
    j.shards = j.n ? tt_numel(&args->in[1]) / (3 * j.n) : 0;
    tt_pool_run(args->pool, grad_rows, &j, j.n);
}
