/* titan-tokenize: what a tokenizer does to a text, and learning a new one. */
#include "base/args.h"
#include "base/fs.h"
#include "base/version.h"
#include "data/bpe_train.h"
#include "data/tokenizer.h"
#include "tokenize.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { OPT_TOKENIZER, OPT_SPECIAL, OPT_COUNT, OPT_VOCAB_SIZE, OPT_MIN_FREQUENCY, OPT_PATTERN, OPT_SPECIAL_TOKENS, OPT_OUT, OPT_INPUT, OPT_FIELD,
       OPT_SKIP_BAD, OPT_REPAIR, OPT_THREADS, OPT_SHARD_TOKENS, OPT_DTYPE, OPT_FORMAT, OPT_NO_BOS, OPT_NO_EOS, OPT_DOCUMENTS, OPT_VERIFY, OPT_HELP,
       OPT_VERSION, N_OPTIONS };
enum { MAX_SPECIAL = 256, MAX_THREADS = 1024 };

static tt_option options[N_OPTIONS] = {
    [OPT_TOKENIZER] = {"tokenizer", "NAME", "byte, a folder with tokenizer.json, or a file (default byte)", NULL},
    [OPT_SPECIAL] = {"special", NULL, "encode: add BOS and EOS; decode: keep special tokens", NULL},
    [OPT_COUNT] = {"count", NULL, "encode: print the number of ids only", NULL},
    [OPT_VOCAB_SIZE] = {"vocab-size", "N", "train: size of the vocabulary (256 bytes, special tokens, merges)", NULL},
    [OPT_MIN_FREQUENCY] = {"min-frequency", "N", "train: do not merge pairs seen less often (default 0)", NULL},
    [OPT_PATTERN] = {"pattern", "NAME", "train: where texts are cut: gpt2, llama3 (default), qwen2 or o200k", NULL},
    [OPT_SPECIAL_TOKENS] = {"special-tokens", "A,B", "train: special tokens, separated by commas, ids from 0", NULL},
    [OPT_OUT] = {"out", "FILE", "train: where to write (default tokenizer.json); shards: what the names begin with", NULL},
    [OPT_INPUT] = {"input", "FORM", "shards: text (a file is a document), jsonl, or auto, by the name (default)", NULL},
    [OPT_FIELD] = {"field", "NAME", "shards: the field of a JSON line that holds the text (default text)", NULL},
    [OPT_SKIP_BAD] = {"skip-bad", NULL, "shards: leave out and count JSON lines that have no text", NULL},
    [OPT_REPAIR] = {"repair-utf8", NULL, "shards: ill-formed UTF-8 becomes U+FFFD instead of an error", NULL},
    [OPT_THREADS] = {"threads", "N", "shards: threads that encode (default: one a core)", NULL},
    [OPT_SHARD_TOKENS] = {"shard-tokens", "N", "shards: most tokens of a file (default 1073741824)", NULL},
    [OPT_DTYPE] = {"dtype", "TYPE", "shards: u16, u32, or auto, by the vocabulary (default); inspect: of a raw file", NULL},
    [OPT_FORMAT] = {"format", "KIND", "shards: titan (default), megatron, llmc or nanogpt", NULL},
    [OPT_NO_BOS] = {"no-bos", NULL, "shards: nothing before a document", NULL},
    [OPT_NO_EOS] = {"no-eos", NULL, "shards: nothing behind a document", NULL},
    [OPT_DOCUMENTS] = {"documents", "N", "inspect: documents to show (default 3)", NULL},
    [OPT_VERIFY] = {"verify", NULL, "inspect: check every block and every id", NULL},
    [OPT_HELP] = {"help", NULL, "print this and exit", NULL},
    [OPT_VERSION] = {"version", NULL, "print the version and exit", NULL},
};

static tt_status read_stdin(char **text, size_t *bytes, tt_error *err)
{
    size_t room = 0;
    *text = NULL;
    *bytes = 0;
    for (size_t got = 1; got > 0; *bytes += got) {
        if (room - *bytes < 65536) {
            char *more = realloc(*text, room = room ? 2 * room : 1 << 17);
            if (!more)
                return tt_fail(err, TT_ERR_NOMEM, "reading standard input: no memory for %zu bytes", room);
            *text = more;
        }
        got = fread(*text + *bytes, 1, room - *bytes - 1, stdin);
    }
    (*text)[*bytes] = 0;
    return ferror(stdin) ? tt_fail(err, TT_ERR_IO, "cannot read standard input: %s; check what it is connected to", strerror(errno)) : TT_OK;
}

