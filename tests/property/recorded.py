#!/usr/bin/env python3
"""recorded: traces laid out and damaged as users have them.

Goal    A trace gives the same result however its packets lie in files; a packet that cannot be
        read costs that packet only.
Method  A recorded trace is taken apart by its packet index and put together anew.

usage: recorded.py SILLAGE TRACE       TRACE: kernel, with an index, many packets
"""
import json
import os
import shutil
import struct
import subprocess
import sys
import tempfile

HEADER, ENTRY = 16, 72


def analyze(sillage, *paths):
    r = subprocess.run([sillage, 'analyze', '-f', 'json', *paths], capture_output=True, text=True, check=False)
    lines = [json.loads(line) for line in r.stdout.splitlines()]
    totals = [line for line in lines if line['type'] == 'total']
    for total in totals:
        total.pop('trace')
    return totals, r.stderr


def packets(trace, name):
    """(offset, bytes) of each packet of a stream file, from its index."""
    with open(os.path.join(trace, 'index', name + '.idx'), 'rb') as f:
        raw = f.read()
    entries = [struct.unpack('>QQ', raw[at:at + 16]) for at in range(HEADER, len(raw), ENTRY)]
    return [(offset, bits // 8) for offset, bits in entries]


def streams(trace):
    return sorted(n for n in os.listdir(trace) if n not in ('metadata', 'index'))


def read(trace, name):
    with open(os.path.join(trace, name), 'rb') as f:
        return f.read()


def write(trace, name, raw):
    os.makedirs(trace, exist_ok=True)
    with open(os.path.join(trace, name), 'wb') as f:
        f.write(raw)


def copy(trace, to):
    shutil.copytree(trace, to)
    subprocess.run(['chmod', '-R', 'u+w', to], check=True)
    return to


def expect(what, got, wanted):
    if got != wanted:
        sys.exit('%s: %s\nnot %s' % (what, str(got)[:2000], str(wanted)[:2000]))


def part(trace, name, first, last):
    raw = read(trace, name)
    return b''.join(raw[offset:offset + size] for offset, size in packets(trace, name)[first:last])


def rotated(sillage, trace, tmp, whole):
    """Three chunks: two in archives, the last where the session writes."""
    root = os.path.join(tmp, 'session')
    places = ['archives/20260101T000000+0000-20260101T000001+0000-0/kernel',
              'archives/20260101T000001+0000-20260101T000002+0000-1/kernel', 'kernel']
    for name in streams(trace):
        count = len(packets(trace, name))
        cuts = [0, count // 3, 2 * count // 3, count]
        for i, place in enumerate(places):
            write(os.path.join(root, place), name, part(trace, name, cuts[i], cuts[i + 1]))
            write(os.path.join(root, place), 'metadata', read(trace, 'metadata'))
    expect('rotated', analyze(sillage, root), whole)
    # From within, and one chunk by itself under a directory of that name: it keeps its name.
    r = subprocess.run([sillage, 'analyze', '-f', 'json', 'archives'], cwd=root, capture_output=True, text=True, check=True)
    expect('archives alone', r.stdout.count('"type":"total"'), 1)
    alone = os.path.join(root, places[0])
    r = subprocess.run([sillage, 'analyze', '-f', 'json', alone], capture_output=True, text=True, check=True)
    expect('its name', [json.loads(line)['trace']['path'] for line in r.stdout.splitlines() if '"total"' in line], [alone])
    # Another trace in the place of the last chunk is another trace.
    uuid = bytes(read(trace, 'metadata')[4:20])
    for name in streams(trace) + ['metadata']:
        path = os.path.join(root, 'kernel')
        raw = read(path, name)
        text = '-'.join([uuid.hex()[:8], uuid.hex()[8:12], uuid.hex()[12:16], uuid.hex()[16:20], uuid.hex()[20:]])
        write(path, name, raw.replace(uuid, bytes(16)).replace(
            text.encode(), b'00000000-0000-0000-0000-000000000000'))
    expect('two traces', len(analyze(sillage, root)[0]), 2)


def limited(sillage, trace, tmp, whole):
    """A stream in several files, as --tracefile-size makes them."""
    root = os.path.join(tmp, 'limited')
    write(root, 'metadata', read(trace, 'metadata'))
    for name in streams(trace):
        count = len(packets(trace, name))
        for i in range(0, count, 7):
            write(root, '%s_%d' % (name, i // 7), part(trace, name, i, i + 7))
    expect('limited', analyze(sillage, root), whole)


def damaged(sillage, trace, tmp, whole):
    """One packet's header is overwritten, or lies about its size."""
    name = streams(trace)[0]
    middle = len(packets(trace, name)) // 2
    offset, size = packets(trace, name)[middle]
    events = [t['count']['events'] for t in whole[0]][0]
    without = copy(trace, os.path.join(tmp, 'without'))
    raw = read(trace, name)
    write(without, name, raw[:offset] + raw[offset + size:])
    shutil.rmtree(os.path.join(without, 'index'))
    left = analyze(sillage, without)[0][0]['count']
    expect('a packet less', left['lost_packets'], 1)
    kinds = {'magic': (0, b'nonsense'), 'uuid': (4, bytes(16)),
             'size': (24 + 24, b'\xf8\xff\xff\xff\xff\xff\xff\x7f'),
             'too large': (24 + 24, struct.pack('<Q', (len(raw) - offset) * 8 + 8))}
    for kind, (at, bad) in kinds.items():
        for index in ('good', 'none', 'short', 'wrong'):
            broken = copy(trace, os.path.join(tmp, kind + index))
            write(broken, name, raw[:offset + at] + bad + raw[offset + at + len(bad):])
            path = os.path.join(broken, 'index')
            if index == 'none':
                shutil.rmtree(path)
            elif index == 'short':
                write(path, name + '.idx', b'\xc1\xf1\xdc\xc1')
            elif index == 'wrong':
                idx = read(path, name + '.idx')
                write(path, name + '.idx', idx[:HEADER + ENTRY] + struct.pack('>Q', 77) + idx[HEADER + ENTRY + 8:])
            totals, said = analyze(sillage, broken)
            count = totals[0]['count']
            expect('%s, index %s: events' % (kind, index), count['events'], left['events'])
            expect('%s, index %s: bad' % (kind, index), count['bad_packets'] + count['lost_packets'], 1)
            if 'at byte %d of the file' % offset not in said or name not in said:
                sys.exit('%s, index %s: said %s' % (kind, index, said))
    assert events > left['events']


def main():
    sillage, trace = (os.path.abspath(arg) for arg in sys.argv[1:])
    with tempfile.TemporaryDirectory() as tmp:
        whole = analyze(sillage, trace)
        rotated(sillage, trace, tmp, whole)
        limited(sillage, trace, tmp, whole)
        damaged(sillage, trace, tmp, whole)
    print('all as expected')


if __name__ == '__main__':
    main()
