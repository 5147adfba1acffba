/* See unicode.h. */
#include "data/unicode.h"
#include "data/unicode_table.h"

#include <stdlib.h>
#include <string.h>

#define LENGTH(a) (sizeof(a) / sizeof(a)[0])

enum { DENSE = (int)(LENGTH(unicode_index) * 64) };

uint32_t tt_unicode_flags(uint32_t c)
{
    if (c < DENSE)
        return unicode_kind_flags[unicode_kinds[unicode_index[c >> 6]][c & 63]];
    return c >= 0xE0100 && c <= 0xE01EF ? TT_UC_M | TT_UC_WORD : 0; /* variation selectors */
}

unsigned tt_unicode_write(uint32_t c, unsigned char *out)
{
    if (c < 0x80) {
        out[0] = (unsigned char)c;
        return 1;
    }
    if (c < 0x800) {
        out[0] = (unsigned char)(0xC0 | c >> 6);
        out[1] = (unsigned char)(0x80 | (c & 0x3F));
        return 2;
    }
    if (c < 0x10000) {
        out[0] = (unsigned char)(0xE0 | c >> 12);
        out[1] = (unsigned char)(0x80 | (c >> 6 & 0x3F));
        out[2] = (unsigned char)(0x80 | (c & 0x3F));
        return 3;
    }
    out[0] = (unsigned char)(0xF0 | c >> 18);
    out[1] = (unsigned char)(0x80 | (c >> 12 & 0x3F));
    out[2] = (unsigned char)(0x80 | (c >> 6 & 0x3F));
    out[3] = (unsigned char)(0x80 | (c & 0x3F));
    return 4;
}

unsigned tt_unicode_check(const unsigned char *s, size_t n, int *bad)
{
    unsigned char low = 0x80, high = 0xBF;
    unsigned more = 0;
    *bad = 0;
    if (s[0] < 0x80)
        return 1;
    if (s[0] >= 0xC2 && s[0] <= 0xDF) {
        more = 1;
    } else if (s[0] >= 0xE0 && s[0] <= 0xEF) {
        more = 2;
        low = s[0] == 0xE0 ? 0xA0 : 0x80; /* no overlong forms */
        high = s[0] == 0xED ? 0x9F : 0xBF; /* no surrogates */
    } else if (s[0] >= 0xF0 && s[0] <= 0xF4) {
        more = 3;
        low = s[0] == 0xF0 ? 0x90 : 0x80;
        high = s[0] == 0xF4 ? 0x8F : 0xBF; /* nothing past U+10FFFF */
    } else {
        *bad = 1;
        return 0;
    }
    for (unsigned i = 1; i <= more; i++) {
        if (i >= n) {
            *bad = -(int)i;
            return 0;
        }
        if (s[i] < low || s[i] > high) {
            *bad = (int)i;
            return 0;
        }
        low = 0x80;
        high = 0xBF;
    }
    return more + 1;
}

size_t tt_unicode_valid(const unsigned char *s, size_t n)
{
    size_t i = 0;
    int bad;
    while (i < n) {
        uint64_t w;
        if (i + 8 <= n && (memcpy(&w, s + i, 8), !(w & 0x8080808080808080u))) {
            i += 8;
            continue;
        }
        unsigned length = tt_unicode_check(s + i, n - i, &bad);
        if (length == 0)
            break;
        i += length;
    }
    return i;
}

tt_status tt_unicode_repair(const unsigned char *s, size_t n, char **out, size_t *bytes, tt_error *err)
{
    size_t m = 0;
    *out = NULL;
    if (n > (SIZE_MAX - 1) / 3 || !(*out = malloc(3 * n + 1)))
        return tt_fail(err, TT_ERR_NOMEM, "replacing ill-formed parts of a text of %zu bytes: no memory; split the file", n);
    for (size_t i = 0; i < n;) {
        size_t good = tt_unicode_valid(s + i, n - i);
        memcpy(*out + m, s + i, good);
        m += good;
        i += good;
        if (i < n) {
            int bad;
            tt_unicode_check(s + i, n - i, &bad);
            memcpy(*out + m, "\xEF\xBF\xBD", 3);
            m += 3;
            i += (size_t)abs(bad);
        }
    }
    (*out)[m] = 0;
    *bytes = m;
    return TT_OK;
}

