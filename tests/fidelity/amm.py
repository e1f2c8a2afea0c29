#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Rows, table and figures of amm.sh.

A row is a larger input and where its profile comes from: `measured`, its own trace; `published`,
the small input's distances as AMM has them; `fixed`, the same by every window and access. profile_distance
is the sum of absolute differences from the measured profile, over distances by powers of two: 0 to 2. Times are those of one iteration
of the kernel, user time of an uninstrumented run: the difference of two numbers of iterations. Times
of the published methods are by both readings of b: an access's mean size, and (line) that of a line.
"""
import csv
import json
import os
import resource
import subprocess
import sys

ITERATIONS = 10  # of the recordings
METHODS = ["published", "throughput", "overlap"]
SOURCES = ["measured", "published", "fixed"]
COLUMNS = (["case", "size", "source", "accesses", "profile_distance", "l1", "l2", "l3"]
           + [f"{m}_us" for m in METHODS] + [f"{m}_line_us" for m in METHODS[:2]] + ["measured_us"])


def bins(path):
    """Shares of accesses: cold at -1, distance 0 at 0, then by powers of two."""
    sums = {}
    with open(path, encoding="utf-8") as file:
        for row in csv.DictReader(file):
            distance = row["distance"]
            at = -1 if distance == "cold" else int(distance).bit_length()
            sums[at] = sums.get(at, 0) + float(row["accesses"])
    total = sum(sums.values())
    return {at: count / total for at, count in sums.items()}


def difference(one, other):
    return sum(abs(one.get(at, 0) - other.get(at, 0)) for at in set(one) | set(other))


def user_seconds(program, size, iterations):
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    subprocess.run([program, str(size), str(iterations)], stdout=subprocess.DEVNULL, check=True)
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before


def measure(program, size):
    """Microseconds of an iteration: of interleaved runs of both lengths the shortest ones, as other
    work on the machine only makes them longer."""
    count = 1
    while user_seconds(program, size, count) < 0.2:
        count *= 2
    pairs = [(user_seconds(program, size, 2 * count), user_seconds(program, size, count))
             for _ in range(9)]
    long, short = (min(runs) for runs in zip(*pairs))
    return 1e6 * (long - short) / count


def kernel_microseconds(rows, kernel, method):
    return sum(1e6 * r["seconds"] / ITERATIONS for r in rows
               if r["scope"] == "loop" and r["method"] == method
               and r["id"].split(":")[0] == kernel)


def rows_of(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)["rows"]


def print_rows(work, name, size, kernel):
    seconds = measure(os.path.join(work, f"{name}.plain"), size)
    observed = bins(os.path.join(work, "measured.csv"))
    with open(os.path.join(work, f"{name}.bins"), "a", encoding="utf-8") as keep:
        for source in SOURCES:
            profile = bins(os.path.join(work, f"{source}.csv"))
            rows = rows_of(os.path.join(work, f"{source}.json"))
            lines = rows_of(os.path.join(work, f"{source}.line.json"))
            total = next(r for r in rows if r["scope"] == "total" and r["method"] == "published")
            levels = [f"{100 * l['cumulative_hit_rate']:.2f}" for l in total["levels"]]
            times = [f"{kernel_microseconds(rows, kernel, m):.3f}" for m in METHODS]
            times += [f"{kernel_microseconds(lines, kernel, m):.3f}" for m in METHODS[:2]]
            print(",".join([name, str(size), source, f"{total['accesses']:.0f}",
                            f"{difference(observed, profile):.4f}"] + levels + times
                           + [f"{seconds:.3f}"]))
            keep.write(json.dumps([size, source, sorted(profile.items())]) + "\n")


def relative(row, method):
    return 100 * (float(row[f"{method}_us"]) / float(row["measured_us"]) - 1)


def print_table(path):
    with open(path, encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    names = METHODS + [f"{m}_line" for m in METHODS[:2]]
    print(f"{'case':13}{'size':>5} {'source':10}{'profile':>8}{'L1 %':>8}{'L2 %':>8}{'L3 %':>8}"
          f"{'measured us':>13}" + "".join(f"{m + ' %':>18}" for m in names))
    for row in rows:
        print(f"{row['case']:13}{row['size']:>5} {row['source']:10}{row['profile_distance']:>8}"
              f"{row['l1']:>8}{row['l2']:>8}{row['l3']:>8}{float(row['measured_us']):>13.2f}"
              + "".join(f"{relative(row, m):>+18.1f}" for m in names))


def print_figure(work, name):
    """A gnuplot script: a panel for each size, measured and fixed side by side."""
    with open(os.path.join(work, f"{name}.bins"), encoding="utf-8") as file:
        profiles = [json.loads(line) for line in file]
    sizes = sorted({size for size, _, _ in profiles}, key=int)
    shown = ["measured", "fixed"]
    last = max(at for _, _, profile in profiles for at, _ in profile)
    labels = ["cold", "0"] + [str(2 ** at) for at in range(last)]
    print("set terminal svg size 900,700 font 'sans,11' background 'white'")
    print(f"set multiplot layout {len(sizes)},1 title '{name}: reuse profiles'")
    print("set style data histograms\nset style fill solid 0.8\nset yrange [0:1]\nset key top right")
    print("set xtics rotate by 45 right font ',8'\nset ylabel 'share of accesses'")
    for size in sizes:
        found = {source: dict(profile) for s, source, profile in profiles if s == size}
        print(f"set title 'size {size}, reuse distance in lines from'\n$data << END")
        for at in range(-1, last + 1):
            print(labels[at + 1], *(f"{found[s].get(at, 0):.5f}" for s in shown))
        print("END\nplot " + ", ".join(
            f"$data using {i + 2}:xtic(1) title '{s}'" for i, s in enumerate(shown)))


def main():
    what, arguments = sys.argv[1], sys.argv[2:]
    if what == "heading":
        print(",".join(COLUMNS))
    elif what == "row":
        print_rows(*arguments)
    elif what == "table":
        print_table(*arguments)
    else:
        print_figure(*arguments)


main()
