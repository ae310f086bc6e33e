"""made_types: the types of CTF, each with its forms in TSDL (CTF 1.8) and in JSON (CTF 2).

A type declares itself and writes random values, which it adds to a list of leaves as events.c
prints them.  Types are by chance declared where they are used, by name, or by tag.
"""
import struct

WORDS = ['integer', 'string', 'event', 'enum', 'align', 'x', 'len']
ROOTS = {'header': ('trace.packet.header', 'packet-header'), 'context': ('stream.packet.context', 'packet-context'),
         'event-header': ('stream.event.header', 'event-record-header'),
         'common': ('stream.event.context', 'event-record-common-context'),
         'specific': ('event.context', 'event-record-specific-context'), 'fields': ('event.fields', 'event-record-payload')}


class Bits:
    """Bits of a packet; what nothing is written to is random."""

    def __init__(self, rng):
        self.rng, self.data, self.at = rng, bytearray(), 0

    def go(self, at):
        self.at = at
        while len(self.data) * 8 < at:
            self.data.append(self.rng.randrange(256))

    def align(self, bits):
        self.go(-(-self.at // bits) * bits)

    def put(self, value, size, order, reverse=False):
        at = self.at
        self.go(at + size)
        for i in range(size):
            bit = value >> (i if (order == 'le') != reverse else size - 1 - i) & 1
            byte, mask = (at + i) // 8, 1 << ((at + i) % 8 if order == 'le' else 7 - (at + i) % 8)
            self.data[byte] = self.data[byte] & ~mask | (mask if bit else 0)

    def raw(self, data):
        self.align(8)
        for byte in data:
            self.put(byte, 8, 'le')


def number(rng, value):
    """A constant of TSDL."""
    if value < 0:
        return '-%s%d' % (rng.choice(['', ' '] if rng.is_plain else ['', ' ', '+', ' - -']), -value)
    if not rng.is_plain and value < 127 and rng.random() < 0.3:
        is_printed = value >= 32 and rng.random() < 0.7
        return "'%s%s'" % ('\\' if chr(value) in "\\'" else '', chr(value)) if is_printed else "'\\x%x'" % value
    if value == 0:
        return rng.choice(['0', '00', '0x0', '+0', '0u'])
    return rng.choice(['%d', '%#x', '0%o', '+%d', '%du', '%dUL']) % value


def unknown(rng):
    """An attribute that only other programs know."""
    return rng.choice([""] * 3 + ["note = 'x';", 'level = +12;', 'a.b = c->d;', 'e = "f";', "g = - '\\n';"] * (not rng.is_plain))


class Int:
    """@role: of CTF 2; @pick: the values that it may have, chosen by what is made with it."""

    def __init__(self, rng, order, size=None, align=None, signed=None, role=None, pick=None, clock=None, plain=False):
        self.rng, self.native = rng, order
        self.size = size or rng.choice([1, 3, 7, 8, 12, 16, 24, 31, 32, 33, 48, 63, 64, rng.randint(1, 64)])
        self.declares = align is not None or rng.random() < 0.6
        self.align = align or (rng.choice([1, 1, 8, 8, 8, 16, 32, 64]) if self.declares else 8 if self.size % 8 == 0 else 1)
        self.signed = rng.random() < 0.4 if signed is None else signed
        self.order, self.role, self.pick, self.clock = order, role, pick, clock
        self.text = False
        if not plain and self.size % 8 == 0 and self.align >= 8 and rng.random() < 0.3:
            self.order = rng.choice(['le', 'be'])
        self.reverse = not plain and rng.random() < 0.15  # CTF 2 only
        self.value = None

    def tsdl(self, names):
        rng, parts = self.rng, ['size = %s;' % number(self.rng, self.size)]
        if self.declares or self.align != (8 if self.size % 8 == 0 else 1):
            parts.append('align = %s;' % number(rng, self.align))
        if self.signed or rng.random() < 0.5:
            parts.append('signed = %s;' % rng.choice(['true', 'TRUE', '1'] if self.signed else ['false', 'FALSE', '0']))
        if self.order != self.native or rng.random() < 0.1:
            words = {'le': ['le'], 'be': ['be', 'network']}[self.order]
            parts.append('byte_order = %s;' % rng.choice(words + (['native'] if self.order == self.native else [])))
        if rng.random() < 0.3:
            parts.append('base = %s;' % rng.choice(['decimal', 'dec', 'd', 'i', 'u', '10', 'hexadecimal', 'hex', 'x', 'X', 'p',
                                                    '16', 'octal', 'oct', 'o', '8', 'binary', 'b', '2', '0x10']))
        if self.text:
            parts.append('encoding = %s;' % rng.choice(['UTF8', 'ASCII', 'utf8']))
        elif rng.random() < 0.1:
            parts.append('encoding = none;')
        if self.clock:
            parts.append('map = clock.%s.value;' % self.clock)
        rng.shuffle(parts)
        return names.alias('integer { %s }' % ' '.join(parts))

    def ctf2(self, names):
        kind = 'signed' if self.signed else 'unsigned'
        out = {'type': 'fixed-length-%s-integer' % kind, 'length': self.size,
               'byte-order': {'le': 'little-endian', 'be': 'big-endian'}[self.order]}
        if self.align > 1 or self.rng.random() < 0.3:
            out['alignment'] = self.align
        natural, other = ('first-to-last', 'last-to-first')[::1 if self.order == 'le' else -1]
        if self.reverse or self.rng.random() < 0.2:
            out['bit-order'] = other if self.reverse else natural
        if not self.signed and not self.role and not self.pick and self.rng.random() < 0.2:
            out['type'] = self.rng.choice(['fixed-length-bit-array', 'fixed-length-boolean', 'fixed-length-bit-map'])
            if out['type'].endswith('map'):
                out['flags'] = {'a': [[0, 0]], 'b': [[1, self.size]]}
        elif self.rng.random() < 0.3:
            out['preferred-display-base'] = self.rng.choice([2, 8, 10, 16])
        if self.role:
            out['roles'] = [self.role]
        return names.alias(out)

    def any(self):
        if self.pick:
            return self.rng.choice(self.pick)
        bits = self.rng.getrandbits(self.size)
        return bits - (1 << self.size) if self.signed and bits >> (self.size - 1) else bits

    def write(self, bits, leaves, value=None, lang=None):
        bits.align(self.align)
        self.value = self.any() if value is None else value
        self.place = bits.at
        bits.put(self.value & ((1 << self.size) - 1), self.size, self.order, self.reverse and lang == 2)
        leaves.append(str(self.value))


class Var(Int):
    """LEB128: CTF 2."""

    def __init__(self, rng, order, **more):
        super().__init__(rng, order, size=rng.choice([7, 14, 35, 64]), align=8, plain=True, **more)

    def ctf2(self, names):
        out = {'type': 'variable-length-%s-integer' % ('signed' if self.signed else 'unsigned')}
        if self.role:
            out['roles'] = [self.role]
        return out

    def write(self, bits, leaves, value=None, lang=None):
        self.value = value = self.any() if value is None else value
        data = bytearray()
        while True:
            byte, value = value & 127, value >> 7
            if (self.signed and value == (-1 if byte & 64 else 0)) or (not self.signed and value == 0):
                break
            data.append(byte | 128)
        bits.raw(data + bytes([byte]))
        leaves.append(str(self.value))


class Float:
    def __init__(self, rng, order, lang):
        self.rng, self.native, self.size = rng, order, rng.choice([32, 64] + ([16] if lang == 2 else []))
        self.align = rng.choice([8, 32, 64])
        self.order = rng.choice([order, order, 'le', 'be'])

    def tsdl(self, names):
        order = ' byte_order = %s;' % self.order if self.order != self.native else ''
        digits = (8, 24) if self.size == 32 else (11, 53)
        return names.alias('floating_point { exp_dig = %d; mant_dig = %d; align = %d;%s }' % (*digits, self.align, order))

    def ctf2(self, names):
        return names.alias({'type': 'fixed-length-floating-point-number', 'length': self.size, 'alignment': self.align,
                            'byte-order': {'le': 'little-endian', 'be': 'big-endian'}[self.order]})

    def write(self, bits, leaves, lang=None):
        bits.align(self.align)
        code = {16: 'e', 32: 'f', 64: 'd'}[self.size]
        value = struct.unpack('<' + code, struct.pack('<' + code, self.rng.choice([0.0, -1.5, 3.25e3, self.rng.random() * 100])))[0]
        bits.put(int.from_bytes(struct.pack('<' + code, value), 'little'), self.size, self.order)
        leaves.append('%016x' % struct.unpack('<Q', struct.pack('<d', value))[0])


def leaf_of(text):
    return '"%s"' % text.split(b'\0')[0].hex()


class Text:
    """A string that ends itself; in CTF 2 of any encoding."""
    align = 8

    def __init__(self, rng, lang):
        self.rng = rng
        self.encoding = rng.choice(['utf-8', 'utf-16le', 'utf-16be', 'utf-32le', 'utf-32be']) if lang == 2 else 'utf-8'

    def words(self):
        return self.rng.choice(['', 'a', 'two words', 'h\u00e9', '\u65e5\u672c', '"quoted"'])

    def tsdl(self, names):
        return names.alias(self.rng.choice(['string', 'string { encoding = UTF8; }', 'string { encoding = ASCII; }']))

    def ctf2(self, names):
        more = {'encoding': self.encoding} if self.encoding != 'utf-8' or self.rng.random() < 0.3 else {}
        return names.alias({'type': 'null-terminated-string', **more})

    def write(self, bits, leaves, lang=None):
        text = self.words()
        bits.raw((text + '\0').encode(self.encoding))
        leaves.append('"%s"' % text.encode().hex())


class Enum(Int):
    """Labels; @options: how many of them choose an option of a variant."""

    def __init__(self, rng, order, options=0):
        super().__init__(rng, order, size=rng.choice([5, 7, 8, 16, 32, 64]))
        self.reverse = False
        low, self.labels = -(1 << (self.size - 1)) + 1 if self.signed and rng.random() < 0.5 else 0, []
        for i in range(max(options, rng.randint(1, 3))):
            low, high = low + rng.randint(0, 1) * (i > 0), 0
            high = low + rng.choice([0, 0, 1])
            self.labels.append(('%s%d' % (rng.choice(['A', 'some_', '_x']), i), low, high))
            low = high + 1
        if options:
            self.pick = [v for label in self.labels[:options] for v in label[1:]]

    def tsdl(self, names):
        text, next_ = [], 0
        for name, low, high in self.labels:
            name = '"%s"' % name if self.rng.random() < 0.3 else name
            value = '' if low == high == next_ and self.rng.random() < 0.7 else ' = ' + number(self.rng, low)
            value += ' ... ' + number(self.rng, high) if high != low or (value and self.rng.random() < 0.2) else ''
            text.append(name + value)
            next_ = high + 1
        body = '{ %s%s }' % (', '.join(text), self.rng.choice(['', ',']))
        return names.tagged('enum', ' : %s %s' % (super().tsdl(names), body))

    def ctf2(self, names):
        return names.alias({'type': 'fixed-length-%s-integer' % ('signed' if self.signed else 'unsigned'),
                            'length': self.size, 'alignment': self.align,
                            'byte-order': {'le': 'little-endian', 'be': 'big-endian'}[self.order],
                            'mappings': {name: [[low, high]] for name, low, high in self.labels}})


class Struct:
    def __init__(self, rng):
        self.rng, self.fields, self.least = rng, [], rng.choice([1, 1, 1, 8, 16, 64])

    @property
    def align(self):
        return max([self.least] + [type_.align for _, type_ in self.fields])

    def tsdl(self, names):
        inner = names.inner()
        fields = [(type_.tsdl(inner), name + getattr(type_, 'brackets', lambda: '')()) for name, type_ in self.fields]
        text = ''
        for i, (type_, name) in enumerate(fields):
            joined = i and fields[i - 1][0] == type_ and '{' not in type_ and self.rng.random() < 0.7
            text = text[:-2] + ', %s; ' % name if joined else text + '%s %s; ' % (type_, name)
        tail = ' align(%d)' % self.least if self.least > 1 else ''
        return names.tagged('struct', ' { %s%s}%s' % (inner.text(), text, tail))

    def ctf2(self, names):
        members = [{'name': name, 'field-class': type_.ctf2(names)} for name, type_ in self.fields]
        out = {'type': 'structure', 'member-classes': members}
        if self.least > 1:
            out['minimum-alignment'] = self.least
        return out

    def write(self, bits, leaves, lang=None):
        bits.align(self.align)
        for _, type_ in self.fields:
            type_.write(bits, leaves, lang=lang)


class Row:
    """An array of constant length, or of as many elements as a field says (@path)."""

    def __init__(self, rng, element, path=None):
        self.rng, self.element, self.path = rng, element, path
        self.count = rng.randint(0, 3)
        self.align = element.align
        self.is_text = isinstance(element, Int) and element.text
        self.form = rng.choice(['string', 'blob']) if self.is_text else 'array'  # of CTF 2

    def tsdl(self, names):
        return self.element.tsdl(names)

    def brackets(self):
        own = '[%s]' % (self.path.tsdl() if self.path else number(self.rng, self.count))
        return own + getattr(self.element, 'brackets', lambda: '')()

    def ctf2(self, names):
        kind = '%s-length-%s' % ('dynamic' if self.path else 'static', self.form)
        out = {'type': kind, **({'length-field-location': self.path.ctf2()} if self.path else {'length': self.count})}
        if self.form == 'array':
            out['element-field-class'] = self.element.ctf2(names)
        return out

    def write(self, bits, leaves, lang=None):
        count, some = self.path.value() if self.path else self.count, []
        bits.align(self.align)
        if self.is_text and lang == 2:
            data = bytes(self.rng.choice(b'ab\0c') for _ in range(count))
            bits.raw(data)
            leaves.extend([leaf_of(data)] if self.form == 'string' else [str(byte) for byte in data])
            return
        for _ in range(count):
            self.element.write(bits, some, lang=lang)
        leaves.extend([leaf_of(bytes(int(v) for v in some))] if self.is_text else some)


class Uuid(Row):
    def __init__(self, rng, byte, uuid):
        super().__init__(rng, byte)
        self.uuid, self.count = uuid, 16

    def ctf2(self, names):
        return {'type': 'static-length-blob', 'length': 16, 'roles': ['metadata-stream-uuid']}

    def write(self, bits, leaves, lang=None):
        bits.raw(self.uuid)


class Choice:
    """A variant of the enumeration at @path, or (CTF 2) an optional field."""
    align = 1

    def __init__(self, rng, path, options):
        self.rng, self.path, self.options = rng, path, options
        self.is_optional = len(options) == 1
        self.inside = [label for label in path.node.labels[:len(options)]]

    def tsdl(self, names):
        inner = names.inner()
        fields = [(o.tsdl(inner), '%s%s; ' % (label[0], getattr(o, 'brackets', lambda: '')()))
                  for label, o in zip(self.inside, self.options)]
        body = ' { %s%s}' % (inner.text(), ''.join(' '.join(pair) for pair in fields))
        return names.tagged('variant', body, ' <%s>' % self.path.tsdl())

    def ctf2(self, names):
        some = [{'selector-field-ranges': [list(label[1:])], 'field-class': o.ctf2(names)}
                for label, o in zip(self.inside, self.options)]
        if self.is_optional:
            return {'type': 'optional', 'selector-field-location': self.path.ctf2(), **some[0]}
        return {'type': 'variant', 'selector-field-location': self.path.ctf2(), 'options': some}

    def write(self, bits, leaves, lang=None):
        value = self.path.value()
        for (_, low, high), option in zip(self.inside, self.options):
            if low <= value <= high:
                option.write(bits, leaves, lang=lang)
                return


class Path:
    """To a field in a struct around, by its name alone, or from a root."""

    def __init__(self, rng, node, name, whole, up, is_short=False):
        self.node, self.name, self.whole, self.up = node, name, whole, up
        self.is_absolute = whole and not is_short and (up is None or rng.random() < 0.5)

    def tsdl(self):
        return '.'.join([ROOTS[self.whole[0]][0]] + self.whole[1:]) if self.is_absolute else self.name

    def ctf2(self):
        if self.is_absolute:
            return {'origin': ROOTS[self.whole[0]][1], 'path': self.whole[1:]}
        return {'path': [None] * self.up + [self.name]}

    def value(self):
        return self.node.value


class Names:
    """Types that are declared by name, in one pair of braces (TSDL), or in all (CTF 2)."""
    count = 0

    def __init__(self, rng, lang, outer=None):
        self.rng, self.lang, self.outer, self.declared = rng, lang, outer, []

    def inner(self):
        return Names(self.rng, self.lang, self)

    def block(self):
        """The scope of a block, or that around it."""
        return self.inner() if self.rng.random() < 0.6 else self

    def place(self):
        """This scope or one around."""
        return self.outer.place() if self.outer and self.rng.random() < 0.5 else self

    def fresh(self):
        Names.count += 1
        return 't%d' % Names.count

    def alias(self, type_):
        if self.rng.random() < 0.6:
            return type_
        name = self.fresh()
        if self.lang == 2:
            self.declared.append((name, type_))
            return name
        name += self.rng.choice(['', '', ' long', '_t'])
        # An alias of an alias; a pointer's name is no other type.
        form = 'typealias %s := %s;' if ' ' in name or self.rng.random() < 0.5 else 'typedef %s %s;'
        self.place().declared.append(form % (type_, name))
        return name

    def tagged(self, kind, body, tail=''):
        if self.lang == 2 or self.rng.random() < 0.5:
            return kind + tail + body
        tag = self.fresh()
        if self.outer or self.rng.random() < 0.5:
            return '%s %s%s%s' % (kind, tag, tail, body)
        self.declared.append('%s %s%s%s' % (kind, tag, body, ';' if self.rng.is_plain or self.rng.random() < 0.5 else ''))
        return '%s %s%s' % (kind, tag, tail)

    def text(self, outer=None):
        return '' if self is outer else ''.join(line + ' ' for line in self.declared)
