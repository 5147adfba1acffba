#!/bin/sh
# How step time grows: debugmodel in layers, batch and sequence length, against the FLOPs that titan-plan counts, less the half of the
# attention square that a causal mask leaves out. The last column is time per FLOP beside the first row's: 1 means that time grows as
# the work does, less that long rows are done at a better rate.
#   make bench-long      ROUNDS=3 THREADS=2 in the environment
: "${top_srcdir:=$(cd "$(dirname "$0")/.." && pwd)}" "${top_builddir:=.}"
rounds=${ROUNDS:-3} threads=${THREADS:-$(nproc)}
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
awk 'BEGIN { for (i = 1; i <= 40000; i++) print "line", i, "of some text that repeats", i * 7 % 13 }' >"$work/a.txt"
options() { # layers, batch, sequence
    echo "--model.n_layers=$1 --training.local_batch_size=$2 --training.seq_len=$3 --model.max_seq_len=16384 --model.tokenizer_path=byte
        --activation_checkpoint.mode=none --training.mixed_precision_param=float32"
}
seconds() { # options: median step of five, the first two left out
    rm -rf "$work/out"
    # shellcheck disable=SC2086
    "$top_builddir/titan-train" "$top_srcdir/configs/llama3_debugmodel.cfg" $1 --training.dataset_path="$work/a.txt" --job.dump_folder="$work/out" \
        --checkpoint.no_enable --device.threads="$threads" --training.steps=5 --metrics.log_freq=1 --debug.seed=1 >"$work/log" 2>&1 ||
        { cat "$work/log" >&2; exit 1; }
    sed -n 's/.*"step": \([0-9]*\),.*"time_metrics\/end_to_end(s)": \([0-9.e-]*\).*/\1 \2/p' "$work/out/metrics.jsonl" |
        awk '$1 > 2 { print $2 }' | sort -n | sed -n 2p
}
row() { # layers, batch, sequence
    o=$(options "$@")
    # shellcheck disable=SC2086
    flops=$("$top_builddir/titan-plan" "$top_srcdir/configs/llama3_debugmodel.cfg" $o --world=1 2>/dev/null |
        sed -n 's/^work .*; \([0-9.e+]*\) FLOPs a rank and step.*/\1/p' |
        awk -v l="$1" -v b="$2" -v s="$3" '{ print $1 - 6 * l * b * s * s * 256 }')
    t=$(for _ in $(seq "$rounds"); do seconds "$o"; done | sort -n | sed -n "$(((rounds + 1) / 2))p")
    [ -n "${first:-}" ] || first=$(awk -v t="$t" -v f="$flops" 'BEGIN { print t / f }')
    awk -v l="$1" -v b="$2" -v s="$3" -v t="$t" -v f="$flops" -v first="$first" 'BEGIN {
        printf "%6d %6d %8d %10.3f s %9.3g FLOPs %8.1f GFLOP/s   time per FLOP %.2f\n", l, b, s, t, f, f / t / 1e9, t / f / first }'
}
echo "layers  batch      seq       step"
first=
for l in 3 6 12 24; do row $l 1 2048; done
first=
for b in 1 2 4 8; do row 6 $b 1024; done
first=
for s in 512 1024 2048 4096 8192 16384; do row 6 1 $s; done
