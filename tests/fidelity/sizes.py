#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""
Sizes of profiles as a table, beside what is committed (sizes.sh).

    sizes.py check|accept WORK all|some SAMPLE...

WORK has a file NAME.WHAT for each profile of the samples, with its bytes. WHAT is base, iterations,
data or full; full may be missing of all. `all`: there are no other samples.
"""
import csv
import os
import statistics
import sys

HERE = os.environ.get("SIZES_COMMITTED", os.path.dirname(os.path.abspath(__file__)))
KINDS = ["base", "iterations", "data", "full"]
SLACK, SLACK_BYTES = 1.05, 1024  # what is no difference
RATIO_MAX = 1.5
MEDIAN_MAX, MOST_MAX = 64 * 1024, 256 * 1024


def read_committed():
    path = os.path.join(HERE, "sizes.csv")
    if not os.path.exists(path):
        return {}
    with open(path, newline="") as file:
        return {row["sample"]: {k: int(row[k]) for k in KINDS if row[k]} for row in csv.DictReader(file)}


def read_measured(work, wanted):
    sizes = {}
    for name in sorted(wanted):
        for kind in KINDS:
            path = os.path.join(work, name + "." + kind)
            if os.path.exists(path):
                with open(path) as file:
                    sizes.setdefault(name, {})[kind] = int(file.read())
    return sizes


def ratio(row, kind):
    return row[kind] / row["base"]


def table(rows):
    lines = [
        "| sample | tests KB | ten times the iterations | ten times the data | fidelity KB |",
        "|---|---:|---:|---:|---:|",
    ]
    for name, row in sorted(rows.items()):
        full = "%.1f" % (row["full"] / 1024) if "full" in row else ""
        lines.append("| %s | %.1f | %.2f | %.2f | %s |" % (
            name, row["base"] / 1024, ratio(row, "iterations"), ratio(row, "data"), full))
    for what, of in (("median", statistics.median), ("largest", max)):
        full = ["%.1f" % (of([r["full"] for r in rows.values() if "full" in r]) / 1024)
                if any("full" in r for r in rows.values()) else ""]
        lines.append("| %s | %.1f | %.2f | %.2f | %s |" % (
            what, of([r["base"] for r in rows.values()]) / 1024,
            of([ratio(r, "iterations") for r in rows.values()]),
            of([ratio(r, "data") for r in rows.values()]), full[0]))
    return lines


def worse(name, row, before):
    """What of a sample is worse than committed."""
    for kind in KINDS:
        if kind in row and kind in before and row[kind] > before[kind] * SLACK and \
                row[kind] > before[kind] + SLACK_BYTES:
            yield "%s, %s: %d bytes, committed %d" % (name, kind, row[kind], before[kind])
    for kind in ("iterations", "data"):
        limit = max(RATIO_MAX, ratio(before, kind) * SLACK) if before else RATIO_MAX
        if ratio(row, kind) > limit:
            yield "%s: ten times the %s makes the profile %.2f times as large, at most %.2f" % (
                name, kind, ratio(row, kind), limit)


def main():
    mode, work, extent, wanted = sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4:]
    committed, measured = read_committed(), read_measured(work, wanted)
    kinds = set(KINDS) if any("full" in row for row in measured.values()) else set(KINDS[:3])
    missing = [name for name in wanted if not kinds <= set(measured.get(name, {}))]
    if missing or not measured:
        print("sizes: nothing of", *(missing or ["any sample"]), file=sys.stderr)
        return 1
    print("\n".join(table(measured)))
    if mode == "accept":
        if extent == "all":
            committed = {name: committed.get(name, {}) for name in measured}
        for name, row in measured.items():
            committed[name] = {**committed.get(name, {}), **row}
        with open(os.path.join(HERE, "sizes.csv"), "w", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(["sample"] + KINDS)
            for name, row in sorted(committed.items()):
                writer.writerow([name] + [row.get(k, "") for k in KINDS])
        with open(os.path.join(HERE, "sizes.md"), "w") as file:
            file.write("Sizes of profiles, and their growth (`tests/fidelity/sizes.sh --accept` wrote this).\n\n")
            file.write("\n".join(table(committed)) + "\n")
        return 0
    bad = [text for name, row in sorted(measured.items())
           for text in worse(name, row, committed.get(name, {}))]
    full = [row["full"] for row in measured.values() if "full" in row]
    if full and max(full) > MOST_MAX:
        bad.append("the largest profile has more than %d bytes" % MOST_MAX)
    if full and extent == "all" and statistics.median(full) > MEDIAN_MAX:
        bad.append("the median of profiles is above %d bytes" % MEDIAN_MAX)
    for text in bad:
        print("sizes: worse:", text, file=sys.stderr)
    return 1 if bad else 0


sys.exit(main())
