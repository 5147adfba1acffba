/* Communication between ranks of a group: a small table of collectives, enqueued like kernels and finished by events.
 *
 * A call is started on a queue when its turn comes and polled until done, so it runs beside compute. Sums are made in
 * rank order from exchanged pieces (never by the library's reduction), so the same mesh gives the same bits.
 * Each (group, queue) pair has a communicator of its own: first in, first out, never mixed up with another queue's. */
#ifndef TT_COMM_COMM_H
#define TT_COMM_COMM_H

#include "base/error.h"
#include "kernels/kernels.h"
#include "mesh/mesh.h"
#include "world/world.h"

#include <stdint.h>

typedef struct tt_comm tt_comm;

typedef enum tt_comm_kind { TT_COMM_ALL_GATHER, TT_COMM_REDUCE_SCATTER, TT_COMM_ALL_REDUCE } tt_comm_kind;

/* One grouped call: operand i of `in` becomes operand i of `out` (all along dim 0).
 * all_gather: out = group's ins one after another; reduce_scatter: out = sum of everybody's piece `my index` of in;
 * all_reduce: out = sum of ins (out may be in). dtype f32, f64 (sums) or any (gather). */
typedef struct tt_comm_call {
    tt_comm_kind kind;
    int axes;       /* mask of mesh axes: the group */
    int queue;
    int n;
    const tt_tensor *in, *out;
    int accumulate; /* reduce_scatter: add to out instead of writing */
    void *workspace;
} tt_comm_call;

typedef struct tt_comm_request tt_comm_request;

typedef struct tt_comm_table {
    const char *name;
    /** Make the communicator of (axes, queue). Collective over the world, same order everywhere. */
    tt_status (*open_group)(tt_comm *comm, int axes, int queue, tt_error *err);
    /** Begin a call; its operands stay untouched by others until it is done. */
    tt_status (*start)(tt_comm *comm, const tt_comm_call *call, tt_comm_request **request, tt_error *err);
    /** Move the call forward: 1 when done (the request is freed), 0 when not yet, < 0 a tt_status. */
    int (*poll)(tt_comm *comm, tt_comm_request *request);
    void (*destroy)(tt_comm *comm);
} tt_comm_table;

struct tt_comm {
    const tt_comm_table *table;
    tt_mesh mesh;
    int64_t payload_bytes; /* sent by this rank so far, counted where the messages are posted */
};

/** The communicator for a mesh: MPI when the world has several ranks, else "self" (groups of one: every call is a copy). */
tt_status tt_comm_create(tt_world *world, const tt_mesh *mesh, tt_comm **comm, tt_error *err);
void tt_comm_destroy(tt_comm **comm); /* accepts NULL */
tt_status tt_comm_create_mpi(tt_world *world, const tt_mesh *mesh, tt_comm **comm, tt_error *err);

/* What each call sends from one rank, and the workspace it needs: the plan's figures. n ranks in the group. */
int64_t tt_comm_all_gather_bytes(int64_t shard_bytes, int n);
int64_t tt_comm_reduce_scatter_bytes(int64_t shard_bytes, int n);
int64_t tt_comm_all_reduce_bytes(int64_t elements, int64_t element_bytes, int n, int me);
int64_t tt_comm_reduce_scatter_workspace(int64_t shard_bytes, int n);
int64_t tt_comm_all_reduce_workspace(int64_t elements, int64_t element_bytes, int n);

/** all_reduce splits its elements into n pieces: piece i is [i*chunk, min((i+1)*chunk, elements)), chunk = ceil. */
int64_t tt_comm_all_reduce_chunk(int64_t elements, int n);

#endif
