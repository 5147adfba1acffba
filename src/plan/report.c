/* See report.h. */
#include "plan/report.h"

#include "graph/print.h"

#include <stdlib.h>
#include <string.h>

static double mib(int64_t bytes)
{
    return (double)bytes / (1 << 20);
}

static void title(const tt_program *p, const char *what, FILE *out)
{
    char mesh[128];
    fprintf(out, "%s of rank %d of %d (%s)\n", what, p->mesh.rank, p->mesh.size,
            tt_mesh_describe(&p->mesh, mesh, sizeof mesh));
}

/* --- memory: the largest values -------------------------------------------------------------------------------------- */

/* Values that differ only in the numbers of their names. */
typedef struct group {
    tt_vid v; /* one of them */
    int64_t n;
} group;

/* 0 when two names are the same but for their digits. */
static int compare_names(const char *a, const char *b)
{
    for (;; a++, b++) {
        const size_t i = strspn(a, "0123456789"), j = strspn(b, "0123456789");
        if (i && j) {
            a += i;
            b += j;
        }
        if (*a != *b || !*a)
            return (unsigned char)*a - (unsigned char)*b;
    }
}

static int compare_values(const tt_program *p, tt_vid x, tt_vid y)
{
    const tt_value *a = &p->value[x], *b = &p->value[y];
    if (a->bytes != b->bytes)
        return a->bytes > b->bytes ? -1 : 1;
    if (a->scope != b->scope)
        return a->scope < b->scope ? -1 : 1;
    return compare_names(a->name, b->name);
}

typedef struct keyed {
    const tt_program *p;
    tt_vid v;
} keyed;

static int by_size(const void *a, const void *b)
{
    const keyed *x = a, *y = b;
    int c = compare_values(x->p, x->v, y->v);
    return c ? c : x->v - y->v;
}

static int largest_values(const tt_program *p, group *g, int most)
{
    keyed *all = malloc(sizeof *all * (size_t)(p->n_values + 1));
    TT_ASSERT(all);
    int n = 0, groups = 0;
    for (int v = 0; v < p->n_values; v++)
        if (p->value[v].root < 0 && p->value[v].scope != TT_SCOPE_NONE)
            all[n++] = (keyed){p, v};
    qsort(all, (size_t)n, sizeof *all, by_size);
    for (int i = 0; i < n; i++) {
        int same = groups && compare_values(p, g[groups - 1].v, all[i].v) == 0;
        if (!same && groups == most)
            break;
        if (!same)
            g[groups++] = (group){all[i].v, 0};
        g[groups - 1].n++;
    }
    free(all);
    return groups;
}

static void print_largest(const tt_program *p, FILE *out)
{
    static const char *const scope[TT_N_SCOPES] = {"-", "state", "step", "frame", "scratch"};
    group g[10];
    int n = largest_values(p, g, 10);
    fprintf(out, "largest values (scratch shares its space)\n");
    for (int i = 0; i < n; i++) {
        const tt_value *x = &p->value[g[i].v];
        char type[256];
        fprintf(out, "%12.1f MiB  x %-4lld %-8s %s %s\n", mib((int64_t)x->bytes), (long long)g[i].n, scope[x->scope],
                x->name, tt_value_type_text(p, g[i].v, type, sizeof type));
    }
}

/* --- memory: what to change ------------------------------------------------------------------------------------------ */

typedef struct advice {
    int64_t bytes;
    char text[400];
} advice;

static int larger_first(const void *a, const void *b)
{
    const advice *x = a, *y = b;
    return (x->bytes < y->bytes) - (x->bytes > y->bytes);
}

static void advise(const tt_program *p, const tt_memory_cost *c, FILE *out)
{
    const int64_t *b = c->bytes;
    const tt_part *largest = &p->part[c->largest];
    advice a[4];
    a[0].bytes = b[TT_USE_PARAMETERS] + b[TT_USE_MOMENTS] + b[TT_USE_GRADIENTS] + b[TT_USE_COPIES];
    snprintf(a[0].text, sizeof a[0].text,
             "parameters, moments, gradients and copies are cut by parallelism.data_parallel_shard_degree (now %d) and "
             "parallelism.tensor_parallel_degree (now %d): raise one of them",
             p->mesh.degree[TT_DP_SHARD], p->mesh.degree[TT_TP]);
    a[1].bytes = b[TT_USE_SAVED];
    snprintf(a[1].text, sizeof a[1].text,
             "saved activations: set activation_checkpoint.mode = \"full\" if it is not, lower training.local_batch_size (now %d; "
             "training.global_batch_size keeps the step's size) or training.seq_len (now %lld), or raise "
             "parallelism.tensor_parallel_degree (now %d)",
             p->train.batch, (long long)p->train.seq_len, p->mesh.degree[TT_TP]);
    a[2].bytes = b[TT_USE_KEPT];
    snprintf(a[2].text, sizeof a[2].text,
             "weights stay gathered over the step: set parallelism.fsdp_reshard_after_forward = \"default\"");
    a[3].bytes = b[TT_USE_SCRATCH];
    snprintf(a[3].text, sizeof a[3].text,
             "scratch of part %s: lower %s, or raise parallelism.tensor_parallel_degree (now %d), which also "
             "cuts the weights and gradients of one layer",
             largest->name,
             c->largest == TT_PART_EVAL ? "validation.local_batch_size or validation.seq_len"
                                        : "training.local_batch_size or training.seq_len",
             p->mesh.degree[TT_TP]);
    qsort(a, 4, sizeof a[0], larger_first);
    for (int i = 0; i < 4; i++)
        if (a[i].bytes)
            fprintf(out, "  %.1f MiB: %s\n", mib(a[i].bytes), a[i].text);
}

