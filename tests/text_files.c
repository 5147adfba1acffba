/* Text files: refusals with their exact words, then every odd line, plain and in each compression. */
#include "data/text_files.h"
#include "tap.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

static char dir[] = "/tmp/titan-text-XXXXXX";
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

static void put_text(const char *name, const char *text)
{
    put(name, text, strlen(text));
}

/* The message with the folder cut out of it. */
static const char *words(const tt_error *err)
{
    static char text[TT_ERROR_TEXT_MAX];
    size_t n = 0;
    for (const char *s = err->text; *s && n < sizeof text - 1;) {
        if (strncmp(s, dir, strlen(dir)) == 0)
            s += strlen(dir) + (s[strlen(dir)] == '/');
        else
            text[n++] = *s++;
    }
    text[n] = 0;
    return text;
}

/* --- lists ------------------------------------------------------------------------------------------------------------------------ */

static void lists(void)
{
    tt_text_list list = {0};
    tt_error err = {0};
    static const char *const want[] = {"B.txt", "a.JSONL.GZ", "a.txt", "b.json", "c.ndjson.zst"};
    ok(tt_text_list_add(&list, at("*.none"), &err) == TT_ERR_DATA, "an empty pattern");
    is_str(words(&err), "no file matches *.none; the folder  is empty; give text files, a folder of them, or a pattern such as "
           "data/*.jsonl.gz", "its words");
    for (int i = 4; i >= 0; i--)
        put_text(want[i], "x");
    put_text(".hidden.txt", "x");
    put_text("notes.md", "x");
    ok(tt_text_list_add(&list, at(""), &err) == TT_OK && list.n == 5, "a folder: %d files", list.n);
    for (int i = 0; i < list.n; i++)
        is_str(strrchr(list.paths[i], '/') + 1, want[i], "byte order: %d", i);
    ok(tt_text_list_add(&list, at("?.txt"), &err) == TT_OK && list.n == 7 && list.bytes == 7, "a pattern behind it");
    ok(tt_text_list_add(&list, at("notes.md"), &err) == TT_OK && tt_text_list_add(&list, "-", &err) == TT_OK && list.n == 9,
       "a file with any name, and standard input");
    ok(tt_text_list_add(&list, at("nodes.md"), &err) == TT_ERR_DATA, "no such file");
    is_str(words(&err), "no file is called nodes.md; the folder  holds notes.md, b.json, B.txt, a.txt and 2 more; give text files, a "
           "folder of them, or a pattern such as data/*.jsonl.gz", "near names");
    ok(tt_text_list_add(&list, at("nix/x.txt"), &err) == TT_ERR_DATA && strstr(err.text, "/nix cannot be read (No such file"), "no such folder");
    put_text("c.parquet", "x");
    ok(tt_text_list_add(&list, at("c.par*"), &err) == TT_ERR_DATA && strstr(err.text, "c.parquet is a Parquet file, which titan does not "
       "read; make JSON lines of it, for example with\n  python3 -c 'import pandas; pandas.read_parquet("), "Parquet by its name");
    tt_text_list_free(&list);
    for (int i = 0; i < 5; i++)
        unlink(at(want[i]));
    ok(tt_text_list_add(&list, at(""), &err) == TT_ERR_DATA && strstr(err.text, "is a Parquet file"), "a folder of Parquet files");
    unlink(at("c.parquet"));
    ok(tt_text_list_add(&list, at(""), &err) == TT_ERR_DATA && strstr(err.text, "has no text files; looked for *.txt, *.jsonl, *.ndjson "
       "and *.json, also with .gz or .zst behind"), "a folder without texts");
    tt_text_list_free(&list);
}

/* --- containers -------------------------------------------------------------------------------------------------------------------- */

static void gz_member(FILE *f, const char *data, size_t n)
{
    unsigned char *out = malloc(n + 1000);
    z_stream z = {.next_in = (Bytef *)(uintptr_t)data, .avail_in = (uInt)n, .next_out = out, .avail_out = (uInt)n + 1000};
    deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
    deflate(&z, Z_FINISH);
    fwrite(out, 1, z.total_out, f);
    deflateEnd(&z);
    free(out);
}

