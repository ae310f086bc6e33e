#!/usr/bin/env python3
"""fleet: `history --per host` says what each host's traces say, and who is far; triggers on N hosts.

Goal    Each figure of each host is that of `analyze` of its traces, put together: kernel and user space,
        two sessions, for each window and for the total.  What no trace of a host records is null, never
        0; who has no window is named.  Medians, spreads and distances are those of plain Python, and
        those who are made to be far are found.  Triggers by host and `on N hosts` fire in the windows in
        which a plain loop over the figures has them fire, with the hosts on which they hold.
        --fail: exit status 3.  Wrong words: one line, exit status 2.
Method  Copies of the traces given by the name of another host; stores that this program writes, row by
        row, with figures drawn at random.

usage: fleet.py SILLAGE DATA
"""
import contextlib
import json
import math
import os
import random
import shutil
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time

SECOND = 1000000000
# Names of two letters: the metadata has those of `db`, or of `testhost` and then blanks.
TRACES = (('w1', 'burst/kernel'), ('w2', 'idle-gaps/kernel'), ('w3', 'io-mix/kernel'),
          ('w4', 'migrate/kernel'), ('w5', 'sched-compact/kernel'), ('w6', 'small-packets/kernel'),
          ('w6', 'timer-jobs/kernel'), ('w1', 'ust'), ('u7', 'ust'))
FIGURES = ('cpu.busy', 'cpu.idle', 'sched.wake.p99', 'sched.wake.count', 'sched.wake.mean', 'syscalls.errors.rate',
           'syscalls.by_name[name=read].time.max', 'io.read_bytes.rate', 'cpu.threads[comm=b*].run', 'cpu.process.switches',
           'memory.allocated_pages', 'count.rate', 'count.by_name[name=sched_*]', 'ust.processes.events', 'faults.major',
           'cpu.cpus[1].busy')


def fail(*what):
    raise SystemExit('not ok ' + ' '.join(str(one) for one in what))


