#!/usr/bin/env python3
"""pack: an archive of a trace has its figures, without names too, and one of an enemy does nothing.

Goal    `pack` writes what others can read with tar, zstd, babeltrace2 and all commands; --anonymous leaves no name of the
        original in any byte of it, and the same figures; an archive that is not to be trusted leaves nothing behind.
Method  Traces of tests/data, and two that are made here (CTF 1.8 and CTF 2), which have marked words in each place that can
        hold one: events, contexts, environment, clocks, attributes, comments, gaps between fields, bytes behind texts, and
        behind a place that cannot be read.  What babeltrace2 says of the original and of the copy is compared, with its
        texts replaced; of the reports rows are compared as sets, since those with the same figures are in order of names.
        Archives are made with Python's tarfile, and mutated.

usage: pack.py SILLAGE DATA NAMES       NAMES: of traces in DATA, commas between
"""
import io
import json
import os
import random
import re
import signal
import struct
import subprocess
import sys
import tarfile
import tempfile
import time

MARK = 'Qx7'  # in each word that a trace made here hides, which makes it one of no pseudonym
SEPARATORS = '/:[]()=, '


def run(*command, status=0, **more):
    done = subprocess.run(command, capture_output=True, timeout=300, check=False, **more)
    assert done.returncode == status, '%s: status %d, not %d\n%s' % (
        ' '.join(map(str, command)), done.returncode, status, done.stderr.decode(errors='replace'))
    return done.stdout.decode(errors='replace'), done.stderr.decode(errors='replace')


def plain(path):
    """The archive's bytes, decompressed: names and all."""
    return subprocess.run(['zstd', '-dc', path], capture_output=True, check=True).stdout


def members_of(path):
    """Bytes by name, but for the report that says how long it took."""
    with tarfile.open(fileobj=io.BytesIO(plain(path))) as archive:
        return {member.name: archive.extractfile(member).read() for member in archive
                if member.isfile() and not member.name.endswith('report.json')}


def unpacked(path, folder):
    os.mkdir(folder)
    with tarfile.open(fileobj=io.BytesIO(plain(path))) as archive:
        archive.extractall(folder)
    return folder


# ---- what both say ----

def events_of(folder):
    """What babeltrace2 prints, with texts, and the texts."""
    done = subprocess.run(['babeltrace2', '--clock-cycles', '--no-delta', '--fields=trace:domain,loglevel', folder],
                          capture_output=True, check=False)
    return done.stdout.decode(errors='surrogateescape').splitlines()


def shape_of(line):
    """A line without its texts, and without the bytes of rows, which are addresses."""
    line = re.sub(r'"(?:[^"\\]|\\.)*"', '"?"', line)
    return re.sub(r'(?<= = )\[( \[\d+\] = -?\w+,?)+ \]', '[?]', line)


def words_of(lines):
    words = set()
    for line in lines:
        for text in re.findall(r'"((?:[^"\\]|\\.)*)"', line):
            words |= set(re.split('[%s]' % re.escape(SEPARATORS), text))
    return words


def shape_of_report(value, known):
    """Rows as sets; texts that not both reports have are one."""
    if isinstance(value, dict):
        return {key: shape_of_report(one, known) for key, one in value.items()
                if key not in ('path', 'host', 'session')}
    if isinstance(value, list):
        return sorted((shape_of_report(one, known) for one in value), key=json.dumps)
    return value if not isinstance(value, str) or value in known else '?'


def texts_of(value):
    if isinstance(value, (dict, list)):
        for one in value.values() if isinstance(value, dict) else value:
            yield from texts_of(one)
    elif isinstance(value, str):
        yield value


