"""synthetic_calls: cases of synthetic_cases.py on what fields of kernel events mean.

Results of system calls and drivers, descriptors that change while a call sleeps, states of threads, and what
depends on the version of the tracer.
"""
import itertools
import os
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'reference'))
import perfetto_file
from synthetic import declared, event, IDS, lines_of, Made, metadata, packet, report_of, run, same, switch, thread, total_of

MS = 10**6
CALLS = {'recvfrom': (('s32', 'fd'), ('s64', 'size'), ('s32', 'flags')), 'recvmsg': (('s32', 'fd'), ('s32', 'flags')),
         'socket': (('s32', 'family'), ('s32', 'type')), 'nanosleep': (), 'restart_syscall': (), 'rt_sigreturn': (), 'poll': (),
         'dup2': (('s32', 'oldfd'), ('s32', 'newfd')), 'chdir': (('comm', 'filename'),), 'fchdir': (('s32', 'fd'),),
         'close_range': (('s32', 'fd'), ('s64', 'max_fd'), ('s32', 'flags'))}
OTHERS = {'net_dev_xmit': (('s32', 'rc'), ('s32', 'len'), ('comm', 'name')),
          'x86_exceptions_page_fault_user': (('s64', 'address'),), 'signal_deliver': (('s32', 'sig'),),
          'timer_hrtimer_start': (('s64', 'expires'),)}
MORE = {**OTHERS, **{'syscall_entry_' + name: fields for name, fields in CALLS.items()},
        **{'syscall_exit_' + name: (('s64', 'ret'),) for name in CALLS}}
NUMBERS = {name: 300 + i for i, name in enumerate(MORE)}
PACKED = {'s32': lambda value: struct.pack('<i', value), 's64': lambda value: struct.pack('<q', value),
          'comm': lambda value: value.encode().ljust(16, b'\0')}


def text_of():
    """Metadata of synthetic.py with these, and calls of its own with their arguments."""
    return metadata(0) + ''.join(declared(NUMBERS[name], name, fields) for name, fields in MORE.items())


def more(ts, name, *values):
    return struct.pack('<HQ', NUMBERS[name], ts) + b''.join(
        PACKED[kind](value) for (kind, _), value in zip(MORE[name], values))


def called(begin, name, arguments, ret, took=100_000):
    def one(ts, kind, values):
        name_ = 'syscall_%s_%s' % (kind, name)
        return event(ts, name_, *values) if name_ in IDS and name not in CALLS else more(ts, name_, *values)
    return [one(begin, 'entry', arguments), one(begin + took, 'exit', (ret,))]


def one_thread(scratch, name, *events, end=100 * MS):
    return Made(scratch, name, [packet(0, 0, 0, end, [switch(1, 0, 50)] + list(itertools.chain(*events)) + [switch(end - 1, 50, 0)])],
                text_of())


def test_call_peeks(scratch):
    """What is peeked at is received later; of a message that is cut, what there is room for."""
    made = one_thread(
        scratch, 'peeks', called(1 * MS, 'socket', (2, 1), 3), called(2 * MS, 'recvfrom', (3, 4096, 2), 1000),
        called(3 * MS, 'recvfrom', (3, 4096, 0), 1000), called(4 * MS, 'recvfrom', (3, 0, 0x22), 60000),
        called(5 * MS, 'recvfrom', (3, 100, 0x20), 1400), called(6 * MS, 'recvmsg', (3, 2), 500),
        called(7 * MS, 'recvmsg', (3, 0), 20), called(8 * MS, 'recvfrom', (3, 0, 0x20), 7))
    for args in [], ['--chunk-size', '1']:
        total = total_of(made, '-a', 'io,files', *args)
        same((total['io']['read_bytes'], total['io']['threads'][0]['reads'], total['files']['read_bytes']), (1120, 7, 1120))
        same([(row['name'], row['read_bytes'], row['reads']) for row in total['files']['kinds'] if row['reads']], [('inet', 1120, 7)])


def test_call_begins_again(scratch):
    """-512 to -516 are the kernel's own, and rt_sigreturn has no result; poll fails."""
    made = one_thread(
        scratch, 'again', called(1 * MS, 'recvfrom', (3, 10, 0), -512), called(2 * MS, 'rt_sigreturn', (), -4),
        called(3 * MS, 'recvfrom', (3, 10, 0), 10), called(4 * MS, 'poll', (), -4), called(5 * MS, 'nanosleep', (), -516),
        called(6 * MS, 'restart_syscall', (), -516), called(7 * MS, 'restart_syscall', (), 0), called(8 * MS, 'recvfrom', (3, 10, 0), -11))
    total = total_of(made, '-a', 'syscalls,io,files')
    same((total['syscalls']['calls'], total['syscalls']['errors'], [(row['errno'], row['name']) for row in total['syscalls']['by_error']]),
         (8, 2, [(4, 'poll'), (11, 'recvfrom')]))
    same((total['io']['threads'][0]['reads'], total['io']['threads'][0]['errors'], total['files']['errors']), (3, 1, 1))
    reads = [row for row in total['files']['operations'] if row['name'] == 'read'][0]
    same((reads['calls'], reads['errors'], reads['time']['count'], reads['error_time']['count']), (3, 1, 2, 1))


