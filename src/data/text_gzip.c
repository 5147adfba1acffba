/* Files in gzip form. The only file that includes zlib.h. Several members may follow each other, and zeros may pad the end, as gzip(1)
 * allows. Source: RFC 1952. */
#include "data/text_files_priv.h"

#include <stdlib.h>
#include <zlib.h>

typedef struct unpack {
    z_stream z;
    int inside; /* a member has begun and not ended */
    int members;
} unpack;

static tt_status gzip_open(const tt_text_raw *raw, void **self, tt_error *err)
{
    unpack *u = calloc(1, sizeof *u);
    *self = u;
    if (!u || inflateInit2(&u->z, 15 + 16) != Z_OK) {
        free(u);
        *self = NULL;
        return tt_fail(err, TT_ERR_NOMEM, "%s: no memory to unpack it", raw->path);
    }
    return TT_OK;
}

static void gzip_close(void *self)
{
    unpack *u = self;
    if (!u)
        return;
    inflateEnd(&u->z);
    free(u);
}

/* Between two members: *more is 1 when another one begins here. */
static tt_status next_member(unpack *u, tt_text_raw *raw, int *more, tt_error *err)
{
    tt_status st;
    TT_TRY(tt_text_raw_fill(raw, 2, err));
    *more = raw->n - raw->at >= 2 && raw->buffer[raw->at] == 0x1F && raw->buffer[raw->at + 1] == 0x8B;
    if (*more) {
        if (u->members++ > 0)
            inflateReset(&u->z);
        u->inside = 1;
        return TT_OK;
    }
    while (raw->n > raw->at) {
        for (; raw->at < raw->n; raw->at++)
            if (raw->buffer[raw->at] != 0)
                return tt_fail(err, TT_ERR_DATA, "%s: behind gzip member %d, at byte %lld, there is something that is no gzip; the "
                               "file is damaged: get it again", raw->path, u->members,
                               (long long)(raw->bytes - (int64_t)(raw->n - raw->at)));
        TT_TRY(tt_text_raw_fill(raw, 1, err));
    }
out:
    return st;
}

static tt_status gzip_read(void *self, tt_text_raw *raw, char *out, size_t room, size_t *got, tt_error *err)
{
    unpack *u = self;
    tt_status st = TT_OK;
    *got = 0;
    while (*got == 0) {
        int more = 1;
        if (!u->inside)
            TT_TRY(next_member(u, raw, &more, err));
        if (!more)
            break;
        TT_TRY(tt_text_raw_fill(raw, 1, err));
        if (raw->n == raw->at)
            return tt_fail(err, TT_ERR_DATA, "%s: the file ends inside gzip member %d, after %lld bytes; it is cut off: get it again",
                           raw->path, u->members, (long long)raw->bytes);
        const uInt most = (uInt)(room < (1u << 30) ? room : 1u << 30);
        u->z.next_in = raw->buffer + raw->at;
        u->z.avail_in = (uInt)(raw->n - raw->at);
        u->z.next_out = (Bytef *)out;
        u->z.avail_out = most;
        const int code = inflate(&u->z, Z_NO_FLUSH);
        raw->at = raw->n - u->z.avail_in;
        *got = most - u->z.avail_out;
        if (code == Z_STREAM_END)
            u->inside = 0;
        else if (code == Z_MEM_ERROR)
            return tt_fail(err, TT_ERR_NOMEM, "%s: no memory to unpack it", raw->path);
        else if (code != Z_OK && code != Z_BUF_ERROR)
            return tt_fail(err, TT_ERR_DATA, "%s: gzip member %d is damaged near byte %lld (%s); get the file again", raw->path,
                           u->members, (long long)(raw->bytes - (int64_t)(raw->n - raw->at)), u->z.msg ? u->z.msg : "no reason given");
    }
out:
    return st;
}

const tt_text_codec tt_text_gzip = {"gzip", gzip_open, gzip_read, gzip_close};
