#!/usr/bin/env python3
"""grafana: the dashboards of contrib/grafana over ClickHouse, as Grafana asks them.

Goal    Each panel's SQL runs on the server, and has rows; so do the queries of variables.  What panels of CPUs, threads,
        wake-ups, system calls, containers and jobs show is what `analyze -f json` prints, figure by figure; in
        databases of one server and in those that show a cluster.  Panels of Prometheus: tests/peer/peer.py.
Method  Debian's clickhouse-server; stores of recorded traces, each of which gets a host of its own.  Macros and
        variables are filled in as Grafana's data source for ClickHouse does it.  Grafana itself is not packaged.

usage: grafana.py SILLAGE DATA
"""
import collections
import json
import os
import re
import sys
import tempfile

import server

HERE = os.path.dirname(os.path.abspath(__file__))
BOARDS = os.path.join(HERE, '..', '..', 'contrib', 'grafana')
HOSTS = {'burst': 'web1', 'io-mix': "o'web2", 'containers': 'box', 'timer-jobs': 'rt'}
PERIODS = ('--job', 'cycle = run')
AGAIN = ('burst', 'containers')  # stored by a second run, with other analyses
LEVEL = 100_000_000
NS = 10**9


def fail(*what):
    raise SystemExit('not ok ' + ' '.join(str(one) for one in what))


def quoted(text):
    return "'%s'" % str(text).replace('\\', '\\\\').replace("'", "\\'")


