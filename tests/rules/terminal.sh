#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Names reach standard output and standard error by psnap_print alone, which leaves out what a
# terminal would obey: no other printf there has a text or a character among its arguments, but in
# the files that print psnap's own texts.
set -eu
cd "$PSNAP_SOURCE"
own='formats/cmd_formats.c|formats/base/cmd_options.c'

# unfiltered FILE...: where it is done
unfiltered()
{
    grep -HPzo '(?<![a-z_])v?(printf\(|fprintf\(\s*std(out|err),)[^;]*?%[-*.0-9]*[sc]' "$@" |
        tr '\0\n' '\n '
}

[ "$(unfiltered <(printf 'a\nfprintf(stderr, "%%d"\n "%%-*s", 1, 2, name);\nprintf("%%d", 1);\n') |
    wc -l)" = 1 ] || { echo "this test is blind"; exit 1; }
mapfile -t files < <(find psnap.c formats simcore profile replay predict capture -name '*.c' \
    ! -path 'capture/runtime/*' | grep -vE "$own" | sort)
[ "${#files[@]}" -gt 50 ]
wrong=$(unfiltered "${files[@]}") || true
[ -z "$wrong" ] || { echo "$wrong"; exit 1; }
