/* Fewer points that draw the same curve: per bucket of the axis the lowest, the highest and whether there was a gap. */
#ifndef TT_REPORT_THIN_H
#define TT_REPORT_THIN_H

#include <stdint.h>

typedef struct tt_thin {
    int64_t *row; /* owned: chosen rows, in order */
    double *mean; /* owned: mean of the bucket that each stands for; NULL when every value was chosen */
    int64_t n;
} tt_thin;

/** Choose among rows 0..n-1 whose value is not NaN (infinite is a gap): all of them when they are at most 2 * buckets, else at
 *  most 3 a bucket of equal spans of step, the first and the last value included. Free with tt_thin_free. */
tt_thin tt_thin_choose(const int64_t *step, const double *value, int64_t n, int buckets);
void tt_thin_free(tt_thin *thin);

#endif
