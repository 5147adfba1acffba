#!/bin/sh
# The far device gives the CPU's bits: the whole matrix on 4 ranks.
TITAN_LONG=1 TITAN_TEST_TIMEOUT=1500
export TITAN_LONG TITAN_TEST_TIMEOUT
exec sh "$top_srcdir/tests/run-mpi.sh" "$top_builddir/tests/far_ranks.mpi"
