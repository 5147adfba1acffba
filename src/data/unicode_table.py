"""Writes src/data/unicode_table.h.  usage: unicode_table.py unicode.json OUT.h   (Python 3.11, tokenizers 0.23.3)"""
import json, sys, unicodedata
from tokenizers import Tokenizer, AddedToken, models, normalizers
j = json.load(open(sys.argv[1]))
def ranges(text):
    for r in text.split():
        a, _, b = r.partition("-")
        yield from range(int(a, 16), int(b or a, 16) + 1)
BITS = {"Lu": 1, "Ll": 2, "Lt": 4, "Lm": 8, "Lo": 16, "M": 32, "N": 64, "P": 128, "S": 256, "\\s": 512}
flags = [0] * 0x110000
for name, bit in BITS.items():
    for c in ranges(j["classes"][name]["ranges"]): flags[c] |= bit
assert sum(1 for f in flags if f & 31) == j["classes"]["L"]["count"]
# \w of single_word: ask the library, a one-word added token beside each code point
t = Tokenizer(models.BPE({}, [])); t.add_tokens([AddedToken("Q", single_word=True, normalized=False)])
cps = [c for c in range(0x110000) if not 0xD800 <= c < 0xE000]
for i in range(0, len(cps), 20000):
    part = cps[i:i + 20000]
    for c, e in zip(part, t.encode_batch(["Q" + chr(c) for c in part])):
        if not e.ids and c != ord("Q"): flags[c] |= 1024
    for c in part:
        if c == ord("Q"): flags[c] |= 1024
nfc, nfd = normalizers.NFC(), normalizers.NFD()
late = set(ranges(j["nfc_order_differs_from_unicode_14.0.0"])) if isinstance(j["nfc_order_differs_from_unicode_14.0.0"], str) else set()
ccc = {c: unicodedata.combining(chr(c)) for c in cps if unicodedata.combining(chr(c)) and c not in late}
decomp, pairs = {}, []
for c in cps:
    if 0xAC00 <= c < 0xD7A4: continue
    d = nfd.normalize_str(chr(c))
    if d == chr(c): continue
    decomp[c] = [ord(x) for x in d]
    if nfc.normalize_str(chr(c)) == chr(c) and len(d) > 1:
        one = [int(x, 16) for x in unicodedata.decomposition(chr(c)).split()]
        assert len(one) == 2 and nfc.normalize_str(chr(one[0]) + chr(one[1])) == chr(c), hex(c)
        pairs.append((one[0], one[1], c))
seconds = {b for _, b, _ in pairs} | set(range(0x1161, 0x1176)) | set(range(0x11A8, 0x11C3))
for c in cps:
    if c in ccc or c in seconds or (c in decomp and nfc.normalize_str(chr(c)) != chr(c)): flags[c] |= 2048
kinds = sorted(set(flags)); kind = {f: i for i, f in enumerate(kinds)}
blocks, index = {}, []
DENSE, VS = 0x32400, range(0xE0100, 0xE01F0)   # beyond: nothing but the variation selectors, which are marks
assert all(flags[c] == (32 + 1024 if c in VS else 0) for c in range(DENSE, 0x110000)), [hex(c) for c in range(DENSE, 0x110000) if flags[c] and c not in VS][:9]
for i in range(0, DENSE, 64):
    b = tuple(kind[f] for f in flags[i:i + 64]); index.append(blocks.setdefault(b, len(blocks)))
with open(sys.argv[2], "w") as f:
    def array(decl, values):
        f.write("static const %s = {\n" % decl)
        line = "   "
        for v in values:
            if len(line) + len(v) + 2 > 118: f.write(line + "\n"); line = "   "
            line += " " + v + ","
        f.write(line + "\n};\n")
    f.write("/* Written by unicode_table.py; see unicode_table.how. Classes of Unicode 16.0, composition of Unicode 9.0. */\n")
    f.write("/* flags of each kind of code point, unicode.h names the bits */\n")
    array("uint16_t unicode_kind_flags[]", map(str, kinds))
    f.write("/* block of 64 code points -> its row in unicode_kinds */\n")
    array("uint16_t unicode_index[0x%X / 64]" % DENSE + "", map(str, index))
    array("uint8_t unicode_kinds[][64]", ["{" + ",".join(map(str, b)) + "}" for b in blocks])
    runs = []
    for c in sorted(ccc):
        if runs and runs[-1][1] == c - 1 and runs[-1][2] == ccc[c]: runs[-1][1] = c
        else: runs.append([c, c, ccc[c]])
    f.write("/* first, last, canonical combining class */\n")
    array("uint32_t unicode_ccc[][3]", ["{0x%X,0x%X,%d}" % tuple(r) for r in runs])
    f.write("/* composed, then its full decomposition (0 fills) */\n")
    array("uint32_t unicode_decomp[][5]", ["{" + ",".join("0x%X" % x for x in [c] + d) + "}" for c, d in sorted(decomp.items())])
    f.write("/* first, second, composed; sorted */\n")
    array("uint32_t unicode_pairs[][3]", ["{0x%X,0x%X,0x%X}" % p for p in sorted(pairs)])
print(len(kinds), len(blocks), len(runs), len(decomp), len(pairs))
