/* See kernels_util.h. */
#include "kernels_util.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ZONE 64
#define ZONE_BYTE 0xA5

static size_t bytes_of(const tt_tensor *t)
{
    return (size_t)numel(t) * tt_dtype_size(t->dtype);
}

int64_t numel(const tt_tensor *t)
{
    int64_t n = 1;
    for (int i = 0; i < t->ndim; i++)
        n *= t->dim[i];
    return n;
}

/* The data starts one element behind a 64-byte boundary. */
static unsigned char *zone_start(const tt_tensor *t)
{
    return (unsigned char *)t->data - ZONE - tt_dtype_size(t->dtype);
}

tt_tensor tensor(tt_dtype dtype, int64_t d0, int64_t d1, int64_t d2)
{
    tt_tensor t = {.dtype = dtype, .ndim = d2 ? 3 : d1 ? 2 : 1, .dim = {d0, d1, d2}};
    size_t size = tt_dtype_size(dtype), all = 2 * ZONE + size + bytes_of(&t);
    unsigned char *p = aligned_alloc(64, (all + 63) / 64 * 64);
    if (!p)
        abort();
    memset(p, ZONE_BYTE, (all + 63) / 64 * 64);
    t.data = p + ZONE + size;
    memset(t.data, 0, bytes_of(&t));
    return t;
}

void tensor_free(tt_tensor *t)
{
    if (t->data)
        free(zone_start(t));
    t->data = NULL;
}

static int zones_whole(const tt_tensor *t)
{
    const unsigned char *p = zone_start(t), *end = (unsigned char *)t->data + bytes_of(t);
    for (; p < (unsigned char *)t->data; p++)
        if (*p != ZONE_BYTE)
            return 0;
    for (int i = 0; i < ZONE; i++)
        if (end[i] != ZONE_BYTE)
            return 0;
    return 1;
}

double get(const tt_tensor *t, int64_t i)
{
    switch (t->dtype) {
    case TT_F32:
        return ((float *)t->data)[i];
    case TT_BF16:
        return tt_bf16_to_f32(((tt_bf16 *)t->data)[i]);
    case TT_F64:
        return ((double *)t->data)[i];
    case TT_I32:
        return ((int32_t *)t->data)[i];
    default:
        return (double)((int64_t *)t->data)[i];
    }
}

void set(const tt_tensor *t, int64_t i, double value)
{
    switch (t->dtype) {
    case TT_F32:
        ((float *)t->data)[i] = (float)value;
        break;
    case TT_BF16:
        ((tt_bf16 *)t->data)[i] = tt_f32_to_bf16((float)value);
        break;
    case TT_F64:
        ((double *)t->data)[i] = value;
        break;
    case TT_I32:
        ((int32_t *)t->data)[i] = (int32_t)value;
        break;
    default:
        ((int64_t *)t->data)[i] = (int64_t)value;
    }
}

double uniform(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (double)(*state >> 11) * 0x1p-53;
}

void fill(const tt_tensor *t, uint64_t *state, double center, double a)
{
    for (int64_t i = 0; i < numel(t); i++)
        set(t, i, center + a * (2 * uniform(state) - 1));
}

tt_tensor *op_in(op_case *c, tt_tensor t)
{
    c->in[c->n_in] = t;
    return &c->in[c->n_in++];
}

tt_tensor *op_out(op_case *c, tt_tensor t, double tol)
{
    c->out[c->n_out] = t;
    c->tol[c->n_out] = tol;
    c->want[c->n_out] = calloc((size_t)numel(&t) + 1, sizeof(double));
    if (!c->want[c->n_out])
        abort();
    return &c->out[c->n_out++];
}

static int is_input(const op_case *c, const tt_tensor *t)
{
    for (int i = 0; i < c->n_in; i++)
        if (c->in[i].data == t->data)
            return 1;
    return 0;
}

void op_free(op_case *c)
{
    for (int i = 0; i < c->n_out; i++) {
        if (!is_input(c, &c->out[i]))
            tensor_free(&c->out[i]);
        free(c->want[i]);
    }
    for (int i = 0; i < c->n_in; i++)
        tensor_free(&c->in[i]);
    memset(c, 0, sizeof *c);
}

