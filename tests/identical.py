#!/usr/bin/env python3
"""identical: do two builds of sillage print the same bytes?

A change that only moves or renames code must not change what users see.  This runs both programs
with the same arguments over every trace found below the given folders (by default this project's
own traces, and the shared ones where they lie beside the checkout) and compares standard output,
the exit status, and standard error too where messages are the result (CHECKED).  Reports are text,
JSON and HTML; windows are 100 ms; workers are none or two.  Only the time that a run took (wall_ns),
blanks at the ends of lines, and the scripts and styles of pages may differ.  Analyses that the old program lacks are left out.

`history` and `compare` read stores: the old program writes one of each trace, which both read, and
each program writes one of its own, which it reads itself.

usage: identical.py [--quick] OLD-SILLAGE NEW-SILLAGE [FOLDER...]
--quick: fewer kinds of output, for each commit.
The status is 0 if all are equal, 1 if not, 77 if no trace was found.
"""
import concurrent.futures
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# A damaged trace may keep a program busy for ever.
LEFT_OUT = ('bad',)
TIMEOUT_S = 600
SHOWN_MAX = 10
ALWAYS = 'cpu.busy > 0%'  # holds wherever something ran
OLD_STORE, OWN_STORE = 'store that the old program wrote', 'store of its own'
WALL = re.compile(rb'"wall_ns":\d+')
VERSION = re.compile(rb'"version":("[\d.]+"|\{[^}]*\})')
# Of pages, what is shown: data and elements, whatever script draws them (tests of the pages look).
BLANKS = re.compile(rb' +\n')
SCRIPT = re.compile(rb'<script>.*?</script>|<style>.*?</style>', re.S)

ALL = 'all of the old program'
QUICK = [
    ['analyze', '-q', '-a', ALL, '-i', '100ms', '-f', 'json', '-j', '2'],
    ['analyze', '-q', '-a', ALL, '-f', 'text', '-j', '0'],
    ['report', '-q', '-f', 'text'],
    ['overview', '-q', '-f', 'text'],
    ['history', '-q', '-a', ALL, '-f', 'json', OLD_STORE],
]
FULL = QUICK + [
    ['analyze', '-q', '-a', ALL, '-i', '100ms', '-f', 'text', '-n', '3', '-j', '0'],
    ['analyze', '-q', '-a', ALL, '-f', 'json', '-j', '0', '--chunk-size', '16K'],
    ['analyze', '-q', '-a', 'cpu,sched,syscalls', '--freq', '-j', '0'],
    ['analyze', '-q', '-a', ALL, '--per', 'pid', '--sort', 'run_ns', '-j', '0'],
    ['analyze', '-q', '-a', ALL, '--per', 'comm', '-i', '50ms', '-f', 'json', '-j', '0'],
    ['analyze', '-q', '-a', ALL, '--per', 'container', '-i', '50ms', '-f', 'json', '-j', '0'],
    ['analyze', '-q', '-a', ALL, '--per', 'tid', '--sort', 'max', '-n', '3', '-j', '0'],
    ['analyze', '-q', '-a', ALL, '--per', 'cpu', '--trigger', ALWAYS, '--trigger-interval', '10ms',
     '-i', '50ms', '-j', '0'],
    ['analyze', '-q', '-a', 'cpu,periods', '-f', 'json', '-j', '0',
     '--period', 'disk = block_rq_issue; block_rq_complete; by dev, sector'],
    ['report', '-q', '-f', 'json'],
    ['report', '-q', '--resources'],
    ['report', '-q', '-f', 'html'],
    ['lami', '-q', '-a', 'sched'],
    ['overview', '-q', '-a', 'cpu,sched,syscalls', '-f', 'json', '--hierarchy', 'process'],
    ['overview', '-q', '-f', 'html', '--hierarchy', 'cpu'],
    ['analyze', '-q', '-a', 'cpu', '--phases', '-i', '50ms', '-f', 'json', '-j', '0'],
    ['export', '-q'],
    ['export', '-q', '-a', 'cpu,sched', '-i', '10ms', '--trigger', ALWAYS],
    ['history', '-q', '-f', 'text', '-n', '3', OWN_STORE],
    ['history', '-q', '-f', 'text', '--per', 'comm', '--merged', OLD_STORE],
    ['history', '-q', '-f', 'json', '--per', 'container', '-i', '1s', OLD_STORE],
    ['history', '-q', '-f', 'text', '--per', 'host,container', OLD_STORE],
    ['compare', '-q', '-f', 'json', OLD_STORE],
    ['compare', '-q', '-f', 'text', '-n', '0', '--fail', 'cpu.busy > +20%', OLD_STORE],
    ['compare', '-q', '-f', 'html', '-a', 'cpu,sched,syscalls', OWN_STORE],
    ['compare', '-q', '-f', 'text', '--per', 'comm', OLD_STORE],
    ['report', '-q', '--job', 'sched_switch; sched_waking'], ['report', '-q', '--discover'],
]
# What these say on standard error is their result, too.
TRIGGERS = (ALWAYS, 'cpu.cpu[1].busy > 20%', 'cpu.thread[comm=*].run > 10% for 200ms',
            'sched.wake.p99 > 50us', 'syscalls.thread.call.max > 1ms', 'count.rate > 1000/s',
            'sched.wake.p99 > auto(1e-2)', 'io.total.read > 1M/s', 'cpu.nothing > 1', 'cpu.busy >')
