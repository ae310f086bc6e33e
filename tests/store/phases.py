#!/usr/bin/env python3
"""phases: what --phases reports lands in the store, and `history --phases` shows it.

Goal    Of each phase the store has what `analyze --phases` said of it last, and `history --phases -f json` prints that
        line again, as text the same as analyze: of all windows, of a range those that lie in a part of it, of a moment one; of several
        traces and stores together by time.  What is found again takes the place of what overlaps it, also where another
        run cut elsewhere; of several lengths of windows the shortest count.  --store-keep removes phases with the
        windows.  A store without them, of an older version too, has none, and one goes on to write them.  Rows that
        are impossible are said.  A store in ClickHouse has the same (skipped without a clickhouse-server).

usage: phases.py SILLAGE DATA [--server]
"""
import json
import lzma
import os
import shutil
import subprocess
import sys
import tempfile

from database import connected, copied

CUT = ('-q', '--phases', '-a', 'cpu', '-n', '1')
DAMAGE = ("json = 'x'", "json = '{}'", "json = ''", "json = replace(json, '\"open\":', '\"opened\":')", "json = replace(json, '\"series\":', '\"x\":')",
          "json = replace(json, 'share', 'sharp')", "json = replace(json, '\"begin\":', '\"begin\":-')", "json = replace(json, '\"mean\":', '\"mean\":-1')",
          "json = replace(json, '\"means\":[', '\"means\":[0,')", "json = substr(json, 1, 300)", "json = NULL",
          "json = replace(json, '\"number\":', '\"number\":\"\",\"n\":')")


def fail(*what):
    raise SystemExit('not ok ' + ' '.join(map(str, what)))


def check(is_right, *what):
    if not is_right:
        fail(*what)