class Packs:
    def __init__(self, sillage, folder):
        self.sillage, self.folder, self.count = sillage, folder, 0
        self.place = os.path.join(folder, 'tmp')  # of what a run unpacks
        os.mkdir(self.place)
        self.env = {**os.environ, 'TMPDIR': self.place}

    def run(self, *words, status=0, program=False):
        result = run(*(() if program else (self.sillage,)), *words, status=status, env=self.env)
        assert os.listdir(self.place) == [], (words, os.listdir(self.place))
        return result

    def new(self):
        self.count += 1
        return os.path.join(self.folder, 'pack-%d.tar.zst' % self.count)

    def make(self, source, *words):
        path = self.new()
        self.run('pack', '-q', '-o', path, *words, source)
        return path

    def report(self, source):
        lines = [json.loads(line) for line in self.run('analyze', '-q', '-a', 'all', '-f', 'json', source)[0].splitlines()]
        return [line for line in lines if line['type'] == 'total']

    def check_figures(self, source, path, is_named):
        ours, theirs = self.report(source), self.report(path)
        known = set(texts_of(ours)) & set(texts_of(theirs)) if not is_named else set(texts_of(ours))
        # Of several traces the order is that of their names.
        for one, other in zip(shape_of_report(ours, known), shape_of_report(theirs, known)):
            assert one == other, next((key, one[key], other.get(key)) for key in one if one[key] != other.get(key))
        assert len(ours) == len(theirs) > 0, (source, len(ours), len(theirs))


# ---- names ----

def metadata_words(source):
    """Words that stay: of declarations."""
    words = set()
    for folder, _, files in os.walk(source):
        if 'metadata' in files:
            with open(os.path.join(folder, 'metadata'), 'rb') as file:
                text = file.read().decode(errors='replace')
            text = re.sub(r'\b(env|clock) \{.*?\};', '', text, flags=re.S)
            words |= set(re.findall(r'\w+', text)) | set(re.findall(r'[\w:.]+', text))
    return words


def check_nameless(source, path, folder):
    """No word of the original is in it; those that declarations or reports have by themselves do not tell."""
    before, after = events_of(source), events_of(folder)
    assert len(before) == len(after), (source, len(before), len(after))
    for one, other in zip(before, after):
        assert shape_of(one) == shape_of(other), (source, one, other)
    with tarfile.open(fileobj=io.BytesIO(plain(path))) as archive:
        members = {member.name: archive.extractfile(member).read() if member.isfile() else b'' for member in archive}
    stay = metadata_words(source) | {'pipe', 'socket', 'anon_inode', 'service'}
    # Reports have words of their own: what is theirs is in texts of JSON, and columns.
    reports = {name: members.pop(name).decode() for name in list(members) if os.path.basename(name).startswith('report.')}
    data = b'\0'.join([name.encode() for name in members] + list(members.values()))
    names = {word for word in words_of(before) if len(word) >= 5 and not word.isdigit()} - stay
    left = [word for word in sorted(names) if word.encode(errors='surrogateescape') in data and
            not any(word in one for one in stay)]
    told = {word for name, text in reports.items() for word in (
        words_of(json.dumps(one) for line in text.splitlines() for one in texts_of(json.loads(line)))
        if name.endswith('.json') else re.split(r'[%s\n]' % re.escape(SEPARATORS), text))}
    left += sorted(names & told - {'unknown', 'total', 'kernel'})
    assert left == [] and len(reports) == 2, (source, left[:10], list(reports))
    for host in ('testhost',):
        assert host.encode() not in plain(path)
    return len(names)


def check_data(packs, data, names):
    searched = 0
    for name in names:
        source = os.path.join(data, name)
        path = packs.make(source)
        packs.check_figures(source, path, True)
        folder = unpacked(path, path + '.d')
        assert events_of(source) == events_of(folder), name
        nameless = packs.make(source, '--anonymous')
        packs.check_figures(source, nameless, False)
        searched += check_nameless(source, nameless, unpacked(nameless, nameless + '.d'))
    assert searched > 40, searched
    print('ok %d traces, %d names' % (len(names), searched))


# ---- traces made here ----

UUID = bytes(range(16))


