/* Megatron's indexed data: X.bin has the ids, X.idx says where each sequence lies and which sequence begins a document. Source: Megatron-LM,
 * megatron/core/datasets/indexed_dataset.py.
 *
 * The stream of tokens is the sequences in the order of the index, wherever they lie. The index is read once when it is opened, to check
 * it and to keep the token number of every 1024th sequence; the rest is read again where it is needed. */
#include "base/fs.h"
#include "data/token_files_priv.h"

#include <stdlib.h>
#include <string.h>

enum { GROUP = 1024, HEAD = 34 };

typedef struct megatron {
    tt_token_bytes idx, bin;
    tt_id_code code;
    int64_t limit, sequences, documents; /* documents: -1 without a document index */
    int64_t *groups;                     /* owned: first token of sequence GROUP * i; one more for the end */
    int64_t n_groups;
    int each; /* every sequence is a document */
} megatron;

static int64_t lengths_at(int64_t s)
{
    return HEAD + 4 * s;
}

static int64_t offsets_at(const megatron *m, int64_t s)
{
    return lengths_at(m->sequences) + 8 * s;
}

static int64_t documents_at(const megatron *m, int64_t d)
{
    return offsets_at(m, m->sequences) + 8 * d;
}

/* --- reading ------------------------------------------------------------------------------------------------------------------------ */

/* First entry of the document index that is >= s. */
static tt_status find_document(const megatron *m, int64_t s, int64_t *d, tt_error *err)
{
    int64_t lo = 0, hi = m->documents + 1, at;
    tt_status st = TT_OK;
    while (lo < hi) {
        const int64_t mid = lo + (hi - lo) / 2;
        TT_TRY(tt_token_bytes_read(&m->idx, documents_at(m, mid), &at, sizeof at, err));
        if (at < s)
            lo = mid + 1;
        else
            hi = mid;
    }
    *d = lo;
out:
    return st;
}

/* starts[i] = 1 where sequence s + i begins a document. */
static tt_status document_starts(const megatron *m, int64_t s, int64_t n, uint8_t *starts, tt_error *err)
{
    int64_t few[128], d;
    tt_status st = TT_OK;
    if (m->documents < 0 || m->each) {
        memset(starts, 1, (size_t)n);
        return TT_OK;
    }
    memset(starts, 0, (size_t)n);
    TT_TRY(find_document(m, s, &d, err));
    while (d < m->documents) {
        const int64_t part = m->documents - d < 128 ? m->documents - d : 128;
        TT_TRY(tt_token_bytes_read(&m->idx, documents_at(m, d), few, (size_t)part * 8, err));
        for (int64_t i = 0; i < part; i++) {
            if (few[i] >= s + n)
                return TT_OK;
            starts[few[i] - s] = 1;
        }
        d += part;
    }
out:
    return st;
}

typedef struct wanted {
    int64_t first, n;
    int32_t *out;
    uint8_t *begins;
} wanted;

/* What the sequences of group g, whose first token is `token`, have of the wanted tokens. */
static tt_status read_group(const megatron *m, int64_t g, int64_t token, const wanted *w, tt_error *err)
{
    int32_t lengths[GROUP];
    uint8_t starts[GROUP];
    int64_t offset;
    tt_status st;
    const int64_t s0 = g * GROUP, n = m->sequences - s0 < GROUP ? m->sequences - s0 : GROUP, end = w->first + w->n;
    const int width = tt_id_bytes(m->code);
    TT_TRY(tt_token_bytes_read(&m->idx, lengths_at(s0), lengths, (size_t)n * 4, err));
    if (w->begins)
        TT_TRY(document_starts(m, s0, n, starts, err));
    for (int64_t i = 0; i < n && token < end; token += lengths[i++]) {
        if (w->begins && starts[i] && token >= w->first)
            w->begins[token - w->first] = 1;
        const int64_t from = token > w->first ? token : w->first, to = token + lengths[i] < end ? token + lengths[i] : end;
        if (from >= to)
            continue;
        TT_TRY(tt_token_bytes_read(&m->idx, offsets_at(m, s0 + i), &offset, sizeof offset, err));
        TT_TRY(tt_token_ids_read(&m->bin, m->code, offset + (from - token) * width, from, to - from, m->limit, w->out + (from - w->first), err));
    }
out:
    return st;
}

