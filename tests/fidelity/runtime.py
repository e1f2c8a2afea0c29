#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""
Run times measured and predicted, as a table (runtime.sh, runtime_openmp.sh).

    runtime.py show|accept DIR ROUNDS CSV

DIR has `rows`, a line "ROW COMMAND..." for each, the programs, `nothing`, and ROW.json of psnap
predict runtime. Commands are timed in turn, ROUNDS times; a row's time is its median less that
of `nothing`. Rows are NAME.SIZE, or NAME.SIZE.CORES for one and two cores, whose speed-ups are
compared too.
"""
import csv
import json
import os
import statistics
import subprocess
import sys
import time

PARTS = {"": "seconds", "_mem": "t_mem_seconds", "_cpu": "t_cpu_seconds",
         "_branch": "t_branch_seconds", "_touch": "t_touch_seconds"}
HERE = os.path.dirname(os.path.abspath(__file__))


def once(command):
    start = time.perf_counter()
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - start


def measure(rows, rounds):
    commands = [["./nothing"], *(command for _, command in rows)]
    times = [[] for _ in commands]
    for _ in range(rounds):
        for command, list_of in zip(commands, times):
            list_of.append(once(command))
    medians = [statistics.median(list_of) for list_of in times]
    return [median - medians[0] for median in medians[1:]]


def predictions(row):
    """{method: {part: seconds}}; the part "" is all of it"""
    with open(row + ".json") as file:
        report = json.load(file)
    return {
        each["method"]: {
            part: each[key]
            for part, key in PARTS.items()
            if key in each
        }
        for each in report["rows"]
        if each.get("scope", "total") == "total"
    }


def cores_of(row):
    name = row.split(".")
    return f" on {name[2]} cores" if len(name) == 3 else ""


def speedups(table):
    """Predicted speed-ups from one to two cores against measured ones, in percent, by method"""
    rows = {entry["row"]: entry for entry in table}
    errors = {}
    for row, one in rows.items():
        two = rows.get(row[:-1] + "2")
        if not cores_of(row) or not row.endswith(".1") or not two:
            continue
        measured = float(one["measured_s"]) / float(two["measured_s"])
        for key in one:
            if key.endswith("_off"):
                method = key[: -len("_off")]
                predicted = float(one[method + "_s"]) / float(two[method + "_s"])
                errors.setdefault(f"{method}, speed-ups", []).append(100 * abs(predicted / measured - 1))
    return errors


def main():
    mode, folder, rounds, path = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4]
    os.chdir(folder)
    with open("rows") as file:
        rows = [(line.split()[0], line.split()[1:]) for line in file]
    measured = measure(rows, rounds)
    table, errors = [], {}
    for (row, command), seconds in zip(rows, measured):
        entry = {"row": row, "arguments": " ".join(command[1:]), "measured_s": f"{seconds:.4f}"}
        for method, parts in predictions(row).items():
            off = 100 * (parts[""] - seconds) / seconds
            errors.setdefault(method + cores_of(row), []).append(abs(off))
            entry.update({f"{method}{part}_s": f"{each:.4f}" for part, each in parts.items()})
            entry[f"{method}_off"] = f"{off:.1f}"
        table.append(entry)
    writer = csv.DictWriter(sys.stdout, list(table[0]))
    writer.writeheader()
    writer.writerows(table)
    if mode == "accept":
        with open(os.path.join(HERE, path), "w", newline="") as file:
            writer = csv.DictWriter(file, list(table[0]), lineterminator="\n")
            writer.writeheader()
            writer.writerows(table)
    errors.update(speedups(table))
    for method, each in errors.items():
        print(f"{method}: mean error {statistics.mean(each):.1f} %, median {statistics.median(each):.1f} %, "
              f"largest {max(each):.1f} % of {len(each)} rows")


main()
