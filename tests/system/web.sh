#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# check.sh: long
#
# `uipoib web` shows an instance over HTTP. It is a process without privileges, which uses the read-only socket and bounds
# all resources that clients may use. tests/unit/test_web_metrics.c tests the names of the metrics, and hostile names in
# their labels.
#
#	curl, and clients that misbehave --- HTTP, 127.0.0.1:8480 --- uipoib web --- Unix socket, NAME.ro --- instance
#
# The fabric of the instance:
#
#	h1 --- Switch1 --- Switch2 --- h2
#	          \          /
#	            Switch3
. "$(dirname "$0")/lib.sh"
need ping python3 curl
port=8480
topo_ring 2 3 >"$work/lab.topo"
conf_hosts 2 >"$work/lab.conf"

# If libmicrohttpd cannot be loaded, `uipoib web` names this library, and all other commands work.
lib=$(ldconfig -p | sed -n 's/.*libmicrohttpd\.so\.12 .*=> //p' | head -1)
[ -n "$lib" ] || { skip "web" "libmicrohttpd is not installed"; exit 0; }
check "no other command is linked with libmicrohttpd" not grep -q microhttpd <<<"$(ldd "$UIPOIB")"
check "a build with WEB=0 needs no header of it" "${CC:-cc}" -std=gnu11 -D_GNU_SOURCE -Isrc -DUIPOIB_WEB=0 -Wall -Wextra -Werror -fsyntax-only src/web/http.c src/web/http_none.c

check "without an instance it says so" refuse 3 "no instance" u -n "$inst" web
lab_up
: >"$work/empty"
mount --bind "$work/empty" "$(realpath "$lib")"
check "without the library it says which package has it" refuse 3 "libmicrohttpd12" u web
umount "$(realpath "$lib")"
check "and it promises no address before" not grep -q http: "$work/refuse.out"
check "an instance that does not run has none, too" eval 'refuse 3 "no instance" u -n nobody web && ! grep http: "$work/refuse.out"'
check "an address without a port" refuse 2 "--listen '8480': expected ADDR:PORT, as 127.0.0.1:8480" u web --listen 8480
check "an option without its value" refuse 2 "'--host': no value" u web --host
check "another option" refuse 2 "'--port': unexpected" u web --port 80

python() { /usr/bin/python3 -B tests/system/web_client.py 127.0.0.1 $port "$@"; }
raw() { equal "$1" "$(python raw "$2")"; }
get() { curl -sS --max-time 60 "http://127.0.0.1:$port$1" "${@:2}"; }
web_answers() { get / -o /dev/null 2>/dev/null || ! kill -0 "$web" 2>/dev/null; }
web_start() {
	"$UIPOIB" web --host=lab.example >"$work/web.out" 2>&1 &
	web=$!
	eventually 10 web_answers
}
# counter FILE: print PortXmitPkts of the port of h1's HCA, as FILE has it
counter() { sed -n 's/^node_infiniband_port_packets_transmitted_total{device="Hca1",port="1",.*} //p' "$1"; }
sent() { u -j fabric port show Hca1/1 | jq '.port[0].xmit_pkts'; }

check "it starts" web_start
check "it prints its address" equal "http://127.0.0.1:$port/" "$(head -1 "$work/web.out")"
check "a second one on the same port is refused" refuse 3 "in use" u web
check "its user has no rights" equal "65534 65534 0000000000000000 2" \
	"$(awk '/^Uid/ { u = $2 " " $3 } /^CapEff/ { c = $2 } /^Seccomp:/ { s = $2 } END { print u, c, s }' "/proc/$web/status")"
check "it sees no files" equal "" "$(ls -A "/proc/$web/root/")"

check "h1 reaches h2" reaches4 1 2
sleep 1.1 # wait until the counters that were read for an earlier request are too old to be used again
before=$(sent)
check "/metrics is answered" get /metrics -o "$work/metrics"
after=$(sent)
check "what it says is Prometheus' text format" python format "$work/metrics"
check "a counter is between what the command line said before ($before) and after ($after)" \
	test "$before" -gt 0 -a "$before" -le "$(counter "$work/metrics")" -a "$(counter "$work/metrics")" -le "$after"
check "its type is that of the format" grep -qi '^content-type: text/plain; version=0.0.4' <<<"$(get /metrics -D - -o /dev/null)"
if command -v promtool >/dev/null; then
	check "promtool finds nothing wrong" promtool check metrics <"$work/metrics"
else
	skip "promtool finds nothing wrong" "there is no promtool (package prometheus)"
fi
u fabric link set Hca1/1 down
port_down() { get /metrics | grep -q '^uipoib_port_up{node="Hca1",port="1",.*} 0$'; }
check "a pulled cable is seen" eventually 10 port_down
u fabric link set Hca1/1 up

