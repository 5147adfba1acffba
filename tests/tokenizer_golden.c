/* Tokenizers of published kinds give the ids of the tokenizers library, byte for byte and id for id (golden/tokenizer.how). */
#include "base/fs.h"
#include "data/bpe_train.h"
#include "data/tokenizer.h"
#include "sha256.h"
#include "tap.h"

#include <jansson.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const kinds[] = {"gpt2", "llama3", "qwen", "o200k", "deepseek", "added"};
static char golden[4000];
static char scratch[] = "/tmp/titan-tokenizer-XXXXXX";

static tt_tokenizer *open_or_die(const char *where)
{
    char path[4200];
    tt_tokenizer *t = NULL;
    tt_error err = {0};
    snprintf(path, sizeof path, "%s%s%s", *where == '/' ? "" : golden, *where == '/' ? "" : "/", where);
    if (tt_tokenizer_open(path, &t, &err) != TT_OK)
        diag("%s", err.text);
    ok(t != NULL, "%s opens", where);
    return t;
}

static int same_ids(const json_t *want, const int32_t *ids, size_t n)
{
    if (json_array_size(want) != n)
        return 0;
    for (size_t i = 0; i < n; i++)
        if (json_integer_value(json_array_get(want, i)) != ids[i])
            return 0;
    return 1;
}

static int encodes(const tt_tokenizer *t, const json_t *row, const char *key, const tt_encode_opts *o)
{
    const json_t *text = json_object_get(row, "text"), *want = json_object_get(row, key);
    int32_t *ids = NULL;
    size_t n = 0;
    if (!want || !text)
        return 1;
    int same = tt_tokenizer_encode_as(t, json_string_value(text), json_string_length(text), o, &ids, &n, NULL) == TT_OK &&
               same_ids(want, ids, n);
    free(ids);
    return same;
}

/* All at once, and one by one: the stream is well-formed at every step and the same in the end. */
static int decodes(const tt_tokenizer *t, const json_t *row, const char *key, int keep)
{
    const json_t *list = json_object_get(row, "ids"), *want = json_object_get(row, key);
    const size_t n = json_array_size(list);
    int32_t *ids = calloc(n + 1, sizeof *ids);
    tt_decoder d = {.tokenizer = t, .keep_special = keep};
    char *text = NULL, *joined = calloc(1, json_string_length(want) + 1);
    const char *part;
    size_t bytes = 0, m = 0, at = 0;
    int same = 1;
    if (!want)
        goto out;
    for (size_t i = 0; i < n; i++)
        ids[i] = (int32_t)json_integer_value(json_array_get(list, i));
    same = tt_tokenizer_decode_as(t, ids, n, keep, &text, &bytes, NULL) == TT_OK && bytes == json_string_length(want) &&
           memcmp(text, json_string_value(want), bytes) == 0;
    for (size_t i = 0; same && i <= n; i++) {
        if (i < n)
            same = tt_decoder_push(&d, ids[i], &part, &m, NULL) == TT_OK;
        else
            tt_decoder_finish(&d, &part, &m);
        json_t *valid = json_stringn(part, m);
        same = same && valid && at + m <= bytes && memcmp(part, text + at, m) == 0;
        json_decref(valid);
        at += m;
    }
    same = same && at == bytes;
out:
    tt_decoder_close(&d);
    free(joined);
    free(text);
    free(ids);
    return same;
}

/* Call row for each line of a .jsonl file; returns the number of rows for which it was false. */
static int each_row(const char *path, int (*row)(void *ctx, const json_t *row), void *ctx, int *rows)
{
    char *text = NULL;
    size_t size = 0;
    int wrong = 0, line = 0;
    if (tt_fs_read(path, &text, &size, NULL) != TT_OK)
        return 1;
    for (char *at = text, *end = text + size, *stop; at < end; at = stop + 1) {
        stop = memchr(at, '\n', (size_t)(end - at));
        stop = stop ? stop : end;
        line++;
        json_t *v = json_loadb(at, (size_t)(stop - at), JSON_ALLOW_NUL, NULL);
        if (!v || !row(ctx, v)) {
            if (wrong++ < 3)
                diag("%s:%d: %.*s", path, line, (int)(stop - at < 200 ? stop - at : 200), at);
        }
        json_decref(v);
    }
    free(text);
    *rows = line;
    return wrong;
}

