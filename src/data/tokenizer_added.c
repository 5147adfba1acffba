/* Added tokens: where they stand in a text. Leftmost first, the longest of those that begin there; then their flags. */
#include "data/tokenizer_hf.h"
#include "data/unicode.h"

#include <stdlib.h>
#include <string.h>

typedef struct sortable {
    const tt_added *token;
    char *match;
    size_t length, order;
} sortable;

static int compare(const void *a, const void *b)
{
    const sortable *x = a, *y = b;
    const size_t common = x->length < y->length ? x->length : y->length;
    const int c = memcmp(x->match, y->match, common);
    if (c)
        return c;
    if (x->length != y->length)
        return x->length < y->length ? -1 : 1;
    return x->order < y->order ? -1 : 1;
}

static tt_status match_text(const tt_added *token, int nfc, char **match, size_t *length, tt_error *err)
{
    unsigned char *composed = NULL;
    *match = NULL;
    if (nfc) {
        tt_status st = tt_unicode_nfc((const unsigned char *)token->content, token->n, &composed, length, err);
        if (st != TT_OK)
            return st;
    }
    if (composed) {
        *match = (char *)composed;
        return TT_OK;
    }
    *match = malloc(token->n + 1);
    if (!*match)
        return tt_fail(err, TT_ERR_NOMEM, "opening a tokenizer: no memory for its added tokens");
    memcpy(*match, token->content, token->n);
    *length = token->n;
    return TT_OK;
}

static void note_first(tt_added_set *set, unsigned char c)
{
    if (!set->first[c])
        set->only = set->n == 0 ? c : -1;
    set->first[c] = 1;
}

tt_status tt_added_set_build(tt_added_set *set, const tt_added *tokens, size_t n, int normalized, int nfc, tt_error *err)
{
    sortable *all = malloc((n + 1) * sizeof *all);
    size_t m = 0;
    tt_status st = TT_OK;
    tt_added_set_free(set);
    set->only = -1;
    set->sorted = malloc((n + 1) * sizeof *set->sorted);
    set->match = malloc((n + 1) * sizeof *set->match);
    set->length = malloc((n + 1) * sizeof *set->length);
    if (!all || !set->sorted || !set->match || !set->length)
        TT_TRY(tt_fail(err, TT_ERR_NOMEM, "opening a tokenizer: no memory for %zu added tokens", n));
    for (size_t i = 0; i < n; i++) {
        if (tokens[i].normalized != normalized || tokens[i].n == 0)
            continue;
        all[m] = (sortable){.token = &tokens[i], .order = i};
        TT_TRY(match_text(&tokens[i], nfc && normalized, &all[m].match, &all[m].length, err));
        m++;
    }
    if (m > 0)
        qsort(all, m, sizeof *all, compare);
    for (size_t i = 0; i < m; i++) {
        if (all[i].length == 0)
            continue;
        note_first(set, (unsigned char)all[i].match[0]);
        set->sorted[set->n] = all[i].token;
        set->match[set->n] = all[i].match;
        set->length[set->n++] = all[i].length;
        all[i].match = NULL;
    }
out:
    for (size_t i = 0; all && i < m; i++)
        free(all[i].match);
    free(all);
    return st;
}

void tt_added_set_free(tt_added_set *set)
{
    for (size_t i = 0; i < set->n; i++)
        free(set->match[i]);
    free(set->match);
    free(set->sorted);
    free(set->length);
    memset(set, 0, sizeof *set);
}

/* The longest token that begins at s (n bytes are left), or -1. */
static int64_t longest_at(const tt_added_set *set, const unsigned char *s, size_t n)
{
    size_t lo = 0, hi = set->n;
    int64_t best = -1;
    for (size_t depth = 0; depth < n && lo < hi; depth++) {
        size_t a = lo, b = hi; /* first entry whose byte at depth is not below s[depth] */
        while (a < b) {
            const size_t mid = (a + b) / 2;
            if (set->length[mid] <= depth || (unsigned char)set->match[mid][depth] < s[depth])
                a = mid + 1;
            else
                b = mid;
        }
        lo = a;
        b = hi;
        while (a < b) {
            const size_t mid = (a + b) / 2;
            if ((unsigned char)set->match[mid][depth] <= s[depth])
                a = mid + 1;
            else
                b = mid;
        }
        hi = a;
        if (lo < hi && set->length[lo] == depth + 1)
            best = (int64_t)lo;
    }
    return best;
}

static int next_match(const tt_added_set *set, const unsigned char *s, size_t n, size_t at, size_t *from, size_t *which)
{
    for (; at < n; at++) {
        if (set->only >= 0) {
            const unsigned char *c = memchr(s + at, set->only, n - at);
            if (!c)
                return 0;
            at = (size_t)(c - s);
        } else if (!set->first[s[at]]) {
            continue;
        }
        const int64_t found = longest_at(set, s + at, n - at);
        if (found >= 0) {
            *from = at;
            *which = (size_t)found;
            return 1;
        }
    }
    return 0;
}

/* Begin of the character that ends at `at` (> 0). */
static size_t char_before(const unsigned char *s, size_t at)
{
    do
        at--;
    while (at > 0 && (s[at] & 0xC0) == 0x80);
    return at;
}

static uint32_t flags_at(const unsigned char *s, size_t at, unsigned *length)
{
    return tt_unicode_flags(tt_unicode_read(s + at, length));
}

static int stands_alone(const unsigned char *s, size_t n, size_t from, size_t to)
{
    unsigned length;
    const int before = from > 0 && (flags_at(s, char_before(s, from), &length) & TT_UC_WORD);
    const int after = to < n && (flags_at(s, to, &length) & TT_UC_WORD);
    return !before && !after;
}

tt_status tt_added_split(const tt_added_set *set, const unsigned char *s, size_t n, tt_added_sink sink, void *ctx, tt_error *err)
{
    size_t done = 0, at = 0, from, which;
    unsigned length;
    tt_status st = TT_OK;
    while (set->n > 0 && next_match(set, s, n, at, &from, &which)) {
        const tt_added *token = set->sorted[which];
        size_t to = from + set->length[which];
        at = to; /* the search goes on behind the content, also where rstrip takes more */
        if (token->single_word && !stands_alone(s, n, from, to))
            continue;
        if (token->lstrip) {
            while (from > 0 && (flags_at(s, char_before(s, from), &length) & TT_UC_SPACE))
                from = char_before(s, from);
            from = from > done ? from : done;
        }
        while (token->rstrip && to < n && (flags_at(s, to, &length) & TT_UC_SPACE))
            to += length;
        if (from > done)
            TT_TRY(sink(ctx, -1, s + done, from - done, err));
        if (to > from) { /* else lstrip met what an rstrip before it took: the library drops the token then */
            TT_TRY(sink(ctx, token->id, s + from, to - from, err));
            done = to;
        }
    }
    if (done < n)
        st = sink(ctx, -1, s + done, n - done, err);
out:
    return st;
}
