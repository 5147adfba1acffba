/* See bpe_train.h. Words are kept once with their count. Each pair knows the words it was ever seen in; after a merge these
 * words are counted anew, and a heap of (count, pair) with entries that may be too high gives the next pair. */
#include "data/bpe_train.h"
#include "base/fs.h"
#include "data/tokenizer_hf.h"
#include "data/unicode.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

typedef struct word {
    int32_t *ids; /* owned */
    int32_t n;
    int64_t count;
    char *text; /* owned until the training begins */
    size_t bytes;
    int64_t stamp; /* the merge it was last counted for */
} word;

typedef struct stat {
    uint64_t key; /* left << 32 | right */
    int64_t count;
    int32_t *words; /* owned; may name a word twice, or one that holds the pair no more */
    int32_t n, room;
} stat;

typedef struct candidate {
    int64_t count;
    uint64_t key;
} candidate;

typedef struct token {
    char *spelling; /* owned */
} token;

struct tt_bpe_trainer {
    tt_bpe_train_opts opts;
    tt_stage stage;
    int failed;
    word *words;
    int32_t n_words, words_room;
    int32_t *word_table; /* hash table of word numbers, -1 free */
    uint64_t word_mask;
    stat *stats; /* hash table, key UINT64_MAX free */
    uint64_t stat_mask, n_stats;
    candidate *heap;
    size_t n_heap, heap_room;
    token *tokens;
    int32_t n_tokens, tokens_room;
    char **merges; /* owned */
    int64_t n_merges, merges_room;
};

static tt_status no_memory(tt_error *err)
{
    return tt_fail(err, TT_ERR_NOMEM, "training a tokenizer: no memory; give less text");
}

static uint64_t hash_text(const char *s, size_t n)
{
    return tt_tokenizer_hash_more(0xCBF29CE484222325u, s, n) * 0x9E3779B97F4A7C15u >> 7;
}

static int32_t add_token(tt_bpe_trainer *t, const char *spelling)
{
    if (t->n_tokens == t->tokens_room) {
        int32_t room = t->tokens_room ? 2 * t->tokens_room : 1024;
        token *more = realloc(t->tokens, (size_t)room * sizeof *more);
        if (!more)
            return -1;
        t->tokens = more;
        t->tokens_room = room;
    }
    t->tokens[t->n_tokens].spelling = strdup(spelling);
    return t->tokens[t->n_tokens].spelling ? t->n_tokens++ : -1;
}

static tt_status choose_pattern(tt_bpe_trainer *t, tt_error *err)
{
    const char *p = t->opts.pattern;
    t->stage.matcher = strcmp(p, "gpt2") == 0 ? tt_match_gpt2 : strcmp(p, "llama3") == 0 ? tt_match_llama3
                     : strcmp(p, "qwen2") == 0 ? tt_match_qwen2 : strcmp(p, "o200k") == 0 ? tt_match_o200k : NULL;
    return t->stage.matcher ? TT_OK
                            : tt_fail(err, TT_ERR_USAGE, "there is no pattern \"%.40s\" to cut texts; use gpt2, llama3, qwen2 or o200k", p);
}

tt_status tt_bpe_trainer_create(const tt_bpe_train_opts *opts, tt_bpe_trainer **out, tt_error *err)
{
    tt_status st;
    tt_bpe_trainer *t = calloc(1, sizeof *t);
    *out = NULL;
    if (!t)
        return no_memory(err);
    t->opts = *opts;
    TT_TRY(choose_pattern(t, err));
    if (opts->vocab_size < 256 + opts->n_special || opts->vocab_size > 1 << 24)
        TT_TRY(tt_fail(err, TT_ERR_USAGE,
                       "a vocabulary of %d tokens is out of range: 256 bytes and %d special tokens "
                       "need %d at least, "
                       "and 16777216 is the most; change --vocab-size",
                       opts->vocab_size, opts->n_special, 256 + opts->n_special));
    t->word_mask = 1023;
    t->stat_mask = 4095;
    t->word_table = malloc((t->word_mask + 1) * sizeof *t->word_table);
    t->stats = malloc((t->stat_mask + 1) * sizeof *t->stats);
    if (!t->word_table || !t->stats)
        TT_TRY(no_memory(err));
    memset(t->word_table, 0xFF, (t->word_mask + 1) * sizeof *t->word_table);
    for (uint64_t i = 0; i <= t->stat_mask; i++)
        t->stats[i] = (stat){.key = UINT64_MAX};
    *out = t;
    t = NULL;
out:
    tt_bpe_trainer_destroy(&t);
    return st;
}