static tt_status read_text(const char *path, char **text, size_t *bytes, tt_error *err)
{
    return strcmp(path, "-") == 0 ? read_stdin(text, bytes, err) : tt_fs_read(path, text, bytes, err);
}

static tt_status flush(tt_error *err)
{
    return fflush(stdout) != 0 || ferror(stdout) ? tt_fail(err, TT_ERR_IO, "cannot write standard output: %s", strerror(errno)) : TT_OK;
}

/* --- encode, decode -------------------------------------------------------------------------------------------------------------- */

static tt_status encode(const tt_tokenizer *t, const char *path, tt_error *err)
{
    char *text = NULL;
    int32_t *ids = NULL;
    size_t bytes = 0, n = 0;
    const int special = options[OPT_SPECIAL].value != NULL;
    tt_status st;
    TT_TRY(read_text(path, &text, &bytes, err));
    TT_TRY(tt_tokenizer_encode_as(t, text, bytes, &(tt_encode_opts){special, special, special}, &ids, &n, err));
    if (options[OPT_COUNT].value) {
        printf("%zu\n", n);
    } else {
        for (size_t i = 0; i < n; i++)
            printf("%s%d", i ? " " : "", ids[i]);
        putchar('\n');
    }
    st = flush(err);
out:
    free(text);
    free(ids);
    return st;
}

static tt_status decode(const tt_tokenizer *t, const char *path, tt_error *err)
{
    tt_decoder d = {.tokenizer = t, .keep_special = options[OPT_SPECIAL].value != NULL};
    char *text = NULL, *end;
    size_t bytes = 0, n;
    const char *out;
    tt_status st;
    TT_TRY(read_text(path, &text, &bytes, err));
    for (char *at = text;; at = end) {
        at += strspn(at, " \t\r\n,[]");
        if (!*at)
            break;
        const long id = strtol(at, &end, 10);
        if (end == at || id < 0 || id > INT32_MAX)
            TT_TRY(tt_fail(err, TT_ERR_DATA, "%s: \"%.20s\" is no id; give whole numbers with spaces or commas between", path, at));
        TT_TRY(tt_decoder_push(&d, (int32_t)id, &out, &n, err));
        fwrite(out, 1, n, stdout);
    }
    tt_decoder_finish(&d, &out, &n);
    fwrite(out, 1, n, stdout);
    st = flush(err);
out:
    tt_decoder_close(&d);
    free(text);
    return st;
}

/* --- check ------------------------------------------------------------------------------------------------------------------------- */

typedef struct tally {
    const char *path;
    size_t line, compared, wrong;
} tally;

