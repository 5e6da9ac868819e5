#!/bin/sh
# Installs into a folder of its own and uses what is there, as a user and as a program would.
#
#     tests/install.sh installed BUILD CC VERSION   what this build installs
#     tests/install.sh shared CC VERSION            another build, with a shared library and another prefix
#
# What needs a program that isn't here (man, groff, zsh, c++) is left out, and said.

set -u
LC_ALL=C
export LC_ALL
unset VRAMSIM_PATH

src=$(cd "$(dirname "$0")/.." && pwd) || exit 1
mode=${1:?usage: install.sh installed BUILD CC VERSION | shared CC VERSION}
shift
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
trap 'exit 1' HUP INT TERM
prefix=$tmp/prefix
point='--hw rtx4090 --workload chat8b'

fail() {
    echo "install: $*"
    exit 1
}

have() {
    command -v "$1" > /dev/null && return 0
    echo "install: no $1: what needs it is left out"
    return 1
}

# quiet WORDS...: shows the output where the command fails.
quiet() {
    "$@" > "$tmp/log" 2>&1 && return 0
    tail -n 40 "$tmp/log"
    fail "failed: $*"
}

# same FILE FILE WHAT
same() {
    cmp "$1" "$2" || fail "$3: the output differs"
}

# bare WORDS...: from an empty folder, without our environment.
bare() {
    (cd "$tmp/empty" && exec env -i PATH="$PATH" HOME="$tmp/empty" LC_ALL=C "$@")
}

check_files() {
    for file in bin/vramsim include/vramsim.h share/man/man1/vramsim.1 \
        share/bash-completion/completions/vramsim share/zsh/site-functions/_vramsim \
        share/vramsim/hwprofiles/devices/rtx4090.json share/vramsim/workloads/chat8b.json \
        share/vramsim/workloads/models/llama-3-8b.json share/vramsim/reports/plots/strategies.gp share/vramsim/reports/plots/style.gpi share/vramsim/reports/html/page.html; do
        [ -f "$prefix/$file" ] || fail "not installed: $file"
    done
    lib=$(dirname "$(find "$prefix" -name vramsim.pc)")
    lib=${lib%/pkgconfig}
    [ -f "$lib/cmake/vramsim/vramsimConfig.cmake" ] || fail "not installed: the CMake package"
    if [ "$(find "$prefix" -name '*.h' | wc -l)" -ne 1 ]; then
        fail "vramsim.h is to be the only header"
    fi
    if find "$prefix/share/vramsim" -name '*.py' -o -name '*.md' | grep .; then
        fail "these are no data"
    fi
}

# The program finds the data of its own prefix, wherever that is, and none of the source tree.
check_program() {
    data=$prefix/share/vramsim
    bare "$prefix/bin/vramsim" --version | grep -q "^vramsim $version " || fail "not version $version"
    # shellcheck disable=SC2086  # several words on purpose
    bare "$prefix/bin/vramsim" run $point --json > "$tmp/run.json" || fail "vramsim run"
    cp "$data/hwprofiles/devices/toy.json" "$tmp/toy.json"
    rm "$data/hwprofiles/devices/toy.json"
    bare "$prefix/bin/vramsim" list hw --names > "$tmp/names" || fail "vramsim list hw --names"
    grep -qx rtx4090 "$tmp/names" || fail "no rtx4090 among the names"
    grep -qx toy "$tmp/names" && fail "the installed program reads the source tree"
    mkdir -p "$tmp/own/hwprofiles/devices" && mv "$tmp/toy.json" "$tmp/own/hwprofiles/devices/"
    bare env VRAMSIM_PATH="$tmp/own" "$prefix/bin/vramsim" show --hw toy |
        grep -qF "$tmp/own/hwprofiles/devices/toy.json" || fail "VRAMSIM_PATH is not searched"
    mv "$data" "$data.away"
    # shellcheck disable=SC2086
    bare "$prefix/bin/vramsim" run $point > "$tmp/out" 2> "$tmp/err"
    status=$?
    mv "$data.away" "$data"
    if [ "$status" -ne 2 ] || ! grep -q 'VRAMSIM_PATH' "$tmp/err"; then
        fail "without data: status $status, $(cat "$tmp/err")"
    fi
}

