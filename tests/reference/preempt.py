#!/usr/bin/env python3
"""preempt: who had the CPU that threads waited for, against a plain sequential program.

Goal    Each pair of threads with the same time, count and longest overlap, to the nanosecond; pairs of
        processes and containers add up to them; all of it as long as threads wait in `sched`; the same
        total with any interval, cut and number of workers, spread over processes, and from a state.
Method  The program goes from event to event.  In between nothing changes, so it gives that time to each
        waiting thread and to who runs on the CPU that this one waits for.  It knows no windows or chunks.

usage: preempt.py SILLAGE TRACE... [--no-laws]     --no-laws: pairs and triggers alone
"""
import collections
import json
import os
import subprocess
import sys
import tempfile

import reference
import sequential
from sequential import number

IDLE, UNKNOWN = 'idle', 'unknown'


class Thread:
    """
    One thread: what it does ('runs', 'waits', 'sleeps', 'dead', None: not known), and the CPU that it is on, waits for,
    or was on last.
    """

    def __init__(self, tid):
        self.tid, self.does, self.cpu, self.woken = tid, None, None, False
        self.target, self.overlap, self.came = None, None, None
        self.pid_ns, self.level = None, -1  # of the innermost namespace that is known
        self.pid = self.ended = None

    def waits(self, cpu):
        self.does, self.cpu, self.overlap = 'waits', cpu, None


class Pairs:
    """Who runs is told by the switches of each CPU, who waits by the events about each thread."""

    def __init__(self, events, release, names, holes=()):
        self.sched = sequential.Sched(None, release, names)
        self.threads, self.runs, self.waiting = {}, {}, set()
        self.all = collections.defaultdict(lambda: [0, 0, 0])  # ns, times, longest
        self.now = now = events[0][0]
        holes = [begin for begin, _ in holes if begin >= events[0][0]]
        for ns, name, cpu, text in events:
            if name == 'sched_switch' and cpu not in self.runs:
                first = number(text, 'prev_tid') if not holes or ns <= holes[0] else None
                self.runs[cpu] = [UNKNOWN if first is None else self.thread(first) if first else IDLE]
                if first:
                    self.thread(first).does, self.thread(first).cpu = 'runs', cpu
        for ns, name, cpu, text in events:
            while holes and holes[0] < ns:
                self.pass_time(holes[0] - now)
                now = holes.pop(0)
                self.hole()
            self.pass_time(ns - now)
            now = self.now = ns
            self.event(ns, name, cpu, text)
            self.waiting = {thread for thread in self.threads.values() if thread.does == 'waits'}

    def thread(self, tid):
        found = self.threads.get(tid)
        if not found or (found.ended is not None and self.now > found.ended):
            found = self.threads[tid] = Thread(tid)
        return found

    def hole(self):
        """Nothing is traced from here on: nobody is known to run or to wait."""
        for cpu, runs in self.runs.items():
            self.runs[cpu] = runs if runs[0] == UNKNOWN else [UNKNOWN]
        for thread in self.threads.values():
            thread.does, thread.woken, thread.came = 'dead' if thread.does == 'dead' else None, False, None
        self.waiting = set()

    def pass_time(self, ns):
        for thread in self.waiting if ns > 0 else ():
            who = self.runs.setdefault(thread.cpu, [UNKNOWN])
            book = self.all[thread, who[0]]
            # Each time that somebody runs is another one: a list is a new object.
            if thread.overlap is None or thread.overlap[0] is not who:
                thread.overlap = [who, 0]
                book[1] += 1
            thread.overlap[1] += ns
            book[0] += ns
            book[2] = max(book[2], thread.overlap[1])

    def event(self, ns, name, cpu, text):
        tid = number(text, 'tid')
        if name == 'sched_switch':
            pid = number(text, 'context_pid')
            if pid is not None and number(text, 'prev_tid'):
                self.thread(number(text, 'prev_tid')).pid = pid
            self.switch(ns, cpu, number(text, 'prev_tid'), number(text, 'prev_state'), number(text, 'next_tid'))
        elif name == 'sched_process_fork':
            child = self.threads[number(text, 'child_tid')] = Thread(number(text, 'child_tid'))
            child.pid_ns, child.level = number(text, 'child_ns_inum'), 99
            child.pid = number(text, 'child_pid')
            child.waits(cpu)
        elif name == 'lttng_statedump_process_pid_ns' and number(text, 'ns_level') > self.thread(tid).level:
            self.thread(tid).pid_ns, self.thread(tid).level = number(text, 'ns_inum'), number(text, 'ns_level')
        elif name == 'lttng_statedump_process_state':
            self.thread(tid).pid = number(text, 'pid')
        elif name == 'sched_process_exec' and number(text, 'old_tid') not in (None, tid):
            self.exec(ns, cpu, tid, number(text, 'old_tid'))
        elif name == 'sched_migrate_task' and tid and self.thread(tid).does == 'waits':
            self.move(self.thread(tid), number(text, 'dest_cpu'))
        elif name in ('sched_ttwu', 'sched_waking', 'sched_wakeup', 'sched_wakeup_new') and tid and number(text, 'success') != 0:
            self.wake(name, cpu, self.thread(tid), number(text, 'target_cpu'))

    @staticmethod
    def move(thread, cpu):
        if thread.cpu != cpu:
            thread.waits(cpu)

    def exec(self, ns, cpu, tid, old):
        """The thread has another tid from now on; it runs here.  Nothing else of its process goes on."""
        thread = self.thread(old)
        del self.threads[old]
        for other in self.threads.values():
            if other.tid == tid or (other.pid == tid and other is not thread and other.does != 'runs'):
                other.does, other.ended = 'dead', ns if other.ended is None else other.ended
        thread.tid, thread.pid, self.threads[tid] = tid, tid, thread
        if self.runs[cpu][0] == UNKNOWN:
            self.runs[cpu] = [thread]
        if thread.does != 'runs':
            thread.does, thread.cpu, thread.woken = 'runs', cpu, False

    def switch(self, ns, cpu, prev, state, next_):
        if prev:
            thread = self.thread(prev)
            if not (thread.does == 'runs' and thread.cpu != cpu and thread.came == ns):  # else it is elsewhere already
                how, woken = self.sched.leaves(state), thread.woken
                thread.does, thread.cpu, thread.woken = 'sleeps' if how == 'sleep' else 'dead', cpu, False
                if how == 'dead':
                    thread.ended = ns
                if how == 'ready' or (how == 'sleep' and woken):
                    thread.waits(cpu if how == 'ready' else thread.target)
        self.runs[cpu] = [self.thread(next_) if next_ else IDLE]
        if next_:
            thread = self.thread(next_)
            thread.does, thread.cpu, thread.woken, thread.came = 'runs', cpu, False, ns

    def wake(self, name, cpu, thread, target):
        target = thread.cpu if target is None else target
        if thread.does == 'runs':
            if name == self.sched.source and cpu != thread.cpu:
                thread.woken, thread.target = True, target
            elif name == 'sched_wakeup' and name != self.sched.source:
                thread.woken = False
        elif thread.does == 'waits':
            if name != self.sched.source:
                self.move(thread, target)
        elif thread.does != 'dead' and (name == self.sched.source or (name == 'sched_wakeup_new' and thread.does is None)):
            thread.waits(target)


