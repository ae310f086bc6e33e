#!/usr/bin/env python3
"""server_faults: a store in ClickHouse as what else it is used for, and what goes wrong with it.

Goal    A database, and a range of it, are sides of `sillage compare` as a trace is.  Through TLS a server is
        trusted by its CA alone (ca=FILE).  A password that turns wrong under way: windows wait, that is said, and
        the next run sends them.  A window that is not complete is replaced by one that is, and never the other way.
        Users that may use one database write and read it, and nothing else; readers (readonly) only read.
        Two runs that write one trace at once leave what one leaves.
Method  Debian's clickhouse-server, as server.py starts it, behind a proxy that speaks TLS, or asks for a password
        (both in Python; the certificates are made by openssl).  Skipped where there is none.

usage: server_faults.py SILLAGE DATA
"""
import contextlib
import os
import shutil
import socket
import ssl
import subprocess
import sys
import threading

import disk
import server
from ports import end_listener
from server import account, fail, run, windows

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'reference'))
import compare_sides as sides  # noqa: E402


class Proxy:
    """Passes connections on to the server; by TLS if there is a certificate."""

    def __init__(self, port, certificate=None):
        self.port_behind, self.context = port, None
        if certificate:
            self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self.context.load_cert_chain(*certificate)
        self.listener = socket.create_server(('127.0.0.1', 0))
        self.port = self.listener.getsockname()[1]
        self.accepts = threading.Thread(target=self.accept, daemon=True)
        self.accepts.start()

    def accept(self):
        with contextlib.suppress(OSError):
            while True:
                link, _ = self.listener.accept()
                threading.Thread(target=self.serve, args=(link,), daemon=True).start()

    def serve(self, link):
        with contextlib.suppress(OSError):
            if self.context:
                link = self.context.wrap_socket(link, server_side=True)
            behind = socket.create_connection(('127.0.0.1', self.port_behind))
            threading.Thread(target=self.copy, args=(behind, link), daemon=True).start()
            self.copy(link, behind)

    @staticmethod
    def copy(one, other):
        with contextlib.suppress(OSError):
            while data := one.recv(65536):
                other.sendall(data)
        for end in (one, other):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def close(self):
        end_listener(self.listener, self.accepts)


def certificate(scratch, name):
    """A CA of this name, and a certificate of 127.0.0.1 by it: (the CA, (certificate, key))."""
    path = os.path.join(scratch, name)
    quiet = {'check': True, 'stdout': subprocess.DEVNULL, 'stderr': subprocess.DEVNULL}
    subprocess.run(['openssl', 'req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2', '-subj', '/CN=' + name,
                    '-keyout', path + '-ca.key', '-out', path + '-ca.pem'], **quiet)
    subprocess.run(['openssl', 'req', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-subj', '/CN=127.0.0.1', '-keyout', path + '.key', '-out',
                    path + '.csr'], **quiet)
    with open(path + '.ext', 'w') as file:
        file.write('subjectAltName = IP:127.0.0.1\n')
    subprocess.run(['openssl', 'x509', '-req', '-in', path + '.csr', '-CA', path + '-ca.pem', '-CAkey', path + '-ca.key',
                    '-CAcreateserial', '-days', '2', '-extfile', path + '.ext', '-out', path + '.pem'], **quiet)
    return path + '-ca.pem', (path + '.pem', path + '.key')


USER = ('<{0}><password>{0}</password><networks><ip>127.0.0.1</ip></networks><profile>{1}</profile><quota>default</quota>'
        '<allow_databases>{2}</allow_databases></{0}>')
ONE, BOTH = '<database>fleet</database>', '<database>joint</database><database>joint_all</database>'
CLUSTER = ('<tcp_port>{0}</tcp_port><remote_servers><one><shard><replica><host>127.0.0.1</host><port>{0}</port></replica></shard></one>'
           '</remote_servers>')


