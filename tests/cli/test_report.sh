#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# psnap report: pages of a trace, a profile, both beside each other, two profiles, several machines,
# with the numbers of psnap sim, predict, locality and compare; names that would be markup; with
# gnuplot, with one that fails, and without; mistakes. report_page.py checks what each page has to be.
set -eu
. "$PSNAP_SOURCE/tests/cli/common.sh"

golden=$PSNAP_SOURCE/tests/golden/tutorial_nests.psnap.yaml
page() { # PAGE ARGUMENTS...: it is a page
    python3 "$PSNAP_SOURCE/tests/report_page.py" "$@" || fail "the page $*"
}
drawn=0
command -v gnuplot > /dev/null && drawn=1

# 1002 accesses: a walk by words, and one that comes round, in turn
{
    echo address,size,kind,thread,ref
    for i in $(seq 0 8 4000); do
        printf '0x%x,8,load,0,0\n0x%x,8,store,0,1\n' $((4096 + i)) $((40960 + i % 512))
    done
} > walk.csv
"$PSNAP" profile walk.csv -o walk.yaml 2> err

# ------------------------------------------------------------------- one input
expect 0 "$PSNAP" report walk.csv -o walk.html -m 1K:64:2,8K:64:4
[ ! -s out ] || fail "output: $(cat out)"
# hit rates, misses, working sets, strides, a surface
page walk.html --figures $((5 * drawn)) --has 'observed' --has '1,002' --has '1K:64:2,8K:64:4' --has walk.csv
"$PSNAP" sim walk.csv -m 1K:64:2,8K:64:4 --by total --json > sim.json
"$PSNAP" predict cache walk.csv -m 1K:64:2,8K:64:4 --method sdcm --json > sdcm.json
"$PSNAP" locality walk.csv --by total --json > locality.json
"$PSNAP" reuse walk.csv --json > reuse.json
python3 - << 'END'
import json, re
text = re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", open("walk.html").read()))
levels = json.load(open("sim.json"))["rows"][0]["levels"]
rows = [r for r in json.load(open("sdcm.json"))["rows"]
        if r["method"] == "sdcm" and r["scope"] == "total"]
line = " ".join(f"{100 * s['cumulative_hit_rate']:.2f} {100 * p['cumulative_hit_rate']:.2f}"
                for s, p in zip(levels, rows[0]["levels"]))
assert f"whole program {line}" in text, line
locality = json.load(open("locality.json"))["rows"][0]
assert f"{locality['spatial']:.3f} {locality['temporal']:.3f}" in text
total = json.load(open("reuse.json"))["scopes"][0]
misses = [1 - sum(n for d, n in total["histogram"] if d < lines) / total["accesses"] for lines in (16, 64, 256)]
assert "whole program " + " ".join(f"{m:.3f}" for m in misses) in text, misses
END
expect 1 "$PSNAP" report walk.csv -o walk.html
has err "exists"
expect 0 "$PSNAP" report walk.csv -o walk.html --force
page walk.html --has 'i7-5960x'
expect 0 "$PSNAP" report walk.yaml -o profile.html
page profile.html --has 'synthetic' --has 'profile, replayed' --has 'record --certify makes one'
"$PSNAP" report - -o - < walk.csv > piped.html 2> err
page piped.html --figures $((5 * drawn))

# working sets are lines that are touched, not what lies between them: 300 lines, far apart
{
    echo address,size,kind,thread,ref
    for i in $(seq 1 300); do
        printf '0x%x,8,load,0,0\n' $(((i % 2 << 40) + i * 1048576))
    done
} > far.csv
"$PSNAP" profile far.csv -o far.yaml 2> err
expect 0 "$PSNAP" report far.csv far.yaml -o far.html
[ "$(grep -cE '>18.8 KiB</td><td class="n">18.8 KiB<' far.html)" -ge 4 ] || fail "working sets"

# ----------------------------------------------------------------- two and more
# in any order: the trace is what the profile is held against, which is exact
expect 0 "$PSNAP" report walk.yaml walk.csv -o both.html
page both.html --figures $((6 * drawn)) --has 'synthetic' --has 'by 0.0000 (0: the same' --has ' 0.000 points at L1, 0.000 points at L2'
"$PSNAP" report walk.csv walk.yaml -o again.html
cmp both.html again.html || fail "the order of inputs matters"
# what if: an array of a matrix product as wide as 64 of them; as psnap compare has it
"$PSNAP" edit "$golden" -e 'regions[b].working_set *= 64' -o wide.yaml
expect 0 "$PSNAP" report "$golden" wide.yaml -m 1K:64:2 -m table1-3 -o if.html
page if.html --has 'what if' --has 'table1-3'
"$PSNAP" compare "$golden" wide.yaml -m 1K:64:2 -m table1-3 --json > compare.json
python3 - << 'END'
import json, re
page = open("if.html").read()
section = page[page.index('<section id="comparison"'):]
section = section[:section.index("</section>")]
row = re.search(r'<tr><th scope="row">multiply:39<.*?</th>(.*)', section).group(1)
cells = re.findall(r'<td class="n">(.*?)</td>', row)
# as many accesses, and fewer hits
assert cells[:3] == ["1,024", "1,024", "1.1 KiB"] and cells[4].startswith("-"), cells
mean = json.load(open("compare.json"))["summary"]["mean_points"]
assert f"{mean[0]:.3f} points at L1" in section, mean
END
expect 0 "$PSNAP" report walk.csv walk.csv walk.yaml walk.yaml -o four.html
page four.html --has 'observed 2' --has 'what if'

