/* See token_set.h. */
#include "data/token_set.h"
#include "base/fs.h"
#include "data/out_file.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One file of the set (Megatron: two). */
typedef struct member {
    tt_shard_writer *shard;  /* titan's */
    tt_out_file *bin, *idx;  /* the others' */
    int32_t *lengths;        /* owned, Megatron: of its documents */
    int64_t tokens, documents, room;
} member;

struct tt_token_set {
    tt_token_set_opts opts;
    char *prefix, *name; /* owned; name: room for a path */
    member *members;     /* owned */
    int n, room;
    int64_t tokens, documents;
    int32_t *document; /* owned: with its marks */
    size_t document_room;
};

static const char *ending(tt_token_kind kind)
{
    return kind == TT_TOKENS_TITAN ? "tok" : "bin";
}

static const char *name_of(tt_token_set *s, int i, const char *end)
{
    snprintf(s->name, strlen(s->prefix) + 32, "%s-%05d.%s", s->prefix, i, end);
    return s->name;
}

/* --- beginning ------------------------------------------------------------------------------------------------------------------------ */

/* Files of an older set under this prefix would be taken for this one's. */
static tt_status refuse_old(tt_token_set *s, tt_error *err)
{
    const char *slash = strrchr(s->prefix, '/'), *base = slash ? slash + 1 : s->prefix, *end = ending(s->opts.kind);
    const size_t n = strlen(base);
    char *dir = slash ? strndup(s->prefix, slash == s->prefix ? 1 : (size_t)(slash - s->prefix)) : strdup(".");
    tt_status st = TT_OK;
    if (!dir)
        return tt_fail(err, TT_ERR_NOMEM, "no memory to write %s", s->prefix);
    DIR *d = opendir(dir);
    for (const struct dirent *e; d && st == TT_OK && (e = readdir(d));) {
        const char *rest = e->d_name + n;
        if (strncmp(e->d_name, base, n) == 0 && rest[0] == '-' && strspn(rest + 1, "0123456789") >= 5) {
            const char *dot = rest + 1 + strspn(rest + 1, "0123456789");
            if (dot[0] == '.' && strcmp(dot + 1, end) == 0)
                st = tt_fail(err, TT_ERR_IO, "%s/%s is there: a set %s-NNNNN.%s exists, and is not overwritten; remove it or choose another name",
                             dir, e->d_name, s->prefix, end);
        }
    }
    if (d)
        closedir(d);
    free(dir);
    return st;
}

tt_status tt_token_set_create(const tt_token_set_opts *opts, tt_token_set **set, tt_error *err)
{
    tt_status st = TT_OK;
    tt_token_set *s = calloc(1, sizeof *s);
    *set = NULL;
    if (s) {
        s->prefix = strdup(opts->prefix);
        s->name = malloc(strlen(opts->prefix) + 32);
    }
    if (!s || !s->prefix || !s->name)
        TT_TRY(tt_fail(err, TT_ERR_NOMEM, "no memory to write %s", opts->prefix));
    s->opts = *opts;
    s->opts.prefix = s->prefix;
    tt_shard_info *info = &s->opts.info;
    if (info->token_bytes == 0)
        info->token_bytes = info->vocab <= 65536 ? 2 : 4;
    if (info->token_bytes == 2 && info->vocab > 65536)
        TT_TRY(tt_fail(err, TT_ERR_CONFIG, "u16 holds the ids 0 to 65535, but the tokenizer \"%s\" has %lld; use u32, or auto, which chooses",
                       info->name, (long long)info->vocab));
    if (s->opts.shard_tokens <= 0)
        s->opts.shard_tokens = (int64_t)1 << 30;
    if (s->opts.kind == TT_TOKENS_LLMC && s->opts.shard_tokens > INT32_MAX)
        s->opts.shard_tokens = INT32_MAX;
    TT_TRY(refuse_old(s, err));
    *set = s;
    s = NULL;
out:
    tt_token_set_close(&s);
    return st;
}

