#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Input for the programs of tests/real/run.sh, the same every time.

    inputs.py text|json|model SIZE SOURCE FILE

text: a chain of words of the text files below SOURCE (an unpacked source package): after each
comes one that came after it there. So it is text with the frequencies of real text and
without its long repetitions. json: an array of records of numbers, words of that text, lists
and objects. model: random weights for llama2.c, of this dimension. Text and json have SIZE bytes.
"""
import collections
import json
import os
import random
import re
import struct
import sys

SUFFIXES = (".c", ".h", ".txt", ".md", ".1", ".doc", "ChangeLog", "README", "NEWS", "THANKS", ".xml", ".html")


def source_words(folder):
    words = []
    for place, folders, files in sorted(os.walk(folder)):
        for name in sorted(files):
            if name.endswith(SUFFIXES):
                with open(os.path.join(place, name), encoding="utf-8", errors="replace") as file:
                    words += re.findall(r"\S+\s*", file.read(1_000_000))
    return words


class Pick:
    """random() is the one of Python's functions that stays the same in all its versions."""

    def __init__(self):
        self.random = random.Random(42).random

    def below(self, n):
        return int(self.random() * n)

    def of(self, items):
        return items[self.below(len(items))]


def text(words, size, pick):
    after = collections.defaultdict(list)
    for i in range(len(words) - 1):
        after[words[i]].append(i + 1)
    out, length, at = [], 0, 0
    while length < size:
        out.append(words[at])
        length += len(words[at])
        at = pick.of(after.get(words[at], [0]))
    return "".join(out)


def records(words, size, pick):
    words = [word.strip() for word in words]
    towns = [f"{pick.of(words)} {i}" for i in range(60)]
    out, length = [], 0
    while length < size:
        record = {"id": len(out), "town": pick.of(towns), "ok": pick.below(3) > 0,
                  "value": round(pick.random() * 1000, 3), "note": None if pick.below(5) == 0 else pick.of(words),
                  "tags": [pick.of(words) for _ in range(pick.below(6))],
                  "place": {"x": pick.random(), "y": pick.random(), "height": pick.below(3000)}}
        out.append(record)
        length += len(json.dumps(record))
    return json.dumps(out)


def weights(dim, pick):
    """Of run.c: a header of seven numbers, then what memory_map_weights() takes, in its order."""
    hidden, layers, heads, words, length = 2 * dim, 4, 8, 32000, 256
    count = words * dim + layers * (2 * dim + 4 * dim * dim + 3 * dim * hidden) + dim + length * dim // heads
    return struct.pack("7i", dim, hidden, layers, heads, heads, words, length) + \
        struct.pack(f"{count}f", *(pick.random() - 0.5 for _ in range(count)))


def main():
    kind, size, source, path = sys.argv[1:]
    if kind == "model":
        made = weights(int(size), Pick())
    else:
        made = {"text": text, "json": records}[kind](source_words(source), int(size), Pick()).encode()
    with open(path + ".part", "wb") as file:
        file.write(made)
    os.replace(path + ".part", path)


if __name__ == "__main__":
    main()