# loops are ranked: those with most accesses first, all of them once
"$PSNAP" sim "$golden" -m i7-5960x --by loop --json > sim.json
"$PSNAP" report "$golden" -o matmul.html
page matmul.html --has 'matmul' --has './matmul 8'
python3 - << 'END'
import html, json, re
page = open("matmul.html").read()
section = page[page.index('<section id="loops"'):]
section = section[:section.index("</section>")]
found = re.findall(r'<tr><th scope="row">(.*?)<small>.*?<td class="n">([0-9,]+)</td>', section)
rows = json.load(open("sim.json"))["rows"]
assert [(html.unescape(i), int(n.replace(",", ""))) for i, n in found] == \
       [(r["id"], r["accesses"]) for r in rows] and len(found) > 2, found
END

# certificates: one that holds, and one of a profile that was edited since
"$PSNAP" profile walk.csv --certify -o certified.yaml 2> err
"$PSNAP" report certified.yaml -o certified.html
page certified.html --has 'It holds' --has 'all machines' --has 'it does not say what its loops compute'
sed 's/offset: 4096}/offset: 8192}/' certified.yaml > edited.yaml
expect 0 "$PSNAP" report edited.yaml -o edited.html
page edited.html --has 'It no longer holds: the profile was edited'

# run times: those of psnap predict runtime; what is not predicted has a reason
machine=$PSNAP_SOURCE/samples/machines/complete.yaml
"$PSNAP" report "$golden" -m "$machine" -m 1K:64:2 -o times.html
page times.html --has "machine '1K:64:2' lacks clock_hz"
"$PSNAP" predict runtime "$golden" -m "$machine" --json > runtime.json
python3 - << 'END'
import html, json, re
page = open("times.html").read()
section = page[page.index('<section id="times"'):]
units = {"s": 1, "ms": 1e-3, "\u00b5s": 1e-6, "ns": 1e-9}
columns = {"published": 0, "throughput": 1, "overlap": 2}
compared = 0
for row in json.load(open("runtime.json"))["rows"]:
    if row["scope"] not in ("total", "loop") or not row["accesses"] > 0:
        continue
    name = "whole program" if row["scope"] == "total" else html.escape(row["id"])
    cells = re.search(r'<th scope="row">' + re.escape(name) + "</th>(.*)", section).group(1)
    shown = [float(n) * units[u] for n, u in re.findall(r'<td class="n">([0-9.e-]+) (.?s)</td>', cells)]
    assert abs(shown[columns[row["method"]]] / row["seconds"] - 1) < 0.01, (row, shown)
    compared += 1
assert compared > 6, compared
END
"$PSNAP" report - -m "$machine" -o piped.html --force < "$golden"
page piped.html --has 'it came from a pipe'

# parts: of a run, and of inputs
sed 's/region_limit: 128}/region_limit: 128, sampling: {skip: 5, count: 1002}}/' walk.yaml > part.yaml
expect 0 "$PSNAP" report part.yaml -o part.html --skip 2 --count 900
page part.html --has 'a part of a run' --has '2 accesses are left out at the start, and at most 900 are taken'
# of an input that is very long a page has a part, and says so
endless 0 > endless.yaml
expect 0 "$PSNAP" report endless.yaml -o endless.html
has err "endless.yaml: the page has its first 100000000 accesses; with --count N it has N"
page endless.html --has 'at most 100,000,000 are taken' --has 'are estimated by one access in 381,'
# a format that is said is that of traces
"$PSNAP" convert walk.csv -o walk.champsim -f champsim 2> err
"$PSNAP" profile walk.champsim --from champsim -o champsim.yaml 2> err
expect 0 "$PSNAP" report champsim.yaml walk.champsim --from champsim -o champsim.html

# of many loops tables have the first 300, and say so
python3 - << 'END' > many.yaml
n = 350
print("psnap: 1\nprogram: {thread: all}\ncapture: {model: nests-3, region_gap_bytes: 256, "
      "region_limit: 128}\nschedule:")
for i in range(n):
    print(f"- f{i}")
