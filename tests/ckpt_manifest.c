/* The manifest as text: what is written is read back the same, and each malformed or impossible number is refused. */
#include "ckpt/manifest.h"
#include "tap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define H "\"0123456789abcdef0011223344556677\""
#define HEAD "{\"format\": \"titan-checkpoint\", \"version\": 1, \"step\": 7,\n \"meta\": \"{}\",\n \"index\": {\"file\": \"index.h5\", \"bytes\": 10, \"xxh3_128\": " H "},\n \"files\": [\n  {\"file\": \"part-00000.h5\", \"bytes\": 1000}],\n \"tensors\": ["
#define W(shards) HEAD "\n  {\"name\": \"w\", \"dtype\": \"float32\", \"shape\": [4,3], \"shards\": [" shards "]}]}\n"

static tt_error err;

static tt_status parse(const char *text)
{
    tt_ckpt_manifest m;
    err.text[0] = '\0';
    tt_status st = tt_ckpt_manifest_parse(text, strlen(text), &m, &err);
    if (st == TT_OK)
        tt_ckpt_manifest_free(&m);
    return st;
}

static void refused(void)
{
    static const struct {
        const char *what, *text, *in_message;
    } table[] = {
        {"nothing", "", "not valid JSON"},
        {"cut", "{\"format\": \"titan-checkpoint\", ", "not valid JSON"},
        {"another version", "{\"format\": \"titan-checkpoint\", \"version\": 2}", "its format version is 2, this program reads 1; use a newer titan"},
        {"another format", "{\"format\": \"x\", \"version\": 1}", "missing or malformed"},
        {"a name given twice as a key", "{\"version\": 1, \"version\": 1}", "not valid JSON"},
        {"a file in another folder", "{\"format\": \"titan-checkpoint\", \"version\": 1, \"step\": 7, \"meta\": \"{}\", \"index\": {\"file\": \"index.h5\", \"bytes\": 10, \"xxh3_128\": " H
         "}, \"files\": [{\"file\": \"../x\", \"bytes\": 1}], \"tensors\": []}", "entry 0 of \"files\" is malformed"},
        {"a file index out of range", W("[1, 0, 48, [0,0], [4,3], " H "]"), "entry 0 of \"tensors\" (w) is malformed"},
        {"a negative file index", W("[-1, 0, 48, [0,0], [4,3], " H "]"), "(w) is malformed"},
        {"bytes behind the file's end", W("[0, 960, 48, [0,0], [4,3], " H "]"), "(w) is malformed"},
        {"an offset that overflows", W("[0, 9223372036854775807, 48, [0,0], [4,3], " H "]"), "(w) is malformed"},
        {"bytes that do not fit the box", W("[0, 0, 44, [0,0], [4,3], " H "]"), "(w) is malformed"},
        {"a box outside", W("[0, 0, 48, [1,0], [4,3], " H "]"), "(w) is malformed"},
        {"a box of one dim", W("[0, 0, 48, [0], [4], " H "]"), "(w) is malformed"},
        {"a short hash", W("[0, 0, 48, [0,0], [4,3], \"0123\"]"), "(w) is malformed"},
        {"a hash with a capital", W("[0, 0, 48, [0,0], [4,3], \"0123456789ABCDEF0011223344556677\"]"), "(w) is malformed"},
        {"a real number", W("[0, 0.5, 48, [0,0], [4,3], " H "]"), "(w) is malformed"},
        {"no shard", W(""), "the 0 shards of tensor w hold 0 elements, the tensor has 12; each element needs one owner"},
        {"a hole", W("[0, 0, 24, [0,0], [2,3], " H "]"), "the 1 shards of tensor w hold 6 elements, the tensor has 12"},
        {"an overlap that makes the sum right", W("[0, 0, 24, [0,0], [2,3], " H "], [0, 0, 24, [1,0], [2,3], " H "]"), "and two shards overlap"},
        {"extents that overflow", HEAD "{\"name\": \"w\", \"dtype\": \"float32\", \"shape\": [4294967296,4294967296], \"shards\": []}]}", "(w) is malformed"},
        {"five dims", HEAD "{\"name\": \"w\", \"dtype\": \"float32\", \"shape\": [1,1,1,1,1], \"shards\": []}]}", "(w) is malformed"},
        {"an unknown dtype", HEAD "{\"name\": \"w\", \"dtype\": \"float8\", \"shape\": [1], \"shards\": []}]}", "(w) is malformed"},
        {"no name", HEAD "{\"dtype\": \"float32\", \"shape\": [1], \"shards\": []}]}", "(no name) is malformed"},
        {"a tensor that is a number", HEAD "5]}", "is malformed"},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        ok(parse(table[i].text) == TT_ERR_CKPT && strstr(err.text, table[i].in_message), "%s: %s", table[i].what, err.text);
}

static void round_trip(void)
{
    const char *two = W("[0, 0, 24, [0,0], [2,3], " H "], [0, 24, 24, [2,0], [2,3], " H "]");
    char *text = NULL;
    size_t length = 0;
    tt_ckpt_manifest m;
    ok(tt_ckpt_manifest_parse(two, strlen(two), &m, &err) == TT_OK, "parsed %s", err.text);
    is_int(m.step, 7, "step");
    is_int(m.tensors[0].n_shards, 2, "shards");
    is_int((long long)m.shards[1].hash.low, 0x0011223344556677, "low half of a hash");
    ok(tt_ckpt_manifest_text(&m, &text, &length, &err) == TT_OK, "written");
    is_str(text, two, "the same text");
    is_int(tt_ckpt_manifest_find(&m, "w"), 0, "found by name");
    is_int(tt_ckpt_manifest_find(&m, "v"), -1, "not found");
    is_str(tt_ckpt_manifest_closest(&m, "v"), "w", "closest");
    free(text);
    free(m.tensors[0].name);
    m.tensors[0].name = strdup("caf\xe9");
    ok(tt_ckpt_manifest_text(&m, &text, &length, &err) == TT_ERR_CKPT && !text, "a name that is not UTF-8: %s", err.text);
    tt_ckpt_manifest_free(&m);
}

static void hash(void)
{
    char text[33];
    tt_ckpt_hash_text(tt_ckpt_hash_of("", 0), text);
    is_str(text, "99aa06d3014798d86001c324468d497f", "XXH3-128 of nothing, as published"); /* xxhash's own vector */
}

int main(void)
{
    refused();
    round_trip();
    hash();
    return done_testing();
}
