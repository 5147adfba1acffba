/* The config: bad inputs with their exact messages first, then precedence, types, includes, the dump and the lists. */
#include "base/config.h"
#include "base/fs.h"
#include "tap.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void put(const char *path, const char *text)
{
    ok(tt_fs_write(path, text, strlen(text), NULL) == TT_OK, "wrote %s", path);
}

/* Run with arguments split at blanks; the first is the program. NULL config on error. */
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
    ok(cfg == NULL, "no config");
    tt_config_destroy(&cfg);
}

static void refused_text(const char *text, const char *want)
{
    ok(tt_fs_write("bad.cfg", text, strlen(text), NULL) == TT_OK, "a file to refuse");
    refused("titan bad.cfg", TT_ERR_CONFIG, want);
}

static void test_bad_files(void)
{
    refused_text("training = { seq_len = 0; };",
                 "bad.cfg:1: training.seq_len = 0 is out of range; allowed: an integer, 1 or more");
    refused_text("training = {\n  global_batch_size = -2;\n};",
                 "bad.cfg:2: training.global_batch_size = -2 is out of range; allowed: an integer, -1 or 1 or more");
    refused_text("training = { seq_len = \"8\"; };",
                 "bad.cfg:1: training.seq_len = a text in quotes is of another type; allowed: an integer, 1 or more");
    refused_text("training = { seq_len = 8.5; };",
                 "bad.cfg:1: training.seq_len = a number with a point is of another type; allowed: an integer, 1 or more");
    refused_text("optimizer = { beta1 = 1; };",
                 "bad.cfg:1: optimizer.beta1 = 1 is out of range; allowed: a number, 0 to below 1");
    refused_text("optimizer = { eps = 0.0; };", "bad.cfg:1: optimizer.eps = 0 is out of range; allowed: a number, above 0");
    refused_text("optimizer = { name = \"SGD\"; };",
                 "bad.cfg:1: optimizer.name = \"SGD\" is not a choice; allowed: Adam or AdamW");
    refused_text("lr_scheduler = { decay_type = \"line\"; };",
                 "bad.cfg:1: lr_scheduler.decay_type = \"line\" is not a choice; did you mean "
                 "\"linear\"? allowed: linear, sqrt or cosine");
    refused_text("checkpoint = { keep_latest_k = 1; };",
                 "bad.cfg:1: checkpoint.keep_latest_k = 1 is out of range; allowed: an integer, 0 or 2 or more");
    refused_text("training = { seqlen = 8; };", "bad.cfg:1: unknown key 'training.seqlen'; did you mean 'training.seq_len'?");
    refused_text("trainnig = { seq_len = 8; };", "bad.cfg:1: unknown section 'trainnig'; did you mean 'training'?");
    refused_text("zzz = { };", "bad.cfg:1: unknown section 'zzz'; --help lists all keys");
    refused_text("training = 3;", "bad.cfg:1: unknown key 'training'; --help lists all keys");
    refused_text("model = { name = { }; };", "bad.cfg:1: model.name = a group { … } is of another type; allowed: a text");
    refused_text("model = { converters = [1]; };",
                 "bad.cfg:1: model.converters = an integer is of another type; allowed: a list of texts");
    refused_text("\n\ntraining = { steps 3 };", "bad.cfg:3: syntax error; the form is `section = { key = value; };`");
    refused_text("/* c\n c */\ntraining = { steps = 3; steps = 4; };",
                 "bad.cfg:3: duplicate setting name; the form is `section = { key = value; };`");
    refused_text("training = {\n@include \"x.cfg\"\n};", "bad.cfg:2: @include inside a group; put it outside of all braces");
    refused_text("@include x.cfg\n", "bad.cfg:1: @include needs a file name in quotes on the same line");
    refused_text(
        "\n@include \"none.cfg\"\n",
        "bad.cfg:2: @include: cannot open none.cfg: No such file or directory; check the path");
    refused_text("@include \"bad.cfg\"\n", "bad.cfg:1: includes are nested more than 10 deep; take "
                                           "out the @include by which a file includes"
                                           " itself");
    refused_text("training = { steps = 99999999999999999999; };",
                 "bad.cfg:1: 99999999999999999999 does not fit a 64-bit integer; write a smaller one");
    refused_text("\ntraining = { steps = 99999999999999999999L; };",
                 "bad.cfg:2: 99999999999999999999L does not fit a 64-bit integer; write a smaller one");
    refused_text("optimizer = {\n  lr = inf;\n};",
                 "bad.cfg:2: syntax error; the form is `section = { key = value; };`");
    refused_text("training = { global_batch_size = 12; local_batch_size = 8; };",
                 "training.global_batch_size = 12 (bad.cfg:1) does not fit training.local_batch_size = 8 (bad.cfg:1):"
                 " the global batch is a whole number of local batches; change one of them");
}

