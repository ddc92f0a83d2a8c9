# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
#
# Functions of the scripts that attack a lab for $HOSTILE_SECONDS. `check.sh hostile` runs these scripts on the ASan build, for ten
# minutes each. A script passes under four conditions:
#
#	- AddressSanitizer and UBSan report nothing, and no process ends;
#	- the memory of the lab in the last tenth of the time is hardly larger than in the second tenth; the first
#	  tenth is ignored;
#	- a ping between two hosts that are not attacked loses no packet. On an overloaded machine it may lose at most
#	  twice as many packets as a ping in a second lab at the same time: a load of 80 on two processors made labs
#	  without an attack lose 2 %;
#	- the longest round trip of this ping is at most five times the longest one of three pings without an attack. These are
#	  the same ping before the attack, and a ping in the second lab before and during the attack. The second lab shows how
#	  busy the machine is.
#
#	. tests/night/watch.sh		# before lab_up
#	watch_before h2 10.4.0.3	# after lab_up
#	...				# the attack begins
#	watch_during h2 10.4.0.3 [CMD...]	# CMD is run again and again until the time is over
#	...				# the attack ends
#	watch_judge			# in place of lab_down, before finish
#
# A script sources this file before lab_up, because the lab must inherit ASAN_OPTIONS. By default the allocator of ASan
# keeps up to 256 MiB of freed memory, which would look like a leak.
export ASAN_OPTIONS=quarantine_size_mb=8:${ASAN_OPTIONS:-}
watch_seconds=${HOSTILE_SECONDS:-20}
watch_interval=0.05
watch_times=5
watch_rtt_floor=20 # in ms; a shorter round trip is good, even if it is longer than five times the round trips without an attack
calm_pid=''

watch_rss() { # print the memory of all processes of the lab in KiB
	local p
	for p in $(descendants "$lab_pid"); do
		awk '/^VmRSS/ { print $2 }' "/proc/$p/status"
	done 2>/dev/null | awk '{ sum += $1 } END { print sum }'
}

# watch_ping FILE SECONDS NAME HOST ADDRESS: ping in the background, from a host of instance NAME
watch_ping() {
	UIPOIB_NAME=$3 background "$UIPOIB" exec "$4" ping -n -i $watch_interval \
		-c "$(awk -v s="$2" -v i=$watch_interval 'BEGIN { print int(s / i) }')" "$5" >"$1"
}
watch_longest() { sed -n 's|^rtt .* = [^/]*/[^/]*/\([^/]*\)/.*|\1|p' "$1"; } # FILE: print the longest round trip in ms

# Start the second lab: two hosts on one switch
calm_start() {
	topo_ring 2 1 >"$work/calm.topo"
	conf_hosts 2 | sed 's/lab\.topo/calm.topo/' >"$work/calm.conf"
	"$UIPOIB" run -c "$work/calm.conf" -n "$inst-calm" >"$work/calm.log" 2>&1 &
	calm_pid=$!
	eventually 30 env UIPOIB_NAME="$inst-calm" "$UIPOIB" wait --timeout 10 &&
		eventually 10 env UIPOIB_NAME="$inst-calm" "$UIPOIB" exec h1 ping -n -q -c 3 -i 0.1 -W 2 10.4.0.2
}

# watch_before HOST ADDRESS: measure pings in both labs for a tenth of $watch_seconds, before the attack
watch_before() {
	local pids=''
	check "a second lab is up, which nobody attacks" calm_start
	check "$1 reaches $2" eventually 10 x "$1" ping -n -q -c 3 -i 0.1 -W 2 "$2"
	watch_ping "$work/ping.before" $((watch_seconds / 10 + 1)) "$inst" "$1" "$2"
	pids+=" $!"
	watch_ping "$work/ping.calm_before" $((watch_seconds / 10 + 1)) "$inst-calm" h1 10.4.0.2
	pids+=" $!"
	wait $pids
	watch_procs=$(descendants "$lab_pid")
	watch_cpu_begin=$(watch_cpu)
}

watch_cpu() { # print the CPU time that the lab has used, in seconds
	local p
	for p in $(descendants "$lab_pid"); do
		cat "/proc/$p/task/"*/schedstat
	done 2>/dev/null | awk '{ sum += $1 } END { printf "%.1f", sum / 1e9 }'
}

