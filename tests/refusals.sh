# What cannot work is refused with one message that says what to change, and the exit code of its kind; what was sound
# before stays sound.
. "$top_srcdir/tests/lib.sh"

t() { # arguments…: the tiny config alone
    run "$train" "$tiny" "$@"
}

# --- the command line and the config file ---
t --training.sequ_len=3
check "unknown key" refused 78 "command line: unknown key 'training.sequ_len'; did you mean 'training.seq_len'?"
t --training.seq_len=abc
check "wrong type" refused 78 "command line: training.seq_len = abc is not a 64-bit integer; allowed: an integer, 1 or more"
t --training.seq_len=0
check "out of range" refused 78 "command line: training.seq_len = 0 is out of range; allowed: an integer, 1 or more"
run "$train" "$work/nowhere.cfg"
check "no such config" refused 78 "cannot find config '$work/nowhere.cfg': no such file, and no installed config of that name; \
give a path, or the name of a file in the configs folder"
printf 'job = {\n  dump_folder = ;\n};\n' >"$work/bad.cfg"
run "$train" "$work/bad.cfg"
check "syntax error" refused 78 "$work/bad.cfg:2: syntax error; the form is \`section = { key = value; };\`"
printf '%s\n' '@include "tiny.cfg"' 'training = { seqlen = 3; };' >"$work/typo.cfg"
run "$train" "$work/typo.cfg"
check "unknown key in a file" refused 78 "$work/typo.cfg:2: unknown key 'training.seqlen'; did you mean 'training.seq_len'?"

run "$train" llama3_8bb --print-config
check "a mistyped name of an installed config" refused 78 "cannot find config 'llama3_8bb': no such file, and no installed config \
of that name; did you mean 'llama3_8b'?"
cp "$tiny" "$work/mine.cfg"
run "$train" "$work/mien.cfg"
check "a mistyped config file" refused 78 "cannot find config '$work/mien.cfg': no such file, and no installed config of that \
name; did you mean '$work/mine.cfg'?"
t --model.tokenizer_path="$work/mine.cgf"
check "a mistyped tokenizer" says "; did you mean $work/mine.cfg?"
t --training.dataset_path="$work/daat"
check "mistyped data" says "did you mean $work/data?"

# --- TOML, names of other versions ---
cat >"$work/tiny.toml" <<EOF
[job]
dump_folder = "$work/toml"
custom_config_module = ""
[model]
flavor = "debugmodel"
dim = 32
n_layers = 2
n_heads = 4
n_kv_heads = 2
multiple_of = 16
vocab_size = 258
tokenizer_path = "byte"
[training]
num_tokens_per_microbatch_per_dp_rank = 64 # 2 sequences
num_tokens_per_train_step = 256
max_context_length = 32
warmup_steps = 2
steps = 2
mixed_precision_param = "float32"
dataset_path = "$work/data"
[parallelism]
pipeline_parallel_schedule = "Interleaved1F1B" # means nothing without a pipeline
[device]
threads = 1
EOF
run "$train" "$work/tiny.toml" --training.seed=7
check "a TOML file trains" [ $rc = 0 ]
check "tokens are sequences" says "step: 8 sequences x 32 tokens = 256 tokens (4 accumulated microbatches)"
check "an older name is told" says "$work/tiny.toml:17: training.warmup_steps is now lr_scheduler.warmup_steps"
check "also one of the command line" says "command line: training.seed is now debug.seed"
check "once" [ "$(grep -c 'is now' "$out")" = 2 ]
run "$train" "$work/tiny.toml" --training.num_tokens_per_train_step=288
check "tokens that do not fit the microbatches" refused 78 "training.global_batch_size = 9 (command line (from \
training.num_tokens_per_train_step)) does not fit training.local_batch_size = 2 ($work/tiny.toml:14 (from \
training.num_tokens_per_microbatch_per_dp_rank)): the global batch is a whole number of local batches; change one of them"
"$train" --print-config "$work/tiny.toml" >"$work/toml.cfg"
"$train" --print-config "$work/toml.cfg" >"$work/again.cfg"
sed 's/  *#.*//' "$work/toml.cfg" | grep -v config_file >"$work/p1"
sed 's/  *#.*//' "$work/again.cfg" | grep -v config_file >"$work/p2"
check "its printed config reads back identical" cmp -s "$work/p1" "$work/p2"