static void test_bad_arguments(void)
{
    refused("titan", TT_ERR_USAGE, "no config given; write `titan CONFIG [--section.key=value …]`, for example"
                                   " `titan quickstart`; --help lists all keys");
    refused("titan no/such.cfg", TT_ERR_CONFIG,
            "cannot find config 'no/such.cfg': no such file, and no installed config of that name;"
            " give a path, or the name of a file in the configs folder");
    refused("titan smal", TT_ERR_CONFIG,
            "cannot find config 'smal': no such file, and no installed config of that name; did you mean 'small'?");
    refused("titan small medium", TT_ERR_USAGE,
            "two configs were given, 'small' and 'medium'; give one (a file can @include another)");
    refused("titan --training.steps", TT_ERR_USAGE, "--training.steps needs a value; write --training.steps=VALUE");
    refused("titan --training.step=3", TT_ERR_CONFIG,
            "command line: unknown key 'training.step'; did you mean 'training.steps'?");
    refused("titan --training.steps=3x", TT_ERR_CONFIG,
            "command line: training.steps = 3x is not a 64-bit integer; allowed: an integer, 0 or more");
    refused("titan --optimizer.lr=fast", TT_ERR_CONFIG,
            "command line: optimizer.lr = fast is not a number; allowed: a number, 0 or more");
    refused("titan --optimizer.lr=inf", TT_ERR_CONFIG,
            "command line: optimizer.lr = inf is out of range; allowed: a number, 0 or more");
    refused("titan --checkpoint.enable=maybe", TT_ERR_CONFIG,
            "command line: checkpoint.enable = maybe is not a truth value; allowed: true or false");
    refused("titan --checkpoint.no_enable=true", TT_ERR_USAGE,
            "--checkpoint.no_enable takes no value: it means false; write it alone");
    refused("titan --training.no_steps", TT_ERR_CONFIG,
            "command line: unknown key 'training.no_steps'; did you mean 'training.steps'?");
    refused("titan --steps=3", TT_ERR_USAGE,
            "unknown option --steps; keys are written --section.key=value, --help lists them");
    refused("titan -x", TT_ERR_USAGE, "unknown option -x; keys are written --section.key=value, --help lists them");
    refused("titan --profiling.enable_profiling=maybe", TT_ERR_CONFIG,
            "command line: profiling.enable_profiling = maybe is not a truth value; allowed: true "
            "or false");
    refused("titan --debug.seed=-1", TT_ERR_CONFIG,
            "command line: debug.seed = -1 is out of range; allowed: an integer, 0 or more");
}

static tt_config *good(const char *line)
{
    tt_error err;
    tt_config *cfg = NULL;
    is_int(run(line, &cfg, &err), TT_OK, "accepted: %s", line);
    if (err.text[0])
        diag("%s", err.text);
    return cfg;
}

