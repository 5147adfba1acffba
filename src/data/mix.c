/* See mix.h. */
#include "data/mix.h"

#include <math.h>
#include <stdlib.h>

#define PLACES (UINT64_C(1) << 32)
/* Step of the sequence: odd, so that all places are visited before one comes again, and near PLACES / golden ratio. */
#define STEP UINT64_C(2654435769)

tt_status tt_mix_create(const double *weights, int n, tt_mix *mix, tt_error *err)
{
    double total = 0, sum = 0;
    for (int i = 0; i < n; i++) {
        if (!(weights[i] > 0) || !isfinite(weights[i]))
            return tt_fail(err, TT_ERR_CONFIG, "mixing data: weight %g of source %d is not a positive number; give each source a "
                           "weight > 0 or leave the source out", weights[i], i + 1);
        total += weights[i];
    }
    mix->n = n;
    mix->arc = calloc((size_t)n + 1, sizeof *mix->arc);
    if (!mix->arc)
        return tt_fail(err, TT_ERR_NOMEM, "mixing %d sources: no memory", n);
    for (int i = 0; i < n; i++) {
        sum += weights[i];
        mix->arc[i + 1] = i + 1 == n ? PLACES : (uint64_t)llround(sum / total * (double)PLACES);
        if (mix->arc[i + 1] <= mix->arc[i]) {
            tt_mix_destroy(mix);
            return tt_fail(err, TT_ERR_CONFIG, "mixing data: weight %g of source %d is less than 2^-32 of the sum %g, so it would "
                           "never be drawn; raise it or leave the source out", weights[i], i + 1, total);
        }
    }
    return TT_OK;
}

void tt_mix_destroy(tt_mix *mix)
{
    free(mix->arc);
    mix->arc = NULL;
}

int tt_mix_source(const tt_mix *mix, int64_t s)
{
    const uint64_t at = (uint64_t)s * STEP % PLACES; /* PLACES divides 2^64: wrapping does no harm */
    int lo = 0, hi = mix->n;                         /* arc[lo] <= at < arc[hi] */
    while (hi - lo > 1) {
        int mid = lo + (hi - lo) / 2;
        if (mix->arc[mid] <= at)
            lo = mid;
        else
            hi = mid;
    }
    return lo;
}

/* Sum over k = 0 .. n-1 of floor((a k + b) / m), modulo 2^64: each turn takes out what a and b hold of m, then counts the
 * same lattice points with the axes exchanged. */
static uint64_t floor_sum(uint64_t n, uint64_t m, uint64_t a, uint64_t b)
{
    uint64_t sum = 0;
    for (;;) {
        sum += (n % 2 ? (n - 1) / 2 * n : n / 2 * (n - 1)) * (a / m) + n * (b / m);
        a %= m;
        b %= m;
        if (n == 0 || a == 0)
            return sum;
        __extension__ typedef unsigned __int128 wide;
        const wide top = (wide)a * n + b;
        if (top < m)
            return sum;
        n = (uint64_t)(top / m);
        b = (uint64_t)(top % m);
        uint64_t t = m;
        m = a;
        a = t;
    }
}

/* Points of the first s that fall below `border`: floor((x + PLACES - border) / PLACES) is 1 exactly for those at or above
 * it, where x is the place; whole rounds cancel between the two sums. */
static int64_t below(uint64_t border, uint64_t s)
{
    const uint64_t rounds = s / PLACES, rest = s % PLACES; /* s points are that many full turns and a rest */
    const uint64_t at_or_above = floor_sum(rest, PLACES, STEP, PLACES - border) - floor_sum(rest, PLACES, STEP, 0);
    return (int64_t)(rounds * border + rest - at_or_above);
}

int64_t tt_mix_count(const tt_mix *mix, int i, int64_t s)
{
    return below(mix->arc[i + 1], (uint64_t)s) - below(mix->arc[i], (uint64_t)s);
}
