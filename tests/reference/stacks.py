#!/usr/bin/env python3
"""stacks: call stacks of events, against a plain program that made them.

Goal    - `export -f folded --samples` counts the events of each stack; `-f folded` puts the time off the CPU below the stack with which the
          thread left it; files for Perfetto have a sample of each event with a stack, of its thread, and names of a row of addresses.
        - Addresses of the kernel have the names of --kallsyms FILE, or of this host if the trace is of its boot, and else none, which is said.
          Addresses of programs have those of the very file that the state dump names.
        - A real `perf record -g` has the kernel's functions that `perf script` says, if perf is there and may record.

usage: stacks.py SILLAGE PROTO PROTOC     (PROTOC "": there is none)
"""
import bisect
import collections
import json
import os
import random
import re
import shutil
import struct
import subprocess
import sys
import tempfile

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'property'))
import models
import perfetto
import synthetic

BASE = 10 ** 9
ROW = ('integer { size = 32; align = 8; } __%s_length; integer { size = 64; align = 8; base = hexadecimal; } _%s[__%s_length]; ')
PATTERN = re.compile(r'(.*) (\d+)')


def row(addresses):
    return struct.pack('<I%dQ' % len(addresses), len(addresses), *addresses)


def contexts(text, names, more=''):
    """Metadata whose events have these rows as contexts."""
    head, body = text.split('event.header', 1)
    return head + 'event.context := struct { %s%s};\n\tevent.header' % (more, ''.join(ROW % (name, name, name) for name in names)) + body


def with_context(event, context):
    return event[:10] + context + event[10:]  # behind id and time


def folded(runner, *arguments):
    lines = runner.run('export', '-f', 'folded', *arguments).stdout.decode().splitlines()
    return {tuple(found[1].split(';')): int(found[2]) for found in map(PATTERN.fullmatch, lines)}


# ---- a kernel's trace ----

FUNCTIONS = [(0xffffffff81000000 + 0x100 * i, 'kernel_%d' % i) for i in range(12)] + [(0xffffffffc0000000, 'of_module')]


