/* The step line to the letter, the JSON file over crashes and resumes, FLOPs by published counts, and memory limits. */
#include "base/fs.h"
#include "metrics/flops.h"
#include "metrics/metrics.h"
#include "metrics/sinks.h"
#include "metrics/usage.h"
#include "tap.h"

#include <fcntl.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static tt_error err;
static char dir[] = "/tmp/titan-metrics-XXXXXX";

static const char *in(const char *name)
{
    static char path[4][256];
    static int next;
    char *p = path[next++ % 4];
    snprintf(p, sizeof path[0], "%s/%s", dir, name);
    return p;
}

static void lines(void)
{
    static const struct {
        tt_report r;
        int color;
        const char *want;
    } table[] = {
        {{.step = 1, .loss = 8.04906, .grad_norm = 1.5, .memory_gib = 0.84, .memory_percent = 1.06, .tps = 7304.4, .tflops = 0.5226, .mfu_percent = 0.17}, 0,
         "step:  1  loss:  8.04906  grad_norm:  1.5000  memory:  0.84GiB(1.06%)  tps: 7,304  tflops: 0.52  mfu: 0.17%\n"},
        {{.step = 12345, .loss = 12.345678, .grad_norm = 123.45678, .memory_gib = 139.5, .memory_percent = 99.99, .tps = 1234567, .tflops = 1234.5, .mfu_percent = 55.555}, 0,
         "step: 12345  loss: 12.34568  grad_norm: 123.4568  memory: 139.50GiB(99.99%)  tps: 1,234,567  tflops: 1,234.50  mfu: 55.55%\n"},
        {{.step = 100, .loss = 2, .tps = 999.5, .mfu_percent = NAN}, 0,
         "step: 100  loss:  2.00000  grad_norm:  0.0000  memory:  0.00GiB(0.00%)  tps: 1,000  tflops: 0.00  mfu: N/A\n"},
        {{.step = 2, .loss = NAN, .grad_norm = INFINITY, .tps = 100, .mfu_percent = NAN}, 0,
         "step:  2  loss:      nan  grad_norm:     inf  memory:  0.00GiB(0.00%)  tps: 100  tflops: 0.00  mfu: N/A\n"},
        {{.step = 1, .loss = 1, .grad_norm = 1, .tps = 1, .tflops = 1, .mfu_percent = 1}, 1,
         "\033[31mstep:  1  \033[32mloss:  1.00000  \033[38;2;180;60;0mgrad_norm:  1.0000  \033[38;2;54;234;195mmemory:  0.00GiB(0.00%)  "
         "\033[34mtps: 1  \033[36mtflops: 1.00  \033[35mmfu: 1.00%\033[39m\n"},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        char line[512];
        int n = tt_sink_line_format(&table[i].r, table[i].color, line, sizeof line);
        is_str(line, table[i].want, "step line %zu", i);
        is_int(n, (long long)strlen(table[i].want), "and its length");
    }
    char small[20];
    tt_sink_line_format(&table[0].r, 0, small, sizeof small);
    is_str(small, "step:  1  loss:  8.", "a small buffer is not overrun");
}

static void flops(void)
{
    /* published sizes of Llama 3; FLOPs per token at 2,048 and 8,192 tokens */
    static const struct {
        const char *name;
        tt_flops_opts o;
        long long at_2048, at_8192;
    } table[] = {
        {"debug", {6163712, 524288, 0, 6, 16, 16, 0}, 71585280, 184831488},
        {"1B", {1235814400, 262668288, 1, 16, 32, 64, 0}, 8220192768, 10636111872},
        {"3B", {3212749824, 394002432, 1, 28, 24, 128, 0}, 21390428160, 27732215808},
        {"8B", {8030261248, 525336576, 0, 32, 32, 128, 0}, 48250773504, 57914449920},
        {"70B", {70553706496, 1050673152, 0, 80, 64, 128, 0}, 433124327424, 481442709504},
        {"405B", {405853388800, 2101346304, 0, 126, 128, 128, 0}, 2473246556160, 2625449459712},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        tt_flops_opts o = table[i].o;
        o.seq_len = 2048;
        is_int(tt_flops_per_token(&o), table[i].at_2048, "%s at 2048", table[i].name);
        o.seq_len = 8192;
        is_int(tt_flops_per_token(&o), table[i].at_8192, "%s at 8192", table[i].name);
    }
    close_to(tt_flops_peak("NVIDIA H200"), 989e12, 0, "peak of an H200");
    close_to(tt_flops_peak("NVIDIA H20"), 148e12, 0, "of an H20");
    close_to(tt_flops_peak("NVIDIA H100 PCIe"), 756e12, 0, "of an H100 PCIe");
    close_to(tt_flops_peak("NVIDIA GB200"), 2500e12, 0, "of a GB200");
    close_to(tt_flops_peak("cpu"), 0, 0, "not known for a CPU");
    close_to(tt_flops_peak(NULL), 0, 0, "nor for none");
}

