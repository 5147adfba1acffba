/* Files of tokenizers: what is refused and how, what is warned of, and mistakes that comparable tools made. */
#include "base/fs.h"
#include "base/log.h"
#include "data/pretokenize.h"
#include "data/tokenizer.h"
#include "data/unicode.h"
#include "tap.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char golden[4000], dir[] = "/tmp/titan-tokenizer-XXXXXX";

static const char *file(const char *name, const char *text, size_t n)
{
    static char path[4200];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    tt_fs_write(path, text, n, NULL);
    return path;
}

static tt_tokenizer *opened(const char *name, const char *text)
{
    tt_tokenizer *t = NULL;
    tt_error err = {0};
    if (tt_tokenizer_open(file(name, text, strlen(text)), &t, &err) != TT_OK)
        diag("%s", err.text);
    return t;
}

/* The file is refused with this text; %s in it stands for its path. */
static void refused(const char *name, const char *text, tt_status code, const char *says)
{
    char want[5000];
    tt_tokenizer *t = NULL;
    tt_error err = {0};
    const char *path = file(name, text, strlen(text));
    snprintf(want, sizeof want, says, path);
    is_int(tt_tokenizer_open(path, &t, &err), code, "%.60s", text);
    is_str(err.text, want, "  its message");
    tt_tokenizer_close(&t);
    unlink(path);
}

#define DAMAGED "; the file is damaged or no tokenizer: download it again"
#define MODEL(more) "{\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0,\"b\":1,\"ab\":2},\"merges\":[\"a b\"]}" more "}"
#define BYTES ",\"pre_tokenizer\":{\"type\":\"ByteLevel\",\"add_prefix_space\":false},\"decoder\":{\"type\":\"ByteLevel\"}"
#define NOT_ONE " is not one that titan has (byte-level BPE with NFC, Split, Digits and ByteLevel); tokenize with the tokenizers library " \
                "and train on token files instead"

static void refusals(void)
{
    refused("t.json", "", TT_ERR_DATA, "%s: at byte 0 there should be an object" DAMAGED);
    refused("t.json", "{\"a\":1,}", TT_ERR_DATA, "%s: at byte 7 there should be a string" DAMAGED);
    refused("t.json", "{\"a\":\"\\x\"}", TT_ERR_DATA, "%s: at byte 7 there is an escape that JSON does not have, or half a pair of surrogates" DAMAGED);
    refused("t.json", "{\"a\":\"\\ud800\"}", TT_ERR_DATA,
            "%s: at byte 12 there is an escape that JSON does not have, or half a pair of surrogates" DAMAGED);
    refused("t.json", "{\"a\":\"\xff\"}", TT_ERR_DATA, "%s: at byte 6 there is a string that is not UTF-8" DAMAGED);
    refused("t.json", "{}", TT_ERR_DATA, "%s has no \"model\"; it is no tokenizer.json: give one");
    refused("t.json", "{\"model\":{\"type\":\"BPE\",\"vocab\":{}}}", TT_ERR_DATA, "%s: its model has no merges; titan reads byte-level BPE only");
    refused("t.json", "{\"model\":{\"type\":\"Unigram\",\"vocab\":[]}}", TT_ERR_DATA, "%s: a model of type \"Unigram\"" NOT_ONE);
    refused("t.json", "{\"model\":{\"vocab\":{\"a\":0,\"b\":0},\"merges\":[]}}", TT_ERR_DATA,
            "the tokens \"a\" and \"b\" both have the id 0; each needs its own: download the "
            "tokenizer again");
    refused("t.json", "{\"model\":{\"vocab\":{\"a\":0,\"a\":1},\"merges\":[]}}", TT_ERR_DATA,
            "the ids 0 and 1 are the same token; a token may be listed once: download the "
            "tokenizer again");
    refused("t.json", "{\"model\":{\"vocab\":{\"a\":99999999},\"merges\":[]}}", TT_ERR_DATA,
            "token \"a\" has id 99999999; ids go from 0 to 16777215: download the tokenizer again");
    refused("t.json", "{\"model\":{\"vocab\":{\"a\":0.5},\"merges\":[]}}", TT_ERR_DATA,
            "%s: at byte 5 there should be an id (a whole number that is not too large)" DAMAGED);
    refused("t.json", MODEL(""), TT_ERR_DATA, "%s: (without ByteLevel) the pre_tokenizer null" NOT_ONE);
    refused("t.json", MODEL(",\"pre_tokenizer\":{\"type\":\"Metaspace\"}"), TT_ERR_DATA,
            "%s: the pre_tokenizer {\"type\":\"Metaspace\"}" NOT_ONE);
    refused("t.json", MODEL(BYTES ",\"normalizer\":{\"type\":\"NFKC\"}"), TT_ERR_DATA, "%s: the normalizer {\"type\":\"NFKC\"}" NOT_ONE);
    refused("t.model", "\n\x0e\x0a\x05<unk>", TT_ERR_DATA,
            "%s is a SentencePiece model (of Llama 2, Mistral, Gemma …); titan reads byte-level BPE: use a tokenizer.json of that kind, or "
            "tokenize beforehand and train on token files");
    refused("t.tiktoken", "IQ== 0\nIg== 2\n", TT_ERR_DATA,
            "%s:2: \"Ig== 2\" should be base64, a space and a rank, the ranks in order from 0; the file is damaged or of another kind");
    refused("t.tiktoken", "IQ=! 0\n", TT_ERR_DATA,
            "%s:1: \"IQ=! 0\" should be base64, a space and a rank, the ranks in order from 0; the file is damaged or of another kind");
    tt_tokenizer *t = NULL;
    tt_error err = {0};
    char want[4600];
    is_int(tt_tokenizer_open(dir, &t, &err), TT_ERR_CONFIG, "a folder without files");
    snprintf(want, sizeof want, "the folder %s holds no tokenizer: there should be tokenizer.json, or vocab.json and merges.txt, or tokenizer.model; "
             "download the tokenizer of the model into it, or set model.tokenizer_path = \"byte\"", dir);
    is_str(err.text, want, "  its message");
}

