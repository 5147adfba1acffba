/* Element types of tensors, their sizes and published names, and the bf16 conversions (round to nearest even). */
#ifndef TT_BASE_DTYPE_H
#define TT_BASE_DTYPE_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef enum tt_dtype { TT_F32, TT_BF16, TT_F64, TT_F16, TT_I32, TT_I64, TT_U8, TT_N_DTYPES } tt_dtype;

#define TT_MAX_DIMS 4

/** Bytes of one element. */
static inline size_t tt_dtype_size(tt_dtype t)
{
    static const size_t size[TT_N_DTYPES] = {4, 2, 8, 2, 4, 8, 1};
    return size[t];
}

/** "float32", "bfloat16", "float64", "float16", "int32", "int64", "uint8". */
static inline const char *tt_dtype_name(tt_dtype t)
{
    static const char *const name[TT_N_DTYPES] = {"float32", "bfloat16", "float64", "float16",
                                                  "int32",   "int64",    "uint8"};
    return name[t];
}

/** Reverse of tt_dtype_name: 0 and *out set when known, else -1. */
static inline int tt_dtype_parse(const char *name, tt_dtype *out)
{
    for (int t = 0; t < TT_N_DTYPES; t++)
        if (strcmp(name, tt_dtype_name((tt_dtype)t)) == 0) {
            *out = (tt_dtype)t;
            return 0;
        }
    return -1;
}

typedef uint16_t tt_bf16; /* the upper half of an fp32 */

static inline float tt_bf16_to_f32(tt_bf16 h)
{
    uint32_t u = (uint32_t)h << 16;
    float f;
    memcpy(&f, &u, 4);
    return f;
}

static inline tt_bf16 tt_f32_to_bf16(float f)
{
    uint32_t u;
    memcpy(&u, &f, 4);
    if ((u & 0x7fffffffu) > 0x7f800000u)
        return (tt_bf16)((u >> 16) | 0x40u); /* NaN stays NaN */
    return (tt_bf16)((u + 0x7fffu + ((u >> 16) & 1u)) >> 16);
}

#endif
