/* Hashes of checkpoint bytes; see manifest.h. The only file of this room beside the reader and the writer that knows xxhash. */
#include "base/fs.h"
#include "ckpt/manifest.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <xxhash.h>

tt_ckpt_hash tt_ckpt_hash_of(const void *data, size_t bytes)
{
    XXH128_hash_t h = XXH3_128bits(data, bytes);
    return (tt_ckpt_hash){.high = h.high64, .low = h.low64};
}

void tt_ckpt_hash_text(tt_ckpt_hash hash, char out[33])
{
    snprintf(out, 33, "%016llx%016llx", (unsigned long long)hash.high, (unsigned long long)hash.low);
}

tt_status tt_ckpt_hash_file(const char *path, tt_ckpt_hash *hash, int64_t *bytes, tt_error *err)
{
    tt_status st = TT_OK;
    size_t room = (size_t)4 << 20;
    char *buffer = malloc(room);
    XXH3_state_t *state = XXH3_createState();
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    *bytes = 0;
    if (fd < 0 || !buffer || !state) {
        st = fd < 0 ? tt_fs_fail(err, "open", path, errno) : tt_fail(err, TT_ERR_NOMEM, "hashing %s: out of memory", path);
        goto out;
    }
    XXH3_128bits_reset(state);
    for (;;) {
        ssize_t got = read(fd, buffer, room);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0) {
            st = tt_fs_fail(err, "read", path, errno);
            goto out;
        }
        if (got == 0)
            break;
        XXH3_128bits_update(state, buffer, (size_t)got);
        *bytes += got;
    }
    XXH128_hash_t h = XXH3_128bits_digest(state);
    *hash = (tt_ckpt_hash){.high = h.high64, .low = h.low64};
out:
    if (fd >= 0)
        close(fd);
    XXH3_freeState(state);
    free(buffer);
    return st;
}