def tsdl_trace(folder, is_whole=True):
    """A packet of CTF 1.8 with marked words wherever bytes can be; if it is not whole, the last event has no class."""
    os.makedirs(folder)
    with open(os.path.join(folder, 'metadata'), 'w', encoding='utf-8') as file:
        file.write('''/* CTF 1.8 */
/* by Qx7author */
// and Qx7other
typealias integer { size = 8; align = 8; signed = false; } := u8;
typealias integer { size = 8; align = 8; signed = false; encoding = UTF8; } := c8;
typealias integer { size = 16; align = 16; signed = false; } := u16;
typealias integer { size = 32; align = 32; signed = false; } := u32;
typealias integer { size = 64; align = 64; signed = false; } := u64;
trace { major = 1; minor = 8; byte_order = le; uuid = "00010203-0405-0607-0809-0a0b0c0d0e0f";
	packet.header := struct { u32 magic; u8 uuid[16]; u32 stream_id; }; };
env { hostname = "Qx7host"; domain = "ust"; tracer_name = "lttng-ust"; trace_name = "Qx7 \\"session\\" /* Qx7 */";
	procname = "Qx7proc"; kernel_release = "6.1.0-Qx7firm-rt3"; tracer_major = 2; };
clock { name = mono; uuid = "c0ffee00-1111-2222-3333-444455556666"; description = "of Qx7machine"; freq = 1000000000; };
typealias integer { size = 64; align = 64; signed = false; map = clock.mono.value; } := stamp;
stream { id = 0;
	event.header := struct { u16 id; stamp timestamp; };
	packet.context := struct { stamp timestamp_begin; stamp timestamp_end; u64 content_size; u64 packet_size; };
	event.context := struct { c8 procname[16]; string path; }; };
callsite { name = "a"; func = "Qx7func"; file = "/Qx7dir/Qx7file.c"; };
event { name = "app:all"; id = 0; stream_id = 0; context := struct { string own; };
	fields := struct { u8 len; c8 text[len]; u16 few; u64 wide; u8 address[4]; u16 v6[8];
		struct { string s; u32 n; } pair[2]; enum : u8 { none = 0, some = 1 } tag;
		variant <tag> { u8 none; string some; } v; u8 count; u8 blob[count]; }; };
''')
    out = bytearray()

    def align(to):
        while len(out) % to:
            out.extend(b'Qx7'[len(out) % 3:len(out) % 3 + 1])

    def event(id_, when, word):
        align(8)
        out.extend(struct.pack('<H', id_))
        align(8)
        out.extend(struct.pack('<Q', when))
        if id_:
            out.extend(b'Qx7tail of what is no event')
            return
        out.extend((b'Qx7' + word + b'\0').ljust(16, b'Q') + b'/home/Qx7user/a:' + word + b'\0' + b'Qx7own\0')
        align(8)
        text = b'Qx7text ' + word + b'\0Qx7rest'
        out.extend(bytes([len(text)]) + text)
        align(2)
        out.extend(struct.pack('<H', 7))
        align(8)
        out.extend(struct.pack('<Q', 1 << 40) + bytes([10, 77, 88, 99]))
        align(2)
        out.extend(struct.pack('>8H', 0x2001, 0xdb8, 0x5178, 0x3751, 0, 0, 0, 1))
        for k in range(2):
            align(4)
            out.extend(b'Qx7pair\0')
            align(4)
            out.extend(struct.pack('<I', k))
        out.extend(b'\1Qx7some\0' + bytes([6]) + b'Qx7Qx7')

    out.extend(struct.pack('<I', 0xC1FC1FC1) + UUID + struct.pack('<I', 0))
    align(8)
    head = len(out)
    out.extend(bytes(32))
    for number in range(20):
        event(0, 100 + number, b'%c' % (97 + number % 3))
    if not is_whole:
        event(9, 200, b'')
    size = 4096
    out[head:head + 32] = struct.pack('<4Q', 100, 300, len(out) * 8, size * 8)
    with open(os.path.join(folder, 'chan_0'), 'wb') as file:
        file.write(bytes(out).ljust(size, b'Q').replace(b'QQQ', MARK.encode()))


