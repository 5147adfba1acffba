/* See bpe.h. */
#include "data/bpe.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { ID_LIMIT = 1 << 24, SLOT_BYTES = 24, SLOT_IDS = 8, SLOTS_LOG2 = 16, SHORT_PIECE = 48 };

/* A piece of text and its ids, one cache line. state: 0 free, 1 being written, else ready with a part of the hash. */
typedef struct slot {
    _Atomic uint32_t state;
    uint8_t length, n;
    uint64_t text[SLOT_BYTES / 8];
    int32_t ids[SLOT_IDS];
} slot;

typedef struct pair {
    uint64_t key; /* a << 32 | b; EMPTY */
    uint32_t rank;
    int32_t joined;
} pair;

#define EMPTY UINT64_MAX

typedef struct span {
    uint32_t at;
    uint32_t length; /* top bit: reachable; ABSENT: no such id */
} span;

enum { REACHABLE = 1u << 31 };
#define ABSENT UINT32_MAX

struct tt_bpe {
    unsigned char *blob; /* bytes of all tokens */
    size_t blob_n, blob_room;
    span *tokens; /* by id */
    int32_t size, count, tokens_room;
    int32_t *words; /* hash table of ids by bytes, -1 free */
    uint64_t words_mask;
    pair *pairs;
    uint64_t pairs_mask, pairs_n;
    int32_t of_byte[256];
    int32_t unknown;
    int fuse, ignore_merges;
    slot *slots;
};

tt_status tt_ids_reserve(tt_ids *ids, size_t more, tt_error *err)
{
    if (ids->n + more <= ids->room)
        return TT_OK;
    size_t room = ids->room * 2 > ids->n + more ? ids->room * 2 : ids->n + more;
    int32_t *at = realloc(ids->at, room * sizeof *at);
    if (!at)
        return tt_fail(err, TT_ERR_NOMEM, "encoding a text: no memory for %zu ids; split the file", room);
    ids->at = at;
    ids->room = room;
    return TT_OK;
}

tt_status tt_bpe_create(tt_bpe **bpe, tt_error *err)
{
    *bpe = calloc(1, sizeof **bpe);
    if (!*bpe || !((*bpe)->slots = calloc((size_t)1 << SLOTS_LOG2, sizeof(slot)))) {
        free(*bpe);
        *bpe = NULL;
        return tt_fail(err, TT_ERR_NOMEM, "opening a tokenizer: no memory");
    }
    (*bpe)->unknown = -1;
    return TT_OK;
}

void tt_bpe_destroy(tt_bpe **bpe)
{
    if (!*bpe)
        return;
    free((*bpe)->blob);
    free((*bpe)->tokens);
    free((*bpe)->words);
    free((*bpe)->pairs);
    free((*bpe)->slots);
    free(*bpe);
    *bpe = NULL;
}

static inline uint64_t mix(uint64_t a, uint64_t b)
{
    __extension__ typedef unsigned __int128 wide;
    wide r = (wide)a * b;
    return (uint64_t)r ^ (uint64_t)(r >> 64);
}

static inline uint64_t load(const unsigned char *s, size_t n)
{
    uint64_t w = 0;
    memcpy(&w, s, n < 8 ? n : 8);
    return w;
}

static uint64_t hash_bytes(const unsigned char *s, size_t n)
{
    uint64_t h = 0x9E3779B97F4A7C15u ^ n;
    for (; n >= 8; s += 8, n -= 8)
        h = mix(h ^ load(s, 8), 0xD6E8FEB86659FD93u);
    return mix(h ^ load(s, n), 0xA0761D6478BD642Fu);
}

static inline uint64_t hash_pair(uint64_t key)
{
    return mix(key, 0x9E3779B97F4A7C15u);
}

