/* Rank files (tokenizer.model of Llama 3 and 4, *.tiktoken): a line for each token, its bytes in base64 and its rank, which is
 * the id. A pair merges when its joined bytes are a token, the lowest rank first. Patterns and special tokens are not in the
 * file; they are known by the number of ranks, and a file of any other size is read as Llama 3's. */
#include "data/tokenizer_hf.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int digit64(char c)
{
    return c >= 'A' && c <= 'Z' ? c - 'A' : c >= 'a' && c <= 'z' ? c - 'a' + 26 : c >= '0' && c <= '9' ? c - '0' + 52 : c == '+' ? 62
         : c == '/'             ? 63
                                : -1;
}

/* n letters of base64 (RFC 4648, with padding) to out; returns the number of bytes, -1 when it is none. */
static int64_t from_base64(const char *s, size_t n, unsigned char *out)
{
    int64_t m = 0;
    uint32_t bits = 0;
    if (n == 0 || n % 4)
        return -1;
    const size_t pad = (s[n - 1] == '=') + (size_t)(s[n - 1] == '=' && s[n - 2] == '=');
    for (size_t i = 0; i < n; i++) {
        const int d = i >= n - pad ? 0 : digit64(s[i]);
        if (d < 0)
            return -1;
        bits = bits << 6 | (uint32_t)d;
        if (i % 4 == 3) {
            out[m++] = (unsigned char)(bits >> 16);
            out[m++] = (unsigned char)(bits >> 8);
            out[m++] = (unsigned char)bits;
        }
    }
    return m - (int64_t)pad;
}

static tt_status bad_line(const char *path, size_t number, const char *line, size_t n, tt_error *err)
{
    return tt_fail(err, TT_ERR_DATA, "%s:%zu: \"%.*s\" should be base64, a space and a rank, the ranks in order from 0; the file is "
                   "damaged or of another kind", path, number, (int)(n < 60 ? n : 60), line);
}

static tt_status read_tokens(tt_hf *hf, const char *text, size_t n, const char *path, int32_t *count, tt_error *err)
{
    size_t number = 1;
    unsigned char bytes[3 * 1024];
    tt_status st;
    *count = 0;
    for (const char *at = text, *end = text + n; at < end; number++) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        stop = stop ? stop : end;
        size_t length = (size_t)(stop - at);
        if (length > 0 && at[length - 1] == '\r')
            length--;
        if (length > 0) {
            const char *space = memchr(at, ' ', length);
            int64_t rank = 0, m;
            if (!space || space - at > 4 * 1024 || space + 1 == at + length || (m = from_base64(at, (size_t)(space - at), bytes)) < 1)
                return bad_line(path, number, at, length, err);
            for (const char *c = space + 1; c < at + length; c++) {
                if (*c < '0' || *c > '9' || rank > INT32_MAX / 10 - 1)
                    return bad_line(path, number, at, length, err);
                rank = 10 * rank + (*c - '0');
            }
            if (rank != *count)
                return bad_line(path, number, at, length, err);
            st = tt_bpe_add_token(hf->bpe, (*count)++, bytes, (size_t)m, 1, err);
            if (st != TT_OK)
                return tt_fail_context(err, st, "%s:%zu", path, number);
        }
        at = stop + 1;
    }
    if (*count < 256)
        return tt_fail(
            err, TT_ERR_DATA,
            "%s holds %d tokens; a rank file has the 256 bytes at least: download it again", path,
            *count);
    return TT_OK;
}

static tt_status join_all(tt_hf *hf, int32_t count, tt_error *err)
{
    tt_status st = TT_OK;
    for (int32_t id = 0; id < count; id++) {
        size_t n = 0;
        const unsigned char *s = tt_bpe_token(hf->bpe, id, &n);
        for (size_t cut = 1; cut < n; cut++) {
            const int32_t a = tt_bpe_find(hf->bpe, s, cut);
            const int32_t b = a >= 0 ? tt_bpe_find(hf->bpe, s + cut, n - cut) : -1;
            if (b >= 0)
                TT_TRY(tt_bpe_put_merge(hf->bpe, a, b, (uint32_t)id, id, err));
        }
    }
out:
    return st;
}

