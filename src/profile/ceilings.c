/* See ceilings.h. */
#include "profile/ceilings.h"

#include "base/clock.h"
#include "graph/program.h"

#include <unistd.h>

#define SECONDS 0.1 /* of each measurement, at least two runs */

typedef struct call {
    tt_kernel_fn kernel;
    tt_kernel_args args;
} call;

static tt_status run_call(void *ctx, tt_error *err)
{
    call *c = ctx;
    (void)err;
    c->kernel(&c->args);
    return TT_OK;
}

/* Seconds of the fastest run; the first one only warms up. */
static tt_status fastest(tt_device *d, call *c, double *best, tt_error *err)
{
    double start = tt_clock_s();
    *best = 1e30;
    for (int i = 0; i < 3 || tt_clock_s() - start < SECONDS; i++) {
        double before = tt_clock_s();
        tt_status st =
            d->table->enqueue(d, TT_Q_COMPUTE, &(tt_task){.run = run_call, .ctx = c}, err);
        if (st == TT_OK)
            st = d->table->sync(d, err);
        if (st != TT_OK)
            return st;
        double seconds = tt_clock_s() - before;
        if (i && seconds < *best)
            *best = seconds;
    }
    return TT_OK;
}

static size_t copy_bytes(void)
{
    const size_t least = (size_t)64 << 20, most = (size_t)256 << 20;
    long cache = sysconf(_SC_LEVEL3_CACHE_SIZE);
    size_t bytes = cache > 0 ? 2 * (size_t)cache : least;
    return bytes < least ? least : bytes > most ? most : bytes;
}

static tt_tensor matrix(void *data, tt_dtype dtype, int64_t rows, int64_t cols)
{
    return (tt_tensor){.data = data, .dtype = dtype, .ndim = 2, .dim = {rows, cols}};
}

/* x and y both fit in `half` bytes of memory each; w lies behind x. */
static tt_status product(tt_device *d, char *memory, size_t half, tt_ceilings *c, tt_error *err)
{
    const int64_t n = TT_CEILING_SIDE;
    const size_t bytes = (size_t)(n * n) * tt_dtype_size(c->dtype);
    const tt_attrs attr = {0};
    tt_tensor in[] = {matrix(memory, c->dtype, n, n), matrix(memory + bytes, c->dtype, n, n)},
              out = matrix(memory + half, c->dtype, n, n);
    void *scratch = NULL;
    double seconds;
    tt_status st = TT_OK;
    size_t scratch_bytes =
        d->profile.workspace("linear", &attr, in, 2, &out, 1, d->profile.n_threads);
    call k = {d->kernel("linear"),
              {.in = in, .n_in = 2, .out = &out, .n_out = 1, .attr = &attr, .pool = d->pool}};
    if (scratch_bytes)
        st = d->table->alloc(d, scratch_bytes, &scratch, err);
    k.args.workspace = scratch;
    k.args.workspace_bytes = scratch_bytes;
    if (st == TT_OK)
        st = fastest(d, &k, &seconds, err);
    if (st == TT_OK)
        c->flops = 2.0 * (double)n * (double)n * (double)n / seconds;
    if (scratch)
        d->table->free(d, scratch);
    return st;
}

static tt_status copy(tt_device *d, char *memory, size_t half, tt_ceilings *c, tt_error *err)
{
    const tt_attrs attr = {0};
    const int64_t n = (int64_t)(half / sizeof(float));
    tt_tensor from = matrix(memory, TT_F32, 1, n), to = matrix(memory + half, TT_F32, 1, n);
    double seconds;
    /* written once, else every page of the source is the same page of zeros */
    call zero = {d->kernel("zero"), {.out = &from, .n_out = 1, .attr = &attr, .pool = d->pool}};
    call k = {d->kernel("copy"),
              {.in = &from, .n_in = 1, .out = &to, .n_out = 1, .attr = &attr, .pool = d->pool}};
    tt_status st =
        d->table->enqueue(d, TT_Q_COMPUTE, &(tt_task){.run = run_call, .ctx = &zero}, err);
    if (st == TT_OK)
        st = fastest(d, &k, &seconds, err);
    if (st == TT_OK)
        c->bytes = 2.0 * (double)half / seconds;
    return st;
}

tt_status tt_ceilings_measure(tt_device *d, tt_dtype dtype, tt_ceilings *c, tt_error *err)
{
    const size_t half = copy_bytes();
    void *memory = NULL;
    *c = (tt_ceilings){.dtype = dtype, .copied = half, .threads = d->profile.n_threads};
    tt_status st = d->table->alloc(d, 2 * half, &memory, err);
    if (st == TT_OK)
        st = copy(d, memory, half, c, err);
    if (st == TT_OK)
        st = product(d, memory, half, c, err);
    if (memory)
        d->table->free(d, memory);
    return st;
}
