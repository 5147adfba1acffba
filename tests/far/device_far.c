/* See device_far.h. */
#include "device_far.h"

#include "kernels/cpu/pool.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

typedef enum kind { TASK, COPY, RECORD, WAIT } kind;

typedef struct entry {
    kind kind;
    tt_task task;
    int started;
    void *to;
    const void *from;
    size_t bytes;
    int64_t mark; /* RECORD, WAIT */
    struct entry *next;
} entry;

typedef struct far_queue {
    entry *head, *tail;
} far_queue;

typedef struct device_far {
    tt_device base;
    far_queue queues[TT_N_QUEUES];
    int64_t *event; /* newest mark of each slot, 0 = never recorded */
    int n_events;
    char *reached;  /* by mark */
    int64_t n_marks, cap_marks;
    void *memory;
    size_t bytes;
    uint32_t seed;
} device_far;

static void shut(device_far *f)
{
    if (f->memory)
        TT_ASSERT(mprotect(f->memory, f->bytes, PROT_NONE) == 0);
}

static void unlock(device_far *f)
{
    if (f->memory)
        TT_ASSERT(mprotect(f->memory, f->bytes, PROT_READ | PROT_WRITE) == 0);
}

static tt_status far_alloc(tt_device *d, size_t bytes, void **memory, tt_error *err)
{
    device_far *f = (device_far *)d;
    TT_ASSERT(!f->memory); /* one arena, reserved once */
    f->bytes = (bytes + 4095) & ~(size_t)4095;
    void *m = mmap(NULL, f->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (m == MAP_FAILED)
        return tt_fail(err, TT_ERR_NOMEM, "no memory for the test device");
    memset(m, 0xff, f->bytes);
    f->memory = *memory = m;
    d->allocated_bytes += bytes;
    shut(f);
    return TT_OK;
}

static void far_free(tt_device *d, void *memory)
{
    device_far *f = (device_far *)d;
    munmap(memory, f->bytes);
    f->memory = NULL;
}

static entry *append(device_far *f, int queue, kind k)
{
    entry *e = calloc(1, sizeof *e);
    TT_ASSERT(e);
    e->kind = k;
    far_queue *q = &f->queues[queue];
    if (q->tail)
        q->tail->next = e;
    else
        q->head = e;
    q->tail = e;
    return e;
}

static tt_status far_enqueue(tt_device *d, int queue, const tt_task *task, tt_error *err)
{
    (void)err;
    append((device_far *)d, queue, TASK)->task = *task;
    return TT_OK;
}

static tt_status far_copy(tt_device *d, int queue, void *to, const void *from, size_t bytes, tt_error *err)
{
    (void)err;
    entry *e = append((device_far *)d, queue, COPY);
    e->to = to;
    e->from = from;
    e->bytes = bytes;
    return TT_OK;
}

static int64_t *slot(device_far *f, int event)
{
    if (event >= f->n_events) {
        int n = 2 * (event + 64);
        f->event = realloc(f->event, sizeof *f->event * (size_t)n);
        TT_ASSERT(f->event);
        memset(f->event + f->n_events, 0, sizeof *f->event * (size_t)(n - f->n_events));
        f->n_events = n;
    }
    return &f->event[event];
}

static void far_record(tt_device *d, int queue, int event)
{
    device_far *f = (device_far *)d;
    if (f->n_marks + 2 >= f->cap_marks) {
        f->cap_marks = f->cap_marks ? 2 * f->cap_marks : 4096;
        f->reached = realloc(f->reached, (size_t)f->cap_marks);
        TT_ASSERT(f->reached);
    }
    int64_t mark = ++f->n_marks;
    f->reached[mark] = 0;
    *slot(f, event) = mark;
    append(f, queue, RECORD)->mark = mark;
}

static tt_status far_wait(tt_device *d, int queue, int event, tt_error *err)
{
    (void)err;
    device_far *f = (device_far *)d;
    int64_t mark = *slot(f, event);
    if (mark)
        append(f, queue, WAIT)->mark = mark;
    return TT_OK;
}

/* Try the head of a queue: 1 it is done, 0 it cannot yet, < 0 a status. */
static int step(device_far *f, entry *e, tt_error *err)
{
    int done = 1;
    switch (e->kind) {
    case WAIT:
        return f->reached[e->mark];
    case RECORD:
        f->reached[e->mark] = 1;
        return 1;
    case COPY:
        unlock(f);
        memcpy(e->to, e->from, e->bytes);
        shut(f);
        return 1;
    case TASK:
        unlock(f);
        if (!e->started) {
            e->started = 1;
            tt_status st = e->task.run(e->task.ctx, err);
            done = st != TT_OK ? (int)st : e->task.poll ? 0 : 1;
        } else {
            done = e->task.poll(e->task.ctx, err);
        }
        shut(f);
        if (done == 1 && e->task.release)
            e->task.release(e->task.ctx);
        return done;
    }
    return 1;
}

static uint32_t next(uint32_t *x)
{
    *x ^= *x << 13;
    *x ^= *x >> 17;
    *x ^= *x << 5;
    return *x;
}

/* One queue is favoured for a while, another starved, then the roles change: long leads in every direction. */
static tt_status far_sync(tt_device *d, tt_error *err)
{
    device_far *f = (device_far *)d;
    int idle = 0;
    for (;;) {
        int left = 0, favoured = (int)(next(&f->seed) % TT_N_QUEUES), turns = (int)(next(&f->seed) % 40) + 1;
        for (int k = 0; k < TT_N_QUEUES && turns > 0; k++) {
            far_queue *q = &f->queues[(favoured + k) % TT_N_QUEUES];
            while (q->head && turns > 0) {
                int done = step(f, q->head, err);
                if (done < 0)
                    return (tt_status)done;
                if (!done)
                    break;
                entry *e = q->head;
                q->head = e->next;
                if (!q->head)
                    q->tail = NULL;
                free(e);
                turns--;
                idle = 0;
            }
        }
        for (int k = 0; k < TT_N_QUEUES; k++)
            left += f->queues[k].head != NULL;
        if (!left)
            return TT_OK;
        if (++idle > 20000000)
            return tt_fail(err, TT_ERR_INTERNAL, "the test device's queues wait for each other");
        if (idle % 64 == 0)
            sched_yield();
    }
}

static void far_destroy(tt_device *d)
{
    device_far *f = (device_far *)d;
    tt_pool_destroy(&f->base.pool);
    free(f->event);
    free(f->reached);
    free(f);
}

static const tt_device_table far_table = {"far",      far_alloc, far_free, far_enqueue, far_copy,
                                          far_record, far_wait,  far_sync, far_destroy};

tt_status tt_device_create_far(int n_threads, uint32_t seed, tt_device **device, tt_error *err)
{
    device_far *f = calloc(1, sizeof *f);
    TT_ASSERT(f);
    f->base.table = &far_table;
    f->base.profile = tt_device_cpu_profile(n_threads);
    f->base.kernel = tt_cpu_kernel;
    f->seed = seed * 2654435761u + 1;
    tt_status st = tt_pool_create(n_threads, &f->base.pool, err);
    if (st == TT_OK)
        *device = &f->base;
    else
        free(f);
    return st;
}
