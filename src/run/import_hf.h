/* Published (Hugging Face) folders into an engine: the shapes of config.json, and each rank's boxes of the weights. */
#ifndef TT_RUN_IMPORT_HF_H
#define TT_RUN_IMPORT_HF_H

#include "convert/hf_config.h"
#include "run/engine.h"

/** The family name and dims that a config.json describes. Errors: TT_ERR_CONFIG for a model_type that is not built in. */
tt_status tt_model_dims_from_hf(const tt_hf_config *config, const char **family, tt_model_dims *dims, tt_error *err);

/** Read the weights of folder `dir` into the engine's state; moments become 0. The folder's shapes must be the model's.
 *  Each rank reads only what it holds. Collective. Errors: TT_ERR_DATA naming tensor and file; TT_ERR_CONFIG when the
 *  folder's model is not this one, naming what differs. */
tt_status tt_engine_load_hf(tt_engine *e, const char *dir, tt_error *err);

#endif
