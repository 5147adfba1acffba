/* See config_value.h: the names of config_alias.def, and what a value given under one of them does.
 */
#include "base/config_value.h"

#include <stdlib.h>
#include <string.h>

typedef enum alias_kind { ALIAS_OLD, ALIAS_NEW, ALIAS_NOT, ALIAS_ADDS, ALIAS_ONLY } alias_kind;

typedef struct tt_config_alias {
    const char *name, *to; /* ADDS: the item; ONLY: the words */
    alias_kind kind;
    const char *why;
} tt_config_alias;

static const tt_config_alias aliases[] = {
#define OLD(old, now) {old, now, ALIAS_OLD, ""},
#define NEW(name, here) {name, here, ALIAS_NEW, ""},
#define NOT(old, now) {old, now, ALIAS_NOT, ""},
#define ADDS(old, item) {old, item, ALIAS_ADDS, ""},
#define ONLY(old, words, why) {old, words, ALIAS_ONLY, why},
#define VALUE(key, old, now)
#include "base/config_alias.def"
};

static const struct {
    const char *key, *old, *now;
} values[] = {
#define OLD(old, now)
#define NEW(name, here)
#define NOT(old, now)
#define ADDS(old, item)
#define ONLY(old, words, why)
#define VALUE(key, old, now) {key, old, now},
#include "base/config_alias.def"
};

#define N_VALUES (sizeof values / sizeof values[0])
#define N_ALIASES (sizeof aliases / sizeof aliases[0])

static int is_truth(int key)
{
    return key >= 0 &&
           (tt_config_key(key)->type == TT_KEY_BOOL || tt_config_key(key)->type == TT_KEY_OPT_BOOL);
}

/* The key that name has under alias a, which is its whole name or its section's; -1. */
static int key_by(const tt_config_alias *a, const char *name)
{
    char here[320];
    size_t n = strlen(a->name);
    if (strcmp(a->name, name) == 0)
        return tt_config_find_key(a->kind == ALIAS_ADDS ? "model.converters" : a->to);
    if ((a->kind != ALIAS_OLD && a->kind != ALIAS_NEW) || strncmp(a->name, name, n) != 0 ||
        name[n] != '.')
        return -1;
    snprintf(here, sizeof here, "%s%s", a->to, name + n);
    return tt_config_find_key(here);
}

int tt_config_find_name(const char *name, tt_config_name *found)
{
    *found = (tt_config_name){.key = -1};
    if (strlen(name) >= sizeof found->given)
        return 0;
    strcpy(found->given, name);
    for (char *c = found->given; *c; c++)
        if (*c == '-')
            *c = '_';
    found->key = tt_config_find_key(found->given);
    found->is_flag = is_truth(found->key);
    for (size_t i = 0; found->key < 0 && i < N_ALIASES; i++) {
        const tt_config_alias *a = &aliases[i];
        int whole = strcmp(a->name, found->given) == 0;
        found->key = key_by(a, found->given);
        if (found->key < 0 && !(whole && a->kind == ALIAS_ONLY))
            continue;
        found->alias = a;
        found->is_flag =
            a->kind == ALIAS_ADDS || is_truth(found->key) || strstr(a->to, "false") != NULL;
        return 1;
    }
    return found->key >= 0;
}

int tt_config_is_any_section(const char *path)
{
    size_t n = strlen(path);
    if (tt_config_is_section(path))
        return 1;
    for (size_t i = 0; i < N_ALIASES; i++) {
        const char *name = aliases[i].name;
        if (strncmp(name, path, n) == 0 && name[n] == '.')
            return 1; /* the section of an alias */
        size_t len = strlen(name);
        char here[320];
        snprintf(here, sizeof here, "%s%s", aliases[i].to, len <= n ? path + len : "");
        if (strncmp(name, path, len) == 0 && (path[len] == '.' || path[len] == '\0') &&
            tt_config_is_section(here))
            return 1; /* inside of a section with another name */
    }
    return 0;
}

/* v as a truth value: 0, 1, or -1 when it is none. */
static int truth_of(const tt_config_value *v)
{
    if (v->kind != TT_VALUE_BOOL && v->kind != TT_VALUE_WORD)
        return -1;
    return tt_config_parse_bool(v->text);
}

static tt_status not_a_truth(const tt_config_name *name, const tt_config_value *v,
                             const char *origin, tt_error *err)
{
    return tt_fail(err, TT_ERR_CONFIG, "%s: %s = %s is not a truth value; allowed: true or false",
                   origin, name->given, v->text ? v->text : "a list");
}

