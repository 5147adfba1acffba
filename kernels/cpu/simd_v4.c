/* The inner loops of simd.h for x86-64-v4: AVX-512. */
#include "kernels/cpu/simd_priv.h"

#if TT_SIMD_X86
#pragma GCC optimize("O3", "fp-contract=fast", "no-math-errno", "no-trapping-math")
#pragma GCC target("arch=x86-64-v4,prefer-vector-width=512")
#include "kernels/cpu/simd_vec.h"

#define TABLE tt_simd_v4
#define TABLE_NAME "avx512"
#include "kernels/cpu/simd_body.h"
#include "kernels/cpu/simd_tile.h"
#else
typedef int nothing_to_build_here;
#endif
