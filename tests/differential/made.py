"""made: random traces in both languages of CTF, with the values that they hold.

Each optional part of both languages is there or not, by chance: stream blocks, headers, contexts,
ids, clocks and their mapping, sizes and times of packets; each form of a type (made_types.py) and
each kind of path.

A made trace is the text of its metadata, the bytes of its files, and the lines that events.c
prints of it: the leaves of an event, its name and its clock.
"""
import json
import os
import random
import subprocess
import sys

from made_types import Bits, Choice, Enum, Float, Int, Names, Path, ROOTS, Row, Struct, Text, Uuid, Var, WORDS, number, unknown


class Maker:
    """The fields of one trace."""

    def __init__(self, seed, lang, is_plain):
        self.rng, self.lang, self.is_plain = random.Random(seed), lang, is_plain
        self.rng.is_plain = is_plain
        self.order = self.rng.choice(['le', 'be'])
        self.seen = {}  # by root: fields that others may name
        self.count = 0

    def name(self):
        self.count += 1
        return '%s%s%d' % (self.rng.choice(['', '_']), self.rng.choice(WORDS), self.count)

    def int(self, **more):
        return Int(self.rng, self.order, **more)

    def near(self, kind, scopes, is_short=False):
        """A path to a field of this kind (enumerations with options, lengths), or None."""
        if self.is_plain and self.visible[-1:] == ['common']:
            return None
        found = [] if is_short else [Path(self.rng, node, names[-1], [root] + names, None)
                                     for root in self.visible for node, names in self.seen.get(root, []) if kind(node)]
        for up, scope in enumerate(reversed(scopes)):
            found += [Path(self.rng, node, name, whole, up, is_short) for node, name, whole in scope if kind(node)]
        return self.rng.choice(found) if found else None

    def scalar(self):
        rng = self.rng
        kinds = [self.int, self.int, lambda: Enum(rng, self.order), lambda: Float(rng, self.order, self.lang),
                 lambda: Text(rng, self.lang)]
        return rng.choice(kinds + ([lambda: Var(rng, self.order)] if self.lang == 2 else []))()

    def type(self, scopes, whole, depth):
        rng, pick = self.rng, self.rng.random()
        if depth > 3 or pick < 0.5:
            return self.scalar()
        if pick < 0.6:
            return self.struct(scopes, whole, depth + 1, rng.randint(0, 3))
        if pick < 0.7:
            path = self.near(lambda node: isinstance(node, Enum) and node.pick, scopes, self.is_plain)
            if path and (self.lang == 2 or len(path.node.pick) > 0):
                count = len(path.node.pick) // 2
                return Choice(rng, path, [self.type(scopes, None, depth + 1) for _ in range(count)])
        element = self.int() if rng.random() < 0.4 else self.type(scopes, None, depth + 1)
        if rng.random() < 0.3:
            element = self.int(size=8, align=8, signed=False, plain=True)
            element.text, element.pick = True, list(b'ab\0c')
        path = self.near(lambda node: not isinstance(node, Enum) and node.pick, scopes,
                         self.is_plain and not self.visible[-1:] == ['specific']) if rng.random() < 0.6 else None
        return Row(rng, element, path)

    def struct(self, scopes, whole, depth, count):
        struct_, scope = Struct(self.rng), []
        for _ in range(count):
            name = self.name()
            pick = self.rng.random()
            name = name.lstrip('_') if self.is_plain and pick < 0.4 else name
            at = whole + [name] if whole else None
            if pick < 0.25:
                type_ = self.int(size=self.rng.choice([3, 8, 16, 32]), signed=False, pick=[0, 1, 2, 3])
                type_.reverse = False
            elif pick < 0.4:
                type_ = Enum(self.rng, self.order, options=self.rng.randint(1, 3))
            else:
                type_ = self.type(scopes + [scope], at, depth)
            struct_.fields.append((name, type_))
            if isinstance(type_, Int) and type_.pick:
                scope.append((type_, name, at))
                if at:
                    self.seen.setdefault(at[0], []).append((type_, at[1:]))
        return struct_

    def root(self, root, count):
        self.seen[root] = []
        self.visible = [r for r in ROOTS if list(ROOTS).index(r) < list(ROOTS).index(root)]
        return self.struct([], [root], 0, count)


