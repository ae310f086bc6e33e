"""synthetic_legal: cases of synthetic_cases.py on metadata that says little, or wrong things.

What CTF leaves out has one reading; a guess is said once; what cannot be read counts as lost.
"""
import json
import os
import struct

from synthetic import HEAD_BYTES, HEADER, Made, complains, event, lines_of, metadata, packet, run, same, switch, total_of

SWITCHES = [packet(0, 0, 1000, 2000, [switch(1000, 0, 7), switch(1500, 7, 0), switch(2000, 0, 7)])]
NO_MAP = metadata(0).replace(' map = clock.mono.value;', '')
NO_CLOCK = ''.join(line for line in NO_MAP.splitlines(True) if not line.startswith('clock {'))
STREAM = HEADER[HEADER.index('stream {'):]
BARE = metadata(0).replace(STREAM, '').replace('stream_id = 0; ', '')


def read(trace, *args):
    """Its total, and what is said; once in all, whatever the chunks and the run."""
    said = None
    for more in (('--chunk-size', '1'), ('--chunk-size', '1M', '-a', 'all')):
        status, out, err = run('analyze', '-f', 'json', '-a', 'cpu,count,lost', *more, *args, trace.path)
        said = said or (status, err)
        same((status, err), said)
        warnings = [json.loads(line)['message'] for line in out.splitlines() if '"warning"' in line]
        same(len(warnings), len(err.splitlines()))
    return [json.loads(line) for line in out.splitlines() if '"total"' in line][0], said[1]


def test_stamps_by_name(scratch):
    """Time stamps that are mapped to no clock are those of the only one, or ns."""
    for name, text, says, begin in (
            ('unmapped', NO_MAP.replace('offset = 0', 'offset = 5000'), 'those of "mono", the only one', 6000),
            ('clockless', NO_CLOCK, 'the metadata declares no clock', 1000)):
        total, said = read(Made(scratch, name, SWITCHES, text))
        same((total['begin'], total['end'], total['cpu']['busy_ns']), (begin, begin + 1000, 500))
        assert len(said.splitlines()) == 1 and says in said, said
    two = NO_MAP.replace('clock {', 'clock { name = first; freq = 500000000; };\nclock {', 1)
    total, said = read(Made(scratch, 'two', SWITCHES, two))
    assert '"first", the first one' in said, said
    same((total['begin'], total['cpu']['busy_ns']), (2000, 1000))
    status, out, err = run('report', Made(scratch, 'report', SWITCHES, NO_CLOCK).path)
    same((status, err.count('no clock'), '500 ns' in out), (0, 1, True))


def test_no_stream_block(scratch):
    """Events without a stream block have neither header nor context, and all belong to one stream."""
    text = BARE[:BARE.index('event {')].replace('uint32_t stream_id; ', '')
    text += 'event { name = only; fields := struct { uint32_t n; }; };\n'
    body = struct.pack('<I', 0xC1FC1FC1) + bytes(range(1, 17)) + struct.pack('<III', 1, 2, 3)
    total, said = read(Made(scratch, 'implicit', [body], text))
    same((total['count']['by_name'], said), ({'only': 3}, ''))


def test_declared_late(scratch):
    """Streams behind the events, in a file larger than any buffer."""
    text = metadata(0).replace(STREAM, '') + '/*%s*/\n' % (' ' * 200000) + STREAM
    total, said = read(Made(scratch, 'late', SWITCHES, text))
    same((total['count']['events'], said), (3, ''))


def test_one_stream_class(scratch):
    """Packets that name no stream class are of the only one, whatever its id."""
    text = metadata(0).replace('uint32_t stream_id; ', '').replace('id = 0;\n', 'id = 9;\n')
    one = SWITCHES[0][:20] + SWITCHES[0][24:]
    bits = len(one) * 8
    one = one[:36] + struct.pack('<QQ', bits, bits) + one[52:]
    for name, more in (('named', text.replace('stream_id = 0', 'stream_id = 9')),
                       ('unnamed', text.replace('stream_id = 0; ', ''))):
        total, said = read(Made(scratch, name, [one], more))
        same((total['count']['events'], said), (3, ''))


def test_same_names(scratch):
    """An id of two classes, and a field's name given twice: the first counts, and it is said."""
    text = metadata(0) + 'event { name = "again"; id = 0; stream_id = 0; };\n'
    total, said = read(Made(scratch, 'ids', SWITCHES, text))
    same(total['count']['by_name'], {'sched_switch': 3})
    assert '"sched_switch" and "again" have the same id, 0' in said and len(said.splitlines()) == 1, said
    # Of several traces it is said of the one that has it.
    paths = [Made(scratch, 'plain', SWITCHES).path, os.path.join(scratch, 'ids')]
    warned = [line for line in map(json.loads, run('analyze', '-f', 'json', *paths)[1].splitlines()) if line['type'] == 'warning']
    same([line['trace'] for line in warned], [{'path': paths[1]}])
    text = metadata(0).replace('_uaddr; ', '_op; ', 1)
    total, said = read(Made(scratch, 'fields', [packet(0, 0, 1, 9, [event(5, 'syscall_entry_futex', 3, 4)])], text))
    same(total['count']['events'], 1)
    assert 'a struct has two fields "op"; the first' in said and len(said.splitlines()) == 1, said


