/* See memory.h. */
#include "passes/memory.h"

#include "passes/pack.h"

#include <stdlib.h>
#include <string.h>

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

void tt_plan_memory(tt_program *p)
{
    decide_scopes(p);
    memset(p->scope_bytes, 0, sizeof p->scope_bytes);
    for (int v = 0; v < p->n_values; v++) {
        tt_value *x = &p->value[v];
        if (x->root >= 0 || x->scope == TT_SCOPE_NONE || x->scope == TT_SCOPE_SCRATCH)
            continue;
        x->offset = p->scope_bytes[x->scope];
        p->scope_bytes[x->scope] += tt_memory_align(x->bytes);
    }
    for (int i = 0; i < TT_N_PARTS; i++) {
        tt_pack_part(p, &p->part[i]);
        if (p->part[i].scratch_bytes > p->scope_bytes[TT_SCOPE_SCRATCH])
            p->scope_bytes[TT_SCOPE_SCRATCH] = p->part[i].scratch_bytes;
    }
}
