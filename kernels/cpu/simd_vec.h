/* Vectors of the width this compilation targets, their loads, and exp. Included by the simd_*.c files only. */
#include <math.h>

#include "kernels/cpu/simd.h"

#if defined(__AVX512F__)
#define VL 16
#elif defined(__AVX__)
#define VL 8
#else
#define VL 4
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

/* Lane-wise mask ? a : b. */
INLINE vf choose(vi mask, vf a, vf b)
{
    return (vf)((mask & (vi)a) | (~mask & (vi)b));
}

/* exp to about 1e-7 relative: 2^n times a degree-7 Taylor sum on |r| <= ln2/2. Below -87.3 it is 0, above 88.7
 * infinity; NaN stays. */
INLINE vf vexp(vf x)
{
    const vf magic = splat(12582912.0f); /* 1.5 * 2^23: adding it rounds to an integer held in the low bits */
    vf c = choose(x > splat(88.72f), splat(88.72f), x);
    c = choose(c < splat(-87.3f), splat(-87.3f), c);
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
    vu bits = (vu)p + (((vu)t - (vu)magic) << 23);
    vf y = choose(x < splat(-87.3f), splat(0.0f), (vf)bits);
    y = choose(x > splat(88.72f), splat(INFINITY), y);
    return choose(x == x, y, x);
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
