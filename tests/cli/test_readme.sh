#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# All documents of the tree tell the truth: the ```sh blocks of every *.md run, one document after
# the other, README.md first, from the root of a copy of the tree. A line before a block may say
#
#   <!-- exit 1 -->               it ends with status 1
#   <!-- test: cli.test_NAME -->  it runs in that test instead, which is there
#   <!-- not run: REASON -->      it cannot be run here
#
# and nothing else keeps one from being run. Commands are in no other blocks; those within lines of text are
# commands of psnap that there are, with options that they have, and scripts of the tree.
# What the tutorial shows of a profile, of the comparison with an edited one and of an error is
# what comes out; links lead somewhere; the README names all commands and formats, and the folders of
# profile and predict.
#
# To be quick, the build under test stands for build/release, nothing is built or
# installed from packages, cg is smaller, and tests/run.sh is left out. With
# PSNAP_README_FULL=1 everything is run as it stands there, which takes minutes.
set -eu
[ -e "$PSNAP_BUILD/lib/psnap/libpsnap_rt.a" ] || exit 77
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

tree=$work/tree
mkdir "$tree" "$work/home" "$work/bin"
tar -C "$PSNAP_SOURCE" --exclude=./build --exclude=./.git -cf - . | tar -C "$tree" -xf -
cd "$tree"

substitute=cat
if [ -z "${PSNAP_README_FULL-}" ]; then
    substitute=quicker
    mkdir build
    ln -s "$PSNAP_BUILD" build/release
    echo 'psnap_need() { :; }' >> tests/packages.sh
    cat > "$work/bin/cmake" << EOF
#!/bin/sh
case \$1 in
--preset | --build | -S) exit 0 ;;
*) exec "$(command -v cmake)" "\$@" ;;
esac
EOF
    chmod +x "$work/bin/cmake"
fi
unset PSNAP_README_FULL

host=host # where the system describes its caches; not all containers do
"$PSNAP" machines host > /dev/null 2>&1 || host=i7-5960x

quicker()
{
    sed -e "s,-m host,-m $host," -e '/^\.\/tests\/run\.sh/d' -e 's,samples/quickstart\.sh$,& 200,' -e 's,\./cg 2000,./cg 200,' \
        -e 's,/cg 7000,/cg 100,' -e 's,/jacobi 1000 10,/jacobi 100 2,' -e 's,/lu 150,/lu 40,' \
        -e 's,machine host,& --budget 200ms,' \
        -e 's,psnap multimaps,& --budget 1s --sizes 12 --largest 1M --strided,' \
        -e 's,psnap fit,& --folds 0 --population 600 --as-published,'
}

documents="README.md $(find . -name build -prune -o -name '*.md' ! -path ./README.md -print | sed 's,^\./,,' | LC_ALL=C sort)"
tutorial=samples/TUTORIAL.md