def run(sillage, *words, text=None):
    return subprocess.run([sillage, *words], input=text, stdout=subprocess.PIPE, check=True).stdout


def total(out):
    return [line for line in map(json.loads, out.decode().splitlines()) if line['type'] == 'total'][0]['preempt']


def rows(pairs):
    """The same pairs of tids of several threads are told apart by their figures only."""
    return sorted(((row.get('tid'), row.get('by_tid') if row.get('by_comm') != '(unknown)' else UNKNOWN,
                    row['waited_ns'], row['times'], row['longest_ns']) for row in pairs), key=repr)


def check_pairs(ours, trace, release, names, events=None):
    """What differs from the sequential program, or nothing."""
    theirs = Pairs(list(events or reference.events_of(trace)), release, names, reference.holes_of(trace))
    want = sorted(((thread.tid, {IDLE: 0, UNKNOWN: UNKNOWN}.get(by) if isinstance(by, str) else by.tid, *figures)
                   for (thread, by), figures in theirs.all.items()), key=repr)
    got = rows(ours['pairs'])
    if got != want:
        return 'pairs: %d, the sequential program has %d; first: %r' % (
            len(got), len(want), sorted(set(got) ^ set(want), key=repr)[:4])
    return None


def check_containers(sillage, trace, faults):
    """Pairs of containers are those of their threads, put together."""
    ours = total(run(sillage, 'analyze', '-q', '-a', 'preempt', '-f', 'json', '--per', 'container', trace))['container_pairs']
    release, names = reference.declared(trace)
    wanted = collections.defaultdict(lambda: [0, 0, 0])
    for (thread, by), (ns, times, longest) in Pairs(list(reference.events_of(trace)), release, names, reference.holes_of(trace)).all.items():
        book = wanted[thread.pid_ns, by if isinstance(by, str) else by.pid_ns]
        book[0], book[1], book[2] = book[0] + ns, book[1] + times, max(book[2], longest)
    got = {(row.get('pid_ns'), row.get('by_pid_ns') or {'(idle)': IDLE, '(unknown)': UNKNOWN}.get(row.get('by_name'), row.get('by_name'))):
           [row['waited_ns'], row['times'], row['longest_ns']] for row in ours}
    faults += ['%s: containers %r: %r, the sequential program has %r' % (trace, pair, got.get(pair), wanted.get(pair))
               for pair in got.keys() | wanted.keys() if got.get(pair) != wanted.get(pair)]
    if len({pair[0] for pair in got}) < 4:
        faults.append('%s: few containers: %r' % (trace, got))


