#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# What psnap cc costs when compiling: user and system seconds of all files of a project, .text of
# their objects, and, at -O0, frames of their functions, beside clang's. Prints a table; with
# --write also tests/bench/compile.csv. Fails where a quotient is above its limit: time 2.5, text 4.
#
#   tests/bench/compile.sh [SOURCES] [--runs N] [--write]
#
# SOURCES is a folder with checkouts of zlib, lua, cJSON and quickjs under these names; a project
# that is not there is left out, which is said. The samples and huge.c (one function with many loops,
# cases and branches, written here) are always there. Seconds are medians of N runs (3), in turn;
# `frames` is the sum of all frames as a multiple of clang's, `over` how many of the functions have
# more than twice clang's.
set -eu
sources=""
[ $# = 0 ] || [ "${1#--}" != "$1" ] || { sources=$(realpath "$1") && shift; }
# shellcheck source=tests/script.sh
. "$(dirname "$0")/../script.sh"
runs=3 write=0
read_options "runs= write" "$@"
clang=${PSNAP_CLANG:-clang-19}
build_release all

# files_of PROJECT: its flags, then --, then its files
files_of()
{
    local in=$sources/$1
    case $1 in
    zlib) echo -I"$in" -D_LARGEFILE64_SOURCE=1 -DHAVE_UNISTD_H -- "$in"/*.c ;;
    lua) echo -I"$in" -DLUA_USE_LINUX -- $(ls "$in"/l*.c | grep -v /ltests) ;;
    cJSON) echo -- "$in"/cJSON.c "$in"/cJSON_Utils.c ;;
    quickjs) echo -I"$in" -D_GNU_SOURCE '-DCONFIG_VERSION="x"' -- \
        "$in"/{quickjs,libregexp,libunicode,cutils,dtoa,quickjs-libc}.c ;;
    samples) echo -- samples/*.c ;;
    huge) echo -- "$work"/huge.c ;;
    esac
}

write_huge()
{
    awk 'BEGIN {
        print "struct s { int a, b, c; struct s *next; double d[8]; };"
        print "extern int g[4096]; extern double h[4096]; int ext(int x);"
        print "int huge(struct s *p, int n, double *q) { int x = 0;"
        for (i = 0; i < 100; i++)
            printf "for (int i = 0; i < n; i++) { g[i + %d] += q[i * %d] > 1; x += g[g[i] & 4095]; }\n", i % 7, i % 5 + 1
        print "for (int r = n; r--;) switch (p->a) {"
        for (i = 0; i < 500; i++)
            printf "case %d: p->b += g[x & 4095]; if (p->c > %d) p->d[%d] += h[p->b & 4095]; x += ext(p->c); break;\n", i, i, i % 8
        print "}"
        for (i = 0; i < 500; i++)
            printf "if (p->a > %d) { p->b += g[%d]; x ^= p->c; } else if (p->b < x) p->next->c += %d;\n", i, i, i
        print "return x; }"
    }' > "$work/huge.c"
}

# compile_all OUT COMPILER...: all files with the flags, from the list; user and system seconds into OUT
compile_all()
{
    local to=$1 folder=$2 file
    shift 2
    mkdir -p "$folder"
    times > "$work/before"
    for file in "${list[@]}"; do "$@" -w "${flags[@]}" -c "$file" -o "$folder/$(basename "$file" .c).o"; done
    times > "$work/after"
    tail -qn 1 "$work/before" "$work/after" | tr 'ms' '  ' |
        awk '{s[NR] = 60 * ($1 + $3) + $2 + $4} END {printf "%.2f\n", s[2] - s[1]}' >> "$to"
}

text_of()
{
    size -A "$1"/*.o | awk '$1 ~ /^\.text/ {all += $2} END {print all}'
}

# frames_of FOLDER: "FILE:FUNCTION BYTES" of all functions of its objects: what is pushed and taken
# from the stack, or used below it
frames_of()
{
    objdump -d --no-show-raw-insn "$1"/*.o | perl -ne '
        if (/file format/) { ($file) = m{([^/]+\.o):}; }
        elsif (/^[0-9a-f]+ <(.*)>:/) { $f = "$file:$1"; $open = 1; $all{$f} = 8; }
        elsif ($f) {
            $all{$f} += 8 if $open && /\spush/;
            if ($open && /sub +\$0x([0-9a-f]+),%rsp/) { $all{$f} += hex $1; $open = 0; }
            $low{$f} = hex $1 if /-0x([0-9a-f]+)\(%rbp/ && hex $1 > ($low{$f} // 0);
        }
        END { for (sort keys %all) {
            my $used = ($low{$_} // 0) + 16;
            print "$_ ", $all{$_} > $used ? $all{$_} : $used, "\n"; } }'
}

one_project()
{
    local name=$1 level=$2 i words frames=,
    read -ra words <<< "$(files_of "$name")"
    flags=("$level") list=()
    for ((i = 0; i < ${#words[@]}; i++)); do
        [ "${words[i]}" != -- ] || break
        flags+=("${words[i]}")
    done
    list=("${words[@]:i + 1}")
    rm -rf "$work"/{clang,psnap}{,.s}
    for ((i = 0; i < runs; i++)); do
        compile_all "$work/clang.s" "$work/clang" "$clang"
        compile_all "$work/psnap.s" "$work/psnap" "$psnap" cc
    done
    [ "$level" != -O0 ] || frames=$(join <(frames_of "$work/clang" | sort) <(frames_of "$work/psnap" | sort) |
        awk '{a += $2; b += $3; over += $3 > 2 * $2} END {printf "%.2f,%d of %d", b / a, over, NR}')
    echo "$name,$level,$(median "$work/clang.s"),$(median "$work/psnap.s"),$(text_of "$work/clang"),$(text_of "$work/psnap")" |
        awk -F, -v frames="$frames" '{printf "%s,%.2f,%.2f,%s\n", $0, $4 / $3, $6 / $5, frames}'
}

write_huge
{
    echo project,level,clang_s,psnap_s,clang_text,psnap_text,time,text,frames,over
    for name in zlib lua cJSON quickjs samples huge; do
        case $name in
        samples | huge) ;;
        *) [ -n "$sources" ] && [ -d "$sources/$name" ] || { echo "no $name in '$sources'" >&2 && continue; } ;;
        esac
        for level in -O0 -O1 -O2; do one_project $name $level; done
    done
} > "$work/compile.csv"
column -s, -t "$work/compile.csv"
[ $write = 0 ] || cp "$work/compile.csv" tests/bench/compile.csv
awk -F, 'NR > 1 && ($7 > 2.5 || $8 > 4) {print "above the limit: " $1 " " $2; bad = 1} END {exit bad}' "$work/compile.csv"
