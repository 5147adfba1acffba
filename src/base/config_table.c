/* See config_table.h. */
#include "base/config_table.h"

#include "base/closest.h"
#include "base/config_value.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const tt_key keys[] = {
#define SECTION(tag, path, doc)
#define KEY(type, section, key, default_text, allowed, status, note, doc)                                           \
    {#section "." #key, #section, #key, default_text, allowed, note, doc, TT_KEY_##type, TT_KEY_##status,           \
     offsetof(tt_config, section.key)},
#define END(member)
#include "base/config_table.def"
};

static const tt_section sections[] = {
#define SECTION(tag, path, doc) {#path, doc},
#define KEY(...)
#define END(member)
#include "base/config_table.def"
};

#define N_KEYS ((int)(sizeof keys / sizeof keys[0]))
#define N_SECTIONS ((int)(sizeof sections / sizeof sections[0]))

struct tt_config_origins {
    char *of[sizeof keys / sizeof keys[0]]; /* owned; NULL = default */
    char **notes;                           /* owned; names of other versions that were used */
    int n_notes;
};

int tt_config_n_keys(void)
{
    return N_KEYS;
}

const tt_key *tt_config_key(int i)
{
    return &keys[i];
}

int tt_config_n_sections(void)
{
    return N_SECTIONS;
}

const tt_section *tt_config_section(int i)
{
    return &sections[i];
}

/* name with '-' as '_', cut to room. */
static const char *plain_name(const char *name, char *copy, size_t room)
{
    snprintf(copy, room, "%s", name);
    for (char *c = copy; *c; c++)
        if (*c == '-')
            *c = '_';
    return copy;
}

int tt_config_find_key(const char *name)
{
    char plain[128];
    plain_name(name, plain, sizeof plain);
    for (int i = 0; i < N_KEYS; i++)
        if (strcmp(keys[i].name, plain) == 0)
            return i;
    return -1;
}

int tt_config_is_section(const char *path)
{
    for (int i = 0; i < N_SECTIONS; i++)
        if (strcmp(sections[i].path, path) == 0)
            return 1;
    return 0;
}

static const char *nth_key(void *ctx, int i)
{
    (void)ctx;
    return keys[i].name;
}

static const char *nth_section(void *ctx, int i)
{
    (void)ctx;
    return sections[i].path;
}

/* The key that was meant: right in a wrong section, or mistyped. */
static const char *meant_key(const char *name)
{
    const char *last = strrchr(name, '.');
    for (int i = 0; last && i < N_KEYS; i++)
        if (strcmp(keys[i].key, last + 1) == 0)
            return keys[i].name;
    return tt_closest(name, nth_key, NULL, N_KEYS);
}

tt_status tt_config_unknown(const char *origin, const char *name, int is_section, tt_error *err)
{
    char plain[128];
    plain_name(name, plain, sizeof plain);
    const char *meant = is_section ? tt_closest(plain, nth_section, NULL, N_SECTIONS) : meant_key(plain);
    const char *kind = is_section ? "section" : "key";
    if (meant)
        return tt_fail(err, TT_ERR_CONFIG, "%s: unknown %s '%s'; did you mean '%s'?", origin, kind, name, meant);
    return tt_fail(err, TT_ERR_CONFIG, "%s: unknown %s '%s'; --help lists all keys", origin, kind, name);
}

tt_status tt_config_bad_value(const char *origin, int i, const char *value, const char *problem,
                              tt_error *err)
{
    char allowed[256];
    tt_config_describe_allowed(i, allowed, sizeof allowed);
    return tt_fail(err, TT_ERR_CONFIG, "%s: %s = %s %s%s allowed: %s", origin, keys[i].name, value,
                   problem, problem[strlen(problem) - 1] == '?' ? "" : ";", allowed);
}

/* The words of an ENUM, one by one. */
static const char *nth_word(void *ctx, int i)
{
    const char *at = ctx;
    for (; i > 0; i--)
        at += strlen(at) + 1;
    return at;
}

static tt_status not_a_choice(const char *origin, int i, const char *text, tt_error *err)
{
    char problem[160] = "is not a choice", words[256], quoted[160];
    int n = 1;
    snprintf(words, sizeof words, "%s", keys[i].allowed);
    for (char *c = words; *c; c++)
        if (*c == '|') {
            *c = '\0';
            n++;
        }
    const char *meant = tt_closest(text, nth_word, words, n);
    if (meant)
        snprintf(problem, sizeof problem, "is not a choice; did you mean \"%s\"?", meant);
    snprintf(quoted, sizeof quoted, "\"%s\"", text);
    return tt_config_bad_value(origin, i, quoted, problem, err);
}

static tt_status no_memory(tt_error *err)
{
    return tt_fail(err, TT_ERR_NOMEM, "no memory for the config");
}

