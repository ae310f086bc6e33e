#!/usr/bin/env python3
"""waits: SIGTERM and SIGINT end every command that waits, whatever it waits for.

Pipes in place of files, databases whose views and triggers never end, peers that accept and say
nothing or drip, names that no server answers for, outputs that nobody reads.  What is no file is
refused without a signal.  What has to be finished first has five seconds, which are said.  And each
command is interrupted at moments drawn at random.  A busy machine does not count: a command that
has to end is judged by its CPU time and by how long it sleeps.

usage: waits.py SILLAGE DATA [--never FILE] [--count N] [--seed S]
"""
import argparse
import contextlib
import http.server
import os
import random
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

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from signals import END, Mute, check, wait_end, write  # noqa: E402

LAST_S = 6.5  # what has to be finished first, and some more


def run(*words):
    return subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


class Dripping:
    """Answers whatever it is asked by one byte each 200 ms, for ever."""

    def __init__(self, first=b''):
        self.listener, self.first = socket.create_server(('127.0.0.1', 0)), first
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            threading.Thread(target=self.serve, args=self.listener.accept(), daemon=True).start()

    def serve(self, connection, _):
        with contextlib.suppress(OSError):
            connection.recv(65536)
            connection.sendall(self.first)
            while True:
                connection.sendall(b'1')
                time.sleep(0.2)


class Store(http.server.ThreadingHTTPServer):
    """A new ClickHouse that answers what is asked of it at the start, and drips once it is given windows."""
    daemon_threads = True

    def __init__(self):
        super().__init__(('127.0.0.1', 0), Statement)
        self.version = b''
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def handle_error(self, *_):
        """A client that goes is nothing to say."""


