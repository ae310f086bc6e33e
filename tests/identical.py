#!/usr/bin/env python3
"""identical: do two builds of sillage print the same bytes?

A change that only moves or renames code must not change what users see.  This runs both programs
with the same arguments over every trace found below the given folders (by default this project's
own traces, and the shared ones where they lie beside the checkout) and compares standard output
and the exit status.  Reports are text, JSON and HTML; windows are 100 ms; workers are none or two.
Only the time that a run took (wall_ns) and comments in the page may differ.  Analyses that the old
program lacks are left out.

usage: identical.py [--quick] OLD-SILLAGE NEW-SILLAGE [FOLDER...]
--quick: fewer kinds of output, for each commit.
The status is 0 if all are equal, 1 if not, 77 if no trace was found.
"""
import concurrent.futures
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# A damaged trace may keep a program busy for ever.
LEFT_OUT = ('bad',)
TIMEOUT_S = 600
SHOWN_MAX = 10
WALL = re.compile(rb'"wall_ns":\d+')
COMMENT = re.compile(rb'/\*.*?\*/', re.S)

ALL = 'all of the old program'
QUICK = [
    ['analyze', '-q', '-a', ALL, '-i', '100ms', '-f', 'json', '-j', '2'],
    ['analyze', '-q', '-a', ALL, '-f', 'text', '-j', '0'],
    ['report', '-q', '-f', 'text'],
]
FULL = QUICK + [
    ['analyze', '-q', '-a', ALL, '-i', '100ms', '-f', 'text', '-n', '3', '-j', '0'],
    ['analyze', '-q', '-a', ALL, '-f', 'json', '-j', '0', '--chunk-size', '16K'],
    ['analyze', '-q', '-a', 'cpu,sched,syscalls', '--freq', '-j', '0'],
    ['analyze', '-q', '-a', ALL, '--per', 'pid', '--sort', 'run_ns', '-j', '0'],
    ['analyze', '-q', '-a', 'cpu,periods', '-f', 'json', '-j', '0',
     '--period', 'disk = block_rq_issue; block_rq_complete; by dev, sector'],
    ['report', '-q', '-f', 'json'],
    ['report', '-q', '-f', 'html'],
    ['lami', '-q', '-a', 'sched'],
]
WITHOUT_TRACE = [['help']] + [['help', command] for command in (
    'analyze', 'capture', 'lami', 'list', 'live', 'map', 'merge', 'replay', 'report', 'top',
    'triggers')] + [['analyze', '-a', 'help'], ['report', '--job', 'help']]


def traces(folders):
    for folder in folders:
        for path, names, files in os.walk(folder):
            names[:] = sorted(name for name in names if name not in LEFT_OUT)
            if 'metadata' in files:
                yield path


def run(program, arguments):
    done = subprocess.run([program] + arguments, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, timeout=TIMEOUT_S)
    said = WALL.sub(b'"wall_ns":0', done.stdout)
    return done.returncode, COMMENT.sub(b'', said) if 'html' in arguments else said


def first_difference(old, new):
    """The first line that differs, of both."""
    for a, b in zip(old.split(b'\n'), new.split(b'\n')):
        if a != b:
            at = next((i for i, pair in enumerate(zip(a, b)) if pair[0] != pair[1]), 0)
            start = max(0, at - 40)
            return a[start:at + 80], b[start:at + 80]
    return old[-80:], new[-80:]


def compare(programs, arguments):
    (old_status, old), (new_status, new) = (run(program, arguments) for program in programs)
    if (old_status, old) == (new_status, new):
        return None
    return 'status %d and %d\n  - %r\n  + %r' % ((old_status, new_status) + first_difference(old, new))


def main():
    arguments = sys.argv[1:]
    kinds = FULL
    if arguments[:1] == ['--quick']:
        kinds = QUICK
        arguments = arguments[1:]
    programs, folders = arguments[:2], arguments[2:]
    folders = folders or [os.path.join(ROOT, 'tests', 'data'),
                          os.path.join(ROOT, '..', 'shared', 'traces')]
    found = list(traces(folders))
    if not found:
        print('skipped: no trace below ' + ', '.join(folders))
        return 77
    names = ','.join(line.split()[0] for line in subprocess.run(
        [programs[0], 'analyze', '-a', 'help'], stdout=subprocess.PIPE).stdout.decode().splitlines()
        if line.strip())
    assert names, 'no analyses'
    kinds = [[names if word == ALL else word for word in kind] for kind in kinds]
    jobs = WITHOUT_TRACE + [kind + [trace] for trace in found for kind in kinds]
    different = 0
    with concurrent.futures.ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        for job, difference in zip(jobs, pool.map(lambda job: compare(programs, job), jobs)):
            if difference:
                different += 1
                if different > SHOWN_MAX:
                    continue
                print('not ok sillage %s: %s' % (' '.join(job), difference))
    print('%s identical: %d commands over %d traces, %d differ' % (
        'not ok' if different else 'ok', len(jobs), len(found), different))
    return 1 if different else 0


if __name__ == '__main__':
    sys.exit(main())