class Lttng:
    """The event header of LTTng: a short id and time, or both whole."""
    fields, align = [], 8

    def __init__(self, maker, clock):
        self.rng, self.order, self.clock = maker.rng, maker.order, clock
        self.id_bits, self.bits = maker.rng.choice([(5, 27), (16, 32)])
        self.step = 8 if self.id_bits == 16 else 1

    def tsdl(self, names):
        stamp = ' map = clock.%s.value;' % self.clock if self.clock else ''
        most = (1 << self.id_bits) - 1
        return '''struct {
	enum : integer { size = %d; align = %d; } { compact = 0 ... %d, extended = %d } id;
	variant <id> {
		struct { integer { size = %d; align = %d;%s } timestamp; } compact;
		struct { integer { size = 32; align = 8; } id; integer { size = 64; align = 8;%s } timestamp; } extended;
	} v;
} align(8)''' % (self.id_bits, self.step, most - 1, most, self.bits, self.step, stamp, stamp)

    def write(self, bits, id_, time):
        bits.align(8)
        most = (1 << self.id_bits) - 1
        short = id_ < most and self.rng.random() < 0.7
        bits.put(id_ if short else most, self.id_bits, self.order)
        if short:
            bits.put(time & ((1 << self.bits) - 1), self.bits, self.order)
        else:
            bits.align(8)
            bits.put(id_, 32, self.order)
            bits.put(time, 64, self.order)


