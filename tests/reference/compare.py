#!/usr/bin/env python3
"""compare: what `sillage compare` says, against a program of its own.

Goal    Each change of `compare -f json` is what two outputs of `analyze -f json` give: rows by name,
        sums per second, maxima and levels as they are, percentiles and D from merged buckets, p from
        Kolmogorov's law; none is missing, and the largest come first.  D is also that of the values
        that babeltrace2 prints, rounded up to the ends of their buckets.
        A trace, its store, a range of it and its JSON are one side; without buckets there is no D,
        and no percentile of rows that were added up.  Rows of ids that have names are found by these.
Figures that one side lacks have no value.  --fail holds exactly where the changes say so.

usage: compare.py SILLAGE DATA [--store] [--babeltrace PROGRAM]
"""
import argparse
import collections
import contextlib
import fnmatch
import json
import math
import os
import re
import sqlite3
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import models  # noqa: E402
import synthetic  # noqa: E402  (models knows where it is)

# Keys that are no sums; all others are.  (doc/definitions.md)
MAXIMA = {'longest_ns', 'oldest_ns', 'depth_max'}
LEVELS = {'in_flight', 'open', 'open_misses'}


def is_age(place, key):
    return place[0] == 'state' and key.endswith('_ns')


NAMES = ('comm', 'path', 'cpu', 'prio', 'irq', 'vec', 'errno', 'order', 'level', 'vpid')
NOT_ROWS = {'missing', 'whole_system', 'longest', 'worst', 'containers', 'container_pairs', 'open', 'blocked', 'runnable', 'running'}
PARTS = {'p50_ns': 0.5, 'p95_ns': 0.95, 'p99_ns': 0.99, 'p999_ns': 0.999}


class Failure(Exception):
    pass


def check(condition, *what):
    if not condition:
        raise Failure(' '.join(str(one) for one in what))


def run(*command, status=0):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    check(done.returncode == status, command, 'ended with', done.returncode, done.stderr.decode())
    return done.stdout.decode(), done.stderr.decode()


def lines(text):
    return [json.loads(line) for line in text.splitlines()]


# ---- what is expected ----

class Spread:
    def __init__(self):
        self.count = self.sum = self.max = 0
        self.min = None
        self.buckets = collections.Counter()
        self.said, self.parts = {}, 0

    def add(self, value):
        if value['count'] == 0:
            return
        self.parts += 1
        self.said = value
        self.count += value['count']
        self.sum += value['sum_ns']
        self.max = max(self.max, value['max_ns'])
        self.min = value['min_ns'] if self.min is None else min(self.min, value['min_ns'])
        if 'buckets' in value:
            self.buckets.update({int(end): count for end, count in value['buckets'].items()})

    def percentile(self, part):
        if self.count == 0 or (not self.buckets and self.parts > 1):
            return None
        if not self.buckets:
            return self.said[part]
        rank, seen = math.ceil(round(PARTS[part] * 1000) * self.count / 1000), 0
        for end in sorted(self.buckets):
            seen += self.buckets[end]
            if seen >= rank:
                return min(end, self.max)


def distance(a, b):
    """Of two Counters of values."""
    most, below = 0, [0, 0]
    count = [sum(a.values()), sum(b.values())]
    for value in sorted(set(a) | set(b)):
        below[0] += a[value]
        below[1] += b[value]
        most = max(most, abs(below[0] / count[0] - below[1] / count[1]))
    return most


def probability(d, n, m):
    root = math.sqrt(n * m / (n + m))
    scaled = (root + 0.12 + 0.11 / root) * d
    if scaled < 0.2:
        return 1
    return min(1, max(0, 2 * sum((-1) ** (k - 1) * math.exp(-2 * k * k * scaled * scaled) for k in range(1, 200))))


def row_name(row):
    for key in ('label', 'name', 'event', 'logger', 'provider', 'procname', 'channel') + NAMES:
        if row.get(key) not in (None, ''):
            name = str(row[key])
            break
    else:
        name = ''
    by = [key for key in row if key in ('by_tid', 'by_pid', 'by_comm')]
    return '%s by %s' % (name, row.get('by_comm', '')) if by else name


