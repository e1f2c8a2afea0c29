#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# psnap hybrid: a published data set as CSV, in words and as JSON; the sample and what HYBRID.md shows of it;
# latencies of machine files; figures and CSV; predictions of profiles; bad input and usage.
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
got=$(status "$PSNAP" hybrid battery.csv --json)
if [ "$got" != 0 ] && grep -q "built without GSL" err; then
    exit 77
fi
[ "$got" = 0 ] || fail "exit status $got: $(cat out err)"
mv out battery.json
expect 0 "$PSNAP" hybrid one.csv two.csv --json
[ ! -s err ] || fail "it says $(cat err)"
python3 - << 'END'
import json
report, again = json.load(open("battery.json")), json.load(open("out"))
assert report["psnap"] == 1 and report["command"] == "hybrid" and report["level"] == 0.05
code, = report["codes"]
assert code["code"] == "battery" and code["balanced"] and code["sizes"] == [15, 70, 125]
effects = {e["effect"]: e for e in code["effects"]}
assert list(effects) == ["size", "machine", "interaction", "residual"]
for name, df, squares, f, p in (("size", 2, 39118.72, 28.97, 1.909e-7), ("machine", 2, 10683.72, 7.91, 0.0020),
                                ("interaction", 4, 9613.78, 3.56, 0.0186)):
    e = effects[name]
    assert e["df"] == df and abs(e["sum_of_squares"] - squares) < 0.01 and e["rejected"], e
    assert abs(e["f"] - f) < 0.005 and abs(e["p"] - p) < 0.0003 * max(1, p / 0.01), e
assert effects["residual"]["df"] == 27 and abs(effects["residual"]["sum_of_squares"] - 18230.75) < 0.01
assert effects["residual"]["f"] is None and effects["residual"]["p"] is None
assert code["predictable"] is None and "cpi_memory is not known" in code["verdict"]
assert not any(h["tested"] for h in report["hypotheses"])
for e, f in zip(code["effects"], again["codes"][0]["effects"]):
    assert e["f"] is None or abs(e["f"] - f["f"]) < 1e-9 * e["f"], (e, f)
END
expect 0 "$PSNAP" hybrid battery.csv --level 0.001
grep -Eq '^interaction +4 +9613.78 +3.5595 +0.0186 +0.345 +not rejected' out || fail "no interaction: $(cat out)"
has out 'codes x machines: not tested, as there is one code alone'
expect 0 "$PSNAP" hybrid - < battery.csv
expect 0 "$PSNAP" hybrid <(cat battery.csv) # which can be read once

# What the document shows of the sample is what comes out
sample=$PSNAP_SOURCE/samples/hybrid/observations.csv
expect 0 "$PSNAP" hybrid "$sample"
mv out report
awk '/^```text$/ { shown = 1; next } /^```$/ { if (shown) exit } shown' \
    "$PSNAP_SOURCE/predict/hybrid/HYBRID.md" > shown
[ "$(wc -l < shown)" -ge 20 ] || fail "the document shows little"
head -n "$(wc -l < shown)" report | diff shown - || fail "the document differs"
has report "lu: does not scale predictably: m0 on 'one' does not settle"
grep -Eq '^machine +cpi_memory +1 +24 .* not rejected' report || fail "no hypothesis: $(cat report)"
grep -Eq '^code +cpi_pipeline +1 +24 +[0-9.]+ +11020 +1.8e-33 ' report || fail "F or p: $(cat report)"
has report '  no interaction shows beyond what size does to cpi: compare codes at equal sizes before'
! grep -q 'p is rough' report || fail "p is rough of normal residuals: $(cat report)"
awk -F, -v OFS=, '/^cg,/ && $4 == 1 && $3 > 100 { $5 += 5 } { print }' "$sample" > disturbed.csv
expect 0 "$PSNAP" hybrid disturbed.csv
grep -Eqx 'residuals: not normal \(Anderson-Darling A2 [0-9.]+, p [1-9].[0-9]e-[0-9]+\); .*' out || fail "p is 0: $(cat out)"
[ "$(grep -cx ' *so p is rough: near 0.05 it decides nothing' out)" -ge 1 ] || fail "no caution: $(cat out)"

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
assert not cg["balanced"] and cg["effects"][3]["df"] == 24
effect(cg["effects"][0], 6, 0.5104271550901, 1709.6443904108, 2.37049656517e-30)
effect(cg["effects"][1], 1, 0.0913976666667, 1836.7852088794, 3.43631315602e-24)
effect(cg["effects"][2], 6, 0.0185606047297, 62.1676049998, 1.93264090557e-13)
effect(lu["effects"][0], 6, 1.7032016713121, 6091.265795448, 5.79860044623e-37)
effect(lu["effects"][1], 1, 0.0578483817187, 1241.320537035, 3.52594850882e-22)
effect(lu["effects"][2], 6, 0.0543989710000, 194.550414634, 3.91749091281e-19)
near(cg["effects"][3]["sum_of_squares"], 0.0011942300000)
near(cg["parallel"]["f"], 0.795439608061), near(cg["parallel"]["p"], 0.582712891320)
for m0, latencies in ((cg["m0"][0], (10.0458571583, 25.0049848786, 159.9358254280)),
                      (cg["m0"][1], (7.36917558875, 15.96368295220, 96.65025066485)),
                      (lu["m0"][0], (3.18028527055, 21.57705618790, 363.99254284549)),
                      (lu["m0"][1], (1.49136575666, 13.49732238491, 256.94395554128))):
    for level, latency in zip(m0["latencies"], latencies):
        near(level["average_cycles"], latency)
