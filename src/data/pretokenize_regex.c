/* Regular expressions of tokenizer.json, for patterns that have no matcher by hand. The files are written for Oniguruma with
 * Ruby's syntax; here the pattern is rewritten for PCRE2 where the two differ:
 *   \p{L}, \s … of our tables   become their code points, because PCRE2's Unicode is another version;
 *   x{n,m}+                     is a repeated repeat, not a possessive one;
 *   \uHHHH                      is \x{HHHH};   ^ and $ are the ends of lines.
 * What cannot be said in PCRE2 (&& in classes, (?m:), \h, \y) is refused. */
#include "data/pretokenize.h"
#include "data/unicode.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_GROUPS = 64 };

struct tt_regex {
    pcre2_code *code;
};

typedef struct writer {
    char *at; /* owned */
    size_t n, room;
    int failed;
    int in_class;
} writer;

static void put(writer *w, const char *text, size_t n)
{
    if (w->n + n + 1 > w->room) {
        size_t room = 2 * (w->n + n) + 256;
        char *at = w->failed ? NULL : realloc(w->at, room);
        if (!at) {
            w->failed = 1;
            return;
        }
        w->at = at;
        w->room = room;
    }
    memcpy(w->at + w->n, text, n);
    w->n += n;
}

static void put_range(void *ctx, uint32_t first, uint32_t last)
{
    char text[40];
    put(ctx, text, (size_t)snprintf(text, sizeof text, "\\x{%X}-\\x{%X}", (unsigned)first, (unsigned)last));
}

static void put_class(writer *w, uint32_t mask, int negate)
{
    if (!w->in_class)
        put(w, negate ? "[^" : "[", negate ? 2 : 1);
    tt_unicode_ranges(mask, w->in_class && negate, put_range, w);
    if (!w->in_class)
        put(w, "]", 1);
}

static uint32_t class_named(const char *name, size_t n)
{
    static const struct named {
        const char *name;
        uint32_t mask;
    } all[] = {{"L", TT_UC_L},       {"Lu", TT_UC_LU},     {"Ll", TT_UC_LL},          {"Lt", TT_UC_LT},          {"Lm", TT_UC_LM},
               {"Lo", TT_UC_LO},     {"M", TT_UC_M},       {"N", TT_UC_N},            {"P", TT_UC_P},            {"S", TT_UC_S},
               {"Letter", TT_UC_L},  {"Mark", TT_UC_M},    {"Number", TT_UC_N},       {"Punctuation", TT_UC_P},  {"Symbol", TT_UC_S}};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        if (strlen(all[i].name) == n && memcmp(all[i].name, name, n) == 0)
            return all[i].mask;
    return 0;
}

/* An escape at p[i] (p[i] is the backslash); returns its length, 0 when it is refused. */
static size_t put_escape(writer *w, const char *p, size_t n, size_t i)
{
    if (i + 1 >= n)
        return 0;
    const char c = p[i + 1];
    if (c == 's' || c == 'S') {
        put_class(w, TT_UC_SPACE, c == 'S');
        return 2;
    }
    if (c == 'h' || c == 'H' || c == 'y' || c == 'Y' || c == 'K')
        return 0;
    if (c == 'u' && i + 5 < n) {
        char text[16];
        put(w, text, (size_t)snprintf(text, sizeof text, "\\x{%.4s}", p + i + 2));
        return 6;
    }
    if (c == 'p' || c == 'P') {
        size_t from = i + 2, to = from;
        if (from < n && p[from] == '{') {
            from++;
            while (to < n && p[to] != '}')
                to++;
        } else {
            to = from + 1;
        }
        if (to > n || (p[i + 2] == '{' && to == n))
            return 0;
        const size_t after = to + (p[i + 2] == '{');
        const int caret = from < to && p[from] == '^';
        const uint32_t mask = class_named(p + from + caret, to - from - (size_t)caret);
        if (mask)
            put_class(w, mask, (c == 'P') != caret);
        else
            put(w, p + i, after - i);
        return after - i;
    }
    put(w, p + i, 2);
    return 2;
}

/* The bracketed class at p[i]; returns its length, 0 when it is refused. */
static size_t put_bracket(writer *w, const char *p, size_t n, size_t i)
{
    const size_t begin = i++;
    w->in_class = 1;
    put(w, "[", 1);
    if (i < n && p[i] == '^')
        put(w, &p[i++], 1);
    if (i < n && p[i] == ']') {
        put(w, "\\]", 2);
        i++;
    }
    while (i < n && p[i] != ']') {
        size_t length = 1;
        if (p[i] == '\\') {
            length = put_escape(w, p, n, i);
        } else if (p[i] == '[') { /* a class in a class is a union in Oniguruma */
            if (i + 1 >= n || p[i + 1] != ':')
                return 0;
            const char *end = memmem(p + i, n - i, ":]", 2);
            length = end ? (size_t)(end - (p + i)) + 2 : 0;
            put(w, p + i, length);
        } else if (p[i] == '&' && i + 1 < n && p[i + 1] == '&') {
            return 0;
        } else {
            put(w, p + i, 1);
        }
        if (!length)
            return 0;
        i += length;
    }
    put(w, "]", 1);
    w->in_class = 0;
    return i < n ? i + 1 - begin : 0;
}