static void put(const char *path, const char *text)
{
    ok(tt_fs_write(path, text, strlen(text), &err) == TT_OK, "wrote %s", path);
}

static void usage(void)
{
    tt_usage u = tt_usage_read();
    ok(u.peak_bytes > 100000 && u.limit_bytes > u.peak_bytes, "this process: peak %lld of %lld", (long long)u.peak_bytes, (long long)u.limit_bytes);
    tt_fs_mkdirs(in("proc/self"), &err);
    tt_fs_mkdirs(in("sys/fs/cgroup/job/step"), &err);
    tt_fs_mkdirs(in("sys/fs/cgroup/memory/slurm"), &err);
    put(in("proc/self/status"), "Name:\tx\nVmHWM:\t    2048 kB\nVmRSS:\t 1 kB\n");
    put(in("proc/meminfo"), "MemTotal:       8000 kB\n");
    u = tt_usage_read_at(dir);
    is_int(u.peak_bytes, 2048 * 1024, "VmHWM");
    is_int(u.limit_bytes, 8000 * 1024, "no cgroup: the machine's memory");
    put(in("proc/self/cgroup"), "0::/job/step\n");
    put(in("sys/fs/cgroup/job/step/memory.max"), "max\n");
    put(in("sys/fs/cgroup/job/memory.max"), "4096000\n");
    is_int(tt_usage_read_at(dir).limit_bytes, 4096000, "the parent's limit, version 2");
    put(in("proc/self/cgroup"), "12:cpu:/x\n9:memory:/slurm\n");
    put(in("sys/fs/cgroup/memory/slurm/memory.limit_in_bytes"), "3000000\n");
    put(in("sys/fs/cgroup/memory/memory.limit_in_bytes"), "9223372036854771712\n");
    is_int(tt_usage_read_at(dir).limit_bytes, 3000000, "version 1");
}

/* Run steps first..last of a resumed run; loss = step + shift. */
static void run(const char *path, int64_t resume, int64_t last, double shift)
{
    tt_metrics *m = NULL;
    ok(tt_metrics_open(&(tt_metrics_opts){.fd = -1, .jsonl_path = path, .resume_step = resume}, &m, &err) == TT_OK, "opened %s", err.text);
    for (int64_t step = resume + 1; step <= last; step++)
        tt_metrics_step(m, &(tt_metrics_values){.step = step, .loss = (double)step + shift, .tokens = 10, .seconds = 1, .memory_bytes = 1, .memory_limit = 2}, &err);
    tt_metrics_close(&m);
}

/* Check that the file has steps 1..n once each and in order, losses shifted by `shift` after `from`. */
static void expect(const char *path, int64_t n, int64_t from, double shift)
{
    char *text = NULL, *save = NULL;
    int64_t step = 0, wrong = 0;
    ok(tt_fs_read(path, &text, NULL, &err) == TT_OK, "read back");
    for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
        json_t *root = json_loads(line, 0, NULL);
        double loss = json_number_value(json_object_get(root, "loss_metrics/global_avg_loss"));
        step++;
        wrong += json_integer_value(json_object_get(root, "step")) != step;
        wrong += loss != (double)step + (step > from ? shift : 0);
        json_decref(root);
    }
    ok(step == n && wrong == 0, "steps 1..%lld once each (%lld lines, %lld wrong)", (long long)n, (long long)step, (long long)wrong);
    free(text);
}

static void append(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_APPEND);
    if (fd < 0 || write(fd, text, strlen(text)) < 0 || close(fd) != 0)
        abort();
}

