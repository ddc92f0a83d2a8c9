#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
#
# The page of `uipoib web` looks like the pictures in tests/system/page: its header, buttons, map, legend and panel, in light
# and dark mode and at a width of 360 pixels. Fonts, sizes and the fabric are fixed. GOLDEN=make makes the pictures again; look
# at the new pictures before you commit them. PICTURES=FOLDER keeps the regions that differ.
#
# check.sh: all
. "$(dirname "$0")/lib.sh"
need python3 curl
command -v chromedriver >/dev/null || { skip "the page" "chromedriver is not installed"; exit 0; }
inst=golden # the name is in the header
export UIPOIB_NAME=$inst

# Five CAs and no hosts at a ring of three switches, so nobody sends anything that the map would show
topo_ring 5 3 >"$work/lab.topo"
conf_hosts 0 >"$work/lab.conf"
lab_up
swept() { u -j fabric sm show | jq -e '.sm[0].last_sweep.stage == "idle" or .sm[0].stage == "idle"'; }
check "the subnet is up" eventually 30 swept
check "a cable is pulled" u fabric link set Hca5/1 down
"$UIPOIB" web >"$work/web.out" 2>&1 &
web=$!
answers() { curl -sS --max-time 60 http://127.0.0.1:8480/ -o /dev/null; }
check "the server answers" eventually 10 answers
/usr/bin/python3 -B tests/system/web_golden.py http://127.0.0.1:8480/ || failed=1
kill "$web"
wait "$web"
finish
