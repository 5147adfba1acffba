/* See progress.h. */
#include "base/progress.h"

#include <string.h>
#include <unistd.h>

enum { BAR = 24, WIDTH = 160 };

static const double EVERY_TERMINAL = 0.2, EVERY_LINE = 10.0;

void tt_progress_begin(tt_progress *p, FILE *out, const char *things, int64_t total, double now)
{
    *p = (tt_progress){.out = out, .terminal = isatty(fileno(out)) == 1, .things = things, .total = total, .begun = now, .last = now};
}

const char *tt_progress_number(double value, char out[16])
{
    static const char units[] = " kMGT";
    int u = 0;
    while (value >= 999.5 && u < 4) {
        value /= 1000;
        u++;
    }
    const int digits = u == 0 || value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
    snprintf(out, 16, "%.*f%s%.1s", digits, value, u ? " " : "", u ? units + u : "");
    return out;
}

/* The same for bytes, "1.23 MB". */
static const char *bytes_text(double value, char out[20])
{
    tt_progress_number(value, out);
    const size_t n = strlen(out);
    snprintf(out + n, 20 - n, value < 999.5 ? " B" : "B");
    return out;
}

static int describe(const tt_progress *p, int64_t done, int64_t bytes, int64_t count, double now, char *line, size_t room)
{
    char a[20], b[16], c[20], d[16];
    const double spent = now - p->begun > 1e-9 ? now - p->begun : 1e-9, part = p->total > 0 ? (double)done / (double)p->total : 0;
    int n = 0;
    if (p->total > 0 && p->terminal) {
        const int full = (int)(part * BAR);
        n += snprintf(line, room, "[");
        for (int i = 0; i < BAR; i++)
            line[n++] = i < full ? '=' : i == full ? '>' : ' ';
        n += snprintf(line + n, room - (size_t)n, "] ");
    }
    if (p->total > 0)
        n += snprintf(line + n, room - (size_t)n, "%3.0f%% of %s, ", 100 * part, bytes_text((double)p->total, a));
    n += snprintf(line + n, room - (size_t)n, "%s %s, %s/s, %s %s/s", tt_progress_number((double)count, b), p->things,
                  bytes_text((double)bytes / spent, c), tt_progress_number((double)count / spent, d), p->things);
    if (part > 0) {
        const int64_t left = (int64_t)(spent / part - spent + 0.5);
        n += left < 3600 ? snprintf(line + n, room - (size_t)n, ", %d:%02d left", (int)(left / 60), (int)(left % 60))
                         : snprintf(line + n, room - (size_t)n, ", %lld:%02d h left", (long long)(left / 3600), (int)(left / 60 % 60));
    }
    return n;
}

void tt_progress_show(tt_progress *p, int64_t done, int64_t bytes, int64_t count, double now)
{
    char line[2 * WIDTH];
    if (now - p->last < (p->terminal ? EVERY_TERMINAL : EVERY_LINE))
        return;
    p->last = now;
    const int n = describe(p, done, bytes, count, now, line, sizeof line), wipe = p->drawn > n ? p->drawn - n : 0;
    if (p->terminal)
        fprintf(p->out, "\r%s%*s", line, wipe, "");
    else
        fprintf(p->out, "%s\n", line);
    p->drawn = n;
    fflush(p->out);
}

void tt_progress_end(tt_progress *p)
{
    if (p->terminal && p->drawn)
        fprintf(p->out, "\r%*s\r", p->drawn, "");
    p->drawn = 0;
    fflush(p->out);
}
