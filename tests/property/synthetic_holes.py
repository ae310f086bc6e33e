"""synthetic_holes: cases of synthetic_cases.py on time that no packet covers.

Where tracing was stopped and started, who ran meanwhile is unknown: the same in windows of any length,
in totals, and in reports.
"""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'reference'))
import perfetto_file
from synthetic import (apart, channel, event, FIELD, HEADER, lines_of, Made, metadata, packet, report_of, run, same, switch, thread,
                       total_of, with_context)

S = 10**9
WAYS = (('--chunk-size', '1'), ('--chunk-size', '1M'), ('-i', '100ms'), ('-i', '1s'), ('-i', '7s'),
        ('-i', '100ms', '--chunk-size', '1', '--max-memory', '1K', '-j', '2'))


def stopped(scratch, name, pause, others=()):
    """Thread 7 runs when tracing stops, 9 leaves the CPU some time after it goes on."""
    later = 100 + pause
    return Made(scratch, name, [
        packet(0, 0, 0, 100, [event(0, 'sched_process_exit', 1), switch(20, 3, 7), event(30, 'syscall_entry_read'),
                              event(90, 'sched_process_exit', 1)]) +
        packet(0, 1, later, later + 100, [event(later, 'sched_process_exit', 1), switch(later + 40, 9, 7),
                                          event(later + 50, 'syscall_exit_read', 8), switch(later + 60, 7, 0),
                                          event(later + 100, 'sched_process_exit', 1)])] + list(others))


def times(figures):
    return figures['busy_ns'], figures['idle_ns'], figures['unknown_ns']


def stays_of(scratch, made, end):
    """Running times by CPU and tid in an export."""
    same(run('export', '-q', '-o', os.path.join(scratch, 'export'), made.path)[0], 0)
    with open(os.path.join(scratch, 'export'), 'rb') as file:
        return perfetto_file.File(file.read()).stays(end)


def test_stopped_and_started(scratch):
    """From the end of the last packet to the next switch the thread is unknown.  A call across has no duration."""
    made = stopped(scratch, 'stopped', 5 * S)
    for way in WAYS:
        total = total_of(made, '-a', 'all', *way)
        same(times(total['cpu']), (100 + 20, 40, 5 * S + 40))
        same(thread(total['cpu']['threads'], 7)['run_ns'], 80 + 20)
        same([row for row in total['cpu']['threads'] if row.get('tid') == 9], [])
        same((total['io']['read_bytes'], total['syscalls']['calls'], total['syscalls']['untimed']), (8, 1, 1))
        same(sum(row['read_ns'] for row in total['io']['threads']), 0)
    found = report_of(made)
    same([(cpu['busy_ns'], cpu['unknown_ns']) for cpu in found['cpus']], [(120, 5 * S + 40)])
    same(report_of(made, '--job', 'run')['jobs']['total_ns'], 20)


def test_windows_in_a_hole(scratch):
    """Nothing runs in them, as far as is known."""
    windows = [line for line in lines_of(stopped(scratch, 'windows', 5 * S), '-i', '1s') if line['type'] == 'window']
    same([times(line['cpu']) for line in windows],
         [(100, 0, S - 100)] + [(0, 0, S)] * 4 + [(20, 40, 140)])
    same([line['complete'] for line in windows], [False] * 6)


def test_short_pause(scratch):
    """Up to a second is no hole: a CPU that is idle has no packet."""
    # S + 160: up to the second switch, which does not fit, and behind it
    for pause, unknown in (S, S + 160), (S + 1, S + 1 + 40):
        made = stopped(scratch, 'pause-%d' % pause, pause)
        for way in WAYS:
            same(times(total_of(made, *way)['cpu'])[2], unknown)


def test_hole_of_one_stream(scratch):
    """Another CPU has packets: there is no hole."""
    busy = b''.join(packet(1, i, i * S, (i + 1) * S, [switch(i * S + 5, i, i + 1)]) for i in range(6))
    made = Made(scratch, 'one', [
        packet(0, 0, 0, 100, [switch(0, 3, 7)]) +
        packet(0, 1, 5 * S, 5 * S + 100, [switch(5 * S + 40, 7, 0), event(5 * S + 100, 'sched_process_exit', 1)]), busy])
    for way in WAYS:
        same([cpu['busy_ns'] for cpu in total_of(made, *way)['cpu']['cpus'] if cpu['cpu'] == 0], [5 * S + 40])


