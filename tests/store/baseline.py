#!/usr/bin/env python3
"""baseline: limits of triggers from the same hour of other days in a store.

Goal    `FIGURE > baseline +20%` compares with the median of the last 7 days before that have the hour
        of day of the window, in local time: sums as shares or per second, percentiles of the hour's
        distribution, rows by name.  Limits, medians and days in the trigger's JSON are those that this
        program makes of `analyze -f json` of each day by itself.  It fires where the value is beyond,
        and nowhere else; at the border of an hour the limit changes.  An hour that a day has twice is
        one, one that it lacks is missing.  The day itself, later days, other hosts and sessions do not
        count.  Too few days, a row that no day has, a figure that is not recorded: no limit, said once.
        A file of SQLite, and ClickHouse (--server).  Wrong use is refused in one line.
Method  Generated traces of one CPU with a known load, seconds long, days apart; windows of a real trace
        that are copied to days before it.

usage: baseline.py SILLAGE DATA [--server]
"""
import contextlib
import datetime
import json
import os
import re
import shutil
import sqlite3
import statistics
import sys
import tempfile
import time
import uuid

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'property'))
import server  # noqa: E402
import synthetic  # noqa: E402

S, MS, US = 10**9, 10**6, 10**3
ZONE = 'Europe/Berlin'
LISTS = ('-a', 'cpu,io,sched')
EACH_WINDOW = ' until cpu.idle > 0%'  # holds in all of them: the trigger is armed again in each
DB, WEB, OTHER = ('db', 7), ('web', 9), ('other', 11)


def fail(*what):
    raise SystemExit('not ok ' + ' '.join(str(one) for one in what))


def check(what, got, wanted):
    if got != wanted:
        fail(what + ':', got, 'expected', wanted)


def moment(text):
    """Local time, as the zone has it, to ns."""
    return int(datetime.datetime.strptime(text, '%Y-%m-%d %H:%M:%S').timestamp()) * S


def switch(ts, before, after):
    return synthetic.event(ts, 'sched_switch', before[0], before[1], 20, 1, after[0], after[1], 20)


def busy(at, thread, ms, wake_us, wrote):
    """A thread is woken, waits, runs and writes."""
    idle, begin = ('swapper/0', 0), at + wake_us * US
    return [synthetic.event(at, 'sched_waking', thread[1]), switch(begin, idle, thread),
            synthetic.event(begin + US, 'syscall_entry_write'), synthetic.event(begin + 2 * US, 'syscall_exit_write', wrote),
            switch(begin + ms * MS, thread, idle)]


def trace(scratch, begin, seconds, load, host='made', session='own'):
    """Each second the threads of @load run one after the other: [(thread, ms, wake_us, bytes)]."""
    identity = uuid.uuid4()
    packets = []
    for second in range(seconds):
        at, events = second * S + MS, []
        if second == 0:
            events = [synthetic.event(tid, 'lttng_statedump_process_state', tid, 7 if comm == 'db' else tid, comm)
                      for comm, tid in sorted({thread for thread, _, _, _ in load}, key=lambda thread: thread[1])]
        for thread, ms, wake_us, wrote in load:
            events += busy(at, thread, ms, wake_us + second, wrote)
            at += (ms + 10) * MS
        events.append(synthetic.event((second + 1) * S - 1, 'sched_process_exit', 1))
        packets.append(synthetic.packet(0, second, second * S, (second + 1) * S, events))
    text = synthetic.metadata(begin).replace('01020304-0506-0708-090a-0b0c0d0e0f10', str(identity))
    text = text.replace('hostname = "made";', 'hostname = "%s"; trace_name = "%s";' % (host, session))
    data = b''.join(packets).replace(bytes(range(1, 17)), identity.bytes)
    return synthetic.Made(scratch, 'trace-%s' % identity, [data], text).path


