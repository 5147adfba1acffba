/* golden_check DIR [--mesh=tp2,dp_shard2] [--compute=bfloat16]: does titan train this published model as its reference did?
 *
 * DIR holds config.json, model.safetensors, reference.safetensors and reference.json (made with other people's software:
 * see tests/golden/models.how). Prints the differences of logits, loss, each gradient, the losses and gradient norms of
 * all steps and the weights after them; exit 0 when all are within the tolerances of models.how. */
#include "base/fs.h"
#include "convert/names.h"
#include "run/import_hf.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_STEPS = 64 };

/* Tolerances of models.how (fp32). */
static const double logits_tolerance = 2e-5, loss_tolerance = 2e-6, losses_tolerance = 1e-5, grad_tolerance = 2e-5,
                    norm_tolerance = 5e-5, after_mean_tolerance = 1e-6, after_max_tolerance = 1e-3;

typedef struct golden {
    tt_world *world;
    const char *dir;
    tt_safetensors *ref;
    json_t *json;
    int steps, batch, seq;
    int32_t *inputs, *labels; /* [steps, batch, seq] */
    int32_t *positions, *doc_start; /* [seq] */
    int failed;
} golden;

static tt_status read_ints(golden *g, const char *name, int64_t n, int32_t **out, tt_error *err)
{
    int64_t *wide = malloc(sizeof *wide * (size_t)n);
    *out = malloc(sizeof **out * (size_t)n);
    tt_status st = tt_safetensors_read(g->ref, name, wide, sizeof *wide * (size_t)n, err);
    for (int64_t i = 0; i < n && st == TT_OK; i++)
        (*out)[i] = (int32_t)wide[i];
    free(wide);
    return st;
}

static tt_status open_golden(golden *g, tt_error *err)
{
    char path[4096];
    json_error_t why;
    tt_status st = TT_OK;
    snprintf(path, sizeof path, "%s/reference.json", g->dir);
    g->json = json_load_file(path, 0, &why);
    if (!g->json)
        return tt_fail(err, TT_ERR_DATA, "%s: %s", path, why.text);
    g->steps = (int)json_integer_value(json_object_get(g->json, "steps"));
    g->batch = (int)json_integer_value(json_object_get(g->json, "batch"));
    g->seq = (int)json_integer_value(json_object_get(g->json, "seq"));
    if (g->steps < 1 || g->steps > MAX_STEPS || g->batch < 1 || g->seq < 1)
        return tt_fail(err, TT_ERR_DATA, "%s: steps, batch or seq is missing", path);
    snprintf(path, sizeof path, "%s/reference.safetensors", g->dir);
    TT_TRY(tt_safetensors_open(path, &g->ref, err));
    int64_t n = (int64_t)g->steps * g->batch * g->seq;
    TT_TRY(read_ints(g, "inputs", n, &g->inputs, err));
    TT_TRY(read_ints(g, "labels", n, &g->labels, err));
    if (tt_safetensors_find(g->ref, "positions")) {
        TT_TRY(read_ints(g, "positions", g->seq, &g->positions, err));
        g->doc_start = malloc(sizeof(int32_t) * (size_t)g->seq);
        for (int i = 0; i < g->seq; i++) /* a document begins where the position is 0 */
            g->doc_start[i] = i - g->positions[i];
    }
out:
    return st;
}

static void close_golden(golden *g)
{
    free(g->inputs);
    free(g->labels);
    free(g->positions);
    free(g->doc_start);
    tt_safetensors_close(&g->ref);
    json_decref(g->json);
}

static void fill(const golden *g, tt_engine *e, int step)
{
    const tt_program *p = e->program;
    int me = tt_mesh_group_rank(&p->mesh, TT_MASK_BATCH);
    tt_microbatch m = tt_engine_microbatch(e, 0);
    for (int64_t i = 0; i < m.n; i++) {
        int64_t row = me * p->train.batch + i / g->seq, at = ((int64_t)step * g->batch + row) * g->seq + i % g->seq;
        m.tokens[i] = g->inputs[at];
        m.targets[i] = g->labels[at];
        m.positions[i] = g->positions ? g->positions[i % g->seq] : (int32_t)(i % g->seq);
        m.doc_start[i] = g->doc_start ? g->doc_start[i % g->seq] : 0;
    }
}

/* One line of the report; the job's worst value counts. */
static void report(golden *g, const char *what, double value, double tolerance)
{
    if (!isfinite(value))
        value = INFINITY;
    tt_world_max_f64(g->world, &value, 1);
    int bad = !(value <= tolerance);
    g->failed += bad;
    if (tt_world_rank(g->world) == 0)
        printf("%-52s %.3e  (tolerance %.0e)%s\n", what, value, tolerance, bad ? "  FAILED" : "");
}

typedef struct difference {
    double max, mean, largest;
} difference;

