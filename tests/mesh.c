/* Meshes and placements: errors that say what fits, coordinates and groups, and boxes that cover each element once. */
#include "mesh/placement.h"
#include "tap.h"

#include <stdlib.h>
#include <string.h>

static void test_errors(void)
{
    static const struct {
        int degree[TT_N_AXES], size;
        const char *text;
    } rows[] = {
        {{1, 1, 4, 1, 2},
         4,
         "mesh pp 1 x dp_replicate 1 x dp_shard 4 x cp 1 x tp 2 needs 8 ranks but this job has 4; "
         "set "
         "parallelism.data_parallel_shard_degree to 2 (or -1 to fill)"},
        {{1, 1, -1, 1, 3},
         8,
         "mesh pp 1 x dp_replicate 1 x dp_shard -1 x cp 1 x tp 3: the product of the degrees other "
         "than "
         "dp_shard is 3, which does not divide the 8 ranks of this job; choose degrees whose "
         "product is one "
         "of 1, 2, 4, 8, or start another number of ranks"},
        {{1, 0, -1, 1, 1},
         8,
         "mesh degree dp_replicate = 0; use 1 or more, or -1 for one of them (fill)"},
        {{1, -1, -1, 1, 1},
         8,
         "mesh degree dp_shard = -1; use 1 or more, or -1 for one of them (fill)"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        tt_error err = {0};
        tt_mesh m;
        is_int(tt_mesh_create(rows[i].degree, rows[i].size, 0, &m, &err), TT_ERR_MESH, "row %zu is refused", i);
        is_str(err.text, rows[i].text, "row %zu says why", i);
    }
}

static void test_groups(void)
{
    const int degree[TT_N_AXES] = {2, 1, -1, 1, 3};
    const int masks[] = {TT_MASK(TT_TP), TT_MASK(TT_DP_SHARD), TT_MASK(TT_PP) | TT_MASK(TT_TP), TT_MASK_LOSS, 0};
    int wrong = 0;
    for (int r = 0; r < 24; r++) {
        tt_mesh m;
        wrong += tt_mesh_create(degree, 24, r, &m, NULL) != TT_OK || m.degree[TT_DP_SHARD] != 4;
        wrong += tt_mesh_rank_of(&m, m.coord) != r;
        for (size_t k = 0; k < sizeof masks / sizeof masks[0]; k++) {
            int n = tt_mesh_group_size(&m, masks[k]), me = tt_mesh_group_rank(&m, masks[k]);
            wrong += me < 0 || me >= n || tt_mesh_group_member(&m, masks[k], me) != r;
            for (int i = 1; i < n; i++)
                wrong += tt_mesh_group_member(&m, masks[k], i) <= tt_mesh_group_member(&m, masks[k], i - 1);
        }
    }
    is_int(wrong, 0, "24 ranks: coordinates, groups and members agree");
    tt_mesh m;
    char text[64];
    tt_mesh_create(degree, 24, 23, &m, NULL);
    is_str(tt_mesh_describe(&m, text, sizeof text), "pp 2 x dp_shard 4 x tp 3", "described");
    is_str(tt_mesh_mask_name(TT_MASK(TT_DP_SHARD) | TT_MASK(TT_TP), text, sizeof text), "dp_shard+tp", "a group's name");
    is_int(tt_mesh_group_member(&m, TT_MASK(TT_TP), 0), 21, "tp varies fastest");
}

/* Every element of a rows x cols tensor is in the box of exactly `want` ranks. */
static int miscovered(const int *degree, const tt_placement *place, int64_t rows, int64_t cols, int want)
{
    const int64_t shape[2] = {rows, cols};
    int size = 1, wrong = 0;
    for (int a = 0; a < TT_N_AXES; a++)
        size *= degree[a];
    int *seen = calloc((size_t)(rows * cols), sizeof *seen);
    for (int r = 0; r < size; r++) {
        tt_mesh m;
        int64_t start[2], count[2], local[2];
        tt_mesh_create(degree, size, r, &m, NULL);
        tt_placement_box(&m, place, 2, shape, start, count);
        tt_placement_local_shape(&m, place, 2, shape, local);
        for (int d = 0; d < 2; d++)
            wrong += count[d] < 0 || count[d] > local[d];
        for (int64_t i = 0; i < count[0]; i++)
            for (int64_t j = 0; j < count[1]; j++) {
                int64_t x = start[0] + i, y = start[1] + j;
                if (x < 0 || y < 0 || x >= rows || y >= cols)
                    wrong++;
                else
                    seen[x * cols + y]++;
            }
    }
    for (int64_t i = 0; i < rows * cols; i++)
        wrong += seen[i] != want;
    free(seen);
    return wrong;
}

static void test_boxes(void)
{
    static const tt_placement R = {TT_R, 0}, S0 = {TT_S, 0}, S1 = {TT_S, 1};
    const struct {
        int shard, cp, tp;
        tt_placement place[3]; /* dp_shard, cp, tp */
        int want;
        const char *what;
    } rows[] = {{4, 1, 1, {S0, R, R}, 1, "rows over 4"},
                {5, 1, 3, {S0, R, S1}, 1, "rows over 5, columns over 3"},
                {3, 1, 4, {S0, R, S0}, 1, "rows over 3 and then 4"},
                {3, 2, 2, {S0, S0, S1}, 1, "rows over 3 and then 2, columns over 2"},
                {3, 1, 2, {R, R, S0}, 3, "replicated on 3"}};
    static const int64_t sizes[][2] = {{1, 1}, {2, 3}, {7, 5}, {12, 8}, {13, 1}, {3, 17}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const int degree[TT_N_AXES] = {1, 1, rows[i].shard, rows[i].cp, rows[i].tp};
        const tt_placement place[TT_N_AXES] = {R, R, rows[i].place[0], rows[i].place[1], rows[i].place[2]};
        for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++)
            is_int(miscovered(degree, place, sizes[s][0], sizes[s][1], rows[i].want), 0, "%s: %lld x %lld",
                   rows[i].what, (long long)sizes[s][0], (long long)sizes[s][1]);
    }
}

static void test_moves(void)
{
    const tt_placement R = {TT_R, 0}, S0 = {TT_S, 0}, S1 = {TT_S, 1}, P = {TT_P, 0};
    close_to(tt_placement_move_bytes(R, R, 4, 100), 0, 0, "stays");
    close_to(tt_placement_move_bytes(R, S0, 4, 100), 0, 0, "a slice is free");
    close_to(tt_placement_move_bytes(S0, R, 4, 100), 300, 0, "all_gather of a shard");
    close_to(tt_placement_move_bytes(S0, S1, 4, 100), 75, 0, "all_to_all");
    close_to(tt_placement_move_bytes(P, R, 4, 100), 150, 0, "all_reduce");
    close_to(tt_placement_move_bytes(P, S0, 4, 100), 75, 0, "reduce_scatter");
    close_to(tt_placement_move_bytes(R, P, 4, 100), -1, 0, "nothing becomes partial");
    close_to(tt_placement_move_bytes(P, R, 1, 100), 0, 0, "one rank has nothing to send");
}

int main(void)
{
    test_errors();
    test_groups();
    test_boxes();
    test_moves();
    return done_testing();
}
