# Random strings have the ids that the Python package tokenizers gives. SEED=N repeats a run, COUNT=N makes it longer.
python=${PYTHON:-python3}
if ! "$python" -c 'import tokenizers' 2>/dev/null; then
    echo "1..0 # SKIP $python has no package tokenizers (PYTHON=... names another)"
    exit 0
fi
g=$top_srcdir/tests/golden/tokenizer
exec "$python" "$top_srcdir/tests/tokenizer_fuzz.py" "$top_builddir/titan-tokenize" "${COUNT:-20000}" "${SEED:-1}" \
    "$g/added/tokenizer.json" "$g/deepseek/tokenizer.json" "$g/gpt2/tokenizer.json" "$g/llama3/tokenizer.json" \
    "$g/o200k/tokenizer.json" "$g/qwen/tokenizer.json"
