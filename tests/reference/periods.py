#!/usr/bin/env python3
"""periods: what --period measures, against the analyses that know the same, and a plain program.

Goal    The same counts and durations, to the nanosecond.
Method  Interrupts, calls and disk requests written as periods have the figures of irq, syscalls and
        block.  Periods with keys, groups, conditions and others within are found by a program that
        reads what babeltrace2 prints and follows period.h literally.

usage: periods.py SILLAGE TRACE... [--ust TRACE]     (also: babeltrace2 in the path)
"""
import collections
import json
import re
import subprocess
import sys

import reference
from files import number, string

KNOWN = (
    'irq = irq_handler_entry; irq_handler_exit; by $cpu, irq; group irq',
    'soft = irq_softirq_entry; irq_softirq_exit; by $cpu, vec; group vec',
    'disk = block_rq_issue nr_sector>0; block_rq_complete nr_sector>0; by dev, sector',
    'flush = block_rq_issue rwbs=1280; block_rq_complete rwbs=1280; by dev',
    'call = syscall_entry_writev; syscall_exit_writev',
)
# Name, begin and end as (event, what must hold), keys, group, within.  A thread: 'tid', or a field's.
PLAIN = (
    ('wake', ('sched_waking', {}, 'tid'), ('sched_switch', {}, 'next_tid'), None, None, None),
    ('sleep', ('sched_switch', {'prev_state': 1}, 'prev_tid'), ('sched_switch', {}, 'next_tid'), None, None, None),
    ('outer', ('syscall_entry_sendto', {}, None), ('syscall_exit_sendto', {}, None), None, 'fd', None),
    ('inner', ('net_dev_queue', {}, None), ('net_dev_xmit', {'rc': 0}, None), None, 'name', 'outer'),
    ('ends', ('net_dev_queue', {}, None), ('sched_switch', {}, 'prev_tid'), None, None, 'outer'),
    ('named', ('sched_wakeup', {}, None), ('sched_wakeup', {}, None), ('comm',), None, None),
    ('again', ('sched_wakeup', {}, None), ('sched_wakeup', {}, None), ('tid', 'comm'), None, None),
)


def text_of(name, begin, end, keys, group, within):
    def definition(event, conditions, thread):
        return event + ' ' + ', '.join(['%s=%s' % one for one in conditions.items()] +
                                       (['%s=$tid' % thread] if thread else []))
    return '%s = %s; %s%s%s%s' % (
        name, definition(*begin), definition(*end), '; by ' + ', '.join(keys) if keys else '',
        '; group ' + group if group else '', '; within ' + within if within else '')


def run(sillage, trace, analyses, specs, span=None):
    command = [sillage, 'analyze', '-q', '-f', 'json', '-a', analyses, '-n', '0', trace]
    for spec in specs:
        command += ['--period', spec]
    out = subprocess.run(command + (['--ust-span', span] if span else []), stdout=subprocess.PIPE, check=True).stdout
    return [line for line in map(json.loads, out.decode('utf-8').splitlines()) if line['type'] == 'total'][0]


def spreads(rows):
    return {row['name']: row['time'] for row in rows if row['time']['count']}


def recorded(trace, specs):
    """Those whose events the trace can have; others are refused."""
    names = reference.declared(trace)[1]
    return [spec for spec in specs if all(word in names for word in re.findall(r'[;=] (\w+_\w+)', spec))]


def check_known(sillage, trace):
    total = run(sillage, trace, 'irq,syscalls,block', recorded(trace, KNOWN))
    wanted = {'soft vec=%d' % row['vec']: row['time'] for row in total['irq']['soft'] if row['time']['count']}
    lines = collections.Counter(row['irq'] for row in total['irq']['hard'])
    wanted.update({'irq irq=%d' % row['irq']: row['time'] for row in total['irq']['hard'] if lines[row['irq']] == 1})
    ours = {name: time for name, time in spreads(total['periods']['by_name']).items()
            if name in wanted or name.startswith('soft')}
    faults = [] if ours == wanted else ['interrupts: %s, irq has %s' % (ours, wanted)]
    times = spreads(total['periods']['by_name'])
    calls = {row['name']: row['time'] for row in total['syscalls']['by_name']}
    if times.get('call', {}).get('sum_ns', 0) != calls.get('writev', {}).get('sum_ns', 0):
        faults.append('writev')
    disks = sum(row['time'].get('sum_ns', 0) for row in total['block']['disks'])
    ours = sum(times.get(name, {}).get('sum_ns', 0) for name in ('disk', 'flush'))
    if not total['block']['orphans'] and ours != disks:
        faults.append('disk, flush: %d, block has %d' % (ours, disks))
    return faults


