#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# psnap hybrid: a published data set as CSV, in words and as JSON; the sample and what HYBRID.md shows of it; predictions
# of profiles as observations; bad input and usage.
set -eu
. "$PSNAP_SOURCE/tests/cli/common.sh"

# Battery life by material and temperature (Montgomery, "Design and Analysis of Experiments", table 5.1)
python3 - << 'END'
life = {(1, 15): (130, 155, 74, 180), (1, 70): (34, 40, 80, 75), (1, 125): (20, 70, 82, 58),
        (2, 15): (150, 188, 159, 126), (2, 70): (136, 122, 106, 115), (2, 125): (25, 70, 58, 45),
        (3, 15): (138, 110, 168, 160), (3, 70): (174, 120, 150, 139), (3, 125): (96, 104, 82, 60)}
with open("battery.csv", "w") as f:
    print("code,machine,size,replicate,cpi", file=f)
    for (material, degrees), hours in life.items():
        for i, h in enumerate(hours):
            print(f"battery,material {material},{degrees},{i + 1},{h}", file=f)
with open("battery.csv") as f: # rows and columns in another order, quoted, in two files
    rows = [line.rstrip("\n").split(",") for line in f][1:]
for name, part in (("one.csv", rows[20:]), ("two.csv", rows[:20])):
    with open(name, "w") as f:
        print('"cpi",replicate,"size",code,machine\r', file=f)
        for code, machine, size, replicate, cpi in reversed(part):
            print(f'"{cpi}",{replicate},{size}, "{code}" ,"{machine}"\r', file=f)
END
expect 0 "$PSNAP" hybrid battery.csv --json
mv out battery.json
expect 0 "$PSNAP" hybrid one.csv two.csv --json
[ ! -s err ] || fail "it says $(cat err)"
python3 - << 'END'
import json
report, again = json.load(open("battery.json")), json.load(open("out"))
assert report["psnap"] == 1 and report["command"] == "hybrid"
code, = report["codes"]
assert code["code"] == "battery" and code["residuals"][0]["balanced"] is True
effects = {e["effect"]: e for e in code["effects"]}
assert list(effects) == ["size", "machine", "interaction", "residual"]
for name, df, squares, f, p in (("size", 2, 39118.72, 28.97, 1.909e-7), ("machine", 2, 10683.72, 7.91, 0.0020),
                                ("interaction", 4, 9613.78, 3.56, 0.0186)):
    e = effects[name]
    assert e["df"] == df and abs(e["sum_of_squares"] - squares) < 0.01 and e["rejected"] is True, e
    assert abs(e["f"] - f) < 0.005 and abs(e["p"] - p) < 0.0003 * max(1, p / 0.01), e
assert effects["residual"]["df"] == 27 and abs(effects["residual"]["sum_of_squares"] - 18230.75) < 0.01
assert effects["residual"]["f"] is None and effects["residual"]["p"] is None and effects["residual"]["rejected"] is None
assert code["predictable"] is None and "m0 is not known" in code["verdict"]
assert all("there is one code alone" in h["why_not"] or "is not known" in h["why_not"] for h in report["hypotheses"])
for e, f in zip(code["effects"], again["codes"][0]["effects"]):
    assert e["f"] is None or abs(e["f"] - f["f"]) < 1e-9 * e["f"], (e, f)
END
expect 0 "$PSNAP" hybrid battery.csv --level 0.001
grep -Eq '^interaction +cpi +4 +27 +9613.8 +3.5595 +0.018611 +0.34527 +no$' out || fail "no interaction: $(cat out)"
has out 'there is one code alone'
expect 0 "$PSNAP" hybrid - < battery.csv
expect 0 "$PSNAP" hybrid <(cat battery.csv) # which can be read once

# What the document shows of the sample is what comes out, and the table has the numbers of JSON
sample=$PSNAP_SOURCE/samples/hybrid/observations.csv
expect 0 "$PSNAP" hybrid "$sample"
mv out report
awk '/^```text$/ { shown = 1; next } /^```$/ { if (shown) exit } shown' \
    "$PSNAP_SOURCE/predict/hybrid/HYBRID.md" > shown
[ "$(wc -l < shown)" -ge 8 ] || fail "the document shows little"
head -n "$(wc -l < shown)" report | diff shown - || fail "the document differs"
grep -qx "lu: does not scale predictably: m0 on 'one' does not settle within 0.05 of a mean" report || fail "$(cat report)"
expect 0 "$PSNAP" hybrid "$sample" --json
python3 - << 'END'
import json
def cell(value):
    return {None: "-", True: "yes", False: "no"}[value] if value is None or isinstance(value, bool) else \
        value if isinstance(value, str) else f"{value:.5g}"
report = json.load(open("out"))
lines = [line.split() for line in open("report")]
tables = [report["hypotheses"], report["residuals"]]
for code in report["codes"]:
    tables += [code[key] for key in ("effects", "residuals", "points", "latencies", "m0", "differences", "parallel")]
