/* Vectors of the width this compilation targets, their loads, and exp. Included by the simd_*.c
 * files only. */
#include <math.h>

#include "kernels/cpu/simd.h"

#if defined(__AVX512F__)
#include <immintrin.h>
#define VL 16
#elif defined(__AVX__)
#include <immintrin.h>
#define VL 8
#else
#define VL 4
#endif

/* The next loop has no dependence between its rounds; the next loop is unrolled whole. */
#if defined(__clang__)
#define IVDEP _Pragma("clang loop vectorize(assume_safety)")
#define UNROLL(n) _Pragma("unroll")
#elif defined(__GNUC__)
#define DO_PRAGMA(text) _Pragma(#text)
#define IVDEP _Pragma("GCC ivdep")
#define UNROLL(n) DO_PRAGMA(GCC unroll n)
#endif

#define INLINE static inline __attribute__((always_inline))

typedef float vf __attribute__((vector_size(VL * 4)));
typedef int32_t vi __attribute__((vector_size(VL * 4)));
typedef uint32_t vu __attribute__((vector_size(VL * 4)));
typedef double vd __attribute__((vector_size(VL * 8)));
typedef float vf_any __attribute__((vector_size(VL * 4), aligned(4), may_alias));
typedef int32_t vi_any __attribute__((vector_size(VL * 4), aligned(4), may_alias));

INLINE vf load(const float *p)
{
    return *(const vf_any *)p;
}

INLINE void store(float *p, vf v)
{
    *(vf_any *)p = v;
}

INLINE vf splat(float f)
{
    return f - (vf){0};
}

/* Lane-wise mask ? a : b, for a mask of all ones or zeros. */
INLINE vf choose(vi mask, vf a, vf b)
{
    return (vf)((mask & (vi)a) | (~mask & (vi)b));
}

/* Lane-wise a > b ? a : b and a < b ? a : b: b where either is NaN. */
INLINE vf vmax(vf a, vf b)
{
#if VL == 16
    return (vf)_mm512_max_ps((__m512)a, (__m512)b);
#elif VL == 8
    return (vf)_mm256_max_ps((__m256)a, (__m256)b);
#else
    return choose(a > b, a, b);
#endif
}

INLINE vf vmin(vf a, vf b)
{
#if VL == 16
    return (vf)_mm512_min_ps((__m512)a, (__m512)b);
#elif VL == 8
    return (vf)_mm256_min_ps((__m256)a, (__m256)b);
#else
    return choose(a < b, a, b);
#endif
}

INLINE vf vsqrt(vf a)
{
#if VL == 16
    return (vf)_mm512_sqrt_ps((__m512)a);
#elif VL == 8
    return (vf)_mm256_sqrt_ps((__m256)a);
#else
    for (int i = 0; i < VL; i++)
        a[i] = sqrtf(a[i]);
    return a;
#endif
}

/* exp to about 1e-7 relative: 2^n times a degree-7 Taylor sum on |r| <= ln2/2. 0 below -87.3; stays
 * at exp(88.3) above; NaN stays NaN, as the last step multiplies (a scale made of a NaN's bits is
 * some number or other). */
INLINE vf vexp(vf x)
{
    const vf magic =
        splat(12582912.0f); /* 1.5 * 2^23: adding it rounds to an integer held in the low bits */
    vf c = vmin(splat(88.3f), x);
    vf t = c * splat(1.44269504f) + magic;
    vf n = t - magic;
    vf r = (c - n * splat(0.693359375f)) + n * splat(2.12194440e-4f);
    vf p = splat(1.0f / 5040.0f);
    p = p * r + splat(1.0f / 720.0f);
    p = p * r + splat(1.0f / 120.0f);
    p = p * r + splat(1.0f / 24.0f);
    p = p * r + splat(1.0f / 6.0f);
    p = p * r + splat(0.5f);
    p = p * r + splat(1.0f);
    p = p * r + splat(1.0f);
    vf y = p * (vf)(((vu)t << 23) + 0x3f800000u); /* magic's own low bits are 0 */
    return (vf)(~(vi)(x < splat(-87.3f)) & (vi)y);
}

INLINE double sum_lanes(const vd *v)
{
    double sum = 0;
    for (int i = 0; i < VL; i++)
        sum += (*v)[i];
    return sum;
}

/* The last n < VL elements as a full vector, filled up with `fill`. */
INLINE vf load_part(const float *p, int64_t n, float fill)
{
    vf v = splat(fill);
    for (int64_t i = 0; i < n; i++)
        v[i] = p[i];
    return v;
}

INLINE void store_part(float *p, vf v, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        p[i] = v[i];
}
