#!/usr/bin/env python3
"""screen: `top STORE` shows the windows of a store, step by step, and those that land.

Goal    It opens at the newest window and follows; keys go back and on, to the first and the last, by 60, to
        a time and to the next trace at the same time.  The header has the time, the trace, and whether it
        follows.  What lands is shown at the end only.  Longer windows are put together.  A store that is not
        there yet, or goes, is waited for.  It fits any size.  Of a store of a day of windows of 1 s little
        is read.  Options that a store has nothing for are refused in one line.
Method  A terminal by tmux (tests/peer/peer.py); what is on it is compared with `history`.

usage: screen.py SILLAGE DATA [CHECK...]
"""
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import types

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'peer'))
import follow  # noqa: E402
import peer  # noqa: E402
import server  # noqa: E402
from database import connected, copied  # noqa: E402

DAY = 86400


class Screen(peer.Screen):
    def __init__(self, scratch, *command, size=(110, 24)):
        self.test = types.SimpleNamespace(scratch=tempfile.mkdtemp(dir=scratch), cleanups=[])
        super().__init__(self.test, *command, size=size)

    def header(self):
        return self.text().split('\n')[0]

    def shows(self, begin, *texts):
        """Until the header has the window that begins then, in ns."""
        moment = time.strftime('%Y-%m-%d %H:%M:%S', time.localtime(begin // 10**9)) + '.%03d' % (begin // 10**6 % 1000)
        return self.wait_for(lambda text: all(one in text.split('\n')[0] for one in (moment, *texts)))

    def close(self):
        for one in self.test.cleanups:
            one()


def begins_of(test, path, interval, *options):
    return [json.loads(line)['begin'] for line in test.windows('history', interval, *options, path)]


def check_keys(test, path):
    begins = begins_of(test, path, '10ms')
    screen = Screen(test.scratch, test.sillage, 'top', '-i', '10ms', path)
    text = screen.shows(begins[-1], 'following', 'testhost/migrate/kernel')
    assert 'THREAD (TID)' in text and max(map(len, text.splitlines())) <= 110, text
    for keys, at, state in ((('Left',), -2, 'paused'), (('Left', 'Left'), -4, 'paused'), (('Right',), -3, 'paused'),
                            (('Home',), 0, 'paused'), (('Left',), 0, 'paused'), (('Right',), 1, 'paused'),
                            (('}',), -1, 'following'), (('Left', 'Left'), -3, 'paused'),
                            (('Right', 'Right', 'Right'), -1, 'following'), (('Space',), -1, 'paused'),
                            (('{',), 0, 'paused'), (('End',), -1, 'following'), (('Home', 'Space'), -1, 'following')):
        screen.keys(*keys)
        screen.shows(begins[at], state)
    # The rows are those of the window.
    line = test.windows('history', '10ms', '--since', '%dns' % begins[20], path)[0]
    longest = max(json.loads(line)['cpu']['threads'], key=lambda row: row['run_ns'])
    screen.keys('g')
    screen.keys('-l', '--', '%dns' % begins[20])
    screen.wait_for('go to time: ')
    screen.keys('Enter')
    screen.shows(begins[20], 'paused')
    screen.wait_for('%s (%d)' % (longest['comm'], longest['tid']))
    screen.keys('Tab')  # the list stays the same from window to window
    head = screen.wait_for('PROCESS (PID)')
    screen.keys('Left')
    screen.shows(begins[19])
    assert 'PROCESS (PID)' in screen.text(), head
    for time_, at in (('-50ms', -6), (time.strftime('%H:%M:%S', time.localtime(begins[0] // 10**9)), 0)):
        screen.keys('g')
        screen.wait_for('go to time: ')
        screen.keys('-l', '--', time_)
        screen.keys('Enter')
        screen.shows(begins[at], 'paused')
    screen.keys('g')
    screen.keys('-l', '--', 'soon')
    screen.keys('Enter')
    screen.wait_for('is not a time')
    screen.keys('j')
    screen.wait_for('which a store does not')
    screen.keys('Escape')
    screen.keys('?')
    assert 'jobs: what' not in screen.wait_for('60 windows back, on')
    screen.keys('?')
    for size in ((40, 10), (20, 4), (160, 50), (80, 24)):
        screen.resize(*size)
        screen.wait_for(lambda text: 'q quit'[:size[0]] in text.splitlines()[-1] and len(text.splitlines()) == size[1])
    screen.keys('q')
    screen.wait_for('status 0')
    screen.close()
    screen = Screen(test.scratch, test.sillage, 'top', '-i', '15ms', path)
    screen.wait_for('10.0 ms do not fit into 15.0 ms')
    screen.keys('q')
    screen.wait_for('status 0')
    screen.close()
    print('ok keys')


def check_short(test, whole):
    """Analyses that a window does not have are named."""
    path = copied(whole, test.path('short.db'))
    with connected(path) as db:
        db.execute('UPDATE windows SET analyses = replace(analyses, "sched", "") WHERE begin = (SELECT max(begin) FROM windows)')
    screen = Screen(test.scratch, test.sillage, 'top', '-a', 'cpu,sched', '-i', '10ms', path)
    screen.wait_for('not stored: sched')
    screen.keys('Left')
    screen.wait_for(lambda text: 'paused' in text and 'not stored' not in text)
    screen.keys('q')
    screen.wait_for('status 0')
    screen.close()
    print('ok analyses that are short')


def check_follows(test, whole):
    """It is there before the store; windows land; the store goes and comes back; another trace."""
    path = test.path('lands.db')
    begins = begins_of(test, whole, '10ms')
    screen = Screen(test.scratch, test.sillage, 'top', '-i', '50ms', path)
    screen.wait_for('there is no such store yet')
    part = copied(whole, test.path('part.db'))
    with connected(part) as db:
        db.execute('CREATE TABLE aside AS SELECT * FROM windows WHERE begin > %d' % begins[20])
        db.execute('DELETE FROM windows WHERE begin > %d' % begins[20])
    os.rename(part, path)
    slot = begins[20] // 50000000 * 50000000
    screen.shows(max(slot, begins[0]), 'following')
    screen.keys('Left')
    screen.shows(slot - 50000000, 'paused')
    with connected(path) as db:
        db.execute('INSERT INTO windows SELECT * FROM aside')
    for _ in range(2):  # two looks
        screen.keys('Left', 'Right')
        screen.shows(slot - 50000000, 'paused')
        time.sleep(1)
    screen.keys('End')
    last = begins[-1] // 50000000 * 50000000
    screen.shows(last, 'following')
    found = int(re.search(r'([\d,]+) events/s', screen.header()).group(1).replace(',', ''))
    expected = json.loads(test.windows('history', '50ms', path)[-1])
    rate = sum(expected['count']['by_name'].values()) / (expected['end'] - expected['begin']) * 1e9
    assert abs(found - rate) <= 1, (found, rate)
    os.unlink(path)
    screen.wait_for('the store has gone')
    test.store(path, '10ms', *test.traces)
    screen.shows(last)
    screen.wait_for('t h trace ')
    screen.keys('End', 't')
    screen.wait_for('/containers/')
    for part, name in (('MIGR', '/migrate/'), ('contain', '/containers/'), ('nobody', '/containers/')):
        screen.keys('h')
        screen.wait_for('go to host or session: ')
        screen.keys('-l', '--', part)
        screen.keys('Enter')
        screen.wait_for(lambda text: name in text.split('\n')[0] and ('has this in its name' in text) == (part == 'nobody'))
    screen.keys('End')
    os.kill(screen.pid(), signal.SIGTERM)
    screen.wait_for('status 0')
    screen.close()
    # One of both, and a range.
    screen = Screen(test.scratch, test.sillage, 'top', '-i', '10ms', '--session', 'migrate', '--since', '%dns' % begins[5], '--until',
                    '%dns' % begins[9], path)
    text = screen.shows(begins[8])
    assert 't h trace' not in text, text
    screen.keys('Home')
    screen.shows(begins[5])
    screen.keys('q')
    screen.wait_for('status 0')
    screen.close()
    # A store of longer windows is shown in those.
    path = test.store(test.path('minutes.db'), '2s')
    screen = Screen(test.scratch, test.sillage, 'top', path)
    text = screen.shows(begins_of(test, path, '2s')[-1])
    assert 'do not fit' not in text, text
    screen.keys('q')
    screen.wait_for('status 0')
    screen.close()
    print('ok what lands')


def make_day(test, whole):
    """A day of windows of 1 s, which have the rows of one window."""
    path = copied(whole, test.path('day.db'))
    with connected(path) as db:
        begin, = db.execute('SELECT begin FROM windows ORDER BY begin LIMIT 1 OFFSET 20').fetchone()
        names = [name for name, in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        db.execute("UPDATE windows SET analyses = 'count,cpu'")
        db.execute('CREATE TEMP TABLE hours AS WITH RECURSIVE c(x) AS (VALUES(0) UNION ALL SELECT x + 1 FROM c WHERE x < %d)'
                   ' SELECT x FROM c' % (DAY - 1))
        for name in names:
            columns = [row[1] for row in db.execute('PRAGMA table_info("%s")' % name)]
            if columns[0] != 'level' or name == 'threads':
                continue
            if name.startswith('sched'):  # it would be most of the file
                db.execute('DELETE FROM "%s"' % name)
                continue
            db.execute('CREATE TEMP TABLE one AS SELECT * FROM "%s" WHERE begin = %d' % (name, begin))
            db.execute('DELETE FROM "%s"' % name)
            values = ', '.join('1000000000' if column == 'level' else 'x * 1000000000' if column == 'begin' else
                               '(x + 1) * 1000000000' if column == 'end' else '"%s"' % column for column in columns)
            db.execute('INSERT INTO "%s" SELECT %s FROM hours, one' % (name, values))
            db.execute('DROP TABLE one')
    return path


def check_day(test, whole):
    path = make_day(test, whole)
    screen = Screen(test.scratch, test.sillage, 'top', path)
    screen.shows((DAY - 1) * 10**9, 'following')
    screen.keys('{')
    screen.shows((DAY - 61) * 10**9, 'paused')
    screen.keys('Home')
    screen.shows(0)
    for nth in range(5):
        screen.keys(*['Right'] * 10)
        screen.shows(10 * (nth + 1) * 10**9)
    screen.keys('g')
    screen.keys('-l', '--', '@43200')
    screen.keys('Enter')
    screen.shows(43200 * 10**9)
    with open('/proc/%d/io' % screen.pid()) as file:
        read = int(re.search(r'rchar: (\d+)', file.read()).group(1))
    size = os.path.getsize(path) + (os.path.getsize(path + '-wal') if os.path.exists(path + '-wal') else 0)
    assert read < size / 4, 'read %d of %d bytes' % (read, size)
    screen.keys('q')
    screen.wait_for('status 0')
    screen.close()
    print('ok a day: %.1f MB of %.0f MB read for 55 windows' % (read / 1e6, size / 1e6))


def check_refused(test, path):
    for options, text in ((('--host', 'x', test.traces[0]), 'only with a store'), ((path, path), 'one store at a time'),
                          ((path, test.traces[0]), 'one store at a time'), (('--metrics', ':0', path), 'only with live'),
                          (('--history', '10s', path), 'only with live'), (('--from', 'now', path), 'only with live'),
                          (('--period', 'a = b; c', path), 'looks at events'), (('--no-retry', path), 'only with live'),
                          (('--on-lag', 'skip', path), 'only with live'), (('--since', 'soon', path), 'is not a time'),
                          (('sqlite:' + os.path.join(test.traces[0], 'metadata'),), 'is no store')):
        screen = Screen(test.scratch, test.sillage, 'top', *options)
        said = screen.wait_for('status 2')
        assert text in said.replace('\n', ''), (options, said)
        screen.close()
    code, _, said = server.run(test.sillage, 'top', path)
    assert code == 1 and 'needs a terminal' in said, (code, said)
    print('ok what is refused')


def check_state(test, _):
    """Open calls stand beside what they wait for."""
    path = test.path('state.db')
    subprocess.run([test.sillage, 'analyze', '-q', '-a', 'state', '-i', '1s', '-o', os.devnull, '--store', path,
                    os.path.join(sys.argv[2], 'rt-mutex-inherit')], check=True)
    screen = Screen(test.scratch, test.sillage, 'top', '-i', '1s', path)
    screen.wait_for('IN CALL')
    for head in 'PROCESS (PID)', 'CPU', 'OPEN CALL', 'OLDEST OPEN CALLS':
        screen.keys('Tab')
        text = screen.wait_for(head)
    assert 'epoll_pwait' in text and 'futex=0x' in text and 'waiters=1' in text, text
    screen.keys('q')
    screen.wait_for('status 0')
    screen.close()
    print('ok state')


def main():
    sillage, data = sys.argv[1:3]
    if not shutil.which('tmux'):
        print('# tmux is not installed')
        raise SystemExit(77)
    with tempfile.TemporaryDirectory(prefix='sillage-screen-') as scratch:
        test = follow.Test(sillage, data, scratch)
        whole = test.store(test.path('whole.db'), '10ms')
        for check in sys.argv[3:] or ('keys', 'short', 'follows', 'day', 'refused', 'state'):
            globals()['check_' + check](test, whole)


if __name__ == '__main__':
    main()
