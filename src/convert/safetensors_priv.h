/* Shared by the reader and the writer of safetensors. */
#ifndef TT_CONVERT_SAFETENSORS_PRIV_H
#define TT_CONVERT_SAFETENSORS_PRIV_H

#include <stdint.h>

/** Place of a dtype in the library's writing order (0 = first), -1 when unknown. */
int tt_safetensors_order(const char *dtype);

/** Bytes of shape[ndim] elements of `bits`; -1 on overflow or when they are no whole number of bytes.
 *  Dims of 0 do not hide an overflow of the others. */
int64_t tt_safetensors_size(int bits, int ndim, const int64_t *shape);

#endif
