# The Debian packages that titan is built with, and how to get them. Sourced by quickstart.sh and run-tests.sh.
titan_packages="autoconf automake pkg-config gcc make libc6-dev git openmpi-bin libopenmpi-dev libhdf5-dev libconfig-dev
libopenblas-dev libjansson-dev libxxhash-dev libpcre2-dev zlib1g-dev libzstd-dev"

# install_packages PACKAGE…: those that are missing, as root; on a system without dpkg configure says what is missing.
install_packages() {
    command -v dpkg-query >/dev/null 2>&1 || return 0
    missing=
    for p in "$@"; do
        dpkg-query -W -f '${Status}\n' "$p" 2>/dev/null | grep -q ' installed$' || missing="$missing $p"
    done
    [ -z "$missing" ] && return 0
    if [ "$(id -u)" != 0 ]; then
        echo "these packages are missing:$missing; as root: apt-get install$missing" >&2
        return 1
    fi
    echo "installing$missing"
    export DEBIAN_FRONTEND=noninteractive
    # shellcheck disable=SC2086
    { apt-get -qq install -y --no-install-recommends $missing ||
        { apt-get -qq update && apt-get -qq install -y --no-install-recommends $missing; }; } >/dev/null
}
