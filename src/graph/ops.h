/* Ops: what the passes need to know of each (ops.def is the table). */
#ifndef TT_GRAPH_OPS_H
#define TT_GRAPH_OPS_H

#include "graph/program.h"

typedef enum tt_op_id {
#define TT_OP(name, n_in, n_out, gradient, recompute, flops, placements) TT_OP_##name,
#include "graph/ops.def"
#undef TT_OP
    TT_N_OPS
} tt_op_id;

typedef enum tt_recompute { TT_RECOMPUTE_ALWAYS, TT_RECOMPUTE_PREFER, TT_RECOMPUTE_FREE } tt_recompute;

typedef struct tt_op {
    const char *name;
    int n_in, n_out;
    int gradient;
    tt_recompute recompute;
    int flops;
    const char *placements;
} tt_op;

/** The row of the op table. */
const tt_op *tt_op_info(int op);
/** Op by name, or -1. */
int tt_op_find(const char *name);
/** 1 for all_gather, reduce_scatter, all_reduce. */
int tt_op_is_comm(int op);

/* One row of an op's placement table, parsed. */
typedef struct tt_place_row {
    int batch_only;
    int n_in, n_out;
    tt_placement in[8], out[4];
} tt_place_row;

/** Parse an op's rows; returns how many (at most max). */
int tt_op_rows(int op, tt_place_row *rows, int max);

/** NULL when the local operands fit the op (shapes, types, attributes), else what it demands. */
const char *tt_op_check(const tt_program *p, const tt_instr *i);

/** FLOPs of one instruction on this rank's local shapes (full attention counted, as the published formula does). */
double tt_instr_flops(const tt_program *p, const tt_instr *i);
/** Bytes that this rank sends in one instruction (0 when it does not communicate). The plan's figure; comm counts its own. */
int64_t tt_instr_payload_bytes(const tt_program *p, const tt_instr *i);
/** Workspace bytes a communication needs on a device whose communicator reduces in our own fixed order. */
int64_t tt_comm_workspace_bytes(const tt_program *p, const tt_instr *i);

#endif
