#!/usr/bin/env python3
"""power: idle states, frequencies and what wakes CPUs, against a plain program, and by hand.

Goal    - All kinds of causes, and what is unknown: before the first event, behind losses, in another channel.  The
          figures are those of power_plain.py, in windows or not, at any chunks and workers, by map and merge.
        - Of outputs text, csv, JSON, stores, triggers, gates, comparisons and a choice of CPUs have them.
        - States are numbers without a sign, as both tracers have them, or with one.

usage: power.py SILLAGE
"""
import collections
import json
import os
import random
import struct
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'property'))
import cuts
import power_plain
import sequential
import synthetic
from synthetic import event, packet, same, switch

EXIT = 2 ** 32 - 1
MS = 10 ** 6
MORE = [(name, 200 + i, fields) for i, (name, fields) in enumerate((
    ('power_cpu_idle', (('s32', 'state'), ('s32', 'cpu_id'))), ('power_cpu_frequency', (('s32', 'state'), ('s32', 'cpu_id'))),
    ('x86_irq_vectors_reschedule_entry', (('s32', 'vector'),)), ('x86_irq_vectors_local_timer_entry', (('s32', 'vector'),))))]
OWN = {name: number for name, number, _ in MORE}
# The largest number for the end of a state: as LTTng and ftrace have it, and as -1.
UNSIGNED = 'integer { size = 32; signed = 0; align = 8; }'
METADATA = synthetic.metadata(0) + ''.join(synthetic.declared(number, name, fields) for name, number, fields in MORE)


def made_event(ts, name, *values):
    if name in OWN:
        return struct.pack('<HQ', OWN[name], ts) + b''.join(struct.pack('<I', value % 2 ** 32) for value in values)
    return event(ts, name, *values)


def text_of(name, values):
    """As babeltrace2 prints it."""
    fields = dict(synthetic.EVENTS).get(name) or [fields for own, _, fields in MORE if own == name][0]
    return ', '.join('%s = %s' % (field, '"%s"' % value if isinstance(value, str) else value)
                     for (_, field), value in zip(fields, values))


def made(scratch, name, events, losses=(), channel=None, is_signed=True):
    """
    A trace of (ts, cpu, name, values).  A packet of a CPU ends at each of @losses (cpu, its i-th event), and events are
    missing up to the next one.  @channel: events whose names begin so are in one of their own.
    """
    data, gaps, cpus = [], [], sorted({cpu for _, cpu, _, _ in events})
    for number in (0, 1) if channel else (0,):
        for cpu in cpus:
            mine = [one for one in events if one[1] == cpu and (not channel or one[2].startswith(channel) == bool(number))]
            at = sorted({i for where, i in losses if where == cpu and 0 < i < len(mine)}) + [len(mine)]
            stream, first = b'', 0
            for seq, cut in enumerate(at if mine else ()):
                body = [made_event(ts, what, *values) for ts, _, what, values in mine[first:cut]]
                part = packet(cpu, seq, mine[first][0], mine[cut - 1][0], body, discarded=seq)
                stream += synthetic.channel(number, part) if number else part
                if first:
                    gaps.append((mine[first - 1][0], cpu, mine[first][0]))
                first = cut
            data.append(stream)
    text = METADATA
    if channel:
        text = synthetic.re.sub(r'(event { name = "%s[^}]* stream_id = )0' % channel, r'\g<1>1', METADATA)
        text += synthetic.HEADER[synthetic.HEADER.index('stream {'):].replace('id = 0', 'id = 1')
    if not is_signed:
        text, count = synthetic.re.subn(r'(event { name = "power_[^;]*;[^;]*;[^;]*; fields := struct { ).*? _state; ',
                                        r'\g<1>%s _state; ' % UNSIGNED, text)
        assert count == 2, text
    return synthetic.Made(scratch, name, [stream for stream in data if stream], text), gaps


