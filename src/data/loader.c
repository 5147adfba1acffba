/* See loader.h. */
#include "data/loader.h"

#include "base/rng.h"
#include "data/mix.h"
#include "data/shuffle.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

__extension__ typedef unsigned __int128 wide;

struct tt_loader {
    tt_source **source; /* owned */
    int n;
    tt_mix mix;
    int64_t row; /* seq_len + 1 tokens */
    int document_masking, shuffle;
    uint64_t key; /* of the order */
};

/* --- open ------------------------------------------------------------------------------------------------------------- */

/* What can only be known with the source open. */
static tt_status check_source(const tt_loader *l, const tt_loader_opts *o, int i, tt_error *err)
{
    const int64_t tokens = tt_source_tokens(l->source[i]);
    if (tokens >= 0 && l->row > tokens)
        return tt_fail(err, TT_ERR_DATA, "%s.seq_len=%lld: sequence too long for the data: a row needs %lld tokens, %s holds %lld; "
                       "use %s.seq_len <= %lld or more text", o->source.key, (long long)o->seq_len, (long long)l->row,
                       o->paths[i], (long long)tokens, o->source.key, (long long)tokens - 1);
    if (tokens < 0 && o->shuffle)
        return tt_fail(err, TT_ERR_CONFIG, "%s.dataloader.shuffle = true: %s is too much text to hold in memory, and text can only be "
                       "read onwards; write token shards of it with titan-tokenize shards and give those, or do not shuffle",
                       o->source.key, o->paths[i]);
    return TT_OK;
}

static tt_status open_sources(tt_loader *l, const tt_loader_opts *o, tt_error *err)
{
    tt_status st = TT_OK;
    double *equal = NULL;
    l->source = calloc((size_t)o->n_paths, sizeof *l->source);
    equal = calloc((size_t)o->n_paths, sizeof *equal);
    if (!l->source || !equal) {
        st = tt_fail(err, TT_ERR_NOMEM, "opening %d data sources: no memory", o->n_paths);
        goto out;
    }
    for (int i = 0; i < o->n_paths; i++)
        equal[i] = 1;
    TT_TRY(tt_mix_create(o->weights ? o->weights : equal, o->n_paths, &l->mix, err));
    for (; l->n < o->n_paths; l->n++)
        TT_TRY(tt_source_open(o->paths[l->n], &o->source, &l->source[l->n], err));
    for (int i = 0; i < l->n; i++)
        TT_TRY(check_source(l, o, i, err));
out:
    free(equal);
    return st;
}

tt_status tt_loader_open(const tt_loader_opts *opts, tt_loader **out, tt_error *err)
{
    tt_status st = TT_OK;
    *out = NULL;
    if (opts->seq_len < 1)
        return tt_fail(err, TT_ERR_CONFIG, "%s.seq_len=%lld must be at least 1; set the tokens of a row", opts->source.key,
                       (long long)opts->seq_len);
    TT_ASSERT(opts->n_paths >= 1);
    tt_loader *l = calloc(1, sizeof *l);
    if (!l)
        return tt_fail(err, TT_ERR_NOMEM, "opening the loader: no memory");
    l->row = opts->seq_len + 1;
    l->document_masking = opts->document_masking;
    l->shuffle = opts->shuffle;
    l->key = tt_rng_key((uint64_t)opts->seed, "data order");
    TT_TRY(open_sources(l, opts, err));
    *out = l;
    l = NULL;
out:
    tt_loader_close(&l);
    return st;
}

void tt_loader_close(tt_loader **loader)
{
    tt_loader *l = *loader;
    if (!l)
        return;
    for (int i = 0; i < l->n; i++)
        tt_source_close(&l->source[i]);
    free(l->source);
    tt_mix_destroy(&l->mix);
    free(l);
    *loader = NULL;
}

/* --- what there is ---------------------------------------------------------------------------------------------------- */

int tt_loader_n_sources(const tt_loader *l)
{
    return l->n;
}

const tt_source *tt_loader_source(const tt_loader *l, int i)
{
    return l->source[i];
}

int64_t tt_loader_tokens(const tt_loader *l)
{
    int64_t sum = 0;
    for (int i = 0; i < l->n; i++) {
        if (tt_source_tokens(l->source[i]) < 0)
            return -1;
        sum += tt_source_tokens(l->source[i]);
    }
    return sum;
}

int64_t tt_loader_samples_per_epoch(const tt_loader *l)
{
    return l->n > 1 || tt_source_tokens(l->source[0]) < 0 ? -1 : tt_source_tokens(l->source[0]) / l->row;
}

/* --- which row a sample is -------------------------------------------------------------------------------------------- */

/* First row that begins in pass `epoch` of a source of `total` tokens. */
static int64_t first_row(const tt_loader *l, int64_t total, int64_t epoch)
{
    return (int64_t)(((wide)(uint64_t)epoch * (uint64_t)total + (uint64_t)l->row - 1) / (uint64_t)l->row);
}

/* Sample -> source *i and that source's row, shuffled within its epoch. Products are taken in 128 bits. */
static int64_t row_of(const tt_loader *l, int64_t sample, int *i, int64_t *epoch)
{
    *i = l->n == 1 ? 0 : tt_mix_source(&l->mix, sample);
    int64_t row = l->n == 1 ? sample : tt_mix_count(&l->mix, *i, sample);
    const int64_t total = tt_source_tokens(l->source[*i]);
    *epoch = total < 0 ? -1 : (int64_t)((wide)(uint64_t)row * (uint64_t)l->row / (uint64_t)total);
    if (!l->shuffle)
        return row;
    const int64_t first = first_row(l, total, *epoch), n = first_row(l, total, *epoch + 1) - first;
    const uint64_t key = tt_mix64(l->key + tt_mix64((uint64_t)*epoch * 1000003 + (uint64_t)*i));
    return first + tt_shuffle_place(key, n, row - first);
}

