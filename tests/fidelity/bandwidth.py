#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""
Memory times measured and predicted, as a table (bandwidth.sh).

    bandwidth.py show|accept DIR ROUNDS POINTS.yaml

DIR has `rows`, a line "ROW COMMAND... | COMMAND..." for each, of half and all of its iterations, the programs,
`nothing`, and ROW.half.json and ROW.all.json of psnap predict bandwidth by all methods.
"""
import csv
import json
import os
import statistics
import subprocess
import sys

METHODS = ("ga", "nlopt", "nnls", "additive", "averaged")
HERE = os.path.dirname(os.path.abspath(__file__))
# Of the predicted memory time: more than this beyond what the fastest point of MultiMAPS takes
BOUND = 0.5


def once(command):
    """Processor time of the program: what it waits for others, on a machine with other work, is not in it"""
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{command}: exit status {process.returncode}")
    return usage.ru_utime + usage.ru_stime


def measure(rows, rounds):
    """[(median of half, median of all)], without what starting a program takes"""
    commands = [["./nothing"]] + [command for _, half, whole in rows for command in (half, whole)]
    times = [[] for _ in commands]
    for _ in range(rounds):
        for command, list_of in zip(commands, times):
            list_of.append(once(command))
    medians = [statistics.median(list_of) for list_of in times]
    medians = [median - medians[0] for median in medians[1:]]
    return list(zip(medians[::2], medians[1::2]))


def total(path, method):
    with open(path) as file:
        return next(each for each in json.load(file)["rows"]
                    if each.get("scope", "total") == "total" and each["method"] == method)


def main():
    mode, folder, rounds, points = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4]
    os.chdir(folder)
    with open("rows") as file:
        lines = [line.split(maxsplit=1) for line in file]
    rows = [(row, *(command.split() for command in commands.split("|"))) for row, commands in lines]
    with open(points) as file:
        fastest = max(float(line.split("bandwidth_bytes_per_s:")[1].split(",")[0])
                      for line in file if "bandwidth_bytes_per_s:" in line)
    table, errors, runs = [], {method: [] for method in METHODS}, {"bandwidth": [], "runtime": []}
    for (row, half, whole), (half_s, whole_s) in zip(rows, measure(rows, rounds)):
        measured = whole_s - half_s
        entry = {"row": row, "arguments": " ".join(whole[1:]), "measured_s": f"{measured:.4f}"}
        is_bound = False
        for method in METHODS:
            all_of, half_of = (total(f"{row}.{run}.json", method) for run in ("all", "half"))
            parts = {key: all_of[key] - half_of[key] for key in ("t_mem_seconds", "t_cpu_seconds", "accesses")}
            memory = parts["t_mem_seconds"]
            if method == METHODS[0]:
                nearest = parts["accesses"] * 8 / fastest
                is_bound = memory - nearest > BOUND * memory and memory > parts["t_cpu_seconds"]
                entry["floating_s"] = f'{parts["t_cpu_seconds"]:.4f}'
                entry["memory_bound"] = "yes" if is_bound else "no"
                runs["bandwidth"].append(100 * abs(all_of["seconds"] / whole_s - 1))
            off = 100 * (memory / measured - 1)
            entry[f"{method}_s"], entry[f"{method}_off"] = f"{memory:.4f}", f"{off:.1f}"
            if is_bound:
                errors[method].append(abs(off))
        runtime = total(f"{row}.runtime.json", "overlap")["seconds"]
        runs["runtime"].append(100 * abs(runtime / whole_s - 1))
        entry.update({"run_s": f"{whole_s:.4f}", "run_bandwidth_s": f'{total(f"{row}.all.json", "ga")["seconds"]:.4f}',
                      "run_runtime_s": f"{runtime:.4f}"})
        table.append(entry)
    outputs = [sys.stdout]
    if mode == "accept":
        outputs.append(open(os.path.join(HERE, "bandwidth.csv"), "w", newline=""))
    for output in outputs:
        writer = csv.DictWriter(output, list(table[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(table)
    for method, each in errors.items():
        if each:
            print(f"{method}: memory time of memory-bound loops: mean error {statistics.mean(each):.1f} %, "
                  f"median {statistics.median(each):.1f} %, largest {max(each):.1f} % of {len(each)} rows")
    for name, each in runs.items():
        print(f"run times by {name}: mean error {statistics.mean(each):.1f} %, median {statistics.median(each):.1f} %")


main()
