/* Feeding data: which sample of the data set goes to which rank, microbatch and row. */
#ifndef TT_RUN_FEED_H
#define TT_RUN_FEED_H

#include "data/prefetch.h"
#include "run/engine.h"

/** Fill all microbatches of this rank for the step that begins at sample `cursor`. The step uses samples
 *  cursor .. cursor + global batch - 1 whatever the mesh; microbatch m of data-parallel rank d takes rows
 *  cursor + (m * dp + d) * batch onwards. Not collective. Errors: those of tt_loader_get. */
tt_status tt_feed_step(tt_engine *e, const tt_loader *loader, int64_t cursor, tt_error *err);

/** Start a thread that reads this rank's rows of the steps from sample `cursor` on, `depth` steps ahead. The caller stops it
 *  (tt_prefetch_stop) before the loader closes. Errors: those of tt_prefetch_start. */
tt_status tt_feed_start(const tt_engine *e, const tt_loader *loader, int64_t cursor, int depth, tt_prefetch **prefetch,
                        tt_error *err);
/** As tt_feed_step, from the thread, waiting until the rows are there. */
tt_status tt_feed_take(tt_engine *e, tt_prefetch *prefetch, int64_t cursor, tt_error *err);

/** Samples of one step, all ranks. */
int64_t tt_feed_global_batch(const tt_engine *e);

/** Mean loss over `batches` validation batches (-1: every whole row of the set; rows past its end are masked). Collective. */
tt_status tt_feed_validate(tt_engine *e, const tt_loader *loader, int64_t batches, double *loss, double *tokens,
                           tt_error *err);

#endif
