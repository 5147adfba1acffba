/* See tokenizer.h. */
#include "data/tokenizer_priv.h"
#include "base/closest.h"
#include "base/fs.h"
#include "data/checksum.h"
#include "data/unicode.h"

#include <stdlib.h>
#include <string.h>

uint64_t tt_tokenizer_hash_more(uint64_t hash, const void *data, size_t n)
{
    const unsigned char *s = data;
    for (size_t i = 0; i < n; i++)
        hash = (hash ^ s[i]) * 0x100000001B3u;
    return hash;
}

tt_status tt_tokenizer_open(const char *name, tt_tokenizer **out, tt_error *err)
{
    tt_status st = TT_OK;
    tt_tokenizer *t = NULL;
    *out = NULL;
    if (strcmp(name, "byte") != 0 && !tt_fs_exists(name))
        return tt_closest_hint(
            err,
            tt_fail(err, TT_ERR_CONFIG,
                    "there is no tokenizer \"%.200s\"; use \"byte\", or the path of a folder with "
                    "tokenizer.json, of a tokenizer.json or of a rank file (tokenizer.model of "
                    "Llama 3, *.tiktoken)",
                    name),
            name);
    t = calloc(1, sizeof *t);
    if (!t || !(t->name = strdup(name))) {
        st = tt_fail(err, TT_ERR_NOMEM, "opening the tokenizer \"%s\": no memory", name);
        goto out;
    }
    t->bos = t->eos = -1;
    t->hash = 0xCBF29CE484222325u;
    if (strcmp(name, "byte") == 0) {
        t->kind = &tt_tokenizer_byte;
        t->vocab = 258;
        t->bos = 256;
        t->eos = 257;
    } else {
        TT_TRY(tt_tokenizer_open_files(name, t, err));
    }
    const int32_t marks[] = {t->vocab, t->bos, t->eos};
    t->hash = tt_tokenizer_hash_more(t->hash, marks, sizeof marks);
    *out = t;
    t = NULL;
out:
    tt_tokenizer_close(&t);
    return st;
}

void tt_tokenizer_close(tt_tokenizer **tokenizer)
{
    if (!*tokenizer)
        return;
    if ((*tokenizer)->kind)
        (*tokenizer)->kind->destroy((*tokenizer)->self);
    free((*tokenizer)->name);
    free(*tokenizer);
    *tokenizer = NULL;
}

const char *tt_tokenizer_name(const tt_tokenizer *t)
{
    return t->name;
}

int32_t tt_tokenizer_vocab(const tt_tokenizer *t)
{
    return t->vocab;
}

int32_t tt_tokenizer_bos(const tt_tokenizer *t)
{
    return t->bos >= 0 ? t->bos : t->n_before > 0 ? t->before[0] : -1;
}

int32_t tt_tokenizer_eos(const tt_tokenizer *t)
{
    return t->eos >= 0 ? t->eos : t->n_after > 0 ? t->after[t->n_after - 1] : -1;
}

int32_t tt_tokenizer_find(const tt_tokenizer *t, const char *text, size_t bytes)
{
    return t->kind->find(t->self, text, bytes);
}

uint64_t tt_tokenizer_hash(const tt_tokenizer *t)
{
    return t->hash;
}

tt_status tt_tokenizer_identity(const tt_tokenizer *t, unsigned char identity[16], tt_error *err)
{
    tt_hasher *hasher = tt_hasher_begin();
    if (!hasher)
        return tt_fail(err, TT_ERR_NOMEM, "no memory to hash the tokenizer \"%s\"", t->name);
    for (int32_t id = 0; id < t->vocab; id++) {
        size_t n = 0;
        int special = 0;
        const unsigned char *bytes = t->kind->token(t->self, id, &n, &special);
        const uint64_t head = bytes ? (uint64_t)n << 1 | (special != 0) : UINT64_MAX;
        unsigned char little[8];
        for (int i = 0; i < 8; i++)
            little[i] = (unsigned char)(head >> 8 * i);
        tt_hasher_add(hasher, little, sizeof little);
        if (bytes)
            tt_hasher_add(hasher, bytes, n);
    }
    tt_hasher_end(hasher, identity);
    return TT_OK;
}

static int around_has(const tt_tokenizer *t, int32_t id)
{
    for (int i = 0; i < t->n_before; i++)
        if (t->before[i] == id)
            return 1;
    for (int i = 0; i < t->n_after; i++)
        if (t->after[i] == id)
            return 1;
    return 0;
}

static void append(tt_ids *ids, const int32_t *more, int n)
{
    for (int i = 0; i < n; i++)
        ids->at[ids->n++] = more[i];
}

