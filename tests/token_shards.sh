# titan-tokenize shards and inspect from the command line: refusals first, then what is written and what is said.
n=0
dir=$(mktemp -d) || exit 1
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
        { echo "exit code $rc"; tail -n 20 "$out"; } | sed 's/^/# /' >&2
    fi
}
says() { grep -qF -- "$1" "$out"; }
run() { "$@" >"$out" 2>&1; rc=$?; }
refused() { # exit code, words, command…
    code=$1 words=$2
    shift 2
    run "$@"
    check "refused with $code: $words" eval '[ $rc = $code ] && says "$words"'
}
nothing_left() { [ -z "$(ls -A "$dir/new" 2>/dev/null)" ]; }
printf 'two words' >"$dir/a.txt"
refused 64 'titan-tokenize: shards needs the tokenizer of the model; give --tokenizer=FOLDER, or --tokenizer=byte' "$tok" shards "$dir/a.txt"
refused 64 'titan-tokenize: shards needs what the names of its files begin with: --out=data/train makes data/train-00000.tok' \
    "$tok" shards --tokenizer=byte "$dir/a.txt"
refused 64 'titan-tokenize: --format=zip is unknown; use one of titan, megatron, llmc, nanogpt' "$tok" shards --tokenizer=byte --out="$dir/new/x" --format=zip "$dir/a.txt"
refused 64 '--dtype=u8 is unknown; use one of auto, u16, u32' "$tok" shards --tokenizer=byte --out="$dir/new/x" --dtype=u8 "$dir/a.txt"
refused 64 '--threads=0' "$tok" shards --tokenizer=byte --out="$dir/new/x" --threads=0 "$dir/a.txt"
refused 74 'no file is called '"$dir/b.txt; the folder $dir holds a.txt, out; give text files" "$tok" shards --tokenizer=byte --out="$dir/new/x" "$dir/b.txt"
echo x >"$dir/c.parquet"
refused 74 'c.parquet is a Parquet file, which titan does not read; make JSON lines of it' "$tok" shards --tokenizer=byte --out="$dir/new/x" "$dir/c.parquet"
: >"$dir/empty.txt"
refused 74 "there is no document in what was given (1 file, the first is $dir/empty.txt); nothing was written: give files with text" \
    "$tok" shards --tokenizer=byte --out="$dir/new/x" "$dir/empty.txt"

# Every odd line (see text_files.c for the tokens of each), and the same as two gzip members.
{
    printf '\357\273\277{"text": "first {brace}"}\r\n\n{"text": ""}\n{"text": "\\u200d"}\n{"text": null}\n{"body": 1}\n'
    printf '{"text": "lone \\ud800"}\n{"text": "nul \\u0000"}\n{"text": "'
    awk 'BEGIN { for (i = 0; i < 100000; i++) printf "0123456789abcdef ghijklmnopqrstuvwxyz 0123456789abcde" }'
    printf '"}\n{"text": "no line end"}'
} >"$dir/odd.jsonl"
{ head -c 100 "$dir/odd.jsonl" | gzip; tail -c +101 "$dir/odd.jsonl" | gzip; } >"$dir/odd.jsonl.gz"
refused 74 "odd.jsonl:5: the field \"text\" is null, not a string; the fields are: text; name the field that holds the text (training.dataset_field, or --field of titan-tokenize), or leave such lines out with --skip-bad of titan-tokenize shards" \
    "$tok" shards --tokenizer=byte --out="$dir/new/x" "$dir/odd.jsonl"
check "refusals leave nothing" nothing_left
for f in odd.jsonl odd.jsonl.gz; do
    run "$tok" shards --tokenizer=byte --out="$dir/$f" --skip-bad "$dir/$f"
    check "$f: counts by kind" says '6 documents of 5300040 bytes, 1 empty text left out, 1 blank line, 2 bad lines left out, 1 half of a pair of surrogates made U+FFFD'
    check "$f: the first bad line" says "the first bad line: $dir/$f:5: the field"
    check "$f: what was written" says "wrote: 1 file, $dir/$f-00000.tok, titan, u16, 6 documents, 5300052 tokens"
