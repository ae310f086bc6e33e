#!/usr/bin/env python3
"""containers: figures by PID namespace, against a sequential program and what namespaces measured.

Goal    Run time, switches, migrations and preemptions of each container as a plain program over
        babeltrace2's events has them; the CPU time that each container reported itself within 2 %;
        names; rows of containers add up to rows of threads, in each analysis that has both, and
        those of processes to that of the container they are said to be in; the
        same total with any interval, cut and number of workers, spread over processes, and with a
        state between two ranges; triggers on a container.
Method  The program follows sched_switch on each CPU, and takes the namespace of a thread from the
        state dump and from forks.  It does not know windows, chunks or partials.

usage: containers.py SILLAGE TRACE      TRACE has kernel/ and truth.json
"""
import collections
import json
import os
import re
import subprocess
import sys
import tempfile

import reference
from sequential import number, string

HOST = 4026531836
ANALYSES = 'cpu,sched,syscalls,io,memory,block'
SUMS = {'cpu': ('run_ns', 'switches', 'migrations', 'preemptions'), 'syscalls': ('calls', 'errors', 'off_cpu_ns'),
        'io': ('read_bytes', 'write_bytes', 'reads', 'writes', 'errors')}

ADDED = {*(key for keys in SUMS.values() for key in keys), 'allocated_pages', 'freed_pages', 'failed', 'reclaim_ns', 'requests'}


class Task:
    def __init__(self):
        self.pid_ns, self.level, self.cpu, self.comm = None, -1, None, ''
        self.run, self.switches, self.migrations, self.preemptions = 0, 0, 0, 0


def sequential_figures(trace):
    """The figures of each namespace, the name of each one's first process, and the namespace of each tid."""
    tasks, all_tasks, current, since, firsts = {}, [], {}, {}, {}

    def task(tid, is_new=False):
        if is_new or tid not in tasks:
            tasks[tid] = Task()
            all_tasks.append(tasks[tid])
        return tasks[tid]

    events = list(reference.events_of(trace))
    begin, end = events[0][0], events[-1][0]
    for _, name, cpu, text in events:  # who ran when the trace began
        if name == 'sched_switch' and cpu not in current:
            current[cpu], since[cpu] = number(text, 'prev_tid'), begin
    for cpu, tid in current.items():
        if tid:
            task(tid).cpu = cpu
    for ns, name, cpu, text in events:
        tid = number(text, 'tid')
        if name == 'sched_switch':
            prev, next_ = number(text, 'prev_tid'), number(text, 'next_tid')
            if prev:
                left = task(prev)
                left.run += ns - since[cpu]
                left.comm = string(text, 'prev_comm') or left.comm
                left.preemptions += number(text, 'prev_state') & 0x100 != 0
            if next_:
                entered = task(next_)
                entered.switches += 1
                entered.migrations += entered.cpu not in (None, cpu)
                entered.cpu, entered.comm = cpu, string(text, 'next_comm') or entered.comm
            current[cpu], since[cpu] = next_, ns
        elif name == 'sched_process_fork':
            child = task(number(text, 'child_tid'), True)
            child.pid_ns, child.level = number(text, 'child_ns_inum'), 99
            child.comm = string(text, 'child_comm')
        elif name == 'lttng_statedump_process_state':
            task(tid).level = -1
            task(tid).comm = task(tid).comm or string(text, 'name')
        elif name == 'lttng_statedump_process_pid_ns' and number(text, 'ns_level') > task(tid).level:
            task(tid).pid_ns, task(tid).level = number(text, 'ns_inum'), number(text, 'ns_level')
            if number(text, 'vtid') == 1 and number(text, 'vpid') == 1:
                firsts[number(text, 'ns_inum')] = task(tid)
    for cpu, tid in current.items():
        if tid:
            task(tid).run += end - since[cpu]
    rows = collections.defaultdict(lambda: [0, 0, 0, 0])
    for one in all_tasks:
        figures = one.run, one.switches, one.migrations, one.preemptions
        if any(figures):
            rows[one.pid_ns] = [a + b for a, b in zip(rows[one.pid_ns], figures)]
    names = {pid_ns: first.comm for pid_ns, first in firsts.items()}
    return dict(rows), {**names, HOST: 'host'}, {tid: one.pid_ns for tid, one in tasks.items()}


def run(*command, text=None):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, input=text, check=False)


def total(out):
    return [line for line in map(json.loads, out.decode().splitlines()) if line['type'] == 'total'][-1]


