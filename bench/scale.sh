#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Measures a fabric of 1,000 switches and 10,000 HCAs. gen_topo.py writes the fabric in the format that ibnetdiscover
# prints, and `uipoib fabric import` reads it. The script measures the import, then the embedded SM, and then OpenSM
# twice: on uipoib's fabric, and on ibsim.
#
#	scale.sh [SIZE]		of gen_topo.py: test, large (default), full; needs root
set -u
cd "$(dirname "$0")/.." || exit
U=$(realpath "${O:-build}/uipoib")
SIM=$(ls /usr/lib/*/umad2sim/libumad2sim.so 2>/dev/null | head -1)
size=${1:-large}
work=$(mktemp -d "${TMPDIR:-/tmp}/bench-scale.XXXXXX")
name=scale-$$ pids=
end() {
	local p c
	"$U" -n "$name" stop >/dev/null 2>&1
	for p in $pids; do
		# the commands time and timeout do not pass signals on, so end their child processes first
		for c in $(pgrep -P "$p") "$p"; do
			kill $(pgrep -P "$c") "$c" 2>/dev/null
		done
	done
	wait 2>/dev/null
	rm -rf "$work"
}
trap end EXIT

now() { date +%s%N; }
took() { awk -v a="$1" -v b="$(now)" 'BEGIN { printf "%.2f s", (b - a) / 1e9 }'; }
peak() { awk '/^VmHWM/ { printf "%d MB", $2 / 1024 }' "/proc/$1/status"; }
row() { printf '%-44s %10s  %s\n' "$@"; }

bench/gen_topo.py "$size" >"$work/found" || exit
start=$(now)
"$U" fabric import "$work/found" -o "$work/lab.topo" --config "$work/lab.conf" || exit
row "import, written and read back" "$(took "$start")"

run() { # CONFIG: start the instance, and wait until the control socket answers
	"$U" run -n "$name" -c "$1" 2>"$work/log" &
	pids+=" $!"
	until "$U" -n "$name" fabric show >/dev/null 2>&1; do
		kill -0 $! 2>/dev/null || { cat "$work/log"; exit 1; }
	done
	daemon=$(pgrep -P $! | head -1)
}

start=$(now)
run "$work/lab.conf"
row "embedded SM: the first answer to a client" "$(took "$start")"
"$U" -n "$name" wait --timeout 120 || exit
row "embedded SM: four hosts up" "$(took "$start")" "peak $(peak "$daemon"), fabric and SM"
"$U" -n "$name" -j fabric sm show |
	jq -r '.sm[0].last_sweep | "  a sweep: \(.smps) SMPs, \(.lft_blocks) LFT blocks, \(.duration_us / 1000) ms"'
a=$(cut -d' ' -f1 "/proc/$daemon/schedstat")
sleep 12 # this time includes the heavy sweep that follows the first sweep, and a light sweep
b=$(cut -d' ' -f1 "/proc/$daemon/schedstat")
sleep 10
c=$(cut -d' ' -f1 "/proc/$daemon/schedstat")
row "idle: CPU of the daemon in 12 s, in 10 s" "$(((b - a) / 1000000)), $(((c - b) / 1000000)) ms"
"$U" -n "$name" stop

[ -n "$SIM" ] && [ -x /usr/sbin/opensm ] || exit 0

osm() { # WHAT SOCKNAME NODE: measure OpenSM on NODE of the fabric that serves the sockets SOCKNAME
	local start
	start=$(now)
	# Run OpenSM in the background, and store its PID, so that this script can end OpenSM
	env -C "$work" IBSIM_SOCKNAME="$2" SIM_HOST="$3" OSM_TMP_DIR="$work" OSM_CACHE_DIR="$work" \
		/usr/bin/time -f '%M' -o "$work/rss" \
		timeout --foreground 300 env LD_PRELOAD="$SIM" opensm -o -f "$work/osm.log" >"$work/osm.out" 2>&1 &
	pids+=" $!"
	wait $!
	grep -q 'SUBNET UP' "$work/osm.log" || { row "$1" "failed" "$(tail -1 "$work/osm.out")"; return; }
	row "$1" "$(took "$start")" "peak $(($(tail -1 "$work/rss") / 1024)) MB, OpenSM alone"
	rm -f "$work/osm.log"
}
node=$(sed -n 's/^Ca[^"]*"\([^"]*\)".*/\1/p' "$work/lab.topo" | head -1)
printf '[fabric lab]\ntopology = lab.topo\nsm = external\nibsim = %s\n' "$name" >"$work/osm.conf"
run "$work/osm.conf"
osm "OpenSM -o on our fabric" "$name" "$node"
"$U" -n "$name" stop
mkfifo "$work/in"
IBSIM_SOCKNAME=$name-sim ibsim -s -N 60000 -S 4000 -P 400000 "$work/lab.topo" <>"$work/in" >"$work/sim.log" 2>&1 &
pids+=" $!"
until grep -q '^sim>' "$work/sim.log"; do kill -0 $! || exit; done
osm "OpenSM -o on ibsim" "$name-sim" "$node"
