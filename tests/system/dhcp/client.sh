# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
#
# Functions that run Debian's dhclient for tests. Scripts source this file after lib.sh. The files of client NAME are $work/NAME.*.
#
#	client c1 'request subnet-mask;' "$UIPOIB" exec h1
#	check "a lease" eventually 20 event c1 BOUND
#	release c1 "$UIPOIB" exec h1
need dhclient
# Use a copy of dhclient, because AppArmor knows the original by its path and forbids it to run the script below.
cp "$(command -v dhclient)" "$work"/

# The script that dhclient calls. It sets the address, and writes a line for the test
cat >"$work/script" <<-'EOF'
	#!/bin/sh
	case $reason in
	BOUND | RENEW | REBIND | REBOOT)
		ip addr replace "$new_ip_address/16" valid_lft 60 preferred_lft 60 dev "$interface"
		;;
	RELEASE | STOP | EXPIRE | FAIL)
		[ -z "$old_ip_address" ] || ip addr del "$old_ip_address/16" dev "$interface"
		;;
	PREINIT) ip link set "$interface" up ;;
	esac
	echo "$reason $new_ip_address $old_ip_address" >>"$UIB_EVENTS"
	exit 0
EOF
chmod +x "$work/script"

# client NAME CONF CMD...: start dhclient by CMD
client() {
	local name=$1 conf=$2
	shift 2
	printf 'timeout 10; retry 2; initial-interval 1; initial-delay 0;\n%s\n' "$conf" >"$work/$name.conf"
	: >"$work/$name.events"
	background "$@" env "UIB_EVENTS=$work/$name.events" "$work/dhclient" -d -v -4 -cf "$work/$name.conf" -lf "$work/$name.leases" \
		-pf "$work/$name.pid" -sf "$work/script" -e "UIB_EVENTS=$work/$name.events" "${dev:-uib0}" >"$work/$name.log" 2>&1
}
# event NAME REGEX: succeeds if the script has written, for client NAME, a line "REASON NEW-ADDRESS OLD-ADDRESS" whose beginning matches REGEX
event() { grep -q "^$2" "$work/$1.events" || { tail -n 15 "$work"/dhcpd*.log "$work/$1.log"; return 1; }; }
release() { # NAME CMD...: let the client release its lease and end
	local name=$1
	shift
	"$@" env "UIB_EVENTS=$work/$name.events" "$work/dhclient" -r -4 -cf "$work/$name.conf" -lf "$work/$name.leases" \
		-pf "$work/$name.pid" -sf "$work/script" -e "UIB_EVENTS=$work/$name.events" "${dev:-uib0}"
}
