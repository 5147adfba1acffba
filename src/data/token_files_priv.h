/* Between token_files and its kinds. */
#ifndef TT_DATA_TOKEN_FILES_PRIV_H
#define TT_DATA_TOKEN_FILES_PRIV_H

#include "data/token_files.h"

/* How ids are stored; the values are Megatron's codes. */
typedef enum tt_id_code { TT_ID_U8 = 1, TT_ID_I8 = 2, TT_ID_I16 = 3, TT_ID_I32 = 4, TT_ID_I64 = 5, TT_ID_U16 = 8, TT_ID_U32 = 100 } tt_id_code;

/* A file that is read by pread. */
typedef struct tt_token_bytes {
    char *path; /* owned */
    int fd;
    int64_t bytes;
} tt_token_bytes;

/** Open and close (what was not opened, too). Errors: TT_ERR_IO, TT_ERR_NOMEM. */
tt_status tt_token_bytes_open(const char *path, tt_token_bytes *b, tt_error *err);
void tt_token_bytes_close(tt_token_bytes *b);
/** data[n] from offset `at`. Errors: TT_ERR_IO, TT_ERR_DATA (the file ends before). */
tt_status tt_token_bytes_read(const tt_token_bytes *b, int64_t at, void *data, size_t n, tt_error *err);

/** n ids at byte `at` to out; `token` is the first one's number, for messages. An id outside [0, limit) is refused. */
tt_status tt_token_ids_read(const tt_token_bytes *b, tt_id_code code, int64_t at, int64_t token, int64_t n, int64_t limit, int32_t *out,
                            tt_error *err);
/** Bytes of an id of this code; 0 for codes that are no ids. */
int tt_id_bytes(tt_id_code code);

/* A kind of file. */
typedef struct tt_token_reader {
    tt_status (*read)(void *self, int64_t first, int64_t n, int32_t *out, uint8_t *begins, tt_error *err);
    void (*close)(void *self);
} tt_token_reader;

struct tt_token_file {
    char *path; /* owned */
    tt_token_kind kind;
    tt_token_opts opts;   /* marks resolved */
    int64_t limit;        /* ids are below */
    int64_t tokens, documents;
    int token_bytes;
    const tt_token_reader *reader;
    void *self; /* owned */
};

/* Open each kind into file (path, opts and limit are set). */
tt_status tt_token_open_titan(tt_token_file *file, tt_error *err);
tt_status tt_token_open_megatron(tt_token_file *file, tt_error *err);
tt_status tt_token_open_plain(tt_token_file *file, tt_error *err); /* llm.c and raw */

/** The other name of a Megatron pair, X.bin for X.idx and the reverse: malloc'd, NULL when PATH has neither ending (or no memory). */
char *tt_megatron_twin(const char *path);

#endif
