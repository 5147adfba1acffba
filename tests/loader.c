/* The loader: refusals first, then rows against a stream written out by hand, and the law that the split over ranks does
 * not matter. */
#include "base/log.h"
#include "data/prefetch.h"
#include "data/shard.h"
#include "tap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char dir[] = "/tmp/titan-data-XXXXXX";
static char path[300];

static void put(const char *name, const char *text)
{
    char file[400];
    snprintf(file, sizeof file, "%s/%s", dir, name);
    FILE *out = fopen(file, "wb");
    if (!out || fwrite(text, 1, strlen(text), out) != strlen(text) || fclose(out) != 0)
        diag("cannot write %s", file);
}

/* memory = 0: as the loader chooses; 1: text is streamed. */
static tt_status open_kind(const char *where, int64_t seq_len, int64_t vocab, int masking, int shuffle, int memory,
                           const tt_tokenizer *t, tt_loader **l, tt_error *err)
{
    snprintf(path, sizeof path, "%s/%s", dir, where);
    return tt_loader_open(&(tt_loader_opts){.paths = &(const char *){path},
                                            .n_paths = 1,
                                            .source = {.tokenizer = t, .vocab = vocab, .key = "training", .memory_bytes = memory},
                                            .seq_len = seq_len,
                                            .document_masking = masking,
                                            .shuffle = shuffle,
                                            .seed = 7},
                          l, err);
}

static tt_status open_at(const char *where, int64_t seq_len, int64_t vocab, int masking, const tt_tokenizer *t,
                         tt_loader **l, tt_error *err)
{
    return open_kind(where, seq_len, vocab, masking, 0, 0, t, l, err);
}

static void refusals(const tt_tokenizer *t)
{
    static const struct {
        const char *where;
        int64_t seq_len, vocab;
        tt_status st;
        const char *word;
    } table[] = {
        {"*.txt", 4, 0, TT_ERR_DATA, "no file matches"},
        {"nothing.txt", 4, 0, TT_ERR_DATA, "nothing.txt"},
        {"empty", 4, 0, TT_ERR_DATA, "empty"},
        {"empty.dat", 4, 0, TT_ERR_DATA, "all files found are empty (1, the first is"},
        {"abc.dat", 5, 0, TT_ERR_DATA, "sequence too long for the data: a row needs 6 tokens"},
        {"abc.dat", 5, 0, TT_ERR_DATA, "holds 5; use training.seq_len <= 4 or more text"},
        {"abc.dat", 0, 0, TT_ERR_CONFIG, "training.seq_len=0 must be at least 1"},
        {"abc.dat", 4, 257, TT_ERR_DATA, "has 257 rows; use model.vocab_size >= 258"},
    };
    tt_error err = {0};
    snprintf(path, sizeof path, "%s/empty", dir);
    mkdir(path, 0777);
    put("empty.dat", "");
    put("abc.dat", "abc");
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        tt_loader *l = NULL;
        tt_status st = open_at(table[i].where, table[i].seq_len, table[i].vocab, 0, t, &l, &err);
        ok(st == table[i].st && !l && strstr(err.text, table[i].word), "refused: %s", err.text);
        tt_loader_close(&l);
    }
}

/* <ab> <c> <defg>: 12 tokens, with 256 and 257 around each. */
static const int32_t stream[12 + 1] = {256, 'a', 'b', 257, 256, 'c', 257, 256, 'd', 'e', 'f', 257, 256};

