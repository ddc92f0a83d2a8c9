# SPDX-License-Identifier: BSD-2-Clause
"""Clients of `uipoib web`.

web_client.py ADDR PORT format FILE         checks that FILE contains only Prometheus' text format 0.0.4
web_client.py ADDR PORT raw TEXT            sends TEXT (escapes as in Python), prints the status of the answer, or "closed"
web_client.py ADDR PORT slow                sends a request without end, an octet at a time, and prints the seconds until it is disconnected
web_client.py ADDR PORT unread N            makes N clients that send many requests and read no answer for eight seconds
web_client.py ADDR PORT first SINCE         prints the type of the first event after SINCE
web_client.py ADDR PORT cable FILE UIPOIB   pulls Hca1's cable and plugs it in again; the events after the snapshot in FILE must show both changes
web_client.py ADDR PORT rates FILE UIPOIB   makes h1 send to h2; the events must show the rate of this traffic
web_client.py ADDR PORT resume              reads some events, disconnects, and connects again
web_client.py ADDR PORT readers N           makes N clients that read events; one more must be refused
web_client.py ADDR PORT stuck UIPOIB        makes a client that does not read its events; it must be disconnected, and another client must read all events
web_client.py ADDR PORT crowd N             makes N connections that send nothing, while one more client asks until it is answered
"""
import json
import re
import resource
import socket
import subprocess
import sys
import time

PATIENCE = 60
where = (sys.argv[1], int(sys.argv[2]))


def connect():
    s = socket.create_connection(where, PATIENCE)
    s.settimeout(PATIENCE)
    return s


def everything(s):
    data = b""
    try:
        while some := s.recv(65536):
            data += some
    except ConnectionResetError:
        pass
    return data


def check_format(text):
    name = r"[a-z_][a-z0-9_]*"
    value = r'"(?:[^"\\\x00-\x1f\x7f]|\\["\\])*"'
    sample = re.compile(rf"({name})\{{{name}={value}(?:,{name}={value})*\}} \d+")
    seen, current, labels = set(), None, set()
    assert text.endswith("\n")
    for line in text[:-1].split("\n"):
        if m := re.fullmatch(rf"# HELP ({name}) (.+)", line):
            assert m[1] not in seen, f"twice: {line}"
            seen.add(m[1])
            current, typed = m[1], False
        elif m := re.fullmatch(rf"# TYPE ({name}) (counter|gauge)", line):
            assert m[1] == current and not typed, line
            assert (m[2] == "counter") == current.endswith("_total"), line
            typed = True
        else:
            m = sample.fullmatch(line)
            assert m and typed and m[1] == current, line
            assert line.rsplit(" ", 1)[0] not in labels, f"twice: {line}"
            labels.add(line.rsplit(" ", 1)[0])
    assert len(labels) > 50, len(labels)


def status(answer):
    return answer.split(b" ", 2)[1].decode() if answer.startswith(b"HTTP/1.") else "closed"


def raw(text):
    s = connect()
    try:
        s.sendall(text.encode().decode("unicode_escape").encode("latin-1"))
    except (BrokenPipeError, ConnectionResetError):
        pass
    return status(everything(s))


def slow():
    s, start = connect(), time.monotonic()
    try:
        s.sendall(b"GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\nX: ")
        while time.monotonic() - start < PATIENCE:
            s.sendall(b"x")
            s.settimeout(0.2)
            try:
                if not s.recv(1):
                    break
            except TimeoutError:
                pass
    except (BrokenPipeError, ConnectionResetError):
        pass
    return int(time.monotonic() - start)


def unread(n):
    ask = b"GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n" * 100
    held = [connect() for _ in range(n)]
    for s in held:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        try:
            s.sendall(ask)
        except OSError:
            pass
    print("asked", flush=True)
    time.sleep(8)


def crowd(n):
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(4096, resource.getrlimit(resource.RLIMIT_NOFILE)[1]),) * 2)
    held = [connect() for _ in range(n)]
    start = time.monotonic()
    while time.monotonic() - start < PATIENCE:
        try:
            if raw(r"GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n") == "200":
                return f"served with {len(held)} silent connections before"
        except OSError:
            pass
        time.sleep(0.2)
    return "not served"


class Events:
    """A reader of server-sent events: (id, type, data) one after the other; chunks of HTTP/1.1 are put together."""

    def __init__(self, since=None, last=None, recv_buffer=None):
        self.s = socket.socket()
        if recv_buffer:
            self.s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, recv_buffer)
        self.s.settimeout(PATIENCE)
        self.s.connect(where)
        query = "" if since is None else f"?since={since}"
        header = "" if last is None else f"Last-Event-ID: {last}\r\n"
        self.s.sendall(f"GET /api/events{query} HTTP/1.1\r\nHost: 127.0.0.1\r\n{header}\r\n".encode())
        self.file = self.s.makefile("rb")
        self.status = self.file.readline().split()[1].decode()
        while self.file.readline().strip():
            pass
        self.text = b""

    def __iter__(self):
        while True:
            while b"\n\n" not in self.text:
                size = int(self.file.readline() or b"0", 16)
                if not size:
                    return
                self.text += self.file.read(size)
                self.file.readline()
            one, self.text = self.text.split(b"\n\n", 1)
            fields = dict(line.split(": ", 1) for line in one.decode().split("\n") if ": " in line and line[0] != ":")
            if "event" in fields:
                yield int(fields.get("id", 0)), fields["event"], json.loads(fields["data"])

    def until(self, wants, patience=PATIENCE):
        """Reads until each function of @wants has been true for an event. Returns all events."""
        wants, seen, end = list(wants), [], time.monotonic() + patience
        for e in self:
            seen.append(e)
            wants = [w for w in wants if not w(e[1], e[2])]
            if not wants:
                return seen
            assert time.monotonic() < end, f"{len(wants)} events did not come; there were {seen}"
        raise AssertionError(f"the server ended; there were {seen}")


