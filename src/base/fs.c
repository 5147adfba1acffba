/* See fs.h. */
#include "base/fs.h"

#include "base/closest.h"
#include "base/log.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

static tt_status no_memory(tt_error *err, const char *path)
{
    return tt_fail(err, TT_ERR_NOMEM, "no memory to work on %s", path);
}

static const char *remedy_of(int errno_value)
{
    switch (errno_value) {
    case ENOENT:
    case ENOTDIR:
        return "check the path";
    case EACCES:
    case EPERM:
        return "check its permissions (ls -l)";
    case EISDIR:
        return "give a file";
    case EROFS:
        return "choose a folder that can be written";
    case EMFILE:
    case ENFILE:
        return "raise the limit of open files (ulimit -n)";
    default:
        return "check the file system";
    }
}

tt_status tt_fs_fail(tt_error *err, const char *verb, const char *path, int errno_value)
{
    if (errno_value == ENOSPC || errno_value == EDQUOT) {
        char *dir = strdup(path), *slash = dir ? strrchr(dir, '/') : NULL;
        if (slash)
            *slash = '\0';
        double mib = (double)tt_fs_free_bytes(slash && *dir ? dir : slash ? "/" : ".") / 1048576.0;
        free(dir);
        return tt_fail(err, TT_ERR_IO, "cannot %s %s: %s (%.1f MiB free there); free space or choose another folder", verb,
                       path, strerror(errno_value), mib);
    }
    char meant[PATH_MAX];
    if (errno_value == ENOENT && tt_closest_path(path, meant, sizeof meant))
        return tt_fail(err, TT_ERR_IO, "cannot %s %s: %s; did you mean %s?", verb, path,
                       strerror(errno_value), meant);
    return tt_fail(err, TT_ERR_IO, "cannot %s %s: %s; %s", verb, path, strerror(errno_value),
                   remedy_of(errno_value));
}

tt_status tt_fs_mkdirs(const char *path, tt_error *err)
{
    tt_status st = TT_OK;
    char *copy = strdup(path);
    if (!copy)
        return no_memory(err, path);
    for (char *at = copy + 1; st == TT_OK; at++) {
        if (*at != '/' && *at != '\0')
            continue;
        char end = *at;
        *at = '\0';
        if (mkdir(copy, 0777) != 0 && (errno != EEXIST || !tt_fs_is_dir(copy)))
            st = tt_fs_fail(err, "make folder", copy, errno == EEXIST ? ENOTDIR : errno);
        *at = end;
        if (!end)
            break;
    }
    free(copy);
    return st;
}

/* Reads to the end whatever the size says: pipes and /proc files report 0. */
static int read_all(int fd, char **data, size_t *size)
{
    size_t room = 1 << 16;
    struct stat s;
    if (fstat(fd, &s) != 0)
        return errno;
    if (S_ISDIR(s.st_mode))
        return EISDIR;
    if (s.st_size > 0)
        room = (size_t)s.st_size + 2;
    *size = 0;
    *data = malloc(room);
    while (*data) {
        ssize_t n = read(fd, *data + *size, room - *size - 1);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return errno;
        *size += (size_t)n;
        if (n == 0) {
            (*data)[*size] = '\0';
            return 0;
        }
        if (*size + 1 == room) {
            char *more = realloc(*data, room *= 2);
            if (!more)
                return ENOMEM;
            *data = more;
        }
    }
    return ENOMEM;
}

tt_status tt_fs_read(const char *path, char **data, size_t *size, tt_error *err)
{
    size_t n = 0;
    *data = NULL;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return tt_fs_fail(err, "open", path, errno);
    int e = read_all(fd, data, &n);
    close(fd);
    if (e) {
        free(*data);
        *data = NULL;
        return tt_fs_fail(err, "read", path, e);
    }
    if (size)
        *size = n;
    return TT_OK;
}

tt_status tt_fs_sync_fd(int fd, const char *path, tt_error *err)
{
    while (fsync(fd) != 0)
        if (errno != EINTR)
            return tt_fs_fail(err, "sync", path, errno);
    return TT_OK;
}

tt_status tt_fs_sync_dir(const char *path, tt_error *err)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return tt_fs_fail(err, "open folder", path, errno);
    tt_status st = TT_OK;
    if (fsync(fd) != 0 && errno != EINVAL) /* some file systems cannot sync a folder and say EINVAL */
        st = tt_fs_fail(err, "sync folder", path, errno);
    close(fd);
    return st;
}

static tt_status sync_parent(const char *path, tt_error *err)
{
    char *dir = strdup(path), *slash = dir ? strrchr(dir, '/') : NULL;
    if (!dir)
        return no_memory(err, path);
    if (slash)
        slash[slash == dir] = '\0';
    tt_status st = tt_fs_sync_dir(slash ? dir : ".", err);
    free(dir);
    return st;
}

static tt_status write_new(int fd, const char *path, const char *data, size_t size, tt_error *err)
{
    while (size > 0) {
        ssize_t n = write(fd, data, size);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return tt_fs_fail(err, "write", path, errno);
        data += n;
        size -= (size_t)n;
    }
    return tt_fs_sync_fd(fd, path, err);
}