def figures_of(total):
    """{(analysis, list, name): {key: number or Spread}}"""
    rows = collections.defaultdict(dict)

    def add(place, row):
        to = rows[place]
        for key, value in row.items():
            if isinstance(value, dict):
                to.setdefault(key, Spread()).add(value)
            elif isinstance(value, int) and not isinstance(value, bool):
                to[key] = max(to.get(key, 0), value) if key in MAXIMA or is_age(place, key) else to.get(key, 0) + value
            elif value is None:
                to[key] = None

    for analysis, members in total.items():
        if not isinstance(members, dict) or analysis in ('trace',):
            continue
        for key, value in members.items():
            if key == 'by_name' and isinstance(value, dict):
                for name, count in value.items():
                    add((analysis, key, name), {'count': count})
            elif isinstance(value, list):
                for row in value if key not in NOT_ROWS else []:
                    add((analysis, key, row_name(row)), row)
            else:
                add((analysis, None, ''), {key: value})
    return rows


def near(a, b):
    return (a is None) == (b is None) and (a is None or abs(a - b) <= 2e-8 * max(abs(a), abs(b), 1e-9))


def check_values(what, found, a, b):
    check(near(found['a'], a) and near(found['b'], b), what, found, 'expected', a, b)
    known = a is not None and b is not None
    # Nine digits of each: a small difference of large values has fewer.
    check((found['difference'] is not None) == known, what, found)
    check(not known or abs(found['difference'] - (b - a)) <= 2e-8 * max(abs(a), abs(b), 1e-9), what, found)
    change = (b - a) / a if known and a > 0 else 0 if known and b == 0 else None
    check((found['change'] is None) == (change is None), what, found, 'expected', change)
    check(change is None or abs(found['change'] - change) <= 1e-7 * max(abs(change), 1), what, found, change)


def check_spread(what, change, sides, seconds):
    a, b = sides
    check_values(what, change['count'], a.count / seconds[0], b.count / seconds[1])
    check_values(what, change['sum_ns'], a.sum / seconds[0], b.sum / seconds[1])
    some = [side if side.count else None for side in sides]
    check_values(what, change['min_ns'], *(side and side.min for side in some))
    check_values(what, change['max_ns'], *(side and side.max for side in some))
    check_values(what, change['mean_ns'], *(side and side.sum / side.count for side in some))
    for part in PARTS:
        check_values(what + (part,), change[part], *(side and side.percentile(part) for side in some))
    if a.buckets and b.buckets:
        d = distance(a.buckets, b.buckets)
        check(near(change['d'], d), what, 'd', change['d'], d)
        check(abs(change['p'] - probability(d, a.count, b.count)) < 1e-6, what, 'p', change['p'])
    else:
        check(change['d'] is None and change['p'] is None, what, 'has a distance without buckets')


# Calls that wait for what others do; "wait" is the operation of files that has those on descriptors.
WAITS = set('accept accept4 clock_nanosleep epoll_pwait epoll_pwait2 epoll_wait futex futex_wait futex_waitv io_getevents '
            'io_pgetevents io_uring_enter msgrcv mq_timedreceive nanosleep pause poll ppoll pselect6 restart_syscall '
            'rt_sigsuspend rt_sigtimedwait select semtimedop sigsuspend wait wait4 waitid waitpid'.split())


def check_rests(change):
    """Idle time, time asleep in calls and unknown time are no cost; they say so."""
    analysis, of, name = place_of(change)
    waits = re.sub('_time(32|64)$', '', name.split('/')[0]) in WAITS
    rests = (analysis in ('cpu', 'lost') and change['key'] in ('idle_ns', 'unknown_ns')
             or (analysis == 'waits' and change['unit'] == 'ns' and change['key'] not in ('run_ns', 'wait_ns', 'preempted_ns'))
             or (analysis == 'syscalls' and change['key'] in ('off_cpu_ns', 'time') and (of != 'by_name' or waits))
             or (analysis, of) == ('files', 'operations') and change['key'] in ('time', 'error_time') and waits
             or (analysis, of, change['key']) == ('jobs', 'parts', 'unknown'))
    check(change.get('rests', False) == rests, change['figure'], 'rests', change.get('rests'))


