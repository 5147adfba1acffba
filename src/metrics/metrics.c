/* See metrics.h. */
#include "metrics/metrics.h"

#include "metrics/sinks.h"
#include "metrics/usage.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct tt_metrics {
    tt_metrics_opts opts;
    char *path, *events_path;
    int jsonl, events, color;
    /* since the last report */
    int64_t steps, tokens;
    double seconds, time[TT_N_TIMES];
};

const char *tt_time_name(tt_time_kind kind)
{
    static const char *const name[TT_N_TIMES] = {"data_loading", "forward_backward", "communication", "optimizer",
                                                 "checkpoint",   "validation",       "other"};
    return name[kind];
}

tt_status tt_metrics_open(const tt_metrics_opts *opts, tt_metrics **metrics, tt_error *err)
{
    tt_status st = TT_OK;
    tt_metrics *m = calloc(1, sizeof *m);
    *metrics = NULL;
    if (!m || (opts->jsonl_path && !(m->path = strdup(opts->jsonl_path)))) {
        free(m);
        return tt_fail(err, TT_ERR_NOMEM, "opening the metrics: out of memory");
    }
    m->opts = *opts;
    m->opts.jsonl_path = m->path;
    m->jsonl = m->events = -1;
    m->color = opts->color < 0 ? opts->fd >= 0 && isatty(opts->fd) : opts->color;
    if (m->path)
        st = tt_sink_jsonl_open(m->path, opts->resume_step, &m->jsonl, err);
    if (st == TT_OK && opts->tensorboard_dir)
        st = tt_sink_tensorboard_open(opts->tensorboard_dir, opts->resume_step, &m->events, &m->events_path, err);
    if (st != TT_OK)
        tt_metrics_close(&m);
    *metrics = m;
    return st;
}

void tt_metrics_close(tt_metrics **metrics)
{
    tt_metrics *m = *metrics;
    if (!m)
        return;
    if (m->jsonl >= 0)
        close(m->jsonl);
    if (m->events >= 0)
        close(m->events);
    free(m->path);
    free(m->events_path);
    free(m);
    *metrics = NULL;
}

int tt_metrics_reports(const tt_metrics *metrics, int64_t step)
{
    int64_t every = metrics->opts.log_freq > 0 ? metrics->opts.log_freq : 1;
    return step == 1 || step % every == 0;
}

static double ratio(double a, double b)
{
    return b > 0 ? a / b : 0;
}

static tt_report make_report(const tt_metrics *m, const tt_metrics_values *v)
{
    double gib = 1024.0 * 1024 * 1024, steps = (double)m->steps;
    int devices = m->opts.devices > 0 ? m->opts.devices : 1;
    tt_usage usage = {.peak_bytes = v->memory_bytes, .limit_bytes = v->memory_limit};
    if (usage.peak_bytes == 0)
        usage = tt_usage_read();
    tt_report r = {.step = v->step, .loss = v->loss, .loss_max = v->loss_max, .grad_norm = v->grad_norm, .lr = v->lr,
                   .tokens_seen = v->tokens_seen};
    r.memory_gib = (double)usage.peak_bytes / gib;
    r.memory_percent = 100 * ratio((double)usage.peak_bytes, (double)usage.limit_bytes);
    /* as the reference: a validation does not make training slower, a checkpoint does */
    r.tps = ratio((double)m->tokens, (m->seconds - m->time[TT_TIME_VALIDATION]) * devices);
    r.tflops = m->opts.flops_per_token * r.tps * 1e-12;
    r.mfu_percent = m->opts.peak_flops > 0 ? 1e14 * r.tflops / m->opts.peak_flops : NAN;
    r.seconds_per_step = ratio(m->seconds, steps);
    r.data_percent = 100 * ratio(m->time[TT_TIME_DATA], m->seconds);
    r.time[TT_TIME_OTHER] = r.seconds_per_step;
    for (int k = 0; k < TT_TIME_OTHER; k++) {
        r.time[k] = ratio(m->time[k], steps);
        r.time[TT_TIME_OTHER] -= r.time[k];
    }
    return r;
}

