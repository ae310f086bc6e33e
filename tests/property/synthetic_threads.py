"""synthetic_threads: cases of synthetic_cases.py on threads, CPUs and windows.

Running time, calls and threads where no event is missing: the result does not depend on the cut.
"""
import json
import os

from synthetic import (event, FIELD, lines_of, Made, metadata, packet, report_of, run, same, switch,
                       thread, total_of, with_context)


def test_head(scratch):
    """A stream begins at 0.  Thread 7 runs for 50 ns before the first switch, with one read."""
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
    """The time of a thread that never switches out is cut at the end of each window."""
    s = 10**9
    made = Made(scratch, 'cut', [packet(0, 0, 0, 32 * s // 10, [
        event(0, 'sched_process_exit', 1), switch(s // 2, 0, 7),
        event(32 * s // 10, 'sched_process_exit', 1)])])
    windows = [line for line in lines_of(made, '-i', '1s') if line['type'] == 'window']
    same([w['cpu']['busy_ns'] for w in windows], [s // 2, s, s, s // 5])
    same([(w['begin'], w['end']) for w in windows], [(0, s), (s, 2 * s), (2 * s, 3 * s),
                                                     (3 * s, 32 * s // 10)])


def test_migrated_call(scratch):
    """A write is entered on CPU 0 and returns on CPU 1: one call of 85 ns, whatever the cut."""
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
    """Returns of 100, -11, 0 and 40: four calls, one error, 140 bytes."""
    events = [switch(0, 0, 7)]
    for i, ret in enumerate((100, -11, 0, 40)):
        events += [event(10 * i + 1, 'syscall_entry_read'), event(10 * i + 5, 'syscall_exit_read', ret)]
    row = thread(total_of(Made(scratch, 'short', [packet(0, 0, 0, 100, events)]))['io']['threads'], 7)
    same((row['reads'], row['errors'], row['read_bytes'], row['read_ns']), (4, 1, 140, 16))


def test_call_of_an_instant(scratch):
    """
    A thread leaves one CPU and comes to another in the same ns.  Its next call replaces the open
    one.
    """
    made = Made(scratch, 'two-cpus', [
        packet(0, 0, 0, 100, [switch(30, 0, 7), event(35, 'syscall_entry_close', 3), switch(40, 7, 0),
                              event(50, 'sched_process_exit', 1)]),
        packet(1, 0, 0, 100, [switch(10, 0, 7), event(20, 'syscall_entry_read'), switch(30, 7, 0), switch(60, 0, 7),
                              event(70, 'syscall_exit_read', 8), switch(100, 7, 0)])])
    for chunk in ('1', '1M'):
        row = thread(total_of(made, '--chunk-size', chunk)['io']['threads'], 7)
        same((row['reads'], row['read_bytes'], row['read_ns']), (1, 8, 0))


def test_rename_at_a_chunks_end(scratch):
    """
    A call is open where a chunk ends.  In that ns its thread takes its leader's tid: the call ends
    under the new tid.
    """
    first = packet(0, 0, 0, 50, [switch(0, 0, 5), switch(10, 5, 27), event(40, 'syscall_entry_read')])
    empty = packet(0, 1, 50, 50, [])
    made = Made(scratch, 'rename', [first + empty + packet(0, 2, 50, 100, [
        event(50, 'sched_process_exec', '/bin/new', 10, 27), event(60, 'syscall_exit_read', 8), switch(100, 10, 0)])])
    for chunk in 1, len(first) + len(empty), '1M':
        row = thread(total_of(made, '--chunk-size', str(chunk))['io']['threads'], 10)
        same((row['reads'], row['read_bytes'], row['read_ns']), (1, 8, 20))


def test_process_by_context(scratch):
    """
    A context names the process of the thread that leaves.  A later thread with the same tid and
    name may belong to another process.
    """
    text = metadata(0).replace('id = 0;', 'id = 0; event.context := struct { %s _pid; };' % FIELD['s32'], 1)
    made = Made(scratch, 'context', [
        packet(0, 0, 0, 100, [with_context(0, switch(0, 0, 7)), with_context(7, switch(10, 7, 0, 64)),
                              with_context(0, switch(30, 0, 7)), with_context(9, event(100, 'sched_process_exit', 1))]),
        packet(1, 0, 0, 100, [with_context(9, event(20, 'sched_process_fork', 't7', 7, 9, 9))])], text)
    for chunk in ('1', '1M'):
        rows = total_of(made, '--chunk-size', chunk)['cpu']['threads']
        same(sorted((row['pid'], row['run_ns']) for row in rows), [(7, 10), (9, 70)])


def test_tid_reuse(scratch):
    """
    Fork 50, exit 50, fork 50 again, late free of 50: two rows, and the second thread stays alive.
    """
    made = Made(scratch, 'reuse', [packet(0, 0, 0, 100, [
        switch(0, 0, 7), event(5, 'sched_process_fork', 'a', 50, 50), switch(10, 7, 50),
        event(15, 'sched_process_exit', 50), switch(20, 50, 7, 0x20),
        event(25, 'sched_process_fork', 'b', 50, 50), switch(30, 7, 50),
        event(35, 'sched_process_free', 50), switch(50, 50, 7), switch(60, 7, 50), switch(90, 50, 0)])])
    rows = [row for row in total_of(made)['cpu']['threads'] if row.get('tid') == 50]
    same(sorted((row['run_ns'], row['switches']) for row in rows), [(10, 1), (50, 2)])


def test_unseen_entry(scratch):
    """A call without an entry counts if its exit names it.  It has no duration."""
    made = Made(scratch, 'unseen', [packet(0, 0, 0, 100, [
        event(5, 'syscall_exit_read', 9), switch(50, 7, 0), event(100, 'sched_process_exit', 1)])])
    row = thread(total_of(made)['io']['threads'], 7)
    same((row['reads'], row['read_bytes'], row['read_ns']), (1, 9, 0))


def test_window_edges(scratch):
    """An event exactly at the end of a window belongs to the next window."""
    s = 10**9
    made = Made(scratch, 'edge', [packet(0, 0, 0, 2 * s, [
        event(0, 'sched_process_exit', 1), event(s, 'sched_process_exit', 1),
        event(2 * s, 'sched_process_exit', 1)])])
    windows = [line for line in lines_of(made, '-i', '1s') if line['type'] == 'window']
    same([w['count']['events'] for w in windows], [1, 1, 1])


def test_range(scratch):
    """--begin and --end: state from before the range counts, figures from outside it do not."""
    made = Made(scratch, 'range', [packet(0, 0, 0, 100, [
        event(0, 'sched_process_exit', 1), switch(10, 0, 7), switch(60, 7, 0),
        event(100, 'sched_process_exit', 1)])])
    total = total_of(made, '--begin', '20', '--end', '80')
    same((total['begin'], total['end']), (20, 80))
    same((total['cpu']['busy_ns'], total['cpu']['idle_ns'], total['count']['events']), (40, 20, 1))


def test_crowd(scratch):
    """150,000 threads come and go and use tids again: rows are bounded, sums stay exact."""
    count, tids, packets, events = 150_000, 30_000, [], []
    for i in range(count):
        tid, ts = 2 + i % tids, 1000 * i
        events += [event(ts, 'sched_process_fork', 'child', tid, tid), switch(ts + 100, 0, tid),
                   switch(ts + 300, tid, 0, 16)]
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
        same(len(rows), 131_072 + 1)
        wanted = wanted or rows
        same(rows == wanted, True)


def test_late_first_switch(scratch):
    """
    A CPU whose first switch comes late is unknown until then: analyze waits for five seconds,
    whatever its windows are.  A report has read all.
    """
    s = 10**9
    for at, unknown in (4 * s, 0), (8 * s, 8 * s):
        made = Made(scratch, 'late-%d' % at, [
            packet(0, 0, 0, 20 * s, [switch(1, 0, 7)] + [switch(i * s, 7, 7) for i in range(1, 20)] + [switch(20 * s, 7, 0)]),
            packet(1, 0, 0, 20 * s, [event(0, 'sched_waking', 9), switch(at, 9, 0)])])
        for more in [], ['-i', '1s'], ['--trigger', 'count.events > 1G', '--trigger-interval', '1s']:
            lines = lines_of(made, '-a', 'cpu,count', '-i', '10s', *more)
            total = [line for line in lines if line['type'] == 'total'][0]['cpu']
            same([(cpu['busy_ns'], cpu['unknown_ns']) for cpu in total['cpus'] if cpu['cpu'] == 1],
                 [(at - unknown, unknown)])
        same([(cpu['busy_ns'], cpu['unknown_ns']) for cpu in report_of(made)['cpus'] if cpu['cpu'] == 1],
             [(at, 0)])


def test_cpu_of_an_instant(scratch):
    """
    A thread leaves CPU 1 and comes to CPU 0 in the same ns, which CPU 0 tells first: it has
    migrated once, runs on, and the longest time on a CPU is that on CPU 1.
    """
    made = Made(scratch, 'cpu-of-an-instant', [
        packet(0, 0, 0, 42, [switch(30, 0, 7), switch(40, 7, 0)]) +
        packet(0, 1, 42, 100, [switch(45, 0, 7), switch(50, 7, 0)]),
        packet(1, 0, 0, 25, [switch(10, 0, 7)]) +
        packet(1, 1, 25, 100, [switch(30, 7, 0, 0), event(35, 'sched_waking', 7), event(100, 'sched_waking', 9)])])
    for chunk in '1', '1M':
        total = total_of(made, '-a', 'cpu,sched', '--chunk-size', chunk)
        row, sched = thread(total['cpu']['threads'], 7), total['sched']
        same((row['run_ns'], row['migrations'], row['longest_ns']), (35, 1, 20))
        same((sched['wake']['count'], sched['wake'].get('sum_ns'), sched['races'], sched['requeue']['count'],
              sched['unexplained']), (1, 5, 1, 0, 0))


def test_sums_at_a_chunks_end(scratch):
    """
    A chunk ends with empty packets that lie in the next window: what its thread has read until then
    belongs to the window of the reads.
    """
    ms = 10**6
    first = packet(0, 0, 0, 900 * ms, [switch(0, 0, 7), event(10, 'syscall_entry_read'),
                                       event(30, 'syscall_exit_read', 5)])
    first += packet(0, 1, 900 * ms, 1200 * ms, []) + packet(0, 2, 1200 * ms, 1500 * ms, [])
    made = Made(scratch, 'sums', [first + packet(0, 3, 1500 * ms, 2500 * ms, [switch(2500 * ms, 7, 0)])])
    for chunk in '1', str(len(first)), '1M':
        lines = lines_of(made, '-a', 'io', '-i', '1s', '--chunk-size', chunk)
        same([line['io']['read_bytes'] for line in lines if line['type'] in ('window', 'total')], [5, 0, 0, 5])


def test_newest_of_a_tid(scratch):
    """
    Two threads have had one tid, and the first was not seen to end: the process has the name of
    the second.
    """
    made = Made(scratch, 'newest', [packet(0, 0, 0, 100, [
        event(0, 'sched_process_fork', 'zzz', 7, 7, 9), event(1, 'sched_switch', 'x', 9, 20, 1, 'zzz', 7, 20),
        event(10, 'sched_switch', 'zzz', 7, 20, 1, 'x', 9, 20), event(20, 'sched_process_fork', 'aaa', 7, 7, 9),
        event(30, 'sched_switch', 'x', 9, 20, 1, 'aaa', 7, 20), event(100, 'sched_switch', 'aaa', 7, 20, 1, '', 0, 20)])])
    for chunk in '1', '1M':
        cpu = total_of(made, '-a', 'cpu', '--chunk-size', chunk)['cpu']
        same([(row['pid'], row['comm'], row['run_ns']) for row in cpu['processes'] if row.get('pid') == 7],
             [(7, 'aaa', 79)])


def test_name_of_another_time(scratch):
    """
    A thread is named on one CPU.  What another CPU records of it later does not bring an older
    name back.
    """
    made = Made(scratch, 'names-apart', [
        packet(0, 0, 0, 100, [event(0, 'sched_switch', '', 0, 20, 1, 'old', 7, 20),
                              event(10, 'sched_switch', 'old', 7, 20, 0, '', 0, 20), event(50, 'sched_waking', 7)]),
        packet(1, 0, 0, 100, [event(20, 'sched_switch', '', 0, 20, 1, 'old', 7, 20),
                              event(30, 'sched_process_exec', '/bin/new', 7, 7), event(100, 'sched_waking', 1)])])
    for chunk in '1', '1M':
        same([row['comm'] for row in total_of(made, '-a', 'all', '--chunk-size', chunk)['cpu']['threads']
              if row.get('tid') == 7], ['new'])


def test_call_without_its_exit(scratch):
    """
    A call does not return, and its thread is in another one later: the first is counted as
    overwritten.
    """
    made = Made(scratch, 'no-exit', [packet(0, 0, 0, 100, [
        switch(1, 0, 7), event(5, 'syscall_entry_read'), switch(10, 7, 0), switch(20, 0, 7),
        event(25, 'syscall_entry_write'), event(30, 'syscall_exit_write', 4), switch(40, 7, 0)])])
    for chunk in '1', '1M':
        calls = total_of(made, '-a', 'syscalls', '--chunk-size', chunk)['syscalls']
        same((calls['calls'], calls['overwritten'], calls['in_flight'], calls['time']['sum_ns']), (1, 1, 0, 5))


def test_prio_of_an_instant(scratch):
    """A thread comes to CPU 0 in the ns in which it leaves CPU 1: the priority is the one that it has last."""
    def left(ts, prev, prio, next_):
        return event(ts, 'sched_switch', 't%d' % prev, prev, prio, 1, 't%d' % next_, next_, 20)

    made = Made(scratch, 'prio-of-an-instant', [
        packet(0, 0, 0, 100, [switch(30, 0, 7), left(40, 7, 39, 0), event(100, 'sched_waking', 9)]),
        packet(1, 0, 0, 20, [switch(10, 0, 7)]) + packet(1, 1, 20, 100, [left(30, 7, 20, 0)])])
    for chunk in '1', '1M':
        same(thread(total_of(made, '--chunk-size', chunk)['cpu']['threads'], 7)['prio'], 39)


def test_threads_beyond_the_limit(scratch):
    """Which threads lose their row, as too many have ended, does not depend on windows; nor do the sums."""
    ms, count, data = 10**6, 6000, b''
    for first in range(0, count, 60):
        events = [switch(1, 3, 4)] if first == 0 else []
        for i in range(first, first + 60):  # in the same 64th of all tids, of which 2048 keep a row
            tid, ts = 64 * (1 + i % 100), 100 + i * ms // 20
            events += [event(ts, 'sched_process_fork', 'short', tid, tid, 4), switch(ts + 10, 4, tid),
                       switch(ts + 20 + i % 7, tid, 4, 16)]
        data += packet(0, first // 60, first * ms // 20, (first + 60) * ms // 20, events)
    made, wanted = Made(scratch, 'many', [data]), None
    for more in ([], ['-i', '1ms'], ['-i', '40ms'], ['-i', '100ms', '--chunk-size', '1', '-j', '2'], ['-i', '10s']):
        rows = total_of(made, '-a', 'cpu', '-n', '0', *more)['cpu']['threads']
        same((len([row for row in rows if row.get('tid', 0) >= 64]), sum(row['run_ns'] for row in rows if row.get('tid') not in (3, 4))),
             (2048, sum(10 + i % 7 for i in range(count))))
        wanted = wanted or rows
        same(rows == wanted, True)


def test_name_after_dump(scratch):
    """A state dump tells the container of a thread, and no name.  A later thread with its tid has one in that stream."""
    made = Made(scratch, 'dumped', [
        packet(0, 0, 0, 100, [switch(0, 0, 7), switch(30, 7, 3), event(40, 'sched_process_fork', 'young', 7, 7, 3),
                              switch(50, 3, 0), event(100, 'sched_process_exit', 1)]),
        packet(1, 0, 0, 100, [event(20, 'lttng_statedump_process_pid_ns', 7, 7, 7, 0, 4026531836),
                              event(60, 'sched_switch', 'idle', 0, 20, 1, 'young', 7, 20), switch(80, 7, 0)])])
    rows = total_of(made, '-a', 'cpu')['cpu']['threads']
    same(sorted((row['comm'], row['run_ns']) for row in rows if row['tid'] == 7), [('t7', 20), ('t7', 30)])


def test_tid_that_left(scratch):
    """A thread takes another tid by exec, and a later one has its old tid: it is the newest of that tid, and names the
    process, also where a run goes on from a state in between."""
    ms = 10**6
    fork = lambda ts, name: event(ts * ms, 'sched_process_fork', name, 2, 2, 3)
    comes = lambda ts, name: [fork(ts, name), event((ts + 1) * ms, 'sched_switch', 't3', 3, 20, 1, name, 2, 20)]
    goes = lambda ts, name: event(ts * ms, 'sched_switch', name, 2, 20, 64, 't3', 3, 20)
    early = [switch(0, 0, 3), *comes(10, 'first'), goes(21, 'first'), *comes(30, 'second'), goes(41, 'second'),
             *comes(50, 'third'), event(60 * ms, 'sched_process_exec', '/bin/new', 4, 2), switch(80 * ms, 4, 3),
             event(100 * ms, 'sched_waking', 9)]
    late = [*comes(110, 'fourth'), goes(151, 'fourth'), event(200 * ms, 'sched_waking', 9)]
    parts = [packet(0, 0, 0, 100 * ms, early), packet(0, 1, 100 * ms, 200 * ms, late)]
    whole = total_of(Made(scratch, 'left', [b''.join(parts)]), '-a', 'cpu', '-i', '10ms')
    state = os.path.join(scratch, 'state')
    for i, part in enumerate(parts):
        lines_of(Made(scratch, 'left-%d' % i, [part]), '-a', 'cpu', '-i', '10ms', '--state', state)
    _, out, _ = run('merge', '-q', '-f', 'json', state)
    pieces = [line for line in map(json.loads, out.splitlines()) if line['type'] == 'total'][0]
    same(sorted((row['pid'], row['comm'], row['run_ns']) for row in whole['cpu']['processes'] if row.get('pid') in (2, 4)),
         [(2, 'fourth', 60 * ms), (4, 't4', 29 * ms)])
    same(pieces['cpu'], whole['cpu'])
