"""Encoding speed of titan beside the Python packages tokenizers, tiktoken and quicktok-v1, one thread, documents of 10 kB.

usage: bench_tokenizer.py PROGRAM TOKENIZER TEXT   three interleaved rounds, medians and ratios; PROGRAM is bench_tokenizer
       bench_tokenizer.py --peer NAME TOKENIZER TEXT   one peer in its own process: MB/s of the first pass and of the next ones

The first pass begins with nothing cached. A peer takes part when it is there; another number of ids than titan's is told."""
import json, os, statistics, subprocess, sys, time

os.environ["TOKENIZERS_PARALLELISM"] = "false"


def documents(path):
    data, docs, at = open(path, "rb").read(), [], 0
    while at < len(data):
        end = min(at + 10000, len(data))
        while end < len(data) and data[end] & 0xC0 == 0x80:
            end += 1
        docs.append(data[at:end].decode())
        at = end
    return len(data), docs


def open_tokenizers(name):
    from tokenizers import Tokenizer

    t = Tokenizer.from_file(name)
    return lambda d: t.encode(d, add_special_tokens=False).ids


def open_tiktoken(name):
    import tiktoken

    j = json.load(open(name, encoding="utf-8"))
    keep = list(range(0x21, 0x7F)) + list(range(0xA1, 0xAD)) + list(range(0xAE, 0x100))
    byte = {chr(b): b for b in keep}
    byte.update({chr(256 + i): b for i, b in enumerate(x for x in range(256) if x not in keep)})
    splits = [s for s in j["pre_tokenizer"]["pretokenizers"] if s["type"] == "Split"]
    assert len(splits) == 1, "more than one pattern"
    vocab = j["model"]["vocab"]
    ranks = {bytes(byte[c] for c in k): v for k, v in vocab.items() if all(c in byte for c in k)}
    t = tiktoken.Encoding("bench", pat_str=splits[0]["pattern"]["Regex"], mergeable_ranks=ranks, special_tokens={})
    return t.encode_ordinary


def open_quicktok(name):
    import quicktok

    vocab = len(json.load(open(name, encoding="utf-8"))["model"]["vocab"])
    known = {128000: "llama3", 128256: "llama3", 151643: "qwen3", 199998: "o200k_base", 100256: "cl100k_base"}
    assert vocab in known, "it has no vocabulary of %d tokens" % vocab
    return quicktok.get_encoding(known[vocab]).encode_ordinary


PEERS = {"tokenizers": open_tokenizers, "tiktoken": open_tiktoken, "quicktok-v1": open_quicktok}


def one_peer(peer, name, path):
    size, docs = documents(path)
    encode = PEERS[peer](os.path.join(name, "tokenizer.json") if os.path.isdir(name) else name)
    begin = time.perf_counter()
    ids = sum(len(encode(d)) for d in docs)
    first, passes = time.perf_counter() - begin, 0
    begin = time.perf_counter()
    while passes == 0 or time.perf_counter() - begin < 1:
        for d in docs:
            encode(d)
        passes += 1
    print(ids, size / first / 1e6, size * passes / (time.perf_counter() - begin) / 1e6)


def run(command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        return None, done.stderr.strip().split("\n")[-1]
    ids, first, more = done.stdout.split()
    return (int(ids), float(first), float(more)), None


def main(program, name, path):
    commands = {"titan": [program, "--one", name, path]}
    commands.update({p: [sys.executable, __file__, "--peer", p, name, path] for p in PEERS})
    speeds = {}
    for round in range(3):
        for who, command in list(commands.items()):
            got, why = run(command)
            if got is None:
                print("%s: not measured (%s)" % (who, why))
                del commands[who]
                continue
            speeds.setdefault(who, []).append(got)
    ours = speeds["titan"]
    print("%-12s %12s %12s   titan / it" % ("MB/s", "first pass", "next ones"))
    for who, rows in speeds.items():
        first, more = (statistics.median(r[k] for r in rows) for k in (1, 2))
        ratio = [statistics.median(a[k] / b[k] for a, b in zip(ours, rows)) for k in (1, 2)]
        note = "" if rows[0][0] == ours[0][0] else "   (it gives %d ids, titan %d)" % (rows[0][0], ours[0][0])
        print("%-12s %12.1f %12.1f   %.2f, %.2f%s" % (who, first, more, *ratio, note))


if sys.argv[1] == "--peer":
    one_peer(*sys.argv[2:])
else:
    main(*sys.argv[1:])