overall, code, machine, both = report["hypotheses"]
assert [h["hypothesis"] for h in report["hypotheses"]] == ["overall", "code", "machine", "interaction"]
effect(overall, 3, 0.372541865268, 3.53780680433, 0.029788069316)
effect(code, 1, 0.145140000248016, 8670.4958412953, 3.15840565037e-32)
effect(machine, 1, 0.1004882414286, 2.8709114789966, 0.103133347499)
effect(both, 1, 9.63111200397e-04, 0.0274382694329, 0.869823776374)
assert overall["rejected"] and code["rejected"] and not machine["rejected"] and not both["rejected"]
assert all(h["residual_df"] == 24 and h["next"] for h in report["hypotheses"])
END

# The CSV that it writes says the same; latencies from machine files, where the table has none
expect 0 "$PSNAP" hybrid "$sample" -o written.csv
expect 1 "$PSNAP" hybrid "$sample" -o written.csv
has err written.csv
expect 0 "$PSNAP" hybrid written.csv
sed 's/ line [0-9]*//' report | sed 's/,$//' > left
sed 's/ line [0-9]*//' out | sed 's/,$//' | diff left - || fail "what it writes says something else"
cut -d, -f1-9 "$sample" > bare.csv
for name in one two; do
    sed -e "s/name: complete/name: $name/" "$PSNAP_SOURCE/samples/machines/complete.yaml" > $name.yaml
done
sed -i -e 's/latency_cycles: 14, throughput_cycles: 2/latency_cycles: 12, throughput_cycles: 2/' \
    -e 's/latency_cycles: 50/latency_cycles: 40/; s/latency_cycles: 400/latency_cycles: 320/' two.yaml
expect 0 "$PSNAP" hybrid bare.csv
has out "no verdict: m0 is not known on 'one', as maximal latencies are not known"
expect 0 "$PSNAP" hybrid bare.csv -m one.yaml -m two=two.yaml
diff report out || fail "latencies of machine files are others"
expect 1 "$PSNAP" hybrid bare.csv -m i7-5960x
has err "no observation is on machine 'i7-5960x'; the first one is on 'one'"
expect 1 "$PSNAP" hybrid bare.csv -m one.yaml -m tow=two.yaml
has err "no machine 'tow' in the table, which -m tow=two.yaml names; the first one is 'one'"
cp one.yaml a=b.yaml # a file of this name is one
expect 0 "$PSNAP" hybrid bare.csv -m a=b.yaml -m two=two.yaml
diff report out || fail "latencies of machine files are others"
expect 1 "$PSNAP" hybrid bare.csv -m one=32K:64:8,1M:64:16
has err "hits are of 3 levels beyond level 1, but machine"

# Two common sizes say nothing of what is steady or constant, at neither place
awk -F, '/^code/ || $3 <= 50' "$sample" > few.csv
expect 0 "$PSNAP" hybrid few.csv
[ "$(grep -c 'over 2 sizes; steady or not is not known: 3 sizes are needed$' out)" = 4 ] || fail "m0 of 2 sizes: $(cat out)"
[ "$(grep -c ' at 2 common sizes: a constant or not is not known: 3 sizes are needed$' out)" = 2 ] || fail "$(cat out)"
! grep -Eq 'no constant|not steady' out || fail "2 sizes say something: $(cat out)"
expect 0 "$PSNAP" hybrid few.csv --json
python3 - << 'END'
import json
for code in json.load(open("out"))["codes"]:
    assert [m["steady"] for m in code["m0"]] == [None, None] and code["predictable"] is None, code
    assert [d["constant"] for d in code["differences"]] == [None], code["differences"]