tt_status tt_tokenizer_encode_as(const tt_tokenizer *t, const char *text, size_t bytes, const tt_encode_opts *o, int32_t **out,
                                 size_t *n, tt_error *err)
{
    tt_ids ids = {0};
    tt_status st;
    const int want_bos = o->add_bos < 0 ? t->add_bos : o->add_bos, want_eos = o->add_eos < 0 ? t->add_eos : o->add_eos;
    *out = NULL;
    *n = 0;
    TT_TRY(tt_ids_reserve(&ids, bytes / 3 + 2 * TT_MAX_AROUND + 2, err));
    if (want_bos && t->bos >= 0 && !(o->post_process && around_has(t, t->bos)))
        append(&ids, &t->bos, 1);
    if (o->post_process)
        append(&ids, t->before, t->n_before);
    TT_TRY(t->kind->encode(t->self, (const unsigned char *)text, bytes, &ids, err));
    TT_TRY(tt_ids_reserve(&ids, TT_MAX_AROUND + 1, err));
    if (o->post_process)
        append(&ids, t->after, t->n_after);
    if (want_eos && t->eos >= 0 && !(o->post_process && around_has(t, t->eos)))
        append(&ids, &t->eos, 1);
    *out = ids.at;
    *n = ids.n;
    ids.at = NULL;
out:
    free(ids.at);
    return st;
}

tt_status tt_tokenizer_encode(const tt_tokenizer *t, const char *text, size_t bytes, int32_t **ids, size_t *n, tt_error *err)
{
    return tt_tokenizer_encode_as(t, text, bytes, &(tt_encode_opts){0}, ids, n, err);
}

static tt_status refuse_id(const tt_tokenizer *t, int32_t id, size_t at, tt_error *err)
{
    return tt_fail(err, TT_ERR_DATA,
                   "decoding: id %d at position %zu is not in the %s tokenizer's 0..%d; the ids "
                   "are of another "
                   "tokenizer: use that one",
                   id, at, t->name, t->vocab - 1);
}

tt_status tt_tokenizer_decode_as(const tt_tokenizer *t, const int32_t *ids, size_t n, int keep_special, char **text,
                                 size_t *bytes, tt_error *err)
{
    size_t room = 4 * n + 16, total = 0, length;
    char *out = malloc(room);
    int special;
    tt_status st = TT_OK;
    *text = NULL;
    *bytes = 0;
    for (size_t i = 0; out && i < n; i++) {
        const unsigned char *s = t->kind->token(t->self, ids[i], &length, &special);
        if (!s && t->kind->raw)
            TT_TRY(refuse_id(t, ids[i], i, err));
        if (!s || (special && !keep_special))
            continue;
        if (total + length + 1 > room) {
            room = 2 * (total + length + 1);
            char *more = realloc(out, room);
            if (!more)
                free(out);
            out = more;
            if (!out)
                break;
        }
        memcpy(out + total, s, length);
        total += length;
    }
    if (!out)
        return tt_fail(err, TT_ERR_NOMEM, "decoding %zu ids: no memory for the text", n);
    out[total] = 0;
    if (!t->kind->raw && tt_unicode_valid((unsigned char *)out, total) < total) {
        st = tt_unicode_repair((unsigned char *)out, total, text, bytes, err);
    } else {
        *text = out;
        *bytes = total;
        out = NULL;
    }
out:
    free(out);
    return st;
}

tt_status tt_tokenizer_decode(const tt_tokenizer *t, const int32_t *ids, size_t n, char **text, size_t *bytes, tt_error *err)
{
    return tt_tokenizer_decode_as(t, ids, n, 0, text, bytes, err);
}

/* --- one id at a time -------------------------------------------------------------------------------------------------- */

tt_status tt_decoder_push(tt_decoder *d, int32_t id, const char **text, size_t *bytes, tt_error *err)
{
    size_t n = 0, m = 0;
    int special = 0, bad = 0;
    const tt_tokenizer *t = d->tokenizer;
    const unsigned char *s = t->kind->token(t->self, id, &n, &special);
    *text = "";
    *bytes = 0;
    if (!s && t->kind->raw)
        return refuse_id(t, id, 0, err);
    if (!s || (special && !d->keep_special))
        return TT_OK;
    const size_t all = (size_t)d->n_pending + n;
    unsigned char *joined = malloc(4 * all + 1); /* the text, each byte at most 3, and behind it the joined bytes */
    if (!joined)
        return tt_fail(err, TT_ERR_NOMEM, "decoding an id: no memory for %zu bytes", all);
    unsigned char *in = joined + 3 * all;
    memcpy(in, d->pending, (size_t)d->n_pending);
    memcpy(in + d->n_pending, s, n);
    d->n_pending = 0;
    for (size_t i = 0; i < all;) {
        const unsigned length = tt_unicode_check(in + i, all - i, &bad);
        if (length) {
            memmove(joined + m, in + i, length);
            m += length;
            i += length;
        } else if (bad > 0) {
            memcpy(joined + m, "\xEF\xBF\xBD", 3);
            m += 3;
            i += (size_t)bad;
        } else {
            d->n_pending = -bad;
            memcpy(d->pending, in + i, (size_t)d->n_pending);
            break;
        }
    }
    free(d->text);
    d->text = (char *)joined;
    *text = d->text;
    *bytes = m;
    return TT_OK;
}

void tt_decoder_finish(tt_decoder *d, const char **text, size_t *bytes)
{
    *text = d->n_pending ? "\xEF\xBF\xBD" : "";
    *bytes = d->n_pending ? 3 : 0;
    d->n_pending = 0;
}

void tt_decoder_close(tt_decoder *d)
{
    free(d->text);
    d->text = NULL;
}
