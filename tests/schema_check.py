#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Checks YAML documents against a JSON Schema: schema_check.py SCHEMA FILE...

Exit status 1 when one does not fit, 77 (skip) when PyYAML or jsonschema is
missing. Keys of maps are compared as texts, as psnap reads them.
"""
import json
import sys

try:
    import yaml
    import jsonschema
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)


def with_text_keys(value):
    if isinstance(value, dict):
        return {str(key): with_text_keys(item) for key, item in value.items()}
    if isinstance(value, list):
        return [with_text_keys(item) for item in value]
    return value


def main(schema_path, *paths):
    with open(schema_path, encoding="utf-8") as file:
        schema = json.load(file)
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    wrong = 0
    for path in paths:
        with open(path, encoding="utf-8") as file:
            document = with_text_keys(yaml.safe_load(file))
        for error in validator.iter_errors(document):
            place = "/".join(str(part) for part in error.absolute_path)
            print(f"{path}: {place}: {error.message}")
            wrong = 1
    return wrong


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
