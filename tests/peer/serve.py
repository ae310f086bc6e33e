#!/usr/bin/env python3
"""serve: the replies of `sillage serve` and `sillage api`, and whoever asks for them.

Goal    Each reply is of the schema, its figures are those of `-f json` of the command, and doc/api.md has them.  No
        request, client or computation holds others up, or is left behind.

SILLAGE_MUTATED=N SILLAGE_SEED=S: so many wrong requests (200).  usage: serve.py SILLAGE APP DATA [x NAME]
"""
import base64
import contextlib
import fnmatch
import http.client
import http.server
import json
import os
import random
import re
import resource
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.parse

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import peer  # noqa: E402
import schema  # noqa: E402
import tls  # noqa: E402

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..')
PLACE = '/api/v1/'
LONG = PLACE + 'series?source=0&analyses=all&interval=1ms'
TRACES = 1000  # of one source: LONG takes far longer than any test


def read(*path):
    with open(os.path.join(ROOT, *path)) as file:
        return file.read()


SCHEMA = json.loads(read('doc', 'api.schema.json'))


def checked(text):
    """A reply, which is of the schema."""
    reply = json.loads(text)
    wrong = list(schema.faults(reply, SCHEMA, SCHEMA))
    assert not wrong, (wrong[:3], text[:500])
    return reply


def trace(t, name):
    return os.path.join(t.data, name)


def store(t):
    path = os.path.join(t.scratch, 'store.db')
    subprocess.run([t.sillage, 'analyze', '-q', '-o', '/dev/null', '-i', '100ms', '-a', 'count,cpu,sched', '--phases', '--store', path,
                    trace(t, 'rt-mqueue')], check=True)
    return path


class Server:
    def __init__(self, t, *args, **env):
        self.err = os.path.join(t.scratch, 'serve-%d.err' % time.monotonic_ns())
        with open(self.err, 'w') as err:
            self.process = subprocess.Popen([t.sillage, 'serve', *args], stdout=subprocess.PIPE, stderr=err, text=True,
                                            env=dict(os.environ, **env))
        t.processes.append(self.process)
        self.address = self.process.stdout.readline().strip()
        if 'libcurl' in self.said():
            raise peer.Skip('libcurl is not installed')
        assert self.address, self.said()
        self.port = int(self.address.rstrip('/').rsplit(':', 1)[1])

    def said(self):
        with open(self.err) as err:
            return err.read()

    def get(self, path, method='GET', headers=None, to='127.0.0.1'):
        """Status, headers and body."""
        link = http.client.HTTPConnection(to, self.port)
        link.request(method, path, headers={'Host': 'localhost', **(headers or {})})
        answer = link.getresponse()
        body = answer.read()
        link.close()
        return answer.status, answer.headers, body

    def reply(self, path, status=200):
        got, headers, body = self.get(path)
        assert got == status and headers['Content-Type'] == 'application/json', (path, got, body[:300])
        return checked(body)

    def children(self):
        with contextlib.suppress(OSError), open('/proc/%d/task/%d/children' % (self.process.pid, self.process.pid)) as file:
            return file.read().split()
        return []

    def computing(self):
        """Those that are programs of their own: before, the server stands still with them."""
        return [child for child in self.children() if '\0api\0' in read('/proc', child, 'cmdline')]

    def begin(self, path):
        """A connection that has asked."""
        link = socket.create_connection(('127.0.0.1', self.port))
        link.sendall(b'GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n' % path.encode())
        return link

    def finish(self, number=signal.SIGTERM):
        self.process.send_signal(number)
        assert peer.ended(self.process) == 0, self.said()
        assert 'Sanitizer' not in self.said() and 'runtime error' not in self.said(), self.said()


def api(t, request, *sources):
    out = subprocess.run([t.sillage, 'api', request, *sources], stdout=subprocess.PIPE, text=True)
    reply = checked(out.stdout)
    assert (out.returncode == 0) == ('error' not in reply), (request, out)
    return reply


def lines_of(t, *words):
    out = subprocess.run([t.sillage, words[0], '-q', '-f', 'json', *words[1:]], stdout=subprocess.PIPE, check=True, text=True)
    return [json.loads(line) for line in out.stdout.splitlines()]


def asked(name, **values):
    return name + '?' + urllib.parse.urlencode({'source': 0, **values})