class Lines(list):
    """Those of triggers; one that is not there is a failure."""

    def __getitem__(self, at):
        if isinstance(at, int) and at >= len(self):
            fail('fired:', [line['name'] for line in self])
        return super().__getitem__(at)


class Test:
    def __init__(self, sillage, data, scratch, url):
        self.sillage, self.data, self.scratch, self.url = sillage, data, scratch, url

    def trace(self, *args, **options):
        return trace(self.scratch, *args, **options)

    def run(self, *options, status=0):
        code, printed, said = server.run(self.sillage, *options)
        if code != status:
            fail(options, 'ended with', code, said)
        return printed, said

    def store(self, url, path, lists=LISTS, interval='1s'):
        self.run('analyze', '-q', *lists, '-i', interval, '-o', '/dev/null', '--store', url, path)

    def days(self, url, loads, seconds=20, **options):
        """Stores a trace for each moment of @loads."""
        paths = [self.trace(moment(at), seconds, load, **options) for at, load in loads.items()]
        for path in paths:
            self.store(url, path)
        return paths

    def fired(self, url, path, *exprs, options=(), status=0):
        """The lines of triggers, and what was said."""
        asked = [word for expr in exprs for word in ('--trigger', expr)]
        printed, said = self.run('analyze', '-f', 'json', *LISTS, '-i', '1s', '--baseline', url, *asked, *options, path,
                                 status=status)
        lines = [json.loads(line) for line in printed.splitlines()]
        return Lines(line for line in lines if line['type'] == 'trigger'), said

    def total(self, path, *options):
        printed, _ = self.run('analyze', '-q', '-f', 'json', *LISTS, *options, path)
        return next(line for line in map(json.loads, printed.splitlines()) if line['type'] == 'total')


# ---- the figures, from JSON ----

def length(total):
    return (total['end'] - total['begin']) / S


def rows_of(rows, comm):
    return [row for row in rows if row.get('comm') == comm]


def of_rows(total, rows, key):
    return sum(row.get(key, 0) for row in rows) / length(total)


FIGURES = {
    'cpu.busy': lambda t: t['cpu']['busy_ns'] / (t['cpu']['busy_ns'] + t['cpu']['idle_ns'] + t['cpu'].get('unknown_ns', 0)),
    'cpu.busy.rate': lambda t: t['cpu']['busy_ns'] / length(t),
    'cpu.cpu[0].busy': lambda t: t['cpu']['cpus'][0]['busy_ns'] / S / length(t),
    'cpu.thread[comm=db].run': lambda t: of_rows(t, rows_of(t['cpu']['threads'], 'db'), 'run_ns') / S,
    'cpu.thread[comm=d*].longest': lambda t: max(row['longest_ns'] for row in rows_of(t['cpu']['threads'], 'db')),
    'cpu.processes[comm=db].switches': lambda t: of_rows(t, rows_of(t['cpu']['threads'], 'db'), 'switches'),
    'io.threads[comm=db].write_bytes': lambda t: of_rows(t, rows_of(t['io']['threads'], 'db'), 'write_bytes'),
    'sched.wake.p99': lambda t: t['sched']['wake']['p99_ns'],
    'sched.wake.count': lambda t: t['sched']['wake']['count'] / length(t),
    'sched.wake.mean': lambda t: t['sched']['wake']['sum_ns'] / t['sched']['wake']['count'],
    'sched.thread[comm=db].wake.max': lambda t: max(row['wake']['max_ns'] for row in rows_of(t['sched']['threads'], 'db')),
}


def near(a, b):
    return abs(a - b) <= 1e-5 * max(abs(a), abs(b)) + 2e-6


def check_value(line, median, factor, days):
    value = line['values'][0]
    if value['baseline'] is None:
        fail(line['name'], 'has no baseline')
    if not (near(value['baseline'], median) and near(value['limit'], median * factor) and value['days'] == days):
        fail(line['name'], value, 'expected', median, median * factor, days)


# ---- cases ----

