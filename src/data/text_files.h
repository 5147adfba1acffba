/* Text files as documents: which files a name means, and what stands in them.
 *
 * A file is plain, gzip (several members too) or zstd (several frames, any window); its first bytes tell. Under that, a name with
 * .jsonl, .ndjson or .json is JSON lines: each line an object, one field of it the text of a document. Any other file is one
 * document. Constant memory: a reader holds one chunk and its longest line (or, when the file is one document, the file).
 *
 * A byte order mark at the begin of a file is no part of the text. In JSON lines, CR before LF and blank lines are fine, the last
 * line needs no LF, and of two equal fields the last counts, as in other readers; NaN and Infinity are taken as numbers, since
 * Python writes them. A text that is empty makes no document. Half a pair of surrogates ("\ud800") becomes U+FFFD and is counted.
 * Ill-formed UTF-8 is refused unless the options say otherwise: it nearly always means another encoding or a damaged file. Fields
 * that are not asked for are checked as JSON, but their UTF-8 is not looked at. */
#ifndef TT_DATA_TEXT_FILES_H
#define TT_DATA_TEXT_FILES_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* --- which files ---------------------------------------------------------------------------------------------------------------- */

typedef struct tt_text_list {
    char **paths; /* owned */
    int n, room;
    int64_t bytes; /* of all files as they are on disk; standard input counts 0 */
} tt_text_list;

/** Append to *list (zeros at first) the files that `path` names: a file, "-" (standard input), a folder (its .txt, .jsonl, .ndjson
 *  and .json files, also with .gz or .zst behind; hidden ones and subfolders are left out) or a glob pattern; folders and patterns
 *  in byte order of the names whatever the locale. Errors: TT_ERR_DATA (nothing there: says what was looked for and which names are
 *  near; Parquet or Arrow files: says how to convert them), TT_ERR_IO, TT_ERR_NOMEM. */
tt_status tt_text_list_add(tt_text_list *list, const char *path, tt_error *err);
/** Free what the list holds and make it zeros. */
void tt_text_list_free(tt_text_list *list);

/* --- what stands in them ---------------------------------------------------------------------------------------------------------- */

typedef enum tt_text_form {
    TT_TEXT_BY_NAME, /* .jsonl, .ndjson, .json (before .gz, .zst): JSON lines; else whole */
    TT_TEXT_WHOLE,   /* the file is one document */
    TT_TEXT_JSONL    /* one JSON object a line */
} tt_text_form;

typedef enum tt_text_utf8 {
    TT_TEXT_REFUSE, /* ill-formed UTF-8 is an error with its place */
    TT_TEXT_REPAIR, /* it becomes U+FFFD, one for each maximal ill-formed part, and the document is counted */
    TT_TEXT_KEEP    /* the bytes are passed on as they are */
} tt_text_utf8;

typedef struct tt_text_opts {
    const char *field; /* of a JSON line; NULL = "text"; borrowed, must live as long as the reader */
    tt_text_form form;
    tt_text_utf8 utf8;
    int skip_bad; /* 1: a JSON line without a text (no field, null, no string, no JSON, bad UTF-8) is counted and left out */
} tt_text_opts;

typedef struct tt_text_counts {
    int64_t files;      /* opened */
    int64_t documents;  /* given out or skipped over */
    int64_t empty;      /* texts without a byte: no documents */
    int64_t blank;      /* lines with nothing but white space */
    int64_t bad;        /* lines left out (skip_bad) */
    int64_t repaired;   /* documents with ill-formed UTF-8 that became U+FFFD */
    int64_t surrogates; /* halves of pairs of surrogates that became U+FFFD */
    int64_t bytes_in;   /* read from disk */
    int64_t bytes_out;  /* after decompression */
    int64_t text_bytes; /* of the documents given out */
    char first_bad[320]; /* why the first bad line was left out; "" when none was */
} tt_text_counts;

/** to += from. */
void tt_text_counts_add(tt_text_counts *to, const tt_text_counts *from);
/** One line, "3 files, 120 documents, 1 empty text, …": kinds that did not occur are left out. */
void tt_text_counts_print(const tt_text_counts *counts, FILE *out);

typedef struct tt_text_doc {
    const char *text; /* lent until the next call on the reader; NULL: the file has ended. Not NUL-terminated */
    size_t bytes;     /* > 0 for a document */
    int64_t line;     /* 1-based line where it stands */
    int64_t offset;   /* of that line, in bytes after decompression */
} tt_text_doc;

typedef struct tt_text_reader tt_text_reader;

/** Open a file ("-": standard input, whole by default). opts may be NULL; copied. Errors: TT_ERR_IO; TT_ERR_DATA (Parquet, Arrow or
 *  token files, a folder, a name with .gz or .zst whose content is not); TT_ERR_NOMEM. */
tt_status tt_text_reader_open(const char *path, const tt_text_opts *opts, tt_text_reader **reader, tt_error *err);
/** Close; accepts NULL. */
void tt_text_reader_close(tt_text_reader **reader);

/** The next document; doc->text is NULL at the end. Errors: TT_ERR_DATA as FILE:LINE with what was seen, the fields that are there
 *  and what to change (malformed JSON, no such field, not a string, ill-formed UTF-8, a file that ends inside its compression),
 *  TT_ERR_IO, TT_ERR_NOMEM, TT_ERR_STOPPED (a signal, see base/signals.h, came while a pipe was silent). After an error the reader can
 *  only be closed. */
tt_status tt_text_next(tt_text_reader *reader, tt_text_doc *doc, tt_error *err);
/** Leave out the next n documents without undoing their escapes or checking their UTF-8; *skipped (may be NULL) is less than n when
 *  the file ends before. Errors: as tt_text_next. */
tt_status tt_text_skip(tt_text_reader *reader, int64_t n, int64_t *skipped, tt_error *err);

/** What happened so far (lent). */
const tt_text_counts *tt_text_reader_counts(const tt_text_reader *reader);

#endif