void tt_bpe_trainer_destroy(tt_bpe_trainer **trainer)
{
    tt_bpe_trainer *t = *trainer;
    if (!t)
        return;
    for (int32_t i = 0; i < t->n_words; i++) {
        free(t->words[i].ids);
        free(t->words[i].text);
    }
    for (uint64_t i = 0; t->stats && i <= t->stat_mask; i++)
        free(t->stats[i].words);
    for (int32_t i = 0; i < t->n_tokens; i++)
        free(t->tokens[i].spelling);
    for (int64_t i = 0; i < t->n_merges; i++)
        free(t->merges[i]);
    free(t->words);
    free(t->word_table);
    free(t->stats);
    free(t->heap);
    free(t->tokens);
    free(t->merges);
    free(t);
    *trainer = NULL;
}

/* --- words --------------------------------------------------------------------------------------------------------------------- */

static tt_status grow_words(tt_bpe_trainer *t, tt_error *err)
{
    if (t->n_words == t->words_room) {
        int32_t room = t->words_room ? 2 * t->words_room : 512;
        word *more = realloc(t->words, (size_t)room * sizeof *more);
        if (!more)
            return no_memory(err);
        t->words = more;
        t->words_room = room;
    }
    if (2 * (uint64_t)t->n_words < t->word_mask)
        return TT_OK;
    const uint64_t mask = 2 * t->word_mask + 1;
    int32_t *table = malloc((mask + 1) * sizeof *table);
    if (!table)
        return no_memory(err);
    memset(table, 0xFF, (mask + 1) * sizeof *table);
    for (int32_t w = 0; w < t->n_words; w++) {
        uint64_t i = hash_text(t->words[w].text, t->words[w].bytes) & mask;
        while (table[i] >= 0)
            i = (i + 1) & mask;
        table[i] = w;
    }
    free(t->word_table);
    t->word_table = table;
    t->word_mask = mask;
    return TT_OK;
}

static tt_status count_piece(void *ctx, const unsigned char *piece, size_t n, tt_error *err)
{
    tt_bpe_trainer *t = ctx;
    tt_status st = grow_words(t, err);
    if (st != TT_OK)
        return st;
    uint64_t i = hash_text((const char *)piece, n) & t->word_mask;
    for (; t->word_table[i] >= 0; i = (i + 1) & t->word_mask) {
        word *w = &t->words[t->word_table[i]];
        if (w->bytes == n && memcmp(w->text, piece, n) == 0) {
            w->count++;
            return TT_OK;
        }
    }
    word *w = &t->words[t->n_words];
    *w = (word){.count = 1, .bytes = n, .text = malloc(n), .stamp = -1};
    if (!w->text)
        return no_memory(err);
    memcpy(w->text, piece, n);
    t->word_table[i] = t->n_words++;
    return TT_OK;
}

tt_status tt_bpe_trainer_add(tt_bpe_trainer *t, const char *text, size_t n, tt_error *err)
{
    char *repaired = NULL;
    tt_status st = TT_OK;
    if (tt_unicode_valid((const unsigned char *)text, n) < n) {
        TT_TRY(tt_unicode_repair((const unsigned char *)text, n, &repaired, &n, err));
        text = repaired;
    }
    st = tt_pretokenize(&t->stage, 1, (const unsigned char *)text, n, count_piece, t, err);
out:
    free(repaired);
    return st;
}

/* --- pairs --------------------------------------------------------------------------------------------------------------------- */

static stat *find_stat(const tt_bpe_trainer *t, stat *stats, uint64_t mask, uint64_t key)
{
    (void)t;
    uint64_t i = (key * 0x9E3779B97F4A7C15u >> 20) & mask;
    while (stats[i].key != UINT64_MAX && stats[i].key != key)
        i = (i + 1) & mask;
    return &stats[i];
}

