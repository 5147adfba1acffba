/* The world of several ranks: collectives, and one rank's error becoming every rank's. */
#include "tap_world.h"

#include <stdlib.h>
#include <string.h>

static void test_collectives(tt_world *world)
{
    int rank = tt_world_rank(world), size = tt_world_size(world);
    int64_t x[2] = {rank, -rank};
    tt_world_sum_i64(world, x, 2);
    ok(x[0] == size * (size - 1) / 2 && x[1] == -x[0], "sum over ranks");
    int64_t m = rank == 1 ? 50 : -rank;
    tt_world_max_i64(world, &m, 1);
    is_int(m, 50, "largest over ranks");
    double f = rank * 0.5;
    tt_world_max_f64(world, &f, 1);
    close_to(f, (size - 1) * 0.5, 0, "largest double");
    char text[8] = "";
    if (rank == 2)
        strcpy(text, "hello");
    tt_world_broadcast(world, text, sizeof text, 2);
    is_str(text, "hello", "broadcast from rank 2");
    is_int(tt_world_nodes(world), 1, "one node");
    is_int(tt_world_local_rank(world), rank, "local rank on one node");
    is_int(tt_world_local_size(world), size, "local size on one node");
    ok(tt_world_mpi_comm(world) != NULL, "lends its communicator");
}

/* Rank r gives r bytes of the letter 'a' + r: rank 0 gives none. */
static void test_gather(tt_world *world)
{
    tt_error err = {0};
    int rank = tt_world_rank(world), size = tt_world_size(world);
    char mine[64];
    void *all = NULL;
    size_t offsets[65] = {0};
    memset(mine, 'a' + rank, sizeof mine);
    is_int(tt_world_gather(world, mine, (size_t)rank, &all, offsets, &err), TT_OK, "gather");
    int good = rank == 0 ? all != NULL : all == NULL;
    for (int r = 0; rank == 0 && r < size; r++) {
        good = good && offsets[r + 1] - offsets[r] == (size_t)r;
        for (size_t i = offsets[r]; i < offsets[r + 1]; i++)
            good = good && ((char *)all)[i] == 'a' + r;
    }
    ok(good, "rank 0 has all bytes in rank order, the others none");
    free(all);
}

static void test_agree(tt_world *world)
{
    tt_error err = {0};
    int rank = tt_world_rank(world);
    tt_status st = TT_OK;
    is_int(tt_world_agree(world, TT_OK, &err), TT_OK, "all well");
    if (rank == 3)
        st = tt_fail(&err, TT_ERR_DATA, "shard 7 is cut");
    if (rank == 1)
        st = tt_fail(&err, TT_ERR_IO, "no space");
    st = tt_world_agree(world, st, &err);
    is_int(st, TT_ERR_IO, "the lowest failing rank's status");
    is_str(err.text, "rank 1: no space", "and its text, everywhere");
    st = tt_world_agree(world, st, &err);
    is_int(st, TT_ERR_IO, "agreeing again keeps the status");
    is_str(err.text, "rank 1: no space", "and does not prefix twice");
}

int main(void)
{
    tt_world *world = NULL;
    tt_error err = {0};
    tt_status st = tt_world_open(&world, &err);
    if (st != TT_OK)
        return tt_exit_code(tt_world_close(&world, st, &err));
    tap_join(world);
    if (tt_world_size(world) < 4)
        skip_all("needs four ranks");
    test_collectives(world);
    test_gather(world);
    test_agree(world);
    int failed = done_testing();
    st = tt_world_close(&world, TT_OK, NULL);
    return failed || st != TT_OK;
}
