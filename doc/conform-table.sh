#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
#
# conform-table.sh [-c REGEX] NAME=REPORT.json ...: a table of doc/conform.md, a column for each report that `uipoib conform --json` wrote;
# with -c only the cases whose ids match
set -eu
cases=.
[ "${1-}" != -c ] || { cases=$2; shift 2; }
[ $# -gt 0 ] || { echo "usage: conform-table.sh [-c REGEX] NAME=REPORT.json ..." >&2; exit 2; }
names=() files=()
for a; do names+=("${a%%=*}") files+=("${a#*=}"); done
printf '| Case | What is judged |'
printf ' %s |' "${names[@]}"
printf '\n|---|---|'
printf -- '---|%.0s' "${names[@]}"
echo
jq -rs --arg cases "$cases" '. as $reports | $reports[0].conform[] | select(.case | test($cases)) | . as $row |
	"| \(.case) | \(.title) | " + ([$reports[] | [.conform[] | select(.case == $row.case)][0].result // "-"] | join(" | ")) + " |"' "${files[@]}"
