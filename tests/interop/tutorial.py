#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
#
# Types the commands of the lessons in doc/tutorial as a reader would, and compares their output with the text.
#
#	tutorial.py LESSON.md...		print TAP, one line for each command
#	tutorial.py --write LESSON.md...	write the output of the commands into the lessons, where it differs
#						from the text
#	tutorial.py --self-test			test the comparison of output and text
#
# A lesson has console blocks. In a console block a line that begins with "$ " is a command, and the lines after
# this line are the command's output:
#
#	```console			The reader's terminal: one shell for the whole lesson. All of the output is compared.
#	```console again		The same terminal. The commands show a state that is reached after some time, so
#					they are repeated until their output equals the text.
#	```console terminal-2		Another terminal, whose command continues to run. The text is the command's next
#					output. A block without a command shows more output. A line "^C" interrupts the
#					command and waits for its end.
#	```console vm			The shell in a virtual machine, which the first command, `uipoib vm ... -- bash`, starts.
#
# Some output differs between runs. "…" in the text matches one or more characters that are not blank, and a line "..."
# matches any number of lines. Any number of blanks equals any other number, because the width of columns depends on
# their contents. All other characters must be equal.
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

PATIENCE = int(os.environ.get("PATIENCE", 90))  # seconds in which the output of a command must become equal to the text
ANY_WORD, ANY_LINES = "…", "..."


# --- the text

class Step:
    """A command and the text of its output, which is lines[first:last]. If command is None, the text is further output
    of another terminal."""

    def __init__(self, command, words, first):
        self.command = command
        self.again = "again" in words
        self.vm = "vm" in words
        self.terminal = next((w for w in words if w.startswith("terminal-")), None)
        self.first = self.last = first


def steps_of(lines):
    steps, words = [], None
    for i, line in enumerate(lines):
        if words is None:
            if line.startswith("```console"):
                words = line.split()[1:]
                unknown = [w for w in words if w not in ("again", "vm") and not w.startswith("terminal-")]
                if unknown:
                    raise SystemExit(f"line {i + 1}: console {unknown[0]}: expected again, vm or terminal-N")
                begun = False
        elif line == "```":
            words = None
        elif line.startswith("$ "):
            steps.append(Step(line[2:], words, i + 1))
            begun = True
        else:
            if not begun:
                steps.append(Step(None, words, i))
                begun = True
            steps[-1].last = i + 1
    return steps


def pattern(text):
    """Returns the regular expression that the output must match, after joined() has reduced the blanks in each line to
    single blanks."""
    out = ""
    for line in text:
        if line.strip() == ANY_LINES:
            out += r"(?:.*\n)*?"
        else:
            out += r"\S+".join(re.escape(part) for part in plain(line).split(ANY_WORD)) + r"\n"
    return re.compile(out)


def plain(line):
    return " ".join(line.split())


def joined(lines):
    return "".join(plain(line) + "\n" for line in lines)


def same(text, output):
    return pattern(text).fullmatch(joined(output)) is not None


def begins(text, output):
    """Returns the number of lines at the beginning of the output that match the text; None if the beginning does not
    match."""
    m = pattern(text).match(joined(output))
    return m and m.group().count("\n")


def changed(text):
    """Yields copies of the text in which one digit is changed."""
    for i, line in enumerate(text):
        for m in re.finditer(r"[0-9]", line):
            other = str((int(m.group()) + 1) % 10)
            yield text[:i] + [line[:m.start()] + other + line[m.end():]] + text[i + 1:]


# --- terminals

class Shell:
    """The reader's terminal. One bash runs all commands, so variables and the current folder are kept."""

    def __init__(self, program="exec bash --norc --noprofile", path=os.environ["PATH"]):
        self.bash = subprocess.Popen(["bash", "-c", program], env={**os.environ, "PATH": path}, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                     stderr=subprocess.STDOUT, text=True, errors="replace")

    def run(self, command):
        mark = f"end-of-output-{os.getpid()}"
        self.bash.stdin.write(f"{{ {command}\n}} </dev/null\necho\necho {mark}\n")
        self.bash.stdin.flush()
        lines = []
        for line in self.bash.stdout:
            if line.rstrip("\n") == mark:
                break
            lines.append(line.rstrip("\n"))
        # If the last line has no newline, the first echo completes it. Otherwise the echo prints an empty line, which
        # is removed.
        return lines[:-1] if lines[-1:] == [""] else lines

    def path(self):
        return self.run("echo $PATH")[0]

    def close(self):
        self.bash.stdin.close()
        self.bash.wait()


