#!/usr/bin/env python3
"""live: windows of a session that a real lttng-relayd serves stay in stores, whoever writes them.

Goal    `live --store` to a real ClickHouse server and to a file of SQLite: `history` has the windows and
        totals that live printed.  A trace that is followed and its record are one trace in a store; played
        under another name it is another.  /metrics has the account.  A server that accepts and never
        replies, that answers by halves or with errors holds nobody: live prints all, windows wait in the
        spool, and closed = stored + spooled + lost.  What a server refuses for good is set aside, counted
        as lost, and holds back nothing behind it.  A state is saved when the store has the windows before it.

usage: live.py SILLAGE APP DATA
"""
import contextlib
import itertools
import json
import os
import re
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'peer'))
import lies  # noqa: E402
import peer  # noqa: E402
import server  # noqa: E402
from ports import end_listener  # noqa: E402

TRACE = 'burst'
LISTS = ('-a', 'count,cpu,sched', '-i', '100ms')

DAY = 86400 * 10**9

def clickhouse(t):
    if not shutil.which('clickhouse-server'):
        raise peer.Skip('clickhouse-server is not installed')
    folder = tempfile.mkdtemp(prefix='server', dir=t.scratch)
    one = server.Server(folder)
    t.cleanups.append(one.kill)
    return one


def shown(lines):
    """Windows and totals; live alone knows the lag."""
    return [{key: value for key, value in line.items() if key != 'lag_ns'} for line in lines if line['type'] in ('window', 'total')]


def history(t, url, *options):
    code, printed, said = server.run(t.sillage, 'history', '-q', '-f', 'json', *options, url)
    assert code == 0 and not said, (code, said)
    return shown([json.loads(line) for line in printed.splitlines()])


def follow(t, relay, url, *options, session='own', host='here'):
    live = t.live('-v', *LISTS, '--store', url, *options, relay.live)
    t.play(live, relay, TRACE, '--session', session, '--hostname', host, '--speed', '0')
    live.wait_for(lambda one: any(line['type'] == 'detach' for line in one.lines()))
    return live, live.finish(signal.SIGTERM)


def test_server(t):
    """
    Live into ClickHouse: what it printed is there; the account is in /metrics.  A server that says nothing for a while
    after SIGTERM is not waited for: then the windows wait in the spool, and all is tried again.
    """
    machine, number = clickhouse(t), itertools.count()
    peer.wait_until(lambda: stores_all(t, machine.url('live%d' % next(number))), 'the server never has all at the end')


def stores_all(t, url):
    relay, port = t.relay(), peer.free_ports()
    live = t.live('-v', *LISTS, '--store', url, '--metrics', ':%d' % port, relay.live)
    t.play(live, relay, TRACE, '--session', 'own', '--hostname', 'here', '--speed', '0')
    live.wait_for(lambda one: any(line['type'] == 'detach' for line in one.lines()))
    text = urllib.request.urlopen('http://127.0.0.1:%d/metrics' % port).read().decode()
    states = {state: int(value) for state, value in re.findall(r'^sillage_store_windows\{state="(\w+)"\} (\d+)$', text, re.M)}
    windows = sum(line['type'] == 'window' for line in live.lines())
    assert set(states) == {'closed', 'stored', 'spooled', 'lost'} and 0 < states['closed'] <= windows, states
    assert states['lost'] == 0 and states['stored'] + states['spooled'] <= states['closed'], states
    lines = live.finish(signal.SIGTERM)
    closed, stored, spooled, lost = server.account(live.said())
    assert (closed, stored + spooled, lost) == (windows, windows, 0), live.said()
    if spooled > 0:
        return False
    assert history(t, url, '-i', '100ms', '-a', 'count,cpu,sched') == shown(lines)
    return True


def unit_command(t, variables):
    """What contrib/sillage@.service starts, with these variables."""
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..', 'contrib', 'sillage@.service')) as file:
        unit = file.read().replace('\\\n', ' ')
    command = re.search(r'^ExecStart=(.*)$', unit, re.M).group(1).split()
    assert command[:2] == ['/usr/bin/sillage', 'live'] and set(re.findall(r'^#     (\w+)=', unit, re.M)) == set(variables), command
    return [t.sillage, *(re.sub(r'\$\{(\w+)\}', lambda found: variables[found.group(1)], word) for word in command[1:])]


