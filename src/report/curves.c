/* See curves.h. A canvas has cells; with braille a cell has 2 x 4 dots, else one. Curves are lines between dots. */
#include "report/curves.h"

#include "metrics/metrics.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { HEIGHT = 11, MARGIN = 11 }; /* rows of a canvas; columns left of it */

static const char mark_of[] = "*+ox#@%&"; /* by run, when there is no other way to tell them apart */

typedef struct canvas {
    const tt_curves_opts *opts;
    int columns, dots_x, dots_y; /* cells a row; dots in a cell */
    unsigned char *bits;         /* braille dots by cell */
    int *run;                    /* who drew there last, -1 nobody */
    double x0, x1, y0, y1;
} canvas;

static const double *axis(const tt_runlog *run, const char *name, int64_t i, double *x)
{
    *x = !strcmp(name, "tokens") ? run->tokens[i] : !strcmp(name, "time") ? run->seconds[i] : (double)run->step[i];
    return isfinite(*x) ? x : NULL;
}

/* --- drawing ---------------------------------------------------------------------------------------------------------- */

static void dot(canvas *c, int x, int y, int run)
{
    static const unsigned char bit[4][2] = {{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}};
    const int cell = y / c->dots_y * c->columns + x / c->dots_x;
    c->bits[cell] |= bit[y % c->dots_y][x % c->dots_x];
    c->run[cell] = run;
}

static void segment(canvas *c, int x0, int y0, int x1, int y1, int run)
{
    const int steps = abs(x1 - x0) > abs(y1 - y0) ? abs(x1 - x0) : abs(y1 - y0);
    for (int k = 0; k <= steps; k++)
        dot(c, x0 + (steps ? (int)lround((double)(x1 - x0) * k / steps) : 0),
            y0 + (steps ? (int)lround((double)(y1 - y0) * k / steps) : 0), run);
}

static void draw(canvas *c, const tt_runlog *run, const double *y, int index)
{
    const int w = c->columns * c->dots_x - 1, h = HEIGHT * c->dots_y - 1;
    int px = -1, py = 0;
    for (int64_t i = 0; i < run->n; i++) {
        double x;
        if (isnan(y[i]) || !axis(run, c->opts->x, i, &x))
            continue;
        if (isinf(y[i])) { /* a gap */
            px = -1;
            continue;
        }
        const int qx = (int)lround((x - c->x0) / (c->x1 - c->x0) * w), qy = (int)lround((c->y1 - y[i]) / (c->y1 - c->y0) * h);
        segment(c, px < 0 ? qx : px, px < 0 ? qy : py, qx, qy, index);
        px = qx;
        py = qy;
    }
}

/* Ranges over all runs; 0 when there is no value. */
static int find_range(canvas *c, const tt_runlog *runs, int n, const char *tag)
{
    c->x0 = c->y0 = INFINITY;
    c->x1 = c->y1 = -INFINITY;
    for (int r = 0; r < n; r++) {
        const double *y = tt_runlog_find(&runs[r], tag);
        for (int64_t i = 0; y && i < runs[r].n; i++) {
            double x;
            if (!isfinite(y[i]) || !axis(&runs[r], c->opts->x, i, &x))
                continue;
            c->x0 = fmin(c->x0, x);
            c->x1 = fmax(c->x1, x);
            c->y0 = fmin(c->y0, y[i]);
            c->y1 = fmax(c->y1, y[i]);
        }
    }
    if (c->x0 > c->x1)
        return 0;
    if (c->x0 == c->x1)
        c->x1 = c->x0 + 1;
    if (c->y0 == c->y1) {
        const double pad = c->y0 != 0 ? 0.05 * fabs(c->y0) : 1;
        c->y0 -= pad;
        c->y1 += pad;
    }
    return 1;
}

/* --- printing --------------------------------------------------------------------------------------------------------- */

static void begin_color(const tt_curves_opts *o, int run, FILE *out)
{
    static const int color[] = {34, 31, 32, 35, 33, 36, 95, 90};
    if (o->color)
        fprintf(out, "\033[%dm", color[run % 8]);
}

static void end_color(const tt_curves_opts *o, FILE *out)
{
    if (o->color)
        fputs("\033[39m", out);
}

/* "1.23M": at most five characters and a sign. */
static const char *short_number(double x, char text[32])
{
    static const struct {
        double size;
        const char *letter;
    } unit[] = {{1e12, "T"}, {1e9, "B"}, {1e6, "M"}, {1e4, "k"}};
    for (int k = 0; k < 4; k++)
        if (fabs(x) >= unit[k].size) {
            snprintf(text, 32, "%.3g%s", x / unit[k].size * (k == 3 ? 10 : 1), unit[k].letter);
            return text;
        }
    snprintf(text, 32, fabs(x) >= 1000 ? "%.0f" : "%.4g", x);
    return text;
}

static void put_cell(const canvas *c, int cell, FILE *out)
{
    const int code = 0x2800 + c->bits[cell];
    if (c->run[cell] < 0) {
        fputc(' ', out);
        return;
    }
    begin_color(c->opts, c->run[cell], out);
    if (c->dots_x == 2)
        fprintf(out, "%c%c%c", 0xe0 | code >> 12, 0x80 | (code >> 6 & 0x3f), 0x80 | (code & 0x3f));
    else
        fputc(mark_of[c->run[cell] % 8], out);
    end_color(c->opts, out);
}

