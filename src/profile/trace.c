/* See trace.h. */
#include "profile/trace.h"

#include "base/fs.h"
#include "base/json.h"
#include "graph/ops.h"
#include "graph/print.h"

#include <stdlib.h>

/* Tracks: the queues come after these. */
enum { TRACK_STEPS = 1, TRACK_CALLS, TRACK_QUEUES };

typedef struct writer {
    const tt_trace *t;
    FILE *out;
    int rank;
    int begun; /* an event is there, the next one needs a comma */
} writer;

const char *tt_trace_layer(const tt_program *p, int block, char *text, size_t size)
{
    if (block == 0)
        snprintf(text, size, "embedding");
    else if (block < p->n_blocks - 1)
        snprintf(text, size, "layers.%d", block - 1);
    else
        snprintf(text, size, "head");
    return text;
}

static void next(writer *w)
{
    fputs(w->begun++ ? ",\n" : "\n", w->out);
}

static void put_name(writer *w, const char *kind, int track, const char *name)
{
    next(w);
    fprintf(w->out, "{\"ph\": \"M\", \"pid\": %d, \"tid\": %d, \"name\": \"%s\", \"args\": {\"name\": ", w->rank, track, kind);
    tt_json_string(w->out, name);
    fputs("}}", w->out);
}

static void put_names(writer *w)
{
    char text[64];
    snprintf(text, sizeof text, "rank %d (%s)", w->rank, w->t->device);
    put_name(w, "process_name", 0, text);
    put_name(w, "thread_name", TRACK_STEPS, "steps");
    put_name(w, "thread_name", TRACK_CALLS, "parts");
    for (int q = 0; q < TT_N_QUEUES; q++) {
        snprintf(text, sizeof text, "queue %s", tt_queue_name(q));
        put_name(w, "thread_name", TRACK_QUEUES + q, text);
    }
    for (int track = TRACK_STEPS; track < TRACK_QUEUES + TT_N_QUEUES; track++) {
        next(w);
        fprintf(w->out, "{\"ph\": \"M\", \"pid\": %d, \"tid\": %d, \"name\": \"thread_sort_index\", \"args\": {\"sort_index\": %d}}",
                w->rank, track, track);
    }
}

/* The head of a slice; its arguments and "}}" follow. */
static void begin_slice(writer *w, int track, const char *category, const char *name, double start, double end)
{
    next(w);
    fprintf(w->out, "{\"ph\": \"X\", \"pid\": %d, \"tid\": %d, \"cat\": \"%s\", \"ts\": %.3f, \"dur\": %.3f, \"name\": ", w->rank,
            track, category, 1e6 * start, 1e6 * (end > start ? end - start : 0));
    tt_json_string(w->out, name);
    fputs(", \"args\": {", w->out);
}

static void put_steps(writer *w)
{
    for (int s = 0; s < w->t->n_steps; s++) {
        const tt_trace_step *x = &w->t->step[s];
        char name[40];
        snprintf(name, sizeof name, "step %lld", (long long)x->step);
        begin_slice(w, TRACK_STEPS, "step", name, x->start, x->end);
        fprintf(w->out, "\"step\": %lld, \"data_us\": %.3f}}", (long long)x->step, 1e6 * (x->fed - x->start));
        begin_slice(w, TRACK_CALLS, "data", "data", x->start, x->fed);
        fputs("}}", w->out);
    }
}

/* A call is a run of kernels of one part and microbatch; communications may end in a later one and do not count. */
static void put_calls(writer *w)
{
    const tt_program *p = w->t->program;
    for (int first = 0, end; first < w->t->n_events; first = end) {
        const tt_run_event *a = NULL, *last = NULL; /* its kernels */
        for (end = first; end < w->t->n_events; end++) {
            const tt_run_event *e = &w->t->event[end];
            if (tt_op_is_comm(p->part[e->part].code.at[e->instr].op))
                continue;
            if (a && (e->part != a->part || e->microbatch != a->microbatch || e->instr <= last->instr))
                break;
            a = a ? a : e;
            last = e;
        }
        if (!a)
            break;
        begin_slice(w, TRACK_CALLS, "part", p->part[a->part].name, a->start, last->end);
        fprintf(w->out, "\"microbatch\": %d, \"instructions\": %d}}", a->microbatch, p->part[a->part].code.n);
    }
}

