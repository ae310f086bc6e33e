#!/usr/bin/env python3
"""reference: every analysis by a plain sequential program, compared with sillage.

Goal    The same windows and totals, to the nanosecond and the byte.
Method  Read the text that babeltrace2 prints, one event after the other in time order, and
        follow the definitions literally; no chunks, no partials, no workers.  Count, cpu and io
        are here, the others in sequential.py.

usage: reference.py SILLAGE TRACE...     (also: babeltrace2 in the path)
"""
import collections
import json
import os
import re
import struct
import subprocess
import sys

import sequential
import files
from files import ENTRY, EXIT, number, string

INTERVAL = 100_000_000

LINE = re.compile(r'^\[(\d+)\.(\d+)\] (?:(\S+) )?([\w:]+): (.*)$')
CPU = re.compile(r'cpu_id = (\d+)')
READ = set('read pread64 readv preadv preadv2 recvfrom recvmsg recvmmsg recvmmsg_time32 '
           'mq_timedreceive mq_timedreceive_time32'.split())
WRITE = set('write pwrite64 writev pwritev pwritev2 sendto sendmsg sendmmsg vmsplice '
            'mq_timedsend mq_timedsend_time32'.split())
BOTH = set('splice tee sendfile sendfile64 copy_file_range'.split())
OPEN = re.compile(r'^(?:syscall_entry_|sys_)open(?:at)?$')


def empty_names(trace):
    """
    When open or openat had an empty name: babeltrace2 2.0.4 prints the last one that was not.  In the
    files such an event is its time (the lower bits, in its header), directory, a zero, flags.
    """
    with open(os.path.join(trace, 'metadata'), 'rb') as file:
        found = re.search(rb'\n\toffset = (\d+);', file.read())
    offset, data = int(found.group(1)) if found else 0, b''
    for name in os.listdir(trace):
        if name.startswith('chan'):
            with open(os.path.join(trace, name), 'rb') as file:
                data += file.read()

    stamps = {}

    def stamps_of(dfd, flags):
        """The lower bits of the times before such fields: in a compact header, a large one, an extended one."""
        found = set()
        before = re.escape(struct.pack('<i', dfd)) if dfd is not None else b''
        for padding in (b'', b'.', b'..', b'...'):
            fields = before + b'\0' + padding + re.escape(struct.pack('<i', flags))
            for match in re.finditer(b'(?s)(?=' + fields + b')', data):
                if match.start() >= 8:
                    low, stamp = struct.unpack_from('<II', data, match.start() - 8)
                    found |= {low, stamp, stamp >> 5}
        return found

    def is_empty(ns, text):
        fields, time = (number(text, 'dfd'), number(text, 'flags')), ns - offset
        if fields not in stamps:
            stamps[fields] = stamps_of(*fields)
        return time & 0xFFFFFFFF in stamps[fields] or time & 0x7FFFFFF in stamps[fields]
    return is_empty


