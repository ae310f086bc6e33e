#!/usr/bin/env python3
"""disk: a store on a disk that is really full, without the right to write, and with two writers.

Goal    A file system without room (ENOSPC): each failure is said once, exit status 1, windows closed = stored +
        lost, and the file has those that are said to be stored.  With a spool in the place of the store: closed =
        stored + spooled + lost.  A file or folder that may not be written, and a file that may not be read: one
        line, exit status 1.  A window that is not complete is replaced by one that is, and never the other way.
        Two runs that write one trace into one store at once leave what one run leaves.
Method  A small tmpfs in a mount namespace of the test's own (unshare), another user (setpriv).  Where that is not
        allowed, the part is skipped with a word.

usage: disk.py SILLAGE DATA
"""
import contextlib
import os
import re
import shutil
import sqlite3
import struct
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import server  # noqa: E402
from database import copied  # noqa: E402
from faults import count, fail, refused, rows_of, run  # noqa: E402

LISTS = ['-a', 'count,cpu,sched,io', '-i', '5ms', '-j', '0']
NOBODY = 65534
HAS_ROOM = 'SILLAGE_TEST_MOUNTS'


def account(said):
    found = re.search(r'(\d+) windows closed, (\d+) stored with \d+ rows, (\d+) spooled, (\d+) lost', said)
    if not found:
        fail('no account: ' + said)
    return tuple(map(int, found.groups()))


@contextlib.contextmanager
def small_disk(scratch, size):
    folder = os.path.join(scratch, 'disk')
    os.makedirs(folder, exist_ok=True)
    subprocess.run(['mount', '-t', 'tmpfs', '-o', 'size=%d' % size, 'tmpfs', folder], check=True)
    try:
        yield folder
    finally:
        subprocess.run(['umount', '-l', folder], check=True)


def check_full_file(sillage, trace, scratch):
    with small_disk(scratch, 500_000) as disk:
        path = os.path.join(disk, 'full.db')
        code, printed, said = run(sillage, 'analyze', '-v', '-f', 'json', *LISTS, '--store', path, trace)
        closed, stored, spooled, lost = account(said)
        times = re.findall('are lost until|: can be written again', said)
        if code != 1 or not times or any(time != (': can be written again' if i % 2 else 'are lost until') for i, time in enumerate(times)):
            fail('full disk: exit %d, %s' % (code, said))
        if closed != stored + lost or spooled or lost == 0 or stored == 0 or closed != printed.count('"type":"window"'):
            fail('full disk: %s' % said)
        # Read elsewhere: a reader needs room, too.
        copy = os.path.join(scratch, 'copy.db')
        for end in ('', '-wal'):
            if os.path.exists(path + end):
                shutil.copy(path + end, copy + end)
        if count(copy, 'windows') != stored:
            fail('full disk: %d windows, %d said' % (count(copy, 'windows'), stored))
        # With room the next run writes all.
        subprocess.run(['mount', '-o', 'remount,size=20m', disk], check=True)
        code, _, said = run(sillage, 'analyze', '-v', '-o', '/dev/null', *LISTS, '--store', path, trace)
        if code != 0 or account(said) != (closed, closed, 0, 0) or count(path, 'windows') != closed:
            fail('room again: exit %d, %s' % (code, said))
    print('ok a full disk: %d windows, %d lost' % (closed, lost))


class Errors:
    """A server that has what a store needs at first, and answers later rows with errors."""

    def __enter__(self):
        sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'peer'))
        import live  # noqa: E402
        self.fake = live.Misbehaving('errors')
        return self.fake

    def __exit__(self, *_):
        self.fake.close()