/* This rank's box of a titan tensor against the published tensor `prefix``name`, its rows in titan's order. */
static tt_status compare(golden *g, const tt_ckpt_tensor *t, const char *prefix, const char *fqn, int head_dim,
                         difference *d, tt_error *err)
{
    char name[512], hf[400];
    int rotary = 0;
    if (tt_llama_name_to_hf(fqn, hf, sizeof hf, &rotary))
        return tt_fail(err, TT_ERR_INTERNAL, "no published name for %s", fqn);
    snprintf(name, sizeof name, "%s%s", prefix, hf);
    int64_t rows = t->shape[0], cols = t->ndim > 1 ? t->shape[1] : 1, n = 0;
    float *want = malloc(sizeof *want * (size_t)(rows * cols));
    tt_status st = tt_safetensors_read(g->ref, name, want, sizeof *want * (size_t)(rows * cols), err);
    *d = (difference){0};
    for (int64_t i = 0; i < rows * cols && st == TT_OK; i++)
        d->largest = fmax(d->largest, fabs(want[i]));
    int64_t n_cols = t->ndim > 1 ? t->count[1] : 1, pitch = t->ndim > 1 ? t->pitch[1] : 1;
    int64_t c0 = t->ndim > 1 ? t->start[1] : 0;
    for (int64_t i = 0; i < t->count[0] && st == TT_OK; i++)
        for (int64_t j = 0; j < n_cols; j++, n++) {
            int64_t row = t->start[0] + i;
            if (rotary)
                row = tt_rotary_row_to_hf(row, head_dim);
            double x = fabs((double)((float *)t->data)[i * pitch + j] - want[row * cols + c0 + j]);
            d->mean += x;
            if (!(x <= d->max))
                d->max = x;
        }
    d->mean /= n ? (double)n : 1;
    free(want);
    return st;
}

static tt_status check_gradients(golden *g, tt_engine *e, tt_error *err)
{
    tt_ckpt_tensor *t;
    int n;
    tt_status st = tt_engine_fetch_grads(e, err);
    tt_engine_grad_tensors(e, &t, &n);
    for (int i = 0; i < n && st == TT_OK; i++) {
        difference d;
        st = compare(g, &t[i], "grad.", t[i].name + strlen("grad/"), e->model->dims.head_dim, &d, err);
        if (st == TT_OK)
            report(g, t[i].name, d.max / d.largest, grad_tolerance);
    }
    free(t);
    return st;
}

static tt_status check_weights(golden *g, tt_engine *e, tt_error *err)
{
    tt_ckpt_tensor *t;
    int n;
    tt_status st = tt_engine_snapshot(e, err);
    tt_engine_tensors(e, 0, &t, &n);
    double mean = 0, max = 0;
    int64_t count = 0;
    for (int i = 0; i < n && st == TT_OK; i++) {
        difference d;
        st = compare(g, &t[i], "after20.", t[i].name + strlen("model/"), e->model->dims.head_dim, &d, err);
        int64_t here = t[i].count[0] * (t[i].ndim > 1 ? t[i].count[1] : 1);
        mean += d.mean * (double)here;
        count += here;
        max = fmax(max, d.max);
    }
    free(t);
    if (st != TT_OK)
        return st;
    report(g, "weights after all steps, mean", mean / (double)(count ? count : 1), after_mean_tolerance);
    report(g, "weights after all steps, largest", max, after_max_tolerance);
    return TT_OK;
}

static tt_status check_logits(golden *g, tt_engine *e, tt_error *err)
{
    const float *logits;
    int64_t rows, vocab;
    tt_status st = tt_engine_eval_begin(e, err);
    fill(g, e, 0);
    if (st == TT_OK)
        st = tt_engine_logits(e, &logits, &rows, &vocab, err);
    if (st != TT_OK)
        return st;
    int64_t n = (int64_t)g->batch * g->seq * vocab;
    float *want = malloc(sizeof *want * (size_t)n);
    st = tt_safetensors_read(g->ref, "logits", want, sizeof *want * (size_t)n, err);
    double max = 0;
    const float *mine = want + (int64_t)tt_mesh_group_rank(&e->program->mesh, TT_MASK_BATCH) * rows * vocab;
    for (int64_t i = 0; i < rows * vocab && st == TT_OK; i++)
        max = fmax(max, fabs((double)logits[i] - mine[i]));
    free(want);
    if (st == TT_OK)
        report(g, "logits", max, logits_tolerance);
    return st;
}

static double listed(const golden *g, const char *name, int i)
{
    return json_number_value(json_array_get(json_object_get(g->json, name), (size_t)i));
}

static tt_status check_steps(golden *g, tt_engine *e, double lr, tt_error *err)
{
    double losses = 0, norms = 0;
    tt_step_result r;
    for (int s = 0; s < g->steps; s++) {
        fill(g, e, s);
        tt_status st = tt_engine_step(e, s + 1, lr, 1, &r, err);
        if (st != TT_OK)
            return st;
        losses = fmax(losses, fabs(r.loss / listed(g, "losses", s) - 1));
        norms = fmax(norms, fabs(r.grad_norm / listed(g, "grad_norms", s) - 1));
    }
    report(g, "losses of all steps, relative", losses, losses_tolerance);
    report(g, "gradient norms of all steps, relative", norms, norm_tolerance);
    return TT_OK;
}

