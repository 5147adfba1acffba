/* A torchtitan configuration in TOML: the entries of the document become the config's values. */
#include "base/config_value.h"

#include "base/toml.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* Entry e and what is inside it. */
static tt_status value_of(const tt_toml *doc, int e, tt_config_value *v, tt_error *err)
{
    static const tt_value_kind kind[] = {
        [TT_TOML_STRING] = TT_VALUE_TEXT, [TT_TOML_INT] = TT_VALUE_INT,
        [TT_TOML_FLOAT] = TT_VALUE_FLOAT, [TT_TOML_BOOL] = TT_VALUE_BOOL,
        [TT_TOML_TIME] = TT_VALUE_TIME,   [TT_TOML_ARRAY] = TT_VALUE_LIST,
        [TT_TOML_TABLE] = TT_VALUE_GROUP, [TT_TOML_TABLES] = TT_VALUE_GROUP};
    const tt_toml_entry *entry = &doc->entries[e];
    v->kind = kind[entry->type];
    if (v->kind == TT_VALUE_GROUP)
        return TT_OK;
    if (v->kind != TT_VALUE_LIST) {
        v->text = strdup(entry->text);
        return v->text ? TT_OK : tt_fail(err, TT_ERR_NOMEM, "no memory for the config; free some");
    }
    int n = 0, end = e + 1 + entry->inside;
    for (int i = e + 1; i < end; i += 1 + doc->entries[i].inside)
        n++;
    tt_status st = tt_config_value_list(v, n, err);
    n = 0;
    for (int i = e + 1; st == TT_OK && i < end; i += 1 + doc->entries[i].inside)
        st = value_of(doc, i, &v->items[n++], err);
    return st;
}

/* [section], or a section = {…}. */
static tt_status check_table(const char *origin, const tt_toml_entry *entry,
                             const tt_config_name *name, tt_error *err)
{
    if (name->key >= 0)
        return tt_config_bad_value(origin, name->key, "a table", "is of another type", err);
    if (!tt_config_is_any_section(entry->path))
        return tt_config_unknown(origin, entry->path, 1, err);
    return TT_OK;
}

tt_status tt_config_read_toml(tt_config *cfg, const char *path, const char *text, size_t size,
                              tt_error *err)
{
    tt_toml *doc;
    tt_status st = tt_toml_parse(path, text, size, &doc, err);
    for (int e = 0; st == TT_OK && e < doc->n; e++) {
        const tt_toml_entry *entry = &doc->entries[e];
        char origin[PATH_MAX + 32];
        tt_config_name name = {.key = -1};
        tt_config_value v = {0};
        int known = tt_config_find_name(entry->path, &name);
        snprintf(origin, sizeof origin, "%s:%d", path, entry->line);
        if (entry->type == TT_TOML_TABLE || entry->type == TT_TOML_TABLES) {
            st = check_table(origin, entry, &name, err);
            continue; /* what is inside follows as entries with whole paths */
        }
        if (!known) {
            st = tt_config_unknown(origin, entry->path, 0, err);
            continue;
        }
        st = value_of(doc, e, &v, err);
        if (st == TT_OK)
            st = tt_config_put_named(cfg, &name, &v, origin, err);
        tt_config_value_free(&v);
        e += entry->inside;
    }
    tt_toml_destroy(&doc);
    return st;
}
