/* Names and units of other versions of the reference, in files and on the command line; TOML
 * through the config's checks. */
#include "base/config.h"
#include "base/fs.h"
#include "tap.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static tt_status run(const char *line, tt_config **cfg, tt_error *err)
{
    char copy[1024], *argv[32] = {0};
    int argc = 0;
    snprintf(copy, sizeof copy, "%s", line);
    for (char *save, *word = strtok_r(copy, " ", &save); word; word = strtok_r(NULL, " ", &save))
        argv[argc++] = word;
    memset(err, 0, sizeof *err);
    return tt_config_from_args(argc, argv, cfg, err);
}

static void refused(const char *line, tt_status status, const char *want)
{
    tt_error err;
    tt_config *cfg = NULL;
    is_int(run(line, &cfg, &err), status, "refused: %s", line);
    is_str(err.text, want, "says why");
    tt_config_destroy(&cfg);
}

static void put(const char *path, const char *text)
{
    ok(tt_fs_write(path, text, strlen(text), NULL) == TT_OK, "wrote %s", path);
}

static void refused_toml(const char *text, const char *want)
{
    put("bad.toml", text);
    refused("titan bad.toml", TT_ERR_CONFIG, want);
}

static tt_config *good(const char *line)
{
    tt_error err;
    tt_config *cfg = NULL;
    is_int(run(line, &cfg, &err), TT_OK, "accepted: %s %s", line, err.text);
    return cfg;
}

static void append(void *ctx, const char *text)
{
    char *all = ctx;
    size_t n = strlen(all);
    snprintf(all + n, 4096 - n, "%s\n", text);
}

static void test_toml(void)
{
    refused_toml("[training]\nseqlen = 8",
                 "bad.toml:2: unknown key 'training.seqlen'; did you mean 'training.seq_len'?");
    refused_toml("[trainnig]", "bad.toml:1: unknown section 'trainnig'; did you mean 'training'?");
    refused_toml("[training]\nsteps = 1.5", "bad.toml:2: training.steps = a number with a point is "
                                            "of another type; allowed: an integer, 0 or more");
    refused_toml("[training]\nsteps = \"8\"", "bad.toml:2: training.steps = a text in quotes is of "
                                              "another type; allowed: an integer, 0 or more");
    refused_toml(
        "[training]\nsteps = 1979-05-27",
        "bad.toml:2: training.steps = a date is of another type; allowed: an integer, 0 or more");
    refused_toml(
        "[training.steps]\n",
        "bad.toml:1: training.steps = a table is of another type; allowed: an integer, 0 or more");
    refused_toml("training.steps = -1\n",
                 "bad.toml:1: training.steps = -1 is out of range; allowed: an integer, 0 or more");
    refused_toml("[optimizer]\n\nlr = inf\n",
                 "bad.toml:3: optimizer.lr = inf is out of range; allowed: a number, 0 or more");
    refused_toml(
        "model = { converters = [1] }",
        "bad.toml:1: model.converters = an integer is of another type; allowed: a list of texts");
    refused_toml("parallelism.module_fqns_per_model_part = [\"a\"]",
                 "bad.toml:1: parallelism.module_fqns_per_model_part = a text in quotes is of "
                 "another type; allowed: a list of lists"
                 " of texts");
    refused_toml("parallelism.module_fqns_per_model_part = [[\"a,b\"]]",
                 "bad.toml:1: parallelism.module_fqns_per_model_part = a,b has a comma; allowed: a "
                 "list of lists of texts");
    refused_toml("\"training.steps\" = 1",
                 "bad.toml:1: unknown key '\"training.steps\"'; did you mean 'training.steps'?");
    refused_toml("[[training]]\nsteps 3\n",
                 "bad.toml:2: no '=' after the key 'steps'; the form is key = value");
    put("ok.toml",
        "\xef\xbb\xbftraining = { steps = 0x10, seq_len = 1_000, dataloader.num_workers = 2 }\r\n"
        "[optimizer]\r\n\r\nlr = 1\r\n[parallelism]\r\nmodule_fqns_per_model_part = [[\"a\", "
        "\"b\"],\r\n [\"c\"],]\r\n");
    tt_config *cfg = good("titan ok.toml --training.steps=17 --training.steps=18");
    is_int(cfg->training.steps, 18, "the command line wins, and its last word");
    is_int(cfg->training.seq_len, 1000, "underscores");
    is_int(cfg->training.dataloader.num_workers, 2, "a section in a section");
    close_to(cfg->optimizer.lr, 1, 0, "an integer serves as a float");
    is_str(cfg->parallelism.module_fqns_per_model_part.items[0], "a,b", "a list of lists");
    is_str(tt_config_origin(cfg, "training.dataloader.num_workers"), "ok.toml:1", "origin");
    tt_config_destroy(&cfg);
    put("top.cfg", "@include \"ok.toml\"\ntraining = { steps = 3; };\n");
    cfg = good("titan top.cfg");
    is_int(cfg->training.steps, 3, "libconfig text may include a TOML file");
    is_int(cfg->training.seq_len, 1000, "and gets its values");
    tt_config_destroy(&cfg);
}