class Plain:
    def __init__(self, events, wanted):
        self.wanted = wanted
        self.current, self.open, self.found = {}, {}, collections.defaultdict(list)
        self.counts = collections.Counter()
        for _, name, cpu, text in events:
            if name == 'sched_switch':
                self.current.setdefault(cpu, number(text, 'prev_tid'))
        for event in events:
            if event[1] == 'sched_switch':
                self.event(*event)  # it is of who leaves, if of nobody in particular
                self.current[event[2]] = number(event[3], 'next_tid')
            else:
                self.event(*event)

    def where(self, definition, keys, name, cpu, text):
        event, conditions, thread = definition
        if event != name or any(number(text, field) != value for field, value in conditions.items()):
            return None
        if keys:
            return tuple(number(text, key) if number(text, key) is not None else string(text, key) for key in keys)
        return (number(text, thread) if thread else self.current.get(cpu) or -1 - cpu,)

    @staticmethod
    def value(group, text):
        found = number(text, group) if group else None
        return found if found is not None or not group else string(text, group)

    def event(self, ns, name, cpu, text):
        for what, begin, end, keys, group, within in self.wanted:
            place = self.where(end, keys, name, cpu, text)
            if place is not None:
                opened = self.open.pop((what, place), None)
                if opened:
                    self.inside(what, place)
                    value = opened[1] if opened[1] is not None else self.value(group, text)
                    self.found[what + (' %s=%s' % (group, value) if value is not None else '')].append(ns - opened[0])
                else:
                    self.counts['unmatched'] += 1
            place = self.where(begin, keys, name, cpu, text)
            if place is not None and (not within or (within, place) in self.open):
                if (what, place) in self.open:
                    self.counts['restarted'] += 1
                    self.inside(what, place)
                self.open[what, place] = ns, self.value(group, text)

    def inside(self, outer, place):
        for what, _, _, _, _, within in self.wanted:
            if within == outer and self.open.pop((what, place), None):
                self.counts['cut'] += 1


def check_plain(sillage, trace):
    events = [event for event in reference.events_of(trace) if event[2] is not None]
    texts = recorded(trace, [text_of(*one) for one in PLAIN])
    plain = Plain(events, [one for one in PLAIN if text_of(*one) in texts])
    periods = run(sillage, trace, 'count', texts)['periods']
    ours = {name: (time['count'], time['sum_ns'], time['min_ns'], time['max_ns'])
            for name, time in spreads(periods['by_name']).items()}
    wanted = {name: (len(times), sum(times), min(times), max(times)) for name, times in plain.found.items()}
    faults = ['%s is %s, the plain program has %s' % (name, ours.get(name), wanted.get(name))
              for name in sorted(set(ours) | set(wanted)) if ours.get(name) != wanted.get(name)]
    return faults + ['%s is %d, not %d' % (key, periods[key], plain.counts[key])
                     for key in ('unmatched', 'restarted', 'cut') if periods[key] != plain.counts[key]]


def check_ust(sillage, trace):
    begin, end = 'sillage_test:scalars', 'sillage_test:sequences'
    since, times = {}, []
    for ns, name, _, text in reference.events_of(trace):
        if name == end and number(text, 'vtid') in since:
            times.append(ns - since.pop(number(text, 'vtid')))
        if name == begin:
            since[number(text, 'vtid')] = ns
    row = run(sillage, trace, 'ust', (), begin + ',' + end)['periods']['by_name'][0]['time']
    ours = row['count'], row['sum_ns']
    return [] if ours == (len(times), sum(times)) and times else ['%s, not %s' % (ours, (len(times), sum(times)))]


def main():
    if len(sys.argv) < 3:
        return 77
    sillage, traces = sys.argv[1], sys.argv[2:]
    ust = traces[traces.index('--ust') + 1:] if '--ust' in traces else []
    traces = traces[:traces.index('--ust')] if ust else traces
    failed = 0
    for trace in traces + ust:
        faults = (check_ust(sillage, trace) if trace in ust else
                  check_known(sillage, trace) + check_plain(sillage, trace))
        for fault in faults[:5]:
            print('# ' + fault[:400])
        print('%s %s' % ('not ok' if faults else 'ok', trace))
        failed += bool(faults)
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
