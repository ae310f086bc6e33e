#!/usr/bin/env python3
"""jobs: the rolling analysis of executions against what reports say of the same ones, and against recorded truth.

Goal    `analyze -a jobs` and `report --job` find executions in two ways: thread by thread in shards, and event by event
        in one order of time with a timeline.  They must have the same ones: counts, durations, parts, responses,
        misses, what is open and what was cut.
Method  Models and patterns, with and without a deadline and a period, over recorded traces.  The figures of the
        report are those of its list of all executions, added up here.  Of the traces of periodic jobs, the workload's
        own record says how many missed their deadline.

        A made-up loop that catches up misses what a plain program of it counts, with `fixed`.

        What the slow tenth of the executions had more of than the rest is added up again from the events that
        babeltrace2 prints.

usage: jobs.py SILLAGE TRACE...
"""
import collections
import json
import math
import os
import random
import struct
import subprocess
import sys
import tempfile

import files
import models
import reference
import synthetic

JOBS = (
    ('periodic', ('3ms', None)),
    ('periodic', ('3ms', '5ms')),
    ('timerfd', ('2ms', None)),
    ('signal', ('2ms', None)),
    ('mq', ('2ms', None)),
    ('run', (None, None)),
    ('run-to-sleep', (None, '4ms')),
    ('run-to-sleep', (None, '4ms fixed')),
    ('syscall_entry_*; syscall_exit_*', ('2ms', '1ms fixed')),
    ('wake-to-sleep', ('1ms', None)),
    ('sleep', ('50ms', None)),
    ('syscall_entry_*; syscall_exit_*', ('100us', None)),
    ('syscall_exit_*; syscall_exit_*', (None, None)),
    ('sched_switch; sched_switch', (None, None)),
    ('sched_switch prev_tid=$tid; sched_waking tid=$tid; sched_switch next_tid=$tid', ('1ms', None)),
    ('sched_waking tid=$tid, target_cpu=0; sched_in; sched_out', (None, '1s')),
    # Over threads.
    ('sched_switch; sched_waking; by global', ('1ms', None)),
    ('sched_waking; sched_switch; by tid=next_tid', ('50us', None)),
    ('sched_waking tid=$tid; sched_in; by $tid, $cpu', ('50us', None)),
    ('sched_waking; sched_in @[a-j]*|rcu_*|1*'.replace('[a-j]*', '"[a-j]*"'), ('1ms', None)),
    ('sched_switch @"[a-m]*"; sched_switch @"[n-z]*"', (None, '2ms')),
    ('irq_handler_entry; sched_in @"[a-z]*"', ('100us', None)),
    ('sched_waking tid=$tid @"[a-m]*"; sched_waking tid=$tid @"[a-m]*"; by prio', (None, None)),
)
# (what executes, its deadline and period, in what): of one thread, and over threads.
WITHIN = (
    ('run', ('1ms', None), 'wake-to-sleep'),
    ('run', (None, '5ms'), 'run-to-sleep'),
    ('sched_waking; sched_switch; by tid=next_tid', ('50us', None), 'run'),
    ('run', ('100us', None), 'sched_waking; sched_switch; by tid=next_tid'),
    ('sched_waking; sched_waking; by global', (None, None), 'wake-to-sleep'),
)
PARTS = {'running': ('user_ns', 'syscall_ns', 'irq_ns', 'softirq_ns'), 'preempted': ('preempted_ns',),
         'waiting': ('wait_ns', 'new_ns'), 'blocked': ('blocked_ns',), 'unknown': ('unknown_ns',)}
SHOWN = 10  # differences of a trace


def run(command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True)
    if done.returncode not in (0, 1):
        raise SystemExit('%s: exit %d: %s' % (' '.join(command), done.returncode, done.stderr))
    return done.stdout, done.stderr


def rolling(sillage, trace, specs, more=()):
    """The total of `analyze -a jobs`, by its name of each job."""
    asked = [word for spec in specs for word in ('--job', spec)]
    out, err = run([sillage, 'analyze', '-q', '-f', 'json', '-a', 'jobs'] + asked + list(more) + [trace])
    lines = [json.loads(line) for line in out.splitlines()]
    totals = [line for line in lines if line['type'] == 'total']
    return (totals[0] if totals else None), err


