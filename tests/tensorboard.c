/* Event files: what is written reads back record by record with right checksums, as TensorBoard's reader demands. */
#include "base/fs.h"
#include "metrics/metrics.h"
#include "metrics/sinks.h"
#include "tap.h"

#include <dirent.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* CRC-32C by table, apart from the writer's. */
static uint32_t crc32c(const unsigned char *data, size_t n)
{
    static uint32_t table[256];
    for (uint32_t i = 0; i < 256 && !table[255]; i++) {
        uint32_t c = i;
        for (int k = 0; k < 8; k++)
            c = c & 1 ? c >> 1 ^ 0x82f63b78u : c >> 1;
        table[i] = c;
    }
    uint32_t c = 0xffffffffu;
    for (size_t i = 0; i < n; i++)
        c = c >> 8 ^ table[(c ^ data[i]) & 255];
    return ~c;
}

static uint32_t mask(uint32_t c)
{
    return (c >> 15 | c << 17) + 0xa282ead8u;
}

typedef struct events {
    char *data;
    size_t size, at;
} events;

/* The next record's data, NULL at the end or when it is damaged (then *bad = 1). */
static const unsigned char *next(events *e, uint64_t *n, int *bad)
{
    const unsigned char *p = (const unsigned char *)e->data + e->at;
    uint32_t head, tail;
    if (e->at == e->size)
        return NULL;
    *bad = 1;
    if (e->size - e->at < 16)
        return NULL;
    memcpy(n, p, 8);
    memcpy(&head, p + 8, 4);
    if (head != mask(crc32c(p, 8)) || *n > e->size - e->at - 16)
        return NULL;
    memcpy(&tail, p + 12 + *n, 4);
    if (tail != mask(crc32c(p + 12, *n)))
        return NULL;
    *bad = 0;
    e->at += *n + 16;
    return p + 12;
}

static char *only_file(const char *dir)
{
    DIR *d = opendir(dir);
    char *path = NULL;
    for (struct dirent *e; d && (e = readdir(d));)
        if (strstr(e->d_name, "tfevents")) {
            free(path);
            path = tt_fs_join(dir, e->d_name);
        }
    if (d)
        closedir(d);
    return path;
}

static void run(const char *dir, int64_t resume, int64_t from, int64_t to)
{
    tt_error err = {0};
    tt_metrics *m = NULL;
    ok(tt_metrics_open(&(tt_metrics_opts){.fd = -1, .log_freq = 1, .tensorboard_dir = dir, .resume_step = resume}, &m,
                       &err) == TT_OK, "opened %s", err.text);
    for (int64_t s = from; m && s <= to; s++)
        ok(tt_metrics_step(m, &(tt_metrics_values){.step = s, .loss = 1.5, .loss_max = 2, .grad_norm = NAN, .tokens = 10,
                                                   .seconds = 1}, &err) == TT_OK, "step %lld", (long long)s);
    ok(m && tt_metrics_validation(m, to, 0.25, &err) == TT_OK, "a validation");
    tt_metrics_close(&m);
}

/* 1 when data holds these bytes after the time stamp. */
static int holds(const unsigned char *data, uint64_t n, const char *bytes, size_t length)
{
    return data && n == 9 + length && data[0] == 0x09 && !memcmp(data + 9, bytes, length);
}

/* A plain scalar's event: step, tag, value; 0 when the record is something else. */
static int plain_scalar(const unsigned char *d, uint64_t n, int64_t *step, char tag[128], float *value)
{
    uint64_t at = 10, s = 0;
    if (n < 20 || n > 120 || d[0] != 0x09 || d[9] != 0x10)
        return 0;
    for (int shift = 0; shift < 64; shift += 7, at++) {
        s |= (uint64_t)(d[at] & 0x7f) << shift;
        if (!(d[at] & 0x80))
            break;
    }
    at++;
    /* 5 summary {1 value {1 tag, 2 simple_value}}, and nothing more */
    if (d[at] != 0x2a || d[at + 1] != n - at - 2 || d[at + 2] != 0x0a || d[at + 3] != n - at - 4 || d[at + 4] != 0x0a)
        return 0;
    const uint64_t length = d[at + 5];
    if (at + 6 + length + 5 != n || d[at + 6 + length] != 0x15)
        return 0;
    *step = (int64_t)s;
    snprintf(tag, 128, "%.*s", (int)length, (const char *)d + at + 6);
    memcpy(value, d + n - 4, 4);
    return 1;
}

