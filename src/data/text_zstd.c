/* Files in zstd form. The only file that includes zstd.h. Several frames may follow each other, skippable ones among them, with windows
 * up to the format's 2^31 bytes (zstd --long=31); memory is the window that a frame declares. Source: RFC 8878. */
#include "data/text_files_priv.h"

#include <stdlib.h>
#include <zstd.h>
#include <zstd_errors.h>

typedef struct unpack {
    ZSTD_DCtx *z;
    size_t want; /* 0: between two frames */
} unpack;

static tt_status zstd_open(const tt_text_raw *raw, void **self, tt_error *err)
{
    unpack *u = calloc(1, sizeof *u);
    *self = u;
    if (u)
        u->z = ZSTD_createDCtx();
    if (!u || !u->z) {
        free(u);
        *self = NULL;
        return tt_fail(err, TT_ERR_NOMEM, "%s: no memory to unpack it", raw->path);
    }
    ZSTD_DCtx_setParameter(u->z, ZSTD_d_windowLogMax, sizeof(void *) == 4 ? 30 : 31);
    return TT_OK;
}

static void zstd_close(void *self)
{
    unpack *u = self;
    if (!u)
        return;
    ZSTD_freeDCtx(u->z);
    free(u);
}

static tt_status zstd_read(void *self, tt_text_raw *raw, char *out, size_t room, size_t *got, tt_error *err)
{
    unpack *u = self;
    tt_status st = TT_OK;
    *got = 0;
    while (*got == 0) {
        TT_TRY(tt_text_raw_fill(raw, 1, err));
        if (raw->n == raw->at && u->want == 0)
            break;
        ZSTD_inBuffer in = {raw->buffer + raw->at, raw->n - raw->at, 0};
        ZSTD_outBuffer to = {out, room, 0};
        const int ended = in.size == 0;
        u->want = ZSTD_decompressStream(u->z, &to, &in);
        if (ZSTD_isError(u->want) && ZSTD_getErrorCode(u->want) == ZSTD_error_memory_allocation)
            return tt_fail(err, TT_ERR_NOMEM, "%s: no memory for the window that its zstd frame declares (up to 2 GiB); pack it again "
                           "without --long", raw->path);
        if (ZSTD_isError(u->want))
            return tt_fail(err, TT_ERR_DATA, "%s: the zstd data is damaged near byte %lld (%s); get the file again", raw->path,
                           (long long)(raw->bytes - (int64_t)(raw->n - raw->at)), ZSTD_getErrorName(u->want));
        raw->at += in.pos;
        *got = to.pos;
        if (ended && *got == 0 && u->want != 0)
            return tt_fail(err, TT_ERR_DATA, "%s: the file ends inside a zstd frame, after %lld bytes; it is cut off: get it again",
                           raw->path, (long long)raw->bytes);
    }
out:
    return st;
}

const tt_text_codec tt_text_zstd = {"zstd", zstd_open, zstd_read, zstd_close};
