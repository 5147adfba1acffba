/* See simd.h: which table this machine can run. */
#include "kernels/cpu/simd_priv.h"

#include <stddef.h>

const tt_simd *tt_simd_at(int i)
{
    if (i == 0)
        return &tt_simd_base;
#if TT_SIMD_X86
    if (i == 1 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
        __builtin_cpu_supports("bmi2"))
        return &tt_simd_v3;
    if (i == 2 && tt_simd_at(1) && __builtin_cpu_supports("avx512f") &&
        __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512cd"))
        return &tt_simd_v4;
    if (i == 3 && tt_simd_at(2) && __builtin_cpu_supports("avx512bf16"))
        return &tt_simd_v4_bf16;
#endif
    return NULL;
}

const tt_simd *tt_simd_pick(void)
{
    const tt_simd *best = tt_simd_at(0);
    for (int i = 1; tt_simd_at(i); i++)
        best = tt_simd_at(i);
    return best;
}
