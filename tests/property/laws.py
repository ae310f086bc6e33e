#!/usr/bin/env python3
"""laws: what must hold of every analysis, on generated traces of what a kernel could do.

Goal    Byte-identical JSON whatever the cut into chunks, the number of workers, the memory,
        the names of the files, and the processes that it is spread over: one that maps and one
        that merges, or one for each piece of a rotated trace.  Windows add up to totals, for each
        column of each analysis in the list; and all of them as plain sequential programs have them.
Method  Traces of generated.py, a fifth of them of user programs.  Half of them lose packets and events: then
        only the laws and the sum of each CPU's time are checked.

usage: laws.py SILLAGE [--count N] [--seed S]
"""
import argparse
import collections
import itertools
import json
import os
import random
import shutil
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'reference'))
import calls_plain
import cuts
import generated
import jobs
import lossy
import perfetto_file
import preempt
import reference
import state

PERIODS = (
    'run = sched_in; sched_out', 'wake = sched_waking tid=$tid; sched_in; group prev_comm',
    'call = syscall_entry_*; syscall_exit_*', 'opened = syscall_exit_openat; syscall_entry_close; within run',
    'irq = irq_handler_entry; irq_handler_exit; by $cpu, irq; group name',
    'disk = block_rq_issue nr_sector>0; block_rq_complete; by dev, sector; group rwbs, error')
KERNEL_CALLS = ('sys = syscall_entry_*; syscall_exit_*', 'disk = block_rq_issue; block_rq_complete; by dev, sector; error error!=0',
                'ran = sched_switch next_tid=$tid; sched_switch prev_tid=$tid; group next_prio; diff prev_tid, next_prio')
UST_PERIODS = (
    'own = app:begin; app:end; diff id', 'id = app:begin; app:end; by id', 'log = lib:call; app:log; within own; group msg',
    'cpu = lib:size size>2; app:end id>1; by $cpu', 'size = app:begin; lib:size; by id=size; group size')
JOBS = (
    'stay = run; deadline 1ms', 'loop = syscall_entry_*; syscall_exit_*; syscall_entry_*; every 2ms',
    'wait = sched_waking tid=$tid; sched_in; deadline 20us', 'away = sleep; deadline 3ms; every 5ms',
    'point = run-to-sleep; deadline 2ms; every 1ms fixed',
    'all = sched_switch; sched_switch; diff next_tid, prev_tid', 'any = sched_waking; sched_switch; by tid=next_tid; deadline 20us',
    'next = sched_waking tid=$tid; sched_waking tid=$tid; by global; diff tid', 'own = sched_in; sched_waking; by $tid, $cpu; deadline 1ms',
    'named = sched_switch @"*[0-4]"|1*; sched_switch @"*[3-9]"; deadline 100us',
    'rows = sched_waking @"*[0-4]"; sched_in; by $cpu; group next_comm; deadline 1us',
    'keyed = sched_waking; sched_switch; by tid=next_tid; every 3ms',
    'call = syscall_entry_*; syscall_exit_*; within stay; deadline 100us',
    'over = sched_waking; sched_switch; by tid=next_tid; within stay')
LABELS = ('cpu', 'fd', 'tid', 'pid', 'prio', 'comm', 'irq', 'vec', 'order', 'errno', 'vpid', 'level',
          'pid_ns', 'by_tid', 'by_pid', 'by_pid_ns', 'comm_of', 'state', 'khz')
LEVELS = {'state'}  # analyses of how things are when a window ends
NO_SUMS = ('min_ns', 'mean_ns', 'max_ns', 'stdev_ns', 'p50_ns', 'p95_ns', 'p99_ns', 'p999_ns',
           'longest_ns', 'depth_max', 'in_flight', 'open', 'oldest_ns', 'longest',
           'misses_run', 'open_misses', 'undecided', 'worst', 'largest')


class Fault(Exception):
    """What does not hold."""


def sums_of(value):
    """All figures below @value, added up by their keys; ids and last-known values are none."""
    sums = {}

    def walk(path, at):
        if isinstance(at, dict):
            for key, below in at.items():
                if key not in NO_SUMS and (key not in LABELS or isinstance(below, (dict, list))):
                    walk(path + (key,), below)
        elif isinstance(at, list):
            for below in at:
                walk(path, below)
        elif isinstance(at, int):
            sums[path] = sums.get(path, 0) + at

    walk((), value)
    return {path: total for path, total in sums.items() if total}


