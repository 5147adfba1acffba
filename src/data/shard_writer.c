/* See shard.h. Tokens go out as they come; the starts of documents (8 bytes each) and the checksums wait in memory for the end. */
#include "data/checksum.h"
#include "data/out_file.h"
#include "data/shard_priv.h"

#include <stdlib.h>

struct tt_shard_writer {
    tt_shard_info info;
    tt_out_file *file;
    unsigned char *block; /* owned, TT_SHARD_BLOCK: the block that fills up */
    size_t n;
    uint64_t *sums, *starts; /* owned */
    int64_t n_sums, room_sums, room_starts;
};

static tt_status push(uint64_t **list, int64_t *n, int64_t *room, uint64_t value, const char *path, tt_error *err)
{
    if (*n == *room) {
        const int64_t more = *room ? 2 * *room : 1024;
        uint64_t *p = realloc(*list, (size_t)more * sizeof *p);
        if (!p)
            return tt_fail(err, TT_ERR_NOMEM, "writing %s: no memory for a table of %lld numbers; use smaller shards", path, (long long)more);
        *list = p;
        *room = more;
    }
    (*list)[(*n)++] = value;
    return TT_OK;
}

static tt_status end_block(tt_shard_writer *w, tt_error *err)
{
    tt_status st;
    if (w->n == 0)
        return TT_OK;
    TT_TRY(push(&w->sums, &w->n_sums, &w->room_sums, tt_checksum64(w->block, w->n), tt_out_file_path(w->file), err));
    TT_TRY(tt_out_file_add(w->file, w->block, w->n, err));
    w->n = 0;
out:
    return st;
}

static tt_status body(tt_shard_writer *w, const void *data, size_t n, tt_error *err)
{
    const unsigned char *s = data;
    tt_status st = TT_OK;
    while (n > 0) {
        const size_t part = n < TT_SHARD_BLOCK - w->n ? n : TT_SHARD_BLOCK - w->n;
        memcpy(w->block + w->n, s, part);
        w->n += part;
        s += part;
        n -= part;
        if (w->n == TT_SHARD_BLOCK)
            TT_TRY(end_block(w, err));
    }
out:
    return st;
}

tt_status tt_shard_create(const char *path, const tt_shard_info *info, tt_shard_writer **writer, tt_error *err)
{
    static const unsigned char zeros[TT_SHARD_HEADER];
    tt_status st = TT_OK;
    tt_shard_writer *w = calloc(1, sizeof *w);
    *writer = NULL;
    if (w)
        w->block = malloc(TT_SHARD_BLOCK);
    if (!w || !w->block)
        TT_TRY(tt_fail(err, TT_ERR_NOMEM, "no memory to write %s", path));
    w->info = *info;
    w->info.tokens = w->info.documents = 0;
    if ((info->token_bytes != 2 && info->token_bytes != 4) || info->vocab < 1 || info->vocab > (info->token_bytes == 2 ? 65536 : INT32_MAX))
        TT_TRY(tt_fail(err, TT_ERR_DATA, "writing %s: ids of %d bytes cannot hold the %lld ids of the vocabulary; use u32 (vocabularies up "
                       "to 65536 fit u16)", path, info->token_bytes, (long long)info->vocab));
    TT_TRY(tt_out_file_create(path, &w->file, err));
    TT_TRY(tt_out_file_add(w->file, zeros, sizeof zeros, err));
    *writer = w;
    w = NULL;
out:
    tt_shard_writer_close(&w);
    return st;
}