static stat *stat_of(tt_bpe_trainer *t, uint64_t key)
{
    stat *s = find_stat(t, t->stats, t->stat_mask, key);
    if (s->key == key)
        return s;
    if (2 * ++t->n_stats > t->stat_mask) {
        const uint64_t mask = 2 * t->stat_mask + 1;
        stat *more = malloc((mask + 1) * sizeof *more);
        if (!more) {
            t->failed = 1;
            return NULL;
        }
        for (uint64_t i = 0; i <= mask; i++)
            more[i] = (stat){.key = UINT64_MAX};
        for (uint64_t i = 0; i <= t->stat_mask; i++)
            if (t->stats[i].key != UINT64_MAX)
                *find_stat(t, more, mask, t->stats[i].key) = t->stats[i];
        free(t->stats);
        t->stats = more;
        t->stat_mask = mask;
        s = find_stat(t, t->stats, t->stat_mask, key);
    }
    s->key = key;
    return s;
}

static int better(const candidate *a, const candidate *b)
{
    return a->count != b->count ? a->count > b->count : a->key < b->key;
}

static void offer(tt_bpe_trainer *t, candidate c)
{
    if (t->n_heap == t->heap_room) {
        size_t room = t->heap_room ? 2 * t->heap_room : 4096;
        candidate *more = realloc(t->heap, room * sizeof *more);
        if (!more) {
            t->failed = 1;
            return;
        }
        t->heap = more;
        t->heap_room = room;
    }
    size_t i = t->n_heap++;
    for (; i > 0 && better(&c, &t->heap[(i - 1) / 2]); i = (i - 1) / 2)
        t->heap[i] = t->heap[(i - 1) / 2];
    t->heap[i] = c;
}

static candidate take(tt_bpe_trainer *t)
{
    const candidate top = t->heap[0], last = t->heap[--t->n_heap];
    size_t i = 0;
    for (size_t child = 1; child < t->n_heap; i = child, child = 2 * i + 1) {
        if (child + 1 < t->n_heap && better(&t->heap[child + 1], &t->heap[child]))
            child++;
        if (!better(&t->heap[child], &last))
            break;
        t->heap[i] = t->heap[child];
    }
    t->heap[i] = last;
    return top;
}

static inline uint64_t key_at(const word *w, int32_t i)
{
    return (uint64_t)w->ids[i] << 32 | (uint32_t)w->ids[i + 1];
}

/* Add the pairs of a word `sign` times its count. With sign +1 the pairs learn that they are in this word, and those whose count
 * rises are offered again. */
static void count_word(tt_bpe_trainer *t, int32_t number, int sign)
{
    const word *w = &t->words[number];
    for (int32_t i = 0; i + 1 < w->n && !t->failed; i++) {
        stat *s = stat_of(t, key_at(w, i));
        if (!s)
            return;
        s->count += sign * w->count;
        if (sign < 0 || (s->n > 0 && s->words[s->n - 1] == number))
            continue;
        if (s->n == s->room) {
            int32_t room = s->room ? 2 * s->room : 4;
            int32_t *more = realloc(s->words, (size_t)room * sizeof *more);
            if (!more) {
                t->failed = 1;
                return;
            }
            s->words = more;
            s->room = room;
        }
        s->words[s->n++] = number;
    }
}

static void offer_word(tt_bpe_trainer *t, int32_t number, int32_t with)
{
    const word *w = &t->words[number];
    for (int32_t i = 0; i + 1 < w->n && !t->failed; i++)
        if (w->ids[i] == with || w->ids[i + 1] == with)
            offer(t, (candidate){stat_of(t, key_at(w, i))->count, key_at(w, i)});
}

static void merge_word(word *w, int32_t left, int32_t right, int32_t joined)
{
    int32_t out = 0;
    for (int32_t i = 0; i < w->n; i++) {
        if (i + 1 < w->n && w->ids[i] == left && w->ids[i + 1] == right) {
            w->ids[out++] = joined;
            i++;
        } else {
            w->ids[out++] = w->ids[i];
        }
    }
    w->n = out;
}

/* --- the run ---------------------------------------------------------------------------------------------------------------------- */

static int by_spelling(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b); /* UTF-8 sorts as its code points */
}

