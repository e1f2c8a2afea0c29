#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# No folder has more code lines (without blank ones and comments) than size.txt says, whose numbers
# only go down: below those of the last commit. No source file grows beyond 900 lines, no function
# beyond 80 from brace to brace (40 is what it should have). In formatted code a brace alone on its
# line begins a function or a namespace, and the next one that is indented as far ends it.
set -eu
cd "$PSNAP_SOURCE"

# too_long FILE...: says what is
too_long()
{
    awk '
        FNR == 1 { split("", begin) }
        FNR == 901 { print FILENAME ": more than 900 lines" }
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
    yes 'int a[] = {' | head -n 800
}
[ "$(too_long <(made_up) | sed 's/^[^ ]* //' | paste -s -d /)" = \
    "a function of 81 lines/more than 900 lines" ] || {
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

# code_lines FOLDER: of its C and C++
code_lines()
{
    find "$1" "(" -name '*.c' -o -name '*.h' -o -name '*.cpp' -o -name '*.inc' ")" -exec cat {} + | awk '
        {
            code = ""
            for (line = $0; line != ""; ) {
                if (inside) {
                    at = index(line, "*/")
                    line = at ? substr(line, at + 2) : ""
                    inside = !at
                } else if (match(line, /\/[\/*]/)) {
                    code = code substr(line, 1, RSTART - 1)
                    inside = substr(line, RSTART, 2) == "/*"
                    line = inside ? substr(line, RSTART + 2) : ""
                } else {
                    code = code line
                    line = ""
                }
            }
            count += code ~ /[^ \t]/
        }
        END { print count + 0 }'
}

made_up_folder=$(mktemp -d)
trap 'rm -rf "$made_up_folder"' EXIT
printf '/* one */\n\nint a; // two\n/* three\nfour */ int b; /* five */\n// six\n' > "$made_up_folder/x.c"
[ "$(code_lines "$made_up_folder")" = 2 ] || {
    echo "code lines are not counted"
    exit 1
}

failures=0
# The numbers before the last change of the file, and before one that is not committed yet
last=$(for commit in HEAD $(git log -n 1 --skip 1 --format=%H -- tests/rules/size.txt 2> /dev/null); do
    git show $commit:tests/rules/size.txt 2> /dev/null || true
done)
while read -r folder most; do
    lines=$(code_lines "$folder")
    before=$(echo "$last" | sed -n "s,^$folder ,,p" | sort -n | head -n 1)
    if [ "$lines" -gt "$most" ]; then
        echo "$folder has $lines code lines, more than $most (tests/rules/size.txt)"
        failures=$((failures + 1))
    fi
    if [ "$most" -gt "${before:-$most}" ]; then
        echo "tests/rules/size.txt: $folder may not grow from $before to $most code lines"
        failures=$((failures + 1))
    fi
done < tests/rules/size.txt
[ "$(wc -l < tests/rules/size.txt)" = 7 ] && [ "$failures" -eq 0 ]
