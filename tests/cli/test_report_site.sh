#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# psnap report of a repository: a site whose links lead to files that are there, the same from one
# run to the next, of which only what is new or changed is made again; queries, machines; names that
# would be markup; a profile that is damaged, one that has no stream, and a process that dies, beside
# others; directories that cannot be written, or are something else. report_site.py checks sites.
set -eu
. "$PSNAP_SOURCE/tests/cli/repo_common.sh"

site() { # DIR ARGUMENTS...: it is a site
    python3 "$PSNAP_SOURCE/tests/report_site.py" "$@" > rows || fail "the site $*"
}
# did MADE KEPT FAILED: what the last run says it did
did() {
    grep -qE ", $1 reports? made, $2 kept, $3 failed\$" out || fail "not $1, $2, $3: $(cat out)"
}

made 4
"$PSNAP" repo init r
"$PSNAP" repo add r p1.yaml p2.yaml p3.yaml --tag first --tag hpc > ids
expect 0 "$PSNAP" report r -o s
grep -vE 'making 3 pages, of [0-9,]+ accesses$' err > more && grep -v gnuplot more && fail "it says $(cat err)"
has err "making 3 pages, of $(grep -oh ', accesses: [0-9]*' p[123].yaml | awk '{n += $3} END {print n}' |
    sed 's/...$/,&/') accesses" # beforehand, even where there is no terminal
has out "s/index.html: 3 profiles, 3 reports made, 0 kept, 0 failed"
site s --reports 3
for n in 1 2 3; do cmp "s/profiles/$(sed -n ${n}p ids).yaml" p$n.yaml; done
has s/index.html 'first, hpc'
id=$(sed -n 1p ids)
# hit rates are those of psnap sim
"$PSNAP" sim p1.yaml -m i7-5960x --by total --json | python3 -c '
import json, sys
row = json.load(sys.stdin)["rows"][0]
levels = " ".join("%.2f" % (100 * level["cumulative_hit_rate"]) for level in row["levels"])
print(sys.argv[1], "made1", row["accesses"], levels)' "$id" > wanted
grep -qxF "$(cat wanted)" rows || fail "no row $(cat wanted) in $(cat rows)"
# without JavaScript there is the table, and no filter
has s/index.html '<p id="find" hidden>'

# again: nothing is made, and the index is the same
cp -r s before
expect 0 "$PSNAP" report r -o s
did 0 3 0
[ ! -s err ] || grep -q gnuplot err || fail "it says $(cat err)"
diff -r s before || fail "a second run changed something"
expect 0 "$PSNAP" report r -o s --force
did 3 0 0
diff -r s before || fail "the same run makes another site"