static tt_status read_megatron(void *self, int64_t first, int64_t n, int32_t *out, uint8_t *begins, tt_error *err)
{
    const megatron *m = self;
    const wanted w = {first, n, out, begins};
    int64_t lo = 0, hi = m->n_groups;
    tt_status st = TT_OK;
    if (begins)
        memset(begins, 0, (size_t)n);
    while (hi - lo > 1) { /* the last group that begins before `first`: one that begins there may follow empty sequences */
        const int64_t mid = lo + (hi - lo) / 2;
        if (m->groups[mid] < first)
            lo = mid;
        else
            hi = mid;
    }
    for (int64_t g = lo; g < m->n_groups && m->groups[g] < first + n; g++)
        TT_TRY(read_group(m, g, m->groups[g], &w, err));
out:
    return st;
}

static void close_megatron(void *self)
{
    megatron *m = self;
    tt_token_bytes_close(&m->idx);
    tt_token_bytes_close(&m->bin);
    free(m->groups);
    free(m);
}

/* --- opening ------------------------------------------------------------------------------------------------------------------------- */

static tt_status read_head(megatron *m, tt_error *err)
{
    unsigned char head[HEAD];
    uint64_t version, entries;
    tt_status st;
    if (m->idx.bytes < HEAD)
        return tt_fail(err, TT_ERR_DATA, "%s ends inside its header of %d bytes (Megatron), after %lld; it is cut off: get it again", m->idx.path,
                       HEAD, (long long)m->idx.bytes);
    TT_TRY(tt_token_bytes_read(&m->idx, 0, head, sizeof head, err));
    memcpy(&version, head + 9, 8);
    if (version != 1)
        return tt_fail(err, TT_ERR_DATA, "%s has version %llu (Megatron), and titan knows version 1 only; write it again", m->idx.path,
                       (unsigned long long)version);
    m->code = (tt_id_code)head[17];
    if (head[17] > TT_ID_U16 || tt_id_bytes(m->code) == 0)
        return tt_fail(err, TT_ERR_DATA,
                       "%s says dtype code %d (Megatron), which is no kind of ids; get files with "
                       "one of 1 u8, 2 i8, 3 i16, 4 i32, 5 i64, "
                       "8 u16",
                       m->idx.path, head[17]);
    memcpy(&m->sequences, head + 18, 8);
    memcpy(&entries, head + 26, 8);
    const int64_t rest = m->idx.bytes - HEAD;
    if (m->sequences < 0 || m->sequences > rest / 12 || entries > (uint64_t)(rest - 12 * m->sequences) / 8)
        return tt_fail(err, TT_ERR_DATA, "%s says %lld sequences and %llu document entries (Megatron), which do not fit into its %lld bytes; it is "
                       "cut off or damaged: get it again", m->idx.path, (long long)m->sequences, (unsigned long long)entries,
                       (long long)m->idx.bytes);
    m->documents = (int64_t)entries - 1;
out:
    return st;
}