def all_rows(ask, **values):
    """The rows of all pages."""
    rows, offset = [], 0
    while offset is not None:
        reply = ask(offset=offset, **values)
        rows += reply['rows']
        assert len(reply['rows']) <= reply['page']['limit'], reply['page']
        offset = reply['page']['next']
    assert len(rows) == reply['page']['total'], reply['page']
    return rows


def without(row, *keys):
    return {key: value for key, value in row.items() if key not in keys}


# ---- figures ----

def test_tables(t):
    """Rows of all lists, over pages, and what is beside them, are those of `analyze` and `history`."""
    stored = store(t)
    cases = [(trace(t, name), 'analyze', analyses, more) for name, analyses, more in (
        ('rt-mqueue', 'cpu,sched,waits', {}), ('timer-jobs', 'cpu,syscalls', {'begin': '-200ms', 'end': '-100ms'}), ('shop', 'calls,ust', {}),
        ('lost-events', 'cpu,lost', {}), ('io-mix', 'io,files', {'comm': 'io*', 'per': 'tid'}))]
    cases.append((stored, 'history', 'cpu,sched', {}))
    for source, command, analyses, more in cases:
        names = {'begin': 'since', 'end': 'until'} if command == 'history' else {}
        options = ['--%s=%s' % (names.get(key, key), value) for key, value in more.items()]
        totals = [line for line in lines_of(t, command, '-a', analyses, *options, source) if line['type'] == 'total']
        whole = api(t, asked('tables', analyses=analyses, **more), source)
        assert len(whole['rows']) == len(totals) == len(whole['quality']), (source, whole['quality'])
        for number, (row, total, quality) in enumerate(zip(whole['rows'], totals, whole['quality'])):
            assert (row['begin'], row['end'], row['trace']) == (total['begin'], total['end'], number)
            for analysis in analyses.split(','):
                for key, value in row[analysis].items():
                    assert value == total[analysis][key] or isinstance(value, dict), (analysis, key)
            if command == 'analyze':
                count = [line for line in lines_of(t, command, '-a', 'count,cpu', *options, source) if line['type'] == 'total'][number]
                assert quality['losses']['events'] == count['count']['discarded'] and quality['losses']['anomalies'] == count['count']['anomalies']
                assert quality['unknown_ns'] == count['cpu']['unknown_ns']
            missing = [one for analysis in analyses.split(',') for one in total[analysis].get('missing', [])]
            assert all(one in quality['missing'] for one in missing) and len(quality['missing']) <= len(missing), quality
        for one in whole['tables'][:4]:
            rows = all_rows(lambda **page: api(t, asked('tables', analyses=analyses, table=one['table'], **page), source), limit=40, **more)
            analysis, key = one['table'].split('.')
            assert [without(row, 'trace') for row in rows] == [row for total in totals for row in total[analysis][key]], one
            assert sum(other['rows'] for other in whole['tables'] if other['table'] == one['table']) == len(rows)


def test_rows(t):
    """Conditions, orders, columns and pages, against the same in Python."""
    source = trace(t, 'rt-mqueue')
    rows = api(t, asked('tables', analyses='sched', table='sched.threads', limit=1000), source)['rows']
    assert len(rows) > 10

    def got(**values):
        return api(t, asked('tables', analyses='sched', table='sched.threads', **{'limit': 1000, **values}), source)['rows']

    most = sorted(rows, key=lambda row: -row['waited_ns'])[5]['waited_ns']
    for text, holds in (('waited_ns>%d' % most, lambda row: row['waited_ns'] > most), ('waited_ns<=%d' % most, lambda row: row['waited_ns'] <= most),
                        ('waited_ns>=%d' % most, lambda row: row['waited_ns'] >= most), ('waited_ns<%d' % most, lambda row: row['waited_ns'] < most),
                        ('waited_ns=%d' % most, lambda row: row['waited_ns'] == most), ('waited_ns!=%d' % most, lambda row: row['waited_ns'] != most),
                        ('comm~mq*', lambda row: fnmatch.fnmatch(row['comm'], 'mq*')), ('comm!=mq-client', lambda row: row['comm'] != 'mq-client'),
                        ('wake.p99_ns>=0', lambda row: 'p99_ns' in row['wake']), ('comm=mq-client,waited_ns>0', lambda row: row['comm'] == 'mq-client'),
                        ('nothing=0', lambda row: False), ('tid=18543', lambda row: row['tid'] == 18543)):
        assert got(filter=text) == [row for row in rows if holds(row)], text
    for key, order in (('waited_ns', 'desc'), ('wake.max_ns', 'asc'), ('comm', 'asc')):
        def value(row):
            for part in key.split('.'):
                row = row.get(part) if row else None
            return row
        known = sorted((row for row in rows if value(row) is not None), key=value, reverse=order == 'desc')
        shown = got(sort=key, order=order)
        assert [value(row) for row in shown] == [value(row) for row in known] + [None] * (len(rows) - len(known)), key
        assert sorted(row['tid'] for row in shown) == sorted(row['tid'] for row in rows)
        assert got(sort=key, order=order, offset=3, limit=4) == shown[3:7] and got(sort=key, offset=999) == []
    assert got(columns='tid,wake.count,none', limit=2) == [{'tid': row['tid'], 'wake.count': row['wake']['count'], 'none': None} for row in rows[:2]]


