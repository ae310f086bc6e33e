#!/usr/bin/env python3
"""calls: calls of programs, against a plain program, `syscalls`, and what a service knows of itself.

Goal    - Overlap, recursion, ids that are used again, on other threads and in other processes, names, errors, losses:
          all figures are those of calls_plain.py, in windows or not, at any chunks and workers.
        - A program's events that are the kernel's system calls under other names have the figures of `syscalls`.
        - The requests, loops and flushes of a traced service are those that it noted, of two instances too.

usage: calls.py SILLAGE [SERVICE...]
"""
import collections
import json
import os
import random
import re
import shlex
import sys
import tempfile

import calls_plain
import models
import cuts
import synthetic


EVENTS = {'req:req_begin': (('u64', 'id'),), 'req:req_end': (('u64', 'id'),), 'fn:callEnter': (), 'fn:callLeave': (('u64', 'ret'),),
          'db:span-start': (('text', 'name'), ('u64', 'handle')), 'db:span-stop': (('text', 'name'), ('u64', 'handle')),
          'io.issue': (('u64', 'ptr'), ('u64', 'cid')), 'io.complete': (('u64', 'ptr'), ('u64', 'cid')),
          'job_in': (('u64', 'cid'),), 'job_out': (('u64', 'cid'),), 'lone_begin': (),
          'tr:ev': (('text', 'ph'), ('text', 'name'), ('u64', 'id')), 'tr:step': (('text', 'phase'), ('text', 'ph')),
          'en:ev': (('u64', 'phase'), ('u64', 'id')), 'num:ev': (('u64', 'ph'),),
          'lttng_ust_cyg_profile:func_entry': (('u64', 'addr'), ('u64', 'call_site')),
          'lttng_ust_cyg_profile:func_exit': (('u64', 'addr'), ('u64', 'call_site'))}
LABELS = {7: 'begin', 9: 'span-end', 3: 'other'}  # of the enumeration of en:ev
PHASES = {'ph': ('B', 'E', 'X', 'begin', 'END', 'b', 'e', ''), 'phase': ('B', 'E', 'span_enter', 'Leave', 'spanStart', 'stop', 'out-', 'x' * 40)}
CALLS = ('read', 'write', 'futex')
RENAMED = {'k:%s_%s' % (call, end): (('u64', 'ret'),) if end == 'exit' else () for call in CALLS for end in ('entry', 'exit')}


def check(condition, *what):
    if not condition:
        raise SystemExit('not ok calls: ' + ' '.join(map(str, what)))


def metadata(events):
    text = models.made_metadata(events).replace('uint64_t _phase;', 'enum : uint64_t { %s } _phase;' % ', '.join(
        '"%s" = %d' % (label, number) for number, label in LABELS.items()))
    return re.sub(r'\S+ _ret;', 'integer { size = 64; align = 8; signed = true; } _ret;', text)


def made(scratch, name, events, streams, losses=(), cuts=()):
    """A trace of (ts, pid, tid, event, values) on @streams CPUs; those of a CPU lose events at @losses (cpu, i), or only begin a packet at @cuts."""
    data = []
    for cpu in range(streams):
        mine, packets, first = [one for i, one in enumerate(events) if i % streams == cpu], b'', 0
        ends = sorted(i for where, i in [*losses, *cuts] if where == cpu and 0 < i < len(mine)) + [len(mine)]
        for seq, cut in enumerate(ends):
            body = [models.made_event(ts, pid, tid, what, *(value % 2 ** 64 if isinstance(value, int) else value for value in values),
                                      events=EVENTS if what in EVENTS else RENAMED)[1] for ts, pid, tid, what, values in mine[first:cut]]
            packets += synthetic.packet(cpu, seq, mine[first][0], mine[cut - 1][0], body, discarded=seq if losses else 0)
            first = cut
        data.append(packets)
    return synthetic.Made(scratch, name, data, metadata(RENAMED if events[0][3] in RENAMED else EVENTS))


# ---- generated ----

