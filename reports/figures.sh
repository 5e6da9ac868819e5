#!/bin/sh
# The figures of README.md, each by a command of this program's own.
#
#     reports/figures.sh PROGRAM            draws them again (target docs-figures)
#     reports/figures.sh --check PROGRAM    status 1 where they no longer show what this build finds
#
# A picture's bytes hang on gnuplot and fonts, so the check compares what is drawn: sums of the tables and
# scripts behind the pictures, in figures/sums. It needs no gnuplot. What a validation finds is kept in
# predicted.csv, which has a test of its own: its figure stands for that file.

set -u
LC_ALL=C
export LC_ALL

check=0
if [ "${1:-}" = --check ]; then
    check=1
    shift
fi
program=${1:?usage: figures.sh [--check] PROGRAM}
case $program in
/*) ;;
*) program=$PWD/$program ;;
esac
here=$(cd "$(dirname "$0")" && pwd) || exit 1
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
trap 'exit 1' HUP INT TERM
mkdir "$tmp/none" || exit 1
cd "$tmp" || exit 1

# drawn NAME PLOT WORDS...: the picture alone.
drawn() {
    name=$1
    plot=$2
    shift 2
    rm -rf figures
    "$program" "$@" --quiet --plot "figures/$plot.png" > "$tmp/out" && mv "figures/$plot.png" "$here/figures/$name.png" || exit 1
}

# figure NAME PLOT WORDS...: `vramsim WORDS --plot figures/PLOT.png` becomes figures/NAME.png.
figure() {
    name=$1
    plot=$2
    shift 2
    rm -rf figures
    # Tables and scripts alone are the same everywhere.
    PATH="$tmp/none" "$program" "$@" --quiet --plot "figures/$plot.png" > "$tmp/out" 2>&1
    cat "figures/$plot.gp" figures/*.tsv figures/*.gpi 2> /dev/null | cksum | sed "s/\$/ $name/" >> "$tmp/sums"
    [ "$check" = 1 ] || drawn "$name" "$plot" "$@"
}

figure strategies strategies --hw rtx4090 --workload qlora70b --top 12
figure hardware hardware --hw rtx3060,rtx3090,rtx4090,rtx5090,a100,h100,b200,m2-ultra,m4-max --workload chat8b --gpu-layers all --kv fp16
figure streams streams run --hw rtx4090 --workload qlora70b --engine fsdp --optim adamw --offload-param cpu --loss fused
cat "$here/../tests/measured/predicted.csv" "$here/plots/accuracy.gp" "$here/plots/style.gpi" | cksum |
    sed 's/$/ accuracy/' >> "$tmp/sums"
[ "$check" = 1 ] || drawn accuracy accuracy validate

if [ "$check" = 0 ]; then
    cp "$tmp/sums" "$here/figures/sums"
elif ! cmp -s "$tmp/sums" "$here/figures/sums"; then
    diff "$here/figures/sums" "$tmp/sums"
    echo "figures: they show what another build found; draw them again: cmake --build DIR --target docs-figures" >&2
    exit 1
fi