def adds_up(lines, analyses):
    total = [line for line in lines if line['type'] == 'total'][0]
    windows = [{name: line[name] for name in analyses} for line in lines if line['type'] == 'window']
    for name in LEVELS & set(analyses):
        if bare(windows[-1][name]) != bare(total[name]):
            return False
    return sums_of([{name: of for name, of in window.items() if name not in LEVELS} for window in windows]) == sums_of(
        {name: total[name] for name in analyses if name not in LEVELS})


def whole_cpus(lines):
    """
    Of each CPU busy + idle + unknown is the time of the window.  One that leaves has less in one window, and is in none
    after it.
    """
    seen, left, is_right = set(), set(), True
    for line in (line for line in lines if line['type'] in ('window', 'total')):
        times = {cpu['cpu']: cpu['busy_ns'] + cpu['idle_ns'] + cpu['unknown_ns'] for cpu in line['cpu']['cpus']}
        short = {cpu for cpu, ns in times.items() if ns < line['end'] - line['begin']}
        is_right &= max(times.values(), default=0) <= line['end'] - line['begin']
        if line['type'] == 'total':
            return is_right and (short == left or not seen)
        is_right &= not left & set(times)
        left |= short | (seen - set(times))
        seen |= set(times)
    return is_right


def bare(value):
    """Without what may become known within a window: who threads are, and processes."""
    if isinstance(value, list):
        return [bare(below) for below in value]
    if isinstance(value, dict):
        return {key: bare(below) for key, below in value.items() if key not in ('comm', 'pid', 'prio', 'processes', 'by_comm', 'by_pid', 'process_pairs')}
    return value


def total_of(lines):
    """The total, without who the longest were: as that was known in the window."""
    total = [bare(line) for line in lines if line['type'] == 'total'][0]
    for row in (row for one in total.values() if isinstance(one, dict) for key in ('longest', 'worst')
                for row in one.get(key, ())):
        row.pop('tid', None)
    return total


def totals_differ(sillage, rng, path, asked, lines):
    """An interval with which the total is another than with that of @asked; None: no interval is asked for."""
    for interval in (None, '10s', rng.choice(('3ms', '250ms', '3s'))):
        extra = (['-i', interval] if interval else []) + asked[2:]
        ours = [json.loads(line) for line in cuts.report(sillage, path, rng.choice((300, '1G')), rng.randrange(3), extra)]
        if total_of(ours) != total_of(lines):
            return str(interval)
    return None


def gathered_differ(sillage, path, asked, interval, lines):
    """Windows put together from those that triggers are looked at in."""
    short = {'100ms': '20ms', '1s': '100ms'}.get(interval)
    if not short:
        return False
    extra = asked + ['--trigger', 'count.events > 1G', '--trigger-interval', short]
    ours = [json.loads(line) for line in cuts.report(sillage, path, '1G', 1, extra)]
    return [bare(line) for line in ours if line['type'] == 'window'] != [
        bare(line) for line in lines if line['type'] == 'window']


def windows_of(lines):
    """Windows and the total, whatever the directory is called."""
    objects = [json.loads(line) for line in lines]
    for one in objects:
        one.get('trace', {}).pop('path', None)
    return [one for one in objects if one['type'] in ('window', 'total') and not one.get('so_far')]


def by_pieces(sillage, rng, folders, asked, state, shown=()):
    """What runs on one piece after the other report, each going on from the state that the one before left."""
    lines = []
    for folder in folders:
        lines += cuts.report(sillage, folder, rng.choice((1, 4000, 10**9)), rng.randrange(3),
                             asked + [*shown, '--state', state] + rng.choice(([], ['--max-memory', '1K'])))
    lines += cuts.in_order(cuts.run([sillage, 'merge', '-q', '-f', 'json', *shown, state]))
    return windows_of(lines)


def ranged_differ(sillage, rng, path, asked, lines):
    """Whether the windows of a range are not those that all of the trace has there."""
    def bare(line):
        return [line[key] for key in line if key != 'seq']

    windows = [line for line in lines if line['type'] == 'window'][1:-1]  # those in the middle are whole
    if not windows:
        return False
    first, last = sorted(rng.randrange(len(windows)) for _ in range(2))
    extra = asked + ['--begin', str(windows[first]['begin']), '--end', str(windows[last]['end'])]
    ours = [json.loads(line) for line in cuts.report(sillage, path, rng.choice((1, 4000, '1G')), rng.randrange(3), extra)]
    return [bare(line) for line in ours if line['type'] == 'window'] != [
        bare(line) for line in windows[first:last + 1]]


