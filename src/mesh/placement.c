/* See placement.h. */
#include "mesh/placement.h"

#include <stdio.h>
#include <string.h>

void tt_placement_local_shape(const tt_mesh *mesh, const tt_placement place[TT_N_AXES], int ndim,
                              const int64_t *shape, int64_t *local)
{
    for (int d = 0; d < ndim; d++)
        local[d] = shape[d];
    for (int a = 0; a < TT_N_AXES; a++)
        if (place[a].kind == TT_S)
            local[place[a].dim] = tt_ceil_div(local[place[a].dim], mesh->degree[a]);
}

void tt_placement_box(const tt_mesh *mesh, const tt_placement place[TT_N_AXES], int ndim, const int64_t *shape,
                      int64_t *start, int64_t *count)
{
    int64_t extent[4];
    for (int d = 0; d < ndim; d++) {
        start[d] = 0;
        count[d] = extent[d] = shape[d];
    }
    for (int a = 0; a < TT_N_AXES; a++) {
        if (place[a].kind != TT_S)
            continue;
        int d = place[a].dim;
        extent[d] = tt_ceil_div(extent[d], mesh->degree[a]);
        int64_t skip = extent[d] * mesh->coord[a];
        start[d] += skip;
        count[d] -= skip;
        if (count[d] > extent[d])
            count[d] = extent[d];
        if (count[d] < 0)
            count[d] = 0;
    }
}

double tt_placement_move_bytes(tt_placement from, tt_placement to, int degree, double bytes)
{
    if (degree == 1 || tt_placement_equal(from, to))
        return 0;
    double others = degree - 1;
    if (to.kind == TT_P)
        return -1;
    if (from.kind == TT_R)
        return 0; /* slice */
    if (from.kind == TT_S)
        return to.kind == TT_R ? bytes * others : bytes * others / degree; /* all_gather | all_to_all */
    return to.kind == TT_R ? 2 * bytes * others / degree : bytes * others / degree; /* all_reduce | reduce_scatter */
}

char *tt_placement_name(tt_placement p, char *text)
{
    if (p.kind == TT_S)
        snprintf(text, 8, "S%d", p.dim);
    else
        strcpy(text, p.kind == TT_R ? "R" : "P");
    return text;
}
