# How a job ends: one message and one exit code, and no rank left waiting.
n=0
out=$(mktemp)
trap 'rm -f "$out"' EXIT
check() { # name, condition as a command
    n=$((n + 1))
    name=$1
    shift
    if "$@"; then echo "ok $n - $name"; else
        echo "not ok $n - $name"
        sed 's/^/# /' "$out" >&2
    fi
}
run() { # how, ranks
    TITAN_TEST_RANKS=$2 TITAN_TEST_TIMEOUT=60 sh "$top_srcdir/tests/run-mpi.sh" "$top_builddir/tests/world_end" "$1" >"$out" 2>&1
    rc=$?
}
said() { # this message and no other
    [ "$(grep -c "^$1" "$out")" = 1 ] && [ "$(grep -cE '^titan: (error|stopped): ' "$out")" = 1 ]
}
command -v mpirun >/dev/null 2>&1 || { echo "1..0 # SKIP no mpirun"; exit 0; }
"$top_builddir/tests/world_end" early >"$out" 2>&1
rc=$?
check "alone, a mistake before the world: exit code" [ $rc = 64 ]
check "alone, a mistake before the world: the message" said 'titan: error: early mistake$'
run well 4
check "a good end: exit code" [ $rc = 0 ]
check "a good end says nothing" [ "$(grep -c error "$out")" = 0 ]
run agreed 4
check "an agreed error: exit code" [ $rc = 78 ]
check "an agreed error: one message" said 'titan: error: rank 3: tp does not fit$'
run all 4
check "all stop: exit code" [ $rc = 75 ]
check "all stop: one message" said 'titan: stopped: checkpoint written at step 7$'
run one 4
check "one rank fails while the others wait: exit code" [ $rc = 74 ]
check "one rank fails while the others wait: its message" said 'titan: error: rank 2: a part is damaged$'
run mixed 4
check "one rank leaves while the others agree: exit code" [ $rc = 74 ]
check "one rank leaves while the others agree: one message" said 'titan: error: rank 2: the file is cut$'
run same 4
check "all make the same mistake: exit code" [ $rc = 78 ]
check "all make the same mistake: nobody is blamed" said 'titan: error: tp = 3 does not fit$'
run early-one 4
check "one rank makes a mistake before the world: exit code" [ $rc = 64 ]
check "one rank makes a mistake before the world: its message" said 'titan: error: rank 1: early mistake$'
run early 4
check "all ranks make a mistake before the world: exit code" [ $rc = 64 ]
check "all ranks make a mistake before the world: one message" said 'titan: error: early mistake$'
echo "1..$n"