static tt_status grow_tokens(tt_bpe *b, int32_t id, size_t n, tt_error *err)
{
    if (b->blob_n + n + 8 > b->blob_room) {
        size_t room = 2 * b->blob_room + n + 4096;
        unsigned char *blob = room < UINT32_MAX ? realloc(b->blob, room) : NULL;
        if (!blob)
            return tt_fail(err, TT_ERR_NOMEM, "opening a tokenizer: no memory for %zu bytes of tokens", room);
        b->blob = blob;
        b->blob_room = room;
    }
    if (id >= b->tokens_room) {
        int32_t room = 2 * b->tokens_room > id + 1024 ? 2 * b->tokens_room : id + 1024;
        span *tokens = realloc(b->tokens, (size_t)room * sizeof *tokens);
        if (!tokens)
            return tt_fail(err, TT_ERR_NOMEM, "opening a tokenizer: no memory for %d tokens", room);
        b->tokens = tokens;
        b->tokens_room = room;
    }
    return TT_OK;
}

tt_status tt_bpe_add_token(tt_bpe *b, int32_t id, const void *bytes, size_t n, int reachable, tt_error *err)
{
    if (id < 0 || id >= ID_LIMIT)
        return tt_fail(
            err, TT_ERR_DATA,
            "token \"%.*s\" has id %d; ids go from 0 to %d: download the tokenizer again",
            (int)(n < 40 ? n : 40), (const char *)bytes, id, ID_LIMIT - 1);
    tt_status st = grow_tokens(b, id, n, err);
    if (st != TT_OK)
        return st;
    while (b->size <= id)
        b->tokens[b->size++] = (span){0, ABSENT};
    if (b->tokens[id].length != ABSENT)
        return tt_fail(err, TT_ERR_DATA,
                       "the tokens \"%.*s\" and \"%.*s\" both have the id %d; each needs its own: "
                       "download the tokenizer again",
                       (int)((b->tokens[id].length & ~REACHABLE) % 41), b->blob + b->tokens[id].at,
                       (int)(n < 40 ? n : 40), (const char *)bytes, id);
    b->tokens[id] = (span){(uint32_t)b->blob_n, (uint32_t)n | (reachable ? REACHABLE : 0)};
    memcpy(b->blob + b->blob_n, bytes, n);
    b->blob_n += n;
    b->count++;
    return TT_OK;
}

static uint64_t table_mask(size_t entries)
{
    uint64_t size = 1024;
    while (size < 2 * entries)
        size *= 2;
    return size - 1;
}

static int32_t *find_word(const tt_bpe *b, const unsigned char *bytes, size_t n)
{
    for (uint64_t i = hash_bytes(bytes, n) & b->words_mask;; i = (i + 1) & b->words_mask) {
        int32_t id = b->words[i];
        if (id < 0)
            return &b->words[i];
        const span *t = &b->tokens[id];
        if ((t->length & ~REACHABLE) == n && memcmp(b->blob + t->at, bytes, n) == 0)
            return &b->words[i];
    }
}

tt_status tt_bpe_index(tt_bpe *b, tt_error *err)
{
    b->words_mask = table_mask((size_t)b->count);
    b->pairs_mask = table_mask((size_t)b->count);
    b->words = malloc((b->words_mask + 1) * sizeof *b->words);
    b->pairs = malloc((b->pairs_mask + 1) * sizeof *b->pairs);
    if (!b->words || !b->pairs)
        return tt_fail(err, TT_ERR_NOMEM, "opening a tokenizer of %d tokens: no memory", b->count);
    memset(b->words, 0xFF, (b->words_mask + 1) * sizeof *b->words);
    memset(b->pairs, 0xFF, (b->pairs_mask + 1) * sizeof *b->pairs);
    for (int32_t id = 0; id < b->size; id++) {
        const span *t = &b->tokens[id];
        if (t->length == ABSENT || !(t->length & REACHABLE))
            continue;
        int32_t *word = find_word(b, b->blob + t->at, t->length & ~REACHABLE);
        if (*word >= 0)
            return tt_fail(err, TT_ERR_DATA,
                           "the ids %d and %d are the same token; a token may be listed once: "
                           "download the tokenizer again",
                           *word, id);
        *word = id;
    }
    for (int i = 0; i < 256; i++) {
        unsigned char c = (unsigned char)i;
        b->of_byte[i] = tt_bpe_find(b, &c, 1);
    }
    return TT_OK;
}

int32_t tt_bpe_find(const tt_bpe *b, const void *bytes, size_t n)
{
    return *find_word(b, bytes, n);
}

