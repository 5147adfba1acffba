# The published tokenizers, taken from the Python packages that carry them, when TITAN_REAL_TOKENIZERS names a folder of
# NAME/tokenizer.json (or NAME.tiktoken) with NAME/cases.jsonl and NAME/decode.jsonl beside it. Skipped aloud otherwise: the
# vocabularies are not part of this archive.
if [ -z "$TITAN_REAL_TOKENIZERS" ] || [ ! -d "$TITAN_REAL_TOKENIZERS" ]; then
    echo "1..0 # SKIP TITAN_REAL_TOKENIZERS names no folder of published tokenizers"
    exit 0
fi
n=0
for d in "$TITAN_REAL_TOKENIZERS"/*/; do
    [ -f "$d/cases.jsonl" ] || continue
    n=$((n + 1))
    if "$top_builddir/titan-tokenize" check --tokenizer "$d" "$d/cases.jsonl" "$d/decode.jsonl" >&2; then
        echo "ok $n - $(basename "$d")"
    else
        echo "not ok $n - $(basename "$d")"
    fi
done
echo "1..$n"
