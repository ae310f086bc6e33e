"""synthetic_reports: cases of synthetic_cases.py on `sillage report`.

Threads, waits, inversions and executions of a report.
"""
import os
import re

from synthetic import (apart, channel, event, FIELD, HEADER, Made, metadata, packet, report_of, run,
                       same, switch, total_of, with_context)


def switch_prio(ts, prev, next_, state=1):
    """Between threads given as (tid, prio)."""
    return event(ts, 'sched_switch', 't%d' % prev[0], prev[0], prev[1], state, 't%d' % next_[0], next_[0], next_[1])


def test_inversion(scratch):
    """A low thread that holds what a high one wants is kept from running by a medium one."""
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
    assert re.search(r'unbounded +t30 +futex$', text, re.M) and re.search(r'direct +t10 +futex$', text, re.M), text
    assert max(len(line) for line in text.splitlines()[1:] if trace.path not in line) <= 80, text


def test_urgency(scratch):
    """Thread 30 has the lock that 10 waits for: it is as urgent, or less so by nice levels only, or it inherits."""
    for name, prio, boost, wanted in (('same', 20, None, (3000, [], 0)), ('nice', 25, None, (0, [('dispatch', True)], 0)),
                                      ('inherit', 25, 20, (3000, [], 50000))):
        events = [switch_prio(1000, (0, 20), (10, 20), 0), event(1500, 'syscall_entry_futex', 0x7f00), switch_prio(2000, (10, 20), (30, prio))]
        events += [event(2000, 'sched_pi_setprio', 30, prio, boost)] if boost else []
        events += [event(52000, 'sched_waking', 10), switch_prio(55000, (30, boost or prio), (10, 20), 0x100), event(60000, 'sched_process_free', 99)]
        found = report_of(Made(scratch, 'urgency-' + name, [packet(0, 0, 0, 60000, events)]), '--thread', '10')
        same((found['rivals'][0]['same_level_ns'],
              [(one['kind'], one.get('fair_class')) for one in found['inversions'] if one['kind'] != 'direct'],
              found['inherited_ns']), wanted)
        same([one['kind'] for one in found['inversions'] if one['kind'] == 'direct'], ['direct'] if name == 'nice' else [])
        same((found['rivals'][0]['inversion_ns'], found['rivals'][0]['fair_ns']), (3000, 3000) if name == 'nice' else (0, 0))
        text = run('report', '--thread', '10', os.path.join(scratch, 'urgency-' + name))[1]
        assert re.search(r'^  t30 \(30\) +3.00 us +3.00 us +1 +nice -?\d+ +- +-$', text, re.M), text
        same('by nice levels alone, which is no inversion: 53.0 us in 2 times\n' in text, name == 'nice')


def test_nice_levels(scratch):
    """Thread 30 makes itself less urgent while 10 waits for it: it is so from the call's exit on, as the next event shows."""
    for name, arguments, ret, prio, wanted in (
            ('setpriority', (0, 0, 5), 0, 25, (1000, [(11000, 52000)])), ('setpriority', (0, 30, 5), 0, 25, (1000, [(11000, 52000)])),
            ('nice', (5,), 0, 25, (1000, [(11000, 52000)])), ('setpriority', (0, 0, -5), -13, 20, (0, [])),
            ('setpriority', (0, 31, 5), 0, 25, (49999, [])), ('setpriority', (1, 0, 5), 0, 25, (49999, []))):
        made = Made(scratch, '-'.join(map(str, (name, *arguments))), [packet(0, 0, 0, 60000, [
            switch_prio(1000, (0, 20), (10, 20), 0), event(1500, 'syscall_entry_futex', 0x7f00), switch_prio(2000, (10, 20), (30, 20)),
            event(10000, 'syscall_entry_' + name, *arguments), event(11000, 'syscall_exit_' + name, ret),
            event(52000, 'sched_waking', 10), switch_prio(55000, (30, prio), (10, 20), 0x100), event(60000, 'sched_process_free', 99)])])
        found = report_of(made, '--thread', '10')
        same((found['unknown_prio_ns'], [(one['begin'], one['end']) for one in found['inversions'] if one['kind'] == 'direct']), wanted)


