# The papers that a program cannot go without: a man page each, with every option and exit code, that mandoc finds no
# fault with; and a comment above every public function.
. "$top_srcdir/tests/lib.sh"
cd "$top_srcdir" || exit 1

empty() { # offending lines
    [ -z "$1" ] || { printf '%s\n' "$1" | sed 's/^/# /' >&2 && false; }
}
missing_options() { # program, page: names of --help that are in neither page
    "$top_builddir/$1" --help | grep -oE -- '--[a-z][A-Za-z0-9_.-]*[A-Za-z0-9]' | sed 's/^--//' | sort -u | while read -r o; do
        dashes=$(printf '%s' "$o" | sed 's/-/\\\\-/g')
        grep -qE -- "(-|\\\\-)($o|$dashes)( |\$)" "$2" || grep -qE "^\.It .*$o( |\$)" man/titan.conf.5 || echo "$o"
    done
}
undocumented() {
    find "$@" -name '*.h' | sort | xargs awk '
        FNR == 1 { covered = comment = 0 }
        /^\/\*/ { comment = 1 }
        comment { if (/\*\//) { comment = 0; covered = 1 } next }
        /^[[:space:]]*$/ { covered = 0 }
        /^[a-z].*[ *]tt_[a-z0-9_]+\(/ && !/^(static|typedef)/ && !covered && !/\/\*/ { print FILENAME ":" FNR ": " $0 }'
}

programs=$(sed -n 's/^bin_PROGRAMS += *//p' src/Makefile.inc utils/Makefile.inc)
check "there are programs" [ -n "$programs" ]
codes=$(sed -n 's/^    {TT_[A-Z_]*, \([0-9]*\), .*/\1/p' src/base/error.c | sort -un)
check "there are exit codes" [ "$(echo $codes)" = "0 64 69 70 74 75 76 78" ]
for p in $programs; do
    page=man/$p.1
    check "$p has a man page" [ -f $page ]
    [ -f $page ] || continue
    check "$page is installed" grep -q "^dist_man_MANS.*%D%/$p\.1" man/Makefile.inc
    for s in NAME SYNOPSIS DESCRIPTION OPTIONS "EXIT STATUS" EXAMPLES "SEE ALSO"; do
        check "$page: $s" grep -qE "^\.Sh \"?$s\"?\$" $page
    done
    check "$page has all options" empty "$(missing_options $p $page)"
    check "$page has all exit codes" empty "$(for c in $codes; do
        sed -n '/^\.Sh .*EXIT STATUS/,/^\.Sh [^E]/p' $page | grep -qE "^\.(It|Dl).*(^| )(Li )?$c( |\$)" || echo "no $c"; done)"
done
if command -v mandoc >/dev/null 2>&1; then
    check "mandoc finds no fault" empty "$(mandoc -Tlint -W warning man/*.[1-9] 2>&1)"
elif command -v groff >/dev/null 2>&1; then
    check "groff finds no fault" empty "$(groff -ww -mdoc -Tascii man/*.[1-9] 2>&1 >/dev/null)"
else
    skip "the pages are sound mdoc" "neither mandoc nor groff"
fi
check "every public function has a comment" empty "$(undocumented src kernels)"
printf '%s\n' '/* why */' 'int tt_a(void); /* here */' '/** above */' 'int tt_b(int x);' 'int tt_c(void);' '' \
    'void tt_d(void);' >"$work/bad.h"
check "one without is seen" [ "$(undocumented "$work")" = "$work/bad.h:7: void tt_d(void);" ]
done_testing
