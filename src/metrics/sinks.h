/* Where a report goes; used by metrics.c. */
#ifndef TT_METRICS_SINKS_H
#define TT_METRICS_SINKS_H

#include "base/error.h"
#include "metrics/metrics.h"

#include <stddef.h>
#include <stdint.h>

/* The numbers of one report. A double that is not known is NaN. */
typedef struct tt_report {
    int64_t step;
    double loss, loss_max, grad_norm, lr;
    double memory_gib, memory_percent;
    double tps, tflops, mfu_percent; /* per device; mfu NaN prints N/A */
    double seconds_per_step, data_percent;
    double time[TT_N_TIMES]; /* seconds per step of each kind; their sum is seconds_per_step */
    int64_t tokens_seen;
} tt_report;

/** The step line with its newline into out[size]; returns its length. The form is the reference trainer's:
 *  step: N  loss: x.xxxxx  grad_norm: x.xxxx  memory: x.xxGiB(y%)  tps: n  tflops: x.xx  mfu: x.xx% */
int tt_sink_line_format(const tt_report *report, int color, char *out, size_t size);

/* A number by its name. */
typedef struct tt_scalar {
    const char *tag;
    double value;
} tt_scalar;
#define TT_REPORT_SCALARS (12 + TT_N_TIMES)

/** The numbers of a report under the reference trainer's names, in a fixed order. */
void tt_report_scalars(const tt_report *report, tt_scalar out[TT_REPORT_SCALARS]);

/** Heal the file (see tt_metrics_open) and open it for appending: *fd. */
tt_status tt_sink_jsonl_open(const char *path, int64_t resume_step, int *fd, tt_error *err);

/** Append one object {"step": N, "TAG": value, …}, in one write; what is not finite becomes null. */
tt_status tt_sink_jsonl_write(int fd, const char *path, int64_t step, const tt_scalar *scalars, int n, tt_error *err);

/** Begin an event file in dir (made when missing): *fd, and its name in *path (malloc'd, the caller's). After a resume the
 *  file tells readers to drop older points from resume_step + 1 on. Errors: TT_ERR_IO. */
tt_status tt_sink_tensorboard_open(const char *dir, int64_t resume_step, int *fd, char **path, tt_error *err);
/** Append one scalar, as fp32. Tags of at most 400 bytes. */
tt_status tt_sink_tensorboard_write(int fd, const char *path, int64_t step, const char *tag, double value, tt_error *err);

#endif
