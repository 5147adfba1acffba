/* See tokenizer_pull.h. */
#include "data/tokenizer_pull.h"
#include "data/unicode.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_DEPTH = 100 };

tt_pull tt_pull_make(const char *text, size_t n, const char *file)
{
    return (tt_pull){.begin = text, .at = text, .end = text + n, .file = file};
}

void tt_pull_close(tt_pull *p)
{
    free(p->scratch);
    p->scratch = NULL;
}

static tt_status fail(const tt_pull *p, const char *wanted, tt_error *err)
{
    return tt_fail(err, TT_ERR_DATA, "%s: at byte %zu %s; the file is damaged or no tokenizer: download it again", p->file,
                   (size_t)(p->at - p->begin), wanted);
}

static inline void blank(tt_pull *p)
{
    while (p->at < p->end && (*p->at == ' ' || *p->at == '\n' || *p->at == '\t' || *p->at == '\r'))
        p->at++;
}

int tt_pull_is(tt_pull *p, char first)
{
    blank(p);
    return p->at < p->end && *p->at == first;
}

tt_status tt_pull_enter(tt_pull *p, char open, tt_error *err)
{
    if (!tt_pull_is(p, open))
        return fail(p, open == '{' ? "there should be an object" : "there should be an array", err);
    p->at++;
    return TT_OK;
}

tt_status tt_pull_more(tt_pull *p, char close, size_t index, int *more, tt_error *err)
{
    *more = 0;
    if (tt_pull_is(p, close)) {
        p->at++;
        return TT_OK;
    }
    if (index > 0) {
        if (!tt_pull_is(p, ','))
            return fail(p, close == '}' ? "there should be a comma or }" : "there should be a comma or ]", err);
        p->at++;
    }
    *more = 1;
    return TT_OK;
}

static int hex4(const char *s, uint32_t *value)
{
    *value = 0;
    for (int i = 0; i < 4; i++) {
        const char c = s[i];
        const int d = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
        if (d < 0)
            return 0;
        *value = *value << 4 | (uint32_t)d;
    }
    return 1;
}

/* \uXXXX at p->at (behind the backslash stands u), with the second half of a pair of surrogates. */
static int unicode_escape(tt_pull *p, char *out, size_t *n)
{
    uint32_t c, low;
    if (p->end - p->at < 5 || !hex4(p->at + 1, &c))
        return 0;
    p->at += 5;
    if (c >= 0xD800 && c < 0xDC00) {
        if (p->end - p->at < 6 || p->at[0] != '\\' || p->at[1] != 'u' || !hex4(p->at + 2, &low) || low < 0xDC00 || low > 0xDFFF)
            return 0;
        p->at += 6;
        c = 0x10000 + ((c - 0xD800) << 10) + (low - 0xDC00);
    } else if (c >= 0xDC00 && c < 0xE000) {
        return 0;
    }
    *n += tt_unicode_write(c, (unsigned char *)out + *n);
    return 1;
}

static tt_status escaped(tt_pull *p, const char *close, const char **text, size_t *n, tt_error *err)
{
    static const char from[] = "\"\\/bfnrt", into[] = "\"\\/\b\f\n\r\t";
    const size_t most = (size_t)(close - p->at) + 4;
    if (most > p->room) {
        char *scratch = realloc(p->scratch, 2 * most);
        if (!scratch)
            return tt_fail(err, TT_ERR_NOMEM, "%s: no memory for a string of %zu bytes", p->file, most);
        p->scratch = scratch;
        p->room = 2 * most;
    }
    *n = 0;
    while (p->at < close) {
        if (*p->at != '\\') {
            p->scratch[(*n)++] = *p->at++;
            continue;
        }
        p->at++;
        const char *which = *p->at ? strchr(from, *p->at) : NULL;
        if (which) {
            p->scratch[(*n)++] = into[which - from];
            p->at++;
        } else if (*p->at != 'u' || !unicode_escape(p, p->scratch, n)) {
            return fail(p, "there is an escape that JSON does not have, or half a pair of surrogates", err);
        }
    }
    *text = p->scratch;
    return TT_OK;
}

tt_status tt_pull_string(tt_pull *p, const char **text, size_t *n, tt_error *err)
{
    if (!tt_pull_is(p, '"'))
        return fail(p, "there should be a string", err);
    p->at++;
    const char *c = p->at;
    int escapes = 0, high = 0;
    while (c < p->end && *c != '"') {
        if ((unsigned char)*c < 0x20) {
            p->at = c;
            return fail(p, "there is a control character in a string", err);
        }
        high |= *c & 0x80;
        if (*c == '\\') {
            escapes = 1;
            c++;
        }
        c++;
    }
    if (c >= p->end)
        return fail(p, "there is a string that does not end", err);
    if (high && tt_unicode_valid((const unsigned char *)p->at, (size_t)(c - p->at)) != (size_t)(c - p->at))
        return fail(p, "there is a string that is not UTF-8", err);
    tt_status st = TT_OK;
    if (escapes)
        st = escaped(p, c, text, n, err);
    else {
        *text = p->at;
        *n = (size_t)(c - p->at);
    }
    p->at = st == TT_OK ? c + 1 : p->at;
    return st;
}

tt_status tt_pull_key(tt_pull *p, const char **text, size_t *n, tt_error *err)
{
    tt_status st = tt_pull_string(p, text, n, err);
    if (st != TT_OK)
        return st;
    if (!tt_pull_is(p, ':'))
        return fail(p, "there should be a colon", err);
    p->at++;
    return TT_OK;
}

tt_status tt_pull_int(tt_pull *p, int64_t most, int64_t *value, tt_error *err)
{
    blank(p);
    const char *from = p->at, *c = from;
    int64_t v = 0;
    while (c < p->end && *c >= '0' && *c <= '9' && c - from < 18)
        v = 10 * v + (*c++ - '0');
    if (c == from || (*from == '0' && c > from + 1) || v > most || (c < p->end && strchr("0123456789.eE+-", *c)))
        return fail(p, "there should be an id (a whole number that is not too large)", err);
    p->at = c;
    *value = v;
    return TT_OK;
}

tt_status tt_pull_span(tt_pull *p, const char **text, size_t *n, tt_error *err)
{
    char open[MAX_DEPTH];
    int depth = 0;
    blank(p);
    const char *from = p->at;
    do {
        if (p->at >= p->end)
            return fail(p, "the file ends inside a value", err);
        const char c = *p->at;
        if (c == '"') {
            const char *s;
            size_t m;
            tt_status st = tt_pull_string(p, &s, &m, err);
            if (st != TT_OK)
                return st;
            continue;
        }
        if (depth == 0 && (c == ',' || c == ']' || c == '}' || c == ':'))
            break;
        if (c == '{' || c == '[') {
            if (depth == MAX_DEPTH)
                return fail(p, "values are nested too deeply", err);
            open[depth++] = c;
        } else if (c == '}' || c == ']') {
            if (open[--depth] != (c == '}' ? '{' : '['))
                return fail(p, "brackets do not match", err);
        } else if (depth == 0) { /* a number or a word: to its end */
            while (p->at + 1 < p->end && !strchr(" \n\r\t,]}:\"[{", p->at[1]))
                p->at++;
        }
        p->at++;
    } while (depth > 0);
    if (p->at == from)
        return fail(p, "there should be a value", err);
    *text = from;
    *n = (size_t)(p->at - from);
    return TT_OK;
}

tt_status tt_pull_finish(tt_pull *p, tt_error *err)
{
    blank(p);
    return p->at == p->end ? TT_OK : fail(p, "there is more behind the end", err);
}
