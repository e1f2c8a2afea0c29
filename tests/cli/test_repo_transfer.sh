#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# psnap repo export and import; and archives that mean harm: names that lead out
# of the directory, links, devices, sizes, archives in archives' place, damage, bombs of YAML.
set -eu
. "$PSNAP_SOURCE/tests/cli/repo_common.sh"

made 6
"$PSNAP" repo init r
"$PSNAP" repo add r p1.yaml p2.yaml p3.yaml p4.yaml > ids
"$PSNAP" repo add r p5.yaml --tag hpc --tag new >> ids
"$PSNAP" repo export r -o all.tar

# there and back, in each form
entries() {
    "$PSNAP" repo list "$1" --json | sed 's/"added": "[^"]*"//'
}
for end in tar tar.gz tar.zst tar.xz; do
    "$PSNAP" repo export r -o x.$end
    "$PSNAP" repo init r.$end
    "$PSNAP" repo import r.$end x.$end > imported
    [ "$(sort imported)" = "$(sort ids)" ] || fail "$end: not the same ids"
    entries r.$end > other && entries r | cmp - other || fail "$end: not the same entries"
    "$PSNAP" repo verify r.$end > /dev/null
done
cmp all.tar x.tar # the same archive each time
"$PSNAP" repo export r -o - | cmp - all.tar
expect 1 "$PSNAP" repo export r -o all.tar
has err "exists already"
expect 2 "$PSNAP" repo export r -o all.zip
expect 2 "$PSNAP" repo export r -o foo-
[ ! -e all.zip ] && [ ! -e foo- ] || fail "a file is left of it"
expect 2 "$PSNAP" repo export r
expect 0 "$PSNAP" repo export r command:3 -o three.tar
tar -tf three.tar > members
id=$(sed -n 3p ids)
[ "$(cat members)" = "profiles/$id.yaml" ] || fail "not one profile: $(cat members)"
tar -xf three.tar
cmp profiles/*.yaml p3.yaml
rm -r profiles
# from standard input; what is there stays what it is
"$PSNAP" repo init r2
"$PSNAP" repo import r2 all.tar --tag taken | sort | diff - <(sort ids)
"$PSNAP" repo import r2 - < all.tar | sort | diff - <(sort ids)
[ "$("$PSNAP" repo search r2 tag:taken --ids | wc -l)" = 5 ]
[ "$("$PSNAP" repo search r2 tag:hpc --ids)" = "$(sed -n 5p ids)" ]

# a tag that is none comes from nowhere
python3 - << 'PYTHON'
import io, tarfile
data = open("p6.yaml", "rb").read()
for name, tags in ("good", "one two "), ("evil", "one ../../x "):
    with tarfile.open(f"{name}.tar", "w", format=tarfile.PAX_FORMAT) as tar:
        member = tarfile.TarInfo("p6.yaml")
        member.size, member.pax_headers = len(data), {"SCHILY.xattr.user.psnap.tags": tags}
        tar.addfile(member, io.BytesIO(data))
PYTHON
expect 1 "$PSNAP" repo import r2 evil.tar
has err "p6.yaml: it has a tag that is none"
[ ! -s out ]
expect 0 "$PSNAP" repo import r2 good.tar --tag three
[ "$("$PSNAP" repo search r2 tag:one tag:two tag:three --ids)" = "$(cat out)" ] || fail "tags of an archive"
echo none > none.tar

# archives that mean harm: nothing outside of the repository is written
mkdir victim && echo mine > victim/file
python3 - << 'PYTHON'
import io, tarfile
good = open("p6.yaml", "rb").read()
def add(tar, name, kind=tarfile.REGTYPE, link="", data=b"", size=None):
    member = tarfile.TarInfo(name)
    member.type, member.linkname = kind, link
    member.size = len(data) if size is None else size
    tar.addfile(member, io.BytesIO(data) if size is None else None)
with tarfile.open("evil.tar", "w") as tar:
    add(tar, "../victim/file", data=good)
    add(tar, "../victim/new.yaml", data=good)
    add(tar, "/tmp/psnap-absolute-name.yaml", data=good + b"# a\n")
    add(tar, "objects/link.yaml", tarfile.SYMTYPE, "../../victim/file")
    add(tar, "objects/../../victim", tarfile.SYMTYPE, "victim")
    add(tar, "hard.yaml", tarfile.LNKTYPE, "../victim/file")
    add(tar, "device.yaml", tarfile.CHRTYPE)
    add(tar, "block.yaml", tarfile.BLKTYPE)
    add(tar, "fifo.yaml", tarfile.FIFOTYPE)
    add(tar, "folder.yaml/", tarfile.DIRTYPE)
    add(tar, "\x1b[31mred.txt", data=b"x")
    add(tar, "n.yaml", data=b"psnap: 1\n" + b"[" * 5000)
    add(tar, "alias.yaml", data=b"a: &a [x,x]\nb: &b [*a,*a]\nc: [*b,*b]\n")
    add(tar, "text.yaml", data=b"\0" * 1000)
with tarfile.open("huge.tar", "w") as tar:
    add(tar, "good.yaml", data=good)
    add(tar, "huge.yaml", size=1 << 50)
with tarfile.open("long.tar", "w") as tar:
    add(tar, "long.yaml", data=b"#" * (17 << 20))
PYTHON
"$PSNAP" repo init e
expect 1 "$PSNAP" repo import e evil.tar
[ "$(sort -u out | wc -l)" = 2 ] || fail "not two profiles: $(cat out err)"
has err "objects/link.yaml' is left out"
has err "hard.yaml' is left out"
has err "device.yaml' is left out"
has err "fifo.yaml' is left out"
has err $'\xef\xbf\xbd[31mred.txt\' is left out'
has err "n.yaml:2"
has err "alias.yaml:1"
has err "text.yaml"
[ "$(cat victim/file)" = mine ] && [ "$(ls victim)" = file ] || fail "something was written outside"
[ ! -e /tmp/psnap-absolute-name.yaml ] || fail "an absolute name was written"
[ ! -e e/objects/link.yaml ] && [ -z "$(find e -type l)" ] || fail "a link was made"
"$PSNAP" repo verify e > /dev/null
expect 1 "$PSNAP" repo import e huge.tar
has err "huge.yaml' is left out: too long"
[ "$(wc -l < out)" = 1 ] || fail "what came before it is not there"
expect 1 "$PSNAP" repo import e long.tar
has err "too long"

# damage: what came before it is kept
head -c $(($(stat -c %s all.tar) / 1024 * 512 + 100)) all.tar > half.tar
"$PSNAP" repo init h
expect 1 "$PSNAP" repo import h half.tar
[ "$(wc -l < out)" -ge 1 ] && [ "$(wc -l < out)" -lt 5 ] || fail "of half an archive: $(cat out)"
"$PSNAP" repo verify h > /dev/null
echo "no archive" > no.tar
expect 1 "$PSNAP" repo import h no.tar
expect 1 "$PSNAP" repo import h missing.tar
expect 1 "$PSNAP" repo import h r
head -c 100000 /dev/zero | gzip > zero.tar.gz
expect 1 "$PSNAP" repo import h zero.tar.gz # tar's own end of an archive
has err "zero.tar.gz: there is no profile in it"
[ ! -s out ]
# an archive without profiles, none at all, and one that was cut off between members, without its end
tar -cf none.tar no.tar
expect 1 "$PSNAP" repo import h none.tar
has err "none.tar: there is no profile in it"
: > empty.tar
expect 1 "$PSNAP" repo import h empty.tar
expect 1 "$PSNAP" repo import h - < /dev/null
head -c -1024 all.tar > endless.tar
rm -rf cut && "$PSNAP" repo init cut
expect 1 "$PSNAP" repo import cut endless.tar
has err "endless.tar: the archive was cut off"
[ "$(wc -l < out)" = 5 ] || fail "what came before it is not there: $(cat out)"
head -c 100000000 /dev/zero | gzip > bomb.yaml.gz
expect 1 "$PSNAP" repo add h bomb.yaml.gz

# the largest that is read at all, of as many nodes as it can have: refused in time, others are added
python3 -c '
open("nodes.yaml", "w").write("psnap: 1\nloops: [" + "[]," * 5400000 + "]\n")
open("keys.yaml", "w").write("psnap: 1\n" + "".join(f"k{i}: 1\n" for i in range(1400000)))
open("over.yaml", "w").write("#" * (16 << 20) + "\n")'
expect 1 timeout 300 "$PSNAP" repo add h nodes.yaml keys.yaml over.yaml p6.yaml
[ "$(wc -l < out)" = 1 ] || fail "not one id: $(cat out)"
has err "over.yaml: longer than 16 MiB"

# a repository from elsewhere that leads out by links
for link in objects dictionaries cache; do
    cp -r r linked-$link
    rm -rf linked-$link/$link
    ln -s "$dir/victim" linked-$link/$link
    "$PSNAP" repo add linked-$link p6.yaml > /dev/null 2>&1 || true
    "$PSNAP" repo gc linked-$link > /dev/null 2>&1 || true
    [ "$(cat victim/file)" = mine ] && [ "$(ls victim)" = file ] || fail "$link: something went out"
done
cp -r r linked
rm -rf linked/cache/index.*
for object in linked/objects/*/*; do rm "$object" && ln -s "$dir/victim/file" "$object"; done
rm -r linked/objects/"$(head -c 2 ids)" && ln -s "$dir/victim" linked/objects/"$(head -c 2 ids)"
ln -s "$dir/victim/file" linked/cache/index.sqlite
ln -s "$dir/victim/log" linked/cache/index.sqlite-wal
"$PSNAP" repo add linked p6.yaml p1.yaml p2.yaml > /dev/null 2>&1 || true
for command in gc list; do
    expect 1 "$PSNAP" repo $command linked
    has err "cannot list 'linked/objects/"
done
[ "$(cat victim/file)" = mine ] && [ "$(ls victim)" = file ] || fail "something went out of objects or cache"
echo "export, import, hostile archives: ok"
