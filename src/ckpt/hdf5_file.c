/* See hdf5_file.h.
 *
 * HDF5 1.10 crashes some time after a disk was full under it. So it never meets a disk here: it works on a sparse file in
 * memory, whose few written pages are then copied to the real file, where an error is only an error. */
#include "ckpt/hdf5_file.h"

#include "base/fs.h"

#include <errno.h>
#include <fcntl.h>
#include <hdf5.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#define RECORD_BYTES_MAX ((int64_t)4096) /* of HDF5's own for one dataset; generous */

/* The innermost message of the library's error stack. */
static herr_t keep_message(unsigned n, const H5E_error2_t *entry, void *text)
{
    (void)n;
    if (entry->desc && *entry->desc)
        snprintf(text, 256, "%s", entry->desc);
    return 0;
}

static tt_status fail(tt_error *err, const char *what, const char *path)
{
    char text[256] = "no reason given";
    H5Ewalk2(H5E_DEFAULT, H5E_WALK_DOWNWARD, keep_message, text);
    return tt_fail(err, TT_ERR_IO, "HDF5 cannot %s in %s: %s; check the file system and its free space", what, path, text);
}

/* IEEE-like float of 16 bits. The order of the calls matters: fields have to fit the size before it shrinks. */
static hid_t half_type(size_t exponent_bits, size_t fraction_bits, size_t bias)
{
    hid_t t = H5Tcopy(H5T_IEEE_F32LE);
    if (t < 0 || H5Tset_fields(t, 15, fraction_bits, exponent_bits, 0, fraction_bits) < 0 || H5Tset_size(t, 2) < 0 ||
        H5Tset_precision(t, 16) < 0 || H5Tset_ebias(t, bias) < 0)
        return -1;
    return t;
}

/* A new type, to be closed by the caller. */
static hid_t file_type(tt_dtype dtype)
{
    switch (dtype) {
    case TT_F32: return H5Tcopy(H5T_IEEE_F32LE);
    case TT_F64: return H5Tcopy(H5T_IEEE_F64LE);
    case TT_BF16: return half_type(8, 7, 127);
    case TT_F16: return half_type(5, 10, 15);
    case TT_I32: return H5Tcopy(H5T_STD_I32LE);
    case TT_I64: return H5Tcopy(H5T_STD_I64LE);
    case TT_U8: return H5Tcopy(H5T_STD_U8LE);
    default: return -1;
    }
}

/* What a reader of the index sees where a part is missing. */
static herr_t set_fill(hid_t plist, hid_t type, tt_dtype dtype)
{
    float f = NAN;
    double d = NAN;
    uint16_t bf16 = 0x7fc0, f16 = 0x7e00;
    int32_t i32 = INT32_MIN;
    int64_t i64 = INT64_MIN;
    uint8_t u8 = 255;
    const void *value = dtype == TT_F32 ? (void *)&f : dtype == TT_F64 ? (void *)&d : dtype == TT_BF16 ? (void *)&bf16
                      : dtype == TT_F16 ? (void *)&f16 : dtype == TT_I32 ? (void *)&i32 : dtype == TT_I64 ? (void *)&i64
                      : (void *)&u8;
    return H5Pset_fill_value(plist, type, value);
}

/* Extents as HDF5 wants them; a scalar is one element. Returns the rank. */
static int extents(hsize_t *out, int ndim, const int64_t *from)
{
    for (int d = 0; d < ndim; d++)
        out[d] = (hsize_t)from[d];
    if (ndim == 0)
        out[0] = 1;
    return ndim ? ndim : 1;
}

/* ---- attributes ---- */