static void test_unset(void)
{
    put("unset.toml", "[checkpoint]\ninitial_load_path = \"\"\n[debug]\nseed = "
                      "\"\"\n[lr_scheduler]\ntotal_steps = \"null\"\n");
    tt_config *cfg = good("titan unset.toml");
    ok(!cfg->checkpoint.initial_load_path && cfg->debug.seed == TT_UNSET_INT &&
           cfg->lr_scheduler.total_steps == TT_UNSET_INT,
       "\"\" and null unset");
    tt_config_destroy(&cfg);
    cfg = good("titan --debug.seed=3 --debug.seed=none --model.tie_embeddings=true "
               "--model.tie_embeddings= --lr_scheduler.decay_ratio=None");
    ok(cfg->debug.seed == TT_UNSET_INT && cfg->model.tie_embeddings == TT_UNSET_BOOL &&
           cfg->lr_scheduler.decay_ratio != cfg->lr_scheduler.decay_ratio,
       "and on the command line none");
    tt_config_destroy(&cfg);
    refused("titan --training.steps=none", TT_ERR_CONFIG,
            "command line: training.steps = none is not a 64-bit integer; allowed: an integer, 0 "
            "or more");
    refused(
        "titan --training.steps=", TT_ERR_CONFIG,
        "command line: training.steps =  is not a 64-bit integer; allowed: an integer, 0 or more");
}