notes = {"claim", "next", "why_not", "why_no_latencies"}
for table in tables:
    assert table
    for row in table:
        assert [cell(value) for key, value in row.items() if key not in notes] in lines, row
        assert [key for key in row if key not in notes] in lines, row
END

# Unbalanced: the sample without some rows, against R 4.2.2 (contr.sum; Anova(..., type = 3) of car 3.1-1; lm)
sed '4d;5d;9d;30d;47d;60d;61d;80d' "$sample" > unbalanced.csv
expect 0 "$PSNAP" hybrid unbalanced.csv --json
python3 - << 'END'
import json
report = json.load(open("out"))
def near(value, expected):
    assert abs(value - expected) < 1e-8 * abs(expected), (value, expected)
def effect(got, df, squares, f, p):
    assert got["df"] == df
    near(got["sum_of_squares"], squares), near(got["f"], f), near(got["p"], p)
cg, lu = report["codes"]
assert cg["residuals"][0]["balanced"] is False and cg["effects"][3]["df"] == 24
effect(cg["effects"][0], 6, 0.5104271550901, 1709.6443904108, 2.37049656517e-30)
effect(cg["effects"][1], 1, 0.0913976666667, 1836.7852088794, 3.43631315602e-24)
effect(cg["effects"][2], 6, 0.0185606047297, 62.1676049998, 1.93264090557e-13)
effect(lu["effects"][0], 6, 1.7032016713121, 6091.265795448, 5.79860044623e-37)
effect(lu["effects"][1], 1, 0.0578483817187, 1241.320537035, 3.52594850882e-22)
effect(lu["effects"][2], 6, 0.0543989710000, 194.550414634, 3.91749091281e-19)
near(cg["effects"][3]["sum_of_squares"], 0.0011942300000)
near(cg["parallel"][0]["f"], 0.795439608061), near(cg["parallel"][0]["p"], 0.582712891320)
latencies = [l["average_cycles"] for code in (cg, lu) for l in code["latencies"]]
for got, expected in zip(latencies, (10.0458571583, 25.0049848786, 159.9358254280, 7.36917558875, 15.96368295220,
                                     96.65025066485, 3.18028527055, 21.57705618790, 363.99254284549, 1.49136575666,
                                     13.49732238491, 256.94395554128)):
    near(got, expected)
overall, code, machine, both = report["hypotheses"]
assert [h["effect"] for h in report["hypotheses"]] == ["overall", "code", "machine", "interaction"]
effect(overall, 3, 0.372541865268, 3.53780680433, 0.029788069316)
effect(code, 1, 0.145140000248016, 8670.4958412953, 3.15840565037e-32)
effect(machine, 1, 0.1004882414286, 2.8709114789966, 0.103133347499)
effect(both, 1, 9.63111200397e-04, 0.0274382694329, 0.869823776374)
assert overall["rejected"] and code["rejected"] and not machine["rejected"] and not both["rejected"]
assert all(h["residual_df"] == 24 and h["next"] for h in report["hypotheses"])
END

# Two common sizes say nothing of what is steady or constant; what is left out of m0 is counted; doubts are warnings
awk -F, '/^code/ || $3 <= 50' "$sample" > few.csv
expect 0 "$PSNAP" hybrid few.csv --json
python3 - << 'END'
import json
for code in json.load(open("out"))["codes"]:
    assert [m["steady"] for m in code["m0"]] == [None, None] and code["predictable"] is None, code
    assert [d["constant"] for d in code["differences"]] == [None], code["differences"]
    assert "2 of the 3 sizes" in code["verdict"]
END
sed '8s/,0.006767,/,,/; 9s/,0.006767,/,77,/; 3s/cpi_pipeline/colour/' "$sample" > doubtful.csv
expect 0 "$PSNAP" hybrid doubtful.csv --json
has err "doubtful.csv:9:1: 'cg' has more than one hit per instruction: are they counts or percent?"
has err "doubtful.csv:3:33: 'colour' is no column that is read"
sed '8s/,0.006767,/,,/' "$sample" > hole.csv
expect 0 "$PSNAP" hybrid hole.csv --json
python3 -c 'import json; assert [m["left_out"] for m in json.load(open("out"))["codes"][0]["m0"]] == [1, 0]'

# A code that cannot be analysed is an error of it alone: its m0 and all of the other one are there
awk -F, '$1 != "lu" || $4 == 1' "$sample" > once.csv
expect 1 "$PSNAP" hybrid once.csv
[ "$(grep -c '^psnap hybrid: ' err)" = 1 ] || fail "$(cat err)"
has err "psnap hybrid: once.csv:46: code 'lu' has no experiment, as there are too few replicates"
sed '/^code: lu/,$d' report > of_cg
sed '/^code: lu/,$d' out | diff of_cg - || fail "the other code differs"
grep -q '^lu: does not scale predictably' out || fail "no verdict: $(cat out)"
grep -Eq '^overall +cpi +3 +24 ' out || fail "no hypotheses: $(cat out)"
expect 1 "$PSNAP" hybrid once.csv --json
python3 - << 'END'
import json
cg, lu = json.load(open("out"))["codes"]
assert len(cg["effects"]) == 4 and "why_no_effects" not in cg, cg
assert lu["effects"] == [] and "too few replicates" in lu["why_no_effects"] and lu["predictable"] is False, lu
END
expect 0 "$PSNAP" hybrid once.csv --sizes-as-replicates

