/* See safetensors.h: the reader. The header is parsed by jansson (strict UTF-8, duplicate keys refused), then each
 * tensor is checked alone, then all together in the order of their bytes. */
#include "convert/safetensors.h"
#include "convert/safetensors_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define HEADER_BYTES_MAX 100000000 /* the format's limit */

struct tt_safetensors {
    int fd;
    char *path;
    json_t *header;             /* owns all names */
    tt_safetensors_info *infos; /* in the order of their bytes */
    int n;
    int *by_name; /* infos sorted by name */
};

static const struct {
    const char *name;
    int bits;
} dtypes[] = {
    /* in the library's writing order */
    {"U64", 64},        {"I64", 64},        {"F64", 64},    {"C64", 64},    {"F32", 32},
    {"U32", 32},        {"I32", 32},        {"BF16", 16},   {"F16", 16},    {"U16", 16},
    {"I16", 16},        {"F8_E5M2FNUZ", 8}, {"F8_E4M3FNUZ", 8}, {"F8_E8M0", 8}, {"F8_E4M3", 8},
    {"F8_E5M2", 8},     {"I8", 8},          {"U8", 8},      {"F6_E3M2", 6}, {"F6_E2M3", 6},
    {"F4", 4},          {"BOOL", 8},
};

int tt_safetensors_order(const char *dtype)
{
    for (size_t i = 0; i < sizeof dtypes / sizeof dtypes[0]; i++)
        if (strcmp(dtype, dtypes[i].name) == 0)
            return (int)i;
    return -1;
}

int tt_safetensors_bits(const char *dtype, const char **static_name)
{
    int i = tt_safetensors_order(dtype);
    if (static_name)
        *static_name = i < 0 ? NULL : dtypes[i].name;
    return i < 0 ? 0 : dtypes[i].bits;
}

int64_t tt_safetensors_size(int bits, int ndim, const int64_t *shape)
{
    int64_t n = bits;
    int empty = 0;
    for (int d = 0; d < ndim; d++) {
        if (shape[d] == 0)
            empty = 1;
        else if (__builtin_mul_overflow(n, shape[d], &n))
            return -1;
    }
    if (empty)
        return 0;
    return n % 8 == 0 ? n / 8 : -1;
}

/* Read exactly n bytes at offset. */
static tt_status read_at(const tt_safetensors *file, void *dst, size_t n, int64_t offset, tt_error *err)
{
    size_t done = 0;
    while (done < n) {
        size_t want = n - done < (size_t)1 << 30 ? n - done : (size_t)1 << 30;
        ssize_t got = pread(file->fd, (char *)dst + done, want, offset + (int64_t)done);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return tt_fail(err, TT_ERR_IO, "reading %s at byte %lld: %s", file->path, (long long)offset,
                           strerror(errno));
        if (got == 0)
            return tt_fail(err, TT_ERR_IO, "reading %s: the file ended at byte %lld, inside a tensor; it became shorter "
                           "after it was opened, copy it again", file->path, (long long)(offset + (int64_t)done));
        done += (size_t)got;
    }
    return TT_OK;
}

/* Names are C strings here: write each escaped NUL as the text \u0000, that is double its backslash. The text has room for
 * one more byte per escape (see read_header). Returns the new length. */
static size_t spell_nul(char *text, size_t n, size_t room)
{
    for (size_t i = 0; i + 5 < n; i++) {
        if (text[i] != '\\')
            continue;
        if (memcmp(text + i, "\\u0000", 6) == 0 && n < room) {
            memmove(text + i + 1, text + i, n - i);
            n++;
        }
        i++; /* the character after a backslash is never the beginning of an escape */
    }
    return n;
}

static tt_status read_header(tt_safetensors *file, int64_t file_bytes, int64_t *data_begin, tt_error *err)
{
    tt_status st = TT_OK;
    char *text = NULL;
    unsigned char head[8];
    uint64_t n = 0;
    if (file_bytes < 8)
        return tt_fail(err, TT_ERR_DATA, "%s has %lld bytes; a safetensors file begins with 8 bytes of header length",
                       file->path, (long long)file_bytes);
    TT_TRY(read_at(file, head, 8, 0, err));
    for (int i = 7; i >= 0; i--)
        n = n << 8 | head[i];
    if (n > HEADER_BYTES_MAX || (int64_t)n > file_bytes - 8)
        return tt_fail(err, TT_ERR_DATA, "%s: header length %llu does not fit a file of %lld bytes (limit %d); the file is "
                       "cut or not safetensors, copy it again", file->path, (unsigned long long)n,
                       (long long)file_bytes, HEADER_BYTES_MAX);
    size_t room = (size_t)n + (size_t)n / 6 + 1;
    text = malloc(room);
    if (!text)
        return tt_fail(err, TT_ERR_NOMEM, "%s: no memory for a header of %llu bytes", file->path,
                       (unsigned long long)n);
    TT_TRY(read_at(file, text, (size_t)n, 8, err));
    if (n == 0 || text[0] != '{') {
        st = tt_fail(err, TT_ERR_DATA, "%s: the header must begin with '{'; the file is damaged or not safetensors",
                     file->path);
        goto out;
    }
    json_error_t json;
    file->header = json_loadb(text, spell_nul(text, (size_t)n, room), JSON_REJECT_DUPLICATES, &json);
    if (!file->header) {
        st = tt_fail(err, TT_ERR_DATA, "%s: the header is not valid JSON: %s (byte %d); the file is damaged, copy it again",
                     file->path, json.text, json.position);
        goto out;
    }
    *data_begin = 8 + (int64_t)n;
out:
    free(text);
    return st;
}

