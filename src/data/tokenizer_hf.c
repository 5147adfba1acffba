/* See tokenizer_hf.h. */
#include "data/tokenizer_hf.h"
#include "data/unicode.h"

#include <stdlib.h>
#include <string.h>

/* Bytes that are printable keep their number as code point; the others are U+0100 and up, in order. */
static int keeps_itself(int c)
{
    return (c >= 0x21 && c <= 0x7E) || (c >= 0xA1 && c <= 0xAC) || c >= 0xAE;
}

static uint32_t spelling_of(int byte)
{
    if (keeps_itself(byte))
        return (uint32_t)byte;
    return 0x100u + (uint32_t)(byte <= 0x20 ? byte : byte <= 0xA0 ? byte - 0x7F + 0x21 : 0x43);
}

static int byte_of(uint32_t c)
{
    if (c < 0x100)
        return keeps_itself((int)c) ? (int)c : -1;
    if (c <= 0x120)
        return (int)c - 0x100;
    if (c <= 0x142)
        return (int)c - 0x121 + 0x7F;
    return c == 0x143 ? 0xAD : -1;
}

int tt_bytes_of_spelling(const char *text, size_t n, unsigned char *out, size_t *bytes)
{
    const unsigned char *s = (const unsigned char *)text;
    unsigned length;
    *bytes = 0;
    for (size_t i = 0; i < n; i += length) {
        const int byte = byte_of(tt_unicode_read(s + i, &length));
        if (byte < 0) {
            memcpy(out, text, n);
            *bytes = n;
            return 0;
        }
        out[(*bytes)++] = (unsigned char)byte;
    }
    return 1;
}

size_t tt_spelling_of_bytes(const unsigned char *bytes, size_t n, char *out)
{
    size_t m = 0;
    for (size_t i = 0; i < n; i++)
        m += tt_unicode_write(spelling_of(bytes[i]), (unsigned char *)out + m);
    return m;
}

tt_status tt_hf_create(tt_hf **hf, tt_error *err)
{
    *hf = calloc(1, sizeof **hf);
    if (!*hf)
        return tt_fail(err, TT_ERR_NOMEM, "opening a tokenizer: no memory");
    return tt_bpe_create(&(*hf)->bpe, err);
}

static void destroy(void *self)
{
    tt_hf *hf = self;
    if (!hf)
        return;
    tt_bpe_destroy(&hf->bpe);
    for (int i = 0; i < hf->n_stages; i++)
        tt_regex_destroy(&hf->stages[i].regex);
    for (size_t i = 0; i < hf->n_added; i++)
        free(hf->added[i].content);
    free(hf->added);
    tt_added_set_free(&hf->raw);
    tt_added_set_free(&hf->normalized);
    free(hf->special);
    free(hf->spelled);
    free(hf);
}

tt_status tt_hf_add_vocab(tt_hf *hf, const char *spelling, size_t n, int32_t id, tt_error *err)
{
    unsigned char local[512], *bytes = local;
    size_t m;
    if (n > sizeof local && !(bytes = malloc(n)))
        return tt_fail(err, TT_ERR_NOMEM, "opening a tokenizer: no memory for a token of %zu bytes", n);
    const int reachable = tt_bytes_of_spelling(spelling, n, bytes, &m);
    tt_status st = tt_bpe_add_token(hf->bpe, id, bytes, m, reachable, err);
    if (st == TT_OK && !reachable) {
        int32_t *more = realloc(hf->spelled, ((size_t)hf->n_spelled + 1) * sizeof *more);
        if (more) {
            hf->spelled = more;
            more[hf->n_spelled++] = id;
        } else {
            st = tt_fail(err, TT_ERR_NOMEM, "opening a tokenizer: no memory for token %d", id);
        }
    }
    if (bytes != local)
        free(bytes);
    return st;
}

int32_t tt_hf_find(const void *self, const char *spelling, size_t n)
{
    const tt_hf *hf = self;
    for (size_t i = 0; i < hf->n_added; i++)
        if (hf->added[i].n == n && memcmp(hf->added[i].content, spelling, n) == 0)
            return hf->added[i].id;
    unsigned char *bytes = malloc(n + 1);
    size_t m;
    int32_t id = -1;
    if (bytes && tt_bytes_of_spelling(spelling, n, bytes, &m)) {
        id = tt_bpe_find(hf->bpe, bytes, m);
    }
    for (int32_t i = 0; id < 0 && i < hf->n_spelled; i++) {
        size_t length = 0;
        const unsigned char *s = tt_bpe_token(hf->bpe, hf->spelled[i], &length);
        if (s && length == n && memcmp(s, spelling, n) == 0)
            id = hf->spelled[i];
    }
    free(bytes);
    return id;
}

static tt_status mark_special(tt_hf *hf, int32_t id, int special, tt_error *err)
{
    if (id >= hf->n_special) {
        const int32_t room = 2 * id + 64;
        unsigned char *more = realloc(hf->special, (size_t)room);
        if (!more)
            return tt_fail(err, TT_ERR_NOMEM, "opening a tokenizer: no memory for its special tokens");
        memset(more + hf->n_special, 0, (size_t)(room - hf->n_special));
        hf->special = more;
        hf->n_special = room;
    }
    hf->special[id] = (unsigned char)special;
    return TT_OK;
}

