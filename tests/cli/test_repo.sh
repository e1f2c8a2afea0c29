#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# psnap repo: profiles go in and come back to the byte, once each; ids and beginnings of ids; lists
# for people and programs; tags; exit statuses and what errors name.
set -eu
. "$PSNAP_SOURCE/tests/cli/repo_common.sh"

made 5
expect 0 "$PSNAP" repo init r
expect 1 "$PSNAP" repo init r
has err "'r' is a repository already"
mkdir full && touch full/x
expect 1 "$PSNAP" repo init full
has err "'full' is not empty"
# an init that fails leaves nothing, neither of what it made before nor where there was a directory
[ "$(ls -A full)" = x ] || fail "a failed init left $(ls -A full)"
mkdir empty
for target in new empty; do
    (trap '' XFSZ && ulimit -f 0 && ! "$PSNAP" repo init $target 2> /dev/null) || fail "init where nothing can be written"
done
[ ! -e new ] && [ -z "$(ls -A empty)" ] || fail "a failed init left $(ls -A new empty)"
expect 0 "$PSNAP" repo init empty
expect 1 "$PSNAP" repo list full
has err "'full' is no repository of profiles"
expect 2 "$PSNAP" repo
expect 2 "$PSNAP" repo lsit r
has err "did you mean 'list'?"
expect 2 "$PSNAP" repo add r

# in order, once each
expect 0 "$PSNAP" repo add r p1.yaml p2.yaml p3.yaml p2.yaml
mv out ids
[ "$(wc -l < ids)" = 4 ] && [ "$(sed -n 2p ids)" = "$(sed -n 4p ids)" ] || fail "ids: $(cat ids)"
[ "$(sort -u ids | wc -l)" = 3 ] || fail "not three ids"
grep -qvE '^[0-9a-f]{32}$' ids && fail "an id is not 32 digits: $(cat ids)"
expect 0 "$PSNAP" repo add r p3.yaml
[ "$(cat out)" = "$(sed -n 3p ids)" ] || fail "added again it has another id"
for n in 1 2 3; do
    id=$(sed -n ${n}p ids)
    same r "$id" p$n.yaml
    "$PSNAP" repo get r "${id:0:10}" -o q$n.yaml
    cmp q$n.yaml p$n.yaml
done
expect 1 "$PSNAP" repo get r "$id" -o q1.yaml
has err "exists already"
cmp q1.yaml p1.yaml
expect 0 "$PSNAP" repo get r "$id" -o q1.yaml --force
cmp q1.yaml p3.yaml
expect 0 "$PSNAP" repo add r - < p4.yaml
same r "$(cat out)" p4.yaml
# to the byte: comments, blanks, no end of the last line
printf '# mine\n%s' "$(cat p1.yaml)" > odd.yaml
expect 0 "$PSNAP" repo add r odd.yaml
same r "$(cat out)" odd.yaml
if command -v xxh128sum > /dev/null; then
    [ "$(xxh128sum odd.yaml | cut -d ' ' -f 1)" = "$("$PSNAP" repo add r odd.yaml)" ] || fail "not the sum"
fi

# ids that are none, or several
expect 1 "$PSNAP" repo get r ffffffffffffffffffffffffffffffff
has err "there is no profile 'ffffffffffffffffffffffffffffffff'"
expect 1 "$PSNAP" repo get r nonsense
expect 1 "$PSNAP" repo get r ''
made 40 100
"$PSNAP" repo init many
"$PSNAP" repo add many p1??.yaml > ids
digit=$(cut -c 1 ids | sort | uniq -d | head -1)
expect 1 "$PSNAP" repo get many "$digit"
has err "'$digit' is the beginning of more than one id"

# lists
expect 0 "$PSNAP" repo list r --json
python3 - << 'PYTHON'
import json, os
report = json.load(open("out"))
assert report["psnap"] == 1 and report["command"] == "repo list", report
assert len(report["entries"]) == 5
for entry in report["entries"]:
    assert len(entry["id"]) == 32 and entry["program"].startswith("made")
    assert entry["recorded"].startswith("2026-01-") and entry["accesses"] > 300
by_bytes = sorted(e["bytes"] for e in report["entries"])
assert by_bytes == sorted(os.path.getsize(f) for f in ["p1.yaml", "p2.yaml", "p3.yaml", "p4.yaml", "odd.yaml"])
one = [e for e in report["entries"] if e["bytes"] == os.path.getsize("p2.yaml")][0]
assert one["accesses"] == sum(100 + 37 * 2 + k for k in range(5)) and one["regions"] == 5
assert one["loads"] == one["accesses"] and one["stores"] == 0 and one["loops"] == 5
assert one["functions"] == [f"work{k}" for k in range(5)] and one["command"] == "./made2 2"
PYTHON
expect 0 "$PSNAP" repo list r
has out "made1"

