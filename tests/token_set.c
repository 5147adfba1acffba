/* Sets of token files: refusals, then what each form wrote read back by its reader, marks and documents included. */
#include "base/progress.h"
#include "data/token_set.h"
#include "tap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { DOCUMENTS = 500, MOST = 60, BOS = 300, EOS = 301 };

static char dir[] = "/tmp/titan-set-XXXXXX";
static char path[400];

static const char *at(const char *name)
{
    snprintf(path, sizeof path, "%s/%s", dir, name);
    return path;
}

static size_t make_document(int d, int32_t *ids)
{
    const size_t n = 1 + (size_t)d * 7919 % MOST;
    for (size_t i = 0; i < n; i++)
        ids[i] = (int32_t)((size_t)d * 31 + i * 17) % 300;
    return n;
}

static tt_token_set_opts opts_for(tt_token_kind kind, const char *name, int width, int bos, int eos, int64_t most)
{
    return (tt_token_set_opts){.prefix = at(name), .kind = kind, .shard_tokens = most,
                               .info = {.token_bytes = width, .vocab = 302, .bos = bos, .eos = eos, .name = "three hundred"}};
}

static int count_files(void)
{
    char command[300];
    int n = -1;
    snprintf(command, sizeof command, "ls -A '%s' | wc -l", dir);
    FILE *p = popen(command, "r");
    if (!p || fscanf(p, "%d", &n) != 1)
        n = -1;
    if (p)
        pclose(p);
    return n;
}

static void write_set(const tt_token_set_opts *o, int *files, int64_t *tokens)
{
    int32_t ids[MOST];
    tt_error err = {0};
    tt_token_set *s = NULL;
    tt_status st = tt_token_set_create(o, &s, &err);
    for (int d = 0; d < DOCUMENTS && st == TT_OK; d++)
        st = tt_token_set_add(s, ids, make_document(d, ids), &err);
    *files = s ? tt_token_set_files(s) : 0;
    *tokens = s ? tt_token_set_tokens(s) : 0;
    st = st == TT_OK ? tt_token_set_finish(s, &err) : st;
    ok(st == TT_OK, "%s: written in %d files %s", tt_token_kind_name(o->kind), *files, err.text);
    tt_token_set_close(&s);
}

/* All files of a set as one stream against the documents; returns what is wrong. */
static int wrong_set(tt_token_kind kind, const char *name, int files, int width, int bos, int eos)
{
    int32_t want[MOST + 2], out[MOST + 2];
    uint8_t begins[MOST + 2];
    tt_error err = {0};
    int wrong = 0, d = 0;
    for (int i = 0; i < files; i++) {
        char file[100];
        tt_token_file *f = NULL;
        snprintf(file, sizeof file, "%s-%05d.%s", name, i, kind == TT_TOKENS_TITAN ? "tok" : "bin");
        const tt_token_opts o = {.vocab = 302, .marks = 1, .bos = bos, .eos = eos, .token_bytes = kind == TT_TOKENS_RAW ? width : 0};
        if (tt_token_file_open(at(file), &o, &f, &err) != TT_OK) {
            diag("%s", err.text);
            return 1000;
        }
        const int from = d;
        wrong += tt_token_file_kind_of(f) != kind || tt_token_file_token_bytes(f) != width;
        for (int64_t first = 0; first < tt_token_file_tokens(f); d++) {
            const size_t m = make_document(d, want + (bos >= 0));
            if (bos >= 0)
                want[0] = bos;
            if (eos >= 0)
                want[m + (bos >= 0)] = eos;
            const int64_t n = (int64_t)m + (bos >= 0) + (eos >= 0);
            if (d >= DOCUMENTS || first + n > tt_token_file_tokens(f) || tt_token_file_read(f, first, n, out, begins, &err) != TT_OK) {
                wrong += 100;
                break;
            }
            wrong += memcmp(out, want, (size_t)n * sizeof *out) != 0;
            for (int64_t k = 0; k < n && (bos >= 0 || eos >= 0 || kind == TT_TOKENS_TITAN || kind == TT_TOKENS_MEGATRON); k++)
                wrong += begins[k] != (k == 0);
            first += n;
        }
        wrong += tt_token_file_documents(f) >= 0 && tt_token_file_documents(f) != d - from;
        tt_token_file_close(&f);
    }
    return wrong + (d != DOCUMENTS);
}

