/* Reading metrics files as they are after crashes and resumes, thinning, config differences, JSON texts. */
#include "base/fs.h"
#include "base/json.h"
#include "report/config_diff.h"
#include "report/runlog.h"
#include "report/thin.h"
#include "tap.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char dir[] = "/tmp/titan-report-XXXXXX";
static tt_error err;

#define LOSS "loss_metrics/global_avg_loss"

/* The run as "step:loss[/validation] …", "-" for a gap, "." for nothing. */
static const char *rows_of(const tt_runlog *run)
{
    static char text[1024];
    const double *loss = tt_runlog_find(run, LOSS), *validation = tt_runlog_find(run, "validation_metrics/loss");
    size_t at = 0;
    text[0] = '\0';
    for (int64_t i = 0; i < run->n; i++) {
        at += (size_t)snprintf(text + at, sizeof text - at, "%s%lld:", i ? " " : "", (long long)run->step[i]);
        if (!loss || isnan(loss[i]))
            at += (size_t)snprintf(text + at, sizeof text - at, ".");
        else
            at += isinf(loss[i]) ? (size_t)snprintf(text + at, sizeof text - at, "-")
                                 : (size_t)snprintf(text + at, sizeof text - at, "%g", loss[i]);
        if (validation && !isnan(validation[i]))
            at += (size_t)snprintf(text + at, sizeof text - at, "/%g", validation[i]);
    }
    return text;
}

#define L(step, loss) "{\"step\": " #step ", \"" LOSS "\": " #loss "}\n"
#define V(step, loss) "{\"step\": " #step ", \"validation_metrics/loss\": " #loss "}\n"

static void files(void)
{
    static const struct {
        const char *what, *text, *rows;
        int torn, broken, superseded;
    } table[] = {
        {"plain", L(1, 5) L(2, 4.5) L(3, 4), "1:5 2:4.5 3:4", 0, 0, 0},
        {"a validation joins its step", L(1, 5) V(1, 6) L(2, 4) V(3, 3), "1:5/6 2:4 3:./3", 0, 0, 0},
        {"null is a gap", L(1, 5) L(2, null) L(3, 4), "1:5 2:- 3:4", 0, 0, 0},
        {"a torn last line", L(1, 5) L(2, 4) "{\"step\": 3, \"loss_me", "1:5 2:4", 1, 0, 0},
        {"torn though it reads as JSON", L(1, 5) "{\"step\": 2}", "1:5", 1, 0, 0},
        {"resumed: the later wins", L(1, 5) L(2, 4) L(3, 3) L(4, 2) L(3, 30) L(4, 20) L(5, 10), "1:5 2:4 3:30 4:20 5:10", 0, 0, 2},
        {"resumed, not yet as far", L(1, 5) L(2, 4) L(3, 3) L(2, 40), "1:5 2:40", 0, 0, 2},
        {"the last step again", L(1, 5) L(2, 4) L(2, 40), "1:5 2:40", 0, 0, 1},
        {"broken lines", L(1, 5) "\n{]\n[1]\n{\"no\": 1}\n{\"step\": \"2\"}\n{\"step\": -1}\n" L(2, 4), "1:5 2:4", 0, 5, 0},
        {"any JSON", " { \"more\" : {\"a\": [1, 2]}, \"t\": \"x\", \"b\": true, \"loss_metrics\\/global_avg_loss\" :\t5e0 , \"step\" : 7 } \r\n",
         "7:5", 0, 0, 0},
        {"numbers", L(1, -0.125) L(2, 1e-3) L(3, 123456789012345678901) L(4, 1.25E+2) L(5, 0.1234567890123456789) L(6, 1e300),
         "1:-0.125 2:0.001 3:1.23457e+20 4:125 5:0.123457 6:1e+300", 0, 0, 0},
    };
    char *path = tt_fs_join(dir, "metrics.jsonl");
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        tt_runlog run;
        tt_fs_write(path, table[i].text, strlen(table[i].text), &err);
        if (!ok(tt_runlog_read(dir, &run, &err) == TT_OK, "%s", table[i].what))
            continue;
        is_str(rows_of(&run), table[i].rows, "%s: its rows", table[i].what);
        is_int(run.torn, table[i].torn, "torn");
        is_int(run.broken, table[i].broken, "broken lines");
        is_int(run.superseded, table[i].superseded, "steps made again");
        tt_runlog_free(&run);
    }
    free(path);
}

