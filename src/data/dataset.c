/* See dataset.h. */
#include "data/dataset.h"

#include <errno.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct tt_dataset {
    size_t width; /* bytes of a stored token: 2 or 4 */
    void *store;
    int64_t n, capacity;
    int64_t *starts; /* documents + 1 */
    int64_t documents, empty_files;
};

static tt_status grow(tt_dataset *d, int64_t more, tt_error *err)
{
    if (d->n + more > d->capacity) {
        int64_t capacity = d->capacity * 2 > d->n + more ? d->capacity * 2 : d->n + more;
        void *store = realloc(d->store, (size_t)capacity * d->width);
        if (!store)
            return tt_fail(err, TT_ERR_NOMEM, "the data set needs more than %lld MiB of host memory; use fewer files",
                           (long long)(capacity * (int64_t)d->width >> 20));
        d->store = store;
        d->capacity = capacity;
    }
    return TT_OK;
}

static void append(tt_dataset *d, int32_t id)
{
    if (d->width == 2)
        ((uint16_t *)d->store)[d->n++] = (uint16_t)id;
    else
        ((int32_t *)d->store)[d->n++] = id;
}

static tt_status read_file(const char *path, char **text, size_t *bytes, tt_error *err)
{
    tt_status st = TT_OK;
    struct stat info;
    FILE *in = fopen(path, "rb");
    *text = NULL;
    if (!in || fstat(fileno(in), &info) != 0) {
        st = tt_fail(err, TT_ERR_IO, "opening the text file %s: %s", path, strerror(errno));
        goto out;
    }
    if (!S_ISREG(info.st_mode)) {
        st = tt_fail(err, TT_ERR_DATA, "%s is not a file; training.dataset_path must match text files only", path);
        goto out;
    }
    *text = malloc((size_t)info.st_size + 1);
    if (!*text) {
        st = tt_fail(err, TT_ERR_NOMEM, "no memory for %s of %lld bytes; split the file", path, (long long)info.st_size);
        goto out;
    }
    *bytes = fread(*text, 1, (size_t)info.st_size, in);
    if (*bytes != (size_t)info.st_size)
        st = tt_fail(err, TT_ERR_IO, "reading %s: %zu of %lld bytes came; it changes while it is read, or the disk fails", path,
                     *bytes, (long long)info.st_size);
out:
    if (in)
        fclose(in);
    return st;
}

static tt_status check_ids(const char *path, const int32_t *ids, size_t n, int64_t limit, tt_error *err)
{
    for (size_t i = 0; i < n; i++)
        if (ids[i] < 0 || ids[i] >= limit)
            return tt_fail(err, TT_ERR_DATA, "%s: token %zu has id %d, but the model's vocabulary has %lld rows; use the model's "
                           "own tokenizer or a larger vocabulary", path, i, ids[i], (long long)limit);
    return TT_OK;
}

static tt_status add_document(tt_dataset *d, const char *path, const tt_tokenizer *tokenizer, int64_t limit,
                              tt_error *err)
{
    tt_status st = TT_OK;
    char *text = NULL;
    size_t bytes = 0, n = 0;
    int32_t *ids = NULL;
    const int32_t bos = tt_tokenizer_bos(tokenizer), eos = tt_tokenizer_eos(tokenizer);
    TT_TRY(read_file(path, &text, &bytes, err));
    TT_TRY(tt_tokenizer_encode(tokenizer, text, bytes, &ids, &n, err));
    if (n == 0) {
        d->empty_files++;
        goto out;
    }
    TT_TRY(check_ids(path, ids, n, limit, err));
    TT_TRY(grow(d, (int64_t)n + 2, err));
    if (bos >= 0)
        append(d, bos);
    for (size_t i = 0; i < n; i++)
        append(d, ids[i]);
    if (eos >= 0)
        append(d, eos);
    d->starts[++d->documents] = d->n;
out:
    free(text);
    free(ids);
    return st;
}