def test_driver_busy(scratch):
    """A driver that has no room gets the packet again; with congestion it has taken it."""
    made = one_thread(scratch, 'busy', [more((1 + i) * MS, 'net_dev_xmit', rc, 100, 'eth0')
                                        for i, rc in enumerate((16, 16, 32, 0, 2, 1, -12))])
    same([tuple(row[key] for key in ('tx_packets', 'tx_bytes', 'tx_busy', 'tx_drops')) for row in total_of(made, '-a', 'net')['net']['interfaces']],
         [(2, 200, 3, 2)])


def test_fault_before_stop(scratch):
    """Whoever is stopped or traced, waits for a core dump, or is given a signal sleeps in no fault; who waits does."""
    for state, signal, wanted in ((4, False, (1, 0)), (8, False, (1, 0)), (0x80, False, (1, 0)), (2, False, (0, 1)), (1, False, (0, 1)),
                                  (2, True, (1, 0))):
        made = Made(scratch, 'fault%d%d' % (state, signal), [packet(0, 0, 0, 9000 * MS, [
            switch(1, 0, 50), more(1 * MS, 'x86_exceptions_page_fault_user', 4096), *[more(2 * MS, 'signal_deliver', 11)] * signal,
            switch(500 * MS, 50, 0, state), switch(5000 * MS, 0, 50)] + called(5100 * MS, 'poll', (), 0) + [switch(5300 * MS, 50, 0)])], text_of())
        for args in [], ['--chunk-size', '1']:
            faults = total_of(made, '-a', 'faults', *args)['faults']
            same((faults['user'], faults['minor'], faults['major']), (1,) + wanted)


def opened(ts, name, fd, dfd=-100):
    return called(ts, 'openat', (dfd, name, 0), fd)


def test_file_given_away(scratch):
    """Calls that sleep while their descriptor is given away, closed or opened anew use the file that it led to."""
    def processes(ts, tids):
        return [event(ts + i, 'lttng_statedump_process_state', tid, 50, 't%d' % tid) for i, tid in enumerate(tids)]
    first = [switch(1, 0, 50)] + processes(10, (50, 51, 52, 53)) + list(itertools.chain(
        opened(1 * MS, '/a', 3), opened(2 * MS, '/b', 4), called(4 * MS, 'dup2', (4, 3), 3), called(6 * MS, 'close', (3,), 0),
        opened(8 * MS, '/c', 3))) + [switch(99 * MS, 50, 0)]

    def reader(cpu, tid, begin, end, count):
        return packet(cpu, 0, 0, 100 * MS, [switch(1, 0, tid), event(begin, 'syscall_entry_pread64', 3), event(end, 'syscall_exit_pread64', count),
                                            switch(99 * MS, tid, 0)])
    made = Made(scratch, 'away', [packet(0, 0, 0, 100 * MS, first), reader(1, 51, 3 * MS, 5 * MS, 10), reader(2, 52, 5 * MS, 7 * MS, 200),
                                  reader(3, 53, 5 * MS, 9 * MS, 4000)], text_of())
    for args in [], ['--chunk-size', '1'], ['-i', '1ms']:
        files = total_of(made, '-a', 'files', *args)['files']
        same({row['path']: row['read_bytes'] for row in files['files'] if row['read_bytes']}, {'/a': 10, '/b': 200, '(unknown)': 4000})


