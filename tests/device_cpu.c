/* The CPU device: the choice of an instruction set, threads that stay on the process's cores, one
 * thread in a BLAS call. */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "device/device.h"
#include "kernels/cpu/gemm.h"
#include "kernels/cpu/pool.h"
#include "tap.h"

static void test_isa(void)
{
    tt_device *d = NULL;
    tt_error err = {0};
    char text[128], want[256], names[128] = "";
    is_int(tt_device_create_cpu(2, &d, &err), TT_OK, "a device of two threads");
    is_int(tt_device_use_isa(d, "auto", &err), TT_OK, "auto is accepted");
    snprintf(want, sizeof want, "%s, BLAS %s", tt_simd_pick()->name, tt_gemm_blas_core());
    is_str(tt_device_isa(d, text, sizeof text), want, "and is the best there is");
    for (int i = 0; tt_simd_at(i); i++) {
        is_int(tt_device_use_isa(d, tt_simd_at(i)->name, &err), TT_OK, "%s is accepted",
               tt_simd_at(i)->name);
        ok(tt_pool_simd(d->pool) == tt_simd_at(i), "and used by the kernels");
        strcat(strcat(names, i ? ", " : ""), tt_simd_at(i)->name);
    }
    is_int(tt_device_use_isa(d, "avx9", &err), TT_ERR_CONFIG, "what there is not is refused");
    snprintf(want, sizeof want,
             "device.cpu_isa = \"avx9\" is not what this CPU and this build have: %s; use one of "
             "these, or auto",
             names);
    is_str(err.text, want, "with what there is");
    tt_device_destroy(&d);
}

typedef struct seen {
    cpu_set_t allowed[8];
    int on[8];
} seen;

static void look(void *ctx, int64_t begin, int64_t end, int thread)
{
    seen *s = ctx;
    for (int64_t i = begin; i < end; i++) {
        sched_getaffinity(0, sizeof s->allowed[0], &s->allowed[thread]);
        for (volatile int k = 0; k < 100000; k++)
            ;
        s->on[thread] = sched_getcpu();
    }
}

/* A launcher binds a rank by its affinity: the device takes as many threads as that has cores, and
 * none runs elsewhere. */
static void test_affinity(void)
{
    cpu_set_t all, one;
    seen s = {0};
    tt_pool *pool = NULL;
    sched_getaffinity(0, sizeof all, &all);
    is_int(tt_device_cpu_profile(0).n_threads, CPU_COUNT(&all), "a thread per core of the process");
    int last = CPU_SETSIZE - 1;
    while (!CPU_ISSET(last, &all))
        last--;
    CPU_ZERO(&one);
    CPU_SET(last, &one);
    sched_setaffinity(0, sizeof one, &one);
    is_int(tt_device_cpu_profile(0).n_threads, 1, "bound to one core: one thread");
    is_int(tt_pool_create(4, &pool, NULL), TT_OK, "a team of four, bound to core %d", last);
    tt_pool_run(pool, look, &s, 8);
    int inside = 0;
    for (int t = 0; t < 4; t++)
        inside += CPU_EQUAL(&s.allowed[t], &one) && s.on[t] == last;
    is_int(inside, 4, "all four may run there only, and did");
    tt_pool_destroy(&pool);
    sched_setaffinity(0, sizeof all, &all);
}

static double seconds(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* BLAS would use a thread per core by itself; a product without a pool must use the caller's alone.
 * On a machine of one core this cannot fail. */
static void test_one_thread_per_call(void)
{
    enum { n = 768 };
    float *a = calloc(n * n, sizeof *a), *c = calloc(n * n, sizeof *c);
    if (!a || !c)
        abort();
    tt_gemm g = {.m = n, .n = n, .k = n, .a = a, .b = a, .c = c};
    g.ab_dtype = g.c_dtype = TT_F32;
    usleep(100000); /* threads that BLAS started when it was loaded have gone to sleep */
    double process = seconds(CLOCK_PROCESS_CPUTIME_ID), own = seconds(CLOCK_THREAD_CPUTIME_ID);
    for (int i = 0; i < 4; i++)
        tt_gemm_run(&g, NULL, NULL);
    own = seconds(CLOCK_THREAD_CPUTIME_ID) - own;
    process = seconds(CLOCK_PROCESS_CPUTIME_ID) - process;
    ok(process < 1.1 * own + 0.001, "products of one thread take no other's time: %.1f of %.1f ms",
       own * 1e3, process * 1e3);
    free(a);
    free(c);
}

int main(void)
{
    test_one_thread_per_call(); /* first: nobody has told BLAS anything */
    test_isa();
    test_affinity();
    return done_testing();
}