static void test_names(void)
{
    char all[4096] = "";
    put("old.toml", "[training]\nbatch_size = 4\ncompile = true\nseed = 7\nenable_loss_parallel = "
                    "true\n[metrics]\nrank_0_only = true\n"
                    "[float8]\nenable_float8_linear = true\nfilter_fqns = "
                    "[\"output\"]\n[model]\nnorm_type = \"rmsnorm\"\n"
                    "[experimental]\npipeline_parallel_schedule = \"GPipe\"\n");
    tt_config *cfg = good("titan old.toml --checkpoint.enable-checkpoint --training.no_compile");
    is_int(cfg->training.local_batch_size, 4, "an older name in a file");
    is_int(cfg->debug.seed, 7, "another section");
    ok(cfg->checkpoint.enable && !cfg->compile.enable, "older flags on the command line");
    ok(!cfg->parallelism.disable_loss_parallel && !cfg->metrics.save_for_all_ranks,
       "the opposite sense");
    is_str(cfg->model.converters.items[0], "quantize.linear.float8",
           "a flag that is a converter now");
    is_str(cfg->quantize.linear.float8.filter_fqns.items[0], "output", "an older section");
    is_str(cfg->parallelism.pipeline_parallel_schedule, "GPipe", "experimental keys");
    is_str(tt_config_origin(cfg, "training.local_batch_size"),
           "old.toml:2 (as training.batch_size)", "origin with the name given");
    is_int(tt_config_each_renamed(cfg, append, all), 11, "one remark a key");
    is_str(all,
           "old.toml:2: training.batch_size is now training.local_batch_size\n"
           "old.toml:3: training.compile is now compile.enable\n"
           "old.toml:4: training.seed is now debug.seed\n"
           "old.toml:5: training.enable_loss_parallel is now parallelism.disable_loss_parallel, "
           "with the opposite sense\n"
           "old.toml:7: metrics.rank_0_only is now metrics.save_for_all_ranks, with the opposite "
           "sense\n"
           "old.toml:9: float8.enable_float8_linear is now an item of model.converters: "
           "\"quantize.linear.float8\"\n"
           "old.toml:10: float8.filter_fqns is now quantize.linear.float8.filter_fqns\n"
           "old.toml:12: model.norm_type has no effect: the models have RMSNorm\n"
           "old.toml:14: experimental.pipeline_parallel_schedule is now "
           "parallelism.pipeline_parallel_schedule\n"
           "command line: checkpoint.enable_checkpoint is now checkpoint.enable\n"
           "command line: training.compile is now compile.enable\n",
           "that names the key");
    tt_config_destroy(&cfg);
    put("new.cfg", "dump_folder = \"d\";\nprofiler = { profile_freq = 20; };\nvalidator = { freq = "
                   "3; dataloader = { num_workers = 1; }; };\n"
                   "dataloader = { dataset = \"c4\"; num_workers = 2; };\n");
    cfg = good("titan new.cfg --hf_assets_path=h --compile.enable_async_tensor_parallel=false "
               "--debug.print-config");
    ok(cfg->profiling.profile_freq == 20 && cfg->validation.freq == 3 &&
           cfg->training.dataloader.num_workers == 2 && cfg->validation.dataloader.num_workers == 1,
       "newer sections");
    is_str(cfg->job.dump_folder, "d", "a newer key without a section");
    is_str(cfg->model.hf_assets_path, "h", "and on the command line");
    is_str(cfg->training.dataset, "c4", "a newer place of a key");
    ok(cfg->job.print_config, "a newer flag");
    all[0] = '\0';
    tt_config_each_renamed(cfg, append, all);
    ok(strstr(all, "new.cfg:2: profiler.profile_freq is in titan profiling.profile_freq\n") != NULL,
       "told: %s", all);
    tt_config_destroy(&cfg);
    refused("titan --training.batch_size=0", TT_ERR_CONFIG,
            "command line (as training.batch_size): training.local_batch_size = 0 is out of range; "
            "allowed: an integer, 1 or more");
    refused("titan --model.norm_type=layernorm", TT_ERR_CONFIG,
            "command line: model.norm_type = layernorm has no counterpart here: the models have "
            "RMSNorm; allowed: rmsnorm or"
            " fused_rmsnorm, or leave it out");
    refused("titan --checkpoint.interval_type=seconds", TT_ERR_CONFIG,
            "command line: checkpoint.interval_type = seconds has no counterpart here: the "
            "interval is counted in steps; allowed:"
            " steps, or leave it out");
    refused("titan --metrics.rank_0_only=maybe", TT_ERR_CONFIG,
            "command line (as metrics.rank_0_only): metrics.rank_0_only = maybe is not a truth "
            "value; allowed: true or false");
    put("values.toml", "[model]\nconverters = [\"float8\", \"quantize.moe.mx\"]\n");
    cfg = good("titan values.toml --parallelism.pipeline_parallel_schedule=interleaved_1f1b");
    is_str(cfg->model.converters.items[0], "quantize.linear.float8", "an older word in a list");
    is_str(cfg->model.converters.items[1], "quantize.grouped_mm.mx", "and another");
    is_str(cfg->parallelism.pipeline_parallel_schedule, "Interleaved1F1B", "and as a value");
    tt_config_destroy(&cfg);
    refused(
        "titan --parallelism.pipeline_parallel_schedule=Interleave1F1B", TT_ERR_CONFIG,
        "command line: parallelism.pipeline_parallel_schedule = \"Interleave1F1B\" is not a "
        "choice; did you mean"
        " \"Interleaved1F1B\"? allowed: GPipe, 1F1B, Interleaved1F1B, LoopedBFS, "
        "InterleavedZeroBubble, ZBVZeroBubble,"
        " DualPipeV, PipelineScheduleSingle, PipelineScheduleMulti or _PipelineScheduleRuntime");
}

