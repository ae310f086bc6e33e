#!/usr/bin/env python3
"""mutated: whole traces with changed bytes, in both languages of metadata, through every command.

Whatever is changed, a command ends by itself, with a result or a message, and never by a signal; and
its work is in proportion to the bytes that are there, not to the sizes that they claim.

The traces: random ones of a kernel and of user programs (generated.py), the same with their metadata
in CTF 2 where EVENTS (events.c) can say it, the made-up ones of ctf2.py, DATA's UST trace, and DATA's
bad ones, which once never ended.  Several traces go through one process; a limit of CPU time holds for
it: a multiple of what the unchanged traces take in the same build, so that no machine is too slow.
What fails is tried alone, and kept with --keep.

usage: mutated.py SILLAGE EVENTS DATA [--count N] [--seed S | --random] [--keep DIR]
"""
import argparse
import json
import os
import random
import resource
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
sys.path.insert(0, os.path.join(HERE, '..', 'differential'))
import ctf2  # noqa: E402
import generated  # noqa: E402

BATCH = 25  # traces of one process
ALONE_FACTOR, BATCH_FACTOR = 30, 10  # of the CPU time of the unchanged
LEAST_S = 2
MEMORY = 8 << 30  # bytes; a sanitizer needs more, and has its own limits
NUMBERS = (0, 1, 2, 7, 8, 31, 32, 63, 64, 127, 128, 255, 256, 1023, 4096, 65535, 65536, (1 << 31) - 1, 1 << 31,
           (1 << 32) - 1, 1 << 32, (1 << 63) - 1, 1 << 63, (1 << 64) - 8, (1 << 64) - 1)
WAYS = (('analyze', '-q', '-a', 'all', '-j', '0', '-f', 'json'),
        ('analyze', '-q', '-a', 'all', '-j', '2', '--chunk-size', '4K'),
        ('analyze', '-q', '-a', 'count,lost', '-j', '0', '-i', '10s', '-f', 'json'),
        ('report', '-q', '-f', 'json'),
        ('report', '-q', '--resources', '-f', 'json'),
        ('map', '-q', '-a', 'all', '-j', '0'))


# ---- traces ----

def read(path):
    found = {}
    for name in sorted(os.listdir(path)):
        if os.path.isfile(os.path.join(path, name)):
            with open(os.path.join(path, name), 'rb') as file:
                found[name] = file.read()
    return found


def write(path, files):
    os.makedirs(path)
    for name, data in files.items():
        with open(os.path.join(path, name), 'wb') as file:
            file.write(data)