static void round_trips(void)
{
    static const struct { int bos, eos; } marks[] = {{BOS, EOS}, {-1, EOS}, {BOS, -1}, {-1, -1}, {EOS, EOS}};
    for (int kind = TT_TOKENS_TITAN; kind <= TT_TOKENS_RAW; kind++)
        for (int width = 2; width <= 4; width += 2)
            for (size_t m = 0; m < sizeof marks / sizeof marks[0]; m++) {
                char name[60];
                int files;
                int64_t tokens;
                if (marks[m].bos == marks[m].eos && marks[m].bos >= 0 && kind >= TT_TOKENS_LLMC)
                    continue; /* the same mark on both sides makes an empty document between two, where nothing else tells */
                snprintf(name, sizeof name, "%s-%d-%zu", tt_token_kind_name((tt_token_kind)kind), width, m);
                const tt_token_set_opts o = opts_for((tt_token_kind)kind, name, width, marks[m].bos, marks[m].eos, m == 1 ? 0 : 4000);
                write_set(&o, &files, &tokens);
                ok(m == 1 ? files == 1 : files == (int)((tokens + 3999) / 4000) || files == (int)((tokens + 3999) / 4000) + 1, "%s: %lld tokens",
                   name, (long long)tokens);
                const int wrong = wrong_set((tt_token_kind)kind, name, files, width, marks[m].bos, marks[m].eos);
                ok(wrong == 0, "%s: reads back, %d wrong", name, wrong);
            }
}

static void refusals(void)
{
    tt_error err = {0};
    tt_token_set *s = NULL;
    tt_token_set_opts o = opts_for(TT_TOKENS_TITAN, "new", 2, -1, -1, 100);
    o.info.vocab = 70000;
    const int before = count_files();
    ok(tt_token_set_create(&o, &s, &err) == TT_ERR_CONFIG, "70000 ids in u16 are refused");
    is_str(err.text, "u16 holds the ids 0 to 65535, but the tokenizer \"three hundred\" has 70000; use u32, or auto, which chooses", "its words");
    o.info.token_bytes = 0;
    ok(tt_token_set_create(&o, &s, &err) == TT_OK && tt_token_set_token_bytes(s) == 4, "auto takes four bytes");
    ok(tt_token_set_add(s, (int32_t[]){69999}, 1, &err) == TT_OK && tt_token_set_add(s, (int32_t[]){70000}, 1, &err) == TT_ERR_DATA,
       "an id beyond: %s", err.text);
    tt_token_set_close(&s);
    is_int(count_files(), before, "a set that is given up leaves nothing");
    o = opts_for(TT_TOKENS_TITAN, "titan-2-0", 2, -1, -1, 100);
    ok(tt_token_set_create(&o, &s, &err) == TT_ERR_IO && strstr(err.text, "exists, and is not overwritten; remove it or choose another name"),
       "a set that is there: %s", err.text);
    o = opts_for(TT_TOKENS_RAW, "late", 2, -1, -1, 4);
    ok(tt_token_set_create(&o, &s, &err) == TT_OK && tt_token_set_add(s, (int32_t[]){1, 2, 3}, 3, &err) == TT_OK &&
       tt_token_set_add(s, (int32_t[]){4, 5, 6}, 3, &err) == TT_OK, "two files begin");
    mkdir(at("late-00001.bin"), 0777); /* so that the second one cannot get its name */
    ok(tt_token_set_finish(s, &err) == TT_ERR_IO && access(at("late-00000.bin"), F_OK) != 0, "then the first has none either: %s", err.text);
    tt_token_set_close(&s);
    rmdir(at("late-00001.bin"));
    is_int(count_files(), before, "and nothing is left");
    o = opts_for(TT_TOKENS_TITAN, "no\nsuch/../x", 2, -1, -1, 4);
    o.prefix = "/proc/none/x";
    ok(tt_token_set_create(&o, &s, &err) == TT_OK && tt_token_set_add(s, (int32_t[]){1}, 1, &err) == TT_ERR_IO, "a folder that cannot be made: %s",
       err.text);
    tt_token_set_close(&s);
}

