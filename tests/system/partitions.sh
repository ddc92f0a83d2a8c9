#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Partitions are separate links, even if their addresses are in the same IP subnet. Limited members reach full members
# only. Every uib1 is in 10.5.0.0/16 and fd05::/64:
#
#	P_Key 0x8001, "Lab"                             P_Key 0x8002, "Other"
#	  h1 full 10.5.0.1    h3 limited 10.5.0.3         h5 full 10.5.0.5
#	  h2 full 10.5.0.2    h4 limited 10.5.0.4         h6 full 10.5.0.6
#
#	      h1  h4         h2  h5         h3  h6
#	       \  /           \  /           \  /
#	      Switch1 ------ Switch2 ------ Switch3 ------ (Switch1)
. "$(dirname "$0")/lib.sh"
mcast=$TOOLS/mcast
[ -x "$mcast" ] || { echo "not ok - $mcast is built"; exit 1; }
need ping arping
topo_ring 6 3 >"$work/lab.topo"
cat >"$work/partitions.conf" <<-'END'
	Default=0x7fff, ipoib : ALL=full;
	Lab=0x8001, ipoib, defmember=limited : "Hca1"=full, "Hca2"=full, "Hca3", "Hca4";
	Other=0x8002, ipoib : "Hca5"=full, "Hca6"=full;
END
{
	conf_hosts 6 "partitions = partitions.conf"
	for i in 1 2 3 4 5 6; do
		case $i in 1 | 2) key=0x8001 ;; 3 | 4) key=0x0001 ;; *) key=0x8002 ;; esac
		conf_iface uib1 $i "pkey = $key" "address = 10.5.0.$i/16" "address = fd05::$i/64"
	done
} >"$work/lab.conf"
lab_up

reach() { # PAIR...: succeeds if the hosts of each pair reach each other by IPv4, IPv6 and ARP
	local p a b
	for p; do
		a=${p%-*} b=${p#*-}
		ping_to h$a 10.5.0.$b && ping_to h$b 10.5.0.$a && ping_to h$a fd05::$b && ping_to h$b fd05::$a &&
			eventually 10 x h$a arping -c 1 -w 5 -I uib1 10.5.0.$b || return 1
	done
}

apart() { # A B: succeeds if hosts A and B do not reach each other by ARP, IPv4 or IPv6
	refuse 1 'Received 0 response' x h$1 arping -c 1 -w 1 -I uib1 10.5.0.$2 || return 1
	refuse 1 ' 0 received|100% packet loss' x h$1 ping -n -c 2 -i 0.1 -W 1 10.5.0.$2 || return 1
	refuse 1 ' 0 received|100% packet loss' x h$2 ping -n -6 -c 2 -i 0.1 -W 1 fd05::$1
}

pkey_drops() { # HOST: print the number of packets that HOST's HCA dropped because of their P_Key
	u -j stats show | jq "[.stats[] | select(.counter | test(\"pkey\")) |
		select(.object | test(\"Hca$1\")) | .value] | add // 0"
}

more() { # BEFORE AFTER: succeeds if AFTER is larger
	echo "before $1, after $2"
	[ "$2" -gt "$1" ]
}

link() { u -j link show dev "uib1@h$1" | jq -r ".link[0].$2"; }

has() { grep -q "^$2" "$1"; }

# Both partitions have a group with the same IP address. The packets of SENDER reach MEMBER, which is in the same
# partition, and not OUTSIDER, which is in the other partition.
group_apart() { # SENDER MEMBER OUTSIDER
	local h f=$work/group-$1
	for h in $2 $3; do
		bx h$h "$mcast" recv uib1 239.9.9.9 7100 >"$f.recv$h"
		bx h$h "$mcast" sniff uib1 239.9.9.9 7100 >"$f.sniff$h"
		eventually 5 has "$f.recv$h" ready && eventually 5 has "$f.sniff$h" ready || return 1
	done
	eventually 10 arrives $1 $2 && reaches4 $1 $3 || return 1 # packets that were sent before the ping was answered have arrived, or were dropped
	equal 0 "$(cat "$f.recv$3" "$f.sniff$3" | grep -vc ready)"
}

arrives() {
	x h$1 "$mcast" send uib1 239.9.9.9 7100 5 data
	has "$work/group-$1.recv$2" data
}

check "IPv6 addresses are found unique" eventually 15 no_tentative 6
check "the broadcast group carries the P_Key" equal ff12:401b:8001::ffff:ffff "$(link 1 broadcast)"
check "a limited member is in its full members' group" equal ff12:401b:8001::ffff:ffff "$(link 3 broadcast)"
check "the other partition has a group of its own" equal ff12:401b:8002::ffff:ffff "$(link 5 broadcast)"
check "full members reach each other" reach 1-2 5-6
check "limited members and full members reach each other" reach 3-1 3-2 4-1 4-2
before=$(pkey_drops 4)
check "limited members do not reach each other" apart 3 4
check "their packets were refused because of the P_Key" more "$before" "$(pkey_drops 4)"
check "nothing crosses from 0x8001 to 0x8002" apart 1 5
check "nothing crosses from 0x8002 to a limited member of 0x8001" apart 6 3
check "multicast of 0x8001 stays there" group_apart 1 2 5
check "multicast of 0x8002 stays there" group_apart 5 6 1
check "the default partition reaches everybody meanwhile" reaches4 3 4
finish