static void zst_frame(FILE *f, const char *data, size_t n)
{
    const size_t room = ZSTD_compressBound(n);
    void *out = malloc(room);
    fwrite(out, 1, ZSTD_compress(out, room, data, n, 3), f);
    free(out);
}

/* A frame that declares a window of 2^28 bytes, beyond what decoders take by default. */
static void wide_frame(FILE *f, const char *data, size_t n)
{
    char out[4096];
    ZSTD_CCtx *z = ZSTD_createCCtx();
    ZSTD_inBuffer in = {data, n, 0};
    ZSTD_CCtx_setParameter(z, ZSTD_c_windowLog, 28);
    ZSTD_CCtx_setParameter(z, ZSTD_c_hashLog, 6);
    ZSTD_CCtx_setParameter(z, ZSTD_c_chainLog, 6);
    ZSTD_CCtx_setParameter(z, ZSTD_c_strategy, ZSTD_fast);
    for (int end = 0; end < 2; end++) {
        size_t left;
        do {
            ZSTD_outBuffer to = {out, sizeof out, 0};
            left = ZSTD_compressStream2(z, &to, &in, end ? ZSTD_e_end : ZSTD_e_flush);
            fwrite(out, 1, to.pos, f);
        } while (left != 0 && !ZSTD_isError(left));
    }
    ZSTD_freeCCtx(z);
}

/* data[n] as plain (0), gzip (1), zstd (2), of two parts cut at `cut`. Returns the file's name. */
static const char *contain(int how, const char *name, const char *data, size_t n, size_t cut)
{
    static char full[300];
    static const unsigned char skippable[12] = {0x51, 0x2A, 0x4D, 0x18, 4, 0, 0, 0, 1, 2, 3, 4}, zeros[700] = {0};
    snprintf(full, sizeof full, "%s%s", name, how == 1 ? ".gz" : how == 2 ? ".zst" : "");
    FILE *f = fopen(at(full), "wb");
    void (*const part)(FILE *, const char *, size_t) = how == 1 ? gz_member : zst_frame;
    if (how == 0) {
        fwrite(data, 1, n, f);
    } else {
        if (how == 2)
            fwrite(skippable, 1, sizeof skippable, f);
        part(f, data, cut);
        part(f, data + cut, n - cut);
        if (how == 1)
            fwrite(zeros, 1, sizeof zeros, f);
    }
    fclose(f);
    return full;
}

/* --- every odd line ------------------------------------------------------------------------------------------------------------------ */

typedef struct expected {
    int64_t line;
    const char *text;
    size_t bytes;
} expected;

static const char odd[] =
    "\xEF\xBB\xBF{\"text\": \"first {brace}\"}\r\n"
    "\n"
    " \t\r\n"
    "{\"text\": \"\"}\n"
    "{\"a\": {\"text\": \"inner\"}, \"text\": \"\\u200d\", \"b\": [1, -2.5e+3, [], {}, true, false, null, NaN]}\n"
    "{\"text\": \"lone \\ud800 low \\udc00 pair \\ud83d\\ude00\"}\n"
    "{\"text\": \"nul \\u0000 in\"}\n"
    "{\"te\\u0078t\": \"escaped \\\"name\\\" \\\\ \\/ \\b\\f\\n\\r\\t\"}  \n"
    "{\"text\": \"twice\", \"text\": \"the last\"}\n";
static const expected odd_docs[] = {
    {1, "first {brace}", 13}, {5, "\xE2\x80\x8D", 3}, {6, "lone \xEF\xBF\xBD low \xEF\xBF\xBD pair \xF0\x9F\x98\x80", 26},
    {7, "nul \0 in", 8}, {8, "escaped \"name\" \\ / \b\f\n\r\t", 24}, {9, "the last", 8},
};
enum { N_ODD = sizeof odd_docs / sizeof odd_docs[0], LONG = 5 << 20 };

