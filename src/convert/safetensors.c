/* See safetensors.h: the reader. */
#include "convert/safetensors.h"

#include "convert/safetensors_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

struct tt_safetensors {
    char *path;
    int fd;
    json_t *header; /* owns all names */
    int n;
    tt_safetensors_entry *entries;        /* in data order */
    const tt_safetensors_entry **by_name; /* sorted by name */
    int64_t *dims;                        /* all shapes, end to end */
    int64_t data_at, data_bytes;
};

/* ---- element types ---- */

static const struct {
    const char *name;
    int bits;
} types[] = {
    /* the common library's order of tensors; the two 6-bit types are not written by it and follow F4 */
    {"U64", 64},        {"I64", 64},        {"F64", 64},    {"C64", 64},    {"F32", 32},    {"U32", 32}, {"I32", 32},
    {"BF16", 16},       {"F16", 16},        {"U16", 16},    {"I16", 16},    {"F8_E5M2FNUZ", 8},
    {"F8_E4M3FNUZ", 8}, {"F8_E8M0", 8},     {"F8_E4M3", 8}, {"F8_E5M2", 8}, {"I8", 8},      {"U8", 8},   {"F4", 4},
    {"F6_E2M3", 6},     {"F6_E3M2", 6},     {"BOOL", 8},
};

int tt_st_bits(const char *dtype, int *rank)
{
    for (int i = 0; i < (int)(sizeof types / sizeof types[0]); i++)
        if (strcmp(types[i].name, dtype) == 0) {
            if (rank)
                *rank = i;
            return types[i].bits;
        }
    return 0;
}

int64_t tt_st_bytes(const char *dtype, int ndim, const int64_t *shape)
{
    int64_t bits = tt_st_bits(dtype, NULL);
    int zero = 0;
    if (bits == 0)
        return -1;
    for (int d = 0; d < ndim; d++) {
        /* a zero does not excuse the other extents: their product has to be sane as well */
        if (shape[d] < 0 || (shape[d] > 0 && __builtin_mul_overflow(bits, shape[d], &bits)))
            return -1;
        zero |= shape[d] == 0;
    }
    if (zero)
        return 0;
    return bits % 8 ? -1 : bits / 8;
}

int tt_safetensors_dtype(const char *dtype, tt_dtype *out)
{
    static const struct {
        const char *name;
        tt_dtype dtype;
    } map[] = {{"F32", TT_F32}, {"BF16", TT_BF16}, {"F64", TT_F64}, {"F16", TT_F16},
               {"I32", TT_I32}, {"I64", TT_I64},   {"U8", TT_U8}};
    for (size_t i = 0; i < sizeof map / sizeof map[0]; i++)
        if (strcmp(map[i].name, dtype) == 0) {
            *out = map[i].dtype;
            return 0;
        }
    return -1;
}

/* ---- open ---- */

static tt_status read_at(const tt_safetensors *f, void *dst, size_t bytes, int64_t at, tt_error *err)
{
    char *p = dst;
    while (bytes > 0) {
        size_t piece = bytes < ((size_t)1 << 30) ? bytes : (size_t)1 << 30;
        ssize_t got = pread(f->fd, p, piece, (off_t)at);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return tt_fail(err, TT_ERR_IO, "reading %s at byte %lld failed: %s", f->path, (long long)at,
                           strerror(errno));
        if (got == 0)
            return tt_fail(err, TT_ERR_DATA, "%s became shorter while it was read: it ends at byte %lld", f->path,
                           (long long)at);
        p += got;
        at += got;
        bytes -= (size_t)got;
    }
    return TT_OK;
}

/* Names are C strings here: an escaped NUL is spelled as the text \u0000, that is, its backslash is doubled. The text has
 * room for one more byte per escape. Returns the new length. */
static size_t spell_nul(char *text, size_t n)
{
    for (size_t i = 0; i + 5 < n; i++) {
        if (text[i] != '\\')
            continue;
        if (memcmp(text + i, "\\u0000", 6) == 0) {
            memmove(text + i + 1, text + i, n - i);
            n++;
        }
        i++; /* the character behind a backslash begins no escape */
    }
    return n;
}

