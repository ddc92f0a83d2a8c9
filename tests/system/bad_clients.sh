#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Clients of the control socket send invalid text, stop reading, connect by the hundred, or disconnect in the middle of
# a command. The daemon answers them with an error or closes their connection. Other clients are served, and the fabric
# continues to work.
#
#	garbage, stuck reader, ...  --->  /run/uipoib/NAME.sock  <---  uipoib link show
#
#	h1 --- Switch1 --- Switch2 --- h2           datagrams go both ways all the time
#	            \       /
#	             Switch3
. "$(dirname "$0")/lib.sh"
need ping python3
python=$(PATH=/usr/bin:$PATH command -v python3) # an interpreter that any user may execute, because one check runs the client as another user
topo_ring 2 3 >"$work/lab.topo"
conf_hosts 2 >"$work/lab.conf"
lab_up
check "h1 and h2 exchange datagrams all the time" probe_start all h1 h2 10.4.0.2

cat >"$work/client.py" <<'END'
import json, os, random, socket, sys, time

path = sys.argv[1]


def connect():
    s = socket.socket(socket.AF_UNIX)
    s.connect(path)  # blocks while the backlog is full
    s.settimeout(PATIENCE)
    return s


PATIENCE = 60  # seconds that an immediate answer may take on a busy machine


def answers(s):
    """Ends the requests, and returns all answers that come until the other end closes the connection."""
    s.settimeout(PATIENCE)
    data = b""
    try:
        s.shutdown(socket.SHUT_WR)
        while True:
            some = s.recv(65536)
            if not some:
                break
            data += some
    except ConnectionResetError:
        pass
    return [json.loads(line) for line in data.decode().splitlines()]


def refused(text, want=None):
    """Sends a wrong text. Every answer must end with an error. The daemon may also close the connection without an answer."""
    s = connect()
    try:
        s.sendall(text)
    except (BrokenPipeError, ConnectionResetError):
        return
    got = answers(s)
    bad = [a for a in got if not a.get("end", {}).get("error")]
    assert not bad, f"{text[:60]!r} was answered {bad}"
    if want:
        assert any(want in a["end"]["error"] for a in got), f"{text[:60]!r}: expected {want!r} in {got}"


def served():
    s = connect()
    s.sendall(b'{"v":1,"cmd":"link show"}\n')
    f = s.makefile()
    rows = [json.loads(f.readline()) for _ in range(3)]
    assert [list(r)[0] for r in rows] == ["row", "row", "end"], rows
    assert rows[2]["end"]["status"] == 0, rows[2]


def garbage():
    for text in (b"\n", b"hello\n", b"{\n", b"[]\n", b"1\n", b'""\n', b"null\n", b"\0\0\0\n", b"\xff\xfe\n",
                 b"{}\n", b'{"v":1}\n', b'{"cmd":"link show"}\n', b'{"v":2,"cmd":"link show"}\n',
                 b'{"v":1,"cmd":7}\n', b'{"v":1,"cmd":"link show","args":[]}\n',
                 b'{"v":1,"cmd":"link show","args":{"dev":7}}\n', b'{"v":1,"cmd":"link show","args":{"x":"y"}}\n',
                 b'{"v":1,"cmd":"wait","args":{"timeout_ms":-5}}\n', b'{"v":1,"cmd":"exec"}\n',
                 b'{"v":1,"cmd":"capture start"}\n', b'{"v":1,"cmd":"fault add","args":{"port":{}}}\n',
                 b'{"v":1,"cmd":"link show"} trailing\n', b"[" * 5000 + b"\n", b'{"a":' * 3000 + b"\n"):
        refused(text)
    refused(b'{"v":1,"cmd":"no such"}\n', "no such")
    refused(b"GET / HTTP/1.0\r\n\r\n")


def rnd():
    r = random.Random(4391)
    for _ in range(300):
        refused(bytes(r.randrange(256) for _ in range(r.randrange(1, 400))).replace(b"\n", b" ") + b"\n")


def overlong():
    refused(b"x" * 70000 + b"\n")
    s = connect()  # a line that never ends, which the server must not store without limit
    try:
        for _ in range(200):
            s.sendall(b"y" * 65536)
        raise AssertionError("12 MB without an end of line were taken")
    except (BrokenPipeError, ConnectionResetError, socket.timeout):
        pass


def slowly():
    s = connect()
    for c in b'{"v":1,"cmd":"instance show"}\n':
        s.sendall(bytes([c]))
        time.sleep(0.002)
    got = answers(s)
    assert got[-1]["end"]["status"] == 0, got


