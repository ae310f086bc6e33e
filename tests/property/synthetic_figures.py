"""synthetic_figures: cases of synthetic_cases.py on analyses, selections and triggers.

Figures of each analysis, options that choose rows, triggers.
"""
import collections
import json
import os
import random
import struct
import time

from synthetic import (event, FIELD, IDS, lines_of, Made, metadata, packet, run, same, switch, total_of)


def test_named_within(scratch):
    """A disk is named within a window that is made of shorter ones: it has one row there."""
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


def test_wake_race(scratch):
    """
    Thread 9 is woken before it is switched out: it waits from then on, unless a wakeup shows that
    it never left.
    """
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


def test_wake_without_success(scratch):
    """
    A wake-up that found its thread awake woke nobody, whatever the event is called.
    """
    text = metadata(0).replace('name = "sched_waking"; id = %d; stream_id = 0; fields := struct {' % IDS['sched_waking'],
                               'name = "sched_waking"; id = %d; stream_id = 0; fields := struct { %s _success;' % (
                                   IDS['sched_waking'], FIELD['s32']))
    def waking(ts, success):
        return struct.pack('<HQii', IDS['sched_waking'], ts, success, 9)
    made = Made(scratch, 'success', [
        packet(0, 0, 0, 100, [switch(5, 9, 0), waking(10, 0), waking(20, 1), switch(25, 0, 9), switch(90, 9, 0)])], text)
    total = total_of(made, '-a', 'sched,jobs,preempt', '--job', 'j = sched_in; sched_out')
    same((total['sched']['wakeups'], total['sched']['wake']['sum_ns'], total['preempt']['waited_ns']), (1, 5, 5))
    same([row['late']['sum_ns'] for row in total['jobs']['jobs']], [5])
    found = json.loads(run('report', '-f', 'json', '--job', 'sched_in; sched_out', made.path)[1])
    same(([row['wait_ns'] for row in found['threads']], [one['arrival'] for one in found['jobs']['longest']]), ([5], [20]))


def test_block(scratch):
    """
    A request that completes in two parts is one request: 50 ns, 8192 bytes, depth 1 from 10 to 60.
    """
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
    """
    A call that does not return is reported with its age in each window, and when its thread ends.
    """
    trace = Made(scratch, 'flight', [
        packet(0, 0, 0, 30, [switch(1, 0, 7), event(5, 'syscall_entry_read'), switch(10, 7, 0)]),
    ], offset=10**9)
    calls = [line['syscalls'] for line in lines_of(trace, '-a', 'syscalls') if line['type'] == 'total'][0]
    same((calls['calls'], calls['in_flight'], calls['oldest_ns']), (0, 1, 5))
    trace = Made(scratch, 'ended', [
        packet(0, 0, 0, 30, [switch(1, 0, 7), event(5, 'syscall_entry_read'), switch(10, 7, 0, 16)])])
    calls = total_of(trace, '-a', 'syscalls')['syscalls']
    same((calls['in_flight'], calls['never_returned']), (0, 1))
    # If its tid shows up once more, another thread has it.
    us = 1000
    trace = Made(scratch, 'again', [
        packet(0, 0, 0, 3000 * us, [
            switch(us, 0, 7), event(5 * us, 'syscall_entry_read'), switch(10 * us, 7, 0, 16),
            switch(2100 * us, 0, 7), event(2200 * us, 'syscall_entry_read'), switch(2300 * us, 7, 0),
            event(2999 * us, 'syscall_exit_write', 0)])])
    for more in [], ['-i', '1ms']:
        calls = total_of(trace, '-a', 'syscalls', *more)['syscalls']
        same((calls['in_flight'], calls['never_returned']), (1, 1))


def test_nested_irq(scratch):
    """
    An interrupt inside a softirq: each has its whole duration, and each ns of the CPU counts once.
    """
    trace = Made(scratch, 'irq', [packet(0, 0, 0, 100, [
        event(10, 'irq_softirq_entry', 3), event(20, 'irq_handler_entry', 5, 'eth0'),
        event(35, 'irq_handler_exit', 5, 0), event(60, 'irq_softirq_exit', 3),
        event(70, 'irq_handler_exit', 9, 1)])])
    irq = total_of(trace, '-a', 'irq')['irq']
    same((irq['hard_ns'], irq['soft_ns'], irq['unmatched']), (15, 35, 1))
    same([(row['irq'], row['name'], row['unhandled'], row['time']['sum_ns']) for row in irq['hard']],
         [(5, 'eth0', 1, 15)])
    same([(row['vec_name'], row['time']['sum_ns']) for row in irq['soft']], [('NET_RX', 50)])
    same([len(total_of(trace, '-a', 'irq', '--cpu', cpu, wanted=status)['irq']['cpus'])
          for cpu, status in (('0', 0), ('1', 1))], [1, 0])  # 1: nothing matched


