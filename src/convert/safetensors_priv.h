/* Shared by the safetensors reader and writer: the table of element types. */
#ifndef TT_CONVERT_SAFETENSORS_PRIV_H
#define TT_CONVERT_SAFETENSORS_PRIV_H

#include <stdint.h>

#define TT_ST_HEADER_MAX 100000000 /* the published limit of the header's length */

/** Bits of one element, or 0 for an unknown type. *rank (may be NULL) is its place in the writer's order. */
int tt_st_bits(const char *dtype, int *rank);

/** Bytes of a tensor, or -1: unknown type, negative dim, overflow, or bits that do not fill whole bytes. */
int64_t tt_st_bytes(const char *dtype, int ndim, const int64_t *shape);

#endif
