/* See shard.h. */
#include "passes/shard.h"

#include <stdlib.h>
#include <string.h>

#define MAX_ROWS 8
#define NO_ROW (-1)

struct tt_sharder {
    tt_program *p;
    const tt_shard_opts *opts;
    tt_instr_list out;
    tt_vid *primary;      /* what stands for a logical value now (a pinned copy, or itself) */
    int *version;         /* head of the list of redistributed copies, -1 = none */
    int n_map;
    struct version {
        tt_vid v;
        int next;
    } *versions;
    int n_versions, cap_versions;
    tt_error *err;
};

tt_program *tt_shard_program(tt_sharder *s)
{
    return s->p;
}

const tt_shard_opts *tt_shard_options(tt_sharder *s)
{
    return s->opts;
}

static void map_reserve(tt_sharder *s)
{
    if (s->n_map >= s->p->n_values)
        return;
    int n = 2 * s->p->n_values;
    s->primary = realloc(s->primary, sizeof *s->primary * (size_t)n);
    s->version = realloc(s->version, sizeof *s->version * (size_t)n);
    TT_ASSERT(s->primary && s->version);
    for (int v = s->n_map; v < n; v++) {
        s->primary[v] = v;
        s->version[v] = -1;
    }
    s->n_map = n;
}

tt_instr *tt_shard_emit(tt_sharder *s, const tt_instr *like, int op, int n_in, const tt_vid *in, int n_out,
                        const tt_vid *out)
{
    int block = like->block;
    tt_role role = like->role;
    tt_instr *i = tt_emit(s->p, &s->out, op, n_in, in, n_out, out);
    i->block = block;
    i->role = role;
    return i;
}

static void set_place(tt_sharder *s, tt_vid v, const tt_placement *place)
{
    tt_value *x = &s->p->value[v];
    memcpy(x->place, place, sizeof x->place);
    tt_placement_local_shape(&s->p->mesh, place, x->ndim, x->shape, x->local);
    x->bytes = tt_value_local_bytes(x);
}

/* --- redistribution ------------------------------------------------------------------------------------------- */

static tt_vid find_version(const tt_sharder *s, tt_vid v, const tt_placement *want)
{
    for (int k = s->version[v]; k >= 0; k = s->versions[k].next)
        if (memcmp(s->p->value[s->versions[k].v].place, want, sizeof(tt_placement) * TT_N_AXES) == 0)
            return s->versions[k].v;
    return -1;
}

static void add_version(tt_sharder *s, tt_vid v, tt_vid copy)
{
    if (s->n_versions == s->cap_versions) {
        s->cap_versions = s->cap_versions ? 2 * s->cap_versions : 256;
        s->versions = realloc(s->versions, sizeof *s->versions * (size_t)s->cap_versions);
        TT_ASSERT(s->versions);
    }
    s->versions[s->n_versions] = (struct version){copy, s->version[v]};
    s->version[v] = s->n_versions++;
}

static tt_vid new_placed(tt_sharder *s, tt_vid like, const tt_placement *place)
{
    tt_value t = s->p->value[like];
    tt_vid v = tt_value_new(s->p, t.name, t.dtype, t.ndim, t.shape);
    map_reserve(s);
    set_place(s, v, place);
    return v;
}

static tt_instr *emit_comm(tt_sharder *s, const tt_instr *user, int op, int axis, tt_vid in, tt_vid out)
{
    tt_instr *i = tt_shard_emit(s, user, op, 1, &in, 1, &out);
    i->attr.axes = TT_MASK(axis);
    i->queue = axis == TT_TP ? TT_Q_TP : TT_Q_REDUCE;
    return i;
}

/* Columns: ranks' pieces [N, c] arrive one after another, then are put side by side. */
static tt_vid gather_columns(tt_sharder *s, const tt_instr *user, int axis, tt_vid v, const tt_placement *place)
{
    tt_value t = s->p->value[v];
    int64_t shape[2] = {t.local[0] * s->p->mesh.degree[axis], t.local[1]};
    tt_vid pieces = tt_value_new(s->p, "pieces", t.dtype, 2, shape);
    map_reserve(s);
    emit_comm(s, user, TT_OP_all_gather, axis, v, pieces);
    tt_vid out = new_placed(s, v, place);
    tt_shard_emit(s, user, TT_OP_interleave, 1, &pieces, 1, &out);
    return out;
}

