/* Checksums of token files and identities of tokenizers: XXH3, as in checkpoints. */
#ifndef TT_DATA_CHECKSUM_H
#define TT_DATA_CHECKSUM_H

#include <stddef.h>
#include <stdint.h>

/** XXH3-64 of data[n], seed 0. */
uint64_t tt_checksum64(const void *data, size_t n);

typedef struct tt_hasher tt_hasher;

/** XXH3-128 of bytes that come in parts. NULL without memory. */
tt_hasher *tt_hasher_begin(void);
void tt_hasher_add(tt_hasher *hasher, const void *data, size_t n);
/** The hash in canonical (big-endian) order; frees the hasher. */
void tt_hasher_end(tt_hasher *hasher, unsigned char hash[16]);

#endif
