#!/usr/bin/env python3
"""faults: a store loses nothing that is not said, and has nothing twice.

Goal    Killed at any time, a run leaves whole windows, and the next one makes the store that one run
        makes.  A file that cannot grow: one line, exit status 1, a gap, and closed = stored + lost.
        What is no store, is of a newer version, or cannot be opened is refused in one line; a store of
        an older version, which lacks a column, is read and grows.  Damaged cells are refused.
        Names with quotes in them are data.

usage: faults.py SILLAGE TRACE
"""
import os
import random
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time

from database import connected, copied

ANALYSES = ['-a', 'count,cpu,sched,io', '-i', '5ms', '-j', '0']


def fail(text):
    raise SystemExit('not ok ' + text)


def run(*command, before=None):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, preexec_fn=before)
    return done.returncode, done.stdout.decode(errors='replace'), done.stderr.decode(errors='replace')


def rows_of(path):
    with connected(path) as db:
        db.text_factory = bytes
        names = [name.decode() for (name,) in db.execute('SELECT name FROM sqlite_master WHERE type = "table"')]
        return {name: sorted(db.execute('SELECT * FROM "%s"' % name), key=repr) for name in names}


def count(path, table):
    with connected(path) as db:
        return db.execute('SELECT count(*) FROM ' + table).fetchone()[0]


def refused(what, status, command, text):
    code, _, said = run(*command)
    if code != status or text not in said or said.count('\n') != 1:
        fail('%s: exit %d, %r' % (what, code, said))


def check_kill(sillage, trace, scratch, whole):
    """A killed run leaves whole windows; the run after it makes the same store."""
    rng, path = random.Random(1), os.path.join(scratch, 'killed.db')
    begun = time.monotonic()
    run(sillage, 'analyze', '-q', *ANALYSES, '-o', '/dev/null', '--store', path, trace)
    took = time.monotonic() - begun
    os.unlink(path)
    for _ in range(4):
        child = subprocess.Popen([sillage, 'analyze', '-q', *ANALYSES, '-o', '/dev/null', '--store', path, trace],
                                 stderr=subprocess.DEVNULL)
        time.sleep(rng.random() * took)
        child.send_signal(signal.SIGKILL)
        child.wait()
        if os.path.exists(path):
            with connected(path) as db:
                if db.execute('PRAGMA integrity_check').fetchone()[0] != 'ok':
                    fail('killed: the file is damaged')
    run(sillage, 'analyze', '-q', *ANALYSES, '-o', '/dev/null', '--store', path, trace)
    if rows_of(path) != whole:
        fail('killed: another store')


def check_full(sillage, trace, scratch):
    path = os.path.join(scratch, 'full.db')

    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, 400_000))

    code, printed, said = run(sillage, 'analyze', '-v', '-f', 'json', *ANALYSES, '--store', path, trace, before=limit)
    account = re.search(r'(\d+) windows closed, (\d+) stored with \d+ rows, 0 spooled, (\d+) lost', said)
    # Each time that it fails is said once.  A small transaction may still fit: then it failed twice.
    times = re.findall('are lost until|: can be written again', said)
    if code != 1 or not account or not times or any(
            time != (': can be written again' if i % 2 else 'are lost until') for i, time in enumerate(times)):
        fail('full: exit %d, %s' % (code, said))
    closed, stored, lost = map(int, account.groups())
    if closed != stored + lost or lost == 0 or closed != printed.count('"type":"window"'):
        fail('full: %s' % account.group(0))
    if count(path, 'windows') != stored:
        fail('full: %d windows, %d said' % (count(path, 'windows'), stored))


def check_refused(sillage, trace, scratch, store):
    text, empty = os.path.join(scratch, 'text.db'), os.path.join(scratch, 'other.db')
    with open(text, 'w') as file:
        file.write('no database, but a text that is longer than a header of one would be' * 20)
    with connected(empty) as db:
        db.execute('CREATE TABLE a(b)')
    newer = copied(store, os.path.join(scratch, 'newer.db'))
    with connected(newer) as db:
        db.execute('PRAGMA user_version = 3')
    for command in (['analyze', '-q', '-o', '/dev/null', trace, '--store'], ['history', '-o', '/dev/null']):
        refused('scheme', 2, [sillage, *command, 'postgres://host/base'], 'is no store')
        refused('text', 2, [sillage, *command, text], 'is no store')
        refused('database', 2, [sillage, *command, empty], 'no store of sillage')
        refused('newer', 2, [sillage, *command, newer], 'newer sillage')
        refused('away', 1, [sillage, *command, os.path.join(scratch, 'no', 'such.db')], 'unable to open')
    refused('selection', 2, [sillage, 'analyze', '-q', trace, '--tid', '1', '--store', os.path.join(scratch, 'x.db')],
            'sillage history')
    refused('range', 1, [sillage, 'history', '--host', 'none', store], 'no such windows')


