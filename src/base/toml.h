/* A reader of TOML 1.0 texts: what torchtitan's configuration files (v0.2.x) are written in.
 *
 * The document becomes a flat list in the order of the text, without a tree: [training] and seq_len
 * = 8 are the entries TABLE "training" and INT "training.seq_len" "8". Arrays and inline tables are
 * followed by what is inside them. All of the language is read: dotted and quoted keys, the four
 * kinds of texts, integers with underscores and in four bases, floats with inf and nan, nested
 * arrays over several lines, arrays of tables. Dates are kept as text. What is no TOML 1.0 is
 * refused with its line: duplicate keys, tables defined twice, bytes that are no UTF-8, control
 * characters. Source: the TOML v1.0.0 specification, toml.io. */
#ifndef TT_BASE_TOML_H
#define TT_BASE_TOML_H

#include "base/error.h"

#include <stddef.h>

typedef enum tt_toml_type {
    TT_TOML_STRING,
    TT_TOML_INT,
    TT_TOML_FLOAT,
    TT_TOML_BOOL,
    TT_TOML_TIME,
    TT_TOML_ARRAY,
    TT_TOML_TABLE,
    TT_TOML_TABLES
} tt_toml_type;

typedef struct tt_toml_entry {
    char *path; /* keys joined by points; one that is not of letters, digits, '_' and '-' is in
                 * quotes. An item of an array has the array's path */
    char *text; /* STRING: decoded. INT: decimal. FLOAT: without underscores, as strtod reads it.
                 * BOOL: true, false. TIME: as written. ARRAY, TABLE ([a] or a = {…}), TABLES (one
                 * element of [[a]]): "" */
    tt_toml_type type;
    int line;   /* 1 is the first */
    int inside; /* ARRAY, and TABLE as {…}: how many of the entries that follow are inside it */
} tt_toml_entry;

typedef struct tt_toml {
    tt_toml_entry *entries;
    int n, room;
} tt_toml;

/** Read text[size] (need not end in a zero byte; a byte order mark is dropped). `name` is the
 * file's, for messages. Caller destroys *doc. Errors: TT_ERR_CONFIG, "NAME:LINE: what is wrong;
 * what would be right". */
tt_status tt_toml_parse(const char *name, const char *text, size_t size, tt_toml **doc,
                        tt_error *err);
void tt_toml_destroy(tt_toml **doc);

#endif