def test_figures(t, url):
    """Each figure: the median of five days, by this program; beyond it fires, else not."""
    loads = {'2026-06-0%d 14:%02d:00' % (day, 7 * day): [(DB, 100 + 37 * day, 20 * day, 1000 * day), (('db', 8), 10, 5, 100)]
             for day in (1, 2, 4, 5, 8)}
    paths = t.days(url, loads)
    now = t.trace(moment('2026-06-09 14:00:05'), 5, [(DB, 900, 400, 90000), (WEB, 20, 10, 1)])
    totals, fired = [t.total(path) for path in paths], set()
    windows = [line for line in map(json.loads, t.run('analyze', '-q', '-f', 'json', *LISTS, '-i', '1s', now)[0].splitlines())
               if line['type'] == 'window']
    for figure, value in FIGURES.items():
        median = statistics.median(value(total) for total in totals)
        asked = [(figure + ' > baseline +20%', 1.2), (figure + ' > baseline x9000', 9000), (figure + ' < baseline -30%', 0.7)]
        lines, said = t.fired(url, now, *[expr for expr, _ in asked])
        holds = [expr for expr, factor in asked if any(
            value(window) > factor * median if factor > 1 else value(window) < factor * median for window in windows)]
        check(figure, [line['name'] for line in lines], holds)
        for line in lines:
            check_value(line, median, dict(asked)[line['name']], 5)
        fired.update(holds)
        if 'no limit' in said:
            fail(figure, said)
    if {expr.split()[1] for expr in fired} != {'<', '>'}:
        fail('nothing to see:', fired)
    # Rows of one name are one row, in the window, too; text says the baseline.
    both = t.trace(moment('2026-06-09 14:10:00'), 3, [(DB, 300, 20, 10), (('db', 8), 300, 20, 10)])
    lines, _ = t.fired(url, both, 'cpu.thread[comm=db].run > baseline x2')
    check('rows by name', [(line['values'][0]['row'], line['values'][0]['value'], line.get('rows')) for line in lines],
          [('db', 0.6, None)])
    printed, _ = t.run('analyze', *LISTS, '-i', '1s', '--baseline', url, '--trigger', 'cpu.busy > baseline +20%', both)
    if not re.search(r'cpu\.busy 6\d\.\d %, > \d+\.\d % \(baseline \d+\.\d % of 5 days\)', printed):
        fail('text:', printed)
    # Together with other comparisons of the same list: each name by itself, for two windows.
    lines, _ = t.fired(url, both, 'cpu.thread.run > baseline x2 and cpu.thread.run > 59% for 2s')
    check('and', [line['values'][0]['row'] for line in lines], ['db'])
    # In windows put together to a minute before: the same.
    if t.url is None:
        other = os.path.join(t.scratch, 'minutes.db')
        for path in paths:
            t.store(other, path, interval='1m')
        lines, _ = t.fired(other, now, 'io.threads[comm=db].write_bytes > baseline')
        check_value(lines[0], statistics.median(FIGURES['io.threads[comm=db].write_bytes'](one) for one in totals), 1, 5)


def test_hours(t, url):
    """At the border of an hour the limit changes."""
    paths = t.days(url, {'2026-06-0%d 09:59:50' % day: [(DB, 100 * day, 20, 10)] for day in (1, 2, 3)}, seconds=10)
    paths += t.days(url, {'2026-06-0%d 10:00:00' % day: [(DB, 200 * day, 20, 10)] for day in (1, 2, 3)}, seconds=10)
    now = t.trace(moment('2026-06-05 09:59:57'), 6, [(DB, 300, 20, 10)])
    lines, _ = t.fired(url, now, 'cpu.busy > baseline x0.1' + EACH_WINDOW)
    check('windows', len(lines), 6)
    border = moment('2026-06-05 10:00:00')
    for line in lines:
        totals = [t.total(path) for path in (paths[3:] if line['end'] > border else paths[:3])]
        check_value(line, statistics.median(FIGURES['cpu.busy'](total) for total in totals), 0.1, 3)
    lines, _ = t.fired(url, now, 'cpu.busy > baseline +40%' + EACH_WINDOW)
    check('fires before the border only', [line['end'] > border for line in lines], [False] * 3)
    # What is stored is judged as what was recorded is.
    t.store(url, now)
    past = ('history', url, '-q', '--since', '2026-06-05 09:59:00', '--until', '2026-06-05 10:01:00', '-i', '1s', '-o', '/dev/null')
    t.run(*past, '--baseline', url, '--fail', 'cpu.busy > baseline +40%', status=3)
    t.run(*past, '--baseline', url, '--fail', 'cpu.busy > baseline x9')
    t.run(*past, '--fail', 'cpu.busy > baseline +40%', status=2)
    t.run(*past, '--per', 'host', '--baseline', url, '--fail', 'cpu.busy > baseline +40%', status=2)


