#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Debian's Prometheus scrapes `uipoib web` once a second for a minute, while h1 sends to h2. Afterwards the values that
# Prometheus has stored must agree with those of the instance, and Prometheus must accept each query of the dashboard
# examples/grafana/fabric.json.
#
#	prometheus 127.0.0.1:9090 --- 127.0.0.1:8480 uipoib web --- h1 --- Switch1 --- Switch2 --- h2
. "$(dirname "$0")/../system/lib.sh"
need prometheus promtool curl ping
seconds=${SCRAPE_SECONDS:-60}
topo_ring 2 3 >"$work/lab.topo"
conf_hosts 2 >"$work/lab.conf"
lab_up
cat >"$work/prometheus.yml" <<-'YML'
	global: { scrape_interval: 1s }
	scrape_configs:
	  - job_name: uipoib
	    static_configs: [ { targets: [ "127.0.0.1:8480" ] } ]
YML
"$UIPOIB" web >"$work/web.out" 2>&1 &
prometheus --config.file="$work/prometheus.yml" --storage.tsdb.path="$work/tsdb" --web.listen-address=127.0.0.1:9090 >"$work/prometheus.log" 2>&1 &

# ask QUERY: print the present values of Prometheus for this query, one a line
ask() { curl -sS --get --data-urlencode "query=$1" http://127.0.0.1:9090/api/v1/query | jq -er '.data.result[].value[1]'; }
first() { ask "$1" | head -1; }
up() { equal 1 "$(ask up)"; }
check "Prometheus scrapes the server" eventually 60 up
x h1 ping -n -q -i 0.01 -c $((seconds * 100)) -s 1000 10.4.0.2 >"$work/ping" 2>&1 &
ping=$!
sleep "$seconds"
check "each scrape of the last half minute succeeded" equal 1 "$(first 'min_over_time(up[30s])')"
check "scrapes take less than a second" test "$(first 'max_over_time(scrape_duration_seconds[30s]) < bool 1')" = 1
check "it has a switch's name, GUID and LID" test -n "$(first 'infiniband_switch_info{switch="Switch1",lid!="0",guid=~"0x.*"}')"
# An echo request of 1000 octets has about 1100 octets with all headers. About a hundred are sent a second, or fewer
# on a busy machine.
check "it sees the flow at h1's HCA" test "$(first 'rate(node_infiniband_port_data_transmitted_bytes_total{device="Hca1"}[30s]) > bool 1000')" = 1
check "and at the port of the switch" test "$(first 'max(rate(infiniband_switch_port_receive_packets_total{switch="Switch1"}[30s])) > bool 1')" = 1
kill $ping 2>/dev/null
sleep 3
stored=$(first 'node_infiniband_port_packets_transmitted_total{device="Hca1",port="1"}')
now=$(u -j fabric port show Hca1/1 | jq '.port[0].xmit_pkts')
check "what it stored ($stored) is not above what the port counts ($now), and close to it" test "$stored" -le "$now" -a $((now - stored)) -lt 500
u fabric link set Hca2/1 down
sees_down() { equal 0 "$(first 'uipoib_port_up{node="Hca2"}')"; }
check "it sees a pulled cable" eventually 30 sees_down

jq -r '.panels[].targets[].expr' examples/grafana/fabric.json | sed 's/\$fabric/.*/g' >"$work/queries"
check "the dashboard has queries" test "$(wc -l <"$work/queries")" -ge 9
while read -r query; do
	answer=$(curl -sS --get --data-urlencode "query=$query" http://127.0.0.1:9090/api/v1/query)
	check "query of the dashboard: $query" equal success "$(jq -r '.status + (.error // "")' <<<"$answer")"
done <"$work/queries"
load='rate(infiniband_switch_port_transmit_data_bytes_total[30s]) * on(guid, port, fabric) group_left(uplink) infiniband_switch_uplink_info'
check "ports and what is at their other end can be joined" test "$(ask "$load" | wc -l)" -ge 4
finish
