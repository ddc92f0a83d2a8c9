# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
#
# The commands that tests/interop/diags.sh runs on a fabric. The script sources this file.

# diags_nodes: read the output of `ibnetdiscover`, and print "TYPE LID PORTS PORT" for each switch (PORT 0) and each connected
# port of a CA
diags_nodes() {
	awk -F'"' '
	function number(s, re) {
		if (!match(s, re)) return ""
		s = substr(s, RSTART, RLENGTH)
		gsub(/[^0-9]/, "", s)
		return s
	}
	/^(Switch|Ca)/ { split($1, a, /[ \t]+/); type = a[1]; ports = a[2]
		if (type == "Switch") print type, number($5, "lid [0-9]+"), ports, 0 }
	/^\[/ && type == "Ca" { print type, number($3, "lid [0-9]+"), ports, number($1, "^.[0-9]+") }'
}

# diags_fabric: print the commands about the whole fabric
diags_fabric() {
	cat <<-E
	ibnetdiscover
	ibnetdiscover -f
	ibnetdiscover -p
	ibnetdiscover -l
	ibnetdiscover -H
	ibnetdiscover -S
	ibnetdiscover -R
	ibnetdiscover -g
	ibnetdiscover -m
	iblinkinfo
	iblinkinfo -l
	iblinkinfo -d
	iblinkinfo --switches-only
	ibhosts
	ibswitches
	ibrouters
	ibnodes
	ibidsverify
	dump_fts
	dump_lfts
	dump_mfts
	ibqueryerrors
	ibqueryerrors --details
	ibqueryerrors --counters
	sminfo
	ibaddr
	ibaddr -g
	ibaddr -l
	ibstat
	ibstat -p
	ibstat -l
	E
}

# diags_node TYPE LID PORTS PORT: print the commands about one node
diags_node() {
	local type=$1 lid=$2 ports=$3 port=$4 p
	cat <<-E
	smpquery nodeinfo $lid
	smpquery nodedesc $lid
	smpquery guidinfo $lid
	smpquery pkeys $lid
	smpquery sl2vl $lid
	smpquery switchinfo $lid
	smpdump $lid 0x10
	perfquery $lid $port
	perfquery -r $lid $port 0xfff
	perfquery -l $lid $port
	ibaddr $lid
	ibroute $lid
	ibroute -M $lid
	E
	if [ "$type" = Ca ]; then
		for ((p = 1; p <= ports; p++)); do
			[ $p = "$port" ] || echo "perfquery -x -t 500 $lid $p"
			echo "smpquery portinfo $lid $p"
		done
		diags_port "$lid" "$port"
		return
	fi
	echo "perfquery -a $lid"
	echo "perfquery -x -a $lid"
	for ((p = 0; p <= ports; p++)); do
		echo "smpquery portinfo $lid $p"
		diags_port "$lid" $p
	done
}

diags_port() {
	cat <<-E
	smpquery vlarb $1 $2
	smpquery pkeys $1 $2
	perfquery -x $1 $2
	E
}

# diags_optional LID PORT: print queries of attributes and classes that a node may refuse
diags_optional() {
	local o
	echo "ibportstate -t 100 $1 $2 query"
	echo "smpquery mepi $1 $2"
	echo "smpquery pie $1 $2"
	for o in -c -E -D -X -S -T --oprcvcounters --flowctlcounters --vloppackets --vlopdata --vlxmitflowctlerrors \
		--vlxmitcounters --swportvlcong --rcvcc --slrcvfecn --slrcvbecn --xmitcc --vlxmittimecc; do
		echo "perfquery -t 500 $o $1 $2"
	done
	cat <<-E
	smpdump -t 500 $1 0x30
	smpdump -t 500 $1 0x31
	smpdump -t 500 $1 0x33
	sminfo -t 500 $1
	ibping -c 1 -t 500 $1
	ibsysstat -t 500 $1
	ibccquery -t 500 CongestionInfo $1
	vendstat -t 500 -N $1
	E
}

# diags_commands NODES: print all commands for the fabric whose nodes are in the file NODES
diags_commands() {
	local type lid ports port cas
	diags_fabric
	while read -r type lid ports port; do
		diags_node "$type" "$lid" "$ports" "$port"
	done <"$1"
	# shellcheck disable=SC2046
	diags_optional $(awk '$1 == "Switch" { print $2, 1; exit }' "$1")
	# shellcheck disable=SC2046
	diags_optional $(awk '$1 == "Ca" { print $2, $4; exit }' "$1")
	cas=$(awk '$1 == "Ca" { print $2 }' "$1")
	# shellcheck disable=SC2086
	diags_routes $cas
}

# diags_routes FROM TO...: print the commands about routes from LID FROM to each LID TO
diags_routes() {
	local from=$1 to
	shift
	for to; do
		echo "ibtracert $from $to"
		echo "ibtracert -n $to $from"
	done
	echo "smpquery -D nodeinfo 0"
	echo "smpquery -D nodeinfo 0,1"
	echo "smpquery -D portinfo 0,1 2"
	echo "smpdump -D 0,1 0x10"
}
