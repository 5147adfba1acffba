/* Choosing the next token from its logits: greedy, temperature, top-k, top-p, and log-probabilities to report. */
#ifndef TT_RUN_SAMPLING_H
#define TT_RUN_SAMPLING_H

#include "base/error.h"

#include <stdint.h>

typedef struct tt_sampling {
    double temperature; /* 0: the likeliest token; else logits are divided by it */
    int64_t top_k;      /* draw among the k likeliest; 0: all */
    double top_p;       /* then among the fewest whose probabilities sum to p or more, in (0, 1]; 1: all */
} tt_sampling;

/* A sampler owns room for sorting one row of logits. */
typedef struct tt_sampler tt_sampler;

/** For rows of `vocab` logits. Caller destroys. Errors: TT_ERR_NOMEM. */
tt_status tt_sampler_create(int64_t vocab, tt_sampler **sampler, tt_error *err);
void tt_sampler_destroy(tt_sampler **sampler); /* accepts NULL */

/** The next token, from logits[vocab] and a uniform u in [0, 1). Of equal logits the lower id is the likelier. top-k comes before
 *  top-p, both after temperature, as in the published libraries. Source of top-p: Holtzman et al. 2020, arXiv:1904.09751. */
int32_t tt_sampler_draw(tt_sampler *sampler, const float *logits, const tt_sampling *sampling, double u);

/** log of the softmax of logits[vocab] at id: the model's own, before temperature and cuts, in nats. Sums in fp64. */
double tt_sampler_logprob(const tt_sampler *sampler, const float *logits, int32_t id);

/** The k likeliest ids, likeliest first (lent until the next call); *n = min(k, vocab). */
const int32_t *tt_sampler_top(tt_sampler *sampler, const float *logits, int64_t k, int64_t *n);

#endif
