/* See profiler.h. */
#include "profile/profiler.h"

#include "base/clock.h"
#include "base/fs.h"
#include "base/log.h"
#include "metrics/usage.h"
#include "profile/memory_map.h"
#include "profile/trace.h"

#include <stdlib.h>

struct tt_profiler {
    const tt_config *cfg;      /* borrowed, as the rest */
    const tt_program *program;
    const tt_device *device;
    tt_executor *ex;
    int recording;
    tt_trace_step now;
    tt_trace_step *step; /* owned: those recorded */
    int n_steps;
};

void tt_profiler_create(const tt_config *cfg, const tt_program *program, const tt_device *device, tt_executor *ex,
                        int64_t done, tt_profiler **profiler)
{
    const int64_t freq = cfg->profiling.profile_freq, next = (done / freq + 1) * freq;
    *profiler = NULL;
    if (!cfg->profiling.enable_profiling && !cfg->profiling.enable_memory_snapshot)
        return;
    tt_profiler *r = *profiler = calloc(1, sizeof *r);
    TT_ASSERT(r);
    *r = (tt_profiler){.cfg = cfg, .program = program, .device = device, .ex = ex};
    r->step = calloc((size_t)cfg->profiling.profiler_active, sizeof *r->step);
    TT_ASSERT(r->step);
    if (next > cfg->training.steps)
        tt_log_root(WARN, "profiling: nothing will be written: a cycle of profiling.profile_freq = %lld steps ends at step %lld, "
                    "after training.steps = %lld; use a smaller profile_freq",
                    (long long)freq, (long long)next, (long long)cfg->training.steps);
}

void tt_profiler_destroy(tt_profiler **profiler)
{
    if (*profiler)
        free((*profiler)->step);
    free(*profiler);
    *profiler = NULL;
}

/* Steps from this one to the last of its cycle, itself included. */
static int64_t left(const tt_profiler *r)
{
    const int64_t freq = r->cfg->profiling.profile_freq;
    return freq - (r->now.step - 1) % freq;
}

void tt_profiler_begin(tt_profiler *r, int64_t step)
{
    if (!r)
        return;
    r->now = (tt_trace_step){.step = step, .start = tt_clock_s()};
    const int64_t active = r->cfg->profiling.profiler_active, here = left(r);
    if (!r->cfg->profiling.enable_profiling || here > active + r->cfg->profiling.profiler_warmup)
        return;
    if (!r->recording || here == active) { /* what was recorded to warm up goes */
        tt_executor_record(r->ex, 1);
        r->n_steps = 0;
    }
    r->recording = 1;
}

void tt_profiler_fed(tt_profiler *r)
{
    if (r)
        r->now.fed = tt_clock_s();
}

int tt_profiler_end(tt_profiler *r)
{
    if (!r)
        return 0;
    r->now.end = tt_clock_s();
    if (r->recording && left(r) <= r->cfg->profiling.profiler_active)
        r->step[r->n_steps++] = r->now;
    return left(r) == 1;
}

static tt_status write_trace(tt_profiler *r, const char *path, tt_error *err)
{
    tt_trace trace = {.program = r->program, .device = r->device->table->name, .step = r->step, .n_steps = r->n_steps};
    const double start = tt_clock_s();
    trace.event = tt_executor_events(r->ex, &trace.n_events);
    tt_status st = tt_trace_write(&trace, path, err);
    if (st == TT_OK)
        tt_log_root(INFO, "trace of step %lld (%d instructions) in %s, in %.2f s; ui.perfetto.dev and chrome://tracing show it",
                    (long long)r->now.step, trace.n_events, path, tt_clock_s() - start);
    tt_executor_record(r->ex, 0);
    r->recording = r->n_steps = 0;
    return st;
}

/* FOLDER/iteration_N/rankR_KIND.json below the dump folder; its folders are made. */
static tt_status make_path(const tt_profiler *r, const char *folder, const char *kind, char **path, tt_error *err)
{
    char *root = tt_fs_join(r->cfg->job.dump_folder, folder), *dir = NULL;
    *path = NULL;
    if (!root || asprintf(&dir, "%s/iteration_%lld", root, (long long)r->now.step) < 0 ||
        asprintf(path, "%s/rank%d_%s.json", dir, r->program->mesh.rank, kind) < 0) {
        free(root);
        return tt_fail(err, TT_ERR_NOMEM, "writing the %s: out of memory", kind);
    }
    tt_status st = tt_fs_mkdirs(dir, err);
    free(root);
    free(dir);
    return st;
}

tt_status tt_profiler_write(tt_profiler *r, tt_error *err)
{
    tt_status st = TT_OK;
    char *trace = NULL, *memory = NULL;
    if (r->cfg->profiling.enable_profiling) {
        TT_TRY(make_path(r, r->cfg->profiling.save_traces_folder, "trace", &trace, err));
        TT_TRY(write_trace(r, trace, err));
    }
    if (r->cfg->profiling.enable_memory_snapshot) {
        TT_TRY(make_path(r, r->cfg->profiling.save_memory_snapshot_folder, "memory", &memory, err));
        TT_TRY(tt_memory_map_write(r->program, tt_usage_read().peak_bytes, memory, err));
    }
out:
    free(trace);
    free(memory);
    return st;
}
