/* See rope_freq.h. */
#include "models/rope_freq.h"

#include <math.h>

#define TWO_PI 6.283185307179586476925286766559

static double scaled(double f, const tt_rope_scaling *s)
{
    if (s->kind == TT_ROPE_PLAIN)
        return f;
    double wavelength = TWO_PI / f;
    if (wavelength < s->original_max_position / s->high_freq_factor)
        return f;
    if (wavelength > s->original_max_position / s->low_freq_factor)
        return f / s->factor;
    double t = (s->original_max_position / wavelength - s->low_freq_factor) /
               (s->high_freq_factor - s->low_freq_factor);
    return (1 - t) * f / s->factor + t * f;
}

void tt_rope_inv_freq(int dim, double theta, const tt_rope_scaling *scaling, float *inv_freq)
{
    for (int j = 0; j < dim / 2; j++)
        inv_freq[j] = (float)scaled(pow(theta, -2.0 * j / dim), scaling);
}
