#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# The schema of machine files says what the reader does (tests/machine_schema.py); bundled machines
# as files.
set -eu
. "$PSNAP_SOURCE/tests/cli/common.sh"

/usr/bin/python3 "$PSNAP_SOURCE/tests/machine_schema.py" "$PSNAP" \
    "$PSNAP_SOURCE/simcore/psnap-machine.schema.json" "$PSNAP_SOURCE"/samples/machines/*.yaml \
    "$PSNAP_SOURCE"/tests/fidelity/*_machine.yaml

# Numbers are numbers to readers of YAML 1.1, too, to which 2.5e11 is a text
/usr/bin/python3 - "$PSNAP_SOURCE"/samples/machines/*.yaml << 'END'
import sys, yaml
def numbers(value, path):
    if isinstance(value, (dict, list)):
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            numbers(inner, path + [key])
    elif path[-1] in ("clock_hz", "bandwidth_bytes_per_s") or str(path[-1]).endswith("_cycles"):
        assert isinstance(value, (int, float)), (path, value)
for name in sys.argv[1:]:
    numbers(yaml.safe_load(open(name)), [name])
END

"$PSNAP" machines server --yaml > out 2> err && fail "server is not bundled"
"$PSNAP" machines prefetch-3 --yaml > mine.yaml
"$PSNAP" machines prefetch-3 > bundled
"$PSNAP" machines mine.yaml | diff bundled - || fail "prefetch-3 as a file is another machine"
expect 2 "$PSNAP" machines --yaml
expect 2 "$PSNAP" machines prefetch-3 --schema
expect 2 "$PSNAP" machines prefetch-3 --json --yaml