# --- data ---
: >"$work/empty.txt"
t --training.dataset_path="$work/empty.txt"
check "empty data" refused 74 "training.dataset_path: all files found are empty (1, the first is $work/empty.txt); put text into \
them"
t --training.dataset_path="$work/no*.txt"
check "no data" says "training.dataset_path: no file matches $work/no*.txt; the folder $work holds "
check "no data: what to give" says "; give text files, a folder of them, or a pattern such as data/*.jsonl.gz"
check "no data: exit code" [ $rc = 74 ]
echo short >"$work/short.txt"
t --training.dataset_path="$work/short.txt"
check "sequence too long for the data" refused 74 "training.seq_len=32: sequence too long for the data: a row needs 33 tokens, \
$work/short.txt holds 8; use training.seq_len <= 7 or more text"
t --model.vocab_size=100
check "more ids than the model has rows" refused 74 "the tokenizer \"byte\" marks documents with the ids 256 and 257, but the \
model's vocabulary has 100 rows; use model.vocab_size >= 258"
run "$train" --model.tokenizer_path=byte --job.dump_folder="$work/out"
check "no data configured" refused 78 "training.dataset = \"c4_test\" has no files: titan downloads nothing; put a file data.json of \
JSON lines with a field \"text\" into the folder tests/assets/c4_test here, or set training.dataset_path to a file, a folder of .txt \
or .jsonl files, a pattern, or token shards"
run "$train" --model.tokenizer_path=byte --job.dump_folder="$work/out" --training.dataset=c4_tets
check "a data set that is nearly known" refused 78 "training.dataset = \"c4_tets\" has no files (did you mean \"c4_test\"?): titan \
downloads nothing; set training.dataset_path to a file, a folder of .txt or .jsonl files, a pattern, or token shards"
t --training.dataset_path="$work/data" --training.dataset_mixture="1 $work/data"
check "a path and a mixture" refused 78 "training.dataset_path (command line) and training.dataset_mixture (command line) are both \
set; keep one of them"
t --training.dataset_path=-
check "standard input is no data set" [ $rc = 74 ]
t --training.dataset_path="$work/short.txt" --training.seq_len=4 --training.steps=1 --checkpoint.no_enable
check "too little data for one batch" says "titan: warning: too little data for one batch: a step takes 8 rows, the data has 1, so"

# --- model, batch and mesh ---
t --training.seq_len=128
check "more positions than the model has" refused 78 "training.seq_len=128 (command line) is more than the model's 64 positions; \
use a shorter one, or raise model.max_seq_len"
t --training.global_batch_size=9
check "global batch" refused 78 "training.global_batch_size = 9 (command line) does not fit training.local_batch_size = 2 \
($tiny:6): the global batch is a whole number of local batches; change one of them"
t --model.flavor=9B
check "unknown size" refused 78 "model.flavor = \"9B\" is not a size of llama3; use debugmodel, 1B, 3B, 8B, 70B or 405B"
t --model.name=llama5
check "unknown family" refused 78 "model.name = \"llama5\" is not a family that is built in; use \"llama3\"; did you \
mean \"llama3\"?"
t --model.dim=30
check "heads that do not divide" refused 78 "model.dim=30 is not divisible by model.n_heads=4 ($tiny:2); choose one that \
divides, or set model.head_dim"
t --activation_checkpoint.selective_ac_option=xx
check "recompute option" refused 78 "activation_checkpoint.selective_ac_option = \"xx\" (command line); use \"op\", or \"n\" to \
recompute every n-th layer"
t --parallelism.tensor_parallel_degree=2
check "more degrees than ranks" refused 78 "mesh pp 1 x dp_replicate 1 x dp_shard -1 x cp 1 x tp 2: the product of the degrees \
other than dp_shard is 2, which does not divide the 1 ranks of this job; choose degrees whose product is one of 1, or start \
another number of ranks"
if have_mpi; then
    run_ranks 4 "$train" "$tiny" --parallelism.tensor_parallel_degree=4
    check "kv heads and tp" refused 78 "model.n_kv_heads=2 is not divisible by parallelism.tensor_parallel_degree=4: every tp \
rank needs whole kv heads; use a degree of 1, 2"
    run_ranks 4 "$train" "$tiny" --parallelism.data_parallel_shard_degree=3
    check "a mesh that does not fit" refused 78 "mesh pp 1 x dp_replicate 1 x dp_shard 3 x cp 1 x tp 1 needs 3 ranks but this job \
has 4; set parallelism.data_parallel_shard_degree to 4 (or -1 to fill)"
    check "no rank is left" [ -z "$(ps -eo args | grep -F "$work" | grep -F titan-train | grep -v grep)" ]
