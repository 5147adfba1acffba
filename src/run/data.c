/* See data.h. */
#include "run/data.h"

#include "base/closest.h"
#include "base/log.h"
#include "data/dataset_names.h"
#include "run/job.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* An empty text is as good as none. */
static const char *given(const char *text)
{
    return text && *text ? text : NULL;
}

/* "WEIGHT PATH" -> both. */
static tt_status split_share(const char *text, double *weight, const char **path, tt_error *err)
{
    char *end;
    *weight = strtod(text, &end);
    *path = end + strspn(end, " \t");
    if (end == text || *path == end || !**path)
        return tt_fail(err, TT_ERR_CONFIG, "training.dataset_mixture: \"%s\" is not a weight and a path; write for example "
                       "\"0.7 data/web/*.jsonl.gz\"", text);
    return TT_OK;
}

static tt_source_opts source_opts(const tt_config *c, const tt_tokenizer *tokenizer, int64_t vocab, const char *key)
{
    return (tt_source_opts){.tokenizer = tokenizer,
                            .vocab = vocab,
                            .key = key,
                            .field = c->training.dataset_field,
                            .memory_bytes = c->training.dataset_in_memory_mib ? c->training.dataset_in_memory_mib << 20 : 1,
                            .repair_utf8 = c->training.dataset_repair_utf8};
}

static tt_status open_mixture(const tt_config *c, tt_loader_opts *o, tt_loader **loader, tt_error *err)
{
    const tt_strings *list = &c->training.dataset_mixture;
    double *weights = calloc((size_t)list->n, sizeof *weights);
    const char **paths = calloc((size_t)list->n, sizeof *paths);
    tt_status st = TT_OK;
    TT_ASSERT(weights && paths);
    if (given(c->training.dataset_path))
        TT_TRY(tt_fail(err, TT_ERR_CONFIG, "training.dataset_path (%s) and training.dataset_mixture (%s) are both set; keep one of them",
                       tt_config_origin(c, "training.dataset_path"), tt_config_origin(c, "training.dataset_mixture")));
    for (int i = 0; i < list->n; i++)
        TT_TRY(split_share(list->items[i], &weights[i], &paths[i], err));
    o->paths = paths;
    o->weights = weights;
    o->n_paths = list->n;
    TT_TRY(tt_loader_open(o, loader, err));
out:
    free(weights);
    free(paths);
    return st;
}

static tt_status open_single(const char *name, const char *path, tt_loader_opts *o, tt_loader **loader, tt_error *err)
{
    char *found = NULL;
    tt_status st;
    TT_TRY(tt_dataset_find(o->source.key, name, path, &found, err));
    o->paths = (const char *const *)&found;
    o->n_paths = 1;
    TT_TRY(tt_loader_open(o, loader, err));
out:
    free(found);
    return tt_closest_hint(err, st, path);
}

tt_status tt_job_data_open(const tt_config *c, int64_t vocab, tt_job_data *data, tt_error *err)
{
    const char *name = tt_job_tokenizer(c, NULL);
    tt_status st;
    TT_TRY(tt_tokenizer_open(name, &data->tokenizer, err));
    tt_loader_opts o = {.source = source_opts(c, data->tokenizer, vocab, "training"),
                        .seq_len = c->training.seq_len,
                        .document_masking = !strcmp(c->training.packing, "document"),
                        .shuffle = c->training.dataloader.shuffle,
                        .seed = c->training.dataloader.seed};
    if (c->training.dataset_mixture.n > 0)
        TT_TRY(open_mixture(c, &o, &data->train, err));
    else
        TT_TRY(open_single(c->training.dataset, given(c->training.dataset_path), &o, &data->train, err));
    if (c->validation.enable) {
        tt_loader_opts v = {.source = source_opts(c, data->tokenizer, vocab, "validation"),
                            .seq_len = c->validation.seq_len,
                            .document_masking = o.document_masking};
        TT_TRY(open_single(c->validation.dataset, given(c->validation.dataset_path), &v, &data->validation, err));
        if (c->validation.steps < 0 && tt_loader_samples_per_epoch(data->validation) < 0)
            st = tt_fail(err, TT_ERR_CONFIG, "validation.steps = -1 (the whole set), but how long the text of %s is, is only known after "
                         "reading it; set validation.steps, or write token shards of it with titan-tokenize shards",
                         c->validation.dataset_path ? c->validation.dataset_path : c->validation.dataset);
    }
out:
    return st;
}

void tt_job_data_close(tt_job_data *data)
{
    tt_loader_close(&data->train);
    tt_loader_close(&data->validation);
    tt_tokenizer_close(&data->tokenizer);
}

tt_status tt_job_data_identity(const tt_config *c, const tt_job_data *data, char tokenizer[33], char **text, tt_error *err)
{
    unsigned char identity[16];
    size_t size;
    const tt_status st = tt_tokenizer_identity(data->tokenizer, identity, err);
    *text = NULL;
    if (st != TT_OK)
        return st;
    for (int i = 0; i < 16; i++)
        sprintf(tokenizer + 2 * i, "%02x", identity[i]);
    if (tt_loader_tokens(data->train) < 0)
        return TT_OK;
    FILE *out = open_memstream(text, &size);
    TT_ASSERT(out);
    fprintf(out, "rows of %lld + 1 tokens, packing %s, ", (long long)c->training.seq_len, c->training.packing);
    if (c->training.dataloader.shuffle)
        fprintf(out, "shuffled with seed %lld, ", (long long)c->training.dataloader.seed);
    for (int i = 0; i < tt_loader_n_sources(data->train); i++) {
        const int mixed = c->training.dataset_mixture.n > 0;
        fprintf(out, "%s%.*s%s%lld tokens", i ? " and " : "", mixed ? (int)strcspn(c->training.dataset_mixture.items[i], " \t") : 0,
                mixed ? c->training.dataset_mixture.items[i] : "", mixed ? " of " : "",
                (long long)tt_source_tokens(tt_loader_source(data->train, i)));
    }
    fclose(out);
    return TT_OK;
}

void tt_job_data_log(const tt_config *c, const tt_job_data *data, int64_t rows)
{
    const tt_loader *l = data->train;
    const int n = tt_loader_n_sources(l);
    for (int i = 0; i < n && i < 20; i++)
        tt_log_root(INFO, "data%s%s: %s", n > 1 ? " " : "", n > 1 ? c->training.dataset_mixture.items[i] : "",
                    tt_source_describe(tt_loader_source(l, i)));
    if (n > 20)
        tt_log_root(INFO, "data: %d more sources", n - 20);
    const int64_t epoch = tt_loader_samples_per_epoch(l);
    if (epoch >= 0)
        tt_log_root(INFO, "data: %lld rows of %lld + 1 tokens an epoch, %.6g steps%s; what is left of an epoch opens the next one's first row",
                    (long long)epoch, (long long)c->training.seq_len, (double)epoch / (double)rows,
                    c->training.dataloader.shuffle ? ", shuffled" : "");
    if (epoch >= 0 && epoch < rows)
        tt_log_root(WARN, "too little data for one batch: a step takes %lld rows, the data has %lld, so each step sees the same text more "
                    "than once; use more text, or a smaller training.global_batch_size or training.seq_len", (long long)rows,
                    (long long)epoch);
    if (data->validation)
        tt_log_root(INFO, "validation data: %s", tt_source_describe(tt_loader_source(data->validation, 0)));
}