static void put_operands(writer *w, const char *key, const tt_vid *v, int n)
{
    char text[256];
    fprintf(w->out, ", \"%s\": [", key);
    for (int k = 0; k < n; k++) {
        const tt_value *x = &w->t->program->value[v[k]];
        char whole[400];
        snprintf(whole, sizeof whole, "%s%%%d %s", x->name ? x->name : "", v[k],
                 tt_value_type_text(w->t->program, v[k], text, sizeof text));
        fputs(k ? ", " : "", w->out);
        tt_json_string(w->out, whole);
    }
    fputc(']', w->out);
}

static void put_event(writer *w, const tt_run_event *e)
{
    const tt_program *p = w->t->program;
    const tt_instr *i = &p->part[e->part].code.at[e->instr];
    const double flops = tt_instr_flops(p, i);
    double bytes = 0;
    char layer[32];
    for (int k = 0; k < i->n_in + i->n_out; k++)
        bytes += (double)tt_value_local_bytes(&p->value[i->in[k]]);
    begin_slice(w, TRACK_QUEUES + (int)i->queue, tt_op_is_comm(i->op) ? "communication" : "op", tt_op_info(i->op)->name, e->start,
                e->end);
    fprintf(w->out, "\"layer\": \"%s\", \"role\": \"%c\", \"part\": \"%s\", \"instruction\": %d, \"microbatch\": %d",
            tt_trace_layer(p, i->block, layer, sizeof layer), tt_role_letter(i->role), p->part[e->part].name, e->instr,
            e->microbatch);
    put_operands(w, "in", i->in, i->n_in);
    put_operands(w, "out", i->out, i->n_out);
    fprintf(w->out, ", \"bytes\": %.0f", bytes);
    if (flops > 0)
        fprintf(w->out, ", \"flops\": %.0f", flops);
    if (tt_op_is_comm(i->op))
        fprintf(w->out, ", \"sent_bytes\": %lld, \"waited_us\": %.3f", (long long)tt_instr_payload_bytes(p, i), 1e6 * e->waited);
    fputs(", \"waits\": [", w->out);
    for (int k = 0; k < i->n_wait; k++)
        fprintf(w->out, "%s%d", k ? ", " : "", i->wait[k]);
    fputs("]}}", w->out);
}

tt_status tt_trace_write(const tt_trace *trace, const char *path, tt_error *err)
{
    char *text = NULL, mesh[128];
    size_t size = 0;
    writer w = {.t = trace, .rank = trace->program->mesh.rank};
    w.out = open_memstream(&text, &size);
    if (!w.out)
        return tt_fail(err, TT_ERR_NOMEM, "writing %s: out of memory", path);
    fprintf(w.out, "{\"displayTimeUnit\": \"ms\", \"otherData\": {\"rank\": %d, \"ranks\": %d, \"mesh\": ", w.rank,
            trace->program->mesh.size);
    tt_json_string(w.out, tt_mesh_describe(&trace->program->mesh, mesh, sizeof mesh));
    fprintf(w.out, ", \"program\": \"%016llx\"},\n\"traceEvents\": [", (unsigned long long)tt_program_hash(trace->program));
    put_names(&w);
    put_steps(&w);
    put_calls(&w);
    for (int k = 0; k < trace->n_events; k++)
        put_event(&w, &trace->event[k]);
    fputs("\n]}\n", w.out);
    tt_status st = fclose(w.out) ? tt_fail(err, TT_ERR_NOMEM, "writing %s: out of memory", path)
                                 : tt_fs_write(path, text, size, err);
    free(text);
    return st;
}
