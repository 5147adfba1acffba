/* See toml_scalar.h. */
#include "base/toml_scalar.h"

#include <ctype.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int tt_toml_is_bare(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '-';
}

/* --- bytes ------------------------------------------------------------------------------------ */

/* Bytes of the UTF-8 character at text, 0 when it is none: too long a form, a surrogate, beyond
 * 10FFFF, cut off. */
static size_t character_at(const unsigned char *text)
{
    size_t n = text[0] < 0x80   ? 1
               : text[0] < 0xc2 ? 0
               : text[0] < 0xe0 ? 2
               : text[0] < 0xf0 ? 3
               : text[0] < 0xf5 ? 4
                                : 0;
    for (size_t i = 1; i < n; i++)
        if ((text[i] & 0xc0) != 0x80)
            return 0;
    if ((text[0] == 0xe0 && text[1] < 0xa0) || (text[0] == 0xed && text[1] > 0x9f) ||
        (text[0] == 0xf0 && text[1] < 0x90) || (text[0] == 0xf4 && text[1] > 0x8f))
        return 0;
    return n;
}

tt_status tt_toml_check_bytes(const char *name, const char *text, size_t size, tt_error *err)
{
    int line = 1;
    for (size_t i = 0, n; i < size; i += n) {
        unsigned char x = (unsigned char)text[i];
        n = character_at((const unsigned char *)text + i);
        if (n == 0)
            return tt_fail(err, TT_ERR_CONFIG,
                           "%s:%d: the byte 0x%02x is no UTF-8; save the file as UTF-8", name, line,
                           x);
        if ((x < 32 && x != '\t' && x != '\n' && !(x == '\r' && text[i + 1] == '\n')) || x == 127)
            return tt_fail(
                err, TT_ERR_CONFIG,
                "%s:%d: the control character 0x%02x; take it out, or write \\u%04X in a \"text\"",
                name, line, x, x);
        line += x == '\n';
    }
    return TT_OK;
}

/* --- texts ------------------------------------------------------------------------------------ */

static void put_utf8(FILE *out, uint32_t code)
{
    if (code < 0x80) {
        fputc((int)code, out);
    } else if (code < 0x800) {
        fputc((int)(0xc0 | code >> 6), out);
        fputc((int)(0x80 | (code & 63)), out);
    } else if (code < 0x10000) {
        fputc((int)(0xe0 | code >> 12), out);
        fputc((int)(0x80 | (code >> 6 & 63)), out);
        fputc((int)(0x80 | (code & 63)), out);
    } else {
        fputc((int)(0xf0 | code >> 18), out);
        fputc((int)(0x80 | (code >> 12 & 63)), out);
        fputc((int)(0x80 | (code >> 6 & 63)), out);
        fputc((int)(0x80 | (code & 63)), out);
    }
}

