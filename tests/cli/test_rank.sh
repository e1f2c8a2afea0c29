#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# psnap rank: published run times and relative speeds; the samples, whose figures a script works out anew;
# what RANK.md shows; predictions of profiles; CSV that is read again; bad input and usage.
set -eu
. "$(dirname "$0")/common.sh"
samples=$PSNAP_SOURCE/samples/rank

# Run times of five programs on three systems, and geometric means of relative speeds: Null and Lobur, "The
# Essentials of Computer Organization and Architecture", chapter 10, tables 10.4 and 10.5
python3 - << 'EOF'
times = {"A": (50, 200, 250, 400, 5000), "B": (100, 400, 500, 800, 4100), "C": (500, 600, 500, 800, 3500)}
with open("book.csv", "w") as f:
    print("machine,seconds,application", file=f)
    for machine, seconds in times.items():
        for program, s in zip("vwxyz", seconds):
            print(f"{machine},{s},{program}", file=f)
EOF
expect 0 "$PSNAP" rank book.csv --base B
grep -Eq '^geometric mean +1\.673 +1\.000 +0\.690$' out || fail "other speeds: $(cat out)"
has out 'order by measured times: A > B > C'
has out 'relative to B; means are of the 5 cases of 5 that all machines have'
has out 'inversions have no probabilities, as the error is not known: --error gives it'
expect 0 "$PSNAP" rank book.csv # C is the slowest
grep -Eq '^geometric mean +2\.426 +1\.450 +1\.000$' out || fail "other speeds: $(cat out)"
grep -Eq '^v +10\.000 +5\.000 +1\.000$' out || fail "other speeds: $(cat out)"

# The samples: predictions are of the bandwidths that they name, all figures as they are defined
cat > check.py << 'EOF'
import csv, itertools, json, math, statistics
def table(name):
    with open(name) as f:
        return list(csv.DictReader(line for line in f if not line.startswith("#")))
folder = __import__("sys").argv[1]
text = open(folder + "/p3hpc2019_by_bandwidth.csv").read().replace("\n#", "")
bandwidths = {}
for part in text[text.index("Skylake 205365"):text.index("application,")].strip(" .\n").split(","):
    name, value = part.strip(" .").rsplit(" ", 1)
    bandwidths[name] = float(value)
assert len(bandwidths) == 7, bandwidths
measured, predicted = {}, {}
for row in table(folder + "/p3hpc2019.csv"):
    measured[row["application"], row["machine"]] = float(row["seconds"]) if row["seconds"] else None
for row in table(folder + "/p3hpc2019_by_bandwidth.csv"):
    predicted[row["application"], row["machine"]] = float(row["predicted"])
mean = statistics.geometric_mean
for application in {a for a, m in predicted}:
    factor = mean(measured[application, m] for m in bandwidths) * mean(bandwidths.values())
    for m, b in bandwidths.items():
        assert abs(predicted[application, m] - factor / b) < 0.06, (application, m, factor / b)

report = json.load(open("out"))
assert report["psnap"] == 1 and report["command"] == "rank" and report["ranked_by"] == "predicted"
assert report["base"] == "Skylake" and report["threshold"] == 0.05 and report["order_by"] == "geometric mean"
assert report["common_measured"] == 3 and report["common_predicted"] == 2
near = lambda a, b: abs(a - b) <= 1e-9 * max(1, abs(b)) or exit(f"{a} is not {b}")
logs = [math.log(p / measured[key]) for key, p in predicted.items()]
near(report["error"]["sigma"], statistics.stdev(logs)), near(report["error"]["bias"], statistics.mean(logs))
near(report["error"]["mean_absolute"], statistics.mean(abs(math.exp(l) - 1) for l in logs))
assert report["error"]["pairs"] == 14 and report["error"]["given"] is False
common = [a for a in ("CloverLeaf", "TeaLeaf", "Neutral")]
for machine in report["machines"]:
    name = machine["machine"]
    speeds = [measured[a, "Skylake"] / measured[a, name] for a in common]
    near(machine["measured"]["speed"], mean(speeds))
    near(machine["measured"]["speed_geometric_sd"], math.exp(statistics.stdev(map(math.log, speeds))))
    near(machine["measured"]["speed_lowest"], min(speeds)), near(machine["measured"]["speed_highest"], max(speeds))
    near(machine["predicted"]["geometric_mean_seconds"], mean([predicted["CloverLeaf", name], predicted["TeaLeaf", name]]))
