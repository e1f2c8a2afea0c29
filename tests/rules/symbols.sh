#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# What libpsnap.so exports is what the public headers mark PSNAP_API: nothing
# more (hidden visibility leaks nothing), nothing less (no prototype without a
# function). Private headers and .c files mark nothing. All of it is of the ABI's version.
set -eu
cd "$PSNAP_SOURCE"
library=$PSNAP_BUILD/lib/libpsnap.so
[ -e "$library" ] || exit 77 # sanitizer builds have none

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
public=(formats/base/*.h)
for folder in formats simcore profile replay predict capture; do
    [ ! -e $folder/$folder.h ] || public+=("$folder/$folder.h")
done

# Comments and macros off, all on one line; of each declaration the last name before ( or [ or ;
grep -hv '^#' "${public[@]}" | sed -zE 's:/\*[^*]*\*+([^/*][^*]*\*+)*/::g; s/[[:space:]]+/ /g' |
    grep -oE 'PSNAP_API [^(;[]*[(;[]' | grep -oE '[A-Za-z0-9_]+ ?[(;[]$' | tr -d ' (;[' |
    sort -u > "$work/declared"
nm -D --defined-only "$library" | awk '$NF !~ /^PSNAP_0/ { print $NF }' | sed 's/@.*//' | sort -u > "$work/exported"

status=0
unversioned=$(nm -D --defined-only "$library" | awk '$NF !~ /@@PSNAP_0$/ && $NF !~ /^PSNAP_0/ { print $NF }')
[ -z "$unversioned" ] || { echo "without the version of the ABI: $unversioned"; status=1; }
[ "$(wc -l < "$work/declared")" -gt 50 ] || { echo "too few declarations found"; status=1; }
comm -13 "$work/declared" "$work/exported" | sed 's/^/exported but not declared: /' > "$work/extra"
comm -23 "$work/declared" "$work/exported" | sed 's/^/declared but not exported: /' > "$work/lacking"
cat "$work/extra" "$work/lacking"
[ ! -s "$work/extra" ] && [ ! -s "$work/lacking" ] || status=1

grep -lE '^[[:space:]]*PSNAP_API' -r --include='*.c' --include='*.h' formats simcore profile replay \
    predict capture | sort > "$work/marked"
printf '%s\n' "${public[@]}" | sort > "$work/public"
comm -23 "$work/marked" "$work/public" | sed 's/$/: PSNAP_API in a file that is not public/' \
    > "$work/misplaced"
cat "$work/misplaced"
[ ! -s "$work/misplaced" ] || status=1
exit $status
