#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
#
# A file, and a peer on a UDP link, give names and NodeDescriptions that contain control characters, line ends and octets
# that are not UTF-8. No command and no line of the log sends these to a terminal unescaped, JSON stays valid, and no row
# is missing.
#
#	h1 --- Hca1 --- Switch1 port 2 === UDP === udp_peer.py with a NodeDescription of its own
#	h2 --- Hca2 ---/
#
# With HOSTILE_SECONDS=N, the peer gets another name ten times a second, for N seconds. The names are made of sequences
# on which terminals act. The peer's cable is pulled and plugged in again, and every command is used. tests/night/watch.sh
# makes further checks.
. "$(dirname "$0")/lib.sh"
[ -z "${HOSTILE_SECONDS:-}" ] || . tests/night/watch.sh
need python3 ping jq
# A topology file must not contain ESC and similar characters, but can contain C2 9B, which is ESC [ as one character.
# The peer's description has all these characters: ESC ] 0 ; ... BEL sets the title of a terminal, CR returns to the first
# column.
evil=$'\xc2\x9b31m\xff\xfe'
shown='\\xc2\\x9b31m\\xff\\xfe'
peer='\\x1b]0;owned\\x07\\x0d\\x7f'$shown
{
	printf 'Switch 8 "Switch1" # "sw %s"\n[1] "Hca1"[1]\n[3] "Hca%s"[1]\n\n' "$evil" "$evil"
	printf 'Hca 1 "Hca1" # "h1 %s"\n[1] "Switch1"[1]\n\n' "$evil"
	printf 'Hca 1 "Hca%s" # "h2 %s"\n[1] "Switch1"[3]\n' "$evil" "$evil"
} >"$work/lab.topo"
read -r near far < <(python3 -c '
import socket
s = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(2)]
[x.bind(("127.0.0.1", 0)) for x in s]
print(*[x.getsockname()[1] for x in s])')
cat >"$work/lab.conf" <<END
[fabric lab]
topology = lab.topo

[udp-link peer]
port = fabric:lab/Switch1/7
listen = 127.0.0.1:$near
peer = 127.0.0.1:$far

[interface uib0@h1]
port = fabric:lab/Hca1/1
address = 10.4.0.1/24
address = fd04::1/64

[interface uib0@h2]
port = fabric:lab/Hca$evil/1
address = 10.4.0.2/24
address = fd04::2/64
END
cat >"$work/evil.py" <<'END'
import random, sys
changing = sys.argv.pop(1) == "changing"
sys.path.insert(0, sys.argv.pop(1))
import peer.sma, udp_peer
first = peer.sma.__dict__["Sma"].__init__
def init(self, *args, **keys):
    first(self, *args, **keys)
    evil = b"peer \x1b]0;owned\a\r\x7f\xc2\x9b31m\xff\xfe"
    self.description = evil.ljust(40) + b"\0after the NUL"
    self.description = self.description[:64].ljust(64, b"\0")
    def change():
        self.description = b""
        while len(self.description) < 64:
            self.description += random.choice(PIECES)
        self.description = self.description[:64]
        self.timers.enter(0.1, 0, change)
    if changing:
        change()
# Sequences that set titles or the clipboard, ask the terminal questions, set colours, move the cursor, clear the
# screen or choose character sets; backspaces and line ends; changes of the writing direction; C1 controls in one and
# in two octets; overlong and truncated sequences and surrogates; and readable text
PIECES = [b"\x1b]0;t\a", b"\x1b]52;c;cm0=\a", b"\x1b[6n", b"\x1b[c", b"\x1b[31m", b"\x1b[2J\x1b[H", b"\x1b(0", b"\x1bc", b"\x1bP1$r\x1b\\",
          b"\b\b\b", b"\r", b"\n", b"\v\f", b"\x0e", b"\x7f", b"\t", b"\xe2\x80\xae", b"\xe2\x81\xa6", b"\xe2\x80\xa8", b"\x9b31m",
          b"\x90", b"\xc2\x9b2J", b"\xc2\x85", b"\xc0\x9b", b"\xe0\x82\x9b", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xe2\x80", b"\xff", b"%s%n",
          b"\"}]", b"\\x1b", b"peer", b" ", "\u00e9\u4e2d".encode()]
