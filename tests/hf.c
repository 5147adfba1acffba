/* Hugging Face folders: broken ones are refused with tensor and file, whole ones read in any box; config.json in its
 * older and newer forms. Golden folders were saved by transformers 5.24. */
#include "convert/hf_config.h"
#include "convert/hf_folder.h"
#include "convert/names.h"
#include "sha256.h"
#include "tap.h"

#include <jansson.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char dir[] = "/tmp/titan-hf-XXXXXX";

static const char *golden(const char *name)
{
    static char path[4096];
    const char *root = getenv("TITAN_ROOT");
    snprintf(path, sizeof path, "%s/tests/golden/hf/%s", root ? root : ".", name);
    return path;
}

static void put(const char *name, const char *text, size_t n)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    FILE *out = fopen(path, "wb");
    if (!out || fwrite(text, 1, n, out) != n || fclose(out) != 0)
        diag("cannot write %s", path);
}

static char *get(const char *folder, const char *name, size_t *n)
{
    char path[8192];
    snprintf(path, sizeof path, "%s/%s", golden(folder), name);
    FILE *in = fopen(path, "rb");
    if (!in)
        skip_all("golden files not found; set TITAN_ROOT");
    char *text = calloc(1, 1 << 18);
    *n = fread(text, 1, 1 << 18, in);
    fclose(in);
    return text;
}

/* A copy of `sharded`, changed: file `skip` left out, in file `edit` `from` overwritten by `to` (NULL: by spaces). */
static void make_folder(const char *skip, const char *edit, const char *from, const char *to)
{
    static const char *const files[] = {"model-00001-of-00003.safetensors", "model-00002-of-00003.safetensors",
                                        "model-00003-of-00003.safetensors", "model.safetensors.index.json"};
    for (int i = 0; i < 4; i++) {
        size_t n;
        char path[4096], *text = get("sharded", files[i], &n);
        snprintf(path, sizeof path, "%s/%s", dir, files[i]);
        unlink(path);
        char *at = edit && strcmp(edit, files[i]) == 0 ? memmem(text, n, from, strlen(from)) : NULL;
        if (at && to)
            memcpy(at, to, strlen(to));
        else if (at)
            memset(at, ' ', strlen(from));
        if (!skip || strcmp(skip, files[i]) != 0)
            put(files[i], text, n);
        free(text);
    }
}

static void refused(const char *what, const char *word1, const char *word2)
{
    tt_hf_folder *folder = NULL;
    tt_error err = {0};
    int st = tt_hf_folder_open(dir, &folder, &err);
    ok(st == TT_ERR_DATA && !folder && strstr(err.text, word1) && strstr(err.text, word2), "%s: %s", what, err.text);
    tt_hf_folder_close(&folder);
}

static void broken_folders(void)
{
    refused("an empty folder", "neither model.safetensors", dir);
    make_folder("model-00002-of-00003.safetensors", NULL, NULL, NULL);
    refused("a shard is missing", "model.layers.", "model-00002-of-00003.safetensors");
    make_folder(NULL, "model-00003-of-00003.safetensors", "lm_head.weight", "lm_hexd.weight");
    refused("a tensor renamed in its shard", "lm_head.weight", "model-00003-of-00003.safetensors");
    make_folder(NULL, "model.safetensors.index.json", "\"lm_head.weight\": \"model-00003-of-00003.safetensors\",",
                NULL);
    refused("a name dropped from the index", "lm_head.weight", "does not list");
    make_folder(NULL, "model.safetensors.index.json", "\"weight_map\"", "\"weight_mad\"");
    refused("no weight_map", "weight_map", "index.json");
    make_folder(NULL, "model.safetensors.index.json", "\"model-00003", "\"../el-00003");
    refused("a path that leaves the folder", "a file name in this folder", "index.json");
    make_folder(NULL, NULL, NULL, NULL);
}

/* All parameters of a golden folder against expected.json. */
static void whole_folder(const char *name, const json_t *expected)
{
    tt_hf_folder *folder = NULL;
    tt_error err = {0};
    int bad = 0, n = 0;
    if (!ok(tt_hf_folder_open(golden(name), &folder, &err) == TT_OK, "%s opens %s", name, err.text))
        return;
    for (int i = 0; i < tt_hf_folder_count(folder); i++, n++) {
        char hex[65];
        const tt_safetensors *file;
        const tt_safetensors_entry *t = tt_hf_folder_at(folder, i, NULL);
        json_t *want = json_object_get(json_object_get(json_object_get(expected, name), "parameters"), t->name);
        void *data = malloc((size_t)(t->end - t->begin));
        bad += tt_hf_folder_find(folder, t->name, &file) != t;
        bad += tt_safetensors_read(file, t->name, data, (size_t)(t->end - t->begin), &err) != TT_OK;
        sha256_hex(data, (size_t)(t->end - t->begin), hex);
        const char *sum = json_string_value(json_object_get(want, "sha256"));
        bad += !sum || strcmp(sum, hex) != 0;
        free(data);
    }
    ok(bad == 0 && n >= 20, "%s: %d tensors have the expected bytes", name, n);
    tt_hf_folder_close(&folder);
}

