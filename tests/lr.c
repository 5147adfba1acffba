/* Learning-rate schedules: torchtitan's multipliers step by step, and the corners where others divide by zero. */
#include "run/lr.h"
#include "tap.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static tt_lr_opts read_opts(const json_t *o)
{
    const char *type = json_string_value(json_object_get(o, "decay_type"));
    const json_t *ratio = json_object_get(o, "decay_ratio"), *total = json_object_get(o, "total_steps");
    if (!type)
        type = "linear";
    return (tt_lr_opts){.total_steps = json_integer_value(total ? total : json_object_get(o, "training_steps")),
                        .warmup_steps = json_integer_value(json_object_get(o, "warmup_steps")),
                        .decay_ratio = json_is_number(ratio) ? json_number_value(ratio) : -1,
                        .decay_type = !strcmp(type, "linear") ? TT_DECAY_LINEAR
                                      : !strcmp(type, "sqrt") ? TT_DECAY_SQRT
                                                              : TT_DECAY_COSINE,
                        .min_lr_factor = json_number_value(json_object_get(o, "min_lr_factor"))};
}

static void check_golden(const char *path)
{
    FILE *f = fopen(path, "r");
    char line[1 << 16];
    int n = 0;
    ok(f != NULL, "%s opens", path);
    while (f && fgets(line, sizeof line, f)) {
        json_t *o = json_loads(line, 0, NULL), *want = json_object_get(o, "multiplier");
        tt_lr_opts opts = read_opts(o);
        double worst = 0;
        for (size_t k = 0; k < json_array_size(want); k++)
            worst = fmax(worst, fabs(tt_lr_factor(&opts, (int64_t)k) - json_number_value(json_array_get(want, k))));
        double after = json_number_value(json_object_get(o, "after_the_end"));
        worst = fmax(worst, fabs(tt_lr_factor(&opts, (int64_t)json_array_size(want)) - after));
        ok(json_array_size(want) > 0 && worst <= 1e-12, "schedule %d equals the reference (%.1e)", n++, worst);
        json_decref(o);
    }
    if (f)
        fclose(f);
    ok(n >= 10, "%d schedules", n);
}

/* Every factor of a schedule is in (0, 1]. */
static void check_positive(const char *what, tt_lr_opts o)
{
    int good = 1;
    for (int64_t k = 0; k < o.total_steps; k++) {
        double f = tt_lr_factor(&o, k);
        good &= isfinite(f) && f > 0 && f <= 1;
    }
    ok(good, "%s: no NaN, no rate of 0", what);
}

int main(int argc, char **argv)
{
    const char *src = getenv("top_srcdir");
    char path[4096];
    snprintf(path, sizeof path, "%s/tests/golden/lr_schedules.jsonl", src ? src : ".");
    check_golden(argc > 1 ? argv[1] : path);
    tt_lr_opts o = {.total_steps = 10, .warmup_steps = 2, .decay_ratio = 0.8};
    const double want[] = {0.5, 1, 1, 0.875, 0.75, 0.625, 0.5, 0.375, 0.25, 0.125};
    for (int k = 0; k < 10; k++)
        close_to(tt_lr_factor(&o, k), want[k], 1e-15, "10 steps, warmup 2, decay 0.8: step %d", k);
    for (int type = 0; type < 3; type++) {
        tt_lr_opts base = {.total_steps = 10, .decay_ratio = -1, .decay_type = (tt_decay)type};
        tt_lr_opts a = base;
        a.warmup_steps = 10;
        check_positive("warmup of all steps", a);
        a.warmup_steps = 20;
        check_positive("warmup longer than the schedule", a);
        a.warmup_steps = 0;
        check_positive("no warmup", a);
        a.decay_ratio = 0;
        check_positive("no decay", a);
        close_to(tt_lr_factor(&a, 9), 1, 0, "no decay: constant to the end");
        a.decay_ratio = 1;
        check_positive("decay over all steps", a);
        a.total_steps = 1;
        check_positive("one step", a);
        a = base;
        a.min_lr_factor = 0.1;
        check_positive("a floor", a);
        close_to(tt_lr_factor(&a, 10), 0.1, 1e-15, "the floor is reached one step after the end");
    }
    return done_testing();
}