print("loops:")
for i in range(n):
    print(f"""- id: f{i}
  function: f{i}
  nest: {{depth: 0}}
  accesses: {100 + i}
  regions:
  - id: r1
    working_set: {{bytes: {8 * (100 + i)}, group: raw, offset: {65536 * (i + 1)}}}
    accesses: {100 + i}
    loads: {100 + i}
    sizes: {{8: {100 + i}}}
  bodies:
  - {{id: f{i}, refs: [0], iterations: {100 + i}}}
  references:
  - {{ref: 0, load: 8, region: r1, start: 0, counts: [{100 + i}], strides: [8]}}""")
END
expect 0 "$PSNAP" report many.yaml -o many.html
"$PSNAP" report many.yaml -o - > again.html
cmp many.html again.html || fail "not the same page twice"
page many.html --has 'The 300 hottest of 350 loops' --has 'f349'
grep -q '<th scope="row">f0<' many.html && fail "the coldest is there"

# threads: in the input's order, and said so
{
    echo address,size,kind,thread,ref
    seq -f '0x%.0f,8,load,0,0' 1000 8 1800
    seq -f '0x%.0f,8,load,1,0' 9000 8 9800
} > threads.csv
"$PSNAP" report threads.csv -o threads.html
page threads.html --has "2, one hierarchy, in the stream's order"

# ------------------------------------------------------- names that would be markup
python3 - << 'END'
evil = "'</td><script>alert(1)</script>--><b onmouseover=x>\"&amp;'''"
text = open("walk.yaml").read()
for key in ("id: ", "function: ", "- "):
    text = text.replace(key + "csv", key + evil)
text = text.replace("{thread: all}", f"{{name: {evil}, command: [{evil}], thread: all}}")
open("hostile.yaml", "w").write(text)
END
expect 0 "$PSNAP" check hostile.yaml
cp hostile.yaml "<img src=x onerror=alert(1)>.yaml"
expect 0 "$PSNAP" report hostile.yaml "<img src=x onerror=alert(1)>.yaml" -o hostile.html
page hostile.html --figures $((6 * drawn)) --has '</td><script>alert(1)</script>--><b onmouseover=x>' \
    --has '<img src=x onerror=alert(1)>.yaml'
grep -qF '<script' hostile.html && fail "a name became markup"
has hostile.html '&lt;script&gt;alert(1)'
# is the check blind?
sed 's|</main>|<b onclick=x>y</main>|' walk.html > bad.html
python3 "$PSNAP_SOURCE/tests/report_page.py" bad.html 2> err && fail "a bad page passed"
has err "<b onclick>"

# ------------------------------------------------------------- without figures
mkdir bin none
ln -s "$(command -v python3)" none/python3
expect 0 env PATH="$PWD/none" "$PSNAP" report walk.csv walk.yaml -o bare.html
has err "gnuplot-nox"
page bare.html --figures 0 --has 'There are no figures, but tables in their place' --has 'gnuplot-nox'
grep -q '<details>' bare.html && fail "tables are hidden"
printf '#!/bin/sh\n[ "$1" = --version ] || { echo "line 3: no <such> terminal" >&2; exit 1; }\n' > bin/gnuplot
chmod +x bin/gnuplot
expect 0 env PATH="$PWD/bin:$PATH" "$PSNAP" report walk.csv -o failing.html
has err "no <such> terminal"
page failing.html --figures 0 --has 'This figure could not be drawn' --has 'no <such> terminal'

# -------------------------------------------------------------------- mistakes
expect 2 "$PSNAP" report
expect 2 "$PSNAP" report walk.csv
has err "-o"
expect 2 "$PSNAP" report walk.csv walk.csv walk.csv walk.csv walk.csv -o x.html
expect 2 "$PSNAP" report walk.csv -o ./walk.csv --force
expect 2 "$PSNAP" report walk.csv -o x.html -m i7-5960x -m i7-5960x
expect 1 "$PSNAP" report walk.csv -o x.html -m nonesuch
expect 1 "$PSNAP" report nothing.pst -o x.html
has err "nothing.pst"
mkdir folder
expect 1 "$PSNAP" report folder -o x.html
has err "folder"
printf 'address,size,kind,thread,ref\n0x10,8,load,0,0\n0x18,8,lod,0,0\n' > broken.csv
expect 1 "$PSNAP" report walk.csv broken.csv -o x.html
has err "broken.csv:3:"
head -1 walk.csv > empty.csv
expect 1 "$PSNAP" report empty.csv -o x.html
has err "there is not a single access"
printf 'psnap: 1\nloops: 7\n' > bad.yaml
expect 1 "$PSNAP" report bad.yaml -o x.html
has err "bad.yaml:"
expect 1 "$PSNAP" report walk.csv -o no/such/x.html
ls | grep -q 'x.html' && fail "something of a page: $(ls)"
if [ -w /dev/full ]; then
    expect 1 "$PSNAP" report walk.csv -o /dev/full
    has err "/dev/full"
fi
exit 0
