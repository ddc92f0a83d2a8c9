# SPDX-License-Identifier: BSD-2-Clause
"""Clients of `uipoib web`.

web_client.py ADDR PORT format FILE         FILE is Prometheus' text format 0.0.4, and nothing else is in it
web_client.py ADDR PORT raw TEXT            sends TEXT (escapes as in Python), prints the status of the answer, or "closed"
web_client.py ADDR PORT slow                a request that comes an octet at a time, without end: prints the seconds until it is dropped
web_client.py ADDR PORT unread N            N clients ask for everything many times and read nothing, and stay for ten seconds
web_client.py ADDR PORT crowd N             N connections that say nothing, while one more asks again and again until it has its answer
"""
import re
import socket
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
    time.sleep(10)


def crowd(n):
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


what, rest = sys.argv[3], sys.argv[4:]
if what == "format":
    check_format(open(rest[0], encoding="utf-8", newline="\n").read())
elif what == "raw":
    print(raw(rest[0]))
elif what == "slow":
    print(slow())
elif what == "unread":
    unread(int(rest[0]))
elif what == "crowd":
    print(crowd(int(rest[0])))
