/* See config_diff.h. */
#include "report/config_diff.h"

#include "base/error.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct table {
    tt_config_difference *row;
    int n, runs;
} table;

static char *copy(const char *s, size_t n)
{
    char *t = strndup(s, n);
    TT_ASSERT(t);
    return t;
}

static tt_config_difference *row_of(table *t, const char *key)
{
    for (int i = 0; i < t->n; i++)
        if (!strcmp(t->row[i].key, key))
            return &t->row[i];
    t->row = realloc(t->row, sizeof *t->row * (size_t)(t->n + 1));
    TT_ASSERT(t->row);
    tt_config_difference *r = &t->row[t->n++];
    r->key = copy(key, strlen(key));
    r->value = calloc((size_t)t->runs, sizeof *r->value);
    r->origin = calloc((size_t)t->runs, sizeof *r->origin);
    TT_ASSERT(r->value && r->origin);
    return r;
}

/* Letters before the ';' that ends a value, quotes considered. */
static size_t value_length(const char *s)
{
    int quoted = 0;
    for (size_t i = 0; s[i]; i++) {
        if (quoted && s[i] == '\\' && s[i + 1])
            i++;
        else if (s[i] == '"')
            quoted = !quoted;
        else if (s[i] == ';' && !quoted)
            return i;
    }
    return strlen(s);
}

/* "key = value;  # origin" below a section. */
static void put_value(table *t, int run, const char *section, const char *key, size_t key_length, const char *value)
{
    const size_t n = value_length(value);
    const char *origin = strstr(value + n, "# ");
    char *name = NULL;
    TT_ASSERT(asprintf(&name, "%s%s%.*s", section, *section ? "." : "", (int)key_length, key) >= 0);
    tt_config_difference *r = row_of(t, name);
    free(name);
    free(r->value[run]);
    free(r->origin[run]);
    r->value[run] = copy(value, n);
    r->origin[run] = origin ? copy(origin + 2, strlen(origin + 2)) : NULL;
}

static void read_text(table *t, int run, const char *text)
{
    char section[512] = "", *whole = copy(text, strlen(text)), *save = NULL;
    for (char *line = strtok_r(whole, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
        const char *s = line + strspn(line, " \t");
        const size_t key = strcspn(s, " =:#{};");
        const char *value = s + key + strspn(s + key, " =:");
        if (*s == '}') {
            char *dot = strrchr(section, '.');
            *(dot ? dot : section) = '\0';
        } else if (key && *value == '{') {
            const size_t at = strlen(section), room = sizeof section - at - 2, n = key < room ? key : room;
            section[at] = '.';
            memcpy(section + at + (at > 0), s, n); /* no dot before the first */
            section[at + (at > 0) + n] = '\0';
        } else if (key && value > s + key) {
            put_value(t, run, section, s, key, value);
        }
    }
    free(whole);
}

static int differs(const tt_config_difference *r, char *const *text, int n)
{
    const char *first = NULL;
    int seen = 0;
    if (!strcmp(r->key, "job.dump_folder") || !strcmp(r->key, "job.config_file"))
        return 0;
    for (int i = 0; i < n; i++) {
        if (!text[i])
            continue;
        const char *value = r->value[i] ? r->value[i] : "";
        if (seen++ && strcmp(value, first) != 0)
            return 1;
        first = value;
    }
    return 0;
}

static void free_row(tt_config_difference *r, int n)
{
    for (int i = 0; i < n; i++) {
        free(r->value[i]);
        free(r->origin[i]);
    }
    free(r->key);
    free(r->value);
    free(r->origin);
}

tt_config_difference *tt_config_diff(char *const *text, int n, int *n_out)
{
    table t = {.runs = n};
    for (int i = 0; i < n; i++)
        if (text[i])
            read_text(&t, i, text[i]);
    *n_out = 0;
    for (int i = 0; i < t.n; i++)
        if (differs(&t.row[i], text, n))
            t.row[(*n_out)++] = t.row[i];
        else
            free_row(&t.row[i], n);
    return t.row;
}

void tt_config_diff_free(tt_config_difference *d, int n_differences, int n)
{
    for (int i = 0; i < n_differences; i++)
        free_row(&d[i], n);
    free(d);
}
