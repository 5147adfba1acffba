/* Shared by the checkpoint tests: a scratch folder, small file tricks, and tensors whose elements name themselves. */
#ifndef TT_TESTS_CKPT_COMMON_H
#define TT_TESTS_CKPT_COMMON_H

#include "base/fs.h"
#include "ckpt/checkpoint.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* dir/name, valid until the fourth next call */
static inline const char *at(const char *dir, const char *name)
{
    static char paths[4][4096];
    static int next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", dir, name);
    return path;
}

static inline void put_file(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");
    if (!f || fputs(text, f) < 0 || fclose(f) != 0)
        abort();
}

/* Turn over one bit of the byte at `offset`. */
static inline void damage(const char *path, int64_t offset)
{
    unsigned char byte;
    int fd = open(path, O_RDWR);
    if (fd < 0 || pread(fd, &byte, 1, offset) != 1)
        abort();
    byte ^= 4;
    if (pwrite(fd, &byte, 1, offset) != 1 || close(fd) != 0)
        abort();
}

/* Value of a tensor's element with a given row-major index: fits all dtypes and differs between neighbours. */
static inline void set_value(void *element, tt_dtype dtype, int tensor, int64_t index)
{
    int64_t v = tensor * 37 + index * 3 + 1;
    float f = (float)(v % 30000) * 0.5f;
    uint16_t h = (uint16_t)(v % 65521);
    int32_t i = (int32_t)v;
    uint8_t u = (uint8_t)v;
    double d = (double)v / 3;
    switch (dtype) {
    case TT_F32: memcpy(element, &f, 4); break;
    case TT_BF16: case TT_F16: memcpy(element, &h, 2); break;
    case TT_F64: memcpy(element, &d, 8); break;
    case TT_I32: memcpy(element, &i, 4); break;
    case TT_I64: memcpy(element, &v, 8); break;
    default: memcpy(element, &u, 1);
    }
}

/* Walks the local elements of t's box: calls set_value or compares with it. Returns the number of wrong ones. */
static inline int64_t visit(tt_ckpt_tensor *t, int tensor, int check)
{
    int64_t index[TT_MAX_DIMS] = {0}, n = 1, wrong = 0;
    size_t size = tt_dtype_size(t->dtype);
    for (int d = 0; d < t->ndim; d++)
        n *= t->count[d];
    for (int64_t k = 0; k < n; k++) {
        int64_t local = 0, global = 0;
        for (int d = 0; d < t->ndim; d++) {
            local = local * t->pitch[d] + index[d];
            global = global * t->shape[d] + t->start[d] + index[d];
        }
        char value[8], *element = (char *)t->data + (size_t)local * size;
        set_value(value, t->dtype, tensor, global);
        if (!check)
            memcpy(element, value, size);
        else
            wrong += memcmp(element, value, size) != 0;
        for (int d = t->ndim - 1; d >= 0 && ++index[d] == t->count[d]; d--)
            index[d] = 0;
    }
    return wrong;
}

/* Memory for t's box with `pad` more in every dim, filled with 0xee; sets pitch and data. Caller frees data. */
static inline void give_memory(tt_ckpt_tensor *t, int64_t pad)
{
    int64_t n = 1;
    for (int d = 0; d < t->ndim; d++)
        n *= t->pitch[d] = t->count[d] + pad;
    size_t bytes = (size_t)n * tt_dtype_size(t->dtype);
    t->data = malloc(bytes + 1);
    memset(t->data, 0xee, bytes + 1);
}

/* Bytes of t's memory that are not padding-coloured: to see that the padding was left alone. */
static inline int64_t painted(const tt_ckpt_tensor *t)
{
    int64_t n = 1, painted = 0;
    for (int d = 0; d < t->ndim; d++)
        n *= t->pitch[d];
    for (int64_t i = 0; i < n * (int64_t)tt_dtype_size(t->dtype); i++)
        painted += ((unsigned char *)t->data)[i] != 0xee;
    return painted;
}

/* Range of part i of n of a dim, as even as ceil division gives: the last ones may be short or empty. */
static inline void cut(int64_t size, int n, int i, int64_t *start, int64_t *count)
{
    int64_t each = (size + n - 1) / n, s = each * i < size ? each * i : size, e = s + each < size ? s + each : size;
    *start = s;
    *count = e - s;
}

#endif
