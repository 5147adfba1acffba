/* See page.h. The data stands in the page as JSON: per run the rows that any curve uses (step, tokens, seconds), and per tag the
 * values with the indices of their rows. */
#include "report/page.h"

#include "base/json.h"
#include "base/version.h"
#include "report/config_diff.h"
#include "report/page_assets.h"
#include "report/thin.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BUCKETS = 1000 };

static void put_numbers(FILE *out, const char *key, const double *x, const int64_t *row, int64_t n)
{
    fprintf(out, "\"%s\": [", key);
    for (int64_t i = 0; i < n; i++) {
        if (i)
            fputc(',', out);
        tt_json_number(out, x[row ? row[i] : i]);
    }
    fputc(']', out);
}

static void put_rows(FILE *out, const tt_runlog *run, const int64_t *row, int64_t n)
{
    fputs("\"rows\": {\"step\": [", out);
    for (int64_t i = 0; i < n; i++)
        fprintf(out, "%s%lld", i ? "," : "", (long long)run->step[row[i]]);
    fputs("], ", out);
    put_numbers(out, "tokens", run->tokens, row, n);
    fputs(", ", out);
    put_numbers(out, "time", run->seconds, row, n);
    fputs("},\n", out);
}

static void put_series(FILE *out, const tt_runlog_column *c, const tt_thin *t, const int64_t *index, int64_t n_rows)
{
    tt_json_string(out, c->tag);
    fputs(": {", out);
    if (t->n != n_rows) {
        fputs("\"r\": [", out);
        for (int64_t i = 0; i < t->n; i++)
            fprintf(out, "%s%lld", i ? "," : "", (long long)index[t->row[i]]);
        fputs("], ", out);
    }
    if (t->mean) {
        put_numbers(out, "m", t->mean, NULL, t->n);
        fputs(", ", out);
    }
    put_numbers(out, "v", c->at, t->row, t->n);
    fputc('}', out);
}

static void put_curves(FILE *out, const tt_runlog *run)
{
    tt_thin *thin = calloc((size_t)run->n_columns + 1, sizeof *thin);
    int64_t *index = calloc((size_t)run->n + 1, sizeof *index), *row = calloc((size_t)run->n + 1, sizeof *row), n = 0;
    TT_ASSERT(thin && index && row);
    for (int c = 0; c < run->n_columns; c++) {
        thin[c] = tt_thin_choose(run->step, run->column[c].at, run->n, BUCKETS);
        for (int64_t i = 0; i < thin[c].n; i++)
            index[thin[c].row[i]] = 1;
    }
    for (int64_t i = 0; i < run->n; i++)
        if (index[i]) {
            index[i] = n;
            row[n++] = i;
        }
    put_rows(out, run, row, n);
    fputs("\"series\": {", out);
    for (int c = 0; c < run->n_columns; c++) {
        fputs(c ? ",\n" : "\n", out);
        put_series(out, &run->column[c], &thin[c], index, n);
        tt_thin_free(&thin[c]);
    }
    fputs("}", out);
    free(thin);
    free(index);
    free(row);
}

static void put_point(FILE *out, const char *key, tt_runlog_point p)
{
    fprintf(out, ", \"%s\": ", key);
    if (p.step < 0) {
        fputs("null", out);
        return;
    }
    fprintf(out, "{\"step\": %lld, \"value\": ", (long long)p.step);
    tt_json_number(out, p.value);
    fputc('}', out);
}

static void put_number(FILE *out, const char *key, double x)
{
    fprintf(out, ", \"%s\": ", key);
    tt_json_number(out, x);
}

static void put_text(FILE *out, const char *key, const char *text)
{
    fprintf(out, ", \"%s\": ", key);
    if (text)
        tt_json_string(out, text);
    else
        fputs("null", out);
}

static void put_summary(FILE *out, const tt_runlog *run)
{
    const tt_runlog_summary s = tt_runlog_sum(run);
    fprintf(out, "\"summary\": {\"steps\": %lld", (long long)s.steps);
    put_number(out, "tokens", s.tokens);
    put_number(out, "last_loss", s.last_loss);
    put_point(out, "best_loss", s.best_loss);
    put_point(out, "best_validation", s.best_validation);
    put_number(out, "median_tps", s.median_tps);
    put_number(out, "peak_gib", s.peak_gib);
    put_number(out, "seconds", s.seconds);
    put_number(out, "starts", run->starts ? run->starts : NAN);
    put_number(out, "ranks", run->ranks ? run->ranks : NAN);
    put_text(out, "started", run->started);
    put_text(out, "version", run->version);
    fputs("},\n", out);
}