/* v as it is -> v with `to` on one axis. */
static tt_vid change_axis(tt_sharder *s, const tt_instr *user, int axis, tt_vid v, tt_placement to)
{
    tt_placement place[TT_N_AXES];
    memcpy(place, s->p->value[v].place, sizeof place);
    tt_placement from = place[axis];
    place[axis] = to;
    if (from.kind == TT_S && from.dim == 1 && to.kind == TT_R)
        return gather_columns(s, user, axis, v, place);
    if (from.kind == TT_S && to.kind == TT_S) { /* by way of R */
        v = change_axis(s, user, axis, v, (tt_placement){TT_R, 0});
        return change_axis(s, user, axis, v, to);
    }
    if (from.kind == TT_P && to.kind == TT_S && to.dim == 1) {
        v = change_axis(s, user, axis, v, (tt_placement){TT_R, 0});
        return change_axis(s, user, axis, v, to);
    }
    tt_vid out = new_placed(s, v, place);
    if (from.kind == TT_R) {
        tt_instr *i = tt_shard_emit(s, user, TT_OP_slice, 1, &v, 1, &out);
        i->attr.dim = to.dim;
        i->attr.index = s->p->mesh.coord[axis];
    } else if (from.kind == TT_S) {
        emit_comm(s, user, TT_OP_all_gather, axis, v, out);
    } else {
        emit_comm(s, user, to.kind == TT_R ? TT_OP_all_reduce : TT_OP_reduce_scatter, axis, v, out);
    }
    return out;
}

/* The version of v placed as wanted, made at most once. Inner axes first, so that gathers see whole outer shards. */
static tt_vid redistribute(tt_sharder *s, const tt_instr *user, tt_vid v, const tt_placement *want)
{
    if (memcmp(s->p->value[v].place, want, sizeof(tt_placement) * TT_N_AXES) == 0)
        return v;
    tt_vid found = find_version(s, v, want);
    if (found >= 0)
        return found;
    tt_vid now = v;
    for (int a = TT_N_AXES - 1; a >= 0; a--)
        if (!tt_placement_equal(s->p->value[now].place[a], want[a]))
            now = change_axis(s, user, a, now, want[a]);
    add_version(s, v, now);
    return now;
}

/* --- choosing rows -------------------------------------------------------------------------------------------- */

static int gradient_output(const tt_instr *i)
{
    return i->grad_of < 0 ? -1 : i->op == TT_OP_head_loss ? 1 : 0;
}

/* Tokens may be sharded over tp only with sequence parallelism. */
static int splits_tokens(const tt_sharder *s, const tt_instr *i, const tt_place_row *r)
{
    for (int k = 0; k < i->n_in; k++)
        if (r->in[k].kind == TT_S && r->in[k].dim == 0 && s->p->value[i->in[k]].param < 0)
            return 1;
    for (int k = 0; k < i->n_out; k++)
        if (r->out[k].kind == TT_S && r->out[k].dim == 0 && k != gradient_output(i))
            return 1;
    return 0;
}

static double input_cost(const tt_sharder *s, tt_vid v, int axis, tt_placement to)
{
    const tt_value *x = &s->p->value[v];
    if (tt_placement_equal(x->place[axis], to))
        return 0;
    if (x->param >= 0)
        return -1; /* parameters stay where the table puts them */
    tt_placement want[TT_N_AXES];
    memcpy(want, x->place, sizeof want);
    want[axis] = to;
    if (find_version(s, v, want) >= 0)
        return 0;
    return tt_placement_move_bytes(x->place[axis], to, s->p->mesh.degree[axis], (double)tt_value_local_bytes(x));
}

/* Bytes moved when the instruction takes this row on this axis; -1 when it cannot. */
static double row_cost(const tt_sharder *s, const tt_instr *i, int axis, const tt_place_row *r)
{
    if (r->batch_only && !(TT_MASK(axis) & TT_MASK_BATCH))
        return NO_ROW;
    if (axis == TT_TP && !s->opts->sequence_parallel && splits_tokens(s, i, r))
        return NO_ROW;
    double cost = 0;
    for (int k = 0; k < i->n_in; k++) {
        double c = input_cost(s, i->in[k], axis, r->in[k]);
        if (c < 0)
            return NO_ROW;
        cost += c;
    }
    int g = gradient_output(i);
    if (g >= 0) {
        tt_placement want = s->p->param[i->grad_of].place[axis], got = r->out[g];
        if (want.kind == TT_S ? !tt_placement_equal(want, got) : got.kind == TT_S)
            return NO_ROW;
    }
    const tt_value *o = &s->p->value[i->out[0]];
    if (axis == TT_TP && o->pinned) {
        double c = tt_placement_move_bytes(r->out[0], o->pin, s->p->mesh.degree[axis],
                                           (double)tt_value_elements(o) * (double)tt_dtype_size(o->dtype));
        if (c < 0)
            return NO_ROW;
        cost += c;
    }
    return cost;
}

