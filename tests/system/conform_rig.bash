# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
#
# Functions that the scripts conform*.sh share: DUTs, runs of the suite, and the relay between them (conform_relay.py)

# dut_netdev is the kind of the DUT's network device (default: tap). dut_seconds is the longest time of a run of the suite; on a
# busy machine it is multiplied by `stretch`. The default is 120 with rfc4391 and hld2002, which take 50 and 70 s on an idle
# machine, and 300 with other profiles, which take up to 85 s.
#
# dut N [PEER [PROFILE]]: start a DUT at port 6000+N, whose peer is port PEER, or 5000+N if PEER is empty
dut() {
	dut_conf "$@"
	dut_start "$1"
}
dut_conf() {
	{
		printf '[interface ib0@dut]\nport = udp:127.0.0.1:%s,guid=0x0002c90300000031,listen=127.0.0.1:%s\n' \
			"${2:-$((5000 + $1))}" $((6000 + $1))
		printf 'profile = %s\nnetdev = %s\n' "${3:-rfc4391}" "${dut_netdev:-tap}"
		case ${3:-} in
		hld2002)
			printf 'pkeys = 0x7fff,0x0014\naddress = 10.9.20.1/24,pkey=0x0014\n'
			printf 'mcast-timeout = 300\nmcast-retry-cnt = 4\n'
			;;
		esac
		[ "${3:-}" = v6ib00 ] || echo "address = 10.9.0.1/24$(of_pkey "${3:-}")"
		echo "address = fd09::1/64$(of_pkey "${3:-}")"
	} >"$work/dut.$1.conf"
}
of_pkey() { [ "$1" != hld2002 ] || echo ,pkey=0x7fff; }
# dut_options PROFILE: print the options by which the suite learns the configuration of a DUT of this profile
dut_options() { [ "$1" != hld2002 ] || echo --pkey-list --mcast-timeout 300 --mcast-retry-cnt 4; }
dut_start() {
	"$UIPOIB" run -c "$work/dut.$1.conf" -n "$inst-$1" >"$work/dut.$1.log" 2>&1 &
	dut_pid[$1]=$!
}
declare -A dut_pid relay_pid server_pid
# suite N OPTION...: run the suite against DUT N; $conform is the program that has the suite (default: $UIPOIB)
suite() {
	local n=$1
	shift
	UIPOIB_NAME=$inst-$n UIPOIB=$UIPOIB "${conform:-$UIPOIB}" conform --dut "udp:127.0.0.1:$((6000 + n))" \
		--listen "127.0.0.1:$((5000 + n))" --json "$work/report.$n" "$@" >"$work/out.$n" 2>&1
}
suite_out() { # N OPTION...: run the suite as `suite` does, and print its output
	local s
	suite "$@"
	s=$?
	cat "$work/out.$1"
	return $s
}
end() { kill_own "$1" && wait "$1"; } 2>/dev/null
# shellcheck disable=SC2034
on_cleanup=end_all
end_all() {
	local p
	for p in "${server_pid[@]}" "${dut_pid[@]}" "${relay_pid[@]}"; do end "$p"; done
	end_jobs_children
} 2>/dev/null
results() { # N FILTER: print the cases of report N for which the jq filter is true
	jq -r ".conform[] | select($2) | .case" "$work/report.$1" | tr '\n' ' '
}
not_passed() { # N: print each result of report N that is neither PASS nor NA, with its reason
	jq -r '.conform[] | select(.result != "PASS" and .result != "NA") | "\(.case) \(.result): \(.why)"' "$work/report.$1"
}
documented() { # N TABLE COLUMN: compare the results of report N with doc/conform.md; with CONFORM_TABLES=make write the results into this page
	python3 doc/conform-table.py "$2" "$3=$work/report.$1"
}
hook="$UIPOIB exec dut $PWD/examples/conform_hook.py ib0"
# device_of PROFILE: print the name of the device of the first link, which with hld2002 follows from the P_Key
device_of() { [ "$1" = hld2002 ] && echo ib0_1_7fff || echo ib0; }
# hook_of PROFILE: print the hook command for the device of this profile. With hld2002 the hook can also do the step unload, for
# which it ends the DUT
hook_of() {
	if [ "$1" = hld2002 ]; then
		# shellcheck disable=SC2016
		printf 'step() { if [ $1 = unload ]; then %s stop; else %s "$@"; fi; }; step' "$UIPOIB" "${hook/% ib0/ $(device_of "$1")}"
	else
		echo "$hook"
	fi
}
# hook_server N PROFILE: start a process that will perform all steps of the hook for DUT N in the DUT's namespace, when the DUT
# has started
hook_server() {
	local steps=$work/steps.$1
	mkfifo "$steps"
	hook="sh $PWD/tests/system/hook_step $steps"
	serve_steps "$@" "$steps" >"$work/hook.$1.log" 2>&1 &
	server_pid[$1]=$!
}
serve_steps() { # N PROFILE FIFO: wait until the DUT has started, and become its hook server
	export UIPOIB_NAME=$inst-$1
	until "$UIPOIB" exec dut true; do nap 0.2; done
	: >"$work/serving.$1"
	exec "$UIPOIB" exec dut python3 tests/system/hook_server.py "$(device_of "$2")" "$3"
}
# passes N PROFILE [MAY_FAIL]: succeeds if a uipoib host of the profile passes all cases that apply to it, except the cases MAY_FAIL
passes() {
	local status c
	dut "$1" '' "$2"
	# shellcheck disable=SC2046
	suite "$1" --profile "$2" $(dut_options "$2") --hook "$(hook_of "$2")" --strict
	status=$?
	end "${dut_pid[$1]}"
	[ $status = 0 ] || [ "$status${3:+may}" = 1may ] || { tail -40 "$work/out.$1"; return 1; }
	tail -1 "$work/out.$1"
	for c in $(results "$1" '.result != "PASS" and .result != "NA"'); do
		[[ " ${3:-} " = *" $c "* ]] || { not_passed "$1"; return 1; }
	done
	jq -e --argjson slower "$(stretch)" --argjson most "${dut_seconds:-$([[ $2 = rfc4391 || $2 = hld2002 ]] && echo 120 || echo 300)}" '.seconds < $most * $slower' "$work/report.$1" &&
		jq -e '.conform | all(.checks > 0 or .result == "NA")' "$work/report.$1"
}

