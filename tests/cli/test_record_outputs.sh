#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Where recordings go: default names, existing files, folders that cannot be written, full
# disks. The program runs as ever; only what is a slip of the command line is known before it
# starts, and refused.
set -eu
. "$PSNAP_SOURCE/tests/cli/capture_common.sh"

cat > prog.c << 'END'
#include <stdio.h>
#include <stdlib.h>
static volatile double cells[4096];
int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : 1;
    puts("start");
    for (int k = 0; k < n; k++)
        for (int i = 0; i < 4096; i++)
            cells[i * 37 % 4096] += cells[i];
    puts("end");
    return argc > 2 ? atoi(argv[2]) : 0;
}
END
mkdir tools
"$PSNAP" cc -O1 -o tools/prog prog.c
printf 'start\nend\n' > output

# refused STATUS MESSAGE ARGUMENTS...: before the program starts, and leaves nothing
refused() {
    local result wanted=$1 message=$2
    shift 2
    ls -A > before
    result=$(status "$PSNAP" record "$@" -- tools/prog)
    [ "$result" = "$wanted" ] || fail "$*: exit status $result: $(cat err)"
    [ ! -s out ] || fail "$*: the program ran"
    has err "$message"
    [ "$(wc -l < err)" -le 2 ] || fail "$*: $(cat err)"
    ls -A | cmp -s before - || fail "$*: left something: $(ls -A)"
}
touch before out err

# default names, in the folder where one is
for expected in prog.psnap.yaml prog.psnap.2.yaml prog.psnap.3.yaml; do
    [ ! -e $expected ] || fail "$expected is there"
    "$PSNAP" record -- tools/prog > out 2> err
    cmp out output && [ ! -s err ] || fail "$expected: $(cat out err)"
    "$PSNAP" check $expected > /dev/null || fail "$expected: no profile"
done
rm prog.psnap.2.yaml
"$PSNAP" record -v -- tools/prog 2> err > out
has err "profile in prog.psnap.2.yaml"
[ -e prog.psnap.2.yaml ] && [ ! -e prog.psnap.4.yaml ] || fail "the gap stays"

# files that appear while the program runs, as the profiles of other ranks do, cost no recording
"$PSNAP" record -v -o late.yaml --trace late.pst -- \
    sh -c 'tools/prog; echo mine | tee late.yaml late.pst > tee.out' > out 2> err || fail "late: $(cat err)"