order = [m["machine"] for m in report["machines"]]
assert order == sorted(bandwidths, key=lambda m: -bandwidths[m]) and [m["place"] for m in report["machines"]] == list(range(1, 8))
phi = statistics.NormalDist().cdf
total = {"expected_inversions": 0, "inversions": 0, "inversions_over_threshold": 0, "cases": 0}
for pair, (a, b) in zip(report["pairs"], itertools.combinations(order, 2)):
    assert (pair["faster"], pair["slower"]) == (a, b)
    want = dict.fromkeys(total, 0)
    for application in ("CloverLeaf", "TeaLeaf"):
        p, t = [[times[application, m] for m in (a, b)] for times in (predicted, measured)]
        want["cases"] += 1
        want["expected_inversions"] += phi(-abs(math.log(p[0] / p[1])) / (report["error"]["sigma"] * math.sqrt(2)))
        if p[0] > p[1]:
            p.reverse(), t.reverse()
        want["inversions"] += t[0] > t[1]
        want["inversions_over_threshold"] += t[0] > 1.05 * t[1]
    for key in want:
        near(pair[key], want[key])
        total[key] += want[key]
    near(pair["inversion_probability"], want["expected_inversions"] / 2)
    near(pair["order_inversion_probability"], phi(-math.log(pair["ratio"]) / report["error"]["sigma"]))
for key in total:
    near(report["total"][key], total[key])
assert report["total"]["inversions"] == 6 and len(report["pairs"]) == 21
missing, = [t for c in report["cases"] if c["application"] == "MiniFMM" for t in c["times"] if t["machine"] == "NEC Aurora"]
assert missing["seconds"] is None and missing["speed"] is None and missing["predicted"] is None
taus = []
for case in report["cases"]:
    a = case["application"]
    if (a, "KNL") not in predicted:
        assert case["tau"] is None
        continue
    signs = [(predicted[a, m] - predicted[a, n]) * (measured[a, m] - measured[a, n]) for m, n in itertools.combinations(order, 2)]
    taus.append(sum((s > 0) - (s < 0) for s in signs) / 21)
    near(case["tau"], taus[-1])
near(report["tau"], statistics.mean(taus))
EOF
expect 0 "$PSNAP" rank "$samples"/p3hpc2019.csv "$samples"/p3hpc2019_by_bandwidth.csv --base Skylake --threshold 0.05 --json
[ ! -s err ] || fail "it says $(cat err)"
python3 check.py "$samples" || fail "other figures"

# What the document shows is what comes out
expect 0 "$PSNAP" rank "$samples"/p3hpc2019.csv "$samples"/p3hpc2019_by_bandwidth.csv --threshold 0.05
grep -Eq '^MiniFMM .* 116\.2 +-$' out || fail "the missing run is not shown: $(cat out)"
awk '/^```text$/ { shown = 1; next } /^```$/ { if (shown) exit } shown' "$PSNAP_SOURCE/predict/rank/RANK.md" > shown
[ "$(wc -l < shown)" -ge 20 ] || fail "the document shows little"
tail -n "$(wc -l < shown)" out | diff shown - || fail "the document differs"

# CSV says the same when it is read again; pairs
expect 0 "$PSNAP" rank "$samples"/p3hpc2019.csv "$samples"/p3hpc2019_by_bandwidth.csv --threshold 0.05 --json
mv out report.json
expect 0 "$PSNAP" rank "$samples"/p3hpc2019.csv "$samples"/p3hpc2019_by_bandwidth.csv --csv all.csv --pairs pairs.csv
expect 1 "$PSNAP" rank "$samples"/p3hpc2019.csv --csv all.csv
has err all.csv
expect 0 "$PSNAP" rank all.csv --threshold 0.05 --json
[ ! -s err ] || fail "it says $(cat err)"
cmp out report.json || fail "its own CSV says something else"
expect 0 "$PSNAP" rank "$samples"/p3hpc2019.csv --csv -
[ "$(head -n 1 out)" = application,input,cores,machine,seconds,predicted,error,speed,predicted_speed ] || fail "$(cat out)"
[ "$(wc -l < out)" = 29 ] || fail "$(cat out)"
python3 - << 'EOF'
import csv, json
pairs, report = list(csv.DictReader(open("pairs.csv"))), json.load(open("report.json"))
assert len(pairs) == 21
for pair, other in zip(pairs, report["pairs"]):
    for key, value in pair.items():
        if key != "inversions_over_threshold":
            assert str(other[key]) == value or float(value) == other[key], (key, value, other)
