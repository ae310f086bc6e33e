"""synthetic_lives: cases of synthetic_cases.py on lives of tids, switches that do not fit, and interrupts of CPUs.

A tid is a life: whatever comes of it behind its end is of another thread, fork seen or not.
"""
import json
import os

from synthetic import (complains, event, FIELD, Made, metadata, packet, report_of, run, same, switch, thread, total_of,
                       with_context)

MS = 10**6
WAYS = ([], ['-i', '7ms'], ['-i', '20ms'], ['-i', '1s'], ['--chunk-size', '1'], ['-i', '20ms', '--chunk-size', '1', '-j', '2'])


def named(ts, prev, prev_comm, next_, next_comm, state=1):
    return event(ts, 'sched_switch', prev_comm, prev, 20, state, next_comm, next_, 20)


def test_process_of_a_life_before(scratch):
    """A clock is ahead: who was switched in is forked then.  Its switch out tells its process, in whatever chunk."""
    text = metadata(0).replace('id = 0;', 'id = 0; event.context := struct { %s _pid; };' % FIELD['s32'], 1)
    made = Made(scratch, 'before', [
        packet(0, 0, 0, 40 * MS, [with_context(5, switch(10 * MS, 5, 16))]) +
        packet(0, 1, 40 * MS, 130 * MS, [with_context(4, switch(50 * MS, 16, 0)), with_context(0, switch(130 * MS, 0, 5))]),
        packet(1, 0, 0, 130 * MS, [with_context(4, event(20 * MS, 'sched_process_fork', 't16', 16, 4, 4)),
                                   with_context(4, switch(130 * MS, 4, 0))])], text)
    for way in WAYS + (['--chunk-size', '1', '--max-memory', '1K', '-j', '1'],):
        rows = [row for row in total_of(made, '-a', 'cpu', *way)['cpu']['threads'] if row.get('tid') == 16]
        same([(row.get('pid'), row['run_ns']) for row in rows], [(4, 40 * MS)])


def test_tid_used_again(scratch):
    """Its fork is not traced: two rows, the call of the first never returned, and its descriptors are gone."""
    made = Made(scratch, 'again', [
        packet(0, 0, 0, 60 * MS, [
            named(0, 0, '', 100, 'app'), event(MS, 'syscall_entry_openat', -100, '/etc/secret'),
            event(MS + 9, 'syscall_exit_openat', 3), event(2 * MS, 'syscall_entry_futex', 1),
            named(3 * MS, 100, 'app', 5, 'w', 0x20)]) +
        packet(0, 1, 60 * MS, 130 * MS, [
            named(100 * MS, 5, 'w', 100, 'newproc'), event(102 * MS, 'syscall_entry_pread64', 3),
            event(103 * MS, 'syscall_exit_pread64', 777), named(110 * MS, 100, 'newproc', 0, '', 1),
            named(120 * MS, 0, '', 5, 'w', 1)])])
    for way in WAYS:
        total = total_of(made, '-a', 'cpu,syscalls,files', *way)
        same(sorted((row['comm'], row['run_ns']) for row in total['cpu']['threads'] if row.get('tid') == 100),
             [('app', 3 * MS), ('newproc', 10 * MS)])
        same([total['syscalls'][key] for key in ('calls', 'never_returned', 'orphans', 'in_flight')], [2, 1, 0, 0])
        same([row['path'] for row in total['files']['files'] if row['read_bytes']], ['(unknown)'])
    found = report_of(made)
    same(sorted((row['thread']['comm'], row['run_ns']) for row in found['threads'] if row['thread'].get('tid') == 100),
         [('app', 3 * MS), ('newproc', 10 * MS)])


