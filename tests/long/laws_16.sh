#!/bin/sh
# Laws 1 and 4 on 16 ranks: the whole matrix would take hours on two cores; a sample of it by SEED.
TITAN_TEST_RANKS=16 TITAN_LAWS=60 TITAN_SEED="${SEED:-1}" TITAN_TEST_TIMEOUT=1500
export TITAN_TEST_RANKS TITAN_TEST_TIMEOUT TITAN_LAWS TITAN_SEED
exec sh "$top_srcdir/tests/run-mpi.sh" "$top_builddir/tests/laws_ranks.mpi"