def packetized(text):
    raw = text.encode()
    parts = [raw[i:i + 1000] for i in range(0, len(raw), 1000)]
    return b''.join(struct.pack('<I16sIIIBBBBB', 0x75D11D57, bytes(16), 0, (37 + len(part)) * 8, 8 * 1100, 0, 0, 0, 1,
                                8) + part + bytes(1063 - len(part)) for part in parts)


def test_cut_metadata(scratch):
    """A file that is cut in its last packet or declaration is read up to there."""
    raw = packetized(metadata(0))
    for name, cut, whole in (('padding', raw[:-20], True), ('text', raw[:-1000], True), ('none', raw[:300], False),
                             ('header', raw[:-1090], True), ('plain', metadata(0)[:-20].encode(), True)):
        trace = Made(scratch, name, SWITCHES)
        with open(os.path.join(trace.path, 'metadata'), 'wb') as file:
            file.write(cut)
        if not whole:
            complains(1, 'ends inside packet 0', 'analyze', trace.path)
            continue
        total, said = read(trace)
        same(total['count']['events'], 3)
        assert 'metadata ends inside' in said and len(said.splitlines()) == 1, said


def test_other_uuid(scratch):
    """All packets of another UUID are read, which is said; some of them are lost."""
    other = packet(1, 0, 1000, 2000, [switch(1200, 0, 8)])
    other = other[:4] + bytes(16) + other[20:]
    mine = SWITCHES[0][:4] + bytes(16) + SWITCHES[0][20:]
    again = packet(0, 1, 2000, 3000, [switch(2500, 7, 0)])
    again = again[:4] + bytes(range(16)) + again[20:]  # no two need the same
    total, said = read(Made(scratch, 'all', [mine + again, other]))
    same((total['count']['events'], total['lost']['packets']), (5, 0))
    assert len(said.splitlines()) == 1 and 'another UUID than its metadata' in said, said
    total, said = read(Made(scratch, 'some', [SWITCHES[0], other]))
    same((total['count']['events'], total['lost']['packets']), (3, 1))


def test_unread_streams(scratch):
    """A stream of which nothing can be read is a lost packet, in partials too; --strict fails."""
    good, bad = SWITCHES[0], packet(1, 0, 1000, 2000, [switch(1200, 0, 8)])
    cases = {'magic': bytes(4) + bad[4:], 'cut': bad[:30], 'class': bad[:20] + struct.pack('<I', 5) + bad[24:],
             'sizes': bad[:40] + struct.pack('<QQ', 9 << 40, 1 << 20) + bad[56:],
             'event': bad[:HEAD_BYTES] + struct.pack('<H', 9999) + bad[HEAD_BYTES + 2:]}
    for name, streams in [(name, [good, data]) for name, data in cases.items()] + [
            (name + '-alone', [data]) for name, data in cases.items()]:
        trace = Made(scratch, name, streams)
        lines = lines_of(trace, '-a', 'lost,count', '-i', '1s')
        lost = [line for line in lines if line['type'] == 'total'][0]
        same((name, lost['lost']['packets'] + lost['lost']['bad_packets']), (name, 1))
        same([line['complete'] for line in lines if line['type'] == 'window'], [False] * (len(streams) - 1))
        same(run('analyze', '-q', '--strict', '-a', 'lost', trace.path)[0], 4)
        partials = os.path.join(scratch, name + '.partials')
        same(run('map', '-q', '-a', 'lost,count', '-o', partials, trace.path)[0], 0)
        merged = [json.loads(line) for line in run('merge', '-q', '-f', 'json', partials)[1].splitlines()]
        merged = [line for line in merged if line['type'] == 'total']
        for line in merged + [lost]:  # partials of nothing do not say which events there are
            line['lost'].pop('missing', None)
        same(merged, [lost])


def test_no_cpu(scratch):
    """A stream that names no CPU: none is invented, in lists and in keys."""
    text = metadata(0).replace('cpu_id', 'number')
    calls = [event(10, 'syscall_entry_read'), event(30, 'syscall_exit_read', 1)]
    trace = Made(scratch, 'cpu', [packet(0, 0, 0, 50, calls + [struct.pack('<HQ', 9999, 40)])], text)
    status, out, _ = run('analyze', '-q', '-a', 'lost,periods', '--period',
                         'p = syscall_entry_read; syscall_exit_read; by $cpu', trace.path)
    same(status, 0)
    rows = out[out.index('CPU CHANNEL'):].splitlines()
    assert rows[1].split()[:2] == ['-', '0'], rows[1]
    assert '$cpu=-' in out and '18446744073709551615' not in out, out
    total = total_of(trace, '-a', 'lost')
    same([sorted(row)[:2] for row in total['lost']['streams']], [['anomalies', 'bad_packets']])
    assert 'cpu' not in total['lost']['streams'][0]
