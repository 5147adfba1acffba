#!/bin/sh
# From a clone to a trained model: installs what is missing (Debian, as root), builds, and trains a small Llama 3 on the
# King James Bible for about a minute on two ranks; validates on held-out text, stops, resumes, and samples a few lines.
# Environment: OUT (output folder), RANKS, STEPS (all), STOP (where the first run stops), PREFIX_BUILD (build folder).
set -eu
cd "$(dirname "$0")"
src=$(pwd)
out=${OUT:-$src/outputs/quickstart}
build=${PREFIX_BUILD:-$src/build}
ranks=${RANKS:-2} steps=${STEPS:-500} stop=${STOP:-300}

say() { printf '\n== %s\n' "$*"; }

say "packages and build"
. build-aux/packages.sh
# shellcheck disable=SC2154,SC2086
install_packages $titan_packages bible-kjv
[ -x configure ] || autoreconf -fi >/dev/null 2>&1
mkdir -p "$build"
(cd "$build" && { [ -f Makefile ] || "$src/configure" -q >/dev/null; } && make -s -j "$(nproc)" >/dev/null)

say "text: the King James Bible; the last twentieth is held out"
rm -rf "$out"
mkdir -p "$out/data"
env -i /usr/bin/bible 'Gen1:1-Rev22:21' </dev/null >"$out/data/all.txt" 2>/dev/null
bytes=$(wc -c <"$out/data/all.txt")
head -c $((bytes - bytes / 20)) "$out/data/all.txt" >"$out/data/train.txt"
tail -c $((bytes / 20)) "$out/data/all.txt" >"$out/data/held_out.txt"
rm "$out/data/all.txt"
# Entropy of the held-out bytes, alone and given the byte before: what counting alone would reach.
entropies=$(od -An -v -tu1 -w1 "$out/data/held_out.txt" | awk '
    { one[$1 + 0]++; if (NR > 1) { two[last, $1 + 0]++; from[last]++ } last = $1 + 0; n++ }
    END { for (a in one) u -= one[a] / n * log(one[a] / n)
          for (p in two) { split(p, x, SUBSEP); b -= two[p] / (n - 1) * log(two[p] / from[x[1]]) }
          printf "%.3f %.3f", u, b }')
unigram=${entropies% *} bigram=${entropies#* }
echo "$bytes bytes; entropy of the held-out text: unigram $unigram, bigram $bigram nats a byte"

# As many ranks as asked for, also as root and with fewer cores than ranks.
train() {
    OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1 \
        OMPI_MCA_btl_vader_single_copy_mechanism=none \
        mpirun -n "$ranks" --bind-to none "$build/titan-train" "$src/configs/quickstart.cfg" \
        --job.dump_folder="$out" --training.dataset_path="$out/data/train.txt" \
        --validation.dataset_path="$out/data/held_out.txt" --lr_scheduler.total_steps="$steps" "$@"
}

say "training on $ranks ranks to step $stop of $steps"
train --training.steps="$stop"
say "the same command again, to step $steps: it resumes from the checkpoint"
train --training.steps="$steps" | tee "$out/second.txt"

loss=$(sed -n 's/.*validate step: *[0-9]* *loss: *\([0-9.]*\).*/\1/p' "$out/second.txt" | tail -n 1)
say "held-out loss $loss nats a byte; unigram entropy $unigram, bigram entropy $bigram"
awk -v l="$loss" -v u="$unigram" -v b="$bigram" 'BEGIN { exit !(l != "" && l <= u - 0.8 && l < b) }' || {
    echo "quickstart: the loss should be at least 0.8 below $unigram and below $bigram" >&2
    exit 1
}

say "samples from $out/checkpoint"
echo "-- greedy:"
"$build/titan-generate" "$out/checkpoint" --prompt="And God said" --max-tokens=150
echo "-- temperature 0.8:"
"$build/titan-generate" "$out/checkpoint" --prompt="And God said" --max-tokens=250 --temperature=0.8 --seed=1
