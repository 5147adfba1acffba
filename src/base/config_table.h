/* The rows of config_table.def as data, and what can be done with one row: parse a text into the struct, check it, print
 * it, compare it with the default. Used by the config files only; programs use config.h. */
#ifndef TT_BASE_CONFIG_TABLE_H
#define TT_BASE_CONFIG_TABLE_H

#include "base/config.h"

#include <stddef.h>

typedef enum tt_key_type {
    TT_KEY_BOOL, TT_KEY_OPT_BOOL, TT_KEY_INT, TT_KEY_OPT_INT, TT_KEY_FLOAT, TT_KEY_OPT_FLOAT,
    TT_KEY_STR, TT_KEY_OPT_STR, TT_KEY_ENUM, TT_KEY_LIST, TT_KEY_LISTS
} tt_key_type;

typedef enum tt_key_status {
    TT_KEY_BUILT,
    TT_KEY_LATER,
    TT_KEY_NEVER,
    TT_KEY_IGNORED
} tt_key_status;

typedef struct tt_key {
    const char *name;    /* "training.seq_len" */
    const char *section; /* "training" */
    const char *key;     /* "seq_len" */
    const char *default_text, *allowed, *note, *doc;
    tt_key_type type;
    tt_key_status status;
    size_t offset; /* in tt_config */
} tt_key;

typedef struct tt_section {
    const char *path, *doc;
} tt_section;

/** The rows of the table: keys and sections, by index, in the order of the file. Borrowed, they live for ever. */
int tt_config_n_keys(void);
const tt_key *tt_config_key(int i);
int tt_config_n_sections(void);
const tt_section *tt_config_section(int i);

/** Index of a key by full name, -1 when unknown. Hyphens count as underscores. */
int tt_config_find_key(const char *name);

/** 1 when path is a section ("training"). */
int tt_config_is_section(const char *path);

/** Fail for an unknown key or section: "ORIGIN: unknown key NAME; did you mean 'X'?". */
tt_status tt_config_unknown(const char *origin, const char *name, int is_section, tt_error *err);

/** Parse text into key i of cfg and remember the origin. Errors: TT_ERR_CONFIG with origin, key, value, what is allowed. */
tt_status tt_config_put_text(tt_config *cfg, int i, const char *text, const char *origin, tt_error *err);
/** The same for a list key. */
tt_status tt_config_put_list(tt_config *cfg, int i, char *const *items, int n, const char *origin, tt_error *err);

/** Fail for a value of a wrong type or range. `problem` completes "ORIGIN: NAME = VALUE …". */
tt_status tt_config_bad_value(const char *origin, int i, const char *value, const char *problem, tt_error *err);

/** The allowed column of the table: a number in one of its ranges; a text among its words; its
 * words as "a, b or c". */
int tt_config_in_range(const char *allowed, double x);
int tt_config_in_words(const char *allowed, const char *word);
void tt_config_describe_words(const char *allowed, char *text, size_t room);

/** 0, 1, or -1 when text is no truth value (true, yes, 1, on, and their opposites). */
int tt_config_parse_bool(const char *text);

/** 1 when key i may be unset; 1 when text is a word that unsets: "", "null", "none", "None". */
int tt_config_may_be_unset(int i);
int tt_config_is_unset_word(const char *text);

/** Remember a remark on the use of a name of another version (tt_config_each_renamed). text is
 * copied. TT_ERR_NOMEM. */
tt_status tt_config_note(tt_config *cfg, const char *text, tt_error *err);

/** What key i accepts, in words ("an integer, 1 or more"). */
void tt_config_describe_allowed(int i, char *text, size_t room);

/** Key i of cfg as config-file text (malloc'd); NULL when unset or without memory. */
char *tt_config_value_text(const tt_config *cfg, int i);

/** 1 when key i has the same value in both. */
int tt_config_same(const tt_config *a, const tt_config *b, int i);

/** Where key i got its value: "FILE:LINE", "command line" or "default". Borrowed from cfg. */
const char *tt_config_origin_of(const tt_config *cfg, int i);

#endif
