/* Training state in and out of checkpoints: weights and moments by name, and the few numbers that say where the run is.
 *
 * The data cursor, the seed and the step are all that a resume needs beside the tensors: random numbers and data are pure
 * functions of them. A fingerprint says on what the bits depend (mesh, threads, device, build); when it differs, resuming
 * is still right but not bit-exact, and the log says why. */
#ifndef TT_RUN_STATE_H
#define TT_RUN_STATE_H

#include "run/engine.h"

typedef struct tt_train_state {
    int64_t step;   /* optimizer updates done */
    int64_t cursor; /* next sample of the data set */
    int64_t tokens; /* trained on so far, all ranks */
    int64_t seed;
    char tokenizer[33]; /* tt_tokenizer_identity in hex, "" unknown */
    char *data;     /* malloc'd or NULL: what the samples are cut from and how (tt_job_data_identity) */
    char *bookmark; /* malloc'd or NULL: where the text stood (tt_loader_bookmark), so that a resume need not read it all again */
} tt_train_state;

/** Text of what the bits of a run depend on. Caller frees. */
char *tt_state_fingerprint(const tt_engine *e);

/** Free its texts. */
void tt_train_state_free(tt_train_state *state);

/** Save into opts->dir/step-N. optimizer = 0 leaves the moments out. config is the effective config's text. Collective. */
tt_status tt_state_save(tt_world *world, tt_engine *e, const tt_ckpt_options *opts, const tt_train_state *state,
                        int optimizer, const char *config, tt_error *err);

/** Load weights (and moments when `optimizer`) from an opened checkpoint, and its numbers into *state (state->bookmark is freed and replaced).
 *  With `optimizer` the run is to go on: a checkpoint of another tokenizer is refused (TT_ERR_CONFIG), one of other data warned of.
 *  A checkpoint without moments gives TT_ERR_CKPT when optimizer is asked for. Collective. */
tt_status tt_state_load(tt_engine *e, tt_ckpt *ckpt, int optimizer, tt_train_state *state, tt_error *err);

#endif