static tt_status put_opposite(tt_config *cfg, const tt_config_name *name, const tt_config_value *v,
                              const char *origin, tt_error *err)
{
    int b = truth_of(v);
    if (b < 0)
        return not_a_truth(name, v, origin, err);
    return tt_config_put_text(cfg, name->key, b ? "false" : "true", origin, err);
}

/* One more item on model.converters, once. */
static tt_status put_converter(tt_config *cfg, const tt_config_name *name, const tt_config_value *v,
                               const char *origin, tt_error *err)
{
    int b = truth_of(v);
    const tt_strings *list = &cfg->model.converters;
    if (b < 0)
        return not_a_truth(name, v, origin, err);
    for (int i = 0; i < list->n; i++)
        if (strcmp(list->items[i], name->alias->to) == 0)
            return TT_OK;
    if (!b)
        return TT_OK;
    char **items = calloc((size_t)list->n + 1, sizeof *items);
    if (!items)
        return tt_fail(err, TT_ERR_NOMEM,
                       "no memory for a list of %d items of the config; free some", list->n + 1);
    for (int i = 0; i < list->n; i++)
        items[i] = list->items[i];
    items[list->n] = (char *)name->alias->to;
    tt_status st = tt_config_put_list(cfg, name->key, items, list->n + 1, origin, err);
    free(items);
    return st;
}

static tt_status check_only(const tt_config_name *name, const tt_config_value *v,
                            const char *origin, tt_error *err)
{
    char allowed[128];
    if (v->text && tt_config_in_words(name->alias->to, v->text))
        return TT_OK;
    tt_config_describe_words(name->alias->to, allowed, sizeof allowed);
    return tt_fail(err, TT_ERR_CONFIG,
                   "%s: %s = %s has no counterpart here: %s; allowed: %s, or leave it out", origin,
                   name->given, v->text ? v->text : "a list", name->alias->why, allowed);
}

tt_status tt_config_put_named(tt_config *cfg, const tt_config_name *name, const tt_config_value *v,
                              const char *origin, tt_error *err)
{
    char from[4200], note[4600];
    const tt_config_alias *a = name->alias;
    if (!a)
        return tt_config_put_value(cfg, name->key, v, origin, err);
    snprintf(from, sizeof from, "%s (as %s)", origin, name->given);
    const char *here = name->key >= 0 ? tt_config_key(name->key)->name : "";
    tt_status st;
    switch (a->kind) {
    case ALIAS_NOT:
        st = put_opposite(cfg, name, v, from, err);
        snprintf(note, sizeof note, "%s: %s is now %s, with the opposite sense", origin,
                 name->given, here);
        break;
    case ALIAS_ADDS:
        st = put_converter(cfg, name, v, from, err);
        snprintf(note, sizeof note, "%s: %s is now an item of %s: \"%s\"", origin, name->given,
                 here, a->to);
        break;
    case ALIAS_ONLY:
        st = check_only(name, v, origin, err);
        snprintf(note, sizeof note, "%s: %s has no effect: %s", origin, name->given, a->why);
        break;
    default:
        st = tt_config_put_value(cfg, name->key, v, from, err);
        snprintf(note, sizeof note, "%s: %s is %s %s", origin, name->given,
                 a->kind == ALIAS_OLD ? "now" : "in titan", here);
    }
    return st == TT_OK ? tt_config_note(cfg, note, err) : st;
}

const char *tt_config_word_now(int key, const char *word)
{
    for (size_t i = 0; i < N_VALUES; i++)
        if (strcmp(values[i].old, word) == 0 &&
            strcmp(values[i].key, tt_config_key(key)->name) == 0)
            return values[i].now;
    return word;
}

static const char *const told[] = {[ALIAS_OLD] = "is now",
                                   [ALIAS_NEW] = "is here",
                                   [ALIAS_NOT] = "(the opposite) is now",
                                   [ALIAS_ADDS] = "puts on model.converters",
                                   [ALIAS_ONLY] = "has no effect:"};

void tt_config_names_mdoc(FILE *out)
{
    fputs(".Bl -tag -width Ds\n", out);
    for (size_t i = 0; i < N_ALIASES; i++)
        fprintf(out, ".It Cm %s\n%s %s.\n", aliases[i].name, told[aliases[i].kind],
                aliases[i].kind == ALIAS_ONLY ? aliases[i].why : aliases[i].to);
    for (size_t i = 0; i < N_VALUES; i++)
        fprintf(out, ".It Cm %s No = %s\nis now %s.\n", values[i].key, values[i].old,
                values[i].now);
    fputs(".El\n", out);
}
