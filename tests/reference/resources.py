#!/usr/bin/env python3
"""resources: the tables of `report --resources`, compared with a plain program and with the truth.

The program reads babeltrace2's text.  It looks at each call and each timer by itself, with all
sleeps and wake-ups of a thread in lists: it has none of the state that the analyzer keeps.  What
the workloads recorded themselves (truth.json) must be in the tables, too: each wait for the mutex
with its length, each request and each reply.

usage: resources.py SILLAGE TRACE...      directories with kernel/, and truth.json if there is one
"""
import bisect
import collections
import json
import os
import re
import subprocess
import sys

LINE = re.compile(r'\[(\d+)\.(\d+)\] \([^)]*\) (?:\S+ )?(\w+): \{ cpu_id = (\d+) \}, \{ ?(.*?) ?\}$')
FIELD = re.compile(r'(\w+) = ("(?:[^"\\]|\\.)*"|\S+?)(?:,|$)')
WAITS, WAKES, MOVES = (0, 6, 9, 11, 13), (1, 5, 7, 10), (3, 4, 12)
OUTCOMES = {-11: 'again', -110: 'timed_out', -4: 'interrupted'}
MAX_ERROR_NS = 60000    # from the workload's clock reading to the system call


def check(condition, *what):
    if not condition:
        raise SystemExit('not ok ' + ' '.join(map(str, what)))


def number(text):
    return int(text, 0) if text[0] != '"' else text[1:-1]


def read(trace):
    text = subprocess.run(['babeltrace2', '--clock-seconds', trace], capture_output=True, text=True, check=True).stdout
    for line in text.splitlines():
        match = LINE.match(line)
        if match and match[3].startswith(('sched_', 'timer_', 'hrtimer_', 'syscall_e', 'lttng_statedump_process_state')):
            fields = {key: value for key, value in FIELD.findall(match[5])}
            yield int(match[1]) * 10**9 + int(match[2]), int(match[4]), match[3], fields


class Trace:
    """Calls, sleeps and wake-ups of each thread, and the events of each timer."""

    def __init__(self, trace):
        self.calls = []                                  # [tid, name, entry, exit, fields, ret]
        self.sleeps = collections.defaultdict(list)      # of a tid
        self.wakes = collections.defaultdict(list)       # of a tid: (ts, waker)
        self.timers = collections.defaultdict(list)      # (ts, cpu, what, fields)
        self.timer_wakes = collections.Counter()         # (timer, tid)
        self.pids = {}
        events = list(read(trace))
        self.end = events[-1][0]
        names = {event[2] for event in events}
        self.wake = 'sched_waking' if 'sched_waking' in names else 'sched_wakeup'
        running = {}
        for ts, cpu, name, fields in events:
            if name == 'sched_switch':
                running.setdefault(cpu, int(fields['prev_tid']))
        self.running, self.open, self.expiring = running, {}, {}
        for event in events:
            self.take(*event)
        for tid in list(self.open):
            self.close(tid, self.end, None)

    def close(self, tid, ts, ret):
        name, entry, fields = self.open.pop(tid)
        self.calls.append((tid, name, entry, ts, fields, ret))

    def take(self, ts, cpu, name, fields):
        tid = self.running.get(cpu, 0)
        if name == 'sched_switch':
            state = int(fields['prev_state'].strip('()').split()[0], 0) if fields['prev_state'][0].isdigit() else None
            if state is not None and state & 0xCF and not state & 0x30:
                self.sleeps[int(fields['prev_tid'])].append(ts)
            self.running[cpu] = int(fields['next_tid'])
        elif name == self.wake:
            timer = self.expiring.get(cpu)
            self.wakes[int(fields['tid'])].append((ts, None if timer else tid))
            if timer:
                self.timer_wakes[timer, int(fields['tid'])] += 1
        elif name in ('sched_process_fork', 'lttng_statedump_process_state'):
            key = 'child_' if name == 'sched_process_fork' else ''
            self.pids[int(fields[key + 'tid'])] = int(fields[key + 'pid'])
        elif 'hrtimer' in name:
            timer, what = int(fields['hrtimer'], 0), name.split('hrtimer_')[1]
            self.timers[timer].append((ts, cpu, what, fields))
            if what == 'expire_entry':
                self.expiring[cpu] = timer
            elif what == 'expire_exit':
                self.expiring[cpu] = None
        elif name.startswith('syscall_entry_'):
            self.open[tid] = (name[14:], ts, fields)
        elif name.startswith('syscall_exit_') and tid in self.open and self.open[tid][0] == name[13:]:
            self.close(tid, ts, int(fields['ret']))

    def wait(self, call):
        """The first sleep in a call, the end of the wait and who ended it; None: it did not sleep."""
        tid, _, entry, left, _, _ = call
        sleeps, wakes = self.sleeps[tid], self.wakes[tid]
        at = bisect.bisect(sleeps, entry)
        if at == len(sleeps) or sleeps[at] > left:
            return None
        last = sleeps[bisect.bisect(sleeps, left) - 1]
        inside = [wake for wake in wakes if entry <= wake[0] <= left]
        if not inside or (inside[-1][0] < last and call[5] is None):
            return sleeps[at], left, None
        return sleeps[at], max(inside[-1][0], sleeps[at]), inside[-1][1]


