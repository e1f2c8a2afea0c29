#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Of what the scripts of benchmarks share (tests/script.sh): rows of figures get into a file in place
# of those of the same name, and not into one of other columns.
set -eu
# shellcheck source=tests/cli/common.sh
. "$PSNAP_SOURCE/tests/cli/common.sh"
# shellcheck disable=SC1090
. <(sed -n '/^put_rows()/,/^}/p' "$PSNAP_SOURCE/tests/script.sh")

printf 'name,seconds\nb,2\na,1\n' > new.csv
put_rows new.csv file.csv
printf 'name,seconds\na,1\nb,2\n' | cmp - file.csv || fail "a new file: $(cat file.csv)"
printf 'name,seconds\nb,3\nc,4\n' > new.csv
put_rows new.csv file.csv
printf 'name,seconds\na,1\nb,3\nc,4\n' | cmp - file.csv || fail "some rows: $(cat file.csv)"
cp file.csv before
printf 'name,bytes\na,5\n' > new.csv
[ "$(status put_rows new.csv file.csv)" = 1 ] || fail "other columns are taken"
has err "file.csv has the columns 'name,seconds', the new rows 'name,bytes': remove it"
cmp before file.csv
