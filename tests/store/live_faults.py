#!/usr/bin/env python3
"""live_faults: `live --store` on a full disk, with captures, and beside another viewer.

Goal    While the disk of the store is full, live prints all windows and captures go on; with room again windows are
        stored: closed = stored + lost, and the rows of gaps say what is missing.  Triggers and captures have the
        rows that live printed and that lie on disk.  Two viewers of one trace write one store, without doubles.
Method  A real lttng-relayd; a tmpfs in a mount namespace of the test's own (disk.py), or a part is skipped.

usage: live_faults.py SILLAGE APP DATA [x NAME]
"""
import contextlib
import os
import signal
import sqlite3
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'peer'))
import disk  # noqa: E402
import peer  # noqa: E402
import server  # noqa: E402
from live import LISTS, TRACE, history, shown  # noqa: E402

HAS_MOUNTS = False


def rows(path, sql):
    with contextlib.closing(sqlite3.connect(path)) as db:
        return db.execute(sql).fetchall()


def of_type(live, kind):
    return [line for line in live.lines() if line['type'] == kind]


def captures(t):
    into = os.path.join(t.scratch, 'captures')
    return into, ('--trigger', 'count.events > 0', '--on-trigger', 'capture', '--history', '1s', '--before', '100ms', '--after', '100ms',
                  '--capture-dir', into)


def check_captures(live, path, into):
    """Rows = lines = folders."""
    fired, made = of_type(live, 'trigger'), of_type(live, 'capture')
    assert fired and made, live.said()
    on_disk = sorted(os.path.join(into, name) for name in os.listdir(into) if os.path.isdir(os.path.join(into, name)))
    assert sorted(line['path'] for line in made) == on_disk, (made, on_disk)
    if path:
        assert [row[0] for row in rows(path, 'SELECT path FROM captures ORDER BY 1')] == on_disk, rows(path, 'SELECT * FROM captures')
        found = rows(path, 'SELECT name, begin, "end" FROM triggers ORDER BY begin')
        assert found == sorted(((line['name'], line['begin'], line['end']) for line in fired), key=lambda one: one[1]), (found, fired)


def test_captures(t):
    relay, path = t.relay(), os.path.join(t.scratch, 'captures.db')
    into, options = captures(t)
    live = t.live('-v', *LISTS, '--from', 'beginning', '--store', path, *options, relay.live)
    t.play(live, relay, TRACE, '--session', 'own', '--hostname', 'here', '--speed', '0')
    live.wait_for(lambda one: of_type(one, 'detach') and of_type(one, 'capture'))
    live.finish(signal.SIGTERM)
    check_captures(live, path, into)


def test_full_disk(t):
    if not HAS_MOUNTS:
        raise peer.Skip('no tmpfs can be mounted here')
    relay, place = t.relay(), os.path.join(t.scratch, 'disk')
    os.mkdir(place)
    subprocess.run(['mount', '-t', 'tmpfs', '-o', 'size=2m', 'tmpfs', place], check=True)
    t.cleanups.append(lambda: subprocess.run(['umount', '-l', place], check=True))
    path, ballast = os.path.join(place, 'full.db'), os.path.join(place, 'ballast')
    into, options = captures(t)
    live = t.live('-v', *LISTS, '--from', 'beginning', '--store', path, *options, relay.live)
    live.wait_for(lambda one: os.path.exists(path) and rows(path, "SELECT count(*) FROM sqlite_master WHERE name = 'gaps'") == [(1,)])
    with open(ballast, 'wb', buffering=0) as file, contextlib.suppress(OSError):
        while True:
            file.write(bytes(4096))
    for number, session in enumerate(('one', 'two'), 1):
        t.play(live, relay, TRACE, '--session', session, '--hostname', 'here', '--speed', '0')
        live.wait_for(lambda one, number=number: len(of_type(one, 'detach')) >= number)
        if number == 1:
            live.wait_said('are lost until it can be written again')
            live.wait_for(lambda one: of_type(one, 'capture'))  # while the disk is full
            os.unlink(ballast)
    lines = live.finish(signal.SIGTERM, 1)
    closed, stored, spooled, lost = server.account(live.said())
    assert closed == sum(line['type'] == 'window' for line in lines) and stored > 0 and lost > 0 and spooled == 0, live.said()
    assert 'can be written again' in live.said(), live.said()
    assert rows(path, 'SELECT count(*) FROM windows') == [(stored,)] and rows(path, 'SELECT sum(windows) FROM gaps') == [(lost,)], live.said()
    expected = t.analyze(TRACE, *LISTS)
    assert [line['count'] for line in lines if line['type'] == 'total'] == [expected['count']] * 2
    check_captures(live, None, into)


def test_two_viewers(t):
    """A relay lets one viewer follow a session; here two relays have it, as where hosts send to both."""
    path, other = os.path.join(t.scratch, 'two.db'), os.path.join(t.scratch, 'other')
    os.mkdir(other)
    relays = [t.relay(), peer.Relay(other, '127.0.0.1')]
    t.relays.append(relays[1])
    viewers = [t.live('-v', *LISTS, '--from', 'beginning', '--store', path, relay.live) for relay in relays]
    replays = [t.replay(relay, TRACE, '--wait-viewer', '--linger', peer.LONG, '--session', 'own', '--hostname', 'here', '--speed', '0')
               for relay in relays]
    for one in viewers:
        one.wait_said('attached')
    for replay, relay in zip(replays, relays):
        t.stop_replay(replay, relay, TRACE, 'own')
    found = []
    for one in viewers:
        one.wait_for(lambda one: of_type(one, 'detach'))
        found.append(one.finish(signal.SIGTERM))
        closed, stored, spooled, lost = server.account(one.said())
        assert closed == stored > 0 and spooled == lost == 0, one.said()
    expected = shown(found[0])
    assert expected == shown(found[1]), 'the viewers saw different windows'
    assert history(t, path, '-i', '100ms', *LISTS[:2]) == expected
    twice = rows(path, 'SELECT begin, level, trace, count(*) FROM windows GROUP BY 1, 2, 3 HAVING count(*) > 1')
    assert not twice and rows(path, 'SELECT count(*) FROM traces') == [(1,)], twice


if __name__ == '__main__':
    HAS_MOUNTS = disk.may_mount()
    sys.exit(peer.main(globals()))
