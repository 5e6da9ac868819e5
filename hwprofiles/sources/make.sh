#!/bin/sh
# Writes the JSON profiles that the tables of this folder describe.
#
#     hwprofiles/sources/make.sh [FOLDER]
#
# FOLDER (default: hwprofiles) gets devices/, hosts/ and machines/ with one file per row of devices.csv, hosts.csv
# and machines.csv; the other files there are written by hand. tests/profiles.sh holds the committed files against
# the tables. README.md of this folder says what a cell may hold.

set -u
LC_ALL=C
export LC_ALL

here=$(cd "$(dirname "$0")" && pwd) || exit 1
out=${1:-$here/..}
mkdir -p "$out/devices" "$out/hosts" "$out/machines" || exit 1
exec awk -f "$here/make.awk" -v out="$out" \
    "$here/refs.csv" "$here/rates.csv" "$here/devices.csv" "$here/hosts.csv" "$here/machines.csv"
