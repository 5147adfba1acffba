/* TOML files with the settings of the reference's own training files (tests/golden/toml): they
 * read, the settings land, and what --print-config writes reads back with the same values. The file
 * of all defaults changes nothing. */
#include "base/config.h"
#include "base/config_table.h"
#include "base/fs.h"
#include "tap.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct row {
    const char *name, *model, *flavor;
    int64_t local_batch, seq_len, steps;
    double lr;
    int64_t warmup;
    double decay_ratio; /* NAN: unset */
    const char *decay_type;
    double floor;
    int64_t tp, pp, ep;
    const char *ac, *option;
} rows[] = {
    {"llama3_debugmodel", "llama3", "debugmodel", 8, 2048, 10, 8e-4, 2, 0.8, "linear", 0, 1, 1, 1,
     "selective", "2"},
    {"llama3_8b", "llama3", "8B", 1, 8192, 1000, 3e-4, 200, NAN, "linear", 0, 1, 1, 1, "selective",
     "op"},
    {"llama3_70b", "llama3", "70B", 8, 8192, 1000, 1.5e-4, 200, NAN, "linear", 0, 8, 1, 1, "full",
     "2"},
    {"llama3_405b", "llama3", "405B", 2, 8192, 3000, 8e-5, 600, NAN, "linear", 0, 8, 1, 1, "full",
     "2"},
    {"llama4_debugmodel", "llama4", "debugmodel", 8, 2048, 10, 4e-3, 2, 0.8, "linear", 0.1, 1, 1, 1,
     "selective", "op"},
    {"llama4_17bx16e", "llama4", "17bx16e", 8, 8192, 3000, 4e-3, 600, NAN, "linear", 0.1, 8, 1, 1,
     "full", "2"},
    {"llama4_17bx128e", "llama4", "17bx128e", 1, 8192, 3000, 4e-3, 600, NAN, "linear", 0.1, 8, 4, 1,
     "full", "2"},
    {"deepseek_v3_debugmodel", "deepseek_v3", "debugmodel", 8, 2048, 10, 8e-4, 2, 0.8, "linear", 0,
     1, 1, 1, "selective", "op"},
    {"deepseek_v3_16b", "deepseek_v3", "16B", 4, 4096, 1000, 2.2e-4, 200, 0.8, "cosine", 0.1, 1, 1,
     8, "selective", "op"},
    {"deepseek_v3_671b", "deepseek_v3", "671B", 4, 4096, 10000, 2.2e-4, 2000, 0.8, "cosine", 0.1, 1,
     1, 1, "selective", "op"},
    {"gpt_oss_debugmodel", "gpt_oss", "debugmodel", 8, 2048, 10, 8e-4, 2, 0.8, "linear", 0, 1, 1, 1,
     "none", "2"},
    {"qwen3_0.6b", "qwen3", "0.6B", 4, 4096, 10, 3e-4, 2, NAN, "linear", 0, 1, 1, 1, "selective",
     "2"},
    {"qwen3_1.7b", "qwen3", "1.7B", 4, 4096, 100, 8e-4, 20, NAN, "linear", 0, 1, 1, 1, "selective",
     "2"},
    {"qwen3_32b", "qwen3", "32B", 2, 4096, 3000, 8e-4, 600, NAN, "linear", 0, 1, 1, 1, "full", "2"},
    {"qwen3_moe_debug", "qwen3", "debugmodel_moe", 4, 4096, 10, 3e-4, 2, NAN, "linear", 0, 1, 1, 1,
     "selective", "2"},
    {"flux_debug", "flux", "flux-debug", 4, 2048, 10, 8e-4, 1, 0, "linear", 0, 1, 1, 1, "full",
     "2"},
    {"flux_dev", "flux", "flux-dev", 32, 2048, 30000, 1e-4, 3000, 0, "linear", 0, 1, 1, 1, "full",
     "2"},
    {"flux_schnell", "flux", "flux-schnell", 64, 2048, 30000, 1e-4, 3000, 0, "linear", 0, 1, 1, 1,
     "full", "2"},
    {"llama3_ft_debugmodel", "llama3", "debugmodel", 8, 2048, 100, 8e-4, 2, 0.8, "linear", 0, 1, 1,
     1, "selective", "2"},
};

