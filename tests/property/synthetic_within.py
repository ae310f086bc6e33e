"""synthetic_within: cases of synthetic_cases.py on executions that count only where they lie in those of another job.

`report` finds them in lists of all executions, `analyze` holds them until what they lie in ends.  Both must say the same,
and what the plain program below says, however the trace is cut.
"""
import collections
import json
import random

from synthetic import complains, event, Made, packet, report_of, run, same, switch, total_of

WAYS = (), ('--chunk-size', '1', '-j', '2'), ('-i', '7s'), ('-j', '0', '-i', '1ms')
READ, WRITE = 'syscall_entry_read; syscall_exit_read', 'syscall_entry_write; syscall_exit_write'
DISK = 'block_rq_issue; block_rq_complete; by sector'
NOTHING = dict.fromkeys(('open', 'abandoned', 'cut', 'dropped', 'overlapped', 'misses', 'open_misses', 'misses_run'), 0)


def found_of(made, inner, outer, more=''):
    """Row of the inner job, the same by analyze in any way and by report: (ended, open, cut, dropped, misses, durations, periods)."""
    deadline = ['--deadline', '15ns'] if 'every' not in more else ['--every', more.split('every ')[1]]
    jobs = report_of(made, '--job', inner, '--within', outer, '--worst', '0', *deadline)['jobs']
    wanted = (jobs['count'], jobs['open_count'], jobs['cut'], jobs['total_ns'], jobs['misses'])
    clauses = more if 'every' in more else '; deadline 15ns' + more
    for way in WAYS:
        for words in (['--job', 'o = ' + outer, '--job', 'i = %s%s; within o' % (inner, clauses)],
                      ['--job', 'i = %s%s' % (inner, clauses), '--within', 'o = ' + outer]):
            rows = total_of(made, '-a', 'jobs', *words, *way)['jobs']['jobs']
            row = ([row for row in rows if row['name'] == 'i'] or
                   [dict(NOTHING, duration={'count': 0}, period={'count': 0})])[0]
            same((row['duration']['count'], row['open'] + row['abandoned'], row['cut'], row['duration'].get('sum_ns', 0),
                  row['misses'] + row['open_misses']), wanted)
    return row


def ended(row):
    return row['duration']['count'], row['duration'].get('sum_ns', 0)


def one_cpu(scratch, name, *events, end=1000):
    return Made(scratch, name, [packet(0, 0, 0, end, [switch(0, 0, 7)] + list(events))])


def enter(ts, call):
    return event(ts, 'syscall_entry_' + call)


def leave(ts, call):
    return event(ts, 'syscall_exit_' + call, 1)


def issue(ts, sector):
    return event(ts, 'block_rq_issue', 8, sector)


def done(ts, sector):
    return event(ts, 'block_rq_complete', 8, sector)


def test_within_one_thread(scratch):
    """Both levels are jobs; what comes one after the other is of those that count."""
    made = one_cpu(scratch, 'thread', enter(5, 'read'), leave(15, 'read'), enter(20, 'write'), enter(30, 'read'), leave(50, 'read'),
                   leave(60, 'write'), enter(70, 'read'), leave(75, 'read'), enter(80, 'write'), enter(90, 'read'), leave(110, 'read'),
                   enter(115, 'read'), leave(117, 'read'), leave(120, 'write'), enter(130, 'write'), enter(140, 'read'), leave(150, 'read'),
                   enter(155, 'read'))
    row = found_of(made, READ, WRITE)
    same((ended(row), row['open'], row['misses'], row['misses_run'], row['period']['count'], row['period']['sum_ns']),
         ((3, 42), 1, 2, 2, 2, 60 + 25))
    jobs = total_of(made, '-a', 'jobs', '--job', 'i = ' + READ, '--within', WRITE)['jobs']
    same([(row['name'], row['duration']['count']) for row in jobs['jobs']], [('syscall_entry_write', 2), ('i', 3)])
    same(sum(row['duration']['count'] for row in jobs['threads']), 5)
    same([(row['name'], row['tid']) for row in jobs['worst']].count(('i', 7)), 3)
    found_of(made, READ, WRITE, '; every 30ns')
    found_of(made, READ, DISK)


