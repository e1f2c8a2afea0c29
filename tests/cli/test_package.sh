#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# The Debian packages of the build under test, unpacked and, for root, installed by dpkg into a folder
# that has nothing else: they have the same version, what they need, no file twice; psnap runs
# from there, compiles and records with what lies beside it, and a program is linked with the library.
set -eu
. "$PSNAP_SOURCE/tests/cli/common.sh"
[ -e "$PSNAP_BUILD/lib/libpsnap.so" ] || exit 77 # sanitizer builds have none
for tool in cpack dpkg-deb dpkg-shlibdeps file pkg-config; do
    command -v "$tool" > /dev/null || exit 77
done

cpack --config "$PSNAP_BUILD/CPackConfig.cmake" -B "$dir/packages" -D CPACK_PACKAGE_DIRECTORY="$dir/packages" \
    > log 2>&1 || fail "cpack: $(cat log)"
version=$("$PSNAP" --version | sed 's/psnap //')
declare -A deb
for package in psnap libpsnap0 libpsnap-dev; do
    deb[$package]=$(echo packages/"$package"_*.deb)
    [ -e "${deb[$package]}" ] || fail "no package $package: $(ls packages)"
    [ "$(dpkg-deb -f "${deb[$package]}" Version)" = "$version-1" ] || fail "$package is of another version"
    dpkg-deb --fsys-tarfile "${deb[$package]}" | tar -t | grep -v '/$' | sort > "files.$package"
    grep -q "^./usr/share/doc/$package/copyright$" "files.$package" || fail "$package has no copyright"
    ! grep -qv '^./usr/' "files.$package" || fail "$package: $(grep -v '^./usr/' "files.$package")"
done
[ -z "$(sort files.* | uniq -d)" ] || fail "in two packages: $(sort files.* | uniq -d)"
dpkg-deb -f "${deb[psnap]}" Depends > depends
for library in libc6 libyaml libzstd libxxhash; do has depends "$library"; done
[ "$(dpkg-deb -f "${deb[libpsnap-dev]}" Depends)" = "libpsnap0 (= $version-1)" ]
dpkg-deb --ctrl-tarfile "${deb[libpsnap0]}" | tar -xO ./shlibs | grep -q '^libpsnap 0 libpsnap0' || fail "no shlibs"
dpkg-deb --ctrl-tarfile "${deb[libpsnap0]}" | tar -xO ./symbols > symbols
[ "$(head -n 1 symbols)" = "libpsnap.so.0 libpsnap0 #MINVER#" ] || fail "symbols: $(head -n 3 symbols)"
has symbols " psnap_pump@PSNAP_0 0.1.0"
nm -D --defined-only "$PSNAP_BUILD/lib/libpsnap.so" | sed -n 's/.* //; s/@@/@/p' | sort > exported
diff exported <(sed -n 's/^ \(psnap_[^ ]*\) .*/\1/p' symbols | sort) || fail "its symbols are not those of the library"
mkdir -p unpacked-library && dpkg-deb -x "${deb[libpsnap0]}" unpacked-library
dpkg-gensymbols -plibpsnap0 -v"$version-1" -Isymbols -Punpacked-library -c4 -Onew-symbols > log 2>&1 ||
    fail "dpkg-gensymbols: $(cat log)"
readelf -d "$PSNAP_BUILD/lib/libpsnap.so" | grep -qF 'SONAME' || fail "no SONAME"
readelf -d "$PSNAP_BUILD/lib/libpsnap.so" | grep -qF '[libpsnap.so.0]' || fail "another SONAME"

# use ROOT: what is there works
use()
{
    local root=$1 pc
    mkdir -p "$dir/work"
    [ "$("$root/usr/bin/psnap" --version)" = "psnap $version" ] || fail "it does not run"
    ls "$root"/usr/share/man/man1/psnap-sim.1* "$root"/usr/share/man/man5/psnap-din.5* > out
    bash -n "$root/usr/share/bash-completion/completions/psnap"
    if [ -e "$PSNAP_BUILD/lib/psnap/libpsnap_rt.a" ]; then
        expect 0 "$root/usr/bin/psnap" doctor --json
        grep -oE '"found": *"[^"]*psnap_pass-[0-9]*\.so"' out > pass
        has pass "$root/usr/lib"
        grep -oE '"found": *"[^"]*roi\.h"' out > header
        has header "$root/usr/include/psnap/roi.h"
        for link in psnap-cc psnap-c++ psnap-fc; do
            [ "$(readlink "$root/usr/bin/$link")" = psnap ] || fail "$link is no link to psnap"
        done
        "$root/usr/bin/psnap-cc" -O2 "$PSNAP_SOURCE/samples/cg.c" -o work/cg -lm
        "$root/usr/bin/psnap" record -o work/cg.yaml --force -- work/cg 50 > /dev/null
        "$root/usr/bin/psnap" sim work/cg.yaml -m i7-5960x --by total > out
        has out i7-5960x
    fi
    pc=$(dirname "$(find "$root" -name psnap.pc)")
    # shellcheck disable=SC2046
    "${PSNAP_CC:-cc}" "$PSNAP_SOURCE/samples/embed/simulate.c" -o work/simulate \
        $(PKG_CONFIG_PATH=$pc PKG_CONFIG_SYSROOT_DIR='' pkg-config --cflags --libs psnap)
    LD_LIBRARY_PATH=$(dirname "$pc") work/simulate > out
    [ -s out ] || fail "the library does nothing"
    readelf --dyn-syms -W work/simulate | grep -q '@PSNAP_0' || fail "it asks for no version of the library"
}

for package in psnap libpsnap0 libpsnap-dev; do dpkg-deb -x "${deb[$package]}" "$dir/unpacked"; done
use "$dir/unpacked"

# By dpkg, into a root that has nothing; what they depend on is this system's, and ldconfig not called
[ "$(id -u)" = 0 ] || exit 0
root=$dir/root
mkdir -p "$root/var/lib/dpkg/info" "$root/var/lib/dpkg/updates" "$root/var/lib/dpkg/triggers" bin
touch "$root/var/lib/dpkg/status"
ln -s /bin/true bin/ldconfig
in_root()
{
    PATH=$dir/bin:$PATH dpkg --root="$root" --force-depends --force-script-chrootless --log=/dev/null \
        "$@" > log 2>&1 || fail "dpkg $*: $(cat log)"
}
in_root -i packages/psnap_*.deb packages/libpsnap0_*.deb packages/libpsnap-dev_*.deb
use "$root"
in_root -r libpsnap-dev libpsnap0 psnap
[ -z "$(find "$root/usr" ! -type d 2> /dev/null)" ] || fail "left: $(find "$root/usr" ! -type d)"
exit 0
