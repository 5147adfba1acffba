# TITAN_MPI: MPI as a plain library (CC stays the plain compiler).
# Adds --with-mpi, sets MPI_CFLAGS, MPI_LIBS, MPI_VERSION and the automake conditional WITH_MPI.
# Tried: pkg-config ompi-c and mpi-c, then what `mpicc --showme` says. Without MPI programs run on one rank.
AC_DEFUN([TITAN_MPI], [
AC_ARG_VAR([MPICC], [MPI compiler driver that is asked for flags when pkg-config knows no MPI])
titan_mpi_libs=`${MPICC:-mpicc} --showme:link 2>/dev/null`
AS_IF([test -z "$titan_mpi_libs"], [titan_mpi_libs=-lmpi])
TITAN_DEP([MPI], [mpi], [several ranks], [ompi-c mpi-c], [mpi.h], [MPI_Init_thread], [$titan_mpi_libs], [optional])
AM_CONDITIONAL([WITH_MPI], [test $titan_have_mpi = yes])
AC_CHECK_PROGS([MPIRUN], [mpirun mpiexec], [no])
])
