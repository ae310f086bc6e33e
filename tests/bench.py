#!/usr/bin/env python3
"""bench: every program in bench/ runs with --quick, and what it prints is plausible.

The folder is the list: a program that is added is run and checked without a word here.  Checked are
its tables (bench/common.py says their form):
  - events and bytes in the line of the trace are those that `analyze` counts and its files have;
  - s times events/s are the events, MB/s and events/s go together, a ratio is that of two rows;
  - times, rates, ratios, sizes and memory are above 0; no cell is missing.

usage: bench.py SILLAGE DATA [--live]      --live: those that need a relay, else the others
"""
import concurrent.futures
import json
import os
import re
import subprocess
import sys
import tempfile

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'bench')
ABOVE_ZERO = re.compile(r'((^|.* )s|.*ratio.*|.*/s|(.* )?bytes|efficiency|RSS MiB|events|measured)$')
ROUNDING = 0.02  # figures have three digits
LANES = 3
# Programs in C, with their arguments; TRACE is replaced.  None: another program runs it.
TOOLS = {
    'decode': [['skip', 'TRACE'], ['fields'], ['metadata', '10']],
    'simulate': None,
    'tile': None,
    'calls': None,
    'fetch': None,
}
OTHERS = {'joined': 'request'}  # programs that take another trace than the rest


class Trace:
    """What the figures have to say about it."""

    def __init__(self, sillage, above):
        out = subprocess.run([sillage, 'analyze', '-q', '-f', 'json', '-a', 'count', above],
                             stdout=subprocess.PIPE, check=True).stdout.decode()
        self.above = above
        self.events = sum(line['count']['events'] for line in map(json.loads, out.splitlines())
                          if line['type'] == 'total')
        self.files = [os.path.join(place, name) for place, _, names in os.walk(above)
                      for name in names if name.startswith('chan') and not name.endswith('.idx')]
        self.bytes = sum(map(os.path.getsize, self.files))


def near(a, b):
    return abs(a - b) <= ROUNDING * max(abs(a), abs(b))


def tables(text):
    """[(heads, rows)] of a program's output."""
    found = []
    for block in re.split(r'^(?:#.*)?\n', text, flags=re.M):
        lines = [[cell.strip() for cell in line.split('\t')] for line in block.splitlines() if line]
        if lines:
            found.append((lines[0], lines[1:]))
    return found


def number(cell):
    """None: it says that there is none, or that it is less than can be seen."""
    return None if cell == '-' or cell.startswith('< ') else float(cell)


def check_table(heads, rows, events, size):
    assert rows, 'no rows under %s' % heads
    base = None
    for row in rows:
        assert len(row) == len(heads), (heads, row)
        of = dict(zip(heads, row))
        for head, cell in zip(heads[1:], row[1:]):
            if ABOVE_ZERO.match(head) and not head.startswith('adds'):
                value = number(cell)
                assert value is None or 0 < value < float('inf'), '%s: %s in %s' % (head, cell, row)
        if {'s', 'M events/s', 'MB/s'} <= set(heads):
            took, rate, speed = (float(of[head]) for head in ('s', 'M events/s', 'MB/s'))
            read = took * rate * 1e6
            # Of a live session the windows that closed; the others read all.
            is_part = row[0].startswith(('live', 'bare fetch'))
            assert read < events * 1.02 if is_part else near(read, events), (
                '%d events of %d: %s' % (read, events, row))
            assert near(speed / rate, size / events), row
            base = base or took
            if number(of.get('ratio', '-')) and near(read, events):
                assert near(base / took, float(of['ratio'])), row
        if 'of trace %' in heads:
            assert near(float(of['of trace %']), 100 * float(of['file bytes']) / size), row


def check(text, trace):
    """@trace: None if the program takes none."""
    events = size = None
    if trace:
        said = re.match(r'# (.*?)(?:, (\d+) times)?: (\d+) events, (\d+) bytes;', text)
        files = re.findall(r'^# (\S+), of (\d+) bytes$', text, re.M)
        assert said or files, 'no line of the trace: ' + text[:200]
        for path, found in files:
            assert path in trace.files and int(found) == os.path.getsize(path), (path, found)
        if said:
            times, events, size = int(said[2] or 1), int(said[3]), int(said[4])
            assert said[1] == trace.above, said[1]
            assert (events, size) == (times * trace.events, times * trace.bytes), (
                '%d events, %d bytes are not %d times %d, %d' % (
                    events, size, times, trace.events, trace.bytes))
    found = tables(text)
    assert found, 'no table: ' + text[:200]
    for heads, rows in found:
        check_table(heads, rows, events, size)


