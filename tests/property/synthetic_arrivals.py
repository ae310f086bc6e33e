"""synthetic_arrivals: cases of synthetic_cases.py on when executions of jobs arrive.

`report` and `analyze` find it in two ways, and must say the same: how late executions begin, and of how
many it is not known.
"""
from synthetic import event, Made, packet, report_of, run, same, switch, total_of

S = 10**9


def lates(made, job='run'):
    """How late each execution begins; None where the arrival is unknown."""
    ended = sorted(report_of(made, '--job', job)['jobs']['longest'], key=lambda one: one['begin'])
    found = [None if one['arrival_from'] == 'unknown' else one['late_ns'] for one in ended]
    for way in (), ('--chunk-size', '1'), ('-i', '7s'):
        row = total_of(made, '-a', 'jobs', '--job', 'x = %s; deadline 1ms' % job, *way)['jobs']['jobs'][0]
        same((row['late']['count'], row['late']['sum_ns'], row['unarrived']),
             (len(found), sum(late or 0 for late in found), found.count(None)))
    return found


def test_arrival_first_wake(scratch):
    """The first event of the trace wakes a thread: it slept before, although a second wake-up follows."""
    for more in [], [event(110, 'sched_waking', 7)]:
        made = Made(scratch, 'first-%d' % len(more), [packet(0, 0, 100, 200, [
            event(100, 'sched_waking', 7)] + more + [switch(150, 0, 7), switch(160, 7, 0)])])
        same(lates(made), [50])


def test_arrival_before_a_hole(scratch):
    """A wake-up before the hole is none of an execution behind it."""
    made = Made(scratch, 'hole', [
        packet(0, 0, 100, 200, [switch(100, 7, 0), event(110, 'sched_waking', 7), switch(120, 0, 7)]) +
        packet(0, 1, 5 * S, 5 * S + 100, [switch(5 * S + 10, 8, 7), switch(5 * S + 20, 7, 0), event(5 * S + 30, 'sched_waking', 7),
                                          switch(5 * S + 40, 0, 7), switch(5 * S + 50, 7, 0)])])
    same(lates(made), [None, 10])


def test_arrival_new(scratch):
    """The wake-up of a new thread, whose fork is not in the trace."""
    made = Made(scratch, 'new', [packet(0, 0, 100, 200, [
        switch(100, 0, 3), event(110, 'sched_wakeup_new', 7), switch(120, 3, 7), switch(130, 7, 0)])])
    same(lates(made), [None, 10])


def test_arrival_another_thread(scratch):
    """A thread takes the tid of its leader: what had woken that is none of its own."""
    made = Made(scratch, 'taken', [packet(0, 0, 100, 300, [
        switch(100, 0, 3), event(110, 'timer_hrtimer_expire_entry', 256), event(111, 'sched_waking', 11),
        event(112, 'timer_hrtimer_expire_exit', 256), switch(120, 3, 2), event(150, 'sched_process_exec', 'x', 11, 2),
        event(170, 'timer_hrtimer_expire_entry', 512), event(171, 'sched_waking', 11),
        event(172, 'timer_hrtimer_expire_exit', 512), switch(180, 11, 3), switch(200, 3, 11), switch(220, 11, 0)])])
    same(lates(made, 'sched_waking tid=$tid; sched_in'), [1])


MS = 10**6


def loop_events(skips):
    """A thread that reads a timer every ms, and each 20th time works for 2.6 ms: then it catches up, or skips what passed."""
    events, now, points, done = [switch(S, 3, 0)], S, 0, []
    for i in range(100):
        points += 1
        point = S + points * MS
        if skips and now > point:
            points += (now - point) // MS
            point = S + points * MS
        if point > now:
            events += [switch(now + 10, 7, 0), event(point, 'sched_waking', 7), switch(point + 1000, 0, 7)] if i else [
                event(point, 'sched_waking', 7), switch(point + 1000, 0, 7)]
            now = point + 1000
        events.append(event(now + 500, 'syscall_exit_read', 8))
        end = now + 500 + (2600000 if i % 20 == 7 else 200000)
        events.append(event(end, 'syscall_entry_read'))
        done.append(end - point)
        now = end
    return events + [switch(now + 10, 7, 0)], done


def test_arrival_points(scratch):
    """What catches up is found, and each execution is measured against its own point; what skips points has none of these."""
    for skips, found in ((False, 'timerfd; every 1ms fixed'), (True, 'timerfd; every 1ms')):
        events, responses = loop_events(skips)
        made = Made(scratch, 'points-%d' % skips, [packet(0, 0, S, S + 200 * MS, events)])
        text = run('report', '-q', '--discover', '--thread', '7', made.path)[1]
        same("--job 't7 = %s'" % found in text, True)
        if skips:
            continue
        spec = 't7 = %s' % found
        jobs = report_of(made, '--thread', 't7', '--job', spec)['jobs']
        # From the wake-up, a little later than the point, where it slept.
        same((jobs['count'], jobs['misses']), (100, sum(one > MS for one in responses)))
        for way in (), ('--chunk-size', '1'), ('-i', '7ms'):
            row = total_of(made, '-a', 'jobs', '--tid', '7', '--job', spec, *way)['jobs']['jobs'][0]
            same((row['duration']['count'], row['misses'], row['response']['max_ns'], row['response']['sum_ns']),
                 (100, jobs['misses'], jobs['response_max_ns'], sum(one['response_ns'] for one in jobs['longest'])))
            same(row['response']['sum_ns'], sum(responses))