/* --- NFC ------------------------------------------------------------------------------------------------------------ */

enum { S_BASE = 0xAC00, L_BASE = 0x1100, V_BASE = 0x1161, T_BASE = 0x11A7, L_COUNT = 19, V_COUNT = 21, T_COUNT = 28,
       S_COUNT = L_COUNT * V_COUNT * T_COUNT };

typedef struct mark {
    uint32_t c;
    uint32_t ccc;
} mark;

static uint32_t ccc_of(uint32_t c)
{
    size_t lo = 0, hi = LENGTH(unicode_ccc);
    while (lo < hi) {
        size_t mid = (lo + hi) / 2;
        if (c < unicode_ccc[mid][0])
            hi = mid;
        else if (c > unicode_ccc[mid][1])
            lo = mid + 1;
        else
            return unicode_ccc[mid][2];
    }
    return 0;
}

static const uint32_t *decomposition(uint32_t c)
{
    size_t lo = 0, hi = LENGTH(unicode_decomp);
    while (lo < hi) {
        size_t mid = (lo + hi) / 2;
        if (unicode_decomp[mid][0] == c)
            return unicode_decomp[mid] + 1;
        if (unicode_decomp[mid][0] < c)
            lo = mid + 1;
        else
            hi = mid;
    }
    return NULL;
}

/* The primary composite of a and b, 0 when there is none. */
static uint32_t compose(uint32_t a, uint32_t b)
{
    if (a >= L_BASE && a < L_BASE + L_COUNT && b >= V_BASE && b < V_BASE + V_COUNT)
        return S_BASE + ((a - L_BASE) * V_COUNT + (b - V_BASE)) * T_COUNT;
    if (a >= S_BASE && a < S_BASE + S_COUNT && (a - S_BASE) % T_COUNT == 0 && b > T_BASE && b < T_BASE + T_COUNT)
        return a + (b - T_BASE);
    size_t lo = 0, hi = LENGTH(unicode_pairs);
    while (lo < hi) {
        size_t mid = (lo + hi) / 2;
        const uint32_t *p = unicode_pairs[mid];
        if (p[0] == a && p[1] == b)
            return p[2];
        if (p[0] < a || (p[0] == a && p[1] < b))
            lo = mid + 1;
        else
            hi = mid;
    }
    return 0;
}

static size_t push_decomposed(mark *out, size_t n, uint32_t c)
{
    if (c >= S_BASE && c < S_BASE + S_COUNT) {
        uint32_t s = c - S_BASE;
        out[n++] = (mark){L_BASE + s / (V_COUNT * T_COUNT), 0};
        out[n++] = (mark){V_BASE + s % (V_COUNT * T_COUNT) / T_COUNT, 0};
        if (s % T_COUNT)
            out[n++] = (mark){T_BASE + s % T_COUNT, 0};
        return n;
    }
    const uint32_t *d = decomposition(c);
    if (!d) {
        out[n++] = (mark){c, ccc_of(c)};
        return n;
    }
    for (int i = 0; i < 4 && d[i]; i++)
        out[n++] = (mark){d[i], ccc_of(d[i])};
    return n;
}

static int by_class(const void *a, const void *b)
{
    const mark *x = a, *y = b;
    return x->ccc != y->ccc ? (x->ccc < y->ccc ? -1 : 1) : 0;
}

/* Stable order of the marks [at, end) by class: counting is not worth it for two or three, a merge is for thousands. */
static void sort_marks(mark *m, size_t n, mark *spare)
{
    if (n < 16) {
        for (size_t i = 1; i < n; i++)
            for (size_t j = i; j > 0 && by_class(&m[j - 1], &m[j]) > 0; j--) {
                mark t = m[j];
                m[j] = m[j - 1];
                m[j - 1] = t;
            }
        return;
    }
    size_t half = n / 2, i = 0, j = half;
    sort_marks(m, half, spare);
    sort_marks(m + half, n - half, spare);
    for (size_t k = 0; k < n; k++)
        spare[k] = j >= n || (i < half && by_class(&m[i], &m[j]) <= 0) ? m[i++] : m[j++];
    memcpy(m, spare, n * sizeof *m);
}

