/* See executor.h. */
#include "run/executor.h"

#include "base/clock.h"
#include "graph/ops.h"

#include <stdlib.h>
#include <string.h>

typedef struct bound {
    tt_kernel_fn fn; /* kernels */
    tt_tensor *operand; /* ins then outs */
    void *workspace;
    size_t workspace_bytes;
} bound;

struct tt_executor {
    tt_program *p;
    tt_device *device;
    tt_comm *comm;
    char *base[TT_N_SCOPES];
    void *arena;
    size_t reserved;
    bound *bound[TT_N_PARTS];
    void **host;        /* by value: microbatches one after another */
    int n_values;
    int event_base[TT_N_PARTS], end_event; /* event slots */
    int n_run;          /* calls run so far: the first one waits for nothing */
    int profile, record;
    tt_op_time times[TT_N_OPS];
    tt_run_times spent;
    tt_run_event *event; /* while record */
    int n_event, cap_event;
};

/* What a task carries until it is done. */
typedef struct work {
    tt_executor *ex;
    const tt_instr *instr;
    const bound *b;
    int accumulate;
    tt_part_id part;
    int microbatch;
    tt_comm_request *request;
    double start, waiting; /* communication: when it began, and when the wait for it did */
} work;

size_t tt_executor_reserved_bytes(const tt_executor *ex)
{
    return ex->reserved;
}

static void *address(const tt_executor *ex, tt_vid v)
{
    const tt_value *x = &ex->p->value[v], *root = &ex->p->value[tt_value_root(ex->p, v)];
    return ex->base[root->scope] + root->offset + x->byte_offset;
}

/* --- binding ------------------------------------------------------------------------------------------------------- */

static void bind_operand(const tt_executor *ex, tt_vid v, tt_tensor *t)
{
    const tt_value *x = &ex->p->value[v];
    *t = (tt_tensor){.data = address(ex, v), .dtype = x->dtype, .ndim = x->ndim};
    memcpy(t->dim, x->local, sizeof t->dim);
}

static tt_status bind_instr(tt_executor *ex, const tt_instr *i, bound *b, tt_error *err)
{
    b->operand = tt_arena_alloc(ex->p->arena, sizeof(tt_tensor) * (size_t)(i->n_in + i->n_out + 1));
    for (int k = 0; k < i->n_in + i->n_out; k++)
        bind_operand(ex, i->in[k], &b->operand[k]);
    if (i->workspace >= 0) {
        b->workspace = address(ex, i->workspace);
        b->workspace_bytes = ex->p->value[i->workspace].bytes;
    }
    if (tt_op_is_comm(i->op))
        return ex->comm->table->open_group(ex->comm, i->attr.axes, (int)i->queue, err);
    if (i->op == TT_OP_feed || i->op == TT_OP_fetch)
        return TT_OK;
    b->fn = ex->device->kernel(tt_op_info(i->op)->name);
    if (!b->fn)
        return tt_fail(err, TT_ERR_DEVICE,
                       "op %s has no kernel on device %s; choose another device.name",
                       tt_op_info(i->op)->name, ex->device->table->name);
    return TT_OK;
}

static tt_status bind_all(tt_executor *ex, tt_error *err)
{
    int event = TT_N_QUEUES;
    for (int part = 0; part < TT_N_PARTS; part++) {
        const tt_instr_list *code = &ex->p->part[part].code;
        ex->bound[part] = tt_arena_alloc(ex->p->arena, sizeof(bound) * (size_t)(code->n + 1));
        ex->event_base[part] = event;
        event += code->n;
        for (int k = 0; k < code->n; k++) {
            tt_status st = bind_instr(ex, &code->at[k], &ex->bound[part][k], err);
            if (st != TT_OK)
                return st;
        }
    }
    TT_ASSERT(event < TT_MAX_EVENTS);
    return TT_OK;
}

static tt_status upload_constants(tt_executor *ex, tt_error *err)
{
    for (int v = 0; v < ex->p->n_values; v++) {
        const tt_value *x = &ex->p->value[v];
        if (!x->constant || x->scope != TT_SCOPE_STATE)
            continue;
        tt_status st = ex->device->table->copy(ex->device, TT_Q_COPY, address(ex, v), x->constant, x->bytes, err);
        if (st != TT_OK)
            return st;
    }
    return ex->device->table->sync(ex->device, err);
}

tt_status tt_executor_create(tt_program *p, tt_device *device, tt_comm *comm, tt_executor **out, tt_error *err)
{
    tt_status st;
    tt_executor *ex = calloc(1, sizeof *ex);
    TT_ASSERT(ex);
    ex->p = p;
    ex->device = device;
    ex->comm = comm;
    ex->n_values = p->n_values;
    ex->host = calloc((size_t)p->n_values, sizeof *ex->host);
    TT_ASSERT(ex->host);
    size_t before = device->allocated_bytes;
    TT_TRY(device->table->alloc(device, tt_program_arena_bytes(p), &ex->arena, err));
    ex->reserved = device->allocated_bytes - before;
    char *at = ex->arena;
    const tt_scope order[] = {TT_SCOPE_STATE, TT_SCOPE_STEP, TT_SCOPE_FRAME, TT_SCOPE_SCRATCH};
    for (int k = 0; k < 4; k++) {
        ex->base[order[k]] = at;
        at += p->scope_bytes[order[k]] * (size_t)(order[k] == TT_SCOPE_FRAME ? p->n_frames : 1);
    }
    TT_TRY(bind_all(ex, err));
    TT_TRY(upload_constants(ex, err));
    *out = ex;
    ex = NULL;
out:
    tt_executor_destroy(&ex);
    return st;
}