const unsigned char *tt_bpe_token(const tt_bpe *b, int32_t id, size_t *n)
{
    if (id < 0 || id >= b->size || b->tokens[id].length == ABSENT)
        return NULL;
    *n = b->tokens[id].length & ~REACHABLE;
    return b->blob + b->tokens[id].at;
}

int32_t tt_bpe_size(const tt_bpe *b)
{
    return b->size;
}

int32_t tt_bpe_count(const tt_bpe *b)
{
    return b->count;
}

void tt_bpe_set_ignore_merges(tt_bpe *b, int on)
{
    b->ignore_merges = on;
}

void tt_bpe_set_unknown(tt_bpe *b, int32_t id, int fuse)
{
    b->unknown = id;
    b->fuse = fuse;
}

static pair *find_place(pair *pairs, uint64_t mask, uint64_t key)
{
    uint64_t i = hash_pair(key) & mask;
    while (pairs[i].key != EMPTY && pairs[i].key != key)
        i = (i + 1) & mask;
    return &pairs[i];
}

static tt_status grow_pairs(tt_bpe *b, tt_error *err)
{
    const uint64_t mask = 2 * b->pairs_mask + 1;
    pair *pairs = malloc((mask + 1) * sizeof *pairs);
    if (!pairs)
        return tt_fail(err, TT_ERR_NOMEM, "opening a tokenizer: no memory for %llu merges", (unsigned long long)b->pairs_n);
    memset(pairs, 0xFF, (mask + 1) * sizeof *pairs);
    for (uint64_t i = 0; i <= b->pairs_mask; i++)
        if (b->pairs[i].key != EMPTY)
            *find_place(pairs, mask, b->pairs[i].key) = b->pairs[i];
    free(b->pairs);
    b->pairs = pairs;
    b->pairs_mask = mask;
    return TT_OK;
}

tt_status tt_bpe_put_merge(tt_bpe *b, int32_t left, int32_t right, uint32_t rank, int32_t joined, tt_error *err)
{
    const uint64_t key = (uint64_t)left << 32 | (uint32_t)right;
    pair *place = find_place(b->pairs, b->pairs_mask, key);
    if (place->key == EMPTY && 2 * ++b->pairs_n > b->pairs_mask) {
        tt_status st = grow_pairs(b, err);
        if (st != TT_OK)
            return st;
        place = find_place(b->pairs, b->pairs_mask, key);
    }
    *place = (pair){key, rank, joined};
    return TT_OK;
}

tt_status tt_bpe_add_merge(tt_bpe *b, int32_t left, int32_t right, uint32_t rank, tt_error *err)
{
    unsigned char local[256], *both = local;
    size_t n = 0, m = 0;
    const unsigned char *x = tt_bpe_token(b, left, &n), *y = tt_bpe_token(b, right, &m);
    TT_ASSERT(x && y);
    if (n + m > sizeof local && !(both = malloc(n + m)))
        return tt_fail(err, TT_ERR_NOMEM, "opening a tokenizer: no memory for a token of %zu bytes", n + m);
    memcpy(both, x, n);
    memcpy(both + n, y, m);
    const int32_t joined = tt_bpe_find(b, both, n + m);
    tt_status st =
        joined >= 0
            ? TT_OK
            : tt_fail(err, TT_ERR_DATA,
                      "merge %u joins the tokens %d and %d to \"%.*s\", which is not in the "
                      "vocabulary; the file is damaged or the two parts are of different "
                      "tokenizers: download it again",
                      rank, left, right, (int)(n + m < 60 ? n + m : 60), both);
    if (joined >= 0)
        st = tt_bpe_put_merge(b, left, right, rank, joined, err);
    if (both != local)
        free(both);
    return st;
}

static inline const pair *find_pair(const tt_bpe *b, int32_t left, int32_t right)
{
    const uint64_t key = (uint64_t)left << 32 | (uint32_t)right;
    for (uint64_t i = hash_pair(key) & b->pairs_mask;; i = (i + 1) & b->pairs_mask) {
        if (b->pairs[i].key == key)
            return &b->pairs[i];
        if (b->pairs[i].key == EMPTY)
            return NULL;
    }
}

/* --- merging --------------------------------------------------------------------------------------------------------- */

