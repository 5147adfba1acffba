# TensorBoard's own reader over what a run and its resume wrote. Needs a python3 with the tensorboard package
# (TITAN_PYTHON names one).
. "$top_srcdir/tests/lib.sh"
python=${TITAN_PYTHON:-python3}
if ! "$python" -c 'import tensorboard' >/dev/null 2>&1; then
    echo "1..0 # SKIP $python has no tensorboard package"
    exit 0
fi
run "$train" "$tiny" --training.steps=15 --checkpoint.interval=10 --checkpoint.keep_latest_k=0 --metrics.enable_tensorboard
check "15 steps" [ $rc = 0 ]
rm -rf "$work/out/checkpoint/step-15"
cd "$work/out/tb" || exit 1
printf '\050\0\0\0\0\0\0\0torn' >>"$(ls events*)" # torn in a write
sleep 1 # event files sort by their second
run "$train" "$tiny" --training.steps=20 --optimizer.lr=1e-3 --metrics.enable_tensorboard --validation.enable --validation.freq=10 \
    --validation.steps=2 --validation.seq_len=32 --validation.dataset_path="$work/data"
check "resumed at 10 to 20" says "(step 10, sample 80)"
cat >"$work/read.py" <<'EOF'
import json, math, struct, sys
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
f32 = lambda x: struct.unpack("f", struct.pack("f", x))[0]
a = EventAccumulator(sys.argv[1], size_guidance={"scalars": 0}).Reload()
rows = [json.loads(l) for l in open(sys.argv[2])]
want = {}
for r in rows:
    for tag, v in r.items():
        if tag != "step" and v is not None:
            want.setdefault(tag, []).append((r["step"], f32(v)))
assert sorted(want) == sorted(a.Tags()["scalars"]), (sorted(want), sorted(a.Tags()["scalars"]))
for tag in want:
    got = [(e.step, e.value) for e in a.Scalars(tag)]
    assert [s for s, _ in got] == [s for s, _ in want[tag]], (tag, got)
    for (_, x), (_, y) in zip(got, want[tag]):
        assert math.isclose(x, y, rel_tol=1e-6, abs_tol=1e-12), (tag, x, y)
assert [s for s, _ in want["grad_norm"]] == list(range(1, 21))
assert "time_metrics/forward_backward(s)" in want and "validation_metrics/loss" in want
print(len(want), "tags")
EOF
run "$python" "$work/read.py" "$work/out/tb" "$work/out/metrics.jsonl"
check "each step once, every tag as in metrics.jsonl" [ $rc = 0 ]
done_testing
