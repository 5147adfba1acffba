/* The manifest of one checkpoint: which bytes of which file are which box of which tensor, and their hashes.
 *
 * It is JSON, one tensor a line, so that a person can read it and a stranger can write a reader in an hour:
 *   {"format": "titan-checkpoint", "version": 1, "step": 1000, "meta": "<JSON text>",
 *    "index": {"file": "index.h5", "bytes": n, "xxh3_128": "<32 hex digits>"},
 *    "files": [{"file": "part-00000.h5", "bytes": n}, …],
 *    "tensors": [{"name": "model/norm.weight", "dtype": "float32", "shape": [64], "shards": [
 *       [file, offset, bytes, [start…], [count…], "<32 hex digits>"], …]}, …]}
 * A shard's hash is XXH3-128 of its bytes; COMMITTED holds the same of this file. Hex digits: high half first, as xxhsum. */
#ifndef TT_CKPT_MANIFEST_H
#define TT_CKPT_MANIFEST_H

#include "base/box.h"
#include "base/dtype.h"
#include "base/error.h"

typedef struct tt_ckpt_hash {
    uint64_t high, low;
} tt_ckpt_hash;

typedef struct tt_ckpt_shard {
    int tensor, file; /* indices in the manifest */
    int64_t offset, bytes;
    tt_box box;
    tt_ckpt_hash hash;
} tt_ckpt_shard;

typedef struct tt_ckpt_file {
    char name[48];
    int64_t bytes;
} tt_ckpt_file;

typedef struct tt_ckpt_entry {
    char *name; /* owned */
    tt_dtype dtype;
    int ndim;
    int64_t shape[TT_MAX_DIMS];
    int64_t first_shard, n_shards; /* in shards[] */
} tt_ckpt_entry;

typedef struct tt_ckpt_manifest {
    int64_t step;
    char *meta; /* owned */
    int64_t index_bytes;
    tt_ckpt_hash index_hash;
    int n_files, n_tensors;
    int64_t n_shards;
    tt_ckpt_file *files;     /* owned */
    tt_ckpt_entry *tensors;  /* owned */
    tt_ckpt_shard *shards;   /* owned; grouped by tensor, in order of tensors */
    int *by_name;            /* owned; tensors sorted by name */
} tt_ckpt_manifest;

/** XXH3-128 of bytes in memory, and as 32 hex digits into out[33]. */
tt_ckpt_hash tt_ckpt_hash_of(const void *data, size_t bytes);
void tt_ckpt_hash_text(tt_ckpt_hash hash, char out[33]);
/** Hash of a whole file and its size. Errors: TT_ERR_IO. */
tt_status tt_ckpt_hash_file(const char *path, tt_ckpt_hash *hash, int64_t *bytes, tt_error *err);

/** Check that the shards of each tensor tile it: inside, none overlapping, no element missing.
 *  Errors: TT_ERR_CKPT naming the tensor. */
tt_status tt_ckpt_manifest_check(const tt_ckpt_manifest *manifest, tt_error *err);

/** The JSON text, malloc'd (caller frees), and its length. Errors: TT_ERR_NOMEM, TT_ERR_CKPT (a name is not UTF-8). */
tt_status tt_ckpt_manifest_text(const tt_ckpt_manifest *manifest, char **text, size_t *length, tt_error *err);

/** Read the JSON text; everything in it is checked (tt_ckpt_manifest_check too). Errors: TT_ERR_CKPT. */
tt_status tt_ckpt_manifest_parse(const char *text, size_t length, tt_ckpt_manifest *manifest, tt_error *err);

/** Free what it owns; it is empty then. */
void tt_ckpt_manifest_free(tt_ckpt_manifest *manifest);

/** Index of the tensor of that name, or -1. */
int tt_ckpt_manifest_find(const tt_ckpt_manifest *manifest, const char *name);
/** The existing name most like `name` (fewest edits), or "" when there is none. */
const char *tt_ckpt_manifest_closest(const tt_ckpt_manifest *manifest, const char *name);

#endif