/* Id of a token that is new: behind the vocabulary and all added tokens. */
static int32_t next_id(const tt_hf *hf, int32_t vocab)
{
    int32_t id = vocab;
    for (size_t i = 0; i < hf->n_added; i++)
        if (hf->added[i].id >= id)
            id = hf->added[i].id + 1;
    return id;
}

/* A token that the vocabulary does not have, for decoding: one that is searched in normalised text is normalised itself. */
static tt_status add_outside(tt_hf *hf, const tt_added *token, int32_t id, tt_error *err)
{
    unsigned char *composed = NULL, *bytes = NULL;
    size_t length = token->n, n = 0;
    tt_status st = TT_OK;
    if (hf->nfc && token->normalized)
        TT_TRY(tt_unicode_nfc((const unsigned char *)token->content, token->n, &composed, &length, err));
    length = composed ? length : token->n;
    bytes = malloc(length + 1);
    if (!bytes)
        TT_TRY(tt_fail(err, TT_ERR_NOMEM, "opening a tokenizer: no memory for its added tokens"));
    tt_bytes_of_spelling(composed ? (char *)composed : token->content, length, bytes, &n);
    st = tt_bpe_add_token(hf->bpe, id, bytes, n, 0, err);
out:
    free(bytes);
    free(composed);
    return st;
}

tt_status tt_hf_add_added(tt_hf *hf, const tt_added *token, int32_t *id, tt_error *err)
{
    tt_status st;
    tt_added *at = NULL;
    for (size_t i = 0; i < hf->n_added; i++)
        if (hf->added[i].n == token->n && memcmp(hf->added[i].content, token->content, token->n) == 0)
            at = &hf->added[i];
    if (at) {
        char *content = at->content;
        *id = at->id;
        *at = *token;
        at->content = content;
        at->id = *id;
        return mark_special(hf, *id, token->special, err);
    }
    *id = tt_hf_find(hf, token->content, token->n);
    if (*id < 0) {
        *id = token->id > 0 ? token->id : next_id(hf, hf->vocab_count);
        if ((st = add_outside(hf, token, *id, err)) != TT_OK)
            return st;
    }
    tt_added *more = realloc(hf->added, (hf->n_added + 1) * sizeof *more);
    if (!more)
        return tt_fail(err, TT_ERR_NOMEM, "opening a tokenizer: no memory for its added tokens");
    hf->added = more;
    more[hf->n_added] = *token;
    more[hf->n_added].id = *id;
    more[hf->n_added].content = malloc(token->n + 1);
    if (!more[hf->n_added].content)
        return tt_fail(err, TT_ERR_NOMEM, "opening a tokenizer: no memory for its added tokens");
    memcpy(more[hf->n_added++].content, token->content, token->n);
    return mark_special(hf, *id, token->special, err);
}

tt_status tt_hf_finish(tt_hf *hf, tt_error *err)
{
    tt_status st = tt_added_set_build(&hf->raw, hf->added, hf->n_added, 0, hf->nfc, err);
    return st == TT_OK ? tt_added_set_build(&hf->normalized, hf->added, hf->n_added, 1, hf->nfc, err) : st;
}

/* --- encoding ---------------------------------------------------------------------------------------------------------- */

typedef struct encoder {
    const tt_hf *hf;
    tt_ids *ids;
} encoder;

static tt_status push_id(encoder *e, int32_t id, tt_error *err)
{
    tt_status st = tt_ids_reserve(e->ids, 1, err);
    if (st == TT_OK)
        e->ids->at[e->ids->n++] = id;
    return st;
}

static tt_status piece(void *ctx, const unsigned char *s, size_t n, tt_error *err)
{
    encoder *e = ctx;
    return tt_bpe_encode(e->hf->bpe, s, n, e->ids, err);
}

static tt_status between_normalized(void *ctx, int32_t id, const unsigned char *s, size_t n, tt_error *err)
{
    encoder *e = ctx;
    if (id >= 0)
        return push_id(e, id, err);
    return tt_pretokenize(e->hf->stages, e->hf->n_stages, s, n, piece, e, err);
}

static tt_status between_raw(void *ctx, int32_t id, const unsigned char *s, size_t n, tt_error *err)
{
    encoder *e = ctx;
    unsigned char *composed = NULL;
    if (id >= 0)
        return push_id(e, id, err);
    if (e->hf->nfc) {
        tt_status st = tt_unicode_nfc(s, n, &composed, &n, err);
        if (st != TT_OK)
            return st;
    }
    tt_status st = tt_added_split(&e->hf->normalized, composed ? composed : s, n, between_normalized, e, err);
    free(composed);
    return st;
}

static tt_status encode(const void *self, const unsigned char *text, size_t bytes, tt_ids *ids, tt_error *err)
{
    encoder e = {self, ids};
    char *repaired = NULL;
    tt_status st = TT_OK;
    if (tt_unicode_valid(text, bytes) < bytes) {
        TT_TRY(tt_unicode_repair(text, bytes, &repaired, &bytes, err));
        text = (const unsigned char *)repaired;
    }
    st = tt_added_split(&e.hf->raw, text, bytes, between_raw, &e, err);
out:
    free(repaired);
    return st;
}

static const unsigned char *token(const void *self, int32_t id, size_t *n, int *special)
{
    const tt_hf *hf = self;
    *special = id >= 0 && id < hf->n_special && hf->special[id];
    return tt_bpe_token(hf->bpe, id, n);
}

const tt_tokenizer_kind tt_tokenizer_hf = {encode, token, tt_hf_find, destroy, 0};