static void ids_are(const tt_tokenizer *t, const char *text, const char *want, const char *what)
{
    int32_t *ids = NULL;
    size_t n = 0, at = 0;
    char got[1000] = "";
    if (t && tt_tokenizer_encode(t, text, strlen(text), &ids, &n, NULL) == TT_OK)
        for (size_t i = 0; i < n && at < sizeof got - 16; i++)
            at += (size_t)snprintf(got + at, sizeof got - at, "%s%d", i ? " " : "", ids[i]);
    is_str(got, want, "%s", what);
    free(ids);
}

static void small_files(void)
{
    tt_tokenizer *t = opened("t.json", MODEL(BYTES));
    ids_are(t, "abba", "2 1 0", "merges as text; what is not in the vocabulary is left out");
    ids_are(t, "a?b", "0 1", "bytes that are no token give nothing");
    tt_tokenizer_close(&t);
    t = opened("t.json", "{\"model\":{\"vocab\":{\"a\":0,\"\\u0120\":1,\"\\u0120a\":2,\"<u>\":3},\"unk_token\":\"<u>\",\"fuse_unk\":true,"
                         "\"merges\":[[\"\\u0120\",\"a\"]]},\"pre_tokenizer\":{\"type\":\"ByteLevel\",\"add_prefix_space\":true},"
                         "\"decoder\":{\"type\":\"ByteLevel\"}}");
    ids_are(t, "a a", "2 2", "add_prefix_space, escapes in keys");
    ids_are(t, "a xx", "2 1 3", "unknown bytes, fused");
    tt_tokenizer_close(&t);
    t = opened("t.json", "{\"model\":{\"vocab\":{\"a\":0,\"1\":1,\"11\":2,\"aa\":3},\"merges\":[[\"1\",\"1\"],[\"a\",\"a\"]]},"
                         "\"pre_tokenizer\":{\"type\":\"Sequence\",\"pretokenizers\":[{\"type\":\"Digits\",\"individual_digits\":true},"
                         "{\"type\":\"Split\",\"pattern\":{\"Regex\":\"a{2}|x\"},\"behavior\":\"Removed\",\"invert\":true},"
                         "{\"type\":\"ByteLevel\",\"add_prefix_space\":false,\"use_regex\":false}]},\"decoder\":{\"type\":\"ByteLevel\"}}");
    ids_are(t, "aaa11aa", "3 3", "Digits, and a Split that keeps its matches");
    tt_tokenizer_close(&t);
}

