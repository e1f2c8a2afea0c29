#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Unseen programs: how far replays of the programs in tests/fidelity/programs are from what was
# observed. They are irregular in many ways, and no model was made with them.
#
#   tests/fidelity/unseen.sh [--half open|locked|both] [--programs a,b] [--psnap PATH]
#                            [--out FILE.csv] [--quick]
#
# Half of the programs is locked: models are worked on with the open half (the default), and the
# locked one says whether what was gained holds elsewhere. A hash of its name says where a program
# is. Each is compiled, timed (clang -O2, the median of three runs), recorded with a trace and
# compared on the ten structures, and recorded again without a trace for the time it takes. Writes
# a row of each to FILE.csv (build/unseen.csv) and prints them and their means. A step that fails
# or takes more than two minutes gives a row that says so. --quick takes a tenth of the sizes; PATH
# is the psnap to take (build/release/psnap, which is not built here).
set -eu
from=$PWD
# shellcheck source=tests/script.sh
. "$(dirname "$0")/../script.sh"
half=open programs="" psnap="" out="" quick=0
read_options "half= programs= psnap= out= quick" "$@"
case $half in open | locked | both) ;; *) usage "--half $half" ;; esac
absolute() # PATH, which is relative to where the script was called
{
    (cd "$from" && realpath -m "$1")
}
psnap=$(absolute "${psnap:-$root/build/release/psnap}")
out=$(absolute "${out:-$root/build/unseen.csv}")
# shellcheck disable=SC2034 # is_wanted
samples=$programs
rm -r "$work" && mkdir -p build && work=$(mktemp -d "$root/build/unseen.XXXXXX")

# half_of NAME
half_of()
{
    local byte
    byte=$(printf %s "$1" | md5sum | cut -c1-2)
    if [ $((0x$byte % 2)) = 0 ]; then echo open; else echo locked; fi
}

# size_of FILE: the argument of a quick run, which is a tenth of the default one in its main()
size_of()
{
    local default
    [ "$quick" = 1 ] || return 0
    default=$(sed -n 's/.*argc > 1 ? .*strtoul(argv\[1\], [a-zNUL]*, 10))* : \([0-9]*\).*/\1/p' "$1")
    echo $((default > 10 ? default / 10 : 1))
}

# seconds COMMAND...: what it takes; the status is the command's
seconds()
{
    local start=$EPOCHREALTIME status=0
    timeout 120 "$@" > stdout 2> stderr || status=$?
    awk -v a="$start" -v b="$EPOCHREALTIME" 'BEGIN { printf "%.3f\n", b - a }'
    return $status
}

# step WHAT COMMAND...: runs it, or leaves in $status what went wrong
step()
{
    local what=$1 code=0
    shift
    timeout 120 "$@" > stdout 2> stderr || code=$?
    case $code in
    0) return 0 ;;
    124) status="$what timed out" ;;
    *) status="$what failed ($code)" && sed 's/^/    /' stderr | head -n 5 >&2 ;;
    esac
    return 1
}

# measure FILE: leaves the pieces of a row in the current folder, and $status
measure()
{
    local driver=cc compiler=clang-19 arguments
    local -a flags=(-std=c17)
    case $1 in
    *.cpp) driver=c++ compiler=clang++-19 flags=(-std=c++17 -Wno-deprecated-declarations) ;;
    esac
    arguments=$(size_of "$1")
    status=ok
    step compile "$compiler" "${flags[@]}" -O2 "$1" -o native -lm || return 0
    step compile "$psnap" "$driver" "${flags[@]}" -O2 -g "$1" -o prog -lm || return 0
    # shellcheck disable=SC2086 # no argument, or one
    step run ./native $arguments || return 0
    # shellcheck disable=SC2086
    { seconds ./native $arguments && seconds ./native $arguments && seconds ./native $arguments; } |
        sort -n | sed -n 2p > native.seconds
    # shellcheck disable=SC2086
    step record "$psnap" record -o p.yaml --trace t.pst -- ./prog $arguments || return 0
    # shellcheck disable=SC2086
    seconds "$psnap" record -o again.yaml -- ./prog $arguments > record.seconds ||
        status="record without a trace failed"
    step compare "$psnap" compare t.pst p.yaml --json || return 0
    mv stdout compare.json
}