def check_older(sillage, trace, scratch, store, whole):
    older = copied(store, os.path.join(scratch, 'older.db'))
    with connected(older) as db:
        db.execute('ALTER TABLE cpu_threads DROP COLUMN longest_ns')
        db.execute('DROP TABLE io_totals')
    code, _, said = run(sillage, 'history', '-f', 'json', older)
    if code != 0 or said:
        fail('older: exit %d, %s' % (code, said))
    run(sillage, 'analyze', '-q', *ANALYSES, '-o', '/dev/null', '--store', older, trace)
    with connected(older) as db, connected(store) as other:
        question = 'SELECT begin, tid, nth, run_ns, longest_ns FROM cpu_threads ORDER BY 1, 2, 3'
        if db.execute(question).fetchall() != other.execute(question).fetchall():
            fail('older: it did not grow')
    if rows_of(older)['io_totals'] != whole['io_totals']:
        fail('older: a table is not made again')


def check_damaged(sillage, scratch, store):
    damaged = copied(store, os.path.join(scratch, 'damaged.db'))
    for change in ("wake_counts = '[1]'", "wake_buckets = 'x'", 'wake_buckets = NULL', 'wake_count = wake_count + 1'):
        copied(store, damaged)
        with connected(damaged) as db:
            db.execute('UPDATE sched_totals SET %s WHERE wake_count > 1' % change)
        code, _, said = run(sillage, 'history', '-o', '/dev/null', damaged)
        if code not in (1, 2) or 'damaged' not in said:
            fail('%s: exit %d, %s' % (change, code, said))


def check_long(sillage, scratch, store):
    """A text that no store of ours has: refused before it is in memory, whichever column has it."""
    for table, column in (('traces', 'host'), ('windows', 'missing'), ('threads', 'comm')):
        path = copied(store, os.path.join(scratch, 'long.db'))
        with connected(path) as db:
            db.execute('UPDATE "%s" SET "%s" = ? WHERE trace = 1 AND %s' % (
                table, column, 'true' if table == 'traces' else 'begin = (SELECT max(begin) FROM "%s")' % table), ('x' * (2 << 20),))
        # A host's figures need no names.
        for command in (['history', '-a', 'cpu'], ['compare', store], ['history', '--per', 'host'])[:2 if column == 'comm' else 3]:
            refused('long %s' % column, 1, [sillage, *command, '-q', path], 'too big')


def check_names(sillage, scratch, store):
    hostile = copied(store, os.path.join(scratch, "it's \"quoted\"; DROP TABLE windows; --.db"))
    name = "'; DROP TABLE traces; --\x1b[31m\""
    with connected(hostile) as db:
        db.execute('UPDATE traces SET host = ?', (name,))
        db.execute('UPDATE cpu_threads SET comm = ?', (name[:15],))
    code, printed, said = run(sillage, 'history', '-n', '0', hostile)
    if code != 0 or said or '\x1b' in printed:
        fail('names: exit %d, %s' % (code, said))


def main():
    sillage, trace = sys.argv[1:]
    with tempfile.TemporaryDirectory(prefix='sillage-store-') as scratch:
        store = os.path.join(scratch, 'whole.db')
        code, _, said = run(sillage, 'analyze', '-q', *ANALYSES, '-o', '/dev/null', '--store', store, trace)
        if code != 0 or said:
            fail('exit %d, %s' % (code, said))
        whole = rows_of(store)
        check_kill(sillage, trace, scratch, whole)
        check_full(sillage, trace, scratch)
        check_refused(sillage, trace, scratch, store)
        check_older(sillage, trace, scratch, store, whole)
        check_damaged(sillage, scratch, store)
        check_long(sillage, scratch, store)
        check_names(sillage, scratch, store)
    print('ok store faults')


if __name__ == '__main__':
    main()
