# SPDX-License-Identifier: BSD-3-Clause
#
# The program that tests/real/run.sh records with jq: groups, sums, sorts, strings and paths.
{ towns: (group_by(.town) | map({
      town: .[0].town, count: length,
      mean: (map(.value) | add / length),
      high: (map(select(.ok) | .place.height) | max),
      tags: ([.[].tags[]] | unique | length) })
    | sort_by(-.mean) | .[:10]),
  notes: (map(.note // "none" | ascii_downcase) | unique | length),
  far: (map(select(.place.x * .place.x + .place.y * .place.y > 1.5) | { id, tags: (.tags | join(" ")) })
    | sort_by(.tags, .id) | .[:20]),
  tags: ([.[].tags[]] | group_by(.) | map({ key: .[0], value: length }) | sort_by(-.value, .key) | .[:10]) }