def test_unit(t):
    """The unit for a relay's machine: its windows are in the store; SIGKILL, and it goes on; a second one stands by."""
    relay, path, scratch = t.relay(), os.path.join(t.scratch, 'unit.db'), os.path.join(t.scratch, 'state')
    os.mkdir(scratch)
    command = unit_command(t, {'RELAY': relay.live, 'ANALYSES': 'count,cpu', 'STORE': path, 'STATE': os.path.join(scratch, 'one.state')})
    assert command[command.index('-o') + 1] == '/dev/null' and '-q' in command, command
    said = os.path.join(t.scratch, 'said')

    def start():
        with open(said, 'ab') as file:
            process = subprocess.Popen(command, stderr=file)
        t.processes.append(process)
        return process

    def stored():
        with contextlib.suppress(sqlite3.OperationalError), contextlib.closing(sqlite3.connect(path, timeout=30)) as db:
            return db.execute('SELECT count(*) FROM windows').fetchone()[0]
        return 0

    viewers = [start()]
    replay = t.replay(relay, 'small-packets', '--session', 'own', '--hostname', 'here', '--wait-viewer', '--loop', '3')
    peer.wait_until(stored, lambda: 'no window: ' + open(said).read())
    viewers.append(start())
    viewers[0].kill()
    viewers[0].wait()
    replay.wait()
    record = next(place for place, _, names in os.walk(os.path.join(t.scratch, 'relay')) if 'metadata' in names)
    expected = t.analyze(record, '-a', 'count,cpu')

    def is_all():
        total = history(t, path, '-a', 'count,cpu')[-1]
        return total['count']['events'] == expected['count']['events'] and total['cpu']['busy_ns'] == expected['cpu']['busy_ns']

    peer.wait_until(is_all, lambda: 'not all: %s: %s' % (history(t, path)[-1], open(said).read()))
    viewers[1].terminate()
    assert viewers[1].wait() == 0 and is_all(), open(said).read()


def test_identity(t):
    """A trace that is followed and its record are one in a file; in another name it is another."""
    relay, path = t.relay(), os.path.join(t.scratch, 'one.db')
    lines = follow(t, relay, path, session='burst', host='testhost')[1]  # as its metadata has it
    assert history(t, path, '-i', '100ms', '-a', 'count,cpu,sched') == shown(lines)
    record = next(place for place, _, names in os.walk(os.path.join(t.scratch, 'relay')) if 'metadata' in names)
    code, _, said = server.run(t.sillage, 'analyze', '-v', *LISTS, '-o', '/dev/null', '--store', path, record)
    assert code == 0 and server.account(said)[1] > 0, said
    with contextlib.closing(sqlite3.connect(path)) as db:
        assert db.execute('SELECT count(*), min(host), min(session) FROM traces').fetchone() == (1, 'testhost', 'burst')
    again = history(t, path, '-i', '100ms', '-a', 'count,cpu,sched')
    for one, other in zip(again, shown(lines), strict=True):
        assert {key: one[key] for key in one if key != 'trace'} == {key: other[key] for key in other if key != 'trace'}
    follow(t, relay, path, session='other')
    with contextlib.closing(sqlite3.connect(path)) as db:
        assert [row[0] for row in db.execute('SELECT session FROM traces ORDER BY 1')] == ['burst', 'other']
    assert len(history(t, path)) == 2


class Misbehaving:
    """Answers questions as an honest server does; @how is what comes of INSERT."""

    def __init__(self, how):
        self.how, self.links, self.taken, self.honest = how, [], [], lies.Honest()
        self.listener = socket.create_server(('127.0.0.1', 0))
        self.port = self.listener.getsockname()[1]
        self.accepts = threading.Thread(target=self.accept, daemon=True)
        self.accepts.start()

    def accept(self):
        with contextlib.suppress(OSError):
            while True:
                link, _ = self.listener.accept()
                self.links.append(link)
                threading.Thread(target=self.serve, args=(link,), daemon=True).start()

    def serve(self, link):
        data = b''
        with contextlib.suppress(OSError):
            while True:
                while b'\r\n\r\n' not in data:
                    more = link.recv(65536)
                    if not more:
                        return
                    data += more
                head, data = data.split(b'\r\n\r\n', 1)
                length = int(re.search(rb'(?i)content-length: (\d+)', head).group(1))
                while len(data) < length:
                    data += link.recv(65536)
                body, data = data[:length], data[length:]
                if body.startswith(b'INSERT INTO `store`') or not body.startswith(b'INSERT'):
                    answer = self.honest.answer(body.decode())
                    link.sendall(b'HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s' % (len(answer), answer.encode()))
                elif self.how == 'hangs':
                    threading.Event().wait()  # for ever: the thread is a daemon
                elif self.how == 'half':
                    link.sendall(b'HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\nhalf')
                    link.close()
                elif self.how == 'refuses':
                    link.sendall(b'HTTP/1.1 500 Oops\r\nContent-Length: 9\r\n\r\nCode: 27,')
                elif self.how == 'takes':
                    self.taken.append(body)
                    link.sendall(b'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n')
                else:
                    link.sendall(b'HTTP/1.1 500 Oops\r\nContent-Length: 4\r\n\r\noops')

    def close(self):
        end_listener(self.listener, self.accepts)
        for link in self.links:
            link.close()


