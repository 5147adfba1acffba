/* See tap.h. Results go to stdout as TAP, explanations of failures to stderr as comments. */
#include "tap.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct {
    int planned, run, failed;
    int rank;
    int (*any_failed)(void *ctx, int failed);
    void *ctx;
} tap;

void plan(int n)
{
    tap.planned = n;
    if (tap.rank == 0)
        printf("1..%d\n", n);
    fflush(stdout);
}

int done_testing(void)
{
    if (tap.rank == 0 && tap.planned == 0)
        printf("1..%d\n", tap.run);
    if (tap.rank == 0 && tap.failed)
        fprintf(stderr, "# %d of %d checks failed\n", tap.failed, tap.run);
    if (tap.rank == 0 && tap.planned && tap.planned != tap.run)
        fprintf(stderr, "# %d checks planned, %d run\n", tap.planned, tap.run);
    fflush(stdout);
    return tap.failed || tap.run == 0 || (tap.planned && tap.planned != tap.run);
}

void skip_all(const char *why)
{
    if (tap.rank == 0)
        printf("1..0 # SKIP %s\n", why);
    exit(0);
}

void tap_collective(int rank, int (*any_failed)(void *ctx, int failed), void *ctx)
{
    tap.rank = rank;
    tap.any_failed = any_failed;
    tap.ctx = ctx;
}

/* One check: agree over the ranks, then rank 0 prints. '#' would start a directive, so it becomes '.' in the name. */
static int check(int cond, const char *format, va_list ap)
{
    char name[1024];
    vsnprintf(name, sizeof name, format, ap);
    for (char *c = name; *c; c++)
        if (*c == '#' || *c == '\n')
            *c = '.';
    if (!cond && tap.any_failed)
        fprintf(stderr, "# rank %d: failed: %s\n", tap.rank, name);
    int failed = tap.any_failed ? tap.any_failed(tap.ctx, !cond) : !cond;
    tap.run++;
    tap.failed += failed;
    if (tap.rank == 0)
        printf("%sok %d - %s\n", failed ? "not " : "", tap.run, name);
    fflush(stdout);
    return cond;
}

int ok(int cond, const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    int pass = check(cond != 0, format, ap);
    va_end(ap);
    return pass;
}

int is_int(long long got, long long want, const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    int pass = check(got == want, format, ap);
    va_end(ap);
    if (!pass)
        diag("    got: %lld\n#   want: %lld", got, want);
    return pass;
}

int is_str(const char *got, const char *want, const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    int pass = check(got && want ? strcmp(got, want) == 0 : got == want, format, ap);
    va_end(ap);
    if (!pass)
        diag("    got: %s\n#   want: %s", got ? got : "(null)", want ? want : "(null)");
    return pass;
}

int close_to(double got, double want, double tol, const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    int equal_inf = isinf(got) && isinf(want) && signbit(got) == signbit(want);
    int pass = check(equal_inf || fabs(got - want) <= tol, format, ap);
    va_end(ap);
    if (!pass)
        diag("    got: %.17g\n#   want: %.17g\n#   off by %.3g, allowed %.3g", got, want, fabs(got - want), tol);
    return pass;
}

void diag(const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    fputs("# ", stderr);
    vfprintf(stderr, format, ap);
    fputc('\n', stderr);
    va_end(ap);
}
