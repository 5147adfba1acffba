/* When to trace: steps come in cycles of profiling.profile_freq; the last profiler_active of a cycle are recorded, the
 * profiler_warmup before them are recorded and thrown away. At the end of a cycle each rank writes, below the dump folder,
 * <save_traces_folder>/iteration_N/rankR_trace.json and <save_memory_snapshot_folder>/iteration_N/rankR_memory.json. */
#ifndef TT_PROFILE_PROFILER_H
#define TT_PROFILE_PROFILER_H

#include "base/config.h"
#include "run/executor.h"

typedef struct tt_profiler tt_profiler;

/** For a run that goes on after `done` steps; it is warned of when no cycle ends before training.steps. cfg, program, device
 *  and ex are borrowed. *profiler is NULL when the configuration asks for nothing. */
void tt_profiler_create(const tt_config *cfg, const tt_program *program, const tt_device *device, tt_executor *ex,
                        int64_t done, tt_profiler **profiler);
void tt_profiler_destroy(tt_profiler **profiler); /* accepts NULL */

/** Before a step (counted from 1) and its data. Does nothing without a profiler. */
void tt_profiler_begin(tt_profiler *profiler, int64_t step);
/** Its data is there. */
void tt_profiler_fed(tt_profiler *profiler);
/** After the step: keep it; 1 when files are due (then tt_profiler_write). */
int tt_profiler_end(tt_profiler *profiler);
/** Write the files of the cycle that ends. Errors: TT_ERR_IO naming the file. */
tt_status tt_profiler_write(tt_profiler *profiler, tt_error *err);

#endif