static void test_defaults(void)
{
    tt_config *cfg = good("titan --training.steps=5");
    is_int(cfg->training.seq_len, 2048, "default integer");
    close_to(cfg->optimizer.lr, 8e-4, 0, "default float");
    is_str(cfg->model.name, "llama3", "default text");
    ok(cfg->debug.seed == TT_UNSET_INT && isnan(cfg->lr_scheduler.decay_ratio), "unset numbers");
    ok(cfg->checkpoint.initial_load_path == NULL && cfg->model.tie_embeddings == TT_UNSET_BOOL, "unset text and bool");
    is_int(TT_INT_OR(cfg->lr_scheduler.total_steps, cfg->training.steps), 5, "a fallback for an unset integer");
    close_to(TT_FLOAT_OR(cfg->model.norm_eps, 1e-5), 1e-5, 0, "and for an unset float");
    is_int(cfg->compile.components.n, 2, "default list");
    is_str(cfg->compile.components.items[1], "loss", "its second item");
    is_str(tt_config_origin(cfg, "training.steps"), "command line", "origin of a given value");
    is_str(tt_config_origin(cfg, "training.seq_len"), "default", "origin of a default");
    ok(tt_config_origin(cfg, "no.such") == NULL, "origin of an unknown key");
    is_int(cfg->request, TT_RUN, "to be run");
    tt_config_destroy(&cfg);
    ok(cfg == NULL, "destroyed");
    tt_config_destroy(&cfg);
}

static void test_files(void)
{
    tt_fs_mkdirs("sub/deep", NULL);
    put("sub/near.cfg", "training = { steps = 7; seq_len = 64; local_batch_size = 2; };\noptimizer = { lr = 1; };\n");
    put("sub/deep/top.cfg", "\xef\xbb\xbf# a comment with \"quotes\n@include \"../near.cfg\"\n"
                            "training: { steps = 10_000; };\nmodel = { flavor = \"a\\\"b // no comment\"; }; // end\n");
    tt_config *cfg = good("titan sub/deep/top.cfg --training.seq-len 128 --training.local_batch_size=4");
    is_int(cfg->training.steps, 10000, "the including file wins over the included one");
    is_int(cfg->training.seq_len, 128, "the command line wins over all");
    close_to(cfg->optimizer.lr, 1.0, 0, "an integer serves as a float");
    is_str(cfg->model.flavor, "a\"b // no comment", "text with quotes and slashes");
    is_str(tt_config_origin(cfg, "training.steps"), "sub/deep/top.cfg:3", "origin with its line");
    is_str(tt_config_origin(cfg, "optimizer.lr"), "sub/deep/../near.cfg:2", "origin in the included file");
    is_str(cfg->job.config_file, "sub/deep/top.cfg", "the file is remembered");
    tt_config_destroy(&cfg);
    put("crlf.cfg", "# DOS lines\r\ntraining = {\r\n  num_tokens_per_train_step = "
                    "4294967296;\r\n};\r\noptimizer = { lr = 1; };\r\n");
    cfg = good("titan crlf.cfg");
    is_int(cfg->training.global_batch_size, 2097152,
           "tokens of a step beyond 32 bits, lines that end in CR LF");
    ok(cfg->optimizer.lr == 1, "a rate written as an integer");
    tt_config_destroy(&cfg);
    put("big.cfg", "training = { steps = 4294967296; seq_len = 0x10; gc_freq = 10737418240L; };\n"
                   "training2 = 1;\n");
    refused("titan big.cfg", TT_ERR_CONFIG, "big.cfg:2: unknown key 'training2'; --help lists all keys");
    put("big.cfg", "training = { steps = 4294967296; seq_len = 0x10; gc_freq = 10737418240L; };\ndebug = { seed = 2147483648; };"
                   "optimizer = { lr = 1e-3; eps = 1.5E-8; weight_decay = .5 }; quantize = { linear = { float8 = { emulate = true; }; }; };"
                   "parallelism = { module_fqns_per_model_part = ( [\"a\", \"b\"], [\"c\"] ); }");
    cfg = good("titan --job.config_file=big.cfg");
    ok(cfg->training.steps == 4294967296, "integers beyond 32 bits");
    ok(cfg->training.gc_freq == 10737418240, "with their L");
    ok(cfg->debug.seed == 2147483648, "and just beyond");
    is_int(cfg->training.seq_len, 16, "hexadecimal");
    ok(cfg->optimizer.lr == 1e-3 && cfg->optimizer.eps == 1.5e-8 && cfg->optimizer.weight_decay == 0.5, "floats");
    is_int(cfg->quantize.linear.float8.emulate, 1, "nested sections");
    is_int(cfg->parallelism.module_fqns_per_model_part.n, 2, "list of lists");
    is_str(cfg->parallelism.module_fqns_per_model_part.items[0], "a,b", "its first list");
    tt_config_destroy(&cfg);
}