/* The odd lines, a line of 5 MB and one without a line end. */
static char *odd_file(size_t *n)
{
    char *s = malloc(sizeof odd + LONG + 100);
    *n = sizeof odd - 1;
    memcpy(s, odd, *n);
    *n += (size_t)sprintf(s + *n, "{\"id\": 7, \"text\": \"");
    for (int i = 0; i < LONG; i++)
        s[(*n)++] = (char)('a' + i % 26);
    *n += (size_t)sprintf(s + *n, "\"}\n{\"text\": \"no line end\"}");
    return s;
}

static int same_doc(const tt_text_doc *d, int i)
{
    if (i < N_ODD)
        return d->line == odd_docs[i].line && d->bytes == odd_docs[i].bytes && memcmp(d->text, odd_docs[i].text, d->bytes) == 0;
    if (i == N_ODD)
        return d->line == 10 && d->bytes == LONG && d->text[0] == 'a' && d->text[LONG - 1] == 'a' + (LONG - 1) % 26;
    return i == N_ODD + 1 && d->line == 11 && d->bytes == 11 && memcmp(d->text, "no line end", 11) == 0 && d->offset > LONG;
}

static void odd_lines(void)
{
    static const char *const kinds[] = {"plain", "two gzip members", "two zstd frames"};
    size_t n;
    char *data = odd_file(&n);
    tt_error err = {0};
    for (int how = 0; how < 3; how++) {
        tt_text_reader *r = NULL;
        tt_text_doc d = {0};
        int same = 0, all = 0;
        const char *name = contain(how, "odd.jsonl", data, n, 60);
        ok(tt_text_reader_open(at(name), NULL, &r, &err) == TT_OK, "%s: opens", kinds[how]);
        while (r && tt_text_next(r, &d, &err) == TT_OK && d.text)
            same += same_doc(&d, all++);
        ok(same == N_ODD + 2 && all == same, "%s: %d documents, %d as they should be; %s", kinds[how], all, same, err.text);
        const tt_text_counts *c = r ? tt_text_reader_counts(r) : &(tt_text_counts){0};
        ok(c->documents == 8 && c->empty == 1 && c->blank == 2 && c->bad == 0 && c->surrogates == 2 && c->bytes_out == (int64_t)n,
           "%s: counted by kind", kinds[how]);
        tt_text_reader_close(&r);
        for (int skip = 0; skip <= N_ODD + 2; skip += N_ODD / 2) {
            int64_t done = -1;
            ok(tt_text_reader_open(at(name), NULL, &r, &err) == TT_OK && tt_text_skip(r, skip, &done, &err) == TT_OK && done == skip &&
               tt_text_next(r, &d, &err) == TT_OK && (skip == N_ODD + 2 ? !d.text : same_doc(&d, skip)), "%s: skips %d", kinds[how], skip);
            tt_text_reader_close(&r);
        }
        unlink(at(name));
    }
    free(data);
}

/* --- bad lines --------------------------------------------------------------------------------------------------------------------------- */

