#!/usr/bin/env python3
"""indexed: a range that is read by an index is the same as one for which all of the trace is read.

Goal    Byte-identical output, warnings too, of any range, analyses, windows, chunks and workers; and an index that is cut or
        damaged, or of a trace that has changed, is not used.  Sums of tiles are those of windows, to the ns.
Method  Traces of generated.py, damaged ones too, and recorded ones, with a checkpoint every few bytes, or every few hundred
        KiB.  What was read without an index is the reference.

usage: indexed.py SILLAGE [--count N] [--seed S] [TRACE...]
"""
import argparse
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile

import cuts
import generated

KERNEL = ('count', 'cpu', 'io', 'files', 'sched', 'syscalls', 'irq', 'block', 'memory', 'net', 'lost', 'faults', 'preempt',
          'state', 'waits', 'power')
USER = ('count', 'ust', 'calls', 'lost')
USED, REFUSED = 'its index told', 'its index is not used'


def run(words, cache):
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=dict(os.environ, XDG_CACHE_HOME=cache))
    said = sorted(done.stderr.decode().splitlines())
    return done.returncode, cuts.in_order(done.stdout), [line for line in said if USED not in line and REFUSED not in line], any(
        USED in line for line in said)


class Traced:
    """A trace with an index, and where its events lie."""

    def __init__(self, sillage, rng, path, scratch, every):
        self.sillage, self.rng, self.path = sillage, rng, path
        self.cache, self.none = os.path.join(scratch, 'cache'), os.path.join(scratch, 'none')
        total = [json.loads(line) for line in cuts.run([sillage, 'analyze', '-q', '-f', 'json', '-a', 'count', path]).splitlines()
                 if line.startswith(b'{"type":"total"')][0]
        self.first, self.last = total['begin'], total['end']
        self.made = run([sillage, 'index', '-q', '-a', 'all', '--every', str(every), '-j', str(rng.randrange(3)), path], self.cache)

    def range(self):
        rng, times = self.rng, (self.first - 5, self.last + 5)
        begin = rng.randint(*times)
        end = min(begin + rng.choice((1, 1000, 10**6, self.last - self.first + 1)), 2**63)
        return ['--begin', str(begin)] + (['--end', str(end)] if rng.random() < 0.7 else [])

    def differs(self, names):
        """The command of which an index changes the output; None; whether an index was used."""
        rng = self.rng
        words = [self.sillage, 'analyze', '-v', '-f', rng.choice(('json', 'json', 'text')), '-a',
                 ','.join(rng.sample(names, rng.randint(1, 4))), '-j', str(rng.randrange(3)), '--chunk-size',
                 str(rng.choice((1, 4000, 10**9)))] + self.range()
        length = self.last - self.first + 1
        words += rng.choice(([], ['--per', 'all'], ['--per', 'container'], ['--per', 'service']))
        words += rng.choice(([], ['-i', '%dns' % max(length // rng.choice((3, 40)), 1000)], ['-n', '0']))
        if rng.random() < 0.2:
            words = [self.sillage, 'overview', '-f', rng.choice(('json', 'text'))] + self.range()
        plain, ours = run(words + [self.path], self.none), run(words + [self.path], self.cache)
        return (None if plain[:3] == ours[:3] else ' '.join(words)), ours[3]


    def instant_differs(self):
        """Whether the state at a time is not that at the end of all that came before it."""
        at = self.rng.randint(self.first + 1, max(self.last, self.first + 1))

        def state_of(words, cache):
            return [json.loads(line)['state'] for line in run(words + ['-f', 'json', self.path], cache)[1] if b'"type":"total"' in line]

        ours = state_of([self.sillage, 'report', '-q', '--at', str(at)], self.cache)
        before = state_of([self.sillage, 'analyze', '-q', '-a', 'state', '--end', str(at)], self.none)
        return at if ours != before or not ours else None


    def tiles_differ(self, level=None):
        """The length of tiles whose sums are not those of windows of that length; None: none."""
        rng = self.rng
        level = level or rng.randint(14, max(14, min((self.last - self.first + 1).bit_length(), 62)))
        while (self.last - self.first) >> level > 500:
            level += 1
        some = self.range() if rng.random() < 0.5 else []
        words = [self.sillage, 'index', '--tiles', '%dns' % 2**level] + some

        def sums(words, cache, kind, tables):
            """By tile, thread and figure: of all, and of threads."""
            found = {}
            for line in map(json.loads, run(words + [self.path], cache)[1]):
                if line['type'] == kind:
                    for row in tables(line):
                        for figure, ns in row.items():
                            if figure.endswith('_ns') and isinstance(ns, int) and ns > 0:
                                key = line['begin'] >> level, row.get('tid'), figure
                                found[key] = found.get(key, 0) + ns
            return found

        def rows(line):
            return [{key: value for key, value in row.items() if key != 'pid_ns'} for row in line['rows']]

        def of(by, table):
            # All windows of the tiles: a tile is whole where the range begins or ends in it.
            tiles = sums(words + ['--by', by], self.cache, 'tile', rows)
            windows = sums([self.sillage, 'analyze', '-q', '-f', 'json', '-a', 'waits', '-i', '%dns' % 2**level], self.none, 'window', table)
            if some:
                windows = {key: ns for key, ns in windows.items() if key[0] in {tile for tile, _, _ in tiles}}
            return {key[0] for key in set(tiles) | set(windows) if tiles.get(key) != windows.get(key)}

        if of('all', lambda line: [line['waits']['totals'] if 'totals' in line['waits'] else line['waits']]):
            return 2**level
        # Who takes the tid of its leader has it in all of the window, and in the tile from then on: some generated ones do.
        renames = 5 if 'trace-' in self.path or 'indexed-' in self.path else 0
        return None if len(of('thread', lambda line: line['waits']['threads'])) <= renames else 2**level


def law(sillage, rng, path, names, every, ranges):
    scratch = tempfile.mkdtemp(prefix='sillage-indexed-')
    try:
        trace = Traced(sillage, rng, path, scratch, every)
        if trace.made[0] != 0:
            return 'no index: %s' % trace.made[2], 0
        used = 0
        for _ in range(ranges):
            found, is_used = trace.differs(names)
            used += is_used
            if found:
                return found, used
        at = 'state' in names and trace.instant_differs()
        tiles = 'waits' in names and trace.tiles_differ()
        return 'the state at %d' % at if at else 'tiles of %d ns' % tiles if tiles else None, used
    finally:
        shutil.rmtree(scratch)


def generate(rng, path, i):
    """The names of the analyses of a trace, which is made."""
    if i % 5 == 4:
        generated.make_ust(rng, path, i % 2 == 1)
        return USER
    damage = generated.DAMAGES[i % len(generated.DAMAGES)] if i % 5 == 3 else None
    if damage:
        generated.make(rng, path, False, damage=damage)
        # As in laws.py: which of two calls at a time is paired depends on the cut.
        return ('count', 'lost', 'cpu', 'sched', 'preempt', 'irq', 'memory', 'net', 'block', 'faults')
    generated.make(rng, path, i % 2 == 1)
    return KERNEL


def changed(sillage, path):
    """What is done to an index, or to its trace, of which it then is not: (what, whether it is refused as it has to be)."""
    scratch = tempfile.mkdtemp(prefix='sillage-indexed-')
    copy, cache = os.path.join(scratch, 'trace'), os.path.join(scratch, 'cache')
    shutil.copytree(path, copy)
    subprocess.run(['chmod', '-R', 'u+w', copy], check=True)
    size = sum(os.path.getsize(os.path.join(copy, name)) for name in os.listdir(copy))
    make = [sillage, 'index', '-a', 'count,cpu,state', '--every', str(size // 8), copy]
    total = json.loads(cuts.run([sillage, 'analyze', '-q', '-f', 'json', '-a', 'count', copy]).splitlines()[1])
    late = [sillage, 'analyze', '-v', '-f', 'json', '-a', 'state', '--begin', str(total['end'] - 1000), copy]
    plain = run(late, os.path.join(scratch, 'none'))

    def is_used():
        ours = run(late, cache)
        if ours[:3] != plain[:3]:
            raise AssertionError('another result')
        return ours[3]

    def rewrite(name, change):
        with open(name, 'rb') as file:
            old = file.read()
        with open(name, 'wb') as file:
            file.write(change(old))

    try:
        run(make, cache)
        yield 'it is used', is_used()
        place = os.path.join(cache, 'sillage', os.listdir(os.path.join(cache, 'sillage'))[0])
        with open(place, 'rb') as file:
            whole = file.read()
        again = run(make[:4] + [copy], cache)
        yield 'what is as the trace is is left', any('as the trace is' in line for line in again[2])
        yield 'cut anywhere it is refused', not any(
            (rewrite(place, lambda _, at=at: whole[:at]), is_used())[1] for at in (0, 1, 39, 40, 167, 168, 1000, len(whole) - 1))
        yield 'longer it is refused', (rewrite(place, lambda _: whole + b'\0'), not is_used())[1]
        head, used = len(whole) - 4096, 0
        for at in list(range(0, 168, 7)) + list(range(max(head, 168), len(whole), 127)):
            rewrite(place, lambda _, at=at: whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1:])
            used += is_used() and at < 168
        yield 'with a bit turned it is refused, or its damage does not matter', used == 0
        rewrite(place, lambda _: whole)
        yield 'whole again it is used', is_used()
        stream = sorted(os.path.join(copy, name) for name in os.listdir(copy) if name.startswith('channel'))[0]
        before = os.stat(stream)
        os.utime(stream, ns=(before.st_atime_ns, before.st_mtime_ns + 1))
        yield 'of a file with another time it is refused', not is_used()
        os.utime(stream, ns=(before.st_atime_ns, before.st_mtime_ns))
        yield 'with the old time it is used', is_used()
        os.utime(stream, ns=(before.st_atime_ns, before.st_mtime_ns + 1))
        said = run(make, cache)[2]
        yield 'it is said that the trace has changed, and made again', any('has changed since' in line for line in said) and is_used()
        os.unlink(place)
        run(make[:2] + ['--beside'] + make[2:], cache)
        yield 'beside the trace it is used', os.listdir(os.path.join(cache, 'sillage')) == [] and is_used()
        no_place = os.path.join(stream, 'cache')  # below a file
        yield 'a cache that cannot be used is told of, and what helps', any(
            no_place in line and 'XDG_CACHE_HOME' in line and '--beside' in line for line in run(make[:2] + ['-a', 'count'] + make[2:], no_place)[2])
    finally:
        shutil.rmtree(scratch)


def ended(sillage, path):
    """Tiles of a trace whose clock is shifted, so that it ends where one of 2^22 ns does: (what, whether they are right)."""
    scratch = tempfile.mkdtemp(prefix='sillage-indexed-')
    copy = os.path.join(scratch, 'trace')
    shutil.copytree(path, copy)
    subprocess.run(['chmod', '-R', 'u+w', copy], check=True)

    def head_of(traced):
        _, lines, said, _ = run([sillage, 'index', '--tiles', '1ms', traced.path], traced.cache)
        assert lines, said
        return json.loads(lines[0])

    try:
        end = head_of(Traced(sillage, random.Random(1), copy, scratch, 10**6))['end']
        with open(os.path.join(copy, 'metadata'), 'rb') as file:
            old = file.read()
        offset = re.search(rb'(?<=offset = )\d+', old)
        with open(os.path.join(copy, 'metadata'), 'wb') as file:
            file.write(old[:offset.start()] + b'%d' % (int(offset[0]) + -end % 2**22) + old[offset.end():])
        traced = Traced(sillage, random.Random(1), copy, scratch, 10**6)
        yield 'it ends where a tile does', head_of(traced)['end'] % 2**22 == 0
        for level in (22, 24):
            yield 'tiles of 2^%d ns' % level, traced.tiles_differ(level) is None
    finally:
        shutil.rmtree(scratch)


def threadless(sillage, path):
    """An index of a trace in which no thread is seen has no tiles, and is one."""
    scratch = tempfile.mkdtemp(prefix='sillage-indexed-')
    try:
        traced = Traced(sillage, random.Random(1), path, scratch, 100)
        said = run([sillage, 'index', '--tiles', '1ms', path], traced.cache)
        yield 'of no threads', traced.made[0] == 0 and said[0] == 1 and any('it has no tiles' in line for line in said[2])
    finally:
        shutil.rmtree(scratch)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split('\n', maxsplit=1)[0])
    parser.add_argument('sillage')
    parser.add_argument('--count', type=int, default=10)
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('traces', nargs='*')
    args = parser.parse_intermixed_args()
    failed, used = 0, 0
    for path in args.traces[:1]:
        ust = os.path.join(path, '..', '..', 'request', 'ust')
        for what, fine in (*changed(args.sillage, path), *ended(args.sillage, path), *threadless(args.sillage, ust)):
            failed += not fine
            print('%s %s' % ('ok' if fine else 'not ok', what))
    for i, path in enumerate(args.traces):
        size = sum(os.path.getsize(os.path.join(path, name)) for name in os.listdir(path))
        names = KERNEL if os.path.basename(path) == 'kernel' else USER
        found, times = law(args.sillage, random.Random(args.seed + i), path, names, max(size // 20, 1), 6)
        failed, used = failed + bool(found), used + times
        print('%s %s%s' % ('not ok' if found else 'ok', path, ': ' + found if found else ''))
    for i in range(args.count):
        rng = random.Random(args.seed + i)
        scratch = tempfile.mkdtemp(prefix='sillage-indexed-')
        path = os.path.join(scratch, 'trace')
        names = generate(rng, path, i + args.seed)
        found, times = law(args.sillage, rng, path, names, rng.choice((1, 1000, 10000)), 5)
        failed, used = failed + bool(found), used + times
        if found:
            print('not ok %s (--seed %d --count 1)' % (found, args.seed + i))
        shutil.rmtree(scratch)
    print('%s: %d generated traces; an index was used %d times' % ('not ok' if failed else 'ok', args.count, used))
    return 1 if failed or not used else 0


if __name__ == '__main__':
    sys.exit(main())
