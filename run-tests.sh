#!/bin/sh
# Everything that must pass before a change is merged, on a fresh Debian 12 or any machine that has the packages:
#   1 build with -Werror, make check    2 the same under ASan and UBSan    3 make distcheck
#   4 some of the slow tests, chosen by a printed seed
# Ends with "N passed, N failed" over all parts; the exit status is 0 only when nothing failed.
# Environment: JOBS (processes at once), SEED and SAMPLE (slow tests), BUILD (folder for the builds).
set -u
cd "$(dirname "$0")" || exit 1
src=$(pwd)
build=${BUILD:-$src/build-ci}
jobs=${JOBS:-$(nproc)}
seed=${SEED:-$(date +%s)}
sample=${SAMPLE:-2}
passed=0 failed=0 skipped=0

. build-aux/packages.sh
# shellcheck disable=SC2154
test_packages() { install_packages $titan_packages mandoc hdf5-tools bible-kjv chromium; }

count() { # word, file: the sum over automake's summaries in the log
    sed -n "s/^# $1: *\([0-9][0-9]*\)$/\1/p" "$2" | awk '{ n += $1 } END { print n + 0 }'
}

part() { # name, log, command…: run it, add up its tests; a failure that no test explains counts as one
    name=$1 log=$2
    shift 2
    start=$(date +%s)
    echo "== $name"
    "$@" >"$log" 2>&1
    rc=$?
    p=$(count PASS "$log") s=$(count SKIP "$log")
    f=$(($(count FAIL "$log") + $(count ERROR "$log") + $(count XPASS "$log")))
    if [ $rc != 0 ] && [ "$f" = 0 ]; then
        f=1
    fi
    if [ "$f" != 0 ]; then
        grep -E '^(FAIL|ERROR|XPASS): ' "$log" | sort -u | head -n 50
        tail -n 40 "$log"
    fi
    passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
    echo "   $p passed, $f failed, $s skipped in $(($(date +%s) - start)) s ($log)"
    [ "$f" = 0 ]
}

configured() { # folder, configure options…
    dir=$1
    shift
    rm -rf "$dir" && mkdir -p "$dir" && cd "$dir" && "$src/configure" "$@" && make -j "$jobs" && make -j "$jobs" check
}
plain() { (configured "$build/plain" --enable-werror); }
sanitized() { (configured "$build/sanitized" --enable-werror --enable-sanitizer=address,undefined CFLAGS='-O1 -g'); }
distchecked() { (cd "$build/plain" && make -j "$jobs" distcheck); }
slow() { (cd "$build/plain" && make check-long SEED="$seed" SAMPLE="$sample"); }

mkdir -p "$build"
if part "packages" "$build/packages.log" test_packages && part "autoreconf" "$build/autoreconf.log" autoreconf -fi; then
    if part "build and check" "$build/plain.log" plain; then
        part "distcheck" "$build/distcheck.log" distchecked
        echo "== slow tests: SEED=$seed SAMPLE=$sample"
        part "check-long" "$build/long.log" slow
    fi
    part "ASan and UBSan" "$build/sanitized.log" sanitized
fi
echo "$skipped skipped"
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
