#!/usr/bin/env python3
"""realtime: priorities and arrivals of `sillage report` against a plain sequential program.

Goal    Whom an inversion names had these priorities, as far as events tell; every execution arrived when
        doc/definitions.md (6.2) says, also if its thread, its timer or its period tells nothing.
Method  The events that babeltrace2 prints, thread by thread, looked up afterwards and not as they come.

usage: realtime.py SILLAGE NAME/kernel...
"""
import bisect
import collections
import os
import sys

import deep
import files
import reference

SETS = ('sched_setscheduler', 'sched_setparam', 'sched_setattr', 'setpriority', 'nice')
CALLS = ('clock_nanosleep', 'read', 'rt_sigtimedwait', 'mq_timedreceive', 'futex')


class Thread:
    def __init__(self):
        self.prios = []    # (ts, what, value): what events show and do, in their order
        self.sleeps = []   # ends of sleeps
        self.wakes = []    # (ts, expiry or None, signal or None)
        self.waiting = []  # (ts, expiry): expiries that found it awake
        self.signals = []  # (ts, number)
        self.state = self.woken = None
        self.call = None   # (name, whose priority is set, index in that one's prios)
        self.marks = []    # (ts, 'entry' or 'exit', name)

    def prio(self, ts):
        """What is known of its priority; None: nothing."""
        at = bisect.bisect_right([item[0] for item in self.prios], ts) - 1
        if at < 0:
            return self.prios[0][2] if self.prios else None
        when, what, value = self.prios[at]
        after = self.prios[at + 1] if at + 1 < len(self.prios) else (0, None, None)
        if what in ('shows', 'inherits'):
            return value if ts == when or after[1] != 'shows' or after[2] == value else None
        return after[2] if what == 'changes' and after[1] == 'shows' else None


class Expiry:
    def __init__(self, ts, due, timer):
        self.ts, self.due, self.timer = ts, due, timer
        self.woke = False