def uipoib(*args):
    subprocess.run([rest[-1], *args], check=True, stdout=subprocess.DEVNULL)


def notice(event, **members):
    return lambda e, d: e == "notice" and d["event"] == event and all(d.get(k) == v for k, v in members.items())


def link_is(index, state):
    return lambda e, d: e == "links" and any(l[0] == index and l[1] == state for l in d["links"])


def hca1_link(file):
    snapshot = json.load(open(file))
    names = [n["name"] for n in snapshot["nodes"]]
    for k, link in enumerate(snapshot["links"]):
        if "Hca1" in (names[link["a"][0]], names[link["b"][0]]):
            return snapshot, k, names[link["a"][0]] == "Hca1"


def cable(file):
    snapshot, k, _ = hca1_link(file)
    e = Events(snapshot["seq"])
    uipoib("fabric", "link", "set", "Hca1/1", "down")
    seen = e.until([notice("trap", link="down", peer="Hca1/1"), notice("link", ifname="uib0", host="h1"), link_is(k, "disabled"),
                    lambda e, d: e == "section" and d["name"] == "interfaces"])
    uipoib("fabric", "link", "set", "Hca1/1", "up")
    seen += e.until([link_is(k, "up"), notice("link", host="h1", state="UP", carrier=True)])
    ids = [i for i, _, _ in seen]
    assert ids == list(range(snapshot["seq"] + 1, snapshot["seq"] + 1 + len(ids))), ids


def rates(file):
    _, k, first = hca1_link(file)
    e = Events()
    ping = subprocess.Popen([rest[-1], "exec", "h1", "ping", "-q", "-i", "0.01", "-s", "1000", "10.4.0.2"], stdout=subprocess.DEVNULL)
    # An IP packet of 1028 octets has some 70 octets more on the InfiniBand link. At most 100 packets are sent a second.
    fits = lambda e, d: e == "links" and any(l[0] == k and 10000 < l[2 if first else 3] < 130000 for l in d["links"])
    try:
        e.until([fits])
    finally:
        ping.kill()
        ping.wait()


def resume():
    e = Events()
    snapshot = json.loads(get("/api/snapshot"))
    first = Events(snapshot["seq"] - 3).until([lambda e, d: True])[0][0]
    assert first == snapshot["seq"] - 2, (first, snapshot["seq"])
    # The header that browsers send when they connect again has precedence over the query.
    assert Events(snapshot["seq"] - 3, last=snapshot["seq"] - 2).until([lambda e, d: True])[0][0] == snapshot["seq"] - 1


def get(path):
    s = connect()
    s.sendall(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n".encode())
    return everything(s).split(b"\r\n\r\n", 1)[1]


def readers(n):
    end = time.monotonic() + PATIENCE
    while b'event_readers{what="now"} 0\n' not in get("/metrics"):
        assert time.monotonic() < end, "clients of the tests before have left, and the server does not see it"
        time.sleep(0.2)
    held = [Events() for _ in range(n)]
    assert all(e.status == "200" for e in held), [e.status for e in held]
    assert Events().status == "503"
    for e in held:
        e.s.close()
        e.file.close()
    end = time.monotonic() + PATIENCE
    while Events().status != "200":
        assert time.monotonic() < end, "there is no room again"
        time.sleep(0.5)


def stuck():
    """Causes events by sweeps until the buffers between the server and the client that does not read are full."""
    good, bad = Events(), Events(recv_buffer=2048)
    good.s.settimeout(PATIENCE)
    end = time.monotonic() + 2 * PATIENCE
    slow = lambda: b'event_readers_total{what="slow"} 0' not in get("/metrics")
    n = 0
    while not slow():
        for _ in range(20):
            uipoib("fabric", "sweep")
            n += 1
        assert time.monotonic() < end, "it was not cut off"
    seen = good.until([notice("sweep")])
    ids = [i for i, _, _ in seen]
    assert ids == list(range(ids[0], ids[0] + len(ids)))
    print(n, "sweeps")


what, rest = sys.argv[3], sys.argv[4:]
if what == "format":
    check_format(open(rest[0], encoding="utf-8", newline="\n").read())
elif what == "raw":
    print(raw(rest[0]))
elif what == "slow":
    print(slow())
elif what == "unread":
    unread(int(rest[0]))
elif what == "first":
    print(Events(rest[0]).until([lambda e, d: True])[0][1])
elif what == "cable":
    cable(rest[0])
elif what == "rates":
    rates(rest[0])
elif what == "resume":
    resume()
elif what == "readers":
    readers(int(rest[0]))
elif what == "stuck":
    stuck()
elif what == "crowd":
    print(crowd(int(rest[0])))
