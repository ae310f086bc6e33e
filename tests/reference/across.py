#!/usr/bin/env python3
"""across: executions that go over threads, against a plain program that follows doc/definitions.md, 6.1.

Goal    `report --job` and `analyze -a jobs` have the same executions as the program below: each begin and end, what
        is open, overlapped and cut.
Method  The program reads what babeltrace2 prints, one event after the other, with three tables: who runs on a CPU,
        what a thread is called, and what is open by its keys.  Where events are missing is read from packets.

usage: across.py SILLAGE TRACE...     (also: babeltrace2 in the path)
"""
import collections
import fnmatch
import os
import re
import struct
import sys

import jobs
import reference
from files import number, string

Side = collections.namedtuple('Side', 'event, conditions, tid, who, keys')
# What --job takes, and the same as tables: name of the event (* at its end: any), conditions, the field of $tid (None:
# the running thread), @WHO, keys.  `same`: the thread is a key, too.  Keys None: there is no "by".
JOBS = (
    ('sched_process_exit comm=exe; sched_process_exit @exe',
     Side('sched_process_exit', {'comm': 'exe'}, None, None, None), Side('sched_process_exit', {}, None, 'exe', None), False),
    ('sched_waking tid=$tid; sched_in @"[a-j]*"|rcu_*',
     Side('sched_waking', {}, 'tid', None, None), Side('sched_switch', {}, 'next_tid', '[a-j]*|rcu_*', None), False),
    ('sched_switch @"[a-m]*"; sched_switch @"[n-z]*"|"[a-c]*"',
     Side('sched_switch', {}, None, '[a-m]*', None), Side('sched_switch', {}, None, '[n-z]*|[a-c]*', None), False),
    ('sched_waking; sched_switch; by tid=next_tid',
     Side('sched_waking', {}, None, None, ['tid']), Side('sched_switch', {}, None, None, ['next_tid']), False),
    ('sched_waking; sched_waking; by tid, comm',
     Side('sched_waking', {}, None, None, ['tid', 'comm']), Side('sched_waking', {}, None, None, ['tid', 'comm']), False),
    ('sched_switch prev_tid=$tid; sched_waking tid=$tid; by $tid',
     Side('sched_switch', {}, 'prev_tid', None, []), Side('sched_waking', {}, 'tid', None, []), True),
    ('block_rq_issue; block_rq_complete; by dev, sector',
     Side('block_rq_issue', {}, None, None, ['dev', 'sector']), Side('block_rq_complete', {}, None, None, ['dev', 'sector']), False),
    ('net_dev_queue @io-*; net_if_receive_skb; by skbaddr',
     Side('net_dev_queue', {}, None, 'io-*', ['skbaddr']), Side('net_if_receive_skb', {}, None, None, ['skbaddr']), False),
    ('syscall_entry_*; sched_switch; by $cpu',
     Side('syscall_entry_*', {}, None, None, ['cpu']), Side('sched_switch', {}, None, None, ['cpu']), False),
    ('irq_softirq_entry; sched_waking; by global',
     Side('irq_softirq_entry', {}, None, None, []), Side('sched_waking', {}, None, None, []), False),
)


def value(cpu, text, field):
    if field == 'cpu':
        return cpu
    found = number(text, field)
    return string(text, field) if found is None else found


class Plain:
    def __init__(self, begin, end, same):
        self.begin, self.end, self.same = begin, end, same
        self.runs, self.called = {}, {}
        self.open, self.ended = {}, []
        self.overlapped = self.cut = 0

    def tell(self, tid, name):
        if tid:
            self.called[tid] = name[:15]

    def names(self, name, cpu, text):
        """Who runs and what is called how from this event on."""
        if name == 'sched_switch':
            self.runs[cpu] = number(text, 'next_tid')
            self.tell(number(text, 'prev_tid'), string(text, 'prev_comm'))
            self.tell(number(text, 'next_tid'), string(text, 'next_comm'))
        elif name == 'sched_process_fork':
            self.tell(number(text, 'child_tid'), string(text, 'child_comm'))
        elif name == 'sched_process_exec':
            self.runs[cpu] = number(text, 'tid')
            self.tell(number(text, 'tid'), string(text, 'filename').rpartition('/')[2])
        elif name == 'lttng_statedump_process_state':
            self.tell(number(text, 'tid'), string(text, 'name'))

    def key(self, side, name, cpu, text):
        """None: the event is not of this side."""
        if not (name.startswith(side.event[:-1]) if side.event.endswith('*') else name == side.event):
            return None
        tid = number(text, side.tid) if side.tid else self.runs.get(cpu)
        if any(value(cpu, text, field) != wanted for field, wanted in side.conditions.items()):
            return None
        if side.who and not any(tid and (int(one) == tid if one.isdigit() else fnmatch.fnmatchcase(self.called.get(tid, ''), one))
                                for one in side.who.split('|')):
            return None
        if self.same and not tid:
            return None
        return tuple(value(cpu, text, field) for field in side.keys or ()) + ((tid,) if self.same else ())

    def event(self, ns, name, cpu, text):
        self.names(name, cpu, text)
        key = self.key(self.end, name, cpu, text)
        if key in self.open:
            self.ended.append((self.open.pop(key), ns))
        key = self.key(self.begin, name, cpu, text)
        if key is None:
            return
        self.overlapped += key in self.open
        if self.begin.keys is not None or key not in self.open:
            self.open[key] = ns

    def gap(self, cpu):
        """Nobody knows who runs there now; what is open may have ended.  @cpu None: nothing was traced anywhere."""
        self.runs = {of: tid for of, tid in self.runs.items() if cpu not in (None, of)}
        self.cut += len(self.open)
        self.open.clear()


