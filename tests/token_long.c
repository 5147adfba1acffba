/* Token files that titan writes for other programs, past 2^31 bytes: Megatron and nanoGPT in one file each, llm.c up to the count that
 * its header holds. Needs some 5 GB in $TITAN_TMP (or /tmp). */
#include "base/fs.h"
#include "data/token_set.h"
#include "tap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { DOCUMENT = 1 << 20, DOCUMENTS = 1100 };

static char dir[300];
static int32_t ids[DOCUMENT], out[2 * DOCUMENT + 10];
static uint8_t begins[2 * DOCUMENT + 10];

/* Document d: d, then the numbers of its places. */
static void make_document(int d)
{
    for (int i = 0; i < DOCUMENT; i++)
        ids[i] = (i * 7 + d) % 50000;
    ids[0] = d;
}

static void one_kind(tt_token_kind kind, int width, int documents)
{
    char prefix[350], path[400];
    tt_error err = {0};
    tt_token_set *s = NULL;
    tt_token_file *f = NULL;
    snprintf(prefix, sizeof prefix, "%s/x", dir);
    tt_status st = tt_token_set_create(&(tt_token_set_opts){.prefix = prefix, .kind = kind, .shard_tokens = (int64_t)1 << 40,
                                                            .info = {.token_bytes = width, .vocab = 50304, .bos = -1, .eos = 50256}}, &s, &err);
    for (int d = 0; d < documents && st == TT_OK; d++) {
        make_document(d);
        st = tt_token_set_add(s, ids, DOCUMENT, &err);
    }
    ok(st == TT_OK && tt_token_set_finish(s, &err) == TT_OK && tt_token_set_files(s) == 1, "%s: %d documents are written %s",
       tt_token_kind_name(kind), documents, err.text);
    snprintf(path, sizeof path, "%s-00000.%s", prefix, kind == TT_TOKENS_TITAN ? "tok" : "bin");
    const int64_t each = DOCUMENT + 1;
    ok(tt_token_file_open(path, &(tt_token_opts){.vocab = 50304, .marks = 1, .bos = -1, .eos = 50256,
                                                 .token_bytes = kind == TT_TOKENS_RAW ? width : 0}, &f, &err) == TT_OK &&
       tt_token_file_tokens(f) == each * documents, "%s: %lld bytes and more are opened %s", tt_token_kind_name(kind),
       (long long)each * documents * width, err.text);
    int wrong = 0;
    for (int d = 0; f && d < documents; d += d < documents - 3 ? 97 < documents - 2 - d ? 97 : documents - 2 - d : 1) {
        const int64_t n = d + 1 < documents ? each + 5 : each;
        make_document(d);
        wrong += tt_token_file_read(f, d * each, n, out, begins, &err) != TT_OK || memcmp(out, ids, sizeof ids) != 0 || out[DOCUMENT] != 50256 ||
                 (n > each && out[each] != d + 1) || begins[0] != 1 || (n > each && begins[each] != 1) || memchr(begins + 1, 1, DOCUMENT) != NULL;
    }
    ok(f && wrong == 0, "%s: reads back, %d wrong %s", tt_token_kind_name(kind), wrong, err.text);
    tt_token_file_close(&f);
    tt_token_set_close(&s);
    unlink(path);
    snprintf(path, sizeof path, "%s-00000.idx", prefix);
    unlink(path);
}

int main(void)
{
    const char *tmp = getenv("TITAN_TMP");
    snprintf(dir, sizeof dir, "%s/titan-long-XXXXXX", tmp ? tmp : "/tmp");
    if (!mkdtemp(dir))
        skip_all("no temporary folder");
    if (tt_fs_free_bytes(dir) < (int64_t)6 << 30) {
        rmdir(dir);
        skip_all("less than 6 GiB free; TITAN_TMP names another folder");
    }
    one_kind(TT_TOKENS_MEGATRON, 4, DOCUMENTS);    /* 4.6 GB: past 2^32 bytes */
    one_kind(TT_TOKENS_RAW, 2, DOCUMENTS);         /* 2.3 GB */
    one_kind(TT_TOKENS_LLMC, 4, DOCUMENTS);        /* 4.6 GB */
    one_kind(TT_TOKENS_TITAN, 2, DOCUMENTS);       /* 2.3 GB */
    one_kind(TT_TOKENS_MEGATRON, 2, 2 * DOCUMENTS); /* 2.3 thousand million tokens: past 2^31 */
    ok(rmdir(dir) == 0, "cleaned up");
    return done_testing();
}
