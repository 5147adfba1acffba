/* Collectives over MPI's point-to-point exchange calls, on host memory.
 *
 * MPI moves bytes; the sums are ours. reduce_scatter and the first half of all_reduce send each member its piece and
 * add what arrived in rank order; all_reduce then gathers the finished pieces. All calls are non-blocking and are
 * moved forward by poll, from the one thread that owns MPI. */
#include "comm/comm.h"

#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#define MAX_GROUPS 32
#define MAX_MESSAGE ((int64_t)1 << 30) /* MPI counts are int */

typedef struct group {
    int axes, queue;
    int n, me;
    MPI_Comm comm;
    int tag;
} group;

typedef struct comm_mpi {
    tt_comm base;
    MPI_Comm world; /* borrowed */
    int n_groups;
    group groups[MAX_GROUPS];
} comm_mpi;

struct tt_comm_request {
    tt_comm_call call;
    tt_tensor *in, *out; /* owned copies of the operand lists */
    group *g;
    int phase;
    int tag;
    MPI_Request *req;
    int n_req, cap_req;
};

static tt_status open_group(tt_comm *comm, int axes, int queue, tt_error *err)
{
    comm_mpi *c = (comm_mpi *)comm;
    for (int i = 0; i < c->n_groups; i++)
        if (c->groups[i].axes == axes && c->groups[i].queue == queue)
            return TT_OK;
    if (c->n_groups == MAX_GROUPS)
        return tt_fail(err, TT_ERR_INTERNAL, "more than %d communicators", MAX_GROUPS);
    group *g = &c->groups[c->n_groups++];
    g->axes = axes;
    g->queue = queue;
    g->n = tt_mesh_group_size(&comm->mesh, axes);
    g->me = tt_mesh_group_rank(&comm->mesh, axes);
    int color = tt_mesh_group_member(&comm->mesh, axes, 0);
    if (MPI_Comm_split(c->world, color, g->me, &g->comm) != MPI_SUCCESS)
        return tt_fail(err, TT_ERR_LAUNCH, "MPI_Comm_split failed for a group of %d ranks", g->n);
    return TT_OK;
}

static group *find_group(comm_mpi *c, int axes, int queue)
{
    for (int i = 0; i < c->n_groups; i++)
        if (c->groups[i].axes == axes && c->groups[i].queue == queue)
            return &c->groups[i];
    return NULL;
}

static int64_t elements(const tt_tensor *t)
{
    int64_t n = 1;
    for (int d = 0; d < t->ndim; d++)
        n *= t->dim[d];
    return n;
}

static MPI_Request *next_request(tt_comm_request *r)
{
    if (r->n_req == r->cap_req) {
        r->cap_req = r->cap_req ? 2 * r->cap_req : 16;
        r->req = realloc(r->req, (size_t)r->cap_req * sizeof *r->req);
        TT_ASSERT(r->req);
    }
    return &r->req[r->n_req++];
}

static void post_send(comm_mpi *c, tt_comm_request *r, const void *data, int64_t bytes, int to)
{
    c->base.payload_bytes += bytes;
    for (int64_t at = 0; at < bytes; at += MAX_MESSAGE) {
        int n = (int)(bytes - at < MAX_MESSAGE ? bytes - at : MAX_MESSAGE);
        MPI_Isend((const char *)data + at, n, MPI_BYTE, to, r->tag, r->g->comm, next_request(r));
    }
}

static void post_receive(tt_comm_request *r, void *data, int64_t bytes, int from)
{
    for (int64_t at = 0; at < bytes; at += MAX_MESSAGE) {
        int n = (int)(bytes - at < MAX_MESSAGE ? bytes - at : MAX_MESSAGE);
        MPI_Irecv((char *)data + at, n, MPI_BYTE, from, r->tag, r->g->comm, next_request(r));
    }
}

/* Everybody's `bytes` at data + member * bytes; mine is already there. Partners are taken in a rotated order. */
static void post_gather(comm_mpi *c, tt_comm_request *r, char *data, int64_t bytes)
{
    group *g = r->g;
    for (int k = 1; k < g->n; k++)
        post_receive(r, data + (int64_t)((g->me + g->n - k) % g->n) * bytes, bytes, (g->me + g->n - k) % g->n);
    for (int k = 1; k < g->n; k++)
        post_send(c, r, data + (int64_t)g->me * bytes, bytes, (g->me + k) % g->n);
}