def test_clocks(t, url):
    """02:00 twice on October 25, and not at all on March 29."""
    first = datetime.datetime(2026, 10, 25, 0, 30, tzinfo=datetime.timezone.utc).timestamp()
    autumn = [t.trace(int(first) * S + hour * 3600 * S, 10, [(DB, ms, 20, 10)]) for hour, ms in ((-1, 800), (0, 100), (1, 300), (2, 900))]
    for path in autumn:
        t.store(url, path)
    more = t.days(url, {'2026-10-24 02:10:00': [(DB, 500, 20, 10)]}, seconds=10)
    rows = ('io.threads[comm=db].write_bytes', 'cpu.thread[comm=db].run', 'cpu.cpu[0].busy', 'sched.thread[comm=db].wake.max')
    lines, _ = t.fired(url, t.trace(moment('2026-10-27 02:40:00'), 2, [(DB, 900, 40, 99)]), 'cpu.busy > baseline',
                       *[figure + ' > baseline x0.01' for figure in rows])
    both, last = [t.total(path) for path in autumn[1:3]], t.total(more[0])
    twice = sum(one['cpu']['busy_ns'] for one in both) / sum(
        one['cpu']['busy_ns'] + one['cpu']['idle_ns'] + one['cpu'].get('unknown_ns', 0) for one in both)
    check_value(lines[0], (twice + FIGURES['cpu.busy'](last)) / 2, 1, 2)
    # Two traces with an hour less ten seconds between them: only what is covered counts.
    check('fires', len(lines), 1 + len(rows))
    for figure, line in zip(rows, lines[1:]):
        values = [FIGURES[figure](one) for one in both]
        day = max(values) if 'max' in figure else sum(
            value * length(one) for value, one in zip(values, both)) / sum(map(length, both))
        check_value(line, (day + FIGURES[figure](last)) / 2, 0.01, 2)
    before = int(datetime.datetime(2026, 3, 29, 0, 30, tzinfo=datetime.timezone.utc).timestamp()) * S
    for hour in (0, 1):  # 01:30 and 03:30
        t.store(url, t.trace(before + hour * 3600 * S, 10, [(DB, 900, 20, 10)]))
    paths = t.days(url, {'2026-03-2%d 02:30:00' % day: [(DB, 100 * (day - 6), 20, 10)] for day in (7, 8)}, seconds=10)
    lines, _ = t.fired(url, t.trace(moment('2026-03-30 02:30:00'), 2, [(DB, 900, 20, 10)]), 'cpu.busy > baseline')
    check_value(lines[0], statistics.median(FIGURES['cpu.busy'](t.total(path)) for path in paths), 1, 2)


