/* Reads the error texts of all sources: each says what was being done or what is wrong, names a
 * value or key, and says what to change. What a machine can see of that are the rules below.
 * tt_fail itself adds the remedy of two kinds, memory and faults of titan (base/error.c, tested at
 * the end). */
#include "base/fs.h"
#include "tap.h"

#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct message {
    char where[256], code[48], text[2048];
    char all[4096]; /* with the literals of the arguments */
} message;

static int seen, wrong;

/* The verbs and forms by which a text tells what to change, or what is allowed. */
static const char *const remedies[] = {
    "use ",      "set ",         "give ",    "choose ", "make ",       "check ",      "free ",
    "ask ",      "write ",       "put ",     "start ",  "rebuild",     "raise ",      "allowed:",
    "remove",    "did you mean", "--help",   "wants ",  "should ",     "report",      "download",
    "fetch ",    "configure",    "repair",   "save ",   "needed",      "name ",       "change ",
    "split ",    "take ",        "close ",   "begin ",  "titan reads", "get ",        "copy ",
    "tokenize ", "keep ",        "convert ", "go on ",  "separate ", "cut ",   "the form is", "say ",
    "add ",      "shows ",       "; %s"};

static int has_remedy(const char *text)
{
    for (size_t i = 0; i < sizeof remedies / sizeof remedies[0]; i++)
        if (strstr(text, remedies[i]))
            return 1;
    return 0;
}

static int count_words(const char *text)
{
    int n = 0;
    for (; *text; text++)
        n += !isspace((unsigned char)*text) && (isspace((unsigned char)text[1]) || !text[1]);
    return n;
}

/* A key, an option or a file's name in the text itself. */
static int has_name(const char *text)
{
    for (const char *c = text; *c; c++)
        if ((*c == '.' && c > text && islower((unsigned char)c[-1]) &&
             islower((unsigned char)c[1])) ||
            strncmp(c, "--", 2) == 0 || *c == '"' || *c == '@')
            return 1;
    return 0;
}

/* NULL, or the rule that the message breaks. in_context: the file puts a prefix that has the remedy
 * before its texts. */
static const char *broken_rule(const message *m, int in_context)
{
    size_t n = strlen(m->text);
    if (strcmp(m->text, "%s") == 0 ||
        (strncmp(m->code, "TT_ERR", 6) != 0 && n > 4 && strcmp(m->text + n - 4, ": %s") == 0))
        return NULL; /* another's text, passed on */
    if (n == 0)
        return "has no text at hand: write it at the call";
    if ((n > 1 && !strcmp(m->text + n - 2, "\\n")) || m->text[n - 1] == '.' ||
        m->text[n - 1] == ' ' || m->text[n - 1] == ':')
        return "ends in a point, a blank, a colon or a line end: it may be followed by more";
    if (isupper((unsigned char)m->text[0]) && islower((unsigned char)m->text[1]))
        return "begins like a sentence: it may follow a prefix";
    if (strstr(m->text, "rror") || strstr(m->text, "nvalid") || strstr(m->text, "llegal") ||
        strstr(m->text, "!"))
        return "says error, invalid or illegal, which tell nothing: say what is wrong";
    if (count_words(m->text) < 3)
        return "has less than three words";
    if (!strcmp(m->code, "TT_ERR_NOMEM") || !strcmp(m->code, "TT_ERR_INTERNAL"))
        return NULL; /* what follows stands in tt_fail */
    if (!strchr(m->text, '%') && !has_name(m->text) && !in_context)
        return "names no value, key, option or file";
    if (!has_remedy(m->all) && !in_context)
        return "does not say what to change";
    return NULL;
}

/* Skip a literal or comment at *c, or one character. */
static const char *past(const char *c)
{
    if (*c == '"' || *c == '\'') {
        char quote = *c++;
        while (*c && *c != quote)
            c += *c == '\\' && c[1] ? 2 : 1;
        return *c ? c + 1 : c;
    }
    if (c[0] == '/' && c[1] == '*') {
        const char *end = strstr(c + 2, "*/");
        return end ? end + 2 : c + strlen(c);
    }
    return c + 1;
}

/* Argument i (from 0) of a call whose '(' is just before c: from *begin to *end. */
static int find_argument(const char *c, int i, const char **begin, const char **end)
{
    int depth = 0;
    for (*begin = c; *c; c = past(c)) {
        if (depth == 0 && (*c == ',' || *c == ')')) {
            *end = c;
            if (i-- == 0)
                return 1;
            if (*c == ')')
                return 0;
            *begin = c + 1;
        }
        depth += *c == '(';
        depth -= *c == ')';
    }
    return 0;
}

/* Names between literals (macros with a key's name) count as a word with a point. */
static void join_literals(const char *begin, const char *end, char *text, size_t room)
{
    size_t n = 0;
    for (const char *c = begin; c < end && n + 8 < room; c = past(c)) {
        if (*c == '"') {
            const char *close = past(c) - 1;
            for (const char *x = c + 1; x < close && n + 8 < room; x++)
                text[n++] = *x;
        } else if (isupper((unsigned char)*c)) {
            n += (size_t)snprintf(text + n, room - n, "a.key");
            while (c + 1 < end && (isalnum((unsigned char)c[1]) || c[1] == '_'))
                c++;
        }
    }
    text[n] = '\0';
}

static void judge(const message *m, int in_context)
{
    const char *rule = broken_rule(m, in_context);
    seen++;
    if (!rule)
        return;
    wrong++;
    diag("%s %s: \"%s\" %s", m->where, m->code, m->text, rule);
}