static int case_row(void *ctx, const json_t *row)
{
    const tt_tokenizer *t = ctx;
    return encodes(t, row, "ids", &(tt_encode_opts){0, 0, 0}) & encodes(t, row, "ids_with_special", &(tt_encode_opts){1, 0, 0}) &
           decodes(t, row, "decoded", 1) & decodes(t, row, "decoded_skip_special", 0);
}

static int sum_is(const int32_t *ids, size_t n, const json_t *want)
{
    char hex[65];
    sha256_hex(ids, n * sizeof *ids, hex); /* ids are little-endian on all machines that titan runs on */
    return (json_int_t)n == json_integer_value(json_object_get(want, "n")) &&
           strcmp(hex, json_string_value(json_object_get(want, "sha256"))) == 0;
}

static int long_row(void *ctx, const json_t *row)
{
    const json_t *repeat = json_object_get(row, "repeat"), *lcg = json_object_get(row, "lcg");
    const json_t *unit = json_array_get(repeat, 0);
    const size_t times = (size_t)json_integer_value(json_array_get(repeat ? repeat : lcg, 1));
    const size_t length = repeat ? json_string_length(unit) : 1;
    char *text = malloc(times * length + 1);
    int32_t *ids = NULL;
    size_t n = 0;
    uint64_t x = (uint64_t)json_integer_value(json_array_get(lcg, 0));
    for (size_t i = 0; i < times; i++) {
        if (repeat) {
            memcpy(text + i * length, json_string_value(unit), length);
        } else {
            x = x * 6364136223846793005u + 1442695040888963407u;
            text[i] = (char)('a' + (x >> 33) % 26);
        }
    }
    int same = tt_tokenizer_encode(ctx, text, times * length, &ids, &n, NULL) == TT_OK && sum_is(ids, n, row);
    free(text);
    free(ids);
    return same;
}

static void whole_text(const tt_tokenizer *t, const char *kind)
{
    char path[4200], *text = NULL;
    size_t bytes = 0, n = 0;
    int32_t *ids = NULL;
    snprintf(path, sizeof path, "%s/text.json", golden);
    json_t *sums = json_load_file(path, 0, NULL);
    snprintf(path, sizeof path, "%s/text.txt", golden);
    tt_fs_read(path, &text, &bytes, NULL);
    for (int round = 0; round < 2; round++) { /* the second time pieces are remembered */
        tt_tokenizer_encode(t, text, bytes, &ids, &n, NULL);
        ok(sum_is(ids, n, json_object_get(json_object_get(sums, "ids_without_special"), kind)), "%s: 200 kB of text, time %d", kind,
           round + 1);
        free(ids);
    }
    json_decref(sums);
    free(text);
}

static void one_kind(const char *kind)
{
    static const char *const files[] = {"cases", "decode", "long"};
    char path[4200];
    int rows = 0;
    tt_tokenizer *t = open_or_die(kind);
    if (!t)
        return;
    for (int i = 0; i < 3; i++) {
        snprintf(path, sizeof path, "%s/%s/%s.jsonl", golden, kind, files[i]);
        const int wrong = each_row(path, i < 2 ? case_row : long_row, t, &rows);
        ok(wrong == 0 && rows > 10, "%s/%s.jsonl: %d rows, %d wrong", kind, files[i], rows, wrong);
    }
    whole_text(t, kind);
    tt_tokenizer_close(&t);
}

/* --- BOS and EOS by tokenizer_config.json ------------------------------------------------------------------------------------- */

typedef struct config_ctx {
    char last[128]; /* tokenizer and config that are open */
    tt_tokenizer *t;
} config_ctx;

static tt_tokenizer *with_config(config_ctx *c, const json_t *row)
{
    char key[128], path[4200], to[4200];
    const char *kind = json_string_value(json_object_get(row, "tokenizer"));
    const json_t *config = json_object_get(row, "tokenizer_config");
    snprintf(key, sizeof key, "%s %s", kind, json_string_value(json_object_get(row, "config")));
    if (strcmp(key, c->last) == 0)
        return c->t;
    tt_tokenizer_close(&c->t);
    strcpy(c->last, key);
    snprintf(to, sizeof to, "%s/tokenizer.json", scratch);
    snprintf(path, sizeof path, "%s/%s/tokenizer.json", golden, kind);
    unlink(to);
    if (symlink(path, to) != 0)
        return NULL;
    snprintf(to, sizeof to, "%s/tokenizer_config.json", scratch);
    unlink(to);
    if (!json_is_null(config))
        json_dump_file(config, to, 0);
    tt_tokenizer_open(scratch, &c->t, NULL);
    return c->t;
}