def pipelined():
    s = connect()
    s.sendall(b'{"v":1,"cmd":"instance show"}\n' * 50)
    got = answers(s)
    assert sum("end" in a for a in got) == 50, len(got)


def going_away():
    for _ in range(100):
        s = connect()
        s.sendall(b'{"v":1,"cmd":"stats show","args":{"details":true}}\n')
        s.close()
        s = connect()
        s.sendall(b'{"v":1,"cmd":"wait","args":{"timeout_ms":60000}}\n{"v":1,"cmd":"monitor"}\n')
        s.close()
        s = connect()
        s.sendall(b'{"v":1,"cm')
        s.close()


def stuck():
    """Sends requests and never reads, until it is dropped. Returns how often another client was served after the buffers were full."""
    s = connect()
    s.setblocking(False)
    start, others = time.monotonic(), 0
    while time.monotonic() - start < PATIENCE:
        try:
            s.send(b'{"v":1,"cmd":"stats show","args":{"details":true}}\n' * 20)
        except BlockingIOError:
            served()
            others += 1
        except (BrokenPipeError, ConnectionResetError):
            print(f"dropped after {time.monotonic() - start:.1f} s, {others} others were served meanwhile")
            return others
    raise AssertionError(f"still connected after {PATIENCE} s")


def beside_stuck():
    """Tries several times, because on a busy machine the stuck client may be dropped before another client gets CPU time."""
    assert any(stuck() > 1 for _ in range(10)), "nobody is served meanwhile"


def many():
    held = []
    try:
        for _ in range(300):
            s = socket.socket(socket.AF_UNIX)
            s.settimeout(10)
            s.connect(path)
            held.append(s)
    except (ConnectionRefusedError, BlockingIOError, socket.timeout):
        pass
    print(len(held), "connections at once")
    assert len(held) >= 16
    for s in held:
        s.close()


globals()[sys.argv[2]]()
END

client() { timeout 600 "$python" -S -E "$work/client.py" "$(lab_socket)" "$1"; }

# try WHAT FUNCTION: run this function of client.py, and then check that other clients are served
try() {
	check "$1" client "$2"
	check "others are served after it" client served
}
check "a good client is served" client served
try "nonsense gets an error" garbage
try "octets at random" rnd
try "lines without an end" overlong
try "one octet at a time is as good" slowly
try "many requests at once are answered, in order" pipelined
try "clients that go away in the middle" going_away
try "a client that stops reading is dropped" stuck
try "hundreds of connections" many

check "while a client does not read others are served" client beside_stuck

# A file that a client names is opened and read by the client, not by the daemon.
fifo() {
	local k p
	mkfifo "$work/fifo"
	background "$UIPOIB" fabric partitions "$work/fifo"
	p=$!
	for k in 1 2 3 4; do
		timeout 60 "$UIPOIB" link show >/dev/null || { echo "nobody is served meanwhile"; return 1; }
	done
	kill -0 $p || { echo "it did not wait for the FIFO"; return 1; }
	echo 'Default=0x7fff, ipoib : ALL=full;' >"$work/fifo"
	wait $p
}
check "partitions from a FIFO: only the client waits for it" fifo
check "a file of partitions that does not exist" refuse 2 'nope: No such file' u fabric partitions "$work/nope"

# Only root and the owner may use the socket.
check "the socket's mode is 0600" equal 600 "$(stat -c %a "$(lab_socket)")"
stranger() {
	chmod 755 /run/uipoib && chmod 666 "$(lab_socket)"
	setpriv --reuid 65534 --regid 65534 --clear-groups "$python" -S -E -c '
import socket, sys
s = socket.socket(socket.AF_UNIX)
s.settimeout(60)
try:
    s.connect(sys.argv[1])
    s.sendall(b"{\"v\":1,\"cmd\":\"stop\"}\n")
    sys.exit(1 if s.recv(1000) else 0)
except (PermissionError, BrokenPipeError, ConnectionResetError):
    sys.exit(0)' "$(lab_socket)"
	local status=$?
	chmod 700 /run/uipoib
	return $status
}
check "only root and the owner are served, whatever the mode of the file" stranger
check "the fabric went on all the time" probe_lost_nothing all
idle_again() {
	local p before us
	p=$(u -j instance show | jq '.instance[0].pid')
	before=$(awk '{ print $1 }' "/proc/$p/schedstat")
	sleep 1
	us=$((($(awk '{ print $1 }' "/proc/$p/schedstat") - before) / 1000))
	echo "$us us of CPU in a second"
	[ $us -lt 20000 ]
}
check "nothing is left to do for any of them" eventually 10 idle_again
finish