static void boxes(void)
{
    tt_hf_folder *a = NULL, *b = NULL;
    tt_error err = {0};
    const char *name = "model.layers.1.mlp.down_proj.weight"; /* [32, 64] */
    const int64_t pitch[2] = {5, 9};
    float whole[32 * 64], part[5 * 9] = {0};
    tt_box all = {.ndim = 2, .count = {32, 64}}, box = {.ndim = 2, .start = {3, 50}, .count = {5, 8}};
    int bad = 0;
    is_int(tt_hf_folder_open(golden("single"), &a, &err), TT_OK, "single opens");
    is_int(tt_hf_folder_open(golden("odd_names"), &b, &err), TT_OK, "odd_names opens");
    is_int(tt_hf_folder_read_box(a, name, &all, whole, all.count, &err), TT_OK, "whole tensor of one");
    is_int(tt_hf_folder_read_box(b, name, &box, part, pitch, &err), TT_OK, "box of the other");
    for (int i = 0; i < 5; i++)
        for (int j = 0; j < 9; j++)
            bad += part[i * 9 + j] != (j < 8 ? whole[(3 + i) * 64 + 50 + j] : 0);
    is_int(bad, 0, "the box has the whole's values, padding untouched");
    is_int(tt_hf_folder_read_box(a, "no.such", &box, part, pitch, &err), TT_ERR_DATA, "unknown name: %s", err.text);
    tt_hf_folder_close(&a);
    tt_hf_folder_close(&b);
}

/* titan's parameters out of a published folder: names, the row order of q and k, boxes. */
static void parameters(void)
{
    tt_hf_folder *f = NULL;
    tt_hf_config c;
    tt_error err = {0};
    char name[128];
    int rotary = 0, bad = 0;
    float hf[32 * 32], mine[32 * 32], part[6 * 5];
    tt_box all = {.ndim = 2, .count = {32, 32}}, box = {.ndim = 2, .start = {5, 7}, .count = {6, 4}};
    ok(tt_llama_name_to_hf("layers.11.attention.wk.weight", name, sizeof name, &rotary) == 0 && rotary, "wk is rotary");
    is_str(name, "model.layers.11.self_attn.k_proj.weight", "its published name");
    ok(tt_llama_name_from_hf("model.layers.3.mlp.up_proj.weight", name, sizeof name, &rotary) == 0 && !rotary, "w3 is not");
    is_str(name, "layers.3.feed_forward.w3.weight", "titan's name");
    is_int(tt_llama_name_to_hf("layers.1.attention.wz.weight", name, sizeof name, NULL), -1, "no such parameter");
    is_int(tt_llama_name_from_hf("model.layers.0.self_attn.rotary_emb.inv_freq", name, sizeof name, NULL), -1, "a buffer");
    for (int64_t r = 0; r < 64; r++) /* published[h*8 + s*4 + p] = titan[h*8 + 2p + s] */
        bad += tt_rotary_row_to_hf(r, 8) != r / 8 * 8 + r % 2 * 4 + r % 8 / 2 ||
               tt_rotary_row_from_hf(tt_rotary_row_to_hf(r, 8), 8) != r;
    is_int(bad, 0, "row order there and back");

    is_int(tt_hf_config_read(golden("tied"), &c, &err), TT_OK, "config %s", err.text);
    is_int(tt_hf_folder_open(golden("tied"), &f, &err), TT_OK, "folder %s", err.text);
    is_int(tt_llama_check_folder(f, &c, &err), TT_OK, "they fit %s", err.text);
    tt_hf_folder_read_box(f, "model.layers.1.self_attn.q_proj.weight", &all, hf, all.count, &err);
    is_int(tt_hf_read_param(f, &c, "layers.1.attention.wq.weight", &all, mine, 32, &err), TT_OK, "wq %s", err.text);
    is_int(tt_hf_read_param(f, &c, "layers.1.attention.wq.weight", &box, part, 5, &err), TT_OK, "a box of wq");
    for (int r = 0; r < 32; r++)
        for (int i = 0; i < 32; i++) {
            bad += mine[r * 32 + i] != hf[tt_rotary_row_to_hf(r, 8) * 32 + i];
            if (r >= 5 && r < 11 && i >= 7 && i < 11)
                bad += part[(r - 5) * 5 + i - 7] != mine[r * 32 + i];
        }
    is_int(bad, 0, "rows reordered, box equal to the whole's");
    tt_box some = {.ndim = 2, .start = {300, 0}, .count = {4, 32}};
    ok(tt_hf_read_param(f, &c, "output.weight", &some, mine, 32, &err) == TT_OK &&
           tt_hf_read_param(f, &c, "tok_embeddings.weight", &some, hf, 32, &err) == TT_OK &&
           memcmp(mine, hf, sizeof(float) * 128) == 0, "a tied output is the embedding");
    c.num_hidden_layers = 1;
    is_int(tt_llama_check_folder(f, &c, &err), TT_ERR_DATA, "a spare layer: %s", err.text);
    c.num_hidden_layers = 3;
    is_int(tt_llama_check_folder(f, &c, &err), TT_ERR_DATA, "a layer short: %s", err.text);
    tt_hf_folder_close(&f);
}

