/* Prefetching: one thread reads the rows of the next steps while the current one is computed.
 *
 * It knows the order in which a rank will ask (step after step, microbatch after microbatch), keeps up to `depth` steps
 * ready, and hands them over by copying. What it reads is a function of the sample number, so nothing depends on its speed;
 * how long the step had to wait for it is returned, to be shown. */
#ifndef TT_DATA_PREFETCH_H
#define TT_DATA_PREFETCH_H

#include "data/loader.h"

/* Which samples of a step are this rank's: microbatch m has rows first, first + 1, … of
 * first = cursor + offset + m * stride, `batch` of them; the next step begins at cursor + step_rows. */
typedef struct tt_prefetch_opts {
    const tt_loader *loader; /* borrowed for the thread's life */
    int64_t seq_len;         /* of a row */
    int batch, n_microbatches;
    int64_t offset, stride, step_rows; /* in samples */
    int depth;                         /* steps ahead, >= 1 */
} tt_prefetch_opts;

typedef struct tt_prefetch tt_prefetch;

/** Start the thread, which begins to read at sample `cursor` at once. Errors: TT_ERR_NOMEM, TT_ERR_IO (no thread). */
tt_status tt_prefetch_start(const tt_prefetch_opts *opts, int64_t cursor, tt_prefetch **prefetch, tt_error *err);
/** Stop the thread and free; accepts NULL. */
void tt_prefetch_stop(tt_prefetch **prefetch);

/* Where a microbatch goes: four arrays of [batch, seq_len], positions and doc_start may be NULL. */
typedef struct tt_rows {
    int32_t *tokens, *targets, *positions, *doc_start;
} tt_rows;

/** Copy the step that begins at `cursor` into out[n_microbatches]; *waited (may be NULL) is the seconds the caller had to wait. Steps are
 *  taken in order: another cursor than the expected one makes the thread begin anew there.
 *  Errors: those of tt_loader_get, at the step that they belong to. */
tt_status tt_prefetch_take(tt_prefetch *prefetch, int64_t cursor, const tt_rows *out, double *waited, tt_error *err);

#endif