static void plain_rows(const tt_tokenizer *t)
{
    tt_loader *l = NULL;
    tt_error err = {0};
    int32_t x[3 * 4], y[3 * 4], p[3 * 4], s[3 * 4];
    int bad = 0;
    put("1.txt", "ab");
    put("10.txt", "c");
    put("2.txt", "def");
    put("3.txt", "");
    is_int(open_at("", 4, 258, 0, t, &l, &err), TT_OK, "a folder opens %s", err.text);
    ok(!strcmp(tt_source_describe(tt_loader_source(l, 0)),
               "12 tokens in 3 documents of 4 text files, held in memory (1 empty ones left out)"), "%s",
       tt_source_describe(tt_loader_source(l, 0)));
    is_int(tt_loader_samples_per_epoch(l), 2, "2 whole rows of 5 in 12 tokens");
    is_int(tt_loader_get(l, 1, 3, x, y, p, s, &err), TT_OK, "rows 1..3");
    for (int r = 0; r < 3; r++)
        for (int i = 0; i < 4; i++)
            bad += x[r * 4 + i] != stream[((r + 1) * 5 + i) % 12] || y[r * 4 + i] != stream[((r + 1) * 5 + i + 1) % 12] ||
                   p[r * 4 + i] != i || s[r * 4 + i] != 0;
    is_int(bad, 0, "are the stream's, in the order of names, wrapped into the next epoch");
    ok(tt_loader_epoch_of(l, 2) == 0 && tt_loader_epoch_of(l, 3) == 1, "sample 2 begins in epoch 0, sample 3 in epoch 1");
    is_int(tt_loader_get(l, -1, 1, x, y, p, s, &err), TT_ERR_INTERNAL, "no negative sample");
    is_int(tt_loader_get(l, INT64_MAX / 2, 1, x, y, NULL, NULL, &err), TT_OK, "a far sample");
    /* (2^62 - 1) * 5 mod 12: 2^62 mod 12 = 4, so 3 * 5 mod 12 = 3 */
    ok(x[0] == stream[3] && y[0] == stream[4], "is right past 64 bits");

    /* tokens used per epoch: 12 rows of 5 use every token of 12 exactly 5 times, whatever the order of asking */
    int used[12] = {0}, equal = 1;
    for (int rank = 0; rank < 4; rank++)
        for (int64_t i = rank; i < 12; i += 4) {
            tt_loader_get(l, i, 1, x, y, NULL, NULL, &err);
            for (int j = 0; j < 5; j++) {
                int at = (int)(i * 5 + j) % 12;
                used[at]++;
                equal &= (j < 4 ? x[j] : y[3]) == stream[at];
            }
        }
    for (int i = 0; i < 12; i++)
        equal &= used[i] == 5;
    ok(equal, "every token is used equally often over 4 ranks");
    tt_loader_close(&l);
    is_int(open_at("1*.txt", 1, 0, 0, t, &l, &err), TT_OK, "a pattern opens");
    is_int(tt_source_documents(tt_loader_source(l, 0)), 2, "two files match");
    tt_loader_close(&l);
    put("[x].txt", "q");
    is_int(open_at("[x].txt", 1, 0, 0, t, &l, &err), TT_OK, "a file with pattern characters in its name %s", err.text);
    tt_loader_close(&l);
}

static void masked_rows(const tt_tokenizer *t)
{
    tt_loader *l = NULL;
    tt_error err = {0};
    int bad = 0, crossed = 0;
    for (int seq_len = 1; seq_len <= 11; seq_len++) {
        int32_t x[11], y[11], p[11], s[11];
        if (open_at("[123]*.txt", seq_len, 258, 1, t, &l, &err) != TT_OK) {
            diag("%s", err.text);
            bad++;
            continue;
        }
        for (int row = 0; row < 30; row++) {
            tt_loader_get(l, row, 1, x, y, p, s, &err);
            for (int i = 0, start = 0; i < seq_len; i++) {
                int at = (row * (seq_len + 1) + i) % 12;
                if (stream[at] == 256)
                    start = i;
                int32_t next = stream[at] == 257 ? TT_TARGET_NONE : stream[at + 1];
                bad += x[i] != stream[at] || y[i] != next || p[i] != i - start || s[i] != start;
                crossed += next == TT_TARGET_NONE;
            }
        }
        tt_loader_close(&l);
    }
    is_int(bad, 0, "rows of 1..11 tokens: positions, starts and targets follow the documents");
    ok(crossed > 100, "%d targets crossed a document and were masked", crossed);
}

/* --- laws --------------------------------------------------------------------------------------------------------------- */

/* Where the laws' tokens come from. */
static const char *law = "law-*.jsonl";

static void publish(tt_shard_writer **w)
{
    tt_error err = {0};
    if (*w && (tt_shard_finish(*w, &err) != TT_OK || tt_shard_publish(*w, &err) != TT_OK))
        diag("%s", err.text);
    tt_shard_writer_close(w);
}

