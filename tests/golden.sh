# Published models train here as they did with the software that made them (tests/golden/models.how), on one rank and on
# meshes; a wrong weight is seen. Then titan-train starts from a published folder, or says why it cannot.
. "$top_srcdir/tests/lib.sh"
models=$top_srcdir/tests/golden/models
golden=$top_builddir/tests/golden_check

for m in llama3 llama3_packed llama3_tied_scaled; do
    run "$golden" "$models/$m"
    check "$m trains as its reference did" [ $rc = 0 ]
    check "$m: everything was compared" [ "$(grep -c 'tolerance' "$out")" -gt 20 ]
done
if have_mpi; then
    for m in llama3 llama3_packed; do
        for mesh in dp_shard2 tp2 dp_shard2,tp2; do
            case $mesh in *,*) ranks=4 ;; *) ranks=2 ;; esac
            run_ranks $ranks "$golden" "$models/$m" --mesh=$mesh
            check "$m on $mesh" [ $rc = 0 ]
        done
    done
    run_ranks 2 "$golden" "$models/llama3_tied_scaled" --mesh=dp_shard2
    check "llama3_tied_scaled on dp_shard2" [ $rc = 0 ]
    run_ranks 2 "$golden" "$models/llama3_tied_scaled" --mesh=tp2
    check "one kv head cannot be shared by tp2" refused 78 "model.n_kv_heads=1 is not divisible by \
parallelism.tensor_parallel_degree=2: every tp rank needs whole kv heads; use a degree of 1"
else
    skip "the golden models on meshes" "no MPI"
fi

cp -r "$models/llama3" "$work/wrong"
chmod -R u+w "$work/wrong"
size=$(wc -c <"$work/wrong/model.safetensors")
perturb "$work/wrong/model.safetensors" $((size / 8 * 4 + 2)) # the second highest byte of one weight
run "$golden" "$work/wrong"
check "one weight off by a percent is seen" [ $rc = 1 ]
check "and said" says "FAILED"

# --- titan-train from a published folder ---
hf=$top_srcdir/tests/golden/hf/single
set -- --model.dim=32 --model.n_layers=2 --model.n_heads=4 --model.n_kv_heads=2 --model.ffn_dim=64 --model.vocab_size=320 \
    --model.rope_theta=500000 --model.rope_scaling_factor=8 --model.rope_low_freq_factor=1 --model.rope_high_freq_factor=4 \
    --model.rope_original_max_position=32 --model.norm_eps=1e-5 --training.steps=3
from() { # folder, more arguments
    folder=$1
    shift
    run "$train" "$tiny" --job.dump_folder="$work/hf" --checkpoint.initial_load_path="$folder" "$@"
}
from "$hf" "$@"
check "titan-train starts from a published folder" [ $rc = 0 ]
check "and says so" says "titan: weights from $hf ($work/hf/checkpoint has no checkpoint to resume from)"
sharded=$(sed -n '$p' "$work/hf/metrics.jsonl" | sed 's/.*"loss_metrics\/global_avg_loss": \([^,]*\).*/\1/')
rm -rf "$work/hf"
from "$top_srcdir/tests/golden/hf/sharded" "$@"
check "the same weights in shards train alike" [ "$sharded" = \
    "$(sed -n '$p' "$work/hf/metrics.jsonl" | sed 's/.*"loss_metrics\/global_avg_loss": \([^,]*\).*/\1/')" ]
from "$hf" "$@" --training.steps=4
check "a checkpoint of the run itself comes first" says "titan: checkpoint.initial_load_path is not used: \
$work/hf/checkpoint already has step-3"
check "the way to start over is named" grep -q 'resumed from .*step-3 .*; to start over, use another job.dump_folder' "$out"
rm "$work/hf/checkpoint"/step-*/COMMITTED
from "$hf" "$@"
check "with a step only that was never finished, the published weights are taken" says "titan: weights from $hf \
($work/hf/checkpoint has no checkpoint to resume from)"
check "from the first step on" grep -q '^step: *1 ' "$out"
rm -rf "$work/hf"
mkdir -p "$work/hf/checkpoint"
from "$hf" "$@"
check "with an empty checkpoint folder too" says "titan: weights from $hf ($work/hf/checkpoint has no checkpoint to resume from)"
rm -rf "$work/hf"
ln -s "$hf" "$work/single"
from "$work/singel" "$@"
check "a mistyped folder of weights" says "; did you mean $work/single?"
for one in dim:32:64 n_layers:2:3 n_heads:4:8 n_kv_heads:2:4 ffn_dim:64:96 vocab_size:320:258 norm_eps:1e-05:1e-06 \
    rope_theta:500000:10000 rope_scaling_factor:8:4 rope_low_freq_factor:1:2 rope_high_freq_factor:4:5 \
    rope_original_max_position:32:64 tie_embeddings:0:1; do
    key=${one%%:*}
    theirs=${one#*:}
    ours=${theirs#*:}
    theirs=${theirs%:*}
    value=$ours
    [ $key = tie_embeddings ] && value=true
    from "$hf" "$@" --model.$key=$value --model.head_dim=8
    check "another $key is refused" refused 78 "$hf: the folder's model has $key $theirs but the configured one has $ours; \
set model.$key (or the flavor) to match"
done
from "$work/nowhere" "$@"
check "no such folder" refused 74 "reading $work/nowhere/config.json failed: No such file or directory; give the folder of a published model"
mkdir "$work/empty"
from "$work/empty" "$@"
check "a folder without config.json" refused 74 "reading $work/empty/config.json failed: No such file or \
directory; give the folder of a published model"
cp "$hf/config.json" "$work/empty"
from "$work/empty" "$@"
check "a folder without weights" refused 74 "opening model folder $work/empty: there is neither model.safetensors nor \
model.safetensors.index.json in it; give the folder of a model in safetensors form"
head -c 100000 "$hf/model.safetensors" >"$work/empty/model.safetensors"
from "$work/empty" "$@"
check "cut weights" refused 74 "opening model folder $work/empty: $work/empty/model.safetensors is not a sound safetensors \
file (fetch or export it again): the tensors end at byte 156288 of the data, which has 97864"
from "$work/out/checkpoint/step-7" "$@"
check "no such step" refused 74 "there is no checkpoint of step 7 in $work/out/checkpoint, which has none; choose another \
step or leave the step out"
done_testing