static void test_flags(void)
{
    static const struct {
        const char *line;
        int want;
    } rows[] = {
        {"titan on.cfg", 1},
        {"titan on.cfg --profiling.enable_profiling=false", 0},
        {"titan on.cfg --profiling.no_enable_profiling", 0},
        {"titan on.cfg --profiling.no-enable-profiling", 0},
        {"titan on.cfg --profiling.no_enable_profiling --profiling.enable-profiling", 1},
        {"titan on.cfg --profiling.enable-profiling --profiling.enable_profiling=no", 0},
    };
    put("on.cfg", "profiling = { enable_profiling = true; };");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        tt_config *cfg = good(rows[i].line);
        is_int(cfg->profiling.enable_profiling, rows[i].want, "is %d", rows[i].want);
        tt_config_destroy(&cfg);
    }
    tt_config *cfg = good("titan --compile.disable=add_rmsnorm,swiglu --model.converters= --model.tie_embeddings=false");
    is_int(cfg->compile.disable.n, 2, "a list with commas");
    is_str(cfg->compile.disable.items[0], "add_rmsnorm", "its first item");
    is_int(cfg->model.converters.n, 0, "an empty list");
    is_int(cfg->model.tie_embeddings, 0, "a set optional bool");
    tt_config_destroy(&cfg);
    cfg = good("titan small --print-config");
    is_int(cfg->request, TT_PRINT_CONFIG, "asked to print");
    is_int(cfg->training.steps, 3, "an installed config by name");
    tt_config_destroy(&cfg);
    cfg = good("titan no-such-file --help");
    tt_config_destroy(&cfg);
    cfg = good("titan --help=mdoc");
    is_int(cfg->request, TT_HELP_MDOC, "asked for the manual");
    tt_config_destroy(&cfg);
    cfg = good("titan --version");
    is_int(cfg->request, TT_VERSION, "asked for the version");
    tt_config_destroy(&cfg);
}

static char *dump(const tt_config *cfg)
{
    char *text = NULL;
    size_t n = 0;
    FILE *out = open_memstream(&text, &n);
    tt_config_dump(cfg, out);
    fclose(out);
    return text;
}

/* Comments (origins) aside. */
static void strip_comments(char *text)
{
    char *to = text;
    for (char *at = text; *at;) {
        size_t len = strcspn(at, "\n"), keep = strcspn(at, "#\n");
        memmove(to, at, keep);
        to += keep;
        while (to > text && to[-1] == ' ')
            to--;
        at += len + (at[len] == '\n');
        *to++ = '\n';
    }
    *to = '\0';
}

static void test_dump(void)
{
    tt_config *cfg = good("titan big.cfg --model.flavor=q\"\\s --training.max_norm=0.1 --compile.disable=x,y");
    char *first = dump(cfg);
    ok(strstr(first, "    steps = 4294967296L;  # big.cfg:1\n") != NULL, "values say where they are from");
    ok(strstr(first, "    max_norm = 0.1;  # command line\n") != NULL, "shortest decimals");
    ok(strstr(first, "    # total_steps is unset\n") != NULL, "unset values are comments");
    ok(tt_fs_write("dump.cfg", first, strlen(first), NULL) == TT_OK, "written");
    tt_config_destroy(&cfg);
    tt_error err = {0};
    tt_config_create(&cfg, &err);
    is_int(tt_config_read_file(cfg, "dump.cfg", &err), TT_OK, "reads back: %s", err.text);
    char *second = dump(cfg);
    strip_comments(first);
    strip_comments(second);
    is_str(second, first, "the same values");
    free(first);
    free(second);
    tt_config_destroy(&cfg);
}

