/* What a run leaves beside its metrics, so that titan-report and people know what it was: the configuration in force
 * (<dump_folder>/config.cfg) and one line per start (<dump_folder>/starts.jsonl). */
#ifndef TT_RUN_HISTORY_H
#define TT_RUN_HISTORY_H

#include "base/error.h"

#include <stdint.h>

/** Write the effective configuration's text; a resumed run replaces it. Errors: TT_ERR_IO. */
tt_status tt_history_save_config(const char *dump_folder, const char *config_text, tt_error *err);

/** Append {"time": "2026-12-01T02:03:04Z", "step": N, "ranks": R, "version": "…"}: step 0 starts the file anew, an earlier one becomes starts.jsonl.old. One rank calls
 *  it. Errors: TT_ERR_IO. */
tt_status tt_history_add_start(const char *dump_folder, int64_t step, int ranks, tt_error *err);

#endif
