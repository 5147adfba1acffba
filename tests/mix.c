/* Mixing and shuffling: both are pure functions, so they are held against what they replace: counting and a permutation. */
#include "data/mix.h"
#include "data/shuffle.h"
#include "tap.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void refusals(void)
{
    tt_error err = {0};
    tt_mix m = {0};
    static const double zero[] = {1, 0}, bad[] = {1, NAN}, tiny[] = {1, 1e-12, 1};
    ok(tt_mix_create(zero, 2, &m, &err) == TT_ERR_CONFIG && strstr(err.text, "weight 0 of source 2 is not a positive number"),
       "refused: %s", err.text);
    ok(tt_mix_create(bad, 2, &m, &err) == TT_ERR_CONFIG && strstr(err.text, "give each source a weight > 0"), "refused: %s",
       err.text);
    ok(tt_mix_create(tiny, 3, &m, &err) == TT_ERR_CONFIG && strstr(err.text, "less than 2^-32 of the sum 2"), "refused: %s",
       err.text);
}

/* Every sample's number in its source is the count before it; counts at far places agree with those one sample on. */
static void counts(const double *w, int n, const char *what)
{
    tt_error err = {0};
    tt_mix m = {0};
    int64_t *seen = calloc((size_t)n, sizeof *seen);
    double total = 0, worst = 0;
    int bad = 0;
    is_int(tt_mix_create(w, n, &m, &err), TT_OK, "%s: arcs %s", what, err.text);
    for (int i = 0; i < n; i++)
        total += w[i];
    for (int64_t s = 0; s < 20000; s++) {
        int i = tt_mix_source(&m, s);
        bad += tt_mix_count(&m, i, s) != seen[i];
        seen[i]++;
    }
    for (int i = 0; i < n; i++) {
        bad += tt_mix_count(&m, i, 20000) != seen[i];
        worst = fmax(worst, fabs((double)seen[i] - 20000 * w[i] / total));
    }
    is_int(bad, 0, "%s: numbers in the source count up without a gap", what);
    ok(worst < 8, "%s: after 20000 samples every share is right to %.2f samples", what, worst);
    static const int64_t far[] = {(INT64_C(1) << 32) - 1, INT64_C(1) << 32, (INT64_C(1) << 32) + 12345, INT64_C(1) << 40, 4999999999999};
    for (size_t k = 0; k < sizeof far / sizeof far[0]; k++) {
        int64_t sum = 0;
        for (int i = 0; i < n; i++) {
            int64_t c = tt_mix_count(&m, i, far[k]);
            sum += c;
            bad += tt_mix_count(&m, i, far[k] + 1) - c != (tt_mix_source(&m, far[k]) == i);
            worst = fmax(worst, fabs((double)c - (double)far[k] * ((double)(m.arc[i + 1] - m.arc[i]) / 0x1p32)));
        }
        bad += sum != far[k];
    }
    ok(bad == 0 && worst < 30, "%s: the same up to 5e12 samples (%.2f off)", what, worst);
    tt_mix_destroy(&m);
    free(seen);
}

static void permutations(void)
{
    static const int64_t sizes[] = {1, 2, 3, 4, 5, 63, 64, 65, 1000, 4097};
    int bad = 0, same = 0, fixed = 0;
    char taken[4097];
    for (size_t k = 0; k < sizeof sizes / sizeof sizes[0]; k++)
        for (uint64_t key = 0; key < 3; key++) {
            const int64_t n = sizes[k];
            memset(taken, 0, sizeof taken);
            for (int64_t i = 0; i < n; i++) {
                int64_t p = tt_shuffle_place(key, n, i);
                bad += p < 0 || p >= n || taken[p]++;
                if (n == 4097) {
                    same += p == tt_shuffle_place(key + 1, n, i);
                    fixed += p == i;
                }
            }
        }
    is_int(bad, 0, "every place is taken exactly once");
    ok(same < 20 && fixed < 20, "keys give different orders (%d places alike, %d fixed of 12291)", same, fixed);
    const int64_t huge = INT64_C(100000000000007);
    bad = 0;
    for (int64_t i = 0; i < 1000; i++)
        bad += tt_shuffle_place(9, huge, huge - 1 - i) >= huge;
    is_int(bad, 0, "1e14 places");
    /* The mean distance of neighbours in a random order of n is n/3. */
    double mean = 0;
    for (int64_t i = 0; i + 1 < 4097; i++)
        mean += (double)llabs(tt_shuffle_place(5, 4097, i) - tt_shuffle_place(5, 4097, i + 1)) / 4096;
    ok(fabs(mean / (4097 / 3.0) - 1) < 0.05, "neighbours are %.0f apart, 1366 expected of chance", mean);
}

int main(void)
{
    double even[300], odd[300];
    refusals();
    for (int i = 0; i < 300; i++) {
        even[i] = 1;
        odd[i] = 1 + i * i;
    }
    counts((const double[]){5}, 1, "one source");
    counts((const double[]){0.7, 0.2, 0.1}, 3, "three sources");
    counts(even, 300, "300 equal sources");
    counts(odd, 300, "300 sources");
    permutations();
    return done_testing();
}
