#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Draws the reports net.json, linux.json and flow.json of REPORTS into the folder PLOTS, and prints the names of the pictures. A report
# that is not there is left out, and so is one without ratios, as linux.sh makes it without OLD.
#
#	plots.sh REPORTS PLOTS
set -eu
reports=$1 plots=$2 drawn=0
here=$(dirname "$0")
command -v jq >/dev/null || { echo "plots: jq is missing: the package jq has it" >&2; exit 1; }
draw() { # PROGRAM NAME: draw the report NAME.json
	[ -f "$reports/$2.json" ] || return 0
	mkdir -p "$plots"
	"$here/$1" -o "$plots/$2.svg" "$reports/$2.json"
	echo "$plots/$2.svg"
	drawn=$((drawn + 1))
}
ratios() { jq -e '[.rows[].figures[].ratio[]] | length > 0' "$1" >/dev/null 2>&1; }
for name in net linux; do
	! ratios "$reports/$name.json" || draw plot.py $name
done
draw plot_flow.py flow
[ $drawn -gt 0 ] || { echo "plots: there is no report in $reports: make bench" >&2; exit 1; }
