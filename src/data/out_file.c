/* See out_file.h. */
#include "data/out_file.h"
#include "base/fs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ROOM = 1 << 20 };

struct tt_out_file {
    char *path, *temporary; /* owned */
    int fd, finished, published;
    int64_t bytes; /* appended */
    char *buffer;  /* owned, ROOM: what is not written yet */
    size_t n;
};

static tt_status write_all(tt_out_file *f, const char *data, size_t n, tt_error *err)
{
    while (n > 0) {
        const ssize_t done = write(f->fd, data, n);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            return tt_fs_fail(err, "write", f->path, done < 0 ? errno : ENOSPC);
        data += done;
        n -= (size_t)done;
    }
    return TT_OK;
}

static tt_status flush(tt_out_file *f, tt_error *err)
{
    const size_t n = f->n;
    f->n = 0;
    return write_all(f, f->buffer, n, err);
}

static tt_status make_folder(const char *path, tt_error *err)
{
    const char *slash = strrchr(path, '/');
    if (!slash || slash == path)
        return TT_OK;
    char *dir = strndup(path, (size_t)(slash - path));
    if (!dir)
        return tt_fail(err, TT_ERR_NOMEM, "no memory to write %s", path);
    tt_status st = tt_fs_mkdirs(dir, err);
    free(dir);
    return st;
}

tt_status tt_out_file_create(const char *path, tt_out_file **file, tt_error *err)
{
    tt_status st = TT_OK;
    tt_out_file *f = calloc(1, sizeof *f);
    *file = NULL;
    if (f) {
        f->fd = -1;
        f->path = strdup(path);
        f->buffer = malloc(ROOM);
        if (asprintf(&f->temporary, "%s.tmp-%ld", path, (long)getpid()) < 0)
            f->temporary = NULL;
    }
    if (!f || !f->path || !f->buffer || !f->temporary)
        TT_TRY(tt_fail(err, TT_ERR_NOMEM, "no memory to write %s", path));
    if (tt_fs_exists(path))
        TT_TRY(tt_fail(err, TT_ERR_IO, "%s exists already, and is not overwritten; remove it or choose another name", path));
    TT_TRY(make_folder(path, err));
    f->fd = open(f->temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (f->fd < 0)
        TT_TRY(tt_fs_fail(err, "write", path, errno));
    *file = f;
    f = NULL;
out:
    tt_out_file_close(&f);
    return st;
}

tt_status tt_out_file_add(tt_out_file *f, const void *data, size_t n, tt_error *err)
{
    tt_status st = TT_OK;
    f->bytes += (int64_t)n;
    if (f->n + n > ROOM)
        TT_TRY(flush(f, err));
    if (n >= ROOM)
        return write_all(f, data, n, err);
    memcpy(f->buffer + f->n, data, n);
    f->n += n;
out:
    return st;
}

tt_status tt_out_file_patch(tt_out_file *f, int64_t at, const void *data, size_t n, tt_error *err)
{
    tt_status st;
    TT_TRY(flush(f, err));
    for (size_t done = 0; done < n;) {
        const ssize_t part = pwrite(f->fd, (const char *)data + done, n - done, at + (int64_t)done);
        if (part < 0 && errno == EINTR)
            continue;
        if (part <= 0)
            return tt_fs_fail(err, "write", f->path, part < 0 ? errno : ENOSPC);
        done += (size_t)part;
    }
out:
    return st;
}

int64_t tt_out_file_bytes(const tt_out_file *f)
{
    return f->bytes;
}

const char *tt_out_file_path(const tt_out_file *f)
{
    return f->path;
}

tt_status tt_out_file_finish(tt_out_file *f, tt_error *err)
{
    tt_status st;
    TT_TRY(flush(f, err));
    TT_TRY(tt_fs_sync_fd(f->fd, f->path, err));
    const int code = close(f->fd);
    f->fd = -1;
    if (code != 0)
        TT_TRY(tt_fs_fail(err, "write", f->path, errno));
    f->finished = 1;
    free(f->buffer);
    f->buffer = NULL;
out:
    return st;
}

tt_status tt_out_file_publish(tt_out_file *f, tt_error *err)
{
    TT_ASSERT(f->finished && !f->published);
    if (rename(f->temporary, f->path) != 0)
        return tt_fs_fail(err, "rename the temporary file to", f->path, errno);
    f->published = 1;
    const char *slash = strrchr(f->path, '/');
    char *dir = slash ? strndup(f->path, slash == f->path ? 1 : (size_t)(slash - f->path)) : strdup(".");
    tt_status st = dir ? tt_fs_sync_dir(dir, err) : tt_fail(err, TT_ERR_NOMEM, "no memory to write %s", f->path);
    free(dir);
    return st;
}

void tt_out_file_withdraw(tt_out_file *f)
{
    if (f->published)
        unlink(f->path);
    f->published = 0;
}

void tt_out_file_close(tt_out_file **file)
{
    tt_out_file *f = *file;
    if (!f)
        return;
    if (f->fd >= 0)
        close(f->fd);
    if (f->temporary && (f->fd >= 0 || f->finished) && !f->published)
        unlink(f->temporary);
    free(f->path);
    free(f->temporary);
    free(f->buffer);
    free(f);
    *file = NULL;
}
