/* Between the parts of text_files: bytes of a file, plain or unpacked, and one JSON line. */
#ifndef TT_DATA_TEXT_FILES_PRIV_H
#define TT_DATA_TEXT_FILES_PRIV_H

#include "data/text_files.h"

enum { TT_TEXT_CHUNK = 1 << 18 };

/* The bytes of a file as they are on disk. */
typedef struct tt_text_raw {
    const char *path; /* borrowed; for messages */
    int fd;
    unsigned char *buffer; /* owned, TT_TEXT_CHUNK */
    size_t at, n;          /* buffer[at..n) is not used yet */
    int64_t bytes;         /* read so far */
    int ended;             /* the file has no more than the buffer holds */
    int pipe;              /* reading may wait for another program */
} tt_text_raw;

/** Read until at least `least` bytes are in the buffer, or the file ends. Errors: TT_ERR_IO. */
tt_status tt_text_raw_fill(tt_text_raw *raw, size_t least, tt_error *err);

/** Read up to n > 0 bytes from the file itself (the buffer is empty); *got is 0 at its end. Errors: TT_ERR_IO, TT_ERR_STOPPED. */
tt_status tt_text_raw_read(tt_text_raw *raw, void *out, size_t n, size_t *got, tt_error *err);

/* How a file is unpacked. */
typedef struct tt_text_codec {
    const char *name;
    tt_status (*open)(const tt_text_raw *raw, void **self, tt_error *err);
    /* Up to `room` bytes to out; *got is 0 at the end of the file only. */
    tt_status (*read)(void *self, tt_text_raw *raw, char *out, size_t room, size_t *got, tt_error *err);
    void (*close)(void *self);
} tt_text_codec;

extern const tt_text_codec tt_text_plain, tt_text_gzip, tt_text_zstd;

/** What a name ends with, regardless of case: 1 or 0. */
int tt_text_ends_with(const char *name, size_t n, const char *suffix);
/** How to convert a Parquet or Arrow file: fails with the words. Returns TT_ERR_DATA. */
tt_status tt_text_refuse_columns(const char *path, const char *kind, tt_error *err);

/* One line of JSON. */
typedef struct tt_json_field {
    const char *value; /* first byte of the value of the last field with the name; NULL: there is none */
    size_t n;          /* bytes of the value; of a string, those between its quotes */
    int string;        /* it is a string */
    int escapes, high; /* the string has escapes; may have bytes over 0x7F */
    const char *why;   /* what is wrong with the line; NULL when nothing is */
    size_t at;         /* where */
} tt_json_field;

/** Look for a field of the object that is line[n]; the whole line is checked. 0, or -1 with why and at. */
int tt_json_find(const char *line, size_t n, const char *field, tt_json_field *found);
/** Names of the fields of a sound line, "a, b, c", at most `room` bytes with the NUL. */
void tt_json_names(const char *line, size_t n, char *out, size_t room);
/** Undo the escapes of a sound string in place; returns its new length. *lone += halves of pairs (now U+FFFD). */
size_t tt_json_unescape(char *s, size_t n, int64_t *lone);

#endif
