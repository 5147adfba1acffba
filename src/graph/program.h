/* The training step as a program: values, instructions, parts. Plain data that passes read and rewrite.
 *
 * A family's forward is written on logical tensors; passes make the backward, place it on the mesh, choose what is
 * saved, split it into parts, move parameters, order queues and give every value its bytes. The same program is printed
 * by titan-plan and run by the executor. */
#ifndef TT_GRAPH_PROGRAM_H
#define TT_GRAPH_PROGRAM_H

#include "base/arena.h"
#include "base/dtype.h"
#include "base/error.h"
#include "kernels/kernels.h"
#include "mesh/mesh.h"
#include "mesh/placement.h"

typedef int tt_vid; /* index of a value in its program; -1 = none */

typedef enum tt_scope {
    TT_SCOPE_NONE,    /* not decided yet */
    TT_SCOPE_STATE,   /* lives from start to end: parameters' shards, moments, constants */
    TT_SCOPE_STEP,    /* lives through one step: gradients, counters, gathered weights kept over the step */
    TT_SCOPE_FRAME,   /* crosses from forward to backward of one microbatch */
    TT_SCOPE_SCRATCH, /* lives inside one part */
    TT_N_SCOPES
} tt_scope;

typedef enum tt_queue { TT_Q_COMPUTE, TT_Q_GATHER, TT_Q_REDUCE, TT_Q_TP, TT_Q_COPY, TT_N_QUEUES } tt_queue;

typedef enum tt_role { TT_ROLE_F, TT_ROLE_I, TT_ROLE_W, TT_ROLE_NONE } tt_role;

/* What an instruction whose row says "+=" does with its gradient output. */
typedef enum tt_accum {
    TT_ACC_WRITE, /* always written */
    TT_ACC_CALL,  /* written on the first microbatch of a step, added on the others */
    TT_ACC_ADD    /* always added */
} tt_accum;

typedef struct tt_value {
    const char *name; /* for printing; not unique */
    tt_dtype dtype;
    int ndim;
    int64_t shape[TT_MAX_DIMS];       /* logical */
    int64_t local[TT_MAX_DIMS];       /* on this rank, padding included; set by the shard pass */
    tt_placement place[TT_N_AXES];
    tt_vid root;                      /* a view: the value whose bytes it shows; -1 for a root */
    int64_t byte_offset;              /* view: first byte inside the root */
    tt_scope scope;                   /* roots */
    size_t bytes;                     /* roots: reserved, padding included */
    size_t offset;                    /* roots: from the start of its scope's space; set by the memory pass */
    int param;                        /* index of the parameter whose compute value this is, else -1 */
    int pinned;                       /* 1: on the tp axis this value lies as `pin` says (the residual stream) */
    tt_placement pin;
    const void *constant;             /* state constants: host bytes to upload at start (arena-owned), else NULL */
} tt_value;

typedef struct tt_instr {
    int op; /* tt_op_id, graph/ops.h */
    tt_queue queue;
    tt_role role;
    tt_accum acc;
    int block;   /* layer index the instruction belongs to; see tt_program.n_blocks */
    int grad_of; /* this instruction's output is (a contribution to) the gradient of parameter grad_of; else -1 */
    int n_in, n_out;
    tt_vid *in, *out; /* arena */
    tt_attrs attr;
    int n_wait; /* events awaited: indices of earlier instructions of this part, set by the order pass */
    int *wait;
    int signals;      /* some instruction waits for this one */
    int after_compute; /* issue rule: wait for the last compute instruction before this one (prefetch distance) */
    int release;      /* reduce rule: compute may run this many blocks ahead before it waits for this one; 0 = none */
    tt_vid workspace; /* scratch value for the kernel, or -1 */
} tt_instr;

typedef struct tt_instr_list {
    tt_instr *at;
    int n, cap;
} tt_instr_list;

typedef enum tt_part_id {
    TT_PART_INIT,     /* draw initial weights */
    TT_PART_RESTORE,  /* host -> state */
    TT_PART_BEGIN,    /* once per step: counts, casts, gathers that last */
    TT_PART_FORWARD,  /* per microbatch */
    TT_PART_BACKWARD, /* per microbatch */
    TT_PART_REDUCE,   /* once per step: what is still partial, norm, clip */
    TT_PART_UPDATE,   /* the only part that writes state */
    TT_PART_EVAL_BEGIN,
    TT_PART_EVAL,     /* forward only, loss */
    TT_PART_EVAL_END,
    TT_PART_LOGITS,   /* forward only, logits */
    TT_PART_GENERATE, /* forward only, logits of one row */
    TT_PART_SNAPSHOT, /* state -> host */
    TT_PART_GRADS,    /* gradients' shards -> host: checks and diagnosis */
    TT_N_PARTS
} tt_part_id;

