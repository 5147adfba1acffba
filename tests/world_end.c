/* Not a test: a job that ends in a chosen way, for world_end.sh. */
#include "world/world.h"

#include <string.h>

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "well";
    tt_world *w = NULL;
    tt_error err = {0};
    tt_status st = TT_OK;
    if (strcmp(how, "early") == 0)
        st = tt_fail(&err, TT_ERR_USAGE, "early mistake");
    else
        st = tt_world_open(&w, &err);
    if (w && strcmp(how, "one") == 0) {
        if (tt_world_rank(w) == 2)
            st = tt_fail(&err, TT_ERR_CKPT, "a part is damaged");
        else
            tt_world_barrier(w); /* rank 2 never comes */
    } else if (w && strcmp(how, "agreed") == 0) {
        st = tt_world_rank(w) == 3 ? tt_fail(&err, TT_ERR_MESH, "tp does not fit") : TT_OK;
        st = tt_world_agree(w, st, &err);
    } else if (w && strcmp(how, "all") == 0) {
        st = tt_fail(&err, TT_ERR_STOPPED, "checkpoint written at step 7");
    }
    st = tt_world_close(&w, st, &err);
    return tt_exit_code(st);
}
