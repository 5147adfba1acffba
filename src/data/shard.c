/* See shard.h: reading. */
#include "data/shard.h"
#include "base/fs.h"
#include "data/checksum.h"
#include "data/shard_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FEW = 256, CHUNK = 16384 };

struct tt_shard {
    char *path; /* owned */
    int fd;
    tt_shard_info info;
    int64_t starts, sums, bytes; /* offsets in the file, and its size */
    int64_t blocks;
    _Atomic uint64_t *checked; /* owned: a bit a block */
    _Atomic int64_t near;      /* a document near the last one looked for */
};

static tt_status read_at(const tt_shard *s, int64_t at, void *out, size_t n, tt_error *err)
{
    for (size_t done = 0; done < n;) {
        const ssize_t got = pread(s->fd, (char *)out + done, n - done, at + (int64_t)done);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return tt_fs_fail(err, "read", s->path, errno);
        if (got == 0)
            return tt_fail(err, TT_ERR_DATA, "%s ends at byte %lld, but had %lld when it was opened; it must not change while it is read",
                           s->path, (long long)(at + (int64_t)done), (long long)s->bytes);
        done += (size_t)got;
    }
    return TT_OK;
}

/* --- the header ---------------------------------------------------------------------------------------------------------------------- */

static tt_status damaged(const tt_shard *s, const char *what, tt_error *err)
{
    return tt_fail(err, TT_ERR_DATA, "%s: the header of this token shard is damaged (%s); copy the file again or tokenize again", s->path, what);
}

static tt_status parse(tt_shard *s, const unsigned char *h, tt_error *err)
{
    tt_shard_info *i = &s->info;
    if (tt_get32(h + TT_AT_VERSION) != TT_SHARD_VERSION)
        return tt_fail(err, TT_ERR_DATA, "%s is a token shard of version %u, and this titan reads version %d; use a newer titan or tokenize "
                       "again", s->path, tt_get32(h + TT_AT_VERSION), TT_SHARD_VERSION);
    if (tt_get64(h + TT_AT_CHECK) != tt_checksum64(h, TT_AT_CHECK))
        return damaged(s, "its checksum is wrong", err);
    i->token_bytes = (int)tt_get32(h + TT_AT_WIDTH);
    i->vocab = (int64_t)tt_get64(h + TT_AT_VOCAB);
    i->bos = (int32_t)tt_get32(h + TT_AT_BOS);
    i->eos = (int32_t)tt_get32(h + TT_AT_EOS);
    memcpy(i->tokenizer, h + TT_AT_TOKENIZER, sizeof i->tokenizer);
    i->tokens = (int64_t)tt_get64(h + TT_AT_TOKENS);
    i->documents = (int64_t)tt_get64(h + TT_AT_DOCUMENTS);
    s->starts = (int64_t)tt_get64(h + TT_AT_STARTS);
    s->sums = (int64_t)tt_get64(h + TT_AT_SUMS);
    memcpy(i->name, h + TT_AT_NAME, TT_SHARD_NAME - 1);
    if ((i->token_bytes != 2 && i->token_bytes != 4) || i->vocab < 1 || i->vocab > INT32_MAX || tt_get32(h + TT_AT_BLOCK) != TT_SHARD_BLOCK)
        return damaged(s, "values that no shard has", err);
    if (i->tokens < 0 || i->tokens > INT64_MAX / 16 || i->documents < 0 || i->documents > i->tokens ||
        s->starts != ((TT_SHARD_HEADER + i->tokens * i->token_bytes + 7) & ~(int64_t)7) || s->sums != s->starts + 8 * i->documents)
        return damaged(s, "counts and places that do not fit each other", err);
    s->blocks = (s->sums - TT_SHARD_HEADER + TT_SHARD_BLOCK - 1) / TT_SHARD_BLOCK;
    const int64_t want = s->sums + 8 * s->blocks;
    if (want != (int64_t)tt_get64(h + TT_AT_BYTES))
        return damaged(s, "counts and size that do not fit each other", err);
    if (want != s->bytes)
        return tt_fail(err, TT_ERR_DATA, "%s has %lld bytes, but its header says %lld; it is %s: copy the file again or tokenize again",
                       s->path, (long long)s->bytes, (long long)want, s->bytes < want ? "cut off" : "not what was written");
    return TT_OK;
}