class Test:
    def __init__(self, sillage, data, scratch):
        # Writers and readers of one database, or of one and that of its cluster, as doc/fleet.md has them.
        users = USER.format('own', 'default', ONE) + USER.format('look', 'reader', ONE) + USER.format('stiff', 'frozen', ONE)
        users += USER.format('joint', 'default', BOTH) + USER.format('half', 'default', '<database>joint</database>')
        users += USER.format('all', 'reader', BOTH)
        server.USERS = server.USERS.replace('</profiles>', '<reader><readonly>2</readonly></reader><frozen><readonly>1</readonly></frozen>'
                                            '</profiles>').replace('</users>', users + '</users>')
        self.sillage, self.data, self.scratch = sillage, data, scratch
        self.server = server.Server(os.path.join(scratch, 'server'), CLUSTER.format(server.free_ports()))

    def check_compare(self):
        """All options of compare, with a database as a side."""
        trace, other = (os.path.join(self.data, name, 'kernel') for name in ('lost-events', 'burst'))
        good, mine = (os.path.join(self.scratch, name) for name in ('good.json', 'mine.json'))
        url = self.server.url('compared')
        code, _, said = run(self.sillage, 'analyze', '-q', '-a', sides.ANALYSES, '-i', '10ms', '-o', os.devnull, '--store', url, trace)
        if code != 0:
            fail('compare: exit %d, %s' % (code, said))
        try:
            sides.json_of(self.sillage, other, good)
            span = sides.json_of(self.sillage, trace, mine)
            body = sides.Run(self.sillage, ['-f', 'json', '-a', sides.ANALYSES, mine, good]).body
            sides.check_side(self.sillage, sides.Side(sides.STORE, 'ClickHouse', url), good, self.scratch, span, body)
        except sides.Failure as failure:
            fail('compare: %s' % failure)

    def analyze(self, url, trace, env=None, status=0):
        code, printed, said = run(self.sillage, 'analyze', '-v', '-f', 'json', *server.LISTS, '-i', '10ms', '--store', url, trace, env=env)
        if code != status:
            fail('%s: exit %d, %s' % (url, code, said))
        return printed, said

    def history(self, url):
        code, printed, said = run(self.sillage, 'history', '-q', '-f', 'json', '-i', '10ms', url)
        if code != 0 or said:
            fail('%s: exit %d, %s' % (url, code, said))
        return windows(printed)

    @property
    def trace(self):
        return os.path.join(self.data, 'migrate', 'kernel')

    def check_https(self):
        if not shutil.which('openssl'):
            print('# https: skipped: openssl is not installed')
            return
        ours, pair = certificate(self.scratch, 'ours')
        theirs, _ = certificate(self.scratch, 'theirs')
        proxy = Proxy(self.server.port, pair)
        url = 'clickhouse://127.0.0.1:%d/secure?https&ca=' % proxy.port
        printed, said = self.analyze(url + ours, self.trace)
        if account(said)[1] != printed.count('"type":"window"') or account(said)[2] or account(said)[3]:
            fail('https: ' + said)
        if self.history(url + ours) != windows(printed) or self.history(self.server.url('secure')) != windows(printed):
            fail('https: other windows')
        for wrong, text in ((url + theirs, 'certificate'), (url[:-len('&ca=')], 'certificate'),
                            (url + os.path.join(self.scratch, 'away.pem'), ''),
                            ('clickhouse://localhost:%d/secure?https&ca=%s' % (proxy.port, ours), 'certificate')):
            for command in (['history'], ['analyze', '-q', '-o', os.devnull, self.trace, '--store']):
                code, out, said = run(self.sillage, *command, wrong)
                if code != 1 or out or said.count('\n') != 1 or text not in said.lower():
                    fail('https: %s: exit %d, %s' % (wrong, code, said))
        # TLS is not spoken where it is not asked for, and not by a server without it.
        for wrong in ('clickhouse://127.0.0.1:%d/secure' % proxy.port, self.server.url('secure', options='?https&ca=' + ours)):
            code, out, said = run(self.sillage, 'history', wrong)
            if code != 1 or out or said.count('\n') != 1:
                fail('https: %s: exit %d, %s' % (wrong, code, said))
        proxy.close()

    def check_password(self):
        """It is right when the run begins, and wrong when windows are sent."""
        users = os.path.join(self.server.folder, 'users.xml')
        state = os.path.join(self.scratch, 'password')
        url, env = self.server.url('password', 'writer@', '?every=20s&password-file=' + state + '-file'), {'XDG_STATE_HOME': state}
        with open(state + '-file', 'w') as file:
            file.write('se/cr:t\n')
        child = subprocess.Popen([self.sillage, 'analyze', '-v', '-f', 'json', *server.LISTS, '-i', '10ms', '--store', url, self.trace],
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=dict(os.environ, **env))
        first = child.stdout.readline()
        while b'"type":"window"' not in first:
            first = child.stdout.readline()
        self.server.kill()
        with open(users) as file:
            text = file.read()
        with open(users, 'w') as file:
            file.write(text.replace('se/cr:t', 'another'))
        self.server.start()
        printed = first.decode() + child.stdout.read().decode()
        said = child.stderr.read().decode()
        closed, stored, spooled, lost = account(said)
        if child.wait() != 0 or stored or lost or closed != spooled or said.count('wait in') != 1 or 'assword' not in said:
            fail('password: exit %d, %s' % (child.returncode, said))
        if 'se/cr:t' in said:
            fail('password: it is shown')
        with open(state + '-file', 'w') as file:
            file.write('another\n')
        said = self.analyze(url, os.path.join(self.data, 'ust'), env=env)[1]
        if 'of an earlier run' not in said:
            fail('password: the spool: ' + said)
        found = [line for line in self.history(self.server.url('password')) if line.startswith('{"type":"window"')]
        if not set(line for line in windows(printed) if line.startswith('{"type":"window"')) <= set(found):
            fail('password: windows are missing')

    def check_users(self):
        """Users of one database: one that may write, one that may only read."""
        printed, said = self.analyze(self.server.url('fleet', 'own:own@'), self.trace)
        if account(said)[1] != printed.count('"type":"window"'):
            fail('users: ' + said)
        for user in ('own:own@', 'look:look@'):
            if self.history(self.server.url('fleet', user)) != windows(printed):
                fail('users: other windows')
        state = {'XDG_STATE_HOME': os.path.join(self.scratch, 'reader')}
        said = self.analyze(self.server.url('fleet', 'look:look@', '?timeout=1s'), self.trace, env=state)[1]
        if account(said)[2] != account(said)[0] or 'readonly mode' not in said:
            fail('users: a reader writes: ' + said)
        for user, database, text in (('own:own@', 'other', 'Access denied'), ('stiff:stiff@', 'fleet', 'readonly mode')):
            code, _, said = run(self.sillage, 'analyze', '-q', '-o', os.devnull, '--store', self.server.url(database, user), self.trace)
            if code != 1 or text not in said or said.count('\n') != 1:
                fail('users: %s: exit %d, %s' % (user, code, said))
        code, _, said = run(self.sillage, 'analyze', '-q', '-o', os.devnull, '-i', '10ms', '-a', 'count', '--store-keep', '1d', '--store',
                            self.server.url('fleet', 'own:own@'), self.trace)
        if code != 0:
            fail('users: --store-keep: exit %d, %s' % (code, said))

    def check_cluster(self):
        """cluster= as a user of the two databases: it writes and reads them; one who lacks the second is told so."""
        said = run(self.sillage, 'analyze', '-q', '-o', os.devnull, '--store', self.server.url('joint', 'half:half@', '?cluster=one'),
                   self.trace)[2]
        if 'Access denied' not in said or said.count('\n') != 1:
            fail('cluster: half: ' + said)
        printed, said = self.analyze(self.server.url('joint', 'joint:joint@', '?cluster=one'), self.trace)
        if account(said)[1] != printed.count('"type":"window"'):
            fail('cluster: ' + said)
        for user in ('joint:joint@', 'all:all@'):
            for database in ('joint', 'joint_all'):
                if self.history(self.server.url(database, user)) != windows(printed):
                    fail('cluster: %s: other windows in %s' % (user, database))

    def check_late(self):
        """See disk.check_late()."""
        trace, url = os.path.join(self.data, 'small-packets', 'kernel'), self.server.url('late')

        def found():
            rows = self.server.ask('SELECT begin, complete, events FROM (SELECT * FROM late.windows FINAL) ALL INNER JOIN'
                                   ' (SELECT begin, version, events FROM late.count_totals FINAL) USING begin, version')
            return {int(begin): (complete == '1', int(events)) for begin, complete, events in map(str.split, rows.splitlines())}

        disk.check_late(lambda one: self.analyze(url, one), trace, disk.without_packet(trace, os.path.join(self.scratch, 'cut')), found)

    def check_two(self):
        url = self.server.url('two')
        children = [subprocess.Popen([self.sillage, 'analyze', '-v', *server.LISTS, '-i', '10ms', '-o', os.devnull, '--store', url, self.trace],
                                     stderr=subprocess.PIPE) for _ in range(4)]
        for child in children:
            said = child.communicate()[1].decode()
            closed, stored, spooled, lost = account(said)
            if child.returncode != 0 or closed != stored or spooled or lost:
                fail('two: exit %d, %s' % (child.returncode, said))
        expected = windows(run(self.sillage, 'analyze', '-q', '-f', 'json', *server.LISTS, '-i', '10ms', self.trace)[1])
        if self.history(url) != expected:
            fail('two: other windows')


if __name__ == '__main__':
    server.run_checks(Test, 'compare', 'https', 'users', 'cluster', 'late', 'two', 'password')
