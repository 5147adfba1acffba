/* The byte tokenizer: every text is its own bytes, so nothing is ever unknown and no file is needed. */
#include "data/tokenizer_priv.h"

#include <stdlib.h>

enum { BYTE_BOS = 256, BYTE_EOS = 257, BYTE_VOCAB = 258 };

static tt_status encode(const char *text, size_t bytes, int32_t **ids, size_t *n, tt_error *err)
{
    *n = 0;
    *ids = malloc((bytes + 1) * sizeof **ids);
    if (!*ids)
        return tt_fail(err, TT_ERR_NOMEM, "encoding a text of %zu bytes: no memory for its ids; split the file", bytes);
    for (size_t i = 0; i < bytes; i++)
        (*ids)[i] = (unsigned char)text[i];
    *n = bytes;
    return TT_OK;
}

static tt_status decode(const int32_t *ids, size_t n, char **text, size_t *bytes, tt_error *err)
{
    *bytes = 0;
    *text = malloc(n + 1);
    if (!*text)
        return tt_fail(err, TT_ERR_NOMEM, "decoding %zu ids: no memory for the text", n);
    for (size_t i = 0; i < n; i++) {
        if (ids[i] < 0 || ids[i] >= BYTE_VOCAB) {
            free(*text);
            *text = NULL;
            *bytes = 0;
            return tt_fail(err, TT_ERR_DATA, "decoding: id %d at position %zu is not in the byte tokenizer's 0..%d; the ids "
                           "are of another tokenizer", ids[i], i, BYTE_VOCAB - 1);
        }
        if (ids[i] < 256)
            (*text)[(*bytes)++] = (char)ids[i];
    }
    (*text)[*bytes] = 0;
    return TT_OK;
}

const tt_tokenizer_kind tt_tokenizer_byte = {"byte", BYTE_VOCAB, BYTE_BOS, BYTE_EOS, encode, decode};
