/* One line of JSON: where the value of a field stands, and a string without its escapes. The line is looked at once, eight bytes at a
 * time inside strings, and nothing is copied. */
#include "data/text_files_priv.h"
#include "data/unicode.h"

#include <string.h>

enum { MAX_DEPTH = 256 };

typedef struct scan {
    const char *begin, *at, *end;
    const char *why;
    int escapes, high; /* of the last string */
} scan;

static int fail(scan *s, const char *why)
{
    if (!s->why)
        s->why = why;
    return 0;
}

static inline void blank(scan *s)
{
    while (s->at < s->end && (*s->at == ' ' || *s->at == '\t' || *s->at == '\r' || *s->at == '\n'))
        s->at++;
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

/* Bytes of w that are a quote, a backslash or a control character have their high bit set in the result, and perhaps a byte above
 * such a one. */
static inline uint64_t special(uint64_t w)
{
    const uint64_t ones = 0x0101010101010101u, highs = 0x8080808080808080u;
    const uint64_t quote = w ^ (ones * '"'), back = w ^ (ones * '\\');
    return (((quote - ones) & ~quote) | ((back - ones) & ~back) | ((w - ones * 0x20) & ~w)) & highs;
}

/* Behind an opening quote, to behind the closing one: the string is [*text, *text + *n). */
static int string(scan *s, const char **text, size_t *n)
{
    uint64_t w, high = 0;
    uint32_t code;
    const char *c = s->at;
    s->escapes = 0;
    for (*text = c;;) {
        while (s->end - c >= 8 && (memcpy(&w, c, 8), !special(w))) {
            high |= w;
            c += 8;
        }
        if (c >= s->end)
            break;
        high |= (uint64_t)(unsigned char)*c;
        if (*c == '"') {
            *n = (size_t)(c - *text);
            s->at = c + 1;
            s->high = (high & 0x8080808080808080u) != 0;
            return 1;
        }
        if ((unsigned char)*c < 0x20) {
            s->at = c;
            return fail(s, "there is a control character in a string");
        }
        if (*c++ != '\\')
            continue;
        s->escapes = 1;
        s->at = c - 1;
        if (c >= s->end)
            break;
        if (*c == 'u' ? s->end - c < 5 || !hex4(c + 1, &code) : !memchr("\"\\/bfnrt", *c, 8))
            return fail(s, "there is an escape that JSON does not have");
        c += *c == 'u' ? 5 : 1;
    }
    s->at = s->end;
    return fail(s, "the line ends inside a string");
}

static int digits(scan *s)
{
    const char *from = s->at;
    while (s->at < s->end && *s->at >= '0' && *s->at <= '9')
        s->at++;
    return s->at > from;
}

static int word(scan *s, const char *w)
{
    const size_t n = strlen(w);
    if ((size_t)(s->end - s->at) < n || memcmp(s->at, w, n) != 0)
        return 0;
    s->at += n;
    return 1;
}

/* A number or a word. */
static int plain(scan *s)
{
    if (word(s, "true") || word(s, "false") || word(s, "null") || word(s, "NaN") || word(s, "Infinity") || word(s, "-Infinity"))
        return 1;
    const char *from = s->at;
    s->at += *s->at == '-';
    const char *first = s->at;
    if (!digits(s) || (*first == '0' && s->at > first + 1)) {
        s->at = from;
        return fail(s, "there should be a value");
    }
    if (s->at < s->end && *s->at == '.' && (s->at++, !digits(s)))
        return fail(s, "there is a number that JSON does not have");
    if (s->at < s->end && (*s->at == 'e' || *s->at == 'E')) {
        s->at++;
        s->at += s->at < s->end && (*s->at == '+' || *s->at == '-');
        if (!digits(s))
            return fail(s, "there is a number that JSON does not have");
    }
    return 1;
}

static int key(scan *s, const char **text, size_t *n)
{
    blank(s);
    if (s->at >= s->end)
        return fail(s, "the line ends inside an object");
    if (*s->at != '"')
        return fail(s, "there should be a name in quotes");
    s->at++;
    if (!string(s, text, n))
        return 0;
    blank(s);
    if (s->at >= s->end || *s->at != ':')
        return fail(s, s->at >= s->end ? "the line ends inside an object" : "there should be a colon");
    s->at++;
    return 1;
}

/* Behind a value inside of brackets: closes what ends here. 1: another element of open[depth-1] follows (its key, of an object, is
 * read), or depth is 0; 0: wrong. */
static int between(scan *s, const char *open, int *depth)
{
    const char *text;
    size_t n;
    while (*depth > 0) {
        const char close = open[*depth - 1] == '{' ? '}' : ']';
        blank(s);
        if (s->at >= s->end)
            return fail(s, close == '}' ? "the line ends inside an object" : "the line ends inside an array");
        if (*s->at == ',') {
            s->at++;
            return close == ']' || key(s, &text, &n);
        }
        if (*s->at != close)
            return fail(s, close == '}' ? "there should be a comma or }" : "there should be a comma or ]");
        s->at++;
        --*depth;
    }
    return 1;
}

/* Behind an opening bracket: 1 when the first element follows (key read), 2 when it is empty (closed), 0: wrong. */
static int enter(scan *s, char bracket)
{
    const char *text;
    size_t n;
    blank(s);
    if (s->at < s->end && *s->at == (bracket == '{' ? '}' : ']')) {
        s->at++;
        return 2;
    }
    return bracket == '[' || key(s, &text, &n);
}

/* Any value; s->escapes and s->high tell of it when it is a string. */
static int value(scan *s)
{
    char open[MAX_DEPTH];
    const char *text;
    size_t n;
    int depth = 0;
    do {
        blank(s);
        if (s->at >= s->end)
            return fail(s, "the line ends where a value should be");
        const char c = *s->at;
        if (c == '{' || c == '[') {
            if (depth == MAX_DEPTH)
                return fail(s, "values are nested too deeply");
            s->at++;
            const int entered = enter(s, c);
            if (!entered)
                return 0;
            if (entered == 1) {
                open[depth++] = c;
                continue;
            }
        } else if (c == '"') {
            s->at++;
            if (!string(s, &text, &n))
                return 0;
        } else if (!plain(s)) {
            return 0;
        }
        if (!between(s, open, &depth))
            return 0;
    } while (depth > 0);
    return 1;
}

static int same_name(const char *name, size_t n, int escapes, const char *field)
{
    char copy[256];
    int64_t lone = 0;
    if (escapes) {
        if (n >= sizeof copy)
            return 0;
        memcpy(copy, name, n);
        n = tt_json_unescape(copy, n, &lone);
        name = copy;
    }
    return strlen(field) == n && memcmp(name, field, n) == 0;
}

/* Walk over the fields of an object; each is given to `take`. */
static int fields(scan *s, void (*take)(void *ctx, scan *s, const char *name, size_t n, int escapes, const char *from), void *ctx)
{
    blank(s);
    if (s->at >= s->end || *s->at != '{')
        return fail(s, s->at < s->end && *s->at == '[' ? "there is an array; a line should be an object" : "there should be an object");
    s->at++;
    blank(s);
    if (s->at < s->end && *s->at == '}') {
        s->at++;
    } else {
        for (;;) {
            const char *name;
            size_t n;
            if (!key(s, &name, &n))
                return 0;
            const int escapes = s->escapes;
            blank(s);
            const char *from = s->at;
            s->escapes = s->high = 0;
            if (!value(s))
                return 0;
            take(ctx, s, name, n, escapes, from);
            blank(s);
            if (s->at >= s->end)
                return fail(s, "the line ends inside an object");
            if (*s->at != ',' && *s->at != '}')
                return fail(s, "there should be a comma or }");
            if (*s->at++ == '}')
                break;
        }
    }
    blank(s);
    return s->at == s->end || fail(s, "there is more behind the object");
}

typedef struct wanted {
    const char *field;
    tt_json_field *found;
} wanted;

static void take_value(void *ctx, scan *s, const char *name, size_t n, int escapes, const char *from)
{
    const wanted *w = ctx;
    if (!same_name(name, n, escapes, w->field))
        return;
    const int quoted = *from == '"';
    *w->found = (tt_json_field){.value = from + quoted, .n = (size_t)(s->at - from) - 2 * (size_t)quoted, .string = quoted,
                                .escapes = s->escapes, .high = s->high};
}

int tt_json_find(const char *line, size_t n, const char *field, tt_json_field *found)
{
    scan s = {.begin = line, .at = line, .end = line + n};
    wanted w = {field, found};
    *found = (tt_json_field){0};
    if (fields(&s, take_value, &w))
        return 0;
    found->why = s.why;
    found->at = (size_t)(s.at - line);
    return -1;
}

typedef struct names {
    char *out;
    size_t n, room;
} names;

static void take_name(void *ctx, scan *s, const char *name, size_t n, int escapes, const char *from)
{
    names *l = ctx;
    (void)s, (void)escapes, (void)from;
    const size_t comma = l->n > 0 ? 2 : 0;
    if (l->n + comma + n + 5 > l->room) { /* ", …" still fits */
        if (l->n >= 3 && memcmp(l->out + l->n - 3, "…", 3) != 0 && l->n + 6 <= l->room) {
            memcpy(l->out + l->n, ", …", 6);
            l->n += 5;
        }
        return;
    }
    memcpy(l->out + l->n, ", ", comma);
    memcpy(l->out + l->n + comma, name, n);
    l->n += comma + n;
    l->out[l->n] = 0;
}

void tt_json_names(const char *line, size_t n, char *out, size_t room)
{
    scan s = {.begin = line, .at = line, .end = line + n};
    names l = {out, 0, room};
    out[0] = 0;
    fields(&s, take_name, &l);
}

/* \uXXXX at s (behind the backslash), as one code point; *used becomes the bytes read. */
static uint32_t code_point(const char *s, const char *end, size_t *used, int64_t *lone)
{
    uint32_t c = 0, low;
    hex4(s + 1, &c);
    *used = 5;
    if (c < 0xD800 || c > 0xDFFF)
        return c;
    if (c < 0xDC00 && end - s >= 11 && s[5] == '\\' && s[6] == 'u' && hex4(s + 7, &low) && low >= 0xDC00 && low <= 0xDFFF) {
        *used = 11;
        return 0x10000 + ((c - 0xD800) << 10) + (low - 0xDC00);
    }
    ++*lone;
    return 0xFFFD;
}

size_t tt_json_unescape(char *s, size_t n, int64_t *lone)
{
    static const char from[] = "\"\\/bfnrt", into[] = "\"\\/\b\f\n\r\t";
    const char *at = s, *end = s + n;
    char *out = s;
    while (at < end) {
        const char *back = memchr(at, '\\', (size_t)(end - at));
        const size_t before = (size_t)((back ? back : end) - at);
        if (out != at)
            memmove(out, at, before);
        out += before;
        if (!back)
            break;
        at = back + 1;
        if (*at == 'u') {
            size_t used;
            const uint32_t c = code_point(at, end, &used, lone);
            out += tt_unicode_write(c, (unsigned char *)out); /* at most 4 bytes where 6 or 12 stood */
            at += used;
        } else {
            *out++ = into[strchr(from, *at) - from];
            at++;
        }
    }
    return (size_t)(out - s);
}