static const struct { const char *line, *words; } bad[] = {
    {"{\"body\": \"x\", \"n\": 1}", "there is no field \"text\" in this line; its fields are: body, n; name the field that holds the text (training.dataset_field, or --field of titan-tokenize), or "
     "leave such lines out with --skip-bad of titan-tokenize shards"},
    {"{}", "there is no field \"text\" in this line; its fields are: (none); name the field that holds the text (training.dataset_field, or --field of titan-tokenize), or leave such lines out with --skip-bad of titan-tokenize shards"},
    {"{\"text\": null, \"b\": 1}", "the field \"text\" is null, not a string; the fields are: text, b; name the field that holds the text (training.dataset_field, or --field of titan-tokenize), or "
     "leave such lines out with --skip-bad of titan-tokenize shards"},
    {"{\"text\": [\"a\", \"b\", {\"c\": 1}, 2, 3, 4, 5, 6]}", "the field \"text\" is [\"a\", \"b\", {\"c\": 1}, 2, 3, 4, …, not a string; the "
     "fields are: text; name the field that holds the text (training.dataset_field, or --field of titan-tokenize), or leave such lines out with --skip-bad of titan-tokenize shards"},
    {"plain words", "at byte 1 of the line there should be an object; each line should be one JSON object: repair the line, or leave such lines out with --skip-bad of titan-tokenize shards"},
    {"[{\"text\": \"x\"}]", "at byte 1 of the line there is an array; a line should be an object; each line should be one JSON object: repair "
     "the line, or leave such lines out with --skip-bad of titan-tokenize shards"},
    {"{", "at byte 2 of the line the line ends inside an object; each line should be one JSON object: repair the line, or leave such lines out with --skip-bad of titan-tokenize shards"},
    {"{\"text\": \"x", NULL}, {"{\"text\": \"x\\", NULL}, {"{\"text\": \"\\q\"}", NULL}, {"{\"text\": \"\\u12g4\"}", NULL}, {"{\"text\": \"\\u12", NULL},
    {"{\"text\": \"a\tb\"}", "at byte 12 of the line there is a control character in a string; each line should be one JSON object: repair the "
     "line, or leave such lines out with --skip-bad of titan-tokenize shards"},
    {"{\"text\": \"x\"} {", NULL}, {"{\"text\": \"x\",}", NULL}, {"{\"text\" \"x\"}", NULL}, {"{\"text\": 01}", NULL}, {"{\"text\": 1.}", NULL},
    {"{\"text\": 1e}", NULL}, {"{\"text\": -}", NULL}, {"{\"text\": [1,]}", NULL}, {"{\"text\": [1 2]}", NULL}, {"{\"text\": {\"a\":}}", NULL},
    {"{\"text\": {\"a\":1]}", NULL}, {"{\"text\": }", NULL}, {"{\"text\": tru}", NULL}, {"{text: \"x\"}", NULL}, {"{\"text\":", NULL},
    {"{\"text\": \"caf\xE9\"}", "byte 4 of the text (0xE9) is not UTF-8; convert the file (iconv -f LATIN1 -t UTF-8, if it is Latin-1), or let "
     "such bytes become U+FFFD (training.dataset_repair_utf8, or --repair-utf8 of titan-tokenize)"},
};
enum { N_BAD = sizeof bad / sizeof bad[0] };

static void bad_lines(void)
{
    char all[4000] = "{\"text\": \"before\"}\n", want[600];
    tt_error err = {0};
    tt_text_reader *r = NULL;
    tt_text_doc d;
    for (int i = 0; i < N_BAD; i++) {
        char text[300];
        snprintf(text, sizeof text, "{\"text\": \"good\"}\n%s\n{\"text\": \"after\"}\n", bad[i].line);
        put_text("bad.jsonl", text);
        strcat(strcat(all, bad[i].line), "\n");
        int wrong = tt_text_reader_open(at("bad.jsonl"), NULL, &r, &err) != TT_OK || tt_text_next(r, &d, &err) != TT_OK || !d.text;
        snprintf(want, sizeof want, "bad.jsonl:2: %s", bad[i].words ? bad[i].words : "at byte ");
        wrong = wrong || tt_text_next(r, &d, &err) != TT_ERR_DATA;
        ok(!wrong && (bad[i].words ? strcmp(words(&err), want) == 0 : strncmp(words(&err), want, strlen(want)) == 0), "%s: %s", bad[i].line,
           words(&err));
        tt_text_reader_close(&r);
    }
    put_text("all.jsonl", strcat(all, "{\"text\": \"after\"}"));
    int good = 0;
    ok(tt_text_reader_open(at("all.jsonl"), &(tt_text_opts){.skip_bad = 1}, &r, &err) == TT_OK, "all of them, skipped");
    while (tt_text_next(r, &d, &err) == TT_OK && d.text)
        good++;
    ok(good == 2 && tt_text_reader_counts(r)->bad == N_BAD && strstr(tt_text_reader_counts(r)->first_bad, "all.jsonl:2: there is no field"),
       "%d good, %lld bad; the first: %s", good, (long long)tt_text_reader_counts(r)->bad, tt_text_reader_counts(r)->first_bad);
    tt_text_reader_close(&r);
    int64_t done;
    put_text("skip.jsonl", "{\"text\": \"1\"}\n{\"text\": \"caf\xE9\"}\n{\"text\": \"2\"}\n{\"text\": \"3\"}\n");
    ok(tt_text_reader_open(at("skip.jsonl"), &(tt_text_opts){.skip_bad = 1}, &r, &err) == TT_OK && tt_text_skip(r, 2, &done, &err) == TT_OK &&
       tt_text_next(r, &d, &err) == TT_OK && d.bytes == 1 && d.text[0] == '3', "a line that is left out is not counted when skipping");
    tt_text_reader_close(&r);
}