def gaps_of(trace):
    """(ns, CPU) of places where events are missing, by LTTng's counters in the packets; CPU None: a hole."""
    found = [(begin, None) for begin, _ in reference.holes_of(trace)]
    with open(os.path.join(trace, 'metadata'), 'rb') as file:
        text = reference.unpacked(file.read())
    offset, context = int(re.search(rb'\boffset = (\d+);', text).group(1)), 32 if b'stream_instance_id' in text else 24
    for name in os.listdir(trace):
        if name == 'metadata' or os.path.isdir(os.path.join(trace, name)):
            continue
        with open(os.path.join(trace, name), 'rb') as file:
            data, at, before = file.read(), 0, None
        while at < len(data):
            _, end, _, bits, number_, discarded, cpu = struct.unpack_from('<QQQQQQI', data, at + context)
            if before and (discarded != before[2] or number_ > before[1] + 1):
                found.append((before[0] + offset, cpu))
            before = end, number_, discarded
            at += bits // 8
    return sorted(found, key=lambda one: one[0])


def executions_of(trace, job):
    """What the program finds."""
    plain, gaps, events = Plain(*job[1:]), gaps_of(trace), list(reference.events_of(trace))
    for ns, name, cpu, text in events:  # who ran before the first switch of a CPU
        if name == 'sched_switch':
            plain.runs.setdefault(cpu, number(text, 'prev_tid'))
    for ns, name, cpu, text in events:
        while gaps and gaps[0][0] < ns:
            plain.gap(gaps.pop(0)[1])
        plain.event(ns, name, cpu, text)
    for _, cpu in gaps:
        if cpu is not None:
            plain.gap(cpu)
    return plain


def check(sillage, trace, job):
    """Faults, and how many executions there were."""
    plain = executions_of(trace, job)
    found = jobs.reported(sillage, trace, job[0], None, None)
    if found is None:
        return [], 0
    pairs = (('executions', sorted((one['begin'], one['end']) for one in found['longest']), sorted(plain.ended)),
             ('open', sorted(one['begin'] for one in found['open']), sorted(plain.open.values())),
             ('overlapped', found['overlapped'], plain.overlapped), ('cut', found['cut'], plain.cut))
    total, _ = jobs.rolling(sillage, trace, ['x = ' + job[0]])
    row = jobs.figures_of_rolling(total['jobs'], 'x')
    ns = [end - begin for begin, end in plain.ended]
    pairs += (('executions of analyze', (row['ended'], row['duration sum'], row['duration max']), (len(ns), sum(ns), max(ns, default=None))),
              ('open in analyze', row['open'], len(plain.open)), ('overlapped in analyze', row['overlapped'], plain.overlapped),
              ('cut in analyze', row['cut'], plain.cut))
    return ['%s: %s: %s are %s, not %s' % (trace, job[0], what, str(ours)[:300], str(theirs)[:300])
            for what, ours, theirs in pairs if ours != theirs], len(ns)


def main():
    sillage, faults, count = sys.argv[1], [], 0
    for trace in sys.argv[2:]:
        names = reference.declared(trace)[1]
        for job in JOBS:
            if all(any(fnmatch.fnmatchcase(name, side.event) for name in names) for side in job[1:3]):
                found, ended = check(sillage, trace, job)
                faults += found
                count += ended
    for fault in faults:
        print('not ok across:', fault)
    if not faults:
        print('ok across: %d executions over threads' % count)
    return 1 if faults or not count else 0


if __name__ == '__main__':
    sys.exit(main())