static int put_attribute(hid_t object, const char *name, hid_t type, hid_t space, const void *value)
{
    hid_t a = type < 0 || space < 0 ? -1 : H5Acreate2(object, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
    int bad = a < 0 || H5Awrite(a, type, value) < 0;
    if (a >= 0)
        bad |= H5Aclose(a) < 0;
    if (space >= 0)
        H5Sclose(space);
    return bad ? -1 : 0;
}

static int put_text(hid_t object, const char *name, const char *text)
{
    size_t n = strlen(text);
    hid_t type = H5Tcopy(H5T_C_S1);
    int bad = type < 0 || H5Tset_size(type, n ? n : 1) < 0 || H5Tset_strpad(type, H5T_STR_NULLPAD) < 0 ||
              H5Tset_cset(type, H5T_CSET_UTF8) < 0 || put_attribute(object, name, type, H5Screate(H5S_SCALAR), text) < 0;
    if (type >= 0)
        H5Tclose(type);
    return bad ? -1 : 0;
}

static int put_integers(hid_t object, const char *name, const int64_t *values, int n)
{
    hsize_t size = (hsize_t)n;
    if (n == 0)
        return 0;
    return put_attribute(object, name, H5T_NATIVE_INT64, H5Screate_simple(1, &size, NULL), values);
}

/* ---- files ---- */

/* A file that HDF5 is laying out in memory. */
typedef struct draft {
    int memory; /* the sparse file */
    hid_t file, links;
} draft;

/* Copy what was written (not the holes) of `from` to the new file `path`, of the same size. */
static tt_status copy_out(int from, const char *path, tt_error *err)
{
    char buffer[1 << 16];
    tt_status st = TT_OK;
    off_t size = lseek(from, 0, SEEK_END), at = 0;
    int to = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (to < 0 || ftruncate(to, size) != 0) {
        st = tt_fs_fail(err, "create", path, errno);
        goto out;
    }
    while (at < size && (at = lseek(from, at, SEEK_DATA)) >= 0) {
        off_t end = lseek(from, at, SEEK_HOLE);
        while (at < end) {
            size_t n = end - at < (off_t)sizeof buffer ? (size_t)(end - at) : sizeof buffer;
            ssize_t got = pread(from, buffer, n, at), put = got > 0 ? pwrite(to, buffer, (size_t)got, at) : -1;
            if (put <= 0) {
                st = tt_fs_fail(err, "write", path, put < 0 ? errno : ENOSPC);
                goto out;
            }
            at += put;
        }
    }
out:
    if (to >= 0 && close(to) != 0 && st == TT_OK)
        st = tt_fs_fail(err, "write", path, errno);
    return st;
}

/* The limit of file sizes holds in memory too, and is met here before HDF5 meets it. */
static tt_status check_limit(const char *path, int64_t bytes, tt_error *err)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY && limit.rlim_cur < (rlim_t)bytes)
        return tt_fail(err, TT_ERR_IO, "writing %s needs up to %lld bytes, the limit of a file's size is %lld; raise it (ulimit -f)",
                       path, (long long)bytes, (long long)limit.rlim_cur);
    return TT_OK;
}

static hid_t create_file(const char *path, int n_objects)
{
    hsize_t records = (hsize_t)(n_objects < 1024 ? n_objects + 4 : 1024) * 1024; /* HDF5's own records in few places */
    hid_t access = H5Pcreate(H5P_FILE_ACCESS), file = -1;
    /* V18: attributes over 64 KiB and compact groups; not LATEST: such files refuse to open after a crash. Locks: some
     * parallel file systems have none, and the folder's protocol does not need them. The stdio driver: the default one
     * wants the real path of a symbolic link, which a file in memory has not. */
    if (access >= 0 && H5Pset_fapl_stdio(access) >= 0 && H5Pset_libver_bounds(access, H5F_LIBVER_V18, H5F_LIBVER_V110) >= 0 &&
        H5Pset_file_locking(access, 0, 1) >= 0 && H5Pset_meta_block_size(access, records) >= 0 &&
        H5Pset_alignment(access, (hsize_t)1 << 16, 4096) >= 0)
        file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, access);
    if (access >= 0)
        H5Pclose(access);
    return file;
}

