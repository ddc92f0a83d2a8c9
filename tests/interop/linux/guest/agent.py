#!/usr/bin/python3 -IS
# SPDX-License-Identifier: BSD-2-Clause
"""
Runs commands in a VM for tests/interop/linux/lib.sh. The program reads lines "ID SCRIPT", where SCRIPT is a bash script
in base64. When a script has ended, the program writes "ID STATUS OUTPUT .", with the output in base64. The full stop
shows the reader that the line has arrived completely. Any number of scripts may run at a time. The line "end" ends the
program. Closing its input would not end it, because another VM of the test may have inherited the pipe.

Starting a process takes a tenth of a second on an emulated processor. So a script that consists only of a program and its
arguments is started without a shell.
"""
import base64
import os
import subprocess
import sys
import tempfile
import threading

lock = threading.Lock()


def words_of(script):
    """Returns the words of a script that is one command without expansions, with the quotes removed; None for any other script."""
    words, word, quoted = [], None, False
    for c in script.rstrip("\n") + " ":
        if c == "'":
            quoted, word = not quoted, word or ""
        elif quoted or c.isalnum() or c in "_./:=@,%+-":
            word = (word or "") + c
        elif c != " ":
            return None
        elif word is not None:
            words.append(word)
            word = None
    return words if words and not quoted else None


def status_of(argv, out):
    return subprocess.call(argv, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT)


def run(name, script):
    # The output goes to a file, because a background process of the script could hold a pipe open for ever.
    with tempfile.TemporaryFile(dir="/dev/shm") as out:
        try:
            status = status_of(words_of(script) or ["bash", "-c", script], out)
        except OSError:  # the first word is a word of the shell, such as exec, or a missing program, which the shell reports
            status = status_of(["bash", "-c", script], out)
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
    threading.Thread(target=run, args=(words[0], base64.b64decode(words[1]).decode()), daemon=True).start()
