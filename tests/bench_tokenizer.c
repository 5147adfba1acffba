/* Speed of tokenizers: MB/s on documents of 10 kB, one thread.
 *   bench_tokenizer [TOKENIZER [TEXT]]   (default: the small tokenizer and the text of tests/golden/tokenizer)
 *   bench_tokenizer --one TOKENIZER TEXT: "IDS FIRST NEXT", the MB/s of the first pass and of the next ones, nothing else
 * When Python has tokenizers, tiktoken or quicktok-v1, they run in turns with titan on the same documents (bench_tokenizer.py). */
#include "base/clock.h"
#include "base/fs.h"
#include "data/tokenizer.h"

#include <pthread.h>
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

/* MB/s of the first pass, and of as many as fit in a second. */
static size_t measure(const tt_tokenizer *t, const char *text, size_t bytes, double *first, double *next)
{
    const double begin = tt_clock_s();
    const size_t n_ids = encode_all(t, text, bytes);
    const double from = tt_clock_s();
    double to = from;
    int rounds = 0;
    for (; to - from < 1.0; to = tt_clock_s(), rounds++)
        encode_all(t, text, bytes);
    *first = (double)bytes / (from - begin) / 1e6;
    *next = (double)bytes * rounds / (to - from) / 1e6;
    return n_ids;
}

/* The documents of a pass, dealt out to two threads; seconds for `rounds` passes. */
typedef struct hand {
    const tt_tokenizer *t;
    const char *text;
    size_t bytes;
    int mine, hands, rounds;
} hand;

static void *work(void *arg)
{
    const hand *h = arg;
    for (int round = 0; round < h->rounds; round++)
        for (size_t at = 0, k = 0, n; at < h->bytes; at += n, k++) {
            n = document(h->text + at, h->bytes - at);
            if ((int)(k % (size_t)h->hands) == h->mine)
                encode_all(h->t, h->text + at, n);
        }
    return NULL;
}

static double seconds_of(const tt_tokenizer *t, const char *text, size_t bytes, int hands, int rounds)
{
    pthread_t thread[2];
    hand h[2];
    const double begin = tt_clock_s();
    for (int i = 0; i < hands; i++) {
        h[i] = (hand){t, text, bytes, i, hands, rounds};
        if (pthread_create(&thread[i], NULL, work, &h[i]) != 0)
            exit(1);
    }
    for (int i = 0; i < hands; i++)
        pthread_join(thread[i], NULL);
    return tt_clock_s() - begin;
}

/* Speed of two threads over one's: median of five pairs. */
static double two_threads(const tt_tokenizer *t, const char *text, size_t bytes, double speed)
{
    double ratio[5];
    const int rounds = (int)(speed * 1e6 * 0.3 / (double)bytes) + 1;
    for (int i = 0; i < 5; i++) {
        const double one = seconds_of(t, text, bytes, 1, rounds);
        ratio[i] = one / seconds_of(t, text, bytes, 2, rounds);
        for (int j = i; j > 0 && ratio[j] < ratio[j - 1]; j--) {
            double swap = ratio[j];
            ratio[j] = ratio[j - 1];
            ratio[j - 1] = swap;
        }
    }
    return ratio[2];
}

int main(int argc, char **argv)
{
    const char *root = getenv("TITAN_ROOT") ? getenv("TITAN_ROOT") : SOURCE_ROOT;
    const int one = argc > 3 && !strcmp(argv[1], "--one");
    char name[4096], path[4096], command[17000];
    char *text;
    size_t bytes;
    double first, next;
    tt_tokenizer *t;
    tt_error err = {0};
    const char *program = argv[0];
    argv += one;
    argc -= one;
    snprintf(name, sizeof name, "%s%s", argc > 1 ? argv[1] : root, argc > 1 ? "" : "/tests/golden/tokenizer/llama3");
    snprintf(path, sizeof path, "%s%s", argc > 2 ? argv[2] : root, argc > 2 ? "" : "/tests/golden/tokenizer/text.txt");
    const double begin = tt_clock_s();
    if (tt_tokenizer_open(name, &t, &err) != TT_OK || tt_fs_read(path, &text, &bytes, &err) != TT_OK) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    const double opened = tt_clock_s() - begin;
    const size_t n_ids = measure(t, text, bytes, &first, &next);
    if (one)
        printf("%zu %.3f %.3f\n", n_ids, first, next);
    else
        printf("%s: %d ids, opened in %.3f s\ntitan: %.1f MB/s (%.1f the first time), %.2f M ids/s\n", name, tt_tokenizer_vocab(t),
               opened, next, first, next * (double)n_ids / (double)bytes);
    if (!one)
        printf("two threads: %.2f x one\n", two_threads(t, text, bytes, next));
    fflush(stdout);
    tt_tokenizer_close(&t);
    free(text);
    snprintf(command, sizeof command, "${PYTHON:-python3} '%s/tests/bench_tokenizer.py' '%s' '%s' '%s' 2>/dev/null", root, program, name, path);
    if (!one && system(command) != 0)
        puts("no Python with tokenizers: nothing to compare with (PYTHON=… names another)");
    return 0;
}
