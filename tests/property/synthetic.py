#!/usr/bin/env python3
"""synthetic: small made traces with a known answer, and bad ones with a known complaint.

Goal    The cases of the analyses reference (9.3) to the nanosecond; each kind of bad input
        gives one clear line and the right exit status.
Method  A trace is written event by event in LTTng's layout; then `sillage analyze` runs.

usage: synthetic.py SILLAGE
"""
import json
import os
import re
import resource
import shutil
import struct
import subprocess
import sys
import tempfile
import time

HEADER = '''/* CTF 1.8 */
typealias integer { size = 8; align = 8; signed = false; } := uint8_t;
typealias integer { size = 16; align = 8; signed = false; } := uint16_t;
typealias integer { size = 32; align = 8; signed = false; } := uint32_t;
typealias integer { size = 64; align = 8; signed = false; } := uint64_t;
trace {
	major = 1; minor = 8; byte_order = le;
	uuid = "01020304-0506-0708-090a-0b0c0d0e0f10";
	packet.header := struct { uint32_t magic; uint8_t uuid[16]; uint32_t stream_id; };
};
env { hostname = "made"; domain = "kernel"; kernel_release = "6.1.0"; };
clock { name = mono; freq = 1000000000; offset = %d; };
typealias integer { size = 64; align = 8; signed = false; map = clock.mono.value; } := stamp_t;
stream {
	id = 0;
	event.header := struct { uint16_t id; stamp_t timestamp; };
	packet.context := struct {
		stamp_t timestamp_begin; stamp_t timestamp_end; uint64_t content_size; uint64_t packet_size;
		uint64_t packet_seq_num; uint64_t events_discarded; uint32_t cpu_id;
	};
};
'''
FIELD = {'s32': 'integer { size = 32; align = 8; signed = 1; }',
         's64': 'integer { size = 64; align = 8; signed = 1; }',
         'comm': 'integer { size = 8; align = 8; signed = 0; encoding = UTF8; }'}
EVENTS = [
    ('sched_switch', (('comm', 'prev_comm'), ('s32', 'prev_tid'), ('s32', 'prev_prio'),
                      ('s64', 'prev_state'), ('comm', 'next_comm'), ('s32', 'next_tid'),
                      ('s32', 'next_prio'))),
    ('syscall_entry_futex', (('s64', 'uaddr'),)), ('syscall_exit_futex', (('s64', 'ret'),)),
    ('syscall_entry_read', ()), ('syscall_exit_read', (('s64', 'ret'),)),
    ('syscall_entry_write', ()), ('syscall_exit_write', (('s64', 'ret'),)),
    ('sched_process_fork', (('comm', 'child_comm'), ('s32', 'child_tid'), ('s32', 'child_pid'),
                            ('s32', 'parent_pid'))),
    ('sched_process_exit', (('s32', 'tid'),)), ('sched_process_free', (('s32', 'tid'),)),
    ('sched_waking', (('s32', 'tid'),)), ('sched_wakeup', (('s32', 'tid'),)),
    ('block_rq_issue', (('s32', 'dev'), ('s64', 'sector'), ('s32', 'nr_sector'), ('s32', 'rwbs'))),
    ('block_rq_complete', (('s32', 'dev'), ('s64', 'sector'), ('s32', 'nr_sector'), ('s32', 'rwbs'),
                           ('s32', 'error'))),
    ('irq_handler_entry', (('s32', 'irq'), ('comm', 'name'))),
    ('irq_handler_exit', (('s32', 'irq'), ('s32', 'ret'))),
    ('timer_hrtimer_expire_entry', (('s64', 'hrtimer'),)), ('timer_hrtimer_expire_exit', (('s64', 'hrtimer'),)),
    ('irq_softirq_entry', (('s32', 'vec'),)), ('irq_softirq_exit', (('s32', 'vec'),)),
    ('syscall_entry_openat', (('s32', 'dfd'), ('comm', 'filename'), ('s32', 'flags'))),
    ('syscall_exit_openat', (('s64', 'ret'),)),
    ('syscall_entry_close', (('s32', 'fd'),)), ('syscall_exit_close', (('s64', 'ret'),)),
    ('syscall_entry_dup', (('s32', 'fildes'),)), ('syscall_exit_dup', (('s64', 'ret'),)),
    ('syscall_entry_pread64', (('s32', 'fd'),)), ('syscall_exit_pread64', (('s64', 'ret'),)),
    ('sched_pi_setprio', (('s32', 'tid'), ('s32', 'oldprio'), ('s32', 'newprio'))),
    ('sched_process_exec', (('comm', 'filename'), ('s32', 'tid'), ('s32', 'old_tid'))),
]
IDS = {name: i for i, (name, _) in enumerate(EVENTS)}


def metadata(offset):
    text = HEADER % offset
    for name, fields in EVENTS:
        body = ''.join('%s _%s%s; ' % (FIELD[kind], field, '[16]' if kind == 'comm' else '')
                       for kind, field in fields)
        text += 'event { name = "%s"; id = %d; stream_id = 0; fields := struct { %s}; };\n' % (
            name, IDS[name], body)
    return text


def event(ts, name, *values):
    out = struct.pack('<HQ', IDS[name], ts)
    fields = dict(EVENTS)[name]
    rest = ['' if kind == 'comm' else 0 for kind, _ in fields[len(values):]]
    for (kind, _), value in zip(fields, list(values) + rest):
        out += {'s32': lambda v: struct.pack('<i', v), 's64': lambda v: struct.pack('<q', v),
                'comm': lambda v: v.encode().ljust(16, b'\0')}[kind](value)
    return out


def switch(ts, prev, next_, state=1):
    return event(ts, 'sched_switch', 't%d' % prev, prev, 20, state, 't%d' % next_, next_, 20)


HEAD_BYTES = 76  # of a packet


def packet(cpu, seq, begin, end, events, discarded=0, stream=0, order='<'):
    body = b''.join(events)
    bits = (HEAD_BYTES + len(body)) * 8
    head = struct.pack(order + 'I', 0xC1FC1FC1) + bytes(range(1, 17)) + struct.pack(order + 'I', stream)
    return head + struct.pack(order + 'QQQQQQI', begin, end, bits, bits, seq, discarded, cpu) + body


class Made:
    """A trace directory: {file: bytes}."""

    def __init__(self, scratch, name, streams, text=None, offset=0):
        self.path = os.path.join(scratch, name)
        os.mkdir(self.path)
        with open(os.path.join(self.path, 'metadata'), 'w') as file:
            file.write(metadata(offset) if text is None else text)
        for i, data in enumerate(streams):
            with open(os.path.join(self.path, 'channel0_%d' % i), 'wb') as file:
                file.write(data)