# what is new is made, and what is not the same
"$PSNAP" repo add r p4.yaml >> ids
rm "s/$id.html"
touch -d '2001-01-01' s/*.html
expect 0 "$PSNAP" report r -o s/
did 2 2 0
site s --reports 4
[ "$(find s -name '*.html' ! -newermt 2002-01-01 | wc -l)" = 2 ] || fail "reports were not kept"
# a page that is of something else is made again; a file that is gone comes back
sed -i 's/name="psnap-report" content="[0-9a-f]* /name="psnap-report" content="0123456789abcdef /' \
    "s/$(sed -n 2p ids).html"
sed -i 's/\(name="psnap-report" content="[0-9a-f]* [0-9a-f]* \)[0-9.]*/\1nan/' "s/$(sed -n 3p ids).html"
rm "s/profiles/$(sed -n 4p ids).yaml"
expect 0 "$PSNAP" report r -o s
did 2 2 0
site s --reports 4
# a profile's file is known by its content, and a page by the profile that it is of
python3 - "s/profiles/$(sed -n 4p ids).yaml" << 'END'
import sys
data = open(sys.argv[1]).read()
open(sys.argv[1], "w").write(data.replace("made4", "mode4")) # as long as before
END
cp "s/$(sed -n 1p ids).html" "s/$(sed -n 2p ids).html"
expect 0 "$PSNAP" report r -o s
did 2 2 0
cmp "s/profiles/$(sed -n 4p ids).yaml" p4.yaml
grep -q "content=\"[0-9a-f]* $(sed -n 2p ids) " "s/$(sed -n 2p ids).html" || fail "the page of another profile"
site s --reports 4
# from here on without figures, which take most of the time: those pages are others
with_figures=$PATH
mkdir fast
printf '#!/bin/sh\nexit 1\n' > fast/gnuplot
chmod +x fast/gnuplot
PATH=$PWD/fast:$PATH
expect 0 "$PSNAP" report r -o s --force
did 4 0 0
# other machines are other pages, and another style of columns
expect 0 "$PSNAP" report r -o s -m 1K:64:2,8K:64:4 -m table1-3
did 4 0 0
site s --reports 4
has s/index.html '1K:64:2,8K:64:4 L2 %'
sed 's/^/machine: {name: mine, levels: [/; s/$/]}/' > mine.yaml << 'END'
{size_bytes: 4K, line_bytes: 64, ways: 2}
END
expect 0 "$PSNAP" report r -o s -m mine.yaml # found from here, not from there
did 4 0 0
sed -i 's/4K/8K/' mine.yaml # the same name
expect 0 "$PSNAP" report r -o s -m mine.yaml
did 4 0 0
expect 0 "$PSNAP" report r -o s -m mine.yaml --count 50
did 4 0 0
has "s/$id.html" "at most 50 are taken"

# a query: the others go; files of somebody else stay
echo mine > s/notes.txt
echo mine > s/0123456789abcdef0123456789abcdef.html
expect 0 "$PSNAP" report r tag:first 'accesses>1' -o s
did 3 0 0
[ ! -e "s/$(sed -n 4p ids).html" ] && [ ! -e "s/profiles/$(sed -n 4p ids).yaml" ] ||
    fail "what the query does not find is there"
[ -e s/notes.txt ] && [ -e s/0123456789abcdef0123456789abcdef.html ] || fail "a file of another's went"
rm s/notes.txt s/0123456789abcdef0123456789abcdef.html
site s --reports 3
# of nothing there is no site, and one that is there stays
cp -r s before.none
expect 1 "$PSNAP" report r tag:none 'accesses>1' -o none
has err "r: no profile matches tag:none accesses>1"
[ ! -e none ] || fail "a site of nothing"
expect 1 "$PSNAP" report r tag:none -o s
diff -r s before.none || fail "a site is lost to a query that finds nothing"
"$PSNAP" repo init nothing.r
expect 1 "$PSNAP" report nothing.r -o none
has err "nothing.r: there is no profile in it"
[ ! -e none ] || fail "a site of nothing"

# ------------------------------------------------------------------- hostile names
python3 - << 'END'
evil = "'</td><script>alert(1)</script><b onmouseover=x>\"&amp;'''"
text = open("p1.yaml").read()
for key in ("work0:10", "work1:11"):
    text = text.replace(f"'{key}'", f"{evil[:-1]}{key}'") # the schedule
    text = text.replace(f"id: {key}", f"id: {evil[:-1]}{key}'")