def plain_of(events, gaps, interval):
    """The books of the plain program; each CPU was there from the first event to the last one."""
    books = collections.defaultdict(sequential.Book)
    plain, gaps = power_plain.Power(books, interval), sorted(gaps)
    begin, last, cpus = events[0][0], events[-1][0], {cpu for _, cpu, _, _ in events}

    def close(end, window):
        plain.end_window(end, window, dict.fromkeys(cpus, end - max(begin, window * interval)))

    window = begin // interval
    for ts, cpu, name, values in events:
        while (window + 1) * interval <= ts or (gaps and gaps[0][0] < ts):
            if gaps and gaps[0][0] < min(ts, (window + 1) * interval):
                plain.lost(*gaps.pop(0))
            else:
                close((window + 1) * interval, window)
                window += 1
        plain.event(ts, name, cpu, text_of(name, values))
    close(last, window)
    return books


def differs(line, book):
    """What a line and a book do not agree on."""
    ours, spreads = sequential.flat({**{name: {} for name in sequential.ANALYSES}, 'power': line['power']})
    wanted = {path: value for path, value in book.sums.items() if value}
    yield from ('%s is %s, not %s' % (path, ours.get(path), wanted.get(path))
                for path in set(ours) | set(wanted) if ours.get(path) != wanted.get(path))
    for path in set(spreads) | set(book.samples):
        fault = sequential.spread_differs(spreads[path][0], book.samples[path]) if spreads.get(path) and book.samples.get(path) else 'only one'
        if fault:
            yield '%s: %s' % (path, fault)


