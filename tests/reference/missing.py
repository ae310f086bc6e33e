#!/usr/bin/env python3
"""missing: what a trace does not record is unknown, and never 0.

Goal    For each analysis and trace: either the metadata declares the events of a figure, or the
        figure is null, the analysis says what is missing, and text has no number for it.  Names of
        events and fields that no trace has are refused, with what was probably meant.
Method  NEEDS is a table of its own of the events behind each figure; the names that a trace
        declares are read from its metadata with a regular expression.  The program's output is
        compared with both, as JSON, text and LAMI, by `report` and with triggers.

usage: missing.py SILLAGE TRACE... [--names KERNEL UST]      KERNEL: io-mix, UST: the test's own
"""
import fnmatch
import json
import os
import re
import subprocess
import sys

import reference

ENTRIES = 'syscall_entry_*', 'compat_syscall_entry_*', 'sys_*', 'compat_sys_*'
EXITS = 'syscall_exit_*', 'compat_syscall_exit_*', 'exit_syscall'
SWITCH, WAKE = ('sched_switch',), ('sched_waking', 'sched_wakeup', 'sched_ttwu')
READS = 'syscall_exit_read', 'syscall_exit_recvmsg', 'syscall_exit_recvfrom', 'exit_syscall'
WRITES = 'syscall_exit_write', 'syscall_exit_sendmsg', 'syscall_exit_sendto', 'exit_syscall'
USER, KERNEL = ('x86_exceptions_page_fault_user',), ('x86_exceptions_page_fault_kernel',)
ALLOC, FREE = ('kmem_mm_page_alloc', 'mm_page_alloc'), ('kmem_mm_page_free', 'mm_page_free')
BATCHED, KSWAPD = ('kmem_mm_page_free_batched', 'mm_page_free_batched'), ('mm_vmscan_wakeup_kswapd',)
RECLAIM = ('mm_vmscan_direct_reclaim_begin',), ('mm_vmscan_direct_reclaim_end',)
HARD = ('irq_handler_entry',), ('irq_handler_exit',)
SOFT = ('irq_softirq_entry', 'softirq_entry'), ('irq_softirq_exit', 'softirq_exit')
ISSUE, COMPLETE = ('block_rq_issue',), ('block_rq_complete',)
MAJOR = USER, SWITCH, ('syscall_entry_futex',)

# Events behind figures of the trace: of each tuple one is enough, and all tuples are needed.
NEEDS = {
    'count': {'events': (), 'discarded': ()},
    'lost': {'events': (), 'packets': ()},
    'cpu': {key: (SWITCH,) for key in ('busy_ns', 'idle_ns', 'unknown_ns')},
    'io': {'read_bytes': (READS,), 'write_bytes': (WRITES,)},
    'files': {'read_bytes': (READS,), 'writes': (WRITES,), 'errors': (EXITS,)},
    'sched': {'wakeups': (WAKE,), 'wake': (SWITCH, WAKE), 'races': (SWITCH, WAKE), 'unexplained': (SWITCH, WAKE),
              'requeue': (SWITCH,), 'fork': (SWITCH, ('sched_process_fork', 'sched_wakeup_new'))},
    'syscalls': {key: (ENTRIES, EXITS) for key in ('calls', 'errors', 'in_flight', 'orphans', 'time')},
    'irq': {'hard_ns': HARD, 'soft_ns': SOFT},
    'block': {'requests': (ISSUE, COMPLETE), 'requeues': (ISSUE, ('block_rq_requeue',))},
    'memory': {'allocated_pages': (ALLOC,), 'failed': (ALLOC,), 'freed_pages': (FREE,), 'reclaim': RECLAIM,
               'freed_batched_pages': (BATCHED,), 'kswapd_wakes': (KSWAPD,)},
    'faults': {'user': (USER,), 'kernel': (KERNEL,), 'minor': MAJOR, 'major': MAJOR, 'major_time': MAJOR},
}
# The same of columns of lists.
COLUMNS = {
    ('cpu', 'threads'): {'run_ns': (SWITCH,), 'longest_ns': (SWITCH,)},
    ('io', 'threads'): {'reads': (READS,), 'read_ns': (READS, ENTRIES), 'write_bytes': (WRITES,)},
    ('io', 'processes'): {'reads': (READS,), 'read_ns': (READS, ENTRIES), 'write_bytes': (WRITES,)},
    ('files', 'operations'): {'calls': (EXITS,), 'time': (EXITS, ENTRIES)},
    ('sched', 'threads'): {'wake': (SWITCH, WAKE), 'requeue': (SWITCH,), 'waited_ns': (SWITCH, WAKE)},
    ('sched', 'cpus'): {'waited_ns': (SWITCH, WAKE)},
    ('syscalls', 'by_name'): {'calls': (ENTRIES, EXITS), 'off_cpu_ns': (ENTRIES, EXITS, SWITCH)},
    ('irq', 'soft'): {'time': SOFT, 'raise': SOFT + (('irq_softirq_raise', 'softirq_raise'),)},
    ('irq', 'cpus'): {'hard_ns': HARD, 'soft_ns': SOFT},
    ('block', 'disks'): {'requests': (ISSUE, COMPLETE), 'queued': (ISSUE, ('block_rq_insert',))},
    ('memory', 'threads'): {'allocated_pages': (ALLOC,), 'freed_pages': (FREE,), 'reclaim_ns': RECLAIM},
    ('memory', 'orders'): {'allocations': (ALLOC,), 'frees': (FREE,)},
    ('net', 'interfaces'): {'rx_bytes': (('net_if_receive_skb', 'netif_receive_skb'),),
                            'tx_bytes': (('net_dev_xmit',),), 'tx_drops': (('net_dev_xmit',),)},
    ('faults', 'threads'): {'user': (USER,), 'kernel': (KERNEL,), 'major_ns': MAJOR},
    ('lost', 'cpus'): {'unknown_ns': (SWITCH,)},
}
# A trigger of a figure of each, and of a list.
TRIGGERS = {'cpu': 'cpu.busy < 200%', 'io': 'io.read_bytes < 1G', 'sched': 'sched.wake.count < 1G',
            'syscalls': 'syscalls.calls < 1G', 'irq': 'irq.hard_ns < 1h', 'block': 'block.requests < 1G',
            'memory': 'memory.allocated_pages < 1G', 'faults': 'faults.user < 1G'}