text = text.replace("name: made1", f"name: {evil}").replace("[./made1", f"[{evil}")
text = text.replace("host: x86_64", 'host: "a\\u202Eb\\u0007c"')
open("hostile.yaml", "w").write(text)
END
expect 0 "$PSNAP" check hostile.yaml
"$PSNAP" repo init h
"$PSNAP" repo add h hostile.yaml --licence '"><i>x' > hostile.id 2> err || "$PSNAP" repo add h hostile.yaml > hostile.id
expect 0 "$PSNAP" report h -o hs
site hs --reports 1
grep -F '<script>alert' hs/*.html && fail "a name became markup"
grep -F '<b onmouseover' hs/*.html && fail "a name became markup"
grep -qF '&lt;script&gt;alert(1)' hs/index.html || fail "the name is not there"
grep -lP '\x07|\x{202E}' hs/*.html && fail "a control character came through"

# --------------------------------------------------------- what fails, beside others
made 1 9
"$PSNAP" repo add r p9.yaml > nine
nine=$(cat nine)
expect 0 "$PSNAP" report r -o before.d
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
has err "$nine"
did 4 0 1
site d --reports 4 --failed 1
has d/index.html "<small class=\"bad\">"
[ ! -e "d/$nine.html" ] || fail "a report of a damaged profile"
# a site from before has the profile and its page: nothing is wrong with these
expect 0 "$PSNAP" report r -o before.d
did 0 5 0
site before.d --reports 5

# an index that lies of where profiles are: these are looked for in the objects
"$PSNAP" repo init stale && "$PSNAP" repo add stale p1.yaml p2.yaml --tag old > ids.stale
lie() {
    python3 -c 'import sqlite3
db = sqlite3.connect("stale/cache/index.sqlite")
db.execute("UPDATE places SET offset = offset + 1000")
db.commit()'
}
lie
expect 0 "$PSNAP" repo get stale "$(head -1 ids.stale)" -o got.yaml
expect 0 "$PSNAP" report stale -o stale.d
did 2 0 0
site stale.d --reports 2
lie
expect 0 "$PSNAP" repo export stale tag:old -o stale.tar
[ "$(tar tf stale.tar | grep -c yaml)" = 2 ] || fail "in the archive: $(tar tf stale.tar)"

# no access that a report could be of
"$PSNAP" repo init e
sed 's/^schedule:.*/schedule: []/; /^loops:/,$d' p1.yaml > empty.yaml
echo 'loops: []' >> empty.yaml
"$PSNAP" repo add e p2.yaml > e.ids
if "$PSNAP" repo add e empty.yaml > empty.id 2> /dev/null; then
    expect 1 "$PSNAP" report e -o es
    has err "$(cat empty.id): "
    has err "there is not a single access"
    did 1 0 1
    has es/index.html "there is not a single access"
fi

# processes that die cost their own reports: the index is there, and says so
mkdir bin nothing
printf '#!/bin/sh\n[ "$1" = --version ] || kill -9 $PPID\n' > bin/gnuplot
chmod +x bin/gnuplot
"$PSNAP" repo init k
"$PSNAP" repo add k p1.yaml p2.yaml > ids.k
expect 1 env PATH="$PWD/bin:$PATH" "$PSNAP" report k -o ks
did 0 0 2
[ "$(grep -c 'ended by a signal' err)" = 2 ] || fail "what died: $(cat err)"
site ks --reports 0 --failed 2
expect 0 env PATH="$with_figures" "$PSNAP" report k -o ks
did 2 0 0
site ks --reports 2
[ "$(find ks -type f | wc -l)" = 5 ] || fail "something is left: $(find ks)"
# nor does one go on whose psnap was ended; gnuplot takes its time once
cat > bin/gnuplot << 'END'
#!/bin/sh
[ "$1" = --version ] && exit
mkdir "$SLEPT" 2> /dev/null && { echo $PPID > "$SLEPT/new" && mv "$SLEPT/new" "$SLEPT/pid" && sleep 2.2; }
exit 1
END
SLEPT=$PWD/slept PATH="$PWD/bin:$PATH" "$PSNAP" report k -o ended > out 2> err &
while [ ! -e slept/pid ]; do sleep 0.05; done
kill -9 $!
wait $! 2> /dev/null || true
goes_on() { grep -q '^State:[[:space:]]*[^ZX[:space:]]' "/proc/$(cat slept/pid)/status" 2> /dev/null; }
for _ in $(seq 20); do
    goes_on || break
    sleep 0.1
