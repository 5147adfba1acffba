/* See state.h. */
#include "run/state.h"

#include "base/log.h"
#include "base/version.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char *tt_state_fingerprint(const tt_engine *e)
{
    const tt_program *p = e->program;
    char mesh[128], isa[128], *text = malloc(1024);
    TT_ASSERT(text);
    snprintf(text, 1024, "titan %s commit %s, device %s, %d threads, kernels %s, mesh %s, batch %d x %d x %lld, compute %s",
             tt_version(), tt_version_commit(), e->device->table->name, e->device->profile.n_threads,
             tt_device_isa(e->device, isa, sizeof isa), tt_mesh_describe(&p->mesh, mesh, sizeof mesh), p->train.batch, p->n_microbatches,
             (long long)p->train.seq_len, tt_dtype_name(p->compute_dtype));
    for (int f = 0; f < TT_N_FUSIONS; f++) /* the others do not change bits */
        if (p->fusions_off & 1u << f && !tt_fusion_keeps_bits(f))
            snprintf(text + strlen(text), 1024 - strlen(text), ", %s off", tt_fusion_name(f));
    return text;
}

static json_t *meta_json(const tt_engine *e, const tt_train_state *s, const char *config)
{
    const tt_program *p = e->program;
    char *fingerprint = tt_state_fingerprint(e);
    json_t *mesh = json_object();
    for (int a = 0; a < TT_N_AXES; a++)
        json_object_set_new(mesh, tt_axis_name(a), json_integer(p->mesh.degree[a]));
    json_t *o = json_pack("{s:I, s:I, s:I, s:I, s:s, s:o, s:s, s:s}", "step", (json_int_t)s->step, "data_cursor",
                          (json_int_t)s->cursor, "tokens_seen", (json_int_t)s->tokens, "seed", (json_int_t)s->seed,
                          "family", e->model->family->name, "mesh", mesh, "fingerprint", fingerprint, "config", config);
    json_object_set_new(o, "tokenizer", json_string(s->tokenizer));
    if (s->data)
        json_object_set_new(o, "data", json_string(s->data));
    if (s->bookmark)
        json_object_set_new(o, "data_bookmark", json_string(s->bookmark));
    free(fingerprint);
    return o;
}

tt_status tt_state_save(tt_world *world, tt_engine *e, const tt_ckpt_options *opts, const tt_train_state *state,
                        int optimizer, const char *config, tt_error *err)
{
    tt_ckpt_tensor *t = NULL;
    char *meta = NULL;
    int n;
    tt_status st;
    TT_TRY(tt_world_agree(world, tt_engine_snapshot(e, err), err));
    tt_engine_tensors(e, optimizer, &t, &n);
    json_t *o = meta_json(e, state, config);
    meta = o ? json_dumps(o, JSON_COMPACT) : NULL;
    json_decref(o);
    if (!meta)
        TT_TRY(tt_fail(err, TT_ERR_INTERNAL, "the checkpoint's description cannot be written as JSON"));
    TT_TRY(tt_ckpt_save(world, opts, state->step, meta, t, n, err));
out:
    free(meta);
    free(t);
    return st;
}

static tt_status read_number(const json_t *o, const char *name, const tt_ckpt *c, int64_t *out, tt_error *err)
{
    const json_t *v = json_object_get(o, name);
    if (!json_is_integer(v))
        return tt_fail(
            err, TT_ERR_CKPT,
            "checkpoint %s does not say its %s; it was not saved by titan-train: use one that was",
            tt_ckpt_path(c), name);
    *out = json_integer_value(v);
    return TT_OK;
}

void tt_train_state_free(tt_train_state *s)
{
    free(s->bookmark);
    free(s->data);
    s->bookmark = s->data = NULL;
}

/* A run that goes on needs the ids that it learned; other rows of text are its user's business, but not silently. */
static tt_status check_data(const json_t *o, const tt_ckpt *c, const tt_train_state *s, tt_error *err)
{
    const char *tokenizer = json_string_value(json_object_get(o, "tokenizer")), *data = json_string_value(json_object_get(o, "data"));
    if (tokenizer && *tokenizer && *s->tokenizer && strcmp(tokenizer, s->tokenizer))
        return tt_fail(err, TT_ERR_CONFIG, "checkpoint %s was trained with another tokenizer: its ids mean other texts (identity %s, now %s); "
                       "use the tokenizer of that run, or start anew from its weights with checkpoint.initial_load_path and another "
                       "job.dump_folder", tt_ckpt_path(c), tokenizer, s->tokenizer);
    if (data && s->data && strcmp(data, s->data))
        tt_log_root(WARN, "the data is not what checkpoint %s was trained on: it was %s, now it is %s; the samples from here on are other "
                    "texts than those that would have come", tt_ckpt_path(c), data, s->data);
    return TT_OK;
}

static tt_status read_meta(const tt_engine *e, const tt_ckpt *c, int goes_on, tt_train_state *s, tt_error *err)
{
    json_t *o = json_loads(tt_ckpt_meta(c), 0, NULL);
    tt_status st;
    TT_TRY(read_number(o, "step", c, &s->step, err));
    TT_TRY(read_number(o, "data_cursor", c, &s->cursor, err));
    TT_TRY(read_number(o, "tokens_seen", c, &s->tokens, err));
    TT_TRY(read_number(o, "seed", c, &s->seed, err));
    if (goes_on)
        TT_TRY(check_data(o, c, s, err));
    const char *mark = json_string_value(json_object_get(o, "data_bookmark"));
    free(s->bookmark);
    s->bookmark = mark ? strdup(mark) : NULL;
    const char *theirs = json_string_value(json_object_get(o, "fingerprint"));
    char *ours = tt_state_fingerprint(e);
    if (!theirs || strcmp(theirs, ours))
        tt_log_root(INFO, "resume is not bit-exact: the checkpoint was made by \"%s\", this run is \"%s\"",
                    theirs ? theirs : "?", ours);
    free(ours);
out:
    json_decref(o);
    return st;
}

static void zero_padding(const tt_ckpt_tensor *t, int n)
{
    for (int i = 0; i < n; i++) {
        size_t bytes = tt_dtype_size(t[i].dtype);
        for (int d = 0; d < t[i].ndim; d++)
            bytes *= (size_t)t[i].pitch[d];
        memset(t[i].data, 0, bytes);
    }
}

tt_status tt_state_load(tt_engine *e, tt_ckpt *ckpt, int optimizer, tt_train_state *state, tt_error *err)
{
    tt_ckpt_tensor *all = NULL, *wanted = NULL;
    int n_all, n_wanted;
    tt_status st;
    tt_engine_tensors(e, 1, &all, &n_all);
    tt_engine_tensors(e, optimizer, &wanted, &n_wanted);
    zero_padding(all, n_all);
    TT_TRY(tt_ckpt_read(ckpt, wanted, n_wanted, err));
    TT_TRY(read_meta(e, ckpt, optimizer, state, err));
    TT_TRY(tt_engine_restore(e, err));
out:
    free(all);
    free(wanted);
    return st;
}
