#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# The program itself: help, version, mistakes, and output that cannot be written.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# expect STATUS COMMAND...: runs it, keeps what it prints in $work/out and $work/err
expect()
{
    local wanted=$1 status=0
    shift
    "$@" > "$work/out" 2> "$work/err" || status=$?
    [ "$status" = "$wanted" ] || {
        echo "exit status $status instead of $wanted: $*"
        cat "$work/out" "$work/err"
        exit 1
    }
}

expect 2 "$PSNAP"
grep -q '^usage: psnap COMMAND' "$work/err"
[ ! -s "$work/out" ]
expect 0 "$PSNAP" --help
cp "$work/out" "$work/help"
[ ! -s "$work/err" ]
expect 0 "$PSNAP" help
cmp "$work/out" "$work/help"
expect 0 "$PSNAP" --version
grep -qx 'psnap [0-9]*\.[0-9]*\.[0-9]*' "$work/out"
expect 2 "$PSNAP" hlep
[ "$(cat "$work/err")" = "psnap: no command 'hlep'; did you mean 'help'?" ]
expect 2 "$PSNAP" xyzzy
[ "$(cat "$work/err")" = "psnap: no command 'xyzzy'; 'psnap help' lists them" ]

# Every command that the list names explains itself.
sed -n 's/^  \([a-z+]*\)  *.*/\1/p' "$work/help" > "$work/commands"
[ -s "$work/commands" ]
while read -r command; do
    case $command in
    cc | c++) continue ;; # hand their arguments to clang
    esac
    expect 0 "$PSNAP" "$command" --help
    grep -q '^usage: ' "$work/out" || { echo "$command --help prints no usage"; exit 1; }
    cp "$work/out" "$work/own"
    expect 0 "$PSNAP" help "$command"
    cmp "$work/out" "$work/own"
done < "$work/commands"

# A full disk is a failure that is told; a reader that has gone is none to talk about.
status=0
"$PSNAP" help > /dev/full 2> "$work/err" || status=$?
[ "$status" = 1 ]
[ "$(cat "$work/err")" = "psnap help: cannot write standard output: no space left on device" ]
status=0 # more than a buffer: it fails before the end
"$PSNAP" machines --schema > /dev/full 2> "$work/err" || status=$?
[ "$status" = 1 ]
[ "$(cat "$work/err")" = "psnap machines: cannot write standard output: no space left on device" ]
status=0
"$PSNAP" help 2> "$work/err" > >(exec true) || status=$?
# whether the reader is gone already is a race; when it is, this comes out
case $status in
0) ;;
141) [ ! -s "$work/err" ] ;;
*) exit 1 ;;
esac
