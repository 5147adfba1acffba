/* Which given values this version can't honour, and which have no effect. */
#include "base/config_table.h"

#include <stdlib.h>
#include <string.h>

/* Keys that say how something works which another key switches on: while that has its default they
 * mean nothing, here and in the reference, whose files set them in advance. */
static const struct {
    const char *keys, *by; /* keys: a prefix */
} switches[] = {
    {"profiling.prof", "profiling.enable_profiling"},
    {"profiling.trace", "profiling.enable_profiling"},
    {"profiling.memory_", "profiling.enable_memory_snapshot"},
    {"parallelism.pipeline_parallel_", "parallelism.pipeline_parallel_degree"},
    {"parallelism.module_fqns_per_model_part", "parallelism.pipeline_parallel_degree"},
    {"parallelism.context_parallel_", "parallelism.context_parallel_degree"},
    {"parallelism.expert_", "parallelism.expert_parallel_degree"},
    {"parallelism.disable_loss_parallel", "parallelism.tensor_parallel_degree"},
    {"parallelism.enable_async_tensor_parallel", "parallelism.tensor_parallel_degree"},
    {"checkpoint.async_mode", "checkpoint.enable"},
    {"checkpoint.export_dtype", "checkpoint.enable"},
    {"checkpoint.last_save_in_hf", "checkpoint.enable"},
    {"activation_checkpoint.memory_budget", "activation_checkpoint.mode"},
    {"quantize.", "model.converters"},
    {"memory_estimation.", "memory_estimation.enable"},
    {"fault_tolerance.", "fault_tolerance.enable"},
};

static int is_dormant(const tt_config *cfg, const tt_config *defaults, int i)
{
    const char *name = tt_config_key(i)->name;
    for (size_t s = 0; s < sizeof switches / sizeof switches[0]; s++) {
        if (strncmp(name, switches[s].keys, strlen(switches[s].keys)) != 0 ||
            strcmp(name, switches[s].by) == 0)
            continue;
        if (tt_config_same(cfg, defaults, tt_config_find_key(switches[s].by)))
            return 1;
    }
    return 0;
}

static void say_key(const tt_config *cfg, int i, const tt_config *defaults, char *text, size_t room)
{
    const tt_key *k = tt_config_key(i);
    char *value = tt_config_value_text(cfg, i), *usual = tt_config_value_text(defaults, i);
    const char *shown = value ? value : "(unset)";
    if (k->status == TT_KEY_NEVER)
        snprintf(text, room, "%s: %s = %s makes no sense here: %s; %s %s",
                 tt_config_origin_of(cfg, i), k->name, shown, k->note, usual ? "use" : "leave it",
                 usual ? usual : "unset");
    else if (k->status == TT_KEY_LATER)
        snprintf(text, room, "%s: %s = %s asks for what this version does not have: %s; %s %s",
                 tt_config_origin_of(cfg, i), k->name, shown, k->note, usual ? "use" : "leave it",
                 usual ? usual : "unset");
    else
        snprintf(text, room, "%s: %s = %s has no effect: %s", tt_config_origin_of(cfg, i), k->name,
                 shown, k->note);
    free(value);
    free(usual);
}

static int each_with_status(const tt_config *cfg, tt_key_status status,
                            void (*say)(void *ctx, const char *text), void *ctx)
{
    char text[1024];
    int found = 0;
    tt_config *defaults = NULL;
    if (tt_config_create(&defaults, NULL) != TT_OK)
        return 0;
    for (int i = 0; i < tt_config_n_keys(); i++) {
        tt_key_status is = tt_config_key(i)->status;
        if ((is == TT_KEY_NEVER ? TT_KEY_LATER : is) != status ||
            tt_config_same(cfg, defaults, i) || is_dormant(cfg, defaults, i))
            continue;
        found++;
        say_key(cfg, i, defaults, text, sizeof text);
        say(ctx, text);
    }
    tt_config_destroy(&defaults);
    return found;
}

int tt_config_each_unbuilt(const tt_config *cfg, void (*say)(void *ctx, const char *text),
                           void *ctx)
{
    return each_with_status(cfg, TT_KEY_LATER, say, ctx);
}

int tt_config_each_ignored(const tt_config *cfg, void (*say)(void *ctx, const char *text),
                           void *ctx)
{
    return each_with_status(cfg, TT_KEY_IGNORED, say, ctx);
}

static void keep_first(void *ctx, const char *text)
{
    tt_error *err = ctx;
    if (err->code == TT_OK)
        tt_fail(err, TT_ERR_CONFIG, "%s", text);
}

tt_status tt_config_check_built(const tt_config *cfg, tt_error *err)
{
    tt_error first = {0};
    if (tt_config_each_unbuilt(cfg, keep_first, &first) == 0)
        return TT_OK;
    return tt_fail(err, TT_ERR_CONFIG, "%s", first.text);
}
