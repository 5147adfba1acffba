/* An engine: one rank's compiled program on a device, with the step lists that use it.
 *
 * Train, validate, initialise, snapshot and restore are step lists over one state. The trainer, the self-check, the
 * generator and the tests all drive this. Every call that runs a program is collective over the mesh. */
#ifndef TT_RUN_ENGINE_H
#define TT_RUN_ENGINE_H

#include "ckpt/checkpoint.h"
#include "passes/compile.h"
#include "run/executor.h"

typedef struct tt_engine {
    const tt_model *model; /* borrowed */
    tt_device *device;     /* borrowed */
    tt_program *program;   /* owned */
    tt_comm *comm;         /* owned */
    tt_executor *executor; /* owned */
    float *wide;           /* owned: logits as fp32 when the compute type is bf16 */
} tt_engine;

/** Compile for this rank and reserve everything. opts->device is filled from `device`. Errors as tt_compile and
 *  tt_executor_create. Collective. */
tt_status tt_engine_create(tt_world *world, const tt_mesh *mesh, const tt_model *model, tt_device *device,
                           const tt_compile_opts *opts, tt_engine **engine, tt_error *err);
void tt_engine_destroy(tt_engine **engine); /* accepts NULL */

/* One microbatch of this data-parallel rank: host arrays of batch*seq_len ints that the caller fills. */
typedef struct tt_microbatch {
    int32_t *tokens, *targets, *positions, *doc_start;
    int64_t n; /* ints in each */
} tt_microbatch;
tt_microbatch tt_engine_microbatch(tt_engine *e, int index);
/** The same for one validation batch (eval_batch * eval_seq_len) and for the one sequence of generation. */
tt_microbatch tt_engine_eval_inputs(tt_engine *e);
tt_microbatch tt_engine_generate_inputs(tt_engine *e);

/** Draw initial weights; moments 0. Independent of the mesh. */
tt_status tt_engine_init(tt_engine *e, int64_t seed, tt_error *err);

typedef struct tt_step_result {
    double loss;      /* sum over valid tokens / their number */
    double loss_here; /* mean over this data-parallel rank's valid tokens; 0 when it has none */
    double grad_norm; /* before clipping */
    double n_valid;
    int bad;          /* loss or norm not finite: state was left alone */
} tt_step_result;

/** Forward and backward of all microbatches filled in, reduction, and (if update) the optimizer step. step counts from 1. */
tt_status tt_engine_step(tt_engine *e, int64_t step, double lr, int update, tt_step_result *result, tt_error *err);

/** Begin a validation; then per batch fill the validation inputs and call batch; end gives the mean loss over all ranks. */
tt_status tt_engine_eval_begin(tt_engine *e, tt_error *err);
tt_status tt_engine_eval_batch(tt_engine *e, tt_error *err);
tt_status tt_engine_eval_end(tt_engine *e, double *loss, double *n_valid, tt_error *err);

/** Logits of microbatch 0, all rows (opts.logits), or of one row of the generation inputs (opts.generate_seq_len), in host
 *  memory of the engine (until the next call), as fp32. *rows x *vocab. Weights must have been made current by tt_engine_eval_begin. */
tt_status tt_engine_logits(tt_engine *e, const float **logits, int64_t *rows, int64_t *vocab, tt_error *err);
tt_status tt_engine_row_logits(tt_engine *e, int row, const float **logits, int64_t *vocab, tt_error *err);

/** State to host / host to state / gradients to host. */
tt_status tt_engine_snapshot(tt_engine *e, tt_error *err);
tt_status tt_engine_restore(tt_engine *e, tt_error *err);
tt_status tt_engine_fetch_grads(tt_engine *e, tt_error *err);

/** The host image of state as checkpoint tensors with this rank's boxes: "model/FQN", and with optimizer also
 *  "optim/exp_avg/FQN", "optim/exp_avg_sq/FQN". *tensors is malloc'd (names live as long as the engine); *n its length. */
void tt_engine_tensors(tt_engine *e, int optimizer, tt_ckpt_tensor **tensors, int *n);
/** The same for gradients ("grad/FQN", after fetch_grads). */
void tt_engine_grad_tensors(tt_engine *e, tt_ckpt_tensor **tensors, int *n);

#endif