tt_status tt_shard_open(const char *path, tt_shard **shard, tt_error *err)
{
    unsigned char header[TT_SHARD_HEADER];
    tt_status st = TT_OK;
    struct stat info;
    tt_shard *s = calloc(1, sizeof *s);
    *shard = NULL;
    if (s) {
        s->fd = -1;
        s->path = strdup(path);
    }
    if (!s || !s->path)
        TT_TRY(tt_fail(err, TT_ERR_NOMEM, "no memory to open %s", path));
    s->fd = open(path, O_RDONLY | O_CLOEXEC);
    if (s->fd < 0 || fstat(s->fd, &info) != 0)
        TT_TRY(tt_fs_fail(err, "open", path, errno));
    s->bytes = info.st_size;
    const size_t n = s->bytes < TT_SHARD_HEADER ? (size_t)s->bytes : TT_SHARD_HEADER;
    TT_TRY(read_at(s, 0, header, n, err));
    if (n < 8 || memcmp(header, TT_SHARD_MAGIC, 8) != 0)
        TT_TRY(tt_fail(err, TT_ERR_DATA, "%s is no token shard of titan (it does not begin with \"" TT_SHARD_MAGIC "\")", path));
    if (n < TT_SHARD_HEADER)
        TT_TRY(tt_fail(err, TT_ERR_DATA, "%s ends inside its header, after %zu bytes; it is cut off: copy the file again or tokenize again",
                       path, n));
    TT_TRY(parse(s, header, err));
    s->checked = calloc((size_t)s->blocks / 64 + 1, sizeof *s->checked);
    if (!s->checked)
        TT_TRY(tt_fail(err, TT_ERR_NOMEM, "no memory to open %s", path));
    *shard = s;
    s = NULL;
out:
    tt_shard_close(&s);
    return st;
}

void tt_shard_close(tt_shard **shard)
{
    tt_shard *s = *shard;
    if (!s)
        return;
    if (s->fd >= 0)
        close(s->fd);
    free(s->path);
    free(s->checked);
    free(s);
    *shard = NULL;
}

const tt_shard_info *tt_shard_header(const tt_shard *shard)
{
    return &shard->info;
}

/* --- checked bytes --------------------------------------------------------------------------------------------------------------------- */

static int is_checked(const tt_shard *s, int64_t block)
{
    return atomic_load_explicit(&s->checked[block / 64], memory_order_relaxed) >> (block % 64) & 1;
}

/* Read a block whole and check it; *n becomes its bytes. */
static tt_status check_block(tt_shard *s, int64_t block, unsigned char *data, size_t *n, tt_error *err)
{
    const int64_t at = TT_SHARD_HEADER + block * TT_SHARD_BLOCK;
    uint64_t want;
    tt_status st;
    *n = (size_t)(s->sums - at < TT_SHARD_BLOCK ? s->sums - at : TT_SHARD_BLOCK);
    TT_TRY(read_at(s, at, data, *n, err));
    TT_TRY(read_at(s, s->sums + 8 * block, &want, sizeof want, err));
    const uint64_t sum = tt_checksum64(data, *n);
    if (sum != want)
        return tt_fail(err, TT_ERR_DATA, "%s: block %lld of %lld (bytes %lld to %lld) is damaged: its checksum is %016llx, and should be "
                       "%016llx; copy the file again or tokenize again", s->path, (long long)block, (long long)s->blocks, (long long)at,
                       (long long)(at + (int64_t)*n - 1), (unsigned long long)sum, (unsigned long long)want);
    atomic_fetch_or_explicit(&s->checked[block / 64], (uint64_t)1 << (block % 64), memory_order_relaxed);
out:
    return st;
}

/* Bytes [at, at + n) of the body, checked. */
static tt_status read_body(tt_shard *s, int64_t at, void *out, size_t n, tt_error *err)
{
    unsigned char data[TT_SHARD_BLOCK];
    size_t got;
    tt_status st = TT_OK;
    int64_t from = at - TT_SHARD_HEADER;
    const int64_t to = from + (int64_t)n;
    while (from < to) {
        int64_t block = from / TT_SHARD_BLOCK, end = from;
        for (; end < to && is_checked(s, block); block++)
            end = (block + 1) * TT_SHARD_BLOCK < to ? (block + 1) * TT_SHARD_BLOCK : to;
        if (end > from) {
            TT_TRY(read_at(s, TT_SHARD_HEADER + from, out, (size_t)(end - from), err));
        } else {
            TT_TRY(check_block(s, block, data, &got, err));
            const int64_t begin = block * TT_SHARD_BLOCK;
            end = begin + (int64_t)got < to ? begin + (int64_t)got : to;
            memcpy(out, data + (from - begin), (size_t)(end - from));
        }
        out = (char *)out + (end - from);
        from = end;
    }
out:
    return st;
}

tt_status tt_shard_verify(tt_shard *s, int64_t *bad, tt_error *err)
{
    unsigned char data[TT_SHARD_BLOCK];
    size_t n;
    int64_t wrong = 0;
    tt_status st = TT_OK;
    for (int64_t b = 0; b < s->blocks; b++) {
        const tt_status one = check_block(s, b, data, &n, wrong ? NULL : err);
        if (one == TT_ERR_IO)
            return one;
        wrong += one != TT_OK;
        st = one != TT_OK ? one : st;
    }
    if (bad)
        *bad = wrong;
    return st;
}