/* The header as JSON, checked as far as jansson does not: its length and its first byte. */
static tt_status load_header(tt_safetensors *f, tt_error *err)
{
    struct stat sb;
    unsigned char length[8];
    char *text = NULL;
    tt_status st = TT_OK;

    if (fstat(f->fd, &sb) != 0)
        return tt_fail(err, TT_ERR_IO, "stat failed: %s", strerror(errno));
    if (!S_ISREG(sb.st_mode))
        return tt_fail(err, TT_ERR_DATA, "it is not a regular file");
    if (sb.st_size < 8)
        return tt_fail(err, TT_ERR_DATA, "it has %lld bytes; 8 hold the header's length", (long long)sb.st_size);
    TT_TRY(read_at(f, length, 8, 0, err));
    uint64_t n = 0;
    for (int i = 7; i >= 0; i--)
        n = n << 8 | length[i];
    if (n > TT_ST_HEADER_MAX || n > (uint64_t)sb.st_size - 8)
        return tt_fail(err, TT_ERR_DATA, "the header's length %llu is not possible: the file has %lld bytes, the limit is %d",
                       (unsigned long long)n, (long long)sb.st_size, TT_ST_HEADER_MAX);
    f->data_at = 8 + (int64_t)n;
    f->data_bytes = (int64_t)sb.st_size - f->data_at;
    text = malloc(n + n / 6 + 1);
    if (!text)
        return tt_fail(err, TT_ERR_NOMEM, "no memory for a header of %llu bytes", (unsigned long long)n);
    TT_TRY(read_at(f, text, n, 8, err));
    if (n < 2 || text[0] != '{') {
        st = tt_fail(err, TT_ERR_DATA, "the header does not begin with '{'");
        goto out;
    }
    json_error_t je;
    f->header = json_loadb(text, spell_nul(text, n), JSON_REJECT_DUPLICATES, &je);
    if (!f->header)
        st = tt_fail(err, TT_ERR_DATA, "the header is not valid JSON: %s (byte %d of the header)", je.text, je.position);
out:
    free(text);
    return st;
}

static tt_status check_metadata(const json_t *meta, tt_error *err)
{
    const char *key;
    json_t *value;
    if (!json_is_object(meta))
        return tt_fail(err, TT_ERR_DATA, "\"__metadata__\" is not an object");
    json_object_foreach((json_t *)meta, key, value)
        if (!json_is_string(value))
            return tt_fail(err, TT_ERR_DATA, "\"__metadata__\" key \"%.100s\" is not a string", key);
    return TT_OK;
}

/* One tensor's record into *e; its extents go to dims. */
static tt_status parse_entry(const char *name, const json_t *value, tt_safetensors_entry *e, int64_t *dims,
                             tt_error *err)
{
    const json_t *dtype = json_object_get(value, "dtype"), *shape = json_object_get(value, "shape");
    const json_t *offsets = json_object_get(value, "data_offsets");
    if (!json_is_object(value) || !json_is_string(dtype) || !json_is_array(shape) || !json_is_array(offsets))
        return tt_fail(err, TT_ERR_DATA, "tensor \"%.200s\" lacks a dtype (text), shape (list) or data_offsets (list)",
                       name);
    *e = (tt_safetensors_entry){.name = name, .ndim = (int)json_array_size(shape), .shape = dims};
    for (int d = 0; d < e->ndim; d++) {
        const json_t *dim = json_array_get(shape, (size_t)d);
        if (!json_is_integer(dim) || json_integer_value(dim) < 0)
            return tt_fail(err, TT_ERR_DATA, "tensor \"%.200s\": extent %d of its shape is not an integer >= 0", name, d);
        dims[d] = json_integer_value(dim);
    }
    const json_t *begin = json_array_get(offsets, 0), *end = json_array_get(offsets, 1);
    if (json_array_size(offsets) != 2 || !json_is_integer(begin) || !json_is_integer(end))
        return tt_fail(err, TT_ERR_DATA, "tensor \"%.200s\": data_offsets are not two integers", name);
    e->begin = json_integer_value(begin);
    e->end = json_integer_value(end);
    if (e->begin < 0 || e->end < e->begin)
        return tt_fail(err, TT_ERR_DATA, "tensor \"%.200s\": data_offsets [%lld, %lld] are not in order", name,
                       (long long)e->begin, (long long)e->end);
    e->dtype = json_string_value(dtype);
    if (tt_st_bits(e->dtype, NULL) == 0)
        return tt_fail(err, TT_ERR_DATA, "tensor \"%.200s\": dtype \"%.40s\" is not known (F32, BF16, F16, …)", name,
                       e->dtype);
    int64_t bytes = tt_st_bytes(e->dtype, e->ndim, e->shape);
    if (bytes != e->end - e->begin)
        return tt_fail(err, TT_ERR_DATA, "tensor \"%.200s\": data_offsets hold %lld bytes, shape and dtype %s need %lld",
                       name, (long long)(e->end - e->begin), e->dtype, (long long)bytes);
    return TT_OK;
}

