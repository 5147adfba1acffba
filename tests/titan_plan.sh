# titan-plan from outside: exit codes, what it says, and that the same plan comes out twice.
n=0
plan=$top_builddir/titan-plan
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
want() { # name, exit code, text on either output, arguments…
    name=$1 code=$2 text=$3
    shift 3
    "$plan" "$@" >"$tmp/out" 2>&1
    got=$?
    n=$((n + 1))
    if [ $got -eq "$code" ] && grep -qF -e "$text" "$tmp/out"; then echo "ok $n - $name"; else
        echo "not ok $n - $name"
        { echo "# exit $got, want $code; text '$text' in:"; head -n 5 "$tmp/out" | sed 's/^/# /'; } >&2
    fi
}
want "unknown thing to print" 64 "--print=x: nothing of that name is printed" quickstart --print=x
want "a rank outside of the world" 64 "--rank=4: wants an integer from 0 to 3" quickstart --world=4 --rank=4
want "a mesh that does not fit" 78 "set parallelism.data_parallel_shard_degree" llama3_debugmodel --world=4 --parallelism.data_parallel_shard_degree=3
want "tensor parallel over nodes" 78 "would span nodes" llama3_405b --world=512 --ranks-per-node=4
want "too little memory" 70 "What to change:" llama3_8b --world=8 --limit=1
want "enough memory" 0 "fits: " llama3_8b --world=8 --limit=200
want "a key that is not built is only warned of" 0 "planned without it" llama3_debugmodel --world=2 --parallelism.pipeline_parallel_degree=2
want "summary of 405B" 0 "2625449459712 FLOPs a token" llama3_405b --world=512
want "all of it" 0 "part update" llama3_debugmodel --world=4 --rank=3 --print=all --parallelism.tensor_parallel_degree=2
want "fused ops, some off" 0 "add_rmsnorm off, rmsnorm_dx_add 12, linear_dx_sum 12" llama3_debugmodel --compile.disable=add_rmsnorm
want "no such fused op" 78 'did you mean "linear_dx_sum"?' llama3_debugmodel --compile.disable=linear_dx
want "help" 0 "--ranks-per-node=K" --help
"$plan" llama3_debugmodel --world=4 --rank=3 --print=program --parallelism.tensor_parallel_degree=2 >"$tmp/a" 2>/dev/null
"$plan" llama3_debugmodel --world=4 --rank=3 --print=program --parallelism.tensor_parallel_degree=2 >"$tmp/b" 2>/dev/null
n=$((n + 1))
if [ -s "$tmp/a" ] && cmp -s "$tmp/a" "$tmp/b"; then echo "ok $n - the same plan twice"; else echo "not ok $n - the same plan twice"; fi
"$plan" llama3_405b --world=512 --print=program >"$tmp/a" 2>/dev/null
n=$((n + 1))
if [ -s "$tmp/a" ] && [ "$(wc -l <"$tmp/a")" -lt 800 ]; then echo "ok $n - 405B is folded"; else echo "not ok $n - 405B is folded"; fi
echo "1..$n"
