/* See hf_export.h. Plan which tensor goes to which file, write the files one after the other, then the index. */
#include "convert/hf_export.h"
#include "convert/json_file.h"
#include "convert/names.h"
#include "convert/safetensors.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define SINGLE_FILE "model.safetensors"
#define INDEX_FILE "model.safetensors.index.json"

typedef struct export {
    const tt_hf_export_opts *opts;
    const tt_hf_config *config;
    tt_hf_source source;
    void *context;
    int n, n_files;
    tt_llama_param *params; /* n */
    int *file_of;           /* file of each parameter, not falling */
    int64_t total_bytes;
    float *block;           /* rows of a parameter, fp32 */
    void *out;              /* the same in file order and type */
} export;

static int64_t elements(const tt_llama_param *p)
{
    return p->shape[0] * p->shape[1];
}

/* Rows handled at a time: whole heads where rows are reordered. */
static int64_t block_rows(const export *e, const tt_llama_param *p)
{
    const int64_t room = e->opts->block_bytes > 0 ? e->opts->block_bytes : 16 << 20;
    int64_t rows = room / (p->shape[1] * 4), unit = p->rotary ? e->config->head_dim : 1;
    rows = rows / unit * unit;
    return rows < unit ? unit : rows;
}

static tt_status plan(export *e, tt_error *err)
{
    const int64_t limit = e->opts->shard_bytes > 0 ? e->opts->shard_bytes : 5000000000;
    int64_t in_file = 0, most = 0;
    e->n = tt_llama_n_params(e->config);
    e->params = calloc((size_t)e->n, sizeof *e->params);
    e->file_of = calloc((size_t)e->n, sizeof *e->file_of);
    if (!e->params || !e->file_of)
        return tt_fail(err, TT_ERR_NOMEM, "exporting %d tensors: no memory for their list", e->n);
    for (int i = 0; i < e->n; i++) {
        e->params[i] = tt_llama_param_at(e->config, i);
        int64_t bytes = elements(&e->params[i]) * (int64_t)tt_dtype_size(e->opts->dtype);
        if (in_file > 0 && in_file + bytes > limit) {
            e->n_files++;
            in_file = 0;
        }
        e->file_of[i] = e->n_files;
        in_file += bytes;
        e->total_bytes += bytes;
        int64_t rows = block_rows(e, &e->params[i]) * e->params[i].shape[1];
        most = rows > most ? rows : most;
    }
    e->n_files++;
    e->block = malloc((size_t)most * 4);
    e->out = malloc((size_t)most * 4);
    return e->block && e->out ? TT_OK : tt_fail(err, TT_ERR_NOMEM, "exporting: no memory for %lld rows at a time", (long long)most);
}

static void file_name(const export *e, int file, char name[64])
{
    if (e->n_files == 1)
        snprintf(name, 64, SINGLE_FILE);
    else
        snprintf(name, 64, "model-%05d-of-%05d.safetensors", file + 1, e->n_files);
}

static void path_of(const export *e, const char *name, char path[PATH_MAX])
{
    snprintf(path, PATH_MAX, "%.3900s/%.100s", e->opts->dir, name);
}

/* block (titan's rows) -> out (file order, file type). The rows are whole heads when they are reordered. */
static void arrange(const export *e, const tt_llama_param *p, int64_t rows)
{
    const int64_t columns = p->shape[1];
    for (int64_t r = 0; r < rows; r++) {
        const float *from = e->block + (p->rotary ? tt_rotary_row_from_hf(r, e->config->head_dim) : r) * columns;
        if (e->opts->dtype == TT_F32)
            memcpy((float *)e->out + r * columns, from, (size_t)columns * 4);
        else
            for (int64_t i = 0; i < columns; i++)
                ((tt_bf16 *)e->out)[r * columns + i] = tt_f32_to_bf16(from[i]);
    }
}

static tt_status write_param(const export *e, const tt_llama_param *p, tt_safetensors_writer *writer, int index,
                             tt_error *err)
{
    tt_status st = TT_OK;
    const int64_t step = block_rows(e, p), size = (int64_t)tt_dtype_size(e->opts->dtype) * p->shape[1];
    for (int64_t at = 0; at < p->shape[0]; at += step) {
        int64_t rows = p->shape[0] - at < step ? p->shape[0] - at : step;
        tt_box box = {.ndim = p->ndim, .start = {at, 0}, .count = {rows, p->shape[1]}};
        TT_TRY(e->source(e->context, p->fqn, &box, e->block, err));
        arrange(e, p, rows);
        TT_TRY(tt_safetensors_put(writer, index, at * size, e->out, rows * size, err));
    }
out:
    return st;
}