def place_of(change):
    name = [value for key, value in change.items()
            if key not in ('type', 'figure', 'analysis', 'list', 'key', 'kind', 'unit', 'rests', 'only', 'count', 'a', 'b',
                           'difference', 'change', 'd', 'p') and not key.endswith('_ns')]
    return change['analysis'], change.get('list'), name[0] if name else ''


def check_changes(text, totals):
    """All changes against the two totals; returns how many there are."""
    all_lines = lines(text)
    head, changes = all_lines[0], [one for one in all_lines if one['type'] == 'change']
    seconds = [head[side]['covered_ns'] / 1e9 for side in 'ab']
    for side, total in zip(('a', 'b'), totals):
        check(head[side]['covered_ns'] == total['end'] - total['begin'], 'covered time of', side)
    figures = [figures_of(total) for total in totals]
    lacking = {(one['analysis'], one.get('list'), key) for one in all_lines if one['type'] == 'not-compared'
               for key in one['keys']}
    seen = set()
    for change in changes:
        place, key = place_of(change), change['key']
        check((*place, key) not in seen, 'twice', place, key)
        check((*place[:2], key) not in lacking, 'compared although it is not known', place, key)
        seen.add((*place, key))
        rows = [side.get(place) for side in figures]
        only = None if all(row is not None for row in rows) else 'a' if rows[0] is not None else 'b'
        check(change.get('only') == only, place, key, 'only', change.get('only'), only)
        if change['kind'] == 'spread':
            check_spread((*place, key), change, [(row or {}).get(key) or Spread() for row in rows], seconds)
        elif key in MAXIMA | LEVELS or place[0] == 'state':
            check(change['kind'] == 'level', place, key, 'is a level')
            check_values((*place, key), change, *(row.get(key) if row is not None else None for row in rows))
        else:
            check(change['kind'] == 'rate', place, key, 'is a sum')
            check_values((*place, key), change, *((row or {}).get(key, 0) / s for row, s in zip(rows, seconds)))
    for side in figures:
        for place, row in side.items():
            for key, value in row.items():
                is_figure = key not in NAMES + ('tid', 'pid', 'fd', 'pid_ns', 'by_tid', 'by_pid', 'call')
                counts = value.count if isinstance(value, Spread) else value
                if is_figure and counts and (*place[:2], key) not in lacking:
                    check((*place, key) in seen, 'is missing:', place, key)
    costs = []
    for one in changes:
        value = one['sum_ns'] if one['kind'] == 'spread' else one
        size = value['difference'] if value['difference'] is not None else (value['a'] or 0) + (value['b'] or 0)
        check_rests(one)
        unit = 3 if one.get('rests') else ('ns', 'bytes', 'count').index(one['unit'])
        costs.append((one['kind'] == 'level', unit, -abs(size)))
    for one, other in zip(costs, costs[1:]):
        check(one[:2] < other[:2] or (one[:2] == other[:2] and one[2] <= other[2] + 1e-8 * abs(other[2])), 'order', one, other)
    return len(changes)


# ---- the parts ----

def total_of(text):
    return [line for line in lines(text) if line['type'] == 'total'][-1]


class Pair:
    def __init__(self, sillage, folder, a, b, options=()):
        self.sillage, self.traces = sillage, (a, b)
        self.files, self.bare, self.totals = [], [], []
        for i, trace in enumerate(self.traces):
            for buckets, to in ((['--buckets'], self.files), ([], self.bare)):
                path = os.path.join(folder, '%d%d.json' % (i, len(buckets)))
                run(sillage, 'analyze', '-q', '-f', 'json', '-a', 'all', '-o', path, *buckets, *options, trace)
                to.append(path)
            self.totals.append(total_of(open(self.files[-1]).read()))

    def compare(self, *sides, options=(), status=0):
        return run(self.sillage, 'compare', '-q', '-f', 'json', *options, *sides, status=status)[0]


