/* See config_value.h: from a value of a file to the key's type. */
#include "base/config_value.h"

#include <stdlib.h>
#include <string.h>

void tt_config_value_free(tt_config_value *v)
{
    for (int i = 0; i < v->n; i++)
        tt_config_value_free(&v->items[i]);
    free(v->items);
    free(v->text);
    *v = (tt_config_value){0};
}

tt_status tt_config_value_list(tt_config_value *v, int n, tt_error *err)
{
    v->kind = TT_VALUE_LIST;
    v->items = calloc((size_t)n + 1, sizeof *v->items);
    if (!v->items)
        return tt_fail(err, TT_ERR_NOMEM,
                       "no memory for a list of %d items of the config; free some", n);
    v->n = n;
    return TT_OK;
}

static tt_status wrong_type(const char *origin, int key, const tt_config_value *v, tt_error *err)
{
    static const char *const kind[] = {[TT_VALUE_WORD] = "a word",
                                       [TT_VALUE_INT] = "an integer",
                                       [TT_VALUE_FLOAT] = "a number with a point",
                                       [TT_VALUE_BOOL] = "true or false",
                                       [TT_VALUE_TEXT] = "a text in quotes",
                                       [TT_VALUE_LIST] = "a list",
                                       [TT_VALUE_GROUP] = "a group { … }",
                                       [TT_VALUE_TIME] = "a date"};
    return tt_config_bad_value(origin, key, kind[v->kind], "is of another type", err);
}

/* The members of an inner list, joined by commas (malloc'd). */
static tt_status join_members(int key, const tt_config_value *inner, const char *origin,
                              char **text, tt_error *err)
{
    size_t size = 0;
    FILE *out = open_memstream(text, &size);
    if (!out)
        return tt_fail(err, TT_ERR_NOMEM,
                       "no memory for a list of %d items of the config; free some", inner->n);
    tt_status st = inner->kind == TT_VALUE_LIST ? TT_OK : wrong_type(origin, key, inner, err);
    for (int j = 0; st == TT_OK && j < inner->n; j++) {
        const tt_config_value *member = &inner->items[j];
        if (member->kind != TT_VALUE_TEXT)
            st = wrong_type(origin, key, member, err);
        else if (strchr(member->text, ','))
            st = tt_config_bad_value(origin, key, member->text, "has a comma", err);
        else
            fprintf(out, "%s%s", j ? "," : "", member->text);
    }
    fclose(out);
    return st;
}

static tt_status put_list(tt_config *cfg, int key, const tt_config_value *v, const char *origin,
                          tt_error *err)
{
    int nested = tt_config_key(key)->type == TT_KEY_LISTS;
    char **items = calloc((size_t)v->n + 1, sizeof *items);
    tt_status st = items
                       ? TT_OK
                       : tt_fail(err, TT_ERR_NOMEM,
                                 "no memory for a list of %d items of the config; free some", v->n);
    for (int i = 0; st == TT_OK && i < v->n; i++) {
        if (nested)
            st = join_members(key, &v->items[i], origin, &items[i], err);
        else if (v->items[i].kind != TT_VALUE_TEXT)
            st = wrong_type(origin, key, &v->items[i], err);
        else
            items[i] = (char *)tt_config_word_now(key, v->items[i].text);
    }
    if (st == TT_OK)
        st = tt_config_put_list(cfg, key, items, v->n, origin, err);
    for (int i = 0; nested && items && i < v->n; i++)
        free(items[i]);
    free(items);
    return st;
}

tt_status tt_config_put_value(tt_config *cfg, int i, const tt_config_value *v, const char *origin,
                              tt_error *err)
{
    tt_key_type want = tt_config_key(i)->type;
    int is_bool = want == TT_KEY_BOOL || want == TT_KEY_OPT_BOOL,
        is_float = want == TT_KEY_FLOAT || want == TT_KEY_OPT_FLOAT;
    int is_int = want == TT_KEY_INT || want == TT_KEY_OPT_INT,
        is_list = want == TT_KEY_LIST || want == TT_KEY_LISTS;
    int fits = 0;
    switch (v->kind) {
    case TT_VALUE_WORD:
        fits = 1;
        break;
    case TT_VALUE_INT:
        fits = is_int || is_float;
        break;
    case TT_VALUE_FLOAT:
        fits = is_float;
        break;
    case TT_VALUE_BOOL:
        fits = is_bool;
        break;
    case TT_VALUE_TEXT: /* "" unsets what may be unset */
        fits = (!is_int && !is_float && !is_bool && !is_list) ||
               (tt_config_may_be_unset(i) && tt_config_is_unset_word(v->text));
        break;
    case TT_VALUE_LIST:
        if (is_list)
            return put_list(cfg, i, v, origin, err);
        break;
    default:
        break;
    }
    return fits ? tt_config_put_text(cfg, i, tt_config_word_now(i, v->text), origin, err)
                : wrong_type(origin, i, v, err);
}