def check_total(sillage, trace, faults):
    """Returns the total that all others have to be equal to."""
    asked = [sillage, 'analyze', '-q', '-f', 'json', '-a', ANALYSES]
    ours, threads = (total(run(*asked, '--per', per, trace).stdout) for per in ('container', 'tid'))
    rows, names, of_tid = sequential_figures(trace)
    found = {row.get('pid_ns'): [row[key] for key in SUMS['cpu']] for row in ours['cpu']['containers']}
    if found != rows:
        faults.append('containers of cpu: %s, the sequential program has %s' % (found, rows))
    for row in ours['cpu']['containers']:
        if row.get('name') != names.get(row.get('pid_ns')):
            faults.append('%s is called %s' % (row.get('pid_ns'), row.get('name')))
    for analysis, keys in SUMS.items():
        for key in keys:
            of_both = [sum(row[key] for row in line[analysis][table])
                       for line, table in ((ours, 'containers'), (threads, 'threads'))]
            if of_both[0] != of_both[1] or of_both[0] == 0 and key == 'run_ns':
                faults.append('%s.%s: containers have %d, threads %d' % (analysis, key, *of_both))
    for key in 'wake', 'requeue':
        of_both = [sum(row[key]['count'] for row in line['sched'][table])
                   for line, table in ((ours, 'containers'), (threads, 'threads'))]
        if of_both[0] != of_both[1] or of_both[0] == 0:
            faults.append('sched.%s: containers have %d, threads %d' % (key, *of_both))
    if 'containers' in threads['cpu']:
        faults.append('containers are listed although they were not asked for')
    check_processes(ours, names, of_tid, faults)
    plain = total(run(*asked, trace).stdout)
    if any('pid_ns' in row or 'container' in row for row in plain['cpu']['processes']):
        faults.append('processes name their container although that was not asked for')
    return ours


def check_processes(ours, names, of_tid, faults):
    """Each process is in the container of its leader, and those of one add up to its row."""
    for analysis in ANALYSES.split(','):
        sums = collections.defaultdict(collections.Counter)
        for row in ours[analysis]['processes']:
            place = row.get('pid_ns')
            if (place, row.get('container')) != (of_tid.get(row['pid']), names.get(of_tid.get(row['pid']))):
                faults.append('%s: process %d in %s' % (analysis, row['pid'], row.get('container')))
            sums[place].update({key: value for key, value in row.items() if key in ADDED})
            sums[place].update({key: row[key]['count'] for key in ('wake', 'requeue', 'time') if key in row})
        if not sums and ours[analysis]['containers']:
            faults.append('%s has no processes' % analysis)
        for row in ours[analysis]['containers']:
            own = sums.pop(row.get('pid_ns'), {})
            for key, value in own.items():
                if (row[key]['count'] if isinstance(row[key], dict) else row[key]) != value:
                    faults.append('%s.%s: processes of %s have %d, it has %s' % (analysis, key, row.get('name'), value, row[key]))
            if not own:
                faults.append('%s: no process is in %s' % (analysis, row.get('name')))
        if sums:
            faults.append('%s: processes in %s, which have no row' % (analysis, list(sums)))


def check_truth(ours, truth, faults):
    run_of = {row.get('pid_ns'): row['run_ns'] for row in ours['cpu']['containers']}
    for one in truth['workload']['containers']:
        if abs(run_of.get(one['pid_ns'], 0) - one['cpu_ns']) > 0.02 * one['cpu_ns']:
            faults.append('%s ran for %d ns, it measured %d' % (one['name'], run_of.get(one['pid_ns'], 0), one['cpu_ns']))
    return {str(one['pid_ns']): one['name'] for one in truth['workload']['containers']}


