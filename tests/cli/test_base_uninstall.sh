#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# What `cmake --install` puts anywhere has the manual, the completion and the documents in it, works after it
# was moved, and goes again as a whole; what others have put among it stays. The
# citation, the changelog and the recipe for Spack are of this version.
set -eu
. "$PSNAP_SOURCE/tests/cli/common.sh"
cmake --install "$PSNAP_BUILD" --prefix "$dir/first" > log || fail "$(cat log)"
find first -name 'psnap-sim.1*' | grep -q . || fail "no manual"
find first -name 'psnap-pst.5*' | grep -q . || fail "no manual of formats"
find first -name 'psnap-profile.5*' | grep -q . || fail "no manual of profiles"
find first -name 'psnap-limits.7*' | grep -q . || fail "no manual of limits"
find first -name 'psnap-models.7*' | grep -q . || fail "no manual of models"
if command -v groff > /dev/null; then # without a warning, and without what awk has not understood
    for page in $(find first -path '*/man[57]/*'); do
        gzip -dcf "$page" | groff -k -ww -b -man -Tutf8 -P-c > text 2> warnings || fail "groff: $page"
        [ ! -s warnings ] || fail "$page: $(cat warnings)"
        ! grep -nE '`|\*\*|\]\(|[|]---' text || fail "$page has Markdown in it"
    done
fi
if command -v mandoc > /dev/null; then
    for page in $(find first -path '*/man[157]/*'); do
        gzip -dcf "$page" | mandoc -Tlint -W warning | grep -v 'missing date' | sed "s,^,$page: ,"
    done > warnings || true
    [ ! -s warnings ] || fail "mandoc: $(cat warnings)"
fi
[ -s first/share/bash-completion/completions/psnap ] || fail "no completion"
[ -s "$(find first -name MODELS.md)" ] || fail "no documents"

mv first prefix # the program finds what lies beside it
if [ -e "$PSNAP_BUILD/lib/psnap/libpsnap_rt.a" ]; then
    expect 0 prefix/bin/psnap doctor --json
    grep -qE "prefix/lib[^\"]*/psnap_pass-[0-9]+\.so" out || fail "passes from elsewhere: $(cat out)"
fi

# Two prefixes, of which one was there with an empty folder that is not psnap's, and one that DESTDIR puts elsewhere
uninstall() {
    cmake -DFOLDER="$dir/lists" -P "$PSNAP_SOURCE/samples/packaging/uninstall.cmake" > out 2>&1
}
mkdir -p second/lib/mine second/share/man
cmake --install "$PSNAP_BUILD" --prefix "$dir/second" > log || fail "$(cat log)"
DESTDIR=$dir/root cmake --install "$PSNAP_BUILD" --prefix "$dir/deep/third" > log || fail "$(cat log)"
mkdir lists # of these, and not of other installs of this build
for prefix in "$dir/second" "$dir/root$dir/deep/third"; do
    list=$PSNAP_BUILD/installed/$(printf %s "$prefix" | sha1sum | cut -d ' ' -f 1).txt
    [ "$(head -n 1 "$list")" = "prefix $prefix" ] || fail "no list of $prefix"
    mv "$list" lists
done
rm "$PSNAP_BUILD/installed/$(printf %s "$dir/first" | sha1sum | cut -d ' ' -f 1).txt"
count=$(find second ! -type d | wc -l)
touch second/include/psnap/mine.h
rm second/bin/psnap # gone already: no reason to stop
uninstall || fail "$(cat out)"
has out "removed $((count - 1)) files from $dir/second"
has out "removed $count files from $dir/root$dir/deep/third"
[ ! -e root ] || fail "folders are left: $(find root)"
[ "$(find second | sort | tr '\n' ' ')" = "second second/include second/include/psnap second/include/psnap/mine.h \
second/lib second/lib/mine second/share second/share/man " ] || fail "left: $(find second)"
if uninstall; then fail "nothing to remove is no error"; fi
has out 'nothing was installed from here'

version=$("$PSNAP" --version | sed 's/psnap //')
grep -q "^## $version" "$PSNAP_SOURCE/CHANGELOG.md" || fail "the changelog lacks $version"
python3 - "$PSNAP_SOURCE" "$version" << 'CHECK'
import ast, pathlib, re, sys
source, version = pathlib.Path(sys.argv[1]), sys.argv[2]

try:
    import yaml
    cff = yaml.safe_load((source / "CITATION.cff").read_text())
    for key in ("cff-version", "message", "title", "authors"):
        assert cff[key], key
    assert cff["version"] == version and cff["license"] == "BSD-3-Clause"
except ImportError:
    pass

# The recipe is a class with a build system, and what it defines and needs is what CMake asks for.
recipe = (source / "samples/packaging/spack/packages/psnap/package.py").read_text()
tree = ast.parse(recipe)
assert [node.name for node in tree.body if isinstance(node, ast.ClassDef)] == ["Psnap"]
cmake = (source / "CMakeLists.txt").read_text() + (source / "capture/CMakeLists.txt").read_text()
for name in re.findall(r'self\.define(?:_from_variant)?\("(\w+)"', recipe):
    assert name == "BUILD_TESTING" or re.sub("19$", "${version}", name) in cmake, name
packages = {"yaml-0.1": "libyaml", "libzstd": "zstd", "libxxhash": "xxhash", "libdw": "elfutils", "zlib": "zlib-api",
            "sqlite3": "sqlite", "libarchive": "libarchive",
            "gsl": "gsl", "nlopt": "nlopt"}
modules = re.findall(r"pkg_check_modules\(\w+ (?:REQUIRED )?IMPORTED_TARGET ([\w.-]+)\)", cmake)
assert len(modules) >= len(packages), modules
needed = {node.args[0].value.split("@")[0] for node in ast.walk(tree)
          if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "depends_on"}
tools = {"c", "cxx", "cmake", "ninja", "pkgconfig", "llvm", "valgrind", "gnuplot"}
assert needed == {packages[module] for module in modules} | tools, needed
assert re.search(r'depends_on\("cmake@([\d.]+):"', recipe)[1] == re.search(r"VERSION ([\d.]+)\)", cmake)[1]
variants = set(re.findall(r'variant\("(\w+)"', recipe))
assert set(re.findall(r'"[+](\w+)"', recipe)) <= variants and "19" in cmake
CHECK
exit 0
