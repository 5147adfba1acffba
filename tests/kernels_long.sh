# The kernel tests over their large shapes as well: each program is one check here.
cd "$top_builddir" || exit 99
echo 1..4
n=0
for t in kernels_rows kernels_linear kernels_loss kernels_attention; do
    n=$((n + 1))
    ${MAKE:-make} -s "tests/$t.t" >&2
    if TITAN_LONG=1 "tests/$t.t" >"tests/$t-long.out" 2>&1; then
        echo "ok $n - $t with large shapes"
        rm -f "tests/$t-long.out"
    else
        echo "not ok $n - $t with large shapes; see tests/$t-long.out"
    fi
done
