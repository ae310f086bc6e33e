#!/usr/bin/env python3
"""peer: sillage against a real lttng-relayd, and a real LTTng-UST session.

Each test starts its own relayd on free loopback ports with its own output directory, and
kills it at the end.  Prints TAP-like lines; a test whose peer is missing is skipped.

A busy machine breaks no test.  Each one waits for events, not for a time, and gives up by the clock
of guard.Asleep only.  Replays linger for LONG and are ended by the test.  What has to happen while a
trace is played is tried again at a lower speed if the trace was over before (see slower()).

usage: peer.py SILLAGE APP DATA [--only NAME]      APP: the traced program of app.c
"""
import collections
import concurrent.futures
import contextlib
import csv
import itertools
import json
import os
import random
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
import traceback
import urllib.error
import urllib.parse
import urllib.request

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..'))
import guard  # noqa: E402
from ports import end_listener, free_ports  # noqa: E402
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'reference'))
import models  # noqa: E402

LIMIT = 60  # seconds for anything, by ASLEEP
LONG = '24h'  # for what the test itself ends
LANES = 6  # tests at once
POLL_S = 0.02
ASLEEP = guard.Asleep(period_s=0.2)


class Skip(Exception):
    pass


def wait_until(what, why='waited in vain'):
    """Until @what() is true.  @why: a text, or a function that makes it."""
    end = ASLEEP.now() + LIMIT
    while not what():
        assert ASLEEP.now() < end, why() if callable(why) else why
        time.sleep(POLL_S)


def output(process, given=None):
    """What it wrote to its pipes, once it has ended."""
    end = ASLEEP.now() + LIMIT
    while True:
        try:
            return process.communicate(given, timeout=0.5)
        except subprocess.TimeoutExpired:
            if ASLEEP.now() > end:
                process.kill()
                raise AssertionError('it does not end: %s' % process.args) from None


def ended(process):
    """Its exit status, once it has ended."""
    end = ASLEEP.now() + LIMIT
    while True:
        try:
            return process.wait(timeout=0.5)
        except subprocess.TimeoutExpired:
            assert ASLEEP.now() < end, 'it does not end: %s' % process.args


def run(command, **options):
    """As subprocess.run() with a time limit, by ASLEEP."""
    process = subprocess.Popen(command, **options)
    out, err = output(process)
    return subprocess.CompletedProcess(command, process.returncode, out, err)


def slower(speed):
    """Speeds of a replay, for as long as it is over before the test has seen what it has to see."""
    while True:
        yield '%g' % speed
        speed /= 4


def longer(seconds):
    """Times to linger, for as long as a session ends before its viewer has what it needs."""
    while True:
        yield '%g' % seconds
        seconds *= 4


def wait_port(host, port, process):
    def listens():
        assert process.poll() is None, 'what should listen on port %d has ended' % port
        with socket.socket(socket.AF_INET6 if ':' in host else socket.AF_INET) as probe:
            return probe.connect_ex((host, port)) == 0

    wait_until(listens, 'nothing listens on port %d' % port)


