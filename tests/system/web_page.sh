#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
#
# The page of `uipoib web`, in a headless Chromium: its contents, the effects of clicks and keys, its appearance in
# dark and light mode and on a telephone, and its speed with 10,000 nodes. PICTURES=FOLDER keeps pictures of it.
#
# check.sh: all
. "$(dirname "$0")/lib.sh"
need ping python3 curl
command -v chromedriver >/dev/null || { skip "the page" "chromedriver is not installed"; exit 0; }

page() { /usr/bin/python3 -B tests/system/web_page.py http://127.0.0.1:8480/ "$UIPOIB" "$1"; }
web_answers() { curl -sS --max-time 60 http://127.0.0.1:8480/ -o /dev/null 2>/dev/null || ! kill -0 "$web" 2>/dev/null; }
web_start() {
	"$UIPOIB" web >"$work/web.out" 2>&1 &
	web=$!
	eventually 10 web_answers
}
web_end() {
	kill "$web"
	wait "$web"
}

# h1 and h2 at a ring of three switches. The NodeDescription of h2's HCA is hostile.
topo_ring 2 3 | sed 's/^Hca 1 "Hca2"/& # "<img src=x onerror=document.title=1>"/' >"$work/lab.topo"
conf_hosts 2 >"$work/lab.conf"
lab_up
x h1 ping -q -c 1 10.4.0.2 >/dev/null
check "the server starts" web_start
page small || failed=1
check "it ends" web_end
lab_down

# 10,096 nodes in three levels: 20 pods of 20 leaf switches with 24 CAs each
tree() {
	awk 'function sw(name, n) { printf "Switch %d \"%s\"\n", n, name }
	function cable(p, to, q) { printf "[%d] \"%s\"[%d]\n", p, to, q }
	BEGIN {
		for (p = 0; p < 20; p++) {
			for (l = 0; l < 20; l++) {
				sw("Leaf" p "-" l, 28)
				for (c = 1; c <= 24; c++) cable(c, "Hca" ((p * 20 + l) * 24 + c), 1)
				for (a = 0; a < 4; a++) cable(25 + a, "Aggr" p "-" a, l + 1)
				print ""
			}
			for (a = 0; a < 4; a++) {
				sw("Aggr" p "-" a, 24)
				for (l = 0; l < 20; l++) cable(l + 1, "Leaf" p "-" l, 25 + a)
				for (k = 0; k < 4; k++) cable(21 + k, "Core" (a * 4 + k), p + 1)
				print ""
			}
		}
		for (k = 0; k < 16; k++) {
			sw("Core" k, 20)
			for (p = 0; p < 20; p++) cable(p + 1, "Aggr" p "-" int(k / 4), 21 + k % 4)
			print ""
		}
		for (c = 1; c <= 9600; c++) {
			l = int((c - 1) / 24)
			printf "Hca 1 \"Hca%d\"\n[1] \"Leaf%d-%d\"[%d]\n\n", c, int(l / 20), l % 20, (c - 1) % 24 + 1
		}
	}'
}
tree >"$work/lab.topo"
conf_hosts 4 >"$work/lab.conf"
lab_up
swept_twice() { [ "$(u -j fabric sm show | jq '.sm[0].heavy_sweeps')" -ge 2 ]; } # after two sweeps the daemon no longer competes with the browser for the CPU
check "the subnet is up and quiet" eventually 300 swept_twice
check "the server starts beside 10,000 nodes" web_start
page large || failed=1
check "it ends, too" web_end
lab_down
finish
