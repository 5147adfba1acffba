/* See source.h. */
#include "data/source.h"

#include "data/source_priv.h"
#include "data/token_files.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define MEMORY_BYTES (INT64_C(256) << 20)
#define EXPANSION 4 /* a compressed byte of text is about that many */

/* --- which kind ------------------------------------------------------------------------------------------------------- */

static int ends_with(const char *path, const char *suffix)
{
    size_t n = strlen(path), m = strlen(suffix);
    return n >= m && !strcmp(path + n - m, suffix);
}

static int is_folder(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

static int any_match(const char *pattern)
{
    glob_t found = {0};
    int any = glob(pattern, GLOB_NOSORT, NULL, &found) == 0;
    globfree(&found);
    return any;
}

/* A folder with token shards means those: shards of titan, else pairs of Megatron. */
static tt_status list_files(const char *path, tt_text_list *list, tt_error *err)
{
    static const char *const shards[] = {"/*.tok", "/*.idx"};
    for (size_t i = 0; is_folder(path) && i < sizeof shards / sizeof shards[0]; i++) {
        char *pattern = malloc(strlen(path) + 8);
        TT_ASSERT(pattern);
        sprintf(pattern, "%s%s", path, shards[i]);
        int any = any_match(pattern);
        tt_status st = any ? tt_text_list_add(list, pattern, err) : TT_OK;
        free(pattern);
        if (any)
            return st;
    }
    return tt_text_list_add(list, path, err);
}

static int64_t text_bytes(const tt_text_list *files)
{
    int64_t sum = 0;
    for (int i = 0; i < files->n; i++) {
        struct stat info;
        const int packed = ends_with(files->paths[i], ".gz") || ends_with(files->paths[i], ".zst");
        if (stat(files->paths[i], &info) == 0)
            sum += info.st_size * (packed ? EXPANSION : 1);
    }
    return sum;
}

static tt_status open_kind(const char *path, const tt_text_list *files, const tt_source_opts *o, tt_source *s, tt_error *err)
{
    const int64_t room = o->memory_bytes > 0 ? o->memory_bytes : MEMORY_BYTES;
    int tokens = 0;
    for (int i = 0; i < files->n; i++)
        tokens += tt_token_file_kind(files->paths[i]) != TT_TOKENS_NONE;
    if (tokens && tokens < files->n)
        return tt_fail(err, TT_ERR_DATA, "%s.dataset_path=%s matches %d token files and %d text files; give one kind in one path, or "
                       "mix two paths with training.dataset_mixture", o->key, path, tokens, files->n - tokens);
    if (tokens)
        return tt_source_shards_open(files, o, s, err);
    return text_bytes(files) <= room ? tt_source_memory_open(files, o, s, err) : tt_source_stream_open(files, o, s, err);
}

/* BOS and EOS go around every document, whatever the text. */
static tt_status check_marks(const tt_source_opts *o, tt_error *err)
{
    const int32_t bos = tt_tokenizer_bos(o->tokenizer), eos = tt_tokenizer_eos(o->tokenizer);
    if (o->vocab > 0 && (bos >= o->vocab || eos >= o->vocab))
        return tt_fail(err, TT_ERR_DATA, "the tokenizer \"%s\" marks documents with the ids %d and %d, but the model's vocabulary has "
                       "%lld rows; use model.vocab_size >= %lld", tt_tokenizer_name(o->tokenizer), bos, eos,
                       (long long)o->vocab, (long long)tt_tokenizer_vocab(o->tokenizer));
    return TT_OK;
}

tt_status tt_source_open(const char *path, const tt_source_opts *opts, tt_source **out, tt_error *err)
{
    tt_text_list files = {0};
    tt_error local = {0};
    tt_status st;
    tt_source *s = calloc(1, sizeof *s);
    err = err ? err : &local;
    *out = NULL;
    if (!s)
        return tt_fail(err, TT_ERR_NOMEM, "opening the data %s: no memory", path);
    TT_TRY(check_marks(opts, err));
    if (!strcmp(path, "-"))
        TT_TRY(tt_fail(err, TT_ERR_DATA, "%s.dataset_path = \"-\": training reads its text again and again, which standard input cannot "
                       "give; write it to a file, or make token shards of it with titan-tokenize shards", opts->key));
    st = list_files(path, &files, err);
    if (st != TT_OK) {
        tt_error why = *err;
        TT_TRY(tt_fail(err, st, "%s.dataset_path: %s", opts->key, why.text));
    }
    TT_TRY(open_kind(path, &files, opts, s, err));
    *out = s;
    s = NULL;
out:
    tt_text_list_free(&files);
    tt_source_close(&s);
    return st;
}

void tt_source_close(tt_source **source)
{
    if (!*source)
        return;
    if ((*source)->self)
        (*source)->table->close((*source)->self);
    free(*source);
    *source = NULL;
}

/* --- what all kinds share --------------------------------------------------------------------------------------------- */

tt_status tt_source_check_ids(const tt_source_opts *o, const char *file, const int32_t *ids, size_t n, int64_t first,
                              tt_error *err)
{
    const int64_t limit = o->vocab > 0 ? o->vocab : tt_tokenizer_vocab(o->tokenizer);
    for (size_t i = 0; i < n; i++)
        if (ids[i] < 0 || ids[i] >= limit)
            return tt_fail(err, TT_ERR_DATA, "%s: token %lld has id %d, but the model's vocabulary has %lld rows; use the model's own "
                           "tokenizer or a larger vocabulary", file, (long long)(first + (int64_t)i), ids[i], (long long)limit);
    return TT_OK;
}

tt_text_opts tt_source_text_opts(const tt_source_opts *o)
{
    const int bytes = !strcmp(tt_tokenizer_name(o->tokenizer), "byte");
    return (tt_text_opts){.field = o->field, .utf8 = bytes ? TT_TEXT_KEEP : o->repair_utf8 ? TT_TEXT_REPAIR : TT_TEXT_REFUSE};
}

int64_t tt_source_tokens(const tt_source *s)
{
    return s->tokens;
}

int64_t tt_source_documents(const tt_source *s)
{
    return s->documents;
}

const char *tt_source_describe(const tt_source *s)
{
    return s->text;
}

tt_status tt_source_read(tt_source *s, int64_t at, int64_t n, int32_t *tokens, uint8_t *begins, tt_error *err)
{
    if (s->tokens < 0)
        return s->table->read(s->self, at, n, tokens, begins, err);
    tt_status st = TT_OK;
    at %= s->tokens;
    while (n > 0 && st == TT_OK) {
        const int64_t run = n < s->tokens - at ? n : s->tokens - at;
        st = s->table->read(s->self, at, run, tokens, begins, err);
        tokens += run;
        begins = begins ? begins + run : NULL;
        n -= run;
        at = 0;
    }
    return st;
}

char *tt_source_bookmark(tt_source *s, int64_t at)
{
    return s->table->bookmark ? s->table->bookmark(s->self, at) : NULL;
}

tt_status tt_source_seek(tt_source *s, int64_t at, const char *bookmark, tt_error *err)
{
    return s->table->seek ? s->table->seek(s->self, at, bookmark, err) : TT_OK;
}