tt_status tt_shard_add(tt_shard_writer *w, const int32_t *ids, size_t n, tt_error *err)
{
    uint16_t narrow[4096];
    tt_status st;
    TT_TRY(push(&w->starts, &w->info.documents, &w->room_starts, (uint64_t)w->info.tokens, tt_out_file_path(w->file), err));
    for (size_t i = 0; i < n; i++)
        if (ids[i] < 0 || ids[i] >= w->info.vocab)
            TT_TRY(tt_fail(err, TT_ERR_DATA,
                           "writing %s: token %lld has id %d, but the vocabulary has %lld; nothing "
                           "is written: use the tokenizer of that vocabulary",
                           tt_out_file_path(w->file), (long long)w->info.tokens + (long long)i,
                           ids[i], (long long)w->info.vocab));
    w->info.tokens += (int64_t)n;
    if (w->info.token_bytes == 4)
        return body(w, ids, n * sizeof *ids, err);
    while (n > 0) {
        const size_t part = n < 4096 ? n : 4096;
        for (size_t i = 0; i < part; i++)
            narrow[i] = (uint16_t)ids[i];
        TT_TRY(body(w, narrow, part * sizeof *narrow, err));
        ids += part;
        n -= part;
    }
out:
    return st;
}

static void put(unsigned char *header, int at, uint64_t value, size_t bytes)
{
    memcpy(header + at, &value, bytes);
}

tt_status tt_shard_finish(tt_shard_writer *w, tt_error *err)
{
    static const unsigned char zeros[8];
    unsigned char h[TT_SHARD_HEADER] = TT_SHARD_MAGIC;
    tt_status st;
    const int64_t data = w->info.tokens * w->info.token_bytes, pad = -data & 7, table = 8 * w->info.documents;
    TT_TRY(body(w, zeros, (size_t)pad, err));
    TT_TRY(body(w, w->starts, (size_t)table, err));
    TT_TRY(end_block(w, err));
    const int64_t starts = TT_SHARD_HEADER + data + pad, sums = starts + table;
    TT_ASSERT(tt_out_file_bytes(w->file) == sums);
    TT_TRY(tt_out_file_add(w->file, w->sums, (size_t)w->n_sums * 8, err));
    put(h, TT_AT_VERSION, TT_SHARD_VERSION, 4);
    put(h, TT_AT_WIDTH, (uint64_t)w->info.token_bytes, 4);
    put(h, TT_AT_VOCAB, (uint64_t)w->info.vocab, 8);
    put(h, TT_AT_BOS, (uint32_t)w->info.bos, 4);
    put(h, TT_AT_EOS, (uint32_t)w->info.eos, 4);
    memcpy(h + TT_AT_TOKENIZER, w->info.tokenizer, sizeof w->info.tokenizer);
    put(h, TT_AT_TOKENS, (uint64_t)w->info.tokens, 8);
    put(h, TT_AT_DOCUMENTS, (uint64_t)w->info.documents, 8);
    put(h, TT_AT_STARTS, (uint64_t)starts, 8);
    put(h, TT_AT_SUMS, (uint64_t)sums, 8);
    put(h, TT_AT_BYTES, (uint64_t)tt_out_file_bytes(w->file), 8);
    put(h, TT_AT_BLOCK, TT_SHARD_BLOCK, 4);
    memcpy(h + TT_AT_NAME, w->info.name, strnlen(w->info.name, TT_SHARD_NAME - 1));
    put(h, TT_AT_CHECK, tt_checksum64(h, TT_AT_CHECK), 8);
    TT_TRY(tt_out_file_patch(w->file, 0, h, sizeof h, err));
    TT_TRY(tt_out_file_finish(w->file, err));
    free(w->sums); /* a set may wait with many of these */
    free(w->starts);
    free(w->block);
    w->sums = w->starts = NULL;
    w->block = NULL;
out:
    return st;
}

tt_status tt_shard_publish(tt_shard_writer *w, tt_error *err)
{
    return tt_out_file_publish(w->file, err);
}

void tt_shard_withdraw(tt_shard_writer *w)
{
    tt_out_file_withdraw(w->file);
}

void tt_shard_writer_close(tt_shard_writer **writer)
{
    tt_shard_writer *w = *writer;
    if (!w)
        return;
    tt_out_file_close(&w->file);
    free(w->block);
    free(w->sums);
    free(w->starts);
    free(w);
    *writer = NULL;
}
