/* safetensors files: a JSON header (name, dtype, shape, byte range), then the tensors' bytes end to end.
 *
 * The reader refuses what the published rules refuse, before it allocates anything by a size found in the file. It is
 * stricter than the common library in five places, on purpose: white space before the object, a name or a metadata key
 * given twice, a null "__metadata__" and a tensor that is a list are refused. A NUL in a name or a metadata value reads as
 * the six characters \u0000, since they are C strings here.
 * Unknown keys inside a tensor are ignored. Values are not looked at.
 * The writer gives the common library's bytes for the same tensors and at most one metadata key. */
#ifndef TT_CONVERT_SAFETENSORS_H
#define TT_CONVERT_SAFETENSORS_H

#include "base/box.h"
#include "base/dtype.h"
#include "base/error.h"

typedef struct tt_safetensors tt_safetensors;

typedef struct tt_safetensors_entry {
    const char *name;
    const char *dtype; /* as in the file: "F32", "BF16", "F8_E4M3", … */
    int ndim;
    const int64_t *shape; /* in elements, also for sub-byte types */
    int64_t begin, end;   /* bytes from the start of the data */
} tt_safetensors_entry;

/** Open and check a file; nothing but its header is read. Errors: TT_ERR_IO, TT_ERR_DATA (the broken rule and values). */
tt_status tt_safetensors_open(const char *path, tt_safetensors **file, tt_error *err);
void tt_safetensors_close(tt_safetensors **file);

/** The path it was opened with; borrowed. */
const char *tt_safetensors_path(const tt_safetensors *file);
/** Tensors in the order of their bytes. All that is returned is borrowed from file. */
int tt_safetensors_count(const tt_safetensors *file);
const tt_safetensors_entry *tt_safetensors_at(const tt_safetensors *file, int i);
/** The tensor of that name, or NULL. */
const tt_safetensors_entry *tt_safetensors_find(const tt_safetensors *file, const char *name);
/** Value of a "__metadata__" key, or NULL. */
const char *tt_safetensors_metadata(const tt_safetensors *file, const char *key);

/** The element type as titan's, 0 and *out set; -1 when titan does not compute with it (fp8, bool, …). */
int tt_safetensors_dtype(const char *dtype, tt_dtype *out);

/** All bytes of a tensor as stored into dst[bytes]; bytes must be its size. Errors: TT_ERR_DATA, TT_ERR_IO. */
tt_status tt_safetensors_read(const tt_safetensors *file, const char *name, void *dst, size_t bytes, tt_error *err);

/** A box of a tensor as fp32: F32 as it is, BF16 and F16 widened exactly, F64 rounded to nearest.
 *  dst is dense row-major with local extents pitch[ndim] (>= box->count) and begins at the box's first element; the
 *  padding is not touched. box->ndim must be the tensor's. Errors: TT_ERR_DATA, TT_ERR_DTYPE, TT_ERR_SHAPE, TT_ERR_IO. */
tt_status tt_safetensors_read_box(const tt_safetensors *file, const char *name, const tt_box *box, float *dst,
                                  const int64_t *pitch, tt_error *err);

/** IEEE half to fp32, exact (subnormals, infinities and NaN too). */
float tt_f16_to_f32(uint16_t h);

/* ---- writing ---- */

typedef struct tt_safetensors_spec {
    const char *name;  /* UTF-8 */
    const char *dtype; /* "F32", "BF16", … */
    int ndim;
    const int64_t *shape;
} tt_safetensors_spec;

typedef struct tt_safetensors_writer tt_safetensors_writer;

/** Start PATH.tmp with the header of all tensors: ordered by dtype (the common library's order), then by name; padded
 *  to 8 bytes; metadata {"format":"pt"}. Errors: TT_ERR_DATA (unknown dtype, a name twice, not UTF-8), TT_ERR_IO. */
tt_status tt_safetensors_create(const char *path, const tt_safetensors_spec *tensors, int n,
                                tt_safetensors_writer **writer, tt_error *err);
/** Write bytes of tensor i (index into the caller's list) at an offset inside it. Each byte must be given once. */
tt_status tt_safetensors_put(tt_safetensors_writer *writer, int i, int64_t offset, const void *data, int64_t bytes,
                             tt_error *err);
/** Check that every byte was given, sync, and rename to the final name. On an error nothing has the final name.
 *  Frees the writer in any case. */
tt_status tt_safetensors_finish(tt_safetensors_writer **writer, tt_error *err);
/** Give up: remove the temporary file and free the writer. */
void tt_safetensors_abandon(tt_safetensors_writer **writer);

#endif