def run(*args):
    done = subprocess.run([SILLAGE] + list(args), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def lines_of(trace, *args):
    status, out, err = run('analyze', '-f', 'json', '-q', *args, trace.path)
    assert status == 0, err
    return [json.loads(line) for line in out.splitlines()]


def total_of(trace, *args):
    lines = lines_of(trace, *args)
    return [line for line in lines if line['type'] == 'total'][0]


def same(got, wanted):
    assert got == wanted, 'got %r, wanted %r' % (got, wanted)


def thread(rows, tid):
    return [row for row in rows if row.get('tid') == tid][0]


# ---- cases of the reference, 9.3 ----

def test_head(scratch):
    """3: a stream begins at 0; thread 7 runs 50 before the first switch, with one read."""
    made = Made(scratch, 'head', [packet(0, 0, 0, 100, [
        event(10, 'syscall_entry_read'), event(30, 'syscall_exit_read', 5), switch(50, 7, 0),
        event(100, 'sched_process_exit', 1)])])
    total = total_of(made)
    # The trace begins with its first event, at 10.
    same(total['cpu']['busy_ns'], 40)
    same(total['cpu']['idle_ns'], 50)
    row = thread(total['io']['threads'], 7)
    same((row['reads'], row['read_bytes'], row['read_ns']), (1, 5, 20))


def test_window_cut(scratch):
    """4: a thread that never switches out is cut at each window's end."""
    s = 10**9
    made = Made(scratch, 'cut', [packet(0, 0, 0, 32 * s // 10, [
        event(0, 'sched_process_exit', 1), switch(s // 2, 0, 7),
        event(32 * s // 10, 'sched_process_exit', 1)])])
    windows = [line for line in lines_of(made, '-i', '1s') if line['type'] == 'window']
    same([w['cpu']['busy_ns'] for w in windows], [s // 2, s, s, s // 5])
    same([(w['begin'], w['end']) for w in windows], [(0, s), (s, 2 * s), (2 * s, 3 * s),
                                                     (3 * s, 32 * s // 10)])


def test_migrated_call(scratch):
    """5: a write entered on CPU 0 returns on CPU 1: one call of 85 ns, whatever the cut."""
    made = Made(scratch, 'migrated', [
        packet(0, 0, 0, 15, [switch(1, 0, 7), event(10, 'syscall_entry_write')]) +
        packet(0, 1, 15, 100, [switch(20, 7, 0)]),
        packet(1, 0, 0, 92, [switch(5, 3, 0), switch(90, 0, 7)]) +
        packet(1, 1, 92, 100, [event(95, 'syscall_exit_write', 4)])])
    for chunk in ('1', '1M'):
        total = total_of(made, '--chunk-size', chunk)
        row = thread(total['io']['threads'], 7)
        same((row['writes'], row['write_bytes'], row['write_ns']), (1, 4, 85))
        same(thread(total['cpu']['threads'], 7)['migrations'], 1)


def test_short_reads(scratch):
    """6: returns 100, -11, 0, 40: four calls, one error, 140 bytes."""
    events = [switch(0, 0, 7)]
    for i, ret in enumerate((100, -11, 0, 40)):
        events += [event(10 * i + 1, 'syscall_entry_read'), event(10 * i + 5, 'syscall_exit_read', ret)]
    row = thread(total_of(Made(scratch, 'short', [packet(0, 0, 0, 100, events)]))['io']['threads'], 7)
    same((row['reads'], row['errors'], row['read_bytes'], row['read_ns']), (4, 1, 140, 16))


def test_gap(scratch):
    """7: discarded events: unknown from the last packet's end to the next switch."""
    made = Made(scratch, 'gap', [
        packet(0, 0, 0, 40, [event(0, 'sched_process_exit', 1), switch(0, 3, 7)]) +
        packet(0, 1, 60, 100, [switch(80, 9, 0), event(100, 'sched_process_exit', 1)], discarded=5)])
    for chunk in ('1', '1M'):
        total = total_of(made, '--chunk-size', chunk)
        same(thread(total['cpu']['threads'], 7)['run_ns'], 40)
        same(total['cpu']['unknown_ns'], 40)
        same(total['cpu']['idle_ns'], 20)
        same(total['count']['discarded'], 5)
        same([row for row in total['cpu']['threads'] if row.get('tid') == 9], [])


def test_missing_packet(scratch):
    """A hole in the sequence numbers is a gap too, and a call across it has no duration."""
    made = Made(scratch, 'missing', [
        packet(0, 0, 0, 40, [switch(0, 3, 7), event(10, 'syscall_entry_read')]) +
        packet(0, 2, 60, 100, [event(70, 'syscall_exit_read', 8), switch(80, 7, 0),
                               event(100, 'sched_process_exit', 1)])])
    for chunk in ('1', '1M'):
        total = total_of(made, '--chunk-size', chunk)
        same(total['count']['lost_packets'], 1)
        same(total['cpu']['unknown_ns'], 40)
        same(total['io']['read_bytes'], 8)
        same(sum(row['read_ns'] for row in total['io']['threads']), 0)


def test_gap_at_the_end(scratch):
    """A gap behind the last event of the trace: no time is counted beyond that event."""
    for name, prev, next_, busy in ('idle', 7, 0, 10), ('busy', 0, 7, 20):
        made = Made(scratch, 'end-' + name, [
            packet(0, 0, 0, 40, [event(0, 'sched_process_exit', 1), switch(10, prev, next_),
                                 event(30, 'sched_process_exit', 1)]) + packet(0, 2, 60, 60, [])])
        for chunk in ('1', '1M'):
            cpu = total_of(made, '--chunk-size', chunk)['cpu']
            same((cpu['busy_ns'], cpu['idle_ns'], cpu['unknown_ns']), (busy, 30 - busy, 0))
            same([row['run_ns'] for row in cpu['threads']], [busy])


def channel(number, data):
    """A packet of another stream class."""
    return data[:20] + struct.pack('<I', number) + data[24:]


def apart(kind):
    """Metadata in which events whose names begin so are in a channel of their own."""
    text = re.sub(r'(event { name = "%s[^}]* stream_id = )0' % kind, r'\g<1>1', metadata(0))
    return text + HEADER[HEADER.index('stream {'):].replace('id = 0', 'id = 1')


def test_missed_calls(scratch):
    """A gap among the calls alone: who runs stays known; of its call, open then, the duration is not."""
    switches = [switch(0, 3, 7), switch(50, 7, 8), switch(80, 8, 0), event(100, 'sched_process_exit', 1)]
    before = [event(10, 'syscall_entry_read'), event(52, 'syscall_entry_write')]
    made = Made(scratch, 'missed', [
        packet(0, 0, 0, 100, switches),
        channel(1, packet(0, 0, 0, 20, before[:1])) +
        channel(1, packet(0, 1, 30, 60, [event(40, 'syscall_exit_read', 8)] + before[1:], discarded=3)) +
        channel(1, packet(0, 2, 60, 100, [event(75, 'syscall_exit_write', 4)], discarded=3))], apart('syscall'))
    for chunk in ('1', '1M'):
        total = total_of(made, '-a', 'all', '--chunk-size', chunk)
        same((thread(total['cpu']['threads'], 7)['run_ns'], total['cpu']['unknown_ns']), (50, 0))
        same((total['io']['read_bytes'], total['io']['write_bytes']), (8, 4))
        same([(row['read_ns'], row['write_ns']) for row in total['io']['threads']], [(0, 0), (0, 23)])


def test_missed_others(scratch):
    """A gap in a channel that calls do not come from: theirs are all there, and their durations known."""
    switches, calls = [switch(0, 3, 7), switch(80, 7, 0)], [event(10, 'syscall_entry_read'),
                                                            event(40, 'syscall_exit_read', 8)]
    others = channel(2, packet(0, 0, 0, 20, [])) + channel(2, packet(0, 2, 30, 100, []))
    for name, text, streams in (
            ('together', metadata(0), [packet(0, 0, 0, 20, switches[:1] + calls[:1]) +
                                       packet(0, 1, 20, 100, calls[1:] + switches[1:])]),
            ('apart', apart('syscall'), [packet(0, 0, 0, 100, switches), channel(1, packet(0, 0, 0, 100, calls))])):
        text += HEADER[HEADER.index('stream {'):].replace('id = 0', 'id = 2')
        made = Made(scratch, 'others-' + name, streams + [others], text)
        for chunk in ('1', '1M'):
            total = total_of(made, '-a', 'all', '--chunk-size', chunk)
            same(total['count']['lost_packets'], 1)
            same([row['read_ns'] for row in total['io']['threads']], [30])
            same((total['syscalls']['untimed'], total['files']['operations'][0]['time']['sum_ns']), (0, 30))
        # What runs is in its call to the end, also in a report.
        same([row['syscall_ns'] for row in report_of(made)['threads'] if row['thread']['tid'] == 7], [30])


def test_call_of_an_instant(scratch):
    """A thread that leaves a CPU and comes to another in one ns, where it enters another call than the open one."""
    made = Made(scratch, 'two-cpus', [
        packet(0, 0, 0, 100, [switch(30, 0, 7), event(35, 'syscall_entry_close', 3), switch(40, 7, 0),
                              event(50, 'sched_process_exit', 1)]),
        packet(1, 0, 0, 100, [switch(10, 0, 7), event(20, 'syscall_entry_read'), switch(30, 7, 0), switch(60, 0, 7),
                              event(70, 'syscall_exit_read', 8), switch(100, 7, 0)])])
    for chunk in ('1', '1M'):
        row = thread(total_of(made, '--chunk-size', chunk)['io']['threads'], 7)
        same((row['reads'], row['read_bytes'], row['read_ns']), (1, 8, 0))


def test_gap_of_an_instant(scratch):
    """A gap in the very ns of a switch: who came then is not who runs behind it."""
    calls = [event(45, 'syscall_entry_read'), event(50, 'syscall_exit_read', 8)]
    made = Made(scratch, 'instant', [
        packet(0, 0, 0, 40, [switch(0, 3, 8), switch(40, 8, 7)]) +
        packet(0, 2, 60, 100, [switch(80, 7, 0), event(100, 'sched_process_exit', 1)]),
        channel(1, packet(0, 0, 0, 100, calls))], apart('syscall'))
    for chunk in ('1', '1M'):
        same([row.get('tid') for row in total_of(made, '--chunk-size', chunk)['io']['threads']], [None])


def test_nobody_known(scratch):
    """What nobody known did on two CPUs is told in the order of the CPUs, not in that in which their streams come."""
    streams = [packet(cpu, 0, 0, 40, [switch(0, 3, 7)]) +
               packet(cpu, 2, 60, 100, [event(70, 'syscall_entry_' + name), event(72, 'syscall_exit_' + name, 8),
                                        event(100, 'sched_process_exit', 1)])
               for cpu, name in enumerate(('read', 'write'))]
    for name, files in ('up', streams), ('down', streams[::-1]):
        rows = total_of(Made(scratch, 'nobody-' + name, files))['io']['threads']
        same([(row.get('tid'), row['read_bytes'], row['write_bytes']) for row in rows], [(None, 8, 0), (None, 0, 8)])


def test_reclaim_of_nobody_known(scratch):
    """Who is unknown behind a gap is not who was unknown behind the one before: what that one began is not ended."""
    text = metadata(0) + ''.join('event { name = "mm_vmscan_direct_reclaim_%s"; id = %d; stream_id = 0; fields := struct'
                                 ' { %s order; }; };\n' % (name, number, FIELD['s32'])
                                 for name, number in (('begin', 98), ('end', 99)))
    begin, end = (struct.pack('<HQi', number, ts, 0) for number, ts in ((98, 25), (99, 45)))
    for seq, wanted in (4, 0), (3, 1):
        made = Made(scratch, 'reclaim-%d' % seq, [
            packet(0, 0, 0, 10, [switch(0, 3, 7)]) + packet(0, 2, 20, 30, [begin] + [switch(30, 8, 9)] * (seq == 4)) +
            packet(0, seq, 40, 100, [end, switch(80, 5, 0)])], text)
        same(total_of(made, '-a', 'memory')['memory']['reclaim']['count'], wanted)
    # A gap in another channel hides no end of it.
    made = Made(scratch, 'reclaim-others', [
        packet(0, 0, 0, 100, [switch(0, 3, 7), begin, end, switch(80, 7, 0)]),
        channel(2, packet(0, 0, 0, 20, [])) + channel(2, packet(0, 2, 30, 100, []))],
                text + HEADER[HEADER.index('stream {'):].replace('id = 0', 'id = 2'))
    same(total_of(made, '-a', 'memory')['memory']['reclaim']['count'], 1)


def test_rename_of_an_unseen_thread(scratch):
    """A thread that nothing has told of, since events are missing, takes its leader's tid: that one is gone."""
    made = Made(scratch, 'unseen', [
        packet(0, 0, 0, 20, [switch(0, 0, 27), switch(10, 27, 5)]) +
        packet(0, 2, 60, 100, [event(60, 'sched_process_exec', '/bin/new', 27, 10), switch(80, 27, 0),
                               event(100, 'sched_process_exit', 1)])])
    for names in ('cpu', 'all'):
        rows = [row for row in total_of(made, '-a', names)['cpu']['threads'] if row.get('tid') == 27]
        same([(row.get('pid'), row['run_ns']) for row in rows], [(27, 20), (None, 10)])


def test_rename_at_a_chunks_end(scratch):
    """A call is open where a chunk ends, and in that very ns its thread takes its leader's tid: it ends under that."""
    first = packet(0, 0, 0, 50, [switch(0, 0, 5), switch(10, 5, 27), event(40, 'syscall_entry_read')])
    empty = packet(0, 1, 50, 50, [])
    made = Made(scratch, 'rename', [first + empty + packet(0, 2, 50, 100, [
        event(50, 'sched_process_exec', '/bin/new', 10, 27), event(60, 'syscall_exit_read', 8), switch(100, 10, 0)])])
    for chunk in 1, len(first) + len(empty), '1M':
        row = thread(total_of(made, '--chunk-size', str(chunk))['io']['threads'], 10)
        same((row['reads'], row['read_bytes'], row['read_ns']), (1, 8, 20))


def test_exec_behind_a_gap(scratch):
    """An exec tells who runs from there on; what was read since the gap before it is nobody's that is known."""
    made = Made(scratch, 'exec-gap', [
        packet(0, 0, 0, 50, [switch(10, 0, 7)]) +
        packet(0, 2, 50, 70, [event(60, 'syscall_entry_read'), event(65, 'syscall_exit_read', 8)]) +
        packet(0, 3, 70, 100, [event(80, 'sched_process_exec', '/bin/new', 10, 27), switch(100, 10, 0)])])
    for chunk in '1', '1M':
        rows = total_of(made, '-a', 'io', '--chunk-size', chunk)['io']['threads']
        same([(row.get('tid'), row['read_bytes']) for row in rows], [(None, 8)])


def test_gap_and_waking_of_an_instant(scratch):
    """A thread is woken in the very ns of a gap: behind it, also where the gap is what a chunk begins with."""
    made = Made(scratch, 'gap-waking', [
        packet(0, 0, 0, 50, [switch(10, 0, 7)]) +
        packet(0, 2, 50, 100, [event(50, 'sched_waking', 7), switch(60, 5, 7), switch(100, 7, 0)])])
    for chunk in '1', '1M':
        wake = total_of(made, '-a', 'sched', '--chunk-size', chunk)['sched']['wake']
        same((wake['count'], wake.get('sum_ns')), (1, 10))


def with_context(number, data):
    """An event with a context of 32 bits."""
    return data[:10] + struct.pack('<i', number) + data[10:]


def test_process_by_context(scratch):
    """A context tells the process of who leaves; a later thread of that tid and name may be of another."""
    text = metadata(0).replace('id = 0;', 'id = 0; event.context := struct { %s _pid; };' % FIELD['s32'], 1)
    made = Made(scratch, 'context', [
        packet(0, 0, 0, 100, [with_context(0, switch(0, 0, 7)), with_context(7, switch(10, 7, 0, 64)),
                              with_context(0, switch(30, 0, 7)), with_context(9, event(100, 'sched_process_exit', 1))]),
        packet(1, 0, 0, 100, [with_context(9, event(20, 'sched_process_fork', 't7', 7, 9, 9))])], text)
    for chunk in ('1', '1M'):
        rows = total_of(made, '--chunk-size', chunk)['cpu']['threads']
        same(sorted((row['pid'], row['run_ns']) for row in rows), [(7, 10), (9, 70)])


def test_named_within(scratch):
    """A disk whose name becomes known within a window that is put together from shorter ones has one row there."""
    text = metadata(0) + ('event { name = "lttng_statedump_block_device"; id = 99; stream_id = 0; fields := struct {'
                          ' %s dev; %s diskname[16]; }; };\n' % (FIELD['s32'], FIELD['comm']))
    ms = 10**6
    made = Made(scratch, 'named', [packet(0, 0, 0, 1000 * ms, [
        event(0, 'block_rq_issue', 8 << 20, 8, 8, 1), event(150 * ms, 'block_rq_complete', 8 << 20, 8, 8, 1, 0),
        struct.pack('<HQi', 99, 160 * ms, 8 << 20) + b'sda'.ljust(16, b'\0'),
        event(170 * ms, 'block_rq_issue', 8 << 20, 16, 8, 1), event(250 * ms, 'block_rq_complete', 8 << 20, 16, 8, 1, 0),
        event(999 * ms, 'sched_process_exit', 1)])], text)
    for more in [], ['--trigger', 'count.events > 1G', '--trigger-interval', '100ms']:
        lines = lines_of(made, '-a', 'count,block', '-i', '1s', *more)
        disks = [line for line in lines if line['type'] == 'window'][0]['block']['disks']
        same([(disk['name'], disk['requests'], disk['busy_ns']) for disk in disks], [('sda', 2, 230 * ms)])


def test_wakers_apart(scratch):
    """Wake-ups in a channel of their own: who woke is who ran there, nobody (0), or, behind a gap, unknown."""
    made = Made(scratch, 'wakers', [
        packet(0, 0, 0, 50, [switch(0, 0, 7), switch(40, 7, 0)]) +
        packet(0, 2, 80, 100, [switch(95, 5, 0), event(100, 'sched_process_exit', 1)]),
        packet(1, 0, 0, 100, [switch(5, 9, 0), switch(20, 0, 9), switch(30, 9, 0), switch(50, 0, 9), switch(60, 9, 0),
                              switch(90, 0, 9)]),
        channel(1, packet(0, 0, 0, 100, [event(ts, 'sched_waking', 9) for ts in (10, 45, 70)]))], apart('sched_waking'))
    for chunk in ('1', '1M'):
        longest = total_of(made, '-a', 'sched', '--chunk-size', chunk)['sched']['longest']
        same([(row['ns'], row.get('waker_tid')) for row in longest], [(20, -1), (10, 7), (5, 0)])


def test_switches_twice(scratch):
    """Channels with switches: the first tells who runs, whether the other brings any, and has gaps, or not."""
    again = [line for line in metadata(0).splitlines() if line.startswith('event { name = "sched_switch"')]
    text = apart('syscall') + ''.join(line.replace('stream_id = 0', 'stream_id = 1') for line in again)
    switches = [switch(0, 3, 7), switch(40, 7, 8), switch(60, 8, 7), switch(80, 7, 0)]
    calls = [event(10, 'syscall_entry_read'), event(50, 'syscall_entry_write'), event(55, 'syscall_exit_write', 4),
             event(70, 'syscall_exit_read', 8)]
    both = [switches[0], calls[0], switches[1], calls[1], calls[2], switches[2], calls[3]]
    for name, events in ('both', both), ('none', calls):
        made = Made(scratch, 'twice-' + name, [
            packet(0, 0, 0, 100, switches + [event(100, 'sched_process_exit', 1)]),
            channel(1, packet(0, 0, 0, 75, events)) +
            channel(1, packet(0, 1, 90, 100, [event(95, 'syscall_entry_read')], discarded=2))], text)
        for chunk in ('1', '1M'):
            total = total_of(made, '-a', 'all', '--chunk-size', chunk)
            same((total['cpu']['unknown_ns'], total['cpu']['idle_ns'], total['lost']['anomalies']), (0, 20, 0))
            same([row['run_ns'] for row in total['cpu']['threads']], [60, 20])
            same([(row['read_ns'], row['write_ns']) for row in total['io']['threads']], [(60, 0), (0, 5)])
        same([(row['thread']['tid'], row['run_ns']) for row in report_of(made)['threads'] if row['run_ns']],
             [(7, 60), (8, 20)])


def test_wake_race(scratch):
    """8: woken by 7 before its switch-out: it waits from there on, unless a wakeup says it never left."""
    for confirmed, wake, unexplained in ((False, 1, 0), (True, 0, 1)):
        waking = [event(10, 'sched_waking', 9)] + [event(11, 'sched_wakeup', 9)] * confirmed
        trace = Made(scratch, 'race%d' % confirmed, [
            packet(0, 0, 0, 100, [switch(12, 9, 0), switch(15, 0, 9)]),
            packet(1, 0, 0, 100, [switch(5, 0, 7)] + waking + [switch(90, 7, 0)])])
        for chunk in ('1', '1M'):
            sched = total_of(trace, '-a', 'sched', '--chunk-size', chunk)['sched']
            same((sched['wake']['count'], sched['wake'].get('sum_ns', 0), sched['races'],
                  sched['unexplained']), (wake, 3 * wake, 1, unexplained))
            same([(row['ns'], row['tid'], row['waker_tid']) for row in sched['longest']],
                 [(3, 9, 7)] * wake)


def report_of(trace, *args):
    status, out, err = run('report', '-f', 'json', '-n', '0', *args, trace.path)
    assert status == 0, err
    return json.loads(out)


def switch_prio(ts, prev, next_, state=1):
    """Between threads given as (tid, prio)."""
    return event(ts, 'sched_switch', 't%d' % prev[0], prev[0], prev[1], state, 't%d' % next_[0], next_[0], next_[1])


def test_inversion(scratch):
    """9.3, 1: a low thread that has what a high one wants is kept from running by a medium one."""
    high, medium, low = (10, -51), (20, -31), (30, -11)
    us = 1000
    trace = Made(scratch, 'inversion', [packet(0, 0, 0, 660 * us, [
        event(0, 'sched_process_free', 99),
        event(90 * us, 'syscall_entry_futex', 0x7f00),
        switch_prio(100 * us, high, low),
        event(149 * us, 'irq_handler_entry', 1, 'timer'),
        event(149 * us, 'timer_hrtimer_expire_entry', 5),
        event(150 * us, 'sched_waking', 20),
        event(150 * us, 'timer_hrtimer_expire_exit', 5),
        event(151 * us, 'irq_handler_exit', 1, 1),
        switch_prio(155 * us, low, medium, 0x100),
        switch_prio(455 * us, medium, low),
        event(555 * us, 'sched_waking', 10),
        switch_prio(560 * us, low, high, 0x100),
        event(660 * us, 'sched_process_free', 99)])])
    found = report_of(trace, '--thread', '10')
    same([(part['tid'], part['begin'] // us, part['end'] // us, part['state']) for part in found['path']['segments']],
         [(10, 0, 100, 'run'), (30, 100, 155, 'run'), (30, 155, 455, 'preempted'), (30, 455, 555, 'run'),
          (10, 555, 560, 'wait'), (10, 560, 660, 'run')])
    same([(one['thread']['tid'], one['total_ns'] // us, one['longest_ns'] // us, one['times'], one['inversion_ns'] // us)
          for one in found['rivals']], [(20, 300, 300, 1, 300), (30, 5, 5, 1, 5)])
    spans = {}
    for one in found['inversions']:
        key = one['kind'], one['rival']['tid']
        spans[key] = spans.get(key, 0) + (one['end'] - one['begin']) // us
        same((one['call'], one['futex'], one.get('fair_class')), ('futex', 0x7f00, None))
    same((found['inherited_ns'], [one['same_level_ns'] for one in found['rivals']]), (0, [0, 0]))
    same(spans, {('unbounded', 20): 300, ('direct', 30): 155, ('dispatch', 30): 5})
    same([(one['thread']['tid'], one['state'], one.get('waker', {}).get('tid'), (one['end'] - one['begin']) // us)
          for one in found['waits']], [(30, 'preempted', None, 300), (30, 'preempted', None, 100), (20, 'wait', None, 5),
                                       (10, 'wait', 30, 5)])
    same([(one['thread']['tid'], one['hops'], one['wakes'], one['woken']) for one in found['links']], [(30, 1, 1, 0)])
    # The medium thread was woken by a timer, so nobody else is on its path.
    same({part['tid'] for part in report_of(trace, '--thread', 't20')['path']['segments']}, {20})
    same(run('report', '--thread', 'nobody', trace.path)[0], 1)
    text = run('report', '--thread', '10', trace.path)[1]
    assert re.search(r'unbounded +t30 \(futex\)$', text, re.M) and re.search(r'direct +t10 \(futex\)$', text, re.M), text
    assert max(map(len, text.splitlines()[1:])) <= 80, text


def test_urgency(scratch):
    """Of 10's path: 30 is as urgent, or less, by nice levels only; or it inherits."""
    for name, prio, boost, wanted in (('same', 20, None, (3000, [], 0)), ('nice', 25, None, (0, [('dispatch', True)], 0)),
                                      ('inherit', 25, 20, (3000, [], 50000))):
        events = [switch_prio(1000, (0, 20), (10, 20), 0), switch_prio(2000, (10, 20), (30, prio))]
        events += [event(2000, 'sched_pi_setprio', 30, prio, boost)] if boost else []
        events += [event(52000, 'sched_waking', 10), switch_prio(55000, (30, boost or prio), (10, 20), 0x100), event(60000, 'sched_process_free', 99)]
        found = report_of(Made(scratch, 'urgency-' + name, [packet(0, 0, 0, 60000, events)]), '--thread', '10')
        same((found['rivals'][0]['same_level_ns'],
              [(one['kind'], one.get('fair_class')) for one in found['inversions'] if one['kind'] != 'direct'],
              found['inherited_ns']), wanted)
        same([one['kind'] for one in found['inversions'] if one['kind'] == 'direct'], ['direct'] if name == 'nice' else [])


def test_page_names(scratch):
    """A name in a trace cannot end the script of the page that it is in."""
    trace = Made(scratch, 'names', [packet(0, 0, 0, 90, [
        event(1, 'sched_switch', 'swapper', 0, 20, 0, '</script><b>', 7, 20),
        event(50, 'sched_switch', '</script><b>', 7, 20, 1, 'swapper', 0, 20)])])
    status, out, _ = run('report', '-f', 'html', trace.path)
    same((status, out.count('</script>'), out.count('u003c/script>') > 0), (0, 2, True))
    same(run('analyze', '-f', 'html', trace.path)[0], 2)


def test_links(scratch):
    """1 wakes 2 twice, 2 wakes 3, 3 wakes 4; 5 is woken by nobody that is known."""
    events = []
    for ts, waker, target in ((100, 1, 2), (200, 1, 2), (300, 2, 3), (400, 3, 4)):
        events += [switch(ts, 0, waker, 0), event(ts + 10, 'sched_waking', target), switch(ts + 20, waker, 0),
                   switch(ts + 30, 0, target, 0), switch(ts + 40, target, 0)]
    trace = Made(scratch, 'links', [packet(0, 0, 0, 900, [switch(50, 5, 0)] + events)])
    for tid, wanted in ((1, [(2, 1, 0, 2), (3, 2, 0, 0), (4, 3, 0, 0)]), (3, [(2, 1, 1, 0), (4, 1, 0, 1), (1, 2, 0, 0)]), (5, [])):
        same([(one['thread']['tid'], one['hops'], one['wakes'], one['woken'])
              for one in report_of(trace, '--thread', str(tid))['links']], wanted)
    assert 'and 2 further away, at most 3 wake-ups' in run('report', '--thread', '1', trace.path)[1]


def test_report_range(scratch):
    """A range in which there is nothing, and one that is none."""
    trace = Made(scratch, 'report-range', [packet(0, 0, 0, 90, [switch(1, 0, 7, 0), switch(50, 7, 0)])])
    status, out, err = run('report', '--begin', '1000', trace.path)
    same((status, out, 'nothing of it is in this range' in err), (1, '', True))
    status, _, err = run('report', '--begin', '20', '--end', '10', trace.path)
    same((status, 'not before' in err), (2, True))
    found = report_of(trace, '--begin', '10', '--end', '30')
    same([(row['begin'], row['end'], row['run_ns']) for row in found['threads']], [(10, 30, 20)])


def test_report_ahead(scratch):
    """A stream is decoded far ahead of the other one, over packets that have nothing for a report."""
    busy = [event for i in range(20000) for event in (switch(100 + 2 * i, 0, 5, 0), switch(101 + 2 * i, 5, 0))]
    other = [event(60200 + i, 'block_rq_issue') for i in range(30)]
    streams = [packet(0, 0, 0, 50000, [switch(90, 0, 7, 0), switch(50000, 7, 8)] + [event(50000, 'block_rq_issue')] * 30) +
               b''.join(packet(0, seq, 50000, 60300, other) for seq in range(1, 5)) +
               packet(0, 5, 60300, 60900, [switch(60300, 8, 9), event(60350, 'block_rq_issue')]),
               packet(1, 0, 0, 59000, busy)]
    trace = Made(scratch, 'report-ahead', streams)
    alone, ahead = (report_of(trace, '-j', threads) for threads in '03')
    same(ahead, alone)
    same(sorted((row['thread']['tid'], row['thread']['comm'], row['run_ns']) for row in ahead['threads']),
         [(5, 't5', 20000), (7, 't7', 49910), (8, 't8', 10300), (9, 't9', 50)])
    same((ahead['events'], ahead['gaps'], ahead['end']), (40000 + 32 + 120 + 2, 0, 60350))


def test_report_exec_head(scratch):
    """Who ran at first is told by an exec as well: the thread before it took its leader's tid."""
    made = Made(scratch, 'exec-head', [packet(0, 0, 0, 100, [
        event(10, 'syscall_entry_read'), event(20, 'sched_process_exec', '/bin/new', 4, 19),
        event(40, 'syscall_exit_read', 5), switch(50, 4, 0), event(100, 'sched_process_exit', 1)])])
    jobs = report_of(made, '--job', 'syscall_entry_read; syscall_exit_read')['jobs']
    same((jobs['count'], jobs['total_ns']), (1, 30))


def test_report_exec_end(scratch):
    """An execution that ends with an exec is of the thread that takes its leader's tid, not of the leader."""
    made = Made(scratch, 'exec-end', [
        packet(0, 0, 0, 100, [switch(0, 4, 19), event(10, 'syscall_entry_read'),
                              event(40, 'sched_process_exec', '/bin/new', 4, 19), switch(60, 4, 0),
                              event(100, 'sched_process_exit', 1)]),
        packet(1, 0, 0, 100, [switch(5, 0, 4), switch(20, 4, 0)])])
    jobs = report_of(made, '-n', '1', '--job', 'syscall_entry_read; sched_process_exec')['jobs']
    same((jobs['count'], jobs['total_ns'], jobs['longest'][0].get('blocked_ns', 0)), (1, 30, 0))
    made = Made(scratch, 'exec-end-young', [
        packet(0, 0, 0, 100, [switch(0, 0, 19), event(10, 'syscall_entry_read'), event(30, 'sched_waking', 4),
                              event(40, 'sched_process_exec', '/bin/new', 4, 19), switch(60, 4, 0),
                              event(100, 'sched_process_exit', 1)])])
    same(report_of(made, '--job', 'syscall_entry_read; sched_process_exec')['jobs']['count'], 1)


def test_report_context(scratch):
    """Calls in a channel of their own whose context tells the thread, while it is not known who runs."""
    text = apart('syscall').replace('\tid = 1;', '\tid = 1; event.context := struct { %s _tid; };' % FIELD['s32'], 1)
    made = Made(scratch, 'report-context', [
        packet(0, 0, 0, 20, [switch(0, 3, 7)]) + packet(0, 2, 70, 100, [switch(80, 7, 0)]),
        channel(1, packet(0, 0, 0, 100, [with_context(7, event(50, 'syscall_entry_read')),
                                         with_context(7, event(60, 'syscall_exit_read', 5))]))], text)
    jobs = report_of(made, '--job', 'syscall_entry_read; syscall_exit_read')['jobs']
    same((jobs['count'], jobs['total_ns']), (1, 10))


def test_patterns(scratch):
    """What is wrong in a pattern of --job is said with its place."""
    trace = Made(scratch, 'patterns', [packet(0, 0, 0, 90, [switch(1, 0, 7, 0), event(10, 'syscall_entry_read'),
                                                             event(30, 'syscall_exit_read', 5), switch(50, 7, 0)])])
    for pattern, why in (('a', 'column 2: expected ;'), ('', 'the name of an event'), ('a; b x', 'expected =, !='),
                         ('a; b x=', 'a number, a text, or'), ('a; b x&1=y', 'expected a number'),
                         ('a; b x<$tid', '= before $tid'), ('a; b x&z=1', 'expected a number')):
        status, _, err = run('report', '--job', pattern, trace.path)
        same((status, why in err), (2, True))
    for pattern, found in (('syscall_entry_read; syscall_exit_read ret=5', [(10, 30)]), ('run', [(1, 50)]),
                           ('syscall_entry_read; syscall_exit_read ret!=5', []), ('syscall_*; syscall_exit_*', [(10, 30)]),
                           ('sched_in; sched_switch prev_tid=$tid, prev_comm=t7', [(1, 50)]), ('sched_in; syscall_entry_read', [(1, 10)]),
                           ('sched_in; sched_switch prev_tid=$tid, prev_comm=t', []), ('sched_in; syscall_exit_read ret>4, ret<=5', [(1, 30)])):
        jobs = report_of(trace, '--job', pattern)['jobs']
        same([(one['begin'], one['end']) for one in jobs['longest']], found)
    assert 'wake-to-sleep' in run('report', '--job', 'help', trace.path)[1]


def test_deep_race(scratch):
    """9.3, 8: a thread is woken before it is seen to sleep; or it was, and slept again."""
    for is_race in (True, False):
        streams = [packet(0, 0, 0, 30, [switch(1, 0, 9, 0), switch(12, 9, 0), switch(15, 0, 9, 0), switch(20, 9, 0)]),
                   packet(1, 0, 0, 30, [switch(1, 0, 7, 0), event(10, 'sched_waking', 9)] +
                          ([] if is_race else [event(11, 'sched_wakeup', 9)]) + [switch(25, 7, 0)])]
        found = report_of(Made(scratch, 'deep-race-%d' % is_race, streams))
        row = [row for row in found['threads'] if row['thread']['tid'] == 9][0]
        same((row.get('wait_ns', 0), row['run_ns']), (3 if is_race else 0, 16))
        same([(one['thread']['tid'], one['hops'], one['wakes'], one['woken'])
              for one in report_of(Made(scratch, 'deep-links-%d' % is_race, streams), '--thread', '7')['links']],
             [(9, 1, 0, 1)] if is_race else [])
        same([one['waker']['tid'] for one in found['waits'] if one['thread']['tid'] == 9 and one['state'] == 'wait'], [7] if is_race else [])
        same(row['blocked_ns'], (25 - 20) + (0 if is_race else 3))


def test_block(scratch):
    """10: a request that completes in two parts: one of 50 ns and 8192 bytes, depth 1 from 10 to 60."""
    trace = Made(scratch, 'block', [
        packet(0, 0, 0, 100, [event(10, 'block_rq_issue', 8 << 20, 1000, 16, 4)]),
        packet(1, 0, 0, 100, [event(40, 'block_rq_complete', 8 << 20, 1000, 8, 4, 0),
                              event(60, 'block_rq_complete', 8 << 20, 1008, 8, 4, 0),
                              event(99, 'block_rq_complete', 8 << 20, 5, 8, 4, 0)])])
    block = total_of(trace, '-a', 'block')['block']
    disk = block['disks'][0]
    same([disk[key] for key in ('name', 'requests', 'read_bytes', 'busy_ns', 'depth_ns', 'depth_max',
                                'in_flight')], ['(8,0)', 1, 8192, 50, 50, 1, 0])
    same((disk['time']['sum_ns'], disk['read_time']['count'], block['orphans']), (50, 1, 1))


def test_in_flight(scratch):
    """A call that does not return is shown with its age in each window, and when its thread ends."""
    trace = Made(scratch, 'flight', [
        packet(0, 0, 0, 30, [switch(1, 0, 7), event(5, 'syscall_entry_read'), switch(10, 7, 0)]),
    ], offset=10**9)
    calls = [line['syscalls'] for line in lines_of(trace, '-a', 'syscalls') if line['type'] == 'total'][0]
    same((calls['calls'], calls['in_flight'], calls['oldest_ns']), (0, 1, 5))
    trace = Made(scratch, 'ended', [
        packet(0, 0, 0, 30, [switch(1, 0, 7), event(5, 'syscall_entry_read'), switch(10, 7, 0, 16)])])
    calls = total_of(trace, '-a', 'syscalls')['syscalls']
    same((calls['in_flight'], calls['never_returned']), (0, 1))
    # Who died is passed over at the end of a window, but not if its tid shows up once more.
    us = 1000
    trace = Made(scratch, 'again', [
        packet(0, 0, 0, 3000 * us, [
            switch(us, 0, 7), event(5 * us, 'syscall_entry_read'), switch(10 * us, 7, 0, 16),
            switch(2100 * us, 0, 7), event(2200 * us, 'syscall_entry_read'), switch(2300 * us, 7, 0),
            event(2999 * us, 'syscall_exit_write', 0)])])
    calls = total_of(trace, '-a', 'syscalls', '-i', '1ms')['syscalls']
    same((calls['in_flight'], calls['never_returned']), (0, 2))


def test_nested_irq(scratch):
    """An interrupt inside a softirq: both last as long as they last, each ns of the CPU counts once."""
    trace = Made(scratch, 'irq', [packet(0, 0, 0, 100, [
        event(10, 'irq_softirq_entry', 3), event(20, 'irq_handler_entry', 5, 'eth0'),
        event(35, 'irq_handler_exit', 5, 0), event(60, 'irq_softirq_exit', 3),
        event(70, 'irq_handler_exit', 9, 1)])])
    irq = total_of(trace, '-a', 'irq')['irq']
    same((irq['hard_ns'], irq['soft_ns'], irq['unmatched']), (15, 35, 1))
    same([(row['irq'], row['name'], row['unhandled'], row['time']['sum_ns']) for row in irq['hard']],
         [(5, 'eth0', 1, 15)])
    same([(row['vec_name'], row['time']['sum_ns']) for row in irq['soft']], [('NET_RX', 50)])
    same([len(total_of(trace, '-a', 'irq', '--cpu', cpu)['irq']['cpus']) for cpu in '01'], [1, 0])


def test_lost_irq(scratch):
    """Events are missing inside an interrupt: its exit is unmatched, no duration is made up."""
    trace = Made(scratch, 'lostirq', [
        packet(0, 0, 0, 40, [event(10, 'irq_handler_entry', 5, 'eth0')]) +
        packet(0, 1, 60, 100, [event(70, 'irq_handler_exit', 5, 1)], discarded=3)])
    irq = total_of(trace, '-a', 'irq')['irq']
    same((irq['hard'], irq['hard_ns'], irq['unmatched']), ([], 0, 2))


def test_rows_chosen(scratch):
    """--tid, --comm, --pid, --cpu choose rows, --sort orders them; the trace's own figures stay."""
    trace = Made(scratch, 'chosen', [
        packet(0, 0, 0, 100, [switch(10, 0, 5), switch(40, 5, 6), switch(60, 6, 5), switch(70, 5, 0)]),
        packet(1, 0, 0, 100, [switch(20, 0, 8), switch(90, 8, 0)])])

    def tids(*args):
        cpu = total_of(trace, '-a', 'cpu', *args)['cpu']
        same(cpu['busy_ns'], 60 + 70)
        return [row['tid'] for row in cpu['threads']]

    same(tids(), [8, 5, 6])
    same(tids('--sort', 'switches'), [5, 6, 8])
    same(tids('--tid', '5,6'), [5, 6])
    same(tids('--comm', 't8,t6'), [8, 6])
    same(tids('--pid', '1'), [])
    same([row['cpu'] for row in total_of(trace, '--cpu', '1')['cpu']['cpus']], [1])
    twice = Made(scratch, 'per', [packet(0, 0, 0, 100, [
        switch(10, 0, 5), event(30, 'sched_switch', 't5', 5, 20, 1, 't5', 6, 20), event(
            70, 'sched_switch', 't5', 6, 20, 1, 't0', 0, 20), switch(90, 0, 8), switch(91, 8, 0)])])
    for per, wanted in (('comm', [('t5', None, 60), ('t8', None, 1)]), ('pid', [(None, None, 61)])):
        cpu = total_of(twice, '-a', 'cpu', '--per', per)['cpu']
        same(([(row.get('comm'), row.get('pid'), row['run_ns']) for row in cpu['processes']], cpu['threads'],
              cpu['cpus']), (wanted, [], []))
    irqs = Made(scratch, 'irqs', [packet(0, 0, 0, 200, [
        event(at, name, *values) for at, name, *values in (
            (10, 'irq_handler_entry', 5, 'disk'), (20, 'irq_handler_exit', 5, 1), (30, 'irq_softirq_entry', 3),
            (31, 'irq_softirq_exit', 3), (40, 'irq_softirq_entry', 1), (60, 'irq_softirq_exit', 1))])])
    for which, hard, soft, longest in (('5', [5], [], [10]), ('disk', [5], [], [10]), ('NET_RX', [], [3], [1]),
                                       ('1,5', [5], [1], [20, 10])):
        found = total_of(irqs, '-a', 'irq', '--irq', which)['irq']
        same(([row['irq'] for row in found['hard']], [row['vec'] for row in found['soft']],
              [row['ns'] for row in found['longest']]), (hard, soft, longest))
    calls = [event(at, 'syscall_%s_read' % kind, *([0] * (kind == 'exit'))) for at, kind in
             ((11, 'entry'), (13, 'exit'), (15, 'entry'), (25, 'exit'), (30, 'entry'), (35, 'exit'))]
    made = Made(scratch, 'calls', [packet(0, 0, 0, 100, [switch(10, 0, 5)] + calls + [switch(40, 5, 0)])])
    for limits, wanted in (((), [10, 5, 2]), (('--min', '3ns'), [10, 5]), (('--max', '9ns'), [5, 2]),
                           (('--min', '3ns', '--max', '9ns'), [5])):
        syscalls = total_of(made, '-a', 'syscalls', *limits)['syscalls']
        same(([row['ns'] for row in syscalls['longest']], syscalls['calls']), (wanted, 3))
    status, out, _ = run('analyze', '-q', '-a', 'cpu', '--freq', '-n', '1', trace.path)
    same((status, 't8 (8)' in out, 't5 (5)' in out), (0, True, False))


def fired(trace, when, *args):
    """(begin, end) in windows of 1 s of each time that the trigger fired, and the last event's values."""
    status, out, err = run('analyze', '-q', '-f', 'json', '-a', 'count', '-i', '1s', '--trigger', when,
                           *args, trace.path)
    assert status == 0, err
    lines = [json.loads(line) for line in out.splitlines()]
    found = [line for line in lines if line['type'] == 'trigger']
    assert all(set(line) & {'cpu', 'sched'} == set() for line in lines), 'analyses nobody wants to see'
    return [(line['begin'] // 10**9, line['end'] // 10**9) for line in found], \
        found[-1]['values'] if found else None


def call(begin, name, arguments, ret, took=5):
    return [event(begin, 'syscall_entry_' + name, *arguments),
            event(begin + took, 'syscall_exit_' + name, ret)]


def test_files(scratch):
    """What a descriptor leads to: after open, dup, fork, exec, close, and in another process."""
    events = [event(1, 'sched_process_fork', 'a', 5, 5), switch(2, 9, 5)]
    events += call(10, 'openat', (-100, '/dir', 0), 3) + call(20, 'openat', (3, 'gone', 0o2000000), 4)
    events += call(30, 'pread64', (4,), 100) + call(40, 'dup', (4,), 6) + call(50, 'close', (4,), 0)
    events += call(60, 'pread64', (6,), 10) + call(70, 'pread64', (4,), 1) + call(80, 'openat', (-100, '/own', 0o2000000), 7)
    events += [event(90, 'sched_process_fork', 'b', 6, 6, 5), switch(95, 5, 6)]
    events += call(100, 'pread64', (6,), 1000) + call(110, 'pread64', (7,), -11)
    events += [event(120, 'sched_process_exec', '/bin/b', 6, 6)]
    events += call(130, 'pread64', (6,), 10000) + call(140, 'pread64', (7,), 100000)
    events += [switch(150, 6, 5)] + call(160, 'pread64', (7,), 1000000) + [switch(170, 5, 0)]
    found = total_of(Made(scratch, 'files', [packet(0, 0, 0, 170, events)]), '-a', 'files')['files']
    same({row['path']: (row['read_bytes'], row['reads'], row['errors'], row['opens']) for row in found['files']},
         {'/dir/gone': (11110, 4, 0, 1), '/own': (1000000, 2, 1, 1), '(unknown)': (100001, 2, 0, 0),
          '/dir': (0, 0, 0, 1)})
    same({(row['pid'], row['fd'], row['path'], row['read_bytes']) for row in found['fds']},
         {(5, 4, '/dir/gone', 100), (5, 6, '/dir/gone', 10), (5, 4, '(unknown)', 1), (5, 7, '/own', 1000000),
          (6, 6, '/dir/gone', 11000), (6, 7, '/own', 0), (6, 7, '(unknown)', 100000)})


def test_periods(scratch):
    """Specifications that are wrong are shown where; right ones measure."""
    made = Made(scratch, 'periods', [packet(0, 0, 0, 100, [
        switch(1, 9, 5), event(10, 'irq_softirq_entry', 1), event(20, 'irq_softirq_entry', 2),
        event(50, 'irq_softirq_exit', 1), event(90, 'irq_softirq_exit', 2)])])
    found = total_of(made, '-a', 'count', '--period', 'all = irq_softirq_entry; irq_softirq_exit; by vec',
                     '--period', 'two = irq_softirq_entry vec>=2; irq_softirq_exit vec=2; group vec')['periods']
    same([(row['name'], row['time']['count'], row['time']['sum_ns']) for row in found['by_name']],
         [('all', 2, 110), ('two vec=2', 1, 70)])
    for spec, said in (
            ('x', 'column 2: expected = and an event'), ('x = ', 'column 5: expected the name of an event'),
            ('x = a', 'column 6: expected ; and the event that ends it'),
            ('x = a; b; on c', 'column 11: expected by, group or within'),
            ('x = a; b; by', 'expected by, group or within'),
            ('x = a; b; by c, ', 'column 17: expected a field, $tid or $cpu'),
            ('x = a; b; by c=', 'expected the field of the other event'),
            ('x = a; b; by c, d, e, f', 'expected no more than three keys'),
            ('x = a; b; group c, d, e', 'expected no more than two fields'),
            ('x = a; b; within y', 'column 18: expected the name of a period that was given before'),
            ('y = a c<<1; b', 'column 9: expected a number'),
            ('x = sched_in a=1, b=1, c=1, d=1, e=1, f=1, g=1, h=1; b', 'expected no more than seven conditions'),
            ('x' * 40 + ' = a; b', 'expected a name of at most 31 characters'),
            ('x = a c1=1, c2=1, c3=1, c4=1, c5=1, c6=1, c7=1, c8=1; b; by d, e, f; group g, h', 'expected fewer fields')):
        status, _, err = run('analyze', '--period', spec, made.path)
        assert status == 2 and said in err, (spec, err)
    outer = ('--period', 'y = a; b; by c')
    for more, said in ((('--period', 'y = a; b'), 'expected another name'),
                       (('--period', 'x = a; b; within y'), 'expected periods by $tid'),
                       (('--ust-span', 'a'), 'expected BEGIN,END'), (('--ust-span', 'a,b c=1'), 'expected BEGIN,END')):
        status, _, err = run('analyze', *outer, *more, made.path)
        assert status == 2 and said in err, (more, err)
    status, _, err = run('analyze', '-a', 'periods', made.path)
    same((status, '--period says which' in err), (2, True))


def test_full_table(scratch):
    """Of more names than a table has rows for, those that come late are one row, whatever their length."""
    most, count, name = 16384, 17000, 'a-name-that-is-31-letters-long-'
    events = [switch(1, 9, 5)]
    for i in range(count):
        events += [event(10 * i + 2, 'irq_softirq_entry', i), event(10 * i + 5, 'irq_softirq_exit', i)]
    made = Made(scratch, 'full', [packet(0, 0, 0, 10 * count + 10, events)])
    found = total_of(made, '-a', 'count', '--period', name + ' = irq_softirq_entry; irq_softirq_exit; by vec; group vec')
    times = {row['name']: row['time']['count'] for row in found['periods']['by_name']}
    same((found['periods']['ended'], sum(times.values()), len(times)), (count, count, most + 1))
    same(times['(others)'], count - most)
    same({times[text] for text in times if text.startswith(name)}, {1})


def test_triggers(scratch):
    """Limits, for, until, every, complete, rows and shares; what is wrong is told by its column."""
    second, times = 10**9, []
    busy = {1: 900, 2: 950, 3: 300, 4: 920, 5: 700, 6: 930, 7: 990, 8: 100}  # ms of each second
    for at, ms in busy.items():
        times += [switch(at * second, 0, 5), switch(at * second + ms * 10**6, 5, 0)]
    trace = Made(scratch, 'triggers', [packet(0, 0, 0, 10 * second, [switch(1, 9, 0)] + times + [
        switch(10 * second, 0, 5)])])
    same(fired(trace, 'cpu.busy > 90%')[0], [(2, 3), (4, 5), (6, 7)])
    same(fired(trace, 'cpu.busy >= 90%')[0], [(1, 2), (4, 5), (6, 7)])
    same(fired(trace, 'cpu.busy > 60% for 3s')[0], [(4, 7)])
    same(fired(trace, 'cpu.busy > 90% until < 40%')[0], [(2, 3), (4, 5)])
    same(fired(trace, 'cpu.busy > 90% until cpu.idle > 800ms')[0], [(2, 3)])
    same(fired(trace, 'cpu.busy > 90% every 3s')[0], [(2, 3), (6, 7)])
    same(fired(trace, 'cpu.thread[comm=t5].run > 900ms and cpu.cpu[0].busy < 94%')[0], [(4, 5), (6, 7)])
    same(fired(trace, 'cpu.thread[6].run > 0% or (cpu.busy > 98% and count.rate > 1)')[0], [(7, 8)])
    same(fired(trace, 'sched.requeue.max > 1ms')[0], [])
    times, values = fired(trace, 'cpu.thread[tid=5].run.rate > 980ms')
    same((times, values), ([(7, 8)], [{'figure': 'cpu.thread[tid=5].run.rate', 'row': 't5 (5)', 'holds': True,
                                       'value': 990000000.0, 'op': '>', 'limit': 980000000.0}]))
    lossy = Made(scratch, 'lossy', [packet(0, 0, 0, 2 * second, [switch(1, 9, 5), switch(2 * second, 5, 0)]) +
                                    packet(0, 1, 2 * second + 9, 6 * second,
                                           [switch(3 * second, 0, 5), switch(6 * second, 5, 0)], 7)])
    same(fired(lossy, 'cpu.thread.run > 90%')[0], [(0, 1), (3, 4)])
    same(fired(lossy, 'lost.events > 0')[0], [(2, 3)])
    same(fired(lossy, 'cpu.busy < 50% complete')[0], [])
    for when, column, why in (('cpu.busy > 90% fro 3s', 16, 'expected and, or, for'), ('cpu', 4, 'expected .FIGURE'),
                              ('cqu.busy > 1', 1, 'no analysis'), ('cpu.busy = 3', 10, 'expected >'),
                              ('cpu.thread[x].run > 1', 12, 'a number, or KEY=PATTERN'),
                              ('cpu.thread[com=x].run > 1%', 12, 'a key that they have'),
                              ('net.rate > 1', 9, 'no figure of the trace as a whole'),
                              ('count.events > 3ms', 16, 'expected a number'), ('(cpu.busy > 1%', 15, 'expected )')):
        status, _, err = run('analyze', '--trigger', when, trace.path)
        same((status, 'column %d' % column in err, why in err), (2, True, True))


def test_trigger_rows(scratch):
    """A list is looked at row by row: for, until and firing again are of one thread, not of any."""
    second = 10**9

    def made(name, *cpus):
        streams = []
        for cpu, busy in enumerate(cpus):  # by second: who runs how many ms
            events = [switch(1, 9, 0)]
            for at, (tid, ms) in enumerate(busy, 1):
                events += [switch(at * second, 0, tid), switch(at * second + ms * 10**6, tid, 0)] if ms else []
            streams.append(packet(cpu, 0, 0, 10 * second, events + [switch(10 * second - 1, 0, 9)]))
        return Made(scratch, name, streams)

    turns = made('turns', [(5, 900), (6, 900), (5, 900), (6, 900)])
    same(fired(turns, 'cpu.thread.run > 80% for 2s')[0], [])
    same(fired(turns, 'cpu.cpu.busy > 80% for 2s')[0], [(1, 3)])
    same(fired(turns, 'cpu.thread.run > 80%')[0], [(1, 2), (2, 3), (3, 4), (4, 5)])
    same(fired(turns, 'cpu.thread.run > 80% until < 10%')[0], [(1, 2), (2, 3), (3, 4), (4, 5)])
    same(fired(turns, 'cpu.thread.run > 80% until cpu.thread.run > 2s')[0], [(1, 2), (2, 3)])
    same(fired(turns, 'cpu.thread.run > 80% every 2s')[0], [(1, 2), (3, 4)])
    two = made('two', [(5, ms) for ms in (900, 500, 900, 950, 950, 20, 900)], [(6, ms) for ms in (100, 100, 900, 900, 0, 900, 900)])
    same(fired(two, 'cpu.thread.run > 80%')[0], [(1, 2), (3, 4), (6, 7), (7, 8)])
    same(fired(two, 'cpu.thread.run > 80% until < 30%')[0], [(1, 2), (3, 4), (6, 7), (7, 8)])
    same(fired(two, 'cpu.thread[comm=t5].run > 80% until < 30%')[0], [(1, 2), (7, 8)])
    same(fired(two, 'cpu.thread.run > 80% for 3s')[0], [(3, 6)])
    same(fired(two, 'cpu.thread.run > 80% and cpu.thread.run < 92%')[0], [(1, 2), (3, 4), (6, 7), (7, 8)])
    same(fired(two, 'cpu.thread[comm=t6].run < 50% for 2s')[0], [(1, 3)])
    same(fired(two, 'cpu.thread[comm=t7].run < 50% for 2s')[0], [(0, 3)])
    same(fired(two, 'cpu.thread.run > 80% and cpu.cpu.busy > 92%')[0], [(4, 5)])
    # Descriptor 3 of process 5, and 5 of process 3, of one path.
    events = [event(1, 'sched_process_fork', 'a', 5, 5), event(2, 'sched_process_fork', 'b', 3, 3), switch(3, 9, 5)]
    events += call(10, 'openat', (-100, '/f', 0), 3) + [switch(20, 5, 3)] + call(30, 'openat', (-100, '/f', 0), 5) + [switch(40, 3, 5)]
    events += call(second, 'pread64', (3,), 100) + call(2 * second, 'pread64', (3,), 100) + [switch(2 * second + 50, 5, 3)]
    events += call(2 * second + 100, 'pread64', (5,), 100) + [switch(3 * second, 3, 0)]
    same(fired(Made(scratch, 'descriptors', [packet(0, 0, 0, 3 * second, events)]), 'files.fd.read_bytes > 50')[0], [(1, 2), (2, 3)])
    both = [line for line in lines_of(two, '-a', 'count', '-i', '1s', '--trigger', 'cpu.thread.run > 10% until < 1%') if line['type'] == 'trigger']
    same([(line['begin'] // second, line.get('rows'), line['values'][0]['row']) for line in both], [(1, None, 't5 (5)'), (3, None, 't6 (6)'), (6, None, 't6 (6)')])
    both = [line for line in lines_of(two, '-a', 'count', '-i', '1s', '--trigger', 'cpu.thread.run >= 10% until < 1%') if line['type'] == 'trigger']
    same([(line['begin'] // second, line.get('rows'), line['values'][0]['row']) for line in both], [(1, 2, 't5 (5)'), (6, None, 't6 (6)')])


def test_trigger_interval(scratch):
    """A burst of a tenth of a second is seen where triggers are looked at in tenths, whatever is printed."""
    tenth = 10**8
    trace = Made(scratch, 'bursts', [packet(0, 0, 0, 50 * tenth, [switch(1, 9, 0)] + [
        event(23 * tenth + i * 1000, 'sched_waking', 5) for i in range(60)] + [switch(50 * tenth, 0, 9)])])
    for more, fired, windows in ((('-i', '1s'), [], 6), (('-i', '1s', '--trigger-interval', '100ms'), [(23, 24)], 6),
                                 (('--trigger-interval', '500ms'), [], 0)):
        lines = lines_of(trace, '-a', 'count', '--trigger', 'count.rate > 500/s', *more)
        same([(line['begin'] // tenth, line['end'] // tenth) for line in lines if line['type'] == 'trigger'], fired)
        same(sum(line['type'] == 'window' for line in lines), windows)
    status, _, err = run('analyze', '-i', '1s', '--trigger-interval', '300ms', trace.path)
    same((status, 'multiple' in err), (2, True))


def test_trigger_files(scratch):
    """A file of triggers: checked by itself, wrong lines by their number; commands get the facts."""
    path, out = os.path.join(scratch, 'file'), os.path.join(scratch, 'out')

    def write(text):
        with open(path, 'w') as file:
            file.write(text)
        return run('triggers', '--check', path)

    for text, line, why in (('when = cpu.busy > 1%\n', 1, '[NAME]'), ('[a]\nwhen = cpu.busy >\n', 2, 'expected a value'),
                            ('[a]\nwhen = cpu.busy > 1%\n\n[b]\n', 4, 'no `do`'), ('[a]\n#\ndo = print\n', 3, '`when`'),
                            ('[a]\nwhen = cpu.busy > 1%\ndo = mail me\n', 3, 'expected print'), ('x\n', 1, 'expected [NAME]')):
        status, _, err = write(text)
        same((status, 'line %d:' % line in err, why in err), (1, True, True))
    command = '(cat; echo "$SILLAGE_TRIGGER $SILLAGE_HOST") > %s.part && mv %s.part %s' % (out, out, out)
    status, said, _ = write('# one\n[hot]\nwhen = cpu.busy > 10%\ndo = print\ndo = exec ' + command + '\n')
    same((status, '1 triggers' in said), (0, True))
    trace = Made(scratch, 'trace', [packet(0, 0, 0, 100, [switch(10, 0, 5), switch(90, 5, 0)])])
    status, said, err = run('analyze', '-q', '--triggers', path, trace.path)
    same((status, err, '! hot' in said, 'window' in said), (0, '', True, False))
    while not os.path.exists(out):  # the command is not waited for
        time.sleep(0.05)
    with open(out) as file:
        event, facts = file.read().splitlines()
    same((json.loads(event)['name'], json.loads(event)['type'], facts), ('hot', 'trigger', 'hot made'))


def test_text_width(scratch):
    """No line of text is wider than the terminal was said to be, none is empty of sense."""
    for make in (test_wake_race, test_block, test_nested_irq, test_rows_chosen):
        make(scratch)
    for name in ('race0', 'block', 'irq', 'chosen'):
        status, out, _ = run('analyze', '-q', '-a', 'all', '--freq', os.path.join(scratch, name))
        same((status, max(map(len, out.splitlines())) <= 120), (0, True))


def test_tid_reuse(scratch):
    """9: fork 50, exit 50, fork 50 again, late free 50: two rows, the second stays alive."""
    made = Made(scratch, 'reuse', [packet(0, 0, 0, 100, [
        switch(0, 0, 7), event(5, 'sched_process_fork', 'a', 50, 50), switch(10, 7, 50),
        event(15, 'sched_process_exit', 50), switch(20, 50, 7, 0x20),
        event(25, 'sched_process_fork', 'b', 50, 50), switch(30, 7, 50),
        event(35, 'sched_process_free', 50), switch(50, 50, 7), switch(60, 7, 50), switch(90, 50, 0)])])
    rows = [row for row in total_of(made)['cpu']['threads'] if row.get('tid') == 50]
    same(sorted((row['run_ns'], row['switches']) for row in rows), [(10, 1), (50, 2)])


def test_unseen_entry(scratch):
    """A call whose entry was not seen counts when its exit names it, with no duration."""
    made = Made(scratch, 'unseen', [packet(0, 0, 0, 100, [
        event(5, 'syscall_exit_read', 9), switch(50, 7, 0), event(100, 'sched_process_exit', 1)])])
    row = thread(total_of(made)['io']['threads'], 7)
    same((row['reads'], row['read_bytes'], row['read_ns']), (1, 9, 0))


def test_window_edges(scratch):
    """An event exactly at the end of a window belongs to the next."""
    s = 10**9
    made = Made(scratch, 'edge', [packet(0, 0, 0, 2 * s, [
        event(0, 'sched_process_exit', 1), event(s, 'sched_process_exit', 1),
        event(2 * s, 'sched_process_exit', 1)])])
    windows = [line for line in lines_of(made, '-i', '1s') if line['type'] == 'window']
    same([w['count']['events'] for w in windows], [1, 1, 1])


def test_range(scratch):
    """--begin and --end: state from before the range, figures from inside only."""
    made = Made(scratch, 'range', [packet(0, 0, 0, 100, [
        event(0, 'sched_process_exit', 1), switch(10, 0, 7), switch(60, 7, 0),
        event(100, 'sched_process_exit', 1)])])
    total = total_of(made, '--begin', '20', '--end', '80')
    same((total['begin'], total['end']), (20, 80))
    same((total['cpu']['busy_ns'], total['cpu']['idle_ns'], total['count']['events']), (40, 20, 1))


def test_time_jump(scratch):
    """A jump of the clock by centuries is one long window, not billions."""
    far = 10**9 * 10**9
    made = Made(scratch, 'jump', [packet(0, 0, 0, far, [switch(0, 0, 7), switch(far, 7, 0)])])
    windows = [line for line in lines_of(made, '-i', '1s') if line['type'] == 'window']
    assert len(windows) < 10, len(windows)
    same(sum(w['cpu']['busy_ns'] for w in windows), far)


def test_backwards(scratch):
    """A clock that goes back inside a packet is clamped; every event is counted."""
    made = Made(scratch, 'back', [packet(0, 0, 0, 100, [
        switch(50, 0, 7), switch(40, 7, 0), event(90, 'sched_process_exit', 1)])])
    total = total_of(made)
    same(total['count']['events'], 3)
    same(total['cpu']['busy_ns'] + total['cpu']['idle_ns'] + total['cpu']['unknown_ns'],
         total['end'] - total['begin'])


def test_crowd(scratch):
    """150,000 threads that come and go, tids used again: rows are bounded, sums are not touched."""
    count, tids, packets, events = 150_000, 30_000, [], []
    for i in range(count):
        tid, ts = 2 + i % tids, 1000 * i
        events += [event(ts, 'sched_process_fork', 'child', tid, tid), switch(ts + 100, 0, tid),
                   switch(ts + 300, tid, 0, 64)]
        if len(events) == 3000:
            packets.append(packet(0, len(packets), max(0, ts - 999_000), ts + 999, events))
            events = []
    made = Made(scratch, 'crowd', [b''.join(packets)])
    wanted = None
    for options in (('-j', '0'), ('-j', '3', '--chunk-size', '100000'), ('-i', '20ms', '--max-memory', '1M')):
        total = total_of(made, '-a', 'cpu', *options)['cpu']
        rows = total['threads']
        same(sum(row['run_ns'] for row in rows), 200 * count)
        same(sum(row['switches'] for row in rows), count)
        same([row['comm'] for row in rows if row.get('tid') is None], ['(ended)'])
        assert len(rows) <= 131_072, len(rows)
        if '-i' not in options:  # which rows are folded depends on when windows close
            wanted = wanted or rows
            same(rows == wanted, True)


# ---- bad input and wrong use ----

GOOD = [packet(0, 0, 0, 50, [switch(1, 0, 7)]), packet(0, 1, 50, 100, [switch(60, 7, 0)])]


def complains(status, text, *args):
    got, _, err = run(*args)
    lines = err.splitlines()
    assert got == status, 'exit status %d, wanted %d: %s' % (got, status, err)
    assert len(lines) == 1 and text in lines[0], 'said %r, wanted one line with %r' % (err, text)


def test_wrong_times(scratch):
    """An event that went back, or lies behind its packet, is an anomaly, whoever wants it and wherever it is cut."""
    trace = Made(scratch, 'times', [
        packet(0, 0, 1000, 2000, [event(ts, 'syscall_entry_read') for ts in (1500, 1400, 1600, 2100)]) +
        packet(0, 1, 2000, 3000, [event(ts, 'syscall_entry_read') for ts in (2500, 3100, 3050)])])
    for asked in ('count', 'count,io', 'all'):
        for chunk in ('1', '1M'):
            count = total_of(trace, '-a', asked, '--chunk-size', chunk)['count']
            same((asked, chunk, count['anomalies'], count['events']), (asked, chunk, 4, 7))
    late = [packet(0, seq, 1000 * seq, 1000 * seq + 999,
                   [event(1000 * seq + (1000 if seq == 2 else 10), 'syscall_entry_read')]) for seq in range(4)]
    trace = Made(scratch, 'late', [b''.join(late)])
    for chunk in ('1', '1M'):
        assert 'from packet 2 on' in run('analyze', '--chunk-size', chunk, trace.path)[2]


def test_unknown_packets(scratch):
    """Going on from a state, packets with neither number nor time count again: better that than to lose new ones."""
    text = metadata(0).replace('packet_seq_num', 'unknown').replace(' map = clock.mono.value;', '')
    text = ''.join(line for line in text.splitlines(True) if not line.startswith('clock {'))
    packets = [packet(0, seq, 0, 1000, [event(ts, 'syscall_entry_read') for ts in (10, 20)]) for seq in range(4)]
    state = os.path.join(scratch, 'state')
    for name, count, wanted in (('first', 2, 4), ('all', 4, 12)):
        trace = Made(scratch, name, [b''.join(packets[:count])], text)
        same(run('analyze', '-a', 'count', '--state', state, trace.path)[0], 0)
        total = [json.loads(line) for line in run('merge', '-f', 'json', state)[1].splitlines()][-2]
        same((total['type'], total['count']['events']), ('total', wanted))


def test_wrong_use(scratch):
    complains(2, 'did you mean "analyze"', 'analyse')
    complains(2, 'did you mean "--format"', 'analyze', '--formt', 'json', scratch)
    complains(2, 'did you mean "count"', 'analyze', '-a', 'cuont', scratch)
    complains(2, 'did you mean "json"', 'analyze', '-f', 'jsn', scratch)
    complains(2, '"5parsecs" is not a duration', 'analyze', '-i', '5parsecs', scratch)
    complains(2, '"12Q" is not a size', 'analyze', '--chunk-size', '12Q', scratch)
    complains(2, 'is not net://', 'live', 'http://localhost')
    complains(2, 'analyze needs TRACE', 'analyze')
    complains(2, '--to', 'replay', scratch)
    complains(2, 'is not a time', 'analyze', '--begin', 'tomorrow', scratch)


def test_no_relay(scratch):
    for args in (('live', '--no-retry'), ('list',)):
        complains(1, '127.0.0.1:1', *args, 'net://127.0.0.1:1')


def test_not_a_trace(scratch):
    complains(1, 'No such file', 'analyze', os.path.join(scratch, 'nowhere'))
    os.mkdir(os.path.join(scratch, 'empty'))
    complains(1, 'there is no file "metadata"', 'analyze', os.path.join(scratch, 'empty'))
    complains(1, 'a trace is a directory', 'analyze', SILLAGE)
    assert os.path.isdir(scratch)


def test_bad_metadata(scratch):
    text = metadata(0).replace('uint32_t stream_id;', 'uint33_t stream_id;')
    complains(1, 'metadata line 9: unknown type "uint33_t"', 'analyze',
              Made(scratch, 'type', GOOD, text).path)
    complains(1, 'ends inside a declaration', 'analyze',
              Made(scratch, 'cut', GOOD, metadata(0)[:-30]).path)
    complains(1, 'no trace block', 'analyze', Made(scratch, 'none', GOOD, '/* nothing */\n').path)


def test_truncated(scratch):
    """A file that ends inside a packet's only event: that is lost and said, the rest is read."""
    made = Made(scratch, 'truncated', [b''.join(GOOD)[:-10]])
    status, out, err = run('analyze', '-f', 'json', made.path)
    assert status == 0 and 'passes the end' in err and 'channel0_0' in err, err
    total = [json.loads(line) for line in out.splitlines() if '"total"' in line][0]
    same(total['count']['events'], 1)
    same(total['count']['bad_packets'], 1)
    warnings = [json.loads(line) for line in out.splitlines() if '"warning"' in line]
    assert warnings and warnings[0]['stream'] == 'channel0_0' and warnings[0]['packet'] == 1


def test_bad_event(scratch):
    """An event id that no class has: the rest of that packet only is lost, with its bit."""
    bad = packet(0, 1, 50, 80, [switch(60, 7, 0), struct.pack('<HQ', 999, 70)])
    last = packet(0, 2, 80, 100, [switch(90, 5, 7), event(100, 'sched_process_exit', 1)])
    made = Made(scratch, 'event', [GOOD[0] + bad + last])
    for chunk in ('1', '1M'):
        status, out, err = run('analyze', '-f', 'json', '--chunk-size', chunk, made.path)
        assert status == 0 and 'no event class has the id (999)' in err and 'bit ' in err, err
        total = [json.loads(line) for line in out.splitlines() if '"total"' in line][0]
        same((total['count']['events'], total['count']['bad_packets']), (4, 1))
        same(total['cpu']['unknown_ns'], 30)  # from the last good event to the next switch


def test_bad_header(scratch):
    """A packet with another magic number, and none behind it."""
    made = Made(scratch, 'magic', [GOOD[0] + b'\0' * len(GOOD[1])])
    status, _, err = run('analyze', made.path)
    assert status == 0 and 'magic number' in err, err


def test_cut(scratch):
    """The file ends in the middle of a packet's third event: two count, and one packet is bad."""
    events = [switch(60, 7, 0), switch(70, 0, 7), switch(75, 7, 0)]
    cut = packet(0, 1, 50, 80, events)
    for index in (5, len(events[2]), len(events[2]) + 1):  # the last: between two events
        made = Made(scratch, 'cut%d' % index, [GOOD[0] + cut[:-index]])
        status, out, err = run('analyze', '-f', 'json', made.path)
        assert status == 0 and ('passes the end' in err or 'of which only' in err), err
        total = [json.loads(line) for line in out.splitlines() if '"total"' in line][0]
        wanted = 1 + (1 if index > len(events[2]) else 2)
        same((total['count']['events'], total['count']['bad_packets']), (wanted, 1))


def test_clock_back(scratch):
    """Time stamps that go back are taken for the last one, and said once."""
    made = Made(scratch, 'back', [packet(0, 0, 10, 100, [switch(20, 0, 5), switch(15, 5, 6), switch(50, 6, 0)])])
    status, out, err = run('analyze', '-f', 'json', made.path)
    assert status == 0 and 'went back' in err, err
    total = [json.loads(line) for line in out.splitlines() if '"total"' in line][0]
    same(total['count']['events'], 3)
    same({t['tid']: t['run_ns'] for t in total['cpu']['threads'] if t["tid"] in (5, 6)}, {5: 0, 6: 30})


def test_output(scratch):
    made = Made(scratch, 'out', [b''.join(GOOD)])
    complains(1, 'cannot write', 'analyze', '-o', os.path.join(scratch, 'no/where'), made.path)
    if os.path.exists('/dev/full'):
        complains(1, 'No space left', 'analyze', '-o', '/dev/full', made.path)
    status, out, _ = run('analyze', '-a', 'help')
    assert status == 0 and out.startswith('count'), out


def main():
    failed = 0
    for name, function in sorted(globals().items()):
        if name.startswith('test_'):
            scratch = tempfile.mkdtemp(prefix='sillage-synthetic-')
            try:
                function(scratch)
                print('ok %s' % name[5:])
            except AssertionError as failure:
                failed += 1
                print('not ok %s: %s' % (name[5:], failure))
            finally:
                shutil.rmtree(scratch)
    return 1 if failed else 0


if __name__ == '__main__':
    resource.setrlimit(resource.RLIMIT_CPU, (600, 600))  # of each run: a loop without end is seen, whatever the load
    SILLAGE = os.path.abspath(sys.argv[1])
    sys.exit(main())
