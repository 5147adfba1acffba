/* See text_files.h: the documents of one file. */
#include "base/fs.h"
#include "base/signals.h"
#include "data/text_files_priv.h"
#include "data/unicode.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct tt_text_reader {
    char *path; /* owned */
    const char *field;
    tt_text_opts opts;
    int jsonl;
    tt_text_counts counts;
    tt_text_raw raw;
    const tt_text_codec *codec;
    void *unpacker;
    char *buffer; /* owned; buffer[at..n) is not given out yet, buffer[at..seen) has no LF */
    size_t at, n, seen, room;
    int ended;      /* nothing more comes into the buffer */
    int64_t line;   /* lines given out */
    int64_t offset; /* of buffer[at] in the unpacked file */
    char *repaired; /* owned: what the last document became */
};

/* --- bytes -------------------------------------------------------------------------------------------------------------------------- */

/* A pipe may stay silent for long: a request to stop is seen meanwhile. */
static tt_status wait_for(const tt_text_raw *raw, tt_error *err)
{
    struct pollfd p = {.fd = raw->fd, .events = POLLIN};
    while (raw->pipe && poll(&p, 1, 500) <= 0)
        if (tt_signals_seen())
            return tt_fail(err, TT_ERR_STOPPED, "stopped by %s while waiting for %s; start again for the whole",
                           tt_signals_name(tt_signals_seen()), raw->path);
    return TT_OK;
}

tt_status tt_text_raw_read(tt_text_raw *raw, void *out, size_t n, size_t *got, tt_error *err)
{
    ssize_t bytes = 0;
    tt_status st;
    TT_TRY(wait_for(raw, err));
    do
        bytes = raw->ended ? 0 : read(raw->fd, out, n);
    while (bytes < 0 && errno == EINTR);
    if (bytes < 0)
        return tt_fs_fail(err, "read", raw->path, errno);
    raw->ended = bytes == 0;
    raw->bytes += bytes;
    *got = (size_t)bytes;
out:
    return st;
}

tt_status tt_text_raw_fill(tt_text_raw *raw, size_t least, tt_error *err)
{
    tt_status st = TT_OK;
    size_t got = 0;
    while (raw->n - raw->at < least && !raw->ended) {
        if (raw->at > 0 && (raw->at == raw->n || TT_TEXT_CHUNK - raw->at < least)) {
            memmove(raw->buffer, raw->buffer + raw->at, raw->n - raw->at);
            raw->n -= raw->at;
            raw->at = 0;
        }
        TT_TRY(tt_text_raw_read(raw, raw->buffer + raw->n, TT_TEXT_CHUNK - raw->n, &got, err));
        raw->n += got;
    }
out:
    return st;
}

static tt_status plain_open(const tt_text_raw *raw, void **self, tt_error *err)
{
    (void)raw, (void)err;
    *self = NULL;
    return TT_OK;
}

static tt_status plain_read(void *self, tt_text_raw *raw, char *out, size_t room, size_t *got, tt_error *err)
{
    (void)self;
    if (raw->n > raw->at) { /* what was read to recognise the file */
        *got = raw->n - raw->at < room ? raw->n - raw->at : room;
        memcpy(out, raw->buffer + raw->at, *got);
        raw->at += *got;
        return TT_OK;
    }
    return tt_text_raw_read(raw, out, room, got, err);
}

static void plain_close(void *self)
{
    (void)self;
}

const tt_text_codec tt_text_plain = {"plain", plain_open, plain_read, plain_close};

/* More bytes behind buffer[n), or ended. */
static tt_status more(tt_text_reader *r, tt_error *err)
{
    size_t got = 0;
    if (r->room - r->n < TT_TEXT_CHUNK && r->at > r->room / 2) {
        memmove(r->buffer, r->buffer + r->at, r->n - r->at);
        r->n -= r->at;
        r->seen -= r->at;
        r->at = 0;
    }
    if (r->room - r->n < TT_TEXT_CHUNK) {
        const size_t room = r->room ? 2 * r->room : 4 * TT_TEXT_CHUNK;
        char *buffer = realloc(r->buffer, room);
        if (!buffer)
            return tt_fail(err, TT_ERR_NOMEM, "%s:%lld: no memory for %s of more than %zu bytes; cut it into several", r->path,
                           (long long)r->line + 1, r->jsonl ? "a line" : "a document", r->n - r->at);
        r->buffer = buffer;
        r->room = room;
    }
    tt_status st = r->codec->read(r->unpacker, &r->raw, r->buffer + r->n, r->room - r->n, &got, err);
    r->n += got;
    r->counts.bytes_in = r->raw.bytes;
    r->counts.bytes_out += (int64_t)got;
    r->ended = st == TT_OK && got == 0;
    return st;
}