static tt_config *load(const char *path)
{
    tt_error err = {0};
    tt_config *cfg = NULL;
    char *argv[] = {"titan-train", (char *)path, NULL};
    ok(tt_config_from_args(2, argv, &cfg, &err) == TT_OK, "%s reads: %s", path, err.text);
    return cfg;
}

static char *golden(const char *name)
{
    const char *top = getenv("top_srcdir");
    char file[256];
    snprintf(file, sizeof file, "tests/golden/toml/%s.toml", name);
    return tt_fs_join(top ? top : ".", file);
}

/* Every value but the file's own name; origins differ. */
static void same_values(const tt_config *a, const tt_config *b, const char *what)
{
    int differ = 0;
    for (int i = 0; i < tt_config_n_keys(); i++)
        if (strcmp(tt_config_key(i)->name, "job.config_file") != 0 && !tt_config_same(a, b, i)) {
            diag("%s: %s differs", what, tt_config_key(i)->name);
            differ++;
        }
    is_int(differ, 0, "%s: every value is the same", what);
}

/* What --print-config writes, read back. */
static void round_trip(const tt_config *cfg, const char *name)
{
    FILE *out = fopen("printed.cfg", "w");
    tt_config_dump(cfg, out);
    fclose(out);
    tt_config *back = load("printed.cfg");
    if (back)
        same_values(cfg, back, name);
    tt_config_destroy(&back);
}

static void test_row(const struct row *r)
{
    char *path = golden(r->name);
    tt_config *cfg = load(path);
    if (!cfg)
        return;
    is_str(cfg->model.name, r->model, "%s: family", r->name);
    is_str(cfg->model.flavor, r->flavor, "%s: flavor", r->name);
    is_int(cfg->training.local_batch_size, r->local_batch, "%s: local batch", r->name);
    is_int(cfg->training.seq_len, r->seq_len, "%s: sequence length", r->name);
    is_int(cfg->training.steps, r->steps, "%s: steps", r->name);
    close_to(cfg->optimizer.lr, r->lr, 0, "%s: learning rate", r->name);
    is_int(cfg->lr_scheduler.warmup_steps, r->warmup, "%s: warmup", r->name);
    ok(cfg->lr_scheduler.decay_ratio == r->decay_ratio ||
           (isnan(r->decay_ratio) && isnan(cfg->lr_scheduler.decay_ratio)),
       "%s: decay ratio", r->name);
    is_str(cfg->lr_scheduler.decay_type, r->decay_type, "%s: decay", r->name);
    close_to(cfg->lr_scheduler.min_lr_factor, r->floor, 0, "%s: floor", r->name);
    is_int(cfg->parallelism.tensor_parallel_degree, r->tp, "%s: tp", r->name);
    is_int(cfg->parallelism.pipeline_parallel_degree, r->pp, "%s: pp", r->name);
    is_int(cfg->parallelism.expert_parallel_degree, r->ep, "%s: ep", r->name);
    is_str(cfg->activation_checkpoint.mode, r->ac, "%s: recompute", r->name);
    is_str(cfg->activation_checkpoint.selective_ac_option, r->option, "%s: its option", r->name);
    ok(strncmp(tt_config_origin(cfg, "optimizer.lr"), path, strlen(path)) == 0,
       "%s: origin of a value", r->name);
    round_trip(cfg, r->name);
    tt_config_destroy(&cfg);
    free(path);
}

