#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
#
# The binary interface of libpsnap.so.N as a list, and what has become of it:
#
#   abi.py list HEADERS LIBRARY    prints what there is now
#   abi.py check SOURCES NOW       compares that, as a file, with SOURCES/samples/packaging/abi.txt
#   abi.py write SOURCES NOW       writes that list anew, unless that would break a release
#
# The list has, of each symbol that LIBRARY exports, its type; of each struct in HEADERS (the installed ones, where psnap/
# lies), its size and where its members lie; of each enumeration's constant and each macro that is a number, its
# value; and with each the version of psnap that has had it so first. README.md here says what may change when. Types and
# layouts are those that clang-19 tells, on x86-64. The capture ABI has a number of its own and is not in it.
import pathlib
import re
import subprocess
import sys
import tempfile

CLANG = ["clang-19", "-std=c17", "-D_GNU_SOURCE", "-fno-color-diagnostics", "-x", "c"]
HEAD = """# The binary interface of libpsnap, on x86-64: written by samples/packaging/abi.py, checked by tests/rules/abi.sh.
# Kind, name, version of psnap that has had it so first, and what it is.
"""
RULES = "samples/packaging/README.md, 'The library's interface'"


def say(*command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{command[0]} failed: {done.stderr[:2000]}")
    return done.stdout


def includes(headers):
    """All public headers together."""
    names = sorted(p.relative_to(headers) for p in (headers / "psnap").rglob("*.h"))
    return "".join(f"#include <{name}>\n" for name in names)


def dump(headers, *how):
    """What clang says of them."""
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder, "all.c")
        source.write_text(includes(headers))
        return say(*CLANG, f"-I{headers}", *how, str(source))


def functions(headers, exported):
    text = dump(headers, "-fsyntax-only", "-Xclang", "-ast-dump")
    types = dict(re.findall(r"(?m)^[|`]-(?:Function|Var)Decl 0x.* (psnap_\w+) '([^']*)'", text))
    constants = sorted(set(re.findall(r"EnumConstantDecl 0x.* (PSNAP_\w+) '", text)))
    found = {("symbol", name): types.get(name, "(in no installed header)") for name in exported}
    return found, constants


def layouts(headers):
    """The innermost dump of a struct has its own members, those of structs within have more indentation."""
    found = {}
    text = dump(headers, "-fsyntax-only", "-Xclang", "-fdump-record-layouts-complete")
    for record in text.split("*** Dumping AST Record Layout")[1:]:
        head = re.match(r"\s*0 \| (?:struct|union) (psnap_\w+)\n", record)
        if not head:
            continue
        members = re.findall(r"(?m)^ *([\d:-]+) \|   (\S.*)$", record)
        size = re.search(r"\[sizeof=(\d+), align=(\d+)", record)
        where = "; ".join(f"{offset} {re.sub(r' at [^)]*', '', member)}" for offset, member in members)
        found["struct", head[1]] = f"{size[1]} bytes, aligned to {size[2]}: {where}"
    return found


def macros(headers):
    """The names of those that are numbers, in expressions of literals, and no versions, which are there to change."""
    text = dump(headers, "-E", "-dM")
    return [name for name, value in re.findall(r"(?m)^#define (PSNAP_\w+) (.+)$", text)
            if not name.endswith("_VERSION") and re.fullmatch(r"(?:U?INT\d+_C\(\w+\)|U?INT\d+_MAX|\d\w*|[()\s<|+*-])+", value)]


def constants_of(headers, names):
    prints = "".join(f'printf("{name} %lld\\n", (long long){name});\n' for name in names)
    with tempfile.TemporaryDirectory() as folder:
        source, program = pathlib.Path(folder, "all.c"), pathlib.Path(folder, "all")
        source.write_text(f"{includes(headers)}#include <stdio.h>\nint main(void)\n{{\n{prints}return 0;\n}}\n")
        say(*CLANG, f"-I{headers}", str(source), "-o", str(program))
        return {("constant", line.split()[0]): line.split()[1] for line in say(str(program)).splitlines()}


def interface(headers, library):
    symbols = [line.split()[-1].split("@")[0] for line in say("nm", "-D", "--defined-only", library).splitlines()
               if not line.split()[-1].startswith("PSNAP_")]
    found, constants = functions(headers, symbols)
    found = {**found, **layouts(headers), **constants_of(headers, constants + macros(headers))}
    capture = "".join(path.read_text() for path in (headers / "psnap/formats/base").glob("capture_*"))
    return {key: text for key, text in found.items()
            if key[0] == "symbol" or not key[1].startswith("PSNAP_EVENT_") and not re.search(rf"#define {key[1]}\b|\b{key[1]}\b( \{{|,|\)| =)", capture)}


def read(path):
    """The list: the number of its ABI, and of each entry version and text."""
    abi, listed = None, {}
    for line in path.read_text().splitlines() if path.exists() else []:
        if line.startswith("abi "):
            abi = line.split()[1]
        elif line and not line.startswith("#"):
            kind, name, version, text = line.split(" ", 3)
            listed[kind, name] = version, text
    return abi, listed


def judge(sources, now, write):
    path = sources / "samples/packaging/abi.txt"
    cmake = (sources / "CMakeLists.txt").read_text()
    version = re.search(r"project\(psnap VERSION (\S+)", cmake)[1]
    abi = re.search(r"set\(PSNAP_ABI (\d+)\)", cmake)[1]
    is_released = f"## {version}, not released yet" not in (sources / "CHANGELOG.md").read_text()
    old_abi, listed = read(path)
    added = [key for key in now if key not in listed]
    other = [key for key in listed if key not in now or now[key] != listed[key][1]]
    broken = [] if abi != old_abi else [key for key in other if listed[key][0] != version or is_released]
    for key in sorted(added):
        print(f"new: {key[0]} {key[1]}")
    for key in sorted(other):
        print(f"{'changed' if key in now else 'gone'}: {key[0]} {key[1]}: it was {listed[key][1]}" +
              (f"; it is {now[key]}" if key in now else ""))
    if broken:
        print(f"{len(broken)} of these are in a release: programs that were linked with it break. Keep them as they "
              f"were, or raise PSNAP_ABI in CMakeLists.txt ({RULES})")
    elif added and is_released:
        print(f"{version} is released: raise the version of the project first")
    elif write:
        old = {} if abi != old_abi else listed
        lines = [f"{kind} {name} {old[kind, name][0] if (kind, name) in old else version} {text}\n"
                 for (kind, name), text in sorted(now.items())]
        path.write_text(f"{HEAD}abi {abi}\n{''.join(lines)}")
        return 0
    elif added or other or abi != old_abi:
        print("samples/packaging/abi.txt does not say so. If it is meant: build, run 'tests/rules/abi.sh --write', and "
              f"commit the list with the change ({RULES})")
    else:
        return 0
    return 1


if __name__ == "__main__":
    if len(sys.argv) != 4 or sys.argv[1] not in ("list", "check", "write"):
        sys.exit("usage: abi.py list HEADERS LIBRARY | check SOURCES NOW | write SOURCES NOW")
    if sys.argv[1] == "list":
        for key, what in sorted(interface(pathlib.Path(sys.argv[2]), sys.argv[3]).items()):
            print(*key, "now", what)
    else:
        there = {key: what for key, (_, what) in read(pathlib.Path(sys.argv[3]))[1].items()}
        sys.exit(judge(pathlib.Path(sys.argv[2]), there, sys.argv[1] == "write"))