static int compare_paths(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The files that `path` (no plain file) names, in byte order whatever the locale. */
static tt_status find_files(const char *path, int folder, glob_t *found, tt_error *err)
{
    char pattern[PATH_MAX];
    if (snprintf(pattern, sizeof pattern, "%s%s", path, folder ? "/*.txt" : "") >= (int)sizeof pattern)
        return tt_fail(err, TT_ERR_DATA, "training.dataset_path=%.100s… is longer than %d characters", path, PATH_MAX - 7);
    int code = glob(pattern, GLOB_NOSORT, NULL, found);
    if (code == GLOB_NOSPACE)
        return tt_fail(err, TT_ERR_NOMEM, "listing %s: no memory", pattern);
    if (code == GLOB_ABORTED)
        return tt_fail(err, TT_ERR_IO, "listing %s: a folder cannot be read (%s)", pattern, strerror(errno));
    if (code != 0)
        return tt_fail(err, TT_ERR_DATA, "training.dataset_path=%s: no file matches %s; put text files (one document each) "
                       "there, or give a file, a folder of .txt files or a pattern such as data/*.txt", path, pattern);
    qsort(found->gl_pathv, found->gl_pathc, sizeof found->gl_pathv[0], compare_paths);
    return TT_OK;
}

static tt_status add_documents(tt_dataset *d, const char *const *paths, size_t n, const tt_tokenizer *tokenizer,
                               int64_t limit, tt_error *err)
{
    tt_status st = TT_OK;
    d->starts = calloc(n + 1, sizeof *d->starts);
    if (!d->starts)
        return tt_fail(err, TT_ERR_NOMEM, "opening a data set of %zu files: no memory", n);
    for (size_t i = 0; i < n; i++)
        TT_TRY(add_document(d, paths[i], tokenizer, limit, err));
    if (d->documents == 0)
        st = tt_fail(err, TT_ERR_DATA, "training.dataset_path: all files found are empty (%zu, the first is %s); put text into "
                     "them", n, paths[0]);
out:
    return st;
}

tt_status tt_dataset_open(const char *path, const tt_tokenizer *tokenizer, int64_t vocab, tt_dataset **out, tt_error *err)
{
    tt_status st = TT_OK;
    glob_t found = {0};
    struct stat info;
    const int64_t ids = tt_tokenizer_vocab(tokenizer);
    tt_dataset *d = calloc(1, sizeof *d);
    *out = NULL;
    if (!d)
        return tt_fail(err, TT_ERR_NOMEM, "opening the data set %s: no memory", path);
    d->width = ids <= 65536 ? 2 : 4;
    if (vocab > 0 && (tt_tokenizer_bos(tokenizer) >= vocab || tt_tokenizer_eos(tokenizer) >= vocab)) {
        st = tt_fail(err, TT_ERR_DATA, "the tokenizer \"%s\" marks documents with the ids %d and %d, but the model's vocabulary has "
                     "%lld rows; use a vocabulary of at least %lld", tt_tokenizer_name(tokenizer),
                     tt_tokenizer_bos(tokenizer), tt_tokenizer_eos(tokenizer), (long long)vocab, (long long)ids);
        goto out;
    }
    if (stat(path, &info) == 0 && !S_ISDIR(info.st_mode)) { /* a name that exists is no pattern */
        TT_TRY(add_documents(d, &path, 1, tokenizer, vocab > 0 ? vocab : ids, err));
    } else {
        TT_TRY(find_files(path, stat(path, &info) == 0, &found, err));
        TT_TRY(add_documents(d, (const char *const *)found.gl_pathv, found.gl_pathc, tokenizer, vocab > 0 ? vocab : ids,
                             err));
    }
    *out = d;
    d = NULL;
out:
    globfree(&found);
    tt_dataset_close(&d);
    return st;
}

void tt_dataset_close(tt_dataset **dataset)
{
    if (!*dataset)
        return;
    free((*dataset)->store);
    free((*dataset)->starts);
    free(*dataset);
    *dataset = NULL;
}

int64_t tt_dataset_tokens(const tt_dataset *dataset)
{
    return dataset->n;
}

int64_t tt_dataset_documents(const tt_dataset *dataset)
{
    return dataset->documents;
}

int64_t tt_dataset_empty_files(const tt_dataset *dataset)
{
    return dataset->empty_files;
}

void tt_dataset_copy(const tt_dataset *dataset, int64_t first, int64_t n, int32_t *out)
{
    TT_ASSERT(first >= 0 && n >= 0 && first + n <= dataset->n);
    if (dataset->width == 2)
        for (int64_t i = 0; i < n; i++)
            out[i] = ((const uint16_t *)dataset->store)[first + i];
    else
        memcpy(out, (const int32_t *)dataset->store + first, (size_t)n * sizeof *out);
}

int64_t tt_dataset_document_of(const tt_dataset *dataset, int64_t at)
{
    int64_t lo = 0, hi = dataset->documents; /* starts[lo] <= at < starts[hi] */
    while (hi - lo > 1) {
        int64_t mid = lo + (hi - lo) / 2;
        if (dataset->starts[mid] <= at)
            lo = mid;
        else
            hi = mid;
    }
    return lo;
}

int64_t tt_dataset_document_start(const tt_dataset *dataset, int64_t d)
{
    return dataset->starts[d];
}
