/* See print.h. One routine writes an instruction both for the reader and as a key: in a key, numbers of values, blocks and
 * instructions are relative to the block at hand, so two layers that do the same have the same key and are shown once. */
#include "graph/print.h"

#include "graph/ops.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#define NO_PART (-2)
#define MAX_PERIOD 8 /* layers that alternate (recompute every n-th) are folded up to this n */

/* Where a value is made first: what identifies it inside its block. */
typedef struct origin {
    int part, instr, block, ordinal, out;
} origin;

/* Something that can be shown once for several layers (or for several chunks of the loss). */
typedef struct piece {
    int block;      /* whose it is */
    int chunk;      /* which chunk of the loss */
    int first, end; /* its instructions */
    uint64_t key;
} piece;

typedef struct printer {
    const tt_program *p;
    FILE *out;
    const tt_print_opts *opts;
    origin *origin;             /* by root value; part -1 = nobody writes it */
    int *ordinal[TT_N_PARTS];   /* of each instruction among those of its block in its part */
    char *made;                 /* by root value: this part writes it */
    int part;
    const piece *key; /* writing the key of this one; NULL: writing for the reader */
} printer;

/* --- names ----------------------------------------------------------------------------------------------------------- */

const char *tt_queue_name(tt_queue queue)
{
    static const char *const name[TT_N_QUEUES] = {"compute", "gather", "reduce", "tp", "copy"};
    return name[queue];
}

char tt_role_letter(tt_role role)
{
    return "FIW-"[role];
}

static const char *dtype_name(tt_dtype t)
{
    static const char *const name[TT_N_DTYPES] = {"f32", "bf16", "f64", "f16", "i32", "i64", "u8"};
    return name[t];
}

static size_t add(char *text, size_t size, size_t at, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
static size_t add(char *text, size_t size, size_t at, const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    int n = at < size ? vsnprintf(text + at, size - at, format, ap) : 0;
    va_end(ap);
    return n < 0 ? at : at + (size_t)n;
}

char *tt_value_type_text(const tt_program *p, tt_vid v, char *text, size_t size)
{
    const tt_value *x = &p->value[v];
    size_t at = add(text, size, 0, "%s[", dtype_name(x->dtype));
    for (int d = 0; d < x->ndim; d++)
        at = add(text, size, at, "%s%lld", d ? "," : "", (long long)x->local[d]);
    if (memcmp(x->shape, x->local, sizeof x->shape[0] * (size_t)x->ndim))
        for (int d = 0; d < x->ndim; d++)
            at = add(text, size, at, "%s%lld", d ? "," : " of ", (long long)x->shape[d]);
    at = add(text, size, at, "]");
    for (int a = 0; a < TT_N_AXES; a++) {
        char place[8];
        if (p->mesh.degree[a] > 1 && x->place[a].kind != TT_R)
            at = add(text, size, at, " %s:%s", tt_axis_name(a), tt_placement_name(x->place[a], place));
    }
    return text;
}

/* A name; in a key, layer numbers do not matter. */
static void put_name(const printer *k, const char *name)
{
    for (; *name; name++)
        if (!k->key || *name < '0' || *name > '9')
            fputc(*name, k->out);
        else if (name[1] < '0' || name[1] > '9')
            fputc('#', k->out);
}

static int is_layer(const tt_program *p, int block)
{
    return block > 0 && block < p->n_blocks - 1;
}

static void put_block(const printer *k, int block)
{
    if (k->key && is_layer(k->p, block))
        fprintf(k->out, "L%+d", block - k->key->block);
    else
        fprintf(k->out, "b%d", block);
}

static void put_value(const printer *k, tt_vid v)
{
    const tt_value *x = &k->p->value[v];
    tt_vid root = tt_value_root(k->p, v);
    const origin *o = &k->origin[root];
    put_name(k, x->name);
    if (!k->key) {
        fprintf(k->out, "%%%d", v);
    } else if (o->part < 0) {
        fprintf(k->out, "%%%d", root);
    } else if (o->part == k->part && o->instr >= k->key->first && o->instr < k->key->end) {
        fprintf(k->out, "%%here%d.%d", o->instr - k->key->first, o->out);
    } else {
        fprintf(k->out, "%%%d.", o->part);
        put_block(k, o->block);
        fprintf(k->out, ".%d.%d", o->ordinal, o->out);
    }
}

/* A view says what it shows of which value. */
static void put_view(const printer *k, tt_vid v)
{
    const tt_value *x = &k->p->value[v];
    if (x->root < 0)
        return;
    fputc('(', k->out);
    put_value(k, x->root);
    if (k->key && (k->key->chunk || tt_value_elements(x) == 1)) /* a chunk's rows, a block's number */
        fputs("+own)", k->out);
    else
        fprintf(k->out, "+%lld)", (long long)x->byte_offset);
}

static void put_typed(const printer *k, tt_vid v)
{
    char type[256];
    put_value(k, v);
    put_view(k, v);
    fprintf(k->out, " %s", tt_value_type_text(k->p, v, type, sizeof type));
    const tt_value *root = &k->p->value[tt_value_root(k->p, v)];
    if (k->opts->offsets && !k->key)
        fprintf(k->out, " @%zu", root->offset + (size_t)k->p->value[v].byte_offset);
}

/* --- attributes ------------------------------------------------------------------------------------------------------ */

typedef enum kind { INT, LONG, REAL, INDEX, OWN } kind; /* the last two differ between pieces that are alike */

static const struct attribute {
    const char *name;
    size_t offset;
    kind kind;
} attributes[] = {
#define A(kind, field) {#field, offsetof(tt_attrs, field), kind}
    A(INT, n_heads),     A(INT, n_kv_heads),   A(INT, head_dim), A(LONG, seq_len),      A(LONG, window),
    A(INT, causal),      A(INT, half_split),   A(INT, inverse),  A(REAL, scale),        A(REAL, eps),
    A(REAL, beta1),      A(REAL, beta2),       A(REAL, weight_decay), A(INT, decoupled), A(REAL, max_norm),
    A(LONG, vocab_start), A(LONG, vocab_valid), A(INT, dim),     A(INDEX, index),       A(INT, dist),
    A(OWN, std),   A(REAL, lo),          A(REAL, hi),
#undef A
};

/* As few digits as give the number back. */
static void put_real(const printer *k, const char *name, double x)
{
    char text[32];
    for (int digits = 6; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, x);
        if (strtod(text, NULL) == x)
            break;
    }
    fprintf(k->out, " %s=%s", name, text);
}