static void report(tally *c, const char *what, const json_t *row)
{
    char *text = json_dumps(row, JSON_COMPACT);
    if (c->wrong++ < 20)
        printf("%s:%zu: other %s: %.300s\n", c->path, c->line, what, text ? text : "");
    free(text);
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

static tt_status check_encode(const tt_tokenizer *t, tally *c, const json_t *row, const char *key, const tt_encode_opts *o, tt_error *err)
{
    const json_t *text = json_object_get(row, "text"), *want = json_object_get(row, key);
    int32_t *ids;
    size_t n;
    if (!json_is_string(text) || !json_is_array(want))
        return TT_OK;
    tt_status st = tt_tokenizer_encode_as(t, json_string_value(text), json_string_length(text), o, &ids, &n, err);
    if (st != TT_OK)
        return st;
    c->compared++;
    if (!same_ids(want, ids, n))
        report(c, key, row);
    free(ids);
    return TT_OK;
}

static tt_status check_decode(const tt_tokenizer *t, tally *c, const json_t *row, const char *key, int keep, tt_error *err)
{
    const json_t *list = json_object_get(row, "ids"), *want = json_object_get(row, key);
    const size_t n = json_array_size(list);
    char *text;
    size_t bytes;
    if (!json_is_string(want) || !json_is_array(list))
        return TT_OK;
    int32_t *ids = malloc((n + 1) * sizeof *ids);
    if (!ids)
        return tt_fail(err, TT_ERR_NOMEM, "%s:%zu: no memory for %zu ids", c->path, c->line, n);
    for (size_t i = 0; i < n; i++)
        ids[i] = (int32_t)json_integer_value(json_array_get(list, i));
    tt_status st = tt_tokenizer_decode_as(t, ids, n, keep, &text, &bytes, err);
    free(ids);
    if (st != TT_OK)
        return st;
    c->compared++;
    if (bytes != json_string_length(want) || memcmp(text, json_string_value(want), bytes) != 0)
        report(c, key, row);
    free(text);
    return TT_OK;
}

static tt_status check_row(const tt_tokenizer *t, tally *c, const char *line, size_t n, tt_error *err)
{
    json_error_t why;
    json_t *row = json_loadb(line, n, JSON_ALLOW_NUL, &why);
    tt_status st = TT_OK;
    if (!json_is_object(row))
        TT_TRY(tt_fail(err, TT_ERR_DATA, "%s:%zu: %s; each line should be an object with text and ids", c->path, c->line,
                       row ? "there is no object" : why.text));
    TT_TRY(check_encode(t, c, row, "ids", &(tt_encode_opts){0, 0, 0}, err));
    TT_TRY(check_encode(t, c, row, "ids_with_special", &(tt_encode_opts){1, 0, 0}, err));
    TT_TRY(check_decode(t, c, row, "decoded", 1, err));
    TT_TRY(check_decode(t, c, row, "decoded_skip_special", 0, err));
out:
    json_decref(row);
    return st;
}

static tt_status check(const tt_tokenizer *t, const char *path, tt_error *err)
{
    tally c = {.path = path};
    char *text = NULL;
    size_t bytes = 0;
    tt_status st;
    TT_TRY(read_text(path, &text, &bytes, err));
    for (const char *at = text, *end = text + bytes; at < end;) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        stop = stop ? stop : end;
        c.line++;
        if (stop > at)
            TT_TRY(check_row(t, &c, at, (size_t)(stop - at), err));
        at = stop + 1;
    }
    printf("%s: %zu lines, %zu comparisons, %zu differ\n", path, c.line, c.compared, c.wrong);
    if (c.wrong)
        st = tt_fail(err, TT_ERR_DATA, "%s: %zu of %zu comparisons differ; it is another tokenizer's, or titan is wrong: please report it",
                     path, c.wrong, c.compared);
    else if (c.compared == 0)
        st = tt_fail(err, TT_ERR_DATA, "%s holds nothing to compare; each line should be an object with text and ids", path);
out:
    free(text);
    return st;
}

/* --- train --------------------------------------------------------------------------------------------------------------------------- */

/* "A,B" to its parts, in place. */
static tt_status split_names(char *text, const char **names, int *n, tt_error *err)
{
    *n = 0;
    for (char *at = text; at && *at;) {
        char *comma = strchr(at, ',');
        if (*n == MAX_SPECIAL)
            return tt_fail(err, TT_ERR_USAGE, "--special-tokens has more than %d names; use fewer", MAX_SPECIAL);
        if (comma)
            *comma = 0;
        if (*at)
            names[(*n)++] = at;
        at = comma ? comma + 1 : NULL;
    }
    return TT_OK;
}

static tt_status train(char **files, int n_files, tt_error *err)
{
    const char *names[MAX_SPECIAL], *out = options[OPT_OUT].value ? options[OPT_OUT].value : "tokenizer.json";
    char *special = options[OPT_SPECIAL_TOKENS].value ? strdup(options[OPT_SPECIAL_TOKENS].value) : NULL;
    tt_bpe_trainer *trainer = NULL;
    tt_bpe_train_opts o = {.pattern = options[OPT_PATTERN].value ? options[OPT_PATTERN].value : "llama3", .special = names};
    int64_t size, least = 0;
    tt_status st;
    if (!options[OPT_VOCAB_SIZE].value)
        TT_TRY(tt_fail(err, TT_ERR_USAGE, "train needs the size of the vocabulary; give one, such as --vocab-size 32768"));
    TT_TRY(tt_args_int(&options[OPT_VOCAB_SIZE], 256, 1 << 24, &size, err));
    if (options[OPT_MIN_FREQUENCY].value)
        TT_TRY(tt_args_int(&options[OPT_MIN_FREQUENCY], 0, INT64_MAX, &least, err));
    TT_TRY(split_names(special, names, &o.n_special, err));
    o.vocab_size = (int32_t)size;
    o.min_frequency = least;
    TT_TRY(tt_bpe_trainer_create(&o, &trainer, err));
    for (int i = 0; i < n_files; i++) {
        char *text = NULL;
        size_t bytes = 0;
        st = read_text(files[i], &text, &bytes, err);
        if (st == TT_OK)
            st = tt_bpe_trainer_add(trainer, text, bytes, err);
        free(text);
        TT_TRY(st);
    }
    TT_TRY(tt_bpe_trainer_run(trainer, err));
    TT_TRY(tt_bpe_trainer_write(trainer, out, err));
    printf("%s: %d tokens, %lld merges\n", out, tt_bpe_trainer_vocab(trainer), (long long)tt_bpe_trainer_merges(trainer));
    if (tt_bpe_trainer_vocab(trainer) < o.vocab_size)
        printf("no pair is left that is seen often enough: fewer tokens than the %d asked for\n", o.vocab_size);
    st = flush(err);
out:
    tt_bpe_trainer_destroy(&trainer);
    free(special);
    return st;
}