class Test:
    def __init__(self, sillage, data, scratch):
        self.sillage, self.data, self.scratch = sillage, data, scratch
        self.burst, self.gaps = (os.path.join(data, name, 'kernel') for name in ('burst', 'idle-gaps'))

    def run(self, *words, status=0):
        done = subprocess.run([self.sillage, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        check(done.returncode == status, words, 'exit', done.returncode, done.stderr.decode())
        return done.stdout.decode(), done.stderr.decode()

    def path(self, name):
        return os.path.join(self.scratch, name)

    def store(self, url, trace, *options, interval='20ms'):
        """The last line of each phase, by begin."""
        printed, _ = self.run('analyze', *CUT, '-i', interval, '-f', 'json', '--store', url, *options, trace)
        return {line['begin']: line for line in map(json.loads, printed.splitlines()) if line['type'] == 'phase'}

    def history(self, *words):
        printed, said = self.run('history', '--phases', '-a', 'cpu', '-n', '1', '-f', 'json', *words)
        return [line for line in map(json.loads, printed.splitlines()) if line['type'] == 'phase'], said


def check_all(test, url):
    told = test.store(url, test.burst)
    check(len(told) >= 5, 'phases of burst:', len(told))
    check(sum(line['open'] for line in told.values()) == 1, 'the last one is open')
    found, said = test.history(url)
    check(found == list(told.values()), 'the store has', found, 'and analyze said', told)
    check(not said, said)
    test.store(url, test.burst)
    check(test.history(url)[0] == found, 'stored twice')
    check(test.history('-i', '1s', url)[0] == found, 'with windows')
    text = [line for line in test.run('history', '--phases', '-a', 'cpu', url)[0].splitlines() if line.startswith('~')]
    said = [line for line in test.run('analyze', *CUT, '-i', '20ms', test.burst)[0].splitlines() if line.startswith('~')]
    check(text == [line for line in said if 'since' not in line] + said[-1:], 'as text', text, said)
    hidden = test.run('history', '-a', 'cpu', '-f', 'json', url)[0]
    check('"type":"phase"' not in hidden, 'phases without --phases')
    return found


def check_range(test, url, phases):
    """A part of a phase is enough; --at is one moment."""
    begin, end = phases[1]['begin'] + 30 * 10 ** 6, phases[3]['begin'] + 30 * 10 ** 6
    found = test.history('--since', str(begin), '--until', str(end), url)[0]
    check(found == phases[1:4], 'of a range:', [line['number'] for line in found])
    found = test.history('--at', str(begin), url)[0]
    check(found == phases[1:2], 'at a moment:', [line['number'] for line in found])
    printed, said = test.run('history', '--phases', '--session', 'none', url, status=1)
    check(not printed, printed)


def check_several(test, url, phases):
    """Two traces in one store, and in two: the same lines; joint, they come by time."""
    both, other = url + '2' if '://' in url else test.path('both.db'), test.path('other.db')
    for store in (both, other):
        gaps = test.store(store, test.gaps, '-a', 'cpu,sched')
    test.store(both, test.burst)
    by_time = sorted([*phases, *gaps.values()], key=lambda line: line['begin'])
    for stores in ((both,), (url, other), (both, other)):
        check(test.history('--merged', *stores)[0] == by_time, 'joint', stores)
        found = test.history(*stores)[0]
        check(sorted(found, key=lambda line: line['begin']) == by_time, 'one after the other', stores)
        check(test.history('--session', 'burst', *stores)[0] == phases, 'of one session', stores)
    for options in (('--follow',), ('--per', 'host')):
        said = test.run('history', '--phases', *options, url, status=2)[1]
        check('--phases' in said, said)


def check_again(test, store):
    """A run that saw less cuts elsewhere: what it says replaces what it overlaps."""
    before = list(test.store(store, test.burst).values())
    begin = before[2]['begin'] + 90 * 10 ** 6
    after = list(test.store(store, test.burst, '--begin', str(begin)).values())
    found = test.history(store)[0]
    kept = [line for line in before if line['end'] <= after[0]['begin']]
    check(kept and found == kept + after, 'after a later run:', [(line['begin'], line['end']) for line in found])
    test.store(store, test.burst)
    found = test.history(store)[0]
    check(found == before, 'after the first one again:', [(line['begin'], line['end']) for line in found])
    long = test.store(store, test.burst, interval='100ms')
    check(test.history(store)[0] == found != list(long.values()), 'of two lengths')


def check_keep(test):
    store = test.path('keep.db')
    told = test.store(store, test.burst, '--store-keep', '1s')
    newest = max(line['end'] for line in told.values())
    with connected(store) as db:
        ends = [end for end, in db.execute('SELECT "end" FROM phases ORDER BY 1')]
    check(0 < len(ends) < len(told) and min(ends) > newest - 10 ** 9, 'kept:', ends, newest)


def check_old(test):
    """A store of sillage 0.1.0: it has no such table."""
    store = test.path('old.db')
    with lzma.open(os.path.join(test.data, 'upgrade', 'store.db.xz')) as packed, open(store, 'wb') as file:
        shutil.copyfileobj(packed, file)
    lines, said = test.history(store)
    check(not lines and 'no phases are stored' in said, 'of an old store:', said)
    told = test.store(store, test.burst)
    check(test.history('--session', 'burst', store)[0] == list(told.values()), 'an old store goes on')


def check_damage(test, store):
    for change in DAMAGE:
        damaged = copied(store, test.path('damaged.db'))
        with connected(damaged) as db:
            db.execute('UPDATE phases SET %s WHERE number = 2' % change)
        said = test.run('history', '-q', '--phases', '-a', 'cpu', damaged, status=1)[1]
        check('damaged' in said and len(said.splitlines()) == 1, change, said)
    for change in ('DROP TABLE phases; CREATE TABLE phases(json TEXT)', 'DROP TABLE phases; CREATE VIEW phases AS SELECT 1 AS json',
                   'UPDATE phases SET "end" = begin - 1', 'UPDATE phases SET begin = -1 WHERE number = 1'):
        damaged = copied(store, test.path('damaged.db'))
        with connected(damaged) as db:
            db.executescript(change)
        done = subprocess.run([test.sillage, 'history', '-q', '--phases', '-a', 'cpu', damaged], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        check(done.returncode in (0, 1), change, done)


def main():
    with tempfile.TemporaryDirectory() as scratch:
        test = Test(sys.argv[1], sys.argv[2], scratch)
        if '--server' in sys.argv:
            if not shutil.which('clickhouse-server'):
                sys.exit(77)
            import server
            machine = server.Server(test.path('server'))
            try:
                url = machine.url('phases')
                phases = check_all(test, url)
                check_range(test, url, phases)
                check_several(test, url, phases)
                check_again(test, machine.url('again'))
            finally:
                machine.kill()
            return
        phases = check_all(test, test.path('one.db'))
        check_range(test, test.path('one.db'), phases)
        check_several(test, test.path('one.db'), phases)
        check_again(test, test.path('again.db'))
        check_keep(test)
        check_old(test)
        check_damage(test, test.path('one.db'))
        print('ok %d phases' % len(phases))


main()