done
check "the same from gzip" cmp -s "$dir/odd.jsonl-00000.tok" "$dir/odd.jsonl.gz-00000.tok"
run "$tok" inspect --tokenizer=byte --verify --documents=5 "$dir/odd.jsonl-00000.tok"
check "inspect: what it is" says "$dir/odd.jsonl-00000.tok: titan, 5300052 tokens of 2 bytes, 6 documents"
check "inspect: the marks" says 'marks: 256 before each document, 257 behind each document'
check "inspect: the first document" says 'document at token 0, 15 tokens: first {brace}'
check "inspect: a long one" says 'document at token 37, 4096 or more tokens: 0123456789abcdef'
check "inspect: sound" says 'verify: every block is sound, every id is in the vocabulary'
check "no braces of the lines in the tokens" eval '[ "$(grep -c "{\"text" "$out")" = 0 ]'
cp "$dir/odd.jsonl-00000.tok" "$dir/bad.tok"
printf 'x' | dd of="$dir/bad.tok" bs=1 seek=200000 conv=notrunc 2>/dev/null
refused 74 'verify: 1 damaged block' "$tok" inspect --verify "$dir/bad.tok"
check "damage has its place" says 'bad.tok: block 2 of 162 (bytes 135168 to 200703) is damaged: its checksum is'
refused 74 "whose ids mean other texts than those of \"$g/gpt2\"" "$tok" inspect --tokenizer="$g/gpt2" "$dir/bad.tok"
refused 74 "$dir/odd.jsonl-00000.tok is there: a set $dir/odd.jsonl-NNNNN.tok exists, and is not overwritten; remove it or choose another name" \
    "$tok" shards --tokenizer=byte --out="$dir/odd.jsonl" --skip-bad "$dir/odd.jsonl"

# The same bytes whatever the number of threads, in several files, of many batches; and from a pipe.
mkdir "$dir/many"
awk 'BEGIN { for (i = 0; i < 12000; i++) { printf "{\"text\": \"document %d", i; for (k = 0; k < i % 97; k++) printf " the %d words", k * i; print "\"}" } }' >"$dir/many/all.jsonl"
awk 'BEGIN { for (i = 0; i < 40000; i++) print "line", i, i * i }' >"$dir/many/last.txt"
for t in 1 3; do
    run "$tok" shards --tokenizer="$g/llama3" --out="$dir/t$t/x" --threads=$t --shard-tokens=1000000 "$dir/many"
    check "$t threads" [ $rc = 0 ]
done
check "the same bytes from 1 and 3 threads" diff -r "$dir/t1" "$dir/t3"
check "several files" [ "$(ls "$dir/t1" | wc -l)" -gt 2 ]
check "2 input files, all documents" says 'read: 2 files'
check "12001 documents" says '12001 documents,'
gzip <"$dir/many/all.jsonl" | "$tok" shards --tokenizer="$g/llama3" --input=jsonl --out="$dir/p/x" - >"$out" 2>&1
rc=$?
run "$tok" shards --tokenizer="$g/llama3" --out="$dir/q/x" "$dir/many/all.jsonl"
check "the same from a pipe" cmp -s "$dir/p/x-00000.tok" "$dir/q/x-00000.tok"

# Other forms, fields and marks.
printf '{"body": "one"}\n{"body": "two"}\n' >"$dir/body.json"
for k in megatron llmc nanogpt; do
    run "$tok" shards --tokenizer=byte --format=$k --field=body --no-bos --out="$dir/$k" "$dir/body.json"
    check "$k" says "$k, u16, 2 documents, 8 tokens"
    run "$tok" inspect --tokenizer=byte --verify "$dir/$k-00000.bin"
    check "$k is read back" eval 'says "document at token 0, 4 tokens: one" && says "document at token 4, 4 tokens: two"'
