/* What a run tells about itself: the step line for people and one JSON object per line for programs.
 *
 * One rank (0) opens it. Each step is given once; a step is reported when it is the run's first one, or a multiple of
 * log_freq; tokens and seconds add up in between. */
#ifndef TT_METRICS_METRICS_H
#define TT_METRICS_METRICS_H

#include "base/error.h"

#include <stdint.h>

typedef struct tt_metrics tt_metrics;

typedef struct tt_metrics_opts {
    int log_freq;           /* metrics.log_freq; 0 is 1 */
    int fd;                 /* of the step line; -1: no line */
    int color;              /* 1 yes, 0 no, -1 when fd is a terminal (disable_color_printing gives 0) */
    const char *jsonl_path; /* <dump_folder>/metrics.jsonl; NULL: none */
    const char *tensorboard_dir; /* folder of event files; NULL: none */
    int64_t resume_step;    /* step of the loaded checkpoint; 0 for a run from the start */
    int devices;            /* ranks of the job: tps, tflops and mfu are per device */
    double flops_per_token; /* tt_flops_per_token; 0: tflops is 0 */
    double peak_flops;      /* per device; 0: mfu is N/A */
} tt_metrics_opts;

/* What a step's time is spent on. All kinds together are the step's end-to-end time. */
typedef enum tt_time_kind {
    TT_TIME_DATA,             /* waiting for data */
    TT_TIME_FORWARD_BACKWARD, /* computing them */
    TT_TIME_COMMUNICATION,    /* beginning communications and waiting for them; what ran beside compute is not here */
    TT_TIME_OPTIMIZER,        /* norm, clipping, update */
    TT_TIME_CHECKPOINT,       /* saving, of the steps before */
    TT_TIME_VALIDATION,       /* validating, of the steps before */
    TT_TIME_OTHER,            /* the rest */
    TT_N_TIMES
} tt_time_kind;

/** "data_loading", "forward_backward", …: time_metrics/NAME(s) is its scalar. */
const char *tt_time_name(tt_time_kind kind);

typedef struct tt_metrics_values {
    int64_t step;
    double loss, loss_max, grad_norm, lr; /* loss: mean over the global batch; loss_max: largest of the ranks' means */
    int64_t tokens;                       /* of this step, all ranks */
    int64_t tokens_seen;                  /* since the start of training */
    double seconds;                       /* from the step before's values to these */
    double time[TT_N_TIMES];              /* of it; TT_TIME_OTHER is made up from the rest and not read */
    int64_t memory_bytes, memory_limit;   /* peak and limit of the device; 0: this process's, as tt_usage_read */
} tt_metrics_values;

/** Open. The JSON file is healed: a line torn by a crash goes, and so do lines of steps after resume_step (this run makes
 *  them again). A run from the start moves an old file to PATH.old. Errors: TT_ERR_IO naming the file. */
tt_status tt_metrics_open(const tt_metrics_opts *opts, tt_metrics **metrics, tt_error *err);

/** Take the values of a step and report when it is time. Errors: TT_ERR_IO (the line still comes out). */
tt_status tt_metrics_step(tt_metrics *metrics, const tt_metrics_values *values, tt_error *err);

/** The loss of a validation after `step`, into the files. Errors: TT_ERR_IO. */
tt_status tt_metrics_validation(tt_metrics *metrics, int64_t step, double loss, tt_error *err);
/** 1 when tt_metrics_step would report that step: what is costly to know is needed then only. */
int tt_metrics_reports(const tt_metrics *metrics, int64_t step);

/** Close its files and set it to NULL; accepts NULL. */
void tt_metrics_close(tt_metrics **metrics);

#endif
