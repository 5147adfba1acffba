/* Files that are nothing but ids: llm.c's behind a header of 1024 bytes, and nanoGPT's without one. Source: llm.c, dev/data/data_common.py;
 * nanoGPT, data/openwebtext/prepare.py. */
#include "data/token_files_priv.h"

#include <stdlib.h>
#include <string.h>

enum { HEADER = 1024, GPT2 = 20240520, LLAMA3 = 20240801, EVAL = 20240522 };

typedef struct plain {
    tt_token_bytes bytes;
    tt_id_code code;
    int64_t data, limit; /* first byte of the ids; ids are below */
    int32_t begin, end;  /* a document begins at this id, and behind that one; -1: none */
} plain;

static tt_status read_plain(void *self, int64_t first, int64_t n, int32_t *out, uint8_t *begins, tt_error *err)
{
    const plain *p = self;
    const int width = tt_id_bytes(p->code);
    int32_t before = -2;
    tt_status st;
    TT_TRY(tt_token_ids_read(&p->bytes, p->code, p->data + first * width, first, n, p->limit, out, err));
    if (!begins)
        return TT_OK;
    if (first > 0 && p->end >= 0)
        TT_TRY(tt_token_ids_read(&p->bytes, p->code, p->data + (first - 1) * width, first - 1, 1, p->limit, &before, err));
    for (int64_t i = 0; i < n; i++) {
        begins[i] = first + i == 0 || (out[i] == p->begin && p->begin >= 0) || (before == p->end && p->end >= 0);
        before = out[i];
    }
out:
    return st;
}

static void close_plain(void *self)
{
    plain *p = self;
    tt_token_bytes_close(&p->bytes);
    free(p);
}

static tt_status open_llmc(const tt_token_file *f, plain *p, int64_t *tokens, tt_error *err)
{
    int32_t header[3] = {0};
    tt_status st;
    if (p->bytes.bytes < HEADER)
        return tt_fail(err, TT_ERR_DATA, "%s ends inside its header of %d bytes (llm.c), after %lld; it is cut off: get it again", f->path, HEADER,
                       (long long)p->bytes.bytes);
    TT_TRY(tt_token_bytes_read(&p->bytes, 0, header, sizeof header, err));
    if (header[0] == EVAL)
        return tt_fail(err, TT_ERR_DATA, "%s is a file of multiple-choice questions (llm.c), not of tokens to train on; choose another", f->path);
    if (header[1] != (header[0] == GPT2 ? 1 : 7))
        return tt_fail(err, TT_ERR_DATA, "%s says magic %d (llm.c) and version %d; known are 20240520 version 1 (16-bit ids) and 20240801 version "
                       "7 (32-bit ids): write it again", f->path, header[0], header[1]);
    p->code = header[0] == GPT2 ? TT_ID_U16 : TT_ID_U32;
    p->data = HEADER;
    *tokens = header[2];
    const int64_t want = HEADER + *tokens * tt_id_bytes(p->code);
    if (*tokens < 0 || want != p->bytes.bytes)
        return tt_fail(err, TT_ERR_DATA, "%s says %d tokens of %d bytes (llm.c), which with the header makes %lld bytes, but has %lld; it is "
                       "damaged: get it again", f->path, header[2], tt_id_bytes(p->code), (long long)want, (long long)p->bytes.bytes);
out:
    return st;
}

/* 1 when 16-bit numbers look like the halves of 32-bit ids: every second one is tiny, the others are not. */
static int looks_wide(const plain *p, int64_t tokens)
{
    uint16_t some[256];
    int low = 0;
    if (tokens < 256 || p->bytes.bytes % 4 != 0)
        return 0;
    for (int64_t i = 0; i < 4; i++) {
        if (tt_token_bytes_read(&p->bytes, (tokens - 256) / 3 * i / 2 * 4, some, sizeof some, NULL) != TT_OK)
            return 0;
        for (int j = 0; j < 256; j += 2) {
            if (some[j + 1] > 3)
                return 0;
            low += some[j] > 3;
        }
    }
    return low > 4 * 256 / 4;
}

static tt_status open_raw(const tt_token_file *f, plain *p, int64_t *tokens, tt_error *err)
{
    const int width = f->opts.token_bytes ? f->opts.token_bytes : 2;
    p->code = width == 2 ? TT_ID_U16 : TT_ID_U32;
    *tokens = p->bytes.bytes / width;
    if (width != 2 && width != 4)
        return tt_fail(err, TT_ERR_DATA,
                       "%s: raw ids of %d bytes are asked for; use 2 (u16) or 4 (u32)", f->path,
                       width);
    if (p->bytes.bytes % width != 0)
        return tt_fail(err, TT_ERR_DATA,
                       "%s has %lld bytes, which is no multiple of %d, the width of an id (a raw "
                       "file without a header); it is "
                       "cut off or no file of tokens: get it again",
                       f->path, (long long)p->bytes.bytes, width);
    if (f->opts.token_bytes == 0 && looks_wide(p, *tokens))
        return tt_fail(err, TT_ERR_DATA, "%s has no header, and its ids look like 4 bytes each (every second 16-bit number is 0 to 3); say that "
                       "they are u32, or u16 if they are", f->path);
    return TT_OK;
}

/* Where documents begin, see token_files.h. */
static tt_status choose_marks(const tt_token_file *f, plain *p, tt_error *err)
{
    int32_t first;
    p->begin = f->opts.bos;
    p->end = f->opts.eos;
    if (p->end < 0 || (p->begin >= 0 && p->begin != p->end))
        return TT_OK;
    tt_status st = tt_token_ids_read(&p->bytes, p->code, p->data, 0, 1, p->limit, &first, err);
    const int leads = st == TT_OK && first == p->end;
    p->begin = leads ? p->end : -1;
    p->end = leads ? -1 : p->end;
    return st;
}

tt_status tt_token_open_plain(tt_token_file *f, tt_error *err)
{
    static const tt_token_reader reader = {read_plain, close_plain};
    tt_status st;
    plain *p = calloc(1, sizeof *p);
    if (!p)
        return tt_fail(err, TT_ERR_NOMEM, "no memory to open %s", f->path);
    f->reader = &reader;
    f->self = p;
    p->limit = f->limit;
    TT_TRY(tt_token_bytes_open(f->path, &p->bytes, err));
    TT_TRY(f->kind == TT_TOKENS_LLMC ? open_llmc(f, p, &f->tokens, err) : open_raw(f, p, &f->tokens, err));
    f->documents = -1;
    f->token_bytes = tt_id_bytes(p->code);
    if (f->tokens > 0)
        TT_TRY(choose_marks(f, p, err));
out:
    return st;
}