def check_full_spool(sillage, trace, scratch):
    """The server answers with errors, so all windows go to the spool."""
    with small_disk(scratch, 200_000) as disk, Errors() as fake:
        spool = os.path.join(disk, 'spool.db')
        url = 'clickhouse://127.0.0.1:%d/a?every=10ms&timeout=1h&spool=%s' % (fake.port, spool)
        code, printed, said = run(sillage, 'analyze', '-v', '-f', 'json', *LISTS, '-i', '1ms', '--store', url, trace)
        closed, stored, spooled, lost = account(said)
        if code != 1 or stored or lost == 0 or spooled == 0 or closed != spooled + lost or closed != printed.count('"type":"window"'):
            fail('full disk of the spool: exit %d, %s' % (code, said))
        copy = os.path.join(scratch, 'spool-copy.db')
        for end in ('', '-wal', '-journal'):
            if os.path.exists(spool + end):
                shutil.copy(spool + end, copy + end)
        with contextlib.closing(sqlite3.connect(copy)) as db:
            waiting = db.execute('SELECT coalesce(sum(windows), 0) FROM batches').fetchone()[0]
        if waiting != spooled:
            fail('the spool has %d windows, %d said: %s' % (waiting, spooled, said))
    print('ok a full disk of the spool: %d windows, %d spooled, %d lost' % (closed, spooled, lost))


