#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
#
# make bench: measures the figures of the project again.
#
#	path	ns and instructions per packet and per train: for encoding, for a hop through a switch, and for decoding
#	sweep	sweep time and memory of the embedded SM, and PathRecords a second
#	scale	a fabric of 1,000 switches and 10,000 HCAs: the embedded SM; for comparison OpenSM, on uipoib's fabric and on ibsim
#	flow	what one flow costs among up to 1,000,000 neighbours, 1,000 groups, 8 hops and 200 hosts
#	net	TCP, UDP, round trips and CPU time; for comparison a veth pair and bare relays, measured in turn with uipoib
#	fabrics	TCP of two fabrics at the same time, in one instance and in two
#	profiles	TCP and 64-byte UDP of each link profile; for comparison rfc4391, measured in turn with the others
#	verbs	TCP of a VM: uipoib on a port of libibverbs; for comparison the kernel's ib_ipoib on the same port; needs QEMU and `make kmod`
#	linux	TCP between the stock kernel of a VM and a host, and between two VMs; needs QEMU and `make kmod`
#
#	run.sh [PART...]	default: all but verbs, in less than 15 minutes; linux only if its needs are there
set -u
cd "$(dirname "$0")/.."
O=${O:-build}
virtual() { ! command -v qemu-system-x86_64 >/dev/null || [ -z "$(ls "$O"/kmod/*/uib.ko 2>/dev/null)" ] || echo linux; }
parts=${*:-path sweep scale flow net fabrics profiles $(virtual)}

head() { printf '\n== %s\n' "$*"; }

echo "machine: $(nproc) cores, $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | sed -n 1p), load $(cut -d' ' -f1-3 /proc/loadavg)"

# Instructions per packet are computed from the difference of two runs, so that the cost of set-up cancels out.
# callgrind does not support AVX-512, so CRCs are computed by the fastest implementation without AVX-512.
collected() { # PART SIZE CRC PACKETS: print the number of instructions of a run of bench_path
	valgrind --tool=callgrind --callgrind-out-file=/dev/null "$O/bench/bench_path" "$@" 2>&1 |
		sed -n 's/.*Collected : //p'
}

per_packet() { # PART SIZE CRC: print the number of instructions per packet, or per train
	local n=6400
	[ "$2" != train ] || n=640
	echo $((($(collected "$@" $((2 * n))) - $(collected "$@" $n)) / n))
}

instructions() { # PART SIZE CRC: the same; some parts are computed from the costs of lines of switches, as in bench_path.c
	if [ "$1" = hop ]; then
		echo $((($(per_packet line17 "$2" "$3") - $(per_packet line1 "$2" "$3")) / 16))
	elif [ "$1 $2" = "decode train" ]; then
		echo $(($(per_packet line1 "$2" "$3") - $(instructions hop "$2" "$3") - $(per_packet encode "$2" "$3")))
	else
		per_packet "$@"
	fi
}

bench_path() {
	head "data path, per packet or train of 32 packets (median of 5; instructions by callgrind)"
	printf '%-8s %6s %5s %10s %14s\n' part octets crc ns instructions
	for part in encode hop decode; do
		for size in 64 2044 train; do
			for crc in full lazy; do
				local ns n=1000000
				[ "$size" != train ] || n=50000
				ns=$(for _ in 1 2 3 4 5; do "$O/bench/bench_path" $part $size $crc $n; done | sort -n | sed -n 3p)
				printf '%-8s %6s %5s %10s %14s\n' $part $size $crc "$ns" \
					"$(instructions $part $size $crc)"
			done
		done
	done
}

bench_sweep() {
	head "subnet manager"
	"$O/bench/bench_sweep"
	local found
	found=$(mktemp) && bench/gen_topo.py large >"$found"
	"$O/bench/bench_sweep" "$found"
	rm -f "$found"
}

bench_scale() {
	head "1,000 switches, 10,000 HCAs"
	O=$O bash bench/scale.sh large
}

for p in $parts; do
	case $p in
	path) bench_path ;;
	sweep) bench_sweep ;;
	scale) bench_scale ;;
	flow) bash bench/flow.sh ;;
	net) ROUNDS=${ROUNDS:-4} SETUPS=${SETUPS:-2} bash bench/net.sh ;;
	fabrics) ROUNDS=${ROUNDS:-4} SETUPS=${SETUPS:-2} SECONDS_EACH=${SECONDS_EACH:-1} bash bench/fabrics.sh ;;
	profiles) SECONDS_EACH=${SECONDS_EACH:-1} bash bench/profiles.sh ;;
	verbs) bash bench/verbs.sh ;;
	linux) ROUNDS=${ROUNDS:-3} SECONDS_EACH=${SECONDS_EACH:-3} bash bench/linux.sh ;;
	*)
		echo "usage: run.sh [path] [sweep] [scale] [flow] [net] [fabrics] [profiles] [verbs] [linux]" >&2
		exit 2
		;;
	esac
done
