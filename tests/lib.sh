# What the tests of whole programs share; a test reads it with `. "$top_srcdir/tests/lib.sh"`.
# It makes a folder that goes away at the end ($work), text to train on ($work/data) and the config of a tiny model
# ($work/tiny.cfg: 41 thousand parameters, four accumulated microbatches, milliseconds a step).
n=0
work=$(mktemp -d) || exit 1
out=$work/output
train=$top_builddir/titan-train
generate=$top_builddir/titan-generate
trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT
trap 'exit 1' INT TERM

check() { # name, condition as a command
    n=$((n + 1))
    name=$1
    shift
    if "$@"; then echo "ok $n - $name"; else
        echo "not ok $n - $name"
        { echo "last exit code: ${rc:-}"; tail -n 30 "$out"; } 2>/dev/null | sed 's/^/# /' >&2
    fi
}

skip() { # name, why
    n=$((n + 1))
    echo "ok $n - $1 # SKIP $2"
}

done_testing() {
    echo "1..$n"
    exit 0
}

have_mpi() { # the programs know MPI and there is a launcher
    command -v "${MPIRUN:-mpirun}" >/dev/null 2>&1 && "$train" --version | grep -q '^mpi: [0-9]'
}

run() { # command…; its output is in $out, its exit code in $rc
    "$@" >"$out" 2>&1
    rc=$?
}

run_ranks() { # ranks, command…
    ranks=$1
    shift
    if [ "$ranks" = 1 ]; then run "$@"; else
        TITAN_TEST_RANKS=$ranks TITAN_TEST_TIMEOUT=${TITAN_TEST_TIMEOUT:-60} sh "$top_srcdir/tests/run-mpi.sh" "$@" >"$out" 2>&1
        rc=$?
    fi
}

says() { # fixed text is in the output
    grep -qF -- "$1" "$out"
}

refused() { # exit code, whole message
    [ "$rc" = "$1" ] && grep -qxF -- "titan: error: $2" "$out" && [ "$(grep -c '^titan: error: ' "$out")" = 1 ]
}

perturb() { # file, offset: one byte becomes another
    old=$(od -An -tu1 -j "$2" -N 1 "$1")
    printf "\\$(printf %03o $(((old + 1) % 256)))" | dd of="$1" bs=1 seek="$2" conv=notrunc 2>/dev/null
}

mkdir "$work/data"
awk 'BEGIN { for (i = 1; i <= 3000; i++) print "line", i, "of some text that repeats", i * 7 % 13 }' >"$work/data/a.txt"
cat >"$work/tiny.cfg" <<EOF
job: { dump_folder = "$work/out"; };
model: { name = "llama3"; flavor = "debugmodel"; dim = 32; n_layers = 2; n_heads = 4; n_kv_heads = 2; multiple_of = 16;
         vocab_size = 258; max_seq_len = 64; tokenizer_path = "byte"; };
optimizer: { lr = 2e-3; };
lr_scheduler: { warmup_steps = 4; total_steps = 20; };
training: { local_batch_size = 2; global_batch_size = 8; seq_len = 32; steps = 20; mixed_precision_param = "float32";
            dataset_path = "$work/data"; };
checkpoint: { enable = true; interval = 1000; last_save_model_only = false; };
metrics: { log_freq = 1; };
debug: { seed = 42; };
device: { threads = 1; };
EOF
tiny=$work/tiny.cfg
