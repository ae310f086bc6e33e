#!/usr/bin/env python3
"""many: a store of many hosts answers in what a screen has room for.

Goal    `history` of more hosts than some screens have room for says how many there are, and which commands show
        them together or one of them: these commands work, and have the options that were given.  JSON, --merged,
        --host and fewer hosts are as ever.  `compare --per host` finds the hosts that changed, with the values
        that `history --per host` has of both times, distances by plain arithmetic, and hosts of one side only.
Method  A store of one trace, whose rows are copied by SQL to other hosts and to an hour later; the same in
        ClickHouse, if there is a server, with the same answers, byte by byte.

        With --rows: a range of many threads that come and go takes no more memory than --max-memory and a constant;
        sums, and all that is by name, are what they are without a bound.

usage: many.py SILLAGE TRACE [--server | --rows]
"""
import contextlib
import json
import os
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile

import server
from database import connected

HOSTS = 12
HOUR = 3600 * 10**9


def fail(*what):
    raise SystemExit('not ok ' + ' '.join(str(one)[:2000] for one in what))


class Sqlite:
    def __init__(self, scratch):
        self.url = os.path.join(scratch, 'fleet.db')

    def ask(self, *statements):
        with connected(self.url) as db:
            return [db.execute(one).fetchall() for one in statements][-1]

    def tables(self):
        found = {name: [row[1] for row in self.ask('PRAGMA table_info("%s")' % name)]
                 for name, in self.ask("SELECT name FROM sqlite_master WHERE type = 'table'")}
        return {name: columns for name, columns in found.items() if {'level', 'begin', 'trace'} <= set(columns)}

    def make_hosts(self):
        (first,), = self.ask('SELECT min(trace) FROM traces')
        self.ask(*('INSERT INTO traces (trace, id, uuid, host, session, domain, path) SELECT %d, %s, uuid, %s, session, domain,'
                   ' path FROM traces WHERE trace = %d' % (1000 + i, "'%032x'" % i, "'web%02d'" % i, first) for i in range(HOSTS)))
        return str(first), [str(1000 + i) for i in range(HOSTS)]


class Clickhouse:
    def __init__(self, scratch):
        self.server = server.Server(os.path.join(scratch, 'server'))
        self.url = self.server.url('fleet')

    def ask(self, *statements):
        for one in statements:
            found = self.server.ask(one, 'fleet')
        return [line.split('\t') for line in found.splitlines()]

    def tables(self):
        found = {}
        for name, column in self.ask("SELECT table, name FROM system.columns WHERE database = 'fleet'"):
            found.setdefault(name, []).append(column)
        return {name: columns for name, columns in found.items() if {'level', 'begin', 'trace'} <= set(columns)}

    def make_hosts(self):
        (first,), = self.ask('SELECT trace FROM traces')
        names = ["toUUID('00000000-0000-0000-0000-%012x')" % i for i in range(HOSTS)]
        (columns,) = zip(*self.ask("SELECT name FROM system.columns WHERE database = 'fleet' AND table = 'traces'"))
        for i, name in enumerate(names):
            with_ = {'trace': name, 'host': "'web%02d'" % i}
            self.ask('INSERT INTO traces (%s) SELECT %s FROM traces LIMIT 1' % (
                ', '.join('`%s`' % one for one in columns), ', '.join(with_.get(one, '`%s`' % one) for one in columns)))
        return "toUUID('%s')" % first, names


def make(store, sillage, trace):
    """web00 to web11 have the windows of one trace, of testhost, and again an hour later."""
    code, _, said = server.run(sillage, 'analyze', '-q', '-a', 'cpu,sched,io,count', '-i', '50ms', '--store-also', 'none', '--store', store.url, trace)
    if code != 0:
        fail(said)
    first, names = store.make_hosts()
    for table, columns in store.tables().items():
        for later in (0, HOUR):
            for name in names:
                odd = table == 'cpu_totals' and later and name in (names[3], names[7])
                own = {'trace': name, 'begin': '"begin" + %d' % later, 'end': '"end" + %d' % later}
                if odd:  # twice as busy
                    own.update(busy_ns='"busy_ns" * 2', idle_ns='"idle_ns" - "busy_ns"')
                store.ask('INSERT INTO "%s" (%s) SELECT %s FROM "%s" WHERE trace = %s%s' % (
                    table, ', '.join('"%s"' % one for one in columns),
                    ', '.join(own.get(one, '"%s"' % one) if one != 'end' or table == 'windows' else '"end"' for one in columns),
                    table, first, ''))


