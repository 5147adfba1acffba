# TITAN_JANSSON: Jansson reads and writes JSON (manifests, tokenizers, model folders).
# Adds --with-jansson, sets JANSSON_CFLAGS, JANSSON_LIBS, JANSSON_VERSION.
AC_DEFUN([TITAN_JANSSON], [
TITAN_DEP([JANSSON], [jansson], [JSON files], [jansson], [jansson.h], [json_loadb], [-ljansson], [required])
])
