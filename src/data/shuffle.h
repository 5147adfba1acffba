/* A random order that needs no memory: a bijection of 0..n-1, computed one index at a time.
 *
 * A Feistel network over the smallest even number of bits that holds n, walked until it lands below n (on average fewer
 * than four steps). The order depends on (key, n) only, so a shuffled epoch can be entered anywhere, by any rank.
 * Source: Black and Rogaway, "Ciphers with arbitrary finite domains", CT-RSA 2002 (cycle walking). */
#ifndef TT_DATA_SHUFFLE_H
#define TT_DATA_SHUFFLE_H

#include <stdint.h>

/** Where index i of 0..n-1 goes, 1 <= n < 2^62. For a fixed (key, n) every place is taken exactly once. Pure. */
int64_t tt_shuffle_place(uint64_t key, int64_t n, int64_t i);

#endif