int64_t tt_loader_epoch_of(const tt_loader *l, int64_t sample)
{
    int i;
    int64_t epoch;
    row_of(l, sample, &i, &epoch);
    return epoch;
}

/* Token at which a row begins, for the source's own way of counting: in one pass when it knows its length. */
static tt_status place_of_row(const tt_loader *l, int i, int64_t row, int64_t *at, tt_error *err)
{
    const int64_t total = tt_source_tokens(l->source[i]);
    const wide far = (wide)(uint64_t)row * (uint64_t)l->row;
    if (total < 0 && far > INT64_MAX / 2)
        return tt_fail(err, TT_ERR_DATA, "row %lld of a text stream is beyond 2^62 tokens; write token shards with titan-tokenize "
                       "shards and give those", (long long)row);
    *at = (int64_t)(total < 0 ? far : far % (uint64_t)total);
    return TT_OK;
}

/* --- rows ------------------------------------------------------------------------------------------------------------- */

/* Positions and document starts of a row with begins[seq_len + 1]; masks targets across documents. */
static void mark_documents(int64_t seq_len, const uint8_t *begins, int32_t *targets, int32_t *positions, int32_t *doc_start)
{
    int64_t start = 0;
    for (int64_t i = 0; i < seq_len; i++) {
        if (begins[i])
            start = i;
        if (begins[i + 1])
            targets[i] = TT_TARGET_NONE; /* the document's last token: the next is of another */
        if (positions)
            positions[i] = (int32_t)(i - start);
        if (doc_start)
            doc_start[i] = (int32_t)start;
    }
}

static tt_status get_row(const tt_loader *l, int64_t sample, int32_t *buffer, uint8_t *begins, int32_t *tokens,
                         int32_t *targets, int32_t *positions, int32_t *doc_start, tt_error *err)
{
    const int64_t seq_len = l->row - 1;
    int64_t at = 0, epoch;
    int i;
    tt_status st;
    const int64_t row = row_of(l, sample, &i, &epoch);
    TT_TRY(place_of_row(l, i, row, &at, err));
    TT_TRY(tt_source_read(l->source[i], at, l->row, buffer, l->document_masking ? begins : NULL, err));
    memcpy(tokens, buffer, (size_t)seq_len * sizeof *tokens);
    memcpy(targets, buffer + 1, (size_t)seq_len * sizeof *targets);
    if (l->document_masking) {
        mark_documents(seq_len, begins, targets, positions, doc_start);
        goto out;
    }
    for (int64_t k = 0; positions && k < seq_len; k++)
        positions[k] = (int32_t)k;
    if (doc_start)
        memset(doc_start, 0, (size_t)seq_len * sizeof *doc_start);
out:
    return st;
}

tt_status tt_loader_get(const tt_loader *l, int64_t first_sample, int n, int32_t *tokens, int32_t *targets,
                        int32_t *positions, int32_t *doc_start, tt_error *err)
{
    const int64_t seq_len = l->row - 1;
    tt_status st = TT_OK;
    if (first_sample < 0 || n < 0)
        return tt_fail(err, TT_ERR_INTERNAL, "the loader was asked for %d samples from %lld; both must be >= 0", n,
                       (long long)first_sample);
    int32_t *buffer = malloc((size_t)l->row * sizeof *buffer);
    uint8_t *begins = malloc((size_t)l->row);
    if (!buffer || !begins)
        st = tt_fail(err, TT_ERR_NOMEM, "reading rows of %lld tokens: no memory", (long long)l->row);
    for (int64_t r = 0; r < n && st == TT_OK; r++)
        st = get_row(l, first_sample + r, buffer, begins, tokens + r * seq_len, targets + r * seq_len,
                     positions ? positions + r * seq_len : NULL, doc_start ? doc_start + r * seq_len : NULL, err);
    free(buffer);
    free(begins);
    return st;
}

/* --- going on --------------------------------------------------------------------------------------------------------- */

/* Where source i will be read next when `sample` is the next sample. */
static tt_status next_place(const tt_loader *l, int i, int64_t sample, int64_t *at, tt_error *err)
{
    return place_of_row(l, i, l->n == 1 ? sample : tt_mix_count(&l->mix, i, sample), at, err);
}

/* One line for each source, empty when it needs none. */
char *tt_loader_bookmark(const tt_loader *l, int64_t sample)
{
    char *text = NULL;
    size_t size;
    int any = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return NULL;
    for (int i = 0; i < l->n; i++) {
        int64_t at;
        char *mark = next_place(l, i, sample, &at, NULL) == TT_OK ? tt_source_bookmark(l->source[i], at) : NULL;
        any |= mark != NULL;
        fprintf(out, "%s\n", mark ? mark : "");
        free(mark);
    }
    if (fclose(out) == 0 && any)
        return text;
    free(text);
    return NULL;
}

tt_status tt_loader_seek(const tt_loader *l, int64_t sample, const char *bookmark, tt_error *err)
{
    char *copy = bookmark ? strdup(bookmark) : NULL, *rest = copy;
    tt_status st = TT_OK;
    for (int i = 0; i < l->n && st == TT_OK; i++) {
        int64_t at;
        const char *mark = rest ? strsep(&rest, "\n") : NULL;
        st = next_place(l, i, sample, &at, err);
        if (st == TT_OK)
            st = tt_source_seek(l->source[i], at, mark && *mark ? mark : NULL, err);
    }
    free(copy);
    return st;
}
