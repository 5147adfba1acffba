/* vocab.json and merges.txt, as GPT-2 was published: no added tokens, GPT-2's pattern. */
#include "data/tokenizer_hf.h"
#include "data/tokenizer_pull.h"

#include <string.h>

tt_status tt_hf_read_vocab(tt_hf *hf, const char *text, size_t n, const char *path, tt_error *err)
{
    tt_pull p = tt_pull_make(text, n, path);
    int more;
    tt_status st;
    TT_TRY(tt_pull_enter(&p, '{', err));
    for (size_t i = 0;; i++) {
        const char *key;
        size_t length;
        int64_t id;
        TT_TRY(tt_pull_more(&p, '}', i, &more, err));
        if (!more)
            break;
        TT_TRY(tt_pull_key(&p, &key, &length, err)); /* numbers leave the scratch text alone */
        TT_TRY(tt_pull_int(&p, INT32_MAX, &id, err));
        TT_TRY(tt_hf_add_vocab(hf, key, length, (int32_t)id, err));
    }
    st = tt_pull_finish(&p, err);
    hf->vocab_count = tt_bpe_count(hf->bpe);
out:
    tt_pull_close(&p);
    return st;
}

static tt_status read_line(tt_hf *hf, const char *line, size_t n, size_t number, uint32_t rank, const char *path, tt_error *err)
{
    const char *space = memchr(line, ' ', n);
    if (!space || memchr(space + 1, ' ', n - (size_t)(space + 1 - line)))
        return tt_fail(err, TT_ERR_DATA, "%s:%zu: \"%.*s\" should be two tokens with one space between", path, number,
                       (int)(n < 60 ? n : 60), line);
    const size_t left = (size_t)(space - line);
    const int32_t a = tt_hf_find(hf, line, left), b = tt_hf_find(hf, space + 1, n - left - 1);
    if (a < 0 || b < 0)
        return tt_fail(err, TT_ERR_DATA,
                       "%s:%zu: \"%.*s\" names a token that is not in vocab.json; the two files "
                       "belong to different "
                       "tokenizers: get both again",
                       path, number, (int)(n < 60 ? n : 60), line);
    tt_status st = tt_bpe_add_merge(hf->bpe, a, b, rank, err);
    return st == TT_OK ? st : tt_fail_context(err, st, "%s:%zu", path, number);
}

tt_status tt_hf_read_vocab_merges(tt_hf *hf, const char *vocab, size_t n_vocab, const char *vocab_path, const char *merges,
                                  size_t n_merges, const char *merges_path, tt_error *err)
{
    size_t number = 1;
    uint32_t rank = 0;
    tt_status st;
    TT_TRY(tt_hf_read_vocab(hf, vocab, n_vocab, vocab_path, err));
    TT_TRY(tt_bpe_index(hf->bpe, err));
    for (const char *at = merges, *end = merges + n_merges; at < end; number++) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        stop = stop ? stop : end;
        size_t n = (size_t)(stop - at);
        if (n > 0 && at[n - 1] == '\r')
            n--;
        if (n > 0 && !(n >= 8 && memcmp(at, "#version", 8) == 0)) /* "# #" is a merge */
            TT_TRY(read_line(hf, at, n, number, rank++, merges_path, err));
        at = stop + 1;
    }
    hf->stages[hf->n_stages++] = (tt_stage){.matcher = tt_match_gpt2};
out:
    return st;
}
