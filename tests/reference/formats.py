#!/usr/bin/env python3
"""formats: events of many kernels, and of kernels that never were, are those of LTTng in name, field and number.

Goal    Each event of the table is decoded right whatever its kernel's format is: of Linux 3.10, 6.1, 6.12 and 6.18, of
        either byte order, with 32 and 64 bits; and with fields moved, wider, narrower, signed, unsigned, absent, or of
        a type that nobody knows.  No field is lost but those that LTTng does not have.  What is not understood is said.
Method  tests/data/ftrace/fields has fields of kernels.  Files of trace-cmd are written here (tracedat_file.py) with a
        record of each event; `events` prints what becomes of them, and their metadata.

usage: formats.py SILLAGE EVENTS DATA
"""
import json
import os
import random
import re
import subprocess
import sys
import tempfile

import tracedat_file

# What LTTng does not have, by event, * for any.
DROPPED = {'*': set(), 'block': {'ioprio', 'cmd'}, 'workqueue/workqueue_queue_work': {'workqueue', 'cpu'},
           'workqueue/workqueue_activate_work': {'function'}, 'kmem/kmem_cache_alloc': {'name'},
           'kmem/mm_page_free_batched': {'cold'}}
RENAMED = {'pid': 'tid', 'prev_pid': 'prev_tid', 'next_pid': 'next_tid', 'old_pid': 'old_tid', 'func': 'function'}
PREFIXES = {'irq': 'irq_', 'timer': 'timer_', 'kmem': 'kmem_', 'power': 'power_', 'irq_vectors': 'x86_irq_vectors_',
            'exceptions': 'x86_exceptions_'}
PRIORITIES = {'prio', 'prev_prio', 'next_prio', 'oldprio', 'newprio'}
W, D, R, A, S, M, ERASE, FLUSH, FUA, BEFORE = (1 << bit for bit in (0, 1, 2, 3, 5, 6, 7, 8, 9, 10))
RWBS = {'W': W, 'WS': W | S, 'WFS': W | FUA | S, 'FWFS': BEFORE | W | FUA | S, 'R': R, 'RA': R | A, 'RSM': R | S | M, 'D': D,
        'DE': D | ERASE, 'DES': D | ERASE | S, 'FF': BEFORE | FLUSH, 'F': FLUSH, 'FS': FLUSH | S, 'FN': BEFORE, 'N': 0, 'ZAS': S,
        'ZRA': 0, 'ZRAS': S, 'ZO': 0, 'WU': W}
ROLE_NEEDS = {'raw_syscalls/sys_enter': {'id', 'args'}, 'raw_syscalls/sys_exit': {'id', 'ret'},
              'sched/sched_process_fork': {'parent_pid', 'child_pid'}}
SIZES = {'pid_t': 4, 'int': 4, 'unsigned': 4, 'unsigned int': 4, 'unsigned short': 2, 'short': 2, 'u8': 1, 'u16': 2, 'u32': 4, 'u64': 8, 's64': 8,
         'dev_t': 4, 'sector_t': 8, 'gfp_t': 4, 'bool': 1, 'unsigned char': 1, 'clockid_t': 4, 'unsigned long long': 8}
SIGNED = {'pid_t', 'int', 'long', 'short', 's64', 'clockid_t'}


