/* TensorBoard event files: TFRecords of protobuf Events with plain scalars; see sinks.h.
 *
 * The few fields used are written by hand (the wire format is a page long): Event{1 wall_time double, 2 step varint,
 * 3 file_version string, 5 summary{1 value{1 tag string, 2 simple_value float}}, 7 session_log{1 status}}. Each record goes
 * out in one write, so a crash can tear only the last one. */
#include "base/clock.h"
#include "base/fs.h"
#include "metrics/sinks.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { EVENT_MAX = 512 };

typedef struct buffer {
    unsigned char at[EVENT_MAX];
    size_t n;
} buffer;

/* CRC-32C (Castagnoli), and TFRecord's mask over it. */
static uint32_t masked_crc(const unsigned char *data, size_t n)
{
    uint32_t c = 0xffffffffu;
    for (size_t i = 0; i < n; i++) {
        c ^= data[i];
        for (int bit = 0; bit < 8; bit++)
            c = c >> 1 ^ (c & 1 ? 0x82f63b78u : 0);
    }
    c = ~c;
    return (c >> 15 | c << 17) + 0xa282ead8u;
}

static void put_bytes(buffer *b, const void *data, size_t n)
{
    if (b->n + n <= EVENT_MAX)
        memcpy(b->at + b->n, data, n);
    b->n += n;
}

static void put_varint(buffer *b, uint64_t x)
{
    unsigned char byte;
    do {
        byte = (unsigned char)((x & 0x7f) | (x > 0x7f ? 0x80 : 0));
        put_bytes(b, &byte, 1);
        x >>= 7;
    } while (x);
}

static void put_field(buffer *b, int number, const void *data, size_t n)
{
    put_varint(b, (uint64_t)number << 3 | 2);
    put_varint(b, n);
    put_bytes(b, data, n);
}

static void begin_event(buffer *b, double wall_time, int64_t step)
{
    b->n = 0;
    put_varint(b, 1 << 3 | 1);
    put_bytes(b, &wall_time, sizeof wall_time);
    if (step != 0) {
        put_varint(b, 2 << 3);
        put_varint(b, (uint64_t)step);
    }
}

static tt_status write_record(int fd, const char *path, const buffer *b, tt_error *err)
{
    unsigned char record[EVENT_MAX + 16];
    uint64_t length = b->n;
    if (b->n > EVENT_MAX)
        return tt_fail(err, TT_ERR_INTERNAL, "an event of %zu bytes", b->n);
    memcpy(record, &length, 8);
    uint32_t crc = masked_crc(record, 8);
    memcpy(record + 8, &crc, 4);
    memcpy(record + 12, b->at, b->n);
    crc = masked_crc(b->at, b->n);
    memcpy(record + 12 + b->n, &crc, 4);
    ssize_t got = write(fd, record, b->n + 16);
    if (got != (ssize_t)b->n + 16)
        return tt_fs_fail(err, "append to", path, got < 0 ? errno : ENOSPC);
    return TT_OK;
}

tt_status tt_sink_tensorboard_open(const char *dir, int64_t resume_step, int *fd, char **path, tt_error *err)
{
    char host[256] = "host";
    const double now = tt_clock_wall_s();
    buffer b;
    tt_status st = tt_fs_mkdirs(dir, err);
    *fd = -1;
    if (st != TT_OK)
        return st;
    gethostname(host, sizeof host - 1);
    if (asprintf(path, "%s/events.out.tfevents.%010lld.%s.%d.0", dir, (long long)now, host, (int)getpid()) < 0)
        return tt_fail(err, TT_ERR_NOMEM, "opening %s: out of memory", dir);
    *fd = open(*path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (*fd < 0)
        return tt_fs_fail(err, "open", *path, errno);
    begin_event(&b, now, 0);
    put_field(&b, 3, "brain.Event:2", 13);
    st = write_record(*fd, *path, &b, err);
    if (st == TT_OK && resume_step > 0) { /* readers then drop what a run before made of the steps from here on */
        const unsigned char started[] = {0x08, 0x01};
        begin_event(&b, now, resume_step + 1);
        put_field(&b, 7, started, sizeof started);
        st = write_record(*fd, *path, &b, err);
    }
    return st;
}

tt_status tt_sink_tensorboard_write(int fd, const char *path, int64_t step, const char *tag, double value, tt_error *err)
{
    buffer scalar = {.n = 0}, summary = {.n = 0}, event;
    const float x = (float)value;
    put_field(&scalar, 1, tag, strlen(tag));
    put_varint(&scalar, 2 << 3 | 5);
    put_bytes(&scalar, &x, sizeof x);
    put_field(&summary, 1, scalar.at, scalar.n);
    begin_event(&event, tt_clock_wall_s(), step);
    put_field(&event, 5, summary.at, summary.n);
    return write_record(fd, path, &event, err);
}
