/* See toml.h. Every key and table of the text is a node (parent, name), which is how what is
 * defined twice is found. */
#include "base/toml_nodes.h"
#include "base/toml_scalar.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Bounds of time and memory, far beyond any configuration. */
#define MOST_ENTRIES 50000
#define DEEPEST 32 /* values in values, and parts of a key */

typedef struct parser {
    tt_toml_cursor c;
    tt_toml *doc;
    tt_toml_nodes names;
    int table; /* where keys go */
    int depth;
} parser;

/* The parts of a dotted key. */
typedef struct key_path {
    char *part[DEEPEST]; /* owned */
    int n;
} key_path;

static tt_status parse_value(parser *p, int at, int in_array);

/* --- entries ---------------------------------------------------------------------------------- */

/* -1 when there are too many, or its path is too long. */
static int add_node(parser *p, int parent, const char *name, tt_toml_kind kind)
{
    return tt_toml_node_add(&p->names, parent, name, kind, p->c.line);
}

static tt_status too_many(parser *p)
{
    return tt_fail(p->c.err, TT_ERR_CONFIG,
                   "%s:%d: more than %d keys, %d values or %d letters in a key; use shorter keys "
                   "or smaller files",
                   p->c.name, p->c.line, TT_TOML_MOST_NODES, MOST_ENTRIES, TT_TOML_LONGEST_PATH);
}

/* Takes text; NULL is "". Returns the entry's index. */
static int add_entry(parser *p, int at, tt_toml_type type, char *text)
{
    tt_toml *d = p->doc;
    if (d->n == d->room) {
        d->room = d->room ? 2 * d->room : 64;
        d->entries = realloc(d->entries, (size_t)d->room * sizeof *d->entries);
        TT_ASSERT(d->entries);
    }
    text = text ? text : strdup("");
    TT_ASSERT(text);
    d->entries[d->n] = (tt_toml_entry){
        .path = tt_toml_node_path(&p->names, at), .text = text, .type = type, .line = p->c.line};
    return d->n++;
}

/* --- blanks, line ends, keys ------------------------------------------------------------------ */

static void skip_blanks(parser *p)
{
    p->c.at += strspn(p->c.at, " \t");
}

/* Blanks, line ends and comments, as between the items of an array. */
static void skip_space(parser *p)
{
    for (;; p->c.at++) {
        p->c.at += strspn(p->c.at, " \t\r");
        if (*p->c.at == '#')
            p->c.at += strcspn(p->c.at, "\n");
        if (*p->c.at != '\n')
            return;
        p->c.line++;
    }
}

static tt_status end_line(parser *p, const char *after)
{
    skip_blanks(p);
    if (*p->c.at == '#')
        p->c.at += strcspn(p->c.at, "\n");
    p->c.at += *p->c.at == '\r';
    if (*p->c.at == '\n') {
        p->c.at++;
        p->c.line++;
        return TT_OK;
    }
    if (*p->c.at == '\0')
        return TT_OK;
    return tt_fail(p->c.err, TT_ERR_CONFIG,
                   "%s:%d: '%.*s' stands after %s; begin a new line, or put # before a comment",
                   p->c.name, p->c.line, (int)strcspn(p->c.at, " \t\r\n"), p->c.at, after);
}

static tt_status parse_part(parser *p, char **part)
{
    skip_blanks(p);
    if (*p->c.at == '"' || *p->c.at == '\'')
        return tt_toml_scan_string(&p->c, 0, part);
    size_t n = 0;
    while (tt_toml_is_bare(p->c.at[n]))
        n++;
    if (n == 0)
        return tt_fail(p->c.err, TT_ERR_CONFIG,
                       "%s:%d: a key is expected, but '%.*s' stands there; write key = value with "
                       "letters, digits, _ and - (others "
                       "in quotes)",
                       p->c.name, p->c.line, (int)strcspn(p->c.at, " \t\r\n"), p->c.at);
    *part = strndup(p->c.at, n);
    TT_ASSERT(*part);
    p->c.at += n;
    return TT_OK;
}

static tt_status parse_key(parser *p, key_path *key)
{
    key->n = 0;
    for (;;) {
        if (key->n == DEEPEST)
            return tt_fail(p->c.err, TT_ERR_CONFIG, "%s:%d: a key of more than %d parts; use fewer",
                           p->c.name, p->c.line, DEEPEST);
        tt_status st = parse_part(p, &key->part[key->n]);
        if (st != TT_OK)
            return st;
        key->n++;
        skip_blanks(p);
        if (*p->c.at != '.')
            return TT_OK;
        p->c.at++;
    }
}

static void free_key(key_path *key)
{
    for (int i = 0; i < key->n; i++)
        free(key->part[i]);
    key->n = 0;
}

static tt_status defined_before(parser *p, int at, const char *what)
{
    char *path = tt_toml_node_path(&p->names, at);
    tt_status st =
        tt_fail(p->c.err, TT_ERR_CONFIG,
                "%s:%d: %s '%s' is defined already, in line %d; take one of the two away",
                p->c.name, p->c.line, what, path, p->names.node[at].line);
    free(path);
    return st;
}