[ "$("$PSNAP" repo list r --limit 2 --ids | wc -l)" = 2 ] || fail "--limit"

# nothing that is found is said
expect 0 "$PSNAP" repo init variants
expect 0 "$PSNAP" repo add variants p1.yaml p2.yaml
expect 0 "$PSNAP" repo search variants name:nobody
[ ! -s out ]
has err "no profile matches the query"
expect 0 "$PSNAP" repo init none
expect 0 "$PSNAP" repo list none
has err "no profile is in the repository"

# a trace is told as psnap show does; a repository that cannot be written is
printf '0 1000 4\n1 2000 8\n' > t.din
expect 0 "$PSNAP" convert t.din --from din -o t.pst
expect 1 "$PSNAP" repo add variants t.pst
has err "t.pst: no profile but a trace (pst); 'psnap profile' makes a profile of one"
if [ "$(id -u)" != 0 ]; then
    chmod -R a-w variants
    expect 1 "$PSNAP" repo add variants p3.yaml
    has err "cannot write 'variants/cache': permission denied"
    chmod -R u+w variants
fi

# tags: they add up, and are of all that is named
expect 0 "$PSNAP" repo add r p1.yaml p5.yaml --tag sparse --tag hpc
expect 0 "$PSNAP" repo add r p1.yaml --tag new
"$PSNAP" repo list r --json > list.json
rm -rf r/cache # they are with the objects
"$PSNAP" repo list r --json | cmp - list.json
python3 - << 'PYTHON'
import json
entries = {e["command"] + str(e["bytes"]): e for e in json.load(open("list.json"))["entries"]}
import os
one = entries["./made1 1" + str(os.path.getsize("p1.yaml"))]
five = entries["./made5 5" + str(os.path.getsize("p5.yaml"))]
assert one["tags"] == ["hpc", "new", "sparse"], one
assert five["tags"] == ["hpc", "sparse"]
assert entries["./made3 3" + str(os.path.getsize("p3.yaml"))]["tags"] == []
PYTHON
for tag in 'two words' '>x' '' a/b .. -x "$(printf '%101d' 0)"; do
    expect 2 "$PSNAP" repo add r p1.yaml --tag "$tag"
done

# what cannot be added is named, the others are
echo 'psnap: 1' > bad.yaml
: > empty.yaml
expect 1 "$PSNAP" repo add r bad.yaml p4.yaml missing.yaml empty.yaml .
[ "$(wc -l < out)" = 1 ] || fail "not one id: $(cat out)"
has err "bad.yaml:1"
has err "missing.yaml"
has err "empty.yaml"
expect 1 "$PSNAP" repo list nowhere --json
python3 -c 'import json; assert "nowhere" in json.load(open("out"))["error"]["message"]'

expect 0 "$PSNAP" repo verify r
has out "6 profiles"

# two copies that both went on are merged by copying files; git keeps a repository, and can be read-only
cp -r r one && cp -r r two
made 4 50
"$PSNAP" repo add one p50.yaml p51.yaml > /dev/null
"$PSNAP" repo add two p51.yaml p52.yaml --tag two > /dev/null
cp -r two/objects one/
expect 0 "$PSNAP" repo list one --ids
[ "$(wc -l < out)" = 9 ] || fail "not the profiles of both: $(wc -l < out)"
[ "$("$PSNAP" repo search one tag:two --ids | wc -l)" = 2 ]
"$PSNAP" repo verify one > /dev/null
# what the index does not have goes when it is a day old; nothing else does
touch one/cache/tmp-1 one/objects/new
"$PSNAP" repo add one p53.yaml --tag orphan > id
rm one/objects/*/"$(cut -c 3- id).yaml.zst"
touch -d '2 days ago' one/cache/index* one/objects/*/* one/cache/tmp-2 one/objects/old "one/objects/$(ls one/objects | head -1)/old"
expect 0 "$PSNAP" repo gc one
has out "4 files removed"
[ "$(ls one/cache/tmp-*)" = one/cache/tmp-1 ] || fail "gc has left $(ls one/cache)"
[ ! -e one/objects/old ] && [ -e one/objects/new ] && ! ls one/objects/*/*+orphan 2> /dev/null || fail "gc has left $(find one/objects)"
rm one/objects/new
expect 0 "$PSNAP" repo verify one
has out "9 profiles: ok"
if command -v git > /dev/null; then
    export GIT_CONFIG_GLOBAL=/dev/null GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b
    (cd one && git init -q . && git add -A && git commit -qm all && ! git ls-files | grep cache)
    git clone -q one clone
    "$PSNAP" repo list one --ids | cmp - <("$PSNAP" repo list clone --ids)
    expect 0 "$PSNAP" repo verify clone
fi
echo "round trips, ids, lists, tags: ok"