def some_events(rng):
    """Programs that nest, recurse, overlap, hand over, forget ends, and end what they never began."""
    ts, events, open_ = 10 ** 9, [], []
    names = [name for name in EVENTS if name != 'lone_begin']
    of_end = {'req:req_end': 'req:req_begin', 'fn:callLeave': 'fn:callEnter', 'db:span-stop': 'db:span-start', 'io.complete': 'io.issue',
              'job_out': 'job_in', 'lttng_ust_cyg_profile:func_exit': 'lttng_ust_cyg_profile:func_entry'}
    varies = rng.random() < 0.7
    for _ in range(rng.randrange(300, 1500)):
        ts += rng.choice((1, 50, 3000, 200000))
        pid = rng.choice((10, 20))
        tid, name = pid + rng.randrange(3), rng.choice(names + ['lone_begin'])
        values = [rng.choice(PHASES.get(field, ('', 'a', 'b', 'n' * 50))) if kind == 'text' else
                  rng.choice(list(LABELS)) if field == 'phase' else rng.choice((66, 69, 98, 101, 1)) if field == 'ph' else
                  rng.randrange(4) if varies or field != 'id' else 9
                  for kind, field in EVENTS[name]]
        if name in of_end and open_ and rng.random() < 0.8:  # a right end, now and then on another thread
            at = -1 if rng.random() < 0.6 else rng.randrange(len(open_))
            begun = open_.pop(at)
            name = next(end for end, begin in of_end.items() if begin == begun[2])
            pid, tid = begun[0], begun[1] if rng.random() < 0.8 else begun[0] + rng.randrange(3)
            values = begun[3] if name != 'fn:callLeave' else [rng.randrange(-2, 3)]
        elif name in of_end.values():
            open_.append((pid, tid, name, values))
        events.append((ts, pid, tid, name, values))
    return events


def plain_of(events, losses, asks):
    plain = calls_plain.Plain({name: [[field for _, field in fields]] for name, fields in EVENTS.items()}, asks)
    losses = sorted(losses)
    for ts, pid, tid, name, values in events:
        while losses and losses[0] < ts:
            plain.lost(losses.pop(0))
        fields = dict(zip((field for _, field in EVENTS[name]), values))
        said = {'phase': LABELS.get(fields.get('phase')), 'ph': chr(fields['ph']) if isinstance(fields.get('ph'), int) else None}
        plain.take(calls_plain.Event(ts, name, pid, (pid, tid), {**fields, **{key: value for key, value in said.items() if value}}))
    return plain


def all_asks():
    """What the user says is a call: all kinds of keys, names and errors, and events that belong to several."""
    ask = calls_plain.Ask
    return [ask('own', 'req:req_begin', 'req:req_end', by=[('id', 'id')]),
            ask(None, '*begin', '*end'),
            ask('span', 'db:*start', 'db:*stop', by=[('handle', 'handle')], group=['name']),
            ask('mix', 'req:req_begin', 'job_out', by=[('id', 'cid')]),
            ask('fn', 'fn:callEnter', 'fn:callLeave', error=('ret', -1)),
            ask('one', 'io.issue', 'io.complete', by=[('ptr', 'ptr'), ('cid', 'cid')], group=['ptr', 'cid']),
            ask('two', 'job_in', 'io.complete', by=[('cid', 'ptr'), ('cid', 'cid')]),
            ask('any', 'req:req_begin', 'req:req_end', by=[('id', 'id')], is_global=True),
            ask('lone', 'lone_begin', 'lone_begin'),
            ask('all', 'job_in', 'job_out', by=[]),
            ask('thread', 'job_in', 'job_out', by=['$tid']),
            ask('both', 'job_*', 'job_*', by=['$tid', ('cid', 'cid')]),
            ask('some', 'job_in', 'fn:callLeave', when=({'cid': 1}, {'ret': -1}))]

