/* See safetensors.h: the writer. The header is built first, so every byte's place is known before any data comes. */
#include "convert/safetensors.h"
#include "convert/safetensors_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

typedef struct slot {
    const tt_safetensors_spec *spec;
    int index, rank; /* place in the caller's list; place of its dtype */
} slot;

struct tt_safetensors_writer {
    char *path, *temporary;
    int fd, n;
    int64_t data_at, wanted, given; /* bytes of data */
    int64_t *begin, *bytes;         /* per tensor of the caller's list */
};

static int compare_slots(const void *a, const void *b)
{
    const slot *x = a, *y = b;
    return x->rank != y->rank ? x->rank - y->rank : strcmp(x->spec->name, y->spec->name);
}

static int compare_slot_names(const void *a, const void *b)
{
    return strcmp(((const slot *)a)->spec->name, ((const slot *)b)->spec->name);
}

/* JSON text of a name: raw UTF-8, only quotes, backslashes and controls escaped. */
static void put_name(FILE *out, const char *name)
{
    fputc('"', out);
    for (const unsigned char *p = (const unsigned char *)name; *p; p++) {
        const char *at = strchr("\"\\\b\f\n\r\t", *p);
        if (at)
            fprintf(out, "\\%c", "\"\\bfnrt"[at - "\"\\\b\f\n\r\t"]);
        else if (*p < 32)
            fprintf(out, "\\u%04x", *p);
        else
            fputc(*p, out);
    }
    fputc('"', out);
}

/* The header's text (malloc'd) for the sorted slots; fills begin and bytes. */
static char *make_header(tt_safetensors_writer *w, const slot *slots, size_t *length)
{
    char *text = NULL;
    FILE *out = open_memstream(&text, length);
    if (!out)
        return NULL;
    fputs("{\"__metadata__\":{\"format\":\"pt\"}", out);
    for (int i = 0; i < w->n; i++) {
        const tt_safetensors_spec *s = slots[i].spec;
        int64_t bytes = tt_st_bytes(s->dtype, s->ndim, s->shape);
        w->begin[slots[i].index] = w->wanted;
        w->bytes[slots[i].index] = bytes;
        fputc(',', out);
        put_name(out, s->name);
        fprintf(out, ":{\"dtype\":\"%s\",\"shape\":[", s->dtype);
        for (int d = 0; d < s->ndim; d++)
            fprintf(out, "%s%lld", d ? "," : "", (long long)s->shape[d]);
        fprintf(out, "],\"data_offsets\":[%lld,%lld]}", (long long)w->wanted, (long long)(w->wanted + bytes));
        w->wanted += bytes;
    }
    fputc('}', out);
    long end = ftell(out);
    for (; end % 8; end++)
        fputc(' ', out);
    if (fclose(out) != 0) {
        free(text);
        return NULL;
    }
    return text;
}

static tt_status check_specs(const char *path, slot *slots, const tt_safetensors_spec *tensors, int n, tt_error *err)
{
    for (int i = 0; i < n; i++) {
        const tt_safetensors_spec *s = &tensors[i];
        slots[i] = (slot){.spec = s, .index = i};
        json_t *text = json_string(s->name); /* NULL when it is not UTF-8 */
        int good = text && strcmp(s->name, "__metadata__") != 0;
        json_decref(text);
        if (!good || !tt_st_bits(s->dtype, &slots[i].rank) || tt_st_bytes(s->dtype, s->ndim, s->shape) < 0)
            return tt_fail(err, TT_ERR_DATA,
                           "writing %s: tensor \"%.200s\" of dtype \"%.40s\" has a name, dtype or "
                           "shape that the form cannot hold; use another --dtype",
                           path, s->name, s->dtype);
    }
    qsort(slots, (size_t)n, sizeof *slots, compare_slot_names);
    for (int i = 1; i < n; i++)
        if (compare_slot_names(&slots[i - 1], &slots[i]) == 0)
            return tt_fail(err, TT_ERR_DATA, "writing %s: tensor \"%.200s\" is given twice; write tied tensors once",
                           path, slots[i].spec->name);
    qsort(slots, (size_t)n, sizeof *slots, compare_slots);
    return TT_OK;
}

