#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# check.sh: all
#
# Tests libuipoib-path, the path query of intel-ipoib-linux-hld-2002 (rows H32 and H33 of CONFORMANCE.md). h1 is on two partitions.
# The instance knows the ports of those addresses that are in its configuration. Further addresses of h2 and h3 are not in it, so the
# instance has to resolve them.
. "$(dirname "$0")/lib.sh"
need ping ip python3
repo=$(cd "$(dirname "$0")/../.." && pwd)
topo_ring 3 2 >"$work/lab.topo"
cat >"$work/partitions.conf" <<-'END'
	Default=0x7fff, ipoib : ALL=full, SELF=full ;
	blue=0x8001, ipoib : ALL=full ;
END
{
	printf '[fabric lab]\ntopology = lab.topo\npartitions = partitions.conf\n'
	for i in 1 2 3; do
		conf_iface uib0 $i "address = 10.4.0.$i/24" "address = fd04::$i/64"
		printf '\n[interface uib1@h%s]\nport = fabric:lab/Hca%s/1\npkey = 0x8001\naddress = 10.5.0.%s/24\n' $i $i $i
	done
} >"$work/lab.conf"
lab_up
check "addresses are usable" eventually 10 no_tentative 3
x h2 ip addr add 10.4.0.77/24 dev uib0
x h2 ip addr add fd04::77/64 dev uib0 nodad
x h3 ip addr add 10.5.0.78/24 dev uib1
x h1 ip route add 10.9.0.0/16 via 10.4.0.77
client() { x h1 "$TOOLS/path_client" "$@"; }

# field OFFSET LENGTH HEX: print these octets of an answer
field() { echo "${3:$((2 * $1)):$((2 * $2))}"; }
gid_of() { # HOST: print the GID of HOST's port in hexadecimal digits
	python3 -c 'import ipaddress, sys; print(ipaddress.ip_address(sys.argv[1]).packed.hex())' \
		"$(u -j link show dev "uib0@$1" | jq -r '.link[0].gid')"
}
lid_of() { printf '%04x' "$(u -j link show dev "uib0@$1" | jq -r '.link[0].lid')"; }
is_path_to() { # HEX HOST PKEY: succeeds if the answer is the path from h1 to HOST
	equal 144 ${#1} && equal "$(gid_of "$2") $(gid_of h1)" "$(field 18 16 "$1") $(field 34 16 "$1")" &&
		equal "$(lid_of "$2") $(lid_of h1)" "$(field 50 2 "$1") $(field 52 2 "$1")" && equal "$3" "$(field 60 2 "$1")" &&
		equal 00000000 "$(field 56 4 "$1")"
}

# --- a blocking query
x h1 ip neigh flush all
got=$(client block 10.4.0.77)
check "H33: an address without a neighbour is resolved" is_path_to "$got" h2 ffff
check "H32: the family is in host order, and the address as it was" equal "$(python3 -c 'import struct; print(struct.pack("=H", 2).hex())') 0a04004d" "$(field 0 2 "$got") $(field 2 4 "$got")"
record() { u -j path get "$1" dev uib0@h1 | jq -r '.path[0].record'; }
rec=$(record 10.4.0.77)
check "H32: MTU, rate and life time are the record's octets, in network order" \
	equal "00$(field 54 1 "$rec")00$(field 55 1 "$rec")00$(field 56 1 "$rec")" "$(field 64 6 "$got")"
check "H32: so are SL, hop limit and traffic class" \
	equal "000${rec:107:1} $(field 47 1 "$rec")$(field 48 1 "$rec")" "$(field 62 2 "$got") $(field 70 2 "$got")"
check "an IPv6 address" is_path_to "$(client block fd04::77)" h2 ffff
check "the interface follows from the route: another partition" is_path_to "$(client block 10.5.0.78)" h3 8001
check "beyond a gateway the path is the gateway's" is_path_to "$(client block 10.9.8.7)" h2 ffff
check "an interface that the program names" is_path_to "$(x h1 "$TOOLS/path_client" block 10.5.0.78 uib1@h1)" h3 8001
client_of() { # USER: ask for a path as USER, with the environment variable that names the folder of root's sockets
	local dir
	dir=$(dirname "$(find /run/uipoib "${XDG_RUNTIME_DIR:-/nonexistent}" -name "$inst.sock" 2>/dev/null | head -1)")
	UIPOIB_RUNTIME_DIR=$dir UIPOIB_NAME=$inst setpriv --reuid "$1" --clear-groups -- "$TOOLS/path_client" open 10.4.0.2
}
says() { # TEXT CMD...: succeeds if the command fails with this output
	local out
	out=$("${@:2}") && return 1
	equal "$1" "$out"
}
check "H33: nobody has the address: ENXIO" says ENXIO client block 10.4.0.99
check "H33: nor this one" says ENXIO client block fd04::99
check "an interface that does not exist: ENODEV" says ENODEV client block 10.4.0.2 uib9@h1
check "an address of no node: EADDRNOTAVAIL" says EADDRNOTAVAIL client block 224.0.0.5
check "another user's instance: EACCES" says EACCES client_of nobody

# --- non-blocking queries and callbacks
x h1 ip neigh flush all
check "H33: non-blocking: EAGAIN, then the answer" is_path_to "$(client nonblock 10.4.0.77)" h2 ffff
check "H33: non-blocking: EAGAIN, then ENXIO" says ENXIO client nonblock 10.4.0.98
x h1 ip neigh flush all
check "H33: a callback, once, and never from inside the call" is_path_to "$(client callback 10.4.0.77)" h2 ffff
check "H33: its status is -ENXIO where nobody has the address" says ENXIO client callback 10.4.0.97

# --- threads and processes
check "threads share a handle" client threads 10.4.0.77 10.5.0.78
check "after fork, parent and child use it" is_path_to "$(client fork 10.4.0.77)" h2 ffff

# --- many questions at a time
check "many questions that wait keep no command out" client crowd 10.4.0.95 "'$UIPOIB' link show >/dev/null"

# --- `uipoib path get`
resolves() { equal "$(gid_of h2)" "$(field 8 16 "$(record "$1")")"; }
x h1 ip neigh flush all
check "uipoib path get resolves an address, too" resolves 10.4.0.77
check "nobody has it" refuse 1 'address 10.4.0.96: nobody on the link has it' u path get 10.4.0.96 dev uib0@h1
same_in_both() { # ADDRESS: succeeds if `path get` and the library return the same path
	equal "$(client block "$1" | cut -c37-)" "$(python3 - "$(record "$1")" <<-'END'
		import sys
		r = bytes.fromhex(sys.argv[1])
		flow = int.from_bytes(r[44:48], "big")
		print((r[8:40] + r[40:44] + b"\xee\xee" + (flow >> 8 & 0xfffff).to_bytes(4, "big") + r[50:52] + bytes([0, r[53] & 15, 0, r[54], 0, r[55], 0, r[56]])
			+ bytes([r[47], r[48]])).hex())
	END
	)"
}
check "uipoib path get and ipoib_path_query() agree" same_in_both 10.4.0.77
check "no such interface" refuse 2 "dev 'uib9@h1': no such interface" u path get 10.4.0.2 dev uib9@h1
check "no address of one node" refuse 2 "address '224.0.0.5': expected the address of one node" u path get 224.0.0.5
check "no address at all" refuse 2 "address 'x': expected an IP address or a GID" u path get x
check "no instance" refuse 2 "no instance 'nobody' is running" "$UIPOIB" -n nobody path get 10.4.0.2
in_host() { equal '"uib0" "h2"' "$(x h2 "$UIPOIB" -j path get 10.4.0.3 | jq -c '.path[0] | .ifname, .host' | xargs -d '\n' echo)"; }
check "in a host the route of that host counts" in_host
check "a GID" u path get "$(u -j link show dev uib0@h3 | jq -r '.link[0].gid')" dev uib0@h1