/* --- opening ------------------------------------------------------------------------------------------------------------------------- */

static int begins(const void *s, size_t n, const char *magic, size_t m)
{
    return n >= m && memcmp(s, magic, m) == 0;
}

static tt_status choose_codec(tt_text_reader *r, tt_error *err)
{
    const unsigned char *s = r->raw.buffer;
    const size_t n = r->raw.n, m = strlen(r->path);
    const int gz = tt_text_ends_with(r->path, m, ".gz"), zst = tt_text_ends_with(r->path, m, ".zst");
    r->codec = &tt_text_plain;
    if (begins(s, n, "\x1F\x8B", 2))
        r->codec = &tt_text_gzip;
    else if (begins(s, n, "\x28\xB5\x2F\xFD", 4) || (n >= 4 && (s[0] & 0xF0) == 0x50 && begins(s + 1, 3, "\x2A\x4D\x18", 3)))
        r->codec = &tt_text_zstd;
    if ((gz || zst) && r->codec == &tt_text_plain)
        return tt_fail(err, TT_ERR_DATA, "%s (%lld bytes%s) does not begin like a %s file; it is cut off or has the wrong name: get it "
                       "again or rename it", r->path, (long long)r->raw.bytes, r->raw.ended ? "" : " or more", gz ? "gzip" : "zstd");
    return r->codec->open(&r->raw, &r->unpacker, err);
}

/* Refuse by its first bytes what is no text. */
static tt_status check_content(const tt_text_reader *r, tt_error *err)
{
    const char *s = r->buffer;
    if (begins(s, r->n, "PAR1", 4))
        return tt_text_refuse_columns(r->path, "Parquet", err);
    if (begins(s, r->n, "ARROW1", 6) || begins(s, r->n, "\xFF\xFF\xFF\xFF", 4))
        return tt_text_refuse_columns(r->path, "Arrow", err);
    if (begins(s, r->n, "titantok", 8) || begins(s, r->n, "MMIDIDX", 7))
        return tt_fail(err, TT_ERR_DATA, "%s is a file of tokens, not a text; titan-tokenize inspect shows what it holds", r->path);
    if (begins(s, r->n, "\xFF\xFE", 2) || begins(s, r->n, "\xFE\xFF", 2))
        return tt_fail(err, TT_ERR_DATA, "%s is UTF-16; make it UTF-8: iconv -f UTF-16 -t UTF-8 %s >NEW", r->path, r->path);
    return TT_OK;
}

static int named_jsonl(const char *path)
{
    size_t n = strlen(path);
    n -= tt_text_ends_with(path, n, ".gz") ? 3 : tt_text_ends_with(path, n, ".zst") ? 4 : 0;
    return tt_text_ends_with(path, n, ".jsonl") || tt_text_ends_with(path, n, ".ndjson") || tt_text_ends_with(path, n, ".json");
}

static tt_status open_file(tt_text_reader *r, tt_error *err)
{
    struct stat info;
    const int in = strcmp(r->path, "-") == 0;
    r->raw.fd = in ? dup(STDIN_FILENO) : open(r->path, O_RDONLY | O_CLOEXEC);
    if (r->raw.fd < 0)
        return tt_fs_fail(err, "open", in ? "standard input" : r->path, errno);
    if (fstat(r->raw.fd, &info) != 0)
        return tt_fs_fail(err, "look at", r->path, errno);
    if (S_ISDIR(info.st_mode))
        return tt_fail(err, TT_ERR_DATA, "%s is a folder, not a text file; give its files", r->path);
    r->raw.pipe = !S_ISREG(info.st_mode);
    posix_fadvise(r->raw.fd, 0, 0, POSIX_FADV_SEQUENTIAL);
    return TT_OK;
}

