/* titan-generate: continue a prompt with the weights of a checkpoint or of a published folder. */
#include "base/args.h"
#include "base/log.h"
#include "base/rng.h"
#include "base/version.h"
#include "run/generator.h"
#include "run/sampling.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

enum {
    OPT_PROMPT, OPT_MAX_TOKENS, OPT_TEMPERATURE, OPT_TOP_K, OPT_TOP_P, OPT_SEED, OPT_LOGPROBS, OPT_ASSETS, OPT_TOKENIZER, OPT_DTYPE,
    OPT_THREADS, OPT_HELP, OPT_VERSION, N_OPTIONS
};

static tt_option options[N_OPTIONS] = {
    [OPT_PROMPT] = {"prompt", "TEXT", "text to continue (else read from standard input)", NULL},
    [OPT_MAX_TOKENS] = {"max-tokens", "N", "tokens to add (default 128)", NULL},
    [OPT_TEMPERATURE] = {"temperature", "X", "0 takes the likeliest token (default), 1 samples the model's distribution", NULL},
    [OPT_TOP_K] = {"top-k", "K", "sample among the K likeliest tokens only (default 0: all)", NULL},
    [OPT_TOP_P] = {"top-p", "P", "sample among the fewest tokens whose probabilities sum to P (default 1: all)", NULL},
    [OPT_SEED] = {"seed", "N", "seed of the sampling (default 0)", NULL},
    [OPT_LOGPROBS] = {"logprobs", "K", "print JSON lines with each token's log-probability and the K likeliest, instead of text", NULL},
    [OPT_ASSETS] = {"model.hf_assets_path", "DIR", "tokenizer of this folder (default: the model's own)", NULL},
    [OPT_TOKENIZER] = {"model.tokenizer_path", "NAME", "this tokenizer: a file, a folder, or \"byte\"", NULL},
    [OPT_DTYPE] = {"training.mixed_precision_param", "TYPE", "compute type: float32 or bfloat16 (default: as trained, else float32)", NULL},
    [OPT_THREADS] = {"threads", "N", "compute threads (default 0: the cores there are)", NULL},
    [OPT_HELP] = {"help", NULL, "print this and exit", NULL},
    [OPT_VERSION] = {"version", NULL, "print the version and exit", NULL},
};

typedef struct request {
    tt_sampling sampling;
    int64_t max_tokens, seed, threads, logprobs; /* logprobs -1: text */
    char *prompt;                                /* owned */
    size_t prompt_bytes;
} request;

static tt_status read_options(request *r, tt_error *err)
{
    *r = (request){.max_tokens = 128, .logprobs = -1, .sampling.top_p = 1};
    tt_status st = TT_OK;
    if (options[OPT_MAX_TOKENS].value)
        TT_TRY(tt_args_int(&options[OPT_MAX_TOKENS], 1, 1 << 30, &r->max_tokens, err));
    if (options[OPT_TEMPERATURE].value)
        TT_TRY(tt_args_float(&options[OPT_TEMPERATURE], 0, 1e6, &r->sampling.temperature, err));
    if (options[OPT_TOP_K].value)
        TT_TRY(tt_args_int(&options[OPT_TOP_K], 0, 1 << 30, &r->sampling.top_k, err));
    if (options[OPT_TOP_P].value)
        TT_TRY(tt_args_float(&options[OPT_TOP_P], 1e-9, 1, &r->sampling.top_p, err));
    if (options[OPT_SEED].value)
        TT_TRY(tt_args_int(&options[OPT_SEED], 0, INT64_MAX, &r->seed, err));
    if (options[OPT_LOGPROBS].value)
        TT_TRY(tt_args_int(&options[OPT_LOGPROBS], 0, 1 << 20, &r->logprobs, err));
    if (options[OPT_THREADS].value)
        TT_TRY(tt_args_int(&options[OPT_THREADS], 0, 4096, &r->threads, err));
out:
    return st;
}

static tt_status read_prompt(request *r, tt_error *err)
{
    if (options[OPT_PROMPT].value) {
        r->prompt = strdup(options[OPT_PROMPT].value);
        r->prompt_bytes = strlen(r->prompt);
        return TT_OK;
    }
    size_t room = 0, n = 0;
    for (size_t got = 1; got > 0; n += got) {
        if (room - n < 4096)
            r->prompt = realloc(r->prompt, room = room ? 2 * room : 8192);
        TT_ASSERT(r->prompt);
        got = fread(r->prompt + n, 1, room - n, stdin);
    }
    r->prompt_bytes = n;
    return ferror(stdin) ? tt_fail(err, TT_ERR_IO, "cannot read the prompt from standard input; give it with --prompt=TEXT") : TT_OK;
}