/* --- one document a file, other fields and forms ------------------------------------------------------------------------------------------- */

static void read_one(const char *name, const tt_text_opts *o, const char *want, const char *error)
{
    tt_error err = {0};
    tt_text_reader *r = NULL;
    tt_text_doc d = {0}, e = {0};
    tt_status st = tt_text_reader_open(at(name), o, &r, &err);
    st = st == TT_OK ? tt_text_next(r, &d, &err) : st;
    if (error) {
        ok(st != TT_OK, "%s is refused", name);
        is_str(words(&err), error, "%s: its words", name);
    } else {
        ok(st == TT_OK && (want ? d.text && d.bytes == strlen(want) && memcmp(d.text, want, d.bytes) == 0 : !d.text), "%s: its text %s", name,
           err.text);
        ok(st == TT_OK && tt_text_next(r, &e, &err) == TT_OK && !e.text, "%s: one document", name);
    }
    tt_text_reader_close(&r);
}

static void wholes(void)
{
    put_text("a.txt", "\xEF\xBB\xBF{\"text\": \"not taken apart\"}\r\nline 2\n");
    read_one("a.txt", NULL, "{\"text\": \"not taken apart\"}\r\nline 2\n", NULL);
    read_one("a.txt", &(tt_text_opts){.form = TT_TEXT_JSONL, .skip_bad = 1}, "not taken apart", NULL);
    put_text("b.json", "{\"title\": \"T\", \"caf\xC3\xA9\": \"C\"}\n");
    read_one("b.json", &(tt_text_opts){.field = "title"}, "T", NULL);
    read_one("b.json", &(tt_text_opts){.field = "caf\xC3\xA9"}, "C", NULL);
    read_one("b.json", &(tt_text_opts){.form = TT_TEXT_WHOLE}, "{\"title\": \"T\", \"caf\xC3\xA9\": \"C\"}\n", NULL);
    put_text("empty.txt", "");
    read_one("empty.txt", NULL, NULL, NULL);
    read_one("empty.txt", &(tt_text_opts){.form = TT_TEXT_JSONL}, NULL, NULL);
    put_text("latin.txt", "one\ntwo caf\xE9\n");
    read_one("latin.txt", NULL, NULL, "latin.txt:2: byte 12 of the text (0xE9) is not UTF-8; convert the file (iconv -f LATIN1 -t UTF-8, if it "
             "is Latin-1), or let such bytes become U+FFFD (training.dataset_repair_utf8, or --repair-utf8 of titan-tokenize)");
    read_one("latin.txt", &(tt_text_opts){.utf8 = TT_TEXT_REPAIR}, "one\ntwo caf\xEF\xBF\xBD\n", NULL);
    read_one("latin.txt", &(tt_text_opts){.utf8 = TT_TEXT_KEEP}, "one\ntwo caf\xE9\n", NULL);
    put_text("latin.jsonl", "{\"text\": \"caf\xE9 \\n\"}");
    read_one("latin.jsonl", &(tt_text_opts){.utf8 = TT_TEXT_REPAIR}, "caf\xEF\xBF\xBD \n", NULL);
    FILE *wide = fopen(at("window.txt.zst"), "wb");
    wide_frame(wide, "a wide window", 13);
    fclose(wide);
    read_one("window.txt.zst", NULL, "a wide window", NULL);
    put_text("wide.txt", "\xFF\xFE" "a");
    read_one("wide.txt", NULL, NULL, "wide.txt is UTF-16; make it UTF-8: iconv -f UTF-16 -t UTF-8 wide.txt >NEW");
    put_text("p.txt", "PAR1xxxx");
    tt_text_reader *r;
    tt_error err = {0};
    ok(tt_text_reader_open(at("p.txt"), NULL, &r, &err) == TT_ERR_DATA && strstr(err.text, "p.txt is a Parquet file"), "Parquet by its magic");
    put_text("p.txt", "ARROW1xx");
    ok(tt_text_reader_open(at("p.txt"), NULL, &r, &err) == TT_ERR_DATA && strstr(err.text, "p.txt is an Arrow file"), "Arrow by its magic");
    ok(tt_text_reader_open(dir, NULL, &r, &err) == TT_ERR_DATA && strstr(err.text, "is a folder, not a text file"), "a folder");
    ok(tt_text_reader_open(at("none"), NULL, &r, &err) == TT_ERR_IO, "%s", err.text);
}