/* 1 when some tt_fail_context of the source has a remedy in its text. */
static int has_context(const char *source)
{
    static const char call[] = "tt_fail_context(";
    for (const char *at = source; (at = strstr(at, call)) != NULL; at += sizeof call - 1) {
        char text[2048];
        const char *begin, *end;
        if (!find_argument(at + sizeof call - 1, 2, &begin, &end))
            continue;
        join_literals(begin, end, text, sizeof text);
        if (has_remedy(text))
            return 1;
    }
    return 0;
}

static void read_calls(const char *path, const char *source)
{
    static const char call[] = "tt_fail(";
    int in_context = has_context(source);
    for (const char *at = source; (at = strstr(at, call)) != NULL; at += sizeof call - 1) {
        message m;
        const char *begin, *end;
        int line = 1;
        if (at > source && (isalnum((unsigned char)at[-1]) || at[-1] == '_'))
            continue;
        for (const char *c = source; c < at; c++)
            line += *c == '\n';
        snprintf(m.where, sizeof m.where, "%.200s:%d", path, line);
        if (!find_argument(at + sizeof call - 1, 1, &begin, &end))
            continue;
        begin += strspn(begin, " \n");
        snprintf(m.code, sizeof m.code, "%.*s", (int)(end - begin), begin);
        if (!find_argument(at + sizeof call - 1, 2, &begin, &end))
            continue;
        join_literals(begin, end, m.text, sizeof m.text);
        size_t n = (size_t)snprintf(m.all, sizeof m.all, "%s", m.text);
        for (int i = 3; find_argument(at + sizeof call - 1, i, &begin, &end) && n < sizeof m.all;
             i++) {
            m.all[n++] = ' ';
            join_literals(begin, end, m.all + n, sizeof m.all - n);
            n += strlen(m.all + n);
        }
        judge(&m, in_context);
    }
}

static void read_folder(const char *path)
{
    DIR *dir = opendir(path);
    for (struct dirent *e; dir && (e = readdir(dir)) != NULL;) {
        char *inner = tt_fs_join(path, e->d_name), *source = NULL;
        size_t n = strlen(e->d_name);
        if (e->d_name[0] != '.' && tt_fs_is_dir(inner))
            read_folder(inner);
        else if (n > 2 && strcmp(e->d_name + n - 2, ".c") == 0 &&
                 tt_fs_read(inner, &source, NULL, NULL) == TT_OK)
            read_calls(inner, source);
        free(source);
        free(inner);
    }
    if (dir)
        closedir(dir);
}

/* The rules themselves. */
static void test_rules(void)
{
    static const struct {
        const char *call;
        int is_wrong;
    } rows[] = {
        {"tt_fail(err, TT_ERR_CONFIG, \"model.dim = %d is odd; use an even one\", d)", 0},
        {"tt_fail(e(1, 2), TT_ERR_CONFIG, KEY \" = %d (%s)\"\n /* , */ \" is odd; use %d\", \"a, "
         "b\")",
         0},
        {"tt_fail(err, TT_ERR_CONFIG, \"model.dim = %d is odd\", d)", 1},
        {"tt_fail(err, TT_ERR_CONFIG, \"model.dim = %d is odd; use an even one.\", d)", 1},
        {"tt_fail(err, TT_ERR_CONFIG, \"Invalid dim %d; use an even one\", d)", 1},
        {"tt_fail(err, TT_ERR_IO, \"it cannot be read; use another\")", 1},
        {"tt_fail(err, TT_ERR_NOMEM, \"no memory\")", 1},
        {"tt_fail(err, TT_ERR_NOMEM, \"reading %s: no memory\", p)", 0},
        {"tt_fail(err, st, text)", 1},
        {"tt_fail(err, st, \"%s\", text)", 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        wrong = seen = 0;
        read_calls("(a row of the test)", rows[i].call);
        ok(seen == 1 && wrong == rows[i].is_wrong, "%s: %s", rows[i].is_wrong ? "seen" : "accepted",
           rows[i].call);
    }
    wrong = seen = 0;
}

/* What tt_fail adds. */
static void test_added(void)
{
    tt_error err = {0}, inner = {0};
    tt_fail(&err, TT_ERR_NOMEM, "reading %s: no memory", "x");
    is_str(err.text, "reading x: no memory; give the job more memory, or run fewer ranks on a node",
           "memory");
    tt_fail(&err, TT_ERR_NOMEM, "reading %s: no memory; split the file", "x");
    is_str(err.text, "reading x: no memory; split the file",
           "a text with its own remedy is left alone");
    tt_fail(&inner, TT_ERR_INTERNAL, "op %d has no output", 3);
    is_str(inner.text,
           "op 3 has no output; this is a fault of titan: please report it with this text and the "
           "configuration",
           "faults");
    tt_fail(&err, TT_ERR_INTERNAL, "%s", inner.text);
    is_str(err.text, inner.text, "a text that is passed on is left alone");
    tt_fail_remedy(&err, TT_ERR_IO, "use %d", 2);
    ok(strcmp(err.text + strlen(inner.text), "; use 2") == 0 && err.code == TT_ERR_IO,
       "a remedy behind it");
    memset(err.text, 'x', sizeof err.text - 1);
    tt_fail_remedy(&err, TT_ERR_IO, "use 2");
    is_int((long long)strlen(err.text), TT_ERROR_TEXT_MAX - 1, "what does not fit is left out");
}

int main(void)
{
    const char *top = getenv("top_srcdir");
    test_rules();
    diag("the remarks above are the test's own; below, the sources'");
    for (int i = 0; i < 3; i++) {
        char *path =
            tt_fs_join(top ? top : ".", (const char *const[]){"src", "utils", "kernels"}[i]);
        read_folder(path);
        free(path);
    }
    test_added();
    ok(seen > 250, "texts were found: %d", seen);
    is_int(wrong, 0, "texts that break a rule");
    return done_testing();
}
