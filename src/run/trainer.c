/* See trainer.h. */
#include "run/trainer.h"

#include "base/clock.h"
#include "base/closest.h"
#include "base/fs.h"
#include "base/log.h"
#include "base/signals.h"
#include "metrics/metrics.h"
#include "profile/op_table.h"
#include "profile/profiler.h"
#include "run/data.h"
#include "run/feed.h"
#include "run/guard.h"
#include "run/history.h"
#include "run/import_hf.h"
#include "run/job.h"
#include "run/reporting.h"
#include "run/selfcheck.h"
#include "run/state.h"
#include "run/step_clock.h"

#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct tt_trainer {
    const tt_config *cfg;  /* borrowed */
    tt_world *world;       /* borrowed */
    const tt_model *model; /* borrowed */
    tt_device *device;
    tt_engine *engine;
    tt_job_data data;
    tt_prefetch *prefetch; /* reads data.train ahead */
    tt_metrics *metrics;   /* rank 0; every rank with metrics.save_for_all_ranks */
    tt_fs_lock *lock;      /* rank 0 */
    char *checkpoint_dir, *config_text;
    tt_train_state at;
    int64_t first_step;    /* first step of this run */
    int64_t saved_step;    /* newest step saved or loaded in full by this run, -1 none */
    int model_only;        /* the loaded checkpoint has no moments */
    tt_step_clock clock;
    tt_profiler *profiler; /* NULL unless asked for */
    int profiled_steps;    /* debug.profile: steps timed so far */
    double profiled_seconds;
    int stop_signal;       /* agreed by all ranks; 0 = go on */
};

static int is_root(const tt_trainer *t)
{
    return tt_world_rank(t->world) == 0;
}

/* The effective config as text (malloc'd), kept in every checkpoint. */
static char *config_text(const tt_config *cfg)
{
    char *text = NULL;
    size_t size;
    FILE *f = open_memstream(&text, &size);
    TT_ASSERT(f);
    tt_config_dump(cfg, f);
    fclose(f);
    return text;
}

/* --- create ----------------------------------------------------------------------------------------------------------- */

/* job.save_config_file and job.print_config. */
static tt_status save_config(const tt_trainer *t, tt_error *err)
{
    tt_status st = tt_history_save_config(t->cfg->job.dump_folder, t->config_text, err);
    if (t->cfg->job.print_config)
        tt_log_root(INFO, "configuration:\n%s", t->config_text);
    if (st == TT_OK && t->cfg->job.save_config_file) {
        char *path = tt_fs_join(t->cfg->job.dump_folder, t->cfg->job.save_config_file);
        st = tt_fs_write(path, t->config_text, strlen(t->config_text), err);
        free(path);
    }
    return st;
}

/* Rank 0 makes the folders and takes the lock; then every rank has its log file. */
static tt_status open_folder(tt_trainer *t, tt_error *err)
{
    const char *dump = t->cfg->job.dump_folder;
    char *logs = tt_fs_join(dump, "logs"), *lock = tt_fs_join(dump, "lock"), name[64];
    tt_status st = TT_OK;
    if (is_root(t)) {
        st = tt_fs_mkdirs(logs, err);
        if (st == TT_OK)
            st = tt_fs_lock_take(lock, &t->lock, err);
    }
    if (st == TT_OK && is_root(t))
        st = save_config(t, err);
    st = tt_world_agree(t->world, st, err);
    if (st == TT_OK) {
        snprintf(name, sizeof name, "rank-%d.log", tt_world_rank(t->world));
        char *path = tt_fs_join(logs, name);
        int e = tt_log_set_file(path);
        st = e ? tt_fs_fail(err, "open", path, e) : TT_OK;
        free(path);
    }
    free(logs);
    free(lock);
    return tt_world_agree(t->world, st, err);
}

static void choose_seed(tt_trainer *t)
{
    int64_t seed = t->cfg->debug.seed;
    if (seed == TT_UNSET_INT) {
        uint64_t drawn = (uint64_t)(tt_clock_wall_s() * 1e6) ^ ((uint64_t)getpid() << 40);
        seed = (int64_t)(drawn & 0x7fffffff);
        tt_world_broadcast(t->world, &seed, sizeof seed, 0);
    }
    t->at.seed = seed;
    tt_log_root(INFO, "seed %lld%s", (long long)seed,
                t->cfg->debug.seed == TT_UNSET_INT ? " (drawn; debug.seed repeats it)" : "");
}