/* --- special tokens of the published models ------------------------------------------------------------------------------------ */

static tt_status add(tt_hf *hf, int32_t *id, const char *name, int special, tt_error *err)
{
    int32_t got;
    const tt_added token = {.content = (char *)name, .n = strlen(name), .id = *id, .special = special};
    (*id)++;
    return tt_hf_add_added(hf, &token, &got, err);
}

static tt_status add_names(tt_hf *hf, int32_t *id, const char *const *names, size_t n, tt_error *err)
{
    tt_status st = TT_OK;
    for (size_t i = 0; st == TT_OK && i < n; i++)
        st = add(hf, id, names[i], 1, err);
    return st;
}

/* `prefix`0|> … numbered from..to-1. */
static tt_status add_numbered(tt_hf *hf, int32_t *id, const char *prefix, int from, int to, tt_error *err)
{
    tt_status st = TT_OK;
    for (int i = from; st == TT_OK && i < to; i++) {
        char name[96];
        snprintf(name, sizeof name, "<|%s%d|>", prefix, i);
        st = add(hf, id, name, 1, err);
    }
    return st;
}

#define NAMES(...) (const char *const[]){__VA_ARGS__}, sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *)

static tt_status llama3(tt_hf *hf, int32_t id, tt_error *err)
{
    tt_status st;
    TT_TRY(add_names(hf, &id, NAMES("<|begin_of_text|>", "<|end_of_text|>", "<|reserved_special_token_0|>",
                                    "<|reserved_special_token_1|>", "<|finetune_right_pad_id|>", "<|reserved_special_token_2|>",
                                    "<|start_header_id|>", "<|end_header_id|>", "<|eom_id|>", "<|eot_id|>", "<|python_tag|>"), err));
    st = add_numbered(hf, &id, "reserved_special_token_", 3, 248, err);
out:
    return st;
}

static tt_status llama4(tt_hf *hf, int32_t id, tt_error *err)
{
    const int32_t end = id + 2048;
    tt_status st;
    TT_TRY(add_names(hf, &id, NAMES("<|begin_of_text|>", "<|end_of_text|>", "<|fim_prefix|>", "<|fim_middle|>", "<|fim_suffix|>",
                                    "<|header_start|>", "<|header_end|>", "<|eom|>", "<|eot|>", "<|step|>"), err));
    TT_TRY(add_numbered(hf, &id, "text_post_train_reserved_special_token_", 0, 6, err));
    TT_TRY(add_names(hf, &id, NAMES("<|python_start|>", "<|python_end|>", "<|finetune_right_pad|>"), err));
    TT_TRY(add_numbered(hf, &id, "text_post_train_reserved_special_token_", 8, 69, err));
    TT_TRY(add_names(hf, &id, NAMES("<|image_start|>", "<|image_end|>"), err));
    TT_TRY(add_numbered(hf, &id, "vision_reserved_special_token_", 0, 2, err));
    TT_TRY(add_names(hf, &id, NAMES("<|tile_x_separator|>", "<|tile_y_separator|>"), err));
    TT_TRY(add_numbered(hf, &id, "vision_reserved_special_token_", 2, 6, err));
    TT_TRY(add_names(hf, &id, NAMES("<|image|>", "<|vision_reserved_special_token_6|>", "<|patch|>"), err));
    TT_TRY(add_numbered(hf, &id, "vision_reserved_special_token_", 7, 1048, err));
    TT_TRY(add_numbered(hf, &id, "reasoning_reserved_special_token_", 0, 8, err));
    TT_TRY(add_names(hf, &id, NAMES("<|reasoning_thinking_start|>", "<|reasoning_thinking_end|>"), err));
    st = add_numbered(hf, &id, "reserved_special_token_", 0, end - id, err);
out:
    return st;
}

