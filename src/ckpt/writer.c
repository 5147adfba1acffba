/* Saving a step; see checkpoint.h. All ranks walk the same list of collectives whatever fails, and each stage ends with
 * an agreement, so a full disk on one node is an error on all and leaves nothing that looks like a checkpoint. */
#include "base/clock.h"
#include "base/fs.h"
#include "base/log.h"
#include "ckpt/checkpoint.h"
#include "ckpt/hdf5_file.h"
#include "ckpt/layout.h"
#include "ckpt/manifest.h"
#include "ckpt/part.h"
#include "ckpt/retain.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <xxhash.h>

typedef struct save {
    tt_world *world;
    const tt_ckpt_options *opts;
    int64_t step;
    const tt_ckpt_tensor *tensors;
    int n;
    char *temporary, *final, *trash; /* folders */
    int n_mine, *mine;               /* tensors of which this rank writes a box */
    tt_ckpt_shard *records;
    int64_t part_bytes;
} save;

/* ---- checks ---- */

static tt_status check_tensor(const tt_ckpt_tensor *t, tt_error *err)
{
    tt_box box = tt_box_make(t->ndim, t->start, t->count);
    int fits = t->ndim >= 0 && t->ndim <= TT_MAX_DIMS && t->name && *t->name && t->name[0] != '/' && !strstr(t->name, "//");
    fits = fits && tt_box_inside(&box, t->shape);
    for (int d = 0; fits && d < t->ndim; d++)
        fits = t->pitch[d] >= t->count[d];
    if (fits && (!t->owner || tt_box_elems(&box) == 0 || t->data))
        return TT_OK;
    return tt_fail(err, TT_ERR_INTERNAL, "saving tensor %s: its box, pitch or data do not fit its shape", t->name ? t->name : "(no name)");
}

static tt_status check_all(const save *s, const char *meta, tt_error *err)
{
    tt_status st = TT_OK;
    json_error_t je;
    json_t *root = json_loads(meta, JSON_REJECT_DUPLICATES, &je);
    if (!json_is_object(root))
        st = tt_fail(err, TT_ERR_INTERNAL, "saving step %lld: meta is not the text of a JSON object", (long long)s->step);
    json_decref(root);
    for (int i = 0; i < s->n && st == TT_OK; i++)
        st = check_tensor(&s->tensors[i], err);
    return st;
}

/* All ranks must list the same logical tensors in the same order, else boxes would be put together wrongly. */
static tt_status check_same_list(const save *s, tt_error *err)
{
    uint64_t h = (uint64_t)s->n ^ (uint64_t)s->step << 32;
    for (int i = 0; i < s->n; i++) {
        const tt_ckpt_tensor *t = &s->tensors[i];
        int64_t kind[2 + TT_MAX_DIMS] = {t->dtype, t->ndim};
        memcpy(kind + 2, t->shape, (size_t)t->ndim * sizeof kind[0]);
        h = XXH3_64bits_withSeed(t->name, strlen(t->name), h);
        h = XXH3_64bits_withSeed(kind, sizeof kind, h);
    }
    int64_t both[2] = {(int64_t)(h >> 1), -(int64_t)(h >> 1)}; /* equal on all ranks: the largest is also the smallest */
    tt_world_max_i64(s->world, both, 2);
    if (both[0] != -both[1])
        return tt_fail(err, TT_ERR_INTERNAL, "saving step %lld: the ranks do not list the same tensors", (long long)s->step);
    return TT_OK;
}

/* ---- each rank ---- */

static tt_status begin(save *s, tt_error *err)
{
    char name[TT_CKPT_NAME_MAX], trash[TT_CKPT_NAME_MAX];
    tt_ckpt_name_temporary(name, s->step);
    s->temporary = tt_fs_join(s->opts->dir, name);
    tt_ckpt_name_step(name, s->step);
    s->final = tt_fs_join(s->opts->dir, name);
    tt_ckpt_name_trash(trash, name);
    s->trash = tt_fs_join(s->opts->dir, trash);
    s->mine = calloc((size_t)s->n + 1, sizeof *s->mine);
    s->records = calloc((size_t)s->n + 1, sizeof *s->records);
    if (!s->temporary || !s->final || !s->trash || !s->mine || !s->records)
        return tt_fail(err, TT_ERR_NOMEM, "saving step %lld: out of memory", (long long)s->step);
    for (int i = 0; i < s->n; i++) {
        tt_box box = tt_box_make(s->tensors[i].ndim, s->tensors[i].start, s->tensors[i].count);
        if (s->tensors[i].owner && tt_box_elems(&box) > 0)
            s->mine[s->n_mine++] = i;
    }
    return TT_OK;
}

/* Rank 0 makes an empty temporary folder; what a dead job left there goes. */
static tt_status make_folder(const save *s, tt_error *err)
{
    tt_status st = TT_OK;
    TT_TRY(tt_fs_mkdirs(s->opts->dir, err));
    TT_TRY(tt_fs_remove_all(s->temporary, err));
    TT_TRY(tt_fs_mkdirs(s->temporary, err));
out:
    return st;
}