def check_laws(sillage, trace, ours, folder, faults):
    """The same total however it is computed; windows add up."""
    asked = ['-q', '-a', ANALYSES]
    shown = ['-f', 'json', '--per', 'container']

    def bare(out):
        line = total(out)
        return {key: line[key] for key in ANALYSES.split(',')}

    def same(what, out):
        if bare(out) != {key: ours[key] for key in ANALYSES.split(',')}:
            faults.append('the total differs: ' + what)

    for extra in (['-j', '0', '--chunk-size', '300'], ['-j', '2', '--chunk-size', '4000'], ['-i', '7ms'], ['-i', '1s'],
                  ['--max-memory', '1K']):
        same(' '.join(extra), run(sillage, 'analyze', *asked, *shown, *extra, trace).stdout)
    for interval in '7ms', '100ms':
        out = run(sillage, 'analyze', *asked, *shown, '-i', interval, trace).stdout
        windows = [line for line in map(json.loads, out.decode().splitlines()) if line['type'] == 'window']
        for key in SUMS['cpu']:
            sums = [sum(row[key] for line in lines for row in line['cpu']['containers']) for lines in (windows, [ours])]
            if sums[0] != sums[1]:
                faults.append('%s of windows of %s: %d, of the total %d' % (key, interval, *sums))
    partials = run(sillage, 'map', *asked, '--chunk-size', '4000', trace).stdout
    same('map | merge', run(sillage, 'merge', '-q', *shown, '-', text=partials).stdout)
    state = os.path.join(folder, 'state')
    run(sillage, 'analyze', *asked, '--state', state, trace)
    same('from a checkpoint', run(sillage, 'merge', '-q', *shown, state).stdout)


def check_use(sillage, trace, names, folder, faults):
    path = os.path.join(folder, 'names')
    with open(path, 'w') as file:
        file.write('# names\n\n' + ''.join('  %s \t%s \n' % item for item in names.items()))
    asked = [sillage, 'analyze', '-q', '-a', 'cpu', '--containers', path]
    line = total(run(*asked, '-f', 'json', '--per', 'container', trace).stdout)
    got = {str(row.get('pid_ns')): row.get('name') for row in line['cpu']['containers']}
    if got != {**names, str(HOST): 'host'}:
        faults.append('names: %s' % got)
    text = run(*asked, '-f', 'text', '-n', '0', '--per', 'container', trace).stdout.decode()
    for name in names.values():
        if not re.search(r'^ +%s +[\d.]+ ms' % name, text, re.M):
            faults.append('%s has no line of text' % name)
        if not re.search(r'^ +\S.* \(\d+\) in %s +[\d.]+ ms' % name, text, re.M):
            faults.append('no process is said to be in %s' % name)
    lami = json.loads(run(sillage, 'lami', '-a', 'cpu', '--per', 'container', '--containers', path, trace).stdout)
    told = [result for result in lami['results'] if result['class'] == 'cpu-containers']
    if len(told) != 1 or {row[0]['value'] for row in told[0]['data']} != {*names.values(), 'host'}:
        faults.append('lami: %s' % lami)
    for trigger, fires in (('cpu.container[name=web].run > 30%', True), ('cpu.container[name=web].run > 250%', False),
                           ('cpu.container[pid_ns=%s].run > 30%%' % list(names)[0], True),
                           ('cpu.container[%s].run > 30%%' % list(names)[0], True),
                           ('cpu.container[name=nobody].run > 0', False)):
        out = run(*asked, '-f', 'json', '-i', '100ms', '--trigger', trigger, trace).stdout.decode()
        if ('"type":"trigger"' in out) != fires:
            faults.append('%s %s' % (trigger, 'does not fire' if fires else 'fires'))
    for text in 'web 4026532178\n', '4026532178\n', '0 web\n', '-1 web\n', '1 a\n1 b\n', '99999999999 x\n', '12x y\n':
        with open(path, 'w') as file:
            file.write(text)
        done = run(*asked, trace)
        if done.returncode != 2 or b'line %d' % text.count('\n') not in done.stderr:
            faults.append('%r: exit %d, %s' % (text, done.returncode, done.stderr))
    done = run(*asked[:-1], os.path.join(folder, 'absent'), trace)
    if done.returncode != 2 or b'No such file' not in done.stderr:
        faults.append('an absent file: exit %d, %s' % (done.returncode, done.stderr))


def main():
    sillage, path = sys.argv[1:3]
    faults, trace = [], os.path.join(path, 'kernel')
    with open(os.path.join(path, 'truth.json')) as file:
        truth = json.load(file)
    ours = check_total(sillage, trace, faults)
    names = check_truth(ours, truth, faults)
    with tempfile.TemporaryDirectory() as folder:
        check_laws(sillage, trace, ours, folder, faults)
        check_use(sillage, trace, names, folder, faults)
    for fault in faults:
        print('not ok:', fault)
    print('%s containers: %d of them, %d ns' % ('not ok' if faults else 'ok', len(ours['cpu']['containers']),
                                               sum(row['run_ns'] for row in ours['cpu']['containers'])))
    return 1 if faults else 0


if __name__ == '__main__':
    sys.exit(main())
