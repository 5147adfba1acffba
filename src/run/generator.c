/* See generator.h. */
#include "run/generator.h"

#include "base/fs.h"
#include "base/log.h"
#include "run/import_hf.h"
#include "run/job.h"
#include "run/state.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* --- the checkpoint and its configuration ------------------------------------------------------------------------- */

/* The folder of a run stands for its checkpoints: malloc'd. */
static char *steps_of(const char *path)
{
    char *inside = tt_fs_join(path, "checkpoint");
    if (access(inside, F_OK) == 0)
        return inside;
    free(inside);
    return strdup(path);
}

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
                     "them (<dump_folder>/checkpoint), or a folder with config.json and safetensors", path);
    free(dir);
    return st;
}

/* The configuration that the checkpoint was trained with. */
static tt_status read_config(const tt_ckpt *c, tt_config *cfg, tt_error *err)
{
    const char *tmp = getenv("TMPDIR");
    char path[4096];
    tt_status st;
    json_t *meta = json_loads(tt_ckpt_meta(c), 0, NULL);
    const char *text = json_string_value(json_object_get(meta, "config"));
    snprintf(path, sizeof path, "%s/titan-config-XXXXXX", tmp ? tmp : "/tmp");
    int fd = text ? mkstemp(path) : -1;
    if (!text)
        TT_TRY(tt_fail(err, TT_ERR_CKPT,
                       "%s does not hold its configuration; it was not saved by titan-train: give "
                       "one that was",
                       tt_ckpt_path(c)));
    if (fd < 0)
        TT_TRY(tt_fail(err, TT_ERR_IO, "cannot make a temporary file %s; set TMPDIR to a folder that can be written", path));
    if (write(fd, text, strlen(text)) != (ssize_t)strlen(text))
        st = tt_fail(err, TT_ERR_IO, "cannot write %s; make room there or set TMPDIR to another folder", path);
    else
        st = tt_config_read_file(cfg, path, err);
    close(fd);
    unlink(path);
out:
    json_decref(meta);
    return st;
}

/* --- open ----------------------------------------------------------------------------------------------------------- */

static int is_published(const char *path)
{
    char *config = tt_fs_join(path, "config.json");
    int yes = access(config, F_OK) == 0;
    free(config);
    return yes;
}

static tt_status apply_settings(tt_config *cfg, const tt_generator_opts *o, tt_error *err)
{
    tt_status st = TT_OK;
    for (int i = 0; i < o->n_settings && st == TT_OK; i++) {
        const char *equal = strchr(o->settings[i], '=');
        if (!equal)
            return tt_fail(err, TT_ERR_USAGE, "--%s has no value; write --%s=VALUE", o->settings[i], o->settings[i]);
        char *name = strndup(o->settings[i], (size_t)(equal - o->settings[i]));
        st = tt_config_set(cfg, name, equal + 1, "command line", err);
        free(name);
    }
    return st;
}

static tt_status open_published(tt_generator *g, tt_error *err)
{
    tt_hf_config hf;
    tt_model_dims dims;
    const char *family;
    tt_status st;
    TT_TRY(tt_hf_config_read(g->path, &hf, err));
    if (hf.warnings[0])
        tt_log_root(WARN, "%s/config.json: %s", g->path, hf.warnings);
    TT_TRY(tt_model_dims_from_hf(&hf, &family, &dims, err));
    TT_TRY(tt_model_create(family, &dims, &g->model, err));
    g->context_max = dims.max_seq_len > 0 ? dims.max_seq_len : 2048;
out:
    return st;
}

tt_status tt_generator_open(const tt_generator_opts *o, tt_generator **out, tt_error *err)
{
    tt_status st;
    tt_generator *g = calloc(1, sizeof *g);
    TT_ASSERT(g);
    *out = NULL;
    g->path = strdup(o->path);
    TT_ASSERT(g->path);
    TT_TRY(tt_config_create(&g->cfg, err));
    if (is_published(o->path)) {
        TT_TRY(tt_config_set(g->cfg, "training.mixed_precision_param", "float32", "default", err));
        TT_TRY(apply_settings(g->cfg, o, err));
        TT_TRY(open_published(g, err));
    } else {
        free(g->path);
        g->path = steps_of(o->path);
        TT_TRY(open_checkpoint(g->path, &g->ckpt, err));
        TT_TRY(read_config(g->ckpt, g->cfg, err));
        TT_TRY(apply_settings(g->cfg, o, err));
        TT_TRY(tt_job_model(g->cfg, &g->model, err));
        g->context_max = g->cfg->training.seq_len;
    }
    TT_TRY(tt_tokenizer_open(tt_job_tokenizer(g->cfg, g->ckpt ? NULL : g->path), &g->tokenizer, err));
    TT_TRY(tt_device_create_cpu(o->threads, &g->device, err));
    *out = g;
    g = NULL;
out:
    tt_generator_close(&g);
    return st;
}

void tt_generator_close(tt_generator **generator)
{
    tt_generator *g = *generator;
    if (!g)
        return;
    tt_engine_destroy(&g->engine);
    tt_device_destroy(&g->device);
    tt_model_destroy(&g->model);
    tt_tokenizer_close(&g->tokenizer);
    tt_config_destroy(&g->cfg);
    tt_ckpt_close(&g->ckpt);
    free(g->path);
    free(g);
    *generator = NULL;
}

/* --- run ------------------------------------------------------------------------------------------------------------ */

tt_status tt_generator_ready(tt_generator *g, tt_world *world, int64_t tokens, tt_error *err)
{
    const int alone[TT_N_AXES] = {1, 1, 1, 1, 1};
    tt_train_state state = {0};
    tt_mesh mesh;
    tt_status st;
    g->context = tokens < g->context_max ? tokens : g->context_max;
    TT_TRY(tt_mesh_create(alone, 1, 0, &mesh, err));
    const tt_compile_opts o = {.seq_len = g->context,
                               .batch = 1,
                               .n_microbatches = 1,
                               .compute_dtype = strcmp(g->cfg->training.mixed_precision_param, "bfloat16") ? TT_F32 : TT_BF16,
                               .recompute = {.mode = TT_AC_FULL},
                               .generate_seq_len = g->context};
    TT_TRY(tt_engine_create(world, &mesh, g->model, g->device, &o, &g->engine, err));
    if (g->ckpt)
        TT_TRY(tt_state_load(g->engine, g->ckpt, 0, &state, err));
    else
        TT_TRY(tt_engine_load_hf(g->engine, g->path, err));
    TT_TRY(tt_engine_eval_begin(g->engine, err));
out:
    tt_train_state_free(&state);
    return st;
}

tt_status tt_generator_logits(tt_generator *g, const int32_t *ids, int64_t n, const float **logits, int64_t *vocab,
                              tt_error *err)
{
    const tt_microbatch b = tt_engine_generate_inputs(g->engine);
    const int64_t first = n > b.n ? n - b.n : 0, rows = n - first;
    for (int64_t i = 0; i < b.n; i++) {
        b.tokens[i] = i < rows ? ids[first + i] : 0;
        b.positions[i] = (int32_t)i;
        b.doc_start[i] = 0;
    }
    tt_status st = tt_engine_row_logits(g->engine, (int)rows - 1, logits, vocab, err);
    if (st == TT_OK && *vocab > tt_tokenizer_vocab(g->tokenizer))
        *vocab = tt_tokenizer_vocab(g->tokenizer);
    return st;
}
