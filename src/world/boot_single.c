/* One rank alone: every collective is already done. */
#include "world/world_priv.h"

#include <string.h>

static void nothing(void *ctx)
{
    (void)ctx;
}

static void keep(void *ctx, void *data, size_t bytes, int root)
{
    (void)ctx, (void)data, (void)bytes, (void)root;
}

static void fold(void *ctx, void *data, int n, tt_fold kind)
{
    (void)ctx, (void)data, (void)n, (void)kind;
}

static void collect(void *ctx, const void *data, size_t bytes, void *into, const uint64_t *sizes)
{
    (void)ctx, (void)sizes;
    if (bytes)
        memcpy(into, data, bytes);
}

static int vote(void *ctx, tt_vote *v, double limit_s)
{
    (void)ctx, (void)limit_s;
    v->first_failed = v->failed ? 0 : 1;
    v->all_failed = v->failed;
    v->some_close = v->all_close = v->closing;
    return 0;
}

static void end(void *ctx, int exit_code)
{
    (void)ctx, (void)exit_code; /* no other rank is left waiting */
}

static void *no_comm(void *ctx)
{
    (void)ctx;
    return NULL;
}

static const tt_boot single = {
    .name = "single",
    .barrier = nothing,
    .broadcast = keep,
    .fold = fold,
    .collect = collect,
    .vote = vote,
    .leave = nothing,
    .abort = end,
    .mpi_comm = no_comm,
};

tt_status tt_boot_single_open(tt_world *w, tt_error *err)
{
    (void)err;
    *w = (tt_world){.size = 1, .local_size = 1, .nodes = 1, .boot = &single};
    return TT_OK;
}
