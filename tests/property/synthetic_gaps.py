"""synthetic_gaps: cases of synthetic_cases.py on lost events, and channels apart.

What is known across a gap, and where kinds of events have channels of their own.
"""
import struct

from synthetic import (apart, channel, event, FIELD, HEADER, lines_of, Made, metadata, packet,
                       report_of, run, same, switch, thread, total_of)


def test_gap(scratch):
    """Discarded events: the CPU is unknown from the end of the last packet to the next switch."""
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
    """A hole in the sequence numbers is a gap too.  A call across it has no duration."""
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


def test_discarded_begins_again(scratch):
    """The tracer began again, with its packets numbered on: what is between is unknown."""
    packets = [packet(0, seq, seq * 100, seq * 100 + 50, [switch(seq * 100 + 10, 5, 6)], discarded=discarded)
               for seq, discarded in enumerate((100, 500, 3, 5))]
    made = Made(scratch, 'again', [b''.join(packets)])
    for chunk in ('1', '1M'):
        same(total_of(made, '-a', 'lost', '--chunk-size', chunk)['lost']['events'], 402)
        status, _, err = run('analyze', '--chunk-size', chunk, made.path)
        assert status == 0 and err.count('the counter of discarded events begins again, with 3 after 500') == 1, err


def test_gap_at_the_end(scratch):
    """A gap lies behind the last event of the trace: no time counts beyond that event."""
    for name, prev, next_, busy in ('idle', 7, 0, 10), ('busy', 0, 7, 20):
        made = Made(scratch, 'end-' + name, [
            packet(0, 0, 0, 40, [event(0, 'sched_process_exit', 1), switch(10, prev, next_),
                                 event(30, 'sched_process_exit', 1)]) + packet(0, 2, 60, 60, []) +
            b''.join(packet(0, seq, 60, 60, []) for seq in range(3, 9))])
        for more in ['1'], ['1M'], ['1', '--max-memory', '1']:
            cpu = total_of(made, '--chunk-size', *more)['cpu']
            same((cpu['busy_ns'], cpu['idle_ns'], cpu['unknown_ns']), (busy, 30 - busy, 0))
            same([row['run_ns'] for row in cpu['threads']], [busy])


def test_missed_calls(scratch):
    """
    A gap in the channel of system calls: the running thread stays known, the call that is open then
    has no duration.
    """
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
    """
    A gap in a channel without system calls: all calls are complete, and so are their durations.
    """
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


def test_gap_of_an_instant(scratch):
    """A gap in the same ns as a switch: the thread that came then is not the one behind the gap."""
    calls = [event(45, 'syscall_entry_read'), event(50, 'syscall_exit_read', 8)]
    made = Made(scratch, 'instant', [
        packet(0, 0, 0, 40, [switch(0, 3, 8), switch(40, 8, 7)]) +
        packet(0, 2, 60, 100, [switch(80, 7, 0), event(100, 'sched_process_exit', 1)]),
        channel(1, packet(0, 0, 0, 100, calls))], apart('syscall'))
    for chunk in ('1', '1M'):
        same([row.get('tid') for row in total_of(made, '--chunk-size', chunk)['io']['threads']], [None])


def test_nobody_known(scratch):
    """Rows of unknown threads on two CPUs are in the order of the CPUs, not of the stream files."""
    streams = [packet(cpu, 0, 0, 40, [switch(0, 3, 7)]) +
               packet(cpu, 2, 60, 100, [event(70, 'syscall_entry_' + name), event(72, 'syscall_exit_' + name, 8),
                                        event(100, 'sched_process_exit', 1)])
               for cpu, name in enumerate(('read', 'write'))]
    for name, files in ('up', streams), ('down', streams[::-1]):
        rows = total_of(Made(scratch, 'nobody-' + name, files))['io']['threads']
        same([(row.get('tid'), row['read_bytes'], row['write_bytes']) for row in rows], [(None, 8, 0), (None, 0, 8)])


