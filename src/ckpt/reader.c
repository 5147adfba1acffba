/* Opening and reading checkpoints; see checkpoint.h. Nothing here knows HDF5: the manifest says where the bytes are. */
#include "base/box.h"
#include "base/fs.h"
#include "base/log.h"
#include "ckpt/checkpoint.h"
#include "ckpt/layout.h"
#include "ckpt/manifest.h"
#include "ckpt/reader_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#define SLAB_BYTES ((int64_t)64 << 20) /* read at once; a shard is hashed as it streams through */

struct tt_ckpt {
    char *path;
    tt_ckpt_manifest manifest;
    int open_file, fd; /* the part that is open, -1 for none: shards are read file after file */
};

/* ---- open ---- */

/* COMMITTED holds the hash of the manifest's bytes. */
static tt_status check_committed(const char *folder, const char *text, size_t length, tt_error *err)
{
    char wanted[33], *mark = NULL, *path = tt_fs_join(folder, TT_CKPT_COMMITTED);
    tt_status st = path ? tt_fs_read(path, &mark, NULL, err) : tt_fail(err, TT_ERR_NOMEM, "out of memory");
    tt_ckpt_hash_text(tt_ckpt_hash_of(text, length), wanted);
    if (st == TT_OK && (strncmp(mark, wanted, 32) != 0 || strspn(mark + 32, "\n") != strlen(mark + 32)))
        st = tt_fail(
            err, TT_ERR_CKPT,
            "%s does not hold the hash of %s (%s): one of them is damaged; use another step",
            TT_CKPT_COMMITTED, TT_CKPT_MANIFEST, wanted);
    free(mark);
    free(path);
    return st;
}

static tt_status check_size(const char *folder, const char *name, int64_t bytes, tt_error *err)
{
    struct stat sb;
    char *path = tt_fs_join(folder, name);
    tt_status st = TT_OK;
    if (!path)
        return tt_fail(err, TT_ERR_NOMEM, "out of memory");
    if (stat(path, &sb) != 0)
        st = tt_fail(err, TT_ERR_CKPT,
                     "its file %s cannot be used: %s; use another step, or put the file back", name,
                     strerror(errno));
    else if (!S_ISREG(sb.st_mode) || (int64_t)sb.st_size != bytes)
        st = tt_fail(err, TT_ERR_CKPT,
                     "its file %s has %lld bytes, the manifest says %lld; use another step, or put "
                     "the file back",
                     name, (long long)sb.st_size, (long long)bytes);
    free(path);
    return st;
}

static tt_status check_files(const char *folder, const tt_ckpt_manifest *m, tt_error *err)
{
    tt_status st = check_size(folder, TT_CKPT_INDEX, m->index_bytes, err);
    for (int i = 0; i < m->n_files && st == TT_OK; i++)
        st = check_size(folder, m->files[i].name, m->files[i].bytes, err);
    return st;
}

static tt_status open_folder(const char *dir, const char *name, tt_ckpt **ckpt, tt_error *err)
{
    char *text = NULL, *path = NULL;
    size_t length = 0;
    tt_status st = TT_OK;
    tt_ckpt *c = calloc(1, sizeof *c);
    *ckpt = NULL;
    if (c) {
        c->fd = c->open_file = -1;
        c->path = tt_fs_join(dir, name);
    }
    if (!c || !c->path || !(path = tt_fs_join(c->path, TT_CKPT_MANIFEST))) {
        st = tt_fail(err, TT_ERR_NOMEM, "opening checkpoint %s/%s: out of memory", dir, name);
        goto out;
    }
    TT_TRY(tt_fs_read(path, &text, &length, err));
    TT_TRY(check_committed(c->path, text, length, err));
    st = tt_ckpt_manifest_parse(text, length, &c->manifest, err);
    if (st != TT_OK) {
        tt_fail_context(err, st, "%s is not usable", TT_CKPT_MANIFEST);
        goto out;
    }
    if (c->manifest.step != tt_ckpt_parse_step(name)) {
        st = tt_fail(err, TT_ERR_CKPT,
                     "its manifest is that of step %lld; give the folder its old name",
                     (long long)c->manifest.step);
        goto out;
    }
    TT_TRY(check_files(c->path, &c->manifest, err));
out:
    free(text);
    free(path);
    if (st != TT_OK && c && c->path)
        tt_fail_context(err, st, "checkpoint %s", c->path);
    if (st != TT_OK)
        tt_ckpt_close(&c);
    *ckpt = c;
    return st;
}