static tt_status check_metadata(const tt_safetensors *file, const json_t *meta, tt_error *err)
{
    const char *key;
    json_t *value;
    if (!json_is_object(meta))
        return tt_fail(err, TT_ERR_DATA, "%s: __metadata__ must be an object of strings", file->path);
    json_object_foreach((json_t *)meta, key, value)
        if (!json_is_string(value))
            return tt_fail(err, TT_ERR_DATA, "%s: __metadata__ key \"%.200s\" must have a string as its value", file->path,
                           key);
    return TT_OK;
}

/* One entry of the header. info->offset is still relative to the data. */
static tt_status parse_tensor(const tt_safetensors *file, const char *name, const json_t *entry,
                              tt_safetensors_info *info, tt_error *err)
{
    const json_t *dtype = json_object_get(entry, "dtype"), *shape = json_object_get(entry, "shape"),
                 *offsets = json_object_get(entry, "data_offsets");
    *info = (tt_safetensors_info){.name = name};
    if (!json_is_object(entry) || json_object_size(entry) != 3 || !json_is_string(dtype) || !json_is_array(shape) ||
        !json_is_array(offsets) || json_array_size(offsets) != 2)
        return tt_fail(err, TT_ERR_DATA, "%s: tensor \"%.200s\" must be an object of exactly dtype (string), shape (list) "
                       "and data_offsets (two numbers)", file->path, name);
    info->bits = tt_safetensors_bits(json_string_value(dtype), &info->dtype);
    if (!info->bits)
        return tt_fail(err, TT_ERR_DATA, "%s: tensor \"%.200s\" has the unknown dtype \"%.40s\"; known are F64 F32 F16 BF16 "
                       "F8_* F6_* F4 C64 I8..I64 U8..U64 BOOL", file->path, name, json_string_value(dtype));
    info->ndim = (int)json_array_size(shape);
    int64_t *dims = malloc(sizeof *dims * ((size_t)info->ndim + 1));
    if (!dims)
        return tt_fail(err, TT_ERR_NOMEM, "%s: no memory for the shape of \"%.200s\"", file->path, name);
    info->shape = dims;
    for (int d = 0; d < info->ndim; d++) {
        const json_t *dim = json_array_get(shape, (size_t)d);
        dims[d] = json_integer_value(dim);
        if (!json_is_integer(dim) || dims[d] < 0)
            return tt_fail(err, TT_ERR_DATA, "%s: tensor \"%.200s\": dim %d must be an integer >= 0", file->path, name, d);
    }
    const json_t *begin = json_array_get(offsets, 0), *end = json_array_get(offsets, 1);
    info->offset = json_integer_value(begin);
    info->bytes = json_integer_value(end) - info->offset;
    if (!json_is_integer(begin) || !json_is_integer(end) || info->offset < 0 || info->bytes < 0)
        return tt_fail(err, TT_ERR_DATA, "%s: tensor \"%.200s\": data_offsets must be two integers, 0 <= begin <= end",
                       file->path, name);
    int64_t size = tt_safetensors_size(info->bits, info->ndim, dims);
    if (size < 0)
        return tt_fail(err, TT_ERR_DATA, "%s: tensor \"%.200s\": its shape overflows or is no whole number of bytes in %s",
                       file->path, name, info->dtype);
    if (size != info->bytes)
        return tt_fail(err, TT_ERR_DATA, "%s: tensor \"%.200s\" spans %lld bytes but its shape and dtype %s need %lld",
                       file->path, name, (long long)info->bytes, info->dtype, (long long)size);
    return TT_OK;
}

static int by_offset(const void *a, const void *b)
{
    const tt_safetensors_info *x = a, *y = b;
    if (x->offset != y->offset)
        return x->offset < y->offset ? -1 : 1;
    if (x->bytes != y->bytes) /* an empty tensor comes before the one that begins at the same byte */
        return x->bytes < y->bytes ? -1 : 1;
    return strcmp(x->name, y->name);
}