static void numbers(void)
{
    char *path = tt_fs_join(dir, "metrics.jsonl"), text[128];
    static const char *const all[] = {"0.1", "1.7976931348623157e308", "4.9e-324", "3.141592653589793", "-1e22", "9007199254740993",
                                      "123456.789", "2.2250738585072014e-308", "0.000001", "1e23", "7e-23"};
    int wrong = 0;
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        tt_runlog run;
        snprintf(text, sizeof text, "{\"step\": 1, \"x\": %s}\n", all[i]);
        tt_fs_write(path, text, strlen(text), &err);
        if (tt_runlog_read(dir, &run, &err) != TT_OK || tt_runlog_find(&run, "x")[0] != strtod(all[i], NULL)) {
            wrong++;
            diag("%s", all[i]);
        }
        tt_runlog_free(&run);
    }
    is_int(wrong, 0, "every number is the nearest double");
    free(path);
}

static void errors(void)
{
    tt_runlog run;
    char want[512], *path = tt_fs_join(dir, "metrics.jsonl");
    tt_fs_remove_all(path, &err);
    is_int(tt_runlog_read(dir, &run, &err), TT_ERR_IO, "a folder without metrics");
    snprintf(want, sizeof want, "%s has no metrics: looked for %s; give the job.dump_folder of a run that has begun, or its metrics file",
             dir, path);
    is_str(err.text, want, "its text");
    is_int(tt_runlog_read("no/such.jsonl", &run, &err), TT_ERR_IO, "no such file");
    is_str(err.text, "cannot open no/such.jsonl: No such file or directory; check the path", "its text");
    tt_fs_write(path, "{]\n{\"step\": 1}", 14, &err);
    is_int(tt_runlog_read(path, &run, &err), TT_ERR_IO, "nothing whole");
    snprintf(want, sizeof want, "%s has no whole line with a step (1 broken, the last one torn): a run writes the first one after step 1; wait for it, or give another run",
             path);
    is_str(err.text, want, "its text");
    free(path);
}

static void sums(void)
{
    tt_runlog run;
    char *path = tt_fs_join(dir, "metrics.jsonl"), *starts = tt_fs_join(dir, "starts.jsonl");
    const char text[] =
        "{\"step\": 1, \"" LOSS "\": 5, \"throughput(tps)\": 10, \"time_metrics/end_to_end(s)\": 3, \"n_tokens_seen\": 100}\n"
        "{\"step\": 10, \"" LOSS "\": 2, \"throughput(tps)\": 30, \"time_metrics/end_to_end(s)\": 2, \"n_tokens_seen\": 1000}\n"
        "{\"step\": 15, \"validation_metrics/loss\": 2.5}\n"
        "{\"step\": 20, \"" LOSS "\": 3, \"throughput(tps)\": 20, \"time_metrics/end_to_end(s)\": 1, \"n_tokens_seen\": 2000}\n";
    const char two[] = "{\"time\": \"A\", \"step\": 0, \"ranks\": 4, \"version\": \"1\"}\n{\"time\": \"B\", \"step\": 10, \"ranks\": 8, \"version\": \"2\"}\n";
    tt_fs_write(path, text, sizeof text - 1, &err);
    tt_fs_write(starts, two, sizeof two - 1, &err);
    ok(tt_runlog_read(dir, &run, &err) == TT_OK, "read");
    const tt_runlog_summary s = tt_runlog_sum(&run);
    is_int(s.steps, 20, "last step");
    close_to(s.tokens, 2000, 0, "tokens");
    close_to(s.last_loss, 3, 0, "last loss");
    close_to(s.best_loss.value, 2, 0, "best loss");
    is_int(s.best_loss.step, 10, "its step");
    close_to(s.best_validation.value, 2.5, 0, "best validation");
    close_to(s.median_tps, 20, 0, "median tokens/s");
    close_to(s.seconds, 3 + 9 * 2 + 10 * 1, 1e-12, "time in steps");
    close_to(run.seconds[2], 21, 1e-12, "a validation's row keeps the time before it");
    close_to(run.tokens[2], 1000, 0, "and the tokens");
    ok(isnan(s.peak_gib), "no memory is said");
    is_int(run.starts, 2, "starts");
    is_int(run.ranks, 8, "ranks of the last");
    is_str(run.started, "A", "time of the first");
    is_str(run.version, "2", "version of the last");
    tt_runlog_free(&run);
    free(path);
    free(starts);
}

