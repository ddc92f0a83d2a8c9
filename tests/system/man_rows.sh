#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
#
# The section ROWS of uipoib(8) names every member of the rows that -j prints, and no other member.
#
#	h1 --- Switch1 --- h2, and a link over UDP that nobody answers
. "$(dirname "$0")/lib.sh"
need jq python3
topo_ring 2 1 | sed "s/^Switch 4/Switch 5/" >"$work/lab.topo" # port 5 is free for the link over UDP
conf_hosts 2 >"$work/lab.conf"
printf '[udp-link far]\nport = fabric:lab/Switch1/5\nlisten = 127.0.0.1:5001\n' >>"$work/lab.conf"
lab_up
check "hosts reach each other" reaches4 1 2

# Write a line "OBJECT MEMBER" for each member that the section names. Words in parentheses are members of a member, or remarks,
# so they are left out. Everything after the first sentence is left out, too.
python3 - man/uipoib.8 <<-'PY' >"$work/man"
	import re, sys
	section = re.search(r"^\.SH ROWS\n(.*?)^\.SH", open(sys.argv[1]).read(), re.M | re.S)[1]
	for entry in section.split("\n.TP\n")[1:]:
	    head, text = entry.split("\n", 1)
	    text = re.sub(r"^\.[A-Z]+ ", "", text, flags=re.M)
	    while "(" in text:
	        text, inner = re.sub(r"\([^()]*\)", "", text), text
	        assert text != inner, entry
	    for name in sorted(set(re.findall(r"[a-z0-9_]+", re.split(r"\.\s", text)[0]))):
	        print(head.split()[1], name)
PY

# complete OBJECT COMMAND...: succeeds if the rows that the command prints, in one document or several ones, have all members that the
# manual page names, and no other members
complete() {
	"${@:2}" | jq -r --arg o "$1" '.[$o] | if type == "array" then .[] else . end | keys[] | select(. != "schema")' | sort -u >"$work/printed"
	[ -s "$work/printed" ] && diff <(sed -n "s/^$1 //p" "$work/man") "$work/printed"
}
u fabric fault add Switch1/1 delay 1ms >/dev/null
u capture start "$work/lab.pcap" >/dev/null
check "instance" complete instance u -j instance show
check "host" complete host u -j host show
check "link" complete link u -j link show
check "neigh" complete neigh u -j neigh show
check "maddr" complete maddr u -j maddr show
check "stats" complete stats u -j stats show
check "fabric" complete fabric u -j fabric show
check "node" complete node u -j fabric node show
check "port" complete port u -j fabric port show
check "lft" complete lft u -j fabric lft show Switch1
check "mft" complete mft u -j fabric mft show Switch1
check "hop" complete hop u -j fabric route Hca1/1 Hca2/1
check "udp" complete udp u -j fabric udp show
check "sm" complete sm u -j fabric sm show
check "group" complete group u -j fabric group show
check "partition" complete partition u -j fabric partition show
check "fault" complete fault u -j fabric fault show
check "capture" complete capture u -j capture show
paths() { u -j path show && u -j path get 10.4.0.2 dev uib0@h1; }
check "path" complete path paths
check "inject" complete inject u -j fabric inject uib0@h1 uib0@h2 qkey
traces() {
	u -j trace h1 h2 arp
	u fabric fault add Switch1/2 corrupt 100% data >/dev/null # the far end of this port drops the packet, so that a row of the trace has a reason
	u -j trace h1 h2 ping
	return 0
}
check "trace" complete trace traces
check "import" complete import u -j fabric import "$work/lab.topo" -o "$work/imported.topo" --config "$work/imported.conf"
lab_down
finish