/* --- tokens and documents ----------------------------------------------------------------------------------------------------------------- */

static tt_status bad_id(const tt_shard *s, int64_t token, uint32_t id, tt_error *err)
{
    return tt_fail(err, TT_ERR_DATA, "%s: token %lld has id %u, but its header says a vocabulary of %lld; it was not written by titan: tokenize "
                   "again", s->path, (long long)token, id, (long long)s->info.vocab);
}

tt_status tt_shard_read(tt_shard *s, int64_t first, int64_t n, int32_t *out, tt_error *err)
{
    uint16_t narrow[CHUNK];
    tt_status st = TT_OK;
    TT_ASSERT(first >= 0 && n >= 0 && n <= s->info.tokens - first);
    const uint32_t vocab = (uint32_t)s->info.vocab;
    while (n > 0) {
        const int64_t part = n < CHUNK ? n : CHUNK;
        uint32_t most = 0;
        if (s->info.token_bytes == 2) {
            TT_TRY(read_body(s, TT_SHARD_HEADER + 2 * first, narrow, (size_t)part * 2, err));
            for (int64_t i = 0; i < part; i++)
                out[i] = narrow[i];
        } else {
            TT_TRY(read_body(s, TT_SHARD_HEADER + 4 * first, out, (size_t)part * 4, err));
        }
        for (int64_t i = 0; i < part; i++)
            most = most > (uint32_t)out[i] ? most : (uint32_t)out[i];
        for (int64_t i = 0; most >= vocab; i++)
            if ((uint32_t)out[i] >= vocab)
                return bad_id(s, first + i, (uint32_t)out[i], err);
        out += part;
        first += part;
        n -= part;
    }
out:
    return st;
}

tt_status tt_shard_start(tt_shard *s, int64_t d, int64_t *token, tt_error *err)
{
    TT_ASSERT(d >= 0 && d <= s->info.documents);
    if (d == s->info.documents) {
        *token = s->info.tokens;
        return TT_OK;
    }
    uint64_t start;
    tt_status st = read_body(s, s->starts + 8 * d, &start, sizeof start, err);
    if (st == TT_OK && start >= (uint64_t)s->info.tokens)
        return tt_fail(err, TT_ERR_DATA, "%s: document %lld begins at token %llu of %lld; it was not written by titan: tokenize again", s->path,
                       (long long)d, (unsigned long long)start, (long long)s->info.tokens);
    *token = (int64_t)start;
    return st;
}

/* Starts of documents d .. d+*n-1 (at most FEW). */
static tt_status few_starts(tt_shard *s, int64_t d, int64_t *n, uint64_t *starts, tt_error *err)
{
    *n = s->info.documents - d < FEW ? s->info.documents - d : FEW;
    return read_body(s, s->starts + 8 * d, starts, (size_t)*n * 8, err);
}

/* *d becomes a document that begins at or before `token`, less than FEW documents before the first that begins behind (0 if none). */
static tt_status find_document(tt_shard *s, int64_t token, int64_t *d, tt_error *err)
{
    int64_t lo = 0, hi = s->info.documents, start, last; /* begins at or before; behind, or there is none */
    tt_status st = TT_OK;
    *d = atomic_load_explicit(&s->near, memory_order_relaxed);
    if (hi > FEW) {
        const int64_t to = *d + FEW < hi ? *d + FEW : hi;
        TT_TRY(tt_shard_start(s, *d, &start, err));
        TT_TRY(tt_shard_start(s, to, &last, err));
        lo = start <= token ? *d : 0;
        hi = last > token ? to : hi;
    }
    while (hi - lo > FEW / 2) {
        const int64_t mid = lo + (hi - lo) / 2;
        TT_TRY(tt_shard_start(s, mid, &start, err));
        if (start <= token)
            lo = mid;
        else
            hi = mid;
    }
    *d = lo;
    atomic_store_explicit(&s->near, lo, memory_order_relaxed);
out:
    return st;
}

tt_status tt_shard_documents(tt_shard *s, int64_t first, int64_t n, uint8_t *begins, tt_error *err)
{
    uint64_t starts[FEW];
    int64_t d, few;
    tt_status st;
    TT_ASSERT(first >= 0 && n >= 0 && n <= s->info.tokens - first);
    memset(begins, 0, (size_t)n);
    TT_TRY(find_document(s, first, &d, err));
    for (; d < s->info.documents; d += few) {
        TT_TRY(few_starts(s, d, &few, starts, err));
        for (int64_t i = 0; i < few; i++) {
            if (starts[i] >= (uint64_t)(first + n))
                return TT_OK;
            if (starts[i] >= (uint64_t)first)
                begins[starts[i] - (uint64_t)first] = 1;
        }
    }
out:
    return st;
}