/* --- damage ---------------------------------------------------------------------------------------------------------------------------------- */

static void damaged(void)
{
    enum { N = 40000 };
    char *data = malloc(N), *packed = malloc(N);
    for (int i = 0; i < N; i++)
        data[i] = (char)(i % 97 == 96 ? '\n' : 'a' + (i * 7919 / 13) % 26);
    for (int how = 1; how < 3; how++) {
        const char *name = contain(how, "cut.txt", data, N, N / 2);
        FILE *f = fopen(at(name), "rb");
        const size_t n = fread(packed, 1, N, f);
        fclose(f);
        const size_t end = how == 1 ? n - 700 : n;
        char want[300];
        put(name, packed, end - 9);
        snprintf(want, sizeof want, how == 1 ? "%s: the file ends inside gzip member 2, after %zu bytes; it is cut off: get it again"
                                             : "%s: the file ends inside a zstd frame, after %zu bytes; it is cut off: get it again", name, end - 9);
        read_one(name, NULL, NULL, want);
        put(name, packed, 0);
        snprintf(want, sizeof want, "%s (0 bytes) does not begin like a %s file; it is cut off or has the wrong name: get it again or rename it",
                 name, how == 1 ? "gzip" : "zstd");
        read_one(name, NULL, NULL, want);
        packed[end / 4] ^= 0x55;
        put(name, packed, n);
        tt_text_reader *r = NULL;
        tt_text_doc d;
        tt_error err = {0};
        ok(tt_text_reader_open(at(name), &(tt_text_opts){.utf8 = TT_TEXT_KEEP}, &r, &err) == TT_ERR_DATA ||
           tt_text_next(r, &d, &err) == TT_ERR_DATA, "damage is seen: %s", words(&err));
        tt_text_reader_close(&r);
    }
    const char *name = contain(1, "tail.txt", "abc", 3, 1);
    FILE *f = fopen(at(name), "ab");
    fputs("rest", f);
    fclose(f);
    read_one(name, NULL, NULL, "tail.txt.gz: behind gzip member 2, at byte 743, there is something that is no gzip; the file is damaged: get it "
             "again");
    free(data);
    free(packed);
}

static void counts(void)
{
    char *text = NULL;
    size_t n = 0;
    FILE *f = open_memstream(&text, &n);
    tt_text_counts a = {.files = 1, .documents = 2, .bytes_in = 100, .text_bytes = 50, .empty = 1},
                   b = {.files = 1, .blank = 3, .bad = 1, .repaired = 1, .surrogates = 2, .first_bad = "x:1: no"};
    tt_text_counts_add(&a, &b);
    tt_text_counts_print(&a, f);
    fclose(f);
    is_str(text, "2 files, 100 bytes, 2 documents of 50 bytes, 1 empty text left out, 3 blank lines, 1 bad line left out, 1 document with "
           "ill-formed UTF-8 repaired, 2 halves of pairs of surrogates made U+FFFD\nthe first bad line: x:1: no\n", "counts printed by kind");
    free(text);
}

int main(void)
{
    if (!mkdtemp(dir))
        skip_all("no temporary folder");
    lists();
    odd_lines();
    bad_lines();
    wholes();
    damaged();
    counts();
    char command[300];
    snprintf(command, sizeof command, "rm -rf '%s'", dir);
    ok(system(command) == 0, "cleaned up");
    return done_testing();
}
