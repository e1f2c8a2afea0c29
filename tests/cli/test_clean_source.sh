#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# The sources on a computer that has nothing (clean_common.sh): the quick start installs what it
# needs, builds and ends well; then, with what tests/packages.sh lists for the tests and nothing else, the debug
# build and its tests of units, of the tree and of what is installed. Some minutes;
# PSNAP_CLEAN_ALL=1 has it run the whole of tests/run.sh instead.
set -eu
. "$PSNAP_SOURCE/tests/cli/common.sh"
. "$PSNAP_SOURCE/tests/cli/clean_common.sh"
[ -e "$PSNAP_BUILD/lib/psnap/libpsnap_rt.a" ] || exit 77
clean_root

tar -C "$PSNAP_SOURCE" --exclude=./build --exclude=./.git -cf - . | (mkdir "$root/work/psnap" && tar -C "$root/work/psnap" -xf -)
echo "all=${PSNAP_CLEAN_ALL-}" > script
cat >> script << 'SCRIPT'
cd psnap
quietly() { "$@" > log 2>&1 || { tail -n 60 log; echo "in the clean root: $*" >&2; exit 1; }; }
quietly ./samples/quickstart.sh 200
[ -s build/quickstart/cg.psnap.yaml ]
grep -q multiply log
if [ -n "$all" ]; then
    ./tests/run.sh
    exit
fi
. tests/packages.sh
quietly psnap_need $PSNAP_TEST_PACKAGES
quietly cmake --preset debug
quietly cmake --build --preset debug
quietly ctest --preset debug -j "$(nproc)" \
    -R '^unit|^rules|^cli.test_(base_|doctor|embed|help|package|readme|record_(full|namespaces|same)|sim|site)'
grep 'tests passed' log
SCRIPT
inside script || fail "see above"
exit 0