static tt_status open_data(tt_trainer *t, tt_error *err)
{
    tt_status st = tt_job_data_open(t->cfg, t->model->dims.vocab_size, &t->data, err);
    if (st == TT_OK)
        st = tt_job_data_identity(t->cfg, &t->data, t->at.tokenizer, &t->at.data, err);
    return tt_world_agree(t->world, st, err);
}

static double mib(size_t bytes)
{
    return (double)bytes / (1 << 20);
}

static void say_what_runs(const tt_trainer *t)
{
    const tt_program *p = t->engine->program;
    char mesh[128], isa[128];
    const int64_t rows = tt_feed_global_batch(t->engine);
    tt_log_root(INFO, "model %s %s: %lld parameters", t->cfg->model.name, t->cfg->model.flavor,
                (long long)t->model->n_params);
    tt_log_root(INFO, "mesh %s; %d threads a rank; kernels %s", tt_mesh_describe(&p->mesh, mesh, sizeof mesh),
                t->device->profile.n_threads, tt_device_isa(t->device, isa, sizeof isa));
    tt_log_root(INFO, "step: %lld sequences x %lld tokens = %lld tokens (%d accumulated microbatches)", (long long)rows,
                (long long)p->train.seq_len, (long long)(rows * p->train.seq_len), p->n_microbatches);
    tt_log_root(INFO, "memory a rank: state %.1f, step %.1f, saved activations %.1f, scratch %.1f MiB",
                mib(p->scope_bytes[TT_SCOPE_STATE]), mib(p->scope_bytes[TT_SCOPE_STEP]),
                mib(p->scope_bytes[TT_SCOPE_FRAME]), mib(p->scope_bytes[TT_SCOPE_SCRATCH]));
}

static tt_status make_engine(tt_trainer *t, const tt_mesh *mesh, tt_error *err)
{
    tt_compile_opts opts;
    tt_status st = tt_job_compile_opts(t->cfg, t->model, mesh, &opts, err);
    if (st == TT_OK)
        st = tt_device_create_cpu(tt_job_threads(t->cfg, tt_world_local_size(t->world)), &t->device, err);
    if (st == TT_OK)
        st = tt_device_use_isa(t->device, t->cfg->device.cpu_isa, err);
    if (st == TT_OK)
        st = tt_compile_check(t->model, mesh, &opts, err);
    st = tt_world_agree(t->world, st, err); /* refused before anything is allocated, by all */
    if (st == TT_OK)
        st = tt_engine_create(t->world, mesh, t->model, t->device, &opts, &t->engine, err);
    st = tt_world_agree(t->world, st, err);
    if (st == TT_OK)
        st = tt_guard_same_program(t->world, t->engine->program, err);
    if (st == TT_OK && t->cfg->debug.selfcheck)
        st = tt_selfcheck(t->world, t->engine, &opts, t->data.train, t->at.seed, 0, err);
    return st;
}

tt_status tt_trainer_create(const tt_config *cfg, tt_world *world, const tt_mesh *mesh, const tt_model *model,
                            tt_trainer **trainer, tt_error *err)
{
    tt_status st;
    tt_trainer *t = calloc(1, sizeof *t);
    TT_ASSERT(t);
    t->cfg = cfg;
    t->world = world;
    t->model = model;
    t->saved_step = -1;
    t->checkpoint_dir = tt_fs_join(cfg->job.dump_folder, cfg->checkpoint.folder);
    t->config_text = config_text(cfg);
    tt_signals_install();
    TT_TRY(open_folder(t, err));
    TT_TRY(open_data(t, err));
    choose_seed(t);
    TT_TRY(make_engine(t, mesh, err));
    say_what_runs(t);
    tt_job_data_log(cfg, &t->data, tt_feed_global_batch(t->engine));
    *trainer = t;
    t = NULL;
out:
    tt_trainer_destroy(&t);
    return st;
}

