/* Guards of a run: that all ranks hold programs which fit each other, and what to say when numbers stop being numbers. */
#ifndef TT_RUN_GUARD_H
#define TT_RUN_GUARD_H

#include "run/engine.h"

/** Compare a hash of every rank's communications (part, op, axes, bytes, in order) before the first step; TT_ERR_INTERNAL
 *  names the ranks that differ instead of letting them wait for each other. Collective. */
tt_status tt_guard_same_program(tt_world *world, const tt_program *p, tt_error *err);

/** A step was not finite: find the first tensor whose gradient is not, on any rank, and return TT_ERR_NONFINITE with step,
 *  rank, tensor and samples. Collective. */
tt_status tt_guard_explain(tt_world *world, tt_engine *e, int64_t step, int64_t cursor, const tt_step_result *r,
                           tt_error *err);

#endif
