/* Token files: refusals with their exact words, then tokens and documents of every kind against what was written. */
#include "data/checksum.h"
#include "data/shard_priv.h"
#include "data/token_files.h"
#include "tap.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static char dir[] = "/tmp/titan-tokens-XXXXXX";
static char path[400];

static const char *at(const char *name)
{
    snprintf(path, sizeof path, "%s/%s", dir, name);
    return path;
}

static void put(const char *name, const void *data, size_t n)
{
    FILE *f = fopen(at(name), "wb");
    if (!f || fwrite(data, 1, n, f) != n || fclose(f) != 0)
        diag("cannot write %s", path);
}

/* The message with the folder cut out of it. */
static const char *words(const tt_error *err)
{
    static char text[TT_ERROR_TEXT_MAX];
    size_t n = 0;
    for (const char *s = err->text; *s && n < sizeof text - 1;) {
        if (strncmp(s, dir, strlen(dir)) == 0)
            s += strlen(dir) + 1;
        else
            text[n++] = *s++;
    }
    text[n] = 0;
    return text;
}

static void refuse(const char *name, const tt_token_opts *o, const char *want)
{
    tt_error err = {0};
    tt_token_file *f = NULL;
    ok(tt_token_file_open(at(name), o, &f, &err) != TT_OK && !f, "%s is refused", name);
    is_str(words(&err), want, "%s: its words", name);
    tt_token_file_close(&f);
}

/* --- titan's shards --------------------------------------------------------------------------------------------------------------------- */

enum { DOCUMENTS = 3000, MOST = 200 };

/* Document d has 1 .. MOST tokens, all derived from d. */
static size_t make_document(int d, int32_t *ids)
{
    const size_t n = 1 + (size_t)d * 7919 % MOST;
    for (size_t i = 0; i < n; i++)
        ids[i] = (int32_t)(((size_t)d * 31 + i * 17) % 50000);
    return n;
}

static int64_t make_stream(int32_t **stream, uint8_t **begins)
{
    int64_t n = 0;
    *stream = malloc((size_t)DOCUMENTS * MOST * sizeof **stream);
    *begins = calloc((size_t)DOCUMENTS * MOST, 1);
    for (int d = 0; d < DOCUMENTS; d++) {
        (*begins)[n] = 1;
        n += (int64_t)make_document(d, *stream + n);
    }
    return n;
}

static void write_shard(const char *name, int width, const tt_tokenizer *t)
{
    tt_shard_info info = {.token_bytes = width, .vocab = 50000, .bos = -1, .eos = 7, .name = "some/tokenizer"};
    int32_t ids[MOST];
    tt_error err = {0};
    tt_shard_writer *w = NULL;
    if (t)
        tt_tokenizer_identity(t, info.tokenizer, NULL);
    tt_status st = tt_shard_create(at(name), &info, &w, &err);
    for (int d = 0; d < DOCUMENTS && st == TT_OK; d++)
        st = tt_shard_add(w, ids, make_document(d, ids), &err);
    st = st == TT_OK ? tt_shard_finish(w, &err) : st;
    ok(st == TT_OK && access(path, F_OK) != 0, "%s is not there before it is published %s", name, err.text);
    ok(st == TT_OK && tt_shard_publish(w, &err) == TT_OK && access(path, F_OK) == 0, "%s is published", name);
    tt_shard_writer_close(&w);
}

/* Reads of many lengths at many places against the stream. */
static int wrong_reads(tt_token_file *f, const int32_t *stream, const uint8_t *begins, int64_t all)
{
    static const int64_t lengths[] = {1, 2, 77, 2049, 32768, 40000};
    int32_t *out = malloc(40000 * sizeof *out);
    uint8_t *marks = malloc(40000);
    tt_error err = {0};
    int wrong = 0;
    uint64_t random = 1;
    for (int i = 0; i < 600; i++) {
        const int64_t n = lengths[i % 6] < all ? lengths[i % 6] : all;
        random = random * 6364136223846793005u + 1442695040888963407u;
        const int64_t first = i == 1 ? all - n : i == 2 ? 0 : (int64_t)(random >> 33) % (all - n + 1);
        memset(marks, 9, 40000);
        wrong += tt_token_file_read(f, first, n, out, marks, &err) != TT_OK || memcmp(out, stream + first, (size_t)n * sizeof *out) != 0 ||
                 memcmp(marks, begins + first, (size_t)n) != 0;
        wrong += i % 50 == 0 && (tt_token_file_read(f, first, n, out, NULL, &err) != TT_OK ||
                                 memcmp(out, stream + first, (size_t)n * sizeof *out) != 0);
    }
    if (wrong)
        diag("%s", err.text);
    free(out);
    free(marks);
    return wrong;
}

