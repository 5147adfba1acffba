# TITAN_FLAGS_EARLY (before AC_PROG_CC) and TITAN_FLAGS (after): how the C code is compiled.
#   --enable-debug             -Og -g3 instead of -O2 -g (CFLAGS given by the user win)
#   --enable-sanitizer=LIST    address, undefined, thread; comma list
#   --enable-werror            warnings are errors
# Sets TITAN_CFLAGS and TITAN_LDFLAGS (substituted; per-target CFLAGS must keep $(AM_CFLAGS), which holds them).
AC_DEFUN([TITAN_FLAGS_EARLY], [
AC_ARG_ENABLE([debug], [AS_HELP_STRING([--enable-debug], [build for a debugger: -Og -g3])], [], [enable_debug=no])
AS_IF([test "$enable_debug" != no], [: ${CFLAGS="-Og -g3"}], [: ${CFLAGS="-O2 -g"}])
])

AC_DEFUN([TITAN_FLAGS], [
AC_ARG_ENABLE([sanitizer],
    [AS_HELP_STRING([--enable-sanitizer=LIST], [address, undefined, thread (comma list)])], [], [enable_sanitizer=no])
AC_ARG_ENABLE([werror], [AS_HELP_STRING([--enable-werror], [compiler warnings are errors])], [], [enable_werror=no])
TITAN_CFLAGS= TITAN_LDFLAGS=
AS_IF([test "$enable_werror" = yes], [TITAN_CFLAGS=-Werror])
AS_IF([test "$enable_sanitizer" != no], [
    for titan_san in `echo "$enable_sanitizer" | tr ',' ' '`; do
        AS_CASE([$titan_san], [address|undefined|thread], [],
            [AC_MSG_ERROR([--enable-sanitizer=$enable_sanitizer: '$titan_san' is not address, undefined or thread])])
    done
    titan_san="-fsanitize=$enable_sanitizer -fno-omit-frame-pointer"
    AS_CASE([$enable_sanitizer], [*undefined*], [titan_san="$titan_san -fno-sanitize-recover=undefined"])
    titan_save_CFLAGS=$CFLAGS
    CFLAGS="$CFLAGS $titan_san"
    AC_MSG_CHECKING([whether $CC takes $titan_san])
    AC_LINK_IFELSE([AC_LANG_PROGRAM], [AC_MSG_RESULT([yes])],
        [AC_MSG_RESULT([no])
         AC_MSG_ERROR([--enable-sanitizer=$enable_sanitizer: $CC cannot link with it; install the compiler's sanitizer libraries or choose others])])
    CFLAGS=$titan_save_CFLAGS
    TITAN_CFLAGS="$TITAN_CFLAGS $titan_san" TITAN_LDFLAGS="$titan_san"])
AC_SUBST([TITAN_CFLAGS])
AC_SUBST([TITAN_LDFLAGS])
AC_SUBST([enable_sanitizer])
])
