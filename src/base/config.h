/* The configuration of a job: defaults < config file < command line, checked, and each value knows
 * where it came from.
 *
 * The file is libconfig text, or TOML (NAME.toml), with torchtitan's (v0.2.2) section and key
 * names; the command line overrides any key with --section.key=value. The struct below is made from
 * config_table.def: cfg->training.seq_len, cfg->parallelism.tensor_parallel_degree,
 * cfg->training.dataloader.num_workers, … What may be unset: OPT_INT is TT_UNSET_INT, OPT_FLOAT is
 * NaN, OPT_BOOL is TT_UNSET_BOOL, OPT_STR is NULL. ENUM and STR are texts, never NULL. */
#ifndef TT_BASE_CONFIG_H
#define TT_BASE_CONFIG_H

#include "base/error.h"

#include <stdint.h>
#include <stdio.h>

#define TT_UNSET_INT INT64_MIN
#define TT_UNSET_BOOL (-1)
/** The optional integer when set, else `otherwise`. */
#define TT_INT_OR(value, otherwise) ((value) != TT_UNSET_INT ? (value) : (otherwise))
/** The optional float when set, else `otherwise`. */
#define TT_FLOAT_OR(value, otherwise) ((value) == (value) ? (value) : (otherwise))

/* A list of texts. LISTS keys hold one item per inner list, its members joined by commas. */
typedef struct tt_strings {
    char **items; /* owned by the config */
    int n;
} tt_strings;

#define TT_CTYPE_BOOL int
#define TT_CTYPE_OPT_BOOL int
#define TT_CTYPE_INT int64_t
#define TT_CTYPE_OPT_INT int64_t
#define TT_CTYPE_FLOAT double
#define TT_CTYPE_OPT_FLOAT double
#define TT_CTYPE_STR char *
#define TT_CTYPE_OPT_STR char *
#define TT_CTYPE_ENUM char *
#define TT_CTYPE_LIST tt_strings
#define TT_CTYPE_LISTS tt_strings

/* What the command line asked for. Everything but TT_RUN ends the program well after printing. */
typedef enum tt_request { TT_RUN, TT_HELP, TT_HELP_MDOC, TT_VERSION, TT_PRINT_CONFIG } tt_request;

struct tt_config_origins; /* where each value came from */

typedef struct tt_config {
    tt_request request;
    struct tt_config_origins *origins; /* owned */
#define SECTION(tag, path, doc) struct tt_config_##tag {
#define KEY(type, section, key, ...) TT_CTYPE_##type key;
#define END(member) } member;
#include "base/config_table.def"
} tt_config;

/** Read a program's arguments: at most one CONFIG (a path, or the name of an installed config such as "llama3_8b", looked
 *  up in $TITAN_ROOT/configs, beside the program and in the data folder), --section.key overrides, --help, --help=mdoc,
 *  --version, --print-config. A program with options of its own takes them out first (tt_args_take).
 *  Caller destroys *cfg. With --help or --version the file is not read. Errors: TT_ERR_USAGE (malformed argument),
 *  TT_ERR_CONFIG (file:line or "command line", key, value, what is allowed, "did you mean"), TT_ERR_IO. */
tt_status tt_config_from_args(int argc, char **argv, tt_config **cfg, tt_error *err);

/** All defaults. */
tt_status tt_config_create(tt_config **cfg, tt_error *err);
void tt_config_destroy(tt_config **cfg);

/** Apply a file to cfg, TOML when its name ends in .toml: values in it replace what is there; what
 * libconfig text includes (`@include "other.cfg"` outside of groups, relative to the including
 * file) is applied before its own values. Does not check relations between keys. */
tt_status tt_config_read_file(tt_config *cfg, const char *path, tt_error *err);

/** Set one key ("training.steps", hyphens allowed) from text, as on the command line. origin is copied. */
tt_status tt_config_set(tt_config *cfg, const char *name, const char *text, const char *origin, tt_error *err);

/** Relations between keys. Part of tt_config_from_args. */
tt_status tt_config_check(const tt_config *cfg, tt_error *err);

/** Refuse, by name, a value whose part of titan is not built in this version. TT_ERR_CONFIG. */
tt_status tt_config_check_built(const tt_config *cfg, tt_error *err);

/** Call say(ctx, text) for each such value (the same text; titan-plan only warns) or, for `ignored`, for each key that was
 *  given and has no effect. Returns how many. */
int tt_config_each_unbuilt(const tt_config *cfg, void (*say)(void *ctx, const char *text), void *ctx);
int tt_config_each_ignored(const tt_config *cfg, void (*say)(void *ctx, const char *text), void *ctx);

/** The same for each key that was given under a name of an older or newer version of the reference:
 * titan's name for it. */
int tt_config_each_renamed(const tt_config *cfg, void (*say)(void *ctx, const char *text),
                           void *ctx);

/** "default", "FILE:LINE" or "command line"; NULL for an unknown key. Borrowed from cfg. */
const char *tt_config_origin(const tt_config *cfg, const char *name);

/** The whole config as a config file that reads back identical; values that are not defaults say where they came from. */
void tt_config_dump(const tt_config *cfg, FILE *out);

/** Answer --help (usage, then the keys), --help=mdoc, --version of `program`, --print-config on `out`: 1 when one of them was
 *  asked, and the program is to end well; 0 for a run. */
int tt_config_answer(const tt_config *cfg, const char *program, const char *usage, FILE *out);

/** The keys for --help, and as the mdoc list of titan.conf(5). */
void tt_config_help(FILE *out);
void tt_config_help_mdoc(FILE *out);
/** The names of other versions that are understood, as an mdoc list. */
void tt_config_names_mdoc(FILE *out);

#endif
