/* A strict pull parser for the two large members of tokenizer.json (vocab and merges): reads a JSON text once, keeps nothing.
 * Smaller values are cut out whole and given to jansson. Every error is TT_ERR_DATA and names the file and the byte. */
#ifndef TT_DATA_TOKENIZER_PULL_H
#define TT_DATA_TOKENIZER_PULL_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

typedef struct tt_pull {
    const char *begin, *at, *end; /* borrowed */
    const char *file;             /* borrowed; for messages */
    char *scratch;                /* owned: a string with its escapes undone */
    size_t room;
} tt_pull;

/** Begin at text[n] (borrowed, as is `file`); close frees what the parser holds. */
tt_pull tt_pull_make(const char *text, size_t n, const char *file);
void tt_pull_close(tt_pull *pull);

/** Enter an object ('{') or an array ('['). */
tt_status tt_pull_enter(tt_pull *pull, char open, tt_error *err);
/** At an element or the end: *more becomes 0 behind the closing bracket `close`. `index` counts the elements, from 0. */
tt_status tt_pull_more(tt_pull *pull, char close, size_t index, int *more, tt_error *err);
/** A string, decoded: valid until the next call. */
tt_status tt_pull_string(tt_pull *pull, const char **text, size_t *n, tt_error *err);
/** A key and its colon. */
tt_status tt_pull_key(tt_pull *pull, const char **text, size_t *n, tt_error *err);
/** A whole number in [0, most]. */
tt_status tt_pull_int(tt_pull *pull, int64_t most, int64_t *value, tt_error *err);
/** The next value whatever it is, as text (brackets and strings are matched, no more is checked). */
tt_status tt_pull_span(tt_pull *pull, const char **text, size_t *n, tt_error *err);
/** 1 when the next value begins with `first`. */
int tt_pull_is(tt_pull *pull, char first);
/** Nothing but white space is left. */
tt_status tt_pull_finish(tt_pull *pull, tt_error *err);

#endif
