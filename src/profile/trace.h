/* A trace of what one rank ran when, from the executor's own events, as Chrome's trace JSON: chrome://tracing,
 * ui.perfetto.dev and the Perfetto command line tools open it.
 *
 * One process per rank; a track for steps, one for the calls of parts, one per queue. A slice of a queue's track is one
 * instruction: its op is the name; layer, role, operands, bytes, FLOPs and waits are its arguments. Slices of one track do
 * not overlap. A communication's slice lasts until it was seen to be done; "waited_us" says how long compute stood still
 * for it. Times are the machine's monotonic clock: traces of ranks on one machine fit together. */
#ifndef TT_PROFILE_TRACE_H
#define TT_PROFILE_TRACE_H

#include "run/executor.h"

typedef struct tt_trace_step {
    int64_t step;
    double start, fed, end; /* tt_clock_s; data was there at `fed` */
} tt_trace_step;

typedef struct tt_trace {
    const tt_program *program;
    const char *device; /* its name */
    const tt_run_event *event;
    int n_events;
    const tt_trace_step *step;
    int n_steps;
} tt_trace;

/** Write a trace to path, whose folder exists. Errors: TT_ERR_IO, TT_ERR_NOMEM. */
tt_status tt_trace_write(const tt_trace *trace, const char *path, tt_error *err);

/** "embedding", "layers.0" … or "head": the part of the model that a block of a program is. Returns text. */
const char *tt_trace_layer(const tt_program *p, int block, char *text, size_t size);

#endif