END

# What can hardly be is warned of, what is left out is said
sed '8s/,14,/,15,/' "$sample" > doubtful.csv
expect 0 "$PSNAP" hybrid doubtful.csv
has err "doubtful.csv:8: latency2 of machine 'one' is 15, but 14 on line 4 of 'doubtful.csv': each observation counts with its own"
[ "$(wc -l < err)" = 1 ] || fail "$(cat err)"
grep -q 'level 2 [0-9.]* of 14 to 15, level 3' out || fail "T_i that differ: $(cat out)"
sed '8s/,0.006767,/,77,/; 50s/,0.0[0-9]*,/,1.5,/' "$sample" > doubtful.csv
expect 0 "$PSNAP" hybrid doubtful.csv
has err "doubtful.csv:8: 77.0203 hits per instruction beyond level 1, and more than one in 2 observations: are they per"
sed '8s/,0.006767,/,,/' "$sample" > doubtful.csv
expect 0 "$PSNAP" hybrid doubtful.csv
has out '  1 observation is left out, of size 50 on line 8, as hits per level are not known'
expect 0 "$PSNAP" hybrid doubtful.csv --json
python3 - << 'END'
import json
one, two = json.load(open("out"))["codes"][0]["m0"]
assert one["left_out"] == 1 and one["left_out_line"] == 8 and "hits per level" in one["why_left_out"], one
assert two["left_out"] == 0 and "why_left_out" not in two, two
END
expect 0 "$PSNAP" hybrid "$sample" -m one=i7-5960x
has err "machine 'i7-5960x' is not used: the table has all latencies of 'one'"
expect 0 "$PSNAP" hybrid battery.csv -m 'material 1=i7-5960x'
has err "machine 'i7-5960x' is not used: the table has no hits per level of 'material 1'"

# A code that cannot be analysed is an error of it alone: its m0 and all of the other one are there
awk -F, '$1 != "lu" || $4 == 1' "$sample" > once.csv
expect 1 "$PSNAP" hybrid once.csv
[ "$(grep -c '^psnap hybrid: ' err)" = 1 ] || fail "$(cat err)"
has err "psnap hybrid: once.csv:46: code 'lu' has too few replicates"
has out "no experiment: code 'lu' has too few replicates"
sed '/^code lu:/,$d' report > of_cg
sed '/^code lu:/,$d' out | diff of_cg - || fail "the other code differs"
grep -q '^lu: does not scale predictably' out || fail "no verdict: $(cat out)"
grep -Eq '^overall +cpi +3 +24 ' out || fail "no hypotheses: $(cat out)"
expect 1 "$PSNAP" hybrid once.csv --json -o once_m0.csv
[ "$(wc -l < once_m0.csv)" = 57 ] || fail "no CSV: $(cat once_m0.csv)"
python3 - << 'END'
import json
cg, lu = json.load(open("out"))["codes"]
assert len(cg["effects"]) == 4 and "why_no_effects" not in cg, cg
assert lu["effects"] == [] and "too few replicates" in lu["why_no_effects"] and lu["predictable"] is False, lu
END
grep -v '^cg,two,75,' "$sample" > empty.csv
expect 1 "$PSNAP" hybrid empty.csv
has err "psnap hybrid: empty.csv:10: code 'cg' has no observation of size 75 on machine 'two': an empty cell"
grep -q '^lu: does not scale predictably' out && grep -q '^code lu: .* balanced' out || fail "no lu: $(cat out)"

# Figures
if command -v gnuplot > /dev/null; then
    expect 0 "$PSNAP" hybrid "$sample" --plot m0.svg --json
    grep -q '<svg' m0.svg && grep -q '>cg<' m0.svg && grep -q '>two<' m0.svg || fail "no figure"
    for title in 'one by t_i' 'two by t_i' 'steady from n = 100'; do
        grep -q ">$title<" m0.svg || fail "no '$title' in the legend"
    done
    [ "$(grep -c '> *0.8<' m0.svg)" = 2 ] || fail "codes have other axes: of cg m0 is below 0.7"
    expect 1 "$PSNAP" hybrid battery.csv --plot none.svg
    has err 'there is no m0 to draw'
    [ ! -e none.svg ] || fail "it leaves a figure"
