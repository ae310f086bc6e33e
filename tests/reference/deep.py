#!/usr/bin/env python3
"""deep: `sillage report` against what was computed otherwise, and against its own laws.

Goal    Timelines tile each thread's life, agree with `analyze` on who ran how long, and critical
        paths tile their range; the published figures of many-threads (as in acceptance.py)
        exactly; priority inversions and disturbed jobs are those that the workloads themselves measured.
Method  Reports of recorded traces; truth.json of the real-time ones.

usage: deep.py SILLAGE NAME/kernel... [--truth NAME/kernel...] [--public DIR]

    --truth    of these only what the workloads measured
"""
import collections
import json
import math
import os
import random
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile

import reference

# How far what a program notes of itself may be from the kernel's events.  It reads the clock before a system call and
# after it, the events are at the switch and the wake-up: between the two lie the way into the kernel and out, interrupts,
# once in a thread's life its exit (100 to 120 us), and now and then a virtual CPU that does not run, which no event tells
# (162 us in rt-mutex-chain).  171 us is the most in the nine traces; nearly all are below 20 us.  It says nothing of
# exactness: against the events themselves (on_cpu(), jobs.py, realtime.py) no difference is allowed.
NOTED_NS = 200000
# From a wake-up to the switch to a thread of higher priority: an interrupt and a switch; 31 us is the most.
DISPATCH_NS = 50000
STATES = ('unknown_ns', 'new_ns', 'user_ns', 'syscall_ns', 'irq_ns', 'softirq_ns', 'wait_ns', 'preempted_ns',
          'blocked_ns')
# What each workload calls the begin and the end of the high thread's wait, and what the medium one ran meanwhile.
CYCLE = (('high_request_ns', 'request_ns', 'wait_start_ns'), ('high_acquired_ns', 'reply_ns', 'signalled_ns'),
         ('medium_while_blocked_ns', 'medium_while_waiting_ns'))
# What the high thread of each waits in for the low one.
WAITS = (('rt-mutex', 'futex'), ('rt-mqueue', 'mq_timedreceive'), ('rt-signal', 'rt_sigtimedwait'))
RUN = ('user_ns', 'syscall_ns', 'irq_ns', 'softirq_ns')


def report(sillage, trace, *args):
    out = subprocess.run([sillage, 'report', '-f', 'json', '-n', '0', *args, trace], stdout=subprocess.PIPE, check=True)
    return json.loads(out.stdout.decode())


def spent(row, keys=STATES):
    return sum(row.get(key, 0) for key in keys)


def same(what, got, wanted):
    if got != wanted:
        raise AssertionError('%s: %r, wanted %r' % (what, got, wanted))


def check_path(path):
    at = path['begin']
    for segment in path['segments']:
        same('a segment begins', segment['begin'], at)
        assert segment['end'] > at, segment
        at = segment['end']
    same('the path ends', at, path['end'])
    same('its parts', sum(spent(part) for part in path['parts']), path['end'] - path['begin'])


def check_most(sillage, trace):
    """-n holds for CPUs, too: the busiest are left.  What is explained does not depend on it."""
    same('the answer of -n 1', report(sillage, trace, '-n', '1')['answer'], report(sillage, trace)['answer'])
    cpus = report(sillage, trace)['cpus']
    busiest = sorted(cpus, key=lambda row: (-row['busy_ns'], row['cpu']))
    for most in range(1, len(cpus) + 1):
        same('CPUs of -n %d' % most, report(sillage, trace, '-n', str(most))['cpus'], busiest[:most] if most < len(cpus) else cpus)
    out = subprocess.run([sillage, 'report', '-n', '1', trace], stdout=subprocess.PIPE, check=True).stdout.decode()
    lines = [line for line in out.split('\n\n')[2].splitlines() if line]
    same('their lines', [' '.join(line.split()[:2]) for line in lines],
         ['CPU %d' % busiest[0]['cpu']] + ['... and'] * (len(cpus) > 1))


