# TITAN_XXHASH: xxHash 0.8 or newer, whose XXH3 checks every shard of a checkpoint.
# Adds --with-xxhash, sets XXHASH_CFLAGS, XXHASH_LIBS, XXHASH_VERSION.
AC_DEFUN([TITAN_XXHASH], [
TITAN_DEP([XXHASH], [xxhash], [hashes of checkpoints], [libxxhash], [xxhash.h], [XXH3_128bits], [-lxxhash], [required])
])