def test_file_waited_for(scratch):
    """`state` tells what the descriptor of an open call led to when the call was entered; what is not known has no path."""
    def processes(ts, tids):
        return [event(ts + i, 'lttng_statedump_process_state', tid, 50, 't%d' % tid) for i, tid in enumerate(tids)]
    deep = list(itertools.chain(*(opened(1_200_000 + i * 200_000, 'x' * 14, 10 + i, dfd=9 + i) for i in range(9)))) + opened(3_500_000, 'end', 4, dfd=18)
    first = [switch(1, 0, 50)] + processes(10, (50, 51, 52, 53, 54)) + list(itertools.chain(
        opened(1 * MS, '/a b', 3), deep, called(4 * MS, 'dup2', (4, 3), 3), called(6 * MS, 'close', (4,), 0))) + [
            switch(99 * MS, 50, 0)]

    def reader(cpu, tid, begin, fd):
        return packet(cpu, 0, 0, 100 * MS, [switch(1, 0, tid), event(begin, 'syscall_entry_pread64', fd), switch(begin + 10, tid, 0)])
    made = Made(scratch, 'waited', [packet(0, 0, 0, 100 * MS, first), reader(1, 51, 3 * MS, 3), reader(2, 52, 5 * MS, 3), reader(3, 53, 7 * MS, 4),
                                    reader(4, 54, 3 * MS, 9)], text_of())
    wanted = {51: 'fd=3 path=/a b', 52: 'fd=3 path=..', 53: 'fd=4', 54: 'fd=9'}
    for args in [], ['--chunk-size', '1'], ['-i', '1ms'], ['-a', 'state,files']:
        state = total_of(made, '-a', 'state', *args)['state']
        for which in 'open', 'blocked':
            found = {row['tid']: row['on'] for row in state[which] if row['call'] == 'pread64'}
            assert found[52].endswith('x/end') and len(found[52]) < 96, found
            same({**found, 52: found[52][:len(wanted[52])]}, wanted)


def test_file_in_directory(scratch):
    """Two processes write log.txt in two directories, where chdir and fchdir tell; forks inherit it."""
    def written(ts, fd, count):
        return called(ts, 'pread64', (fd,), count)
    one = [switch(1, 0, 50), event(10, 'lttng_statedump_process_state', 50, 50, 't50')] + list(itertools.chain(
        opened(1 * MS, 'log.txt', 3), written(2 * MS, 3, 1), called(3 * MS, 'chdir', ('/var/x/',), 0), opened(4 * MS, 'log.txt', 3),
        written(5 * MS, 3, 10), called(6 * MS, 'chdir', ('../y',), 0), opened(7 * MS, './log.txt', 4), written(8 * MS, 4, 200),
        opened(9 * MS, '/opt', 5), called(10 * MS, 'fchdir', (5,), 0), called(11 * MS, 'close_range', (0, 2**32 - 1, 0), 0),
        [event(12 * MS, 'sched_process_fork', 't60', 60, 60, 50)])) + [switch(13 * MS, 50, 60)] + list(itertools.chain(
            opened(14 * MS, 'log.txt', 3), written(15 * MS, 3, 4000), called(16 * MS, 'chdir', ('/nowhere',), -2),
            opened(17 * MS, 'log.txt', 3), written(18 * MS, 3, 1000))) + [switch(99 * MS, 60, 0)]
    made = Made(scratch, 'directory', [packet(0, 0, 0, 100 * MS, one)], text_of())
    same({row['path']: row['read_bytes'] for row in total_of(made, '-a', 'files')['files']['files'] if row['read_bytes']},
         {'log.txt': 1, '/var/x/log.txt': 10, '/var/y/./log.txt': 200, '/opt/log.txt': 5000})


def by_tracer(kernel, *version):
    names = ''.join(' tracer_%s = %d;' % pair for pair in zip(('major', 'minor', 'patchlevel'), version))
    return text_of().replace('kernel_release = "6.1.0";', 'kernel_release = "%s"; tracer_name = "lttng-modules";%s' % (kernel, names))


def exported(scratch, made):
    path = os.path.join(scratch, 'export')
    same(run('export', '-q', '-o', path, made.path)[0], 0)
    return path


def test_states_of_tracers(scratch):
    """prev_state of Linux 4.14 and later: tracers that came before it write the kernel's own numbers."""
    raw, report = (0x1000, 0x80, 0x402), (0x100, 0x20, 0x80)
    for kernel, version, states in (('4.15.0', (2, 10, 8), raw), ('5.4.0', (2, 9, 14), raw), ('4.15.0', (2, 10, 11), raw), ('4.15.0', (2, 8, 7), raw),
                                    ('4.15.0', (2, 10, 12), report), ('4.15.0', (2, 9, 15), report), ('4.15.0', (2, 11, 0), report), ('4.15.0', (), report),
                                    ('4.13.0', (2, 10, 12), (0x1000, 0x40, 0x402))):
        preempted, dead, idle = states
        made = Made(scratch, 'states%s%s' % (kernel, version), [packet(0, 0, 0, 100 * MS, [
            switch(1, 0, 50), more(1 * MS, 'syscall_entry_poll'), switch(10 * MS, 50, 51, preempted), switch(20 * MS, 51, 50, idle),
            switch(30 * MS, 50, 52, dead), switch(99 * MS, 52, 0)])], by_tracer(kernel, *version))
        total = total_of(made, '-a', 'cpu,syscalls')
        same((thread(total['cpu']['threads'], 50)['preemptions'], thread(total['cpu']['threads'], 51)['preemptions'],
              total['syscalls']['never_returned'], total['syscalls']['in_flight']), (1, 0, 1, 0))
        with open(exported(scratch, made), 'rb') as file:
            switches = perfetto_file.File(file.read()).switches()
        same([one.state for one in switches if one.prev in (50, 51)], list((0x100, 0x80, 0x10) if states == raw and kernel != '4.13.0' else (preempted, idle, dead)))
        found = {row['thread']['tid']: row for row in report_of(made)['threads']}
        same((found[50]['end'], found[51]['blocked_ns']), (30 * MS, 100 * MS - 1 * MS - 20 * MS))