def test_misbehaving(t):
    """Hung, half an answer, errors: live goes on, windows wait on disk, nothing is unsaid."""
    for how, text in (('hangs', 'too slow'), ('half', 'remaining'), ('errors', 'status 500')):
        fake = Misbehaving(how)
        spool = os.path.join(t.scratch, how + '.db')
        url = 'clickhouse://127.0.0.1:%d/a?every=10ms&timeout=%s&spool=%s' % (fake.port, '1s' if how == 'hangs' else '1h', spool)
        live, lines = follow(t, t.relay(), url)
        closed, stored, spooled, lost = server.account(live.said())
        assert closed == sum(line['type'] == 'window' for line in lines) == spooled and stored == lost == 0, live.said()
        assert live.said().count('wait in') == 1 and text in live.said(), live.said()
        expected = t.analyze(TRACE, *LISTS)
        assert [line['count'] for line in lines if line['type'] == 'total'] == [expected['count']]
        assert os.path.getsize(spool) > 0
        fake.close()


def test_usual(t):
    """How much a day takes is said once, and what nobody asked for removes nothing that was there before."""
    path = os.path.join(t.scratch, 'usual.db')

    def run(*options, until, host='here'):
        relay = t.relay()
        live = t.live('-a', 'count,cpu,sched', '-i', '2ms', '--store', path, *options, relay.live)
        t.play(live, relay, TRACE, '--session', 'own', '--hostname', host, '--speed', '0')
        live.wait_for(lambda one: any(line['type'] == 'detach' for line in one.lines()) and until in one.said())
        live.finish(signal.SIGTERM)
        return live.said()

    said = run(until='a day with this trace')
    assert said.count('a day with this trace; windows stay for a day, those of a minute for 30 days: --store-keep') == 1, said
    assert 'a day with' not in run('--store-keep', 'all', until='')
    with contextlib.closing(sqlite3.connect(path)) as db:
        count, first = db.execute('SELECT count(*), min(begin) FROM windows').fetchone()
        assert count > 60, count
        db.execute('CREATE TEMP TABLE old AS SELECT * FROM windows WHERE begin = %d' % first)
        db.execute('UPDATE old SET begin = begin - %d, "end" = "end" - %d' % (40 * DAY, 40 * DAY))
        db.execute('INSERT INTO windows SELECT * FROM old')
        db.commit()
    said = run(until='a day with this trace; none is removed: --store-keep', host='there')
    assert said.count('it has windows of more than 30 days, so none is removed') == 1 and 'stay for a day' not in said, said
    with contextlib.closing(sqlite3.connect(path)) as db:
        assert db.execute('SELECT min(begin) FROM windows').fetchone() == (first - 40 * DAY,)


def test_lies(t):
    """Whatever a server answers, also at the start: live goes on, and windows wait on disk."""
    for name, (answer, text) in lies.LIES.items():
        fake = lies.Server(answer)
        url = fake.url('&every=10ms&spool=' + os.path.join(t.scratch, name.replace(' ', '-') + '.db'))
        live, lines = follow(t, t.relay(), url)
        closed, stored, spooled, lost = server.account(live.said())
        assert closed == sum(line['type'] == 'window' for line in lines) == spooled and stored == lost == 0, (name, live.said())
        assert text in live.said() or 'too slow' in live.said(), (name, live.said())
        fake.close()


def test_state(t):
    """A state is not newer than the store: killed while the server hangs, the next run makes all windows again."""
    relay, state, path = t.relay(), os.path.join(t.scratch, 'state'), os.path.join(t.scratch, 'state.db')
    fake = Misbehaving('hangs')
    # Of batches of one moment some wait in the spool while the first one is on its way.
    hanging = 'clickhouse://127.0.0.1:%d/a?every=1ms&timeout=1h&spool=%s' % (fake.port, os.path.join(t.scratch, 'hangs.db'))
    options = ('-v', *LISTS, '--from', 'beginning', '--state', state, '--state-every', '50ms', '--store')
    live = t.live(*options, hanging, relay.live)
    replay = t.replay(relay, TRACE, '--session', 'own', '--hostname', 'here', '--wait-viewer', '--linger', peer.LONG)
    live.wait_for(lambda one: sum(line['type'] == 'window' for line in one.lines()) >= 8 and 'saving the state' in one.said())
    time.sleep(0.5)
    live.process.kill()
    peer.ended(live.process)
    fake.close()
    live = t.live(*options, path, relay.live)
    relay.wait_stored('own', os.path.join(t.data, TRACE, 'kernel'))
    live.wait_for(lambda one: os.path.exists(state) and 'attached' in one.said())
    t.stop_replay(replay, relay, TRACE, 'own')
    live.wait_for(lambda one: any(line['type'] == 'detach' for line in one.lines()))
    live.finish(signal.SIGTERM)
    expected = t.analyze(TRACE, *LISTS)
    total, = [line for line in history(t, path, '-a', 'count,cpu,sched') if line['type'] == 'total']
    assert (total['count'], total['sched']['wake']) == (expected['count'], expected['sched']['wake']), 'the state was newer than the store'