tt_status tt_text_reader_open(const char *path, const tt_text_opts *opts, tt_text_reader **reader, tt_error *err)
{
    tt_status st = TT_OK;
    tt_text_reader *r = calloc(1, sizeof *r);
    *reader = NULL;
    if (r) {
        r->raw.fd = -1;
        r->path = strdup(path);
        r->raw.buffer = malloc(TT_TEXT_CHUNK);
    }
    if (!r || !r->path || !r->raw.buffer)
        TT_TRY(tt_fail(err, TT_ERR_NOMEM, "opening %s: no memory", path));
    r->opts = opts ? *opts : (tt_text_opts){0};
    r->field = r->opts.field ? r->opts.field : "text";
    r->jsonl = r->opts.form == TT_TEXT_JSONL || (r->opts.form == TT_TEXT_BY_NAME && named_jsonl(path));
    r->raw.path = r->path;
    r->counts.files = 1;
    TT_TRY(open_file(r, err));
    TT_TRY(tt_text_raw_fill(&r->raw, 4, err));
    TT_TRY(choose_codec(r, err));
    while (r->n < 8 && !r->ended)
        TT_TRY(more(r, err));
    TT_TRY(check_content(r, err));
    *reader = r;
    r = NULL;
out:
    tt_text_reader_close(&r);
    return st;
}

void tt_text_reader_close(tt_text_reader **reader)
{
    tt_text_reader *r = *reader;
    if (!r)
        return;
    if (r->codec)
        r->codec->close(r->unpacker);
    if (r->raw.fd >= 0)
        close(r->raw.fd);
    free(r->raw.buffer);
    free(r->buffer);
    free(r->repaired);
    free(r->path);
    free(r);
    *reader = NULL;
}

const tt_text_counts *tt_text_reader_counts(const tt_text_reader *reader)
{
    return &reader->counts;
}

/* --- documents -------------------------------------------------------------------------------------------------------------------------- */

/* The next line without its LF; *line is NULL at the end. It stays until the next call. */
static tt_status next_line(tt_text_reader *r, char **line, size_t *n, tt_text_doc *doc, tt_error *err)
{
    tt_status st = TT_OK;
    char *stop;
    *line = NULL;
    while (!(stop = memchr(r->buffer + r->seen, '\n', r->n - r->seen)) && !r->ended) {
        r->seen = r->n;
        TT_TRY(more(r, err));
    }
    if (!stop && r->at == r->n)
        return TT_OK;
    *line = r->buffer + r->at;
    *n = (size_t)((stop ? stop : r->buffer + r->n) - *line);
    doc->line = ++r->line;
    doc->offset = r->offset;
    r->offset += (int64_t)*n + (stop != NULL);
    r->at = r->seen = r->at + *n + (stop != NULL);
    if (*n >= 3 && memcmp(*line, "\xEF\xBB\xBF", 3) == 0) { /* also where a second gzip member begins */
        *line += 3;
        *n -= 3;
    }
out:
    return st;
}

static int is_blank(const char *s, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (s[i] != ' ' && s[i] != '\t' && s[i] != '\r')
            return 0;
    return 1;
}

/* Why a line has no text. */
static tt_status bad_line(const tt_text_reader *r, const char *line, size_t n, const tt_json_field *f, tt_error *err)
{
    char names[600];
    if (f->why)
        return tt_fail(err, TT_ERR_DATA, "%s:%lld: at byte %zu of the line %s; each line should be one JSON object: repair the line, or "
                       "leave such lines out with --skip-bad of titan-tokenize shards", r->path, (long long)r->line, f->at + 1, f->why);
    tt_json_names(line, n, names, sizeof names);
    if (!f->value)
        return tt_fail(err, TT_ERR_DATA, "%s:%lld: there is no field \"%s\" in this line; its fields are: %s; name the field that holds "
                       "the text (training.dataset_field, or --field of titan-tokenize), or leave such lines out with --skip-bad of titan-tokenize shards", r->path, (long long)r->line, r->field, names[0] ? names : "(none)");
    return tt_fail(err, TT_ERR_DATA, "%s:%lld: the field \"%s\" is %.*s%s, not a string; the fields are: %s; name the field that holds the "
                   "text (training.dataset_field, or --field of titan-tokenize), or leave such lines out with --skip-bad of titan-tokenize shards", r->path, (long long)r->line, r->field, f->n < 30 ? (int)f->n : 30, f->value,
                   f->n > 30 ? "…" : "", names);
}

