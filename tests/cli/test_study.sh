#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# The study of samples/STUDY.md: its samples compile alone and print their line; what it shows is what comes out of the
# observations that are kept; its blocks run, with fewer sizes, and find what it says of hypotheses and m0.
set -eu
. "$PSNAP_SOURCE/tests/cli/capture_common.sh"

samples=$PSNAP_SOURCE/samples
document=$samples/STUDY.md
warnings='-std=c17 -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror -Wmissing-prototypes -Wstrict-prototypes -Wvla'
while read -r sample file arguments; do
    case $sample in '' | '#'*) continue ;; esac
    for level in 0 2; do
        ${PSNAP_CC:-cc} $warnings -O$level -o "$sample.O$level" "$samples/study/$file" -lm ||
            fail "$sample: does not compile at -O$level"
        "./$sample.O$level" $arguments > "$sample.out$level" || fail "$sample: exit status $?"
    done
    grep -Eqx "$sample ${arguments% *} *${arguments#* } checksum -?[0-9.e+-]+" "$sample.out2" ||
        fail "$sample: printed '$(cat "$sample.out2")'"
    cmp -s "$sample.out0" "$sample.out2" || fail "$sample: another line at -O0: $(cat "$sample".out?)"
    for wrong in 0 1x '10 0' '10 1 1'; do
        expect 2 "./$sample.O2" $wrong
        grep -q "^usage: $sample " err || fail "$sample '$wrong': no usage: $(cat err)"
    done
done < "$samples/study/study.list"
[ "$(cut -d' ' -f5 hydro.out2)" = "$(cut -d' ' -f5 hydrot.out2)" ] || fail "hydro and hydrot differ"

# What is shown: all lines of the document's text blocks, in what the observations give
expect 0 "$PSNAP" hybrid "$samples/study/observations.csv" --sizes-as-replicates
mv out all
(cd "$PSNAP_SOURCE" && sed -n 's,build/large.csv$,/dev/stdout,; /^awk -F/p' "$document") > select
[ "$(wc -l < select)" = 1 ] || fail "the document selects other than once"
(cd "$PSNAP_SOURCE" && bash "$OLDPWD/select") > large.csv
expect 0 "$PSNAP" hybrid large.csv --sizes-as-replicates
cat out >> all
awk '/^```text$/ { shown = 1; next } /^```$/ { shown = 0 } shown && NF' "$document" > shown
[ "$(wc -l < shown)" -ge 30 ] || fail "the document shows little"
while IFS= read -r line; do
    grep -qFx -e "$line" all || fail "the document shows '$line', which does not come out"
done < shown

# check OBSERVATIONS: m0 is larger on the Origin at every size of every code
check()
{
    "$PSNAP" hybrid "$1" --sizes-as-replicates --json > checked.json
    python3 - << 'END'
import json
m0 = {}
for code in json.load(open("checked.json"))["codes"]:
    for p in code["points"]:
        m0.setdefault((code["code"], p["size"]), {})[p["machine"]] = p["m0"]
assert len(m0) >= 14 and all(m["origin2000"] > m["powerchallenge"] + 0.02 for m in m0.values()), m0
END
}
check "$samples/study/observations.csv"

# All blocks, one after the other in one shell, and the command in the text; with fewer sizes, for hydro none that conflicts
mkdir -p tree/build
ln -s "$samples" tree/samples
awk '
    /^```sh$/ { inside = 1; next }
    /^```$/ { inside = 0 }
    inside
' "$document" | sed -e 's/in 20 24 .* 64;/in 20 40 44 48;/' -e 's/in 100 125 .* 500;/in 100 300 350 400;/' \
    -e 's/sweep \$n 2$/sweep $n 1/; s/\$n 5;/$n 3;/' -e 's/{400,500}/400/; s/sweep{48,64}/sweep48/' > block
sed -n 's/.*`\(psnap sim [^`]*\)`.*/\1/p' "$document" | sed 's/hydro450/hydro400/' >> block
[ "$(grep -c 'psnap hybrid' block)" = 3 ] && [ "$(grep -c 'psnap sim' block)" = 1 ] || fail "the document has other commands"
command -v gnuplot > /dev/null || sed -i '1i gnuplot() { cat > /dev/null; }' block
(cd tree && PATH=$(dirname "$PSNAP"):$PATH bash -e ../block) > written 2> err || fail "$(tail -n 5 err)"
check tree/build/observations.csv
(cd tree/build && "$PSNAP" hybrid observations.csv --sizes-as-replicates --json > all.json &&
    awk -F, '/^code/ || $3 >= 300 || /^sweep/ && $3 >= 40' observations.csv > large.csv &&
    "$PSNAP" hybrid large.csv --sizes-as-replicates --json > large.json &&
    "$PSNAP" hybrid improvements.csv --sizes-as-replicates --json > improvements.json)
python3 - tree/build << 'END'
import csv, json, sys
place = sys.argv[1]
everything, large = (json.load(open(f"{place}/{name}.json")) for name in ("all", "large"))
decisions = lambda report: {h["effect"]: h["rejected"] for h in report["hypotheses"]}
assert decisions(everything) == {"overall": True, "code": True, "machine": True, "interaction": False}, everything
assert decisions(large) == {"overall": True, "code": True, "machine": True, "interaction": True}, large
sizes = {}
for code in large["codes"]:
    # beyond both caches all are predictable, and m0 of one machine gives that of the other
    assert code["predictable"] and code["steady_from"] == (40 if code["code"] == "sweep" else 300), code
    assert code["verdict"] == f"scales predictably from n = {code['steady_from']:g}", code
    difference = code["differences"][0]
    assert difference["constant"] and difference["largest_deviation"] < 0.02, difference
    assert 0.1 < abs(difference["mean"]) < 0.25, difference
    sizes[code["code"]] = {m["machine"]: m["mean"] for m in code["m0"]}
assert min(sizes, key=lambda code: sizes[code]["powerchallenge"]) in ("heat", "sweep"), sizes
rows = {(r["code"], r["machine"]): r for r in csv.DictReader(open(f"{place}/improvements.csv"))}
improvements = json.load(open(f"{place}/improvements.json"))
m0 = {(c["code"], p["machine"]): p["m0"] for c in improvements["codes"] for p in c["points"]}
value = lambda code, machine, column: float(rows[code, machine][column])
for code in ("sweep", "hydro", "hydrot", "heat"): # each of the three improvements, and the bus between
    cpi = [value(code, m, "cpi") for m in ("powerchallenge", "larger", "nearer", "bus", "origin2000")]
    assert cpi == sorted(cpi, reverse=True), (code, cpi)
    assert m0[code, "nearer"] < m0[code, "bus"] < m0[code, "origin2000"], code
for machine in ("powerchallenge", "origin2000"): # transposed: the same pipeline, fewer hits of level 2
    strided, unit = ({c: value(code, machine, c) for c in ("cpi", "cpi_pipeline", "hits2")} for code in ("hydro", "hydrot"))
    assert abs(strided["cpi_pipeline"] / unit["cpi_pipeline"] - 1) < 0.03, (strided, unit)
    assert strided["hits2"] > 2 * unit["hits2"] and strided["cpi"] > 1.1 * unit["cpi"], (strided, unit)
END