typedef struct job {
    tt_token_file *file;
    const int32_t *stream;
    const uint8_t *begins;
    int64_t all;
    int wrong;
} job;

static void *read_beside(void *ctx)
{
    job *j = ctx;
    j->wrong = wrong_reads(j->file, j->stream, j->begins, j->all);
    return NULL;
}

static void shards(const tt_tokenizer *t)
{
    int32_t *stream;
    uint8_t *begins;
    tt_error err = {0};
    const int64_t all = make_stream(&stream, &begins);
    for (int width = 2; width <= 4; width += 2) {
        const char *name = width == 2 ? "a.tok" : "b.tok";
        tt_token_file *f = NULL;
        pthread_t threads[3];
        job jobs[3];
        write_shard(name, width, NULL);
        ok(tt_token_file_kind(at(name)) == TT_TOKENS_TITAN, "%s is known by its content", name);
        ok(tt_token_file_open(at(name), &(tt_token_opts){.tokenizer = t, .vocab = 50000}, &f, &err) == TT_OK, "%s opens %s", name, err.text);
        ok(f && tt_token_file_tokens(f) == all && tt_token_file_documents(f) == DOCUMENTS && tt_token_file_token_bytes(f) == width, "its counts");
        for (int i = 0; f && i < 3; i++) {
            jobs[i] = (job){f, stream, begins, all, 0};
            pthread_create(&threads[i], NULL, read_beside, &jobs[i]);
        }
        for (int i = 0; f && i < 3; i++) {
            pthread_join(threads[i], NULL);
            ok(jobs[i].wrong == 0, "%s: thread %d reads what was written, %d wrong", name, i, jobs[i].wrong);
        }
        int64_t bad = -1;
        ok(f && tt_shard_verify(tt_token_file_shard(f), &bad, &err) == TT_OK && bad == 0, "%s: every block is sound", name);
        tt_token_file_close(&f);
    }
    tt_shard_writer *w = NULL;
    ok(tt_shard_create(at("a.tok"), &(tt_shard_info){.token_bytes = 2, .vocab = 10}, &w, &err) == TT_ERR_IO, "a shard is not overwritten");
    is_str(words(&err), "a.tok exists already, and is not overwritten; remove it or choose another name", "its words");
    ok(tt_shard_create(at("c.tok"), &(tt_shard_info){.token_bytes = 2, .vocab = 70000}, &w, &err) == TT_ERR_DATA, "70000 ids in 16 bits");
    is_str(words(&err), "writing c.tok: ids of 2 bytes cannot hold the 70000 ids of the vocabulary; use u32 (vocabularies up to 65536 fit u16)",
           "its words");
    ok(tt_shard_create(at("c.tok"), &(tt_shard_info){.token_bytes = 2, .vocab = 65536}, &w, &err) == TT_OK, "65536 fit");
    ok(tt_shard_add(w, (int32_t[]){1, 65535}, 2, &err) == TT_OK && tt_shard_add(w, (int32_t[]){1, 65536}, 2, &err) == TT_ERR_DATA, "an id beyond");
    is_str(words(&err), "writing c.tok: token 3 has id 65536, but the vocabulary has 65536; nothing is written: use the tokenizer of that vocabulary", "its words");
    tt_shard_writer_close(&w);
    char command[500];
    snprintf(command, sizeof command, "test -z \"$(ls '%s' | grep c.tok)\"", dir);
    ok(system(command) == 0, "a writer that is given up leaves nothing");
    free(stream);
    free(begins);
}

/* A copy of a.tok with bytes changed, or cut. seal: make the header's checksum right again. */
static void spoil(const char *name, int where, const void *with, size_t n, int64_t size, int seal)
{
    FILE *f = fopen(at("a.tok"), "rb");
    char *data = malloc(4 << 20);
    size_t all = fread(data, 1, 4 << 20, f);
    fclose(f);
    memcpy(data + where, with, n);
    if (seal) {
        const uint64_t sum = tt_checksum64(data, TT_AT_CHECK);
        memcpy(data + TT_AT_CHECK, &sum, 8);
    }
    put(name, data, size >= 0 ? (size_t)size : all);
    free(data);
}