def test_calls_of_a_tid_used_again(scratch):
    """Calls that are open where windows end are those of the new thread."""
    events = [named(0, 0, '', 100, 'app'), event(MS, 'syscall_entry_futex', 1), named(2 * MS, 100, 'app', 5, 'w', 0x20),
              named(100 * MS, 5, 'w', 100, 'newproc')]
    for i in range(5):
        at = (105 + 40 * i) * MS
        events += [event(at, 'syscall_entry_read'), named(at + MS, 100, 'newproc', 0, ''),
                   event(at + 29 * MS, 'sched_waking', 100), named(at + 29 * MS + 9, 0, '', 100, 'newproc'),
                   event(at + 30 * MS, 'syscall_exit_read', 7)]
    made = Made(scratch, 'calls', [packet(0, 0, 0, 330 * MS, events + [named(320 * MS, 100, 'newproc', 0, '')])])
    for way in WAYS:
        calls = total_of(made, '-a', 'syscalls', *way)['syscalls']
        same((calls['calls'], calls['time']['sum_ns'], calls['never_returned'], calls['orphans']), (5, 150 * MS, 1, 0))


def test_woken_behind_the_end(scratch):
    """A wake-up of a tid that has ended is of another thread, which waits from then on."""
    made = Made(scratch, 'woken', [packet(0, 0, 0, 100, [
        named(0, 0, '', 7, 'old'), named(10, 7, 'old', 9, 'other', 0x20), event(20, 'sched_waking', 7),
        named(50, 9, 'other', 7, 'young'), named(70, 7, 'young', 0, '')])])
    for way in WAYS:
        total = total_of(made, '-a', 'sched,preempt', *way)
        same((total['sched']['wake']['count'], total['sched']['wake']['sum_ns'], total['preempt']['waited_ns']), (1, 30, 30))


def test_exec_ends_a_process(scratch):
    """Who does not lead executes a program: nothing else of its process goes on, seen to end or not."""
    made = Made(scratch, 'exec', [packet(0, 0, 0, 200, [
        named(0, 0, '', 50, 'lead'), event(5, 'sched_process_fork', 'two', 51, 50, 50),
        event(6, 'sched_process_fork', 'three', 52, 50, 50), named(10, 50, 'lead', 52, 'three'),
        event(15, 'syscall_entry_read'), named(20, 52, 'three', 51, 'two'),
        event(40, 'sched_process_exec', '/bin/new', 50, 51), named(60, 50, 'new', 52, 'again'),
        event(65, 'syscall_exit_read', 3), named(80, 52, 'again', 0, '')])])
    for way in WAYS:
        total = total_of(made, '-a', 'cpu,syscalls', *way)
        same(sorted((row['tid'], row['run_ns']) for row in total['cpu']['threads']),
             [(50, 10), (50, 40), (52, 10), (52, 20)])
        same([total['syscalls'][key] for key in ('calls', 'never_returned', 'orphans')], [0, 1, 1])


def test_switch_that_does_not_fit(scratch):
    """It is an anomaly, for --strict too; behind it the time is unknown until a switch fits."""
    made = Made(scratch, 'misfit', [packet(0, 0, 0, 101 * MS, [
        named(0, 0, '', 7, 'a'), named(10 * MS, 7, 'a', 9, 'z'), named(50 * MS, 7, 'a', 9, 'z'),
        named(100 * MS, 9, 'z', 7, 'a'), named(101 * MS, 7, 'a', 0, '')])])
    for way in WAYS:
        total = total_of(made, '-a', 'cpu,lost', *way)
        same([total['cpu'][key] for key in ('busy_ns', 'idle_ns', 'unknown_ns')], [51 * MS, 0, 50 * MS])
        same((total['lost']['anomalies'], total['anomalies'], total['misfits']), (1, 1, 1))
        same(thread(total['cpu']['threads'], 9)['longest_ns'], 40 * MS)
    found = report_of(made)
    same([(cpu['busy_ns'], cpu['unknown_ns']) for cpu in found['cpus']], [(51 * MS, 50 * MS)])
    same([(row['thread']['tid'], row['run_ns']) for row in found['threads']], [(9, 40 * MS), (7, 11 * MS)])
    complains(4, '1 anomalies', 'analyze', '-q', '-f', 'json', '-a', 'cpu', '--strict', '-o', '/dev/null', made.path)
    status, out, _ = run('analyze', '-a', 'cpu', made.path)
    same((status, '! 1 switches do not fit' in out), (0, True))
    check_carried(scratch, made)


