#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# No source file grows beyond 800 lines (400 is what it should have), no function
# beyond 80 from brace to brace (40). In formatted code a brace alone on its line
# begins a function or a namespace, and the next one that is indented as far ends it.
set -eu
cd "$PSNAP_SOURCE"

# too_long FILE...: says what is
too_long()
{
    awk '
        FNR == 1 { split("", begin) }
        FNR == 801 { print FILENAME ": more than 800 lines" }
        /^ *[{]$/ && previous !~ /^ *(inline )?(namespace|extern)/ { begin[index($0, "{")] = FNR }
        /^ *[}]$/ && (index($0, "}") in begin) {
            lines = FNR - begin[index($0, "}")] + 1
            if (lines > 80)
                print FILENAME ":" FNR - lines + 1 ": a function of " lines " lines"
            delete begin[index($0, "}")]
        }
        { previous = $0 }
    ' "$@"
}

# Would it find one? A namespace of functions of 80 and 81 lines, then many more lines.
made_up()
{
    local lines
    printf 'namespace psnap\n{\n'
    for lines in 78 79; do
        printf 'static void f(void)\n{\n'
        yes '    g();' | head -n $lines
        printf '}\n'
    done
    printf '}\n'
    yes 'int a[] = {' | head -n 700
}
[ "$(too_long <(made_up) | sed 's/^[^ ]* //' | paste -s -d /)" = \
    "a function of 81 lines/more than 800 lines" ] || {
    echo "this test is blind: $(too_long <(made_up))"
    exit 1
}

mapfile -t files < <(find psnap.c formats simcore profile replay predict capture samples tests \
    "(" -name '*.c' -o -name '*.h' -o -name '*.cpp' -o -name '*.inc' ")" | sort)
[ "${#files[@]}" -gt 50 ]
wrong=$(too_long "${files[@]}")
[ -z "$wrong" ] || {
    echo "$wrong"
    exit 1
}
