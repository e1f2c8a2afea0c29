#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tries every field of the profile schema: profile_fields.py PSNAP SCHEMA PROFILE...

Each place of the schema that holds a value (a leaf) or the key of a map is changed where the
profiles have it, one change at a time. `x-psnap` in the schema says what has to come of it, for the
place and all within it:

  model    (unless said) the replayed stream is another one with one of the values that are tried, or
           the profile is refused
  derived  the profile is refused; without the field the stream is the same
  note     the stream is the same, or the profile is refused

A refusal names the file, the line and the column. A leaf that no profile has is a failure, too.
Exit status 1 when a field fails, 77 (skip) without PyYAML.
"""
import copy
import hashlib
import json
import os
import subprocess
import sys
import tempfile

try:
    import yaml
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

SILENT = "nothing changes"
PLACES = 6  # of a leaf that are tried in one profile


# Leaves that the schema has by what it shares between places, and no profile can have.
IMPOSSIBLE = {
    ".loops[].bodies[].iterations.nest[].region",  # iterations are in no region
    ".loops[].derived.pattern[].repeat",  # one item for each reference of a body
}


class Schema:
    def __init__(self, path):
        with open(path, encoding="utf-8") as file:
            self.root = json.load(file)
        self.nests = {}  # {path: kind} where nests-3 has another one
        self.collect_kinds(self.root["then"]["properties"]["loops"], ".loops")

    def collect_kinds(self, node, path):
        if not isinstance(node, dict):
            return
        if "x-psnap" in node:
            self.nests[path] = node["x-psnap"]
        for key, child in node.get("properties", {}).items():
            self.collect_kinds(child, f"{path}.{key}")
        self.collect_kinds(node.get("items"), f"{path}[]")

    def resolve(self, node):
        """The node that a reference leads to, with the kind of the reference."""
        while "$ref" in node or "allOf" in node and "$ref" in node["allOf"][0]:
            name = (node if "$ref" in node else node["allOf"][0])["$ref"].rsplit("/", 1)[1]
            kind = node.get("x-psnap")
            node = dict(self.root["$defs"][name], name=name)
            if kind:
                node["x-psnap"] = kind
        return node

    def alternatives(self, node):
        node = self.resolve(node)
        if "anyOf" not in node or "properties" in node:
            return [node]
        inner = [one for branch in node["anyOf"] for one in self.alternatives(branch)]
        return [dict(one, **{"x-psnap": one.get("x-psnap", node.get("x-psnap", "model"))})
                if "x-psnap" in one or "x-psnap" in node else one for one in inner]

    def children(self, node):
        """Of a map: (key or None for any, schema); of a list: its items."""
        for key, child in node.get("properties", {}).items():
            if child is not False:
                yield key, child
        for child in node.get("patternProperties", {}).values():
            yield None, child
        if isinstance(node.get("additionalProperties"), dict):
            yield None, node["additionalProperties"]

    def leaves(self):
        """{path: kind} of all leaves; what is within itself has the path of the outermost."""
        found = {}
        self.collect(self.root, "", "model", {}, found)
        return found

    def collect(self, node, path, kind, around, found):
        for one in self.alternatives(node):
            own = one.get("x-psnap", kind)
            inner = dict(around)
            if "name" in one and is_container(one):
                if one["name"] in around:
                    continue
                inner[one["name"]] = path
            if not is_container(one):
                found[path] = own
            for key, child in self.children(one):
                if key is None:
                    found[f"{path}.KEY"] = own
                self.collect(child, f"{path}.{key or '*'}", own, inner, found)
            if one.get("items"):
                self.collect(one["items"], f"{path}[]", own, inner, found)
        # schedules have their form by model
        if node is self.root:
            for branch in ("then", "else"):
                self.collect(node[branch]["properties"]["schedule"], ".schedule", kind, {}, found)

    def places(self, document):
        """(path, kind, steps to the value, is_key) of all leaves of a document."""
        is_nests = document["capture"]["model"] == "nests-3"
        order = self.root["then" if is_nests else "else"]["properties"]["schedule"]
        self.found = []
        self.kinds = self.nests if is_nests else {}
        for key, value in document.items():
            node = order if key == "schedule" else self.root["properties"][key]
            self.visit(node, value, f".{key}", "model", {}, [key])
        return self.found

    def fits(self, node, value):
        """Whether a value may be of this alternative: by its form and keys."""
        if isinstance(value, dict):
            return node.get("type") == "object" and (
                any(key is None for key, _ in self.children(node))
                or set(map(str, value)) <= set(node["properties"]))
        if isinstance(value, list):
            return node.get("type") == "array" and (
                not value or "items" not in node
                or any(self.fits(one, value[0]) for one in self.alternatives(node["items"])))
        if "enum" in node or "const" in node:
            return True
        if isinstance(value, str):
            return node.get("type") == "string"
        return node.get("type") in ("number", "integer")

    def visit(self, node, value, path, kind, around, steps):
        one = next((a for a in self.alternatives(node) if self.fits(a, value)), None)
        assert one is not None, f"{steps}: not in the schema"
        kind = self.kinds.get(path, one.get("x-psnap", kind))
        if "name" in one and is_container(one):
            path = around.get(one["name"], path)
            around = dict(around, **{one["name"]: path})
        if isinstance(value, dict):
            names = one.get("properties", {})
            rest = [child for key, child in self.children(one) if key is None]
            for key, item in value.items():
                if str(key) in names:
                    self.visit(names[str(key)], item, f"{path}.{key}", kind, around, steps + [key])
                else:
                    self.found.append((f"{path}.KEY", kind, steps + [key], True, one))
                    self.visit(rest[0], item, f"{path}.*", kind, around, steps + [key])
        elif isinstance(value, list):
            for i, item in enumerate(value):
                self.visit(one["items"], item, f"{path}[]", kind, around, steps + [i])
        else:
            self.found.append((path, kind, steps, False, one))


def is_container(node):
    return node.get("type") in ("object", "array")


def other_values(value, node):
    if isinstance(value, bool):
        return [not value]
    if "enum" in node:
        return [one for one in node["enum"] if one != value]
    if isinstance(value, (int, float)):
        return [value + 1, 2 * value if value else 2, value - 1, 1000 * value]
    return [f"{value}x"]


def other_keys(key, keys):
    """Another one that is there is no change of a key."""
    try:
        number = int(key)
    except ValueError:
        return [f"{key}x"]
    return [k for k in (2 * number if number else 2, number + 1, number + 8) if k not in keys]


def with_change(document, steps, is_key, to):
    """A copy with one value or key changed; `to` None: taken away."""
    changed = copy.deepcopy(document)
    parent = changed
    for step in steps[:-1]:
        parent = parent[step]
    if to is None:
        del parent[steps[-1]]
    elif is_key:
        items = [(to if key == steps[-1] else key, item) for key, item in parent.items()]
        parent.clear()
        parent.update(items)
    else:
        parent[steps[-1]] = to
    return changed


class Trial:
    def __init__(self, psnap, directory):
        self.psnap = psnap
        self.path = os.path.join(directory, "changed.yaml")

    def replay(self, document):
        """A hash of the stream, or the text of the refusal."""
        with open(self.path, "w", encoding="utf-8") as file:
            yaml.dump(document, file, sort_keys=False, width=1000)
        run = subprocess.run([self.psnap, "replay", self.path, "-f", "csv", "--count", "100000"],
                             capture_output=True, check=False)
        if run.returncode == 0:
            return hashlib.sha256(run.stdout).hexdigest(), None
        return None, run.stderr.decode()


def judge(kind, stream, message, before, path):
    """What is wrong, or None."""
    if message is not None:
        place = message.split(f"{path}:", 1)[1:]
        has_place = place and place[0].split(":")[0].isdigit()
        return None if has_place else f"a refusal without a place: {message.strip()}"
    if kind == "derived":
        return "it is derived, but not refused"
    if kind == "note":
        return None if stream == before else "it is a note, but the stream is another one"
    return SILENT if stream == before else None


def try_profile(trial, schema, path, seen, wrong):
    with open(path, encoding="utf-8") as file:
        document = yaml.safe_load(file)
    before, message = trial.replay(document)
    assert message is None, f"{path}: {message}"
    counts = {}
    for leaf, kind, steps, is_key, node in schema.places(document):
        seen.add(leaf)
        counts[leaf] = counts.get(leaf, 0) + 1
        if counts[leaf] > PLACES:
            continue
        parent = document
        for step in steps[:-1]:
            parent = parent[step]
        values = (other_keys(steps[-1], parent) if is_key
                  else other_values(parent[steps[-1]], node))
        faults = [judge(kind, *trial.replay(with_change(document, steps, is_key, value)),
                        before, trial.path) for value in values]
        # weights may be so large that one more makes no other draw: one of the values has to
        if kind != "model" or all(fault == SILENT for fault in faults):
            wrong += [f"{path}: {'.'.join(map(str, steps))} to {value!r}: {fault}"
                      for value, fault in zip(values, faults) if fault]
        else:
            wrong += [f"{path}: {'.'.join(map(str, steps))} to {value!r}: {fault}"
                      for value, fault in zip(values, faults) if fault not in (None, SILENT)]
        if kind == "derived" and not is_key and isinstance(parent, dict):
            stream, message = trial.replay(with_change(document, steps, is_key, None))
            if message is None and stream != before:
                wrong.append(f"{path}: without {'.'.join(map(str, steps))}: another stream")


def main(psnap, schema_path, *paths):
    schema = Schema(schema_path)
    seen, wrong = set(), []
    with tempfile.TemporaryDirectory() as directory:
        trial = Trial(psnap, directory)
        for path in paths:
            try_profile(trial, schema, path, seen, wrong)
    for leaf in sorted(set(schema.leaves()) - seen - IMPOSSIBLE):
        wrong.append(f"no profile has {leaf}")
    print(*wrong, sep="\n")
    print(f"{len(seen)} fields in {len(paths)} profiles, {len(wrong)} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
