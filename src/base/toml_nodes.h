/* The names of a TOML document, for toml.c: every key and table, by which what is defined twice is
 * found. */
#ifndef TT_BASE_TOML_NODES_H
#define TT_BASE_TOML_NODES_H

#include <stddef.h>

/* Bounds of time and memory, far beyond any configuration: names are looked up one by one, and each
 * entry has its path. */
#define TT_TOML_MOST_NODES 10000
#define TT_TOML_LONGEST_PATH 1000

typedef enum tt_toml_kind {
    TT_TOML_NODE_VALUE,
    TT_TOML_NODE_TABLE,    /* [a] */
    TT_TOML_NODE_IMPLICIT, /* a of [a.b] */
    TT_TOML_NODE_DOTTED,   /* a of a.b = 1 */
    TT_TOML_NODE_INLINE,   /* a = { … }: closed for ever */
    TT_TOML_NODE_ARRAY     /* a of [[a]]: its elements are nodes without a name */
} tt_toml_kind;

typedef struct tt_toml_node {
    char *name; /* owned; NULL: the root, or an element of an array */
    int parent, line;
    int newest; /* of an array: its last element */
    size_t path_length;
    tt_toml_kind kind;
} tt_toml_node;

typedef struct tt_toml_nodes {
    tt_toml_node *node; /* owned; the first is the root */
    int n, room;
} tt_toml_nodes;

/** Index of the child of `parent` with that name, -1 when there is none. */
int tt_toml_node_find(const tt_toml_nodes *nodes, int parent, const char *name);

/** A new node; its index, or -1 when there are too many or its path is too long. name is copied;
 * NULL for an element. */
int tt_toml_node_add(tt_toml_nodes *nodes, int parent, const char *name, tt_toml_kind kind,
                     int line);

/** The names from the root to node `at`, joined by points (malloc'd); one that is more than a bare
 * key is in quotes. */
char *tt_toml_node_path(const tt_toml_nodes *nodes, int at);

/** Free what nodes own. */
void tt_toml_nodes_free(tt_toml_nodes *nodes);

#endif
