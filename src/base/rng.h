/* Counter-based random numbers: Philox 4x32-10 (Salmon, Moraes, Dror, Shaw 2011, "Parallel random numbers: as easy as
 * 1, 2, 3"), so that element i of tensor NAME under seed S has one value whatever the mesh, the threads or the order.
 *
 * One stream per (seed, name): its 64-bit key. One 128-bit block per (element index, draw): four 32-bit words.
 * The same functions serve initial weights, dropout-like noise and data order. */
#ifndef TT_BASE_RNG_H
#define TT_BASE_RNG_H

#include <stddef.h>
#include <stdint.h>

typedef struct tt_rng_block {
    uint32_t v[4];
} tt_rng_block;

/** The bijection itself: 10 rounds on a 128-bit counter with a 64-bit key. Known answers are in tests/rng.c. */
tt_rng_block tt_philox4x32(tt_rng_block counter, uint32_t key0, uint32_t key1);

/** Key of the stream `name` under `seed`: a 64-bit hash of the name (FNV-1a, then mixed with the seed by splitmix64's
 *  finalizer). Stable for ever: initial weights depend on it. */
uint64_t tt_rng_key(uint64_t seed, const char *name);

/** tt_rng_key with the name already hashed by tt_rng_hash. */
uint64_t tt_rng_key_hashed(uint64_t seed, uint64_t name_hash);
uint64_t tt_rng_hash(const char *name);

/** Block number `index` of a stream; `draw` separates further blocks for the same element (rejections, second use). */
tt_rng_block tt_rng_at(uint64_t key, uint64_t index, uint64_t draw);

/** 32 random bits to a float in [0, 1): the upper 24 bits, exact. */
float tt_rng_uniform(uint32_t bits);

/** 32 random bits to a double in (0, 1): (bits + 0.5) / 2^32, never 0 (safe under log). */
double tt_rng_open(uint32_t bits);

/** Two independent standard normals from two words (Box and Muller 1958), computed in double. */
void tt_rng_normal2(uint32_t a, uint32_t b, double out[2]);

/** Standard normal of element `index`: the first of the pair from words 0 and 1 of its block at draw 0. */
double tt_rng_normal(uint64_t key, uint64_t index);

/** Standard normal cut to [-cut, cut] by rejection: draws 0, 1, 2, …, each giving up to two candidates (words 0-1, 2-3,
 *  first of each pair). cut must be > 0.1; cuts of 10 or more reject nothing in practice. */
double tt_rng_normal_cut(uint64_t key, uint64_t index, double cut);

/** Unbiased integer in [0, n), n >= 1, from block `index` (rejection over draws, 64 bits at a time). */
uint64_t tt_rng_below(uint64_t key, uint64_t index, uint64_t n);

#endif