def test_page_names(scratch):
    """A name in a trace cannot end the script of the page."""
    trace = Made(scratch, 'names', [packet(0, 0, 0, 90, [
        event(1, 'sched_switch', 'swapper', 0, 20, 0, '</script><b>', 7, 20),
        event(50, 'sched_switch', '</script><b>', 7, 20, 1, 'swapper', 0, 20)])])
    status, out, _ = run('report', '-f', 'html', trace.path)
    same((status, out.count('</script>'), out.count('u003c/script>') > 0), (0, 2, True))
    same(run('analyze', '-f', 'html', trace.path)[0], 2)


def test_links(scratch):
    """1 wakes 2 twice, 2 wakes 3, 3 wakes 4.  5 is woken by no known thread."""
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
    """A range without events, and one whose end is before its begin."""
    trace = Made(scratch, 'report-range', [packet(0, 0, 0, 90, [switch(1, 0, 7, 0), switch(50, 7, 0)])])
    status, out, err = run('report', '--begin', '1000', trace.path)
    same((status, out, 'nothing of it is in this range' in err), (1, '', True))
    status, _, err = run('report', '--begin', '20', '--end', '10', trace.path)
    same((status, 'not before' in err), (2, True))
    found = report_of(trace, '--begin', '10', '--end', '30')
    same([(row['begin'], row['end'], row['run_ns']) for row in found['threads']], [(10, 30, 20)])


def test_report_ahead(scratch):
    """One stream is decoded far ahead of the other, over packets that have nothing for a report."""
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
    """An exec tells the initial thread too: the one that took its leader's tid."""
    made = Made(scratch, 'exec-head', [packet(0, 0, 0, 100, [
        event(10, 'syscall_entry_read'), event(20, 'sched_process_exec', '/bin/new', 4, 19),
        event(40, 'syscall_exit_read', 5), switch(50, 4, 0), event(100, 'sched_process_exit', 1)])])
    jobs = report_of(made, '--job', 'syscall_entry_read; syscall_exit_read')['jobs']
    same((jobs['count'], jobs['total_ns']), (1, 30))


def test_report_exec_end(scratch):
    """
    An execution that ends with an exec belongs to the thread that takes its leader's tid, not to
    the leader.
    """
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
    """
    Calls in a channel of their own: their context names the thread while the running one is
    unknown.
    """
    text = apart('syscall').replace('\tid = 1;', '\tid = 1; event.context := struct { %s _tid; };' % FIELD['s32'], 1)
    made = Made(scratch, 'report-context', [
        packet(0, 0, 0, 20, [switch(0, 3, 7)]) + packet(0, 2, 70, 100, [switch(80, 7, 0)]),
        channel(1, packet(0, 0, 0, 100, [with_context(7, event(50, 'syscall_entry_read')),
                                         with_context(7, event(60, 'syscall_exit_read', 5))]))], text)
    jobs = report_of(made, '--job', 'syscall_entry_read; syscall_exit_read')['jobs']
    same((jobs['count'], jobs['total_ns']), (1, 10))


def test_patterns(scratch):
    """Errors in a pattern of --job are reported with their column."""
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
    assert 'wake-to-sleep' in run('report', '--job', 'help')[1]


def test_deep_race(scratch):
    """
    A thread is woken before it is seen to sleep.  Or the wake-up was over, and it slept again.
    """
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


def runs(found):
    """Running time by tid."""
    sums = {}
    for row in found['threads']:
        sums[row['thread']['tid']] = sums.get(row['thread']['tid'], 0) + row['run_ns']
    return {tid: ns for tid, ns in sums.items() if ns}


def test_report_late_stream(scratch):
    """
    A stream begins later than the trace, as in a snapshot, or loses events before its first switch:
    no thread is known to have run there before.
    """
    busy = packet(0, 0, 0, 100, [switch(0, 0, 5), switch(100, 5, 0)])
    for name, stream, ns in (('late', packet(1, 5, 60, 100, [switch(80, 9, 0), event(100, 'sched_waking', 1)]), 20),
                             ('gap', packet(1, 0, 0, 40, []) +
                              packet(1, 2, 60, 100, [switch(80, 9, 0), event(100, 'sched_waking', 1)]), 0)):
        made = Made(scratch, 'stream-' + name, [busy, stream])
        same(runs(report_of(made)), {5: 100, **({9: ns} if ns else {})})
        cpu = total_of(made, '-a', 'cpu')['cpu']
        same([(row['busy_ns'], row['unknown_ns']) for row in cpu['cpus'] if row['cpu'] == 1], [(ns, 80 - ns)])