CHECKED = [['triggers', '-v', '--check', trigger] for trigger in TRIGGERS]
GATES = [['analyze', '-a', ALL, '-i', '100ms', '-f', 'json', '-n', '1', '-j', '0', '--tap', '-',
          option, trigger] for trigger in TRIGGERS for option in ('--trigger', '--fail')]
COMMANDS = ('analyze', 'capture', 'compare', 'export', 'history', 'lami', 'list', 'live', 'map',
            'merge', 'overview', 'replay', 'report', 'setup', 'top', 'triggers', 'watch', 'json',
            'store', 'completion')
WITHOUT_TRACE = ([['help']] + [['help', command] for command in COMMANDS] +
                 [['analyze', '-a', 'help'], ['report', '--job', 'help'],
                  ['report', '--model', 'help'], ['setup', '-a', 'all', '--ust', '*']])


def traces(folders):
    for folder in folders:
        for path, names, files in os.walk(folder):
            names[:] = sorted(name for name in names if name not in LEFT_OUT)
            if 'metadata' in files:
                yield path


def run(program, arguments):
    is_checked = any(word in arguments for word in ('triggers', '--tap'))
    done = subprocess.run([program] + arguments, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT if is_checked else subprocess.DEVNULL,
                          timeout=TIMEOUT_S)
    said = BLANKS.sub(b'\n', VERSION.sub(b'"version":0', WALL.sub(b'"wall_ns":0', done.stdout)))
    return done.returncode, SCRIPT.sub(b'', said) if 'html' in arguments else said


def scratch_name(program, trace):
    """The name of the store that the program writes of the trace."""
    return b'%d.db' % abs(hash((program, trace)))


def store_of(program, trace, names, scratch):
    """A store of the trace that the program wrote; each is written once."""
    place = os.path.join(scratch, scratch_name(program, trace).decode())
    if not os.path.exists(place):
        subprocess.run([program, 'analyze', '-q', '-a', names, '-i', '100ms', '-j', '0',
                        '--store', place, '-o', os.devnull, trace],
                       stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=TIMEOUT_S)
    return place


def arguments_of(kind, program, old, trace, names, scratch):
    """The command line of this program; a comparison is of the store and the trace."""
    written_by = {OLD_STORE: old, OWN_STORE: program}
    words = [names if word == ALL else word for word in kind]
    stores = [store_of(written_by[word], trace, names, scratch) for word in words
              if word in written_by]
    words = [word for word in words if word not in written_by] + stores
    return words + ([trace] if trace and (kind[0] == 'compare' or not stores) else [])


def first_difference(old, new):
    """The first line that differs, of both."""
    for a, b in zip(old.split(b'\n'), new.split(b'\n')):
        if a != b:
            at = next((i for i, pair in enumerate(zip(a, b)) if pair[0] != pair[1]), 0)
            start = max(0, at - 40)
            return a[start:at + 80], b[start:at + 80]
    return old[-80:], new[-80:]


def compare(programs, kind, trace, names, scratch):
    (old_status, old), (new_status, new) = (
        run(program, arguments_of(kind, program, programs[0], trace, names, scratch))
        for program in programs)
    if programs[0] != programs[1]:
        new = new.replace(scratch_name(programs[1], trace), scratch_name(programs[0], trace))
    if (old_status, old) == (new_status, new):
        return None
    return 'status %d and %d\n  - %r\n  + %r' % ((old_status, new_status) + first_difference(old, new))


def over_a_trace(programs, kinds, trace, names):
    """What differs: the commands and how; the stores are there as long as they are read."""
    with tempfile.TemporaryDirectory() as scratch:
        found = [(kind, compare(programs, kind, trace, names, scratch)) for kind in kinds]
    return [(kind, difference) for kind, difference in found if difference]


def main():
    arguments = sys.argv[1:]
    kinds, without = FULL, WITHOUT_TRACE + CHECKED
    if arguments[:1] == ['--quick']:
        kinds, without = QUICK, CHECKED
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
        if line.strip() and line.split()[0] not in ('periods', 'jobs'))  # of which there are none unless they are asked for
    assert names, 'no analyses'
    # Gates are of the first traces only: they differ by what they ask for, not by what is there.
    of_each = [(None, without)] + [(trace, kinds) for trace in found]
    of_each += [(trace, GATES) for trace in found[:1 if kinds is QUICK else 4]]
    different = 0
    with concurrent.futures.ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        for (trace, _), differences in zip(of_each, pool.map(
                lambda one: over_a_trace(programs, one[1], one[0], names), of_each)):
            for kind, difference in differences:
                different += 1
                if different <= SHOWN_MAX:
                    print('not ok sillage %s %s: %s' % (' '.join(kind), trace or '', difference))
    print('%s identical: %d commands over %d traces, %d differ' % (
        'not ok' if different else 'ok', sum(len(kinds) for _, kinds in of_each), len(found),
        different))
    return 1 if different else 0


if __name__ == '__main__':
    sys.exit(main())
