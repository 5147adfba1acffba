/* titan-train --debug.selfcheck: law 1 on the user's own model, mesh and data.
 *
 * Every rank trains the same first step once on the job's mesh and once alone, and compares each parameter's gradient. */
#ifndef TT_RUN_SELFCHECK_H
#define TT_RUN_SELFCHECK_H

#include "data/loader.h"
#include "run/engine.h"

/** Compare the gradients of the step that begins at sample `cursor` with those of one rank that runs the whole global
 *  batch (so every rank needs the memory of the unsharded model). Both start from the weights of `seed`. Prints one line;
 *  TT_ERR_INTERNAL names the worst parameter when it is off by more than the tolerance (fp32 1e-5, bf16 5e-2 of the
 *  tensor's largest). Collective. */
tt_status tt_selfcheck(tt_world *world, tt_engine *e, const tt_compile_opts *opts, const tt_loader *loader,
                       int64_t seed, int64_t cursor, tt_error *err);

#endif