static tt_status begin_member(tt_token_set *s, tt_error *err)
{
    static const unsigned char header[1024];
    tt_status st = TT_OK;
    if (s->n == s->room) {
        const int room = s->room ? 2 * s->room : 16;
        member *more = realloc(s->members, (size_t)room * sizeof *more);
        if (!more)
            return tt_fail(err, TT_ERR_NOMEM, "writing %s: no memory for %d files", s->prefix, room);
        s->members = more;
        s->room = room;
    }
    member *m = &s->members[s->n];
    *m = (member){0};
    s->n++;
    if (s->opts.kind == TT_TOKENS_TITAN)
        return tt_shard_create(name_of(s, s->n - 1, "tok"), &s->opts.info, &m->shard, err);
    TT_TRY(tt_out_file_create(name_of(s, s->n - 1, "bin"), &m->bin, err));
    if (s->opts.kind == TT_TOKENS_MEGATRON)
        TT_TRY(tt_out_file_create(name_of(s, s->n - 1, "idx"), &m->idx, err));
    if (s->opts.kind == TT_TOKENS_LLMC)
        TT_TRY(tt_out_file_add(m->bin, header, sizeof header, err));
out:
    return st;
}

/* --- documents --------------------------------------------------------------------------------------------------------------------------- */

static tt_status add_ids(tt_token_set *s, member *m, const int32_t *ids, size_t n, tt_error *err)
{
    uint16_t narrow[4096];
    tt_status st = TT_OK;
    for (size_t i = 0; i < n; i++)
        if (ids[i] < 0 || ids[i] >= s->opts.info.vocab)
            return tt_fail(err, TT_ERR_DATA, "writing %s: token %lld has id %d, but the vocabulary has %lld; nothing is written: use the tokenizer of that vocabulary",
                           tt_out_file_path(m->bin), (long long)m->tokens + (long long)i, ids[i], (long long)s->opts.info.vocab);
    if (s->opts.info.token_bytes == 4)
        return tt_out_file_add(m->bin, ids, n * 4, err);
    for (size_t part; n > 0; ids += part, n -= part) {
        part = n < 4096 ? n : 4096;
        for (size_t i = 0; i < part; i++)
            narrow[i] = (uint16_t)ids[i];
        TT_TRY(tt_out_file_add(m->bin, narrow, part * 2, err));
    }
out:
    return st;
}

static tt_status note_length(member *m, size_t n, const char *prefix, tt_error *err)
{
    if (m->documents == m->room) {
        const int64_t room = m->room ? 2 * m->room : 1024;
        int32_t *more = realloc(m->lengths, (size_t)room * sizeof *more);
        if (!more)
            return tt_fail(err, TT_ERR_NOMEM, "writing %s: no memory for %lld lengths; use smaller shards", prefix, (long long)room);
        m->lengths = more;
        m->room = room;
    }
    m->lengths[m->documents] = (int32_t)n;
    return TT_OK;
}

/* The document with its marks. */
static tt_status mark(tt_token_set *s, const int32_t **ids, size_t *n, tt_error *err)
{
    const tt_shard_info *info = &s->opts.info;
    const size_t begin = info->bos >= 0, all = *n + begin + (info->eos >= 0);
    if (all == *n)
        return TT_OK;
    if (all > s->document_room) {
        free(s->document);
        s->document_room = 2 * all;
        s->document = malloc(s->document_room * sizeof *s->document);
        if (!s->document)
            return tt_fail(err, TT_ERR_NOMEM, "writing %s: no memory for a document of %zu tokens", s->prefix, all);
    }
    memcpy(s->document + begin, *ids, *n * sizeof **ids);
    if (begin)
        s->document[0] = info->bos;
    if (info->eos >= 0)
        s->document[all - 1] = info->eos;
    *ids = s->document;
    *n = all;
    return TT_OK;
}

static tt_status finish_member(tt_token_set *s, member *m, tt_error *err);

tt_status tt_token_set_add(tt_token_set *s, const int32_t *ids, size_t n, tt_error *err)
{
    tt_status st;
    TT_TRY(mark(s, &ids, &n, err));
    if (n > INT32_MAX)
        TT_TRY(tt_fail(err, TT_ERR_DATA, "writing %s: a document of %zu tokens; the longest is 2^31-1; split the text into shorter ones", s->prefix, n));
    member *m = s->n ? &s->members[s->n - 1] : NULL;
    if (!m || m->tokens + (int64_t)n > s->opts.shard_tokens) {
        if (m)
            TT_TRY(finish_member(s, m, err));
        TT_TRY(begin_member(s, err));
        m = &s->members[s->n - 1];
    }
    if (s->opts.kind == TT_TOKENS_TITAN)
        TT_TRY(tt_shard_add(m->shard, ids, n, err));
    else
        TT_TRY(add_ids(s, m, ids, n, err));
    if (s->opts.kind == TT_TOKENS_MEGATRON)
        TT_TRY(note_length(m, n, s->prefix, err));
    m->documents++;
    m->tokens += (int64_t)n;
    s->documents++;
    s->tokens += (int64_t)n;
out:
    return st;
}