/* --- tables ----------------------------------------------------------------------------------- */

/* The table that a header's leading parts name; made when it is not there. */
static tt_status enter(parser *p, const key_path *key, int *at)
{
    *at = 0;
    for (int i = 0; i < key->n - 1; i++) {
        int child = tt_toml_node_find(&p->names, *at, key->part[i]);
        if (child < 0 && (child = add_node(p, *at, key->part[i], TT_TOML_NODE_IMPLICIT)) < 0)
            return too_many(p);
        if (p->names.node[child].kind == TT_TOML_NODE_VALUE ||
            p->names.node[child].kind == TT_TOML_NODE_INLINE)
            return defined_before(p, child, "the value");
        *at = p->names.node[child].kind == TT_TOML_NODE_ARRAY ? p->names.node[child].newest : child;
    }
    return TT_OK;
}

static tt_status open_table(parser *p, const key_path *key)
{
    int at;
    tt_status st = enter(p, key, &at);
    if (st != TT_OK)
        return st;
    const char *name = key->part[key->n - 1];
    int child = tt_toml_node_find(&p->names, at, name);
    if (child >= 0 && p->names.node[child].kind != TT_TOML_NODE_IMPLICIT)
        return defined_before(
            p, child, p->names.node[child].kind == TT_TOML_NODE_VALUE ? "the value" : "the table");
    if (child < 0 && (child = add_node(p, at, name, TT_TOML_NODE_TABLE)) < 0)
        return too_many(p);
    p->names.node[child].kind = TT_TOML_NODE_TABLE;
    p->names.node[child].line = p->c.line;
    p->table = child;
    add_entry(p, child, TT_TOML_TABLE, NULL);
    return TT_OK;
}

static tt_status open_element(parser *p, const key_path *key)
{
    int at;
    tt_status st = enter(p, key, &at);
    if (st != TT_OK)
        return st;
    int array = tt_toml_node_find(&p->names, at, key->part[key->n - 1]);
    if (array < 0 && (array = add_node(p, at, key->part[key->n - 1], TT_TOML_NODE_ARRAY)) < 0)
        return too_many(p);
    if (p->names.node[array].kind != TT_TOML_NODE_ARRAY)
        return defined_before(
            p, array, p->names.node[array].kind == TT_TOML_NODE_VALUE ? "the value" : "the table");
    int element = add_node(p, array, NULL, TT_TOML_NODE_TABLE);
    if (element < 0)
        return too_many(p);
    p->names.node[array].newest = element;
    p->table = element;
    add_entry(p, element, TT_TOML_TABLES, NULL);
    return TT_OK;
}

/* [a.b] or [[a.b]]. */
static tt_status parse_header(parser *p)
{
    int is_array = p->c.at[1] == '[';
    key_path key = {0};
    p->c.at += 1 + is_array;
    tt_status st = parse_key(p, &key);
    if (st == TT_OK && strncmp(p->c.at, is_array ? "]]" : "]", (size_t)(1 + is_array)) != 0)
        st = tt_fail(p->c.err, TT_ERR_CONFIG,
                     "%s:%d: the name of a table is not closed; end it with %s", p->c.name,
                     p->c.line, is_array ? "]]" : "]");
    if (st == TT_OK) {
        p->c.at += 1 + is_array;
        st = is_array ? open_element(p, &key) : open_table(p, &key);
    }
    free_key(&key);
    return st == TT_OK ? end_line(p, "the name of a table") : st;
}

/* --- keys with values ------------------------------------------------------------------------- */

/* The node of a new key in `table`. */
static tt_status define(parser *p, int table, const key_path *key, int *at)
{
    for (int i = 0; i < key->n; i++) {
        int last = i == key->n - 1, child = tt_toml_node_find(&p->names, table, key->part[i]);
        if (child >= 0 && (last || p->names.node[child].kind != TT_TOML_NODE_DOTTED))
            return defined_before(p, child,
                                  p->names.node[child].kind == TT_TOML_NODE_VALUE ? "the key"
                                                                                  : "the table");
        if (child < 0 && (child = add_node(p, table, key->part[i],
                                           last ? TT_TOML_NODE_VALUE : TT_TOML_NODE_DOTTED)) < 0)
            return too_many(p);
        table = child;
    }
    *at = table;
    return TT_OK;
}

/* key = value, into a table. */
static tt_status parse_pair(parser *p, int table)
{
    key_path key = {0};
    int at = 0;
    tt_status st = parse_key(p, &key);
    if (st == TT_OK && *p->c.at != '=')
        st = tt_fail(p->c.err, TT_ERR_CONFIG,
                     "%s:%d: no '=' after the key '%s'; the form is key = value", p->c.name,
                     p->c.line, key.part[key.n - 1]);
    if (st == TT_OK)
        st = define(p, table, &key, &at);
    free_key(&key);
    if (st != TT_OK)
        return st;
    p->c.at++;
    skip_blanks(p);
    return parse_value(p, at, 0);
}