int tt_ckpt_is_sound(const char *dir, const char *name)
{
    tt_ckpt *c = NULL;
    int sound = open_folder(dir, name, &c, NULL) == TT_OK;
    tt_ckpt_close(&c);
    return sound;
}

/* The asked step, and no other. */
static tt_status open_step(const char *dir, const tt_ckpt_listing *l, int64_t step, tt_ckpt **ckpt, tt_error *err)
{
    for (int i = 0; i < l->n_steps; i++) {
        if (l->steps[i].step != step)
            continue;
        if (!l->steps[i].committed)
            return tt_fail(err, TT_ERR_CKPT, "checkpoint %s/%s was never finished (it has no file %s); choose another step or leave the step out",
                           dir, l->steps[i].name, TT_CKPT_COMMITTED);
        tt_status st = open_folder(dir, l->steps[i].name, ckpt, err);
        return st == TT_OK ? st : tt_fail_context(err, TT_ERR_CKPT, "the asked step %lld cannot be loaded", (long long)step);
    }
    return tt_fail(err, TT_ERR_CKPT, "there is no checkpoint of step %lld in %s%s%s; choose another step or leave the step out",
                   (long long)step, dir, l->n_steps ? ", the newest is " : ", which has none",
                   l->n_steps ? l->steps[0].name : "");
}

tt_status tt_ckpt_open(const char *dir, int64_t step, tt_ckpt **ckpt, tt_error *err)
{
    return tt_ckpt_open_before(dir, step, INT64_MAX, ckpt, err);
}

tt_status tt_ckpt_open_before(const char *dir, int64_t step, int64_t before, tt_ckpt **ckpt, tt_error *err)
{
    tt_ckpt_listing l;
    *ckpt = NULL;
    tt_status st = tt_ckpt_list(dir, &l, err);
    if (st != TT_OK)
        return st;
    if (step >= 0) {
        st = open_step(dir, &l, step, ckpt, err);
        goto out;
    }
    if (*l.foreign)
        tt_log_root(INFO, "checkpoint folder %s: left alone, not ours: %s", dir, l.foreign);
    for (int i = 0; i < l.n_steps && !*ckpt; i++) {
        tt_error why = {0};
        if (l.steps[i].step >= before)
            continue;
        if (!l.steps[i].committed) {
            tt_log_root(WARN, "checkpoint %s/%s was never finished (no %s): skipped", dir, l.steps[i].name, TT_CKPT_COMMITTED);
        } else if (open_folder(dir, l.steps[i].name, ckpt, &why) == TT_ERR_NOMEM) {
            st = tt_fail(err, TT_ERR_NOMEM, "%s", why.text);
            goto out;
        } else if (!*ckpt) {
            tt_log_root(WARN, "skipped: %s", why.text);
        }
    }
out:
    tt_ckpt_listing_free(&l);
    return st;
}

void tt_ckpt_close(tt_ckpt **ckpt)
{
    tt_ckpt *c = *ckpt;
    if (!c)
        return;
    if (c->fd >= 0)
        close(c->fd);
    tt_ckpt_manifest_free(&c->manifest);
    free(c->path);
    free(c);
    *ckpt = NULL;
}

int64_t tt_ckpt_step(const tt_ckpt *ckpt) { return ckpt->manifest.step; }

const char *tt_ckpt_path(const tt_ckpt *ckpt) { return ckpt->path; }

const char *tt_ckpt_meta(const tt_ckpt *ckpt) { return ckpt->manifest.meta; }

int tt_ckpt_n_tensors(const tt_ckpt *ckpt) { return ckpt->manifest.n_tensors; }