static void put_canvas(const canvas *c, FILE *out)
{
    const int u = c->opts->unicode;
    char text[32], high[32];
    for (int row = 0; row < HEIGHT; row++) {
        const int label = row == 0 || row == HEIGHT / 2 || row == HEIGHT - 1;
        const double y = c->y1 - (c->y1 - c->y0) * row / (HEIGHT - 1);
        fprintf(out, "%*s %s", MARGIN - 2, label ? short_number(y, text) : "", u ? (label ? "┤" : "│") : label ? "+" : "|");
        int last = c->columns;
        while (last > 0 && c->run[row * c->columns + last - 1] < 0)
            last--;
        for (int x = 0; x < last; x++)
            put_cell(c, row * c->columns + x, out);
        fputc('\n', out);
    }
    fprintf(out, "%*s%s", MARGIN - 1, "", u ? "└" : "+");
    for (int x = 0; x < c->columns; x++)
        fputs(u ? "─" : "-", out);
    const int time = !strcmp(c->opts->x, "time");
    snprintf(high, sizeof high, time ? "%.6g s" : "%.15g", c->x1);
    const int n = fprintf(out, "\n%*s%.15g %s", MARGIN, "", c->x0, c->opts->x);
    fprintf(out, "%*s\n", c->columns + MARGIN - n + 1, high);
}

static void put_chart(const tt_runlog *runs, int n, const char *title, const char *tag, const tt_curves_opts *o, FILE *out)
{
    canvas c = {.opts = o, .columns = o->width - MARGIN - 1};
    const int braille = o->unicode && (n == 1 || o->color);
    c.dots_x = braille ? 2 : 1;
    c.dots_y = braille ? 4 : 1;
    if (!find_range(&c, runs, n, tag))
        return;
    const size_t cells = (size_t)c.columns * HEIGHT;
    c.bits = calloc(cells, 1);
    c.run = malloc(cells * sizeof *c.run);
    TT_ASSERT(c.bits && c.run);
    memset(c.run, 0xff, cells * sizeof *c.run);
    for (int r = 0; r < n; r++) {
        const double *y = tt_runlog_find(&runs[r], tag);
        if (y)
            draw(&c, &runs[r], y, r);
    }
    fprintf(out, "%s\n", title);
    put_canvas(&c, out);
    fputc('\n', out);
    free(c.bits);
    free(c.run);
}

/* Mean of what a tag says; 0 when it says nothing. */
static double mean_of(const tt_runlog *run, const char *tag)
{
    const double *x = tt_runlog_find(run, tag);
    double sum = 0;
    int64_t n = 0;
    for (int64_t i = 0; x && i < run->n; i++)
        if (isfinite(x[i])) {
            sum += x[i];
            n++;
        }
    return n ? sum / (double)n : 0;
}

static void put_times(const tt_runlog *run, const tt_curves_opts *o, FILE *out)
{
    const double whole = mean_of(run, "time_metrics/end_to_end(s)");
    const int room = o->width - 38;
    if (whole <= 0)
        return;
    fprintf(out, "%s: %.4g s per step\n", run->name, whole);
    for (int k = 0; k < TT_N_TIMES; k++) {
        char tag[64];
        snprintf(tag, sizeof tag, "time_metrics/%s(s)", tt_time_name((tt_time_kind)k));
        const double part = mean_of(run, tag);
        if (part <= 0)
            continue;
        fprintf(out, "  %-16s %9.4g s %5.1f %% ", tt_time_name((tt_time_kind)k), part, 100 * part / whole);
        for (int i = 0; i < (int)lround(room * part / whole) && i < room; i++)
            fputs(o->unicode ? "█" : "#", out);
        fputc('\n', out);
    }
    fputc('\n', out);
}

static void put_figures(const tt_runlog *run, int index, int several, const tt_curves_opts *o, FILE *out)
{
    const tt_runlog_summary s = tt_runlog_sum(run);
    char text[32];
    begin_color(o, index, out);
    if (several)
        fprintf(out, "%c ", mark_of[index % 8]);
    end_color(o, out);
    fprintf(out, "%s: step %" PRId64, run->name, s.steps);
    if (isfinite(s.last_loss))
        fprintf(out, ", loss %.5f (best %.5f at %" PRId64 ")", s.last_loss, s.best_loss.value, s.best_loss.step);
    if (s.best_validation.step >= 0)
        fprintf(out, ", best validation %.5f at %" PRId64, s.best_validation.value, s.best_validation.step);
    if (isfinite(s.median_tps))
        fprintf(out, ", %s tokens/s", short_number(s.median_tps, text));
    if (isfinite(s.seconds))
        fprintf(out, ", %.4g s", s.seconds);
    if (run->starts > 1)
        fprintf(out, ", %d starts", run->starts);
    fputc('\n', out);
}

void tt_curves_print(const tt_runlog *runs, int n, const tt_curves_opts *opts, FILE *out)
{
    static const struct {
        const char *title, *tag;
    } chart[] = {{"loss", "loss_metrics/global_avg_loss"}, {"validation loss", "validation_metrics/loss"},
                 {"gradient norm", "grad_norm"},           {"learning rate", "lr"},
                 {"tokens/s per device", "throughput(tps)"}, {"MFU, %", "mfu(%)"},
                 {"memory, GiB", "memory/max_reserved(GiB)"}};
    for (int r = 0; r < n; r++)
        put_figures(&runs[r], r, n > 1, opts, out);
    fputc('\n', out);
    for (size_t k = 0; k < sizeof chart / sizeof chart[0]; k++)
        put_chart(runs, n, chart[k].title, chart[k].tag, opts, out);
    for (int r = 0; r < n; r++)
        put_times(&runs[r], opts, out);
}
