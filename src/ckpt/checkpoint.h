/* Checkpoints: a folder per step that is whole or not there.
 *
 * DIR/step-N/ holds part-RRRRR.h5 (one per writer: the shards it owns), index.h5 (every logical tensor as a virtual
 * dataset over the parts), manifest.json (each shard: file, offset, length, XXH3-128; the index's hash; meta) and
 * COMMITTED (the manifest's XXH3-128). Titan reads shards by pread at the manifest's offsets and checks their hashes;
 * libhdf5 parses a file only after its hash matched. Order of durability: temporary folder -> fsync files -> rename ->
 * fsync parent -> COMMITTED -> fsync -> prune. What is newest is derived from what is COMMITTED and sound. */
#ifndef TT_CKPT_CHECKPOINT_H
#define TT_CKPT_CHECKPOINT_H

#include "base/dtype.h"
#include "base/error.h"
#include "world/world.h"

/* One logical tensor and the box of it that this rank holds in host memory. The memory is dense row-major with local
 * extents `pitch` (>= count in every dim; what lies beyond the box is padding and is neither written nor touched). */
typedef struct tt_ckpt_tensor {
    const char *name; /* "model/layers.0.attention.wq.weight", "optim/exp_avg/…", borrowed */
    tt_dtype dtype;
    int ndim;
    int64_t shape[TT_MAX_DIMS];                     /* logical */
    int64_t start[TT_MAX_DIMS], count[TT_MAX_DIMS]; /* box; some count 0 = nothing here */
    int64_t pitch[TT_MAX_DIMS];                     /* local extents of data */
    void *data;
    int owner; /* save: 1 when this rank writes its box (coordinate 0 on replicated axes) */
} tt_ckpt_tensor;

typedef struct tt_ckpt_options {
    const char *dir;   /* <dump_folder>/<checkpoint.folder> */
    int keep_latest_k; /* 0 keeps all */
} tt_ckpt_options;

/** Save one step. Collective over world; every rank lists the same tensors in the same order with its own box.
 *  meta is a JSON object text (config, step, tokens, cursor, seeds, mesh, fingerprint), stored in the manifest and the index.
 *  A step that exists is replaced. On any error no COMMITTED folder appears and older ones stay; what older ones cannot be
 *  deleted afterwards is a warning only. Errors: TT_ERR_IO (with free space), TT_ERR_CKPT. */
tt_status tt_ckpt_save(tt_world *world, const tt_ckpt_options *opts, int64_t step, const char *meta,
                       const tt_ckpt_tensor *tensors, int n, tt_error *err);

typedef struct tt_ckpt tt_ckpt; /* an opened, committed checkpoint whose manifest is sound */

/** Open the newest committed checkpoint under dir whose manifest matches and whose files exist with the right sizes;
 *  partial, damaged and foreign folders are named in a log line and skipped. *ckpt = NULL with TT_OK when there is none.
 *  step >= 0 asks for that step: then a bad or missing one is an error (TT_ERR_CKPT). Not collective. */
tt_status tt_ckpt_open(const char *dir, int64_t step, tt_ckpt **ckpt, tt_error *err);
/** The same; with step < 0 only steps below `before` count: the next older one, when the newest proved damaged. */
tt_status tt_ckpt_open_before(const char *dir, int64_t step, int64_t before, tt_ckpt **ckpt, tt_error *err);
void tt_ckpt_close(tt_ckpt **ckpt);

/** Its step, its folder and its meta; borrowed. */
int64_t tt_ckpt_step(const tt_ckpt *ckpt);
const char *tt_ckpt_path(const tt_ckpt *ckpt); /* the step's folder */
const char *tt_ckpt_meta(const tt_ckpt *ckpt); /* JSON text given to save */
/** Number of logical tensors, and the i-th's name, dtype and shape (borrowed). */
int tt_ckpt_n_tensors(const tt_ckpt *ckpt);
const char *tt_ckpt_tensor_info(const tt_ckpt *ckpt, int i, tt_dtype *dtype, int *ndim, int64_t shape[TT_MAX_DIMS]);

/** Fill the boxes of `tensors` (matched by name; any box of any shape: hyperslabs are intersected with the shards on disk).
 *  Each shard that is touched is read whole and checked against its hash; on an error the boxes hold nothing to use.
 *  Errors: TT_ERR_CKPT naming file and tensor (missing name with the closest existing one, other shape or dtype, hash
 *  mismatch), TT_ERR_IO. Not collective. */
tt_status tt_ckpt_read(tt_ckpt *ckpt, const tt_ckpt_tensor *tensors, int n, tt_error *err);

/** Check every hash of every shard and of the index. Errors name the first bad one. Not collective. */
tt_status tt_ckpt_verify(tt_ckpt *ckpt, tt_error *err);

#endif