fi
unbuilt() { # argument, what is missing, what to use
    t "--$1"
    check "not built: $1" refused 78 "command line: $4 asks for what this version does not have: $2; use $3"
}
for axis in pipeline context expert; do
    unbuilt parallelism.${axis}_parallel_degree=2 "$axis parallelism" 1 "parallelism.${axis}_parallel_degree = 2"
done
unbuilt model.converters=quantize.linear.float8 "low precision (converters)" "[]" \
    'model.converters = ["quantize.linear.float8"]'
unbuilt checkpoint.async_mode=async "background saving" '"disabled"' 'checkpoint.async_mode = "async"'

# --- numbers that are none ---
t --activation_checkpoint.mode=memory_budget
check "not built: a memory budget" refused 78 "command line: activation_checkpoint.mode = \"memory_budget\" asks for what this \
version does not have: recompute under a memory budget; use \"none\", \"selective\" or \"full\""
rm -rf "$work/out"
t --training.steps=3
t --optimizer.lr=1e30 --training.steps=10
check "not finite: exit code and message" refused 76 "$(sed -n 's/^titan: error: \(step .*nothing was updated.*\)/\1/p' "$out")"
check "not finite: step, tensor and rank" says "the first gradient that is not finite is tok_embeddings.weight on rank 0; \
nothing was updated"
t --training.steps=4
check "the checkpoint of before is sound" [ $rc = 0 ]
check "and was used" says "resumed from $work/out/checkpoint/step-3"

# --- damaged and partial checkpoints ---
rm -rf "$work/out"
t --training.steps=8 --checkpoint.interval=4
part=$work/out/checkpoint/step-8/part-00000.h5
perturb "$part" $(($(wc -c <"$part") - 4096))
t --training.steps=9 --checkpoint.load_step=8
check "a damaged checkpoint asked for" [ $rc = 74 ]
check "is refused by name" says "step-8 is damaged: in part-00000.h5, "
cp -r "$work/out" "$work/damaged"
t --training.steps=9 --job.dump_folder="$work/damaged"
check "a damaged newest one: the one before is used" says "resumed from $work/damaged/checkpoint/step-4 (step 4, sample 32)"
check "and the damage is named" says "titan: warning: skipped: checkpoint $work/damaged/checkpoint/step-8 is damaged: in \
part-00000.h5, "
head -c 50000 "$part" >"$part.cut" && mv "$part.cut" "$part"
t --training.steps=9
check "a truncated newest one: the one before is used" says "resumed from $work/out/checkpoint/step-4 (step 4, sample 32)"
check "and training goes on" [ $rc = 0 ]
check "the bad one is named" says "step-8"