void tt_trainer_destroy(tt_trainer **trainer)
{
    tt_trainer *t = *trainer;
    if (!t)
        return;
    tt_metrics_close(&t->metrics);
    tt_profiler_destroy(&t->profiler);
    tt_engine_destroy(&t->engine);
    tt_device_destroy(&t->device);
    tt_prefetch_stop(&t->prefetch);
    tt_job_data_close(&t->data);
    tt_fs_unlock(&t->lock);
    free(t->checkpoint_dir);
    free(t->config_text);
    tt_train_state_free(&t->at);
    free(t);
    *trainer = NULL;
}

/* --- restore ---------------------------------------------------------------------------------------------------------- */

/* Rank 0 says which step below `before` is the newest good one (-1: none), so that all ranks open the same. */
static tt_status agree_on_step(tt_trainer *t, int64_t before, int64_t *step, tt_error *err)
{
    tt_ckpt *c = NULL;
    tt_status st = TT_OK;
    *step = -1;
    if (is_root(t)) {
        st = tt_ckpt_open_before(t->checkpoint_dir, t->cfg->checkpoint.load_step, before, &c, err);
        if (st == TT_OK && c)
            *step = tt_ckpt_step(c);
        tt_ckpt_close(&c);
    }
    st = tt_world_agree(t->world, st, err);
    tt_world_broadcast(t->world, step, sizeof *step, 0);
    return st;
}

static int has_moments(const tt_ckpt *c)
{
    for (int i = 0; i < tt_ckpt_n_tensors(c); i++) {
        tt_dtype type;
        int ndim;
        int64_t shape[TT_MAX_DIMS];
        if (!strncmp(tt_ckpt_tensor_info(c, i, &type, &ndim, shape), "optim/", 6))
            return 1;
    }
    return 0;
}

static tt_status load_step(tt_trainer *t, int64_t step, tt_error *err)
{
    tt_ckpt *c = NULL;
    double start = tt_clock_s();
    tt_status st = tt_ckpt_open(t->checkpoint_dir, step, &c, err);
    if (st == TT_OK) {
        t->model_only = !has_moments(c);
        if (t->model_only && step < t->cfg->training.steps)
            st = tt_fail(err, TT_ERR_CONFIG,
                         "%s holds weights only, so training cannot go on from it to step %lld; start from its weights with "
                         "checkpoint.initial_load_path and another job.dump_folder, or name an earlier full one with "
                         "checkpoint.load_step (checkpoint.last_save_model_only = false keeps the last one full)",
                         tt_ckpt_path(c), (long long)t->cfg->training.steps);
        else
            st = tt_state_load(t->engine, c, !t->model_only, &t->at, err);
    }
    st = tt_world_agree(t->world, st, err);
    if (st == TT_OK)
        tt_log_root(INFO, "resumed from %s (step %lld, sample %lld) in %.2f s; to start over, use another job.dump_folder",
                    tt_ckpt_path(c), (long long)t->at.step, (long long)t->at.cursor, tt_clock_s() - start);
    tt_ckpt_close(&c);
    return st;
}

static int saves(const tt_trainer *t)
{
    return t->cfg->checkpoint.enable && !t->cfg->checkpoint.load_only;
}

/* A fresh start would overwrite checkpoints that were complete once: all of them must have been readable. */
static tt_status nothing_is_lost(tt_trainer *t, tt_error *err)
{
    char pattern[PATH_MAX];
    glob_t complete = {0};
    tt_status st = TT_OK;
    snprintf(pattern, sizeof pattern, "%s/step-*/COMMITTED", t->checkpoint_dir);
    if (is_root(t) && saves(t) && glob(pattern, GLOB_NOSORT, NULL, &complete) == 0)
        st = tt_fail(err, TT_ERR_CKPT, "none of the %zu complete checkpoints in %s can be read, and a fresh start would overwrite them; repair "
                     "one, move them away, or use another job.dump_folder", complete.gl_pathc, t->checkpoint_dir);
    globfree(&complete);
    return tt_world_agree(t->world, st, err);
}

/* The newest checkpoint whose every byte is right; *found = 0 when there is none. A damaged one is named and the next older
 * is tried, unless it was asked for by number. */