void tt_report_scalars(const tt_report *r, tt_scalar out[TT_REPORT_SCALARS])
{
    const tt_scalar all[TT_REPORT_SCALARS] = {
        {"loss_metrics/global_avg_loss", r->loss},
        {"loss_metrics/global_max_loss", r->loss_max},
        {"grad_norm", r->grad_norm},
        {"lr", r->lr},
        {"throughput(tps)", r->tps},
        {"tflops", r->tflops},
        {"mfu(%)", r->mfu_percent},
        {"time_metrics/end_to_end(s)", r->seconds_per_step},
        {"time_metrics/data_loading(s)", r->time[TT_TIME_DATA]},
        {"time_metrics/data_loading(%)", r->data_percent},
        {"time_metrics/forward_backward(s)", r->time[TT_TIME_FORWARD_BACKWARD]},
        {"time_metrics/communication(s)", r->time[TT_TIME_COMMUNICATION]},
        {"time_metrics/optimizer(s)", r->time[TT_TIME_OPTIMIZER]},
        {"time_metrics/checkpoint(s)", r->time[TT_TIME_CHECKPOINT]},
        {"time_metrics/validation(s)", r->time[TT_TIME_VALIDATION]},
        {"time_metrics/other(s)", r->time[TT_TIME_OTHER]},
        {"memory/max_reserved(GiB)", r->memory_gib},
        {"memory/max_reserved(%)", r->memory_percent},
        {"n_tokens_seen", (double)r->tokens_seen},
    };
    memcpy(out, all, sizeof all);
}

/* To the files; each is tried, the first error is returned. */
static tt_status write_scalars(tt_metrics *m, int64_t step, const tt_scalar *scalars, int n, tt_error *err)
{
    tt_status st = TT_OK;
    if (m->jsonl >= 0)
        st = tt_sink_jsonl_write(m->jsonl, m->path, step, scalars, n, err);
    for (int i = 0; i < n && m->events >= 0; i++) {
        if (isnan(scalars[i].value) && !strcmp(scalars[i].tag, "mfu(%)"))
            continue; /* not known: no curve */
        tt_status one = tt_sink_tensorboard_write(m->events, m->events_path, step, scalars[i].tag, scalars[i].value,
                                                  st == TT_OK ? err : NULL);
        st = st == TT_OK ? one : st;
    }
    return st;
}

tt_status tt_metrics_validation(tt_metrics *metrics, int64_t step, double loss, tt_error *err)
{
    const tt_scalar scalar = {"validation_metrics/loss", loss};
    return write_scalars(metrics, step, &scalar, 1, err);
}

tt_status tt_metrics_step(tt_metrics *metrics, const tt_metrics_values *values, tt_error *err)
{
    tt_metrics *m = metrics;
    tt_status st = TT_OK;
    char line[512];
    m->steps++;
    m->tokens += values->tokens;
    m->seconds += values->seconds;
    for (int k = 0; k < TT_TIME_OTHER; k++)
        m->time[k] += values->time[k];
    if (!tt_metrics_reports(m, values->step))
        return TT_OK;
    tt_report report = make_report(m, values);
    m->steps = m->tokens = 0;
    m->seconds = 0;
    memset(m->time, 0, sizeof m->time);
    int n = tt_sink_line_format(&report, m->color, line, sizeof line);
    if (m->opts.fd >= 0 && write(m->opts.fd, line, (size_t)n) != n)
        st = tt_fail(err, TT_ERR_IO, "cannot write the step line: %s", strerror(errno));
    tt_scalar scalars[TT_REPORT_SCALARS];
    tt_report_scalars(&report, scalars);
    tt_status files = write_scalars(m, values->step, scalars, TT_REPORT_SCALARS, err);
    return files != TT_OK ? files : st;
}
