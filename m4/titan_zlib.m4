# TITAN_ZLIB: zlib, for text files that are compressed with gzip.
# Adds --with-zlib, sets ZLIB_CFLAGS, ZLIB_LIBS, ZLIB_VERSION.
AC_DEFUN([TITAN_ZLIB], [
TITAN_DEP([ZLIB], [zlib], [text files in gzip form], [zlib], [zlib.h], [inflateReset], [-lz], [required])
])
