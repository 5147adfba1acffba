/* See hf_folder.h. */
#include "convert/hf_folder.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct tt_hf_folder {
    char *dir;
    int n_files;
    tt_safetensors **files; /* owned */
};

static int join(char *out, size_t size, const char *dir, const char *name)
{
    int n = snprintf(out, size, "%s/%s", dir, name);
    return n < 0 || (size_t)n >= size ? -1 : 0;
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* The opened file of that name, or NULL. */
static tt_safetensors *opened(const tt_hf_folder *f, const char *name)
{
    for (int i = 0; i < f->n_files; i++)
        if (strcmp(base_name(tt_safetensors_path(f->files[i])), name) == 0)
            return f->files[i];
    return NULL;
}

static tt_status add_file(tt_hf_folder *f, const char *name, tt_error *err)
{
    char path[4096];
    tt_safetensors **grown = realloc(f->files, ((size_t)f->n_files + 1) * sizeof *grown);
    if (!grown)
        return tt_fail(err, TT_ERR_NOMEM, "opening %s: out of memory", f->dir);
    f->files = grown;
    if (join(path, sizeof path, f->dir, name) != 0)
        return tt_fail(err, TT_ERR_IO,
                       "opening %s/%s: the path is longer than %zu bytes; use a shorter one",
                       f->dir, name, sizeof path);
    tt_status st = tt_safetensors_open(path, &f->files[f->n_files], err);
    if (st == TT_OK)
        f->n_files++;
    return st;
}

/* Open every shard that the map names; the first tensor mapped to a missing one is in the message. */
static tt_status open_shards(tt_hf_folder *f, json_t *map, tt_error *err)
{
    const char *name;
    json_t *value;
    json_object_foreach(map, name, value) {
        const char *shard = json_string_value(value);
        if (!shard || !*shard || strchr(shard, '/') || strcmp(shard, "..") == 0)
            return tt_fail(err, TT_ERR_DATA, "model.safetensors.index.json maps tensor %s to \"%.200s\"; a file name in this folder is needed",
                           name, shard ? shard : "(not a text)");
        if (opened(f, shard))
            continue;
        tt_status st = add_file(f, shard, err);
        if (st != TT_OK)
            return tt_fail_context(err, TT_ERR_DATA, "tensor %s is mapped to shard %s, which cannot be used", name, shard);
    }
    return TT_OK;
}

static tt_status check_index(const tt_hf_folder *f, json_t *map, tt_error *err)
{
    const char *name;
    json_t *value;
    json_object_foreach(map, name, value) {
        const char *shard = json_string_value(value);
        if (!tt_safetensors_find(opened(f, shard), name))
            return tt_fail(err, TT_ERR_DATA, "the index maps tensor %s to %s, whose header does not hold it; fetch both again or correct the index",
                           name, shard);
    }
    for (int i = 0; i < f->n_files; i++) {
        const char *shard = base_name(tt_safetensors_path(f->files[i]));
        for (int k = 0; k < tt_safetensors_count(f->files[i]); k++) {
            name = tt_safetensors_at(f->files[i], k)->name;
            const char *mapped = json_string_value(json_object_get(map, name));
            if (!mapped || strcmp(mapped, shard) != 0)
                return tt_fail(err, TT_ERR_DATA, "%s holds tensor %s, which the index %s%s; fetch both again or correct the index",
                               shard, name, mapped ? "maps to " : "does not list", mapped ? mapped : "");
        }
    }
    return TT_OK;
}

static tt_status open_by_index(tt_hf_folder *f, const char *path, tt_error *err)
{
    json_error_t je;
    tt_status st = TT_OK;
    json_t *root = json_load_file(path, JSON_REJECT_DUPLICATES, &je);
    if (!root)
        return tt_fail(err, TT_ERR_DATA, "%s is not valid JSON: %s (line %d); fetch it again", path, je.text, je.line);
    json_t *map = json_object_get(root, "weight_map");
    if (!json_is_object(map) || json_object_size(map) == 0) {
        st = tt_fail(err, TT_ERR_DATA, "%s has no \"weight_map\" with tensors in it; fetch it again", path);
        goto out;
    }
    TT_TRY(open_shards(f, map, err));
    TT_TRY(check_index(f, map, err));
out:
    json_decref(root);
    return st;
}

tt_status tt_hf_folder_open(const char *dir, tt_hf_folder **folder, tt_error *err)
{
    char path[4096];
    tt_status st = TT_OK;
    *folder = NULL;
    tt_hf_folder *f = calloc(1, sizeof *f);
    if (!f || !(f->dir = strdup(dir))) {
        free(f);
        return tt_fail(err, TT_ERR_NOMEM, "opening %s: out of memory", dir);
    }
    if (join(path, sizeof path, dir, "model.safetensors") == 0 && access(path, F_OK) == 0)
        st = add_file(f, "model.safetensors", err);
    else if (join(path, sizeof path, dir, "model.safetensors.index.json") == 0 && access(path, F_OK) == 0)
        st = open_by_index(f, path, err);
    else
        st = tt_fail(err, TT_ERR_DATA, "there is neither model.safetensors nor model.safetensors.index.json in it; give the folder of a model in safetensors form");
    if (st != TT_OK) {
        tt_fail_context(err, st, "opening model folder %s", dir);
        tt_hf_folder_close(&f);
    }
    *folder = f;
    return st;
}

void tt_hf_folder_close(tt_hf_folder **folder)
{
    tt_hf_folder *f = *folder;
    if (!f)
        return;
    for (int i = 0; i < f->n_files; i++)
        tt_safetensors_close(&f->files[i]);
    free(f->files);
    free(f->dir);
    free(f);
    *folder = NULL;
}

const char *tt_hf_folder_path(const tt_hf_folder *folder) { return folder->dir; }

int tt_hf_folder_count(const tt_hf_folder *folder)
{
    int n = 0;
    for (int i = 0; i < folder->n_files; i++)
        n += tt_safetensors_count(folder->files[i]);
    return n;
}

const tt_safetensors_entry *tt_hf_folder_at(const tt_hf_folder *folder, int i, const tt_safetensors **file)
{
    int k = 0;
    while (i >= tt_safetensors_count(folder->files[k]))
        i -= tt_safetensors_count(folder->files[k++]);
    if (file)
        *file = folder->files[k];
    return tt_safetensors_at(folder->files[k], i);
}

const tt_safetensors_entry *tt_hf_folder_find(const tt_hf_folder *folder, const char *name, const tt_safetensors **file)
{
    for (int i = 0; i < folder->n_files; i++) {
        const tt_safetensors_entry *e = tt_safetensors_find(folder->files[i], name);
        if (e) {
            if (file)
                *file = folder->files[i];
            return e;
        }
    }
    return NULL;
}

tt_status tt_hf_folder_read_box(const tt_hf_folder *folder, const char *name, const tt_box *box, float *dst,
                                const int64_t *pitch, tt_error *err)
{
    const tt_safetensors *file = NULL;
    if (!tt_hf_folder_find(folder, name, &file))
        return tt_fail(err, TT_ERR_DATA, "tensor %s is in no file of %s; check that the folder holds this model", name,
                       folder->dir);
    return tt_safetensors_read_box(file, name, box, dst, pitch, err);
}
