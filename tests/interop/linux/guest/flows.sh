#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Runs at both ends, in a host and in a VM. The script sends and receives a TCP stream, UDP datagrams without checksum,
# and UDP datagrams without checksum to a group, all at the same time. The receivers check the contents
# (tests/system/integrity.c; TOOLS is its folder).
#
#	flows.sh DIR recv ADDRESS GROUP				start the receivers, and wait until all are ready
#	flows.sh DIR send ADDRESS TO GROUP DATAGRAMS OCTETS	send; the status is not 0 if one of the senders failed
#	flows.sh DIR stop					end the receivers, and print
#								{"tcp":{...},"udp":{...},"group":{...}}
set -u
export PACE=0.002 # seconds between datagrams, so that an emulated processor can receive them
dir=$1 what=$2
shift 2
integrity() { exec "$TOOLS/integrity" "$@"; }

ready() { # KIND: wait until the receiver of this kind is ready
	local end=$((SECONDS + 60))
	until grep -q ready "$dir/$1"; do
		[ $SECONDS -lt $end ] || { echo "$1: the receiver does not start"; exit 1; }
		sleep 0.05
	done
}

case $what in
recv)
	rm -rf "$dir" && mkdir -p "$dir"
	(integrity tcp-recv "$1" 7777) >"$dir/tcp" 2>&1 &
	echo $! >"$dir/pids"
	(integrity udp-recv "$1" 7778) >"$dir/udp" 2>&1 &
	echo $! >>"$dir/pids"
	(integrity udp-recv "$1" 7779 "$2") >"$dir/group" 2>&1 &
	echo $! >>"$dir/pids"
	ready tcp && ready udp && ready group
	;;
send)
	status=0
	(integrity tcp-send "$1" 7777 "$2" "$5") &
	pids=$!
	(integrity udp-send "$1" 7778 "$2" "$4" 1400) &
	pids+=" $!"
	(integrity udp-send "$1" 7779 "$3" "$4" 1400) &
	for p in $pids $!; do
		wait "$p" || status=1
	done
	exit $status
	;;
stop)
	while read -r p; do
		kill -TERM "$p" 2>/dev/null
		while kill -0 "$p" 2>/dev/null; do sleep 0.05; done
	done <"$dir/pids"
	echo "{\"tcp\":$(tail -1 "$dir/tcp"),\"udp\":$(tail -1 "$dir/udp"),\"group\":$(tail -1 "$dir/group")}"
	;;
esac
