/* Mixing sources by weight: which source a sample comes from, and which of that source's own samples it is.
 *
 * Sample s is assigned by the s-th point of a low-discrepancy sequence on a circle of 2^32 places, of which each source
 * owns an arc as long as its weight. So over any stretch of samples the shares are right to within a few samples, a
 * source's samples come in their own order, and both answers are computed from s alone: no state, no memory, whatever the
 * number of sources. How many earlier points fell on an arc is a sum of floors of an arithmetic progression, found as in
 * the Euclidean algorithm.
 * Source: Weyl 1916 (equidistribution of multiples); Graham, Knuth, Patashnik, "Concrete Mathematics", 3.5 (floor sums). */
#ifndef TT_DATA_MIX_H
#define TT_DATA_MIX_H

#include "base/error.h"

#include <stdint.h>

typedef struct tt_mix {
    int n;
    uint64_t *arc; /* owned: n + 1 borders, arc[0] = 0, arc[n] = 2^32 */
} tt_mix;

/** Arcs for n >= 1 weights > 0 (any scale). Errors: TT_ERR_CONFIG (a weight that is not positive and finite, or too small beside
 *  the others to get a place), TT_ERR_NOMEM. */
tt_status tt_mix_create(const double *weights, int n, tt_mix *mix, tt_error *err);
void tt_mix_destroy(tt_mix *mix); /* frees arcs; accepts a zeroed struct */

/** Source of sample s >= 0. */
int tt_mix_source(const tt_mix *mix, int64_t s);
/** How many of samples 0 .. s-1 come from source i: the own number of i's next sample. */
int64_t tt_mix_count(const tt_mix *mix, int i, int64_t s);

#endif