def check_pair(pair):
    text = pair.compare(*pair.traces)
    count = check_changes(text, pair.totals)
    body = text.split('\n', 1)[1]
    check(pair.compare(*pair.files).split('\n', 1)[1] == body, 'JSON with buckets differs from the traces')
    check(pair.compare(pair.traces[0], pair.files[1]).split('\n', 1)[1] == body, 'a trace and JSON differ')
    check_changes(pair.compare(*pair.bare), [total_of(open(path).read()) for path in pair.bare])
    same = lines(pair.compare(pair.traces[0], pair.files[0]))
    check(all(one['difference'] == 0 for one in same if one['type'] == 'change' and one['kind'] == 'rate'),
          'a trace differs from itself')
    return count


def check_order_of_text(pair):
    """What costs comes before idle and waiting time; a file is there once, unless --per asks for all."""
    text = run(pair.sillage, 'compare', '-n', '0', *pair.traces)[0]
    titles = [line.split(',')[0] for line in text.splitlines() if line[:1].isupper() and not line.startswith(('A ', 'B '))]
    same = [title for title in ('TIME', 'BYTES', 'COUNTS', 'DISTRIBUTIONS', 'IDLE', 'CALLS THAT WAIT', 'MAXIMA AND LEVELS') if title in titles]
    check([title for title in titles if title in same] == same, 'order', titles)
    cost, rest = text.split('\nIDLE, ASLEEP', 1)
    check('cpu.idle_ns' in rest and 'cpu.idle_ns' not in cost and 'off_cpu_ns' not in re.sub(r'by_name\[name=\w+\].off_cpu_ns', '', cost), 'idle')
    check('files.files[' in text and 'files.fds[' not in text, 'files twice')


