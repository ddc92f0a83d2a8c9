#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
#
# DHCP between unmodified Ethernet programs over IPoIB. Messages have the form of RFC 4390 on the link, and Ethernet's
# form on each TAP.
#
#	h1 dhcpd	h2 dhclient	h3 br0 -- veth -- s1 dhclient
#	  |		  |		  |
#	  ------------ Switch1 ------- Switch2		uib1 of h1 and h2: another partition, dhcp = raw
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/dhcp/client.sh"
need dhcpd tshark python3
cp "$(command -v dhcpd)" "$work"/
topo_ring 3 2 >"$work/lab.topo"
{
	printf '[fabric lab]\ntopology = lab.topo\ncapture = all.pcap\npartitions = partitions.conf\n'
	conf_iface uib0 1 "address = 10.4.0.1/16"
	conf_iface uib0 2 "dhcp = rewrite"
	conf_iface uib0 3
	conf_iface uib1 1 "pkey = 0x8001" "dhcp = raw" "address = 10.5.0.1/16"
	conf_iface uib1 2 "pkey = 0x8001" "dhcp = raw"
} >"$work/lab.conf"
printf '%s\n' 'Default=0x7fff, ipoib : ALL=full;' 'Raw=0x8001, ipoib : ALL=full;' >"$work/partitions.conf"
lab_up

counter() { u -j -d stats show dev "$1" | jq "[.stats[] | select(.counter == \"$2\") | .value] | add"; }
mac() { u -j link show dev "$1" | jq -r '.link[0].mac'; }

# made_id MAC: print the client identifier that uipoib makes for a client without one (RFC 4361 with a DUID-LL)
made_id() {
	local hex=${1//:/}
	echo "ff${hex:4}00030001$hex"
}

# --- dhcpd starts on h1

server_conf() {
	# The station gets the fixed address only if the server receives the identifier that uipoib makes for the station.
	local id
	id=$(made_id 52:54:00:00:00:31 | sed 's/../&:/g; s/:$//')
	cat <<-EOF
		# Clients renew after some seconds. A lease is long, so that it does not expire on a busy machine.
		default-lease-time 600; option dhcp-renewal-time 4; option dhcp-rebinding-time 500;
		ping-check false;
		echo-client-id on;
		subnet 10.4.0.0 netmask 255.255.0.0 {
			range 10.4.1.1 10.4.1.50;
			option routers 10.4.0.1;
		}
		subnet 10.5.0.0 netmask 255.255.0.0 {
			always-broadcast on;
			range 10.5.1.1 10.5.1.50;
		}
		host s1 { option dhcp-client-identifier $id; fixed-address 10.4.2.31; }
	EOF
}

server_starts() {
	server_conf >"$work/dhcpd.conf" && : >"$work/dhcpd.leases"
	bx h1 "$work/dhcpd" -f -d -4 -user root -group root -cf "$work/dhcpd.conf" -lf "$work/dhcpd.leases" \
		-pf "$work/dhcpd.pid" uib0 uib1 >"$work/dhcpd.log" 2>&1
	eventually 10 grep -q 'Sending on .*LPF/uib0' "$work/dhcpd.log" && eventually 10 grep -q 'Server starting service' "$work/dhcpd.log" ||
		{ cat "$work/dhcpd.log"; return 1; }
}

# --- clients

address() { "$UIPOIB" exec "$1" ip -4 -o addr show dev uib0 2>/dev/null | awk '{ split($4, a, "/"); print a[1] }'; }

check "dhcpd starts on h1's TAP" server_starts
client h2 '' "$UIPOIB" exec h2
check "dhclient on h2's TAP gets a lease" eventually 20 event h2 BOUND
check "and an address that works" ping_to h1 "$(address h2)"
check "it renews" eventually 20 event h2 RENEW
check "dhcpd knows h2 by the identifier made from its MAC" \
	eventually 5 grep -q 'uid "\\377' "$work/dhcpd.leases"
check "dhcpd saw an Ethernet address, the token" grep -Eq 'DHCPREQUEST .* from 06(:[0-9a-f]{2}){5}' "$work/dhcpd.log"
check "it releases" release h2 "$UIPOIB" exec h2
check "and dhcpd heard that" eventually 5 grep -q 'DHCPRELEASE' "$work/dhcpd.log"

# A client with an Ethernet identifier gets its own identifier in the reply, because dhcpd echoes it (RFC 6842).
client h2b 'send dhcp-client-identifier = hardware;' "$UIPOIB" exec h2
check "a client with an identifier of type 1 gets a lease" eventually 20 event h2b BOUND
check "it releases, too" release h2b "$UIPOIB" exec h2

# --- a station behind a bridge

# The process s1 starts in this script's namespace, enters the namespace of h3, and then makes a namespace of its own.
in_its_own_ns() {
	local ns
	ns=$(readlink "/proc/$s1/ns/net") && not equal "$h3_ns" "$ns" && not equal "$(readlink /proc/$$/ns/net)" "$ns"
}
bridge() {
	bx h3 unshare -n sleep 1000
	s1=$!
	h3_ns=$(x h3 readlink /proc/self/ns/net)
	eventually 20 in_its_own_ns &&
		x h3 ip link add br0 mtu 2044 type bridge &&
		x h3 ip link set br0 up &&
		x h3 ip link set uib0 master br0 &&
		x h3 ip link add s1 type veth peer name e0 netns $s1 &&
		x h3 ip link set s1 up master br0 &&
		nsenter -t $s1 -n ip link set e0 address 52:54:00:00:00:31 up
}
check "a station behind a bridge on h3" bridge
dev=e0 client s1 '' nsenter -t $s1 -n
check "dhclient there gets the address of its identifier" eventually 20 event s1 'BOUND 10.4.2.31'
check "and is reached" ping_to h1 10.4.2.31

# --- interfaces with dhcp = raw

# With dhcp = raw, messages have Ethernet's form at both ends and on the link. The server cannot send to the client's MAC, because
# the server's host has no neighbour entry for this MAC. So the server is configured to answer by broadcast.
dev=uib1 client raw '' "$UIPOIB" exec h2
check "raw: dhclient on h2 gets a lease from another raw end" eventually 20 event raw BOUND
check "raw: nothing is rewritten there" equal "0 0" "$(counter uib1@h1 dhcp_rx) $(counter uib1@h2 dhcp_tx)"
raw_mac=$(mac uib1@h2)

# --- the messages on the link

check "nothing was dropped as DHCP" equal "0 0 0" "$(for h in 1 2 3; do
	echo $(($(counter uib0@h$h drop_tap_dhcp) + $(counter uib0@h$h drop_link_dhcp)))
done | xargs)"
h2_mac=$(mac uib0@h2)
end_jobs
check "the lab ends" lab_down
# Messages of the interface with dhcp = raw have Ethernet's form on the link, and all other messages have InfiniBand's form.
cat >"$work/wire.py" <<'EOF'
import subprocess, sys, json
pcap, raw_mac, h2_id = sys.argv[1:4]
out = subprocess.run(['tshark', '-n', '-r', pcap, '-o', 'udp.check_checksum:TRUE', '-Y', 'dhcp && !icmp', '-T', 'json', '-x'],
                     capture_output=True, check=True).stdout
