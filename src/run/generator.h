/* A generator: a trained model ready to continue texts, with its tokenizer, on one rank.
 *
 * It is made from a titan checkpoint (the configuration is in it) or from a published (Hugging Face) folder (config.json says
 * the shapes). The forward of the whole text runs for each new token, at a context as short as the request allows. */
#ifndef TT_RUN_GENERATOR_H
#define TT_RUN_GENERATOR_H

#include "base/config.h"
#include "data/tokenizer.h"
#include "run/engine.h"

typedef struct tt_generator_opts {
    const char *path;            /* step-N, a folder of steps, or a folder with config.json and safetensors */
    const char *const *settings; /* n_settings texts "section.key=value" that change the configuration, such as model.hf_assets_path */
    int n_settings;
    int threads;                 /* 0: the cores there are */
} tt_generator_opts;

typedef struct tt_generator {
    tt_config *cfg;          /* owned: of the checkpoint, else defaults; with the settings */
    tt_tokenizer *tokenizer; /* owned: the settings', else the folder's own, else the checkpoint's */
    tt_model *model;         /* owned */
    int64_t context_max;     /* tokens that the model may see */
    int64_t context;         /* tokens of the engine's row; 0 before tt_generator_ready */
    tt_ckpt *ckpt;           /* owned; NULL for a published folder */
    char *path;              /* owned */
    tt_device *device;       /* owned */
    tt_engine *engine;       /* owned */
} tt_generator;

/** Read what describes the model and open its tokenizer. Errors: TT_ERR_CKPT, TT_ERR_CONFIG, TT_ERR_DATA, TT_ERR_IO. */
tt_status tt_generator_open(const tt_generator_opts *opts, tt_generator **generator, tt_error *err);
void tt_generator_close(tt_generator **generator); /* accepts NULL */

/** Build the engine for texts of up to `tokens` tokens (longer ones slide, as beyond context_max) and load the weights. Errors: those of
 *  tt_engine_create, tt_state_load, tt_engine_load_hf. */
tt_status tt_generator_ready(tt_generator *generator, tt_world *world, int64_t tokens, tt_error *err);

/** Logits of what follows ids[n], n >= 1 (the last `context` of them count): *logits[*vocab], lent until the next call; ids that the
 *  tokenizer does not have are left out of *vocab. */
tt_status tt_generator_logits(tt_generator *generator, const int32_t *ids, int64_t n, const float **logits, int64_t *vocab,
                              tt_error *err);

#endif
