/* Random numbers that are a function of (key, counter): Philox 4x32-10. Any element of any stream can be computed
 * alone, in any order, so what is drawn never depends on threads, shards or the mesh.
 * Source: Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011. */
#ifndef TT_BASE_RNG_H
#define TT_BASE_RNG_H

#include <stdint.h>

/** The block of four random words of a 128-bit counter (word 0 the lowest) under a 64-bit key. */
static inline void tt_philox4x32(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4])
{
    uint32_t c0 = counter[0], c1 = counter[1], c2 = counter[2], c3 = counter[3], k0 = key[0], k1 = key[1];
    for (int round = 0; round < 10; round++) {
        uint64_t a = (uint64_t)0xD2511F53u * c0, b = (uint64_t)0xCD9E8D57u * c2;
        uint32_t n0 = (uint32_t)(b >> 32) ^ c1 ^ k0, n2 = (uint32_t)(a >> 32) ^ c3 ^ k1;
        c1 = (uint32_t)b;
        c3 = (uint32_t)a;
        c0 = n0;
        c2 = n2;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    out[0] = c0;
    out[1] = c1;
    out[2] = c2;
    out[3] = c3;
}

/** A bijection of 64-bit words that spreads every bit (the finalizer of SplitMix64): for making keys from seeds. */
static inline uint64_t tt_mix64(uint64_t x)
{
    x += 0x9E3779B97F4A7C15u;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
    return x ^ (x >> 31);
}

/** A uniform double in [0, 1) with 53 bits from two words. */
static inline double tt_unit53(uint32_t high, uint32_t low)
{
    return (double)((((uint64_t)high << 32) | low) >> 11) * 0x1p-53;
}

/* A stream: the 64-bit key of (seed, name). Its block for (index, draw) is four words; `draw` separates further blocks of
 * the same element: rejections, a second use. */
typedef struct tt_rng_block {
    uint32_t v[4];
} tt_rng_block;

/** 64-bit FNV-1a of a name. */
uint64_t tt_rng_hash(const char *name);

/** Key of the stream `name` under `seed`. Stable for ever: what was drawn from it must be drawn again. */
uint64_t tt_rng_key(uint64_t seed, const char *name);

/** Block (index, draw) of a stream: counter words index low, index high, draw low, draw high. */
tt_rng_block tt_rng_at(uint64_t key, uint64_t index, uint64_t draw);

/** A standard normal from a block: Box and Muller 1958 on two 53-bit uniforms, in double. |x| < 8.6. */
double tt_rng_normal(tt_rng_block block);

/** Unbiased integer in [0, n), n >= 1, from block `index` of a stream (rejection over draws, 64 bits at a time). */
uint64_t tt_rng_below(uint64_t key, uint64_t index, uint64_t n);

#endif
