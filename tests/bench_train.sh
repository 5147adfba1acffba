#!/bin/sh
# Whole training steps of the CPU device: tokens a second and peak memory, medians of interleaved rounds of five steps.
# With TITAN_PEER set, the same shapes run in turn with the peer: a command that takes --size NAME --batch N --steps N
# --threads N and prints one JSON line with tokens_s and peak_mib; then ratios are printed too (1 = as the peer).
#   TITAN_PEER="python3 peer.py" make bench
: "${top_srcdir:=$(cd "$(dirname "$0")/.." && pwd)}" "${top_builddir:=.}"
rounds=${ROUNDS:-3} threads=${THREADS:-$(nproc)}
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
awk 'BEGIN { for (i = 1; i <= 40000; i++) print "line", i, "of some text that repeats", i * 7 % 13 }' >"$work/a.txt"
d768="--model.dim=768 --model.n_layers=12 --model.n_heads=12 --model.ffn_dim=2048 --model.vocab_size=32768
  --model.rope_scaling_factor=1 --training.seq_len=1024 --training.local_batch_size=1"

ours() { # arguments…: "tokens_s peak_mib" of one run
    rm -rf "$work/out"
    "$top_builddir/titan-train" "$top_srcdir/configs/llama3_debugmodel.cfg" --training.dataset_path="$work/a.txt" \
        --job.dump_folder="$work/out" --checkpoint.no_enable --activation_checkpoint.mode=none \
        --training.mixed_precision_param=float32 --device.threads="$threads" --training.steps=7 --debug.seed=1 "$@" \
        >"$work/log" 2>&1 || { cat "$work/log" >&2; exit 1; }
    sed -n 's/.*"step": \([0-9]*\),.*"throughput(tps)": \([0-9.]*\),.*"memory\/max_reserved(GiB)": \([0-9.]*\),.*/\1 \2 \3/p' \
        "$work/out/metrics.jsonl" | awk '$1 > 2 { print $2; m = $3 * 1024 } END { print m >"/dev/stderr" }' 2>"$work/mib" |
        sort -n | sed -n 3p | tr '\n' ' '
    cat "$work/mib"
}
peer() { # arguments…
    # shellcheck disable=SC2086
    $TITAN_PEER --steps 5 --threads "$threads" "$@" 2>/dev/null |
        sed -n 's/.*"tokens_s": \([0-9.]*\).*"peak_mib": \([0-9.]*\).*/\1 \2/p'
}
median() { sort -n "$1" | awk -v c="$2" '{ v[NR] = $c } END { print v[int((NR + 1) / 2)] }'; }

shape() { # name, batch, arguments of ours…
    name=$1 batch=$2
    shift 2
    : >"$work/ours" && : >"$work/peer"
    for _ in $(seq "$rounds"); do
        ours "$@" >>"$work/ours"
        [ -z "${TITAN_PEER:-}" ] || peer --size "$name" --batch "$batch" >>"$work/peer"
    done
    t=$(median "$work/ours" 1) m=$(median "$work/ours" 2)
    if [ -s "$work/peer" ]; then
        pt=$(median "$work/peer" 1) pm=$(median "$work/peer" 2)
        awk -v n="$name" -v t="$t" -v m="$m" -v pt="$pt" -v pm="$pm" 'BEGIN {
            printf "%-12s %8.0f tok/s %6.0f MiB   peer %8.0f tok/s %6.0f MiB   ratio %.2f, memory %.2f\n", n, t, m, pt, pm, t / pt, m / pm }'
    else
        awk -v n="$name" -v t="$t" -v m="$m" 'BEGIN { printf "%-12s %8.0f tok/s %6.0f MiB\n", n, t, m }'
    fi
}
shape debugmodel 2 --training.local_batch_size=2
# shellcheck disable=SC2086
shape d768 1 $d768 --model.n_kv_heads=12
# shellcheck disable=SC2086
shape d768_gqa 1 $d768 --model.n_kv_heads=4
