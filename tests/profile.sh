# Where time goes and what is kept of it: the kinds of time add up, traces and the memory map, metrics of every rank.
. "$top_srcdir/tests/lib.sh"
trace=$top_builddir/tests/trace_check
dump=$work/out
long="--model.dim=128 --training.seq_len=64 --training.local_batch_size=4 --training.global_batch_size=16"

sums() { # the kinds add up to the step's time, what no kind explains is small, and each kind named here took some
    awk -v kinds="$1" 'BEGIN { split("data_loading forward_backward communication optimizer checkpoint validation other", all) }
        function of(kind) { match($0, "\"time_metrics/" kind "\\(s\\)\": "); return substr($0, RSTART + RLENGTH) + 0 }
        /end_to_end/ {
            n++; sum = 0; e = of("end_to_end")
            for (k in all) { t = of(all[k]); sum += t; total[all[k]] += t; if (t < -1e-6) bad = "negative " all[k] }
            whole += e; d = sum - e; if (d < 0) d = -d
            if (d > 1e-6 * e) bad = "step " n ": " sum " of " e
        }
        END {
            if (total["other"] > 0.1 * whole) bad = "other: " total["other"] " of " whole
            m = split(kinds, need)
            for (k = 1; k <= m; k++) if (total[need[k]] <= 0) bad = "no " need[k]
            if (bad || n < 5) { print "# " (bad ? bad : n " steps"); exit 1 }
        }' "$dump/metrics.jsonl" >&2
}

# shellcheck disable=SC2086
run "$train" "$tiny" $long --training.steps=10 --checkpoint.interval=4 --validation.enable --validation.freq=5 --validation.steps=2 --validation.seq_len=32 \
    --validation.dataset_path="$work/data" --profiling.enable_profiling --profiling.profile_freq=5 --profiling.profiler_active=2
check "a run with checkpoints, validations, traces" [ $rc = 0 ]
check "its kinds of time add up" sums "data_loading forward_backward optimizer checkpoint validation"
check "and are said at its end" grep -qE 'time: [0-9.]+ s: data_loading [0-9.]+ %, forward_backward [0-9.]+ %, optimizer .*checkpoint .*validation ' "$out"
check "a trace every five steps" [ "$(cd "$dump/profile_traces" && echo */*)" = "iteration_10/rank0_trace.json iteration_5/rank0_trace.json" ]
run "$trace" "$dump/profile_traces/iteration_10/rank0_trace.json" 0 1 2 2
check "it is whole: ops, layers, shapes, two steps; no overlap" [ $rc = 0 ]
check "it is said where it is" grep -q "trace of step 10 ([0-9]* instructions) in $dump/profile_traces/iteration_10/rank0_trace.json" "$dump/logs/rank-0.log"
printf '{"traceEvents": [{"ph": "X", "pid": 0, "tid": 3, "ts": 1, "dur": 5, "name": "nothing", "cat": "op"}]}' >"$work/bad.json"
run "$trace" "$work/bad.json" 0 1 2 2
check "the check itself can fail" [ $rc = 1 ]

run "$train" "$tiny" --job.dump_folder="$work/short" --training.steps=3 --profiling.enable_profiling
check "a run too short to trace ends well" [ $rc = 0 ]
check "and is told so" says "nothing will be written: a cycle of profiling.profile_freq = 10 steps ends at step 10, after training.steps = 3; use a smaller profile_freq"
run "$train" "$tiny" --profiling.profile_freq=4 --profiling.profiler_active=2
check "a cycle that is too short is refused" refused 78 "profiling.profile_freq = 4 (command line) does not fit profiling.profiler_warmup = 3 (default): a cycle holds the warmup and the active steps; raise profile_freq"
run "$train" "$tiny" --metrics.enable_wandb
check "W&B is refused with what to use" refused 78 "command line: metrics.enable_wandb = true asks for what this version does not have: reporting to Weights & Biases, which takes its Python client and a network; set metrics.enable_tensorboard = true and import the event files afterwards with \`wandb sync FOLDER\`; use false"

run "$train" "$tiny" --job.dump_folder="$work/table" --training.steps=3 --profile --device.cpu_isa=base
check "a run with --profile" [ $rc = 0 ]
check "says which kernels it used" says "kernels base, BLAS "
check "and prints ops with their share of the ceiling" grep -qE '^linear +[0-9.]+ +[0-9.]+ +[0-9.]+% +[0-9.]+ GFLOP/s +[0-9]+%$' "$out"
check "memory-bound ones too" grep -qE '^rmsnorm +[0-9.]+ +[0-9.]+ +[0-9.]+% +[0-9.]+ GB/s +[0-9]+%$' "$out"
check "what is not products" grep -qE '^a step .*% are products of linear layers, [0-9.]+% are not$' "$out"
check "and the ceilings" grep -qE '^ceilings +[0-9.]+ GFLOP/s \(product of 1024 x 1024 x 1024, float32\), [0-9.]+ GB/s \(copy of [0-9]+ MiB\); [0-9]+ threads$' "$out"

# Validations between the steps are not part of what --profile divides by the steps.
run "$train" "$tiny" --job.dump_folder="$work/validated" --training.steps=8 --checkpoint.no_enable --profile --validation.enable \
    --validation.dataset_path="$work/data" --validation.seq_len=32 --validation.freq=1 --validation.steps=20
check "--profile beside validation" [ $rc = 0 ]
check "no less than nothing is left over" [ "$(grep -c '^the rest  *-' "$out")" = 0 ]
check "attention runs 4 microbatches x (2 layers + 1 of them recomputed) a step" [ "$(awk '$1 == "attention" { print $2 }' "$out")" = 12.0 ]

if have_mpi; then
    rm -rf "$dump"
    # shellcheck disable=SC2086
    run_ranks 4 "$train" "$tiny" $long --training.steps=6 --parallelism.tensor_parallel_degree=2 --metrics.enable_tensorboard \
        --metrics.save_for_all_ranks --profiling.enable_profiling --profiling.enable_memory_snapshot --profiling.profile_freq=5
    check "four ranks" [ $rc = 0 ]
    check "communication is one of the kinds of time" sums "forward_backward communication optimizer"
    for r in 0 3; do
        run "$trace" "$dump/profile_traces/iteration_5/rank${r}_trace.json" $r 4 2 1
        check "the trace of rank $r" [ $rc = 0 ]
    done
    check "metrics of every rank" [ "$(cd "$dump" && echo metrics*.jsonl)" = "metrics-rank-1.jsonl metrics-rank-2.jsonl metrics-rank-3.jsonl metrics.jsonl" ]
    check "with all steps" [ "$(cat "$dump"/metrics-rank-?.jsonl | grep -c '"step": ')" = 18 ]
    check "event files of every rank" [ "$(cd "$dump/tb" && echo */events* | tr ' ' '\n' | sed 's/events.*//' | tr -d '\n')" = "rank_0/rank_1/rank_2/rank_3/" ]
else
    skip "four ranks" "no MPI or no launcher"
    run "$train" "$tiny" --profiling.enable_memory_snapshot --training.steps=5 --profiling.profile_freq=5
fi
map=$dump/memory_snapshot/iteration_5/rank0_memory.json
"$top_builddir/tests/memory_check" "$map" >"$out" 2>&1
rc=$?
check "the memory map: lives inside of their parts, none over another" [ $rc = 0 ]
done_testing