def ns(text):
    text = text.replace(' fixed', '')
    for unit, factor in (('us', 10**3), ('ms', 10**6), ('s', 10**9)):
        if text.endswith(unit) and text[:-len(unit)].isdigit():
            return int(text[:-len(unit)]) * factor
    raise ValueError(text)


def split(spec):
    """The name, the pattern, and the clauses of what --job takes."""
    name, text = spec.split(' = ', 1)
    parts = [part.strip() for part in text.split(';')]
    words = 'deadline ', 'every ', 'within '
    clauses = dict(part.split(' ', 1) for part in parts if part.startswith(words))
    return name, '; '.join(part for part in parts if not part.startswith(words)), clauses


def reported(sillage, trace, pattern, deadline, every, within=None):
    asked = [word for name, value in (('--deadline', deadline), ('--within', within)) if value for word in (name, value)]
    if every and 'fixed' in every:
        pattern += '; every ' + every
    elif every:
        asked += ['--every', every]
    out, _ = run([sillage, 'report', '-q', '-f', 'json', '-n', '0', '--worst', '0', '--job', pattern] + asked + [trace])
    report = json.loads(out) if out else {}
    if 'jobs' in report:
        called = collections.Counter(name_of(row) for row in report['threads'])
        report['jobs']['has_namesakes'] = max(called.values(), default=0) > 1
    return report.get('jobs')


def name_of(row):
    """What tells threads apart in a list of a report; two that had a tid one after the other may be called the same."""
    return tuple(sorted((key, str(value)) for key, value in row['thread'].items()))