typedef struct tt_part {
    const char *name;
    tt_instr_list code;
    size_t scratch_bytes;     /* set by the memory pass */
    size_t scratch_floor;     /* largest sum of bytes in use at once, as the events tell: no packing can be smaller */
} tt_part;

/* A parameter: what it is (from the family's table), and where its bytes are (from the fsdp pass). */
typedef struct tt_param {
    const char *fqn;
    int ndim;
    int64_t shape[TT_MAX_DIMS];
    int block;   /* communication and update unit */
    int tp_dim;  /* dim sharded over tp, -1 = replicated */
    int dist;    /* initial distribution (tt_init_dist) */
    double std, lo, hi;
    tt_placement place[TT_N_AXES]; /* compute placement */
    tt_vid compute;                /* the value the forward reads */
    int64_t state_local[TT_MAX_DIMS]; /* this rank's state shard, padding included */
    int64_t box_start[TT_MAX_DIMS], box_count[TT_MAX_DIMS]; /* the logical box it holds */
    int64_t state_offset;          /* elements from the start of its block's flat state */
    int grad_partial_tp;           /* its gradient is still a partial sum over tp when the backward ends */
    int owner;                     /* 1 when this rank writes it to checkpoints and counts it in norms */
} tt_param;

/* The flat state of one block of parameters: one update instruction, one gather group. */
typedef struct tt_block_state {
    int64_t n; /* elements in this rank's shard, padding included */
    tt_vid master, grad, exp_avg, exp_avg_sq;
    tt_vid low; /* compute-dtype copy of the shard when it differs from fp32, else -1 */
} tt_block_state;

/* What a forward reads: one int per token, sequences one after another. */
typedef struct tt_inputs {
    int64_t seq_len;
    int batch; /* sequences on one data-parallel rank */
    tt_vid tokens, targets, positions, doc_start; /* local [batch * seq_len]; -1 = not declared */
} tt_inputs;

typedef struct tt_program {
    tt_arena *arena; /* owned */
    tt_mesh mesh;
    tt_dtype compute_dtype;
    tt_inputs train;      /* of one microbatch */
    tt_inputs eval;       /* of one validation batch */
    tt_inputs generate;   /* one sequence, the same on every data-parallel rank */
    int n_microbatches;   /* per step */
    int n_frames;         /* microbatches in flight */
    unsigned fusions_off; /* fused ops that were switched off: bits 1 << tt_fusion (passes/fuse.h) */
    tt_value *value;
    int n_values, cap_values;
    tt_param *param;
    int n_params;
    int n_blocks;         /* block 0 = embedding, 1..L = layers, L+1 = norm and head */
    tt_block_state *state; /* one per block; set by the fsdp pass */
    tt_part part[TT_N_PARTS];
    size_t scope_bytes[TT_N_SCOPES]; /* set by the memory pass; FRAME is one frame, SCRATCH the largest part */
    /* named values: what the run feeds and fetches; -1 when absent */
    tt_vid n_valid, inv_valid, loss_sum, loss_here /* loss_sum of this rank alone */, grad_norm, clip_coef, bad, lr, step, seed;
    tt_vid eval_loss, eval_valid, logits, row_index;
} tt_program;

/** An empty program for this rank of the mesh, which is copied. Never NULL. */
tt_program *tt_program_create(const tt_mesh *mesh);
void tt_program_destroy(tt_program **program); /* accepts NULL */

/** Bytes that the program reserves on the device: state + step + frames + scratch. */
size_t tt_program_arena_bytes(const tt_program *p);

/** A new root value with logical shape; placement R everywhere, local = shape, bytes from local. */
tt_vid tt_value_new(tt_program *p, const char *name, tt_dtype dtype, int ndim, const int64_t *shape);
/** A view: `byte_offset` into `of` (which may be a view itself). */
tt_vid tt_value_view(tt_program *p, tt_vid of, int64_t byte_offset, const char *name, tt_dtype dtype, int ndim,
                     const int64_t *shape);
/** The root of a value (itself when it is one). */
tt_vid tt_value_root(const tt_program *p, tt_vid v);
/** Is it one of the per-token inputs (tokens, targets, positions, document starts)? */
int tt_value_is_input(const tt_program *p, tt_vid v);
int64_t tt_value_elements(const tt_value *v); /* local */
size_t tt_value_local_bytes(const tt_value *v);

/** Append an instruction; in and out are copied. Returns a pointer valid until the next append. */
tt_instr *tt_emit(tt_program *p, tt_instr_list *list, int op, int n_in, const tt_vid *in, int n_out, const tt_vid *out);
/** Append a copy of an instruction of any list, with operand lists of its own. As tt_emit. */
tt_instr *tt_emit_copy(tt_program *p, tt_instr_list *list, const tt_instr *from);
void tt_instr_list_free(tt_instr_list *list);

#endif
