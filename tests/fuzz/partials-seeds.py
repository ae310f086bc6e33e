#!/usr/bin/env python3
"""partials-seeds: rebuilds tests/fuzz/corpus/partials, after the form of partials or the generator has changed.

Each seed holds the frames of a file of partials, or of a state, of a generated trace (generated.py).  The frames are
unpacked, each behind its length in two bytes, as the fuzz target takes them.

The seven seeds are the minimised set: each covers code that the others do not (libFuzzer's -merge=1 keeps all of
them).  Inputs that a fuzzer found for a former version of the form are deleted, because it is refused by number.  New
ones are added by `corpus.py minimise BUILD partials DIRECTORY`.

usage: partials-seeds.py [--check] SILLAGE UST-TRACE

--check: nothing is written; each seed is put into a file again, which `sillage merge` has to take.  Seeds of a former
form would be refused at once, and the target would see nothing behind that.
"""
import ctypes
import itertools
import os
import random
import struct
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, '..', name) for name in ('property', 'reference')]
import generated

CORPUS = os.path.join(HERE, 'corpus', 'partials')
# As the fuzz target has them.
LABEL = 'line = irq_handler_entry key=irq name=name'
PERIODS = ('outer = sched_waking; sched_wakeup; by $tid',
           'inner = irq_handler_entry; irq_handler_exit; by $tid; within outer',
           'cpu = irq_handler_entry; irq_handler_exit; by irq, $cpu; group line(irq)',
           'chain = sched_waking; sched_wakeup; by tid; then irq_handler_entry; group line(irq)')
JOB = 'job = sched_waking; irq_handler_entry; deadline 1ms; group line(irq)'
ASKED = ['-q', '-a', 'all', '-i', '1ms', '--label', LABEL] + [word for period in PERIODS for word in ('--period', period)] + [
    '--job', JOB]
HEADER, FRAME_HEAD, FINISH = 20, 9, 8
SEED_MAX = 60000  # bytes


def frames(data):
    zstd, at = ctypes.CDLL('libzstd.so.1'), HEADER
    while at < len(data):
        size, stored = struct.unpack_from('<II', data, at)
        at += FRAME_HEAD
        room = ctypes.create_string_buffer(size)
        assert zstd.ZSTD_decompress(room, size, data[at:at + stored], stored) == size
        yield room.raw
        at += stored


def put(name, data):
    """The frames of the first trace: behind what was asked for, and which it is.  False: too much."""
    seed = b''
    for frame in list(frames(data))[2:]:
        if len(seed) + len(frame) > SEED_MAX:
            return False
        seed += struct.pack('>H', len(frame)) + frame
        if frame[0] == FINISH:
            break
    with open(os.path.join(CORPUS, name), 'wb') as file:
        file.write(seed)
    return True


def put_partials(sillage, scratch, seed, number, chunk):
    trace = os.path.join(scratch, 'partials-%d' % seed)
    generated.make(random.Random(seed), trace, number % 2 == 1)
    return put('generated-%d' % number, subprocess.run([sillage, 'map', '--chunk-size', str(chunk)] + ASKED + [trace],
                                                       stdout=subprocess.PIPE, check=True).stdout)


def put_state(sillage, scratch, seed, pieces):
    """What is left of a rotated trace's first pieces."""
    trace, state = os.path.join(scratch, 'state-%d' % seed), os.path.join(scratch, 'state')
    rng = random.Random(seed)
    generated.make(rng, trace, pieces == 2)
    for folder in generated.rotated(rng, trace)[:pieces]:
        subprocess.run([sillage, 'analyze', '--state', state] + ASKED + [folder], stdout=subprocess.DEVNULL, check=True)
    with open(state, 'rb') as file:
        data = file.read()
    os.remove(state)
    return put('state-%d' % pieces, data)


def mapped(sillage, scratch, ust):
    """Partials of a trace of programs.  A kernel's is behind it: one of the traces has to have the events of the periods."""
    kernel = os.path.join(scratch, 'kernel')
    generated.make(random.Random(1), kernel, False)
    return subprocess.run([sillage, 'map'] + ASKED + [ust, kernel], stdout=subprocess.PIPE, check=True).stdout


def framed(raw):
    zstd = ctypes.CDLL('libzstd.so.1')
    room = ctypes.create_string_buffer(len(raw) + 1000)
    stored = zstd.ZSTD_compress(room, len(room), raw, len(raw), 1)
    return struct.pack('<IIB', len(raw), stored, raw[0]) + room.raw[:stored]


def check(sillage, ust):
    """Whether all seeds are of the form that the program reads."""
    with tempfile.TemporaryDirectory() as scratch:
        data = mapped(sillage, scratch, ust)
    around, failed = list(frames(data)), 0
    for name in sorted(os.listdir(CORPUS)):
        with open(os.path.join(CORPUS, name), 'rb') as file:
            seed = file.read()
        whole, at = data[:HEADER] + b''.join(map(framed, around[:2])), 0
        while at < len(seed) and name.startswith(('generated-', 'state-', 'ust')):
            size, = struct.unpack_from('>H', seed, at)
            whole, at = whole + framed(seed[at + 2:at + 2 + size]), at + 2 + size
        done = subprocess.run([sillage, 'merge', '-q', '-f', 'json', '-'], input=whole + framed(around[-1]),
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        if at > 0 and (done.returncode != 0 or b'"total"' not in done.stdout):
            print('not ok %s: %s' % (name, done.stderr.decode().strip()))
            failed += 1
    print('%s partials-seeds' % ('not ok' if failed else 'ok'))
    return 1 if failed else 0


def main():
    if sys.argv[1] == '--check':
        sys.exit(check(*sys.argv[2:4]))
    sillage, ust = sys.argv[1:3]
    for name in os.listdir(CORPUS):
        os.remove(os.path.join(CORPUS, name))
    with tempfile.TemporaryDirectory() as scratch:
        seeds = itertools.count(100)  # one after the other, until one is small enough
        for i, chunk in enumerate((300, 4000, 1000000, 4000)):
            while not put_partials(sillage, scratch, next(seeds), i, chunk):
                pass
        for pieces in 1, 2:
            while not put_state(sillage, scratch, next(seeds), pieces):
                pass
        assert put('ust', mapped(sillage, scratch, ust))


if __name__ == '__main__':
    main()