static tt_status resume(tt_trainer *t, int *found, tt_error *err)
{
    int64_t before = INT64_MAX, step;
    tt_status st;
    *found = 0;
    for (;;) {
        st = agree_on_step(t, before, &step, err);
        if (st == TT_OK && step < 0)
            st = nothing_is_lost(t, err);
        if (st != TT_OK || step < 0)
            return st;
        st = load_step(t, step, err);
        if (st != TT_ERR_CKPT || t->cfg->checkpoint.load_step >= 0)
            break;
        tt_log_root(WARN, "skipped: %s", err->text);
        before = step;
    }
    *found = st == TT_OK;
    t->saved_step = t->at.step;
    return st;
}

/* ".../checkpoint/step-100" of titan -> its folder and number; 0 when path does not end so. */
static int split_step_path(const char *path, char *dir, size_t size, int64_t *step)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    char *end;
    if (strncmp(name, "step-", 5))
        return 0;
    *step = strtoll(name + 5, &end, 10);
    snprintf(dir, size, "%.*s", slash ? (int)(slash - path) : 1, slash ? path : ".");
    return end != name + 5 && *end == 0;
}

static tt_status load_initial(tt_trainer *t, const char *path, tt_error *err)
{
    char dir[4096];
    int64_t step;
    tt_status st;
    if (split_step_path(path, dir, sizeof dir, &step)) {
        tt_ckpt *c = NULL;
        tt_train_state theirs = t->at;
        theirs.bookmark = theirs.data = NULL;
        int whole = !t->cfg->checkpoint.initial_load_model_only;
        st = tt_ckpt_open(dir, step, &c, err);
        if (st == TT_OK)
            st = tt_state_load(t->engine, c, whole, &theirs, err);
        tt_ckpt_close(&c);
        if (st == TT_OK && whole) {
            free(t->at.bookmark);
            theirs.data = t->at.data;
            t->at = theirs;
            theirs.bookmark = theirs.data = NULL;
        }
        tt_train_state_free(&theirs);
    } else {
        st = tt_engine_load_hf(t->engine, path, err);
    }
    st = tt_world_agree(t->world, tt_closest_hint(err, st, path), err);
    if (st == TT_OK)
        tt_log_root(INFO, "weights from %s (%s has no checkpoint to resume from)", path, t->checkpoint_dir);
    return st;
}

/* Stand where the run goes on, and read ahead from there. */
static tt_status start_data(tt_trainer *t, tt_error *err)
{
    const int depth = (int)TT_INT_OR(t->cfg->training.dataloader.prefetch_factor, 2);
    tt_status st = TT_OK;
    if (t->at.step < t->cfg->training.steps) {
        st = tt_loader_seek(t->data.train, t->at.cursor, t->at.bookmark, err);
        if (st == TT_OK)
            st = tt_feed_start(t->engine, t->data.train, t->at.cursor, depth, &t->prefetch, err);
    }
    return tt_world_agree(t->world, st, err);
}

tt_status tt_trainer_restore(tt_trainer *t, tt_error *err)
{
    const char *initial = t->cfg->checkpoint.initial_load_path;
    int found = 0;
    tt_status st;
    if (t->cfg->checkpoint.enable)
        TT_TRY(resume(t, &found, err));
    if (found) {
        if (initial)
            tt_log_root(INFO, "checkpoint.initial_load_path is not used: %s already has step-%lld", t->checkpoint_dir,
                        (long long)t->at.step);
    } else if (initial) {
        TT_TRY(load_initial(t, initial, err));
    } else {
        TT_TRY(tt_world_agree(t->world, tt_engine_init(t->engine, t->at.seed, err), err));
        tt_log_root(INFO, "fresh weights from seed %lld", (long long)t->at.seed);
    }
    t->first_step = t->at.step + 1;
    if (t->at.step >= t->cfg->training.steps)
        tt_log_root(INFO, "step %lld of training.steps = %lld is reached: nothing is left to do", (long long)t->at.step,
                    (long long)t->cfg->training.steps);
    if (TT_INT_OR(t->cfg->lr_scheduler.total_steps, t->cfg->training.steps) < t->cfg->training.steps)
        tt_log_root(WARN, "lr_scheduler.total_steps ends before training.steps: the rate stays at its floor, "
                    "lr_scheduler.min_lr_factor = %g of the peak", t->cfg->lr_scheduler.min_lr_factor);
    TT_TRY(start_data(t, err));
    TT_TRY(tt_reporting_open(t->cfg, t->world, t->model, t->at.step, &t->metrics, err));
    tt_profiler_create(t->cfg, t->engine->program, t->device, t->engine->executor, t->at.step, &t->profiler);
out:
    return st;
}

