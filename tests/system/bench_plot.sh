#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
#
# bench/plot.py draws two recorded reports of the benchmark. One report has bounds for its medians; these bounds hold with a probability
# of 90 % (bench/net_report.py). The other report has too few rounds for bounds. The lengths in the picture must agree with the numbers in the reports.
# bench/plot_flow.py draws a report of bench/flow.sh, in which the heights of the points must agree with the numbers.
. "$(dirname "$0")/lib.sh"
need python3 jq
reports=(tests/system/plot/before.json tests/system/plot/after.json)
plot() { python3 bench/plot.py "$@"; }
judge() { python3 -B tests/system/plot/judge.py "$work/plot.svg" "$@"; }

check "two reports" plot -o "$work/plot.svg" "${reports[@]}"
check "every ratio has a bar, a spread and a text that agree with its numbers" judge "${reports[@]}"
check "one figure, and ratios to one row" plot -o "$work/plot.svg" --figure tcp --to veth "${reports[@]}"
check "are drawn, and no others" judge --figure tcp --to veth "${reports[@]}"
check "without -o the same picture is printed" eval 'plot --figure tcp --to veth "${reports[@]}" | cmp - "$work/plot.svg"'
check "a title is text" eval 'plot --title "<b> & \"c\"" "${reports[@]}" | python3 -c "import sys, xml.etree.ElementTree as e; assert e.fromstring(sys.stdin.read()).get(\"aria-label\") == \"<b> & \\\"c\\\"\""'
check "reports without a ratio" refuse 1 "no ratio to draw" plot --to nothing "${reports[@]}"
check "a file that is no report" refuse 1 "lib.sh: not a report of the benchmark" plot tests/system/lib.sh
check "a file that is not there" refuse 1 "none.json: not a report of the benchmark: .*No such file" plot "$work/none.json"

# values of three rounds, from which net_report.py makes the report
for round in 0 1 2; do
	for row in "whole 2" "lazy 1"; do
		echo "{\"row\": \"${row% *}\", \"mtu\": 2044, \"round\": $round, \"figure\": \"tcp\", \"value\": ${row#* }}"
	done
done >"$work/values"
check "a report as the benchmark makes it" python3 bench/net_report.py "$work/values" "$work/half.json" load_at_start=0 load_at_end=0
mkdir "$work/bench" "$work/plots"
mv "$work/half.json" "$work/bench/net.json"

# --- a flow among more and more others
for round in 0 1 2; do
	while read -r row figure value; do
		echo "{\"row\": \"$row\", \"mtu\": 2044, \"round\": $round, \"figure\": \"$figure\", \"value\": $((value + round))}"
	done <<-'VALUES'
		hops1 datagram 200
		hops1 super_frame 700
		hops2 datagram 220
		hops2 super_frame 800
		hops8 datagram 400
		hops8 super_frame 1150
		hosts2 datagram 300
		hosts2 super_frame 900
		hosts200 datagram 303
		hosts200 super_frame 907
	VALUES
done >"$work/flow"
check "a report of bench/flow.sh" python3 bench/net_report.py "$work/flow" "$work/bench/flow.json" load_at_start=0 load_at_end=0
flow_ratio() { jq ".rows[] | select(.row == \"$1\").figures.datagram.ratio.$2.median * 100 | round" "$work/bench/flow.json"; }
check "each number is compared with the least" equal "200 101" "$(flow_ratio hops8 hops1) $(flow_ratio hosts200 hosts2)"
sed 's/whole/linux/; /lazy/d' "$work/values" >"$work/vm"
check "a report of one row" python3 bench/net_report.py "$work/vm" "$work/bench/linux.json" load_at_start=0 load_at_end=0
check "make bench-plot" make -s bench-plot O="$work" PLOTS="$work/plots"
mv "$work/plots/net.svg" "$work/plot.svg"
check "draws the ratios" judge "$work/bench/net.json"
check "whose ratio is 0.5" grep -q '>0.50</text>' "$work/plot.svg"
check "and the flow" python3 -B tests/system/plot/judge_flow.py "$work/plots/flow.svg" "$work/bench/flow.json"
check "nothing else, because a report of one row has no ratios" equal "flow.svg" "$(ls "$work/plots")"
check "a report without a flow" refuse 1 "not a report of bench/flow.sh" python3 bench/plot_flow.py "$work/bench/net.json"
rm "$work"/bench/*.json
check "no report" refuse 2 "there is no report in .*: make bench" make -s bench-plot O="$work" PLOTS="$work/plots"
finish