static void put_attribute(const printer *k, const tt_attrs *attr, const struct attribute *a)
{
    const char *at = (const char *)attr + a->offset;
    const int whole = a->kind == INT || a->kind == LONG || a->kind == INDEX;
    const long long n = a->kind == INT ? *(const int *)at : whole ? (long long)*(const int64_t *)at : 0;
    if ((whole ? n == 0 : *(const double *)at == 0) || (k->key && (a->kind == INDEX || a->kind == OWN)))
        return;
    if (whole)
        fprintf(k->out, " %s=%lld", a->name, n);
    else
        put_real(k, a->name, *(const double *)at);
}

static void put_attributes(const printer *k, const tt_instr *i)
{
    char axes[64];
    if (i->attr.axes)
        fprintf(k->out, " over %s", tt_mesh_mask_name(i->attr.axes, axes, sizeof axes));
    for (size_t a = 0; a < sizeof attributes / sizeof attributes[0]; a++)
        put_attribute(k, &i->attr, &attributes[a]);
    if (i->op != TT_OP_init)
        return;
    if (!k->key)
        fprintf(k->out, " key=%016llx", (unsigned long long)i->attr.key);
    for (int d = 0; d < k->p->value[i->out[0]].ndim; d++)
        fprintf(k->out, "%s%lld+%lld of %lld", d ? ", " : " box=", (long long)i->attr.box_start[d],
                (long long)i->attr.box_count[d], (long long)i->attr.full_dim[d]);
}

/* --- one instruction ------------------------------------------------------------------------------------------------- */

static void put_head(const printer *k, const tt_instr *i, int j)
{
    if (!k->key)
        fprintf(k->out, "%5d ", j);
    fprintf(k->out, "%-7s %c ", tt_queue_name(i->queue), tt_role_letter(i->role));
    put_block(k, i->block);
    fputs("  ", k->out);
}

static void put_waits(const printer *k, const tt_instr *i)
{
    const tt_instr_list *code = &k->p->part[k->part].code;
    for (int w = 0; w < i->n_wait; w++) {
        fputs(w ? "," : "; wait ", k->out);
        if (k->key && i->wait[w] >= k->key->first && i->wait[w] < k->key->end) {
            fprintf(k->out, "here%d", i->wait[w] - k->key->first);
        } else if (k->key) {
            put_block(k, code->at[i->wait[w]].block);
            fprintf(k->out, ".%d", k->ordinal[k->part][i->wait[w]]);
        } else {
            fprintf(k->out, "%d", i->wait[w]);
        }
    }
}