def test_series(t):
    """Windows are those of `-i`."""
    stored = store(t)
    for source, command in ((trace(t, 'rt-mqueue'), 'analyze'), (stored, 'history')):
        windows = [line for line in lines_of(t, command, '-a', 'cpu,sched', '-i', '100ms', source) if line['type'] == 'window']
        rows = all_rows(lambda **page: api(t, asked('series', analyses='cpu,sched', interval='100ms', **page), source), limit=3)
        assert len(rows) == len(windows) > 3
        for row, window in zip(rows, windows):
            assert [row[key] for key in ('begin', 'end', 'complete')] == [window[key] for key in ('begin', 'end', 'complete')]
            assert row['cpu'] == {key: value for key, value in window['cpu'].items() if not isinstance(value, list)}
        rows = all_rows(lambda **page: api(t, asked('series', analyses='cpu', table='cpu.cpus', interval='100ms', **page), source))
        assert [without(row, 'trace', 'begin', 'end', 'begin_time', 'end_time') for row in rows] == [
            row for window in windows for row in window['cpu']['cpus']], source


def test_others(t):
    """state, explain, events, compare, hosts and marks are `report`, `events`, `compare`, `history` and `overview`."""
    source, stored = trace(t, 'rt-mqueue'), store(t)
    total = [line for line in lines_of(t, 'report', '--at=-100ms', source) if line['type'] == 'total'][0]
    for table in ('threads', 'blocked', 'running'):
        rows = all_rows(lambda **page: api(t, asked('state', at='-100ms', table='state.' + table, **page), source))
        assert [without(row, 'trace') for row in rows] == total['state'][table], table
    for more in ({}, {'thread': 'mq-server'}, {'job': 'run', 'worst': 1}, {'begin': '-300ms', 'end': '-200ms'}):
        words = ['--%s=%s' % pair for pair in more.items()]
        reply = api(t, asked('explain', top=7, **more), source)
        assert reply['rows'] == lines_of(t, 'report', '-n', '7', *words, source), more
        assert reply['quality'][0]['losses'] == {'gaps': reply['rows'][0]['gaps']}
    changes = [line for line in lines_of(t, 'compare', '-a', 'cpu', source, stored) if line['type'] == 'change']
    rows = all_rows(lambda **page: api(t, 'compare?a=0&b=1&analyses=cpu&limit=50&offset=%d' % page['offset'], source, stored))
    assert rows == [without(line, 'type') for line in changes] and rows
    fleet = lines_of(t, 'history', '--per', 'host', stored)
    fleet = [line for line in fleet if line['type'] == 'fleet-total'][0]
    hosts = api(t, asked('hosts'), stored)
    assert hosts['figures'] == fleet['figures'] and [list(row['values'].values()) for row in hosts['rows']] == [row['values'] for row in fleet['rows']]
    phases = lines_of(t, 'overview', source)[0]['phases']
    marks = api(t, asked('marks', filter='kind=phase'), source)['rows']
    assert [(row['begin'], row['end']) for row in marks] == [(one['begin'], one['end']) for one in phases]
    warnings = [line for line in lines_of(t, 'analyze', trace(t, 'lost-events')) if line['type'] == 'warning' and line.get('begin')]
    losses = api(t, asked('marks', filter='kind=loss', limit=1000), trace(t, 'lost-events'))['rows']
    assert len(losses) == len(warnings) > 0, (len(losses), len(warnings))
    counted = api(t, 'sources?count=1', source, stored)['rows']
    assert counted[0]['events'] == lines_of(t, 'analyze', source)[-1]['events'] and counted[1]['events'] is None