def alone_differs(sillage, rng, path, asked, lines):
    """An analysis that by itself, or with one other, does not say what it says among all."""
    is_ust = lines[1]['trace'].get('domain') == 'ust'  # all events tell who their threads are

    def said(line, name):
        return line['type'], line['begin'], line['end'], bare(line[name]) if is_ust else line[name]

    names = lines[0]['analyses']
    for name in ['io'] * ('io' in names) + rng.sample(names, 2):
        some = ','.join(sorted({name, rng.choice(names)}))
        # Periods and jobs that are asked for would be among them.
        used = asked[:2] + [word for option, spec in zip(asked[2::2], asked[3::2]) for word in (option, spec)
                            if {'--period': 'periods', '--job': 'jobs', '--call': 'calls'}.get(option, some) in some.split(',')]
        ours = [json.loads(line) for line in cuts.run(
            [sillage, 'analyze', '-q', '-f', 'json', '-a', some, '--chunk-size', str(rng.choice((300, 10**9)))] + used +
            [path]).splitlines()]
        if [said(line, name) for line in ours if line['type'] in ('window', 'total')] != [
                said(line, name) for line in lines if line['type'] in ('window', 'total')]:
            return some
    return None


HEAD_WAIT_NS = 5 * 10**9  # windows wait no longer for the first switch of a CPU; a report has read all


def late_cpus(events, lost=()):
    """The CPUs whose first switch is not waited for."""
    there = [event for event in events if (event[0], event[2]) not in lost]
    times = {cpu: [ts for ts, name, where, _ in there if where == cpu and name == 'sched_switch'] for _, _, cpu, _ in there}
    return {cpu for cpu, found in times.items() if (found or [there[-1][0]])[0] >= there[0][0] + HEAD_WAIT_NS}


def explained_differ(found, loses, total, late):
    """Whether a report, which has all events in one order, says of CPUs and threads what `analyze` does.  @late: not of these."""
    def running(rows):
        by_tid = {}
        for tid, row in rows:
            by_tid[tid] = by_tid.get(tid, 0) + row['run_ns']
        return {tid: ns for tid, ns in by_tid.items() if ns}

    if not found:  # of nobody it is known that he ran
        return total['cpu']['busy_ns'] > 0
    ours = {cpu['cpu']: (cpu['busy_ns'], cpu['unknown_ns']) for cpu in found['cpus']}
    theirs = {cpu['cpu']: (cpu['busy_ns'], cpu['unknown_ns']) for cpu in total['cpu']['cpus']}
    if any(ours[cpu] != theirs[cpu] for cpu in set(ours) & set(theirs) - late):
        return True
    # Who is seen on another CPU has left the one where the end of the stay is lost.
    return not loses and total['cpu']['unknown_ns'] == 0 and running(
        (row['thread'].get('tid'), row) for row in found['threads']) != running(
            (row.get('tid'), row) for row in total['cpu']['threads'])


def exported_differ(sillage, path, total, renamed):
    """The first difference of who runs where in an export from what `analyze` says, whose rows have the last tid of a thread."""
    made = path + '.perfetto'
    cuts.run([sillage, 'export', '-q', '-o', made, path])
    with open(made, 'rb') as file:
        found = perfetto_file.File(file.read())
    found.calls(), found.check_interrupts(), found.slices()
    ours, cpus = collections.Counter(), collections.Counter()
    for (cpu, tid), ns in found.stays(total['end']).items():
        ours[tid] += ns
        cpus[cpu] += ns
    wanted = collections.Counter()
    for row in total['cpu']['threads']:
        wanted[row.get('tid')] += row['run_ns']
    busy = {cpu['cpu']: cpu['busy_ns'] for cpu in total['cpu']['cpus'] if cpu['busy_ns']}
    if +cpus != busy:
        return 'CPUs are busy for %r in an export, not %r' % (+cpus, busy)
    return None if renamed or +ours == +wanted else 'threads run for %r in an export, not %r' % (+ours - wanted, +wanted - ours)