/* Piece i of an all_reduce operand. */
static int64_t piece_length(int64_t n, int64_t chunk, int i)
{
    int64_t left = n - chunk * i;
    return left < 0 ? 0 : left < chunk ? left : chunk;
}

static void post_exchange(comm_mpi *c, tt_comm_request *r, const char *in, char *ws, int64_t n, int64_t chunk,
                          int64_t size)
{
    group *g = r->g;
    int64_t mine = piece_length(n, chunk, g->me) * size;
    for (int k = 1; k < g->n; k++) {
        int from = (g->me + g->n - k) % g->n;
        if (mine)
            post_receive(r, ws + from * chunk * size, mine, from);
    }
    for (int k = 1; k < g->n; k++) {
        int to = (g->me + k) % g->n;
        int64_t bytes = piece_length(n, chunk, to) * size;
        if (bytes)
            post_send(c, r, in + to * chunk * size, bytes, to);
    }
}

static void post_pieces(comm_mpi *c, tt_comm_request *r, char *out, int64_t n, int64_t chunk, int64_t size)
{
    group *g = r->g;
    int64_t mine = piece_length(n, chunk, g->me) * size;
    for (int k = 1; k < g->n; k++) {
        int from = (g->me + g->n - k) % g->n;
        int64_t bytes = piece_length(n, chunk, from) * size;
        if (bytes)
            post_receive(r, out + from * chunk * size, bytes, from);
    }
    for (int k = 1; k < g->n; k++)
        if (mine)
            post_send(c, r, out + g->me * chunk * size, mine, (g->me + k) % g->n);
}

/* out[i] (+)= sum over members, in rank order; my own contribution comes from `in`, the others' from ws. */
static void add_f32(float *out, const float *in, const float *ws, int64_t n, int64_t chunk, const group *g, int add)
{
    for (int64_t i = 0; i < n; i++) {
        float s = 0;
        for (int m = 0; m < g->n; m++) {
            float x = m == g->me ? in[i] : ws[m * chunk + i];
            s = m ? s + x : x;
        }
        out[i] = add ? out[i] + s : s;
    }
}

static void add_f64(double *out, const double *in, const double *ws, int64_t n, int64_t chunk, const group *g, int add)
{
    for (int64_t i = 0; i < n; i++) {
        double s = 0;
        for (int m = 0; m < g->n; m++)
            s += m == g->me ? in[i] : ws[m * chunk + i];
        out[i] = add ? out[i] + s : s;
    }
}

static void add_bf16(tt_bf16 *out, const tt_bf16 *in, const tt_bf16 *ws, int64_t n, int64_t chunk, const group *g,
                     int add)
{
    for (int64_t i = 0; i < n; i++) {
        float s = add ? tt_bf16_to_f32(out[i]) : 0;
        for (int m = 0; m < g->n; m++)
            s += tt_bf16_to_f32(m == g->me ? in[i] : ws[m * chunk + i]);
        out[i] = tt_f32_to_bf16(s);
    }
}

static void add_pieces(tt_dtype t, void *out, const void *in, const void *ws, int64_t n, int64_t chunk, const group *g,
                       int add)
{
    if (t == TT_F32)
        add_f32(out, in, ws, n, chunk, g, add);
    else if (t == TT_F64)
        add_f64(out, in, ws, n, chunk, g, add);
    else if (t == TT_BF16)
        add_bf16(out, in, ws, n, chunk, g, add);
    else
        TT_ASSERT(!"sums are made in f32, f64 or bf16");
}

static int64_t workspace_of(const tt_comm_request *r, int i)
{
    int64_t size = (int64_t)tt_dtype_size(r->in[i].dtype);
    if (r->call.kind == TT_COMM_REDUCE_SCATTER)
        return tt_comm_reduce_scatter_workspace(elements(&r->out[i]) * size, r->g->n);
    return tt_comm_all_reduce_workspace(elements(&r->in[i]), size, r->g->n);
}

