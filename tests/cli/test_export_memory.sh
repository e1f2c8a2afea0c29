#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Traces for simulators of memories (Ramulator, DRAMsim3) and for Prospero, read as these read them
# (export_readers.py): accesses as they are with -m none; else what a cache asks of memory, beside a
# textbook one.
set -eu
readers=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/cli/common.sh
. "$(dirname "$0")/common.sh"
command -v python3 > /dev/null || exit 77
export PYTHONPATH=$readers PYTHONDONTWRITEBYTECODE=1

# Unaligned accesses of all sizes, high addresses; `high` has some of 2^63 and more
python3 - << 'END'
import random
random.seed(7)
def write(name, n, bits):
    with open(name, "w") as file:
        print("address,size,kind,thread,ref", file=file)
        base = [random.getrandbits(bits) & ~4095 for _ in range(6)]
        for i in range(n):
            at = random.choice(base) + random.choice([i * 8 % 60000, random.randrange(60000)])
            kind = random.choice(["load", "load", "store", "atomic"])
            print(f"0x{at % (2**bits - 64):x},{random.choice([1, 2, 4, 8, 8, 8, 16, 64])},{kind},0,{i % 5}", file=file)
write("low.csv", 30000, 63)
write("high.csv", 3000, 64)
END

formats="ramulator1 ramulator2-ls ramulator2-rw ramulator-cpu dramsim3 prospero prospero-bin"
for format in $formats; do
    "$PSNAP" convert --layout program low.csv -f "$format" -m none -o "raw.$format" 2> err
    has err "$format does not keep: "
    [ "${format%-bin}" = prospero ] || has err "gets all accesses, as a processor makes them (-m none)"
    "$PSNAP" convert --layout program low.csv -f "$format" -m 8K:64:4 -o "side.$format" 2> err
    has err "$format gets what misses the last level of 8K:64:4, and its write-backs: "
    "$PSNAP" convert --layout program low.csv -f "$format" -m none --skip 1000 --count 777 -o "part.$format" 2> err
    has err "777 accesses after the first 1,000"
    "$PSNAP" run --layout program low.csv -f "$format" -m 8K:64:4 -- cat > run.out 2> err
    cmp run.out "side.$format" || fail "run sends something else as $format"
    has err "$format gets what misses the last level of 8K:64:4"
    "$PSNAP" convert --layout program low.csv -f "$format" --count 0 -o "none.$format" 2> err
    [ ! -s "none.$format" ] || fail "$format: no access is something"
    "$PSNAP" convert --layout program low.csv -f "$format" -m none --count 1 -o "one.$format" 2> err
done
"$PSNAP" convert low.csv -m 8K:64:4 -o side.csv 2> err

cat > check.py << 'END'
import export_readers as readers
accesses = readers.csv("low.csv")
side = readers.caches(accesses, 32, 4)
assert [r[:3] for r in side] == [r[:3] for r in readers.csv("side.csv")], "csv"
assert sum(r.kind == "W" for r in side) > 1000

def same(name, got, wanted, fields, address=lambda a: a):
    wanted = [tuple(getattr(r._replace(address=address(r.address)), f) for f in fields) for r in wanted]
    got = [tuple(getattr(r, f) for f in fields) for r in got]
    assert len(got) == len(wanted), f"{name}: {len(got)} of {len(wanted)} requests"
    for i, (a, b) in enumerate(zip(got, wanted)):
        assert a == b, f"{name}: request {i} is {a}, not {b}"

def all_of(name, read, fields, address=lambda a: a):
    part = [r._replace(time=i) for i, r in enumerate(accesses[1000:1777])]
    for where, wanted in (("raw", accesses), ("side", side), ("part", part), ("one", accesses[:1])):
        if name == "dramsim3":  # the last one is due at once
            before = wanted[-2].time if len(wanted) > 1 else -1
            wanted = wanted[:-1] + [wanted[-1]._replace(time=min(wanted[-1].time, before + 1))]
        same(f"{where}.{name}", read(f"{where}.{name}"), wanted, fields, address)

