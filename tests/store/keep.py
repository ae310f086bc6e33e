#!/usr/bin/env python3
"""keep: --store-keep merges old windows exactly, and removes what is older still.

Goal    In a file of SQLite each merged window has, row by row, what `analyze -i` of its length stores;
        `history` of the store is that of one that keeps all, byte by byte in JSON, for all lengths that
        are left, and says where windows are longer than asked.  Windows of --store-also are such ones,
        beside the short ones.  What is older than the last age is gone, in all tables.  Stored again,
        nothing is double.  A run that is killed while it merges loses and doubles nothing, and the next
        one goes on.  ClickHouse: the same, by days.  Wrong lengths and ages are refused in one line.

usage: keep.py SILLAGE DATA [--server]
"""
import contextlib
import http.client
import http.server
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time

import server
from database import copied

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'property'))
import synthetic  # noqa: E402

MS = 1000000
KEEP_DAYS = ('--store-keep', '10ms:1d,100ms:1y')


def fail(*what):
    raise SystemExit('not ok ' + ' '.join(str(one) for one in what))


def connected(path):
    return contextlib.closing(sqlite3.connect('file:%s?mode=ro' % path, uri=True, timeout=30))


def tables_of(db):
    """Those that have rows of windows."""
    names = [name for name, in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    return [name for name in names if 'level' in [row[1] for row in db.execute("PRAGMA table_info('%s')" % name)]]


def rows_of(db, table, level, begins):
    found = db.execute('SELECT * FROM "%s" WHERE level = %d AND begin IN (%s) ORDER BY 1, 2, 3, 4, 5' %
                       (table, level, ','.join(map(str, begins))))
    return [dict(zip([column[0] for column in found.description], row)) for row in found]


def levels_of(path):
    with connected(path) as db:
        return dict(db.execute('SELECT level / 1000000, count(*) FROM windows GROUP BY 1'))


class Test:
    def __init__(self, sillage, data, scratch):
        self.sillage, self.data, self.scratch = sillage, data, scratch

    def store(self, trace, url, interval, *options, lists='all', status=0):
        command = (self.sillage, 'analyze', '-v', '-a', lists, '-i', interval, '-o', '/dev/null', '--store', url,
                   *options, os.path.join(self.data, trace))
        code, _, said = server.run(*command)
        if code != status:
            fail(command, 'ended with', code, said)
        if status == 0:
            server.account(said)
        return said

    def history(self, url, *options):
        code, printed, said = server.run(self.sillage, 'history', '-f', 'json', *options, url)
        if code != 0:
            fail('history', url, options, code, said)
        return server.windows(printed), said

    def check_same(self, kept, whole, *lengths):
        if self.history(kept)[0] != self.history(whole)[0]:
            fail(kept, 'has another total')
        for length in lengths:
            found, said = self.history(kept, '-i', length)
            if found != self.history(whole, '-i', length)[0] or 'longer' in said:
                fail(kept, 'differs in windows of', length, said)


# ---- a file ----

def check_rows(test, kept, trace, length):
    """The long windows are those that `analyze -i` stores, in each row of each table."""
    other = os.path.join(test.scratch, 'other.db')
    test.store(trace, other, '%dms' % length)
    count = 0
    with connected(kept) as a, connected(other) as b:
        begins = [begin for begin, in a.execute('SELECT begin FROM windows WHERE level = ?', (length * MS,))]
        for table in tables_of(a):
            rows = [rows_of(db, table, length * MS, begins) for db in (a, b)]
            if rows[0] != rows[1]:
                fail(trace, table, 'differs:', [pair for pair in zip(*rows) if pair[0] != pair[1]][:1],
                     [len(one) for one in rows])
            count += len(rows[0])
    os.remove(other)
    return count


def check_law(test, trace, keep, interval, lengths, expected):
    kept, whole = (os.path.join(test.scratch, name) for name in ('kept.db', 'whole.db'))
    test.store(trace, whole, interval)
    for _ in range(2):  # stored again, it is merged again
        test.store(trace, kept, interval, '--store-keep', keep)
        found = levels_of(kept)
        if sorted(found) != expected:
            fail(trace, 'has windows of', found, 'expected', expected)
        test.check_same(kept, whole, *lengths)
    said = test.history(kept, '-i', interval)[1]
    if 'longer than asked' not in said:
        fail('nothing says that windows are longer:', said)
    count = sum(check_rows(test, kept, trace, length) for length in expected[1:])
    print('ok %s: %s leaves %s, %d rows as analyze has them' % (trace, keep, found, count))
    os.remove(kept)
    os.remove(whole)


def slots_of(path, interval, length):
    """The slots of long windows that short ones fill without a hole; and how many of them lack something."""
    with connected(path) as db:
        found = db.execute('SELECT begin, end, complete FROM windows WHERE level = ? ORDER BY begin', (interval * MS,)).fetchall()
    filled = {}
    for begin, end, complete in found:
        slot = begin // (length * MS)
        until, whole = filled.get(slot, (slot * length * MS, True))
        filled[slot] = (end if begin == until else -1, whole and bool(complete))
    slots = {slot: whole for slot, (until, whole) in filled.items() if until == (slot + 1) * length * MS}
    return slots, sum(not whole for whole in slots.values())


def check_also(test, trace, interval, length, *keep):
    """Longer windows beside the short ones: in each row what `analyze -i` stores, and the same history."""
    kept, whole = (os.path.join(test.scratch, name) for name in ('also.db', 'whole.db'))
    test.store(trace, whole, '%dms' % interval, *keep)
    for _ in range(2):
        said = test.store(trace, kept, '%dms' % interval, '--store-also', '%dms' % length, *keep)
    found, without = levels_of(kept), levels_of(whole)
    if not keep and server.account(said)[0] != found[interval]:
        fail('the account counts long windows:', said, found)
    if found.get(length, 0) < 3 or (not keep and {one: found[one] for one in without} != without):
        fail(trace, 'has windows of', found, 'and without', without)
    slots, incomplete = slots_of(whole, interval, length)
    if not keep and found[length] != len(slots):
        fail(trace, 'has', found[length], 'long windows in', len(slots), 'slots without a hole')
    lengths = [100, 200] if keep else [interval, 2 * interval, length, 2 * length]
    test.check_same(kept, whole, *('%dms' % one for one in lengths))
    count = check_rows(test, kept, trace, length)
    # What is read is the long window, and not the short ones.
    with contextlib.closing(sqlite3.connect(kept)) as db:
        db.execute('UPDATE count_totals SET events = events + 1 WHERE level = ?', (length * MS,))
        db.commit()
    if not keep and test.history(kept, '-i', '%dms' % length)[0] == test.history(whole, '-i', '%dms' % length)[0]:
        fail('the long windows are not read')
    print('ok %s: %d windows of %d ms beside those of %d ms, %d of them incomplete, %d rows' % (
        trace, found[length], length, interval, incomplete, count))
    for path in (kept, whole):
        os.remove(path)
    return incomplete


def check_usual(test):
    """Without --store-also: minutes beside windows that divide them, unless --store-keep has other lengths."""
    events = [synthetic.switch(at * 100 * MS + 1, *((0, 7) if at % 2 else (7, 0))) for at in range(1900)]
    packet = synthetic.packet(0, 0, 0, 190 * 1000 * MS, events)
    trace = synthetic.Made(test.scratch, 'minutes', [packet], offset=0).path
    kept, whole = (os.path.join(test.scratch, name) for name in ('usual.db', 'whole.db'))
    for interval, minutes, *options in (('1s', 2), ('5s', 2, '--store-keep', '7d'), ('1s', 2, '--store-keep', '1s:1h,1m:2h'),
                                        ('7s', 0), ('1m', None), ('2m', 0), ('1s', 0, '--store-also', 'none'),
                                        ('1s', 0, '--store-keep', '1s:1h,1h:2h')):
        test.store(trace, kept, interval, *options, lists='count,cpu')
        found = levels_of(kept).get(60000, 0)
        if minutes is not None and found != minutes:
            fail('-i', interval, options, ':', found, 'windows of a minute, not', minutes)
        test.store(trace, whole, interval, '--store-also', 'none', lists='count,cpu')
        if minutes:
            test.check_same(kept, whole, interval, '1m', '2m')
        for path in (kept, whole):
            os.remove(path)
    print('ok minutes beside windows that divide them')


def check_incomplete(test):
    """A window that lacks something has its minute, which lacks it, too; when the short ones go, nothing is late."""
    packets = [synthetic.packet(0, at, at * 10000 * MS, (at + 1) * 10000 * MS,
                                [synthetic.switch(at * 10000 * MS + i * 100 * MS + 1, *((0, 7) if i % 2 else (7, 0))) for i in range(100)])
               for at in range(25) if at != 9]
    trace = synthetic.Made(test.scratch, 'incomplete', [b''.join(packets)], offset=0).path
    if check_also(test, trace, 1000, 60000) == 0:
        fail('no minute of', trace, 'is incomplete')
    kept = os.path.join(test.scratch, 'merged.db')
    said = test.store(trace, kept, '1s', '--store-keep', '1s:30s,1m:1h')
    found = levels_of(kept)
    if 'left out' in said or found.get(60000, 0) < 3 or found.get(1000, 0) != 70:
        fail('merged:', found, said)
    with connected(kept) as db:
        if db.execute('SELECT count(*) FROM gaps').fetchone() != (0,):
            fail('merged: there are gaps')
    os.remove(kept)


def check_mixed(test, trace):
    """Runs with other analyses: the long windows have those of all, and where one is short there is a gap."""
    kept, whole = (os.path.join(test.scratch, name) for name in ('mixed.db', 'whole.db'))
    runs = ('cpu', '20ms'), ('sched,count', '10ms')
    for lists, interval in runs:
        test.store(trace, whole, interval, lists=lists)
    for lists, interval in (*runs[:1], *runs):  # the last of them merges what all have
        test.store(trace, kept, interval, *(['--store-keep', '10ms:20ms,100ms:1h'] if lists != 'cpu' else []), lists=lists)
    for lists in ('cpu', 'sched', 'cpu,sched'):
        found, said = test.history(kept, '-a', lists, '-i', '100ms')
        if found != test.history(whole, '-a', lists, '-i', '100ms')[0] or 'missing' in said:
            fail('mixed:', lists, 'differs', said)
    if levels_of(kept).get(100, 0) < 3:
        fail('mixed: windows of', levels_of(kept))
    os.remove(kept)
    with connected(whole) as db:
        begin, end = db.execute('SELECT min(begin), max("end") FROM windows').fetchone()
    half = str((begin + end) // 2)
    test.store(trace, kept, '10ms', '--end', half, lists='cpu')
    test.store(trace, kept, '10ms', '--begin', half, '--store-keep', '10ms:1ms,100ms:1h', lists='cpu,sched')
    found, said = test.history(kept, '-a', 'cpu')
    if 'merged with windows that have more analyses' not in said or levels_of(kept).get(100, 0) < 2:
        fail('mixed: no gap:', said, levels_of(kept))
    print('ok mixed: long windows of all analyses, and gaps')
    os.remove(kept)
    os.remove(whole)


def check_removed(test):
    path = os.path.join(test.scratch, 'removed.db')
    newest, old = 'containers/kernel', 'lost-events/kernel'
    test.store(old, path, '10ms', '--trigger', 'count.events > 0', lists='count,cpu')
    with connected(path) as db:
        before = {table: db.execute('SELECT count(*) FROM "%s"' % table).fetchone()[0]
                  for table in ('triggers', 'losses', 'count_totals', 'cpu_threads', 'threads')}
    if not all(before.values()):
        fail('nothing to remove:', before)
    test.store(newest, path, '10ms', '--store-keep', '1d', lists='count,cpu')
    with connected(path) as db:
        first = db.execute('SELECT max("end") FROM windows').fetchone()[0] - 86400 * 1000 * MS
        left = {table: db.execute('SELECT count(*) FROM "%s" WHERE begin < %d' % (table, first)).fetchone()[0]
                for table in tables_of(db) + ['triggers', 'losses', 'captures', 'gaps']}
        kept = db.execute('SELECT count(*) FROM windows').fetchone()[0]
    if any(left.values()) or kept < 10:
        fail('old rows are left:', left, kept)
    print('ok %d windows left, none of the old ones' % kept)


def check_kill(test):
    """Killed while it merges; the machine is too uneven for one moment, so at some."""
    whole, start = (os.path.join(test.scratch, name) for name in ('whole.db', 'start.db'))
    test.store('migrate/kernel', whole, '1ms', lists='count,cpu,sched')
    expected = test.history(whole)[0]
    copied(whole, start)
    cut = 0
    for merged in (1, 3, 8):
        process = subprocess.Popen([test.sillage, 'analyze', '-q', '-a', 'count', '-i', '1ms', '-o', '/dev/null', '--store',
                                    start, '--store-keep', '1ms:1ms,2ms:2ms,4ms:1h',
                                    os.path.join(test.data, 'rt-mutex-none', 'kernel')],
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while process.poll() is None and levels_of(start).get(4, 0) < merged:
            time.sleep(0.002)
        process.send_signal(signal.SIGKILL)
        process.wait()
        levels = levels_of(start)
        cut += 4 in levels and (1 in levels or 2 in levels)
        with connected(start) as db:
            if db.execute('PRAGMA integrity_check').fetchone()[0] != 'ok':
                fail('the file is damaged')
        if [line for line in test.history(start, '--session', '*', '-a', 'count,cpu,sched')[0] if '/migrate/kernel' in line] != expected:
            fail('killed after', merged, 'the total differs')
    if cut == 0:
        fail('no run was cut while it merged')
    test.store('rt-mutex-none/kernel', start, '1ms', '--store-keep', '1ms:1ms,2ms:2ms,4ms:1h', lists='count')
    test.store('rt-mutex-none/kernel', whole, '1ms', lists='count')
    test.check_same(start, whole, '4ms', '8ms')
    found = [line for line in test.history(start)[0] if '/migrate/kernel' in line]
    if found != expected or levels_of(start).get(2, 0) > 3:
        fail('the next run did not go on:', levels_of(start))
    print('ok killed 3 times, %d of them while windows were merged' % cut)


def check_interrupted(test):
    """A run that is interrupted leaves what is due to the next one."""
    path, pipe = (os.path.join(test.scratch, name) for name in ('interrupted.db', 'pipe'))
    keep = ('--store-keep', '1ms:1ms,4ms:1h')
    test.store('migrate/kernel', path, '1ms', lists='count')
    os.mkfifo(pipe)
    process = subprocess.Popen([test.sillage, 'analyze', '-q', '-f', 'json', '-a', 'count', '-i', '1ms', '-o', pipe, '--store',
                                path, *keep, os.path.join(test.data, 'migrate', 'kernel')], stderr=subprocess.DEVNULL)
    with open(pipe, 'rb', buffering=0) as out:
        out.read(1)  # it has begun, and waits for its output to be read
        process.send_signal(signal.SIGINT)
        while out.read(65536):
            pass
    status, found = process.wait(), levels_of(path)
    if status not in (0, 130) or sorted(found) != [1]:  # 0: workers had all of the trace when the signal came
        fail('interrupted: exit', status, 'windows of', found)
    test.store('migrate/kernel', path, '1ms', *keep, lists='count')
    if levels_of(path).get(1, 0) > 8:
        fail('the next run merges nothing:', levels_of(path))
    print('ok interrupted, nothing is merged any more')


def check_refused(test):
    for keep, text in (('', 'expected an age'), ('7', 'expected an age'), ('0d', 'expected an age'),
                       ('1s:1d,7d', 'each has a length'), ('7s:1d', 'divides a day'), ('1s:1d,1500ms:2d', 'multiple'),
                       ('1m:1d,1s:2d', 'multiple'), ('1s:2d,1m:1d', 'kept longer'), ('x:1d', 'LENGTH:AGE'),
                       ('1s:1d,1m:2d,', 'expected an age'), ('585y', 'at most'), ('1s:1d,1m:213504d', 'at most'),
                       ('99999999999999999999w', 'at most'), ('15250284453d', 'at most'), ('10ms:1h,100ms:2h', 'windows of -i')):
        said = test.store('migrate/kernel', os.path.join(test.scratch, 'none.db'), '30ms' if 'of -i' in text else '10ms',
                          '--store-keep', keep, status=2)
        if text not in said or said.count('\n') != 1:
            fail(keep, said)
    for also in ('10ms', '25ms', '5ms'):
        said = test.store('migrate/kernel', os.path.join(test.scratch, 'none.db'), '10ms', '--store-also', also, status=2)
        if 'multiple' not in said or said.count('\n') != 1:
            fail(also, said)
    print('ok wrong ages and lengths are refused')


# ---- a server ----

class Between:
    """Passes statements on to a server, and tells of each: before(statement), after(statement)."""

    def __init__(self, machine):
        self.before = self.after = lambda statement: None
        between = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = 'HTTP/1.1'

            def do_POST(self):
                body = self.rfile.read(int(self.headers['Content-Length']))
                between.before(body.decode(errors='replace'))
                peer = http.client.HTTPConnection('127.0.0.1', machine.port)
                peer.request('POST', self.path, body)
                with contextlib.closing(peer):
                    reply = peer.getresponse()
                    text = reply.read()
                between.after(body.decode(errors='replace'))
                self.send_response(reply.status)
                self.send_header('Content-Length', str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            def log_message(self, *args):
                pass

        self.http = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Handler)
        self.url = 'clickhouse://127.0.0.1:%d/' % self.http.server_port
        threading.Thread(target=self.http.serve_forever, args=(0.02,), daemon=True).start()

    def close(self):
        self.http.shutdown()
        self.http.server_close()


def check_new_trace(test, machine):
    """A trace that is new while others are merged; a table of the user's with partitions alike."""
    between, whole, url = Between(machine), os.path.join(test.scratch, 'meanwhile.db'), machine.url('meanwhile')
    for trace in ('migrate/kernel', 'burst/kernel', 'containers/kernel'):
        for store in (whole, url):
            test.store(trace, store, '10ms', lists='count')
    machine.ask('CREATE TABLE meanwhile.own (level Int64, begin Int64) ENGINE = MergeTree'
                ' PARTITION BY (level, intDiv(begin, 86400000000000)) ORDER BY begin')
    machine.ask('INSERT INTO meanwhile.own SELECT level, begin FROM meanwhile.windows')
    rows, looks = machine.ask('SELECT count() FROM meanwhile.own'), []

    def after(statement):
        looks.extend([1] if ' FROM `traces`' in statement else [])
        if len(looks) == 2:  # the first knows the time, the second knows the traces
            machine.ask('INSERT INTO meanwhile.traces (trace, host, session, domain, path, version) VALUES'
                        " ('00000000-0000-0000-0000-000000000001', ' ', ' ', '', '', 1)")

    between.after = after
    said = test.store('containers/kernel', between.url + 'meanwhile', '10ms', *KEEP_DAYS, lists='count')
    between.close()
    if len(looks) < 4 or 'tried again' in said:
        fail('nothing came in between:', len(looks), said)
    if machine.ask('SELECT count() FROM meanwhile.own') != rows:
        fail("a table of the user's has lost rows")
    test.check_same(url, whole, '100ms')
    print('ok a trace that is new meanwhile hides no other; other tables stay')


def check_late(test, machine):
    """A window whose rows arrive before the heads of its day are dropped, and whose head after that."""
    between, url = Between(machine), machine.url('late')
    for trace in ('migrate/kernel', 'containers/kernel'):
        test.store(trace, url, '10ms', lists='count')
    level, begin, trace = machine.ask('SELECT level, begin, trace FROM late.windows ORDER BY begin LIMIT 1').split()
    begin, drops = int(begin) - 10 * MS, []

    def insert(table, columns, values):
        machine.ask("INSERT INTO late.%s (level, begin, trace, %s, version) VALUES (%s, %d, '%s', %s, 1)" %
                    (table, columns, level, begin, trace, values))

    def before(statement):
        if statement.startswith('ALTER TABLE `windows` DROP') and not drops:
            insert('count_by_name', 'name, count', "'late', 7")

    def after(statement):
        if statement.startswith('ALTER TABLE `windows` DROP'):
            drops.append(1)
            if len(drops) == 1:
                insert('windows', 'end, complete, analyses', "%d, 0, 'count'" % (begin + 10 * MS))

    between.before, between.after = before, after
    said = test.store('containers/kernel', between.url + 'late', '10ms', *KEEP_DAYS, lists='count')
    between.close()
    merged = machine.ask("SELECT level, count FROM late.count_by_name FINAL WHERE name = 'late' AND level > %s" % level)
    if not drops or 'tried again' in said or merged.split() != ['100000000', '7']:
        fail('a late window is not merged:', len(drops), merged, said)
    print('ok a window that arrives while its day is dropped has its rows')


def check_noted(test, machine):
    """A window that is stored again when a longer one took its place: the same gap as in a file."""
    path, url, late = os.path.join(test.scratch, 'noted.db'), machine.url('noted'), ()
    for store in (path, url):
        for nth in range(2):
            test.store('lost-events/kernel', store, '1ms', *(late if nth else ()), lists='count')
            if not late:
                with connected(path) as db:
                    late = ('--begin', '%dns' % db.execute('SELECT max(begin) FROM windows').fetchone())
            said = test.store('containers/kernel', store, '1ms', '--store-keep', '1ms:1d,100ms:1y', lists='count')
        if 'windows are left out' not in said:
            fail(store, 'says nothing of late windows:', said)
    with connected(path) as db:
        expected = db.execute('SELECT begin, "end", windows, why FROM gaps ORDER BY 1').fetchall()
    found = machine.ask('SELECT begin, end, windows, why FROM noted.gaps FINAL ORDER BY 1')
    if found != ''.join('%d\t%d\t%d\t%s\n' % row for row in expected):
        fail('late windows: gaps', found, 'expected', expected)
    print('ok late windows are %d gaps, as in a file' % len(expected))


def age(machine):
    """All that the server has becomes a day old."""
    machine.kill()
    for place, _, _ in os.walk(os.path.join(machine.folder, 'data')):
        os.utime(place, (time.time() - 86400,) * 2)
    machine.start()


def check_server(test):
    machine = server.Server(os.path.join(test.scratch, 'server'))
    try:
        kept, whole = machine.url('kept'), os.path.join(test.scratch, 'server.db')
        lists, old = 'count,cpu,sched', 'migrate/kernel'
        for url in (whole, kept):
            test.store(old, url, '10ms', lists=lists)
            test.store('containers/kernel', url, '10ms', lists='count')
        keep = ('--store-keep', '10ms:1d,20ms:25h,100ms:1y')
        for _ in range(2):
            test.store('containers/kernel', kept, '10ms', *keep, lists='count')
            levels = machine.ask('SELECT DISTINCT intDiv(level, 1000000) FROM kept.windows FINAL'
                                 ' WHERE begin < 1795300000000000000 ORDER BY 1')
            if levels.split() != ['100']:
                fail('the server has windows of', levels)
            test.check_same(kept, whole, '100ms', '200ms')
        age(machine)
        test.store('containers/kernel', kept, '10ms', *keep, lists='count')
        tables = machine.ask("SELECT table FROM system.parts WHERE database = 'kept' AND active AND"
                             " partition IN ('(10000000,20778)', '(20000000,20778)')").split()
        if tables:
            fail('rows without windows are left:', tables)
        test.store('containers/kernel', kept, '10ms', '--store-keep', '1d', lists='count')
        found = machine.ask('SELECT count() FROM kept.windows FINAL WHERE begin < 1795300000000000000')
        if found.strip() != '0' or len(test.history(kept)[0]) != 1:
            fail('old windows are left:', found)
        print('ok ClickHouse: merged by days, and dropped')
        check_new_trace(test, machine)
        check_late(test, machine)
        check_noted(test, machine)
    finally:
        machine.kill()


def main():
    sillage, data = sys.argv[1:3]
    with tempfile.TemporaryDirectory() as scratch:
        os.environ['XDG_STATE_HOME'] = scratch
        test = Test(sillage, data, scratch)
        check_law(test, 'burst/kernel', '100ms:200ms,500ms:1h', '100ms', ('500ms', '1s', '2s'), [100, 500])
        check_law(test, 'migrate/kernel', '10ms:20ms,20ms:100ms,100ms:1h', '10ms', ('100ms', '200ms'), [10, 20, 100])
        check_law(test, 'lost-events/kernel', '10ms:20ms,50ms:1h', '10ms', ('50ms', '1s'), [10, 50])
        check_also(test, 'burst/kernel', 100, 500)
        check_incomplete(test)
        check_also(test, 'lost-events/kernel', 10, 50)
        check_also(test, 'migrate/kernel', 10, 20, '--store-keep', '10ms:20ms,20ms:100ms,100ms:1h')
        check_usual(test)
        check_mixed(test, 'migrate/kernel')
        check_removed(test)
        check_kill(test)
        check_interrupted(test)
        check_refused(test)
        if '--server' in sys.argv:
            if not shutil.which('clickhouse-server'):
                print('# ClickHouse: skipped: clickhouse-server is not installed')
                raise SystemExit(77)
            check_server(test)


if __name__ == '__main__':
    main()
