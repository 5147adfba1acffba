/* See fuse.h. A match replaces the pattern's last instruction (add_rmsnorm: its first) and marks
 * the others dead. */
#include "passes/fuse.h"

#include "base/closest.h"
#include "graph/ops.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_MEMBERS 8 /* products of one sum */

typedef struct fuser {
    tt_program *p;
    tt_instr_list *list;
    int *producer; /* instruction that makes a value, -1 = none or several */
    int *readers;  /* operands that read a root value */
    char *dead;    /* instructions that a fused one replaces */
} fuser;

/* --- matching
 * --------------------------------------------------------------------------------------------------------
 */

static void index_list(fuser *f)
{
    const tt_program *p = f->p;
    char *seen = calloc((size_t)p->n_values + 1, 1);
    TT_ASSERT(seen);
    memset(f->producer, 0xff, sizeof *f->producer * (size_t)p->n_values);
    for (int k = 0; k < f->list->n; k++) {
        const tt_instr *i = &f->list->at[k];
        for (int a = 0; a < i->n_in; a++)
            f->readers[tt_value_root(p, i->in[a])]++;
        for (int a = 0; a < i->n_out; a++) {
            const tt_vid root = tt_value_root(p, i->out[a]);
            f->producer[root] = seen[root] || root != i->out[a] ? -1 : k;
            seen[root] = 1;
        }
    }
    free(seen);
}

/* The living instruction of this op that makes v, in the block and role of `user`; -1 when another
 * one does. */
static int made_by(const fuser *f, tt_vid v, int op, const tt_instr *user)
{
    const int k = f->producer[v];
    if (k < 0 || f->dead[k])
        return -1;
    const tt_instr *i = &f->list->at[k];
    return i->op == op && i->block == user->block && i->role == user->role ? k : -1;
}

/* Like made_by, when nobody but the user reads v: then v need not exist. */
static int made_only_for(const fuser *f, tt_vid v, int op, const tt_instr *user)
{
    return f->readers[v] == 1 && !f->p->value[v].pinned ? made_by(f, v, op, user) : -1;
}

/* Instruction k becomes `op` with these operands; block, role and queue stay. */
static void replace(fuser *f, int k, int op, int n_in, const tt_vid *in, int n_out,
                    const tt_vid *out)
{
    tt_instr *i = &f->list->at[k];
    tt_vid *v = tt_arena_alloc(f->p->arena, sizeof *v * (size_t)(n_in + n_out));
    memcpy(v, in, sizeof *v * (size_t)n_in);
    memcpy(v + n_in, out, sizeof *v * (size_t)n_out);
    i->op = op;
    i->n_in = n_in;
    i->n_out = n_out;
    i->in = v;
    i->out = v + n_in;
    for (int o = 0; o < n_out; o++)
        f->producer[out[o]] = k;
}

/* --- patterns: called with each living instruction
 * ------------------------------------------------------------------- */

/* y = a + b; n, rstd = rmsnorm(y, w): at the place of the add. The weight is a parameter, so it is
 * there already. */
static void fuse_add_rmsnorm(fuser *f, int k)
{
    const tt_instr norm = f->list->at[k];
    if (norm.op != TT_OP_rmsnorm || f->p->value[norm.in[1]].param < 0)
        return;
    const int at = made_by(f, norm.in[0], TT_OP_add, &norm);
    if (at < 0)
        return;
    const tt_instr *add = &f->list->at[at];
    const tt_vid in[] = {add->in[0], add->in[1], norm.in[1]},
                 out[] = {add->out[0], norm.out[0], norm.out[1]};
    replace(f, at, TT_OP_add_rmsnorm, 3, in, 3, out);
    f->list->at[at].attr = norm.attr;
    f->dead[k] = 1;
}

/* dx = rmsnorm_dx(dy, x, w, rstd); s = dx + residual, whichever comes first in the add. */
static void fuse_rmsnorm_dx_add(fuser *f, int k)
{
    const tt_instr add = f->list->at[k];
    for (int side = 1; side >= 0 && add.op == TT_OP_add; side--) {
        const int dx = made_only_for(f, add.in[side], TT_OP_rmsnorm_dx, &add);
        if (dx < 0)
            continue;
        const tt_vid *v = f->list->at[dx].in;
        const tt_vid in[] = {v[0], v[1], v[2], v[3], add.in[!side]};
        replace(f, k, TT_OP_rmsnorm_dx_add, 5, in, 1, (tt_vid[]){add.out[0]});
        f->list->at[k].attr = f->list->at[dx].attr;
        f->dead[dx] = 1;
        return;
    }
}