static void damaged_shards(const tt_tokenizer *t)
{
    tt_error err = {0};
    tt_token_file *f = NULL;
    int32_t out[8];
    char want[600];
    const int64_t two = 2, many = 1 << 20;
    spoil("v.tok", TT_AT_VERSION, &two, 4, -1, 1);
    refuse("v.tok", NULL, "v.tok is a token shard of version 2, and this titan reads version 1; use a newer titan or tokenize again");
    spoil("h.tok", TT_AT_TOKENS, &many, 8, -1, 0);
    refuse("h.tok", NULL, "h.tok: the header of this token shard is damaged (its checksum is wrong); copy the file again or tokenize again");
    spoil("h.tok", TT_AT_TOKENS, &many, 8, -1, 1);
    refuse("h.tok", NULL, "h.tok: the header of this token shard is damaged (counts and places that do not fit each other); copy the file again "
           "or tokenize again");
    spoil("h.tok", TT_AT_WIDTH, &many, 4, -1, 1);
    refuse("h.tok", NULL, "h.tok: the header of this token shard is damaged (values that no shard has); copy the file again or tokenize again");
    spoil("s.tok", 0, "titan", 5, 1000, 0);
    refuse("s.tok", NULL, "s.tok ends inside its header, after 1000 bytes; it is cut off: copy the file again or tokenize again");
    spoil("s.tok", 0, "titan", 5, 10000, 0);
    ok(tt_token_file_open(at("s.tok"), NULL, &f, &err) == TT_ERR_DATA && strstr(err.text, "s.tok has 10000 bytes, but its header says ") &&
       strstr(err.text, "; it is cut off: copy the file again or tokenize again"), "%s", words(&err));
    spoil("d.tok", TT_SHARD_HEADER + TT_SHARD_BLOCK + 5, "x", 1, -1, 0);
    ok(tt_token_file_open(at("d.tok"), NULL, &f, &err) == TT_OK, "a damaged block does not show at once");
    ok(tt_token_file_read(f, 0, 8, out, NULL, &err) == TT_OK, "the block before it is read");
    ok(tt_token_file_read(f, TT_SHARD_BLOCK / 2 - 4, 8, out, NULL, &err) == TT_ERR_DATA, "the damaged one is not");
    snprintf(want, sizeof want, "d.tok: block 1 of %lld (bytes 69632 to 135167) is damaged: its checksum is ",
             (long long)((tt_token_file_tokens(f) * 2 + 7) / 8 * 8 + DOCUMENTS * 8 + 65535) / 65536);
    ok(strncmp(words(&err), want, strlen(want)) == 0 && strstr(err.text, "; copy the file again or tokenize again"), "%s", words(&err));
    int64_t bad = 0;
    ok(tt_shard_verify(tt_token_file_shard(f), &bad, &err) == TT_ERR_DATA && bad == 1, "one bad block in all");
    tt_token_file_close(&f);
    refuse("a.tok", &(tt_token_opts){.vocab = 49999}, "a.tok has ids of a vocabulary of 50000 (tokenizer \"some/tokenizer\"), but the model's has "
           "49999 rows; use a model with at least 50000 rows, or tokenize again with the model's tokenizer");
    write_shard("t.tok", 2, t);
    unsigned char other[16] = {1};
    spoil("o.tok", TT_AT_TOKENIZER, other, 16, -1, 1);
    refuse("o.tok", &(tt_token_opts){.tokenizer = t}, "o.tok was written with the tokenizer \"some/tokenizer\" (50000 ids), whose ids mean other "
           "texts than those of \"byte\" (258 ids); use that tokenizer, or tokenize again");
    ok(tt_token_file_open(at("t.tok"), &(tt_token_opts){.tokenizer = t, .vocab = 50000}, &f, &err) == TT_OK, "its own tokenizer is fine");
    tt_token_file_close(&f);
}

/* --- llm.c and raw -------------------------------------------------------------------------------------------------------------------------- */

static void put_llmc(const char *name, int32_t magic, int32_t version, int32_t count, const void *ids, size_t n)
{
    char *data = calloc(1, 1024 + n);
    memcpy(data, (int32_t[]){magic, version, count}, 12);
    memcpy(data + 1024, ids, n);
    put(name, data, 1024 + n);
    free(data);
}

