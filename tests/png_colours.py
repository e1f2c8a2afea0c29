#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""How many pixels of a screenshot have colours: png_colours.py FILE RRGGBB ...

Reads PNG of 8 bits a channel, RGB or RGBA, not interlaced. Prints width, height, number of
different colours, and for each colour the pixels that have exactly that."""
import collections
import struct
import sys
import zlib


def unfilter(kind, line, before, step):
    for i in range(len(line)):
        left = line[i - step] if i >= step else 0
        up = before[i]
        corner = before[i - step] if i >= step else 0
        if kind == 1:
            guess = left
        elif kind == 2:
            guess = up
        elif kind == 3:
            guess = (left + up) // 2
        else:
            near = left + up - corner
            guess = min((left, up, corner), key=lambda c: abs(near - c))
        line[i] = (line[i] + guess) & 255


def pixels(path):
    with open(path, "rb") as file:
        data = file.read()
    assert data[:8] == b"\x89PNG\r\n\x1a\n", "no PNG"
    at, packed = 8, b""
    while at < len(data):
        length, kind = struct.unpack(">I4s", data[at:at + 8])
        if kind == b"IHDR":
            width, height, depth, colour, _, _, interlaced = struct.unpack(
                ">IIBBBBB", data[at + 8:at + 8 + length])
            assert depth == 8 and colour in (2, 6) and not interlaced
        elif kind == b"IDAT":
            packed += data[at + 8:at + 8 + length]
        at += 12 + length
    step = 3 if colour == 2 else 4
    raw, before = zlib.decompress(packed), bytearray(width * step)
    for row in range(height):
        start = row * (width * step + 1)
        line = bytearray(raw[start + 1:start + 1 + width * step])
        if raw[start]:
            unfilter(raw[start], line, before, step)
        yield width, height, step, line
        before = line


def main():
    counts = collections.Counter()
    for width, height, step, line in pixels(sys.argv[1]):
        counts.update(zip(line[0::step], line[1::step], line[2::step]))
    wanted = [tuple(bytes.fromhex(c)) for c in sys.argv[2:]]
    print(width, height, len(counts), *(counts[c] for c in wanted))


main()
