#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# The first five minutes: installs what is missing (Debian's packages, with
# apt-get), builds the release preset, and does psnap's main job on a sample:
# compile it with capture, record it, look at the profile, and compare the caches
# of what was observed with those of the synthetic stream from the profile.
#
#   samples/quickstart.sh [ROWS]    rows of the sample's matrix; 2000
#
# Results go to build/quickstart/. May be run again: then it installs nothing,
# builds what changed, and takes some seconds.
set -eu
cd "$(dirname "$0")/.."
. tests/packages.sh

rows=${1:-2000}
case $rows in
*[!0-9]* | ????????*)
    echo "usage: samples/quickstart.sh [ROWS]" >&2
    exit 2
    ;;
esac

step()
{
    printf '\n== %s\n' "$*"
}

fail()
{
    printf '\nquickstart: %s\n' "$*" >&2
    exit 1
}

# Shows a command before it is run.
run()
{
    printf '\n$ %s\n' "$*"
    "$@"
}

# Configuring has little to say when it works; $1 is what failed when it does not.
quietly()
{
    local log=build/quickstart/log what=$1
    shift
    "$@" > "$log" 2>&1 || {
        cat "$log" >&2
        fail "$what"
    }
}

step "packages"
psnap_need $PSNAP_BUILD_PACKAGES ||
    fail "packages are missing and could not be installed (no network, no rights?); needed are:
$(echo $PSNAP_BUILD_PACKAGES | fold -sw 78)"
for tool in cmake ninja pkg-config clang-19 clang++-19 llvm-config-19; do
    command -v $tool > /dev/null || fail "there is no '$tool'; psnap is built with LLVM 19"
done
echo "all there"

step "build (build/release)"
mkdir -p build/quickstart
quietly "the release preset cannot be configured; after a move, remove build/release" cmake --preset release
cmake --build --preset release || fail "the release preset does not build"
[ -e build/release/lib/psnap/libpsnap_rt.a ] ||
    fail "built without capture: remove build/release and try again"

PATH=$PWD/build/release:$PATH
cd build/quickstart

step "compile a sample with capture, run it, keep its profile and its trace"
run psnap cc -O2 ../../samples/cg.c -o cg -lm
run psnap record --verbose --force -o cg.psnap.yaml --trace cg.pst -- ./cg "$rows"

step "the profile: its hottest loops"
run psnap show cg.psnap.yaml --top 6

step "caches: the observed stream, and the synthetic one of the profile"
run psnap compare cg.pst cg.psnap.yaml -m i7-5960x

cat << 'EOF'

obs.: cumulative hit rate of the accesses that the program made; syn.: of those that
the profile stands for; points: how far they are apart, in percent.

The profile is build/quickstart/cg.psnap.yaml; read it. README.md goes on from here, and samples/TUTORIAL.md.
EOF
