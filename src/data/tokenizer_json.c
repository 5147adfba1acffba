/* Reads tokenizer.json. vocab and merges are streamed (a 128k vocabulary is read in well under a third of a second); all other
 * members are small and go through jansson. What changes ids and titan does not do is refused, never passed over. */
#include "base/log.h"
#include "data/tokenizer_hf.h"
#include "data/tokenizer_pull.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

typedef struct span {
    const char *text;
    size_t n;
} span;

typedef struct reader {
    tt_hf *hf;
    tt_tokenizer *t;
    const char *path;
    json_t *added, *normalizer, *pre_tokenizer, *post_processor, *decoder; /* owned */
    span vocab, merges;
    int ignore_merges, fuse_unk, seen_model, cuts, pads;
    char *unk; /* owned */
    size_t unk_n;
} reader;

static int is(const char *key, size_t n, const char *name)
{
    return strlen(name) == n && memcmp(key, name, n) == 0;
}

static tt_status parse_small(const reader *r, tt_pull *p, const char *key, json_t **value, tt_error *err)
{
    const char *text;
    size_t n;
    json_error_t why;
    tt_status st = tt_pull_span(p, &text, &n, err);
    if (st != TT_OK)
        return st;
    json_decref(*value);
    *value = json_loadb(text, n, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY | JSON_ALLOW_NUL, &why);
    if (!*value)
        return tt_fail(err, TT_ERR_DATA, "%s: \"%.40s\": %s; the file is damaged: download it again", r->path, key, why.text);
    return TT_OK;
}

static tt_status unsupported(const reader *r, const char *what, const json_t *value, tt_error *err)
{
    char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT);
    tt_status st = tt_fail(err, TT_ERR_DATA, "%s: %s %.300s is not one that titan has (byte-level BPE with NFC, Split, Digits and "
                           "ByteLevel); tokenize with the tokenizers library and train on token files instead", r->path, what,
                           text ? text : "null");
    free(text);
    return st;
}

static const char *type_of(const json_t *value)
{
    const char *type = json_string_value(json_object_get(value, "type"));
    return type ? type : "";
}

/* --- model --------------------------------------------------------------------------------------------------------------- */

static tt_status operand(const reader *r, const char *s, size_t n, size_t index, int32_t *id, tt_error *err)
{
    unsigned char local[1024], *bytes = n <= sizeof local ? local : malloc(n);
    size_t m;
    if (!bytes)
        return tt_fail(err, TT_ERR_NOMEM, "%s: no memory for a token of %zu bytes", r->path, n);
    *id = tt_bytes_of_spelling(s, n, bytes, &m) ? tt_bpe_find(r->hf->bpe, bytes, m) : tt_hf_find(r->hf, s, n);
    if (bytes != local)
        free(bytes);
    if (*id < 0)
        return tt_fail(err, TT_ERR_DATA, "%s: merge %zu joins \"%.*s\", which is not in the vocabulary; the file is damaged or put "
                       "together from two tokenizers", r->path, index, (int)(n < 60 ? n : 60), s);
    return TT_OK;
}

/* "a b", perhaps with a line end as in very old files. */
static tt_status merge_text(const reader *r, const char *s, size_t n, size_t index, int32_t pair[2], tt_error *err)
{
    while (n > 0 && (s[n - 1] == '\n' || s[n - 1] == '\r'))
        n--;
    const char *space = memchr(s, ' ', n);
    if (!space || memchr(space + 1, ' ', n - (size_t)(space + 1 - s)))
        return tt_fail(err, TT_ERR_DATA, "%s: merge %zu is \"%.*s\"; it should be two tokens with one space between", r->path, index,
                       (int)(n < 60 ? n : 60), s);
    tt_status st = operand(r, s, (size_t)(space - s), index, &pair[0], err);
    return st == TT_OK ? operand(r, space + 1, n - (size_t)(space + 1 - s), index, &pair[1], err) : st;
}

static tt_status merge_pair(const reader *r, tt_pull *p, size_t index, int32_t pair[2], tt_error *err)
{
    const char *s;
    size_t n, i = 0;
    int more;
    tt_status st;
    TT_TRY(tt_pull_enter(p, '[', err));
    for (;; i++) {
        TT_TRY(tt_pull_more(p, ']', i, &more, err));
        if (!more)
            break;
        TT_TRY(tt_pull_string(p, &s, &n, err));
        if (i < 2)
            TT_TRY(operand(r, s, n, index, &pair[i], err));
    }
    if (i != 2)
        st = tt_fail(err, TT_ERR_DATA, "%s: merge %zu has %zu parts; it should have 2", r->path, index, i);
out:
    return st;
}