class Kernel:
    """Threads 11 to 13 of process 10 on two CPUs.  Each event has a stack of the kernel's functions, and one of the program; either may be empty."""

    def __init__(self, runner, seed, count=400):
        self.random, self.events, self.now = random.Random(seed), [[], []], BASE
        self.running, self.known, self.ready, self.asleep = [0, 0], [False, False], [], [11, 12, 13]
        self.samples, self.off, self.left, self.stacks = [], collections.Counter(), {}, 0
        for tid in (11, 12, 13):
            self.add(0, 'lttng_statedump_process_state', tid, 10, 't%d' % tid)
        for _ in range(count):
            self.turn(self.random.randrange(2))
        while self.asleep or self.ready or any(self.running):  # nobody is left off its CPU
            self.turn(self.random.randrange(2), ends=True)
            if len(self.asleep) == 3 and not self.ready:
                break
        for tid in (11, 12, 13):
            self.wake(0, tid)
            self.switch(0, tid)
        for tid, (names, since) in self.left.items():
            self.off[tid, names] += self.now - since  # up to the trace's last event
        text = contexts(synthetic.metadata(0), ('callstack_kernel', 'callstack_user'))
        streams = [synthetic.packet(cpu, 0, BASE, self.now + 1, events) for cpu, events in enumerate(self.events)]
        self.path = synthetic.Made(runner.folder, 'kernel-%d' % seed, streams, text).path
        self.kallsyms = os.path.join(runner.folder, 'kallsyms')
        with open(self.kallsyms, 'w') as file:
            for address, name in FUNCTIONS[:-1]:
                file.write('%016x t %s\n' % (address, name))
            file.write('%016x T _etext\n%016x t %s\t[mod]\n' % (FUNCTIONS[-2][0] + 0x100, *FUNCTIONS[-1]))

    def stack(self):
        some = self.random.choices((0, 1, 3, 5), (2, 3, 3, 1), k=2)
        kernel = [self.random.choice(FUNCTIONS + [(0xffffffffa0000000, None)]) for _ in range(some[0])]
        kernel = [(address + self.random.randrange(0x100), name) for address, name in kernel]
        user = [0x400000 + self.random.randrange(4) for _ in range(some[1])]
        names = tuple([hex(address) for address in reversed(user)] + [name or hex(address) for address, name in reversed(kernel)])
        end = [2 ** 64 - 1] if self.random.random() < .2 else []  # as old kernels end a stack
        return row([address for address, _ in kernel]) + row(user + end), names

    def add(self, cpu, name, *values, tid=None):
        self.now += self.random.randrange(1, 5000)
        context, names = self.stack()
        tid = self.running[cpu] if tid is None else tid
        self.events[cpu].append(with_context(synthetic.event(self.now, name, *values), context))
        if names:
            comm = 't%d' % tid if self.known[cpu] or name == 'sched_switch' else 'thread'
            self.samples.append((self.now, cpu, name, tid, comm, names))
        return names

    def switch(self, cpu, to, state=1):
        prev = self.running[cpu]
        names = self.add(cpu, 'sched_switch', 't%d' % prev, prev, 20, state, 't%d' % to, to, 20, tid=prev)
        if prev:
            self.left[prev] = names, self.now
            (self.asleep if state else self.ready).append(prev)
        if to:
            names, since = self.left.pop(to, ((), self.now))
            self.off[to, names] += self.now - since
            self.ready.remove(to)
        self.running[cpu], self.known[cpu] = to, True

    def wake(self, cpu, tid):
        self.add(cpu, 'sched_waking', tid)
        self.asleep.remove(tid)
        self.ready.append(tid)

    def turn(self, cpu, ends=False):
        at = self.random.random()
        if at < .3 and self.asleep and not ends:
            self.wake(cpu, self.random.choice(self.asleep))
        elif at < .5 and not ends:
            self.add(cpu, 'kmem_mm_page_alloc', 1, 1)
        elif self.running[cpu]:
            self.switch(cpu, self.random.choice(self.ready) if self.ready and self.random.random() < .5 else 0, self.random.randrange(2) if not ends else 1)
        elif self.ready:
            self.switch(cpu, self.random.choice(self.ready))


def check_kernel(runner, seed):
    made = Kernel(runner, seed)
    names = '--kallsyms', made.kallsyms, made.path
    wanted = collections.Counter((name, '%s (%d)' % (comm, tid), *stack) for _, _, name, tid, comm, stack in made.samples)
    ours = folded(runner, '--samples', *names)
    assert ours == wanted, (collections.Counter(ours) - wanted, wanted - collections.Counter(ours))
    off = collections.Counter()
    for stack, ns in folded(runner, *names).items():
        frames = [i for i, frame in enumerate(stack) if frame.startswith('[in no call]') or frame.startswith('[waits for a CPU')][0]
        off[int(stack[0][1:3]), stack[1:frames]] += ns
    off = {key: ns for key, ns in off.items() if key[1]}
    wanted = {key: ns for key, ns in made.off.items() if key[1] and ns}
    assert off == wanted and len(off) > 10, [(key, off.get(key), wanted.get(key)) for key in off.keys() | wanted.keys() if off.get(key) != wanted.get(key)][:5]
    shown = runner.file('export', '-q', *names)
    ours = [(sample.ts, sample.cpu, sample.pid, sample.tid, tuple(name for name, _, _ in sample.frames)) for sample in shown.samples]
    wanted = [(ts, cpu, 10 if tid else 0, tid, stack) for ts, cpu, _, tid, _, stack in made.samples]
    assert ours == wanted and ours, [pair for pair in zip(ours, wanted) if pair[0] != pair[1]][:3]
    report = runner.file('report', '-q', '-f', 'perfetto', *names)  # it has the same in its range
    frames, all_of = [tuple(name for name, _, _ in sample.frames) for sample in report.samples], [stack for *_, stack in wanted]
    assert frames == all_of[:len(frames)] and len(frames) >= len(all_of) - 1, len(frames)  # the last event is at its end
    done = runner.run('report', *names, status=2)
    assert 'without -f perfetto' in done.stderr.decode(), done.stderr
    for sample in shown.samples:
        assert sample.mode == (1 if sample.frames[-1][1] == '/kernel' else 2), sample
        assert all((path == '/kernel') == (place >> 63 == 1) for _, path, place in sample.frames), sample
    return made