all_of("ramulator1", readers.ramulator1, ("kind", "address"))
all_of("ramulator2-ls", readers.ramulator2_ls, ("kind", "address"))
all_of("ramulator2-rw", readers.ramulator2_rw, ("kind", "address"), lambda a: a % (1 << 33) & ~63)
all_of("dramsim3", readers.dramsim3, ("kind", "address", "time"))
all_of("prospero", readers.prospero, ("kind", "address", "size", "time"))
all_of("prospero-bin", readers.prospero_bin, ("kind", "address", "size", "time"))

# Of a processor's trace: all loads in order, with their times, all stores, and few loads more
for where, wanted in ("raw", accesses), ("side", side), ("part", accesses[1000:1777]):
    got = readers.ramulator_cpu(f"{where}.ramulator-cpu")
    stores = [r.address for r in got if r.kind == "W"]
    assert stores == [r.address for r in wanted if r.kind == "W"], f"{where}: other stores"
    loads = [r for r in wanted if r.kind == "R"]
    made = [r for r in got if r.kind == "R"]
    at, extra = 0, 0
    for r in made:
        if at < len(loads) and r.address == loads[at].address:
            at += 1
        else:
            extra += 1
    assert at == len(loads) and extra <= (0 if where == "side" else len(stores) // 20), \
        f"{where}: {at} of {len(loads)} loads, {extra} more"
    if where == "side":  # bubbles are accesses that hit
        bubbles = [max(0, b.time - a - 1) for a, b in zip([-1] + [r.time for r in loads], loads)]
        assert [r.time for r in made] == bubbles and sum(bubbles) > 1000
    elif where == "raw":
        assert not any(r.time for r in made)
END
python3 check.py || fail "see above"

# Addresses of 2^63 and more: an error where the simulator has one, else whole
for format in ramulator2-ls ramulator-cpu; do
    expect 1 "$PSNAP" convert --layout program high.csv -f $format -m none -o high.$format
    grep -q "access [0-9]*, a.* at 0x[89a-f][0-9a-f]\{15\}, cannot be written: Ramulator" err || fail "$(cat err)"
    [ ! -e high.$format ] || fail "something was written as $format"
done
for format in ramulator1 dramsim3 prospero prospero-bin; do
    "$PSNAP" convert --layout program high.csv -f $format -m none -o high.$format 2> err
    python3 - $format << 'END' || fail "high addresses as $format"
import sys, export_readers as readers
name = sys.argv[1]
got = getattr(readers, name.replace("-", "_"))(f"high.{name}")
wanted = readers.csv("high.csv")
assert max(r.address for r in wanted) >> 63
assert [r[:2] for r in got] == [r[:2] for r in wanted]
END
done

# The compact layout: pages of 2 MiB from the base on, as they come first; no two lines become one,
# and an access across pages is two
cat > wide.csv << 'END'
address,size,kind,thread,ref
0x20000000010,8,load,0,0
0x300001ffffc,8,store,0,0
0x20000000050,8,load,0,0
0x30000200000,8,load,0,0
0x40080000000,8,atomic,0,0
END
"$PSNAP" convert wide.csv -f csv --base 2G -o - 2> err > compact.csv
diff compact.csv - << 'END' || fail "compact"
address,size,kind,thread,ref
0x80000010,8,load,0,0
0x803ffffc,4,store,0,0
0x80400000,4,store,0,0
0x80000050,8,load,0,0
0x80400000,8,load,0,0
0x80600000,8,atomic,0,0
END
has err "from 0x80000000 to 0x80800000"
for format in ramulator1 ramulator2-ls ramulator-cpu dramsim3; do
    "$PSNAP" convert high.csv -f $format -m none -o high.$format 2> err --force
    has err "pages of 2 MiB one behind the other in the order of their first use, from 0x0 to"
    python3 - $format << 'END' || fail "compact as $format"
import sys, export_readers as readers
name = sys.argv[1]
got = getattr(readers, name.replace("-", "_"))(f"high.{name}")
wanted = {r.address // 64 for r in readers.csv("high.csv")}
lines = {r.address // 64 for r in got}
assert len(wanted) <= len(lines) <= len(wanted) + 9 and max(lines) < 2**33, (len(lines), len(wanted), max(lines))
END
done
# runs, whose accesses cross pages forwards, backwards and in their middle, as access by access
python3 - << 'END' > sweeps.csv
print("address,size,kind,thread,ref")
for i in range(600000):
    print(f"{2**40 + 8 * i:#x},8,load,0,0")
    print(f"{2**41 + 2**21 * 3 - 16 * i - 4:#x},8,store,0,1")
    print(f"{2**42 + 12 * i:#x},8,load,0,2")
END
"$PSNAP" profile sweeps.csv -o sweeps.yaml 2> err
"$PSNAP" replay sweeps.yaml -f csv -o - 2> err | cut -d, -f1-3 |
    cmp - <(cut -d, -f1-3 sweeps.csv) || fail "the sweeps are not exact"
"$PSNAP" replay sweeps.yaml -f dinbin -o runs.dinbin 2> err
"$PSNAP" convert sweeps.csv -f dinbin -o one.dinbin 2> err
cmp runs.dinbin one.dinbin || fail "runs in the compact layout"

expect 2 "$PSNAP" convert wide.csv -f csv --base 4K --layout program -o -
has err "--base is of the compact layout"
expect 2 "$PSNAP" convert wide.csv -f csv --layout dense -o -
has err "no layout 'dense'; there are: compact, program"

# Unless said, a machine is taken, and that is said; formats for processors get everything
"$PSNAP" convert low.csv -f dramsim3 -o default.dramsim3 2> err
has err "dramsim3 gets what misses the last level of i7-5960x (-m MACHINE takes another, -m none all accesses)"
echo '0 40' | "$PSNAP" convert - --from din -f dramsim3 -o line.dramsim3 -m 8K:256:4 2> err
has err ': 1 line read, 0 lines written back'
"$PSNAP" convert low.csv -f prospero -o default.prospero 2> err
cmp default.prospero raw.prospero
"$PSNAP" convert low.csv -f dramsim3 -m i7-5960x -o named.dramsim3 2> err
cmp default.dramsim3 named.dramsim3
expect 1 "$PSNAP" convert low.csv -f dramsim3 -m nonesuch -o never.dramsim3
[ ! -e never.dramsim3 ] || fail "something was written"
expect 1 "$PSNAP" run low.csv -f dramsim3 -m nonesuch -- touch never
[ ! -e never ] || fail "a consumer was started"

# A machine of three levels reads as many lines as psnap sim counts misses, where none is in two
awk 'BEGIN {
    print "address,size,kind,thread,ref"
    for (i = 0; i < 60000; i++)
        printf "0x%x,8,%s,0,0\n", 65536 + 8 * ((i * 7919) % 30011), i % 3 ? "load" : "store"
}' > whole.csv
"$PSNAP" sim whole.csv -m 4K:64:4,16K:64:4,64K:64:8 --by total --json > sim.json
"$PSNAP" convert whole.csv -m 4K:64:4,16K:64:4,64K:64:8 -o whole.side.csv 2> err
python3 - << 'END' || fail "other counts than psnap sim has"
import json, export_readers as readers
row = json.load(open("sim.json"))["rows"][0]
got = readers.csv("whole.side.csv")
last = row["levels"][-1]
assert sum(r.kind == "R" for r in got) == last["accesses"] - last["hits"] > 1000
assert sum(r.kind == "W" for r in got) >= last["write_backs"] > 1000 # and those of nearer levels
END

# A profile's stream goes the same way
"$PSNAP" profile low.csv -o low.yaml 2> err
"$PSNAP" replay --layout program low.yaml -f ramulator1 -m 8K:64:4 -o replay.ramulator1 2> err
has err "psnap replay: ramulator1 gets what misses the last level of 8K:64:4"
"$PSNAP" replay low.yaml -f csv -m 8K:64:4 -o replay.csv 2> err
python3 - << 'END' || fail "replay sends something else"
import export_readers as readers
assert [r[:2] for r in readers.ramulator1("replay.ramulator1")] == [r[:2] for r in readers.csv("replay.csv")]
END
