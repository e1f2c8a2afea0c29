#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Every sample compiles alone and without a warning, prints its one line, prints the same
# at -O0 with undefined behaviour trapped as at -O2, and refuses arguments that are wrong.
set -eu

samples=${PSNAP_SOURCE:-$(cd "$(dirname "$0")/../.." && pwd)}/samples
warnings='-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror'
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

fail() {
    echo "$*" >&2
    exit 1
}

# compile FILE OUTPUT FLAGS...
compile() {
    local file=$1 output=$2
    shift 2
    case $file in
    *.cpp) ${CXX:-c++} -std=c++17 $warnings "$@" -o "$output" "$samples/$file" -lm -pthread ;;
    *) ${CC:-cc} -std=c17 $warnings -Wmissing-prototypes -Wstrict-prototypes -Wvla "$@" \
        -o "$output" "$samples/$file" -lm -pthread ;;
    esac
}

# check NAME FILE TEST_ARGS; NAME.ok is left behind when all is well
check() {
    local name=$1 file=$2 program=$scratch/$1 status
    shift 2
    compile "$file" "$program.O0" -O0 $trap_flags || fail "$name: does not compile at -O0"
    compile "$file" "$program.O2" -O2 || fail "$name: does not compile at -O2"
    "$program.O0" "$@" > "$program.out0" || fail "$name $*: exit status $? at -O0"
    "$program.O2" "$@" > "$program.out2" || fail "$name $*: exit status $? at -O2"
    grep -Eqx "$name $1 $2 checksum -?[0-9.e+-]+" "$program.out2" ||
        fail "$name: printed '$(cat "$program.out2")'"
    cmp -s "$program.out0" "$program.out2" ||
        fail "$name: '$(cat "$program.out0")' at -O0, '$(cat "$program.out2")' at -O2"
    for wrong in '0' '-1' '1x' '10 0' '10 1 1 1' '' '99999999999999999999'; do
        status=0
        # '' is an empty argument, the others are split
        if [ -n "$wrong" ]; then
            "$program.O2" $wrong > "$program.wrong" 2> "$program.usage" || status=$?
        else
            "$program.O2" '' > "$program.wrong" 2> "$program.usage" || status=$?
        fi
        [ $status -eq 2 ] || fail "$name '$wrong': exit status $status, not 2"
        [ ! -s "$program.wrong" ] || fail "$name '$wrong': prints to stdout"
        grep -q "^usage: $name " "$program.usage" || fail "$name '$wrong': no usage message"
    done
    touch "$program.ok"
}

# Not every compiler comes with the runtime of its sanitizer: then -O0 alone must do.
trap_flags='-fsanitize=undefined -fno-sanitize-recover=all'
echo 'int main(void) { return 0; }' > "$scratch/probe.c"
${CC:-cc} $trap_flags -o "$scratch/probe" "$scratch/probe.c" 2> /dev/null &&
    "$scratch/probe" || trap_flags=

names=
while read -r name file arguments; do
    case $name in '' | '#'*) continue ;; esac
    IFS='|' read -r test fidelity bench extra <<< "$arguments"
    [ -n "${bench// /}" ] && [ -n "${fidelity// /}" ] && [ -z "${extra:-}" ] ||
        fail "samples.list: $name: want three lists of arguments"
    names="$names $name"
    check "$name" "$file" $test &
    while [ "$(jobs -pr | wc -l)" -ge 2 ]; do
        wait -n || true # whoever failed said so, and is missed below
    done
done < "$samples/samples.list"
wait || true

[ "$(echo $names | wc -w)" -ge 20 ] || fail 'samples.list: fewer samples than there should be'
for name in $names; do
    [ -e "$scratch/$name.ok" ] || fail "$name failed"
done
for file in "$samples"/*.c "$samples"/*.cpp; do
    name=$(basename "${file%.*}")
    [ -e "$scratch/$name.ok" ] || fail "samples.list: $file is not in it"
done

# Any number of threads computes the same.
for threads in 1 3 64; do
    "$scratch/threads.O2" 200 10 $threads | cmp -s - "$scratch/threads.out2" ||
        fail "threads: $threads of them compute something else"
done
