/* safetensors files: read with every rule of the format enforced, written in the form of the reference library.
 *
 * Layout: u64 little-endian header length N, N bytes of JSON, then the tensors' bytes without holes. A file is refused
 * before any memory is taken by a size found in it. We are as strict as the format's text; the six liberties that the
 * reference library takes (white space before the object, equal names twice, "__metadata__": null, a tensor given as a
 * list, unknown keys in a tensor, a metadata key twice) are refused too. Only one form is shown otherwise: a NUL inside
 * a name or a metadata value reads as the six characters \u0000, since names are C strings here.
 * Source: huggingface/safetensors README (format). Little-endian hosts only. */
#ifndef TT_CONVERT_SAFETENSORS_H
#define TT_CONVERT_SAFETENSORS_H

#include "base/box.h"
#include "base/error.h"

typedef struct tt_safetensors tt_safetensors; /* an open file */

typedef struct tt_safetensors_info {
    const char *name;     /* borrowed from the file */
    const char *dtype;    /* "F32", "BF16", …; static */
    int bits;             /* of one element: 4, 6, 8, 16, 32, 64 */
    int ndim;             /* any number of dims */
    const int64_t *shape; /* borrowed from the file */
    int64_t offset;       /* of the first byte, from the beginning of the file */
    int64_t bytes;
} tt_safetensors_info;

/** Open and check a file. Errors: TT_ERR_IO, TT_ERR_DATA (not a sound safetensors file: names file, tensor and rule). */
tt_status tt_safetensors_open(const char *path, tt_safetensors **file, tt_error *err);
/** Close; accepts NULL. */
void tt_safetensors_close(tt_safetensors **file);

const char *tt_safetensors_path(const tt_safetensors *file);
/** Number of tensors, and the i-th in the order of their bytes (borrowed). */
int tt_safetensors_n(const tt_safetensors *file);
const tt_safetensors_info *tt_safetensors_at(const tt_safetensors *file, int i);
/** The tensor of that name, or NULL. */
const tt_safetensors_info *tt_safetensors_find(const tt_safetensors *file, const char *name);
/** Value of a key of __metadata__, or NULL. Borrowed. */
const char *tt_safetensors_metadata(const tt_safetensors *file, const char *key);

/** Whole tensor, bytes as they are, into dst (`bytes` must equal the tensor's). Errors: TT_ERR_DATA (no such tensor, other
 *  size), TT_ERR_IO. */
tt_status tt_safetensors_read(const tt_safetensors *file, const char *name, void *dst, size_t bytes, tt_error *err);

/** A box of a tensor of F32, BF16, F16 or F64 as fp32 into dst: element (i,j,…) of the box goes to dst at row-major
 *  extents pitch[] (>= box->count; NULL = box->count). Rounds to nearest even from F64; exact otherwise.
 *  Errors: TT_ERR_DTYPE (another element type), TT_ERR_SHAPE (box outside the tensor), TT_ERR_IO. */
tt_status tt_safetensors_read_f32(const tt_safetensors *file, const tt_safetensors_info *tensor, const tt_box *box,
                                  float *dst, const int64_t *pitch, tt_error *err);

/* What is to be written: one tensor with its bytes in memory. */
typedef struct tt_safetensors_item {
    const char *name, *dtype;
    int ndim;
    const int64_t *shape;
    const void *data; /* dense row-major, of the size that dtype and shape say */
} tt_safetensors_item;

/** Write a file in canonical form: tensors ordered by the library's order of types, then by name (bytes); header padded
 *  with spaces to 8. metadata: n_metadata pairs key, value (2n strings); "format": "pt" is what loaders expect.
 *  Written as path.tmp, synced, renamed. Errors: TT_ERR_DTYPE (unknown dtype), TT_ERR_DATA (equal names), TT_ERR_IO. */
tt_status tt_safetensors_write(const char *path, const tt_safetensors_item *items, int n, const char *const *metadata,
                               int n_metadata, tt_error *err);

/** Bits of an element of a dtype string, 0 when unknown; *static_name (may be NULL) gets our copy of the string. */
int tt_safetensors_bits(const char *dtype, const char **static_name);

#endif
