#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
#
# conform-table.sh NAME=REPORT.json ...: the table of doc/conform.md, a column for each report that `uipoib conform --json` wrote
set -eu
[ $# -gt 0 ] || { echo "usage: conform-table.sh NAME=REPORT.json ..." >&2; exit 2; }
names=() files=()
for a; do names+=("${a%%=*}") files+=("${a#*=}"); done
printf '| Case | What is judged |'
printf ' %s |' "${names[@]}"
printf '\n|---|---|'
printf -- '---|%.0s' "${names[@]}"
echo
jq -rs '. as $reports | $reports[0].conform[] | . as $row |
	"| \(.case) | \(.title) | " + ([$reports[] | [.conform[] | select(.case == $row.case)][0].result // "-"] | join(" | ")) + " |"' "${files[@]}"