const char *tt_ckpt_tensor_info(const tt_ckpt *ckpt, int i, tt_dtype *dtype, int *ndim, int64_t shape[TT_MAX_DIMS])
{
    const tt_ckpt_entry *e = &ckpt->manifest.tensors[i];
    if (dtype)
        *dtype = e->dtype;
    if (ndim)
        *ndim = e->ndim;
    if (shape)
        memcpy(shape, e->shape, sizeof e->shape);
    return e->name;
}

/* ---- read ---- */

static tt_status use_file(tt_ckpt *c, int file, tt_error *err)
{
    if (c->open_file == file)
        return TT_OK;
    char *path = tt_fs_join(c->path, c->manifest.files[file].name);
    if (!path)
        return tt_fail(err, TT_ERR_NOMEM, "out of memory");
    if (c->fd >= 0)
        close(c->fd);
    c->open_file = -1;
    c->fd = open(path, O_RDONLY | O_CLOEXEC);
    tt_status st = c->fd < 0 ? tt_fs_fail(err, "open", path, errno) : TT_OK;
    if (st == TT_OK)
        c->open_file = file;
    free(path);
    return st;
}

static tt_status read_at(const tt_ckpt *c, char *buffer, int64_t bytes, int64_t at, tt_error *err)
{
    while (bytes > 0) {
        ssize_t got = pread(c->fd, buffer, (size_t)bytes, (off_t)at);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return tt_fs_fail(err, "read", c->manifest.files[c->open_file].name, got < 0 ? errno : EIO);
        buffer += got;
        at += got;
        bytes -= got;
    }
    return TT_OK;
}

/* Stream one shard: hash all of it, copy what meets `wanted` into t (NULL: only hash). The bytes are copied before the
 * hash is complete, and the error that a mismatch returns tells the caller not to use them.
 * Slabs are whole rows of the first dim, so that each one is a box. */
static tt_status stream_shard(tt_ckpt *c, const tt_ckpt_shard *s, const tt_ckpt_tensor *t, const tt_box *wanted,
                              char **buffer, int64_t *room, tt_error *err)
{
    const tt_ckpt_entry *e = &c->manifest.tensors[s->tensor];
    const char *file = c->manifest.files[s->file].name;
    int64_t rows = s->box.ndim ? s->box.count[0] : 1, row_bytes = rows ? s->bytes / rows : 0;
    int64_t at_once = row_bytes && row_bytes < SLAB_BYTES ? SLAB_BYTES / row_bytes : 1;
    tt_status st = TT_OK;
    XXH3_state_t *state = XXH3_createState();

    if (at_once > rows)
        at_once = rows;
    if (at_once * row_bytes > *room) {
        free(*buffer);
        *room = at_once * row_bytes;
        *buffer = malloc((size_t)*room);
    }
    if (!state || (*room > 0 && !*buffer)) {
        *room = 0;
        st = tt_fail(err, TT_ERR_NOMEM, "reading tensor %s: no memory for %lld bytes", e->name,
                     (long long)(at_once * row_bytes));
        goto out;
    }
    XXH3_128bits_reset(state);
    TT_TRY(use_file(c, s->file, err));
    for (int64_t r = 0; r < rows && row_bytes > 0; r += at_once) {
        int64_t n = rows - r < at_once ? rows - r : at_once;
        tt_box slab = s->box, common;
        if (slab.ndim) {
            slab.start[0] += r;
            slab.count[0] = n;
        }
        TT_TRY(read_at(c, *buffer, n * row_bytes, s->offset + r * row_bytes, err));
        XXH3_128bits_update(state, *buffer, (size_t)(n * row_bytes));
        if (t && tt_box_intersect(&slab, wanted, &common))
            tt_box_copy(&common, tt_dtype_size(t->dtype), t->data, t->start, t->pitch, *buffer, slab.start, slab.count);
    }
    XXH128_hash_t h = XXH3_128bits_digest(state);
    if (h.high64 != s->hash.high || h.low64 != s->hash.low)
        st = tt_fail(err, TT_ERR_CKPT, "checkpoint %s is damaged: in %s, %lld bytes at %lld (tensor %s) do not have the hash of the manifest; use another step",
                     c->path, file, (long long)s->bytes, (long long)s->offset, e->name);
out:
    XXH3_freeState(state);
    return st;
}