static int compare_offsets(const void *a, const void *b)
{
    const tt_safetensors_entry *x = a, *y = b;
    if (x->begin != y->begin)
        return x->begin < y->begin ? -1 : 1;
    return x->end < y->end ? -1 : x->end > y->end; /* an empty tensor sits before the one that begins there */
}

static int compare_names(const void *a, const void *b)
{
    return strcmp((*(const tt_safetensors_entry *const *)a)->name, (*(const tt_safetensors_entry *const *)b)->name);
}

/* The tensors must tile the data: no hole, no overlap, no byte left. */
static tt_status check_tiling(const tt_safetensors *f, tt_error *err)
{
    int64_t at = 0;
    for (int i = 0; i < f->n; i++) {
        const tt_safetensors_entry *e = &f->entries[i];
        if (e->begin != at)
            return tt_fail(err, TT_ERR_DATA, "tensor \"%.200s\" begins at byte %lld of the data, it should begin at %lld",
                           e->name, (long long)e->begin, (long long)at);
        at = e->end;
    }
    if (at != f->data_bytes)
        return tt_fail(err, TT_ERR_DATA, "the tensors end at byte %lld of the data, which has %lld", (long long)at,
                       (long long)f->data_bytes);
    return TT_OK;
}

static tt_status parse_header(tt_safetensors *f, tt_error *err)
{
    const char *name;
    json_t *value;
    size_t n_dims = 0, n = json_object_size(f->header);
    tt_status st = TT_OK;

    json_object_foreach(f->header, name, value)
        n_dims += json_array_size(json_object_get(value, "shape"));
    f->entries = calloc(n + 1, sizeof *f->entries);
    f->by_name = calloc(n + 1, sizeof *f->by_name);
    f->dims = calloc(n_dims + 1, sizeof *f->dims);
    if (!f->entries || !f->by_name || !f->dims)
        return tt_fail(err, TT_ERR_NOMEM, "no memory for the list of %zu tensors", n);
    n_dims = 0;
    json_object_foreach(f->header, name, value) {
        if (strcmp(name, "__metadata__") == 0) {
            TT_TRY(check_metadata(value, err));
            continue;
        }
        TT_TRY(parse_entry(name, value, &f->entries[f->n], f->dims + n_dims, err));
        n_dims += (size_t)f->entries[f->n].ndim;
        f->n++;
    }
    qsort(f->entries, (size_t)f->n, sizeof *f->entries, compare_offsets);
    for (int i = 0; i < f->n; i++)
        f->by_name[i] = &f->entries[i];
    qsort(f->by_name, (size_t)f->n, sizeof *f->by_name, compare_names);
    TT_TRY(check_tiling(f, err));
out:
    return st;
}

tt_status tt_safetensors_open(const char *path, tt_safetensors **file, tt_error *err)
{
    tt_status st = TT_OK;
    *file = NULL;
    tt_safetensors *f = calloc(1, sizeof *f);
    if (!f || !(f->path = strdup(path))) {
        free(f);
        return tt_fail(err, TT_ERR_NOMEM, "opening %s: out of memory", path);
    }
    f->fd = open(path, O_RDONLY | O_CLOEXEC);
    if (f->fd < 0) {
        st = tt_fail(err, TT_ERR_IO, "cannot open safetensors file %s: %s; check the path", path, strerror(errno));
        goto out;
    }
    st = load_header(f, err);
    if (st == TT_OK)
        st = parse_header(f, err);
    if (st != TT_OK)
        tt_fail_context(err, st, "%s is not a sound safetensors file (fetch or export it again)", path);
out:
    if (st != TT_OK)
        tt_safetensors_close(&f);
    *file = f;
    return st;
}

void tt_safetensors_close(tt_safetensors **file)
{
    tt_safetensors *f = *file;
    if (!f)
        return;
    if (f->fd >= 0)
        close(f->fd);
    json_decref(f->header);
    free(f->dims);
    free(f->by_name);
    free(f->entries);
    free(f->path);
    free(f);
    *file = NULL;
}

/* ---- look up and read ---- */

const char *tt_safetensors_path(const tt_safetensors *file) { return file->path; }

int tt_safetensors_count(const tt_safetensors *file) { return file->n; }

const tt_safetensors_entry *tt_safetensors_at(const tt_safetensors *file, int i) { return &file->entries[i]; }

const tt_safetensors_entry *tt_safetensors_find(const tt_safetensors *file, const char *name)
{
    tt_safetensors_entry key = {.name = name};
    const tt_safetensors_entry *k = &key;
    const tt_safetensors_entry **hit =
        bsearch(&k, file->by_name, (size_t)file->n, sizeof *file->by_name, compare_names);
    return hit ? *hit : NULL;
}

