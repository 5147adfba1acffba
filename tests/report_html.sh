# The page in a browser: headless Chromium draws it, and the curves are looked up in the document it made.
. "$top_srcdir/tests/lib.sh"
browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome || true)
if [ -z "$browser" ]; then
    echo "1..0 # SKIP no chromium"
    exit 0
fi
report=$top_builddir/titan-report
cd "$work" || exit 1
dom() { # file with #fragment: the document after its scripts ran
    HOME=$work timeout 60 "$browser" --headless --no-sandbox --disable-gpu --disable-dev-shm-usage --no-first-run \
        --user-data-dir="$work/browser" --virtual-time-budget=3000 --dump-dom "file://$work/$1" >dom.html 2>browser.log
    rc=$?
    sed -e 's/<path /\n<path /g' -e 's/&lt;/</g' -e 's/&gt;/>/g' dom.html >"$out" # versions differ in what they escape
}
curve() { # run, tag, points, first value, last value, last x
    grep '<path ' "$out" | grep -F "data-run=\"$1\" data-tag=\"$2\" data-points=\"$3\" data-first=\"$4\" data-last=\"$5\" data-last-x=\"$6\"" |
        grep -qE ' d="M[0-9.]+ [0-9.]+'
}
curves() { grep '^<path ' "$out" | grep -cF "data-run=\"$1\""; }

awk -v q='"' 'BEGIN { for (s = 1; s <= 30; s++) {
    printf "{%sstep%s: %d, %sloss_metrics/global_avg_loss%s: %s, %sgrad_norm%s: %g, %slr%s: 0.001, %sthroughput(tps)%s: %d, ", q, q, s, q, q, s == 12 ? "null" : 10 - s / 10, q, q, 1 / s, q, q, q, q, 100 + s
    printf "%stflops%s: 1, %smfu(%%)%s: null, %stime_metrics/end_to_end(s)%s: 2, %stime_metrics/forward_backward(s)%s: 1.5, %stime_metrics/optimizer(s)%s: 0.25, %stime_metrics/other(s)%s: 0.25, ", q, q, q, q, q, q, q, q, q, q, q, q
    printf "%smemory/max_reserved(GiB)%s: 1.5, %sn_tokens_seen%s: %d}\n", q, q, q, q, 64 * s
    if (s % 10 == 0) printf "{%sstep%s: %d, %svalidation_metrics/loss%s: %d}\n", q, q, s, q, q, s } }' >lines
evil='b <img src=x> & "ü"'
mkdir a "$evil"
cp lines a/metrics.jsonl
head -n 22 lines | sed 's/"grad_norm": [^,]*/"grad_norm": 0.5/' >"$evil/metrics.jsonl" # steps 1 to 20
printf 'optimizer = {\n    lr = 0.1;  # a.cfg:1\n};\n' >a/config.cfg
printf 'optimizer = {\n    lr = 0.2;  # command line\n};\n' >"$evil/config.cfg"
run "$report" a "$evil" -o page.html
check "a page of two runs" [ $rc = 0 ]
dom page.html
check "the browser draws it to its end" [ "$rc $(grep -c '<body data-ready=' "$out")" = "0 1" ]
other='b <img src=x> &amp; &quot;ü&quot;'
check "loss: 29 points and a gap" curve a loss_metrics/global_avg_loss 29 9.9 7 30
check "loss of the other run" curve "$other" loss_metrics/global_avg_loss 19 9.9 8 20
check "the gap parts the curve" [ "$(grep 'data-run="a" data-tag="loss_metrics/global_avg_loss"' "$out" | sed 's/.* d="//; s/".*//' | tr -cd M)" = MM ]
check "validation" curve a validation_metrics/loss 3 10 30 30
check "validation of the other run" curve "$other" validation_metrics/loss 2 10 20 20
check "gradient norm" curve a grad_norm 30 1 0.0333333 30
check "gradient norm of the other run" curve "$other" grad_norm 20 0.5 0.5 20
check "throughput" curve a "throughput(tps)" 30 101 130 30
check "memory" curve a "memory/max_reserved(GiB)" 30 1.5 1.5 30
check "time by kind: areas" curve a "time_metrics/forward_backward(s)" 30 1.5 1.5 30
check "MFU was never known: no curve" [ "$(grep -c 'data-tag="mfu' "$out")" = 0 ]
check "a name with markup is text: no element came of it" [ "$(sed 's/"[^"]*"//g' dom.html | grep -c '<img')" = 0 ]
check "the table of runs" grep -q '<div class="scroll" id="summary">.*best validation.*<td class="number">30</td><td class="number">1,920</td><td class="number">7</td><td class="number">7 @ 30</td><td class="number">10 @ 10</td><td class="number">115.5</td>' dom.html
check "differences of configuration" grep -q '<code>0.1</code><span class="origin">a.cfg:1</span>.*<code>0.2</code><span class="origin">command line</span>' dom.html
both=$(curves a)
dom 'page.html#x=tokens&log=1&smooth=0.5&off=1'
check "over tokens" curve a lr 30 0.001 0.001 1920
check "a run that is switched off has no curve" [ "$both $(curves a) $(curves "$other")" = "11 11 0" ]
dom 'page.html#x=time'
check "over time" curve a lr 30 0.001 0.001 60

# a long run is thinned, its ends and extremes stay
awk 'BEGIN { for (s = 1; s <= 50000; s++) printf "{\"step\": %d, \"grad_norm\": %s}\n", s, s == 33333 ? 77 : s == 50000 ? 0.5 : 1 + s % 7 / 10 }' >long.jsonl
run "$report" long.jsonl -o page.html
dom page.html
check "50,000 points are thinned" [ "$(grep -o 'data-points="[0-9]*"' "$out" | tr -dc 0-9)" -le 3002 ]
check "first and last stay" grep -q 'data-first="1.1" data-last="0.5" data-last-x="50000"' "$out"
check "and the highest" grep -q ',77,' page.html
done_testing
