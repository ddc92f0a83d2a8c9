#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Do the unit tests and simulations notice when a line of the code is wrong?

    mutants.py [--count 60] [--seed SEED] [--least 90] [--jobs N] [--rooms wire,mad,...] [--list]

Changes one line of src/ROOM/*.c at a time (another comparison, another constant, a statement that is gone, ...), builds what
links it with ASan and UBSan, and runs the tests until one fails: those of the room first, then all others. The lines are
drawn with SEED, the hash of the last commit unless given, so that a run can be repeated. A change that does not compile is
drawn again. A change counts as equivalent only if the object code (gcc -O2) is the same, and is drawn again too.

Prints one TAP line, and before it each mutant: killed by which test, or survived. Exit status 1 if less than LEAST percent are
killed. The work is done in copies of the last commit, below TMPDIR.
"""
import argparse
import concurrent.futures
import os
import queue
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time

ROOMS = 'wire,text,mad,node,hca,topo,fabric,udp,partition,subnet,sm,sa,sac,ipoib,eth,ifc'
ASAN = 'hard_rss_limit_mb=3000:detect_leaks=1'

# Each operator: a pattern for a line whose comments and strings are blanked, and the replacement of its match.
OPERATORS = [
    (r'(?<![=!<>])==(?!=)', '!='), (r'!=', '=='),
    (r'(?<=\s)<(?=\s)', '<='), (r'(?<=\s)>(?=\s)', '>='), (r'<=', '<'), (r'(?<!-)>=', '>'),
    (r'&&', '||'), (r'\|\|', '&&'),
    (r'(?<=\s)\+(?=\s)', '-'), (r'(?<=\s)-(?=\s)', '+'), (r'(?<=\s)&(?=\s)', '|'), (r'(?<=\s)\|(?=\s)', '&'),
    (r'<<(?!=)', '>>'), (r'>>(?!=)', '<<'), (r'\+\+', '--'), (r'(?<!-)--(?!>)', '++'),
    (r'\+=', '-='), (r'-=', '+='), (r'\|=', '&='), (r'&=', '|='),
    (r'\btrue\b', 'false'), (r'\bfalse\b', 'true'),
    (r'(?<![\w.])0(?![\w.])', '1'), (r'(?<![\w.])[1-9][0-9]*(?![\w.])', lambda m: str(int(m[0]) + 1)),
    (r'(?<![\w.])0x[0-9a-fA-F]+(?![\w.])', lambda m: hex(int(m[0], 16) ^ 1)),
    (r'(?<=[(&|] )!(?=\w)|(?<=\()!(?=\w)', ''),
    (r'\bif \((?=.*\)( \{)?$)(?P<c>.*)\)(?P<e>( \{)?)$', lambda m: 'if (!(%s))%s' % (m['c'], m['e'])),
    (r'\breturn -E[A-Z]+;', 'return 0;'),
    (r'^(?P<i>\t+)(break|continue);$', lambda m: m['i'] + ';'),
    # remove a call or an assignment
    (r'^(?P<i>\t+)[a-z_][\w>.\-\[\]]*\(.*\);$', lambda m: m['i'] + ';'),
    (r'^(?P<i>\t+)[a-z_*][\w>.\-\[\]]* ([|&+\-]|<<|>>)?= .*;$', lambda m: m['i'] + ';'),
]
OPERATORS = [(re.compile(p), r) for p, r in OPERATORS]


def code_lines(text):
    """(number, line, line with comments and string literals blanked) of lines inside functions."""
    blank = lambda m: re.sub(r'[^\n]', ' ', m[0])  # noqa: E731
    bare = re.sub(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', blank, text, flags=re.S)
    for n, (line, code) in enumerate(zip(text.split('\n'), bare.split('\n'))):
        # Assertions are skipped, because they do not change behaviour; declarations without a value do nothing.
        if code.startswith('\t') and not re.search(r'\bassert\b|static_assert', code):
            yield n, line, code


def changes(line, code):
    """Yield every mutant of a line: the line with one operator applied at one place."""
    for pattern, by in OPERATORS:
        for m in pattern.finditer(code):
            start, end = m.span()
            # Where the replacement keeps a part of the match, take the text itself and not the blanked line.
            real = pattern.match(line, start) if by is not None and callable(by) else None
            new = (by(real or m) if callable(by) else by)
            changed = line[:start] + new + line[end:]
            if changed != line:
                yield changed


def draw(tree, rooms, rng):
    """Yield (file, line number, old line, mutant), in random order, for each line once."""
    lines = []
    for room in rooms:
        folder = os.path.join(tree, 'src', room)
        for name in sorted(os.listdir(folder)) if os.path.isdir(folder) else []:
            if name.endswith('.c'):
                path = os.path.join('src', room, name)
                with open(os.path.join(tree, path)) as f:
                    for n, line, code in code_lines(f.read()):
                        if any(True for _ in changes(line, code)):
                            lines.append((path, n, line, code))
    rng.shuffle(lines)
    for path, n, line, code in lines:
        yield path, n, line, rng.choice(list(changes(line, code)))


def sh(tree, cmd, timeout=1200, **kw):
    return subprocess.run(cmd, cwd=tree, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          errors='replace', timeout=timeout, **kw)


class Tests:
    """The test programs, with the time that each takes on the unchanged code."""

    def __init__(self, tree):
        self.tree = tree
        r = sh(tree, ['make', '-s', '-j%d' % (os.cpu_count() or 1), 'SAN=1', 'tests'], timeout=7200)
        if r.returncode:
            sys.exit(r.stdout[-3000:] + '\nmutants: the tests do not build')
        self.seconds = {}
        for kind in 'unit', 'sim':
            for name in sorted(os.listdir(os.path.join(tree, 'tests', kind))):
                if name.startswith('test_') and name.endswith('.c'):
                    t = 'build/san/%s/%s' % (kind, name[:-2])
                    start = time.monotonic()
                    if run_test(tree, t, 600):
                        sys.exit('mutants: %s fails without a change' % t)
                    self.seconds[t] = time.monotonic() - start
        self.uses = {}
        with open(os.path.join(tree, 'build/san/layers.mk')) as f:
            for line in f:
                m = re.match(r'uses_(\w+)\s*:=\s*(.*)', line)
                if m:
                    self.uses[m[1]] = m[2].split()

    def turns(self, path):
        """The test programs that link PATH, in three groups that run one after another: named after its room and its file, after one of them, after neither. Within a group the quickest come first."""
        _, room, name = path.split('/')
        words, turns = set(name[:-2].split('_')), ([], [], [])
        for t in sorted(self.seconds, key=self.seconds.get):
            about = os.path.basename(t)[len('test_'):].split('_')
            if room in self.uses.get(about[0], [room]):
                of_file, of_room = bool(words & set(about[1:])), room in about
                turns[0 if of_file and of_room else 1 if of_file or of_room else 2].append(t)
        return [x for x in turns if x]


def run_test(tree, test, timeout):
    """Run a test program. Return None if it passed, else the reason of its failure."""
    env = dict(os.environ, ASAN_OPTIONS=ASAN, CMOCKA_MESSAGE_OUTPUT='TAP')
    try:
        r = sh(tree, [test], timeout=timeout, env=env)
    except subprocess.TimeoutExpired:
        return 'it does not end'
    if r.returncode == 0:
        return None
    bad = re.search(r'^not ok \d+ - (\w+)', r.stdout, re.M)
    return bad[1] if bad else 'status %d' % r.returncode


class Worker:
    def __init__(self, tree, tests):
        self.tree, self.tests = tree, tests

    def object_code(self, path, out):
        flags = '-std=gnu11 -O2 -fno-strict-aliasing -D_GNU_SOURCE -Isrc -w -g0'.split()
        if path.startswith('src/crc/'):
            flags += '-msse4.1 -mpclmul -mavx512f -mavx512vl -mavx512bw -mvpclmulqdq'.split()
        r = sh(self.tree, ['gcc', *flags, '-c', '-o', out, path])
        if r.returncode:
            return None
        with open(os.path.join(self.tree, out), 'rb') as f:
            return f.read()

    def kill(self, mutant):
        """Apply the mutant and run the tests. Return 'stillborn', 'equivalent', 'survived', or the test that noticed it."""
        path, n, old, new = mutant
        full = os.path.join(self.tree, path)
        with open(full) as f:
            text = f.read()
        before = self.object_code(path, 'mutant.o')
        lines = text.split('\n')
        lines[n] = new
        try:
            with open(full, 'w') as f:
                f.write('\n'.join(lines))
            after = self.object_code(path, 'mutant.o')
            if after is None:
                return 'stillborn'
            if after == before:
                return 'equivalent'
            obj = 'build/san/obj/' + path[len('src/'):-2] + '.o'
            if sh(self.tree, ['make', '-s', 'SAN=1', obj]).returncode:
                return 'stillborn'
            for turn in self.tests.turns(path):
                # A few at a time, because most mutants die early, and a program takes longer to link than to
                # run.
                for i in range(0, len(turn), 4):
                    r = sh(self.tree, ['make', '-s', 'SAN=1', *turn[i:i + 4]])
                    if r.returncode:
                        return 'stillborn'
                    for t in turn[i:i + 4]:
                        why = run_test(self.tree, t, 30 + 20 * self.tests.seconds[t])
                        if why:
                            return '%s: %s' % (t[len('build/san/'):], why)
            return 'survived'
        finally:
            with open(full, 'w') as f:
                f.write(text)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument('--count', type=int, default=60)
    p.add_argument('--seed')
    p.add_argument('--least', type=int, default=90, help='percent')
    p.add_argument('--jobs', type=int, default=max(1, os.cpu_count() or 1))
    p.add_argument('--rooms', default=ROOMS)
    p.add_argument('--list', action='store_true', help='only print what would be drawn')
    a = p.parse_args()
    root = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..')
    seed = a.seed or sh(root, ['git', 'rev-parse', 'HEAD']).stdout.strip()
    mutants = draw(root, a.rooms.split(','), random.Random(seed))
    if a.list:
        for _, m in zip(range(a.count), mutants):
            print('%s:%d: %s  ->  %s' % (m[0], m[1] + 1, m[2].strip(), m[3].strip()))
        return 0

    work = tempfile.mkdtemp(prefix='uipoib-mutants.')
    try:
        first = os.path.join(work, '0')
        os.mkdir(first)
        subprocess.run(['bash', '-c', 'git archive HEAD | tar -xC "$1"', '-', first], check=True, cwd=root)
        print('# seed %s, %s' % (seed, a.rooms), flush=True)
        mutants = draw(first, a.rooms.split(','), random.Random(seed))
        tests = Tests(first)
        print('# %d programs, %.0f s without a change' % (len(tests.seconds), sum(tests.seconds.values())), flush=True)
        free = queue.Queue()
        for j in range(a.jobs):
            tree = os.path.join(work, str(j))
            if j:
                subprocess.run(['cp', '-a', first, tree], check=True)
            free.put(Worker(tree, tests))
        return judge(mutants, free, a)
    finally:
        shutil.rmtree(work)


def judge(mutants, free, a):
    def one(m):
        w = free.get()
        try:
            return m, w.kill(m)
        finally:
            free.put(w)

    killed, survived, equivalent, stillborn = 0, [], 0, 0
    with concurrent.futures.ThreadPoolExecutor(a.jobs) as pool:
        waiting = set()
        while True:
            # Mutants that do not count are replaced by new ones, so the same mutants count whatever the number
            # of parallel runs.
            while killed + len(survived) + len(waiting) < a.count:
                m = next(mutants, None)
                if m is None:
                    break
                waiting.add(pool.submit(one, m))
            if not waiting:
                break
            done, waiting = concurrent.futures.wait(waiting, return_when=concurrent.futures.FIRST_COMPLETED)
            for m, how in (f.result() for f in done):
                where = '%s:%d: %s  ->  %s' % (m[0], m[1] + 1, m[2].strip(), m[3].strip())
                print('# %s  [%s]' % (where, how), flush=True)
                stillborn += how == 'stillborn'
                equivalent += how == 'equivalent'
                if how == 'survived':
                    survived.append(where)
                elif how not in ('stillborn', 'equivalent'):
                    killed += 1
    for s in survived:
        print('# survived: ' + s)
    print('# %d killed, %d survived; drawn again: %d of the same object code, %d that do not compile'
          % (killed, len(survived), equivalent, stillborn))
    good = killed * 100 >= a.least * (killed + len(survived)) and killed
    print('%s - at least %d %% of %d mutants are killed' % ('ok' if good else 'not ok', a.least, killed + len(survived)))
    return 0 if good else 1


sys.exit(main())
