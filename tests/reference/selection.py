#!/usr/bin/env python3
"""selection: what --tid, --pid, --comm and --cpu leave is what the selected threads and CPUs did.

Goal    Each figure of a run with a selection, but for tables that the report says are of the whole
        system: headlines, rows by thread, name and key, distributions, the longest.
Method  The sequential programs of reference.py, which see all events and note only those of the
        selection: a figure counts if the event that adds it belongs to a selected CPU and thread, as
        the trace has told of the thread when it was last switched in.  Then laws: windows of any length have the same total,
        and so have other cuts and workers; the totals of single CPUs add up to that of all.

usage: selection.py SILLAGE TRACE...
"""
import collections
import fnmatch
import json
import random
import subprocess
import sys

import reference
import sequential
from sequential import number

ANALYSES = ('cpu', 'io', 'sched', 'syscalls', 'memory', 'faults')
WAKES = ('sched_ttwu', 'sched_waking', 'sched_wakeup', 'sched_wakeup_new')


class Rows(collections.defaultdict):
    """Rows of threads; those of others are thrown away."""

    def __init__(self, of):
        super().__init__(collections.Counter)
        self.of = of

    def __getitem__(self, thread):
        return super().__getitem__(thread) if self.of.picks(thread) else collections.Counter()


class Selected(reference.Reference):
    def __init__(self, events, release, names, selection):
        self.selection, self.cpu, self.matched = selection, None, False
        super().__init__(events, release, names)

    def heads(self):
        self.windows = collections.defaultdict(self.new_window)
        self.others = Noting(self, self.others.sched.release, self.others.sched.names)
        super().heads()
        for _, name, cpu, text in self.events:
            thread = self.threads.get(number(text, 'prev_tid')) if name == 'sched_switch' else None
            if thread and thread.tid == self.current[cpu] and thread.comm is None:
                thread.comm = sequential.string(text, 'prev_comm')
                thread.picked = self.wants(thread)

    def new_window(self):
        window = reference.Window()
        window.rows = Rows(self)
        return window

    def wants(self, thread):
        s, pid = self.selection, thread.tid if thread.pid is None else thread.pid
        return (('tid' not in s or thread.tid in s['tid']) and ('pid' not in s or pid in s['pid']) and
                ('comm' not in s or any(fnmatch.fnmatchcase(thread.comm or '', one) for one in s['comm'])))

    def picks(self, thread):
        """As the thread was known when it was last switched in."""
        if 'cpu' in self.selection and self.cpu not in self.selection['cpu']:
            return False
        if thread is None:
            return set(self.selection) == {'cpu'}
        picked = getattr(thread, 'picked', None)
        picked = self.wants(thread) if picked is None else picked
        self.matched |= picked
        return picked

    def charge(self, cpu, until):
        before, self.cpu = self.cpu, cpu
        super().charge(cpu, until)
        self.cpu = before

    def switch(self, ns, cpu, text):
        next_ = self.thread(number(text, 'next_tid')) if number(text, 'next_tid') else None
        if next_:
            next_.comm = sequential.string(text, 'next_comm')
            next_.picked = self.wants(next_)
        super().switch(ns, cpu, text)

    def exec(self, ns, cpu, text):
        super().exec(ns, cpu, text)
        if number(text, 'old_tid') not in (None, number(text, 'tid')):
            thread = self.thread(number(text, 'tid'))
            thread.picked = self.wants(thread)

    def event(self, ns, name, cpu, text):
        self.cpu = cpu
        super().event(ns, name, cpu, text)
        if name == 'lttng_statedump_process_state' or name == 'sched_process_fork':  # of a thread that may do nothing
            self.picks(self.thread(number(text, 'tid' if name.startswith('lttng') else 'child_tid')))