static int print_fit(const tt_program *p, const tt_memory_cost *c, int64_t limit, FILE *out)
{
    if (limit <= 0)
        return 1;
    if (c->total <= limit) {
        fprintf(out, "fits: %.1f of %.1f MiB, %.1f MiB left\n", mib(c->total), mib(limit), mib(limit - c->total));
        return 1;
    }
    fprintf(out, "does not fit: %.1f MiB are needed, %.1f MiB may be used, %.1f MiB too many. What to change:\n",
            mib(c->total), mib(limit), mib(c->total - limit));
    advise(p, c, out);
    return 0;
}

/* --- memory: the table ----------------------------------------------------------------------------------------------- */

static void row(FILE *out, const char *scope, tt_use use, const tt_memory_cost *c, const char *note)
{
    fprintf(out, "  %-8s %-26s %12.1f%s\n", scope, tt_use_name(use), mib(c->bytes[use]), note);
}

static void print_scratch(const tt_program *p, const tt_memory_cost *c, FILE *out)
{
    const tt_part *t = &p->part[c->largest];
    if (t->scratch_bytes == 0)
        return;
    const tt_instr *i = &t->code.at[c->fullest];
    int64_t used = 0;
    fprintf(out, "scratch at its fullest: part %s, instruction %d of %d (%s, block %d)\n", t->name, c->fullest, t->code.n,
            tt_op_info(i->op)->name, i->block);
    for (int u = TT_USE_GATHERED; u < TT_N_USES; u++) {
        if (c->bytes[u])
            row(out, "", u, c, "");
        used += c->bytes[u];
    }
    fprintf(out, "  %-8s %-26s %12.1f\n", "", "held for other queues", mib(c->bytes[TT_USE_SCRATCH] - used));
    fprintf(out, "  %-8s %-26s %12.3f (scratch / what the events hold at once, %.1f MiB)\n", "", "packing", c->packing,
            mib((int64_t)t->scratch_floor));
}

int tt_program_print_memory(const tt_program *p, FILE *out, int64_t limit)
{
    static const char *const scope[] = {"state", "",     "",      "step", "", "",
                                        "",      "frame", "",     "",     "scratch"};
    const tt_memory_cost c = tt_cost_memory(p);
    char frames[64];
    snprintf(frames, sizeof frames, "  (%d microbatch%s in flight)", p->n_frames, p->n_frames > 1 ? "es" : "");
    title(p, "memory", out);
    fprintf(out, "  %-8s %-26s %12s\n", "scope", "purpose", "MiB");
    for (int u = 0; u <= TT_USE_SCRATCH; u++)
        row(out, scope[u], u, &c, u == TT_USE_SAVED ? frames : "");
    fprintf(out, "  %-8s %-26s %12.1f\n", "", "total", mib(c.total));
    print_scratch(p, &c, out);
    print_largest(p, out);
    return print_fit(p, &c, limit, out);
}

/* --- communication --------------------------------------------------------------------------------------------------- */

/* Calls of one op over one group in one part. */
typedef struct traffic {
    int axes, op;
    int64_t calls, bytes;
} traffic;

enum { MAX_TRAFFIC = 64 };

static int sum_part(const tt_program *p, int part, traffic *t)
{
    int n = 0;
    for (int j = 0; j < p->part[part].code.n; j++) {
        const tt_instr *i = &p->part[part].code.at[j];
        if (!tt_op_is_comm(i->op))
            continue;
        int k = 0;
        while (k < n && (t[k].axes != i->attr.axes || t[k].op != i->op))
            k++;
        if (k == n) {
            TT_ASSERT(n < MAX_TRAFFIC);
            t[n++] = (traffic){.axes = i->attr.axes, .op = i->op};
        }
        t[k].calls++;
        t[k].bytes += tt_instr_payload_bytes(p, i);
    }
    return n;
}

static int64_t print_parts(const tt_program *p, const int *calls, FILE *out)
{
    int64_t total = 0;
    for (int part = 0; part < TT_N_PARTS; part++) {
        traffic t[MAX_TRAFFIC];
        int n = calls[part] ? sum_part(p, part, t) : 0;
        for (int k = 0; k < n; k++) {
            char axes[64];
            int64_t bytes = calls[part] * t[k].bytes;
            fprintf(out, "  %-10s %-22s %-15s %8lld %18lld %12.1f\n", p->part[part].name,
                    tt_mesh_mask_name(t[k].axes, axes, sizeof axes), tt_op_info(t[k].op)->name,
                    (long long)(calls[part] * t[k].calls), (long long)bytes, mib(bytes));
            total += bytes;
        }
    }
    return total;
}

void tt_program_print_comm(const tt_program *p, FILE *out)
{
    int step[TT_N_PARTS] = {0}, eval[TT_N_PARTS] = {0};
    for (int part = 0; part < TT_N_PARTS; part++)
        step[part] = tt_cost_calls(p, part);
    eval[TT_PART_EVAL] = p->part[TT_PART_EVAL].code.n > 0;
    title(p, "communication", out);
    fprintf(out, "  %-10s %-22s %-15s %8s %18s %12s\n", "part", "axes", "op", "calls", "bytes sent", "MiB sent");
    int64_t bytes = print_parts(p, step, out);
    fprintf(out, "  %-58s %18lld %12.1f\n", "a training step", (long long)bytes, mib(bytes));
    if (!eval[TT_PART_EVAL])
        return;
    bytes = print_parts(p, eval, out);
    fprintf(out, "  %-58s %18lld %12.1f\n", "a validation batch", (long long)bytes, mib(bytes));
}