class Field:
    """What a format says, and a value for it: a number, a text, six numbers or bytes."""

    def __init__(self, rng, word, long):
        self.name, kind = word.split(':')
        self.type, self.count = re.match(r'([^[]*)(\[\d*\])?$', kind.replace('~', ' ')).groups()
        self.place, self.signed = '', self.type in SIGNED
        if self.type == 'char' and self.name == 'rwbs':
            self.value = rng.choice([text for text in RWBS if len(text) < int(self.count[1:-1])])
        elif self.type == 'char':
            self.value = ''.join(rng.choice('abcdefgh/-') for _ in range(rng.randrange(16)))
        if self.type == 'char':
            self.size = 4 if self.count == '[]' else int(self.count[1:-1])
            self.place = '__data_loc ' if self.count == '[]' else ''
            return
        self.each = SIZES.get(self.type, 4 if self.type.startswith('enum') else long)
        self.size = self.each * int((self.count or '[1]')[1:-1])
        # A number of a call is a small one.
        numbers = [rng.randrange(1 << 20) if self.name == 'id' else rng.choice((0, 1, (1 << 8 * self.each) - 1, rng.getrandbits(8 * self.each))) for _ in range(self.size // self.each)]
        self.value = numbers if self.count else numbers[0]

    def is_number(self):
        return isinstance(self.value, int)

    def declared(self):
        return '%s%s%s' % (self.place, self.type + ('[]' if self.place else ''), ' ' + self.name) + (
            '' if self.place else self.count or '')


def mutate(rng, fields):
    """Another form of each field, by chance."""
    for field in fields:
        way = rng.randrange(8)
        if field.is_number() and way in (0, 1):
            field.each = field.size = rng.choice((1, 2, 4, 8))
            field.type, field.signed = 'of_%d_bytes' % field.size, rng.random() < 0.5
            field.value = rng.getrandbits(7 if field.name == 'id' else 8 * field.size)
        elif field.is_number() and way == 2 or way == 3 and field.name == 'rwbs':
            field.type, field.count, field.signed = 'struct unknown', '', False
            field.size, field.value = 12, bytes(rng.randrange(256) for _ in range(12))
        elif isinstance(field.value, str) and field.name != 'rwbs' and way in (0, 1, 2):
            field.place = ('__data_loc ', '__rel_loc ', '')[way]
            field.size, field.count = (4, '[]') if field.place else (32, '[32]')
    kept = [field for field in fields if rng.random() < 0.9]
    rng.shuffle(kept)
    return kept


class Made:
    """A file with one record of each event."""

    def __init__(self, rng, events, big, long, is_mutated):
        self.dat, self.rng = tracedat_file.Dat(), rng
        self.dat.big, self.dat.long, self.dat.page = big, long, 65536
        data_at = 8 + long
        self.dat.header_page = (
            '\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n\tfield: local_t commit;\toffset:8;\tsize:%d;\tsigned:1;\n'
            '\tfield: char data;\toffset:%d;\tsize:%d;\tsigned:1;\n' % (long, data_at, 65536 - data_at)).encode()
        self.expected, records, gap = [], b'', 1000
        # What follows a switch would tell of another thread.
        names = sorted(events, key=lambda name: (name == 'sched/sched_switch', rng.random()))
        for number, name in enumerate(names):
            fields = [Field(rng, word, long) for word in events[name]]
            fields = mutate(rng, fields) if is_mutated else fields
            tid = rng.randrange(1, 1 << 22)
            payload = self.record(name, 100 + number, fields, tid)
            records += self.number(gap << 5 if not big else gap, 4) + self.number(4 + len(payload), 4) + payload
            self.expected.append((gap * (number + 1), name, {field.name: field for field in fields}, tid))
        page = self.number(10**9, 8) + self.number(len(records), long) + records
        assert len(page) < 65536, len(page)
        self.dat.buffers = [tracedat_file.Buffer(clock='mono', page=65536, cpus={0: page + bytes(65536 - len(page))})]

    def number(self, value, size):
        return (value % (1 << 8 * size)).to_bytes(size, 'big' if self.dat.big else 'little')

    def bytes_of(self, field, at, behind, base):
        """At the field's offset; what lies elsewhere is put behind."""
        if field.place:
            text = field.value.encode() + b'\0'
            where = base + len(behind) - (at + 4 if field.place == '__rel_loc ' else 0)
            behind += text
            return self.number(where | len(text) << 16, 4)
        if isinstance(field.value, (bytes, str)):
            raw = field.value.encode() if isinstance(field.value, str) else field.value
            return raw + bytes(field.size - len(raw))
        return b''.join(self.number(one, field.each) for one in ([field.value] if field.is_number() else field.value))

    def record(self, name, number, fields, tid):
        lines = ['\tfield:%s;\toffset:%d;\tsize:%d;\tsigned:%d;' % one for one in (
            ('unsigned short common_type', 0, 2, 0), ('unsigned char common_flags', 2, 1, 0),
            ('unsigned char common_preempt_count', 3, 1, 0), ('int common_pid', 4, 4, 1))] + ['']
        at, places = 8, []
        for field in fields:
            align = 4 if isinstance(field.value, bytes) or field.place else 1 if isinstance(field.value, str) else field.each
            at += -at % align
            places.append(at)
            lines.append('\tfield:%s;\toffset:%d;\tsize:%d;\tsigned:%d;' % (field.declared(), at, field.size, field.signed))
            at += field.size
        base = at + -at % 4
        body, behind = bytearray(base), bytearray()
        body[:8] = self.number(number, 2) + b'\0\0' + self.number(tid, 4)
        for field, place in zip(fields, places):
            body[place:place + field.size] = self.bytes_of(field, place, behind, base)
        system, event = name.split('/')
        text = 'name: %s\nID: %d\nformat:\n%s\n\nprint fmt: ""\n' % (event, number, '\n'.join(lines))
        self.dat.systems.setdefault(system, []).append(text.encode())
        body += behind
        return bytes(body + bytes(-len(body) % 4))


def run(*args):
    done = subprocess.run(args, stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True)
    assert done.returncode == 0, (args, done)
    return done


def classes(events, path):
    """Event name -> members (name, class)."""
    found = {}
    for line in run(events, '--ctf2', path).stdout.split('\x1e'):
        one = json.loads(line) if line.strip() else {}
        if one.get('type') == 'event-record-class':
            # A second class of switches is that of derived ones.
            found.setdefault(one['name'], [(member['name'], member['field-class']) for member in
                                           one.get('payload-field-class', {}).get('member-classes', [])])
    return found


def take(words, kind):
    """The value of a member, from the words that are printed."""
    if 'array' in kind['type']:
        count = kind['length'] if kind['type'].startswith('static') else int(words.pop(0))
        return [words.pop(0) for _ in range(count)]
    word = words.pop(0)
    return bytes.fromhex(word[1:-1]).decode('latin-1') if word.startswith('"') else int(word)


def lttng_name(name, fields):
    system, event = name.split('/')
    if name in ROLE_NEEDS and not all(need in fields and not isinstance(fields[need].value, (bytes, str)) for need in ROLE_NEEDS[name]):
        return {'sched_process_fork': 'sched_sched_process_fork'}.get(event, event)
    if system == 'raw_syscalls':
        return 'syscall_entry_unknown' if event == 'sys_enter' else 'syscall_exit_unknown'
    if system == 'net' and event.startswith('netif_'):
        return 'net_if_' + event[len('netif_'):]
    if system == 'net' and event.startswith('napi_'):
        return 'net_' + event
    if event == 'hrtimer_setup':
        return 'timer_hrtimer_init'
    prefix = PREFIXES.get(system, '')
    return event if event.startswith(prefix) else prefix + event


def as_member(value, kind):
    """A number as a member of this width and sign has it."""
    bits = kind['length']
    value %= 1 << bits
    return value - (1 << bits) if 'unsigned' not in kind['type'] and value >> (bits - 1) else value


def number_of(field):
    """With its sign."""
    return field.value - (1 << 8 * field.size if field.signed and field.value >> (8 * field.size - 1) else 0)


def value_of(field, member, kind):
    """What a member should be."""
    value = field.value
    if isinstance(value, str):
        return RWBS[value] if member == 'rwbs' else value
    if isinstance(value, bytes):
        return [str(byte) for byte in value]
    if not field.is_number():
        return [str(as_member(one, {'length': 64, 'type': 'unsigned'})) for one in value]
    is_lttngs = member in PRIORITIES
    assert kind['length'] >= 8 * field.size or is_lttngs or member == 'id', (member, kind, field.size)
    return as_member(number_of(field) - (100 if is_lttngs else 0), kind)


def made_of(name, fields, tid, member, kind):
    """What LTTng has and the kernel says in another way."""
    if member == 'page' and 'pfn' in fields and fields['pfn'].is_number():
        pfn = fields['pfn']
        none = pfn.value == (1 << 8 * pfn.size) - 1
        return 0 if none else as_member(0xffffea0000000000 + 64 * number_of(pfn), kind)
    if member == 'page' and 'pfn' in fields:
        return value_of(fields['pfn'], member, kind)
    if member == 'accounted' and name == 'kmem/kmalloc':
        flags = fields['gfp_flags']
        return number_of(flags) >> 22 & 1 if flags.is_number() else value_of(flags, member, kind)
    if member == 'tid' and name.startswith('block/'):
        return tid
    assert False, (name, member, 'is of nothing')


def check_event(name, fields, tid, words, members):
    got = {member: (take(words, kind), kind) for member, kind in members if not member.endswith('_length')}
    assert not words, (name, words)
    is_plain = name.startswith('task/') or lttng_name(name, fields).startswith('sched_sched')
    known = {(field if is_plain or name.startswith(('signal/', 'timer/')) else RENAMED.get(field, field)): one
             for field, one in fields.items()}
    if name == 'sched/sched_process_fork' and not is_plain:
        for side in ('parent', 'child'):
            assert got[side + '_tid'][0] == as_member(number_of(fields[side + '_pid']), got[side + '_tid'][1]), (name, got)
            if side + '_comm' in fields:
                assert got[side + '_comm'][0] == fields[side + '_comm'].value[:15], (name, got)
        return
    for member, (value, kind) in got.items():
        if member == 'args':
            wanted = [str(one) for one in fields['args'].value]
        elif member in known:
            wanted = value_of(known[member], member, kind)
        else:
            wanted = made_of(name, fields, tid, member, kind)
        value = value.rstrip('\0') if isinstance(value, str) else value
        assert value == wanted, (name, member, value, wanted, kind)
    dropped = DROPPED['*'] | DROPPED.get(name, set()) | DROPPED.get(name.split('/')[0], set())
    if re.match(r'net/.*_entry$', name):
        dropped = set(fields) - {'skbaddr'}
    lost = set(known) - set(got) - dropped
    assert not lost, (name, lost, sorted(got))


def check(events, folder, seed, kernel, big, long, is_mutated):
    made = Made(random.Random(seed), kernel, big, long, is_mutated)
    path = os.path.join(folder, 'made.dat')
    with open(path, 'wb') as file:
        file.write(made.dat.v6())
    members, count = classes(events, path), 0
    lines = [line.split() for line in run(events, path).stdout.splitlines() if line.startswith(' ')]
    assert len(lines) == len(made.expected), (len(lines), len(made.expected))
    for words, (time, name, fields, tid) in zip(lines, made.expected):
        assert words[-1] == str(10**9 + time), (name, words)
        assert words[-2] == lttng_name(name, fields), (name, words[-2], lttng_name(name, fields))
        check_event(name, fields, tid, words[:-2], members[words[-2]])
        count += 1
    return count


def read_kernels(path):
    kernels, kernel = {}, None
    with open(path) as file:
        for line in file:
            words = line.split()
            if words[0] == '=':
                kernel = kernels[words[1]] = dict(kernels[words[2]]) if words[2:] else {}
            elif words[0] != '#' and words[1:] == ['-']:
                del kernel[words[0]]
            elif words[0] != '#':
                kernel[words[0]] = words[1:]
    return kernels


def check_said(sillage, folder, kernel):
    """An event that tells nothing is said, and no figure is made of it."""
    few = {'sched/sched_process_fork': ['parent_comm:char[16]', 'child_comm:char[16]'], 'sched/sched_wakeup': kernel['sched/sched_wakeup']}
    for events, wanted in ((few, '1 kinds of events are of a form that is not known, sched:sched_process_fork (parent_pid)'),
                           (kernel, '')):
        path = os.path.join(folder, 'said.dat')
        with open(path, 'wb') as file:
            file.write(Made(random.Random(1), events, False, 8, False).dat.v6())
        said = run(sillage, 'analyze', '-a', 'count', path).stderr
        assert wanted in said and (wanted or 'not known' not in said), said


def main():
    sillage, events, data = sys.argv[1:4]
    kernels = read_kernels(os.path.join(data, 'fields'))
    with tempfile.TemporaryDirectory(prefix='formats-') as folder:
        os.environ['TMPDIR'] = folder
        for name, kernel in kernels.items():
            counts = [check(events, folder, 0, kernel, big, long, False) for big in (False, True) for long in (8, 4)]
            print('%s: %d events, of either byte order and width' % (name, counts[0]))
        for seed in range(24):
            check(events, folder, seed, kernels['6.18' if seed % 2 else '6.1'], seed & 4 > 0, 4 if seed & 8 else 8, True)
        print('24 kernels that never were')
        check_said(sillage, folder, kernels['6.12'])
    print('ok')


if __name__ == '__main__':
    main()
