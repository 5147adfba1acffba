/* The kernels of the optimizer step: sumsq, norm_clip, reciprocal, check_finite, adamw, init; and
 * Philox under init. adamw and the norms are compared with recorded runs of PyTorch
 * (tests/golden/adamw.how). */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "kernels_util.h"

static FILE *open_golden(const char *name)
{
    char path[4096];
    const char *root = getenv("top_srcdir");
    snprintf(path, sizeof path, "%s/tests/golden/%s", root ? root : ".", name);
    FILE *f = fopen(path, "r");
    if (!f) {
        diag("cannot read %s; run from the top of the source tree or set top_srcdir", path);
        exit(1);
    }
    return f;
}

static double number(FILE *f)
{
    double x;
    if (fscanf(f, "%lf", &x) != 1) {
        diag("a golden file ends early or holds no number where one is due");
        exit(1);
    }
    return x;
}

static void test_philox(void)
{
    static const uint32_t kat[][10] = {
        {0, 0, 0, 0, 0, 0, 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8},
        {~0u, ~0u, ~0u, ~0u, ~0u, ~0u, 0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd},
        {0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344, 0xa4093822, 0x299f31d0, 0xd16cfe09,
         0x94fdcceb, 0x5001e420, 0x24126ea1},
    };
    for (int i = 0; i < 3; i++) {
        uint32_t out[4];
        tt_philox4x32(kat[i], kat[i] + 4, out);
        ok(memcmp(out, kat[i] + 6, sizeof out) == 0, "Philox 4x32-10 gives the published vector %d",
           i);
    }
}

static void test_scalars(void)
{
    static const double in[] = {4, 0, -0.5, 3};
    for (int i = 0; i < 4; i++) {
        op_case c = {.name = "reciprocal"};
        set(op_in(&c, tensor(TT_F64, 1, 0, 0)), 0, in[i]);
        op_out(&c, tensor(TT_F32, 1, 0, 0), 6e-8);
        c.want[0][0] = in[i] == 0 ? 0 : 1 / in[i];
        check_op(&c, "of %g", in[i]);
        op_free(&c);
    }
    for (int i = 0; i < 6; i++) {
        static const double bad[] = {1, INFINITY, NAN, 2, -INFINITY, 1e300};
        op_case c = {.name = "check_finite"};
        set(op_in(&c, tensor(TT_F32, 1, 0, 0)), 0, i < 3 ? bad[i] : 0);
        set(op_in(&c, tensor(TT_F64, 1, 0, 0)), 0, i < 3 ? 0 : bad[i]);
        op_out(&c, tensor(TT_I32, 1, 0, 0), 0);
        c.want[0][0] = !isfinite(bad[i]);
        check_op(&c, "of %g", bad[i]);
        op_free(&c);
    }
}

static void test_sumsq(int64_t n, int operands)
{
    uint64_t seed = (uint64_t)n;
    op_case c = {.name = "sumsq"};
    op_out(&c, tensor(TT_F64, 1, 0, 0), 1e-12); /* the reference adds one by one */
    for (int t = 0; t < operands; t++) {
        tt_tensor *x = op_in(&c, tensor(TT_F32, n + t, 0, 0));
        fill(x, &seed, 0, 3);
        for (int64_t i = 0; i < numel(x); i++)
            c.want[0][0] += get(x, i) * get(x, i);
    }
    check_op(&c, "%d tensors of about %lld", operands, (long long)n);
    op_free(&c);
}

/* Recorded gradients, through sumsq and norm_clip. */
static void test_clip(void)
{
    FILE *f = open_golden("clip.txt");
    int number_of, tensors;
    double max_norm, norm;
    while (fscanf(f, " case %d tensors %d max_norm %lf norm %lf", &number_of, &tensors, &max_norm,
                  &norm) == 4) {
        op_case s = {.name = "sumsq"}, c = {.name = "norm_clip", .attr.max_norm = max_norm};
        op_out(&s, tensor(TT_F64, 1, 0, 0), 0);
        for (int t = 0; t < tensors; t++) {
            int n;
            if (fscanf(f, " grad %d", &n) != 1)
                exit(1);
            tt_tensor *g = op_in(&s, tensor(TT_F32, n, 0, 0));
            for (int i = 0; i < n; i++)
                set(g, i, number(f));
        }
        op_run(&s, 2, 0);
        set(op_in(&c, tensor(TT_F64, 2, 0, 0)), 0, get(&s.out[0], 0));
        op_out(&c, tensor(TT_F32, 1, 0, 0), 0);
        op_out(&c, tensor(TT_F32, 1, 0, 0), 0);
        op_run(&c, 1, 0);
        double got = get(&c.out[0], 0), coef = get(&c.out[1], 0),
               want = fmin(1, max_norm / (norm + 1e-6));
        if (isnan(norm))
            ok(isnan(got) && isnan(coef), "clip case %d: a NaN norm stays visible", number_of);
        else
            ok((got == norm || fabs(got - norm) <= 1e-6 * norm) && fabs(coef - want) <= 1e-6 * want,
               "clip case %d: norm %g and coefficient %g as recorded", number_of, got, coef);
        op_free(&s);
        op_free(&c);
    }
    is_int(number_of, 10, "all clip cases were read");
    fclose(f);
    op_case c = {.name = "norm_clip"};
    set(op_in(&c, tensor(TT_F64, 1, 0, 0)), 0, 1e6);
    op_out(&c, tensor(TT_F32, 1, 0, 0), 1e-7);
    op_out(&c, tensor(TT_F32, 1, 0, 0), 0);
    c.want[0][0] = 1000;
    c.want[1][0] = 1;
    check_op(&c, "without a limit");
    op_free(&c);
}