/* Found by comparing with the library on random files. */
static void library_corners(void)
{
    tt_tokenizer *t = opened("t.json", "{\"model\":{\"vocab\":{\"a\":0,\"\\u0120\":1,\"\\u010a\":2},\"merges\":[]}" BYTES
                             ",\"added_tokens\":[{\"id\":3,\"content\":\"<r>\",\"rstrip\":true},{\"id\":4,\"content\":\" \\n\",\"lstrip\":true}]}");
    ids_are(t, "<r> \na", "3 0", "a token with lstrip inside what rstrip took is dropped");
    ids_are(t, "<r>a \n", "3 0 4", "and stays elsewhere");
    tt_tokenizer_close(&t);
    t = opened("t.json", "{\"model\":{\"vocab\":{\"1\":0,\"11\":1,\"111\":2},\"merges\":[[\"1\",\"1\"],[\"11\",\"1\"]]},"
                         "\"pre_tokenizer\":{\"type\":\"Sequence\",\"pretokenizers\":[{\"type\":\"Split\",\"pattern\":"
                         "{\"Regex\":\"(?=(\\\\d{3})+(?!\\\\d))\"},\"behavior\":\"Isolated\",\"invert\":false},"
                         "{\"type\":\"ByteLevel\",\"add_prefix_space\":false,\"use_regex\":false}]},\"decoder\":{\"type\":\"ByteLevel\"}}");
    ids_are(t, "11111", "1 2", "an empty match cuts");
    tt_tokenizer_close(&t);
    t = opened("t.json", "{\"model\":{\"vocab\":{\"a\":0},\"merges\":[]},\"normalizer\":{\"type\":\"NFC\"}" BYTES
                         ",\"added_tokens\":[{\"id\":1,\"content\":\"<e\\u0301>\",\"normalized\":true}]}");
    char *text = NULL;
    size_t bytes;
    tt_tokenizer_decode(t, (const int32_t[]){1}, 1, &text, &bytes, NULL);
    is_str(text, "<\uFFFD>", "a normalised token decodes as its composed spelling");
    free(text);
    tt_tokenizer_close(&t);
}

/* Lines that begin with # are merges, only the version line is not. */
static void hash_merges(void)
{
    static const char vocab[] = "{\"#\":0,\"x\":1,\"\\u0120\":2,\"##\":3,\"####\":4,\"\\u0120#\":5,\"\\u0120x\":6}";
    static const char *const heads[] = {"#version: 0.2\n", "", "#version: 0.2\r\n"};
    for (int i = 0; i < 3; i++) {
        char merges[200];
        const char *end = i == 2 ? "\r\n" : "\n";
        snprintf(merges, sizeof merges, "%s# #%s## ##%s\u0120 #%s", heads[i], end, end, end);
        file("merges.txt", merges, strlen(merges));
        tt_tokenizer *t = opened("vocab.json", vocab);
        ids_are(t, "###### x #", "4 3 2 1 5", i == 2 ? "merges of # with CRLF" : i ? "merges of # without a version line" : "merges of #");
        tt_tokenizer_close(&t);
    }
    char path[4200];
    snprintf(path, sizeof path, "%s/merges.txt", dir);
    unlink(path);
    snprintf(path, sizeof path, "%s/vocab.json", dir);
    unlink(path);
}

/* Changes to a copy of the llama3 tokenizer. */
static json_t *llama3(void)
{
    char path[4200];
    snprintf(path, sizeof path, "%s/llama3/tokenizer.json", golden);
    return json_load_file(path, 0, NULL);
}

static tt_tokenizer *opened_json(const char *name, const json_t *value)
{
    char *text = json_dumps(value, 0);
    tt_tokenizer *t = opened(name, text);
    free(text);
    return t;
}

