#!/bin/sh
# One run that goes on from 4 ranks to 2 to 8 trains on the same global stream as one rank: losses within 1e-5, whatever the data is.
. "$top_srcdir/tests/lib.sh"
have_mpi || { echo "1..0 # SKIP no MPI"; exit 0; }
j=$work/j.jsonl
awk 'BEGIN { for (i = 1; i <= 400; i++) { t = "line " i; for (k = 0; k < i % 9; k++) t = t " and more " i * k % 7; print "{\"text\": \"" t "\"}" } }' >"$j"
"$top_builddir/titan-tokenize" shards --tokenizer=byte --shard-tokens=5000 --out="$work/tokens/j" "$j" 2>/dev/null || exit 1
losses() {
    sed 's/.*"step":[ ]*\([0-9]*\).*global_avg_loss":[ ]*\([0-9.e-]*\).*/\1 \2/' "$1/metrics.jsonl"
}
near() {
    losses "$work/$1" >"$work/l1"
    losses "$work/$2" >"$work/l2"
    [ "$(wc -l <"$work/l1")" = 9 ] &&
        paste "$work/l1" "$work/l2" | awk '{ d = $2 - $4; if (d < 0) d = -d; if (d > 1e-5 * $2 || $1 != $3) bad = 1 } END { exit bad }'
}
one() { # folder, ranks, steps, options…
    into=$1 many=$2 steps=$3
    shift 3
    run_ranks "$many" "$train" "$tiny" --job.dump_folder="$work/$into" --training.steps="$steps" --lr_scheduler.total_steps=9 \
        --training.global_batch_size=16 --training.local_batch_size=2 --training.dataset_path= "$@"
    [ $rc = 0 ]
}
both() { # what, options…
    what=$1
    shift
    rm -rf "$work/whole" "$work/parts"
    check "$what: one rank" one whole 1 9 "$@"
    check "$what: 4 ranks" one parts 4 3 "$@"
    check "$what: 2 ranks go on" one parts 2 6 "$@"
    check "$what: 8 ranks go on" one parts 8 9 "$@"
    check "$what: the same losses" near whole parts
}
both "shards" --training.dataset_path="$work/tokens"
both "shards, shuffled, documents" --training.dataset_path="$work/tokens" --training.dataloader.shuffle --training.packing=document
both "text as it is read" --training.dataset_path="$j" --training.dataset_in_memory_mib=0
both "a mixture" --training.dataset_mixture="3 $work/tokens,1 $j,1 $work/data" --training.dataset_in_memory_mib=0
done_testing