def check_laws(sillage, trace, ours, faults):
    asked = ['-q', '-a', 'preempt']
    line = [line for line in map(json.loads, run(sillage, 'analyze', '-q', '-a', 'sched,preempt', '-f', 'json',
                                                 trace).decode().splitlines()) if line['type'] == 'total'][0]
    ended = sum(line['sched'][key].get('sum_ns', 0) for key in ('wake', 'requeue', 'fork'))
    if not ended <= ours['waited_ns']:
        faults.append('threads wait for %d ns, in sched for %d' % (ours['waited_ns'], ended))
    with tempfile.TemporaryDirectory() as folder:
        state = os.path.join(folder, 'state')
        run(sillage, 'analyze', *asked, '--state', state, trace)
        partials = run(sillage, 'map', *asked, '--chunk-size', '4000', trace)
        for per, key in (('tid', 'pairs'), ('pid', 'process_pairs'), ('container', 'container_pairs')):
            shown = ['-f', 'json', '--per', per]
            base = total(run(sillage, 'analyze', *asked, *shown, trace))
            if any(sum(row[figure] for row in base[key]) != sum(row[figure] for row in ours['pairs'])
                   for figure in ('waited_ns', 'times')) or base['waited_ns'] != ours['waited_ns']:
                faults.append('%s do not add up' % key)
            same = {'in small chunks': run(sillage, 'analyze', *asked, *shown, '-j', '0', '--chunk-size', '300', trace),
                    'in windows': run(sillage, 'analyze', *asked, *shown, '-i', '7ms', '--max-memory', '1K', trace),
                    'map | merge': run(sillage, 'merge', '-q', *shown, '-', text=partials),
                    'from a state': run(sillage, 'merge', '-q', *shown, state)}
            faults += ['%s differ %s' % (key, what) for what, out in same.items() if total(out) != base]
            windows = [line['preempt'][key] for line in map(json.loads, same['in windows'].decode().splitlines())
                       if line['type'] == 'window']
            if sum(row['waited_ns'] for window in windows for row in window) != base['waited_ns']:
                faults.append('windows of %s do not add up' % key)


def check_triggers(sillage, trace, faults):
    """The noisy neighbours of the trace `containers`."""
    for trigger, fires in (('preempt.container_pair[name=task-*].waited > 50ms', True),
                           ('preempt.container_pair[by_name=host].waited > 5%', True),
                           ('preempt.container_pair[by_pid_ns=4026531836].longest > 1s', False),
                           ('preempt.process_pair[by_comm=task-*].times > 5', True),
                           ('preempt.pair[by_tid=0].waited > 1s', False),
                           ('preempt.pair[comm=nobody].waited > 0', False),
                           ('preempt.waited > 10%', True)):
        out = run(sillage, 'analyze', '-q', '-a', 'preempt', '-f', 'json', '-i', '100ms', '--trigger', trigger, trace)
        if (b'"type":"trigger"' in out) != fires:
            faults.append('%s %s' % (trigger, 'does not fire' if fires else 'fires'))


def main():
    sillage, faults = sys.argv[1], []
    traces, laws = [one for one in sys.argv[2:] if one != '--no-laws'], '--no-laws' not in sys.argv
    for trace in traces:
        ours = total(run(sillage, 'analyze', '-q', '-a', 'preempt', '-f', 'json', trace))
        # The program knows no losses.
        found = None if 'lost' in trace else check_pairs(ours, trace, *reference.declared(trace))
        faults += ['%s: %s' % (trace, found)] if found else []
        if 'containers' in trace:
            check_triggers(sillage, trace, faults)
            check_containers(sillage, trace, faults)
        if laws:
            check_laws(sillage, trace, ours, faults)
        print('%s: %d pairs, %d ns' % (trace, len(ours['pairs']), ours['waited_ns']))
    for fault in faults:
        print('not ok:', fault)
    return 1 if faults else 0


if __name__ == '__main__':
    sys.exit(main())