/* Check lengths and places of the sequences and count their tokens. */
static tt_status walk_sequences(megatron *m, int64_t *tokens, tt_error *err)
{
    int32_t lengths[GROUP];
    int64_t offsets[GROUP];
    tt_status st = TT_OK;
    const int width = tt_id_bytes(m->code);
    m->n_groups = (m->sequences + GROUP - 1) / GROUP;
    m->groups = malloc((size_t)(m->n_groups + 1) * sizeof *m->groups);
    if (!m->groups)
        return tt_fail(err, TT_ERR_NOMEM, "%s: no memory for its %lld sequences", m->idx.path, (long long)m->sequences);
    *tokens = 0;
    for (int64_t g = 0; g < m->n_groups; g++) {
        const int64_t s0 = g * GROUP, n = m->sequences - s0 < GROUP ? m->sequences - s0 : GROUP;
        m->groups[g] = *tokens;
        TT_TRY(tt_token_bytes_read(&m->idx, lengths_at(s0), lengths, (size_t)n * 4, err));
        TT_TRY(tt_token_bytes_read(&m->idx, offsets_at(m, s0), offsets, (size_t)n * 8, err));
        for (int64_t i = 0; i < n; i++) {
            if (lengths[i] < 0 || offsets[i] < 0 || offsets[i] > m->bin.bytes || lengths[i] > (m->bin.bytes - offsets[i]) / width)
                return tt_fail(err, TT_ERR_DATA, "%s: sequence %lld has %d tokens of %d bytes at byte %lld, which do not lie in the %lld bytes of "
                               "%s; the pair does not belong together, or one is cut off: get both again", m->idx.path, (long long)(s0 + i),
                               lengths[i], width, (long long)offsets[i], (long long)m->bin.bytes, m->bin.path);
            *tokens += lengths[i];
        }
    }
    m->groups[m->n_groups] = *tokens;
out:
    return st;
}

static tt_status walk_documents(megatron *m, tt_error *err)
{
    int64_t some[GROUP], before = 0;
    tt_status st = TT_OK;
    m->each = m->documents == m->sequences;
    for (int64_t d = 0; d <= m->documents; d += GROUP) {
        const int64_t n = m->documents + 1 - d < GROUP ? m->documents + 1 - d : GROUP;
        TT_TRY(tt_token_bytes_read(&m->idx, documents_at(m, d), some, (size_t)n * 8, err));
        for (int64_t i = 0; i < n; i++) {
            if (some[i] < before || some[i] > m->sequences || (d + i == 0 && some[i] != 0) || (d + i == m->documents && some[i] != m->sequences))
                return tt_fail(err, TT_ERR_DATA, "%s: entry %lld of the document index is %lld; entries should rise from 0 to %lld, the number of "
                               "sequences: the file is damaged, get it again", m->idx.path, (long long)(d + i), (long long)some[i],
                               (long long)m->sequences);
            m->each = m->each && some[i] == d + i;
            before = some[i];
        }
    }
out:
    return st;
}

tt_status tt_token_open_megatron(tt_token_file *f, tt_error *err)
{
    static const tt_token_reader reader = {read_megatron, close_megatron};
    tt_status st;
    megatron *m = calloc(1, sizeof *m);
    char *twin = tt_megatron_twin(f->path);
    if (!m)
        TT_TRY(tt_fail(err, TT_ERR_NOMEM, "no memory to open %s", f->path));
    f->reader = &reader;
    f->self = m;
    m->limit = f->limit;
    if (!twin)
        TT_TRY(tt_fail(err, TT_ERR_DATA, "%s is an index of Megatron, whose name should end with .idx, and the ids should be beside it in .bin; "
                       "rename it", f->path));
    const int idx = strcmp(f->path + strlen(f->path) - 4, ".idx") == 0;
    if (idx && !tt_fs_exists(twin))
        TT_TRY(tt_fail(err, TT_ERR_DATA, "%s is an index of Megatron, but %s, which has the ids, is missing; put it beside it", f->path, twin));
    TT_TRY(tt_token_bytes_open(idx ? f->path : twin, &m->idx, err));
    TT_TRY(tt_token_bytes_open(idx ? twin : f->path, &m->bin, err));
    TT_TRY(read_head(m, err));
    TT_TRY(walk_sequences(m, &f->tokens, err));
    TT_TRY(walk_documents(m, err));
    f->documents = m->documents;
    f->token_bytes = tt_id_bytes(m->code);
out:
    free(twin);
    return st;
}