done
goes_on && fail "its processes go on"
# on a terminal there are a rate and the time left
if command -v script > /dev/null; then
    SLEPT=$PWD/again PATH="$PWD/bin:$PATH" script -qec "'$PSNAP' report k -o slow > out" /dev/null \
        > shown < /dev/null || fail "$(cat shown)"
    grep -Eq 'psnap: [12] pages, [0-9.]+/s, [0-9]+ %, [0-9]+ s left' shown || fail "no rate: $(cat -v shown)"
fi
# without gnuplot it is said once, and pages have tables; with it they are others
expect 0 env PATH="$PWD/nothing" "$PSNAP" report k -o bare
[ "$(grep -c gnuplot-nox err)" = 1 ] || fail "said $(grep -c gnuplot-nox err) times"
grep -q 'There are no figures' "bare/$(sed -n 1p ids.k).html" || fail "no word of figures"

# a repository that is being added to: no run fails, and the last one has all
made 12 20
for n in $(seq 20 31); do "$PSNAP" repo add e p$n.yaml > /dev/null; done &
adding=$!
"$PSNAP" report e -o es > out 2> err || grep -q "single access" err || fail "$(cat err)"
wait $adding
"$PSNAP" report e -o es > out 2> err || grep -q "single access" err || fail "$(cat err)"
[ "$(grep -c '<th scope="row"><a href=' es/index.html)" = 13 ] || fail "not all of them"

# -------------------------------------------------------------------- mistakes
expect 2 "$PSNAP" report r
has err "give -o DIR"
expect 2 "$PSNAP" report r -o -
expect 2 "$PSNAP" report r 'accesses>x' -o q
[ ! -e q ] || fail "a site in spite of an error"
expect 1 "$PSNAP" report r -o no/such/directory
has err "no/such/directory"
expect 1 "$PSNAP" report r -o s -m nonesuch
mkdir other && echo mine > other/index.html
expect 1 "$PSNAP" report r -o other
has err "no site that psnap made"
[ "$(cat other/index.html)" = mine ] && [ "$(ls other)" = index.html ] || fail "another's directory changed"
expect 1 "$PSNAP" report r -o r # it would be in the way of itself
[ ! -e r/index.html ] || fail "the repository became a site"
echo x > file
expect 1 "$PSNAP" report r -o file
if [ "$(id -u)" != 0 ]; then
    mkdir locked && chmod 555 locked
    expect 1 "$PSNAP" report r -o locked/s
    expect 1 "$PSNAP" report r -o locked
    has err locked
    chmod 755 locked
elif [ -d /proc/self ]; then
    expect 1 "$PSNAP" report r -o /proc/site
    has err /proc/site
fi
# a site from elsewhere whose links lead out of it
echo mine > victim
cp -r s leads && id=$(basename "$(ls leads/profiles/* | head -1)" .yaml)
rm "leads/$id.html" && ln -s "$dir/victim" "leads/$id.html"
expect 1 "$PSNAP" report r -o leads
has err "symbolic link"
cp -r s leads2 && rm "leads2/profiles/$id.yaml" && ln -s "$dir/victim" "leads2/profiles/$id.yaml"
expect 1 "$PSNAP" report r -o leads2
[ "$(cat victim)" = mine ] || fail "a link led out of the site"
cp -r s leads3 && rm "leads3/profiles/$id.yaml" && mkfifo "leads3/profiles/$id.yaml"
expect 1 "$PSNAP" report r -o leads3 # and does not wait for a writer
has err "is no file, which a site has none of"
mkdir empty # no repository
expect 1 "$PSNAP" report empty -o x.html
has err "'empty' is a directory and no repository: a report is of traces and profiles, which are files, or"
expect 1 "$PSNAP" report p1.yaml r -o x.html
has err "'r' is a repository, whose site is made without other inputs"
[ ! -e x.html ] || fail "a page in spite of an error"
exit 0