def check_secrets(sillage, trace, scratch):
    """A spool is for its owner alone, in folders that are; programs that are started have no password of a store."""
    tools, seen = os.path.join(scratch, 'tools'), os.path.join(scratch, 'environments')
    os.mkdir(tools)
    with open(os.path.join(tools, 'lttng'), 'w') as file:
        file.write('#!/bin/sh\nenv >>%s\nexit 1\n' % seen)
    os.chmod(file.name, 0o755)
    environment = dict(os.environ, SILLAGE_STORE_PASSWORD='se/cr:t', PATH=tools + ':' + os.environ['PATH'])
    for before in (None, 0o644):
        with Errors() as fake:
            place = os.path.join(scratch, 'above%s' % before, 'folder')
            spool = os.path.join(place, 'spool.db')
            if before:
                os.makedirs(place)
                os.close(os.open(spool, os.O_CREAT, before))
            url = 'clickhouse://me@127.0.0.1:%d/a?every=10ms&timeout=1h&spool=%s' % (fake.port, spool)
            done = subprocess.run([sillage, 'analyze', '-v', '-o', '/dev/null', *LISTS, '--store', url, '--trigger', 'cpu.busy > 0 every 1h',
                                   '--on-trigger', 'exec env >>%s; cat /proc/$PPID/environ >>%s' % (seen, seen), trace],
                                  env=environment, stderr=subprocess.PIPE, text=True, umask=0o022)
            closed, _, spooled, _ = account(done.stderr)
            if closed == 0 or closed != spooled:
                fail('secrets: exit %d, %s' % (done.returncode, done.stderr))
            if os.stat(spool).st_mode & 0o777 != 0o600 or (not before and any(
                    os.stat(one).st_mode & 0o777 != 0o700 for one in (place, os.path.dirname(place)))):
                fail('others may read the spool')
    subprocess.run([sillage, 'setup', '--run', '-a', 'cpu'], env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    with open(seen, 'rb') as file:
        text = file.read()
    if text.count(b'SILLAGE_TRIGGER=') != 2 or text.count(b'PATH=') < 5 or b'se/cr' in text or b'SILLAGE_STORE_PASSWORD=s' in text:
        fail('a program was told the password: %s' % text.decode(errors='replace'))
    print('ok secrets: spools of mode 0600, and an environment without a password')


def check_rights(sillage, trace, scratch, store):
    """One line each, and status 1."""
    if os.geteuid() == 0:
        if not shutil.which('setpriv') or subprocess.run(['setpriv', '--reuid=%d' % NOBODY, '--clear-groups', sillage, 'help'],
                                                         stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode != 0:
            print('# rights: skipped: no other user can run the program')
            return
        user = ['setpriv', '--reuid=%d' % NOBODY, '--regid=%d' % NOBODY, '--clear-groups']
    else:
        user = []
    os.chmod(scratch, 0o755)
    folder, other, secret = (os.path.join(scratch, name) for name in ('folder', 'other', 'secret'))
    for place in (folder, other, secret):
        os.mkdir(place)
        copied(store, os.path.join(place, 'store.db'))
    read_only, not_readable = os.path.join(other, 'store.db'), os.path.join(secret, 'store.db')
    os.chmod(read_only, 0o444)
    os.chmod(not_readable, 0)
    os.chmod(folder, 0o555)
    os.chmod(other, 0o777)
    before = rows_of(store)
    write = [*user, sillage, 'analyze', '-q', *LISTS, '-o', '/dev/null', trace, '--store']
    read = [*user, sillage, 'history', '-o', '/dev/null']
    compare = [*user, sillage, 'compare', '-q', '-o', '/dev/null', not_readable]
    baseline = [*user, sillage, 'analyze', '-q', *LISTS, '-o', '/dev/null', '--fail', 'cpu.busy > baseline', trace, '--baseline']
    refused('new file', 1, [*write, os.path.join(folder, 'new.db')], 'unable to open')
    refused('file in a folder', 1, [*write, os.path.join(folder, 'store.db')], 'readonly')
    refused('file', 1, [*write, read_only], 'readonly')
    refused('no file', 1, [*write, not_readable], 'unable to open')
    for command in (read, compare, baseline):
        refused(command[-1], 1, [*command, not_readable], 'unable to open')
    whole, asked = server.windows(run(sillage, 'history', '-f', 'json', '-i', '5ms', store)[1]), [*user, sillage, 'history', '-f', 'json', '-i', '5ms']
    odd = os.path.join(folder, 'a%b?c#d.db')
    os.chmod(folder, 0o755)
    os.link(os.path.join(folder, 'store.db'), odd)
    os.chmod(folder, 0o555)
    for what in (read_only, os.path.join(folder, 'store.db'), odd):
        code, printed, said = run(*asked, what)
        if code != 0 or said or not whole or server.windows(printed) != whole:
            fail('%s: it may be read: exit %d, %s' % (what, code, said))
    for end, text in (('-wal', b'windows'), ('-shm', b'')):
        os.chmod(folder, 0o755)
        with open(odd + end, 'wb') as file:
            file.write(text)
        os.chmod(odd + end, 0)
        os.chmod(folder, 0o555)
        refused('a writer beside it', 1, [*asked, odd], 'may not be written')
        os.chmod(folder, 0o755)
        os.unlink(odd + end)
    os.chmod(folder, 0o555)
    os.chmod(folder, 0o755)
    os.chmod(not_readable, 0o644)
    if any(rows_of(os.path.join(place, 'store.db')) != before for place in (folder, other, secret)):
        fail('rights: a store has changed')
    print('ok rights')


def without_packet(trace, into):
    """A copy of the trace that lacks a packet in the middle of its last stream."""
    shutil.copytree(trace, into, copy_function=shutil.copyfile)
    name = sorted(one for one in os.listdir(trace) if one.startswith('channel'))[-1]
    with open(os.path.join(trace, 'index', name + '.idx'), 'rb') as file:
        index = file.read()
    size, = struct.unpack('>I', index[12:16])
    entries = [struct.unpack('>QQ', index[at:at + 16]) for at in range(16, len(index), size)]
    if len(entries) < 3:
        fail('few packets in ' + name)
    offset, bits = entries[len(entries) // 2]
    with open(os.path.join(into, name), 'r+b') as file:
        data = file.read()
        file.seek(0)
        file.write(data[:offset] + data[offset + bits // 8:])
        file.truncate()
    shutil.rmtree(os.path.join(into, 'index'))
    return into


def check_late(store, whole_trace, cut_trace, windows):
    """@store(trace) stores it; @windows() gives {begin: (complete, rows)}."""
    store(cut_trace)
    cut = windows()
    if {complete for complete, _ in cut.values()} != {False, True}:
        fail('late: windows are not complete here and there: %s' % cut)
    store(whole_trace)
    whole = windows()
    if not all(complete for complete, _ in whole.values()) or set(cut) - set(whole):
        fail('late: what was not complete stays')
    lacked = [begin for begin in cut if not cut[begin][0]]
    if not all(whole[begin][1] > cut[begin][1] for begin in lacked[:1]):
        fail('late: the late part has no events')
    store(cut_trace)
    if windows() != whole:
        fail('late: what is complete was replaced by what is not')
    return len(lacked)


def check_late_file(sillage, trace, scratch):
    path = os.path.join(scratch, 'late.db')

    def store(one):
        # What is lost is said: the status is 0 all the same.
        code, _, said = run(sillage, 'analyze', '-q', *LISTS, '-o', '/dev/null', '--store', path, one)
        if code != 0:
            fail('late: exit %d, %s' % (code, said))

    def windows():
        with contextlib.closing(sqlite3.connect(path)) as db:
            return {begin: (bool(complete), events) for begin, complete, events in db.execute(
                'SELECT w.begin, w.complete, c.events FROM windows w JOIN count_totals c ON c.begin = w.begin AND c.level = w.level')}

    lacked = check_late(store, trace, without_packet(trace, os.path.join(scratch, 'cut')), windows)
    print('ok late parts: %d windows' % lacked)


def check_two(sillage, trace, scratch, whole):
    """Several runs at once, some times: who begins the store is not said."""
    for number in range(8):
        path = os.path.join(scratch, 'two-%d.db' % number)
        begin, go = os.pipe()  # they start when it is closed
        children = [subprocess.Popen(['sh', '-c', 'read _; exec "$@"', 'sh', sillage, 'analyze', '-v', *LISTS, '-o', '/dev/null',
                                      '--store', path, trace], stdin=begin, stderr=subprocess.PIPE) for _ in range(4)]
        os.close(begin)
        os.close(go)
        for child in children:
            said = child.communicate()[1].decode()
            closed, stored, spooled, lost = account(said)
            if child.returncode != 0 or closed != stored or spooled or lost:
                fail('two: exit %d, %s' % (child.returncode, said))
        if rows_of(path) != whole:
            fail('two: another store')
    print('ok two writers')


def may_mount():
    """Starts again in a mount namespace; False: it may not."""
    if os.environ.get(HAS_ROOM):
        return True
    if os.geteuid() != 0 or not shutil.which('unshare') or subprocess.run(
            ['unshare', '-m', 'sh', '-c', 'mount -t tmpfs -o size=64k tmpfs "$0"', tempfile.gettempdir()],
            stderr=subprocess.DEVNULL).returncode != 0:
        return False
    sys.stdout.flush()
    os.execvpe('unshare', ['unshare', '-m', sys.executable, *sys.argv], dict(os.environ, **{HAS_ROOM: '1'}))
    return True


def check_odd_lengths(sillage, scratch, store):
    """Lengths of windows that are texts, fractions or below 1, in a table that takes anything: a walk over them ends."""
    for number, length in enumerate(('x', b'x', 0.5, -3, 0, None)):
        odd = os.path.join(scratch, 'odd-%d.db' % number)
        copied(store, odd)
        with contextlib.closing(sqlite3.connect(odd)) as database:
            database.executescript('CREATE TABLE loose AS SELECT * FROM windows; DROP TABLE windows; ALTER TABLE loose RENAME TO windows')
            database.execute('UPDATE windows SET level = ?', (length,))
            database.commit()
        for asked in (['history', '-q', '-i', '5ms'], ['history', '-q'], ['history', '-q', '--per', 'host']):
            done = subprocess.run([sillage, *asked, odd], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60)
            if done.returncode != 1 or b'no such windows' not in done.stderr:
                fail('windows as long as %r: exit %d, %r' % (length, done.returncode, done.stderr[-200:]))
    print('ok odd lengths')


def main():
    sillage, data = os.path.abspath(sys.argv[1]), sys.argv[2]
    trace, late = (os.path.join(data, name, 'kernel') for name in ('migrate', 'small-packets'))
    has_mounts = may_mount()
    with tempfile.TemporaryDirectory(prefix='sillage-disk-') as scratch:
        store = os.path.join(scratch, 'whole.db')
        code, _, said = run(sillage, 'analyze', '-q', *LISTS, '-o', '/dev/null', '--store', store, trace)
        if code != 0 or said:
            fail('exit %d, %s' % (code, said))
        check_two(sillage, trace, scratch, rows_of(store))
        check_late_file(sillage, late, scratch)
        check_rights(sillage, trace, scratch, store)
        check_odd_lengths(sillage, scratch, store)
        check_secrets(sillage, trace, scratch)
        if has_mounts:
            check_full_file(sillage, trace, scratch)
            check_full_spool(sillage, trace, scratch)
        else:
            print('# a full disk: skipped: no tmpfs can be mounted here')


if __name__ == '__main__':
    main()
