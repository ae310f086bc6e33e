#!/usr/bin/env python3
"""example: the analyses of this folder, which are built into a program of their own.

Goal    Each figure of NAME.c is that of the plain program in NAME.py, in each window and in the total, and the same bytes
        come of any cut and any number of workers.  The C that doc/adding-an-analysis.md shows lies in these files.
Method  reference.py plays the events of recorded and of generated traces; each class Plain sees switches, events and
        holes, and keeps a Book (tests/reference/sequential.py).

usage: example.py PROGRAM ROOT TRACE... [--count N]
"""
import argparse
import glob
import importlib
import json
import os
import random
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, '..', 'reference'), os.path.join(HERE, '..', 'property')]
import generated
import reference
import sequential
from files import number

NAMES = sorted(os.path.basename(path)[:-2] for path in glob.glob(os.path.join(HERE, '*.c')))
PLAIN = {name: importlib.import_module(name).Plain for name in NAMES}
sequential.ANALYSES = NAMES  # all else is the business of tests/reference
sequential.IDS += ('waker_tid',)
sequential.LONGEST = {name: plain.LONGEST for name, plain in PLAIN.items() if plain.LONGEST}


class Programs(sequential.Sequential):
    HAS_ALL = False

    def __init__(self, whole, release, names):
        super().__init__(whole, release, names)
        self.programs = [plain(whole, names) for plain in PLAIN.values()]

    def book(self, ns):
        return self.books[ns // self.reference.interval]

    def switch(self, ns, cpu, prev, next_, text):
        """@prev leaves to 'sleep', 'dead' or 'ready'; None: nobody leaves."""
        self.contexts.switch(cpu, text)
        prev = None if self.is_elsewhere(prev, cpu) else prev
        for program in self.programs:
            program.switch(ns, cpu, prev, self.sched.leaves(number(text, 'prev_state')), next_, self.book(ns))

    def event(self, ns, name, cpu, text, thread):
        self.contexts.event(name, cpu, text)
        for program in self.programs:
            program.event(ns, name, cpu, text, thread, self.book(ns))

    def hole(self, begin):
        self.contexts.hole()
        for program in self.programs:
            program.hole()


class Played(reference.Reference):
    PLAIN = Programs


def lines_of(program, trace, *options):
    out = subprocess.run([program, 'analyze', '-q', '-f', 'json', '-a', ','.join(NAMES), *options, trace],
                         stdout=subprocess.PIPE, check=True)
    return [line for line in map(json.loads, out.stdout.decode().splitlines()) if line['type'] in ('window', 'total')]


def check_figures(program, trace, events=None):
    played = Played(events or reference.events_of(trace), *reference.declared(trace), reference.Coverage(trace))
    whole = sequential.merged([book for _, book in sorted(played.others.books.items())])
    whole.fix(lambda thread: thread.tid)
    for line in lines_of(program, trace, '-i', '%dns' % reference.INTERVAL):
        if line['type'] == 'window':
            at = line['begin'] // reference.INTERVAL
            window, book = played.windows[at], played.others.books[at]
            tid_of = lambda thread: window.tids.get(thread, thread.tid)
            book.fix(tid_of)
            yield from ('window %d: %s' % (line['seq'], one) for one in sequential.differences(line, book, tid_of))
        else:
            yield from ('total: %s' % one for one in sequential.differences(line, whole, lambda thread: thread.tid))


def check_cuts(program, trace):
    all_ = [lines_of(program, trace, '--chunk-size', size, '-j', jobs) for size, jobs in (('1G', '0'), ('300', '0'), ('4K', '2'))]
    if any(lines != all_[0] for lines in all_[1:]):
        yield 'another cut says something else'


def check_tutorial(root):
    """Each block of C in the tutorial's steps lies in one of the files as it is."""
    with open(os.path.join(root, 'doc', 'adding-an-analysis.md')) as file:
        blocks = re.findall(r'^```c\n(.*?)^```', file.read(), re.M | re.S)
    sources = []
    for name in NAMES:
        with open(os.path.join(HERE, name + '.c')) as file:
            sources.append(file.read())
    if not blocks:
        yield 'it shows no program'
    for block in blocks:
        if not any(block in source for source in sources):
            yield 'it shows what no file has: %s' % block[:60].replace('\n', ' ')


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('program')
    parser.add_argument('root')
    parser.add_argument('traces', nargs='+')
    parser.add_argument('--count', type=int, default=12)
    args = parser.parse_args()
    faults = ['tutorial: ' + one for one in check_tutorial(args.root)]
    for trace in args.traces:
        faults += ['%s: %s' % (trace, one) for check in (check_figures, check_cuts) for one in check(args.program, trace)]
    with tempfile.TemporaryDirectory(prefix='sillage-example-') as folder:
        for seed in range(args.count):
            path = os.path.join(folder, str(seed))
            events = generated.make(random.Random(seed), path, loses=False)
            faults += ['seed %d: %s' % (seed, one) for one in list(check_figures(args.program, path, events)) +
                       list(check_cuts(args.program, path))]
            generated.make(random.Random(seed), path + '-lost', loses=True)
            faults += ['seed %d, with losses: %s' % (seed, one) for one in check_cuts(args.program, path + '-lost')]
    for fault in faults[:10]:
        print('not ok: ' + fault)
    print('%s example: %s, %d traces and %d generated' % ('not ok' if faults else 'ok', ', '.join(NAMES), len(args.traces),
                                                        2 * args.count))
    return 1 if faults else 0


if __name__ == '__main__':
    sys.exit(main())
