/* The byte tokenizer: every text is its own bytes, so nothing is ever unknown and no file is needed. */
#include "data/tokenizer_priv.h"

#include <stdlib.h>
#include <string.h>

enum { BYTE_BOS = 256, BYTE_EOS = 257 };

static tt_status encode(const void *self, const unsigned char *text, size_t bytes, tt_ids *ids, tt_error *err)
{
    (void)self;
    tt_status st = tt_ids_reserve(ids, bytes, err);
    for (size_t i = 0; st == TT_OK && i < bytes; i++)
        ids->at[ids->n++] = text[i];
    return st;
}

/* The bytes in order, so that a token is lent from here. */
#define B4(x) (x), (x) + 1, (x) + 2, (x) + 3
#define B16(x) B4(x), B4((x) + 4), B4((x) + 8), B4((x) + 12)
#define B64(x) B16(x), B16((x) + 16), B16((x) + 32), B16((x) + 48)
static const unsigned char all_bytes[256] = {B64(0), B64(64), B64(128), B64(192)};

static const unsigned char *token(const void *self, int32_t id, size_t *n, int *special)
{
    (void)self;
    *special = id == BYTE_BOS || id == BYTE_EOS;
    *n = *special ? 0 : 1;
    return id < 0 || id > BYTE_EOS ? NULL : all_bytes + (*special ? 0 : id);
}

static int32_t find(const void *self, const char *text, size_t bytes)
{
    (void)self;
    return bytes == 1 ? (unsigned char)text[0] : -1;
}

static void destroy(void *self)
{
    (void)self;
}

const tt_tokenizer_kind tt_tokenizer_byte = {encode, token, find, destroy, 1};
