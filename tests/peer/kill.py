#!/usr/bin/env python3
"""kill: what a killed `sillage live --state`, or a killed relay, costs: nothing, or it is reported.

The relay is a real lttng-relayd.  Viewers and relays are killed by SIGKILL at random times.  At the
end the total must be that of `sillage analyze`.  A run that continues fetches only what it lacks.

usage: kill.py SILLAGE APP DATA [--only NAME] [--count N] [--seed S] [--every MS]
    N       kills of each test (few: 6)
    MS      between two saves of the state (100); a run lives up to a second longer
"""
import contextlib
import json
import os
import random
import re
import shutil
import signal
import sqlite3
import struct
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import peer  # noqa: E402
from peer import LONG, ended, plain, totals  # noqa: E402

COUNT = 6
SEED = random.randrange(1 << 32)
EVERY_MS = 100


def taken(name, default):
    """The value of an option of ours, which is taken off the command line."""
    if name not in sys.argv:
        return default
    at = sys.argv.index(name)
    value = int(sys.argv[at + 1])
    del sys.argv[at:at + 2]
    return value


def tiled(t, trace, times):
    """A trace that is @times as long, each copy 4.3 s after the one before."""
    tile = os.path.join(os.path.dirname(os.path.dirname(t.app)), 'bench', 'tile')
    out = os.path.join(t.scratch, 'tiled-%s-%d' % (trace, times))
    if os.path.isdir(out):
        return out
    subprocess.run([tile, os.path.join(t.data, trace, 'kernel'), out, str(times)], check=True, stdout=subprocess.DEVNULL)
    return out


def lines_of(text):
    return [json.loads(line) for line in text.decode().splitlines()]


def analyzed(t, trace, *args):
    """Windows by their begin, and the total."""
    out = subprocess.run([t.sillage, 'analyze', '-q', '-f', 'json', *args, trace], stdout=subprocess.PIPE, check=True)
    lines = lines_of(out.stdout)
    return {line['begin']: plain(line) for line in lines if line['type'] == 'window'}, plain(totals(lines)[0])


def differences(ours, theirs):
    return str([(key, ours.get(key), theirs.get(key)) for key in sorted({*ours, *theirs})
                if ours.get(key) != theirs.get(key)])[:400]


def comparable(one, other):
    """A trace that is idle for a second has its last window closed where that ends, else it ends with the trace: then
    what does not depend on its length is compared."""
    if one['end'] != other['end']:
        one, other = ({key: each[key] for key in ('begin', 'count', 'io')} for each in (one, other))
    return one, other


def check_total(lines, wanted):
    ours = [plain(line) for line in totals(lines)]
    assert len(ours) == 1, '%d totals' % len(ours)
    ours, wanted = comparable(ours[0], wanted) if ours[0]['end'] > wanted['end'] else (ours[0], wanted)
    assert ours == wanted, differences(ours, wanted)


def check_windows(t, lines, wanted):
    """Each window was printed, and one that was printed again was the same."""
    seen, last = {}, max(wanted)

    def check(window, other, what):
        window, other = comparable(window, other) if window['begin'] == last else (window, other)
        assert window == other, '%s: %s' % (what, differences(window, other))

    for line in lines:
        if line['type'] == 'window':
            window = plain(line)
            check(seen.setdefault(window['begin'], window), window, 'printed again, differently')
    assert not wanted.keys() - seen.keys(), '%d windows are missing' % len(wanted.keys() - seen.keys())
    for begin, window in wanted.items():
        check(seen[begin], window, 'window %d' % begin)


def test_kill_live(t):
    """Killed at random times, with a state that is saved often."""
    rng = random.Random(SEED)
    print('# kill_live: --seed %d' % SEED)
    relay = t.relay()
    trace = tiled(t, 'small-packets', 12)
    windows, total = analyzed(t, trace, '-a', 'all', '-i', '50ms')
    longest_s = 1.1 + EVERY_MS / 1000
    # As long as the kills take, about.
    replay = t.replay(relay, trace, '--session', 'k', '--hostname', 'h', '--speed', '%g' % (52 / (0.7 * longest_s * COUNT + 1)),
                      '--live-timer', '100ms', '--linger', LONG)
    lines, went_on = [], 0
    for kill in range(COUNT + 1):
        live = t.live('-a', 'all', '-i', '50ms', '--from', 'beginning', '--state', os.path.join(t.scratch, 'state'),
                      '--state-every', '%dms' % EVERY_MS, relay.live + '/host/h/k')
        if kill < COUNT:
            if kill % 3 == 1:  # not each run is killed before it has begun, however slow the machine
                live.wait_said('attached to')
            time.sleep(rng.uniform(0.02, longest_s))
            lines += live.finish(signal.SIGKILL, -signal.SIGKILL)
        else:
            live.wait_said('attached to')
            t.stop_replay(replay, relay, trace, 'k')
            lines += live.finish()
        went_on += 'goes on from' in live.said()
        assert 'is used' not in live.said() and 'cannot be saved' not in live.said(), live.said()
    print('# kill_live: %d of %d runs went on from a state' % (went_on, COUNT))
    assert went_on > 0, 'no run went on from another'
    check_total(lines, total)
    check_windows(t, lines, windows)