def ctf2_trace(folder):
    """The same in CTF 2: texts of two bytes a letter, BLOBs, attributes."""
    os.makedirs(folder)

    def number(bits, *roles):
        return {'type': 'fixed-length-unsigned-integer', 'length': bits, 'byte-order': 'little-endian', 'alignment': 8,
                **({'roles': list(roles)} if roles else {})}

    def member(name, kind):
        return {'name': name, 'field-class': kind}

    def fields(*members):
        return {'type': 'structure', 'member-classes': list(members)}

    fragments = (
        {'type': 'preamble', 'version': 2, 'attributes': {'Qx7org': {'by': 'Qx7author'}}},
        {'type': 'trace-class', 'name': 'Qx7trace', 'uid': 'Qx7uid',
         'environment': {'hostname': 'Qx7host', 'domain': 'ust', 'trace_name': 'Qx7 session', 'number': 7},
         'packet-header-field-class': fields(member('magic', number(32, 'packet-magic-number')))},
        {'type': 'clock-class', 'id': 'mono', 'frequency': 1000000000, 'description': 'of Qx7machine',
         'uid': 'c0ffee00-1111-2222-3333-444455556666', 'attributes': {'a': ['Qx7deep', {'b': 'Qx7deeper'}]}},
        {'type': 'data-stream-class', 'id': 0, 'default-clock-class-id': 'mono',
         'packet-context-field-class': fields(
             member('begin', number(64, 'default-clock-timestamp')),
             member('end', number(64, 'packet-end-default-clock-timestamp')),
             member('content', number(64, 'packet-content-length')), member('size', number(64, 'packet-total-length'))),
         'event-record-header-field-class': fields(
             member('id', number(16, 'event-record-class-id')), member('t', number(64, 'default-clock-timestamp'))),
         'event-record-common-context-field-class': fields(member('procname', {
             'type': 'static-length-string', 'length': 16}))},
        {'type': 'event-record-class', 'id': 0, 'data-stream-class-id': 0, 'name': 'app:all',
         'payload-field-class': fields(
             member('wide', {'type': 'null-terminated-string', 'encoding': 'utf-16le'}),
             member('fixed', {'type': 'static-length-string', 'length': 24, 'encoding': 'utf-32be'}),
             member('n', number(8)),
             member('text', {'type': 'dynamic-length-string', 'length-field-location': {'path': ['n']}}),
             member('blob', {'type': 'static-length-blob', 'length': 6}),
             member('many', {'type': 'dynamic-length-array', 'length-field-location': {'path': ['n']},
                             'element-field-class': {'type': 'null-terminated-string'}}),
             member('signed', {'type': 'variable-length-signed-integer'}))})
    with open(os.path.join(folder, 'metadata'), 'w', encoding='utf-8') as file:
        file.writelines('\x1e' + json.dumps(one) + '\n' for one in fragments)
    out = bytearray(struct.pack('<I', 0xC1FC1FC1) + bytes(32))
    for number_ in range(20):
        word = 'Qx7%c' % (97 + number_ % 3)
        out += struct.pack('<HQ', 0, 100 + number_) + (word.encode() + b'\0').ljust(16, b'Q')
        out += (word + '\U0001f600 wide\0').encode('utf-16le') + 'Qx7fix'.encode('utf-32be')
        out += b'\4Qx7t' + b'Qx7blo' + b'Qx7one\0\0Qx7two\0Qx7\0' + b'\x7f'
    out[4:36] = struct.pack('<4Q', 100, 300, len(out) * 8, 4096 * 8)
    with open(os.path.join(folder, 'chan_0'), 'wb') as file:
        file.write(bytes(out).ljust(4096, b'Q').replace(b'QQQ', MARK.encode()))


def cut_trace(folder):
    tsdl_trace(folder, False)


