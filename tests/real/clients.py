#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs the recipes of `psnap formats NAME` with the programs that are there, compares their counters
with `psnap sim` of equal caches, and writes formats/CLIENTS.md:

    tests/real/clients.py [--psnap PSNAP] [--input P] [--out FILE] [PROGRAM=PATH ...]

PROGRAM is a name in a recipe (dineroIV, dramsim3main, ramulator, ramulator2, cachesim, champsim,
spatter), or cachesim.py and ramulator.py for the folders that the modules of pycachesim and of
Ramulator 2.1 are in. A recipe finds the folder `configs` of
its program's sources. P is by default a profile of samples/hashjoin.c. Programs that are not given
are not fetched, and have a row that says so."""

import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
HASHJOIN = ["hashjoin", "100000", "1"]
L2 = "32K:64:8,256K:64:8"
MEMORY = "32K:64:8,1M:64:16"


def number(text, pattern, kind=int):
    found = re.search(pattern, text, re.S)
    return kind(found[1]) if found else None


def dinero(text):
    l1, _, l2 = text.partition("l2-dcache")
    return {"accesses": number(l1, r"Demand Fetches\s+(\d+)"), "L1 misses": number(l1, r"Demand Misses\s+(\d+)"),
            "L1 write-backs": number(l2, r"Demand Fetches\s+(?:\d+\s+){4}(\d+)"),
            "L2 misses": number(l2, r"Demand Misses\s+(\d+)")}


def pycachesim(text):
    """Rows of HIT, MISS, LOAD, STORE and so on, each "COUNT (BYTESB)"."""
    rows = dict(re.findall(r"^ *(L1|MEM) (.*)$", text, re.M))
    counts = {name: [int(n) for n in re.findall(r"(\d+) \(", row)] for name, row in rows.items()}
    return {"L1 misses": counts["L1"][1], "L1 write-backs": counts["MEM"][3]}


def memory(reads, writes, level="L2"):
    return lambda text: {f"{level} misses": number(text, reads), f"{level} write-backs": number(text, writes)}


ramulator = memory(r"ramulator\.read_requests\s+(\d+)", r"ramulator\.write_requests\s+(\d+)")
dramsim3 = memory(r"num_reads_done\s+= *(\d+)", r"num_writes_done\s+= *(\d+)")
ramulator2 = r"total_num_read_requests: +(\d+)", r"total_num_write_requests: +(\d+)"
ramulator21 = memory(r"num_read_reqs: +(\d+)", r"num_write_reqs: +(\d+)")


def champsim(text):
    """Rows of a cache and a kind of access: accesses, hits, misses, and which of these another one had begun."""
    rows = re.findall(r"cpu0_(L\S+ \S+) +ACCESS: +(\d+) HIT: +\d+ MISS: +(\d+) MSHR_MERGE: +(\d+)", text)
    rows = {name: [int(n) for n in counts] for name, *counts in rows}
    loads, stores = rows["L1D LOAD"], rows["L1D WRITE"]
    return {"accesses": loads[0] + stores[0], "L1 misses": loads[1] - loads[2] + stores[1] - stores[2],
            "L1 write-backs": rows["L2C WRITE"][0]}


def libcachesim(text):
    """Of misses a ratio with four digits."""
    ratio = r" {}iB, +\d+ req, miss ratio ([\d.]+),"
    return {"accesses": number(text, r", +(\d+) req,"),
            **{f"{size} misses, part of its accesses": number(text, ratio.format(size), float)
               for size in ("32K", "256K")}}


def spatter(text):
    rows = re.findall(r"^\d+ +(\d+) +[\d.e+-]+ +[\d.e+-]+ *$", text, re.M)
    return {"patterns": len(rows), "bytes": sum(map(int, rows))}


# By format and how the consumer's name begins: the program, psnap's caches, what counts, and in which file
CLIENTS = {
    ("din", "Dinero"): ("dineroIV", L2, dinero, None),
    ("xdin", "Dinero"): ("dineroIV", L2, dinero, None),
    ("xdin", "pycachesim"): ("cachesim.py", "32K:64:8", pycachesim, None),
    ("dramsim3", "DRAMsim3"): ("dramsim3main", MEMORY, dramsim3, "out/dramsim3.txt"),
    ("ramulator1", "Ramulator"): ("ramulator", MEMORY, ramulator, "s.txt"),
    ("ramulator-cpu", "Ramulator 1"): ("ramulator", MEMORY, ramulator, "s.txt"),
    ("ramulator-cpu", "Ramulator 2"): ("ramulator2", f"{L2},1M:64:16", memory(*ramulator2, "L3"), None),
    ("ramulator2-ls", "Ramulator"): ("ramulator2", MEMORY, memory(*ramulator2), None),
    ("ramulator2-rw", "Ramulator"): ("ramulator.py", MEMORY, ramulator21, None),
    ("dinbin", "Dinero"): ("dineroIV", L2, dinero, None),
    ("champsim", "ChampSim"): ("champsim", "48K:64:12 --count 29500", champsim, None),
    ("oracle", "libCacheSim"): ("cachesim", "32K:64:512 -m 256K:64:4096", libcachesim, None),
    ("spatter", "Spatter"): ("spatter", None, spatter, None),
}


def simulated(psnap, work, machines, counted):
    """psnap's numbers, of what the other program `counted`."""
    command = [psnap, "sim", "P", "-m", *machines.split(), "--json"]
    report = json.loads(subprocess.check_output(command, cwd=work))
    result = {"accesses": report["accesses"]}
    for row in report["rows"]:
        if row["scope"] != "total":
            continue
        for level in row["levels"]:
            misses, size = level["accesses"] - level["hits"], row["machine"].split(":")[0]
            result[f"L{level['level']} misses"] = misses
            result[f"L{level['level']} write-backs"] = level["write_backs"]
            result[f"{size} misses, part of its accesses"] = round(misses / counted.get("accesses", 1), 4)
    return result