/* A text of `documents` documents of odd lengths as JSON lines in two files, and as two token shards; its tokens with BOS and EOS in
 * all[]. */
static int64_t make_corpus(int documents, int32_t *all)
{
    int64_t n = 0;
    char file[400];
    FILE *out = NULL;
    tt_shard_writer *w = NULL;
    tt_error err = {0};
    for (int d = 0; d < documents; d++) {
        if (d == 0 || d == documents / 3) {
            if (out)
                fclose(out);
            publish(&w);
            snprintf(file, sizeof file, "%s/law-%d.jsonl", dir, d > 0);
            out = fopen(file, "wb");
            snprintf(file, sizeof file, "%s/law-%d.tok", dir, d > 0);
            if (tt_shard_create(file, &(tt_shard_info){.token_bytes = 2, .vocab = 258, .bos = 256, .eos = 257}, &w, &err) != TT_OK)
                diag("%s", err.text);
        }
        const int64_t first = n;
        all[n++] = 256;
        fprintf(out, "{\"n\": %d, \"text\": \"", d);
        for (int i = 0; i < 1 + d * 7 % 23; i++) {
            fputc('a' + (d + i) % 26, out);
            all[n++] = 'a' + (d + i) % 26;
        }
        fprintf(out, "\"}\n");
        all[n++] = 257;
        if (tt_shard_add(w, all + first, (size_t)(n - first), &err) != TT_OK)
            diag("%s", err.text);
    }
    fclose(out);
    publish(&w);
    return n;
}

static const char *where_from(int memory)
{
    return strstr(law, ".tok") ? "token shards" : memory ? "text as it is read" : "text in memory";
}

/* The global order of rows is that of a lone rank, whatever the split of steps over ranks and whatever is resumed: rows[] of one
 * rank against the rows of runs that change from dp 4 to 2 to 8, each with its own loader and its own prefetch thread. */
static void same_stream(const tt_tokenizer *t, int masking, int shuffle, int memory)
{
    enum { T = 9, BATCH = 2, MICRO = 2, STEPS = 7 };
    static const int dp[] = {4, 2, 8};
    tt_loader *l = NULL;
    tt_error err = {0};
    int64_t cursor = 0;
    int bad = 0;
    static int32_t x[MICRO][BATCH * T], y[MICRO][BATCH * T], p[MICRO][BATCH * T], s[MICRO][BATCH * T];
    int32_t wx[T], wy[T], wp[T], ws[T];
    if (open_kind(law, T, 258, masking, shuffle, memory, t, &l, &err) != TT_OK)
        diag("%s", err.text);
    for (size_t k = 0; l && k < 3; k++) {
        const int64_t rows = (int64_t)dp[k] * BATCH * MICRO;
        for (int rank = 0; rank < dp[k]; rank++) {
            tt_loader *mine = NULL;
            tt_prefetch *ahead = NULL;
            double waited;
            if (open_kind(law, T, 258, masking, shuffle, memory, t, &mine, &err) != TT_OK ||
                tt_prefetch_start(&(tt_prefetch_opts){.loader = mine, .seq_len = T, .batch = BATCH, .n_microbatches = MICRO,
                                                      .offset = (int64_t)rank * BATCH, .stride = (int64_t)dp[k] * BATCH,
                                                      .step_rows = rows, .depth = 1 + rank % 3}, cursor, &ahead, &err) != TT_OK) {
                diag("%s", err.text);
                bad++;
                continue;
            }
            for (int step = 0; step < STEPS; step++) {
                tt_rows out[MICRO] = {{x[0], y[0], p[0], s[0]}, {x[1], y[1], p[1], s[1]}};
                bad += tt_prefetch_take(ahead, cursor + step * rows, out, &waited, &err) != TT_OK || waited < 0;
                for (int m = 0; m < MICRO; m++)
                    for (int r = 0; r < BATCH; r++) {
                        const int64_t sample = cursor + step * rows + ((int64_t)m * dp[k] + rank) * BATCH + r;
                        bad += tt_loader_get(l, sample, 1, wx, wy, wp, ws, &err) != TT_OK;
                        bad += memcmp(wx, x[m] + r * T, sizeof wx) || memcmp(wy, y[m] + r * T, sizeof wy) ||
                               memcmp(wp, p[m] + r * T, sizeof wp) || memcmp(ws, s[m] + r * T, sizeof ws);
                    }
            }
            tt_prefetch_stop(&ahead);
            tt_loader_close(&mine);
        }
        cursor += STEPS * rows;
    }
    ok(l && bad == 0, "dp 4, then 2, then 8 = the same global stream (%s rows%s, %s)", masking ? "document" : "stream",
       shuffle ? ", shuffled" : "", where_from(memory));
    tt_loader_close(&l);
}