class Plain:
    def __init__(self, trace):
        self.threads = collections.defaultdict(Thread)
        self.current, self.inside, self.last_woken = {}, {}, {}
        self.timers, self.owners = {}, {}  # what a timer is set to; the threads that it woke
        events = list(reference.events_of(trace))
        names = {name for _, name, _, _ in events}
        self.source = [name for name in ('sched_ttwu', 'sched_waking', 'sched_wakeup') if name in names][:1]
        for _, name, cpu, text in events:
            if name == 'sched_switch':
                self.current.setdefault(cpu, files.number(text, 'prev_tid'))
        self.begin, self.end = events[0][0], events[-1][0]
        for event in events:
            self.event(*event)

    def event(self, ts, name, cpu, text):
        def field(key):
            return files.number(text, key)
        thread = self.threads[self.current.get(cpu)]
        if name == 'sched_switch':
            self.switch(ts, cpu, field)
        elif name in ('sched_waking', 'sched_wakeup', 'sched_wakeup_new', 'sched_ttwu'):
            self.threads[field('tid')].prios.append((ts, 'shows', field('prio')))
            if name in self.source:
                self.wake(ts, cpu, field('tid'))
            elif name == 'sched_wakeup' and field('tid') in self.current.values():
                self.threads[field('tid')].woken = None  # it did not go to sleep after all
        elif name == 'sched_migrate_task':
            self.threads[field('tid')].prios.append((ts, 'shows', field('prio')))
        elif name == 'sched_pi_setprio':
            prios, old, new = self.threads[field('tid')].prios, field('oldprio'), field('newprio')
            prios.append((ts, 'shows', old))
            prios.append((ts, 'inherits', new) if new < old else (ts, 'changes', None))
        elif name == 'timer_hrtimer_start':
            self.timers[field('hrtimer')] = field('softexpires')
        elif name == 'timer_hrtimer_expire_entry':
            due = self.timers.pop(field('hrtimer'), None)
            self.inside[cpu] = Expiry(ts, ts - max(0, field('now') - due) if due is not None else ts, field('hrtimer'))
        elif name == 'timer_hrtimer_expire_exit' and self.inside.get(cpu):
            expiry = self.inside.pop(cpu)
            owners = self.owners.get(expiry.timer, ())
            if not expiry.woke and len(owners) == 1:
                self.threads[list(owners)[0]].waiting.append((ts, expiry, None))
        elif name == 'signal_generate' and field('result') == 0:
            to = self.threads[field('pid')]
            if self.last_woken.get(cpu) == field('pid'):
                to.wakes[-1] = to.wakes[-1][:2] + (field('sig'),)
                self.last_woken[cpu] = None
            else:
                to.signals.append((ts, field('sig')))
        elif name.startswith('syscall_entry_'):
            self.entry(ts, thread, name[14:], field)
        elif name.startswith('syscall_exit_'):
            self.exit(ts, thread, field('ret'))
            thread.marks.append((ts, 'exit', name[13:]))

    def switch(self, ts, cpu, field):
        out, into = self.threads[field('prev_tid')], self.threads[field('next_tid')]
        out.prios.append((ts, 'shows', field('prev_prio')))
        into.prios.append((ts, 'shows', field('next_prio')))
        if field('prev_state') & 0xcf and not field('prev_state') & 0x30:
            if out.woken:
                out.sleeps.append(ts)
            out.state = 'awake' if out.woken else 'asleep'
        out.woken = into.woken = None
        into.state = 'awake'
        self.current[cpu] = field('next_tid')

    def wake(self, ts, cpu, tid):
        thread, expiry = self.threads[tid], self.inside.get(cpu)
        # A thread of which nothing was seen was asleep, if it is woken.
        was_asleep = thread.state == 'asleep' or (thread.state is None and tid not in self.current.values())
        thread.wakes.append((ts, expiry, None))
        if was_asleep:
            thread.sleeps.append(ts)
            thread.state = 'awake'
        elif tid in self.current.values():
            thread.woken = ts
        self.last_woken[cpu] = tid
        if expiry:
            expiry.woke = True
            self.owners.setdefault(expiry.timer, set()).add(tid)
            if not was_asleep:
                thread.waiting.append((ts, expiry, 'woke'))

    def entry(self, ts, thread, name, field):
        thread.marks.append((ts, 'entry', name))
        thread.call = None
        if name in SETS and not field('which'):  # else it is about a group of threads
            pid = field('who' if name == 'setpriority' else 'pid')
            whose = self.threads[pid] if pid else thread
            whose.prios.append((ts, 'call', None))
            thread.call = (whose, len(whose.prios) - 1)

    def exit(self, ts, thread, ret):
        if not thread.call:
            return
        whose, at = thread.call
        thread.call = None
        if ret < 0:
            whose.prios[at] = (ts, 'failed', None)
            whose.prios = [item for item in whose.prios if item[1] != 'failed']
            return
        before, shown = whose.prios[at - 1][2] if at > 0 else None, [item[2] for item in whose.prios[at + 1:]]
        if not shown or before is None or shown[-1] == before:
            whose.prios.append((ts, 'changes', None))

    # ---- executions: from the exit of a call to its next entry ----

    def executions(self, call):
        for tid, thread in self.threads.items():
            begin, since, before, signal = None, 0, self.begin, None
            last_begin = 0
            for ts, what, name in thread.marks if tid else ():
                if name == call and what == 'exit' and begin is None:
                    begin, arrival, how, signal = ts, *self.arrival(thread, since, last_begin, before, ts, signal)
                    before, last_begin, since = arrival, ts, ts
                elif name == call and what == 'entry' and begin is not None:
                    yield (tid, begin), (arrival, how)
                    begin, since = None, ts
            if begin is not None:
                yield (tid, begin), (arrival, how)

    def due(self, expiry, before):
        return expiry.due if expiry.due > max(before, self.begin) else expiry.ts

    def arrival(self, thread, since, last_begin, before, begin, signal):
        ends = [end for end in thread.sleeps if since <= end <= begin]
        if ends:
            ts, expiry, sent = [wake for wake in thread.wakes if wake[0] <= begin][-1]
            if ts > ends[-1] or ts < since:
                return ends[-1], 'wake', signal
            if expiry:
                return min(begin, self.due(expiry, before)), 'timer', signal
            return (ts, 'signal', sent) if sent else (ts, 'wake', signal)
        # Since the last begin; what woke it only since the last end, when it was about to wait again.
        for ts, expiry, woke in thread.waiting:
            if (since if woke else last_begin) < ts <= begin:
                return min(begin, self.due(expiry, before)), 'timer', signal
        return begin, 'unknown', signal


