/* Which files a name means, and tokenizer_config.json beside them. */
#include "base/fs.h"
#include "data/tokenizer_hf.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

static tt_status read_whole(const char *path, char **text, size_t *n, tt_tokenizer *t, tt_error *err)
{
    tt_status st = tt_fs_read(path, text, n, err);
    if (st == TT_OK)
        t->hash = tt_tokenizer_hash_more(t->hash, *text, *n);
    return st;
}

/* --- tokenizer_config.json -------------------------------------------------------------------------------------------------- */

/* Text of a special token: a string, or an object with its content. NULL when there is none. */
static const json_t *content_of(const json_t *v)
{
    const json_t *content = json_is_object(v) ? json_object_get(v, "content") : v;
    return json_is_string(content) ? content : NULL;
}

/* A token that the configuration names is a special token, new if it must be. */
static tt_status add_special(tt_hf *hf, const json_t *v, int32_t *id, tt_error *err)
{
    const json_t *content = content_of(v);
    *id = -1;
    if (!content || json_string_length(content) == 0)
        return TT_OK;
    const tt_added token = {.content = (char *)json_string_value(content), .n = json_string_length(content), .special = 1};
    for (size_t i = 0; i < hf->n_added; i++)
        if (hf->added[i].n == token.n && memcmp(hf->added[i].content, token.content, token.n) == 0) {
            *id = hf->added[i].id;
            return TT_OK;
        }
    return tt_hf_add_added(hf, &token, id, err);
}

static tt_status read_config(tt_tokenizer *t, tt_hf *hf, const char *path, tt_error *err)
{
    static const char *const keys[] = {"bos_token", "eos_token", "pad_token", "unk_token", "sep_token", "cls_token", "mask_token"};
    char *text = NULL;
    size_t n;
    json_error_t why;
    json_t *config = NULL;
    tt_status st;
    int32_t id;
    TT_TRY(read_whole(path, &text, &n, t, err));
    config = json_loadb(text, n, JSON_ALLOW_NUL, &why);
    if (!json_is_object(config))
        TT_TRY(tt_fail(err, TT_ERR_DATA, "%s:%d: %s; repair the file, or remove it (then nothing marks the ends of documents)", path,
                       config ? 1 : why.line, config ? "there should be an object" : why.text));
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        TT_TRY(add_special(hf, json_object_get(config, keys[i]), &id, err));
        if (i == 0 && id >= 0)
            t->bos = id;
        if (i == 1 && id >= 0)
            t->eos = id;
    }
    t->add_bos = json_is_true(json_object_get(config, "add_bos_token"));
    t->add_eos = json_is_true(json_object_get(config, "add_eos_token"));
out:
    json_decref(config);
    free(text);
    return st;
}

/* --- which files --------------------------------------------------------------------------------------------------------------- */

static int ends_in(const char *path, const char *end)
{
    const size_t n = strlen(path), m = strlen(end);
    return n >= m && strcmp(path + n - m, end) == 0;
}

static tt_status open_json(tt_hf *hf, tt_tokenizer *t, const char *path, tt_error *err)
{
    char *text = NULL;
    size_t n = 0;
    tt_status st = read_whole(path, &text, &n, t, err);
    if (st == TT_OK)
        st = tt_hf_read_json(hf, t, text, n, path, err);
    free(text);
    return st;
}

static tt_status open_vocab_merges(tt_hf *hf, tt_tokenizer *t, const char *vocab, const char *merges, tt_error *err)
{
    char *v = NULL, *m = NULL;
    size_t nv = 0, nm = 0;
    tt_status st;
    TT_TRY(read_whole(vocab, &v, &nv, t, err));
    TT_TRY(read_whole(merges, &m, &nm, t, err));
    st = tt_hf_read_vocab_merges(hf, v, nv, vocab, m, nm, merges, err);
out:
    free(v);
    free(m);
    return st;
}

static tt_status open_ranks(tt_hf *hf, tt_tokenizer *t, const char *path, tt_error *err)
{
    char *text = NULL;
    size_t n = 0;
    tt_status st;
    TT_TRY(read_whole(path, &text, &n, t, err));
    if (n > 0 && text[0] == '\n')
        TT_TRY(tt_fail(err, TT_ERR_DATA, "%s is a SentencePiece model (of Llama 2, Mistral, Gemma …); titan reads byte-level BPE: use a "
                       "tokenizer.json of that kind, or tokenize beforehand and train on token files", path));
    st = tt_hf_read_ranks(hf, t, text, n, path, err);
out:
    free(text);
    return st;
}

/* Folder of a file, "." when the path has none. Malloc'd. */
static char *folder_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? strndup(path, slash == path ? 1 : (size_t)(slash - path)) : strdup(".");
}

/* The file in the folder, or NULL when it is not there. Malloc'd. */
static char *there(const char *folder, const char *name)
{
    char *path = tt_fs_join(folder, name);
    if (path && !tt_fs_exists(path)) {
        free(path);
        path = NULL;
    }
    return path;
}

static tt_status open_folder(tt_hf *hf, tt_tokenizer *t, const char *folder, tt_error *err)
{
    char *json = there(folder, "tokenizer.json"), *vocab = there(folder, "vocab.json"), *merges = there(folder, "merges.txt");
    char *model = there(folder, "tokenizer.model");
    tt_status st;
    if (json)
        st = open_json(hf, t, json, err);
    else if (vocab && merges)
        st = open_vocab_merges(hf, t, vocab, merges, err);
    else if (model)
        st = open_ranks(hf, t, model, err);
    else
        st = tt_fail(err, TT_ERR_CONFIG, "the folder %s holds no tokenizer: there should be tokenizer.json, or vocab.json and merges.txt, "
                     "or tokenizer.model; download the tokenizer of the model into it, or set model.tokenizer_path = \"byte\"", folder);
    free(json);
    free(vocab);
    free(merges);
    free(model);
    return st;
}

static tt_status open_file(tt_hf *hf, tt_tokenizer *t, const char *path, const char *folder, tt_error *err)
{
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
    if (strcmp(base, "vocab.json") == 0 || strcmp(base, "merges.txt") == 0) {
        char *vocab = tt_fs_join(folder, "vocab.json"), *merges = tt_fs_join(folder, "merges.txt");
        tt_status st = vocab && merges ? open_vocab_merges(hf, t, vocab, merges, err)
                                       : tt_fail(err, TT_ERR_NOMEM, "opening %s: no memory", path);
        free(vocab);
        free(merges);
        return st;
    }
    return ends_in(path, ".json") ? open_json(hf, t, path, err) : open_ranks(hf, t, path, err);
}

tt_status tt_tokenizer_open_files(const char *name, tt_tokenizer *t, tt_error *err)
{
    tt_hf *hf = NULL;
    const int is_folder = tt_fs_is_dir(name);
    char *folder = is_folder ? strdup(name) : folder_of(name);
    char *config = folder ? there(folder, "tokenizer_config.json") : NULL;
    tt_status st;
    TT_TRY(tt_hf_create(&hf, err));
    if (!folder)
        TT_TRY(tt_fail(err, TT_ERR_NOMEM, "opening the tokenizer %s: no memory", name));
    TT_TRY(is_folder ? open_folder(hf, t, name, err) : open_file(hf, t, name, folder, err));
    if (config)
        TT_TRY(read_config(t, hf, config, err));
    TT_TRY(tt_hf_finish(hf, err));
    t->vocab = tt_bpe_size(hf->bpe);
out:
    t->kind = &tt_tokenizer_hf;
    t->self = hf;
    free(folder);
    free(config);
    return st;
}