# --- disk full ---
if [ "$(id -u)" = 0 ] && mkdir "$work/disk" && mount -t tmpfs -o size=900k tmpfs "$work/disk" 2>/dev/null; then
    trap 'umount "$work/disk"; rm -rf "$work"' EXIT
    t --job.dump_folder="$work/disk" --training.steps=1
    check "there is room for one" [ $rc = 0 ]
    t --job.dump_folder="$work/disk" --training.steps=2
    check "disk full on save: exit code" [ $rc = 74 ]
    check "disk full on save: one message, with what is free" grep -q '^titan: error: .*free' "$out"
    check "no half checkpoint" [ ! -e "$work/disk/checkpoint/step-2/COMMITTED" ]
    t --job.dump_folder="$work/disk" --training.steps=1
    check "the older one is sound" says "resumed from $work/disk/checkpoint/step-1"
else
    skip "disk full" "needs root and mount"
fi

# --- two jobs, one folder ---
rm -rf "$work/out"
"$train" "$tiny" --training.steps=100000 --metrics.log_freq=100000 >"$work/first" 2>&1 &
pid=$!
until grep -q '^step:' "$work/first" || ! kill -0 $pid; do sleep 0.02; done
t
check "a second job in the folder: exit code" [ $rc = 74 ]
check "a second job in the folder: who holds it" says "$pid"
kill $pid
wait $pid
check "the first was not disturbed" [ $? = 75 ]

# --- a checkpoint without moments ---
rm -rf "$work/out"
t --training.steps=2 --checkpoint.last_save_model_only=true
t --training.steps=2 --checkpoint.last_save_model_only=true
check "nothing left to do" [ $rc = 0 ]
t --training.steps=4
check "weights only cannot be continued" refused 78 "$work/out/checkpoint/step-2 holds weights only, so training cannot go on \
from it to step 4; start from its weights with checkpoint.initial_load_path and another job.dump_folder, or name an earlier full \
one with checkpoint.load_step (checkpoint.last_save_model_only = false keeps the last one full)"
t --training.steps=4 --checkpoint.initial_load_path="$work/out/checkpoint/step-2" --job.dump_folder="$work/other"
check "but can be started from" [ $rc = 0 ]

# --- what a program says of itself ---
run "$train" --version
check "--version" says "titan-train"
run "$train" --help
check "--help" says "training.seq_len"
"$train" --print-config "$tiny" >"$work/printed.cfg"
"$train" --print-config "$work/printed.cfg" >"$work/again.cfg"
sed 's/  *#.*//' "$work/printed.cfg" | grep -v config_file >"$work/p1"
sed 's/  *#.*//' "$work/again.cfg" | grep -v config_file >"$work/p2"
check "--print-config reads back identical" cmp -s "$work/p1" "$work/p2"

# --- a folder that another run used ---
rm -rf "$work/used"
run "$train" "$tiny" --job.dump_folder="$work/used" --training.steps=8 --checkpoint.interval=4 --checkpoint.keep_latest_k=2
check "a run" [ $rc = 0 ]
u() { # options…
    run "$train" "$tiny" --job.dump_folder="$work/used" --training.steps=10 --checkpoint.interval=2 --checkpoint.keep_latest_k=2 "$@"
}
u --model.dim=64
check "another model in its folder: exit code" [ $rc = 78 ]
check "what differs" says "is float32 [258, 32] in checkpoint $work/used/checkpoint/step-8 and float32 [258, 64] in this model; use the config \
the checkpoint was made with, or another job.dump_folder"
u --model.n_layers=3
check "more layers: exit code" [ $rc = 78 ]
u --model.tokenizer_path="$top_srcdir/tests/golden/tokenizer/llama3" --model.vocab_size=258 --training.dataset_path="$work/data"
check "its checkpoints are all there" [ "$(ls "$work/used/checkpoint" | tr '\n' ' ')" = "step-4 step-8 " ]
u --training.seq_len=16 --training.steps=9
check "other rows: told" says "it was rows of 32 + 1 tokens, packing stream, "
check "and what they are now" says ", now it is rows of 16 + 1 tokens, packing stream, "
for s in "$work/used/checkpoint"/step-*; do perturb "$s/COMMITTED" 3; done
u
check "all checkpoints damaged: exit code" [ $rc = 74 ]
check "nothing is overwritten" says "complete checkpoints in $work/used/checkpoint can be read, and a fresh start would overwrite them; \
repair one, move them away, or use another job.dump_folder"
run "$train" "$tiny" --job.dump_folder="$work/used" --training.steps=1 --checkpoint.no_enable
check "metrics of an earlier run are put aside, and told" says "this run starts anew in a folder that was used: what the earlier one reported is \
now $work/used/metrics.jsonl.old"
check "with all of it" grep -q '"step": 8' "$work/used/metrics.jsonl.old"
u --optimizer.name=adamw
check "the nearest choice whatever the case" says 'did you mean "AdamW"?'
u --profiling.enable_memory_snapshot --profiling.memory_snapshot_freq=3
check "a key of the snapshot that is not built" [ $rc = 78 ]