def skipped_of(ended, period):
    """With a period: the arrivals between those of successive executions of a thread."""
    skipped, before = 0, {}
    for one in sorted(ended, key=lambda one: one['begin']):
        thread = name_of(one)
        if thread in before and one['arrival'] > before[thread]:
            skipped += max(0, (one['arrival'] - before[thread] + period // 2) // period - 1)
        before[thread] = one['arrival']
    return skipped


def periods_of(jobs, period):
    """Between begins of a thread, also of what did not end; of those that ended, and how far they are from `every`, else
    from the one before."""
    begins, periods, jitters = collections.defaultdict(list), [], []
    for one in jobs['longest'] + jobs['open']:
        thread = None if 'dropped' in jobs else name_of(one)
        begins[thread].append((one['begin'], one in jobs['longest']))
    for at in begins.values():
        at.sort(key=lambda one: one[0])
        found = [after[0] - before[0] for before, after in zip(at, at[1:])]
        for i, (value, (_, has_ended)) in enumerate(zip(found, at[1:])):
            periods += [value] if has_ended else []
            jitters += [abs(value - (period or found[i - 1]))] if has_ended and (period or i > 0) else []
    return periods, jitters


def is_cut(total):
    lost = total.get('count', {})
    return any((total['jobs']['cut'], lost.get('discarded'), lost.get('lost_packets'), lost.get('bad_packets')))


def goes_over(pattern):
    return '@' in pattern or '; by ' in pattern


def figures_of_report(jobs, period, is_cut, has_order=True):
    """@has_order: which execution began before another one is known."""
    ended = jobs['longest']
    # Without a period or a deadline nothing is said of arrivals, which are there all the same.
    figures = {'ended': len(ended), 'duration sum': sum(one['end'] - one['begin'] for one in ended),
               'duration max': max((one['end'] - one['begin'] for one in ended), default=None),
               'duration min': min((one['end'] - one['begin'] for one in ended), default=None),
               'open': jobs['open_count'], 'abandoned': jobs.get('abandoned', 0), 'cut': jobs['cut'], 'overlapped': jobs['overlapped'], 'misses': jobs.get('misses', 0)}
    goes_over = 'dropped' in jobs  # over threads: what is of one thread is not known
    if goes_over:
        figures['dropped'] = jobs['dropped']
    # What was cut, or begun again, is in no list of the report, but the next one comes after it.
    is_told_apart = goes_over or not jobs['has_namesakes']
    if has_order and is_told_apart and not is_cut and not (goes_over and (jobs['overlapped'] or jobs['dropped'])):
        for key, values in zip(('period', 'period_jitter'), periods_of(jobs, period)):
            figures[key + ' count'], figures[key + ' sum'] = len(values), sum(values)
            figures[key + ' max'] = max(values, default=None)
    for part, states in PARTS.items():
        figures[part] = sum(jobs.get(state, 0) for state in states if not goes_over)
    if ended and all('response_ns' in one for one in ended):
        figures['response sum'] = sum(one['response_ns'] for one in ended)
        figures['response max'] = max(one['response_ns'] for one in ended)
        figures['late max'] = max(one['late_ns'] for one in ended)
        figures['late sum'] = sum(one['late_ns'] for one in ended)
        if period and is_told_apart:
            figures['skipped'] = skipped_of(ended, period)
        elif not period and not figures['open']:
            figures['skipped'] = jobs['skipped']
    return figures


def figures_of_rolling(jobs, name):
    job = [row for row in jobs['jobs'] if row['name'] == name]
    parts = [row for row in jobs['parts'] if row['name'] == name]
    job = job[0] if job else {}
    parts = parts[0] if parts else {}

    def spread(row, key, figure):
        value = row.get(key) or {}
        return value.get(figure) if value.get('count') else None

    figures = {'ended': (job.get('duration') or {}).get('count', 0), 'cut': job.get('cut', 0), 'overlapped': job.get('overlapped', 0),
               'open': job.get('open', 0) + job.get('abandoned', 0), 'abandoned': job.get('abandoned', 0), 'dropped': job.get('dropped', 0),
               'misses': (job.get('misses') or 0) + (job.get('open_misses') or 0)}  # null: no deadline
    if job.get('skipped') is not None:  # null: the trace has no expiries of timers
        figures['skipped'] = job['skipped']
    for key, column, figure in (('duration sum', 'duration', 'sum_ns'), ('duration max', 'duration', 'max_ns'),
                                ('duration min', 'duration', 'min_ns'), ('response sum', 'response', 'sum_ns'),
                                ('response max', 'response', 'max_ns'), ('late sum', 'late', 'sum_ns'),
                                ('late max', 'late', 'max_ns'),
                                *(('%s %s' % (key, part), key, part if part == 'count' else part + '_ns')
                                  for key in ('period', 'period_jitter') for part in ('count', 'sum', 'max'))):
        value = spread(job, column, figure)
        figures[key] = 0 if value is None and figure in ('sum_ns', 'count') else value
    for part in PARTS:
        figures[part] = spread(parts, part, 'sum_ns') or 0
    return figures


def compare(sillage, trace):
    """Each job in a report, and all together in the rolling analysis."""
    all_jobs = [(pattern, times, None) for pattern, times in JOBS] + list(WITHIN)
    specs = [['a%d = %s' % (i, around)] * (around is not None) +
             ['j%d = %s%s%s%s' % (i, pattern, '; deadline ' + deadline if deadline else '', '; every ' + every if every else '',
                                  '; within a%d' % i if around else '')]
             for i, (pattern, (deadline, every), around) in enumerate(all_jobs)]
    known, faults, compared = [], [], 0
    for i, spec in enumerate(specs):
        alone, err = rolling(sillage, trace, spec)
        if alone is None:
            if 'not in' not in err and 'no event' not in err:
                faults.append('%s: %s: %s' % (trace, spec, err.strip()))
            continue
        known.append(i)
    if not known:
        return faults, 0
    total, _ = rolling(sillage, trace, [word for i in known for word in specs[i]])
    for i in known:
        pattern, (deadline, every), around = all_jobs[i]
        jobs = reported(sillage, trace, pattern, deadline, every, around)
        if jobs is None:
            continue
        if every and 'fixed' not in every and any(one.get('arrival_from') == 'period' for one in jobs['longest'] + jobs['open']):
            continue  # the grid of a report is that of all executions: see doc/definitions.md
        wanted = figures_of_report(jobs, ns(every) if every else 0, is_cut(total),
                                   not around or not goes_over(pattern + around))
        found = figures_of_rolling(total['jobs'], 'j%d' % i)
        if around:  # both levels: each lies in one of those around, which are a job, too
            all_around = figures_of_rolling(total['jobs'], 'a%d' % i)
            wanted['around'], found['around'] = len(jobs['outer']), all_around['ended'] + all_around['open']
            wanted['in them'], found['in them'] = sum(one['count'] for one in jobs['outer']), found['ended'] + found['open']
        compared += wanted['ended'] > 0
        faults += ['%s: %s: %s is %s, not %s' % (trace, specs[i], key, found.get(key), value)
                   for key, value in sorted(wanted.items())
                   if found.get(key) != value and not (key == 'skipped' and key not in found)]
    return faults, compared


class Plain:
    """What each thread did, as a list of (begin, state, CPU or call); and who ran on each CPU."""

    def __init__(self, trace):
        self.did, self.ran = collections.defaultdict(list), collections.defaultdict(list)
        self.call, self.pending, events = {}, {}, list(reference.events_of(trace))
        names = {name for _, name, _, _ in events}
        source = [name for name in ('sched_ttwu', 'sched_waking', 'sched_wakeup') if name in names][0]
        running = {}
        for _, name, cpu, text in events:
            if name == 'sched_switch':
                running.setdefault(cpu, files.number(text, 'prev_tid'))
        for cpu, tid in running.items():
            self.did[tid].append((0, 'run', cpu))
            self.ran[cpu].append((0, tid))
        for ts, name, cpu, text in events:
            tid = running.get(cpu)
            if name == 'sched_switch':
                self.leave(ts, cpu, files.number(text, 'prev_tid'), files.number(text, 'prev_state'))
                running[cpu] = tid = files.number(text, 'next_tid')
                self.did[tid].append((ts, 'run', cpu))
                self.ran[cpu].append((ts, tid))
                self.pending.pop(tid, None)
            elif name == source:
                self.wake(ts, tid, files.number(text, 'tid'), files.number(text, 'target_cpu'))
            elif name == 'sched_wakeup':
                self.pending.pop(files.number(text, 'tid'), None)
            elif name == 'sched_migrate_task':
                moved = files.number(text, 'tid')
                if self.did[moved] and self.did[moved][-1][1] in ('wait', 'preempted'):
                    self.did[moved].append((ts, self.did[moved][-1][1], files.number(text, 'dest_cpu')))
            elif name.startswith('syscall_entry_'):
                self.call[tid] = name[len('syscall_entry_'):]
            elif name.startswith('syscall_exit_'):
                self.call.pop(tid, None)

    def leave(self, ts, cpu, tid, state):
        if state in (0, 256):
            self.did[tid].append((ts, 'preempted', cpu))
        elif tid in self.pending:
            self.did[tid].append((ts, 'wait', self.pending[tid]))
        else:
            self.did[tid].append((ts, 'blocked', self.call.get(tid, '')))
        self.pending.pop(tid, None)

    def wake(self, ts, runs, tid, target):
        if not self.did[tid] or self.did[tid][-1][1] == 'blocked':
            self.did[tid].append((ts, 'wait', target))
        elif self.did[tid][-1][1] == 'run' and runs != tid:
            self.pending[tid] = target

    def parts(self, tid, begin, end):
        """The time of each part of an execution: by (state, name), ('rival', tid) and ('call', name)."""
        parts, did = collections.Counter(), self.did[tid]
        for i, (since, state, where) in enumerate(did):
            until = did[i + 1][0] if i + 1 < len(did) else end
            since, until = max(since, begin), min(until, end)
            if since >= until:
                continue
            parts['state', state] += until - since
            if state == 'blocked':
                parts['call', where] += until - since
            elif state != 'run':
                ran = self.ran[where]
                for k, (at, other) in enumerate(ran):
                    over = min(until, ran[k + 1][0] if k + 1 < len(ran) else until) - max(since, at)
                    if over > 0 and other:
                        parts['rival', other] += over
        return parts


def slow_tenth(plain, ended):
    """The parts that the slow tenth has more of: their means, there and in the rest."""
    ended = sorted(ended, key=lambda one: (one['begin'] - one['end'], one['begin']))
    tenth, sums = math.ceil(len(ended) / 10), (collections.Counter(), collections.Counter())
    for i, one in enumerate(ended):
        sums[i >= tenth].update(plain.parts(one['thread']['tid'], one['begin'], one['end']))
    means = {part: (sums[0][part] / tenth, sums[1][part] / (len(ended) - tenth)) for part in sums[0] + sums[1]}
    return {part: both for part, both in means.items() if both[0] > both[1]}


def check_slow(sillage, trace, pattern, who):
    """Faults of `slow_tenth`, of one thread's executions."""
    out, _ = run([sillage, 'report', '-q', '-f', 'json', '-n', '0', '--worst', '1', '--job', pattern, '--thread', who, trace])
    jobs = json.loads(out)['jobs']
    if 'slow_tenth' not in jobs:
        return ['%s: %s: no slow tenth of %d executions' % (trace, pattern, jobs['count'])]
    wanted, found = slow_tenth(Plain(trace), jobs['longest']), {}
    for part in jobs['slow_tenth']['parts']:
        key = (('state', part['state']) if 'state' in part else ('rival', part['rival']['tid']) if 'rival' in part
               else ('call', part['call']))
        found[key] = part['slow_mean_ns'], part['rest_mean_ns']
    more = [part['more_ns'] for part in jobs['slow_tenth']['parts']]
    faults = [] if more == sorted(more, reverse=True) and more[0] > 0 else ['not the largest first']
    faults += ['%s is %s, not %s' % (part, found.get(part), wanted.get(part)) for part in sorted(set(found) | set(wanted), key=str)
               if part not in found or part not in wanted
               or any(abs(ours - theirs) > 0.01 for ours, theirs in zip(found[part], wanted[part]))]
    return ['%s: slow tenth of %s: %s' % (trace, pattern, fault) for fault in faults]


def check_text(sillage, trace, spec):
    """Faults of the tables in text: times have units, and each part is there with its mean."""
    words = ['analyze', '-q', '-n', '0', '-a', 'jobs', '--job', spec, trace]
    lines = subprocess.run([sillage, *words], stdout=subprocess.PIPE, check=True).stdout.decode().split('\n')
    worst = lines[next(i for i, line in enumerate(lines) if 'WORST EXECUTIONS' in line) + 1].split()
    head = next(i for i, line in enumerate(lines) if 'MEAN PARTS' in line)
    units, parts = ('ns', 'us', 'ms', 's'), lines[head].split()[4:]
    faults = [] if [word in units for word in worst[2:7:2]] == [True] * 3 else ['no units in %s' % worst]
    if parts != ['RUNNING', 'PREEMPTED', 'WAITING', 'BLOCKED', 'UNKNOWN'] or len(lines[head + 1].split()) != 1 + 2 * len(parts):
        faults.append('%s: %s' % (lines[head], lines[head + 1]))
    return ['%s: text: %s' % (trace, fault) for fault in faults]


def check_truth(sillage, trace):
    """Whether each job that the workload says missed its deadline is a miss here, and no other of its thread."""
    with open(os.path.join(os.path.dirname(trace), 'truth.json')) as file:
        workload = json.load(file)['workload']
    model = {'nanosleep': 'periodic', 'timerfd': 'timerfd', 'signal': 'signal'}[workload['timer']]
    missed = sum(job['deadline_missed'] for job in workload['jobs'])
    spec = 'job = %s; deadline %dus' % (model, workload['period_us'])
    tid = workload['threads'][0]['tid']
    total, _ = rolling(sillage, trace, [spec], ['--tid', str(tid)])
    found = total['jobs']['misses'] + total['jobs']['open_misses']  # the last one ends with its thread
    faults = [] if found == missed else ['%s: %d misses of %s, not %d' % (trace, found, spec, missed)]
    return faults + check_slow(sillage, trace, model, str(tid)) + check_text(sillage, trace, spec)


LOOP_NS = 5 * 10**6


def loop_of(seed, count=2000):
    """[(its point of the grid, begin, end)] of a loop of LOOP_NS that catches up when it was late, as with TIMER_ABSTIME."""
    rng, free, loops = random.Random(seed), 0, []
    for i in range(count):
        point = 10**9 + i * LOOP_NS
        work = LOOP_NS * rng.choice((2, 3, 5)) + rng.randrange(LOOP_NS) if rng.random() < .02 else rng.randrange(LOOP_NS // 4, LOOP_NS // 2)
        late = rng.randrange(LOOP_NS * 2) if i and rng.random() < .02 else 0  # it did not get its CPU
        begin = max(point, free + rng.randrange(LOOP_NS // 3)) + late + (rng.randrange(20000) if i else 0)
        free = begin + work
        loops.append((point, begin, free))
    return loops


def wanted_of(loops):
    """What a plain program counts: (loops, misses, misses in a row, the longest response)."""
    missed, run, most = [end - point > LOOP_NS for point, _, end in loops], 0, 0
    for one in missed:
        run = run + 1 if one else 0
        most = max(most, run)
    return len(loops), sum(missed), most, max(end - point for point, _, end in loops)


def check_fixed(sillage, seed):
    """Faults of a loop that catches up: each is measured against its own point, whatever the cut; lost ones take their points."""
    faults, loops, events = [], loop_of(seed), {'c:begin': (), 'c:end': ()}
    data = [(ts, struct.pack('<HQii', i, ts, 100, 100)) for _, begin, end in loops for i, ts in ((0, begin), (1, end))]
    # A packet of whole loops is lost: the next one begins in the last tenth of the longest time without one that is late.
    third = len(data) // 3
    cut = next(i for i in range(third // 2 * 2, len(data), 2) if all(end - point < LOOP_NS for point, _, end in loops[i // 2 - 3:i // 2 + 5]))
    with tempfile.TemporaryDirectory(prefix='sillage-fixed-') as scratch:
        def made(name, pieces):
            packets = b''.join(synthetic.packet(0, seq, piece[0][0], piece[-1][0], [one for _, one in piece])
                               for seq, piece in pieces)
            return synthetic.Made(scratch, name, [packets], models.made_metadata(events)).path
        whole, lossy = made('whole', [(0, data)]), made('lossy', [(0, data[:cut - 6]), (2, data[cut:])])
        kept = loops[:cut // 2 - 3] + loops[cut // 2:]
        for trace, wanted in ((whole, wanted_of(loops)), (lossy, wanted_of(kept))):
            for more in ([], ['--chunk-size', '500', '-j', '2'], ['-i', '17ms']):
                total, err = rolling(sillage, trace, ['loop = c:begin; c:end; every %dus fixed' % (LOOP_NS // 1000)], more)
                row = total['jobs']['jobs'][0]
                found = row['duration']['count'], row['misses'], row['misses_run'], row['response']['max_ns']
                if found != wanted:
                    faults.append('%s %s: %s, not %s %s' % (trace, more, found, wanted, err))
        plain, _ = rolling(sillage, whole, ['loop = c:begin; c:end; every 5ms'])
        if plain['jobs']['jobs'][0]['misses'] >= wanted_of(loops)[1]:
            faults.append('without fixed there are as many misses: the case shows nothing')
    return ['loop %d: %s' % (seed, fault) for fault in faults]


def main():
    sillage, traces = sys.argv[1], sys.argv[2:]
    faults, compared, truths = check_fixed(sillage, 1) + check_fixed(sillage, 2), 0, 0
    for trace in traces:
        found, count = compare(sillage, trace)
        faults += found[:SHOWN]
        compared += count
        truth = os.path.join(os.path.dirname(trace), 'truth.json')
        if os.path.exists(truth) and 'timer-jobs' in trace:
            faults += check_truth(sillage, trace)
            truths += 1
    for fault in faults:
        print('jobs:', fault)
    if not faults:
        print('jobs: %d jobs in %d traces: as in reports; %d as recorded' % (compared, len(traces), truths))
    return 1 if faults or not compared else 0


if __name__ == '__main__':
    sys.exit(main())