def test_no_switch_before_a_hole(scratch):
    """The first switch comes after it: who ran before the hole is unknown as well."""
    made = Made(scratch, 'before', [
        packet(0, 0, 0, 100, [event(0, 'syscall_entry_read')]) +
        packet(0, 1, 3 * S, 3 * S + 100, [switch(3 * S + 40, 7, 8), event(3 * S + 100, 'sched_process_exit', 1)])])
    for way in WAYS:
        same(times(total_of(made, *way)['cpu']), (60, 0, 3 * S + 40))
    same([(cpu['busy_ns'], cpu['unknown_ns']) for cpu in report_of(made)['cpus']], [(60, 3 * S + 40)])


def test_interrupts_and_requests(scratch):
    """What is open at a hole is cut: an interrupt, and a request of a disk, which has no time."""
    made = Made(scratch, 'dropped', [
        packet(0, 0, 0, 100, [switch(0, 3, 7), event(10, 'block_rq_issue', 8, 64, 8, 4), event(20, 'irq_handler_entry', 5, 'x')]) +
        packet(0, 1, 5 * S, 5 * S + 100, [event(5 * S + 10, 'irq_handler_exit', 5, 1), event(5 * S + 20, 'block_rq_complete', 8, 64, 8, 4, 0),
                                          event(5 * S + 100, 'sched_process_exit', 1)])])
    for way in WAYS:
        total = total_of(made, '-a', 'irq,block', *way)
        same((total['irq']['unmatched'], total['irq']['hard_ns']), (2, 0))
        same([total['block'][key] for key in ('requests', 'orphans', 'cut')], [1, 0, 1])
        same([(disk['busy_ns'], disk['time']['count']) for disk in total['block']['disks']], [(90, 0)])


def test_no_switches_no_hole(scratch):
    """A trace that does not tell who runs, as one of programs: calls last as long as they do."""
    text = metadata(0).replace('"sched_switch"', '"switched"')
    made = Made(scratch, 'silent', [
        packet(0, 0, 0, 100, [event(20, 'irq_handler_entry', 5, 'x')]) +
        packet(0, 1, 5 * S, 5 * S + 100, [event(5 * S + 20, 'irq_handler_exit', 5, 1)])], text)
    for way in WAYS:
        total = total_of(made, '-a', 'irq', *way)
        same((total['irq']['unmatched'], total['irq']['hard_ns']), (0, 5 * S))


def test_packets_without_end(scratch):
    """They cover the time up to the next one."""
    text = metadata(0).replace('timestamp_end;', 'nothing;')
    made = stopped(scratch, 'endless', 5 * S)
    with open(made.path + '/metadata', 'w') as file:
        file.write(text)
    assert HEADER.count('timestamp_end;') == 1
    for way in WAYS:
        same(times(total_of(made, *way)['cpu']), (100 + 5 * S + 40, 40, 20))


def test_process_of_an_unknown_thread(scratch):
    """The context of a call names its process.  Another unknown thread, behind the next hole, has another one."""
    text = metadata(0).replace('id = 0;', 'id = 0; event.context := struct { %s _pid; };' % FIELD['s32'], 1)

    def calls(ts, pid, switched=()):
        made = [event(ts, 'sched_waking', 1), event(ts + 10, 'syscall_entry_pread64', 3), event(ts + 20, 'syscall_exit_pread64', 8)]
        return [with_context(pid, one) for one in made] + [with_context(pid, one) for one in switched]

    made = Made(scratch, 'context', [
        packet(0, 0, 0, 100, calls(0, 70, [switch(50, 7, 8)])) + packet(0, 1, 3 * S, 3 * S + 100, calls(3 * S, 80)) +
        packet(0, 2, 6 * S, 6 * S + 100, calls(6 * S, 90, [switch(6 * S + 50, 9, 0)]))], text)
    for way in WAYS:
        fds = total_of(made, '-a', 'files', *way)['files']['fds']
        same(sorted((row['pid'], row['reads'], row['read_bytes']) for row in fds), [(70, 1, 8), (80, 1, 8), (90, 1, 8)])


