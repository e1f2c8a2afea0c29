#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# psnap report of an archive: a site whose links lead to files that are there, the same from one run to
# the next, of which only what is new or would be another one is made again; queries, machines; names that
# would be markup; a profile that is damaged, one that has no stream, and a process that dies, beside
# others; directories that cannot be written, or are something else.
set -eu
. "$PSNAP_SOURCE/tests/cli/repo_common.sh"

site() { # DIR: it is a site
    python3 "$PSNAP_SOURCE/tests/report_page.py" "$1/index.html" --index || fail "the site $1"
}
made 4
"$PSNAP" repo init r
"$PSNAP" repo add r p1.yaml p2.yaml p3.yaml --tag first --tag hpc > ids
expect 0 "$PSNAP" report r -o s
[ ! -s err ] || grep -q gnuplot err || fail "it says $(cat err)"
has out "s/index.html: 3 profiles, 0 without a page"
site s
for n in 1 2 3; do cmp "s/psnap-profiles/$(sed -n ${n}p ids).yaml" p$n.yaml; done
has s/index.html 'first hpc'
id=$(sed -n 1p ids)
# hit rates are those of psnap sim
"$PSNAP" sim p1.yaml -m i7-5960x --by total --json > sim.json
python3 - "$id" << 'END'
import json, sys
row = json.load(open("sim.json"))["rows"][0]
cells = "".join("<td class=\"n\">%.2f</td>" % (100 * level["cumulative_hit_rate"]) for level in row["levels"])
line = next(line for line in open("s/index.html") if sys.argv[1] + ".html" in line)
assert cells in line and f"{row['accesses']:,}" in line, (cells, line)
END