static tt_status set_origin(tt_config *cfg, int i, const char *origin, tt_error *err)
{
    char *copy = origin ? strdup(origin) : NULL;
    if (origin && !copy)
        return no_memory(err);
    free(cfg->origins->of[i]);
    cfg->origins->of[i] = copy;
    return TT_OK;
}

const char *tt_config_origin_of(const tt_config *cfg, int i)
{
    return cfg->origins->of[i] ? cfg->origins->of[i] : "default";
}

const char *tt_config_origin(const tt_config *cfg, const char *name)
{
    int i = tt_config_find_key(name);
    return i < 0 ? NULL : tt_config_origin_of(cfg, i);
}

static void *field(const tt_config *cfg, int i)
{
    return (char *)cfg + keys[i].offset;
}

static void free_strings(tt_strings *list)
{
    for (int j = 0; j < list->n; j++)
        free(list->items[j]);
    free(list->items);
    *list = (tt_strings){0};
}

tt_status tt_config_put_list(tt_config *cfg, int i, char *const *items, int n, const char *origin, tt_error *err)
{
    tt_strings list = {.items = calloc((size_t)n + 1, sizeof *list.items)};
    for (; list.items && list.n < n; list.n++)
        if (!(list.items[list.n] = strdup(items[list.n])))
            break;
    if (!list.items || list.n < n) {
        free_strings(&list);
        return no_memory(err);
    }
    tt_status st = set_origin(cfg, i, origin, err);
    if (st != TT_OK) {
        free_strings(&list);
        return st;
    }
    free_strings(field(cfg, i));
    *(tt_strings *)field(cfg, i) = list;
    return TT_OK;
}

/* Items between separators, blanks around them dropped; an empty text is an empty list. */
static tt_status put_list_text(tt_config *cfg, int i, const char *text, const char *origin, tt_error *err)
{
    char sep = keys[i].type == TT_KEY_LISTS ? ';' : ',';
    size_t room = strlen(text) + 2;
    char *copy = strdup(text), **items = calloc(room, sizeof *items);
    tt_status st = TT_OK;
    int n = 0;
    for (char *at = copy; copy && items && at && *at;) {
        char *end = strchr(at, sep);
        if (end)
            *end = '\0';
        at += strspn(at, " ");
        for (size_t len = strlen(at); len && at[len - 1] == ' '; len--)
            at[len - 1] = '\0';
        items[n++] = at;
        at = end ? end + 1 : NULL;
    }
    st = copy && items ? tt_config_put_list(cfg, i, items, n, origin, err) : no_memory(err);
    free(items);
    free(copy);
    return st;
}

/* Decimal, 0x hexadecimal, underscores between digits. Returns 0, or -1 when it is no 64-bit integer. */
static int parse_int(const char *text, int64_t *out)
{
    char digits[80], *end;
    size_t n = 0;
    for (const char *c = text; *c && n < sizeof digits - 1; c++)
        if (*c != '_')
            digits[n++] = *c;
    digits[n] = '\0';
    const char *unsigned_part = digits + (*digits == '-' || *digits == '+');
    errno = 0;
    *out = strtoll(digits, &end, strncmp(unsigned_part, "0x", 2) == 0 ? 16 : 10);
    return *text == '_' || *text == ' ' || end == digits || *end || errno ? -1 : 0;
}

static tt_status put_int(tt_config *cfg, int i, const char *text, const char *origin, tt_error *err)
{
    int64_t x;
    if (parse_int(text, &x) != 0)
        return tt_config_bad_value(origin, i, text, "is not a 64-bit integer", err);
    if (!tt_config_in_range(keys[i].allowed, (double)x) || x == TT_UNSET_INT)
        return tt_config_bad_value(origin, i, text, "is out of range", err);
    *(int64_t *)field(cfg, i) = x;
    return TT_OK;
}

static tt_status put_float(tt_config *cfg, int i, const char *text, const char *origin, tt_error *err)
{
    char *end;
    double x = strtod(text, &end);
    if (end == text || *end || isspace((unsigned char)*text))
        return tt_config_bad_value(origin, i, text, "is not a number", err);
    if (!isfinite(x) || !tt_config_in_range(keys[i].allowed, x))
        return tt_config_bad_value(origin, i, text, "is out of range", err);
    *(double *)field(cfg, i) = x;
    return TT_OK;
}

static tt_status put_string(tt_config *cfg, int i, const char *text, const char *origin, tt_error *err)
{
    if (keys[i].type == TT_KEY_ENUM && !tt_config_in_words(keys[i].allowed, text))
        return not_a_choice(origin, i, text, err);
    char *copy = strdup(text);
    if (!copy)
        return no_memory(err);
    free(*(char **)field(cfg, i));
    *(char **)field(cfg, i) = copy;
    return TT_OK;
}