fi

# Sizes that have names: the table, JSON, CSV and the figure have them
awk -F, -v OFS=, 'BEGIN { split("25 50 75 100 150 200 300", n, " "); split("S W A B C D E", to, " ")
    for (i in n) name[n[i]] = to[i] } $3 in name { $3 = name[$3] } { print }' "$sample" > named.csv
expect 0 "$PSNAP" hybrid named.csv -o again.csv
has out 'cg: scales predictably from n = B;'
has out 'size W on one'
expect 0 "$PSNAP" hybrid again.csv --json
python3 - << 'END'
import json
cg = json.load(open("out"))["codes"][0]
assert cg["sizes"] == list("SWABCDE") and cg["steady_from"] == "B", cg["sizes"]
assert cg["m0"][1]["points"][6]["size"] == "E"
END
if command -v gnuplot > /dev/null; then
    expect 0 "$PSNAP" hybrid named.csv --plot named.svg
    grep -q '>W<' named.svg || fail "no name on the axis"
fi

# Predictions of profiles on machines: the same when they are read again as CSV
cp "$PSNAP_SOURCE/tests/golden/tutorial_nests.psnap.yaml" larger.yaml # of another size, as --sizes has it
profiles=("$PSNAP_SOURCE/tests/golden/tutorial_nests.psnap.yaml" larger.yaml)
expect 0 "$PSNAP" hybrid "${profiles[@]}" --sizes 8,9 -m one.yaml -m two.yaml -o predicted.csv --json
[ "$(wc -l < predicted.csv)" = 5 ] || fail "$(cat predicted.csv)"
python3 - << 'END'
import csv, json
code, = json.load(open("out"))["codes"]
assert code["code"] == "matmul" and code["effects"] == [] and code["machines"] == ["one", "two"]
for row in csv.DictReader(open("predicted.csv")):
    row = {k: float(v) for k, v in row.items() if k not in ("code", "machine") and v}
    latency = sum(row[f"hits{i}"] * row[f"latency{i}"] for i in (2, 3, 4))
    assert abs(row["cpi"] - row["cpi_pipeline"] - row["cpi_memory"]) < 1e-12, row
    assert abs(row["m0"] - (1 - row["cpi_memory"] / latency)) < 1e-9 and 0 < row["m0"] < 1, row
END
expect 0 "$PSNAP" predict runtime "${profiles[0]}" -m one.yaml --method overlap --by total --json
python3 - << 'END'
import csv, json
report = json.load(open("out"))
row = next(csv.DictReader(open("predicted.csv")))
total, = report["rows"]
instructions = report["accesses"] + 3521 + 777 + 64 + 512 + 129 + 546 + 3 # operations, of the profile's totals
assert abs(float(row["cpi"]) - total["seconds"] * 3.65e9 / instructions) < 1e-9, (row, total)
H = [level["cumulative_hit_rate"] for level in total["levels"]]
assert abs(float(row["hits2"]) - (H[1] - H[0]) * report["accesses"] / instructions) < 1e-12
END
expect 0 "$PSNAP" hybrid predicted.csv --sizes-as-replicates --json
expect 0 "$PSNAP" hybrid "${profiles[0]}" -m one.yaml -m two.yaml --rates per-set --json
python3 -c 'import json; assert json.load(open("out"))["codes"][0]["sizes"] == [8]'
sed -e 's/name: one/name: small/; s/32K/1K/; s/32M/8K/; s/1M/4K/' one.yaml > small.yaml
expect 0 "$PSNAP" hybrid "${profiles[0]}" -m one.yaml -m small.yaml --rates simulation -o simulated.csv --json
expect 0 "$PSNAP" sim "${profiles[0]}" -m one.yaml -m small.yaml --by total --json
python3 - << 'END'
import csv, json
simulated = {row["machine"]: row for row in json.load(open("out"))["rows"]}
for row in csv.DictReader(open("simulated.csv")):
    sim = simulated[row["machine"]]
    H = [level["cumulative_hit_rate"] for level in sim["levels"]] + [1]
    accesses = sim["accesses"] / (sim["accesses"] + 5552) # and operations
    for i in (2, 3, 4):
        assert abs(float(row[f"hits{i}"]) - (H[i - 1] - H[i - 2]) * accesses) < 1e-12, (row, H)