/* --- shards, inspect ------------------------------------------------------------------------------------------------------------------- */

/* The place of an option's value in a list of words that ends with NULL; 0 when it was not given. */
static tt_status choice(int option, const char *const *list, int *chosen, tt_error *err)
{
    char all[200] = "";
    *chosen = 0;
    for (int i = 0; options[option].value && list[i]; i++) {
        if (strcmp(options[option].value, list[i]) == 0) {
            *chosen = i;
            return TT_OK;
        }
        strcat(strcat(all, i ? ", " : ""), list[i]);
    }
    return options[option].value ? tt_fail(err, TT_ERR_USAGE, "--%s=%.100s is unknown; use one of %s", options[option].name, options[option].value, all)
                                 : TT_OK;
}

static tt_status shards(const tt_tokenizer *t, char **files, int n, tt_error *err)
{
    static const char *const inputs[] = {"auto", "text", "jsonl", NULL}, *const dtypes[] = {"auto", "u16", "u32", NULL};
    static const char *const formats[] = {"titan", "megatron", "llmc", "nanogpt", NULL};
    int input, dtype, format;
    int64_t threads = sysconf(_SC_NPROCESSORS_ONLN), shard_tokens = 0;
    tt_status st;
    TT_TRY(choice(OPT_INPUT, inputs, &input, err));
    TT_TRY(choice(OPT_DTYPE, dtypes, &dtype, err));
    TT_TRY(choice(OPT_FORMAT, formats, &format, err));
    if (!options[OPT_OUT].value)
        TT_TRY(tt_fail(err, TT_ERR_USAGE, "shards needs what the names of its files begin with: --out=data/train makes data/train-00000.tok"));
    if (options[OPT_THREADS].value)
        TT_TRY(tt_args_int(&options[OPT_THREADS], 1, MAX_THREADS, &threads, err));
    if (options[OPT_SHARD_TOKENS].value)
        TT_TRY(tt_args_int(&options[OPT_SHARD_TOKENS], 1, INT64_MAX / 16, &shard_tokens, err));
    const tt_tokenize_job job = {
        .tokenizer = t, .out = options[OPT_OUT].value, .kind = (tt_token_kind)(TT_TOKENS_TITAN + format), .token_bytes = 2 * dtype,
        .shard_tokens = shard_tokens, .threads = threads < 1 ? 1 : threads > MAX_THREADS ? MAX_THREADS : (int)threads,
        .no_bos = options[OPT_NO_BOS].value != NULL, .no_eos = options[OPT_NO_EOS].value != NULL,
        .text = {.field = options[OPT_FIELD].value, .form = (tt_text_form)input, .skip_bad = options[OPT_SKIP_BAD].value != NULL,
                 .utf8 = !strcmp(tt_tokenizer_name(t), "byte") ? TT_TEXT_KEEP : options[OPT_REPAIR].value ? TT_TEXT_REPAIR : TT_TEXT_REFUSE},
    };
    TT_TRY(tt_tokenize_shards(&job, files, n, err));
    st = flush(err);
out:
    return st;
}

