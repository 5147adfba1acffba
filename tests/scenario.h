/* What the law tests train: small models, deterministic data, and every mesh, recompute policy and schedule that fits. */
#ifndef TT_TESTS_SCENARIO_H
#define TT_TESTS_SCENARIO_H

#include "run/engine.h"

enum { SEQ = 24, STEPS = 10, N_MODELS = 4, MAX_SCENARIOS = 4096 };

typedef struct scenario {
    int model;
    int degree[TT_N_AXES];
    int global_batch, accumulation;
    tt_recompute_opts recompute;
    int sequence_parallel;
    tt_reshard reshard;
    tt_dtype compute;
    unsigned fusions_off;
} scenario;

const char *scenario_model_name(int model);
tt_status scenario_model(int model, tt_model **out, tt_error *err);
/** Sequences of one step: divisible by the data-parallel degrees of `ranks`. */
int scenario_global_batch(int ranks);
/** Fill all microbatches of this rank with the data of a step: some targets ignored, some rows two documents. */
void scenario_fill(tt_engine *e, int step);
/** The whole global batch of a step as one validation batch. */
void scenario_fill_eval(tt_engine *e, int step);
tt_status scenario_engine(tt_world *world, tt_device *device, const tt_model *model, const scenario *s, tt_engine **e,
                          tt_error *err);
void scenario_describe(const scenario *s, char *text, size_t size);
/** Every scenario for this many ranks, shuffled by TITAN_SEED; returns how many to run: all with TITAN_LONG=1, else
 *  TITAN_LAWS or `sample` of them. The choice is printed. */
int scenario_choose(int ranks, int sample, scenario *all);

#endif
