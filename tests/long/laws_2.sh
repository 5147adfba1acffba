#!/bin/sh
# Laws 1 and 4 on 2 ranks: the whole matrix.
TITAN_TEST_RANKS=2 TITAN_LONG=1 TITAN_TEST_TIMEOUT=1500
export TITAN_TEST_RANKS TITAN_TEST_TIMEOUT TITAN_LONG
exec sh "$top_srcdir/tests/run-mpi.sh" "$top_builddir/tests/laws_ranks.mpi"
