/* The world over MPI, for the host's set-up and control. Errors travel on a communicator of their own, so that an
 * agreement never meets another collective that some rank is still waiting in. */
#include "world/world_priv.h"

#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define CHUNK ((size_t)1 << 30) /* MPI counts are ints */
#define TAG_COLLECT 71
#define N_VOTE 4

typedef struct {
    MPI_Comm comm;    /* collectives, and what comm_mpi duplicates */
    MPI_Comm control; /* agreements only */
    int rank, size;
    int mine[N_VOTE], all[N_VOTE]; /* the agreement under way: a late one may still write here after we gave up */
} mpi_world;

static void barrier(void *ctx)
{
    MPI_Barrier(((mpi_world *)ctx)->comm);
}

static void broadcast(void *ctx, void *data, size_t bytes, int root)
{
    char *p = data;
    while (bytes > 0) {
        size_t n = bytes < CHUNK ? bytes : CHUNK;
        MPI_Bcast(p, (int)n, MPI_BYTE, root, ((mpi_world *)ctx)->comm);
        p += n;
        bytes -= n;
    }
}

static void fold(void *ctx, void *data, int n, tt_fold kind)
{
    MPI_Datatype type = kind == TT_FOLD_MAX_F64 ? MPI_DOUBLE : MPI_INT64_T;
    MPI_Op op = kind == TT_FOLD_SUM_I64 ? MPI_SUM : MPI_MAX;
    MPI_Allreduce(MPI_IN_PLACE, data, n, type, op, ((mpi_world *)ctx)->comm);
}

static void send_chunks(mpi_world *m, const char *p, size_t bytes)
{
    while (bytes > 0) {
        size_t n = bytes < CHUNK ? bytes : CHUNK;
        MPI_Send(p, (int)n, MPI_BYTE, 0, TAG_COLLECT, m->comm);
        p += n;
        bytes -= n;
    }
}

static void recv_chunks(mpi_world *m, char *p, size_t bytes, int from)
{
    while (bytes > 0) {
        size_t n = bytes < CHUNK ? bytes : CHUNK;
        MPI_Recv(p, (int)n, MPI_BYTE, from, TAG_COLLECT, m->comm, MPI_STATUS_IGNORE);
        p += n;
        bytes -= n;
    }
}

/* Rank by rank: bounded memory on rank 0, no limit on the total. */
static void collect(void *ctx, const void *data, size_t bytes, void *into, const uint64_t *sizes)
{
    mpi_world *m = ctx;
    if (m->rank != 0) {
        send_chunks(m, data, bytes);
        return;
    }
    char *p = into;
    if (bytes)
        memcpy(p, data, bytes);
    for (int r = 1; r < m->size; r++) {
        p += sizes[r - 1];
        recv_chunks(m, p, (size_t)sizes[r], r);
    }
}

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Polled, first eagerly and then with pauses, so that waiting ranks leave the cores to working ones. */
static int wait_done(MPI_Request *request, double limit_s)
{
    double end = limit_s > 0 ? seconds() + limit_s : 0;
    for (long polls = 0;; polls++) {
        int done = 0;
        MPI_Test(request, &done, MPI_STATUS_IGNORE);
        if (done)
            return 1;
        if (polls > 1000)
            nanosleep(&(struct timespec){.tv_nsec = polls > 5000 ? 1000000 : 20000}, NULL);
        if (end > 0 && seconds() > end)
            return 0;
    }
}

static int vote(void *ctx, tt_vote *v, double limit_s)
{
    mpi_world *m = ctx;
    MPI_Request request;
    const int mine[N_VOTE] = {v->failed ? m->rank : m->size, v->failed, !v->closing, v->closing};
    memcpy(m->mine, mine, sizeof mine);
    MPI_Iallreduce(m->mine, m->all, N_VOTE, MPI_INT, MPI_MIN, m->control, &request);
    if (!wait_done(&request, limit_s))
        return -1;
    v->first_failed = m->all[0];
    v->all_failed = m->all[1];
    v->some_close = !m->all[2];
    v->all_close = m->all[3];
    return 0;
}

static void leave(void *ctx)
{
    mpi_world *m = ctx;
    MPI_Comm_free(&m->control);
    MPI_Comm_free(&m->comm);
    free(m);
    MPI_Finalize();
}

static void abort_job(void *ctx, int exit_code)
{
    MPI_Abort(((mpi_world *)ctx)->comm, exit_code);
}

static void *mpi_comm(void *ctx)
{
    return &((mpi_world *)ctx)->comm;
}

static const tt_boot mpi = {
    .name = "mpi",
    .barrier = barrier,
    .broadcast = broadcast,
    .fold = fold,
    .collect = collect,
    .vote = vote,
    .leave = leave,
    .abort = abort_job,
    .mpi_comm = mpi_comm,
};

/* Nodes are numbered by their lowest rank. */
static void find_places(tt_world *w, MPI_Comm comm)
{
    MPI_Comm node;
    MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, w->rank, MPI_INFO_NULL, &node);
    MPI_Comm_rank(node, &w->local_rank);
    MPI_Comm_size(node, &w->local_size);
    int leads = w->local_rank == 0, before = 0;
    MPI_Exscan(&leads, &before, 1, MPI_INT, MPI_SUM, comm);
    w->node = w->rank == 0 ? 0 : before; /* Exscan leaves rank 0's result undefined */
    MPI_Bcast(&w->node, 1, MPI_INT, 0, node);
    MPI_Allreduce(&leads, &w->nodes, 1, MPI_INT, MPI_SUM, comm);
    MPI_Comm_free(&node);
}

tt_status tt_boot_mpi_open(tt_world *w, int expected, tt_error *err)
{
    int level = MPI_THREAD_SINGLE, size = 0;
    mpi_world *m = malloc(sizeof *m);
    if (!m)
        return tt_fail(err, TT_ERR_NOMEM, "joining the job: out of memory");
    MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &level);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (level < MPI_THREAD_FUNNELED || (expected > 0 && size != expected)) {
        MPI_Finalize();
        free(m);
        if (level < MPI_THREAD_FUNNELED)
            return tt_fail(err, TT_ERR_LAUNCH,
                           "joining the job: this MPI library offers thread level %d, below "
                           "MPI_THREAD_FUNNELED = %d; "
                           "use one that was built with threads",
                           level, MPI_THREAD_FUNNELED);
        return tt_fail(err, TT_ERR_LAUNCH,
                       "joining the job: the launcher announced %d ranks but MPI found %d; the launcher belongs to "
                       "another MPI library than the program: use the mpirun of the library it was built with, or "
                       "'srun --mpi=pmix'",
                       expected, size);
    }
    MPI_Comm_dup(MPI_COMM_WORLD, &m->comm);
    MPI_Comm_dup(MPI_COMM_WORLD, &m->control);
    *w = (tt_world){.size = size, .boot = &mpi, .ctx = m};
    MPI_Comm_rank(m->comm, &w->rank);
    m->rank = w->rank;
    m->size = size;
    find_places(w, m->comm);
    return TT_OK;
}
