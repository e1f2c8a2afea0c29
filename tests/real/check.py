#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Whether two profiles of one program are sensible, and what its table says of it.

    check.py PSNAP FIRST.yaml SECOND.yaml LOOP...

The two have the same loops with the same counts; shares add up; the busiest loops have a file
and a line; the loops named (a function, or function:line) are among those with 1 % of the
accesses. Prints "accesses,profile bytes,loops,busiest loops", the last with their shares.
"""
import json
import os
import subprocess
import sys


def loops_of(psnap, path):
    subprocess.run([psnap, "check", path], check=True, stdout=subprocess.DEVNULL)
    shown = subprocess.run([psnap, "show", "--json", "--top", "100000", path], check=True, capture_output=True)
    return json.loads(shown.stdout)


def main():
    psnap, first, second, *wanted = sys.argv[1:]
    one, two = loops_of(psnap, first), loops_of(psnap, second)
    counts = [{loop["id"]: (loop["accesses"], loop.get("iterations")) for loop in profile["loops"]}
              for profile in (one, two)]
    differ = [id for id in counts[0].keys() | counts[1].keys()
              if counts[0].get(id) != counts[1].get(id)]
    assert not differ, f"two runs differ in {sorted(differ)[:5]}"
    assert sum(loop["accesses"] for loop in one["loops"]) == one["accesses"]
    assert abs(sum(loop["share"] for loop in one["loops"]) - 1) < 1e-6
    busy = sorted(one["loops"], key=lambda loop: -loop["accesses"])
    for loop in busy[:20]:
        assert loop["file"] and loop["src_line"] > 0, f"{loop['id']} has no line"
    names = {loop["function"] for loop in busy if loop["share"] >= 0.01}
    missing = [name for name in wanted if name not in names]
    assert not missing, f"{missing} not among {sorted(names)}"
    top = " ".join(f"{loop['id']} {100 * loop['share']:.1f} %;" for loop in busy[:3]).rstrip(";")
    print(f"{one['accesses']},{os.path.getsize(first)},{len(one['loops'])},{top}")


if __name__ == "__main__":
    main()