void tt_executor_destroy(tt_executor **executor)
{
    tt_executor *ex = *executor;
    if (!ex)
        return;
    if (ex->arena)
        ex->device->table->free(ex->device, ex->arena);
    for (int v = 0; v < ex->n_values; v++)
        free(ex->host[v]);
    free(ex->host);
    free(ex->event);
    free(ex);
    *executor = NULL;
}

void *tt_executor_host(tt_executor *ex, tt_vid v, int microbatch)
{
    const tt_value *x = &ex->p->value[v];
    size_t bytes = tt_value_local_bytes(x);
    int copies = x->scope == TT_SCOPE_FRAME ? ex->p->n_microbatches : 1;
    TT_ASSERT(microbatch < copies);
    if (!ex->host[v]) {
        ex->host[v] = calloc((size_t)copies, bytes);
        TT_ASSERT(ex->host[v]);
    }
    return (char *)ex->host[v] + bytes * (size_t)microbatch;
}

/* --- running ------------------------------------------------------------------------------------------------------- */

static void count(tt_executor *ex, const tt_instr *i, double seconds, int calls)
{
    tt_op_time *t = &ex->times[i->op];
    t->seconds += seconds;
    t->calls += calls;
    if (!calls)
        return;
    t->flops += tt_instr_flops(ex->p, i) * (i->attr.causal ? 0.5 : 1.0);
    for (int k = 0; k < i->n_in; k++)
        t->bytes += (double)tt_value_local_bytes(&ex->p->value[i->in[k]]);
    for (int k = 0; k < i->n_out; k++)
        t->bytes += (double)tt_value_local_bytes(&ex->p->value[i->out[k]]);
}

static void keep_event(tt_executor *ex, const tt_run_event *event)
{
    if (ex->n_event == ex->cap_event) {
        ex->cap_event = 2 * ex->cap_event + 1024;
        ex->event = realloc(ex->event, sizeof *ex->event * (size_t)ex->cap_event);
        TT_ASSERT(ex->event);
    }
    ex->event[ex->n_event++] = *event;
}

/* An instruction is done that began at `start` and was waited for from `waiting` on (communication only). */
static void measured(const work *w, double start, double waiting, double end)
{
    tt_executor *ex = w->ex;
    if (ex->record)
        keep_event(ex, &(tt_run_event){.part = w->part,
                                       .instr = (int)(w->instr - ex->p->part[w->part].code.at),
                                       .microbatch = w->microbatch,
                                       .start = start,
                                       .end = end,
                                       .waited = end - waiting});
}

static tt_status run_kernel(void *ctx, tt_error *err)
{
    (void)err;
    const work *w = ctx;
    const tt_instr *i = w->instr;
    const tt_kernel_args args = {.in = w->b->operand,
                                 .out = w->b->operand + i->n_in,
                                 .n_in = i->n_in,
                                 .n_out = i->n_out,
                                 .attr = &i->attr,
                                 .accumulate = w->accumulate,
                                 .workspace = w->b->workspace,
                                 .workspace_bytes = w->b->workspace_bytes,
                                 .pool = w->ex->device->pool};
    const int timed = w->ex->profile || w->ex->record;
    const double start = timed ? tt_clock_s() : 0;
    w->b->fn(&args);
    const double end = timed ? tt_clock_s() : 0;
    if (w->ex->profile)
        count(w->ex, i, end - start, 1);
    measured(w, start, end, end);
    return TT_OK;
}

static tt_status start_comm(void *ctx, tt_error *err)
{
    work *w = ctx;
    const tt_instr *i = w->instr;
    const tt_comm_call call = {.kind = i->op == TT_OP_all_gather       ? TT_COMM_ALL_GATHER
                                       : i->op == TT_OP_reduce_scatter ? TT_COMM_REDUCE_SCATTER
                                                                       : TT_COMM_ALL_REDUCE,
                               .axes = i->attr.axes,
                               .queue = (int)i->queue,
                               .n = i->n_in,
                               .in = w->b->operand,
                               .out = w->b->operand + i->n_in,
                               .accumulate = w->accumulate,
                               .workspace = w->b->workspace};
    w->start = tt_clock_s();
    tt_status st = w->ex->comm->table->start(w->ex->comm, &call, &w->request, err);
    const double end = tt_clock_s();
    w->ex->spent.comm += end - w->start;
    if (w->ex->profile)
        count(w->ex, i, end - w->start, 1);
    return st;
}