FIRST = {'cpu': 'busy_ns', 'io': 'read_bytes', 'sched': 'wake', 'syscalls': 'calls', 'irq': 'hard_ns',
         'block': 'requests', 'memory': 'allocated_pages', 'faults': 'user'}

# How text names figures of the trace.
TITLES = {'cpu': {'busy_ns': 'busy', 'unknown_ns': 'unknown'}, 'io': {'read_bytes': 'read', 'write_bytes': 'written'},
          'sched': {'wakeups': 'wake-ups', 'wake': 'wake', 'requeue': 'requeue', 'fork': 'fork'},
          'syscalls': {'calls': 'calls', 'in_flight': 'in flight', 'time': 'time'},
          'irq': {'hard_ns': 'hard', 'soft_ns': 'soft'}, 'block': {'requests': 'requests'},
          'memory': {'freed_pages': 'freed', 'reclaim': 'reclaim'}}


def run(*words):
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    return done.returncode, done.stdout.decode('utf-8', 'replace'), done.stderr.decode('utf-8', 'replace')


def total_of(out):
    return [line for line in map(json.loads, out.splitlines()) if line['type'] == 'total'][-1]


class Trace:
    def __init__(self, path):
        self.path = path
        with open(os.path.join(path, 'metadata'), 'rb') as file:
            text = reference.unpacked(file.read()).decode('utf-8', 'replace')
        self.names = {a or b for a, b in re.findall(r'\bname = "([^"]*)"|"name": *"([^"]*)"', text)}
        self.is_user = 'domain = "ust"' in text or '"domain": "ust"' in text

    def records(self, any_of):
        return any(fnmatch.fnmatchcase(name, pattern) for pattern in any_of for name in self.names)

    def has(self, needs):
        return all(self.records(any_of) for any_of in needs)


def nulls(value, path=()):
    """Where there is null, but for the deviation of a single value."""
    if isinstance(value, dict):
        for key, below in value.items():
            if below is None and key != 'stdev_ns':
                yield path + (key,)
            yield from nulls(below, path + (key,))
    elif isinstance(value, list):
        for below in value:
            yield from nulls(below, path)


EXTRA = 'irq_ns', 'used_ns'  # of cpu: made of events that nobody is asked to record for it


def check_analysis(trace, name, found):
    missing = found.get('missing', [])
    for one in missing:
        if one['event'] == '*':
            if trace.is_user:
                yield 'says that no user-space event is recorded'
        elif trace.records([one['event']]):
            yield 'says that %s is missing, which the metadata has' % one['event']
        if not re.match(r"lttng enable-event (-k|-u) \S", one['command']):
            yield 'command %r' % one['command']
    silent = [] if missing else [path for path in nulls(found) if not (name == 'cpu' and path[-1] in EXTRA)]
    if silent:
        yield 'has null, and says nothing of what is missing: %s' % silent[:3]
    is_known = trace.records(('irq_handler_entry', 'irq_softirq_entry', 'softirq_entry'))
    if name == 'cpu' and not missing and (found['irq_ns'] is None or found['used_ns'] is None) == is_known:
        yield 'time in interrupts is known where they are recorded, and only there'
    for key, needs in NEEDS.get(name, {}).items():
        if (found[key] is None) == trace.has(needs):
            yield '%s is %r, although %s' % (key, found[key], 'it is recorded' if trace.has(needs) else 'it is not')
        if not trace.has(needs) and not missing:
            yield '%s is not recorded, which is not said' % key
    for (analysis, table), columns in COLUMNS.items():
        for key, needs in columns.items() if analysis == name else ():
            for row in found[table]:
                if (row[key] is None) == trace.has(needs):
                    yield '%s.%s is %r' % (table, key, row[key])
                    break
            if not trace.has(needs) and not missing:
                yield '%s.%s is not recorded, which is not said' % (table, key)
    if name == 'ust' and bool(missing) == trace.is_user:
        yield 'domain'


