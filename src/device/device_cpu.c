/* The CPU device. Kernels run as they are enqueued, on the calling thread and the pool; a queue holds at most one task
 * that is still being polled (a communication), which later tasks of that queue and waiters finish first. */
#include "device/device.h"

#include "kernels/cpu/gemm.h"
#include "kernels/cpu/pool.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

typedef struct queue {
    tt_task pending; /* poll == NULL: nothing is pending */
    int64_t issued;  /* tasks enqueued so far */
} queue;

typedef struct mark {
    int queue;
    int64_t issued;
} mark;

typedef struct device_cpu {
    tt_device base;
    queue queues[TT_N_QUEUES];
    mark *events;
    int n_events;
    struct mapping {
        void *memory;
        size_t bytes;
    } *mapped;
    int n_mapped;
} device_cpu;

static tt_status cpu_alloc(tt_device *d, size_t bytes, void **memory, tt_error *err)
{
    size_t size = bytes ? bytes : 1;
    void *m = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (m == MAP_FAILED)
        return tt_fail(err, TT_ERR_NOMEM, "the CPU device cannot reserve %zu MiB; use a smaller batch, a shorter "
                       "training.seq_len, activation_checkpoint.mode = \"full\", or more ranks", bytes >> 20);
    madvise(m, size, MADV_HUGEPAGE);
    device_cpu *c = (device_cpu *)d;
    c->mapped = realloc(c->mapped, sizeof *c->mapped * (size_t)(c->n_mapped + 1));
    TT_ASSERT(c->mapped);
    c->mapped[c->n_mapped++] = (struct mapping){m, size};
    d->allocated_bytes += bytes;
    *memory = m;
    return TT_OK;
}

static void cpu_free(tt_device *d, void *memory)
{
    device_cpu *c = (device_cpu *)d;
    for (int i = 0; i < c->n_mapped; i++)
        if (c->mapped[i].memory == memory) {
            munmap(memory, c->mapped[i].bytes);
            d->allocated_bytes -= c->mapped[i].bytes;
            c->mapped[i] = c->mapped[--c->n_mapped];
            return;
        }
    TT_ASSERT(!"memory that this device did not give");
}

static tt_status finish(tt_device *d, queue *q, tt_error *err)
{
    (void)d;
    while (q->pending.poll) {
        int done = q->pending.poll(q->pending.ctx, err);
        if (done < 0)
            return (tt_status)done;
        if (!done)
            sched_yield(); /* more ranks than cores must not burn each other's time */
        if (done) {
            tt_task t = q->pending;
            q->pending = (tt_task){0};
            if (t.release)
                t.release(t.ctx);
        }
    }
    return TT_OK;
}

static tt_status cpu_enqueue(tt_device *d, int queue_id, const tt_task *task, tt_error *err)
{
    queue *q = &((device_cpu *)d)->queues[queue_id];
    tt_status st = finish(d, q, err);
    if (st != TT_OK)
        return st;
    q->issued++;
    st = task->run(task->ctx, err);
    if (st == TT_OK && task->poll)
        q->pending = *task;
    else if (task->release)
        task->release(task->ctx);
    return st;
}

static tt_status cpu_copy(tt_device *d, int queue_id, void *to, const void *from, size_t bytes, tt_error *err)
{
    tt_status st = finish(d, &((device_cpu *)d)->queues[queue_id], err);
    if (st == TT_OK)
        memcpy(to, from, bytes);
    return st;
}

static void cpu_record(tt_device *d, int queue_id, int event)
{
    device_cpu *c = (device_cpu *)d;
    if (event >= c->n_events) {
        int n = 2 * (event + 512);
        c->events = realloc(c->events, sizeof *c->events * (size_t)n);
        TT_ASSERT(c->events);
        memset(c->events + c->n_events, 0, sizeof *c->events * (size_t)(n - c->n_events));
        c->n_events = n;
    }
    c->events[event] = (mark){queue_id, c->queues[queue_id].issued};
}

static tt_status cpu_wait(tt_device *d, int queue_id, int event, tt_error *err)
{
    device_cpu *c = (device_cpu *)d;
    (void)queue_id; /* the one thread is every queue: waiting means finishing now */
    if (event >= c->n_events)
        return TT_OK;
    queue *q = &c->queues[c->events[event].queue];
    /* only the newest task of a queue can be pending: older marks are reached */
    return c->events[event].issued == q->issued ? finish(d, q, err) : TT_OK;
}

static tt_status cpu_sync(tt_device *d, tt_error *err)
{
    device_cpu *c = (device_cpu *)d;
    tt_status st = TT_OK;
    for (int q = 0; q < TT_N_QUEUES && st == TT_OK; q++)
        st = finish(d, &c->queues[q], err);
    return st;
}

static void cpu_destroy(tt_device *d)
{
    device_cpu *c = (device_cpu *)d;
    tt_pool_destroy(&c->base.pool);
    free(c->events);
    free(c->mapped);
    free(c);
}

static const tt_device_table cpu_table = {"cpu",     cpu_alloc, cpu_free, cpu_enqueue, cpu_copy,
                                          cpu_record, cpu_wait, cpu_sync, cpu_destroy};

static int threads_from_affinity(void)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set))
        return 1;
    int n = CPU_COUNT(&set);
    return n > 0 ? n : 1;
}

tt_device_profile tt_device_cpu_profile(int n_threads)
{
    return (tt_device_profile){.name = "cpu",
                               .n_threads = n_threads > 0 ? n_threads : threads_from_affinity(),
                               .workspace = tt_cpu_workspace};
}

tt_status tt_device_create_cpu(int n_threads, tt_device **device, tt_error *err)
{
    device_cpu *c = calloc(1, sizeof *c);
    TT_ASSERT(c);
    c->base.table = &cpu_table;
    c->base.profile = tt_device_cpu_profile(n_threads);
    c->base.kernel = tt_cpu_kernel;
    tt_status st = tt_pool_create(c->base.profile.n_threads, &c->base.pool, err);
    if (st == TT_OK)
        *device = &c->base;
    else
        free(c);
    return st;
}

tt_status tt_device_use_isa(tt_device *device, const char *isa, tt_error *err)
{
    char have[128] = "";
    if (!strcmp(isa, "auto"))
        return TT_OK;
    for (int i = 0; device->pool && tt_simd_at(i); i++) {
        if (!strcmp(tt_simd_at(i)->name, isa)) {
            tt_pool_use(device->pool, tt_simd_at(i));
            return TT_OK;
        }
        size_t n = strlen(have);
        snprintf(have + n, sizeof have - n, "%s%s", n ? ", " : "", tt_simd_at(i)->name);
    }
    return tt_fail(err, TT_ERR_CONFIG,
                   "device.cpu_isa = \"%s\" is not what this CPU and this build have: %s; use one of these, or auto", isa,
                   device->pool ? have : "no choice on this device");
}

const char *tt_device_isa(const tt_device *device, char *text, size_t size)
{
    if (device->pool)
        snprintf(text, size, "%s, BLAS %s", tt_pool_simd(device->pool)->name, tt_gemm_blas_core());
    else
        snprintf(text, size, "none");
    return text;
}

void tt_device_destroy(tt_device **device)
{
    if (*device)
        (*device)->table->destroy(*device);
    *device = NULL;
}