/* --- the end -------------------------------------------------------------------------------------------------------------------------------- */

/* Lengths, byte offsets and documents, one sequence a document. */
static tt_status write_index(tt_token_set *s, member *m, tt_error *err)
{
    const uint64_t version = 1, entries = (uint64_t)m->documents + 1;
    const unsigned char code = s->opts.info.token_bytes == 2 ? 8 : 4;
    tt_status st;
    TT_TRY(tt_out_file_add(m->idx, "MMIDIDX\0", 9, err));
    TT_TRY(tt_out_file_add(m->idx, &version, 8, err));
    TT_TRY(tt_out_file_add(m->idx, &code, 1, err));
    TT_TRY(tt_out_file_add(m->idx, &m->documents, 8, err));
    TT_TRY(tt_out_file_add(m->idx, &entries, 8, err));
    TT_TRY(tt_out_file_add(m->idx, m->lengths, (size_t)m->documents * 4, err));
    int64_t offset = 0;
    for (int64_t d = 0; d < m->documents; d++) {
        TT_TRY(tt_out_file_add(m->idx, &offset, 8, err));
        offset += (int64_t)m->lengths[d] * s->opts.info.token_bytes;
    }
    for (int64_t d = 0; d <= m->documents; d++)
        TT_TRY(tt_out_file_add(m->idx, &d, 8, err));
    TT_TRY(tt_out_file_finish(m->idx, err));
out:
    free(m->lengths);
    m->lengths = NULL;
    return st;
}

static tt_status finish_member(tt_token_set *s, member *m, tt_error *err)
{
    tt_status st = TT_OK;
    if (m->shard)
        return tt_shard_finish(m->shard, err);
    if (s->opts.kind == TT_TOKENS_LLMC) {
        const int narrow = s->opts.info.token_bytes == 2;
        if (m->tokens > INT32_MAX)
            return tt_fail(err, TT_ERR_DATA, "%s would have %lld tokens, and llm.c counts to 2^31-1; split the document, or use another --format", tt_out_file_path(m->bin),
                           (long long)m->tokens);
        const int32_t header[3] = {narrow ? 20240520 : 20240801, narrow ? 1 : 7, (int32_t)m->tokens};
        TT_TRY(tt_out_file_patch(m->bin, 0, header, sizeof header, err));
    }
    TT_TRY(tt_out_file_finish(m->bin, err));
    if (m->idx)
        TT_TRY(write_index(s, m, err));
out:
    return st;
}

static tt_status publish(member *m, tt_error *err)
{
    if (m->shard)
        return tt_shard_publish(m->shard, err);
    tt_status st = tt_out_file_publish(m->bin, err);
    return st == TT_OK && m->idx ? tt_out_file_publish(m->idx, err) : st;
}

static void withdraw(member *m)
{
    if (m->shard)
        tt_shard_withdraw(m->shard);
    if (m->bin)
        tt_out_file_withdraw(m->bin);
    if (m->idx)
        tt_out_file_withdraw(m->idx);
}

tt_status tt_token_set_finish(tt_token_set *s, tt_error *err)
{
    tt_status st = TT_OK;
    if (s->n == 0)
        return TT_OK;
    TT_TRY(finish_member(s, &s->members[s->n - 1], err));
    for (int i = 0; i < s->n && st == TT_OK; i++)
        st = publish(&s->members[i], err);
    for (int i = 0; i < s->n && st != TT_OK; i++)
        withdraw(&s->members[i]);
out:
    return st;
}

void tt_token_set_close(tt_token_set **set)
{
    tt_token_set *s = *set;
    if (!s)
        return;
    for (int i = 0; i < s->n; i++) {
        tt_shard_writer_close(&s->members[i].shard);
        tt_out_file_close(&s->members[i].bin);
        tt_out_file_close(&s->members[i].idx);
        free(s->members[i].lengths);
    }
    free(s->members);
    free(s->document);
    free(s->prefix);
    free(s->name);
    free(s);
    *set = NULL;
}

int64_t tt_token_set_tokens(const tt_token_set *s)
{
    return s->tokens;
}

int64_t tt_token_set_documents(const tt_token_set *s)
{
    return s->documents;
}

int tt_token_set_files(const tt_token_set *s)
{
    return s->n;
}

int tt_token_set_token_bytes(const tt_token_set *s)
{
    return s->opts.info.token_bytes;
}

const char *tt_token_set_path(tt_token_set *s, int i)
{
    return name_of(s, i, ending(s->opts.kind));
}
