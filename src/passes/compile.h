/* From a model and a mesh to this rank's program: all passes in order. Pure; any rank of any mesh can be compiled anywhere.
 *
 *   build -> differentiate -> shard -> fuse -> split -> recompute -> fsdp -> workspaces -> order -> memory */
#ifndef TT_PASSES_COMPILE_H
#define TT_PASSES_COMPILE_H

#include "models/model.h"
#include "passes/fsdp.h"
#include "passes/fuse.h"
#include "passes/memory.h"
#include "passes/recompute.h"
#include "passes/shard.h"

typedef struct tt_compile_opts {
    int64_t seq_len;
    int batch;          /* sequences per microbatch and data-parallel rank */
    int n_microbatches; /* gradient accumulation steps */
    tt_dtype compute_dtype;
    int sequence_parallel;
    int64_t logits_bytes_max; /* 0 = 32 MiB */
    unsigned fusions_off;     /* fused ops to leave plain: bits 1 << tt_fusion */
    tt_recompute_opts recompute;
    tt_fsdp_opts fsdp;
    int eval_batch;        /* 0 = no validation parts */
    int64_t eval_seq_len;
    int64_t generate_seq_len; /* 0 = no generation part */
    int logits;            /* also the part that gives all logits of a training batch */
    int verify;            /* check the program after each pass, and the whole at the end (tests, debug) */
    tt_device_profile device;
} tt_compile_opts;

/** Can this model be laid on this mesh? TT_ERR_MESH names the value, the degree and the degrees that would fit. */
tt_status tt_compile_check(const tt_model *model, const tt_mesh *mesh, const tt_compile_opts *opts, tt_error *err);

/** Compile. Errors as tt_compile_check. *program is the caller's (tt_program_destroy). */
tt_status tt_compile(const tt_model *model, const tt_mesh *mesh, const tt_compile_opts *opts, tt_program **program,
                     tt_error *err);

#endif
