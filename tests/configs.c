/* Every installed config is found by its name, reads without an error, asks for nothing that is not built, and says what
 * the reference says in the settings that matter. */
#include "base/config.h"
#include "tap.h"

#include <stdlib.h>
#include <string.h>

static const struct row {
    const char *name, *flavor;
    double lr;
    int64_t steps, warmup, seq_len, local_batch, tp;
    double rope_scaling; /* 0: the flavor's own */
} rows[] = {
    {"llama3_debugmodel", "debugmodel", 8e-4, 10, 2, 2048, 8, 1, 0},
    {"llama3_1b", "1B", 3e-4, 1000, 200, 8192, 1, 1, 32},
    {"llama3_3b", "3B", 3e-4, 1000, 200, 8192, 1, 1, 32},
    {"llama3_8b", "8B", 3e-4, 1000, 200, 8192, 1, 1, 0},
    {"llama3_70b", "70B", 1.5e-4, 1000, 200, 8192, 8, 8, 0},
    {"llama3_405b", "405B", 8e-5, 3000, 600, 8192, 2, 8, 0},
    {"quickstart", "debugmodel", 4e-3, 500, 20, 256, 4, 1, 0},
};

static void test_row(const struct row *r)
{
    tt_config *cfg = NULL;
    tt_error err = {0};
    char *argv[] = {"titan-train", (char *)r->name, NULL};
    if (!ok(tt_config_from_args(2, argv, &cfg, &err) == TT_OK, "%s reads: %s", r->name, err.text))
        return;
    ok(tt_config_check_built(cfg, &err) == TT_OK, "%s is built: %s", r->name, err.text);
    is_str(cfg->model.name, "llama3", "%s: family", r->name);
    is_str(cfg->model.flavor, r->flavor, "%s: flavor", r->name);
    close_to(cfg->optimizer.lr, r->lr, 0, "%s: learning rate", r->name);
    is_int(cfg->training.steps, r->steps, "%s: steps", r->name);
    is_int(cfg->lr_scheduler.warmup_steps, r->warmup, "%s: warmup", r->name);
    is_int(cfg->training.seq_len, r->seq_len, "%s: sequence length", r->name);
    is_int(cfg->training.local_batch_size, r->local_batch, "%s: local batch", r->name);
    is_int(cfg->parallelism.tensor_parallel_degree, r->tp, "%s: tensor parallel degree", r->name);
    close_to(TT_FLOAT_OR(cfg->model.rope_scaling_factor, 0), r->rope_scaling, 0, "%s: rope scaling", r->name);
    ok(cfg->checkpoint.enable, "%s: checkpoints are on", r->name);
    tt_config_destroy(&cfg);
}

int main(void)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        test_row(&rows[i]);
    return done_testing();
}
