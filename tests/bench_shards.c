/* How fast tokens come from files: rows of 2049 tokens one after the other, u16, in the page cache, on one thread; and JSON lines. */
#include "base/clock.h"
#include "data/text_files.h"
#include "data/token_set.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TOKENS = 100 << 20, DOCUMENT = 700, ROW = 2049, PASSES = 3 };

static int fail(const tt_error *err)
{
    fprintf(stderr, "%s\n", err->text);
    return 1;
}

static int write_set(const char *dir, tt_token_kind kind, tt_error *err)
{
    static int32_t ids[DOCUMENT];
    char prefix[300];
    tt_token_set *s = NULL;
    snprintf(prefix, sizeof prefix, "%s/%s", dir, tt_token_kind_name(kind));
    tt_status st = tt_token_set_create(&(tt_token_set_opts){.prefix = prefix, .kind = kind, .info = {.vocab = 50304, .bos = -1, .eos = 50256}}, &s, err);
    for (int64_t n = 0; n < TOKENS && st == TT_OK; n += DOCUMENT + 1) {
        for (int i = 0; i < DOCUMENT; i++)
            ids[i] = (int32_t)((n + i * 7919) % 50000);
        st = tt_token_set_add(s, ids, DOCUMENT, err);
    }
    st = st == TT_OK ? tt_token_set_finish(s, err) : st;
    tt_token_set_close(&s);
    return st;
}

static int time_rows(const char *dir, tt_token_kind kind, int marks, tt_error *err)
{
    char path[300];
    int32_t row[ROW];
    uint8_t begins[ROW];
    tt_token_file *f = NULL;
    snprintf(path, sizeof path, "%s/%s-00000.%s", dir, tt_token_kind_name(kind), kind == TT_TOKENS_TITAN ? "tok" : "bin");
    const double opening = tt_clock_s();
    if (tt_token_file_open(path, &(tt_token_opts){.vocab = 50304, .marks = 1, .bos = -1, .eos = 50256}, &f, err) != TT_OK)
        return 1;
    printf("%-9s opens in %.2f ms", tt_token_kind_name(kind), 1e3 * (tt_clock_s() - opening));
    for (int pass = 0; pass < PASSES; pass++) {
        const double begun = tt_clock_s();
        int64_t n = 0;
        for (; n + ROW <= tt_token_file_tokens(f); n += ROW)
            if (tt_token_file_read(f, n, ROW, row, marks ? begins : NULL, err) != TT_OK)
                return 1;
        printf("%s%.0f", pass ? ", " : marks ? "; with document starts: " : "; rows: ", (double)n / (tt_clock_s() - begun) / 1e6);
    }
    printf(" M tokens/s (the first pass checks blocks)\n");
    tt_token_file_close(&f);
    return 0;
}

static int time_lines(const char *dir, tt_error *err)
{
    char path[300], text[2001];
    tt_text_reader *r = NULL;
    tt_text_doc d;
    snprintf(path, sizeof path, "%s/lines.jsonl", dir);
    FILE *f = fopen(path, "w");
    for (int i = 0; i < 2000; i++)
        text[i] = i % 61 == 60 ? '"' : i % 6 == 5 ? ' ' : (char)('a' + i % 26);
    for (int i = 0; f && i < 100000; i++) {
        fprintf(f, "{\"id\": %d, \"text\": \"", i);
        for (int k = 0; k < 2000; k++)
            fputs((char[]){text[k] == '"' ? '\\' : text[k], text[k] == '"' ? '"' : 0, 0}, f);
        fputs("\", \"url\": \"https://example.org/page\", \"score\": 0.25}\n", f);
    }
    if (!f || fclose(f) != 0)
        return 1;
    for (int pass = 0; pass < 2; pass++) {
        const double begun = tt_clock_s();
        if (tt_text_reader_open(path, NULL, &r, err) != TT_OK)
            return 1;
        do {
            if (tt_text_next(r, &d, err) != TT_OK)
                return 1;
        } while (d.text);
        printf("JSON lines: %.0f MB/s\n", (double)tt_text_reader_counts(r)->bytes_out / (tt_clock_s() - begun) / 1e6);
        tt_text_reader_close(&r);
    }
    return 0;
}

int main(void)
{
    char dir[] = "/tmp/titan-bench-XXXXXX", command[100];
    tt_error err = {0};
    int wrong = !mkdtemp(dir);
    for (int kind = TT_TOKENS_TITAN; kind <= TT_TOKENS_RAW && !wrong; kind++)
        wrong = write_set(dir, (tt_token_kind)kind, &err) != TT_OK || time_rows(dir, (tt_token_kind)kind, 0, &err) ||
                time_rows(dir, (tt_token_kind)kind, 1, &err);
    wrong = wrong || time_lines(dir, &err);
    snprintf(command, sizeof command, "rm -rf '%s'", dir);
    return system(command) != 0 || wrong ? fail(&err) : 0;
}