/* --- step ------------------------------------------------------------------------------------------------------------- */

int tt_trainer_more(tt_trainer *t)
{
    int64_t signal = tt_signals_seen();
    tt_world_max_i64(t->world, &signal, 1);
    t->stop_signal = (int)signal;
    return !signal && t->at.step < t->cfg->training.steps;
}

static tt_status save(tt_trainer *t, int optimizer, tt_error *err)
{
    free(t->at.bookmark);
    t->at.bookmark = is_root(t) ? tt_loader_bookmark(t->data.train, t->at.cursor) : NULL;
    const tt_ckpt_options opts = {.dir = t->checkpoint_dir, .keep_latest_k = (int)t->cfg->checkpoint.keep_latest_k};
    tt_status st = tt_state_save(t->world, t->engine, &opts, &t->at, optimizer, t->config_text, err);
    if (st != TT_OK)
        return st;
    if (optimizer)
        t->saved_step = t->at.step;
    return TT_OK;
}

static tt_status validate(tt_trainer *t, tt_error *err)
{
    double loss, tokens, start = tt_clock_s();
    tt_status st = tt_feed_validate(t->engine, t->data.validation, t->cfg->validation.steps, &loss, &tokens, err);
    if (st == TT_OK && is_root(t)) {
        printf("validate step: %lld  loss: %8.5f  tokens: %.0f  tps: %.0f\n", (long long)t->at.step, loss, tokens,
               tokens / (tt_clock_s() - start) / tt_world_size(t->world));
        fflush(stdout);
    }
    if (st == TT_OK && t->metrics)
        st = tt_metrics_validation(t->metrics, t->at.step, loss, err);
    return st;
}

/* Time in which ranks meet at a step's boundary is communication; alone there is nobody to meet. */
static tt_time_kind meeting(const tt_trainer *t)
{
    return tt_world_size(t->world) > 1 ? TT_TIME_COMMUNICATION : TT_TIME_OTHER;
}

static tt_status report(tt_trainer *t, const tt_step_result *r, double lr, tt_error *err)
{
    const int64_t freq = t->cfg->metrics.log_freq;
    double largest = r->loss_here; /* of the ranks' means: only looked up when it is shown */
    tt_step_clock_lap(&t->clock, t->engine->executor, TT_TIME_OTHER);
    if (t->at.step % freq == 0 || t->at.step == t->first_step)
        tt_world_max_f64(t->world, &largest, 1);
    tt_metrics_values v = {.step = t->at.step,
                           .loss = r->loss,
                           .loss_max = largest,
                           .grad_norm = r->grad_norm,
                           .lr = lr,
                           .tokens = tt_feed_global_batch(t->engine) * t->engine->program->train.seq_len,
                           .tokens_seen = t->at.tokens};
    tt_step_clock_lap(&t->clock, t->engine->executor, meeting(t));
    v.seconds = tt_step_clock_take(&t->clock, v.time);
    return t->metrics ? tt_metrics_step(t->metrics, &v, err) : TT_OK;
}

static tt_status after_step(tt_trainer *t, tt_error *err)
{
    const int64_t step = t->at.step;
    const int last = step == t->cfg->training.steps;
    tt_status st = TT_OK;
    tt_step_clock_lap(&t->clock, t->engine->executor, TT_TIME_OTHER);
    if (t->cfg->validation.enable && (step == 1 || step % t->cfg->validation.freq == 0 || last)) {
        TT_TRY(validate(t, err));
        tt_step_clock_lap(&t->clock, t->engine->executor, TT_TIME_VALIDATION);
    }
    if (saves(t) && !last &&
        (step % t->cfg->checkpoint.interval == 0 || (step == 1 && t->cfg->checkpoint.enable_first_step_checkpoint))) {
        TT_TRY(save(t, 1, err));
        tt_step_clock_lap(&t->clock, t->engine->executor, TT_TIME_CHECKPOINT);
    }
out:
    return st;
}

