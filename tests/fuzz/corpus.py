#!/usr/bin/env python3
"""corpus: keeps the inputs of the fuzz targets few and packed.

Inputs with a name of their own stay files of corpus/TARGET, whatever they cover: hand-written cases and past
crashes (crash-*).  All other inputs of a target lie in one file, corpus/TARGET/found.pack.

A pack is a list of inputs without a header: for each input its length in four bytes, most significant byte
first, then its bytes.  replay.c runs each input of a pack.  libFuzzer knows no packs: `unpack` writes its seeds.

usage: corpus.py unpack TARGET DIRECTORY
           Writes each input of a target to a file of its own in DIRECTORY.
       corpus.py minimise BUILD TARGET [DIRECTORY...]
           Packs a small set of inputs with the coverage of the corpus and of DIRECTORY (what a fuzzer found): those
           that libFuzzer's greedy set cover adds to the named ones.  BUILD was set up with clang and -Dfuzz=true, and best without sanitizers: these add edges of their own.
"""
import hashlib
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile

CORPUS = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'corpus')
PACK = 'found.pack'
UNNAMED = re.compile('[0-9a-f]{40}$')  # as libFuzzer names its inputs: by their SHA-1
MAX_BYTES = 1 << 20


def read(*path):
    with open(os.path.join(*path), 'rb') as file:
        return file.read()


def write(data, *path):
    with open(os.path.join(*path), 'wb') as file:
        file.write(data)


def packed(data):
    """The inputs of a pack."""
    at = 0
    while at < len(data):
        size, = struct.unpack_from('>I', data, at)
        at += 4 + size
        assert at <= len(data), 'an input passes the end of the pack'
        yield data[at - size:at]


def unpack(target, folder):
    os.makedirs(folder, exist_ok=True)
    for name in os.listdir(os.path.join(CORPUS, target)):
        data = read(CORPUS, target, name)
        if name != PACK:
            write(data, folder, name)
            continue
        for one in packed(data):
            write(one, folder, hashlib.sha1(one).hexdigest())


def coverage(program, folder):
    """(edges, features) that the inputs of a folder cover, as libFuzzer counts them."""
    done = subprocess.run([program, '-runs=0', '-max_len=%d' % MAX_BYTES, folder], stderr=subprocess.PIPE, check=True)
    found = re.search(r'INITED cov: (\d+) ft: (\d+)', done.stderr.decode())
    return tuple(int(number) for number in found.groups())


def minimise(build, target, more):
    program = os.path.join(build, 'tests', 'fuzz-' + target)
    home = os.path.join(CORPUS, target)
    with tempfile.TemporaryDirectory() as scratch:
        everything, kept = os.path.join(scratch, 'everything'), os.path.join(scratch, 'kept')
        unpack(target, everything)
        for folder in more:
            for name in os.listdir(folder):
                data = read(folder, name)
                write(data, everything, hashlib.sha1(data).hexdigest())
        named = [name for name in os.listdir(everything) if not UNNAMED.match(name)]
        os.mkdir(kept)
        for name in named:
            shutil.copy(os.path.join(everything, name), kept)
        before = coverage(program, everything)
        if coverage(program, kept) != before:
            subprocess.run([program, '-set_cover_merge=1', '-max_len=%d' % MAX_BYTES, kept, everything],
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
        after = coverage(program, kept)
        inputs = sorted((read(kept, name) for name in os.listdir(kept) if name not in named), key=lambda one: (len(one), one))
        print('%s: %d named and %d packed inputs of %d; edges %d, were %d; features %d, were %d' % (
            target, len(named), len(inputs), len(os.listdir(everything)), after[0], before[0], after[1], before[1]))
        if after[0] < before[0] or after[1] < before[1]:
            sys.exit('corpus: coverage would be lost, nothing is written')
        for name in os.listdir(home):
            os.remove(os.path.join(home, name))
        for name in named:
            shutil.copy(os.path.join(kept, name), home)
        if inputs:
            write(b''.join(struct.pack('>I', len(one)) + one for one in inputs), home, PACK)


def main():
    if len(sys.argv) == 4 and sys.argv[1] == 'unpack':
        unpack(*sys.argv[2:])
    elif len(sys.argv) >= 4 and sys.argv[1] == 'minimise':
        minimise(sys.argv[2], sys.argv[3], sys.argv[4:])
    else:
        sys.exit(__doc__.split('usage: ')[1])


if __name__ == '__main__':
    main()