static void shape_text(char *out, size_t size, tt_dtype dtype, int ndim, const int64_t *shape)
{
    int n = snprintf(out, size, "%s [", tt_dtype_name(dtype));
    for (int d = 0; d < ndim; d++)
        n += snprintf(out + n, size - (size_t)n, "%s%lld", d ? ", " : "", (long long)shape[d]);
    snprintf(out + n, size - (size_t)n, "]");
}

/* The entry of a wanted tensor, the same in dtype and shape. */
static tt_status match(const tt_ckpt *c, const tt_ckpt_tensor *t, const tt_ckpt_entry **e, tt_error *err)
{
    char have[128], want[128];
    int i = tt_ckpt_manifest_find(&c->manifest, t->name);
    if (i < 0)
        return tt_fail(err, TT_ERR_CONFIG,
                       "checkpoint %s has no tensor %s; the closest of its %d is %s; use the "
                       "config the checkpoint was made with, or another job.dump_folder",
                       c->path, t->name, c->manifest.n_tensors,
                       tt_ckpt_manifest_closest(&c->manifest, t->name));
    *e = &c->manifest.tensors[i];
    shape_text(have, sizeof have, (*e)->dtype, (*e)->ndim, (*e)->shape);
    shape_text(want, sizeof want, t->dtype, t->ndim, t->shape);
    if (strcmp(have, want) != 0)
        return tt_fail(err, TT_ERR_CONFIG, "tensor %s is %s in checkpoint %s and %s in this model; use the config the checkpoint was made with, or "
                       "another job.dump_folder",
                       t->name, have, c->path, want);
    tt_box box = tt_box_make(t->ndim, t->start, t->count);
    if (!tt_box_inside(&box, t->shape))
        return tt_fail(err, TT_ERR_INTERNAL, "tensor %s: the box to read does not lie in its shape %s", t->name, want);
    return TT_OK;
}

tt_status tt_ckpt_read(tt_ckpt *ckpt, const tt_ckpt_tensor *tensors, int n, tt_error *err)
{
    tt_status st = TT_OK;
    char *buffer = NULL;
    int64_t room = 0;
    const tt_ckpt_entry *e = NULL;
    for (int i = 0; i < n; i++) /* all names before the first byte */
        TT_TRY(match(ckpt, &tensors[i], &e, err));
    for (int i = 0; i < n; i++) {
        tt_box box = tt_box_make(tensors[i].ndim, tensors[i].start, tensors[i].count), common;
        TT_TRY(match(ckpt, &tensors[i], &e, err));
        for (int64_t k = 0; k < e->n_shards; k++) {
            const tt_ckpt_shard *s = &ckpt->manifest.shards[e->first_shard + k];
            if (tt_box_intersect(&box, &s->box, &common))
                TT_TRY(stream_shard(ckpt, s, &tensors[i], &box, &buffer, &room, err));
        }
    }
out:
    free(buffer);
    return st;
}

tt_status tt_ckpt_verify(tt_ckpt *ckpt, tt_error *err)
{
    tt_status st = TT_OK;
    char *buffer = NULL, *path = tt_fs_join(ckpt->path, TT_CKPT_INDEX);
    int64_t room = 0, bytes;
    tt_ckpt_hash hash;
    if (!path)
        return tt_fail(err, TT_ERR_NOMEM, "out of memory");
    TT_TRY(tt_ckpt_hash_file(path, &hash, &bytes, err));
    if (bytes != ckpt->manifest.index_bytes || hash.high != ckpt->manifest.index_hash.high ||
        hash.low != ckpt->manifest.index_hash.low) {
        st = tt_fail(err, TT_ERR_CKPT,
                     "checkpoint %s is damaged: %s does not have the hash of the manifest; the "
                     "weights are not in it: use a copy of that file",
                     ckpt->path, TT_CKPT_INDEX);
        goto out;
    }
    for (int64_t k = 0; k < ckpt->manifest.n_shards; k++)
        TT_TRY(stream_shard(ckpt, &ckpt->manifest.shards[k], NULL, NULL, &buffer, &room, err));
out:
    free(buffer);
    free(path);
    return st;
}