static tt_status write_at(tt_safetensors_writer *w, const void *data, int64_t bytes, int64_t at, tt_error *err)
{
    const char *p = data;
    while (bytes > 0) {
        size_t piece = bytes < (1 << 30) ? (size_t)bytes : (size_t)1 << 30;
        ssize_t got = pwrite(w->fd, p, piece, (off_t)at);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return tt_fail(
                err, TT_ERR_IO,
                "writing %s at byte %lld failed: %s; check the file system and its free space",
                w->temporary, (long long)at, strerror(got < 0 ? errno : ENOSPC));
        p += got;
        at += got;
        bytes -= got;
    }
    return TT_OK;
}

tt_status tt_safetensors_create(const char *path, const tt_safetensors_spec *tensors, int n,
                                tt_safetensors_writer **writer, tt_error *err)
{
    tt_status st = TT_OK;
    char *header = NULL;
    size_t length = 0;
    slot *slots = calloc((size_t)n + 1, sizeof *slots);
    tt_safetensors_writer *w = calloc(1, sizeof *w);
    *writer = NULL;
    if (w)
        *w = (tt_safetensors_writer){.fd = -1, .n = n, .path = strdup(path), .temporary = malloc(strlen(path) + 5),
                                     .begin = calloc((size_t)n + 1, 8), .bytes = calloc((size_t)n + 1, 8)};
    if (!slots || !w || !w->path || !w->temporary || !w->begin || !w->bytes) {
        st = tt_fail(err, TT_ERR_NOMEM, "writing %s: no memory for the list of %d tensors", path, n);
        goto out;
    }
    sprintf(w->temporary, "%s.tmp", path);
    TT_TRY(check_specs(path, slots, tensors, n, err));
    header = make_header(w, slots, &length);
    if (!header || length > TT_ST_HEADER_MAX) {
        st = tt_fail(err, TT_ERR_DATA, "writing %s: a header of %zu bytes is over the format's limit of %d; use more files",
                     path, length, TT_ST_HEADER_MAX);
        goto out;
    }
    w->fd = open(w->temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (w->fd < 0) {
        st = tt_fail(err, TT_ERR_IO, "cannot create %s: %s; check the folder and its permissions", w->temporary,
                     strerror(errno));
        goto out;
    }
    unsigned char prefix[8];
    for (int i = 0; i < 8; i++)
        prefix[i] = (unsigned char)((uint64_t)length >> 8 * i);
    w->data_at = 8 + (int64_t)length;
    TT_TRY(write_at(w, prefix, 8, 0, err));
    TT_TRY(write_at(w, header, (int64_t)length, 8, err));
out:
    free(header);
    free(slots);
    if (st != TT_OK)
        tt_safetensors_abandon(&w);
    *writer = w;
    return st;
}

tt_status tt_safetensors_put(tt_safetensors_writer *writer, int i, int64_t offset, const void *data, int64_t bytes,
                             tt_error *err)
{
    if (i < 0 || i >= writer->n || offset < 0 || bytes < 0 || offset > writer->bytes[i] - bytes)
        return tt_fail(
            err, TT_ERR_SHAPE,
            "writing %s: bytes %lld to %lld do not lie in tensor %d; write each row once",
            writer->path, (long long)offset, (long long)(offset + bytes), i);
    writer->given += bytes;
    return write_at(writer, data, bytes, writer->data_at + writer->begin[i] + offset, err);
}

tt_status tt_safetensors_finish(tt_safetensors_writer **writer, tt_error *err)
{
    tt_safetensors_writer *w = *writer;
    tt_status st = TT_OK;
    if (w->given != w->wanted) {
        st = tt_fail(err, TT_ERR_INTERNAL, "writing %s: %lld bytes of data were given, the header promises %lld", w->path,
                     (long long)w->given, (long long)w->wanted);
    } else if (fsync(w->fd) != 0 || rename(w->temporary, w->path) != 0) {
        st = tt_fail(err, TT_ERR_IO,
                     "finishing %s failed: %s; check the file system and its free space", w->path,
                     strerror(errno));
    } else {
        free(w->temporary);
        w->temporary = NULL; /* it has the final name now */
    }
    tt_safetensors_abandon(writer);
    return st;
}

void tt_safetensors_abandon(tt_safetensors_writer **writer)
{
    tt_safetensors_writer *w = *writer;
    if (!w)
        return;
    if (w->fd >= 0) {
        close(w->fd);
        if (w->temporary)
            unlink(w->temporary);
    }
    free(w->bytes);
    free(w->begin);
    free(w->temporary);
    free(w->path);
    free(w);
    *writer = NULL;
}
