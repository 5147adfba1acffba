/* Speed of tokenizers: MB/s on documents of 10 kB, one thread.
 *   bench_tokenizer [TOKENIZER [TEXT]]   (default: the small tokenizer and the text of tests/golden/tokenizer)
 * When Python has tokenizers or tiktoken, their speed on the same documents is printed too (bench_tokenizer.py). */
#include "base/clock.h"
#include "base/fs.h"
#include "data/tokenizer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DOCUMENT = 10000 };

/* Length of the next document: about 10 kB, not cut inside a character. */
static size_t document(const char *text, size_t left)
{
    size_t n = left < DOCUMENT ? left : DOCUMENT;
    while (n < left && ((unsigned char)text[n] & 0xC0) == 0x80)
        n++;
    return n;
}

static size_t encode_all(const tt_tokenizer *t, const char *text, size_t bytes)
{
    size_t total = 0;
    for (size_t at = 0; at < bytes;) {
        const size_t n = document(text + at, bytes - at);
        int32_t *ids;
        size_t n_ids;
        if (tt_tokenizer_encode(t, text + at, n, &ids, &n_ids, NULL) != TT_OK)
            exit(1);
        total += n_ids;
        free(ids);
        at += n;
    }
    return total;
}

int main(int argc, char **argv)
{
    const char *root = getenv("TITAN_ROOT") ? getenv("TITAN_ROOT") : SOURCE_ROOT;
    char name[4096], path[4096], command[9000];
    char *text;
    size_t bytes, n_ids = 0;
    tt_tokenizer *t;
    tt_error err = {0};
    snprintf(name, sizeof name, "%s%s", argc > 1 ? argv[1] : root, argc > 1 ? "" : "/tests/golden/tokenizer/llama3");
    snprintf(path, sizeof path, "%s%s", argc > 2 ? argv[2] : root, argc > 2 ? "" : "/tests/golden/tokenizer/text.txt");
    const double begin = tt_clock_s();
    if (tt_tokenizer_open(name, &t, &err) != TT_OK || tt_fs_read(path, &text, &bytes, &err) != TT_OK) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    printf("%s: %d ids, opened in %.3f s\n", name, tt_tokenizer_vocab(t), tt_clock_s() - begin);
    double first = tt_clock_s();
    encode_all(t, text, bytes);
    first = tt_clock_s() - first;
    int rounds = 0;
    const double from = tt_clock_s();
    double to = from;
    for (; to - from < 1.0; to = tt_clock_s(), rounds++)
        n_ids = encode_all(t, text, bytes);
    printf("titan: %.1f MB/s (%.1f the first time), %.2f M ids/s\n", (double)bytes * rounds / (to - from) / 1e6,
           (double)bytes / first / 1e6, (double)n_ids * rounds / (to - from) / 1e6);
    fflush(stdout);
    tt_tokenizer_close(&t);
    free(text);
    snprintf(command, sizeof command, "${PYTHON:-python3} '%s/tests/bench_tokenizer.py' '%s' '%s' 2>/dev/null", root, name, path);
    if (system(command) != 0)
        puts("no Python with tokenizers: nothing to compare with (PYTHON=… names another)");
    return 0;
}
