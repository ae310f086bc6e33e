#!/usr/bin/env python3
"""cuts: how a trace is cut into chunks, and who works on them, never changes a report.

Goal    Byte-identical JSON for any chunk size and any number of workers, and by two processes.
Method  Report with one chunk per stream and no workers; then with one packet per chunk up to
        whole streams, 0, 1, 2 and 4 workers, several times, since their order of
        completion is random.

usage: cuts.py SILLAGE [--few] TRACE...      --few: one length of windows, two sizes of chunks
"""
import hashlib
import json
import random
import subprocess
import sys


ANALYSES = 'all'  # which: others set it


def run(words, given=None):
    return subprocess.run(words, input=given, stdout=subprocess.PIPE, check=True).stdout


def report(sillage, trace, chunk, jobs, extra):
    return in_order(run([sillage, 'analyze', '-q', '-f', 'json', '-a', ANALYSES, '--chunk-size', str(chunk), '-j',
                         str(jobs)] + extra + [trace]))


def merged(sillage, trace, chunk, jobs, extra, shown=()):
    """The same by two processes, of which one maps and the other merges, with the options @shown."""
    partials = run([sillage, 'map', '-q', '-a', ANALYSES, '--chunk-size', str(chunk), '-j', str(jobs)] + extra + [trace])
    return in_order(run([sillage, 'merge', '-q', '-f', 'json', '-j', str(jobs), *shown, '-'], partials))


def in_order(out):
    lines = [line for line in out.splitlines() if not line.startswith(b'{"type":"end"')]
    warnings = sorted(line for line in lines if line.startswith(b'{"type":"warning"'))
    # A warning is said when a packet comes, which is before or after some window is due.
    return [line for line in lines if line not in warnings] + warnings


def digest(lines):
    return hashlib.sha256(b'\n'.join(lines)).hexdigest()


def adds_up(lines):
    """Windows add up to the total, figure by figure."""
    lines = [json.loads(line.decode('utf-8')) for line in lines]
    total = [line for line in lines if line['type'] == 'total'][0]
    windows = [line for line in lines if line['type'] == 'window']
    for analysis, keys in (('count', ('events', 'discarded', 'lost_packets')),
                           ('cpu', ('busy_ns', 'idle_ns', 'unknown_ns')),
                           ('io', ('read_bytes', 'write_bytes'))):
        for key in keys:
            parts = [window[analysis][key] for window in windows]
            if None in parts + [total[analysis][key]]:  # not recorded, in all of them
                if set(parts) != {None} or total[analysis][key] is not None:
                    return False
            elif sum(parts) != total[analysis][key]:
                return False
    return windows[0]['begin'] == total['begin'] and windows[-1]['end'] == total['end'] and all(
        a['end'] == b['begin'] for a, b in zip(windows, windows[1:]))


def check(sillage, trace, seed, is_few):
    rng = random.Random(seed)
    for interval in ('37ms',) if is_few else ('1s', '37ms'):
        extra = ['-i', interval]
        whole = report(sillage, trace, '1G', 0, extra)
        wanted = digest(whole)
        if not adds_up(whole):
            print('not ok %s: windows of %s do not add up' % (trace, interval))
            return False
        sizes = [1, 4096, 65536, rng.randrange(1, 1 << 20), rng.randrange(1, 1 << 18)]
        for chunk in sizes[::3] if is_few else sizes:
            for jobs in (0, 1, 2, 4):
                if digest(report(sillage, trace, chunk, jobs, extra)) != wanted:
                    print('not ok %s: --chunk-size %d -j %d -i %s (seed %d)' % (
                        trace, chunk, jobs, interval, seed))
                    return False
            if digest(merged(sillage, trace, chunk, rng.randrange(3), extra)) != wanted:
                print('not ok %s: map and merge, --chunk-size %d -i %s (seed %d)' % (trace, chunk, interval, seed))
                return False
    print('ok %s' % trace)
    return True


if __name__ == '__main__':
    if len(sys.argv) < 3:
        print('skipped: no trace given')
        sys.exit(77)
    SEED = random.randrange(1 << 32)
    print('# seed %d' % SEED)
    IS_FEW = sys.argv[2] == '--few'
    RESULTS = [check(sys.argv[1], trace, SEED, IS_FEW) for trace in sys.argv[2 + IS_FEW:]]
    sys.exit(0 if all(RESULTS) else 1)
