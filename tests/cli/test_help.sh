#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Each command and each format has a page of the manual, which says what its help says; bash completes
# commands, parts, options, choices, formats, machines, scopes and files.
set -eu
. "$PSNAP_SOURCE/tests/cli/common.sh"

commands=$("$PSNAP" help | sed -n '/^commands:/,/^$/s/^  \([a-z+]*\) .*/\1/p')
formats=$("$PSNAP" formats | sed -n '2,$s/ .*//p')
models=$("$PSNAP" predict --help | sed -n '/^models:/,/^$/s/^  \([a-z]*\) .*/\1/p')
parts=$("$PSNAP" repo --help | sed -n '/^commands:/,/^$/s/^  \([a-z]*\) .*/\1/p')
[ "$(wc -w <<< "$commands")" -gt 20 ] && [ "$(wc -w <<< "$formats")" -gt 15 ]

# Every page is there, and no other, and says all that the help does
sh "$PSNAP_SOURCE/samples/packaging/manual.sh" "$PSNAP" pages "$PSNAP_SOURCE" 0.1.0
rm pages/made
gzip -d pages/*.gz
{
    echo psnap.1
    for command in $commands; do echo "psnap-$command.1"; done
    for model in $models; do echo "psnap-predict-$model.1"; done
    for part in $parts; do echo "psnap-repo-$part.1"; done
    for format in $formats; do echo "psnap-$format.5"; done
} | sort > wanted
cd pages
for page in *.1; do echo "$page"; done > ../is
for format in $formats; do echo psnap-"$format".5 && [ -s psnap-"$format".5 ]; done >> ../is
cd ..
diff wanted <(sort is) || fail "pages are not those of commands and formats"
if command -v groff > /dev/null; then
    for page in psnap-predict-cache.1 psnap-sim.1 psnap-din.5 psnap-profile.5; do
        groff -k -ww -b -man -Tutf8 -P-cbou -rLL=200n pages/$page > text 2> warnings || fail "groff: $page"
        [ ! -s warnings ] || fail "$page: $(cat warnings)"
        case $page in
        *-predict-cache.1) "$PSNAP" predict cache --help ;;
        *-sim.1) "$PSNAP" sim --help ;;
        *-din.5) "$PSNAP" formats din ;;
        esac | while read -r line; do grep -qF -- "$line" text || fail "$page lacks: $line"; done
    done
fi

expect 2 "$PSNAP" help --completion bash
expect 0 "$PSNAP" help predict cache
has out 'usage: psnap predict cache INPUT'
expect 2 "$PSNAP" help smi
has err "did you mean 'sim'"

# completes WORDS... -- WANTED...: what bash offers for the last of the words
. "$PSNAP_SOURCE/samples/packaging/completion.bash"
psnap() { "$PSNAP" "$@"; }
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
