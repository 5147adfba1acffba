/* Token files with offsets and token numbers beyond 32 bits: sparse files, so that only a few blocks are written. */
#include "data/checksum.h"
#include "data/shard_priv.h"
#include "data/token_files.h"
#include "tap.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char dir[] = "/tmp/titan-large-XXXXXX";
static char path[400];

static const char *at(const char *name)
{
    snprintf(path, sizeof path, "%s/%s", dir, name);
    return path;
}

static int make(const char *name, int64_t bytes)
{
    const int fd = open(at(name), O_RDWR | O_CREAT | O_TRUNC, 0666);
    if (fd < 0 || ftruncate(fd, bytes) != 0) {
        if (fd >= 0)
            close(fd);
        return -1;
    }
    return fd;
}

/* 1 when a file of 9 GiB takes no room. */
static int sparse(void)
{
    struct stat info;
    const int fd = make("probe", (int64_t)9 << 30);
    const int good = fd >= 0 && pwrite(fd, "x", 1, (int64_t)5 << 30) == 1 && fstat(fd, &info) == 0 && info.st_blocks < 4096;
    if (fd >= 0)
        close(fd);
    unlink(at("probe"));
    return good;
}

static void put(int fd, const void *data, size_t n, int64_t where)
{
    if (pwrite(fd, data, n, where) != (ssize_t)n)
        diag("cannot write to %s", path);
}

static void is_tokens(tt_token_file *f, int64_t first, int n, const int32_t *want, const uint8_t *marks, const char *what)
{
    int32_t out[16] = {0};
    uint8_t begins[16] = {0};
    tt_error err = {0};
    ok(f && tt_token_file_read(f, first, n, out, begins, &err) == TT_OK && memcmp(out, want, (size_t)n * sizeof *out) == 0 &&
       memcmp(begins, marks, (size_t)n) == 0, "%s, token %lld: %d %d %d, begins %d %d %d; %s", what, (long long)first, out[0], out[1], out[2],
       begins[0], begins[1], begins[2], err.text);
}

/* .bin of 6 GiB; sequences of three tokens at bytes 0, 2^31 + 6 and 2^32 + 2, then one of 2^31 - 1 that ends at the end. */
static void megatron(void)
{
    static const int64_t places[] = {0, ((int64_t)1 << 31) + 6, ((int64_t)1 << 32) + 2};
    const int64_t bytes = (int64_t)6 << 30, rest = INT32_MAX, offsets[] = {places[0], places[1], places[2], bytes - 2 * rest};
    const int32_t lengths[] = {3, 3, 3, INT32_MAX};
    const uint64_t counts[] = {4, 5}, version = 1, documents[] = {0, 1, 2, 3, 4};
    const int bin = make("m.bin", bytes), idx = make("m.idx", 0);
    for (int i = 0; i < 3; i++)
        put(bin, (uint16_t[]){(uint16_t)(100 + i), (uint16_t)(200 + i), (uint16_t)(300 + i)}, 6, places[i]);
    put(bin, (uint16_t[]){7, 8, 9}, 6, bytes - 6);
    put(idx, "MMIDIDX\0", 9, 0);
    put(idx, &version, 8, 9);
    put(idx, "\10", 1, 17);
    put(idx, counts, 16, 18);
    put(idx, lengths, sizeof lengths, 34);
    put(idx, offsets, sizeof offsets, 34 + sizeof lengths);
    put(idx, documents, sizeof documents, 34 + sizeof lengths + sizeof offsets);
    close(bin);
    close(idx);
    tt_token_file *f = NULL;
    tt_error err = {0};
    ok(tt_token_file_open(at("m.idx"), NULL, &f, &err) == TT_OK, "Megatron, 6 GiB: opens %s", err.text);
    is_tokens(f, 0, 9, (int32_t[]){100, 200, 300, 101, 201, 301, 102, 202, 302}, (uint8_t[]){1, 0, 0, 1, 0, 0, 1, 0, 0}, "Megatron");
    is_tokens(f, 8, 3, (int32_t[]){302, 0, 0}, (uint8_t[]){0, 1, 0}, "Megatron");
    is_tokens(f, 9 + rest - 3, 3, (int32_t[]){7, 8, 9}, (uint8_t[]){0, 0, 0}, "Megatron, the end");
    tt_token_file_close(&f);
}

