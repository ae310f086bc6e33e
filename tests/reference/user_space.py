#!/usr/bin/env python3
"""user_space: jobs of user programs, what the traces of one session have together, and other tracers, on traces that
are made here.

Goal    - Executions that overlap or recurse are counted, in jobs and in reports.
        - With `every` an execution arrives where the program was released, although no event says so: the misses are
          those that the program itself knows.  Each arrival is as definitions.md (4.13) has it.
        - What kernel/ records is not missing in ust/ beside it, whichever of them is analysed, in one process or
          through files; --strict passes jobs of user space.
        - Keys that are equal in two processes, and agree in none, are told of.
        - Nothing advises `lttng` for a trace that another tracer wrote.

usage: user_space.py SILLAGE
"""
import collections
import json
import os
import random
import sys
import tempfile

import models
import synthetic

EVENTS = {'app:begin': (('u64', 'id'),), 'app:end': (('u64', 'id'),), 'app:other': ()}
JOB = 'job = app:begin; app:end'
MS = 10 ** 6
PERIOD = 5 * MS


def made(scratch, name, events, text=None):
    """A trace of (ts, tid, name): ids do not matter."""
    os.makedirs(os.path.dirname(os.path.join(scratch, name)), exist_ok=True)
    bodies = [models.made_event(ts, 10, tid, what, *([ts] if what != 'app:other' else []), events=EVENTS)[1] for ts, tid, what in events]
    stream = synthetic.packet(0, 0, events[0][0], events[-1][0] + 1, bodies)
    return synthetic.Made(scratch, name, [stream], text or models.made_metadata(EVENTS))


def check(condition, *what):
    if not condition:
        raise SystemExit('not ok user_space: ' + ' '.join(map(str, what)))


def same(found, wanted, *what):
    check(found == wanted, *what, found, 'is not', wanted)


# ---- overlapping ----

def check_overlaps(scratch):
    rng = random.Random(4)
    events, ts = [], 10 ** 9
    for _ in range(4000):
        ts += rng.randrange(1, 50000)
        events.append((ts, rng.choice((10, 11)), rng.choice(('app:begin', 'app:end', 'app:end', 'app:other'))))
    trace = made(scratch, 'overlaps', events)
    for pattern, steps in (('app:begin; app:end', ('app:begin', 'app:end')), ('app:begin; app:begin; app:end', ('app:begin', 'app:begin', 'app:end')),
                           ('app:begin; app:*; app:end', ('app:begin', 'app:', 'app:end'))):
        counts, at = collections.Counter(), collections.Counter()
        for _, tid, what in events:
            if what.startswith(steps[at[tid]]):
                at[tid] = (at[tid] + 1) % len(steps)
                counts['ended'] += at[tid] == 0
            else:
                counts['overlapped'] += at[tid] > 0 and what == steps[0]
        for more in ([], ['-i', '1ms'], ['--chunk-size', '4096']):
            jobs = synthetic.total_of(trace, '-a', 'jobs', '--job', 'x = ' + pattern, *more)['jobs']
            same((jobs['ended'], jobs['overlapped']), (counts['ended'], counts['overlapped']), pattern, more)
            same(jobs['jobs'][0]['overlapped'], counts['overlapped'], pattern, 'of the job')
    print('# overlapping: as a plain program has them')


# ---- periods ----

def arrivals_of(jobs):
    """definitions.md, 6.2: on the grid that most begins are on so far, the earliest of them; without sleep since the
    execution before, the first point behind the arrival of that."""
    grid, votes, before, ended = None, 0, None, None
    for _, begin, end in jobs:
        late = (begin - grid) % PERIOD if votes else 0
        is_early = late >= PERIOD - PERIOD // 8
        if before is not None and begin - ended <= PERIOD // 8 and before + PERIOD <= begin:
            late = begin - before - PERIOD
        else:
            agrees = is_early or late <= PERIOD // 8
            if votes == 0 or is_early:
                grid, late = begin, 0
            votes += 1 if agrees else -1
            if votes == 0:
                grid, votes, late = begin, 1, 0
        before, ended = begin - late, end
        yield before