def check_made(packs):
    # babeltrace2 of Debian 12 reads CTF 1.8, and opens nothing that does not end well.
    for make, has_events in ((tsdl_trace, True), (cut_trace, False), (ctf2_trace, False)):
        source = os.path.join(packs.folder, make.__name__ + '-Qx7dir', 'Qx7sub')
        make(source)
        session = os.path.dirname(source)
        assert len(packs.report(session)) == 1
        assert packs.report(session)[0]['count']['events'] == 20
        path = packs.make(session, '--anonymous')
        data = plain(path)
        for coded in (MARK, MARK.lower(), 'Qx', 'x7'):
            for encoding in ('utf-8', 'utf-16le', 'utf-32be'):
                assert coded.encode(encoding) not in data or coded in ('Qx', 'x7'), (make.__name__, coded, encoding)
        for bytes_ in (bytes([10, 77, 88, 99]), bytes.fromhex('20010db851783751'), b'c0ffee00', b'Qx'):
            assert bytes_ not in data, (make.__name__, bytes_)
        packs.check_figures(session, path, False)
        folder = unpacked(path, path + '.d')
        if has_events:
            assert [shape_of(one) for one in events_of(source)] == [shape_of(one) for one in events_of(folder)]
            assert len(words_of(events_of(folder))) == len(words_of(events_of(source)))
            with open(next(os.path.join(at, 'metadata') for at, _, files in os.walk(folder) if 'metadata' in files),
                      encoding='utf-8') as file:
                assert re.search(r'kernel_release = "6\.1\.0-[A-Z2-7]{7}-rt3"', file.read())
    # A value ends where its literal does, whatever is escaped in it.
    source = os.path.join(packs.folder, 'escaped')
    tsdl_trace(source)
    with open(os.path.join(source, 'metadata'), encoding='utf-8') as file:
        text = file.read()
    with open(os.path.join(source, 'metadata'), 'w', encoding='utf-8') as file:
        file.write(text.replace('6.1.0-Qx7firm-rt3', r'6\"; 7 = \\8\n9\0011\1772\\'))
    folder = unpacked(packs.make(source, '--anonymous'), source + '.d')
    with open(next(os.path.join(at, 'metadata') for at, _, files in os.walk(folder) if 'metadata' in files),
              encoding='utf-8') as file:
        assert 'kernel_release = "6_; 7 = _8_9_1_2_"' in file.read()
    print('ok traces made here')


def check_key(packs, data):
    """The same key gives the same names, another one others; it is made once."""
    source, key = os.path.join(data, 'ust'), os.path.join(packs.folder, 'key')
    first, again = (packs.make(source, '--anonymous', '--key', key) for _ in range(2))
    assert os.stat(key).st_mode & 0o777 == 0o600 and re.fullmatch(rb'[0-9a-f]{32}\n', open(key, 'rb').read())
    assert members_of(first) == members_of(again) != members_of(packs.make(source, '--anonymous'))
    with open(key, 'w', encoding='utf-8') as file:
        file.write('no key\n')
    assert 'no key' in packs.run('pack', source, '--anonymous', '--key', key, '-o', packs.new(), status=1)[1]
    assert packs.run('pack', source, '--key', key, '-o', packs.new(), status=2)[1]
    os.unlink(key)  # a part of a key is none: a file of 16 bytes at most
    said = packs.run('prlimit', '--fsize=16', packs.sillage, 'pack', source, '--anonymous', '--key', key, '-o', packs.new(),
                     status=1, program=True)[1]
    assert 'Input/output error' in said and not os.path.exists(key), said
    print('ok keys')


def check_parts(packs, data):
    """A range has the packets that overlap it; a capture keeps what it says of itself; an index is made again; a pack can
    be packed, replayed to nowhere, exported, compared."""
    source = os.path.join(data, 'small-packets')
    whole = packs.report(source)[0]
    middle = (whole['begin'] + whole['end']) // 2
    path = packs.make(source, '--begin', '%d' % middle)
    part = packs.report(path)[0]
    assert whole['begin'] < part['begin'] <= middle and part['end'] == whole['end'], (whole['begin'], part['begin'])
    assert 0 < part['count']['events'] < whole['count']['events']
    again = packs.report(packs.make(path))[0]
    assert again['count'] == part['count']
    assert 'no packet' in packs.run('pack', source, '--begin', '%d' % (whole['end'] + 10 ** 12), '-o', packs.new(),
                                    status=1)[1]
    capture = os.path.join(packs.folder, 'capture')
    os.mkdir(capture)
    os.symlink(os.path.abspath(os.path.join(data, 'timer-jobs-timerfd', 'kernel')), os.path.join(capture, 'kernel'))
    with open(os.path.join(capture, 'capture.json'), 'w', encoding='utf-8') as file:
        json.dump({'sillage': '0', 'json': 2, 'host': 'h', 'session': 's', 'asked': '--job ...',
                   'triggers': [{'name': 'late'}],
                   'measured': [{'option': 'job', 'value': 'ctl = timerfd; every 4ms'}]}, file)
    path = packs.make(capture)
    said = packs.run('analyze', path)[1]
    assert 'measured as its run did' in said and 'ctl' in said, said
    folder = unpacked(path, path + '.d')
    with open(os.path.join(folder, os.listdir(folder)[0], 'capture.json'), encoding='utf-8') as file:
        description = json.load(file)
    assert description['triggers'] == [{'name': 'late'}] and description['measured'], description
    for words in (('report', path), ('overview', path), ('export', path, '-o', os.path.join(packs.folder, 'out')),
                  ('compare', path, path), ('report', '--job', 'timerfd', path)):
        packs.run(*words)
    assert 'read as a whole' in packs.run('index', path, status=1)[1]
    copy = os.path.join(packs.folder, 'indexed')
    subprocess.run(['cp', '-r', os.path.join(data, 'burst'), copy], check=True)
    packs.run('index', '-q', '--beside', '--every', '64k', copy)
    path = packs.make(copy)
    assert b'.sillage-index' in plain(path)
    packs.check_figures(copy, path, True)
    assert packs.run('pack', source, status=2)[1]
    print('ok parts')