static tt_status check_all(golden *g, tt_engine *e, double lr, tt_error *err)
{
    tt_step_result r;
    tt_status st;
    TT_TRY(tt_engine_load_hf(e, g->dir, err));
    TT_TRY(check_logits(g, e, err));
    fill(g, e, 0);
    TT_TRY(tt_engine_step(e, 1, lr, 0, &r, err));
    report(g, "loss of step 0", fabs(r.loss - listed(g, "losses", 0)), loss_tolerance);
    TT_TRY(check_gradients(g, e, err));
    TT_TRY(check_steps(g, e, lr, err));
    if (tt_safetensors_find(g->ref, "after20.model.norm.weight"))
        TT_TRY(check_weights(g, e, err));
out:
    return st;
}

/* "tp2,dp_shard2" */
static tt_status parse_mesh(const char *text, int degree[TT_N_AXES], tt_error *err)
{
    while (*text) {
        int found = 0;
        for (int a = 0; a < TT_N_AXES && !found; a++) {
            size_t n = strlen(tt_axis_name(a));
            if (strncmp(text, tt_axis_name(a), n) == 0 && text[n] >= '0' && text[n] <= '9') {
                char *end;
                degree[a] = (int)strtol(text + n, &end, 10);
                text = end + (*end == ',');
                found = 1;
            }
        }
        if (!found)
            return tt_fail(err, TT_ERR_USAGE, "--mesh: \"%s\" is not of the form tp2,dp_shard2", text);
    }
    return TT_OK;
}

static double setting(const golden *g, const char *name)
{
    return json_number_value(json_object_get(json_object_get(g->json, "optimizer"), name));
}

static tt_status make_engine(golden *g, const tt_model *model, const int *degree, tt_device *device, tt_engine **e,
                             tt_error *err)
{
    tt_mesh mesh;
    tt_status st = tt_mesh_create(degree, tt_world_size(g->world), tt_world_rank(g->world), &mesh, err);
    if (st != TT_OK)
        return st;
    int dp = tt_mesh_group_size(&mesh, TT_MASK_BATCH);
    if (g->batch % dp)
        return tt_fail(err, TT_ERR_MESH, "a batch of %d sequences cannot be shared by %d data-parallel ranks", g->batch,
                       dp);
    json_t *betas = json_object_get(json_object_get(g->json, "optimizer"), "betas");
    tt_compile_opts o = {.seq_len = g->seq,
                         .batch = g->batch / dp,
                         .n_microbatches = 1,
                         .compute_dtype = TT_F32,
                         .sequence_parallel = 1,
                         .logits = 1,
                         .fsdp = {.beta1 = json_number_value(json_array_get(betas, 0)),
                                  .beta2 = json_number_value(json_array_get(betas, 1)),
                                  .eps = setting(g, "eps"),
                                  .weight_decay = setting(g, "weight_decay"),
                                  .decoupled = 1,
                                  .max_norm = setting(g, "max_norm")}};
    return tt_engine_create(g->world, &mesh, model, device, &o, e, err);
}

int main(int argc, char **argv)
{
    tt_error err = {0};
    golden g = {0};
    tt_device *device = NULL;
    tt_model *model = NULL;
    tt_engine *e = NULL;
    tt_hf_config config;
    tt_model_dims dims;
    const char *family;
    int degree[TT_N_AXES] = {1, 1, 1, 1, 1};
    tt_status st;
    TT_TRY(tt_world_open(&g.world, &err));
    for (int i = 1; i < argc; i++) {
        if (strncmp(argv[i], "--mesh=", 7) == 0)
            TT_TRY(parse_mesh(argv[i] + 7, degree, &err));
        else if (argv[i][0] != '-' && !g.dir)
            g.dir = argv[i];
        else
            TT_TRY(tt_fail(&err, TT_ERR_USAGE, "usage: golden_check DIR [--mesh=tp2,dp_shard2]"));
    }
    if (!g.dir)
        TT_TRY(tt_fail(&err, TT_ERR_USAGE, "usage: golden_check DIR [--mesh=tp2,dp_shard2]"));
    TT_TRY(open_golden(&g, &err));
    TT_TRY(tt_hf_config_read(g.dir, &config, &err));
    TT_TRY(tt_model_dims_from_hf(&config, &family, &dims, &err));
    TT_TRY(tt_model_create(family, &dims, &model, &err));
    TT_TRY(tt_device_create_cpu(0, &device, &err));
    TT_TRY(make_engine(&g, model, degree, device, &e, &err));
    TT_TRY(check_all(&g, e, setting(&g, "lr"), &err));
    if (tt_world_rank(g.world) == 0)
        printf("%s: %s\n", g.dir, g.failed ? "FAILED" : "all within tolerance");
out:
    tt_engine_destroy(&e);
    tt_device_destroy(&device);
    tt_model_destroy(&model);
    close_golden(&g);
    st = tt_world_close(&g.world, st, &err);
    return st != TT_OK ? tt_exit_code(st) : g.failed ? 1 : 0;
}