def outcome(ret):
    if ret is None:
        return 'open'
    if ret >= 0:
        return 'done'
    return 'interrupted' if -516 <= ret <= -512 else OUTCOMES.get(ret, 'failed')


class Table:
    def __init__(self):
        self.waits, self.outcomes, self.pairs = [], collections.Counter(), collections.Counter()
        self.wakes, self.sent, self.received, self.bytes = 0, 0, 0, 0


def futexes(trace):
    tables = collections.defaultdict(Table)
    for call in trace.calls:
        tid, name, entry, _, fields, ret = call
        if name != 'futex':
            continue
        op = int(fields['op'], 0)
        check(op & 0x7f not in MOVES, 'a requeue, which this program does not follow')
        table = tables[trace.pids.get(tid) if op & 128 else None, int(fields['uaddr'], 0)]
        if op & 0x7f in WAITS:
            slept = trace.wait(call)
            table.outcomes[outcome(ret)] += 1
            if slept:
                table.waits.append(slept[1] - entry)
                if outcome(ret) == 'done' and slept[2]:
                    table.pairs[slept[2], tid] += 1
        elif op & 0x7f in WAKES and ret is not None:
            table.wakes += 1
    return tables


def queues(trace):
    tables, names = collections.defaultdict(Table), {}
    for call in sorted((one for one in trace.calls if one[1].startswith('mq_')), key=lambda one: one[3]):
        tid, name, _, _, fields, ret = call
        pid = trace.pids.get(tid)
        if name == 'mq_open' and ret is not None and ret >= 0:
            names[pid, ret] = number(fields['u_name'])
        if name not in ('mq_timedsend', 'mq_timedreceive'):
            continue
        table = tables[names.get((pid, int(fields['mqdes'])))]
        slept = trace.wait(call)
        table.outcomes[outcome(ret)] += 1
        if name == 'mq_timedsend':
            table.sent += ret == 0
        else:
            table.received += ret is not None and ret >= 0
            table.bytes += max(ret or 0, 0)
        if slept:
            table.waits.append(slept[1] - slept[0])
            if outcome(ret) == 'done' and slept[2]:
                table.pairs[slept[2], tid] += 1
    return tables


def timers(trace):
    """Of each timer: expiries, periods, latenesses, cancellations, callbacks."""
    for timer, events in trace.timers.items():
        entries = [event for event in events if event[2] == 'expire_entry']
        late, expires, cancelled, callbacks = [], None, 0, []
        for i, (ts, cpu, what, fields) in enumerate(events):
            after = next((event for event in events[i + 1:i + 2]), None)
            if what == 'start':
                expires = int(fields['expires'])
            elif what == 'cancel':
                folded = after and after[2] == 'expire_entry' and after[1] == cpu
                cancelled += not folded
                expires = expires if folded else None
            elif what == 'expire_entry':
                if expires is not None:
                    late.append(int(fields['now']) - expires)
                expires = None
            elif what == 'expire_exit' and i > 0:
                begun = [event for event in events[:i] if event[2] in ('expire_entry', 'expire_exit')]
                if begun and begun[-1][2] == 'expire_entry':
                    callbacks.append(ts - begun[-1][0])
        yield timer, entries, late, cancelled, callbacks


def sums(values):
    return {'count': len(values), **({'total_ns': sum(values), 'min_ns': min(values), 'max_ns': max(values)} if values else {})}


def pairs_of(row):
    return collections.Counter({(pair['by']['tid'], pair['who']['tid']): pair['times'] for pair in row['pairs'] if 'by' in pair})


