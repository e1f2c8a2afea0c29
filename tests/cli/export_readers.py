#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What other people's simulators make of the traces that psnap writes for them: readers made from
the layouts, with the rules of the programs that read them. Each gives a list of requests."""

import collections
import json
import struct

Request = collections.namedtuple("Request", "kind address size time")
BIG = 1 << 63


def stoll(text, base=10):
    """C++'s std::stoll: as many digits as there are, of whatever follows nothing is said."""
    digits = "0123456789abcdef"[:base]
    n = 0
    while n < len(text) and text[n].lower() in digits:
        n += 1
    assert n, f"stoll of '{text}' throws invalid_argument"
    value = int(text[:n], base)
    assert value < BIG, f"stoll of '{text}' throws out_of_range"
    return value


def lines(path):
    """As getline has them: what is behind the last line end is a line only if it is not empty."""
    text = open(path).read()
    rows = text.split("\n")
    return rows[:-1] if rows[-1] == "" else rows


def ramulator1(path):
    """Processor.cpp, get_dramtrace_request: stoul(line, &pos, 16), R or W behind the blanks."""
    result = []
    for line in lines(path):
        address, _, kind = line.partition(" ")
        assert address.startswith("0x") and int(address, 16) < 1 << 64 and kind[0] in "RW", line
        result.append(Request(kind[0], int(address, 16), None, None))
    return result


def ramulator2_ls(path):
    result = []
    for line in lines(path):
        tokens = line.split(" ")
        assert len(tokens) == 2 and tokens[0] in ("LD", "ST"), line
        is_hex = tokens[1][:2] in ("0x", "0X")
        address = stoll(tokens[1][2:], 16) if is_hex else stoll(tokens[1])
        result.append(Request("R" if tokens[0] == "LD" else "W", address, None, None))
    return result


def ramulator2_rw(path):
    """The address is put together again, as far as the vector has it."""
    result = []
    for line in lines(path):
        kind, vector = line.split(" ")
        fields = [stoll(field) for field in vector.split(",")]
        limits = [1, 1, 4, 4, 1 << 16, 1 << 7]
        assert kind in "RW" and len(fields) == 6, line
        assert all(field < limit for field, limit in zip(fields, limits)), line
        _, _, group, bank, row, column = fields
        address = (((row << 2 | bank) << 2 | group) << 7 | column) << 6
        result.append(Request(kind, address, None, None))
    return result


def ramulator_cpu(path):
    """SimpleO3: two or three tokens, decimal: 0x... is read as 0. A load, its bubbles as
    its time, then its store."""
    result = []
    for line in lines(path):
        tokens = line.split(" ")
        assert len(tokens) in (2, 3), line
        assert "x" not in line and 0 <= stoll(tokens[0]) < 1 << 31, line
        result.append(Request("R", stoll(tokens[1]), None, stoll(tokens[0])))
        if len(tokens) == 3:
            result.append(Request("W", stoll(tokens[2]), None, None))
    return result


def dramsim3(path, cycles=1 << 62):
    """TraceBasedCPU::ClockTick and Transaction's operator>>, over `cycles` cycles."""
    text = open(path).read()
    at, clock, get_next, is_eof = 0, 0, True, False
    pending, result = Request("R", 0, None, 0), []
    while not is_eof and clock < cycles:
        if get_next:
            tokens = []
            while len(tokens) < 3:
                while at < len(text) and text[at].isspace():
                    at += 1
                begin = at
                while at < len(text) and not text[at].isspace():
                    at += 1
                is_eof = at == len(text)
                if begin == at:
                    break
                tokens.append(text[begin:at])
            if len(tokens) == 3:
                is_write = tokens[1] in ("WRITE", "write", "P_MEM_WR", "BOFF")
                assert is_write or tokens[1] == "READ"
                assert int(tokens[0], 16) < 1 << 64
                pending = Request("RW"[is_write], int(tokens[0], 16), None, int(tokens[2]))
            else:  # what was there before, as a read
                pending = pending._replace(kind="R")
        clock = max(clock, pending.time) if not is_eof else clock
        get_next = pending.time <= clock
        if get_next:
            assert not result or pending.time >= result[-1].time
            result.append(pending)
        clock += 1
    return result


def prospero(path):
    """fscanf("%lu %c %lu %u")"""
    result = []
    for line in lines(path):
        cycle, kind, address, size = line.split(" ")
        assert kind in "RW" and (cycle + address + size).isdecimal(), line
        assert int(address) < 1 << 64 and int(size) < 1 << 32, line
        result.append(Request(kind, int(address), int(size), int(cycle)))
    assert all(a.time <= b.time for a, b in zip(result, result[1:]))
    return result


def records(path, layout):
    data = open(path, "rb").read()
    assert len(data) % layout.size == 0, f"{len(data)} bytes are no whole records"
    return layout.iter_unpack(data)


def prospero_bin(path):
    """ProsperoBinaryTraceReader: recordLength is 8 + 1 + 8 + 4."""
    layout = struct.Struct("<QcQI")
    assert layout.size == 21
    result = [Request(kind.decode(), address, size, cycle)
              for cycle, kind, address, size in records(path, layout)]
    assert all(r.kind in "RW" for r in result)
    assert all(a.time <= b.time for a, b in zip(result, result[1:]))
    return result