static int by_name(const void *a, const void *b, void *infos)
{
    const tt_safetensors_info *all = infos;
    return strcmp(all[*(const int *)a].name, all[*(const int *)b].name);
}

/* No hole, no overlap, nothing left over. */
static tt_status check_cover(const tt_safetensors *file, int64_t data_bytes, tt_error *err)
{
    int64_t at = 0;
    for (int i = 0; i < file->n; i++) {
        const tt_safetensors_info *t = &file->infos[i];
        if (t->offset != at)
            return tt_fail(err, TT_ERR_DATA, "%s: tensor \"%.200s\" begins at byte %lld of the data, %lld expected: tensors "
                           "must follow each other without holes or overlap", file->path, t->name,
                           (long long)t->offset, (long long)at);
        if (t->bytes > data_bytes - at)
            return tt_fail(err, TT_ERR_DATA, "%s: tensor \"%.200s\" ends at byte %lld but the data has %lld; the file is cut, "
                           "copy it again", file->path, t->name, (long long)(at + t->bytes), (long long)data_bytes);
        at += t->bytes;
    }
    if (at != data_bytes)
        return tt_fail(err, TT_ERR_DATA, "%s: the tensors cover %lld of %lld bytes of data; the header and the file do not "
                       "belong together", file->path, (long long)at, (long long)data_bytes);
    return TT_OK;
}

static tt_status parse_header(tt_safetensors *file, int64_t data_begin, int64_t file_bytes, tt_error *err)
{
    tt_status st = TT_OK;
    const char *key;
    json_t *value;
    size_t n = json_object_size(file->header);
    file->infos = calloc(n + 1, sizeof *file->infos);
    file->by_name = calloc(n + 1, sizeof *file->by_name);
    if (!file->infos || !file->by_name)
        return tt_fail(err, TT_ERR_NOMEM, "%s: no memory for %zu tensors", file->path, n);
    json_object_foreach(file->header, key, value) {
        if (strcmp(key, "__metadata__") == 0)
            TT_TRY(check_metadata(file, value, err));
        else
            TT_TRY(parse_tensor(file, key, value, &file->infos[file->n++], err));
    }
    qsort(file->infos, (size_t)file->n, sizeof *file->infos, by_offset);
    TT_TRY(check_cover(file, file_bytes - data_begin, err));
    for (int i = 0; i < file->n; i++) {
        file->infos[i].offset += data_begin;
        file->by_name[i] = i;
    }
    qsort_r(file->by_name, (size_t)file->n, sizeof *file->by_name, by_name, file->infos);
out:
    return st;
}

tt_status tt_safetensors_open(const char *path, tt_safetensors **out, tt_error *err)
{
    tt_status st = TT_OK;
    struct stat info;
    int64_t data_begin = 0;
    tt_safetensors *file = calloc(1, sizeof *file);
    *out = NULL;
    if (!file)
        return tt_fail(err, TT_ERR_NOMEM, "opening %s: no memory", path);
    file->path = strdup(path);
    file->fd = open(path, O_RDONLY | O_CLOEXEC);
    if (file->fd < 0 || fstat(file->fd, &info) != 0) {
        st = tt_fail(err, TT_ERR_IO, "opening %s: %s", path, strerror(errno));
        goto out;
    }
    if (!S_ISREG(info.st_mode)) {
        st = tt_fail(err, TT_ERR_DATA, "%s is not a file; give a .safetensors file", path);
        goto out;
    }
    TT_TRY(read_header(file, info.st_size, &data_begin, err));
    TT_TRY(parse_header(file, data_begin, info.st_size, err));
    *out = file;
    file = NULL;
out:
    tt_safetensors_close(&file);
    return st;
}

void tt_safetensors_close(tt_safetensors **pointer)
{
    tt_safetensors *file = *pointer;
    if (!file)
        return;
    if (file->fd >= 0)
        close(file->fd);
    for (int i = 0; i < file->n; i++)
        free((void *)(uintptr_t)file->infos[i].shape);
    free(file->infos);
    free(file->by_name);
    json_decref(file->header);
    free(file->path);
    free(file);
    *pointer = NULL;
}

const char *tt_safetensors_path(const tt_safetensors *file)
{
    return file->path;
}

int tt_safetensors_n(const tt_safetensors *file)
{
    return file->n;
}

const tt_safetensors_info *tt_safetensors_at(const tt_safetensors *file, int i)
{
    return &file->infos[i];
}

