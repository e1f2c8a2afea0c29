#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
#
# Commands that documents name without running them: documents.py PSNAP DOCUMENT... (from the sources' root)
#
# `psnap COMMAND --option` within a line of text has to be a command that psnap has, with options that its help has;
# `tests/x.sh --option` a script of the tree that knows the option. Blocks with such commands have to be of the
# kind that tests/cli/test_readme.sh runs. The same is asked of 'psnap COMMAND --option' in the help of commands and formats.
import functools
import pathlib
import re
import subprocess
import sys

CODE = re.compile(r"`([^`]+)`", re.S)
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.M | re.S)
STARTS = r"(?:\w+=\S+ )*(?:\./)?(?:psnap(?! \w+:)|cmake|ctest|apt-get|(?:tests|samples)/[\w/]+\.sh) "

QUOTED = re.compile(r"(?<!\w)'(psnap [^']+)'")


@functools.cache
def helped(psnap, *words):
    """The help of a command; none where there is no such command."""
    done = subprocess.run([psnap, *words, "--help"], capture_output=True, text=True)
    return done.stdout if done.returncode == 0 else None


def complaints_of_psnap(psnap, words):
    if not words or not re.fullmatch(r"[a-z+]+", words[0]):
        return
    help_of = helped(psnap, words[0])
    if help_of is None:
        yield f"psnap has no command '{words[0]}'"
        return
    parts = re.search(r"^(?:commands|models):\n((?:  .*\n)+)", help_of, re.M)
    if parts and len(words) > 1 and re.fullmatch(r"[a-z]+", words[1]):
        names = re.findall(r"^  ([a-z]+)", parts[1], re.M)
        if words[1] not in names:
            yield f"'psnap {words[0]}' has no part '{words[1]}'"
            return
        help_of = helped(psnap, words[0], words[1])
    elif parts:
        return
    for word in words[1:]:
        if word == "--":
            return
        option = re.match(r"(--?[a-zA-Z][-a-z0-9]*)", word)
        if option and words[0] not in ("cc", "c++", "fc") and not re.search(
                rf"(?<![-\w]){re.escape(option[1])}(?![-\w])", help_of):
            yield f"'psnap {words[0]}' has no option {option[1]}"


def complaints(psnap, text):
    for kind, block in BLOCK.findall(text):
        if kind != "sh" and re.search(rf"(?m)^{STARTS}", block):
            yield f"a block of commands is no sh: {block.splitlines()[0]}"
    for line in re.findall(rf"(?m)^    {STARTS}.*", BLOCK.sub("", text)):
        yield f"an indented command, which no test runs: {line.strip()}"
    for code in CODE.findall(BLOCK.sub("", text)):
        words = re.sub(r"[][|]", " ", code).split()
        while words and re.fullmatch(r"[A-Z_]+=\S*", words[0]):
            words.pop(0)
        if words[:1] == ["psnap"]:
            yield from complaints_of_psnap(psnap, words[1:])
        elif words and re.fullmatch(r"(\./)?(tests|samples)/[\w/]+\.(sh|py)", words[0]):
            script = pathlib.Path(words[0])
            if not script.is_file():
                yield f"there is no script '{words[0]}'"
                continue
            for option in words[1:]:
                if option.startswith("--") and option[2:] not in script.read_text():
                    yield f"{words[0]} has no option {option}"


def complaints_of_help(psnap):
    """What the help of commands, of their parts and of formats says of other commands."""
    commands = re.findall(r"(?m)^  ([a-z+]+) ", subprocess.run([psnap, "help"], capture_output=True, text=True).stdout)
    for words in [(name,) for name in commands] + [("repo", "add"), ("predict", "cache")]:
        for code in QUOTED.findall(helped(psnap, *words) or ""):
            for complaint in complaints_of_psnap(psnap, re.sub(r"[][|]", " ", code).split()[1:]):
                yield f"psnap {' '.join(words)} --help: {complaint}"
    listed = subprocess.run([psnap, "formats"], capture_output=True, text=True).stdout.splitlines()[1:]
    for name in (line.split()[0] for line in listed if line.strip()):
        text = subprocess.run([psnap, "formats", name], capture_output=True, text=True).stdout
        for code in QUOTED.findall(text):
            for complaint in complaints_of_psnap(psnap, re.sub(r"[][|]", " ", code).split()[1:]):
                yield f"psnap formats {name}: {complaint}"


if __name__ == "__main__":
    found = [f"{name}: {complaint}" for name in sys.argv[2:]
             for complaint in complaints(sys.argv[1], pathlib.Path(name).read_text())]
    found += complaints_of_help(sys.argv[1])
    print("\n".join(found))
    sys.exit(1 if found else 0)