class Relay:
    def __init__(self, scratch, host):
        self.host = host
        if not shutil.which('lttng-relayd'):
            raise Skip('lttng-relayd is not installed')
        self.scratch = scratch
        self.port = free_ports()
        self.start()

    def start(self):
        urls = ['%s:%d' % (self.url('tcp'), self.port + i) for i in range(3)]
        env = dict(os.environ, HOME=self.scratch, LTTNG_HOME=self.scratch)
        self.process = subprocess.Popen(
            ['lttng-relayd', '-o', os.path.join(self.scratch, 'relay'), '-C', urls[0], '-D', urls[1],
             '-L', urls[2]], env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for i in range(3):
            wait_port(self.host, self.port + i, self.process)

    def stop(self, number=signal.SIGTERM):
        self.process.send_signal(number)
        ended(self.process)

    def restart_empty(self):
        """Has nothing any more."""
        self.stop()
        shutil.rmtree(os.path.join(self.scratch, 'relay'))
        self.start()

    def wait_stored(self, session, trace, most=None, before=None):
        """Until all packets of @trace, a directory of streams, have come to the relay; @most: no more bytes of each;
        @before: files() before that, for a relay that has had a session of this name."""
        wanted = {name: os.path.getsize(os.path.join(trace, name)) for name in os.listdir(trace)
                  if name not in ('index', 'metadata')}
        wanted = {name: min(size, most or size) for name, size in wanted.items()}

        def is_there():
            found = collections.Counter()
            for path, is_now in self.files(session).items():
                if (before or {}).get(path) != is_now:
                    found[os.path.basename(path)] += is_now[1]
            return all(found[name] >= size for name, size in wanted.items())

        wait_until(is_there, 'not all of %s is sent' % trace)

    def stored(self, session):
        """Directories of what the relay has of @session, any with '', and the names of the files in each.  Of a path
        only the session's part tells: any other, as that of the scratch directory, may have the session's name in it."""
        out = os.path.join(self.scratch, 'relay')
        for place, _, names in os.walk(out):
            parts = os.path.relpath(place, out).split(os.sep)
            if len(parts) > 1 and (not session or re.fullmatch(re.escape(session) + r'-\d{8}-\d{6}', parts[1])):
                yield place, names

    def files(self, session):
        """Of each file of the session: when it was changed last, and its bytes.  A session that is made in the same
        second as another one of its name has that one's files."""
        found = {}
        for place, names in self.stored(session):
            for name in names:
                with contextlib.suppress(FileNotFoundError):
                    is_now = os.stat(os.path.join(place, name))
                    found[os.path.join(place, name)] = is_now.st_mtime_ns, is_now.st_size
        return found

    def url(self, scheme):
        return '%s6://[%s]' % (scheme, self.host) if ':' in self.host else '%s://%s' % (scheme, self.host)

    @property
    def live(self):
        return '%s:%d' % (self.url('net'), self.port + 2)

    @property
    def control(self):
        return '%s:%d' % (self.url('net'), self.port)


class Live:
    """A running `sillage live`, or `watch`; its output goes to files, so that it never waits for us."""

    def __init__(self, test, *args, env=None, command='live'):
        base = os.path.join(test.scratch, 'live-%d' % time.monotonic_ns())
        self.out, self.err = base + '.out', base + '.err'
        self.known, self.offset = [], 0
        # Of --grace: a stream may be silent for long when the machine is busy.
        with open(self.out, 'w') as out, open(self.err, 'w') as err:
            self.process = subprocess.Popen([test.sillage, command, '-f', 'json', '--grace', LONG] + list(args),
                                            stdout=out, stderr=err, env=env)

    def said(self):
        with open(self.err) as err:
            return err.read()

    def lines(self):
        """All that it has printed so far; only what is new is parsed."""
        with open(self.out, 'rb') as out:
            out.seek(self.offset)
            new = out.read()
        new = new[:new.rfind(b'\n') + 1]
        self.offset += len(new)
        self.known += [json.loads(line) for line in new.splitlines()]
        return list(self.known)

    def wait_for(self, what):
        """Until @what(self) is true."""
        def is_so():
            has_ended = self.process.poll() is not None
            found = what(self)
            assert found or not has_ended, 'it ended: ' + self.said()
            return found

        wait_until(is_so, lambda: 'waited in vain; it said: ' + self.said())

    def wait_said(self, text):
        self.wait_for(lambda live: text in live.said())

    def finish(self, number=None, status=0):
        if number:
            self.process.send_signal(number)
        got = ended(self.process)
        assert got == status, 'exit status %d: %s' % (got, self.said())
        return self.lines()


def totals(lines):
    return [line for line in lines if line['type'] == 'total' and not line.get('so_far')]


FIGURES = ('count', 'cpu', 'io')


def figures(line):
    return {key: line[key] for key in FIGURES if key in line}


def check_sums(lines, may_be_empty=False):
    """Windows of each trace tile its range and add up to its total."""
    for total in totals(lines):
        windows = [line for line in lines
                   if line['type'] == 'window' and line['trace'] == total['trace']]
        if may_be_empty and not windows and total['count']['events'] == 0:
            continue  # it went away before its first event came
        assert windows, 'no window'
        assert (windows[0]['begin'], windows[-1]['end']) == (total['begin'], total['end']), (
            'windows have another range than their total', windows[0], windows[-1], total)
        for a, b in zip(windows, windows[1:]):
            assert a['end'] == b['begin'], 'windows do not tile'
        for analysis, key in (('count', 'events'), ('count', 'discarded'), ('cpu', 'busy_ns'),
                              ('cpu', 'idle_ns'), ('cpu', 'unknown_ns'), ('io', 'read_bytes'),
                              ('io', 'write_bytes')):
            # What is not recorded is None.  Metadata may have grown: then only the first windows lack it.
            if analysis in total and total[analysis][key] is not None:
                assert sum(w[analysis][key] or 0 for w in windows) == total[analysis][key], key


class Test:
    def __init__(self, sillage, app, data):
        self.sillage, self.app, self.data = sillage, app, data
        self.scratch = tempfile.mkdtemp(prefix='sillage-peer-')
        os.chmod(self.scratch, 0o755)
        self.relays, self.processes, self.cleanups = [], [], []

    def relay(self, host='127.0.0.1'):
        relay = Relay(self.scratch, host)
        self.relays.append(relay)
        return relay

    def live(self, *args, **kwargs):
        live = Live(self, *args, **kwargs)
        self.processes.append(live.process)
        return live

    def replay(self, relay, trace, *args):
        before = relay.files('')
        process = subprocess.Popen([self.sillage, 'replay', '-q', os.path.join(self.data, trace),
                                    '--to', relay.control] + list(args))
        process.before = before
        self.processes.append(process)
        return process

    def play(self, live, relay, trace, *args):
        """All of a trace to @live.  The session does not end before the relay has all packets and @live has
        the streams: a viewer that has attached still has to ask for them, which --wait-viewer cannot see."""
        before = live.said().count('attached')
        process = self.replay(relay, trace, '--wait-viewer', '--linger', LONG, *args)
        live.wait_for(lambda one: one.said().count('attached') > before)
        self.stop_replay(process, relay, trace, args[args.index('--session') + 1])

    def stop_replay(self, process, relay, trace, session):
        """Ends the session when all of @trace has been sent."""
        path = os.path.join(self.data, trace)
        kernel = os.path.join(path, 'kernel')
        relay.wait_stored(session, kernel if os.path.isdir(kernel) else path, before=process.before)
        process.terminate()
        assert ended(process) == 0, 'replay failed'

    def analyze(self, trace, *args):
        out = subprocess.run([self.sillage, 'analyze', '-q', '-f', 'json'] + list(args) +
                             [os.path.join(self.data, trace)], stdout=subprocess.PIPE, check=True)
        return totals([json.loads(line) for line in out.stdout.decode().splitlines()])[0]

    def close(self):
        for cleanup in self.cleanups:
            cleanup()
        for process in self.processes:
            if process.poll() is None:
                process.kill()
                process.wait()
        for relay in self.relays:
            if relay.process.poll() is None:
                relay.stop(signal.SIGKILL)
        shutil.rmtree(self.scratch, ignore_errors=True)


# ---- tests ----

def test_kernel_replay(t):
    """A kernel trace replayed: live totals equal analyze, windows add up."""
    relay = t.relay()
    for trace, speed in (('io-mix', '0'), ('burst', '4'), ('small-packets', '1'), ('lost-events', '0'),
                         ('sched-compact', '0')):
        wanted = t.analyze(trace, '-i', '100ms', '-a', 'all')
        for attempt in itertools.count():
            session = '%s-%d' % (trace, attempt)
            live = t.live('-a', 'all', '-i', '100ms', '--from', 'beginning', relay.live + '/host/h/' + session)
            t.play(live, relay, trace, '--session', session, '--hostname', 'h', '--speed', speed, '--live-timer', '100ms')
            lines = live.finish()
            check_sums(lines)
            total = totals(lines)[0]
            if total['end'] <= wanted['end']:
                break
            # A second went by before the session ended: an idle trace has its last window closed.
        del total['trace'], wanted['trace']
        assert total == wanted, '%s: live differs from analyze: %s' % (
            trace, [key for key in wanted if total.get(key) != wanted[key]])


def test_ipv6(t):
    """All over IPv6: the list, the replay and following it."""
    with socket.socket(socket.AF_INET6) as probe:
        try:
            probe.bind(('::1', 0))
        except OSError:
            raise Skip('no ::1') from None
    relay = t.relay('::1')
    live = t.live('-i', '100ms', '--from', 'beginning', relay.live + '/host/h/six')
    t.play(live, relay, 'burst', '--session', 'six', '--hostname', 'h', '--speed', '0')
    assert figures(totals(live.finish())[0]) == figures(t.analyze('burst', '-i', '100ms'))
    subprocess.run([t.sillage, 'list', '-q', relay.live.replace('net6', 'net')], stdout=subprocess.DEVNULL, check=True)


def test_labels(t):
    """Names of ids and chains: windows and totals of a live run are those of the trace read as files."""
    model = os.path.join(t.scratch, 'model')
    with open(model, 'w') as file:
        file.write(models.MODEL)
    trace = models.make(t.scratch, 'made', 3)[0]
    out = subprocess.run([t.sillage, 'analyze', '-q', '-f', 'json', '-i', '10ms', '--model', model, trace],
                         stdout=subprocess.PIPE, check=True).stdout.decode()
    wanted = [line['periods'] for line in map(json.loads, out.splitlines()) if line['type'] in ('window', 'total')]
    assert any('label' in row for row in wanted[-1]['by_name'])
    relay = t.relay()
    live = t.live('-i', '10ms', '--from', 'beginning', '--model', model, relay.live + '/host/h/labels')
    t.play(live, relay, trace, '--session', 'labels', '--hostname', 'h', '--speed', '0', '--live-timer', '100ms')
    got = [line['periods'] for line in live.finish() if line['type'] == 'window' or line in totals([line])]
    got = got[:len(wanted) - 1] + got[-1:]  # where a second went by, the last window closed, and others came
    for one in (got, wanted):
        one[-2]['oldest_ns'] = one[-1]['oldest_ns'] = None
    assert got == wanted, 'live differs from analyze: %d and %d lines' % (len(got), len(wanted))


def ctf2_of(t, plain):
    """The trace @plain with its metadata said again in CTF 2."""
    events = os.path.join(os.path.dirname(t.app), 'events')
    trace = os.path.join(t.scratch, 'ctf2')
    os.mkdir(trace)
    with open(os.path.join(trace, 'metadata'), 'wb') as metadata:
        subprocess.run([events, '--ctf2', plain], stdout=metadata, check=True)
    for name in os.listdir(plain):
        if name.startswith('channel'):
            shutil.copy(os.path.join(plain, name), trace)
    return trace


def test_ctf2(t):
    """A kernel trace whose metadata is said again in CTF 2, also through a relay that knows only 1.8."""
    plain = os.path.join(t.data, 'burst', 'kernel')
    trace = ctf2_of(t, plain)
    relay = t.relay()
    live = t.live('-i', '100ms', '--from', 'beginning', relay.live + '/host/h/two')
    t.play(live, relay, trace, '--session', 'two', '--hostname', 'h', '--speed', '0')
    lines = live.finish()
    check_sums(lines)
    assert figures(totals(lines)[0]) == figures(t.analyze(trace, '-i', '100ms')), 'live differs from analyze'
    assert figures(totals(lines)[0]) == figures(t.analyze(plain, '-i', '100ms')), 'CTF 2 differs from 1.8'


def listed_formats(port):
    """The trace format of each session that a relay lists for a viewer of minor 15; None before that."""
    def receive(count):
        data = b''
        while len(data) < count:
            got = link.recv(count - len(data))
            assert got, 'the relay closed the connection'
            data += got
        return data

    with socket.create_connection(('127.0.0.1', port)) as link:
        link.sendall(struct.pack('>QII', 20, 1, 0) + struct.pack('>QIII', 2**64 - 1, 2, 15, 1))
        if struct.unpack('>QIII', receive(20))[2] < 15:
            return None
        link.sendall(struct.pack('>QII', 0, 2, 0))
        found = {}
        for _ in range(struct.unpack('>I', receive(4))[0]):
            host, name, form = struct.unpack('>QIIIIII', receive(32))[4:]
            found[receive(host + name)[host:].decode()] = form
        return found


def test_replay_format(t):
    """A relay from 2.15 on is told the format of a trace: 0 is CTF 1.8 and 1 is CTF 2 in a viewer's list."""
    trace = ctf2_of(t, os.path.join(t.data, 'burst', 'kernel'))
    relay = t.relay()
    if listed_formats(relay.port + 2) is None:
        raise Skip('this relay is older than 2.15')
    for name, path in (('two', trace), ('one', 'burst')):
        t.replay(relay, path, '--session', name, '--hostname', 'h', '--speed', '0', '--linger', LONG)
    wait_until(lambda: len(listed_formats(relay.port + 2)) == 2)
    assert listed_formats(relay.port + 2) == {'one': 0, 'two': 1}


def test_back_pressure(t):
    """With next to no memory allowed: slower, but nothing is lost and nothing hangs."""
    relay = t.relay()
    live = t.live('-i', '100ms', '--max-memory', '20K', '--chunk-size', '4K', '--from', 'beginning',
                  relay.live + '/host/h/bp')
    t.play(live, relay, 'io-mix', '--session', 'bp', '--hostname', 'h', '--speed', '0')
    assert figures(totals(live.finish())[0]) == figures(t.analyze('io-mix', '-i', '100ms'))


def test_no_workers(t):
    """All in one thread: who makes room is who asks for more."""
    relay = t.relay()
    live = t.live('-i', '100ms', '-j', '0', '--chunk-size', '4K', '--from', 'beginning', relay.live + '/host/h/alone')
    replay = t.replay(relay, 'small-packets', '--session', 'alone', '--hostname', 'h', '--speed', '0', '--wait-viewer',
                      '--linger', LONG)
    at_work = [guard.Process(one.pid) for one in (relay.process, live.process, replay)]
    asleep = guard.Asleep(lambda: at_work, period_s=POLL_S)
    live.wait_said('attached to')
    t.stop_replay(replay, relay, 'small-packets', 'alone')
    assert figures(totals(live.finish())[0]) == figures(t.analyze('small-packets', '-i', '100ms'))
    asleep.stop()
    assert asleep.now() < 5, 'it waits for a timer each time'


def test_on_lag(t):
    """A link slower than the trace: all of it late, or with --on-lag skip the rest only."""
    relay = t.relay()
    proxy = Proxy(relay.port + 2, 0, 0, rate=100_000)
    wanted = t.analyze(os.path.join('small-packets', 'kernel'), '-a', 'count')['count']
    for options, skips in (((), False), (('--on-lag', 'skip', '--lag-limit', '500ms'), True)):
        session = 'skips' if skips else 'keeps'
        live = t.live('-a', 'count', '-i', '50ms', '--from', 'beginning', *options,
                      proxy.url + '/host/*/' + session)
        replay = t.replay(relay, os.path.join('small-packets', 'kernel'), '--as-now', '--speed', '1', '--session',
                          session, '--live-timer', '50ms', '--wait-viewer', '--linger', LONG)
        live.wait_said('meanwhile is a gap' if skips else 'attached to')
        t.stop_replay(replay, relay, 'small-packets', session)
        # On a busy machine it may be about to skip once more when the session is gone for good.
        live.wait_for(lambda one: totals(one.lines()) or (skips and 'does not list it any more' in one.said()))
        assert ('s behind' in live.said()) == skips, live.said()
        total = totals(live.finish(signal.SIGTERM))[-1]['count']
        if skips:  # (nothing is traced after that, so that no packet tells how many are missing)
            assert total['events'] < wanted['events'], total
            assert 'meanwhile is a gap' in live.said(), live.said()
        else:
            assert total == wanted, 'events: %d, wanted %d' % (total['events'], wanted['events'])


def test_names(t):
    """A relay by its name; one that has none; one that is not there, of which each address is tried."""
    relay = t.relay()
    t.replay(relay, os.path.join(t.data, 'burst', 'kernel'), '--linger', LONG)
    live = t.live('-a', 'count', '--from', 'beginning', relay.live.replace('127.0.0.1', 'localhost'))
    live.wait_for(lambda one: any(line['type'] == 'window' for line in one.lines()))
    live.finish(signal.SIGTERM)
    nowhere = t.live('-a', 'count', '--no-retry', 'net://no-such-host.invalid')
    nowhere.finish(status=1)
    assert 'no-such-host.invalid' in nowhere.said(), nowhere.said()
    refused = t.live('-a', 'count', '--no-retry', 'net://localhost:1')
    refused.finish(status=1)
    assert 'Connection refused' in refused.said(), refused.said()


def test_loop_and_list(t):
    """replay --loop plays whole sessions one after the other; list shows them."""
    relay = t.relay()
    live = t.live('--from', 'beginning', relay.live)
    replay = t.replay(relay, 'io-mix', '--session', 'lp', '--hostname', 'h', '--speed', '0', '--linger', LONG)
    live.wait_said('attached to')
    out = subprocess.run([t.sillage, 'list', '-f', 'json', relay.live], stdout=subprocess.PIPE, check=True)
    found = json.loads(out.stdout.decode())
    assert (found['host'], found['session'], found['streams'], found['viewers']) == ('h', 'lp', 3, 1), found
    t.stop_replay(replay, relay, 'io-mix', 'lp')
    live.wait_for(lambda one: len(totals(one.lines())) == 1)
    for linger in longer(0.25):
        before, lost = len(totals(live.lines())), live.said().count('is gone')
        replay = t.replay(relay, 'io-mix', '--session', 'lp', '--hostname', 'h', '--speed', '0', '--loop', '2',
                          '--linger', linger + 's', '--wait-viewer')
        assert ended(replay) == 0
        live.wait_for(lambda one: len(totals(one.lines())) - before + one.said().count('is gone') - lost == 2)
        if live.said().count('is gone') == lost:
            break  # else it was over before its streams were known
    wanted = t.analyze('io-mix')['count']['events']
    found = [line['count']['events'] for line in totals(live.finish(signal.SIGTERM))]
    assert len(found) >= 3 and found == [wanted] * len(found), found


# ---- a scripted relay ----

class Scripted:
    """A relay of ours on a free port that serves one session and then misbehaves.

    @fault names the command whose reply goes wrong, and @how: 'hup' closes in the middle of the
    reply, 'status' answers an error status, 'version' and 'huge' lie.  'late' and 'never' end the session
    at once, and have metadata only when all streams have ended, or not at all.
    """

    def __init__(self, test, fault, how):
        self.fault, self.how, self.seen = fault, how, collections.Counter()
        with open(os.path.join(test.data, 'io-mix', 'kernel', 'metadata'), 'rb') as file:
            self.metadata = file.read()
        with open(os.path.join(test.data, 'io-mix', 'kernel', 'channel0_0'), 'rb') as file:
            self.packet = file.read()
        # Bits at byte 48 and 56 of an LTTng packet; times at 32 and 40.
        self.begin, self.end, self.content, self.size = struct.unpack_from('<QQQQ', self.packet, 32)
        self.listener = socket.socket()
        self.listener.bind(('127.0.0.1', 0))
        self.listener.listen(8)
        self.url = 'net://127.0.0.1:%d' % self.listener.getsockname()[1]
        self.accepts = threading.Thread(target=self.accept, daemon=True)
        self.accepts.start()

    def accept(self):
        while True:
            try:
                connection = self.listener.accept()[0]
            except OSError:
                return
            threading.Thread(target=self.serve, args=(connection,), daemon=True).start()

    def serve(self, connection):
        sizes = {1: 20, 3: 20, 4: 8, 5: 20, 6: 8, 7: 8, 9: 8}
        try:
            stream = connection.makefile('rb')
            sent = set()
            while True:
                header = stream.read(16)
                if len(header) < 16:
                    return
                command = struct.unpack('>QII', header)[1]
                payload = stream.read(sizes.get(command, 0))
                reply = self.reply(command, payload, sent)
                if command == self.fault:
                    self.seen['fault'] += 1
                    if self.how == 'hup':
                        connection.sendall(reply[:len(reply) // 2])
                        connection.shutdown(socket.SHUT_RDWR)
                        return
                connection.sendall(reply)
        except OSError:
            return

    def index(self, status):
        return struct.pack('>QQQQQQQII', 0, self.size, self.content, self.begin, self.end, 0, 0, status,
                           1 if status == 1 else 0)

    def reply(self, command, payload, sent):
        wrong = command == self.fault
        if command == 1:
            return struct.pack('>QIII', 1, 3 if wrong and self.how == 'version' else 2, 13, 0)
        if command == 2:
            if wrong and self.how == 'huge':
                return struct.pack('>I', 0xffffffff)
            ids = (7, 8) if self.how == 'domains' and self.seen['end'] else (7,)
            return struct.pack('>I', len(ids)) + b''.join(
                struct.pack('>QIII64s255s', id_, 1000000, 0, 2, b'h', b's') for id_ in ids)
        if command in (3, 7):
            if wrong and self.how == 'status':
                return struct.pack('>II', 3, 0)
            streams = [(1, b'metadata'), (0, b'channel0_0')] if command == 3 else []
            status = 4 if command == 7 and self.how in ('late', 'never', 'domains') else 1
            return struct.pack('>II', status, len(streams)) + b''.join(
                struct.pack('>QQI4096s255s', 20 - flag, 5, flag, b'kernel', name)
                for flag, name in streams)
        if command == 4:
            first = 'index' not in sent
            sent.add('index' if first else 'hup')
            if self.how in ('late', 'never', 'domains') and not first:
                self.seen['end'] += 1
                return self.index(3)
            return self.index(4 if wrong and self.how == 'status' else 1 if first else 2)
        if command == 5:
            offset, size = struct.unpack('>QQI', payload)[1:]
            if wrong and self.how in ('status', 'late'):
                return struct.pack('>III', 3, 0, 0)
            size += 1 if wrong and self.how == 'huge' else 0
            return struct.pack('>III', 1, size, 0) + self.packet[offset:offset + size].ljust(size, b'\0')
        if command == 6:
            if self.how == 'never' or (self.how == 'late' and 'hup' not in sent):
                return struct.pack('>QI', 0, 2)
            first = 'metadata' not in sent
            sent.add('metadata')
            if wrong and self.how == 'huge':
                return struct.pack('>QI', 1 << 62, 1)
            if first:
                return struct.pack('>QI', len(self.metadata), 1) + self.metadata
            return struct.pack('>QI', 0, 2)
        return struct.pack('>I', 1)


def test_scripted(t):
    """Each reply cut short by a hang-up, lies and error statuses: said, retried, ended cleanly."""
    cases = [(command, 'hup', 'closed the connection') for command in (3, 4, 5, 6)]
    cases += [(2, 'huge', '4294967295 sessions'), (6, 'huge', 'bytes of metadata, the limit'),
              (5, 'huge', 'bytes of a packet'), (3, 'status', 'no longer knows the session'),
              (5, 'status', 'a packet is lost')]
    relays = [Scripted(t, command, how) for command, how, _ in cases]
    lives = [t.live('-a', 'count', '--from', 'beginning', relay.url) for relay in relays]
    for (command, how, said), relay, live in zip(cases, relays, lives):
        live.wait_said(said)
        if how == 'status':  # it is not tried again, so that it is said once
            time.sleep(0.3)
        elif command not in (2, 5):  # it is tried again, and not said each time (a packet is given up)
            live.wait_for(lambda one, relay=relay, said=said: relay.seen['fault'] - one.said().count(said) >= 2)
        lines = live.finish(signal.SIGTERM)
        assert relay.seen['fault'] > 0 and lines[-1]['type'] == 'end', (command, how)
        assert live.said().count(said) <= (1 if how == 'status' else relay.seen['fault']), live.said()
        end_listener(relay.listener, relay.accepts)
    live = t.live('--from', 'beginning', Scripted(t, 1, 'version').url)
    live.finish(status=1)
    assert 'viewer protocol 3.13' in live.said() and '2.15' in live.said(), live.said()


def test_late_domain(t):
    """A session of two domains is two for the relay: the second is followed though it comes when the first is over."""
    live = t.live('-a', 'count', '--from', 'beginning', Scripted(t, None, 'domains').url + '/host/h/s')
    lines = live.finish()
    assert live.said().count('attached to') == 2 and len(totals(lines)) == 2, live.said()


def test_late_metadata(t):
    """What came before its metadata is analysed, even if all had ended by then; or is said to be lost."""
    late, lost, never = [t.live('-a', 'count', '--from', 'beginning', Scripted(t, fault, how).url + '/host/h/s')
                         for fault, how in ((None, 'late'), (5, 'late'), (None, 'never'))]
    lines = late.finish()
    assert lines[-1]['packets'] == 1 and totals(lines)[0]['count']['events'] == lines[-1]['events'] > 0, lines[-1]
    lost.finish()
    assert 'a packet is lost: the relay no longer has it' in lost.said(), lost.said()
    never.finish()
    assert '1 packets of kernel are lost: there was no metadata' in never.said(), never.said()


class Proxy:
    """Stands between sillage and a relay and does to connections what networks do.

    Each of the first @faults connections gets one fault, drawn from the seed: cut after some
    bytes, in one direction or both; bytes in small pieces with pauses; a stall; or, with @lies,
    bytes changed on their way to sillage.  Later connections are left alone.
    """

    def __init__(self, port, seed, faults, lies=False, rate=None):
        self.rate = rate  # bytes per second to sillage
        self.port, self.rng, self.faults, self.lies = port, random.Random(seed), faults, lies
        self.is_calm = self.is_down = False
        self.connections, self.refused, self.ends = 0, 0, []
        self.listener = socket.socket()
        self.listener.bind(('127.0.0.1', 0))
        self.listener.listen(64)
        self.url = 'net://127.0.0.1:%d' % self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                viewer = self.listener.accept()[0]
                relay = socket.create_connection(('127.0.0.1', self.port))
            except OSError:
                return
            if self.is_down:
                viewer.close()
                relay.close()
                self.refused += 1
                continue
            self.connections += 1
            self.ends += viewer, relay
            fault = None
            if self.connections <= self.faults and not self.is_calm:
                fault = self.rng.choice(('lie',) if self.lies else ('cut', 'cut', 'reset', 'pieces', 'stall'))
            # Most replies are small, packets are large: cuts at either scale.
            after = int(2 ** self.rng.uniform(0, 21))
            seed = self.rng.random()
            for source, sink, to_viewer in ((viewer, relay, False), (relay, viewer, True)):
                threading.Thread(target=self.pump, daemon=True,
                                 args=(source, sink, fault if to_viewer else None, after, seed, to_viewer)).start()

    def calm_down(self, live):
        """No more faults, and what they cut is known to @live, whose session is attached again."""
        self.is_calm = True
        self.cut_all()
        live.wait_for(lambda one: self.refused >= 3)  # so @live has been through its loop since then
        before = live.said().count('attached again')
        self.is_down = False
        live.wait_for(lambda one: one.said().count('attached again') > before)

    def cut_all(self):
        """Nothing goes through until is_down is False."""
        self.is_down = True
        for end in self.ends:
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def pump(self, source, sink, fault, after, seed, to_viewer):
        rng, passed = random.Random(seed), 0
        try:
            while True:
                data = source.recv(rng.randrange(1, 40) if fault == 'pieces' and passed < 4000 else
                                   4096 if self.rate else 65536)
                if not data:
                    break
                fault = None if self.is_calm else fault
                if fault in ('cut', 'reset') and passed + len(data) > after:
                    sink.sendall(data[:after - passed])
                    if fault == 'reset':
                        sink.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 0))
                    break
                if fault == 'stall' and passed <= after < passed + len(data):
                    time.sleep(rng.uniform(0.2, 1.5))
                if fault == 'lie' and rng.random() < 0.05:
                    changed = bytearray(data)
                    changed[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
                    data = bytes(changed)
                sink.sendall(data)
                passed += len(data)
                if self.rate and to_viewer:
                    time.sleep(len(data) / self.rate)
        except OSError:
            pass
        for one in (source, sink):
            try:
                one.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            one.close()


def chaos_seed():
    return int(os.environ.get('SILLAGE_CHAOS_SEED', 20261124))


def test_chaos_network(t):
    """Connections that break anywhere: nothing is lost, since the relay still has it."""
    for i in range(int(os.environ.get('SILLAGE_CHAOS_ROUNDS', 2))):
        seed = chaos_seed() + i
        relay = t.relay()
        trace = random.Random(seed).choice(('io-mix', 'small-packets', 'migrate', 'idle-gaps'))
        wanted = t.analyze(os.path.join(trace, 'kernel'), '-a', 'count')
        replay = t.replay(relay, os.path.join(trace, 'kernel'), '--speed', '0', '--linger', LONG)
        proxy = Proxy(relay.port + 2, seed, 12)
        live = t.live('-a', 'count', '--from', 'beginning', proxy.url)
        try:
            live.wait_said('attached to')
            relay.wait_stored('', os.path.join(t.data, trace, 'kernel'))
            time.sleep(2)
            proxy.calm_down(live)
            replay.send_signal(signal.SIGTERM)  # the session closes: the total comes
            live.wait_for(lambda one: totals(one.lines()))
            got = totals(live.finish(signal.SIGTERM))[-1]
            assert got['count'] == wanted['count'], '%r, wanted %r' % (got['count'], wanted['count'])
        except AssertionError as failure:
            raise AssertionError('%s (SILLAGE_CHAOS_SEED=%d, %s)' % (failure, seed, trace))
        relay.stop()


def test_clock_steps(t):
    """The wall clock is set forth and back: only what tells the lag by it is wrong."""
    shim = os.path.join(os.path.dirname(t.app), 'clock-step.so')
    clock = os.path.join(t.scratch, 'clock')

    def step(seconds):
        with open(clock, 'r+b', buffering=0) as file:  # which is mapped: never shorter than that
            file.write(struct.pack('=q', seconds * 10**9))

    def has_seen(live, seconds):
        """The step in a window of later; or not, since the trace is over."""
        known = len(live.lines())
        step(seconds)

        def is_in(lines):
            return any(abs(line['lag_ns'] / 1e9 - seconds) < 1000 for line in lines[known:] if line['type'] == 'window')

        live.wait_for(lambda one: is_in(one.lines()) or totals(one.lines()) or 'is gone' in one.said())
        return is_in(live.lines())

    relay = t.relay()
    for speed in slower(0.12):
        with open(clock, 'wb') as file:
            file.write(bytes(8))
        session = 's' + speed
        live = t.live('-a', 'count,cpu', '-i', '20ms', '--from', 'beginning', '--on-lag', 'skip', '--lag-limit', '15m',
                      relay.live + '/host/*/' + session,
                      env=dict(os.environ, LD_PRELOAD=shim, SILLAGE_CLOCK=clock,
                               ASAN_OPTIONS=os.environ.get('ASAN_OPTIONS', '') + ':verify_asan_link_order=0'))
        t.replay(relay, 'small-packets', '--session', session, '--speed', speed, '--as-now', '--wait-viewer',
                 '--live-timer', '100ms')
        live.wait_for(lambda one: one.lines())
        time.sleep(1)  # nothing is skipped just after attaching
        # The steps alone make it skip nothing; but it may, besides, have been half a second behind.
        if all(has_seen(live, seconds) for seconds in (3600, -3600, 86400, 0)) and 's behind' not in live.said():
            live.wait_for(lambda one: totals(one.lines()))
            lines = live.finish(signal.SIGTERM)
            break
        live.finish(signal.SIGTERM)
    assert 's behind' not in live.said(), live.said()
    check_sums(lines)
    assert totals(lines)[0]['count'] == t.analyze('small-packets', '-a', 'count')['count']


def test_disk_full(t):
    """Nowhere to write to: it says so and ends, whoever it is that wants its output."""
    relay = t.relay()
    t.replay(relay, 'burst', '--session', 's', '--speed', '0', '--linger', LONG)
    for form in ('json', 'text'):
        done = run([t.sillage, 'live', '-f', form, '-o', '/dev/full', '-i', '100ms', '--from', 'beginning', relay.live],
                   stderr=subprocess.PIPE)
        assert done.returncode == 1, done
        assert b'/dev/full: No space left on device' in done.stderr, done.stderr


def test_chaos_lies(t):
    """Bits that change on the way: no crash, no hang; it ends when it is told to."""
    seed = chaos_seed()
    relay = t.relay()
    t.replay(relay, os.path.join('io-mix', 'kernel'), '--speed', '0', '--linger', LONG)
    proxy = Proxy(relay.port + 2, seed, 1 << 30, lies=True)
    live = t.live('-a', 'count,cpu,io', '--from', 'beginning', proxy.url)
    live.wait_for(lambda one: proxy.connections > 0)  # it has its signal handlers
    time.sleep(int(os.environ.get('SILLAGE_CHAOS_SECONDS', 5)))
    live.process.send_signal(signal.SIGTERM)
    assert ended(live.process) in (0, 1, 3), 'seed %d: %s' % (seed, live.said())


def test_chaos_signals(t):
    """Signals at any time, a relay that is stopped and killed, and sessions that come back."""
    seed = chaos_seed()
    rng = random.Random(seed)
    relay = t.relay()
    live = t.live('-a', 'count,cpu,io', '--from', 'beginning', '-i', '100ms', relay.live)
    end = time.time() + int(os.environ.get('SILLAGE_CHAOS_SECONDS', 8))
    live.wait_for(lambda one: one.lines())  # it has its signal handlers
    names = itertools.count()  # windows of two sessions of one name could not be told apart
    while time.time() < end:
        what = rng.choice(('USR1', 'USR1', 'HUP', 'stop', 'kill', 'play', 'play'))
        if what in ('USR1', 'HUP'):
            live.process.send_signal(signal.SIGUSR1 if what == 'USR1' else signal.SIGHUP)
        elif what == 'stop':
            relay.process.send_signal(signal.SIGSTOP)
            time.sleep(rng.uniform(0.05, 0.6))
            relay.process.send_signal(signal.SIGCONT)
        elif what == 'kill' and rng.random() < 0.3:
            relay.stop(signal.SIGKILL)
            relay.start()
        elif what == 'play':
            t.replay(relay, os.path.join(rng.choice(('burst', 'io-mix')), 'kernel'), '--speed',
                     rng.choice(('0', '10')), '--session', 's%d' % next(names))
        assert live.process.poll() is None, 'seed %d: it ended: %s' % (seed, live.said())
        time.sleep(rng.uniform(0, 0.3))
    try:
        check_sums(live.finish(signal.SIGTERM), may_be_empty=True)
    except AssertionError as failure:
        raise AssertionError('seed %d: %s' % (seed, failure)) from failure


def test_babeltrace(t):
    """babeltrace2 counts the same events on a session of the same replay."""
    if not shutil.which('babeltrace2'):
        raise Skip('babeltrace2 is not installed')
    relay = t.relay()
    url = relay.live + '/host/h/bt'
    replay = t.replay(relay, 'io-mix', '--session', 'bt', '--hostname', 'h', '--speed', '0',
                      '--wait-viewer', '--linger', LONG)
    wait_until(lambda: b'"session":"bt"' in subprocess.run(
        [t.sillage, 'list', '-f', 'json', relay.live], stdout=subprocess.PIPE, check=True).stdout)
    path = os.path.join(t.scratch, 'printed')
    with open(path, 'wb') as printed:
        viewer = subprocess.Popen(['babeltrace2', '-i', 'lttng-live', url], stdout=printed, stderr=subprocess.DEVNULL)
    t.processes.append(viewer)
    # It has nothing of a session that ends before it knows the streams.
    wait_until(lambda: os.path.getsize(path) > 0, 'babeltrace2 prints nothing')
    t.stop_replay(replay, relay, 'io-mix', 'bt')
    assert ended(viewer) == 0
    with open(path, 'rb') as printed:
        assert len(printed.readlines()) == t.analyze('io-mix')['count']['events']


def test_two_sessions(t):
    """Two sessions at once by a pattern, one ends before the other; a third comes later."""
    relay = t.relay()
    live = t.live('-i', '100ms', '--from', 'beginning', relay.live + '/host/h*/s?')
    first = t.replay(relay, 'burst', '--session', 's1', '--hostname', 'ha', '--speed', '0', '--wait-viewer',
                     '--linger', LONG)
    second = t.replay(relay, 'io-mix', '--session', 's2', '--hostname', 'hb', '--speed', '0', '--wait-viewer',
                      '--linger', LONG)
    other = t.replay(relay, 'io-mix', '--session', 'not', '--hostname', 'hb', '--speed', '0')
    live.wait_for(lambda one: one.said().count('attached to') == 2)
    t.stop_replay(second, relay, 'io-mix', 's2')
    t.stop_replay(first, relay, 'burst', 's1')
    assert ended(other) == 0
    live.wait_for(lambda one: len(totals(one.lines())) == 2)
    t.play(live, relay, 'small-packets', '--session', 's3', '--hostname', 'hc', '--speed', '0')
    live.wait_for(lambda one: len(totals(one.lines())) == 3)
    lines = live.finish(signal.SIGTERM)
    check_sums(lines)
    found = {line['trace']['session']: line for line in totals(lines)}
    for session, trace in (('s1', 'burst'), ('s2', 'io-mix'), ('s3', 'small-packets')):
        assert figures(found[session]) == figures(t.analyze(trace, '-i', '100ms')), session


def test_same_name(t):
    """A session of the same name, on the same relay: each is followed as a whole."""
    relay, wanted = t.relay(), t.analyze('small-packets', '-a', 'count')['count']
    for _ in range(2):
        live = t.live('-a', 'count', '--from', 'beginning', relay.live + '/host/h/again')
        t.play(live, relay, 'small-packets', '--session', 'again', '--hostname', 'h', '--live-timer', '100ms', '--speed', '0.2')
        found = [total['count'] for total in totals(live.finish())]
        assert found == [wanted], (found, wanted)


def test_watched(t):
    """A session that another viewer has: said, and taken when it is free."""
    relay = t.relay()
    url = relay.live + '/host/h/w'
    replay = t.replay(relay, 'io-mix', '--session', 'w', '--hostname', 'h', '--linger', LONG)
    first = t.live('--from', 'beginning', url)
    first.wait_said('attached to')
    second = t.live('--from', 'beginning', url)
    second.wait_said('another viewer')
    first.finish(signal.SIGINT)
    second.wait_said('attached to')
    t.stop_replay(replay, relay, 'io-mix', 'w')
    lines = second.finish()
    assert totals(lines)[0]['count']['events'] == t.analyze('io-mix')['count']['events']


def test_one_of_two_ends(t):
    """Two sessions of one name, as kernel and user space are: the first ends while the link is down."""
    relay = t.relay()
    proxy = Proxy(relay.port + 2, 0, 0)
    live = t.live('-i', '100ms', '--from', 'beginning', proxy.url + '/host/h/two')
    ends = []
    for count, trace in enumerate((os.path.join('burst', 'kernel'), 'ust'), 1):
        ends.append(t.replay(relay, trace, '--session', 'two', '--hostname', 'h', '--speed', '0', '--live-timer',
                             '100ms', '--linger', LONG))
        live.wait_for(lambda one, count=count: one.said().count('attached to') == count)
    proxy.cut_all()
    live.wait_said('trying again')
    ends[0].send_signal(signal.SIGTERM)
    assert ended(ends[0]) == 0
    proxy.is_down = False
    live.wait_said('attached again')
    relay.wait_stored('two', os.path.join(t.data, 'ust'))
    ends[1].send_signal(signal.SIGTERM)
    live.wait_said('the session ended')
    found = totals(live.finish(signal.SIGTERM))  # the first is waited for: its relay might come back
    assert [one['trace']['domain'] for one in found].count('ust') == 1 and len(found) == 2, found
    events = {one['trace']['domain']: one['count']['events'] for one in found}
    assert events['ust'] == t.analyze('ust')['count']['events'], events


def test_relay_killed(t):
    """relayd killed and started again: said, state kept, attached again, the gap reported."""
    relay, port = t.relay(), free_ports()
    live = t.live('-i', '100ms', '--from', 'beginning', '--metrics', ':%d' % port, relay.live)
    replay = t.replay(relay, 'burst', '--session', 'k', '--hostname', 'h', '--wait-viewer', '--live-timer',
                      '100ms', '--linger', LONG)
    live.wait_for(lambda one: any(line['type'] == 'window' for line in one.lines()))
    relay.stop(signal.SIGKILL)
    live.wait_said('trying again')
    assert list(samples(fetch(port)[1])['sillage_relay_up'].values()) == [0]
    ended(replay)
    relay.start()
    live.wait_said('is back')
    assert list(samples(fetch(port)[1])['sillage_relay_up'].values()) == [1]
    # The producer cannot go on where it was: it plays all again, and what we had is dropped.
    t.play(live, relay, 'burst', '--session', 'k', '--hostname', 'h', '--speed', '0')
    live.wait_for(lambda one: totals(one.lines()))
    lines = live.finish(signal.SIGTERM)
    assert live.said().count('trying again') == 1, 'one message per change of state'
    assert 'what was traced meanwhile is a gap' in live.said()
    assert len(totals(lines)) == 1
    assert totals(lines)[0]['count']['events'] == t.analyze('burst')['count']['events']
    check_sums(lines)


def plain(line):
    """A window or total, whoever it is from."""
    return {key: value for key, value in line.items() if key not in ('trace', 'lag_ns', 'seq')}


def test_state(t):
    """Stopped and started again several times, with --state: as if it had been one run that never stopped.
    Killed, it leaves the state that it began with, from which the next one does its work again."""
    def runs(trace, speed):
        """What four runs print together; or None if the trace was over before the last was attached."""
        session = '%s-%s' % (trace, speed)
        replay = t.replay(relay, trace, '--session', session, '--hostname', 'h', '--speed', speed, '--live-timer', '100ms')
        lines = []
        for run in range(4):
            live = t.live('-a', 'all', '-i', '10ms', '--from', 'beginning', '--state', state,
                          relay.live + '/host/h/' + session)
            live.wait_for(lambda one: 'attached to' in one.said() or replay.poll() is not None)
            if run < 3:
                time.sleep(0.3)
            if replay.poll() is not None:
                live.finish(signal.SIGKILL, -signal.SIGKILL)
                return None
            if run == 1:
                live.finish(signal.SIGKILL, -signal.SIGKILL)
                continue
            new = live.finish(signal.SIGTERM if run < 3 else None)
            if run < 3 and replay.poll() is not None:
                return None
            assert run == 3 or not totals(new), 'a total of what goes on'
            assert ('goes on from ' + state in live.said()) == (run > 0), live.said()
            lines += new
        assert ended(replay) == 0
        return lines

    state = os.path.join(t.scratch, 'state')
    relay = t.relay()
    for trace, first in (('small-packets', 0.1), ('lost-events', 0.04)):
        for speed in slower(first):
            lines = runs(trace, speed)
            if lines is not None:
                break
            with contextlib.suppress(FileNotFoundError):
                os.unlink(state)
        assert len(totals(lines)) == 1
        whole = subprocess.run([t.sillage, 'analyze', '-q', '-a', 'all', '-i', '10ms', '-f', 'json', os.path.join(t.data, trace)],
                               stdout=subprocess.PIPE, check=True).stdout.decode().splitlines()
        wanted = [json.loads(line) for line in whole]
        for kind in ('window', 'total'):
            ours = [plain(line) for line in lines if line['type'] == kind and not line.get('so_far')]
            theirs = [plain(line) for line in wanted if line['type'] == kind]
            assert len(ours) == len(theirs), '%s: %d of kind %s, not %d' % (trace, len(ours), kind, len(theirs))
            for a, b in zip(ours, theirs):
                assert a == b, '%s: %s %s' % (trace, kind, [(key, a.get(key), b.get(key)) for key in b if a.get(key) != b[key]])
    # Both have ended: nothing is left to go on with.
    done = subprocess.run([t.sillage, 'merge', state], stdout=subprocess.PIPE, check=True)
    assert done.stdout == b'', done.stdout


def test_state_of_one_uuid(t):
    """Two sessions of one UUID, open at the same time, with --state: what they count is what was played, also if
    the run is stopped while both are open, and the next one goes on."""
    relay, state = t.relay(), os.path.join(t.scratch, 'twins')
    one = t.analyze('burst', '-a', 'count')['count']['events']
    args = ('-a', 'count,cpu', '-i', '100ms', '--from', 'beginning', '--state', state, '--state-every', '20ms', relay.live)
    lives, replays = [t.live(*args)], []

    def counted(live, session):
        return sum(line['count']['events'] for line in live.lines() if line['type'] == 'window' and line['trace']['session'] == session)

    def inode():
        return os.stat(state).st_ino if os.path.exists(state) else None

    for number, session in enumerate(('a', 'b', 'c')):
        replays.append(t.replay(relay, 'burst', '--session', session, '--hostname', 'h', '--speed', '0', '--wait-viewer', '--linger', LONG,
                                '--live-timer', '100ms'))
        lives[0].wait_for(lambda live: counted(live, session) > one // 2)  # and so its state was saved
        mark = inode()
        wait_until(lambda: inode() not in (None, mark), 'the state is not saved')
        if number == 1:  # stopped while both are open
            first = lives[0].finish(signal.SIGTERM)
            lives[0] = t.live(*args)
            lives[0].wait_for(lambda live: live.said().count('goes on from ' + state) == 2)
    for session, process in zip('abc', replays):
        t.stop_replay(process, relay, 'burst', session)
    lives[0].wait_for(lambda live: len(totals(live.lines())) == 3)
    lines = first + lives[0].finish(signal.SIGTERM)
    for session in 'abc':
        found = [line for line in lines if line.get('trace', {}).get('session') == session]
        windows = sum(line['count']['events'] for line in found if line['type'] == 'window')
        total = totals(found)[-1]['count']['events']
        assert (windows, total) == (one, one), (session, windows, total, one)
    assert subprocess.run([t.sillage, 'merge', state], stdout=subprocess.PIPE, check=True).stdout == b'', 'something is left'


class Screen:
    """A terminal of its own, by tmux: what is on it, keys pressed on it, its size."""

    def __init__(self, test, *command, size=(80, 24)):
        if not shutil.which('tmux'):
            raise Skip('no tmux')
        self.tmux = ['tmux', '-S', os.path.join(test.scratch, 'tmux')]
        shell = 'stty -a | tail -n +2 >%s; %s; echo status $?; exec sh' % (
            os.path.join(test.scratch, 'stty'), ' '.join("'%s'" % word for word in command))
        subprocess.run(self.tmux + ['-f', '/dev/null', 'new-session', '-d', '-x', str(size[0]), '-y',
                                    str(size[1]), shell], check=True,
                       env=dict(os.environ, TERM='xterm', LC_ALL='C.UTF-8'))
        test.cleanups.append(lambda: subprocess.run(self.tmux + ['kill-server'],
                                                    stderr=subprocess.DEVNULL))

    def text(self):
        return subprocess.run(self.tmux + ['capture-pane', '-p'], stdout=subprocess.PIPE,
                              check=True).stdout.decode()

    def pid(self):
        """Of the command, which a shell has started."""
        shell = subprocess.run(self.tmux + ['display-message', '-p', '#{pane_pid}'], stdout=subprocess.PIPE, check=True)
        return int(subprocess.run(['pgrep', '-P', shell.stdout.decode().strip()], stdout=subprocess.PIPE, check=True).stdout)

    def keys(self, *keys):
        subprocess.run(self.tmux + ['send-keys'] + list(keys), check=True)

    def resize(self, columns, lines):
        subprocess.run(self.tmux + ['resize-window', '-x', str(columns), '-y', str(lines)], check=True)

    def wait_for(self, what):
        """Until @what, a text or a function of the screen's text, is there."""
        test = what if callable(what) else lambda text: what in text
        wait_until(lambda: test(self.text()), lambda: 'not on the screen: %s\n%s' % (what, self.text()))
        return self.text()


def test_screen(t):
    """top on a recorded trace: lists, sorting, filter, windows, a thread, sizes, and leaving."""
    screen = Screen(t, t.sillage, 'top', '-i', '100ms', os.path.join(t.data, 'io-mix'))
    text = screen.wait_for('THREAD (TID)')
    assert 'window 1 of 3, paused' in text and '  0 [' in text and '  1 [' in text, text
    assert len(text.splitlines()) <= 24 and max(map(len, text.splitlines())) <= 80, text
    screen.keys('Right')
    screen.wait_for('window 2 of 3')
    screen.keys('End')
    screen.wait_for(lambda text: 'paused' not in text)
    screen.keys('Space')
    screen.wait_for('window 3 of 3')
    screen.keys('Home', '>')
    screen.wait_for('RUN%v')
    screen.keys('>')
    screen.wait_for('SWITCHESv')
    screen.keys('r')
    screen.wait_for('SWITCHES^')
    screen.keys('/')
    screen.keys('pipe', 'Enter', 'Right')
    text = screen.wait_for('filter: pipe')
    assert 'io-pipe-w' in text and 'io-file-w' not in text, text
    screen.keys('Enter')
    text = screen.wait_for('syscalls threads')
    assert 'io threads' in text and 'sched' in text, text
    screen.keys('Escape')
    screen.wait_for('SWITCHES^')
    screen.keys('Escape', 'Tab')
    screen.wait_for('PROCESS (PID)')
    screen.resize(160, 50)
    text = screen.wait_for(lambda text: len(text.splitlines()[0]) > 90 and 'LONGEST' in text)
    screen.resize(40, 10)
    screen.wait_for(lambda text: 'q quit' in text.splitlines()[-1])
    screen.resize(80, 24)
    screen.keys('?')
    screen.wait_for('the other way round')
    screen.keys('q')
    screen.wait_for('status 0')
    # The keys may be echoed before the shell's prompt is: only the command's output has the words whole.
    screen.keys('stty -a | tail -n +2 | diff - %s && echo as it "was"' % os.path.join(t.scratch, 'stty'), 'Enter')
    screen.wait_for('as it was')


def test_screen_live(t):
    """top on a relay: windows come, the relay goes and comes back, SIGTERM gives the terminal back."""
    relay = t.relay()
    screen = Screen(t, t.sillage, 'top', '-i', '100ms', '--from', 'beginning', relay.live)
    t.replay(relay, 'burst', '--session', 's', '--hostname', 'h', '--wait-viewer', '--live-timer',
             '100ms', '--loop', '1000000')
    first = screen.wait_for('h/s/kernel')
    screen.wait_for(lambda text: text.splitlines()[0] != first.splitlines()[0])
    relay.stop(signal.SIGKILL)
    # The last message is seen: that of the relay, or of the session's own connection.
    screen.wait_for(lambda text: 'trying again' in text or 'connection lost' in text)
    screen.keys('Left')  # what there was can still be looked at
    screen.wait_for('paused')
    relay.start()
    screen.wait_for('is back')
    os.kill(screen.pid(), signal.SIGTERM)
    screen.wait_for('status 0')


def test_screen_jobs(t):
    """The key j finds what threads execute in the last packets; without them it says what to do."""
    relay = t.relay()
    t.replay(relay, 'timer-jobs', '--session', 's', '--hostname', 'h', '--wait-viewer', '--live-timer', '100ms', '--linger', '1000s')
    screen = Screen(t, 'env', 'TMPDIR=' + t.scratch, t.sillage, 'top', '--from', 'beginning', '--history', '100s', relay.live)
    screen.wait_for('THREAD (TID)')

    def looked(text):
        if 'JOBS FOUND' not in text or '299    5.00 ms' not in text:
            screen.keys('j')  # not all has come yet
        return 'JOBS FOUND' in text and '299    5.00 ms' in text
    text = screen.wait_for(looked)
    assert "--thread job --job 'job = periodic; every 5ms'" in text.replace('\n', ''), text
    screen.keys('Escape')
    screen.wait_for('THREAD (TID)')
    screen.keys('q')
    screen.wait_for('status 0')
    left = [name for name in os.listdir(t.scratch) if name.startswith('sillage-top-')]
    assert not left, left
    screen.keys("'%s' top '%s'" % (t.sillage, os.path.join(t.data, 'burst')), 'Enter')
    screen.wait_for('THREAD (TID)')
    screen.keys('j')
    screen.wait_for('report --discover TRACE')
    screen.keys('q')


def test_service(t):
    """As systemd runs it: ready, the watchdog is fed, stopping."""
    path = os.path.join(t.scratch, 'notify')
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notify:
        notify.bind(path)
        notify.settimeout(0.5)
        process = subprocess.Popen([t.sillage, 'live', '-q', '-f', 'json', '-o', '/dev/null', t.relay().live],
                                   env=dict(os.environ, NOTIFY_SOCKET=path, WATCHDOG_USEC='200000'))
        t.processes.append(process)

        def received():
            end = ASLEEP.now() + LIMIT
            while True:
                with contextlib.suppress(socket.timeout):
                    return notify.recv(100)
                assert ASLEEP.now() < end and process.poll() is None, 'it says nothing'

        assert received() == b'READY=1'
        assert [received() for _ in range(3)] == [b'WATCHDOG=1'] * 3
        process.terminate()
        while received() != b'STOPPING=1':
            pass
        assert ended(process) == 0


def test_triggers(t):
    """A burst of CPU time replayed at its own speed: the trigger fires in its phases and only there,
    while it happens, and runs its command."""
    with open(os.path.join(t.data, 'burst', 'truth.json')) as file:
        truth = json.load(file)
    phases = [(phase['start_ns'] + truth['clock_offset_ns'], phase['end_ns'] + truth['clock_offset_ns'])
              for phase in truth['workload']['threads'][0]['phases'] if phase['percent'] == 100]
    relay, said = t.relay(), os.path.join(t.scratch, 'said')
    path = os.path.join(t.scratch, 'triggers')
    with open(path, 'w') as file:
        file.write('[burst]\nwhen = cpu.thread[comm=burst-*].run > 95%% for 60ms\ndo = print\n'
                   'do = exec echo "$SILLAGE_SESSION $SILLAGE_END" >> %s\n'
                   '[quiet]\nwhen = cpu.cpu[0].busy > 90%% for 100ms\ndo = exec echo "$SILLAGE_END" >> %s.no\n' % (said, said))
    live = t.live('-a', 'count', '-i', '20ms', '--from', 'beginning', '--triggers', path, '--trigger',
                  'lost.events > 0', relay.live)
    t.play(live, relay, 'burst', '--session', 'b', '--hostname', 'h', '--live-timer', '100ms')
    live.wait_for(lambda one: totals(one.lines()))
    live.finish(signal.SIGTERM)
    lines = [line for line in live.lines() if line['type'] == 'trigger']
    fired = [line for line in lines if line['name'] == 'burst']
    assert len(fired) == len(phases) == 2 and {line['name'] for line in lines} <= {'burst', 'quiet'}, lines
    for line, (begin, end) in zip(fired, phases):
        assert begin - 20e6 <= line['begin'] <= begin + 20e6, (line, begin)
        assert line['end'] - line['begin'] == 60e6 and line['end'] < end, line
        assert line['values'][0]['row'] == 'burst-1 (18723)', line
        seen = [one for one in live.lines() if one['type'] == 'window' and one['end'] == line['end']][0]
        assert 'cpu' not in seen and seen['lag_ns'], seen
    def ends():
        """What the commands have written, which run at once, in any order."""
        with contextlib.suppress(FileNotFoundError), open(said) as file:
            return sorted(int(line.split()[1]) for line in file)

    wait_until(lambda: ends() == [line['end'] for line in fired], lambda: 'the command: %r' % ends())
    # (After the last event who ran goes on running, in windows of an idle trace.)
    end = t.analyze('burst')['end']
    assert all(line['end'] > end for line in lines if line['name'] == 'quiet'), 'fired without a reason'


def fetch(port, path='/metrics', **headers):
    with urllib.request.urlopen(urllib.request.Request('http://127.0.0.1:%d%s' % (port, path),
                                                       headers=headers)) as reply:
        return reply.headers['Content-Type'], reply.read().decode()


def samples(text):
    """{name: {labels: value}} of the text format."""
    found = collections.defaultdict(dict)
    for line in text.splitlines():
        if not line.startswith('#'):
            name, labels, value = re.match(r'(\w+)(?:\{(.*)\})? (\S+)$', line).groups()
            found[name][frozenset(re.findall(r'(\w+)="((?:[^"\\]|\\.)*)"', labels or ''))] = float(value)
    return found


def test_display(t):
    """--per, --sort and -n choose what is printed: triggers, captures and metrics are the same without."""
    seen = []
    for words in ((), ('--per', 'tid', '--sort', 'switches', '-n', '1')):
        relay, port, captures = t.relay(), free_ports(), os.path.join(t.scratch, 'captures%d' % len(seen))
        live = t.live('-a', 'cpu', '-i', '100ms', '--from', 'beginning', '--metrics', ':%d' % port, '--history', '1s',
                      '--capture-dir', captures, '--trigger', 'cpu.cpu[1].busy > 20%', '--trigger', 'cpu.process.run > 20%',
                      *words, relay.live)
        t.play(live, relay, 'burst', '--session', 's', '--hostname', 'h', '--speed', '0', '--live-timer', '100ms')
        live.wait_for(lambda one: totals(one.lines()))
        found = samples(fetch(port)[1])
        cpus = totals(live.lines())[0]['cpu']['cpus']
        assert (cpus == []) == bool(words), cpus
        fired = [{key: line[key] for key in ('name', 'begin', 'end', 'values')} for line in live.finish(signal.SIGINT)
                 if line['type'] == 'trigger']
        seen.append((fired, len(os.listdir(captures)) > 0,
                     {name: value for name, value in found.items() if name.startswith('sillage_cpu_')}))
    assert len(seen[0][0]) > 1 and seen[0][1] and 'sillage_cpu_cpus_busy_seconds_total' in seen[0][2], seen
    assert seen[0] == seen[1], seen


def test_metrics(t):
    """--metrics: counters are the totals; both formats are valid; a real Prometheus scrapes them."""
    relay, port = t.relay(), free_ports()
    live = t.live('-a', 'all', '-i', '100ms', '--from', 'beginning', '--metrics', ':%d' % port,
                  relay.live)
    t.play(live, relay, 'io-mix', '--session', 'm', '--hostname', 'h"\\x', '--speed', '0',
           '--live-timer', '100ms')
    live.wait_for(lambda one: totals(one.lines()))
    total = totals(live.lines())[0]
    kind, text = fetch(port)
    assert kind.startswith('text/plain; version=0.0.4'), kind
    found = samples(text)
    trace = {('host', 'h\\"\\\\x'), ('session', 'm'), ('domain', 'kernel')}

    def value(metric, **labels):
        return found[metric][frozenset(trace | {(key, str(label)) for key, label in labels.items()})]

    assert value('sillage_events_total') == total['count']['events']
    assert value('sillage_cpu_busy_seconds_total') * 1e9 - total['cpu']['busy_ns'] < 1
    for cpu in total['cpu']['cpus']:
        assert abs(value('sillage_cpu_cpus_busy_seconds_total', cpu=cpu['cpu']) * 1e9 - cpu['busy_ns']) < 1
    for call in total['syscalls']['by_name']:
        assert value('sillage_syscalls_by_name_time_seconds_count', name=call['name']) == call['time']['count']
        assert value('sillage_syscalls_by_name_time_seconds_bucket', name=call['name'],
                     le='+Inf') == call['time']['count']
    bounds = sorted(float(dict(labels)['le']) for labels in found['sillage_sched_wake_seconds_bucket'])
    assert all(b / a < 1.2503 for a, b in zip(bounds, bounds[1:-1])) and bounds[-2] > 30, bounds
    below = sum(count for power, count in total['sched']['wake']['log2'].items() if int(power) < 15)
    assert value('sillage_sched_wake_seconds_bucket', le='%.9f' % max(one for one in bounds if one * 1e9 < 2**15)) <= below
    for quantile, key in ((0.5, 'p50_ns'), (0.99, 'p99_ns')):
        rank = quantile * total['sched']['wake']['count']
        within = min(one for one in bounds if value('sillage_sched_wake_seconds_bucket', le='%.9f' % one if one < 1e9 else '+Inf') >= rank)
        assert within * 1e9 / 1.2503 <= total['sched']['wake'][key] <= within * 1e9 * 1.016, (quantile, within, total['sched']['wake'])
    processes = collections.Counter()
    for row in total['cpu']['processes']:
        processes[row['comm']] += row['run_ns']
    run = {dict(labels).get('comm'): seconds for labels, seconds in found['sillage_cpu_processes_run_seconds_total'].items()}
    assert run and abs(sum(run.values()) * 1e9 - sum(processes.values())) < len(run), (run, processes)
    # A window has the names that were known then, so only all of them together are the total's.
    for part, scale in (('count', 1), ('sum_ns', 1e9)):
        shown = found['sillage_sched_processes_wake_seconds_' + part.replace('_ns', '')]
        wanted = sum(row['wake'].get(part, 0) for row in total['sched']['processes'])
        assert wanted and abs(sum(shown.values()) * scale - wanted) < len(shown), (part, shown, wanted)
    assert any('pid_ns' in dict(labels) for labels in found['sillage_cpu_containers_run_seconds_total']), found
    assert 'containers' not in total['cpu'], 'text has lists of containers that were not asked for'
    assert found['sillage_relay_up'] == {frozenset({('relay', '%s:%d' % (relay.host, relay.port + 2))}): 1}
    assert len(text.splitlines()) < 8000 and 'path=' not in text and 'rank=' not in text, len(text.splitlines())
    kind, text = fetch(port, Accept='application/openmetrics-text; version=1.0.0')
    assert kind.startswith('application/openmetrics-text') and text.endswith('# EOF\n')
    for path, data in (('/', None), ('/metrics', b'x')):
        try:
            urllib.request.urlopen('http://127.0.0.1:%d%s' % (port, path), data)
            raise AssertionError('%s %s: not refused' % (path, data))
        except urllib.error.HTTPError as error:
            assert error.code in (404, 405, 413, 501), error
    if shutil.which('prometheus'):
        scrape(t, port, text, total)
        scrape_native(t, port, total)
    live.finish(signal.SIGTERM)
    taken = subprocess.run([t.sillage, 'live', '--metrics', '127.0.0.1:%d' % (relay.port + 2), relay.live],
                           stderr=subprocess.PIPE)
    assert taken.returncode == 1 and b'cannot listen' in taken.stderr, taken


def test_missing(t):
    """What is not recorded has no number: windows say what is missing, metrics have no series, triggers and
    misspelt names are warned of once."""
    for trace, unknown, known in (('ust', 'cpu', None), ('sched-compact', 'syscalls', 'cpu')):
        relay, port = t.relay(), free_ports()
        live = t.live('-a', 'cpu,syscalls,periods', '-i', '1ms', '--from', 'beginning', '--metrics', ':%d' % port,
                      '--trigger', unknown + '.' + {'cpu': 'busy < 100%', 'syscalls': 'calls < 100'}[unknown],
                      '--period', 'r = sched_swich; sched_out', relay.live)
        t.play(live, relay, trace, '--session', trace, '--hostname', 'h', '--speed', '0', '--live-timer', '100ms')
        live.wait_for(lambda one: totals(one.lines()))
        found = samples(fetch(port)[1])
        lines = live.lines()
        for line in [line for line in lines if line['type'] in ('window', 'total')]:
            events = {one['event'] for one in line[unknown]['missing']}
            assert ('sched_switch' if unknown == 'cpu' else 'syscall_*') in events, line
            assert all(value in (None, []) for key, value in line[unknown].items() if key != 'missing'), line
            if known:
                assert 'missing' not in line[known] and isinstance(line[known]['busy_ns'], int), line
        prefix = 'sillage_%s_' % unknown
        assert not [name for name in found if name.startswith(prefix)], found
        assert not known or 'sillage_%s_busy_seconds_total' % known in found, found
        assert any(('analysis', unknown) in labels for labels in found['sillage_not_recorded']), found
        assert not [line for line in lines if line['type'] == 'trigger']
        warned = [line['message'] for line in lines if line['type'] == 'warning' and line['what'] == 'names']
        assert len(warned) == 2, warned
        assert 'no event "sched_swich"' in warned[0] and 'cannot hold: not recorded' in warned[1], warned
        assert live.said().count('so far: ') == 2, live.said()
        live.finish(signal.SIGTERM)


def test_dashboard(t):
    """The command that contrib/prometheus.yml names serves every figure of the panels; the unit's does, but those of
    panels that say that they are of the full profile."""
    contrib = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..', 'contrib')
    with open(os.path.join(contrib, 'grafana', 'prometheus.json')) as file:
        panels = json.load(file)['panels']
    for name in ('prometheus.yml', 'sillage.service'):
        with open(os.path.join(contrib, name)) as file:
            text = file.read().replace('\\\n', ' ')
        variables = dict(one.split('=', 1) for line in re.findall('(?m)^Environment=(.*)', text) for one in line.split())
        text = re.sub(r'\$\{(\w+)\}', lambda found: variables[found.group(1)], text)
        words = re.search(r'sillage live (.*?) --metrics \S+( --metrics-profile \w+)?', text).groups()
        command = ' '.join(one for one in words if one).split()
        relay, port = t.relay(), free_ports()
        live = t.live(*command, '-i', '100ms', '--from', 'beginning', '--metrics', ':%d' % port, relay.live)
        t.play(live, relay, 'io-mix', '--session', 'm', '--hostname', 'h', '--speed', '0', '--live-timer', '100ms')
        live.wait_for(lambda one: totals(one.lines()))
        found = samples(fetch(port)[1])
        asked = {name: panel['title'] for panel in panels for target in panel['targets']
                 if '--metrics-profile' not in command or '--metrics-profile full' not in panel.get('description', '')
                 for name in re.findall(r'\bsillage_\w+', target['expr'])}
        # A native histogram has no suffix, and only a scrape by protobuf (test_metrics) has it.
        missing = {one: title for one, title in asked.items() if one not in found and one + '_bucket' not in found}
        assert len(asked) > 8 and not missing, (name, missing)
        series = sum(len(labels) for labels in found.values())
        assert (series <= 300) == (name == 'sillage.service'), (name, series)
        live.finish(signal.SIGTERM)


def as_grafana_asks(one, query):
    """A panel's query, with the variables as Grafana fills them in: patterns in a string of all hosts, all sessions, four scrapes."""
    for name in ('host', 'session'):
        values = json.loads(fetch(one.port, '/api/v1/label/%s/values?match[]=sillage_events_total' % name)[1])['data']
        assert values, name
        query = query.replace('$' + name, '(%s)' % '|'.join(map(re.escape, values)).replace('\\', '\\\\'))
    return query.replace('$__rate_interval', '4s')


def test_panels(t):
    """The queries of the panels for Prometheus, asked of one that scrapes a live run: none is without a figure."""
    if not shutil.which('prometheus'):
        raise Skip('prometheus is not installed')
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..', 'contrib', 'grafana', 'prometheus.json')) as file:
        panels = json.load(file)['panels']
    relay, port = t.relay(), free_ports()
    live = t.live('-a', 'all', '--from', 'beginning', '--metrics', ':%d' % port, relay.live)
    replay = t.replay(relay, 'io-mix', '--session', 'm.1', '--hostname', 'h', '--as-now', '--loop', '1000', '--wait-viewer', '--live-timer', '100ms')
    one, known = Prometheus(t, port), {}
    assert one.ask('sillage_events_total')
    for panel in panels:
        queries = [as_grafana_asks(one, target['expr']) for target in panel['targets']]
        # Where there are two for a histogram, one is for a Prometheus that stores native ones.
        native = [query for query in queries if 'histogram_quantile' in query and '_bucket' not in query]
        plain = [query for query in queries if query not in native]
        for query in plain:
            for metric in one.ask(query + ' >= 0'):  # without NaN, which is what a quantile of nothing is
                value = float(metric['value'][1])
                assert metric['metric'].get('host', 'h') == 'h' and value < float('inf'), (panel['title'], query, metric)
                known.setdefault(panel['title'], []).append(value)
        for query in native:
            reply = json.loads(fetch(one.port, '/api/v1/query?query=' + urllib.parse.quote(query))[1])
            assert reply['status'] == 'success', reply
        # The first scrapes may have nothing but zeroes.
        known[panel['title']] += [float(metric['value'][1]) for metric in one.ask(' or '.join('(%s > 0)' % query for query in plain))]
    assert len(known) == len(panels) > 7, (sorted(known), len(panels))
    # A share; on a busy machine windows come in bursts, several within the four scrapes.
    assert 0 < max(known['CPU busy']) < 10, known['CPU busy']
    live.finish(signal.SIGTERM)
    replay.kill()


def test_alerts(t):
    """contrib/prometheus-rules.yml: promtool's own tests of it hold, and all that it asks for is served."""
    contrib = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..', 'contrib')
    rules = os.path.join(contrib, 'prometheus-rules.yml')
    if not shutil.which('promtool'):
        raise Skip('promtool is not installed')
    for words in (['check', 'rules', rules], ['test', 'rules', os.path.join(contrib, 'prometheus-rules-test.yml')]):
        done = subprocess.run(['promtool', *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        assert done.returncode == 0, done.stdout.decode()
    relay, port = t.relay(), free_ports()
    live = t.live('-a', 'cpu', '-i', '100ms', '--from', 'beginning', '--metrics', ':%d' % port, '--metrics-profile', 'small',
                  '--store', os.path.join(t.scratch, 'alerts.db'), '--trigger', 'cpu.busy > 0%',
                  '--trigger', '99.5% of windows: cpu.busy < 0%', relay.live)
    t.play(live, relay, 'io-mix', '--session', 'm', '--hostname', 'h', '--speed', '0', '--live-timer', '100ms')
    live.wait_for(lambda one: totals(one.lines()))
    text = fetch(port)[1]
    with open(rules) as file:
        asked = set(re.findall(r'\b(sillage_\w+)(\{[^}]*\})?', file.read()))
    assert len(asked) > 10, asked
    for name, where in asked:
        assert re.search(r'(?m)^# TYPE %s ' % name, text), name
        # A label that no series has would be an alert that never fires.
        for label in re.findall(r'\w+="[^"]*"', where):
            assert re.search(r'(?m)^%s\{.*\b%s.*\}' % (name, label), text), (name, label)
    # The names that alerts tell.
    assert all(re.search(r'(?m)^%s' % one, text) for one in (
        r'sillage_relay_up\{relay="', r'sillage_triggers_fired_total\{trigger="cpu', r'sillage_lag_seconds\{host="h",session="m"')), text
    name, = samples(text)['sillage_objective_ratio']
    assert samples(text)['sillage_objective_ratio'][name] == 0.995, name
    live.finish(signal.SIGTERM)


def scrape(t, port, text, total):
    """promtool takes the text, and a Prometheus of our own has its figures."""
    plain = fetch(port)[1]
    checked = subprocess.run(['promtool', 'check', 'metrics'], input=plain.encode(),
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert b'error' not in checked.stdout.lower(), checked.stdout[:500]
    result = Prometheus(t, port).ask('sillage_events_total')
    assert float(result[0]['value'][1]) == total['count']['events'], result


class Prometheus:
    """One of our own that scrapes a port."""

    def __init__(self, t, port, *options):
        self.port = free_ports()
        config = os.path.join(t.scratch, 'prometheus-%d.yml' % self.port)
        with open(config, 'w') as file:
            file.write('global: {scrape_interval: 1s}\nscrape_configs:\n- job_name: sillage\n'
                       '  static_configs: [{targets: ["127.0.0.1:%d"]}]\n' % port)
        self.process = subprocess.Popen(
            ['prometheus', '--config.file', config, '--storage.tsdb.path', os.path.join(t.scratch, 'tsdb-%d' % self.port),
             '--web.listen-address', '127.0.0.1:%d' % self.port, *options], stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL)
        t.processes.append(self.process)

    def ask(self, query):
        """Its series, once there are any."""
        def found():
            with contextlib.suppress(OSError):
                path = '/api/v1/query?query=' + urllib.parse.quote(query)
                return json.loads(fetch(self.port, path)[1])['data']['result']

        result = []
        wait_until(lambda: result.extend(found() or []) or result, 'Prometheus has nothing of ' + query)
        return result


def scrape_native(t, port, total):
    """A Prometheus with native histograms: their counts, sums and quantiles are those of the total."""
    with urllib.request.urlopen(urllib.request.Request('http://127.0.0.1:%d/metrics' % port, headers={
            'Accept': 'application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited'})) as reply:
        form = reply.headers['Content-Type']
        assert form.startswith('application/vnd.google.protobuf; proto=io.prometheus.client'), form
    one = Prometheus(t, port, '--enable-feature=native-histograms')
    for name, figures in [('', total['sched']['wake'])] + [(call['name'], call['time']) for call in total['syscalls']['by_name']]:
        metric = 'sillage_syscalls_by_name_time_seconds{name="%s"}' % name if name else 'sillage_sched_wake_seconds'
        if figures['count'] == 0:
            continue
        series, = one.ask(metric)
        assert 'value' not in series and int(series['histogram'][1]['count']) == figures['count'], series
        assert abs(float(series['histogram'][1]['sum']) * 1e9 - figures['sum_ns']) <= 1e-9 * figures['sum_ns'], series
        for q, key in ((0.5, 'p50_ns'), (0.95, 'p95_ns'), (0.99, 'p99_ns'), (0.999, 'p999_ns')):
            got = float(one.ask('histogram_quantile(%g, %s)' % (q, metric))[0]['value'][1]) * 1e9
            assert figures[key] / 2 ** (1 / 16) <= got * (1 + 1e-9) <= figures[key] * 2 ** (1 / 16) * (1 + 2e-9), (
                metric, key, got, figures[key])
    plain = samples(fetch(port)[1])
    for name in ('sillage_events_total', 'sillage_cpu_cpus_busy_seconds_total', 'sillage_relay_up', 'sillage_build_info'):
        found = {frozenset((key, value.replace('\\', '\\\\').replace('"', '\\"')) for key, value in series['metric'].items()
                           if key not in ('__name__', 'instance', 'job')): float(series['value'][1]) for series in one.ask(name)}
        assert found == plain[name], (name, found, plain[name])


def test_totals_on_signals(t):
    """SIGUSR1 prints totals so far, SIGHUP reopens the file, SIGINT ends with totals."""
    relay = t.relay()
    path = os.path.join(t.scratch, 'log')
    live = t.live('-i', '100ms', '--from', 'beginning', '-o', path, relay.live + '/host/h/u')
    replay = t.replay(relay, 'burst', '--session', 'u', '--hostname', 'h', '--wait-viewer', '--live-timer',
                      '100ms', '--linger', LONG)
    live.wait_for(lambda one: os.path.exists(path) and '"window"' in open(path).read())
    live.process.send_signal(signal.SIGUSR1)
    live.wait_for(lambda one: '"so_far":true' in open(path).read())
    os.rename(path, path + '.1')
    live.process.send_signal(signal.SIGHUP)
    live.wait_for(lambda one: os.path.exists(path))
    live.finish(signal.SIGINT)
    lines = [json.loads(line) for name in (path + '.1', path) for line in open(name)]
    check_sums(lines)
    assert lines[0]['type'] == 'start' and lines[-1]['type'] == 'end' and lines[-1]['exit'] == 0
    replay.kill()


def test_windows_limit(t):
    """--windows stops by itself."""
    relay = t.relay()
    live = t.live('-i', '50ms', '--windows', '3', '--from', 'beginning', relay.live)
    replay = t.replay(relay, 'burst', '--session', 'n', '--hostname', 'h', '--wait-viewer', '--linger', LONG)
    lines = live.finish()
    assert len([line for line in lines if line['type'] == 'window']) == 3, lines
    replay.kill()


def test_tables(t):
    """csv of a live run: tables are written when it ends, and have the rows of the recorded trace."""
    trace, tables = os.path.join(t.data, 'io-mix', 'kernel'), [os.path.join(t.scratch, name) for name in ('recorded', 'live')]
    words = ['-f', 'csv', '-a', 'cpu,io', '-i', '50ms', '-n', '400', '-o']
    subprocess.run([t.sillage, 'analyze', '-q', *words, tables[0], trace], check=True)
    relay = t.relay()
    live = t.live(*words, tables[1], '--from', 'beginning', '--windows', '3', relay.live)
    t.replay(relay, 'io-mix', '--session', 's', '--hostname', 'h', '--wait-viewer', '--linger', LONG)
    assert ended(live.process) == 0, live.said()
    for name in 'cpu', 'cpu.threads', 'io.threads':
        rows = []
        for folder in tables:
            with open(os.path.join(folder, name + '.csv'), newline='') as file:
                rows.append([{key: value for key, value in row.items() if not key.startswith('trace')}
                             for row in csv.DictReader(file) if row['type'] == 'window'])
        ends = sorted({row['end'] for row in rows[1]})
        rows[0] = [row for row in rows[0] if row['end'] in ends]
        assert len(ends) >= (3 if name == 'cpu' else 1) and rows[1] == rows[0], (name, [pair for pair in zip(rows[1], rows[0]) if pair[0] != pair[1]][:2])


def test_reader_gone(t):
    """Nobody reads standard output any more: ends without a message, as by SIGPIPE."""
    relay = t.relay()
    process = subprocess.Popen([t.sillage, 'live', '-f', 'json', '-i', '50ms', '--from', 'beginning',
                                relay.live], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    t.processes.append(process)
    process.stdout.close()
    replay = t.replay(relay, 'burst', '--session', 'p', '--hostname', 'h', '--linger', LONG)
    assert ended(process) == 128 + signal.SIGPIPE
    assert b'ipe' not in process.stderr.read()
    replay.kill()


def test_wrong_port(t):
    """The ports for tracers close the connection of a viewer: the message names the port for viewers."""
    relay = t.relay()
    for port in (relay.port, relay.port + 1):
        found = subprocess.run([t.sillage, 'list', 'net://127.0.0.1:%d' % port], stderr=subprocess.PIPE)
        assert found.returncode == 1 and b'is this the live port of a relay (5344' in found.stderr, found.stderr
        live = t.live('net://127.0.0.1:%d' % port)  # it tries again: it says so at the first try
        live.wait_said('is this the live port of a relay (5344')
        assert live.said().count('\n') <= 2, live.said()
        live.finish(signal.SIGTERM, status=0)
    found = subprocess.run([t.sillage, 'list', relay.live], stderr=subprocess.PIPE)
    assert found.returncode == 0, found.stderr
    found = subprocess.run([t.sillage, 'replay', '-q', os.path.join(t.data, 'ust'), '--to', relay.live], stderr=subprocess.PIPE)
    assert found.returncode == 1 and b'--to takes that of control, 5342' in found.stderr, found.stderr


def test_as_now(t):
    """Windows of a trace replayed as of now come at most live timer + 50 ms + one packet late."""
    relay = t.relay()
    live = t.live('-i', '100ms', '--from', 'beginning', relay.live + '/host/h/now')
    t.play(live, relay, 'small-packets', '--session', 'now', '--hostname', 'h', '--as-now', '--live-timer',
           '100ms')
    lags = [line['lag_ns'] for line in live.finish() if line['type'] == 'window']
    assert lags and all(lag >= 0 for lag in lags), lags


# ---- another producer: the shared publisher, where it is there ----

def publish(t, relay, trace, session, *args, domains=('kernel',)):
    tool = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..', '..', 'shared', 'tools',
                        'relay-publish')
    if not os.path.exists(tool):
        raise Skip('no relay-publish')
    process = subprocess.Popen([tool, *[os.path.join(t.data, trace, one) for one in domains], '--session', session,
                                '--hostname', 'h', '--control', '127.0.0.1:%d' % relay.port,
                                '--wait-viewer'] + list(args),
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    t.processes.append(process)
    return process


def published(t, trace, *args, linger=None, is_enough=lambda lines: totals(lines)[0]['count']['events'] > 0):
    """Lines and total of live, for a trace played by the publisher: slower if live had not come so far before
    it was over, or with a longer @linger if that is given."""
    for number in slower(1) if linger is None else longer(linger):
        words = ('--speed', number) if linger is None else ('--speed', '1', '--linger', number)
        relay = t.relay()
        live = t.live('-i', '100ms', '--from', 'beginning', relay.live + '/host/h/p')
        publish(t, relay, trace, 'p', '--live-timer-us', '100000', *words, *args)
        lines = live.finish()
        if totals(lines) and is_enough(lines):
            check_sums(lines)
            return lines, totals(lines)[0]


def test_published(t):
    """The other producer, also with metadata that grows while it plays."""
    wanted = t.analyze('small-packets', '-i', '100ms')
    for args in ((), ('--extra-metadata', '5')):
        _, total = published(t, 'small-packets', *args)
        assert figures(total) == figures(wanted), args


def test_published_chunks(t):
    """A session that is rotated or cleared: what was not read is lost and said, no more."""
    # It must stay a little after the last rotation: relayd 2.13 cannot lead a viewer who has not
    # asked since to a chunk that is already closed, and says nothing of it.  Windows after the last
    # event are there only if it has asked since.
    wanted = t.analyze('small-packets', '-i', '100ms')

    def has_asked(lines):
        return any(line['type'] == 'window' and line['begin'] >= wanted['end'] for line in lines)

    for args in (('--rotate-at', '0.3,0.6', '--chunk-pause', '0.2'), ('--clear-at', '0.5')):
        lines, total = published(t, 'small-packets', *args, linger=2, is_enough=has_asked)
        lost = wanted['count']['events'] - total['count']['events']
        said = {line['what'] for line in lines if line['type'] == 'warning'}
        assert lost >= 0 and (lost == 0 or said & {'lost-packets', 'late-start'}), (lost, said)


def test_published_abort(t):
    """A producer that crashes: live ends, with windows and totals of what it had."""
    _, total = published(t, 'small-packets', '--abort')
    assert 0 < total['count']['events'] <= t.analyze('small-packets', '-i', '100ms')['count']['events']


# ---- LTTng-UST ----

class Ust:
    """A session daemon of our own, as an unprivileged user when we are root."""

    def __init__(self, test, relay):
        for program in ('lttng', 'lttng-sessiond'):
            if not shutil.which(program):
                raise Skip(program + ' is not installed')
        self.home = os.path.join(test.scratch, 'ust')
        os.mkdir(self.home)
        self.app = os.path.join(self.home, 'app')
        shutil.copy(test.app, self.app)
        self.user = []
        if os.getuid() == 0:
            self.user = ['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups', '--']
            os.chown(self.home, 65534, 65534)
        # The last: the daemon drops a program that does not answer for 5 s, else.
        self.env = dict(os.environ, HOME=self.home, LTTNG_HOME=self.home, LTTNG_UST_REGISTER_TIMEOUT='-1',
                        LTTNG_APP_SOCKET_TIMEOUT='-1')
        self.control = 'net://127.0.0.1:%d:%d' % (relay.port, relay.port + 1)
        self.daemon = subprocess.Popen(self.user + ['lttng-sessiond', '--no-kernel'], env=self.env,
                                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        test.processes.append(self.daemon)
        test.cleanups.append(self.close)
        wait_until(lambda: subprocess.run(self.user + ['lttng', '--no-sessiond', 'list'], env=self.env,
                                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0,
                   'lttng-sessiond does not answer')

    def lttng(self, *args):
        done = run(self.user + ['lttng', '--no-sessiond'] + list(args), env=self.env, stdout=subprocess.PIPE,
                   stderr=subprocess.STDOUT)
        assert done.returncode == 0, done.stdout.decode()

    def start(self, name, per_process=False, events='sillage_test:*'):
        self.lttng('create', name, '--live=100000', '--set-url=' + self.control)
        self.lttng('enable-channel', '-u', '-s', name, '--buffers-pid' if per_process else '--buffers-uid',
                   'c')
        self.lttng('enable-event', '-u', '-s', name, '-c', 'c', events)
        self.lttng('start', name)

    def run(self, rounds, delay_us=0):
        done = run(self.user + [self.app, str(rounds), str(delay_us)], env=self.env)
        assert done.returncode == 0, done

    def close(self):
        run(self.user + ['lttng', '--no-sessiond', 'destroy', '-a'], env=self.env, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL)
        self.daemon.terminate()
        ended(self.daemon)


def events_seen(live):
    return sum(line['count']['events'] for line in live.lines() if line['type'] == 'window')


def test_ust(t):
    """Attached before and after the program starts, two sessions, one stopped and destroyed."""
    relay = t.relay()
    ust = Ust(t, relay)
    ust.start('one')
    live = t.live('-a', 'count', '-i', '100ms', '--from', 'beginning', relay.live)
    ust.run(200)                      # after attaching
    ust.start('two')                  # a second session, while the first is followed
    ust.run(100)                      # traced by both
    live.wait_for(lambda one: one.said().count('attached to') == 2)
    ust.lttng('stop', 'two')          # (LTTng 2.13.9 cannot destroy the older of two: it hangs)
    ust.lttng('destroy', 'two')
    live.wait_for(lambda one: len(totals(one.lines())) == 1)
    ust.run(50)
    late = t.live('-a', 'count', relay.live + '/host/*/one*')
    late.wait_said('another viewer')
    ust.lttng('destroy', 'one')
    live.wait_for(lambda one: len(totals(one.lines())) == 2)
    lines = live.finish(signal.SIGTERM)
    late.finish(signal.SIGTERM)
    check_sums(lines)
    found = {}
    for line in totals(lines):
        found[re.sub(r'-\d{8}-\d{6}$', '', line['trace']['session'])] = line['count']
    assert found['one']['events'] == 1050, found
    assert found['two']['events'] == 300, found
    assert found['one']['by_name']['sillage_test:scalars'] == 350


def test_ust_late_attach(t):
    """Attached after the program has started, from now on: nothing twice, nothing invented."""
    relay = t.relay()
    ust = Ust(t, relay)
    ust.start('late')
    ust.run(100)
    time.sleep(0.5)                   # the live timer brings it to the relay
    live = t.live('-a', 'count', '-i', '100ms', relay.live)
    live.wait_said('attached to')
    ust.run(10)
    ust.lttng('destroy', 'late')
    live.wait_for(lambda one: totals(one.lines()))
    events = totals(live.finish(signal.SIGTERM))[0]['count']['events']
    assert 30 <= events <= 330, events


def test_ust_per_process(t):
    """Per-process buffers: each program is a trace of its own, and comes and goes."""
    relay = t.relay()
    ust = Ust(t, relay)
    ust.start('pid', per_process=True)
    live = t.live('-a', 'count', '-i', '100ms', '--from', 'beginning', relay.live)
    begin = time.monotonic()
    programs = [subprocess.Popen(ust.user + [ust.app, '1000000', '100000'], env=ust.env) for _ in range(2)]
    t.processes += programs

    def seen(one):
        """Events of each trace in its windows."""
        found = collections.Counter()
        for line in one.lines():
            if line['type'] == 'window':
                found[str(line['trace'])] += line['count']['events']
        return list(found.values())

    # relayd before 2.14 forgets what is unread when a program exits (doc/viewer-protocol.md, A9).
    live.wait_for(lambda one: len(seen(one)) == 2 and min(seen(one)) >= 30)
    for program in programs:
        program.terminate()
        ended(program)
    rounds = (time.monotonic() - begin) / 0.1 + 1
    ust.lttng('destroy', 'pid')
    live.wait_for(lambda one: len(totals(one.lines())) >= 2)
    lines = live.finish(signal.SIGTERM)
    check_sums(lines)
    assert len(totals(lines)) == 2, totals(lines)
    for line in totals(lines):
        assert 30 <= line['count']['events'] <= 3 * rounds, (line['count'], rounds)


def test_own_tracepoints(t):
    """A sillage that is traced by LTTng-UST, and one that reads that session live."""
    probe = os.path.join(os.path.dirname(t.sillage), 'sillage-probe.so')
    if not os.path.exists(probe):
        raise Skip('built without LTTng-UST')
    with open(t.sillage, 'rb') as file:
        if re.search(rb'__[at]san_init', file.read()):
            raise Skip('a sanitizer has to be loaded first')
    relay = t.relay()
    ust = Ust(t, relay)
    for path in (t.sillage, probe):
        shutil.copy(path, ust.home)
    shutil.copytree(os.path.join(t.data, 'small-packets'), os.path.join(ust.home, 'trace'))
    ust.lttng('create', 'own', '--live=100000', '--set-url=' + ust.control)
    ust.lttng('enable-event', '-u', '-s', 'own', 'sillage:*')
    ust.lttng('add-context', '-u', '-s', 'own', '-t', 'vpid', '-t', 'procname')
    ust.lttng('start', 'own')
    live = t.live('-a', 'count,ust', '-i', '100ms', '--from', 'beginning', relay.live + '/host/*/own')
    live.wait_for(lambda one: any(line['type'] == 'start' for line in one.lines()))
    out = subprocess.run(ust.user + ['env', 'LD_PRELOAD=' + os.path.join(ust.home, 'sillage-probe.so'),
                                     os.path.join(ust.home, 'sillage'), 'analyze', '-q', '-f', 'json', '-i', '100ms',
                                     '-j', '2', '--chunk-size', '4096', '--trigger', 'count.events > 0',
                                     os.path.join(ust.home, 'trace')], stdout=subprocess.PIPE, check=True,
                         env=ust.env)
    lines = [json.loads(line) for line in out.stdout.decode().splitlines()]
    windows = sum(line['type'] == 'window' for line in lines)

    def names(one):
        found = collections.Counter()
        for line in one.lines():
            if line['type'] == 'window':
                found.update(line['count']['by_name'])
        return found

    live.wait_for(lambda one: names(one)['sillage:window'] == windows and
                  names(one)['sillage:job_end'] == names(one)['sillage:job_begin'])
    found = names(live)
    assert windows > 2 and found['sillage:trigger'] == 1 and found['sillage:round'] >= windows, found
    assert found['sillage:chunk'] > 10 and found['sillage:job_begin'] >= found['sillage:chunk'], found
    ust.lttng('destroy', 'own')
    live.finish(signal.SIGTERM)
    processes = totals(live.lines())[0]['ust']['processes']
    assert [row['procname'] for row in processes] == ['sillage'], processes


def test_ust_not_live(t):
    """A session without a live timer: said once, not over and over."""
    relay = t.relay()
    ust = Ust(t, relay)
    ust.lttng('create', 'still', '--set-url=' + ust.control)
    ust.lttng('enable-event', '-u', '-s', 'still', 'sillage_test:*')
    ust.lttng('start', 'still')
    ust.run(1)
    live = t.live(relay.live)
    live.wait_said('not a live session')
    time.sleep(1)
    live.finish(signal.SIGTERM)
    assert live.said().count('not a live session') == 1, live.said()


def test_ust_clear(t):
    """`lttng clear` while live runs: it goes on, and the accounts add up."""
    relay = t.relay()
    ust = Ust(t, relay)
    ust.start('clear')
    live = t.live('-a', 'count', '-i', '100ms', '--from', 'beginning', relay.live)
    ust.run(100)
    live.wait_for(lambda one: events_seen(one) >= 1)
    ust.lttng('clear', 'clear')
    ust.run(100)
    ust.lttng('destroy', 'clear')
    live.wait_for(lambda one: totals(one.lines()))
    lines = live.finish(signal.SIGTERM)
    check_sums(lines)
    total = totals(lines)[0]['count']
    assert 300 <= total['events'] <= 600, total
    assert total['events'] == 600 or total['lost_packets'] > 0, total


def counted(trace):
    """Events by babeltrace2, which knows no rotation: chunks come one after the other."""
    r = subprocess.run(['babeltrace2', trace], stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=True)
    return len(r.stdout.splitlines())


def analyzed(t, path):
    out = subprocess.run([t.sillage, 'analyze', '-q', '-f', 'json', path], stdout=subprocess.PIPE, check=True)
    return [json.loads(line) for line in out.stdout.decode().splitlines()]


def by_pieces(t, out):
    """Chunk by chunk as they came, from state to state: as all of them at once."""
    state = os.path.join(t.scratch, 'pieces')
    archives = os.path.join(out, 'archives')
    pieces = [os.path.join(archives, name) for name in sorted(os.listdir(archives), key=lambda name: int(name.split('-')[-1]))]
    pieces += [path for path in [os.path.join(out, 'ust')] if os.path.isdir(path)]
    asked = ['-q', '-f', 'json', '-a', 'all', '-i', '20ms']
    lines = []
    for words in [['analyze'] + asked + ['--state', state, piece] for piece in pieces] + [['merge', '-q', '-f', 'json', state]]:
        done = subprocess.run([t.sillage] + words, stdout=subprocess.PIPE, check=True)
        lines += [json.loads(line) for line in done.stdout.decode().splitlines()]
    whole = subprocess.run([t.sillage, 'analyze'] + asked + [out], stdout=subprocess.PIPE, check=True)
    whole = [json.loads(line) for line in whole.stdout.decode().splitlines()]
    for kind in ('window', 'total'):
        ours = [plain(line) for line in lines if line['type'] == kind and not line.get('so_far')]
        theirs = [plain(line) for line in whole if line['type'] == kind]
        assert len(pieces) >= 3 and ours == theirs, '%d pieces, %s: %d, %d' % (len(pieces), kind, len(ours), len(theirs))


def test_ust_recorded(t):
    """Recorded by LTTng itself: rotated, with trace files of limited size, and as snapshots."""
    ust = Ust(t, t.relay())
    out = os.path.join(ust.home, 'recorded')
    ust.lttng('create', 'rotated', '--output=' + out)
    ust.lttng('enable-channel', '-u', '-s', 'rotated', '--tracefile-size=8192', '--subbuf-size=4096',
              '--num-subbuf=64', 'small')  # room for all, if what empties them is late
    ust.lttng('enable-event', '-u', '-s', 'rotated', '-c', 'small', 'sillage_test:*')
    ust.lttng('start', 'rotated')
    for _ in range(3):
        ust.run(100)
        ust.lttng('rotate', 'rotated')
    ust.run(100)
    ust.lttng('destroy', 'rotated')
    lines = analyzed(t, out)
    assert len(totals(lines)) == 1, '%d totals' % len(totals(lines))
    warnings = [line['message'] for line in lines if line['type'] == 'warning']
    assert not warnings, warnings
    found = totals(lines)[0]['count']['events'], counted(out)
    assert found == (1200, 1200), found
    by_pieces(t, out)

    snaps = os.path.join(ust.home, 'snaps')
    ust.lttng('create', 'snaps', '--snapshot', '--output=' + snaps)
    ust.lttng('enable-event', '-u', '-s', 'snaps', 'sillage_test:*')
    ust.lttng('start', 'snaps')
    for _ in range(2):
        ust.run(50)
        ust.lttng('snapshot', 'record', '-s', 'snaps')
    ust.lttng('destroy', 'snaps')
    found = totals(analyzed(t, snaps))
    assert [one['count']['events'] for one in found] == [150, 300], found
    # One by one: babeltrace2 takes what they have in common once.
    assert [counted(os.path.join(snaps, name)) for name in sorted(os.listdir(snaps))] == [150, 300]


def where(failure):
    """The line of a test that failed, and what it says if the failure says nothing."""
    at = [frame for frame in traceback.extract_tb(failure.__traceback__) if os.sep + 'tests' + os.sep in frame.filename][-1]
    return '%s:%d: %s' % (os.path.basename(at.filename), at.lineno, str(failure) or at.line)


def run_one(name, function, paths):
    """Its outcome, as the first word of a line."""
    test = Test(*paths)
    begin = time.time()
    try:
        try:
            function(test)
        finally:
            test.close()
        outcome = 'ok'
    except Skip as skip:
        outcome = 'skipped (%s)' % skip
    except (AssertionError, subprocess.SubprocessError, KeyError, IndexError) as failure:
        outcome = 'not ok: %s' % where(failure)
    word = 'not ok' if outcome.startswith('not ok') else outcome.split()[0]
    print('%s %s: %s (%.1f s)' % (word, name[5:], outcome, time.time() - begin), flush=True)
    return word


def test_beside(t):
    """What one trace of a session records is not missing in the other; of a name that is like one of its events live asks."""
    relay, folder = t.relay(), os.path.join(t.scratch, 'both')
    events = {'app:begin': (), 'app:end': ()}
    own = lambda data: data.replace(bytes(range(1, 17)), bytes(range(2, 18)))
    users = [models.made_event(10**9 + i * 10**7, 10, 11, ('app:begin', 'app:end')[i % 2], events=events)[1] for i in range(60)]
    text = models.made_metadata(events).replace('01020304-0506-0708-090a-0b0c0d0e0f10', '02030405-0607-0809-0a0b-0c0d0e0f1011')
    models.synthetic.Made(folder, 'ust', [own(models.synthetic.packet(0, 0, 10**9, 16 * 10**8, users))], text)
    switches = [models.synthetic.switch(10**9 + i * 10**7, i % 2 * 11, (1 - i % 2) * 11) for i in range(60)]
    models.synthetic.Made(folder, 'kernel', [models.synthetic.packet(0, 0, 10**9, 16 * 10**8, switches)])
    # With a state each has windows of its own; else both are one, since a job asks for them.
    for number, more in enumerate((['--state', os.path.join(t.scratch, 'state')], [])):
        live = t.live('-a', 'cpu,ust,jobs,periods', '-i', '100ms', '--from', 'beginning', '--job', 'j = app:begin; app:end', '--period',
                      'p = app:begni; app:end', *more, relay.live + '/host/h/s%d' % number)
        t.replay(relay, folder, '--session', 's%d' % number, '--hostname', 'h', '--live-timer', '100ms', '--wait-viewer', '--linger', '3s')
        domains = ['kernel', 'ust'][:2 - number]
        found = {line['trace']['domain']: line for line in totals(live.finish())}
        assert sorted(found) == domains, found
        for domain, total in found.items():
            lacks = {name: total[name].get('missing') for name in ('cpu', 'ust', 'jobs', 'periods')}
            assert lacks == {'cpu': None, 'ust': None, 'jobs': None, 'periods': [{'event': 'app:begni', 'near': 'app:begin'}]}, (domain, lacks)
        assert found['kernel']['cpu']['busy_ns'] and found[domains[-1]]['ust']['events'], found
        assert number == 1 or (found['ust']['cpu']['busy_ns'] is None and found['ust']['jobs']['ended'] == 30), found


def main(functions):
    """Runs those of @functions whose names begin with test_.  Most of their time they wait, so several
    run at once; but one session daemon is enough for the user that has it."""
    guard.adopt()
    paths = [os.path.abspath(path) for path in sys.argv[1:4]]
    only = sys.argv[5] if len(sys.argv) > 5 else ''
    wanted = [(name, function) for name, function in sorted(functions.items()) if name.startswith('test_') and only in name]
    with_ust = [one for one in wanted if 'Ust' in one[1].__code__.co_names]
    with concurrent.futures.ThreadPoolExecutor(LANES) as lanes:
        first = lanes.submit(lambda: [run_one(*one, paths) for one in with_ust])
        others = [lanes.submit(run_one, *one, paths) for one in wanted if one not in with_ust]
        words = first.result() + [one.result() for one in others]
    return 1 if 'not ok' in words else 0 if 'ok' in words else 77


if __name__ == '__main__':
    sys.exit(main(globals()))
