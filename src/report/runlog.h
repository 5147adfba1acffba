/* A run's metrics as a table: one row per reported step, one column per tag, read from metrics.jsonl.
 *
 * The file may be of a crashed or resumed run: a torn last line and broken lines are left out and counted; when a step comes
 * again, what stood at and after it goes, so that each step is there once and the later run wins. */
#ifndef TT_REPORT_RUNLOG_H
#define TT_REPORT_RUNLOG_H

#include "base/error.h"

#include <stdint.h>

typedef struct tt_runlog_column {
    char *tag;  /* "loss_metrics/global_avg_loss", … */
    double *at; /* n rows: NaN = the step says nothing of it; infinite = it was not finite (null in the file) */
} tt_runlog_column;

typedef struct tt_runlog {
    char *path; /* of the metrics file */
    char *name; /* to show; made unique by the program */
    int64_t n, room;
    int64_t *step;
    double *tokens;  /* seen by then; NaN when the file does not say */
    double *seconds; /* spent in steps by then; NaN when the file does not say */
    tt_runlog_column *column;
    int n_columns;
    int64_t superseded; /* steps that came again */
    int64_t broken;     /* lines that are not JSON objects with a step */
    int torn;           /* the last line has no end */
    int starts, ranks;  /* from starts.jsonl; 0 = unknown */
    char *started, *version; /* of the first start, of the last; NULL = unknown */
    char *config;       /* text of config.cfg; NULL = there is none */
} tt_runlog;

/** Read a run: `path` is a dump folder or a metrics file. Errors: TT_ERR_IO (with where it looked, or that there is no whole
 *  step yet). Destroy it with tt_runlog_free. */
tt_status tt_runlog_read(const char *path, tt_runlog *run, tt_error *err);
void tt_runlog_free(tt_runlog *run); /* accepts one that is all zero */

/** The column of a tag, NULL when the run has none. */
const double *tt_runlog_find(const tt_runlog *run, const char *tag);

/* What a run comes to. NaN (or step -1) = unknown. */
typedef struct tt_runlog_point {
    double value;
    int64_t step;
} tt_runlog_point;
typedef struct tt_runlog_summary {
    int64_t steps; /* the last one */
    double tokens, last_loss, median_tps, peak_gib, seconds;
    tt_runlog_point best_loss, best_validation;
} tt_runlog_summary;

/** Sum it up. */
tt_runlog_summary tt_runlog_sum(const tt_runlog *run);

#endif