def test_reclaim_of_nobody_known(scratch):
    """
    The unknown thread behind one gap is not that behind the next: it does not end the former's
    reclaim.
    """
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


def test_fault_and_gap(scratch):
    """Behind a gap it is not known what a page fault was, unless its thread slept meanwhile."""
    text = metadata(0) + ('event { name = "x86_exceptions_page_fault_user"; id = 98; stream_id = 0; fields := struct { }; };\n'
                          + HEADER[HEADER.index('stream {'):].replace('id = 0', 'id = 2'))
    first = [switch(0, 3, 7), struct.pack('<HQ', 98, 10), switch(20, 7, 0)]
    woken = [switch(60, 0, 7), switch(80, 7, 0)]

    def calls(begin, end):  # a channel of their own misses a packet there
        return channel(2, packet(0, 0, 0, begin, [])) + channel(2, packet(0, 2, end, 100, []))

    for name, streams, wanted in (
            ('whole', [packet(0, 0, 0, 100, first + woken)], [50]),
            ('before', [packet(0, 0, 0, 100, first + woken), calls(2, 5)], [50]),
            ('awake', [packet(0, 0, 0, 100, first + woken), calls(12, 15)], []),
            ('asleep', [packet(0, 0, 0, 100, first + woken), calls(22, 25)], [50]),
            ('switch', [packet(0, 0, 0, 30, first) + packet(0, 2, 40, 100, [switch(50, 7, 0)] + woken)], [])):
        faults = total_of(Made(scratch, 'fault-' + name, streams, text), '-a', 'faults')['faults']
        same([row['ns'] for row in faults['longest']], wanted)
        same([faults[key] for key in ('user', 'minor', 'major')], [1, 0, len(wanted)])


def test_rename_of_an_unseen_thread(scratch):
    """
    A thread is first named when it takes its leader's tid, because events are missing.  The leader
    is gone then.
    """
    made = Made(scratch, 'unseen', [
        packet(0, 0, 0, 20, [switch(0, 0, 27), switch(10, 27, 5)]) +
        packet(0, 2, 60, 100, [event(60, 'sched_process_exec', '/bin/new', 27, 10), switch(80, 27, 0),
                               event(100, 'sched_process_exit', 1)])])
    for names in ('cpu', 'all'):
        rows = [row for row in total_of(made, '-a', names)['cpu']['threads'] if row.get('tid') == 27]
        same([(row.get('pid'), row['run_ns']) for row in rows], [(27, 20), (None, 10)])


def test_exec_behind_a_gap(scratch):
    """
    An exec tells which thread runs from there on.  What was read between the gap and the exec
    belongs to an unknown thread.
    """
    made = Made(scratch, 'exec-gap', [
        packet(0, 0, 0, 50, [switch(10, 0, 7)]) +
        packet(0, 2, 50, 70, [event(60, 'syscall_entry_read'), event(65, 'syscall_exit_read', 8)]) +
        packet(0, 3, 70, 100, [event(80, 'sched_process_exec', '/bin/new', 10, 27), switch(100, 10, 0)])])
    for chunk in '1', '1M':
        rows = total_of(made, '-a', 'io', '--chunk-size', chunk)['io']['threads']
        same([(row.get('tid'), row['read_bytes']) for row in rows], [(None, 8)])


def test_gap_and_waking_of_an_instant(scratch):
    """
    A thread is woken in the ns of a gap: the wake-up is behind the gap, also where a chunk begins
    with it.
    """
    made = Made(scratch, 'gap-waking', [
        packet(0, 0, 0, 50, [switch(10, 0, 7)]) +
        packet(0, 2, 50, 100, [event(50, 'sched_waking', 7), switch(60, 5, 7), switch(100, 7, 0)])])
    for chunk in '1', '1M':
        wake = total_of(made, '-a', 'sched', '--chunk-size', chunk)['sched']['wake']
        same((wake['count'], wake.get('sum_ns')), (1, 10))


