#!/usr/bin/env python3
"""bounded: `sillage live` and relays that send more than there is memory for (scripted_relay.py).

Each case is a relay that makes something grow, and is judged by one bound and one law:

    memory      with --bounds: the most that the process had (VmHWM) is at most --max-memory and the
                constants of the manual (sillage(1), --max-memory)
    turns       with --bounds: none of its loop took more than 100 ms of processor time, as a rule
    packets     those whose index the viewer was given = analysed + lost + left unread at the end
    the end     a run that waits for more is asked to end once the relay is asked for nothing

usage: bounded.py SILLAGE DATA [--bounds] [--only PATTERN] [--long] [-v]

    --bounds    not with sanitizers, which need memory and time of their own
    --long      the cases that last, and no others
"""
import argparse
import copy
import fnmatch
import json
import os
import random
import re
import signal
import socket
import sqlite3
import struct
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..'))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'property'))
import guard  # noqa: E402
import scripted_relay as relays  # noqa: E402
import synthetic  # noqa: E402
from scripted_relay import INDEX, LIST, PACKET, Packet, Relay, Rule, Session, Stream, Trace, raw  # noqa: E402

MIB = 1 << 20
MOST = 64  # MiB, --max-memory
TURN_MAX_NS = 200 * 10**6  # of processor time, which caches that others use make more
QUIET_S = 2.5
CASE_S = 120


# ---- what is served ----

class Zeros:
    """Bytes with zeros behind them, which take no memory before they are sent."""

    def __init__(self, data, size):
        self.data, self.size = data, size

    def __len__(self):
        return self.size

    def __getitem__(self, part):
        begin, end, _ = part.indices(self.size)
        data = self.data[begin:end]
        return ZerosPart(data, end - begin)


class ZerosPart(Zeros):
    def __getitem__(self, part):
        begin, end, _ = part.indices(self.size)
        data = self.data[begin:end]
        return data + bytes(end - begin - len(data))


def made(like, name, count, size):
    """A stream of packets of @size bytes that begin as @like does."""
    stream = Stream.__new__(Stream)
    stream.name, stream.packets = name, []
    span = like.end - like.begin
    for number in range(count):
        head = bytearray(like.data)
        begin, end = like.begin + number * span, like.end + number * span
        struct.pack_into('<6Q', head, 32, begin, end, size * 8, size * 8, number, 0)
        entry = (number * size, size * 8, size * 8, begin, end, 0, like.stream_class, like.instance, number)
        stream.packets.append(Packet(stream, number, entry, Zeros(bytes(head), size)))
    return stream


def trace_of(like, streams, path='kernel', metadata=None):
    trace = Trace.__new__(Trace)
    trace.path, trace.streams = path, streams
    trace.metadata = like.metadata if metadata is None else metadata
    return trace