/* Ids of the bytes of a piece; returns how many. out has room for n (two for a byte with an unknown id beside it never occur). */
static size_t first_ids(const tt_bpe *b, const unsigned char *s, size_t n, int32_t *out)
{
    size_t k = 0;
    int unknown_before = 0;
    for (size_t i = 0; i < n; i++) {
        const int32_t id = b->of_byte[s[i]];
        if (id >= 0)
            out[k++] = id;
        else if (b->unknown >= 0 && !(b->fuse && unknown_before))
            out[k++] = b->unknown;
        unknown_before = id < 0;
    }
    return k;
}

/* A short piece: keep the rank of every neighbouring pair and look for the lowest again after each merge. */
static size_t merge_short(const tt_bpe *b, int32_t *ids, size_t n)
{
    uint32_t rank[SHORT_PIECE];
    int32_t joined[SHORT_PIECE];
    for (size_t i = 0; i + 1 < n; i++) {
        const pair *p = find_pair(b, ids[i], ids[i + 1]);
        rank[i] = p ? p->rank : UINT32_MAX;
        joined[i] = p ? p->joined : 0;
    }
    while (n > 1) {
        size_t best = 0;
        for (size_t i = 1; i + 1 < n; i++)
            if (rank[i] < rank[best])
                best = i;
        if (rank[best] == UINT32_MAX)
            break;
        ids[best] = joined[best];
        n--;
        memmove(ids + best + 1, ids + best + 2, (n - best - 1) * sizeof *ids);
        if (best + 1 < n) {
            memmove(rank + best + 1, rank + best + 2, (n - best - 2) * sizeof *rank);
            memmove(joined + best + 1, joined + best + 2, (n - best - 2) * sizeof *joined);
            const pair *p = find_pair(b, ids[best], ids[best + 1]);
            rank[best] = p ? p->rank : UINT32_MAX;
            joined[best] = p ? p->joined : 0;
        }
        if (best > 0) {
            const pair *p = find_pair(b, ids[best - 1], ids[best]);
            rank[best - 1] = p ? p->rank : UINT32_MAX;
            joined[best - 1] = p ? p->joined : 0;
        }
    }
    return n;
}

/* A long piece: a heap of pairs by (rank, place); an entry is stale when its place no longer begins that pair. */
typedef struct entry {
    uint32_t rank;
    uint32_t at;
    int32_t left, right, joined;
} entry;

typedef struct link {
    int32_t before, after; /* -1: none */
} link;

static inline int sooner(const entry *a, const entry *b)
{
    return a->rank != b->rank ? a->rank < b->rank : a->at < b->at;
}

static void heap_push(entry *heap, size_t *n, entry e)
{
    size_t i = (*n)++;
    while (i > 0 && sooner(&e, &heap[(i - 1) / 2])) {
        heap[i] = heap[(i - 1) / 2];
        i = (i - 1) / 2;
    }
    heap[i] = e;
}

static entry heap_pop(entry *heap, size_t *n)
{
    const entry top = heap[0], last = heap[--*n];
    size_t i = 0;
    for (size_t child = 1; child < *n; i = child, child = 2 * i + 1) {
        if (child + 1 < *n && sooner(&heap[child + 1], &heap[child]))
            child++;
        if (!sooner(&heap[child], &last))
            break;
        heap[i] = heap[child];
    }
    heap[i] = last;
    return top;
}

static void offer(const tt_bpe *b, entry *heap, size_t *n, const int32_t *ids, int32_t at, int32_t after)
{
    const pair *p = at >= 0 && after >= 0 ? find_pair(b, ids[at], ids[after]) : NULL;
    if (p)
        heap_push(heap, n, (entry){p->rank, (uint32_t)at, ids[at], ids[after], p->joined});
}