def test_events(t):
    """Events are those of the trace: as many as are counted, in order, and those of a range, a CPU or a name; with their fields."""
    for name in ('rt-mqueue', 'shop', 'ust', 'small-packets'):
        source = trace(t, name)
        *lines, end = lines_of(t, 'events', source)
        events = [line for line in lines if line['event']]
        counts = {}
        for line in events:
            counts[line['event']] = counts.get(line['event'], 0) + 1
        known = {}
        for line in lines_of(t, 'analyze', '-a', 'count', source):
            for event, count in (line.get('count') or {}).get('by_name', {}).items():
                known[event] = known.get(event, 0) + count
        assert counts == known, name
        times = [line['begin'] for line in lines]
        assert times == sorted(times) and end['is_all'] and end['events'] == len(lines)
        begin, until = times[len(times) // 3], times[len(times) // 2]
        part = lines_of(t, 'events', '--begin', str(begin), '--end', str(until), source)[:-1]
        assert part == [line for line in lines if begin <= line['begin'] < until], name
        event = events[0]['event']
        rows = api(t, asked('events', event=event[:-1] + '?', cpu=events[0]['cpu'], limit=3), source)['rows']
        assert rows == [without(line, 'type') for line in events if fnmatch.fnmatch(line['event'], event[:-1] + '?')
                        and line['cpu'] == events[0]['cpu']][:3], name
    whole = all_rows(lambda **page: api(t, asked('events', event='sched_switch', filter='fields.next_tid=18541', **page), trace(t, 'rt-mqueue')))
    assert whole == [without(line, 'type') for line in lines_of(t, 'events', '--event', 'sched_switch', trace(t, 'rt-mqueue'))[:-1]
                     if line['fields']['next_tid'] == 18541]


def test_capture(t):
    """A capture has marks of itself and of its triggers, and is measured as it says."""
    path = os.path.join(t.scratch, 'capture')
    os.mkdir(path)
    os.symlink(os.path.join(trace(t, 'rt-mqueue'), 'kernel'), os.path.join(path, 'kernel'))
    with open(os.path.join(path, 'capture.json'), 'w') as file:
        json.dump({'sillage': '0.3.0', 'json': 2, 'begin': 10, 'end': 20, 'measured': [{'option': 'analyses', 'value': 'sched'}],
                   'triggers': [{'name': 'late', 'begin': 12, 'end': 13}], 'traces': []}, file)
    assert api(t, 'sources', path)['rows'][0]['kind'] == 'capture'
    rows = api(t, asked('marks', filter='kind!=phase'), path)['rows']
    assert [(row['kind'], row['begin'], row['end']) for row in rows] == [('capture', 10, 20), ('trigger', 12, 13)]
    assert 'sched' in api(t, asked('tables'), path)['rows'][0]


# ---- the document ----

def contains(found, wanted, path='$'):
    """Whether what a document shows is in the reply."""
    if isinstance(wanted, dict):
        for key, value in wanted.items():
            assert key in found, '%s lacks %s' % (path, key)
            contains(found[key], value, path + '.' + key)
    elif isinstance(wanted, list):
        assert len(found) >= len(wanted), '%s has %d' % (path, len(found))
        for number, value in enumerate(wanted):
            contains(found[number], value, '%s[%d]' % (path, number))
    else:
        assert found == wanted, '%s is %r, not %r' % (path, found, wanted)


def test_document(t):
    """Each request of doc/api.md has the reply that stands there."""
    server = Server(t, '--port', '0', trace(t, 'rt-mqueue'), store(t))
    text = read('doc', 'api.md')
    pairs = re.findall(r'^```\nGET (\S+)\n```\n\n```json\n(.*?)^```', text, re.M | re.S)
    assert len(pairs) == text.count('\nGET ') >= 10, len(pairs)
    for path, wanted in pairs:
        wanted = json.loads(wanted)
        contains(server.reply(path, wanted.get('error', {}).get('status', 200)), wanted, path)
    printed = subprocess.run([t.sillage, 'help', 'requests'], stdout=subprocess.PIPE, text=True, check=True).stdout
    assert '```\n' + printed + '```' in text, 'doc/api.md has not what `sillage help requests` prints'
    status, headers, body = server.get(PLACE + 'schema')
    assert status == 200 and headers['Content-Type'] == 'application/schema+json' and json.loads(body) == SCHEMA
    status, headers, body = server.get('/')
    assert status == 200 and headers['Content-Security-Policy'].startswith("default-src 'none'") and headers['X-Content-Type-Options'] == 'nosniff'
    for link in re.findall(r'(?:href|src)="(\w[\w/.]*)"', body.decode()):
        status, headers, _ = server.get('/' + link)
        assert status == 200 and 'unsafe' not in headers['Content-Security-Policy'], link
    server.finish()


# ---- whoever asks ----

def test_wrong(t):
    """Requests that are wrong, each with its status; a name is no element of the page."""
    evil = os.path.join(t.scratch, '<img id=evil>')
    os.symlink(trace(t, 'rt-mqueue'), evil)
    server = Server(t, '--port', '0', evil)
    assert b'<img' not in server.get('/')[2]
    big = 'x' * 600
    for path, status in (('tables', 400), ('tables?source=1', 400), ('tables?source=-1', 400), ('tables?source=0&source=0', 400), ('nothing', 404),
                         ('tables?source=0&at=1', 400), ('tables?source=0&comm=' + big, 400), ('tables?source=0&comm=%00', 400), ('tables?source=0&comm=%0a', 400),
                         ('tables?source=0&comm=%ff', 400), ('tables?source=0&comm=%zz', 400), ('tables?source=0&analyses=help', 400),
                         ('tables?source=0&analyses=cpu,help', 400), ('explain?source=0&job=help', 400), ('tables?source=0&analyses=nope', 400),
                         ('tables?source=0&filter=x', 400), ('tables?source=0&filter=a%3E1' + ',a%3E1' * 8, 400), ('tables?source=0&limit=0', 400),
                         ('tables?source=0&limit=1001', 400), ('tables?source=0&sort=x', 400), ('hosts?source=0', 400), ('tables?source=0&begin=..', 400),
                         ('compare?a=0&b=0&a_begin=/../etc@1', 400), ('compare?a=0&b=0&a_begin=1@2', 400), ('tables?source=0&begin=nonsense', 400),
                         ('tables?source=0&end=@1', 422), ('tables?source=0&begin=--output=x', 400), ('tables?' + 'a' * 5000, 400), ('', 404), ('../', 404)):
        got, _, body = server.get(PLACE + path)
        error = checked(body)['error']
        assert got == status == error['status'], (path, got, body)
        assert len(error['message']) > 5 and '\n' not in error['message']
    for method in ('POST', 'PUT', 'DELETE', 'OPTIONS', 'TRACE', 'BREW'):
        assert server.get(PLACE + 'sources', method)[0] in (405, 501), method
    assert server.get(PLACE + 'sources', 'HEAD')[::2] == (200, b'')
    for host in ('evil.example', 'localhost.evil.example', '127.0.0.1.evil.example', ''):
        assert server.get(PLACE + 'sources', headers={'Host': host})[0] == 403, host
    for host in ('localhost:%d' % server.port, '127.0.0.1', '[::1]:1'):
        assert server.get('/', headers={'Host': host})[0] == 200, host
    for site, status in (('cross-site', 403), ('same-site', 403), ('', 403), ('same-origin', 200), ('none', 200)):
        assert server.get(PLACE + 'sources', headers={'Sec-Fetch-Site': site})[0] == status, site
        assert server.get('/', headers={'Sec-Fetch-Site': site})[0] == 200, site
    assert server.get(PLACE + 'sources?' + 'x' * 20000)[0] == 400
    os.unlink(evil)
    server.reply(PLACE + 'sources')  # it was looked up once
    server.finish(signal.SIGINT)


def test_begin(t):
    """What cannot be served is said, with the status; so are others who could connect."""
    for words, says in (((os.path.join(t.scratch, 'none'),), 'No such file'), ((t.scratch,), ''), (('net://localhost',), 'relays are no source'),
                        (('--listen', '0.0.0.0:0', trace(t, 'rt-mqueue')), 'others than this host can connect'),
                        (('--listen', 'x', trace(t, 'rt-mqueue')), 'is not [HOST]:PORT')):
        out = subprocess.run([t.sillage, 'serve', *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert out.returncode == 1 and not out.stdout and says in out.stderr, (words, out)
    server = Server(t, '--listen', 'localhost:0', trace(t, 'rt-mqueue'))
    assert server.address == 'http://localhost:%d/' % server.port
    with contextlib.suppress(OSError), socket.create_connection(('::1', server.port)):
        assert server.get('/', to='::1')[0] == 200  # where the host has IPv6 it is the same port
    server.finish()


def test_users(t):
    """TLS and users, as of other servers."""
    config = tls.configured(t)
    server = Server(t, '--port', '0', '--server-config', config, trace(t, 'rt-mqueue'))
    assert server.address.startswith('https://')
    assert tls.get(t, server.port, PLACE + 'sources', None)[0] == 401
    status, _, body = tls.get(t, server.port, PLACE + 'sources', 'alice:secret')
    assert status == 200 and checked(body)['rows']
    server.finish()


def test_long(t):
    """A long computation holds nobody up, is left when its client leaves or when it is time, and ends with the server."""
    many = os.path.join(t.scratch, 'many')
    for number in range(TRACES):
        os.makedirs(os.path.join(many, str(number)))
        os.symlink(os.path.join(trace(t, 'rt-mqueue'), 'kernel'), os.path.join(many, str(number), 'kernel'))
    server = Server(t, '--port', '0', '--jobs', '2', '--max-time', '10m', many, trace(t, 'rt-mqueue'))
    link = server.begin(LONG)
    peer.wait_until(server.computing)
    server.reply(PLACE + 'tables?source=1')  # beside it
    assert server.get('/')[0] == 200 and server.children()
    os.kill(int(server.children()[0]), signal.SIGSTOP)  # it does not end by itself
    link.close()
    peer.wait_until(lambda: not server.children(), 'it is not left')
    links = [server.begin(LONG + '&offset=%d' % i) for i in range(40)]  # more than run, and than may wait
    peer.wait_until(lambda: len(server.children()) == 2)
    first = links[-1].recv(4096)
    assert b' 503 ' in first and b'Retry-After' in first, first
    for link in links[:20]:
        link.close()
    server.process.send_signal(signal.SIGTERM)
    assert peer.ended(server.process) == 0
    for link in links:
        link.close()
    assert 'Sanitizer' not in server.said(), server.said()

    server = Server(t, '--port', '0', '--max-time', '300ms', many)
    error = server.reply(LONG, 504)['error']
    assert '--max-time' in error['message'], error
    assert not server.children()
    server.finish()


def test_memory(t):
    """What needs more memory than it may have ends alone."""
    server = Server(t, '--port', '0', '--max-memory', '3M', trace(t, 'rt-mqueue'))
    got = server.get(PLACE + 'tables?source=0&analyses=all')
    if got[0] == 200:
        raise peer.Skip('the process has no limits, as with sanitizers')
    assert got[0] in (422, 500) and 'error' in checked(got[2]), got
    assert server.get('/')[0] == 200
    server.finish()


def test_slow(t):
    """Clients that do not read hold nobody up, and cannot have the server keep more and more."""
    server = Server(t, '--port', '0', trace(t, 'rt-mqueue'))
    path = PLACE + 'compare?a=0&b=0&limit=1000'
    size = len(server.get(path)[2])
    with contextlib.ExitStack() as stack:
        for _ in range(5):
            link = stack.enter_context(socket.socket())
            link.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
            link.connect(('127.0.0.1', server.port))
            link.sendall(b'GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n' % path.encode())
        server.reply(PLACE + 'tables?source=0&analyses=cpu')
        peer.wait_until(lambda: not server.children())
        assert size > 100000 and len(server.get(path)[2]) == size
    server.finish()


def test_printed(t):
    """What a command prints beyond the bound is an error, with what to ask for instead."""
    words = [t.sillage, 'api', '--max-memory=1G', 'events?source=0&limit=1000', trace(t, 'rt-mqueue')]
    out = subprocess.run(words, stdout=subprocess.PIPE, text=True, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (50000, 50000)))
    error = checked(out.stdout)['error']
    assert out.returncode == 1 and error['status'] == 422 and 'it prints more than' in error['message'], out


def test_left(t):
    """A process that computes does not outlive its server, however that ends."""
    words = [t.sillage, 'api', 'sources', trace(t, 'rt-mqueue')]
    for pid, runs in ((os.getpid(), True), (os.getppid(), False)):
        out = subprocess.run(words, stdout=subprocess.PIPE, env=dict(os.environ, SILLAGE_SERVE='%d 0' % pid))
        assert (out.returncode == 0) == bool(out.stdout) == runs, out
    with socket.create_server(('127.0.0.1', 0)) as silent:
        server = Server(t, '--port', '0', '--max-time', '4s', silent_url(silent))
        link = server.begin(PLACE + 'tables?source=0')
        peer.wait_until(server.computing)
        child, = server.computing()
        server.process.send_signal(signal.SIGSTOP)
        peer.wait_until(lambda: read('/proc', child, 'stat').rsplit(')', 1)[1].split()[0] == 'Z')
        server.process.send_signal(signal.SIGCONT)
        link.close()
        server.finish()


# ---- sources ----

def silent_url(listener):
    """A store on a server that accepts, and never answers."""
    return 'clickhouse://127.0.0.1:%d/db' % listener.getsockname()[1]


def test_passwords(t):
    """Passwords of stores reach their server, and nobody else: neither who asks, nor who looks at processes."""
    seen, words = [], []

    class Refuses(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            seen.append(base64.b64decode(self.headers['Authorization'].split()[1]).decode())
            for child in server.children():
                with open('/proc/%s/cmdline' % child) as file:
                    words.append(file.read())
            self.send_response(401)
            self.send_header('Content-Length', '0')
            self.end_headers()

        do_GET = do_POST

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(('127.0.0.1', 0), Refuses) as refuses:
        threading.Thread(target=refuses.serve_forever, daemon=True).start()
        place = '127.0.0.1:%d/db' % refuses.server_port
        server = Server(t, '--port', '0', *('clickhouse://%s@%s' % (user, place) for user in ('bob:s3cret', 'amy', 'eve:s4cret')),
                        SILLAGE_STORE_PASSWORD='s5cret', SILLAGE_SERVE='1 1')  # as of a server that has started this one
        body = server.get(PLACE + 'sources')[2].decode()
        rows = checked(body)['rows']
        assert [row['name'] for row in rows] == ['clickhouse://' + place] * 3 and 'cret' not in body, body
        assert all('HTTP status 401' in row['why'] for row in rows), rows
        assert 'HTTP status 401' in server.reply(PLACE + 'tables?source=1', 422)['error']['message']
        assert set(seen) == {'bob:s3cret', 'amy:s5cret', 'eve:s4cret'} and seen[-1] == 'amy:s5cret', seen
        assert words and 'cret' not in ''.join(words), words
        server.finish()
        refuses.shutdown()


def test_gone(t):
    """A source that is gone, or silent, says so in its row, and holds no other up."""
    stored = store(t)
    server = Server(t, '--port', '0', stored, trace(t, 'rt-mqueue'))
    os.unlink(stored)
    rows = server.reply(PLACE + 'sources')['rows']
    assert [(row['kind'], 'why' in row) for row in rows] == [('store', True), ('trace', False)] and 'No such file' in rows[0]['why'], rows
    assert server.reply(PLACE + 'tables?source=1')['rows']
    for request in ('tables?source=0', 'compare?a=1&b=0'):
        assert 'No such file' in server.reply(PLACE + request, 422)['error']['message'], request
    server.finish()
    with socket.create_server(('127.0.0.1', 0)) as silent:
        server = Server(t, '--port', '0', '--max-time', '12s', silent_url(silent), trace(t, 'rt-mqueue'))
        rows = server.reply(PLACE + 'sources?count=1')['rows']
        assert rows[0]['why'] == 'it takes too long' and 'why' not in rows[1] and rows[1]['events'] > 0, rows
        link = server.begin(PLACE + 'sources')
        peer.wait_until(server.computing)
        os.kill(int(server.computing()[0]), signal.SIGSTOP)
        said = link.recv(4096)
        assert b' 504 ' in said and b'--max-time' in said and b'range' not in said, said
        link.close()
        server.finish()


def test_stores(t):
    """A store need not be called one."""
    stored, other, link = store(t), os.path.join(t.scratch, 'other.sq'), os.path.join(t.scratch, 'link.db')
    shutil.copy(stored, other)
    os.symlink(other, link)
    sources = (stored, 'sqlite:' + stored, 'sqlite:' + other, link)
    server = Server(t, '--port', '0', *sources)
    rows = server.reply(PLACE + 'sources')['rows']
    assert [(row['kind'], row['name'], 'why' in row) for row in rows] == [('store', name, False) for name in (stored, stored, *['sqlite:' + other] * 2)], rows
    begin = rows[0]['begin'] + 200000000
    for number in range(len(sources)):
        assert server.reply(PLACE + 'hosts?source=%d' % number)['rows']
        for request in ('tables?source=%d&analyses=cpu&begin=%d' % (number, begin), 'marks?source=%d' % number,
                        'compare?a=%d&b=0&analyses=cpu&a_begin=%d' % (number, begin)):
            assert server.reply(PLACE + request)['rows'] == api(t, request, *sources)['rows'], request
    server.finish()


# ---- mutated requests ----

SEEDS = ['sources', 'tables?source=0&analyses=cpu&table=cpu.threads&sort=run_ns&order=asc&filter=run_ns>5,comm~m*&columns=tid,comm&offset=1&limit=3',
         'state?source=0&at=-10ms&table=state.threads', 'explain?source=0&thread=mq-client&job=run&worst=1&top=3&begin=-1s&end=-1ms',
         'events?source=0&event=sched_*&cpu=0,1&filter=fields.next_tid>0&limit=5', 'series?source=0&analyses=cpu&interval=100ms&tid=1,2&per=cpu',
         'compare?a=0&b=0&a_end=-300ms&b_begin=-200ms&analyses=cpu', 'marks?source=0&filter=kind=phase', 'hosts?source=0&figures=cpu.busy&host=*']
BITS = ['%00', '%0a', '%ff', '%', '%2', '&', '=', '?', '/', '..', '@', '-', '--', "'", '"', '<', '>', '!=', '~', '*', '[', ',', '0', '-1', '1e99',
        '18446744073709551615', '99999999999999999999', 'help', 'all', 'source=0', 'a=0', 'limit=1', 'é', '%c3%a9', '%e2%80%ae', 'x' * 300, '+', '#',
        ';', '\\', '$(id)', '`', '{', '}', 'nan', 'inf', '@1', 'NaN>', 'tid', 'wake.p99_ns', '.', '..', 'now', '1s', '0s', '1ns']


def mutated(rng):
    text = rng.choice(SEEDS)
    for _ in range(rng.choice((1, 1, 1, 2, 3, 8))):
        first = rng.choice((0, *[min(len(text), text.find('?') + 1)] * 9))  # names are few
        at, how = rng.randrange(first, len(text) + 1), rng.randrange(5)
        if how == 0:
            text = text[:at] + rng.choice(BITS) + text[at:]
        elif how == 1:
            text = text[:at] + text[at + rng.randrange(1, 6):]
        elif how == 2:
            text = text[:at] + chr(rng.randrange(33, 127)) + text[at + 1:]
        elif how == 3 and '=' in text:
            parts = re.split(r'([=&])', text)
            parts[rng.randrange(1, len(parts))] = rng.choice(BITS)
            text = ''.join(parts)
        else:
            other = rng.choice(SEEDS)
            text = text[:at] + other[rng.randrange(other.find('?') + 1, len(other)):]
    return text


def test_mutated(t):
    """Wrong requests get an error or a reply of the schema; the server lives, and nothing is left."""
    count, seed = int(os.environ.get('SILLAGE_MUTATED', 150)), int(os.environ.get('SILLAGE_SEED', 117))
    rng = random.Random(seed)
    server = Server(t, '--port', '0', '--max-time', '20s', trace(t, 'rt-mqueue'))
    statuses = {}
    for number in range(count):
        text = mutated(rng)
        with socket.create_connection(('127.0.0.1', server.port)) as link:
            link.sendall(b'GET %s%s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n' % (PLACE.encode(), text.encode()))
            answer = b''
            while more := link.recv(65536):
                answer += more
        head, _, body = answer.partition(b'\r\n\r\n')
        status = int(head.split()[1])
        statuses[status] = statuses.get(status, 0) + 1
        assert status in (200, 400, 404, 422, 504), (seed, number, text, answer[:300])
        if body.startswith(b'{'):
            reply = checked(body)
            assert reply.get('error', {'status': 200})['status'] == status, (text, body[:200])
    assert statuses.get(200) and statuses[400] > count / 5, statuses
    assert not server.children()
    server.finish()
    print('# %d mutated requests: %s' % (count, statuses))


if __name__ == '__main__':
    sys.exit(peer.main(globals()))
