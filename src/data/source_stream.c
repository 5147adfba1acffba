/* Much text, tokenized as it is read. A window of tokens is held: those that the last reads may want again, and those that
 * the next document brought. Now and then the place of a document is noted, so that a bookmark can be given for any place
 * in the recent past. */
#include "base/clock.h"
#include "base/log.h"
#include "data/source_priv.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define SLACK (INT64_C(1) << 20) /* tokens kept behind the last read */
#define MARK_EVERY (1 << 16)     /* tokens between marks */
#define MARKS 8192               /* the newest ones are kept */

/* Token `at` begins document `doc` of file `file`, in the pass that began at token `pass_from`. */
typedef struct mark {
    int64_t at, doc, pass_from;
    int file;
} mark;

typedef struct stream {
    tt_source_opts o;
    char *field; /* owned */
    char **path; /* owned */
    int n_files;
    pthread_mutex_t lock;
    tt_text_reader *reader; /* of file; NULL before it is opened */
    int file;
    int64_t doc;            /* next document of the file */
    int64_t base, n, room;  /* the window: tokens base .. base+n-1 of the endless stream */
    int32_t *token;
    uint8_t *begin;
    int64_t pass_from, pass_tokens; /* where this pass began; length of a pass, 0 before the first is over */
    mark mark[MARKS];
    int64_t n_marks; /* ever made */
} stream;

static void close_stream(void *self)
{
    stream *s = self;
    tt_text_reader_close(&s->reader);
    for (int i = 0; i < s->n_files; i++)
        free(s->path[i]);
    free(s->path);
    free(s->field);
    free(s->token);
    free(s->begin);
    pthread_mutex_destroy(&s->lock);
    free(s);
}

/* --- reading on ------------------------------------------------------------------------------------------------------- */

static void begin_anew(stream *s)
{
    tt_text_reader_close(&s->reader);
    s->file = 0;
    s->doc = s->base = s->n = s->pass_from = s->n_marks = 0;
}

static tt_status open_file(stream *s, tt_error *err)
{
    const tt_text_opts text = tt_source_text_opts(&s->o);
    return tt_text_reader_open(s->path[s->file], &text, &s->reader, err);
}

/* After the last file comes the first. When the length of a pass is known, passes before `wanted` are left out. */
static tt_status next_file(stream *s, int64_t wanted, tt_error *err)
{
    const int64_t end = s->base + s->n;
    tt_text_reader_close(&s->reader);
    s->doc = 0;
    if (++s->file < s->n_files)
        return TT_OK;
    s->file = 0;
    if (end == s->pass_from)
        return tt_fail(err, TT_ERR_DATA, "%s.dataset_path: all files found are empty (%d, the first is %s); put text into them",
                       s->o.key, s->n_files, s->path[0]);
    s->pass_tokens = end - s->pass_from;
    s->pass_from = end;
    const int64_t passes = (wanted - SLACK - end) / s->pass_tokens;
    if (passes > 0) {
        s->pass_from += passes * s->pass_tokens;
        s->base = s->pass_from;
        s->n = 0;
    }
    return TT_OK;
}

static tt_status reserve(stream *s, int64_t more, tt_error *err)
{
    if (s->n + more <= s->room)
        return TT_OK;
    const int64_t room = 2 * s->room > s->n + more ? 2 * s->room : s->n + more;
    int32_t *token = realloc(s->token, (size_t)room * sizeof *token);
    if (token)
        s->token = token;
    uint8_t *begin = realloc(s->begin, (size_t)room);
    if (begin)
        s->begin = begin;
    if (!token || !begin)
        return tt_fail(err, TT_ERR_NOMEM, "reading %s: no memory for a window of %lld tokens; split its longest document",
                       s->path[s->file], (long long)room);
    s->room = room;
    return TT_OK;
}

/* Forget what is more than SLACK before `wanted`, when that is much. */
static void forget(stream *s, int64_t wanted)
{
    int64_t drop = wanted - SLACK - s->base;
    drop = drop < s->n ? drop : s->n;
    if (drop < SLACK)
        return;
    memmove(s->token, s->token + drop, (size_t)(s->n - drop) * sizeof *s->token);
    memmove(s->begin, s->begin + drop, (size_t)(s->n - drop));
    s->base += drop;
    s->n -= drop;
}

static void note_mark(stream *s, int64_t at)
{
    if (s->n_marks == 0 || at - s->mark[(s->n_marks - 1) % MARKS].at >= MARK_EVERY)
        s->mark[s->n_marks++ % MARKS] = (mark){.at = at, .doc = s->doc, .pass_from = s->pass_from, .file = s->file};
}

static tt_status append_document(stream *s, const tt_text_doc *doc, tt_error *err)
{
    int32_t *ids = NULL;
    size_t n = 0;
    const int32_t bos = tt_tokenizer_bos(s->o.tokenizer), eos = tt_tokenizer_eos(s->o.tokenizer);
    tt_status st;
    TT_TRY(tt_tokenizer_encode(s->o.tokenizer, doc->text, doc->bytes, &ids, &n, err));
    if (n > 0) {
        const int64_t first = s->n;
        TT_TRY(tt_source_check_ids(&s->o, s->path[s->file], ids, n, s->base + s->n - s->pass_from, err));
        TT_TRY(reserve(s, (int64_t)n + 2, err));
        note_mark(s, s->base + s->n);
        if (bos >= 0)
            s->token[s->n++] = bos;
        memcpy(s->token + s->n, ids, n * sizeof *ids);
        s->n += (int64_t)n;
        if (eos >= 0)
            s->token[s->n++] = eos;
        memset(s->begin + first, 0, (size_t)(s->n - first));
        s->begin[first] = 1;
    }
    s->doc++;
out:
    free(ids);
    return st;
}

