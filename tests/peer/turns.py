#!/usr/bin/env python3
"""turns: one turn of the loop of `sillage live` is short, whatever comes, and idle streams cost little.

A relay that is idle: one packet, then beacons for each of many streams, with the present time or with one
that has jumped.  What is judged is processor time, which the load of the machine hardly changes, against
the time of the trace: the limits are some times what is taken.

usage: turns.py SILLAGE DATA [NAME]
"""
import json
import os
import signal
import socket
import struct
import subprocess
import sys
import threading
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..'))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import guard  # noqa: E402
from scripted_relay import (ATTACH, CONNECT, CREATE, INACTIVE, INDEX, LIST, METADATA, OK, PACKET, PAYLOAD,  # noqa: E402
                            STREAMS, Session, Trace, session_bytes, stream_bytes)

S = 10**9
TURN_MAX_NS = 100 * 10**6
FIRST = 100  # id of the first data stream
METADATA_ID = 10


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
        threading.Thread(target=self.accept, daemon=True).start()

    def names(self):
        return ['s%d' % i for i in range(self.sessions)]

    def now(self):
        return self.packet.end + int((time.monotonic() - self.begin) * S) + self.jump_ns

    def accept(self):
        while True:
            sock, _ = self.listener.accept()
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
        self.listener.close()


class Live:
    def __init__(self, sillage, relay, *options):
        words = [sillage, 'live', '-f', 'json', '-a', 'count', '--from', 'beginning', '-j', '1'] + list(options)
        self.process = subprocess.Popen(words + ['net://127.0.0.1:%d' % relay.port], stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE)
        self.said = []
        threading.Thread(target=lambda: self.said.extend(self.process.stderr), daemon=True).start()
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

    def stop(self):
        """The line `end`."""
        self.process.send_signal(signal.SIGTERM)
        return self.until(lambda line: line['type'] == 'end')


def is_window(line):
    return line['type'] == 'window'


def check_turn(end):
    print('  longest turn: %.1f ms' % (end['turn_max_ns'] / 1e6))
    assert 0 < end['turn_max_ns'] <= TURN_MAX_NS, end


def idle(sillage, data, streams, seconds, most):
    """The share of a core that many idle streams take; windows come all the time."""
    relay = Idle(data, streams)
    live = Live(sillage, relay, '-i', '1s')
    for _ in range(3):  # all are attached
        live.until(is_window)
    before, first = live.cpu_s(), live.lines[-1]['end']
    last = live.until(lambda line: is_window(line) and line['end'] >= first + seconds * S)['end']
    share = (live.cpu_s() - before) / ((last - first) / S)
    print('  %d idle streams: %.2f %% of a core' % (streams, 100 * share))
    late = max(line['lag_ns'] for line in live.lines if is_window(line))
    assert share <= most, share
    check_turn(live.stop())
    relay.close()
    return late


def test_idle(sillage, data):
    idle(sillage, data, 2560, 8, 0.01)


def test_idle_many(sillage, data):
    idle(sillage, data, 16000, 8, 0.10)


def main():
    sillage, data = sys.argv[1:3]
    for name, test in sorted(globals().items()):
        if name.startswith('test_') and name in (sys.argv[3:] or [name]):
            print('%s:' % name)
            sys.stdout.flush()
            test(sillage, data)


if __name__ == '__main__':
    main()