def check_carried(scratch, made):
    """Whoever keeps windows or compares totals has it as who analysed them."""
    fits = Made(scratch, 'fits', [packet(0, 0, 0, 101 * MS, [named(0, 0, '', 7, 'a'), named(101 * MS, 7, 'a', 0, '')])])
    store, text = (os.path.join(scratch, 'misfit.' + end) for end in ('db', 'json'))
    same(run('analyze', '-q', '-a', 'cpu', '-i', '20ms', '-f', 'json', '-o', text, '--store', store, made.path)[0], 0)
    total = [json.loads(line) for line in run('history', '-q', '-a', 'cpu', '-f', 'json', store)[1].splitlines()][-2]
    same([total.get(key) for key in ('type', 'anomalies', 'misfits')], ['total', 1, 1])
    same('! 1 switches do not fit' in run('history', '-q', '-a', 'cpu', '-i', '20ms', store)[1], True)
    for one in (store, text, made.path):
        sides = run('compare', '-q', '-a', 'cpu', one, fits.path)[1].splitlines()[:2]
        same(['! 1 switches do not fit' in side for side in sides], [True, False])
        side = json.loads(run('compare', '-q', '-a', 'cpu', '-f', 'json', fits.path, one)[1].splitlines()[0])
        same([(side[of].get('anomalies'), side[of].get('misfits')) for of in 'ab'], [(None, None), (1, 1)])
        said = [line for line in run('compare', '-q', '-a', 'cpu', '--strict', fits.path, one)[2].splitlines() if 'anomal' in line]
        same((len(said), 'strict: %s: ' % one in said[0]), (1, True))
    complains(4, ', 1 anomalies', 'history', '-q', '--per', 'host', '--fail', 'cpu.busy > 1s', '--strict', store)


def test_tracked_process(scratch):
    """Only what happens while one process runs is traced: what its CPU does else is unknown, not idle,
    if that shows by the second switch."""
    events = [named(10 * MS, 7, 'a', 0, '')]
    for i in range(1, 10):
        events += [event(100 * i * MS, 'syscall_entry_read'), named((100 * i + 10) * MS, 7, 'a', 0, '')]
    made = Made(scratch, 'tracked', [packet(0, 0, 10 * MS, 910 * MS, events)])
    for way in WAYS:
        total = total_of(made, '-a', 'cpu', *way)
        same((total['cpu']['idle_ns'], total['cpu']['unknown_ns'], total['misfits']), (0, 900 * MS, 9))
    same([(row['busy_ns'], row['unknown_ns']) for row in report_of(made)['cpus']], [(0, 900 * MS)])


def test_nothing_to_measure(scratch):
    """Asked for among others, too.  A store has what was measured, also for `top`, which lacks a terminal only."""
    made = Made(scratch, 'nothing', [packet(0, 0, 0, 200 * MS, [named(10 * MS, 0, '', 7, 'a'), named(90 * MS, 7, 'a', 0, '')])])
    store = os.path.join(scratch, 'nothing.db')
    for command in 'analyze', 'top', 'map', 'lami':
        complains(2, 'no job to follow', command, '-a', 'cpu,jobs', made.path)
        complains(2, 'no period to measure', command, '-a', 'periods', made.path)
    same(run('analyze', '-q', '-a', 'all', made.path)[0], 0)
    same(run('analyze', '-q', '-a', 'cpu', '--job', 'b = run-to-sleep', '--store', store, made.path)[0], 0)
    same('b  ' in run('history', '-q', '-a', 'jobs', store)[1], True)
    complains(1, 'needs a terminal', 'top', '-a', 'cpu,jobs', store)


def test_two_cpus(scratch):
    """A thread is where it was switched in last, whatever the other CPU says later; it ends no interval there."""
    made = Made(scratch, 'two', [
        packet(0, 0, 0, 200 * MS, [named(10 * MS, 0, '', 7, 'a'), named(90 * MS, 7, 'a', 0, '', 0x100)]),
        packet(1, 0, 0, 200 * MS, [named(50 * MS, 0, '', 7, 'a'), named(150 * MS, 7, 'a', 0, '', 1),
                                   event(180 * MS, 'sched_waking', 8)])])
    for way in WAYS + (['-i', '60ms'], ['-i', '30ms']):
        total = total_of(made, '-a', 'cpu,sched,preempt', *way)
        row = thread(total['cpu']['threads'], 7)
        same((row['run_ns'], row['longest_ns'], row['migrations']), (180 * MS, 100 * MS, 1))
        same((total['sched']['requeue']['count'], total['preempt']['waited_ns']), (0, 0))


