/* Where a report goes; used by metrics.c. */
#ifndef TT_METRICS_SINKS_H
#define TT_METRICS_SINKS_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

/* The numbers of one report. A double that is not known is NaN. */
typedef struct tt_report {
    int64_t step;
    double loss, loss_max, grad_norm, lr;
    double memory_gib, memory_percent;
    double tps, tflops, mfu_percent; /* per device; mfu NaN prints N/A */
    double seconds_per_step, data_seconds_per_step, data_percent;
    int64_t tokens_seen;
} tt_report;

/** The step line with its newline into out[size]; returns its length. The form is the reference trainer's:
 *  step: N  loss: x.xxxxx  grad_norm: x.xxxx  memory: x.xxGiB(y%)  tps: n  tflops: x.xx  mfu: x.xx% */
int tt_sink_line_format(const tt_report *report, int color, char *out, size_t size);

/** Heal the file (see tt_metrics_open) and open it for appending: *fd. */
tt_status tt_sink_jsonl_open(const char *path, int64_t resume_step, int *fd, tt_error *err);

/** Append one object, in one write. Keys are the reference trainer's metric names. */
tt_status tt_sink_jsonl_write(int fd, const char *path, const tt_report *report, tt_error *err);

#endif