class Stream:
    """One stream class and its events.  @is_bare: nothing but events, and no stream block."""

    def __init__(self, maker, id_, timed, clock, is_bare):
        self.maker, self.rng, self.id, self.timed = maker, maker.rng, id_, timed
        self.context = self.header = self.common = None
        self.specials, self.clock = {}, clock
        rng = self.rng
        for root in ('context', 'event-header', 'common'):
            maker.seen.pop(root, None)
        self.has_sizes = not is_bare and rng.random() < 0.8
        self.has_begin = timed and not is_bare and rng.random() < 0.8
        if not is_bare and (self.has_sizes or self.has_begin or rng.random() < 0.5):
            self.context = maker.root('context', rng.randint(0, 3))
            self.add_context()
        self.header_of_lttng = maker.lang == 1 and timed and self.has_begin and rng.random() < 0.3
        self.has_id = not is_bare and (self.header_of_lttng or rng.random() < 0.7)
        if self.header_of_lttng:
            self.header, self.stamp_bits = Lttng(maker, clock), 27
        elif not is_bare and (timed or self.has_id or rng.random() < 0.3):
            self.header = maker.root('event-header', rng.randint(0, 2))
            self.add_header()
        if not is_bare and rng.random() < 0.5:
            self.common = maker.root('common', rng.randint(0, 3))
        self.make_events()

    def special(self, struct_, name, role, **more):
        int_ = self.maker.int(role=role, signed=False, **more)
        int_.reverse = False
        int_.pick = [0]
        struct_.fields.insert(self.rng.randint(0, len(struct_.fields)),
                              (name if self.maker.lang == 1 else self.maker.name(), int_))
        self.specials[name] = int_

    def add_context(self):
        some = [('packet_seq_num', 'packet-sequence-number'), ('events_discarded', 'discarded-event-record-counter-snapshot'),
                ('cpu_id', None)]
        some = [one for one in some if self.rng.random() < 0.4]
        if self.has_sizes:
            some += [('content_size', 'packet-content-length'), ('packet_size', 'packet-total-length')]
        for name, role in some:
            self.special(self.context, name, role, size=self.rng.choice([32, 64]))
        if self.has_begin:
            self.special(self.context, 'timestamp_begin', 'default-clock-timestamp', size=64, clock=self.clock)
            if self.rng.random() < 0.7:
                self.special(self.context, 'timestamp_end', 'packet-end-default-clock-timestamp', size=64, clock=self.clock)

    def add_header(self):
        if self.has_id:
            self.special(self.header, 'id', 'event-record-class-id', size=self.rng.choice([5, 8, 16, 32, 64]))
        if self.timed:
            self.stamp_bits = self.rng.choice([64, 32, 27, 16]) if self.has_begin else 64
            self.special(self.header, 'timestamp', 'default-clock-timestamp', size=self.stamp_bits, clock=self.clock)

    def make_events(self):
        maker, rng, ids = self.maker, self.rng, [0]
        if self.has_id:
            most = (1 << min(32, self.specials['id'].size if 'id' in self.specials else 32)) - 1
            ids = list({rng.choice([i, rng.randint(0, most), most]) for i in range(4)})
        self.events = []
        for id_ in ids:
            maker.seen.pop('specific', None)
            specific = maker.root('specific', rng.randint(0, 3)) if rng.random() < 0.4 else None
            fields = maker.root('fields', rng.randint(0, 5)) if rng.random() < 0.9 else None
            if not fields and not self.has_id:
                fields = maker.root('fields', 1)
            if fields and (not self.has_sizes or rng.random() < 0.3 or not self.has_id):
                fields.fields.append((maker.name(), maker.int(size=8, align=8, plain=True)))
            elif not self.has_sizes:
                fields = Struct(rng)
                fields.fields.append((maker.name(), maker.int(size=8, align=8, plain=True)))
            self.events.append((id_, maker.name(), specific, fields))

    def write_event(self, bits, lang, time):
        id_, name, specific, fields = self.rng.choice(self.events)
        leaves = []
        if self.header_of_lttng:
            self.header.write(bits, id_, time)
        elif self.header:
            if self.has_id:
                self.specials['id'].pick = [id_]
            if self.timed:
                self.specials['timestamp'].pick = [time & ((1 << self.stamp_bits) - 1)]
            self.header.write(bits, [], lang)
        for struct_ in (self.common, specific, fields):
            if struct_:
                struct_.write(bits, leaves, lang)
        return ' '.join([''] + leaves + [name, str(time if self.timed else 0)])

    def write_packet(self, trace, time, lines):
        """The bytes of a packet that begins at @time, and when it ends."""
        bits, rng, lang = Bits(self.rng), self.rng, self.maker.lang
        end = time
        trace.write_header(bits, self)
        if self.context:
            for name in ('timestamp_begin', 'timestamp_end'):
                if name in self.specials:
                    self.specials[name].pick = [time]
            self.context.write(bits, [], lang)
        for _ in range(rng.randint(1 if not self.has_sizes else 0, 6)):
            end += rng.randint(0, 1000 if self.header else 0)
            lines.append(self.write_event(bits, lang, end))
        content = bits.at
        if self.has_sizes:
            bits.align(8)
            bits.go(bits.at + 8 * rng.choice([0, 0, 1, 50]))
        whole = len(bits.data) * 8
        for name, value in (('content_size', content), ('packet_size', whole), ('timestamp_end', end)):
            if name in self.specials:
                node = self.specials[name]
                bits.at = node.place
                bits.put(value, node.size, node.order)
        return bytes(bits.data), end

    def tsdl(self, has_id, names):
        inner, parts = names.block(), []
        for key, struct_ in (('packet.context', self.context), ('event.header', self.header), ('event.context', self.common)):
            if struct_:
                parts.append('%s := %s;' % (key, struct_.tsdl(inner)))
        if has_id or (not self.maker.is_plain and self.rng.random() < 0.3):
            parts.append('id = %s;' % number(self.rng, self.id))
        parts.append(unknown(self.rng))
        self.rng.shuffle(parts)
        return 'stream { %s%s };\n' % (inner.text(names), '\n\t'.join(parts))

    def tsdl_events(self, names_stream, names):
        for id_, name, specific, fields in self.events:
            inner, rng = names.block(), self.rng
            parts = [unknown(rng), 'name = %s;' % (name if rng.random() < 0.3 else '"%s"' % name)]
            if self.has_id or rng.random() < 0.5:
                parts.append('id = %s;' % number(rng, id_))
            if names_stream:
                parts.append('stream_id = %s;' % number(rng, self.id))
            if rng.random() < 0.3:
                parts += ['loglevel = %s;' % number(rng, rng.choice([3, 13] if self.maker.is_plain else [-1, 3, 13])), 'model.emf.uri = "http://x/y";']
            for key, struct_ in (('context', specific), ('fields', fields)):
                if struct_:
                    parts.append('%s := %s;' % (key, struct_.tsdl(inner)))
            yield 'event { %s%s };\n' % (inner.text(names), '\n\t'.join(parts))

    def ctf2(self, names):
        out = {'type': 'data-stream-class', 'id': self.id, 'name': 'any',
               'packet-context-field-class': self.context, 'event-record-header-field-class': self.header,
               'event-record-common-context-field-class': self.common}
        if self.timed:
            out['default-clock-class-id'] = 'c'
        yield fragment(out, names)
        for id_, name, specific, fields in self.events:
            yield fragment({'type': 'event-record-class', 'data-stream-class-id': self.id, 'id': id_, 'name': name,
                            'specific-context-field-class': specific, 'payload-field-class': fields}, names)


