#!/bin/sh
# One message and one exit code for the job, whichever rank fails and however.
prog=$top_builddir/tests/world_fail.bin
n=0
check() { # how want_code want_message
    n=$((n + 1))
    out=$(sh "$top_srcdir/tests/run-mpi.sh" "$prog" "$1" 2>&1)
    code=$?
    lines=$(printf '%s\n' "$out" | grep '^titan: error')
    if [ "$code" = "$2" ] && [ "$lines" = "$3" ]; then
        echo "ok $n - $1"
    else
        echo "not ok $n - $1"
        echo "# exit code $code, want $2; messages: $lines"
    fi
}
if ! command -v "${MPIRUN:-mpirun}" >/dev/null 2>&1; then
    echo "1..0 # SKIP no mpirun"
    exit 0
fi
echo "1..5"
check well 0 ""
check before 78 "titan: error: bad key"
check agreed 74 "titan: error: rank 1: no space"
check end 74 "titan: error: rank 3: hash differs"
check alone 74 "titan: error: rank 2: shard is cut"
