#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# Golden outputs: the script compares the output of tools about ib0 with the files in golden/. The fabric that `uipoib
# vm` makes for itself gives the same GUIDs, LIDs and addresses in each run. So the script replaces in the outputs only
# the QPN in the link-layer address, and numbers that depend on the kernel. The script runs itself in a VM.
#
#	sh examples/vm/golden.sh			exit status 0 if the outputs are those of the files
#	sh examples/vm/golden.sh make			write the files
set -eu
cd "$(dirname "$0")"
if [ ! -e /sys/class/net/ib0 ]; then
	exec "${UIPOIB:-../../build/uipoib}" vm --share "$PWD/golden" -- sh ./golden.sh "$@"
fi

# plain: remove the interface's index, flags and QPN (the first four octets of an address), and numbers that depend on the kernel
plain() { sed -E 's/^[0-9]+: //; s#(link/infiniband )([0-9a-f]{2}:){4}#\1FLAGS:QPN:#; s/ (gso|tso|gro)_[a-z0-9_]+ [0-9]+//g; s/numtxqueues.*//; s/[ \t]+$//'; }
outputs="ip-link ip-address ibstat"
ip_link() { ip -d link show ib0 | plain; }
ip_address() { ip -4 address show ib0 | plain; }
ibstat_uib0() { ibstat uib0 | sed -E 's/^(\tFirmware version|\tHardware version|\tCA type): .*/\1: ANY/'; }
of() { # OUTPUT: runs the command of this output
	case $1 in
	ip-link) ip_link ;;
	ip-address) ip_address ;;
	ibstat) ibstat_uib0 ;;
	esac
}

status=0
for output in $outputs; do
	if [ "${1:-}" = make ]; then
		of "$output" >"golden/$output.txt"
	elif of "$output" | diff -u "golden/$output.txt" -; then
		echo "ok: $output"
	else
		status=1
	fi
done
exit "$status"
