/* The loader's speed: rows of 2048 tokens out of token shards, in one thread, and the time to stand at token 10^11.
 * Prints millions of tokens a second for each way of making rows, beside a plain copy of as many bytes. */
#include "base/clock.h"
#include "data/loader.h"
#include "data/shard.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define T 2048
#define SHARD (INT64_C(1) << 25) /* tokens */

static char dir[] = "/tmp/titan-bench-XXXXXX";

static int make_shard(const char *path)
{
    tt_error err = {0};
    tt_shard_writer *w = NULL;
    int32_t ids[700];
    int64_t n = 0;
    tt_status st = tt_shard_create(path, &(tt_shard_info){.token_bytes = 2, .vocab = 258, .bos = 256, .eos = 257}, &w, &err);
    while (st == TT_OK && n < SHARD) {
        const size_t len = 100 + (size_t)(n * 7919 % 600);
        for (size_t i = 0; i < len; i++)
            ids[i] = (int32_t)((n + (int64_t)i * 31) % 256);
        ids[0] = 256;
        ids[len - 1] = 257;
        st = tt_shard_add(w, ids, len, &err);
        n += (int64_t)len;
    }
    if (st == TT_OK && (st = tt_shard_finish(w, &err)) == TT_OK)
        st = tt_shard_publish(w, &err);
    tt_shard_writer_close(&w);
    if (st != TT_OK)
        fprintf(stderr, "%s\n", err.text);
    return st == TT_OK;
}

static tt_status open_rows(const char *path, const tt_tokenizer *t, int masking, int shuffle, tt_loader **l, tt_error *err)
{
    return tt_loader_open(&(tt_loader_opts){.paths = &path, .n_paths = 1, .source = {.tokenizer = t, .vocab = 258, .key = "training"},
                                            .seq_len = T, .document_masking = masking, .shuffle = shuffle}, l, err);
}

/* Millions of tokens a second over a pass; the first pass also checks the blocks. */
static double rate(const char *path, const tt_tokenizer *t, int masking, int shuffle, int passes)
{
    static int32_t x[T], y[T], p[T], s[T];
    tt_loader *l = NULL;
    tt_error err = {0};
    double seconds = 0;
    if (open_rows(path, t, masking, shuffle, &l, &err) != TT_OK) {
        fprintf(stderr, "%s\n", err.text);
        return 0;
    }
    const int64_t rows = tt_loader_samples_per_epoch(l);
    for (int pass = 0; pass < passes; pass++) {
        const double start = tt_clock_s();
        for (int64_t r = 0; r < rows; r++)
            tt_loader_get(l, pass * rows + r, 1, x, y, p, s, &err);
        seconds = tt_clock_s() - start;
    }
    tt_loader_close(&l);
    return (double)rows * (T + 1) / seconds / 1e6;
}

static double copy_rate(void)
{
    static int32_t from[16 * T], to[16 * T];
    const double start = tt_clock_s();
    for (int i = 0; i < 20000; i++) {
        from[i % T] = i;
        memcpy(to, from, sizeof to);
        __asm__ volatile("" ::"r"(to) : "memory");
    }
    return 20000.0 * 16 * T / 4 / (tt_clock_s() - start) / 1e6; /* four arrays make a row */
}

/* 25 raw files of 2^32 tokens each, all holes: 10^11 tokens. */
static void far_resume(const tt_tokenizer *t)
{
    char path[300], pattern[300];
    tt_loader *l = NULL;
    tt_error err = {0};
    static int32_t x[T], y[T], p[T], s[T];
    for (int i = 0; i < 25; i++) {
        snprintf(path, sizeof path, "%s/far-%02d.bin", dir, i);
        int fd = open(path, O_CREAT | O_WRONLY, 0600);
        if (fd < 0 || ftruncate(fd, (off_t)1 << 33) != 0) {
            printf("resume at token 1e11: not run, no sparse files of 8 GiB here\n");
            if (fd >= 0)
                close(fd);
            return;
        }
        close(fd);
    }
    snprintf(pattern, sizeof pattern, "%s/far-*.bin", dir);
    const double start = tt_clock_s();
    if (open_rows(pattern, t, 0, 1, &l, &err) != TT_OK || tt_loader_seek(l, 100000000000 / (T + 1), NULL, &err) != TT_OK ||
        tt_loader_get(l, 100000000000 / (T + 1), 1, x, y, p, s, &err) != TT_OK)
        printf("resume at token 1e11: %s\n", err.text);
    else
        printf("resume at token 1e11 of %lld, shuffled: %.4f s\n", (long long)tt_loader_tokens(l), tt_clock_s() - start);
    tt_loader_close(&l);
}

int main(void)
{
    tt_tokenizer *t = NULL;
    char path[300], command[300];
    if (!mkdtemp(dir) || tt_tokenizer_open("byte", &t, NULL) != TT_OK)
        return 1;
    snprintf(path, sizeof path, "%s/b.tok", dir);
    if (make_shard(path)) {
        const double copy = copy_rate();
        printf("loader, rows of %d tokens from a u16 shard, one thread (Mtokens/s; a copy of the rows alone: %.0f)\n", T, copy);
        printf("  first pass, blocks checked  %7.0f\n", rate(path, t, 0, 0, 1));
        printf("  stream                      %7.0f\n", rate(path, t, 0, 0, 2));
        printf("  document                    %7.0f\n", rate(path, t, 1, 0, 2));
        printf("  document, shuffled          %7.0f\n", rate(path, t, 1, 1, 2));
    }
    far_resume(t);
    tt_tokenizer_close(&t);
    snprintf(command, sizeof command, "rm -r %s", dir);
    return system(command) != 0;
}