/* Read on until the window holds token `end - 1`. */
static tt_status read_up_to(stream *s, int64_t wanted, int64_t end, tt_error *err)
{
    tt_status st = TT_OK;
    while (s->base + s->n < end) {
        tt_text_doc doc;
        if (!s->reader)
            TT_TRY(open_file(s, err));
        TT_TRY(tt_text_next(s->reader, &doc, err));
        if (!doc.text) {
            TT_TRY(next_file(s, wanted, err));
            continue;
        }
        forget(s, wanted);
        TT_TRY(append_document(s, &doc, err));
    }
out:
    if (st != TT_OK)
        begin_anew(s); /* a reader that failed can only be closed */
    return st;
}

static tt_status read_stream(void *self, int64_t at, int64_t n, int32_t *tokens, uint8_t *begins, tt_error *err)
{
    stream *s = self;
    pthread_mutex_lock(&s->lock);
    if (at < s->base)
        begin_anew(s);
    tt_status st = read_up_to(s, at, at + n, err);
    if (st == TT_OK) {
        memcpy(tokens, s->token + (at - s->base), (size_t)n * sizeof *tokens);
        if (begins)
            memcpy(begins, s->begin + (at - s->base), (size_t)n);
    }
    pthread_mutex_unlock(&s->lock);
    return st;
}

/* --- bookmarks -------------------------------------------------------------------------------------------------------- */

static int64_t size_of(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 ? (int64_t)info.st_size : -1;
}

/* "TOKEN FILE DOCUMENT SIZE PASS_TOKENS PASS_FROM PATH": the last mark at or before `at`. */
static char *bookmark_stream(void *self, int64_t at)
{
    stream *s = self;
    char *text = NULL;
    pthread_mutex_lock(&s->lock);
    for (int64_t i = s->n_marks - 1; i >= 0 && i >= s->n_marks - MARKS && !text; i--) {
        const mark *m = &s->mark[i % MARKS];
        if (m->at > at)
            continue;
        const size_t room = strlen(s->path[m->file]) + 128;
        if ((text = malloc(room)))
            snprintf(text, room, "%lld %d %lld %lld %lld %lld %s", (long long)m->at, m->file, (long long)m->doc,
                     (long long)size_of(s->path[m->file]), (long long)s->pass_tokens, (long long)m->pass_from, s->path[m->file]);
    }
    pthread_mutex_unlock(&s->lock);
    return text;
}

/* Stand where the bookmark says; 0 when it is not of these files. */
static int go_to(stream *s, const char *bookmark, tt_error *err, tt_status *st)
{
    long long at, doc, size, pass_tokens, pass_from;
    int64_t skipped = 0;
    int file, path = 0;
    if (sscanf(bookmark, "%lld %d %lld %lld %lld %lld %n", &at, &file, &doc, &size, &pass_tokens, &pass_from, &path) < 6 || !path ||
        file < 0 || file >= s->n_files || strcmp(bookmark + path, s->path[file]) || size != size_of(s->path[file]))
        return 0;
    begin_anew(s);
    s->file = file;
    if ((*st = open_file(s, err)) == TT_OK && (*st = tt_text_skip(s->reader, doc, &skipped, err)) == TT_OK && skipped == doc) {
        s->doc = doc;
        s->base = at;
        s->pass_from = pass_from;
        s->pass_tokens = pass_tokens;
        return 1;
    }
    begin_anew(s);
    return 0;
}

static tt_status seek_stream(void *self, int64_t at, const char *bookmark, tt_error *err)
{
    stream *s = self;
    const double start = tt_clock_s();
    tt_status st = TT_OK;
    pthread_mutex_lock(&s->lock);
    if (at >= s->base && at <= s->base + s->n)
        goto out;
    if (bookmark && !go_to(s, bookmark, err, &st) && st == TT_OK)
        tt_log_root(WARN, "data: the checkpoint stopped in other files than %s.dataset_path now names (\"%s\"); the text is read "
                    "again from its beginning up to token %lld, and goes on there", s->o.key, bookmark, (long long)at);
    if (st == TT_OK && at < s->base)
        begin_anew(s);
    if (st == TT_OK)
        st = read_up_to(s, at, at, err);
    if (st == TT_OK && (bookmark || at > 0))
        tt_log_root(INFO, "data: re-read the text up to token %lld (%s, document %lld) in %.2f s", (long long)at, s->path[s->file], (long long)s->doc, tt_clock_s() - start);
out:
    pthread_mutex_unlock(&s->lock);
    return st;
}

static const tt_source_table table = {
    .name = "stream", .read = read_stream, .bookmark = bookmark_stream, .seek = seek_stream, .close = close_stream};

tt_status tt_source_stream_open(const tt_text_list *files, const tt_source_opts *o, tt_source *source, tt_error *err)
{
    stream *s = calloc(1, sizeof *s);
    if (!s)
        return tt_fail(err, TT_ERR_NOMEM, "opening a data set of %d files: no memory", files->n);
    source->table = &table;
    source->self = s;
    source->tokens = source->documents = -1;
    pthread_mutex_init(&s->lock, NULL);
    s->o = *o;
    s->field = o->field ? strdup(o->field) : NULL;
    s->o.field = s->field;
    s->path = calloc((size_t)files->n, sizeof *s->path);
    for (int i = 0; s->path && i < files->n; i++)
        if ((s->path[i] = strdup(files->paths[i])))
            s->n_files++;
    if (s->n_files < files->n)
        return tt_fail(err, TT_ERR_NOMEM, "opening a data set of %d files: no memory", files->n);
    snprintf(source->text, sizeof source->text, "%.1f MB in %d text file%s, tokenized while training", (double)files->bytes / 1e6,
             files->n, files->n == 1 ? "" : "s");
    return TT_OK;
}
