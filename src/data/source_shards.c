/* Token files one after the other as one stream. */
#include "data/source_priv.h"

#include "data/token_files.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

typedef struct shards {
    tt_token_file **file; /* owned */
    int64_t *start;       /* n + 1: first token of each, and the end */
    int n;
} shards;

static void close_shards(void *self)
{
    shards *s = self;
    for (int i = 0; i < s->n; i++)
        tt_token_file_close(&s->file[i]);
    free(s->file);
    free(s->start);
    free(s);
}

static tt_status read_shards(void *self, int64_t at, int64_t n, int32_t *tokens, uint8_t *begins, tt_error *err)
{
    shards *s = self;
    tt_status st = TT_OK;
    int lo = 0, hi = s->n; /* start[lo] <= at < start[hi] */
    while (hi - lo > 1) {
        int mid = lo + (hi - lo) / 2;
        if (s->start[mid] <= at)
            lo = mid;
        else
            hi = mid;
    }
    for (; n > 0 && st == TT_OK; lo++) {
        const int64_t left = s->start[lo + 1] - at, run = n < left ? n : left;
        st = tt_token_file_read(s->file[lo], at - s->start[lo], run, tokens, begins, err);
        tokens += run;
        begins = begins ? begins + run : NULL;
        at += run;
        n -= run;
    }
    return st;
}

static const tt_source_table table = {.name = "shards", .read = read_shards, .close = close_shards};

/* Each file is open all the time, some are two. */
static void raise_limit(int files)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < (rlim_t)(2 * files + 256)) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
}

/* The other half of a Megatron pair whose first half is `path`. */
static int is_second_of_pair(const char *path, const char *before)
{
    const size_t n = strlen(path);
    return before && n > 4 && strlen(before) == n && !strcmp(path + n - 4, ".idx") && !strcmp(before + n - 4, ".bin") &&
           !strncmp(path, before, n - 4) && tt_token_file_kind(path) == TT_TOKENS_MEGATRON;
}

static tt_status open_files(shards *s, const tt_text_list *list, const tt_source_opts *o, tt_source *source, tt_error *err)
{
    const tt_token_opts opts = {.tokenizer = o->tokenizer, .vocab = o->vocab};
    tt_status st = TT_OK;
    for (int i = 0; i < list->n; i++) {
        if (is_second_of_pair(list->paths[i], i ? list->paths[i - 1] : NULL))
            continue;
        TT_TRY(tt_token_file_open(list->paths[i], &opts, &s->file[s->n], err));
        const tt_token_file *f = s->file[s->n++];
        s->start[s->n] = s->start[s->n - 1] + tt_token_file_tokens(f);
        source->documents = source->documents < 0 || tt_token_file_documents(f) < 0 ? -1 : source->documents + tt_token_file_documents(f);
    }
    source->tokens = s->start[s->n];
    if (source->tokens == 0)
        st = tt_fail(err, TT_ERR_DATA, "%s.dataset_path: all token files found are empty (%d, the first is %s); tokenize some text", o->key,
                     s->n, list->paths[0]);
out:
    return st;
}

static void describe(const shards *s, tt_source *source)
{
    int n = snprintf(source->text, sizeof source->text, "%lld tokens in %d %s file%s", (long long)source->tokens, s->n,
                     tt_token_kind_name(tt_token_file_kind_of(s->file[0])), s->n == 1 ? "" : "s");
    if (source->documents >= 0)
        snprintf(source->text + n, sizeof source->text - (size_t)n, ", %lld documents", (long long)source->documents);
}

tt_status tt_source_shards_open(const tt_text_list *files, const tt_source_opts *o, tt_source *source, tt_error *err)
{
    tt_status st;
    shards *s = calloc(1, sizeof *s);
    if (!s)
        return tt_fail(err, TT_ERR_NOMEM, "opening %d token files: no memory", files->n);
    source->table = &table;
    source->self = s;
    source->documents = 0;
    s->file = calloc((size_t)files->n, sizeof *s->file);
    s->start = calloc((size_t)files->n + 1, sizeof *s->start);
    if (!s->file || !s->start)
        return tt_fail(err, TT_ERR_NOMEM, "opening %d token files: no memory", files->n);
    raise_limit(files->n);
    TT_TRY(open_files(s, files, o, source, err));
    describe(s, source);
out:
    return st;
}