def check_laws(sillage, trace):
    """States tile lives, paths tile ranges; who ran how long is what analyze says."""
    found = report(sillage, trace)
    for row in found['threads']:
        same('the life of %r' % row['thread'], spent(row), row['end'] - row['begin'])
        same('the running of %r' % row['thread'], spent(row, RUN), row['run_ns'])
    out = subprocess.run([sillage, 'analyze', '-q', '-f', 'json', '-a', 'cpu', trace], stdout=subprocess.PIPE, check=True)
    total = [line for line in map(json.loads, out.stdout.decode().splitlines()) if line['type'] == 'total'][0]
    if found['gaps'] == 0:
        same('busy', [cpu['busy_ns'] for cpu in found['cpus']],
             [cpu['busy_ns'] for cpu in sorted(total['cpu']['cpus'], key=lambda cpu: cpu['cpu'])])
        ours, theirs = {}, {}
        for row in found['threads']:
            ours[row['thread']['tid']] = ours.get(row['thread']['tid'], 0) + row['run_ns']
        for row in total['cpu']['threads']:
            theirs[row.get('tid')] = theirs.get(row.get('tid'), 0) + row['run_ns']
        same('running', {tid: ns for tid, ns in ours.items() if ns}, {tid: ns for tid, ns in theirs.items() if ns})
    for row in found['threads'][:3] + found['threads'][3::max(1, len(found['threads']) // 4)]:
        check_path(report(sillage, trace, '--thread', str(row['thread']['tid']))['path'])
    # A range: its part of all, exactly.
    quarter = (found['end'] - found['begin']) // 4
    begin, end = found['begin'] + quarter, found['end'] - quarter
    if not found['gaps']:
        check_changes(sillage, trace, found)
    limits = ('--begin', str(begin), '--end', str(end))
    part = report(sillage, trace, *limits)
    check_threads(sillage, trace, printed(sillage, trace, 0, *limits), *limits)
    same('a range', (part['begin'], part['end']), (begin, end))
    for row in part['threads']:
        same('the life of %r in a range' % row['thread'], spent(row), row['end'] - row['begin'])
    check_path(part['path'])


def check_apart(found, truth, first):
    """Only waits for a lock, for a reply, or in an execution, are inversions; a dispatch is short, whatever the protocol."""
    for one in found['inversions']:
        assert one['wait'] in (('cpu',) if one['kind'] == 'dispatch' else ('lock', 'execution', 'reply', 'cpu')), one
        assert one['kind'] != 'dispatch' or one['end'] - one['begin'] < DISPATCH_NS, one
    same('waits told apart', {one['wait'] for one in found['apart']} - {'other'}, set())
    if truth['workload'].get('protocol') == 'protect':
        assert found['unknown_prio_ns'] > 0 and sum(row['unknown_prio_ns'] for row in found['rivals']) > 0
        same('inversions with a ceiling', [one for one in found['inversions']
                                           if one['kind'] != 'dispatch' and one['end'] > first], [])


def on_cpu(trace, tid):
    """When a thread ran, as a plain program has it from the switches."""
    ran, since = [], None
    for ns, name, _, text in reference.events_of(trace):
        if name == 'sched_switch' and reference.number(text, 'next_tid') == tid:
            since = ns
        elif name == 'sched_switch' and reference.number(text, 'prev_tid') == tid and since is not None:
            ran.append((since, ns))
            since = None
    return ran


def within(intervals, begin, end):
    return sum(max(0, min(until, end) - max(since, begin)) for since, until in intervals)


def check_victims(sillage, trace, job, high, alone):
    """Without --thread all victims are there, the most urgent first, with what --thread says of each."""
    victims = report(sillage, trace, *job)['victims']
    same('the order of victims', [row['prio'] for row in victims],
         [row['prio'] for row in sorted(victims, key=lambda row: (not row['unbounded_ns'] + row['direct_ns'], row['prio']))])
    row = [row for row in victims if row['thread']['tid'] == high['tid']][0]
    same('its priority', row['prio'], -1 - high['rt_priority'])
    same('its inversions', row['inversions'], alone['inversions'])
    for kind in ('direct', 'unbounded', 'dispatch'):
        found = [one for one in row['inversions'] if one['kind'] == kind]
        same(kind, row[kind + '_ns'], sum(one['end'] - one['begin'] for one in found))
        assert (row[kind + '_waits'] > 0) == (len(found) > 0) and row[kind + '_waits'] <= len(found), (kind, row)


def check_worst(sillage, trace, *args):
    """Each of the worst executions has what a report on its range alone has."""
    jobs = report(sillage, trace, *args, '--worst', '5')['jobs']
    together = sorted(jobs['longest'] + jobs['open'], key=lambda one: (-one['response_ns'], one['begin'] - one['end']))
    same('the worst', [one['response_ns'] for one in jobs['worst']], [one['response_ns'] for one in together[:5]])
    same('none of them', report(sillage, trace, *args, '--worst', '0')['jobs']['worst'], [])
    for one in jobs['worst']:
        alone = report(sillage, trace, '--begin', str(one['arrival']), '--end', str(one['end']), '--thread', str(one['thread']['tid']))
        check_path(one['path'])
        same('the range of its path', (one['path']['begin'], one['path']['end']), (one['arrival'], one['end']))
        same('its path', [one['path'][key] for key in ('segments', 'parts')], [alone['path'][key] for key in ('segments', 'parts')])
        keys = ('thread', 'total_ns', 'longest_ns', 'times', 'same_level_ns', 'unknown_prio_ns')
        same('its rivals', [[row[key] for key in keys] for row in one['rivals']], [[row[key] for key in keys] for row in alone['rivals']])
        same('waits told apart', one['apart'], [])


def check_truth(sillage, trace):
    """Of each cycle of a real-time workload: whether the medium thread ran while the high one was held up."""
    with open(os.path.join(os.path.dirname(trace), 'truth.json')) as file:
        truth = json.load(file)
    offset = truth['clock_offset_ns']
    threads = truth['workload']['threads']
    high = max(threads, key=lambda thread: thread['rt_priority'])
    medium = sorted(threads, key=lambda thread: thread['rt_priority'])[1]
    kind = [call for name, call in WAITS if '/%s' % name in trace][0]
    # A message or a signal may be the thread's next release: executions tell, or that the thread asked for it.
    for job in ((),) if kind == 'futex' else ((), ('--job', 'periodic')):
        check_cycles(sillage, trace, truth, job, offset, high, medium, kind)
    return len(truth['workload']['cycles'])


def check_answer(sillage, trace, truth, high):
    """Whom a report explains that is asked for nobody: the thread that the workload holds up, in the first sentence."""
    found = report(sillage, trace)
    if any(cycle['inversion'] for cycle in truth['workload']['cycles']):
        same('the explained thread', found['path']['thread']['tid'], high['tid'])
        begin = '%s (%d, FIFO/RR %d) was delayed by priority inversions: ' % (found['path']['thread']['comm'], high['tid'], high['rt_priority'])
        same('the first sentence', found['answer'][:len(begin)], begin)


def check_cycles(sillage, trace, truth, job, offset, high, medium, kind):
    # Before the first cycle the threads wait for one another at a barrier: no futex operation tells it from a lock.
    first = min(cycle[key] for cycle in truth['workload']['cycles'] for key in CYCLE[0] if key in cycle) + offset
    if not job:
        check_answer(sillage, trace, truth, high)
    all_found = report(sillage, trace, '--thread', str(high['tid']), *job)
    check_apart(all_found, truth, first)
    found = [one for one in all_found['inversions'] if one['kind'] == 'unbounded' and one['rival']['tid'] == medium['tid']]
    found = [one for one in found if one['end'] > first]
    calls = {(one.get('call'), one.get('futex')) for one in found}
    assert not calls or (len(calls) == 1 and {call for call, _ in calls} == {kind} and
                         (kind != 'futex' or 0 < calls.pop()[1] < 1 << 47)), calls
    assert not any(one.get('fair_class') for one in all_found['inversions'])
    same('priority is inherited', all_found['inherited_ns'] > 0, '-inherit' in trace)
    ran = on_cpu(trace, medium['tid'])
    for cycle in truth['workload']['cycles']:
        begin, end, wanted = [[cycle[key] for key in keys if key in cycle][0] for keys in CYCLE]
        begin, end = begin + offset, end + offset
        ns = within([(one['begin'], one['end']) for one in found], begin, end)
        same('an inversion in cycle %d' % cycle['cycle'], ns > 0, cycle['inversion'])
        same('its time in cycle %d' % cycle['cycle'], ns, within(ran, begin, end))
        assert 0 <= ns - wanted < NOTED_NS, (cycle, ns)
        found = [one for one in found if one['end'] <= begin or one['begin'] >= end]
    same('inversions beside the cycles', found, [])
    check_victims(sillage, trace, job, high, all_found)


def check_missed(sillage, trace, workload, model):
    """The first sentence has the truth's misses of the thread that was asked for, and who caused them."""
    job, disturber = workload['threads'][0], workload['threads'][1]
    missed = sum(one['deadline_missed'] for one in workload['jobs'])
    found = report(sillage, trace, '--thread', str(job['tid']), '--job', model, '--deadline', '%dus' % workload['period_us'],
                   '--worst', str(missed + 1))
    comm = found['path']['thread']['comm']
    begin = '%s (%d, FIFO/RR %d) missed %d of %d deadlines (' % (comm, job['tid'], job['rt_priority'], missed, len(workload['jobs']))
    same('the first sentence', found['answer'][:len(begin)], begin)
    blamed = '; in each of the %d worst %s (%d, ' % (missed, 'disturber', disturber['tid'])
    same('who is blamed: %s' % found['answer'], blamed in found['answer'], missed > 0)
    # One that is late by its own work blames nobody: 1 us for all that the disturber does.
    own = report(sillage, trace, '--thread', str(disturber['tid']), '--job', 'run', '--deadline', '1us')
    assert ' missed ' in own['answer'] and ' worst ' not in own['answer'], own['answer']


def check_jobs(sillage, trace):
    """Of each job of a periodic workload: its time, and whether another thread disturbed it."""
    with open(os.path.join(os.path.dirname(trace), 'truth.json')) as file:
        truth = json.load(file)
    offset, workload = truth['clock_offset_ns'], truth['workload']
    model = {'nanosleep': 'periodic', 'timerfd': 'timerfd', 'signal': 'signal'}[workload['timer']]
    deadline = 1500000
    found = report(sillage, trace, '--thread', str(workload['threads'][0]['tid']), '--job', model,
                   '--deadline', '%dns' % deadline)['jobs']
    executions = sorted(found['longest'], key=lambda one: one['begin'])
    same('executions', found['count'], len(executions))
    # The last one is not followed by another wait.
    same('open executions', (found['open_count'], found['cut']), (1, 0))
    for key in STATES:
        same(key, found.get(key, 0), sum(one.get(key, 0) for one in executions))
    executions += found['open']
    same('misses', found['misses'], sum(one['response_ns'] > deadline for one in executions))
    for job in workload['jobs']:
        begin, end = job['start_ns'] + offset, job['end_ns'] + offset
        inside = [one for one in executions if one['begin'] <= begin and one['end'] >= end]
        same('executions of job %d' % job['job'], len(inside), 1)
        one = inside[0]
        same('the time of job %d' % job['job'], spent(one), one['end'] - one['begin'])
        assert 0 <= one['end'] - one['begin'] - (end - begin) < NOTED_NS, (job, one)
        same('whether job %d was disturbed' % job['job'], spent(one, ('preempted_ns', 'wait_ns')) > 0, job['perturbed'])
    # By its own clock a response is from its release on: so is ours, by the timer that it was released by.
    for args in (('--every', '%dus' % workload['period_us']), ('--deadline', '%dus' % workload['period_us'])):
        found = report(sillage, trace, '--thread', str(workload['threads'][0]['tid']), '--job', model, *args)['jobs']
        executions = sorted(found['longest'] + found['open'], key=lambda one: one['begin'])
        same('arrivals', {key: count for key, count in found['arrivals'].items() if count}, {'timer': len(workload['jobs'])})
        for one, job in zip(executions, workload['jobs']):
            same('a response', one['response_ns'], one['end'] - one['arrival'])
            same('a delay', one['late_ns'], one['begin'] - one['arrival'])
            assert abs(one['arrival'] - offset - job['release_ns']) < NOTED_NS, (job, one)
            assert abs(one['response_ns'] - job['response_ns']) < NOTED_NS, (job, one)
        same('missed deadlines', found['misses'], sum(job['deadline_missed'] for job in workload['jobs']))
        same('those by response', [one['response_ns'] for one in found['longest']],
             sorted((one['response_ns'] for one in found['longest']), reverse=True))
    check_worst(sillage, trace, '--thread', str(workload['threads'][0]['tid']), '--job', model, '--every',
                '%dus' % workload['period_us'])
    check_missed(sillage, trace, workload, model)
    # Without --thread each thread has figures and arrivals of its own.
    together = report(sillage, trace, '--job', model, '--every', '%dus' % workload['period_us'])['jobs']
    alone = [row for row in together['threads'] if row['thread']['tid'] == workload['threads'][0]['tid']][0]
    same('the figures of one thread of several', {key: value for key, value in alone.items() if key != 'thread'},
         {key: found[key] for key in alone if key != 'thread'})
    return len(workload['jobs'])


def check_workload(sillage, trace):
    """How many cycles or jobs of it were checked."""
    name = os.path.basename(os.path.dirname(trace))
    if name.startswith('rt-'):
        return check_truth(sillage, trace)
    return check_jobs(sillage, trace) if name.startswith('timer-') else 0


def check_changes(sillage, trace, found):
    """With a range: how much each thread ran before it and in it, as `analyze` has it."""
    length = (found['end'] - found['begin']) // 5
    begin, end = found['begin'] + 2 * length, found['begin'] + 3 * length
    same('since when', report(sillage, trace, '--begin', str(begin), '--end', str(end))['changed_at'], begin)
    ours = collections.defaultdict(lambda: [0, 0])
    for change in report(sillage, trace, '--begin', str(begin), '--end', str(end))['changes']:
        for i, key in enumerate(('before', 'after')):
            ours[change['thread']['tid']][i] += change[key]
    theirs = collections.defaultdict(lambda: [0, 0])
    for i, (since, until) in enumerate(((begin - length, begin), (begin, end))):
        out = subprocess.run([sillage, 'analyze', '-q', '-f', 'json', '-a', 'cpu', '-n', '0', '--begin', str(since), '--end',
                              str(until), trace], stdout=subprocess.PIPE, check=True).stdout
        total = [line for line in map(json.loads, out.splitlines()) if line['type'] == 'total'][0]
        for row in total['cpu']['threads']:
            theirs[row.get('tid')][i] += row['run_ns'] / length
    for tid in set(ours) | set(theirs):
        for one, other in zip(ours[tid], theirs[tid]):
            if ours[tid] != [0, 0] or abs(theirs[tid][0] - theirs[tid][1]) > 0.001:
                assert abs(one - other) < 0.001, ('what changed', tid, ours[tid], theirs[tid])


def check_kinds(sillage, trace):
    """Executions from one thread to another, and those within others, as a plain program has them."""
    found = report(sillage, trace)
    tids = collections.Counter(row['thread']['tid'] for row in found['threads'])
    who = [row['thread']['tid'] for row in found['threads'] if tids[row['thread']['tid']] == 1][0]
    wanted, begun = [], None
    for ns, name, _, text in reference.events_of(trace):
        if begun is None and name == 'timer_hrtimer_expire_entry':
            begun = ns
        elif begun is not None and name == 'sched_switch' and reference.number(text, 'next_tid') == who:
            wanted.append((begun, ns))
            begun = None
    if 'timer_hrtimer_expire_entry' in reference.declared(trace)[1]:  # else it is refused
        jobs = report(sillage, trace, '--job', 'timer_hrtimer_expire_entry; sched_in @%d' % who)['jobs']
        same('from an interrupt to %d' % who, sorted((one['begin'], one['end']) for one in jobs['longest']), wanted)
        for one in jobs['longest']:
            same('where it ends', one.get('last', one.get('thread'))['tid'], who)
    inner, outer = 'sched_waking tid=$tid; sched_in', 'sched_in; sched_out; sched_in; sched_out'

    def all_of(*args):
        return {(one['thread']['tid'], one['begin'], one['end']): one
                for one in report(sillage, trace, '--thread', str(who), '--job', *args)['jobs']['longest']}

    around = all_of(outer)
    same('within others', {one: row['within_begin'] for one, row in all_of(inner, '--within', outer).items()},
         {one: begin for one in all_of(inner) for tid, begin, end in around if begin <= one[1] and one[2] <= end})


def check_slow(jobs):
    """What the slow tenth spent in each state, from the list of all."""
    tenth = sorted(jobs['longest'], key=lambda one: (one['begin'] - one['end'], one['begin']))[:jobs.get('slow_tenth', {}).get('slow', 0)]
    for part in jobs['slow_tenth']['parts'] if tenth else ():
        if 'state' in part:
            mean = sum(spent(one, RUN if part['state'] == 'run' else (part['state'] + '_ns',)) for one in tenth) / len(tenth)
            assert abs(mean - part['slow_mean_ns']) < 0.01, (part, mean)


def check_figures(sillage, trace):
    """Of executions, from their list."""
    check_slow(report(sillage, trace, '--job', 'run-to-sleep')['jobs'])
    jobs = report(sillage, trace, '--job', 'run')['jobs']
    ns = sorted(one['end'] - one['begin'] for one in jobs['longest'])
    if not ns:
        return
    same('as many', len(ns), jobs['count'])
    middle = ns[math.ceil(len(ns) / 2) - 1]
    away = sorted(abs(one - middle) for one in ns)[len(ns) // 2]
    same('their figures', [jobs[key] for key in ('total_ns', 'min_ns', 'median_ns', 'p95_ns', 'p99_ns', 'max_ns', 'outliers')],
         [sum(ns), ns[0], middle] + [ns[math.ceil(len(ns) * share) - 1] for share in (0.95, 0.99)] +
         [ns[-1], sum(one > middle + 5 * away for one in ns)])
    check_responses(report(sillage, trace, '--job', 'run', '--every', '1ms', '--worst', '0')['jobs'])
    deviation = statistics.stdev(ns) if len(ns) > 1 else 0
    same('their deviation', math.isclose(jobs['deviation_ns'], deviation, rel_tol=1e-6, abs_tol=1e-6), True)


def check_responses(jobs):
    """Of executions with a deadline, from their list: sums, and what each has by itself."""
    executions = jobs['longest'] + jobs['open']
    same('as many', (len(jobs['longest']), len(jobs['open'])), (jobs['count'], jobs['open_count']))
    for one in executions:
        same('a response', (one['response_ns'], one['late_ns']), (one['end'] - one['arrival'], one['begin'] - one['arrival']))
        assert one['arrival'] <= one['begin'] <= one['end'], one
        same('its time', spent(one), one['end'] - one['begin'])
    same('arrivals', jobs['arrivals'], {how: sum(one['arrival_from'] == how for one in executions) for how in jobs['arrivals']})
    same('misses', jobs['misses'], sum(one['response_ns'] > jobs['deadline_ns'] for one in executions))
    same('the longest response', jobs['response_max_ns'], max([one['response_ns'] for one in executions], default=0))
    for key in ('count', 'open_count', 'total_ns', 'misses', 'skipped') + STATES:
        # Damaged time stamps make executions of centuries: sums have 64 bits.
        same('%s of all threads' % key, jobs.get(key, 0), sum(row.get(key, 0) for row in jobs['threads']) % 2 ** 64)


def printed(sillage, trace, threads, *args):
    return subprocess.run([sillage, 'report', '-f', 'json', '-j', str(threads), *args, trace], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE)


def check_threads(sillage, trace, alone, *args):
    """However many threads decode, the report and what it says of the trace are the same."""
    for threads in (2, 5):
        other = printed(sillage, trace, threads, *args)
        same('by %d threads' % threads, (other.returncode, other.stdout, other.stderr),
             (alone.returncode, alone.stdout, alone.stderr))


def check_damaged(sillage, trace, seed):
    """Bytes of it are others: it says what it cannot read, and does what it can."""
    rng = random.Random(seed)
    with tempfile.TemporaryDirectory(prefix='sillage-deep-') as scratch:
        broken = os.path.join(scratch, 'kernel')
        shutil.copytree(trace, broken, ignore=shutil.ignore_patterns('index'))
        for name in sorted(os.listdir(broken)):
            if name != 'metadata':
                with open(os.path.join(broken, name), 'r+b') as file:
                    data = bytearray(file.read())
                    for _ in range(rng.choice((1, 10, 300))):
                        data[rng.randrange(len(data))] = rng.randrange(256)
                    file.seek(0)
                    file.write(data)
        done = printed(sillage, broken, 0)
        check_threads(sillage, broken, done)
        assert json.loads(done.stdout.decode())['gaps'] > 0 or b'stream' not in done.stderr, done.stderr
        same('its exit status (%s)' % done.stderr.decode(errors='replace')[-300:], done.returncode, 0)
        found = json.loads(done.stdout.decode())
        for row in found['threads']:
            same('the life of %r' % row['thread'], spent(row), row['end'] - row['begin'])
        if 'path' in found:
            check_path(found['path'])
        check_responses(report(sillage, broken, '-q', '--job', 'sched_waking tid=$tid; sched_in', '--deadline', '50us')['jobs'])


def check_published(sillage, trace):
    row = [row for row in report(sillage, trace)['threads'] if row['thread']['tid'] == 2673][0]
    same('the life of 2673', spent(row), 406508831)
    same('its states', [row['new_ns'], spent(row, RUN), row['preempted_ns'], row['blocked_ns'], row['wait_ns']],
         [16587, 128483092, 343620, 265053011, 12612521])
    found = report(sillage, trace, '--thread', '2673')
    path = found['path']
    check_path(path)
    same('path', [path['segment_count'], path['thread_count'], path['end'] - path['begin']], [16832, 5469, 406508831])
    same('its states', [sum(part.get(key, 0) for part in path['parts'])
                        for key in ('user_ns', 'wait_ns', 'preempted_ns', 'new_ns')],
         [388348627, 12993193, 4028292, 1138719])
    same('its own', path['parts'][0]['user_ns'], 128483092)
    same('who had its CPU', [[rival['thread']['tid'], rival['total_ns'], rival['longest_ns'], rival['times']]
                             for rival in found['rivals'][:3]],
         [[1382, 1818642, 416884, 8], [4298, 257346, 114681, 7], [29, 219397, 73431, 7]])
    same('inversions', found['inversions'], [])
    jobs = report(sillage, trace, '--thread', '2673', '--job', 'syscall_entry_clone; syscall_exit_clone')['jobs']
    same('clones', [jobs[key] for key in ('count', 'total_ns', 'min_ns', 'max_ns')], [8000, 27495061, 1787, 130644])
    same('their states', [spent(jobs, RUN), jobs['preempted_ns']], [27356625, 138436])
    jobs = report(sillage, trace, '--thread', '1382', '--job',
                  'sched_waking tid=$tid; sched_switch next_tid=$tid; sched_switch prev_tid=$tid,prev_state&255=1')['jobs']
    same('wake to sleep', [jobs[key] for key in ('count', 'total_ns', 'min_ns', 'max_ns')], [24, 7008048, 10361, 470512])
    same('their states', [spent(jobs, RUN), jobs['wait_ns'], jobs['preempted_ns']], [6903202, 77458, 27388])


def main():
    sillage, traces, only_truth, public = sys.argv[1], sys.argv[2:], [], None
    if '--public' in traces:
        at = traces.index('--public')
        traces, public = traces[:at], traces[at + 1]
    if '--truth' in traces:
        at = traces.index('--truth')
        traces, only_truth = traces[:at], traces[at + 1:]
    checked = cycles = 0
    for trace in traces + only_truth:
        try:
            cycles += check_workload(sillage, trace)
            checked += 1
            if trace in only_truth:
                continue
            check_laws(sillage, trace)
            check_most(sillage, trace)
            if report(sillage, trace)['events'] < 300000:  # as many as babeltrace2 prints in a moment
                check_kinds(sillage, trace)
            check_figures(sillage, trace)
            for seed in range(3):
                check_damaged(sillage, trace, '%s %d' % (os.path.basename(os.path.dirname(trace)), seed))
        except AssertionError as failure:
            print('not ok deep: %s: %s' % (trace, failure))
            return 1
    if public:
        check_published(sillage, os.path.join(public, 'many-threads'))
    print('ok deep: %d traces, %d cycles and jobs of real-time threads%s' % (
        checked, cycles, ', the published figures' if public else ''))
    return 0


if __name__ == '__main__':
    resource.setrlimit(resource.RLIMIT_CPU, (600, 600))  # of each run: a loop without end is seen, whatever the load
    sys.exit(main())