# --- a program that is built with the installed library
make -s -C "$repo" O="${UIPOIB%/*}" install DESTDIR="$work/root" PREFIX=/usr
lib=$work/root/usr/lib
check "installed: shared and static library, header, pkg-config, manuals" test -f "$lib/libuipoib-path.so.0" -a -h "$lib/libuipoib-path.so" -a \
	-f "$lib/libuipoib-path.a" -a -f "$work/root/usr/include/uipoib/path.h" -a -f "$lib/pkgconfig/libuipoib-path.pc" -a \
	-f "$work/root/usr/share/man/man3/ipoib_get_path.3"
line="10.4.0.77: GID $(u -j link show dev uib0@h2 | jq -r '.link[0].gid'), LID $(u -j link show dev uib0@h2 | jq -r '.link[0].lid'), P_Key 0xffff, SL 0"
if command -v cc >/dev/null; then
	cc -o "$work/path_get" -I"$work/root/usr/include" "$repo/examples/path_get.c" -L"$lib" -luipoib-path
	example_c() { equal "$line" "$(LD_LIBRARY_PATH=$lib x h1 "$work/path_get" 10.4.0.77)"; }
	check "the example in C" example_c
fi
example_py() { equal "$line" "$(LIBUIPOIB_PATH=$lib/libuipoib-path.so.0 x h1 /usr/bin/python3 "$repo/examples/path_get.py" 10.4.0.77)"; }
check "the example in Python" example_py
check "stop" lab_down
check "without an instance: ENOENT" says ENOENT env UIPOIB_NAME="$inst" "$TOOLS/path_client" open 10.4.0.2
finish