tt_status tt_fs_write(const char *path, const void *data, size_t size, tt_error *err)
{
    tt_status st;
    int fd = -1;
    size_t room = strlen(path) + 32;
    char *temp = malloc(room);
    if (!temp)
        return no_memory(err, path);
    snprintf(temp, room, "%s.tmp.%ld", path, (long)getpid());
    fd = open(temp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd < 0) {
        st = tt_fs_fail(err, "create", temp, errno);
        free(temp);
        return st;
    }
    TT_TRY(write_new(fd, temp, data, size, err));
    if (rename(temp, path) != 0) {
        st = tt_fs_fail(err, "rename a temporary file to", path, errno);
        goto out;
    }
    TT_TRY(sync_parent(path, err));
out:
    close(fd);
    if (st != TT_OK)
        unlink(temp);
    free(temp);
    return st;
}

int tt_fs_exists(const char *path)
{
    struct stat s;
    return lstat(path, &s) == 0;
}

int tt_fs_is_dir(const char *path)
{
    struct stat s;
    return stat(path, &s) == 0 && S_ISDIR(s.st_mode);
}

int64_t tt_fs_free_bytes(const char *path)
{
    struct statvfs s;
    return statvfs(path, &s) == 0 ? (int64_t)s.f_bavail * (int64_t)s.f_frsize : -1;
}

tt_status tt_fs_remove_all(const char *path, tt_error *err)
{
    struct stat s;
    tt_status st = TT_OK;
    if (lstat(path, &s) != 0)
        return errno == ENOENT ? TT_OK : tt_fs_fail(err, "look at", path, errno);
    if (!S_ISDIR(s.st_mode))
        return unlink(path) == 0 || errno == ENOENT ? TT_OK : tt_fs_fail(err, "remove", path, errno);
    DIR *dir = opendir(path);
    if (!dir)
        return tt_fs_fail(err, "open folder", path, errno);
    for (struct dirent *e; st == TT_OK && (e = readdir(dir)) != NULL;) {
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
            continue;
        char *inner = tt_fs_join(path, e->d_name);
        st = inner ? tt_fs_remove_all(inner, err) : no_memory(err, path);
        free(inner);
    }
    closedir(dir);
    if (st == TT_OK && rmdir(path) != 0 && errno != ENOENT)
        st = tt_fs_fail(err, "remove folder", path, errno);
    return st;
}

char *tt_fs_join(const char *dir, const char *name)
{
    if (name[0] == '/' || !dir || !dir[0])
        return strdup(name);
    size_t n = strlen(dir) + strlen(name) + 2;
    char *path = malloc(n);
    if (path)
        snprintf(path, n, "%s%s%s", dir, dir[strlen(dir) - 1] == '/' ? "" : "/", name);
    return path;
}

struct tt_fs_lock {
    int fd;
};

/* The file says who holds it. */
static tt_status keep_lock(int fd, const char *path, tt_fs_lock **lock, tt_error *err)
{
    char text[160], host[65] = "";
    *lock = malloc(sizeof **lock);
    if (!*lock) {
        close(fd);
        return no_memory(err, path);
    }
    (*lock)->fd = fd;
    gethostname(host, sizeof host - 1);
    const char *job = getenv("SLURM_JOB_ID");
    int n = snprintf(text, sizeof text, "host %s, pid %ld%s%.40s\n", host, (long)getpid(), job ? ", SLURM job " : "", job ? job : "");
    if (ftruncate(fd, 0) != 0 || pwrite(fd, text, (size_t)n, 0) != n) {
        int e = errno;
        tt_fs_unlock(lock);
        return tt_fs_fail(err, "write", path, e);
    }
    return TT_OK;
}

/* The file stays after unlock: removing it would let two processes hold locks on two files of one name. */
tt_status tt_fs_lock_take(const char *path, tt_fs_lock **lock, tt_error *err)
{
    char text[160] = "";
    *lock = NULL;
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (fd < 0)
        return tt_fs_fail(err, "create lock file", path, errno);
    if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
        int e = errno;
        if (e == ENOSYS || e == ENOLCK || e == EOPNOTSUPP) {
            tt_log_all(WARN, "cannot lock %s: %s; this file system has no locks, so nothing keeps a second job out", path,
                       strerror(e));
            return keep_lock(fd, path, lock, err);
        }
        ssize_t n = pread(fd, text, sizeof text - 1, 0);
        text[n > 0 ? strcspn(text, "\n") : 0] = '\0';
        close(fd);
        if (e != EWOULDBLOCK)
            return tt_fs_fail(err, "lock", path, e);
        return tt_fail(err, TT_ERR_IO, "%s is held by another job (%s): two jobs cannot write one folder;"
                       " wait for it or choose another job.dump_folder", path, text[0] ? text : "unknown");
    }
    return keep_lock(fd, path, lock, err);
}

void tt_fs_unlock(tt_fs_lock **lock)
{
    if (!*lock)
        return;
    close((*lock)->fd);
    free(*lock);
    *lock = NULL;
}
