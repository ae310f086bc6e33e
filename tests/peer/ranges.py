#!/usr/bin/env python3
"""ranges: what a relay still has of a session, by analyze, report and overview of its URL.

Goal    What is printed of a URL is what is printed of the directory that was played into the relay,
        for any range; losses are reported; nothing stays in the temporary folder.
Method  A real lttng-relayd that has a finished or a growing session, and a scripted relay that
        refuses packets and loses connections.

usage: ranges.py SILLAGE APP DATA [x NAME]
"""
import contextlib
import json
import os
import re
import resource
import signal
import sqlite3
import struct
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'property'))
import peer  # noqa: E402
import guard  # noqa: E402
import scripted_relay as relays  # noqa: E402
from kill import tiled  # noqa: E402
from peer import LONG, Ust, ctf2_of, ended, totals, wait_until  # noqa: E402
from scripted_relay import ATTACH, INDEX, PACKET, Rule, patch  # noqa: E402
from synthetic import Made, packet, switch  # noqa: E402

COMMANDS = (['analyze', '-f', 'json', '-a', 'all'], ['analyze', '-i', '50ms'], ['report', '-f', 'json'],
            ['overview', '-f', 'json'])


class Runs:
    """Commands whose temporary folder is looked at."""

    def __init__(self, t):
        self.t, self.folder = t, os.path.join(t.scratch, 'tmp')
        os.mkdir(self.folder)
        self.env = dict(os.environ, TMPDIR=self.folder)

    def start(self, *words):
        process = subprocess.Popen([self.t.sillage, *words], env=self.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.t.processes.append(process)
        return process

    def go(self, *words, status=0):
        """Its output without what differs between any two runs, and what it said."""
        process = self.start(*words)
        out, said = peer.output(process)
        assert process.returncode == status, (words, process.returncode, said)
        self.is_empty()
        return out.decode(), said.decode()

    def copies(self):
        """Not what a sanitizer has there while it starts."""
        return [os.path.join(self.folder, name) for name in os.listdir(self.folder) if name.startswith('sillage-')]

    def is_empty(self):
        assert not self.copies(), self.copies()


def plain(text, name):
    text = re.sub(r'"wall_ns":\d+,', '', text)
    # A relay may have other names of host and session than the metadata: test_named looks at those.
    text = re.sub(r'("trace":\{)(?:"host":"[^"]*",)?(?:"session":"[^"]*",)?', r'\1', text)
    text = re.sub(r'^(?:\w+/){1,2}(kernel|ust)(?=  )', r'\1', text, flags=re.M)
    for path in (name + '/kernel', name + '/ust', name):
        text = text.replace(path, 'TRACE')
    # Bytes and packets of the run: a directory may be read further behind a range.
    return [line for line in text.splitlines() if '"type":"end"' not in line]


def served(t, trace, session, *args):
    """A session that has all of @trace, and the URL of it."""
    relay = t.relay()
    path = os.path.join(t.data, trace)
    process = t.replay(relay, path, '--session', session, '--hostname', 'h', '--linger', LONG, '--speed', '0', *args)
    kernel = os.path.join(path, 'kernel')
    wait_until(lambda: os.path.isdir(os.path.join(t.scratch, 'relay')) and process.poll() is None)
    relay.wait_stored(session, kernel if os.path.isdir(kernel) else path)
    return relay.live + '/host/h/' + session, path


def test_named(t):
    """Host and session are what the relay calls them, as in a live run, so that a store has one trace of both."""
    url, _ = served(t, 'burst', 'mine')
    store = os.path.join(t.scratch, 'named.db')
    out, _ = Runs(t).go('analyze', '-q', '-f', 'json', '-a', 'count', '-i', '1s', '--store', store, url)
    traces = [line['trace'] for line in map(json.loads, out.splitlines()) if 'trace' in line]
    assert traces and all((one['host'], one['session'], one['domain']) == ('h', 'mine', 'kernel') for one in traces), traces
    live = t.live('-a', 'count', '-i', '1s', '--from', 'beginning', '--store', store, '--windows', '1', url)
    live.finish()
    with contextlib.closing(sqlite3.connect(store)) as db:
        assert db.execute('SELECT host, session, domain FROM traces').fetchall() == [('h', 'mine', 'kernel')]


def span_of(t, path):
    total = t.analyze(path, '-a', 'count')
    return total['begin'], total['end']


def same(runs, url, path, words, commands=COMMANDS):
    for command in commands:
        theirs = subprocess.run([runs.t.sillage, *command, *words, path], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        ours, said = runs.go(*command, *words, url, status=theirs.returncode)
        assert plain(ours, url) == plain(theirs.stdout.decode(), path), (command, words, said)


def check_law(t, trace, commands=COMMANDS[:1], few=True):
    url, path = served(t, trace, 'law')
    begin, end = span_of(t, path)
    runs = Runs(t)

    def at(part):
        return '%dns' % (begin + int((end - begin) * part))

    def ago(part):
        return '-%dus' % ((end - begin) * part / 1000)

    ranges = [[], ['--begin', at(.2), '--end', at(.6)], ['--begin', ago(.4)]]
    if not few:
        ranges += [['--begin', at(.3)], ['--end', at(.5)], ['--begin', at(.45), '--end', at(.46)],
                   ['--begin', ago(.5), '--end', ago(.2)]]
    for words in ranges:
        same(runs, url, path, words, commands)


def test_law_bursts(t):
    check_law(t, 'burst', COMMANDS, few=False)


def test_law_io(t):
    check_law(t, 'io-mix')


def test_law_ctf2(t):
    """The metadata of CTF 2, as relays of 2.13 and of 2.15 hand it out."""
    check_law(t, ctf2_of(t, os.path.join(t.data, 'burst', 'kernel')))


def test_law_ust(t):
    check_law(t, 'ust')


def test_law_empty_packets(t):
    """Behind the range lie packets without events for longer than others are looked for."""
    S = 10**9
    packets = [packet(0, 0, S, 2 * S, [switch(S + i * S // 10, 1 + i % 2, 2 - i % 2) for i in range(9)])]
    packets += [packet(0, i, i * S + 1, (i + 1) * S, []) for i in range(2, 20)]
    packets.append(packet(0, 20, 20 * S + 1, 21 * S, [switch(20 * S + 5, 1, 2)]))
    url, path = served(t, Made(t.scratch, 'empty', [b''.join(packets)]).path, 'e')
    runs = Runs(t)
    for end in (S + S // 2, 3 * S, 12 * S):
        same(runs, url, path, ['--end', '%dns' % end], COMMANDS[:2])
        total = totals(map(json.loads, runs.go('analyze', '-f', 'json', '--end', '%dns' % end, url)[0].splitlines()))[0]
        assert total['end'] == end, (total['end'], end)


def test_time_of_day(t):
    """A time without a date is looked for in what the relay has, not in the part that is fetched."""
    url, path = served(t, 'burst', 'day')
    begin, end = span_of(t, path)
    words = []
    for option, part in (('--begin', .25), ('--end', .75)):
        seconds, rest = divmod(begin + int((end - begin) * part), 10**9)
        words += [option, time.strftime('%H:%M:%S', time.localtime(seconds)) + '.%09d' % rest]
    same(Runs(t), url, path, words)


def test_growing(t):
    """A session that is still written: without --end what there is, with a later --end up to that."""
    relay = t.relay()
    path = os.path.join(t.data, 'idle-gaps')
    begin, end = span_of(t, path)
    process = t.replay(relay, path, '--session', 'g', '--hostname', 'h', '--linger', LONG, '--speed', '2')
    url, runs = relay.live + '/host/h/g', Runs(t)
    relay.wait_stored('g', os.path.join(path, 'kernel'), most=1)
    middle = '%dns' % (begin + (end - begin) // 2)
    same(runs, url, path, ['--end', middle], COMMANDS[:1])
    assert process.poll() is None
    out, _ = runs.go('analyze', '-f', 'json', '-a', 'count', url)
    events = totals(map(json.loads, out.splitlines()))[0]['count']['events']
    assert events > 0
    later = '%dns' % (end + 10**12)
    reader = runs.start('analyze', '-f', 'json', '-a', 'count', '--end', later, url)
    relay.wait_stored('g', os.path.join(path, 'kernel'))
    guard.wait_asleep(reader, 3)  # it says after a second that it waits
    assert reader.poll() is None, 'it does not wait for the end of the range'
    process.terminate()
    ended(process)
    out, said = peer.output(reader)
    assert reader.returncode == 0 and b'waiting for its data' in said, (reader.returncode, said)
    total = totals(map(json.loads, out.decode().splitlines()))[0]
    assert total['count']['events'] == t.analyze('idle-gaps')['count']['events'] >= events
    runs.is_empty()


def test_ust_running(t):
    """A session of the tracer itself, read while it runs, again and again, and in its last seconds."""
    relay, runs = t.relay(), Runs(t)
    ust = Ust(t, relay)
    ust.start('r')

    def events(*words):
        process = runs.start('analyze', '-q', '-f', 'json', '-a', 'count', *words, relay.live)
        out, _ = peer.output(process)
        return sum(one['count']['events'] for one in totals(map(json.loads, out.decode().splitlines())))

    for times in (1, 2):
        ust.run(50)
        wait_until(lambda times=times: events() == 150 * times)
    assert events('--begin', '-1h') == events('--from', '-1h') == 300
    ust.lttng('stop', 'r')
    assert events() == 300
    ust.lttng('destroy', 'r')
    runs.is_empty()


def fetched(said):
    return int(re.search(r'fetched (\d+) packets', said).group(1))


def test_from(t):
    """--from leaves out the packets before: the same events, from fewer of them."""
    url, path = served(t, 'small-packets', 'f')
    begin, end = span_of(t, path)
    runs, asked = Runs(t), ['-f', 'json', '-a', 'count']
    middle = '%dns' % ((begin + end) // 2)
    whole, said = runs.go('analyze', *asked, url)
    part, said_part = runs.go('analyze', *asked, '--from', middle, url)
    assert fetched(said_part) < 0.7 * fetched(said), (said, said_part)
    wanted = t.analyze(path, '-a', 'count', '--begin', middle)
    found = totals(map(json.loads, part.splitlines()))[0]
    assert found['count'] == wanted['count'] and found['end'] == wanted['end'], (found, wanted)
    ago = '-%dus' % ((end - begin) // 2000)
    both, _ = runs.go('analyze', *asked, '--from', ago, '--begin', middle, url)
    assert totals(map(json.loads, both.splitlines()))[0]['count'] == wanted['count']
    for words, why in ((['--from', 'now'], 'begin now'), (['--from', '-1s', '--end', '-2s'], 'not before --end')):
        assert why in runs.go('analyze', *words, url, status=1)[1]
    assert 'needs a URL' in runs.go('analyze', '--from', '-1s', path, status=1)[1]


def test_refused(t):
    """What cannot be read is said, and ends the command with 1."""
    url, path = served(t, 'burst', 'r')
    begin, end = span_of(t, path)
    runs, relay = Runs(t), url[:url.index('/host')]
    for command in ('analyze', 'report', 'overview'):
        for words, why in (
                ([relay + '/host/h/none'], 'no such session'), ([relay + '/host/x*/none'], 'no session of this name'),
                (['net://127.0.0.1:1/host/h/s'], 'refused'), (['net://127.0.0.1:x/'], 'is not net://'),
                (['--end', '%dns' % (begin - 10**9), url], 'nothing of it is in this range; the relay has what was traced from'),
                (['--begin', '%dns' % (end + 10**9), url], 'nothing of it is in this range'),
                (['--begin', '-1s', '--end', '-2s', url], 'not before')):
            out, said = runs.go(command, *words, status=1)
            assert why in said, (command, words, said)
    assert '--state' in runs.go('analyze', '--state', os.path.join(t.scratch, 's'), url, status=1)[1]
    watcher = t.live('--from', 'beginning', url)
    watcher.wait_said('attached to')
    assert 'another viewer' in runs.go('analyze', url, status=1)[1]
    watcher.finish(signal.SIGINT)
    assert runs.go('analyze', url)[0]


def test_interrupted(t):
    """However it ends, its copy is removed."""
    url, path = served(t, 'burst', 'i')
    begin, end = span_of(t, path)
    runs = Runs(t)
    for command in ('analyze', 'report', 'overview'):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
            process = runs.start(command, '--end', '%dns' % (end + 10**12), url)
            wait_until(lambda: any(files for copy in runs.copies() for _, _, files in os.walk(copy)))
            process.send_signal(number)
            out, said = peer.output(process)
            assert not out and process.returncode != 0, (command, number, process.returncode, said)
            if command == 'analyze' and number != signal.SIGKILL:
                assert process.returncode == 128 + number and b'interrupted' in said, (process.returncode, said)
            wait_until(lambda: not runs.copies(), 'its copy stays')


def scripted(t, rules=(), path=None, **options):
    trace = relays.Trace(path or os.path.join(t.data, 'small-packets', 'kernel'))
    session = relays.Session('s', [trace], **options)
    session.is_over = False
    relay = relays.Relay([session], rules)
    t.cleanups.append(relay.close)
    return relay, session


def test_scripted_refused(t):
    """Packets that are announced and refused are lost, once each: between others, at the end, all of a stream."""
    path = os.path.join(t.data, 'small-packets')
    trace = relays.Trace(os.path.join(path, 'kernel'))
    events = {stream.name: len(stream.packets) for stream in trace.streams}
    name, count = max(events.items(), key=lambda one: one[1])
    runs = Runs(t)

    def refuse(step):
        step.reply.values.update(status=3, length=0)
        step.reply.tail = b''

    for nth, lost in ((2, 1), (3, 4), (count, 1), (count - 2, 3), (1, count)):
        relay, _ = scripted(t, [Rule(PACKET, refuse, nth=nth, count=lost, stream=name)])
        out, said = runs.go('analyze', '-f', 'json', '-a', 'count', relay.url('s'))
        total = totals(map(json.loads, out.splitlines()))[0]
        assert total['count']['lost_packets'] == lost, (nth, lost, total['count'])
        assert '%d packets that the relay announced could not be fetched' % lost in said, said
        relay.close()


def test_scripted_lost(t):
    """A connection that is lost midway: all is fetched again, a few times."""
    runs = Runs(t)
    path = os.path.join(t.data, 'small-packets')
    asked = ['analyze', '-f', 'json', '-a', 'count']
    wanted = t.analyze(path, '-a', 'count')['count']
    for command in (INDEX, PACKET):
        relay, _ = scripted(t, [Rule(command, relays.close_before, nth=9)])
        out, said = runs.go(*asked, relay.url('s'))
        assert totals(map(json.loads, out.splitlines()))[0]['count'] == wanted, said
        assert 'connection lost' in said, said
        relay, _ = scripted(t, [Rule(command, relays.close_before, nth=0)])
        out, said = runs.go(*asked, relay.url('s'), status=1)
        assert '"total"' not in out and said.count('trying again') == 2 and 'connection lost' in said, said
    relay, session = scripted(t, [Rule(PACKET, relays.end_session, nth=20)])
    out, said = runs.go(*asked, relay.url('s'), status=1)
    assert '"total"' not in out and 'sillage' in said, (out, said)


def in_range(trace, first, end):
    """Keys of the packets of @trace that a range needs, by their indexes: those that end at @first or later.  Behind
    the range 5 s of each stream, and one more that is found to be behind them."""
    offset = int(re.search(rb'\boffset = (\d+);', trace.metadata).group(1))
    keys = set()
    for stream in trace.streams:
        for packet in stream.packets:
            if packet.end + offset >= first:
                keys.add(packet.key)
            if packet.begin + offset >= end + 5 * 10**9:
                break
    return keys


def test_scripted_fetched(t):
    """Which packets are fetched for a range, by the relay's account: those of the range, and before it those that
    states depend on, unless --from leaves them out."""
    runs, path = Runs(t), tiled(t, 'small-packets', 6)
    trace = relays.Trace(path)
    begin, end = span_of(t, path)
    everything = in_range(trace, 0, 2 * end)
    assert len(everything) == len(trace.packets())

    def at(part):
        return begin + int((end - begin) * part)

    def fetches(command, words, wanted):
        relay, _ = scripted(t, path=path)
        _, said = runs.go(command, *words, relay.url('s'))
        relay.close()  # a packet is noted after it was sent: perhaps after the program has ended
        got = {key[1:] for key in relay.delivered}
        assert got == wanted, (command, words, len(got), len(wanted), sorted(got ^ wanted)[:5])
        assert fetched(said) == len(got), said
        # Packets that are passed over cost their index: none is asked for.
        asked = sum(entry[2] == PACKET for entry in relay.log)
        assert asked == len(got), (command, words, asked, len(got))
        return len(got)

    for command in ('analyze', 'report', 'overview'):
        assert fetches(command, [], everything) == len(everything)
        few = fetches(command, ['--from', '%dns' % at(.3), '--end', '%dns' % at(.5)], in_range(trace, at(.3), at(.5)))
        assert few < 0.6 * len(everything), (few, len(everything))
        few = fetches(command, ['--begin', '%dns' % at(.3), '--end', '%dns' % at(.5)], in_range(trace, 0, at(.5)))
        assert few < 0.8 * len(everything), (few, len(everything))
    few = fetches('analyze', ['--from', '-5s'], in_range(trace, end - 5 * 10**9, 2 * end))
    assert few < 0.4 * len(everything), (few, len(everything))
    fetches('analyze', ['--from', '%dns' % at(.6), '--begin', '%dns' % at(.7)], in_range(trace, at(.6), 2 * end))


def test_scripted_odd(t):
    """A session that is not live, has no data, ends meanwhile, or is watched at first."""
    runs = Runs(t)
    relay, _ = scripted(t, timer_us=0)
    assert 'not a live session' in runs.go('analyze', relay.url('s'), status=1)[1]
    relay, session = scripted(t)
    session.hidden = {stream.name for stream in session.traces[0].streams}
    said = runs.go('analyze', relay.url('s'), status=1)[1]
    assert 'no data' in said, said
    relay, session = scripted(t)
    session.is_over = True
    out, _ = runs.go('analyze', '-f', 'json', '-a', 'count', relay.url('s'))
    wanted = t.analyze(os.path.join(t.data, 'small-packets'), '-a', 'count')['count']
    assert totals(map(json.loads, out.splitlines()))[0]['count'] == wanted
    relay, _ = scripted(t, [Rule(ATTACH, patch(status=2), count=2)])
    assert runs.go('analyze', '-q', '-a', 'count', relay.url('s'))[1] == ''


def test_live_not_live(t):
    """`live` of a session that exists and is not live does not say that it is missing."""
    relay, _ = scripted(t, [Rule(ATTACH, relays.patch(status=4), nth=0)], timer_us=0)
    live = t.live(relay.url('s'))
    live.wait_said('waiting for a live session of this name')
    live.finish(signal.SIGTERM)
    assert 'not a live session' in live.said() and 'no such session' not in live.said(), live.said()
    live = t.live('--no-retry', relay.url('s'))
    live.finish(status=1)
    assert 'no such session' not in live.said(), live.said()


def test_as_now_ctf2(t):
    """`replay --as-now` moves the clocks of CTF 2, too."""
    path = ctf2_of(t, os.path.join(t.data, 'burst', 'kernel'))
    url, _ = served(t, path, 'now', '--as-now')
    now = time.time()
    out, _ = Runs(t).go('analyze', '-f', 'json', '-a', 'count', url)
    total = totals(map(json.loads, out.splitlines()))[0]
    wanted = t.analyze(path, '-a', 'count')
    assert abs(total['begin'] / 1e9 - now) < 60, (total['begin'], now)
    assert total['count'] == wanted['count'] and total['end'] - total['begin'] == wanted['end'] - wanted['begin']


PATIENCE_S = 5.5  # after which a packet is left, in any build: STOP_PATIENCE_NS, with checks


def caught_in_packet(live, relay, pieces):
    """Stops a live run while it decodes the packet, and ends its patience with a signal meanwhile.  False: it came too
    late.  No step depends on how fast this machine is: the clock that counts is the run's own CPU time."""
    def used():
        return guard.Process(live.process.pid).cpu_s

    def has_come():
        return sum(entry[2] == PACKET for entry in relay.log) == pieces

    wait_until(lambda: has_come() or live.process.poll() is not None)
    assert has_come(), 'it ended before it had the packet: %s' % live.said()
    before, asleep = used(), guard.Asleep(lambda: guard.alone(live.process.pid), period_s=0.05)
    while used() < before + 0.1:  # it decodes
        if asleep.now() > 0.5:
            return False
        time.sleep(0.001)
    asleep.stop()
    live.process.send_signal(signal.SIGSTOP)
    stopped = used()
    live.process.send_signal(signal.SIGTERM)
    live.process.send_signal(signal.SIGCONT)
    wait_until(lambda: used() > stopped or live.process.poll() is not None)  # the handler has run
    live.process.send_signal(signal.SIGSTOP)
    time.sleep(PATIENCE_S)
    live.process.send_signal(signal.SIGCONT)
    return True


def test_long_packet(t):
    """`live` without workers ends soon after a signal, also while it decodes a packet of 150 MB: it leaves it there."""
    S = 10**9
    some = [b''.join(switch(S, 1, 2) + switch(S, 2, 1) for _ in range(1000))]
    made = Made(t.scratch, 'long', [packet(0, 0, S, 2 * S, some * (150 * 10**6 // len(some[0])))])
    size = os.path.getsize(os.path.join(made.path, 'channel0_0')) * 8
    os.mkdir(os.path.join(made.path, 'index'))
    with open(os.path.join(made.path, 'index', 'channel0_0.idx'), 'wb') as index:
        index.write(struct.pack('>4I', 0xC1F1DCC1, 1, 1, 72) + struct.pack('>9Q', 0, size, size, S, 2 * S, 0, 0, 0, 0))
    whole = t.analyze(made.path, '-a', 'count')['count']['events']
    for _ in range(10):  # it may always be through before it is stopped
        relay = relays.Relay([relays.Session('s', [relays.Trace(made.path)])])
        t.cleanups.append(relay.close)
        live = t.live('-a', 'all', '-j', '0', '--from', 'beginning', '--max-memory', '1G', relay.url('s'))
        if not caught_in_packet(live, relay, -(-size // 8 // relays.PIECE)):
            live.finish(signal.SIGTERM)
            continue
        events = sum(line['count']['events'] for line in totals(live.finish()))
        if events < whole:
            return
    raise AssertionError('it always reads the whole packet of %d events' % whole)


if __name__ == '__main__':
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    sys.exit(peer.main(globals()))
