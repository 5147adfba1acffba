/* Philox against the published known answers of the Random123 distribution, then what is built on it. */
#include "base/rng.h"
#include "tap.h"

#include <stdlib.h>

static void known(const uint32_t c[4], uint32_t k0, uint32_t k1, const uint32_t want[4], const char *name)
{
    tt_rng_block r;
    tt_philox4x32(c, (uint32_t[]){k0, k1}, r.v);
    ok(r.v[0] == want[0] && r.v[1] == want[1] && r.v[2] == want[2] && r.v[3] == want[3], "%s", name);
}

static void test_known_answers(void)
{
    known((uint32_t[]){0, 0, 0, 0}, 0, 0, (uint32_t[]){0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}, "zeros");
    known((uint32_t[]){~0u, ~0u, ~0u, ~0u}, ~0u, ~0u, (uint32_t[]){0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd},
          "ones");
    known((uint32_t[]){0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, 0xa4093822, 0x299f31d0,
          (uint32_t[]){0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}, "digits of pi");
}

static void test_uniform(void)
{
    ok(tt_unit53(0, 0) == 0.0, "smallest uniform is 0");
    ok(tt_unit53(~0u, ~0u) < 1.0, "largest uniform is below 1");
    ok(tt_rng_normal((tt_rng_block){{~0u, ~0u, 0, 0}}) < 8.6, "the largest normal is finite");
    int seen[7] = {0}, n = 70000, good = 1;
    for (int i = 0; i < n; i++)
        seen[tt_rng_below(5, (uint64_t)i, 7)]++;
    for (int i = 0; i < 7; i++)
        good = good && abs(seen[i] - n / 7) < 500; /* 5 standard deviations */
    ok(good, "integers below 7 are even");
    is_int((long long)tt_rng_below(5, 0, 1), 0, "below 1 there is only 0");
}

static void test_normal(void)
{
    uint64_t key = tt_rng_key(42, "layers.0.attention.wq.weight");
    int n = 200000;
    double s1 = 0, s2 = 0, s4 = 0;
    for (int i = 0; i < n; i++) {
        double x = tt_rng_normal(tt_rng_at(key, (uint64_t)i, 0));
        s1 += x;
        s2 += x * x;
        s4 += x * x * x * x;
    }
    close_to(s1 / n, 0, 0.01, "mean");
    close_to(s2 / n, 1, 0.02, "variance");
    close_to(s4 / n, 3, 0.12, "fourth moment");
}

static void test_keys(void)
{
    ok(tt_rng_key(1, "a") != tt_rng_key(1, "b"), "names part streams");
    ok(tt_rng_key(1, "a") != tt_rng_key(2, "a"), "seeds part streams");
    ok(tt_rng_hash("") == 0xcbf29ce484222325u && tt_rng_hash("a") == 0xaf63dc4c8601ec8cu, "FNV-1a's own answers");
    tt_rng_block a = tt_rng_at(9, 1ull << 32, 0), b = tt_rng_at(9, 0, 0);
    ok(a.v[0] != b.v[0], "indices beyond 32 bits are told apart");
}

int main(void)
{
    test_known_answers();
    test_uniform();
    test_normal();
    test_keys();
    return done_testing();
}