/* Link creation with all groups on the way ("model/norm.weight" makes /model). */
static hid_t link_plist(void)
{
    hid_t p = H5Pcreate(H5P_LINK_CREATE);
    if (p >= 0 && (H5Pset_create_intermediate_group(p, 1) < 0 || H5Pset_char_encoding(p, H5T_CSET_UTF8) < 0)) {
        H5Pclose(p);
        p = -1;
    }
    return p;
}

/* Begin a file of n_objects datasets that will need at most `bytes`. */
static tt_status draft_begin(draft *d, const char *path, int n_objects, int64_t bytes, tt_error *err)
{
    char memory_path[64];
    tt_status st = check_limit(path, bytes, err);
    *d = (draft){.memory = -1, .file = -1, .links = -1};
    if (st != TT_OK)
        return st;
    d->memory = memfd_create("titan-hdf5", MFD_CLOEXEC);
    if (d->memory < 0)
        return tt_fs_fail(err, "lay out in memory", path, errno);
    snprintf(memory_path, sizeof memory_path, "/proc/self/fd/%d", d->memory);
    H5open();
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL); /* errors come back as tt_error: the library does not print */
    d->links = link_plist();
    d->file = create_file(memory_path, n_objects);
    return d->file < 0 || d->links < 0 ? fail(err, "create the file", path) : TT_OK;
}

/* Close the file and, when all went well (st), give it its place on disk. */
static tt_status draft_end(draft *d, const char *path, tt_status st, tt_error *err)
{
    if (d->file >= 0 && H5Fclose(d->file) < 0 && st == TT_OK)
        st = fail(err, "finish the file", path);
    if (d->links >= 0)
        H5Pclose(d->links);
    if (st == TT_OK)
        st = copy_out(d->memory, path, err);
    if (d->memory >= 0)
        close(d->memory);
    return st;
}

static int close_dataset(hid_t dataset, hid_t space, hid_t type, hid_t plist)
{
    int bad = dataset < 0;
    if (dataset >= 0)
        bad |= H5Dclose(dataset) < 0;
    if (space >= 0)
        H5Sclose(space);
    if (type >= 0)
        H5Tclose(type);
    if (plist >= 0)
        H5Pclose(plist);
    return bad ? -1 : 0;
}

/* One shard's dataset; *offset is where its bytes will be. */
static int create_shard(hid_t file, hid_t links, const tt_ckpt_tensor *t, int64_t *offset)
{
    hsize_t dims[TT_MAX_DIMS + 1];
    int rank = extents(dims, t->ndim, t->count), bad = 1;
    hid_t type = file_type(t->dtype), space = H5Screate_simple(rank, dims, NULL), plist = H5Pcreate(H5P_DATASET_CREATE);
    hid_t dataset = -1;
    *offset = 0;
    if (type >= 0 && space >= 0 && plist >= 0 && H5Pset_layout(plist, H5D_CONTIGUOUS) >= 0 &&
        H5Pset_alloc_time(plist, H5D_ALLOC_TIME_EARLY) >= 0 && H5Pset_fill_time(plist, H5D_FILL_TIME_NEVER) >= 0)
        dataset = H5Dcreate2(file, t->name, type, space, links, plist, H5P_DEFAULT);
    if (dataset >= 0) {
        haddr_t at = H5Dget_offset(dataset);
        int empty = 0;
        for (int d = 0; d < rank; d++)
            empty |= dims[d] == 0;
        bad = put_text(dataset, "dtype", tt_dtype_name(t->dtype)) || put_integers(dataset, "shape", t->shape, t->ndim) ||
              put_integers(dataset, "start", t->start, t->ndim) || (at == HADDR_UNDEF && !empty);
        *offset = empty ? 0 : (int64_t)at;
    }
    return close_dataset(dataset, space, type, plist) || bad ? -1 : 0;
}

