# Data as a user gives it: text of all kinds, token shards, mixtures; the same rows give the same losses, and what is wrong is named.
. "$top_srcdir/tests/lib.sh"
tokenize=$top_builddir/titan-tokenize
losses() { # of the last run in folder $1
    sed 's/.*"step":[ ]*\([0-9]*\).*global_avg_loss":[ ]*\([0-9.e-]*\).*/\1 \2/' "$1/metrics.jsonl"
}
same_losses() { [ "$(losses "$1")" = "$(losses "$2")" ] && [ -n "$(losses "$1")" ]; }
t() { # name of the folder, options…
    name=$1
    shift
    run "$train" "$tiny" --training.steps=4 --checkpoint.no_enable --job.dump_folder="$work/$name" "$@"
}
j=$work/j.jsonl
awk 'BEGIN { for (i = 1; i <= 400; i++) printf "{\"id\": %d, \"text\": \"line %d of \\u00e9 text %d\"}\n", i, i, i * 7 % 13 }' >"$j"

# --- one text, many ways ---
t plain --training.dataset_path="$j"
check "JSON lines" [ $rc = 0 ]
check "what it is is said" says "titan: data: 9184 tokens in 400 documents of 1 text file, held in memory"
gzip -k "$j"
t gz --training.dataset_path="$j.gz"
check "compressed: the same losses" same_losses "$work/plain" "$work/gz"
t stream --training.dataset_path="$j" --training.dataset_in_memory_mib=0
check "tokenized while training: the same losses" same_losses "$work/plain" "$work/stream"
check "and said so" says "in 1 text file, tokenized while training"
run "$tokenize" shards --tokenizer=byte --out="$work/tokens/j" "$j"
check "titan-tokenize shards" [ $rc = 0 ]
t shards --training.dataset_path="$work/tokens"
check "token shards: the same losses" same_losses "$work/plain" "$work/shards"
t mix --training.dataset_path= --training.dataset_mixture="2 $work/tokens,1 $j"
check "a mixture" [ $rc = 0 ]
check "its parts are said" says "data 1 $j: "
mkdir -p "$work/c4/en"
cp "$j.gz" "$work/c4/en/c4-train.00000-of-01024.json.gz"
t c4 --training.dataset=c4 --training.dataset_path="$work/c4"
check "c4 in its own folder: the same losses" same_losses "$work/plain" "$work/c4"
(mkdir -p "$work/here/tests/assets/c4_test" && cd "$work/here" && cp "$j" tests/assets/c4_test/data.json &&
    "$train" "$tiny" --training.steps=1 --checkpoint.no_enable --training.dataset_path= --training.dataset=c4_test \
        --job.dump_folder=out >"$out" 2>&1)
check "c4_test where the reference has it" [ $? = 0 ]
t shuffled --training.dataset_path="$work/tokens" --training.dataloader.shuffle
check "shuffled: other losses" [ "$(same_losses "$work/plain" "$work/shuffled" || echo other)" = other ]
t again --training.dataset_path="$j" --training.dataloader.shuffle
check "the order is the seed's, not the file's" same_losses "$work/again" "$work/shuffled"

# --- documents of different lengths: the loss weighs tokens, not rows, however the batch is cut ---
d() { # name, local batch
    t "$1" --training.dataset_path="$j" --training.packing=document --training.local_batch_size="$2" --training.global_batch_size=8
}
d one 8
d two 1
d three 4
near() { # both folders: losses within 1e-5
    losses "$work/$1" >"$work/l1"
    losses "$work/$2" >"$work/l2"
    [ -s "$work/l1" ] && paste "$work/l1" "$work/l2" | awk '{ d = $2 - $4; if (d < 0) d = -d; if (d > 1e-5 * $2 || $1 != $3) bad = 1 } END { exit bad }'
}
check "documents: 8 x 1 = 1 x 8" near one two
check "documents: 8 x 1 = 2 x 4" near one three
check "documents: other losses than a plain stream" [ "$(near one plain || echo other)" = other ]

# --- resuming text that is tokenized while training ---
r() { # folder, steps
    run "$train" "$tiny" --training.steps="$2" --lr_scheduler.total_steps=9 --training.dataset_path="$j" --training.dataset_in_memory_mib=0 \
        --job.dump_folder="$work/$1"
}
r whole 9
r parts 5
r parts 9
check "resumed: the text is re-read up to its place" says "data: re-read the text up to token"
check "resumed = never stopped" "$top_builddir/tests/ckpt_equal" "$work/whole/checkpoint/step-9" "$work/parts/checkpoint/step-9"

# --- what is wrong is named ---
t x --training.dataset_path="$work/nothing/*.jsonl"
check "an empty pattern" says "training.dataset_path: no file matches $work/nothing/*.jsonl"
t x --training.dataset_path="$j" --training.dataset_field=body
check "a line without the field" says "$j:1: there is no field \"body\" in this line; its fields are: id, text"
check "its exit code" [ $rc = 74 ]
printf 'caf\351 au lait, and so on and on until there are enough bytes\n' >"$work/latin.txt"
g=$top_srcdir/tests/golden/tokenizer/llama3
t x --model.tokenizer_path="$g" --model.vocab_size=2048 --training.seq_len=4 --training.dataset_path="$work/latin.txt"
check "ill-formed UTF-8" says "$work/latin.txt:1: "
check "what to do about it" says "UTF-8"
t x --model.tokenizer_path="$g" --model.vocab_size=2048 --training.seq_len=4 --training.dataset_path="$work/latin.txt" --training.dataset_repair_utf8
check "repaired" [ $rc = 0 ]
t x --model.tokenizer_path="$g" --model.vocab_size=2048 --training.dataset_path="$work/tokens"
check "shards of another tokenizer" [ $rc = 74 ]
check "both are named" says "byte"
t x --model.vocab_size=200 --training.dataset_path="$work/tokens"
check "a vocabulary that differs" [ $rc = 74 ]
t x --model.tokenizer_path="$work/no-tokenizer" --training.dataset_path="$j"
check "a missing tokenizer" [ $rc = 78 ]
check "what was looked for" says "$work/no-tokenizer"
t x --training.dataset_path= --training.dataset_mixture="$j"
check "a mixture without weights" refused 78 "training.dataset_mixture: \"$j\" is not a weight and a path; write for example \"0.7 \
data/web/*.jsonl.gz\""
t x --training.dataset_path="$j" --training.dataset_in_memory_mib=0 --training.dataloader.shuffle
check "shuffling text that is read onwards" refused 78 "training.dataloader.shuffle = true: $j is too much text to hold in memory, and \
text can only be read onwards; write token shards of it with titan-tokenize shards and give those, or do not shuffle"
t x --training.dataset_path="$j" --validation.enable --validation.dataset_path="$j" --validation.seq_len=32 --training.dataset_in_memory_mib=0
check "validation on the whole of a text of unknown length" [ $rc = 78 ]
printf 'PAR1xxxxPAR1' >"$work/t.parquet"
t x --training.dataset_path="$work/t.parquet"
check "Parquet" says "is a Parquet file, which titan does not read"
done_testing
