/* See pretokenize.h: the chain of stages. */
#include "data/pretokenize.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef struct chain {
    const tt_stage *stages;
    int n;
    tt_piece_sink sink;
    void *ctx;
} chain;

static tt_status run(const chain *c, int stage, const unsigned char *s, size_t n, tt_error *err);

static inline tt_status emit(const chain *c, int stage, const unsigned char *s, size_t from, size_t to, tt_error *err)
{
    if (from >= to)
        return TT_OK;
    if (stage + 1 == c->n)
        return c->sink(c->ctx, s + from, to - from, err);
    return run(c, stage + 1, s + from, to - from, err);
}

/* Where the search goes on, and where the match before ended. An empty match (of a look-ahead) cuts the text, but not where a match
 * has just ended: then the search goes on behind the next character. */
typedef struct cursor {
    size_t at, last;
} cursor;

static inline int find(const tt_stage *g, const unsigned char *s, cursor *c, size_t n, size_t *from, size_t *to)
{
    int found = 0;
    while (c->at < n) {
        found = g->matcher ? g->matcher(s, c->at, n, from, to) : tt_regex_match(g->regex, s, c->at, n, from, to);
        if (found <= 0)
            return found;
        if (*from < *to || *from != c->last)
            break;
        c->at += s[c->at] < 0x80 ? 1 : s[c->at] < 0xE0 ? 2 : s[c->at] < 0xF0 ? 3 : 4;
        found = 0;
    }
    c->at = c->last = *to;
    return found;
}

/* Behaviours that join a match to its neighbours: `held` is what waits to be given on. */
static tt_status run_joining(const chain *c, int stage, const unsigned char *s, size_t n, tt_error *err)
{
    const tt_stage *g = &c->stages[stage];
    size_t at = 0, held = 0, from = 0, to = 0;
    cursor search = {0, SIZE_MAX};
    int found;
    tt_status st = TT_OK;
    while ((found = find(g, s, &search, n, &from, &to)) > 0) {
        switch (g->split) {
        case TT_SPLIT_WITH_PREVIOUS: /* a match right behind another has nothing before it and stands alone */
            TT_TRY(emit(c, stage, s, held, to, err));
            held = to;
            break;
        case TT_SPLIT_WITH_NEXT:
            TT_TRY(emit(c, stage, s, held, from, err));
            held = from;
            break;
        default: /* contiguous: a new piece begins where matching starts or stops */
            if (from > at || at == 0) {
                TT_TRY(emit(c, stage, s, held, at, err));
                TT_TRY(emit(c, stage, s, at, from, err));
                held = from;
            }
        }
        at = to;
    }
    if (found < 0)
        return tt_fail(err, TT_ERR_DATA, "cutting a text of %zu bytes: the regular expression gave up; give smaller documents", n);
    if (g->split == TT_SPLIT_CONTIGUOUS) {
        TT_TRY(emit(c, stage, s, held, at, err));
        held = at;
    }
    st = emit(c, stage, s, held, n, err);
out:
    return st;
}

static tt_status run_plain(const chain *c, int stage, const unsigned char *s, size_t n, tt_error *err)
{
    const tt_stage *g = &c->stages[stage];
    const int between = g->split != TT_SPLIT_KEPT, matches = g->split != TT_SPLIT_REMOVED;
    size_t at = 0, from = 0, to = 0;
    cursor search = {0, SIZE_MAX};
    int found;
    tt_status st = TT_OK;
    while ((found = find(g, s, &search, n, &from, &to)) > 0) {
        if (between && from > at)
            TT_TRY(emit(c, stage, s, at, from, err));
        if (matches)
            TT_TRY(emit(c, stage, s, from, to, err));
        at = to;
    }
    if (found < 0)
        return tt_fail(err, TT_ERR_DATA, "cutting a text of %zu bytes: the regular expression gave up; give smaller documents", n);
    if (between)
        st = emit(c, stage, s, at, n, err);
out:
    return st;
}

static tt_status run_stage(const chain *c, int stage, const unsigned char *s, size_t n, tt_error *err)
{
    const tt_stage *g = &c->stages[stage];
    if (!g->matcher && !g->regex)
        return emit(c, stage, s, 0, n, err);
    return g->split <= TT_SPLIT_KEPT ? run_plain(c, stage, s, n, err) : run_joining(c, stage, s, n, err);
}

static tt_status run(const chain *c, int stage, const unsigned char *s, size_t n, tt_error *err)
{
    if (!c->stages[stage].prefix_space || s[0] == ' ')
        return run_stage(c, stage, s, n, err);
    unsigned char *copy = malloc(n + 1);
    if (!copy)
        return tt_fail(err, TT_ERR_NOMEM, "cutting a text of %zu bytes: no memory; split the file", n);
    copy[0] = ' ';
    memcpy(copy + 1, s, n);
    tt_status st = run_stage(c, stage, copy, n + 1, err);
    free(copy);
    return st;
}

tt_status tt_pretokenize(const tt_stage *stages, int n_stages, const unsigned char *s, size_t n, tt_piece_sink sink, void *ctx,
                         tt_error *err)
{
    const chain c = {stages, n_stages, sink, ctx};
    if (n == 0)
        return TT_OK;
    return n_stages == 0 ? sink(ctx, s, n, err) : run(&c, 0, s, n, err);
}