def run(*command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def lines(*command, status=0):
    code, printed, said = run(*command)
    if code != status or (status == 0 and said):
        fail('%s: exit %d: %s' % (' '.join(command), code, said))
    return [json.loads(line) for line in printed.splitlines()]


def near(a, b, tolerance=1e-6):
    return a is None and b is None if a is None or b is None else math.isclose(a, b, rel_tol=tolerance, abs_tol=1e-6)


# ---- figures of a host, from the lines of its traces ----

def total(reports, *path):
    """The sum over those that know it; None: none does."""
    found = []
    for report in reports:
        for key in path:
            report = (report or {}).get(key)
        if report is not None:
            found.append(report)
    return sum(found) if found else None


def rows_of(reports, analysis, table):
    """The rows of those that know of the analysis; None: none does."""
    known = [report[analysis] for report in reports if analysis in report]
    return [row for one in known for row in one[table]] if known else None


def spread(parts):
    """What distributions have together; None: not known."""
    known = [part for part in parts if part is not None]
    buckets = {}
    for part in known:
        for end, count in part.get('buckets', {}).items():
            buckets[int(end)] = buckets.get(int(end), 0) + count
    filled = [part for part in known if part['count']]
    return {'count': sum(part['count'] for part in known), 'sum': sum(part['sum_ns'] for part in filled),
            'max': max((part['max_ns'] for part in filled), default=None), 'buckets': sorted(buckets.items()),
            'min': min((part['min_ns'] for part in filled), default=None)} if known else None


def percentile(found, share):
    if not found or not found['count']:
        return None
    rank, seen = max(1, math.ceil(share * found['count'])), 0
    for end, count in found['buckets']:
        seen += count
        if seen >= rank:
            return min(max(end, found['min']), found['max'])


def lacks(report, analysis, event):
    return any(one['event'] == event for one in report.get(analysis, {}).get('missing', ()))


def covered(spans):
    """The time that they cover."""
    length, until = 0, 0
    for begin, end in sorted(spans):
        length += max(0, end - max(begin, until))
        until = max(until, end)
    return length


def figures_of(reports):
    """By host: of the windows or totals of its traces at one time."""
    length = covered([(report['begin'], report['end']) for report in reports])
    busy, idle, unknown = (total(reports, 'cpu', key) for key in ('busy_ns', 'idle_ns', 'unknown_ns'))
    whole = None if busy is None else busy + idle
    known = whole / (whole + unknown) if whole else 1  # the share of the CPUs' time of which is known what ran
    wake = spread([report.get('sched', {}).get('wake') for report in reports])
    with_calls = [report for report in reports if not lacks(report, 'syscalls', 'syscall_*')]
    with_switches = [report for report in reports if not lacks(report, 'cpu', 'sched_switch')]
    reads = spread([row['time'] for row in rows_of(with_calls, 'syscalls', 'by_name') or () if row['name'] == 'read'])
    errors, bytes_read = total(reports, 'syscalls', 'errors'), total(reports, 'io', 'read_bytes')

    def of_rows(table, key, wanted):
        return sum(row[key] for row in rows_of(with_switches, 'cpu', table) if wanted(row)) if with_switches else None

    def share(value, of):
        return None if value is None or not of else value / of

    with_users = [report for report in reports if not lacks(report, 'ust', '*')]
    by_name = [report['count']['by_name'] for report in reports]
    return {
        'cpu.busy': share(busy, whole), 'cpu.idle': share(idle, whole),
        'sched.wake.p99': percentile(wake, 0.99), 'sched.wake.count': wake and wake['count'],
        'sched.wake.mean': wake['sum'] / wake['count'] if wake and wake['count'] else None,
        'syscalls.errors.rate': share(errors, length / SECOND),
        'syscalls.by_name[name=read].time.max': reads and reads['max'],
        'io.read_bytes.rate': share(bytes_read, length / SECOND),
        'known': known, 'covered': length,
        'cpu.threads[comm=b*].run': share(of_rows('threads', 'run_ns', lambda row: row.get('comm', '').startswith('b')), length * known),
        'cpu.process.switches': of_rows('processes', 'switches', lambda row: True),
        'memory.allocated_pages': total(reports, 'memory', 'allocated_pages'),
        'count.rate': total(reports, 'count', 'events') * SECOND / length,
        'count.by_name[name=sched_*]': sum(count for names in by_name for name, count in names.items() if name.startswith('sched_')),
        'ust.processes.events': sum(row['events'] for row in rows_of(with_users, 'ust', 'processes')) if with_users else None,
        'faults.major': total(reports, 'faults', 'major'),
        'cpu.cpus[1].busy': share(of_rows('cpus', 'busy_ns', lambda row: row['cpu'] == 1), length * known),
    }


# ---- who is far ----

def robust(values):
    """Median, spread (None: too few), and whether enough are known to be far."""
    if not values:
        return None, None, False
    median = statistics.median(values)
    away = [abs(value - median) for value in values]
    found = 1.4826 * statistics.median(away) or 1.2533 * sum(away) / len(away)
    return median, max(found, abs(median) / 64) if len(values) >= 3 else None, len(values) >= 4


def check_table(what, table, expected):
    """@expected: by row name the values by figure."""
    names = [column['figure'] for column in table['figures']]
    rows = {row.get('container', row['host']): row for row in table['rows']}
    if set(rows) != set(expected):
        fail(what, 'rows', sorted(rows), 'expected', sorted(expected))
    for at, (name, column) in enumerate(zip(names, table['figures'])):
        judged = {row for row, figures in expected.items() if figures.get('known', 1) >= 0.9}
        values = [expected[row][name] for row in judged if expected[row][name] is not None]
        median, width, may_be_far = robust(values)
        if column['known'] != len(values) or not near(column['median'], median) or not near(column['spread'], width):
            fail(what, name, column, 'expected', len(values), median, width)
        for row, figures in expected.items():
            value, found = figures[name], rows[row]['values'][at]
            if not near(rows[row]['known'], figures.get('known', 1)) or rows[row]['judged'] != (row in judged):
                fail(what, row, 'known', rows[row]['known'], rows[row]['judged'], 'expected', figures.get('known', 1))
            if rows[row]['covered_ns'] != figures.get('covered', rows[row]['covered_ns']):
                fail(what, row, 'covers', rows[row]['covered_ns'], 'expected', figures['covered'])
            distance = None if value is None or width is None or row not in judged else (value - median) / width if width else 0
            if not near(found, value) or not near(rows[row]['distances'][at], distance, 1e-3 if distance else 0):
                if distance is None or abs(rows[row]['distances'][at] - distance) > 0.001 + 1e-5 * abs(distance) or not near(found, value):
                    fail(what, row, name, found, rows[row]['distances'][at], 'expected', value, distance)
            is_far = may_be_far and distance is not None and abs(distance) >= 3.5
            if (name in rows[row]['far']) != is_far:
                fail(what, row, name, 'far', rows[row]['far'], distance)


class Test:
    def __init__(self, sillage, data, scratch):
        self.sillage, self.data, self.scratch = sillage, data, scratch
        self.store = os.path.join(scratch, 'traces.db')
        self.paths = []

    def fleet(self, *options, store=None, status=0):
        """Tables and triggers."""
        return lines(self.sillage, 'history', '-q', '-f', 'json', '--per', 'host', *options, store or self.store, status=status)

    # ---- stores made of traces ----

    def make_traces(self):
        for number, (host, name) in enumerate(TRACES):
            path = os.path.join(self.scratch, 'trace-%d' % number)
            shutil.copytree(os.path.join(self.data, name), path)
            with open(os.path.join(path, 'metadata'), 'rb') as file:
                text = file.read()
            uuid = text[4:20]
            own = bytes([number]) + uuid[1:]
            for one in os.listdir(path):
                if os.path.isdir(os.path.join(path, one)):
                    continue
                with open(os.path.join(path, one), 'rb') as file:
                    text = file.read()
                for old, new in ((uuid, own), (b'%s-' % uuid[:4].hex().encode(), b'%s-' % own[:4].hex().encode()),
                                 (b'"testhost"', b'"%s"      ' % host.encode()), (b'"db"', b'"%s"' % host.encode())):
                    text = text.replace(old, new)
                with open(os.path.join(path, one), 'wb') as file:
                    file.write(text)
            self.paths.append((host, path))
            lines(self.sillage, 'analyze', '-q', '-f', 'json', '-a', 'all', '-i', '500ms', '--store', self.store, path)

    def check_figures(self):
        reports = []
        for host, path in self.paths:
            for line in lines(self.sillage, 'analyze', '-q', '-f', 'json', '--buckets', '-a', 'all', '-i', '1s', path):
                if line['type'] in ('window', 'total'):
                    if line['trace']['host'] != host:
                        fail('the trace of', host, 'is', line['trace'])
                    reports.append((host, line))
        options = [word for figure in FIGURES for word in ('--figure', figure)]
        tables = [line for line in self.fleet(*options, '-i', '1s') if line['type'].startswith('fleet-')]
        slots = sorted({line['begin'] // SECOND for _, line in reports if line['type'] == 'window'})
        hosts = {host for host, _ in self.paths}
        if len(tables) != len(slots) + 1:
            fail('figures: %d tables, expected %d' % (len(tables), len(slots) + 1))
        far = set()
        for slot, table in zip(slots + [None], tables):
            found = {}
            for host, line in reports:
                if line['type'] == 'total' if slot is None else line['type'] == 'window' and line['begin'] // SECOND == slot:
                    found.setdefault(host, []).append(line)
            check_table('figures in %s' % slot, table, {host: figures_of(of) for host, of in found.items()})
            if set(table['absent']) != hosts - set(found) or table['host_count'] != len(found):
                fail('figures in %s: absent: %s' % (slot, table['absent']))
            far |= {(row['host'], name) for row in table['rows'] for name in row['far']}
            for row in table['rows']:
                if row['traces'] != len(found[row['host']]):
                    fail('figures in %s: %s has %d traces' % (slot, row['host'], row['traces']))
        if ('w3', 'io.read_bytes.rate') not in far:
            fail('figures: far are', far)

    def check_merged(self):
        """What no trace records is unknown, also where traces are joined."""
        found = [line for line in lines(self.sillage, 'history', '-q', '-f', 'json', '--merged', '--host', 'w[45]', '-a',
                                        'memory', self.store) if line['type'] == 'total']
        if found[0]['memory']['allocated_pages'] is not None:
            fail('merged: unknown figures are', found[0]['memory']['allocated_pages'])

    def check_containers(self):
        path, store = os.path.join(self.data, 'containers', 'kernel'), os.path.join(self.scratch, 'containers.db')
        lines(self.sillage, 'analyze', '-q', '-f', 'json', '-a', 'cpu,syscalls', '-i', '100ms', '--store', store, path)
        whole = lines(self.sillage, 'analyze', '-q', '-f', 'json', '-a', 'cpu,syscalls', '--per', 'container', path)
        whole = [line for line in whole if line['type'] == 'total'][0]
        length = whole['end'] - whole['begin']
        expected = {row['name']: {'cpu.containers.run': row['run_ns'] / length, 'syscalls.containers.errors.rate': 0}
                    for row in whole['cpu']['containers']}
        for row in whole['syscalls']['containers']:
            expected[row['name']]['syscalls.containers.errors.rate'] = row['errors'] * SECOND / length
        found = lines(self.sillage, 'history', '-q', '-f', 'json', '--per', 'host,container', '-a', 'cpu,syscalls', store)
        check_table('containers', [line for line in found if line['type'] == 'fleet-total'][0], expected)

    # ---- stores made row by row ----

    def make_store(self, name, hosts, figures, level=SECOND):
        """@figures: (host, second) -> (busy, {tid: run}, complete[, unknown]) in shares of a second of one CPU."""
        path = os.path.join(self.scratch, name)
        if os.path.exists(path):
            os.unlink(path)
        lines(self.sillage, 'analyze', '-q', '-f', 'json', '-a', 'cpu', '-i', '1s', '--store', path, self.paths[3][1])
        with contextlib.closing(sqlite3.connect(path)) as db:
            for table in ('traces', 'windows', 'threads', 'cpu_totals', 'cpu_cpus', 'cpu_threads', 'cpu_containers'):
                db.execute('DELETE FROM "%s"' % table)
            for number, host in enumerate(hosts):
                db.execute('INSERT INTO traces (trace, id, host, session, domain, path) VALUES (?, ?, ?, ?, ?, ?)',
                           (number + 1, 'id %d' % number, host, 's', 'kernel', '/p'))
            for (host, second), (busy, threads, complete, *rest) in figures.items():
                unknown = int(rest[0] * level) if rest else 0
                key = (level, second * SECOND, hosts.index(host) + 1)
                db.execute('INSERT INTO windows(level, begin, trace, "end", complete, events, discarded, lost_packets, bad_packets, late_events,'
                           ' analyses, missing, unknown) VALUES (?, ?, ?, ?, ?, 9, 0, 0, 0, 0, ?, ?, ?)',
                           key + (second * SECOND + level, complete, 'cpu', '', ''))
                if busy is not None:
                    db.execute('INSERT INTO cpu_totals (level, begin, trace, busy_ns, idle_ns, unknown_ns) VALUES (?, ?, ?, ?, ?, ?)',
                               key + (int(busy * level), level - int(busy * level) - unknown, unknown))
                for tid, share in threads.items():
                    db.execute('INSERT INTO cpu_threads VALUES (?, ?, ?, ?, 0, ?, ?, NULL, 0, ?, 1, 0, 0, 1)',
                               key + (tid, tid, 'work%d' % tid, int(share * level)))
            db.commit()
        return path

    def check_clocks(self):
        """Clocks that are an hour off: who is ahead hides nobody, and is named."""
        now, hour = int(time.time()), 3600
        hosts = ('ahead', 'behind', 'right')
        figures = {(host, now // 60 * 60 - 300 + off + second): (0.25, {}, 1) for second in range(300)
                   for host, off in (('ahead', hour), ('behind', -hour), ('right', 0))}
        store = self.make_store('clocks.db', hosts, figures)
        for more in ((), ('--per', 'host', '--figure', 'cpu.busy', '-i', '1s')):
            code, out, said = run(self.sillage, 'history', '-f', 'json', '-a', 'cpu', *more, '--since', '-2m', store)
            if code != 0:
                fail('clocks', more, code, said)
            found = [json.loads(line) for line in out.splitlines()]
            if more:
                total = [line for line in found if line['type'] == 'fleet-total'][0]
                seen = {row['host'] for row in total['rows']}
            else:
                seen = {line['trace']['host']: line['cpu']['busy_ns'] for line in found if line['type'] == 'total'}
            if set(seen) != set(hosts) or not more and any(abs(busy - 30 * SECOND) > 20 * SECOND for busy in seen.values()):
                fail('clocks', more, seen, said)
            for host, text in (('ahead', 'its clock is '), ('behind', 'its newest window ended ')):
                if '%s/s/kernel: %s' % (host, text) not in said:
                    fail('clocks', host, said)
        self.check_joint_clocks(store, figures)
        self.check_many_clocks()
        with subprocess.Popen([self.sillage, 'history', '--follow', '-q', '-f', 'json', '-a', 'cpu', '-i', '1s', store],
                              stdout=subprocess.PIPE) as process:
            seen = set()
            while not set(hosts) <= seen:
                line = json.loads(process.stdout.readline())
                if line['type'] == 'window':
                    seen.add(line['trace']['host'])
            process.terminate()
        print('ok clocks that are off')

    def check_many_clocks(self):
        """Of many hosts whose clocks are off each counts back from its own newest window, and a line names all."""
        now = int(time.time()) // 60 * 60
        for start, ahead in ((now - 7200, 3600), (now - 7200, -3600), (500, -400)):
            hosts = {'h%02d' % number: ahead if number % 3 else 0 for number in range(30)}
            store = self.make_store('many-clocks.db', list(hosts), {
                (host, start + off + second): (0.25, {}, 1) for host, off in hosts.items() for second in range(100)})
            command = [self.sillage, 'history', '-f', 'json', '-a', 'cpu', '--since', '-60s', store]
            if start == 500:
                command[-2] = '-300s'  # of those that end at 200 s this is all
            code, out, said = run(*command)
            busy = {line['trace']['host']: line['cpu']['busy_ns'] for line in map(json.loads, out.splitlines()) if line['type'] == 'total'}
            # Without a host in the future all is in the past: the newest of all is that of the clocks ahead.
            off = 10 if ahead > 0 else 20
            text = ['%d traces, h%02d/s/kernel and others: their newest windows ended up to %d s before those of others' % (
                off, 0 if ahead > 0 else 1, abs(ahead))]
            if code != 0 or busy != {host: (25 if start == 500 else 15) * SECOND for host in hosts}:
                fail('many clocks', start, ahead, code, busy, said)
            if [line for line in said.splitlines() if 'counted back' in line and text[0] in line] != said.splitlines():
                fail('many clocks', start, ahead, said)
            if run(*command, '-q')[2] != '':
                fail('many clocks', 'with -q', run(*command, '-q')[2])
        now = int(time.time())  # the range ends when it is asked for
        hosts = {'h%02d' % number: 3600 if number % 3 else 0 for number in range(30)}
        store = self.make_store('many-clocks.db', list(hosts), {
            (host, now + off + second - 100): (0.25, {}, 1) for host, off in hosts.items() for second in range(100)})
        said = run(self.sillage, 'history', '-f', 'json', '-a', 'cpu', '--since', '-60s', store)[2]
        if said.count('\n') != 1 or '20 traces, h01/s/kernel and others: their clocks are up to ' not in said:
            fail('many clocks', 'in the future', said)

    def check_joint_clocks(self, store, figures):
        """In windows of all hosts, who is ahead counts as if it were not: at the start, and for who comes later."""
        last = max(second for host, second in figures if host == 'right')
        for since in (('--since', '-10m'), ('--since', '@0')):
            with subprocess.Popen([self.sillage, 'history', '--follow', '-f', 'json', '-a', 'cpu', '-i', '5s', *since, '--per', 'host', '--figure', 'cpu.busy',
                                   '--trigger', 'cpu.busy > 10% on 2 hosts', store], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
                both = fired = False
                while not (both and fired):
                    line = json.loads(process.stdout.readline())
                    fired |= line['type'] == 'trigger' and {host['host'] for host in line['hosts']} == {'ahead', 'right'}
                    both |= line['type'] == 'fleet-window' and {'ahead', 'right'} <= {row['host'] for row in line['rows']}
                    if line['type'] == 'fleet-window' and line['begin'] > (last + 60) * SECOND:
                        fail('clocks', since, 'a window in the future', line)
                process.terminate()
                said = process.stderr.read().decode()
            if said.count('ahead/s/kernel: its clock is ') != 1:
                fail('clocks', since, said)
        code, out, said = run(self.sillage, 'history', '-f', 'json', '-a', 'cpu', '-i', '5s', '--per', 'host', '--figure', 'cpu.busy', '--since', '-3m', store)
        rows = [{row['host'] for row in line['rows']} for line in map(json.loads, out.splitlines()) if line['type'] == 'fleet-window']
        if code != 0 or rows.count({'ahead', 'right'}) < 10:
            fail('clocks', code, rows, said)
        merged = [json.loads(line) for line in run(self.sillage, 'history', '-q', '-f', 'json', '-a', 'cpu', '-i', '5s', '--merged', '--since', '-3m',
                                                   store)[1].splitlines()]
        if not any(line['type'] == 'window' and line['cpu']['busy_ns'] == 2.5 * SECOND for line in merged):
            fail('clocks', 'merged', [line['cpu']['busy_ns'] for line in merged if line['type'] == 'window'])

    def check_far(self):
        rng = random.Random(5)
        hosts = ['node%d' % number for number in range(7)]
        figures = {(host, 100 + second): (0.4 + 0.02 * rng.random() + (0.4 if host == 'node3' else 0), {}, 1)
                   for host in hosts for second in range(20)}
        store = self.make_store('far.db', hosts, figures)
        tables = [line for line in self.fleet('--figure', 'cpu.busy', '-i', '5s', store=store) if line['type'].startswith('fleet-')]
        for table in tables:
            if [row['host'] for row in table['rows'] if row['far']] != ['node3'] or table['rows'][0]['host'] != 'node3':
                fail('far:', table)
        if len(tables) != 5:
            fail('far: %d tables' % len(tables))
        by_busy = [host for _, host in sorted(
            (-sum(busy for (one, _), (busy, _, _) in figures.items() if one == host), host) for host in hosts)]
        for key, expected in (('host', sorted(hosts)), ('cpu.busy', by_busy), ('cpu.busy_ns', by_busy)):
            found = self.fleet('--figure', 'cpu.busy', '--sort', key, store=store)[1]
            if [row['host'] for row in found['rows']] != expected:
                fail('order by', key, [row['host'] for row in found['rows']], 'expected', expected)
        # A quotient is the figures' values divided.
        found = self.fleet('--figure', 'cpu.busy.rate', '--figure', 'cpu.idle.rate', '--figure', 'cpu.busy / cpu.idle',
                           store=store)[1]
        for row in found['rows']:
            busy, idle, both = row['values']
            if idle > 0 and abs(both - busy / idle) > 1e-6 * both:
                fail('cpu.busy / cpu.idle of', row['host'], both, busy / idle)
        text = run(self.sillage, 'history', '--per', 'host', '-n', '2', '--figure', 'cpu.busy', '--sort', 'host', store)[1]
        if '... and 5 more, 1 of them far' not in text or 'node1' not in text or 'node2' in text:
            fail('text:', text)
        text = run(self.sillage, 'history', '--per', 'host', '--figure', 'cpu.busy', '--figure', 'sched.wake.p99', store)[1]
        if 'not known of any host: sched.wake.p99' not in text or not [line for line in text.splitlines() if line.endswith('  cpu.busy') and 'node3' in line and '!' in line]:
            fail('text:', text)
        # Rows of a list are selected by --comm, figures of all say so.
        found = self.fleet('--figure', 'cpu.busy', '--figure', 'cpu.threads.run', '--comm', 'x', store=store)[1]
        if [column.get('whole_system') for column in found['figures']] != [True, None]:
            fail('selection:', found['figures'])

    def check_known(self):
        """Shares are of the time that is known; of whom too little is known is not judged; a hole is one."""
        hosts = ['node%d' % number for number in range(5)] + ['half', 'most', 'holes']
        figures = {(host, 100 + second): (0.4 + 0.01 * (number % 3), {}, 1) for number, host in enumerate(hosts[:5]) for second in range(20)}
        figures.update({('half', 100 + second): (0.1, {1: 0.05}, 0, 0.5) for second in range(20)})
        figures.update({('most', 100 + second): (0.76, {1: 0.38}, 0, 0.05) for second in range(20)})
        figures.update({('holes', 100 + second): (0.4, {1: 0.15}, 1) for second in range(20) if second < 6 or second > 11})
        store = self.make_store('known.db', hosts, figures)
        table = [line for line in self.fleet('--figure', 'cpu.busy', '--figure', 'cpu.threads.run', '--figure', 'cpu.unknown', store=store)
                 if line['type'] == 'fleet-total'][0]
        rows = {row['host']: row for row in table['rows']}
        for host, values, known, is_far, complete in (('half', (0.2, 0.1, 0.5), 0.5, False, False), ('most', (0.8, 0.4, 0.05), 0.95, True, False),
                                                      ('holes', (0.4, 0.15, 0), 1, False, False), ('node0', (0.4, 0, 0), 1, False, True)):
            row = rows[host]
            if row['covered_ns'] != (14 if host == 'holes' else 20) * SECOND or not all(map(near, row['values'], values)) or not near(row['known'], known) or row['complete'] != complete:
                fail('known:', row)
            if ('cpu.busy' in row['far']) != is_far or (row['distances'][0] is None) != (known < 0.9) or row['judged'] != (known >= 0.9):
                fail('known: judged', row)
        if [column['known'] for column in table['figures']] != [7, 7, 7]:
            fail('known: columns', table['figures'])
        text = run(self.sillage, 'history', '--per', 'host', '--figure', 'cpu.busy', store)[1]
        for says in ('half *', 'holes *', '  * something is missing in it', 'not judged: half * (50.0 %)\n'):
            if says not in text:
                fail('known: text lacks', says, text)
        total = [line for line in lines(self.sillage, 'history', '-q', '-f', 'json', '--host', 'holes', store) if line['type'] == 'total'][0]
        if total['covered_ns'] != 14 * SECOND or total['end'] - total['begin'] != 20 * SECOND:
            fail('known: total', total)
        text = run(self.sillage, 'history', '-a', 'cpu', '--host', 'holes', store)[1]
        if '! incomplete  ! only 14.0 s of 20.0 s' not in text or '  15.0 %' not in text:
            fail('known: history', text)

    # ---- triggers ----

    def check_triggers(self):
        rng = random.Random(7)
        hosts = ['node%d' % number for number in range(6)]
        for number in range(6):
            figures, busy = {}, {host: 0.503 for host in hosts}
            for second in range(100, 160):
                for host in hosts:
                    busy[host] = min(0.987, max(0.013, busy[host] + rng.choice((-0.3, -0.1, 0, 0.1, 0.3))))
                    threads = {tid: rng.choice((0.1, 0.4, 0.6, 0.9)) + tid / 1000 for tid in (1, 2, 3) if rng.random() < 0.7}
                    known = busy[host] if rng.random() < 0.97 else None
                    if rng.random() < 0.95 and second != 130:
                        figures[host, second] = (known, threads, int(rng.random() < 0.9))
            store = self.make_store('triggers.db', hosts, figures)
            for rule in RULES:
                self.check_rule(store, hosts, figures, rule)

    def check_rule(self, store, hosts, figures, rule):
        found = [line for line in self.fleet('--figure', 'cpu.busy', '--trigger', rule.text, store=store, status=0)
                 if line['type'] == 'trigger']
        expected = rule.evaluate(hosts, figures)
        shown = [(line['end'] // SECOND, line['begin'] // SECOND,
                  tuple((one['host'], one['begin'] // SECOND) for one in line['hosts']) if rule.hosts else line['trace']['host'])
                 for line in found]
        if sorted(shown) != sorted(expected):
            fail(rule.text, 'fires', sorted(set(shown) - set(expected)), 'and not', sorted(set(expected) - set(shown)))
        rule.fired += len(found)

    def check_width(self):
        """Each figure has a column, or is named below; what is far is named, or marked; lines are as long as asked."""
        figures = ['cpu.busy', 'sched.wake.p99', 'io.read_bytes.rate', 'count.events', 'count.discarded', 'cpu.threads.run']
        choice = [word for figure in figures for word in ('--figure', figure)]
        rows = [line for line in self.fleet(*choice) if line['type'] == 'fleet-total'][0]['rows']
        far = {row['host']: set(row['far']) for row in rows}
        columns = []
        for width in (40, 60, 80, 100, 140, 250):
            text = run(self.sillage, 'history', '--per', 'host', *choice, '--width', str(width), self.store)[1]
            lines = text.splitlines()[1:]
            head = [line.split('FAR FROM')[0].split() for line in lines if line.startswith('  HOST')][0][1:]
            rest = text[text.index('  no room ('):] if '  no room (' in text else ''
            if [figure for figure in figures if figure not in head and figure not in rest] or max(map(len, lines)) > width:
                fail('width', width, text)
            host = None
            marked = {}
            for line in lines[1:]:
                words = line.split()
                if words and words[0] in far:
                    host = words[0]
                    marked[host] = [line.count(' !'), '']
                elif host and line.startswith('    '):
                    marked[host][1] += line
                else:
                    host = None
            for host, names in far.items():
                hidden = {name for name in names if name not in head}
                if marked[host][0] != len(names - hidden) or any(name not in marked[host][1] for name in hidden):
                    fail('width', width, 'far of', host, names, text)
            columns.append(len(head))
        if columns != sorted(columns) or columns[0] >= columns[-1] or columns[2] < 2:
            fail('width: columns', columns)

    def check_options(self):
        names = os.path.join(self.scratch, 'names')
        with open(names, 'w') as file:
            file.write('4026532178 alpha\n')
        for options, text in ((('--per', 'host', '--figure', 'cpu.bsy'), 'column 5'),
                              (('--per', 'host', '--figure', 'cpu.busy > 1'), 'expected the end'),
                              (('--per', 'host', '--figure', 'sched.wake'), 'distribution'),
                              (('--per', 'host', '--figure', 'phase.number'), 'no phases'),
                              (('--per', 'host', '--figure', 'preempt.pairs.times'), 'no pairs'),
                              (('--per', 'host', '--trigger', 'preempt.pair.times > 1'), 'no pairs'),
                              (('--per', 'host', '--trigger', 'phase.change > 0'), 'no phases'),
                              (('--per', 'host', '--trigger', 'cpu.busy > 1%', '--on-trigger', 'capture'), 'no packets'),
                              (('--per', 'host', '--trigger', 'cpu.busy > 1% on many hosts'), 'how many hosts'),
                              (('--per', 'host,container', '--figure', 'cpu.busy'), 'lists of containers'),
                              (('--per', 'host,container', '-a', 'irq'), 'no figures by container'),
                              (('--per', 'host', '--sort', 'cpu.bussy'), 'did you mean "cpu.busy"'),
                              (('--per', 'host', '--merged'), 'no effect with --per host'),
                              (('--per', 'host', '--freq'), 'no effect with --per host'),
                              (('--trigger', 'cpu.busy > 1%'), 'no effect without --per host'),
                              (('--figure', 'cpu.busy'), 'no effect without --per host'),
                              (('--per', 'host', '--containers', names), '--containers has no effect with --per host'),
                              (('--per', 'host,comm'), 'by container only'),
                              (('--per', 'hosts',), 'did you mean "host"'),
                              (('--sort', 'cpu.busy'), 'name a list')):
            code, printed, said = run(self.sillage, 'history', *options, self.store)
            if code != 2 or text not in said or said.count('\n') != 1 or printed:
                fail(options, 'exit', code, said)
        code, _, said = run(self.sillage, 'analyze', '--trigger', 'cpu.busy > 1% on 2 hosts', self.paths[0][1])
        if code != 2 or 'history --per host' not in said or said.count('\n') != 1:
            fail('analyze: exit', code, said)
        code, _, said = run(self.sillage, 'history', '--per', 'host', '--host', 'nobody', self.store)
        if code != 1 or 'no such windows' not in said:
            fail('nobody: exit', code, said)

    def check_gate(self):
        tap, options = os.path.join(self.scratch, 'tap'), ('--per', 'host', '-q', '-o', '/dev/null')
        for expression, status, text in (('cpu.busy > 1% on 3 hosts', 3, 'not ok 1'), ('cpu.busy > 99% on 3 hosts', 0, 'ok 1'),
                                         ('memory.allocated_pages > 0 on 2 hosts', 0, 'SKIP its figures are known on 1 hosts, not on 2'),
                                         ('faults.major > 0 on 2 hosts', 0, 'SKIP no window had its figures')):
            # The hosts' traces are of other times: a window of a day has them all.
            code, _, said = run(self.sillage, 'history', *options, '-i', '24h', '--fail', expression, '--tap', tap, self.store)
            with open(tap) as file:
                written = file.read()
            if code != status or text not in written or said:
                fail(expression, 'exit', code, said, written)
        if run(self.sillage, 'history', *options, '-a', 'faults', '--strict', self.store)[0] != 4:
            fail('--strict: not 4')
        path = os.path.join(self.scratch, 'rules')
        with open(path, 'w') as file:
            file.write('[busy]\nwhen = cpu.busy > 1%% on 3 hosts\ndo = exec cat > %s/line\n' % self.scratch)
        code, printed, said = run(self.sillage, 'history', '--per', 'host', '-q', '-i', '24h', '--triggers', path, self.store)
        with open(os.path.join(self.scratch, 'line')) as file:
            line = json.loads(file.read())
        if code != 0 or said or line['name'] != 'busy' or len(line['hosts']) != 6 or line['trace'] != {'host': '*'}:
            fail('a file of triggers: exit', code, said, line)
        text = run(self.sillage, 'history', '--per', 'host', '-i', '24h', '--trigger', 'cpu.busy > 1% on 3 hosts', self.store)[1]
        if 'on 6 hosts\n    w1  since ' not in text or text.count(': cpu.busy ') != 6:
            fail('a trigger as text:', text)


class Rule:
    """A trigger as text, and as plain Python: the condition of a row, and of `until`."""

    def __init__(self, text, holds, hosts=0, lasts=0, until=None, every=0, complete=False, by_thread=False):
        self.text, self.holds, self.hosts, self.lasts, self.until = text, holds, hosts, lasts, until
        self.every, self.complete, self.by_thread, self.fired = every, complete, by_thread, 0

    def evaluate(self, hosts, figures):
        """(end, begin, hosts and since when, or the host) for each time it fires."""
        found, states, last, is_armed, fired = [], {host: {} for host in hosts}, {}, True, None
        of_host, active = {}, {host: None for host in hosts}
        for second in sorted({second for _, second in figures}):
            for host in hosts:
                if (host, second) not in figures:
                    states[host], active[host] = {}, None
                    continue
                if last.get(host) != second - 1:
                    states[host], active[host] = {}, None
                last[host] = second
                busy, threads, is_complete = figures[host, second]
                if self.complete and not is_complete:
                    continue
                begins = self.step(states[host], busy, threads, second, of_host.get(host))
                if self.hosts:
                    active[host] = begins[1]
                elif begins[0] is not None:
                    of_host[host] = second + 1
                    found.append((second + 1, begins[0], host))
            holding = sorted((host, since) for host, since in active.items() if since is not None)
            if self.hosts and len(holding) < self.hosts:
                is_armed = True
            elif self.hosts and is_armed and (fired is None or second + 1 - fired >= self.every):
                is_armed, fired = False, second + 1
                found.append((second + 1, sorted(since for _, since in holding)[self.hosts - 1], tuple(holding)))
        return found

    def step(self, rows, busy, threads, second, fired):
        """Begins of the most extreme row that fires now, and of that which has fired."""
        values = dict(threads) if self.by_thread else {0: busy}
        if self.by_thread and not values:
            values = {None: 0}
        news, olds = [], []
        for key in set(values) | set(rows):
            since, has_fired = rows.pop(key, (None, False))
            value = values.get(key)
            now = value is not None and self.holds(value)
            if has_fired:
                has_fired = not (self.until(value if value is not None else 0) if self.until and (self.by_thread or value is not None)
                                 else False if self.until else not now)
            begin = since[0] if since else None
            begin = second if now and not (since and since[1]) else begin
            if now and not has_fired and second + 1 - begin >= self.lasts and (self.hosts or fired is None or second + 1 - fired >= self.every):
                has_fired = True
                news.append((value or 0, begin))
            if has_fired:
                olds.append((value if value is not None else -1, begin))
            if now or has_fired:
                rows[key] = ((begin, now), has_fired)
        return tuple(max(one)[1] if one else None for one in (news, olds))


RULES = (
    Rule('cpu.busy > 60%', lambda busy: busy > 0.6),
    Rule('cpu.busy > 60% for 3s every 10s', lambda busy: busy > 0.6, lasts=3, every=10),
    Rule('cpu.busy > 70% until < 40%', lambda busy: busy > 0.7, until=lambda busy: busy < 0.4),
    Rule('cpu.busy > 60% on 3 hosts', lambda busy: busy > 0.6, hosts=3),
    Rule('cpu.busy > 50% on 2 hosts for 3s', lambda busy: busy > 0.5, hosts=2, lasts=3),
    Rule('cpu.busy < 50% on 3 hosts every 5s', lambda busy: busy < 0.5, hosts=3, every=5),
    Rule('cpu.busy > 60% on 4 hosts until < 30%', lambda busy: busy > 0.6, hosts=4, until=lambda busy: busy < 0.3),
    Rule('cpu.busy > 50% for 2s on 3 hosts complete', lambda busy: busy > 0.5, hosts=3, lasts=2, complete=True),
    Rule('cpu.thread[comm=work*].run > 50% on 3 hosts for 2s', lambda share: share > 0.5, hosts=3, lasts=2, by_thread=True),
    Rule('cpu.thread.run > 50% on 6 hosts', lambda share: share > 0.5, hosts=6, by_thread=True),
    Rule('cpu.busy > 99% on 7 hosts', lambda busy: busy > 0.99, hosts=7),
)


def main():
    with tempfile.TemporaryDirectory(prefix='sillage-fleet-') as scratch:
        test = Test(*sys.argv[1:3], scratch)
        test.make_traces()
        for check in (test.check_figures, test.check_merged, test.check_containers, test.check_far, test.check_known, test.check_width, test.check_options, test.check_gate,
                      test.check_clocks, test.check_triggers):
            check()
    idle = [rule.text for rule in RULES if not rule.fired and '7 hosts' not in rule.text]
    if idle:
        fail('never fired:', idle)
    print('ok store fleet: %d traces, %d rules fired %d times' % (len(TRACES), len(RULES), sum(rule.fired for rule in RULES)))


if __name__ == '__main__':
    main()
