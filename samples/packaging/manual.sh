#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# The pages of the manual: manual.sh PSNAP FOLDER SOURCES VERSION. Pages of commands and formats are
# what psnap says of them, as it says it; those of documents are made of these. Pages are compressed when
# there is gzip, without a date, so that the same sources give the same bytes.
set -eu
psnap=$1 folder=$2 sources=$3 version=$4
rm -rf "$folder"
mkdir -p "$folder"

# page NAME SECTION SUMMARY: of the Markdown on standard input
page()
{
    awk -v name="$1" -v section="$2" -v summary="$3" -v version="$version" \
        -f "$sources/samples/packaging/document.awk" > "$folder/$1.$2"
}

# said ARGUMENTS: what psnap says, as a block
said()
{
    "$psnap" "$@" > "$folder/said"
    sed 's/^/    /' "$folder/said"
}

# commands ARGUMENTS: names and summaries that a help lists
commands()
{
    "$psnap" "$@" | sed -n '/^\(commands\|models\):/,/^$/s/^  \([a-z+]*\) *\(.*\)/\1 \2/p'
}

{
    said help
    cat << 'END'

## Example

    psnap cc -O2 cg.c -o cg -lm
    psnap record -o cg.yaml --trace cg.pst -- ./cg
    psnap compare cg.pst cg.yaml -m i7-5960x

## Environment

* PSNAP_OUT: the file for the profile of a program that is started without `psnap record`
* PSNAP_ROI: functions that are recorded then, a line each
* PSNAP_CLANG, PSNAP_CLANGXX, PSNAP_FLANG: the compilers of `psnap cc`, `c++` and `fc`
* PSNAP_LLVM: the LLVM whose compiler they take
* COLUMNS: the width of tables

## Exit status

0 done, 1 failed or a threshold missed, 2 wrong usage, 141 when the reader of the output has gone; `psnap record` and
`psnap run` have that of the program.
END
} | page psnap 1 "profiles of memory behaviour, address streams and cache simulation"

commands help | while read -r name summary; do
    said "$name" --help | page "psnap-$name" 1 "$summary"
    commands "$name" --help | while read -r part about; do
        said "$name" "$part" --help | page "psnap-$name-$part" 1 "$about"
    done
done

"$psnap" formats | sed -n '2,$s/ .*//p' | while read -r name; do
    said formats "$name" | page "psnap-$name" 5 "$("$psnap" formats "$name" | sed '1s/^[^:]*: //; q')"
done
rm "$folder/said"

while IFS='|' read -r file name section summary; do
    page "$name" "$section" "$summary" < "$sources/$file"
done << 'END'
profile/FORMAT.md|psnap-profile|5|the profile, field by field
simcore/MACHINES.md|psnap-machine|5|machine files, and what is simulated of a machine
formats/PST.md|psnap-pst-layout|5|the bytes of a trace in psnap's own format
replay/MODELS.md|psnap-models|7|how a stream becomes a profile, and a profile a stream
samples/LIMITS.md|psnap-limits|7|what the models assume, and where they fail
samples/TUTORIAL.md|psnap-tutorial|7|a profile read and edited, number by number
samples/HOWTO.md|psnap-howto|7|recipes for the usual questions
capture/README.md|psnap-capture|7|recording programs
predict/reuse/REUSE.md|psnap-reuse|7|reuse distances
predict/sdcm/SDCM.md|psnap-sdcm|7|hit rates predicted from reuse distances
predict/amm/AMM.md|psnap-amm|7|run times, and larger inputs from small ones
predict/multicore/MULTICORE.md|psnap-multicore|7|programs on several cores
predict/locality/LOCALITY.md|psnap-locality|7|locality surfaces and scores
END

if command -v gzip > /dev/null; then
    gzip -9nf "$folder"/*.[157]
fi
: > "$folder/made"