# The blocks as one script; each says where it is when it fails.
script()
{
    echo 'set -Eu'
    awk '
        FNR == 1 { fails = left_out = 0 }
        /^<!-- exit 1 -->$/ { fails = 1; next }
        /^<!-- (test|not run): .* -->$/ { left_out = 1; next }
        /^```sh$/ && left_out { left_out = 0; next }
        /^```sh$/ {
            inside = 1
            print "place=" FILENAME ":" FNR
            if (fails) print "trap - ERR"; else print "trap complain ERR"
            next
        }
        inside && /^```$/ {
            if (fails) print "[ $? = 1 ] || complain"
            inside = fails = 0
            next
        }
        inside
    ' $documents
}

# The session that psnap(1) shows runs, too
session()
{
    echo 'cp samples/cg.c samples/sample.h "$(mktemp -d)" && cd "$_" && place="psnap(1)"'
    sed -n 's/^    psnap /psnap /p' "$PSNAP_SOURCE/samples/packaging/manual.sh" | sed 's,\./cg$,& 200,'
}
[ "$(session | grep -c '^psnap ')" -ge 3 ] || { echo "psnap(1) shows no session"; exit 1; }

{
    echo "complain() { echo \"block at \$place: failed: \$BASH_COMMAND\" >&2; exit 1; }"
    script | $substitute
    session
} > "$work/script"
[ "$(grep -c '^place=' "$work/script")" -ge 8 ] || { echo "few blocks found"; exit 1; }
HOME=$work/home PATH=$work/bin:$PATH bash "$work/script" > "$work/log" 2>&1 || {
    tail -n 40 "$work/log"
    exit 1
}

failures=0
complain()
{
    echo "documents: $*"
    failures=$((failures + 1))
}

# Where the linker puts an array is not for us to say.
same_places()
{
    sed 's/offset: [0-9]*/offset: N/'
}
awk -v to="$work/shown." '
    /^```yaml$/ { n++; shown = to n; next }
    /^```$/ { shown = "" }
    shown { print > shown }
' "$tutorial"
[ -e "$work/shown.2" ] || complain "it shows no profile"
for shown in "$work"/shown.*; do
    same_places < "$shown" > "$work/places"
    lines=$(wc -l < "$work/places")
    [ "$lines" -ge 10 ] || complain "it shows little of the profile"
    start=$(grep -nFx -m 1 -e "$(head -n 1 "$work/places")" build/tutorial/m8.yaml | cut -d: -f1)
    tail -n "+${start:-1}" build/tutorial/m8.yaml | head -n "$lines" | same_places > "$work/written"
    diff "$work/places" "$work/written" || complain "the profile of the tutorial differs"
done

# Nor on which lines the contradiction is.
same_lines()
{
    sed 's/:[0-9]*:[0-9]*:/:N:N:/; s/line [0-9]*/line N/'
}
for line in '^psnap record: .* accesses, profile in m8.yaml' '^wrong.yaml:'; do
    shown=$(grep -m 1 "$line" "$tutorial" | same_lines)
    same_lines < "$work/log" | grep -qFx -e "${shown:-nothing}" ||
        complain "'$shown' is not what comes out: $(grep -m 1 "$line" "$work/log")"
done

# What the edit does to the hit rates: on the kept profile, for these depend on where arrays lie.
mkdir "$work/edit"
cp tests/golden/tutorial_nests.psnap.yaml "$work/edit/m8.yaml"
awk -v to="$work/edit" '
    /^```sh$/ { inside = 1; block = ""; next }
    /^```text$/ { shown = block ~ /-o edited\.yaml/; next }
    /^```$/ { if (shown) exit; inside = 0; next }
    inside { block = block $0 "\n" }
    shown { print > (to "/shown") }
    END { printf "%s", block > (to "/block") }
' "$tutorial"
(cd "$work/edit" && PATH=$(dirname "$PSNAP"):$PATH bash block > written) &&
    diff "$work/edit/shown" "$work/edit/written" || complain "the comparison of the tutorial differs"

# Blocks that are left out, and commands in other blocks or in lines of text
for named in $(sed -n 's/^<!-- test: cli\.\(test_[a-z_]*\) -->$/\1/p' $documents); do
    [ -e "tests/cli/$named.sh" ] || complain "there is no test $named"
done
python3 tests/documents.py "$PSNAP" $documents || complain "commands that cannot be so"

grep -nE '@[A-Z]+@' $documents > "$work/left" && complain "to be filled in: $(cat "$work/left")"
for document in $documents; do
    grep -o '\]([^):#]*)' "$document" | tr -d ']()' | while read -r link; do
        [ -e "$(dirname "$document")/$link" ] || echo "$document: $link"
    done
done > "$work/broken"
[ ! -s "$work/broken" ] || complain "links to what is not there:" $(cat "$work/broken")

"$PSNAP" help | sed -n '/^commands:/,/^$/s/^  \([a-z+]*\) .*/\1/p' | while read -r command; do
    grep -qF "\`psnap $command\`" README.md || echo "psnap $command"
done > "$work/missing"
"$PSNAP" formats | sed -n '2,$s/ .*//p' | while read -r format; do
    grep -qF "\`$format\`" README.md || echo "$format"
done >> "$work/missing"
for folder in profile/*/ predict/*/; do
    grep "^| \`${folder%%/*}/\` |" README.md | grep -qF "\`$(basename "$folder")/\`" || echo "$folder"
done >> "$work/missing"
[ ! -s "$work/missing" ] || complain "the README lacks:" $(cat "$work/missing")

[ "$failures" -eq 0 ]
