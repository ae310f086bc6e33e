#!/usr/bin/env python3
"""intervals: the total of a trace is the same for windows of any length.

Goal    The same line `total` for each -i, and without windows: every figure, every list, and who the
        threads are, also where that becomes known in a later window.
Method  The traces given, and generated ones that lose nothing.

usage: intervals.py SILLAGE [--count N] [--seed S] TRACE...
"""
import argparse
import json
import os
import random
import resource
import shutil
import subprocess
import sys
import tempfile

import cuts
import generated

INTERVALS = (None, '1s', '100ms', '10ms', '3ms')
PERIODS = ('run = sched_in; sched_out', 'call = syscall_entry_*; syscall_exit_*',
           'disk = block_rq_issue; block_rq_complete; by dev, sector', 'log = app:begin; app:end; by id')


def periods_of(sillage, path):
    """Those of PERIODS whose events the trace declares; others are refused."""
    found = []
    for spec in PERIODS:
        done = subprocess.run([sillage, 'analyze', '-q', '-a', 'periods', '-o', '/dev/null', '--period', spec, path],
                              stderr=subprocess.DEVNULL)
        found += [spec] if done.returncode == 0 else []
    return found


def total_of(sillage, path, interval, jobs, periods):
    asked = [word for spec in periods for word in ('--period', spec)] + (['-i', interval] if interval else [])
    lines = [json.loads(line) for line in cuts.report(sillage, path, '1G', jobs, asked)]
    return [line for line in lines if line['type'] == 'total'][0]


def difference(a, b, path=''):
    """The first place where two values differ; '': none."""
    if isinstance(a, dict) and isinstance(b, dict) and a.keys() == b.keys():
        pairs = [(a[key], b[key], '%s.%s' % (path, key)) for key in a]
    elif isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
        pairs = [(a[i], b[i], '%s[%d]' % (path, i)) for i in range(len(a))]
    else:
        return '' if a == b else '%s: %s, %s' % (path, a, b)
    return next((found for found in (difference(*pair) for pair in pairs) if found), '')


def check(sillage, path):
    periods = periods_of(sillage, path)
    base = total_of(sillage, path, None, 0, periods)
    for interval in INTERVALS[1:]:
        found = difference(base, total_of(sillage, path, interval, 1, periods))
        if found:
            return '-i %s: %s' % (interval, found)
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__.split('\n')[0])
    parser.add_argument('sillage')
    parser.add_argument('--count', type=int, default=20)
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--random', action='store_true', help='other seeds each time: to hunt')
    parser.add_argument('traces', nargs='+')
    args = parser.parse_args()
    args.seed = random.randrange(1 << 32) if args.random else args.seed
    failed = 0
    for path in args.traces:
        fault = check(args.sillage, path)
        failed += fault is not None
        print('not ok %s: %s' % (path, fault) if fault else 'ok ' + path)
    with tempfile.TemporaryDirectory() as scratch:
        for i in range(args.count):
            path = os.path.join(scratch, str(i))
            generated.make(random.Random(args.seed + i), path, False)
            fault = check(args.sillage, path)
            if fault:
                failed += 1
                print('not ok: %s (--seed %d --count 1)' % (fault, args.seed + i))
            shutil.rmtree(path)
    print('%s: %d generated traces from seed %d' % ('not ok' if failed else 'ok', args.count, args.seed))
    return 1 if failed else 0


if __name__ == '__main__':
    resource.setrlimit(resource.RLIMIT_CPU, (600, 600))  # of each run: a loop without end is seen, whatever the load
    sys.exit(main())
