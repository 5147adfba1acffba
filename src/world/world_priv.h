/* What world.c asks of a way to start (boot): a table of host collectives over opaque state. */
#ifndef TT_WORLD_WORLD_PRIV_H
#define TT_WORLD_WORLD_PRIV_H

#include "world/world.h"

typedef enum tt_fold { TT_FOLD_SUM_I64, TT_FOLD_MAX_I64, TT_FOLD_MAX_F64 } tt_fold;

/* One agreement: what this rank says, and what all ranks said. */
typedef struct tt_vote {
    int failed, closing;                 /* in: this rank has an error; it is leaving the job */
    int first_failed;                    /* out: lowest failing rank, or the number of ranks */
    int all_failed, some_close, all_close; /* out */
} tt_vote;

/* Every entry is collective and ends the job itself when the library below fails. */
typedef struct tt_boot {
    const char *name;
    void (*barrier)(void *ctx);
    void (*broadcast)(void *ctx, void *data, size_t bytes, int root);
    void (*fold)(void *ctx, void *data, int n, tt_fold kind);
    /* Rank 0's `into` gets each rank's bytes one after the other; sizes[] is known on rank 0. */
    void (*collect)(void *ctx, const void *data, size_t bytes, void *into, const uint64_t *sizes);
    /* Puts all ranks' votes together. limit_s > 0: give up after that time and return -1 (else 0). */
    int (*vote)(void *ctx, tt_vote *vote, double limit_s);
    void (*leave)(void *ctx);                /* orderly end; frees ctx */
    void (*abort)(void *ctx, int exit_code); /* end of the whole job; does not return when there are other ranks */
    void *(*mpi_comm)(void *ctx);            /* MPI_Comm * or NULL */
} tt_boot;

struct tt_world {
    int rank, size, local_rank, local_size, node, nodes;
    int ended; /* the job's error is agreed with a rank that is leaving: no further agreement will find it */
    const tt_boot *boot;
    void *ctx;
};

/** Fill `w` for one rank alone. */
tt_status tt_boot_single_open(tt_world *w, tt_error *err);

/** Fill `w` from MPI_COMM_WORLD. Errors: TT_ERR_LAUNCH (built without MPI; another MPI library than the launcher's:
 *  `expected` ranks, 0 = unknown, are not there), TT_ERR_NOMEM. */
tt_status tt_boot_mpi_open(tt_world *w, int expected, tt_error *err);

/* How the process was started, read from the environment alone. */
typedef struct tt_launch {
    int mpi;           /* 1: call MPI, 0: alone */
    int expected;      /* ranks that the launcher announced, 0 = unknown */
    int local_ranks;   /* ranks on this node when announced, 0 = unknown */
    const char *how;   /* "mpirun", "srun", "no launcher", … for the log */
} tt_launch;

/** Decide from the environment; getenv-like `get` is given for tests. Calls no library.
 *  Errors: TT_ERR_LAUNCH when several ranks were asked for but this start would make lone ones. */
tt_status tt_launch_detect(const char *(*get)(const char *name), tt_launch *launch, tt_error *err);

#endif
