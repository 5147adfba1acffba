# titan-tokenize from the command line, and training on a published tokenizer.
n=0
dir=$(mktemp -d)
out=$dir/out
trap 'rm -rf "$dir"' EXIT
g=$top_srcdir/tests/golden/tokenizer
tok=$top_builddir/titan-tokenize
check() { # name, condition as a command
    n=$((n + 1))
    name=$1
    shift
    if "$@"; then echo "ok $n - $name"; else
        echo "not ok $n - $name"
        tail -n 20 "$out" | sed 's/^/# /' >&2
    fi
}
says() { grep -qF -- "$1" "$out"; }
run() { "$@" >"$out" 2>&1; rc=$?; }
run "$tok" encod x
check "an unknown verb: exit code" [ $rc = 64 ]
check "an unknown verb: the message" says 'titan-tokenize: there is no "titan-tokenize encod"; use encode, decode, check, train, shards or inspect'
run "$tok" train "$g/text.txt"
check "train without a size" says 'train needs the size of the vocabulary; give one, such as --vocab-size 32768'
run "$tok" encode --tokenizer "$dir/none" -
check "no such tokenizer: exit code" [ $rc = 78 ]
for k in gpt2 llama3; do
    "$tok" encode --tokenizer "$g/$k" --special "$g/text.txt" >"$dir/ids" 2>"$out"
    "$tok" decode --tokenizer "$g/$k" "$dir/ids" >"$dir/text" 2>"$out"
    check "$k: text to ids to text" cmp -s "$dir/text" "$g/text.txt"
done
printf 'Hello world' | "$tok" encode --tokenizer "$g/gpt2" - >"$out" 2>&1
check "ids of standard input" [ "$(cut -d' ' -f1-3 "$out")" = "39 68 332" ]
run "$tok" check --tokenizer "$g/qwen" "$g/qwen/cases.jsonl"
check "check: nothing differs" [ $rc = 0 ]
run "$tok" check --tokenizer "$g/qwen" "$g/llama3/cases.jsonl"
check "check: another tokenizer's ids" [ $rc = 74 ]
run "$tok" train --vocab-size 2600 --out "$dir/big.json" "$g/bpe_train/corpus.txt"
check "train" [ $rc = 0 ]

# Two steps of the debug model (2048 rows), on one rank; a larger vocabulary is refused by name.
train() { # tokenizer, options...
    name=$1
    shift
    run "$top_builddir/titan-train" "$top_srcdir/configs/llama3_debugmodel.cfg" --model.tokenizer_path="$name" \
        --training.dataset_path="$g/bpe_train/corpus.txt" --training.steps=2 --training.seq_len=64 --training.local_batch_size=2 \
        --job.dump_folder="$dir/outputs" --metrics.log_freq=1 "$@"
}
train "$g/llama3" --checkpoint.enable=true
check "two steps with a tokenizer.json: exit code" [ $rc = 0 ]
check "two steps with a tokenizer.json: step 2" grep -qE 'step: +2 ' "$out"
# An untrained model gives any ids, many of them parts of characters: what is printed is UTF-8 all the same.
"$top_builddir/titan-generate" "$dir/outputs/checkpoint" --prompt "日本語" --max-tokens 40 --temperature 1 --threads 1 >"$out" 2>"$dir/err"
check "titan-generate goes on with these tokens" [ $? = 0 ]
check "titan-generate prints the prompt" says "日本語"
check "titan-generate prints UTF-8" iconv -f UTF-8 -t UTF-8 -o /dev/null "$out"
rm -rf "$dir/outputs"
train "$dir/big.json"
check "a vocabulary larger than the model's: exit code" [ $rc = 74 ]
check "a vocabulary larger than the model's: the message" says "but the model's vocabulary has 2048 rows"
echo "1..$n"
