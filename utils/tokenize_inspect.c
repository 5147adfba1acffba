/* titan-tokenize inspect: what a file of tokens is, and its first documents. */
#include "tokenize.h"

#include <stdlib.h>
#include <string.h>

enum { LOOK = 4096, SHOWN = 400, VERIFY = 1 << 16 };

/* Bytes of a text for a terminal: line ends and other controls as escapes. */
static void print_text(const char *text, size_t n, FILE *out)
{
    for (size_t i = 0; i < n; i++) {
        const unsigned char c = (unsigned char)text[i];
        if (c == '\n')
            fputs("\\n", out);
        else if (c == '\t')
            fputs("\\t", out);
        else if (c < 0x20 || c == 0x7F)
            fprintf(out, "\\x%02x", c);
        else
            fputc(c, out);
    }
}

static tt_status print_document(const tt_tokenizer *t, int64_t first, const int32_t *ids, int64_t n, int whole, FILE *out, tt_error *err)
{
    char *text = NULL;
    size_t bytes = 0;
    tt_status st = TT_OK;
    fprintf(out, "document at token %lld, %lld%s tokens: ", (long long)first, (long long)n, whole ? "" : " or more");
    if (t) {
        TT_TRY(tt_tokenizer_decode_as(t, ids, (size_t)n, 1, &text, &bytes, err));
        size_t shown = bytes < SHOWN ? bytes : SHOWN;
        while (shown > 0 && shown < bytes && ((unsigned char)text[shown] & 0xC0) == 0x80)
            shown--;
        print_text(text, shown, out);
        fputs(shown < bytes ? "…\n" : "\n", out);
    } else {
        for (int64_t i = 0; i < n && i < 40; i++)
            fprintf(out, "%s%d", i ? " " : "", ids[i]);
        fputs(n > 40 ? " …\n" : "\n", out);
    }
out:
    free(text);
    return st;
}

static tt_status show_documents(const tt_inspect_job *job, tt_token_file *f, FILE *out, tt_error *err)
{
    int32_t ids[LOOK];
    uint8_t begins[LOOK];
    const int64_t all = tt_token_file_tokens(f);
    tt_status st = TT_OK;
    for (int64_t first = 0, shown = 0; shown < job->documents && first < all; shown++) {
        const int64_t n = all - first < LOOK ? all - first : LOOK;
        TT_TRY(tt_token_file_read(f, first, n, ids, begins, err));
        int64_t end = 1;
        while (end < n && !begins[end])
            end++;
        TT_TRY(print_document(job->tokenizer, first, ids, end, end < n || first + end == all, out, err));
        if (end == n && first + n < all) { /* its end is not in sight */
            fputs("(later documents are not shown)\n", out);
            break;
        }
        first += end;
    }
out:
    return st;
}

static void print_shard(const tt_shard_info *info, FILE *out)
{
    fprintf(out, "vocabulary: %lld\ntokenizer: %s, identity ", (long long)info->vocab, info->name[0] ? info->name : "(not named)");
    for (int i = 0; i < 16; i++)
        fprintf(out, "%02x", info->tokenizer[i]);
    fprintf(out, "\nmarks: ");
    if (info->bos >= 0)
        fprintf(out, "%d before each document%s", info->bos, info->eos >= 0 ? ", " : "\n");
    if (info->eos >= 0)
        fprintf(out, "%d behind each document\n", info->eos);
    if (info->bos < 0 && info->eos < 0)
        fputs("none\n", out);
}

/* Every block of a shard, or every id of another file. */
static tt_status verify(tt_token_file *f, FILE *out, tt_error *err)
{
    tt_shard *shard = tt_token_file_shard(f);
    int32_t *ids = NULL;
    int64_t bad = 0;
    tt_status st = TT_OK;
    if (shard) {
        st = tt_shard_verify(shard, &bad, err);
        if (st != TT_OK) {
            fprintf(out, "verify: %lld damaged block%s\n", (long long)bad, bad == 1 ? "" : "s");
            goto out;
        }
    }
    ids = malloc(VERIFY * sizeof *ids);
    if (!ids)
        TT_TRY(tt_fail(err, TT_ERR_NOMEM, "no memory to read %d tokens", VERIFY));
    const int64_t all = tt_token_file_tokens(f);
    for (int64_t first = 0; first < all; first += VERIFY)
        TT_TRY(tt_token_file_read(f, first, all - first < VERIFY ? all - first : VERIFY, ids, NULL, err));
    fprintf(out, shard ? "verify: every block is sound, every id is in the vocabulary\n" : "verify: every id can be read (no checksums in this kind "
            "of file)\n");
out:
    free(ids);
    return st;
}

tt_status tt_tokenize_inspect(const tt_inspect_job *job, const char *path, FILE *out, tt_error *err)
{
    const tt_token_opts o = {.tokenizer = job->tokenizer, .token_bytes = job->token_bytes};
    tt_token_file *f = NULL;
    tt_status st;
    TT_TRY(tt_token_file_open(path, &o, &f, err));
    const int wide = tt_token_file_token_bytes(f);
    const int64_t documents = tt_token_file_documents(f);
    fprintf(out, "%s: %s, %lld tokens of %d byte%s, ", path, tt_token_kind_name(tt_token_file_kind_of(f)), (long long)tt_token_file_tokens(f), wide,
            wide == 1 ? "" : "s");
    if (documents >= 0)
        fprintf(out, "%lld document%s\n", (long long)documents, documents == 1 ? "" : "s");
    else
        fputs("documents not counted in this kind of file\n", out);
    if (tt_token_file_shard(f))
        print_shard(tt_shard_header(tt_token_file_shard(f)), out);
    TT_TRY(show_documents(job, f, out, err));
    if (job->verify)
        TT_TRY(verify(f, out, err));
out:
    tt_token_file_close(&f);
    return st;
}