static void truncation_and_padding(void)
{
    char log[4200], *said = NULL, text[4001];
    json_t *j = llama3();
    int32_t *ids = NULL;
    size_t n = 0, size;
    json_object_set_new(j, "truncation", json_pack("{s:i,s:s,s:i,s:s}", "max_length", 8, "strategy", "LongestFirst", "stride", 0, "direction", "Right"));
    json_object_set_new(j, "padding", json_pack("{s:{s:i},s:s}", "strategy", "Fixed", 16, "direction", "Right"));
    snprintf(log, sizeof log, "%s/log", dir);
    tt_log_set_file(log);
    tt_tokenizer *t = opened_json("t.json", j);
    tt_log_set_file(NULL);
    for (int i = 0; i < 1000; i++)
        memcpy(text + 4 * i, "\nQ;x", 4);
    tt_tokenizer_encode(t, text, 4000, &ids, &n, NULL);
    ok(n > 1000, "truncation and padding are not applied: %zu ids", n);
    tt_fs_read(log, &said, &size, NULL);
    ok(said && strstr(said, "truncation") && strstr(said, "padding") && strstr(said, "does not apply"), "and that is said");
    free(said);
    free(ids);
    tt_tokenizer_close(&t);
    json_decref(j);
}

/* clean_up_tokenization_spaces must not be obeyed. */
static void clean_up(void)
{
    static const char *const texts[] = {"x != y , it 's \"a\" . b ?", "for 'manual'", "' : '"};
    static const char config[] = "{\"clean_up_tokenization_spaces\": true, \"bos_token\": \"<|begin_of_text|>\"}";
    json_t *j = llama3();
    file("tokenizer_config.json", config, strlen(config));
    tt_tokenizer *t = opened_json("tokenizer.json", j);
    is_int(tt_tokenizer_bos(t), 1511, "the configuration is read");
    for (int i = 0; i < 3; i++) {
        int32_t *ids = NULL;
        size_t n = 0, bytes = 0;
        char *text = NULL;
        tt_tokenizer_encode(t, texts[i], strlen(texts[i]), &ids, &n, NULL);
        tt_tokenizer_decode(t, ids, n, &text, &bytes, NULL);
        is_str(text, texts[i], "spaces before punctuation survive");
        free(ids);
        free(text);
    }
    tt_tokenizer_close(&t);
    json_decref(j);
}

/* A pattern that is not known letter by letter goes through PCRE2 and gives the same ids. */
static void through_pcre2(void)
{
    static const char *const kinds[] = {"llama3", "qwen", "o200k", "deepseek"};
    char path[4200], *text = NULL;
    size_t bytes = 0, n[2] = {0}, i;
    snprintf(path, sizeof path, "%s/text.txt", golden);
    tt_fs_read(path, &text, &bytes, NULL);
    for (int k = 0; k < 4; k++) {
        int32_t *ids[2] = {NULL, NULL};
        json_t *step, *j;
        snprintf(path, sizeof path, "%s/%s/tokenizer.json", golden, kinds[k]);
        j = json_load_file(path, 0, NULL);
        tt_tokenizer *t = opened_json("t.json", j);
        tt_tokenizer_encode(t, text, bytes, &ids[0], &n[0], NULL);
        tt_tokenizer_close(&t);
        json_array_foreach(json_object_get(json_object_get(j, "pre_tokenizer"), "pretokenizers"), i, step) {
            json_t *pattern = json_object_get(step, "pattern");
            if (pattern)
                json_object_set_new(pattern, "Regex", json_sprintf("(?:%s)", json_string_value(json_object_get(pattern, "Regex"))));
        }
        t = opened_json("t.json", j);
        tt_tokenizer_encode(t, text, bytes, &ids[1], &n[1], NULL);
        tt_tokenizer_close(&t);
        ok(n[0] == n[1] && n[0] > 1000 && memcmp(ids[0], ids[1], n[0] * sizeof *ids[0]) == 0, "%s through PCRE2: the same ids", kinds[k]);
        free(ids[0]);
        free(ids[1]);
        json_decref(j);
    }
    free(text);
    tt_regex *r = NULL;
    tt_error err = {0};
    is_int(tt_regex_create("[a&&b]", 6, &r, &err), TT_ERR_DATA, "an intersection");
    is_str(err.text, "the regular expression \"[a&&b]\" of the tokenizer uses what titan cannot say at its character 0 (\"[a&&b]\"); tokenize "
           "with the tokenizers library and train on token files instead", "is refused");
    size_t from, to;
    ok(tt_regex_create("\\p{N}{1,3}+", 11, &r, &err) == TT_OK && tt_regex_match(r, (const unsigned char *)"a12345", 0, 6, &from, &to) == 1 &&
           from == 1 && to == 6, "x{1,3}+ repeats the interval, as in Ruby's syntax");
    tt_regex_destroy(&r);
}

