"""perfetto_file: reads files of Perfetto's, by the wire format alone.

A message is a dictionary from field number to the list of its values: integers, or bytes.
"""
import collections
import struct
import zlib

# Fields by number, as Perfetto's own definitions have them (protos/perfetto/trace/).
FTRACE, PROCESSES, CLOCKS, TIME, SEQUENCE, TRACK_EVENT, FLAGS = 1, 2, 6, 8, 10, 11, 13
SYSTEM, COMPRESSED, CLOCK_ID, TRACK, MACHINE, INTERNED = 45, 50, 58, 60, 98, 12
SAMPLE, DEFAULTS = 66, 59
CATEGORIES, NAMES, ARG_NAMES, ARG_TEXTS, FUNCTIONS, FRAMES, STACKS, PATHS, MAPPINGS = 1, 2, 3, 29, 5, 6, 7, 17, 19  # of interned data
BEGIN, END, INSTANT, COUNTER = 1, 2, 3, 4
PRINT, SWITCH, WAKING, SOFTIRQ_ENTRY, SOFTIRQ_EXIT, IRQ_ENTRY, IRQ_EXIT, NEWTASK, FREE = 3, 4, 20, 24, 25, 36, 37, 235, 240
UNKNOWN_TID, CPUS_MAX = 0x40000000, 1024


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 127) << shift
        at += 1
        shift += 7
        if byte < 128:
            return value, at


def message(data):
    fields, at = collections.defaultdict(list), 0
    while at < len(data):
        tag, at = varint(data, at)
        kind = tag & 7
        if kind == 0:
            value, at = varint(data, at)
        elif kind == 1:
            value, at = struct.unpack_from('<Q', data, at)[0], at + 8
        else:
            assert kind == 2, 'wire type %d' % kind
            size, at = varint(data, at)
            value, at = data[at:at + size], at + size
            assert len(value) == size, 'a field passes the end'
        fields[tag >> 3].append(value)
    return fields


def one(fields, number, default=None):
    values = fields.get(number, [])
    assert len(values) < 2, 'field %d twice' % number
    return values[0] if values else default


def signed(value):
    return value - (1 << 64) if value is not None and value >> 63 else value


def text(value):
    return None if value is None else value.decode()  # strict: it must be UTF-8


def inflate(data):
    """The file with the compressed packets in place of what they are in."""
    whole = []
    for packet in message(data)[1]:
        fields = message(packet)
        assert list(fields) == [COMPRESSED], 'a packet is not compressed'
        assert len(packet) < 512 << 10, 'a compressed packet is larger than the viewer takes'
        whole.append(zlib.decompress(fields[COMPRESSED][0]))
    return b''.join(whole)


Switch = collections.namedtuple('Switch', 'ts cpu prev state next prev_comm next_comm')
Event = collections.namedtuple('Event', 'ts cpu pid kind body')  # of ftrace
Track = collections.namedtuple('Track', 'name parent thread machine process')
Mark = collections.namedtuple('Mark', 'ts kind track name value flows ends category args')  # of a track


Sample = collections.namedtuple('Sample', 'ts cpu pid tid mode frames machine')  # frames: function, file and place there, the outermost first


class Interned:
    """The texts and parts of stacks of a sequence, by list and number."""

    def __init__(self):
        self.texts = {}

    def take(self, data):
        fields = message(data)
        for kind in sorted(fields, key=lambda kind: (STACKS, FRAMES, MAPPINGS).index(kind) if kind in (STACKS, FRAMES, MAPPINGS) else -1):
            assert kind in (CATEGORIES, NAMES, ARG_NAMES, ARG_TEXTS, FUNCTIONS, FRAMES, STACKS, PATHS, MAPPINGS), 'interned list %d' % kind
            for entry in fields[kind]:
                entry = message(entry)
                number = one(entry, 1)
                assert number and (kind, number) not in self.texts, 'a number of a text twice'
                self.texts[kind, number] = entry

        for kind in (MAPPINGS, FRAMES, STACKS):  # what they refer to is there
            for entry in fields.get(kind, []):
                self.part(kind, message(entry))

    def text(self, kind, number):
        return text(one(self.texts[kind, number], 2))

    def part(self, kind, entry):
        if kind == MAPPINGS:
            return ''.join('/' + self.text(PATHS, part) for part in entry[7])
        if kind == FRAMES:
            return self.text(FUNCTIONS, one(entry, 2)), self.part(MAPPINGS, self.texts[MAPPINGS, one(entry, 3)]), one(entry, 4)
        assert entry[2], 'a stack without frames'
        return tuple(self.part(FRAMES, self.texts[FRAMES, frame]) for frame in entry[2])

    def args(self, annotations):
        """Name and value of each; a struct is a list of such pairs, an array a list of values in a tuple."""
        return [(self.arg_name(one_), self.arg_value(one_)) for one_ in map(message, annotations)]

    def arg_name(self, fields):
        return self.text(ARG_NAMES, fields[1][0]) if 1 in fields else text(one(fields, 10))

    def arg_value(self, fields):
        values = [number for number in fields if number not in (1, 10)]
        assert len(values) < 2, 'an argument with two values'
        if not values:
            return None  # nothing is in it
        number, value = values[0], fields[values[0]][0]
        if number == 11:
            return self.args(fields[11])
        if number == 12:
            return tuple(self.arg_value(message(element)) for element in fields[12])
        return {3: lambda: value, 4: lambda: signed(value), 5: lambda: struct.unpack('<d', struct.pack('<Q', value))[0],
                6: lambda: text(value), 7: lambda: value, 17: lambda: self.text(ARG_TEXTS, value)}[number]()


