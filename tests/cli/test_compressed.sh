#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Compressed traces in any format: written, and read by their first bytes, from files and pipes, of
# several members, cut off, damaged, and with something behind them.
set -eu

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"

fail() {
    echo "test_compressed: $*" >&2
    exit 1
}

awk 'BEGIN {
    print "address,size,kind,thread,ref"
    for (i = x = 0; i < 60000; i++) {
        x = (x * 69069 + 12345) % 2147483648
        printf "0x7fff%08x,%d,%s,%d,%d\n", x, i % 64 + 1, i % 3 ? "load" : "store", i % 4, i % 7
    }
}' > trace.csv
for format in pst xdin lackey pinatrace champsim csv; do
    "$PSNAP" convert trace.csv -f $format --force -o trace.$format 2> err
    "$PSNAP" convert trace.$format --from $format -f csv -o $format.wanted 2> err
done

head -n 1 trace.csv > empty.csv
{ head -n 50000 trace.csv; echo 0x1,0,load,0,0; } > damaged.csv

# Written: the end of a file's name says how, in every format; what psnap and the tools read is the same
for end in gz xz zst bz2; do
    case $end in gz) tool=gzip ;; xz) tool=xz ;; zst) tool=zstd ;; bz2) tool=bzip2 ;; esac
    command -v $tool > /dev/null || continue
    for format in pst xdin lackey pinatrace champsim csv; do
        "$PSNAP" convert trace.csv -o out.$format.$end 2> err
        grep -q "to 'out.$format.$end' as $format, $(wc -c < out.$format.$end | sed ':a; s/\B[0-9]\{3\}\>/,&/; ta') bytes" err ||
            fail "$tool, $format: $(cat err)"
        $tool -dc < out.$format.$end | cmp - trace.$format || fail "$tool, $format: other bytes"
        "$PSNAP" convert out.$format.$end --from $format -f csv -o - 2> err | cmp - $format.wanted ||
            fail "$tool, $format: other accesses"
    done
    "$PSNAP" convert empty.csv -o empty.din.$end 2> err
    [ -s empty.din.$end ] && [ -z "$($tool -dc < empty.din.$end)" ] || fail "$tool: no access"
    if [ -w /dev/full ]; then
        ln -sf /dev/full full.csv.$end
        ! "$PSNAP" convert trace.csv -o full.csv.$end 2> err || fail "$tool: a full disk"
        grep -q "cannot write: no space left on device" err || fail "$tool, full: $(cat err)"
    fi
    # what goes wrong leaves nothing
    ! "$PSNAP" convert damaged.csv -o wrong.csv.$end 2> err && [ ! -e wrong.csv.$end ] || fail "$tool: half a file"
    ! "$PSNAP" convert damaged.csv -o - -f csv.$end > out 2> err && grep -q "no format" err || fail "$tool: -f"
done

status=0
"$PSNAP" convert trace.csv -o out.din.lz4 2> err || status=$?
[ $status = 2 ] && [ ! -e out.din.lz4 ] && grep -q "'out.din.lz4': .gz, .xz, .zst and .bz2 are written" err ||
    fail "lz4: $status, $(cat err)"

# Every format that there is, behind a machine's caches, from a trace and from a profile
awk 'BEGIN {
    print "address,size,kind,thread,ref"
    for (i = 0; i < 5000; i++)
        printf "0x%x,8,%s,0,%d\n", 65536 + (int(i / 4) * 40503 % 8191) * 8, i % 3 ? "load" : "store", i % 3
}' > small.csv
"$PSNAP" profile small.csv -o small.yaml 2> err
if command -v gzip > /dev/null && "$PSNAP" convert small.csv -o small.csv.gz 2> err; then
    for format in $("$PSNAP" formats | awk 'NR > 1 { print $1 }'); do
        if ! "$PSNAP" convert small.csv -m 4K:64:4 -o side.$format 2> err; then
            grep -q "was built without" err || fail "$format, -m: $(cat err)"
            continue
        fi
        "$PSNAP" convert small.csv -m 4K:64:4 -o side.$format.gz 2> err
        gzip -dc < side.$format.gz | cmp - side.$format || fail "$format, -m: other bytes"
        "$PSNAP" replay small.yaml -m 4K:64:4 -o again.$format 2> err
        "$PSNAP" replay small.yaml -m 4K:64:4 -o again.$format.gz 2> err
        gzip -dc < again.$format.gz | cmp - again.$format || fail "$format, replay -m: other bytes"
    done
    awk 'last && $3 > last + 1 { apart++ } { last = $3 } END { exit !(apart > 100) }' side.dramsim3 ||
        fail "dramsim3, -m: no times of hits"
fi

