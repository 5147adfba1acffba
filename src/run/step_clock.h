/* Where the time of a step goes: a stopwatch that is never stopped, whose laps are given to kinds of time.
 *
 * Every second from one report to the next belongs to exactly one kind, so the kinds add up to the step's end-to-end
 * time; what no lap named is tt_metrics' "other". */
#ifndef TT_RUN_STEP_CLOCK_H
#define TT_RUN_STEP_CLOCK_H

#include "metrics/metrics.h"
#include "run/executor.h"

#include <stddef.h>

typedef struct tt_step_clock {
    double last;                              /* end of the last lap; 0 = not started */
    tt_run_times engine;                      /* what the executor had spent by then */
    double step[TT_N_TIMES], total[TT_N_TIMES]; /* since tt_step_clock_take, since the start */
} tt_step_clock;

/** Start it, or do nothing when it runs. */
void tt_step_clock_start(tt_step_clock *c, const tt_executor *ex);

/** The time since the last lap was of this kind. */
void tt_step_clock_lap(tt_step_clock *c, const tt_executor *ex, tt_time_kind kind);

/** The time since the last lap was an engine step: split as the executor measured it. Casts and gathers at its begin count
 *  as forward and backward; norm, clipping and update as the optimizer. */
void tt_step_clock_lap_engine(tt_step_clock *c, const tt_executor *ex);

/** Seconds by kind since the last take, into seconds[TT_N_TIMES]. Returns their sum. */
double tt_step_clock_take(tt_step_clock *c, double seconds[TT_N_TIMES]);

/** One line about the whole run: "time: 12.3 s: forward/backward 80.1 %, …" into text[size]; kinds that took nothing are left
 *  out. Returns text. */
const char *tt_step_clock_summary(const tt_step_clock *c, char *text, size_t size);

#endif
