/* See mesh.h. */
#include "mesh/mesh.h"

#include <stdio.h>
#include <string.h>

const char *tt_axis_name(int axis)
{
    static const char *const name[TT_N_AXES] = {"pp", "dp_replicate", "dp_shard", "cp", "tp"};
    return axis >= 0 && axis < TT_N_AXES ? name[axis] : "?";
}

/* What the user may change so that the product becomes `size`: the divisors left for dp_shard. */
static tt_status does_not_fit(const int degree[TT_N_AXES], long product, int size, tt_error *err)
{
    char asked[128] = "";
    for (int a = 0; a < TT_N_AXES; a++) {
        size_t n = strlen(asked);
        snprintf(asked + n, sizeof asked - n, "%s%s %d", a ? " x " : "", tt_axis_name(a), degree[a]);
    }
    long others = 1;
    for (int a = 0; a < TT_N_AXES; a++)
        if (a != TT_DP_SHARD && degree[a] > 0)
            others *= degree[a];
    if (others <= size && size % others == 0)
        return tt_fail(err, TT_ERR_MESH,
                       "mesh %s needs %ld ranks but this job has %d; set "
                       "parallelism.data_parallel_shard_degree to %ld (or -1 to fill)",
                       asked, product, size, size / others);
    char fits[128] = "";
    for (int d = 1; d <= size && strlen(fits) < 100; d++)
        if (size % d == 0) {
            size_t n = strlen(fits);
            snprintf(fits + n, sizeof fits - n, "%s%d", n ? ", " : "", d);
        }
    return tt_fail(err, TT_ERR_MESH,
                   "mesh %s: the product of the degrees other than dp_shard is %ld, which does not divide the %d ranks "
                   "of this job; choose degrees whose product is one of %s, or start another number of ranks",
                   asked, others, size, fits);
}

tt_status tt_mesh_create(const int degree[TT_N_AXES], int size, int rank, tt_mesh *mesh, tt_error *err)
{
    *mesh = (tt_mesh){.size = size, .rank = rank};
    int fill = -1;
    long product = 1;
    for (int a = 0; a < TT_N_AXES; a++) {
        mesh->degree[a] = degree[a];
        if (degree[a] == -1 && fill < 0)
            fill = a;
        else if (degree[a] < 1)
            return tt_fail(err, TT_ERR_MESH,
                           "mesh degree %s = %d; use 1 or more, or -1 for one of them (fill)",
                           tt_axis_name(a), degree[a]);
        else
            product *= degree[a];
    }
    if (fill >= 0) {
        if (product > size || size % product)
            return does_not_fit(degree, product, size, err);
        mesh->degree[fill] = (int)(size / product);
    } else if (product != size) {
        return does_not_fit(degree, product, size, err);
    }
    for (int a = TT_N_AXES - 1, r = rank; a >= 0; a--) {
        mesh->coord[a] = r % mesh->degree[a];
        r /= mesh->degree[a];
    }
    return TT_OK;
}

int tt_mesh_rank_of(const tt_mesh *mesh, const int coord[TT_N_AXES])
{
    int r = 0;
    for (int a = 0; a < TT_N_AXES; a++)
        r = r * mesh->degree[a] + coord[a];
    return r;
}

int tt_mesh_group_size(const tt_mesh *mesh, int mask)
{
    int n = 1;
    for (int a = 0; a < TT_N_AXES; a++)
        if (mask & TT_MASK(a))
            n *= mesh->degree[a];
    return n;
}

int tt_mesh_group_rank(const tt_mesh *mesh, int mask)
{
    int r = 0;
    for (int a = 0; a < TT_N_AXES; a++)
        if (mask & TT_MASK(a))
            r = r * mesh->degree[a] + mesh->coord[a];
    return r;
}

int tt_mesh_group_member(const tt_mesh *mesh, int mask, int i)
{
    int coord[TT_N_AXES];
    memcpy(coord, mesh->coord, sizeof coord);
    for (int a = TT_N_AXES - 1; a >= 0; a--)
        if (mask & TT_MASK(a)) {
            coord[a] = i % mesh->degree[a];
            i /= mesh->degree[a];
        }
    return tt_mesh_rank_of(mesh, coord);
}

char *tt_mesh_mask_name(int mask, char *text, size_t size)
{
    text[0] = 0;
    for (int a = 0; a < TT_N_AXES; a++)
        if (mask & TT_MASK(a)) {
            size_t n = strlen(text);
            snprintf(text + n, size - n, "%s%s", n ? "+" : "", tt_axis_name(a));
        }
    return text;
}

char *tt_mesh_describe(const tt_mesh *mesh, char *text, size_t size)
{
    text[0] = 0;
    for (int a = 0; a < TT_N_AXES; a++)
        if (mesh->degree[a] > 1) {
            size_t n = strlen(text);
            snprintf(text + n, size - n, "%s%s %d", n ? " x " : "", tt_axis_name(a), mesh->degree[a]);
        }
    if (!text[0])
        snprintf(text, size, "1 rank");
    return text;
}