def check_refusals(runner, made):
    """Without a list the addresses stay; it is said why."""
    done = runner.run('export', '-f', 'folded', '--samples', made.path)
    assert b'no symbols of the kernel: ' in done.stderr and b'--kallsyms FILE' in done.stderr and b'kernel_' not in done.stdout, done
    hidden = os.path.join(runner.folder, 'hidden')
    with open(made.kallsyms) as file, open(hidden, 'w') as out:
        out.write(re.sub(r'^\w+', '0' * 16, file.read(), flags=re.M))
    for path, said in ((hidden, b'kptr_restrict'), ('/nowhere', b'No such file'), (os.path.join(made.path, 'metadata'), b'line 1 is none')):
        for form in ('folded', 'perfetto'):
            done = runner.run('export', '-f', form, '--kallsyms', path, '-o', os.path.join(runner.folder, 'none'), made.path, status=2)
            assert said in done.stderr and done.stderr.count(b'\n') == 1, done
    assert b'-f folded' in runner.run('export', '-f', 'perfetto', '--samples', '-o', '-', made.path, status=2).stderr
    only = os.path.join(runner.folder, 'only')  # a trace of samples alone has no time to fold
    shutil.copytree(made.path, only)
    with open(os.path.join(only, 'metadata')) as file:
        text = file.read()
    with open(os.path.join(only, 'metadata'), 'w') as file:
        file.write(text.replace('"sched_switch"', '"other_switch"'))
    assert b'export -f folded --samples' in runner.run('export', '-f', 'folded', only, status=1).stderr


def check_here(runner, made):
    """A trace of this boot has the names of this host; one of another release does not, whatever its clock says."""
    try:
        with open('/proc/sys/kernel/random/boot_id') as file:
            boot = file.read().strip()
        with open('/proc/kallsyms') as file:
            address, name = next((words[0], words[2]) for words in map(str.split, file) if words[1] == 'T' and int(words[0], 16) and words[2] not in ('_text', '_stext'))
    except (OSError, StopIteration):
        print('not checked, as /proc/kallsyms is hidden: names of this host')
        return
    for number, (release, wanted) in enumerate(((os.uname().release, True), ('6.1.0', False))):
        text = contexts(synthetic.metadata(0), ('callstack_kernel',)).replace('clock { name = mono;', 'clock { name = mono; uuid = "%s";' % boot)
        text = text.replace('kernel_release = "6.1.0"', 'kernel_release = "%s"' % release)
        events = [with_context(synthetic.switch(BASE + 1, 11, 12), row([int(address, 16)]))]
        path = synthetic.Made(runner.folder, 'here-%d' % number, [synthetic.packet(0, 0, BASE, BASE + 2, events)], text).path
        (stack, count), = folded(runner, '--samples', path).items()
        found = stack[2] != hex(int(address, 16))
        assert count == 1 and found == wanted, (stack, name)
        if wanted:  # several may be at one address
            with open('/proc/kallsyms') as file:
                assert any(line.split()[0] == address and line.split()[2] == stack[2] for line in file), stack


# ---- a program's ----

PROGRAM = '''
static volatile int sum;
__attribute__((noinline)) void inner(int i) { sum += i; }
__attribute__((noinline)) void outer(int i) { inner(i); sum++; }
int main(void) { outer(1); return 0; }
'''
UST = [('lttng_ust_statedump:bin_info', 'integer { size = 64; align = 8; } _baddr; integer { size = 64; align = 8; } _memsz; string _path; '),
       ('lttng_ust_statedump:build_id', 'integer { size = 64; align = 8; } _baddr; integer { size = 32; align = 8; } __build_id_length; '
                                        'integer { size = 8; align = 8; } _build_id[__build_id_length]; '),
       ('app:tick', 'integer { size = 32; align = 8; } _n; integer { size = 32; align = 8; } __backtrace_length; '
                    'integer { size = 64; align = 8; } _backtrace[__backtrace_length]; ')]
