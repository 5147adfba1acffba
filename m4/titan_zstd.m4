# TITAN_ZSTD: libzstd 1.4 or newer, for text files that are compressed with zstd.
# Adds --with-zstd, sets ZSTD_CFLAGS, ZSTD_LIBS, ZSTD_VERSION.
AC_DEFUN([TITAN_ZSTD], [
TITAN_DEP([ZSTD], [zstd], [text files in zstd form], [libzstd], [zstd.h], [ZSTD_DCtx_setParameter], [-lzstd], [required])
])
