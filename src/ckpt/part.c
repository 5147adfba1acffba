/* See part.h. */
#include "ckpt/part.h"

#include "base/fs.h"
#include "ckpt/hdf5_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#define BUFFER_BYTES ((int64_t)4 << 20)
#define CALL_BYTES_MAX ((int64_t)1 << 30) /* some kernels and file systems mishandle more in one call */

/* Where packed bytes go: runs are gathered in a buffer, hashed and written in order. */
typedef struct sink {
    const char *path;
    int fd;
    int64_t at, used; /* place of the next byte in the file; bytes in the buffer */
    char *buffer;
    XXH3_state_t *hash;
} sink;

static tt_status put(sink *k, const char *data, int64_t bytes, tt_error *err)
{
    XXH3_128bits_update(k->hash, data, (size_t)bytes);
    while (bytes > 0) {
        ssize_t got = pwrite(k->fd, data, (size_t)(bytes < CALL_BYTES_MAX ? bytes : CALL_BYTES_MAX), (off_t)k->at);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return tt_fs_fail(err, "write", k->path, got < 0 ? errno : ENOSPC);
        data += got;
        k->at += got;
        bytes -= got;
    }
    return TT_OK;
}

static tt_status flush(sink *k, tt_error *err)
{
    tt_status st = k->used ? put(k, k->buffer, k->used, err) : TT_OK;
    k->used = 0;
    return st;
}

static tt_status add(sink *k, const char *data, int64_t bytes, tt_error *err)
{
    tt_status st = TT_OK;
    if (k->used + bytes > BUFFER_BYTES)
        TT_TRY(flush(k, err));
    if (bytes >= BUFFER_BYTES / 4)
        return k->used ? (st = flush(k, err)) != TT_OK ? st : put(k, data, bytes, err) : put(k, data, bytes, err);
    memcpy(k->buffer + k->used, data, (size_t)bytes);
    k->used += bytes;
out:
    return st;
}

/* The box of one tensor, packed row-major, from its padded memory to the file. */
static tt_status write_shard(sink *k, const tt_ckpt_tensor *t, tt_ckpt_shard *record, tt_error *err)
{
    tt_status st = TT_OK;
    tt_box_walk w;
    int64_t size = (int64_t)tt_dtype_size(t->dtype);
    k->at = record->offset;
    XXH3_128bits_reset(k->hash);
    tt_box_walk_begin(&w, &record->box, t->start, t->count, t->start, t->pitch);
    for (int64_t i = 0; i < w.runs; i++, tt_box_walk_next(&w))
        TT_TRY(add(k, (const char *)t->data + w.at_b * size, w.length * size, err));
    TT_TRY(flush(k, err));
    XXH128_hash_t h = XXH3_128bits_digest(k->hash);
    record->hash = (tt_ckpt_hash){.high = h.high64, .low = h.low64};
out:
    return st;
}

/* Say no before gigabytes are written in vain. */
static tt_status check_room(const char *path, int64_t bytes, tt_error *err)
{
    char *copy = strdup(path), *slash = copy ? strrchr(copy, '/') : NULL;
    if (slash)
        *slash = '\0';
    int64_t space = copy ? tt_fs_free_bytes(slash ? copy : ".") : -1;
    free(copy);
    if (space >= 0 && space < bytes)
        return tt_fail(err, TT_ERR_IO, "writing %s needs %lld bytes, %lld are free; free some space or choose another checkpoint.folder",
                       path, (long long)bytes, (long long)space);
    return TT_OK;
}

tt_status tt_ckpt_write_part(const char *path, const tt_ckpt_tensor *tensors, const int *which, int n,
                             tt_ckpt_shard *records, int64_t *bytes, tt_error *err)
{
    tt_status st = TT_OK;
    struct stat sb;
    int64_t total = 0, *offsets = calloc((size_t)n + 1, sizeof *offsets);
    sink k = {.path = path, .fd = -1, .buffer = malloc((size_t)BUFFER_BYTES), .hash = XXH3_createState()};
    if (!offsets || !k.buffer || !k.hash) {
        st = tt_fail(err, TT_ERR_NOMEM, "writing %s: out of memory", path);
        goto out;
    }
    for (int i = 0; i < n; i++) {
        const tt_ckpt_tensor *t = &tensors[which[i]];
        records[i] = (tt_ckpt_shard){.tensor = which[i], .box = tt_box_make(t->ndim, t->start, t->count)};
        records[i].bytes = tt_box_elems(&records[i].box) * (int64_t)tt_dtype_size(t->dtype);
        total += records[i].bytes;
    }
    TT_TRY(check_room(path, total, err));
    TT_TRY(tt_h5_create_part(path, tensors, which, n, offsets, err));
    k.fd = open(path, O_WRONLY | O_CLOEXEC);
    if (k.fd < 0) {
        st = tt_fs_fail(err, "open", path, errno);
        goto out;
    }
    for (int i = 0; i < n; i++) {
        records[i].offset = offsets[i];
        TT_TRY(write_shard(&k, &tensors[which[i]], &records[i], err));
    }
    TT_TRY(tt_fs_sync_fd(k.fd, path, err));
    if (fstat(k.fd, &sb) != 0)
        st = tt_fs_fail(err, "stat", path, errno);
    else
        *bytes = (int64_t)sb.st_size;
out:
    if (k.fd >= 0)
        close(k.fd);
    XXH3_freeState(k.hash);
    free(k.buffer);
    free(offsets);
    return st;
}