/* A sum of linear_dx, or of an earlier linear_dx_sum and linear_dx: pairs dy, W in the order in
 * which they were added. */
static void fuse_linear_dx_sum(fuser *f, int k)
{
    const tt_instr add = f->list->at[k];
    tt_vid in[2 * MAX_MEMBERS];
    int member[2], n = 0;
    if (add.op != TT_OP_add)
        return;
    for (int side = 0; side < 2; side++) {
        member[side] = made_only_for(f, add.in[side], TT_OP_linear_dx, &add);
        if (member[side] < 0)
            member[side] = made_only_for(f, add.in[side], TT_OP_linear_dx_sum, &add);
        if (member[side] < 0 || n + f->list->at[member[side]].n_in > 2 * MAX_MEMBERS)
            return;
        const tt_instr *m = &f->list->at[member[side]];
        memcpy(in + n, m->in, sizeof *in * (size_t)m->n_in);
        n += m->n_in;
    }
    replace(f, k, TT_OP_linear_dx_sum, n, in, 1, (tt_vid[]){add.out[0]});
    f->dead[member[0]] = f->dead[member[1]] = 1;
}

static const struct {
    const char *name, *replaces;
    int op, keeps_bits;
    void (*at)(fuser *f, int k);
} table[TT_N_FUSIONS] = {
    [TT_FUSE_ADD_RMSNORM] = {"add_rmsnorm", "add, rmsnorm", TT_OP_add_rmsnorm, 1, fuse_add_rmsnorm},
    [TT_FUSE_RMSNORM_DX_ADD] = {"rmsnorm_dx_add", "rmsnorm_dx, add", TT_OP_rmsnorm_dx_add, 1,
                                fuse_rmsnorm_dx_add},
    [TT_FUSE_LINEAR_DX_SUM] = {"linear_dx_sum", "linear_dx, add", TT_OP_linear_dx_sum, 0,
                               fuse_linear_dx_sum},
};

const char *tt_fusion_name(int fusion)
{
    return table[fusion].name;
}

const char *tt_fusion_replaces(int fusion)
{
    return table[fusion].replaces;
}

int tt_fusion_keeps_bits(int fusion)
{
    return table[fusion].keeps_bits;
}

int tt_fusion_count(const tt_program *p, int fusion)
{
    int n = 0;
    for (int part = 0; part < TT_N_PARTS; part++)
        for (int k = 0; k < p->part[part].code.n; k++)
            n += p->part[part].code.at[k].op == table[fusion].op;
    return n;
}

tt_status tt_fusion_find(const char *name, const char *key, const char *origin, int *fusion,
                         tt_error *err)
{
    const char *known[TT_N_FUSIONS];
    char list[256];
    size_t at = 0;
    for (int i = 0; i < TT_N_FUSIONS; i++) {
        known[i] = table[i].name;
        at += (size_t)snprintf(list + at, sizeof list - at, "%s%s", i ? ", " : "", known[i]);
        *fusion = i;
        if (strcmp(name, known[i]) == 0)
            return TT_OK;
    }
    tt_status st =
        tt_fail(err, TT_ERR_CONFIG, "%s: %s names \"%s\", which is no fused op; use some of %s",
                origin, key, name, list);
    return tt_closest_hint_word(err, st, name, known, TT_N_FUSIONS);
}

void tt_fuse(tt_program *p, tt_instr_list *list)
{
    fuser f = {.p = p, .list = list};
    f.producer = malloc(sizeof *f.producer * (size_t)(p->n_values + 1));
    f.readers = calloc((size_t)p->n_values + 1, sizeof *f.readers);
    f.dead = calloc((size_t)list->n + 1, 1);
    TT_ASSERT(f.producer && f.readers && f.dead);
    index_list(&f);
    for (int i = 0; i < TT_N_FUSIONS; i++)
        for (int k = 0; k < list->n && !(p->fusions_off & 1u << i); k++)
            if (!f.dead[k])
                table[i].at(&f, k);
    int n = 0;
    for (int k = 0; k < list->n; k++)
        if (!f.dead[k])
            list->at[n++] = list->at[k];
    list->n = n;
    free(f.producer);
    free(f.readers);
    free(f.dead);
}