def loop(rng, first_late):
    """A loop that is released each period: (release, begin, end); an overrun delays those behind it."""
    free, jobs = 0, []
    for i in range(600):
        release = 10 ** 9 + i * PERIOD
        begin = max(free, release + (first_late if i == 0 else rng.randrange(20000, 150000)))
        work = rng.randrange(6 * MS, 22 * MS) if rng.random() < 0.02 else rng.randrange(MS // 2, MS)
        free = begin + work + 1000
        jobs.append((release, begin, begin + work))
    return jobs


def check_periods(scratch):
    for seed, first_late in enumerate((100000, 2 * MS, 3 * MS, int(4.5 * MS))):
        jobs = loop(random.Random(seed), first_late)
        events = [one for _, begin, end in jobs for one in ((begin, 11, 'app:begin'), (end, 11, 'app:end'))]
        trace = made(scratch, 'loop-%d' % seed, events)
        asked = ('-a', 'jobs', '--job', JOB + '; every 5ms')
        found = synthetic.total_of(trace, *asked)['jobs']
        arrivals = list(arrivals_of(jobs))
        wanted = [end - arrival for arrival, (_, _, end) in zip(arrivals, jobs)]
        row = found['jobs'][0]
        same((row['response']['sum_ns'], row['response']['max_ns']), (sum(wanted), max(wanted)), 'responses', seed)
        same(row['misses'], sum(one > PERIOD for one in wanted), 'misses', seed)
        same((found['unarrived'], found['overlapped']), (0, 0), 'of', seed)
        # The program's own: its misses but those that the jitter of its start, 130 us, may decide.  When the first one
        # was released nothing tells.
        sure = [sum(end - release > PERIOD + slack for release, _, end in some) for slack, some in ((200000, jobs[1:]), (-200000, jobs))]
        check(sure[0] <= row['misses'] <= sure[1], 'misses', row['misses'], 'the program has', sure)
        check(sure[0] > sum(end - begin > PERIOD for _, begin, end in jobs), 'a test without late begins')
        windows = [line['jobs'] for line in synthetic.lines_of(trace, '-i', '7ms', *asked) if line['type'] == 'window']
        same(sum(window['misses'] for window in windows), row['misses'], 'windows')
    print('# periods: responses and misses, by the grid and by the program')


# ---- the traces of a session ----

def missing_in(line):
    return [(name, one['event']) for name, of in line.items() if isinstance(of, dict) for one in of.get('missing', [])]


def totals(text):
    return [line for line in map(json.loads, text.splitlines()) if line['type'] == 'total']


def check_session(scratch):
    user = made(scratch, 'session/ust', [(10 ** 9 + i * MS, 11, ('app:begin', 'app:end')[i % 2]) for i in range(100)]).path
    os.makedirs(os.path.join(scratch, 'session'), exist_ok=True)
    switches = [synthetic.switch(10 ** 9 + i * MS, i % 2 * 11, (1 - i % 2) * 11) for i in range(100)]
    kernel = synthetic.Made(scratch, 'session/kernel', [synthetic.packet(0, 0, 10 ** 9, 2 * 10 ** 9, switches)]).path
    asked = ['-q', '-f', 'json', '-a', 'cpu,ust,jobs', '--job', JOB]
    whole = synthetic.run('analyze', *asked, os.path.join(scratch, 'session'))
    # Of both as one, since the job is of the program's events (definitions 5.1): each has what it is about.
    (total,) = totals(whole[1])
    same([missing_in(total), total['cpu']['busy_ns'] is None, len(total['ust']['processes'])], [[], False, 1], 'both')
    for one, is_user in ((user, True), (kernel, False)):
        total = totals(synthetic.run('analyze', *asked[:3], '-a', 'cpu,ust', one)[1])[0]
        same(missing_in(total), [], 'one of both')
        same([total['cpu']['busy_ns'] is None, total['ust']['processes'] == []], [is_user, not is_user], 'known in', one)
    text = synthetic.run('analyze', '-q', '-a', 'cpu,ust,jobs', '--job', JOB, os.path.join(scratch, 'session'))[1]
    check('not recorded' not in text, text)
    said = synthetic.run('analyze', '-q', '-a', 'calls', os.path.join(scratch, 'session'))[1]
    same([said.count('not of this trace, which has no such events: calls'), said.count('\ncalls  calls ')], [1, 1], said)
    at = synthetic.run('report', '-q', '--at', '@1.05', kernel)[1]
    check(at.splitlines()[0].endswith('at %s' % at.split()[2]) and 'events/s' not in at and 'state  running' in at, at)
    same([synthetic.run('report', '--at', wrong, kernel)[0] for wrong in ('noon', '12', '1:2:3:4')][::2], [2, 2], '--at, in a wrong form')
    file = os.path.join(scratch, 'partials')
    same(synthetic.run('map', '-q', '-a', 'cpu,ust,jobs', '--job', JOB, '-o', file, os.path.join(scratch, 'session'))[0], 0, 'map')
    merged = synthetic.run('merge', '-q', '-f', 'json', file)[1]
    same([missing_in(total) for total in totals(merged)], [[], []], 'merged')
    same(synthetic.run('analyze', '--strict', '-q', '-o', '/dev/null', '-a', 'cpu,ust,jobs', '--job', JOB, user)[0], 0, '--strict, one of both')
    same(synthetic.run('report', '-q', user)[2].count('beside it'), 1, 'report')
    alone = made(scratch, 'alone', [(10 ** 9 + i * MS, 11, ('app:begin', 'app:end')[i % 2]) for i in range(100)]).path
    same(synthetic.run('analyze', '--strict', '-q', '-o', '/dev/null', '-a', 'jobs', '--job', JOB, alone)[0], 0, '--strict of jobs')
    same(synthetic.run('analyze', '--strict', '-q', '-o', '/dev/null', '-a', 'cpu', alone)[0], 4, '--strict of cpu')
    print('# sessions: nothing that the trace beside it records is missing')


# ---- other tracers ----

def check_tracers(scratch):
    for number, (env, name) in enumerate((('domain = "bare"; tracer_name = "barectf";', 'barectf'), ('', 'its tracer'),
                                          ('domain = "kernel"; tracer_name = "perf";', 'perf'), ('tracer_name = "lttng-ust";', None))):
        before, rest = models.made_metadata(EVENTS).split('env {', 1)
        trace = made(scratch, 'tracer-%d' % number, [(10 ** 9, 11, 'app:begin'), (2 * 10 ** 9, 11, 'app:end')],
                     before + ('env { %s };' % env if env else '') + rest.split('};', 1)[1]).path
        said = ''.join(''.join(synthetic.run(*words, trace)[1:]) for words in (
            ('analyze', '-a', 'cpu,sched'), ('analyze', '-f', 'json', '-a', 'cpu'), ('analyze', '--fail', 'cpu.busy > 1%'), ('report',),
            ('analyze', '--period', 'x = gone; app:end')))
        same('lttng' in said, name is None, env, said)
        check(name is None or name in said, name, 'is not named:', said)
    print('# tracers: advice for those that take it')


def check_misspelled(scratch):
    """Each command that takes names of events says which one was meant; with --state it comes with the metadata."""
    trace = made(scratch, 'misspelled', [(10 ** 9, 11, 'app:begin'), (2 * 10 ** 9, 11, 'app:end')]).path
    words = ['--period', 'x = app:begni; app:end']
    for command in (['analyze', '-q', '-o', os.devnull], ['export', '-q', '-o', os.path.join(scratch, 'file')], ['map', '-q', '-o', os.path.join(scratch, 'file')],
                    ['lami', '-q', '-o', os.devnull], ['top']):
        status, _, said = synthetic.run(*command, *words, trace)
        check(status == 1 and (command == ['top'] or 'did you mean "app:begin"?' in said), command, status, said)
    for command, option, text in (('analyze', '--period', 'x = begin; app:end'), ('analyze', '--call', 'app:begin; end'), ('report', '--job', 'begin; app:end'),
                                  ('analyze', '--job', 'x = app:begin; ennd')):
        said = synthetic.run(command, '-q', option, text, trace)[2]
        check('did you mean "app:%s"?' % ('begin' if ' begin' in ' ' + text else 'end') in said, command, text, said)
    out = synthetic.run('analyze', '-f', 'json', '-q', '-a', 'periods', '--state', os.path.join(scratch, 'state'), *words, '-i', '100ms', trace)[1]
    missing = [json.loads(line)['periods']['missing'] for line in out.splitlines() if json.loads(line)['type'] == 'window']
    same(missing[0], [{'event': 'app:begni', 'near': 'app:begin'}], 'near')
    text = synthetic.run('analyze', '-q', '-a', 'periods', '--state', os.path.join(scratch, 'state2'), *words, '-i', '100ms', trace)[1]
    check('not recorded: app:begni (did you mean "app:begin"?)' in text and 'lttng enable-event' not in text, text)
    print('# misspelled names: what was meant')


def check_apart(scratch):
    """Equal keys of two processes never agree: that is said with the command that joins them, and only then."""
    def trace(name, begun_by, ended_by):
        bodies = [models.made_event(10 ** 9 + i * MS, (begun_by, ended_by)[i % 2], 11, ('app:begin', 'app:end')[i % 2], i // 2, events=EVENTS)[1]
                  for i in range(200)]
        return synthetic.Made(scratch, name, [synthetic.packet(0, 0, 10 ** 9, 2 * 10 ** 9, bodies)], models.made_metadata(EVENTS)).path
    apart, one = trace('apart', 10, 20), trace('one', 10, 10)
    for option, text in (('--period', 'x = app:begin; app:end; by id'), ('--period', 'x = app:begin; app:end; by id; then app:begin'),
                         ('--job', 'x = app:begin; app:end; by id; every 2ms'), ('--call', 'x = app:begin; app:end; by id; group id')):
        for more in ([], ['-j', '2', '--chunk-size', '4096']):
            said = synthetic.run('analyze', '-f', 'json', *more, option, text, apart)[2]
            check("sillage analyze %s '%s' %s" % (option, text.replace('by id', 'by global id'), apart) in said, option, text, said)
            for quiet, other in ((text, one), (text.replace('by id', 'by global id'), apart), (text.replace('app:begin;', 'app:begin id>1000;'), apart)):
                check('by global' not in synthetic.run('analyze', '-f', 'json', *more, option, quiet, other)[2], option, quiet, other)
    print('# keys of two processes: how to join them is said where none agree')


def main():
    synthetic.SILLAGE = sys.argv[1]
    with tempfile.TemporaryDirectory(prefix='sillage-user-') as scratch:
        check_overlaps(scratch)
        check_periods(scratch)
        check_session(scratch)
        check_tracers(scratch)
        check_misspelled(scratch)
        check_apart(scratch)
    print('ok user_space')


if __name__ == '__main__':
    main()
