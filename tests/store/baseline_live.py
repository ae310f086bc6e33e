#!/usr/bin/env python3
"""baseline_live: limits from other days, while a real lttng-relayd serves the session.

Goal    `live --baseline STORE`: triggers get the hour of their windows, also where --store writes to the
        same file; at the border of an hour they get the next one.  A server that is away is said once,
        and holds nobody; when it comes back, triggers have their limits.
Method  Stores are filled by `analyze`, as in baseline.py; a trace is replayed.

usage: baseline_live.py SILLAGE APP DATA
"""
import os
import shutil
import signal
import statistics
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'peer'))
import baseline  # noqa: E402
import peer  # noqa: E402
import server  # noqa: E402

LISTS = ('-a', 'cpu,io,sched')
EACH_WINDOW = 'cpu.busy > baseline x0.0001 until cpu.idle > 0%'
DAYS = (1, 2, 3)


def fill(t, url, begins, load):
    """Stores five seconds from each of @begins; returns the busy shares."""
    days, shares = baseline.Test(t.sillage, t.data, t.scratch, None), []
    for number, begin in enumerate(begins):
        path = days.trace(begin, 5, [(baseline.DB, load(number), 20, 10)])
        days.store(url, path)
        shares.append(baseline.FIGURES['cpu.busy'](days.total(path)))
    return shares


def fill_now(t, url):
    """This hour, and the next one, of the days before."""
    hours = []
    for ahead in (0, 1):
        now = time.localtime(time.time() + 3600 * ahead)
        hours += [int(time.mktime((now.tm_year, now.tm_mon, now.tm_mday - day, now.tm_hour, 10, 0, 0, 0, -1))) * baseline.S
                  for day in DAYS]
    return statistics.median(fill(t, url, hours, lambda number: 100 + 50 * (number % 3)))


def triggers(live):
    return [line for line in live.lines() if line['type'] == 'trigger']


def follow(t, relay, *options):
    live = t.live('-v', *LISTS, '-i', '100ms', '--trigger', EACH_WINDOW, *options, relay.live)
    t.replay(relay, 'burst', '--wait-viewer', '--as-now', '--loop', '1000', '--session', 'own', '--hostname', 'made')
    return live


def check_all(live, share):
    values = [line['values'][0] for line in triggers(live)]
    for value in values:
        assert value['days'] == 3 and baseline.near(value['baseline'], share), (value, share)
    assert values


def test_file(t):
    """A file that --store writes to meanwhile: limits are those of the days before."""
    path = os.path.join(t.scratch, 'one.db')
    share = fill_now(t, path)
    live = follow(t, t.relay(), '--store', path, '--baseline', path, '--trigger', 'cpu.busy > baseline x100000')
    live.wait_for(lambda one: len(triggers(one)) >= 3)
    live.finish(signal.SIGTERM)
    check_all(live, share)
    assert 'no limit' not in live.said() and 'lost' in live.said(), live.said()


def test_border(t):
    """The next hour is read ahead: limits change at its begin."""
    border, path = baseline.moment('2026-06-05 10:00:00'), os.path.join(t.scratch, 'border.db')
    shares = [statistics.median(fill(t, path, [baseline.moment('2026-06-0%d %s' % (day, at)) for day in DAYS], load))
              for at, load in (('09:30:00', lambda number: 100), ('10:30:00', lambda number: 300 + number))]
    now = baseline.trace(t.scratch, border - 5 * baseline.S, 10, [(baseline.DB, 500, 20, 10)])
    relay = t.relay()
    live = t.live('-v', *LISTS, '-i', '1s', '--trigger', EACH_WINDOW, '--baseline', path, relay.live)
    t.play(live, relay, now, '--session', 'own', '--hostname', 'made')
    live.wait_for(lambda one: any(line['type'] == 'detach' for line in one.lines()))
    live.finish(signal.SIGTERM)
    for line in triggers(live):
        value = line['values'][0]
        assert value['days'] == 3 and baseline.near(value['baseline'], shares[line['end'] > border]), (line, shares)
    ends = [line['end'] for line in triggers(live)]
    assert {end > border for end in ends} == {False, True}, live.said()
    # A hurried machine may read the first hour late; the next one comes right behind it.
    assert ends[0] > border - 2 * baseline.S or border + baseline.S in ends, ends


def test_away(t):
    """A server that is away: said once, windows go on; when it is back, so are limits."""
    if not shutil.which('clickhouse-server'):
        raise peer.Skip('clickhouse-server is not installed')
    machine = server.Server(tempfile.mkdtemp(prefix='server', dir=t.scratch))
    t.cleanups.append(machine.kill)
    share = fill_now(t, machine.url('days'))
    machine.kill()
    live = follow(t, t.relay(), '--baseline', machine.url('days'))
    live.wait_said('triggers have no baseline, it is tried again')
    live.wait_for(lambda one: sum(line['type'] == 'window' for line in one.lines()) >= 3)
    assert not triggers(live)
    machine.start()
    live.wait_for(lambda one: len(triggers(one)) >= 3)
    live.finish(signal.SIGTERM)
    check_all(live, share)
    said = live.said()
    assert said.count('it is tried again') == 1 and said.count('the store can be read again') == 1, said


def test_refused(t):
    """What is no store, or not there: live does not begin."""
    relay = t.relay()
    for status, url, text in ((1, os.path.join(t.scratch, 'none.db'), 'none.db'), (2, 'something', 'is no store'),
                              (2, 'clickhouse://127.0.0.1:1/days?nothing', 'nothing')):
        code, _, said = server.run(t.sillage, 'live', '--trigger', EACH_WINDOW, '--baseline', url, relay.live)
        assert code == status and text in said and said.count('\n') == 1, (code, said)


if __name__ == '__main__':
    os.environ['TZ'] = 'Asia/Kolkata'  # half an hour off, and no summer time
    time.tzset()
    sys.exit(peer.main(globals()))