static void reorder(mark *m, size_t n, mark *spare)
{
    for (size_t i = 0; i < n;) {
        size_t end = i;
        while (end < n && m[end].ccc)
            end++;
        if (end - i > 1)
            sort_marks(m + i, end - i, spare);
        i = end + (end == i || end < n);
    }
}

static size_t recompose(mark *m, size_t n)
{
    size_t out = 0, starter = SIZE_MAX;
    uint32_t last = 0; /* class of the mark before, kept in the text after the starter */
    for (size_t i = 0; i < n; i++) {
        if (starter != SIZE_MAX && (out == starter + 1 || (last < m[i].ccc && last != 0))) {
            uint32_t c = compose(m[starter].c, m[i].c);
            if (c) {
                m[starter].c = c;
                continue;
            }
        }
        if (m[i].ccc == 0)
            starter = out;
        last = m[i].ccc;
        m[out++] = m[i];
    }
    return out;
}

/* First character at or after `at` that composes (what = 1) or does not (0); n when there is none. */
static size_t next_that(const unsigned char *s, size_t at, size_t n, int what)
{
    unsigned length = 1;
    for (; at < n; at += length) {
        uint64_t w;
        if (s[at] < 0x80) {
            if (!what)
                return at;
            length = at + 8 <= n && (memcpy(&w, s + at, 8), !(w & 0x8080808080808080u)) ? 8 : 1;
            continue;
        }
        if (((tt_unicode_flags(tt_unicode_read(s + at, &length)) & TT_UC_COMPOSES) != 0) == what)
            return at;
    }
    return n;
}

/* NFC of the stretch s[n] to out; returns its bytes. m has room for 4 n marks. */
static size_t compose_stretch(const unsigned char *s, size_t n, mark *m, unsigned char *out)
{
    size_t k = 0, bytes = 0;
    unsigned length;
    for (size_t i = 0; i < n; i += length)
        k = push_decomposed(m, k, tt_unicode_read(s + i, &length));
    reorder(m, k, m + 2 * n);
    k = recompose(m, k);
    for (size_t i = 0; i < k; i++)
        bytes += tt_unicode_write(m[i].c, out + bytes);
    return bytes;
}

/* A character without the bit is a starter that nothing before it joins, so the text may be cut before it: only stretches of one such
 * character and those with the bit behind it are worked on. */
tt_status tt_unicode_nfc(const unsigned char *s, size_t n, unsigned char **out, size_t *bytes, tt_error *err)
{
    size_t at = next_that(s, 0, n, 1), done = 0, used = 0, room = 0;
    mark *m = NULL;
    *out = NULL;
    if (at == n)
        return TT_OK;
    *out = malloc(3 * n + 4); /* U+0390 and its like: 2 bytes to 6; nothing grows more */
    while (*out && done < n) {
        size_t end = next_that(s, at, n, 0);
        while (at > done && (s[--at] & 0xC0) == 0x80)
            ;
        memcpy(*out + used, s + done, at - done);
        used += at - done;
        if (end - at > room) {
            room = 2 * (end - at) + 32;
            free(m);
            m = malloc(4 * room * sizeof *m);
            if (!m)
                break;
        }
        used += compose_stretch(s + at, end - at, m, *out + used);
        done = end;
        at = next_that(s, end, n, 1);
        if (at == n) {
            memcpy(*out + used, s + end, n - end);
            used += n - end;
            done = n;
        }
    }
    free(m);
    if (!*out || done < n) {
        free(*out);
        *out = NULL;
        return tt_fail(err, TT_ERR_NOMEM, "normalising a text of %zu bytes: no memory; split the file", n);
    }
    *bytes = used;
    return TT_OK;
}

void tt_unicode_ranges(uint32_t mask, int negate, void (*range)(void *ctx, uint32_t first, uint32_t last), void *ctx)
{
    uint32_t first = 0;
    int open = 0;
    for (uint32_t c = 0; c <= 0x110000; c++) {
        int in = c < 0x110000 && !(c >= 0xD800 && c < 0xE000) && ((tt_unicode_flags(c) & mask) != 0) != negate;
        if (in && !open)
            first = c;
        else if (!in && open)
            range(ctx, first, c - 1);
        open = in;
    }
}