# Snapshot and events
check "a part of the snapshot can be had first" equal "Switch1/0 master" "$(get /api/sms | jq -r '.[0] | .port + " " + .state')"
snapshot() { get /api/snapshot -o "$work/snapshot"; }
of_snapshot() { jq -r "$1" "$work/snapshot"; }
check "a snapshot has all nodes and cables" eval 'snapshot && equal "5 5 2 master" "$(of_snapshot "\"\(.nodes | length) \(.links | length) \(.interfaces | length) \(.sms[0].state)\"")"'
check "its coordinates are those of fabric show" equal "$(u fabric show --dot | grep -c " \[label=")" "$(of_snapshot '[.nodes[] | select(.x != null)] | length')"
check "events begin where the snapshot ends: a pulled cable is told with its trap, its link and its interface" \
	python cable "$work/snapshot" "$UIPOIB"
check "the traffic of a link is told in octets a second" python rates "$work/snapshot" "$UIPOIB"
check "a client that goes on by Last-Event-ID misses nothing" python resume
check "a number of another server leads to a new snapshot" equal reset "$(python first 17)"
check "a number that is none is refused" equal 400 "$(get '/api/events?since=x' -o /dev/null -w '%{http_code}')"
check "HEAD of the events is answered and ends" equal "200 text/event-stream; charset=utf-8" "$(get /api/events -I -o /dev/null -w '%{http_code} %{content_type}')"
check "a port is shown as by fabric port show" equal "$(u -j fabric port show Switch2/1 | jq -r '.port[0] | [.port, .peer, .state] | join(" ")')" \
	"$(get '/api/port?port=Switch2/1' | jq -r '.rows[0] | [.port, .peer, .state] | join(" ")')"
check "a route has the entries of the LFTs" equal "Hca1/1 Switch1/3 Switch2/1 -> Hca2/1" \
	"$(get '/api/route?from=Hca1/1&to=Hca2/1' | jq -r '([.rows[].port] | join(" ")) + " -> " + .rows[-1].peer')"
tree() { equal "$1" "$(get '/api/tree?mlid=49152' | jq -r '[.rows[].node] | sort | join(" ")')"; }
check "a group's tree has the switches of its MLID" eventually 10 tree "Switch1 Switch2"
check "a question that the instance refuses has its error" grep -q 'no such node' <<<"$(get '/api/port?port=Nobody/1')"
check "a question without its argument is refused" equal 400 "$(get /api/route -o /dev/null -w '%{http_code}')"
check "it cannot be asked for what changes something" equal 404 "$(get '/api/fabric%20link%20set?port=Hca1/1&up=false' -o /dev/null -w '%{http_code}')"

# The picture of the same fabric
u fabric show --svg >"$work/lab.svg"
u fabric show --dot >"$work/lab.dot"
check "fabric show --svg prints XML with each node and cable" equal "5 5" \
	"$(/usr/bin/python3 -c 'import sys, xml.etree.ElementTree as t; r = t.parse(sys.argv[1]).getroot()
print(len(r.findall("{*}g")), len(r.findall("{*}path")))' "$work/lab.svg")"
check "fabric show --dot prints the same graph" equal "5 5" "$(grep -c ' \[label=' "$work/lab.dot") $(grep -c ' -- ' "$work/lab.dot")"
if command -v neato >/dev/null; then
	check "Graphviz draws it" neato -n2 -Tsvg -o "$work/dot.svg" "$work/lab.dot"
fi
check "the form may follow the fabric" equal "$(cat "$work/lab.dot")" "$(u fabric show lab --dot)"
check "an unknown form is refused" refuse 2 "expected" u fabric show --png
check "two forms are refused" refuse 2 "expected" u fabric show --svg --dot
check "two fabrics are refused" refuse 2 "expected" u fabric show --svg lab lab

# Requests that strangers can send
python slow >"$work/slow" & slow=$!
check "HEAD is answered" equal 200 "$(get /metrics -I -o /dev/null -w '%{http_code}')"
check "POST is refused" raw 405 'POST /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 3\r\n\r\nabc'
check "another name in Host is refused (DNS rebinding)" raw 403 'GET /metrics HTTP/1.1\r\nHost: evil.example\r\n\r\n'
check "a request without Host is refused" raw 403 'GET /metrics HTTP/1.0\r\n\r\n'
check "a name given by --host is answered" raw 200 'GET /metrics HTTP/1.1\r\nHost: lab.example:8480\r\n\r\n'
check "other paths are not found" raw 404 'GET /../../etc/passwd HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n'
not_served() { not equal 200 "$(python raw "$1")"; }
check "a path of 100,000 octets is refused" not_served "GET /$(printf '%0100000d' 0) HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
check "headers of 100,000 octets are refused" not_served "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX: $(printf '%0100000d' 0)\r\n\r\n"
check "octets that are no HTTP are refused" not_served '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n'
python unread 20 >"$work/unread" & unread=$!
port_up() { get /metrics | grep -q '^uipoib_port_up{node="Hca1",port="1",.*} 1$'; }
check "others are served beside clients that read nothing" eventually 20 port_up
wait $slow
check "a request that never ends is dropped ($(cat "$work/slow") s)" test "$(cat "$work/slow")" -ge 4 -a "$(cat "$work/slow")" -lt 60
wait $unread
check "32 clients read events, the 33rd is refused, and there is room again when they end" python readers 32
check "a reader that takes nothing is cut off, and others get their events meanwhile" python stuck "$UIPOIB"
counted() { get /metrics | grep -q 'event_readers_total{what="slow"} [1-9]'; }
check "the reason is counted" eventually 10 counted
check "1,000 connections keep nobody out for long" grep -q '^served' <<<"$(python crowd 1000)"
check "64 silent connections keep nobody out for long" grep -q '^served' <<<"$(python crowd 64)"
check "it runs on" kill -0 "$web"

# The end
kill -TERM "$web"
wait "$web"
check "it ends by a signal with status 0" equal 0 $?
check "it starts again at once" web_start
lab_down
wait "$web"
check "it ends with the instance, with status 1" equal 1 $?
check "and says so" grep -q 'the instance has ended' "$work/web.out"
finish
