#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""
Memory times measured and predicted, as a table (bandwidth.sh).

    bandwidth.py show|accept DIR ROUNDS

DIR has NAME.row, a line "NAME COMMAND... | COMMAND..." for each sample, of half of its iterations and of MORE halves
more, the programs, `nothing`, and of runs of half and twice the half NAME.RUN.json of psnap predict bandwidth by all
methods, NAME.RUN.runtime.json and, by the assembly code, NAME.RUN.runtime.asm.json of psnap predict runtime.
"""
import csv
import glob
import json
import os
import statistics
import subprocess
import sys

METHODS = ("ga", "nlopt", "nnls", "additive")
HERE = os.path.dirname(os.path.abspath(__file__))
MORE = 8
# Times what the core needs, which loops take that are memory-bound
BOUND = 2


def once(command):
    """Processor time of the program: what it waits for others, on a machine with other work, is not in it"""
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{command}: exit status {process.returncode}")
    return usage.ru_utime + usage.ru_stime


def measure(rows, rounds):
    """[(seconds of half, of another half)], without what starting a program takes"""
    commands = [["./nothing"]] + [command for _, half, whole in rows for command in (half, whole)]
    times = [[] for _ in commands]
    for _ in range(rounds):
        for command, list_of in zip(commands, times):
            list_of.append(once(command))
    medians = [statistics.median(list_of) for list_of in times]
    halves = [median - medians[0] for median in medians[1::2]]
    more = [(whole - half) / MORE for half, whole in zip(medians[1::2], medians[2::2])]
    return list(zip(halves, more))


def total(path, method):
    with open(path) as file:
        return next(each for each in json.load(file)["rows"]
                    if each.get("scope", "total") == "total" and each["method"] == method)


def another_half(name, ending, method, *keys):
    """What the run of twice the half has more, of the keys' sum"""
    whole, half = (total(f"{name}.{run}.{ending}", method) for run in ("all", "half"))
    return sum(whole[key] - half[key] for key in keys)


def main():
    mode, folder, rounds = sys.argv[1], sys.argv[2], int(sys.argv[3])
    os.chdir(folder)
    lines = [open(path).read().split(maxsplit=1) for path in sorted(glob.glob("*.row"))]
    rows = [(name, *(command.split() for command in commands.split("|"))) for name, commands in lines]
    table, errors, runs = [], {method: [] for method in METHODS}, {}
    for (name, half, _), (half_s, measured) in zip(rows, measure(rows, rounds)):
        core = another_half(name, "runtime.asm.json", "overlap", "t_cpu_seconds")
        is_bound = measured > BOUND * core
        entry = {"sample": name, "arguments": " ".join(half[1:]), "measured_s": f"{measured:.5f}",
                 "core_s": f"{core:.5f}", "memory_bound": "yes" if is_bound else "no"}
        for method in METHODS:
            memory = another_half(name, "json", method, "t_mem_seconds")
            off = 100 * (memory / measured - 1)
            entry[f"{method}_s"], entry[f"{method}_off"] = f"{memory:.5f}", f"{off:.1f}"
            if is_bound:
                errors[method].append(abs(off))
        entry["run_s"] = f"{half_s:.4f}"
        for key, ending, method in (("nnls", "json", "nnls"), ("runtime", "runtime.json", "overlap"),
                                    ("runtime_asm", "runtime.asm.json", "overlap")):
            seconds = total(f"{name}.half.{ending}", method)["seconds"]
            entry[f"run_{key}_s"] = f"{seconds:.4f}"
            runs.setdefault(key, []).append(100 * abs(seconds / half_s - 1))
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
                  f"median {statistics.median(each):.1f} %, largest {max(each):.1f} % of {len(each)} samples")
    for name, each in runs.items():
        print(f"run times by {name}: mean error {statistics.mean(each):.1f} %, median {statistics.median(each):.1f} %")


main()
