/* titan-generate: continue a prompt with the weights of a checkpoint. */
#include "base/args.h"
#include "base/config.h"
#include "base/fs.h"
#include "base/log.h"
#include "base/rng.h"
#include "base/version.h"
#include "data/tokenizer.h"
#include "run/job.h"
#include "run/state.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { OPT_PROMPT, OPT_MAX_TOKENS, OPT_TEMPERATURE, OPT_TOP_K, OPT_SEED, OPT_THREADS, OPT_HELP, OPT_VERSION, N_OPTIONS };

static tt_option options[N_OPTIONS] = {
    [OPT_PROMPT] = {"prompt", "TEXT", "text to continue (else read from standard input)", NULL},
    [OPT_MAX_TOKENS] = {"max-tokens", "N", "tokens to add (default 128)", NULL},
    [OPT_TEMPERATURE] = {"temperature", "X", "0 takes the likeliest token (default), 1 samples the model's distribution", NULL},
    [OPT_TOP_K] = {"top-k", "K", "sample among the K likeliest tokens only (default 0: all)", NULL},
    [OPT_SEED] = {"seed", "N", "seed of the sampling (default 0)", NULL},
    [OPT_THREADS] = {"threads", "N", "compute threads (default 0: the cores there are)", NULL},
    [OPT_HELP] = {"help", NULL, "print this and exit", NULL},
    [OPT_VERSION] = {"version", NULL, "print the version and exit", NULL},
};

typedef struct sampling {
    int64_t max_tokens, top_k, seed, threads;
    double temperature;
} sampling;

static tt_status read_options(sampling *s, tt_error *err)
{
    *s = (sampling){.max_tokens = 128};
    tt_status st = TT_OK;
    if (options[OPT_MAX_TOKENS].value)
        TT_TRY(tt_args_int(&options[OPT_MAX_TOKENS], 1, 1 << 30, &s->max_tokens, err));
    if (options[OPT_TEMPERATURE].value)
        TT_TRY(tt_args_float(&options[OPT_TEMPERATURE], 0, 1e6, &s->temperature, err));
    if (options[OPT_TOP_K].value)
        TT_TRY(tt_args_int(&options[OPT_TOP_K], 0, 1 << 30, &s->top_k, err));
    if (options[OPT_SEED].value)
        TT_TRY(tt_args_int(&options[OPT_SEED], 0, INT64_MAX, &s->seed, err));
    if (options[OPT_THREADS].value)
        TT_TRY(tt_args_int(&options[OPT_THREADS], 0, 4096, &s->threads, err));
out:
    return st;
}

/* --- the checkpoint and its configuration ------------------------------------------------------------------------- */

/* PATH is a step's folder, or a folder of steps (then the newest good one). */
static tt_status open_checkpoint(const char *path, tt_ckpt **c, tt_error *err)
{
    size_t n = strlen(path);
    while (n > 1 && path[n - 1] == '/')
        n--;
    size_t slash = n;
    while (slash > 0 && path[slash - 1] != '/')
        slash--;
    char *end = NULL;
    int64_t step = strncmp(path + slash, "step-", 5) ? -1 : strtoll(path + slash + 5, &end, 10);
    char *dir = step >= 0 ? strndup(path, slash ? slash : 1) : strndup(path, n);
    if (step >= 0 && slash == 0)
        dir[0] = '.';
    tt_status st = tt_ckpt_open(dir, step, c, err);
    if (st == TT_OK && !*c)
        st = tt_fail(err, TT_ERR_CKPT, "%s holds no complete checkpoint; name a step-N folder, or the folder that holds "
                     "them (<dump_folder>/checkpoint)", path);
    free(dir);
    return st;
}

/* The configuration that the checkpoint was trained with. */
static tt_status read_config(const tt_ckpt *c, tt_config **cfg, tt_error *err)
{
    const char *tmp = getenv("TMPDIR");
    char path[4096];
    tt_status st;
    json_t *meta = json_loads(tt_ckpt_meta(c), 0, NULL);
    const char *text = json_string_value(json_object_get(meta, "config"));
    snprintf(path, sizeof path, "%s/titan-generate-XXXXXX", tmp ? tmp : "/tmp");
    int fd = text ? mkstemp(path) : -1;
    if (!text)
        TT_TRY(tt_fail(err, TT_ERR_CKPT, "%s does not hold its configuration", tt_ckpt_path(c)));
    if (fd < 0)
        TT_TRY(tt_fail(err, TT_ERR_IO, "cannot make a temporary file %s; set TMPDIR to a folder that can be written", path));
    if (write(fd, text, strlen(text)) != (ssize_t)strlen(text))
        st = tt_fail(err, TT_ERR_IO, "cannot write %s", path);
    else if ((st = tt_config_create(cfg, err)) == TT_OK)
        st = tt_config_read_file(*cfg, path, err);
    close(fd);
    unlink(path);
out:
    json_decref(meta);
    return st;
}