class File:
    """All that a file has, by host."""

    def __init__(self, data):
        self.plain = inflate(data)
        self.events, self.marks, self.tracks = collections.defaultdict(list), [], {}
        self.processes, self.lost, self.hosts, self.clocks = [], set(), {}, set()
        self.samples, self.restarts = [], 0
        begun, interned = set(), collections.defaultdict(Interned)
        for packet in message(self.plain)[1]:
            fields = message(packet)
            machine = one(fields, MACHINE, 0)
            if FTRACE not in fields:
                sequence = one(fields, SEQUENCE)
                assert sequence, 'a packet without a sequence is dropped'
                assert sequence in begun or one(fields, FLAGS, 0) & 1, 'a sequence does not begin'
                if one(fields, FLAGS, 0) & 1:  # it begins again: all numbers are gone
                    interned[sequence] = Interned()
                    self.restarts += sequence in begun
                    assert one(message(message(message(fields[DEFAULTS][0])[12][0])[1][0]), 10) == b'call stacks'
                begun.add(sequence)
                if INTERNED in fields:
                    interned[sequence].take(one(fields, INTERNED))
                self.take(fields, machine, interned[sequence])
            else:
                self.take(fields, machine, None)

    def take(self, fields, machine, interned):
        if FTRACE in fields:
            assert machine in self.clocks, 'events stand before the clocks'
            bundle = message(fields[FTRACE][0])
            cpu = one(bundle, 1)
            if one(bundle, 3):
                self.lost.add((machine, cpu))
            for event in bundle[2]:
                event = message(event)
                kind = [number for number in event if number not in (1, 2)]
                assert len(kind) == 1
                self.events[machine].append(Event(one(event, 1), cpu, one(event, 2), kind[0], message(event[kind[0]][0])))
        elif PROCESSES in fields:
            for thread in message(fields[PROCESSES][0])[2]:
                thread = message(thread)
                self.processes.append((machine, one(thread, 1), one(thread, 3), text(one(thread, 2))))
        elif CLOCKS in fields:
            clocks = [message(clock) for clock in message(fields[CLOCKS][0])[1]]
            assert {one(clock, 1) for clock in clocks} == {1, 6} and len({one(clock, 2) for clock in clocks}) == 1
            self.clocks.add(machine)
        elif SAMPLE in fields:
            assert one(fields, CLOCK_ID) == 6 and one(fields, FLAGS) & 2
            sample = message(fields[SAMPLE][0])
            frames = interned.part(STACKS, interned.texts[STACKS, one(sample, 4)])
            self.samples.append(Sample(one(fields, TIME), one(sample, 1), one(sample, 2), one(sample, 3), one(sample, 5), frames, machine))
        elif SYSTEM in fields:
            self.hosts[machine] = text(one(message(fields[SYSTEM][0]), 17))
        elif TRACK in fields:
            track = message(fields[TRACK][0])
            assert one(track, 1) not in self.tracks, 'a track twice'
            thread = one(track, 4)
            thread = thread and message(thread)
            assert not thread or {1, 2} <= thread.keys(), 'the track of a thread without a process is dropped'
            process = one(track, 3) and message(one(track, 3))
            self.tracks[one(track, 1)] = Track(text(one(track, 2)), one(track, 5, 0), thread and (one(thread, 1), one(thread, 2), text(one(thread, 5))), machine,
                                               process and (one(process, 1), text(one(process, 6))))
        else:
            assert one(fields, CLOCK_ID) == 6
            event = message(fields[TRACK_EVENT][0])
            assert one(event, 11) in self.tracks, 'an event stands before its track'
            assert not (10 in event or 3 in event or 4 in event) or one(fields, FLAGS) & 2, 'interned texts are not announced'
            name = interned.text(NAMES, one(event, 10)) if 10 in event else text(one(event, 23))
            category = interned.text(CATEGORIES, one(event, 3)) if 3 in event else None
            self.marks.append(Mark(one(fields, TIME), one(event, 9), one(event, 11), name, one(event, 30), event[47], event[48], category,
                                   interned.args(event[4])))

    def switches(self, machine=0):
        """In order of time; of one time, in the order of the file."""
        found = [Switch(e.ts, e.cpu, signed(one(e.body, 2)), one(e.body, 4), signed(one(e.body, 6)), text(one(e.body, 1)), text(one(e.body, 5)))
                 for e in self.events[machine] if e.kind == SWITCH]
        return sorted(found, key=lambda switch: switch.ts)

    def stays(self, end, machine=0):
        """Time by CPU and tid up to @end, which a loss may be behind, without the idle and the unknown threads."""
        ns, now = collections.Counter(), {}
        for switch in self.switches(machine):
            if switch.cpu in now:
                tid, since = now[switch.cpu]
                assert tid == switch.prev, 'CPU %d: %d leaves, and %s ran' % (switch.cpu, switch.prev, tid)
                ns[switch.cpu, tid] += max(min(switch.ts, end) - since, 0)
            now[switch.cpu] = switch.next, switch.ts
        for cpu, (tid, since) in now.items():
            ns[cpu, tid] += max(end - since, 0)
        return {(cpu, tid): value for (cpu, tid), value in ns.items()
                if tid > 0 and not 0 <= tid - UNKNOWN_TID < CPUS_MAX and value}

    def running(self, end, machine=0):
        """Time on CPUs by tid."""
        ns = collections.Counter()
        for (_, tid), value in self.stays(end, machine).items():
            ns[tid] += value
        return dict(ns)

    def calls(self, machine=0):
        """Of each thread, its slices of system calls: (begin, end, name); end None: open."""
        found, now = collections.defaultdict(list), {}
        for event in sorted((e for e in self.events[machine] if e.kind == PRINT), key=lambda e: e.ts):
            words = text(one(event.body, 2)).split('|', 2)
            if words[0] == 'B':
                assert event.pid not in now, 'thread %d: a call inside %s' % (event.pid, now.get(event.pid))
                now[event.pid] = event.ts, words[2]
            else:
                begin, name = now.pop(event.pid)
                found[event.pid].append((begin, event.ts, name))
        for pid, (begin, name) in now.items():
            found[pid].append((begin, None, name))
        return found

    def check_interrupts(self, machine=0):
        for entry, leave in ((IRQ_ENTRY, IRQ_EXIT), (SOFTIRQ_ENTRY, SOFTIRQ_EXIT)):
            depth = collections.Counter()
            for event in self.events[machine]:
                depth[event.cpu] += (event.kind == entry) - (event.kind == leave)
                assert depth[event.cpu] >= 0, 'an interrupt ends that did not begin'

    def slices(self, open_allowed=False):
        """Of each track, its slices: (begin, end, name, depth); checks that they nest and that no time of a track decreases."""
        found, stacks, last = collections.defaultdict(list), collections.defaultdict(list), collections.Counter()
        for mark in self.marks:
            assert mark.ts >= last[mark.track], 'a track goes back in time'
            last[mark.track] = mark.ts
            stack = stacks[mark.track]
            if mark.kind == BEGIN:
                stack.append((mark.ts, mark.name))
            elif mark.kind == END:
                assert stack, 'a slice ends that did not begin'
                begin, name = stack.pop()
                found[mark.track].append((begin, mark.ts, name, len(stack)))
        assert open_allowed or not any(stacks.values()), 'a slice does not end'
        return found

    def check_flows(self):
        """Each goes from slice to slice in order of time, begins once and ends once, at others.  Returns where each one goes."""
        found, over = collections.defaultdict(list), set()
        for mark in sorted(self.marks, key=lambda mark: mark.ts):
            for flow in mark.flows + mark.ends:
                assert mark.kind == BEGIN, 'a flow is at no slice'
                found[flow].append(mark)
            over |= set(mark.ends)
        for flow, marks in found.items():
            assert len(marks) > 1 and flow in over, 'a flow has one end'
            assert [mark.ends.count(flow) for mark in marks] == [0] * (len(marks) - 1) + [1], 'a flow ends in its middle'
        return found