def test_lost_irq(scratch):
    """
    Events are missing inside an interrupt: its exit is unmatched, and no duration is invented.
    """
    trace = Made(scratch, 'lostirq', [
        packet(0, 0, 0, 40, [event(10, 'irq_handler_entry', 5, 'eth0')]) +
        packet(0, 1, 60, 100, [event(70, 'irq_handler_exit', 5, 1)], discarded=3)])
    irq = total_of(trace, '-a', 'irq')['irq']
    same((irq['hard'], irq['hard_ns'], irq['unmatched']), ([], 0, 2))


def test_interrupts_in_cpu(scratch):
    """
    Time in interrupts, nested up to too deep, without their exits or entries, around switches to
    and from idle, and where events are missing: of each window, for any chunks, by a plain program.
    """
    rng = random.Random(5)
    packets, stack, ns, lost, running = [], [], 0, 0, 0
    wanted = collections.defaultdict(lambda: [0, 0])  # by window: of all, of those of idle CPUs
    for seq in range(60):
        events = []
        if rng.random() < 0.1 and seq > 0:
            lost, running = lost + 1, None
            stack.clear()
        ns = begin = ns + 10
        deep = rng.choice((0.3, 0.5, 0.7))
        for _ in range(rng.randrange(40)):
            ns += rng.randrange(1, 30000)
            kind, which = rng.choice(('handler', 'softirq')), rng.randrange(9)
            what = rng.random()
            if what < 0.2:
                is_idle = rng.random() < 0.5
                events.append(switch(ns, running or 0, 0 if is_idle else 7))
                running = 0 if is_idle else 7
            elif what < 0.2 + 0.8 * deep:
                if len(stack) == 8:
                    del stack[0]
                stack.append([kind, which, ns, running, 0])
                events.append(event(ns, 'irq_%s_entry' % kind, which, *(['eth0'] if kind == 'handler' else [])))
            else:
                if stack and rng.random() < 0.8:
                    kind, which = stack[-rng.choice((1, 1, 1, len(stack)))][:2]
                events.append(event(ns, 'irq_%s_exit' % kind, which, *([1] if kind == 'handler' else [])))
                at = [i for i, one in enumerate(stack) if one[:2] == [kind, which]]
                if at:
                    _, _, entry, over, nested = stack[at[-1]]
                    del stack[at[-1]:]
                    if stack:
                        stack[-1][4] += ns - entry
                    wanted[ns // 10**6][0] += ns - entry - nested
                    wanted[ns // 10**6][1] += (ns - entry - nested) * (over == 0)
        packets.append(packet(0, seq, begin, ns + 5, events, discarded=lost))
        ns += 5
    assert len(wanted) > 10 and sum(idle for _, idle in wanted.values()) > 0
    trace = Made(scratch, 'interrupts', [b''.join(packets)])
    for args in (), ('--chunk-size', '1'), ('--chunk-size', '2000', '-j', '2'):
        found = {}
        for line in lines_of(trace, '-a', 'cpu', '-i', '1ms', *args):
            if line['type'] == 'window':
                cpu = line['cpu']
                found[line['begin'] // 10**6] = [cpu['irq_ns'], cpu['used_ns'] - cpu['busy_ns']]
        same({at: both for at, both in found.items() if both != [0, 0]},
             {at: both for at, both in wanted.items() if both != [0, 0]})
        total = total_of(trace, '-a', 'cpu', *args)['cpu']
        same([total['irq_ns'], total['used_ns'] - total['busy_ns']],
             [sum(column) for column in zip(*wanted.values())])


def test_rows_chosen(scratch):
    """
    --tid, --comm, --pid and --cpu choose rows, --sort orders them.  The figures of the trace stay.
    """
    trace = Made(scratch, 'chosen', [
        packet(0, 0, 0, 100, [switch(10, 0, 5), switch(40, 5, 6), switch(60, 6, 5), switch(70, 5, 0)]),
        packet(1, 0, 0, 100, [switch(20, 0, 8), switch(90, 8, 0)])])

    def tids(*args, wanted=0):
        cpu = total_of(trace, '-a', 'cpu', *args, wanted=wanted)['cpu']
        same(cpu['busy_ns'], 60 + 70)
        return [row['tid'] for row in cpu['threads']]

    same(tids(), [8, 5, 6])
    same(tids('--sort', 'switches'), [5, 6, 8])
    same(tids('--tid', '5,6'), [5, 6])
    same(tids('--comm', 't8,t6'), [8, 6])
    same(tids('--pid', '1', wanted=1), [])  # nothing matched
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


def call(begin, name, arguments, ret, took=5):
    return [event(begin, 'syscall_entry_' + name, *arguments),
            event(begin + took, 'syscall_exit_' + name, ret)]


def test_selected_threads_that_do_nothing(scratch):
    """A state dump or a fork shows a process: it is in the trace, although nothing of it counts."""
    made = Made(scratch, 'still', [packet(0, 0, 0, 100, [
        switch(5, 3, 4), event(10, 'lttng_statedump_process_state', 71, 70, 't71'),
        event(20, 'sched_process_fork', 't81', 81, 80, 4), switch(90, 4, 3)])])
    for key, shown in (('--pid', ('70', '80')), ('--tid', ('71', '81')), ('--comm', ('t71', 't8*'))):
        for one in shown:
            for chunk in '1', '1M':
                rows = total_of(made, '-a', 'cpu,sched', '--chunk-size', chunk, key, one)['cpu']['threads']
                same([row['run_ns'] for row in rows if row['run_ns']], [])
    for key, absent in (('--pid', ('71', '81')), ('--tid', ('70', '80')), ('--comm', ('t70', 't80'))):
        for one in absent:
            total_of(made, '-a', 'cpu,sched', key, one, wanted=1)


def test_files(scratch):
    """
    The file behind a descriptor: after open, dup, fork, exec and close, and in another process.
    """
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
    """Wrong specifications are refused with the column.  Right ones measure."""
    made = Made(scratch, 'periods', [packet(0, 0, 0, 100, [
        switch(1, 9, 5), event(10, 'irq_softirq_entry', 1), event(20, 'irq_softirq_entry', 2),
        event(50, 'irq_softirq_exit', 1), event(90, 'irq_softirq_exit', 2)])])
    found = total_of(made, '-a', 'count', '--period', 'all = irq_softirq_entry; irq_softirq_exit; by vec',
                     '--period', 'two = irq_softirq_entry vec>=2; irq_softirq_exit vec=2; group vec')['periods']
    same([(row['name'], row['time']['count'], row['time']['sum_ns']) for row in found['by_name']],
         [('all', 2, 110), ('two vec=2', 1, 70)])
    for spec, said in (
            ('x', 'column 2: expected ; and the event that ends it'), ('x = ', 'column 5: expected the name of an event'),
            ('x = a', 'column 6: expected ; and the event that ends it'),
            ('x = a; b; on c', 'column 11: expected by, then, each, group, within or diff'),
            ('x = a; b; by', 'column 13: expected a field, $tid, $pid, $cpu or global'),
            ('x = a; b; by c, ', 'column 17: expected a field, $tid, $pid, $cpu or global'),
            ('x = a; b; by c=', 'expected the field of the other event'),
            ('x = a; b; by c, d, e, f', 'expected no more than three keys'),
            ('x = a; b; group c, d, e', 'expected no more than two fields'),
            ('x = a; b; within y', 'column 18: expected the name of a period that was given before'),
            ('y = a c<<1; b', 'column 9: expected a number'),
            ('x = sched_in a=1, b=1, c=1, d=1, e=1, f=1, g=1, h=1; b', 'expected no more than seven conditions'),
            ('x' * 40 + ' = a; b', 'expected a name of at most 31 characters'),
            ('x = a; b c1=1, c2=1, c3=1, c4=1, c5=1, c6=1, c7=1, c8=1; by d, e, f; then c; by g, h, i; group j', 'expected fewer fields')):
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
    """A table has more names than rows: the late ones share one row, whatever their length."""
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


def fired(trace, when, *args):
    """
    (begin, end) in windows of 1 s of each time that the trigger fired, and the last event's
    values.
    """
    status, out, err = run('analyze', '-q', '-f', 'json', '-a', 'count', '-i', '1s', '--trigger', when,
                           *args, trace.path)
    assert status == 0, err
    lines = [json.loads(line) for line in out.splitlines()]
    found = [line for line in lines if line['type'] == 'trigger']
    assert all(set(line) & {'cpu', 'sched'} == set() for line in lines), 'analyses nobody wants to see'
    return [(line['begin'] // 10**9, line['end'] // 10**9) for line in found], \
        found[-1]['values'] if found else None


def test_triggers(scratch):
    """Limits, for, until, every, complete, rows and rates.  Errors name their column."""
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
                              ('cqu.busy > 1', 1, 'no analysis has this name'), ('cpu.busy = 3', 10, 'expected >'),
                              ('cpu.thread[x].run > 1', 12, 'a number or KEY=PATTERN'),
                              ('cpu.thread[com=x].run > 1%', 12, 'KEY being comm, tid or pid'),
                              ('net.rate > 1', 9, 'no figure of the trace as a whole'),
                              ('count.events > 3ms', 16, 'expected a number'), ('(cpu.busy > 1%', 15, 'expected )')):
        status, _, err = run('analyze', '--trigger', when, trace.path)
        same((status, 'column %d' % column in err, why in err), (2, True, True))


def test_trigger_rows(scratch):
    """A list is checked row by row: for, until and firing again belong to one thread."""
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
    """Triggers checked every tenth of a second see a burst of that length, whatever is printed."""
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
    """
    A file of triggers: checked alone, wrong lines are named by number, commands get the event.
    """
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
    """No line of text is wider than it may be."""
    for make in (test_wake_race, test_block, test_nested_irq, test_rows_chosen):
        make(scratch)
    for name in ('race0', 'block', 'irq', 'chosen'):
        status, out, _ = run('analyze', '-q', '-a', 'all', '--freq', '--width', '120', os.path.join(scratch, name))
        same((status, max(map(len, out.splitlines())) <= 120), (0, True))