# --- the self-check ---
if have_mpi; then
    run_ranks 4 "$train" "$tiny" --job.dump_folder="$work/self" --parallelism.tensor_parallel_degree=2 --training.steps=1 \
        --selfcheck
    check "--selfcheck on dp_shard 2 x tp 2" [ $rc = 0 ]
    check "it compared" says "selfcheck: every gradient of this mesh is one rank's"
fi

# --- titan-generate ---
g() { # more arguments
    run "$generate" "$work/other/checkpoint" --prompt=line --max-tokens=20 --threads=1 "$@"
}
g
cp "$out" "$work/greedy"
g
check "greedy is the same twice" cmp -s "$out" "$work/greedy"
check "it begins with the prompt" [ "$(head -c 4 "$out")" = line ]
g --temperature=1 --seed=1
cp "$out" "$work/one"
g --temperature=1 --seed=1
check "a seed repeats" cmp -s "$out" "$work/one"
g --temperature=1 --seed=2
check "another seed differs" [ "$(cmp -s "$out" "$work/one" || echo differs)" = differs ]
g --top-k=1 --temperature=1 --seed=5
check "the likeliest one is greedy" cmp -s "$out" "$work/greedy"
g --top-p=1e-6 --temperature=1 --seed=5
check "a tiny top-p is greedy" cmp -s "$out" "$work/greedy"
printf line >"$work/prompt"
run "$generate" "$work/other/checkpoint" --max-tokens=20 --threads=1 <"$work/prompt"
check "the prompt may come from standard input" cmp -s "$out" "$work/greedy"
g --logprobs=2
check "--logprobs: the prompt, a line for each token, the whole" [ "$(wc -l <"$out")" = 22 ]
check "the prompt's ids" says '{"prompt":"line","prompt_ids":[256,108,105,110,101]}'
check "the first of the two likeliest is the greedy one" [ "$(sed -n 2p "$out" | sed 's/,"top.*//')" = \
    "$(sed -n 2p "$out" | sed 's/.*"top":\[//; s/},.*//')" ]
check "why it ended" grep -q '"finish_reason":"length"}$' "$out"
g --top-p=2
check "top-p outside its range" refused 64 "--top-p=2: wants a number from 1e-09 to 1"
run "$generate" "$work/other/checkpoint" --prompt=line --model.tokenizer_path="$top_srcdir/tests/golden/tokenizer/llama3"
check "ids that the model does not have" [ $rc = 78 ]
check "the remedy" says "name the model's own tokenizer with --model.hf_assets_path"
run "$generate" "$work/nowhere"
check "no checkpoint" refused 74 "$work/nowhere holds no complete checkpoint; name a step-N folder, or the folder that holds them \
(<dump_folder>/checkpoint), or a folder with config.json and safetensors"
run "$generate" "$work/other/checkpoint" --max-token=3
check "unknown option" [ $rc = 64 ]
check "did you mean" says "max-tokens"
done_testing