done
check "nanoGPT: tokens and nothing else" [ "$(od -An -tu2 "$dir/nanogpt-00000.bin" | tr -s ' \n' ' ')" = ' 111 110 101 257 116 119 111 257 ' ]
run "$tok" shards --tokenizer=byte --format=nanogpt --dtype=u32 --no-bos --no-eos --out="$dir/wide" "$dir/a.txt"
run "$tok" inspect --dtype=u32 --tokenizer=byte "$dir/wide-00000.bin"
check "u32 when asked" says 'wide-00000.bin: nanogpt, 9 tokens of 4 bytes, documents not counted in this kind of file'
printf 'caf\351\n' >"$dir/latin.txt"
refused 74 "latin.txt:1: byte 4 of the text (0xE9) is not UTF-8" "$tok" shards --tokenizer="$top_srcdir/tests/golden/tokenizer/llama3" --out="$dir/latin" "$dir/latin.txt"
run "$tok" shards --tokenizer="$top_srcdir/tests/golden/tokenizer/llama3" --repair-utf8 --out="$dir/latin" "$dir/latin.txt"
check "repaired when asked" says '1 document of 7 bytes, 1 document with ill-formed UTF-8 repaired'

# A vocabulary of 70,000 does not go into 16 bits; a file that asks for truncation does not get it.
awk 'BEGIN { a = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    for (i = 0; i < 64; i++) c[i] = substr(a, i + 1, 1)
    for (b = 0; b < 256; b++) print c[int(b / 4)] c[b % 4 * 16] "== " n++
    for (x = 0; n < 69744; x++) { b = x % 256; d = int(x / 256) % 256; e = int(x / 65536)
        if (e == 0) print c[int(b / 4)] c[b % 4 * 16 + int(d / 16)] c[d % 16 * 4] "= " n++
        else print c[int(b / 4)] c[b % 4 * 16 + int(d / 16)] c[d % 16 * 4 + int(e / 64)] c[e % 64] " " n++ } }' >"$dir/big.tiktoken"
refused 78 "u16 holds the ids 0 to 65535, but the tokenizer \"$dir/big.tiktoken\" has 70000; use u32, or auto, which chooses" \
    "$tok" shards --tokenizer="$dir/big.tiktoken" --dtype=u16 --out="$dir/new/x" "$dir/a.txt"
run "$tok" shards --tokenizer="$dir/big.tiktoken" --out="$dir/big" "$dir/a.txt"
check "auto takes 32 bits" says 'titan, u32, 1 document'
mkdir "$dir/cut"
sed 's/"truncation": *null/"truncation": {"direction": "Right", "max_length": 8, "strategy": "LongestFirst", "stride": 0}/
     s/"padding": *null/"padding": {"strategy": {"Fixed": 16}, "direction": "Right", "pad_id": 0, "pad_type_id": 0, "pad_token": "x"}/' \
    "$g/gpt2/tokenizer.json" >"$dir/cut/tokenizer.json"
awk 'BEGIN { for (i = 0; i < 1000; i++) printf "%s", i % 2 ? "!" : "a" }' >"$dir/thousand.txt"
run "$tok" shards --tokenizer="$dir/cut" --no-bos --no-eos --out="$dir/thousand" "$dir/thousand.txt"
check "1,000 tokens in spite of truncation" says '1 document, 1000 tokens'
check "one warning" eval '[ "$(grep -c warning "$out")" = 1 ] && says "was saved with truncation and padding on; titan does not apply it"'

# A signal leaves nothing, also while the pipe is silent.
mkfifo "$dir/pipe"
for s in TERM INT; do
    sh -c 'trap - INT; exec "$@"' sh "$tok" shards --tokenizer=byte --input=jsonl --out="$dir/new/x" - <"$dir/pipe" >"$out" 2>&1 &
    pid=$!
    exec 3>"$dir/pipe"
    head -n 3000 "$dir/many/all.jsonl" >&3
    tries=0
    while ! grep -q titan-tokenize "/proc/$pid/comm" 2>/dev/null && [ $tries -lt 50 ]; do sleep 0.02; tries=$((tries + 1)); done
    sleep 0.2
    kill -$s $pid
    wait $pid
    rc=$?
    exec 3>&-
    if [ $s = INT ] && [ $rc = 0 ]; then # a shell without job control starts it with SIGINT ignored
        n=$((n + 1))
        echo "ok $n - SIGINT # SKIP ignored in the background by this shell"
        rm -f "$dir"/new/*
    else
        check "SIG$s: exit code 75" [ $rc = 75 ]
        check "SIG$s: says so" says "stopped by SIG$s while waiting for -; start again for the whole"
    fi
    check "SIG$s: nothing is left" nothing_left
done
echo "1..$n"
