/* SHA-256 of bytes as hex, for comparing tensors with golden sums made elsewhere. Source: FIPS 180-4. */
#ifndef TT_TESTS_SHA256_H
#define TT_TESTS_SHA256_H

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static inline uint32_t sha256_rotate(uint32_t x, int n)
{
    return x >> n | x << (32 - n);
}

/* The first 32 bits of the fractional part of root(p), by long double. */
static inline uint32_t sha256_fraction(long double root)
{
    return (uint32_t)((root - floorl(root)) * 4294967296.0L);
}

static inline void sha256_block(uint32_t h[8], const uint32_t k[64], const unsigned char *p)
{
    uint32_t w[64], v[8];
    for (int i = 0; i < 16; i++)
        w[i] = (uint32_t)p[4 * i] << 24 | (uint32_t)p[4 * i + 1] << 16 | (uint32_t)p[4 * i + 2] << 8 | p[4 * i + 3];
    for (int i = 16; i < 64; i++) {
        uint32_t a = w[i - 15], b = w[i - 2];
        w[i] = w[i - 16] + w[i - 7] + (sha256_rotate(a, 7) ^ sha256_rotate(a, 18) ^ a >> 3) +
               (sha256_rotate(b, 17) ^ sha256_rotate(b, 19) ^ b >> 10);
    }
    memcpy(v, h, sizeof v);
    for (int i = 0; i < 64; i++) {
        uint32_t e = v[4], a = v[0];
        uint32_t t1 = v[7] + (sha256_rotate(e, 6) ^ sha256_rotate(e, 11) ^ sha256_rotate(e, 25)) +
                      ((e & v[5]) ^ (~e & v[6])) + k[i] + w[i];
        uint32_t t2 = (sha256_rotate(a, 2) ^ sha256_rotate(a, 13) ^ sha256_rotate(a, 22)) +
                      ((a & v[1]) ^ (a & v[2]) ^ (v[1] & v[2]));
        memmove(v + 1, v, 7 * sizeof v[0]);
        v[4] += t1;
        v[0] = t1 + t2;
    }
    for (int i = 0; i < 8; i++)
        h[i] += v[i];
}

static inline void sha256_hex(const void *data, size_t n, char hex[65])
{
    uint32_t h[8], k[64];
    int found = 0;
    for (int p = 2; found < 64; p++) {
        int prime = 1;
        for (int q = 2; q * q <= p; q++)
            prime &= p % q != 0;
        if (!prime)
            continue;
        if (found < 8)
            h[found] = sha256_fraction(sqrtl(p));
        k[found++] = sha256_fraction(cbrtl(p));
    }
    const unsigned char *p = data;
    unsigned char tail[128] = {0};
    size_t whole = n / 64, rest = n % 64, pad = rest < 56 ? 64 : 128;
    for (size_t i = 0; i < whole; i++)
        sha256_block(h, k, p + 64 * i);
    if (rest)
        memcpy(tail, p + 64 * whole, rest);
    tail[rest] = 0x80;
    for (int i = 0; i < 8; i++)
        tail[pad - 1 - (size_t)i] = (unsigned char)((uint64_t)n * 8 >> 8 * i);
    for (size_t i = 0; i < pad; i += 64)
        sha256_block(h, k, tail + i);
    for (int i = 0; i < 8; i++)
        snprintf(hex + 8 * i, 9, "%08x", h[i]);
}

#endif