static tt_status inspect(char **files, int n, tt_error *err)
{
    static const char *const dtypes[] = {"auto", "u16", "u32", NULL};
    tt_tokenizer *t = NULL;
    int64_t documents = 3;
    int dtype;
    tt_status st;
    TT_TRY(choice(OPT_DTYPE, dtypes, &dtype, err));
    if (options[OPT_DOCUMENTS].value)
        TT_TRY(tt_args_int(&options[OPT_DOCUMENTS], 0, INT32_MAX, &documents, err));
    if (options[OPT_TOKENIZER].value)
        TT_TRY(tt_tokenizer_open(options[OPT_TOKENIZER].value, &t, err));
    const tt_inspect_job job = {.tokenizer = t, .token_bytes = 2 * dtype, .documents = (int)documents, .verify = options[OPT_VERIFY].value != NULL};
    for (int i = 0; i < n; i++)
        TT_TRY(tt_tokenize_inspect(&job, files[i], stdout, err));
    st = flush(err);
out:
    tt_tokenizer_close(&t);
    return st;
}

static void help(void)
{
    puts("usage: titan-tokenize encode [--tokenizer NAME] [--special] [--count] FILE|-\n"
         "       titan-tokenize decode [--tokenizer NAME] [--special] FILE|-\n"
         "       titan-tokenize check [--tokenizer NAME] CASES.jsonl...\n"
         "       titan-tokenize train --vocab-size N [--out FILE] [options] FILE...\n"
         "       titan-tokenize shards --tokenizer NAME --out PREFIX [options] FILE|FOLDER|PATTERN|-...\n"
         "       titan-tokenize inspect [--tokenizer NAME] [--verify] TOKENFILE...\n\n"
         "encode prints the ids of a text, decode the text of ids, check compares with ids that another tokenizer gave,\n"
         "train learns a byte-level BPE; each FILE is one text. shards writes files of tokens from .txt and .jsonl, plain or\n"
         "in gzip or zstd form; inspect says what such a file holds, also those of Megatron, llm.c and nanoGPT.\n");
    tt_args_help(options, N_OPTIONS, stdout);
}

static tt_status run(int argc, char **argv, tt_error *err)
{
    tt_tokenizer *t = NULL;
    const char *verb = argv[1];
    tt_status st;
    if (strcmp(verb, "train") == 0)
        return train(argv + 2, argc - 2, err);
    if (strcmp(verb, "inspect") == 0)
        return inspect(argv + 2, argc - 2, err);
    const int to_shards = strcmp(verb, "shards") == 0;
    if (strcmp(verb, "encode") != 0 && strcmp(verb, "decode") != 0 && strcmp(verb, "check") != 0 && !to_shards)
        return tt_fail(err, TT_ERR_USAGE, "there is no \"titan-tokenize %.40s\"; use encode, decode, check, train, shards or inspect", verb);
    if (to_shards && !options[OPT_TOKENIZER].value)
        return tt_fail(err, TT_ERR_USAGE, "shards needs the tokenizer of the model; give --tokenizer=FOLDER, or --tokenizer=byte");
    if (argc > 3 && strcmp(verb, "check") != 0 && !to_shards)
        return tt_fail(err, TT_ERR_USAGE, "titan-tokenize %s takes one FILE, not %d; give one", verb, argc - 2);
    TT_TRY(tt_tokenizer_open(options[OPT_TOKENIZER].value ? options[OPT_TOKENIZER].value : "byte", &t, err));
    if (to_shards)
        TT_TRY(shards(t, argv + 2, argc - 2, err));
    for (int i = 2; i < argc && !to_shards; i++)
        TT_TRY(strcmp(verb, "check") == 0 ? check(t, argv[i], err)
               : *verb == 'e'             ? encode(t, argv[i], err)
                                          : decode(t, argv[i], err));
out:
    tt_tokenizer_close(&t);
    return st;
}

int main(int argc, char **argv)
{
    tt_status st;
    tt_error err = {0};
    TT_TRY(tt_args_take(&argc, argv, options, N_OPTIONS, &err));
    if (options[OPT_HELP].value) {
        help();
        goto out;
    }
    if (options[OPT_VERSION].value) {
        tt_version_print(stdout, "titan-tokenize");
        goto out;
    }
    TT_TRY(tt_args_positional(&argc, argv, options, N_OPTIONS, 2, 1 << 20, "encode|decode|check|train|shards|inspect FILE...", &err));
    st = run(argc, argv, &err);
out:
    if (st != TT_OK)
        fprintf(stderr, "titan-tokenize: %s\n", err.text);
    return tt_exit_code(st);
}
