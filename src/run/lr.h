/* The learning rate of a step: linear warmup, stable, decay (linear, sqrt or cosine) down to a floor. */
#ifndef TT_RUN_LR_H
#define TT_RUN_LR_H

#include <stdint.h>

typedef enum tt_decay { TT_DECAY_LINEAR, TT_DECAY_SQRT, TT_DECAY_COSINE } tt_decay;

typedef struct tt_lr_opts {
    int64_t total_steps;
    int64_t warmup_steps;  /* more than total_steps counts as total_steps */
    double decay_ratio;    /* part of total_steps spent decaying; < 0 = everything after warmup; 0 = none */
    tt_decay decay_type;
    double min_lr_factor;  /* floor, as a part of the peak */
} tt_lr_opts;

/** Factor on the peak rate for 0-based step k: with W warmup, D decay and S = total + 1 - W - D stable steps,
 *  k < W: (k+1)/W; k < W+S: 1; else p = (k+1-W-S)/D, a = 1-p | 1-sqrt(p) | (1+cos(pi p))/2, factor = m + (1-m) a.
 *  Never 0 inside the schedule unless the floor asks for it. The formula is the reference's also past the end (k > total),
 *  where it goes below the floor: callers stay at k = total, which is the floor. Source: torchtitan's
 *  warmup-stable-decay. */
double tt_lr_factor(const tt_lr_opts *opts, int64_t k);

#endif
