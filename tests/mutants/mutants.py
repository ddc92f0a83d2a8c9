#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Measures how many wrong lines of code the unit tests and simulations notice.

    mutants.py [--count 60] [--seed SEED] [--least 90] [--jobs N] [--rooms wire,mad,...] [--one-seed] [--list]

A mutant is the code with a change of one line of src/ROOM/*.c (another comparison, another constant, a removed statement, ...).
The program builds the tests that link this line with ASan and UBSan, and runs them until one fails. The lines are drawn with
SEED, by default the hash of the last commit, so that a run can be repeated. If a change does not compile, or is equivalent,
another change is drawn. A change is equivalent only if the object code (gcc -O2) is the same.

There are three passes. First the mutants are drawn and compiled. Then all tests run once on the unchanged code, with coverage
counters in the files that have a mutant. Last, each mutant is linked with the tests that run its line, because no other test
can notice it. The tests of the room come first.

The program prints a line for each mutant, which names the test that failed or says that the mutant survived, and then one TAP
line. The exit status is 1 if tests fail for less than LEAST percent of the mutants. The work is done in copies of the last commit,
in TMPDIR.
"""
import argparse
import concurrent.futures
import json
import os
import queue
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time

ROOMS = 'wire,crc,train,text,mad,cm,node,hca,topo,fabric,udp,partition,subnet,sm,sa,sac,sidr,ipoib,eth,ifc'
ASAN = 'hard_rss_limit_mb=3000:detect_leaks=1'
# These simulations take as long as all other tests together, so they run with one seed first.
ONE_SEED = {'test_all_lab': {'LAB_SEED': '1'}, 'test_all_soak': {'SOAK_SEED': '1'}}

# Each operator: a pattern for a line whose comments and strings are blanked, and the replacement of the match.
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
    """Yield (number, line, line with comments and string literals blanked) for each line inside functions."""
    blank = lambda m: re.sub(r'[^\n]', ' ', m[0])  # noqa: E731
    bare = re.sub(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', blank, text, flags=re.S)
    for n, (line, code) in enumerate(zip(text.split('\n'), bare.split('\n'))):
        # Assertions are skipped, because they do not change behaviour.
        if code.startswith('\t') and not re.search(r'\bassert\b|static_assert', code):
            yield n, line, code


def changes(line, code):
    """Yield every mutant of a line: the line with one operator applied at one place."""
    for pattern, by in OPERATORS:
        for m in pattern.finditer(code):
            start, end = m.span()
            # If the replacement contains a part of the match, take this part from the text itself, not from the
            # blanked line.
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


def make(tree, *args, timeout=1200):
    """Run make for the build with ASan. Return its output if it failed, otherwise None."""
    r = sh(tree, ['make', '-s', 'SAN=1', *args], timeout=timeout)
    return r.stdout if r.returncode else None


def object_of(path):
    return 'build/san/obj/' + path[len('src/'):-2] + '.o'


def test_name(test):
    return test[len('build/san/'):]


def run_test(tree, test, timeout, all_seeds=False, **more_env):
    """Run a test program. Return None if it passed, otherwise the reason of its failure."""
    env = dict(os.environ, ASAN_OPTIONS=ASAN, CMOCKA_MESSAGE_OUTPUT='TAP', **more_env)
    if not all_seeds:
        env.update(ONE_SEED.get(os.path.basename(test), {}))
    try:
        r = sh(tree, [test], timeout=timeout, env=env)
    except subprocess.TimeoutExpired:
        return 'it does not end'
    if r.returncode == 0:
        return None
    bad = re.search(r'^not ok \d+ - (\w+)', r.stdout, re.M)
    return bad[1] if bad else 'status %d' % r.returncode


class Mutant:
    def __init__(self, number, drawn):
        self.number = number
        self.path, self.line, self.old, self.new = drawn
        self.object = 'mutants/%d.o' % number  # in the tree of the worker that compiled it, later in every tree

    def __str__(self):
        return '%s:%d: %s  ->  %s' % (self.path, self.line + 1, self.old.strip(), self.new.strip())

    def compile(self, tree):
        """Compile the mutant, and leave the tree as it was. Return 'stillborn' if the mutant does not compile, 'equivalent' if its object
        code is that of the unchanged file, otherwise None."""
        full = os.path.join(tree, self.path)
        with open(full) as f:
            text = f.read()
        before = plain_object(tree, self.path)
        lines = text.split('\n')
        lines[self.line] = self.new
        try:
            with open(full, 'w') as f:
                f.write('\n'.join(lines))
            after = plain_object(tree, self.path)
            if after is None:
                return 'stillborn'
            if after == before:
                return 'equivalent'
            if make(tree, 'O=mutant', object_of(self.path).replace('build/san', 'mutant')):
                return 'stillborn'
            os.makedirs(os.path.join(tree, 'mutants'), exist_ok=True)
            shutil.copy(os.path.join(tree, object_of(self.path).replace('build/san', 'mutant')), os.path.join(tree, self.object))
            return None
        finally:
            with open(full, 'w') as f:
                f.write(text)


def plain_object(tree, path):
    """Return the object code of a file without sanitizers, or None if it does not compile."""
    flags = '-std=gnu11 -O2 -fno-strict-aliasing -D_GNU_SOURCE -Isrc -w -g0'.split()
    if path.startswith('src/crc/'):
        flags += '-msse4.1 -mpclmul -mavx512f -mavx512vl -mavx512bw -mvpclmulqdq'.split()
    r = sh(tree, ['gcc', *flags, '-c', '-o', 'mutant.o', path])
    if r.returncode:
        return None
    with open(os.path.join(tree, 'mutant.o'), 'rb') as f:
        return f.read()


class Tests:
    """The test programs, with the time that each takes on the unchanged code, and the lines of the mutants' files that it runs."""

    def __init__(self, tree, paths, pool):
        self.tree, self.paths = tree, sorted(paths)
        bad = make(tree, 'build/san/layers.mk')
        if bad:
            sys.exit(bad)
        with open(os.path.join(tree, 'build/san/layers.mk')) as f:
            self.uses = {m[1]: m[2].split() for m in re.finditer(r'^uses_(\w+)\s*:=\s*(.*)$', f.read(), re.M)}
        self.names = ['build/san/%s/%s' % (kind, name[:-2]) for kind in ('unit', 'sim')
                      for name in sorted(os.listdir(os.path.join(tree, 'tests', kind)))
                      if name.startswith('test_') and name.endswith('.c')]
        self.names = [n for n in self.names if any(self.links(n, p) for p in self.paths)]
        self.build()
        self.seconds, self.files = {}, {}
        for t, seconds, files in pool.map(self.measure, self.names):
            self.seconds[t], self.files[t] = seconds, files

    def links(self, test, path):
        """Tell whether the test program links the room of PATH."""
        of, room = os.path.basename(test).split('_')[1], path.split('/')[1]
        return room in self.uses.get(of, [room])

    def build(self):
        """Build all test programs, with coverage counters in the files that have a mutant."""
        jobs = '-j%d' % (os.cpu_count() or 1)
        objects = [object_of(p) for p in self.paths]
        bad = (make(self.tree, jobs, *[n.replace('build/san/', 'build/san/testobj/') + '.o' for n in self.names], timeout=7200) or
               make(self.tree, jobs, 'CFLAGS=-g --coverage', *objects, timeout=7200) or
               make(self.tree, jobs, 'LDFLAGS=--coverage', *self.names, timeout=7200))
        if bad:
            sys.exit(bad[-3000:] + '\nmutants: the tests do not build')

    def measure(self, test):
        """Run a test on the unchanged code. Return its name, its seconds, and {path: gcov's report of the file}."""
        folder = os.path.join(self.tree, 'coverage', os.path.basename(test))
        for p in self.paths:
            notes = object_of(p)[:-2] + '.gcno'
            os.makedirs(os.path.dirname(os.path.join(folder, notes)), exist_ok=True)
            os.symlink(os.path.join(self.tree, notes), os.path.join(folder, notes))
        strip = len([x for x in self.tree.split('/') if x])
        start = time.monotonic()
        why = run_test(self.tree, test, 1200, GCOV_PREFIX=folder, GCOV_PREFIX_STRIP=str(strip))
        seconds = time.monotonic() - start
        if why:
            sys.exit('mutants: %s fails without a change: %s' % (test, why))
        counts = [os.path.join(folder, object_of(p)[:-2] + '.gcda') for p in self.paths]
        counts = [c for c in counts if os.path.exists(c)]
        files = {}
        if counts:
            r = subprocess.run(['gcov', '-j', '-t', *counts], cwd=self.tree, stdout=subprocess.PIPE, check=True, text=True)
            for text in filter(str.strip, r.stdout.split('\n')):
                files.update((f['file'], f) for f in json.loads(text)['files'])
        shutil.rmtree(folder)
        return test, seconds, files

    def runs(self, test, path, n):
        """Tell whether TEST runs line N of PATH. If the compiler does not count the line, because it is within a statement of several lines, tell whether TEST runs the function. If the line is in a table outside functions, tell whether TEST runs any code of a room that may use PATH."""
        if test not in self.files or path not in self.files[test]:
            # If the test does not need a member of an archive, the member is not linked and has no counts. A table
            # without code has none either.
            return not any(path in f and f[path]['functions'] for f in self.files.values())
        f = self.files[test][path]
        counts = [x['count'] for x in f['lines'] if x['line_number'] == n + 1]
        if counts:
            return any(counts)
        inside = [x['execution_count'] for x in f['functions'] if x['start_line'] <= n + 1 <= x['end_line']]
        return any(inside) if inside else True

    def turns(self, path, n):
        """Return the test programs that run line N of PATH, in groups that run one after another: first those that are named after the
        room and the file, then after one of the two, then all others. Within a group the quickest tests come first."""
        _, room, name = path.split('/')
        words, turns = set(name[:-2].split('_')), ([], [], [])
        for t in sorted(self.seconds, key=self.seconds.get):
            about = os.path.basename(t)[len('test_'):].split('_')
            if self.links(t, path) and self.runs(t, path, n):
                of_file, of_room = bool(words & set(about[1:])), room in about
                turns[0 if of_file and of_room else 1 if of_file or of_room else 2].append(t)
        return [x for x in turns if x]


def kill(tree, mutant, tests, all_seeds):
    """Link the mutant and run the tests. Return 'survived', or the test that noticed it."""
    real = os.path.join(tree, object_of(mutant.path))
    kept = real + '.kept'
    os.rename(real, kept)
    try:
        shutil.copyfile(os.path.join(tree, mutant.object), real)
        ran = []
        for turn in tests.turns(mutant.path, mutant.line):
            # Test a few mutants at a time, because most of them fail early, and a program may take longer to link
            # than to run.
            for i in range(0, len(turn), 4):
                bad = make(tree, 'LDFLAGS=--coverage', *turn[i:i + 4])
                if bad:
                    sys.exit(bad + '\nmutants: %s does not link' % mutant)
                for t in turn[i:i + 4]:
                    # The coverage counters of the other files are not needed.
                    why = run_test(tree, t, 30 + 20 * tests.seconds[t], GCOV_PREFIX='/dev/null')
                    if why:
                        return '%s: %s' % (test_name(t), why)
                    ran.append(t)
        for t in [t for t in ran if all_seeds and os.path.basename(t) in ONE_SEED]:
            why = run_test(tree, t, 1200, all_seeds=True, GCOV_PREFIX='/dev/null')
            if why:
                return '%s: %s' % (test_name(t), why)
        return 'survived %d programs' % len(ran) if ran else 'survived, because no test runs this line'
    finally:
        os.rename(kept, real)
        os.utime(real)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument('--count', type=int, default=60)
    p.add_argument('--seed')
    p.add_argument('--least', type=int, default=90, help='percent')
    p.add_argument('--jobs', type=int, default=max(1, os.cpu_count() or 1))
    p.add_argument('--rooms', default=ROOMS)
    p.add_argument('--one-seed', action='store_true', help='survivors do not meet the other seeds of the long simulations')
    p.add_argument('--list', action='store_true', help='only print what would be drawn')
    a = p.parse_args()
    root = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..')
    seed = a.seed or sh(root, ['git', 'rev-parse', 'HEAD']).stdout.strip()
    mutants = draw(root, a.rooms.split(','), random.Random(seed))
    if a.list:
        for i, m in zip(range(a.count), mutants):
            print(Mutant(i, m))
        return 0

    work = tempfile.mkdtemp(prefix='uipoib-mutants.')
    try:
        first = os.path.join(work, '0')
        os.mkdir(first)
        subprocess.run(['bash', '-c', 'git archive HEAD | tar -xC "$1"', '-', first], check=True, cwd=root)
        print('# seed %s, %s' % (seed, a.rooms), flush=True)
        with concurrent.futures.ThreadPoolExecutor(a.jobs) as pool:
            return judge(draw(first, a.rooms.split(','), random.Random(seed)), first, pool, a)
    finally:
        shutil.rmtree(work)


def each_in_a_tree(pool, trees, fn, items):
    """Yield fn(tree, item) for all items, in order. No other call uses the tree at the same time."""
    free = queue.Queue()
    for t in trees:
        free.put(t)

    def one(item):
        tree = free.get()
        try:
            return fn(tree, item)
        finally:
            free.put(tree)
    return pool.map(one, items)


def copies(first, jobs):
    """Return JOBS trees. The first one exists, and the others are copies of it, with the times of its built files."""
    trees = [first] + [os.path.join(os.path.dirname(first), str(j)) for j in range(1, jobs)]
    for t in trees[1:]:
        shutil.rmtree(t, ignore_errors=True)
        subprocess.run(['cp', '-a', first, t], check=True)
    return trees


def pick(drawn, first, pool, a):
    """Compile mutants until COUNT of them are neither stillborn nor equivalent. The result does not depend on JOBS."""
    trees, mutants, again = copies(first, a.jobs), [], {'equivalent': 0, 'stillborn': 0}
    number = 0
    while len(mutants) < a.count:
        some = [Mutant(number + i, d) for i, d in zip(range(a.count - len(mutants)), drawn)]
        if not some:
            break
        number += len(some)
        for m, how in zip(some, each_in_a_tree(pool, trees, lambda tree, m: m.compile(tree), some)):
            if how:
                again[how] += 1
                print('# %s  [%s]' % (m, how), flush=True)
            else:
                mutants.append(m)
    kept = os.path.join(first, 'mutants')
    os.makedirs(kept, exist_ok=True)
    for t in trees[1:]:
        subprocess.run(['bash', '-c', 'cp -n "$1"/mutants/*.o "$2" 2>/dev/null', '-', t, kept], check=False)
    return mutants, again


def judge(drawn, first, pool, a):
    start = time.monotonic()
    mutants, again = pick(drawn, first, pool, a)
    print('# %d mutants are compiled after %.0f s' % (len(mutants), time.monotonic() - start), flush=True)
    tests = Tests(first, {m.path for m in mutants}, pool)
    print('# %d programs, %.0f s without a change; %.0f s so far'
          % (len(tests.seconds), sum(tests.seconds.values()), time.monotonic() - start), flush=True)

    def one(tree, m):
        began = time.monotonic()
        how = kill(tree, m, tests, not a.one_seed)
        print('# %s  [%s, %.0f s]' % (m, how, time.monotonic() - began), flush=True)
        return how

    hows = list(each_in_a_tree(pool, copies(first, a.jobs), one, mutants))
    survived = [m for m, how in zip(mutants, hows) if how.startswith('survived')]
    killed = len(mutants) - len(survived)
    for s in survived:
        print('# survived: %s' % s)
    print('# %d killed, %d survived in %.0f s; drawn again: %d of the same object code, %d that do not compile'
          % (killed, len(survived), time.monotonic() - start, again['equivalent'], again['stillborn']))
    good = killed * 100 >= a.least * len(mutants) and killed
    print('%s - at least %d %% of %d mutants are killed' % ('ok' if good else 'not ok', a.least, len(mutants)))
    return 0 if good else 1


sys.exit(main())
