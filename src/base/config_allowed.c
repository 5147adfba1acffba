/* What a key accepts: the ranges, words and truth values of config_table.def, parsed, compared and
 * put into words. */
#include "base/config_table.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static int is_number(const tt_key *k)
{
    return k->type >= TT_KEY_INT && k->type <= TT_KEY_OPT_FLOAT;
}

/* One alternative of a range: "a", "a..b", "a..", ">a", "a..<b". */
typedef struct range {
    double low, high;
    int above, below; /* exclusive ends */
} range;

/* strtod would take the first point of "1..": so up to ".." or "|". */
static double range_end(const char *text, const char **end)
{
    char number[32] = "";
    size_t n = 0;
    while (text[n] && text[n] != '|' && strncmp(text + n, "..", 2) != 0 && n < sizeof number - 1)
        n++;
    memcpy(number, text, n);
    *end = text + n;
    return strtod(number, NULL);
}

static const char *parse_range(const char *text, range *r)
{
    const char *end;
    *r = (range){.high = INFINITY, .above = *text == '>'};
    r->low = range_end(text + r->above, &end);
    if (strncmp(end, "..", 2) == 0) {
        end += 2;
        r->below = *end == '<';
        end += r->below;
        if (*end && *end != '|')
            r->high = range_end(end, &end);
    } else if (!r->above) {
        r->high = r->low;
    }
    return *end == '|' ? end + 1 : NULL;
}

int tt_config_in_range(const char *allowed, double x)
{
    if (!*allowed)
        return 1;
    for (const char *at = allowed; at;) {
        range r;
        at = parse_range(at, &r);
        if ((r.above ? x > r.low : x >= r.low) && (r.below ? x < r.high : x <= r.high))
            return 1;
    }
    return 0;
}

static size_t describe_range(const char *allowed, char *text, size_t room)
{
    size_t n = 0;
    for (const char *at = allowed; at && n < room;) {
        range r;
        const char *rest = parse_range(at, &r);
        const char *sep = at == allowed ? "" : " or ";
        if (r.above)
            n += (size_t)snprintf(text + n, room - n, "%sabove %g", sep, r.low);
        else if (isinf(r.high))
            n += (size_t)snprintf(text + n, room - n, "%s%g or more", sep, r.low);
        else if (r.low == r.high)
            n += (size_t)snprintf(text + n, room - n, "%s%g", sep, r.low);
        else
            n += (size_t)snprintf(text + n, room - n, "%s%g to %s%g", sep, r.low,
                                  r.below ? "below " : "", r.high);
        at = rest;
    }
    return n;
}

/* "a|b|c" as "a, b or c". */
void tt_config_describe_words(const char *allowed, char *text, size_t room)
{
    size_t n = 0;
    for (const char *at = allowed; *at && n + 8 < room;) {
        size_t len = strcspn(at, "|");
        const char *sep = at == allowed ? "" : at[len] ? ", " : " or ";
        n += (size_t)snprintf(text + n, room - n, "%s%.*s", sep, (int)len, at);
        at += len + (at[len] == '|');
    }
}

void tt_config_describe_allowed(int i, char *text, size_t room)
{
    const tt_key *k = tt_config_key(i);
    static const char *const kind[] = {"true or false",
                                       "true or false",
                                       "an integer",
                                       "an integer",
                                       "a number",
                                       "a number",
                                       "a text",
                                       "a text",
                                       "",
                                       "a list of texts",
                                       "a list of lists of texts"};
    if (k->type == TT_KEY_ENUM) {
        tt_config_describe_words(k->allowed, text, room);
        return;
    }
    size_t n = (size_t)snprintf(text, room, "%s", kind[k->type]);
    if (is_number(k) && *k->allowed && n + 3 < room) {
        n += (size_t)snprintf(text + n, room - n, ", ");
        describe_range(k->allowed, text + n, room - n);
    }
}

int tt_config_parse_bool(const char *text)
{
    static const char *const words[][2] = {
        {"false", "true"}, {"no", "yes"}, {"0", "1"}, {"off", "on"}};
    for (size_t w = 0; w < sizeof words / sizeof words[0]; w++)
        for (int b = 0; b < 2; b++)
            if (strcmp(text, words[w][b]) == 0 || (w == 0 && strcasecmp(text, words[w][b]) == 0))
                return b;
    return -1;
}

int tt_config_in_words(const char *allowed, const char *word)
{
    size_t n = strlen(word);
    for (const char *at = allowed; *at;) {
        size_t len = strcspn(at, "|");
        if (len == n && memcmp(at, word, n) == 0)
            return 1;
        at += len + (at[len] == '|');
    }
    return 0;
}

int tt_config_may_be_unset(int i)
{
    tt_key_type type = tt_config_key(i)->type;
    return type == TT_KEY_OPT_BOOL || type == TT_KEY_OPT_INT || type == TT_KEY_OPT_FLOAT ||
           type == TT_KEY_OPT_STR;
}

int tt_config_is_unset_word(const char *text)
{
    return *text == '\0' || strcmp(text, "null") == 0 || strcmp(text, "none") == 0 ||
           strcmp(text, "None") == 0;
}
