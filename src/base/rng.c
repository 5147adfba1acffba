/* See rng.h. */
#include "base/rng.h"

#include <math.h>

#define MULTIPLIER_0 0xD2511F53u
#define MULTIPLIER_1 0xCD9E8D57u
#define WEYL_0 0x9E3779B9u
#define WEYL_1 0xBB67AE85u

tt_rng_block tt_philox4x32(tt_rng_block c, uint32_t key0, uint32_t key1)
{
    for (int round = 0; round < 10; round++) {
        uint64_t p0 = (uint64_t)MULTIPLIER_0 * c.v[0];
        uint64_t p1 = (uint64_t)MULTIPLIER_1 * c.v[2];
        c = (tt_rng_block){{(uint32_t)(p1 >> 32) ^ c.v[1] ^ key0, (uint32_t)p1,
                            (uint32_t)(p0 >> 32) ^ c.v[3] ^ key1, (uint32_t)p0}};
        key0 += WEYL_0;
        key1 += WEYL_1;
    }
    return c;
}

uint64_t tt_rng_hash(const char *name)
{
    uint64_t h = 0xcbf29ce484222325u; /* FNV-1a, 64 bit */
    for (; *name; name++)
        h = (h ^ (unsigned char)*name) * 0x100000001b3u;
    return h;
}

static uint64_t mix(uint64_t x)
{
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

uint64_t tt_rng_key_hashed(uint64_t seed, uint64_t name_hash)
{
    return mix(name_hash ^ mix(seed + 0x9e3779b97f4a7c15u));
}

uint64_t tt_rng_key(uint64_t seed, const char *name)
{
    return tt_rng_key_hashed(seed, tt_rng_hash(name));
}

tt_rng_block tt_rng_at(uint64_t key, uint64_t index, uint64_t draw)
{
    tt_rng_block counter = {
        {(uint32_t)index, (uint32_t)(index >> 32), (uint32_t)draw, (uint32_t)(draw >> 32)}};
    return tt_philox4x32(counter, (uint32_t)key, (uint32_t)(key >> 32));
}

float tt_rng_uniform(uint32_t bits)
{
    return (float)(bits >> 8) * 0x1p-24f;
}

double tt_rng_open(uint32_t bits)
{
    return ((double)bits + 0.5) * 0x1p-32;
}

void tt_rng_normal2(uint32_t a, uint32_t b, double out[2])
{
    double radius = sqrt(-2.0 * log(tt_rng_open(a)));
    double angle = 6.283185307179586476925 * tt_rng_open(b);
    out[0] = radius * cos(angle);
    out[1] = radius * sin(angle);
}

double tt_rng_normal(uint64_t key, uint64_t index)
{
    double pair[2];
    tt_rng_block r = tt_rng_at(key, index, 0);
    tt_rng_normal2(r.v[0], r.v[1], pair);
    return pair[0];
}

double tt_rng_normal_cut(uint64_t key, uint64_t index, double cut)
{
    for (uint64_t draw = 0;; draw++) {
        tt_rng_block r = tt_rng_at(key, index, draw);
        for (int i = 0; i < 4; i += 2) {
            double pair[2];
            tt_rng_normal2(r.v[i], r.v[i + 1], pair);
            if (fabs(pair[0]) <= cut)
                return pair[0];
        }
    }
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
