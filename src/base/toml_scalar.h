/* The texts, numbers and dates of a TOML document, for toml.c: from a position in the text to a
 * decoded value. */
#ifndef TT_BASE_TOML_SCALAR_H
#define TT_BASE_TOML_SCALAR_H

#include "base/toml.h"

/* Where the reader is. The text ends in a zero byte and has no other. */
typedef struct tt_toml_cursor {
    const char *name, *at;
    int line;
    tt_error *err; /* borrowed */
} tt_toml_cursor;

/** 1 at a character of a key without quotes. */
int tt_toml_is_bare(char c);

/** Refuse what may stand nowhere in a text: bytes that are no UTF-8, control characters. text[size]
 * is zero. */
tt_status tt_toml_check_bytes(const char *name, const char *text, size_t size, tt_error *err);

/** At a quote: read that text, of several lines only when `multiline`. *text is malloc'd. */
tt_status tt_toml_scan_string(tt_toml_cursor *c, int multiline, char **text);

/** A number, truth value or date. *text is malloc'd. */
tt_status tt_toml_scan_scalar(tt_toml_cursor *c, tt_toml_type *type, char **text);

#endif
