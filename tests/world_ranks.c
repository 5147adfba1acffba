/* The world of four ranks: places, collectives, and one rank's error becoming everyone's. */
#include "tap_world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void test_collectives(tt_world *w, int rank, int size)
{
    int64_t v[2] = {rank, -rank};
    tt_world_sum_i64(w, v, 2);
    ok(v[0] == size * (size - 1) / 2 && v[1] == -v[0], "sum of the ranks");
    int64_t m = rank == 1 ? (int64_t)1 << 40 : rank;
    tt_world_max_i64(w, &m, 1);
    is_int(m, (int64_t)1 << 40, "max of 64-bit integers");
    double d = -0.5 * rank - 1;
    tt_world_max_f64(w, &d, 1);
    close_to(d, -1.0, 0, "max of doubles");
    char text[8] = "no";
    if (rank == 2)
        strcpy(text, "yes");
    tt_world_broadcast(w, text, sizeof text, 2);
    is_str(text, "yes", "broadcast from rank 2");
    tt_world_barrier(w);
}

static void test_gather(tt_world *w, int rank, int size)
{
    size_t off[65] = {0};
    void *all = &off;
    tt_error err = {0};
    char mine[64];
    memset(mine, 'a' + rank, sizeof mine);
    is_int(tt_world_gather(w, mine, (size_t)rank * 3, &all, off, &err), TT_OK, "gather of unequal sizes");
    int good = rank == 0 ? all != NULL : all == NULL;
    for (int r = 0; rank == 0 && r < size; r++) {
        good &= off[r + 1] - off[r] == (size_t)r * 3;
        for (size_t i = off[r]; i < off[r + 1]; i++)
            good &= ((char *)all)[i] == 'a' + r;
    }
    ok(good, "bytes in rank order on rank 0, nothing elsewhere");
    free(all);
}

static void test_agree(tt_world *w, int rank)
{
    tt_error err = {0};
    is_int(tt_world_agree(w, TT_OK, &err), TT_OK, "all well");
    tt_status st = TT_OK;
    if (rank >= 2)
        st = tt_fail(&err, rank == 2 ? TT_ERR_DATA : TT_ERR_IO, "shard %d is missing", rank);
    is_int(tt_world_agree(w, st, &err), TT_ERR_DATA, "the first failing rank's status");
    is_str(err.text, "rank 2: shard 2 is missing", "the first failing rank's text");
    is_int(tt_world_agree(w, err.code, &err), TT_ERR_DATA, "agreeing again keeps the status");
    is_str(err.text, "rank 2: shard 2 is missing", "agreeing again names the rank once");
    st = tt_fail(&err, TT_ERR_MESH, "the same for all");
    is_int(tt_world_agree(w, st, &err), TT_ERR_MESH, "all fail alike");
    is_str(err.text, "the same for all", "all fail alike: no rank is named");
    st = tt_fail(&err, TT_ERR_MESH, "not for all: %d", rank);
    is_int(tt_world_agree(w, st, &err), TT_ERR_MESH, "all fail, each with its own text");
    is_str(err.text, "rank 0: not for all: 0", "all fail, each with its own text: the first is named");
    is_int(tt_world_agree(w, rank == 3 ? TT_ERR_NOMEM : TT_OK, NULL), TT_ERR_NOMEM, "without a place for the text");
}

int main(void)
{
    tt_world *w = NULL;
    tt_error err = {0};
    if (tt_world_open(&w, &err) != TT_OK) {
        printf("Bail out! %s\n", err.text);
        return 1;
    }
    tap_join(w);
    int rank = tt_world_rank(w), size = tt_world_size(w);
    ok(size >= 4, "four ranks or more (%d)", size);
    is_str(tt_world_launcher(w), "mpi", "launcher");
    ok(tt_world_nodes(w) == 1 && tt_world_local_size(w) == size && tt_world_local_rank(w) == rank, "one node");
    ok(tt_world_mpi_comm(w) != NULL, "a communicator to build on");
    test_collectives(w, rank, size);
    test_gather(w, rank, size);
    test_agree(w, rank);
    int failed = done_testing();
    tt_world_close(&w, TT_OK, NULL);
    return failed;
}
