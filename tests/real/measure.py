#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""One program of tests/real/run.sh, measured: a row of its table.

    measure.py --psnap PSNAP --work DIR --out TABLE --row KEY=VALUE,... --native TREE
               --capture TREE --input FILE [--model NAME] [--loops "LOOP..."] PROGRAM ARGUMENTS...

PROGRAM is in both trees, and reads FILE on its standard input. Native and idle (instrumented,
not recorded): the median of three. It is recorded with a profile alone, which is timed; again,
with a trace, which is compared with this profile on the ten structures; and once more to be
ended with SIGTERM half-way. All print the same; the two profiles have the same loops with the
same counts; shares add up; the busiest loops have a file and a line; the loops named (functions)
are among those with 1 % of the accesses. What goes wrong, or takes longer than TIMEOUT, is in
the column status, and what needs it is not done. Without PSNAP the row is as given.
"""
import argparse
import csv
import filecmp
import json
import os
import signal
import subprocess
import sys
import time

TIMEOUT = 300  # s, of each step
COLUMNS = """package version work tests status native_s idle_s idle_x record_s record_x sigterm_s accesses
    model profile_bytes loops busiest trace_s trace_bytes compare_s total_l1 total_l2 total_l3 mean_l1
    mean_l2 mean_l3 largest_l1 largest_l2 largest_l3""".split()


# the same addresses each time, where that is allowed: Lua has a cache of strings by address
FIXED = ["setarch", "-R"]
if subprocess.run([*FIXED, "true"], capture_output=True, check=False).returncode != 0:
    FIXED = []


class Failed(Exception):
    pass


class Group:
    """A command in a process group of its own, which is ended whole when the block is left."""

    def __init__(self, command, stdin=os.devnull, stdout=os.devnull, stderr=os.devnull):
        with open(stdin, "rb") as stdin, open(stdout, "wb") as out, open(stderr, "wb") as err:
            self.start = time.monotonic()
            self.process = subprocess.Popen(command, stdin=stdin, stdout=out, stderr=err, start_new_session=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for number in (signal.SIGTERM, signal.SIGKILL):
            if not self.ends(5, number):
                print(f"processes are left after signal {number}", file=sys.stderr)

    def running(self):
        self.process.poll()
        try:
            os.killpg(self.process.pid, 0)
        except ProcessLookupError:
            return False
        return True

    def ends(self, seconds, number=0):
        """Whether all its processes end in this time, after this signal."""
        deadline = time.monotonic() + seconds
        if number and self.running():
            os.killpg(self.process.pid, number)
        while self.running() and time.monotonic() < deadline:
            time.sleep(0.01)
        return not self.running()


def run(what, command, output, **files):
    """Seconds of a command, whose output is kept in a file."""
    with Group(command, stdout=output, stderr=output + ".err", **files) as group:
        try:
            status = group.process.wait(TIMEOUT)
        except subprocess.TimeoutExpired:
            raise Failed(f"{what}: not done in {TIMEOUT} s") from None
        seconds = time.monotonic() - group.start
    if status != 0:
        with open(output + ".err", encoding="utf-8", errors="replace") as err:
            lines = err.read().splitlines() or ["no message"]
        raise Failed(f"{what}: exit status {status}: {lines[-1]}")
    return seconds


class Measurement:
    def __init__(self, given, row):
        self.given, self.row = given, row
        self.native = [os.path.join(given.native, given.program), *given.arguments]
        self.capture = [os.path.join(given.capture, given.program), *given.arguments]

    def path(self, name):
        return os.path.join(self.given.work, name)

    def median(self, what, command, output):
        return sorted(run(what, command, output, stdin=self.given.input) for _ in range(3))[1]

    def record_command(self, name, *options):
        model = ["--model", self.given.model] if self.given.model else []
        return [*FIXED, self.given.psnap, "record", "--force", *model, "-o", self.path(name), *options, "--", *self.capture]

    def same_output(self, what):
        if not filecmp.cmp(self.path("expected"), self.path("printed"), shallow=False):
            raise Failed(f"{what}: prints something else")

    def times(self):
        self.row["native_s"] = self.median("native", self.native, self.path("expected"))
        self.row["idle_s"] = self.median("idle", self.capture, self.path("printed"))
        self.row["idle_x"] = self.row["idle_s"] / self.row["native_s"]
        self.same_output("idle")

    def record(self):
        self.row["record_s"] = run("record", self.record_command("1.yaml"), self.path("printed"), stdin=self.given.input)
        self.row["record_x"] = self.row["record_s"] / self.row["native_s"]
        self.row["profile_bytes"] = os.path.getsize(self.path("1.yaml"))
        self.same_output("record")

    def end(self):
        """psnap alone gets the signal, half-way, or after 20 s of a recording that does not end."""
        half = min(self.row.get("record_s", 40) / 2, 20)
        with Group(self.record_command("ended.yaml"), stdin=self.given.input) as group:
            if group.ends(half):
                raise Failed("SIGTERM: the recording was done before")
            start = time.monotonic()
            group.process.terminate()
            if not group.ends(10):
                raise Failed("SIGTERM: no end in 10 s")
            self.row["sigterm_s"] = time.monotonic() - start
        if self.row["sigterm_s"] > 2:
            raise Failed("SIGTERM: no end in 2 s")

    def loops_of(self, name):
        """From `show`, of a good profile."""
        run("check", [self.given.psnap, "check", self.path(name)], self.path("check.out"))
        run("show", [self.given.psnap, "show", "--json", self.path(name)], self.path("show.out"))
        with open(self.path("show.out"), encoding="utf-8") as file:
            return json.load(file)

    def look(self):
        profile = self.loops_of("1.yaml")
        accesses = profile["totals"]["accesses"]
        busy = sorted(profile["loops"], key=lambda loop: -loop["accesses"])
        self.row.update(accesses=accesses, model=profile["capture"]["model"], loops=len(busy), busiest="; ".join(
            f"{loop['id']} {100 * loop['accesses'] / accesses:.1f} %" for loop in busy[:3]))
        if sum(loop["accesses"] for loop in busy) != accesses:
            raise Failed("profile: the loops have not all accesses")
        for loop in busy[:20]:
            if loop["id"] == "(rare)":  # what has too few accesses for a loop of its own
                continue
            if ":" not in loop.get("source", ""):
                raise Failed(f"profile: {loop['id']} has no line")
        names = {loop["function"] for loop in busy if loop["accesses"] >= 0.01 * accesses}
        missing = [name for name in self.given.loops.split() if name not in names]
        if missing:
            raise Failed(f"profile: {' '.join(missing)} not among {' '.join(sorted(names))}")

    def trace(self):
        self.row["trace_s"] = run("trace", self.record_command("2.yaml", "--trace", self.path("2.pst")),
                                  self.path("printed"), stdin=self.given.input)
        self.row["trace_bytes"] = os.path.getsize(self.path("2.pst"))

    def same_counts(self):
        one, two = ({loop["id"]: (loop["accesses"], loop.get("iterations", {}).get("total")) for loop in self.loops_of(name)["loops"]}
                    for name in ("1.yaml", "2.yaml"))
        differ = sorted(id for id in one.keys() | two.keys() if one.get(id) != two.get(id))
        if differ:
            raise Failed(f"two recordings differ in {' '.join(differ[:3])}")

    def compare(self):
        command = [self.given.psnap, "compare", "--json", self.path("2.pst"), self.path("2.yaml")]
        self.row["compare_s"] = run("compare", command, self.path("compared"))
        with open(self.path("compared"), encoding="utf-8") as file:
            summary = json.load(file)["summary"]
        for column, key in (("total", "total_points"), ("mean", "mean_points"), ("largest", "max_points")):
            for level, points in enumerate(summary[key], 1):
                self.row[f"{column}_l{level}"] = points

    def all(self):
        """What a failed step leaves undone is what needs its result."""
        done, problems = set(), []
        for step, needs in ((self.times, ()), (self.record, (self.times,)), (self.end, (self.times,)),
                            (self.look, (self.record,)), (self.trace, (self.record,)),
                            (self.same_counts, (self.trace,)), (self.compare, (self.trace,))):
            if all(need in done for need in needs):
                try:
                    step()
                    done.add(step)
                except Failed as failed:
                    problems.append(str(failed))
        self.row["status"] = "; ".join(problems) or "ok"
        for name in ("2.pst", "1.yaml", "2.yaml", "ended.yaml"):
            if os.path.exists(self.path(name)):
                os.remove(self.path(name))


def text_of(column, value):
    if not isinstance(value, float):
        return value
    digits = 1 if column.endswith("_x") else 3 if column.endswith("_s") else 2
    return f"{value:.{digits}f}"


def write(path, row):
    """The row into the table, in the place of the one of this package."""
    rows = []
    if os.path.exists(path):
        with open(path, encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
    row = {column: text_of(column, row.get(column, "")) for column in COLUMNS}
    packages = [old["package"] for old in rows]
    if row["package"] in packages:
        rows[packages.index(row["package"])] = row
    else:
        rows.append(row)
    with open(path + ".part", "w", encoding="utf-8", newline="") as file:
        table = csv.DictWriter(file, COLUMNS, extrasaction="ignore", restval="", lineterminator="\n")
        table.writeheader()
        table.writerows(rows)
    os.replace(path + ".part", path)
    print(" ".join(f"{column} {value}," for column, value in row.items() if value != "").rstrip(","))


def main():
    parser = argparse.ArgumentParser()
    for name in ("--psnap", "--work", "--native", "--capture", "--input", "--model", "--loops"):
        parser.add_argument(name, default="")
    parser.add_argument("--out", required=True)
    parser.add_argument("--row", required=True)
    parser.add_argument("program", nargs="?")
    parser.add_argument("arguments", nargs=argparse.REMAINDER)
    given = parser.parse_args()
    row = dict(pair.split("=", 1) for pair in given.row.split(","))
    if given.psnap:
        source = os.path.basename(given.input) if given.input != os.devnull else ""
        row["work"] = " ".join([os.path.basename(given.program),
                                *(os.path.basename(argument) for argument in given.arguments)] +
                               (["<", source] if source else []))
        Measurement(given, row).all()
    write(given.out, row)


if __name__ == "__main__":
    main()