static void put_instr(const printer *k, int j)
{
    static const char *const acc[] = {"", "; add unless first", "; add"};
    const tt_instr *i = &k->p->part[k->part].code.at[j];
    put_head(k, i, j);
    for (int o = 0; o < i->n_out; o++) {
        fputs(o ? ", " : "", k->out);
        put_typed(k, i->out[o]);
    }
    fprintf(k->out, "%s%s", i->n_out ? " = " : "", tt_op_info(i->op)->name);
    for (int a = 0; a < i->n_in; a++) {
        fputs(a ? ", " : " ", k->out);
        if (k->p->value[i->in[a]].root >= 0 && !k->made[tt_value_root(k->p, i->in[a])])
            put_typed(k, i->in[a]); /* a view made for this use */
        else {
            put_value(k, i->in[a]);
            put_view(k, i->in[a]);
        }
    }
    put_attributes(k, i);
    fputs(tt_op_info(i->op)->gradient ? acc[i->acc] : "", k->out);
    if (i->workspace >= 0) {
        fprintf(k->out, "; workspace %zu", k->p->value[i->workspace].bytes);
        if (k->opts->offsets && !k->key)
            fprintf(k->out, " @%zu", k->p->value[i->workspace].offset);
    }
    put_waits(k, i);
    fputc('\n', k->out);
}

/* --- folding --------------------------------------------------------------------------------------------------------- */

typedef void (*put_fn)(printer *k, const piece *x);

static uint64_t key_of(printer *k, const piece *x, put_fn put)
{
    FILE *out = k->out;
    char *text = NULL;
    size_t n = 0;
    k->out = open_memstream(&text, &n);
    TT_ASSERT(k->out);
    k->key = x;
    put(k, x);
    fclose(k->out);
    k->out = out;
    k->key = NULL;
    uint64_t hash = XXH3_64bits(text, n);
    free(text);
    return hash;
}

/* How far b is from a, counted in layers or in chunks of the loss; 0 when they cannot be alike. */
static int distance(const tt_program *p, const piece *a, const piece *b)
{
    if (a->chunk && b->chunk)
        return a->block == b->block ? b->chunk - a->chunk : 0;
    return is_layer(p, a->block) && is_layer(p, b->block) ? b->block - a->block : 0;
}

/* How many of the pieces after x[0 .. period) repeat them, layer for layer. */
static int repeats(const tt_program *p, const piece *x, int n, int period)
{
    int r = 0;
    for (int i = period; i < n; i++, r++) {
        int step = distance(p, &x[i - period], &x[i]);
        if (x[i].key != x[i - period].key || (step != period && step != -period))
            break;
    }
    return r >= period || (period == 1 && r) ? r : 0;
}

/* "blocks 3..30 as block 2" */
static void put_alike(const printer *k, const piece *x, int period, int n)
{
    const int chunks = x->chunk > 0, last = period - 1, to = period + n - 1;
    const char *noun = chunks ? "chunk" : "block";
    fprintf(k->out, "      %s%s ", noun, n > 1 ? "s" : "");
    fprintf(k->out, "%d", chunks ? x[period].chunk : x[period].block);
    if (n > 1)
        fprintf(k->out, "..%d", chunks ? x[to].chunk : x[to].block);
    fprintf(k->out, " as %s%s %d", noun, period > 1 ? "s" : "", chunks ? x->chunk : x->block);
    if (period > 1)
        fprintf(k->out, "..%d, in turn", chunks ? x[last].chunk : x[last].block);
    fputc('\n', k->out);
}

static void put_folded(printer *k, piece *x, int n, put_fn put)
{
    const int fold = !k->opts->unfolded && !k->opts->offsets;
    for (int i = 0; i < n && fold; i++)
        x[i].key = key_of(k, &x[i], put);
    for (int i = 0; i < n;) {
        int period = 1, best = 0;
        for (int try = 1; fold && try <= MAX_PERIOD && i + try < n; try++) {
            int r = repeats(k->p, x + i, n - i, try);
            if (r > best) {
                best = r;
                period = try;
            }
        }
        for (int s = 0; s < period; s++)
            put(k, &x[i + s]);
        if (best)
            put_alike(k, &x[i], period, best);
        i += period + best;
    }
}

