"""Differential fuzzing against the tokenizers library.  usage: fuzz.py TITAN_TOKENIZE COUNT SEED TOKENIZER.json...
Writes random strings and the library's ids as cases, and lets titan-tokenize check them."""
import json, os, random, subprocess, sys, tempfile
try:
    from tokenizers import Tokenizer
except ImportError:
    print("1..0 # SKIP the Python package tokenizers is not installed"); sys.exit(0)
tool, count, seed, files = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4:]
rnd = random.Random(seed)
SPACES = "\t\n\x0b\x0c\r \x85\xa0\u1680\u2000\u200a\u2028\u2029\u202f\u205f\u3000\x1c\x1f\u180e\u200b\ufeff"
WORDS = ["the", " The", "HELLO", "'s", "'S", "'\u017f", "'ll", "'LL", "'Ve", "'re", "don't", "123", "4567890", "\r\n", "\n\n", "  ", " \n ", "foo_bar", "//", "</", "caf\u00e9", "cafe\u0301",
         "\uac00\u11a8", "\u1100\u1161\u11a8", "\u0344", "\u1e9b\u0323", "\U0001F600", "\U0001FAE8", "\u1C89", "\U00011F02", "\U0001E4D0", "\U00011F50", "\u4e2d\u6587", "\u3042\u30a2", "\u9fa6", "\u0e01\u0e33",
         "\u01c5", "\u02b0", "\u0915\u094d\u0937", "\u00bd", "\u2167", "$x^2$", "--", "...", "\u2014", "A1b2", "\x00", "\x7f", "\uffff", "\ufdd0", "\u200d", "\U000E0100"]
assigned = [c for r in ((0x20, 0x250), (0x2b0, 0x700), (0x900, 0x1000), (0x1100, 0x1250), (0x1c80, 0x2c00), (0x3000, 0x3100), (0xa640, 0xab70), (0xf900, 0xffff), (0x10000, 0x10400), (0x11000, 0x11f60), (0x1d100, 0x1d200), (0x1e000, 0x1fb00)) for c in range(*r)]
def char():
    k = rnd.random()
    if k < .35: return chr(rnd.randrange(32, 127))
    if k < .5: return rnd.choice(SPACES)
    if k < .85: return chr(rnd.choice(assigned))
    while True:
        c = rnd.randrange(0x110000)
        if not 0xD800 <= c < 0xE000: return chr(c)
def text(extra):
    out = []
    for _ in range(rnd.randrange(1, 14)):
        k = rnd.random()
        out.append(char() * rnd.choice((1, 1, 1, 1, 2, 3, 7)) if k < .5 else rnd.choice(WORDS) if k < .9 or not extra else rnd.choice(extra))
    return "".join(out)
bad = n = 0
for k, f in enumerate(files):
    t = Tokenizer.from_file(f); t.no_truncation(); t.no_padding()
    extra = [a["content"] for a in json.load(open(f, encoding="utf-8"))["added_tokens"]]
    extra = rnd.sample(extra, min(40, len(extra)))
    left = count
    while left > 0:
        texts = [text(extra) for _ in range(min(left, 100000))]; left -= len(texts)
        plain = t.encode_batch(texts, add_special_tokens=False)
        dec = t.decode_batch([e.ids for e in plain], skip_special_tokens=False)
        with tempfile.NamedTemporaryFile("w", suffix=".jsonl", encoding="utf-8", newline="\n", delete=False) as o:
            for s, e, d in zip(texts, plain, dec): o.write(json.dumps({"text": s, "ids": e.ids, "decoded": d}) + "\n")
        r = subprocess.run([tool, "check", "--tokenizer", f, o.name], capture_output=True, text=True, errors="replace")
        n += len(texts)
        if r.returncode: bad += 1; sys.stderr.write("# %s (seed %d)\n%s%s" % (f, seed, r.stdout[:6000], r.stderr)); print("not ok %d - %s: ids differ" % (k + 1, f)); os.rename(o.name, "/tmp/titan-fuzz-differs.jsonl"); break
        os.unlink(o.name)
    else:
        print("ok %d - %d random strings have the library's ids and text with %s" % (k + 1, count, f), flush=True)
print("1..%d" % len(files))
sys.exit(bad > 0)
