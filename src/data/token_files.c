/* See token_files.h: which kind a file is, and what all kinds share. */
#include "base/fs.h"
#include "data/token_files_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LLMC_GPT2 = 20240520, LLMC_LLAMA3 = 20240801, LLMC_EVAL = 20240522, SAMPLES = 64, SAMPLE = 64 };

const char *tt_token_kind_name(tt_token_kind kind)
{
    static const char *const names[] = {"none", "titan", "megatron", "llmc", "nanogpt"};
    return names[kind];
}

/* --- bytes -------------------------------------------------------------------------------------------------------------------------- */

tt_status tt_token_bytes_open(const char *path, tt_token_bytes *b, tt_error *err)
{
    struct stat info;
    b->path = strdup(path);
    b->fd = b->path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (!b->path)
        return tt_fail(err, TT_ERR_NOMEM, "no memory to open %s", path);
    if (b->fd < 0 || fstat(b->fd, &info) != 0)
        return tt_fs_fail(err, "open", path, errno);
    b->bytes = info.st_size;
    return TT_OK;
}

void tt_token_bytes_close(tt_token_bytes *b)
{
    if (b->path && b->fd >= 0)
        close(b->fd);
    free(b->path);
    b->path = NULL;
}

tt_status tt_token_bytes_read(const tt_token_bytes *b, int64_t at, void *data, size_t n, tt_error *err)
{
    for (size_t done = 0; done < n;) {
        const ssize_t got = pread(b->fd, (char *)data + done, n - done, at + (int64_t)done);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return tt_fs_fail(err, "read", b->path, errno);
        if (got == 0)
            return tt_fail(err, TT_ERR_DATA, "%s ends at byte %lld, where more should be; it is cut off, or changes while it is read", b->path,
                           (long long)(at + (int64_t)done));
        done += (size_t)got;
    }
    return TT_OK;
}

int tt_id_bytes(tt_id_code code)
{
    switch (code) {
    case TT_ID_U8:
    case TT_ID_I8: return 1;
    case TT_ID_I16:
    case TT_ID_U16: return 2;
    case TT_ID_I32:
    case TT_ID_U32: return 4;
    case TT_ID_I64: return 8;
    }
    return 0;
}

static int64_t id_at(const void *data, tt_id_code code, int64_t i)
{
    switch (code) {
    case TT_ID_U8: return ((const uint8_t *)data)[i];
    case TT_ID_I8: return ((const int8_t *)data)[i];
    case TT_ID_I16: return ((const int16_t *)data)[i];
    case TT_ID_I32: return ((const int32_t *)data)[i];
    case TT_ID_I64: return ((const int64_t *)data)[i];
    case TT_ID_U16: return ((const uint16_t *)data)[i];
    case TT_ID_U32: return ((const uint32_t *)data)[i];
    }
    return -1;
}

static tt_status widen(const tt_token_bytes *b, const void *data, tt_id_code code, int64_t token, int64_t n, int64_t limit, int32_t *out,
                       tt_error *err)
{
    uint64_t most = 0;
    if (code == TT_ID_U16) { /* the common one, which the compiler makes vectors of */
        const uint16_t *u = data;
        uint16_t top = 0;
        for (int64_t i = 0; i < n; i++)
            top = u[i] > top ? u[i] : top;
        for (int64_t i = 0; i < n; i++)
            out[i] = u[i];
        most = top;
    } else {
        for (int64_t i = 0; i < n; i++) {
            const uint64_t id = (uint64_t)id_at(data, code, i);
            most = id > most ? id : most;
            out[i] = (int32_t)id;
        }
    }
    for (int64_t i = 0; most >= (uint64_t)limit && i < n; i++) {
        const int64_t id = id_at(data, code, i);
        if (id < 0 || id >= limit)
            return tt_fail(err, TT_ERR_DATA, "%s: token %lld has id %lld, but the vocabulary has %lld; it was made with another tokenizer, or "
                           "its ids are not the %d bytes wide that they are read as: use the model and tokenizer that belong to it, or tokenize "
                           "again", b->path, (long long)(token + i), (long long)id, (long long)limit, tt_id_bytes(code));
    }
    return TT_OK;
}