def test_days(t, url):
    """The last seven before, of four weeks; never the day itself, a later one, or another host or session."""
    loads = {day: 50 + 20 * day for day in (1, 3, 4, 6, 7, 8, 10, 12, 14)}
    paths = t.days(url, {'2026-07-%02d 20:00:00' % day: [(DB, ms, 20, 10)] for day, ms in loads.items()}, seconds=5)
    aside = {'2026-07-%02d 20:10:00' % day: [(DB, 900, 20, 10)] for day in (11, 13, 15)}
    t.days(url, {at: load for at, load in aside.items() if '-15' in at}, seconds=5)  # the day itself
    t.days(url, {'2026-07-16 20:00:00': [(DB, 900, 20, 10)]}, seconds=5)  # a later one
    t.days(url, aside, seconds=5, host='elsewhere')
    t.days(url, aside, seconds=5, session='another')
    now = moment('2026-07-15 20:59:50')
    lines, _ = t.fired(url, t.trace(now, 5, [(DB, 700, 20, 10)]), 'cpu.busy > baseline')
    check_value(lines[0], statistics.median(FIGURES['cpu.busy'](t.total(path)) for path in paths[2:]), 1, 7)
    # Names of sessions that end with their time are one session.
    for number, day in enumerate((14, 13)):
        t.days(url, {'2026-07-%d 20:00:00' % day: [(DB, 100, 20, 10)]}, seconds=5, session='auto-20260%d01-000000' % (number + 1))
    lines, _ = t.fired(url, t.trace(now, 5, [(DB, 700, 20, 10)], session='auto-20260715-205940'), 'cpu.busy > baseline')
    check('session with a time', [line['values'][0]['days'] for line in lines], [2])
    # Four weeks and a day later there is nothing.
    lines, said = t.fired(url, t.trace(moment('2026-08-14 20:00:00'), 2, [(DB, 700, 20, 10)]), 'cpu.busy > baseline x0.1')
    if lines or '0 earlier days have that hour of host made, session own' not in said:
        fail('four weeks:', lines, said)


def test_rows(t, url):
    """A row that some days lack has the sum 0 there; one that no day has has no limit."""
    t.days(url, {'2026-05-01 08:00:00': [(DB, 100, 20, 10), (WEB, 50, 20, 10)], '2026-05-02 08:00:00': [(DB, 120, 20, 10)],
                 '2026-05-03 08:00:00': [(DB, 140, 20, 10)]}, seconds=5)
    now = t.trace(moment('2026-05-04 08:00:00'), 4, [(WEB, 10, 20, 10), (OTHER, 800, 20, 10)])
    lines, said = t.fired(url, now, 'cpu.thread[comm=web].run > baseline +50%', 'cpu.thread[comm=other].run > baseline',
                          'sched.thread[comm=web].wake.p99 > baseline x0.01', 'cpu.thread[comm=db].run < baseline -30% for 3s',
                          'cpu.thread[comm=d*].run < baseline', 'sched.thread[comm=db].wake.p99 < baseline')
    check('rows', [(line['name'], line['values'][0]['days']) for line in lines],
          [('cpu.thread[comm=web].run > baseline +50%', 3), ('cpu.thread[comm=db].run < baseline -30% for 3s', 3)])
    check('the sum 0', (lines[0]['values'][0]['limit'], lines[1]['values'][0]['value']), (0, 0))
    if not near(lines[1]['values'][0]['limit'], 0.12 * 0.7):
        fail('a row that is missing from the window:', lines[1])
    for text in ('cpu.thread[comm=other].run: the row "other" has no limit at 08:00: 0 earlier days have it',
                 'sched.thread[comm=web].wake.p99: the row "web" has no limit at 08:00: 1 earlier days have it'):
        if said.count(text) != 1:
            fail('not said once:', text, said)
    lines, _ = t.fired(url, now, 'cpu.thread[comm=other].run > baseline or cpu.busy > 50%')
    values = lines[0]['values']
    check('no limit', [(values[0][key] if key in values[0] else '-') for key in ('holds', 'limit', 'baseline', 'days')],
          [False, None, None, 0])


