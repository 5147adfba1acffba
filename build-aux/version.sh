#!/bin/sh
# Tells which version of the sources this is: from git in a checkout, from .tarball-version in a released archive.
#   version.sh version [SRCDIR]   0.1.0, or 0.1.0-12-g1a2b3c4 between releases
#   version.sh commit  [SRCDIR]   the full commit, "-dirty" behind it when files differ; "unknown" without git
#   version.sh date    [SRCDIR]   seconds since 1970 of that commit, for reproducible archives
release=0.1.0 # used while there is no tag to count from
what=$1
src=${2:-.}

in_git() {
    [ "$(git -C "$src" rev-parse --show-prefix 2>/dev/null)" = "" ] && git -C "$src" rev-parse -q --verify HEAD >/dev/null 2>&1
}

tarball() { # line of .tarball-version, default
    line=$(sed -n "$1p" "$src/.tarball-version" 2>/dev/null)
    echo "${line:-$2}"
}

case $what in
version)
    if [ -f "$src/.tarball-version" ]; then
        tarball 1 $release
    elif in_git; then
        tag=$(git -C "$src" describe --tags --match 'v[0-9]*' --abbrev=7 2>/dev/null)
        echo "${tag:-v$release-$(git -C "$src" rev-list --count HEAD)-g$(git -C "$src" rev-parse --short=7 HEAD)}" | sed 's/^v//'
    else
        echo $release
    fi
    ;;
commit)
    if [ -f "$src/.tarball-version" ]; then
        tarball 2 unknown
    elif in_git; then
        dirty=$(git -C "$src" status --porcelain --untracked-files=no 2>/dev/null)
        echo "$(git -C "$src" rev-parse HEAD)${dirty:+-dirty}"
    else
        echo unknown
    fi
    ;;
date)
    if [ -n "$SOURCE_DATE_EPOCH" ]; then
        echo "$SOURCE_DATE_EPOCH"
    elif [ -f "$src/.tarball-version" ]; then
        tarball 3 0
    elif in_git; then
        git -C "$src" log -1 --format=%ct
    else
        echo 0
    fi
    ;;
*)
    echo "usage: version.sh version|commit|date [SRCDIR]" >&2
    exit 64
    ;;
esac