/* Special tokens, then the 256 bytes in the order of their spellings; of_byte[b] becomes the id of byte b. */
static tt_status first_tokens(tt_bpe_trainer *t, int32_t of_byte[256], tt_error *err)
{
    char spelling[256][4], *sorted[256];
    for (int b = 0; b < 256; b++) {
        const unsigned char c = (unsigned char)b;
        spelling[b][tt_spelling_of_bytes(&c, 1, spelling[b])] = 0;
        sorted[b] = spelling[b];
    }
    qsort(sorted, 256, sizeof *sorted, by_spelling);
    for (int i = 0; i < t->opts.n_special; i++)
        if (add_token(t, t->opts.special[i]) < 0)
            return no_memory(err);
    for (int i = 0; i < 256; i++) {
        const int32_t id = add_token(t, sorted[i]);
        if (id < 0)
            return no_memory(err);
        of_byte[(sorted[i] - spelling[0]) / 4] = id;
    }
    return TT_OK;
}

static tt_status prepare(tt_bpe_trainer *t, tt_error *err)
{
    int32_t of_byte[256];
    tt_status st = first_tokens(t, of_byte, err);
    for (int32_t i = 0; st == TT_OK && i < t->n_words; i++) {
        word *w = &t->words[i];
        w->ids = malloc(w->bytes * sizeof *w->ids);
        if (!w->ids || w->bytes > INT32_MAX)
            return no_memory(err);
        w->n = (int32_t)w->bytes;
        for (size_t k = 0; k < w->bytes; k++)
            w->ids[k] = of_byte[(unsigned char)w->text[k]];
        free(w->text);
        w->text = NULL;
        count_word(t, i, 1);
    }
    for (uint64_t i = 0; i <= t->stat_mask; i++)
        if (t->stats[i].key != UINT64_MAX)
            offer(t, (candidate){t->stats[i].count, t->stats[i].key});
    return t->failed ? no_memory(err) : st;
}

/* The id of the joined token: a new one, unless the spelling exists already. */
static int32_t join(tt_bpe_trainer *t, int32_t left, int32_t right, json_t *known)
{
    const char *a = t->tokens[left].spelling, *b = t->tokens[right].spelling;
    const size_t n = strlen(a), m = strlen(b);
    char *both = malloc(n + m + 2);
    int32_t id = -1;
    if (t->n_merges == t->merges_room) {
        int64_t room = t->merges_room ? 2 * t->merges_room : 1024;
        char **more = realloc(t->merges, (size_t)room * sizeof *more);
        if (!more)
            goto out;
        t->merges = more;
        t->merges_room = room;
    }
    if (!both)
        goto out;
    memcpy(both, a, n);
    memcpy(both + n, b, m + 1);
    const json_t *old = json_object_get(known, both);
    id = old ? (int32_t)json_integer_value(old) : add_token(t, both);
    if (!old && id >= 0 && json_object_set_new(known, both, json_integer(id)) != 0)
        id = -1;
    if (id < 0)
        goto out;
    a = t->tokens[left].spelling;
    memcpy(both, a, n);
    both[n] = ' ';
    memcpy(both + n + 1, t->tokens[right].spelling, m + 1);
    t->merges[t->n_merges++] = both;
    return id;
out:
    free(both);
    t->failed = 1;
    return -1;
}

static void apply(tt_bpe_trainer *t, uint64_t key, int32_t joined)
{
    const int32_t left = (int32_t)(key >> 32), right = (int32_t)(uint32_t)key;
    stat *s = stat_of(t, key);
    int32_t *words = s->words;
    const int32_t n = s->n;
    s->words = NULL; /* those that still hold the pair afterwards say so again */
    s->n = s->room = 0;
    for (int32_t i = 0; i < n; i++) {
        word *w = &t->words[words[i]];
        if (w->stamp == t->n_merges)
            continue;
        w->stamp = t->n_merges;
        count_word(t, words[i], -1);
        merge_word(w, left, right, joined);
        count_word(t, words[i], 1);
    }
    for (int32_t i = 0; i < n; i++)
        offer_word(t, words[i], joined);
    free(words);
}