def test_woken_behind_a_hole(scratch):
    """A thread that is woken waits until an event tells otherwise: where nobody saw it come it did not run."""
    made = Made(scratch, 'woken', [
        packet(0, 0, 0, 100, [switch(0, 3, 7)]) +
        packet(0, 1, 5 * S, 5 * S + 100, [event(5 * S + 10, 'sched_waking', 7), switch(5 * S + 50, 7, 0), switch(5 * S + 60, 0, 7)])])
    job = 'sched_waking tid=$tid; sched_in'
    found = report_of(made, '--job', job)['jobs']
    same((found['total_ns'], found.get('wait_ns'), found.get('blocked_ns')), (50, 40, 10))
    for way in WAYS:
        parts = total_of(made, '-a', 'jobs', '--job', 'x = ' + job, *way)['jobs']['parts'][0]
        same([parts[part]['sum_ns'] for part in ('waiting', 'blocked', 'running', 'unknown')], [40, 10, 0, 0])


def test_woken_before_a_hole(scratch):
    """What woke a thread before the hole did not release the execution behind it."""
    made = Made(scratch, 'woken', [
        packet(0, 0, 0, 100, [switch(10, 7, 8), event(90, 'sched_waking', 7)]) +
        packet(0, 1, 3 * S, 3 * S + 100, [switch(3 * S + 40, 8, 7), switch(3 * S + 60, 7, 8), event(3 * S + 70, 'sched_waking', 7),
                                          switch(3 * S + 80, 8, 7), switch(3 * S + 90, 7, 8)])])
    found = report_of(made, '--thread', '7', '--worst', '0', '--job', 'run')['jobs']
    arrivals = [(one['arrival_from'], one['late_ns']) for one in sorted(found['longest'], key=lambda one: one['begin'])]
    same(arrivals, [('unknown', 0), ('wake', 10)])
    for way in WAYS:
        jobs = total_of(made, '-a', 'jobs', '--job', 'r = sched_waking tid=$tid; sched_in; sched_out', *way)['jobs']
        same([row['late']['max_ns'] for row in jobs['jobs']], [0])
        jobs = total_of(made, '-a', 'jobs', '--job', 'r = run', *way)['jobs']
        same([(row['late']['max_ns'], row['unarrived']) for row in jobs['jobs'] if row['duration']['count'] > 1], [(10, 2)])


def test_exec_behind_a_hole(scratch):
    """Who takes another tid runs from there on, also if a later chunk has its switch out: then a wake-up is a race."""
    made = Made(scratch, 'exec', [
        packet(0, 0, 0, 100, [switch(10, 3, 4)]) + packet(0, 1, 3 * S, 3 * S + 25, [event(3 * S + 10, 'sched_process_exec', 'x', 7, 8)]) +
        packet(0, 2, 3 * S + 25, 3 * S + 100, [switch(3 * S + 30, 7, 0), switch(3 * S + 60, 0, 7), switch(3 * S + 90, 7, 0)]),
        packet(1, 0, 3 * S, 3 * S + 100, [event(3 * S + 20, 'sched_waking', 7)])])
    for way in WAYS:
        total = total_of(made, '-a', 'sched,jobs', '--job', 'x = sched_waking tid=$tid; sched_in', *way)
        sched, parts = total['sched'], total['jobs']['parts'][0]
        same((sched['races'], sched['unexplained'], sched['wake'].get('sum_ns')), (1, 0, 30))
        same([parts[part].get('sum_ns') for part in ('running', 'waiting', 'unknown')], [10, 30, 0])
    same(stays_of(scratch, made, 3 * S + 100), {(0, 4): 90, (0, 7): 20 + 30})