class Test:
    def __init__(self, sillage, store):
        self.sillage, self.store = sillage, store

    def run(self, *words, status=0):
        code, printed, said = server.run(self.sillage, *words)
        if code != status:
            fail(words, 'exit', code, said)
        return printed

    def history(self, *options):
        return self.run('history', '-q', *options, self.store.url)

    def check_history(self):
        lines = self.history('-a', 'cpu', '-i', '1s', '-n', '3', '--host', 'web*').splitlines()
        if sum(' total ' in line for line in lines) != HOSTS:
            fail('--host: some hosts are not there')
        first = 'testhost/burst/kernel  total'
        printed = self.history('-a', 'cpu', '-n', '3', '--session', '*')
        lines = printed.splitlines()
        if len(lines) > 24 or max(map(len, lines)) > 80 + len(self.store.url) or '%d hosts' % (HOSTS + 1) not in lines[0]:
            fail('history of many hosts:', printed)
        if [line.split()[0] for line in lines[2:5]] != ['testhost', 'web00', 'web01'] or '%d more' % (HOSTS - 2) not in printed:
            fail('hosts:', printed)
        commands = [shlex.split(line) for line in lines if line.startswith('  sillage history ')]
        if len(commands) != 4:
            fail('commands:', printed)
        for command, expected, count in zip(commands, ('fleet  total', '*  total', first, first), (1, 1, 1, HOSTS + 1)):
            if [command[command.index(word) + 1] for word in ('-a', '--session')] != ['cpu', '*']:
                fail('a command forgets its options:', command)
            answer = self.run(*command[1:], '-q')
            if not answer.startswith(expected) or answer.count(' total ') != count:
                fail('answer of', command, answer)
        for asked in (('--per', 'pid', '--sort', 'run_ns', '-n', '3', '--max', '1s'), ('--since', '-2h', '-i', '90s', '--comm', '*'),
                      ('-a', 'cpu', '--per', 'container', '--freq')):
            lines = self.history(*asked).splitlines()
            commands = [shlex.split(line) for line in lines if line.startswith('  sillage history ')]
            for command, drops in zip(commands, (('--per', '--sort', '--max', '--freq'), (), (), ())):
                words = command[4 if '--merged' != command[2] else 3:-1]
                wanted, skips = ['-q'], False
                for word in asked:
                    skips = word in drops or skips and not word.startswith('-')
                    wanted += [] if skips else [word]
                if words != wanted:
                    fail('a command has other options:', command, 'asked', asked)
                self.run(*command[1:])
        totals = [line for line in map(json.loads, self.history('-f', 'json', '-a', 'cpu').splitlines()) if line['type'] == 'total']
        if len(totals) != HOSTS + 1:
            fail('JSON has', len(totals), 'totals')
        for options in (('--merged',), ('--host', 'web0[0-3]'), ('--per', 'host')):
            if 'sillage history' in self.history(*options):
                fail(options, 'were not asked for')
        return printed.replace(self.store.url, 'STORE')


    def check_compare(self):
        begins = [int(row[0]) for row in self.store.ask('SELECT DISTINCT "begin" FROM windows ORDER BY "begin"')]
        middle = begins[-1] - HOUR + 1
        before, after = ['%s@%s' % (self.store.url, span) for span in ('..%dns' % middle, '%dns..' % middle)]
        figures = ('--figure', 'cpu.busy', '--figure', 'sched.wake.p99', '--figure', 'io.read_bytes.rate')
        (change,) = map(json.loads, self.run('compare', '--per', 'host', '-f', 'json', *figures, before, after).splitlines())
        sides = [next(line for line in map(json.loads, self.history('--per', 'host', '-f', 'json', *figures, *options).splitlines())
                      if line['type'] == 'fleet-total')
                 for options in (('--until', '%dns' % middle), ('--since', '%dns' % middle))]
        values = [{row['host']: row['values'] for row in side['rows']} for side in sides]
        if change['type'] != 'fleet-change' or [row['host'] for row in change['rows'][:2]] != ['web03', 'web07']:
            fail('compare:', [row['host'] for row in change['rows']])
        for at, figure in enumerate(change['figures']):
            both = [row['host'] for row in change['rows']]
            found = sorted(values[1][host][at] - values[0][host][at] for host in both)
            median = statistics.median(found)
            apart = [abs(one - median) for one in found]
            spread = 1.4826 * statistics.median(apart) or 1.2533 * statistics.mean(apart)
            spread = max(spread, abs(statistics.median(values[0][host][at] for host in both)) / 64)
            for row in change['rows']:
                host = row['host']
                if [row['before'][at], row['values'][at]] != [values[0][host][at], values[1][host][at]]:
                    fail('compare:', host, figure, row)
                distance = (row['values'][at] - row['before'][at] - median) / spread
                if abs(distance - row['distances'][at]) > 0.001 + 1e-4 * abs(distance):
                    fail('compare:', host, figure, row['distances'][at], 'expected', distance)
                if (figure['figure'] in row['far']) != (host in ('web03', 'web07') and at == 0):
                    fail('compare:', host, 'is far in', row['far'])
        if change['only_before'] != ['testhost'] or change['only_after'] != [] or change['host_count'] != HOSTS:
            fail('compare:', change['only_before'], change['only_after'], change['host_count'])
        text = self.run('compare', '--per', 'host', '--width', '80', '-n', '3', before, after)
        if max(map(len, text.splitlines())) > 80 or not text.splitlines()[4].startswith('  web03'):
            fail('compare:', text)
        for options, says in ((('--fail', 'cpu.busy > 1%'), 'no effect with --per host'), (('-f', 'html'), 'no effect with --per host')):
            code, _, said = server.run(self.sillage, 'compare', '--per', 'host', *options, before, after)
            if code != 2 or says not in said:
                fail(options, code, said)
        code, _, said = server.run(self.sillage, 'compare', '--figure', 'cpu.busy', before, after)
        if code != 2 or 'without --per host' not in said:
            fail('--figure', code, said)
        return text


