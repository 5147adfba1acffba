/* A little text, tokenized when it is opened. Two bytes a token while the vocabulary allows it, else four. */
#include "data/source_priv.h"

#include <stdlib.h>
#include <string.h>

typedef struct memory {
    size_t width; /* bytes of a stored token: 2 or 4 */
    void *store;
    int64_t n, capacity;
    int64_t *starts; /* documents + 1 */
    int64_t documents, room;
    tt_text_counts counts;
} memory;

static void close_memory(void *self)
{
    memory *m = self;
    free(m->store);
    free(m->starts);
    free(m);
}

/* Room for `more` tokens and one more document. */
static tt_status grow(memory *m, int64_t more, tt_error *err)
{
    if (m->n + more > m->capacity) {
        int64_t capacity = m->capacity * 2 > m->n + more ? m->capacity * 2 : m->n + more;
        void *store = realloc(m->store, (size_t)capacity * m->width);
        if (!store)
            return tt_fail(err, TT_ERR_NOMEM, "the data set needs more than %lld MiB of host memory; write token shards of it with "
                           "titan-tokenize shards", (long long)(capacity * (int64_t)m->width >> 20));
        m->store = store;
        m->capacity = capacity;
    }
    if (m->documents + 2 > m->room) {
        int64_t room = m->room ? 2 * m->room : 64;
        int64_t *starts = realloc(m->starts, (size_t)room * sizeof *starts);
        if (!starts)
            return tt_fail(err, TT_ERR_NOMEM, "the data set has more than %lld documents: no memory; write token shards of it with "
                           "titan-tokenize shards", (long long)m->documents);
        if (!m->starts)
            starts[0] = 0;
        m->starts = starts;
        m->room = room;
    }
    return TT_OK;
}

static void append(memory *m, int32_t id)
{
    if (m->width == 2)
        ((uint16_t *)m->store)[m->n++] = (uint16_t)id;
    else
        ((int32_t *)m->store)[m->n++] = id;
}

static tt_status add_document(memory *m, const char *path, const tt_text_doc *doc, const tt_source_opts *o, tt_error *err)
{
    int32_t *ids = NULL;
    size_t n = 0;
    const int32_t bos = tt_tokenizer_bos(o->tokenizer), eos = tt_tokenizer_eos(o->tokenizer);
    tt_status st;
    TT_TRY(tt_tokenizer_encode(o->tokenizer, doc->text, doc->bytes, &ids, &n, err));
    if (n == 0) {
        m->counts.empty++;
        goto out;
    }
    TT_TRY(tt_source_check_ids(o, path, ids, n, m->n, err));
    TT_TRY(grow(m, (int64_t)n + 2, err));
    if (bos >= 0)
        append(m, bos);
    for (size_t i = 0; i < n; i++)
        append(m, ids[i]);
    if (eos >= 0)
        append(m, eos);
    m->starts[++m->documents] = m->n;
out:
    free(ids);
    return st;
}

static tt_status add_file(memory *m, const char *path, const tt_source_opts *o, tt_error *err)
{
    const tt_text_opts text = tt_source_text_opts(o);
    tt_text_reader *reader = NULL;
    tt_text_doc doc;
    tt_status st;
    TT_TRY(tt_text_reader_open(path, &text, &reader, err));
    for (;;) {
        TT_TRY(tt_text_next(reader, &doc, err));
        if (!doc.text)
            break;
        TT_TRY(add_document(m, path, &doc, o, err));
    }
    tt_text_counts_add(&m->counts, tt_text_reader_counts(reader));
out:
    tt_text_reader_close(&reader);
    return st;
}

/* The document that holds token `at`. */
static int64_t document_of(const memory *m, int64_t at)
{
    int64_t lo = 0, hi = m->documents; /* starts[lo] <= at < starts[hi] */
    while (hi - lo > 1) {
        int64_t mid = lo + (hi - lo) / 2;
        if (m->starts[mid] <= at)
            lo = mid;
        else
            hi = mid;
    }
    return lo;
}

static tt_status read_memory(void *self, int64_t at, int64_t n, int32_t *tokens, uint8_t *begins, tt_error *err)
{
    const memory *m = self;
    (void)err;
    TT_ASSERT(at >= 0 && n >= 0 && at + n <= m->n);
    if (m->width == 2)
        for (int64_t i = 0; i < n; i++)
            tokens[i] = ((const uint16_t *)m->store)[at + i];
    else
        memcpy(tokens, (const int32_t *)m->store + at, (size_t)n * sizeof *tokens);
    if (!begins || n == 0)
        return TT_OK;
    memset(begins, 0, (size_t)n);
    int64_t d = document_of(m, at);
    if (m->starts[d] < at)
        d++;
    for (; d < m->documents && m->starts[d] < at + n; d++)
        begins[m->starts[d] - at] = 1;
    return TT_OK;
}

static const tt_source_table table = {.name = "memory", .read = read_memory, .close = close_memory};

static void describe(const memory *m, const tt_text_list *files, tt_source *s)
{
    int n = snprintf(s->text, sizeof s->text, "%lld tokens in %lld document%s of %d text file%s, held in memory", (long long)m->n,
                     (long long)m->documents, m->documents == 1 ? "" : "s", files->n, files->n == 1 ? "" : "s");
    if (m->counts.empty)
        snprintf(s->text + n, sizeof s->text - (size_t)n, " (%lld empty ones left out)", (long long)m->counts.empty);
}

tt_status tt_source_memory_open(const tt_text_list *files, const tt_source_opts *o, tt_source *s, tt_error *err)
{
    tt_status st = TT_OK;
    memory *m = calloc(1, sizeof *m);
    if (!m)
        return tt_fail(err, TT_ERR_NOMEM, "opening a data set of %d files: no memory", files->n);
    s->table = &table;
    s->self = m;
    m->width = tt_tokenizer_vocab(o->tokenizer) <= 65536 ? 2 : 4;
    for (int i = 0; i < files->n; i++)
        TT_TRY(add_file(m, files->paths[i], o, err));
    if (m->documents == 0)
        TT_TRY(tt_fail(err, TT_ERR_DATA, "%s.dataset_path: all files found are empty (%d, the first is %s); put text into them", o->key,
                       files->n, files->paths[0]));
    s->tokens = m->n;
    s->documents = m->documents;
    describe(m, files, s);
out:
    return st;
}
