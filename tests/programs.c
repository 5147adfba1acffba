/* The printed form of small programs against golden text, and what folding and hashing promise.
 * To rewrite the golden files: TITAN_UPDATE=1 top_srcdir=. tests/programs.t */
#include "base/fs.h"
#include "graph/print.h"
#include "plan_util.h"
#include "tap.h"

#include <stdlib.h>
#include <string.h>

static char *text_of(const tt_program *p, const tt_print_opts *opts, int saved)
{
    char *text = NULL;
    size_t n = 0;
    FILE *out = open_memstream(&text, &n);
    if (saved)
        tt_program_print_saved(p, out, 0);
    else
        tt_program_print(p, out, opts);
    fclose(out);
    return text;
}

static void first_difference(const char *got, const char *want)
{
    int line = 1;
    while (*got && *got == *want) {
        line += *got == '\n';
        got++;
        want++;
    }
    diag("line %d: got  ...%.100s", line, got);
    diag("line %d: want ...%.100s", line, want);
}

static void golden(const char *name, const char *text)
{
    const char *top = getenv("top_srcdir");
    char file[64], *dir = tt_fs_join(top ? top : ".", "tests/golden"), *want = NULL;
    tt_error err = {0};
    snprintf(file, sizeof file, "program_%s.txt", name);
    char *path = tt_fs_join(dir, file);
    if (getenv("TITAN_UPDATE"))
        tt_fs_write(path, text, strlen(text), &err);
    int read = tt_fs_read(path, &want, NULL, &err) == TT_OK;
    if (!ok(read && strcmp(want, text) == 0, "%s is as recorded %s", file, err.text) && read)
        first_difference(text, want);
    free(want);
    free(path);
    free(dir);
}

static void test_golden(void)
{
    const plan_case one = {.layers = 1}, four = {.layers = 1, .shard = 2, .tp = 2, .rank = 3, .compute = TT_BF16};
    const plan_case *const cases[] = {&one, &four};
    const char *const names[] = {"1", "dp2tp2"};
    for (int i = 0; i < 2; i++) {
        tt_program *p = plan_program(cases[i]);
        char *text = text_of(p, NULL, 0);
        golden(names[i], text);
        free(text);
        tt_program_destroy(&p);
    }
}

/* What each recompute policy keeps. */
static void test_saved(void)
{
    static const tt_recompute_opts ac[] = {
        {TT_AC_NONE, 1}, {TT_AC_SELECTIVE_OP, 1}, {TT_AC_SELECTIVE_LAYER, 2}, {TT_AC_FULL, 1}};
    static const char *const name[] = {"none", "selective op", "selective layer 2", "full"};
    char *all = NULL;
    size_t n = 0;
    FILE *out = open_memstream(&all, &n);
    for (int i = 0; i < 4; i++) {
        tt_program *p = plan_program(&(plan_case){.layers = 4, .recompute = ac[i]});
        char *text = text_of(p, NULL, 1);
        fprintf(out, "recompute %s\n%s\n", name[i], text);
        free(text);
        tt_program_destroy(&p);
    }
    fclose(out);
    golden("saved", all);
    free(all);
}

static int lines(const char *text)
{
    int n = 0;
    for (; *text; text++)
        n += *text == '\n';
    return n;
}

static void test_fold(void)
{
    tt_program *p = plan_program(&(plan_case){.layers = 40, .shard = 4, .tp = 2});
    tt_program *q = plan_program(&(plan_case){.layers = 20, .shard = 4, .tp = 2});
    char *folded = text_of(p, NULL, 0), *half = text_of(q, NULL, 0);
    char *whole = text_of(p, &(tt_print_opts){.unfolded = 1}, 0);
    is_int(lines(folded), lines(half), "40 layers print in as many lines as 20");
    ok(lines(whole) > 4 * lines(folded), "unfolded is much longer: %d > 4 x %d", lines(whole), lines(folded));
    ok(strstr(folded, "blocks 2..40 as block 1\n") != NULL, "layers that are alike are named");
    free(folded);
    free(half);
    free(whole);
    tt_program_destroy(&p);
    tt_program_destroy(&q);
    p = plan_program(&(plan_case){.layers = 12, .recompute = {TT_AC_SELECTIVE_LAYER, 3}});
    folded = text_of(p, NULL, 0);
    ok(strstr(folded, "blocks 4..12 as blocks 1..3, in turn\n") != NULL, "layers that alternate fold too");
    free(folded);
    tt_program_destroy(&p);
}

static void test_hash(void)
{
    const plan_case same = {.shard = 2, .tp = 2};
    const plan_case other[] = {{.shard = 2, .tp = 2, .rank = 1},
                               {.shard = 2, .tp = 2, .layers = 4},
                               {.shard = 2, .tp = 2, .no_sp = 1},
                               {.shard = 2, .tp = 2, .microbatches = 2},
                               {.shard = 2, .tp = 2, .reshard = TT_RESHARD_NEVER},
                               {.shard = 2, .tp = 2, .recompute = {TT_AC_FULL, 1}},
                               {.shard = 2, .tp = 2, .compute = TT_BF16}};
    tt_program *p = plan_program(&same), *q = plan_program(&same);
    const uint64_t hash = tt_program_hash(p);
    ok(hash == tt_program_hash(q), "equal programs have equal hashes");
    tt_program_destroy(&q);
    for (size_t i = 0; i < sizeof other / sizeof other[0]; i++) {
        q = plan_program(&other[i]);
        ok(hash != tt_program_hash(q), "another program, another hash (%zu)", i);
        tt_program_destroy(&q);
    }
    for (int j = 0; j < p->part[TT_PART_UPDATE].code.n; j++)
        p->part[TT_PART_UPDATE].code.at[j].attr.beta2 = 0.951;
    ok(hash != tt_program_hash(p), "an attribute counts");
    tt_program_destroy(&p);
}

int main(void)
{
    test_golden();
    test_saved();
    test_fold();
    test_hash();
    return done_testing();
}