# ---- rows ----

MIB = 1 << 20
CONSTANT = 64 * MIB  # of a process, and of one window


def peak(*command):
    """What it printed and said, and its resident memory at most."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as said:
        process = subprocess.Popen(command, stdout=out, stderr=said)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            fail(command, 'exit', process.returncode)
        texts = []
        for file in (out, said):
            file.seek(0)
            texts.append(file.read().decode())
        return texts[0], texts[1], usage.ru_maxrss * 1024


def check_rows(sillage, trace, store, windows=4000):
    """Each window has threads that no other one has."""
    code, _, said = server.run(sillage, 'analyze', '-q', '-a', 'cpu,sched', '-i', '1s', '--store-also', 'none', '--store', store.url, trace)
    if code != 0:
        fail(said)
    (begin,), = store.ask('SELECT begin FROM windows ORDER BY events DESC LIMIT 1')
    for table, columns in store.tables().items():
        own = dict({'begin': str(begin) + ' + k * 1000000000'},
                   **({'tid': 'tid + k * 1000', 'was_tid': 'was_tid + k * 1000', 'pid': 'CASE WHEN pid > 9 THEN pid + k * 1000 ELSE pid END'}
                      if 'nth' in columns or table.endswith('processes') else {}),
                   **({'end': str(begin) + ' + (k + 1) * 1000000000', 'complete': '1'} if table == 'windows' else {}))
        store.ask('CREATE TABLE aside AS SELECT * FROM "%s" WHERE begin = %d' % (table, begin), 'DELETE FROM "%s"' % table,
                  'INSERT INTO "%s" SELECT %s FROM aside, (WITH RECURSIVE c(k) AS (SELECT 0 UNION ALL SELECT k + 1 FROM c WHERE k < %d)'
                  ' SELECT k FROM c)' % (table, ', '.join(own.get(one, '"%s"' % one) for one in columns), windows - 1),
                  'DROP TABLE aside')
    bound = 8 * MIB
    few, said, least = peak(sillage, 'history', '-f', 'json', '--max-memory', str(bound), store.url)
    everything, silent, most = peak(sillage, 'history', '-f', 'json', '--max-memory', '2G', store.url)
    if 'put together by name' not in said or silent:
        fail('nothing says so:', said, silent)
    if least > bound + CONSTANT or most < 2 * (bound + CONSTANT):
        fail('memory: %d MiB with a bound of %d, %d without' % (least / MIB, bound / MIB, most / MIB))
    totals = [next(line for line in map(json.loads, text.splitlines()) if line['type'] == 'total') for text in (few, everything)]
    for analysis, keys in (('cpu', ('run_ns', 'switches', 'migrations')), ('sched', ('waited_ns',))):
        a, b = (total[analysis]['threads'] for total in totals)
        if len(a) * 3 > len(b):
            fail(analysis, len(a), 'rows of', len(b))
        for key in keys:
            if sum(row[key] or 0 for row in a) != sum(row[key] or 0 for row in b):
                fail('the sum of', key, 'is another one')
        for total in totals:
            del total[analysis]['threads'], total[analysis]['processes']
    if totals[0] != totals[1]:
        fail('another total:', totals)
    by_name = [peak(sillage, 'history', '-f', 'json', '--per', 'comm', '--max-memory', size, store.url)[0] for size in (str(bound), '2G')]
    if server.windows(by_name[0]) != server.windows(by_name[1]):
        fail('--per comm is another one:', by_name[0], by_name[1])
    print('ok rows: %d MiB with a bound of %d, %d without' % (least / MIB, bound / MIB, most / MIB))


def answers(sillage, trace, store):
    make(store, sillage, trace)
    test = Test(sillage, store)
    return [test.check_history(), test.check_compare()]


def main():
    sillage, trace = sys.argv[1:3]
    if '--rows' in sys.argv:
        with tempfile.TemporaryDirectory(prefix='sillage-many-') as scratch:
            check_rows(sillage, trace, Sqlite(scratch))
        return
    with tempfile.TemporaryDirectory(prefix='sillage-many-') as scratch:
        found = answers(sillage, trace, Sqlite(scratch))
        print('ok a file')
    if '--server' not in sys.argv:
        return
    if not shutil.which('clickhouse-server'):
        print('# there is no clickhouse-server')
        raise SystemExit(77)
    with tempfile.TemporaryDirectory(prefix='sillage-many-', dir=server.in_memory()) as scratch:
        store = Clickhouse(scratch)
        with contextlib.closing(contextlib.ExitStack()) as stack:
            stack.callback(store.server.kill)
            if answers(sillage, trace, store) != found:
                fail('a server answers something else than a file')
    print('ok a server')


if __name__ == '__main__':
    main()
