/* Linked in place of boot_mpi.c when titan is built without MPI. */
#include "world/world_priv.h"

tt_status tt_boot_mpi_open(tt_world *w, int expected, tt_error *err)
{
    if (expected == 1)
        return tt_boot_single_open(w, err);
    return tt_fail(err, TT_ERR_LAUNCH,
                   "joining the job: a launcher started %d ranks but this program was built without MPI; "
                   "rebuild with ./configure --with-mpi, or start one rank without a launcher",
                   expected);
}
