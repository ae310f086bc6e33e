"""synthetic: writes small traces event by event, and asks sillage what they hold.

A trace is in LTTng's layout: one stream for each CPU, or more, each a list of packets.  The cases
are in synthetic_threads.py, synthetic_gaps.py, synthetic_figures.py, synthetic_reports.py,
synthetic_input.py, synthetic_legal.py, synthetic_windows.py, synthetic_arrivals.py, synthetic_across.py and synthetic_relays.py; synthetic_cases.py
runs them.  generated.py writes its traces with the same functions.
"""
import json
import os
import re
import struct
import subprocess

SILLAGE = None  # the program under test: set by synthetic_cases.py
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
    ('syscall_entry_futex', (('s64', 'uaddr'), ('s32', 'op'))), ('syscall_exit_futex', (('s64', 'ret'),)),
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
    ('kmem_mm_page_alloc', (('s32', 'order'), ('s64', 'pfn'))),
    ('lttng_statedump_process_state', (('s32', 'tid'), ('s32', 'pid'), ('comm', 'name'))),
    ('syscall_entry_setpriority', (('s32', 'which'), ('s32', 'who'), ('s32', 'niceval'))),
    ('syscall_exit_setpriority', (('s64', 'ret'),)),
    ('syscall_entry_nice', (('s32', 'increment'),)), ('syscall_exit_nice', (('s64', 'ret'),)),
    ('sched_wakeup_new', (('s32', 'tid'),)),
    ('lttng_statedump_process_pid_ns', (('s32', 'tid'), ('s32', 'vtid'), ('s32', 'vpid'), ('s32', 'ns_level'),
                                        ('s64', 'ns_inum'))),
]
IDS = {name: i for i, (name, _) in enumerate(EVENTS)}


def metadata(offset):
    text = HEADER % offset
    return text + ''.join(declared(IDS[name], name, fields) for name, fields in EVENTS)


def declared(number, name, fields):
    """An event class more, for the metadata."""
    body = ''.join('%s _%s%s; ' % (FIELD[kind], field, '[16]' if kind == 'comm' else '') for kind, field in fields)
    return 'event { name = "%s"; id = %d; stream_id = 0; fields := struct { %s}; };\n' % (name, number, body)


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


HEAD_BYTES = 76  # of a packet: header and context


def packet(cpu, seq, begin, end, events, discarded=0, stream=0, order='<'):
    body = b''.join(events)
    bits = (HEAD_BYTES + len(body)) * 8
    head = struct.pack(order + 'I', 0xC1FC1FC1) + bytes(range(1, 17)) + struct.pack(order + 'I', stream)
    return head + struct.pack(order + 'QQQQQQI', begin, end, bits, bits, seq, discarded, cpu) + body


class Made:
    """A trace directory: {file: bytes}."""

    def __init__(self, scratch, name, streams, text=None, offset=0):
        self.path = os.path.join(scratch, name)
        os.makedirs(self.path)
        with open(os.path.join(self.path, 'metadata'), 'w') as file:
            file.write(metadata(offset) if text is None else text)
        for i, data in enumerate(streams):
            with open(os.path.join(self.path, 'channel0_%d' % i), 'wb') as file:
                file.write(data)


def run(*args):
    """Exit status, output and error output of sillage."""
    done = subprocess.run([SILLAGE] + list(args), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def lines_of(trace, *args, wanted=0):
    status, out, err = run('analyze', '-f', 'json', '-q', *args, trace.path)
    assert status == wanted, err
    return [json.loads(line) for line in out.splitlines()]


def total_of(trace, *args, wanted=0):
    lines = lines_of(trace, *args, wanted=wanted)
    return [line for line in lines if line['type'] == 'total'][0]


def same(got, wanted):
    assert got == wanted, 'got %r, wanted %r' % (got, wanted)


def thread(rows, tid):
    return [row for row in rows if row.get('tid') == tid][0]


def report_of(trace, *args):
    status, out, err = run('report', '-f', 'json', '-n', '0', *args, trace.path)
    assert status == 0, err
    return json.loads(out)


def channel(number, data):
    """A packet of another stream class."""
    return data[:20] + struct.pack('<I', number) + data[24:]


def apart(kind):
    """Metadata in which events whose names begin so are in a channel of their own."""
    text = re.sub(r'(event { name = "%s[^}]* stream_id = )0' % kind, r'\g<1>1', metadata(0))
    return text + HEADER[HEADER.index('stream {'):].replace('id = 0', 'id = 1')


def with_context(number, data):
    """An event with a context of 32 bits."""
    return data[:10] + struct.pack('<i', number) + data[10:]


def complains(status, text, *args):
    got, _, err = run(*args)
    lines = err.splitlines()
    assert got == status, 'exit status %d, wanted %d: %s' % (got, status, err)
    assert len(lines) == 1 and text in lines[0], 'said %r, wanted one line with %r' % (err, text)