static tt_status read_merges(reader *r, tt_error *err)
{
    tt_pull p = tt_pull_make(r->merges.text, r->merges.n, r->path);
    int more = 1;
    int32_t pair[2];
    tt_status st;
    TT_TRY(tt_pull_enter(&p, '[', err));
    for (size_t i = 0;; i++) {
        const char *s;
        size_t n;
        TT_TRY(tt_pull_more(&p, ']', i, &more, err));
        if (!more)
            break;
        if (tt_pull_is(&p, '[')) {
            TT_TRY(merge_pair(r, &p, i, pair, err));
        } else {
            TT_TRY(tt_pull_string(&p, &s, &n, err));
            if (n >= 8 && memcmp(s, "#version", 8) == 0)
                continue;
            TT_TRY(merge_text(r, s, n, i, pair, err));
        }
        TT_TRY(tt_bpe_add_merge(r->hf->bpe, pair[0], pair[1], (uint32_t)i, err));
    }
out:
    tt_pull_close(&p);
    if (st != TT_OK)
        tt_fail_context(err, st, "reading the merges of %s", r->path);
    return st;
}

/* A small member of "model". */
static tt_status model_member(reader *r, tt_pull *p, const char *key, size_t n, tt_error *err)
{
    json_t *v = NULL;
    char name[64];
    snprintf(name, sizeof name, "%.*s", (int)(n < 60 ? n : 60), key);
    tt_status st = parse_small(r, p, name, &v, err);
    if (st != TT_OK)
        return st;
    if (strcmp(name, "type") == 0 && (!json_is_string(v) || strcmp(json_string_value(v), "BPE") != 0))
        st = unsupported(r, "a model of type", v, err);
    else if ((strcmp(name, "continuing_subword_prefix") == 0 || strcmp(name, "end_of_word_suffix") == 0) && !json_is_null(v) &&
             json_string_length(v) > 0)
        st = unsupported(r, name, v, err);
    else if (strcmp(name, "dropout") == 0 && json_is_number(v) && json_number_value(v) != 0)
        tt_log_root(WARN, "%s asks for a dropout of %g of its merges; titan does not apply it", r->path, json_number_value(v));
    else if (strcmp(name, "ignore_merges") == 0)
        r->ignore_merges = json_is_true(v);
    else if (strcmp(name, "fuse_unk") == 0)
        r->fuse_unk = json_is_true(v);
    else if (strcmp(name, "unk_token") == 0 && json_is_string(v)) {
        free(r->unk);
        r->unk_n = json_string_length(v);
        r->unk = malloc(r->unk_n + 1);
        if (!r->unk)
            st = tt_fail(err, TT_ERR_NOMEM, "reading %s: no memory", r->path);
        else
            memcpy(r->unk, json_string_value(v), r->unk_n + 1);
    }
    json_decref(v);
    return st;
}

static tt_status read_model(reader *r, tt_pull *p, tt_error *err)
{
    const char *key;
    size_t n;
    int more;
    tt_status st;
    r->seen_model = 1;
    TT_TRY(tt_pull_enter(p, '{', err));
    for (size_t i = 0;; i++) {
        TT_TRY(tt_pull_more(p, '}', i, &more, err));
        if (!more)
            break;
        TT_TRY(tt_pull_key(p, &key, &n, err));
        if (is(key, n, "vocab"))
            TT_TRY(tt_pull_span(p, &r->vocab.text, &r->vocab.n, err));
        else if (is(key, n, "merges"))
            TT_TRY(tt_pull_span(p, &r->merges.text, &r->merges.n, err));
        else
            TT_TRY(model_member(r, p, key, n, err));
    }
    if (!r->vocab.text || !r->merges.text)
        TT_TRY(tt_fail(err, TT_ERR_DATA, "%s: its model has no %s; titan reads byte-level BPE only", r->path,
                       r->vocab.text ? "merges" : "vocab"));
    TT_TRY(tt_hf_read_vocab(r->hf, r->vocab.text, r->vocab.n, r->path, err));
    TT_TRY(tt_bpe_index(r->hf->bpe, err));
    TT_TRY(read_merges(r, err));
    tt_bpe_set_ignore_merges(r->hf->bpe, r->ignore_merges);
    if (r->unk) {
        const int32_t id = tt_hf_find(r->hf, r->unk, r->unk_n);
        tt_bpe_set_unknown(r->hf->bpe, id, r->fuse_unk);
    }
out:
    return st;
}

