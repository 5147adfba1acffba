/* The inner loops of simd.h for x86-64-v3: AVX2 and FMA. */
#include "kernels/cpu/simd_priv.h"

#if TT_SIMD_X86
#pragma GCC optimize("O3", "fp-contract=fast", "no-math-errno", "no-trapping-math")
#pragma GCC target("arch=x86-64-v3")
#include "kernels/cpu/simd_vec.h"

#define TABLE tt_simd_v3
#define TABLE_NAME "avx2"
#include "kernels/cpu/simd_body.h"
#include "kernels/cpu/simd_tile.h"
#else
typedef int nothing_to_build_here;
#endif
