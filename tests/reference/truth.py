#!/usr/bin/env python3
"""truth: cpu and io against what the traced programs measured about themselves.

Goal    CPU time of threads and calls, errors and bytes of processes as they reported them.
Method  truth.json beside a recorded trace has CLOCK_THREAD_CPUTIME_ID at the end of each
        thread, and counts of calls.  The kernel charges a task from a little before the
        sched_switch event (5 to 40 us per wake-up), and a thread runs a little before
        and after it measures itself; calls after the report (exit paths) are few.

usage: truth.py SILLAGE DIR...      DIR has kernel/ and truth.json
"""
import json
import os
import subprocess
import sys

READ = ('read', 'pread64', 'readv', 'preadv', 'recvfrom', 'recvmsg')
WRITE = ('write', 'pwrite64', 'writev', 'pwritev', 'sendto', 'sendmsg')
BOTH = ('splice', 'sendfile64', 'sendfile', 'copy_file_range')
PER_SWITCH_NS = 45_000
SLACK_NS = 1_500_000


def total_of(sillage, trace):
    out = subprocess.run([sillage, 'analyze', '-q', '-f', 'json', trace], stdout=subprocess.PIPE,
                         check=True).stdout
    return [line for line in map(json.loads, out.decode('utf-8').splitlines())
            if line['type'] == 'total'][0]


def parts_of(workload):
    if 'parts' in workload:
        for part in workload['parts']:
            yield from parts_of(part)
    else:
        yield workload


def check_cpu(rows, tid, cpu_ns, bad):
    """The thread's run time, if its id was not used twice."""
    if len(rows.get(tid, [])) != 1:
        return 0
    row = rows[tid][0]
    low = cpu_ns - SLACK_NS - PER_SWITCH_NS * row['switches']
    high = cpu_ns * 1.02 + SLACK_NS + PER_SWITCH_NS * row['switches']
    if not low <= row['run_ns'] <= high:
        bad.append('thread %d: run %d ns, it measured %d ns (%d switches)' % (
            tid, row['run_ns'], cpu_ns, row['switches']))
    return 1


def check_io(rows, process, bad):
    calls = process['syscalls']

    def sum_of(names, key):
        return sum(calls[name][key] for name in names if name in calls)

    if len(rows.get(process['pid'], [])) != 1:
        return 0
    row = rows[process['pid']][0]
    for key, names in (('read_bytes', READ + BOTH), ('write_bytes', WRITE + BOTH)):
        if not 0 <= row[key] - sum_of(names, 'bytes') <= 4096:
            bad.append('process %d: %s %d, it did %d' % (process['pid'], key, row[key],
                                                         sum_of(names, 'bytes')))
    for key, names in (('reads', READ + BOTH), ('writes', WRITE + BOTH)):
        if not 0 <= row[key] - sum_of(names, 'calls') <= 8:
            bad.append('process %d: %d %s, it did %d' % (process['pid'], row[key], key,
                                                         sum_of(names, 'calls')))
    errors = sum_of(READ + WRITE + BOTH, 'errors')
    if not 0 <= row['errors'] - errors <= 2:
        bad.append('process %d: %d errors, it had %d' % (process['pid'], row['errors'], errors))
    return 1


def by_tid(rows):
    found = {}
    for row in rows:
        found.setdefault(row.get('tid'), []).append(row)
    return found


def check(sillage, directory):
    with open(os.path.join(directory, 'truth.json')) as file:
        truth = json.load(file)
    total = total_of(sillage, os.path.join(directory, 'kernel'))
    bad, cpu, io = [], 0, 0
    for part in parts_of(truth['workload']):
        for thread in part.get('threads', []):
            if isinstance(thread, dict) and 'cpu_ns' in thread:
                cpu += check_cpu(by_tid(total['cpu']['threads']), thread['tid'], thread['cpu_ns'], bad)
        for process in part.get('processes', []):
            if isinstance(process, dict) and 'syscalls' in process:
                io += check_io(by_tid(total['io']['threads']), process, bad)
    if total['count']['events'] != sum(truth['encoded']['events_per_stream'].values()):
        bad.append('%d events, %s were written' % (total['count']['events'],
                                                   truth['encoded']['events_per_stream']))
    discarded = sum(truth['encoded']['discarded_per_stream'].values())
    if total['count']['discarded'] != discarded:
        bad.append('%d discarded, %d were' % (total['count']['discarded'], discarded))
    for line in bad[:5]:
        print('# ' + line)
    print('%s %s: %d threads, %d processes' % ('not ok' if bad else 'ok', directory, cpu, io))
    return not bad


if __name__ == '__main__':
    if len(sys.argv) < 3:
        print('skipped: no trace given')
        sys.exit(77)
    RESULTS = [check(sys.argv[1], path) for path in sys.argv[2:]]
    sys.exit(0 if all(RESULTS) else 1)