/* --- the small members ---------------------------------------------------------------------------------------------------- */

static tt_status read_normalizer(reader *r, const json_t *v, tt_error *err)
{
    size_t i;
    json_t *one;
    tt_status st = TT_OK;
    if (!v || json_is_null(v))
        return TT_OK;
    if (strcmp(type_of(v), "NFC") == 0) {
        r->hf->nfc = 1;
        return TT_OK;
    }
    if (strcmp(type_of(v), "Sequence") != 0)
        return unsupported(r, "the normalizer", v, err);
    json_array_foreach(json_object_get(v, "normalizers"), i, one)
        TT_TRY(read_normalizer(r, one, err));
out:
    return st;
}

static tt_status add_stage(reader *r, const json_t *v, tt_stage stage, tt_error *err)
{
    tt_hf *hf = r->hf;
    if (hf->n_stages == TT_MAX_STAGES) {
        tt_regex_destroy(&stage.regex);
        return unsupported(r, "(more than 8 steps) the pre_tokenizer", v, err);
    }
    hf->stages[hf->n_stages++] = stage;
    return TT_OK;
}

static tt_status read_split(reader *r, const json_t *v, tt_error *err)
{
    static const struct behaviour {
        const char *name;
        tt_split split;
    } all[] = {{"Isolated", TT_SPLIT_ISOLATED},
               {"Removed", TT_SPLIT_REMOVED},
               {"MergedWithPrevious", TT_SPLIT_WITH_PREVIOUS},
               {"MergedWithNext", TT_SPLIT_WITH_NEXT},
               {"Contiguous", TT_SPLIT_CONTIGUOUS}};
    const json_t *pattern = json_object_get(v, "pattern");
    const json_t *regex = json_object_get(pattern, "Regex"), *text = json_object_get(pattern, "String");
    const char *behaviour = json_string_value(json_object_get(v, "behavior"));
    const int invert = json_is_true(json_object_get(v, "invert"));
    tt_stage stage = {0};
    size_t i = 0;
    tt_status st;
    while (behaviour && i < 5 && strcmp(behaviour, all[i].name) != 0)
        i++;
    if (!behaviour || i == 5 || (!json_is_string(regex) && !json_is_string(text)))
        return unsupported(r, "the Split", v, err);
    stage.split = all[i].split;
    if (invert && stage.split == TT_SPLIT_REMOVED)
        stage.split = TT_SPLIT_KEPT;
    else if (invert && stage.split != TT_SPLIT_ISOLATED && stage.split != TT_SPLIT_CONTIGUOUS)
        return unsupported(r, "the Split", v, err);
    if (json_is_string(regex)) {
        stage.matcher = tt_pattern_matcher(json_string_value(regex), json_string_length(regex));
        st = stage.matcher ? TT_OK : tt_regex_create(json_string_value(regex), json_string_length(regex), &stage.regex, err);
    } else {
        st = tt_regex_create_text(json_string_value(text), json_string_length(text), &stage.regex, err);
    }
    if (st != TT_OK)
        return tt_fail_context(err, st, "reading the pre_tokenizer of %s", r->path);
    return add_stage(r, v, stage, err);
}

static int flag(const json_t *v, const char *key, int absent)
{
    const json_t *f = json_object_get(v, key);
    return f ? json_is_true(f) : absent;
}

static tt_status read_pre_tokenizer(reader *r, const json_t *v, int *byte_level, tt_error *err)
{
    size_t i;
    json_t *one;
    tt_status st = TT_OK;
    const char *type = type_of(v);
    if (*byte_level)
        return unsupported(r, "(behind ByteLevel) the pre_tokenizer", v, err);
    if (strcmp(type, "Sequence") == 0) {
        json_array_foreach(json_object_get(v, "pretokenizers"), i, one)
            TT_TRY(read_pre_tokenizer(r, one, byte_level, err));
    } else if (strcmp(type, "ByteLevel") == 0) {
        *byte_level = 1;
        const tt_stage stage = {.matcher = flag(v, "use_regex", 1) ? tt_match_gpt2 : NULL,
                                .prefix_space = flag(v, "add_prefix_space", 1)};
        if (stage.matcher || stage.prefix_space)
            TT_TRY(add_stage(r, v, stage, err));
    } else if (strcmp(type, "Split") == 0) {
        TT_TRY(read_split(r, v, err));
    } else if (strcmp(type, "Digits") == 0) {
        const int each = flag(v, "individual_digits", 0);
        TT_TRY(add_stage(r, v, (tt_stage){.matcher = each ? tt_match_digit : tt_match_digits}, err));
    } else {
        st = unsupported(r, "the pre_tokenizer", v, err);
    }
out:
    return st;
}

