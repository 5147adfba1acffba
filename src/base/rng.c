/* See rng.h. */
#include "base/rng.h"

#include <math.h>

uint64_t tt_rng_hash(const char *name)
{
    uint64_t h = 0xcbf29ce484222325u;
    for (; *name; name++)
        h = (h ^ (unsigned char)*name) * 0x100000001b3u;
    return h;
}

uint64_t tt_rng_key(uint64_t seed, const char *name)
{
    return tt_mix64(tt_rng_hash(name) ^ tt_mix64(seed));
}

tt_rng_block tt_rng_at(uint64_t key, uint64_t index, uint64_t draw)
{
    tt_rng_block block;
    uint32_t counter[4] = {(uint32_t)index, (uint32_t)(index >> 32), (uint32_t)draw, (uint32_t)(draw >> 32)};
    uint32_t words[2] = {(uint32_t)key, (uint32_t)(key >> 32)};
    tt_philox4x32(counter, words, block.v);
    return block;
}

double tt_rng_normal(tt_rng_block block)
{
    double u = tt_unit53(block.v[0], block.v[1]), turn = tt_unit53(block.v[2], block.v[3]);
    return sqrt(-2.0 * log(1.0 - u)) * cos(6.283185307179586476925 * turn); /* 1 - u is never 0 */
}

uint64_t tt_rng_below(uint64_t key, uint64_t index, uint64_t n)
{
    uint64_t reject_below = (0 - n) % n; /* 2^64 mod n */
    for (uint64_t draw = 0;; draw++) {
        tt_rng_block r = tt_rng_at(key, index, draw);
        for (int i = 0; i < 4; i += 2) {
            uint64_t x = (uint64_t)r.v[i + 1] << 32 | r.v[i];
            if (x >= reject_below)
                return x % n;
        }
    }
}