counts, bad = {}, []
def payload(p):
    """The BOOTP octets."""
    return bytes.fromhex(p['_source']['layers']['dhcp_raw'][0])
def options(b):
    i, o = 240, {}
    while b[i] != 255:
        if b[i]:
            o[b[i]] = b[i + 2:i + 2 + b[i + 1]]
            i += 1 + b[i + 1]
        i += 1
    return o
raw_xids = set() # transaction IDs of the interface with dhcp = raw
packets = json.loads(out)
for p in packets:
    b = payload(p)
    if b[0] == 1 and b[28:34].hex(':') == raw_mac:
        raw_xids.add(b[4:8])
for p in packets:
    b, layers = payload(p), p['_source']['layers']
    o, name = options(b), {1: 'DISCOVER', 2: 'OFFER', 3: 'REQUEST', 5: 'ACK', 7: 'RELEASE'}
    kind, ciaddr = name[o[53][0]], b[12:16] != bytes(4)
    if layers['udp']['udp.checksum.status'] != '1':
        bad.append((kind, 'UDP checksum'))
    if b[4:8] in raw_xids:
        key = 'raw ' + kind
        if (b[1], b[2]) != (1, 6):
            bad.append((key, 'htype, hlen', b[1], b[2]))
    else:
        key = kind + (' ciaddr' if ciaddr else '')
        if (b[1], b[2]) != (32, 0) or b[28:44] != bytes(16):
            bad.append((key, 'D1', b[1], b[2], b[28:44].hex()))
        if b[0] == 1:
            if 61 not in o or o[61][0] != 255:
                bad.append((key, 'D2', o.get(61)))
            if bool(b[10] & 0x80) != (kind in ('DISCOVER', 'REQUEST') and not ciaddr):
                bad.append((key, 'D3', b[10]))
            if o.get(61, b'').hex() == h2_id:
                counts['h2'] = counts.get('h2', 0) + 1
    counts[key] = counts.get(key, 0) + 1
print(counts)
print(bad)
want = ['DISCOVER', 'OFFER', 'REQUEST', 'ACK', 'REQUEST ciaddr', 'RELEASE ciaddr', 'h2', 'raw DISCOVER', 'raw ACK']
sys.exit(bool(bad) or any(k not in counts for k in want))
EOF
check "D1 D2 D3: on the wire it is DHCP as RFC 4390 has it" python3 "$work/wire.py" "$work/all.pcap" "$raw_mac" "$(made_id "$h2_mac")"
finish