# --- mutants

# mutant N NAME PROFILE CASE: run the suite with mutant NAME, which breaks CASE, or nothing if CASE is empty. Each other case that
# fails must have a failure of CASE as its reason
mutant() {
	local n=$1 name=$2 profile=$3 want=$4
	mkdir "$work/pcap.$n"
	hook_server "$n" "$profile"
	dut "$n" $((7000 + n)) "$profile"
	python3 "$PWD/tests/system/conform_relay.py" "$name" $((7000 + n)) $((6000 + n)) $((8000 + n)) $((5000 + n)) \
		>"$work/relay.$n" 2>&1 &
	relay_pid[$n]=$!
	eventually 10 grep -q ready "$work/relay.$n" || { cat "$work/relay.$n"; return 1; }
	# The suite waits 13 s for the link, and on a busy machine the DUT can take longer to start.
	eventually 20 test -e "$work/serving.$n" || { cat "$work/dut.$n.log"; return 1; }
	: >"$work/begun.$n"
	# shellcheck disable=SC2046
	UIPOIB_NAME=$inst-$n UIPOIB=$UIPOIB "$UIPOIB" conform --dut "udp:127.0.0.1:$((8000 + n))" --listen "127.0.0.1:$((5000 + n))" \
		--profile "$profile" $(dut_options "$profile") --json "$work/report.$n" --pcap-dir "$work/pcap.$n" --hook "$(hook_of "$profile")" >"$work/out.$n" 2>&1
	end "${relay_pid[$n]}"
	end "${server_pid[$n]}"
	end "${dut_pid[$n]}"
	equal "$want" "$(results $n '.result == "FAIL" and (.because | not)')" || { tail -60 "$work/out.$n"; return 1; }
	want=${want% }
	[ -z "$want" ] || [ -s "$work/pcap.$n/${want//\//-}.pcap" ] || { ls "$work/pcap.$n"; return 1; }
}
# mutants PROFILE: start the mutants of standard input, whose lines are NAME CASE. At most sixty run at a time, because they wait
# most of the time. At most four of them are in their first seconds, in which a mutant takes most of its CPU time.
mutants() {
	local name want
	while read -r name want; do
		names[next_mutant]="$1 $name $want"
		until fewer_without begun 4 && fewer_without status 60; do nap 0.1; done
		(
			unset dut_pid relay_pid server_pid
			declare -A dut_pid relay_pid server_pid
			mutant $next_mutant "$name" "$1" "${want:+$want }" >"$work/mutant.$next_mutant" 2>&1
			echo $? >"$work/status.$next_mutant"
			: >"$work/begun.$next_mutant"
		) &
		mutant_pids+=($!)
		next_mutant=$((next_mutant + 1))
	done
}
# fewer_without NAME N: succeeds if fewer than N of the mutants that were started have no file NAME.NUMBER yet. This function is
# called ten times a second, so it starts no process
fewer_without() {
	local found=("$work/$1".*)
	[ -e "${found[0]}" ] || found=()
	[ $((next_mutant - 10 - ${#found[@]})) -lt "$2" ]
}
next_mutant=10 mutant_pids=()
judged() { cat "$work/mutant.$1"; [ "$(cat "$work/status.$1")" = 0 ]; }
declare -a names
judge_mutants() { # wait until all mutants have ended, and print a test for each
	local n profile name want
	wait "${mutant_pids[@]}"
	for n in "${!names[@]}"; do
		read -r profile name want <<<"${names[$n]}"
		check "$profile: ${want:-nothing} fails for the mutant $name" judged "$n"
	done
}
