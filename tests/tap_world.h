/* Joins TAP and the world for .mpi tests: after tap_join(world) each check is one agreement of all ranks. */
#ifndef TT_TESTS_TAP_WORLD_H
#define TT_TESTS_TAP_WORLD_H

#include "tap.h"
#include "world/world.h"

static inline int tap_world_any_failed(void *world, int failed)
{
    int64_t any = failed;
    tt_world_max_i64(world, &any, 1);
    return any != 0;
}

/** Make all later checks collective over world. Every rank must then run the same checks in the same order. */
static inline void tap_join(tt_world *world)
{
    tap_collective(tt_world_rank(world), tap_world_any_failed, world);
}

#endif