def test_switch_in_between_is_lost(scratch):
    """
    Two switch-outs of a thread, and the switch-in between is lost: it slept since the first one, to which the wake-up
    before belongs, and waits since the wake-up behind the second one.
    """
    made = Made(scratch, 'in-lost', [
        packet(0, 0, 0, 20, [switch(0, 3, 7), switch(10, 7, 0)]) +
        packet(0, 2, 50, 100, [switch(60, 7, 0), switch(80, 0, 7), switch(100, 7, 0)]),
        packet(1, 0, 0, 100, [switch(0, 3, 9), event(5, 'sched_waking', 7), event(70, 'sched_waking', 7)])])
    for chunk in '1', '1M':
        total = total_of(made, '-a', 'sched', '--job', 'away = sleep', '--chunk-size', chunk)
        sched, parts = total['sched'], total['jobs']['parts'][0]
        same((sched['wake']['count'], sched['wake'].get('sum_ns'), sched['races']), (1, 10, 1))
        same([parts[part]['sum_ns'] for part in ('running', 'waiting', 'blocked')], [0, 60, 10])


def test_wakers_apart(scratch):
    """
    Wake-ups in a channel of their own: the waker is the thread that ran, 0 on an idle CPU, unknown
    behind a gap.
    """
    made = Made(scratch, 'wakers', [
        packet(0, 0, 0, 50, [switch(0, 0, 7), switch(40, 7, 0)]) +
        packet(0, 2, 80, 100, [switch(95, 5, 0), event(100, 'sched_process_exit', 1)]),
        packet(1, 0, 0, 100, [switch(5, 9, 0), switch(20, 0, 9), switch(30, 9, 0), switch(50, 0, 9), switch(60, 9, 0),
                              switch(90, 0, 9)]),
        channel(1, packet(0, 0, 0, 100, [event(ts, 'sched_waking', 9) for ts in (10, 45, 70)]))], apart('sched_waking'))
    for chunk in ('1', '1M'):
        longest = total_of(made, '-a', 'sched', '--chunk-size', chunk)['sched']['longest']
        same([(row['ns'], row.get('waker_tid')) for row in longest], [(20, -1), (10, 7), (5, 0)])


WAKES = (  # the thread that runs; the events around the wake-up; the waker
    ('app', (), 7), ('app', ('irq_handler_entry',), 0), ('app', ('irq_handler_entry', 'irq_handler_exit'), 7),
    ('app', ('irq_softirq_entry',), 0), ('app', ('irq_softirq_entry', 'irq_handler_entry', 'irq_handler_exit'), 0),
    ('app', ('irq_softirq_entry', 'irq_softirq_exit'), 7), ('app', ('irq_softirq_exit', 'irq_softirq_entry'), 0),
    ('app', ('timer_hrtimer_expire_entry',), 0), ('ksoftirqd/0', ('irq_softirq_entry',), 7),
    ('ksoftirqd/0', ('irq_softirq_entry', 'irq_handler_entry'), 0))


def test_wakers_in_interrupts(scratch):
    """
    An interrupt that wakes is no thread, but for a soft one in ksoftirqd: whether the entry, the
    switch before and the wake-up lie in one chunk or in many, and in whatever channel switches are.
    """
    text, more = apart('sched_switch'), {'irq_handler_entry': (5, 'x'), 'irq_handler_exit': (5, 1)}
    for i, (comm, around, waker) in enumerate(WAKES):
        around = [event(50 + at, name, *more.get(name, (3,))) for at, name in enumerate(around)]
        comes = event(20, 'sched_switch', 't3', 3, 20, 1, comm, 7, 20)
        leaves = event(300, 'sched_switch', comm, 7, 20, 1, 't3', 3, 20)
        other = packet(1, 0, 0, 400, [switch(10, 9, 0), switch(90, 0, 9), switch(100, 9, 0)])
        wakes = event(70, 'sched_waking', 9)
        for name, first in ('comes', [comes]), ('initial', []):
            parts = [first, around, [wakes], [leaves]]
            packets = b''.join(packet(0, seq, at, at + 9, part) for seq, (at, part) in enumerate(
                zip((20, 50, 70, 300), parts)))
            calm = b''.join(packet(0, seq, at, at + 9, part) for seq, (at, part) in enumerate(
                zip((50, 70), parts[1:3])))
            switches = packet(0, 0, 20, 301, first + [leaves])
            for kind, made in ('one', Made(scratch, 'in%d%s1' % (i, name), [packet(0, 0, 0, 400, sum(parts, [])), other])), \
                    ('cut', Made(scratch, 'in%d%s2' % (i, name), [packets, other])), \
                    ('apart', Made(scratch, 'in%d%s3' % (i, name), [channel(1, switches), channel(1, other), calm], text)):
                for chunk in '1', '1M':
                    longest = total_of(made, '-a', 'sched', '--chunk-size', chunk)['sched']['longest']
                    same((i, name, kind, [row['waker_tid'] for row in longest if row['tid'] == 9]), (i, name, kind, [waker]))