/* Single settings that only some files have. */
static void test_others(void)
{
    char *path = golden("llama3_405b");
    tt_config *cfg = load(path);
    is_str(cfg->model.converters.items[0], "quantize.linear.float8", "405B: converter");
    ok(cfg->quantize.linear.float8.enable_fsdp_float8_all_gather &&
           cfg->quantize.linear.float8.precompute_float8_dynamic_scale_for_fsdp,
       "405B: float8 gathers");
    is_str(cfg->quantize.linear.float8.filter_fqns.items[0], "output", "405B: filter");
    ok(cfg->parallelism.enable_async_tensor_parallel && cfg->compile.enable,
       "405B: async TP, compile");
    tt_config_destroy(&cfg);
    free(path);
    path = golden("flux_dev");
    cfg = load(path);
    close_to(cfg->training.classifier_free_guidance_prob, 0.447, 0, "flux: guidance");
    is_int(cfg->encoder.max_t5_encoding_len, 512, "flux: prompt length");
    is_int(cfg->validation.denoising_steps, 50, "flux: denoising steps");
    tt_config_destroy(&cfg);
    free(path);
    path = golden("llama3_ft_debugmodel");
    cfg = load(path);
    is_str(cfg->fault_tolerance.semi_sync_method, "diloco", "replica groups: method");
    is_int(cfg->fault_tolerance.sync_steps, 10, "replica groups: sync");
    tt_config_destroy(&cfg);
    free(path);
    static const char *const run[] = {"llama3_debugmodel", "llama3_70b"};
    for (int i = 0; i < 2;
         i++) { /* what these switch on is all there, once the trace is left out */
        tt_error err = {0};
        path = golden(run[i]);
        cfg = load(path);
        tt_config_set(cfg, "profiling.enable_profiling", "false", "test", NULL);
        is_int(tt_config_check_built(cfg, &err), TT_OK, "%s can run: %s", run[i], err.text);
        tt_config_destroy(&cfg);
        free(path);
    }
}

static void test_defaults(const char *name)
{
    char *path = golden(name);
    tt_error err = {0};
    tt_config *cfg = load(path), *plain = NULL;
    ok(tt_config_create(&plain, &err) == TT_OK, "defaults");
    if (cfg)
        same_values(cfg, plain, name);
    tt_config_destroy(&cfg);
    tt_config_destroy(&plain);
    free(path);
}

/* Texts that need escapes, lists and names with commas survive printing and reading. */
static void test_odd_values(void)
{
    const char *text = "[job]\ndescription = \"a\\tb\\n\\\"c\\\\ # é \\u0001 "
                       "@include\"\ndump_folder = '''x\ny'''\n"
                       "[model]\nconverters = [\"a,b\", \"\", '\"']\n[optimizer]\nlr = 1_0e-5\n"
                       "[parallelism]\nmodule_fqns_per_model_part = [[\"a\", \"q\\\"\"], [], "
                       "[\"b\"]]\n[debug]\nseed = 4294967296\n";
    ok(tt_fs_write("odd.toml", text, strlen(text), NULL) == TT_OK, "written");
    tt_config *cfg = load("odd.toml");
    is_str(cfg->job.description, "a\tb\n\"c\\ # é \x01 @include", "escapes");
    is_int(cfg->model.converters.n, 3, "items with commas are not split");
    is_int(cfg->parallelism.module_fqns_per_model_part.n, 3, "an empty inner list counts");
    ok(cfg->debug.seed == 4294967296, "an integer beyond 32 bits");
    round_trip(cfg, "odd values");
    tt_config_destroy(&cfg);
}

int main(void)
{
    char dir[] = "/tmp/titan-toml-XXXXXX", top[4096];
    if (!realpath(getenv("top_srcdir") ? getenv("top_srcdir") : ".", top) ||
        setenv("top_srcdir", top, 1) != 0 || !mkdtemp(dir) || chdir(dir) != 0)
        skip_all("no temporary folder");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        test_row(&rows[i]);
    test_others();
    test_defaults("defaults");
    test_defaults("newer");
    test_odd_values();
    ok(chdir("/") == 0 && tt_fs_remove_all(dir, NULL) == TT_OK, "cleaned up");
    return done_testing();
}
