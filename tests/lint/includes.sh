#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
#
# The include rules of ARCHITECTURE.md: which folder may include which.
set -u
cd "$(dirname "$0")/../.."
fail=0

declare -A may=(
	[util]="util"
	[wire]="util wire"
	[mad]="util wire mad"
	[node]="util wire mad node"
	[hca]="util wire mad node hca"
	[fabric]="util wire mad node fabric hca/hca.h"
	[umad]="util wire mad node umad"
	[preload]="umad/proto.h preload"
	[ibsim]="util wire mad node ibsim"
	[udp]="util wire udp"
	[sm]="util wire mad sm"
	[sac]="util wire mad sac"
	[ipoib]="util wire sac ipoib"
	[eth]="util wire ipoib eth"
	[ca]="util wire mad ca"
	[netdev]="util netdev"
	[vm]="util vm"
	[guest]="vm/frame.h vm/guest.h vm/net.h guest"
	[daemon]="util wire mad node hca fabric umad ibsim udp sm sac ipoib eth ca netdev daemon"
	[cli]="util wire/print.h wire/ib.h daemon/proto.h daemon/serve.h daemon/conf.h daemon/demo.h daemon/import.h daemon/vmlab.h netdev/netns.h netdev/sockaddr.h vm cli"
)

bad() {
	echo "$1: $2"
	fail=1
}

allowed() {	# file, include
	local file=$1 inc=$2 rule folder
	folder=${file#src/}
	folder=${folder%%/*}
	case "$file:$inc" in
	src/ca/ca_soft.[ch]:hca/* | src/ca/ca_soft.[ch]:node/*) return 0 ;;
	esac
	for rule in ${may[$folder]-}; do
		[ "$inc" = "$rule" ] && return 0
		[ "${inc%%/*}" = "$rule" ] && return 0
	done
	return 1
}

for f in src/*/*.[ch]; do
	while read -r inc; do
		[ -f "src/$inc" ] || { [ -f "include/$inc" ] && continue; bad "$f" "includes \"$inc\", which is not in src/"; continue; }
		allowed "$f" "$inc" || bad "$f" "may not include \"$inc\""
	done < <(sed -n 's/^#include "\([^"]*\)".*/\1/p' "$f")
	case "$f" in
	src/ipoib/* | src/eth/*)
		grep -nE '^#include <(unistd|time|stdio|sys/socket|sys/time)\.h>' "$f" && bad "$f" "is sans-I/O" ;;
	src/util/* | src/netdev/* | src/daemon/* | src/cli/* | src/preload/* | src/vm/* | src/guest/*) ;;
	*)
		grep -nE '^#include <(unistd|time|sys/socket|sys/time)\.h>' "$f" && bad "$f" "is sans-I/O" ;;
	esac
	case "$f" in
	src/ca/ca_verbs*) ;;
	*) grep -nE '^#include <infiniband/' "$f" && bad "$f" "only ca_verbs may include <infiniband/...>" ;;
	esac
	case "$f" in
	*.c)
		h=${f#src/}
		h=${h%.c}.h
		first=$(sed -n 's/^#include "\([^"]*\)".*/\1/p;s/^#include <\(.*\)>/<\1>/p' "$f" | head -1)
		if [ -f "src/$h" ] && [ "$first" != "$h" ]; then bad "$f" "must include \"$h\" first"; fi ;;
	esac
	head -1 "$f" | grep -q 'SPDX-License-Identifier: BSD-2-Clause' || bad "$f" "has no SPDX line"
done
exit $fail