def test_switches_twice(scratch):
    """
    Two channels have switches: the first tells which thread runs, whether the other brings any and
    loses events or not.
    """
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


def test_gap_and_switch_of_an_instant(scratch):
    """A thread comes in the ns of a gap: the length of its time on the CPU is not known."""
    made = Made(scratch, 'gap-switch', [
        packet(0, 0, 0, 40, [switch(0, 3, 8), switch(40, 8, 7)]) +
        packet(0, 2, 60, 100, [switch(80, 7, 0), event(100, 'sched_process_exit', 1)])])
    for chunk in '1', '1M':
        row = thread(total_of(made, '-a', 'cpu', '--chunk-size', chunk)['cpu']['threads'], 7)
        same((row['run_ns'], row.get('longest_ns', 0)), (0, 0))


def test_gap_from_window_to_window(scratch):
    """A gap over the end of windows, and of a chunk: its time is unknown in each of them."""
    s = 10**9
    made = Made(scratch, 'gap-windows', [
        packet(0, 0, 0, 40, [switch(0, 3, 7)]) +
        packet(0, 2, 5 * s // 2, 3 * s, [switch(5 * s // 2, 7, 0), event(3 * s, 'sched_waking', 1)]),
        packet(1, 0, 0, 10, [switch(5, 0, 0)]) + packet(1, 1, 10, 2 * s, [event(2 * s, 'sched_waking', 1)]) +
        packet(1, 2, 2 * s, 3 * s, [event(3 * s, 'sched_waking', 1)])])
    for chunk in '1', '1M':
        windows = [line['cpu']['cpus'] for line in lines_of(made, '-i', '1s', '--chunk-size', chunk)
                   if line['type'] == 'window']
        same([(cpu['busy_ns'], cpu['unknown_ns']) for cpus in windows for cpu in cpus if cpu['cpu'] == 0],
             [(40, s - 40), (0, s), (0, s // 2), (0, 0)])


def test_exec_within_a_chunk(scratch):
    """Behind a gap an exec tells which thread runs, also in the middle of a chunk."""
    made = Made(scratch, 'exec-within', [
        packet(0, 0, 0, 50, [switch(10, 0, 7)]) +
        packet(0, 2, 60, 100, [event(70, 'sched_process_exec', '/bin/new', 10, 27),
                               switch(100, 10, 0)])])
    for chunk in '1', '1M':
        cpu = total_of(made, '-a', 'cpu', '--chunk-size', chunk)['cpu']
        same((cpu['unknown_ns'], thread(cpu['threads'], 10)['run_ns']), (20, 30))
    rows = [row for row in report_of(made)['threads'] if row['thread']['tid'] == 10]
    same(sum(row['run_ns'] for row in rows), 30)


def test_priority_behind_a_gap(scratch):
    """An exec behind a gap tells no priority: the thread keeps the one that it had."""
    made = Made(scratch, 'priority', [
        packet(0, 0, 0, 50, [switch(10, 0, 27), switch(20, 27, 10), switch(30, 10, 27)]) +
        packet(0, 2, 60, 100, [event(70, 'sched_process_exec', '/bin/new', 10, 27),
                               event(100, 'sched_waking', 1)])])
    for chunk in '1', '1M':
        rows = total_of(made, '-a', 'cpu', '--chunk-size', chunk)['cpu']['threads']
        same({row['prio'] for row in rows if row['tid'] == 10}, {20})


def test_tid_used_again_behind_a_gap(scratch):
    """
    The end of a thread is lost, and its tid is forked again while its time on a CPU is still open:
    the time belongs to the former thread, also where it is added up later.
    """
    made = Made(scratch, 'again', [
        packet(0, 0, 0, 20, [switch(10, 0, 7)]) + packet(0, 1, 20, 30, []) +
        packet(0, 3, 90, 100, [switch(95, 5, 0)]),
        packet(1, 0, 0, 22, [switch(15, 0, 9)]) +
        packet(1, 1, 22, 50, [event(25, 'sched_process_fork', 'young', 7, 7, 9)]) +
        packet(1, 2, 50, 100, [switch(100, 9, 0)])])
    for more in ['--chunk-size', '1'], ['--chunk-size', '1M'], ['--chunk-size', '1', '--max-memory', '1K']:
        rows = total_of(made, '-a', 'cpu,sched', *more)['cpu']['threads']
        same([(row['comm'], row['run_ns']) for row in rows if row.get('tid') == 7], [('t7', 20)])


def test_pages_apart(scratch):
    """Pages in a channel of their own belong to the thread that ran then, whatever the cut."""
    switches = [switch(0, 3, 7), switch(50, 7, 8), switch(80, 8, 0), event(100, 'sched_waking', 1)]
    pages = [event(ts, 'kmem_mm_page_alloc', order, 5) for ts, order in ((10, 0), (40, 1), (60, 2), (90, 3))]
    made = Made(scratch, 'pages', [packet(0, 0, 0, 100, switches), channel(1, packet(0, 0, 0, 100, pages))],
                apart('kmem'))
    for chunk in '1', '1M':
        rows = total_of(made, '-a', 'memory', '--chunk-size', chunk)['memory']['threads']
        same({row.get('tid'): row['allocated_pages'] for row in rows}, {7: 3, 8: 4, None: 8})


def test_calls_apart_later(scratch):
    """Calls in a channel of their own belong to the thread that runs, long after its switch."""
    s = 10**9
    made = Made(scratch, 'later', [
        packet(0, 0, 0, 40, [switch(10, 0, 7)]) + packet(0, 1, 40, 2 * s, []) +
        packet(0, 2, 2 * s, 3 * s, [switch(3 * s, 7, 0)]),
        channel(1, packet(0, 0, 0, s, [event(30, 'syscall_entry_write'), event(35, 'syscall_exit_write', 4)])) +
        channel(1, packet(0, 1, s, 3 * s, [event(5 * s // 2, 'syscall_entry_read'),
                                           event(5 * s // 2 + 9, 'syscall_exit_read', 8)]))], apart('syscall'))
    for more in ['-i', '1s'], ['-i', '10s'], ['-i', '1s', '--max-memory', '1K']:
        rows = total_of(made, '-a', 'io', '--chunk-size', '1', *more)['io']['threads']
        same([(row.get('tid'), row['read_ns'], row['write_ns']) for row in rows], [(7, 9, 5)])


def test_range_ends_in_a_gap(scratch):
    """A range ends in a gap: the CPU is unknown there, as the packet behind the range tells."""
    made = Made(scratch, 'range-gap', [
        packet(0, 0, 0, 40, [switch(0, 3, 7)]) + packet(0, 2, 100, 150, [switch(120, 9, 0)]) +
        packet(0, 3, 150, 200, [switch(200, 0, 9)]),
        packet(1, 0, 100, 150, [switch(110, 0, 5)]) + packet(1, 1, 150, 200, [switch(200, 5, 0)])])
    for chunk in '1', '1M':
        total = total_of(made, '-a', 'cpu', '--end', '80', '--chunk-size', chunk)
        same({cpu['cpu']: (cpu['busy_ns'], cpu['idle_ns'], cpu['unknown_ns']) for cpu in total['cpu']['cpus']},
             {0: (40, 0, 40), 1: (0, 80, 0)})


def test_unknown_threads_of_two_gaps(scratch):
    """
    What an unknown thread has open ends with the next gap, whatever comes behind it and the
    cut.
    """
    made = Made(scratch, 'unknown', [
        packet(0, 0, 0, 10, [switch(0, 3, 7)]) + packet(0, 2, 20, 30, [event(25, 'syscall_entry_read')]) +
        packet(0, 4, 40, 100, [event(45, 'syscall_exit_read', 8), switch(80, 5, 0),
                               event(100, 'sched_waking', 1)])])
    for chunk in '1', '1M':
        calls = total_of(made, '-a', 'syscalls', '--chunk-size', chunk)['syscalls']
        same((calls['calls'], calls['orphans'], calls['in_flight']), (0, 1, 0))


def test_lost_behind_the_range(scratch):
    """
    Packets behind a range may be read, for the thread that ran at its end.  What was lost there is
    not said, whether merging was fast or slow, and whether map or analyze reads.
    """
    made = Made(scratch, 'lost-behind', [
        packet(0, 0, 0, 40, [event(10, 'sched_process_exit', 1), switch(20, 3, 7)]) +
        b''.join(packet(0, seq, 100 * seq, 100 * seq + 50, [event(100 * seq + 10, 'sched_process_exit', 1)],
                        discarded=seq // 2) for seq in range(1, 6)),
        packet(1, 0, 0, 40, [event(10, 'sched_process_exit', 1)]) +
        b''.join(packet(1, seq, 100 * seq, 100 * seq + 50, [event(100 * seq + 10, 'sched_process_exit', 1)],
                        discarded=seq // 2) for seq in range(1, 6))])
    for command in 'analyze', 'map':
        for chunk in '1', '1M':
            for jobs in '0', '1', '3':
                got = run(command, '-a', 'count,cpu', '--end', '60', '-o', '/dev/null', '--chunk-size', chunk, '-j',
                          jobs, made.path)
                same((got[0], got[2]), (0, ''))
    _, _, err = run('analyze', '-a', 'count', '--end', '320', '-o', '/dev/null', made.path)
    same(sorted(line.split(':')[2] for line in err.splitlines()), [' stream channel0_0', ' stream channel0_1'])


def test_report_of_damaged_packets(scratch):
    """A report has the times of `analyze` where those of events cannot be, and knows nobody behind a packet that is cut."""
    def check(made, figures):
        for found in total_of(made, '-a', 'cpu')['cpu'], report_of(made):
            same([(cpu['busy_ns'], cpu['unknown_ns']) for cpu in found['cpus'] if cpu['cpu'] == 0], [figures])

    other = packet(1, 0, 0, 400, [switch(0, 0, 1), switch(400, 1, 0)])
    check(Made(scratch, 'behind', [packet(0, 0, 0, 100, [switch(10, 0, 7), switch(200, 7, 0)]) +
                                   packet(0, 1, 100, 300, [switch(50, 0, 7), switch(150, 7, 0), switch(300, 0, 7)]), other]),
          (90 + 50 + 100, 0))
    # An event that nobody asks for is ahead of the next one.
    check(Made(scratch, 'ahead', [packet(0, 0, 0, 300, [switch(10, 0, 7), event(60, 'kmem_mm_page_alloc'), switch(40, 7, 0)]), other]),
          (50, 0))
    whole = packet(0, 0, 0, 300, [switch(10, 0, 7), switch(100, 7, 8), switch(200, 8, 0)])
    check(Made(scratch, 'cut', [whole[:-len(switch(200, 8, 0))], other]), (90, 300))