def events_of(trace):
    """(ns, name, cpu, text) of each event, in time order."""
    is_empty = empty_names(trace)
    out = subprocess.Popen(['babeltrace2', '--no-delta', '--clock-seconds', trace],
                           stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    for line in out.stdout:
        found = LINE.match(line.decode('utf-8', 'replace'))
        seconds, fraction, _, name, text = found.groups()
        cpu, ns = CPU.search(text), int(seconds) * 10**9 + int(fraction)
        if OPEN.match(name) and is_empty(ns, text):
            text = re.sub('filename = "[^"]*"', 'filename = ""', text)
        yield ns, name, int(cpu.group(1)) if cpu else None, text


HOLE = 10**9  # no packet covers more than that


class Packet(collections.namedtuple('Packet', 'begin, end, stream, cpu')):
    """ns; the class of its stream, its CPU."""


def packets_of(trace):
    """The packets of each file, by their headers: of LTTng's layout, clock of 1 GHz."""
    with open(os.path.join(trace, 'metadata'), 'rb') as file:
        text = unpacked(file.read())
    offset = re.search(rb'\boffset = (\d+);', text)
    order, offset = '>' if re.search(rb'\btrace \{[^}]*byte_order = be', text) else '<', int(offset.group(1)) if offset else 0
    context = 32 if b'stream_instance_id' in text else 24
    for name in os.listdir(trace):
        if name == 'metadata' or os.path.isdir(os.path.join(trace, name)):
            continue
        with open(os.path.join(trace, name), 'rb') as file:
            data, at, packets = file.read(), 0, []
        while at < len(data):
            begin, end, _, bits, _, _, cpu = struct.unpack_from(order + 'QQQQQQI', data, at + context)
            packets.append(Packet(begin + offset, end + offset, struct.unpack_from(order + 'I', data, at + 20)[0], cpu))
            at += bits // 8
        yield packets


def uncovered(packets):
    """Begin and end of each time that none of them covers, if that is a hole."""
    holes, until = [], None
    for packet in sorted(packets):
        if until is not None and packet.begin - until > HOLE:
            holes.append((until, packet.begin))
        until = packet.end if until is None else max(until, packet.end)
    return holes


class Coverage:
    """What no packet of a trace covers.  Only a trace that tells who runs has holes, and CPUs that leave."""

    def __init__(self, trace):
        self.holes, self.ends, self.silences = [], {}, {}  # ns; by CPU; by CPU and channel: ends of its holes
        with open(os.path.join(trace, 'metadata'), 'rb') as file:
            if b'"sched_switch"' not in unpacked(file.read()):
                return
        files_ = [packets for packets in packets_of(trace) if packets]
        self.holes = uncovered(packet for packets in files_ for packet in packets)
        for packets in files_:
            _, end, stream, cpu = packets[-1]
            self.ends[cpu] = max(end, self.ends.get(cpu, 0))
            self.silences[cpu, stream] = [end for _, end in uncovered(packets)]

    def leaves(self, cpu, last):
        """When it did, or None: the trace goes on up to @last without it."""
        end = self.ends.get(cpu, last)
        return end if last - end > HOLE else None


def holes_of(trace):
    return Coverage(trace).holes


class Thread:
    def __init__(self, tid, born):
        self.tid, self.born = tid, born
        self.comm = self.pid = self.prio = self.cpu = self.open = self.ended = None


class Window:
    def __init__(self):
        self.names = collections.Counter()
        self.cpus = collections.defaultdict(lambda: [0, 0])  # busy, idle
        self.rows = collections.defaultdict(lambda: collections.Counter())
        self.tids = {}  # of threads that had another when the window ended


class Reference:
    PLAIN = sequential.Sequential  # the programs beside count, cpu and io

    def __init__(self, events, release, names, coverage=None):
        # Issues of requests come last of what is at one ns.
        self.events = sorted(events, key=lambda event: (event[0], event[1] == 'block_rq_issue'))
        self.interval, self.coverage = INTERVAL, coverage
        self.holes, self.unknown = [hole for hole in coverage.holes if hole[0] >= self.events[0][0]] if coverage else [], {}
        self.left = {}  # when CPUs did of which it was known what they ran
        self.now = self.begin = self.events[0][0]
        self.last = self.events[-1][0]
        self.windows = collections.defaultdict(Window)
        self.threads = {}
        self.born = 0
        self.current, self.since, self.came = {}, {}, {}
        self.entered = {(ns, number(text, 'next_tid')) for ns, name, _, text in self.events if name == 'sched_switch'}
        self.others = self.PLAIN(self, release, names)
        self.heads()
        self.at, ahead = self.begin // INTERVAL, list(self.holes)
        for event in self.events:
            while ahead and ahead[0][0] < event[0]:
                self.hole(ahead.pop(0)[0])
            self.go_to(event[0])
            self.event(*event)
        self.others.end_window(self.last, self.at)
        self.charge_all(self.last)

    def go_to(self, ns):
        """Ends the windows before."""
        while ns // INTERVAL > self.at:
            self.at += 1
            self.others.end_window(self.at * INTERVAL, self.at - 1)

    def hole(self, begin):
        """Nothing was traced from there on."""
        self.go_to(begin)
        self.charge_all(begin)
        self.others.hole(begin)
        self.current.update(dict.fromkeys(self.current))
        self.came.clear()
        self.unknown.clear()
        for thread in self.threads.values():
            if thread.open:
                thread.open = (thread.open[0], None, thread.open[2])

    def running(self, cpu):
        """The thread that runs there; None: nobody.  An unknown one is one thread up to the next hole."""
        tid = self.current.get(cpu)
        if cpu in self.current and tid is None:
            self.born += 1
            return self.unknown.setdefault(cpu, Thread(None, self.born))
        return self.thread(tid) if tid else None

    def heads(self):
        """Who runs first: the prev_tid of each CPU's first switch."""
        for ns, name, cpu, text in self.events:
            if name == 'sched_switch' and cpu not in self.current:
                is_lost = self.holes and ns > self.holes[0][0]
                self.current[cpu] = None if is_lost else number(text, 'prev_tid')
                self.since[cpu] = self.came[cpu] = self.begin
                self.others.contexts.first(cpu, text)
                if self.current[cpu]:
                    thread = self.thread(self.current[cpu])
                    thread.cpu = cpu
                    self.others.sched.started(thread)
                    self.others.now.started(self.begin, thread)
                    self.others.waits.runs(self.begin, cpu, thread)

    def window(self, ns):
        return self.windows[ns // INTERVAL]

    def thread(self, tid):
        """Of this tid, now: behind the end of one it is another."""
        found = self.threads.get(tid)
        if not found or (found.ended is not None and self.now > found.ended):
            self.born += 1
            found = self.threads[tid] = Thread(tid, self.born)
        return found

    def end(self, thread, ns):
        if thread.ended is None:
            thread.ended = ns
            self.others.died(ns, thread)

    def charge(self, cpu, until):
        tid = self.current[cpu]
        while self.since[cpu] < until:
            end = min(until, (self.since[cpu] // INTERVAL + 1) * INTERVAL)
            window, ns = self.window(self.since[cpu]), end - self.since[cpu]
            window.cpus[cpu][0 if tid else 1] += ns if tid is not None else 0
            if tid:  # what is open when a window ends counts with its length so far
                row = window.rows[self.thread(tid)]
                row['run_ns'] += ns
                row['longest_ns'] = max(row['longest_ns'], end - self.came[cpu])
            self.since[cpu] = end

    def charge_all(self, until):
        """Those that have left by then up to that time."""
        for cpu, tid in self.current.items():
            left = self.coverage.leaves(cpu, self.last) if self.coverage and tid is not None else None
            if left is not None and left <= until:
                self.left[cpu] = left
            self.charge(cpu, self.left.get(cpu, until))

    def switch(self, ns, cpu, text):
        prev, next_ = number(text, 'prev_tid'), number(text, 'next_tid')
        assert self.current[cpu] in (prev, None), 'lost switch'
        self.charge(cpu, ns)
        if prev:
            thread = self.thread(prev)
            thread.comm, thread.prio = string(text, 'prev_comm'), number(text, 'prev_prio')
            thread.cpu = cpu if thread.cpu is None else thread.cpu
            if number(text, 'context_pid') is not None:
                thread.pid = number(text, 'context_pid')
            self.window(ns).rows[thread]['preemptions'] += self.others.sched.is_preempted(number(text, 'prev_state'))
        self.current[cpu], self.since[cpu], self.came[cpu] = next_, ns, ns
        if next_:
            thread = self.thread(next_)
            thread.comm, thread.prio = string(text, 'next_comm'), number(text, 'next_prio')
            row = self.window(ns).rows[thread]
            row['switches'] += 1
            row['migrations'] += thread.cpu is not None and thread.cpu != cpu
            thread.cpu = cpu
        self.others.switch(ns, cpu, self.threads.get(prev) if prev else None,
                           self.threads[next_] if next_ else None, text)
        if prev and self.others.sched.leaves(number(text, 'prev_state')) == 'dead':
            self.end(self.threads[prev], ns)

    def call(self, ns, thread, name, ret, entry, said):
        row, window = collections.Counter(), self.window(ns)
        size = files.moved(name, said, ret)
        for kind, calls in (('read', READ | BOTH), ('write', WRITE | BOTH)):
            if name in calls:
                row[kind + '_bytes'] += size
                row[kind + 's'] += 1
                row[kind + '_ns'] += ns - entry if entry is not None else 0
        row['errors'] += files.failed(ret)
        window.rows[thread].update(row)

    def syscall(self, ns, name, cpu, text):
        thread, entry, exit_ = self.running(cpu), ENTRY.match(name), EXIT.match(name)
        if not thread or not (entry or exit_ or name == 'exit_syscall'):
            return
        if entry:
            thread.open = (entry.group(1), ns, text)
            return
        named = exit_.group(1) if exit_ else None
        opened, thread.open = thread.open, None
        ret = number(text, 'ret')
        if opened and named in (None, opened[0]):
            if opened[0] in READ | WRITE | BOTH:
                self.call(ns, thread, opened[0], ret, opened[1], opened[2])
        elif named in READ | WRITE | BOTH:
            self.call(ns, thread, named, ret, None, None)

    def event(self, ns, name, cpu, text):
        self.now = ns
        self.others.contexts.go_to(ns, cpu, text)
        self.window(ns).names[name] += 1
        if name == 'sched_switch':
            self.switch(ns, cpu, text)
        elif name == 'sched_process_fork':
            tid = number(text, 'child_tid')
            if tid in self.threads:
                self.end(self.threads.pop(tid), ns)
            child = self.thread(tid)
            self.others.sched.fork(ns, child)
            self.others.now.forked(ns, child, number(text, 'child_pid'))
            self.others.waits.count(ns, child)
            child.comm, child.pid = string(text, 'child_comm'), number(text, 'child_pid')
        elif name == 'sched_process_exec':
            self.exec(ns, cpu, text)
        elif name == 'lttng_statedump_process_state':
            thread = self.thread(number(text, 'tid'))
            thread.pid = number(text, 'pid')
            thread.comm = thread.comm or string(text, 'name')
            self.others.waits.count(ns, thread)
            self.others.now.dump(ns, thread, text)
            self.others.waits.count(ns, thread)
        else:
            self.syscall(ns, name, cpu, text)
            self.others.event(ns, name, cpu, text, self.running(cpu))
        self.others.files.life(ns, name, text, self.thread)
        self.others.changing.life(ns, name, text, self.thread)

    def exec(self, ns, cpu, text):
        self.others.contexts.event('sched_process_exec', cpu, text)
        tid, old = number(text, 'tid'), number(text, 'old_tid')
        thread = self.thread(tid if old is None else old)
        if old is not None and old != tid:
            self.charge_all(ns)
            for number_, window in self.windows.items():
                if number_ < ns // INTERVAL:
                    window.tids.setdefault(thread, old)
            self.threads.pop(old, None)
            if tid in self.threads:
                self.end(self.threads[tid], ns)
            for other in self.threads.values():  # nothing else of the process goes on, but who is on a CPU
                if other.pid == tid and other is not thread and other.tid not in self.current.values():
                    self.end(other, ns)
            thread.tid = tid
            thread.pid = tid
            self.threads[tid] = thread
            for place, current in self.current.items():
                if place == cpu and current is None:  # it tells who runs, as a switch does
                    self.current[place], self.came[place] = tid, ns
                    self.others.is_found(ns, cpu, thread)
                elif current == old:
                    self.current[place] = tid
        thread.comm = string(text, 'filename').rsplit('/', 1)[-1][:15]


CPU_KEYS = ('run_ns', 'switches', 'migrations', 'preemptions', 'longest_ns')
IO_KEYS = ('read_bytes', 'write_bytes', 'reads', 'writes', 'errors', 'read_ns', 'write_ns')


def of_known(rows):
    """Counted rows (tid, figures); those of unknown threads are one, whoever they were."""
    rows = list(rows)
    known = collections.Counter(row for row in rows if row[0] is not None)
    unknown = [sum(figures) for figures in zip(*(row[1:] for row in rows if row[0] is None))]
    return known + collections.Counter([(None, *unknown)] if unknown else [])


def rows_of(window, keys):
    """{(tid, figures): how many} of rows with any figure; tids may be reused."""
    return of_known((window.tids.get(thread, thread.tid),) + tuple(row[key] for key in keys)
                    for thread, row in window.rows.items() if any(row[key] for key in keys))


def our_rows(rows, keys):
    return of_known((row.get('tid'),) + tuple(row[key] for key in keys) for row in rows
                    if any(row[key] for key in keys))


def merge(windows):
    whole = Window()
    for window in windows:
        whole.names.update(window.names)
        for cpu, (busy, idle) in window.cpus.items():
            whole.cpus[cpu][0] += busy
            whole.cpus[cpu][1] += idle
        for thread, row in window.rows.items():
            longest = max(whole.rows[thread]['longest_ns'], row['longest_ns'])
            whole.rows[thread].update(row)
            whole.rows[thread]['longest_ns'] = longest
    return whole


def compare(what, line, window, left):
    """@left: when CPUs did that are absent from then on."""
    differences = []

    def same(name, ours, theirs):
        if ours != theirs:
            differences.append('%s: %s: %s, the reference has %s' % (
                what, name, str(ours)[:300], str(theirs)[:300]))

    same('events', line['count']['by_name'], dict(window.names))
    cpus = {row['cpu']: [row['busy_ns'], row['idle_ns']] for row in line['cpu']['cpus']
            if row['cpu'] in window.cpus or row['busy_ns'] + row['idle_ns']}
    same('cpus', cpus, {cpu: list(times) for cpu, times in window.cpus.items()})
    ours, theirs = our_rows(line['cpu']['threads'], CPU_KEYS), rows_of(window, CPU_KEYS)
    same('threads', sorted((ours - theirs).elements(), key=str), sorted((theirs - ours).elements(), key=str))
    ours, theirs = our_rows(line['io']['threads'], IO_KEYS), rows_of(window, IO_KEYS)
    same('io', sorted((ours - theirs).elements(), key=str),
         sorted((theirs - ours).elements(), key=str))
    for cpu in line['cpu']['cpus']:
        there = max(min(line['end'], left.get(cpu['cpu'], line['end'])) - line['begin'], 0)
        same('cpu %d adds up' % cpu['cpu'], cpu['busy_ns'] + cpu['idle_ns'] + cpu['unknown_ns'], there)
        same('cpu %d is listed' % cpu['cpu'], True, there > 0 or line['end'] == line['begin'])
    same('busy is run', sum(row['run_ns'] for row in line['cpu']['threads']), line['cpu']['busy_ns'])
    return differences


def check_last_known(total, reference):
    """Names, processes and priorities, where a tid was one thread only."""
    rows = collections.Counter(row.get('tid') for row in total['cpu']['threads'])
    ran = {thread for window in reference.windows.values() for thread, row in window.rows.items()
           if any(row[key] for key in CPU_KEYS)}
    for row in total['cpu']['threads']:
        thread = reference.threads.get(row.get('tid'))
        if thread in ran and rows[row['tid']] == 1:
            for key in ('comm', 'pid', 'prio'):
                if getattr(thread, key) != row.get(key):
                    yield 'thread %d: %s is %r, the reference has %r' % (
                        row['tid'], key, row.get(key), getattr(thread, key))


def unpacked(data):
    """The text of metadata in packets (CTF 1.8.3, section 7.1), or as it is."""
    order = {b'\x57\x1d\xd1\x75': '<', b'\x75\xd1\x1d\x57': '>'}.get(data[:4])
    text, at = b'', 0
    while order and at < len(data):
        content, size = struct.unpack_from(order + 'II', data, at + 24)
        text += data[at + 37:at + content // 8]
        at += size // 8
    return text if order else data


def declared(trace):
    """The kernel's release, which says how states are encoded, and the names of events."""
    with open(os.path.join(trace, 'metadata'), 'rb') as file:
        text = unpacked(file.read())
    found = re.search(rb'kernel_release = "(\d+)\.(\d+)', text)
    names = {name.decode('utf-8', 'replace') for name in re.findall(rb'name = "([^"]*)"', text)}
    return tuple(map(int, found.groups())) if found else (9, 0), names


def check(sillage, trace, events=None):
    reference = Reference(events or events_of(trace), *declared(trace), Coverage(trace))
    out = subprocess.run([sillage, 'analyze', '-q', '-f', 'json', '-a', 'all', '-i',
                          '%dns' % INTERVAL, trace],
                         stdout=subprocess.PIPE, check=True)
    lines = [json.loads(line) for line in out.stdout.decode('utf-8').splitlines()]
    total = [line for line in lines if line['type'] == 'total'][0]
    differences = []
    whole = sequential.merged([book for _, book in sorted(reference.others.books.items())])
    whole.fix(lambda thread: thread.tid)
    for line in lines:
        if line['type'] == 'window':
            window = reference.windows[line['begin'] // INTERVAL]
            differences += compare('window %d' % line['seq'], line, window, reference.left)
            book = reference.others.books[line['begin'] // INTERVAL]

            def tid_of(thread):
                return window.tids.get(thread, thread.tid)

            book.fix(tid_of)
            differences += ['window %d: %s' % (line['seq'], text)
                            for text in sequential.differences(line, book, tid_of)]
    differences += compare('total', total, merge(reference.windows.values()), reference.left)
    differences += ['total: %s' % text for text in sequential.differences(
        total, whole, lambda thread: thread.tid)]
    if (total['begin'], total['end']) != (reference.begin, reference.last):
        differences.append('range %s' % ((total['begin'], total['end']),))
    differences += check_last_known(total, reference)
    for difference in differences[:5]:
        print('# ' + difference)
    if events and not differences:
        return True
    print('%s %s: %d events, %d windows' % ('not ok' if differences else 'ok', trace,
                                            len(reference.events), len(reference.windows)))
    return not differences


if __name__ == '__main__':
    if len(sys.argv) < 3:
        print('skipped: no trace given')
        sys.exit(77)
    results = [check(sys.argv[1], trace) for trace in sys.argv[2:]]
    sys.exit(0 if all(results) else 1)