static void jsonl(void)
{
    char *text = NULL;
    const char *path = "no/such/folder/m.jsonl";
    tt_metrics *m = NULL;
    ok(tt_metrics_open(&(tt_metrics_opts){.fd = -1, .jsonl_path = path}, &m, &err) == TT_ERR_IO && !m, "a folder that is not there");
    is_str(err.text,
           "cannot open no/such/folder/m.jsonl: No such file or directory; check the path",
           "its text");

    char file[256], old[300];
    snprintf(file, sizeof file, "%s", in("m.jsonl"));
    snprintf(old, sizeof old, "%s.old", file);
    run(file, 0, 15, 0);
    expect(file, 15, 15, 0);
    append(file, "{\"step\": 16, \"loss_metrics/glo"); /* killed in a write */
    run(file, 10, 20, 100);
    expect(file, 20, 10, 100);
    run(file, 20, 22, 100);
    expect(file, 22, 10, 100);
    append(file, "{\"step\": 1"); /* torn so that more digits may be missing */
    run(file, 22, 22, 0);
    expect(file, 22, 10, 100);
    append(file, "{\"step\": 3}"); /* whole JSON without its newline is torn as well */
    run(file, 22, 23, 100);
    expect(file, 23, 10, 100);
    ok(!tt_fs_exists(old), "a resume moves nothing");
    run(file, 0, 3, 0);
    expect(file, 3, 3, 0);
    expect(old, 23, 10, 100);

    ok(tt_metrics_open(&(tt_metrics_opts){.fd = -1, .jsonl_path = file}, &m, &err) == TT_OK, "once more");
    ok(tt_metrics_step(m, &(tt_metrics_values){.step = 1, .loss = NAN, .loss_max = INFINITY, .grad_norm = 0.1, .lr = 8e-4, .tokens = 4096,
       .tokens_seen = 4096, .seconds = 2, .time = {[TT_TIME_DATA] = 0.5, [TT_TIME_OPTIMIZER] = 0.25, [TT_TIME_VALIDATION] = 1}, .memory_bytes = 1 << 30, .memory_limit = (int64_t)4 << 30}, &err) == TT_OK, "a step");
    tt_metrics_close(&m);
    ok(tt_fs_read(file, &text, NULL, &err) == TT_OK, "read back");
    is_str(text, "{\"step\": 1, \"loss_metrics/global_avg_loss\": null, \"loss_metrics/global_max_loss\": null, \"grad_norm\": 0.1, \"lr\": 0.0008, "
           "\"throughput(tps)\": 4096, \"tflops\": 0, \"mfu(%)\": null, \"time_metrics/end_to_end(s)\": 2, \"time_metrics/data_loading(s)\": 0.5, "
           "\"time_metrics/data_loading(%)\": 25, \"time_metrics/forward_backward(s)\": 0, \"time_metrics/communication(s)\": 0, "
           "\"time_metrics/optimizer(s)\": 0.25, \"time_metrics/checkpoint(s)\": 0, \"time_metrics/validation(s)\": 1, "
           "\"time_metrics/other(s)\": 0.25, \"memory/max_reserved(GiB)\": 1, \"memory/max_reserved(%)\": 25, \"n_tokens_seen\": 4096}\n", "the object");
    free(text);
}

static void windows(void)
{
    char path[256], *text = NULL;
    snprintf(path, sizeof path, "%s", in("lines"));
    int fd = open(path, O_WRONLY | O_CREAT, 0666);
    tt_metrics *m = NULL;
    ok(tt_metrics_open(&(tt_metrics_opts){.fd = fd, .color = -1, .log_freq = 5, .devices = 4, .flops_per_token = 1e9, .peak_flops = 1e12}, &m, &err) == TT_OK, "opened");
    for (int64_t step = 1; step <= 10; step++)
        tt_metrics_step(m, &(tt_metrics_values){.step = step, .loss = (double)step, .tokens = 4000, .seconds = step == 1 ? 2 : 1, .memory_bytes = 1 << 29,
                                                .memory_limit = 1 << 30}, &err);
    tt_metrics_close(&m);
    close(fd);
    ok(tt_fs_read(path, &text, NULL, &err) == TT_OK, "read back");
    is_str(text,
           "step:  1  loss:  1.00000  grad_norm:  0.0000  memory:  0.50GiB(50.00%)  tps: 500  tflops: 0.50  mfu: 50.00%\n"
           "step:  5  loss:  5.00000  grad_norm:  0.0000  memory:  0.50GiB(50.00%)  tps: 1,000  tflops: 1.00  mfu: 100.00%\n"
           "step: 10  loss: 10.00000  grad_norm:  0.0000  memory:  0.50GiB(50.00%)  tps: 1,000  tflops: 1.00  mfu: 100.00%\n",
           "step 1, then every fifth, per device and without colours in a file");
    free(text);
}

int main(void)
{
    if (!mkdtemp(dir))
        abort();
    lines();
    flops();
    usage();
    jsonl();
    windows();
    tt_fs_remove_all(dir, NULL);
    return done_testing();
}