static tt_status write_file(const export *e, int file, tt_error *err)
{
    tt_status st = TT_OK;
    tt_safetensors_writer *writer = NULL;
    char name[64], path[PATH_MAX];
    int first = 0, n = 0;
    while (e->file_of[first] != file)
        first++;
    while (first + n < e->n && e->file_of[first + n] == file)
        n++;
    tt_safetensors_spec *specs = calloc((size_t)n, sizeof *specs);
    if (!specs)
        return tt_fail(err, TT_ERR_NOMEM, "exporting: no memory for %d names", n);
    for (int i = 0; i < n; i++) {
        const tt_llama_param *p = &e->params[first + i];
        specs[i] = (tt_safetensors_spec){p->name, e->opts->dtype == TT_F32 ? "F32" : "BF16", p->ndim, p->shape};
    }
    file_name(e, file, name);
    path_of(e, name, path);
    TT_TRY(tt_safetensors_create(path, specs, n, &writer, err));
    for (int i = 0; i < n; i++)
        TT_TRY(write_param(e, &e->params[first + i], writer, i, err));
    TT_TRY(tt_safetensors_finish(&writer, err));
out:
    tt_safetensors_abandon(&writer);
    free(specs);
    return st;
}

static tt_status write_index(const export *e, tt_error *err)
{
    char name[64], path[PATH_MAX];
    json_t *map = json_object();
    int bad = !map;
    for (int i = 0; !bad && i < e->n; i++) {
        file_name(e, e->file_of[i], name);
        bad |= json_object_set_new(map, e->params[i].name, json_string(name));
    }
    json_t *doc = bad ? NULL : json_pack("{s:{s:I},s:O}", "metadata", "total_size", (json_int_t)e->total_bytes, "weight_map", map);
    json_decref(map);
    path_of(e, INDEX_FILE, path);
    return tt_json_write_take(path, doc, err);
}

/* A stale index or single file beside new shards would be read instead of them. */
static tt_status check_folder(const export *e, tt_error *err)
{
    static const char *const names[] = {SINGLE_FILE, INDEX_FILE};
    char path[PATH_MAX];
    if (strlen(e->opts->dir) > 3900)
        return tt_fail(
            err, TT_ERR_USAGE,
            "exporting to %.100s…: the path is longer than 3900 characters; use a shorter one",
            e->opts->dir);
    for (int i = 0; i < 2; i++) {
        path_of(e, names[i], path);
        if (access(path, F_OK) == 0)
            return tt_fail(err, TT_ERR_USAGE, "exporting to %s: it already holds %s; give an empty folder", e->opts->dir,
                           names[i]);
    }
    return TT_OK;
}

tt_status tt_llama_export(const tt_hf_export_opts *opts, const tt_hf_config *config, tt_hf_source source, void *context,
                          tt_error *err)
{
    tt_status st = TT_OK;
    char path[PATH_MAX], name[64];
    int done = 0;
    export e = {.opts = opts, .config = config, .source = source, .context = context};
    tt_hf_config described = *config;
    if (opts->dtype != TT_F32 && opts->dtype != TT_BF16)
        return tt_fail(
            err, TT_ERR_DTYPE,
            "exporting to %s as %s: weights are written as float32 or bfloat16; use one of these",
            opts->dir, tt_dtype_name(opts->dtype));
    TT_TRY(check_folder(&e, err));
    TT_TRY(plan(&e, err));
    snprintf(described.dtype, sizeof described.dtype, "%s", tt_dtype_name(opts->dtype));
    path_of(&e, "config.json", path);
    TT_TRY(tt_hf_config_write(path, &described, err));
    for (; done < e.n_files; done++)
        TT_TRY(write_file(&e, done, err));
    if (e.n_files > 1)
        TT_TRY(write_index(&e, err));
out:
    for (int i = 0; st != TT_OK && i < done; i++) {
        file_name(&e, i, name);
        path_of(&e, name, path);
        unlink(path);
    }
    free(e.params);
    free(e.file_of);
    free(e.block);
    free(e.out);
    return st;
}
