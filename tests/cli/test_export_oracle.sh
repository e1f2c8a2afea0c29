#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# libCacheSim's oracleGeneral as libCacheSim reads it (export_readers.py): every request knows where
# its line comes next, also over the borders of the pieces in which they are written.
set -eu
readers=$(cd "$(dirname "$0")" && pwd)
profile=$readers/../golden/profile.psnap.yaml
# shellcheck source=tests/cli/common.sh
. "$(dirname "$0")/common.sh"
command -v python3 > /dev/null || exit 77
export PYTHONPATH=$readers PYTHONDONTWRITEBYTECODE=1 TMPDIR=$dir/tmp
mkdir tmp

python3 - << 'EOF'
import random
random.seed(9)
with open("trace.csv", "w") as file:
    print("address,size,kind,thread,ref", file=file)
    for i in range(50000):
        at = random.choice([random.getrandbits(64) % (2**64 - 64), 0x10000 + i * 8 % 90000, 0x7f0000000000 + random.randrange(3000)])
        print(f"0x{at:x},{random.choice([1, 8, 64])},{random.choice(['load', 'store'])},0,{i % 5}", file=file)
EOF
"$PSNAP" convert trace.csv -f oracle -o trace.oracle 2> err
has err "oracle does not keep: size and address within a line, load or store"
"$PSNAP" convert trace.csv -f oracle --skip 8190 --count 4 -o part.oracle 2> err
"$PSNAP" convert trace.csv -f oracle --count 0 -o none.oracle 2> err
[ ! -s none.oracle ] || fail "no access is something"
"$PSNAP" convert trace.csv -f oracle -m 4K:64:4 -o side.oracle 2> err
"$PSNAP" convert trace.csv -m 4K:64:4 -o side.csv 2> err
"$PSNAP" run trace.csv -f oracle -- cat > run.oracle 2> err
cmp trace.oracle run.oracle
[ -z "$(ls tmp)" ] || fail "it left $(ls tmp)"
python3 - << 'EOF' || fail "see above"
import export_readers as readers
def lines(accesses):
    return [line * 64 for r in accesses
            for line in range(r.address // 64, (r.address + r.size - 1) // 64 + 1)]
accesses = readers.csv("trace.csv")
for name, wanted in ("trace", accesses), ("part", accesses[8190:8194]), ("side", readers.csv("side.csv")):
    got = readers.oracle(f"{name}.oracle")
    assert [r.address for r in got] == lines(wanted), name
    assert all(r.size == 64 for r in got) and [r.time for r in got] == list(range(len(got)))
EOF
# libCacheSim cannot read a FIFO: nothing is started, and nobody waits for who reads
mkfifo a.fifo
expect 1 "$PSNAP" run trace.csv -f oracle -- touch {} started
has err "oracle cannot go through a FIFO: libCacheSim maps its whole input; write it to a file"
[ ! -e started ] || fail "it was started"
[ -z "$(ls tmp)" ] || fail "it left $(ls tmp)"
for command in convert replay; do
    expect 1 "$PSNAP" $command "$profile" -f oracle -o a.fifo
    has err "psnap $command: oracle cannot go through a FIFO: "
done
"$PSNAP" convert trace.csv -f oracle -o - 2> err | cmp - trace.oracle # to whatever pipe that is

TMPDIR=$dir/nowhere expect 1 "$PSNAP" convert trace.csv -f oracle -o never.oracle
has err "cannot use a temporary file (TMPDIR names the folder): no such file"
[ ! -e never.oracle ] || fail "something was written"
