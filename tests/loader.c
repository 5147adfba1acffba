/* The loader: refusals first, then rows against a stream written out by hand, and the law that the split over ranks does
 * not matter. */
#include "data/loader.h"
#include "tap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

static tt_status open_at(const char *where, int64_t seq_len, int64_t vocab, int masking, const tt_tokenizer *t,
                         tt_loader **l, tt_error *err)
{
    snprintf(path, sizeof path, "%s/%s", dir, where);
    return tt_loader_open(&(tt_loader_opts){.path = path, .tokenizer = t, .seq_len = seq_len, .vocab = vocab,
                                            .document_masking = masking}, l, err);
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
        {"nothing.txt", 4, 0, TT_ERR_DATA, "put text files (one document each) there"},
        {"", 4, 0, TT_ERR_DATA, "/*.txt; put text files"},
        {"empty.dat", 4, 0, TT_ERR_DATA, "all files found are empty (1, the first is"},
        {"abc.dat", 5, 0, TT_ERR_DATA, "sequence too long for the data: a row needs 6 tokens"},
        {"abc.dat", 5, 0, TT_ERR_DATA, "holds 5; use training.seq_len <= 4 or more text"},
        {"abc.dat", 0, 0, TT_ERR_CONFIG, "training.seq_len=0 must be at least 1"},
        {"abc.dat", 4, 257, TT_ERR_DATA, "has 257 rows; use a vocabulary of at least 258"},
    };
    tt_error err = {0};
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
    ok(tt_dataset_tokens(tt_loader_dataset(l)) == 12 && tt_dataset_documents(tt_loader_dataset(l)) == 3 &&
           tt_dataset_empty_files(tt_loader_dataset(l)) == 1, "12 tokens in 3 documents, an empty file left out");
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
    is_int(tt_dataset_documents(tt_loader_dataset(l)), 2, "two files match");
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

int main(void)
{
    tt_tokenizer *t = NULL;
    if (!mkdtemp(dir) || tt_tokenizer_open("byte", &t, NULL) != TT_OK)
        return 1;
    refusals(t);
    plain_rows(t);
    masked_rows(t);
    tt_tokenizer_close(&t);
    char command[400];
    snprintf(command, sizeof command, "rm -r %s", dir);
    return system(command) == 0 ? done_testing() : 1;
}
