/* Built without MPI: there is no communicator of several ranks. */
#include "comm/comm.h"

tt_status tt_comm_create_mpi(tt_world *world, const tt_mesh *mesh, tt_comm **comm, tt_error *err)
{
    (void)world;
    (void)mesh;
    (void)comm;
    return tt_fail(err, TT_ERR_LAUNCH, "this titan was built without MPI and runs one rank; configure with --with-mpi");
}