def check_store(pair, folder):
    """A store is as its trace; a range is as the same range of the trace."""
    store = os.path.join(folder, 'a.db')
    run(pair.sillage, 'analyze', '-q', '-a', 'all', '-i', '100ms', '--store', store, pair.traces[0])
    lists = ('-a', 'count,cpu,io,sched,syscalls,irq,files')
    expected = pair.compare(*pair.traces, options=lists).split('\n', 1)[1]
    check(pair.compare(store, pair.traces[1], options=lists).split('\n', 1)[1] == expected, 'a store differs')
    middle = (pair.totals[0]['begin'] // 10 ** 8 + 4) * 10 ** 8
    # Windows that were lost before they came to the store.
    run(pair.sillage, 'compare', '-q', '-o', '/dev/null', '-a', 'count', '--strict', store, store)
    with contextlib.closing(sqlite3.connect(store)) as db:
        db.execute("INSERT INTO gaps VALUES(?, ?, 7, 'a full disk')", (middle, middle + 1))
        db.commit()
    for sides in ((store, pair.files[0]), (pair.files[0], store)):
        said = run(pair.sillage, 'compare', '-o', '/dev/null', '-a', 'count', '--strict', *sides, status=4)[1]
        check('a.db: 7 windows are missing' in said, said)
    run(pair.sillage, 'compare', '-o', '/dev/null', '-a', 'count', '--host', '*', store + '@..', pair.files[0])
    for span in ('@%dns..' % middle, '@..%dns' % middle):
        ranges = [lines(pair.compare(side + span, pair.traces[1], options=('-a', 'count')))
                  for side in (store, pair.traces[0])]
        check(ranges[0][1:] == ranges[1][1:], 'ranges differ', span)


def check_limits(pair):
    """--fail against what the changes say."""
    changes = [one for one in lines(pair.compare(*pair.traces)) if one['type'] == 'change']
    wake = next(one for one in changes if one['figure'] == 'sched.wake')
    events = next(one for one in changes if one['figure'] == 'count.events')
    p99, rate = wake['p99_ns']['change'] * 100, events['change'] * 100
    cases = [('sched.wake.p99 > %+.3f%%' % (p99 - 0.01), 3), ('sched.wake.p99 > %+.3f%%' % (p99 + 0.01), 0),
             ('sched.wake.p99 < %+.3f%%' % (p99 + 0.01), 3), ('sched.wake.p99 < %+.3f%%' % (p99 - 0.01), 0),
             ('count.events > %+.3f%%' % (rate - 0.01), 3), ('count.events > %+.3f%%' % (rate + 0.01), 0),
             ('sched.wake.p99 > +%dns' % (wake['p99_ns']['difference'] - 1), 3),
             ('sched.wake.p99 > +%dns' % wake['p99_ns']['difference'], 0),
             ('sched.wake.p99 >= %dns' % wake['p99_ns']['b'], 3), ('sched.wake.p99 > %dns' % wake['p99_ns']['b'], 0),
             ('count.events > %.0f/s' % (events['b'] - 1), 3), ('count.events > %.0f/s' % (events['b'] + 1), 0)]
    mean = next(one for one in changes if one['figure'] == 'syscalls.time')['mean_ns']['change'] * 100
    check(mean < -1, 'no figure falls')
    cases += [('syscalls.time.mean < %+.3f%%' % (mean + 0.01), 3), ('syscalls.time.mean < %+.3f%%' % (mean - 0.01), 0)]
    for comm in ('kernel-*', '*'):
        runs = [one for one in changes if one.get('list') == 'threads' and one['analysis'] == 'cpu' and
                one['key'] == 'run_ns' and fnmatch.fnmatch(one['comm'], comm) and one['change'] is not None]
        most = max(one['change'] for one in runs) * 100
        news = any(one['a'] == 0 and one['b'] > 0 for one in changes if one.get('list') == 'threads' and
                   one['analysis'] == 'cpu' and one['key'] == 'run_ns' and fnmatch.fnmatch(one['comm'], comm))
        cases += [('cpu.threads[comm=%s].run > %+.3f%%' % (comm, most - 0.01), 3),
                  ('cpu.threads[comm=%s].run > %+.3f%%' % (comm, most + 0.01), 3 if news else 0)]
    busy = pair.totals[1]['cpu']
    share = 100 * busy['busy_ns'] / (busy['busy_ns'] + busy['idle_ns'] + busy['unknown_ns'])
    cases += [('cpu.busy > %.3f%%' % (share - 0.01), 3), ('cpu.busy > %.3f%%' % (share + 0.01), 0)]
    fails = [option for text, _ in cases for option in ('--fail', text)]
    tap = run(pair.sillage, 'compare', '-q', '-o', '/dev/null', '--tap', '-', *fails, *pair.traces, status=3)[0]
    for number, (text, status) in enumerate(cases, 1):
        check(('not ' if status else '') + 'ok %d - fail: %s\n' % (number, text) in tap, text, 'is', status, tap)
    held = [option for text, status in cases if status == 0 for option in ('--fail', text)]
    check(run(pair.sillage, 'compare', '-o', '/dev/null', *held, *pair.traces) == ('', ''), 'what does not hold fails')
    return len(cases)


def check_unmeasured(pair, folder):
    """Never zero: what a side lacks has no value, and a limit on it is no success that nobody sees."""
    path = os.path.join(folder, 'lacks.json')
    total = json.loads(json.dumps(pair.totals[1]))
    total['sched'].update(wake=None, threads=[], missing=[{'event': 'sched_waking', 'command': ''}])
    del total['irq']
    with open(path, 'w') as out:
        out.write(json.dumps({'type': 'start', 'top': 3}) + '\n' + json.dumps(total) + '\n')
    both = lines(pair.compare(pair.files[0], path))
    lacks = {(one['analysis'], one.get('list')): one for one in both if one['type'] == 'not-compared'}
    check(lacks['sched', None]['lacks'] == ['b'] and 'wake' in lacks['sched', None]['keys'], lacks.get(('sched', None)))
    check('wake' in lacks['sched', 'threads']['keys'], 'an empty list of what is not recorded is known')
    check(lacks['irq', 'soft']['lacks'] == ['b'], 'an analysis that is not there')
    check(not any(one['figure'] == 'sched.wake' for one in both if one['type'] == 'change'), 'it is compared')
    # A list that --top has cut: a row that is not there is not known.
    gone = [one for one in both if one['type'] == 'change' and one['analysis'] == 'cpu' and
            one.get('list') == 'threads' and one.get('only') == 'a' and one['kind'] == 'rate']
    check(gone and all(one['b'] is None and one['difference'] is None for one in gone), 'cut rows are 0')
    for figure, quiet in (('sched.wake.p99', ()), ('irq.hard_ns', ()), ('irq.hard_ns', ('-q',))):
        text = run(pair.sillage, 'compare', *quiet, '-o', '/dev/null', '--fail', figure + ' > +1%', pair.files[0], path,
                   status=1)[1]
        check(text.count('never evaluated') == 1 and figure in text, text)
    # A distribution that lacks one of its figures is not known.
    for key in ('count', 'sum_ns', 'min_ns', 'max_ns'):
        bare = total_of(open(pair.bare[1]).read())
        del bare['syscalls']['time'][key]
        with open(path, 'w') as out:
            out.write(json.dumps(bare) + '\n')
        text = run(pair.sillage, 'compare', '-o', '/dev/null', '--fail', 'syscalls.time.max > 0ns', pair.files[0], path, status=1)[1]
        check('syscalls.time.max is not recorded in' in text, key, text)
    nobody = ('--fail', 'cpu.threads[comm=nobody].run > +1%', '-a', 'count,cpu')
    text = run(pair.sillage, 'compare', '-o', '/dev/null', *nobody, *pair.files)[1]
    check('never evaluated' in text, text)
    run(pair.sillage, 'compare', '-o', '/dev/null', '--strict', *nobody, *pair.files, status=4)


def check_refused(pair, folder):
    broken = os.path.join(folder, 'broken.json')
    good = open(pair.files[0]).read().splitlines()
    total = next(i for i, line in enumerate(good) if '"type":"total"' in line)
    for what, line in (('cut', good[total][:-40]), ('list', good[total].replace('"threads":[', '"threads":[7,', 1)),
                       ('number', good[total].replace('"busy_ns":', '"busy_ns":"x","y":', 1)),
                       ('negative', good[total].replace('"busy_ns":', '"busy_ns":-', 1)),
                       ('negative spread', good[total].replace('"sum_ns":', '"sum_ns":-', 1)),
                       ('buckets', re.sub(r'"buckets":\{"(\d+)":(\d+)', r'"buckets":{"\1":1\2', good[total], 1)),
                       ('fewer', re.sub(r'"buckets":\{"\d+":\d+,', '"buckets":{', good[total], 1)),
                       ('deep', '[' * 100000)):
        with open(broken, 'w') as out:
            out.write(good[0] + '\n' + line + '\n')
        text = run(pair.sillage, 'compare', broken, pair.files[1], status=2)[1]
        check('broken.json: line 2: ' in text and text.count('\n') == 1, what, text)
    for limit in ('sched.wake.p99 > 20%', 'cpu.busy > 10ms', 'cpu.threads[7].run > +1%', 'cpu.threads[pid=7].run > +1%',
                  'sched.wake.stdev > +1%', 'preempt.pairs[comm=x].waited > +1%', 'sched.wake.p99 > +1% for 3s',
                  'sched.wake.p99 > ', 'sched.wake > +1%', 'sched.wake.p99.rate > +1%'):
        text = run(pair.sillage, 'compare', '--fail', limit, *pair.files, status=2)[1]
        check('--fail "%s"' % limit in text and text.count('\n') == 1, limit, text)
    for option in ('--host', '--session'):
        text = run(pair.sillage, 'compare', option, '*', pair.traces[0], pair.files[1], status=2)[1]
        check(option + ' has no effect: neither A nor B is a store' in text and text.count('\n') == 1, text)
    text = run(pair.sillage, 'compare', '--period', 'x = nope; nope; by a', *pair.traces, status=1)[1]
    check('no event "nope" is recorded' in text and text.count('\n') == 1, text)
    text = run(pair.sillage, 'compare', pair.files[0] + '@-1s..', pair.files[1], status=2)[1]
    check('no range' in text, text)


def check_joined(pair, folder):
    """Two traces of one time are one side: its figures are twice as large, its time is not."""
    path = os.path.join(folder, 'twice.json')
    other = json.loads(json.dumps(pair.totals[0]))
    other['trace']['domain'] = 'ust'
    other['end'] -= 10 ** 9
    with open(path, 'w') as out:
        out.write('\n'.join(json.dumps(one) for one in (pair.totals[0], dict(pair.totals[0], so_far=True), other)) + '\n')
    head, *changes = lines(pair.compare(pair.files[0], path))
    check(head['b']['traces'] == 2 and head['b']['covered_ns'] == head['a']['covered_ns'], head)
    for one in changes:
        if one['type'] == 'change' and one['kind'] == 'rate':
            check(near(one['b'], 2 * one['a']), 'joined', one)
        elif one['type'] == 'change' and one['kind'] == 'spread':
            check(near(one['count']['b'], 2 * one['count']['a']) and one['p99_ns']['difference'] == 0 and one['d'] == 0, one)
        elif one['type'] == 'change' and one['key'] in MAXIMA:
            check(one['difference'] == 0, one)


# ---- names of ids ----

LABELLED = '''label callback = m:register key=$pid,cb name=symbol
period work = m:start; m:end; by $tid, cb; group callback(cb)
'''


def labelled(folder, name, pid, first, steps):
    """A trace: callbacks from number @first on.  The first two have one name, the third another, the last none."""
    events, ts = [], 1000000000
    for i, symbol in enumerate(('one "of" two', 'one "of" two', 'alone')):
        events.append(models.made_event(ts + i, pid, pid, 'm:register', first + i, symbol))
    for i, ns in enumerate(steps):
        ts += 1000000
        events.append(models.made_event(ts, pid, pid, 'm:start', first + i % 4))
        events.append(models.made_event(ts + ns, pid, pid, 'm:end', first + i % 4))
    packet = synthetic.packet(0, 0, 1000000000, ts + 1000000, [data for _, data in events])
    return synthetic.Made(folder, name, [packet], models.made_metadata()).path


def check_labels(sillage, folder):
    """The ids of two runs differ, their names do not."""
    model = os.path.join(folder, 'model')
    with open(model, 'w') as file:
        file.write(LABELLED)
    traces = [labelled(folder, 'before', 10, 64, [1000 * (i % 7 + 1) for i in range(40)]),
              labelled(folder, 'after', 20, 512, [1500 * (i % 5 + 1) for i in range(60)])]
    pair = Pair(sillage, folder, *traces, options=('--model', model))
    text = pair.compare(*traces, options=('--model', model))
    count = check_changes(text, pair.totals)
    changes = {one['name']: one for one in lines(text) if one['type'] == 'change' and one.get('list') == 'by_name' and
               one['analysis'] == 'periods'}
    check(set(changes) == {'work one "of" two', 'work alone', 'work callback=67@10', 'work callback=515@20'}, changes)
    check(changes['work one "of" two'].get('only') is None and changes['work callback=67@10']['only'] == 'a', changes)
    check(near(changes['work one "of" two']['count']['b'] / 30 * 15, changes['work alone']['count']['b']), changes)
    # JSON has the names that its run had, whatever is asked here.
    check(pair.compare(*pair.files).split('\n', 1)[1] == text.split('\n', 1)[1], 'JSON differs from the traces')
    some = pair.compare(*traces, options=('-a', 'count', '--model', model))
    check(any(one.get('analysis') == 'periods' for one in lines(some)), 'what is asked for is not compared')
    figure = changes['work one "of" two']['figure'] + '.p99'
    limit = changes['work one "of" two']['p99_ns']['change'] * 100
    pair.compare(*traces, options=('--model', model, '--fail', '%s > %+.3f%%' % (figure, limit - 0.01)), status=3)
    pair.compare(*traces, options=('--model', model, '--fail', '%s > %+.3f%%' % (figure, limit + 0.01)))
    text = run(sillage, 'compare', '-a', 'periods', *traces, status=2)[1]
    check('before: no period or job to measure' in text and text.count('\n') == 1, text)
    check(pair.compare(*pair.files, options=('-a', 'periods')).count('"analysis":"periods"') > 4, 'periods of JSON')
    return count


# ---- D from the events ----

def soft_times(babeltrace, trace):
    """Durations of soft interrupts as babeltrace2 prints their events, by vector."""
    text = run(babeltrace, '--clock-cycles', '--no-delta', trace)[0]
    begun, times = {}, collections.defaultdict(list)
    for line in text.splitlines():
        found = re.match(r'.*?\[(?:timestamp = )?(\d+)\].*?irq_softirq_(entry|exit):.*cpu_id = (\d+).*vec = (\d+)', line)
        if found:
            ts, kind, place = int(found.group(1)), found.group(2), (found.group(3), found.group(4))
            if kind == 'entry':
                begun[place] = ts
            elif place in begun:
                times[place[1]].append(ts - begun.pop(place))
    return times


def bucket_end(value):
    if value < 64:
        return value
    shift = value.bit_length() - 7
    return ((value >> shift) + 1 << shift) - 1


def check_samples(pair, babeltrace):
    sides = [soft_times(babeltrace, trace) for trace in pair.traces]
    changes = {one['vec']: one for one in lines(pair.compare(*pair.traces, options=('-a', 'irq')))
               if one['type'] == 'change' and one.get('list') == 'soft' and one['key'] == 'time'}
    count = 0
    for vec, a in sides[0].items():
        b = sides[1].get(vec, [])
        if not b:
            continue
        count += len(a) + len(b)
        rounded = distance(*(collections.Counter(bucket_end(value) for value in side) for side in (a, b)))
        exact = distance(collections.Counter(a), collections.Counter(b))
        check(near(changes[vec]['d'], rounded), 'vector', vec, changes[vec]['d'], rounded)
        check(rounded <= exact + 1e-12, 'buckets tell more apart than values', rounded, exact)
        check(near(changes[vec]['count']['a'], len(a) * 1e9 / (pair.totals[0]['end'] - pair.totals[0]['begin'])), vec)
    check(count > 500, 'few samples', count)
    return count


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('sillage')
    parser.add_argument('data')
    parser.add_argument('--babeltrace')
    args = parser.parse_args()
    pairs = (('burst', 'migrate/kernel'), ('rt-mutex-none/kernel', 'rt-mutex-inherit/kernel'))
    try:
        for number, names in enumerate(pairs):
            with tempfile.TemporaryDirectory() as folder:
                pair = Pair(args.sillage, folder, *(os.path.join(args.data, name) for name in names))
                said = ['%d changes' % check_pair(pair)]
                if names[0] != names[1]:
                    check_order_of_text(pair)
                if number == 0:
                    said.append('%d limits' % check_limits(pair))
                    check_unmeasured(pair, folder)
                    check_refused(pair, folder)
                    check_joined(pair, folder)
                    check_labels(args.sillage, folder)
                    check_store(pair, folder)
                    if args.babeltrace:
                        said.append('%d samples' % check_samples(pair, args.babeltrace))
                print('ok %s: %s' % (' and '.join(names), ', '.join(said)))
    except Failure as failure:
        print('not ok: %s' % failure)
        return 1
    return 0


if __name__ == '__main__':
    sys.exit(main())