/* nanoGPT with 2^32 + 5 tokens. */
static void raw(void)
{
    const int64_t tokens = ((int64_t)1 << 32) + 5;
    const int fd = make("r.bin", 2 * tokens);
    put(fd, (uint16_t[]){11, 9, 12}, 6, 2 * ((int64_t)1 << 32));
    put(fd, (uint16_t[]){13}, 2, 2 * tokens - 2);
    put(fd, (uint16_t[]){60000}, 2, 2 * ((int64_t)3 << 30) + 2);
    close(fd);
    tt_token_file *f = NULL;
    tt_error err = {0};
    int32_t out[4];
    ok(tt_token_file_open(at("r.bin"), &(tt_token_opts){.vocab = 50304, .marks = 1, .bos = -1, .eos = 9}, &f, &err) == TT_OK &&
       tt_token_file_tokens(f) == tokens, "nanoGPT: opens %s", err.text);
    is_tokens(f, (int64_t)1 << 32, 5, (int32_t[]){11, 9, 12, 0, 13}, (uint8_t[]){0, 0, 1, 0, 0}, "nanoGPT");
    ok(f && tt_token_file_read(f, (int64_t)3 << 30, 4, out, NULL, &err) == TT_ERR_DATA &&
       strstr(err.text, "r.bin: token 3221225473 has id 60000, but the vocabulary has 50304;"), "%s", err.text);
    tt_token_file_close(&f);
}

/* A shard of 2^32 + 6 tokens and three documents, whose blocks are all zeros but the first and the last. */
static void shard(void)
{
    const int64_t tokens = ((int64_t)1 << 32) + 6, starts = (TT_SHARD_HEADER + 2 * tokens + 7) & ~(int64_t)7, sums = starts + 24;
    const int64_t blocks = (sums - TT_SHARD_HEADER + TT_SHARD_BLOCK - 1) / TT_SHARD_BLOCK;
    const uint64_t documents[] = {0, 5, ((uint64_t)1 << 32) + 2};
    unsigned char h[TT_SHARD_HEADER] = TT_SHARD_MAGIC, *block = calloc(1, TT_SHARD_BLOCK);
    uint64_t *table = malloc((size_t)blocks * sizeof *table);
    const int fd = make("s.tok", sums + 8 * blocks);
    put(fd, (uint16_t[]){1, 2, 3}, 6, TT_SHARD_HEADER);
    put(fd, (uint16_t[]){4, 5, 6, 7, 8, 9}, 12, TT_SHARD_HEADER + 2 * ((int64_t)1 << 32));
    put(fd, documents, sizeof documents, starts);
    for (int64_t b = 1; b < blocks; b++)
        table[b] = b == 1 ? tt_checksum64(block, TT_SHARD_BLOCK) : table[1];
    for (int64_t b = 0; b < blocks; b += blocks - 1) {
        const int64_t where = TT_SHARD_HEADER + b * TT_SHARD_BLOCK;
        const size_t n = (size_t)(sums - where < TT_SHARD_BLOCK ? sums - where : TT_SHARD_BLOCK);
        if (pread(fd, block, n, where) != (ssize_t)n)
            diag("cannot read %s", path);
        table[b] = tt_checksum64(block, n);
    }
    put(fd, table, (size_t)blocks * 8, sums);
    const struct { int place; uint64_t value; size_t bytes; } fields[] = {
        {TT_AT_VERSION, 1, 4}, {TT_AT_WIDTH, 2, 4}, {TT_AT_VOCAB, 10, 8}, {TT_AT_TOKENS, (uint64_t)tokens, 8}, {TT_AT_DOCUMENTS, 3, 8},
        {TT_AT_STARTS, (uint64_t)starts, 8}, {TT_AT_SUMS, (uint64_t)sums, 8}, {TT_AT_BYTES, (uint64_t)(sums + 8 * blocks), 8},
        {TT_AT_BLOCK, TT_SHARD_BLOCK, 4}};
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++)
        memcpy(h + fields[i].place, &fields[i].value, fields[i].bytes);
    const uint64_t check = tt_checksum64(h, TT_AT_CHECK);
    memcpy(h + TT_AT_CHECK, &check, 8);
    put(fd, h, sizeof h, 0);
    close(fd);
    tt_token_file *f = NULL;
    tt_error err = {0};
    ok(tt_token_file_open(at("s.tok"), NULL, &f, &err) == TT_OK && tt_token_file_tokens(f) == tokens, "shard: opens %s", err.text);
    is_tokens(f, 0, 6, (int32_t[]){1, 2, 3, 0, 0, 0}, (uint8_t[]){1, 0, 0, 0, 0, 1}, "shard");
    is_tokens(f, (int64_t)1 << 32, 6, (int32_t[]){4, 5, 6, 7, 8, 9}, (uint8_t[]){0, 0, 1, 0, 0, 0}, "shard");
    is_tokens(f, ((int64_t)1 << 31) + 1, 3, (int32_t[]){0, 0, 0}, (uint8_t[]){0, 0, 0}, "shard");
    tt_token_file_close(&f);
    free(table);
    free(block);
}

int main(void)
{
    char command[300];
    if (!mkdtemp(dir))
        skip_all("no temporary folder");
    if (!sparse()) {
        rmdir(dir);
        skip_all("the file system of /tmp has no sparse files of 9 GiB");
    }
    megatron();
    raw();
    shard();
    snprintf(command, sizeof command, "rm -rf '%s'", dir);
    ok(system(command) == 0, "cleaned up");
    return done_testing();
}
