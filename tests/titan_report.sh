# titan-report from outside: what it refuses, the text form to the letter, the page's safety, a torn record and a resume.
. "$top_srcdir/tests/lib.sh"
report=$top_builddir/titan-report
cd "$work" || exit 1
fails() { # exit code, whole message
    [ "$rc" = "$1" ] && [ "$(cat "$out")" = "titan-report: $2" ]
}

mkdir empty
run "$report" empty
check "a folder without metrics" fails 74 "empty has no metrics: looked for empty/metrics.jsonl; give the job.dump_folder of a run that has begun, or its metrics file"
run "$report" nowhere
check "no such folder" fails 74 "cannot open nowhere: No such file or directory; check the path"
run "$report"
check "no run" [ $rc = 64 ]
run "$report" --x=hours empty
check "an unknown axis" fails 64 "--x=hours is no axis; use step, tokens or time"
run "$report" --width=10 empty
check "too narrow" fails 64 "--width=10: wants an integer from 40 to 400"
run "$report" --txt empty
check "an unknown option" [ $rc = 64 ]
check "with the nearest one" says "text"
run "$report" empty -o
check "-o without a file" fails 64 "option --output needs a value; write --output=FILE"

# two small runs, one of them with a torn line, a gap and a name that wants to break out of the page
line() { # step, loss
    echo "{\"step\": $1, \"loss_metrics/global_avg_loss\": $2, \"grad_norm\": 1, \"throughput(tps)\": 1000, \"time_metrics/end_to_end(s)\": 2, \"time_metrics/forward_backward(s)\": 1.5, \"time_metrics/other(s)\": 0.5, \"n_tokens_seen\": ${1}00}"
}
evil='b "<img src=x> ü&'
mkdir -p a 'x</script><script>alert(1)' "$evil"
for i in 1 2 3 4 5 6 7 8; do line $i $((9 - i)); done >a/metrics.jsonl
{ line 1 7; line 2 null; line 3 5; echo '{"step": 3, "validation_metrics/loss": 5.5}'; printf '{"step": 4, "loss'; } >"$evil/metrics.jsonl"
cp "$evil/metrics.jsonl" 'x</script><script>alert(1)/m.jsonl'
run "$report" a a
check "the same run twice" fails 64 "a is given twice; name each run once"
LC_ALL=C COLUMNS=50 run "$report" --text a
cat >want <<'EOF'
a: step 8, loss 1.00000 (best 1.00000 at 8), 1000 tokens/s, 16 s

loss
        8 +***
          |   ****
          |       ***
          |          ****
          |              ****
      4.5 +                  **
          |                    ****
          |                        ****
          |                            ***
          |                               ****
        1 +                                   ***
          +--------------------------------------
EOF
head -n 15 "$out" >got
check "text, to the letter" cmp -s want got
LC_ALL=C.UTF-8 run "$report" --text --width=60 a
check "braille where the locale is UTF-8" says "⠉"
LC_ALL=C.UTF-8 run "$report" --text --ascii --x=time a "$evil"
check "not with --ascii" [ "$(grep -c '[⠁⣿█┤]' "$out")" = 0 ]
check "two runs have two marks" says "+ $evil: step 3, loss 5.00000 (best 5.00000 at 3), best validation 5.50000 at 3"
check "the torn line is said" says "$evil/metrics.jsonl: the last line is torn and left out"
check "the axis is the time" says "2 time"
check "time by kind" grep -qE '^  forward_backward +1\.5 s +75\.0 % #+$' "$out"

run "$report" a "$evil" 'x</script><script>alert(1)/m.jsonl'
check "a page" [ $rc = 0 ]
check "by default it is report.html" [ -s report.html ]
check "nothing breaks out of the data" [ "$(grep -c '</script>' report.html)" = 2 ]
check "nothing is loaded: no address but the name of SVG" [ "$(grep -oE '(https?:)?//[a-z][a-z0-9.]*[a-z]/[^ "]*|url\(|@import' report.html | sort -u)" = "http://www.w3.org/2000/svg';" ]
check "and nothing may be" grep -q "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'" report.html
"$report" a -o - >page.html 2>"$out"
check "-o - is the standard output" grep -q '</html>' page.html
run "$report" a -o no/such/folder/x.html
check "a folder that is not there" [ $rc = 74 ]

# Run to 15, checkpoint at 10, a record torn in a write, resumed to 20: each step once, 11 to 15 of the later run.
run "$train" "$tiny" --training.steps=15 --checkpoint.interval=10 --checkpoint.keep_latest_k=0 --metrics.enable_tensorboard
check "15 steps" [ $rc = 0 ]
rm -rf out/checkpoint/step-15
printf '{"step": 16, "loss_metrics/global_avg_loss": 1' >>out/metrics.jsonl
run "$report" out -o killed.html
check "a torn line is told of" says "out/metrics.jsonl: the last line is torn and left out"
run "$train" "$tiny" --training.steps=20 --optimizer.lr=1e-3 --metrics.enable_tensorboard
check "resumed at 10" says "(step 10, sample 80)"
run "$report" out -o resumed.html
check "a report of it" [ "$rc $(grep -c 'torn' "$out")" = "0 0" ]
steps=$(sed -n 's/^"rows": {"step": \[\([0-9,]*\)\].*/\1/p' resumed.html)
check "steps 1 to 20 once each" [ "$steps" = "$(seq -s, 1 20)" ]
check "the values are those of the file" [ "$(sed -n 's/^"loss_metrics\/global_avg_loss": {"v": \[\(.*\)\]},*$/\1/p' resumed.html)" = \
    "$(sed -n 's/.*"loss_metrics\/global_avg_loss": \([^,]*\),.*/\1/p' out/metrics.jsonl | paste -sd, -)" ]
check "two starts are known" grep -q '"starts": 2' resumed.html
run "$train" "$tiny" --job.dump_folder="$work/other" --training.steps=20 --optimizer.lr=4e-3
run "$report" out other -o two.html
check "the rates differ, with where they came from" grep -qF '{"key": "optimizer.lr", "values": ["0.001", "0.004"], "origins": ["command line", "command line"]}' two.html
# an older run's file, never healed: the report does by itself what the trainer does on a resume
{ sed -n 1,15p out/metrics.jsonl; sed -n 11,20p out/metrics.jsonl; } >twice.jsonl
run "$report" twice.jsonl -o twice.html
check "a file with steps twice: each once" [ "$(sed -n 's/^"rows": {"step": \[\([0-9,]*\)\].*/\1/p' twice.html)" = "$(seq -s, 1 20)" ]
check "and a note" grep -qF '5 steps were made again after a resume' twice.html
done_testing
