#!/usr/bin/env python3
"""turns: one turn of the loop of `sillage live` is short, whatever comes, and idle streams cost little.

A relay that is idle: one packet, then beacons for each of many streams, with the present time or with one
that has jumped.  What is judged is processor time, which the load of the machine hardly changes, against
the time of the trace: the limits are some times what is taken.

usage: turns.py SILLAGE DATA [--bounds] [NAME]...

    --bounds    resources are judged; not with sanitizers
"""
import json
import os
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

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..'))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'property'))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import guard  # noqa: E402
from ports import end_listener  # noqa: E402
from scripted_relay import (ATTACH, CONNECT, CREATE, INACTIVE, INDEX, LIST, METADATA, OK, PACKET, PAYLOAD,  # noqa: E402
                            STREAMS, Packet, Relay, Session, Stream, Trace, session_bytes, stream_bytes)
from synthetic import Made, packet, switch  # noqa: E402

S = 10**9
TURN_MAX_NS = 100 * 10**6
FIRST = 100  # id of the first data stream
METADATA_ID = 10
has_bounds = '--bounds' in sys.argv
MOST_LINES = 24  # of a kind: those of the first 8 sessions, one a minute, and that of the end


class Idle:
    """Sessions of @streams streams each: the first one has a packet, and from its end on all are idle."""

    def __init__(self, data, streams, sessions=1, timer_us=1000000):
        self.trace = Trace(os.path.join(data, 'ust'), 'ust')
        self.packet = max(self.trace.packets(), key=lambda packet: packet.content)
        self.streams, self.timer_us, self.sessions = streams, timer_us, sessions
        self.begin = time.monotonic()
        self.jump_ns = 0  # what is added to the present
        self.listener = socket.create_server(('127.0.0.1', 0), backlog=1000)
        self.port = self.listener.getsockname()[1]
        self.accepts = threading.Thread(target=self.accept, daemon=True)
        self.accepts.start()

    def names(self):
        return ['s%d' % i for i in range(self.sessions)]

    def now(self):
        return self.packet.end + int((time.monotonic() - self.begin) * S) + self.jump_ns

    def accept(self):
        while True:
            try:
                sock, _ = self.listener.accept()
            except OSError:
                return
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=self.talk, args=(sock,), daemon=True).start()

    def talk(self, sock):
        state = {'has_packet': False, 'has_metadata': False}
        held = b''
        try:
            while True:
                got = sock.recv(1 << 20)
                if not got:
                    return
                held += got
                at, out = 0, []
                while len(held) - at >= 16:
                    command = struct.unpack_from('>I', held, at + 8)[0]
                    size = 16 + PAYLOAD[command]
                    if len(held) - at < size:
                        break
                    out.append(self.answer(state, command, held[at + 16:at + size]))
                    at += size
                held = held[at:]
                sock.sendall(b''.join(out))
        except OSError:
            pass

    def answer(self, state, command, payload):
        if command == INDEX:
            number = struct.unpack('>Q', payload)[0]
            packet = self.packet
            if number == FIRST and not state['has_packet']:
                state['has_packet'] = True
                return struct.pack('>7QII', packet.offset, packet.size, packet.content, packet.begin, packet.end,
                                   0, packet.stream_class, OK, 2 if not state['has_metadata'] else 0)
            return struct.pack('>7QII', 0, 0, 0, 0, self.now(), 0, packet.stream_class, INACTIVE, 0)
        if command == CONNECT:
            return struct.pack('>QIII', 7, 2, 15, 1)
        if command == LIST:
            sessions = [Session(name, [self.trace], number=i + 1, timer_us=self.timer_us)
                        for i, name in enumerate(self.names())]
            return struct.pack('>I', len(sessions)) + b''.join(session_bytes(one, 15) for one in sessions)
        if command == CREATE:
            return struct.pack('>I', 1)
        if command == ATTACH:
            streams = [stream_bytes(METADATA_ID, 1, 1, 'ust', 'metadata')]
            streams += [stream_bytes(FIRST + i, 1, 0, 'ust', 'c_%d' % i) for i in range(self.streams)]
            return struct.pack('>II', OK, len(streams)) + b''.join(streams)
        if command == STREAMS:
            return struct.pack('>II', 2, 0)
        if command == PACKET:
            length = struct.unpack('>QQI', payload)[2]
            return struct.pack('>III', OK, length, 0) + self.packet.data[:length]
        assert command == METADATA, command
        if state['has_metadata']:
            return struct.pack('>QI', 0, 2)
        state['has_metadata'] = True
        return struct.pack('>QI', len(self.trace.metadata), OK) + self.trace.metadata

    def close(self):
        end_listener(self.listener, self.accepts)


