#!/usr/bin/env python3
"""changes: what `overview` sees where the CPUs' time says nothing.

Goal    A process that waits for something else from some time on begins a phase there, which is named
        after it, and so do containers; that threads begin, end or are seen late begins none.  Of user
        programs the events of a name and of a process do, and periods and jobs that are asked for.
        Each boundary is the truth's within a slice; no other one is shown.  The slices are from the
        first event to the last, whatever packets say.
Method  Traces that are written here, with both parts of the time as busy as the other.

usage: changes.py SILLAGE
"""
import json
import os
import random
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, '..', 'property'))
import generated  # noqa: E402
import synthetic  # noqa: E402

LAYOUT = generated.Layout('plain')
MS = 1_000_000
HALF, END = 5000, 10000  # ms


def check(condition, *what):
    if not condition:
        raise SystemExit('not ok ' + ' '.join(map(str, what)))


def overview(sillage, trace, *options):
    done = subprocess.run([sillage, 'overview', '-q', '-f', 'json', *options, trace], capture_output=True, text=True)
    check(done.returncode == 0, options, done.returncode, done.stderr)
    return json.loads(done.stdout)


def stream(number, cpu, events, late=0):
    """The bytes of a stream, in packets of 100 events; the last one ends @late ms later."""
    out = b''
    for seq, at in enumerate(range(0, len(events), 100)):
        now = events[at:at + 100]
        begin = now[0][0]
        end = events[at + 100][0] if at + 100 < len(events) else now[-1][0] + late * MS
        out += synthetic.packet(cpu, seq, begin, end, [generated.pack(random.Random(1), LAYOUT, begin, now)], 0, number)
    return out


class Kernel:
    """One CPU: threads run for 1 ms when they are woken, and make a call in which they sleep."""

    def __init__(self):
        self.events, self.now = [], generated.START
        self.begun = set()

    def add(self, name, *values):
        self.now += 1000
        self.events.append((self.now, name, values, []))

    def dump(self, tid, pid, comm, ns=None):
        self.add('lttng_statedump_process_state', tid, pid, comm, 1)
        if ns is not None:
            self.add('lttng_statedump_process_pid_ns', tid, tid, pid, 0, generated.HOST)
            self.add('lttng_statedump_process_pid_ns', tid, tid % 100, pid % 100, 1, ns)

    def turn(self, ms, tid, comm, call):
        """At @ms the thread is woken, returns from its call, and enters @call."""
        self.now = max(self.now, generated.START + ms * MS)
        self.add('sched_waking', tid, 0)
        self.add('sched_switch', 'swapper', 0, 20, 0, comm, tid, 20)
        if tid in self.begun:
            self.add('syscall_exit_' + self.last[tid], 0)
        self.begun.add(tid)
        self.now += MS
        self.add('syscall_entry_' + call, *((3,) if call == 'read' else (4096, 0) if call == 'futex' else ()))
        self.add('sched_switch', comm, tid, 20, 1, 'swapper', 0, 20)
        self.last[tid] = call

    last = {}

    def write(self, path, late=0):
        generated.write(path, generated.metadata(LAYOUT), {'s0': stream(0, 0, self.events, late)})


def calls_of(first, second):
    return lambda ms: first if ms < HALF else second


def kernel(path, threads, late=0):
    """@threads: (tid, pid, comm, call at a time, begin and end in ms, how often it is woken, PID namespace)"""
    trace = Kernel()
    for tid, pid, comm, *_, ns in threads:
        trace.dump(tid, pid, comm, ns)
    turns = [(ms + tid % 50, tid, comm, call) for tid, _, comm, call, begin, end, every, _ in threads
             for ms in range(begin, end, every)]
    for ms, tid, comm, call in sorted(turns, key=lambda one: one[:2]):
        trace.turn(ms, tid, comm, call(ms))
    trace.write(path, late)


def ust(path, requests):
    """@requests: (ms, ms that it takes, name, pid, comm): app:begin and app:end, or an event of another name."""
    events = []
    for i, (ms, takes, name, pid, comm) in enumerate(requests):
        context = list(zip(('s32', 's32', 'comm'), (pid, pid, comm)))
        begin = generated.START + ms * MS + 10 * i
        events.append((begin, name or 'app:begin', (i,), context))
        if not name:
            events.append((begin + takes * MS, 'app:end', (i,), context))
    text = generated.metadata(LAYOUT, (generated.UST_CONTEXTS, ()), 'ust')
    generated.write(path, text, {'s0': stream(0, 0, sorted(events, key=lambda one: one[0]))})


