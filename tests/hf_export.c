/* Export is the inverse of import: folder -> titan's order -> folder gives the same bytes, in one file or in many. */
#include "convert/hf_export.h"
#include "convert/hf_folder.h"
#include "convert/names.h"
#include "tap.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char dir[] = "/tmp/titan-export-XXXXXX";

typedef struct model {
    tt_hf_folder *folder;
    tt_hf_config config;
    const char *fail_at; /* the source fails at this parameter */
} model;

static tt_status source(void *context, const char *fqn, const tt_box *box, float *dst, tt_error *err)
{
    model *m = context;
    if (m->fail_at && strcmp(fqn, m->fail_at) == 0)
        return tt_fail(err, TT_ERR_IO, "the disk is gone");
    return tt_hf_read_param(m->folder, &m->config, fqn, box, dst, box->count[1], err);
}

static int open_golden(const char *name, model *m)
{
    char path[4096];
    tt_error err = {0};
    const char *root = getenv("TITAN_ROOT");
    snprintf(path, sizeof path, "%s/tests/golden/hf/%s", root ? root : ".", name);
    *m = (model){0};
    if (tt_hf_folder_open(path, &m->folder, &err) != TT_OK || tt_hf_config_read(path, &m->config, &err) != TT_OK) {
        diag("%s", err.text);
        return 0;
    }
    return 1;
}

/* Every tensor of one folder is in the other with equal type, shape and bytes. */
static int same(const tt_hf_folder *a, const tt_hf_folder *b)
{
    int equal = tt_hf_folder_count(a) == tt_hf_folder_count(b);
    for (int i = 0; equal && i < tt_hf_folder_count(a); i++) {
        const tt_safetensors *fa, *fb = NULL;
        const tt_safetensors_entry *x = tt_hf_folder_at(a, i, &fa), *y = tt_hf_folder_find(b, x->name, &fb);
        size_t n = (size_t)(x->end - x->begin);
        char *p = malloc(n), *q = malloc(n);
        equal = y && strcmp(x->dtype, y->dtype) == 0 && x->ndim == y->ndim &&
                memcmp(x->shape, y->shape, sizeof *x->shape * (size_t)x->ndim) == 0 &&
                tt_safetensors_read(fa, x->name, p, n, NULL) == TT_OK &&
                tt_safetensors_read(fb, x->name, q, n, NULL) == TT_OK && memcmp(p, q, n) == 0;
        if (!equal)
            diag("%s differs", x->name);
        free(p);
        free(q);
    }
    return equal;
}

static int same_config(const tt_hf_config *a, const tt_hf_config *b)
{
    return memcmp(a, b, sizeof *a) == 0;
}

static void there_and_back(const char *golden, const char *to, tt_dtype dtype, int64_t shard_bytes, int many)
{
    char out[300], file[400];
    tt_error err = {0};
    model m, again = {0};
    if (!ok(open_golden(golden, &m), "%s opens", golden))
        return;
    snprintf(out, sizeof out, "%s/%s", dir, to);
    mkdir(out, 0777);
    tt_hf_export_opts opts = {.dir = out, .dtype = dtype, .shard_bytes = shard_bytes, .block_bytes = many ? 3000 : 0};
    ok(tt_llama_export(&opts, &m.config, source, &m, &err) == TT_OK, "%s is exported %s", golden, err.text);
    ok(tt_hf_folder_open(out, &again.folder, &err) == TT_OK && tt_hf_config_read(out, &again.config, &err) == TT_OK,
       "%s can be read again %s", to, err.text);
    ok(again.folder && same(m.folder, again.folder), "%s -> titan -> %s: equal bytes", golden, to);
    ok(same_config(&m.config, &again.config), "equal config (%s)", again.config.warnings);
    snprintf(file, sizeof file, "%s/model.safetensors.index.json", out);
    json_t *index = json_load_file(file, 0, NULL);
    is_int(index != NULL, many, "an index when there are several files");
    if (index) {
        int64_t bytes = 0;
        for (int i = 0; i < tt_hf_folder_count(again.folder); i++)
            bytes += tt_hf_folder_at(again.folder, i, NULL)->end - tt_hf_folder_at(again.folder, i, NULL)->begin;
        is_int(json_integer_value(json_object_get(json_object_get(index, "metadata"), "total_size")), bytes,
               "total_size counts the tensors' bytes");
        json_decref(index);
    }
    ok(tt_llama_export(&opts, &m.config, source, &m, &err) == TT_ERR_USAGE && strstr(err.text, "give an empty folder"),
       "not over an earlier one: %s", err.text);
    tt_hf_folder_close(&again.folder);
    tt_hf_folder_close(&m.folder);
}

static void failures(void)
{
    char out[300], file[400];
    tt_error err = {0};
    model m;
    struct stat info;
    if (!ok(open_golden("single", &m), "single opens"))
        return;
    snprintf(out, sizeof out, "%s/failed", dir);
    mkdir(out, 0777);
    tt_hf_export_opts opts = {.dir = out, .dtype = TT_F32, .shard_bytes = 50000};
    m.fail_at = "norm.weight";
    is_int(tt_llama_export(&opts, &m.config, source, &m, &err), TT_ERR_IO, "the source fails: %s", err.text);
    snprintf(file, sizeof file, "%s/model-00001-of-00004.safetensors", out);
    ok(stat(file, &info) != 0, "no shard is left");
    snprintf(file, sizeof file, "ls %s | grep -q safetensors", out);
    ok(system(file) != 0, "no file of weights at all");
    opts.dtype = TT_I32;
    is_int(tt_llama_export(&opts, &m.config, source, &m, &err), TT_ERR_DTYPE, "%s", err.text);
    opts = (tt_hf_export_opts){.dir = "/nonexistent", .dtype = TT_F32};
    is_int(tt_llama_export(&opts, &m.config, source, &m, &err), TT_ERR_IO, "%s", err.text);
    tt_hf_folder_close(&m.folder);
}

static void names(void)
{
    tt_hf_config c = {.hidden_size = 8, .num_hidden_layers = 12, .num_attention_heads = 2, .num_key_value_heads = 1,
                      .head_dim = 4, .intermediate_size = 16, .vocab_size = 10};
    is_int(tt_llama_n_params(&c), 111, "12 layers of 9, and 3");
    is_str(tt_llama_param_at(&c, 0).fqn, "tok_embeddings.weight", "first");
    is_str(tt_llama_param_at(&c, 108).fqn, "layers.11.feed_forward.w3.weight", "last of the layers");
    is_str(tt_llama_param_at(&c, 109).name, "model.norm.weight", "the norm");
    tt_llama_param last = tt_llama_param_at(&c, 110);
    ok(strcmp(last.name, "lm_head.weight") == 0 && last.ndim == 2 && last.shape[0] == 10 && last.shape[1] == 8, "the head");
    c.tie_word_embeddings = 1;
    is_int(tt_llama_n_params(&c), 110, "a tied head is not counted");
}

int main(void)
{
    if (!mkdtemp(dir))
        return 1;
    names();
    failures();
    there_and_back("single", "whole", TT_F32, 0, 0);
    there_and_back("sharded", "small", TT_F32, 20000, 1);
    there_and_back("tied", "tied", TT_F32, 0, 0);
    there_and_back("bf16", "half", TT_BF16, 30000, 1);
    char command[300];
    snprintf(command, sizeof command, "rm -r %s", dir);
    return system(command) == 0 ? done_testing() : 1;
}
