/* From the configuration to a run's metrics: which rank writes what, where. */
#ifndef TT_RUN_REPORTING_H
#define TT_RUN_REPORTING_H

#include "base/config.h"
#include "metrics/metrics.h"
#include "models/model.h"
#include "world/world.h"

/** Open the metrics of a run that goes on after `step` (0: from the start). Rank 0 has the step line, metrics.jsonl and the
 *  TensorBoard folder, and notes the start (history.h); with metrics.save_for_all_ranks rank N has metrics-rank-N.jsonl, and each
 *  rank its rank_N below the TensorBoard folder. *metrics is NULL on a rank that reports nothing. Collective. Errors:
 *  TT_ERR_IO naming the file. */
tt_status tt_reporting_open(const tt_config *cfg, tt_world *world, const tt_model *model, int64_t step, tt_metrics **metrics,
                            tt_error *err);

#endif