static void read_all(const char *name, const tt_token_opts *o, tt_token_kind kind, int width, int64_t documents, int64_t n, const int32_t *ids,
                     const uint8_t *begins)
{
    tt_error err = {0};
    tt_token_file *f = NULL;
    ok(tt_token_file_open(at(name), o, &f, &err) == TT_OK, "%s opens %s", name, err.text);
    if (!f)
        return;
    ok(tt_token_file_kind_of(f) == kind && tt_token_file_tokens(f) == n && tt_token_file_documents(f) == documents &&
       tt_token_file_token_bytes(f) == width, "%s: %s, %lld tokens, %lld documents, width %d", name, tt_token_kind_name(tt_token_file_kind_of(f)),
       (long long)tt_token_file_tokens(f), (long long)tt_token_file_documents(f), tt_token_file_token_bytes(f));
    ok(n == tt_token_file_tokens(f) && wrong_reads(f, ids, begins, n) == 0, "%s reads right", name);
    tt_token_file_close(&f);
}

static void plain_files(void)
{
    static const uint16_t narrow[] = {5, 6, 9, 7, 9, 9, 8, 65535};
    static const uint32_t wide[] = {9, 5, 70000, 9, 7};
    static const int32_t ids[] = {5, 6, 9, 7, 9, 9, 8, 65535}, wide_ids[] = {9, 5, 70000, 9, 7};
    const tt_token_opts nine = {.marks = 1, .bos = -1, .eos = 9}, both = {.marks = 1, .bos = 9, .eos = 9}, begin = {.marks = 1, .bos = 9, .eos = 7};
    put_llmc("g.bin", 20240520, 1, 8, narrow, sizeof narrow);
    read_all("g.bin", &nine, TT_TOKENS_LLMC, 2, -1, 8, ids, (const uint8_t[]){1, 0, 0, 1, 0, 1, 1, 0});
    read_all("g.bin", NULL, TT_TOKENS_LLMC, 2, -1, 8, ids, (const uint8_t[]){1, 0, 0, 0, 0, 0, 0, 0});
    read_all("g.bin", &begin, TT_TOKENS_LLMC, 2, -1, 8, ids, (const uint8_t[]){1, 0, 1, 0, 1, 1, 0, 0});
    put_llmc("l.bin", 20240801, 7, 5, wide, sizeof wide);
    read_all("l.bin", &both, TT_TOKENS_LLMC, 4, -1, 5, wide_ids, (const uint8_t[]){1, 0, 0, 1, 0});
    put("r.bin", narrow, sizeof narrow);
    read_all("r.bin", &both, TT_TOKENS_RAW, 2, -1, 8, ids, (const uint8_t[]){1, 0, 0, 1, 0, 1, 1, 0});
    put("w.bin", wide, sizeof wide);
    read_all("w.bin", &(tt_token_opts){.token_bytes = 4}, TT_TOKENS_RAW, 4, -1, 5, wide_ids, (const uint8_t[]){1, 0, 0, 0, 0});
    put_llmc("c.bin", 20240520, 1, 9, narrow, sizeof narrow);
    refuse("c.bin", NULL, "c.bin says 9 tokens of 2 bytes (llm.c), which with the header makes 1042 bytes, but has 1040; it is damaged: get it again");
    put_llmc("c.bin", 20240520, 2, 8, narrow, sizeof narrow);
    refuse("c.bin", NULL, "c.bin says magic 20240520 (llm.c) and version 2; known are 20240520 version 1 (16-bit ids) and 20240801 version 7 (32-bit "
           "ids): write it again");
    put_llmc("c.bin", 20240522, 1, 8, narrow, sizeof narrow);
    refuse("c.bin", NULL, "c.bin is a file of multiple-choice questions (llm.c), not of tokens to train on; choose another");
    put("c.bin", (int32_t[]){20240520, 1}, 8);
    refuse("c.bin", NULL, "c.bin ends inside its header of 1024 bytes (llm.c), after 8; it is cut off: get it again");
    put("c.bin", narrow, 7);
    refuse("c.bin", NULL, "c.bin has 7 bytes, which is no multiple of 2, the width of an id (a raw file without a header); it is cut off or no file "
           "of tokens: get it again");
    put("c.bin", narrow, 6);
    refuse("c.bin", &(tt_token_opts){.token_bytes = 4}, "c.bin has 6 bytes, which is no multiple of 4, the width of an id (a raw file without a "
           "header); it is cut off or no file of tokens: get it again");
    refuse("none.bin", NULL, "cannot open none.bin: No such file or directory; check the path");
    put("c.dat", narrow, 6);
    refuse("c.dat", NULL, "c.dat is no file of tokens that titan knows: a titan shard, an .idx and .bin of Megatron, a .bin of llm.c or of nanoGPT; "
           "make one with titan-tokenize shards");
}