def test_report_cpu_of_an_instant(scratch):
    """A thread leaves CPU 1 in the ns in which it comes to CPU 0: it runs on."""
    made = Made(scratch, 'report-instant', [
        packet(0, 0, 0, 100, [switch(30, 0, 7), switch(90, 7, 0)]),
        packet(1, 0, 0, 100, [switch(10, 0, 7), switch(30, 7, 0), event(100, 'sched_waking', 1)])])
    found = report_of(made)
    same(runs(found), {7: 80})
    same([row['blocked_ns'] for row in found['threads'] if row['thread']['tid'] == 7], [10])


def test_report_jobs_and_gaps(scratch):
    """No execution goes through a gap, nor on from a dead thread to the next one with its tid."""
    pattern = 'syscall_entry_read; syscall_exit_read'
    entry, end = event(10, 'syscall_entry_read'), event(70, 'syscall_exit_read', 5)
    made = Made(scratch, 'jobs-gap', [packet(0, 0, 0, 40, [switch(0, 0, 7), entry]) +
                                      packet(0, 2, 50, 100, [switch(60, 5, 7), end, switch(80, 7, 0)])])
    same(report_of(made, '--job', pattern)['jobs']['count'], 0)
    # A gap in another channel: the thread that runs stays known, and can begin one.
    text = metadata(0) + HEADER[HEADER.index('stream {'):].replace('id = 0', 'id = 2')
    others = channel(2, packet(0, 0, 0, 20, [])) + channel(2, packet(0, 2, 30, 100, []))
    made = Made(scratch, 'jobs-others', [
        packet(0, 0, 0, 100, [switch(0, 0, 7), event(40, 'syscall_entry_read'), end, switch(80, 7, 0)]), others], text)
    same(report_of(made, '--job', pattern)['jobs']['total_ns'], 30)
    made = Made(scratch, 'jobs-dead', [packet(0, 0, 0, 100, [
        switch(0, 0, 7), entry, switch(20, 7, 9, 16), event(30, 'sched_process_fork', 'young', 7, 7, 9), switch(40, 9, 7),
        event(60, 'syscall_entry_read'), end, switch(80, 7, 0)])])
    jobs = report_of(made, '--job', pattern)['jobs']
    same((jobs['count'], jobs['total_ns']), (1, 10))


def test_report_jobs_of_a_late_stream(scratch):
    """Before a stream with switches begins no thread is known to run, and none has executions."""
    calls = [event(ts, 'syscall_%s_read' % kind, *([5] * (kind == 'exit')))
             for ts, kind in ((20, 'entry'), (30, 'exit'), (70, 'entry'), (75, 'exit'))]
    made = Made(scratch, 'jobs-late', [packet(0, 5, 60, 100, [switch(80, 9, 0), event(100, 'sched_process_exit', 1)]),
                                       channel(1, packet(0, 0, 0, 100, calls))], apart('syscall'))
    jobs = report_of(made, '--job', 'syscall_entry_read; syscall_exit_read')['jobs']
    same((jobs['count'], jobs['total_ns']), (1, 5))


def test_report_thread_of_contexts(scratch):
    """
    Only a context names a thread, because the switches of its CPU are lost: periods have it, a
    report has neither times nor executions of it.
    """
    text = apart('syscall').replace('\tid = 1;', '\tid = 1; event.context := struct { %s _tid; };' % FIELD['s32'], 1)
    calls = [with_context(7, event(30, 'syscall_entry_read')), with_context(7, event(40, 'syscall_exit_read', 5))]
    made = Made(scratch, 'contexts', [
        packet(0, 0, 0, 20, [switch(5, 3, 0)]) + packet(0, 2, 80, 100, [switch(90, 3, 0)]),
        channel(1, packet(0, 0, 0, 100, calls))], text)
    pattern = 'syscall_entry_read; syscall_exit_read'
    found = report_of(made, '--job', pattern)
    same((7 in runs(found), found['jobs']['count']), (False, 0))
    periods = total_of(made, '-a', 'count', '--period', 'x = ' + pattern)['periods']
    same([(row['tid'], row['time']['sum_ns']) for row in periods['threads']], [(7, 10)])