EOF

# Predictions of a profile on two machines, with runs that were measured beside them (made up here)
profile=$PSNAP_SOURCE/tests/golden/tutorial_nests.psnap.yaml
expect 0 "$PSNAP" predict runtime "$profile" -m "$PSNAP_SOURCE/samples/machines/complete.yaml" \
    -m "$PSNAP_SOURCE/samples/machines/octa.yaml" --json
mv out predicted.json
expect 0 "$PSNAP" rank - --error 0.2 --json < predicted.json
mv out ranked.json
python3 - << 'EOF'
import json, math, statistics
rows = [r for r in json.load(open("predicted.json"))["rows"] if r["scope"] == "total"]
report = json.load(open("ranked.json"))
seconds = {r["machine"]: r["seconds"] for r in rows if r["method"] == "overlap"}
case, = report["cases"]
assert case["application"] == "tutorial_nests" and len(seconds) == 2
assert {t["machine"]: t["predicted"] for t in case["times"]} == seconds
ratio = max(seconds.values()) / min(seconds.values())
p = statistics.NormalDist().cdf(-math.log(ratio) / (0.2 * math.sqrt(2)))
assert abs(report["total"]["inversion_probability"] - p) < 1e-12 and report["error"]["given"] is True
published = {r["machine"]: r["seconds"] for r in rows if r["method"] == "published"}
with open("measured.csv", "w") as f:
    print("application,machine,seconds", file=f)
    for machine, s in published.items():
        print(f"tutorial_nests,{machine},{s / 1.25!r}", file=f)
EOF
expect 0 "$PSNAP" rank measured.csv predicted.json --method published
has out '(+25.0 %)'
has out 'error of 2 predictions: 25.0 % on average; bias +25.0 %'
has err '2 run times are predicted and measured, too few to estimate the error of predictions (3 are needed)'
expect 1 "$PSNAP" rank predicted.json --method nonsense
has err "no row of scope 'total' by method nonsense: --method chooses one"

# Predictions by bandwidths that were fitted on two computers, each 'host' in its own file: of 1000 lines that are far
# from each other, once each; the method is that of the least error in the file
for computer in 4:old 2:new; do
    {
        printf 'psnap_maps: 1\nmachine:\n  name: host\n  levels:\n  - {size_bytes: 4K, line_bytes: 64, ways: 4}\npoints:\n'
        for rate in 0 0.125 0.25 0.375 0.5 0.625 0.75 0.875 1; do
            echo "$rate ${computer%:*}" | awk '{ printf "- {size_bytes: 1024, stride_words: 8, hit_rates: [%g], ", $1
                printf "bandwidth_bytes_per_s: %.6e}\n", 8e9 / (0.5 * $1 + $2 * (1 - $1)) }'
        done
    } > points.yaml
    expect 0 "$PSNAP" fit points.yaml --as-published --folds 3 -o "fit_${computer#*:}.yaml"
done
for ((i = 0; i < 1000; i++)); do printf '0 %x\n' $((i * 65536)); done > far.din
for computer in old new; do
    expect 0 "$PSNAP" predict bandwidth far.din --from din --fit fit_$computer.yaml --by total --json
    mv out $computer.json
    expect 0 "$PSNAP" predict bandwidth far.din --from din --fit fit_$computer.yaml --by total --method all --json
    mv out all_$computer.json
done
expect 0 "$PSNAP" rank old=old.json new=new.json --json
mv out named.json
expect 0 "$PSNAP" rank old=all_old.json new=- --json < all_new.json
python3 - << 'EOF'
import json
named, every = json.load(open("named.json")), json.load(open("out"))
assert [m["machine"] for m in named["machines"]] == ["new", "old"], named["machines"]
case, = named["cases"]
predicted = {t["machine"]: t["predicted"] for t in case["times"]}
assert case["application"] == "far" and abs(predicted["old"] / predicted["new"] / 2 - 1) < 0.1, predicted
for computer, seconds in predicted.items():
    row, = json.load(open(computer + ".json"))["rows"]
    assert row["machine"] == "host" and row["seconds"] == seconds, row
    assert len(json.load(open(f"all_{computer}.json"))["rows"]) > 1
