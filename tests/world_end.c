/* Not a test: a job that ends in a chosen way, for world_end.sh. */
#include "world/world.h"

#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "well";
    tt_world *w = NULL;
    tt_error err = {0};
    tt_status st = TT_OK;
    const char *rank = getenv("OMPI_COMM_WORLD_RANK");
    if (strcmp(how, "early") == 0 || (strcmp(how, "early-one") == 0 && rank && atoi(rank) == 1))
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
    } else if (w && strcmp(how, "mixed") == 0) {
        if (tt_world_rank(w) == 2) /* leaves at once, while the others still want to agree */
            st = tt_fail(&err, TT_ERR_DATA, "the file is cut");
        else
            st = tt_world_agree(w, TT_OK, &err);
    } else if (w && strcmp(how, "same") == 0) {
        st = tt_fail(&err, TT_ERR_CONFIG, "tp = 3 does not fit");
    } else if (w && strcmp(how, "all") == 0) {
        st = tt_fail(&err, TT_ERR_STOPPED, "checkpoint written at step 7");
    }
    st = tt_world_close(&w, st, &err);
    return tt_exit_code(st);
}
