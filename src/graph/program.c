/* See program.h. */
#include "graph/program.h"

#include <stdlib.h>
#include <string.h>

static const char *const part_names[TT_N_PARTS] = {
    "init",   "restore",    "begin", "forward",  "backward", "reduce",   "update",
    "eval_begin", "eval", "eval_end", "logits", "generate", "snapshot", "grads"};

tt_program *tt_program_create(const tt_mesh *mesh)
{
    tt_program *p = calloc(1, sizeof *p);
    TT_ASSERT(p);
    p->arena = tt_arena_create();
    p->mesh = *mesh;
    p->n_frames = 1;
    for (int i = 0; i < TT_N_PARTS; i++)
        p->part[i].name = part_names[i];
    const tt_inputs none = {0, 0, -1, -1, -1, -1};
    p->train = p->eval = p->generate = none;
    tt_vid *const named[] = {&p->n_valid,
                             &p->inv_valid, &p->loss_sum, &p->loss_here,  &p->grad_norm,  &p->clip_coef, &p->bad,
                             &p->lr,        &p->step,      &p->seed,       &p->eval_loss, &p->eval_valid,
                             &p->logits,    &p->row_index};
    for (size_t i = 0; i < sizeof named / sizeof named[0]; i++)
        *named[i] = -1;
    return p;
}

void tt_program_destroy(tt_program **program)
{
    tt_program *p = *program;
    if (!p)
        return;
    for (int i = 0; i < TT_N_PARTS; i++)
        tt_instr_list_free(&p->part[i].code);
    free(p->value);
    tt_arena_destroy(&p->arena);
    free(p);
    *program = NULL;
}

size_t tt_program_arena_bytes(const tt_program *p)
{
    return p->scope_bytes[TT_SCOPE_STATE] + p->scope_bytes[TT_SCOPE_STEP] +
           p->scope_bytes[TT_SCOPE_FRAME] * (size_t)p->n_frames + p->scope_bytes[TT_SCOPE_SCRATCH];
}

static tt_vid value_append(tt_program *p, const char *name, tt_dtype dtype, int ndim, const int64_t *shape)
{
    if (p->n_values == p->cap_values) {
        p->cap_values = p->cap_values ? 2 * p->cap_values : 1024;
        p->value = realloc(p->value, (size_t)p->cap_values * sizeof *p->value);
        TT_ASSERT(p->value);
    }
    tt_value *v = &p->value[p->n_values];
    *v = (tt_value){.name = name, .dtype = dtype, .ndim = ndim, .root = -1, .param = -1};
    for (int d = 0; d < ndim; d++)
        v->shape[d] = v->local[d] = shape[d];
    v->bytes = tt_value_local_bytes(v);
    return p->n_values++;
}

tt_vid tt_value_new(tt_program *p, const char *name, tt_dtype dtype, int ndim, const int64_t *shape)
{
    return value_append(p, name, dtype, ndim, shape);
}

tt_vid tt_value_view(tt_program *p, tt_vid of, int64_t byte_offset, const char *name, tt_dtype dtype, int ndim,
                     const int64_t *shape)
{
    tt_vid v = value_append(p, name, dtype, ndim, shape);
    p->value[v].root = tt_value_root(p, of);
    p->value[v].byte_offset = p->value[of].byte_offset + byte_offset;
    memcpy(p->value[v].place, p->value[of].place, sizeof p->value[v].place);
    return v;
}

tt_vid tt_value_root(const tt_program *p, tt_vid v)
{
    return p->value[v].root >= 0 ? p->value[v].root : v;
}

int tt_value_is_input(const tt_program *p, tt_vid v)
{
    const tt_inputs *in[] = {&p->train, &p->eval, &p->generate};
    for (int i = 0; i < 3; i++)
        if (v == in[i]->tokens || v == in[i]->targets || v == in[i]->positions || v == in[i]->doc_start)
            return 1;
    return 0;
}

int64_t tt_value_elements(const tt_value *v)
{
    int64_t n = 1;
    for (int d = 0; d < v->ndim; d++)
        n *= v->local[d];
    return n;
}

size_t tt_value_local_bytes(const tt_value *v)
{
    return (size_t)tt_value_elements(v) * tt_dtype_size(v->dtype);
}

tt_instr *tt_emit(tt_program *p, tt_instr_list *list, int op, int n_in, const tt_vid *in, int n_out, const tt_vid *out)
{
    if (list->n == list->cap) {
        list->cap = list->cap ? 2 * list->cap : 64;
        list->at = realloc(list->at, (size_t)list->cap * sizeof *list->at);
        TT_ASSERT(list->at);
    }
    tt_instr *i = &list->at[list->n++];
    *i = (tt_instr){.op = op, .n_in = n_in, .n_out = n_out, .grad_of = -1, .workspace = -1, .role = TT_ROLE_NONE};
    i->in = tt_arena_alloc(p->arena, sizeof(tt_vid) * (size_t)(n_in + n_out + 1));
    i->out = i->in + n_in;
    if (n_in)
        memcpy(i->in, in, sizeof(tt_vid) * (size_t)n_in);
    if (n_out)
        memcpy(i->out, out, sizeof(tt_vid) * (size_t)n_out);
    return i;
}

tt_instr *tt_emit_copy(tt_program *p, tt_instr_list *list, const tt_instr *from)
{
    tt_instr copy = *from; /* from may be in the list that grows */
    tt_instr *i = tt_emit(p, list, copy.op, copy.n_in, copy.in, copy.n_out, copy.out);
    copy.in = i->in;
    copy.out = i->out;
    *i = copy;
    return i;
}

void tt_instr_list_free(tt_instr_list *list)
{
    free(list->at);
    *list = (tt_instr_list){0};
}