check_documents() {
    page=$prefix/share/man/man1/vramsim.1
    if have groff; then
        groff -man -Tascii -ww -z "$page" 2> "$tmp/err" || fail "groff failed"
        [ ! -s "$tmp/err" ] || fail "groff warns: $(cat "$tmp/err")"
    fi
    if have man; then
        MANWIDTH=100 man --warnings -l "$page" > "$tmp/page" 2> "$tmp/err" < /dev/null ||
            fail "man failed"
        [ ! -s "$tmp/err" ] || fail "man warns: $(cat "$tmp/err")"
    fi
    if have bash; then
        bash -n "$prefix/share/bash-completion/completions/vramsim" || fail "bash completion"
        PATH=$prefix/bin:$PATH bash -c '. "$1" && COMP_WORDS=(vramsim --workload x,chat70b) COMP_CWORD=2 &&
            _vramsim vramsim && echo "${COMPREPLY[@]}"' bash \
            "$prefix/share/bash-completion/completions/vramsim" > "$tmp/out" || fail "bash completion"
        grep -qx 'x,chat70b-q4' "$tmp/out" || fail "bash proposes: $(cat "$tmp/out")"
    fi
    if have zsh; then
        zsh -n "$prefix/share/zsh/site-functions/_vramsim" || fail "zsh completion"
    fi
}

# use_cmake, use_pkg_config: a program that is built against the prefix prints what the command does.
use_cmake() {
    quiet cmake -S "$src/tests/consumer" -B "$tmp/consumer" -DCMAKE_C_COMPILER="$cc" \
        -DCMAKE_BUILD_TYPE=Release -DCMAKE_PREFIX_PATH="$prefix"
    quiet cmake --build "$tmp/consumer"
    bare "$tmp/consumer/consumer" "$prefix/share/vramsim" > "$tmp/used.json" ||
        fail "find_package: the program says: $(cat "$tmp/used.json")"
    same "$tmp/run.json" "$tmp/used.json" "find_package"
}

use_pkg_config() {
    PKG_CONFIG_PATH=$lib/pkgconfig:${PKG_CONFIG_PATH:-}
    export PKG_CONFIG_PATH
    [ "$(pkg-config --modversion vramsim)" = "$version" ] || fail "pkg-config: not version $version"
    # shellcheck disable=SC2046  # words on purpose
    quiet "$cc" -std=c17 -Wall -Wextra -Wpedantic -Werror "$src/tests/consumer/consumer.c" \
        -o "$tmp/plain" $(pkg-config --cflags --libs vramsim)
    bare env LD_LIBRARY_PATH="$lib" "$tmp/plain" "$(pkg-config --variable=datadir vramsim)" \
        > "$tmp/used.json" || fail "pkg-config: the program says: $(cat "$tmp/used.json")"
    same "$tmp/run.json" "$tmp/used.json" "pkg-config"
    if have c++; then
        quiet c++ -std=c++17 -Wall -Wextra -Wpedantic -Werror -fsyntax-only -x c++ "$prefix/include/vramsim.h"
    fi
}

# only_ours LIBRARY: nothing is seen from outside but what the header declares, and all of that.
only_ours() {
    have nm || return 0
    nm -D --defined-only "$1" | awk '{ print $3 }' | sort > "$tmp/seen"
    sed -n '/VRAMSIM_API/s/.*[ *]\(vramsim_[a-z_]*\)(.*/\1/p' "$prefix/include/vramsim.h" > "$tmp/words"
    sort "$tmp/words" | diff - "$tmp/seen" || fail "declared (<) and exported (>) differ"
}

mkdir "$tmp/empty"
case $mode in
installed)
    build=${1:?} cc=${2:?} version=${3:?}
    quiet cmake --install "$build" --prefix "$prefix"
    check_files
    check_program
    check_documents
    use_cmake
    use_pkg_config
    # The objects of the static library as a shared one.
    if [ -f "$lib/libvramsim.a" ] && [ "$(uname)" = Linux ]; then
        # shellcheck disable=SC2046
        quiet "$cc" -shared -o "$tmp/whole.so" -Wl,--whole-archive "$lib/libvramsim.a" \
            -Wl,--no-whole-archive $(pkg-config --libs gsl libcjson zlib libzstd)
        only_ours "$tmp/whole.so"
    fi
    ;;
shared)
    cc=${1:?} version=${2:?}
    # The prefix that it is built for: the library needs no word where the data are.
    quiet cmake -S "$src" -B "$tmp/build" -DCMAKE_C_COMPILER="$cc" -DCMAKE_BUILD_TYPE=Release \
        -DBUILD_SHARED_LIBS=ON -DVRAMSIM_TESTS=OFF -DVRAMSIM_CUDA=OFF -DCMAKE_INSTALL_PREFIX="$prefix"
    quiet cmake --build "$tmp/build" --parallel 2
    quiet cmake --install "$tmp/build"
    check_files
    check_program
    use_cmake
    use_pkg_config
    bare env LD_LIBRARY_PATH="$lib" "$tmp/plain" > "$tmp/used.json" ||
        fail "the library doesn't find the data of its prefix: $(cat "$tmp/used.json")"
    same "$tmp/run.json" "$tmp/used.json" "the data of its prefix"
    if [ "$(uname)" = Linux ]; then
        only_ours "$lib/libvramsim.so"
    fi
    ;;
*)
    echo "install: unknown mode '$mode'" >&2
    exit 2
    ;;
esac
echo "install: $mode: works"