static tt_status make_engine(const tt_config *cfg, const sampling *s, tt_world *world, tt_model **model,
                             tt_device **device, tt_engine **e, tt_error *err)
{
    const int alone[TT_N_AXES] = {1, 1, 1, 1, 1};
    tt_mesh mesh;
    tt_compile_opts o;
    tt_status st;
    TT_TRY(tt_mesh_create(alone, 1, 0, &mesh, err));
    TT_TRY(tt_job_model(cfg, model, err));
    o = (tt_compile_opts){.seq_len = cfg->training.seq_len,
                          .batch = 1,
                          .n_microbatches = 1,
                          .compute_dtype = strcmp(cfg->training.mixed_precision_param, "bfloat16") ? TT_F32 : TT_BF16,
                          .recompute = {.mode = TT_AC_FULL},
                          .generate_seq_len = cfg->training.seq_len};
    TT_TRY(tt_device_create_cpu((int)s->threads, device, err));
    TT_TRY(tt_engine_create(world, &mesh, *model, *device, &o, e, err));
out:
    return st;
}

/* --- sampling ------------------------------------------------------------------------------------------------------- */

static int32_t likeliest(const float *logits, int64_t n)
{
    int64_t best = 0;
    for (int64_t i = 1; i < n; i++)
        if (logits[i] > logits[best])
            best = i;
    return (int32_t)best;
}

static int descending(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;
    return x < y ? 1 : x > y ? -1 : 0;
}

/* The smallest logit that may still be drawn. */
static float cut_of(const float *logits, int64_t n, int64_t top_k)
{
    if (top_k <= 0 || top_k >= n)
        return -INFINITY;
    float *sorted = malloc(sizeof *sorted * (size_t)n);
    TT_ASSERT(sorted);
    memcpy(sorted, logits, sizeof *sorted * (size_t)n);
    qsort(sorted, (size_t)n, sizeof *sorted, descending);
    float cut = sorted[top_k - 1];
    free(sorted);
    return cut;
}

static int32_t draw(const float *logits, int64_t n, const sampling *s, double u)
{
    if (s->temperature == 0)
        return likeliest(logits, n);
    const float most = logits[likeliest(logits, n)], cut = cut_of(logits, n, s->top_k);
    double total = 0, so_far = 0;
    for (int64_t i = 0; i < n; i++)
        if (logits[i] >= cut)
            total += exp(((double)logits[i] - most) / s->temperature);
    for (int64_t i = 0; i < n; i++) {
        if (logits[i] < cut)
            continue;
        so_far += exp(((double)logits[i] - most) / s->temperature);
        if (so_far >= u * total)
            return (int32_t)i;
    }
    return likeliest(logits, n);
}

/* Put the last tokens into the engine's inputs; returns the row of the last one. */
static int fill(tt_engine *e, const int32_t *ids, int64_t n)
{
    tt_microbatch b = tt_engine_generate_inputs(e);
    const int64_t first = n > b.n ? n - b.n : 0, rows = n - first;
    for (int64_t i = 0; i < b.n; i++) {
        b.tokens[i] = i < rows ? ids[first + i] : 0;
        b.positions[i] = (int32_t)i;
        b.doc_start[i] = 0;
    }
    return (int)rows - 1;
}

static tt_status print_token(const tt_tokenizer *tok, int32_t id, tt_error *err)
{
    char *text;
    size_t bytes;
    tt_status st = tt_tokenizer_decode(tok, &id, 1, &text, &bytes, err);
    if (st != TT_OK)
        return st;
    fwrite(text, 1, bytes, stdout);
    fflush(stdout);
    free(text);
    return TT_OK;
}

