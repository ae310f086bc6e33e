#!/usr/bin/env python3
"""follow: `history --follow` prints what lands in a store as `analyze` prints it, each window once.

Goal    A follower that was there before the store: whatever happens to the writer (killed, started again,
        old windows merged by --store-keep) and to the file (gone, there again), its windows are those of
        `analyze -i`, byte by byte in JSON, each once and in their order, with the windows that were stored
        and with longer ones.  --merged, --per host and triggers on hosts: as `history` without --follow.  A window that may be replaced is not printed
        before it is; one that lands behind what was printed is not printed, but counted.  Without --since
        the newest windows come first.  --until ends it.  It ends when nobody reads what it prints.
Method  Heads of windows are taken out of a store and put in again with sqlite3.  What has to be seen before
        a step is waited for: no limit in seconds is set.

usage: follow.py SILLAGE DATA
"""
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time

import server
from database import connected, copied

LISTS = ('-a', 'count,cpu,sched')
FOLLOW = ('--follow', '-f', 'json', *LISTS)
ALL = ('--since', '@0')
SHOWN = ('{"type":"window"', '{"type":"fleet-window"', '{"type":"trigger"')
HOSTS = ('--per', 'host', '--trigger', 'count.events > 100', '--trigger', 'count.events > 50 on 2 hosts')
HOUR, HOURS = 3600 * 10**9, 360000


def fail(*what):
    raise SystemExit('not ok ' + ' '.join(str(one) for one in what))


def wait_until(what, why):
    while not what():
        time.sleep(0.02)
        if callable(why) and why():
            fail(why())


