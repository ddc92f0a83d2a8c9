#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
#
# bits.sh [MACHINE...]: run unit and simulation tests of the layers without I/O, built for other machines: i386 (32
# bits, with ASan and UBSan) and s390x (big-endian). qemu-user runs the tests for s390x; ASan does not work there. The
# script prints one TAP line for each machine and test program.
#
# A cross compiler builds the tests for i386, too, because Debian's gcc-multilib (gcc -m32) conflicts with all cross compilers.
# cmocka for a machine is extracted from Debian's packages, which are not installed, because an installation would add
# an architecture to this system. The tests of the kernel module's files are omitted on i386, because the module
# refuses to be built for 32 bits.
#
# BITS (default: build/bits) is the folder for the builds and for cmocka. A later run uses the files that exist there.
set -u
cd "$(dirname "$0")/../.." || exit 1
bits=${BITS:-build/bits}
jobs=$(nproc)
mkdir -p "$bits" && bits=$(realpath "$bits") || exit 1

# The layers without I/O, and util, which all of them use
rooms=$(awk '!/^#/ && NF && ($2 != "io" || $1 == "util") { print $1 }' src/layers)
others=$(awk '!/^#/ && NF && $2 == "io" && $1 != "util" { printf "%s%s", sep, $1; sep = "|" }' src/layers)
# ibsim's protocol consists of C structures in the byte order of the host, and these tests have octets that were recorded on x86-64.
recorded="unit/test_ibsim_proto unit/test_ibsim_ctl"

# tests_of ROOM...: print the test programs of these rooms, such as unit/test_wire_ib_hdr, except those that include a
# header of another room
tests_of() {
	local r f
	for r; do
		for f in tests/unit/test_"$r"_*.c tests/sim/test_"$r"_*.c; do
			[ -f "$f" ] && ! grep -qE "^#include \"($others)/" "$f" && f=${f#tests/} && echo "${f%.c}"
		done
	done
}

# cmocka ARCHITECTURE: unpack Debian's cmocka packages for this architecture in $bits/ARCHITECTURE/cmocka. apt uses
# package lists in the same folder, not those of this machine.
cmocka() {
	local d=$bits/$1/cmocka p
	[ ! -f "$d/usr/include/cmocka.h" ] || return 0
	rm -rf "$d" && mkdir -p "$d"/lists/partial "$d"/cache/archives/partial || return 1
	cat >"$d/apt.conf" <<-END
		APT::Architecture "$1";
		APT::Architectures { "$1"; };
		APT::Sandbox::User "root";
		Acquire::Languages "none";
		Dir::State::status "/dev/null";
		Dir::State::Lists "$d/lists";
		Dir::Cache "$d/cache";
	END
	# If one of several package lists cannot be fetched, the package is perhaps in another list.
	(cd "$d" && export APT_CONFIG=$d/apt.conf && { apt-get -q update; apt-get -q download libcmocka0 libcmocka-dev; }) || return 1
	for p in "$d"/*.deb; do dpkg-deb -x "$p" "$d" || return 1; done
}

# run TEST: run a test and print one TAP line. xargs calls this function with $machine, $out and $under, which is the command
# that runs programs of $machine
run() {
	local start=$SECONDS log=$out/$1.log status
	CMOCKA_MESSAGE_OUTPUT=TAP timeout 2h $under "$out/$1" >"$log" 2>&1
	status=$?
	if [ $status = 0 ]; then
		echo "ok - $machine: $1, $(grep -c '^ok ' "$log") tests, $((SECONDS - start)) s"
	else
		printf '%s\n%s\n' "not ok - $machine: $1, exit status $status" "$(grep -v '^ok ' "$log" | tail -20 | sed 's/^/# /')"
	fi
}
export -f run

# on MACHINE TRIPLET TESTS MAKE_ARGUMENT...: builds these tests for the machine and runs them by $under
on() {
	export machine=$1 out=$bits/$1
	local triplet=$2 tests=$3 log=$out/build.log lib
	lib=$out/cmocka/usr/lib/$1-linux-gnu
	mkdir -p "$out"
	if cmocka "$1" >"$log" 2>&1 && make -s -j"$jobs" CC="$triplet-gcc" O="$out" uses_all="$(echo $rooms)" "${@:4}" \
		LIBS=-lm CFLAGS="-g -Itests/night/bits -idirafter $out/cmocka/usr/include" \
		LDFLAGS= TEST_LIBS="-L$lib -Wl,-rpath,$lib:/usr/$triplet/lib -lcmocka -lm" $(printf "$out/%s " $tests) >>"$log" 2>&1; then
		echo "ok - $machine: built"
	else
		echo "not ok - $machine: built"
		tail -30 "$log" | sed 's/^/# /'
		return
	fi
	export under
	xargs -P "$jobs" -I{} bash -c 'run {}' <<<"$tests"
}

for m in ${*:-i386 s390x}; do
	case $m in
	i386) under=/usr/i686-linux-gnu/lib/ld-linux.so.2 on i386 i686-linux-gnu "$(tests_of $rooms all)" SAN=1 ;;
	s390x) under="qemu-s390x -L /usr/s390x-linux-gnu" on s390x s390x-linux-gnu \
		"$(tests_of $rooms kmod all | grep -vxF "${recorded// /$'\n'}")"
		printf 'ok - s390x: %s # SKIP its octets were recorded on a little-endian machine\n' $recorded ;;
	*) echo "not ok - $m: expected i386 or s390x" ;;
	esac
done | tee "$bits/tap"
! grep -q '^not ok' "$bits/tap"
