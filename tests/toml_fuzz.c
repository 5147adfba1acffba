/* Broken TOML: the golden files and a document with everything, with bytes and words changed,
 * moved, doubled and cut; and bytes from nowhere. Each is read or refused with a line; what is read
 * and accepted as a config prints as a libconfig text with the same values. Run under
 * --enable-sanitizer to see what a wrong step would touch. SEED and COUNT choose the run. */
#include "base/config.h"
#include "base/config_table.h"
#include "base/config_value.h"
#include "base/fs.h"
#include "base/toml.h"
#include "tap.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MOST 8192

static const char *const names[] = {"llama3_debugmodel",    "llama3_405b", "flux_debug",
                                    "llama3_ft_debugmodel", "defaults",    "newer"};
#define N_NAMES ((int)(sizeof names / sizeof names[0]))

static const char everything[] = "a.\"b c\".'d' = [[1, 0x1F], [true, \"x\\u00e9\"], {e = 'f', g = "
                                 "{}}] # c\n[t.u]\nv = \"\"\"\n a \\\n b\"\"\"\"\n"
                                 "w = '''\nq'''\nx = 1_000.5e-3\ny = 1979-05-27 07:32:00Z\nz = "
                                 "-inf\n[[o]]\np = 1\n[o.q]\n[[o]]\n";

static const char *const words[] = {"[",       "]",
                                    "[[",      "]]",
                                    "{",       "}",
                                    "\"",      "'",
                                    "\"\"\"",  "'''",
                                    "=",       ".",
                                    ",",       "#",
                                    "\n",      "\r\n",
                                    "\\",      "\\u12",
                                    "_",       "0x",
                                    "1e",      "inf",
                                    "-",       "+",
                                    "true",    "1979-05-27",
                                    " ",       "\xef\xbb\xbf",
                                    "\xc3",    "\xe2\x82\xac",
                                    "\x00",    "training",
                                    "steps",   "9223372036854775808",
                                    "a = 1\n", "[training]\n",
                                    "= [",     "\"\""};
#define N_WORDS (sizeof words / sizeof words[0])

typedef struct rng {
    uint64_t state;
} rng;

static uint32_t next(rng *r, uint32_t below)
{
    r->state ^= r->state << 13;
    r->state ^= r->state >> 7;
    r->state ^= r->state << 17;
    return (uint32_t)(r->state >> 16) % below;
}

static void replace(char *text, size_t *n, size_t at, size_t cut, const char *with, size_t len)
{
    if (*n - cut + len > MOST)
        return;
    memmove(text + at + len, text + at + cut, *n - at - cut);
    memcpy(text + at, with, len);
    *n += len - cut;
}

static void change(rng *r, char *text, size_t *n)
{
    size_t at = next(r, (uint32_t)*n + 1), left = *n - at;
    char byte = (char)next(r, 256), part[64];
    const char *word = words[next(r, N_WORDS)];
    size_t len = strlen(word) ? strlen(word) : 1;
    switch (next(r, 6)) {
    case 0:
        replace(text, n, at, left > 0, &byte, 1);
        break;
    case 1:
        replace(text, n, at, left < 8 ? left : next(r, 8), "", 0);
        break;
    case 2:
        replace(text, n, at, 0, word, len);
        break;
    case 3:
        replace(text, n, at, left < len ? left : len, word, len);
        break;
    case 4: /* a piece again, somewhere else */
        len = left < sizeof part ? left : sizeof part;
        memcpy(part, text + at, len);
        replace(text, n, next(r, (uint32_t)*n + 1), 0, part, len);
        break;
    default:
        if (next(r, 8) == 0)
            *n = at;
    }
}

/* The entries hang together: 1. */
static int is_sound(const tt_toml *doc, int lines)
{
    int last = 1;
    for (int i = 0; i < doc->n; i++) {
        const tt_toml_entry *e = &doc->entries[i];
        if (!*e->path || e->line < last || e->line > lines || e->inside < 0 ||
            e->inside >= doc->n - i)
            return 0;
        if (e->inside && e->type != TT_TOML_ARRAY && e->type != TT_TOML_TABLE)
            return 0;
        last = e->line;
    }
    return 1;
}

/* What a refusal begins with: name, line. */
static int names_a_line(const char *text)
{
    return strncmp(text, "f:", 2) == 0 && text[2] >= '1' && text[2] <= '9';
}