class Live:
    def __init__(self, sillage, relay, *options):
        words = [sillage, 'live', '-f', 'json', '-a', 'count', '--from', 'beginning', '-j', '1'] + list(options)
        self.process = subprocess.Popen(words + ['net://127.0.0.1:%d' % relay.port], stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE)
        self.said = []
        self.reader = threading.Thread(target=lambda: self.said.extend(self.process.stderr), daemon=True)
        self.reader.start()
        self.lines = []

    def until(self, fine):
        """Reads lines until one is @fine; returns it."""
        for text in self.process.stdout:
            self.lines.append(json.loads(text))
            if fine(self.lines[-1]):
                return self.lines[-1]
        raise AssertionError('it ended: %s' % b''.join(self.said).decode())

    def cpu_s(self):
        return guard.Process(self.process.pid).cpu_s

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.stdout.read()
        self.process.wait()
        self.reader.join()

    def stop(self):
        """The line `end`."""
        self.process.send_signal(signal.SIGTERM)
        return self.until(lambda line: line['type'] == 'end')


def is_window(line):
    return line['type'] == 'window'


def check_turn(end):
    print('  longest turn: %.1f ms' % (end['turn_max_ns'] / 1e6))
    assert 0 < end['turn_max_ns'] and (end['turn_max_ns'] <= TURN_MAX_NS or not has_bounds), end


def idle(sillage, data, streams, seconds, most):
    """The share of a core that many idle streams take; windows come all the time."""
    relay = Idle(data, streams)
    with Live(sillage, relay, '-i', '1s') as live:
        for _ in range(3):  # all are attached
            live.until(is_window)
        before, first = live.cpu_s(), live.lines[-1]['end']
        last = live.until(lambda line: is_window(line) and line['end'] >= first + seconds * S)['end']
        share = (live.cpu_s() - before) / ((last - first) / S)
        print('  %d idle streams: %.2f %% of a core' % (streams, 100 * share))
        assert share <= most or not has_bounds, share
        check_turn(live.stop())
    relay.close()


def test_idle(sillage, data):
    idle(sillage, data, 2560, 8, 0.01)


def test_idle_many(sillage, data):
    idle(sillage, data, 16000, 8, 0.10)


def test_jump(sillage, data):
    """A beacon 27 hours later: one window, one line, one row; totals and history have it."""
    jump, store = 27 * 3600, os.path.join(tempfile.mkdtemp(prefix='sillage-turns-'), 'store.db')
    try:
        for form in 'json', 'text':
            relay = Idle(data, 4)
            options = ['-i', '1s'] + (['--store', store] if form == 'json' else ['-f', 'text'])
            with Live(sillage, relay, *options) as live:
                jumped = (jump_text if form == 'text' else jump_json)(live, relay, jump)
                live.process.wait()
            assert jump - 60 <= jumped <= jump + 60, jumped
            relay.close()
        out = subprocess.run([sillage, 'history', store, '-i', '1s', '-f', 'json'], check=True, stdout=subprocess.PIPE).stdout
        rows = [line.get('empty_windows') for line in map(json.loads, out.splitlines()) if is_window(line)]
        print('  history: %d windows' % len(rows))
        assert len(rows) < 60 and sum(row is not None and row > jump - 60 for row in rows) == 1, rows
    finally:
        shutil.rmtree(os.path.dirname(store))