const tt_safetensors_info *tt_safetensors_find(const tt_safetensors *file, const char *name)
{
    int lo = 0, hi = file->n;
    while (lo < hi) {
        int mid = lo + (hi - lo) / 2;
        const tt_safetensors_info *t = &file->infos[file->by_name[mid]];
        int c = strcmp(name, t->name);
        if (c == 0)
            return t;
        if (c < 0)
            hi = mid;
        else
            lo = mid + 1;
    }
    return NULL;
}

const char *tt_safetensors_metadata(const tt_safetensors *file, const char *key)
{
    return json_string_value(json_object_get(json_object_get(file->header, "__metadata__"), key));
}

tt_status tt_safetensors_read(const tt_safetensors *file, const char *name, void *dst, size_t bytes, tt_error *err)
{
    const tt_safetensors_info *t = tt_safetensors_find(file, name);
    if (!t)
        return tt_fail(err, TT_ERR_DATA, "%s has no tensor \"%.200s\"", file->path, name);
    if ((size_t)t->bytes != bytes)
        return tt_fail(err, TT_ERR_DATA, "%s: tensor \"%.200s\" has %lld bytes, the reader has room for %zu", file->path,
                       name, (long long)t->bytes, bytes);
    return read_at(file, dst, bytes, t->offset, err);
}

static float f16_to_f32(uint16_t h)
{
    uint32_t sign = (uint32_t)(h & 0x8000u) << 16, exponent = h >> 10 & 31u, fraction = h & 0x3ffu, u;
    float f;
    if (exponent == 0) { /* zero and subnormals: fraction * 2^-24, exact */
        f = (float)fraction * 0x1p-24f;
        memcpy(&u, &f, 4);
        u |= sign;
    } else {
        u = sign | (exponent == 31 ? 255u : exponent + 112u) << 23 | fraction << 13;
    }
    memcpy(&f, &u, 4);
    return f;
}

/* n elements of dtype at raw -> fp32. raw may be unaligned. */
static void widen(const char *dtype, const char *raw, int64_t n, float *dst)
{
    uint16_t half;
    double wide;
    if (strcmp(dtype, "F32") == 0)
        memcpy(dst, raw, (size_t)n * 4);
    else if (strcmp(dtype, "BF16") == 0)
        for (int64_t i = 0; i < n; i++) {
            memcpy(&half, raw + 2 * i, 2);
            dst[i] = tt_bf16_to_f32(half);
        }
    else if (strcmp(dtype, "F16") == 0)
        for (int64_t i = 0; i < n; i++) {
            memcpy(&half, raw + 2 * i, 2);
            dst[i] = f16_to_f32(half);
        }
    else
        for (int64_t i = 0; i < n; i++) {
            memcpy(&wide, raw + 8 * i, 8);
            dst[i] = (float)wide;
        }
}

tt_status tt_safetensors_read_f32(const tt_safetensors *file, const tt_safetensors_info *t, const tt_box *box,
                                  float *dst, const int64_t *pitch, tt_error *err)
{
    tt_status st = TT_OK;
    tt_box_walk walk;
    enum { PIECE = 1 << 18 }; /* elements converted at a time */
    if (strcmp(t->dtype, "F32") != 0 && strcmp(t->dtype, "BF16") != 0 && strcmp(t->dtype, "F16") != 0 &&
        strcmp(t->dtype, "F64") != 0)
        return tt_fail(err, TT_ERR_DTYPE, "%s: tensor \"%.200s\" is %s; weights are read from F32, BF16, F16 or F64. "
                       "Convert the folder to one of these first", file->path, t->name, t->dtype);
    if (box->ndim != t->ndim || !tt_box_inside(box, t->shape))
        return tt_fail(err, TT_ERR_SHAPE, "%s: the box asked for does not lie inside tensor \"%.200s\" of %d dims; the "
                       "model's shape and the file's differ", file->path, t->name, t->ndim);
    const int64_t zero[TT_MAX_DIMS] = {0};
    size_t size = (size_t)t->bits / 8;
    char *raw = malloc(PIECE * size);
    if (!raw)
        return tt_fail(err, TT_ERR_NOMEM, "%s: no memory for a read buffer", file->path);
    tt_box_walk_begin(&walk, box, zero, t->shape, box->start, pitch ? pitch : box->count);
    for (int64_t i = 0; i < walk.runs; i++, tt_box_walk_next(&walk))
        for (int64_t done = 0; done < walk.length; done += PIECE) {
            int64_t n = walk.length - done < PIECE ? walk.length - done : PIECE;
            TT_TRY(read_at(file, raw, (size_t)n * size, t->offset + (walk.at_a + done) * (int64_t)size, err));
            widen(t->dtype, raw, n, dst + walk.at_b + done);
        }
out:
    free(raw);
    return st;
}
