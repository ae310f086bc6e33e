"""synthetic_pairs: cases of synthetic_cases.py on who had the CPU that threads waited for.

What happens on a CPU at one time, in whatever order; who runs there behind missing events; who waits
when its tid is given to another thread.  The same in windows of any length and for any cut.  Times here
are in ms.
"""
import synthetic
from synthetic import lines_of, Made, report_of, same, total_of

MS = 10**6

READY = 0  # the state of a thread that is switched out and could have gone on
WAYS = (('--chunk-size', '1'), ('--chunk-size', '1M'), ('-i', '10ms'), ('-i', '33ms', '--chunk-size', '1', '--max-memory', '1K'),
        ('-i', '50ms', '-j', '2'))


def switch(ms, *values):
    return synthetic.switch(ms * MS, *values)


def event(ms, *values):
    return synthetic.event(ms * MS, *values)


def packet(cpu, seq, begin, end, events):
    return synthetic.packet(cpu, seq, begin * MS, end * MS, events)


def check(made, wanted):
    """The pairs as (tid, tid that ran or its name, waited, times, longest)."""
    for way in WAYS:
        lines = [line for line in lines_of(made, '-a', 'preempt', '--per', 'tid', *way)]
        rows = [row for line in lines if line['type'] == 'total' for row in line['preempt']['pairs']]
        same(sorted([(row['tid'], row['by_tid'] if 'by_tid' in row else row['by_comm'], row['waited_ns'] / MS, row['times'],
                      row['longest_ns'] / MS) for row in rows], key=str), sorted([(tid, by, float(ns), times, float(longest)) for tid, by, ns, times, longest in wanted], key=str))
        same(sum(line['preempt']['waited_ns'] for line in lines if line['type'] == 'window' and '-i' in way),
             sum(pair[2] for pair in wanted) * MS if '-i' in way else 0)


def test_pairs_switch_then_loss(scratch):
    """The packet that is lost begins where the last event was: nobody knows who ran behind that."""
    check(Made(scratch, 'then', [
        packet(0, 0, 0, 50, [switch(0, 3, 9), switch(50, 9, 7, READY)]) +
        packet(0, 2, 50, 120, [switch(90, 8, 9), switch(120, 9, 0)])]), [(9, '(unknown)', 40, 1, 40)])


def test_pairs_loss_then_switch(scratch):
    """What is lost ends where the next event is, which tells who runs."""
    for idle in 0, 7:
        check(Made(scratch, 'loss-%d' % idle, [
            packet(0, 0, 0, 50, [switch(0, 3, 9)]) +
            packet(0, 2, 50, 120, [switch(50, 9, idle, READY), switch(90, idle, 9), switch(120, 9, 0)])]),
            [(9, idle, 40, 1, 40)])


def test_pairs_exec_behind_a_loss(scratch):
    """The exec by which a thread takes another tid tells who runs, before and after it a gap does not."""
    check(Made(scratch, 'exec', [
        packet(0, 0, 0, 50, [switch(0, 5, 9, READY)]) +
        packet(0, 2, 50, 100, [event(60, 'sched_process_exec', 'x', 8, 10)]) +
        packet(0, 3, 100, 120, [switch(100, 8, 5), switch(120, 5, 0)])]),
        [(5, 9, 50, 1, 50), (5, '(unknown)', 10, 1, 10), (5, 8, 40, 1, 40)])


def test_pairs_at_one_time(scratch):
    """Several switches at one ns, in one packet or two: who comes last stays."""
    for first, second in (6, 8), (8, 6):
        events = [switch(50, 7, first, READY), switch(50, first, second), switch(90, second, 7), switch(120, 7, 0)]
        for cut in 1, 2:
            made = Made(scratch, 'once-%d-%d' % (first, cut), [
                packet(0, 0, 0, 50, [switch(0, 3, 7)] + events[:cut]) + packet(0, 1, 50, 120, events[cut:])])
            check(made, [(7, second, 40, 1, 40)])


def test_pairs_there_and_back(scratch):
    """Who leaves and comes back at one ns has been there twice."""
    check(Made(scratch, 'back', [
        packet(0, 0, 0, 120, [switch(0, 5, 7, READY), switch(50, 7, 8), switch(50, 8, 7), switch(90, 7, 5), switch(120, 5, 0)])]),
        [(5, 7, 90, 2, 50)])


def test_pairs_of_a_tid_given_away(scratch):
    """A fork shows that the thread that waited under the tid is gone."""
    check(Made(scratch, 'fork', [
        packet(0, 0, 0, 120, [switch(0, 5, 9, READY), event(40, 'sched_process_fork', 'x', 5, 5, 9), switch(60, 9, 5),
                              switch(120, 5, 0)])]), [(5, 9, 40, 1, 40), (5, 9, 20, 1, 20)])


def test_pairs_of_a_leader(scratch):
    """So does an exec by which another one takes the tid."""
    check(Made(scratch, 'leader', [
        packet(0, 0, 0, 120, [switch(0, 5, 9, READY), event(40, 'sched_process_exec', 'x', 5, 9), switch(120, 5, 0)])]),
        [(5, 5, 40, 1, 40)])


def test_pairs_on_two_cpus(scratch):
    """A thread whose switch out is lost seems to be on two CPUs: what each CPU says holds."""
    made = Made(scratch, 'two', [
        packet(0, 0, 0, 50, [switch(0, 5, 9, READY)]) + packet(0, 2, 50, 120, [switch(90, 8, 5), switch(120, 5, 0)]),
        packet(1, 0, 0, 120, [switch(10, 6, 0, READY), switch(60, 0, 9), switch(100, 9, 6), switch(120, 6, 0)])])
    check(made, [(5, 9, 50, 1, 50), (5, '(unknown)', 40, 1, 40), (6, 0, 50, 1, 50), (6, 9, 40, 1, 40)])
    for cpu, ms in (0, 90), (1, 90):
        same(total_of(made, '-a', 'preempt', '--cpu', str(cpu))['preempt']['waited_ns'], ms * MS)


def test_new_without_target(scratch):
    """A new thread, whose wake-up names no CPU, waits where it was forked: in a report, too."""
    made = Made(scratch, 'queue', [packet(0, 0, 0, 100, [
        switch(5, 0, 5), event(10, 'sched_process_fork', 't9', 9, 9, 5), event(12, 'sched_wakeup_new', 9),
        switch(50, 5, 9), switch(90, 9, 0)])])
    check(made, [(9, 5, 40, 1, 40)])
    same([(wait['state'], wait.get('rival', {}).get('tid')) for wait in report_of(made)['waits']], [('new', 5)])


def test_leader_gone(scratch):
    """A process is called what its leader was called, also when that tid belongs to another process by now."""
    made = Made(scratch, 'leader', [packet(0, 0, 0, 100, [
        switch(5, 0, 7), event(10, 'sched_process_fork', 't9', 9, 9, 7), switch(20, 7, 9, READY),
        event(25, 'sched_process_fork', 't5', 5, 9, 9), switch(30, 9, 5, 16),
        event(40, 'sched_process_fork', 'new', 9, 3, 9), switch(50, 5, 9, READY), switch(60, 9, 0)])])
    total = total_of(made, '-a', 'cpu,preempt')
    same({row['comm'] for row in total['cpu']['processes'] if row.get('pid') == 9}, {'t9'})
    same({row['comm'] for row in total['preempt']['process_pairs'] if row.get('pid') == 9}, {'t9'})
