/* Which instruction sets this build carries, and their tables. */
#ifndef TT_KERNELS_CPU_SIMD_PRIV_H
#define TT_KERNELS_CPU_SIMD_PRIV_H

#include "kernels/cpu/simd.h"

/* Needs a compiler that knows `#pragma GCC target`; others get the baseline only. */
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define TT_SIMD_X86 1
#else
#define TT_SIMD_X86 0
#endif

extern const tt_simd tt_simd_base, tt_simd_v3, tt_simd_v4, tt_simd_v4_bf16;

#endif
