/* The only door to HDF5. It lays files out; the weights themselves never pass through the library.
 *
 * A part holds one contiguous, early allocated dataset per shard, without fill: HDF5 tells where each one lies and titan
 * writes the bytes there. The index holds every logical tensor as a virtual dataset over the parts, for h5dump and h5py;
 * titan does not read it (a virtual dataset gives fill values, and no error, when a part is missing).
 * bfloat16 and float16 are stored as custom float types with an attribute dtype="bfloat16" beside them. HDF5 is not
 * thread-safe as distributed: one thread at a time may be in here. */
#ifndef TT_CKPT_HDF5_FILE_H
#define TT_CKPT_HDF5_FILE_H

#include "ckpt/checkpoint.h"
#include "ckpt/manifest.h"

/** Create path with one dataset per listed shard, named as its tensor, of shape count[] (one element for ndim 0), with
 *  attributes dtype, shape and start. shards[i] is an index into tensors; offsets[i] gets the byte of the file at which
 *  its data begins (0 for an empty box). The file has its full size on return. Errors: TT_ERR_IO, TT_ERR_CKPT. */
tt_status tt_h5_create_part(const char *path, const tt_ckpt_tensor *tensors, const int *shards, int n, int64_t *offsets,
                            tt_error *err);

/** Create the index of a checkpoint: virtual datasets over the files of the manifest (names relative to the index), NaN
 *  where a part is missing (lowest value for integers, 255 for uint8), and root attributes format, step and meta.
 *  Errors: TT_ERR_IO, TT_ERR_CKPT. */
tt_status tt_h5_create_index(const char *path, const tt_ckpt_manifest *manifest, tt_error *err);

#endif
