# Law 2, stop equals go on: stopped in any way and started again = never stopped, bit for bit on the same mesh; on another
# mesh the state is the same bits and the losses agree. TITAN_LONG=1 kills more often and on more meshes.
. "$top_srcdir/tests/lib.sh"
equal=$top_builddir/tests/ckpt_equal
seed=${TITAN_SEED:-1}
long=${TITAN_LONG:-0}

# train RANKS FOLDER ARGUMENTS…
job() {
    ranks=$1 folder=$2
    shift 2
    run_ranks "$ranks" "$train" "$tiny" --job.dump_folder="$work/$folder" "$@"
}
same_state() { # folder, folder, step
    "$equal" "$work/$1/checkpoint/step-$3" "$work/$2/checkpoint/step-$3" >"$out.equal" 2>&1 || {
        cat "$out.equal" >>"$out"
        false
    }
}
losses() { # folder: step, loss and norm of each line, as text
    sed 's/^{"step": \([0-9]*\), "loss_metrics\/global_avg_loss": \([^,]*\),.*"grad_norm": \([^,]*\),.*/\1 \2 \3/' \
        "$work/$1/metrics.jsonl"
}
same_losses() {
    losses "$1" >"$work/one.txt"
    losses "$2" >"$work/two.txt"
    [ -s "$work/one.txt" ] && cmp -s "$work/one.txt" "$work/two.txt"
}

# --- stopped at step 10 by the configuration, on several meshes ---
straight_and_stopped() { # name, ranks, arguments…
    run_name=$1 on=$2
    shift 2
    job "$on" "$run_name-a" "$@"
    check "$run_name: 20 steps" [ $rc = 0 ]
    job "$on" "$run_name-b" "$@" --training.steps=10
    check "$run_name: 10 steps" [ $rc = 0 ]
    job "$on" "$run_name-b" "$@"
    check "$run_name: 10 more" [ $rc = 0 ]
    check "$run_name: it resumed" says "resumed from $work/$run_name-b/checkpoint/step-10 (step 10, sample 80)"
    check "$run_name: bit-exact is promised" [ "$(grep -c 'not bit-exact' "$out")" = 0 ]
    check "$run_name: the same weights and moments" same_state "$run_name-a" "$run_name-b" 20
    check "$run_name: the same losses and norms" same_losses "$run_name-a" "$run_name-b"
}
straight_and_stopped alone 1
straight_and_stopped bf16 1 --training.mixed_precision_param=bfloat16 --activation_checkpoint.mode=full
if have_mpi; then
    straight_and_stopped shard2-tp2 4 --parallelism.tensor_parallel_degree=2
    [ "$long" = 1 ] && straight_and_stopped replicate2 2 --parallelism.data_parallel_replicate_degree=2
    [ "$long" = 1 ] && straight_and_stopped shard4 4 --parallelism.fsdp_reshard_after_forward=never
fi

# The comparison itself can fail.
job 1 other --debug.seed=43
check "another seed gives other weights" [ "$(same_state alone-a other 20 && echo same)" = "" ]
run "$equal" "$work/alone-a/checkpoint/step-20" "$work/other/checkpoint/step-20"
check "and the first tensor that differs is named" grep -q "^model/.* differs at byte [0-9]* of [0-9]*$" "$out"

# --- stopped by a signal at any moment ---
slow="--training.steps=400 --lr_scheduler.total_steps=400 --metrics.log_freq=1"
run "$train" "$tiny" --job.dump_folder="$work/long-a" $slow
check "400 steps" [ $rc = 0 ]
for signal in TERM HUP USR1 USR2; do
    tries=0 rc=0
    while [ $rc = 0 ] && [ $tries -lt 5 ]; do # on a busy machine the run may be over before the signal is sent
        rm -rf "$work/sig"
        "$train" "$tiny" --job.dump_folder="$work/sig" $slow >"$out" 2>&1 &
        pid=$!
        until grep -q '^step:  1 ' "$out" || ! kill -0 $pid 2>/dev/null; do sleep 0.02; done
        kill -$signal $pid
        wait $pid
        rc=$? tries=$((tries + 1))
    done
    check "SIG$signal: exit code 75" [ $rc = 75 ]
    check "SIG$signal: said" says "titan: stopped: SIG$signal came after step "
    run "$train" "$tiny" --job.dump_folder="$work/sig" $slow
    check "SIG$signal: goes on to the end" [ $rc = 0 ]
    check "SIG$signal: as if never stopped" same_state long-a sig 400
done

# --- killed at any moment, also while saving ---
kills=$([ "$long" = 1 ] && echo 20 || echo 4)
rm -rf "$work/killed"
k=0 rc=137 random=$seed
while [ $rc = 137 ]; do
    "$train" "$tiny" --job.dump_folder="$work/killed" $slow --checkpoint.interval=3 >"$out" 2>&1 &
    pid=$!
    if [ $k -lt "$kills" ]; then
        random=$(((random * 1103515245 + 12345) % 2147483648))
        sleep 0.$(printf %03d $((60 + random / 65536 % 200)))
        kill -9 $pid 2>/dev/null
        k=$((k + 1))
    fi
    wait $pid 2>/dev/null
    rc=$?
done
check "killed $k times (seed $seed), it comes to its end" [ $rc = 0 ]
check "killed: as if never stopped" same_state long-a killed 400
steps_and_losses() { sed 's/.*"step":[ ]*\([0-9]*\).*global_avg_loss":[ ]*\([0-9.e-]*\).*/\1 \2/' "$work/$1/metrics.jsonl"; }
steps_and_losses long-a >"$work/of-a"
steps_and_losses killed >"$work/of-killed"
check "killed: each step is reported once, with the losses of a run that never stopped" cmp -s "$work/of-a" "$work/of-killed"
check "killed: nothing half written is left" [ -z "$(ls -A "$work/killed/checkpoint" | grep -v "^step-[0-9]*\$")" ]

# --- another mesh: the same state; losses within law 1 ---
if have_mpi; then
    job 4 moved --training.steps=10
    check "10 steps on 4 ranks" [ $rc = 0 ]
    for r in 4 1; do # loaded on another mesh and saved at once
        job $r resaved-$r --parallelism.tensor_parallel_degree=$((r > 1 ? 2 : 1)) --training.steps=10 \
            --checkpoint.initial_load_path="$work/moved/checkpoint/step-10" --checkpoint.initial_load_model_only=false
        check "moved to $r ranks and saved again: the same bits" same_state moved resaved-$r 10
    done
    job 4 moved --parallelism.tensor_parallel_degree=2 --training.steps=11
    check "one more on dp 2 x tp 2" [ $rc = 0 ]
    check "and it says why it cannot be bit-exact" says "resume is not bit-exact"
    job 1 moved
    check "the rest alone" [ $rc = 0 ]
    losses alone-a >"$work/one.txt"
    losses moved >"$work/two.txt"
    check "the losses of one rank" awk 'NR == FNR { a[$1] = $2; next } { d = $2 / a[$1] - 1; if (d < 0) d = -d
        if (!($1 in a) || d > 1e-5) bad = 1; n++ } END { exit bad || n != 20 }' \
        "$work/one.txt" "$work/two.txt"
fi
done_testing