/* One id beyond the vocabulary: seen at the start in a small file, at its read in a large one. */
static void beyond(void)
{
    enum { N = 1 << 20 };
    uint16_t *ids = malloc(N * sizeof *ids);
    int32_t out[4];
    tt_error err = {0};
    tt_token_file *f = NULL;
    for (int i = 0; i < N; i++)
        ids[i] = (uint16_t)(i % 50000);
    ids[10] = 60000;
    put("x.bin", ids, 100);
    refuse("x.bin", &(tt_token_opts){.vocab = 50304}, "x.bin: token 10 has id 60000, but the vocabulary has 50304; it was made with another tokenizer, "
           "or its ids are not the 2 bytes wide that they are read as: use the model and tokenizer that belong to it, or tokenize again");
    ids[10] = 1;
    ids[5000] = 60000;
    put("x.bin", ids, N * 2);
    ok(tt_token_file_open(at("x.bin"), &(tt_token_opts){.vocab = 50304}, &f, &err) == TT_OK, "one id of a million is not seen at the start");
    ok(tt_token_file_read(f, 4998, 2, out, NULL, &err) == TT_OK && tt_token_file_read(f, 4998, 4, out, NULL, &err) == TT_ERR_DATA &&
       strstr(words(&err), "x.bin: token 5000 has id 60000, but the vocabulary has 50304;"), "but when it is read: %s", words(&err));
    tt_token_file_close(&f);
    uint32_t *wide = malloc(N / 4 * sizeof *wide);
    for (int i = 0; i < N / 4; i++)
        wide[i] = (uint32_t)(i * 7 % 128000 + 4);
    put("u.bin", wide, N);
    refuse("u.bin", NULL, "u.bin has no header, and its ids look like 4 bytes each (every second 16-bit number is 0 to 3); say that they are u32, or "
           "u16 if they are");
    ok(tt_token_file_open(at("u.bin"), &(tt_token_opts){.token_bytes = 2}, &f, &err) == TT_OK, "unless it is said");
    tt_token_file_close(&f);
    free(wide);
    free(ids);
}

/* --- Megatron ------------------------------------------------------------------------------------------------------------------------------------ */

static void put_index(const char *name, int code, int64_t n, const int32_t *lengths, const int64_t *offsets, int64_t m, const int64_t *documents)
{
    FILE *f = fopen(at(name), "wb");
    const uint64_t version = 1;
    const unsigned char c = (unsigned char)code;
    fwrite("MMIDIDX\0", 1, 9, f);
    fwrite(&version, 8, 1, f);
    fwrite(&c, 1, 1, f);
    fwrite(&n, 8, 1, f);
    fwrite(&m, 8, 1, f);
    fwrite(lengths, 4, (size_t)n, f);
    fwrite(offsets, 8, (size_t)n, f);
    fwrite(documents, 8, (size_t)m, f);
    fclose(f);
}

