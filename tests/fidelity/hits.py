#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""
Predicted and simulated hit rates of psnap predict cache, as a table (hits.sh).

    hits.py ACCEPT FILE.json...

Errors are absolute differences of cumulative hit rates in points: of the whole stream, and the mean
over loops with at least 0.5 % of the accesses. ACCEPT 1 writes hits.csv.
"""
import csv
import json
import os
import statistics
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
METHODS = ["sdcm", "per-set"]
COLUMNS = ["sample", "machine", "level", "simulated", *METHODS, *(f"{m}_points" for m in METHODS),
           *(f"{m}_loops_points" for m in METHODS)]


def rates(report):
    """{(machine, scope, id, level): {method: rate}}, and {(machine, scope, id): accesses}"""
    found, accesses = {}, {}
    for row in report["rows"]:
        place = (row["machine"], row["scope"], row["id"])
        accesses[place] = row["accesses"]
        for level in row["levels"]:
            found.setdefault((*place, level["level"]), {})[row["method"]] = level["cumulative_hit_rate"]
    return found, accesses


def off(rate, method):
    return 100 * abs(rate[method] - rate["simulation"])


def lines(sample, report):
    found, accesses = rates(report)
    for (machine, scope, _, level), total in found.items():
        if scope != "total":
            continue
        loops = [rate for (m, s, name, l), rate in found.items()
                 if (m, s, l) == (machine, "loop", level) and
                 accesses[(m, s, name)] >= 0.005 * accesses[(machine, "total", "total")]]
        line = {"sample": sample, "machine": machine, "level": level,
                "simulated": f"{100 * total['simulation']:.3f}"}
        for method in METHODS:
            line[method] = f"{100 * total[method]:.3f}"
            line[f"{method}_points"] = f"{off(total, method):.3f}"
            line[f"{method}_loops_points"] = f"{statistics.mean(off(loop, method) for loop in loops):.3f}"
        yield line


def summary(table):
    for method in METHODS:
        for column in (f"{method}_points", f"{method}_loops_points"):
            for level in sorted({line["level"] for line in table}):
                each = [(float(line[column]), line) for line in table if line["level"] == level]
                most, worst = max(each, key=lambda pair: pair[0])
                print(f"{column:22} L{level}: mean {statistics.mean(e for e, _ in each):6.3f}, largest "
                      f"{most:6.3f} ({worst['sample']}, {worst['machine']})")


def main():
    table = []
    for path in sorted(sys.argv[2:]):
        with open(path) as file:
            table += lines(os.path.basename(path)[: -len(".json")], json.load(file))
    out = [sys.stdout]
    if sys.argv[1] == "1":
        out.append(open(os.path.join(HERE, "hits.csv"), "w", newline=""))
    for file in out:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(table)
    summary(table)


main()