[ "$(cat late.yaml late.pst)" = "$(printf 'mine\nmine')" ] || fail "late: overwritten"
late=$(ls late.yaml.[0-9]*)
late=${late#late.yaml}
has err "'late.yaml' exists already, writing 'late.yaml$late'"
has err "'late.pst' exists already, writing 'late.pst$late'"
has err "profile in late.yaml$late, trace in late.pst$late"
"$PSNAP" check late.yaml.[0-9]* > /dev/null || fail "late: no profile"
"$PSNAP" info late.pst.[0-9]* > /dev/null || fail "late: no trace"
rm late.* tee.out

# existing files
echo precious > kept
refused 125 "'kept' exists already" -o kept
refused 125 "'kept' exists already" -o new.yaml --trace kept
[ "$(cat kept)" = precious ] || fail "overwritten"
refused 125 "profile and trace cannot both be 'one'" -o one --trace one
refused 125 "--trace T.pst: the value is missing" --trace
"$PSNAP" record --force -o kept --trace kept.pst -- tools/prog > out
"$PSNAP" check kept > /dev/null && "$PSNAP" info kept.pst > /dev/null || fail "--force"
ln -s kept link
"$PSNAP" record --force -o link -- tools/prog > out
[ -L link ] && "$PSNAP" check kept > /dev/null || fail "a link is replaced"

# what cannot be
refused 125 "--no-profile without --trace" --no-profile
refused 125 "no model 'other'" --model other
refused 125 "cannot create 'none/p.yaml': no such file or directory" -o none/p.yaml
refused 125 "cannot open 'kept/p.yaml': not a directory" -o kept/p.yaml
refused 125 "cannot create 'none/t.pst.part': no such file or directory" --no-profile --trace none/t.pst
refused 125 "no such file or directory" -o none/p.yaml --trace none/t.pst
if [ "$(id -u)" != 0 ]; then
    mkdir closed && chmod a-w closed
    refused 125 "cannot create 'closed/p.yaml': permission denied" -o closed/p.yaml
fi

# what of two cannot be written: that is said, the program runs, and the other is written
"$PSNAP" record --force -o kept -- tools/prog 1 7 > out || true
accesses=$("$PSNAP" info --json kept | sed -n 's/.*"accesses": *\([0-9]*\).*/\1/p')
unwritten() { # KIND MESSAGE ARGUMENTS...
    local kind=$1 message=$2
    shift 2
    touch after # it is in neither list or in both
    ls -A > before
    [ "$(status "$PSNAP" record "$@" -- tools/prog 1 7)" = 125 ] || fail "$*: exit status: $(cat err)"
    cmp out output || fail "$*: $(cat out)"
    [ "$(sed -n 1p err)" = "psnap record: $message" ] && [ "$(wc -l < err)" = 2 ] &&
        [ "$(sed -n 2p err | tr -d ,)" = "psnap record: $accesses accesses were counted and are in no $kind" ] ||
        fail "$*: $(cat err)"
    ls -A | diff before - > after || true
}
unwritten trace "cannot create 'none/t.pst.part': no such file or directory" -o q.yaml --trace none/t.pst
[ "$(grep '^>' after)" = '> q.yaml' ] && "$PSNAP" check q.yaml > checked || fail "no profile: $(cat after)"
unwritten profile "cannot create 'none/q.yaml': no such file or directory" -o none/q.yaml --trace q.pst
[ "$(grep '^>' after)" = '> q.pst' ] && "$PSNAP" info q.pst > checked || fail "no trace: $(cat after)"
rm -f q.yaml q.pst before after checked

# both files, one file, and the same stream in both
"$PSNAP" record -o p.yaml --trace t.pst -- tools/prog 3 > out
"$PSNAP" record --no-profile --trace only.pst -- tools/prog 3 > out
[ "$(echo prog.psnap.*)" = "prog.psnap.2.yaml prog.psnap.3.yaml prog.psnap.yaml" ] ||
    fail "--no-profile: $(ls)"
for trace in t.pst only.pst; do
    "$PSNAP" convert $trace -f xdin -o - 2> /dev/null > $trace.xdin
done
cmp t.pst.xdin only.pst.xdin

# a trace is what its name says
for format in din xdin lackey csv; do
    "$PSNAP" record -v -o p.$format.yaml --trace t.$format -- tools/prog 3 > out 2> err
    "$PSNAP" convert t.pst -f $format -o - 2> /dev/null | cmp - t.$format
    diff <(grep -v recorded: p.yaml) <(grep -v recorded: p.$format.yaml)
done
has err "trace in t.csv"
"$PSNAP" record -v --no-profile --trace lost.din -- tools/prog 2> err > out
has err "din does not keep: "
cat > three.c << 'END'
static volatile double cells[4096];
int main(void)
{
    for (int i = 0; i < 1000; i++) /* the last is no whole repetition of three */
        cells[i / 3 * 8 + i % 3 * 3 % 7] = i;
    return 0;
}
END
"$PSNAP" cc -O1 -o tools/three three.c
"$PSNAP" record -v --no-profile --trace t.spatter -- tools/three 2> err > out
has err "; the trace leaves out 1 of the accesses"
grep -q '"name": "main:[0-9]* cells: 1 runs, 999 accesses"' t.spatter || fail "$(cat t.spatter)"
"$PSNAP" record --no-profile --trace t.other -- tools/prog > out 2> err
has err "'t.other' names no format by its end, and is written as pst"
"$PSNAP" info t.other > out
has out pst
refused 125 "'t2.yaml' is to be a trace, but has a profile's name" --trace t2.yaml
refused 125 "'t2.yml' is to be a trace, but has a profile's name" -o ok.yaml --trace t2.yml
refused 125 "'t2.din.gz': a trace is not compressed while it is recorded" -o ok.yaml --trace t2.din.gz
refused 125 "'p2.pst' is to be a profile, but has a trace's name" -o p2.pst

# standard output is the profile's, or the trace's, alone
"$PSNAP" record -o - -- tools/prog 3 > out 2> err || fail "to stdout: $(cat err)"
diff <(grep -v recorded: p.yaml) <(grep -v recorded: out) || fail "to stdout: not the profile"
cmp err output
"$PSNAP" record --no-profile --trace - -- tools/prog 3 2> err | "$PSNAP" info - > info
{ printf before && "$PSNAP" record --no-profile --trace - -- tools/prog 3 2> err; } > appended
[ "$(head -c 6 appended)" = before ] || fail "a trace on standard output begins where that is"
tail -c +7 appended | "$PSNAP" info - | grep -v recorded | cmp - <(grep -v recorded info) ||
    fail "a trace behind something else"
has info pst
cmp err output
"$PSNAP" record -o other.yaml --trace /dev/stdout -- tools/prog 3 2> err | "$PSNAP" info - > info
has info pst
cmp err output
cp tools/prog here-not-in-path
refused 127 "did you mean './here-not-in-path'?" -- here-not-in-path
refused 125 "profile and trace cannot both go to standard output" -o - --trace -
"$PSNAP" record -o /dev/null --trace /dev/null -- tools/prog > out
cmp out output

# no room: the program ends as it should, its output is whole, then psnap says what failed
if [ -w /dev/full ]; then
    for arguments in "-o /dev/full" "-o x.yaml --trace /dev/full" \
        "--no-profile --trace /dev/full" "-o /dev/full --trace x.pst"; do
        [ "$(status "$PSNAP" record $arguments -- tools/prog 500 7)" = 125 ] ||
            fail "$arguments: exit status"
        cmp out output || fail "$arguments: $(cat out)"
        has err "no space left on device"
        has err "/dev/full"
        [ "$(wc -l < err)" = 1 ] || fail "$arguments: $(cat err)"
        case $arguments in
        *x.pst*) # and so is a trace without its profile
            "$PSNAP" info x.pst > checked 2>&1 || fail "$arguments: $(cat checked)"
            rm x.pst
            ;;
        *x.yaml*) # a profile without its trace is worth keeping
            "$PSNAP" check x.yaml > checked || fail "$arguments: $(cat checked)"
            rm x.yaml
            ;;
        esac
        [ ! -e x.yaml ] && [ ! -e x.pst ] || fail "$arguments: half a recording"
    done
fi
# a reader that goes away before the profile comes
result=$( (status=0; "$PSNAP" record -o - -- sh -c 'tools/prog 1 7 > /dev/null; sleep 0.5; exit 7' \
    2> err || status=$?; echo $status >&3) 3>&1 > >(exec true) )
[ "$result" = 125 ] || fail "closed pipe: exit status $result"
has err "psnap record: -: cannot write: broken pipe"
[ -z "$(find . -name '.*psnap*')" ] || fail "temporary files: $(ls -A)"