def test_containers_by_level(scratch):
    """LTTng up to 2.11 says namespaces in the state dump of processes, once for each level, the own first."""
    text = text_of()
    begin = text.index('event { name = "lttng_statedump_process_state"')
    old = text[begin:text.index('\n', begin) + 1]
    fields = (('s32', 'tid'), ('s32', 'vtid'), ('s32', 'pid'), ('s32', 'vpid'), ('comm', 'name'), ('s32', 'ns_level'), ('s64', 'ns_inum'))
    text = text.replace(old, declared(400, 'lttng_statedump_process_state', fields))
    host, inner = 4026531836, 4026532777

    def dumped(ts, tid, vtid, level, inum):
        return struct.pack('<HQiiii', 400, ts, tid, vtid, tid, vtid) + b'x%d'.ljust(16, b'\0') + struct.pack('<iq', level, inum)
    made = Made(scratch, 'levels', [packet(0, 0, 0, 100 * MS, [
        switch(1, 0, 50), dumped(10, 50, 50, 0, host), dumped(11, 60, 1, 1, inner), dumped(12, 60, 60, 0, host),
        switch(10 * MS, 50, 60), switch(40 * MS, 60, 0), switch(99 * MS, 0, 50)])], text)
    for args in [], ['--chunk-size', '1']:
        rows = total_of(made, '-a', 'cpu', '--per', 'container', *args)['cpu']['containers']
        same([(row['pid_ns'], row['run_ns']) for row in rows], [(4026532777, 30 * MS), (4026531836, 10 * MS - 1)])


def test_what_a_call_waits_for(scratch):
    """Timers, and loans of priority, in a call that was entered in another packet or window.  The first of each counts."""
    begun = [switch(1, 0, 50), more(1 * MS, 'syscall_entry_nanosleep')]
    set_, lent = [more(12 * MS, 'timer_hrtimer_start', at) for at in (777, 999)], [
        event((25 + i) * MS, 'sched_pi_setprio', tid, *prios) for i, (tid, prios) in enumerate(((8, (10, 20)), (9, (20, 10)), (7, (20, 10))))]
    slept = [switch(13 * MS, 50, 0), switch(14 * MS, 0, 60), event(15 * MS, 'syscall_entry_futex', 0x7f00, 128 + 6)]
    woken = [event(50 * MS, 'sched_waking', 50), switch(51 * MS, 0, 50), more(52 * MS, 'timer_hrtimer_start', 888), switch(53 * MS, 50, 0)]
    ended = [event(70 * MS, 'sched_waking', 50), switch(71 * MS, 0, 50), more(72 * MS, 'syscall_exit_nanosleep', 0),
             more(73 * MS, 'timer_hrtimer_start', 555), switch(74 * MS, 50, 0)]
    parts = ((0, 11, begun), (11, 20, set_ + slept), (20, 45, lent + [switch(40 * MS, 60, 0)]), (45, 60, woken), (60, 99, ended))
    made = Made(scratch, 'waits_for', [b''.join(packet(0, i, since * MS, until * MS, events) for i, (since, until, events) in enumerate(parts))],
                text_of())
    timer, futex = (50, 'nanosleep', 'timer=777'), (60, 'futex', 'futex=0x7f00 waiters=1 owner=9')
    for args in itertools.product(['--chunk-size=1', '--chunk-size=1M'], ['-i10ms', '-i15ms', '-i60ms'], ['-j0', '-j2']):
        windows = [line for line in lines_of(made, '-a', 'state', *args) if line['type'] == 'window']
        found = {line['end']: sorted((row['tid'], row['call'], row['on']) for row in line['state']['open']) for line in windows}
        same([found[end] for end in (45 * MS, 60 * MS) if end in found], [[timer, futex]] * len({45 * MS, 60 * MS} & set(found)))
        same(found[max(found)], [futex])
