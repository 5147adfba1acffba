/* See verify.h. */
#include "graph/verify.h"

#include "graph/clock.h"
#include "graph/ops.h"

#include <stdlib.h>
#include <string.h>

typedef struct access {
    int instr, is_write;
} access;

typedef struct log {
    access *at;
    int n, cap;
} log_of;

typedef struct checker {
    const tt_program *p;
    const tt_part *part;
    int part_id;
    const tt_clock *clock;
    log_of *log; /* accesses of each root in this part, in program order */
    char *written_before; /* roots that earlier parts write */
    tt_error *err;
} checker;

static tt_status bad(const checker *c, int j, tt_vid v, const char *what)
{
    return tt_fail(c->err, TT_ERR_INTERNAL, "program check: part %s, instruction %d (%s), value %d (%s): %s",
                   c->part->name, j, tt_op_info(c->part->code.at[j].op)->name, v, v >= 0 ? c->p->value[v].name : "-",
                   what);
}

static tt_status check_operand(const checker *c, int j, tt_vid v)
{
    const tt_program *p = c->p;
    if (v < 0 || v >= p->n_values)
        return bad(c, j, -1, "no such value");
    const tt_value *x = &p->value[v], *root = &p->value[tt_value_root(p, v)];
    if (root->root >= 0)
        return bad(c, j, v, "a view of a view");
    if (x->byte_offset < 0 || (size_t)x->byte_offset + tt_value_local_bytes(x) > root->bytes)
        return bad(c, j, v, "outside its root");
    if (root->scope == TT_SCOPE_NONE)
        return bad(c, j, v, "no scope");
    size_t space = root->scope == TT_SCOPE_SCRATCH ? c->part->scratch_bytes : p->scope_bytes[root->scope];
    if (root->offset + root->bytes > space)
        return bad(c, j, v, "outside its scope");
    return TT_OK;
}

static tt_status check_instr(const checker *c, int j)
{
    const tt_instr *i = &c->part->code.at[j];
    const tt_op *op = tt_op_info(i->op);
    tt_status st = TT_OK;
    if ((op->n_in >= 0 && op->n_in != i->n_in) || (op->n_out >= 0 && op->n_out != i->n_out))
        return bad(c, j, -1, "wrong number of operands");
    for (int k = 0; k < i->n_in + i->n_out && st == TT_OK; k++)
        st = check_operand(c, j, i->in[k]);
    const char *demand = st == TT_OK ? tt_op_check(c->p, i) : NULL;
    if (demand)
        return bad(c, j, i->n_in ? i->in[0] : i->out[0], demand);
    for (int k = 0; k < i->n_out && st == TT_OK; k++)
        if (c->p->value[tt_value_root(c->p, i->out[k])].scope == TT_SCOPE_STATE && c->part_id != TT_PART_UPDATE &&
            c->part_id != TT_PART_INIT && c->part_id != TT_PART_RESTORE)
            st = bad(c, j, i->out[k], "state is written outside update, init and restore");
    for (int k = 0; k < i->n_wait && st == TT_OK; k++)
        if (i->wait[k] >= j)
            st = bad(c, j, -1, "waits for a later instruction");
    return st;
}

static void note(checker *c, tt_vid v, int j, int is_write)
{
    log_of *l = &c->log[tt_value_root(c->p, v)];
    if (l->n == l->cap) {
        l->cap = l->cap ? 2 * l->cap : 8;
        l->at = realloc(l->at, sizeof *l->at * (size_t)l->cap);
        TT_ASSERT(l->at);
    }
    l->at[l->n++] = (access){j, is_write};
}

static int known_done(const checker *c, int i, int before)
{
    return c->clock[before].at[c->part->code.at[i].queue] >= i;
}

/* Reads see a write; accesses of which one writes are ordered. */
static tt_status check_hazards(const checker *c, tt_vid root)
{
    const log_of *l = &c->log[root];
    if (l->n == 0)
        return TT_OK;
    tt_scope scope = c->p->value[root].scope;
    if (!l->at[0].is_write && !c->written_before[root] && scope != TT_SCOPE_STATE && scope != TT_SCOPE_STEP)
        return bad(c, l->at[0].instr, root, "read before anything wrote it");
    for (int b = 1; b < l->n; b++)
        for (int a = b - 1; a >= 0; a--) {
            if (l->at[a].instr == l->at[b].instr || !(l->at[a].is_write || l->at[b].is_write))
                continue;
            if (!known_done(c, l->at[a].instr, l->at[b].instr))
                return bad(c, l->at[b].instr, root, "does not wait for an earlier access of its operand");
        }
    return TT_OK;
}

static int precedes(const checker *c, tt_vid a, tt_vid b)
{
    const log_of *l = &c->log[a];
    for (int k = 0; k < l->n; k++)
        if (!known_done(c, l->at[k].instr, c->log[b].at[0].instr))
            return 0;
    return 1;
}

static int by_offset_of(const void *x, const void *y)
{
    const tt_value *const *a = x, *const *b = y;
    return (*a)->offset < (*b)->offset ? -1 : (*a)->offset > (*b)->offset;
}

