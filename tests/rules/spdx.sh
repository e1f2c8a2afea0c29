#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Every source file begins with its licence and a comment that says what it is
# for; scripts too, below their first line.
set -eu
cd "$PSNAP_SOURCE"

files()
{
    find psnap.c formats simcore profile replay predict capture samples tests \
        -type f "(" "$@" ")" | sort
}

failures=0
count=0
complain()
{
    echo "$1: $2"
    failures=$((failures + 1))
}
while read -r file; do
    count=$((count + 1))
    { read -r first; read -r second; } < "$file" || true
    [ "$first" = "/* SPDX-License-Identifier: BSD-3-Clause */" ] ||
        complain "$file" "the first line is not the licence"
    case $second in
    "/*"*) ;;
    *) complain "$file" "no comment says what it is for" ;;
    esac
done < <(files -name '*.c' -o -name '*.h' -o -name '*.cpp' -o -name '*.inc')
while read -r file; do
    count=$((count + 1))
    { read -r first; read -r second; read -r third; } < "$file" || true
    case $first in
    "#!"*) ;;
    *) complain "$file" "the first line is not '#!'" ;;
    esac
    case $second$third in
    *"SPDX-License-Identifier: BSD-3-Clause"*) ;;
    *) complain "$file" "no licence below the first line" ;;
    esac
done < <(files -name '*.sh' -o -name '*.py')
echo "$count files, $failures wrong"
[ "$count" -gt 50 ] && [ "$failures" -eq 0 ]