static tt_status write_mine(save *s, tt_error *err)
{
    char name[TT_CKPT_NAME_MAX];
    if (s->n_mine == 0)
        return TT_OK;
    tt_ckpt_name_part(name, tt_world_rank(s->world));
    char *path = tt_fs_join(s->temporary, name);
    if (!path)
        return tt_fail(err, TT_ERR_NOMEM, "saving step %lld: out of memory", (long long)s->step);
    tt_status st = tt_ckpt_write_part(path, s->tensors, s->mine, s->n_mine, s->records, &s->part_bytes, err);
    free(path);
    return st;
}

/* ---- rank 0: what all wrote -> manifest ---- */

typedef struct message { /* gathered from each rank, followed by its records */
    int64_t n, part_bytes;
} message;

static tt_status gather(const save *s, char **all, size_t *offsets, tt_error *err)
{
    tt_status st = TT_OK;
    message head = {.n = s->n_mine, .part_bytes = s->part_bytes};
    size_t bytes = sizeof head + (size_t)s->n_mine * sizeof *s->records;
    char *buffer = malloc(bytes);
    void *got = NULL;
    if (!buffer)
        st = tt_fail(err, TT_ERR_NOMEM, "saving step %lld: out of memory", (long long)s->step);
    TT_TRY(tt_world_agree(s->world, st, err));
    memcpy(buffer, &head, sizeof head);
    memcpy(buffer + sizeof head, s->records, (size_t)s->n_mine * sizeof *s->records);
    TT_TRY(tt_world_gather(s->world, buffer, bytes, &got, offsets, err));
    *all = got;
out:
    free(buffer);
    return st;
}

static int compare_shards(const void *a, const void *b)
{
    const tt_ckpt_shard *x = a, *y = b;
    return x->tensor != y->tensor ? x->tensor - y->tensor : x->file - y->file;
}

static tt_status fill_manifest(const save *s, const char *meta, const char *all, const size_t *offsets,
                               tt_ckpt_manifest *m, tt_error *err)
{
    int size = tt_world_size(s->world);
    *m = (tt_ckpt_manifest){.step = s->step, .meta = strdup(meta), .n_tensors = s->n};
    m->files = calloc((size_t)size, sizeof *m->files);
    m->tensors = calloc((size_t)s->n + 1, sizeof *m->tensors);
    m->shards = malloc(offsets[size] + sizeof *m->shards);
    if (!m->meta || !m->files || !m->tensors || !m->shards)
        return tt_fail(err, TT_ERR_NOMEM, "saving step %lld: no memory for the manifest", (long long)s->step);
    for (int r = 0; r < size; r++) {
        message head;
        memcpy(&head, all + offsets[r], sizeof head);
        if (head.n == 0)
            continue;
        memcpy(m->shards + m->n_shards, all + offsets[r] + sizeof head, (size_t)head.n * sizeof *m->shards);
        for (int64_t k = 0; k < head.n; k++)
            m->shards[m->n_shards++].file = m->n_files;
        tt_ckpt_name_part(m->files[m->n_files].name, r);
        m->files[m->n_files++].bytes = head.part_bytes;
    }
    qsort(m->shards, (size_t)m->n_shards, sizeof *m->shards, compare_shards);
    int64_t at = 0;
    for (int i = 0; i < s->n; i++) {
        const tt_ckpt_tensor *t = &s->tensors[i];
        tt_ckpt_entry *e = &m->tensors[i];
        *e = (tt_ckpt_entry){.name = strdup(t->name), .dtype = t->dtype, .ndim = t->ndim, .first_shard = at};
        if (!e->name)
            return tt_fail(err, TT_ERR_NOMEM, "saving step %lld: no memory for the manifest", (long long)s->step);
        memcpy(e->shape, t->shape, (size_t)t->ndim * sizeof e->shape[0]);
        while (at < m->n_shards && m->shards[at].tensor == i)
            at++;
        e->n_shards = at - e->first_shard;
    }
    return tt_ckpt_manifest_check(m, err);
}

/* ---- rank 0: index, manifest, the final name, COMMITTED ---- */

static tt_status write_index(const save *s, tt_ckpt_manifest *m, tt_error *err)
{
    tt_status st = TT_OK;
    int fd = -1;
    char *path = tt_fs_join(s->temporary, TT_CKPT_INDEX);
    if (!path)
        return tt_fail(err, TT_ERR_NOMEM, "saving step %lld: out of memory", (long long)s->step);
    TT_TRY(tt_h5_create_index(path, m, err));
    TT_TRY(tt_ckpt_hash_file(path, &m->index_hash, &m->index_bytes, err));
    fd = open(path, O_RDONLY | O_CLOEXEC);
    st = fd < 0 ? tt_fs_fail(err, "open", path, errno) : tt_fs_sync_fd(fd, path, err);
out:
    if (fd >= 0)
        close(fd);
    free(path);
    return st;
}