def test_cut_before_an_exec(scratch):
    """An execution that a hole cuts is that of the thread which had the tid then."""
    made = Made(scratch, 'cut', [
        packet(0, 0, 0, 100, [switch(10, 3, 8), event(50, 'syscall_entry_read')]) +
        packet(0, 1, 3 * S, 3 * S + 100, [event(3 * S + 10, 'sched_process_exec', 'x', 7, 8), event(3 * S + 20, 'syscall_entry_read'),
                                          event(3 * S + 30, 'syscall_exit_read', 1), switch(3 * S + 90, 7, 0)])])
    check_cut(made)


def test_cut_before_other_events(scratch):
    """A hole cuts executions also if a report asks for no event behind it."""
    made = Made(scratch, 'rest', [
        packet(0, 0, 0, 100, [switch(10, 3, 8), event(20, 'syscall_entry_read'), event(30, 'syscall_exit_read', 1),
                              event(50, 'syscall_entry_read')]) +
        packet(0, 1, 3 * S, 3 * S + 100, [event(3 * S + 50, 'kmem_mm_page_alloc', 0, 1)])])
    check_cut(made)


def check_cut(made):
    job = 'syscall_entry_read; syscall_exit_read'
    found = report_of(made, '--job', job)['jobs']
    same((found['count'], found['cut'], found['open_count']), (1, 1, 0))
    for way in WAYS:
        row = total_of(made, '-a', 'jobs', '--job', 'r = ' + job, *way)['jobs']
        same((row['jobs'][0]['duration']['count'], row['jobs'][0]['cut'], row['jobs'][0]['open']), (1, 1, 0))


def cpus_of_report(made, *args):
    return [(row['cpu'], row['busy_ns'], row['unknown_ns']) for row in report_of(made, *args)['cpus']]