static int bos_eos_row(void *ctx, const json_t *row)
{
    const json_t *bos = json_object_get(row, "add_bos"), *eos = json_object_get(row, "add_eos");
    const json_t *bos_id = json_object_get(row, "bos_id"), *eos_id = json_object_get(row, "eos_id");
    const tt_tokenizer *t = with_config(ctx, row);
    const tt_encode_opts o = {1, bos ? json_is_true(bos) : -1, eos ? json_is_true(eos) : -1};
    return t && encodes(t, row, "ids", &o) && tt_tokenizer_vocab(t) == json_integer_value(json_object_get(row, "vocab_size")) &&
           (!json_is_integer(bos_id) || tt_tokenizer_bos(t) == json_integer_value(bos_id)) &&
           (!json_is_integer(eos_id) || tt_tokenizer_eos(t) == json_integer_value(eos_id));
}

static void bos_eos(void)
{
    config_ctx c = {0};
    char path[4200];
    int rows = 0;
    snprintf(path, sizeof path, "%s/bos_eos/cases.jsonl", golden);
    const int wrong = each_row(path, bos_eos_row, &c, &rows);
    ok(wrong == 0 && rows > 600, "bos_eos/cases.jsonl: %d rows, %d wrong", rows, wrong);
    tt_tokenizer_close(&c.t);
}

/* --- other forms ---------------------------------------------------------------------------------------------------------------- */

static void rank_file(void)
{
    char path[4200];
    int rows = 0;
    tt_tokenizer *t = open_or_die("tiktoken/small.tiktoken");
    snprintf(path, sizeof path, "%s/tiktoken/cases.jsonl", golden);
    const int wrong = each_row(path, case_row, t, &rows);
    ok(wrong == 0 && rows > 400, "tiktoken/cases.jsonl: %d rows, %d wrong", rows, wrong);
    ok(tt_tokenizer_bos(t) >= 0 && tt_tokenizer_bos(t) == tt_tokenizer_find(t, "<|begin_of_text|>", 17) &&
           tt_tokenizer_eos(t) == tt_tokenizer_find(t, "<|end_of_text|>", 15),
       "a rank file has Llama 3's marks");
    tt_tokenizer_close(&t);
}

static int fallback_row(void *ctx, const json_t *row)
{
    const json_t *text = json_object_get(row, "text");
    return strstr(json_string_value(text), "<|") ? 1 : encodes(ctx, row, "ids", &(tt_encode_opts){0, 0, 0});
}

static void fallback(void)
{
    char path[4200];
    int rows = 0;
    tt_tokenizer *t = open_or_die("gpt2/fallback");
    snprintf(path, sizeof path, "%s/gpt2/cases.jsonl", golden);
    const int wrong = each_row(path, fallback_row, t, &rows);
    ok(wrong == 0, "vocab.json and merges.txt: %d wrong of %d", wrong, rows);
    tt_tokenizer_close(&t);
}

/* --- training ------------------------------------------------------------------------------------------------------------------- */

static void train_one(const char *name, const json_t *want, const char *corpus, size_t bytes)
{
    const json_t *special = json_object_get(want, "special_tokens"), *merges = json_object_get(want, "merges");
    const char *names[8];
    char path[4200];
    tt_bpe_trainer *trainer = NULL;
    tt_bpe_train_opts o = {.vocab_size = (int32_t)json_integer_value(json_object_get(want, "vocab_size_asked")),
                           .min_frequency = json_integer_value(json_object_get(want, "min_frequency")),
                           .pattern = json_string_value(json_object_get(want, "pre_tokenizer")),
                           .special = names,
                           .n_special = (int)json_array_size(special)};
    for (int i = 0; i < o.n_special; i++)
        names[i] = json_string_value(json_array_get(special, (size_t)i));
    ok(tt_bpe_trainer_create(&o, &trainer, NULL) == TT_OK && tt_bpe_trainer_add(trainer, corpus, bytes, NULL) == TT_OK &&
           tt_bpe_trainer_run(trainer, NULL) == TT_OK,
       "%s: trained", name);
    is_int(tt_bpe_trainer_merges(trainer), (long long)json_array_size(merges), "%s: merges", name);
    int64_t same = 0;
    while (same < tt_bpe_trainer_merges(trainer) &&
           strcmp(tt_bpe_trainer_merge(trainer, same), json_string_value(json_array_get(merges, (size_t)same))) == 0)
        same++;
    is_int(same, (long long)json_array_size(merges), "%s: all in the order of the library", name);
    snprintf(path, sizeof path, "%s/trained.json", scratch);
    ok(tt_bpe_trainer_write(trainer, path, NULL) == TT_OK, "%s: written", name);
    tt_bpe_trainer_destroy(&trainer);
    tt_tokenizer *t = open_or_die(path);
    int32_t *ids = NULL;
    size_t n = 0;
    tt_tokenizer_encode(t, corpus, bytes, &ids, &n, NULL);
    ok(sum_is(ids, n, json_object_get(want, "corpus_ids")), "%s: its ids of the corpus", name);
    free(ids);
    tt_tokenizer_close(&t);
    unlink(path);
}