/* --- parts ----------------------------------------------------------------------------------------------------------- */

static void put_range(printer *k, const piece *x)
{
    for (int j = x->first; j < x->end; j++)
        put_instr(k, j);
}

/* Pieces of a part: a block's instructions in a row, cut at the chunks of the loss; a prefetched gather goes with the
 * block that computes meanwhile. */
static int cut(const printer *k, piece *x)
{
    const tt_instr_list *code = &k->p->part[k->part].code;
    int n = 0;
    for (int j = 0; j < code->n; j++) {
        const tt_instr *i = &code->at[j];
        int gather = i->queue == TT_Q_GATHER && i->after_compute;
        int chunk = n && i->block == x[n - 1].block && i->attr.index > x[n - 1].chunk;
        if (!n || chunk || (i->block != x[n - 1].block && !gather))
            x[n++] = (piece){.block = i->block, .chunk = (int)i->attr.index, .first = j};
        x[n - 1].end = j + 1;
    }
    return n;
}

static void put_part(printer *k, int part)
{
    const tt_program *p = k->p;
    const tt_part *t = &p->part[part];
    k->part = part;
    memset(k->made, 0, (size_t)p->n_values + 1);
    for (int j = 0; j < t->code.n; j++)
        for (int o = 0; o < t->code.at[j].n_out; o++)
            k->made[tt_value_root(p, t->code.at[j].out[o])] = 1;
    fprintf(k->out, "\npart %s: %d instructions, scratch %zu bytes (floor %zu)\n", t->name, t->code.n,
            t->scratch_bytes, t->scratch_floor);
    piece *x = calloc((size_t)t->code.n + 1, sizeof *x);
    TT_ASSERT(x);
    put_folded(k, x, cut(k, x), put_range);
    free(x);
}

/* --- parameters ------------------------------------------------------------------------------------------------------ */

static void put_param(printer *k, const tt_param *w)
{
    char type[256];
    fputs("      ", k->out);
    put_name(k, w->fqn);
    fprintf(k->out, " %s; state f32[", tt_value_type_text(k->p, w->compute, type, sizeof type));
    for (int d = 0; d < w->ndim; d++)
        fprintf(k->out, "%s%lld", d ? "," : "", (long long)w->state_local[d]);
    fprintf(k->out, "]+%lld holds", (long long)w->state_offset);
    for (int d = 0; d < w->ndim; d++)
        fprintf(k->out, "%s%lld+%lld", d ? ", " : " ", (long long)w->box_start[d], (long long)w->box_count[d]);
    fprintf(k->out, "%s%s\n", w->owner ? "; owner" : "", w->grad_partial_tp ? "; gradient summed over tp" : "");
}

static void put_params(printer *k, const piece *x)
{
    const tt_program *p = k->p;
    fputs("  ", k->out);
    put_block(k, x->block);
    fprintf(k->out, ": %lld elements of state\n", (long long)p->state[x->block].n);
    for (int w = 0; w < p->n_params; w++)
        if (p->param[w].block == x->block)
            put_param(k, &p->param[w]);
}

/* One piece per block. */
static void put_blocks(printer *k, put_fn put)
{
    piece *x = calloc((size_t)k->p->n_blocks + 1, sizeof *x);
    TT_ASSERT(x);
    for (int b = 0; b < k->p->n_blocks; b++)
        x[b].block = b;
    put_folded(k, x, k->p->n_blocks, put);
    free(x);
}

/* --- saved values ---------------------------------------------------------------------------------------------------- */

static int is_saved(const printer *k, tt_vid v)
{
    const tt_value *x = &k->p->value[v];
    return x->root < 0 && x->scope == TT_SCOPE_FRAME && k->origin[v].part == TT_PART_FORWARD && !tt_value_is_input(k->p, v);
}

static void put_saved(printer *k, const piece *x)
{
    size_t total = 0;
    for (int v = 0; v < k->p->n_values; v++)
        if (is_saved(k, v) && k->origin[v].block == x->block)
            total += k->p->value[v].bytes;
    fputs("  ", k->out);
    put_block(k, x->block);
    fprintf(k->out, ": %zu bytes\n", total);
    for (int v = 0; v < k->p->n_values; v++) {
        if (!is_saved(k, v) || k->origin[v].block != x->block)
            continue;
        fputs("      ", k->out);
        put_typed(k, v);
        fprintf(k->out, ", %zu bytes\n", k->p->value[v].bytes);
    }
}

