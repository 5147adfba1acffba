/* See pool.h. A run is published by raising `generation`; a worker that sees a new one does its
 * range and lowers `pending`. Both sides spin first and sleep on a condition variable when the wait
 * gets long. */
#include "kernels/cpu/pool.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cpu/gemm.h"

#define SPINS 4000

typedef struct worker {
    tt_pool *pool; /* borrowed */
    pthread_t id;
    int thread;
} worker;

struct tt_pool {
    int n_threads;
    const tt_simd *simd;
    int n_started;   /* workers to join */
    worker *workers; /* owned; entry 0 is the caller's and unused */
    pthread_mutex_t lock;
    pthread_cond_t wake, done;
    atomic_uint generation;
    atomic_int pending; /* workers still busy with this generation */
    int quit;
    tt_pool_fn fn;
    void *ctx;
    int64_t n_tasks;
    int uneven;
    _Atomic int64_t next_task;
};

static inline void relax(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

static void work(tt_pool *p, int thread)
{
    if (p->uneven) {
        int64_t i;
        while ((i = atomic_fetch_add(&p->next_task, 1)) < p->n_tasks)
            p->fn(p->ctx, i, i + 1, thread);
        return;
    }
    int64_t each = p->n_tasks / p->n_threads, rest = p->n_tasks % p->n_threads;
    int64_t begin = each * thread + (thread < rest ? thread : rest);
    p->fn(p->ctx, begin, begin + each + (thread < rest), thread);
}

static unsigned wait_for_work(tt_pool *p, unsigned seen)
{
    for (int i = 0; i < SPINS; i++) {
        unsigned now = atomic_load_explicit(&p->generation, memory_order_acquire);
        if (now != seen)
            return now;
        relax();
    }
    pthread_mutex_lock(&p->lock);
    unsigned now;
    while ((now = atomic_load(&p->generation)) == seen)
        pthread_cond_wait(&p->wake, &p->lock);
    pthread_mutex_unlock(&p->lock);
    return now;
}

static void *worker_main(void *arg)
{
    worker *w = arg;
    tt_pool *p = w->pool;
    unsigned seen = 0;
    for (;;) {
        seen = wait_for_work(p, seen);
        if (p->quit)
            return NULL;
        work(p, w->thread);
        if (atomic_fetch_sub(&p->pending, 1) == 1) {
            pthread_mutex_lock(&p->lock);
            pthread_cond_signal(&p->done);
            pthread_mutex_unlock(&p->lock);
        }
    }
}

static void publish(tt_pool *p)
{
    pthread_mutex_lock(&p->lock);
    atomic_fetch_add(&p->generation, 1);
    pthread_cond_broadcast(&p->wake);
    pthread_mutex_unlock(&p->lock);
}

static void wait_for_workers(tt_pool *p)
{
    for (int i = 0; i < SPINS; i++) {
        if (atomic_load(&p->pending) == 0)
            return;
        relax();
    }
    pthread_mutex_lock(&p->lock);
    while (atomic_load(&p->pending) != 0)
        pthread_cond_wait(&p->done, &p->lock);
    pthread_mutex_unlock(&p->lock);
}

tt_status tt_pool_create(int n_threads, tt_pool **out, tt_error *err)
{
    *out = NULL;
    if (n_threads < 1 || n_threads > TT_POOL_THREADS_MAX)
        return tt_fail(
            err, TT_ERR_CONFIG,
            "starting CPU threads: asked for %d; use 1 to %d, at most the cores of this node",
            n_threads, TT_POOL_THREADS_MAX);
    tt_pool *p = calloc(1, sizeof *p);
    worker *workers = calloc((size_t)n_threads, sizeof *workers);
    if (!p || !workers) {
        free(p);
        free(workers);
        return tt_fail(
            err, TT_ERR_NOMEM,
            "starting %d CPU threads: no memory for their table; free memory on this node",
            n_threads);
    }
    p->workers = workers;
    p->n_threads = n_threads;
    p->simd = tt_simd_pick();
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->wake, NULL);
    pthread_cond_init(&p->done, NULL);
    for (int i = 1; i < n_threads; i++) {
        workers[i] = (worker){.pool = p, .thread = i};
        int rc = pthread_create(&workers[i].id, NULL, worker_main, &workers[i]);
        if (rc != 0) {
            tt_pool_destroy(&p);
            return tt_fail(err, TT_ERR_NOMEM,
                           "starting CPU thread %d of %d: %s; use fewer threads or raise the limit "
                           "(ulimit -u)",
                           i, n_threads, strerror(rc));
        }
        p->n_started = i;
    }
    tt_gemm_one_thread_per_call();
    *out = p;
    return TT_OK;
}

void tt_pool_destroy(tt_pool **pool)
{
    tt_pool *p = *pool;
    if (!p)
        return;
    p->quit = 1;
    publish(p);
    for (int i = 1; i <= p->n_started; i++)
        pthread_join(p->workers[i].id, NULL);
    pthread_cond_destroy(&p->done);
    pthread_cond_destroy(&p->wake);
    pthread_mutex_destroy(&p->lock);
    free(p->workers);
    free(p);
    *pool = NULL;
}

int tt_pool_threads(const tt_pool *pool)
{
    return pool ? pool->n_threads : 1;
}

const tt_simd *tt_pool_simd(const tt_pool *pool)
{
    return pool ? pool->simd : tt_simd_pick();
}

void tt_pool_use(tt_pool *pool, const tt_simd *simd)
{
    pool->simd = simd;
}

static void run(tt_pool *p, tt_pool_fn fn, void *ctx, int64_t n_tasks, int uneven)
{
    if (!p || p->n_threads == 1 || n_tasks <= 1) {
        if (n_tasks > 0)
            fn(ctx, 0, n_tasks, 0);
        return;
    }
    p->fn = fn;
    p->ctx = ctx;
    p->n_tasks = n_tasks;
    p->uneven = uneven;
    atomic_store(&p->next_task, 0);
    atomic_store(&p->pending, p->n_threads - 1);
    publish(p);
    work(p, 0);
    wait_for_workers(p);
}

void tt_pool_run(tt_pool *pool, tt_pool_fn fn, void *ctx, int64_t n_tasks)
{
    run(pool, fn, ctx, n_tasks, 0);
}

void tt_pool_run_uneven(tt_pool *pool, tt_pool_fn fn, void *ctx, int64_t n_tasks)
{
    run(pool, fn, ctx, n_tasks, 1);
}