# ---- archives of others ----

def archive_of(path, *entries):
    """Entries: a name, and bytes, or what sets a member."""
    with tarfile.open(path, 'w') as archive:
        for name, what in entries:
            member = tarfile.TarInfo(name)
            if callable(what):
                what(member)
                archive.addfile(member)
            else:
                member.size = len(what)
                archive.addfile(member, io.BytesIO(what))


def setting(**what):
    def set_all(member):
        for key, value in what.items():
            setattr(member, key, value)
    return set_all


def check_hostile(packs, data):
    outside = os.path.join(packs.folder, 'outside')
    metadata = open(os.path.join(data, 'ust', 'metadata'), 'rb').read()
    trace = [('a/metadata', metadata)] + [('a/' + name, open(os.path.join(data, 'ust', name), 'rb').read())
                                          for name in ('c_0', 'c_1')]
    path = os.path.join(packs.folder, 'hostile.tar')
    archive_of(path, *trace)
    assert packs.report(path)[0]['count'] == packs.report(os.path.join(data, 'ust'))[0]['count']
    for entry, wanted in (
            (('../outside', b'x'), 'leads elsewhere'), (('a/../../outside', b'x'), 'leads elsewhere'),
            ((outside, b'x'), 'leads elsewhere'), (('/'.join('a' * 99), b'x'), 'leads elsewhere'),
            (('a/' + 'n' * 300, b'x'), 'leads elsewhere'),
            (('l', setting(type=tarfile.SYMTYPE, linkname=outside)), 'a link'),
            (('l', setting(type=tarfile.LNKTYPE, linkname='a/metadata')), 'a link'),
            (('l', setting(type=tarfile.CHRTYPE, devmajor=1, devminor=3)), 'a device'),
            (('l', setting(type=tarfile.FIFOTYPE)), 'a pipe'),
            (('a/metadata', b'x'), 'twice'), (('a/metadata/x', b'x'), 'cannot be unpacked'),
            (('big', setting(size=1 << 40)), '64 GiB'), (('cut', setting(size=1 << 20)), 'no archive')):
        archive_of(path, *trace, entry)
        said = packs.run('analyze', path, status=1)[1]
        assert wanted in said and len(said.splitlines()) == 1, (entry[0], wanted, said)
        assert not os.path.exists(outside)
    archive_of(path, ('a/b', b'x'))
    assert 'no trace is in this archive' in packs.run('analyze', path, status=1)[1]
    with open(path, 'wb') as file:
        file.write(subprocess.run(['zstd', '-c'], input=b'no archive', capture_output=True, check=True).stdout)
    assert 'no archive' in packs.run('analyze', path, status=1)[1]
    archive_of(path, *trace)
    for times in (1, 2, 40):  # one filter, and not what the library finds
        subprocess.run(['zstd', '-q', '-f', '--rm', path, '-o', path + '.zst'], check=True)
        os.rename(path + '.zst', path)
        packs.run('analyze', '-q', path, status=0 if times == 1 else 1)
    print('ok hostile archives')