def test_lacking(t, url):
    """One day, and no events of the figure: no limit, said once, and what a gate makes of it."""
    t.days(url, {'2026-04-01 08:00:00': [(DB, 100, 20, 10)]}, seconds=5)
    now = t.trace(moment('2026-04-02 08:00:00'), 4, [(DB, 900, 20, 10)])
    lines, said = t.fired(url, now, 'cpu.busy > baseline')
    one_day = '1 earlier days have that hour of host made, session own, and 1 of them the figure'
    if lines or said.count(one_day) != 1:
        fail('one day:', lines, said)
    # A figure that several comparisons have: of `until`, and of another trigger.
    lines, said = t.fired(url, now, 'cpu.busy > baseline until < baseline', 'cpu.busy > baseline +50%', 'cpu.idle < baseline')
    if lines or said.count(one_day) != 2 or said.count('cpu.busy has no limit') != 1 or said.count('cpu.idle has no limit') != 1:
        fail('not once for each figure:', lines, said)
    _, said = t.run('analyze', *LISTS, '-i', '1s', '--baseline', url, '--strict', '--fail', 'cpu.busy > baseline', now, status=4)
    if 'never evaluated' not in said and 'no row' not in said and 'baseline' not in said:
        fail('strict:', said)
    t.store(url, t.trace(moment('2026-04-03 08:00:00'), 4, [(DB, 100, 20, 10)]), lists=('-a', 'io'))
    t.store(url, t.trace(moment('2026-04-04 08:00:00'), 4, [(DB, 100, 20, 10)]), lists=('-a', 'io'))
    now = t.trace(moment('2026-04-05 08:00:00'), 4, [(DB, 900, 20, 10)])
    lines, said = t.fired(url, now, 'cpu.busy > baseline', 'io.write_bytes < baseline x0.1')
    if lines or said.count('cpu.busy has no limit at 08:00 (local time): 3 earlier days have that hour') != 1 or \
            '1 of them the figure' not in said or 'io.write_bytes' in said:
        fail('not recorded:', lines, said)
    _, said = t.fired(url, now, 'cpu.busy > baseline', options=('-q',))
    check('quiet', said, '')
    t.run('analyze', '-q', *LISTS, '-i', '1s', '-o', '/dev/null', '--baseline', url, '--fail', 'io.write_bytes > baseline x0.5', now, status=3)
    # The store that the run writes to: the day itself does not count.
    lines, _ = t.fired(url, now, 'io.write_bytes > baseline x0.5', options=('--store', url))
    check('the same store', [line['values'][0]['days'] for line in lines], [3])


def test_lists(t, url):
    """Containers, files, interrupts and calls of a real trace, whose windows are copied to two days before."""
    path = os.path.join(t.data, 'containers')
    options = ('-a', 'cpu,files,irq,syscalls', '--per', 'container')
    t.store(url, path, lists=options[:2], interval='100ms')
    with contextlib.closing(sqlite3.connect(url)) as db:
        for table, in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
            columns = [row[1] for row in db.execute("PRAGMA table_info('%s')" % table)]
            moved = [at for at, column in enumerate(columns) if column == 'begin' or (table == 'windows' and column == 'end')]
            if 'level' not in columns:
                continue
            for row in db.execute('SELECT * FROM "%s"' % table).fetchall():
                for day in (1, 2):
                    copy = [value - day * 86400 * S if at in moved else value for at, value in enumerate(row)]
                    db.execute('INSERT INTO "%s" VALUES(%s)' % (table, ','.join('?' * len(copy))), copy)
        db.commit()
    total = next(line for line in map(json.loads, t.run('analyze', '-q', '-f', 'json', *options, path)[0].splitlines())
                 if line['type'] == 'total')
    rows = next(line for line in map(json.loads, t.run('analyze', '-q', '-f', 'json', *options[:2], path)[0].splitlines())
                if line['type'] == 'total')
    seen = 0
    for figure, among, name, value in (
            ('cpu.containers[name="%s"].run', total['cpu']['containers'], 'name', lambda row: row['run_ns'] / S),
            ('cpu.process[comm="%s"].run', rows['cpu']['processes'], 'comm', lambda row: row['run_ns'] / S),
            ('files.operations[name="%s"].calls', rows['files']['operations'], 'name', lambda row: row['calls']),
            ('irq.hard[name="%s"].time.count', rows['irq']['hard'], 'name', lambda row: row['time']['count']),
            ('irq.soft[vec="%s"].time.max', rows['irq']['soft'], 'vec', lambda row: row['time'].get('max_ns', 0)),
            ('syscalls.by_name[name="%s"].time.p99', rows['syscalls']['by_name'], 'name', lambda row: row['time'].get('p99_ns', 0))):
        for row in among[:3]:
            if not str(row.get(name, '')) or '"' in str(row[name]):
                continue
            same = [value(one) for one in among if one.get(name) == row[name]]
            if name == 'vec' or len(same) == 1:
                wanted = same[0] if '.max' in figure or '.p99' in figure else same[0] / length(total)
                printed, _ = t.run('analyze', '-q', '-f', 'json', '-i', '100ms', '-a', 'cpu', '--baseline', url,
                                   '--trigger', figure % row[name] + ' > baseline x0.1', path)
                lines = [line for line in map(json.loads, printed.splitlines()) if line['type'] == 'trigger']
                if not lines:
                    fail(figure % row[name], 'does not fire')
                check_value(lines[0], wanted, 0.1, 2)
                seen += 1
    if seen < 12:
        fail('only', seen, 'rows were looked at')