def oracle(path):
    """oracleGeneralBin_read_one_req; next is checked: it is where the object comes next, counted
    from 1, as Belady's and its like expect."""
    layout = struct.Struct("<IQIq")
    assert layout.size == 24
    result = [(clock, object_id, size, following)
              for clock, object_id, size, following in records(path, layout)]
    coming = {}
    for number, (clock, object_id, size, following) in reversed(list(enumerate(result, 1))):
        assert size > 0, "a request of size 0 is passed over"
        assert following == coming.get(object_id, -1), (number, following)
        coming[object_id] = number
    assert all(a[0] <= b[0] for a, b in zip(result, result[1:]))
    return [Request(None, object_id * 64, size, clock) for clock, object_id, size, _ in result]


State = collections.namedtuple("State", "mode reads start end block stride packets")


def trafficgen(path):
    """traffic_gen.cc, parseConfig: lines that getline delivers whole; the checks and assertions of
    the generators. The packets of each state in their order, of which a random one has none."""
    text = open(path).read()
    assert text.endswith("\n") and "" not in text[:-1].split("\n"), "a blank line, or no last end"
    states, transitions, first = {}, collections.defaultdict(dict), None
    for line in text[:-1].split("\n"):
        words = line.split()
        assert all(word.replace(".", "").isdecimal() for word in words[1:] if not word.isalpha())
        if words[0] == "STATE":
            states[int(words[1])] = parse_state(words)
        elif words[0] == "TRANSITION":
            transitions[int(words[1])][int(words[2])] = float(words[3])
        else:
            assert words[0] == "INIT" and len(words) == 2, line
            first = int(words[1])
    assert sorted(states) == list(range(len(states))) and first in states
    assert all(abs(sum(transitions[i].values()) - 1) < 0.001 for i in states), "probabilities"
    assert all(to in states for row in transitions.values() for to in row)
    result, at = [], first
    while states[at].mode != "EXIT":
        result.append(states[at])
        at = max(transitions[at], key=transitions[at].get)
        assert len(result) <= len(states), "it never ends"
    return result


def parse_state(words):
    ticks, mode = int(words[2]), words[3]
    if mode == "EXIT":
        return State(mode, 0, 0, 0, 0, 0, [])
    fields = [int(word) for word in words[4:]]
    if mode == "STRIDED":
        reads, start, end, offset, block, superblock, stride, low, high, limit = fields
        assert superblock % block == 0 and offset % superblock == 0 and stride % superblock == 0
    else:
        assert mode in ("LINEAR", "RANDOM")
        reads, start, end, block, low, high, limit = fields
        offset, superblock, stride = 0, block, block
    assert 0 <= reads <= 100 and 0 < block <= 64 and 0 < low <= high and not limit
    assert start < end < 1 << 64 or start == end and mode == "LINEAR"
    assert start % block == 0, "a packet may be in two lines"
    packets, now, address = [], low, start + offset
    while now < ticks and mode != "RANDOM":  # what is due at the transition is not sent
        packets.append(address)
        address += block
        if (address - start - offset) % superblock == 0:
            address += stride - superblock
        if address > end:
            address = start + offset
        now += low
    return State(mode, reads, start, end, block, stride, packets)


Pattern = collections.namedtuple("Pattern", "name kernel elements")


def spatter(path):
    """JSONParser.cc: the kernel, and every element that it accesses, in order."""
    result = []
    for entry in json.load(open(path)):
        assert set(entry) == {"name", "kernel", "pattern", "delta", "count"}, entry
        kernel = entry["kernel"].lower()
        assert kernel in ("gather", "scatter") and entry["pattern"] and entry["count"] > 0
        assert all(isinstance(i, int) and i >= 0 for i in entry["pattern"] + [entry["delta"]])
        assert max(entry["pattern"]) + entry["delta"] * (entry["count"] - 1) <= 1 << 32
        elements = [j + entry["delta"] * i for i in range(entry["count"]) for j in entry["pattern"]]
        result.append(Pattern(entry["name"], kernel, elements))
    return result


def csv(path):
    """psnap's own csv, for what the others are to have."""
    result = []
    for i, line in enumerate(lines(path)[1:]):
        address, size, kind, _, _ = line.split(",")
        result.append(Request("R" if kind == "load" else "W", int(address, 16), int(size), i))
    return result


def caches(requests, sets, ways, line_bytes=64):
    """A cache of one level, LRU, write back, allocating on loads and stores: what it asks of
    memory, in order, the time of each the number of the request that caused it; of one in several
    lines first what makes room."""
    held = [collections.OrderedDict() for _ in range(sets)]
    result = []
    for time, request in enumerate(requests):
        last = request.address + request.size - 1
        reads = []
        for line in range(request.address // line_bytes, last // line_bytes + 1):
            entries = held[line % sets]
            dirty = entries.pop(line, None)
            if dirty is None:
                if len(entries) == ways:
                    victim, was_dirty = entries.popitem(last=False)
                    if was_dirty:
                        result.append(Request("W", victim * line_bytes, line_bytes, time))
                reads.append(Request("R", line * line_bytes, line_bytes, time))
            entries[line] = bool(dirty) or request.kind == "W"
        result += reads
    return result
