/* See tokenizer.h. */
#include "data/tokenizer_priv.h"

#include <stdlib.h>
#include <string.h>

struct tt_tokenizer {
    const tt_tokenizer_kind *kind;
};

tt_status tt_tokenizer_open(const char *name, tt_tokenizer **out, tt_error *err)
{
    *out = NULL;
    if (strcmp(name, tt_tokenizer_byte.name) != 0)
        return tt_fail(err, TT_ERR_CONFIG, "there is no tokenizer \"%.200s\"; use \"byte\"", name);
    *out = malloc(sizeof **out);
    if (!*out)
        return tt_fail(err, TT_ERR_NOMEM, "opening the tokenizer \"%s\": no memory", name);
    (*out)->kind = &tt_tokenizer_byte;
    return TT_OK;
}

void tt_tokenizer_close(tt_tokenizer **tokenizer)
{
    free(*tokenizer);
    *tokenizer = NULL;
}

const char *tt_tokenizer_name(const tt_tokenizer *tokenizer)
{
    return tokenizer->kind->name;
}

int32_t tt_tokenizer_vocab(const tt_tokenizer *tokenizer)
{
    return tokenizer->kind->vocab;
}

int32_t tt_tokenizer_bos(const tt_tokenizer *tokenizer)
{
    return tokenizer->kind->bos;
}

int32_t tt_tokenizer_eos(const tt_tokenizer *tokenizer)
{
    return tokenizer->kind->eos;
}

tt_status tt_tokenizer_encode(const tt_tokenizer *tokenizer, const char *text, size_t bytes, int32_t **ids, size_t *n,
                              tt_error *err)
{
    return tokenizer->kind->encode(text, bytes, ids, n, err);
}

tt_status tt_tokenizer_decode(const tt_tokenizer *tokenizer, const int32_t *ids, size_t n, char **text, size_t *bytes,
                              tt_error *err)
{
    return tokenizer->kind->decode(ids, n, text, bytes, err);
}