static int poll_comm(void *ctx, tt_error *err)
{
    work *w = ctx;
    if (w->waiting == 0)
        w->waiting = tt_clock_s();
    int done = w->request ? w->ex->comm->table->poll(w->ex->comm, w->request) : 1;
    if (done < 0)
        tt_fail(err, (tt_status)done,
                "a communication of part of the step failed (op %s); check the other ranks and the "
                "network",
                tt_op_info(w->instr->op)->name);
    if (done <= 0)
        return done;
    const double end = tt_clock_s();
    w->ex->spent.comm += end - w->waiting;
    if (w->ex->profile)
        count(w->ex, w->instr, end - w->waiting, 0);
    measured(w, w->start, w->waiting, end);
    return done;
}

static tt_status run_copies(tt_executor *ex, const tt_instr *i, const bound *b, const tt_call *call, tt_error *err)
{
    const work w = {.ex = ex, .instr = i, .part = call->part, .microbatch = call->microbatch};
    const double start = ex->record ? tt_clock_s() : 0;
    const tt_device_table *dev = ex->device->table;
    tt_status st = TT_OK;
    for (int k = 0; k < i->n_in + i->n_out && st == TT_OK; k++) {
        tt_vid v = i->in[k];
        int copy = ex->p->value[v].scope == TT_SCOPE_FRAME ? call->microbatch : 0;
        void *host = tt_executor_host(ex, v, copy);
        size_t bytes = tt_value_local_bytes(&ex->p->value[v]);
        if (i->op == TT_OP_feed)
            st = dev->copy(ex->device, (int)i->queue, b->operand[k].data, host, bytes, err);
        else
            st = dev->copy(ex->device, (int)i->queue, host, b->operand[k].data, bytes, err);
    }
    const double end = ex->record ? tt_clock_s() : 0;
    measured(&w, start, end, end);
    return st;
}

static tt_status enqueue(tt_executor *ex, const tt_instr *i, const bound *b, const tt_call *call, tt_error *err)
{
    if (i->op == TT_OP_feed || i->op == TT_OP_fetch)
        return run_copies(ex, i, b, call, err);
    work *w = malloc(sizeof *w);
    TT_ASSERT(w);
    *w = (work){.ex = ex, .instr = i, .b = b, .part = call->part, .microbatch = call->microbatch};
    w->accumulate = i->acc == TT_ACC_ADD || (i->acc == TT_ACC_CALL && !call->first);
    tt_task task = {.run = run_kernel, .release = free, .ctx = w};
    if (tt_op_is_comm(i->op)) {
        task.run = start_comm;
        task.poll = poll_comm;
    }
    return ex->device->table->enqueue(ex->device, (int)i->queue, &task, err);
}

/* Every queue of a call starts after all queues of the call before it. */
static tt_status join_queues(tt_executor *ex, tt_error *err)
{
    tt_status st = TT_OK;
    for (int q = 0; q < TT_N_QUEUES && st == TT_OK; q++)
        for (int other = 0; other < TT_N_QUEUES && st == TT_OK; other++)
            if (other != q)
                st = ex->device->table->wait(ex->device, q, other, err);
    return st;
}

static tt_status run_call(tt_executor *ex, const tt_call *call, tt_error *err)
{
    const tt_device_table *dev = ex->device->table;
    const tt_instr_list *code = &ex->p->part[call->part].code;
    const int base = ex->event_base[call->part];
    tt_status st = ex->n_run++ ? join_queues(ex, err) : TT_OK;
    for (int k = 0; k < code->n && st == TT_OK; k++) {
        const tt_instr *i = &code->at[k];
        for (int w = 0; w < i->n_wait && st == TT_OK; w++)
            st = dev->wait(ex->device, (int)i->queue, base + i->wait[w], err);
        if (st == TT_OK)
            st = enqueue(ex, i, &ex->bound[call->part][k], call, err);
        if (i->signals)
            dev->record(ex->device, (int)i->queue, base + k);
    }
    for (int q = 0; q < TT_N_QUEUES; q++)
        dev->record(ex->device, q, q);
    return st;
}

tt_status tt_executor_run(tt_executor *ex, const tt_call *calls, int n, tt_error *err)
{
    tt_status st = TT_OK;
    double start = tt_clock_s();
    for (int k = 0; k < n && st == TT_OK; k++) {
        const double comm = ex->spent.comm;
        st = run_call(ex, &calls[k], err);
        if (k == n - 1 && st == TT_OK)
            st = ex->device->table->sync(ex->device, err);
        const double end = tt_clock_s();
        ex->spent.part[calls[k].part] += end - start - (ex->spent.comm - comm);
        start = end;
    }
    return st;
}

void tt_executor_profile(tt_executor *ex, int enable)
{
    ex->profile = enable;
}

const tt_op_time *tt_executor_op_times(const tt_executor *ex)
{
    return ex->times;
}

tt_run_times tt_executor_times(const tt_executor *ex)
{
    return ex->spent;
}

void tt_executor_record(tt_executor *ex, int enable)
{
    ex->record = enable;
    ex->n_event = 0;
}

const tt_run_event *tt_executor_events(const tt_executor *ex, int *n)
{
    *n = ex->n_event;
    return ex->event;
}
