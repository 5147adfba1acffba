/* See lr.h. */
#include "run/lr.h"

#include <math.h>

double tt_lr_factor(const tt_lr_opts *o, int64_t k)
{
    const int64_t total = o->total_steps;
    const int64_t warmup = o->warmup_steps < total ? o->warmup_steps : total;
    int64_t decay = o->decay_ratio < 0 ? total - warmup : (int64_t)nearbyint((double)total * o->decay_ratio);
    if (decay > total - warmup)
        decay = total - warmup;
    const int64_t stable = total + 1 - warmup - decay;
    if (k < warmup)
        return (double)(k + 1) / (double)warmup;
    if (k < warmup + stable || decay == 0)
        return 1;
    double p = (double)(k + 1 - warmup - stable) / (double)decay;
    double a = o->decay_type == TT_DECAY_LINEAR ? 1 - p
               : o->decay_type == TT_DECAY_SQRT ? 1 - sqrt(p)
                                                : 0.5 * (1 + cos(3.14159265358979323846 * p));
    return o->min_lr_factor + (1 - o->min_lr_factor) * a;
}
