/* See toml_nodes.h. */
#include "base/toml_nodes.h"

#include "base/toml_scalar.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int tt_toml_node_find(const tt_toml_nodes *nodes, int parent, const char *name)
{
    for (int i = 1; i < nodes->n; i++)
        if (nodes->node[i].parent == parent && nodes->node[i].name &&
            strcmp(nodes->node[i].name, name) == 0)
            return i;
    return -1;
}

int tt_toml_node_add(tt_toml_nodes *nodes, int parent, const char *name, tt_toml_kind kind,
                     int line)
{
    size_t length = nodes->n ? nodes->node[parent].path_length + (name ? strlen(name) + 1 : 0) : 0;
    if (nodes->n >= TT_TOML_MOST_NODES || length > TT_TOML_LONGEST_PATH)
        return -1;
    if (nodes->n == nodes->room) {
        nodes->room = nodes->room ? 2 * nodes->room : 64;
        nodes->node = realloc(nodes->node, (size_t)nodes->room * sizeof *nodes->node);
        TT_ASSERT(nodes->node);
    }
    char *copy = name ? strdup(name) : NULL;
    TT_ASSERT(copy || !name);
    nodes->node[nodes->n] = (tt_toml_node){
        .name = copy, .parent = parent, .line = line, .path_length = length, .kind = kind};
    return nodes->n++;
}

static void put_part(FILE *out, const char *name)
{
    int bare = *name != '\0';
    for (const char *c = name; *c; c++)
        bare = bare && tt_toml_is_bare(*c);
    if (bare) {
        fputs(name, out);
        return;
    }
    fputc('"', out);
    for (const char *c = name; *c; c++) {
        if (*c == '"' || *c == '\\')
            fputc('\\', out);
        fputc((unsigned char)*c < 32 ? ' ' : *c, out);
    }
    fputc('"', out);
}

static void put_path(FILE *out, const tt_toml_nodes *nodes, int at)
{
    const tt_toml_node *node = &nodes->node[at];
    if (at <= 0)
        return;
    put_path(out, nodes, node->parent);
    if (!node->name)
        return;
    if (nodes->node[node->parent].path_length)
        fputc('.', out);
    put_part(out, node->name);
}

char *tt_toml_node_path(const tt_toml_nodes *nodes, int at)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    TT_ASSERT(out);
    put_path(out, nodes, at);
    fclose(out);
    return text;
}

void tt_toml_nodes_free(tt_toml_nodes *nodes)
{
    for (int i = 0; i < nodes->n; i++)
        free(nodes->node[i].name);
    free(nodes->node);
    *nodes = (tt_toml_nodes){0};
}