def test_refused_at_first(t):
    """What is refused fits into no spool: what comes later is named again, and waits in the spool."""
    fake, relays = Misbehaving('refuses'), [t.relay() for _ in range(3)]
    spool = os.path.join(t.scratch, 'small.db')
    # A batch of the first trace takes 40000 bytes of it, one of the last 8000.
    url = 'clickhouse://127.0.0.1:%d/a?every=500ms&timeout=1h&spool-size=16000&spool=%s' % (fake.port, spool)
    live = t.live('-v', *LISTS, '--store', url, *(relay.live for relay in relays))
    for relay, trace, then in zip(relays, (TRACE, TRACE, 'ust'), ('takes', 'errors', None)):
        before = sum(line['type'] == 'detach' for line in live.lines())
        t.play(live, relay, trace, '--session', 'ust' if trace == 'ust' else 'own', '--hostname', 'here', '--speed', '0')
        live.wait_for(lambda one: sum(line['type'] == 'detach' for line in one.lines()) > before)
        if then == 'takes':
            live.wait_said('spool is full')
        elif then == 'errors':
            live.wait_for(lambda one: any(body.startswith(b'INSERT INTO `windows`') for body in fake.taken))
        fake.how = then or fake.how
    live.finish(signal.SIGTERM, 1)
    closed, stored, spooled, lost = server.account(live.said())
    assert stored > 0 and spooled > 0 and lost > 0, live.said()
    assert any(body.startswith(b'INSERT INTO `traces`') for body in fake.taken), 'nobody named the trace'
    fake.close()


def test_refused(t):
    """What the server refuses for good is set aside: what comes behind it is stored."""
    machine = clickhouse(t)
    trace, spool = os.path.join(t.data, TRACE), os.path.join(t.scratch, 'refused.db')
    url = machine.url('refused', options='?spool=' + spool)

    def store(lists, status, *options):
        code, _, said = server.run(t.sillage, 'analyze', '-v', '-a', lists, '-i', '100ms', '-o', '/dev/null', '--store', url,
                                   *options, trace)
        assert code == status, (code, said)
        return server.account(said), said

    store('cpu', 0)
    made = machine.ask('SHOW CREATE TABLE refused.cpu_threads')
    machine.ask('DROP TABLE refused.cpu_threads')
    machine.ask(made.replace('\\n', '\n').replace("\\'", "'").replace('switches Nullable(Int64)', 'switches Nullable(UUID)'))
    (closed, stored, spooled, lost), said = store('cpu', 1)
    assert closed == lost > 0 and stored == spooled == 0 and said.count('it refuses windows') == 1, said
    lost_first = lost
    with contextlib.closing(sqlite3.connect(spool)) as db:
        assert db.execute('SELECT count(*) FROM batches').fetchone() == (0,)
        assert {'cpu_threads', 'windows'} <= {row[0] for row in db.execute('SELECT name FROM aside')}
        # Waiting in the spool since an earlier run, and older than what this run brings.
        db.execute('INSERT INTO batches SELECT 1, 7, 0, 1, 1, 0, 0, 0, NULL, 100')
        db.execute('INSERT INTO parts SELECT 1, nth, name, size, body FROM aside WHERE at = (SELECT min(at) FROM aside)')
        db.commit()
    (closed, stored, spooled, lost), said = store('count', 0)
    assert closed == stored > 0 and 'it refuses windows' in said and 'earlier run' in said, said
    code, printed, said = server.run(t.sillage, 'history', '-f', 'json', '-a', 'count', '-i', '100ms', url)
    assert code == 0 and printed.count('"type":"window"') == stored, said
    assert [int(count) for count in re.findall(r': (\d+) windows between .* are missing', said)] == [7, lost_first], said


if __name__ == '__main__':
    sys.exit(peer.main(globals()))
