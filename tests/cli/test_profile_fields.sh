#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Every field of a profile changes the stream, is derived and refused, or is a note: profiles that
# have all of them, hand-made (tests/golden/fields), and what profile_fields.py does to them.
set -eu
. "$PSNAP_SOURCE/tests/cli/common.sh"
schema=$PSNAP_SOURCE/profile/psnap-profile.schema.json
fields=$PSNAP_SOURCE/tests/golden/fields

/usr/bin/python3 "$PSNAP_SOURCE/tests/schema_check.py" "$schema" "$fields"/*.yaml || [ $? = 77 ]
/usr/bin/python3 "$PSNAP_SOURCE/tests/profile_fields.py" "$PSNAP" "$schema" "$fields"/*.yaml