int op_run(op_case *c, int threads, int accumulate)
{
    tt_tensor in[MAX_OPERANDS],
        out[MAX_OPERANDS]; /* shapes only: the size must not depend on data */
    memcpy(in, c->in, sizeof in);
    memcpy(out, c->out, sizeof out);
    for (int i = 0; i < MAX_OPERANDS; i++)
        in[i].data = out[i].data = NULL;
    size_t bytes = tt_cpu_workspace(c->name, &c->attr, in, c->n_in, out, c->n_out, threads);
    tt_tensor space = tensor(TT_U8, (int64_t)bytes + 63, 0, 0);
    unsigned char *ws =
        (unsigned char *)space.data + 63; /* 64-byte aligned: zone and one byte before it */
    tt_pool *pool = NULL;
    if ((threads > 1 || c->simd) && tt_pool_create(threads, &pool, NULL) != TT_OK)
        abort();
    if (c->simd)
        tt_pool_use(pool, c->simd);
    memset(space.data, 0xFF, bytes + 63);
    memset(space.data, ZONE_BYTE, 63);
    tt_kernel_args args = {.in = c->in,
                           .out = c->out,
                           .n_in = c->n_in,
                           .n_out = c->n_out,
                           .attr = &c->attr,
                           .accumulate = accumulate,
                           .workspace = bytes ? ws : NULL,
                           .workspace_bytes = bytes,
                           .pool = pool};
    tt_cpu_kernel(c->name)(&args);
    tt_pool_destroy(&pool);
    int whole = zones_whole(&space);
    for (int i = 0; i < 63; i++)
        whole &= ((unsigned char *)space.data)[i] == ZONE_BYTE;
    for (int i = 0; i < c->n_in; i++)
        whole &= zones_whole(&c->in[i]);
    for (int i = 0; i < c->n_out; i++)
        whole &= zones_whole(&c->out[i]);
    tensor_free(&space);
    return whole;
}

/* One output against its reference; `before` holds what accumulation started from. */
static int close_enough(const op_case *c, int o, const double *before, int accumulate, int threads)
{
    const tt_tensor *t = &c->out[o];
    double largest = c->floor;
    for (int64_t i = 0; i < numel(t); i++)
        if (isfinite(c->want[o][i]))
            largest = fmax(largest, fabs(c->want[o][i] + (accumulate ? before[i] : 0)));
    for (int64_t i = 0; i < numel(t); i++) {
        double want = c->want[o][i] + (accumulate ? before[i] : 0), got = get(t, i);
        double allowed = c->tol[o] * largest + (t->dtype == TT_BF16 ? fabs(want) / 256 : 0);
        if (!(fabs(got - want) <= allowed) && !(isinf(want) && got == want)) {
            diag("%s: out %d element %lld: got %.9g, want %.9g, allowed difference %.3g; %d "
                 "threads, accumulate %d",
                 c->name, o, (long long)i, got, want, allowed, threads, accumulate);
            return 0;
        }
    }
    return 1;
}

static void restore(op_case *c, void *const *saved, int accumulate)
{
    for (int o = 0; o < c->n_out; o++) {
        memcpy(c->out[o].data, saved[o], bytes_of(&c->out[o]));
        if (!accumulate && !is_input(c, &c->out[o]))
            memset(c->out[o].data, 0xFF, bytes_of(&c->out[o]));
    }
}

static int check_run(op_case *c, void *const *saved, int threads, int accumulate)
{
    void *first[MAX_OPERANDS];
    int good = 1;
    restore(c, saved, accumulate);
    if (!op_run(c, threads, accumulate)) {
        diag("%s: a red zone was written; %d threads, accumulate %d", c->name, threads, accumulate);
        good = 0;
    }
    for (int o = 0; o < c->n_out; o++) {
        tt_tensor before = c->out[o];
        before.data = saved[o];
        double *start = calloc((size_t)numel(&before) + 1, sizeof(double));
        for (int64_t i = 0; i < numel(&before); i++)
            start[i] = get(&before, i);
        good &= close_enough(c, o, start, accumulate, threads);
        free(start);
        first[o] = malloc(bytes_of(&c->out[o]) + 1);
        memcpy(first[o], c->out[o].data, bytes_of(&c->out[o]));
    }
    restore(c, saved, accumulate);
    op_run(c, threads, accumulate);
    for (int o = 0; o < c->n_out; o++) {
        if (memcmp(first[o], c->out[o].data, bytes_of(&c->out[o])) != 0) {
            diag("%s: out %d has other bits in a second run; %d threads, accumulate %d", c->name, o,
                 threads, accumulate);
            good = 0;
        }
        free(first[o]);
    }
    return good;
}

void check_op(op_case *c, const char *format, ...)
{
    char label[256];
    void *saved[MAX_OPERANDS];
    int good = 1;
    va_list ap;
    va_start(ap, format);
    vsnprintf(label, sizeof label, format, ap);
    va_end(ap);
    for (int o = 0; o < c->n_out; o++) {
        saved[o] = malloc(bytes_of(&c->out[o]) + 1);
        memcpy(saved[o], c->out[o].data, bytes_of(&c->out[o]));
    }
    for (int threads = 1; threads <= 3; threads++)
        for (int accumulate = 0; accumulate <= c->accumulates; accumulate++)
            good &= check_run(c, saved, threads, accumulate);
    for (int o = 0; o < c->n_out; o++)
        free(saved[o]);
    ok(good, "%s %s", c->name, label);
}
