/* See runlog.h. Files may have millions of lines, so the lines that we write ourselves are read by a small scanner of flat
 * objects of numbers; any other goes through the JSON library. */
#include "report/runlog.h"

#include "base/fs.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_TAGS = 512 };

typedef struct pair {
    int column;
    double value;
} pair;

/* One line as read. */
typedef struct line {
    int64_t step; /* -1: it has none */
    pair pair[MAX_TAGS];
    int n;
} line;

/* --- the table -------------------------------------------------------------------------------------------------------- */

static void *grown(void *p, size_t bytes)
{
    p = realloc(p, bytes);
    TT_ASSERT(p);
    return p;
}

/* Column of a tag of n letters, made when it is new; `guess` is tried first (lines repeat each other). -1: too many. */
static int column_of(tt_runlog *run, const char *tag, size_t n, int guess)
{
    for (int k = 0; k < run->n_columns; k++) {
        const int c = (guess + k) % run->n_columns;
        if (!strncmp(run->column[c].tag, tag, n) && !run->column[c].tag[n])
            return c;
    }
    if (run->n_columns == MAX_TAGS)
        return -1;
    run->column = grown(run->column, sizeof *run->column * (size_t)(run->n_columns + 1));
    tt_runlog_column *c = &run->column[run->n_columns];
    c->tag = strndup(tag, n);
    c->at = grown(NULL, sizeof(double) * (size_t)(run->room + 1));
    TT_ASSERT(c->tag);
    for (int64_t i = 0; i < run->n; i++)
        c->at[i] = NAN;
    return run->n_columns++;
}

static void put_pair(tt_runlog *run, line *l, const char *tag, size_t n, double value)
{
    const int c = l->n < MAX_TAGS ? column_of(run, tag, n, l->n ? l->pair[l->n - 1].column + 1 : 0) : -1;
    if (c >= 0)
        l->pair[l->n++] = (pair){c, value};
}

static void add_row(tt_runlog *run, int64_t step)
{
    if (run->n == run->room) {
        run->room = 2 * run->room + 1024;
        const size_t bytes = sizeof(double) * (size_t)run->room;
        run->step = grown(run->step, bytes);
        for (int c = 0; c < run->n_columns; c++)
            run->column[c].at = grown(run->column[c].at, bytes);
    }
    run->step[run->n] = step;
    for (int c = 0; c < run->n_columns; c++)
        run->column[c].at[run->n] = NAN;
    run->n++;
}

/* A step that came before takes the place of what stood from it on; one that is the last completes it (a validation), or is
 * that step again. */
static void put_line(tt_runlog *run, const line *l)
{
    while (run->n && run->step[run->n - 1] > l->step) {
        run->n--;
        run->superseded++;
    }
    if (!run->n || run->step[run->n - 1] != l->step)
        add_row(run, l->step);
    int again = 0;
    for (int k = 0; k < l->n; k++) {
        double *at = &run->column[l->pair[k].column].at[run->n - 1];
        again |= !isnan(*at);
        *at = l->pair[k].value;
    }
    run->superseded += again;
}

/* --- one line --------------------------------------------------------------------------------------------------------- */

