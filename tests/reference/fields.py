#!/usr/bin/env python3
"""fields: conditions, keys and groups on fields of every kind, as definitions.md 1.1 says.

Made-up traces in both byte orders, with headers that the decoder knows and others: whole numbers of any size and
place, floating point, enumerations whose labels overlap, texts, arrays and sequences of them, in the payload and among
the contexts, which have bare names, too; and parts that regular expressions split off texts.  Conditions are made
up, too, with the bounds of each field among their numbers; Python's exact arithmetic says which events meet them.

usage: fields.py SILLAGE [--seed N] [--count N]
"""
import argparse
import collections
import fractions
import json
import math
import os
import random
import re
import struct
import subprocess
import sys
import tempfile

EVENTS = 40
WORDS = ('red', 'green', 'blue', '7', 'a b', 'ä', '')
LONG = tuple(begin + end for begin in ('a-name-that-is-as-long', 'é' * 15, 'x' + 'ö' * 60) for end in ('', '/1', '/2'))
OPS = ('=', '!=', '<', '<=', '>', '>=')
LABELS = (('OFF', 0, 0), ('LOW', 1, 9), ('on', 5, 120), ('TOP', 100, 127))
BELOW = (('UNDER', -128, -1), *LABELS)


class Bits:
    """Bits of a packet, from the low end of each byte or from the high one."""

    def __init__(self, order):
        self.order, self.bits = order, []

    def align(self, bits):
        self.bits += [0] * (-len(self.bits) % bits)

    def put(self, value, size, order=None):
        order = order or self.order
        if len(self.bits) % 8 == 0 and size % 8 == 0 and order != self.order:
            value = int.from_bytes((value % (1 << size)).to_bytes(size // 8, 'big'), 'little')
        for i in range(size):
            self.bits.append(value >> (i if self.order == 'le' else size - 1 - i) & 1)

    def data(self):
        self.align(8)
        out = bytearray()
        for at in range(0, len(self.bits), 8):
            eight = self.bits[at:at + 8]
            out.append(sum(bit << (i if self.order == 'le' else 7 - i) for i, bit in enumerate(eight)))
        return bytes(out)


class Whole:
    def __init__(self, size, signed, align=8, order='', labels=()):
        self.size, self.signed, self.align, self.order, self.labels = size, signed, align, order, labels

    def declare(self, name):
        number = 'integer { size = %d; align = %d; signed = %s; %s}' % (
            self.size, self.align, str(self.signed).lower(), 'byte_order = %s; ' % self.order if self.order else '')
        listed = ', '.join('"%s" = %d ... %d' % label for label in self.labels)
        return '%s %s' % ('enum : %s { %s }' % (number, listed) if self.labels else number, name)

    def bounds(self):
        return (-(1 << self.size - 1), (1 << self.size - 1) - 1) if self.signed else (0, (1 << self.size) - 1)

    def draw(self, rng):
        low, high = self.bounds()
        near = [low, high, 0, 1, high // 2 + 1, *(n for _, a, b in self.labels for n in (a, b))]
        return rng.choice(near) if rng.random() < .5 else rng.randrange(max(low, -200), min(high, 200) + 1)

    def put(self, bits, value):
        bits.align(self.align)
        bits.put(value, self.size, self.order)

    def literal(self, rng):
        value = self.draw(rng) + rng.choice((0, 0, -1, 1))
        value = min(max(value, -(1 << 63)), (1 << 64) - 1)
        return fractions.Fraction(value), hex(value) if value > 0 and rng.random() < .5 else str(value)

    def text(self, value):
        return next((name for name, low, high in self.labels if low <= value <= high), str(value))

    def compare(self, value, operator, number, mask):
        value = value % (1 << 64) & mask if mask is not None else value
        if not self.signed and number < 0 and operator in ('=', '!='):
            number += 1 << 64
        return holds(value, operator, number)


class Real:
    labels = ()

    def __init__(self, size, order):
        self.size, self.order = size, order

    def declare(self, name):
        parts = (8, 24) if self.size == 32 else (11, 53)
        return 'floating_point { exp_dig = %d; mant_dig = %d; align = 8; byte_order = %s; } %s' % (*parts, self.order, name)

    def as_field(self, value):
        """The nearest that the field can have."""
        try:
            return struct.unpack('<f', struct.pack('<f', value))[0] if self.size == 32 else value
        except OverflowError:
            return math.copysign(math.inf, value)

    def draw(self, rng):
        return self.as_field(rng.choice((0.0, -0.0, 1.0, -2.5, 0.1, -0.1, 1e-7, 3e38, float(1 << 53), math.inf, -math.inf, math.nan,
                                         rng.uniform(-9, 9), float(rng.randrange(-9, 9)))))

    def put(self, bits, value):
        bits.align(8)
        code = '<f' if self.size == 32 else '<d'
        bits.put(int.from_bytes(struct.pack(code, value), 'little'), self.size, self.order)

    def literal(self, rng):
        value = self.draw(rng)
        value = value if math.isfinite(value) else 0.25
        text = ('%d' if value == int(value) and abs(value) < 1e15 else '%.17g') % value if rng.random() < .7 else '0.1'
        return fractions.Fraction(self.as_field(float(text))), text

    def text(self, value):
        for digits in range(6 if self.size == 32 else 15, 18):
            text = '%.*g' % (digits, value)
            if self.as_field(float(text)) == value:
                break
        return text

    @staticmethod
    def compare(value, operator, number, _):
        if math.isnan(value):
            return operator == '!='
        return holds(value, operator, number)


class Text:
    def __init__(self, length):
        self.length = length

    def declare(self, name):
        return ('integer { size = 8; align = 8; encoding = UTF8; } %s[%d]' % (name, self.length)) if self.length else 'string %s' % name

    def draw(self, rng):
        return rng.choice(WORDS if self.length else WORDS + LONG)

    def put(self, bits, value):
        bits.align(8)
        data = value.encode().ljust(self.length, b'\0') if self.length else value.encode() + b'\0'
        for byte in data:
            bits.put(byte, 8)

    @staticmethod
    def text(value):
        return value


class Dynamic:
    """One of several, or none, as a field before it says: a context of a program, or an optional field."""
    labels = ()

    def __init__(self, order):
        self.options = (None, Whole(8, True), Whole(64, False), Real(64, order), Text(0))

    def declare(self, name):
        some = ' '.join(option.declare('_o%d' % i) + ';' if option else 'struct {} _o0;' for i, option in enumerate(self.options))
        return 'enum : integer { size = 8; align = 8; } { %s } %s_tag; variant <%s_tag> { %s } %s' % (
            ', '.join('"_o%d" = %d' % (i, i) for i in range(len(self.options))), name, name, some, name)

    def draw(self, rng):
        at = rng.randrange(len(self.options))
        return at, self.options[at] and self.options[at].draw(rng)

    def put(self, bits, value):
        bits.align(8)
        bits.put(value[0], 8)
        if value[0]:
            self.options[value[0]].put(bits, value[1])

    def literal(self, rng):
        return self.options[rng.randrange(1, 4)].literal(rng)

    def text(self, value):
        return self.options[value[0]].text(value[1])

    def compare(self, value, operator, number, mask):
        option = self.options[value[0]]
        return operator == '!=' if isinstance(option, Text) else option.compare(value[1], operator, number, mask)


class Row:
    """Of @length elements, or of as many as a field before it says."""

    def __init__(self, of, length):
        self.of, self.length = of, length

    def declare(self, name):
        return self.of.declare(name + ('[%d]' % self.length if self.length else '[_%s_count]' % name))

    def draw(self, rng):
        return [self.of.draw(rng) for _ in range(self.length or rng.randrange(4))]

    def put(self, bits, value):
        for one in value:
            self.of.put(bits, one)


def holds(value, operator, number):
    return {'=': value == number, '!=': value != number, '<': value < number, '<=': value <= number,
            '>': value > number, '>=': value >= number}[operator]


def draw_fields(rng, order):
    """By name; those without an alignment of whole bytes have the byte order of the trace."""
    either = lambda: rng.choice(('le', 'be'))
    fields = {'bit%d' % i: Whole(rng.randrange(2, 33), rng.random() < .5, 1) for i in range(3)}
    fields['odd'] = Row(Whole(16, True, 1), 2)
    fields.update(('w%d%s' % (size, 's' if signed else 'u'), Whole(size, signed, 8, either()))
                  for size in (8, 16, 32, 64) for signed in (False, True))
    fields.update(('r%d%s' % (size, order), Real(size, order)) for size in (32, 64) for order in ('le', 'be'))
    fields.update(state=Whole(8, False, 8, '', LABELS), level=Whole(32, True, 8, either(), BELOW), fixed=Text(6), free=Text(0))
    fields.update(three=Row(Whole(rng.choice((16, 64)), rng.random() < .5, 8, either()), 3), some=Row(Real(rng.choice((32, 64)), either()), 0),
                  states=Row(Whole(8, True, 8, '', BELOW), 2), _app_p_c=Dynamic(either()), maybe=Dynamic(either()))
    del order
    return fields


HEADS = {False: 'struct { integer { size = 8; } id; integer { size = 64; align = 8; map = clock.c.value; } timestamp; } align(8)',
         True: 'struct { enum : integer { size = 5; } { compact = 0 ... 30, extended = 31 } id; variant <id> {'
               ' struct { integer { size = 27; map = clock.c.value; } timestamp; } compact;'
               ' struct { integer { size = 32; align = 8; } id; integer { size = 64; align = 8; map = clock.c.value; } timestamp; } extended;'
               ' } v; } align(8)'}


def write(folder, rng):
    """A trace.  Returns its fields, and the values of each event."""
    order = rng.choice(('le', 'be'))
    compact = order == 'le' and rng.random() < .7
    fields = draw_fields(rng, order)
    inside = {name for name in fields if rng.random() < .4} - {'maybe'} | {'_app_p_c'}  # contexts, which come first
    fields = {name: fields[name] for name in sorted(fields, key=lambda name: name not in inside)}
    declared = ['', '']
    for at, names in ((0, inside), (1, fields.keys() - inside)):
        some = [(name, fields[name]) for name in fields if name in names]
        declared[at] = ''.join('integer { size = 8; align = 8; } _%s_count; ' % name for name, kind in some if isinstance(kind, Row) and not kind.length)
        declared[at] += ' '.join(kind.declare('_' + name) + ';' if not isinstance(kind, Row) or kind.length else
                                 kind.declare(name).replace(' ' + name, ' _' + name, 1) + ';' for name, kind in some)
    with open(os.path.join(folder, 'metadata'), 'w', encoding='utf-8') as file:
        file.write('/* CTF 1.8 */\ntrace { major = 1; minor = 8; byte_order = %s; };\nenv { domain = "ust"; };\n'
                   'clock { name = c; freq = 1000000000; };\n'
                   'stream { event.header := %s; event.context := struct { integer { size = 32; align = 8; signed = true; } _vtid; }; };\n'
                   'event { name = ev; id = 0; context := struct { integer { size = 8; align = 8; } _; %s };'
                   ' fields := struct { integer { size = 32; align = 8; } n; %s }; };\n'
                   'event { name = end; id = 1; fields := struct { integer { size = 32; align = 8; } n; '
                   'floating_point { exp_dig = 11; mant_dig = 53; align = 8; } real; }; };\n' % (order, HEADS[compact], *declared))
    bits, events = Bits(order), []
    for n in range(EVENTS):
        values = {name: kind.draw(rng) for name, kind in fields.items()}
        events.append(values)
        for number in (0, 1):
            bits.align(8)
            if compact:
                bits.put(number, 5)
                bits.put(1000 + 10 * n + number, 27)
            else:
                bits.put(number, 8)
                bits.put(1000 + 10 * n + number, 64)
            bits.put(7, 32)
            if number == 1:
                bits.put(n, 32)
                Real(64, order).put(bits, float(values['w8s']))
                continue
            for is_inside in (True, False):
                bits.align(8)
                bits.put(*((0, 8) if is_inside else (n, 32)))
                some = [(name, kind) for name, kind in fields.items() if (name in inside) == is_inside]
                for name, kind in some:
                    if isinstance(kind, Row) and not kind.length:
                        bits.align(8)
                        bits.put(len(values[name]), 8)
                for name, kind in some:
                    kind.put(bits, values[name])
    with open(os.path.join(folder, 's'), 'wb') as file:
        file.write(bits.data())
    return fields, events, inside


def draw_place(rng, fields, inside):
    """A field or an element: (its text, its kind, how to get its value; None: the event lacks it).  A context may be
    written as such."""
    name = rng.choice(list(fields))
    kind, shown = fields[name], 'context.' * (name in inside and rng.random() < .5) + name
    if isinstance(kind, Dynamic):
        shown = '$app.p:c' if name == '_app_p_c' else name
        return shown, kind, lambda values: values[name] if values[name][0] else None
    if not isinstance(kind, Row):
        return shown, kind, lambda values: values[name]
    element = rng.randrange(kind.length or 4)
    return '%s[%d]' % (shown, element), kind.of, lambda values: values[name][element] if element < len(values[name]) else None


def quoted(text):
    return '"%s"' % text


PARTS = (r'([a-z]+)(?:-|/)?', r'(?<part>[^a-z])', r'(\d)?$', r'^(?<part>.)(.*)', r'(a)|b(l)')


def draw_part(rng, fields):
    """(text of a condition, name of a part, how to get that)."""
    name, regex = rng.choice(('free', 'fixed', 'state')), rng.choice(PARTS)
    at = rng.randrange(2) if regex.endswith('(l)') else 0

    def get(values):
        value = values[name]
        texts = [label for label, low, high in LABELS if low <= value <= high] if name == 'state' else [value]
        found = [re.search(regex.replace('?<', '?P<').replace('\\d', '[0-9]'), one) for one in texts]
        return next((one.group(1 + at) for one in found if one and one.group(1 + at) is not None), None)
    return '%s~/%s/' % (name, regex.replace('/', '\\/')), '$part' if 'part' in regex and rng.random() < .5 else '$%d' % (1 + at), get


def draw_condition(rng, fields, inside):
    """(text, function that says whether it holds of an event)."""
    name, kind, get = draw_place(rng, fields, inside)
    if isinstance(kind, Text) or (kind.labels and rng.random() < .5):
        equal, regex = rng.random() < .5, rng.random() < .4
        word = rng.choice(('e', '^o', 'n$', '[A-Z]')) if regex else rng.choice(WORDS if isinstance(kind, Text) else [label[0] for label in kind.labels])

        def is_word(values):
            value = get(values)
            has = [value] if isinstance(kind, Text) else [label for label, low, high in kind.labels if value is not None and low <= value <= high]
            return value is not None and any(re.search(word, one) if regex else one == word for one in has) == equal
        sign = ('' if equal else '!') + ('~/%s/' % word if regex else '=%s' % quoted(word))
        return name + sign, is_word
    operator = rng.choice(OPS)
    number, text = kind.literal(rng)
    mask = rng.choice((0xF, 0x80, 0xFFFF)) if isinstance(kind, Whole) and rng.random() < .2 else None
    sign = '&0x%x' % mask if mask is not None else ''

    def is_number(values):
        value = get(values)
        return value is not None and kind.compare(value, operator, number, mask)
    return name + sign + operator + text, is_number


def figures_of(sillage, folder, analysis, words):
    out = subprocess.run([sillage, 'analyze', '-q', '-n', '0', '-a', analysis, '-f', 'json', *words, folder], stdout=subprocess.PIPE,
                         check=True).stdout.decode()
    return next(line for line in map(json.loads, out.splitlines()) if line['type'] == 'total')[analysis]


def begins(rows):
    """Without the hashes that end long names: how often there are which begins and counts."""
    return collections.Counter((re.sub('~[0-9a-f]{16}$', '~', name), count) for name, count in rows.items())


def brief(text, room, most=None):
    """A text that has @most bytes, or so many as there is room for; a hash is the end of a longer one."""
    raw = text.encode()
    return text if len(raw) <= (most or room) else raw[:room - 17].decode(errors='ignore') + '~'


def long_faults(sillage, folder, events):
    """Texts of any length, as keys and as groups: those that differ are shown as different ones."""
    texts, faults = [values['free'] for values in events], []
    found = figures_of(sillage, folder, 'periods', ['--period', 'x = ev; ev; by free'])['longest']
    for row, at in ((row, (row['begin'] - 1000) // 10) for row in found):
        shown, _, end = row['by'].partition('~')
        is_right = shown + '~' * bool(end) == 'free=' + brief(texts[at], 33, 16)
        faults += [] if is_right else ['by free: %s, of %s' % (row['by'], texts[at])]
    shown, are = {row['by'] for row in found}, {texts[(row['begin'] - 1000) // 10] for row in found}
    faults += ['by free: %s of %s' % (shown, are)] if len(shown) != len(are) else []
    found = figures_of(sillage, folder, 'periods', ['--period', 'x = ev; end; by n; group free'])['longest']
    for row, at in ((row, (row['begin'] - 1000) // 10) for row in found):
        name = 'x free=' + texts[at]
        fits = len(name.encode()) < 32
        item = brief('free=' + texts[at], 95)
        by = re.sub('~[0-9a-f]{16}', '~', row.get('by', ''))
        wanted = (name if fits else 'x', ('' if fits else item + ' ') + 'n=%d' % at)
        if (row['name'], by) != wanted and (row['name'], by) != ('x', item):
            faults.append('group free: %s, wanted %s' % ((row['name'], by), wanted))
    return faults


def total_of(sillage, folder, analysis, words):
    rows = figures_of(sillage, folder, analysis, words)['jobs' if analysis == 'jobs' else 'by_name']
    return {row['name']: row['duration' if analysis == 'jobs' else 'time']['count'] for row in rows}


def part_faults(sillage, folder, events, part):
    """Parts as groups, as keys, and in conditions."""
    text, name, get = part
    bare = collections.Counter(get(values) for values in events)
    matched = total_of(sillage, folder, 'periods', ['--period', 'x = ev %s; end; by n' % text]).get('x', 0)
    rows = collections.Counter({'x %s=%s' % (name, value): count for value, count in bare.items() if value is not None})
    rows['x'] = matched - sum(rows.values())
    wanted = begins({brief(row, 97) if row != 'x' else row: count for row, count in (+rows).items()})
    found = begins(total_of(sillage, folder, 'periods', ['--period', 'x = ev %s; end; by n; group %s' % (text, name)]))
    faults = ['%s, group %s: %s, wanted %s' % (text, name, found, wanted)] if found != wanted else []
    digits = sum(count for value, count in bare.items() if value is not None and value.isdigit() and int(value) > 3)
    found = total_of(sillage, folder, 'periods', ['--period', 'x = ev %s, %s>3; end; by n' % (text, name)]).get('x', 0)
    faults += ['%s, %s>3: %d, wanted %d' % (text, name, found, digits)] if found != digits else []
    pairs = sum(count - 1 for value, count in bare.items() if value is not None)
    found = total_of(sillage, folder, 'periods', ['--period', 'x = ev %s; ev %s; by %s' % (text, text, name)]).get('x', 0)
    return faults + (['%s, by %s: %d, wanted %d' % (text, name, found, pairs)] if found != pairs else [])


def check(sillage, seed):
    """What is wrong, as texts."""
    rng, faults = random.Random(seed), []
    with tempfile.TemporaryDirectory() as folder:
        fields, events, inside = write(folder, rng)
        asked = [draw_condition(rng, fields, inside) for _ in range(60)]
        wanted = {'c%d' % i: sum(map(is_met, events)) for i, (_, is_met) in enumerate(asked)}
        periods = [word for i, (text, _) in enumerate(asked) for word in ('--period', 'c%d = ev %s; end; by n' % (i, text))]
        jobs = [word for i, (text, _) in enumerate(asked[:16]) for word in ('--job', 'c%d = ev %s; end' % (i, text))]
        for analysis, words, count in (('periods', periods, 60), ('jobs', jobs, 16)):
            found = total_of(sillage, folder, analysis, words)
            faults += ['%s: %s: %d, found %d' % (analysis, asked[i][0], wanted['c%d' % i], found.get('c%d' % i, 0))
                       for i in range(count) if found.get('c%d' % i, 0) != wanted['c%d' % i]]
        for i in range(12):
            name, kind, get = draw_place(rng, fields, inside)
            shown = name  # also "$app.p:c", as it is written
            rows = collections.Counter('x' if get(values) is None else 'x %s=%s' % (shown, kind.text(get(values))) for values in events)
            rows = collections.Counter((' '.join([head, brief(item, 95)] if item else [head]), count)
                                       for (head, _, item), count in ((text.partition(' '), count) for text, count in rows.items()))
            found = begins(total_of(sillage, folder, 'periods', ['--period', 'x = ev; end; by n; group %s' % name]))
            faults += ['group %s: %s, found %s' % (name, rows, found)] if found != rows else []
        faults += [fault for _ in range(8) for fault in part_faults(sillage, folder, events, draw_part(rng, fields))]
        faults += long_faults(sillage, folder, events)
        for words, of in (('w8s=real', 'equal numbers of two kinds'), ('n, w8s=real', 'two keys')):
            found = total_of(sillage, folder, 'periods', ['--period', 'x = ev; end; by %s' % words])
            faults += ['by %s (%s): %s' % (words, of, found)] if found != {'x': EVENTS} else []
    return faults


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('sillage')
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--count', type=int, default=6)
    options = parser.parse_args()
    failed = 0
    for seed in range(options.seed, options.seed + options.count):
        faults = check(options.sillage, seed)
        for fault in faults:
            print('# seed %d: %s' % (seed, fault))
        failed += len(faults) > 0
    print('%s fields: %d traces' % ('not ok' if failed else 'ok', options.count))
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