def is_unknown(found):
    """Whether nothing of the analysis is known."""
    return 'missing' in found and all(value in (None, []) for key, value in found.items() if key != 'missing')


def check_text(sillage, trace, total):
    status, text, _ = run(sillage, 'analyze', '-q', '-a', 'all', '-j', '0', trace.path)
    if status != 0:
        yield 'text: status %d' % status
    said = ' '.join(text.split('to record it:')[0].split())
    for name in NEEDS:
        events = [one['event'] for one in total[name].get('missing', [])]
        if bool(events) != bool(re.search(r'not recorded: .*[(, ]%s[,)]' % name, said)):
            yield 'text: %s lacks %s, and it says: %s' % (name, events, said[:200])
        section = re.search(r'^%s(?:  .*)?\n(?:.+\n)*' % name, text, re.M)
        if (section is None) != is_unknown(total[name]):
            yield 'text: the section of %s' % name
        for key, title in TITLES.get(name, {}).items() if section else ():
            if bool(re.search(r'  %s +-(  |$)' % title, section.group(0), re.M)) != (total[name][key] is None):
                yield 'text: %s: %s' % (title, section.group(0)[:100])
    if 'missing' in json.dumps(total) and 'lttng enable-event' not in text:
        yield 'text: no command'


def check_lami(sillage, trace, total):
    for name in ('cpu', 'sched', 'syscalls'):
        status, out, err = run(sillage, 'lami', '-a', name, trace.path)
        results = json.loads(out)['results'] if status == 0 else None
        if status != 0 or (is_unknown(total[name]) and results) or (
                ('not recorded: ' in err) != ('missing' in total[name])):
            yield 'lami: %s: status %d, %s' % (name, status, str(results)[:100])


def check_triggers(sillage, trace, total):
    """One that cannot hold is refused."""
    for name, text in TRIGGERS.items():
        status, out, err = run(sillage, 'analyze', '-q', '-f', 'json', '-a', 'count', '--trigger', text, trace.path)
        is_known = total[name][FIRST[name]] is not None
        if status != (0 if is_known else 1) or is_known == ('cannot hold: not recorded' in err):
            yield 'trigger %s: status %d, %s' % (text, status, err)


def check_report(sillage, trace):
    status, out, err = run(sillage, 'report', '-q', '-f', 'json', trace.path)
    if not trace.records(SWITCH):
        if status != 1 or out or 'not recorded: sched_switch' not in err or 'lttng enable-event' not in err:
            yield 'report: status %d, %r, %s' % (status, out[:100], err)
    elif out:
        events = {one['event'] for one in json.loads(out).get('missing', [])}
        wanted = {event for event, any_of in (('sched_waking', WAKE), ('syscall_*', ENTRIES), ('irq_handler_entry', HARD[0]),
                                              ('irq_softirq_entry', SOFT[0])) if not trace.records(any_of)}
        text = run(sillage, 'report', '-q', trace.path)[1]
        if events != wanted or any('not recorded: %s:' % event not in text for event in wanted):
            yield 'report: missing %s, not %s' % (events, wanted)


def check(sillage, path):
    trace = Trace(path)
    status, out, err = run(sillage, 'analyze', '-q', '-f', 'json', '-a', 'all', '-j', '0', path)
    if status != 0:
        return ['status %d: %s' % (status, err)]
    total = total_of(out)
    faults = ['%s: %s' % (name, text) for name in total['count'] and total if isinstance(total[name], dict) and
              name not in ('trace',) for text in check_analysis(trace, name, total[name])]
    faults += check_text(sillage, trace, total)
    if os.path.getsize(os.path.join(path, 'metadata')) and total['count']['events'] < 200000:  # the rest need no large trace
        faults += list(check_lami(sillage, trace, total)) + list(check_triggers(sillage, trace, total))
        faults += check_report(sillage, trace)
    return faults


# ---- names ----