/* Check text[n] and repair it as the options say. `line` is where it begins. */
static tt_status make_utf8(tt_text_reader *r, tt_text_doc *doc, const char *text, size_t n, int64_t line, tt_error *err)
{
    size_t good = r->opts.utf8 == TT_TEXT_KEEP ? n : tt_unicode_valid((const unsigned char *)text, n);
    doc->text = text;
    doc->bytes = n;
    if (good == n)
        return TT_OK;
    if (r->opts.utf8 == TT_TEXT_REPAIR) {
        free(r->repaired);
        r->repaired = NULL;
        tt_status st = tt_unicode_repair((const unsigned char *)text, n, &r->repaired, &doc->bytes, err);
        doc->text = r->repaired;
        r->counts.repaired += st == TT_OK;
        return st;
    }
    if (!r->jsonl)
        for (size_t i = 0; i < good; i++)
            line += text[i] == '\n';
    return tt_fail(err, TT_ERR_DATA, "%s:%lld: byte %zu of the text (0x%02X) is not UTF-8; convert the file (iconv -f LATIN1 -t UTF-8, if "
                   "it is Latin-1), or let such bytes become U+FFFD (training.dataset_repair_utf8, or --repair-utf8 of titan-tokenize)", r->path, (long long)line, good + 1, (unsigned char)text[good]);
}

/* The text of a line to *doc; doc->text stays NULL when it makes no document. skim: only its being there matters. */
static tt_status line_to_doc(tt_text_reader *r, char *line, size_t n, int skim, tt_text_doc *doc, tt_error *err)
{
    tt_json_field f;
    doc->text = NULL;
    if (is_blank(line, n)) {
        r->counts.blank++;
        return TT_OK;
    }
    tt_status st = TT_OK;
    if (tt_json_find(line, n, r->field, &f) != 0 || !f.string) {
        st = bad_line(r, line, n, &f, err);
    } else if (f.n == 0) {
        r->counts.empty++;
        return TT_OK;
    } else {
        char *text = line + (f.value - line);
        const int leave_out = r->opts.skip_bad && r->opts.utf8 == TT_TEXT_REFUSE; /* then it matters what counts as a document */
        if (!f.high || (skim && !leave_out)) {
            doc->text = text;
            doc->bytes = f.n;
        } else {
            st = make_utf8(r, doc, text, f.n, r->line, err);
        }
        if (st == TT_OK && !skim && f.escapes)
            doc->bytes = tt_json_unescape(doc->text == text ? text : r->repaired, doc->bytes, &r->counts.surrogates);
    }
    return st;
}

static tt_status next_object(tt_text_reader *r, int skim, tt_text_doc *doc, tt_error *err)
{
    tt_error why = {0};
    tt_status st = TT_OK;
    char *line;
    size_t n;
    doc->text = NULL;
    while (!doc->text) {
        TT_TRY(next_line(r, &line, &n, doc, err));
        if (!line)
            break;
        st = line_to_doc(r, line, n, skim, doc, &why);
        if (st == TT_ERR_DATA && r->opts.skip_bad) {
            if (r->counts.bad++ == 0)
                snprintf(r->counts.first_bad, sizeof r->counts.first_bad, "%.319s", why.text);
            doc->text = NULL;
            st = TT_OK;
        } else if (st != TT_OK) {
            if (err)
                *err = why;
            goto out;
        }
    }
out:
    return st;
}

static tt_status whole(tt_text_reader *r, int skim, tt_text_doc *doc, tt_error *err)
{
    tt_status st = TT_OK;
    doc->text = NULL;
    if (r->line > 0)
        return TT_OK;
    r->line = 1;
    const size_t mark = r->n >= 3 && memcmp(r->buffer, "\xEF\xBB\xBF", 3) == 0 ? 3 : 0;
    while (!r->ended && !(skim && r->n > mark))
        TT_TRY(more(r, err));
    *doc = (tt_text_doc){.text = NULL, .line = 1};
    if (r->n == mark)
        r->counts.empty++;
    else if (skim)
        doc->text = r->buffer;
    else
        st = make_utf8(r, doc, r->buffer + mark, r->n - mark, 1, err);
out:
    return st;
}

tt_status tt_text_next(tt_text_reader *r, tt_text_doc *doc, tt_error *err)
{
    *doc = (tt_text_doc){0};
    tt_status st = r->jsonl ? next_object(r, 0, doc, err) : whole(r, 0, doc, err);
    if (st == TT_OK && doc->text) {
        r->counts.documents++;
        r->counts.text_bytes += (int64_t)doc->bytes;
    }
    return st;
}

tt_status tt_text_skip(tt_text_reader *r, int64_t n, int64_t *skipped, tt_error *err)
{
    tt_text_doc doc;
    tt_status st = TT_OK;
    int64_t i = 0;
    for (; i < n; i++) {
        TT_TRY(r->jsonl ? next_object(r, 1, &doc, err) : whole(r, 1, &doc, err));
        if (!doc.text)
            break;
        r->counts.documents++;
    }
out:
    if (skipped)
        *skipped = i;
    return st;
}
