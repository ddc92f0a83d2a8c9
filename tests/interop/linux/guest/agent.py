#!/usr/bin/python3 -IS
# SPDX-License-Identifier: BSD-2-Clause
"""
Runs commands in a VM for tests/interop/linux/lib.sh. It reads lines "ID SCRIPT", with a script for bash in base64, and
writes "ID STATUS OUTPUT .", with the output in base64, when the script has ended. The full stop tells a whole line from one
that has come in part. Any number of scripts may run at a time. The line "end" ends the program; the end of its input would not
do, because another VM of the test may have inherited the pipe.

There is only one process for each command, since starting one costs a tenth of a second on an emulated processor.
"""
import base64
import os
import subprocess
import sys
import tempfile
import threading

lock = threading.Lock()


def run(name, script):
    # The output goes to a file, because a background process of the script could hold a pipe open for ever.
    with tempfile.TemporaryFile(dir="/dev/shm") as out:
        status = subprocess.call(["bash", "-c", script], stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT)
        out.seek(0)
        text = base64.b64encode(out.read()).decode()
    line = "%s %d %s .\n" % (name, status if status >= 0 else 128 - status, text)
    with lock:
        sys.stdout.write(line)
        sys.stdout.flush()


for request in iter(sys.stdin.readline, ""):
    words = request.split()
    if words[0] == "end":
        os._exit(0)  # without waiting for commands that still run
    threading.Thread(target=run, args=(words[0], base64.b64decode(words[1])), daemon=True).start()