/* seq_len + 1 epochs hold every token of the text exactly seq_len + 1 times... and every epoch's rows are its own, once each. */
static void every_token(const tt_tokenizer *t, const int32_t *all, int64_t n, int shuffle, int memory)
{
    tt_loader *l = NULL;
    tt_error err = {0};
    int bad = 0, moved = 0;
    for (int seq_len = 1; seq_len <= 40; seq_len += 13) {
        const int64_t row = seq_len + 1, rows = n; /* seq_len + 1 epochs */
        int32_t x[40], y[40];
        char *seen = calloc((size_t)rows, 1);
        if (open_kind(law, seq_len, 258, 0, shuffle, memory, t, &l, &err) != TT_OK)
            bad++;
        int64_t begun = 0; /* rows of earlier epochs */
        for (int64_t i = 0; i < rows; i++) {
            bad += tt_loader_get(l, i, 1, x, y, NULL, NULL, &err) != TT_OK;
            const int64_t epoch = memory ? i * row / n : tt_loader_epoch_of(l, i);
            /* the row of this epoch that these tokens are: the first that is equal and not taken yet */
            int64_t first = (epoch * n + row - 1) / row, end = ((epoch + 1) * n + row - 1) / row, r;
            for (r = first; r < end; r++) {
                int equal = !seen[r];
                for (int j = 0; equal && j < row; j++)
                    equal = (j < seq_len ? x[j] : y[seq_len - 1]) == all[(r * row + j) % n];
                if (equal)
                    break;
            }
            bad += r == end || i < first || i >= end;
            if (r < end)
                seen[r] = 1;
            moved += r != i;
            begun += seen[i];
        }
        for (int64_t r = 0; r < rows; r++)
            bad += !seen[r];
        free(seen);
        tt_loader_close(&l);
    }
    ok(bad == 0 && (shuffle ? moved > n : moved == 0), "every token of every epoch exactly once (%s, %s; %d rows out of place)",
       shuffle ? "shuffled" : "in order", where_from(memory), moved);
}

/* The same documents as text and as shards give the same rows. */
static void same_as_text(const tt_tokenizer *t)
{
    tt_loader *a = NULL, *b = NULL;
    tt_error err = {0};
    int32_t x[4][9], y[4][9];
    int bad = open_kind("law-*.jsonl", 9, 258, 1, 1, 0, t, &a, &err) != TT_OK || open_kind("law-*.tok", 9, 258, 1, 1, 0, t, &b, &err) != TT_OK;
    for (int64_t s = 0; s < 1000 && !bad; s++) {
        bad += tt_loader_get(a, s, 1, x[0], x[1], x[2], x[3], &err) != TT_OK || tt_loader_get(b, s, 1, y[0], y[1], y[2], y[3], &err) != TT_OK;
        bad += memcmp(x, y, sizeof x) != 0;
    }
    ok(bad == 0, "the same documents as text and as token shards give the same rows %s", err.text);
    ok(b && !strcmp(tt_source_describe(tt_loader_source(b, 0)), "2085 tokens in 2 titan files, 150 documents"), "%s",
       b ? tt_source_describe(tt_loader_source(b, 0)) : "");
    tt_loader_close(&a);
    tt_loader_close(&b);
}