class Noting(sequential.Sequential):
    """Figures that do not count go to a book that nobody reads."""
    HAS_ALL = False

    def book(self, ns, thread):
        if self.reference.picks(thread):
            return self.books[ns // self.reference.interval]
        return sequential.Book()

    def switch(self, ns, cpu, prev, next_, text):
        state = number(text, 'prev_state')
        elsewhere = prev and any(current == prev.tid for c, current in self.reference.current.items() if c != cpu)
        book = self.book(ns, next_)
        self.contexts.switch(cpu, text)
        self.sched.switch(ns, cpu, prev, elsewhere, state, next_, number(text, 'next_prio'), book)
        self.syscalls.switch(ns, prev, elsewhere, self.sched.leaves(state) == 'dead', next_)
        if self.stays(ns, prev, elsewhere) and self.sched.stops(state):
            self.faults.goes_on(prev, self.book(ns, prev))
        self.faults.switch(ns, cpu, prev if not elsewhere else None, self.sched.leaves(state) == 'sleep', next_, book)

    def event(self, ns, name, cpu, text, thread):
        book = self.book(ns, thread)
        self.contexts.event(name, cpu, text)
        woken = self.reference.thread(number(text, 'tid')) if name in WAKES and number(text, 'tid') else None
        self.sched.event(ns, name, cpu, text, self.book(ns, woken))
        self.syscalls.event(ns, name, thread, text, book)
        self.memory.event(ns, name, thread, text, book)
        self.faults.event(ns, name, thread, text, book)

    def end_window(self, end, number_):
        for thread in list(self.syscalls.open):
            self.reference.cpu = thread.cpu
            book = self.books[number_] if self.reference.picks(thread) else sequential.Book()
            rest, self.syscalls.open = self.syscalls.open, {thread: self.syscalls.open[thread]}
            self.syscalls.end_window(end, book)
            if thread not in self.syscalls.open:
                del rest[thread]
            self.syscalls.open = rest


def run(sillage, trace, *more):
    out = subprocess.run([sillage, 'analyze', '-q', '-f', 'json', *more, trace], stdout=subprocess.PIPE,
                         stderr=subprocess.DEVNULL)
    return out.returncode, [json.loads(line) for line in out.stdout.decode('utf-8').splitlines()]


def total_of(lines):
    return [line for line in lines if line['type'] == 'total'][0]


def words(selection):
    return [word for key, values in selection.items() for word in ('--' + key, ','.join(map(str, values)))]


def strip(line):
    """Without the tables of the whole system, which are checked by reference.py."""
    for name in ANALYSES:
        for table in line[name].pop('whole_system', ()):
            for key in [table] if table in line[name] else [key for key, value in line[name].items()
                                                            if table == 'totals' and not isinstance(value, list)]:
                del line[name][key]
    return line


def differences(what, line, window, book, tid_of, whole):
    strip(line)
    for analysis, keys in (('cpu', reference.CPU_KEYS), ('io', reference.IO_KEYS)):
        ours = reference.our_rows(line[analysis]['threads'], keys)
        theirs = reference.rows_of(window, keys)
        if ours != theirs:
            yield '%s: %s: %s, the reference has %s' % (what, analysis, (ours - theirs), (theirs - ours))
    for key in ('read_bytes', 'write_bytes'):
        # None: the trace has no system calls.
        if (line['io'][key] or 0) != sum(row[key] for row in window.rows.values()):
            yield '%s: io.%s is %s' % (what, key, line['io'][key])
    for path in [path for path in book.sums if path[:2] == ('memory', 'orders')]:
        if 'orders' not in line['memory']:
            del book.sums[path]
    for text in sequential.differences({**{name: {} for name in sequential.ANALYSES}, **line}, book, tid_of):
        yield '%s: %s' % (what, text)


def check_selection(sillage, trace, events, selection):
    made = Selected(events, *reference.declared(trace), selection)
    status, lines = run(sillage, trace, '-a', ','.join(ANALYSES), '-i', '%dns' % reference.INTERVAL, *words(selection))
    faults = []
    if status != (0 if made.matched else 1):
        faults.append('exit status %d' % status)
    for line in lines:
        if line['type'] == 'window':
            window, book = made.windows[line['begin'] // reference.INTERVAL], made.others.books[line['begin'] // reference.INTERVAL]

            def tid_of(thread):
                return window.tids.get(thread, thread.tid)

            book.fix(tid_of)
            faults += differences('window %d' % line['seq'], line, window, book, tid_of, False)
    books = [book for _, book in sorted(made.others.books.items())]
    faults += differences('total', total_of(lines), reference.merge(made.windows.values()), sequential.merged(books),
                          lambda thread: thread.tid, True)
    return faults


def additive(value, path=()):
    """{path: number} of what adds up: counts, bytes, times; rows by what names them."""
    if isinstance(value, dict):
        keys = [value[key] for key in ('tid', 'pid', 'cpu', 'name', 'prio', 'order', 'errno', 'path', 'fd',
                                       'irq', 'vec', 'channel', 'by_tid', 'by_pid', 'by_pid_ns', 'by_comm') if key in value]
        for key, inner in value.items():
            if key not in ('longest', 'log2', 'whole_system', 'trace') and not isinstance(inner, str):
                yield from additive(inner, path + tuple(map(str, keys)) + (key,))
    elif isinstance(value, list):
        for inner in value:
            yield from additive(inner, path)
    elif value is not None and path[-1] not in (
            'min_ns', 'mean_ns', 'max_ns', 'stdev_ns', 'p50_ns', 'p95_ns', 'p99_ns', 'p999_ns', 'tid', 'pid', 'cpu', 'prio',
            'longest_ns', 'order', 'errno', 'fd', 'begin', 'end', 'oldest_ns', 'depth_max', 'depth_ns', 'irq', 'vec',
            'channel', 'number', 'level', 'by_tid', 'by_pid', 'by_pid_ns') and path[0] not in ('state', 'waits', 'power'):
        yield path, value


def add_up(sums, value, name):
    """Several rows may have one name: a tid that was used again."""
    for path, number_ in additive(value, (name,)):
        sums[path] += number_


def check_laws(sillage, trace, selection, cpus):
    asked = ['-a', 'all', *words(selection)]
    whole = total_of(run(sillage, trace, *asked)[1])
    for more in (['-i', '1ms'], ['-i', '37ms'], ['-i', '1ms', '-j', '3', '--chunk-size', '5000'],
                 ['-j', '0', '--chunk-size', '1'], ['-j', '2', '--chunk-size', '64K']):
        other = total_of(run(sillage, trace, *asked, *more)[1])
        for name in [name for name in whole if isinstance(whole[name], dict) and name not in ('trace', 'faults', 'waits')]:
            # Instances that were chosen in a window have the thread as it was known then.
            if {**whole[name], 'longest': 0} != {**other[name], 'longest': 0}:
                yield '%s: not the same with %s' % (name, ' '.join(more))
    if 'cpu' in selection:
        return
    added = collections.Counter()
    for cpu in cpus:
        one = total_of(run(sillage, trace, *asked, '--cpu', str(cpu))[1])
        for name in whole:
            if isinstance(whole[name], dict) and name not in ('trace', 'block'):
                add_up(added, one[name], name)
    wanted = collections.Counter()
    for name in whole:
        if isinstance(whole[name], dict) and name not in ('trace', 'block'):
            add_up(wanted, whole[name], name)
    for path in sorted(set(wanted) | set(added)):
        if wanted[path] != added[path]:
            yield 'CPUs add up to %d, not %d: %s' % (added[path], wanted[path], path)


def selections(events, rng):
    """Threads, processes, names and CPUs of the trace; patterns; what is not in it."""
    tids = sorted({number(text, 'next_tid') for _, name, _, text in events if name == 'sched_switch'} - {0})
    pids = sorted({number(text, 'pid') for _, name, _, text in events if name == 'lttng_statedump_process_state'} |
                  {number(text, 'child_pid') for _, name, _, text in events if name == 'sched_process_fork'}) or [1]
    comms = sorted({sequential.string(text, 'next_comm') for _, name, _, text in events if name == 'sched_switch'})
    cpus = sorted({cpu for _, _, cpu, _ in events if cpu is not None})
    comms = [comm for comm in comms if not set(comm) & set('*?[\\,')] or ['x']
    return cpus, [
        {'tid': rng.sample(tids, min(3, len(tids)))}, {'pid': rng.sample(pids, min(3, len(pids)))}, {'pid': pids},
        {'comm': [rng.choice(comms)[:3] + '*', rng.choice(comms)]}, {'cpu': [rng.choice(cpus)]},
        {'comm': ['*[aeiou]?*'], 'cpu': [rng.choice(cpus)]}, {'tid': tids, 'comm': ['no such name']}]


def check(sillage, trace):
    events, rng = list(reference.events_of(trace)), random.Random(1)
    cpus, all_ = selections(events, rng)
    failed = 0
    for selection in all_:
        faults = check_selection(sillage, trace, events, selection)
        faults += check_laws(sillage, trace, selection, cpus)
        for fault in faults[:3]:
            print('# %s: %s' % (' '.join(words(selection))[:60], fault[:300]))
        failed += bool(faults)
    print('%s %s: %d events, %d selections' % ('not ok' if failed else 'ok', trace, len(events), len(all_)))
    return failed == 0


if __name__ == '__main__':
    if len(sys.argv) < 3:
        print('skipped: no trace given')
        sys.exit(77)
    sys.exit(0 if all([check(sys.argv[1], trace) for trace in sys.argv[2:]]) else 1)