def test_stand_by(t):
    """A second run with the same state waits, and takes over from one that is killed."""
    relay = t.relay()
    trace = tiled(t, 'small-packets', 3)
    windows, total = analyzed(t, trace, '-a', 'all', '-i', '50ms')
    replay = t.replay(relay, trace, '--session', 's', '--hostname', 'h', '--speed', '3', '--live-timer', '100ms',
                      '--linger', LONG)
    lives = []
    for _ in range(3):
        lives.append(t.live('-a', 'all', '-i', '50ms', '--from', 'beginning', '--state', os.path.join(t.scratch, 'state'),
                            '--state-every', '%dms' % EVERY_MS, relay.live + '/host/h/s'))
        lives[-1].wait_said('waiting to take over' if len(lives) > 1 else 'attached to')
    lives[2].finish(signal.SIGTERM, -signal.SIGTERM)  # who waits has nothing to save
    lives[0].wait_for(lambda one: any(line['type'] == 'window' for line in one.lines()))
    time.sleep(0.5)
    assert 'taking over' not in lives[1].said()
    lines = lives[0].finish(signal.SIGKILL, -signal.SIGKILL)
    lives[1].wait_said('taking over')
    lives[1].wait_said('attached to')
    t.stop_replay(replay, relay, trace, 's')
    lines += lives[1].finish()
    assert 'goes on from' in lives[1].said()
    check_total(lines, total)
    check_windows(t, lines, windows)


def take_over(t, session, *words, times=3, speed='3', has_all=True):
    """Two runs without a state, of which the first is killed: the lines of each, and what `analyze` prints."""
    relay = t.relay()
    trace = tiled(t, 'small-packets', times)
    replay = t.replay(relay, trace, '--session', session, '--hostname', 'h', '--speed', speed, '--live-timer', '100ms',
                      '--linger', LONG)
    words += ('-a', 'all', '-i', '50ms', relay.live + '/host/h/' + session)
    first = t.live(*words)
    first.wait_said('attached to')
    second = t.live(*words)
    second.wait_said('another viewer has this session; waiting until it is free')
    first.wait_for(lambda one: any(line['type'] == 'window' for line in one.lines()))
    time.sleep(0.5)
    assert 'attached to' not in second.said()
    lines = first.finish(signal.SIGKILL, -signal.SIGKILL)
    second.wait_said('attached to')
    if has_all:
        t.stop_replay(replay, relay, trace, session)
    else:
        second.wait_for(lambda one: sum(line['type'] == 'window' for line in one.lines()) > 3)
        replay.terminate()
        assert ended(replay) == 0
    return lines, second.finish(), analyzed(t, trace, '-a', 'all', '-i', '50ms')


def test_stand_by_without_state(t):
    """The relay has a session for one viewer.  A second run without a state waits for that, begins where its --from
    says, and has windows of the same names: from the beginning they are those of the first and all others, and a
    store has each once; from now on they are others."""
    first, second, (windows, total) = take_over(t, 'b', '--from', 'beginning')
    check_total(second, total)
    check_windows(t, first + second, windows)
    assert any(line['type'] == 'window' for line in first)
    first, second, (windows, _) = take_over(t, 'n', times=12, speed='1', has_all=False)
    begins = [[line['begin'] for line in lines if line['type'] == 'window'] for lines in (first, second)]
    assert all(begins) and not set(begins[0]) & set(begins[1]), begins
    # Those of analyze, too, but for the ones in which a run begins or ends.
    for lines in first, second:
        printed = [line for line in lines if line['type'] == 'window'][1:-1]
        assert all(line['begin'] in windows or line['count']['events'] == 0 for line in printed), begins


