/* Floating point operations of training, and what devices could do: the two numbers behind tflops and MFU. */
#ifndef TT_METRICS_FLOPS_H
#define TT_METRICS_FLOPS_H

#include <stdint.h>

typedef struct tt_flops_opts {
    int64_t params;           /* all parameters; a tied embedding counted once */
    int64_t embedding_params; /* the input embedding table, V * D */
    int tied;                 /* 1 when the output projection is the embedding table */
    int64_t layers, heads, head_dim;
    int64_t seq_len;
} tt_flops_opts;

/** FLOPs of forward and backward per token of a dense decoder: 6 P + 6 L H (2 Dh) T, with P = params without the input
 *  embedding (with it when tied: the table is multiplied then). Causality is not discounted, recompute not counted.
 *  Source: Chowdhery et al. 2022, arXiv:2204.02311, appendix B. */
int64_t tt_flops_per_token(const tt_flops_opts *opts);

/** Peak dense bf16 FLOP/s of a device by its name ("NVIDIA H100 80GB HBM3", …), from the vendors' data sheets.
 *  0 when it is not known: then MFU is not printed, rather than printed wrong. */
double tt_flops_peak(const char *device_name);

#endif