def compare(base, report, trace):
    found = report['resources']
    check(found['cut'] == 0 and not any(found['dropped'].values()), base, 'something is left out')
    rows = {(row.get('pid'), row['address']): row for row in found['futexes']}
    tables = futexes(trace)
    check(set(rows) == set(tables), base, 'futexes', set(rows) ^ set(tables))
    for key, table in tables.items():
        row = rows[key]
        check(row['waits'] == sums(table.waits), base, key, 'waits', row['waits'], sums(table.waits))
        check(row['outcomes'] == dict(table.outcomes), base, key, row['outcomes'], dict(table.outcomes))
        check(pairs_of(row) == table.pairs, base, key, 'pairs', pairs_of(row), table.pairs)
        check(row['wake_calls'] == table.wakes, base, key, 'wakes', row['wake_calls'], table.wakes)
    rows = {row.get('name'): row for row in found.get('queues', [])}
    tables = queues(trace)
    check(set(rows) == set(tables), base, 'queues', set(rows) ^ set(tables))
    for key, table in tables.items():
        row = rows[key]
        check((row['sent'], row['received'], row['received_bytes']) == (table.sent, table.received, table.bytes), base, key, row)
        check(row['empty_waits'] == sums(table.waits), base, key, row['empty_waits'], sums(table.waits))
        check(row['outcomes'] == dict(table.outcomes), base, key, row['outcomes'], dict(table.outcomes))
        check(pairs_of(row) == table.pairs, base, key, 'pairs', pairs_of(row), table.pairs)
    rows = {row['address']: row for row in found['timers']}
    check(set(rows) == set(trace.timers), base, 'timers', len(rows), len(trace.timers))
    for timer, entries, late, cancelled, callbacks in timers(trace):
        row, periods = rows[timer], [b[0] - a[0] for a, b in zip(entries, entries[1:])]
        wanted = (len(entries), sums(periods), len(late), min(late, default=None), max(late, default=None), cancelled,
                  sums(callbacks), {tid: n for (of, tid), n in trace.timer_wakes.items() if of == timer})
        got = (row['expiries'], row['period'], row.get('late_count', 0), row.get('late_min_ns'), row.get('late_max_ns'),
               row['cancelled'], row['callback'], {pair['who']['tid']: pair['times'] for pair in row['pairs']})
        check(got == wanted, base, hex(timer), got, wanted)
    return len(found['timers']), len(found['futexes']), len(found.get('queues', []))


def check_mutex(base, found, workload):
    """Each wait of the urgent thread that the workload measured is a wait for the mutex."""
    tids = {thread['name']: thread['tid'] for thread in workload['threads']}
    blocked = [cycle['blocked_ns'] for cycle in workload['cycles']]
    if workload['protocol'] == 'protect':
        return      # nobody waits: the holder has the urgent thread's priority
    for row in found['futexes']:
        waits = [one['end'] - one['begin'] for one in row['intervals']
                 if one['state'] == 'wait' and one.get('who', {}).get('tid') == tids['mtx-high']]
        held = pairs_of(row)[tids['mtx-low'], tids['mtx-high']]
        if len(waits) == held == len(blocked) and all(measured - MAX_ERROR_NS <= got <= measured
                                                      for got, measured in zip(waits, blocked)):
            return
    check(False, base, 'no futex has the waits that the workload measured')


def check_queues(base, found, workload):
    cycles = len(workload['cycles'])
    tids = {thread['name']: thread['tid'] for thread in workload['threads']}
    rows = {row['name'].split('-')[1]: row for row in found['queues']}
    for name, by, who in (('request', 'mq-client', 'mq-server'), ('reply', 'mq-server', 'mq-client')):
        row = rows[name]
        check(row['sent'] == row['received'] == cycles, base, name, row['sent'], row['received'])
        check(row['received_bytes'] == row['sent_bytes'] == cycles * workload['message_size'], base, name, 'bytes')
        check(pairs_of(row) == {(tids[by], tids[who]): cycles}, base, name, pairs_of(row))
    waits = [one['end'] - one['begin'] for one in rows['reply']['intervals'] if one['state'] == 'empty']
    for got, cycle in zip(waits, workload['cycles']):
        # It may be preempted between the request and its sleep.
        check(cycle['waited_ns'] - 5 * MAX_ERROR_NS <= got <= cycle['waited_ns'], base, 'waited', got, cycle['waited_ns'])


def check_jobs(base, found, workload):
    """A timer released each job but those that were late already."""
    job = next(thread['tid'] for thread in workload['threads'] if thread['name'] == 'job')
    woken = sum(pair['times'] for row in found['timers'] for pair in row['pairs'] if pair['who']['tid'] == job)
    late = sum(one['deadline_missed'] for one in workload['jobs'])
    if workload['timer'] != 'signal':
        check(len(workload['jobs']) - late <= woken <= len(workload['jobs']) + 2, base, 'timers woke the job', woken)


def main():
    sillage, traces = sys.argv[1], sys.argv[2:]
    for name in traces:
        base, trace = os.path.basename(os.path.normpath(name)), os.path.join(name, 'kernel')
        with open(os.path.join(name, 'truth.json'), encoding='utf-8') as file:
            workload = json.load(file)['workload']
        checks = {'rt_mutex_inversion': check_mutex, 'rt_mqueue_inversion': check_queues, 'rt_timer_jobs': check_jobs}
        if workload.get('workload') not in checks:
            continue
        report = json.loads(subprocess.run([sillage, 'report', '--resources', '-f', 'json', trace], capture_output=True,
                                           text=True, check=True).stdout)
        page = subprocess.run([sillage, 'report', '--resources', '-f', 'html', trace], capture_output=True, text=True, check=True).stdout
        check(page.startswith('<!DOCTYPE html>') and page.endswith('</html>\n'), base, 'no page')
        counts = compare(base, report, Trace(trace))
        checks[workload['workload']](base, report['resources'], workload)
        print('ok %s: %d timers, %d futexes, %d queues' % (base, *counts))


if __name__ == '__main__':
    main()
