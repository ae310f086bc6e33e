#!/usr/bin/env python3
"""compare_phases: `compare --phases` matches the phases of two runs by what they do.

Goal    Of two generated traces with the same phases in other lengths, and one more in B, each phase of A is beside the
        one of B that does the same, and the one more is said to be in B alone; so it is for traces, stores and JSON of
        each, with one another, in a range, and whatever is the order of both.  What changed within a phase is in the
        figures of its pair, and in no other pair; --fail names the pair, --strict what is missing in a phase.  Text and the page have the same pairs.
        What has no phases, or too many, or those of several traces, is refused in one line.

usage: compare_phases.py SILLAGE [--store] [--seed N]
"""
import argparse
import json
import os
import random
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'property'))
import synthetic

MS = 10 ** 6
BEGIN = 1795219200  # s
# What a thread does in each ms: how much of it it runs, and its writes.
KINDS = {'idle': (5, 0.02, 0), 'work': (6, 0.95, 0), 'half': (7, 0.5, 0), 'other': (9, 0.75, 0), 'io': (8, 0.6, 8), 'more io': (8, 0.6, 16)}
A = ['idle', 'work', 'half', 'idle', 'io']
B = ['idle', 'work', 'half', 'other', 'idle', 'more io']
PAIRS = [(1, 1), (2, 2), (3, 3), (None, 4), (4, 5), (5, 6)]


def check(condition, *what):
    if not condition:
        raise SystemExit('not ok ' + ' '.join(map(str, what)))


def made(scratch, name, phases, rand):
    """@phases: (kind, ms).  One packet a phase."""
    at, data = 0, b''
    for seq, (kind, length) in enumerate(phases):
        tid, share, writes = KINDS[kind]
        events, begin = [], at
        for _ in range(length):
            runs = int(share * MS * rand.uniform(0.95, 1.05)) if share < 0.95 else int(share * MS)
            events.append(synthetic.switch(at + 100, 0, tid))
            for i in range(writes):
                events.append(synthetic.event(at + 1000 + 20000 * i, 'syscall_entry_write'))
                events.append(synthetic.event(at + 3000 + 20000 * i, 'syscall_exit_write', 100))
            events.append(synthetic.switch(at + runs, tid, 0))
            at += MS
        data += synthetic.packet(0, seq, begin, at - 1, events)
    text = synthetic.metadata(BEGIN * 10 ** 9).replace('hostname = "made"', 'hostname = "%s"' % name)
    return synthetic.Made(scratch, name, [data], text).path