def patterns(file):
    """What is in a file of Spatter's patterns, whose elements have 8 bytes."""
    found = json.loads(file.read_text())
    return {"patterns": len(found), "bytes": sum(8 * len(p["pattern"]) * p["count"] for p in found)}


def run(recipe, program, path, work, environment):
    """What the recipe prints."""
    link = work / "configs"
    link.unlink(missing_ok=True)
    for parent in path.parents:
        if (parent / "configs").is_dir():
            link.symlink_to(parent / "configs")
            break
    environment = dict(environment)
    if program.endswith(".py"):
        environment["PYTHONPATH"] = str(path)
    else:
        environment["PATH"] = f"{path.parent}:{environment['PATH']}"
    commands = "\n".join(line[4:] for line in recipe.splitlines())
    done = subprocess.run(["bash", "-euc", commands], cwd=work, env=environment, text=True, capture_output=True)
    if done.returncode:
        sys.exit(f"clients: exit status {done.returncode} of\n{recipe}{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.stdout + done.stderr


def rows_of(consumer, name, given, psnap, work, environment):
    program, machines, counters, file = next(
        (client for (format, start), client in CLIENTS.items()
         if format == name and consumer["name"].startswith(start)), (None,) * 4)
    start = [consumer["name"], f"`psnap formats {name}`"]
    if program not in given:
        yield [*start, "writes the format" if name == "lackey" else "not built here", "", "", ""]
        return
    text = run(consumer["recipe"], program, given[program], work, environment)
    if file:
        text = (work / file).read_text()
    found = counters(text)
    missing = [what for what, count in found.items() if count is None]
    if missing:
        sys.exit(f"clients: {consumer['name']} has no {', '.join(missing)}: {text[-2000:]}")
    wanted = simulated(psnap, work, machines, found) if machines else patterns(work / "t.json")
    for what, count in found.items():
        off = round(count - wanted[what], 4)
        yield [*start, what, f"{count:,}", f"{wanted[what]:,}", "equal" if not off else f"{off:+,}"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--psnap", default=os.environ.get("PSNAP", ROOT / "build/release/psnap"), type=pathlib.Path)
    parser.add_argument("--input", type=pathlib.Path)
    parser.add_argument("--out", default=ROOT / "formats/CLIENTS.md", type=pathlib.Path)
    parser.add_argument("programs", nargs="*", metavar="PROGRAM=PATH")
    options = parser.parse_args()
    given = {name: pathlib.Path(path).resolve() for name, path in (p.split("=", 1) for p in options.programs)}
    psnap = options.psnap.resolve()
    unknown = set(given) - {client[0] for client in CLIENTS.values()}
    if unknown:
        parser.error(f"no recipe's counters are read of {', '.join(sorted(unknown))}")
    environment = dict(os.environ, PATH=f"{psnap.parent}:{os.environ['PATH']}")
    formats = json.loads(subprocess.check_output([psnap, "formats", "--json"]))["formats"]
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        if options.input:
            (work / "P").symlink_to(options.input.resolve())
        else:
            program = work / HASHJOIN[0]
            source = ROOT / "samples/hashjoin.c"
            subprocess.check_call([psnap.parent / "psnap-cc", "-O2", "-g", source, "-o", program, "-lm"])
            subprocess.check_call([psnap, "record", "-o", work / "P", "--", program, *HASHJOIN[1:]],
                                  stdout=subprocess.DEVNULL)
        rows = []
        for format in formats:
            for consumer in format["consumers"]:
                rows += rows_of(consumer, format["name"], given, psnap, work, environment)
    what = options.input.name if options.input else " ".join(HASHJOIN)
    with open(options.out, "w") as out:
        out.write("# Streams in other people's programs\n\n"
                  "Made by `tests/real/clients.py`, which ran the recipes as `psnap formats NAME` has them, with P a\n"
                  f"profile of `{what}`, and simulated the same caches with `psnap sim`. psnap counts an access\n"
                  "in two lines once, others count lines; each recipe says what its program does. Patterns, and 8\n"
                  "bytes for each of their elements, are those of the file that psnap wrote. A program that is not\n"
                  "built here was not fed when this table was made.\n\n"
                  "| Consumer | Recipe | Counter | It counts | psnap | Difference |\n|---|---|---|---|---|---|\n")
        for row in rows:
            out.write("| " + " | ".join(row) + " |\n")


main()
