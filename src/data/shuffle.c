/* See shuffle.h. */
#include "data/shuffle.h"

#include "base/error.h"
#include "base/rng.h"

#define ROUNDS 6

/* Bits of each half: the two together hold n. */
static int half_bits(int64_t n)
{
    int bits = 1;
    while (bits < 31 && (INT64_C(1) << (2 * bits)) < n)
        bits++;
    return bits;
}

static uint64_t feistel(uint64_t key, int bits, uint64_t x)
{
    const uint64_t mask = (UINT64_C(1) << bits) - 1;
    uint64_t left = x >> bits, right = x & mask;
    for (uint64_t r = 0; r < ROUNDS; r++) {
        uint64_t next = left ^ (tt_mix64(key + (r << 56) + right) & mask);
        left = right;
        right = next;
    }
    return left << bits | right;
}

int64_t tt_shuffle_place(uint64_t key, int64_t n, int64_t i)
{
    TT_ASSERT(n >= 1 && n < (INT64_C(1) << 62) && i >= 0 && i < n);
    const int bits = half_bits(n);
    uint64_t x = (uint64_t)i;
    do
        x = feistel(key, bits, x);
    while (x >= (uint64_t)n);
    return (int64_t)x;
}