static void compare_row(FILE *f, const tt_tensor *t, double scale_floor, double tol,
                        const char *run, const char *what, int step)
{
    double worst = 0, largest = 0, want[256];
    for (int64_t i = 0; i < numel(t); i++) {
        want[i] = number(f);
        largest = fmax(largest, fabs(want[i]));
    }
    for (int64_t i = 0; i < numel(t); i++)
        worst = fmax(worst, fabs(get(t, i) - want[i]) /
                                (scale_floor > 0 ? fabs(want[i]) + scale_floor : largest));
    ok(worst <= tol, "adamw run %s: %s after step %d within %g (worst %.2g)", run, what, step, tol,
       worst);
}

static void one_step(op_case *c, const double *lr, int step, const double *grad)
{
    for (int64_t i = 0; i < numel(&c->in[0]); i++)
        set(&c->in[0], i, 2 * grad[i]); /* coef 0.5 undoes it exactly */
    set(&c->in[1], 0, 0.5);
    set(&c->in[2], 0, lr[step - 1]);
    set(&c->in[3], 0, step);
    op_run(c, 1 + step % 3, 0);
}

static void test_adamw(void)
{
    enum { most = 64 };
    static double lr[most], w0[most], grad[most][most];
    FILE *f = open_golden("adamw.txt");
    int n, steps, decoupled, runs = 0;
    char run[64];
    if (fscanf(f, "elements %d steps %d lr", &n, &steps) != 2 || n > most || steps > most)
        exit(1);
    for (int s = 0; s < steps; s++)
        lr[s] = number(f);
    (void)!fscanf(f, " w0");
    for (int i = 0; i < n; i++)
        w0[i] = number(f);
    for (int s = 0; s < steps; s++) {
        (void)!fscanf(f, " grad");
        for (int i = 0; i < n; i++)
            grad[s][i] = number(f);
    }
    tt_attrs a = {0};
    while (fscanf(f, " run %63s beta1 %lf beta2 %lf eps %lf weight_decay %lf decoupled %d", run,
                  &a.beta1, &a.beta2, &a.eps, &a.weight_decay, &decoupled) == 6) {
        op_case c = {.name = "adamw", .attr = a};
        char what[2];
        int at, step = 0;
        c.attr.decoupled = decoupled;
        runs++;
        op_in(&c, tensor(TT_F32, n, 0, 0));
        for (int i = 0; i < 4; i++)
            op_in(&c, tensor(i < 2 ? TT_F32 : TT_I32, 1, 0, 0));
        for (int i = 0; i < 3; i++)
            op_out(&c, tensor(TT_F32, n, 0, 0), 0);
        for (int i = 0; i < n; i++)
            set(&c.out[0], i, w0[i]);
        while (fscanf(f, " %1[wmv] %d", what, &at) == 2) {
            while (step < at) {
                step++;
                one_step(&c, lr, step, grad[step - 1]);
            }
            if (what[0] == 'w')
                compare_row(f, &c.out[0], 1e-3, 4e-6, run, "w", at);
            else
                compare_row(f, &c.out[what[0] == 'm' ? 1 : 2], 0, 1e-6, run, what, at);
        }
        op_free(&c);
    }
    is_int(runs, 6, "all adamw runs were read");
    fclose(f);
}

/* A step that is marked bad changes nothing, whatever the gradient holds. */
static void test_adamw_bad(void)
{
    op_case c = {.name = "adamw",
                 .attr = {.beta1 = 0.9, .beta2 = 0.95, .eps = 1e-8, .decoupled = 1}};
    uint64_t seed = 3;
    set(op_in(&c, tensor(TT_F32, 9, 0, 0)), 4, NAN);
    for (int i = 0; i < 4; i++)
        set(op_in(&c, tensor(i < 2 ? TT_F32 : TT_I32, 1, 0, 0)), 0, 1);
    for (int i = 0; i < 3; i++) {
        fill(op_out(&c, tensor(TT_F32, 9, 0, 0), 0), &seed, 1, 0.5);
        for (int k = 0; k < 9; k++)
            c.want[i][k] = get(&c.out[i], k);
    }
    op_run(&c, 2, 0);
    int changed = 0;
    for (int i = 0; i < 27; i++)
        changed += get(&c.out[i / 9], i % 9) != c.want[i / 9][i % 9];
    is_int(changed, 0, "adamw leaves w, m and v alone when the step is bad");
    op_free(&c);
}