END
expect 2 "$PSNAP" hybrid "${profiles[@]}" -m one.yaml
has err 'one machine alone'
expect 2 "$PSNAP" hybrid "${profiles[@]}" -m one.yaml -m two.yaml --sizes 8
has err '--sizes has 1 size for 2 inputs: give one for each, in order'
expect 2 "$PSNAP" hybrid "${profiles[@]}" -m one.yaml -m two.yaml --sizes 8,9,10
has err '--sizes has 3 sizes for 2 inputs'
expect 2 "$PSNAP" hybrid "${profiles[@]}" -m one.yaml -m two.yaml --sizes 8,
has err "--sizes takes a positive number for each input, not '' for 'larger.yaml'"
expect 1 "$PSNAP" hybrid larger.yaml larger.yaml -m one.yaml -m two.yaml
has err "larger.yaml: size 8 of code 'matmul' on machine 'one' is predicted from 'larger.yaml' already"
expect 2 "$PSNAP" hybrid larger.yaml
has err "'larger.yaml' is a profile: give two machines or more to predict it on (-m)"
"$PSNAP" replay larger.yaml -o larger.pst 2> err
expect 2 "$PSNAP" hybrid battery.csv larger.pst
has err "'larger.pst' is a trace: give two machines or more"
expect 2 "$PSNAP" hybrid battery.csv "${profiles[0]}" -m one.yaml -m two.yaml
has err 'inputs are CSV or profiles, not both'

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
refuses "bad.csv:7:25: cpi is 'nan': a finite number is needed" '7s/,[0-9]+$/,nan/'
refuses "bad.csv:3:25: cpi is -155, and cannot be below 0" '3s/155/-155/'
refuses "too few replicates" '/,[234],[0-9]+$/d'
refuses "bad.csv:6: code 'battery' has no observation of size 70 on machine 'material 2': an empty cell" '/material 2,70/d'
refuses "on one machine alone" '/material [23]/d'
refuses "at one size alone" '/,(70|125),/d'
refuses "constant response" '2,$s/,[0-9]+$/,5/'
refuses "bad.csv:1:1: no column 'cpi'" '1s/cpi/cycles/'
refuses "replicates that are all the same" 's/(.*) ([0-9]),([0-9]+),([0-9]),[0-9]+$/\1 \2,\3,\4,\2\3/'
cat > falling.csv << 'END'
code,machine,size,replicate,cpi,accesses_per_instruction,hit_rate1,hit_rate2
cg,A,10,1,2,0.4,0.95,0.90
END
expect 1 "$PSNAP" hybrid falling.csv
has err "falling.csv:2:22: hit_rate2 is 0.9, below hit_rate1, 0.95: rates are cumulative"
sed 's/cpi$/cpi,colour/; 2,$s/$/,red/' battery.csv > colour.csv
expect 0 "$PSNAP" hybrid colour.csv
has err "colour.csv:1:33: the column 'colour' is not read"
expect 1 "$PSNAP" hybrid battery.csv battery.csv
has err "battery.csv:2: replicate '1' of code 'battery', machine 'material 1', size 15 is on line 2 of 'battery.csv' already"
expect 1 "$PSNAP" hybrid nowhere.csv
has err nowhere.csv

# A record has limits, of empty fields too
head -c 40000000 /dev/zero | tr '\0' , > commas.csv
expect 1 "$PSNAP" hybrid commas.csv
has err "commas.csv:1:4097: a record of more than 4096 fields"

# Wrong usage
expect 2 "$PSNAP" hybrid
expect 2 "$PSNAP" hybrid battery.csv --level 0
expect 2 "$PSNAP" hybrid battery.csv --level 1
expect 2 "$PSNAP" hybrid battery.csv --steady 0
expect 2 "$PSNAP" hybrid battery.csv --rates exact
expect 2 "$PSNAP" hybrid battery.csv --sizes 1
expect 2 "$PSNAP" hybrid battery.csv --rates sdcm
has err '--rates are those of profiles'
expect 2 "$PSNAP" hybrid battery.csv --seed 1
expect 2 "$PSNAP" hybrid battery.csv --plot m0.pdf
expect 2 "$PSNAP" hybrid battery.csv --json -o -
expect 2 "$PSNAP" hybrid - -
exit 0
