#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# psnap formats: a line for every format, a description of each, JSON, and
# the nearest name for a wrong one.
set -eu

fail() {
    echo "test_formats: $*" >&2
    exit 1
}

for name in pst din xdin dinbin lackey pinatrace csv champsim drmemtrace gem5; do
    "$PSNAP" formats | grep -q "^$name  *read, write  *[a-zA-Z]" || fail "$name is not listed"
    "$PSNAP" formats "$name" | grep -q "^$name: " || fail "$name has no description"
    "$PSNAP" formats "$name" --json | tr -d ' \n' |
        grep -q '^{"psnap":1,"command":"formats","formats":\[{"name":"'"$name"'",' ||
        fail "$name: no JSON"
done
for name in ramulator1 ramulator2-ls ramulator2-rw ramulator-cpu dramsim3 prospero prospero-bin oracle spatter trafficgen; do
    "$PSNAP" formats | grep -q "^$name  *write  *[a-zA-Z]" || fail "$name is not listed"
    "$PSNAP" formats $name | grep -q "^For [A-Za-z]" || fail "$name: for which simulator"
    "$PSNAP" formats $name | grep -q "^    [][0-9LRWS]" || fail "$name has no example"
done
"$PSNAP" formats pst | grep -q 'does not keep: nothing is lost' || fail "pst loses something"
status=0
message=$("$PSNAP" formats lackei 2>&1) || status=$?
[ $status = 2 ] || fail "wrong name: exit status $status"
grep -q "did you mean 'lackey'" <<< "$message" || fail "wrong name: $message"

# Recipes as they stand, with programs that read what they are fed
command -v python3 > /dev/null || exit 77
golden=$(cd "$(dirname "$0")/../golden" && pwd)
PSNAP=$(realpath "$PSNAP") dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
mkdir bin configs
ln -s "$golden/tutorial_nests.psnap.yaml" P
ln -s "$PSNAP" bin/psnap
echo "expected_limit_insts = 200000000" > configs/DDR4-config.cfg
cat > bin/consumer << 'END'
#!/bin/bash
for word in "$@"; do
    case $word in --log-file=*) printf ' L 1000,8\n' > "${word#*=}" && exit ;; esac
    [ ! -p "$word" ] || exec cat "$word" > /dev/null
done
cat > /dev/null
END
chmod +x bin/consumer
"$PSNAP" formats --json > formats.json
python3 - << 'END'
import json, os, subprocess, sys
for f in json.load(open("formats.json"))["formats"]:
    assert f["readable"] or f["consumers"], f["name"]
    assert "\n\n    " in f["description"], f["name"] # an example of its layout
    texts = [f["description"]] + [text for c in f["consumers"] for text in c.values()]
    assert all(len(line) <= 78 for text in texts for line in text.split("\n"))
recipes = [(c["name"], c["recipe"]) for f in json.load(open("formats.json"))["formats"] for c in f["consumers"]]
for program in "cachesim", "champsim", "dineroIV", "dramsim3main", "drrun", "python3", "ramulator", "ramulator2", "spatter", "valgrind":
    os.symlink("consumer", f"bin/{program}")
path = f"{os.getcwd()}/bin:{os.environ['PATH']}"
assert len({name for name, _ in recipes}) >= 12
for name, recipe in recipes:
    assert all(line.startswith("    ") for line in recipe.splitlines()), recipe
    commands = "\n".join(line[4:] for line in recipe.splitlines())
    done = subprocess.run(["bash", "-euc", commands], env=dict(os.environ, PATH=path), stdin=subprocess.DEVNULL,
                          capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"test_formats: recipe of {name}:\n{recipe}{done.stderr}")
END
grep -q 'expected_limit_insts = 0' d4.cfg || fail "Ramulator would begin anew"
"$PSNAP" formats oracle | grep -q "^libCacheSim .*:$" || fail "oracle has no recipe"
