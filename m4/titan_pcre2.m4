# TITAN_PCRE2: PCRE2 (8 bit), for the regular expressions of tokenizers that have no matcher of their own.
# Adds --with-pcre2, sets PCRE2_CFLAGS, PCRE2_LIBS, PCRE2_VERSION.
AC_DEFUN([TITAN_PCRE2], [
TITAN_PCRE2_SAVED=$CPPFLAGS
CPPFLAGS="$CPPFLAGS -DPCRE2_CODE_UNIT_WIDTH=8"
TITAN_DEP([PCRE2], [pcre2], [regular expressions of tokenizers], [libpcre2-8], [pcre2.h], [pcre2_compile_8], [-lpcre2-8], [required])
CPPFLAGS=$TITAN_PCRE2_SAVED
])
