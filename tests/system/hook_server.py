# SPDX-License-Identifier: BSD-2-Clause
"""Performs the steps of examples/conform_hook.py without starting an interpreter for each step. Starting an interpreter takes seconds on an
emulated processor, and most of the CPU time of a run of the suite on any other processor.

    hook_server.py DEV FIFO

The program reads lines "REPLY STEP [GROUP [NAME]]" from FIFO, which hook_step writes. REPLY is another FIFO, into which the program
writes the exit status of the step.
"""
import contextlib  # noqa: F401
import ctypes  # noqa: F401
import errno
import json  # noqa: F401
import os
import shutil  # noqa: F401
import signal
import socket  # noqa: F401
import struct  # noqa: F401
import subprocess  # noqa: F401
import sys
import tempfile  # noqa: F401
import time

HOOK = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../examples/conform_hook.py")


def status_of(code, argv):
    sys.argv = argv
    try:
        exec(code, {"__name__": "__main__", "__file__": HOOK})  # pylint: disable=exec-used
    except SystemExit as end:
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr, flush=True)
            return 1
        return end.code or 0
    return 0


def answer(path, status):
    """Writes the status into the FIFO REPLY as soon as hook_step has opened it for reading. Gives up after a minute, in case hook_step was killed."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        try:
            fd = os.open(path, os.O_WRONLY | os.O_NONBLOCK)
            os.write(fd, b"%d\n" % status)
            return
        except OSError as error:
            if error.errno != errno.ENXIO:
                return
        time.sleep(0.02)


def main():
    dev, fifo = sys.argv[1:]
    with open(HOOK, encoding="utf-8") as f:
        code = compile(f.read(), HOOK, "exec")
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    with os.fdopen(os.open(fifo, os.O_RDWR), encoding="ascii") as steps:
        for line in iter(steps.readline, ""):
            reply, *step = line.split()
            if os.fork():
                continue
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            answer(reply, status_of(code, [HOOK, dev, *step]))
            os._exit(0)


main()