static int choose_row(const tt_sharder *s, const tt_instr *i, int axis, const tt_place_row *rows, int n)
{
    int best = NO_ROW;
    double least = 0;
    for (int r = 0; r < n; r++) {
        TT_ASSERT(rows[r].n_in == i->n_in && rows[r].n_out == i->n_out);
        double c = row_cost(s, i, axis, &rows[r]);
        if (c >= 0 && (best == NO_ROW || c < least)) {
            best = r;
            least = c;
        }
    }
    return best;
}

/* --- one instruction ------------------------------------------------------------------------------------------ */

void tt_vocab_range(const tt_program *p, int param, int64_t *start, int64_t *valid)
{
    int64_t s[TT_MAX_DIMS], c[TT_MAX_DIMS];
    tt_placement_box(&p->mesh, p->param[param].place, p->param[param].ndim, p->param[param].shape, s, c);
    *start = s[0];
    *valid = c[0];
}

/* Attributes that depend on what this rank holds. */
static void set_local_attrs(tt_sharder *s, tt_instr *i)
{
    const tt_program *p = s->p;
    if (i->op == TT_OP_attention || i->op == TT_OP_attention_bwd) {
        i->attr.n_heads = (int)(p->value[i->in[0]].local[1] / i->attr.head_dim);
        i->attr.n_kv_heads = (int)(p->value[i->in[1]].local[1] / i->attr.head_dim);
    }
    int vocab = i->op == TT_OP_embedding ? p->value[i->in[1]].param : i->op == TT_OP_embedding_dw ? i->grad_of : -1;
    if (vocab >= 0)
        tt_vocab_range(p, vocab, &i->attr.vocab_start, &i->attr.vocab_valid);
}

static void pin_output(tt_sharder *s, const tt_instr *i)
{
    tt_vid o = i->out[0];
    const tt_value *x = &s->p->value[o];
    if (!x->pinned || s->p->mesh.degree[TT_TP] == 1 || tt_placement_equal(x->place[TT_TP], x->pin))
        return;
    tt_placement want[TT_N_AXES];
    memcpy(want, x->place, sizeof want);
    want[TT_TP] = x->pin;
    tt_vid copy = redistribute(s, i, o, want);
    s->primary[o] = copy;
}

static tt_status place_instr(tt_sharder *s, tt_instr *i)
{
    tt_program *p = s->p;
    tt_place_row rows[MAX_ROWS];
    int n = tt_op_rows(i->op, rows, MAX_ROWS);
    for (int k = 0; k < i->n_in; k++)
        i->in[k] = s->primary[i->in[k]];
    tt_placement in[8][TT_N_AXES], out[4][TT_N_AXES];
    memset(in, 0, sizeof in);
    memset(out, 0, sizeof out);
    for (int a = 0; a < TT_N_AXES; a++) {
        if (p->mesh.degree[a] == 1)
            continue;
        int r = choose_row(s, i, a, rows, n);
        if (r == NO_ROW)
            return tt_fail(s->err, TT_ERR_MESH,
                           "op %s has no placement on axis %s for the operands it meets; use "
                           "degree 1 on that axis",
                           tt_op_info(i->op)->name, tt_axis_name(a));
        for (int k = 0; k < i->n_in; k++)
            in[k][a] = rows[r].in[k];
        for (int k = 0; k < i->n_out; k++)
            out[k][a] = rows[r].out[k];
    }
    for (int k = 0; k < i->n_in; k++)
        i->in[k] = redistribute(s, i, i->in[k], in[k]);
    for (int k = 0; k < i->n_out; k++)
        set_place(s, i->out[k], out[k]);
    if (i->op == TT_OP_head_loss || i->op == TT_OP_head_eval) {
        tt_lower_loss(s, i);
        map_reserve(s);
        return TT_OK;
    }
    set_local_attrs(s, i);
    tt_instr *o = tt_shard_emit(s, i, i->op, i->n_in, i->in, i->n_out, i->out);
    o->attr = i->attr;
    o->acc = i->acc;
    o->grad_of = i->grad_of;
    pin_output(s, i);
    return TT_OK;
}

tt_status tt_shard(tt_program *p, tt_instr_list *list, const tt_shard_opts *opts, tt_error *err)
{
    tt_sharder s = {.p = p, .opts = opts, .err = err};
    tt_status st = TT_OK;
    map_reserve(&s);
    for (int k = 0; k < list->n && st == TT_OK; k++) {
        tt_instr i = list->at[k];
        st = place_instr(&s, &i);
    }
    if (p->logits >= 0)
        p->logits = s.primary[p->logits]; /* pinned: whole on every tp rank */
    free(s.primary);
    free(s.version);
    free(s.versions);
    tt_instr_list_free(list);
    *list = s.out;
    return st;
}