/* A full disk: what was there is said, and nothing is left. */
static void full_disk(void)
{
    static int32_t ids[1 << 16];
    tt_error err = {0};
    tt_token_set *s = NULL;
    if (access("/dev/full", W_OK) != 0 || symlink("/dev/full", at("full-00000.bin.tmp")) != 0) {
        ok(1, "a full disk # SKIP no /dev/full");
        return;
    }
    char temporary[500];
    snprintf(temporary, sizeof temporary, "%s/full-00000.bin.tmp-%ld", dir, (long)getpid());
    ok(rename(at("full-00000.bin.tmp"), temporary) == 0, "the temporary file is a full disk");
    tt_token_set_opts o = opts_for(TT_TOKENS_RAW, "full", 4, -1, -1, 0);
    tt_status st = tt_token_set_create(&o, &s, &err);
    for (int i = 0; i < 100 && st == TT_OK; i++)
        st = tt_token_set_add(s, ids, 1 << 16, &err);
    ok(st == TT_ERR_IO && strstr(err.text, "full-00000.bin: No space left on device (") && strstr(err.text, "free space or choose another folder"),
       "%s", err.text);
    tt_token_set_close(&s);
    ok(access(at("full-00000.bin"), F_OK) != 0 && access(temporary, F_OK) != 0, "nothing is left");
}

static void progress(void)
{
    static const struct { double value; const char *text; } numbers[] = {
        {0, "0"}, {999, "999"}, {1000, "1.00 k"}, {12345, "12.3 k"}, {999600, "1.00 M"}, {123456789, "123 M"}, {2.5e9, "2.50 G"}, {5e15, "5000 T"}};
    char number[16], *text = NULL;
    size_t n = 0;
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        is_str(tt_progress_number(numbers[i].value, number), numbers[i].text, "%g", numbers[i].value);
    FILE *out = open_memstream(&text, &n);
    tt_progress p = {.out = out, .things = "tokens", .total = 1000000, .begun = 100, .last = 100};
    tt_progress_show(&p, 1, 1, 1, 105);
    tt_progress_show(&p, 250000, 500000, 120000, 110);
    tt_progress_show(&p, 500000, 1000000, 240000, 119.9);
    p.total = 0;
    tt_progress_show(&p, 500000, 1000000, 240000, 120);
    p.total = 1000000;
    p.terminal = 1;
    tt_progress_show(&p, 500000, 1000000, 240000, 120.1);
    tt_progress_show(&p, 500000, 1000000, 240000, 7320.2);
    tt_progress_end(&p);
    fclose(out);
    static const char bar[] = "[============>           ]  50% of 1.00 MB, 240 k tokens, 139 B/s, 33 tokens/s, 2:00 h left";
    char want[500];
    snprintf(want, sizeof want, " 25%% of 1.00 MB, 120 k tokens, 50.0 kB/s, 12.0 k tokens/s, 0:30 left\n240 k tokens, 50.0 kB/s, 12.0 k tokens/s\n"
             "\r%s\r%*s\r", bar, (int)sizeof bar - 1, "");
    is_str(text, want, "lines now and then, or a bar");
    free(text);
}

int main(void)
{
    char command[300];
    if (!mkdtemp(dir))
        skip_all("no temporary folder");
    round_trips();
    refusals();
    full_disk();
    progress();
    snprintf(command, sizeof command, "rm -rf '%s'", dir);
    ok(system(command) == 0, "cleaned up");
    return done_testing();
}
