/* Unicode as the published tokenizers know it: classes of code points, and NFC. Our own tables, because the classes decide
 * where a text is cut, and a library's version of Unicode differs from one system to the next. */
#ifndef TT_DATA_UNICODE_H
#define TT_DATA_UNICODE_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

enum {
    TT_UC_LU = 1,
    TT_UC_LL = 2,
    TT_UC_LT = 4,
    TT_UC_LM = 8,
    TT_UC_LO = 16,
    TT_UC_L = 31,
    TT_UC_M = 32,
    TT_UC_N = 64,
    TT_UC_P = 128,
    TT_UC_S = 256,
    TT_UC_SPACE = 512,   /* White_Space, what \s means */
    TT_UC_WORD = 1024,   /* what counts as part of a word beside a single_word token */
    TT_UC_COMPOSES = 2048 /* NFC may change a text that holds it */
};

/** Classes of a code point (bits above); 0 for what is unassigned or beyond U+10FFFF. Source: Unicode 16.0, UCD. */
uint32_t tt_unicode_flags(uint32_t code_point);

/** Code point at s (valid UTF-8); *length becomes its bytes. */
static inline uint32_t tt_unicode_read(const unsigned char *s, unsigned *length)
{
    if (s[0] < 0x80) {
        *length = 1;
        return s[0];
    }
    if (s[0] < 0xE0) {
        *length = 2;
        return (s[0] & 0x1Fu) << 6 | (s[1] & 0x3Fu);
    }
    if (s[0] < 0xF0) {
        *length = 3;
        return (s[0] & 0x0Fu) << 12 | (s[1] & 0x3Fu) << 6 | (s[2] & 0x3Fu);
    }
    *length = 4;
    return (s[0] & 0x07u) << 18 | (s[1] & 0x3Fu) << 12 | (s[2] & 0x3Fu) << 6 | (s[3] & 0x3Fu);
}

/** Write a code point at out (4 bytes of room); returns its bytes. */
unsigned tt_unicode_write(uint32_t code_point, unsigned char *out);

/** Length of the well-formed character at s[n] (n > 0), or 0 when it is ill-formed; then *bad is the length of the maximal
 *  part that one U+FFFD stands for. *bad is negative when s ends inside a character that may still become well-formed
 *  (-*bad bytes so far). Source: The Unicode Standard, 3.9, "U+FFFD Substitution of Maximal Subparts". */
unsigned tt_unicode_check(const unsigned char *s, size_t n, int *bad);

/** Bytes from s that are well-formed UTF-8, n when all are. */
size_t tt_unicode_valid(const unsigned char *s, size_t n);

/** A copy of s[n] with U+FFFD for each maximal ill-formed part: *out is malloc'd (caller frees), NUL after *bytes.
 *  Errors: TT_ERR_NOMEM. */
tt_status tt_unicode_repair(const unsigned char *s, size_t n, char **out, size_t *bytes, tt_error *err);

/** NFC of s[n] (valid UTF-8), by Unicode 9.0's tables: *out is malloc'd (caller frees), or NULL when s is its own NFC as far as
 *  a glance tells. Errors: TT_ERR_NOMEM. Source: Unicode Standard Annex 15. */
tt_status tt_unicode_nfc(const unsigned char *s, size_t n, unsigned char **out, size_t *bytes, tt_error *err);

/** Call range(ctx, first, last) for each maximal run of code points that have a bit of `mask` (or have none, when `negate`). */
void tt_unicode_ranges(uint32_t mask, int negate, void (*range)(void *ctx, uint32_t first, uint32_t last), void *ctx);

#endif