/* At the u or U of an escape with four or eight hexadecimal digits. */
static tt_status scan_code(tt_toml_cursor *c, FILE *out)
{
    int digits = *c->at == 'u' ? 4 : 8;
    uint32_t code = 0;
    for (int i = 1; i <= digits; i++) {
        int x = (unsigned char)c->at[i];
        if (!isxdigit(x))
            return tt_fail(c->err, TT_ERR_CONFIG,
                           "%s:%d: the escape \\%c has %d hexadecimal digits; give it %d", c->name,
                           c->line, *c->at, i - 1, digits);
        code = code << 4 | (uint32_t)(isdigit(x) ? x - '0' : tolower(x) - 'a' + 10);
    }
    if (code == 0 || code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
        return tt_fail(c->err, TT_ERR_CONFIG,
                       "%s:%d: the escape \\%.*s is no character that a text may hold; use one "
                       "from 1 to 10FFFF outside of "
                       "D800 to DFFF",
                       c->name, c->line, digits + 1, c->at);
    put_utf8(out, code);
    c->at += digits + 1;
    return TT_OK;
}

/* At a backslash in a "text". */
static tt_status scan_escape(tt_toml_cursor *c, int multiline, FILE *out)
{
    static const char from[] = "btnfr\"\\", to[] = "\b\t\n\f\r\"\\";
    const char *found = c->at[1] ? strchr(from, c->at[1]) : NULL;
    if (found) {
        fputc(to[found - from], out);
        c->at += 2;
        return TT_OK;
    }
    if (c->at[1] == 'u' || c->at[1] == 'U') {
        c->at++;
        return scan_code(c, out);
    }
    const char *rest = c->at + 1 + strspn(c->at + 1, " \t\r");
    if (multiline && *rest == '\n') { /* the line goes on at the next visible character */
        for (; *rest && strchr(" \t\r\n", *rest); rest++)
            c->line += *rest == '\n';
        c->at = rest;
        return TT_OK;
    }
    return tt_fail(c->err, TT_ERR_CONFIG,
                   "%s:%d: \\%c is no escape of a \"text\"; use \\b \\t \\n \\f \\r \\\" \\\\ "
                   "\\uXXXX \\UXXXXXXXX, or a 'text', "
                   "which has none",
                   c->name, c->line, (signed char)c->at[1] > ' ' ? c->at[1] : '?');
}

/* How many quotes stand here, up to five: two may end the text before the three that close it. */
static int count_quotes(const char *at, char quote)
{
    int n = 0;
    while (n < 5 && at[n] == quote)
        n++;
    return n;
}

static tt_status scan_long(tt_toml_cursor *c, char quote, FILE *out)
{
    int first = c->line;
    c->at += 3;
    c->at += *c->at == '\r';
    if (*c->at == '\n') { /* a line end right after the quotes is not part of the text */
        c->at++;
        c->line++;
    }
    while (*c->at) {
        int quotes = count_quotes(c->at, quote);
        if (quotes >= 3) {
            for (int i = 3; i < quotes; i++)
                fputc(quote, out);
            c->at += quotes;
            return TT_OK;
        }
        if (*c->at == '\\' && quote == '"') {
            tt_status st = scan_escape(c, 1, out);
            if (st != TT_OK)
                return st;
            continue;
        }
        if (*c->at != '\r') /* line ends become \n */
            fputc(*c->at, out);
        c->line += *c->at == '\n';
        c->at++;
    }
    return tt_fail(c->err, TT_ERR_CONFIG,
                   "%s:%d: the text that begins here has no end; close it with %c%c%c", c->name,
                   first, quote, quote, quote);
}

static tt_status scan_short(tt_toml_cursor *c, char quote, FILE *out)
{
    for (c->at++; *c->at != quote;) {
        if (!*c->at || *c->at == '\n' || *c->at == '\r')
            return tt_fail(c->err, TT_ERR_CONFIG,
                           "%s:%d: a text goes on to the end of its line; close it with %c, or "
                           "begin and end it with %c%c%c",
                           c->name, c->line, quote, quote, quote, quote);
        if (*c->at == '\\' && quote == '"') {
            tt_status st = scan_escape(c, 0, out);
            if (st != TT_OK)
                return st;
        } else {
            fputc(*c->at++, out);
        }
    }
    c->at++;
    return TT_OK;
}

tt_status tt_toml_scan_string(tt_toml_cursor *c, int multiline, char **text)
{
    char quote = *c->at;
    size_t size = 0;
    FILE *out = open_memstream(text, &size);
    TT_ASSERT(out);
    int is_long = multiline && c->at[1] == quote && c->at[2] == quote;
    tt_status st = is_long ? scan_long(c, quote, out) : scan_short(c, quote, out);
    fclose(out);
    if (st != TT_OK) {
        free(*text);
        *text = NULL;
    }
    return st;
}

/* --- numbers, truth values, dates ------------------------------------------------------------- */

/* Digits of a base, single underscores between them. Returns the length, 0 when there are none or
 * an underscore is amiss. */
static size_t digits_at(const char *at, int base)
{
    size_t n = 0;
    for (;; n++) {
        int x = (unsigned char)at[n];
        int value = isdigit(x) ? x - '0' : isxdigit(x) ? tolower(x) - 'a' + 10 : 99;
        if (x == '_' && n > 0 && at[n - 1] != '_')
            continue;
        if (value >= base)
            break;
    }
    return n > 0 && at[n - 1] == '_' ? 0 : n;
}

/* 1 when the whole word is an integer of TOML's; *base says which. */
static int is_int(const char *word, int *base)
{
    static const struct {
        const char *prefix;
        int base;
    } forms[] = {{"0x", 16}, {"0o", 8}, {"0b", 2}};
    for (size_t i = 0; i < 3; i++)
        if (strncmp(word, forms[i].prefix, 2) == 0) {
            size_t n = digits_at(word + 2, forms[i].base);
            *base = forms[i].base;
            return n > 0 && word[2 + n] == '\0';
        }
    word += *word == '-' || *word == '+';
    size_t n = digits_at(word, 10);
    *base = 10;
    return n > 0 && word[n] == '\0' && (n == 1 || *word != '0');
}

static int is_float(const char *word)
{
    word += *word == '-' || *word == '+';
    if (strcmp(word, "inf") == 0 || strcmp(word, "nan") == 0)
        return 1;
    size_t n = digits_at(word, 10);
    if (n == 0 || (n > 1 && *word == '0'))
        return 0;
    int is_one = 0;
    word += n;
    if (*word == '.') {
        is_one = 1;
        if ((n = digits_at(++word, 10)) == 0)
            return 0;
        word += n;
    }
    if (*word == 'e' || *word == 'E') {
        is_one = 1;
        word++;
        word += *word == '-' || *word == '+';
        if ((n = digits_at(word, 10)) == 0)
            return 0;
        word += n;
    }
    return is_one && *word == '\0';
}

/* 1 when text begins like the pattern: 'd' stands for a digit. */
static int looks_like(const char *text, const char *pattern)
{
    for (; *pattern; pattern++, text++)
        if (*pattern == 'd' ? !isdigit((unsigned char)*text) : *text != *pattern)
            return 0;
    return 1;
}

/* A date, a time, or both: as far as it has to be told from a number. */
static int is_time(const char *word)
{
    return looks_like(word, "dddd-dd-dd") || looks_like(word, "dd:dd:dd");
}

static char *without_underscores(const char *word)
{
    char *copy = strdup(word), *to = copy;
    TT_ASSERT(copy);
    for (const char *from = word; *from; from++)
        if (*from != '_')
            *to++ = *from;
    *to = '\0';
    return copy;
}

static tt_status put_int(tt_toml_cursor *c, const char *word, int base, char **text)
{
    char *digits = without_underscores(word), decimal[32];
    errno = 0;
    long long x = strtoll(digits + (base == 10 ? 0 : 2), NULL, base);
    free(digits);
    if (errno)
        return tt_fail(c->err, TT_ERR_CONFIG,
                       "%s:%d: %s does not fit a 64-bit integer; write a smaller one", c->name,
                       c->line, word);
    snprintf(decimal, sizeof decimal, "%lld", x);
    *text = strdup(decimal);
    TT_ASSERT(*text);
    return TT_OK;
}

/* The word at the cursor: letters, digits and the signs of numbers and dates. A date may be
 * followed by a time. */
static size_t word_length(const char *at)
{
    size_t n = 0;
    while (tt_toml_is_bare(at[n]) || (at[n] && strchr("+.:", at[n])))
        n++;
    if (n == 10 && looks_like(at, "dddd-dd-dd dd:dd"))
        for (n++; tt_toml_is_bare(at[n]) || (at[n] && strchr("+.:", at[n]));)
            n++;
    return n;
}

tt_status tt_toml_scan_scalar(tt_toml_cursor *c, tt_toml_type *type, char **text)
{
    size_t n = word_length(c->at);
    char *word = strndup(c->at, n);
    int base;
    tt_status st = TT_OK;
    TT_ASSERT(word);
    *text = NULL;
    if (strcmp(word, "true") == 0 || strcmp(word, "false") == 0) {
        *type = TT_TOML_BOOL;
    } else if (is_int(word, &base)) {
        *type = TT_TOML_INT;
        st = put_int(c, word, base, text);
    } else if (is_float(word)) {
        *type = TT_TOML_FLOAT;
        *text = without_underscores(word);
    } else if (is_time(word)) {
        *type = TT_TOML_TIME;
    } else if (n > 0) {
        st = tt_fail(c->err, TT_ERR_CONFIG,
                     "%s:%d: '%.60s' is no value; write \"text\" in quotes, true, false or a "
                     "number such as 1_000, 0x10, 3e-4, inf",
                     c->name, c->line, word);
    } else {
        st = tt_fail(c->err, TT_ERR_CONFIG,
                     "%s:%d: no value after the '=', '[' or ','; give one, or take the line away",
                     c->name, c->line);
    }
    if (st == TT_OK && !*text) {
        *text = word;
        word = NULL;
    }
    free(word);
    c->at += n;
    return st;
}