static tt_status read_decoder(reader *r, const json_t *v, tt_error *err)
{
    size_t i;
    json_t *one;
    tt_status st = TT_OK;
    if (strcmp(type_of(v), "ByteLevel") == 0)
        return TT_OK;
    if (strcmp(type_of(v), "Sequence") != 0)
        return unsupported(r, "the decoder", v, err);
    json_array_foreach(json_object_get(v, "decoders"), i, one)
        TT_TRY(read_decoder(r, one, err));
out:
    return st;
}

static tt_status around(reader *r, const json_t *v, int32_t *ids, int *n, int front, const int32_t *more, int m, tt_error *err)
{
    if (*n + m > TT_MAX_AROUND)
        return unsupported(r, "(more than 8 tokens) the post_processor", v, err);
    if (front) {
        memmove(ids + m, ids, (size_t)*n * sizeof *ids);
        memcpy(ids, more, (size_t)m * sizeof *ids);
    } else {
        memcpy(ids + *n, more, (size_t)m * sizeof *ids);
    }
    *n += m;
    return TT_OK;
}

static tt_status read_template(reader *r, const json_t *v, tt_error *err)
{
    int32_t side[2][TT_MAX_AROUND];
    int n[2] = {0, 0}, texts = 0;
    size_t i, k;
    json_t *one, *id;
    tt_status st = TT_OK;
    json_array_foreach(json_object_get(v, "single"), i, one) {
        const json_t *special = json_object_get(one, "SpecialToken");
        const char *name = json_string_value(json_object_get(special, "id"));
        if (json_object_get(one, "Sequence")) {
            texts++;
            continue;
        }
        const json_t *ids = name ? json_object_get(json_object_get(json_object_get(v, "special_tokens"), name), "ids") : NULL;
        if (!json_is_array(ids))
            return unsupported(r, "the post_processor", v, err);
        json_array_foreach(ids, k, id) {
            if (!json_is_integer(id) || n[texts > 0] == TT_MAX_AROUND || json_integer_value(id) < 0 || json_integer_value(id) > INT32_MAX)
                return unsupported(r, "the post_processor", v, err);
            side[texts > 0][n[texts > 0]++] = (int32_t)json_integer_value(id);
        }
    }
    if (texts != 1)
        return unsupported(r, "the post_processor", v, err);
    TT_TRY(around(r, v, r->t->before, &r->t->n_before, 1, side[0], n[0], err));
    TT_TRY(around(r, v, r->t->after, &r->t->n_after, 0, side[1], n[1], err));
out:
    return st;
}

static tt_status read_post_processor(reader *r, const json_t *v, tt_error *err)
{
    size_t i;
    json_t *one;
    tt_status st = TT_OK;
    const char *type = type_of(v);
    if (!v || json_is_null(v) || strcmp(type, "ByteLevel") == 0)
        return TT_OK;
    if (strcmp(type, "TemplateProcessing") == 0)
        return read_template(r, v, err);
    if (strcmp(type, "RobertaProcessing") == 0 || strcmp(type, "BertProcessing") == 0) {
        const json_t *cls = json_array_get(json_object_get(v, "cls"), 1), *sep = json_array_get(json_object_get(v, "sep"), 1);
        const int32_t first = (int32_t)json_integer_value(cls), last = (int32_t)json_integer_value(sep);
        if (!json_is_integer(cls) || !json_is_integer(sep))
            return unsupported(r, "the post_processor", v, err);
        TT_TRY(around(r, v, r->t->before, &r->t->n_before, 1, &first, 1, err));
        return around(r, v, r->t->after, &r->t->n_after, 0, &last, 1, err);
    }
    if (strcmp(type, "Sequence") != 0)
        return unsupported(r, "the post_processor", v, err);
    json_array_foreach(json_object_get(v, "processors"), i, one)
        TT_TRY(read_post_processor(r, one, err));
out:
    return st;
}