class Test:
    def __init__(self, sillage, data, machine, database):
        self.sillage, self.data, self.machine, self.database = sillage, data, machine, database
        self.begin, self.end = (int(one) // NS for one in self.rows('SELECT min(begin), max(end) FROM windows')[0])
        self.step = 1

    def rows(self, sql):
        text = self.machine.ask(sql + '\nFORMAT TabSeparatedRaw', self.database)
        return [line.split('\t') for line in text.splitlines()]

    def fill(self, sql, variables):
        """Macros and variables; a word that is left of them is none that we know."""
        macros = {'fromTime': 'toDateTime(%d)' % self.begin, 'toTime': 'toDateTime(%d)' % (self.end + 1), 'interval_s': str(self.step)}
        sql = re.sub(r'\$__(\w+)', lambda found: macros[found.group(1)], sql)

        def value(found):
            one = variables[found.group(1)]
            if found.group(2) == ':singlequote':
                return ','.join(quoted(each) for each in (one if isinstance(one, list) else [one]))
            return str(one)

        return re.sub(r'\$\{(\w+)(:\w+)?\}', value, sql)

    def variables(self, board, chosen):
        """The first value of each variable, or all; those of @chosen are chosen by somebody."""
        found = {}
        for one in board['templating']['list']:
            if one['type'] == 'query':
                values = [row[0] for row in self.rows(self.fill(one['query'], found))]
                if not values:
                    fail(board['title'], one['name'], 'has no value')
                found[one['name']] = chosen.get(one['name']) or (values if one['multi'] else values[0])
        return found

    def ask(self, name, chosen, only=None):
        """The rows of each panel, by its title; cells by name."""
        with open(os.path.join(BOARDS, name)) as file:
            board = json.load(file)
        variables, found = self.variables(board, chosen), {}
        for panel in board['panels']:
            if only and panel['title'] != only:
                continue
            target, = panel['targets']
            text = self.machine.ask(self.fill(target['rawSql'], variables) + '\nFORMAT JSON', self.database)
            found[panel['title']] = rows = json.loads(text)['data']
            if not rows:
                fail(name, panel['title'], 'is empty')
            if panel['type'] == 'timeseries' and [row['time'] for row in rows] != sorted(row['time'] for row in rows):
                fail(name, panel['title'], 'is not in order')
        return found

    def analyzed(self, trace, *options):
        code, printed, said = server.run(self.sillage, 'analyze', '-q', '-f', 'json', '-n', '1000', *options, os.path.join(self.data, trace))
        if code != 0:
            fail(said)
        return [line for line in map(json.loads, printed.splitlines()) if line['type'] in ('window', 'total')]


def same(what, found, expected):
    if found != expected:
        wrong = [(key, found.get(key), expected.get(key)) for key in sorted(set(found) | set(expected), key=str)
                 if found.get(key) != expected.get(key)]
        fail(what, '%d of %d differ:' % (len(wrong), len(expected)), wrong[:3])
    if not expected:
        fail(what, 'has nothing to compare')


def number(text):
    return None if text is None else int(text)


def close(a, b):
    return abs(a - b) <= 1e-9 * max(1, abs(a))


def check_host(test):
    """One host: what analyze says of the trace that it has."""
    host = {'host': HOSTS['io-mix'], 'level': LEVEL}
    shown = test.ask('host.json', host)
    *windows, total = test.analyzed('io-mix', '-a', 'cpu,sched,syscalls', '-i', '1s')
    for window in windows:
        at = window['begin'] // NS
        for cpu in window['cpu']['cpus']:
            share = cpu['busy_ns'] / (cpu['busy_ns'] + cpu['idle_ns'] + cpu['unknown_ns'])
            got = [row['busy'] for row in shown['CPU busy, by CPU'] if row['cpu_'] == str(cpu['cpu'])]
            if not any(close(share, one) for one in got):
                fail('busy of CPU', cpu['cpu'], 'at', at, share, got)
    threads = {(row['comm'], number(row['tid'])): (number(row['run']), number(row['switches_']), number(row['preempted']), number(row['longest']))
               for row in shown['Threads']}
    listed = sorted(((row['comm'], row['tid']), (row['run_ns'], row['switches'], row['preemptions'], row['longest_ns']))
                    for row in total['cpu']['threads'] if row['tid'] > 0)
    same('threads', threads, dict(listed) if len(listed) <= 50 else
         {key: value for key, value in listed if key in threads})  # the first 50
    calls = {row['name']: (number(row['calls']), number(row['errors']), number(row['time']), number(row['p99']), number(row['max']))
             for row in shown['System calls']}
    expected = {row['name']: (row['calls'], row['errors'], row['time']['sum_ns'], row['time']['p99_ns'], row['time']['max_ns'])
                for row in sorted(total['syscalls']['by_name'], key=lambda row: -row['time']['sum_ns']) if row['time']['count'] > 0}
    same('system calls', calls, {key: value for key, value in expected.items() if len(expected) <= 50 or key in calls})
    waits = {(row['comm'], number(row['tid'])): (number(row['count']), number(row['p99']), number(row['max']))
             for row in shown['Threads: wake-up latency']}
    expected = {(row['comm'], row['tid']): (row['wake']['count'], row['wake']['p99_ns'], row['wake']['max_ns'])
                for row in total['sched']['threads'] if row['wake']['count'] > 0}
    same('wake-ups', waits, expected if len(expected) <= 50 else {key: expected.get(key) for key in waits})
    test.step = 10**6  # all in one
    row, = test.ask('host.json', host, 'Wake-up latency')['Wake-up latency']
    test.step = 1
    wake = total['sched']['wake']
    same('latency', {key: number(row[key]) for key in ('p50', 'p99', 'max')},
         {key: wake[key + '_ns'] for key in ('p50', 'p99', 'max')})


def check_fleet(test):
    shown = test.ask('fleet.json', {'level': LEVEL})
    hosts = {row['host']: row['busy'] for row in shown['Hosts: who is far from the others']}
    if set(hosts) != set(HOSTS.values()):
        fail('hosts', hosts)
    events = 0
    for trace, host in HOSTS.items():
        total = test.analyzed(trace, '-a', 'count,cpu')[-1]
        cpu = total['cpu']
        events += total['count']['events']
        if not close(cpu['busy_ns'] / (cpu['busy_ns'] + cpu['idle_ns'] + cpu['unknown_ns']), hosts[host]):
            fail('busy of', host, hosts[host], cpu['busy_ns'])
    if not close(sum(row['events'] for row in shown['Events, and what is lost']) * test.step, events):
        fail('events', events)
    if number(shown['Windows that are not complete'][0]['incomplete']) != 0:
        fail('incomplete windows', shown['Windows that are not complete'])


def check_containers(test):
    shown = test.ask('containers.json', {'level': LEVEL, 'host': [HOSTS['containers']]})
    expected = collections.defaultdict(lambda: (0, 0, 0))  # window by window: later more is known of threads
    for window in test.analyzed('containers', '-a', 'cpu', '--per', 'container', '-i', '100ms')[:-1]:
        for row in window['cpu']['containers']:
            name = row.get('name') or str(row.get('pid_ns', '(unknown)'))
            expected[name] = tuple(a + row[key] for a, key in zip(expected[name], ('run_ns', 'switches', 'preemptions')))
    same('containers', {row['container']: (number(row['run']), number(row['switches_']), number(row['preempted']))
                        for row in shown['Containers']}, dict(expected))


def check_jobs(test):
    shown = test.ask('jobs.json', {'level': LEVEL, 'host': [HOSTS['timer-jobs']]})
    total = test.analyzed('timer-jobs', '-a', 'jobs', *PERIODS)[-1]['jobs']
    same('jobs', {row['job']: tuple(number(row[key]) for key in ('executions', 'p50', 'p99', 'max')) for row in shown['Jobs']},
         {row['name']: (row['duration']['count'], row['duration']['p50_ns'], row['duration']['p99_ns'], row['duration']['max_ns'])
          for row in total['jobs']})
    parts, = [row for row in total['parts']]
    got = shown['Where the time went']
    same('parts', {key: sum(number(row[key]) for row in got) for key in ('running', 'preempted', 'waiting', 'blocked')},
         {key: parts[key]['sum_ns'] for key in ('running', 'preempted', 'waiting', 'blocked')})


def fill_store(sillage, data, machine):
    """Each trace in the store, and stale rows that no panel may show; then it gets its host."""
    url = machine.url('board', options='?cluster=one')
    for trace, lists in [(trace, ['all', *PERIODS]) for trace in HOSTS] + [(trace, ['cpu,count']) for trace in AGAIN]:
        code, _, said = server.run(sillage, 'analyze', '-q', '-a', *lists, '-i', '100ms', '-o', '/dev/null', '--store', url,
                                   os.path.join(data, trace))
        if code != 0 or said:
            fail('the store: exit', code, said)
    machine.ask('INSERT INTO board.cpu_threads (level, begin, trace, tid, nth, comm, run_ns, version)'
                " SELECT level, begin, trace, 1, 77, 'stale', 1000000000000, version - 1 FROM board.windows")
    # Of a run before the one that has these analyses now.
    machine.ask('INSERT INTO board.cpu_threads (level, begin, trace, tid, nth, comm, run_ns, version)'
                " SELECT level, begin, trace, 1, 78, 'stale', 1000000000000, min(version) FROM board.windows"
                ' GROUP BY level, begin, trace HAVING count() = 2')
    machine.ask("INSERT INTO board.gaps (begin, end, why, windows, version) SELECT min(begin), max(end), 'a test', 3, 1 FROM board.windows")
    for trace, host in HOSTS.items():
        machine.ask('INSERT INTO board.traces (trace, uuid, host, session, domain, path, version)'
                    ' SELECT trace, uuid, %s, session, domain, path, version + 1 FROM board.traces'
                    " WHERE session = '%s' OR path LIKE '%%/%s/%%'" % (quoted(host), trace, trace))


def main():
    sillage, data = sys.argv[1:3]
    known = '<remote_servers><one><shard><replica><host>127.0.0.1</host><port>%d</port></replica></shard></one></remote_servers>'
    if not server.shutil.which('clickhouse-server'):
        print('# clickhouse-server is not installed')
        raise SystemExit(77)
    with tempfile.TemporaryDirectory(prefix='sillage-grafana-', dir=server.in_memory()) as scratch:
        os.environ['XDG_STATE_HOME'] = os.path.join(scratch, 'own')
        port = server.free_ports()
        machine = server.Server(os.path.join(scratch, 'server'), '<tcp_port>%d</tcp_port>' % port + known % port)
        try:
            fill_store(sillage, data, machine)
            for database in ('board', 'board_all'):
                test = Test(sillage, data, machine, database)
                for check in (check_host, check_fleet, check_containers, check_jobs):
                    check(test)
        finally:
            machine.kill()
    print('ok grafana: 4 dashboards')


if __name__ == '__main__':
    main()