static void saved_section(printer *k)
{
    size_t total = 0;
    for (int v = 0; v < k->p->n_values; v++)
        if (is_saved(k, v))
            total += k->p->value[v].bytes;
    fprintf(k->out, "saved for the backward: %zu bytes a microbatch\n", total);
    put_blocks(k, put_saved);
}

/* --- the whole ------------------------------------------------------------------------------------------------------- */

static void find_origins(printer *k)
{
    const tt_program *p = k->p;
    int *count = malloc(sizeof *count * (size_t)(p->n_blocks + 1));
    k->origin = malloc(sizeof *k->origin * (size_t)(p->n_values + 1));
    k->made = malloc((size_t)p->n_values + 1);
    TT_ASSERT(count && k->origin && k->made);
    memset(k->origin, 0xff, sizeof *k->origin * (size_t)(p->n_values + 1));
    for (int part = 0; part < TT_N_PARTS; part++) {
        const tt_instr_list *code = &p->part[part].code;
        k->ordinal[part] = malloc(sizeof(int) * (size_t)(code->n + 1));
        TT_ASSERT(k->ordinal[part]);
        memset(count, 0, sizeof *count * (size_t)(p->n_blocks + 1));
        for (int j = 0; j < code->n; j++) {
            const tt_instr *i = &code->at[j];
            k->ordinal[part][j] = count[i->block]++;
            for (int o = 0; o < i->n_out; o++) {
                origin *x = &k->origin[tt_value_root(p, i->out[o])];
                if (x->part < 0)
                    *x = (origin){part, j, i->block, k->ordinal[part][j], o};
            }
        }
    }
    free(count);
}

static void release(printer *k)
{
    for (int part = 0; part < TT_N_PARTS; part++)
        free(k->ordinal[part]);
    free(k->origin);
    free(k->made);
}

static void header(const printer *k)
{
    const tt_program *p = k->p;
    char mesh[128];
    fprintf(k->out, "program of rank %d of %d: %s", p->mesh.rank, p->mesh.size,
            tt_mesh_describe(&p->mesh, mesh, sizeof mesh));
    for (int a = 0, n = 0; a < TT_N_AXES; a++)
        if (p->mesh.degree[a] > 1)
            fprintf(k->out, "%s%s %d", n++ ? ", " : "; here ", tt_axis_name(a), p->mesh.coord[a]);
    fprintf(k->out, "\ncompute in %s; %d x %d sequences of %lld tokens a step; %d blocks, %d parameters\n",
            dtype_name(p->compute_dtype), p->n_microbatches, p->train.batch, (long long)p->train.seq_len, p->n_blocks,
            p->n_params);
    fprintf(k->out, "bytes: state %zu, step %zu, frame %zu x %d, scratch %zu\n", p->scope_bytes[TT_SCOPE_STATE],
            p->scope_bytes[TT_SCOPE_STEP], p->scope_bytes[TT_SCOPE_FRAME], p->n_frames,
            p->scope_bytes[TT_SCOPE_SCRATCH]);
}

void tt_program_print(const tt_program *p, FILE *out, const tt_print_opts *opts)
{
    static const tt_print_opts plain = {0};
    printer k = {.p = p, .out = out, .opts = opts ? opts : &plain, .part = NO_PART};
    find_origins(&k);
    header(&k);
    fputs("\nparameters\n", out);
    put_blocks(&k, put_params);
    fputc('\n', out);
    saved_section(&k);
    for (int part = 0; part < TT_N_PARTS; part++)
        if (p->part[part].code.n && (!k.opts->parts || k.opts->parts & 1 << part))
            put_part(&k, part);
    release(&k);
}

void tt_program_print_saved(const tt_program *p, FILE *out, int unfolded)
{
    const tt_print_opts opts = {.unfolded = unfolded};
    printer k = {.p = p, .out = out, .opts = &opts, .part = NO_PART};
    find_origins(&k);
    saved_section(&k);
    release(&k);
}

uint64_t tt_program_hash(const tt_program *p)
{
    char *text = NULL;
    size_t n = 0;
    FILE *out = open_memstream(&text, &n);
    TT_ASSERT(out);
    tt_program_print(p, out, &(tt_print_opts){.unfolded = 1});
    fclose(out);
    uint64_t hash = XXH3_64bits(text, n);
    free(text);
    return hash;
}
