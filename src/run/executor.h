/* Runs a program: binds every operand to base + offset once, then enqueues calls.
 *
 * The host side of feeds and fetches is a set of buffers by value: fill them before a run, read them after it. */
#ifndef TT_RUN_EXECUTOR_H
#define TT_RUN_EXECUTOR_H

#include "comm/comm.h"
#include "device/device.h"
#include "graph/program.h"

/* One part run for one microbatch. A step list is an array of these in issue order. */
typedef struct tt_call {
    tt_part_id part;
    int microbatch; /* whose inputs are fed */
    int frame;
    int first;      /* gradients and sums are written, not added */
} tt_call;

typedef struct tt_executor tt_executor;

/** Reserve memory on the device (all of it, now), open the communicators, upload constants. program, device and comm are
 *  borrowed. Collective over the mesh. Errors: TT_ERR_NOMEM, TT_ERR_DEVICE (an op missing on this device). */
tt_status tt_executor_create(tt_program *program, tt_device *device, tt_comm *comm, tt_executor **ex, tt_error *err);
void tt_executor_destroy(tt_executor **ex); /* accepts NULL */

/** Host buffer of a fed or fetched value (bytes of its local shape), for one microbatch; made at the first call. */
void *tt_executor_host(tt_executor *ex, tt_vid v, int microbatch);

/** Enqueue the calls in order and wait for all of it. Collective. */
tt_status tt_executor_run(tt_executor *ex, const tt_call *calls, int n, tt_error *err);

/** Bytes reserved on the device: equal to the plan's. */
size_t tt_executor_reserved_bytes(const tt_executor *ex);

/** Time spent per op while enabled, in seconds (CPU device: the task itself). Off at first. */
typedef struct tt_op_time {
    double seconds;
    int64_t calls;
    double flops, bytes; /* flops: of causal attention the half that is done; bytes: of operands, each once */
} tt_op_time;
void tt_executor_profile(tt_executor *ex, int enable);
const tt_op_time *tt_executor_op_times(const tt_executor *ex); /* TT_N_OPS entries */


/* Seconds since the executor was made, always measured: what the issuing thread did in each part besides communication, and
 * what it spent beginning communications and waiting for them (not what ran beside compute). */
typedef struct tt_run_times {
    double part[TT_N_PARTS];
    double comm;
} tt_run_times;
tt_run_times tt_executor_times(const tt_executor *ex); /* a copy */

/* One instruction as it ran. */
typedef struct tt_run_event {
    tt_part_id part;
    int instr, microbatch;
    double start, end; /* tt_clock_s; of a communication: from its start until it was seen to be done */
    double waited;     /* communication: of it, seconds in which the issuing thread waited */
} tt_run_event;

/** Keep (1) or no longer keep (0) an event per instruction; what was kept is forgotten. */
void tt_executor_record(tt_executor *ex, int enable);
/** The events kept so far, in the order of their ends; lent until the next run. */
const tt_run_event *tt_executor_events(const tt_executor *ex, int *n);

#endif
