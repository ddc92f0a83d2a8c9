#!/usr/bin/python3 -IS
# SPDX-License-Identifier: BSD-2-Clause
"""
Runs in a VM for tests/interop/linux/lib.sh. Reads lines "ID SCRIPT", the script for bash in base64; writes "ID STATUS OUTPUT",
the output in base64, when that has ended. Any number run at a time. The line "end" ends it: the end of its input is not
seen while somebody else, as another VM of the script, has inherited the pipe.

One process a command, since each costs a tenth of a second on an emulated processor.
"""
import base64
import os
import subprocess
import sys
import tempfile
import threading

lock = threading.Lock()


def run(name, script):
    # A file, not a pipe: what the script leaves in the background may hold it.
    with tempfile.TemporaryFile(dir="/dev/shm") as out:
        status = subprocess.call(["bash", "-c", script], stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT)
        out.seek(0)
        text = base64.b64encode(out.read()).decode()
    line = "%s %d %s\n" % (name, status if status >= 0 else 128 - status, text)
    with lock:
        sys.stdout.write(line)
        sys.stdout.flush()


for request in iter(sys.stdin.readline, ""):
    words = request.split()
    if words[0] == "end":
        os._exit(0)  # whatever still runs
    threading.Thread(target=run, args=(words[0], base64.b64decode(words[1])), daemon=True).start()