static tt_status read_added(reader *r, tt_error *err)
{
    size_t i;
    json_t *v;
    tt_status st = TT_OK;
    json_array_foreach(r->added, i, v) {
        const json_t *content = json_object_get(v, "content"), *id = json_object_get(v, "id");
        if (!json_is_string(content) || !json_is_integer(id))
            return tt_fail(err, TT_ERR_DATA,
                           "%s: added token %zu has no content or no id; the file is damaged: "
                           "download it again",
                           r->path, i);
        const tt_added token = {.content = (char *)json_string_value(content),
                                .n = json_string_length(content),
                                .single_word = flag(v, "single_word", 0),
                                .lstrip = flag(v, "lstrip", 0),
                                .rstrip = flag(v, "rstrip", 0),
                                .normalized = flag(v, "normalized", 0),
                                .special = flag(v, "special", 0)};
        int32_t got;
        if (token.n == 0)
            continue;
        TT_TRY(tt_hf_add_added(r->hf, &token, &got, err));
        if (got != json_integer_value(id))
            tt_log_root(WARN, "%s gives the added token \"%.60s\" the id %lld, but ids must go on without holes: it gets %d, as in the "
                        "tokenizers library", r->path, token.content, (long long)json_integer_value(id), got);
    }
out:
    return st;
}

static tt_status top_member(reader *r, tt_pull *p, const char *key, size_t n, tt_error *err)
{
    const struct member {
        const char *name;
        json_t **to;
    } small[] = {{"added_tokens", &r->added},
                 {"normalizer", &r->normalizer},
                 {"pre_tokenizer", &r->pre_tokenizer},
                 {"post_processor", &r->post_processor},
                 {"decoder", &r->decoder}};
    json_t *other = NULL;
    for (size_t i = 0; i < sizeof small / sizeof small[0]; i++)
        if (is(key, n, small[i].name))
            return parse_small(r, p, small[i].name, small[i].to, err);
    if (is(key, n, "model"))
        return read_model(r, p, err);
    const int cuts = is(key, n, "truncation"), pads = is(key, n, "padding");
    tt_status st = parse_small(r, p, cuts ? "truncation" : pads ? "padding" : "another member", &other, err);
    r->cuts |= st == TT_OK && cuts && !json_is_null(other);
    r->pads |= st == TT_OK && pads && !json_is_null(other);
    json_decref(other);
    return st;
}

tt_status tt_hf_read_json(tt_hf *hf, tt_tokenizer *t, const char *text, size_t n, const char *path, tt_error *err)
{
    reader r = {.hf = hf, .t = t, .path = path};
    tt_pull p = tt_pull_make(text, n, path);
    const char *key;
    size_t length;
    int more, byte_level = 0;
    tt_status st;
    TT_TRY(tt_pull_enter(&p, '{', err));
    for (size_t i = 0;; i++) {
        TT_TRY(tt_pull_more(&p, '}', i, &more, err));
        if (!more)
            break;
        TT_TRY(tt_pull_key(&p, &key, &length, err));
        TT_TRY(top_member(&r, &p, key, length, err));
    }
    TT_TRY(tt_pull_finish(&p, err));
    if (r.cuts || r.pads)
        tt_log_root(WARN, "%s was saved with %s%s%s on; titan does not apply it: documents keep their length", path,
                    r.cuts ? "truncation" : "", r.cuts && r.pads ? " and " : "", r.pads ? "padding" : "");
    if (!r.seen_model)
        TT_TRY(tt_fail(err, TT_ERR_DATA, "%s has no \"model\"; it is no tokenizer.json: give one",
                       path));
    TT_TRY(read_normalizer(&r, r.normalizer, err));
    if (r.pre_tokenizer && !json_is_null(r.pre_tokenizer))
        TT_TRY(read_pre_tokenizer(&r, r.pre_tokenizer, &byte_level, err));
    if (!byte_level)
        TT_TRY(unsupported(&r, "(without ByteLevel) the pre_tokenizer", r.pre_tokenizer, err));
    TT_TRY(read_decoder(&r, r.decoder, err));
    TT_TRY(read_added(&r, err));
    TT_TRY(read_post_processor(&r, r.post_processor, err));
out:
    tt_pull_close(&p);
    json_decref(r.added);
    json_decref(r.normalizer);
    json_decref(r.pre_tokenizer);
    json_decref(r.post_processor);
    json_decref(r.decoder);
    free(r.unk);
    return st;
}