# watch_during HOST ADDRESS [CMD...]: measure for $HOSTILE_SECONDS, during the attack
watch_during() {
	local pids='' p rounds=0
	watch_ping "$work/ping.attack" "$watch_seconds" "$inst" "$1" "$2"
	pids+=" $!"
	watch_ping "$work/ping.calm" "$watch_seconds" "$inst-calm" h1 10.4.0.2
	pids+=" $!"
	shift 2
	: >"$work/rss"
	: >"$work/rounds"
	{
		while :; do
			echo "${EPOCHREALTIME%.*} $(watch_rss)" >>"$work/rss"
			sleep 1
		done
	} &
	watch_sampler=$!
	for p in $pids; do
		while [ $# != 0 ] && kill -0 "$p" 2>/dev/null; do
			"$@" >"$work/round.out" 2>&1 || { cat "$work/round.out" >>"$work/rounds"; break 2; }
			rounds=$((rounds + 1))
		done
	done
	wait $pids
	kill "$watch_sampler"
	wait "$watch_sampler" 2>/dev/null
	watch_cpu_end=$(watch_cpu)
	[ $# = 0 ] || echo "# rounds of '$*': $rounds"
}

watch_is_flat() {
	awk '{ t[NR] = $1; kb[NR] = $2 }
		function median(from, to,   n, i, j, v, x) {
			for (i = 1; i <= NR; i++)
				if (t[i] >= t[1] + from && t[i] <= t[1] + to) v[++n] = kb[i]
			for (i = 2; i <= n; i++)
				for (j = i; j > 1 && v[j] < v[j - 1]; j--) { x = v[j]; v[j] = v[j - 1]; v[j - 1] = x }
			return v[int((n + 1) / 2)]
		}
		END {
			all = t[NR] - t[1]; early = median(all / 10, all / 5); late = median(all * 9 / 10, all)
			printf "memory: %d KiB in the second tenth of %d s, %d KiB in the last, ratio %.3f\n", early, all, late, late / early
			exit !(late <= early * 1.1)
		}' "$work/rss" | tee "$work/rss.said"
	[ "${PIPESTATUS[0]}" = 0 ]
}
watch_lost() { awk '/packets transmitted/ { print $1 - $4 }' "$1"; }
watch_no_loss() {
	local lost calm
	lost=$(watch_lost "$work/ping.attack") calm=$(watch_lost "$work/ping.calm")
	echo "$(grep 'packets transmitted' "$work/ping.attack"); the second lab lost ${calm:-?}" | tee "$work/loss.said"
	[ -n "$lost" ] && [ -n "$calm" ] && [ "$lost" -le $((calm * 2)) ] && return 0
	sed -n 's/.*icmp_seq=\([0-9]*\) .*/\1/p' "$work/ping.attack" |
		awk '$1 > last + 1 { printf "lost: %d to %d\n", last + 1, $1 - 1 } { last = $1 }' | tee -a "$work/loss.said"
	return 1
}
watch_in_time() {
	local attack others
	attack=$(watch_longest "$work/ping.attack")
	others="$(watch_longest "$work/ping.before") $(watch_longest "$work/ping.calm_before") $(watch_longest "$work/ping.calm")"
	echo "longest round trip, ms: $attack; without the attack (before; second lab before, during): $others" | tee "$work/rtt.said"
	awk -v a="$attack" -v f=$watch_rtt_floor -v n=$watch_times '{
		for (i = 1; i <= NF; i++) if ($i > max) max = $i
		exit !(NF == 3 && a != "" && (a <= f || a <= n * max))
	}' <<<"$others"
}
watch_reports() { ! grep -E 'Sanitizer|runtime error:' "$work/lab.log" "$work/calm.log"; }

watch_judge() {
	check "every round of it went well" equal "" "$(cat "$work/rounds")"
	check "the ping of others loses nothing because of it" watch_no_loss
	check "and takes no longer than on a machine that is as busy" watch_in_time
	check "memory is flat" watch_is_flat
	check "no process of the lab has ended" equal "$watch_procs" "$(descendants "$lab_pid")"
	cat "$work"/{loss,rtt,rss}.said | sed 's/^/# /'
	echo "# $(grep '^rtt' "$work/ping.attack")"
	echo "# seconds of CPU of the lab: $watch_cpu_begin before, $watch_cpu_end after"
	kill -INT $calm_pid && wait $calm_pid
	check "the lab ends with status 0" lab_down
	check "no sanitizer reports anything" watch_reports
}