tt_status tt_token_ids_read(const tt_token_bytes *b, tt_id_code code, int64_t at, int64_t token, int64_t n, int64_t limit, int32_t *out,
                            tt_error *err)
{
    int64_t data[4096];
    const int width = tt_id_bytes(code);
    tt_status st = TT_OK;
    while (n > 0) {
        const int64_t room = (int64_t)sizeof data / width, part = n < room ? n : room;
        TT_TRY(tt_token_bytes_read(b, at, data, (size_t)(part * width), err));
        TT_TRY(widen(b, data, code, token, part, limit, out, err));
        at += part * width;
        token += part;
        out += part;
        n -= part;
    }
out:
    return st;
}

/* --- which kind ----------------------------------------------------------------------------------------------------------------------- */

static int has_ending(const char *path, const char *ending)
{
    const size_t n = strlen(path), m = strlen(ending);
    return n > m && strcmp(path + n - m, ending) == 0;
}

char *tt_megatron_twin(const char *path)
{
    const int idx = has_ending(path, ".idx");
    char *twin = idx || has_ending(path, ".bin") ? strdup(path) : NULL;
    if (twin)
        memcpy(twin + strlen(twin) - 3, idx ? "bin" : "idx", 3);
    return twin;
}

/* The first bytes of a file that can be read; their number. */
static size_t head_of(const char *path, unsigned char *head, size_t room)
{
    tt_token_bytes b = {0};
    size_t n = 0;
    if (tt_token_bytes_open(path, &b, NULL) == TT_OK) {
        n = b.bytes < (int64_t)room ? (size_t)b.bytes : room;
        if (tt_token_bytes_read(&b, 0, head, n, NULL) != TT_OK)
            n = 0;
    }
    tt_token_bytes_close(&b);
    return n;
}

static int is_index(const char *path)
{
    unsigned char head[9];
    return head_of(path, head, sizeof head) == 9 && memcmp(head, "MMIDIDX\0", 9) == 0;
}

tt_token_kind tt_token_file_kind(const char *path)
{
    unsigned char head[9] = {0};
    struct stat info;
    if (stat(path, &info) != 0 || !S_ISREG(info.st_mode)) /* opening a pipe would take its bytes, or wait */
        return TT_TOKENS_NONE;
    const size_t n = head_of(path, head, sizeof head);
    if (n >= 8 && memcmp(head, TT_SHARD_MAGIC, 8) == 0)
        return TT_TOKENS_TITAN;
    char *twin = tt_megatron_twin(path);
    const int megatron = (n == 9 && memcmp(head, "MMIDIDX\0", 9) == 0) || (twin && has_ending(path, ".bin") && is_index(twin));
    free(twin);
    if (megatron)
        return TT_TOKENS_MEGATRON;
    uint32_t magic = 0;
    memcpy(&magic, head, sizeof magic);
    if (n >= 4 && (magic == LLMC_GPT2 || magic == LLMC_LLAMA3 || magic == LLMC_EVAL))
        return TT_TOKENS_LLMC;
    return n > 0 && has_ending(path, ".bin") ? TT_TOKENS_RAW : TT_TOKENS_NONE;
}

/* --- titan's own ------------------------------------------------------------------------------------------------------------------------ */

static tt_status read_titan(void *self, int64_t first, int64_t n, int32_t *out, uint8_t *begins, tt_error *err)
{
    tt_status st = tt_shard_read(self, first, n, out, err);
    return st == TT_OK && begins ? tt_shard_documents(self, first, n, begins, err) : st;
}

static void close_titan(void *self)
{
    tt_shard *shard = self;
    tt_shard_close(&shard);
}

tt_status tt_token_open_titan(tt_token_file *f, tt_error *err)
{
    static const tt_token_reader reader = {read_titan, close_titan};
    static const unsigned char unknown[16];
    unsigned char identity[16];
    tt_shard *shard = NULL;
    tt_status st = tt_shard_open(f->path, &shard, err);
    if (st != TT_OK)
        return st;
    f->reader = &reader;
    f->self = shard;
    const tt_shard_info *info = tt_shard_header(shard);
    f->tokens = info->tokens;
    f->documents = info->documents;
    f->token_bytes = info->token_bytes;
    if (f->opts.tokenizer && memcmp(info->tokenizer, unknown, 16) != 0) {
        TT_TRY(tt_tokenizer_identity(f->opts.tokenizer, identity, err));
        if (memcmp(info->tokenizer, identity, 16) != 0)
            return tt_fail(err, TT_ERR_DATA, "%s was written with the tokenizer \"%s\" (%lld ids), whose ids mean other texts than those of "
                           "\"%s\" (%d ids); use that tokenizer, or tokenize again", f->path, info->name, (long long)info->vocab,
                           tt_tokenizer_name(f->opts.tokenizer), tt_tokenizer_vocab(f->opts.tokenizer));
    }
    if (info->vocab > f->limit)
        return tt_fail(err, TT_ERR_DATA, "%s has ids of a vocabulary of %lld (tokenizer \"%s\"), but the model's has %lld rows; use a model "
                       "with at least %lld rows, or tokenize again with the model's tokenizer", f->path, (long long)info->vocab, info->name,
                       (long long)f->limit, (long long)info->vocab);
out:
    return st;
}

