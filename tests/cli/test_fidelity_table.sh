#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# tests/fidelity/table.py: the means over the paper's programs and over all
# samples, of comparisons made up here, and what is set beside which.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

# sample NAME POINTS: at all levels, of the mean, the largest and the total alike
sample()
{
    local points="[$2, $2, $2]"
    cat > "$1.json" << END
{"rows": [{"machine": "m", "scope": "loop", "id": "f:1", "share": 1, "levels":
 [{"level": 1, "observed": 0.5, "synthetic": 0.5, "error_points": $2}]}],
 "summary": {"mean_points": $points, "max_points": $points, "total_points": $points}}
END
    echo > "$1.yaml"
}

# means: what the table says over samples
means()
{
    python3 "$PSNAP_SOURCE/tests/fidelity/table.py" psnap print . all | sed -n 's/  */ /g; /^mean/p'
}

for name in cg ft stream nbody jacobi3d; do sample $name 1; done
sample matmul 13
n=" 3.00 3.00 3.00"
means > out
echo "mean, all$n$n$n" | diff - <(sed 's/ *$//' out) # five of six are not the six

sample lu 7
n=" 2.00 2.00 2.00" m=" 3.57 3.57 3.57"
means > out
diff - <(sed 's/ *$//' out) << END
mean, the paper's six$n$n$n 2.2/1.9/1.8
mean, all$m$m$m
END

# the committed table has both
grep -q "^| mean, the paper's six |.*| 2.2/1.9/1.8 |" "$PSNAP_SOURCE/tests/fidelity/psnap.md"
grep -q "^| mean, all |" "$PSNAP_SOURCE/tests/fidelity/psnap.md"
# nests: not beside the paper's, but on other kinds of machines
printf '{"rows": [], "summary": {"mean_points": [0.5, 0.25, null], "max_points": [1, 1, 1],
    "total_points": [1, 1, 1]}}' > cg.others
python3 "$PSNAP_SOURCE/tests/fidelity/table.py" nests print . all > out
grep -Eq '^sample .* others ' out
grep -Eq '^cg .* 0.5/0.25/0 ' out
if grep -q "the paper's" out; then exit 1; fi

# what is reached of what is asked: means of samples of means of rows; misses where at least 1 %
mkdir asked
cat > asked/cg.json << END
{"rows": [
 {"machine": "table1-1", "scope": "loop", "id": "f:1", "share": 0.6, "levels":
  [{"level": 1, "observed": 0.80, "synthetic": 0.81, "error_points": 1},
   {"level": 2, "observed": 0.995, "synthetic": 0.990, "error_points": 0.5}]},
 {"machine": "table1-1", "scope": "loop", "id": "f:2", "share": 0.4, "levels":
  [{"level": 1, "observed": 0.90, "synthetic": 0.87, "error_points": 3}]},
 {"machine": "table1-1", "scope": "total", "share": 1, "id": "", "levels":
  [{"level": 1, "observed": 0.84, "synthetic": 0.84, "error_points": 0}]},
 {"machine": "tlb-64", "scope": "loop", "id": "f:1", "share": 0.6, "levels":
  [{"level": 1, "observed": 0.60, "synthetic": 0.66, "error_points": 6}]}],
 "summary": {"mean_points": [], "max_points": [], "total_points": []}}
END
sed 's/"error_points": [0-9.]*/"error_points": 0/; s/"observed": [0-9.]*/"observed": 1/
    s/"synthetic": [0-9.]*/"synthetic": 1/' asked/cg.json > asked/stream.json
head -c 1024 /dev/zero > asked/cg.yaml
head -c 3072 /dev/zero > asked/stream.yaml
irregular=" cg " python3 "$PSNAP_SOURCE/tests/fidelity/table.py" nests print asked all |
    sed -n 's/ (asked .*//; /^[a-z].*: /p' > out
diff - out << END
loops, mean: 1.00/0.25/-
loops of irregular samples, mean: 2.00/0.50/-
loops, largest: 3.0/0.5/-
whole stream, mean: 0.00/-/-
loops on other kinds of machines, mean: 3.00/-/-
misses, %, mean over rows with at least 1 %: 12.5
profile, KB, median and largest: 3, 3
END
# (5 % of 0.20 missed, 30 % of 0.10, 0 % of 0.16, 15 % of 0.40: 50 / 4)

# accepted for some samples: their lines and rows are new, those of others stay, in order
mkdir mine some
cp "$PSNAP_SOURCE/tests/fidelity/table.py" mine
python3 mine/table.py psnap accept . all > /dev/null
cp mine/psnap.csv before.csv
(cd some && sample ft 5 && sample aa 2)
python3 mine/table.py psnap accept some some > /dev/null
[ "$(sed -n 's/^| \([a-z0-9]*\) |.*/\1/p' mine/psnap.md | tr '\n' ' ')" = \
    "sample aa cg ft jacobi3d lu matmul nbody stream " ]
grep -q "^| ft | 1 | 5.00/5.00/5.00 |" mine/psnap.md
grep -q "^| mean, all |  | 3.88/3.88/3.88 |" mine/psnap.md # (2 + 1 + 5 + 1 + 7 + 13 + 1 + 1) / 8
sed '/^ft,/d' before.csv > expected
sed '/^ft,/d; /^aa,/d' mine/psnap.csv | diff expected -
grep -q "^ft,m,loop,f:1,1.0000,1,0.500000,0.500000,5.000" mine/psnap.csv

# a sample that was not measured is missed in a run of all, and a row that a sample has no more
python3 mine/table.py psnap check some some > /dev/null
mkdir all
cp ./*.json ./*.yaml all
cp some/* all
python3 mine/table.py psnap check all all > /dev/null
rm all/ft.json all/ft.yaml
if python3 mine/table.py psnap check all all > out; then exit 1; fi
grep -q "^missing: ('ft', 'm', 'loop', 'f:1', 1)" out
sed 's/"f:1"/"f:2"/' some/ft.json > all/ft.json
cp some/ft.yaml all
if python3 mine/table.py psnap check all all > out; then exit 1; fi
grep -q "^missing: ('ft', 'm', 'loop', 'f:1', 1)" out
grep -q "^no such row is committed: ('ft', 'm', 'loop', 'f:2', 1)" out
sample matmul 14
if python3 mine/table.py psnap check . some > out; then exit 1; fi
grep -q "^worse: ('matmul', 'm', 'loop', 'f:1', 1): 14[.0]* points, committed 13[.0]*$" out