/* Ids 1 2 3 | (empty) 4 | 5 6, stored in another order, in each dtype; documents begin at sequences 0 and 1 (an empty one). */
static void megatron_codes(void)
{
    static const struct { int code, width; } codes[] = {{1, 1}, {2, 1}, {3, 2}, {4, 4}, {5, 8}, {8, 2}};
    static const int32_t ids[] = {1, 2, 3, 4, 5, 6}, lengths[] = {3, 0, 1, 2};
    static const int64_t order[] = {4, 5, 0, 1, 2, 3, 99}, documents[] = {0, 1, 3, 4};
    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++) {
        const int w = codes[i].width;
        unsigned char data[64] = {0};
        for (int k = 0; k < 7; k++) {
            const int64_t id = order[k] < 6 ? ids[order[k]] : 99;
            memcpy(data + k * w, &id, (size_t)w);
        }
        put("m.bin", data, (size_t)(7 * w));
        put_index("m.idx", codes[i].code, 4, lengths, (int64_t[]){2 * w, 0, 5 * w, 0}, 4, documents);
        read_all(i % 2 ? "m.idx" : "m.bin", &(tt_token_opts){.vocab = 7}, TT_TOKENS_MEGATRON, w, 3, 6, ids, (const uint8_t[]){1, 0, 0, 1, 1, 0});
    }
    refuse("m.idx", &(tt_token_opts){.vocab = 6}, "m.bin: token 5 has id 6, but the vocabulary has 6; it was made with another tokenizer, or its ids are "
           "not the 2 bytes wide that they are read as: use the model and tokenizer that belong to it, or tokenize again");
    put("m.bin", (int16_t[]){1, 2, -1}, 6);
    put_index("m.idx", 3, 1, (int32_t[]){3}, (int64_t[]){0}, 2, (int64_t[]){0, 1});
    refuse("m.bin", NULL, "m.bin: token 2 has id -1, but the vocabulary has 2147483647; it was made with another tokenizer, or its ids are not the 2 "
           "bytes wide that they are read as: use the model and tokenizer that belong to it, or tokenize again");
    put_index("m.idx", 6, 1, (int32_t[]){3}, (int64_t[]){0}, 2, (int64_t[]){0, 1});
    refuse("m.bin", NULL, "m.idx says dtype code 6 (Megatron), which is no kind of ids; get files with one of 1 u8, 2 i8, 3 i16, 4 i32, 5 i64, 8 u16");
    put_index("m.idx", 8, 1, (int32_t[]){3}, (int64_t[]){2}, 2, (int64_t[]){0, 1});
    refuse("m.bin", NULL, "m.idx: sequence 0 has 3 tokens of 2 bytes at byte 2, which do not lie in the 6 bytes of m.bin; the pair does not belong "
           "together, or one is cut off: get both again");
    put_index("m.idx", 8, 1, (int32_t[]){3}, (int64_t[]){0}, 2, (int64_t[]){0, 2});
    refuse("m.bin", NULL, "m.idx: entry 1 of the document index is 2; entries should rise from 0 to 1, the number of sequences: the file is damaged, get "
           "it again");
    put("m.idx", "MMIDIDX\0\0", 9);
    refuse("m.bin", NULL, "m.idx ends inside its header of 34 bytes (Megatron), after 9; it is cut off: get it again");
    put_index("n.idx", 8, 1, (int32_t[]){3}, (int64_t[]){0}, 2, (int64_t[]){0, 1});
    refuse("n.idx", NULL, "n.idx is an index of Megatron, but n.bin, which has the ids, is missing; put it beside it");
}

/* The stream of the shards as two sequences a document, in reverse order in the file, one of them empty in 900 documents. */
static void megatron_many(void)
{
    int32_t *stream, lengths[2 * DOCUMENTS];
    int64_t offsets[2 * DOCUMENTS], documents[DOCUMENTS + 1], n = 0, first = 0;
    uint8_t *begins;
    const int64_t all = make_stream(&stream, &begins);
    uint16_t *data = malloc((size_t)all * 2);
    int64_t end = all;
    for (int d = 0; d < DOCUMENTS; d++) {
        int64_t length = 1;
        while (first + length < all && !begins[first + length])
            length++;
        documents[d] = n;
        const int64_t cuts[] = {d % 10 < 3 ? 0 : length / 2, length};
        for (int64_t k = 0, from = 0; k < 2; from = cuts[k++]) {
            lengths[n] = (int32_t)(cuts[k] - from);
            end -= lengths[n];
            offsets[n++] = 2 * end;
            for (int64_t i = from; i < cuts[k]; i++)
                data[end + i - from] = (uint16_t)stream[first + i];
        }
        first += length;
    }
    documents[DOCUMENTS] = n;
    put("many.bin", data, (size_t)all * 2);
    put_index("many.idx", 8, n, lengths, offsets, DOCUMENTS + 1, documents);
    read_all("many.bin", NULL, TT_TOKENS_MEGATRON, 2, DOCUMENTS, all, stream, begins);
    free(stream);
    free(begins);
    free(data);
}

int main(void)
{
    tt_tokenizer *t = NULL;
    char command[300];
    if (!mkdtemp(dir) || tt_tokenizer_open("byte", &t, NULL) != TT_OK)
        skip_all("no temporary folder");
    shards(t);
    damaged_shards(t);
    plain_files();
    beyond();
    megatron_codes();
    megatron_many();
    tt_tokenizer_close(&t);
    snprintf(command, sizeof command, "rm -rf '%s'", dir);
    ok(system(command) == 0, "cleaned up");
    return done_testing();
}