tt_status tt_h5_create_part(const char *path, const tt_ckpt_tensor *tensors, const int *shards, int n, int64_t *offsets,
                            tt_error *err)
{
    draft d;
    int64_t bytes = 1 << 18;
    for (int i = 0; i < n; i++) {
        tt_box box = tt_box_make(tensors[shards[i]].ndim, tensors[shards[i]].start, tensors[shards[i]].count);
        bytes += tt_box_elems(&box) * (int64_t)tt_dtype_size(tensors[shards[i]].dtype) + RECORD_BYTES_MAX;
    }
    tt_status st = draft_begin(&d, path, n, bytes, err);
    for (int i = 0; i < n && st == TT_OK; i++)
        if (create_shard(d.file, d.links, &tensors[shards[i]], &offsets[i]) != 0)
            st = fail(err, tensors[shards[i]].name, path);
    if (st == TT_OK && put_text(d.file, "format", "titan-checkpoint-part 1") != 0)
        st = fail(err, "write an attribute", path);
    return draft_end(&d, path, st, err);
}

/* ---- the index ---- */

/* Map each shard of a tensor onto the dataset of the same name in its part. */
static int map_shards(hid_t plist, hid_t space, const tt_ckpt_manifest *m, const tt_ckpt_entry *e)
{
    for (int64_t k = 0; k < e->n_shards; k++) {
        const tt_ckpt_shard *s = &m->shards[e->first_shard + k];
        hsize_t start[TT_MAX_DIMS + 1] = {0}, count[TT_MAX_DIMS + 1];
        int rank = extents(count, e->ndim, s->box.count);
        if (tt_box_elems(&s->box) == 0)
            continue;
        for (int d = 0; d < e->ndim; d++)
            start[d] = (hsize_t)s->box.start[d];
        hid_t source = H5Screate_simple(rank, count, NULL);
        int bad = source < 0 || H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, count, NULL) < 0 ||
                  H5Pset_virtual(plist, space, m->files[s->file].name, e->name, source) < 0;
        if (source >= 0)
            H5Sclose(source);
        if (bad)
            return -1;
    }
    return H5Sselect_all(space) < 0 ? -1 : 0;
}

static int create_logical(hid_t file, hid_t links, const tt_ckpt_manifest *m, const tt_ckpt_entry *e)
{
    hsize_t dims[TT_MAX_DIMS + 1];
    int rank = extents(dims, e->ndim, e->shape), bad = 1;
    hid_t type = file_type(e->dtype), space = H5Screate_simple(rank, dims, NULL), plist = H5Pcreate(H5P_DATASET_CREATE);
    hid_t dataset = -1;
    if (type >= 0 && space >= 0 && plist >= 0 && set_fill(plist, type, e->dtype) >= 0 &&
        map_shards(plist, space, m, e) == 0)
        dataset = H5Dcreate2(file, e->name, type, space, links, plist, H5P_DEFAULT);
    if (dataset >= 0)
        bad = put_text(dataset, "dtype", tt_dtype_name(e->dtype));
    return close_dataset(dataset, space, type, plist) || bad ? -1 : 0;
}

tt_status tt_h5_create_index(const char *path, const tt_ckpt_manifest *manifest, tt_error *err)
{
    draft d;
    int64_t bytes = (1 << 18) + (int64_t)strlen(manifest->meta) + manifest->n_tensors * RECORD_BYTES_MAX + manifest->n_shards * 1024;
    tt_status st = draft_begin(&d, path, manifest->n_tensors, bytes, err);
    for (int i = 0; i < manifest->n_tensors && st == TT_OK; i++)
        if (create_logical(d.file, d.links, manifest, &manifest->tensors[i]) != 0)
            st = fail(err, manifest->tensors[i].name, path);
    if (st == TT_OK &&
        (put_text(d.file, "format", "titan-checkpoint 1") != 0 || put_integers(d.file, "step", &manifest->step, 1) != 0 ||
         put_text(d.file, "meta", manifest->meta) != 0))
        st = fail(err, "write an attribute", path);
    return draft_end(&d, path, st, err);
}