#define BASE "\"model_type\":\"llama\",\"hidden_size\":32,\"num_hidden_layers\":2,\"num_attention_heads\":4,\
\"intermediate_size\":64,\"vocab_size\":320,\"rms_norm_eps\":1e-5"

static tt_status config_of(const char *more, tt_hf_config *config, tt_error *err)
{
    char text[4096];
    snprintf(text, sizeof text, "{" BASE "%s}", more);
    put("config.json", text, strlen(text));
    return tt_hf_config_read(dir, config, err);
}

static int lines(const char *text)
{
    int n = 0;
    for (; *text; text++)
        n += *text == '\n';
    return n;
}

static void configs(void)
{
    static const struct {
        const char *more, *word;
    } bad[] = {
        {",\"rope_theta\":\"big\"", "\"rope_theta\" is not a number"},
        {",\"num_key_value_heads\":3", "num_key_value_heads 3"},
        {",\"head_dim\":0", "\"head_dim\" is not usable"},
        {",\"tie_word_embeddings\":1", "\"tie_word_embeddings\" is neither true nor false"},
        {",\"rope_scaling\":{\"rope_type\":\"llama3\"}", "needs factor"},
        {",\"rope_scaling\":3", "\"rope_scaling\" is not an object"},
        {",\"hidden_act\":", "config.json failed"},
    };
    static const struct {
        const char *more;
        double theta;
        int n_warnings;
        const char *type;
    } ropes[] = {
        {",\"rope_parameters\":{\"rope_theta\":500000.0,\"rope_type\":\"default\"}", 500000, 0, "default"},
        {",\"rope_theta\":500000,\"rope_scaling\":null", 500000, 0, "default"},
        {",\"rope_theta\":10000.0,\"rope_parameters\":{\"rope_theta\":500000.0}", 500000, 1, "default"},
        {"", 10000, 1, "default"},
        {",\"rope_theta\":5e5,\"rope_scaling\":{\"type\":\"linear\",\"factor\":2.0}", 500000, 0, "linear"},
    };
    tt_hf_config c;
    tt_error err = {0};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        ok(config_of(bad[i].more, &c, &err) == TT_ERR_DATA && strstr(err.text, bad[i].word), "refused: %s", err.text);
    for (size_t i = 0; i < sizeof ropes / sizeof ropes[0]; i++) {
        int st = config_of(ropes[i].more, &c, &err);
        ok(st == TT_OK && c.rope_theta == ropes[i].theta && lines(c.warnings) == ropes[i].n_warnings &&
               strcmp(c.rope_type, ropes[i].type) == 0, "rope %zu: theta %g, %s: %s", i, c.rope_theta, c.rope_type,
           c.warnings);
    }
    config_of(",\"num_key_value_heads\":null,\"head_dim\":null,\"torch_dtype\":\"bfloat16\",\"eos_token_id\":[7,8]", &c, &err);
    ok(c.num_key_value_heads == 4 && c.head_dim == 8 && c.tie_word_embeddings == 0 && c.eos_token_id == 7 &&
           c.bos_token_id == -1, "null K and Hd take their defaults, untied, first of a list");
    is_str(c.dtype, "bfloat16", "torch_dtype");
    is_int(tt_hf_config_read("/nonexistent", &c, &err), TT_ERR_DATA, "no folder: %s", err.text);

    is_int(tt_hf_config_read(golden("tied"), &c, &err), TT_OK, "the golden tied config %s", err.text);
    ok(c.hidden_size == 32 && c.num_hidden_layers == 2 && c.num_attention_heads == 4 && c.num_key_value_heads == 2 &&
           c.head_dim == 8 && c.intermediate_size == 64 && c.vocab_size == 320 && c.max_position_embeddings == 256 &&
           c.rms_norm_eps == 1e-5 && c.tie_word_embeddings && c.rope_theta == 500000 &&
           strcmp(c.rope_type, "llama3") == 0 && c.rope_factor == 8 && c.rope_low_freq_factor == 1 &&
           c.rope_high_freq_factor == 4 && c.rope_original_max_position == 32 && strcmp(c.dtype, "float32") == 0 &&
           !c.warnings[0] && c.bos_token_id == 1, "all its values");
}

int main(void)
{
    json_error_t error;
    json_t *expected = json_load_file(golden("expected.json"), 0, &error);
    if (!expected || !mkdtemp(dir))
        skip_all("golden files not found; set TITAN_ROOT");
    broken_folders();
    static const char *const names[] = {"single", "sharded", "odd_names", "bf16", "tied"};
    for (int i = 0; i < 5; i++)
        whole_folder(names[i], expected);
    boxes();
    parameters();
    configs();
    json_decref(expected);
    char command[4200];
    snprintf(command, sizeof command, "rm -r %s", dir);
    return system(command) == 0 ? done_testing() : 1;
}