def test_report_second_switch(scratch):
    """
    Whether the second switch of a CPU fits matters for as long as windows wait for it, whether
    another CPU has switched by then or not.
    """
    second, begin, end = 10**9, 10**9, 9 * 10**9
    limit = begin + 5 * second
    for at, is_believed in ((limit - second, False), (limit - 1, False), (limit, True), (limit + second, True)):
        for other in (begin + second, limit + 2 * second):
            last = event(end, 'sched_process_exit', 1)
            made = Made(scratch, 'second-%d-%d' % (at, other), [
                packet(0, 0, 0, end, [switch(begin, 3, 7), switch(at, 9, 0), last]),
                packet(1, 0, 0, end, [switch(other, 5, 0), last])])
            busy = at - begin if is_believed else 0
            found = report_of(made)
            for cpus in found['cpus'], total_of(made, '-a', 'cpu')['cpu']['cpus']:
                same([(at, other, row['busy_ns'], row['unknown_ns']) for row in cpus if row['cpu'] == 0],
                     [(at, other, busy, end - begin - busy)])
            same(runs(found).get(7, 0), busy)


def test_report_of_nobody(scratch):
    """Where no thread is known to run, a report says so and prints nothing."""
    made = Made(scratch, 'nobody', [packet(0, 0, 0, 100, [event(10, 'sched_process_exit', 1),
                                                          event(90, 'sched_process_exit', 2)])])
    status, out, err = run('report', '-f', 'json', made.path)
    same((status, out, 'has no sched_switch events' in err), (0, '', True))


def test_answer_of_a_chain(scratch):
    """Thread 10 waits for 30, which has waited for 40: 20 took the CPU of 40, though 30 ran longer."""
    high, medium, holder, inner, us = (10, -51), (20, -31), (30, -11), (40, -11), 1000
    made = Made(scratch, 'answer-chain', [packet(0, 0, 0, 700 * us, [
        event(0, 'sched_process_free', 99), event(40 * us, 'syscall_entry_futex', 0x7e00), switch_prio(50 * us, holder, high),
        event(90 * us, 'syscall_entry_futex', 0x7f00), switch_prio(100 * us, high, inner),
        event(150 * us, 'sched_waking', 20), switch_prio(155 * us, inner, medium, 0x100), switch_prio(255 * us, medium, inner),
        event(305 * us, 'sched_waking', 30), switch_prio(310 * us, inner, holder), event(610 * us, 'sched_waking', 10),
        switch_prio(615 * us, holder, high, 0x100), event(700 * us, 'sched_process_free', 99)])])
    same(report_of(made, '--thread', '10')['answer'],
         't10 (10, FIFO/RR 50) was delayed by priority inversions: t20 (20, FIFO/RR 30) had the CPU of t40 (40, FIFO/RR 10) for '
         '100 us while t10 waited for that one, which itself ran for 105 us.')


def test_rivals_of_one_name(scratch):
    """What the first sentence says of a name, the table of who had the CPU has in one row; so has the count of late ones."""
    def named(ts, prev, next_, state=0):
        names = {0: 'swapper', 10: 'me', 20: 'twin', 21: 'twin', 30: 'else'}
        return event(ts, 'sched_switch', names[prev], prev, 20, state, names[next_], next_, 20)
    us = 1000
    made = Made(scratch, 'twins', [packet(0, 0, 0, 900 * us, [
        named(1, 0, 10), named(100 * us, 10, 20), named(300 * us, 20, 10), named(310 * us, 10, 21), named(410 * us, 21, 10),
        named(420 * us, 10, 30), named(570 * us, 30, 10), named(800 * us, 10, 0)])])
    text = run('report', '--thread', '10', made.path)[1]
    assert 'twin (2 threads) had it for 300 us of that' in ' '.join(text.split()), text
    rows = re.findall(r'^  (twin.*?|else.*?)  +([0-9.]+ us) ', text[text.index('WHO HAD ITS CPU'):], re.M)
    same(rows, [('twin, 2 threads', '300 us'), ('else (30)', '150 us')])


def answer_of_waits(scratch, name, first, again):
    """Thread 10 is woken and the CPU stays idle for @first us; then @again us while 20 runs for 100 us of them, if any."""
    us = 1000
    events = [switch(10 * us, 10, 0), event(100 * us, 'sched_waking', 10), switch((100 + first) * us, 0, 10, 0),
              switch(3000 * us, 10, 20)]
    if again:
        events += [event(4000 * us, 'sched_waking', 10), switch(4100 * us, 20, 0), switch((4000 + again) * us, 0, 10, 0)]
    made = Made(scratch, name, [packet(0, 0, 0, 9000 * us, events + [event(9000 * us, 'sched_process_free', 99)])])
    return re.sub('from [0-9:.]+ on', 'from T on', report_of(made, '--thread', '10')['answer'])


