"""scripted_relay: a relay that serves recorded traces by the viewer protocol and does wrong as told.

    trace = Trace(directory)                        packets as their indexes say
    relay = Relay([Session('s', [trace])], rules)   listens on a free port of 127.0.0.1
    ... sillage live relay.url('s') ...
    relay.close()

What is right follows doc/viewer-protocol.md, part A: lists of sessions of minor 15, an index for each
packet in order, HUP when all were handed out; with Session.unlists the session is listed until its viewer
has read all.

A rule changes what follows a request: Rule(INDEX, patch(status=4), nth=3).  It is asked for each request
and counts those that fit.  An action gets the Step, whose reply it changes, cuts, splits or holds back.

The relay writes down what it has told: `announced` are the packets whose index was sent whole with
status OK, `delivered` those whose bytes were, as (session, stream, number).
"""
import copy
import ctypes
import os
import socket
import struct
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..'))
from ports import end_listener  # noqa: E402

CONNECT, LIST, ATTACH, INDEX, PACKET, METADATA, STREAMS, CREATE, DETACH = range(1, 10)
NAMES = {CONNECT: 'connect', LIST: 'list', ATTACH: 'attach', INDEX: 'index', PACKET: 'packet',
         METADATA: 'metadata', STREAMS: 'streams', CREATE: 'create', DETACH: 'detach'}
PAYLOAD = {CONNECT: 20, LIST: 0, ATTACH: 20, INDEX: 8, PACKET: 20, METADATA: 8, STREAMS: 8, CREATE: 0, DETACH: 8}
OK = 1
RETRY, HUP, ERR, INACTIVE, EOF = 2, 3, 4, 5, 6
NEW_METADATA, NEW_STREAM = 1, 2
SEQ_AT = 64  # of a packet of LTTng: its sequence number
SO_ATTACH_FILTER = 26
PIECE = 16 << 20  # larger packets are asked for in pieces of this
SILENCE_S = 0.002  # between two pieces of a reply


# ---- what is served ----

class Packet:
    def __init__(self, stream, number, entry, data):
        self.stream, self.number, self.data = stream, number, data
        (self.offset, self.size, self.content, self.begin, self.end, self.discarded, self.stream_class,
         self.instance, self.seq) = entry
        self.events = None  # count_events() knows

    @property
    def key(self):
        return self.stream.name, self.number


def read_index(path):
    with open(path, 'rb') as file:
        index = file.read()
    for at in range(16, len(index), struct.unpack('>I', index[12:16])[0]):
        yield struct.unpack('>9Q', index[at:at + 72])


def walk(data):
    """The same from the heads of LTTng's packets."""
    at = 0
    while at < len(data):
        number, instance, begin, end, content, size, seq, discarded = struct.unpack('<I7Q', data[at + 20:at + 80])
        yield at, size, content, begin, end, discarded, number, instance, seq
        at += size // 8