static tt_status write_file(const char *folder, const char *name, const char *text, size_t length, tt_error *err)
{
    char *path = tt_fs_join(folder, name);
    tt_status st = path ? tt_fs_write(path, text, length, err) : tt_fail(err, TT_ERR_NOMEM, "writing %s: out of memory", name);
    free(path);
    return st;
}

/* The temporary folder gets the final name; what had it (a run that went back to an older step) is put aside until the
 * new one is committed. */
static tt_status put_in_place(const save *s, const char mark[33], tt_error *err)
{
    tt_status st = TT_OK;
    int replaced = 0;
    char line[34];
    TT_TRY(tt_fs_remove_all(s->trash, err));
    if (tt_fs_exists(s->final) && rename(s->final, s->trash) != 0) {
        st = tt_fs_fail(err, "put aside", s->final, errno);
        goto out;
    }
    replaced = tt_fs_exists(s->trash);
    if (rename(s->temporary, s->final) != 0) {
        st = tt_fs_fail(err, "give the final name to", s->temporary, errno);
        goto out;
    }
    TT_TRY(tt_fs_sync_dir(s->opts->dir, err));
    snprintf(line, sizeof line, "%s\n", mark);
    TT_TRY(write_file(s->final, TT_CKPT_COMMITTED, line, strlen(line), err));
out:
    if (st != TT_OK && replaced && tt_fs_remove_all(s->final, NULL) == TT_OK)
        (void)!rename(s->trash, s->final);
    return st;
}

static tt_status finish(const save *s, const char *meta, const char *all, const size_t *offsets, int64_t *bytes,
                        tt_error *err)
{
    tt_status st = TT_OK;
    tt_ckpt_manifest m = {0};
    char *text = NULL, mark[33];
    size_t length = 0;
    TT_TRY(fill_manifest(s, meta, all, offsets, &m, err));
    for (int64_t k = 0; k < m.n_shards; k++)
        *bytes += m.shards[k].bytes;
    TT_TRY(write_index(s, &m, err));
    TT_TRY(tt_ckpt_manifest_text(&m, &text, &length, err));
    TT_TRY(write_file(s->temporary, TT_CKPT_MANIFEST, text, length, err));
    TT_TRY(tt_fs_sync_dir(s->temporary, err));
    tt_ckpt_hash_text(tt_ckpt_hash_of(text, length), mark);
    TT_TRY(put_in_place(s, mark, err));
out:
    free(text);
    tt_ckpt_manifest_free(&m);
    return st;
}

/* ---- all together ---- */

static void prune(const tt_ckpt_options *opts)
{
    tt_error why = {0};
    if (tt_ckpt_retain(opts->dir, opts->keep_latest_k, &why) != TT_OK)
        tt_log_root(WARN, "checkpoint saved, but older ones were not all deleted: %s", why.text);
}

tt_status tt_ckpt_save(tt_world *world, const tt_ckpt_options *opts, int64_t step, const char *meta,
                       const tt_ckpt_tensor *tensors, int n, tt_error *err)
{
    save s = {.world = world, .opts = opts, .step = step, .tensors = tensors, .n = n};
    int root = tt_world_rank(world) == 0, made = 0;
    char *all = NULL;
    size_t *offsets = calloc((size_t)tt_world_size(world) + 1, sizeof *offsets);
    double began = tt_clock_s();
    int64_t bytes = 0;
    tt_status st = offsets ? check_all(&s, meta, err) : tt_fail(err, TT_ERR_NOMEM, "saving step %lld: out of memory", (long long)step);

    if (st == TT_OK)
        st = begin(&s, err);
    TT_TRY(tt_world_agree(world, st, err));
    TT_TRY(tt_world_agree(world, check_same_list(&s, err), err));
    if (root)
        st = make_folder(&s, err);
    made = root;
    TT_TRY(tt_world_agree(world, st, err));
    st = write_mine(&s, err);
    tt_world_barrier(world); /* one that fails at once waits for those that write for minutes; agree would not for long */
    TT_TRY(tt_world_agree(world, st, err));
    TT_TRY(gather(&s, &all, offsets, err));
    if (root)
        st = finish(&s, meta, all, offsets, &bytes, err);
    TT_TRY(tt_world_agree(world, st, err));
    double seconds = tt_clock_s() - began;
    tt_log_root(INFO, "checkpoint of step %lld saved: %.3f GB in %.2f s (%.2f GB/s) to %s", (long long)step,
                1e-9 * (double)bytes, seconds, 1e-9 * (double)bytes / seconds, s.final);
    if (root)
        prune(opts);
out:
    if (st != TT_OK)
        tt_fail_context(err, st, "the checkpoint of step %lld was not saved", (long long)step);
    if (st != TT_OK && made)
        tt_fs_remove_all(s.temporary, NULL);
    free(all);
    free(offsets);
    free(s.temporary);
    free(s.final);
    free(s.trash);
    free(s.mine);
    free(s.records);
    return st;
}