# put_row NAME: of what measure left
put_row()
{
    python3 - "$1" "$(half_of "$1")" "$status" >> "$out" << 'EOF'
import json, os, re, sys

name, half, status = sys.argv[1:]


def read(path):
    if not os.path.exists(path):
        return ""
    with open(path) as file:
        return file.read()


def points(values):
    return ["" if p is None else "%.3f" % p for p in (values + [None] * 3)[:3]]


result = json.loads(read("compare.json") or "null")
profile = read("p.yaml")
native, record = read("native.seconds").strip(), read("record.seconds").strip()
row = [name, half, "", *[""] * 6, "", *[""] * 3, "", ""]
if result:
    worst = {}
    for r in result["rows"]:
        if r["scope"] == "loop" and r["relevant"]:
            errors = [100 if level["error_points"] is None else level["error_points"]
                      for level in r["levels"]]
            worst[r["id"]] = max(errors + [worst.get(r["id"], 0)])
    s = result["summary"]
    row = [name, half, result["observed"]["accesses"], *points(s["mean_points"]),
           *points(s["max_points"]), max(worst, key=worst.get, default=""),
           *points(s["total_points"]), len(worst), sum(p > 10 for p in worst.values())]
ratio = "%.1f" % (float(record) / float(native)) if record and native and float(native) else ""
model = re.search(r"\bmodel: *([\w-]+)", profile)
row += [len(profile.encode()) or "", native, record, ratio, model.group(1) if model else "", status]
print(",".join('"%s"' % c if "," in str(c) else str(c) for c in row))
EOF
}

# Aligned: the rows, means of each half over its programs, and what is out of the ordinary.
summarise()
{
    python3 - "$out" << 'EOF'
import csv, sys

with open(sys.argv[1], newline="") as file:
    rows = list(csv.DictReader(file))
levels = [kind + " L" + n for kind in ("mean", "max", "total") for n in "123"]
lines = [["program", "half", "accesses", *levels, "KB", "ratio", "worst loop", "status"]]


def number(value, digits):
    return "-" if value == "" else "%.*f" % (digits, float(value))


def mean(values):
    values = [float(v) for v in values if v != ""]
    return sum(values) / len(values) if values else ""


for r in sorted(rows, key=lambda r: (r["half"], r["program"])):
    size = float(r["profile_bytes"]) / 1024 if r["profile_bytes"] else ""
    lines.append([r["program"], r["half"], r["accesses"] or "-",
                  *[number(r[c.replace(" ", "_")], 2) for c in levels], number(size, 0),
                  number(r["ratio"], 1), r["worst_loop"] or "-", r["status"]])
for half in ("open", "locked"):
    of = [r for r in rows if r["half"] == half]
    if of:
        sizes = mean([r["profile_bytes"] for r in of])
        lines.append(["mean", half, "%d programs" % len(of),
                      *[number(mean([r[c.replace(" ", "_")] for r in of]), 2) for c in levels],
                      number(sizes / 1024 if sizes else "", 0),
                      number(mean([r["ratio"] for r in of]), 1), "", ""])
widths = [max(map(len, column)) for column in zip(*lines)]
for line in lines:
    print("  ".join(c.ljust(w) if i in (0, 1, 14, 15) else c.rjust(w)
                    for i, (c, w) in enumerate(zip(line, widths))).rstrip())
print()
for half in ("open", "locked"):
    of = [r for r in rows if r["half"] == half]
    if not of:
        continue
    compared = [r for r in of if r["loops"]]
    print("%s: %d of %d loops beyond 10 points, in %d of %d programs that were compared" % (
        half, sum(int(r["loops_beyond_10"]) for r in compared),
        sum(int(r["loops"]) for r in compared),
        sum(r["loops_beyond_10"] != "0" for r in compared), len(compared)))
    timed = [r for r in of if r["ratio"]]
    if timed:
        slowest = max(timed, key=lambda r: float(r["ratio"]))
        print("%s: largest ratio of recording to native %s (%s)" % (
            half, slowest["ratio"], slowest["program"]))
    bad = [r for r in of if r["status"] != "ok"]
    if bad:
        print("%s: %s" % (half, "; ".join(r["program"] + ": " + r["status"] for r in bad)))
EOF
}

echo "program,half,accesses,mean_L1,mean_L2,mean_L3,max_L1,max_L2,max_L3,worst_loop,total_L1,total_L2,\
total_L3,loops,loops_beyond_10,profile_bytes,native_seconds,record_seconds,ratio,model,status" > "$out"
for file in "$root"/tests/fidelity/programs/*.c*; do
    name=$(basename "${file%.*}")
    is_wanted "$name" || continue
    [ "$half" = both ] || [ "$(half_of "$name")" = "$half" ] || continue
    mkdir "$work/$name"
    cd "$work/$name"
    measure "$file"
    put_row "$name"
    cd "$root"
    rm -r "${work:?}/$name"
    [ ! -t 2 ] || echo "$name: $status" >&2
done
[ "$(wc -l < "$out")" -gt 1 ] || { echo "unseen: no such program in half $half" >&2 && exit 1; }
summarise
