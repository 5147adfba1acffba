/* A device: memory, queues, events, copies, and the kernels that run there. One small table per backend.
 *
 * Queues run beside each other, each in its own order; the host only enqueues. What a task does when its turn comes is
 * `run`; a task that needs several turns (communication) also has `poll`. Events order queues: record marks the tail of
 * a queue, wait holds another queue until that mark is reached; a slot recorded again means its newest mark from then on. */
#ifndef TT_DEVICE_DEVICE_H
#define TT_DEVICE_DEVICE_H

#include "base/error.h"
#include "kernels/kernels.h"
#include "passes/memory.h"

typedef struct tt_device tt_device;

typedef struct tt_task {
    tt_status (*run)(void *ctx, tt_error *err);
    int (*poll)(void *ctx, tt_error *err); /* NULL: done when run returns. 1 done, 0 not yet, < 0 a tt_status */
    void (*release)(void *ctx);            /* called once, after the task; may be NULL */
    void *ctx;
} tt_task;

typedef struct tt_device_table {
    const char *name;
    tt_status (*alloc)(tt_device *d, size_t bytes, void **memory, tt_error *err);
    void (*free)(tt_device *d, void *memory);
    tt_status (*enqueue)(tt_device *d, int queue, const tt_task *task, tt_error *err);
    /** Copy between host and device memory in queue order; the host side stays untouched until sync. */
    tt_status (*copy)(tt_device *d, int queue, void *to, const void *from, size_t bytes, tt_error *err);
    void (*record)(tt_device *d, int queue, int event);
    tt_status (*wait)(tt_device *d, int queue, int event, tt_error *err);
    /** Wait until every queue is empty. */
    tt_status (*sync)(tt_device *d, tt_error *err);
    void (*destroy)(tt_device *d);
} tt_device_table;

struct tt_device {
    const tt_device_table *table;
    tt_device_profile profile;
    tt_kernel_fn (*kernel)(const char *op); /* NULL for an op that is missing here */
    tt_pool *pool;                          /* CPU threads; NULL elsewhere */
    size_t allocated_bytes;
};

/** Number of event slots a device offers; slots are 0 .. TT_MAX_EVENTS-1. */
#define TT_MAX_EVENTS (1 << 20)

/** The CPU: tasks run when they are enqueued, communications move on while others wait. n_threads 0 = from affinity. */
tt_status tt_device_create_cpu(int n_threads, tt_device **device, tt_error *err);
/** What planning needs to know of the CPU device (no device needed). */
tt_device_profile tt_device_cpu_profile(int n_threads);
/** Instruction set of the kernels by name ("auto": the best there is), instead of the best. Before the first task; a device
 *  without CPU threads has no choice and accepts "auto" only.
 *  Errors: TT_ERR_CONFIG, when this CPU or this build does not have it. */
tt_status tt_device_use_isa(tt_device *device, const char *isa, tt_error *err);
/** What the bits of CPU kernels depend on besides threads, for logs and fingerprints: the instruction set of the kernels and
 *  what the BLAS chose for itself. Written to text, which is returned; "none" for a device without CPU threads. */
const char *tt_device_isa(const tt_device *device, char *text, size_t size);
void tt_device_destroy(tt_device **device); /* accepts NULL */

#endif
