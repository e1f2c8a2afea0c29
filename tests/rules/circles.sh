#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# The files of a folder do not call each other in circles: of the symbols that an object needs and
# another one of its folder defines, the order is one from top to bottom (tsort).
set -eu
cd "$PSNAP_BUILD"

# calls < `nm -A` of objects: pairs of files of one folder, the caller first
calls()
{
    awk '
        {
            split($1, part, ":")
            file = part[1]
            sub(/^\.\//, "", file)
            sub(/CMakeFiles\/[^\/]*\.dir\//, "", file)
            sub(/\.o$/, "", file)
            folder = file
            sub(/[^\/]*$/, "", folder)
        }
        $(NF - 1) == "U" { needs[folder, $NF] = needs[folder, $NF] " " file }
        $(NF - 1) ~ /^[TDBR]$/ { defines[folder, $NF] = file }
        END {
            for (symbol in needs) {
                count = symbol in defines ? split(needs[symbol], callers, " ") : 0
                for (i = 1; i <= count; i++)
                    if (callers[i] != defines[symbol])
                        print callers[i], defines[symbol]
            }
        }'
}

# circles < pairs: the files of each circle, nothing where there is none
circles()
{
    sort -u | tsort 2>&1 > /dev/null | sed 's/^tsort: //; s/^-: .*/files that call each other in a circle:/'
}

made_up=$(printf '%s\n' "a/CMakeFiles/x.dir/"{"one.c.o: U two","one.c.o:0 T one","two.c.o: U one","two.c.o:0 T two"} |
    calls | circles | tail -n 2 | sort | paste -sd ' ')
[ "$made_up" = "a/one.c a/two.c" ] || {
    echo "this test is blind: $made_up"
    exit 1
}

objects=$(mktemp)
trap 'rm -f "$objects"' EXIT
find . -name '*.c.o' -path '*.dir/*' ! -path './tests/*' ! -path './samples/*' | while read -r object; do
    source=$(echo "$object" | sed 's/CMakeFiles\/[^\/]*\.dir\///; s/\.o$//')
    [ ! -e "$PSNAP_SOURCE/$source" ] || echo "$object" # not of a file that was there once
done | xargs nm -A > "$objects"
[ "$(calls < "$objects" | wc -l)" -gt 100 ]
wrong=$(calls < "$objects" | circles)
[ -z "$wrong" ] || {
    echo "$wrong"
    exit 1
}