static void bad_utf8(void)
{
    json_t *j = llama3();
    tt_tokenizer *t = opened_json("t.json", j);
    int32_t *a = NULL, *b = NULL;
    size_t n = 0, m = 0;
    tt_tokenizer_encode(t, "x\xF0\x9F\x98y\xFF\xED\xA0\x80", 9, &a, &n, NULL);
    tt_tokenizer_encode(t, "x\uFFFDy\uFFFD\uFFFD\uFFFD\uFFFD", 17, &b, &m, NULL);
    ok(n == m && memcmp(a, b, n * sizeof *a) == 0, "ill-formed parts are U+FFFD, as Python's replace gives");
    free(a);
    free(b);
    tt_tokenizer_close(&t);
    json_decref(j);
}

static void hashes(void)
{
    json_t *j = llama3();
    tt_tokenizer *a = opened_json("t.json", j), *b = opened_json("u.json", j);
    json_object_set_new(json_object_get(j, "model"), "ignore_merges", json_false());
    tt_tokenizer *c = opened_json("t.json", j);
    ok(tt_tokenizer_hash(a) == tt_tokenizer_hash(b) && tt_tokenizer_hash(a) != tt_tokenizer_hash(c), "the hash tells files apart");
    tt_tokenizer_close(&a);
    tt_tokenizer_close(&b);
    tt_tokenizer_close(&c);
    json_decref(j);
}

/* Damaged copies are read or refused, never more; cut ones are refused. */
static void damage(void)
{
    json_t *j = llama3();
    char *text = json_dumps(j, JSON_COMPACT);
    const size_t n = strlen(text);
    char *copy = malloc(n + 1);
    uint64_t x = 42;
    int cut_ok = 0, refused_n = 0;
    tt_log_set_level(TT_LOG_ERROR);
    for (int i = 0; i < 300; i++) {
        tt_tokenizer *t = NULL;
        tt_error err = {0};
        size_t length = n;
        memcpy(copy, text, n + 1);
        x = x * 6364136223846793005u + 1442695040888963407u;
        if (i < 100) {
            length = (size_t)(x >> 20) % n;
        } else {
            for (int k = 0; k < 1 + i % 3; k++) {
                x = x * 6364136223846793005u + 1442695040888963407u;
                copy[(x >> 20) % (i % 2 ? n : n / 20)] = "\"\\{}[],:0u\xC3\x01 9a"[(x >> 52) % 15];
            }
        }
        const char *path = file("t.json", copy, length);
        const tt_status st = tt_tokenizer_open(path, &t, &err);
        if (i < 100)
            cut_ok += st == TT_OK;
        refused_n += st != TT_OK && err.text[0];
        if (t) {
            int32_t *ids = NULL;
            size_t n_ids;
            tt_tokenizer_encode(t, "Hello <|begin_of_text|> 123", 27, &ids, &n_ids, NULL);
            free(ids);
        }
        tt_tokenizer_close(&t);
    }
    is_int(cut_ok, 0, "a file that is cut anywhere is refused");
    ok(refused_n > 200, "of 300 damaged files %d are refused, with a message", refused_n);
    free(copy);
    free(text);
    json_decref(j);
}

int main(void)
{
    const char *root = getenv("TITAN_ROOT");
    snprintf(golden, sizeof golden, "%s/tests/golden/tokenizer", root ? root : ".");
    if (!mkdtemp(dir))
        return 1;
    refusals();
    small_files();
    library_corners();
    hash_merges();
    truncation_and_padding();
    through_pcre2();
    bad_utf8();
    hashes();
    damage();
    clean_up();
    tt_fs_remove_all(dir, NULL);
    return done_testing();
}
