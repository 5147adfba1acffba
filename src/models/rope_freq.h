/* RoPE base frequencies, with the scaling of Llama 3.1 and later. */
#ifndef TT_MODELS_ROPE_FREQ_H
#define TT_MODELS_ROPE_FREQ_H

typedef enum tt_rope_kind { TT_ROPE_PLAIN, TT_ROPE_LLAMA3 } tt_rope_kind;

typedef struct tt_rope_scaling {
    tt_rope_kind kind;
    double factor, low_freq_factor, high_freq_factor, original_max_position;
} tt_rope_scaling;

/** inv_freq[j] = theta^(-2j/dim), j = 0 .. dim/2-1. TT_ROPE_LLAMA3: with wavelength w = 2 pi / f, f stays where
 *  w < original/high, becomes f/factor where w > original/low, and is blended in between. Computed in double. dim even.
 *  Source: Su et al., arXiv:2104.09864; the scaling as released with Llama 3.1. */
void tt_rope_inv_freq(int dim, double theta, const tt_rope_scaling *scaling, float *inv_freq);

#endif
