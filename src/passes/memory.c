/* See memory.h. */
#include "passes/memory.h"

#include "passes/order.h"

#include <stdlib.h>
#include <string.h>

static size_t aligned(size_t bytes)
{
    return (bytes + TT_MEMORY_ALIGN - 1) & ~(TT_MEMORY_ALIGN - 1);
}

/* --- workspaces ---------------------------------------------------------------------------------------------------- */

static void describe(const tt_program *p, int n, const tt_vid *v, tt_tensor *t)
{
    for (int k = 0; k < n; k++) {
        const tt_value *x = &p->value[v[k]];
        t[k] = (tt_tensor){.dtype = x->dtype, .ndim = x->ndim};
        memcpy(t[k].dim, x->local, sizeof t[k].dim);
    }
}

static size_t workspace_bytes(const tt_program *p, const tt_instr *i, const tt_device_profile *device)
{
    if (tt_op_is_comm(i->op))
        return (size_t)tt_comm_workspace_bytes(p, i);
    if (i->op == TT_OP_feed || i->op == TT_OP_fetch || !device->workspace)
        return 0;
    tt_tensor *t = malloc(sizeof *t * (size_t)(i->n_in + i->n_out + 1));
    TT_ASSERT(t);
    describe(p, i->n_in, i->in, t);
    describe(p, i->n_out, i->out, t + i->n_in);
    size_t bytes = device->workspace(tt_op_info(i->op)->name, &i->attr, t, i->n_in, t + i->n_in, i->n_out,
                                     device->n_threads);
    free(t);
    return bytes;
}

void tt_plan_workspaces(tt_program *p, const tt_device_profile *device)
{
    for (int part = 0; part < TT_N_PARTS; part++)
        for (int k = 0; k < p->part[part].code.n; k++) {
            tt_instr *i = &p->part[part].code.at[k];
            int64_t bytes = (int64_t)workspace_bytes(p, i, device);
            if (bytes > 0)
                i->workspace = tt_value_new(p, "workspace", TT_U8, 1, &bytes);
        }
}

/* --- scopes -------------------------------------------------------------------------------------------------------- */

/* Values that only one part touches are its scratch; what the forward hands to the backward is frame. */
static void decide_scopes(tt_program *p)
{
    int *seen = calloc((size_t)p->n_values + 1, sizeof *seen); /* bit mask of parts */
    TT_ASSERT(seen);
    for (int part = 0; part < TT_N_PARTS; part++)
        for (int k = 0; k < p->part[part].code.n; k++) {
            const tt_instr *i = &p->part[part].code.at[k];
            for (int a = 0; a < i->n_in + i->n_out; a++)
                seen[tt_value_root(p, i->in[a])] |= 1 << part;
            if (i->workspace >= 0)
                seen[i->workspace] |= 1 << part;
        }
    for (int v = 0; v < p->n_values; v++) {
        tt_value *x = &p->value[v];
        if (x->root >= 0 || x->scope != TT_SCOPE_NONE || !seen[v])
            continue;
        const int crossing = 1 << TT_PART_FORWARD | 1 << TT_PART_BACKWARD;
        x->scope = seen[v] == crossing ? TT_SCOPE_FRAME : TT_SCOPE_SCRATCH;
        TT_ASSERT(seen[v] == crossing || (seen[v] & (seen[v] - 1)) == 0);
    }
    free(seen);
}

/* --- packing one part's scratch -------------------------------------------------------------------------------------- */

typedef struct life {
    int first;               /* instruction that first touches it */
    int last;                /* by program order */
    int at[TT_N_QUEUES];     /* last access on each queue, -1 none */
} life;

typedef struct packer {
    tt_program *p;
    const tt_instr_list *code;
    const tt_clock *clock;
    life *life;
    tt_vid *active; /* allocated values whose space may still be in use, by offset */
    int n_active;
    size_t high;
} packer;

static int is_done_before(const life *l, const tt_clock *c)
{
    for (int q = 0; q < TT_N_QUEUES; q++)
        if (l->at[q] > c->at[q])
            return 0;
    return 1;
}

/* Smallest gap between values still in use that fits; the end of the used space otherwise. */
static void place(packer *k, tt_vid v, const tt_clock *now)
{
    size_t need = aligned(k->p->value[v].bytes), edge = 0, best = (size_t)-1, best_gap = (size_t)-1;
    for (int i = 0; i < k->n_active; i++) {
        const tt_value *a = &k->p->value[k->active[i]];
        if (is_done_before(&k->life[k->active[i]], now))
            continue;
        if (a->offset > edge && a->offset - edge >= need && a->offset - edge < best_gap) {
            best = edge;
            best_gap = a->offset - edge;
        }
        size_t end = a->offset + aligned(a->bytes);
        if (end > edge)
            edge = end;
    }
    size_t offset = best != (size_t)-1 ? best : edge;
    k->p->value[v].offset = offset;
    if (offset + need > k->high)
        k->high = offset + need;
    int at = k->n_active++;
    while (at > 0 && k->p->value[k->active[at - 1]].offset > offset) {
        k->active[at] = k->active[at - 1];
        at--;
    }
    k->active[at] = v;
}