PLACE = 0x555500000000


def program(folder):
    path = os.path.join(folder, 'program')
    with open(path + '.c', 'w') as file:
        file.write(PROGRAM)
    subprocess.run(['cc', '-g', '-O1', '-fPIE', '-pie', '-Wl,--build-id', '-o', path, path + '.c'], check=True)
    listed = subprocess.run(['nm', path], stdout=subprocess.PIPE, check=True).stdout.decode()
    at = {words[2]: int(words[0], 16) for words in map(str.split, listed.splitlines()) if len(words) == 3}
    notes = subprocess.run(['readelf', '-n', path], stdout=subprocess.PIPE, check=True).stdout.decode()
    return path, at, bytes.fromhex(re.search(r'Build ID: (\w+)', notes)[1])


def check_program(runner):
    """Rows of addresses have names in arguments, and contexts are samples; an image counts for its process alone."""
    if not all(map(shutil.which, ('cc', 'nm', 'readelf'))):
        print('not checked, as there is no compiler: functions of a program')
        return
    path, at, build = program(runner.folder)
    stack = [PLACE + at['inner'] + 1, PLACE + at['outer'] + 2, PLACE + at['main'] + 3, 0x1000]  # the innermost first

    def event(ts, number, pid, tid, body, addresses=()):
        return struct.pack('<HQii', number, BASE + ts, pid, tid) + row(addresses) + body

    events = [event(1, 0, 5, 5, struct.pack('<QQ', PLACE, 0x10000) + path.encode() + b'\0'),
              event(2, 1, 5, 5, struct.pack('<QI', PLACE, len(build)) + build),
              event(3, 2, 5, 7, struct.pack('<i', 1) + row(stack), stack), event(4, 2, 6, 8, struct.pack('<i', 2) + row(stack), stack),
              event(5, 2, 5, 7, struct.pack('<i', 3) + row([]), stack[1:]), event(6, 2, 5, 7, struct.pack('<i', 4) + row(stack[:1]))]
    text = contexts(synthetic.HEADER % 0, ('callstack_user',), 'integer { size = 32; align = 8; signed = true; } _vpid; integer { size = 32; align = 8; signed = true; } _vtid; ')
    text = text.replace('domain = "kernel"', 'domain = "ust"')
    text += ''.join('event { name = "%s"; id = %d; stream_id = 0; fields := struct { %s}; };\n' % (name, i, fields) for i, (name, fields) in enumerate(UST))
    trace = synthetic.Made(runner.folder, 'program-trace', [synthetic.packet(0, 0, BASE, BASE + 10, events)], text).path
    made = runner.file('export', '-q', trace)
    names, plain = ('inner', 'outer', 'main', '0x1000'), tuple(map(hex, stack))
    ours = [(sample.ts - BASE, sample.pid, sample.tid, sample.frames) for sample in made.samples]
    own = tuple((name, path if name != '0x1000' else '', place if name == '0x1000' else place - PLACE) for name, place in zip(names, stack))[::-1]
    assert ours == [(3, 5, 7, own), (4, 6, 8, tuple((name, '', place) for name, place in zip(plain, stack))[::-1]), (5, 5, 7, own[:-1])], ours
    args = [dict(mark.args) for mark in made.marks if mark.name == 'app:tick']
    assert [one.get('backtrace_symbol') for one in args] == [names, None, None, names[:1]], args
    assert [dict(one['context']).get('callstack_user_symbol') for one in args] == [names, None, names[1:], None], args
    assert args[0]['backtrace'] == tuple(stack)
    assert folded(runner, '-q', '--samples', trace) == {('app:tick', 'thread (7)', *names[::-1]): 1, ('app:tick', 'thread (8)', *plain[::-1]): 1,
                                                        ('app:tick', 'thread (7)', *names[:0:-1]): 1}


# ---- very many, and hostile ----

