#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""
Run times measured and predicted, as a table (runtime.sh, runtime_openmp.sh).

    runtime.py show|accept DIR ROUNDS CSV

DIR has `rows`, a line "ROW COMMAND..." for each, the programs, `nothing`, and ROW.json of psnap
predict runtime. Commands are timed in turn, ROUNDS times; a row's time is its median less that
of `nothing`. Rows NAME.1 and NAME.2 are of one and of two cores.
"""
import csv
import json
import os
import statistics
import subprocess
import sys
import time

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
    """{method: (seconds, of these memory, of these computing)}"""
    with open(row + ".json") as file:
        report = json.load(file)
    return {
        each["method"]: (each["seconds"], each["t_mem_seconds"], each["t_cpu_seconds"])
        for each in report["rows"]
        if each.get("scope", "total") == "total"
    }


def main():
    mode, folder, rounds, path = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4]
    os.chdir(folder)
    with open("rows") as file:
        rows = [(line.split()[0], line.split()[1:]) for line in file]
    measured = measure(rows, rounds)
    table, errors = [], {}
    for (row, command), seconds in zip(rows, measured):
        entry = {"row": row, "arguments": " ".join(command[1:]), "measured_s": f"{seconds:.4f}"}
        for method, (total, memory, cpu) in predictions(row).items():
            off = 100 * (total - seconds) / seconds
            errors.setdefault(method, []).append(abs(off))
            entry.update({f"{method}_s": f"{total:.4f}", f"{method}_mem_s": f"{memory:.4f}",
                          f"{method}_cpu_s": f"{cpu:.4f}", f"{method}_off": f"{off:.1f}"})
        table.append(entry)
    writer = csv.DictWriter(sys.stdout, list(table[0]))
    writer.writeheader()
    writer.writerows(table)
    if mode == "accept":
        with open(os.path.join(HERE, path), "w", newline="") as file:
            writer = csv.DictWriter(file, list(table[0]), lineterminator="\n")
            writer.writeheader()
            writer.writerows(table)
    for method, each in errors.items():
        print(f"{method}: mean error {statistics.mean(each):.1f} %, median {statistics.median(each):.1f} %, "
              f"largest {max(each):.1f} % of {len(each)} rows")


main()