static tt_status open_generator(const char *path, const request *r, tt_generator **g, tt_error *err)
{
    static const int settings[] = {OPT_ASSETS, OPT_TOKENIZER, OPT_DTYPE};
    const char *text[3];
    char *made[3];
    int n = 0;
    for (size_t i = 0; i < sizeof settings / sizeof settings[0]; i++) {
        const tt_option *o = &options[settings[i]];
        if (!o->value)
            continue;
        made[n] = malloc(strlen(o->name) + strlen(o->value) + 2);
        TT_ASSERT(made[n]);
        sprintf(made[n], "%s=%s", o->name, o->value);
        text[n] = made[n];
        n++;
    }
    tt_status st = tt_generator_open(
        &(tt_generator_opts){.path = path, .settings = text, .n_settings = n, .threads = (int)r->threads}, g, err);
    while (n > 0)
        free(made[--n]);
    return st;
}

/* --- output: text as it comes, or JSON lines -------------------------------------------------------------------------- */

/* Characters go out whole, also when two tokens share one. */
static tt_status print_text(tt_decoder *d, int32_t id, tt_error *err)
{
    const char *text;
    size_t bytes;
    tt_status st = tt_decoder_push(d, id, &text, &bytes, err);
    if (st != TT_OK)
        return st;
    fwrite(text, 1, bytes, stdout);
    fflush(stdout);
    return TT_OK;
}

static void print_json(json_t *o)
{
    json_dumpf(o, stdout, JSON_COMPACT | JSON_REAL_PRECISION(9));
    putchar('\n');
    fflush(stdout);
    json_decref(o);
}

/* ids as text that is always UTF-8: what is cut off of a character is U+FFFD, as in the stream. */
static json_t *json_text(const tt_tokenizer *tok, const int32_t *ids, size_t n, int keep_special)
{
    tt_decoder d = {.tokenizer = tok, .keep_special = keep_special};
    json_t *whole = NULL;
    char *text = NULL;
    size_t size, bytes;
    const char *piece;
    FILE *out = open_memstream(&text, &size);
    TT_ASSERT(out);
    for (size_t i = 0; i < n; i++)
        if (tt_decoder_push(&d, ids[i], &piece, &bytes, NULL) == TT_OK)
            fwrite(piece, 1, bytes, out);
    tt_decoder_finish(&d, &piece, &bytes);
    fwrite(piece, 1, bytes, out);
    tt_decoder_close(&d);
    fclose(out);
    whole = json_stringn(text, size);
    free(text);
    return whole;
}

static json_t *json_token(const tt_generator *g, const tt_sampler *s, const float *logits, int32_t id)
{
    return json_pack("{s:i, s:o, s:f}", "id", (int)id, "text", json_text(g->tokenizer, &id, 1, 1), "logprob",
                     tt_sampler_logprob(s, logits, id));
}

static void print_token_json(const tt_generator *g, tt_sampler *s, const float *logits, int32_t id, int64_t k)
{
    int64_t n;
    json_t *o = json_token(g, s, logits, id), *top = json_array();
    const int32_t *ids = tt_sampler_top(s, logits, k, &n);
    for (int64_t i = 0; i < n; i++)
        json_array_append_new(top, json_token(g, s, logits, ids[i]));
    json_object_set_new(o, "top", top);
    print_json(o);
}

static json_t *json_ids(const int32_t *ids, int64_t n)
{
    json_t *list = json_array();
    for (int64_t i = 0; i < n; i++)
        json_array_append_new(list, json_integer(ids[i]));
    return list;
}

/* --- generating ------------------------------------------------------------------------------------------------------- */

/* Ids of the prompt, BOS first when there is one; room for max_tokens more. */
static tt_status encode_prompt(const tt_generator *g, const request *r, int32_t **out, int64_t *n, tt_error *err)
{
    int32_t *encoded = NULL;
    size_t count;
    const int32_t bos = tt_tokenizer_bos(g->tokenizer);
    const int64_t rows = g->model->dims.vocab_size;
    tt_status st = tt_tokenizer_encode(g->tokenizer, r->prompt, r->prompt_bytes, &encoded, &count, err);
    if (st != TT_OK)
        return st;
    int32_t *ids = malloc(sizeof *ids * (count + (size_t)r->max_tokens + 1));
    TT_ASSERT(ids);
    *n = 0;
    if (bos >= 0)
        ids[(*n)++] = bos;
    memcpy(ids + *n, encoded, sizeof *ids * count);
    *n += (int64_t)count;
    free(encoded);
    *out = ids;
    for (int64_t i = 0; i < *n; i++)
        if (ids[i] >= rows)
            return tt_fail(err, TT_ERR_CONFIG, "the prompt has the token id %d, but the model's vocabulary has %lld rows; name the "
                           "model's own tokenizer with --model.hf_assets_path (now \"%s\")", ids[i], (long long)rows,
                           tt_tokenizer_name(g->tokenizer));
    if (*n == 0)
        return tt_fail(err, TT_ERR_CONFIG, "the prompt is empty and the tokenizer \"%s\" has no token that begins a text; give "
                       "--prompt=TEXT", tt_tokenizer_name(g->tokenizer));
    return TT_OK;
}