static void put_notes(FILE *out, const tt_runlog *run)
{
    const char *before = "";
    fputs("\"notes\": [", out);
    if (run->torn) {
        fputs("\"the last line of its metrics is torn (a crash, or it is being written) and left out\"", out);
        before = ", ";
    }
    if (run->broken) {
        fprintf(out, "%s\"%lld lines of its metrics are no JSON objects with a step and left out\"", before, (long long)run->broken);
        before = ", ";
    }
    if (run->superseded)
        fprintf(out, "%s\"%lld steps were made again after a resume; the later values are shown\"", before,
                (long long)run->superseded);
    fputs("],\n", out);
}

static void put_run(FILE *out, const tt_runlog *run)
{
    fputs("{\"name\": ", out);
    tt_json_string(out, run->name);
    put_text(out, "path", run->path);
    fprintf(out, ", \"has_config\": %s,\n", run->config ? "true" : "false");
    put_summary(out, run);
    put_notes(out, run);
    put_curves(out, run);
    fputs("}", out);
}

static void put_list(FILE *out, const char *key, char *const *text, int n)
{
    fprintf(out, ", \"%s\": [", key);
    for (int i = 0; i < n; i++) {
        fputs(i ? ", " : "", out);
        if (text[i])
            tt_json_string(out, text[i]);
        else
            fputs("null", out);
    }
    fputc(']', out);
}

static void put_config(FILE *out, const tt_runlog *runs, int n)
{
    char **text = calloc((size_t)n + 1, sizeof *text);
    int n_differences;
    TT_ASSERT(text);
    for (int i = 0; i < n; i++)
        text[i] = runs[i].config;
    tt_config_difference *d = tt_config_diff(text, n, &n_differences);
    fputs("\"config\": [", out);
    for (int i = 0; i < n_differences; i++) {
        fputs(i ? ",\n{\"key\": " : "\n{\"key\": ", out);
        tt_json_string(out, d[i].key);
        put_list(out, "values", d[i].value, n);
        put_list(out, "origins", d[i].origin, n);
        fputc('}', out);
    }
    fputs("]", out);
    tt_config_diff_free(d, n_differences, n);
    free(text);
}

static void put_html(FILE *out, const char *text)
{
    for (; *text; text++)
        switch (*text) {
        case '<':
            fputs("&lt;", out);
            break;
        case '>':
            fputs("&gt;", out);
            break;
        case '&':
            fputs("&amp;", out);
            break;
        default:
            fputc(*text, out);
        }
}

void tt_page_write(const tt_runlog *runs, int n, const char *x, FILE *out)
{
    fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
          "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
          "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; "
          "script-src 'unsafe-inline'\">\n<title>", out);
    if (n == 1)
        put_html(out, runs[0].name);
    else
        fprintf(out, "%d runs", n);
    fprintf(out, " \xc2\xb7 titan-report</title>\n<style>\n%s</style>\n</head>\n<body>\n<header>\n<h1>", page_css);
    put_html(out, n == 1 ? runs[0].name : "Training runs");
    fprintf(out, "</h1>\n<p class=\"sub\">%d run%s</p>\n</header>\n<main>\n<noscript>The curves are drawn by a script in this "
            "page; this browser does not run it.</noscript>\n</main>\n<footer>titan-report ", n, n == 1 ? "" : "s");
    put_html(out, tt_version());
    fputs("</footer>\n<script type=\"application/json\" id=\"data\">\n{\"x\": ", out);
    tt_json_string(out, x);
    fputs(", \"runs\": [", out);
    for (int i = 0; i < n; i++) {
        fputs(i ? ",\n" : "\n", out);
        put_run(out, &runs[i]);
    }
    fputs("],\n", out);
    put_config(out, runs, n);
    fprintf(out, "}\n</script>\n<script>\n%s%s</script>\n</body>\n</html>\n", chart_js, page_js);
}
