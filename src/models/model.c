/* See model.h. */
#include "models/model.h"

#include "base/closest.h"

#include <stdlib.h>
#include <string.h>

static const tt_family *const families[] = {&tt_family_llama3};

tt_status tt_family_find(const char *name, const tt_family **family, tt_error *err)
{
    for (size_t i = 0; i < sizeof families / sizeof families[0]; i++)
        if (strcmp(families[i]->name, name) == 0) {
            *family = families[i];
            return TT_OK;
        }
    const char *known[sizeof families / sizeof families[0]];
    const int n = (int)(sizeof families / sizeof families[0]);
    for (int i = 0; i < n; i++)
        known[i] = families[i]->name;
    tt_status st =
        tt_fail(err, TT_ERR_CONFIG,
                "model.name = \"%s\" is not a family that is built in; use \"llama3\"", name);
    return tt_closest_hint_word(err, st, name, known, n);
}

static tt_status check_dims(const tt_model_dims *d, tt_error *err)
{
    if (d->dim < 1 || d->n_layers < 1 || d->n_heads < 1 || d->n_kv_heads < 1 || d->head_dim < 1 || d->ffn_dim < 1 ||
        d->vocab_size < 1)
        return tt_fail(
            err, TT_ERR_CONFIG,
            "model shapes dim %d, n_layers %d, n_heads %d, n_kv_heads %d, head_dim %d, ffn_dim %d, "
            "vocab_size %lld: each must be at least 1; change those of the [model] section",
            d->dim, d->n_layers, d->n_heads, d->n_kv_heads, d->head_dim, d->ffn_dim,
            (long long)d->vocab_size);
    if (d->n_heads % d->n_kv_heads)
        return tt_fail(err, TT_ERR_CONFIG,
                       "model.n_heads=%d is not divisible by model.n_kv_heads=%d; each kv head "
                       "serves the same number of query heads: use a divisor of n_heads",
                       d->n_heads, d->n_kv_heads);
    if (d->head_dim % 2)
        return tt_fail(err, TT_ERR_CONFIG, "model.head_dim=%d is odd; RoPE rotates pairs, so use an even one",
                       d->head_dim);
    return TT_OK;
}

tt_status tt_model_create(const char *family, const tt_model_dims *dims, tt_model **model, tt_error *err)
{
    const tt_family *f;
    tt_status st = tt_family_find(family, &f, err);
    if (st == TT_OK)
        st = check_dims(dims, err);
    if (st != TT_OK)
        return st;
    tt_model *m = calloc(1, sizeof *m);
    TT_ASSERT(m);
    m->family = f;
    m->dims = *dims;
    m->arena = tt_arena_create();
    m->n_rows = f->params(dims, m->arena, &m->rows);
    for (int i = 0; i < m->n_rows; i++) {
        int64_t n = 1;
        for (int k = 0; k < m->rows[i].ndim; k++)
            n *= m->rows[i].shape[k];
        m->n_params += n;
        if (i == 0)
            m->n_embedding_params = n;
    }
    *model = m;
    return TT_OK;
}

void tt_model_destroy(tt_model **model)
{
    if (!*model)
        return;
    tt_arena_destroy(&(*model)->arena);
    free(*model);
    *model = NULL;
}
