/* See checksum.h. The only file of this room that includes xxhash.h. */
#include "data/checksum.h"

#include <xxhash.h>

uint64_t tt_checksum64(const void *data, size_t n)
{
    return XXH3_64bits(data, n);
}

tt_hasher *tt_hasher_begin(void)
{
    XXH3_state_t *s = XXH3_createState();
    if (s)
        XXH3_128bits_reset(s);
    return (tt_hasher *)s;
}

void tt_hasher_add(tt_hasher *hasher, const void *data, size_t n)
{
    XXH3_128bits_update((XXH3_state_t *)hasher, data, n);
}

void tt_hasher_end(tt_hasher *hasher, unsigned char hash[16])
{
    XXH128_canonical_t c;
    XXH128_canonicalFromHash(&c, XXH3_128bits_digest((XXH3_state_t *)hasher));
    for (int i = 0; i < 16; i++)
        hash[i] = c.digest[i];
    XXH3_freeState((XXH3_state_t *)hasher);
}