/* Forget values that every instruction still to come knows to be done. */
static void prune(packer *k, int from)
{
    tt_clock floor;
    int seen[TT_N_QUEUES] = {0}, first = 1;
    for (int j = from, found = 0; j < k->code->n && found < TT_N_QUEUES && j < from + 512; j++) {
        int q = k->code->at[j].queue;
        if (seen[q])
            continue;
        seen[q] = 1;
        found++;
        for (int x = 0; x < TT_N_QUEUES; x++)
            if (first || k->clock[j].at[x] < floor.at[x])
                floor.at[x] = k->clock[j].at[x];
        first = 0;
    }
    if (first)
        return;
    /* queues not seen in the window: their next instruction knows at least what their last one did */
    for (int q = 0; q < TT_N_QUEUES; q++) {
        if (seen[q])
            continue;
        int later = -1;
        for (int j = from + 512; j < k->code->n && later < 0; j++)
            later = k->code->at[j].queue == (tt_queue)q ? j : -1;
        for (int x = 0; later >= 0 && x < TT_N_QUEUES; x++)
            if (k->clock[later].at[x] < floor.at[x])
                floor.at[x] = k->clock[later].at[x];
    }
    int n = 0;
    for (int i = 0; i < k->n_active; i++)
        if (!is_done_before(&k->life[k->active[i]], &floor))
            k->active[n++] = k->active[i];
    k->n_active = n;
}

static void touch(packer *k, tt_vid v, int j)
{
    v = tt_value_root(k->p, v);
    life *l = &k->life[v];
    if (k->p->value[v].scope != TT_SCOPE_SCRATCH)
        return;
    if (l->first < 0)
        l->first = j;
    l->last = j;
    l->at[k->code->at[j].queue] = j;
}

static void touch_all(packer *k, int j)
{
    const tt_instr *i = &k->code->at[j];
    for (int a = 0; a < i->n_in + i->n_out; a++)
        touch(k, i->in[a], j);
    if (i->workspace >= 0)
        touch(k, i->workspace, j);
}

static void place_new(packer *k, tt_vid v, int j)
{
    v = tt_value_root(k->p, v);
    life *l = &k->life[v];
    if (k->p->value[v].scope == TT_SCOPE_SCRATCH && l->first == j && k->p->value[v].offset == (size_t)-1)
        place(k, v, &k->clock[j]);
}

/* Largest sum of bytes alive at one instruction. */
static size_t floor_bytes(const packer *k)
{
    size_t *born = calloc((size_t)k->code->n + 2, sizeof *born), *gone = calloc((size_t)k->code->n + 2, sizeof *gone);
    TT_ASSERT(born && gone);
    for (int v = 0; v < k->p->n_values; v++)
        if (k->life[v].first >= 0) {
            born[k->life[v].first] += k->p->value[v].bytes;
            gone[k->life[v].last + 1] += k->p->value[v].bytes;
        }
    size_t now = 0, most = 0;
    for (int j = 0; j < k->code->n; j++) {
        now += born[j];
        now -= gone[j];
        if (now > most)
            most = now;
    }
    free(born);
    free(gone);
    return most;
}

static void pack_part(tt_program *p, tt_part *part, life *lives)
{
    packer k = {.p = p, .code = &part->code, .life = lives};
    memset(lives, 0xff, sizeof *lives * (size_t)p->n_values);
    k.active = malloc(sizeof *k.active * (size_t)(p->n_values + 1));
    tt_clock *clock = tt_clocks(&part->code);
    TT_ASSERT(k.active);
    k.clock = clock;
    for (int j = 0; j < part->code.n; j++)
        touch_all(&k, j);
    for (int v = 0; v < p->n_values; v++)
        if (lives[v].first >= 0)
            p->value[v].offset = (size_t)-1;
    for (int j = 0; j < part->code.n; j++) {
        const tt_instr *i = &part->code.at[j];
        for (int a = 0; a < i->n_in + i->n_out; a++)
            place_new(&k, i->in[a], j);
        if (i->workspace >= 0)
            place_new(&k, i->workspace, j);
        if (j % 128 == 127)
            prune(&k, j + 1);
    }
    part->scratch_bytes = k.high;
    part->scratch_floor = floor_bytes(&k);
    free(clock);
    free(k.active);
}

void tt_plan_memory(tt_program *p)
{
    decide_scopes(p);
    memset(p->scope_bytes, 0, sizeof p->scope_bytes);
    for (int v = 0; v < p->n_values; v++) {
        tt_value *x = &p->value[v];
        if (x->root >= 0 || x->scope == TT_SCOPE_NONE || x->scope == TT_SCOPE_SCRATCH)
            continue;
        x->offset = p->scope_bytes[x->scope];
        p->scope_bytes[x->scope] += aligned(x->bytes);
    }
    life *lives = malloc(sizeof *lives * (size_t)(p->n_values + 1));
    TT_ASSERT(lives);
    for (int i = 0; i < TT_N_PARTS; i++) {
        pack_part(p, &p->part[i], lives);
        if (p->part[i].scratch_bytes > p->scope_bytes[TT_SCOPE_SCRATCH])
            p->scope_bytes[TT_SCOPE_SCRATCH] = p->part[i].scratch_bytes;
    }
    free(lives);
}