def test_within_ties(scratch):
    """At one ns: around is what began at or before its begin, before its end, and ends at or after that."""
    for name, inner, events in (
            ('same', 1, (enter(20, 'write'), enter(20, 'read'), leave(40, 'read'), leave(40, 'write'))),
            ('swapped', 1, (enter(20, 'read'), enter(20, 'write'), leave(40, 'write'), leave(40, 'read'))),
            ('point', 1, (enter(10, 'write'), enter(20, 'read'), leave(20, 'read'), leave(40, 'write'))),
            ('at-end', 1, (enter(10, 'write'), leave(20, 'write'), enter(20, 'read'), leave(20, 'read'))),
            ('at-begin', 0, (enter(20, 'read'), leave(20, 'read'), enter(20, 'write'), leave(40, 'write'))),
            ('over', 0, (enter(10, 'write'), enter(20, 'read'), leave(30, 'write'), leave(31, 'read'))),
            ('points', 1, (enter(10, 'write'), enter(20, 'read'), leave(30, 'write'), enter(30, 'write'), leave(30, 'write'), leave(30, 'read')))):
        same((name, found_of(one_cpu(scratch, name, *events), READ, WRITE)['duration']['count']), (name, inner))
    # An event may end both, and begin the next of both.
    made = one_cpu(scratch, 'alike', *[enter(ts, 'read') for ts in (10, 20, 30)])
    same(ended(found_of(made, 'syscall_entry_read; syscall_entry_read', '"syscall_entry_rea*"; "syscall_entry_rea*"')), (2, 20))


def test_within_any_thread(scratch):
    """Over threads: any of those around may end first; of one whose end nobody saw, the one before it takes over."""
    made = one_cpu(scratch, 'any', issue(10, 1), issue(20, 2), enter(30, 'read'), leave(40, 'read'), issue(45, 2), done(50, 1), enter(60, 'read'),
                   leave(70, 'read'), issue(75, 3), enter(80, 'read'), leave(85, 'read'), done(90, 2), enter(95, 'read'))
    row = found_of(made, READ, DISK)
    # The first is in 1, which ended after 2 had begun again; the second in the new 2, the third in it, too.
    same((ended(row), row['open'], row['period']['count']), ((3, 25), 1, 0))
    row = found_of(made, DISK, READ)
    same((ended(row), row['open'], row['overlapped']), ((0, 0), 0, 1))
    row = found_of(made, DISK, 'syscall_entry_read; syscall_exit_read; by global')
    same((ended(row), row['open']), ((0, 0), 0))
    # Threads of two CPUs, one of which is cut.
    made = Made(scratch, 'cut', [
        packet(0, 0, 0, 100, [switch(0, 0, 7), enter(10, 'read'), issue(20, 1), done(30, 1)]) + packet(0, 2, 200, 300, [switch(210, 7, 0)]),
        packet(1, 0, 0, 300, [switch(1, 0, 8), enter(5, 'read'), issue(15, 2), done(25, 2), leave(40, 'read')])])
    row = found_of(made, DISK, READ)
    same((ended(row), row['cut']), ((2, 20), 0))
    made = Made(scratch, 'cut-both', [
        packet(0, 0, 0, 100, [switch(0, 0, 7), enter(10, 'read'), enter(15, 'write'), leave(20, 'write')]) +
        packet(0, 2, 200, 300, [switch(210, 7, 8), leave(220, 'read'), switch(230, 8, 7), leave(240, 'read')])])
    same(ended(found_of(made, WRITE, READ)), (0, 0))
    complains(2, 'expected no every', 'analyze', '-a', 'jobs', '--job', 'o = ' + DISK, '--job', 'i = %s; every 1s; within o' % READ, made.path)
    complains(2, '--within: no every', 'report', '--job', READ, '--every', '1s', '--within', DISK, made.path)