class Test:
    def __init__(self, sillage, scratch):
        self.sillage, self.scratch = sillage, scratch

    def run(self, *words, status=0):
        done = subprocess.run([self.sillage, *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        check(done.returncode == status, words, 'exit', done.returncode, done.stderr.decode())
        return done.stdout.decode(), done.stderr.decode()

    def compare(self, a, b, *words, status=0):
        """Pairs, each with its changes by figure; and what was said."""
        printed, said = self.run('compare', '--phases', '-q', '-f', 'json', '-a', 'cpu,syscalls', *words, a, b, status=status)
        pairs = []
        for line in map(json.loads, printed.splitlines()):
            if line['type'] == 'compare-phase':
                pairs.append((tuple(line[side]['number'] if side in line else None for side in 'ab'), line, {}))
            else:
                check((line['phase_a'], line['phase_b']) == pairs[-1][0], 'a line of another pair', line)
            if line['type'] == 'change':
                pairs[-1][2][line['figure']] = line
        return pairs, said

    def refused(self, *words, says, status=2):
        printed, said = self.run('compare', '--phases', *words, status=status)
        check(says in said and said.count('\n') == 1 and not printed, words, said)

    def path(self, name):
        return os.path.join(self.scratch, name)


def numbers(pairs):
    return [pair for pair, _, _ in pairs]


def check_pairs(test, a, b, what):
    pairs, said = test.compare(a, b)
    check(not said, what, said)
    check(numbers(pairs) == PAIRS, what, numbers(pairs), [line.get('distance') for _, line, _ in pairs])
    for number, line, changes in pairs:
        if None in number:
            check(not changes and 'distance' not in line, what, 'figures of one alone', number)
            continue
        busy, writes = changes['cpu.busy_ns'], changes.get('syscalls.by_name[name=write].calls')
        check(abs(busy['difference']) < 0.08 * 10 ** 9, what, number, busy)
        rates = [(writes or {}).get(side) or 0 for side in 'ab']
        if number == (5, 6):
            check(abs(rates[1] / rates[0] - 2) < 0.2, what, number, writes)
        else:  # a slice at its end may be of both
            check(max(rates) < 2000, what, number, writes)
        check(line['distance'] < 0.5, what, line)
    back, _ = test.compare(b, a)
    check(sorted(numbers(back), key=str) == sorted(((y, x) for x, y in PAIRS), key=str), what, 'the other way', numbers(back))
    return pairs


def check_forms(test, a, b):
    text = test.run('compare', '--phases', '-q', '-a', 'cpu', a, b)[0].splitlines()
    shown = [line.split() for line in text[2:2 + len(PAIRS)]]
    found = [(None if words[0] == '-' else int(words[0]), None if words[1 if words[0] == '-' else 4] == '-' else int(words[1 if words[0] == '-' else 4]))
             for words in shown]
    check(text[0] == 'PHASES: 5 of both, 0 of A alone, 1 of B alone' and found == PAIRS, 'as text', text[:9])
    check(' '.join(shown[3]).endswith('B alone'), shown[3])
    table = test.run('compare', '--phases', '-q', '-f', 'csv', '--table', 'change', '-a', 'cpu', a, b)[0]
    check({row.split(',')[1] for row in table.splitlines()[1:]} == {str(x) for x, _ in PAIRS if x}, 'as a table', table[:300])
    page = test.run('compare', '--phases', '-q', '-f', 'html', '-a', 'cpu', a, b)[0]
    check(page.startswith('<!DOCTYPE') and page.count('"type":"compare-phase"') == len(PAIRS) and page.count('"type":"page"') == len(PAIRS) - 1, 'page')


def check_gates(test, a, b, line):
    said = test.compare(a, b, '--fail', 'syscalls.calls > +4000/s', status=3)[1]
    said = test.run('compare', '--phases', '-a', 'syscalls', '--fail', 'syscalls.calls > +4000/s', a, b, status=3)[1]
    check('phase 5 of A, 6 of B: ' in said and said.count(' of A, ') == 1, said)
    test.compare(a, b, '--fail', 'syscalls.calls > +50000/s')
    said = test.run('compare', '--phases', '-a', 'cpu', '--strict', line, b, status=4)[1]
    check('phase 1: no figures of count' in said, said)
    said = test.run('compare', '--phases', '-a', 'cpu', '--fail', 'sched.wake.p99 > +1%', a, b, status=1)[1]
    check('sched.wake.p99' in said, said)


def check_refused(test, a, b, line, has_store):
    test.refused('--per', 'host', a, b, says='--per host')
    test.refused(a, '-', says='standard input')
    test.refused(a, line + '@1..2', says='no range')
    total = test.path('total.json')
    with open(total, 'w') as file:
        file.write(test.run('analyze', '-q', '-f', 'json', '-a', 'cpu', a)[0])
    test.refused(a, total, says='no phases', status=1)
    for wrong in ('"open":true', '"open":1'), ('"number":1,', '"number":-1,'), ('"number":2,"begin":', '"number":2,"begin":1'):
        damaged = test.path('damaged.json')
        with open(line) as file, open(damaged, 'w') as out:
            text = file.read()
            check(wrong[0] in text, wrong)
            out.write(text.replace(*wrong))
        printed, said = test.run('compare', '--phases', '-q', a, damaged, status=2 if wrong[0] != '"open":true' else 2)
        check(said.count('\n') == 1 and 'line ' in said, wrong, said)
    for name, traces in ('twice', (('one', a), ('two', a))), ('both', (('one', a), ('two', b))):
        os.mkdir(test.path(name))
        for at, trace in traces:
            os.symlink(trace, os.path.join(test.path(name), at))
    test.refused('-q', test.path('twice'), b, says='phases are those of one trace, and 2 have some')
    # Those of several hosts are of all together.
    pairs, _ = test.compare(test.path('both'), test.path('both'))
    check(len(pairs) > len(A) and all(x == y for x, y in numbers(pairs)), 'phases of two hosts', numbers(pairs))
    if has_store:
        store = test.path('none.db')
        test.run('analyze', '-q', '-a', 'cpu', '-i', '20ms', '-o', os.devnull, '--store', store, a)
        test.refused(a, store, says='has no phases', status=1)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('sillage')
    parser.add_argument('--store', action='store_true')
    parser.add_argument('--seed', type=int, default=1)
    args = parser.parse_args()
    rand = random.Random(args.seed)
    with tempfile.TemporaryDirectory() as scratch:
        test = Test(os.path.abspath(args.sillage), scratch)
        sides, first = [], None
        for name, kinds in (('a', A), ('b', B)):
            lengths = [rand.randrange(200, 500) for _ in kinds]
            first = first or lengths[0]
            trace = made(scratch, name, list(zip(kinds, lengths)), rand)
            lines, store = test.path(name + '.json'), test.path(name + '.db')
            stored = ('--store', store) if args.store else ()
            with open(lines, 'w') as file:
                file.write(test.run('analyze', '-q', '--phases', '-a', 'cpu,syscalls', '-i', '20ms', '-f', 'json', *stored, trace)[0])
            sides.append([trace, lines] + ([store] if args.store else []))
        for one in sides[0]:
            for other in sides[1]:
                check_pairs(test, one, other, (one, other))
        others = [made(scratch, name, [(kind, 300) for kind in kinds], rand) for name, kinds in
                  (('c', ['idle', 'io', 'idle']), ('d', ['idle', 'work', 'idle']))]
        alone = numbers(test.compare(*others)[0])
        check(sorted(alone, key=str) == [(1, 1), (2, None), (3, 3), (None, 2)], 'others in one place', alone)
        check_forms(test, sides[0][0], sides[1][0])
        check_gates(test, sides[0][0], sides[1][0], sides[0][1])
        check_refused(test, sides[0][0], sides[1][0], sides[0][1], args.store)
        for side in [sides[0][0]] + sides[0][2:]:  # without the first phase; stores keep their numbers
            less = int(side == sides[0][0])
            found, _ = test.compare('%s@%d..' % (side, BEGIN * 10 ** 9 + (first + 40) * MS), sides[1][0])
            check(numbers(found) == [(None, 1)] + [(x and x - less, y) for x, y in PAIRS[1:]], 'of a range', side, numbers(found))
        print('ok seed %d' % args.seed)


main()