static tt_tensor init_box(tt_attrs attr, int64_t rows, int64_t cols, int threads)
{
    op_case c = {.name = "init", .attr = attr};
    set(op_in(&c, tensor(TT_I64, 1, 0, 0)), 0, 1234567);
    tt_tensor *w = op_out(&c, tensor(TT_F32, rows, cols, 0), 0);
    memset(w->data, 0xFF, (size_t)numel(w) * 4);
    ok(op_run(&c, threads, 0), "init keeps inside its tensor");
    tt_tensor result = *w;
    c.n_out = 0;
    free(c.want[0]);
    op_free(&c);
    return result;
}

static void test_init_boxes(void)
{
    const int64_t rows = 37, cols = 50;
    tt_attrs attr = {.dist = TT_INIT_NORMAL,
                     .std = 0.5,
                     .key = 0x123456789abcdefu,
                     .full_dim = {rows, cols},
                     .box_count = {rows, cols}};
    tt_tensor whole = init_box(attr, rows, cols, 1), threaded = init_box(attr, rows, cols, 3);
    ok(memcmp(whole.data, threaded.data, (size_t)numel(&whole) * 4) == 0,
       "init has the same bits on 1 and 3 threads");
    for (int cut = 0; cut < 2;
         cut++) { /* the second half of a dim, with two padding rows or columns */
        tt_attrs b = attr;
        b.box_start[cut] = cut ? 25 : 19;
        b.box_count[cut] = cut ? 25 : 18;
        tt_tensor part =
            init_box(b, b.box_count[0] + (cut == 0) * 2, b.box_count[1] + (cut == 1) * 2, 2);
        int wrong = 0;
        for (int64_t r = 0; r < part.dim[0]; r++)
            for (int64_t c = 0; c < part.dim[1]; c++) {
                int inside = r < b.box_count[0] && c < b.box_count[1];
                int64_t at = (r + b.box_start[0]) * cols + c + b.box_start[1];
                wrong += get(&part, r * part.dim[1] + c) != (inside ? get(&whole, at) : 0);
            }
        is_int(wrong, 0, "init of a piece along dim %d equals the whole there, padding is 0", cut);
        tensor_free(&part);
    }
    attr.key++;
    tt_tensor other = init_box(attr, rows, cols, 1);
    int same = 0;
    for (int64_t i = 0; i < numel(&whole); i++)
        same += get(&whole, i) == get(&other, i);
    ok(same < 3, "another key gives other numbers (%d equal)", same);
    tensor_free(&whole);
    tensor_free(&threaded);
    tensor_free(&other);
}

static void test_init_numbers(void)
{
    const int64_t rows = 400, cols = 500;
    tt_attrs attr = {.dist = TT_INIT_NORMAL,
                     .std = 0.02,
                     .key = 77,
                     .full_dim = {rows, cols},
                     .box_count = {rows, cols}};
    double n = (double)(rows * cols);
    for (int cut = 0; cut < 2; cut++) {
        attr.lo = cut ? -0.03 : 0;
        attr.hi = cut ? 0.03 : 0;
        tt_tensor w = init_box(attr, rows, cols, 2);
        double s1 = 0, s2 = 0, s4 = 0, out = 0;
        for (int64_t i = 0; i < numel(&w); i++) {
            double z = get(&w, i) / 0.02;
            s1 += z;
            s2 += z * z;
            s4 += z * z * z * z;
            out += fabs(z) > 1.5;
        }
        /* a normal cut at 1.5 std: variance 1 - 2 * 1.5 phi(1.5) / (2 Phi(1.5) - 1) */
        double phi = exp(-1.125) / sqrt(2 * M_PI), var = cut ? 1 - 3 * phi / erf(1.5 / sqrt(2)) : 1;
        close_to(s1 / n, 0, 4 / sqrt(n), "mean of the %s normal", cut ? "cut" : "plain");
        close_to(s2 / n, var, 6 * var / sqrt(n), "variance of the %s normal",
                 cut ? "cut" : "plain");
        if (cut)
            is_int((long long)out, 0, "no draw lies outside the cut");
        else
            close_to(s4 / n, 3, 0.1, "fourth moment of the plain normal");
        tensor_free(&w);
    }
    for (int dist = TT_INIT_ZEROS; dist <= TT_INIT_ONES; dist++) {
        attr.dist = dist;
        attr.box_count[0] = 3;
        tt_tensor w = init_box(attr, 4, cols, 1);
        ok(get(&w, 0) == dist && get(&w, 3 * cols - 1) == dist && get(&w, 3 * cols) == 0,
           "init to %d, padding 0", dist);
        tensor_free(&w);
    }
}

int main(void)
{
    test_philox();
    test_scalars();
    test_sumsq(0, 1);
    test_sumsq(1, 3);
    test_sumsq(50001, 4);
    test_clip();
    test_adamw();
    test_adamw_bad();
    test_init_boxes();
    test_init_numbers();
    return done_testing();
}