/* --- opening ------------------------------------------------------------------------------------------------------------------------------ */

/* Ids spread over the file: what is wrong with all of it shows in some of them. */
static tt_status look_around(tt_token_file *f, tt_error *err)
{
    int32_t ids[SAMPLE];
    tt_status st = TT_OK;
    for (int i = 0; i < SAMPLES; i++) {
        const int64_t n = f->tokens < SAMPLE ? f->tokens : SAMPLE, last = f->tokens - n;
        TT_TRY(f->reader->read(f->self, last / (SAMPLES - 1) * i + last % (SAMPLES - 1) * i / (SAMPLES - 1), n, ids, NULL, err));
        if (last == 0)
            break;
    }
out:
    return st;
}

static void resolve(tt_token_file *f)
{
    const tt_tokenizer *t = f->opts.tokenizer;
    if (!f->opts.marks) {
        f->opts.bos = t ? tt_tokenizer_bos(t) : -1;
        f->opts.eos = t ? tt_tokenizer_eos(t) : -1;
    }
    f->limit = f->opts.vocab > 0 ? f->opts.vocab : t ? tt_tokenizer_vocab(t) : INT32_MAX;
}

tt_status tt_token_file_open(const char *path, const tt_token_opts *opts, tt_token_file **file, tt_error *err)
{
    tt_status st = TT_OK;
    tt_token_file *f = calloc(1, sizeof *f);
    *file = NULL;
    if (!f || !(f->path = strdup(path)))
        TT_TRY(tt_fail(err, TT_ERR_NOMEM, "no memory to open %s", path));
    f->opts = opts ? *opts : (tt_token_opts){0};
    resolve(f);
    f->kind = tt_token_file_kind(path);
    if (access(path, R_OK) != 0)
        TT_TRY(tt_fs_fail(err, "open", path, errno));
    switch (f->kind) {
    case TT_TOKENS_NONE:
        TT_TRY(tt_fail(err, TT_ERR_DATA, "%s is no file of tokens that titan knows: a titan shard, an .idx and .bin of Megatron, a .bin of "
                       "llm.c or of nanoGPT; make one with titan-tokenize shards", path));
        break;
    case TT_TOKENS_TITAN: TT_TRY(tt_token_open_titan(f, err)); break;
    case TT_TOKENS_MEGATRON: TT_TRY(tt_token_open_megatron(f, err)); break;
    case TT_TOKENS_LLMC:
    case TT_TOKENS_RAW: TT_TRY(tt_token_open_plain(f, err)); break;
    }
    if (f->kind != TT_TOKENS_TITAN)
        TT_TRY(look_around(f, err));
    *file = f;
    f = NULL;
out:
    tt_token_file_close(&f);
    return st;
}

void tt_token_file_close(tt_token_file **file)
{
    tt_token_file *f = *file;
    if (!f)
        return;
    if (f->self)
        f->reader->close(f->self);
    free(f->path);
    free(f);
    *file = NULL;
}

tt_token_kind tt_token_file_kind_of(const tt_token_file *f)
{
    return f->kind;
}

int64_t tt_token_file_tokens(const tt_token_file *f)
{
    return f->tokens;
}

int64_t tt_token_file_documents(const tt_token_file *f)
{
    return f->documents;
}

int tt_token_file_token_bytes(const tt_token_file *f)
{
    return f->token_bytes;
}

const char *tt_token_file_path(const tt_token_file *f)
{
    return f->path;
}

tt_shard *tt_token_file_shard(const tt_token_file *f)
{
    return f->kind == TT_TOKENS_TITAN ? f->self : NULL;
}

tt_status tt_token_file_read(tt_token_file *f, int64_t first, int64_t n, int32_t *out, uint8_t *begins, tt_error *err)
{
    TT_ASSERT(first >= 0 && n >= 0 && n <= f->tokens - first);
    return n == 0 ? TT_OK : f->reader->read(f->self, first, n, out, begins, err);
}