def check_generated(scratch, seed):
    rng = random.Random(seed)
    events, streams = some_events(rng), rng.randrange(1, 4)
    losses = {(rng.randrange(streams), rng.randrange(1, len(events) // streams)) for _ in range(rng.choice((0, 0, 3)))}
    trace = made(scratch, 'made-%d' % seed, events, streams, losses)
    at = [[one[0] for i, one in enumerate(events) if i % streams == cpu][i - 1] for cpu, i in losses]
    counts = collections.Counter()
    asks = rng.sample(all_asks(), rng.choice((0, 1, 3, 6, 12)))
    asked = [word for ask in asks for word in ('--call', ask.text())]
    for more in [], ['-i', '1ms', '-j', '2'], ['--chunk-size', '1', '-i', '10ms']:
        total = synthetic.total_of(trace, '-a', 'calls', *asked, *more)
        plain = plain_of(events, at, asks)
        other = calls_plain.difference(calls_plain.ours_of(total['calls']), plain.result(total['end']))
        check(not other, 'seed', seed, more, other, asked)
        counts.update(plain.counts)
        counts.update('asked ' + name for name in {ask.name for ask in asks} if any(
            row['name'].split(' ')[0] == name and row['calls'] for row in total['calls']['by_name']))
        counts['by_key'] += sum(row['by_key'] for row in total['calls']['by_name'])
        counts['deep'] += any(row['depth_max'] > 1 for row in total['calls']['by_name'])
    if seed % 4 == 0:
        check(cuts.merged(synthetic.SILLAGE, trace.path, 1, 2, ['-a', 'calls', *asked]) == cuts.report(
            synthetic.SILLAGE, trace.path, '1G', 0, ['-a', 'calls', *asked]), 'seed', seed, 'by map and merge', asked)
    return counts


# ---- system calls under other names ----

def check_renamed(scratch):
    rng, ts, open_ = random.Random(7), 10 ** 9, {}
    kernel, user = {cpu: [synthetic.switch(ts, 0, 11 + cpu)] for cpu in range(3)}, []
    for _ in range(3000):
        ts, cpu = ts + rng.randrange(1, 90000), rng.randrange(3)
        call, ret = open_.pop(cpu, None), rng.choice((-11, -1, 0, 7))
        if call is None and rng.random() < 0.97:
            call = open_[cpu] = rng.choice(CALLS)
            kernel[cpu].append(synthetic.event(ts, 'syscall_entry_' + call))
            user.append((ts, 5, 11 + cpu, 'k:%s_entry' % call, []))
        else:  # now and then one whose entry is not there
            call = call or 'read'
            kernel[cpu].append(synthetic.event(ts, 'syscall_exit_' + call, ret))
            user.append((ts, 5, 11 + cpu, 'k:%s_exit' % call, [ret]))
    kernel = synthetic.Made(scratch, 'kernel', [synthetic.packet(cpu, 0, 10 ** 9, ts + 1, one) for cpu, one in kernel.items()])
    user = made(scratch, 'user', user, 1)
    theirs, ours = synthetic.total_of(kernel, '-a', 'syscalls')['syscalls'], synthetic.total_of(user, '-a', 'calls')['calls']
    for one, other in ('calls', 'calls'), ('errors', 'errors'), ('orphans', 'unmatched'), ('in_flight', 'open'), ('time', 'time'):
        check(theirs[one] == ours[other], other, ours[other], 'is not', theirs[one])
    check(theirs['orphans'] > 9 and theirs['errors'] > 99, 'the trace has not all')
    for table, of in ('by_name', lambda row: row['name'].split(':')[-1]), ('threads', lambda row: row['tid']):
        figures = [{of(row): (row['calls'], row['errors'], row['time']) for row in one[table] if row['calls']} for one in (theirs, ours)]
        check(figures[0] == figures[1], table, figures[1], 'is not', figures[0])
    check(all(row['self_ns'] == row['time']['sum_ns'] for row in ours['by_name']), 'own time of calls that do not nest')


# ---- a service ----

LOOKS = {'shop:orderStart': (('u64', 'id'),), 'shop:orderDone': (('u64', 'id'),), 'shop:order_queued': (('u64', 'id'),),
         'shop:db lock_acquire': (), 'shop:db lock_release': (), 'shop:other_start': (('u64', 'id'),), 'other:other_done': (('u64', 'id'),)}


def check_names(scratch):
    """Functions of processes that have ended make room for those of others; one that is open all the time keeps its own."""
    processes, functions, ts = 170, 100, 10 ** 9
    kinds = 'lttng_ust_cyg_profile:func_entry', 'lttng_ust_cyg_profile:func_exit'
    events = [(ts, 10, 10, kinds[0], (0xabc, 0))]
    for pid in range(100, 100 + processes):
        for addr in range(functions):
            ts += 2000
            events += [(ts + 1000 * i, pid, pid, kind, (addr, 0)) for i, kind in enumerate(kinds)]
    events += [(ts + 6000000, 10, 10, kinds[1], (0xabc, 0))]
    half = made(scratch, 'names-half', events[:33001], 1, cuts=[(0, 9000)]).path
    path, state = made(scratch, 'names', events, 1, cuts=[(0, 9000), (0, 33001)]).path, os.path.join(scratch, 'names-state')
    synthetic.run('analyze', '-q', '-a', 'calls', '--state', state, half)
    wanted = dict({'0x%x' % addr: (processes, 0) for addr in range(functions)}, **{'0xabc': (1, 0)})
    for words in ('--chunk-size', '1000', '-j', '2', path), ('--state', state, path):
        status, out, err = synthetic.run('analyze', '-q', '-f', 'json', '-n', '0', '-a', 'calls', *words)
        check(status == 0, err)
        out = synthetic.run('merge', '-q', '-f', 'json', '-n', '0', state)[1] if state in words else out
        total = [line['calls'] for line in map(json.loads, out.splitlines()) if line['type'] == 'total'][-1]
        check(total['unnamed'] + total['unmatched'] + total['broken'] == 0, total['unnamed'])
        check({row['name']: (row['calls'], row['open']) for row in total['by_name']} == wanted, total['by_name'][:5])


def check_hint(scratch):
    """Events that look like a pair and are none by name: what is printed measures them, as it is; asked for, nothing is said."""
    events, durations = [], []
    for i in range(50):
        begin = 10 ** 9 + i * 10 ** 6
        events += [(begin, 100, 100, 'shop:orderStart', (i,)), (begin + 5, 100, 100, 'shop:db lock_acquire', ()),
                   (begin + 905 + i, 100, 100, 'shop:db lock_release', ()), (begin + 2 * 10 ** 6 + i, 100, 101, 'shop:orderDone', (i,))]
        durations.append(2 * 10 ** 6 + i)
    events.sort()
    body = [models.made_event(ts, pid, tid, what, *values, events=LOOKS)[1] for ts, pid, tid, what, values in events]
    trace = synthetic.Made(scratch, "it's looks", [synthetic.packet(0, 0, events[0][0], events[-1][0], body)],
                           models.made_metadata(LOOKS)).path
    status, out, err = synthetic.run('analyze', '-f', 'json', trace)
    said = [line for line in err.splitlines() if 'look like begin and end' in line]
    check(status == 0 and len(said) == 1, 'of events that look like calls', err)
    words = shlex.split(said[0][said[0].index('sillage analyze'):])[1:]
    check(words == ['analyze', '-a', 'calls', '--call', 'shop:orderStart; shop:orderDone; by id',
                    '--call', '"shop:db lock_acquire"; "shop:db lock_release"', trace], words)
    status, out, err = synthetic.run(*words, '-f', 'json', '-n', '0')
    check(status == 0 and 'look like' not in err, 'the command that is printed', err)
    rows = [line['calls'] for line in map(json.loads, out.splitlines()) if line['type'] == 'total'][0]['by_name']
    found = sorted((row['calls'], row['time']['sum_ns']) for row in rows)
    check(found == sorted([(50, sum(durations)), (50, 50 * 900 + sum(range(50)))]), 'the hint measures', rows)
    check('look like' not in synthetic.run('analyze', '-q', trace)[2], 'with -q')


def check_service(folder):
    truth = []
    for name in sorted(os.listdir(folder)):
        if name.startswith('service.'):
            with open(os.path.join(folder, name)) as file:
                truth.append(json.load(file))
    status, out, err = synthetic.run('analyze', '-q', '-f', 'json', '-n', '0', '-a', 'calls', os.path.join(folder, 'ust'))
    check(status == 0, err)
    calls = [line['calls'] for line in map(json.loads, out.splitlines()) if line['type'] == 'total'][0]
    rows = {row['name']: row for row in calls['by_name']}
    check(calls['unmatched'] == calls['broken'] == calls['replaced'] == calls['dropped'] == 0, 'of what does not fit', calls['unmatched'])
    for name, what in ('service:request', 'requests'), ('service:loop', 'loops'), ('service:span flush', 'flushes'):
        took, row = [one['end_ns'] - one['begin_ns'] for of in truth for one in of[what]], rows[name]
        check(row['calls'] == len(took), name, row['calls'], 'is not', len(took))
        check(abs(row['time']['sum_ns'] - sum(took)) < 20000 * len(took), name, row['time']['sum_ns'], 'is not', sum(took))
        check(abs(row['time']['max_ns'] - max(took)) < 50000, name, row['time']['max_ns'], 'is not', max(took))
    check({row['pid'] for row in calls['processes']} == {of['pid'] for of in truth}, 'processes')
    for of in truth:
        ended = sum(row['calls'] for row in calls['threads'] if row['tid'] in {one['tid'] for one in of['flushes']})
        check(ended == len(of['flushes']), 'flushes of', of['pid'], ended, 'are not', len(of['flushes']))
    print('# %s: %d calls, as %d programs have them' % (os.path.basename(folder), calls['calls'], len(truth)))


def main():
    synthetic.SILLAGE = sys.argv[1]
    counts = collections.Counter()
    with tempfile.TemporaryDirectory() as scratch:
        for seed in range(20):
            counts += check_generated(scratch, seed)
        print('# generated: %s' % dict(counts))
        asked = ['asked ' + ask.name for ask in all_asks() if ask.name]
        for what in ['calls', 'errors', 'unmatched', 'broken', 'replaced', 'untimed', 'by_key', 'deep'] + asked:
            check(counts[what] > 0, 'no trace has any', what)
        check_renamed(scratch)
        check_hint(scratch)
        check_names(scratch)
    for folder in sys.argv[2:]:
        check_service(folder)
    print('ok calls')


if __name__ == '__main__':
    main()
