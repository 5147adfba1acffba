/* titan-report: curves of one or more runs, as one HTML page or in the terminal. */
#include "base/args.h"
#include "base/fs.h"
#include "base/log.h"
#include "base/version.h"
#include "report/curves.h"
#include "report/page.h"

#include <errno.h>
#include <langinfo.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { OPT_OUTPUT, OPT_TEXT, OPT_X, OPT_WIDTH, OPT_ASCII, OPT_HELP, OPT_VERSION, N_OPTIONS };

static const tt_option known[N_OPTIONS] = {
    [OPT_OUTPUT] = {"output", "FILE", "the page (default report.html); - is the standard output; -o FILE is the same", NULL},
    [OPT_TEXT] = {"text", NULL, "draw in the terminal instead", NULL},
    [OPT_X] = {"x", "AXIS", "step (default), tokens or time; the page can change it", NULL},
    [OPT_WIDTH] = {"width", "N", "columns with --text, 40 or more (default: the terminal's, else $COLUMNS, else 80)", NULL},
    [OPT_ASCII] = {"ascii", NULL, "plain characters with --text, also where the locale is UTF-8", NULL},
    [OPT_HELP] = {"help", NULL, "print this and exit", NULL},
    [OPT_VERSION] = {"version", NULL, "print the build and exit", NULL},
};

static const char usage[] = "usage: titan-report RUN ... [-o FILE] [--x=AXIS]\n"
                            "       titan-report --text RUN ... [--width=N] [--ascii] [--x=AXIS]\n"
                            "       titan-report --help | --version\n\n"
                            "RUN is the job.dump_folder of a run, or a metrics.jsonl file.\n\nOptions:\n";

static int terminal_width(void)
{
    struct winsize size;
    const char *columns = getenv("COLUMNS");
    int n = 0;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0)
        n = size.ws_col;
    if (n <= 0 && columns)
        n = atoi(columns);
    return n <= 0 ? 80 : n < 40 ? 40 : n > 400 ? 400 : n;
}

static tt_status check_axis(const tt_option *o, tt_error *err)
{
    if (!o->value || !strcmp(o->value, "step") || !strcmp(o->value, "tokens") || !strcmp(o->value, "time"))
        return TT_OK;
    return tt_fail(err, TT_ERR_USAGE, "--x=%s is no axis; use step, tokens or time", o->value);
}

/* Runs of equal names are shown by their paths; the later one of equal paths is refused. */
static tt_status name_apart(tt_runlog *runs, int n, char **given, tt_error *err)
{
    char *same = calloc((size_t)n, 1);
    TT_ASSERT(same);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            same[i] |= (char)(i != j && !strcmp(runs[i].name, runs[j].name));
    for (int i = 0; i < n; i++)
        if (same[i]) {
            free(runs[i].name);
            runs[i].name = strdup(given[i]);
            TT_ASSERT(runs[i].name);
        }
    free(same);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < i; j++)
            if (!strcmp(given[i], given[j]))
                return tt_fail(err, TT_ERR_USAGE, "%s is given twice; name each run once", given[i]);
    return TT_OK;
}

static tt_status write_page(const tt_runlog *runs, int n, const char *x, const char *path, tt_error *err)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return tt_fail(err, TT_ERR_NOMEM, "making the page: out of memory");
    tt_page_write(runs, n, x, out);
    tt_status st = fclose(out) ? tt_fail(err, TT_ERR_NOMEM, "making the page: out of memory") : TT_OK;
    if (st == TT_OK && strcmp(path, "-") != 0) {
        st = tt_fs_write(path, text, size, err);
        if (st == TT_OK)
            printf("%s: %d run%s, %zu kB; open it in a browser\n", path, n, n == 1 ? "" : "s", (size + 999) / 1000);
    } else if (st == TT_OK) {
        fwrite(text, 1, size, stdout);
    }
    free(text);
    return st;
}

static void print_curves(const tt_runlog *runs, int n, const char *x, int width, int ascii)
{
    tt_curves_print(runs, n, &(tt_curves_opts){.width = width,
                                               .unicode = !ascii && !strcmp(nl_langinfo(CODESET), "UTF-8"),
                                               .color = isatty(STDOUT_FILENO),
                                               .x = x}, stdout);
}

static tt_status report(const tt_option *o, int n, char **paths, tt_error *err)
{
    tt_status st = TT_OK;
    int64_t width = terminal_width();
    const char *x = o[OPT_X].value ? o[OPT_X].value : "step";
    tt_runlog *runs = calloc((size_t)n, sizeof *runs);
    TT_ASSERT(runs);
    TT_TRY(check_axis(&o[OPT_X], err));
    if (o[OPT_WIDTH].value)
        TT_TRY(tt_args_int(&o[OPT_WIDTH], 40, 400, &width, err));
    for (int i = 0; i < n; i++)
        TT_TRY(tt_runlog_read(paths[i], &runs[i], err));
    TT_TRY(name_apart(runs, n, paths, err));
    for (int i = 0; i < n; i++) {
        if (runs[i].torn)
            tt_log_root(WARN, "%s: the last line is torn and left out", runs[i].path);
        if (runs[i].broken)
            tt_log_root(WARN, "%s: %lld lines are no JSON objects with a step and left out", runs[i].path,
                        (long long)runs[i].broken);
    }
    if (o[OPT_TEXT].value)
        print_curves(runs, n, x, (int)width, o[OPT_ASCII].value != NULL);
    else
        TT_TRY(write_page(runs, n, x, o[OPT_OUTPUT].value ? o[OPT_OUTPUT].value : "report.html", err));
    if (fflush(stdout) || ferror(stdout))
        TT_TRY(tt_fail(err, TT_ERR_IO, "cannot write to the standard output: %s", strerror(errno)));
out:
    for (int i = 0; i < n; i++)
        tt_runlog_free(&runs[i]);
    free(runs);
    return st;
}

int main(int argc, char **argv)
{
    tt_status st;
    tt_error err = {0};
    tt_option options[N_OPTIONS];

    setlocale(LC_CTYPE, "");
    memcpy(options, known, sizeof options);
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) /* the one short name */
        if (!strcmp(argv[i], "-o"))
            argv[i] = "--output";
    TT_TRY(tt_args_take(&argc, argv, options, N_OPTIONS, &err));
    if (options[OPT_HELP].value) {
        fputs(usage, stdout);
        tt_args_help(options, N_OPTIONS, stdout);
        goto out;
    }
    if (options[OPT_VERSION].value) {
        tt_version_print(stdout, "titan-report");
        goto out;
    }
    TT_TRY(tt_args_positional(&argc, argv, options, N_OPTIONS, 1, 1000, "RUN ...", &err));
    TT_TRY(report(options, argc - 1, argv + 1, &err));
out:
    if (st != TT_OK)
        fprintf(stderr, "titan-report: %s\n", err.text);
    return tt_exit_code(st);
}