def text_of(metadata):
    """Without the headers of its packets."""
    text = b''
    while metadata[:4] == struct.pack('<I', 0x75D11D57):
        content, size = struct.unpack('<II', metadata[24:32])
        text += metadata[37:content // 8]
        metadata = metadata[size // 8:]
    return text + metadata


# ---- cases ----

class Case:
    def __init__(self, name, sessions, says=None, rules=list, most=MOST, is_long=False, options=(), check=None,
                 asks=(INDEX, PACKET), judge=None, after=None, turn_ns=TURN_MAX_NS, store=None, status=0,
                 **relay_options):
        self.name, self.sessions, self.says, self.rules, self.most = name, sessions, says, rules, most
        self.is_long, self.options, self.check, self.asks = is_long, list(options), check, asks
        self.relay_options, self.judge, self.after = relay_options, judge, after
        self.turn_ns, self.store, self.status = turn_ns, store, status


def without_metadata(like, traces):
    """4 MiB each, of which a gigabyte and more could wait."""
    streams = [made(like.packets()[0], 'channel0_%d' % k, 300 // traces, 4 * MIB) for k in range(traces)]
    session = Session('s', [trace_of(like, [stream], 'kernel%d' % k) for k, stream in enumerate(streams)])
    session.metadata_at = {number: 0 for number, _, stream in session.ids() if stream is None}
    return [session]


def renamed(like, number):
    stream = copy.copy(like)
    stream.name = '%s_%d' % (like.name, number)
    stream.packets = [copy.copy(packet) for packet in like.packets]
    for packet in stream.packets:
        packet.stream = stream
    return stream


def with_metadata(like, metadata):
    """A trace of each."""
    return [Session('s', [trace_of(like, [renamed(stream, k) for stream in like.streams], 'kernel%d' % k, one) for k, one in enumerate(metadata)])]


def small_sessions(like, count, ends):
    sessions = []
    for k in range(count):
        stream = renamed(like.streams[1], k)
        stream.packets = stream.packets[:3]
        sessions.append(Session('s%d' % k, [trace_of(like, [stream])], number=k + 1, first_id=10 + 10 * k))
        sessions[-1].is_over = ends
    return sessions


def listed(count):
    session = Session('s', [], number=1)
    one = relays.session_bytes(session, 15)
    return struct.pack('>I', count) + b''.join(struct.pack('>Q', k) + one[8:] for k in range(count))


def big(like, size, count):
    return [Session('s', [trace_of(like, [made(like.packets()[0], 'channel0_%d' % k, count, size) for k in range(8)])])]


COME_AND_GO = 120000
HEAVY = 2  # the tid of the first, which runs for long


def come_and_go():
    """Threads that run and exit, a millisecond each: with all analyses a row of each takes more than a KiB."""
    stream = Stream.__new__(Stream)
    stream.name, stream.packets = 'channel0_0', []
    events, at, ms = [], 0, 10**6
    for i in range(COME_AND_GO):
        tid, ts = 2 + i, i * ms
        events += [synthetic.event(ts, 'sched_process_fork', 'child', tid, tid), synthetic.switch(ts + 100, 0, tid),
                   synthetic.switch(ts + (900000 if tid == HEAVY else 300), tid, 0, 16)]
        if len(events) == 3000:
            number = len(stream.packets)
            data = synthetic.packet(0, number, number * 1000 * ms, number * 1000 * ms + 999999999, events)
            entry = (at, len(data) * 8, len(data) * 8, number * 1000 * ms, number * 1000 * ms + 999999999, 0, 0, 0, number)
            stream.packets.append(Packet(stream, number, entry, data))
            events, at = [], at + len(data)
    trace = Trace.__new__(Trace)
    trace.path, trace.streams, trace.metadata = 'kernel', [stream], synthetic.metadata(0).encode()
    return [Session('s', [trace])]


def free_port():
    with socket.socket() as sock:
        sock.bind(('127.0.0.1', 0))
        return sock.getsockname()[1]


def ask(port):
    """A connection with little room in the kernel that asked for metrics."""
    sock = socket.socket()
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, 536)
    sock.settimeout(60)
    sock.connect(('127.0.0.1', port))
    sock.sendall(b'GET /metrics HTTP/1.0\r\nHost: localhost\r\n\r\n')
    return sock


def read_all(sock):
    got, data = b'', b'.'
    while data:
        data = sock.recv(1 << 16)
        got += data
    return got


def leave_unread(run, port):
    """Of so many answers some are refused, and none when nobody leaves any unread."""
    unread = [ask(port) for _ in range(UNREAD)]
    run.expect(any(b' 503 ' in one.recv(64) for one in unread), 'no answer is refused')
    for one in unread:
        one.close()
    while run.lasted() < CASE_S:  # the server has not seen yet that they are gone
        answer = read_all(ask(port))
        if answer.startswith(b'HTTP/1.0 200'):
            return
        time.sleep(0.1)
    run.expect(False, 'answers are refused for ever')


UNREAD = 60


class Locked:
    """A store that somebody else writes, from the first packet that the relay gives on."""
    path = held = None

    def lock(self, _):
        self.held = sqlite3.connect(self.path, timeout=60, isolation_level=None, check_same_thread=False)
        self.held.execute('BEGIN IMMEDIATE')

    def unlock(self):
        if self.held:
            self.held.close()


RUNNING, RUN_WINDOWS = 1000, 400


def one_cpu(packets):
    """A packet of 100 ms of each list of events."""
    stream = Stream.__new__(Stream)
    stream.name, stream.packets, at = 'channel0_0', [], 0
    for number, events in enumerate(packets):
        begin, end = number * 100 * 10**6, (number + 1) * 100 * 10**6 - 1
        data = synthetic.packet(0, number, begin, end, events)
        stream.packets.append(Packet(stream, number, (at, len(data) * 8, len(data) * 8, begin, end, 0, 0, 0, number), data))
        at += len(data)
    trace = Trace.__new__(Trace)
    trace.path, trace.streams, trace.metadata = 'kernel', [stream], synthetic.metadata(0).encode()
    return [Session('s', [trace])]


def every_thread_runs():
    """The same threads in each window of 100 ms, which has a row of each."""
    return one_cpu([synthetic.switch((number * RUNNING + i) * 10**5, 2 + (i - 1) % RUNNING, 2 + i, 1) for i in range(RUNNING)]
                   for number in range(RUN_WINDOWS))


def many_interrupts():
    """Metrics of each, 400 KB in all."""
    return one_cpu([[event for i in range(2000) for event in (
        synthetic.event(i * 10**4, 'irq_handler_entry', i, 'device-%d' % i), synthetic.event(i * 10**4 + 100, 'irq_handler_exit', i, 1))]])


def sums_up(run):
    """Sums are exact, the total says how many threads have no row, and who ran most has one."""
    total = [line for line in run.lines if line['type'] == 'total'][-1]
    rows = total['cpu']['threads']
    run.expect(sum(row['run_ns'] for row in rows) == total['cpu']['busy_ns'] == COME_AND_GO * 200 + 899900 - 200, 'run_ns %d, busy %d' % (sum(row['run_ns'] for row in rows), total['cpu']['busy_ns']))
    run.expect(sum(row['switches'] for row in rows) == COME_AND_GO, 'switches')
    run.expect(len(rows) - 1 + total['summed_threads'] == COME_AND_GO, '%d rows, %s in one' % (len(rows), total.get('summed_threads')))
    run.expect(any(row.get('tid') == HEAVY for row in rows), 'the thread that ran most is not shown')
    windows = [line for line in run.lines if line['type'] == 'window']
    run.expect(sum(line['cpu']['busy_ns'] for line in windows) == total['cpu']['busy_ns'], 'windows do not add up')


class Noise(Zeros):
    """The same with bytes that no packer makes smaller."""

    def __getitem__(self, part):
        begin, end, _ = part.indices(self.size)
        data = self.data[begin:end]
        return data + random.Random(begin).randbytes(end - begin - len(data))


def of_noise(like):
    """120 MiB of packets that are kept as they are, though nobody can read what is in them."""
    sessions = big(like, 2 * MIB, 15)
    for packet in sessions[0].traces[0].packets():
        packet.data = Noise(packet.data.data, 2 * MIB)
    return sessions


def cases(like):
    for count in (1, 4):
        yield Case('no-metadata-%d' % count, lambda count=count: without_metadata(like, count),
                   says='there was no metadata for them')
    # What has waited for ten seconds makes room for others.
    yield Case('no-metadata-given-up', lambda: without_metadata(like, 2), says='are lost: no more of them can wait',
               asks=(), is_long=True, check=lambda run: len(run.relay.delivered) > 4)
    text = text_of(like.metadata)
    comments = text + b'/*' + b'x' * (250 * MIB) + b'*/'
    yield Case('metadata-of-comments', lambda: with_metadata(like, [comments]), says='of metadata do not fit')
    many = text + b'/*' + b'x' * (60 * MIB) + b'*/'
    yield Case('metadata-12', lambda: with_metadata(like, [many] * 12), says='of metadata do not fit')
    types = text + b''.join(b'typealias integer { size = 8; signed = 0; } := t%d;\n' % i for i in range(600000))
    yield Case('metadata-of-types', lambda: with_metadata(like, [types] * 4), says='memory', metadata_piece=MIB)
    # A viewer asks for more at once, but not for ever.
    yield Case('metadata-of-bytes', lambda: with_metadata(like, [text]), metadata_piece=1, asks=(),
               check=lambda run: len(run.relay.log) > 4000 or run.lasted() > 6, judge=lambda run: run.expect(
                   len(run.relay.log) < 1500 + run.lasted() * 1000, '%d requests' % len(run.relay.log)))
    yield Case('sessions-1000', lambda: small_sessions(like, 1000, False), says='[0-9]+ sessions are not followed',
               asks=(PACKET,))
    # Those that end make room for others.
    yield Case('sessions-taken-up', lambda: small_sessions(like, 100, True), asks=(), is_long=True,
               check=lambda run: len(run.relay.announced) == 300)
    for count, says in ((3000, 'sessions are not followed'), (65536, 'a list of 65536 sessions does not fit')):
        yield Case('list-of-%d' % count, list, says=says, asks=(), options=['--retry', '1h'],
                   rules=lambda count=count: [Rule(LIST, raw(listed(count)), nth=0)],
                   check=lambda run: run.asked(LIST) > 1)
    yield Case('history', lambda: of_noise(like), options=('--history', '1h', '--capture-dir', os.devnull))
    # All analyses of a window of so many threads: one task of its round is one piece.
    yield Case('threads-that-end', come_and_go, options=('-a', 'all'), after=sums_up, turn_ns=2 * TURN_MAX_NS)
    # Windows that wait for a writer that does not go on, of 300 KiB each, are of the same account.
    store = Locked()
    yield Case('store-that-hangs', every_thread_runs, says='the writer is too slow: windows are lost', store=store, most=32, status=1,
               rules=lambda: [Rule(INDEX, relays.call(store.lock))], options=('-a', 'cpu,sched', '-i', '100ms', '--store-also', 'none'))
    # And windows of a minute that are being put together.  A slow machine loses some before.
    yield Case('threads-of-a-minute', come_and_go, store=Locked(), options=('-a', 'all'), status=None, turn_ns=2 * TURN_MAX_NS,
               rules=lambda: [Rule(INDEX, relays.call(lambda _: time.sleep(0.05)), nth=0)])
    # So are answers that nobody reads.
    port = free_port()
    yield Case('metrics-unread', many_interrupts, most=32, options=('-a', 'irq', '--metrics', '127.0.0.1:%d' % port),
               judge=lambda run: leave_unread(run, port))
    yield Case('packets-of-15M', lambda: big(like, 15 * MIB, 6))
    yield Case('packets-of-256M', lambda: big(like, 256 * MIB, 1), says='larger than a quarter of --max-memory')


# ---- a run ----

class Wrong(Exception):
    pass


def constant_of_manual(workers):
    """MiB."""
    root = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..')
    with open(os.path.join(root, 'doc', 'sillage.1.scd')) as file:
        text = ' '.join(file.read().split())
    constant, for_each = re.search(r'a constant of (\d+) MiB, and (\d+) MiB for each worker', text).groups()
    return int(constant) + workers * int(for_each)


class Run:
    def __init__(self, sillage, case, folder, constant):  # MiB; None: resources are not judged
        self.sillage, self.case, self.folder = sillage, case, folder
        self.bound = (case.most + constant) * MIB if constant is not None else None
        self.peak = self.read = 0  # bytes, and entries of the relay's log
        self.asked_at = None
        sessions = case.sessions()
        for session in sessions:
            session.unlists = True
        self.relay = Relay(sessions, case.rules(), **case.relay_options)
        self.said, self.lines = '', []

    def go(self):
        try:
            self.live()
            self.judge()
        finally:
            self.relay.close()

    def lasted(self):
        return time.monotonic() - self.begun

    def asked(self, command):
        return sum(one == command for _, _, one, _ in self.relay.log)

    def look(self, process):
        self.peak = max(self.peak, guard.peak_bytes(process.pid))
        if self.bound is not None:
            self.expect(self.peak <= self.bound, 'it had %d MiB, %d are allowed' % (self.peak // MIB, self.bound // MIB))

    def is_quiet(self):
        while self.read < len(self.relay.log):
            at, _, command, _ = self.relay.log[self.read]
            self.asked_at = at if command in self.case.asks else self.asked_at
            self.read += 1
        return self.asked_at is not None and time.monotonic() - self.asked_at > QUIET_S

    def live(self):
        words = [self.sillage, 'live', '-f', 'json', '--from', 'beginning', '-a', 'count,lost', '-j', '1', '--retry', '3s',
                 '--max-memory', '%dM' % self.case.most, *self.case.options, 'net://127.0.0.1:%d' % self.relay.port]
        paths = [os.path.join(self.folder, name) for name in ('out', 'err')]
        if self.case.store:
            self.case.store.path = os.path.join(self.folder, 'w.db')
            words += ['--store', self.case.store.path]
        self.begun, is_asked = time.monotonic(), False
        with open(paths[0], 'wb') as out, open(paths[1], 'wb') as err:
            process = subprocess.Popen(words, stdout=out, stderr=err)
        try:
            while process.poll() is None:
                self.look(process)
                time.sleep(0.02)
                if not is_asked and (self.is_quiet() or self.case.check and self.case.check(self)):
                    self.look(process)
                    is_asked = True
                    if self.case.judge:
                        self.case.judge(self)
                    if self.case.store:
                        self.case.store.unlock()
                    process.send_signal(signal.SIGTERM)
                self.expect(self.lasted() < CASE_S, 'it does not end')
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()
            with open(paths[1], errors='replace') as err:
                self.said = err.read()
        with open(paths[0]) as out:
            self.lines = [json.loads(line) for line in out]
        self.status = process.returncode

    def expect(self, fine, what):
        if not fine:
            raise Wrong('%s\n%s' % (what, self.said[-2000:]))

    def judge(self):
        for word in ('Sanitizer', 'runtime error:', 'Assertion', 'assertion'):
            self.expect(word not in self.said, word)
        self.expect(self.case.status is None or self.status == self.case.status, 'exit status %d' % self.status)
        self.expect(self.lines and self.lines[-1]['type'] == 'end', 'no last line')
        end = self.lines[-1]
        if self.bound is not None:
            self.expect(end['turn_max_ns'] <= self.case.turn_ns, 'a turn of its loop took %.1f ms' % (end['turn_max_ns'] / 1e6))
        given = len(self.relay.announced)
        self.expect(given == end['packets'] + end['lost_packets'] + end['unfetched_packets'],
                    '%d packets were announced, and the last line is %s' % (given, end))
        self.expect(self.case.says is None or re.search(self.case.says, self.said), 'it does not say "%s"' % self.case.says)
        if self.case.after:
            self.case.after(self)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('sillage')
    parser.add_argument('data')
    parser.add_argument('--bounds', action='store_true')
    parser.add_argument('--only', default='*')
    parser.add_argument('--long', action='store_true')
    parser.add_argument('--constant', type=int, help='in MiB, instead of those of the manual')
    parser.add_argument('-v', '--verbose', action='store_true')
    args = parser.parse_args()
    constant = (args.constant or constant_of_manual(1)) if args.bounds else None
    like = Trace(os.path.join(args.data, 'small-packets', 'kernel'))
    wrong = 0
    for case in cases(like):
        if not fnmatch.fnmatch(case.name, args.only) or case.is_long != args.long:
            continue
        begin = time.monotonic()
        with tempfile.TemporaryDirectory(prefix='sillage-bounded-') as folder:
            run = Run(args.sillage, case, folder, constant)
            try:
                run.go()
                print('ok %s: %d MiB, turns of %.1f ms, %d packets (%.1f s)' % (
                    case.name, run.peak // MIB, run.lines[-1]['turn_max_ns'] / 1e6, len(run.relay.announced),
                    time.monotonic() - begin))
            except Wrong as why:
                wrong += 1
                print('not ok %s: %s' % (case.name, why))
            if args.verbose:
                print(run.said)
            sys.stdout.flush()
    return 1 if wrong else 0


if __name__ == '__main__':
    sys.exit(main())