tt_status tt_bpe_trainer_run(tt_bpe_trainer *t, tt_error *err)
{
    json_t *known = json_object();
    tt_status st;
    TT_TRY(prepare(t, err));
    for (int32_t i = 0; i < t->n_tokens; i++)
        if (!known || json_object_set_new(known, t->tokens[i].spelling, json_integer(i)) != 0)
            TT_TRY(no_memory(err));
    const int64_t least = t->opts.min_frequency > 1 ? t->opts.min_frequency : 1;
    while (t->n_tokens < t->opts.vocab_size && t->n_heap > 0 && !t->failed) {
        const candidate c = take(t);
        const int64_t count = stat_of(t, c.key)->count;
        if (count != c.count) { /* an old entry: its pair has become rarer, or waits with a newer one */
            if (count > 0 && count < c.count)
                offer(t, (candidate){count, c.key});
            continue;
        }
        if (count < least)
            break;
        const int32_t joined = join(t, (int32_t)(c.key >> 32), (int32_t)(uint32_t)c.key, known);
        if (joined >= 0)
            apply(t, c.key, joined);
    }
    st = t->failed ? no_memory(err) : TT_OK;
out:
    json_decref(known);
    return st;
}

int64_t tt_bpe_trainer_merges(const tt_bpe_trainer *t)
{
    return t->n_merges;
}

const char *tt_bpe_trainer_merge(const tt_bpe_trainer *t, int64_t i)
{
    return t->merges[i];
}

int32_t tt_bpe_trainer_vocab(const tt_bpe_trainer *t)
{
    return t->n_tokens;
}

/* --- tokenizer.json ----------------------------------------------------------------------------------------------------------------- */

static json_t *byte_level(int use_regex)
{
    return json_pack("{s:s,s:b,s:b,s:b}", "type", "ByteLevel", "add_prefix_space", 0, "trim_offsets", 1, "use_regex", use_regex);
}

static json_t *pre_tokenizer(const char *pattern)
{
    if (strcmp(pattern, "gpt2") == 0)
        return byte_level(1);
    const char *regex = strcmp(pattern, "llama3") == 0 ? tt_pattern_llama3
                      : strcmp(pattern, "qwen2") == 0  ? tt_pattern_qwen2
                                                       : tt_pattern_o200k;
    return json_pack("{s:s,s:[{s:s,s:{s:s},s:s,s:b},o]}", "type", "Sequence", "pretokenizers", "type", "Split", "pattern", "Regex",
                     regex, "behavior", "Isolated", "invert", 0, byte_level(0));
}

tt_status tt_bpe_trainer_write(const tt_bpe_trainer *t, const char *path, tt_error *err)
{
    json_t *added = json_array(), *vocab = json_object(), *merges = json_array(), *all = NULL;
    char *text = NULL;
    tt_status st = TT_OK;
    for (int i = 0; i < t->opts.n_special; i++)
        json_array_append_new(added, json_pack("{s:i,s:s,s:b,s:b,s:b,s:b,s:b}", "id", i, "content", t->opts.special[i], "single_word", 0,
                                               "lstrip", 0, "rstrip", 0, "normalized", 0, "special", 1));
    for (int32_t i = 0; i < t->n_tokens; i++)
        json_object_set_new(vocab, t->tokens[i].spelling, json_integer(i));
    for (int64_t i = 0; i < t->n_merges; i++) {
        const char *space = strchr(t->merges[i], ' ');
        json_array_append_new(merges, json_pack("[s%,s]", t->merges[i], (size_t)(space - t->merges[i]), space + 1));
    }
    all = json_pack("{s:s,s:n,s:n,s:o,s:n,s:o,s:o,s:o,s:{s:s,s:n,s:n,s:n,s:n,s:b,s:b,s:b,s:o,s:o}}", "version", "1.0", "truncation",
                    "padding", "added_tokens", added, "normalizer", "pre_tokenizer", pre_tokenizer(t->opts.pattern), "post_processor",
                    byte_level(1), "decoder", byte_level(1), "model", "type", "BPE", "dropout", "unk_token",
                    "continuing_subword_prefix", "end_of_word_suffix", "fuse_unk", 0, "byte_fallback", 0, "ignore_merges", 0, "vocab",
                    vocab, "merges", merges);
    text = all ? json_dumps(all, JSON_INDENT(1)) : NULL;
    st = text ? tt_fs_write(path, text, strlen(text), err) : no_memory(err);
    free(text);
    json_decref(all);
    return st;
}