static tt_status check_reuse(const checker *c)
{
    const tt_program *p = c->p;
    const tt_value **v = malloc(sizeof *v * (size_t)(p->n_values + 1));
    TT_ASSERT(v);
    int n = 0;
    tt_status st = TT_OK;
    for (int k = 0; k < p->n_values; k++)
        if (c->log[k].n && p->value[k].scope == TT_SCOPE_SCRATCH)
            v[n++] = &p->value[k];
    qsort(v, (size_t)n, sizeof *v, by_offset_of);
    for (int a = 0; a < n && st == TT_OK; a++)
        for (int b = a + 1; b < n && v[b]->offset < v[a]->offset + v[a]->bytes && st == TT_OK; b++) {
            tt_vid x = (tt_vid)(v[a] - p->value), y = (tt_vid)(v[b] - p->value);
            if (!precedes(c, x, y) && !precedes(c, y, x))
                st = bad(c, c->log[y].at[0].instr, y, "takes space whose last reader may still be at work");
        }
    free(v);
    return st;
}

static tt_status check_part(checker *c)
{
    const tt_program *p = c->p;
    tt_status st = TT_OK;
    tt_clock *clock = tt_clocks(&c->part->code);
    c->clock = clock;
    c->log = calloc((size_t)p->n_values + 1, sizeof *c->log);
    TT_ASSERT(c->log);
    for (int j = 0; j < c->part->code.n && st == TT_OK; j++) {
        const tt_instr *i = &c->part->code.at[j];
        st = check_instr(c, j);
        if (st != TT_OK)
            break;
        for (int k = 0; k < i->n_in; k++)
            note(c, i->in[k], j, 0);
        for (int k = 0; k < i->n_out; k++) {
            if (tt_op_info(i->op)->gradient && i->acc == TT_ACC_ADD)
                note(c, i->out[k], j, 0);
            note(c, i->out[k], j, 1);
        }
        if (i->workspace >= 0)
            note(c, i->workspace, j, 1);
    }
    for (int v = 0; v < p->n_values && st == TT_OK; v++)
        if (p->value[v].root < 0)
            st = check_hazards(c, v);
    if (st == TT_OK)
        st = check_reuse(c);
    for (int v = 0; v < p->n_values; v++) {
        for (int k = 0; k < c->log[v].n; k++)
            if (c->log[v].at[k].is_write && p->value[v].scope != TT_SCOPE_SCRATCH)
                c->written_before[v] = 1;
        free(c->log[v].at);
    }
    free(c->log);
    free(clock);
    return st;
}

static tt_status check_shapes(const tt_program *p, tt_error *err)
{
    for (int v = 0; v < p->n_values; v++) {
        const tt_value *x = &p->value[v];
        for (int d = 0; d < x->ndim; d++)
            if (x->local[d] < 0 || x->local[d] > x->shape[d])
                return tt_fail(err, TT_ERR_INTERNAL, "program check: value %d (%s): local dim %d is %lld of %lld", v,
                               x->name, d, (long long)x->local[d], (long long)x->shape[d]);
    }
    return TT_OK;
}

tt_status tt_verify(const tt_program *p, tt_error *err)
{
    checker c = {.p = p, .err = err};
    c.written_before = calloc((size_t)p->n_values + 1, 1);
    TT_ASSERT(c.written_before);
    tt_status st = check_shapes(p, err);
    for (int i = 0; i < TT_N_PARTS && st == TT_OK; i++) {
        c.part = &p->part[i];
        c.part_id = i;
        st = check_part(&c);
    }
    free(c.written_before);
    return st;
}

/* --- after each pass ------------------------------------------------------------------------------------------------- */

static tt_status bad_list(const char *pass, const tt_instr_list *list, int j, const char *what, tt_error *err)
{
    return tt_fail(err, TT_ERR_INTERNAL, "program check after %s: instruction %d (%s): %s", pass, j,
                   tt_op_info(list->at[j].op)->name, what);
}

/* A parameter's gradient lies as the parameter does, or is a partial sum where the parameter is replicated. */
static int gradient_fits(const tt_program *p, const tt_instr *i)
{
    if (i->grad_of < 0)
        return 1;
    for (int a = 0; a < TT_N_AXES; a++) {
        tt_placement want = p->param[i->grad_of].place[a], got = p->value[i->out[0]].place[a];
        if (want.kind == TT_S ? !tt_placement_equal(want, got) : got.kind == TT_S)
            return 0;
    }
    return 1;
}

tt_status tt_verify_list(const tt_program *p, const tt_instr_list *list, const char *pass, tt_error *err)
{
    for (int j = 0; j < list->n; j++) {
        const tt_instr *i = &list->at[j];
        const tt_op *op = tt_op_info(i->op);
        if ((op->n_in >= 0 && op->n_in != i->n_in) || (op->n_out >= 0 && op->n_out != i->n_out))
            return bad_list(pass, list, j, "wrong number of operands", err);
        for (int k = 0; k < i->n_in + i->n_out; k++)
            if (i->in[k] < 0 || i->in[k] >= p->n_values)
                return bad_list(pass, list, j, "no such value", err);
        const char *demand = tt_op_check(p, i);
        if (demand)
            return bad_list(pass, list, j, demand, err);
        if (i->block < 0 || i->block >= p->n_blocks)
            return bad_list(pass, list, j, "no such block", err);
        if (!gradient_fits(p, i))
            return bad_list(pass, list, j, "a gradient that does not lie as its parameter", err);
    }
    return TT_OK;
}
