#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# psnap doctor says what there is and what is missing: with tools taken away, with a compiler that
# does not fit, in a build without capture, under limits. Its status is that of capture alone, and it leaves
# nothing behind.
set -eu
. "$PSNAP_SOURCE/tests/cli/common.sh"

# state NAME: of a check of the last `psnap doctor --json`
state()
{
    python3 -c '
import json, sys
for check in json.load(open("out"))["checks"]:
    if check["name"] == sys.argv[1]:
        print(check["state"], "|", check["found"], "|", check["hint"])' "$1"
}
mkdir tmp
export TMPDIR=$dir/tmp

if [ ! -e "$PSNAP_BUILD/lib/psnap/libpsnap_rt.a" ]; then
    expect 1 "$PSNAP" doctor --json
    [[ "$(state clang)" == "missing | "*"built without LLVM"* ]] || fail "clang: $(state clang)"
    [[ "$(state capture)" == "wrong | "* ]] || fail "capture: $(state capture)"
    [[ "$(state NLopt)" == "ok | "* || "$(state NLopt)" == "missing | "*libnlopt-dev* ]]
    expect 1 "$PSNAP" doctor
    has out 'capture does not work'
    [ -z "$(ls tmp)" ] || fail "it leaves $(ls tmp)"
    exit 0
fi

expect 0 "$PSNAP" doctor --json
[ ! -s err ] || fail "it says $(cat err)"
python3 - << 'CHECK'
import json
report = json.load(open("out"))
assert report["psnap"] == 1 and report["command"] == "doctor" and report["captures"] is True
names = [check["name"] for check in report["checks"]]
assert len(names) == len(set(names)) >= 17, names
for check in report["checks"]:
    assert check["state"] in ("ok", "missing", "wrong", "limited"), check
    assert check["needed_for"], check
    assert (check["state"] == "ok") <= (check["hint"] == ""), check
    assert check["state"] == "ok" or check["hint"] or check["found"], check
CHECK
[[ "$(state clang)" == "ok | "*"clang version"* ]] || fail "clang: $(state clang)"
[[ "$(state capture)" == "ok | "*"1000 stores was recorded with 1000 accesses"* ]] || fail "$(state capture)"
expect 0 "$PSNAP" doctor
has out 'capture works'
[ -z "$(ls tmp)" ] || fail "it leaves $(ls tmp)"

# what the environment asks of psnap is not asked of the trial
PSNAP_ROI=main2 PSNAP_OUT=$dir/other.yaml expect 0 "$PSNAP" doctor
[ ! -e other.yaml ]

# tools that are not there, and one that does not work; the linker of clang is
mkdir bin
ln -s "$(command -v ld)" bin/ld
printf '#!/bin/sh\nexit 3\n' > bin/gnuplot
chmod +x bin/gnuplot
PATH=$dir/bin expect 0 "$PSNAP" doctor --json
[[ "$(state valgrind)" == "missing |  | install valgrind" ]] || fail "valgrind: $(state valgrind)"
[[ "$(state mpirun)" == "missing |  | install openmpi-bin" ]] || fail "mpirun: $(state mpirun)"
[[ "$(state gnuplot)" == "wrong | $dir/bin/gnuplot | install gnuplot-nox" ]] || fail "$(state gnuplot)"
rm bin/ld
PATH=$dir/bin expect 1 "$PSNAP" doctor --json
[[ "$(state capture)" == "wrong | psnap cc: "* ]] || fail "capture without ld: $(state capture)"

# a compiler that is none, one of an LLVM without a pass, one that is not there
printf '#!/bin/sh\necho hello\n' > bin/none
printf '#!/bin/sh\necho "clang version 3.4"\n' > bin/old
chmod +x bin/none bin/old
PSNAP_CLANG=$dir/bin/none expect 1 "$PSNAP" doctor --json
[[ "$(state clang)" == "wrong | '$dir/bin/none' is no clang or flang"* ]] || fail "$(state clang)"
PSNAP_CLANG=$dir/bin/old expect 1 "$PSNAP" doctor --json
[[ "$(state clang)" == "wrong | '$dir/bin/old' is of LLVM 3, for which there is no capture pass"* ]] ||
    fail "$(state clang)"
[[ "$(state "capture pass")" == "missing | "* ]] || fail "$(state "capture pass")"
PSNAP_CLANG=$dir/bin/nowhere expect 1 "$PSNAP" doctor --json
[[ "$(state clang)" == "wrong | cannot run '$dir/bin/nowhere'"* ]] || fail "$(state clang)"

# no room
TMPDIR=$dir/nowhere expect 1 "$PSNAP" doctor --json
[[ "$(state "temporary files")" == "missing | $dir/nowhere: No such file"* ]] || fail "$(state "temporary files")"
if [ -e "$PSNAP_BUILD/lib/libpsnap.so" ]; then # sanitizers want address space without end
    (ulimit -v 4000000 && status "$PSNAP" doctor --json > got)
    [[ "$(state "shared memory")" == "limited | room for "* ]] || fail "$(state "shared memory")"
fi
expect 2 "$PSNAP" doctor now
has err "'now': no arguments are expected"
exit 0
