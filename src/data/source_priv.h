/* What a kind of source provides; see source.h. Positions given to a kind with known tokens lie in one pass. */
#ifndef TT_DATA_SOURCE_PRIV_H
#define TT_DATA_SOURCE_PRIV_H

#include "data/source.h"
#include "data/text_files.h"

typedef struct tt_source_table {
    const char *name;
    tt_status (*read)(void *self, int64_t at, int64_t n, int32_t *tokens, uint8_t *begins, tt_error *err);
    char *(*bookmark)(void *self, int64_t at);                                             /* NULL: needs none */
    tt_status (*seek)(void *self, int64_t at, const char *bookmark, tt_error *err);        /* NULL: nothing to do */
    void (*close)(void *self);
} tt_source_table;

struct tt_source {
    const tt_source_table *table;
    void *self;                /* owned */
    int64_t tokens, documents; /* of a pass; -1 not known */
    char text[256];            /* description */
};

/** Open each kind on a list of files (the kind keeps what it needs of it). They fill table, self, tokens, documents, text. */
tt_status tt_source_memory_open(const tt_text_list *files, const tt_source_opts *opts, tt_source *source, tt_error *err);
tt_status tt_source_stream_open(const tt_text_list *files, const tt_source_opts *opts, tt_source *source, tt_error *err);
tt_status tt_source_shards_open(const tt_text_list *files, const tt_source_opts *opts, tt_source *source, tt_error *err);

/** Fail when one of ids[n] is no row of the model: names `file` and the number of the token, counted from `first`. */
tt_status tt_source_check_ids(const tt_source_opts *opts, const char *file, const int32_t *ids, size_t n, int64_t first,
                              tt_error *err);

/** How the text reader shall treat the files of a source. */
tt_text_opts tt_source_text_opts(const tt_source_opts *opts);

#endif