static tt_status put_bool(tt_config *cfg, int i, const char *text, const char *origin, tt_error *err)
{
    int b = tt_config_parse_bool(text);
    if (b < 0)
        return tt_config_bad_value(origin, i, text, "is not a truth value", err);
    *(int *)field(cfg, i) = b;
    return TT_OK;
}

static void put_unset(tt_config *cfg, int i)
{
    if (keys[i].type == TT_KEY_OPT_BOOL) {
        *(int *)field(cfg, i) = TT_UNSET_BOOL;
    } else if (keys[i].type == TT_KEY_OPT_INT) {
        *(int64_t *)field(cfg, i) = TT_UNSET_INT;
    } else if (keys[i].type == TT_KEY_OPT_FLOAT) {
        *(double *)field(cfg, i) = NAN;
    } else {
        free(*(char **)field(cfg, i));
        *(char **)field(cfg, i) = NULL;
    }
}

tt_status tt_config_put_text(tt_config *cfg, int i, const char *text, const char *origin, tt_error *err)
{
    const char *from = origin ? origin : "default";
    tt_status st;
    if (tt_config_may_be_unset(i) && tt_config_is_unset_word(text)) {
        put_unset(cfg, i);
        return set_origin(cfg, i, origin, err);
    }
    switch (keys[i].type) {
    case TT_KEY_BOOL:
    case TT_KEY_OPT_BOOL:
        st = put_bool(cfg, i, text, from, err);
        break;
    case TT_KEY_INT:
    case TT_KEY_OPT_INT:
        st = put_int(cfg, i, text, from, err);
        break;
    case TT_KEY_FLOAT:
    case TT_KEY_OPT_FLOAT:
        st = put_float(cfg, i, text, from, err);
        break;
    case TT_KEY_LIST:
    case TT_KEY_LISTS:
        return put_list_text(cfg, i, text, origin, err);
    default:
        st = put_string(cfg, i, text, from, err);
    }
    return st == TT_OK ? set_origin(cfg, i, origin, err) : st;
}

static tt_status put_default(tt_config *cfg, int i, tt_error *err)
{
    return tt_config_put_text(cfg, i, tt_config_may_be_unset(i) ? "" : keys[i].default_text, NULL,
                              err);
}

tt_status tt_config_create(tt_config **cfg, tt_error *err)
{
    tt_status st = TT_OK;
    *cfg = calloc(1, sizeof **cfg);
    if (!*cfg || !((*cfg)->origins = calloc(1, sizeof *(*cfg)->origins)))
        st = no_memory(err);
    for (int i = 0; st == TT_OK && i < N_KEYS; i++)
        st = put_default(*cfg, i, err);
    if (st != TT_OK)
        tt_config_destroy(cfg);
    return st;
}

void tt_config_destroy(tt_config **cfg)
{
    if (!*cfg)
        return;
    for (int i = 0; i < N_KEYS; i++) {
        if (keys[i].type == TT_KEY_LIST || keys[i].type == TT_KEY_LISTS)
            free_strings(field(*cfg, i));
        else if (keys[i].type == TT_KEY_STR || keys[i].type == TT_KEY_OPT_STR || keys[i].type == TT_KEY_ENUM)
            free(*(char **)field(*cfg, i));
        if ((*cfg)->origins)
            free((*cfg)->origins->of[i]);
    }
    for (int i = 0; (*cfg)->origins && i < (*cfg)->origins->n_notes; i++)
        free((*cfg)->origins->notes[i]);
    if ((*cfg)->origins)
        free((*cfg)->origins->notes);
    free((*cfg)->origins);
    free(*cfg);
    *cfg = NULL;
}

tt_status tt_config_note(tt_config *cfg, const char *text, tt_error *err)
{
    struct tt_config_origins *o = cfg->origins;
    char **notes = realloc(o->notes, ((size_t)o->n_notes + 1) * sizeof *notes);
    if (!notes)
        return no_memory(err);
    o->notes = notes;
    notes[o->n_notes] = strdup(text);
    if (!notes[o->n_notes])
        return no_memory(err);
    o->n_notes++;
    return TT_OK;
}

int tt_config_each_renamed(const tt_config *cfg, void (*say)(void *ctx, const char *text),
                           void *ctx)
{
    for (int i = 0; i < cfg->origins->n_notes; i++)
        say(ctx, cfg->origins->notes[i]);
    return cfg->origins->n_notes;
}

tt_status tt_config_set(tt_config *cfg, const char *name, const char *text, const char *origin, tt_error *err)
{
    tt_config_name found;
    if (!tt_config_find_name(name, &found))
        return tt_config_unknown(origin, name, 0, err);
    tt_config_value word = {.kind = TT_VALUE_WORD, .text = (char *)text};
    return tt_config_put_named(cfg, &found, &word, origin, err);
}