def check_against_plain(trace, events, gaps):
    for more in ([], ['-i', '10ms'], ['-i', '10ms', '--chunk-size', '1', '-j', '2'], ['--chunk-size', '1']):
        interval = 10 * MS if '-i' in more else 10 ** 9
        books = plain_of(events, gaps, interval)
        for line in synthetic.lines_of(trace, '-a', 'power', *more):
            if line['type'] in ('window', 'total'):
                book = books[line['begin'] // interval] if line['type'] == 'window' else sequential.merged(books.values())
                same([fault for fault in differs(line, book)][:3], [])
    same(cuts.merged(synthetic.SILLAGE, trace.path, 1, 2, ['-a', 'power']),
         cuts.report(synthetic.SILLAGE, trace.path, '1G', 0, ['-a', 'power']))


# ---- generated ----

def some_events(rng):
    """CPUs that idle, and wake as they like; any tells of frequencies, one always runs a thread."""
    now, events, running = 10 ** 9, [], dict.fromkeys(range(rng.randrange(1, 5)), 0)

    def tell(cpu, name, *values):
        nonlocal now
        now += rng.choice((1, 700, 30_000, 2 * MS))
        events.append((now, cpu, name, values))

    def switch_to(cpu, tid):
        before, running[cpu] = running[cpu], tid
        tell(cpu, 'sched_switch', 't%d' % before, before, 20, 1, 't%d' % tid, tid, 20)

    for _ in range(rng.randrange(20, 400)):
        cpu, what = rng.choice(list(running)), rng.random()
        if what < 0.2:
            tell(cpu, 'power_cpu_frequency', rng.choice((800_000, 1_600_000, 3_100_000)), rng.choice(list(running)))
        elif what < 0.45 and not running[cpu]:
            tell(cpu, 'power_cpu_idle', rng.choice((0, 1, 2, 2, EXIT, EXIT, EXIT)), cpu)
        elif what < 0.6:
            tell(cpu, *rng.choice((('irq_handler_entry', 5, 'eth0'), ('irq_handler_entry', 9, 'disk'), ('irq_handler_exit', 5, 1))))
        elif what < 0.68:
            tell(cpu, *rng.choice((('timer_hrtimer_expire_entry', 7), ('x86_irq_vectors_local_timer_entry', 236),
                                   ('x86_irq_vectors_reschedule_entry', 253))))
        elif what < 0.75:
            tell(cpu, 'sched_waking', rng.choice((11, 12)))
        else:
            switch_to(cpu, 0 if running[cpu] else 10 + cpu)
    for cpu in running:
        switch_to(cpu, 0 if running[cpu] else 10 + cpu)
    return events


def check_generated(scratch, seed):
    rng = random.Random(seed)
    events = some_events(rng)
    channel = rng.choice((None, None, None, 'irq', 'power'))
    losses = [(rng.randrange(4), rng.randrange(1, 120)) for _ in range(0 if channel else rng.choice((0, 0, 3)))]
    trace, gaps = made(scratch, 'made-%d' % seed, events, losses, channel)
    check_against_plain(trace, events, gaps)


# ---- by hand ----

def idle(ts, cpu, state):
    return ts * MS, cpu, 'power_cpu_idle', (state, cpu)


def runs(ts, cpu, prev, next_):
    return ts * MS, cpu, 'sched_switch', ('t%d' % prev, prev, 20, 1, 't%d' % next_, next_, 20)


def by_hand():
    """CPU 0 wakes in each way, CPU 1 runs a thread, CPU 2 is woken by a handler in which a timer expires."""
    return sorted([
        runs(100, 0, 4, 0), runs(100, 1, 0, 7), runs(100, 2, 5, 0), (110 * MS, 1, 'power_cpu_frequency', (2_000_000, 0)),
        idle(120, 0, 2), idle(140, 0, EXIT), (141 * MS, 0, 'irq_handler_entry', (28, 'virtio0')), (142 * MS, 0, 'irq_handler_exit', (28, 1)),
        idle(150, 0, 1), (155 * MS, 0, 'timer_hrtimer_expire_entry', (9,)), idle(160, 0, EXIT), runs(161, 0, 0, 4),
        (165 * MS, 0, 'irq_handler_entry', (28, 'virtio0')), runs(170, 0, 4, 0),
        idle(180, 0, 1), idle(200, 0, EXIT), runs(201, 0, 0, 4), runs(210, 0, 4, 0),
        idle(220, 0, 2), idle(230, 0, EXIT), (231 * MS, 0, 'sched_waking', (4,)), runs(232, 0, 0, 4), runs(240, 0, 4, 0),
        (250 * MS, 1, 'power_cpu_frequency', (800_000, 0)), idle(260, 0, 2), idle(300, 0, EXIT), idle(310, 0, 2),
        idle(130, 2, 1), idle(170, 2, EXIT), (171 * MS, 2, 'irq_handler_entry', (16, 'arch_timer')),
        (172 * MS, 2, 'timer_hrtimer_expire_entry', (9,)), (173 * MS, 2, 'irq_handler_exit', (16, 1)),
        runs(400, 0, 0, 4), runs(400, 1, 7, 0), runs(400, 2, 0, 5)], key=lambda one: one[0])


def check_by_hand(scratch):
    trace, _ = made(scratch, 'hand', by_hand())
    power = synthetic.total_of(trace, '-a', 'power')['power']
    cpus = {row['cpu']: row for row in power['cpus']}
    # CPU 0 is known from 120 ms on: it idles for 20 + 10 + 20 + 10 + 40 ms, and from 310 ms up to a thread at 400 ms.
    same([cpus[0][key] // MS for key in ('idle_ns', 'awake_ns', 'unknown_ns', 'unknown_khz_ns')], [190, 90, 20, 10])
    same([cpus[0][key] for key in ('wakeups', 'by_interrupt', 'by_timer', 'by_task', 'by_unknown')], [5, 1, 1, 1, 2])
    same([cpus[1][key] // MS for key in ('idle_ns', 'awake_ns', 'unknown_ns', 'unknown_khz_ns')], [0, 0, 300, 300])
    same([cpus[2][key] for key in ('wakeups', 'by_interrupt', 'by_timer')], [1, 0, 1])
    same({(row['cpu'], row['state']): (row['ns'] // MS, row['stay']['count']) for row in power['idle']},
         {(0, 1): (30, 2), (0, 2): (160, 3), (2, 1): (40, 1)})
    same({(row['cpu'], row['khz']): (row['ns'] // MS, row['awake_ns'] // MS, row['changes']) for row in power['frequencies']},
         {(0, 2_000_000): (140, 70, 1), (0, 800_000): (150, 20, 1)})
    same({(row.get('irq'), row['name']): (row['wakeups'], row['idle']['sum_ns'] // MS) for row in power['causes']},
         {(28, 'virtio0'): (1, 20), (None, '(timer)'): (2, 50), (None, '(task)'): (1, 20), (None, '(unknown)'): (2, 50)})
    return trace


# ---- outputs ----

def ask(*args, wanted=0):
    status, out, err = synthetic.run(*args)
    same((status, err if status != wanted else ''), (wanted, ''))
    return out, err


def check_outputs(scratch, trace):
    asked = ['analyze', '-q', '-a', 'power']
    out, _ = ask(*asked, trace.path)
    assert all(text in out for text in ('idle 25.6 %', 'wake-ups 6', '28 virtio0', '(timer)', '0:2000000', '0:2 ')), out
    out, _ = ask(*asked, '-f', 'csv', '-o', os.path.join(scratch, 'power.csv'), '--table', 'power.frequencies', trace.path)
    with open(os.path.join(scratch, 'power.csv')) as file:
        lines = [line.split(',') for line in file.read().splitlines()]
    at = lines[0].index('khz')
    same({line[at] for line in lines[1:]}, {'2000000', '800000'})
    out, _ = ask(*asked, '-f', 'json', '--cpu', '0', trace.path)
    total = [json.loads(line) for line in out.splitlines() if '"total"' in line][0]['power']
    same(([row['cpu'] for row in total['cpus']], total['wakeups'], {row['cpu'] for row in total['frequencies']}), ([0], 5, {0}))
    out, err = ask(*asked, '--fail', 'power.idle[state=2].ns > 150ms', trace.path, wanted=3)
    assert 'power.idle' in out + err, out + err
    out, _ = ask(*asked, '-f', 'json', '-i', '100ms', '--trigger', 'power.idle[state=2].ns > 50ms', trace.path)
    fired = [json.loads(line) for line in out.splitlines() if '"type":"trigger"' in line]
    assert fired and all('power.idle' in json.dumps(one) for one in fired), out
    unsigned, _ = made(scratch, 'unsigned', by_hand(), is_signed=False)
    same(synthetic.total_of(unsigned, '-a', 'power')['power'], synthetic.total_of(trace, '-a', 'power')['power'])
    ask(*asked, '--fail', 'power.cpus[0].by_timer > 1', trace.path)
    ask(*asked, '--fail', 'power.causes[name=virtio*].idle.max > 1s', trace.path)
    store = 'sqlite:' + os.path.join(scratch, 'power.db')
    windows, _ = ask(*asked, '-f', 'json', '-i', '100ms', '--store', store, trace.path)
    kept, _ = ask('history', '-q', '-a', 'power', '-i', '100ms', '-f', 'json', store)
    same([json.loads(line)['power'] for line in kept.splitlines() if '"window"' in line],
         [json.loads(line)['power'] for line in windows.splitlines() if '"window"' in line])
    other, _ = made(scratch, 'slower', [(ts, cpu, name, (800_000, 0) if values == (2_000_000, 0) else values)
                                        for ts, cpu, name, values in by_hand()])
    out, _ = ask('compare', '-q', '-a', 'power', '-f', 'json', trace.path, other.path)
    assert '"frequencies"' in out and '2000000' in out, out


def check_missing(scratch):
    """Without interrupts and switches causes are unknown, not 0; times are known all the same."""
    events = [one for one in by_hand() if one[2].startswith('power')]
    text = synthetic.HEADER % 0 + ''.join(synthetic.declared(number, name, fields) for name, number, fields in MORE[:2])
    data = [packet(cpu, 0, 100 * MS, 400 * MS, [made_event(ts, name, *values) for ts, where, name, values in events if where == cpu])
            for cpu in range(3)]
    power = synthetic.total_of(synthetic.Made(scratch, 'bare', data, text), '-a', 'power')['power']
    assert power['causes'] == [] and power['by_task'] is power['unknown_ns'] is None, power
    same((power['idle_ns'] // MS, power['wakeups']), (100 + 40, 6))


def main():
    synthetic.SILLAGE = os.path.abspath(sys.argv[1])
    seeds = range(int(sys.argv[2]), int(sys.argv[2]) + int(sys.argv[3])) if len(sys.argv) > 3 else range(8)
    with tempfile.TemporaryDirectory() as scratch:
        check_outputs(scratch, check_by_hand(scratch))
        check_missing(scratch)
        for seed in seeds:
            check_generated(scratch, seed)
    print('ok power: %d generated traces' % len(seeds))


if __name__ == '__main__':
    sys.exit(main())
