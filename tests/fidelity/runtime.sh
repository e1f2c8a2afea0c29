#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Run times against reality: all samples at three sizes (runtime.list) on one core of this computer,
# measured and predicted.
#
#   tests/fidelity/runtime.sh [--samples a,b,c] [--machine FILE.yaml] [--rounds N] [--keep DIR] [--accept]
#
# Each sample is compiled three times with the same flags: as it is, as assembly code, and with
# capture. The first is timed, all rows in turn, N rounds (7); the median counts, less that of a program
# that does nothing. The third is recorded as a trace, which `psnap predict runtime` takes with the
# assembly code and the machine that `psnap machine host` has measured. Prints the table of runtime.py and
# the mean error of each method; --accept writes runtime.csv. --keep leaves traces and results in DIR, and
# takes what is there. PSNAP is the psnap to take (else one is built). Takes some ten minutes, alone.
set -eu
# shellcheck source=tests/script.sh
. "$(dirname "$0")/../script.sh"
machine="" rounds=7 keep="" accept=0
read_options "samples= machine= rounds= keep= accept" "$@"
psnap=${PSNAP-}
[ -n "$psnap" ] || build_release all
clang=$(command -v clang-19 || command -v clang)
[ -z "$keep" ] || { mkdir -p "$keep" && keep=$(realpath "$keep"); }
[ -z "$machine" ] || machine=$(realpath "$machine")
cd "${keep:-$work}"

if [ -z "$machine" ]; then
    machine=$PWD/host.yaml
    [ -e "$machine" ] || "$psnap" machine host -o "$machine"
fi
echo 'int main(void) { return 0; }' > nothing.c
"$clang" -O2 -o nothing nothing.c -lm -pthread

# NAME FILE: NAME (native), NAME.s and NAME.psnap
build()
{
    local driver=$clang capture=cc
    case $2 in *.cpp) driver=${clang/clang/clang++} ;; esac
    "$driver" -O2 -g "$root/samples/$2" -o "$1" -lm -pthread
    case $2 in *.cpp) capture=c++ ;; esac
    "$psnap" $capture --psnap-blocks -O2 -S "$root/samples/$2" -o "$1.s"
    compile "$2" "$1.psnap"
}

: > rows
while read -r name file rest; do
    case $name in "" | "#"*) continue ;; esac
    case ",${samples:-$name}," in *",$name,"*) ;; *) continue ;; esac
    [ -e "$name.psnap" ] || build "$name" "$file"
    size=0
    IFS='|' read -r -a sizes <<< "$rest"
    for arguments in "${sizes[@]}"; do
        size=$((size + 1))
        row=$name.$size
        # shellcheck disable=SC2086
        [ -e "$row.pst" ] ||
            "$psnap" record --no-profile --trace "$row.pst" -- "./$name.psnap" $arguments > record.out
        echo "$row ./$name $arguments" >> rows
        [ -e "$row.json" ] ||
            "$psnap" predict runtime "$row.pst" -m "$machine" --asm "$name.s" --json > "$row.part" &&
            { [ ! -e "$row.part" ] || mv "$row.part" "$row.json"; }
    done
done < "$root/tests/fidelity/runtime.list"

mode=show
[ $accept = 0 ] || mode=accept
/usr/bin/python3 "$root/tests/fidelity/runtime.py" "$mode" . "$rounds" runtime.csv