/* A mixture: the rows of each source in their own order, the shares right, and no source's row lost. */
static void mixture(const tt_tokenizer *t)
{
    static const char *const names[] = {"law-0.jsonl", "law-1.jsonl", "abc.dat"};
    const double weights[] = {0.5, 0.3, 0.2};
    char paths[3][400];
    const char *list[3];
    tt_loader *l = NULL, *alone[3] = {0};
    tt_error err = {0};
    int64_t next[3] = {0};
    int bad = 0;
    int32_t x[4], y[4], wx[4], wy[4];
    for (int i = 0; i < 3; i++) {
        snprintf(paths[i], sizeof paths[i], "%s/%s", dir, names[i]);
        list[i] = paths[i];
        bad += open_at(names[i], 4, 258, 0, t, &alone[i], &err) != TT_OK;
    }
    is_int(tt_loader_open(&(tt_loader_opts){.paths = list, .weights = weights, .n_paths = 3, .seq_len = 4,
                                            .source = {.tokenizer = t, .vocab = 258, .key = "training"}}, &l, &err), TT_OK,
           "three sources open %s", err.text);
    is_int(tt_loader_samples_per_epoch(l), -1, "a mixture has no epochs");
    for (int64_t s = 0; s < 2000; s++) {
        bad += tt_loader_get(l, s, 1, x, y, NULL, NULL, &err) != TT_OK;
        int i = 0; /* the source whose next row this is: rows of the three differ at most places */
        for (; i < 3; i++) {
            tt_loader_get(alone[i], next[i], 1, wx, wy, NULL, NULL, &err);
            if (!memcmp(x, wx, sizeof x) && !memcmp(y, wy, sizeof y))
                break;
        }
        bad += i == 3;
        next[i < 3 ? i : 0]++;
    }
    ok(bad == 0, "every row is the next one of its source");
    ok(llabs(next[0] - 1000) < 5 && llabs(next[1] - 600) < 5 && llabs(next[2] - 400) < 5, "shares %lld, %lld, %lld of 2000",
       (long long)next[0], (long long)next[1], (long long)next[2]);
    tt_loader_close(&l);
    for (int i = 0; i < 3; i++)
        tt_loader_close(&alone[i]);
}

/* 300 sources, more than a byte counts. */
static void many_sources(const tt_tokenizer *t)
{
    enum { N = 300 };
    static char paths[N][64];
    static const char *list[N];
    static double weights[N];
    static int64_t seen[N];
    tt_loader *l = NULL;
    tt_error err = {0};
    int32_t x[2], y[2];
    int bad = 0;
    for (int i = 0; i < N; i++) {
        char name[32], text[32];
        snprintf(name, sizeof name, "m%03d.dat", i);
        snprintf(text, sizeof text, "%c%c", 'A' + i / 26, 'a' + i % 26); /* BOS x y: each its own */
        put(name, text);
        snprintf(paths[i], sizeof paths[i], "%s/%s", dir, name);
        list[i] = paths[i];
        weights[i] = 1 + i % 3;
    }
    is_int(tt_loader_open(&(tt_loader_opts){.paths = list, .weights = weights, .n_paths = N, .seq_len = 2,
                                            .source = {.tokenizer = t, .vocab = 258, .key = "training"}}, &l, &err), TT_OK,
           "300 sources open %s", err.text);
    for (int64_t s = 0; s < 6000; s++) {
        int upper = 0, lower = 0;
        bad += tt_loader_get(l, s, 1, x, y, NULL, NULL, &err) != TT_OK;
        const int32_t all[3] = {x[0], x[1], y[1]};
        for (int j = 0; j < 3; j++) {
            upper = all[j] >= 'A' && all[j] <= 'Z' ? all[j] - 'A' + 1 : upper;
            lower = all[j] >= 'a' && all[j] <= 'z' ? all[j] - 'a' + 1 : lower;
        }
        if (upper && lower)
            seen[(upper - 1) * 26 + lower - 1]++;
    }
    /* rows of 3 in documents of 4 tokens: of any 4 rows of a source, 2 show both letters */
    for (int i = 0; i < N; i++)
        bad += llabs(2 * seen[i] - (int64_t)(6000 * weights[i] / 600)) > 8;
    is_int(bad, 0, "shares of 300 sources");
    tt_loader_close(&l);
}

