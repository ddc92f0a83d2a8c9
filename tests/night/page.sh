#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
#
# axe-core, a program that tests accessibility, examines the page of `uipoib web` in its states, in light and dark mode
# and at two widths. axe-core is no part of this project: the script fetches it from the npm registry, and stores it in
# build/axe.
cd "$(dirname "$0")/../.." || exit 1
version=4.10.2
axe=$PWD/build/axe/$version/package/axe.min.js
# lib.sh moves this script into a network namespace without a way to the Internet, so fetch axe-core before.
if [ -z "${TEST_ISOLATED:-}" ] && [ ! -s "$axe" ]; then
	mkdir -p "build/axe/$version" &&
		(cd "build/axe/$version" && npm pack --silent "axe-core@$version" >/dev/null && tar -xzf "axe-core-$version.tgz" package/axe.min.js)
fi
. tests/system/lib.sh
need python3 curl chromedriver
topo_ring 2 3 >"$work/lab.topo"
conf_hosts 2 >"$work/lab.conf"
lab_up
check "axe-core is there" test -s "$axe"
check "a cable is pulled" u fabric link set Switch1/2 down
"$UIPOIB" web >"$work/web.out" 2>&1 &
web=$!
answers() { curl -sS --max-time 60 http://127.0.0.1:8480/ -o /dev/null; }
check "the server answers" eventually 10 answers
/usr/bin/python3 -B tests/night/page_axe.py http://127.0.0.1:8480/ "$axe" || failed=1
kill "$web"
wait "$web"
finish
