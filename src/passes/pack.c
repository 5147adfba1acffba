/* See pack.h. */
#include "passes/pack.h"

#include "passes/order.h"

#include <stdlib.h>
#include <string.h>

#define SPAN 64 /* instructions per bucket of the index by time */

/* One scratch value of the part. */
typedef struct item {
    tt_vid v;
    size_t bytes, offset; /* aligned */
    int first, last;      /* accesses, in program order */
    int at[TT_N_QUEUES];  /* last access on each queue, -1 none */
    int free[TT_N_QUEUES]; /* first instruction of each queue that knows all accesses to be done; n when none does */
    int until;            /* largest of these: nobody from here on can meet it */
} item;

typedef struct bucket {
    int *at; /* items placed so far that are in use at some instruction of this span */
    int n, cap;
} bucket;

typedef struct packer {
    tt_program *p;
    const tt_instr_list *code;
    tt_clock *clock;
    int *on[TT_N_QUEUES], n_on[TT_N_QUEUES]; /* each queue's instructions */
    item *item;
    int n;
    int *index; /* item of a value, -1 none */
    bucket *bucket;
    int *met;   /* items that the one at hand meets */
    int n_met;
    int *stamp; /* item already in met for this one */
} packer;

/* --- lives ----------------------------------------------------------------------------------------------------------- */

static void touch(packer *k, tt_vid v, int j)
{
    v = tt_value_root(k->p, v);
    if (k->p->value[v].scope != TT_SCOPE_SCRATCH)
        return;
    if (k->index[v] < 0) {
        k->index[v] = k->n;
        item *x = &k->item[k->n++];
        *x = (item){.v = v, .bytes = tt_memory_align(k->p->value[v].bytes), .first = j};
        memset(x->at, 0xff, sizeof x->at);
    }
    item *x = &k->item[k->index[v]];
    x->last = j;
    x->at[k->code->at[j].queue] = j;
}

static int is_done_before(const item *x, const tt_clock *c)
{
    for (int q = 0; q < TT_N_QUEUES; q++)
        if (x->at[q] > c->at[q])
            return 0;
    return 1;
}

/* What a queue knows only grows, so the first instruction that knows x to be done is found by halving. */
static void find_end(packer *k, item *x)
{
    x->until = x->last + 1;
    for (int q = 0; q < TT_N_QUEUES; q++) {
        int low = 0, high = k->n_on[q];
        while (low < high) {
            int mid = (low + high) / 2;
            if (is_done_before(x, &k->clock[k->on[q][mid]]))
                high = mid;
            else
                low = mid + 1;
        }
        x->free[q] = low < k->n_on[q] ? k->on[q][low] : k->code->n;
        /* later than its last use, an instruction of q meets x until free[q] */
        if (low > 0 && k->on[q][low - 1] + 1 > x->until)
            x->until = k->on[q][low - 1] + 1;
    }
}

static void find_lives(packer *k)
{
    for (int j = 0; j < k->code->n; j++) {
        const tt_instr *i = &k->code->at[j];
        k->on[i->queue][k->n_on[i->queue]++] = j;
        for (int a = 0; a < i->n_in + i->n_out; a++)
            touch(k, i->in[a], j);
        if (i->workspace >= 0)
            touch(k, i->workspace, j);
    }
    for (int x = 0; x < k->n; x++)
        find_end(k, &k->item[x]);
}

static int precedes(const packer *k, const item *a, const item *b)
{
    return b->first >= a->free[k->code->at[b->first].queue];
}

/* --- floor ------------------------------------------------------------------------------------------------------------ */

/* The first instruction, on whatever queue, that knows x to be done. */
static int earliest_free(const item *x)
{
    int j = x->free[0];
    for (int q = 1; q < TT_N_QUEUES; q++)
        if (x->free[q] < j)
            j = x->free[q];
    return j;
}

/* Largest sum of bytes in use at one instruction: all born and not known to be done by anyone, hence no two of them may
 * share space. */