static void test_tokens(void)
{
    put("tokens.toml", "[training]\nnum_tokens_per_microbatch_per_dp_rank = "
                       "16384\nnum_tokens_per_train_step = 4294967296\n"
                       "max_context_length = 4096\n");
    tt_config *cfg = good("titan tokens.toml");
    is_int(cfg->training.seq_len, 4096, "context");
    is_int(cfg->training.local_batch_size, 4, "tokens of a microbatch");
    is_int(cfg->training.global_batch_size, 1048576, "tokens of a step, beyond 32 bits");
    is_str(tt_config_origin(cfg, "training.global_batch_size"),
           "tokens.toml:3 (from training.num_tokens_per_train_step)", "origin");
    ok(cfg->training.num_tokens_per_train_step == TT_UNSET_INT &&
           cfg->training.max_context_length == TT_UNSET_INT,
       "the printed config has one spelling");
    tt_config_destroy(&cfg);
    cfg = good("titan tokens.toml --training.seq_len=2048 --training.num_tokens_per_train_step=-1");
    ok(cfg->training.seq_len == 2048 && cfg->training.local_batch_size == 8 &&
           cfg->training.global_batch_size == -1,
       "the command line wins over a file; tokens are counted with the length that results");
    tt_config_destroy(&cfg);
    cfg = good("titan --training.num_tokens_per_microbatch_per_dp_rank=8192 "
               "--parallelism.num_pp_microbatches=4"
               " --parallelism.pipeline_parallel_degree=2 --training.seq_len=2048 "
               "--training.max_context_length=2048");
    ok(cfg->training.local_batch_size == 16 &&
           cfg->parallelism.pipeline_parallel_microbatch_size == 4,
       "microbatches of a pipeline");
    tt_config_destroy(&cfg);
    cfg = good("titan --training.local_batch_size=8 --parallelism.num_pp_microbatches=4 "
               "--parallelism.pipeline_parallel_degree=2");
    is_int(cfg->parallelism.pipeline_parallel_microbatch_size, 2, "their number alone");
    tt_config_destroy(&cfg);
    refused("titan --training.num_tokens_per_microbatch_per_dp_rank=10000", TT_ERR_CONFIG,
            "training.num_tokens_per_microbatch_per_dp_rank = 10000 (command line) is not a whole "
            "number of sequences of"
            " training.seq_len = 2048 tokens (default); use 10240, or a length that divides it");
    refused("titan tokens.toml --training.num_tokens_per_train_step=5000", TT_ERR_CONFIG,
            "training.num_tokens_per_train_step = 5000 (command line) is not a whole number of "
            "sequences of training.seq_len = 4096"
            " tokens (tokens.toml:4 (from training.max_context_length)); use 8192, or a length "
            "that divides it");
    refused("titan --training.max_context_length=4096 --training.seq_len=2048", TT_ERR_CONFIG,
            "the batch is given twice: training.max_context_length = 4096 (command line) asks for "
            "training.seq_len = 4096, but that"
            " is 2048 (command line); give one of the two");
    refused("titan --training.local_batch_size=6 --parallelism.num_pp_microbatches=4 "
            "--parallelism.pipeline_parallel_degree=2",
            TT_ERR_CONFIG,
            "training.local_batch_size = 6 (command line) cannot be cut into "
            "parallelism.num_pp_microbatches = 4"
            " (command line) equal microbatches; use a multiple of 4");
    refused("titan --training.num_tokens_per_train_step=24576 --training.local_batch_size=8",
            TT_ERR_CONFIG,
            "training.global_batch_size = 12 (command line (from "
            "training.num_tokens_per_train_step)) does not fit"
            " training.local_batch_size = 8 (command line): the global batch is a whole number of "
            "local batches; change one of them");
}

int main(void)
{
    char dir[] = "/tmp/titan-names-XXXXXX";
    if (!mkdtemp(dir) || chdir(dir) != 0)
        skip_all("no temporary folder");
    test_toml();
    test_unset();
    test_names();
    test_tokens();
    ok(chdir("/") == 0 && tt_fs_remove_all(dir, NULL) == TT_OK, "cleaned up");
    return done_testing();
}