# again: nothing is made, and the index is the same
touch -d '2001-01-01' s/*.html
cp -rp s before
expect 0 "$PSNAP" report r -o s
kept() { find s -name '????????????????????????????????.html' ! -newermt 2002-01-01 | wc -l; }
[ "$(kept)" = 3 ] || fail "pages were not kept"
diff -r s before || fail "a second run changed something"
expect 0 "$PSNAP" report r -o s --force
[ "$(kept)" = 0 ] || fail "pages were kept"
diff -r s before || fail "the same run makes another site"
# what is new, gone, or of another profile, is made
"$PSNAP" repo add r p4.yaml >> ids
touch -d '2001-01-01' s/*.html
rm "s/$id.html" "s/psnap-profiles/$id.yaml"
cp "s/$(sed -n 3p ids).html" "s/$(sed -n 2p ids).html"
expect 0 "$PSNAP" report r -o s
[ "$(kept)" = 1 ] || fail "$(kept) pages were kept"
site s
# from here on without figures, which take most of the time: those pages are others
mkdir fast
printf '#!/bin/sh\nexit 1\n' > fast/gnuplot
chmod +x fast/gnuplot
PATH=$PWD/fast:$PATH
touch -d '2001-01-01' s/*.html
expect 0 "$PSNAP" report r -o s
[ "$(grep -c 'gnuplot-nox' err)" = 1 ] || fail "said $(grep -c gnuplot-nox err) times"
[ "$(kept)" = 0 ] || fail "pages with figures were kept"
# other machines are other pages, and columns; so is a file that has changed, and a part
expect 0 "$PSNAP" report r -o s -m 1K:64:2,8K:64:4 -m table1-3
site s
has s/index.html '1K:64:2,8K:64:4 L2 %'
echo 'machine: {name: mine, levels: [{size_bytes: 4K, line_bytes: 64, ways: 2}]}' > mine.yaml
expect 0 "$PSNAP" report r -o s -m mine.yaml
touch -d '2001-01-01' s/*.html
sed -i 's/4K/8K/' mine.yaml
expect 0 "$PSNAP" report r -o s -m mine.yaml
[ "$(kept)" = 0 ] || fail "pages of another machine were kept"
expect 0 "$PSNAP" report r -o s -m mine.yaml --count 50
has "s/$id.html" "at most 50 are taken"

# a query; of nothing there is no site
expect 0 "$PSNAP" report r tag:first 'accesses>1' -o q
has out "3 profiles"
site q
expect 1 "$PSNAP" report r tag:none -o none
has err "no profile matches"
"$PSNAP" repo init nothing
expect 1 "$PSNAP" report nothing -o none
has err "there is no profile in it"
[ ! -e none ] || fail "a site of nothing"

# ------------------------------------------------------------------- hostile names
python3 - << 'END'
evil = "'</td>--><script>alert(1)</script><b onmouseover=x>\"&amp;'''"
text = open("p1.yaml").read()
for key in ("work0:10", "work1:11"):
    text = text.replace(f"'{key}'", f"{evil[:-1]}{key}'") # the schedule
    text = text.replace(f"id: {key}", f"id: {evil[:-1]}{key}'")
text = text.replace("name: made1", f"name: {evil}").replace("[./made1", f"[{evil}")
text = text.replace("host: x86_64", 'host: "a\\u202Eb\\u0007c"')
open("hostile.yaml", "w").write(text)
END
"$PSNAP" repo init h
"$PSNAP" repo add h hostile.yaml > hostile.id
expect 0 "$PSNAP" report h -o hs
site hs
grep -F '<script>alert' hs/*.html && fail "a name became markup"
grep -F '<b onmouseover' hs/*.html && fail "a name became markup"
grep -qF '&lt;script&gt;alert(1)' hs/index.html || fail "the name is not there"
grep -lP '\x07|\x{202E}' hs/*.html && fail "a control character came through"

# --------------------------------------------------------- what fails, beside others
made 1 9
"$PSNAP" repo add r p9.yaml > nine
python3 - r/objects << 'END'
import os, sys
newest = max((os.path.join(d, f) for d, _, fs in os.walk(sys.argv[1]) for f in fs), key=os.path.getmtime)
data = bytearray(open(newest, "rb").read())
for i in range(60, len(data) - 60):
    data[i] ^= 0x5A
os.chmod(newest, 0o644)
open(newest, "wb").write(data)
END
expect 1 "$PSNAP" report r -o d
has err "$(cat nine)"
has out "1 without a page"
has d/index.html 'class="bad">no page'
[ ! -e "d/$(cat nine).html" ] || fail "a page of a damaged profile"
# processes that die cost their own pages: the index is there, and says so
mkdir bin
printf '#!/bin/sh\n[ "$1" = --version ] || kill -9 $PPID\n' > bin/gnuplot
chmod +x bin/gnuplot
"$PSNAP" repo init k
"$PSNAP" repo add k p1.yaml p2.yaml > ids.k
expect 1 env PATH="$PWD/bin:$PATH" "$PSNAP" report k -o ks
has out "2 profiles, 2 without a page"
[ "$(grep -c 'no page' ks/index.html)" = 2 ] || fail "the index does not say what is missing"
sed -i 's/kill -9 $PPID/exit 1/' bin/gnuplot
expect 0 env PATH="$PWD/bin:$PATH" "$PSNAP" report k -o ks
site ks
[ "$(find ks -type f | wc -l)" = 5 ] || fail "something is left: $(find ks)"

# -------------------------------------------------------------------- mistakes
expect 2 "$PSNAP" report r
has err "give -o DIR"
expect 2 "$PSNAP" report r -o -
expect 2 "$PSNAP" report r 'accesses>x' -o none
expect 1 "$PSNAP" report r -o no/such/directory
has err "no/such/directory"
expect 1 "$PSNAP" report r -o s -m nonesuch
mkdir other && echo mine > other/index.html
expect 1 "$PSNAP" report r -o other
has err "no site that psnap made"
[ "$(cat other/index.html)" = mine ] && [ "$(ls other)" = index.html ] || fail "another's directory changed"
expect 1 "$PSNAP" report r -o r # it would be in the way of itself
[ ! -e r/index.html ] || fail "the archive became a site"
echo x > file
expect 1 "$PSNAP" report r -o file
exit 0
