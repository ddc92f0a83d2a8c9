#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# check.sh: all
#
# The standard error of an instance is a stream to systemd's journal. Each line of its log is an entry of the journal with
# its level and with the names of the objects that the line is about. If the journal does not read its socket, the lines go
# to standard error.
#
#	h1, h2 --- Switch1 === UDP === h3	one instance
. "$(dirname "$0")/lib.sh"
need python3 jq ip ping
topo_ring 2 1 | sed 's/^Switch 4 /Switch 5 /' >"$work/lab.topo"
{
	conf_hosts 2
	printf '[udp-link far]\nport = fabric:lab/Switch1/5\nlisten = 127.0.0.1:5001\n'
	printf '[interface uib0@h3]\nport = udp:127.0.0.1:5001,guid=0x0002c90300000031\naddress = 10.4.0.3/16\n'
} >"$work/lab.conf"
entries=$work/entries

# By default a datagram socket holds at most 10 entries that nobody has read; systemd raises this limit to 512.
echo 128 >/proc/sys/net/unix/max_dgram_qlen
python3 tests/system/journal.py "$entries" 2>"$work/journal.err" &
journal=$!
check "a journal listens" eventually 30 test -S /run/systemd/journal/socket
: >"$work/lab.log"
stream=$(stat -c %d:%i "$work/lab.log")

# logged [OPTION ...] FILTER: succeeds if the jq filter is true for one of the entries. In an entry, each field is the list of
# the field's values
logged() { jq -se "${@:1:$#-1}" "any(.[]; ${*: -1})" "$entries" >/dev/null || { tail -5 "$entries"; return 1; }; }

# started [ARG ...]: start the lab, with its log in lab.log
started() {
	"$UIPOIB" run -c "$work/lab.conf" -n "$inst" "$@" 2>>"$work/lab.log" &
	lab_pid=$!
}
up() { eventually 30 u wait --timeout 0; }

export JOURNAL_STREAM=$stream
started
check "a lab whose standard error is a stream to the journal" up
lab_remember
check "an interface comes up: its name, its host, its level" eventually 30 logged \
	'.UIPOIB_INTERFACE == ["uib0"] and .UIPOIB_HOST == ["h2"] and .PRIORITY == ["6"] and .MESSAGE == ["uib0@h2: up"]'
check "a fabric comes up" eventually 30 logged '.UIPOIB_FABRIC == ["lab"] and (.MESSAGE[0] | startswith("fabric lab: SUBNET UP"))'
check "a line of the subnet manager has its component" eventually 30 logged '.UIPOIB_COMPONENT == ["sm"] and .UIPOIB_FABRIC == ["lab"]'
check "a line of the SA client has its port" eventually 30 logged \
	'.UIPOIB_PORT == ["Hca1/1"] and .UIPOIB_FABRIC == ["lab"] and .UIPOIB_COMPONENT == ["sa"] and (.MESSAGE[0] | startswith("sa: port "))'
check "a link over UDP comes up: its name and its fabric" eventually 30 logged '.UIPOIB_UDP_LINK == ["far"] and .UIPOIB_FABRIC == ["lab"] and
	(.MESSAGE[0] | startswith("udp link far at Switch1/5: up, peer 127.0.0.1:"))'
# A capture stops when its disk is full.
disk=/run/disk
mkdir "$disk" && mount -t tmpfs -o size=64k tmpfs "$disk"
check "a capture starts" u capture start "$disk/lab.pcap" fabric lab
overflows() {
	x h1 ping -n -q -c 50 -i 0.01 -s 1900 -W 5 10.4.0.2 >/dev/null
	logged --arg disk "$disk" '.UIPOIB_CAPTURE == [$disk + "/lab.pcap"] and .UIPOIB_FABRIC == ["lab"] and .PRIORITY == ["3"] and
		.MESSAGE == ["capture \($disk)/lab.pcap: No space left on device; it has stopped"]'
}
check "a capture fills its disk: its file and its fabric" eventually 60 overflows
named() { jq -se --arg name "$inst" 'length > 0 and all(.[]; .UIPOIB_INSTANCE == [$name] and .SYSLOG_IDENTIFIER == ["uipoib"] and (.MESSAGE | length) == 1)' "$entries"; }
check "every entry has the name of the instance, and one message" named
check "standard error has none of these lines" equal "" "$(cat "$work/lab.log")"


# --- the journal does not read its socket
kill -STOP "$journal"
: >"$work/lab.log"
reload_often() { local k; for k in $(seq 20); do u reload >/dev/null || return; done; }
full() { reload_often && grep -q ' reloaded' "$work/lab.log"; }
check "the lines go to standard error when the journal is full" eventually 60 full
check "and the instance works" x h1 ping -n -c 1 -W 10 10.4.0.2
kill -CONT "$journal"
had_no_room() { u reload >/dev/null && logged '.PRIORITY == ["4"] and (.MESSAGE[0] | test("^the journal had no room for [0-9]+ lines?, written to standard error instead$"))'; }
check "the journal gets their number when it reads again" eventually 60 had_no_room
counted() { # succeeds if the number in the journal is the number of lines on standard error
	equal "$(grep -c . "$work/lab.log")" "$(jq -s 'map(.MESSAGE[0] | capture("had no room for (?<n>[0-9]+)").n | tonumber) | add' "$entries")"
}
check "their number is right" eventually 30 counted
check "the lab ends" lab_down

# --- standard error is a file and not the journal
: >"$work/lab.log"
before=$(wc -l <"$entries")
JOURNAL_STREAM=${stream}1
started
check "a lab whose standard error is not the stream of the environment" up
check "logs to standard error" eventually 30 grep -q 'uib0@h2: up' "$work/lab.log"
check "the journal gets nothing" equal "$before" "$(wc -l <"$entries")"
check "this lab ends" lab_down
JOURNAL_STREAM=$stream

# --- the journal has ended
kill "$journal"
wait "$journal" 2>/dev/null
check "the journal read every entry" equal "" "$(cat "$work/journal.err")"
rm -rf /run/systemd/journal
: >"$work/lab.log"
started
check "a lab without a journal" up
check "logs to standard error, too" eventually 30 grep -q 'uib0@h2: up' "$work/lab.log"
finish