static void finish(const tt_generator *g, const request *r, tt_decoder *d, const int32_t *ids, int64_t n, int ended, double logprob)
{
    const char *rest;
    size_t bytes;
    if (r->logprobs >= 0) {
        print_json(json_pack("{s:o, s:o, s:f, s:s}", "text", json_text(g->tokenizer, ids, (size_t)n, 0), "ids", json_ids(ids, n),
                             "logprob", logprob, "finish_reason", ended ? "stop" : "length"));
        return;
    }
    tt_decoder_finish(d, &rest, &bytes);
    fwrite(rest, 1, bytes, stdout);
    putchar('\n');
}

static tt_status generate(tt_generator *g, tt_world *world, const request *r, tt_error *err)
{
    int32_t *ids = NULL;
    tt_sampler *sampler = NULL;
    int64_t n = 0, vocab, first;
    const float *logits;
    tt_decoder decoder = {.tokenizer = g->tokenizer};
    const uint64_t key = tt_rng_key((uint64_t)r->seed, "generate");
    double sum = 0;
    int ended = 0;
    tt_status st;
    TT_TRY(encode_prompt(g, r, &ids, &n, err));
    first = n;
    TT_TRY(tt_generator_ready(g, world, n + r->max_tokens, err));
    if (r->logprobs >= 0)
        print_json(json_pack("{s:o, s:o}", "prompt", json_text(g->tokenizer, ids, (size_t)n, 0), "prompt_ids", json_ids(ids, n)));
    else
        fwrite(r->prompt, 1, r->prompt_bytes, stdout);
    while (n - first < r->max_tokens && !ended) {
        TT_TRY(tt_generator_logits(g, ids, n, &logits, &vocab, err));
        if (!sampler)
            TT_TRY(tt_sampler_create(vocab, &sampler, err));
        tt_rng_block b = tt_rng_at(key, (uint64_t)(n - first), 0);
        int32_t id = tt_sampler_draw(sampler, logits, &r->sampling, tt_unit53(b.v[0], b.v[1]));
        sum += tt_sampler_logprob(sampler, logits, id);
        ended = id == tt_tokenizer_eos(g->tokenizer);
        if (r->logprobs >= 0)
            print_token_json(g, sampler, logits, id, r->logprobs);
        else if (!ended)
            TT_TRY(print_text(&decoder, id, err));
        ids[n++] = id;
    }
    finish(g, r, &decoder, ids + first, n - first, ended, sum);
out:
    tt_decoder_close(&decoder);
    tt_sampler_destroy(&sampler);
    free(ids);
    return st;
}

int main(int argc, char **argv)
{
    tt_status st;
    tt_error err = {0};
    tt_world *world = NULL;
    tt_generator *g = NULL;
    request r = {0};

    TT_TRY(tt_args_take(&argc, argv, options, N_OPTIONS, &err));
    if (options[OPT_HELP].value) {
        puts("usage: titan-generate MODEL [--prompt TEXT] [options]\n\n"
             "MODEL is a step-N folder of titan-train, the folder that holds them (then the newest good one), or a\n"
             "published folder with config.json and safetensors.\n");
        tt_args_help(options, N_OPTIONS, stdout);
        goto out;
    }
    if (options[OPT_VERSION].value) {
        tt_version_print(stdout, "titan-generate");
        goto out;
    }
    TT_TRY(tt_args_positional(&argc, argv, options, N_OPTIONS, 1, 1, "MODEL", &err));
    TT_TRY(read_options(&r, &err));
    tt_log_set_level(TT_LOG_WARN);
    TT_TRY(tt_world_open(&world, &err));
    if (tt_world_size(world) > 1)
        TT_TRY(tt_fail(&err, TT_ERR_LAUNCH, "titan-generate runs on one rank, not %d; start it without a launcher",
                       tt_world_size(world)));
    TT_TRY(open_generator(argv[1], &r, &g, &err));
    TT_TRY(read_prompt(&r, &err));
    TT_TRY(generate(g, world, &r, &err));
out:
    free(r.prompt);
    tt_generator_close(&g);
    st = tt_world_close(&world, st, &err);
    return tt_exit_code(st);
}
