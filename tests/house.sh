# Rules of the house that a grep can see. Runs in the source tree only; an archive has the same files.
n=0
cd "$top_srcdir" || exit 1
check() { # name, offending lines (empty is good)
    n=$((n + 1))
    if [ -z "$2" ]; then echo "ok $n - $1"; else
        echo "not ok $n - $1"
        printf '%s\n' "$2" | sed 's/^/# /' >&2
    fi
}
only() { # header, files that may include it…
    header=$1
    shift
    found=$(grep -rlE "^[[:space:]]*#[[:space:]]*include[[:space:]]*[<\"]$header[>\"]" --include='*.[ch]' src kernels utils 2>/dev/null | sort)
    for f in "$@"; do
        found=$(printf '%s\n' "$found" | grep -vxF "$f")
    done
    check "$header is included by $* only" "$found"
}
only mpi.h src/world/boot_mpi.c src/comm/comm_mpi.c
only libconfig.h src/base/config.c
only hdf5.h src/ckpt/hdf5_file.c
only pcre2.h src/data/pretokenize_regex.c
only zlib.h src/data/text_gzip.c
only zstd.h src/data/text_zstd.c
check "libraries never exit" "$(grep -rnE '(^|[^a-zA-Z_])_?exit *\(' --include='*.c' src kernels | grep -vE '^src/titan_[a-z]*\.c:')"
check "no marks of unfinished work" "$(grep -rnwE 'TODO|FIXME|XXX' --include='*.[ch]' --include='*.def' src kernels utils)"
check "every header says why it exists" "$(find src kernels utils -name '*.h' | while read -r f; do
    head -c 2 "$f" | grep -q '^/\*' || echo "$f"; done)"
check "names of types do not end in _t" "$(grep -rnE '^\} tt_[a-z_]*_t;' --include='*.[ch]' src kernels)"
echo "1..$n"
