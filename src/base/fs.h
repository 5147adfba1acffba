/* Files and folders as a batch job needs them: made whole or not at all, durable before they are named, and never shared
 * by two jobs. Every error is TT_ERR_IO and names the path, the system's reason and, when the disk is full, what is free. */
#ifndef TT_BASE_FS_H
#define TT_BASE_FS_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

/** Fail with the text of errno_value: "cannot VERB PATH: reason". Returns TT_ERR_IO. */
tt_status tt_fs_fail(tt_error *err, const char *verb, const char *path, int errno_value);

/** mkdir -p. A folder that exists is fine. */
tt_status tt_fs_mkdirs(const char *path, tt_error *err);

/** Read a file whole: *data is malloc'd (caller frees) with a NUL after *size bytes (size may be NULL). */
tt_status tt_fs_read(const char *path, char **data, size_t *size, tt_error *err);

/** Write a file so that a crash leaves the old one or the new one: temporary name, fsync, rename, fsync of the folder. */
tt_status tt_fs_write(const char *path, const void *data, size_t size, tt_error *err);

/** fsync an open file, or a folder by name (so that names made in it last). */
tt_status tt_fs_sync_fd(int fd, const char *path, tt_error *err);
tt_status tt_fs_sync_dir(const char *path, tt_error *err);

/** 1 when the path exists (of any kind), 0 otherwise. */
int tt_fs_exists(const char *path);
int tt_fs_is_dir(const char *path);

/** Bytes free to us on the file system of path; -1 when unknown. */
int64_t tt_fs_free_bytes(const char *path);

/** Remove a file or a folder with all in it. What does not exist is fine. Symbolic links are removed, not followed. */
tt_status tt_fs_remove_all(const char *path, tt_error *err);

/** dir + "/" + name in a malloc'd text (caller frees); name alone when it is absolute or dir is empty. NULL without memory. */
char *tt_fs_join(const char *dir, const char *name);

typedef struct tt_fs_lock tt_fs_lock;

/** Take PATH as a lock file for this process: a second job that asks for it is refused with the holder's host and pid.
 *  Released by tt_fs_unlock or when the process ends (flock, so a killed job leaves no stale lock). */
tt_status tt_fs_lock_take(const char *path, tt_fs_lock **lock, tt_error *err);
void tt_fs_unlock(tt_fs_lock **lock);

#endif
