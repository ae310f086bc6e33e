"""scripted_cases: the cases of scripted.py: faults of a relay, and what may be asked of the viewer then.

`law` of a case:
    all          the relay recovers, so the viewer gets all: each packet analysed, or lost once
    announced    the relay never tells of the rest: only what was announced has to be accounted for
    own          the relay lies: the viewer's own account is right, and no more is known
    None         the relay tells things that cannot be true: the run ends and says something
"""
import copy
import os
import random
import re
import signal
import socket
import struct
import subprocess
import time
import urllib.request

import guard
import scripted_relay as relays
from ports import free_ports
from scripted_relay import (ATTACH, CONNECT, CREATE, INDEX, LIST, METADATA, NAMES, PACKET, STREAMS, Rule, Session,
                            Trace, after, before, both, call, close_after, close_before, cut, delay, drip, hold, missing,
                            mute, patch, raw, split, tail, trickle, vanish)

COMMANDS = (CONNECT, LIST, CREATE, ATTACH, STREAMS, INDEX, PACKET, METADATA)
ODD_NUMBERS = (0, 1, 1 << 31, 1 << 63, (1 << 64) - 1)
BIG, SMALL = 'channel0_0', 'channel0_1'  # streams of the trace, of 67 and 8 packets

NOTICED_S = 30  # for a relay whose host is gone to be called so, by its metric and by a message
SLACK_S = 2  # of the test

RECALLS = {'--before': '1h', '--after': '0s', '-i': '10ms'}  # scripted.py adds where captures go

# What fails today, and why in a word.  One that passes must be removed.
FAILS = {}


def load(data, events=None):
    """The traces.  In CTF 2 the first one has another metadata: @events (events.c) says it."""
    traces = {'kernel': Trace(os.path.join(data, 'small-packets', 'kernel')), 'ust': Trace(os.path.join(data, 'ust'), 'ust')}
    for name, path in (('kernel', ('small-packets', 'kernel')), ('ust', ('ust',))):
        traces['%s-unnamed' % name] = Trace(os.path.join(data, *path), name)
        traces['%s-unnamed' % name].metadata = re.sub(rb'uuid = "[^"]*";', b'', text_of(traces[name].metadata))
    traces['other'] = Trace(os.path.join(data, 'small-packets', 'kernel'))
    traces['other'].metadata = re.sub(rb'uuid = "[^"]*";', b'uuid = "%s";' % (b'1' * 32), text_of(traces['kernel'].metadata), 1)
    if events:
        traces['ctf2'] = Trace(os.path.join(data, 'small-packets', 'kernel'))
        traces['ctf2'].metadata = subprocess.run([events, '--ctf2', os.path.join(data, 'small-packets', 'kernel')],
                                                 check=True, stdout=subprocess.PIPE).stdout
    return traces