class Stream:
    def __init__(self, directory, name):
        self.name, self.packets = name, []
        with open(os.path.join(directory, name), 'rb') as file:
            data = file.read()
        index = os.path.join(directory, 'index', name + '.idx')
        for entry in read_index(index) if os.path.exists(index) else walk(data):
            self.packets.append(Packet(self, len(self.packets), entry, data[entry[0]:entry[0] + entry[1] // 8]))


class Trace:
    def __init__(self, directory, path='kernel'):
        self.path = path
        with open(os.path.join(directory, 'metadata'), 'rb') as file:
            self.metadata = file.read()
        self.streams = [Stream(directory, name) for name in sorted(os.listdir(directory))
                        if name not in ('metadata', 'index')]

    def packets(self):
        return [packet for stream in self.streams for packet in stream.packets]

    def renumbered(self, number_of):
        """The same with other sequence numbers: number_of(stream's name, number)."""
        other = copy.copy(self)
        other.streams = []
        for stream in self.streams:
            new = copy.copy(stream)
            new.packets = []
            for packet in stream.packets:
                one = copy.copy(packet)
                one.stream, one.seq = new, number_of(stream.name, packet.number)
                one.data = packet.data[:SEQ_AT] + struct.pack('<Q', one.seq) + packet.data[SEQ_AT + 8:]
                new.packets.append(one)
            other.streams.append(new)
        return other


class Session:
    """One relay session.  Its streams have ids from @first_id on, each trace's metadata first."""

    def __init__(self, name, traces, number=1, first_id=10, timer_us=1000, host='h'):
        self.name, self.host, self.traces, self.number, self.timer_us = name, host, traces, number, timer_us
        self.first_id = first_id
        self.is_over = True  # the producer has gone
        self.is_listed = True
        self.unlists = False  # once a viewer has read all of it
        self.metadata_at = {}  # stream id: bytes that may be handed out; absent: all
        self.hidden = set()  # names of streams that are not announced yet
        self.held = {}  # name of a stream: number of packets that may be handed out; absent: all
        self.beacons = False  # a stream without news answers INACTIVE, once, with the end of its last packet
        self.renumber = {}  # name of a stream: its id, in place of the usual one

    def ids(self):
        """(id, trace, stream or None for metadata) of each."""
        number = self.first_id
        for trace in self.traces:
            yield number, trace, None
            number += 1
            for stream in trace.streams:
                yield self.renumber.get(stream.name, number), trace, stream
                number += 1

    def all_keys(self):
        return {(self.name,) + packet.key for trace in self.traces for packet in trace.packets()}


# ---- replies ----

class Reply:
    """Fixed members by name, then bytes."""

    def __init__(self, members, tail=b''):
        self.types = ''.join(kind for _, kind, _ in members)
        self.names = [name for name, _, _ in members]
        self.values = {name: value for name, _, value in members}
        self.tail = tail

    def pack(self):
        return struct.pack('>' + self.types, *[self.values[name] for name in self.names]) + self.tail

    def sizes(self):
        return {name: {'I': 32, 'Q': 64}[kind] for name, kind in zip(self.names, self.types)}


def text(value, size):
    return value.encode()[:size].ljust(size, b'\0')


def stream_bytes(number, trace_id, is_metadata, path, channel):
    return struct.pack('>QQI', number, trace_id, is_metadata) + text(path, 4096) + text(channel, 255)


def session_bytes(session, minor, clients=0):
    count = sum(len(trace.streams) + 1 for trace in session.traces)
    head = struct.pack('>QIII', session.number, session.timer_us, clients, count)
    if minor < 15:
        return head + text(session.host, 64) + text(session.name, 255)
    return head + struct.pack('>III', len(session.host), len(session.name), 0) + (session.host + session.name).encode()


class Close(Exception):
    """The connection ends here."""


class Step:
    """A request on its way to its reply."""

    def __init__(self, relay, connection, command, payload):
        self.relay, self.connection, self.command, self.payload = relay, connection, command, payload
        self.reply = None
        self.before = b''  # sent before the reply
        self.after = b''  # sent after it
        self.raw = None  # sent in place of the reply
        self.cut_at = None  # bytes that are sent; then the connection is closed
        self.is_reset = False  # ... with RST
        self.closes = False  # after the reply
        self.splits = ()  # where the reply is cut in pieces that are sent one by one
        self.pause = SILENCE_S  # between them
        self.is_dropped = False  # no reply
        self.holds = False  # the reply waits for the next one, and is sent after it
        self.delay = 0
        self.stream_id = struct.unpack('>Q', payload[:8])[0] if command in (INDEX, PACKET, METADATA) else None
        self.done = []  # called when the reply was sent whole


# ---- actions ----

def named(make):
    """What an action was made of, for messages."""
    def inner(*words, **more):
        act = make(*words, **more)
        texts = [getattr(word, 'text', str(word)) for word in words] + ['%s=%s' % item for item in more.items()]
        act.text = '%s(%s)' % (make.__name__, ', '.join(texts))
        return act
    return inner


@named
def patch(**values):
    """Other values of members.  What a status says decides what the relay believes to have told."""
    def act(step):
        assert set(values) <= set(step.reply.values), (values, step.reply.names)
        step.reply.values.update(values)
    return act


@named
def cut(at, reset=False):
    """Closes after @at bytes of the reply; negative: from its end."""
    def act(step):
        length = len(step.reply.pack())
        step.cut_at, step.is_reset = min(at if at >= 0 else max(length + at, 0), length), reset
    return act


def close_before(step):
    step.cut_at = 0


def close_after(step):
    step.closes = True


@named
def split(*at):
    def act(step):
        step.splits = at
    return act


def drip(step):
    """Byte by byte, of a long reply the first 200."""
    step.splits = tuple(range(1, min(len(step.reply.pack()), 200)))


def missing(step):
    """No reply to this request."""
    step.is_dropped = True


def mute(step):
    """The connection stays, and nothing more is said on it."""
    step.connection.is_mute = True


def vanish(step):
    """The relay's host has lost its power: what is sent to it is dropped."""
    step.relay.vanish()
    step.is_dropped = True


@named
def delay(seconds):
    def act(step):
        step.delay = seconds
    return act


@named
def before(data):
    def act(step):
        step.before = data
    return act


@named
def after(data):
    def act(step):
        step.after = data
    return act


@named
def raw(data):
    def act(step):
        step.raw = data
    return act


@named
def trickle(size, seconds, count):
    """@size bytes each @seconds, @count times, then the rest."""
    def act(step):
        step.splits, step.pause = range(size, size * (count + 1), size), seconds
    return act


def hold(step):
    step.holds = True


@named
def tail(change):
    """Other bytes behind the fixed members."""
    def act(step):
        step.reply.tail = change(step.reply.tail)
    return act


@named
def call(function):
    """function(relay) first; the reply is what it would have been."""
    def act(step):
        function(step.relay)
    return act


@named
def both(*actions):
    def act(step):
        for action in actions:
            action(step)
    return act


def end_session(step):
    """The relay forgets all: the connection and all others are closed, and nothing listens any more."""
    step.relay.stop_listening()
    step.relay.drop_connections()
    raise Close


class Rule:
    """@action for requests of @command: the @nth of those that fit (0: each), and @count from there on.

    @stream: only of this stream, by name; @connection: only of the nth connection that attaches, from 0 on;
    @size: only where the reply is so long, at least; @status: only where the reply has this one."""

    def __init__(self, command, action, nth=1, count=1, stream=None, connection=None, size=0, status=None):
        self.command, self.action, self.nth, self.count = command, action, nth, count
        self.stream, self.connection, self.size, self.status = stream, connection, size, status
        self.seen = 0
        self.used = 0

    def __str__(self):
        where = ['%s=%s' % (key, value) for key, value in (
            ('stream', self.stream), ('connection', self.connection), ('status', self.status)) if value is not None]
        action = getattr(self.action, 'text', getattr(self.action, '__name__', '?'))
        return '%s %d+%d %s%s, used %d times' % (NAMES.get(self.command), self.nth, self.count, action,
                                                 ' '.join([''] + where), self.used)

    def fits(self, step):
        if self.command is not None and step.command != self.command:
            return False
        if self.stream is not None and step.connection.stream_name(step.stream_id) != self.stream:
            return False
        if self.connection is not None and step.connection.number != self.connection:
            return False
        if self.status is not None and step.reply.values.get('status') != self.status:
            return False
        if len(step.reply.tail) < self.size:
            return False
        self.seen += 1
        fine = self.nth == 0 or self.nth <= self.seen < self.nth + self.count
        self.used += fine
        return fine


# ---- the relay ----

class Connection:
    def __init__(self, relay, sock):
        self.relay, self.sock = relay, sock
        self.minor = 15
        self.session = None
        self.number = None  # among those that attach
        self.positions = {}  # data stream id: number of the next packet; None: HUP was sent
        self.metadata = {}  # metadata stream id: bytes handed out
        self.told = set()  # ids of announced streams
        self.announced = set()  # by it, as in Relay
        self.held = b''
        self.is_mute = False
        self.beacons = set()  # ids of streams that sent one

    def stream_name(self, number):
        for one, trace, stream in self.session.ids() if self.session else ():
            if one == number:
                return stream.name if stream else 'metadata'
        return None

    def find(self, number):
        for one, trace, stream in self.session.ids() if self.session else ():
            if one == number:
                return trace, stream
        return None, None

    # -- one function for each command --

    def connect(self, payload):
        self.minor = min(self.relay.minor, struct.unpack('>I', payload[12:16])[0])
        return Reply([('id', 'Q', 7), ('major', 'I', 2), ('minor', 'I', self.relay.minor), ('type', 'I', 1)])

    def list(self, payload):
        sessions = [s for s in self.relay.sessions if s.is_listed]
        return Reply([('count', 'I', len(sessions))], b''.join(session_bytes(s, self.minor) for s in sessions))

    def create(self, payload):
        return Reply([('status', 'I', 1)])

    def streams_reply(self, status, done):
        tail, count = b'', 0
        for number, trace, stream in self.session.ids() if status == OK else ():
            name = stream.name if stream else 'metadata'
            if number in self.told or name in self.session.hidden:
                continue
            trace_id = self.session.traces.index(trace) + 100
            tail += stream_bytes(number, trace_id, stream is None, trace.path, name)
            count += 1
            done.append((self.told.add, number))
        return Reply([('status', 'I', status), ('count', 'I', count)], tail)

    def attach(self, payload, done):
        number = struct.unpack('>Q', payload[:8])[0]
        found = [s for s in self.relay.sessions if s.number == number and s.is_listed]
        if not found:
            return Reply([('status', 'I', 3), ('count', 'I', 0)])
        self.session = found[-1]
        self.number = self.relay.note_attach()
        return self.streams_reply(OK, done)

    def new_streams(self, payload, done):
        if not self.session:
            return Reply([('status', 'I', 3), ('count', 'I', 0)])
        reply = self.streams_reply(OK, done)
        open_streams = any(stream and number not in self.positions or self.positions.get(number, 0) is not None
                           for number, _, stream in self.session.ids() if stream and number in self.told)
        if reply.values['count'] == 0 and self.session.is_over and not self.session.hidden and not open_streams:
            reply.values['status'] = 4
        return reply

    def flags(self):
        flags = 0
        for number, trace, stream in self.session.ids():
            name = stream.name if stream else 'metadata'
            if number not in self.told and name not in self.session.hidden:
                flags |= NEW_STREAM
            if not stream and number in self.told and self.metadata.get(number, 0) < self.metadata_end(number, trace):
                flags |= NEW_METADATA
        return flags

    def metadata_end(self, number, trace):
        return min(self.session.metadata_at.get(number, len(trace.metadata)), len(trace.metadata))

    def index(self, payload, done):
        number = struct.unpack('>Q', payload)[0]
        _, stream = self.find(number)
        position = self.positions.get(number, 0)
        members = [('offset', 'Q', 0), ('packet', 'Q', 0), ('content', 'Q', 0), ('begin', 'Q', 0), ('end', 'Q', 0),
                   ('discarded', 'Q', 0), ('class', 'Q', 0), ('status', 'I', ERR), ('flags', 'I', 0)]
        if not stream or number not in self.told or position is None:
            return Reply(members)
        held = self.session.held.get(stream.name, len(stream.packets))
        if position < min(held, len(stream.packets)):
            packet = stream.packets[position]
            values = (packet.offset, packet.size, packet.content, packet.begin, packet.end, packet.discarded,
                      packet.stream_class, OK, self.flags())
            done.append((self.note_announced, (number, packet)))
        elif self.session.is_over and position >= len(stream.packets):
            # As relays do since 2.13.12: the viewer asks for streams, and learns that there are no more.
            values = (0,) * 7 + (HUP, self.flags() | NEW_STREAM)
            done.append((self.note_end, number))
        elif self.session.beacons and position > 0 and number not in self.beacons:
            values = (0, 0, 0, 0, stream.packets[position - 1].end, 0, stream.packets[0].stream_class, INACTIVE,
                      self.flags())
            done.append((self.beacons.add, number))
        else:
            values = (0,) * 7 + (RETRY, self.flags())
        return Reply([(name, kind, value) for (name, kind, _), value in zip(members, values)])

    def note_announced(self, what):
        number, packet = what
        self.positions[number] = packet.number + 1
        self.announced.add((self.session.name,) + packet.key)
        self.relay.announced |= self.announced

    def note_end(self, number):
        self.positions[number] = None
        self.note_read()

    def note_read(self):
        if self.session.unlists and self.session.is_over and all(
                self.positions.get(number, 0) is None if stream else self.metadata.get(number, 0) == len(trace.metadata)
                for number, trace, stream in self.session.ids()):
            self.session.is_listed = False

    def packet(self, payload, done):
        number, offset, length = struct.unpack('>QQI', payload)
        _, stream = self.find(number)
        for packet in stream.packets if stream else ():
            part = packet.data[offset - packet.offset:] if packet.offset <= offset else b''
            if length <= len(part) and (packet.offset == offset or len(packet.data) > PIECE):
                if length >= (packet.content + 7) // 8:
                    done.append((self.relay.delivered.add, (self.session.name,) + packet.key))
                return Reply([('status', 'I', OK), ('length', 'I', length), ('flags', 'I', 0)], part[:length])
        return Reply([('status', 'I', 3), ('length', 'I', 0), ('flags', 'I', 0)])

    def get_metadata(self, payload, done):
        number = struct.unpack('>Q', payload)[0]
        trace, stream = self.find(number)
        if not trace or stream or number not in self.told:
            return Reply([('length', 'Q', 0), ('status', 'I', 3)])
        at, end = self.metadata.get(number, 0), self.metadata_end(number, trace)
        if at == end:
            is_last = self.session.is_over and at == len(trace.metadata)
            return Reply([('length', 'Q', 0), ('status', 'I', 3 if is_last else 2)])
        end = min(end, at + self.relay.metadata_piece)
        done.append((self.note_metadata, (number, end)))
        return Reply([('length', 'Q', end - at), ('status', 'I', OK)], trace.metadata[at:end])

    def note_metadata(self, what):
        self.metadata[what[0]] = what[1]
        self.note_read()

    # -- the conversation --

    def answer(self, step):
        done = []
        with self.relay.lock:
            if step.command == CONNECT:
                step.reply = self.connect(step.payload)
            elif step.command == LIST:
                step.reply = self.list(step.payload)
            elif step.command == CREATE:
                step.reply = self.create(step.payload)
            elif step.command == ATTACH:
                step.reply = self.attach(step.payload, done)
            elif step.command == STREAMS:
                step.reply = self.new_streams(step.payload, done)
            elif step.command == INDEX:
                step.reply = self.index(step.payload, done)
            elif step.command == PACKET:
                step.reply = self.packet(step.payload, done)
            elif step.command == METADATA:
                step.reply = self.get_metadata(step.payload, done)
            else:
                step.reply = Reply([('status', 'I', 1)])
            step.done = done
            status = step.reply.values.get('status')
            for rule in self.relay.rules:
                if rule.fits(step):
                    rule.action(step)
            # With another status the relay did not tell what it had meant to.
            told = step.reply.values.get('status')
            if told != status or step.raw is not None:
                is_end = step.command == INDEX and told == HUP and step.raw is None
                step.done = [(self.note_end, step.stream_id)] if is_end else []
            return step.reply.pack() if step.raw is None else step.raw

    def send(self, step, data):
        if step.delay:
            time.sleep(step.delay)
        if step.is_dropped or self.is_mute:
            return
        if step.holds and not self.held:
            self.held = data
            self.finish(step)
            return
        if self.relay.has_vanished:
            return
        data = step.before + data + step.after + self.held
        self.held = b''
        if step.cut_at is not None:
            self.sock.sendall(data[:step.cut_at])
            if step.cut_at >= len(data):
                self.finish(step)
            if step.is_reset:
                self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 0))
            raise Close
        at = 0
        for end in list(step.splits) + [len(data)]:
            if at < end <= len(data):
                self.sock.sendall(data[at:end])
                at = end
                if at < len(data):
                    time.sleep(step.pause)
        self.finish(step)
        if step.closes:
            raise Close

    def finish(self, step):
        with self.relay.lock:
            for function, value in step.done:
                function(value)
            step.done = []

    def receive(self, size):
        data = b''
        while len(data) < size:
            got = self.sock.recv(size - len(data))
            if not got:
                raise Close
            data += got
        return data

    def run(self):
        try:
            while True:
                _, command, _ = struct.unpack('>QII', self.receive(16))
                payload = self.receive(PAYLOAD.get(command, 0))
                step = Step(self.relay, self, command, payload)
                self.relay.log.append((time.monotonic(), self.number, command, step.stream_id))
                self.send(step, self.answer(step))
        except (Close, OSError):
            pass
        self.leave()

    def leave(self):
        """Closes so that what was sent arrives: unread requests would make it a reset."""
        try:
            self.sock.shutdown(socket.SHUT_WR)
            self.sock.settimeout(2)
            while self.sock.recv(65536):
                pass
        except OSError:
            pass
        self.sock.close()
        self.relay.forget(self)


class Relay:
    def __init__(self, sessions, rules=(), metadata_piece=1 << 30, minor=15):
        self.minor = minor
        self.sessions, self.rules, self.metadata_piece = sessions, list(rules), metadata_piece
        self.lock = threading.RLock()
        self.announced, self.delivered = set(), set()
        self.in_flight = set()  # announced when connections were dropped: perhaps in vain
        self.attaches = []  # when
        self.has_vanished = False
        self.is_another, self.others = False, 0  # another program answers in its place; how often it did
        self.was_up, self.noticed = None, {}  # what the viewer said of a relay that has vanished, and after how long
        self.all_sessions = list(sessions)
        self.log = []  # (time, number of the connection, command, stream id)
        self.connections, self.threads = [], []
        self.listener = None
        self.port = 0
        self.listen()

    def listen(self):
        self.listener = socket.socket()
        self.listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.listener.bind(('127.0.0.1', self.port))
        self.listener.listen(16)
        self.port = self.listener.getsockname()[1]
        self.accepts = threading.Thread(target=self.accept, args=(self.listener,), daemon=True)
        self.accepts.start()

    def accept(self, listener):
        while True:
            try:
                sock, _ = listener.accept()
            except OSError:
                return
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            connection = Connection(self, sock)
            thread = threading.Thread(target=connection.run, daemon=True)
            with self.lock:
                self.connections.append(connection)
                self.threads.append(thread)
            thread.start()

    def note_attach(self):
        self.attaches.append(time.monotonic())
        return len(self.attaches) - 1

    def forget(self, connection):
        with self.lock:
            if connection in self.connections:
                self.connections.remove(connection)

    def url(self, session):
        return 'net://127.0.0.1:%d/host/h/%s' % (self.port, session)

    def stop_listening(self):
        """Connections that are made from now on are refused."""
        with self.lock:
            listener, self.listener = self.listener, None
        if listener:  # the thread may wait for the lock, which an action has
            end_listener(listener, self.accepts, 1)

    def drop_connections(self):
        with self.lock:
            for connection in self.connections:
                self.in_flight |= connection.announced - self.delivered
                try:
                    connection.sock.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass

    def restart(self, sessions):
        """Another relay in its place."""
        with self.lock:
            self.sessions = sessions
            self.all_sessions += sessions
            self.drop_connections()

    def vanish(self):
        """From now on no byte of a viewer is received, and not even acknowledged."""
        class Instruction(ctypes.Structure):
            _fields_ = [('code', ctypes.c_ushort), ('jt', ctypes.c_ubyte), ('jf', ctypes.c_ubyte), ('k', ctypes.c_uint)]

        class Program(ctypes.Structure):
            _fields_ = [('length', ctypes.c_ushort), ('first', ctypes.POINTER(Instruction))]

        drop = Instruction(0x06, 0, 0, 0)  # return 0 bytes of each packet
        program = bytes(Program(1, ctypes.pointer(drop)))
        with self.lock:
            for sock in [self.listener] + [connection.sock for connection in self.connections]:
                sock.setsockopt(socket.SOL_SOCKET, SO_ATTACH_FILTER, program)
            self.has_vanished = True

    def come_back(self):
        """After vanish(): a relay of the same sessions, which knows nothing of the connections before."""
        with self.lock:
            for connection in self.connections:
                connection.is_mute = True
            self.connections = []
            self.has_vanished = False
        self.stop_listening()
        self.listen()

    def close(self):
        self.stop_listening()
        self.drop_connections()
        for thread in self.threads:
            thread.join(5)