def test_answer_of_waits(scratch):
    """Which wait is the longest, and for how much of it another thread had the CPU."""
    same(answer_of_waits(scratch, 'answer-waits-idle', 1000, 300),
         't10 (10) waited for a CPU for 1.30 ms, 2 times; t20 (20) had it for 100 us of that. The longest in which another '
         'thread had it took 300 us from T on; t20 (20) had the CPU for 100 us of it.')
    same(answer_of_waits(scratch, 'answer-waits-longest', 100, 300),
         't10 (10) waited for a CPU for 400 us, 2 times; t20 (20) had it for 100 us of that. The longest wait took 300 us '
         'from T on; t20 (20) had the CPU for 100 us of it.')
    same(answer_of_waits(scratch, 'answer-waits-whole', 50, 100),
         't10 (10) waited for a CPU for 150 us, 2 times; t20 (20) had it for 100 us of that. The longest wait took 100 us '
         'from T on; t20 (20) had the CPU.')
    same(answer_of_waits(scratch, 'answer-waits-none', 1000, 0),
         't10 (10) never waited for a CPU that another thread had, or for its lock.')


def test_answer_without_events(scratch):
    """What is not recorded is not said to have never been."""
    for name, lacks, wanted in (
            ('waking', r'sched_wak', 'lost its CPU to another thread; waits after a wake-up and for locks are not recorded.'),
            ('calls', r'syscall_', 'waited for a CPU that another thread had; waits for locks are not recorded.')):
        text = re.sub(r'event { name = "%s.*\n' % lacks, '', metadata(0))
        assert lacks not in text
        made = Made(scratch, 'answer-without-' + name, [packet(0, 0, 0, 900, [switch(50, 0, 7, 0), switch(500, 7, 0)])], text)
        same(report_of(made, '--thread', '7')['answer'], 't7 (7) never ' + wanted)


def test_answer_of_counts(scratch):
    """One execution, one that does not end, one deadline; those that go over threads are of the job."""
    us = 1000
    begin, end = (lambda ts, name=name: event(ts * us, name, *(() if 'entry' in name else (0,)))
                  for name in ('syscall_entry_read', 'syscall_exit_read'))
    waits = ' t7 (7) never waited for a CPU that another thread had, or for its lock.'
    over = '--job=syscall_entry_read @t7; syscall_exit_read @t8'
    for name, events, args, wanted in (
            ('once', (begin(20), end(40)), (), 't7 (7) executed once, for 20.0 us.' + waits),
            ('open', (begin(20),), (), 't7 (7) began 1 execution without an end.' + waits),
            ('twice', (begin(20), end(40), begin(50), end(55), begin(60)), (),
             't7 (7) executed 2 times, at most for 20.0 us, and 1 more did not end.' + waits),
            ('deadline', (begin(20), end(40)), ('--deadline', '1s'),
             't7 (7) missed 0 of 1 deadline (1.00 s); its longest response was 20.0 us.' + waits),
            ('worst', (begin(20), end(40)), ('--deadline', '1us', '--worst', '0'),
             't7 (7) missed 1 of 1 deadline (1.00 us); its longest response was 20.0 us.'),
            ('over', (begin(20), switch(30 * us, 7, 8, 0), end(40)), (over, '--thread', '8'), 'The job was executed once, for 20.0 us. t8 (8) '),
            ('over-late', (begin(20), switch(30 * us, 7, 8, 0), end(40)), (over, '--deadline', '1us', '--thread', '8'),
             'The job missed 1 of 1 deadline (1.00 us); its longest response was 20.0 us')):
        made = Made(scratch, 'answer-' + name, [packet(0, 0, 0, 900 * us, [
            switch(10 * us, 0, 7, 0), *events, switch(500 * us, 8 if 'over' in name else 7, 0), event(900 * us, 'sched_process_free', 99)])])
        args = args if args[:1] == (over,) else ('--job=syscall_entry_read; syscall_exit_read', *args)
        found = report_of(made, *args)['answer']
        same((name, found[:len(wanted)] if 'over' in name else found), (name, wanted))
