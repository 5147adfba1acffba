/* A program's own options, and the nearest word. */
#include "base/args.h"
#include "base/closest.h"
#include "tap.h"

#include <string.h>

static tt_option options[3];

static void reset(void)
{
    options[0] = (tt_option){.name = "ranks", .value_name = "N", .doc = "ranks to plan for"};
    options[1] = (tt_option){.name = "max-tokens", .value_name = "N", .doc = "tokens to make"};
    options[2] = (tt_option){.name = "verify", .doc = "check all hashes"};
}

/* Take and then check 1..2 positional arguments; argv is given as words. */
static tt_status take(const char *line, char *rest, size_t room, tt_error *err)
{
    char copy[256], *argv[16] = {0};
    int argc = 0;
    reset();
    snprintf(copy, sizeof copy, "%s", line);
    for (char *save, *word = strtok_r(copy, " ", &save); word; word = strtok_r(NULL, " ", &save))
        argv[argc++] = word;
    tt_status st = tt_args_take(&argc, argv, options, 3, err);
    if (st == TT_OK)
        st = tt_args_positional(&argc, argv, options, 3, 1, 2, "FILE [OUT]", err);
    rest[0] = '\0';
    for (int i = 1; st == TT_OK && i < argc; i++)
        snprintf(rest + strlen(rest), room - strlen(rest), "%s%s", i > 1 ? " " : "", argv[i]);
    for (int i = 0; i < 3; i++) /* values point into copy */
        options[i].value = options[i].value ? (strcmp(options[i].value, "64") == 0 ? "64" : options[i].value[0] ? "5x" : "") : NULL;
    return st;
}

static void refused(const char *line, const char *want)
{
    char rest[128];
    tt_error err = {0};
    is_int(take(line, rest, sizeof rest, &err), TT_ERR_USAGE, "refused: %s", line);
    is_str(err.text, want, "says why");
}

static void test_refused(void)
{
    refused("prog f --ranks", "option --ranks needs a value; write --ranks=N");
    refused("prog f --verify=yes", "option --verify=yes takes no value; write --verify alone");
    refused("prog f --rank=3", "unknown option --rank; did you mean --ranks?");
    refused("prog f --zzzzzzzz", "unknown option --zzzzzzzz; --help lists all");
    refused("prog", "0 arguments given, but FILE [OUT] is wanted; --help shows how");
    refused("prog a b c", "3 arguments given, but FILE [OUT] is wanted; --help shows how");
}

static void test_taken(void)
{
    char rest[128];
    tt_error err = {0};
    int64_t n = 0;
    double x = 0;
    is_int(take("prog in --ranks 8 --verify --ranks=64 out", rest, sizeof rest, &err), TT_OK, "options among arguments");
    is_str(rest, "in out", "the rest in order");
    is_str(options[0].value, "64", "the last one wins");
    is_str(options[2].value, "", "a flag");
    ok(options[1].value == NULL, "not given");
    is_int(tt_args_int(&options[0], 1, 100, &n, &err), TT_OK, "a number");
    is_int(n, 64, "its value");
    is_int(tt_args_int(&options[0], 1, 10, &n, &err), TT_ERR_USAGE, "out of range");
    is_str(err.text, "--ranks=64: wants an integer from 1 to 10", "and told");
    is_int(tt_args_float(&options[0], 0, 100, &x, &err), TT_OK, "a float");
    close_to(x, 64, 0, "its value");
    is_int(take("prog --max_tokens=5x in", rest, sizeof rest, &err), TT_OK, "underscore for hyphen");
    is_int(tt_args_int(&options[1], 1, 10, &n, &err), TT_ERR_USAGE, "no number");
    is_str(err.text, "--max-tokens=5x: wants an integer from 1 to 10", "is told");
    is_int(tt_args_float(&options[1], 1, 10, &x, &err), TT_ERR_USAGE, "no float either");
    is_int(take("prog -- --ranks", rest, sizeof rest, &err), TT_OK, "after --");
    is_str(rest, "--ranks", "all is positional");
}

static const char *word(void *ctx, int i)
{
    return ((const char **)ctx)[i];
}

static void test_closest(void)
{
    const char *words[] = {"llama3", "qwen3", "deepseek_v3"};
    is_int(tt_edit_distance("", "abc"), 3, "insertions");
    is_int(tt_edit_distance("abcd", "abdc"), 1, "a swap is one");
    is_int(tt_edit_distance("kitten", "sitting"), 3, "kitten, sitting");
    is_str(tt_closest("lama3", word, words, 3), "llama3", "a missing letter");
    is_str(tt_closest("deepsekv3", word, words, 3), "deepseek_v3", "two of eleven");
    ok(tt_closest("flux", word, words, 3) == NULL, "nothing near");
}

int main(void)
{
    test_refused();
    test_taken();
    test_closest();
    return done_testing();
}