class Statement(http.server.BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'

    def do_POST(self):
        statement = self.rfile.read(int(self.headers['Content-Length']))
        number = re.search(rb'toString\((\d+) \+ 1\)', statement)
        if statement.startswith(b'INSERT INTO `store`'):
            self.server.version = statement.split()[-1] + b'\n'
        elif statement.startswith(b'INSERT'):
            self.wfile.write(HEAD)
            while True:
                self.wfile.write(b'1')
                time.sleep(0.2)
        answer = b'+ %d\n' % (int(number.group(1)) + 1) if number else b''
        answer = self.server.version if b'FROM `store`' in statement else answer
        self.send_response(200)
        self.send_header('Content-Length', str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_):
        pass


HEAD = b'HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 1000000\r\n\r\n'


def execute(path, *statements):
    with contextlib.closing(sqlite3.connect(path)) as db:
        for statement in statements:
            db.execute(statement)
        db.commit()


def stores(sillage, data, folder):
    """A store whose windows are a view that never ends, one with a trigger that does not, one of many traces."""
    whole = os.path.join(folder, 'store.db')
    words = sillage, 'analyze', '-q', '-i', '100ms', '-o', os.devnull, '--store'
    assert run(*words, whole, os.path.join(data, 'burst')).returncode == 0
    paths = [shutil.copy(whole, os.path.join(folder, name)) for name in ('view.db', 'trigger.db', 'many.db')]
    with contextlib.closing(sqlite3.connect(whole)) as db:
        columns = [row[1] for row in db.execute('PRAGMA table_info(windows)')]
    endless = 'WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)'
    execute(paths[0], 'ALTER TABLE windows RENAME TO kept',
            'CREATE VIEW windows AS SELECT %s FROM kept, (%s SELECT i FROM n) WHERE i < 0' % (
                ', '.join('"%s"' % column for column in columns), endless))
    execute(paths[1], 'CREATE TRIGGER slow AFTER INSERT ON windows BEGIN'
            ' SELECT (WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n); END')
    many = 'WITH RECURSIVE n(i) AS (SELECT 100 UNION ALL SELECT i + 1 FROM n WHERE i < 300000)'
    execute(paths[2], many + ' INSERT INTO traces(trace, id, uuid, host, session, domain, path)'
            " SELECT i, 'x' || i, 'x' || i, 'h' || i, 's', 'kernel', 'kernel' FROM n",
            many + ' INSERT INTO windows SELECT level, begin, i, %s FROM (SELECT * FROM windows LIMIT 1), n' % ', '.join(
                '"%s"' % column for column in columns[3:]))
    return paths


def no_files(data, folder):
    """(words) of commands that are given a pipe where only a file can be."""
    trace, path = os.path.join(data, 'burst'), os.path.join(folder, 'pipe')
    os.mkfifo(path)
    yield ['history', path]
    yield ['compare', path + '@1..2', trace]
    yield ['analyze', '-q', '-i', '1s', '--store', path, trace]
    yield ['analyze', '-q', '--state', path, trace]
    for suffix in '-journal', '-wal', '-shm':
        store = shutil.copy(os.path.join(folder, 'store.db'), os.path.join(folder, 'beside%s.db' % suffix))
        os.mkfifo(store + suffix)
        yield ['history', store]
    broken = shutil.copytree(trace, os.path.join(folder, 'no-metadata'))
    metadata = next(os.path.join(at, 'metadata') for at, _, names in os.walk(broken) if 'metadata' in names)
    os.unlink(metadata)
    os.mkfifo(metadata)
    yield ['analyze', broken]
    yield ['history', '/dev/zero']
    yield ['merge', '/dev/zero']
    yield ['analyze', '-q', '--state', '/dev/zero', trace]


def pipes(data, folder):
    """(words) of commands that may be given a pipe, and wait for what is written into it."""
    trace, path = os.path.join(data, 'burst'), os.path.join(folder, 'pipe')
    yield ['analyze', '-i', '1s', '--triggers', path, trace]
    yield ['live', '--triggers', path, 'net://127.0.0.1:1']
    yield ['analyze', '--containers', path, trace]
    yield ['analyze', '--model', path, trace]
    yield ['triggers', '--check', path]
    yield ['compare', path, path]
    yield ['merge', path]
    yield ['analyze', '-q', '-o', path, trace]
    yield ['map', '-o', path, trace]
    yield ['export', '-o', path, trace]
    yield ['report', '-f', 'html', '-o', path, trace]
    yield ['analyze', '-q', '-i', '1s', '--fail', 'cpu.busy > 1%', '--junit', path, trace]
    yield ['triggers', '--check', '/dev/zero']


def peers(data, folder, never):
    """(words, more of check()) of commands that wait for a peer."""
    mute, drip, slow = Mute().port, Dripping().port, Dripping(HEAD).port
    trace = os.path.join(data, 'burst')
    for port in mute, drip:
        more = {'asleep_s': LAST_S, 'statuses': (1, 128 + signal.SIGTERM, 128 + signal.SIGINT)}  # 1: what dripped is wrong
        yield ['replay', trace, '--to', 'net://127.0.0.1:%d:%d' % (port, port)], {} if port == mute else more
        yield ['replay', trace, '--to', 'net://127.0.0.1:%d:%d' % (port, port), '--loop', '100'], {} if port == mute else more
    for port in mute, slow:
        store = 'clickhouse://127.0.0.1:%d/x?spool=%s' % (port, os.path.join(folder, 'spool-%d' % port))
        yield ['history', store], {}
        yield ['history', '--follow', store], {'asleep_s': LAST_S}
        yield ['history', '--per', 'host', store], {}
        yield ['compare', store + '@1..2', store + '@3..4'], {}
        yield ['analyze', '-q', '-i', '1s', '--store', store, trace], {'asleep_s': LAST_S}
        yield ['live', '--store', store, 'net://127.0.0.1:%d' % mute], {'asleep_s': LAST_S, 'statuses': (0, -2, -15)}
    taken = 'clickhouse://127.0.0.1:%d/x?spool=%s' % (Store().server_address[1], os.path.join(folder, 'spool'))
    yield ['analyze', '-q', '-i', '10ms', '--store', taken, trace], {'asleep_s': LAST_S, 'statuses': (0, 1, 128 + 15, 128 + 2),
                                                                     'says': 'ending: the last windows of the store'}
    if not never:
        return
    more = {'env': dict(os.environ, LD_PRELOAD=never)}
    for words in (['list', 'net://nobody.invalid'], ['live', 'net://nobody.invalid'], ['report', 'net://nobody.invalid/host/h/s'],
                  ['replay', trace, '--to', 'net://nobody.invalid'], ['history', 'clickhouse://nobody.invalid/x'],
                  ['analyze', '-q', '-i', '1s', '--store', 'clickhouse://nobody.invalid/x', trace],
                  ['live', '--web', 'nobody.invalid:1', 'net://127.0.0.1:1'],
                  ['live', '--metrics', 'nobody.invalid:1', 'net://127.0.0.1:1']):
        yield words, more


def outputs(data):
    """(words) of commands that write more than a pipe holds."""
    trace = os.path.join(data, 'sched-compact')
    yield ['analyze', '-q', '-a', 'all', '-i', '1ms', '-f', 'json', trace]
    yield ['report', '-n', '1000', '-f', 'json', trace]
    yield ['overview', '-f', 'html', trace]
    yield ['report', '--discover', '-f', 'json', trace]


def check_output(sillage, words, number, folder):
    """Nobody reads the pipe that it writes to."""
    ends = os.pipe()
    try:
        return check('%s to a pipe and %s' % (words[0], number.name), [sillage, *words], number, folder, used=0,
                     statuses=(-number, 128 + number), stdout=ends[1])
    finally:
        for end in ends:
            os.close(end)


def check_waits(sillage, data, folder, never):
    view, trigger, many = stores(sillage, data, folder)
    trace, turn = os.path.join(data, 'burst'), 0

    def one(words, what='', **more):
        nonlocal turn
        turn += 1
        number = END[turn % 2]
        return check('%s %s and %s' % (' '.join(words), what, number.name), [sillage, *words], number, folder, **more)

    for words in no_files(data, folder):
        yield check('%s: a pipe' % ' '.join(words), [sillage, *words], None, folder, used=0, statuses=(1, 2), says='.')
    for words in pipes(data, folder):
        more = {'statuses': (1, -2, -15)} if '--junit' in words else {}
        yield one(words, used=0.3 if '/dev/zero' in words else 0, **more)
    for words, more in peers(data, folder, never):
        statuses = (0,) if words[0] == 'live' or '--follow' in words else None
        if '--web' in words or '--metrics' in words:
            statuses = 1,
        yield one(words, 'of a slow peer', used=0, **{'statuses': statuses, **more})
    for words in (['history'], ['history', '--per', 'host'], ['history', '--follow'], ['history', '-i', '1s']):
        yield one([*words, view], 'of an endless view', used=0.3, threads=5, statuses=(0,) if '--follow' in words else None)
    yield one(['analyze', '-q', '-i', '100ms', '--store', trigger, trace], used=0.3, threads=5, asleep_s=LAST_S,
              statuses=(1,), says='ending: ')
    if never:  # nothing hears a signal there but the last resort
        yield one(['analyze', '-q', '--state', os.path.join(folder, 'state'), trace], used=0, asleep_s=3 * LAST_S,
                  env=dict(os.environ, LD_PRELOAD=never, SILLAGE_NEVER='fsync'), says='ended at once')
    for words in (['history'], ['history', '--per', 'host']):
        yield one([*words, many], 'of many traces', used=0.3)
    for words in outputs(data):
        yield check_output(sillage, words, END[turn % 2], folder)
        turn += 1


# ---- at random moments ----

def all_commands(data, folder):
    trace, store = os.path.join(data, 'sched-compact'), os.path.join(folder, 'store.db')
    mute, out = Mute().port, os.path.join(folder, 'file')
    relay = 'net://127.0.0.1:%d' % mute
    yield ['live', relay]
    yield ['live', '--state', os.path.join(folder, 'live-state'), '--store', os.path.join(folder, 'live.db'), relay]
    yield ['analyze', '-a', 'all', '-i', '1ms', trace]
    yield ['analyze', '-q', '-i', '10ms', '--store', os.path.join(folder, 'random.db'), trace]
    triggers = os.path.join(folder, 'triggers')
    write(folder, 'triggers', b'[x]\nwhen = cpu.busy > 0%\ndo = exec sleep 1000\n')
    yield ['analyze', '-q', '-i', '10ms', '--triggers', triggers, trace]
    yield ['analyze', '-q', '--state', os.path.join(folder, 'random-state'), trace]
    yield ['list', relay]
    yield ['replay', trace, '--to', relay]
    yield ['triggers', '--check', 'cpu.busy > 1%']
    yield ['lami', trace]
    yield ['report', '--discover', trace]
    yield ['report', '-f', 'html', '-o', out, trace]
    yield ['overview', trace]
    yield ['map', '-o', out, trace]
    yield ['setup', '-a', 'cpu', '--rate', trace]
    yield ['export', '-o', out, trace]
    yield ['history', store]
    yield ['history', '--follow', store]
    yield ['history', '--per', 'host', store]
    yield ['compare', store, trace]
    yield ['compare', trace, trace]


def interrupt(sillage, words, rng, folder):
    """After some ms, or behind its first line; perhaps it has ended before."""
    number, out = rng.choice(END), open(os.path.join(folder, 'out'), 'wb+')
    by_line, after = rng.random() < 0.3, rng.random() ** 3
    with out:
        process = subprocess.Popen([sillage, *words], stdout=out, stderr=out)
        begun = time.monotonic()
        while process.poll() is None and time.monotonic() < begun + (1 if by_line else after):
            if by_line and os.fstat(out.fileno()).st_size > 0:
                break
            time.sleep(0.001)
        process.send_signal(number)
        more = wait_end(process, 2.4, LAST_S)
        out.seek(0)
        said = out.read().decode(errors='replace')
    what = '%s, %s after %s' % (' '.join(words), number.name, 'its first line' if by_line else '%.3f s' % after)
    if process.returncode == -signal.SIGKILL:
        return '%s: does not end:\n%s' % (what, said[-1000:])
    if process.returncode not in (0, 1, 3, -number, 128 + number):
        return '%s: ended with %d:\n%s' % (what, process.returncode, said[-1000:])
    return '%s: used %.1f s of CPU' % (what, more) if more > 5 else None


def check_random(sillage, data, folder, seed, count):
    rng = random.Random(seed)
    all_words = list(all_commands(data, folder))
    for i in range(count * len(all_words)):
        wrong = interrupt(sillage, all_words[i % len(all_words)], rng, folder)
        yield wrong and '%s\n# --seed %d' % (wrong, seed)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('sillage')
    parser.add_argument('data')
    parser.add_argument('--never', help='the library of never.c')
    parser.add_argument('--seed', type=int, default=int(time.time()))
    parser.add_argument('--count', type=int, default=2)
    args = parser.parse_args()
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background has it ignored, and passes that on
    folder = tempfile.mkdtemp(prefix='sillage-waits-')
    wrong, tried = [], 0
    try:
        for checks in (check_waits(args.sillage, args.data, folder, args.never),
                       check_random(args.sillage, args.data, folder, args.seed, args.count)):
            for one in checks:
                tried += 1
                if one:
                    print('not ok waits: ' + one, flush=True)
                    wrong.append(one)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print('%d of %d are wrong' % (len(wrong), tried) if wrong else 'ok waits: all %d end' % tried)
    return 1 if wrong else 0


if __name__ == '__main__':
    sys.exit(main())