static void post_first_phase(comm_mpi *c, tt_comm_request *r)
{
    char *ws = r->call.workspace;
    for (int i = 0; i < r->call.n; i++) {
        int64_t size = (int64_t)tt_dtype_size(r->in[i].dtype);
        int64_t n = elements(&r->in[i]);
        if (r->call.kind == TT_COMM_ALL_GATHER) {
            char *mine = (char *)r->out[i].data + r->g->me * n * size;
            if (mine != r->in[i].data)
                memcpy(mine, r->in[i].data, (size_t)(n * size));
            post_gather(c, r, r->out[i].data, n * size);
            continue;
        }
        int64_t chunk = r->call.kind == TT_COMM_REDUCE_SCATTER ? elements(&r->out[i])
                                                               : tt_comm_all_reduce_chunk(n, r->g->n);
        post_exchange(c, r, r->in[i].data, ws, n, chunk, size);
        ws += workspace_of(r, i);
    }
}

/* The pieces have arrived: add them; an all_reduce then sends the finished ones round. */
static void finish_exchange(comm_mpi *c, tt_comm_request *r)
{
    const char *ws = r->call.workspace;
    for (int i = 0; i < r->call.n; i++) {
        int64_t size = (int64_t)tt_dtype_size(r->in[i].dtype);
        int64_t n = elements(&r->in[i]);
        int reduce_scatter = r->call.kind == TT_COMM_REDUCE_SCATTER;
        int64_t chunk = reduce_scatter ? elements(&r->out[i]) : tt_comm_all_reduce_chunk(n, r->g->n);
        int64_t mine = piece_length(n, chunk, r->g->me);
        const char *in = (const char *)r->in[i].data + r->g->me * chunk * size;
        char *out = (char *)r->out[i].data + (reduce_scatter ? 0 : r->g->me * chunk * size);
        add_pieces(r->in[i].dtype, out, in, ws, mine, chunk, r->g, reduce_scatter && r->call.accumulate);
        ws += workspace_of(r, i);
        if (!reduce_scatter)
            post_pieces(c, r, r->out[i].data, n, chunk, size);
    }
}

static void request_free(tt_comm_request *r)
{
    free(r->in);
    free(r->req);
    free(r);
}

static tt_status start(tt_comm *comm, const tt_comm_call *call, tt_comm_request **request, tt_error *err)
{
    comm_mpi *c = (comm_mpi *)comm;
    group *g = find_group(c, call->axes, call->queue);
    if (!g)
        return tt_fail(err, TT_ERR_INTERNAL, "no communicator for axes 0x%x on queue %d", call->axes, call->queue);
    tt_comm_request *r = calloc(1, sizeof *r);
    TT_ASSERT(r);
    r->call = *call;
    r->g = g;
    r->tag = g->tag = (g->tag + 1) & 0x3fff;
    r->in = malloc(sizeof *r->in * (size_t)(2 * call->n));
    TT_ASSERT(r->in);
    r->out = r->in + call->n;
    memcpy(r->in, call->in, sizeof *r->in * (size_t)call->n);
    memcpy(r->out, call->out, sizeof *r->in * (size_t)call->n);
    post_first_phase(c, r);
    *request = r;
    return TT_OK;
}

static int poll(tt_comm *comm, tt_comm_request *r)
{
    comm_mpi *c = (comm_mpi *)comm;
    int done = 0;
    if (MPI_Testall(r->n_req, r->req, &done, MPI_STATUSES_IGNORE) != MPI_SUCCESS)
        return TT_ERR_LAUNCH;
    if (!done)
        return 0;
    r->n_req = 0;
    if (r->call.kind != TT_COMM_ALL_GATHER && r->phase == 0) {
        r->phase = 1;
        finish_exchange(c, r);
        if (r->n_req)
            return 0;
    }
    request_free(r);
    return 1;
}

static void destroy(tt_comm *comm)
{
    comm_mpi *c = (comm_mpi *)comm;
    for (int i = 0; i < c->n_groups; i++)
        MPI_Comm_free(&c->groups[i].comm);
    free(c);
}

static const tt_comm_table mpi_table = {"mpi", open_group, start, poll, destroy};

tt_status tt_comm_create_mpi(tt_world *world, const tt_mesh *mesh, tt_comm **comm, tt_error *err)
{
    MPI_Comm *w = tt_world_mpi_comm(world);
    if (!w)
        return tt_fail(
            err, TT_ERR_LAUNCH,
            "%d ranks but no MPI communicator; start them with mpirun or srun --mpi=pmix",
            tt_world_size(world));
    comm_mpi *c = calloc(1, sizeof *c);
    TT_ASSERT(c);
    c->base.table = &mpi_table;
    c->base.mesh = *mesh;
    c->world = *w;
    *comm = &c->base;
    return TT_OK;
}