CASES = (  # what is named, and what is said; '': nothing, status 0
    (['--period', 'r = syscall_entry_reed; syscall_exit_read'], 'did you mean "syscall_entry_read"?'),
    (['--period', 'r = syscall_entry_read; syscall_exit_reed'], 'did you mean "syscall_exit_read"?'),
    (['--period', 'r = syscall_entry_read; syscall_exit_read; by nofield'], 'has no field "nofield"'),
    (['--period', 'r = syscall_entry_read; syscall_exit_read; by fd=fdd'], 'has no field "fdd"'),
    (['--period', 'r = syscall_entry_read; syscall_exit_read; group cuont'], 'did you mean "count"?'),
    (['--period', 'r = syscall_entry_read fdd=3; syscall_exit_read'], 'did you mean "fd"?'),
    (['--period', 'r = sched_switch next_comm=5; sched_switch'], 'is a text'),
    (['--period', 'r = sched_switch next_tid=init; sched_switch'], 'is a number'),
    (['--period', 'r = nothing_*; sched_switch'], 'no event "nothing_*"'),
    (['--period', 'r = syscall_entry_*; syscall_exit_*; by $tid'], ''),
    (['--period', 'r = syscall_entry_read fd=3; syscall_exit_read ret>0; group fd'], ''),
    (['--period', 'r = sched_switch next_comm=init; sched_switch prev_tid=$tid'], ''),
    (['--ust-span', 'sched_waking,sched_swich'], 'did you mean "sched_switch"?'),
    (['--trigger', 'count.by_name[name=sched_swich] > 1'], 'not recorded: sched_swich'),
    (['--trigger', 'count.by_name[name=sched_*] > 1'], ''),
    (['--trigger', 'periods.ended > 1'], 'no --period is given'),
    (['--trigger', 'cpu.busy > 1% and ust.levels.events > 1'], 'not recorded'),
    (['--trigger', 'cpu.busy > 1% or ust.levels.events > 1'], ''),
)
JOBS = (
    (['--job', 'syscall_exit_reed; sched_out'], 'did you mean "syscall_exit_read"?'),
    (['--job', 'syscall_exit_read; sched_switch prev_tidd=$tid'], 'did you mean "prev_tid"?'),
    (['--job', 'nothing_*; sched_out'], 'no event "nothing_*"'),
    (['--job', 'run', '--within', 'nothing; sched_out'], '--within: no event "nothing"'),
    (['--job', 'syscall_exit_*; sched_switch prev_tid=$tid, prev_state&207!=0'], ''),
    (['--job', 'run', '--within', 'wake-to-sleep'], ''),
)


def check_names(sillage, kernel, ust):
    for command, cases in (('analyze', CASES), ('map', CASES), ('report', JOBS)):
        for words, wanted in cases:
            if command == 'map' and words[0] == '--trigger':
                continue
            status, _, err = run(sillage, command, '-q', *words, *(['-o', '/dev/null'] if command == 'map' else []), kernel)
            if (status, wanted in err) != (1 if wanted else 0, True) or (not wanted and err):
                yield '%s %s: status %d, %s' % (command, words, status, err)
    # One trace that has the names is enough, and the traces are read all the same.
    status, out, err = run(sillage, 'analyze', '-q', '-f', 'json', '-a', 'count', '--period',
                           'r = syscall_entry_read; syscall_exit_read', '--trigger', 'cpu.busy > 1%', ust, kernel)
    totals = [line['periods'] for line in map(json.loads, out.splitlines()) if line['type'] == 'total']
    if status != 0 or err or [one['ended'] is None for one in totals] != [True, False] or 'missing' not in totals[0]:
        yield 'two traces: status %d, %s, %s' % (status, err, totals)
    status, out, _ = run(sillage, 'analyze', '-q', '-f', 'json', '-a', 'count', '--period', 'r = a_b; c_d', ust)
    if status != 1 or 'no event' not in out or '"total"' in out:
        yield 'refused as JSON: status %d, %s' % (status, out)
    status, _, err = run(sillage, 'analyze', '-q', '-a', 'count', '--period', 'r = scalars; texts', ust)
    if status != 1 or 'did you mean "sillage_test:scalars"?' not in err:
        yield 'the name of a provider: %s' % err
    status, _, err = run(sillage, 'report', '-q', ust, kernel)
    if status != 0 or 'not recorded: sched_switch' not in err:
        yield 'report of two: status %d, %s' % (status, err)


def main():
    if len(sys.argv) < 3:
        print('skipped: no trace given')
        return 77
    sillage, traces = sys.argv[1], sys.argv[2:]
    names = traces[traces.index('--names') + 1:] if '--names' in traces else []
    failed = 0
    for what, faults in [(path, check(sillage, path)) for path in traces[:len(traces) - len(names) - bool(names)]] + (
            [('names', list(check_names(sillage, *names)))] if names else []):
        for fault in faults[:8]:
            print('# ' + fault[:400])
        print('%s %s' % ('not ok' if faults else 'ok', what))
        failed += bool(faults)
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
