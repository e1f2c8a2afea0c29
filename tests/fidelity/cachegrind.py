#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""The table of tests/fidelity/cachegrind.sh: cachegrind.py FOLDER [accept|print].

Reads FOLDER/SAMPLE.MACHINE.csv (psnap sim --csv), FOLDER/SAMPLE.MACHINE.cg (cachegrind's output) and
FOLDER/SAMPLE.functions (the sample's own, by linker name) and compares with cachegrind.csv.
"""
import csv
import glob
import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROWS = os.path.join(HERE, "cachegrind.csv")
COPIES = re.compile(r"__mem(set|cpy|move)_")  # the C library's; psnap records calls, the dynamic linker has others
NOISE_PERCENT = 0.5
ASKED_PERCENT = 2
FIELDS = ["sample", "machine", "psnap_accesses", "cachegrind_accesses", "psnap_d1_misses", "cachegrind_d1_misses",
          "d1_percent", "psnap_ll_misses", "cachegrind_ll_misses", "ll_percent", "why"]


def psnap_counts(path):
    with open(path, newline="", encoding="utf-8") as file:
        d1, last = csv.DictReader(file)
    misses = [int(level["accesses"]) - int(level["hits"]) for level in (d1, last)]
    return [int(d1["accesses"])] + misses


def cachegrind_counts(path, functions):
    """Accesses, misses of the first level, and of the last: data, of these functions."""
    sums, events, is_ours = {}, [], False
    with open(path, encoding="utf-8", errors="replace") as file:
        for line in file:
            if line.startswith("events:"):
                events = line.split()[1:]
                sums = dict.fromkeys(events, 0)
            elif line.startswith("fn="):
                name = line[3:].strip()
                is_ours = name in functions or COPIES.match(name) is not None
            elif line[0].isdigit() and is_ours:
                for event, count in zip(events, line.split()[1:]):
                    sums[event] += int(count)
    return [sums["Dr"] + sums["Dw"], sums["D1mr"] + sums["D1mw"], sums["DLmr"] + sums["DLmw"]]


def percent(ours, theirs):
    return 100 * (ours - theirs) / theirs if theirs else 100.0 * bool(ours)


def main(folder, mode):
    kept = {}
    if os.path.exists(ROWS):
        with open(ROWS, newline="", encoding="utf-8") as file:
            kept = {(row["sample"], row["machine"]): row for row in csv.DictReader(file)}
    rows, failed = dict(kept) if mode == "accept" else {}, 0
    print(f"{'sample':14} {'machine':7} {'accesses':>11} {'D1 misses':>10} {'cachegrind':>10} {'%':>7}"
          f" {'LL misses':>10} {'cachegrind':>10} {'%':>7}")
    for path in sorted(glob.glob(os.path.join(folder, "*.cg"))):
        name, machine, _ = os.path.basename(path).split(".")
        key = (name, machine)
        with open(os.path.join(folder, name + ".functions"), encoding="utf-8") as file:
            functions = set(file.read().split())
        ours = psnap_counts(os.path.join(folder, f"{name}.{machine}.csv"))
        theirs = cachegrind_counts(path, functions)
        apart = [percent(ours[i], theirs[i]) for i in (1, 2)]
        why = kept.get(key, {}).get("why", "")
        print(f"{name:14} {machine:7} {ours[0]:11} {ours[1]:10} {theirs[1]:10} {apart[0]:7.2f}"
              f" {ours[2]:10} {theirs[2]:10} {apart[1]:7.2f}  {why}")
        rows[key] = dict(zip(FIELDS, [name, machine, ours[0], theirs[0], ours[1], theirs[1], f"{apart[0]:.2f}",
                                       ours[2], theirs[2], f"{apart[1]:.2f}", why]))
        if mode:
            continue
        for figure, field in zip(apart, ("d1_percent", "ll_percent")):
            allowed = abs(float(kept[key][field])) if key in kept else ASKED_PERCENT
            if abs(figure) > allowed + NOISE_PERCENT:
                print(f"{name} {machine}: {field} {figure:.2f}, committed {allowed:.2f}")
                failed = 1
    if mode == "accept":
        with open(ROWS, "w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, FIELDS, lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows[key] for key in sorted(rows))
    return failed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else ""))
