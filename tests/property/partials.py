#!/usr/bin/env python3
"""partials: what `sillage map` writes, and `sillage merge` makes of it.

Goal    The same report by two processes as by one (laws.py and cuts.py have that for all traces);
        of several traces and files, with ranges and periods; and whatever is done to the bytes on
        the way: no crash, no report that looks whole, and a message that says where.
Method  Reports are compared byte by byte.  Then a file is cut everywhere near its frames' ends, has
        each of its frames left out, doubled and swapped, and bits turned at random.

usage: partials.py SILLAGE TRACE UST-TRACE
"""
import json
import os
import random
import re
import resource
import struct
import subprocess
import sys
import tempfile

import cuts

FAILED = []
HEADER = 20  # magic and version


def note(what, fine):
    if not fine:
        FAILED.append(what)
    print('%s %s' % ('ok' if fine else 'not ok', what))


def sillage(words, given=None):
    done = subprocess.run([SILLAGE] + words, input=given, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    return done.returncode, done.stdout, done.stderr.decode()


def frames(data):
    """Where each frame begins and ends."""
    at, found = HEADER, []
    while at < len(data):
        size = 9 + struct.unpack_from('<II', data, at)[1]
        found.append((at, at + size))
        at += size
    return found


def same(what, options, traces):
    partials = cuts.run([SILLAGE, 'map', '-q'] + options + traces)
    ours = cuts.in_order(cuts.run([SILLAGE, 'merge', '-q', '-f', 'json', '-'], partials))
    note(what, ours == cuts.in_order(cuts.run([SILLAGE, 'analyze', '-q', '-f', 'json'] + options + traces)))
    return partials


def refused(data, expected='', totals=0):
    """Whether a damaged file ends with an error that names it, and without a total of the trace."""
    code, out, said = sillage(['merge', '-f', 'json', '-'], data)
    return code == 1 and 'standard input: ' in said and expected in said and out.count(b'"type":"total"') <= totals


def whole(trace, ust, folder):
    both = same('several traces in one file', ['-a', 'all', '-i', '100ms'], [trace, ust])
    same('a range', ['--begin', '01:38:16.9', '--end', '01:38:17.1', '-i', '50ms'], [trace])
    for words in (['--begin', '1', '--end', '2'], ['--begin', '2100-01-01T00:00:00']):
        code, out, said = sillage(['map', *words, trace])
        note('map says that nothing is in a range', code == 1 and 'nothing of it is in this range' in said)
        code, out, said = sillage(['merge', '-f', 'json', '-'], out)
        note('merge says so, too', code == 1 and 'nothing of it is in this range' in said)
    same('periods', ['--period', 'r = syscall_entry_read; syscall_exit_read; group fd', '--ust-span', 'sched_waking,sched_switch'], [trace])
    one = os.path.join(folder, 'one')
    note('a file, by its name', sillage(['map', '-o', one, trace])[0] == 0)
    code, out, said = sillage(['merge', one, one])
    note('text, of two files', code == 0 and said == '' and out.count(b'READ') >= 2)
    other = os.path.join(folder, 'other')
    sillage(['map', '-a', 'count', '-o', other, trace])
    code, out, said = sillage(['merge', one, other])
    note('files that do not belong together are refused', code == 1 and 'has other analyses' in said and out == b'')
    code, out, said = sillage(['map', '-o', os.path.join(folder, 'no', 'file'), trace])
    note('a file that cannot be written', code == 1 and 'cannot write' in said)
    code, out, said = sillage(['map', '-o', '/dev/full', trace])
    note('a full disk', code == 1 and 'No space left' in said)
    code, out, said = sillage(['merge', '--max-memory', '1K', '-j', '0', '-q', '-f', 'json', '-'], both)
    note('little memory for what fits in anyhow', code == 0 or 'times --max-memory' in said)
    return both


def raw(frame):
    """A frame as it would be stored without packing it, or a checksum: anybody can write that."""
    stored = (struct.pack('<IBI', 0xFD2FB528, 0xA0, len(frame)) + struct.pack('<I', len(frame) << 3 | 1)[:3] + frame)
    return struct.pack('<IIB', len(frame), len(stored), frame[0]) + stored


def wrong_state(data, trace):
    """The same file, with a state of the trace that no merger can have had."""
    with open(os.path.join(trace, 'metadata'), 'rb') as file:
        uuid = re.search(rb'uuid = "([-0-9a-f]+)"', file.read()).group(1).replace(b'-', b'')
    kept = frames(data)[:2] + frames(data)[-1:]
    pieces = [data[a:b] for a, b in kept]
    return data[:HEADER] + b''.join(pieces[:2]) + raw(b'\x0a' + bytes.fromhex(uuid.decode()) + b'\xff' * 1000) + pieces[2]


def failing(trace, folder):
    """A piece of the trace that cannot be read."""
    path = os.path.join(folder, 'failing')
    os.mkdir(path)
    os.symlink(os.path.join(os.path.abspath(trace), 'metadata'), os.path.join(path, 'metadata'))
    os.symlink(os.path.join(folder, 'nothing'), os.path.join(path, 'channel0_0'))
    return path


def grown(trace, folder, has_numbers):
    """The first half of a trace with a packet (of 4096 bytes) that cannot be read, and all of it."""
    paths = [os.path.join(folder, '%s-%d' % (name, has_numbers)) for name in ('half', 'all')]
    for path in paths:
        os.mkdir(path)
        for name in ('metadata', 'channel0_0'):
            with open(os.path.join(trace, name), 'rb') as file:
                data = bytearray(file.read())
            if name == 'metadata':
                data = data if has_numbers else data.replace(b'packet_seq_num', b'packet_unknown')
            else:
                data[5 * 4096] ^= 0xff
                data = data[:len(data) // 2 // 4096 * 4096] if path == paths[0] else data
            with open(os.path.join(path, name), 'wb') as file:
                file.write(data)
    return paths


def lost_of(state):
    """Packets that are lost, and events that are not."""
    code, out, said = sillage(['merge', '-q', '-f', 'json', state])
    return [(json.loads(line)['lost']['packets'], json.loads(line)['lost']['seen'])
            for line in out.splitlines() if b'"type":"total"' in line]


def bad_packets(trace, folder, has_numbers):
    state = os.path.join(folder, 'bad-%d' % has_numbers)
    half, everything = grown(trace, folder, has_numbers)
    known = []
    for path in (half, half, everything, everything):
        sillage(['analyze', '-q', '-a', 'lost', '--state', state, path])
        known += lost_of(state)
    events = int(re.search(rb'"events":(\d+)', sillage(['analyze', '-q', '-f', 'json', everything])[1].splitlines()[-1]).group(1))
    note('all is counted once, packets %s: %s' % ('with a number' if has_numbers else 'without', known),
         known[0] == known[1] and known[2] == known[3] == (1, events))


def states(trace, ust, folder):
    """What --state does beside going on (laws.py, and a relay in peer.py, have that)."""
    state = os.path.join(folder, 'state')
    asked = ['analyze', '-q', '-f', 'json', '-a', 'all', '-i', '100ms']
    whole = cuts.in_order(sillage(asked + [trace, ust])[1])
    ours = [cuts.in_order(sillage(asked + ['--state', state, trace, ust])[1]) for _ in range(3)]
    rest = cuts.in_order(sillage(['merge', '-q', '-f', 'json', state])[1])
    windows = [line for lines in ours + [rest] for line in lines if b'"type":"window"' in line or
               b'"type":"total"' in line and b'"so_far":true' not in line]
    note('the same again is not counted again', sorted(windows) == sorted(
        line for line in whole if b'"type":"window"' in line or b'"type":"total"' in line))
    code, out, said = sillage(asked + ['--state', state, failing(trace, folder)])
    note('what fails leaves the state as it was', code == 1 and rest == cuts.in_order(
        sillage(['merge', '-q', '-f', 'json', state])[1]))
    few = os.path.join(folder, 'few')
    note('fewer analyses than by default', [sillage(['analyze', '-q', '-a', 'cpu', '--state', few, trace])[0] for _ in range(2)] == [0, 0])
    early = [json.loads(line) for interval in ('1ms', '1h') for line in cuts.in_order(sillage(
        ['analyze', '-q', '-f', 'json', '-i', interval, '--state', os.path.join(folder, 'early' + interval), trace])[1])]
    early = [line for line in early if line.get('so_far')]
    note('a total so far ends after it begins, and without a window there is none',
         len(early) == 1 and early[0]['begin'] < early[0]['end'])
    code, out, said = sillage(['analyze', '-a', 'cpu', '--state', state, trace])
    note('a state of other analyses is refused', code == 2 and 'other analyses' in said)
    code, out, said = sillage(['analyze', '--state', state, '--begin', '01:00', trace])
    note('a range and a state are refused', code == 2 and '--begin' in said)
    code, out, said = sillage(['analyze', '--state', os.path.join(folder, 'no', 'state'), trace])
    note('a state that cannot be written', code == 1 and 'No such file' in said)
    with open(state, 'rb') as file:
        data = file.read()
    with open(state, 'wb') as file:
        file.write(wrong_state(data, trace))
    code, out, said = sillage(asked + ['--state', state, trace])
    note('a state that cannot be is refused', code == 1 and 'cannot be' in said and b'"window"' not in out)
    note('... by merge, too', sillage(['merge', state])[0] == 1)
    with open(state, 'wb') as file:
        file.write(data[:len(data) // 2])
    with open(state + '.1', 'wb') as file:
        file.write(data)
    code, out, said = sillage(asked + ['--state', state, trace])
    note('instead of a damaged state the one before is used', code == 0)
    with open(state, 'wb') as file:
        file.write(data[:len(data) // 2])
    os.remove(state + '.1')
    code, out, said = sillage(asked + ['--state', state, trace])
    note('a damaged state is refused, and stays', code == 2 and state in said and os.path.getsize(state) == len(data) // 2)


def cut(data):
    places = sorted({place + by for pair in frames(data) for place in pair for by in (-1, 0, 1, 9)} | set(range(30)))
    # FRAME_FINISH ends a trace, which then has its total.
    ends = [end for at, end in frames(data) if data[at + 8] == 8]
    wrong = [at for at in places if at < len(data) and not refused(data[:at], '', sum(end <= at for end in ends))]
    note('a file that is cut (%d places)' % len(places), not wrong)


def shuffled(data):
    pieces = [data[a:b] for a, b in frames(data)]
    head, wrong, tried = data[:HEADER], [], 0
    for i in range(1, len(pieces)):
        for changed in (pieces[:i] + pieces[i + 1:], pieces[:i] + [pieces[i]] + pieces[i:]):
            code, out, said = sillage(['merge', '-q', '-f', 'json', '-'], head + b''.join(changed))
            tried += 1
            if code not in (0, 1) or (code == 1 and 'at byte' not in said):
                wrong.append((i, code, said))
    note('frames that are left out or come twice (%d)' % tried, not wrong)
    note('the first frame left out', refused(head + b''.join(pieces[1:])))


def turned(data, rng):
    wrong, last = [], frames(data)[-1][0]
    right = cuts.in_order(sillage(['merge', '-q', '-f', 'json', '-'], data)[1])
    for _ in range(300):
        at = rng.randrange(len(data))
        changed = bytearray(data)
        changed[at] ^= 1 << rng.randrange(8)
        # Behind the trace it has its total; and zstd has bits that mean nothing.
        if not refused(bytes(changed), totals=at >= last) and cuts.in_order(
                sillage(['merge', '-q', '-f', 'json', '-'], bytes(changed))[1]) != right:
            wrong.append(at)
    note('a bit that is turned (300 times)' + (': %s' % wrong if wrong else ''), not wrong)


def with_workers(data, rng):
    """Workers read frames ahead of those that are merged: the same is made of them, and said."""
    wrong = []
    for at in [None] + [rng.randrange(HEADER, len(data)) for _ in range(20)]:
        changed = bytearray(data)
        if at is not None:
            changed[at] ^= 1 << rng.randrange(8)
        one, many = ([code, cuts.in_order(out), said] for code, out, said in (
            sillage(['merge', '-q', '-f', 'json', '-j', workers, '-'], bytes(changed)) for workers in ('0', '3')))
        if one != many:
            wrong.append((at, one[2], many[2]))
    note('the same with workers' + (': %s' % wrong if wrong else ''), not wrong)


def main():
    trace, ust = sys.argv[2:4]
    seed = int(os.environ.get('PARTIALS_SEED', '1'))
    with tempfile.TemporaryDirectory() as folder:
        both = whole(trace, ust, folder)
        states(trace, ust, folder)
        bad_packets(trace, folder, True)
        bad_packets(trace, folder, False)
    small = cuts.run([SILLAGE, 'map', '-q', '-a', 'all', '--chunk-size', '64K', trace])
    cut(both)
    shuffled(small)
    turned(small, random.Random(seed))
    with_workers(small, random.Random(seed))
    note('no such file', refused(b'') and refused(b'x' * 1000, 'not a file that sillage map wrote'))
    note('another version', refused(small[:16] + b'\xff' + small[17:], 'version 255'))
    return 1 if FAILED else 0


if __name__ == '__main__':
    resource.setrlimit(resource.RLIMIT_CPU, (600, 600))  # of each run: a loop without end is seen, whatever the load
    SILLAGE = sys.argv[1]
    sys.exit(main())
