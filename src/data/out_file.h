/* A large file that is written in a stream and appears under its name whole or not at all: it grows under a temporary name beside
 * it, is synced, and renamed last. Several files that belong together are all closed before the first one is renamed. */
#ifndef TT_DATA_OUT_FILE_H
#define TT_DATA_OUT_FILE_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

typedef struct tt_out_file tt_out_file;

/** Begin PATH (copied); nothing may stand there. Its folder is made. Errors: TT_ERR_IO (PATH exists, cannot be written), TT_ERR_NOMEM. */
tt_status tt_out_file_create(const char *path, tt_out_file **file, tt_error *err);
/** Append data[n]. Errors: TT_ERR_IO (a full disk says how much is free). */
tt_status tt_out_file_add(tt_out_file *file, const void *data, size_t n, tt_error *err);
/** Overwrite n bytes at `at` that were appended before. */
tt_status tt_out_file_patch(tt_out_file *file, int64_t at, const void *data, size_t n, tt_error *err);
/** Bytes appended so far. */
int64_t tt_out_file_bytes(const tt_out_file *file);
/** Its name (borrowed). */
const char *tt_out_file_path(const tt_out_file *file);
/** All is written: sync and close, still under the temporary name. */
tt_status tt_out_file_finish(tt_out_file *file, tt_error *err);
/** Give a finished file its name, for good. */
tt_status tt_out_file_publish(tt_out_file *file, tt_error *err);
/** Take back what was published (the file is removed). */
void tt_out_file_withdraw(tt_out_file *file);
/** Free; a file that is not published leaves nothing. Accepts NULL. */
void tt_out_file_close(tt_out_file **file);

#endif