def bases(events, data, folder):
    """Unchanged traces: name -> {file name: bytes}."""
    found = {}
    for i, make in enumerate((generated.make, generated.make, generated.make, generated.make_ust)):
        path = os.path.join(folder, 'made-%d' % i)
        make(random.Random(i + 1), path, True)
        found['made-%d' % i] = read(path)
    found['ust'] = {name: raw[:12288] for name, raw in read(os.path.join(data, 'ust')).items()}
    for name in sorted(os.listdir(os.path.join(data, 'bad'))):
        found['bad-' + name] = read(os.path.join(data, 'bad', name))
    for name, payload, raw, _ in ctf2.CASES:
        path = os.path.join(folder, name)
        ctf2.make(path, ctf2.fragments_of(payload), raw * 20, packetized=len(name) % 2 == 1)
        found['ctf2-' + name] = read(path)
    for name in [name for name in found if name.startswith(('made', 'ust'))]:
        path = os.path.join(folder, 'pair-' + name)
        write(path, found[name])
        said = subprocess.run([events, '--ctf2', path], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        if said.returncode == 0:
            found['ctf2-' + name] = dict(found[name], metadata=said.stdout)
    assert sum(name.startswith('ctf2-made') for name in found) >= 2
    return found


# ---- changes ----

def change_number(rng, raw):
    """A number in the text becomes another."""
    at = [i for i in range(len(raw)) if 48 <= raw[i] < 58]
    if not at:
        return raw
    begin = end = rng.choice(at)
    while end < len(raw) and 48 <= raw[end] < 58:
        end += 1
    return raw[:begin] + str(rng.choice(NUMBERS)).encode() + raw[end:]


def change_word(rng, raw):
    """A letter of a word: an unknown key is often left out, and what it said is missing."""
    at = [i for i in range(len(raw)) if 97 <= raw[i] < 123]
    i = rng.choice(at) if at else 0
    return raw[:i] + bytes([rng.randrange(97, 123)]) + raw[i + 1:]


def lines_of(rng, raw):
    lines = raw.split(b'\n')
    i = rng.randrange(len(lines))
    j = min(len(lines), i + rng.choice((1, 1, 2, 5)))
    return lines, i, j


def drop_lines(rng, raw):
    lines, i, j = lines_of(rng, raw)
    return b'\n'.join(lines[:i] + lines[j:])


def repeat_lines(rng, raw):
    lines, i, j = lines_of(rng, raw)
    return b'\n'.join(lines[:j] + lines[i:j] * rng.choice((1, 1, 20)) + lines[j:])


def change_byte(rng, raw):
    i = rng.randrange(len(raw)) if raw else 0
    return raw[:i] + bytes([rng.choice((rng.randrange(256), 0, 255))]) + raw[i + 1:]


def change_word_of_head(rng, raw):
    """A word near the begin of a packet: a size, a time, an id."""
    size = rng.choice((4, 8))
    starts = [0] + [i for i in range(4, len(raw)) if raw[i:i + 4] in (b'\xc1\x1f\xfc\xc1', b'\xc1\xfc\x1f\xc1')]
    i = rng.choice(starts) + rng.randrange(0, 90)
    order = rng.choice(('<', '>'))
    value = rng.choice(NUMBERS) % (1 << size * 8)
    return (raw[:i] + struct.pack(order + {4: 'I', 8: 'Q'}[size], value) + raw[i + size:])[:max(len(raw), 1)]


def cut(rng, raw):
    return raw[:rng.randrange(len(raw) + 1)]


def drop_bytes(rng, raw):
    i = rng.randrange(len(raw) + 1)
    return raw[:i] + raw[i + rng.choice((1, 2, 8, 100)):]


def add_bytes(rng, raw):
    i = rng.randrange(len(raw) + 1)
    return raw[:i] + rng.choice((b'\0', b'\xc1\x1f\xfc\xc1', b'\xff' * 8, raw[:200])) * rng.choice((1, 1, 3, 200)) + raw[i:]


def fill(rng, raw):
    i = rng.randrange(len(raw) + 1)
    size = rng.choice((8, 100, 5000))
    return raw[:i] + bytes([rng.choice((0, 255, 0xc1))]) * min(size, len(raw) - i) + raw[i + size:]


TEXT = (change_number, change_number, change_number, change_word, change_word, drop_lines, repeat_lines, change_byte, cut)
DATA = (change_byte, change_word_of_head, change_word_of_head, change_word_of_head, cut, drop_bytes, add_bytes, fill)


def mutate(rng, files):
    files = dict(files)
    for _ in range(rng.choice((1, 1, 2, 3, 6))):
        name = 'metadata' if rng.random() < 0.55 else rng.choice(sorted(files))
        files[name] = rng.choice(TEXT if name == 'metadata' else DATA)(rng, files[name])
    return files


# Bytes that look like the begin of a packet, again and again: each one costs what is read to refuse it.
LONG_HEADER = b'''/* CTF 1.8 */
typealias integer { size = 32; align = 8; signed = false; } := u32;
trace { major = 1; minor = 8; byte_order = le; packet.header := struct { u32 magic; string s; }; };
stream { packet.context := struct { u32 content_size; u32 packet_size; }; };
event { name = "e"; fields := struct { u32 x; }; };
'''


def seem_packets(files):
    yield dict(files, **{name: b'\xc1\x1f\xfc\xc1' * (1 << 21) for name in files if name == 'c_0'})
    yield {'metadata': LONG_HEADER, 's': b'\xc1\x1f\xfc\xc1' * (1 << 18)}


# ---- runs ----

class Failed(Exception):
    pass


def limit(process, cpu_s):
    # Not by the child: without a function to call there, Python need not copy itself.
    resource.prlimit(process.pid, resource.RLIMIT_CPU, (int(cpu_s) + 1, int(cpu_s) + 2))


def cpu_of(pid_usage):
    return pid_usage.ru_utime + pid_usage.ru_stime


def run(words, cpu_s, scratch, stdin=None):
    """Its CPU time.  Output goes to files, of which the last part is looked at."""
    out_path, err_path = os.path.join(scratch, 'out'), os.path.join(scratch, 'err')
    with open(out_path, 'wb') as out, open(err_path, 'wb') as err, open(stdin or os.devnull, 'rb') as given:
        process = subprocess.Popen(words, stdin=given, stdout=out, stderr=err)
        limit(process, cpu_s)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = status
    with open(err_path, 'rb') as err:
        err.seek(max(0, os.path.getsize(err_path) - 5000))
        said = err.read().decode(errors='replace')
    if os.WIFSIGNALED(status):
        raise Failed('%s after %.1f s of CPU: %s' % (signal.Signals(os.WTERMSIG(status)).name, cpu_of(usage), said))
    if os.WEXITSTATUS(status) not in (0, 1) or 'Sanitizer' in said or 'runtime error' in said:
        raise Failed('exit status %d: %s' % (os.WEXITSTATUS(status), said))
    if os.WEXITSTATUS(status) == 1 and not said:
        raise Failed('exit status 1 without a word')
    return cpu_of(usage)


def check_json(scratch):
    with open(os.path.join(scratch, 'out'), 'rb') as out:
        out.seek(max(0, os.path.getsize(os.path.join(scratch, 'out')) - 100000))
        last = out.read().splitlines()
    if not last or json.loads(last[-1])['type'] != 'end':
        raise Failed('no last line')


def go(sillage, way, paths, cpu_s, scratch):
    used = run([sillage] + list(way) + paths, cpu_s, scratch)
    if way[0] == 'analyze' and 'json' in way:
        check_json(scratch)
    if way[0] == 'map':
        partials = os.path.join(scratch, 'partials')
        os.rename(os.path.join(scratch, 'out'), partials)
        used += run([sillage, 'merge', '-q', '-j', '0', '-f', 'json', '-'], cpu_s, scratch, stdin=partials)
        check_json(scratch)
    return used


class Corpus:
    def __init__(self, args, folder):
        self.args, self.folder, self.failed = args, folder, 0
        self.bases = bases(args.events, args.data, os.path.join(folder, 'bases'))
        self.names = sorted(self.bases)
        self.scratch = os.path.join(folder, 'scratch')
        os.mkdir(self.scratch)
        self.costs = {way: self.cost(way) for way in WAYS}

    def cost(self, way):
        """CPU time of one unchanged trace, and of the process itself."""
        paths = []
        for name in self.names:
            paths.append(os.path.join(self.folder, 'whole', name))
            if not os.path.isdir(paths[-1]):
                write(paths[-1], self.bases[name])
        used = go(self.args.sillage, way, paths, 600, self.scratch)
        return used / len(paths)

    def alone(self, way, seed, path):
        """One trace in one process."""
        try:
            go(self.args.sillage, way, [path], LEAST_S + ALONE_FACTOR * self.costs[way], self.scratch)
        except Failed as failed:
            self.failed += 1
            print('not ok: seed %d, %s: %s' % (seed, ' '.join(way), failed))
            if self.args.keep:
                shutil.copytree(path, os.path.join(self.args.keep, 'seed-%d-%s' % (seed, way[0])), dirs_exist_ok=True)
            return
        # Fine alone: together they took too long.

    def fixed(self, number, files):
        path = os.path.join(self.folder, 'fixed-%d' % number)
        write(path, files)
        for way in WAYS:
            self.alone(way, -1 - number, path)

    def batch(self, way, seeds):
        paths = []
        for seed in seeds:
            rng = random.Random(seed)
            paths.append(os.path.join(self.folder, 'now', str(seed)))
            write(paths[-1], mutate(rng, self.bases[rng.choice(self.names)]))
        try:
            go(self.args.sillage, way, paths, LEAST_S + BATCH_FACTOR * len(paths) * self.costs[way], self.scratch)
        except Failed as failed:
            before = self.failed
            for seed, path in zip(seeds, paths):
                self.alone(way, seed, path)
            if self.failed == before:
                self.failed += 1
                print('not ok: seeds %d to %d together, %s: %s' % (seeds[0], seeds[-1], ' '.join(way), failed))
        shutil.rmtree(os.path.join(self.folder, 'now'))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('sillage')
    parser.add_argument('events')
    parser.add_argument('data')
    parser.add_argument('--count', type=int, default=1000)
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--random', action='store_true')
    parser.add_argument('--keep')
    args = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    first = int(time.time()) * 100000 if args.random else args.seed
    folder = tempfile.mkdtemp(prefix='sillage-mutated-')
    try:
        os.mkdir(os.path.join(folder, 'bases'))
        corpus = Corpus(args, folder)
        for i, files in enumerate(seem_packets(corpus.bases['ust'])):
            corpus.fixed(i, files)
        for i, begin in enumerate(range(first, first + args.count, BATCH)):
            seeds = list(range(begin, min(begin + BATCH, first + args.count)))
            corpus.batch(WAYS[i % len(WAYS)], seeds)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print('%d traces from seed %d on, of %d bases: %d failed' % (args.count, first, len(corpus.names), corpus.failed))
    return 1 if corpus.failed else 0


if __name__ == '__main__':
    sys.exit(main())