static tt_status parse_array(parser *p, int at)
{
    int first = p->c.line, e = add_entry(p, at, TT_TOML_ARRAY, NULL);
    for (p->c.at++;; p->c.at++) {
        skip_space(p);
        if (*p->c.at == ']')
            break;
        tt_status st = *p->c.at ? parse_value(p, at, 1) : TT_OK;
        if (st != TT_OK)
            return st;
        skip_space(p);
        if (*p->c.at == ']')
            break;
        if (!*p->c.at)
            return tt_fail(p->c.err, TT_ERR_CONFIG,
                           "%s:%d: the array that begins here has no end; close it with ]",
                           p->c.name, first);
        if (*p->c.at != ',')
            return tt_fail(
                p->c.err, TT_ERR_CONFIG,
                "%s:%d: '%.*s' stands between two items of an array; separate them by ','",
                p->c.name, p->c.line, (int)strcspn(p->c.at, " \t\r\n"), p->c.at);
    }
    p->c.at++;
    p->doc->entries[e].inside = p->doc->n - e - 1;
    return TT_OK;
}

/* { a = 1, b.c = 2 } on one line. As an item of an array it is a table without a name. */
static tt_status parse_inline(parser *p, int at, int in_array)
{
    if (in_array && (at = add_node(p, at, NULL, TT_TOML_NODE_INLINE)) < 0)
        return too_many(p);
    p->names.node[at].kind = TT_TOML_NODE_INLINE;
    int e = add_entry(p, at, TT_TOML_TABLE, NULL);
    p->c.at++;
    skip_blanks(p);
    for (int more = *p->c.at != '}'; more; p->c.at += more) {
        tt_status st = parse_pair(p, at);
        if (st != TT_OK)
            return st;
        skip_blanks(p);
        more = *p->c.at == ',';
        if (!more && *p->c.at != '}')
            return tt_fail(p->c.err, TT_ERR_CONFIG,
                           "%s:%d: a table { … } lacks a ',' or its end; separate its keys by ',' "
                           "and close it with } on the same "
                           "line",
                           p->c.name, p->c.line);
    }
    p->c.at++;
    p->doc->entries[e].inside = p->doc->n - e - 1;
    return TT_OK;
}

/* The value of the key at node `at`, or an item of the array that is its value. */
static tt_status parse_value(parser *p, int at, int in_array)
{
    char *text = NULL;
    tt_toml_type type = TT_TOML_STRING;
    tt_status st;
    int line = p->c.line, entry = -1; /* a text may have several lines: the first counts */
    if (p->doc->n >= MOST_ENTRIES)
        return too_many(p);
    if (*p->c.at == '[' || *p->c.at == '{') {
        if (p->depth == DEEPEST)
            return tt_fail(p->c.err, TT_ERR_CONFIG,
                           "%s:%d: values are nested more than %d deep; use fewer [ and {",
                           p->c.name, p->c.line, DEEPEST);
        p->depth++;
        st = *p->c.at == '[' ? parse_array(p, at) : parse_inline(p, at, in_array);
        p->depth--;
        return st;
    }
    if (*p->c.at == '"' || *p->c.at == '\'')
        st = tt_toml_scan_string(&p->c, 1, &text);
    else
        st = tt_toml_scan_scalar(&p->c, &type, &text);
    if (st == TT_OK)
        entry = add_entry(p, at, type, text);
    if (entry >= 0)
        p->doc->entries[entry].line = line;
    return st;
}

/* --- the text --------------------------------------------------------------------------------- */

static tt_status parse_lines(parser *p)
{
    tt_status st = TT_OK;
    for (skip_space(p); st == TT_OK && *p->c.at; skip_space(p)) {
        if (*p->c.at == '[') {
            st = parse_header(p);
        } else {
            st = parse_pair(p, p->table);
            if (st == TT_OK)
                st = end_line(p, "a value");
        }
        if (st != TT_OK)
            break;
    }
    return st;
}

tt_status tt_toml_parse(const char *name, const char *text, size_t size, tt_toml **doc,
                        tt_error *err)
{
    parser p = {.c = {.name = name, .line = 1, .err = err}};
    char *copy = malloc(size + 1);
    *doc = p.doc = calloc(1, sizeof *p.doc);
    TT_ASSERT(copy && p.doc);
    if (size)
        memcpy(copy, text, size);
    copy[size] = '\0';
    size_t mark = size >= 3 && memcmp(copy, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
    p.c.at = copy + mark;
    add_node(&p, 0, NULL, TT_TOML_NODE_TABLE);
    tt_status st = tt_toml_check_bytes(name, copy + mark, size - mark, err);
    if (st == TT_OK)
        st = parse_lines(&p);
    tt_toml_nodes_free(&p.names);
    free(copy);
    if (st != TT_OK)
        tt_toml_destroy(doc);
    return st;
}

void tt_toml_destroy(tt_toml **doc)
{
    if (!*doc)
        return;
    for (int i = 0; i < (*doc)->n; i++) {
        free((*doc)->entries[i].path);
        free((*doc)->entries[i].text);
    }
    free((*doc)->entries);
    free(*doc);
    *doc = NULL;
}
