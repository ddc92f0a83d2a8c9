#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# check.sh: all
#
# `make bench` compares uipoib with bench/relay.c, a relay between two TAPs. In each of its modes, the relay carries the traffic of
# two hosts, and its counters show what it does in this mode, for example that it computes CRCs. The relay refuses wrong arguments,
# and reports TAPs that cannot be made.
#
#	a (t0) -- relay -- (t0) b
. "$(dirname "$0")/lib.sh"
need ip ping python3 jq
R=$(dirname "$TOOLS")/bench/relay
relay=
octets=$((32 << 20)) # length of each TCP flow

relay_up() { # MODE MTU [-t]
	rm -f "$work/ready" # the file of an earlier relay
	"$R" ${3:-} -m "$2" "$1" a:t0 b:t0 >"$work/ready" 2>"$work/counters" &
	relay=$!
	eventually 5 grep -qx ready "$work/ready" || return 1
	local host n=1
	for host in a b; do
		ip -n $host addr add 10.7.0.$n/24 dev t0 && ip -n $host addr add fd07::$n/64 dev t0 nodad && ip -n $host link set t0 up || return 1
		n=$((n + 1))
	done
}
relay_down() { # SIGNAL: end the relay by the signal; its status must be 0, and its counters are then in $work/counters
	local status
	kill -"$1" $relay
	wait $relay
	status=$?
	relay=
	equal 0 $status && jq -e .mode "$work/counters"
}
gone() { not ip -n a link show t0 && not ip -n b link show t0; }

at_mtu() { # MTU: succeeds if both TAPs have this MTU and a packet of this length passes
	local host
	for host in a b; do
		equal "$1" "$(ip -n $host -j link show t0 | jq '.[0].mtu')" || return 1
	done
	eventually 10 ip netns exec a ping -n -q -c 1 -W 5 -M "do" -s $(($1 - 28)) 10.7.0.2 &&
		eventually 10 ip netns exec b ping -n -q -c 1 -W 5 -M "do" -s $(($1 - 48)) fd07::1
}

cat >"$work/traffic.py" <<'PY'
# traffic.py serve ADDRESS | tcp ADDRESS OCTETS | udp ADDRESS | super ADDRESS
import hashlib, random, socket, sys, threading

what, address = sys.argv[1:3]
family = socket.AF_INET6 if ":" in address else socket.AF_INET
UDP_SEGMENT = 103


def datagram():
    s = socket.socket(family, socket.SOCK_DGRAM)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
    return s


def answer_tcp(c):  # the answer to a flow is its digest, then the same octets in the other direction
    data = bytearray()
    while got := c.recv(1 << 18):
        data += got
    c.sendall(hashlib.sha256(data).digest() + data)
    c.close()


def serve():
    t = socket.create_server((address, 7001), family=family)
    u = datagram()
    u.bind((address, 7002))

    def echo():
        while True:
            d, peer = u.recvfrom(65535)
            u.sendto(d, peer)

    threading.Thread(target=echo, daemon=True).start()
    print("listening", flush=True)
    while True:
        answer_tcp(t.accept()[0])


def tcp(octets):
    data = random.Random(octets).randbytes(octets)
    s = socket.create_connection((address, 7001))
    s.sendall(data)
    s.shutdown(socket.SHUT_WR)
    back = bytearray()
    while got := s.recv(1 << 18):
        back += got
    digest = hashlib.sha256(data).digest()
    assert back[:32] == digest, "the octets that arrived differ"
    assert hashlib.sha256(back[32:]).digest() == digest, "the octets that came back differ"


def exchange(send, want):  # sends again if no answer comes, because datagrams can be lost
    for attempt in range(20):
        s = datagram()
        s.settimeout(5)
        s.connect((address, 7002))
        send(s)
        try:
            got = [s.recv(65535) for _ in want]
        except TimeoutError:
            continue
        assert got == want, "the datagrams differ"
        return
    sys.exit("no answer")


def udp():
    for size in (1, 63, 64, 65, 512, 1400, 1984, 1996):
        d = random.Random(size).randbytes(size)
        exchange(lambda s: s.send(d), [d])


def super_datagrams():  # 20 datagrams in one call, the last one short
    data = random.Random(1).randbytes(19 * 700 + 33)

    def send(s):
        s.setsockopt(socket.SOL_UDP if hasattr(socket, "SOL_UDP") else 17, UDP_SEGMENT, 700)
        s.send(data)

    exchange(send, [data[i : i + 700] for i in range(0, len(data), 700)])


{"serve": serve, "tcp": lambda: tcp(int(sys.argv[3])), "udp": udp, "super": super_datagrams}[what]()
PY