def check_many(runner):
    """More frames than are numbered: the sequence begins again, and nothing is left out."""
    text = contexts(synthetic.metadata(0), ('callstack_kernel',))
    events, wanted, at = [], [], 0xffffffff90000000
    for i in range(210):
        stack = [at + k for k in range(500)] if i % 3 else [at - 500 + k for k in range(500)]
        at += 500 * (i % 3 > 0)
        events.append(with_context(synthetic.switch(BASE + i, 11, 12) if i % 2 == 0 else synthetic.switch(BASE + i, 12, 11), row(stack)))
        wanted.append(tuple(map(hex, reversed(stack))))
    events.append(with_context(synthetic.switch(BASE + 250, 11, 12), row([at] * 5000)))  # more than are read: the innermost ones
    wanted.append((hex(at),) * 1024)
    path = synthetic.Made(runner.folder, 'many', [synthetic.packet(0, 0, BASE, BASE + 300, events)], text).path
    runner.protoc = ''  # it takes long for so many
    made = runner.file('export', '-q', path)
    assert [tuple(name for name, _, _ in sample.frames) for sample in made.samples] == wanted and made.restarts > 0


# ---- perf ----

def kernel_frames_of_perf(data):
    """Of each sample the functions of the kernel, the outermost first, as `perf script` has them: sets, as several may be at one address."""
    with open('/proc/kallsyms') as file:
        symbols = sorted((int(words[0], 16), words[2]) for words in map(str.split, file) if words[1] in 'tTwW')
    starts, names = sorted({address for address, _ in symbols}), collections.defaultdict(set)
    for address, name in symbols:
        names[address].add(name)
    first = min(address for address in starts if address >> 63)
    out = subprocess.run(['perf', 'script', '-i', data, '-F', 'tid,ip'], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True).stdout.decode()
    for block in filter(str.strip, out.split('\n\n')):
        lines = block.strip('\n').split('\n')
        addresses = [int(line, 16) for line in reversed(lines[1:])]
        # Programs without frame pointers have any number on their stacks.
        yield int(lines[0]), [names[starts[bisect.bisect(starts, address) - 1]] for address in addresses if address >= first]


def check_perf(runner):
    data, trace = os.path.join(runner.folder, 'perf.data'), os.path.join(runner.folder, 'perf')
    quiet = {'stdout': subprocess.DEVNULL, 'stderr': subprocess.DEVNULL}
    if not shutil.which('perf') or subprocess.run(['perf', 'record', '-e', 'cpu-clock', '-F', '999', '-g', '-a', '-o', data, '--', 'sh', '-c',
                                                   'i=0; while [ $i -lt 30 ]; do /bin/true; i=$((i+1)); done'], check=False, **quiet).returncode or \
            subprocess.run(['perf', 'data', 'convert', '--to-ctf', trace, '-i', data], check=False, **quiet).returncode:
        print('not checked, as perf is not here or may not record: stacks of perf')
        return
    theirs = list(kernel_frames_of_perf(data))
    made = runner.file('export', '-q', '--kallsyms', '/proc/kallsyms', trace)
    assert len(theirs) == sum(folded(runner, '-q', '--samples', trace).values())
    theirs = [(tid, frames) for tid, frames in theirs if tid >= 0]  # a thread that has ended has none, and so no sample
    assert len(theirs) == len(made.samples) > 0
    ours = sorted((sample.ts, sample.tid, [name for name, path, _ in sample.frames if path == '/kernel']) for sample in made.samples)
    wrong = [(mine[2], frames) for mine, (tid, frames) in zip(ours, theirs)
             if tid != mine[1] or len(frames) != len(mine[2]) or not all(name in names for name, names in zip(mine[2], frames))]
    assert not wrong and any(frames for _, frames in theirs), wrong[:2]


def main():
    with tempfile.TemporaryDirectory() as folder:
        runner = perfetto.Runner(*sys.argv[1:4], folder)
        for seed in range(3):
            made = check_kernel(runner, seed)
        check_refusals(runner, made)
        check_here(runner, made)
        check_program(runner)
        check_many(runner)
        check_perf(runner)
    print('ok stacks')


if __name__ == '__main__':
    main()
