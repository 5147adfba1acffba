"""Speed of the Python packages tokenizers and tiktoken on the documents of bench_tokenizer.  usage: bench_tokenizer.py TOKENIZER TEXT"""
import json, os, sys, time
os.environ["TOKENIZERS_PARALLELISM"] = "false"
from tokenizers import Tokenizer
name, path = sys.argv[1:]
name = os.path.join(name, "tokenizer.json") if os.path.isdir(name) else name
text = open(path, encoding="utf-8", newline="").read()
data, docs, at = text.encode(), [], 0
while at < len(data):
    end = min(at + 10000, len(data))
    while end < len(data) and data[end] & 0xC0 == 0x80: end += 1
    docs.append(data[at:end].decode()); at = end
def speed(what, encode):
    for d in docs: encode(d)
    n, begin = 0, time.perf_counter()
    while time.perf_counter() - begin < 2:
        for d in docs: encode(d)
        n += 1
    print("%s: %.1f MB/s" % (what, len(data) * n / (time.perf_counter() - begin) / 1e6))
t = Tokenizer.from_file(name)
speed("tokenizers", lambda d: t.encode(d, add_special_tokens=False))
try:
    import tiktoken
    j = json.load(open(name, encoding="utf-8")); m = j["model"]
    keep = list(range(0x21, 0x7f)) + list(range(0xa1, 0xad)) + list(range(0xae, 0x100))
    byte = {chr(b): b for b in keep}; byte.update({chr(256 + i): b for i, b in enumerate(x for x in range(256) if x not in keep)})
    splits = [s for s in j["pre_tokenizer"]["pretokenizers"] if s["type"] == "Split"]
    assert len(splits) == 1, "more than one pattern"
    p = splits[0]["pattern"]["Regex"]
    ranks = {bytes(byte[c] for c in k): v for k, v in m["vocab"].items() if all(c in byte for c in k)}
    k = tiktoken.Encoding("bench", pat_str=p, mergeable_ranks=ranks, special_tokens={})
    speed("tiktoken", k.encode_ordinary)
except Exception as e:
    print("tiktoken: not measured (%s)" % e)