def run(*command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def run_program(sillage, trace, name, words):
    """A word for what came of it, and why."""
    path = os.path.join(FOLDER, name)
    status, usage, said = run(path, '--help')
    assert status == 0, said
    takes_trace = 'TRACE' in usage
    if '--against' in usage:
        words = words + ['--against', sillage]
    status, text, said = run(path, '--sillage', sillage, '--quick', *words,
                             *([trace.above] if takes_trace else []))
    if status and 'is not installed' in said:
        return 'skipped', said.strip()
    assert status == 0, 'status %d: %s' % (status, said[-2000:])
    said = [line for line in said.splitlines() if not line.startswith('# warning: ')]
    assert not said, said
    check(text, trace if takes_trace else None)
    return 'ok', ' '.join(words[:1])


def run_tool(sillage, trace, name, words):
    path = os.path.join(os.path.dirname(sillage), 'bench', name)
    status, text, said = run(path, *[trace.above if word == 'TRACE' else word for word in words])
    assert status == 0, 'status %d: %s' % (status, said[-2000:])
    for heads, rows in tables(text):
        check_table(heads, rows, trace.events, trace.bytes)
    return 'ok', ' '.join(words[:1])


def runs(is_live):
    """(function, name, arguments) of the programs of the folder that need a relay, or do not."""
    found = []
    for name in sorted(os.listdir(FOLDER)):
        path = os.path.join(FOLDER, name)
        if name.endswith('.c') and not is_live:
            tool = name[:-2]
            assert tool in TOOLS, '%s: say in tests/bench.py how it is run' % name
            found += [(run_tool, tool, words) for words in TOOLS[tool] or ()]
        elif os.path.isfile(path) and os.access(path, os.X_OK):
            with open(path) as file:
                text = file.read()
            has_both = '--only-live' in text
            if has_both or ('common.peers(' in text) == is_live:
                found.append((run_program, name, ['--only-live'] * (has_both and is_live)))
    return found


def check_tile(sillage, trace, scratch):
    """What the large traces are made of."""
    out = os.path.join(scratch, 'tiled')
    tile = os.path.join(os.path.dirname(sillage), 'bench', 'tile')
    status, _, said = run(tile, trace.above, out, '3')
    assert status == 0, said
    tiled = Trace(sillage, out)
    found, wanted = (tiled.events, tiled.bytes), (3 * trace.events, 3 * trace.bytes)
    assert found == wanted, (found, wanted)


def check_pairs(trace):
    """What is no optimized build of the same kind is no pair."""
    program = os.path.realpath('/bin/true')
    status, _, said = run(os.path.join(FOLDER, 'pairs'), '--against', program, '--sillage', program,
                          trace.above)
    assert status == 2 and 'not a pair of optimized builds' in said, (status, said)


def check_itself(trace):
    """Wrong figures are found."""
    line = '# %s: %d events, %d bytes; x\n' % (trace.above, trace.events, trace.bytes)
    table = 'what\ts\tM events/s\tMB/s\tratio\n'
    right = (1, trace.events / 1e6, trace.bytes / 1e6, 1)
    row = 'a\t%g\t%g\t%g\t%g\n' % right
    check(line + table + row, trace)
    for text in (line, line + table, line.replace(' bytes', '0 bytes') + table + row,
                 line + table + 'a\t%g\t%g\t%g\n' % right[:3],
                 line + table + 'a\t%g\t%g\t%g\t0\n' % right[:3],
                 line + table + 'a\t2\t%g\t%g\t%g\n' % right[1:],
                 line + table + 'a\t%g\t%g\t7\t1\n' % right[:2]):
        try:
            check(text, trace)
        except AssertionError:
            continue
        raise SystemExit('not ok itself: it takes %r' % text)


def main():
    sillage, data = (os.path.abspath(path) for path in sys.argv[1:3])
    is_live = '--live' in sys.argv[3:]
    trace = Trace(sillage, os.path.join(data, 'burst'))
    check_itself(trace)
    if not is_live:
        with tempfile.TemporaryDirectory() as scratch:
            check_tile(sillage, trace, scratch)
        check_pairs(trace)
    words = set()
    with concurrent.futures.ThreadPoolExecutor(LANES) as lanes:
        others = {name: Trace(sillage, os.path.join(data, other)) for name, other in OTHERS.items()}
        begun = [(name, lanes.submit(function, sillage, others.get(name, trace), name, more))
                 for function, name, more in runs(is_live)]
        for name, future in begun:
            try:
                word, why = future.result()
            except (AssertionError, ValueError) as failure:
                word, why = 'not ok', str(failure)
            words.add(word)
            print(word, name, why, flush=True)
    return 1 if 'not ok' in words else 0 if 'ok' in words else 77


if __name__ == '__main__':
    sys.exit(main())