class Flicker(Idle):
    """200 sessions of other names in each list, which cannot be had."""

    def __init__(self, data):
        super().__init__(data, 1, 200)
        self.lists = self.refused = 0

    def names(self):
        self.lists += 1
        return ['s%d-%d' % (self.lists, i) for i in range(self.sessions)]

    def answer(self, state, command, payload):
        if command == ATTACH:
            self.refused += 1
            return struct.pack('>II', 3, 0)
        return super().answer(state, command, payload)


def kinds_of(text):
    """How often each notice came, by its words without names, and how many lines that took."""
    kinds = {}
    for line in text.splitlines():
        found = re.fullmatch(r'(.*?)(?: \(and (\d+) more like this\))?', line)
        kind = re.sub(r'^sillage: \S+/s\d\S*: ', '', found.group(1))
        lines, count = kinds.get(kind, (0, 0))
        kinds[kind] = lines + 1, count + 1 + int(found.group(2) or 0)
    return kinds


def test_notices(sillage, data):
    """200 sessions: what is said of each is a line for the first few, and one with the number of the others."""
    for relay in Idle(data, 1, 200), Flicker(data):
        is_refused = isinstance(relay, Flicker)
        with Live(sillage, relay, '-i', '1s') as live:
            if is_refused:
                while relay.refused < 1000 and live.process.poll() is None:
                    time.sleep(0.05)
                live.process.send_signal(signal.SIGTERM)
                live.process.stdout.read()
            else:
                seen = set()
                live.until(lambda line: seen.add(line.get('trace', {}).get('session')) or len(seen - {None}) == relay.sessions)
                live.stop()
            live.process.wait()
        kinds = kinds_of(b''.join(live.said).decode())
        print('  %s' % kinds)
        assert all(lines <= MOST_LINES for lines, _ in kinds.values()), kinds
        what = 'the relay no longer knows the session (status 3); trying again while it is listed' if is_refused else 'attached to ust'
        assert kinds[what][1] >= 200, kinds
        relay.close()


def paused(folder, name, pause_ns):
    """A trace of two CPUs that pauses once."""
    streams = []
    for cpu in range(2):
        found, at = [], S + cpu
        for seq in range(6):
            at += {3: pause_ns}.get(seq, 0)
            events = [switch(at + i * 10**7, 7 + i % 2, 8 - i % 2) for i in range(4)]
            found.append(packet(cpu, seq, at, at + 4 * 10**7, events))
            at += 4 * 10**7
        streams.append(b''.join(found))
    return Made(folder, name, streams).path