/* A bookmark leads to the same rows, and one of other files is not used. */
static void bookmarks(const tt_tokenizer *t)
{
    tt_loader *a = NULL, *b = NULL;
    tt_error err = {0};
    int32_t x[9], y[9], wx[9], wy[9];
    int bad = 0;
    open_kind("law-*.jsonl", 9, 258, 0, 0, 1, t, &a, &err);
    for (int64_t s = 0; s < 500; s += 7) {
        bad += tt_loader_get(a, s, 1, x, y, NULL, NULL, &err) != TT_OK;
        char *mark = tt_loader_bookmark(a, s + 3);
        open_kind("law-*.jsonl", 9, 258, 0, 0, 1, t, &b, &err);
        bad += !mark || tt_loader_seek(b, s + 3, mark, &err) != TT_OK;
        bad += tt_loader_get(b, s + 3, 1, x, y, NULL, NULL, &err) != TT_OK;
        bad += tt_loader_get(a, s + 3, 1, wx, wy, NULL, NULL, &err) != TT_OK;
        bad += memcmp(x, wx, sizeof x) || memcmp(y, wy, sizeof y);
        tt_loader_close(&b);
        free(mark);
    }
    is_int(bad, 0, "a bookmark leads to the same rows");
    char *mark = tt_loader_bookmark(a, 400);
    put("law-1.jsonl", "{\"text\": \"other\"}\n");
    put("law-0.jsonl", "{\"text\": \"files\"}\n");
    open_kind("law-*.jsonl", 9, 258, 0, 0, 1, t, &b, &err);
    is_int(tt_loader_seek(b, 400, mark, &err), TT_OK, "a bookmark of other files is left alone %s", err.text);
    free(mark);
    tt_loader_close(&a);
    tt_loader_close(&b);
}

/* What goes wrong while reading comes out of the thread, at its step. */
static void late_errors(const tt_tokenizer *t)
{
    tt_loader *l = NULL;
    tt_prefetch *p = NULL;
    tt_error err = {0};
    int32_t x[4], y[4];
    double waited;
    int64_t step = 0;
    tt_status st = TT_OK;
    put("late.jsonl", "{\"text\": \"abcdefghijklmnop\"}\n{\"text\": \"abcdefghijklmnop\"}\n{\"txt\": \"no\"}\n");
    open_kind("late.jsonl", 4, 258, 0, 0, 1, t, &l, &err);
    tt_prefetch_start(&(tt_prefetch_opts){.loader = l, .seq_len = 4, .batch = 1, .n_microbatches = 1, .stride = 1, .step_rows = 1,
                                          .depth = 2}, 0, &p, &err);
    for (; step < 20 && st == TT_OK; step++)
        st = tt_prefetch_take(p, step, &(tt_rows){x, y, NULL, NULL}, &waited, &err);
    ok(st == TT_ERR_DATA && step == 8 && strstr(err.text, "late.jsonl:3"), "at step %lld: %s", (long long)step, err.text);
    tt_prefetch_stop(&p);
    tt_loader_close(&l);
    st = open_kind("late.jsonl", 4, 258, 0, 1, 1, t, &l, &err);
    ok(st == TT_ERR_CONFIG && strstr(err.text, "write token shards of it with titan-tokenize shards and give those, or do not shuffle"),
       "refused: %s", err.text);
    tt_loader_close(&l);
}

int main(void)
{
    tt_tokenizer *t = NULL;
    static int32_t all[20000];
    if (!mkdtemp(dir) || tt_tokenizer_open("byte", &t, NULL) != TT_OK)
        return 1;
    refusals(t);
    plain_rows(t);
    masked_rows(t);
    const int64_t n = make_corpus(150, all);
    for (int kind = 0; kind < 6; kind++)
        same_stream(t, kind % 2, kind / 2 == 1, kind / 2 == 2);
    every_token(t, all, n, 0, 0);
    every_token(t, all, n, 1, 0);
    every_token(t, all, n, 0, 1);
    law = "law-*.tok";
    for (int kind = 0; kind < 4; kind++)
        same_stream(t, kind % 2, kind / 2, 0);
    every_token(t, all, n, 0, 0);
    every_token(t, all, n, 1, 0);
    same_as_text(t);
    mixture(t);
    many_sources(t);
    tt_log_set_level(TT_LOG_ERROR);
    bookmarks(t);
    late_errors(t);
    tt_tokenizer_close(&t);
    char command[400];
    snprintf(command, sizeof command, "rm -r %s", dir);
    return system(command) == 0 ? done_testing() : 1;
}