def test_stand_by_stores_once(t):
    """What both runs store is there once."""
    path = os.path.join(t.scratch, 'store.db')
    if subprocess.run([t.sillage, 'analyze', '-q', '-i', '1s', '-o', os.devnull, '--store', os.path.join(t.scratch, 'try.db'),
                       os.path.join(t.data, 'burst')], stderr=subprocess.DEVNULL).returncode != 0:
        raise peer.Skip('this build has no store')
    first, _, (windows, _) = take_over(t, 'o', '--from', 'beginning', '--store', path)
    assert any(line['type'] == 'window' for line in first)
    with contextlib.closing(sqlite3.connect(path)) as db:
        rows = db.execute('SELECT begin, events FROM windows ORDER BY begin').fetchall()
    # While the replay lingers the relay says how late it is: there may be windows of silence behind the end.
    silent = [row for row in rows if row[0] > max(windows)]
    assert not any(events for _, events in silent), silent
    rows = rows[:len(rows) - len(silent)]
    assert rows == [(begin, windows[begin]['count']['events']) for begin in sorted(windows)], (len(rows), len(windows))


def test_kill_relay(t):
    """The relay is killed at random times; its producer begins again each time."""
    rng = random.Random(SEED)
    print('# kill_relay: --seed %d' % SEED)
    relay = t.relay()
    trace = tiled(t, 'small-packets', 4)
    _, total = analyzed(t, trace, '-a', 'all', '-i', '100ms')
    live = t.live('-a', 'all', '-i', '100ms', '--from', 'beginning', relay.live)
    for _ in range(COUNT):
        replay = t.replay(relay, trace, '--session', 'k', '--hostname', 'h', '--speed', '10', '--live-timer', '100ms',
                          '--linger', LONG)
        time.sleep(rng.uniform(0.3, 2))
        relay.stop(signal.SIGKILL)
        ended(replay)
        back = live.said().count('is back')
        relay.start()
        live.wait_for(lambda one, back=back: one.said().count('is back') > back or 'trying again' not in one.said())
    attached = live.said().count('attached')
    replay = t.replay(relay, trace, '--session', 'k', '--hostname', 'h', '--speed', '0', '--live-timer', '100ms',
                      '--linger', LONG)
    live.wait_for(lambda one: one.said().count('attached') > attached)
    t.stop_replay(replay, relay, trace, 'k')
    live.wait_for(lambda one: totals(one.lines()))
    check_total(live.finish(signal.SIGTERM), total)


class Watched:
    """A long session, all of it in the relay, and what a viewer needs of it."""

    def __init__(self, t):
        self.t, self.relay = t, t.relay()
        self.trace = tiled(t, 'io-mix', 60)
        self.size = sum(os.path.getsize(os.path.join(self.trace, name)) for name in os.listdir(self.trace)
                        if name not in ('metadata', 'index'))
        self.total = analyzed(t, self.trace, '-a', 'count,cpu,io', '-i', '100ms')[1]
        self.replay = t.replay(self.relay, self.trace, '--session', 'w', '--hostname', 'h', '--speed', '0', '--linger',
                               LONG)
        self.relay.wait_stored('w', self.trace)

    def live(self, port, *args):
        return self.t.live('-a', 'count,cpu,io', '-i', '100ms', '--from', 'beginning', *args, 'net://127.0.0.1:%d/host/h/w' % port)

    def end(self):
        self.t.stop_replay(self.replay, self.relay, self.trace, 'w')

    def check(self, live):
        """The total is right, and next to nothing was fetched that was not analysed."""
        lines = live.lines()
        check_total(lines, self.total)
        again = lines[-1]['fetched_bytes'] - lines[-1]['bytes']
        assert 0 < again <= self.size // 50, 'fetched %d of %d bytes again' % (again, self.size)
        assert lines[-1]['passed_packets'] > 0


def has_all(live, total):
    """Whether all windows of the trace but the last have come."""
    ends = [line['end'] for line in live.lines() if line['type'] == 'window']
    return bool(ends) and ends[-1] > total['end'] - 500_000_000


def test_resume_state(t):
    """A run that continues another fetches only what it lacks: here, nothing but heads."""
    watched = Watched(t)
    state = os.path.join(t.scratch, 'state')
    live = watched.live(watched.relay.port + 2, '--state', state)
    live.wait_for(lambda one: has_all(one, watched.total))
    live.finish(signal.SIGTERM)
    live = watched.live(watched.relay.port + 2, '--state', state)
    live.wait_said('goes on from')
    watched.end()
    live.finish()
    watched.check(live)


