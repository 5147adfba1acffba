/* Helper of world_close.sh: ranks that fail in the ways a job can fail. argv[1] says how. */
#include "world/world.h"

#include <string.h>

int main(int argc, char **argv)
{
    tt_world *world = NULL;
    tt_error err = {0};
    const char *how = argc > 1 ? argv[1] : "";
    tt_status st = TT_OK;
    if (strcmp(how, "before") == 0) {
        st = tt_fail(&err, TT_ERR_CONFIG, "bad key");
        goto out;
    }
    TT_TRY(tt_world_open(&world, &err));
    int rank = tt_world_rank(world);
    if (strcmp(how, "alone") == 0 && rank == 2)
        TT_TRY(tt_fail(&err, TT_ERR_DATA, "shard is cut"));
    if (strcmp(how, "agreed") == 0)
        TT_TRY(tt_world_agree(world, rank == 1 ? tt_fail(&err, TT_ERR_IO, "no space") : TT_OK, &err));
    if (strcmp(how, "end") == 0 && rank == 3)
        TT_TRY(tt_fail(&err, TT_ERR_CKPT, "hash differs"));
    if (strcmp(how, "alone") == 0)
        tt_world_barrier(world); /* never completed by rank 2 */
out:
    return tt_exit_code(tt_world_close(&world, st, &err));
}