def check_long(packs, data):
    """A frame that says nothing may be as long as the file, which has a hole; a signal is heard meanwhile."""
    path = os.path.join(packs.folder, 'long.tar.zst')
    with open(path, 'wb') as file:
        file.write(subprocess.run(['zstd', '-c'], input=b'', capture_output=True, check=True).stdout)
        for _ in range(256):  # 1 TiB
            file.write(struct.pack('<II', 0x184D2A50, 0xFFFFFFF0))
            file.seek(0xFFFFFFF0, os.SEEK_CUR)
        file.truncate()
    for words in (('analyze', path), ('events', path), ('pack', path, '-o', packs.new())):
        running = subprocess.Popen([packs.sillage, *words], env=packs.env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while running.poll() is None and not any('pack-' in folder for folder, _, _ in os.walk(packs.place)):
            time.sleep(0.001)
        running.send_signal(signal.SIGINT)
        status = running.wait(timeout=60)
        assert status in (128 + signal.SIGINT, -signal.SIGINT), (words, status)  # it may have no handler yet
        until = time.monotonic() + 60
        while os.listdir(packs.place) and time.monotonic() < until:
            time.sleep(0.01)
        assert os.listdir(packs.place) == [], words
    os.unlink(path)
    print('ok a signal while an archive is unpacked')


def check_mutated(packs, data, count):
    rng = random.Random(42)
    good = open(packs.make(os.path.join(data, 'ust')), 'rb').read()
    tar = subprocess.run(['zstd', '-dc'], input=good, capture_output=True, check=True).stdout
    path = os.path.join(packs.folder, 'mutated.tar')
    for number in range(count):
        data_ = bytearray(good if number % 3 == 0 else tar)
        if number % 4 == 0:
            del data_[rng.randrange(len(data_)):]
        else:
            for _ in range(rng.choice((1, 4, 16))):
                place = rng.randrange(len(data_)) if number % 3 == 0 else 512 * rng.randrange(8) + rng.randrange(512)
                data_[place % len(data_)] = rng.randrange(256)
        with open(path, 'wb') as file:
            file.write(data_)
        done = subprocess.run([packs.sillage, 'analyze', '-q', path], capture_output=True, env=packs.env, timeout=120,
                              check=False)
        assert done.returncode in (0, 1) and b'ERROR' not in done.stderr, (number, done)
        assert os.listdir(packs.place) == [], number
    print('ok %d mutated archives' % count)


def check_interrupted(packs, data):
    """A signal, and a kill, at any time leave no file and no directory; or all of the file, if it was late."""
    source = os.path.join(data, 'containers')
    for number, kind in enumerate((signal.SIGINT, signal.SIGTERM, signal.SIGKILL) * 2):
        path = packs.new()
        running = subprocess.Popen([packs.sillage, 'pack', '-q', '--anonymous', source, '-o', path], env=packs.env,
                                   stderr=subprocess.DEVNULL)
        # One that is killed before its guardian has begun may leave an empty directory.
        wanted = 3 if kind == signal.SIGKILL else 2 + number // 3
        while running.poll() is None and len(list(os.walk(packs.place))) < wanted:
            time.sleep(0.001)
        running.send_signal(kind)
        status = running.wait()
        assert status in (0, -kind, 128 + kind), status
        assert os.path.exists(path) == (status == 0), status
        until = time.monotonic() + 60
        while os.listdir(packs.place) and time.monotonic() < until:  # the guardian of a process that was killed
            time.sleep(0.01)
        assert os.listdir(packs.place) == [], (kind, os.listdir(packs.place))
        assert not os.path.exists(path) or len(packs.report(path)) == 1
    print('ok interrupted')


def main():
    sillage, data, names = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        packs = Packs(sillage, folder)
        check_data(packs, data, names.split(','))
        check_made(packs)
        check_key(packs, data)
        check_parts(packs, data)
        check_hostile(packs, data)
        check_long(packs, data)
        check_mutated(packs, data, 40)
        check_interrupted(packs, data)


main()