static void training(void)
{
    char path[4200], *corpus = NULL;
    const char *name;
    size_t bytes = 0;
    json_t *want;
    tt_bpe_trainer *trainer = NULL;
    tt_error err = {0};
    is_int(tt_bpe_trainer_create(&(tt_bpe_train_opts){.vocab_size = 255, .pattern = "gpt2"}, &trainer, &err), TT_ERR_USAGE, "255 tokens");
    is_str(err.text,
           "a vocabulary of 255 tokens is out of range: 256 bytes and 0 special tokens need 256 at "
           "least, and 16777216 is the most; change --vocab-size",
           "are too few");
    is_int(tt_bpe_trainer_create(&(tt_bpe_train_opts){.vocab_size = 300, .pattern = "gpt3"}, &trainer, &err), TT_ERR_USAGE, "pattern gpt3");
    is_str(err.text, "there is no pattern \"gpt3\" to cut texts; use gpt2, llama3, qwen2 or o200k", "says what there is");
    snprintf(path, sizeof path, "%s/bpe_train/expected.json", golden);
    json_t *all = json_load_file(path, 0, NULL);
    snprintf(path, sizeof path, "%s/bpe_train/corpus.txt", golden);
    ok(all && tt_fs_read(path, &corpus, &bytes, NULL) == TT_OK, "the corpus is there");
    json_object_foreach(all, name, want)
        train_one(name, want, corpus, bytes);
    free(corpus);
    json_decref(all);
}

/* --- threads --------------------------------------------------------------------------------------------------------------------- */

typedef struct worker {
    const tt_tokenizer *t;
    const char *text;
    size_t bytes, n;
    int32_t *ids;
} worker;

static void *work(void *arg)
{
    worker *w = arg;
    tt_tokenizer_encode(w->t, w->text, w->bytes, &w->ids, &w->n, NULL);
    return NULL;
}

/* Four threads fill the memory of pieces at once; all have the ids of one. */
static void threads(void)
{
    char path[4200], *text = NULL;
    size_t bytes = 0;
    pthread_t thread[4];
    worker w[5];
    int same = 1;
    tt_tokenizer *one = open_or_die("llama3"), *shared = open_or_die("llama3");
    snprintf(path, sizeof path, "%s/text.txt", golden);
    tt_fs_read(path, &text, &bytes, NULL);
    for (int i = 0; i < 5; i++)
        w[i] = (worker){.t = i < 4 ? shared : one, .text = text, .bytes = bytes};
    for (int i = 0; i < 4; i++)
        pthread_create(&thread[i], NULL, work, &w[i]);
    for (int i = 0; i < 4; i++)
        pthread_join(thread[i], NULL);
    work(&w[4]);
    for (int i = 0; i < 4; i++)
        same = same && w[i].n == w[4].n && memcmp(w[i].ids, w[4].ids, w[4].n * sizeof(int32_t)) == 0;
    ok(same && w[4].n > 1000, "four threads share a tokenizer");
    for (int i = 0; i < 5; i++)
        free(w[i].ids);
    free(text);
    tt_tokenizer_close(&one);
    tt_tokenizer_close(&shared);
}

int main(void)
{
    const char *root = getenv("TITAN_ROOT");
    snprintf(golden, sizeof golden, "%s/tests/golden/tokenizer", root ? root : ".");
    if (!mkdtemp(scratch))
        return 1;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        one_kind(kinds[i]);
    bos_eos();
    rank_file();
    fallback();
    training();
    threads();
    tt_fs_remove_all(scratch, NULL);
    return done_testing();
}
