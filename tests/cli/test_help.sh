#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Help, manual and completion are made of the same tables: each command and each format has a page,
# that groff takes without a warning and that has all options of --help; bash completes commands,
# parts, options, choices, formats, machines, scopes and files.
set -eu
. "$PSNAP_SOURCE/tests/cli/common.sh"

commands=$("$PSNAP" help | sed -n '/^commands:/,/^$/s/^  \([a-z+]*\) .*/\1/p')
formats=$("$PSNAP" formats | sed -n '2,$s/ .*//p')
models=$("$PSNAP" predict --help | sed -n '/^models:/,/^$/s/^  \([a-z]*\) .*/\1/p')
parts=$("$PSNAP" repo --help | sed -n '/^commands:/,/^$/s/^  \([a-z]*\) .*/\1/p')
[ "$(wc -w <<< "$commands")" -gt 20 ] && [ "$(wc -w <<< "$formats")" -gt 15 ]

# Every page is there, and no other
mkdir pages
"$PSNAP" help --manuals pages
{
    echo psnap.1
    for command in $commands; do echo "psnap-$command.1"; done
    for model in $models; do echo "psnap-predict-$model.1"; done
    for part in $parts; do echo "psnap-repo-$part.1"; done
    for format in $formats; do echo "psnap-$format.5"; done
} | sort > wanted
diff wanted <(ls pages | sort) || fail "pages are not those of commands and formats"
"$PSNAP" help --man predict cache | cmp - pages/psnap-predict-cache.1
"$PSNAP" help --man din | cmp - pages/psnap-din.5
"$PSNAP" help --man | cmp - pages/psnap.1

# options_of TEXT: the long options and letters at the beginnings of its lines
options_of()
{
    sed -nE 's/^ +(--?[-a-zA-Z0-9]+(, --?[-a-z0-9]+)?).*/\1/p' | grep -oE -- '(^|[ ,])--?[a-zA-Z][-a-z0-9]*' | tr -d ' ,' | sort -u
}
if command -v groff > /dev/null; then
    for page in pages/*; do
        # man's C locale has no ellipses and quotes of its own
        groff -ww -b -man -Tascii -P-cbou -rLL=200n "$page" > text 2> warnings || fail "groff: $page"
        [ ! -s warnings ] || fail "$page: $(cat warnings)"
        grep -q '^NAME' text || fail "$page has no NAME"
        case $page in
        *-predict-*.1 | *-repo-*.1) arguments=$(basename "$page" .1 | sed 's/psnap-//; s/-/ /') ;;
        pages/psnap.1 | pages/psnap-predict.1 | pages/psnap-repo.1 | *.5) continue ;;
        *) arguments=$(basename "$page" .1 | sed 's/psnap-//') ;;
        esac
        # shellcheck disable=SC2086
        "$PSNAP" $arguments --help | sed -n '/^options:/,$p' | options_of > in_help
        sed -n '/^OPTIONS/,/^EXIT/p' text | options_of > in_page
        diff in_help in_page || fail "$page does not have the options of --help"
    done
    groff -ww -man -Tascii -P-cbou pages/psnap-pst.5 > text
    has text '89 50 53 54 0d 0a 1a 0a  magic' # examples keep their lines
fi

if command -v mandoc > /dev/null; then # our pages have no date
    mandoc -Tlint -W warning pages/* | grep -v 'missing date' > warnings || true
    [ ! -s warnings ] || fail "mandoc: $(cat warnings)"
fi

expect 2 "$PSNAP" help --man nothing
has err "there is no page of 'nothing'"
expect 2 "$PSNAP" help --man predict nothing
expect 2 "$PSNAP" help --completion fish
expect 2 "$PSNAP" help --man --completion bash
expect 1 "$PSNAP" help --manuals nowhere
has err "cannot write 'nowhere/psnap.1': no such file"
expect 0 "$PSNAP" help predict cache
has out 'usage: psnap predict cache INPUT'
expect 2 "$PSNAP" help smi
has err "did you mean 'sim'"

# completes WORDS... -- WANTED...: what bash offers for the last of the words
. <("$PSNAP" help --completion bash)
completes()
{
    COMP_WORDS=()
    while [ "$1" != :: ]; do COMP_WORDS+=("$1") && shift; done
    shift
    COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
    COMPREPLY=()
    _psnap || true # compgen says when it finds nothing
    [ "$(printf '%s\n' "${COMPREPLY[@]}" | sort)" = "$(printf '%s\n' "$@" | sort)" ] ||
        fail "'${COMP_WORDS[*]}' is completed by '${COMPREPLY[*]}', not '$*'"
}
touch trace.din 'a b.pst'
mkdir traces
completes psnap mach :: machine machines
completes psnap --v :: --version
# shellcheck disable=SC2086
completes psnap '' :: $commands --help --version
completes psnap sim --sw :: --sweep
completes psnap sim -m i7 :: i7-5960x
completes psnap sim --machine = i7 :: i7-5960x
completes psnap sim --by lo :: loop
completes psnap sim --by total,lo :: total,loop
completes psnap sim --line '' ::
completes psnap sim tr :: trace.din traces
completes psnap sim 'a ' :: 'a b.pst'
completes psnap convert trace.din -f ramulator2 :: ramulator2-ls ramulator2-rw
completes psnap formats dinb :: dinbin
completes psnap machines gravi :: graviton3
completes psnap machine ho :: host
completes psnap predict ca :: cache
completes psnap predict cache --meth :: --method
completes psnap predict cache --method p :: per-set
completes psnap repo search tr :: traces
completes psnap repo add traces tr :: trace.din traces
completes psnap help predict mu :: multicore
completes psnap help conv :: convert
completes psnap record --engine v :: valgrind
completes psnap record -o x.yaml -- bas -c :: # of another program
completes psnap cc --psnap-s :: --psnap-stage=
completes psnap cc --psnap-stage = v :: vectorizer-start
COMP_WORDS=(psnap record -- bas) COMP_CWORD=3
_psnap || true
[[ " ${COMPREPLY[*]} " == *" bash "* ]] || fail "no programs after --: ${COMPREPLY[*]}"
exit 0