static void append(void *ctx, const char *text)
{
    char *all = ctx;
    size_t n = strlen(all);
    snprintf(all + n, 4096 - n, "%s\n", text);
}

static void test_unbuilt(void)
{
    tt_error err = {0};
    char all[4096] = "";
    tt_config *cfg = good(
        "titan --parallelism.pipeline_parallel_degree=4 --model.converters=quantize.linear.float8"
        " --training.gc_freq=10 --fault_tolerance.semi_sync_method=diloco --fault_tolerance.enable"
        " --job.custom_config_module=x");
    is_int(tt_config_check_built(cfg, &err), TT_ERR_CONFIG, "what is not built is refused");
    is_str(err.text,
           "command line: job.custom_config_module = \"x\" makes no sense here: titan has no "
           "Python; the sections of"
           " the reference's own modules are known; use \"\"",
           "by name");
    is_int(tt_config_each_unbuilt(cfg, append, all), 5, "all of them");
    is_str(strchr(all, '\n') + 1,
           "command line: model.converters = [\"quantize.linear.float8\"] asks for what this "
           "version does not have:"
           " low precision (converters); use []\n"
           "command line: parallelism.pipeline_parallel_degree = 4 asks for what this version does "
           "not have:"
           " pipeline parallelism; use 1\n"
           "command line: fault_tolerance.enable = true asks for what this version does not have:"
           " fault tolerance by replica groups; use false\n"
           "command line: fault_tolerance.semi_sync_method = \"diloco\" asks for what this version "
           "does not have:"
           " fault tolerance by replica groups; leave it unset\n",
           "in order");
    all[0] = '\0';
    is_int(tt_config_each_ignored(cfg, append, all), 1, "and what has no effect");
    is_str(all, "command line: training.gc_freq = 10 has no effect: there is no garbage collector\n", "is told");
    tt_config_destroy(&cfg);
    cfg = good("titan --parallelism.pipeline_parallel_schedule=GPipe "
               "--parallelism.context_parallel_rotate_method=alltoall"
               " --quantize.linear.float8.filter_fqns=output --fault_tolerance.group_size=2 "
               "--checkpoint.async_mode=async");
    is_int(tt_config_check_built(cfg, &err), TT_OK,
           "what is said of a part that is off is no request: %s", err.text);
    tt_config_destroy(&cfg);
    cfg = good("titan small");
    is_int(tt_config_check_built(cfg, &err), TT_OK, "a plain config passes");
    tt_config_destroy(&cfg);
}

static void test_help(void)
{
    char *text = NULL;
    size_t n = 0;
    FILE *out = open_memstream(&text, &n);
    tt_config_help(out);
    fclose(out);
    ok(strstr(text, "\n[training]\n") && strstr(text, "  --training.seq_len (an integer, 1 or more; default 2048)\n"
                                                       "      tokens per sequence.\n"), "help lists keys by section");
    free(text);
    out = open_memstream(&text, &n);
    tt_config_help_mdoc(out);
    fclose(out);
    ok(strstr(text, ".It Cm training.seq_len\ntokens per sequence (an integer, 1 or more; default 2048).\n") != NULL,
       "and so does the manual");
    free(text);
}

int main(void)
{
    char dir[] = "/tmp/titan-config-XXXXXX";
    if (!mkdtemp(dir) || chdir(dir) != 0 || setenv("TITAN_ROOT", dir, 1) != 0)
        skip_all("no temporary folder");
    tt_fs_mkdirs("configs", NULL);
    put("configs/small.cfg", "training = { steps = 3; };");
    put("configs/medium.cfg", "training = { steps = 4; };");
    test_bad_files();
    test_bad_arguments();
    test_defaults();
    test_files();
    test_flags();
    test_dump();
    test_unbuilt();
    test_help();
    ok(chdir("/") == 0 && tt_fs_remove_all(dir, NULL) == TT_OK, "cleaned up");
    return done_testing();
}
