#!/usr/bin/env python3
"""options: whatever is asked of a trace, who works on it and how it is cut changes nothing.

Goal    The same output, complaints and exit status without workers and with three, for any chunk
        size; and what --state leaves is taken by the next run that asks the same.
Method  Analyses, windows, selections, orders and bounds are drawn at random, so that each analysis
        comes with others and alone: what one of them wants of the events is not to change what
        another one counts.  Traces are those given, and one whose events have wrong times.

usage: options.py SILLAGE [--count N] [--seed S] TRACE...
"""
import argparse
import os
import random
import resource
import subprocess
import sys
import tempfile

import synthetic

VALUES = {
    '-f': ('text', 'json'), '-i': ('1ms', '10ms', '37ms', '1s'), '-n': ('1', '2', '1000'),
    '--begin': ('01:38:16.9', '2026-11-21', '1'), '--end': ('01:38:17', '2100-01-01'),
    '--tid': ('0', '1', '1,2,3'), '--pid': ('0', '1,2'), '--comm': ('swapper/0', 'sh,cat'), '--cpu': ('0', '1', '0,1'),
    '--irq': ('RCU', 'TIMER,1'), '--per': ('cpu', 'tid', 'pid', 'comm', 'prio'), '--min': ('1us', '1ms'), '--max': ('10us', '1s'),
    '--freq': (None,), '--freq-bins': ('5', '1000'), '--max-memory': ('1', '64K', '1G'),
    '--period': ('r = syscall_entry_read; syscall_exit_read', 's = sched_switch; sched_switch; group next_tid'),
    '--ust-span': ('a,b',), '--trigger': ('cpu.busy > 1%', 'cpu.busy < 50% for 100ms'),
}
# A state is of all of a trace.
NOT_WITH_STATE = {'--begin', '--end'}


def analyses(sillage):
    listed = subprocess.run([sillage, 'analyze', '-a', 'help'], stdout=subprocess.PIPE, check=True).stdout.decode()
    return [line.split()[0] for line in listed.splitlines()]


def asked(rng, names):
    options = {'-a': 'all' if rng.randrange(8) == 0 else ','.join(rng.sample(names, rng.randrange(1, 4)))}
    for name in rng.sample(sorted(VALUES), rng.randrange(5)):
        options[name] = rng.choice(VALUES[name])
    return options


def words(options):
    return [word for pair in options.items() for word in pair if word is not None]


def analyze(sillage, options, more, trace):
    """Exit status, report, and complaints (which come when a packet does: before a window or after it)."""
    done = subprocess.run([sillage, 'analyze', '-q', *words(options), *more, trace], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE)
    lines = [line for line in done.stdout.splitlines() if b'"type":"end"' not in line]
    said = sorted(line for line in lines if b'"type":"warning"' in line) + sorted(done.stderr.splitlines())
    return done.returncode, [line for line in lines if b'"type":"warning"' not in line], said


def differs(sillage, rng, options, trace):
    chunk = rng.choice(('1', '5000', '64K', '1G'))
    one = analyze(sillage, options, ['-j', '0'], trace)
    if one[0] not in (0, 1, 2) or any(b'Sanitizer' in line or b'runtime error' in line for line in one[2]):
        return 'exit status %d: %s' % (one[0], one[2])
    if analyze(sillage, options, ['-j', '3', '--chunk-size', chunk], trace) != one:
        return 'not the same with -j 3 --chunk-size %s' % chunk
    return None


def refused(sillage, options, trace, state):
    """A state that was left is one to go on from."""
    if NOT_WITH_STATE & set(options) or analyze(sillage, options, ['--state', state], trace)[0] != 0:
        return None
    again = analyze(sillage, options, ['--state', state], trace)
    os.unlink(state)
    return None if again[0] == 0 else 'its own state is refused: %s' % again[2]


def wrong_times(scratch):
    packets, rng = b'', random.Random(1)
    for seq in range(20):
        begin = 10**6 * seq
        events = [synthetic.event(begin + rng.randrange(1200000), rng.choice(('syscall_entry_read', 'syscall_exit_write')))
                  for _ in range(rng.randrange(5))]
        packets += synthetic.packet(0, seq, begin, begin + 10**6, events)
    return synthetic.Made(scratch, 'wrong-times', [packets]).path


def main():
    parser = argparse.ArgumentParser(description=__doc__.split('\n')[0])
    parser.add_argument('sillage')
    parser.add_argument('--count', type=int, default=100)
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--random', action='store_true', help='other seeds each time: to hunt')
    parser.add_argument('traces', nargs='+')
    args = parser.parse_args()
    args.seed = random.randrange(1 << 32) if args.random else args.seed
    names, failed = analyses(args.sillage), 0
    with tempfile.TemporaryDirectory() as scratch:
        traces = args.traces + [wrong_times(scratch)]
        for i in range(args.count):
            rng = random.Random(args.seed + i)
            options, trace = asked(rng, names), rng.choice(traces)
            fault = differs(args.sillage, rng, options, trace) or refused(
                args.sillage, options, trace, os.path.join(scratch, 'state'))
            if fault:
                failed += 1
                print('not ok: %s: %s %s (--seed %d --count 1)' % (fault, words(options), trace, args.seed + i))
    print('%s: %d sets of options from seed %d' % ('not ok' if failed else 'ok', args.count, args.seed))
    return 1 if failed else 0


if __name__ == '__main__':
    resource.setrlimit(resource.RLIMIT_CPU, (600, 600))  # of each run: a loop without end is seen, whatever the load
    sys.exit(main())