const char *tt_safetensors_metadata(const tt_safetensors *file, const char *key)
{
    return json_string_value(json_object_get(json_object_get(file->header, "__metadata__"), key));
}

static tt_status must_find(const tt_safetensors *file, const char *name, const tt_safetensors_entry **e, tt_error *err)
{
    *e = tt_safetensors_find(file, name);
    if (!*e)
        return tt_fail(err, TT_ERR_DATA, "tensor %s is not in %s, which has %d others; check the file or the name", name,
                       file->path, file->n);
    return TT_OK;
}

tt_status tt_safetensors_read(const tt_safetensors *file, const char *name, void *dst, size_t bytes, tt_error *err)
{
    const tt_safetensors_entry *e;
    tt_status st = must_find(file, name, &e, err);
    if (st != TT_OK)
        return st;
    if ((int64_t)bytes != e->end - e->begin)
        return tt_fail(err, TT_ERR_SHAPE, "tensor %s of %s has %lld bytes, the caller expects %zu", name, file->path,
                       (long long)(e->end - e->begin), bytes);
    return read_at(file, dst, bytes, file->data_at + e->begin, err);
}

float tt_f16_to_f32(uint16_t h)
{
    uint32_t sign = (uint32_t)(h & 0x8000u) << 16, exponent = h >> 10 & 31u, fraction = h & 1023u, u;
    float f;
    if (exponent == 0) {
        f = ldexpf((float)fraction, -24); /* zero and subnormals */
        memcpy(&u, &f, 4);
        u |= sign;
    } else {
        u = sign | (exponent == 31 ? 0x7f800000u : (exponent + 112u) << 23) | fraction << 13;
    }
    memcpy(&f, &u, 4);
    return f;
}

/* n little-endian elements of type t from src to fp32. */
static void widen(float *dst, const char *src, tt_dtype t, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        uint16_t h;
        double d;
        if (t == TT_F64) {
            memcpy(&d, src + 8 * i, 8);
            dst[i] = (float)d;
        } else {
            memcpy(&h, src + 2 * i, 2);
            dst[i] = t == TT_BF16 ? tt_bf16_to_f32(h) : tt_f16_to_f32(h);
        }
    }
}

/* n elements that follow one another in the file, as fp32. */
static tt_status read_run(const tt_safetensors *f, tt_dtype t, int64_t at, int64_t n, float *dst, tt_error *err)
{
    char buffer[1 << 16];
    int64_t size = (int64_t)tt_dtype_size(t), most = (int64_t)sizeof buffer / size;
    tt_status st = TT_OK;
    if (t == TT_F32)
        return read_at(f, dst, (size_t)n * 4, at, err);
    while (n > 0) {
        int64_t piece = n < most ? n : most;
        TT_TRY(read_at(f, buffer, (size_t)(piece * size), at, err));
        widen(dst, buffer, t, piece);
        dst += piece;
        at += piece * size;
        n -= piece;
    }
out:
    return st;
}

tt_status tt_safetensors_read_box(const tt_safetensors *file, const char *name, const tt_box *box, float *dst,
                                  const int64_t *pitch, tt_error *err)
{
    static const int64_t origin[TT_MAX_DIMS] = {0};
    const tt_safetensors_entry *e;
    tt_dtype t;
    tt_status st = must_find(file, name, &e, err);
    if (st != TT_OK)
        return st;
    if (tt_safetensors_dtype(e->dtype, &t) != 0 || (t != TT_F32 && t != TT_BF16 && t != TT_F16 && t != TT_F64))
        return tt_fail(err, TT_ERR_DTYPE, "tensor %s of %s has dtype %s, which is not read as weights; F32, BF16, F16 and F64 are",
                       name, file->path, e->dtype);
    if (e->ndim != box->ndim || !tt_box_inside(box, e->shape))
        return tt_fail(err, TT_ERR_SHAPE, "tensor %s of %s (%d dims, first %lld) does not hold the wanted box (%d dims, first from %lld, %lld long); check the model's sizes",
                       name, file->path, e->ndim, e->ndim ? (long long)e->shape[0] : 1LL, box->ndim,
                       box->ndim ? (long long)box->start[0] : 0LL, box->ndim ? (long long)box->count[0] : 1LL);
    tt_box_walk w;
    tt_box_walk_begin(&w, box, box->start, pitch, origin, e->shape);
    for (int64_t i = 0; i < w.runs; i++, tt_box_walk_next(&w))
        TT_TRY(read_run(file, t, file->data_at + e->begin + w.at_b * (int64_t)tt_dtype_size(t), w.length,
                        dst + w.at_a, err));
out:
    return st;
}