def open_waits(events):
    """By tid, how long threads may have been waiting in all that were when the trace, or they, ended."""
    number, begins, found = reference.number, {}, {}

    def ends(tid, ts):
        waits = [0] + [ts - begin for begin in begins.pop(tid, [])]  # since any of these
        found[tid] = {wait + more for wait in waits for more in found.get(tid, {0})}

    for ts, name, _, text in events:
        if name in ('sched_waking', 'sched_wakeup'):
            begins.setdefault(number(text, 'tid'), []).append(ts)
        elif name == 'sched_switch':
            begins.setdefault(number(text, 'prev_tid'), []).append(ts)
            begins.pop(number(text, 'next_tid'), None)
        elif name == 'sched_process_fork':
            ends(number(text, 'child_tid'), ts)
        elif name == 'sched_process_exec' and number(text, 'tid') != number(text, 'old_tid'):
            ends(number(text, 'tid'), ts)
            begins[number(text, 'tid')] = begins.pop(number(text, 'old_tid'), [])
            for other in set(begins) - {number(text, 'tid')}:  # if it is of the process, it ends
                before = begins[other]
                ends(other, ts)
                begins[other] = before
    for tid in list(begins):
        ends(tid, events[-1][0])
    return found


def waits_differ(found, events, total):
    """Whether threads wait otherwise in a report than `sched` has it, which knows of none that did not end."""
    still, waits = open_waits(events), {}
    for row in found['threads']:
        sums = waits.setdefault(row['thread'].get('tid'), [0, 0])
        sums[0] += row.get('wait_ns', 0)
        sums[1] += row.get('preempted_ns', 0)
    for row in total['sched']['threads']:
        sums = waits.setdefault(row.get('tid'), [0, 0])
        sums[0] -= row['wake'].get('sum_ns', 0)
        sums[1] -= row['requeue'].get('sum_ns', 0)
    return any(more and more not in still.get(tid, ()) for tid, sums in waits.items() for more in sums)


def queue_of_source(events):
    """
    The threads of which a report and `preempt` say the same queue.  A report leaves a thread in the queue that the source
    of wake-ups names, `preempt` moves it to that of a sched_wakeup or sched_wakeup_new; of a new thread they differ, too.
    """
    tids = {reference.number(text, 'tid') for _, name, _, text in events if name == 'sched_waking'}
    others = {reference.number(text, 'child_tid' if name.endswith('fork') else 'tid') for _, name, _, text in events
              if name in ('sched_wakeup', 'sched_wakeup_new', 'sched_process_fork')}
    renamed = {reference.number(text, key) for _, name, _, text in events if name == 'sched_process_exec'
               and reference.number(text, 'tid') != reference.number(text, 'old_tid') for key in ('tid', 'old_tid')}
    return tids - others - renamed


def stranded(path, events):
    """The threads that were on CPUs when these left: of them a report knows nothing from then on."""
    coverage, last = reference.Coverage(path), {}
    for _, name, cpu, text in events:
        if name == 'sched_switch':
            last[cpu] = reference.number(text, 'next_tid')
        elif name == 'sched_process_exec':
            last = {cpu: reference.number(text, 'tid') if tid == reference.number(text, 'old_tid') else tid for cpu, tid in last.items()}
    return {tid for cpu, tid in last.items() if coverage.leaves(cpu, events[-1][0]) is not None}


def rivals_differ(sillage, path, found, total, events):
    """
    Whether threads wait otherwise in a report, of a trace that loses nothing, or have other rivals.  What a report says of
    who had a thread's CPU is about its whole critical path, so that is compared of threads on whose paths no other one waits
    for a CPU, if both analyses mean the same queue.
    """
    waited, pairs = collections.Counter(), collections.defaultdict(collections.Counter)
    for row in total['preempt']['pairs']:
        waited[row['tid']] += row['waited_ns']
        pairs[row['tid']][row.get('by_tid')] += row['waited_ns']
    told = collections.Counter()
    for row in found['threads']:
        told[row['thread'].get('tid')] += sum(row.get(key, 0) for key in ('wait_ns', 'preempted_ns', 'new_ns'))
    gone = stranded(path, events)
    for tid in gone:
        waited[tid] = told[tid] = 0
    if +told != +waited:
        return 'threads wait for %r in a report, for %r in preempt' % (+told, +waited)
    for tid in sorted(tid for tid in queue_of_source(events) & set(+waited) if not gone & set(pairs[tid]))[:4]:
        out = json.loads(cuts.run([sillage, 'report', '-q', '-f', 'json', '-n', '0', '--thread', str(tid), path]))
        if any(part['tid'] != tid and part['state'] in ('wait', 'preempted', 'new') for part in out['path']['segments']):
            continue
        theirs = collections.Counter()
        for row in out['rivals']:
            theirs[row['thread'].get('tid')] += row['total_ns']
        theirs[0] += out['idle_ns']
        ours = collections.Counter({by: ns for by, ns in pairs[tid].items() if by is not None})
        if +theirs != +ours:
            return 'thread %d: a report has rivals %r, preempt %r' % (tid, +theirs, +ours)
    return None


