#!/bin/sh
# Runs one .mpi test on four ranks, or says that it was skipped. Automake calls it with the test's path.
# The settings let root and machines with fewer cores than ranks run it, and containers that forbid process_vm_readv.
: "${MPIRUN:=mpirun}"
if ! command -v "$MPIRUN" >/dev/null 2>&1; then
    echo "1..0 # SKIP no mpirun"
    exit 0
fi
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_mpi_yield_when_idle=1
export OMPI_MCA_btl_vader_single_copy_mechanism=none
export OPENBLAS_NUM_THREADS=1
# What MPI's plug-ins leave behind has no name any more once they are unloaded, so it cannot be told from ours: leaks are
# looked for in the .t tests.
export ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0"
exec timeout -k 5 "${TITAN_TEST_TIMEOUT:-300}" "$MPIRUN" -n "${TITAN_TEST_RANKS:-4}" --bind-to none "$@"
