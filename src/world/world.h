/* The ranks of this job: who we are, how many, which node; and the few host collectives of set-up and control.
 *
 * Decided from the environment before any library is called: MPI when a launcher started several ranks, else alone.
 * One rank's error is the job's error: tt_world_agree gives every rank the first failing rank's code and text. */
#ifndef TT_WORLD_WORLD_H
#define TT_WORLD_WORLD_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

typedef struct tt_world tt_world;

/** Join the job. Collective. Errors: TT_ERR_LAUNCH (wrong launcher, named with the option to change). */
tt_status tt_world_open(tt_world **world, tt_error *err);

/** Leave the job. Every rank passes its own status; rank 0 prints the job's one message when it is an error.
 *  When a rank failed alone and others may wait in a collective, the job is aborted with the exit code of the status.
 *  *world == NULL with an error (it happened before the world was open) joins the job just to end it together.
 *  Collective when all ranks come here; ranks that are in tt_world_agree meanwhile learn the error there. Returns the
 *  job's status. */
tt_status tt_world_close(tt_world **world, tt_status st, const tt_error *err);

/** Who this rank is, and how many there are: in the job, then on its node. */
int tt_world_rank(const tt_world *world);
int tt_world_size(const tt_world *world);
int tt_world_local_rank(const tt_world *world); /* index on this node */
int tt_world_local_size(const tt_world *world); /* ranks on this node */
int tt_world_node(const tt_world *world);       /* node index, 0 .. nodes-1 */
/** Nodes of the job. */
int tt_world_nodes(const tt_world *world);
const char *tt_world_launcher(const tt_world *world); /* "single" | "mpi" */

/** All ranks get the lowest failing rank's status; err is filled with its text, "rank 3: …" unless all ranks failed with
 *  the same text. A failing rank that finds nobody for a minute ends the job. Collective. */
tt_status tt_world_agree(tt_world *world, tt_status st, tt_error *err);

/** Wait until all ranks are here. Collective. */
void tt_world_barrier(tt_world *world);
/** Rank root's bytes to all. Collective. */
void tt_world_broadcast(tt_world *world, void *data, size_t bytes, int root);
/** Element-wise sum or max of n int64 over all ranks, in place. Collective. */
void tt_world_sum_i64(tt_world *world, int64_t *data, int n);
void tt_world_max_i64(tt_world *world, int64_t *data, int n);
void tt_world_max_f64(tt_world *world, double *data, int n);
/** Gather each rank's bytes to rank 0, concatenated in rank order: *all is malloc'd (caller frees) and offsets[size+1]
 *  (caller's array) holds where each rank's bytes begin; other ranks get *all = NULL. Collective. */
tt_status tt_world_gather(tt_world *world, const void *data, size_t bytes, void **all, size_t *offsets, tt_error *err);

/** The communicator of the launcher for comm_mpi (an MPI_Comm *), NULL when alone. Borrowed. */
void *tt_world_mpi_comm(tt_world *world);

#endif