def text_of(metadata):
    """Without the headers of its packets."""
    text = b''
    while metadata[:4] == struct.pack('<I', 0x75D11D57):
        content, size = struct.unpack('<II', metadata[24:32])
        text += metadata[37:content // 8]
        metadata = metadata[size // 8:]
    return text + metadata


class Case:
    def __init__(self, name, rules=list, law='all', says=None, status=0, may_lose=False, options=(), story=None,
                 sessions=None, follows=('s',), is_slow=False, says_gone=False, attaches=None, says_at_most=None,
                 **relay_options):
        self.name, self.rules, self.law, self.says, self.status = name, rules, law, says, status
        self.may_lose, self.options, self.story, self.follows = may_lose, dict(options), story, follows
        self.is_slow, self.says_gone, self.relay_options = is_slow, says_gone, relay_options
        self.attaches = attaches  # how many it takes; None: any number
        self.says_at_most = says_at_most  # lines; None: any number
        self.make_sessions = sessions

    def sessions(self, traces):
        return self.make_sessions(traces) if self.make_sessions else [Session('s', [traces['kernel']])]


def one(name, *rule, law='all', **more):
    """A case with one rule; each run has its own."""
    words = {key: more.pop(key) for key in ('nth', 'count', 'stream', 'connection', 'size', 'of_status') if key in more}
    if 'of_status' in words:
        words['status'] = words.pop('of_status')
    return Case(name, lambda: [Rule(*rule, **words)], law=law, **more)


# ---- what breaks and comes back ----

def connection_lost():
    """Before and after each reply, at several places; cut anywhere; with a reset."""
    for command in COMMANDS:
        name = NAMES[command]
        places = {INDEX: (1, 2, 9, 40, 75, 77), PACKET: (1, 2, 8, 30, 75), METADATA: (1, 2), STREAMS: (1, 2)}
        for nth in places.get(command, (1,)):
            yield one('lost-before-%s-%d' % (name, nth), command, close_before, nth=nth)
            yield one('lost-after-%s-%d' % (name, nth), command, close_after, nth=nth)
        yield one('reset-in-%s' % name, command, cut(3, reset=True))
    for nth in (10, 30, 60):
        yield one('reset-in-packet-%d' % nth, PACKET, cut(2000, reset=True), nth=nth)
    for stream in (BIG, SMALL):
        yield one('lost-at-the-end-of-%s' % stream, INDEX, close_after, stream=stream, of_status=relays.HUP)
        yield one('lost-before-the-end-of-%s' % stream, INDEX, close_before, stream=stream, of_status=relays.HUP)
    yield Case('lost-after-one-stream-ended', lambda: [
        Rule(PACKET, close_before, stream=BIG, nth=60)], story=None)
    # The relay is gone before the packet that was not fetched is announced again.
    for nth in (1, 3):
        yield Case('lost-and-gone-%d' % nth, lambda nth=nth: [
            Rule(PACKET, close_before, stream=BIG, nth=60), Rule(INDEX, relays.end_session, stream=BIG, nth=nth, connection=1)],
                   law='announced', status=None, options={'--retry': '1s'})
    # The relay is gone while a packet is asked for that was analysed before: its first bytes, as the first
    # (with its metadata or without), and the one at which the connection before ended.
    for name, command, nth, stream, more in (
            ('first', PACKET, 1, BIG, {}), ('first-of-another', PACKET, 1, SMALL, {}), ('last', PACKET, 2, BIG, {}),
            ('metadata', METADATA, 6, None, {'metadata_piece': 9000})):
        for kind in ('kernel', 'kernel-unnamed'):
            yield Case('gone-at-an-old-packet-%s-%s' % (name, kind), lambda command=command, nth=nth, stream=stream: [
                Rule(INDEX, close_before, stream=BIG, nth=31, connection=0),
                Rule(command, relays.end_session, nth=nth, stream=stream, connection=1)],
                       sessions=lambda traces, kind=kind: [Session('s', [traces[kind]])],
                       law='announced', status=None, options={'--retry': '1s'}, **more)
    yield Case('gone-at-an-old-packet-refused', lambda: [
        Rule(INDEX, close_before, stream=BIG, nth=31, connection=0), Rule(PACKET, refuse(3), stream=BIG, nth=1, connection=1),
        Rule(PACKET, relays.end_session, stream=BIG, nth=2, connection=1)],
               law='announced', status=None, options={'--retry': '1s'})
    for times in (2, 4):
        yield Case('lost-%d-times' % times, lambda times=times: [
            Rule(PACKET, cut(100), nth=5, connection=i) for i in range(times)])
    for nth in (1, 2, 5, 30):
        for what, action in (('before', close_before), ('after', close_after), ('in', cut(50))):
            yield Case('two-traces-lost-%s-packet-%d' % (what, nth), lambda action=action, nth=nth: [
                Rule(PACKET, action, nth=nth)], sessions=two_traces)
    for nth in (1, 2, 3, 5):
        yield Case('two-traces-lost-after-index-%d' % nth, lambda nth=nth: [
            Rule(INDEX, cut(64, reset=nth % 2 == 0), nth=nth)], sessions=two_traces)
    for piece in (100, 300, 3000):
        yield Case('lost-with-%d-bytes-of-metadata' % piece, lambda: [Rule(METADATA, close_before, nth=2)],
                   metadata_piece=piece, is_slow=piece == 100)  # 2000 requests
        yield Case('two-traces-lost-with-%d-bytes-of-metadata' % piece, lambda: [Rule(METADATA, close_before, nth=4)],
                   metadata_piece=piece, sessions=two_traces, is_slow=piece == 100)
    # A packet that was reported lost is had later: it stays lost, or it is not.
    for name, stream, nth in (('kernel', SMALL, 1), ('kernel', SMALL, 4), ('ust', 'c_0', 1), ('ust', 'c_1', 1)):
        yield Case('refused-and-lost-%s-%s-%d' % (name, stream, nth), lambda stream=stream, nth=nth: [
            Rule(PACKET, refuse(3), nth=nth, stream=stream), Rule(PACKET, close_before, nth=8)],
                   sessions=lambda traces, name=name: [Session('s', [traces[name]])], may_lose=True)
    # A stream ended with a loss at its end, and is announced again: these packets come after all, or do not.
    for name, rules in (('come', []), ('do-not', [Rule(PACKET, refuse(3), stream=SMALL, nth=3, count=2, connection=1)]),
                        ('one-comes', [Rule(PACKET, refuse(3), stream=SMALL, nth=4, connection=1)])):
        yield Case('lost-at-the-end-and-%s' % name, lambda rules=rules: [
            Rule(PACKET, refuse(3), stream=SMALL, nth=7, count=2), Rule(PACKET, close_before, stream=BIG, nth=60)] +
                   [copy.copy(rule) for rule in rules], may_lose=True, says='a packet is lost')
    # An index of a packet that had come, with sizes that cannot be.
    for nth, count in ((1, 1), (1, 8), (5, 4), (8, 1)):
        yield Case('sizes-of-old-packets-%d-%d' % (nth, count), lambda nth=nth, count=count: [
            Rule(PACKET, close_before, stream=BIG, nth=60),
            Rule(INDEX, patch(content=(1 << 64) - 1), stream=SMALL, nth=nth, count=count, connection=1)])
    # The bytes of a packet of another stream, which has come, or will.
    for stream, other, nth in ((SMALL, BIG, 1), (BIG, SMALL, 1), (SMALL, BIG, 5), (BIG, SMALL, 40)):
        for number in (0, 7):
            yield one('packet-of-another-stream-%s-%d-%d' % (stream, nth, number), PACKET,
                      packet_of(other, number), nth=nth, stream=stream, may_lose=True,
                      says='a packet is lost: the relay sent one of another stream')
    yield Case('lost-and-packet-of-another-stream', lambda: [
        Rule(INDEX, close_before, stream=BIG, nth=31, connection=0),
        Rule(PACKET, packet_of(SMALL, 3), stream=BIG, nth=1, connection=1)], may_lose=True)
    # The bytes of another packet, which had come.
    for nth, count in ((8, 1), (6, 3), (3, 2)):
        yield Case('another-packet-%d-%d' % (nth, count), lambda nth=nth, count=count: [
            Rule(INDEX, patch(offset=0), stream=SMALL, nth=nth, count=count)], may_lose=True,
                   says='another one, which had come before')
    yield Case('two-traces-lost-and-refused', lambda: [
        Rule(PACKET, close_after, nth=2), Rule(PACKET, refuse(3), nth=2, count=5)], sessions=two_traces, may_lose=True)
    for nth in (1, 2, 3, 4):
        yield Case('two-traces-lost-before-metadata-%d' % nth, lambda nth=nth: [
            Rule(METADATA, close_before, nth=nth)], sessions=two_traces)
    yield from gone()


@relays.named
def packet_of(stream, number):
    """The bytes of that packet, and zeros behind them, as many as were asked for."""
    def act(step):
        packets = [one for trace in step.connection.session.traces for one in trace.packets()]
        data = ([one.data for one in packets if (one.stream.name, one.number) == (stream, number)] or [packets[0].data])[0]
        size = len(step.reply.tail)
        step.reply.tail = data[:size].ljust(size, b'\0')
    return act


def per_process(traces):
    trace = copy.copy(traces['ust'])
    trace.path = 'ust/pid/app-17-20260101-000000'
    return [Session('s', [trace])]


def two_traces(traces):
    return [Session('s', [traces['kernel'], traces['ust']])]


def cuts_and_splits(has_all):
    """Each reply cut, and sent in pieces, at each byte of its fixed part and at some of the rest."""
    heads = {CONNECT: 20, LIST: 38, CREATE: 4, ATTACH: 8, STREAMS: 8, INDEX: 64, PACKET: 12, METADATA: 12}
    for command, size in heads.items():
        some = (1, size // 2, size - 1) if size > 4 else (2,)
        longer = {ATTACH: (size + 1, size + 4370, size + 4371, size + 2 * 4371), PACKET: (13, 2000, 4000),
                  METADATA: (13, 5000, 100000)}.get(command, ())
        places = sorted(set(range(1, size) if has_all else some) | set(longer))
        for at in places:
            yield one('cut-%s-at-%d' % (NAMES[command], at), command, cut(at), nth=2 if command == INDEX else 1)
        for at in places if has_all else places[::2]:
            yield one('split-%s-at-%d' % (NAMES[command], at), command, split(at), nth=0)
        yield one('drip-%s' % NAMES[command], command, drip, nth=1)


def held_back():
    """Late, missing, in another order."""
    for command in COMMANDS:
        yield one('late-%s' % NAMES[command], command, delay(0.4))
        yield one('silent-from-%s' % NAMES[command], command, mute, is_slow=True)
    yield one('late-all-indexes', INDEX, delay(0.005), nth=0)
    yield one('silent-from-index-40', INDEX, mute, nth=40, is_slow=True)
    yield one('silent-from-packet-60', PACKET, mute, nth=60, is_slow=True)
    yield one('index-missing', INDEX, missing, nth=20, is_slow=True)
    yield one('packet-missing', PACKET, missing, nth=20, is_slow=True)
    # A byte now and then is silence.  A slow link is not, whatever a reply has to say.
    yield one('trickle-of-packet', PACKET, trickle(1, 2, 1 << 10), nth=20, is_slow=True, stream=BIG,
              says='no reply for 20 s, only [0-9]+ bytes of one')
    yield one('trickle-of-a-list', LIST, trickle(1, 2, 30), nth=1, is_slow=True, says='no reply for 20 s, only')
    yield one('slow-metadata', METADATA, trickle(1500, 2, 13), is_slow=True, attaches=1)
    yield one('metadata-missing', METADATA, both(tail(lambda _: b'')), is_slow=True)
    for command in (INDEX, PACKET, METADATA):
        yield one('swapped-%s' % NAMES[command], command, hold, nth=3 if command != METADATA else 1, is_slow=True)


def not_asked_for():
    """Bytes before or after a reply, and others in its place."""
    for command in COMMANDS:
        for size in (1, 4, 12, 64):
            yield one('more-after-%s-%d' % (NAMES[command], size), command, after(bytes(size)), may_lose=True,
                      nth=3 if command in (INDEX, PACKET) else 1, is_slow=True)
        yield one('zeros-for-%s' % NAMES[command], command, raw(bytes(12)), may_lose=True, is_slow=True)
        yield one('ones-for-%s' % NAMES[command], command, raw(b'\xff' * 64), may_lose=True, is_slow=True)
        # Of CONNECT it is another version of the protocol.
        end = {'law': 'announced', 'status': None} if command == CONNECT else {}
        yield one('before-%s' % NAMES[command], command, before(b'\x00\x00\x00\x01'), may_lose=True, is_slow=True, **end)


# ---- another one in its place ----

HTTP = b'HTTP/1.1 400 Bad Request\r\nContent-Length: 11\r\nConnection: close\r\n\r\nBad Request'


def another_answers():
    """For a while the relay's port is that of another program, as while a tunnel or a proxy starts again."""
    for name, command, action, more in (
            ('http', None, both(raw(HTTP), close_after), {}),
            ('nothing', None, close_before, {}),
            ('version-1', CONNECT, patch(major=1), {}),
            ('version-2-3', CONNECT, patch(minor=3), {}),
            ('too-many-sessions', LIST, patch(count=1 << 31), {})):
        def act(step, action=action):
            if step.relay.is_another:
                step.relay.others += 1
                action(step)
        act.text = name
        yield Case('another-answers-%s' % name, lambda act=act, command=command: [Rule(command, act, nth=0)],
                   sessions=half_held, story=another_for_a_while(0.3), options={'--retry': '1h'}, says='trying again',
                   **more)
    for name, action in (('http', both(raw(HTTP), close_after)), ('http-unclosed', raw(HTTP))):
        yield Case('another-answers-first-%s' % name, lambda action=action: [Rule(None, action, nth=1, count=3)],
                   says='what answers is not a relay; trying again')


def another_for_a_while(seconds):
    def story(relay, process):
        session = relay.sessions[0]
        while len(relay.delivered) < 45 and process.poll() is None:
            time.sleep(0.02)
        with relay.lock:
            relay.is_another = True
        relay.drop_connections()
        while relay.others < 3 and process.poll() is None:
            time.sleep(0.02)
        guard.wait_asleep(process, seconds)
        with relay.lock:
            relay.is_another = False
            session.held, session.is_over = {}, True
    return story


# ---- each status ----

def refuse(status):
    """No packet, no metadata."""
    return both(patch(status=status, length=0), tail(lambda _: b''))


def statuses():
    for status in (0, 2, 3, 4, 5, 6, 7, 255, 1 << 31, (1 << 32) - 1):
        # Once, and for some time: the relay gets over it.
        yield one('index-status-%d' % status, INDEX, patch(status=status), nth=30,
                  law='announced' if status == relays.HUP else 'all')
        yield one('index-status-%d-first' % status, INDEX, patch(status=status), nth=1,
                  law='announced' if status == relays.HUP else 'all')
        yield one('packet-status-%d' % status, PACKET, refuse(status), nth=30, may_lose=True) \
            if status not in (1,) else None
        yield one('attach-status-%d' % status, ATTACH, patch(status=status, count=0),
                  law='announced' if status == 4 else 'all')
        yield one('create-status-%d' % status, CREATE, patch(status=status))
        yield one('streams-status-%d' % status, STREAMS, patch(status=status))
        if status != 1:
            yield one('metadata-status-%d' % status, METADATA, refuse(status), may_lose=True)
    yield one('packet-status-2-with-bytes', PACKET, patch(status=2), nth=30, may_lose=True, is_slow=True)
    yield one('index-err-for-a-while', INDEX, patch(status=4), nth=20, count=6)
    yield one('index-err-of-one-stream', INDEX, patch(status=4), nth=3, count=3, stream=SMALL)
    yield one('index-unknown-of-one-stream', INDEX, patch(status=77), nth=3, count=3, stream=SMALL)
    yield one('all-packets-of-a-stream-refused', PACKET, refuse(3), nth=0, stream=BIG, may_lose=True)
    yield one('all-packets-refused', PACKET, refuse(3), nth=0, may_lose=True)
    yield one('last-packet-refused', PACKET, refuse(3), nth=8, stream=SMALL, may_lose=True)
    yield one('first-packet-refused', PACKET, refuse(3), nth=1, stream=SMALL, may_lose=True)
    yield from refused_for_ever()


def refused_for_ever():
    """Until the relay goes away, or the session ends; each refusal is said in words of its own, with its status."""
    away = {'law': 'announced', 'status': None, 'options': {'--retry': '1s'}}
    for status in (4, 6, 77):
        says = 'what follows is lost: the relay answers each request for an index with status %d' % status
        rule = INDEX, patch(status=status)
        # 8 s: longer than the three connections that it is tried on.
        yield Case('index-status-%d-for-ever' % status, lambda rule=rule: [
            Rule(*rule, nth=5, count=1 << 30, stream=SMALL)], story=gone_after(8), says=says, **away)
        yield Case('index-status-%d-for-ever-and-the-session-ends' % status, lambda rule=rule: [
            Rule(*rule, nth=5, count=1 << 30, stream=SMALL), Rule(STREAMS, patch(status=4), nth=0, status=1)],
                   law='announced', says=says)
    for status in (0, 2, 3, 4, 5, 99):
        says = {2: 'another viewer has this session', 3: r'the relay no longer knows the session \(status 3\)'}
        yield Case('attach-status-%d-for-ever' % status, lambda status=status: [
            Rule(ATTACH, patch(status=status, count=0), nth=0)], story=gone_after(4),
                   says=says.get(status, r'the relay refuses to attach \(status %d\)' % status), **away)
    for status in (2, 3, 77):
        yield Case('attach-status-%d-of-100-sessions' % status, lambda status=status: [
            Rule(ATTACH, patch(status=status, count=0), nth=0)], story=gone_after(4), follows=('*',), says_at_most=30,
                   sessions=lambda traces: [Session('s%d' % i, [traces['kernel']], number=i + 1, first_id=10 + 9 * i)
                                            for i in range(100)], **away)
    for status in (0, 2, 99):
        yield Case('create-status-%d-for-ever' % status, lambda status=status: [
            Rule(CREATE, patch(status=status), nth=0)], story=gone_after(4),
                   says=r'the relay refuses a viewer session \(status %d\)' % status, **away)
    # A stream that appears is had by attaching again; at last it is said that no more will be.
    for status in (0, 3, 5, 77):
        yield Case('streams-status-%d-for-ever' % status, lambda status=status: [
            Rule(STREAMS, patch(status=status, count=0), nth=0)], story=show_to_the_third(), sessions=hide(SMALL),
                   says='streams that appear later are missing: .* status %d' % status)
    for status in (0, 2, 3, 77):
        yield Case('metadata-status-%d-for-ever' % status, lambda status=status: [
            Rule(METADATA, refuse(status), nth=0)], may_lose=True, says='75 packets of .* are lost: .*metadata')
    for status in (0, 2, 3, 4, 99):
        yield Case('packet-status-%d-for-ever' % status, lambda status=status: [
            Rule(PACKET, refuse(status), nth=9, count=1 << 30, stream=BIG)], may_lose=True,
                   says='a packet is lost: the relay no longer has it')


def show_to_the_third():
    """The hidden stream is shown at once, and the session ends a while after the viewer attached a third time."""
    def story(relay, process):
        guard.wait_asleep(process, 0.5)
        with relay.lock:
            relay.sessions[0].hidden = set()
        while len(relay.attaches) < 3 and process.poll() is None:
            time.sleep(0.05)
        guard.wait_asleep(process, 3)
        with relay.lock:
            relay.sessions[0].is_over = True
    return story


def gone_after(seconds):
    """The relay goes away for good, once it has been asked for nothing new so long."""
    def story(relay, process):
        had, end = None, 0
        asleep = guard.Asleep(lambda: guard.alone(process.pid))
        while process.poll() is None:
            has = len(relay.announced), len(relay.delivered)
            if has != had:
                had, end = has, asleep.now() + seconds
            if asleep.now() > end:
                break
            time.sleep(0.05)
        asleep.stop()
        relay.stop_listening()
        relay.drop_connections()
    return story


# ---- each member of each structure ----

# (offset, type) of members behind the head of a reply
SESSION = {'id': (0, 'Q'), 'timer': (8, 'I'), 'clients': (12, 'I'), 'streams': (16, 'I'), 'host': (20, 'I'),
           'name': (24, 'I'), 'format': (28, 'I')}
STREAM = {'id': (0, 'Q'), 'trace': (8, 'Q'), 'metadata': (16, 'I')}


def poke(offset, kind, value):
    def change(data):
        size = struct.calcsize(kind)
        return data[:offset] + struct.pack('>' + kind, value) + data[offset + size:]
    return tail(change)


def odd(kind):
    return [value for value in ODD_NUMBERS if value < 1 << {'I': 32, 'Q': 64}[kind]] + (
        [(1 << 32) - 1] if kind == 'I' else [])


def members():
    for name, kind in (('offset', 'Q'), ('packet', 'Q'), ('content', 'Q'), ('begin', 'Q'), ('end', 'Q'),
                       ('discarded', 'Q'), ('class', 'Q'), ('flags', 'I')):
        for value in odd(kind):
            yield one('index-%s-%x' % (name, value), INDEX, patch(**{name: value}), nth=30, may_lose=True)
    for value in odd('Q'):
        yield Case('beacon-%x' % value, lambda value=value: [
            Rule(INDEX, both(patch(status=5, end=value)), nth=30)], may_lose=True)
    for value in odd('I'):
        yield one('packet-length-%x' % value, PACKET, patch(length=value), nth=30, may_lose=True, is_slow=True)
        if value:
            yield one('attach-count-%x' % value, ATTACH, patch(count=value), is_slow=True, may_lose=True)
            yield one('streams-count-%x' % value, STREAMS, patch(status=1, count=value), is_slow=True, may_lose=True)
        yield one('list-count-%x' % value, LIST, patch(count=value), is_slow=True)
    for value in odd('Q') + [221184 + 1, 221184 - 1]:
        yield one('metadata-length-%x' % value, METADATA, patch(length=value), is_slow=True, may_lose=True)
    for name, (offset, kind) in SESSION.items():
        for value in odd(kind):
            yield one('session-%s-%x' % (name, value), LIST, poke(offset, kind, value), is_slow=True)
    for name, (offset, kind) in STREAM.items():
        for which in (0, 1):
            for value in odd(kind):
                is_lie = name == 'trace' or name == 'metadata' and which == (value != 0)
                yield one('stream-%d-%s-%x' % (which, name, value), ATTACH, poke(which * 4371 + offset, kind, value),
                          law=None if is_lie else 'all', may_lose=True, is_slow=True, status=None,
                          options={'--retry': '2s'}, story=gone_after(12))
    for value in odd('Q'):
        yield one('connect-id-%x' % value, CONNECT, patch(id=value))
    for name in ('major', 'minor'):
        for value in odd('I'):
            # No relay has such numbers, so that it is asked again.  Others tell what it is.
            fine = value > 255 or name == 'major' and value == 0
            yield one('connect-%s-%x' % (name, value), CONNECT, patch(**{name: value}),
                      law='all' if fine else 'announced', status=0 if fine else 1, is_slow=True)


# ---- metadata ----

def metadata():
    for piece in (1000, 4096, 4095, 4097, 37, 36, 5, 50000):
        yield Case('metadata-in-pieces-of-%d' % piece, metadata_piece=piece if piece > 100 else 100 + piece)
    yield one('metadata-half', METADATA, tail(lambda data: data[:110000]), is_slow=True, may_lose=True)
    yield Case('metadata-half-for-ever', law='announced', may_lose=True, says='metadata', story=more_metadata(None),
               sessions=half_metadata, status=None)
    yield Case('metadata-half-then-all', story=more_metadata(1.0), sessions=half_metadata)
    yield Case('metadata-none-then-all', story=more_metadata(1.0), sessions=lambda traces: half_metadata(traces, 0))
    for at in (1, 36, 37, 4095, 4096 * 3 + 50):
        yield Case('metadata-%d-bytes-then-all' % at, story=more_metadata(0.5),
                   sessions=lambda traces, at=at: half_metadata(traces, at))
    # The 35th piece ends between two declarations.
    for count in (2, 5):
        yield Case('metadata-refused-%d-times-midway' % count, lambda count=count: [
            Rule(METADATA, refuse(2), nth=36, count=count)], metadata_piece=4096)
    yield one('metadata-promised-for-ever', INDEX, patch(flags=1), nth=0)
    yield one('metadata-shorter-than-said', METADATA, tail(lambda data: data[:-4096]), is_slow=True, may_lose=True)
    yield one('metadata-damaged', METADATA, tail(lambda data: data[:50000] + b'\xff' * 64 + data[50064:]),
              law=None)
    # What was analysed before is not lost then, and what is lost is lost once.
    damaged = tail(lambda data: data[:50000] + b'\xff' * 64 + data[50064:])
    for name, rules in (('then', ((METADATA, damaged, 1),)),
                        ('twice', ((METADATA, damaged, 0), (METADATA, damaged, 1))),
                        ('at-first', ((METADATA, damaged, 0),))):
        yield Case('lost-and-metadata-damaged-%s' % name, lambda rules=rules: [
            Rule(INDEX, close_before, stream=BIG, nth=31, connection=0)] + [
                Rule(command, act, connection=connection) for command, act, connection in rules], may_lose=True)
    yield one('metadata-of-zeros', METADATA, tail(lambda data: bytes(len(data))), law=None)


def half_metadata(traces, size=110000):
    session = Session('s', [traces['kernel']])
    session.metadata_at = {session.first_id: size}
    session.is_over = False
    return [session]


def more_metadata(seconds):
    """The rest of the metadata comes, or never, and the session ends."""
    def story(relay, process):
        guard.wait_asleep(process, seconds or 1.0)
        with relay.lock:
            for session in relay.sessions:
                if seconds:
                    session.metadata_at = {}
                session.is_over = True
    return story


def metadata_last(relay, process):
    """The session ends; most of its metadata comes once the first rule was used."""
    guard.wait_asleep(process, 0.5)
    with relay.lock:
        relay.sessions[0].is_over = True
    until_used(1)(relay, process)
    with relay.lock:
        relay.sessions[0].metadata_at = {}


# ---- sessions, traces, streams ----

def several():
    yield Case('plain')
    yield Case('plain-ust', sessions=lambda traces: [Session('s', [traces['ust']])])
    yield Case('short-programs', sessions=per_process, minor=13, says='buffers of their own: what they write last')
    yield Case('plain-two-traces', sessions=lambda traces: [Session('s', [traces['kernel'], traces['ust']])])
    yield Case('plain-two-sessions', follows=('s', 't'), sessions=lambda traces: [
        Session('s', [traces['kernel']]), Session('t', [traces['ust']], number=2, first_id=50)])
    yield Case('one-name-two-sessions', sessions=lambda traces: [
        Session('s', [traces['kernel']]), Session('s', [traces['ust']], number=2, first_id=50)])
    yield Case('same-stream-ids', follows=('s', 't'), sessions=lambda traces: [
        Session('s', [traces['kernel']]), Session('t', [traces['ust']], number=2)])
    yield Case('stream-appears-later', story=show_later(SMALL), sessions=hide(SMALL))
    yield Case('metadata-appears-later', story=show_later('metadata'), sessions=hide('metadata'))
    yield Case('packets-appear-later', story=release(0.2, 10), sessions=hold_packets)
    yield Case('packets-one-by-one', story=release(0.02, 1), sessions=hold_packets)
    yield one('attached-without-streams', ATTACH, no_streams)
    yield one('announced-twice', STREAMS, announce_again(0), of_status=4, nth=1)
    # Those of the first time do not wait for metadata any more, and are lost if they do not come again.
    yield one('announced-again-before-its-metadata', STREAMS, announce_again(0), of_status=4, nth=1, story=metadata_last,
              sessions=lambda traces: half_metadata(traces, 100), may_lose=True)
    yield one('announced-again-at-once', ATTACH, announce_twice)
    # Another name for an id that is taken: for once, and always.
    for name, count in (('once', 1), ('for-ever', 1 << 30)):
        yield one('id-of-a-stream-announced-for-another-%s' % name, ATTACH, announce_other, count=count,
                  says='its id is that of another stream')
        yield one('another-metadata-stream-%s' % name, STREAMS, announce_other_metadata, nth=2, count=count, of_status=1,
                  sessions=half_held, story=until_used(min(count, 3)), says='another one is announced for its trace')
    yield Case('beacon-for-ever', lambda: [Rule(INDEX, patch(status=5, end=1 << 60), nth=30, count=1 << 30, stream=BIG)],
               story=unlisted_after(1), law='announced', says='the session is gone from the relay')


def announce_other(step):
    """One more, with the id of a stream that is announced before it."""
    step.reply.tail += relays.stream_bytes(step.connection.session.first_id + 1, 100, False, 'kernel', 'another_0')
    step.reply.values['count'] += 1


def announce_other_metadata(step):
    step.reply.tail += relays.stream_bytes(9999, 100, True, 'kernel', 'metadata')
    step.reply.values['count'] += 1


def until_used(times):
    """The rest of the packets comes once the first rule was used so often."""
    def story(relay, process):
        while relay.rules[0].used < times and process.poll() is None:
            time.sleep(0.02)
        guard.wait_asleep(process, 0.3)
        with relay.lock:
            relay.sessions[0].held, relay.sessions[0].is_over = {}, True
    return story


def unlisted_after(seconds):
    """The relay does not list the session any more once nothing new was asked for."""
    def story(relay, process):
        guard.wait_asleep(process, seconds)
        with relay.lock:
            relay.sessions[0].is_listed = False
    return story


def no_streams(step):
    """They are told later."""
    step.reply.tail, step.reply.values['count'], step.done = b'', 0, []


def announce_twice(step):
    """All streams twice in one reply."""
    step.reply.tail *= 2
    step.reply.values['count'] *= 2


def announce_again(_):
    """A stream that has ended, once more."""
    def act(step):
        session = step.connection.session
        number, trace, stream = [one for one in session.ids() if one[2]][-1]
        step.reply.values.update(status=1, count=1)
        step.reply.tail = relays.stream_bytes(number, 100, False, trace.path, stream.name)
    return act


def give_id_away(step):
    """The stream has ended.  Its id is now that of another one, which is announced."""
    connection, session = step.connection, step.connection.session
    connection.told.discard(step.stream_id)
    connection.positions.pop(step.stream_id, None)
    step.done = []
    session.renumber = {BIG: 9999, SMALL: step.stream_id}
    connection.positions[9999] = None
    connection.told.add(9999)
    session.hidden, session.is_over = set(), True


def hide(name):
    def sessions(traces):
        session = Session('s', [traces['kernel']])
        session.hidden, session.is_over = {name}, False
        return [session]
    return sessions


def show_later(name):
    def story(relay, process):
        guard.wait_asleep(process, 0.5)
        with relay.lock:
            relay.sessions[0].hidden = set()
        guard.wait_asleep(process, 1.5)
        with relay.lock:
            relay.sessions[0].is_over = True
    return story


def hold_packets(traces):
    session = Session('s', [traces['kernel']])
    session.held = {BIG: 0, SMALL: 0}
    session.is_over = False
    return [session]


def half_held(traces):
    session = hold_packets(traces)[0]
    session.held = {BIG: 40, SMALL: 5}
    return [session]


def recall_story(attaches):
    """Half of the packets have come when a capture is asked for; the rest follows once it is attached so often."""
    def story(relay, process):
        session = relay.sessions[0]
        while len(relay.delivered) < 45 and process.poll() is None:
            time.sleep(0.02)
        guard.wait_asleep(process, 0.5)  # until they are analysed
        if process.poll() is None:
            process.send_signal(signal.SIGUSR2)
        asleep = guard.Asleep(lambda: guard.alone(process.pid))
        while len(relay.attaches) < attaches and process.poll() is None and asleep.now() < 20:
            time.sleep(0.02)
        asleep.stop()
        session.held, session.is_over = {}, True
    return story


def recalls():
    """What was analysed is fetched once more for a capture; whatever happens then, nothing is lost or doubled."""
    whole, part = r'h/s: captured [\d.]+ KiB into', r'h/s: captured .* \(some is missing: see its capture.json\)'
    for name, says, rules in (
            ('well', whole, ()),
            ('packet-refused', part, ((PACKET, refuse(3), {'nth': 10, 'count': 4}),)),
            ('all-of-a-stream-refused', part, ((PACKET, refuse(3), {'stream': SMALL, 'nth': 1, 'count': 5}),)),
            ('lost-before-packet', whole, ((PACKET, close_before, {'nth': 20}),)),
            ('lost-after-packet', whole, ((PACKET, close_after, {'nth': 21}),)),
            ('lost-before-index', whole, ((INDEX, close_before, {'nth': 30}),)),
            ('lost-at-attach', whole, ((ATTACH, close_before, {'nth': 1}),)),
            ('lost-in-metadata', whole, ((METADATA, cut(30), {'nth': 1}),)),
            ('refused-at-first', whole, ((ATTACH, patch(status=2), {'nth': 1}),))):
        yield Case('recall-' + name, lambda rules=rules: [
            Rule(command, act, connection=1, **more) for command, act, more in rules],
                   sessions=half_held, story=recall_story(2), says=says, options=RECALLS)
    yield Case('recall-of-a-session-that-ends', lambda: [Rule(STREAMS, patch(status=4), nth=0, status=1)],
               sessions=half_held, story=recall_story(1), options=RECALLS,
               says='the relay does not hand it out again: what was before is not captured')


def release(pause, number):
    def story(relay, process):
        session = relay.sessions[0]
        while any(session.held[stream.name] < len(stream.packets) for stream in session.traces[0].streams):
            time.sleep(pause)
            with relay.lock:
                for name in session.held:
                    session.held[name] += number
        with relay.lock:
            session.is_over = True
    return story


def restarts():
    """The relay is another one from some request on: other ids, perhaps another trace."""
    def again(traces, **more):
        def act(relay):
            relay.restart([Session('s', [relay.sessions[0].traces[0]], **more)])
        return act

    for nth in (5, 40, 74):
        yield one('relay-restarts-%d' % nth, PACKET, call(again(None, number=7, first_id=300)), nth=nth)
        yield one('relay-restarts-same-ids-%d' % nth, PACKET, call(again(None)), nth=nth)
    # The second restart comes between a list and the request to attach to what it named.
    yield Case('relay-restarts-twice', lambda: [
        Rule(PACKET, call(again(None, number=7, first_id=300)), nth=40),
        Rule(ATTACH, both(call(again_unseen), patch(status=3)), nth=2)])
    yield Case('relay-restarts-after-a-stream', lambda: [
        Rule(PACKET, call(again(None, number=7, first_id=300)), nth=60, stream=BIG)])
    yield Case('ids-of-another-trace', lambda: [Rule(PACKET, call(other_trace), nth=40)],
               sessions=lambda traces: [Session('s', [traces['kernel']]),
                                        Session('hidden', [traces['ust']], number=99, first_id=500)],
               law='announced')
    yield Case('id-of-an-ended-stream', lambda: [
        Rule(INDEX, give_id_away, stream=BIG, nth=68)], sessions=hide(SMALL))
    yield Case('two-of-one-name-restart', lambda: [Rule(PACKET, call(restart_both), nth=40)],
               sessions=lambda traces: [Session('s', [traces['kernel']]),
                                        Session('s', [traces['ust']], number=2, first_id=50)])


    def held_and_whole(traces):
        held = Session('s', [traces['kernel']])
        held.held = {BIG: 20, SMALL: 3}
        return [held, Session('s', [traces['ust']], number=2, first_id=50)]

    yield Case('one-of-two-ends-as-the-relay-goes', lambda: [Rule(STREAMS, end_as_the_relay_goes, status=4)],
               sessions=held_and_whole)


def used_again():
    """A session ends, and the next list has one of its id and name: another one, or it still.

    Relays give an id once, and do not list what was read to its end.  These do."""
    for name, kinds in (('at-once', ('ust',)), ('and-again', ('ust', 'kernel', 'ust')),
                        ('with-a-trace-that-was-read', ('kernel', 'ust'))):
        parts = [[kind] for kind in kinds] if name == 'and-again' else [kinds]
        yield Case('id-comes-back-' + name, lambda parts=parts: [
            Rule(STREAMS, give_session_id(parts[i:i + 1]), status=4, nth=i + 1) for i in range(len(parts))],
                   sessions=lambda traces: [with_all(Session('s', [traces['kernel']]), traces)], follows=('*',),
                   story=stop_when(2, 1 + len(parts)))
    yield Case('ended-and-listed-still', follows=('*',), story=stop_when(1, 4, 7), says_at_most=6)
    yield Case('ended-and-listed-still-by-name', attaches=1)
    yield Case('unnamed-ended-and-listed-still', follows=('*',), sessions=unnamed('kernel'), attaches=1,
               story=stop_when(1, 1), says='its traces do not tell whether it is the one that ended')


def with_all(session, traces):
    session.all_traces = traces
    return session


@relays.named
def give_session_id(parts):
    """All of it was read, and the relay has another one of its id and name."""
    def swap(relay):
        with relay.lock:
            old = relay.sessions[0]
            new = with_all(Session('s', [old.all_traces[kind] for kind in parts[0]]), old.all_traces)
            relay.sessions = [new]
            relay.all_sessions = relay.all_sessions + [new]

    def act(step):
        step.done.append((swap, step.relay))
    return act


def stop_when(traces, least, most=None):
    """Ends the run, which waits for other sessions, once all packets of so many traces have come and it
    has attached so often; then for three seconds more it does what it does."""
    def story(relay, process):
        asleep = guard.Asleep(lambda: guard.alone(process.pid))
        try:
            while asleep.now() < 40 and process.poll() is None:
                had = {key[1] for key in relay.delivered}
                whole = all(session.all_keys() <= relay.delivered for session in relay.all_sessions)
                if whole and len(had) == 2 * traces and len(relay.attaches) >= least:
                    break
                time.sleep(0.05)
            else:
                raise AssertionError('%d packets, %d attaches' % (len(relay.delivered), len(relay.attaches)))
        finally:
            asleep.stop()
        guard.wait_asleep(process, 3)
        assert most is None or len(relay.attaches) <= most, relay.attaches
        process.send_signal(signal.SIGTERM)
    return story


def end_as_the_relay_goes(step):
    """The connection that lists sessions is closed before the session ends: the viewer has no relay then."""
    relay = step.relay
    for connection in relay.connections:
        if connection.number is None:
            connection.sock.shutdown(socket.SHUT_RDWR)
    time.sleep(0.1)
    step.done.append((restart_both, relay))


def ctf2():
    def sessions(traces):
        return [Session('s', [traces['ctf2']])]

    yield Case('ctf2', sessions=sessions)
    yield Case('ctf2-lost', lambda: [Rule(PACKET, cut(100), nth=20)], sessions=sessions)
    for piece in (997, 4096, 20000):
        yield Case('ctf2-metadata-in-pieces-of-%d' % piece, sessions=sessions, metadata_piece=piece)


def numbers():
    """Sequence numbers that do not go up by one."""
    def changed(function):
        return lambda traces: [Session('s', [traces['kernel'].renumbered(function)])]

    yield Case('numbers-begin-anew', sessions=changed(lambda name, i: i if i < 30 else i - 30))
    yield Case('numbers-begin-anew-often', sessions=changed(lambda name, i: i % 5))
    yield Case('numbers-begin-late', sessions=changed(lambda name, i: i + 1000))
    yield Case('numbers-all-zero', sessions=changed(lambda name, i: 0))
    yield Case('numbers-jump-by-2^63', sessions=changed(lambda name, i: i if i < 30 else i + (1 << 63)))
    yield Case('numbers-wrap', sessions=changed(lambda name, i: (i - 30) % (1 << 64)))
    for at in (20, 50):
        yield Case('numbers-begin-anew-and-lost-%d' % at, lambda at=at: [Rule(PACKET, close_before, nth=at)],
                   sessions=changed(lambda name, i: i if i < 30 else i - 30))


def gone():
    """The host of the relay loses its power."""
    def idle(traces):
        session = hold_packets(traces)[0]
        session.held = {BIG: 30, SMALL: 5}
        session.beacons, session.timer_us = True, 600 * 1000 * 1000
        return [session]

    def idle_story(relay, process):
        guard.wait_asleep(process, 1.5)
        relay.vanish()
        stop_later(relay, process)

    def more():
        return {'law': None, 'status': None, 'is_slow': True, 'says_gone': True,
                'options': {'--metrics': '127.0.0.1:%d' % free_ports(), '--retry': '1h'}}

    yield Case('vanishes-while-idle', story=idle_story, sessions=idle, **more())
    for command, nth in ((ATTACH, 1), (INDEX, 1), (INDEX, 40), (PACKET, 20), (METADATA, 1)):
        yield Case('vanishes-at-%s-%d' % (NAMES[command], nth), lambda command=command, nth=nth: [
            Rule(command, vanish, nth=nth)], story=stop_later, **more())


    yield Case('vanishes-and-comes-back', lambda: [Rule(PACKET, vanish, nth=30)], story=back_after(2), is_slow=True,
               options={'--retry': '1h'})
    yield Case('vanishes-while-idle-and-comes-back', story=idle_and_back, sessions=idle, is_slow=True,
               options={'--retry': '1h'})


def back_after(seconds):
    def story(relay, process):
        while not relay.has_vanished and process.poll() is None:
            time.sleep(0.05)
        guard.wait_asleep(process, seconds)
        relay.come_back()
    return story


def idle_and_back(relay, process):
    guard.wait_asleep(process, 1.5)
    relay.vanish()
    guard.wait_asleep(process, 2)
    with relay.lock:
        relay.sessions[0].held, relay.sessions[0].is_over = {}, True
    relay.come_back()


def stop_later(relay, process):
    """Notes when it says that the relay is gone, in its metrics and in a message; then it is stopped."""
    while not relay.has_vanished and process.poll() is None:
        time.sleep(0.05)
    asleep = guard.Asleep(lambda: guard.alone(process.pid), period_s=0.25)
    relay.was_up = relay_up(process.pid)
    while process.poll() is None and len(relay.noticed) < 2 and asleep.now() < 2 * NOTICED_S:
        if relay_up(process.pid) == 0:
            relay.noticed.setdefault('sillage_relay_up 0', asleep.now())
        with open('/proc/%d/fd/2' % process.pid, errors='replace') as said:
            if re.search('connection lost|no reply', said.read()):
                relay.noticed.setdefault('a message', asleep.now())
        time.sleep(0.25)
    asleep.stop()
    process.terminate()


def relay_up(pid):
    """What its metrics say of its one relay."""
    with urllib.request.urlopen('http://127.0.0.1:%d/metrics' % listening_port(pid)) as reply:
        return float(re.search(r'^sillage_relay_up\{.*\} (\S+)$', reply.read().decode(), re.M).group(1))


def listening_port(pid):
    """The one at which a process listens.  The kernel's table of sockets may lack one while others come and go."""
    for _ in range(50):
        port = find_listening_port(pid)
        if port is not None:
            return port
        time.sleep(0.1)
    raise LookupError('process %d does not listen' % pid)


def find_listening_port(pid):
    own = set()
    for name in os.listdir('/proc/%d/fd' % pid):
        try:
            own.add(os.readlink('/proc/%d/fd/%s' % (pid, name)))
        except OSError:
            pass  # closed since the list was read
    with open('/proc/%d/net/tcp' % pid) as table:
        for words in map(str.split, list(table)[1:]):
            if words[3] == '0A' and 'socket:[%s]' % words[9] in own:
                return int(words[1].partition(':')[2], 16)
    return None


def other_trace(relay):
    """The session's id and its streams' ids are those of another trace now."""
    relay.restart([Session('s', [relay.sessions[1].traces[0]])])


def again_unseen(relay):
    """The session has another id, and no connection was lost."""
    with relay.lock:
        relay.sessions = [Session('s', relay.sessions[0].traces, number=8, first_id=400)]
        relay.all_sessions += relay.sessions


def restart_both(relay):
    first, second = relay.sessions
    relay.restart([Session('s', second.traces, number=1, first_id=10), Session('s', first.traces, number=2, first_id=50)])


# ---- traces without UUID, or with another one than their packets ----

def unnamed(*names):
    def sessions(traces):
        return [Session('s', [traces[name + '-unnamed'] for name in names])]
    return sessions


def without_uuid():
    yield Case('unnamed', sessions=unnamed('kernel'))
    for name, rules in (('other-uuid', list), ('other-uuid-lost', lambda: [Rule(PACKET, close_before, nth=9)])):
        yield Case(name, rules, says='another UUID than its metadata', sessions=lambda traces: [Session('s', [traces['other']])])
    for names in (('kernel',), ('ust',), ('kernel', 'ust')):
        for nth in (1, 5, 9):
            yield Case('unnamed-lost-%s-%d' % ('-'.join(names), nth), lambda nth=nth: [Rule(PACKET, close_before, nth=nth)],
                       sessions=unnamed(*names))
    for command, nth in ((INDEX, 40), (METADATA, 1), (METADATA, 2), (PACKET, 60)):
        yield Case('unnamed-lost-twice-%s-%d' % (NAMES[command], nth), lambda command=command, nth=nth: [
            Rule(command, close_after, nth=nth), Rule(PACKET, cut(100), nth=5, connection=1)], sessions=unnamed('kernel'))


# ---- all ----

def cases(has_all, has_ctf2):
    for make in (several, connection_lost, held_back, another_answers, recalls, statuses, metadata, restarts, used_again, numbers,
                 without_uuid):
        yield from (case for case in make() if case)
    if has_ctf2:
        yield from ctf2()
    yield from cuts_and_splits(has_all)
    for make, part in ((not_asked_for, 4), (members, 3)):
        for i, case in enumerate(make()):
            if has_all or i % part == 0 or case.name in FAILS:
                yield case


# ---- at random ----

RECOVERS = (
    lambda rng: (rng.choice(COMMANDS), close_before), lambda rng: (rng.choice(COMMANDS), close_after),
    lambda rng: (rng.choice(COMMANDS), cut(rng.choice((1, 3, 11, 12, 63, 64, 2000, -1, rng.randrange(5000))))),
    lambda rng: (rng.choice(COMMANDS), cut(rng.randrange(100), reset=True)),
    lambda rng: (rng.choice(COMMANDS), delay(rng.random() * 0.3)), lambda rng: (rng.choice(COMMANDS), drip),
    lambda rng: (rng.choice(COMMANDS), split(rng.randrange(1, 5000))),
    lambda rng: (INDEX, patch(status=rng.choice((0, 2, 4, 7, 1 << 31)))),
    lambda rng: (STREAMS, patch(status=rng.choice((0, 2, 5, 77)))),
    lambda rng: (PACKET, refuse(rng.choice((2, 3, 4, 9)))),
    lambda rng: (INDEX, patch(**{rng.choice(('offset', 'content', 'begin', 'end', 'packet')): rng.choice(ODD_NUMBERS)})),
    lambda rng: (INDEX, patch(flags=rng.randrange(4))), lambda rng: (ATTACH, announce_twice),
    lambda rng: (PACKET, patch(length=rng.choice((0, 1, 5000)))),
)


def mutated(rng):
    """Some bytes of a reply are others, or it is longer, or shorter."""
    def act(step):
        data = bytearray(step.reply.pack())
        for _ in range(rng.choice((1, 1, 2, 8))):
            data[rng.randrange(min(len(data), rng.choice((16, 64, 1 << 20))))] = rng.choice((0, 1, 255, rng.randrange(256)))
        step.raw = bytes(data) + rng.choice((b'', b'', bytes(rng.randrange(100)), HTTP))
    act.text = 'mutated'
    return act


def any_member(rng, members):
    name, (offset, kind) = rng.choice(list(members.items()))
    return poke(offset + rng.choice((0, 0, 4371)) * (members is STREAM), kind,
                rng.choice(odd(kind) + [rng.randrange(1, 20)]))


# What no relay says.  What becomes of the packets of such a relay is not known; the viewer's own account is right.
LIES = (
    lambda rng: (rng.choice(COMMANDS), mutated(rng)), lambda rng: (rng.choice(COMMANDS), mutated(rng)),
    lambda rng: (rng.choice(COMMANDS), raw(rng.randbytes(rng.choice((1, 12, 64, 5000))))),
    lambda rng: (rng.choice(COMMANDS), both(raw(HTTP), close_after)),
    lambda rng: (rng.choice(COMMANDS), before(rng.randbytes(rng.randrange(1, 80)))),
    lambda rng: (rng.choice(COMMANDS), after(rng.randbytes(rng.randrange(1, 80)))),
    lambda rng: (INDEX, patch(status=rng.choice((1, 3, 5, 6)), end=rng.choice(ODD_NUMBERS + (rng.getrandbits(62),)))),
    lambda rng: (INDEX, patch(**{name: rng.choice(ODD_NUMBERS) for name in ('begin', 'end', 'class', 'content')})),
    lambda rng: (PACKET, packet_of(rng.choice((BIG, SMALL)), rng.randrange(8))),
    lambda rng: (PACKET, tail(lambda data: rng.randbytes(len(data)))),
    lambda rng: (METADATA, refuse(2)),  # where a piece ends with a declaration nothing contradicts it
    lambda rng: (METADATA, tail(lambda data: data[:rng.randrange(len(data) + 1)])),
    lambda rng: (METADATA, patch(length=rng.choice(ODD_NUMBERS), status=rng.choice((0, 1, 2, 3)))),
    lambda rng: (ATTACH, any_member(rng, STREAM)), lambda rng: (ATTACH, announce_other),
    lambda rng: (ATTACH, patch(status=rng.choice((0, 2, 3, 4, 99)))), lambda rng: (STREAMS, announce_other),
    lambda rng: (STREAMS, announce_other_metadata), lambda rng: (STREAMS, patch(status=4)),
    lambda rng: (STREAMS, patch(status=1, count=rng.choice((1, 16384, 1 << 31)))),
    lambda rng: (LIST, any_member(rng, SESSION)), lambda rng: (LIST, patch(count=rng.choice((0, 2, 65536, 1 << 31)))),
    lambda rng: (CONNECT, patch(major=rng.choice((0, 1, 3, 1 << 31)))), lambda rng: (CREATE, patch(status=0)),
    lambda rng: (rng.choice(COMMANDS), trickle(rng.randrange(1, 20), 0.2, 10)),
    lambda rng: (INDEX, announce_again_as(rng)),
)


def announce_again_as(rng):
    """The session's id and its streams are those of the relay's last session."""
    def act(step):
        relay = step.relay
        relay.sessions[-1].number = relay.sessions[0].number
        relay.sessions[-1].first_id = rng.choice((relay.sessions[0].first_id, 7000))
    act.text = 'ids used again'
    return act


def another_act(step):
    if step.relay.is_another:
        step.relay.others += 1
        both(raw(HTTP), close_after)(step)


def weather(seed, is_gone, has_unnamed):
    """Packets come bit by bit, connections are lost, another one answers for a while, the relay is started again;
    at last all sessions are over, and with @is_gone the relay is.

    A trace without UUID, @has_unnamed, is another one after a restart, and once more when its session has ended."""
    def story(relay, process):
        rng = random.Random(seed + (1 << 41))
        number = 100
        while process.poll() is None and any(
                session.held.get(stream.name, 1 << 30) < len(stream.packets)
                for session in relay.sessions for trace in session.traces for stream in trace.streams):
            time.sleep(rng.random() * 0.2)
            with relay.lock:
                for session in relay.sessions:
                    for name in session.held:
                        session.held[name] += rng.choice((0, 0, 1, 5, 20))
                what = rng.random()
                relay.is_another = what < 0.05
                if what < 0.1:
                    relay.drop_connections()
                elif what < 0.13 and not has_unnamed:
                    number += 100
                    relay.restart([again_as(session, number + i) for i, session in enumerate(relay.sessions)])
        with relay.lock:
            relay.is_another = False
            for session in relay.sessions:
                session.held, session.is_over = {}, True
        if is_gone:
            gone_after(4)(relay, process)
    return story


def again_as(session, number):
    other = Session(session.name, session.traces, number=number, first_id=number * 50)
    other.held, other.is_over, other.beacons = session.held, session.is_over, session.beacons
    return other


def chaos_sessions(rng, has_ctf2):
    """What makes them of the traces, and their names."""
    names = ['s%d' % i for i in range(rng.choice((1, 1, 2, 3, 5)))]
    kinds = ('kernel', 'ust', 'both', 'ctf2' if has_ctf2 else 'kernel', 'kernel' if len(names) > 1 else 'kernel-unnamed')
    of = [rng.choice(kinds) for _ in names]
    holds, beacons = [rng.random() < 0.5 for _ in names], rng.random() < 0.3

    def sessions(traces):
        made = []
        for i, (name, kind) in enumerate(zip(names, of)):
            session = Session(name, [traces[one] for one in (('kernel', 'ust') if kind == 'both' else (kind,))],
                              number=i + 1, first_id=10 + 50 * i)
            session.beacons = beacons
            if holds[i]:
                session.held = {stream.name: 0 for trace in session.traces for stream in trace.streams}
                session.is_over = False
            made.append(session)
        return made
    return sessions, names, 'kernel-unnamed' in of


def chaos(seed, has_ctf2):
    """Some faults at random places: from which the relay recovers, or, of each third seed, lies."""
    lies = seed % 3 == 0

    def choices(rng):
        counts = (1, 1, 2, 5)
        yield Rule(None, another_act, nth=0)
        for _ in range(rng.randrange(1, 5)):
            command, action = rng.choice(RECOVERS + LIES * 2 if lies else RECOVERS)(rng)
            if command == LIST and has_unnamed:
                continue  # after it, a session that has ended cannot be told from another one
            # A status of a stream that stays wrong is taken for the end of it, and said.
            count = rng.choice(counts + ((1 << 30,) if lies else ()))
            counts = counts if lies or count == 1 else (1,)  # six wrong answers in a row are too many
            count = 1 if command == INDEX and 'status' in getattr(action, 'text', '') else count
            # Each reply byte by byte is in time for ever, and a session of them lasts for minutes.
            count = min(count, 5) if 'trickle' in getattr(action, 'text', '') else count
            yield Rule(command, action, nth=rng.choice((1, 2, rng.randrange(1, 30), rng.randrange(1, 90))), count=count)

    rng = random.Random(seed)
    sessions, names, has_unnamed = chaos_sessions(rng, has_ctf2)
    return Case('seed-%d' % seed, lambda: list(choices(random.Random(seed + (1 << 40)))), may_lose=True,
                law='own' if lies else 'all', status=None if lies else 0, sessions=sessions, follows=names,
                story=weather(seed, lies, has_unnamed), is_slow=True,
                options={'--retry': '1s' if lies else '1h', '-j': rng.choice(('1', '2')),
                         '--max-memory': '64M' if lies else '256M'},
                metadata_piece=rng.choice((1 << 30, 10000, 4096, 1111)))