static tt_status qwen(tt_hf *hf, int32_t id, tt_error *err)
{
    static const char *const special[] = {"<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|object_ref_start|>", "<|object_ref_end|>",
                                          "<|box_start|>", "<|box_end|>", "<|quad_start|>", "<|quad_end|>", "<|vision_start|>",
                                          "<|vision_end|>", "<|vision_pad|>", "<|image_pad|>", "<|video_pad|>"};
    static const char *const plain[] = {"<tool_call>", "</tool_call>", "<|fim_prefix|>", "<|fim_middle|>", "<|fim_suffix|>",
                                        "<|fim_pad|>", "<|repo_name|>", "<|file_sep|>", "<tool_response>", "</tool_response>",
                                        "<think>", "</think>"};
    tt_status st = add_names(hf, &id, special, sizeof special / sizeof *special, err);
    for (size_t i = 0; st == TT_OK && i < sizeof plain / sizeof *plain; i++)
        st = add(hf, &id, plain[i], 0, err);
    return st;
}

static tt_status harmony(tt_hf *hf, tt_error *err)
{
    static const struct named {
        int32_t id;
        const char *name;
    } named[] = {{199998, "<|startoftext|>"}, {199999, "<|endoftext|>"}, {200002, "<|return|>"},  {200003, "<|constrain|>"},
                 {200005, "<|channel|>"},     {200006, "<|start|>"},     {200007, "<|end|>"},     {200008, "<|message|>"},
                 {200012, "<|call|>"},        {200018, "<|endofprompt|>"}};
    size_t next = 0;
    tt_status st = TT_OK;
    for (int32_t id = 199998; st == TT_OK && id < 201088;) {
        char reserved[40];
        snprintf(reserved, sizeof reserved, "<|reserved_%d|>", id);
        const int known = next < sizeof named / sizeof *named && named[next].id == id;
        st = add(hf, &id, known ? named[next].name : reserved, 1, err);
        next += (size_t)known;
    }
    return st;
}

static tt_status openai(tt_hf *hf, int32_t end_of_text, int more, tt_error *err)
{
    int32_t id = end_of_text, prompt = 100276;
    tt_status st = add(hf, &id, "<|endoftext|>", 1, err);
    if (st == TT_OK && more)
        st = add_names(hf, &id, NAMES("<|fim_prefix|>", "<|fim_middle|>", "<|fim_suffix|>"), err);
    return st == TT_OK && more ? add(hf, &prompt, "<|endofprompt|>", 1, err) : st;
}

tt_status tt_hf_read_ranks(tt_hf *hf, tt_tokenizer *t, const char *text, size_t n, const char *path, tt_error *err)
{
    int32_t count;
    tt_matcher matcher = tt_match_llama3;
    tt_status st;
    TT_TRY(read_tokens(hf, text, n, path, &count, err));
    hf->vocab_count = count;
    TT_TRY(tt_bpe_index(hf->bpe, err));
    TT_TRY(join_all(hf, count, err));
    tt_bpe_set_ignore_merges(hf->bpe, 1);
    switch (count) {
    case 50256: /* GPT-2 */
        matcher = tt_match_gpt2;
        TT_TRY(openai(hf, 50256, 0, err));
        t->eos = 50256;
        break;
    case 100256: /* cl100k */
        TT_TRY(openai(hf, 100257, 1, err));
        t->eos = 100257;
        break;
    case 151643: /* Qwen 2 and 3 */
        matcher = tt_match_qwen2;
        hf->nfc = 1;
        TT_TRY(qwen(hf, count, err));
        t->eos = count;
        break;
    case 199998: /* o200k, with GPT-OSS' special tokens */
        matcher = tt_match_o200k;
        TT_TRY(harmony(hf, err));
        t->bos = count;
        t->eos = count + 1;
        break;
    case 200000: /* Llama 4 */
        matcher = tt_match_o200k;
        TT_TRY(llama4(hf, count, err));
        break;
    default:
        TT_TRY(llama3(hf, count, err));
    }
    if (t->eos < 0) { /* Llama: what its tokenizer.json puts before a text */
        t->bos = count;
        t->eos = count + 1;
        t->before[t->n_before++] = t->bos;
    }
    hf->stages[hf->n_stages++] = (tt_stage){.matcher = matcher};
out:
    return st;
}
