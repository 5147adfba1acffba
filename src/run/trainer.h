/* The trainer: a job from its configuration to its last step.
 *
 * Output folder: <dump_folder>/{checkpoint/step-N, logs/rank-N.log, metrics.jsonl, lock}. A lock keeps two jobs apart. */
#ifndef TT_RUN_TRAINER_H
#define TT_RUN_TRAINER_H

#include "base/config.h"
#include "models/model.h"
#include "world/world.h"

typedef struct tt_trainer tt_trainer;

/** Folder and lock, seed, data, device, program: reserve everything. cfg, world and model are borrowed.
 *  Collective; an error of one rank is everybody's. */
tt_status tt_trainer_create(const tt_config *cfg, tt_world *world, const tt_mesh *mesh, const tt_model *model,
                            tt_trainer **trainer, tt_error *err);
void tt_trainer_destroy(tt_trainer **trainer); /* accepts NULL */

/** Newest good checkpoint of the folder, else initial_load_path (a titan step or a Hugging Face folder), else fresh
 *  weights; one line says which and why. Collective. */
tt_status tt_trainer_restore(tt_trainer *trainer, tt_error *err);

/** Steps are left and nobody was told to stop. Collective. */
int tt_trainer_more(tt_trainer *trainer);

/** One optimizer step with its data, report, validation and checkpoint. A non-finite loss or gradient is TT_ERR_NONFINITE
 *  with step, rank and tensor; state is left as it was. Collective. */
tt_status tt_trainer_step(tt_trainer *trainer, tt_error *err);

/** The last checkpoint. TT_ERR_STOPPED after a signal (saved in full, to be continued). Collective. */
tt_status tt_trainer_finish(tt_trainer *trainer, tt_error *err);

#endif