def check_ust(sillage, path):
    """Programs, by rate, name, process and time."""
    ust(path('rates'), [(ms, 2, None, 7, 'web') for ms in range(0, END, 5) if ms >= HALF or ms % 20 == 0])
    check_phases('requests, 50 a second and then 200', overview(sillage, path('rates')))
    ust(path('names'), [(ms, 0, 'lib:size' if ms < HALF else 'db:put_entry', 7, 'web') for ms in range(0, END, 5)])
    check_phases('as many of another name', overview(sillage, path('names')),
                 names=('count: lib:size events', 'count: db:put_entry events'))
    ust(path('turns'), [(ms, 0, 'lib:size', 7 if ms < HALF else 8, 'web%d' % (ms >= HALF)) for ms in range(0, END, 5)])
    check_phases('as many of another process', overview(sillage, path('turns')),
                 names=('ust: web0 (7) events', 'ust: web1 (8) events'))
    ust(path('times'), [(ms, 2 if ms < HALF else 6, None, 7, 'web') for ms in range(0, END, 10)])
    found = overview(sillage, path('times'))
    check(len(found['phases']) == 1, 'nothing was asked for')
    found = overview(sillage, path('times'), '--period', 'web = app:begin; app:end')
    check_phases('requests that take longer', found, names=('periods: web time', 'periods: open'))
    series = {one['name']: one for one in found['series']}
    first, second = found['phases']
    at = list(series).index('periods: web time')
    check(series['periods: web time']['unit'] == 'ns', 'unit', series['periods: web time']['unit'])
    check(abs(first['means'][at] - 2 * MS) < MS // 10 and abs(second['means'][at] - 6 * MS) < MS // 10, first['means'][at])
    check({'periods: web ended', 'periods: open'} <= set(series), sorted(series))


def check_asked(sillage, trace):
    """Jobs of a kernel trace are series beside the CPUs' states; so is what some threads do."""
    found = overview(sillage, trace, '--job', 'turn = run; deadline 1ms', '--comm', 'db')
    names = [one['name'] for one in found['series']]
    check({'jobs: turn ended', 'jobs: turn misses', 'jobs: turn time'} <= set(names), names)
    check(not any(name.startswith('other') for name in names), names)
    check(all(one['scale'] > 0 for one in found['series'] if one['name'].startswith('jobs: turn ') and max(one['values'])), 'jobs are in no phase')
    text = subprocess.run([sillage, 'overview', '-q', trace], capture_output=True, text=True, check=True).stdout
    check(all(len(line) <= 80 for line in text.splitlines()[1:]), 'lines are longer than 80 columns:\n' + text)
    coarse = overview(sillage, trace, '-p', '0')
    check(all('change' in one or one['begin'] == coarse['begin'] or
              all(abs(a - b) < 0.1 * series['scale'] for a, b, series in zip(before['means'], one['means'], coarse['series'])
                  if series['scale'] and not series['name'].endswith('idle'))
              for before, one in zip(coarse['phases'], coarse['phases'][1:])), 'a change is not said')
    check(all(abs(one['change']['after'] - one['change']['before']) >=
              0.1 * next(series['scale'] for series in coarse['series'] if series['name'] == one['change']['series'])
              for one in coarse['phases'] if 'change' in one), 'a change that is none')


def check_phases(what, found, at=HALF, names=()):
    """One change, at @at ms, of one of the series."""
    begins = [(phase['begin'] - generated.START) / MS for phase in found['phases'][1:]]
    slice_ms = (found['slices'][2] - found['slices'][1]) / MS
    check(len(begins) == 1 and abs(begins[0] - at) <= 2 * slice_ms, what, 'phases begin at', begins)
    check(not names or found['phases'][1]['change']['series'] in names, what, found['phases'][1].get('change'))
    print('ok', what, found['phases'][1]['change'])


def main():
    sillage = sys.argv[1]
    with tempfile.TemporaryDirectory() as folder:
        def path(name):
            return os.path.join(folder, name)

        nap, others = calls_of('nanosleep', 'nanosleep'), []
        for i in range(4):  # that begin, end, and are seen late
            others.append((20 + i, 20 + i, 'other%d' % i, nap, 0, END, 100, None))
        others.append((30, 30, 'early', nap, 0, 3000, 100, None))
        others.append((31, 31, 'late', nap, 7000, END, 100, None))
        others.append((32, 20, 'more', calls_of('read', 'read'), 2000, END, 100, None))
        db = (10, 10, 'db', calls_of('futex', 'read'), 0, END, 100, None)
        kernel(path('db'), [db, *others])
        db_names = ('db (10) waits for futex', 'db (10) waits for fd')
        check_phases('one thread', overview(sillage, path('db')), names=db_names)
        few = [(11 + i, 10, 'db', calls_of('futex', 'futex'), 0, END, 100, None) for i in range(2)]
        kernel(path('pool'), [db, *few, *others])
        check_phases('one of three threads', overview(sillage, path('pool')), names=db_names)
        kernel(path('none'), others)
        found = overview(sillage, path('none'))
        check(len(found['phases']) == 1, 'threads that begin and end:', [one.get('change') for one in found['phases']])
        apart = [(100 * n + i, 100 * n + 1, 'c%d' % n, calls_of('futex', 'read' if n == 2 else 'futex'), 0, END, 100,
                  generated.HOST + n) for n in (1, 2) for i in range(1, 4)]
        kernel(path('apart'), apart)
        found = overview(sillage, path('apart'))
        check_phases('containers', found, names=('c2 (201) waits for futex', 'c2 (201) waits for fd',
                                                 'c2 waits for futex', 'c2 waits for fd'))
        check({'c2 waits for futex', 'c2 waits for fd'} <= {one['name'] for one in found['series']}, 'no series of c2')
        check(not any(one['name'].startswith('c1') for one in found['series']), 'c1 does not change')
        kernel(path('packets'), [db, *others], late=3_600_000)
        found = overview(sillage, path('packets'))
        check_phases('a packet that ends an hour later', found, names=db_names)
        check(found['end'] - found['begin'] < 1.01 * END * MS, 'packets, not events:', found['end'] - found['begin'])
        check_ust(sillage, path)
        check_asked(sillage, path('db'))
    print('ok')


if __name__ == '__main__':
    main()