def test_within_ends(scratch):
    """A thread that ends leaves both open, or only one of them."""
    end = [event(60, 'sched_process_exit', 7), switch(70, 7, 0, 16)]
    both = one_cpu(scratch, 'both', enter(10, 'write'), enter(20, 'read'), leave(30, 'read'), enter(40, 'read'), *end)
    row = found_of(both, READ, WRITE)
    same((ended(row), row['abandoned'], row['open']), ((0, 0), 1, 0))
    one = one_cpu(scratch, 'inner', enter(5, 'write'), leave(8, 'write'), enter(40, 'read'), *end)
    same(found_of(one, READ, WRITE)['abandoned'], 0)
    # Over threads it has not ended, and lies in nothing.
    over = one_cpu(scratch, 'over', issue(5, 1), enter(40, 'read'), *end, done(90, 1))
    same(found_of(over, READ, DISK)['abandoned'], 0)
    never = one_cpu(scratch, 'never', issue(5, 1), enter(40, 'read'), *end, issue(90, 2))
    same(found_of(never, READ, DISK)['abandoned'], 0)
    outer = one_cpu(scratch, 'outer', enter(10, 'write'), issue(20, 1), done(30, 1), issue(40, 2), *end, done(90, 2))
    same((ended(found_of(outer, DISK, WRITE)), found_of(outer, DISK, WRITE)['open']), ((0, 0), 0))


def test_within_windows(scratch):
    """It counts in the window in which what it lies in ends; open in a window is what lies in an open one."""
    made = one_cpu(scratch, 'windows', enter(10, 'write'), enter(20, 'read'), enter(30 * 10**9, 'close'), leave(70 * 10**9, 'read'),
                   enter(150 * 10**9, 'read'), leave(160 * 10**9, 'read'), leave(200 * 10**9, 'write'), end=300 * 10**9)
    words = ['-a', 'jobs', '--job', 'i = %s; group ret' % READ, '--within', 'o = ' + WRITE, '-i', '1m']
    rows = [[(row['name'], row['duration']['count'], row['open']) for row in line['jobs']['jobs']] for line in windows_of(made, words)]
    same([sorted(window) for window in rows], [[('i', 0, 1), ('o', 0, 1)], [('o', 0, 1)], [('o', 0, 1)], [('i ret=1', 2, 0), ('o', 1, 0)]])
    same(found_of(made, READ, WRITE)['open'], 0)


def windows_of(made, words):
    status, out, err = run('analyze', '-q', '-f', 'json', *words, made.path)
    same((status, err), (0, ''))
    return [line for line in map(json.loads, out.splitlines()) if line['type'] == 'window']


def test_within_bounded(scratch):
    """Of what lies in one that does not end, the last 65,536 are held; others are as exact as without."""
    count = 65536 + 100
    events = [event(1, 'block_rq_issue', 8, 1)]
    for i in range(count):
        events += [enter(10 + 4 * i, 'read'), leave(12 + 4 * i, 'read')]
    events += [issue(10 + 4 * count, 2), enter(11 + 4 * count, 'read'), leave(13 + 4 * count, 'read'), done(20 + 4 * count, 2)]
    made = Made(scratch, 'bounded', [packet(0, 0, 0, 10**6, [switch(0, 0, 7)] + events)])
    for way in (), ('-i', '1m', '--chunk-size', '100K'):
        total = total_of(made, '-a', 'jobs', '--job', 'i = ' + READ, '--within', 'o = ' + DISK, *way)['jobs']
        row = [row for row in total['jobs'] if row['name'] == 'i'][0]
        same((ended(row), row['dropped'], total['dropped']), ((1, 2), 101, 101))
    events += [done(30 + 4 * count, 1)]
    made = Made(scratch, 'bounded-ended', [packet(0, 0, 0, 10**6, [switch(0, 0, 7)] + events)])
    row = total_of(made, '-a', 'jobs', '--job', 'i = ' + READ, '--within', 'o = ' + DISK)['jobs']['jobs']
    same([(ended(one), one['dropped']) for one in row if one['name'] == 'i'], [((65536, 2 * 65536), 101)])


