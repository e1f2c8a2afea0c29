#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# The Debian packages of the build under test, on a computer that has nothing (clean_common.sh): apt-get
# finds what they depend on; psnap says what is missing, and after its recommendations are
# installed compiles, records and simulates a sample; programs are linked with the library by pkg-config and CMake; man and
# bash find pages and completion; removing them leaves nothing of theirs.
set -eu
. "$PSNAP_SOURCE/tests/cli/common.sh"
. "$PSNAP_SOURCE/tests/cli/clean_common.sh"
[ -e "$PSNAP_BUILD/lib/psnap/libpsnap_rt.a" ] && [ -e "$PSNAP_BUILD/lib/libpsnap.so" ] || exit 77
for tool in cpack dpkg-shlibdeps file; do command -v "$tool" > /dev/null || exit 77; done
clean_root

cpack --config "$PSNAP_BUILD/CPackConfig.cmake" -B "$dir/packages" -D CPACK_PACKAGE_DIRECTORY="$dir/packages" \
    > log 2>&1 || fail "cpack: $(cat log)"
mkdir "$root/work/packages" "$root/work/embed"
cp packages/*.deb "$root/work/packages/"
cp "$PSNAP_SOURCE"/samples/{cg.c,sample.h} "$PSNAP_SOURCE"/samples/embed/simulate.c "$root/work/"

cat > script << 'SCRIPT'
fail() { echo "in the clean root: $*" >&2; exit 1; }
quietly() { "$@" > log 2>&1 || fail "$*: $(tail -n 20 log)"; }
has() { grep -qF -- "$2" "$1" || fail "no '$2' in $1: $(cat "$1")"; }
# What is installed, but for what apt, dpkg and ldconfig keep of their own
files() { find / -xdev \( -path /work -o -path /var/lib/dpkg -o -path /var/lib/apt -o -path /var/cache -o -path /var/log \
    -o -path /tmp \) -prune -o ! -type d -print | grep -vx '/etc/ld.so.cache' | sort; }

# minbase has documents left out of nothing, but a root may be set up so
rm -f /etc/dpkg/dpkg.cfg.d/docker* /etc/dpkg/dpkg.cfg.d/excludes
quietly apt-get update
quietly apt-get install -y --no-install-recommends gcc libc6-dev make cmake pkg-config man-db bash-completion
files > before
quietly apt-get install -y --no-install-recommends ./packages/*.deb
psnap --version
if psnap doctor > doctor; then fail "nothing is missing, without a compiler"; fi
has doctor "install clang-19"
! ldd /usr/bin/psnap | grep 'not found' || fail "libraries are missing"
ldconfig -p > out
grep -q libpsnap.so.0 out || fail "the loader does not know the library"

# The recommendations, by name, for they recommend a hundred others themselves
recommended=$(dpkg-query -W -f '${Recommends}' psnap | sed 's/ *|[^,]*//g; s/,//g')
case " $recommended " in *" clang-19 "*) ;; *) fail "no compiler is recommended: $recommended" ;; esac
# shellcheck disable=SC2086
quietly apt-get install -y --no-install-recommends $recommended
psnap doctor > doctor || fail "psnap doctor: $(cat doctor)"
psnap-cc -O2 cg.c -o cg -lm
psnap record -o cg.yaml --trace cg.pst -- ./cg 50 > log 2>&1 || fail "$(cat log)"
psnap sim cg.yaml -m i7-5960x --by total > out
has out i7-5960x
psnap compare cg.pst cg.yaml -m i7-5960x --max-error 5 > out || fail "$(cat out)"
gcc -O1 -g cg.c -o plain -lm
psnap record --engine valgrind -o plain.yaml -- ./plain 20 > log 2>&1 || fail "$(cat log)"
has plain.yaml multiply
psnap locality cg.yaml --surface figure.svg > log 2>&1 || fail "$(cat log)"
has figure.svg '<svg'

# The library, both ways; simulate.c is that of the README
# shellcheck disable=SC2046
gcc simulate.c -o by-pkg-config $(pkg-config --cflags --libs psnap)
./by-pkg-config > by-pkg-config.out
mkdir use
cat > use/CMakeLists.txt << 'CMAKE'
cmake_minimum_required(VERSION 3.22)
project(use C)
find_package(psnap 0.1 REQUIRED)
add_executable(use ../simulate.c)
target_link_libraries(use PRIVATE psnap::psnap)
CMAKE
quietly cmake -S use -B use/build
quietly cmake --build use/build
./use/build/use | cmp - by-pkg-config.out || fail "linked by CMake it does something else"

for page in psnap psnap-sim psnap-repo-add '5 psnap-din' '5 psnap-profile' '7 psnap-models'; do
    # shellcheck disable=SC2086
    man -P cat $page > page 2> errors || fail "man $page: $(cat errors)"
    [ "$(wc -l < page)" -gt 10 ] && [ ! -s errors ] || fail "man $page: $(cat page errors)"
done
quietly mandb -q
apropos -s 1 'cache' > out || fail "apropos finds nothing"
has out psnap-sim
cat > complete << 'COMPLETE'
. /usr/share/bash-completion/bash_completion
_completion_loader psnap # as Tab does
complete -p psnap
COMP_WORDS=(psnap sim -m i7) COMP_CWORD=3 COMP_LINE='psnap sim -m i7' COMP_POINT=15
_psnap
echo "${COMPREPLY[*]}"
COMPLETE
bash complete > out 2>&1
[ "$(tail -n 1 out)" = i7-5960x ] || fail "completion: $(cat out)"

# Nothing is left: of what came with them, others may need some
# shellcheck disable=SC2046
quietly apt-get purge -y psnap libpsnap0 libpsnap-dev $(echo "$recommended")
quietly apt-get autoremove --purge -y
[ ! -e /usr/bin/psnap ] || fail "psnap is still there"
files > after
find / -xdev -path /work -prune -o -iname '*psnap*' -print | grep -v '^/proc/' | grep -v /var/cache/ > left || true
[ ! -s left ] || fail "left: $(cat left)"
comm -13 before after | grep -v -e __pycache__ -e /var/lib/ > left || true
[ ! -s left ] || fail "left, of whomever: $(cat left)"
SCRIPT
inside script || fail "see above"
exit 0