def test_cpu_that_leaves(scratch):
    """
    Behind its last packet a CPU is absent, not idle, if the trace goes on for more than a second:
    for any interval, and in a range that begins there.
    """
    def ran(begin, end):
        return sum(max(0, min(i * S + 100, end) - max(i * S, begin)) for i in range(10))

    busy = b''.join(packet(0, i, i * S, i * S + S, [switch(i * S, 0, 7), switch(i * S + 100, 7, 0)]) for i in range(10))
    end = [packet(0, 10, 10 * S, 10 * S, [event(10 * S, 'sched_process_exit', 1)])]
    for last, absent in (2 * S + S // 5, True), (9 * S - 1, True), (9 * S, False), (9 * S + 10, False):
        leaves = packet(1, 0, 0, last, [switch(0, 0, 8), switch(100, 8, 0)])
        made = Made(scratch, 'leaves-%d' % last, [busy + end[0], leaves])
        there = last if absent else 10 * S
        for way in WAYS:
            total = total_of(made, '-a', 'cpu', *way)['cpu']
            same([(row['cpu'], *times(row)) for row in total['cpus']],
                 [(0, 1000, 10 * S - 1000, 0), (1, 100, there - 100, 0)])
            same(times(total), (1100, 10 * S - 1000 + there - 100, 0))
        windows = [line['cpu']['cpus'] for line in lines_of(made, '-a', 'cpu', '-i', '1s') if line['type'] == 'window'][:10]
        same([[row['cpu'] for row in rows] for rows in windows],
             [[0, 1]] * -(-there // S) + [[0]] * (10 - -(-there // S)))
        same(times(windows[(there - 1) // S][1])[1] + times(windows[(there - 1) // S][1])[0], (there - 1) % S + 1)
        rows = [(0, 1000, 0), (1, 100, 0)]
        same(cpus_of_report(made), rows)
        before, behind = ran(0, last + 10), ran(last, 10 * S)
        same(cpus_of_report(made, '--end', '%dns' % (last + 10)), [(0, before, 0), rows[1]])
        same(cpus_of_report(made, '--begin', '%dns' % last), [(0, behind, 0), (1, 0, 0)][:2 - absent])
        if absent:
            same([row['cpu'] for row in total_of(made, '--begin', '%dns' % last, '-a', 'cpu')['cpu']['cpus']], [0])
            some = total_of(made, '--begin', '%dns' % (last - 40), '-a', 'cpu')['cpu']['cpus']
            same([(row['cpu'], times(row)[1]) for row in some][1], (1, 40))
    made = Made(scratch, 'leaves-not', [busy + end[0], packet(1, 0, 0, 2 * S, [switch(0, 0, 8), switch(100, 8, 0)]),
                                        channel(1, packet(1, 0, 0, 10 * S, [event(50, 'sched_waking', 9)]))],
                apart('sched_waking'))
    same([(row['cpu'], *times(row)) for row in total_of(made, '-a', 'cpu')['cpu']['cpus']],
         [(0, 1000, 10 * S - 1000, 0), (1, 100, 10 * S - 100, 0)])
    same(cpus_of_report(made), [(0, 1000, 0), (1, 100, 0)])


def test_thread_whose_cpu_leaves(scratch):
    """It ran up to then; a report and an export say so, too, in any range.  It may come back elsewhere."""
    busy = b''.join(packet(0, i, i * S, i * S + S, [switch(i * S, 0, 7), switch(i * S + 100, 7, 0)]) for i in range(9))
    ends = {'gone': [switch(9 * S, 0, 7)], 'back': [switch(9 * S, 0, 8), switch(9 * S + 50, 8, 7)]}
    for kind, events in ends.items():
        last, begin = 2 * S + 50, 2 * S + 20
        made = Made(scratch, 'thread-leaves-' + kind, [busy + packet(0, 9, 9 * S, 10 * S, events + [switch(10 * S, 7, 0)]),
                                                       packet(1, 0, 0, last, [switch(10, 0, 8)])])
        more = 50 if kind == 'back' else 0
        for way in WAYS:
            total = total_of(made, '-a', 'cpu', *way)['cpu']
            same(([times(row) for row in total['cpus'] if row['cpu'] == 1], thread(total['threads'], 8)['run_ns']),
                 ([(last - 10, 10, 0)], last - 10 + more))
        for args, there in ((), last - 10), (('--begin', '%dns' % begin), last - begin), (('--end', '%dns' % (9 * S + S // 2)), last - 10):
            report = report_of(made, *args)
            same([(row['busy_ns'], row['unknown_ns']) for row in report['cpus'] if row['cpu'] == 1], [(there, 0)])
            same([row['run_ns'] for row in report['threads'] if row['thread'].get('tid') == 8], [there + more])
            same(run('export', '-q', '-o', os.path.join(scratch, 'export'), *args, made.path)[0], 0)
            with open(os.path.join(scratch, 'export'), 'rb') as file:
                found = [(one.ts, one.prev, one.next) for one in perfetto_file.File(file.read()).switches()
                         if one.cpu == 1 and one.prev != one.next]
            same(found, [(begin if args[:1] == ('--begin',) else 10, 0, 8), (last, 8, 0)])


def test_thread_whose_cpu_leaves_before_a_hole(scratch):
    """It ran there once, whatever was accounted for when the hole was found; a report and an export say so, too."""
    made = Made(scratch, 'leaves-hole', [packet(0, 0, 0, S // 2, [switch(10, 0, 7)]) + packet(0, 1, 3 * S, 4 * S, [switch(4 * S, 7, 0)]),
                                         packet(1, 0, 0, S // 4, [switch(20, 0, 8)])])
    for way in WAYS:
        total = total_of(made, '-a', 'cpu', *way)['cpu']
        row = thread(total['threads'], 8)
        same(([times(one) for one in total['cpus'] if one['cpu'] == 1], row['run_ns'], row['longest_ns']),
             ([(S // 4 - 20, 10, 0)], S // 4 - 20, S // 4 - 20))
    windows = [line for line in lines_of(made, '-a', 'cpu', '-i', '100ms') if line['type'] == 'window']
    same([line['seq'] for line in windows if [row for row in line['cpu']['threads'] if row.get('tid') == 8]], [0, 1, 2])
    same(cpus_of_report(made), [(0, S // 2 - 10, 7 * S // 2), (1, S // 4 - 20, 0)])
    same(stays_of(scratch, made, 4 * S), {(0, 7): S // 2 - 10, (1, 8): S // 4 - 20})


def test_cpu_that_leaves_before_a_range_ends(scratch):
    """That it has left is told by events far behind the range."""
    made = Made(scratch, 'leaves-range', [
        packet(0, 0, 0, 3 * S, [switch(10, 0, 7)]) + packet(0, 1, 3 * S, 3 * S + 10, [switch(3 * S + 5, 7, 0)]) +
        packet(0, 2, 3 * S + 10, 5 * S, [switch(4 * S, 0, 7), switch(5 * S, 7, 0)]),
        packet(1, 0, 0, 5 * S // 2, [switch(20, 0, 8)])])
    for way in WAYS:
        rows = total_of(made, '-a', 'cpu', '--begin', '%dns' % (2 * S), '--end', '%dns' % (3 * S), *way)['cpu']['cpus']
        same([(row['cpu'], *times(row)) for row in rows], [(0, S, 0, 0), (1, S // 2, 0, 0)])


def test_cpu_that_leaves_at_a_hole(scratch):
    """Its only switch behind one hole is at the begin of the next: who ran there is known, and so that it left."""
    made = Made(scratch, 'at-a-hole', [
        packet(0, 0, 0, 100, [switch(10, 0, 7)]) + packet(0, 1, 2 * S, 2 * S, [switch(2 * S, 7, 0)]) +
        packet(0, 2, 4 * S, 4 * S, [switch(4 * S, 0, 7)]),
        packet(1, 0, 0, 100, [switch(20, 0, 8)]) + packet(1, 1, 2 * S, 2 * S, [switch(2 * S, 8, 9)])])
    for way in WAYS:
        total = total_of(made, '-a', 'cpu', *way)['cpu']
        same([(row['cpu'], *times(row)) for row in total['cpus']],
             [(0, 90, 0, 4 * S - 100), (1, 80, 10, 2 * S - 100)])
    same(cpus_of_report(made), [(0, 90, 4 * S - 100), (1, 80, 2 * S - 100)])


def test_cpu_that_is_lost(scratch):
    """
    What was lost at the end of a stream may go on: unknown, not absent.  A stream of which no packet
    can be read is that of the CPU in its name, if another's name is its CPU.
    """
    good = packet(0, 0, 0, 3 * S, [switch(0, 0, 7), switch(100, 7, 0)]) + packet(
        0, 1, 3 * S, 5 * S, [switch(4 * S, 0, 7), switch(5 * S, 7, 0), event(5 * S, 'sched_process_exit', 1)])
    whole = packet(1, 0, 0, S, [switch(0, 0, 8), switch(100, 8, 0)])
    broken = {'magic': bytes(4) + whole[4:], 'head': whole[:40], 'uuid': whole[:4] + bytes(16) + whole[20:]}
    for kind, data in broken.items():
        made = Made(scratch, 'lost-' + kind, [good, data])
        for way in WAYS:
            total = total_of(made, '-a', 'cpu,lost', *way)
            same([(row['cpu'], *times(row)) for row in total['cpu']['cpus']],
                 [(0, 100 + S, 4 * S - 100, 0), (1, 0, 0, 5 * S)])
            same([(row['cpu'], row['packets']) for row in total['lost']['streams']], [(1, 1)])
    made = Made(scratch, 'lost-end', [good, whole + bytes(4) + packet(1, 1, S, S + 100, [])[4:]])
    for way in WAYS:
        same([(row['cpu'], *times(row)) for row in total_of(made, '-a', 'cpu', *way)['cpu']['cpus']],
             [(0, 100 + S, 4 * S - 100, 0), (1, 100, S - 100, 4 * S)])
    os.rename(os.path.join(made.path, 'channel0_0'), os.path.join(made.path, 'channel0_7'))  # no name says a CPU
    with open(os.path.join(made.path, 'channel0_1'), 'wb') as file:
        file.write(broken['magic'])
    same([row['cpu'] for row in total_of(made, '-a', 'cpu')['cpu']['cpus']], [0])