def test_softirq_of_an_idle_cpu(scratch):
    """The CPU is idle, and used: interrupts count beside that."""
    events = [named(0, 7, 'a', 0, '')]
    for i in range(100):
        at = i * MS
        events += [event(at + 1000, 'irq_handler_entry', 30, 'eth0'), event(at + 5000, 'irq_handler_exit', 30, 1),
                   event(at + 6000, 'irq_softirq_entry', 3), event(at + 996_000, 'irq_softirq_exit', 3)]
    made = Made(scratch, 'softirq', [packet(0, 0, 0, 100 * MS, events + [named(100 * MS, 0, '', 7, 'a')])])
    for way in WAYS:
        cpu = total_of(made, '-a', 'cpu', *way)['cpu']
        same([cpu[key] for key in ('busy_ns', 'idle_ns', 'irq_ns', 'used_ns')], [0, 100 * MS, 99_400_000, 99_400_000])
        same([cpu['cpus'][0][key] for key in ('irq_ns', 'used_ns')], [99_400_000] * 2)
    status, _, _ = run('analyze', '-q', '-a', 'cpu', '--fail', 'cpu.used > 90%', made.path)
    same(status, 3)


def test_preempted_softirq(scratch):
    """PREEMPT_RT: a soft interrupt lasts while its thread runs; who preempts it is in none."""
    text = metadata(0).replace('6.1.0', '6.1.0-rt5')
    made = Made(scratch, 'rt', [
        packet(0, 0, 0, 9 * MS, [named(0, 0, '', 15, 'ksoftirqd'), event(MS, 'irq_softirq_entry', 3),
                                 named(2 * MS, 15, 'ksoftirqd', 30, 'rt', 0x100), event(5 * MS, 'sched_waking', 40)]) +
        packet(0, 1, 9 * MS, 20 * MS, [named(12 * MS, 30, 'rt', 15, 'ksoftirqd'), event(13 * MS, 'irq_softirq_exit', 3),
                                       named(14 * MS, 15, 'ksoftirqd', 0, '')])], text)
    for way in WAYS:
        for asked in 'irq', 'irq,cpu':
            total = total_of(made, '-a', asked, *way)
            same((total['irq']['soft_ns'], total['irq']['soft'][0]['time']['sum_ns']), (2 * MS, 2 * MS))
        same((total['cpu']['irq_ns'], total['cpu']['used_ns']), (2 * MS, 14 * MS))
    row = [row for row in report_of(made)['threads'] if row['thread'].get('tid') == 30][0]
    same((row['run_ns'], row.get('softirq_ns', 0)), (10 * MS, 0))


def test_name_of_a_leader(scratch):
    """A process is called as its leader in every window, also where that does nothing."""
    made = Made(scratch, 'leader', [packet(0, 0, 0, 60 * MS, [
        named(0, 0, '', 50, 'burst'), event(1, 'sched_process_fork', 'burst', 51, 50, 50),
        named(5 * MS, 50, 'burst', 51, 'burst-1'), named(25 * MS, 51, 'burst-1', 50, 'burst'),
        named(60 * MS, 50, 'burst', 0, '')]),
        packet(1, 0, 0, 60 * MS, [event(2, 'sched_process_fork', 'lonely', 71, 70, 70), named(5 * MS, 0, '', 71, 'lonely'),
                                  named(59 * MS, 71, 'lonely', 0, '')])])
    _, out, _ = run('analyze', '-q', '-f', 'json', '-a', 'cpu', '-i', '10ms', made.path)
    lines = [json.loads(line) for line in out.splitlines()]
    names = {(row.get('pid'), row.get('comm'), row.get('comm_of')) for line in lines if line['type'] in ('window', 'total')
             for row in line['cpu']['processes'] if row.get('pid')}
    same(names - {(70, 'lonely', 71)}, {(50, 'burst', None)})