/* A JSON number at *s. Short ones are exact in doubles (Clinger's fast path); strtod does the rest. 0 when there is none. */
static int scan_number(const char **s, double *x)
{
    static const double ten[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    const char *p = *s;
    const int negative = *p == '-';
    uint64_t digits = 0;
    int n = 0, scale = 0, exponent = 0;
    for (p += negative; *p >= '0' && *p <= '9'; p++, n++)
        digits = 10 * digits + (uint64_t)(*p - '0');
    if (n == 0)
        return 0;
    if (*p == '.')
        for (p++; *p >= '0' && *p <= '9'; p++, n++, scale--)
            digits = 10 * digits + (uint64_t)(*p - '0');
    if (*p == 'e' || *p == 'E') {
        const int minus = p[1] == '-';
        for (p += 1 + (p[1] == '-' || p[1] == '+'); *p >= '0' && *p <= '9' && exponent < 10000; p++)
            exponent = 10 * exponent + (*p - '0');
        scale += minus ? -exponent : exponent;
    }
    if (n > 15 || scale < -22 || scale > 22) {
        char *end;
        *x = strtod(*s, &end);
        *s = end;
        return 1;
    }
    const double whole = (double)digits, value = scale < 0 ? whole / ten[-scale] : whole * ten[scale];
    *x = negative ? -value : value;
    *s = p;
    return 1;
}

static const char *skip_space(const char *s)
{
    while (*s == ' ' || *s == '\t' || *s == '\r' || *s == '\n')
        s++;
    return s;
}

/* {"tag": number or null, …}: 1 when the whole line is that, else 0 and the slow way must judge. */
static int scan_line(tt_runlog *run, const char *s, line *l)
{
    s = skip_space(s);
    if (*s++ != '{')
        return 0;
    for (int more = 1; more;) {
        double x = INFINITY;
        s = skip_space(s);
        if (*s++ != '"')
            return 0;
        const char *tag = s;
        while (*s && *s != '"' && *s != '\\')
            s++;
        const size_t n = (size_t)(s - tag);
        if (*s++ != '"')
            return 0;
        s = skip_space(s);
        if (*s++ != ':')
            return 0;
        s = skip_space(s);
        if (!strncmp(s, "null", 4))
            s += 4;
        else if (!scan_number(&s, &x))
            return 0;
        if (n == 4 && !memcmp(tag, "step", 4))
            l->step = x >= 0 && x < 9e15 && x == floor(x) ? (int64_t)x : -1;
        else
            put_pair(run, l, tag, n, x);
        s = skip_space(s);
        more = *s == ',';
        if (!more && *s != '}')
            return 0;
        s++;
    }
    return *skip_space(s) == '\0';
}

static int parse_line(tt_runlog *run, const char *text, line *l)
{
    json_t *root = json_loads(text, 0, NULL), *value;
    const char *tag;
    *l = (line){.step = -1};
    json_object_foreach(root, tag, value) {
        if (!strcmp(tag, "step"))
            l->step = json_is_integer(value) && json_integer_value(value) >= 0 ? json_integer_value(value) : -1;
        else if (json_is_number(value) || json_is_null(value))
            put_pair(run, l, tag, strlen(tag), json_is_null(value) ? INFINITY : json_number_value(value));
    }
    json_decref(root);
    return l->step >= 0;
}

static tt_status read_lines(FILE *in, tt_runlog *run, tt_error *err)
{
    char *text = NULL;
    size_t room = 0;
    line *l = malloc(sizeof *l);
    TT_ASSERT(l);
    for (ssize_t n; (n = getline(&text, &room, in)) > 0;) {
        l->step = -1;
        l->n = 0;
        if (text[n - 1] != '\n')
            run->torn = 1; /* even if it reads as JSON, its number may have lost digits */
        else if ((scan_line(run, text, l) && l->step >= 0) || parse_line(run, text, l))
            put_line(run, l);
        else
            run->broken += *skip_space(text) != '\0';
    }
    const tt_status st = ferror(in) ? tt_fs_fail(err, "read", run->path, errno) : TT_OK;
    free(text);
    free(l);
    return st;
}

/* --- what follows from the rows --------------------------------------------------------------------------------------- */

const double *tt_runlog_find(const tt_runlog *run, const char *tag)
{
    for (int c = 0; c < run->n_columns; c++)
        if (!strcmp(run->column[c].tag, tag))
            return run->column[c].at;
    return NULL;
}

/* Tokens and time by row: what the file says, carried over rows that do not (validations). A row's seconds per step hold
 * for the steps since the row before. */
static void add_axes(tt_runlog *run)
{
    const double *tokens = tt_runlog_find(run, "n_tokens_seen"), *each = tt_runlog_find(run, "time_metrics/end_to_end(s)");
    double seen = NAN, spent = 0;
    int64_t before = 0;
    run->tokens = grown(NULL, sizeof(double) * (size_t)(run->n + 1));
    run->seconds = grown(NULL, sizeof(double) * (size_t)(run->n + 1));
    for (int64_t i = 0; i < run->n; i++) {
        if (tokens && isfinite(tokens[i]))
            seen = tokens[i];
        if (each && isfinite(each[i])) {
            spent += each[i] * (double)(run->step[i] - before);
            before = run->step[i];
        }
        run->tokens[i] = seen;
        run->seconds[i] = each ? spent : NAN;
    }
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static double median(const double *x, int64_t n)
{
    double *sorted = grown(NULL, sizeof *sorted * (size_t)(n + 1)), middle = NAN;
    int64_t m = 0;
    for (int64_t i = 0; x && i < n; i++)
        if (isfinite(x[i]))
            sorted[m++] = x[i];
    qsort(sorted, (size_t)m, sizeof *sorted, by_value);
    if (m)
        middle = (sorted[(m - 1) / 2] + sorted[m / 2]) / 2;
    free(sorted);
    return middle;
}

static double last_finite(const double *x, int64_t n)
{
    while (x && n-- > 0)
        if (isfinite(x[n]))
            return x[n];
    return NAN;
}

/* The smallest (sign 1) or largest (sign -1). */
static tt_runlog_point best(const tt_runlog *run, const double *x, int sign)
{
    tt_runlog_point p = {NAN, -1};
    for (int64_t i = 0; x && i < run->n; i++)
        if (isfinite(x[i]) && (p.step < 0 || sign * x[i] < sign * p.value))
            p = (tt_runlog_point){x[i], run->step[i]};
    return p;
}

tt_runlog_summary tt_runlog_sum(const tt_runlog *run)
{
    const double *loss = tt_runlog_find(run, "loss_metrics/global_avg_loss");
    return (tt_runlog_summary){.steps = run->step[run->n - 1],
                               .tokens = run->tokens[run->n - 1],
                               .last_loss = last_finite(loss, run->n),
                               .median_tps = median(tt_runlog_find(run, "throughput(tps)"), run->n),
                               .peak_gib = best(run, tt_runlog_find(run, "memory/max_reserved(GiB)"), -1).value,
                               .seconds = run->seconds[run->n - 1],
                               .best_loss = best(run, loss, 1),
                               .best_validation = best(run, tt_runlog_find(run, "validation_metrics/loss"), 1)};
}

/* --- a run ------------------------------------------------------------------------------------------------------------ */

static char *copy_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? strdup(text) : NULL;
}

/* What lies beside the metrics; nothing of it is needed. */
static void read_history(const char *folder, tt_runlog *run)
{
    char *config = tt_fs_join(folder, "config.cfg"), *starts = tt_fs_join(folder, "starts.jsonl"), *text = NULL, *save = NULL;
    if (tt_fs_exists(config) && tt_fs_read(config, &run->config, NULL, NULL) != TT_OK)
        run->config = NULL;
    if (tt_fs_exists(starts) && tt_fs_read(starts, &text, NULL, NULL) == TT_OK)
        for (char *row = strtok_r(text, "\n", &save); row; row = strtok_r(NULL, "\n", &save)) {
            json_t *root = json_loads(row, 0, NULL);
            if (root) {
                run->ranks = (int)json_integer_value(json_object_get(root, "ranks"));
                free(run->version);
                run->version = copy_of(root, "version");
                if (!run->starts++)
                    run->started = copy_of(root, "time");
            }
            json_decref(root);
        }
    free(text);
    free(config);
    free(starts);
}

/* The last part of a path, without slashes at its end. */
static char *base_name(const char *path)
{
    size_t end = strlen(path);
    while (end > 1 && path[end - 1] == '/')
        end--;
    size_t start = end;
    while (start > 0 && path[start - 1] != '/')
        start--;
    return end > start ? strndup(path + start, end - start) : strdup(path);
}

tt_status tt_runlog_read(const char *path, tt_runlog *run, tt_error *err)
{
    tt_status st = TT_OK;
    const int folder = tt_fs_is_dir(path);
    *run = (tt_runlog){.name = base_name(path)};
    run->path = folder ? tt_fs_join(path, "metrics.jsonl") : strdup(path);
    TT_ASSERT(run->path && run->name);
    FILE *in = NULL;
    if (folder && !tt_fs_exists(run->path))
        TT_TRY(tt_fail(err, TT_ERR_IO, "%s has no metrics: looked for %s; give the job.dump_folder of a run that has begun, or "
                       "its metrics file", path, run->path));
    if (!(in = fopen(run->path, "r")))
        TT_TRY(tt_fs_fail(err, "open", run->path, errno));
    TT_TRY(read_lines(in, run, err));
    if (run->n == 0)
        TT_TRY(tt_fail(err, TT_ERR_IO, "%s has no whole line with a step (%lld broken%s): a run writes the first one after step 1; wait for it, or give another run",
                       run->path, (long long)run->broken, run->torn ? ", the last one torn" : ""));
    add_axes(run);
    if (folder)
        read_history(path, run);
out:
    if (in)
        fclose(in);
    if (st != TT_OK)
        tt_runlog_free(run);
    return st;
}

void tt_runlog_free(tt_runlog *run)
{
    for (int c = 0; c < run->n_columns; c++) {
        free(run->column[c].tag);
        free(run->column[c].at);
    }
    free(run->column);
    free(run->step);
    free(run->tokens);
    free(run->seconds);
    free(run->path);
    free(run->name);
    free(run->started);
    free(run->version);
    free(run->config);
    *run = (tt_runlog){0};
}