def grid(found, period, ends):
    """Arrivals of one thread's executions, those that are not known on the grid; by the definition, one by one."""
    known = [arrival for _, (arrival, how) in found if how != 'unknown'] or [begin for (_, begin), _ in found]
    phases = sorted(arrival % period for arrival in known)
    phase = max(phases, key=lambda one: (sum((other - one) % period < period // 8 for other in phases), -one))
    before = None
    for (tid, begin), (arrival, how) in found:
        late = (begin - phase) % period
        late = 0 if late >= period - period // 8 else late
        if before and 0 <= begin - before[0] <= period // 8 and before[1] + period <= begin:
            late = begin - before[1] - period  # it did not sleep since the one before
        arrival, how = (arrival, how) if how != 'unknown' else (begin - late, 'period')
        before = ends[tid, begin], arrival
        yield (tid, begin), (arrival, how)


def check_arrivals(sillage, trace, plain):
    count = 0
    for call in CALLS:
        wanted = dict(plain.executions(call))
        if not wanted:
            continue
        pattern = 'syscall_exit_%s; syscall_entry_%s' % (call, call)
        for args in ((), ('--every', '5ms')):
            jobs = deep.report(sillage, trace, '--job', pattern, '--worst', '0', *args)['jobs']
            ours = {(one['thread']['tid'], one['begin']): (one['arrival'], one['arrival_from'])
                    for one in jobs['longest'] + jobs['open']}
            ends = {(one['thread']['tid'], one['begin']): one['end'] for one in jobs['longest'] + jobs['open']}
            if args:
                by_tid = collections.defaultdict(list)
                for one in sorted(wanted.items()):
                    by_tid[one[0][0]].append(one)
                wanted = {key: value for found in by_tid.values() for key, value in grid(found, 5000000, ends)}
            deep.same('executions of %s' % call, sorted(ours), sorted(wanted))
            for key in wanted:
                deep.same('the arrival of %r (%s)' % (key, call), ours[key], wanted[key])
            count += len(wanted)
    return count


def check_priorities(sillage, trace, plain):
    """Of all inversions, and of all waits that are none: at each of their ends the priorities are these."""
    found = deep.report(sillage, trace)
    count = 0
    alone = [deep.report(sillage, trace, '--thread', str(row['thread']['tid'])) for row in found['victims'][:4]]
    for tid, one in [(row['thread']['tid'], one) for row in found['victims'] for one in row['inversions']] + [
            (row['path']['thread']['tid'], one) for row in alone for one in row['inversions'] + row['apart']]:
        for ts in (one['begin'], one['end'] - 1):
            own, rival, path = [plain.threads[who].prio(ts) for who in (tid, one['rival']['tid'], one['on_path']['tid'])]
            assert own is not None and rival is not None and own < rival, (tid, one, ts, own, rival)
            assert one['kind'] != 'unbounded' or (path is not None and rival < path), (tid, one, ts, path)
        count += 1
    # No time of a rival is two things at once.
    for row in alone:
        for rival in row['rivals']:
            deep.same('nice levels of %r' % rival['thread'], rival['fair_ns'] <= rival['inversion_ns'], True)
            deep.same('parts of the time of %r' % rival['thread'], rival['total_ns'] >= sum(
                rival[key] for key in ('inversion_ns', 'apart_ns', 'same_level_ns', 'unknown_prio_ns')), True)
    return count


def main():
    if len(sys.argv) < 3:
        print('skipped: no trace given')
        return 77
    arrivals = inversions = 0
    for trace in sys.argv[2:]:
        try:
            plain = Plain(trace)
            arrivals += check_arrivals(sys.argv[1], trace, plain)
            inversions += check_priorities(sys.argv[1], trace, plain)
        except AssertionError as failure:
            print('not ok realtime: %s: %s' % (os.path.basename(os.path.dirname(trace)), failure))
            return 1
    print('ok realtime: %d traces, %d arrivals, %d inversions' % (len(sys.argv) - 2, arrivals, inversions))
    return 0


if __name__ == '__main__':
    sys.exit(main())