assert every == named, every
EOF
expect 0 "$PSNAP" rank old=all_old.json new=all_new.json --method additive
expect 1 "$PSNAP" rank old.json new.json
has err "a run time of 'far' on 'host' is there already, from line"
has err "of 'old.json': where the files are of two machines of this name, NAME=FILE gives one another name"
expect 0 "$PSNAP" rank old.json new=new.json
has out 'order by predicted times: new > host'
cp old.json a=b.json # a file of this name is one
expect 0 "$PSNAP" rank a=b.json new=new.json
has out 'order by predicted times: new > host'
expect 1 "$PSNAP" rank old=nowhere.json new=new.json
has err "'nowhere.json'"
expect 1 "$PSNAP" rank one=book.csv
has err "book.csv:7:3: 'one' was to name the machine of a file that has two, 'A' and 'B'"

# Probabilities at the ends
printf 'application,machine,seconds\ncg,A,1\ncg,B,2\nlu,A,3\nlu,B,3\n' > two.csv
for end in 0:0.2500 0.000001:0.2500 3:0.4676; do
    expect 0 "$PSNAP" rank two.csv --error ${end%:*}
    grep -Eq "^A +B +2 +1 +1\.414 +${end#*:} " out || fail "$end: $(cat out)"
done

# Bad input: each with its place and what to do
refuses() # WANTED LINES: of a CSV whose head is there
{
    printf 'application,machine,seconds\n%b' "$2" > bad.csv
    expect 1 "$PSNAP" rank bad.csv
    has err "$1"
    expect 1 "$PSNAP" rank bad.csv --json
    python3 -c 'import json; assert json.load(open("out"))["error"]["message"]'
}
refuses "bad.csv:2:6: seconds is 'nan': a run time above 0 is needed" 'cg,A,nan\n'
refuses "bad.csv:3:6: seconds is '-1'" 'cg,A,1\ncg,B,-1\n'
refuses "bad.csv:3:6: seconds is '0'" 'cg,A,1\ncg,B,0\n'
refuses "bad.csv:4:6: a run time of 'cg' on 'A' is there already, from line 2 of 'bad.csv'" 'cg,A,1\ncg,B,1\ncg,A,2\n'
refuses "all run times are of one machine, 'A': a ranking needs two" 'cg,A,1\nlu,A,2\n'
refuses "no case has measured run times of two machines: are application, input and cores written alike" 'cg,A,1\nlu,B,2\n'
refuses "there are no run times" ''
refuses "bad.csv:2:1: 4 fields where the first line has 3" 'cg,A,1,2\n'
printf 'application,machine,runtime\ncg,A,1\n' > bad.csv
expect 1 "$PSNAP" rank bad.csv
has err "bad.csv:1:1: no column 'seconds'"
sed 's/$/,x/; 1s/x$/colour/' two.csv > colour.csv
expect 0 "$PSNAP" rank colour.csv
has err "colour.csv:1:29: the column 'colour' is not read"
expect 1 "$PSNAP" rank two.csv --base C
has err "no run time is of machine 'C', which --base names; the first one is of 'A'"
expect 1 "$PSNAP" rank nowhere.csv
has err nowhere.csv
expect 1 "$PSNAP" rank "$profile"

# Usage
expect 2 "$PSNAP" rank
expect 2 "$PSNAP" rank - -
expect 2 "$PSNAP" rank old=- new=-
expect 2 "$PSNAP" rank two.csv --error -0.1
expect 2 "$PSNAP" rank two.csv --error 10
has err 'as 0.1 for 10 %'
expect 2 "$PSNAP" rank two.csv --threshold 2
expect 2 "$PSNAP" rank two.csv --json --csv -
expect 2 "$PSNAP" rank two.csv --csv x.csv --pairs x.csv
expect 2 "$PSNAP" rank two.csv --csv all.csv -f # --force alone, as of all commands
expect 0 "$PSNAP" rank --help
has out 'usage: psnap rank'