class Follower:
    """`history --follow`, whose lines are read as they come."""

    def __init__(self, sillage, store, *options):
        self.printed, self.said = [], []
        self.process = subprocess.Popen([sillage, 'history', *FOLLOW, *options, store],
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.threads = [threading.Thread(target=self.read, args=pair, daemon=True) for pair in
                        ((self.process.stdout, self.printed), (self.process.stderr, self.said))]
        for thread in self.threads:
            thread.start()

    @staticmethod
    def read(file, lines):
        for line in file:
            lines.append(line.decode())

    def windows(self):
        return [line for line in list(self.printed) if line.startswith(SHOWN)]

    def text(self):
        return ''.join(list(self.said))

    def ended(self):
        return self.process.poll() is not None and 'the follower ended: %s' % self.text()

    def wait_for(self, count, kinds=SHOWN):
        wait_until(lambda: sum(line.startswith(kinds) for line in self.windows()) >= count, self.ended)

    def wait_said(self, text):
        wait_until(lambda: text in self.text(), self.ended)

    def finish(self, number=signal.SIGTERM, status=0):
        if number:
            self.process.send_signal(number)
        found = self.process.wait()
        for thread in self.threads:
            thread.join()
        if found != status:
            fail('the follower ended with', found, self.text())
        return self.windows()


class Test:
    def __init__(self, sillage, data, scratch):
        self.sillage, self.scratch = sillage, scratch
        self.traces = [os.path.join(data, name, 'kernel') for name in ('migrate', 'containers')]

    def path(self, name):
        return os.path.join(self.scratch, name)

    def store(self, path, interval, *traces, options=()):
        code, _, said = server.run(self.sillage, 'analyze', '-q', *LISTS, '-i', interval, '-j', '0', '-o', '/dev/null',
                                   '--store', path, *options, *(traces or self.traces[:1]))
        if code != 0 or said:
            fail('analyze: exit', code, said)
        return path

    def windows(self, command, interval, *args):
        code, printed, said = server.run(self.sillage, command, '-q', '-f', 'json', *LISTS, '-i', interval, *args)
        if code != 0 or said:
            fail(command, 'exit', code, said)
        return [line + '\n' for line in printed.splitlines() if line.startswith(SHOWN)]

    def follow(self, path, *options):
        return Follower(self.sillage, path, *options)


def check_same(what, found, expected):
    for number, pair in enumerate(zip(found, expected)):
        if pair[0] != pair[1]:
            fail(what, 'window', number, 'differs:', pair[0][:300], pair[1][:300])
    if len(found) != len(expected):
        fail(what, '%d windows, expected %d' % (len(found), len(expected)))


def check_killed_writer(test):
    """The writer is killed again and again, and starts over each time."""
    path, rng = test.path('killed.db'), random.Random(1)
    followers = {interval: test.follow(path, '-i', interval, *ALL) for interval in ('10ms', '50ms')}
    for one in followers.values():
        one.wait_said('there is no such store yet; waiting for it')
    for _ in range(3):
        child = subprocess.Popen([test.sillage, 'analyze', '-q', '-f', 'json', *LISTS, '-i', '10ms', '-j', '0', '--store', path,
                                  test.traces[0]], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        for _ in range(rng.randrange(1, 30)):
            child.stdout.readline()
        child.send_signal(signal.SIGKILL)
        child.communicate()
    test.store(path, '10ms')
    for interval, one in followers.items():
        expected = test.windows('analyze', interval, test.traces[0])
        one.wait_for(len(expected) - 1)  # what is left at the end has a limit in time
        check_same('killed: -i ' + interval, one.finish(), expected)
        said = [line.split('.db: ')[-1] for line in one.text().splitlines()]
        # It may have looked when a writer had been killed before its first window.
        if said[:2] != ['there is no such store yet; waiting for it', 'is there'] or said[2:] not in (
                [], ['no window of any trace yet']):
            fail('killed:', one.text())
    print('ok a writer that is killed and starts again')
    return path


def check_kept(test):
    """Short windows become long ones under way."""
    path = test.path('kept.db')
    follower = test.follow(path, '-i', '100ms', *ALL)
    expected = test.windows('analyze', '100ms', test.traces[0])
    for _ in range(2):
        test.store(path, '10ms', options=('--store-keep', '10ms:20ms,50ms:100ms,100ms:1h'))
    follower.wait_for(len(expected) - 1)
    check_same('kept', follower.finish(), expected)
    print('ok windows that --store-keep merges meanwhile')


def check_gone(test, whole):
    """The file goes away, and is there again: each window is still printed once."""
    path = copied(whole, test.path('gone.db'))
    expected = test.windows('analyze', '10ms', test.traces[0])
    with connected(path) as db:
        begin, = db.execute('SELECT begin FROM windows ORDER BY begin LIMIT 1 OFFSET 20').fetchone()
        db.execute('DELETE FROM windows WHERE begin >= ?', (begin,))
    follower = test.follow(path, '-i', '10ms', *ALL)
    follower.wait_for(19)
    os.unlink(path)
    follower.wait_said('waiting for it')
    os.rename(copied(whole, test.path('again.db')), path)
    follower.wait_for(len(expected) - 1)
    check_same('gone', follower.finish(), expected)
    print('ok a file that goes and comes back')


def check_held(test):
    """A window that may be replaced is printed when it is whole, or at the end; another trace goes on."""
    path, hour = test.path('held.db'), HOUR
    test.store(path, '1h', test.traces[0])
    follower = test.follow(path, '-i', '1h', *ALL)
    other = 0

    def looked():
        """The other trace gets a window that is printed: the first one was looked at before."""
        nonlocal other
        other += 1
        with connected(path) as db:
            db.execute("INSERT OR IGNORE INTO traces(id, host) VALUES('00000000-0000-0000-0000-000000000000', 'z')")
            begin = db.execute('SELECT min(begin) / %d * %d FROM windows' % (hour, hour)).fetchone()[0] + other * hour
            db.execute('INSERT INTO windows(level, begin, trace, "end", complete, events, discarded, lost_packets, bad_packets,'
                       " late_events, analyses, missing, unknown) SELECT %d, %d, trace, %d, 1, 0, 0, 0, 0, 0, 'count', '', ''"
                       " FROM traces WHERE host = 'z'" % (hour, begin, begin + hour))
        follower.wait_for(other)

    looked()
    for change in ('complete = 0, "end" = (begin / {0} + 1) * {0}', 'complete = 0, events = 1'):
        with connected(path) as db:
            db.execute(('UPDATE windows SET %s WHERE trace = 1' % change).format(hour))
        looked()
        if any('"host":"testhost"' in line for line in follower.windows()):
            fail('held: a window that may be replaced is printed')
    with connected(path) as db:
        db.execute('UPDATE windows SET complete = 1 WHERE trace = 1')
    wait_until(lambda: any('"host":"testhost"' in line for line in follower.windows()), follower.ended)
    found = [json.loads(line) for line in follower.finish() if '"host":"testhost"' in line]
    if len(found) != 1 or not found[0]['complete'] or follower.text():
        fail('held:', found, follower.text())
    print('ok a window that may be replaced is waited for')


def check_late(test, whole):
    """Windows that land behind what was printed are counted, not printed; a gap is said."""
    path = copied(whole, test.path('late.db'))
    expected = test.windows('analyze', '10ms', test.traces[0])
    begins = [json.loads(line)['begin'] for line in expected]
    with connected(path) as db:
        db.execute('CREATE TABLE aside AS SELECT * FROM windows WHERE begin IN (%d, %d, %d)' % tuple(begins[5:8]))
        db.execute('DELETE FROM windows WHERE begin IN (SELECT begin FROM aside)')
    follower = test.follow(path, '-i', '10ms', *ALL)
    follower.wait_for(len(expected) - 4)
    with connected(path) as db:
        db.execute("INSERT INTO gaps VALUES(%d, %d, 3, 'the test took them')" % (begins[5], begins[8]))
    follower.wait_said('3 windows between')  # and so it has counted what there is
    with connected(path) as db:
        db.execute('INSERT INTO windows SELECT * FROM aside')
    follower.wait_said('3 windows landed after')
    found = [json.loads(line)['begin'] for line in follower.finish()]
    if found != begins[:5] + begins[8:] or follower.text().count('\n') != 2:
        fail('late:', len(found), follower.text())
    print('ok windows that land too late are counted')


def stretch(path):
    """Both traces begin at the epoch, their hosts differ, and 10 ms become an hour: nothing is silent for long."""
    with connected(path) as db:
        firsts = db.execute('SELECT trace, min(begin) / 10000000 * 10000000 FROM windows GROUP BY trace ORDER BY 2').fetchall()
        db.execute("UPDATE traces SET host = 'other' WHERE trace = ?", (firsts[1][0],))
        for table, in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
            columns = [row[1] for row in db.execute('PRAGMA table_info("%s")' % table)]
            for trace, first in firsts if 'level' in columns else ():
                ends = ', "end" = ("end" - %d) * %d' % (first, HOURS) if 'end' in columns else ''
                db.execute('UPDATE "%s" SET level = level * %d, begin = (begin - %d) * %d%s WHERE trace = %d' %
                           (table, HOURS, first, HOURS, ends, trace))
        db.execute('CREATE TABLE aside AS SELECT * FROM windows')
        db.execute('DELETE FROM windows')
    return [trace for trace, _ in firsts]


def check_merged(test):
    """Both traces at the same times: a window when both are known, in the order of time."""
    path, slot = test.path('merged.db'), 5 * HOUR
    test.store(path, '10ms', *test.traces)
    traces = stretch(path)
    options = (('--merged',), HOSTS, ('--per', 'host', '--fail', 'count.events > 100', '--fail', 'count.events > 100000'))
    followers = [test.follow(path, '-i', '5h', *ALL, *more) for more in options]
    left = 1
    while left:  # by and by, the second trace behind the first, but not far at the start
        with connected(path) as db:
            for trace, count in zip(traces, (14, 9)):
                db.execute('CREATE TEMP TABLE some AS SELECT * FROM aside WHERE trace = %d ORDER BY begin LIMIT %d' % (trace, count))
                db.execute('INSERT INTO windows SELECT * FROM some')
                db.execute('DELETE FROM aside WHERE (begin, trace) IN (SELECT begin, trace FROM some)')
                db.execute('DROP TABLE some')
            left, = db.execute('SELECT count(*) FROM aside WHERE trace = %d' % traces[0]).fetchone()
            known = db.execute('SELECT max("end") FROM windows GROUP BY trace').fetchall()
            due, = db.execute('SELECT count(DISTINCT begin / %d) FROM windows WHERE (begin / %d + 1) * %d <= %d' %
                              (slot, slot, slot, min(known)[0])).fetchone()
        for one in followers:
            one.wait_for(due, SHOWN[:2])
    with connected(path) as db:
        db.execute('INSERT INTO windows SELECT * FROM aside')
    for one, more in zip(followers, options):
        code, printed, said = server.run(test.sillage, 'history', '-q', '-f', 'json', *LISTS, '-i', '5h', *more, path)
        expected = [line + '\n' for line in printed.splitlines() if line.startswith(SHOWN)]
        if code != (3 if '--fail' in more else 0) or said or more is HOSTS and not any('"hosts":' in line for line in expected):
            fail('history:', more, code, said)
        check_same(' '.join(more), one.finish(status=code), expected)
    print('ok --merged, --per host, triggers on hosts')


def check_range(test, whole):
    """Where it begins, and where it ends by itself."""
    expected = test.windows('analyze', '10ms', test.traces[0])
    begins = [json.loads(line)['begin'] for line in expected]

    def same(what, found, wanted):
        if [json.loads(line)['begin'] for line in found] != wanted:
            fail(what, [json.loads(line)['begin'] for line in found], 'expected', wanted)

    follower = test.follow(whole, '-i', '10ms')
    follower.wait_for(9)
    same('newest', follower.finish(signal.SIGINT), begins[-10:])
    until = ('--until', '%dns' % begins[20])
    same('until', test.follow(whole, '-i', '10ms', *ALL, *until).finish(None), begins[:20])
    same('until', test.follow(whole, '-i', '10ms', *until).finish(None), begins[10:20])
    same('since', test.follow(whole, '-i', '10ms', '--since', '%dns' % begins[15], *until).finish(None), begins[15:20])
    same('host', test.follow(whole, '-i', '10ms', *ALL, *until, '--host', 'none').finish(None), [])
    for more in ((), ('--per', 'host')):
        follower = test.follow(whole, '-i', '10ms', '--host', 'none', *more)
        follower.wait_said('no window of such a host and session yet; it has testhost')
        follower.finish(signal.SIGINT)
        if follower.text().count('\n') != 1:
            fail('no such host:', follower.text())
    for options in (('-n', '3'), ('--per', 'comm', '--sort', 'run_ns'), ('--comm', 'task*', '--width', '90')):
        texts = [server.run(test.sillage, 'history', *options, *LISTS, '-i', '10ms', *until, *more, whole)
                 for more in (('--follow', *ALL), ())]
        windows = texts[1][1][:texts[1][1].index('  total  ')].rsplit('\n', 1)[0] + '\n'
        if any(code or said for code, _, said in texts) or texts[0][1].strip() != windows.strip() or len(windows) < 1000:
            fail('text:', options, texts[0][1][-500:], windows[-500:])
    for command, status, text in (((whole, '--since', '%dns' % begins[3], '--until', '%dns' % begins[2]), 2, 'not before'),
                                  ((whole, '--since', 'soon'), 2, 'is not a time'), ((test.traces[0],), 2, 'is no store')):
        code, _, said = server.run(test.sillage, 'history', '--follow', *command)
        if code != status or text not in said or said.count('\n') != 1:
            fail(command, 'exit', code, said)
    print('ok where it begins and ends')


def check_reader(test, whole):
    """Nobody reads any more: it ends, also when there is nothing to print."""
    reader, writer = os.pipe()
    process = subprocess.Popen([test.sillage, 'history', *FOLLOW, '-i', '10ms', whole], stdout=writer, stderr=subprocess.PIPE)
    os.close(writer)
    with open(reader, 'rb') as file:
        while b'"type":"window"' not in file.readline():
            pass
    _, said = process.communicate()
    if process.returncode != 141 or said:
        fail('pipe: exit', process.returncode, said)
    print('ok the end of the pipe')


def main():
    sillage, data = sys.argv[1:3]
    with tempfile.TemporaryDirectory(prefix='sillage-follow-') as scratch:
        test = Test(sillage, data, scratch)
        whole = check_killed_writer(test)
        check_kept(test)
        check_gone(test, whole)
        check_held(test)
        check_late(test, whole)
        check_merged(test)
        check_range(test, whole)
        check_reader(test, whole)


if __name__ == '__main__':
    main()
