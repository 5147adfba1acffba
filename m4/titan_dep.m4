# TITAN_DEP(VAR, OPTION, WHAT, MODULES, HEADER, FUNCTION, LIBS, NEED)
# One outside library, the same way for all. Adds --with-OPTION=check|yes|no|DIR (default check) and sets
#   VAR_CFLAGS, VAR_LIBS   flags (substituted)
#   VAR_VERSION            version that pkg-config knows, or "DIR" / "found" (substituted)
#   titan_have_OPTION      yes or no
# MODULES are pkg-config names tried in order; then a plain "#include <HEADER>" with LIBS. Every candidate must link
# FUNCTION. NEED is `required` (no is an error, with the reason WHAT) or `optional` (check falls back aloud).
AC_DEFUN([TITAN_DEP], [
AC_ARG_WITH([$2],
    [AS_HELP_STRING([--with-$2=check|yes|no|DIR], [$3 @<:@check@:>@])], [], [with_$2=check])
titan_have_$2=no
AS_CASE([$with_$2],
    [no], [],
    [yes|check], [
        for titan_module in $4; do
            AS_IF([test $titan_have_$2 = no && $PKG_CONFIG --exists $titan_module 2>/dev/null], [
                $1_CFLAGS=`$PKG_CONFIG --cflags $titan_module`
                $1_LIBS=`$PKG_CONFIG --libs $titan_module`
                $1_VERSION=`$PKG_CONFIG --modversion $titan_module`
                TITAN_DEP_TRY([$1], [$2], [$5], [$6], [pkg-config $titan_module])])
        done
        AS_IF([test $titan_have_$2 = no], [
            $1_CFLAGS= $1_LIBS="$7" $1_VERSION=found
            TITAN_DEP_TRY([$1], [$2], [$5], [$6], [$7])])],
    [   $1_CFLAGS="-I$with_$2/include"
        $1_LIBS="-L$with_$2/lib -Wl,-rpath,$with_$2/lib $7"
        $1_VERSION="$with_$2"
        TITAN_DEP_TRY([$1], [$2], [$5], [$6], [$with_$2])])
AS_IF([test $titan_have_$2 = no], [
    $1_CFLAGS= $1_LIBS= $1_VERSION=no
    AS_CASE([$8/$with_$2],
        [required/no], [AC_MSG_ERROR([--without-$2 was asked for, but titan cannot be built without it ($3)])],
        [required/*|*/yes|*//*], [AC_MSG_ERROR([--with-$2=$with_$2: not found: <$5> and a library with $6 ($7). $3.
    Install the development package, or say where it is: --with-$2=DIR with DIR/include and DIR/lib])],
        [*/check], [AC_MSG_NOTICE([$2: <$5> and a library with $6 ($7) were not found; building without ($3)])])])
AC_SUBST([$1_CFLAGS])
AC_SUBST([$1_LIBS])
AC_SUBST([$1_VERSION])
AC_SUBST([with_$2])
])

# TITAN_DEP_TRY(VAR, OPTION, HEADER, FUNCTION, FROM): keep the candidate when it links.
AC_DEFUN([TITAN_DEP_TRY], [
titan_save_CPPFLAGS=$CPPFLAGS titan_save_LIBS=$LIBS
CPPFLAGS="$CPPFLAGS $$1_CFLAGS" LIBS="$$1_LIBS $LIBS"
AC_MSG_CHECKING([for $2 ($5)])
AC_LINK_IFELSE([AC_LANG_PROGRAM([[#include <$3>]], [[return (void *)$4 == (void *)main;]])],
    [titan_have_$2=yes])
CPPFLAGS=$titan_save_CPPFLAGS LIBS=$titan_save_LIBS
AC_MSG_RESULT([$titan_have_$2])
])