static tt_status merge_long(const tt_bpe *b, int32_t *ids, size_t *count, tt_error *err)
{
    const size_t n = *count;
    size_t waiting = 0, out = 0;
    /* Each merge takes one pair away and offers two: never more than n + 2 * merges <= 3 n entries in all. */
    entry *heap = n < INT32_MAX / 4 ? malloc(3 * n * sizeof *heap) : NULL;
    link *links = malloc(n * sizeof *links);
    tt_status st = TT_OK;
    if (!heap || !links) {
        st = tt_fail(err, TT_ERR_NOMEM, "encoding one word of %zu bytes: no memory; is this a text?", n);
        goto out;
    }
    for (size_t i = 0; i < n; i++)
        links[i] = (link){(int32_t)i - 1, i + 1 < n ? (int32_t)i + 1 : -1};
    for (size_t i = 0; i + 1 < n; i++)
        offer(b, heap, &waiting, ids, (int32_t)i, (int32_t)i + 1);
    while (waiting > 0) {
        const entry e = heap_pop(heap, &waiting);
        const int32_t at = (int32_t)e.at, after = links[at].after;
        if (ids[at] != e.left || after < 0 || ids[after] != e.right)
            continue;
        ids[at] = e.joined;
        ids[after] = -1;
        links[at].after = links[after].after;
        if (links[at].after >= 0)
            links[links[at].after].before = at;
        offer(b, heap, &waiting, ids, links[at].before, at);
        offer(b, heap, &waiting, ids, at, links[at].after);
    }
    for (size_t i = 0; i < n; i++)
        if (ids[i] >= 0)
            ids[out++] = ids[i];
    *count = out;
out:
    free(heap);
    free(links);
    return st;
}

static tt_status encode_new(const tt_bpe *b, const unsigned char *s, size_t n, tt_ids *ids, tt_error *err)
{
    tt_status st = tt_ids_reserve(ids, n, err);
    if (st != TT_OK)
        return st;
    if (b->ignore_merges) {
        const int32_t id = tt_bpe_find(b, s, n);
        if (id >= 0) {
            ids->at[ids->n++] = id;
            return TT_OK;
        }
    }
    int32_t *out = ids->at + ids->n;
    size_t k = first_ids(b, s, n, out);
    if (k <= SHORT_PIECE)
        k = merge_short(b, out, k);
    else
        st = merge_long(b, out, &k, err);
    ids->n += k;
    return st;
}

/* --- pieces seen before ----------------------------------------------------------------------------------------------- */

static void remember(slot *free_slot, uint32_t tag, const uint64_t text[3], size_t n, const int32_t *ids, size_t k)
{
    uint32_t expected = 0;
    if (k == 0 || k > SLOT_IDS || !atomic_compare_exchange_strong(&free_slot->state, &expected, 1))
        return;
    memcpy(free_slot->text, text, sizeof free_slot->text);
    memcpy(free_slot->ids, ids, k * sizeof *ids);
    free_slot->length = (uint8_t)n;
    free_slot->n = (uint8_t)k;
    atomic_store_explicit(&free_slot->state, tag, memory_order_release);
}

tt_status tt_bpe_encode(const tt_bpe *b, const unsigned char *s, size_t n, tt_ids *ids, tt_error *err)
{
    if (n == 0)
        return TT_OK;
    if (n > SLOT_BYTES)
        return encode_new(b, s, n, ids, err);
    uint64_t text[3] = {0};
    memcpy(text, s, n);
    const uint64_t h = mix(text[0] ^ 0x9E3779B97F4A7C15u ^ n, mix(text[1] ^ 0xD6E8FEB86659FD93u, text[2] ^ 0xA0761D6478BD642Fu) | 1);
    const uint32_t tag = (uint32_t)(h >> 32) | 2;
    slot *place = &b->slots[h & ((1u << SLOTS_LOG2) - 1)], *vacant = NULL;
    for (int way = 0; way < 2; way++) {
        slot *c = way ? &b->slots[(h & ((1u << SLOTS_LOG2) - 1)) ^ 1] : place;
        const uint32_t state = atomic_load_explicit(&c->state, memory_order_acquire);
        if (state == tag && c->length == n && c->text[0] == text[0] && c->text[1] == text[1] && c->text[2] == text[2]) {
            tt_status st = tt_ids_reserve(ids, SLOT_IDS, err);
            if (st != TT_OK)
                return st;
            memcpy(ids->at + ids->n, c->ids, sizeof c->ids);
            ids->n += c->n;
            return TT_OK;
        }
        if (state == 0 && !vacant)
            vacant = c;
    }
    const size_t before = ids->n;
    tt_status st = encode_new(b, s, n, ids, err);
    if (st == TT_OK && vacant)
        remember(vacant, tag, text, n, ids->at + before, ids->n - before);
    return st;
}
