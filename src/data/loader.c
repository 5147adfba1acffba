/* See loader.h. */
#include "data/loader.h"

#include <stdlib.h>

struct tt_loader {
    tt_dataset *data; /* owned */
    int64_t seq_len;
    int document_masking;
};

tt_status tt_loader_open(const tt_loader_opts *opts, tt_loader **out, tt_error *err)
{
    tt_status st = TT_OK;
    *out = NULL;
    if (opts->seq_len < 1)
        return tt_fail(err, TT_ERR_CONFIG, "training.seq_len=%lld must be at least 1", (long long)opts->seq_len);
    tt_loader *loader = calloc(1, sizeof *loader);
    if (!loader)
        return tt_fail(err, TT_ERR_NOMEM, "opening the loader: no memory");
    loader->seq_len = opts->seq_len;
    loader->document_masking = opts->document_masking;
    TT_TRY(tt_dataset_open(opts->path, opts->tokenizer, opts->vocab, &loader->data, err));
    if (opts->seq_len + 1 > tt_dataset_tokens(loader->data)) {
        st = tt_fail(err, TT_ERR_DATA, "training.seq_len=%lld: sequence too long for the data: a row needs %lld tokens, %s holds %lld; "
                     "use training.seq_len <= %lld or more text", (long long)opts->seq_len, (long long)opts->seq_len + 1,
                     opts->path, (long long)tt_dataset_tokens(loader->data),
                     (long long)tt_dataset_tokens(loader->data) - 1);
        goto out;
    }
    *out = loader;
    loader = NULL;
out:
    tt_loader_close(&loader);
    return st;
}

void tt_loader_close(tt_loader **loader)
{
    if (!*loader)
        return;
    tt_dataset_close(&(*loader)->data);
    free(*loader);
    *loader = NULL;
}

const tt_dataset *tt_loader_dataset(const tt_loader *loader)
{
    return loader->data;
}

int64_t tt_loader_samples_per_epoch(const tt_loader *loader)
{
    return tt_dataset_tokens(loader->data) / (loader->seq_len + 1);
}

/* First token of a sample inside its epoch; *epoch may be NULL. In two 64-bit steps, so that no product overflows. */
static int64_t place_of(const tt_loader *loader, int64_t sample, int64_t *epoch)
{
    __extension__ typedef unsigned __int128 wide;
    const int64_t total = tt_dataset_tokens(loader->data);
    wide at = (wide)(uint64_t)sample * (uint64_t)(loader->seq_len + 1);
    if (epoch)
        *epoch = (int64_t)(at / (uint64_t)total);
    return (int64_t)(at % (uint64_t)total);
}

int64_t tt_loader_epoch_of(const tt_loader *loader, int64_t sample)
{
    int64_t epoch;
    place_of(loader, sample, &epoch);
    return epoch;
}

/* Tokens and targets of the row that begins at `at`: two copies of a run that may wrap once. */
static void copy_wrapped(const tt_dataset *data, int64_t at, int64_t n, int32_t *out)
{
    const int64_t total = tt_dataset_tokens(data);
    at %= total;
    int64_t head = n < total - at ? n : total - at;
    tt_dataset_copy(data, at, head, out);
    tt_dataset_copy(data, 0, n - head, out + head);
}

/* Positions and document starts of a row that begins at token `at`; masks targets across documents. */
static void mark_documents(const tt_loader *loader, int64_t at, int32_t *targets, int32_t *positions,
                           int32_t *doc_start)
{
    const int64_t total = tt_dataset_tokens(loader->data), n = loader->seq_len;
    int64_t d = tt_dataset_document_of(loader->data, at);
    for (int64_t i = 0; i < n;) {
        int64_t left = tt_dataset_document_start(loader->data, d + 1) - at, end = n - i < left ? n : i + left;
        if (i + left <= n)
            targets[i + left - 1] = TT_TARGET_NONE; /* the document's last token: the next is of another */
        for (int64_t j = i; j < end; j++) {
            if (positions)
                positions[j] = (int32_t)(j - i);
            if (doc_start)
                doc_start[j] = (int32_t)i;
        }
        at += end - i;
        i = end;
        d++;
        if (at == total) {
            at = 0;
            d = 0;
        }
    }
}

tt_status tt_loader_get(const tt_loader *loader, int64_t first_sample, int n, int32_t *tokens, int32_t *targets,
                        int32_t *positions, int32_t *doc_start, tt_error *err)
{
    const int64_t seq_len = loader->seq_len;
    if (first_sample < 0 || n < 0)
        return tt_fail(err, TT_ERR_INTERNAL, "the loader was asked for %d samples from %lld; both must be >= 0", n,
                       (long long)first_sample);
    for (int64_t row = 0; row < n; row++) {
        int64_t at = place_of(loader, first_sample + row, NULL), o = row * seq_len;
        copy_wrapped(loader->data, at, seq_len, tokens + o);
        copy_wrapped(loader->data, at + 1, seq_len, targets + o);
        if (loader->document_masking) {
            mark_documents(loader, at, targets + o, positions ? positions + o : NULL, doc_start ? doc_start + o : NULL);
            continue;
        }
        for (int64_t i = 0; i < seq_len; i++) {
            if (positions)
                positions[o + i] = (int32_t)i;
            if (doc_start)
                doc_start[o + i] = 0;
        }
    }
    return TT_OK;
}