def test_wrong(t, url):
    """Wrong use: one line."""
    now = t.trace(moment('2026-04-02 08:00:00'), 2, [(DB, 900, 20, 10)])
    t.store(url, now)
    missing = os.path.join(t.scratch, 'none.db')
    empty = os.path.join(t.scratch, 'text.db')
    with open(empty, 'w') as file:
        file.write('no store, but a text that is long enough to be looked at' * 20)
    busy_now = ('--trigger', 'cpu.busy > baseline')
    for status, text, words in (
            (2, 'baseline needs --baseline STORE', busy_now),
            (2, 'baseline needs --baseline STORE', ('--fail', 'cpu.busy > baseline')),
            (2, '--baseline has no effect: no trigger has a limit', ('--baseline', url, '--trigger', 'cpu.busy > 3%')),
            (2, '--baseline has no effect without', ('--baseline', url)),
            (1, 'none.db', ('--baseline', missing) + busy_now), (2, 'text.db', ('--baseline', empty) + busy_now),
            (2, 'is no store', ('--baseline', 'something') + busy_now),
            (2, 'column 21, at "tid"', ('--baseline', url, '--trigger', 'cpu.busy > baseline tid')),
            (2, 'by their names', ('--baseline', url, '--trigger', 'cpu.thread[7].run > baseline'))):
        _, said = t.run('analyze', '-f', 'json', '-o', '/dev/null', *words, now, status=status)
        if text not in said or said.count('\n') != 1:
            fail(words, said)


def main():
    os.environ['TZ'] = ZONE
    time.tzset()
    sillage, data, scratch = *sys.argv[1:3], tempfile.mkdtemp(prefix='sillage-baseline-')
    machine = None
    try:
        tests = [test_figures, test_hours, test_clocks, test_days, test_rows, test_lists, test_lacking, test_wrong]
        if '--server' in sys.argv:
            if not shutil.which('clickhouse-server'):
                print('skipped: no clickhouse-server')
                sys.exit(77)
            machine, tests = server.Server(os.path.join(scratch, 'server')), [test_figures, test_days]
        for test in tests:
            url = machine.url(test.__name__) if machine else os.path.join(scratch, test.__name__ + '.db')
            test(Test(sillage, data, scratch, machine), url)
    finally:
        if machine:
            machine.kill()
        shutil.rmtree(scratch)
    print('ok baseline: %s' % ', '.join(test.__name__[5:] for test in tests))


if __name__ == '__main__':
    main()