/* "{n,m}" at p[i] and the "+" behind it: wrap the atom that began at w->at[atom]. Returns the length. */
static size_t put_interval(writer *w, const char *p, size_t n, size_t i, size_t atom)
{
    size_t end = i + 1;
    while (end < n && ((p[end] >= '0' && p[end] <= '9') || p[end] == ','))
        end++;
    if (end >= n || p[end] != '}' || end == i + 1) {
        put(w, "\\{", 2); /* no interval: a brace */
        return 1;
    }
    end++;
    put(w, p + i, end - i);
    if (end < n && p[end] == '+') {
        put(w, "(?:)", 4); /* room for the wrap */
        if (!w->failed) {
            memmove(w->at + atom + 3, w->at + atom, w->n - atom - 4);
            memcpy(w->at + atom, "(?:", 3);
            w->at[w->n - 1] = ')';
        }
    }
    return end - i;
}

/* The whole pattern; returns the place that is refused, or n. */
static size_t rewrite(writer *w, const char *p, size_t n)
{
    size_t atom = 0, groups[MAX_GROUPS];
    int depth = 0;
    for (size_t i = 0; i < n;) {
        size_t length = 1;
        switch (p[i]) {
        case '\\':
            atom = w->n;
            length = put_escape(w, p, n, i);
            break;
        case '[':
            atom = w->n;
            length = put_bracket(w, p, n, i);
            break;
        case '{':
            length = put_interval(w, p, n, i, atom);
            break;
        case '(':
            if (depth == MAX_GROUPS)
                return i;
            for (size_t k = i + 1; k < n && p[i + 1] == '?' && p[k] != ':' && p[k] != ')'; k++)
                if (p[k] == 'm' && p[i + 2] != '<' && p[i + 2] != '=' && p[i + 2] != '!')
                    return i;
                else if (k > i + 1 && !(p[k] >= 'a' && p[k] <= 'z') && p[k] != '-')
                    break;
            groups[depth++] = w->n;
            put(w, p + i, 1);
            break;
        case ')':
            if (depth > 0)
                atom = groups[--depth];
            put(w, p + i, 1);
            break;
        default:
            if (!strchr("*+?|", p[i]) && (p[i] & 0xC0) != 0x80)
                atom = w->n;
            put(w, p + i, 1);
        }
        if (!length)
            return i;
        i += length;
    }
    return n;
}

static tt_status compile(const char *pattern, size_t n, uint32_t options, tt_regex **regex, tt_error *err)
{
    int code = 0;
    size_t at = 0;
    unsigned char why[160];
    *regex = calloc(1, sizeof **regex);
    if (!*regex)
        return tt_fail(err, TT_ERR_NOMEM, "compiling a regular expression: no memory");
    (*regex)->code = pcre2_compile((PCRE2_SPTR)pattern, n, options | PCRE2_UTF, &code, &at, NULL);
    if (!(*regex)->code) {
        pcre2_get_error_message(code, why, sizeof why);
        tt_regex_destroy(regex);
        return tt_fail(err, TT_ERR_DATA,
                       "the regular expression \"%.*s\" of the tokenizer cannot be compiled: %s at "
                       "%zu; download the tokenizer again",
                       (int)(n < 200 ? n : 200), pattern, (const char *)why, at);
    }
    pcre2_jit_compile((*regex)->code, PCRE2_JIT_COMPLETE); /* without it the matcher is slower, not wrong */
    return TT_OK;
}

tt_status tt_regex_create(const char *pattern, size_t n, tt_regex **regex, tt_error *err)
{
    writer w = {0};
    *regex = NULL;
    const size_t done = memchr(pattern, 0, n) ? 0 : rewrite(&w, pattern, n);
    tt_status st;
    if (w.failed)
        st = tt_fail(err, TT_ERR_NOMEM, "compiling a regular expression: no memory");
    else if (done < n)
        st = tt_fail(err, TT_ERR_DATA, "the regular expression \"%.*s\" of the tokenizer uses what titan cannot say at its "
                     "character %zu (\"%.8s\"); tokenize with the tokenizers library and train on token files instead",
                     (int)(n < 200 ? n : 200), pattern, done, pattern + done);
    else
        st = compile(w.at ? w.at : "", w.n, PCRE2_UCP | PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C, regex, err);
    free(w.at);
    return st;
}

tt_status tt_regex_create_text(const char *text, size_t n, tt_regex **regex, tt_error *err)
{
    *regex = NULL;
    return compile(text, n, PCRE2_LITERAL, regex, err);
}

void tt_regex_destroy(tt_regex **regex)
{
    if (!*regex)
        return;
    pcre2_code_free((*regex)->code);
    free(*regex);
    *regex = NULL;
}

int tt_regex_match(const tt_regex *regex, const unsigned char *s, size_t at, size_t end, size_t *from, size_t *to)
{
    pcre2_match_data *m = pcre2_match_data_create(1, NULL);
    if (!m)
        return -1;
    int rc = pcre2_match(regex->code, s, end, at, PCRE2_NO_UTF_CHECK, m, NULL);
    if (rc == PCRE2_ERROR_JIT_STACKLIMIT)
        rc = pcre2_match(regex->code, s, end, at, PCRE2_NO_UTF_CHECK | PCRE2_NO_JIT, m, NULL);
    const int found = rc == PCRE2_ERROR_NOMATCH ? 0 : rc < 0 ? -1 : 1;
    if (found > 0) {
        const size_t *v = pcre2_get_ovector_pointer(m);
        *from = v[0];
        *to = v[1] > v[0] ? v[1] : v[0]; /* \K may turn them round */
    }
    pcre2_match_data_free(m);
    return found;
}
