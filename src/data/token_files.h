/* Files of tokens behind one interface: titan's shards and those of other programs, read as they are.
 *
 *   titan      a shard, see shard.h
 *   Megatron   X.idx and X.bin (either name): ids of 1, 2, 4 or 8 bytes, sequences in the order of the index, its documents
 *   llm.c      1024 bytes of header, then u16 (GPT-2) or u32 (Llama 3) ids
 *   raw        nanoGPT's: ids and nothing else, u16 unless the options say u32; only a name with .bin is taken for one
 *
 * The first bytes tell which; token numbers and offsets have 64 bits everywhere. Where a file does not know its documents (llm.c, raw),
 * a document begins at the file's first token, at each BOS, and behind each EOS; when BOS and EOS are one id (or only EOS is known),
 * files that begin with it are read as having it before each document (llm.c), others behind (nanoGPT). */
#ifndef TT_DATA_TOKEN_FILES_H
#define TT_DATA_TOKEN_FILES_H

#include "data/shard.h"
#include "data/tokenizer.h"

typedef enum tt_token_kind { TT_TOKENS_NONE, TT_TOKENS_TITAN, TT_TOKENS_MEGATRON, TT_TOKENS_LLMC, TT_TOKENS_RAW } tt_token_kind;

/** "titan", "megatron", "llmc", "nanogpt"; "none". */
const char *tt_token_kind_name(tt_token_kind kind);

typedef struct tt_token_opts {
    const tt_tokenizer *tokenizer; /* NULL: not known. A titan shard made with another one is refused; its BOS and EOS mark documents */
    int64_t vocab;   /* rows of the model: an id beyond is refused, never wrapped; 0: the tokenizer's, else unchecked */
    int token_bytes; /* of raw files: 2 or 4; 0: 2, refused when the file looks like 4. Ignored for others, which say it */
    int marks;       /* 1: bos and eos below mark documents (-1: there is none) instead of the tokenizer's */
    int32_t bos, eos;
} tt_token_opts;

typedef struct tt_token_file tt_token_file;

/** What kind of token file PATH is by its first bytes and its name; TT_TOKENS_NONE when it is none (a text, say) or cannot be read. */
tt_token_kind tt_token_file_kind(const char *path);

/** Open PATH; opts may be NULL. Some tokens, spread over the file, are looked at: an id outside the vocabulary is refused here if it is
 *  seen, else when it is read. Errors: TT_ERR_DATA (no token file, damaged, cut off, sizes that do not fit, another tokenizer, a larger
 *  vocabulary, dtypes that are no ids: each says what and what to change), TT_ERR_IO, TT_ERR_NOMEM. */
tt_status tt_token_file_open(const char *path, const tt_token_opts *opts, tt_token_file **file, tt_error *err);
/** Close; accepts NULL. */
void tt_token_file_close(tt_token_file **file);

/** What kind it is, and its tokens. */
tt_token_kind tt_token_file_kind_of(const tt_token_file *file);
int64_t tt_token_file_tokens(const tt_token_file *file);
/** Documents; -1 where the file does not know. */
int64_t tt_token_file_documents(const tt_token_file *file);
/** Bytes of a stored id: 1, 2, 4 or 8. */
int tt_token_file_token_bytes(const tt_token_file *file);
/** Name it was opened by (lent). */
const char *tt_token_file_path(const tt_token_file *file);
/** The shard behind it (lent), NULL for other kinds. */
tt_shard *tt_token_file_shard(const tt_token_file *file);

/** Tokens first .. first+n-1, which must exist, to out[n]; begins[n] (may be NULL) becomes 1 where one begins a document, else 0.
 *  Pure; any threads. Errors: TT_ERR_DATA (an id outside the vocabulary: file, position, id; damage), TT_ERR_IO. */
tt_status tt_token_file_read(tt_token_file *file, int64_t first, int64_t n, int32_t *out, uint8_t *begins, tt_error *err);

#endif