servers=
serve() { # run the servers of both families in b
	local a
	for a in 10.7.0.2 fd07::2; do
		rm -f "$work/serve.$a"
		ip netns exec b python3 "$work/traffic.py" serve $a >"$work/serve.$a" 2>&1 &
		servers+=" $!"
		eventually 10 grep -q listening "$work/serve.$a" || return 1
	done
}
traffic() { ip netns exec a timeout 200 python3 "$work/traffic.py" "$@"; }

# holds CONDITION: succeeds if the jq condition is true for the counters of both directions
holds() { jq -e ".ways | all($1)" "$work/counters" >/dev/null || { jq . "$work/counters"; return 1; }; }

# Two TCP flows, one of IPv4 and one of IPv6, each carried $octets octets in both directions, in packets of at most the MTU ($1).
carried() { holds ".packets >= 2 * $octets / $1 and .super_frames > 100 and ([.drops | del(.down)[]] | add) == 0"; }
whole() { holds ".cut == 0 and .checksums == 0 and .sealed == 0 and .coalesced == 0 and .frames_written < .packets / 2"; }
# Most packets of a TCP flow are cut from super-frames and are joined to super-frames again.
cuts() { holds ".cut > $octets / $1 and .checksums > 0 and .coalesced > $octets / $1 and .frames_written < .packets / 2"; }
sealed() { holds ".sealed == .packets and .verified == .packets and .drops.icrc == 0 and .drops.vcrc == 0"; }
unsealed() { holds '.sealed == 0 and .verified == 0'; }

mode() { # MODE MTU SIGNAL [-t]: run all checks of one mode; the relay is ended by SIGNAL
	local m="$1 at MTU $2${4:+, two threads}" a
	check "$m: the relay makes TAPs with this MTU, and packets of this length pass" up_at "$1" "$2" "${4:-}"
	serve
	for a in 10.7.0.2 fd07::2; do
		check "$m: TCP of both directions with $a arrives unchanged" traffic tcp $a $octets
		check "$m: datagrams to and from $a arrive unchanged" traffic udp $a
		check "$m: a UDP super-frame to $a arrives as its datagrams" traffic super $a
	done
	kill_own $servers
	wait $servers 2>/dev/null
	servers=
	check "$m: the relay ends at SIG$3 and prints its counters" relay_down "$3"
	check "$m: the TAPs are gone" gone
	check "$m: the counters have all packets, and no drops" carried "$2"
	case $1 in
	whole) check "$m: nothing is cut" whole ;;
	*) check "$m: super-frames are cut, checksums completed, and packets coalesced" cuts "$2" ;;
	esac
	case $1 in
	crc) check "$m: each packet gets both CRCs, and they are right at the other end" sealed ;;
	*) check "$m: no CRCs are made" unsealed ;;
	esac
}
up_at() { relay_up "$@" && at_mtu "$2"; }

check "two namespaces" eval 'ip netns add a && ip netns add b && ip -n a link set lo up && ip -n b link set lo up'

usage='^usage: relay '
check "without arguments there is a usage message" refuse 2 "$usage" timeout 20 "$R"
check "a TAP too many" refuse 2 "a mode and two TAPs are expected" timeout 20 "$R" whole a:t0 b:t0 c:t0
check "an unknown mode" refuse 2 "mode 'half' is not whole, segment or crc" timeout 20 "$R" half a:t0 b:t0
check "the same TAP twice" refuse 2 "both TAPs are 'a:t0'" timeout 20 "$R" whole a:t0 a:t0
check "an unknown option" refuse 2 "$usage" timeout 20 "$R" -x whole a:t0 b:t0
for mtu in 575 4093 0x800 '' 2044k; do
	check "MTU '$mtu'" refuse 2 "MTU '$mtu' is not a number from 576 to 4092" timeout 20 "$R" -m "$mtu" whole a:t0 b:t0
done
check "a namespace that is not there" refuse 1 "relay: nowhere:t0: opening the network namespace: No such file" timeout 20 "$R" whole a:t0 nowhere:t0
check "a name that is no interface's" refuse 1 "relay: a:sixteen-octets-x: .*Invalid argument" timeout 20 "$R" whole a:sixteen-octets-x b:t0
check "a name that is taken" refuse 1 "relay: b:lo: making the TAP: " timeout 20 "$R" whole a:t0 b:lo
check "the reason comes once" equal 1 "$(wc -l <"$work/refuse.out")"

mode whole 2044 TERM
mode segment 2044 INT
mode crc 2044 TERM
mode crc 4092 TERM
mode segment 2044 TERM -t
mode crc 2044 INT -t
finish