tried=0
for tool in gzip xz zstd bzip2 lz4; do
    command -v $tool > /dev/null || continue
    options=-1
    [ $tool != lz4 ] || options="-1 -B4"
    printf '' | $tool -1 -c > empty
    status=0
    "$PSNAP" info empty 2> err || status=$?
    [ $status = 1 ] && grep -q "empty: empty input" err || fail "$tool: $(cat err)"
    tried=$((tried + 1))

    # every format, whatever the name says, and parts
    for format in pst xdin lackey pinatrace champsim csv; do
        $tool -1 -c < trace.$format > packed
        from=
        [ $format != champsim ] || from="--from champsim"
        "$PSNAP" convert packed $from -f csv -o - 2> err | cmp - $format.wanted || fail "$tool, $format"
        "$PSNAP" convert - $from -f csv -o - < packed 2> err | cmp - $format.wanted || fail "$tool, $format: from a pipe"
        "$PSNAP" convert packed $from --skip 40000 --count 9 -f csv -o - 2> err | tail -n +2 |
            cmp - <(sed -n '40002,40010p' $format.wanted) || fail "$tool, $format: a part"
    done
    [ "$("$PSNAP" info packed | awk '$1 == "bytes" && NF == 2 { gsub(",", ""); print $2 }')" = "$(wc -c < packed)" ] ||
        fail "$tool: info counts other bytes than those of the file"

    # members one after the other, an empty one among them (libarchive's lz4 ends there)
    head -n 30000 trace.csv | $tool -1 -c > packed
    [ $tool = lz4 ] || $tool -1 -c < /dev/null >> packed
    tail -n +30001 trace.csv | $tool -1 -c >> packed
    "$PSNAP" convert packed -f csv -o - 2> err | cmp - trace.csv || fail "$tool: several members"

    # cut off: what came before is the trace, with a warning; in the middle and by the last byte
    $tool $options -c < trace.csv > packed
    size=$(wc -c < packed)
    for keep in $((size / 2)) $((size - 1)); do
        head -c $keep packed > cut
        "$PSNAP" convert cut -f csv -o - > out 2> err
        grep -q "warning: cut: offset $keep: the $tool data end too early: the file was cut off" err ||
            fail "$tool, cut: $(cat err)"
        cmp -n "$(wc -c < out)" out trace.csv || fail "$tool: other accesses of what was cut off"
        [ "$(wc -l < out)" -gt $((keep > size / 2 ? 50000 : 10000)) ] || fail "$tool: only $(wc -l < out) lines"
    done

    head -n 9 trace.csv | $tool -1 -c | head -c -1 > cut # libarchive may keep all of it to itself
    if "$PSNAP" convert cut -f csv -o - > out 2> err; then
        cmp out <(head -n 9 trace.csv) || fail "$tool: a short one, cut"
    elif [ $tool = gzip ] || [ -s out ]; then
        fail "$tool: a short one, cut: $(cat err out)"
    fi
    grep -q "cut: offset .* data end too early" err || fail "$tool, cut: $(cat err)"

    # a checksum that is wrong, as every one of them has it
    size=$(wc -c < packed)
    case $tool in gzip) at=7 ;; zstd) at=3 ;; xz) at=20 ;; bzip2) at=4 ;; lz4) at=3 ;; esac
    { head -c -$at packed; printf '\125\252'; tail -c $((at - 2)) packed; } > damaged
    status=0
    "$PSNAP" convert damaged -f csv -o none.csv 2> err || status=$?
    [ $status = 1 ] && [ ! -e none.csv ] || fail "$tool: a wrong checksum is taken"
    grep -q "damaged: offset [0-9]*: damaged $tool data" err || fail "$tool, checksum: $(cat err)"

    # damaged in the middle: an error with the place, and no file
    head -c $((size / 2)) packed > damaged
    printf '\377\0\377\0\377\0\377\0\377\0\377\0\377\0\377\0\377\0\377\0\377\0' >> damaged
    tail -c +$((size / 2 + 23)) packed >> damaged
    status=0
    "$PSNAP" convert damaged -f csv -o none.csv 2> err || status=$?
    [ $status = 1 ] && [ ! -e none.csv ] || fail "$tool: damage is taken"
    grep -qE "damaged: offset [0-9]+: damaged $tool data|damaged:[0-9]+:[0-9]+: " err || fail "$tool, damaged: $(cat err)"

    # something behind
    { cat packed; echo "no compressed data at all"; } > behind
    status=0
    "$PSNAP" convert behind -f csv -o none.csv 2> err || status=$?
    [ $status = 1 ] && [ ! -e none.csv ] || fail "$tool: something behind is taken"
    grep -q "behind: offset [0-9]*: damaged $tool data" err || fail "$tool, behind: $(cat err)"
done
[ $tried -gt 0 ] || exit 77

# A header that asks for more memory than it may have
! "$PSNAP" info "$PSNAP_SOURCE/tests/fuzz/corpus/fuzz_compressed/zstd-window" 2> err &&
    grep -q "requires too much memory" err || fail "$(cat err)"

# Padding behind gzip data, as tapes leave it
if gzip -c < trace.csv > packed && head -c 700000 /dev/zero >> packed; then
    "$PSNAP" convert packed -f csv --force -o out 2> err && cmp out trace.csv || fail "padding"
fi
