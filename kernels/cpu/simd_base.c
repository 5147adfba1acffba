/* The inner loops of simd.h for the compiler's own baseline target. */
#include "kernels/cpu/simd_priv.h"

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O3", "fp-contract=fast", "no-math-errno", "no-trapping-math")
#endif
#include "kernels/cpu/simd_vec.h"

#define TABLE tt_simd_base
#define TABLE_NAME "base"
#include "kernels/cpu/simd_body.h"
#include "kernels/cpu/simd_tile.h"