class Terminal:
    """Another terminal, in which one command continues to run; .read is the number of lines that the lesson has already shown."""

    def __init__(self, command, path):
        self.file = tempfile.NamedTemporaryFile("r", prefix="tutorial-", errors="replace")
        # bash gets its own session, as in a terminal, so that Ctrl-C reaches all its processes. The default action of
        # SIGINT is restored, because bash would inherit an ignored SIGINT: a shell that starts this program in the
        # background makes it ignore SIGINT.
        with open(self.file.name, "w", encoding="utf-8") as out:
            self.child = subprocess.Popen(["bash", "-c", command], stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT,
                                          env={**os.environ, "PATH": path}, start_new_session=True,
                                          preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
        self.read = 0
        until(self.waits)

    def waits(self):
        """Tells whether the command has started up, that is, has ended or sleeps. A reader never types the next command
        before this moment."""
        if self.child.poll() is not None:
            return True
        try:
            with open(f"/proc/{self.child.pid}/comm", encoding="utf-8") as comm, \
                    open(f"/proc/{self.child.pid}/wchan", encoding="utf-8") as wchan:
                return comm.read() != "bash\n" and re.search("poll|recv|unix|skb", wchan.read()) is not None
        except OSError:
            return False

    def lines(self):
        self.file.seek(0)
        text = self.file.read()
        return text[:text.rfind("\n") + 1].splitlines()[self.read:]

    def interrupt(self):
        self.signal(signal.SIGINT)
        self.end()

    def signal(self, number):
        try:
            os.killpg(self.child.pid, number)
        except ProcessLookupError:
            pass

    def end(self):
        try:
            self.child.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.signal(signal.SIGKILL)
            self.child.wait()

    def close(self):
        if self.child.poll() is None:
            self.signal(signal.SIGTERM)
            self.end()


def until(condition):
    deadline = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


# --- a lesson

class Lesson:
    def __init__(self, path):
        self.path = path
        self.name = os.path.splitext(os.path.basename(path))[0]
        with open(path, encoding="utf-8") as f:
            self.lines = f.read().splitlines()
        self.steps = steps_of(self.lines)
        self.shell = Shell()
        self.vm = None
        self.terminals = {}
        self.failed = False

    def check(self, what, good, *shown):
        print(f"{'ok' if good else 'not ok'} - {self.name}: {what}")
        if not good:
            self.failed = True
            for title, lines in shown:
                print(f"#   {title}:")
                for line in lines[:60]:
                    print(f"#     {line}")
        sys.stdout.flush()

    def text(self, step):
        return self.lines[step.first:step.last]

    def in_shell(self, step):
        text = self.text(step)
        shell = self.shell
        if step.vm:
            if not self.vm:
                self.vm = Shell(step.command, self.shell.path())
                return not text, self.vm.run("true")
            shell = self.vm
        out = shell.run(step.command)
        deadline = time.monotonic() + PATIENCE
        while step.again and not same(text, out) and time.monotonic() < deadline:
            time.sleep(0.1)
            out = shell.run(step.command)
        return same(text, out), out

    def in_terminal(self, step):
        text, interrupt = self.text(step), False
        if "^C" in text:
            text, interrupt = text[:text.index("^C")], True
        if step.command:
            old = self.terminals.pop(step.terminal, None)
            if old:
                old.close()
            self.terminals[step.terminal] = Terminal(step.command, self.shell.path())
        t = self.terminals[step.terminal]
        good = until(lambda: begins(text, t.lines()) is not None)
        out = t.lines()
        t.read += begins(text, out) or 0
        out = out[:begins(text, out)]
        if interrupt:
            after = self.text(step)[len(text) + 1:]
            t.interrupt()
            good = good and begins(after, t.lines()) is not None
            out += ["^C"] + t.lines()
        return good, out

    def run(self, write):
        wrong = 0
        for step in self.steps:
            good, out = (self.in_terminal if step.terminal else self.in_shell)(step)
            text = self.text(step)
            self.check(f"$ {step.command}" if step.command else f"{step.terminal} goes on", good,
                       ("the text", text), ("what was printed", out))
            step.out = None if good else out
            if good and not step.terminal:
                wrong += sum(same(t, out) for t in changed(text))
        self.check("a figure that is changed in the text is noticed, whichever it is", wrong == 0,
                   (f"changes that nobody would notice: {wrong}", []))
        self.close()
        if write:
            self.write()

    def write(self):
        for step in reversed(self.steps):
            if step.out is not None:
                self.lines[step.first:step.last] = step.out
        with open(self.path, "w", encoding="utf-8") as f:
            f.write("\n".join(self.lines) + "\n")

    def close(self):
        for t in self.terminals.values():
            t.close()
        if self.vm:
            self.vm.close()
        self.shell.close()
        left = os.listdir("/run/uipoib") if os.path.isdir("/run/uipoib") else []
        self.check("no instance is left", not left, ("still there", left))


# --- the comparison itself

def self_test():
    out = ["LID  PORT", "  3     7  Hca4/1", "time=0.2 ms", "done"]
    cases = [
        ("the same", out, True),
        ("other blanks", ["LID PORT", "3 7 Hca4/1", "time=0.2 ms", "done"], True),
        ("a word that differs", ["LID PORT", "3 7 Hca4/1", "time=… ms", "done"], True),
        ("lines that are left out", ["LID PORT", "...", "done"], True),
        ("another figure", ["LID PORT", "3 8 Hca4/1", "time=… ms", "done"], False),
        ("a word that is missing", ["LID PORT", "3 Hca4/1", "time=… ms", "done"], False),
        ("one word is not two", ["LID PORT", "…", "time=… ms", "done"], False),
        ("a word that is empty", ["LID PORT", "3 7 Hca4/1…", "time=… ms", "done"], False),
        ("a line too many", out + ["more"], False),
        ("a line too few", out[:-1], False),
        ("nothing", [], False),
        ("an expression is text", [".*", "3 7 Hca4/1", "time=… ms", "done"], False),
        ("three points within a line", ["LID ...", "3 7 Hca4/1", "time=… ms", "done"], False),
    ]
    for what, text, want in cases:
        print(f"{'ok' if same(text, out) == want else 'not ok'} - the comparison: {what}")
    return all(same(text, out) == want for _, text, want in cases)


def main():
    args = sys.argv[1:]
    if args == ["--self-test"]:
        return 0 if self_test() else 1
    write = args[:1] == ["--write"]
    failed = False
    for path in args[write:]:
        lesson = Lesson(path)
        lesson.run(write)
        failed |= lesson.failed
    return 1 if failed else 0


sys.exit(main())