/* The config of an accepted document, printed and read: 1 when nothing changed. */
static int reads_back(tt_config *cfg)
{
    tt_config *back = NULL;
    tt_error err = {0};
    FILE *out = fopen("fuzz.cfg", "w");
    int same = out != NULL;
    if (!out)
        return 0;
    tt_config_dump(cfg, out);
    fclose(out);
    same = same && tt_config_create(&back, NULL) == TT_OK &&
           tt_config_read_file(back, "fuzz.cfg", &err) == TT_OK;
    for (int i = 0; same && i < tt_config_n_keys(); i++)
        same = tt_config_same(cfg, back, i);
    if (err.text[0])
        diag("%s", err.text);
    tt_config_destroy(&back);
    return same;
}

typedef struct counts {
    int parsed, configs, unsound, unnamed, changed;
} counts;

static void try_text(const char *text, size_t n, counts *c)
{
    tt_error err = {0};
    tt_toml *doc = NULL;
    tt_config *cfg = NULL;
    int lines = 1;
    char *exact = malloc(n ? n : 1); /* what is read beyond it shows */
    for (size_t i = 0; i < n; i++)
        lines += text[i] == '\n';
    memcpy(exact, text, n);
    if (tt_toml_parse("f", exact, n, &doc, &err) == TT_OK) {
        c->parsed++;
        c->unsound += !is_sound(doc, lines);
        tt_toml_destroy(&doc);
        tt_config_create(&cfg, NULL);
        if (tt_config_read_toml(cfg, "f", exact, n, &err) == TT_OK) {
            c->configs++;
            c->changed += !reads_back(cfg);
        } else {
            c->unnamed += !names_a_line(err.text);
        }
        tt_config_destroy(&cfg);
    } else {
        c->unnamed += !names_a_line(err.text) || doc != NULL;
    }
    free(exact);
}

int main(void)
{
    char dir[] = "/tmp/titan-fuzz-XXXXXX", text[MOST + 64], file[256];
    const char *top = getenv("top_srcdir");
    char *sources[N_NAMES + 1];
    size_t sizes[N_NAMES + 1];
    counts c = {0};
    long count = getenv("COUNT") ? atol(getenv("COUNT")) : 3000,
         seed = getenv("SEED") ? atol(getenv("SEED")) : 1;
    rng r = {.state = (uint64_t)seed * 0x9e3779b97f4a7c15u + 1};
    for (int i = 0; i < N_NAMES; i++) {
        snprintf(file, sizeof file, "tests/golden/toml/%s.toml", names[i]);
        char *path = tt_fs_join(top ? top : ".", file);
        if (!ok(tt_fs_read(path, &sources[i], &sizes[i], NULL) == TT_OK && sizes[i] <= MOST, "%s",
                names[i]))
            return done_testing();
        free(path);
    }
    sources[N_NAMES] = strdup(everything);
    sizes[N_NAMES] = strlen(everything);
    if (!mkdtemp(dir) || chdir(dir) != 0)
        skip_all("no temporary folder");
    for (int i = 0; i <= N_NAMES; i++)
        try_text(sources[i], sizes[i], &c);
    is_int(c.parsed, N_NAMES + 1, "unchanged, each is read");
    is_int(c.configs, N_NAMES, "and is a config, but for the one with everything");
    for (long run = 0; run < count; run++) {
        size_t n = 0;
        if (run % 8 == 7) { /* from nowhere */
            n = next(&r, 200);
            for (size_t i = 0; i < n; i++)
                text[i] = (char)(next(&r, 3) ? 32 + next(&r, 95) : next(&r, 256));
        } else {
            int which = (int)next(&r, N_NAMES + 1);
            memcpy(text, sources[which], n = sizes[which]);
        }
        for (uint32_t i = next(&r, run % 2 ? 3 : 12); i > 0; i--)
            change(&r, text, &n);
        try_text(text, n, &c);
    }
    diag("SEED=%ld COUNT=%ld: %d read as TOML, %d as a config", seed, count, c.parsed, c.configs);
    ok(c.parsed > count / 50 && c.parsed < count, "some are read and some are not");
    is_int(c.unsound, 0, "what is read hangs together");
    is_int(c.unnamed, 0, "what is refused is refused with a line");
    is_int(c.changed, 0, "what is accepted reads back the same from its printed form");
    for (int i = 0; i <= N_NAMES; i++)
        free(sources[i]);
    ok(chdir("/") == 0 && tt_fs_remove_all(dir, NULL) == TT_OK, "cleaned up");
    return done_testing();
}