static size_t floor_bytes(const packer *k)
{
    size_t *born = calloc((size_t)k->code->n + 2, sizeof *born), *gone = calloc((size_t)k->code->n + 2, sizeof *gone);
    TT_ASSERT(born && gone);
    for (int x = 0; x < k->n; x++) {
        born[k->item[x].first] += k->item[x].bytes;
        gone[earliest_free(&k->item[x])] += k->item[x].bytes;
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

/* --- placing --------------------------------------------------------------------------------------------------------- */

static void bucket_add(packer *k, int x)
{
    for (int b = k->item[x].first / SPAN; b <= (k->item[x].until - 1) / SPAN; b++) {
        bucket *t = &k->bucket[b];
        if (t->n == t->cap) {
            t->cap = t->cap ? 2 * t->cap : 32;
            t->at = realloc(t->at, sizeof *t->at * (size_t)t->cap);
            TT_ASSERT(t->at);
        }
        t->at[t->n++] = x;
    }
}

/* Placed items that may be in use together with x, by offset. */
static void find_met(packer *k, int x)
{
    const item *me = &k->item[x];
    k->n_met = 0;
    for (int b = me->first / SPAN; b <= (me->until - 1) / SPAN; b++)
        for (int i = 0; i < k->bucket[b].n; i++) {
            int y = k->bucket[b].at[i];
            const item *other = &k->item[y];
            if (k->stamp[y] == x || precedes(k, me, other) || precedes(k, other, me))
                continue;
            k->stamp[y] = x;
            int at = k->n_met++;
            for (; at > 0 && k->item[k->met[at - 1]].offset > other->offset; at--)
                k->met[at] = k->met[at - 1];
            k->met[at] = y;
        }
}

/* The smallest gap that x fits into; the end of the space in use otherwise. */
static size_t best_gap(const packer *k, size_t need)
{
    size_t edge = 0, best = 0, best_gap = (size_t)-1;
    for (int i = 0; i < k->n_met; i++) {
        const item *y = &k->item[k->met[i]];
        if (y->offset >= edge + need && y->offset - edge < best_gap) {
            best = edge;
            best_gap = y->offset - edge;
        }
        if (y->offset + y->bytes > edge)
            edge = y->offset + y->bytes;
    }
    return best_gap != (size_t)-1 ? best : edge;
}

typedef struct key {
    double weight; /* larger ones are placed first */
    int first, x;
} key;

static int heavier_first(const void *a, const void *b)
{
    const key *x = a, *y = b;
    if (x->weight != y->weight)
        return x->weight > y->weight ? -1 : 1;
    return x->first < y->first ? -1 : x->first > y->first;
}

/* What decides who is placed first: the size; size times life. */
enum { BY_SIZE, BY_AREA, N_RULES, TRIES = 16 };

static double weight(const item *x, int rule)
{
    return rule == BY_SIZE ? (double)x->bytes : (double)x->bytes * (x->until - x->first);
}

/* Place all in the order of their weights. */
static size_t place_all(packer *k, key *order)
{
    qsort(order, (size_t)k->n, sizeof *order, heavier_first);
    for (int b = 0; b <= (k->code->n - 1) / SPAN; b++)
        k->bucket[b].n = 0;
    memset(k->stamp, 0xff, sizeof *k->stamp * (size_t)k->n);
    size_t high = 0;
    for (int i = 0; i < k->n; i++) {
        item *x = &k->item[order[i].x];
        find_met(k, order[i].x);
        x->offset = best_gap(k, x->bytes);
        if (x->offset + x->bytes > high)
            high = x->offset + x->bytes;
        bucket_add(k, order[i].x);
    }
    return high;
}

/* Whoever reaches beyond `limit` was placed too late: let it come earlier the next time.
 * Source: Joslin and Clements, "Squeaky wheel optimization", JAIR 10, 1999. */
static void raise_late_ones(const packer *k, key *order, size_t limit)
{
    for (int i = 0; i < k->n; i++)
        if (k->item[order[i].x].offset + k->item[order[i].x].bytes > limit)
            order[i].weight *= 3;
}

/* The best of some orders; a further one is tried only while there is something to win. */
static size_t place_best(packer *k, size_t floor)
{
    size_t best = (size_t)-1;
    key *order = malloc(sizeof *order * (size_t)(k->n + 1));
    TT_ASSERT(order);
    for (int try = 0; try < N_RULES + TRIES && best > floor + floor / 64; try++) {
        for (int x = 0; (try < N_RULES || try == N_RULES + TRIES / 2) && x < k->n; x++)
            order[x] = (key){weight(&k->item[x], try % 2), k->item[x].first, x};
        const size_t high = place_all(k, order);
        for (int x = 0; high < best && x < k->n; x++)
            k->p->value[k->item[x].v].offset = k->item[x].offset;
        best = high < best ? high : best;
        if (try + 1 >= N_RULES)
            raise_late_ones(k, order, high - high / 10);
    }
    free(order);
    return best;
}

void tt_pack_part(tt_program *p, tt_part *part)
{
    const int n = part->code.n, spans = n / SPAN + 1;
    packer k = {.p = p, .code = &part->code};
    part->scratch_bytes = part->scratch_floor = 0;
    if (n == 0)
        return;
    int touches = 0;
    for (int j = 0; j < n; j++)
        touches += part->code.at[j].n_in + part->code.at[j].n_out + 1;
    int *queues = malloc(sizeof *queues * (size_t)(n * TT_N_QUEUES));
    k.clock = tt_clocks(&part->code);
    k.item = malloc(sizeof *k.item * (size_t)touches);
    k.index = malloc(sizeof *k.index * (size_t)(p->n_values + 1));
    k.met = malloc(sizeof *k.met * (size_t)touches);
    k.stamp = malloc(sizeof *k.stamp * (size_t)touches);
    k.bucket = calloc((size_t)spans, sizeof *k.bucket);
    TT_ASSERT(queues && k.item && k.index && k.met && k.stamp && k.bucket);
    memset(k.index, 0xff, sizeof *k.index * (size_t)(p->n_values + 1));
    for (int q = 0; q < TT_N_QUEUES; q++)
        k.on[q] = queues + q * n;
    find_lives(&k);
    part->scratch_floor = floor_bytes(&k);
    part->scratch_bytes = place_best(&k, part->scratch_floor);
    for (int b = 0; b < spans; b++)
        free(k.bucket[b].at);
    free(k.bucket);
    free(k.stamp);
    free(k.met);
    free(k.index);
    free(k.item);
    free(k.clock);
    free(queues);
}