tt_status tt_trainer_step(tt_trainer *t, tt_error *err)
{
    const tt_lr_opts schedule = tt_job_lr(t->cfg);
    const int64_t at = t->at.step < schedule.total_steps ? t->at.step : schedule.total_steps; /* then the floor */
    const double lr = t->cfg->optimizer.lr * tt_lr_factor(&schedule, at);
    const int64_t rows = tt_feed_global_batch(t->engine);
    const tt_executor *ex = t->engine->executor;
    double start = tt_clock_s();
    tt_step_result r;
    tt_status st;
    tt_step_clock_start(&t->clock, ex);
    tt_step_clock_lap(&t->clock, ex, meeting(t));
    tt_profiler_begin(t->profiler, t->at.step + 1);
    st = tt_feed_take(t->engine, t->prefetch, t->at.cursor, err);
    tt_step_clock_lap(&t->clock, ex, TT_TIME_DATA);
    tt_profiler_fed(t->profiler);
    TT_TRY(tt_world_agree(t->world, st, err));
    tt_step_clock_lap(&t->clock, ex, meeting(t));
    if (t->cfg->debug.profile && t->at.step + 1 > t->first_step) /* the first step touches its memory */
        tt_executor_profile(t->engine->executor, 1);
    TT_TRY(tt_engine_step(t->engine, t->at.step + 1, lr, 1, &r, err));
    tt_executor_profile(t->engine->executor, 0); /* validations are not part of a step */
    tt_step_clock_lap_engine(&t->clock, ex);
    if (tt_profiler_end(t->profiler))
        TT_TRY(tt_world_agree(t->world, tt_profiler_write(t->profiler, err), err));
    if (t->cfg->debug.profile && t->at.step + 1 > t->first_step) {
        t->profiled_steps++;
        t->profiled_seconds += tt_clock_s() - start;
    }
    if (r.bad)
        TT_TRY(tt_guard_explain(t->world, t->engine, t->at.step + 1, t->at.cursor, &r, err));
    t->at.step++;
    t->at.cursor += rows;
    t->at.tokens += rows * t->engine->program->train.seq_len;
    TT_TRY(report(t, &r, lr, err));
    TT_TRY(after_step(t, err));
out:
    return st;
}

/* Every rank measures its ceilings, so that they share the machine as they do in a step; rank 0 prints. */
static tt_status print_profile(tt_trainer *t, tt_error *err)
{
    tt_ceilings ceilings;
    if (!t->profiled_steps)
        return TT_OK;
    tt_status st = tt_ceilings_measure(t->device, t->engine->program->compute_dtype, &ceilings, err);
    st = tt_world_agree(t->world, st, err);
    if (st == TT_OK && is_root(t))
        tt_op_table_print(tt_executor_op_times(t->engine->executor), t->profiled_steps, t->profiled_seconds, &ceilings,
                          stderr);
    return st;
}

tt_status tt_trainer_finish(tt_trainer *t, tt_error *err)
{
    const int done = t->at.step >= t->cfg->training.steps;
    tt_status st = TT_OK;
    char text[256];
    TT_TRY(print_profile(t, err));
    if (saves(t) && !t->model_only && t->saved_step != t->at.step) {
        TT_TRY(save(t, !done || !t->cfg->checkpoint.last_save_model_only, err));
        tt_step_clock_lap(&t->clock, t->engine->executor, TT_TIME_CHECKPOINT);
    }
    if (t->at.step >= t->first_step)
        tt_log_root(INFO, "%s", tt_step_clock_summary(&t->clock, text, sizeof text));
    if (!done && t->stop_signal)
        TT_TRY(tt_fail(err, TT_ERR_STOPPED, "%s came after step %lld of %lld%s", tt_signals_name(t->stop_signal),
                       (long long)t->at.step, (long long)t->cfg->training.steps,
                       saves(t) ? "; the checkpoint is complete: start the same command again to go on"
                                : "; checkpoint.enable is false, so nothing was saved"));
out:
    return st;
}
