#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
#
# avahi on one host finds the service and the name of another host by mDNS, over IPv4 and over IPv6.
#
#	h1: dbus-daemon, avahi-daemon "h1.local", avahi-publish     h2, h3: dbus-daemon, avahi-daemon
#	 |                                                           |   |
#	Switch1 -------------------------------------------- Switch2 | Switch3
#
# Each daemon has its own PID and mount namespaces, with its own /run and a private bus, so the daemons of the machine
# are not touched.
. "$(dirname "$0")/../system/lib.sh"
need avahi-daemon avahi-publish avahi-browse avahi-resolve dbus-daemon unshare
topo_ring 3 3 >"$work/lab.topo"
conf_hosts 3 >"$work/lab.conf"
chmod 755 "$work"

bus_conf() { # HOST: print the configuration of D-Bus for HOST
	cat <<-END
		<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
		 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
		<busconfig>
		  <type>system</type>
		  <listen>unix:path=$work/$1.bus</listen>
		  <auth>EXTERNAL</auth>
		  <policy context="default">
		    <allow user="*"/>
		    <allow own="*"/>
		    <allow send_type="method_call"/>
		    <allow send_requested_reply="true" send_type="method_return"/>
		    <allow send_requested_reply="true" send_type="error"/>
		    <allow receive_type="method_call"/>
		    <allow receive_type="method_return"/>
		    <allow receive_type="error"/>
		    <allow receive_type="signal"/>
		    <allow send_type="signal"/>
		  </policy>
		</busconfig>
	END
}

avahi_conf() { # HOST FAMILY: print the configuration of avahi for HOST, with IPv4 or IPv6 only
	local v4=yes v6=yes
	[ "$2" = 6 ] && v4=no
	[ "$2" = 4 ] && v6=no
	cat <<-END
		[server]
		host-name=$1
		use-ipv4=$v4
		use-ipv6=$v6
		allow-interfaces=uib0
		enable-dbus=yes
		disallow-other-stacks=no
		[wide-area]
		enable-wide-area=no
		[publish]
		publish-workstation=no
		publish-hinfo=no
	END
}

bus() { echo "unix:path=$work/$1.bus"; }

start() { # HOST FAMILY: start D-Bus and avahi on HOST
	avahi_conf "$1" "$2" >"$work/$1.avahi"
	bus_conf "$1" >"$work/$1.bus.conf"
	rm -f "$work/$1.bus"
	DBUS_SYSTEM_BUS_ADDRESS=$(bus "$1") bx "$1" unshare --mount --pid --fork --kill-child --propagation private \
		bash -c '
			mount -t tmpfs none /run && mkdir /run/avahi-daemon || exit 1
			rm -f "$1/$2.listens"
			dbus-daemon --config-file="$1/$2.bus.conf" --nofork --nopidfile --print-address >"$1/$2.listens" &
			for k in $(seq 1800); do [ -s "$1/$2.listens" ] && break; sleep 0.05; done
			avahi-daemon --file="$1/$2.avahi" --no-drop-root --no-chroot --no-rlimits --no-proc-title' \
		- "$work" "$1" >"$work/$1.log" 2>&1
	daemons+=" $!"
}

on() { # HOST TOOL...: run a client of that host's daemon
	local h=$1
	shift
	DBUS_SYSTEM_BUS_ADDRESS=$(bus "$h") timeout 20 "$UIPOIB" exec "$h" "$@"
}

ready() { grep -q 'Server startup complete' "$work/$1.log"; }
says() { grep -q "$2" "$work/$1"; }

browse() { # HOST FAMILY NAME: succeeds if HOST finds the service NAME of h1
	on "$1" avahi-browse --resolve --terminate --parsable _ipp._tcp >"$work/browse" 2>&1
	browsed=$?
	cat "$work/browse"
	# =;IF;PROTOCOL;NAME;TYPE;DOMAIN;HOST;ADDRESS;PORT;TXT
	grep -Eq "^=;uib0;IPv$2;$3;Internet Printer;local;h1\.local;[0-9a-f:.]+;631;\"paper=A4\"" "$work/browse"
}

resolves() { # HOST FAMILY NAME ADDRESS: succeeds if HOST finds ADDRESS for NAME
	local got
	got=$(on "$1" avahi-resolve "-$2" -n "$3" | cut -f2)
	equal "$4" "$got"
}

reverse() { # HOST ADDRESS NAME: succeeds if HOST finds NAME for ADDRESS
	local got
	got=$(on "$1" avahi-resolve -a "$2" | cut -f2)
	equal "$3" "$got"
}

lab_up
for family in 4 6; do
	daemons=''
	for h in h1 h2 h3; do start $h $family; done
	for h in h1 h2 h3; do
		check "IPv$family: avahi of $h starts" eventually 20 ready $h || { sed 's/^/# /' "$work/$h.log"; finish; }
	done
	DBUS_SYSTEM_BUS_ADDRESS=$(bus h1) bx h1 avahi-publish -s printer _ipp._tcp 631 paper=A4 >"$work/publish$family" 2>&1
	publisher=$!
	check "IPv$family: h1 publishes a service" eventually 20 says publish$family Established || finish
	check "IPv$family: h2 finds it" eventually 20 browse h2 $family printer
	check "IPv$family: h3 finds it" eventually 20 browse h3 $family printer
	case $family in
	4)
		check "IPv4: h2 resolves h1.local" eventually 10 resolves h2 4 h1.local 10.4.0.1
		check "IPv4: h3 resolves the address of h2" eventually 10 reverse h3 10.4.0.2 h2.local
		;;
	6)
		check "IPv6: h2 resolves h1.local" eventually 10 resolves h2 6 h1.local fd04::1
		;;
	esac
	kill $publisher
	gone() { # succeeds if the service is gone, and the reason is not that avahi-browse got no answer in time
		browse h2 $family printer && return 1
		equal 0 "$browsed"
	}
	check "IPv$family: when it is withdrawn h2 sees it go" eventually 20 gone
	kill -KILL $daemons # unshare does not pass SIGTERM on
	wait $daemons 2>/dev/null
done
finish