# Predictions of a profile are observations: cpi as predict runtime has it, hits as sim
profile=$PSNAP_SOURCE/tests/golden/tutorial_nests.psnap.yaml
sed -e "s/name: complete/name: one/" "$PSNAP_SOURCE/samples/machines/complete.yaml" > one.yaml
sed -e 's/name: one/name: small/; s/32K/1K/; s/32M/8K/; s/1M/4K/' one.yaml > small.yaml
predict=("$PSNAP" predict runtime "$profile" -m one.yaml -m small.yaml --by total)
expect 0 "${predict[@]}" --method overlap --observations sdcm.csv --json
mv out runtime.json
expect 1 "${predict[@]}" --observations sdcm.csv
has err sdcm.csv
expect 0 "${predict[@]}" --rates simulation --observations simulated.csv --size 9
expect 0 "$PSNAP" sim "$profile" -m one.yaml -m small.yaml --by total --json
python3 - << 'END'
import csv, json
runtime, sim = json.load(open("runtime.json")), json.load(open("out"))
operations = 3521 + 777 + 64 + 512 + 129 + 546 + 3 # of the profile's totals
for name, rows, size in (("sdcm.csv", runtime["rows"], 8), ("simulated.csv", sim["rows"], 9)):
    observations = list(csv.DictReader(open(name)))
    assert [o["machine"] for o in observations] == ["one", "small"]
    for observation, row in zip(observations, rows):
        o = {key: float(value) for key, value in observation.items() if key not in ("code", "machine")}
        assert observation["code"] == "matmul" and o["size"] == size
        assert abs(o["cpi"] - o["cpi_pipeline"] - o["cpi_memory"]) < 1e-12
        instructions = row["accesses"] + operations
        if "seconds" in row:
            assert abs(o["cpi"] - row["seconds"] * 3.65e9 / instructions) < 1e-9
        H = [level["cumulative_hit_rate"] for level in row["levels"]] + [1]
        for i in (2, 3, 4):
            assert abs(o[f"hits{i}"] - (H[i - 1] - H[i - 2]) * row["accesses"] / instructions) < 1e-12
        assert (o["latency2"], o["latency3"], o["latency4"]) == (14, 50, 400)
END
expect 0 "$PSNAP" hybrid sdcm.csv simulated.csv --sizes-as-replicates --json
python3 -c 'import json; assert [p["size"] for p in json.load(open("out"))["codes"][0]["points"]] == [8, 9, 8, 9]'
expect 2 "${predict[@]}" --method published --observations none.csv
expect 2 "${predict[@]}" --rates simulation --at "$profile"

# Bad input: each named, with its place and what to do
# refuses WANTED FILTER: of the battery's CSV, filtered by sed
refuses()
{
    sed -E "$2" battery.csv > bad.csv
    expect 1 "$PSNAP" hybrid bad.csv
    has err "$1"
    expect 1 "$PSNAP" hybrid bad.csv --json
    python3 -c 'import json; assert json.load(open("out"))["error"]["message"]'
}
refuses "bad.csv:7:25: cpi is 'nan': a number above 0 is needed" '7s/,[0-9]+$/,nan/'
refuses "too few replicates" '/,[234],[0-9]+$/d'
refuses "bad.csv:2: code 'battery' has no experiment, as there is no observation of size 70 on machine material 2" \
    '/material 2,70/d'
refuses "there is one machine alone" '/material [23]/d'
refuses "replicates are all the same" '2,$s/,[0-9]+$/,5/'
refuses "bad.csv:1:1: no column 'cpi'" '1s/cpi/cycles/'
expect 1 "$PSNAP" hybrid battery.csv battery.csv
has err "battery.csv:2: replicate '1' of code 'battery' on machine 'material 1' at size 15 is in 'battery.csv' already"
expect 1 "$PSNAP" hybrid nowhere.csv
has err nowhere.csv
head -c 40000000 /dev/zero | tr '\0' , > commas.csv
expect 1 "$PSNAP" hybrid commas.csv
has err "commas.csv:1:1048577: a line of more than 1 MiB"

# Wrong usage
expect 2 "$PSNAP" hybrid
expect 2 "$PSNAP" hybrid battery.csv --level 0
expect 2 "$PSNAP" hybrid battery.csv --level 1
expect 2 "$PSNAP" hybrid battery.csv --steady 0
expect 2 "$PSNAP" hybrid battery.csv --rates sdcm