/* What the reference's writer wrote, written by us: the same bytes but for the time. */
static void golden(const char *dir)
{
    static const char name[] = "/tests/golden/tensorboard/events.out.tfevents.1700000000.host.1.0";
    const char *root = getenv("top_srcdir");
    char theirs[4096], tag[128], *ours = NULL;
    tt_error err = {0};
    events a = {0}, b = {0};
    uint64_t n, m;
    int bad = 0, bad_ours = 0, fd = -1, scalars = 0, differ = 0;
    snprintf(theirs, sizeof theirs, "%s%s", root ? root : ".", name);
    if (!ok(tt_fs_read(theirs, &a.data, &a.size, &err) == TT_OK, "the golden file %s", err.text) ||
        !ok(tt_sink_tensorboard_open(dir, 0, &fd, &ours, &err) == TT_OK, "an event file"))
        return;
    for (int again = 0; again < 2; again++) {
        int64_t step;
        float value;
        if (again) {
            close(fd);
            ok(tt_fs_read(ours, &b.data, &b.size, &err) == TT_OK, "read back");
            next(&b, &m, &bad_ours); /* the version */
        }
        a.at = 0;
        for (const unsigned char *d; (d = next(&a, &n, &bad));) {
            if (!plain_scalar(d, n, &step, tag, &value))
                continue;
            if (!again) {
                differ += tt_sink_tensorboard_write(fd, ours, step, tag, (double)value, &err) != TT_OK;
                continue;
            }
            const unsigned char *mine = next(&b, &m, &bad_ours);
            scalars++;
            const int same = mine && m == n && !memcmp(mine + 9, d + 9, n - 9);
            if (!same)
                diag("%s at step %lld", tag, (long long)step);
            differ += !same;
        }
    }
    ok(!bad && !bad_ours && b.at == b.size, "both have good checksums to the end");
    ok(scalars > 90 && differ == 0, "%d scalars, %d differ from the reference's bytes", scalars, differ);
    free(a.data);
    free(b.data);
    free(ours);
}

int main(void)
{
    tt_error err = {0};
    char dir[] = "/tmp/titan-tb-XXXXXX";
    uint64_t n = 0;
    int bad = 0, records = 0;
    events e = {0};
    is_int(crc32c((const unsigned char *)"123456789", 9), 0xe3069283, "the checksum's check value");
    if (!mkdtemp(dir))
        return 1;
    char *first = tt_fs_join(dir, "one");
    run(first, 0, 1, 2);
    char *path = only_file(first);
    ok(path && tt_fs_read(path, &e.data, &e.size, &err) == TT_OK, "one event file");
    const unsigned char *data = next(&e, &n, &bad);
    ok(holds(data, n, "\x1a\x0d" "brain.Event:2", 15), "it begins with the version");
    data = next(&e, &n, &bad);
    ok(holds(data, n, "\x10\x01\x2a\x25\x0a\x23\x0a\x1c" "loss_metrics/global_avg_loss" "\x15\x00\x00\xc0\x3f", 41),
       "then the loss of step 1, as a plain scalar");
    for (records = 2; next(&e, &n, &bad);)
        records++;
    ok(!bad && records == 1 + 2 * 18 + 1, "%d records, each with its checksums (mfu is not known: no curve)", records);
    free(e.data);
    free(path);

    char *second = tt_fs_join(dir, "two");
    e = (events){0};
    run(second, 300, 301, 301);
    path = only_file(second);
    ok(path && tt_fs_read(path, &e.data, &e.size, &err) == TT_OK, "a resumed run's file");
    next(&e, &n, &bad);
    data = next(&e, &n, &bad);
    ok(holds(data, n, "\x10\xad\x02\x3a\x02\x08\x01", 7), "it tells readers to drop what was from step 301 on");
    free(e.data);
    free(path);
    free(first);
    free(second);
    char *third = tt_fs_join(dir, "golden");
    golden(third);
    free(third);
    tt_metrics *m = NULL;
    ok(tt_metrics_open(&(tt_metrics_opts){.fd = -1, .tensorboard_dir = "/proc/none/tb"}, &m, &err) == TT_ERR_IO,
       "a folder that cannot be made: %s", err.text);
    tt_fs_remove_all(dir, &err);
    return done_testing();
}
