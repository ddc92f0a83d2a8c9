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

# Write a line "OBJECT MEMBER" for each member that the section names. Words in parentheses are members of a member, or remarks, so
# they are left out
python3 - man/uipoib.8 <<-'PY' >"$work/man"
	import re, sys
	section = re.search(r"^\.SH ROWS\n(.*?)^\.SH", open(sys.argv[1]).read(), re.M | re.S)[1]
	for entry in section.split("\n.TP\n")[1:]:
	    head, text = entry.split("\n", 1)
	    text = re.sub(r"\([^()]*\)", "", re.sub(r"^\..*\n", "", text, flags=re.M))
	    for name in sorted(set(re.findall(r"[a-z0-9_]+", text))):
	        print(head.split()[1], name)
PY

# printed OBJECT COMMAND...: print the names of the members that the rows of the command have
printed() {
	u -j "${@:2}" | jq -r --arg o "$1" '.[$o][] | keys[]' | sort -u
}
# complete OBJECT COMMAND...: succeeds if these names are those of the manual page
complete() {
	printed "$@" >"$work/printed"
	[ -s "$work/printed" ] && diff <(sed -n "s/^$1 //p" "$work/man") "$work/printed"
}
u fabric fault add Switch1/1 delay 1ms >/dev/null
u capture start "$work/lab.pcap" >/dev/null
check "instance" complete instance instance show
check "host" complete host host show
check "link" complete link link show
check "neigh" complete neigh neigh show
check "maddr" complete maddr maddr show
check "stats" complete stats stats show
check "fabric" complete fabric fabric show
check "node" complete node fabric node show
check "port" complete port fabric port show
check "lft" complete lft fabric lft show Switch1
check "mft" complete mft fabric mft show Switch1
check "hop" complete hop fabric route Hca1/1 Hca2/1
check "udp" complete udp fabric udp show
check "sm" complete sm fabric sm show
check "group" complete group fabric group show
check "partition" complete partition fabric partition show
check "fault" complete fault fabric fault show
check "capture" complete capture capture show
lab_down
finish
