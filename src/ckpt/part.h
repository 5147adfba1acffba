/* Writing one rank's shards: HDF5 lays the file out, then the bytes go straight to their places and are hashed on the way. */
#ifndef TT_CKPT_PART_H
#define TT_CKPT_PART_H

#include "ckpt/checkpoint.h"
#include "ckpt/manifest.h"

/** Write path with the boxes of the n tensors listed in which[]; records[i] describes which[i] (its `file` is left 0) and
 *  *bytes is the size of the file. Durable on return. Not collective.
 *  Errors: TT_ERR_IO (with the free space; also before anything is written, when it cannot fit), TT_ERR_NOMEM. */
tt_status tt_ckpt_write_part(const char *path, const tt_ckpt_tensor *tensors, const int *which, int n,
                             tt_ckpt_shard *records, int64_t *bytes, tt_error *err);

#endif
