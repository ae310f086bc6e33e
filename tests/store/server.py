#!/usr/bin/env python3
"""server: a store in ClickHouse has what `analyze` prints, and windows outlast the server's absence.

Goal    `history` of the store is `analyze -i`, byte by byte in JSON, and with `--per host` that of a
        file of SQLite; what is stored again replaces itself.  While the server is away (killed), windows wait in the spool, and the next run sends
        them: nothing is lost or double, and closed = stored + spooled + lost.  A spool that is full: one
        line, exit status 1, a gap.  A run that is killed leaves whole windows.  Wrong passwords, stores
        of a newer version, other databases, servers that are not there, that answer with errors or with
        half an answer are refused in one line.  A table that lacks a column grows.  `history --follow`
        prints each window once, from before the database is there, and past an absence of the server.
Method  Debian's clickhouse-server on loopback, with a configuration and a folder of its own; a small
        server that misbehaves.  Skipped where there is no clickhouse-server.

usage: server.py SILLAGE TRACE
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
import urllib.error
import urllib.request

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..'))
import follow  # noqa: E402
from ports import free_ports  # noqa: E402

LISTS = ['-a', 'count,cpu,sched,io', '-j', '0']
END = ['--end', '1795225001400000000']  # of a part of the trace
# What was stored one after the other: lists of analyses, -i, and more.
MIXED = ((('cpu', '50ms'), ('sched,cpu', '10ms'), ('count', '10ms')), (('sched', '10ms'), ('cpu,irq', '10ms')),
         (('cpu,sched', '10ms'), ('io,cpu', '10ms'), ('cpu,sched', '10ms')), (('cpu', '10ms'), ('sched', '10ms', *END)),
         (('cpu,io', '10ms', *END), ('sched,cpu', '10ms'), ('irq', '10ms', *END)))
CONFIG = '''<?xml version="1.0"?>
<yandex><logger><level>warning</level><log>{0}/log</log><errorlog>{0}/errors</errorlog></logger>
<listen_host>127.0.0.1</listen_host><http_port>{1}</http_port><path>{0}/data/</path><tmp_path>{0}/tmp/</tmp_path>
<users_config>users.xml</users_config><default_profile>default</default_profile>
<default_database>default</default_database><mark_cache_size>67108864</mark_cache_size>{2}</yandex>'''
USERS = '''<?xml version="1.0"?>
<yandex><profiles><default><max_threads>2</max_threads></default></profiles><users>
<default><password></password><networks><ip>127.0.0.1</ip></networks><profile>default</profile><quota>default</quota></default>
<writer><password>se/cr:t</password><networks><ip>127.0.0.1</ip></networks><profile>default</profile><quota>default</quota></writer>
</users><quotas><default/></quotas></yandex>'''


def fail(text):
    raise SystemExit('not ok ' + text)


def run(*command, env=None):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=dict(os.environ, **(env or {})))
    return done.returncode, done.stdout.decode(errors='replace'), done.stderr.decode(errors='replace')


def in_memory():
    """Where a server makes thousands of small files quickly; None: the usual place."""
    return '/dev/shm' if os.access('/dev/shm', os.W_OK) else None


class Server:
    def __init__(self, folder, more=''):
        """@more: elements of its configuration."""
        self.folder, self.port, self.process = folder, free_ports(), None
        for name in ('data', 'tmp'):
            os.makedirs(os.path.join(folder, name))
        for name, text in (('config.xml', CONFIG.format(folder, self.port, more)), ('users.xml', USERS)):
            with open(os.path.join(folder, name), 'w') as file:
                file.write(text)
        self.start()

    def start(self):
        self.process = subprocess.Popen(['clickhouse-server', '--config-file=%s/config.xml' % self.folder],
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while True:
            try:
                return self.ask('SELECT 1')
            except (urllib.error.URLError, ConnectionError):
                if self.process.poll() is not None:
                    fail('clickhouse-server: exit %d' % self.process.returncode)
                time.sleep(0.1)

    def kill(self):
        self.process.kill()
        self.process.wait()

    def ask(self, sql, database='default'):
        with urllib.request.urlopen('http://127.0.0.1:%d/?database=%s' % (self.port, database), data=sql.encode()) as reply:
            return reply.read().decode()

    def url(self, database, user='', options=''):
        return 'clickhouse://%s127.0.0.1:%d/%s%s' % (user, self.port, database, options)


def windows(text):
    return sorted(line for line in text.splitlines() if line.startswith(('{"type":"window"', '{"type":"total"')))


def account(said):
    found = re.search(r'(\d+) windows closed, (\d+) stored with \d+ rows, (\d+) spooled, (\d+) lost', said)
    closed, stored, spooled, lost = map(int, found.groups()) if found else (0, 1, 0, 0)
    if closed != stored + spooled + lost:
        fail('account: ' + said)
    return closed, stored, spooled, lost


class Test:
    def __init__(self, sillage, trace, scratch):
        self.sillage, self.trace, self.scratch = sillage, trace, scratch
        self.server = Server(os.path.join(scratch, 'server'))

    def analyze(self, url, interval='10ms'):
        return run(self.sillage, 'analyze', '-v', '-f', 'json', *LISTS, '-i', interval, '--store', url, self.trace)

    def history(self, url, interval='10ms', env=None):
        return run(self.sillage, 'history', '-q', '-f', 'json', '-i', interval, url, env=env)

    def check_mixed(self):
        """Runs of one trace with other analyses, lengths and ends: history is that of a file of SQLite, which laws.py
        compares with analyze, and says the same of what is short."""
        for number, runs in enumerate(MIXED):
            stores = self.server.url('mixed%d' % number), os.path.join(self.scratch, 'mixed%d.db' % number)
            for lists, interval, *more in runs:
                for store in stores:
                    run(self.sillage, 'analyze', '-q', '-a', lists, '-i', interval, *more, '-o', '/dev/null', '--store', store,
                        self.trace)
            names = sorted({name for lists, *_ in runs for name in lists.split(',')})
            for lists in names + [','.join(names)]:
                for interval, form in (('10ms', 'json'), ('100ms', 'text')):
                    found = [run(self.sillage, 'history', '-a', lists, '-i', interval, '-f', form, store) for store in stores]
                    if any(code or len(printed) < 200 for code, printed, _ in found):
                        fail('mixed %d: %s %s: %.2000s' % (number, lists, interval, found))
                    found = [(printed + said).replace(store, 'STORE').splitlines()
                             for (_, printed, said), store in zip(found, stores)]
                    for pair in itertools.zip_longest(*found):
                        if pair[0] != pair[1] and '"type":"end"' not in str(pair[0]):
                            fail('mixed %d: %s %s: %.2000s; SQLite has %.2000s' % (number, lists, interval, *pair))

    def check_older_heads(self):
        """Heads of a version that had one for each window: they are read, and another run's come beside them."""
        url = self.server.url('heads')
        for lists in ('cpu', 'sched'):
            run(self.sillage, 'analyze', '-q', '-a', lists, '-i', '10ms', '-o', '/dev/null', '--store', url, self.trace)
            if lists == 'cpu':
                columns = self.server.ask("SELECT name, type FROM system.columns WHERE database = 'heads' AND table = 'windows'"
                                          " AND name != 'run' FORMAT TabSeparated").splitlines()
                self.server.ask('CREATE TABLE heads.older (%s) ENGINE = ReplacingMergeTree(version)'
                                ' PARTITION BY (level, intDiv(begin, 86400000000000)) ORDER BY (level, begin, trace)'
                                % ', '.join('`%s` %s' % tuple(line.split('\t')) for line in columns))
                names = ', '.join('`%s`' % line.split('\t')[0] for line in columns)
                self.server.ask('INSERT INTO heads.older (%s) SELECT %s FROM heads.windows' % (names, names))
                self.server.ask('DROP TABLE heads.windows')
                self.server.ask('RENAME TABLE heads.older TO heads.windows')
            command = ['-q', '-f', 'json', '-a', lists if lists == 'cpu' else 'cpu,sched', '-i', '10ms']
            code, found, said = run(self.sillage, 'history', *command, url)
            if code or said or windows(found) != windows(run(self.sillage, 'analyze', *command, self.trace)[1]):
                fail('older heads: %s: exit %d, %s' % (lists, code, said))

    def check_law(self):
        url = self.server.url('law')
        for _ in range(2):
            code, printed, said = self.analyze(url)
            if code != 0 or account(said)[1] != printed.count('"type":"window"'):
                fail('law: exit %d, %s' % (code, said))
        for interval in ('10ms', '50ms'):
            expected = windows(run(self.sillage, 'analyze', '-q', '-f', 'json', *LISTS, '-i', interval, self.trace)[1])
            code, found, said = self.history(url, interval)
            if code != 0 or said or windows(found) != expected:
                fail('law: %s: exit %d, %s' % (interval, code, said))
        # What a window had before it was replaced, and a window whose head has not come, are not there.
        for level, version in (('level', 'version - 1'), ('level + 1', 'version')):
            self.server.ask('INSERT INTO law.count_by_name (level, begin, trace, name, count, version)'
                            " SELECT %s, begin, trace, 'stale', 7, %s FROM law.windows" % (level, version))
        if windows(self.history(url, '50ms')[1]) != expected:
            fail('law: stale rows are shown')

    def check_named(self):
        """Rows of a group, with names for ids."""
        url = self.server.url('named')
        asked = ('-i', '10ms', '-n', '1000', '--label', 'who = sched_switch key=next_tid name=next_comm', '--period',
                 'stay = sched_switch; sched_switch; by next_tid=prev_tid; group who(next_tid)')
        _, printed, said = run(self.sillage, 'analyze', '-q', '-f', 'json', *asked, '--store', url, self.trace)
        expected = [line for line in windows(printed) if '"window"' in line]
        if said or '"label":"stay ' not in ''.join(expected):
            fail('named: nothing has a name: %s' % said)
        found = windows(run(self.sillage, 'history', '-q', '-f', 'json', '-n', '1000', '-i', '10ms', url)[1])
        if [line for line in found if '"window"' in line] != expected:  # a total has the names of the last windows
            fail('named: other windows')

    def check_also(self):
        """Longer windows beside the short ones: the account counts the short ones, and history is the same."""
        url = self.server.url('also')
        code, printed, said = run(self.sillage, 'analyze', '-v', '-f', 'json', *LISTS, '-i', '10ms', '--store', url, '--store-also',
                                  '50ms', self.trace)
        if code != 0 or account(said)[1] != printed.count('"type":"window"'):
            fail('also: exit %d, %s' % (code, said))
        if int(self.server.ask('SELECT count() FROM also.windows WHERE level = 50000000')) < 3:
            fail('also: there are no long windows')
        for interval in ('10ms', '50ms', '100ms'):
            expected = windows(run(self.sillage, 'analyze', '-q', '-f', 'json', *LISTS, '-i', interval, self.trace)[1])
            if windows(self.history(url, interval)[1]) != expected:
                fail('also: %s: other windows' % interval)

    def check_top(self):
        """top of a database, as screen.py checks it with a file."""
        if not shutil.which('tmux'):
            print('# top: skipped: tmux is not installed')
            return
        import screen
        begins = [json.loads(line)['begin'] for line in self.history(self.server.url('law'))[1].splitlines() if '"type":"window"' in line]
        top = screen.Screen(self.scratch, self.sillage, 'top', '-i', '10ms', self.server.url('law'))
        text = top.shows(begins[-1], 'following', 'testhost/migrate/kernel')
        if 'THREAD (TID)' not in text:
            fail('top: ' + text)
        for keys, at, state in ((('Left', 'Left'), -3, 'paused'), (('Home',), 0, 'paused'), (('Right',), 1, 'paused'), (('End',), -1, 'following')):
            top.keys(*keys)
            top.shows(begins[at], state)
        top.keys('q')
        top.wait_for('status 0')
        top.close()

    def check_fleet(self):
        path = os.path.join(self.scratch, 'fleet.db')
        self.analyze(path)
        options = ('--per', 'host', '-f', 'json', '-i', '50ms', '--figure', 'cpu.process.switches', '--figure', 'sched.wake.p99',
                   '--trigger', 'cpu.busy > 1% on 1 host')
        found = []
        for store in (path, self.server.url('law')):
            code, printed, said = run(self.sillage, 'history', '-q', *options, store)
            found.append([line for line in printed.splitlines() if line.startswith(('{"type":"fleet', '{"type":"trigger'))])
            if code != 0 or said or len(found[-1]) < 3:
                fail('fleet: exit %d, %s' % (code, said))
        if found[0] != found[1]:
            fail('fleet: %s, SQLite has %s' % (found[1], found[0]))

    def check_away(self):
        """The server is killed when the run has begun: live goes on, so does a run that was there."""
        expected = windows(self.analyze(self.server.url('away'))[1])
        self.server.ask('DROP DATABASE away')
        state = {'XDG_STATE_HOME': os.path.join(self.scratch, 'state')}
        child = subprocess.Popen([self.sillage, 'analyze', '-v', '-f', 'json', *LISTS, '-i', '10ms', '--store',
                                  self.server.url('away', options='?every=20s'), self.trace],
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=dict(os.environ, **state))
        while b'"type":"window"' not in child.stdout.readline():
            pass
        self.server.kill()
        child.stdout.read()
        said = child.stderr.read().decode()
        if child.wait() != 0 or account(said)[2] == 0 or said.count('wait in') != 1:
            fail('away: exit %d, %s' % (child.returncode, said))
        code, _, said = self.analyze(self.server.url('away'))
        if code != 1 or 'connect' not in said:
            fail('unreachable: exit %d, %s' % (code, said))
        self.server.start()
        self.check_damaged(os.path.join(state['XDG_STATE_HOME'], 'sillage'))
        code, _, said = run(self.sillage, 'analyze', '-v', '-a', 'count', '-i', '1s', '-o', '/dev/null', '--store',
                            self.server.url('away'), self.trace, env=state)
        if code != 0 or 'of an earlier run' not in said or os.listdir(os.path.join(state['XDG_STATE_HOME'], 'sillage')):
            fail('away: the spool: exit %d, %s, %s' % (code, said, os.listdir(os.path.join(state['XDG_STATE_HOME'], 'sillage'))))
        if windows(self.history(self.server.url('away'))[1]) != expected:
            fail('away: other windows')

    def check_follow(self):
        """`history --follow` is there before the database, and goes on when the server was away."""
        url, expected = self.server.url('follow'), None
        followers = {interval: follow.Follower(self.sillage, url, '-i', interval, '--since', '@0', *LISTS[:2])
                     for interval in ('10ms', '50ms')}
        for one in followers.values():
            one.wait_said('it is empty; waiting for it')
        begin = windows(run(self.sillage, 'analyze', '-q', '-f', 'json', *LISTS, '-i', '10ms', self.trace)[1])[20]
        begin = re.search(r'"begin":(\d+)', begin).group(1)
        code, _, said = run(self.sillage, 'analyze', '-q', '-o', '/dev/null', *LISTS, '-i', '10ms', '--end', begin + 'ns',
                            '--store', url, self.trace)
        if code != 0 or said:
            fail('follow: exit %d, %s' % (code, said))
        followers['10ms'].wait_for(19)
        self.server.kill()
        for one in followers.values():
            one.wait_said('trying again')
        self.server.start()
        self.analyze(url)
        for interval, one in followers.items():
            expected = windows(run(self.sillage, 'analyze', '-q', '-f', 'json', *LISTS, '-i', interval, self.trace)[1])
            expected = [line + '\n' for line in expected if line.startswith('{"type":"window"')]
            one.wait_for(len(expected) - 1)
            found = one.finish()
            if sorted(found) != expected or [line for line in found if line in expected] != found:
                fail('follow: %s: %d windows, expected %d: %s' % (interval, len(found), len(expected), one.text()))
            if one.text().count('is there') != 2 or one.text().count('trying again') != 1:
                fail('follow: %s' % one.text())

    def check_damaged(self, folder):
        """A spool is given up where it cannot be read: it stays, and holds nobody."""
        name, = (name for name in os.listdir(folder) if name.endswith('.db'))
        path = os.path.join(self.scratch, 'damaged.db')
        shutil.copy(os.path.join(folder, name), path)
        with contextlib.closing(sqlite3.connect(path)) as spool:
            spool.execute('INSERT INTO batches SELECT number + 1, windows, begin, "end", rows, lost, lost_begin, lost_end, why, bytes'
                          ' FROM batches')
            spool.execute("INSERT INTO parts SELECT number + 1, nth, name, size, x'00' FROM parts")
            spool.commit()
        code, _, said = self.analyze(self.server.url('away', options='?every=1ns&spool=' + path))
        if code != 0 or 'damaged: what waits there cannot be sent' not in said or not os.path.exists(path):
            fail('damaged spool: exit %d, %s' % (code, said))
        self.server.ask('DROP DATABASE away')

    def check_full(self):
        url = self.server.url('full', options='?every=20s&spool-size=1K')
        child = subprocess.Popen([self.sillage, 'analyze', '-v', '-f', 'json', *LISTS, '-i', '10ms', '--store', url, self.trace],
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        while b'"type":"window"' not in child.stdout.readline():
            pass
        self.server.kill()
        child.stdout.read()
        said = child.stderr.read().decode()
        if child.wait() != 1 or account(said)[3] == 0 or said.count('the spool is full') != 1:
            fail('full: exit %d, %s' % (child.returncode, said))
        self.server.start()

    def check_kill(self):
        url = self.server.url('killed', options='?every=1ms')
        for moment in (0.05, 0.15):
            child = subprocess.Popen([self.sillage, 'analyze', '-q', *LISTS, '-i', '10ms', '-o', '/dev/null', '--store', url, self.trace])
            time.sleep(moment)
            child.send_signal(signal.SIGKILL)
            child.wait()
        self.analyze(url)
        if windows(self.history(url)[1]) != windows(self.history(self.server.url('law'))[1]):
            fail('killed: other windows')

    def refuse(self, what, status, text, code, said):
        if code != status or text not in said or said.count('\n') != 1:
            fail('%s: exit %d, %s' % (what, code, said))

    def check_refused(self):
        for user, secret, password in (('writer:bad@', 'bad', None), ('writer@', 'x', 'x')):
            env = {'SILLAGE_STORE_PASSWORD': password} if password else {}
            code, _, said = self.history(self.server.url('law', user), env=env)
            self.refuse('password', 1, 'assword', code, said)
            if secret == 'bad' and secret in said:
                fail('password: it is shown')
        path = os.path.join(self.scratch, 'password')
        with open(path, 'w') as file:
            file.write('se/cr:t\n')
        for user, options, env in (('writer:se%2Fcr%3At@', '', {}), ('writer@', '?password-file=' + path, {}),
                                   ('writer@', '', {'SILLAGE_STORE_PASSWORD': 'se/cr:t'})):
            code, found, said = self.history(self.server.url('law', user, options), env=env)
            if code != 0 or said or not windows(found):
                fail('password: exit %d, %s' % (code, said))
        self.server.ask('CREATE DATABASE other')
        self.server.ask('CREATE TABLE other.a (b UInt8) ENGINE = Log')
        self.refuse('other', 2, 'no store of sillage', *self.history(self.server.url('other'))[::2])
        self.refuse('none', 2, 'it is empty', *self.history(self.server.url('none'))[::2])
        self.refuse('option', 2, 'no option', *self.history(self.server.url('law', options='?x=1'))[::2])
        self.refuse('name', 2, 'is no store', *self.history(self.server.url("a'b"))[::2])
        self.server.ask('ALTER TABLE law.cpu_threads DROP COLUMN longest_ns')
        if self.history(self.server.url('law'))[0] != 0 or self.analyze(self.server.url('law'))[0] != 0:
            fail('older: it is refused')
        if not int(self.server.ask('SELECT count() FROM law.cpu_threads FINAL WHERE longest_ns > 0')):
            fail('older: it did not grow')
        self.server.ask("INSERT INTO law.store (id, version) VALUES ('sillage', 3)")
        self.refuse('newer', 2, 'newer sillage', *self.history(self.server.url('law'))[::2])

    def check_replies(self):
        for reply, text in ((b'HTTP/1.1 500 Oops\r\nContent-Length: 3\r\n\r\nno\x1b', 'status 500: no?'),
                            (b'HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\nstore\n', 'remaining'),
                            (b'', 'mpty reply'), (b'SSH-2.0\r\n', 'HTTP/0.9')):
            with socket.create_server(('127.0.0.1', 0)) as listener:
                def serve():
                    peer, _ = listener.accept()
                    with peer:
                        peer.recv(65536)
                        peer.sendall(reply)
                thread = threading.Thread(target=serve)
                thread.start()
                code, _, said = self.history('clickhouse://127.0.0.1:%d/a' % listener.getsockname()[1])
                thread.join()
                self.refuse(text, 1, text, code, said)


def run_checks(make, *names):
    """The checks of these names, of a test with a server of its own; @make: of the arguments and a scratch folder."""
    if not shutil.which('clickhouse-server'):
        print('# clickhouse-server is not installed')
        raise SystemExit(77)
    with tempfile.TemporaryDirectory(prefix='sillage-store-') as scratch:
        os.environ['XDG_STATE_HOME'] = os.path.join(scratch, 'own')
        test = make(*sys.argv[1:3], scratch)
        try:
            for name in names:
                getattr(test, 'check_' + name)()
                print('ok', name, flush=True)
        finally:
            test.server.kill()


if __name__ == '__main__':
    run_checks(Test, 'law', 'mixed', 'older_heads', 'named', 'also', 'follow', 'top', 'fleet', 'away', 'full', 'kill', 'refused', 'replies')
