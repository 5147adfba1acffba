/* See comm.h. */
#include "comm/comm.h"

#include <stdlib.h>
#include <string.h>

/* Pieces are padded to 64 bytes in the workspace, so that operands stay aligned. */
static int64_t align64(int64_t bytes)
{
    return (bytes + 63) & ~(int64_t)63;
}

int64_t tt_comm_all_gather_bytes(int64_t shard_bytes, int n)
{
    return shard_bytes * (n - 1);
}

int64_t tt_comm_reduce_scatter_bytes(int64_t shard_bytes, int n)
{
    return shard_bytes * (n - 1);
}

int64_t tt_comm_all_reduce_chunk(int64_t elements, int n)
{
    return (elements + n - 1) / n;
}

/* Length of piece i. */
static int64_t piece(int64_t elements, int n, int i)
{
    int64_t chunk = tt_comm_all_reduce_chunk(elements, n);
    int64_t left = elements - chunk * i;
    return left < 0 ? 0 : left < chunk ? left : chunk;
}

int64_t tt_comm_all_reduce_bytes(int64_t elements, int64_t element_bytes, int n, int me)
{
    int64_t mine = piece(elements, n, me);
    /* everybody else's pieces go out to their owners, then my finished piece to everybody */
    return (elements - mine + mine * (n - 1)) * element_bytes;
}

int64_t tt_comm_reduce_scatter_workspace(int64_t shard_bytes, int n)
{
    return align64(shard_bytes * n);
}

int64_t tt_comm_all_reduce_workspace(int64_t elements, int64_t element_bytes, int n)
{
    return align64(tt_comm_all_reduce_chunk(elements, n) * n * element_bytes);
}

static tt_status self_open_group(tt_comm *comm, int axes, int queue, tt_error *err)
{
    (void)queue;
    if (tt_mesh_group_size(&comm->mesh, axes) != 1)
        return tt_fail(err, TT_ERR_INTERNAL, "a group of several ranks was asked of a world of one");
    return TT_OK;
}

/* With one rank every collective is a copy; nothing is left to poll. */
static tt_status self_start(tt_comm *comm, const tt_comm_call *call, tt_comm_request **request, tt_error *err)
{
    (void)comm;
    (void)err;
    *request = NULL;
    for (int i = 0; i < call->n; i++) {
        size_t bytes = tt_dtype_size(call->in[i].dtype);
        for (int d = 0; d < call->in[i].ndim; d++)
            bytes *= (size_t)call->in[i].dim[d];
        if (call->out[i].data != call->in[i].data)
            memcpy(call->out[i].data, call->in[i].data, bytes);
    }
    return TT_OK;
}

static int self_poll(tt_comm *comm, tt_comm_request *request)
{
    (void)comm;
    (void)request;
    return 1;
}

static void self_destroy(tt_comm *comm)
{
    free(comm);
}

static const tt_comm_table self_table = {"self", self_open_group, self_start, self_poll, self_destroy};

tt_status tt_comm_create(tt_world *world, const tt_mesh *mesh, tt_comm **comm, tt_error *err)
{
    if (mesh->size > 1)
        return tt_comm_create_mpi(world, mesh, comm, err);
    *comm = calloc(1, sizeof **comm);
    TT_ASSERT(*comm);
    (*comm)->table = &self_table;
    (*comm)->mesh = *mesh;
    return TT_OK;
}

void tt_comm_destroy(tt_comm **comm)
{
    if (*comm)
        (*comm)->table->destroy(*comm);
    *comm = NULL;
}
