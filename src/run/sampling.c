/* See sampling.h. */
#include "run/sampling.h"

#include <math.h>
#include <stdlib.h>

/* A token with the float's bits turned so that their order is that of the number: sorting needs no comparison of NaNs. */
typedef struct ranked {
    uint32_t key;
    int32_t id;
} ranked;

struct tt_sampler {
    int64_t vocab;
    ranked *order; /* owned: vocab */
    int32_t *top;  /* owned: vocab */
};

tt_status tt_sampler_create(int64_t vocab, tt_sampler **out, tt_error *err)
{
    tt_sampler *s = calloc(1, sizeof *s);
    *out = s;
    if (s) {
        s->vocab = vocab;
        s->order = malloc(sizeof *s->order * (size_t)vocab);
        s->top = malloc(sizeof *s->top * (size_t)vocab);
        if (s->order && s->top)
            return TT_OK;
    }
    tt_sampler_destroy(out);
    return tt_fail(err, TT_ERR_NOMEM, "making a sampler for %lld tokens: no memory", (long long)vocab);
}

void tt_sampler_destroy(tt_sampler **sampler)
{
    if (!*sampler)
        return;
    free((*sampler)->order);
    free((*sampler)->top);
    free(*sampler);
    *sampler = NULL;
}

static uint32_t key_of(float x)
{
    union {
        float f;
        uint32_t u;
    } v = {.f = x};
    return v.u & 0x80000000u ? ~v.u : v.u | 0x80000000u;
}

static int likelier_first(const void *a, const void *b)
{
    const ranked *x = a, *y = b;
    if (x->key != y->key)
        return x->key < y->key ? 1 : -1;
    return x->id < y->id ? -1 : x->id > y->id;
}

static void rank_all(tt_sampler *s, const float *logits)
{
    for (int64_t i = 0; i < s->vocab; i++)
        s->order[i] = (ranked){key_of(logits[i]), (int32_t)i};
    qsort(s->order, (size_t)s->vocab, sizeof *s->order, likelier_first);
}

static int32_t likeliest(const tt_sampler *s, const float *logits)
{
    int64_t best = 0;
    for (int64_t i = 1; i < s->vocab; i++)
        if (logits[i] > logits[best])
            best = i;
    return (int32_t)best;
}

/* How many of the ranked tokens may be drawn. */
static int64_t candidates(const tt_sampler *s, const float *logits, const tt_sampling *o)
{
    const int64_t k = o->top_k > 0 && o->top_k < s->vocab ? o->top_k : s->vocab;
    const double most = logits[s->order[0].id];
    double total = 0, so_far = 0;
    if (o->top_p >= 1)
        return k;
    for (int64_t i = 0; i < k; i++)
        total += exp((logits[s->order[i].id] - most) / o->temperature);
    for (int64_t i = 0; i < k; i++) {
        so_far += exp((logits[s->order[i].id] - most) / o->temperature);
        if (so_far >= o->top_p * total)
            return i + 1;
    }
    return k;
}

int32_t tt_sampler_draw(tt_sampler *s, const float *logits, const tt_sampling *o, double u)
{
    const int32_t best = likeliest(s, logits);
    if (o->temperature == 0)
        return best;
    rank_all(s, logits);
    const int64_t n = candidates(s, logits, o);
    const double most = logits[best];
    double total = 0, so_far = 0;
    for (int64_t i = 0; i < n; i++)
        total += exp((logits[s->order[i].id] - most) / o->temperature);
    for (int64_t i = 0; i < n; i++) {
        so_far += exp((logits[s->order[i].id] - most) / o->temperature);
        if (so_far > u * total)
            return s->order[i].id;
    }
    return best;
}

double tt_sampler_logprob(const tt_sampler *s, const float *logits, int32_t id)
{
    const double most = logits[likeliest(s, logits)];
    double total = 0;
    for (int64_t i = 0; i < s->vocab; i++)
        total += exp(logits[i] - most);
    return logits[id] - most - log(total);
}

const int32_t *tt_sampler_top(tt_sampler *s, const float *logits, int64_t k, int64_t *n)
{
    *n = k < s->vocab ? k : s->vocab;
    rank_all(s, logits);
    for (int64_t i = 0; i < *n; i++)
        s->top[i] = s->order[i].id;
    return s->top;
}
