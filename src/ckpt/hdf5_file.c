/* See hdf5_file.h. */
#include "ckpt/hdf5_file.h"

#include <hdf5.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

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

/* Errors come back as tt_error, so the library's own printing is off in its default stack. */
static void be_quiet(void)
{
    H5open();
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
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

static hid_t create_file(const char *path, int n_objects)
{
    hsize_t records = (hsize_t)(n_objects < 1024 ? n_objects + 4 : 1024) * 1024; /* HDF5's own records in few places */
    hid_t access = H5Pcreate(H5P_FILE_ACCESS), file = -1;
    /* V18: attributes over 64 KiB and compact groups; not LATEST: such files refuse to open after a crash. Locks: some
     * parallel file systems have none, and the folder's protocol does not need them. */
    if (access >= 0 && H5Pset_libver_bounds(access, H5F_LIBVER_V18, H5F_LIBVER_V110) >= 0 &&
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
    tt_status st = TT_OK;
    be_quiet();
    hid_t links = link_plist(), file = create_file(path, n);
    if (file < 0 || links < 0)
        st = fail(err, "create the file", path);
    for (int i = 0; i < n && st == TT_OK; i++)
        if (create_shard(file, links, &tensors[shards[i]], &offsets[i]) != 0)
            st = fail(err, tensors[shards[i]].name, path);
    if (file >= 0 && st == TT_OK && put_text(file, "format", "titan-checkpoint-part 1") != 0)
        st = fail(err, "write an attribute", path);
    if (file >= 0 && H5Fclose(file) < 0 && st == TT_OK)
        st = fail(err, "finish the file", path);
    if (links >= 0)
        H5Pclose(links);
    return st;
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
    tt_status st = TT_OK;
    be_quiet();
    hid_t links = link_plist(), file = create_file(path, manifest->n_tensors);
    if (file < 0 || links < 0)
        st = fail(err, "create the file", path);
    for (int i = 0; i < manifest->n_tensors && st == TT_OK; i++)
        if (create_logical(file, links, manifest, &manifest->tensors[i]) != 0)
            st = fail(err, manifest->tensors[i].name, path);
    if (file >= 0 && st == TT_OK &&
        (put_text(file, "format", "titan-checkpoint 1") != 0 || put_integers(file, "step", &manifest->step, 1) != 0 ||
         put_text(file, "meta", manifest->meta) != 0))
        st = fail(err, "write an attribute", path);
    if (file >= 0 && H5Fclose(file) < 0 && st == TT_OK)
        st = fail(err, "finish the file", path);
    if (links >= 0)
        H5Pclose(links);
    return st;
}
