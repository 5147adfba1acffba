/* See step_clock.h. */
#include "run/step_clock.h"

#include "base/clock.h"

#include <stdio.h>
#include <string.h>

static void add(tt_step_clock *c, tt_time_kind kind, double seconds)
{
    c->step[kind] += seconds;
    c->total[kind] += seconds;
}

void tt_step_clock_start(tt_step_clock *c, const tt_executor *ex)
{
    if (c->last == 0) {
        c->last = tt_clock_s();
        c->engine = tt_executor_times(ex);
    }
}

void tt_step_clock_lap(tt_step_clock *c, const tt_executor *ex, tt_time_kind kind)
{
    const double now = tt_clock_s();
    add(c, kind, now - c->last);
    c->last = now;
    c->engine = tt_executor_times(ex);
}

void tt_step_clock_lap_engine(tt_step_clock *c, const tt_executor *ex)
{
    const tt_run_times before = c->engine;
    const double last = c->last;
    double part[TT_N_PARTS], optimizer = 0, rest = 0;
    const double now = tt_clock_s();
    c->engine = tt_executor_times(ex);
    for (int p = 0; p < TT_N_PARTS; p++) {
        part[p] = c->engine.part[p] - before.part[p];
        if (p == TT_PART_REDUCE || p == TT_PART_UPDATE)
            optimizer += part[p];
        else
            rest += part[p];
    }
    const double comm = c->engine.comm - before.comm;
    add(c, TT_TIME_FORWARD_BACKWARD, rest);
    add(c, TT_TIME_OPTIMIZER, optimizer);
    add(c, TT_TIME_COMMUNICATION, comm);
    add(c, TT_TIME_OTHER, now - last - rest - optimizer - comm);
    c->last = now;
}

double tt_step_clock_take(tt_step_clock *c, double seconds[TT_N_TIMES])
{
    double sum = 0;
    memcpy(seconds, c->step, sizeof c->step);
    memset(c->step, 0, sizeof c->step);
    for (int k = 0; k < TT_N_TIMES; k++)
        sum += seconds[k];
    return sum;
}

const char *tt_step_clock_summary(const tt_step_clock *c, char *text, size_t size)
{
    double sum = 0;
    for (int k = 0; k < TT_N_TIMES; k++)
        sum += c->total[k];
    size_t at = (size_t)snprintf(text, size, "time: %.3g s", sum);
    const char *before = ": ";
    for (int k = 0; k < TT_N_TIMES && at < size; k++)
        if (c->total[k] > 0) {
            at += (size_t)snprintf(text + at, size - at, "%s%s %.1f %%", before, tt_time_name(k), 100 * c->total[k] / sum);
            before = ", ";
        }
    return text;
}