def test_resume_connection(t):
    """After a lost connection, too."""
    watched = Watched(t)
    proxy = peer.Proxy(watched.relay.port + 2, 0, 0)
    live = watched.live(int(proxy.url.rpartition(':')[2]))
    live.wait_for(lambda one: has_all(one, watched.total))
    proxy.cut_all()
    live.wait_said('trying again')
    proxy.is_down = False
    live.wait_said('attached again')
    watched.end()
    live.finish()
    watched.check(live)


def packets(trace, name):
    """Offset, size and end in cycles of each packet of a stream, from its index."""
    with open(os.path.join(trace, 'index', name + '.idx'), 'rb') as file:
        magic, major, _, size = struct.unpack('>IIII', file.read(16))
        assert (magic, major) == (0xC1F1DCC1, 1)
        for entry in struct.iter_unpack('>%dQ' % (size // 8), file.read()):
            yield entry[0], entry[1] // 8, entry[4]


def cut(t, trace, from_ns):
    """A copy of @trace without the packets that end before that time; the bytes of all that are left."""
    out, left = os.path.join(t.scratch, 'cut-%d' % from_ns), 0
    os.mkdir(out)
    with open(os.path.join(trace, 'metadata'), 'rb') as file:
        metadata = file.read()
    shutil.copy(os.path.join(trace, 'metadata'), out)
    offset = int(re.search(rb'\boffset = (\d+);', metadata).group(1))
    for name in os.listdir(trace):
        if name in ('metadata', 'index'):
            continue
        with open(os.path.join(trace, name), 'rb') as source, open(os.path.join(out, name), 'wb') as sink:
            for at, size, end in packets(trace, name):
                if end + offset >= from_ns:
                    source.seek(at)
                    left += sink.write(source.read(size))
    return out, left


def part(t, trace, name, wanted):
    """A copy of @trace that has only those packets of each stream for whose number @wanted is true."""
    out = os.path.join(t.scratch, name)
    os.mkdir(out)
    shutil.copy(os.path.join(trace, 'metadata'), out)
    for stream in os.listdir(trace):
        if stream not in ('metadata', 'index'):
            with open(os.path.join(trace, stream), 'rb') as source, open(os.path.join(out, stream), 'wb') as sink:
                for number, (at, size, _) in enumerate(packets(trace, stream)):
                    if wanted(number):
                        source.seek(at)
                        sink.write(source.read(size))
    return out


def go_on(t, first, second, wanted):
    """Runs for @first, then one that goes on with @second in a session of the same name; @wanted: the total of both."""
    relay = t.relay()
    left = analyzed(t, first, '-a', 'count')[1]['count']['events']

    def start():
        return t.live('-a', 'all', '-i', '10ms', '--from', 'beginning', '--state', os.path.join(t.scratch, 'state'),
                      relay.live + '/host/h/g')

    replay = t.replay(relay, first, '--session', 'g', '--hostname', 'h', '--speed', '0', '--linger', LONG)
    relay.wait_stored('g', first)
    while left > 0:  # no figure shows when a run has all of what goes on
        live = start()
        live.wait_said('attached to')
        time.sleep(0.5)
        left -= live.finish(signal.SIGTERM)[-1]['events']
    assert left == 0, 'more events than there are'
    replay.terminate()
    assert ended(replay) == 0
    relay.restart_empty()
    live = start()
    replay = t.replay(relay, second, '--session', 'g', '--hostname', 'h', '--speed', '0', '--wait-viewer',
                      '--linger', LONG)
    live.wait_said('attached to')
    assert 'goes on from' in live.said(), live.said()
    t.stop_replay(replay, relay, second, 'g')
    check_total(live.finish(), wanted)
    return live


def test_cleared(t):
    """The relay no longer has some packets when a run goes on: they are reported as lost."""
    trace = os.path.join(t.data, 'small-packets', 'kernel')
    both = part(t, trace, 'both', lambda number: not 5 <= number < 9)
    _, wanted = analyzed(t, both, '-a', 'all', '-i', '10ms')
    assert wanted['count']['lost_packets'] > 0
    live = go_on(t, part(t, trace, 'first', lambda number: number < 5), part(t, trace, 'second', lambda number: number >= 9),
                 wanted)
    assert 'packets are missing before packet' in live.said()


def test_without_numbers(t):
    """An old tracer gives no sequence numbers: times show where a run goes on."""
    trace = os.path.join(t.data, '..', '..', '..', 'shared', 'traces', 'public', 'bug446190')
    if not os.path.isdir(trace):
        raise peer.Skip('the shared traces are not here')
    _, wanted = analyzed(t, trace, '-a', 'all', '-i', '10ms')
    first = part(t, trace, 'first', lambda number: number < 1)
    go_on(t, first, trace, wanted)


def test_from(t):
    """From a time in the past: as of a trace without the packets that end before it, and no more is fetched."""
    relay = t.relay()
    trace = os.path.join(t.data, 'small-packets', 'kernel')
    _, total = analyzed(t, trace, '-a', 'all', '-i', '10ms')
    replay = t.replay(relay, trace, '--session', 'f', '--hostname', 'h', '--speed', '0', '--linger', LONG)
    relay.wait_stored('f', trace)
    for share in (0.3, 0.7):
        begin = total['begin'] + int((total['end'] - total['begin']) * share)
        shorter, left = cut(t, trace, begin)
        assert 0 < left < sum(os.path.getsize(os.path.join(trace, name)) for name in os.listdir(trace)
                              if name not in ('index', 'metadata')), 'nothing was cut'
        windows, wanted = analyzed(t, shorter, '-a', 'all', '-i', '10ms', '--begin', str(begin))
        live = t.live('-a', 'all', '-i', '10ms', '--from', str(begin), relay.live + '/host/h/f')
        live.wait_for(lambda one, last=max(windows): any(line.get('begin', 0) >= last - 20_000_000 for line in one.lines()
                                                         if line['type'] == 'window'))
        if share > 0.5:
            t.stop_replay(replay, relay, trace, 'f')
            lines = live.finish()
            check_total(lines, wanted)
        else:
            lines = live.finish(signal.SIGTERM)
            windows = {key: value for key, value in windows.items() if key < max(windows) - 30_000_000}
        check_windows(t, [line for line in lines if line['type'] != 'window' or line['begin'] in windows], windows)
        assert lines[-1]['fetched_bytes'] <= left and lines[-1]['passed_packets'] > 0, (lines[-1], left)


def test_from_ago(t):
    """From a duration before now, by the clock of this host."""
    relay = t.relay()
    trace = os.path.join(t.data, 'idle-gaps', 'kernel')
    _, total = analyzed(t, trace, '-a', 'count')
    length = total['end'] - total['begin']
    replay = t.replay(relay, trace, '--session', 'a', '--hostname', 'h', '--speed', '0', '--as-now', '--linger', LONG)
    relay.wait_stored('a', trace)
    url = relay.live + '/host/h/a'
    out = subprocess.run([t.sillage, 'analyze', '-q', '-f', 'json', '-a', 'count', url], stdout=subprocess.PIPE, check=True)
    moved = totals(lines_of(out.stdout))[0]['begin'] - total['begin']
    time.sleep(max(0, (total['begin'] + moved + length // 2) / 1e9 - time.time()))
    while True:
        earliest = time.time_ns()
        ago = earliest - (total['begin'] + moved + length // 4)
        live = t.live('-a', 'count', '--from', '-%dus' % (ago // 1000), url)
        live.wait_said('attached to')
        latest = time.time_ns()
        if latest - earliest < length // 4:  # it began in the second quarter
            break
        live.finish(signal.SIGKILL, -signal.SIGKILL)
    t.stop_replay(replay, relay, trace, 'a')
    lines = live.finish()
    ours = totals(lines)
    assert len(ours) == 1, ours
    begin = ours[0]['begin']
    assert earliest - ago <= begin <= latest - ago + 1000, (begin - moved - total['begin'], length, latest - earliest)
    shorter, left = cut(t, trace, begin - moved)
    _, wanted = analyzed(t, shorter, '-a', 'count', '--begin', str(begin - moved))
    assert ours[0]['count'] == wanted['count'], (ours[0], wanted)
    assert 0 < wanted['count']['events'] < total['count']['events']
    assert lines[-1]['fetched_bytes'] <= left and lines[-1]['passed_packets'] > 0, (lines[-1], left)


if __name__ == '__main__':
    COUNT = taken('--count', COUNT)
    SEED = taken('--seed', SEED)
    EVERY_MS = taken('--every', EVERY_MS)
    sys.exit(peer.main(globals()))