class Served(Trace):
    """Such a trace for a relay: its packets have no number of an instance."""

    def __init__(self, path):
        self.path = 'kernel'
        with open(os.path.join(path, 'metadata'), 'rb') as file:
            self.metadata = file.read()
        self.streams = []
        for name in 'channel0_0', 'channel0_1':
            stream = Stream.__new__(Stream)
            stream.name, stream.packets, at = name, [], 0
            with open(os.path.join(path, name), 'rb') as file:
                data = file.read()
            while at < len(data):
                number, begin, end, content, size, seq, discarded = struct.unpack_from('<I6Q', data, at + 20)
                entry = (at, size, content, begin, end, discarded, number, 0, seq)
                stream.packets.append(Packet(stream, len(stream.packets), entry, data[at:at + size // 8]))
                at += size // 8
            self.streams.append(stream)


def parsed(words):
    out = subprocess.run(words, check=True, stdout=subprocess.PIPE).stdout
    return [json.loads(line) for line in out.splitlines()]


def rows_of(lines):
    """What windows say, whatever they came from."""
    leave = 'trace', 'lag_ns', 'seq'
    return [{key: value for key, value in line.items() if key not in leave} for line in lines if is_window(line)]


def totals_of(lines):
    return [line['count'] for line in lines if line['type'] == 'total']


def test_pause(sillage, data):
    """A pause in a recorded trace: the same whatever the workers, live, and out of a store."""
    folder = tempfile.mkdtemp(prefix='sillage-turns-')
    try:
        for number, (pause, empty) in enumerate(((5 * S, True), (60 * 10**6, False))):
            path, store = paused(folder, 'p%d' % number, pause), os.path.join(folder, 's%d.db' % number)
            analyze = [sillage, 'analyze', '-q', '-f', 'json', '-a', 'count,cpu', path]
            wanted = parsed(analyze + ['-i', '1ms', '-j', '0', '--store', store])
            windows = [line for line in wanted if is_window(line)]
            rows = [line for line in windows if 'empty_windows' in line]
            assert [row['empty_windows'] > pause // 10**6 for row in rows] == [True] * empty, rows
            for before, line in zip(windows, windows[1:]):
                assert line['begin'] == before['end'], line
                assert line['seq'] == before['seq'] + before.get('empty_windows', 1), line
            assert totals_of(wanted) == totals_of(parsed(analyze + ['-i', '1s']))
            for span, fires in ('4s', empty), ('6s', False):  # it holds from the begin of a row to its end
                gate = [*analyze, '-i', '1ms', '--fail', 'count.events < 1 for ' + span]
                assert subprocess.run(gate, stdout=subprocess.DEVNULL, check=False).returncode == (3 if fires else 0), span
            assert rows_of(parsed(analyze + ['-i', '1ms', '-j', '2'])) == rows_of(wanted)
            history = [sillage, 'history', '-q', '-f', 'json', store, '-i']
            stored = parsed(history + ['1ms'])
            assert [(w['begin'], w['end'], w['events'] if 'events' in w else w['count'], w.get('empty_windows'))
                    for w in rows_of(stored)] == [(w['begin'], w['end'], w['events'] if 'events' in w else w['count'],
                                                   w.get('empty_windows')) for w in rows_of(wanted)]
            longer = parsed(history + ['700ms'])
            assert [line['begin'] for line in longer[1:] if is_window(line)] == sorted(
                line['begin'] for line in longer if is_window(line)), longer
            assert totals_of(longer) == totals_of(wanted)
            merged = os.path.join(folder, 'm%d.db' % number)
            parsed(analyze + ['-i', '1ms', '--store', merged, '--store-keep', '1ms:20ms,50ms:1h'])
            kept = parsed([sillage, 'history', '-q', '-f', 'json', merged, '-i', '50ms'])
            assert totals_of(kept) == totals_of(wanted)
            assert [(row['begin'], row['end']) for row in kept if 'empty_windows' in row] == [
                (row['begin'], row['end']) for row in rows], kept
            relay = Relay([Session('s', [Served(path)])])
            live = parsed([sillage, 'live', '-q', '-f', 'json', '-a', 'count,cpu', '--from', 'beginning', '-i', '1ms', '-j', '1',
                           relay.url('s')])
            relay.close()
            assert rows_of(live) == rows_of(wanted), (rows_of(live), rows_of(wanted))
            check_turn(live[-1])
    finally:
        shutil.rmtree(folder)


def jump_json(live, relay, jump):
    live.until(lambda line: is_window(line) and line['seq'] >= 2)
    relay.jump_ns = jump * S
    row = live.until(lambda line: 'empty_windows' in line)
    later = live.until(is_window)
    assert later['seq'] == row['seq'] + row['empty_windows'] and later['begin'] == row['end'], (row, later)
    assert row['end'] - row['begin'] == row['empty_windows'] * S, row
    end = live.stop()
    total = [line for line in live.lines if line['type'] == 'total'][0]
    assert total['count']['events'] == end['events'] and total['end'] >= row['end'], total
    check_turn(end)
    return row['empty_windows']


def jump_text(live, relay, jump):
    for line in live.process.stdout:
        if b'events/s' in line:
            relay.jump_ns = jump * S
        elif b'windows without an event' in line:
            live.process.send_signal(signal.SIGTERM)
            live.process.stdout.read()
            return int(line.split(b' windows without')[0].split()[-1])
    raise AssertionError('no such line')


def main():
    sillage, data, *names = [word for word in sys.argv[1:] if word != '--bounds']
    for name, test in sorted(globals().items()):
        if name.startswith('test_') and name in (names or [name]):
            print('%s:' % name)
            sys.stdout.flush()
            test(sillage, data)


if __name__ == '__main__':
    main()