peer.sma.Sma.__init__ = init
sys.exit(udp_peer.main())
END
background python3 -B "$work/evil.py" "${HOSTILE_SECONDS:+changing}" "$PWD/examples" --listen "127.0.0.1:$far" --peer "127.0.0.1:$near" --guid 0xace0000000c099 \
	--address 10.4.0.99/24 >"$work/peer.out" 2>&1

# clean FILE...: succeeds if the files have only lines of printable UTF-8, without characters that control a terminal
clean() {
	python3 - "$@" <<'END'
import sys, unicodedata
FORMAT = "LRE", "RLE", "PDF", "LRO", "RLO", "LRI", "RLI", "FSI", "PDI"
bad = 0
for name in sys.argv[1:]:
    for n, line in enumerate(open(name, "rb").read().split(b"\n"), 1):
        try:
            text = line.decode()
        except UnicodeDecodeError:
            text = "\x1b"
        # controls, surrogates, direction of writing and line ends
        if any(unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp") and c != "\t" or unicodedata.bidirectional(c) in FORMAT for c in text):
            bad = 1
            print(f"{name}:{n}: {line!r}")
sys.exit(bad)
END
}

# says REGEX CMD...: succeeds if the command's output is clean and matches REGEX
says() {
	local text=$1
	shift
	"$@" >"$work/out" 2>&1 || { cat "$work/out"; return 1; }
	clean "$work/out" && grep -Eq -- "$text" "$work/out" || { cat -v "$work/out"; return 1; }
}

lab_up -v -v
check "h1 reaches h2" reaches4 1 2
check "h1 reaches the peer" reaches4 1 99

if [ -n "${HOSTILE_SECONDS:-}" ]; then
	peer_is() { equal "$1" "$(u -j fabric port show Switch1/7 | jq -r '.port[0].state')"; }
	# evil_text: write a topology file and print a name. Both are made of the same pieces as the name of the peer.
	evil_text() {
		python3 - "$work/evil.py" "$work/round.topo" <<-'E'
			import random, re, sys
			exec(re.search(r"(?s)^PIECES = .*?\]$", open(sys.argv[1]).read(), re.M)[0])
			text = lambda: b"".join(random.choices(PIECES, k=8)).replace(b"\0", b"")
			open(sys.argv[2], "wb").write(b'Switch 4 "S%s" # "%s"\n[1] "Hca%s"[1]\nHca 1 "%s" # "%s"\n' % tuple(text() for _ in range(5)))
			sys.stdout.buffer.write(text().replace(b"\n", b""))
		E
	}
	shows() { # CMD...: the command may fail, but not by a signal or a sanitizer, and its output must be clean
		local status
		"$@" >"$work/out" 2>&1
		status=$?
		[ $status -le 4 ] && ! grep -q 'Sanitizer\|runtime error:' "$work/out" && clean "$work/out" && return 0
		echo "status $status of: $*" | cat -v
		cat -v "$work/out"
		return 1
	}
	round() {
		local name c
		u fabric link set Switch1/7 down && eventually 30 peer_is Down || return 1
		u fabric link set Switch1/7 up && eventually 60 peer_is Active || return 1
		name=$(evil_text)
		for c in "fabric node show" "fabric port show" "fabric lft show Switch1" "fabric partitions" "fabric group show" "link show" \
			"stats show" "neigh show" "path show" "maddr show" "fabric sm show" "fabric udp show" "trace h1 h2" "host show"; do
			shows u $c && shows u -d $c && shows u -j $c || return 1
			u -j $c | jq -e . >/dev/null || { echo "no JSON: $c"; return 1; }
		done
		shows u fabric link set "$name" down && shows u fabric node show "$name" && shows u trace h1 "$name" || return 1
		printf '[fabric %s]\n%s = %s\n' "$name" "$name" "$name" >"$work/round.conf"
		shows u run -c "$work/round.conf" && shows u fabric import "$work/round.topo" &&
			shows u -j fabric import "$work/round.topo" && shows u fabric partitions "$work/round.topo"
	}
	watch_before h1 10.4.0.2
	background "$UIPOIB" monitor >"$work/monitor"
	watch_during h1 10.4.0.2 round
	check "the log has nothing but text" clean "$work/lab.log"
	check "monitor has nothing but text" clean "$work/monitor"
	check "many names of the peer were seen" test "$(grep -c 'x1b' "$work/lab.log")" -ge 5
	echo "# lines of the log: $(wc -l <"$work/lab.log"), with escaped octets: $(grep -c '\\x' "$work/lab.log"); of monitor: $(wc -l <"$work/monitor")"
	watch_judge
	finish
fi
nodes() { u -j fabric node show >"$work/out" && equal 3 "$(jq '.node | length' "$work/out")" && clean "$work/out"; }
check "JSON has every node" nodes
check "fabric node show" says "sw $shown" u fabric node show
check "fabric node show -d" says "h2 $shown" u -d fabric node show
check "fabric port show" says "Hca$shown/1" u fabric port show
check "fabric lft show" says "h1 $shown" u fabric lft show Switch1
check "fabric partition show" says "peer $peer" u fabric partitions
check "fabric group show -d" says "peer $peer" u -d fabric group show
check "link show" says "Hca$shown/1" u -d link show
check "stats show" says "Hca$shown" u -d stats show
check "trace" says "Hca$shown" u trace h1 h2
check "an error that names what was typed" refuse 2 'Hca\\xc2\\x9b31m/9' u fabric link set "Hca"$'\xc2\x9b31m'"/9" down
rows() { # succeeds if the JSON of all commands that show rows is valid and clean
	local cmd
	for cmd in "fabric node" "fabric port" "fabric lft" "fabric partition" "fabric group"; do
		u -j $cmd show Switch1 >"$work/out" 2>/dev/null || u -j $cmd show >"$work/out" || u -j "${cmd}s" >"$work/out" || return 1
		jq -e . "$work/out" >/dev/null && clean "$work/out" || { echo "$cmd"; cat -v "$work/out"; return 1; }
	done
}
check "JSON of each is JSON, in ASCII" rows
"$UIPOIB" monitor >"$work/monitor" &
monitor=$!
# The monitor is perhaps not connected yet when the link changes for the first time, so every attempt changes the link again.
seen() {
	u fabric link set Switch1/3 down && u fabric link set Switch1/3 up && grep -q "$shown" "$work/monitor"
}
check "monitor shows the port of a link that changes" eventually 10 seen
kill $monitor
wait $monitor 2>/dev/null
check "monitor has nothing but text" clean "$work/monitor"
names_it() { grep -q "$shown" "$work/lab.log"; }
check "the log names the nodes" eventually 10 names_it
check "the log has nothing but text" clean "$work/lab.log"

check "fabric import" says "." u fabric import "$work/lab.topo" -o "$work/out.topo" --config "$work/out.conf" --hosts 2
printf 'Switch 4 "S1" # "%s"\n[1] "Nope%s"[1]\n' "$evil" "$evil" >"$work/bad.topo"
check "fabric import of a cable to nobody" says "Nope$shown" u fabric import "$work/bad.topo"
check "fabric import of it as JSON" says 'Nope' u -j fabric import "$work/bad.topo"
printf '[fabric %s]\n' "$evil" >"$work/x.conf"
check "a name in a configuration" refuse 2 "$shown" u run -c "$work/x.conf"
check "a message has nothing but text" clean "$work/refuse.out"
finish
