#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Holds the schema of machine files against psnap's reader: machine_schema.py PSNAP SCHEMA FILE...

1. Each FILE and each bundled machine fits the schema, which uses what the small validator here knows.
2. Each key of the schema is accepted by the reader, with a value that fits.
3. Each word in the sources of the reader that it accepts as a key is one of the schema's, in each map.
4. Values that do not fit are refused by both.

Exit status 1 when something does not hold, 77 (skip) without PyYAML.
"""
import glob
import json
import os
import re
import subprocess
import sys
import tempfile

try:
    import yaml
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

KNOWN = {"$schema", "$id", "$defs", "$ref", "title", "description", "type", "properties", "required",
         "additionalProperties", "items", "minItems", "maxItems", "enum", "const", "anyOf", "minimum",
         "maximum", "minLength", "maxLength", "pattern"}
TYPES = {"object": dict, "array": list, "string": str, "integer": int, "number": (int, float)}


def resolve(root, node):
    while "$ref" in node:
        for part in node["$ref"][2:].split("/"):
            base = root if part == "$defs" else base
            base = base[part]
        node = base
    return node


def misfit(root, node, value):
    """Why a value does not fit, or None."""
    node = resolve(root, node)
    assert set(node) <= KNOWN, f"the validator does not know {set(node) - KNOWN}"
    if "anyOf" in node:
        reasons = [misfit(root, option, value) for option in node["anyOf"]]
        return None if None in reasons else " / ".join(reasons)
    if "const" in node and value != node["const"] or "enum" in node and value not in node["enum"]:
        return f"{value!r} is none of the values"
    if "type" in node and (not isinstance(value, TYPES[node["type"]]) or isinstance(value, bool)):
        return f"{value!r} is no {node['type']}"
    if isinstance(value, dict):
        properties = node.get("properties", {})
        for key in node.get("required", []):
            if key not in value:
                return f"no {key}"
        for key, item in value.items():
            reason = misfit(root, properties[key], item) if key in properties else "no such key"
            if reason:
                return f"{key}: {reason}"
    if isinstance(value, list):
        if not node.get("minItems", 0) <= len(value) <= node.get("maxItems", 1 << 60):
            return f"{len(value)} items"
        for item in value:
            reason = misfit(root, node["items"], item)
            if reason:
                return reason
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        if not node.get("minimum", value) <= value <= node.get("maximum", value):
            return f"{value} is out of range"
    if isinstance(value, str):
        if not node.get("minLength", 0) <= len(value) <= node.get("maxLength", 1 << 60):
            return f"{len(value)} characters"
        if not re.search(node.get("pattern", ""), value):
            return f"{value!r} does not match"
    return None


def scalars(value):
    """Plain texts become the numbers that they are in YAML 1.2, where 1e9 is one."""
    if isinstance(value, dict):
        return {key: scalars(item) for key, item in value.items()}
    if isinstance(value, list):
        return [scalars(item) for item in value]
    for kind in (int, float):
        try:
            return kind(value)
        except ValueError:
            pass
    return value


def load(text):
    return scalars(yaml.load(text, Loader=yaml.BaseLoader))


class Reader:
    def __init__(self, psnap, folder):
        self.psnap, self.path = psnap, os.path.join(folder, "tried.yaml")

    def complaint(self, machine):
        with open(self.path, "w", encoding="utf-8") as file:
            json.dump(machine, file)  # JSON is YAML
        done = subprocess.run([self.psnap, "machines", self.path], capture_output=True, text=True)
        return done.stderr if done.returncode else None


SHAPE = {"size_bytes": 4096, "line_bytes": 64, "ways": 1}


def machine_with(place, content):
    """A machine whose map at `place`, a path of the schema, has `content`, too."""
    machine = {"levels": [dict(SHAPE)]}
    at = machine
    for part in place:
        if part == "levels":
            at = machine["levels"][0]
        elif part == "tlb":
            at = at.setdefault("tlb", [{"entries": 1}])[0]
        else:
            at = at.setdefault(part, {})
    at.update(content)
    return machine


def maps(root, node, place=()):
    """All maps of the schema: their places and properties."""
    node = resolve(root, node)
    if "items" in node:
        yield from maps(root, node["items"], place)
    if "properties" not in node:
        return
    yield place, node["properties"]
    for key, child in node["properties"].items():
        yield from maps(root, child, place + (key,))


def sample(root, key, node):
    """A value of a leaf that fits, or None for a map or list."""
    node = resolve(root, node)
    if "anyOf" in node:
        return sample(root, key, node["anyOf"][-1 if key == "ways" else 0])
    if "enum" in node:
        return node["enum"][0]
    values = {"integer": 64 if key in ("size_bytes", "line_bytes", "effective_bytes") else 1,
              "number": 1, "string": "x"}
    return values.get(node.get("type"))


def main(psnap, schema_path, *paths):
    with open(schema_path, encoding="utf-8") as file:
        root = json.load(file)
    machine_node = root["$defs"]["machine"]
    wrong = []

    def run(*arguments):
        return subprocess.run([psnap, "machines", *arguments], capture_output=True, text=True,
                              check=True).stdout

    with open(schema_path, encoding="utf-8") as file:
        if run("--schema") != file.read():
            wrong.append("psnap machines --schema prints something else")
    files = {path: open(path, encoding="utf-8").read() for path in paths}
    for machine in json.loads(run("--json"))["machines"]:
        if machine["name"] != "host":
            files[machine["name"]] = run(machine["name"], "--yaml")
    for name, text in files.items():
        reason = misfit(root, root, load(text))
        if reason:
            wrong.append(f"{name} does not fit: {reason}")

    source = os.path.dirname(schema_path)
    words = set()
    for path in glob.glob(os.path.join(source, "machine*.c")) + [
            os.path.join(source, "../formats/base/capture_abi.inc")]:  # names of operations
        with open(path, encoding="utf-8") as file:
            words |= set(re.findall(r'"([a-z][a-z0-9_]*)"', file.read()))
    with tempfile.TemporaryDirectory() as folder:
        reader = Reader(psnap, folder)
        tried = 0
        for place, properties in maps(root, machine_node):
            where = ".".join(place) or "machine"
            for key, node in properties.items():
                value = sample(root, key, node)
                if value is None:
                    continue
                content = {key: value, **({"replacement": "random"} if key == "seed" else {})}
                if key in ("size_bytes", "line_bytes"):
                    content = {"size_bytes": 64, "line_bytes": 64}
                machine = machine_with(place, content)
                complaint = reader.complaint(machine)
                if complaint or misfit(root, root, machine):
                    wrong.append(f"{where}.{key}: {complaint or misfit(root, root, machine)}")
                bad = machine_with(place, {key: {"no": "map"}})
                if not reader.complaint(bad) or not misfit(root, root, bad):
                    wrong.append(f"{where}.{key}: a map is accepted")
                tried += 1
            for word in words - set(properties) - {"machine"}:  # that may be around all
                complaint = reader.complaint(machine_with(place, {word: []}))
                if not complaint or f"no key '{word}'" not in complaint:
                    wrong.append(f"{where}.{word} is not in the schema: {complaint}")
    if tried < 60 or len(words) < 60 or len(files) < 15:
        wrong.append(f"only {tried} keys, {len(words)} words, {len(files)} machines")
    print("\n".join(wrong))
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
