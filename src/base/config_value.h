/* A value on its way into the config, the same from libconfig text, TOML and the command line; and
 * the names under which a key may be given. Used by the config files only. */
#ifndef TT_BASE_CONFIG_VALUE_H
#define TT_BASE_CONFIG_VALUE_H

#include "base/config_table.h"

/* TT_VALUE_WORD is the command line's: its text may be of any type. */
typedef enum tt_value_kind {
    TT_VALUE_WORD,
    TT_VALUE_INT,
    TT_VALUE_FLOAT,
    TT_VALUE_BOOL,
    TT_VALUE_TEXT,
    TT_VALUE_LIST,
    TT_VALUE_GROUP,
    TT_VALUE_TIME
} tt_value_kind;

typedef struct tt_config_value {
    tt_value_kind kind;
    char *text;                    /* owned; NULL for a list or group */
    struct tt_config_value *items; /* owned; of a list */
    int n;
} tt_config_value;

/** Free what v owns and make it empty. */
void tt_config_value_free(tt_config_value *v);

/** Make v a list of n empty values, to be filled. TT_ERR_NOMEM. */
tt_status tt_config_value_list(tt_config_value *v, int n, tt_error *err);

/** Put v into key i, its kind checked against the key's type: "1" is no integer in a file. */
tt_status tt_config_put_value(tt_config *cfg, int i, const tt_config_value *v, const char *origin,
                              tt_error *err);

/** A name under which a key is given: the key's own, or one that older or newer versions of the
 * reference use. */
typedef struct tt_config_name {
    int key;                             /* index of the key, -1 when the name has none here */
    int is_flag;                         /* it is a truth value: the name alone means true */
    const struct tt_config_alias *alias; /* NULL: the key's own name */
    char given[160];                     /* as it was given, with underscores */
} tt_config_name;

/** 1 when name is known, and *found says as what. */
int tt_config_find_name(const char *name, tt_config_name *found);

/** 1 when path is a section, of this version or another. */
int tt_config_is_any_section(const char *path);

/** The word that `word` of another version is now, as a value of the key or an item of its list;
 * word itself when it is none. */
const char *tt_config_word_now(int key, const char *word);

/** Put v under that name. An older or newer name leaves a note (tt_config_each_renamed). */
tt_status tt_config_put_named(tt_config *cfg, const tt_config_name *name, const tt_config_value *v,
                              const char *origin, tt_error *err);

/** Read a TOML text into cfg; `path` is the file's name. */
tt_status tt_config_read_toml(tt_config *cfg, const char *path, const char *text, size_t size,
                              tt_error *err);

/** What the newer batch keys (tokens instead of sequences) mean, written into the older ones. Part
 * of reading arguments. */
tt_status tt_config_resolve_batch(tt_config *cfg, tt_error *err);

#endif