static tt_status generate(tt_engine *e, const tt_tokenizer *tok, const char *prompt, size_t bytes, const sampling *s,
                          tt_error *err)
{
    int32_t *encoded = NULL, *ids = NULL;
    size_t n_encoded;
    int64_t n = 0, vocab;
    const float *logits;
    const int64_t known = tt_tokenizer_vocab(tok);
    const uint64_t key = tt_rng_key((uint64_t)s->seed, "generate");
    tt_status st;
    TT_TRY(tt_tokenizer_encode(tok, prompt, bytes, &encoded, &n_encoded, err));
    ids = malloc(sizeof *ids * (n_encoded + (size_t)s->max_tokens + 1));
    TT_ASSERT(ids);
    if (tt_tokenizer_bos(tok) >= 0)
        ids[n++] = tt_tokenizer_bos(tok);
    memcpy(ids + n, encoded, sizeof *ids * n_encoded);
    n += (int64_t)n_encoded;
    fwrite(prompt, 1, bytes, stdout);
    TT_TRY(tt_engine_eval_begin(e, err));
    for (int64_t i = 0; i < s->max_tokens; i++) {
        int row = fill(e, ids, n);
        TT_TRY(tt_engine_row_logits(e, row, &logits, &vocab, err));
        tt_rng_block r = tt_rng_at(key, (uint64_t)i, 0);
        int32_t id = draw(logits, vocab < known ? vocab : known, s, tt_unit53(r.v[0], r.v[1]));
        if (id == tt_tokenizer_eos(tok))
            break;
        ids[n++] = id;
        TT_TRY(print_token(tok, id, err));
    }
    putchar('\n');
out:
    free(encoded);
    free(ids);
    return st;
}

static tt_status read_prompt(char **text, size_t *bytes, tt_error *err)
{
    if (options[OPT_PROMPT].value) {
        *text = strdup(options[OPT_PROMPT].value);
        *bytes = strlen(*text);
        return TT_OK;
    }
    size_t room = 0;
    *bytes = 0;
    for (size_t got = 1; got > 0; *bytes += got) {
        if (room - *bytes < 4096)
            *text = realloc(*text, room = room ? 2 * room : 8192);
        TT_ASSERT(*text);
        got = fread(*text + *bytes, 1, room - *bytes, stdin);
    }
    return ferror(stdin) ? tt_fail(err, TT_ERR_IO, "cannot read the prompt from standard input") : TT_OK;
}

int main(int argc, char **argv)
{
    tt_status st;
    tt_error err = {0};
    tt_world *world = NULL;
    tt_ckpt *ckpt = NULL;
    tt_config *cfg = NULL;
    tt_model *model = NULL;
    tt_device *device = NULL;
    tt_engine *e = NULL;
    tt_tokenizer *tok = NULL;
    tt_train_state state;
    sampling s;
    char *prompt = NULL;
    size_t bytes = 0;

    TT_TRY(tt_args_take(&argc, argv, options, N_OPTIONS, &err));
    if (options[OPT_HELP].value) {
        puts("usage: titan-generate CHECKPOINT [--prompt TEXT] [options]\n\n"
             "CHECKPOINT is a step-N folder, or the folder that holds them (then the newest good one).\n");
        tt_args_help(options, N_OPTIONS, stdout);
        goto out;
    }
    if (options[OPT_VERSION].value) {
        tt_version_print(stdout, "titan-generate");
        goto out;
    }
    TT_TRY(tt_args_positional(&argc, argv, options, N_OPTIONS, 1, 1, "CHECKPOINT", &err));
    TT_TRY(read_options(&s, &err));
    tt_log_set_level(TT_LOG_WARN);
    TT_TRY(tt_world_open(&world, &err));
    if (tt_world_size(world) > 1)
        TT_TRY(tt_fail(&err, TT_ERR_LAUNCH, "titan-generate runs on one rank, not %d; start it without a launcher",
                       tt_world_size(world)));
    TT_TRY(open_checkpoint(argv[1], &ckpt, &err));
    TT_TRY(read_config(ckpt, &cfg, &err));
    TT_TRY(tt_tokenizer_open(cfg->model.tokenizer_path ? cfg->model.tokenizer_path : cfg->model.hf_assets_path, &tok,
                             &err));
    TT_TRY(make_engine(cfg, &s, world, &model, &device, &e, &err));
    TT_TRY(tt_state_load(e, ckpt, 0, &state, &err));
    TT_TRY(read_prompt(&prompt, &bytes, &err));
    TT_TRY(generate(e, tok, prompt, bytes, &s, &err));
out:
    free(prompt);
    tt_engine_destroy(&e);
    tt_device_destroy(&device);
    tt_model_destroy(&model);
    tt_tokenizer_close(&tok);
    tt_config_destroy(&cfg);
    tt_ckpt_close(&ckpt);
    st = tt_world_close(&world, st, &err);
    return tt_exit_code(st);
}