def states_differ(sillage, path, lines):
    """Whether threads are in other states when a window ends than a report of that instant has them."""
    windows = [line for line in lines if line['type'] == 'window']
    for window in windows[:-1:max(1, len(windows) // 3)] + windows[-1:]:
        state.check_sums(window)
        found = state.differ_at(sillage, path, window, window is windows[-1])
        if found:
            return 'at %d states are %s here, there in a report' % (window['end'], found[:4])
    return None


def has_late_head(events):
    """Whether a CPU's first switch comes so late that it is not waited for."""
    first = {}
    for ts, name, cpu, _ in events:
        if name == 'sched_switch':
            first.setdefault(cpu, ts)
    return max(first.values(), default=0) >= events[0][0] + HEAD_WAIT_NS


def executions_differ(sillage, rng, path, names):
    """Whether a report's executions are not the periods between the same events of a thread: those, if not."""
    for _ in range(3):
        pair = '; '.join(rng.sample(names, 2))  # an event that ends a period can begin another one
        periods = [json.loads(line) for line in cuts.run(
            [sillage, 'analyze', '-q', '-f', 'json', '-a', 'count', '--period', 'x = ' + pair, path]).splitlines()]
        periods = [line for line in periods if line['type'] == 'total'][0]['periods']
        report = cuts.run([sillage, 'report', '-q', '-f', 'json', '-n', '0', '--job', pair, path])
        report = json.loads(report) if report else {}
        found = report.get('jobs')
        # A period begins anew with each first event, an execution ends the one that is open.
        if not found or periods['restarted']:
            continue
        # Of a thread that only contexts name, since its switches are missing, a report has no times.
        known = {row['thread'].get('tid') for row in report['threads']}
        times = [row['time'] for row in periods['threads']
                 if row.get('tid', 0) > 0 and row['tid'] in known and row['time']['count']]
        if (found['count'], found['total_ns']) != tuple(sum(time[key] for time in times) for key in ('count', 'sum_ns')):
            return pair
    return None


def asked_of(periods):
    """The options for these periods; of a kernel for jobs, too."""
    return [word for spec in periods for word in ('--period', spec)] + [
        word for spec in (JOBS if periods is PERIODS else ()) for word in ('--job', spec)] + [
        word for spec in (KERNEL_CALLS if periods is PERIODS else ()) for word in ('--call', spec)]


def moves_at_once(events):
    """Whether a thread leaves a CPU in the ns in which it enters another one: which came first is not known."""
    left, entered = set(), set()
    for ts, name, cpu, text in events:
        if name == 'sched_switch':
            left.add((ts, reference.number(text, 'prev_tid')))
            entered.add((ts, reference.number(text, 'next_tid')))
    return any(tid != 0 for _, tid in left & entered)


def jobs_differ(sillage, path, total):
    """The first figure of jobs that is not that of a report; None: they agree."""
    for spec in JOBS:
        name, pattern, clauses = jobs.split(spec)
        if 'by ' in spec and 'every ' in spec:
            continue  # a report has none
        around = {of: text for of, text, _ in map(jobs.split, JOBS)}.get(clauses.get('within'))
        found = jobs.reported(sillage, path, pattern, clauses.get('deadline'), clauses.get('every'), around)
        if not found or 'group' in spec or 'fixed' not in spec and any(one.get('arrival_from') == 'period' for one in found['longest'] + found['open']):
            continue
        wanted = jobs.figures_of_report(found, jobs.ns(clauses['every']) if 'every' in clauses else 0, jobs.is_cut(total),
                                        not around or not jobs.goes_over(pattern))
        ours = jobs.figures_of_rolling(total['jobs'], name)
        for key, value in sorted(wanted.items()):
            if ours.get(key) != value and (key != 'skipped' or key in ours):
                return '%s: %s is %s, not %s' % (spec, key, ours.get(key), value)
    return None


OF_CONTAINERS = ('cpu', 'sched', 'syscalls', 'io', 'memory', 'block')


def check_containers(sillage, rng, path, folders, interval, lines):
    """The same laws of lists by container, whose rows add up to those of threads."""
    asked, shown = ['-i', interval], ['--per', 'container']
    base = cuts.report(sillage, path, '1G', 0, asked + shown)
    ours = [json.loads(line) for line in base]
    for line, all_lists in zip(ours, lines):
        for name in OF_CONTAINERS if line['type'] in ('window', 'total') else ():
            if name not in line:
                continue
            if sums_of(line[name].get('containers')) != sums_of(all_lists[name]['threads']):
                raise Fault('%s: containers do not add up to threads' % name)
    chunk, workers = rng.choice((1, 300, 4000, 10**9)), rng.randrange(4)
    if cuts.report(sillage, path, chunk, workers, asked + shown) != base:
        raise Fault('containers: not the same with --chunk-size %d -j %d' % (chunk, workers))
    if cuts.merged(sillage, path, chunk, workers, asked, shown) != base:
        raise Fault('containers: not the same by map and merge, --chunk-size %d -j %d' % (chunk, workers))
    if by_pieces(sillage, rng, folders, asked, path + '.containers', shown) != windows_of(base):
        raise Fault('containers: not the same in pieces, from state to state')
    if total_of([json.loads(line) for line in cuts.report(sillage, path, '1G', 1, shown)]) != total_of(ours):
        raise Fault('containers: the total of windows of %s is another' % interval)


def report_of(sillage, rng, path, periods, renamed):
    """
    The lines of a trace's report, after what holds of any trace.  @renamed: a thread takes another tid; then a window
    has the one that it had at the time.
    """
    folders = generated.rotated(rng, path)
    interval = rng.choice(('100ms', '1s', '17ms'))
    asked = ['-i', interval] + asked_of(periods)
    base = cuts.report(sillage, path, '1G', 0, asked)
    lines = [json.loads(line) for line in base]
    for _ in range(4):
        chunk, workers = rng.choice((1, 300, 4000, 10**9)), rng.randrange(4)
        extra = asked + rng.choice(([], ['--max-memory', '1K']))
        if cuts.report(sillage, path, chunk, workers, extra) != base:
            raise Fault('not the same with --chunk-size %d -j %d %s' % (chunk, workers, ' '.join(extra)))
    chunk, workers = rng.choice((1, 300, 4000, 10**9)), rng.randrange(3)
    if cuts.merged(sillage, path, chunk, workers, asked) != base:
        raise Fault('not the same by map and merge, --chunk-size %d -j %d' % (chunk, workers))
    if by_pieces(sillage, rng, folders, asked, path + '.state') != windows_of(base):
        raise Fault('not the same in pieces, from state to state')
    if not adds_up(lines, lines[0]['analyses']):
        raise Fault('windows of %s do not add up' % interval)
    other = totals_differ(sillage, rng, path, asked, lines)
    if other:
        raise Fault('the total of windows of %s is not that of %s' % (interval, other))
    if not renamed and gathered_differ(sillage, path, asked, interval, lines):
        raise Fault('windows of %s are not those of shorter ones put together' % interval)
    if ranged_differ(sillage, rng, path, asked, lines):
        raise Fault('windows of a range are not those of the whole')
    check_containers(sillage, random.Random(repr(rng.getstate()[1][:9])), path, folders, interval, lines)
    some = alone_differs(sillage, rng, path, asked, lines)
    if some:
        raise Fault('%s is not what it is among all' % some)
    return lines


def check_ust(sillage, rng, path, loses):
    """User programs: and periods and events by process are as a few lines of Python have them."""
    events, has_order = generated.make_ust(rng, path, loses)
    lines = report_of(sillage, rng, path, UST_PERIODS, False)
    if loses or not has_order:
        return None
    total = [line for line in lines if line['type'] == 'total'][0]
    wanted = {}
    for name, key in ('own', lambda event: (event[3].get('vpid'), event[3].get('vtid'))), ('id', lambda event: (event[3].get('vpid'), event[2][0])):
        begun, took = {}, []
        for event in events:
            if event[1] == 'app:begin':
                begun[key(event)] = event[0]
            elif event[1] == 'app:end' and key(event) in begun:
                took.append(event[0] - begun.pop(key(event)))
        wanted[name] = (len(took), sum(took)) if took else None
    found = {row['name']: (row['time']['count'], row['time']['sum_ns']) for row in total['periods']['by_name']}
    if any(found.get(name) != want for name, want in wanted.items() if name == 'id' or 'vtid' in events[0][3]):
        return 'periods of programs are %s, not %s' % (found, wanted)
    if 'vtid' in events[0][3]:
        plain = calls_plain.Plain({name: [[field for _, field in fields]] for name, fields in generated.UST_FIELDS.items()})
        for ts, name, values, told in events:
            fields = dict(zip((field for _, field in generated.UST_FIELDS[name]), values))
            plain.take(calls_plain.Event(ts, name, told.get('vpid'), (told.get('vpid'), told['vtid']), fields))
        other = calls_plain.difference(calls_plain.ours_of(total['calls']), plain.result(total['end']))
        if other:
            return 'calls of programs: ' + other
    processes = {(row.get('vpid'), row.get('procname')): row['events'] for row in total['ust']['processes']}
    if processes != collections.Counter((told.get('vpid'), told.get('procname')) for _, _, _, told in events):
        return 'events by process are not those of the trace'
    levels = {row['level']: row['events'] for row in total['ust']['levels']}
    loggers = {row.get('logger', ''): row['events'] for row in total['ust']['loggers']}
    of_agents = [event for event in events if event[1] in generated.AGENTS]
    if levels != collections.Counter(generated.AGENTS[name] + values[1] if name in generated.AGENTS else generated.LEVELS.get(name, 15)
                                     for _, name, values, _ in events):
        return 'events by level are not those of the trace: %s' % levels
    levels = collections.Counter({(row['level'], row.get('logger', '')): row['events'] for row in total['ust']['logger_levels']})
    if levels != collections.Counter((generated.AGENTS[name] + values[1], values[0]) for _, name, values, _ in of_agents):
        return 'events by level and logger are not those of the trace: %s' % levels
    if loggers != collections.Counter(values[0] for _, _, values, _ in of_agents):
        return 'events by logger are not those of the trace: %s' % loggers
    return None


def check(sillage, rng, path, loses):
    lost = generated.Lost()
    events = generated.make(rng, path, loses, lost)
    renamed = any(name == 'sched_process_exec' and reference.number(text, 'tid') != reference.number(text, 'old_tid')
                  for _, name, _, text in events)
    lines = report_of(sillage, rng, path, PERIODS, renamed)
    total = [line for line in lines if line['type'] == 'total'][0]
    if total['begin'] < total['end']:  # there is nothing to report of an instant
        found = cuts.run([sillage, 'report', '-q', '-f', 'json', '-n', '0', path])
        found = found and json.loads(found)
        if explained_differ(found, loses, total, late_cpus(events, lost.events)):
            return "a report's CPUs and threads are not those of analyze"
        fault = not has_late_head(events) and exported_differ(sillage, path, total, renamed)
        if fault:
            return fault
        # Who waits after a hole is told by what comes later: a report does not look that far ahead.
        if found and not loses and not reference.holes_of(path) and waits_differ(found, events, total):
            return "threads do not wait in a report as they do in sched"
        if found and not loses and not has_late_head(events) and not reference.holes_of(path) and (
                any(name == 'sched_wakeup' for _, name, _, _ in events)):  # else wake-ups are tentative
            fault = rivals_differ(sillage, path, found, total, events)
            if fault:
                return fault
        if not loses and not has_late_head(events) and not moves_at_once(events):
            fault = preempt.check_pairs(total['preempt'], path, *reference.declared(path), events)
            if fault:
                return fault
        fault = not loses and not has_late_head(events) and not moves_at_once(events) and states_differ(
            sillage, path, lines)
        if fault:
            return fault
        pair = executions_differ(sillage, rng, path, sorted({name for _, name, _, _ in events}))
        if pair:
            return 'executions of %s are not the periods' % pair
        fault = found and not loses and not has_late_head(events) and not moves_at_once(events) and jobs_differ(
            sillage, path, total)
        if fault:
            return 'executions in a report: ' + fault
    fault = loses and lossy.requests_differ(path, events, lost, total)
    if fault:
        return 'requests where events are lost: ' + fault
    if not whole_cpus(lines):
        return "a CPU's times are not the window"
    if not loses and not has_late_head(events) and not reference.check(sillage, path, events):
        return 'not as the reference'
    return None


def check_damaged(sillage, rng, path, i):
    """
    Threads contradict themselves: dead and runs, on two CPUs, never seen to come.  What is made of that is the same
    for any cut and any windows, and each ns of a CPU counts once.  Where a thread seems to make two calls at a time,
    which of them is paired depends on the cut: those analyses are left out then.
    """
    damage = generated.DAMAGES[i % len(generated.DAMAGES)]
    has_calls = damage not in (generated.track, generated.drop_switches, generated.unplug)
    events = generated.make(rng, path, i // len(generated.DAMAGES) % 3 == 2, damage=damage)
    if not events:
        return None
    try:
        cuts.ANALYSES = 'all' if has_calls else 'count,lost,cpu,sched,preempt,irq,memory,net,block,faults'
        lines = report_of(sillage, rng, path, PERIODS if has_calls else (), True)
    except Fault as found:
        return '%s: %s' % (damage.__name__, found)
    finally:
        cuts.ANALYSES = 'all'
    total = [line for line in lines if line['type'] == 'total'][0]
    found = cuts.run([sillage, 'report', '-q', '-f', 'json', '-n', '0', path]) if total['begin'] < total['end'] else None
    if found and explained_differ(json.loads(found), True, total, late_cpus(events)):
        return "%s: a report's CPUs are not those of analyze" % damage.__name__
    return None if whole_cpus(lines) else "%s: a CPU's times are not the window" % damage.__name__


def check_rest(sillage, path):
    """Calls that are no I/O, which `io` has the decoder pass over at times, end the call that they come within."""
    def call(ts, name, *values):
        return generated.START + ts, 'syscall_' + name, values

    def switched(ts, prev, next_):
        return generated.START + ts, 'sched_switch', ('a', prev, 20, 1, 'b', next_, 20)

    close = [call(20, 'entry_close', 3), call(21, 'exit_close', 0)]
    again = [call(40, 'entry_close', 3), call(41, 'exit_close', 0)]
    left = [switched(35, 7, 8), switched(38, 8, 7)]
    entry, ends = call(30, 'entry_read', 3), [call(50, 'exit_read', 5), switched(60, 7, 0)]
    cases = ((close + [entry] + ends, 20), (close + [entry] + again + ends, 0), (close + [entry] + left + ends, 20),
             (close + [entry] + left + again + ends, 0), (close + [entry] + left + again[1:] + ends, 0))
    for header, (events, ns) in itertools.product(generated.HEADERS, cases):
        events = [switched(10, 0, 7)] + events
        layout = generated.Layout(header)
        events = [event + ((),) for event in events]
        generated.write(path, generated.metadata(layout), {'s0': generated.packets(random.Random(1), layout, 0, 0, events, False)})
        lines = cuts.run([sillage, 'analyze', '-q', '-f', 'json', '-a', 'io', path]).splitlines()
        row = [json.loads(line) for line in lines][-2]['io']['threads'][0]
        shutil.rmtree(path)
        if (row['reads'], row['read_bytes'], row['read_ns']) != (1, 5, ns):
            return 'a read among calls that are no I/O (%s headers): %r, not %d ns' % (header, row, ns)
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__.split('\n')[0])
    parser.add_argument('sillage')
    parser.add_argument('--count', type=int, default=30)
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--random', action='store_true', help='other seeds each time: to hunt')
    parser.add_argument('--damaged', type=int, metavar='N', help='as many of traces that contradict themselves')
    args = parser.parse_args()
    args.seed = random.randrange(1 << 32) if args.random else args.seed
    scratch, failed = tempfile.mkdtemp(prefix='sillage-laws-'), 0
    path = os.path.join(scratch, 'trace')
    try:
        fault = check_rest(args.sillage, path)
        if fault:
            failed += 1
            print('not ok: ' + fault)
        for i in range(args.damaged or 0):
            fault = check_damaged(args.sillage, random.Random(args.seed + i), path, args.seed + i)
            if fault:
                failed += 1
                print('not ok: %s (--seed %d --damaged 1 --count 0)' % (fault, args.seed + i))
            shutil.rmtree(scratch)
            os.mkdir(scratch)
        for i in range(args.count):
            rng = random.Random(args.seed + i)
            try:
                fault = (check_ust if rng.random() < 0.2 else check)(args.sillage, rng, path, i % 2 == 1)
            except Fault as found:
                fault = found
            if fault:
                failed += 1
                print('not ok: %s (--seed %d --count %d)' % (fault, args.seed + (i & ~1), 1 + i % 2))
            shutil.rmtree(scratch)
            os.mkdir(scratch)
    finally:
        shutil.rmtree(scratch)
    print('%s: %d generated traces from seed %d' % ('not ok' if failed else 'ok', args.count, args.seed))
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