static void thinning(void)
{
    enum { N = 100000, BUCKETS = 100 };
    static int64_t step[N];
    static double value[N];
    for (int64_t i = 0; i < N; i++) {
        step[i] = 10 * i + 1;
        value[i] = sin((double)i * 0.37) + (double)i * 1e-5;
    }
    value[4321] = 99;
    value[54321] = -99;
    value[60000] = INFINITY; /* a gap */
    for (int64_t i = 70000; i < 80000; i++)
        value[i] = NAN; /* nothing said */
    tt_thin t = tt_thin_choose(step, value, N, BUCKETS);
    int high = 0, low = 0, gap = 0, nothing = 0, order = 0;
    double worst = 0;
    for (int64_t i = 0; i < t.n; i++) {
        high += t.row[i] == 4321;
        low += t.row[i] == 54321;
        gap += t.row[i] == 60000;
        nothing += isnan(value[t.row[i]]);
        order += i && t.row[i] <= t.row[i - 1];
        if (t.row[i] < 4000) {
            const double middle = ((double)(t.row[i] / 1000) * 1000 + 500) * 1e-5;
            worst = fmax(worst, fabs(t.mean[i] - middle));
        }
    }
    ok(t.n > 2 * BUCKETS - 30 && t.n <= 3 * BUCKETS + 2, "%lld rows of %d stay", (long long)t.n, N);
    ok(high == 1 && low == 1, "the highest and the lowest are among them");
    is_int(gap, 1, "and the gap");
    is_int(nothing, 0, "rows that say nothing are not");
    is_int(order, 0, "in order");
    is_int(t.row[0], 0, "the first one");
    is_int(t.row[t.n - 1], N - 1, "and the last one");
    ok(worst < 0.01, "the means are those of the buckets (off by %g)", worst);
    tt_thin_free(&t);
    t = tt_thin_choose(step, value, 200, BUCKETS);
    ok(t.n == 200 && !t.mean, "200 values in 100 buckets: all of them");
    tt_thin_free(&t);
    for (int64_t i = 0; i < N; i++)
        value[i] = NAN;
    t = tt_thin_choose(step, value, N, BUCKETS);
    is_int(t.n, 0, "no values at all");
    tt_thin_free(&t);
}

static void config(void)
{
    char *text[] = {"job = {\n    dump_folder = \"a\";\n};\noptimizer = {\n    lr = 0.1;  # a.cfg:3\n    name = \"x; # y\";\n};\n"
                    "validation = {\n    dataloader = {\n        num_workers = 1;\n    };\n    freq = 5;\n    # steps is unset\n};\n",
                    NULL,
                    "job: {\n    dump_folder = \"b\";\n};\noptimizer = {\n    lr = 0.2;  # command line\n    name = \"x; # y\";\n};\n"
                    "validation = {\n    dataloader = {\n        num_workers = 1;\n    };\n    freq = 5;\n    steps = 3;\n};\n"};
    int n;
    tt_config_difference *d = tt_config_diff(text, 3, &n);
    is_int(n, 2, "two keys differ");
    if (n == 2) {
        is_str(d[0].key, "optimizer.lr", "a key");
        is_str(d[0].value[0], "0.1", "its value in the first");
        is_str(d[0].origin[0], "a.cfg:3", "from where");
        ok(!d[0].value[1], "a run without a config has none");
        is_str(d[0].value[2], "0.2", "in the last");
        is_str(d[0].origin[2], "command line", "from where");
        is_str(d[1].key, "validation.steps", "a key after a nested group");
        ok(!d[1].value[0], "unset in the first");
        is_str(d[1].value[2], "3", "set in the last");
        ok(!d[1].origin[2], "by default");
    }
    tt_config_diff_free(d, n, 3);
    d = tt_config_diff(text, 2, &n);
    is_int(n, 0, "one config cannot differ");
    tt_config_diff_free(d, n, 2);
}

static void json(void)
{
    static const struct {
        const char *text, *want;
    } table[] = {
        {"plain", "\"plain\""},
        {"a\"b\\c\n\t\x01", "\"a\\u0022b\\u005cc\\u000a\\u0009\\u0001\""},
        {"</script><!--&", "\"\\u003c/script\\u003e\\u003c!--\\u0026\""},
        {"\xc3\xbc \xe2\x82\xac \xf0\x9f\x99\x82", "\"\xc3\xbc \xe2\x82\xac \xf0\x9f\x99\x82\""},
        {"\xff\xc3\x28\xed\xa0\x80\xc0\x80", "\"\\ufffd\\ufffd(\\ufffd\\ufffd\\ufffd\\ufffd\\ufffd\""},
        {"\xe2\x82", "\"\\ufffd\\ufffd\""},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        char *text = NULL;
        size_t size;
        FILE *out = open_memstream(&text, &size);
        tt_json_string(out, table[i].text);
        fclose(out);
        is_str(text, table[i].want, "a text as JSON");
        free(text);
    }
}

int main(void)
{
    if (!mkdtemp(dir))
        return 1;
    errors();
    files();
    numbers();
    sums();
    thinning();
    config();
    json();
    tt_fs_remove_all(dir, NULL);
    return done_testing();
}