def fragment(out, names):
    """With field classes as JSON; what is 0 or missing need not be said."""
    out = {k: v.ctf2(names) if isinstance(v, Struct) else v for k, v in out.items() if v is not None}
    return {k: v for k, v in out.items() if not (k in ('id', 'data-stream-class-id') and v == 0) or names.rng.random() < 0.5}


class Trace:
    """@is_plain: no more of TSDL than libbabeltrace2 2.0.4 takes.  It ends at a path to a root outside a payload and
    at a clock without `freq`; it refuses a variant's tag with a keyword in it, a negative log level, the id of a stream
    that no packet names, and a type alone in a block."""

    def __init__(self, seed, lang, is_plain=False):
        self.maker = maker = Maker(seed, lang, is_plain)
        self.rng, self.lang = maker.rng, lang
        rng = self.rng
        self.uuid = rng.randbytes(16)
        count = rng.choice([1, 1, 2, 3])
        is_bare = lang == 1 and count == 1 and rng.random() < 0.2
        timed = not is_bare and rng.random() < 0.8
        # How time stamps of TSDL find their clock: mapped, the only one by name, or none is declared.
        self.clocks = rng.choice([1, 2, 1, 0]) if lang == 1 else 1
        clock = 'c' if lang == 1 and (self.clocks == 2 or (self.clocks and rng.random() < 0.7)) else None
        self.has_streams = not is_bare
        self.header, self.specials = None, {}
        self.has_class_id = count > 1 or rng.random() < 0.5
        maker.seen.pop('header', None)
        if self.has_class_id or rng.random() < 0.7:
            self.add_header()
        first = rng.randint(0, 9) if self.has_class_id or not is_plain else 0
        self.streams = [Stream(maker, first + i * rng.randint(1, 9), timed, clock, is_bare) for i in range(count)] \
            if count == 1 else [Stream(maker, i * 3 + first, timed, clock, False) for i in range(count)]
        if is_bare:
            self.streams[0].id = 0

    def add_header(self):
        self.header = self.maker.root('header', self.rng.randint(0, 2))
        if self.rng.random() < 0.5:
            Stream.special(self, self.header, 'stream_instance_id', 'data-stream-id', size=64)
        if self.has_class_id:
            Stream.special(self, self.header, 'stream_id', 'data-stream-class-id', size=8)
        if self.rng.random() < 0.5:
            byte = Int(self.rng, self.maker.order, size=8, align=8, signed=False, plain=True)
            self.header.fields.insert(0, ('uuid' if self.lang == 1 else self.maker.name(), Uuid(self.rng, byte, self.uuid)))
        if self.rng.random() < 0.7:
            self.header.least = 1
            magic = Int(self.rng, self.maker.order, size=32, align=self.rng.choice([8, 32]), signed=False, plain=True,
                        role='packet-magic-number', pick=[0xC1FC1FC1])
            self.header.fields.insert(0, ('magic' if self.lang == 1 else self.maker.name(), magic))

    def write_header(self, bits, stream):
        if self.header:
            if 'stream_id' in self.specials:
                self.specials['stream_id'].pick = [stream.id]
            self.header.write(bits, [], self.lang)

    def files(self):
        """By name: bytes, and the lines that are read of them."""
        out = {}
        for i, stream in enumerate(self.streams):
            time, data, lines = self.rng.randint(0, 5000), b'', []
            for _ in range(self.rng.randint(1, 3) if stream.has_sizes else 1):
                packet, time = stream.write_packet(self, time, lines)
                data += packet
            out['stream%d' % i] = data, lines
        return out

    def tsdl(self):
        rng, names = self.rng, Names(self.rng, 1)
        text = self.uuid.hex()
        uuid = '-'.join([text[:8], text[8:12], text[12:16], text[16:20], text[20:]])
        parts = ['major = 1;', 'minor = 8;', 'byte_order = %s;' % ('le' if self.maker.order == 'le' else rng.choice(['be', 'network']))]
        parts.append(unknown(rng))
        if rng.random() < 0.8 or (self.header and any(n == 'uuid' for n, _ in self.header.fields)):
            parts.append('uuid = "%s";' % uuid)
        inner = names.block()
        if self.header:
            parts.append('packet.header := %s;' % self.header.tsdl(inner))
        blocks = ['env { host = "a \\"b\\" \\\\ c\\n"; n = %s; };\n' % number(rng, rng.choice([-3, 7, 1 << 40]))] \
            if rng.random() < 0.6 else []
        for i in range(self.clocks):
            more = ['name = %s;' % rng.choice(['%s', '"%s"']) % 'cd'[i], 'freq = %s;' % number(rng, rng.choice([1000000000, 1000, 3000000])),
                    'offset_s = %s;' % number(rng, rng.choice([0, 5, 1600000000])), 'offset = %s;' % number(rng, rng.choice([0, 77])),
                    'uuid = "%s";' % uuid, 'description = "d";', 'precision = 3;', unknown(rng), 'absolute = %s;' % rng.choice(['true', 'FALSE'])]
            least = 2 if self.maker.is_plain else 1
            blocks.append('clock { %s };\n' % ' '.join(more[:least] + rng.sample(more[least:], rng.randint(0, 6))))
        if rng.random() < 0.3:
            blocks.append('callsite { name = "x"; func = "f"; file = "f.c"; line = 1; };\n')
        several = len(self.streams) > 1
        for stream in self.streams:
            if self.has_streams:
                blocks.append(stream.tsdl(several or stream.id > 0, names))
            blocks += stream.tsdl_events(several or (self.has_streams and rng.random() < 0.5), names)
        blocks.insert(0, 'trace { %s%s };\n' % (inner.text(names), '\n\t'.join(parts)))
        if not self.maker.is_plain:
            rng.shuffle(blocks)
        head = '/* CTF 1.8 */\n' if self.maker.is_plain or rng.random() < 0.5 else ''
        return head + ''.join(line + '\n' for line in names.declared) + '// a line\n'.join(blocks)

    def ctf2(self):
        rng, names = self.rng, Names(self.rng, 2)
        rest = [fragment({'type': 'trace-class', 'packet-header-field-class': self.header,
                          'environment': {'n': 3, 's': 'x'} if rng.random() < 0.5 else None}, names)]
        for stream in self.streams:
            rest += stream.ctf2(names)
        clock = {'type': 'clock-class', 'id': 'c', 'frequency': rng.choice([1000000000, 1000]), 'name': 'n', 'precision': 3,
                 'accuracy': 7, 'offset-from-origin': {'seconds': 5}, 'origin': rng.choice(['unix-epoch', {'name': 'x', 'uid': 'y'}])}
        some = list(clock)[:3] + rng.sample(list(clock)[3:], rng.randint(0, 5))
        first = [{'type': 'preamble', 'version': 2, 'uuid': list(self.uuid)}]
        if rng.random() < 0.3 and not any(isinstance(t, Uuid) for _, t in (self.header.fields if self.header else [])):
            del first[0]['uuid']
        aliases = [{'type': 'field-class-alias', 'name': name, 'field-class': type_} for name, type_ in names.declared]
        return ''.join('\x1e' + json.dumps(f) + '\n' for f in first + aliases + [{k: clock[k] for k in some}] + rest)


def make(directory, seed, lang, is_plain=False):
    """Writes a trace; returns the lines that are read of it."""
    trace = Trace(seed, lang, is_plain)
    os.makedirs(directory)
    with open(os.path.join(directory, 'metadata'), 'w') as f:
        f.write(trace.tsdl() if lang == 1 else trace.ctf2())
    lines = []
    for name, (data, more) in sorted(trace.files().items()):
        with open(os.path.join(directory, name), 'wb') as f:
            f.write(data)
        lines += [name] + more
    return lines


def compare(events, directory, wanted):
    """What events.c reads of a trace must be what was written."""
    r = subprocess.run([events, directory], capture_output=True, check=False)
    got = r.stdout.decode().splitlines()
    for i, (a, b) in enumerate(zip(got + ['nothing'], wanted + ['nothing'])):
        if a != b:
            with open(os.path.join(directory, 'metadata')) as f:
                sys.exit('%s\n%s: line %d:\n  we see  %s\n  written %s\n%s' % (
                    f.read(), directory, i + 1, a[:2000], b[:2000], r.stderr.decode()))
    return len(wanted)