class Plain:
    """Executions of one pair of events, one event after the other: on a thread, or by a key."""

    def __init__(self, name, by_key):
        self.name, self.by_key, self.open, self.all = name, by_key, {}, []

    def take(self, ts, name, thread, key):
        of, kind = name.rsplit('_', 1)
        at = key if self.by_key else thread
        if of != self.name:
            return
        if kind == 'end' and at in self.open:
            self.all.append((*self.open.pop(at), ts))
        elif kind == 'begin' and (self.by_key or at not in self.open):
            self.open.pop(at, None)  # the key is given again: as the last
            self.open[at] = (thread, ts)


def expected(inner, outer):
    """(thread, begin, end) of those that count, and how many open ones do."""
    is_any = inner.by_key or outer.by_key
    ended = [(thread, begin, end) for thread, begin, end in inner.all
             if any((is_any or thread == of) and first <= begin and first < end <= last for of, first, last in outer.all)]
    is_open = sum(any((is_any or thread == of) and first <= begin for of, first in outer.open.values()) for thread, begin in inner.open.values())
    return ended, is_open


def test_within_drawn(scratch):
    """Drawn traces of two CPUs and four threads, with ties: as the plain program says."""
    makers = {'read_begin': lambda ts, key: enter(ts, 'read'), 'read_end': lambda ts, key: leave(ts, 'read'),
              'write_begin': lambda ts, key: enter(ts, 'write'), 'write_end': lambda ts, key: leave(ts, 'write'),
              'disk_begin': issue, 'disk_end': done}
    texts, counted = {'read': READ, 'write': WRITE, 'disk': DISK}, collections.Counter()
    for seed in range(8):
        rng, streams, events = random.Random(seed), [], []
        for cpu in range(2):
            thread, ts, body = 7 + cpu, 10, [switch(0, 0, 7 + cpu)]
            for _ in range(120):
                ts += 2 * rng.choice((0, 0, 1, 2, 3, 5))
                if rng.random() < 0.15:
                    ts, before = ts + 2, thread
                    thread = rng.choice([7 + cpu, 9 + cpu])
                    if thread != before:
                        body.append(switch(ts + cpu, before, thread))
                    ts += 2
                name, key = rng.choice(sorted(makers)), rng.randrange(3)
                body.append(makers[name](ts + cpu, key))
                events.append((ts + cpu, len(events), name, thread, key))
            streams.append(packet(cpu, 0, 0, 10**6, body))
        made = Made(scratch, 'drawn%d' % seed, streams)
        for inner, outer in rng.sample([('read', 'write'), ('read', 'disk'), ('disk', 'read'), ('write', 'read')], 2):
            plain = {name: Plain(name, name == 'disk') for name in (inner, outer)}
            for ts, _, name, thread, key in sorted(events):
                for one in plain.values():
                    one.take(ts, name, thread, key)
            ours, is_open = expected(plain[inner], plain[outer])
            row = found_of(made, texts[inner], texts[outer])
            wanted = len(ours), sum(end - begin for _, begin, end in ours), is_open
            same((seed, inner, outer, *ended(row), row['open']), (seed, inner, outer, *wanted))
            counted[inner, outer] += len(ours)
            begins = collections.defaultdict(list)
            for thread, begin, _ in sorted(ours):
                begins[thread].append(begin)
            gaps = [after - before for at in begins.values() for before, after in zip(at, at[1:])] if 'disk' not in (inner, outer) else []
            same((row['period']['count'], row['period'].get('sum_ns', 0)), (len(gaps), sum(gaps)))
    assert len(counted) == 4 and all(counted.values()), counted
