/* From the configuration to what the passes want: model, mesh degrees, compile options. Shared by every program that
 * builds a model from a config (titan-train, titan-plan, titan-generate). Pure: no rank talks to another. */
#ifndef TT_RUN_JOB_H
#define TT_RUN_JOB_H

#include "base/config.h"
#include "passes/compile.h"
#include "run/lr.h"

/** The model of cfg: the flavor's shapes with the model.* keys over them. Errors: TT_ERR_CONFIG. */
tt_status tt_job_model(const tt_config *cfg, tt_model **model, tt_error *err);

/** The mesh of `rank` in a world of `size`. ranks_per_node > 0: tensor parallelism must stay inside a node.
 *  Errors: TT_ERR_MESH. */
tt_status tt_job_mesh(const tt_config *cfg, int size, int rank, int ranks_per_node, tt_mesh *mesh, tt_error *err);

/** Batch sizes, types, recompute and sharding as the passes want them. device is left empty.
 *  Errors: TT_ERR_CONFIG (batch sizes that do not divide, seq_len beyond the model's positions, …). */
tt_status tt_job_compile_opts(const tt_config *cfg, const tt_model *model, const tt_mesh *mesh, tt_compile_opts *opts,
                              tt_error *err);

/** The schedule of cfg. */
tt_lr_opts tt_job_lr(const tt_config *cfg);

/** Threads for this rank: device.threads, else the cores it may use (shared evenly when the node's ranks are not bound). */
int tt_job_threads(const tt_config *cfg, int local_size);

/** The tokenizer that a configuration asks for (borrowed), for tt_tokenizer_open: what the command line names; else `own` (may be NULL), the
 *  tokenizer that comes with a model; else model.tokenizer_path, else model.hf_assets_path. */
const char *tt_job_tokenizer(const tt_config *cfg, const char *own);

#endif
