/* See safetensors.h: the writer, whose files equal the reference library's byte for byte (with one metadata key). */
#include "convert/safetensors.h"
#include "convert/safetensors_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* A string as JSON: raw UTF-8, only '"', '\' and controls escaped. */
static void put_string(FILE *out, const char *s)
{
    static const char plain[] = "btn?fr"; /* \b \t \n (\v has none) \f \r */
    fputc('"', out);
    for (; *s; s++) {
        unsigned char c = (unsigned char)*s;
        if (c == '"' || c == '\\')
            fprintf(out, "\\%c", c);
        else if (c >= 8 && c <= 13 && c != 11)
            fprintf(out, "\\%c", plain[c - 8]);
        else if (c < 0x20)
            fprintf(out, "\\u%04x", c);
        else
            fputc(c, out);
    }
    fputc('"', out);
}

static int canonical(const void *a, const void *b)
{
    const tt_safetensors_item *x = *(const tt_safetensors_item *const *)a, *y = *(const tt_safetensors_item *const *)b;
    int c = tt_safetensors_order(x->dtype) - tt_safetensors_order(y->dtype);
    return c ? c : strcmp(x->name, y->name);
}

static int names(const void *a, const void *b)
{
    return strcmp((*(const tt_safetensors_item *const *)a)->name, (*(const tt_safetensors_item *const *)b)->name);
}

static tt_status check_items(const char *path, const tt_safetensors_item **order, int n, tt_error *err)
{
    for (int i = 0; i < n; i++) {
        int bits = tt_safetensors_bits(order[i]->dtype, NULL);
        if (!bits)
            return tt_fail(err, TT_ERR_DTYPE, "writing %s: tensor \"%.200s\" has dtype \"%.40s\", which safetensors does not "
                           "know", path, order[i]->name, order[i]->dtype);
        if (tt_safetensors_size(bits, order[i]->ndim, order[i]->shape) < 0)
            return tt_fail(err, TT_ERR_SHAPE, "writing %s: the shape of tensor \"%.200s\" overflows or is no whole number of "
                           "bytes", path, order[i]->name);
    }
    qsort(order, (size_t)n, sizeof *order, names);
    for (int i = 0; i < n; i++)
        if (strcmp(order[i]->name, "__metadata__") == 0 || (i && strcmp(order[i]->name, order[i - 1]->name) == 0))
            return tt_fail(err, TT_ERR_DATA, "writing %s: the tensor name \"%.200s\" is given twice or reserved; names must "
                           "be unique", path, order[i]->name);
    qsort(order, (size_t)n, sizeof *order, canonical);
    return TT_OK;
}

static int64_t item_bytes(const tt_safetensors_item *item)
{
    return tt_safetensors_size(tt_safetensors_bits(item->dtype, NULL), item->ndim, item->shape);
}

static void put_header(FILE *out, const tt_safetensors_item *const *order, int n, const char *const *metadata,
                       int n_metadata)
{
    int64_t at = 0;
    const char *comma = "";
    fputc('{', out);
    for (int i = 0; i < n_metadata; i++) {
        fputs(i ? "," : "\"__metadata__\":{", out);
        put_string(out, metadata[2 * i]);
        fputc(':', out);
        put_string(out, metadata[2 * i + 1]);
        comma = "},";
    }
    for (int i = 0; i < n; i++) {
        int64_t bytes = item_bytes(order[i]);
        fputs(comma, out);
        comma = ",";
        put_string(out, order[i]->name);
        fprintf(out, ":{\"dtype\":\"%s\",\"shape\":[", order[i]->dtype);
        for (int d = 0; d < order[i]->ndim; d++)
            fprintf(out, "%s%lld", d ? "," : "", (long long)order[i]->shape[d]);
        fprintf(out, "],\"data_offsets\":[%lld,%lld]}", (long long)at, (long long)(at + bytes));
        at += bytes;
    }
    fputs(n == 0 && n_metadata > 0 ? "}}" : "}", out);
}

static int put_file(FILE *out, const char *header, size_t header_bytes, const tt_safetensors_item *const *order, int n)
{
    size_t padded = (header_bytes + 7) / 8 * 8;
    unsigned char head[8];
    for (int i = 0; i < 8; i++)
        head[i] = (unsigned char)((uint64_t)padded >> 8 * i);
    if (fwrite(head, 1, 8, out) != 8 || fwrite(header, 1, header_bytes, out) != header_bytes)
        return -1;
    for (size_t i = header_bytes; i < padded; i++)
        if (fputc(' ', out) == EOF)
            return -1;
    for (int i = 0; i < n; i++) {
        size_t bytes = (size_t)item_bytes(order[i]);
        if (bytes && fwrite(order[i]->data, 1, bytes, out) != bytes)
            return -1;
    }
    return fflush(out) == 0 && fsync(fileno(out)) == 0 ? 0 : -1;
}

tt_status tt_safetensors_write(const char *path, const tt_safetensors_item *items, int n, const char *const *metadata,
                               int n_metadata, tt_error *err)
{
    tt_status st = TT_OK;
    char temporary[PATH_MAX], *header = NULL;
    size_t header_bytes = 0;
    FILE *text = NULL, *out = NULL;
    const tt_safetensors_item **order = malloc(sizeof *order * ((size_t)n + 1));
    if (!order)
        return tt_fail(err, TT_ERR_NOMEM, "writing %s: no memory for %d names", path, n);
    for (int i = 0; i < n; i++)
        order[i] = &items[i];
    TT_TRY(check_items(path, order, n, err));
    text = open_memstream(&header, &header_bytes);
    if (text)
        put_header(text, order, n, metadata, n_metadata);
    if (!text || fclose(text) != 0) {
        st = tt_fail(err, TT_ERR_NOMEM, "writing %s: no memory for the header", path);
        goto out;
    }
    if (snprintf(temporary, sizeof temporary, "%s.tmp", path) >= (int)sizeof temporary) {
        st = tt_fail(err, TT_ERR_IO, "writing %.200s…: the path is longer than %d characters", path, PATH_MAX - 5);
        goto out;
    }
    out = fopen(temporary, "wb");
    int failed = !out || put_file(out, header, header_bytes, order, n) != 0;
    int why = errno;
    if (out && fclose(out) != 0 && !failed) {
        failed = 1;
        why = errno;
    }
    if (!failed && rename(temporary, path) != 0) {
        failed = 1;
        why = errno;
    }
    if (failed) {
        if (out)
            unlink(temporary);
        st = tt_fail(err, TT_ERR_IO, "writing %s: %s; free space or choose another folder", path, strerror(why));
    }
out:
    free(header);
    free(order);
    return st;
}
