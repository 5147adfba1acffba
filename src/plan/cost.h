/* What a program costs: floating point operations, bytes sent, bytes of memory. Pure sums over the program's instructions
 * and values: the figures that a run then counts for itself. */
#ifndef TT_PLAN_COST_H
#define TT_PLAN_COST_H

#include "graph/ops.h"

#include "models/model.h"

/** How often a training step calls a part: the microbatches for forward and backward, 1 for begin, reduce and update,
 *  0 for parts that training does not call. */
int tt_cost_calls(const tt_program *p, tt_part_id part);

typedef struct tt_cost {
    double flops;          /* on this rank, recomputation included */
    int64_t payload_bytes; /* sent by this rank */
    int64_t messages;      /* communications this rank takes part in */
} tt_cost;

tt_cost tt_cost_part(const tt_program *p, tt_part_id part); /* one call */
tt_cost tt_cost_step(const tt_program *p);                  /* one training step */

/** FLOPs of forward and backward per token by the published formula (metrics/flops.h) for this model. */
int64_t tt_cost_flops_per_token(const tt_model *model, int64_t seq_len);

/* What memory is for. Those up to TT_USE_SCRATCH make up the reserved bytes; the rest say what fills the scratch of the
 * largest part at its fullest moment. */
typedef enum tt_use {
    TT_USE_PARAMETERS,  /* fp32 masters */
    TT_USE_MOMENTS,     /* of the optimizer */
    TT_USE_CONSTANTS,
    TT_USE_GRADIENTS,   /* shards, summed over a step */
    TT_USE_COPIES,      /* shards in the compute type */
    TT_USE_KEPT,        /* weights gathered once a step */
    TT_USE_COUNTERS,
    TT_USE_SAVED,       /* activations kept for the backward */
    TT_USE_INPUTS,
    TT_USE_PADDING,     /* between values */
    TT_USE_SCRATCH,
    TT_USE_GATHERED,    /* scratch: weights gathered for the moment */
    TT_USE_UNREDUCED,   /* scratch: whole gradients on their way to the shards */
    TT_USE_COMM,        /* scratch: workspaces of communications */
    TT_USE_WORKSPACE,   /* scratch: workspaces of kernels */
    TT_USE_TEMPORARY,   /* scratch: activations and their gradients */
    TT_N_USES
} tt_use;

typedef struct tt_memory_cost {
    int64_t bytes[TT_N_USES];
    int64_t total;    /* reserved on the device */
    int largest;      /* the part (tt_part_id) that needs the most scratch */
    int fullest;      /* its instruction at which most is in use, in program order */
    double packing;   /* that part's scratch over its floor: 1 is perfect */
} tt_memory_cost;

/** "parameters", "saved activations", … */
const char *tt_use_name(tt_use use);

/** Sum up what a compiled program reserves. */
tt_memory_cost tt_cost_memory(const tt_program *p);

/** What a root value is for. COMM and WORKSPACE are not told apart here: both are WORKSPACE. */
tt_use tt_value_use(const tt_program *p, tt_vid v);

#endif
