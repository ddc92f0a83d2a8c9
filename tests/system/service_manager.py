#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""A service manager for one service. It sets $NOTIFY_SOCKET and $WATCHDOG_USEC for the service, and writes the service's messages to a file.

    service_manager.py ADDRESS LOG WATCHDOG_MS CMD [ARG ...]

ADDRESS is a path, or '@' and an abstract name. Each line of LOG is one message as the service sent it, with blanks for line ends. SIGTERM is
passed on to CMD, and the exit status is that of CMD.
"""
import os
import signal
import socket
import subprocess
import sys
import threading

address, log, watchdog = sys.argv[1], sys.argv[2], int(sys.argv[3])
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind("\0" + address[1:] if address[0] == "@" else address)
env = dict(os.environ, NOTIFY_SOCKET=address)
if watchdog:
    env["WATCHDOG_USEC"] = str(watchdog * 1000)
service = subprocess.Popen(sys.argv[4:], env=env, close_fds=False)
signal.signal(signal.SIGTERM, lambda *_: service.terminate())


def listen():
    with open(log, "w", buffering=1) as out:
        while said := s.recv(4096):
            print(said.decode().replace("\n", " "), file=out)


listener = threading.Thread(target=listen)
listener.start()
status = service.wait()
s.shutdown(socket.SHUT_RD)          # the listener reads the messages that have arrived, and ends
listener.join()
sys.exit(status)
