"""synthetic_across: cases of synthetic_cases.py on executions that go over threads.

`report` and `analyze` find them in two ways, and must say the same, however the trace is cut.
"""
import os
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'reference'))
import perfetto_file
from synthetic import complains, event, FIELD, Made, metadata, packet, report_of, run, same, switch, total_of

S = 10**9
END = event(1000, 'sched_process_free', 99)


def found_of(made, job, cut=0, overlapped=0):
    """(begin, end) of those that ended, and the begins of open ones."""
    jobs = report_of(made, '--job', job)['jobs']
    ended = sorted((one['begin'], one['end']) for one in jobs['longest'])
    same((jobs['cut'], jobs['overlapped'], jobs['dropped']), (cut, overlapped, 0))
    for way in (), ('--chunk-size', '1'), ('-i', '7s'), ('-j', '0'):
        total = total_of(made, '-a', 'jobs', '--job', 'x = %s; deadline 50ns' % job, *way)['jobs']
        rows = total['jobs']
        durations = [row['duration'] for row in rows if row['duration']['count']]
        same((total['ended'], total['open'], total['cut'], total['overlapped'], total['misses']),
             (len(ended), jobs['open_count'], cut, overlapped, sum(end - begin > 50 for begin, end in ended)))
        same([(row['count'], row['sum_ns']) for row in durations],
             [(len(ended), sum(end - begin for begin, end in ended))] if ended else [])
        same((total['parts'], total['threads'], total['processes']), ([], [], []))
    return ended, sorted(one['begin'] for one in jobs['open'])


def test_across_ends_begin(scratch):
    """An end that is a begin is both; what a thread is called counts when the event comes."""
    made = Made(scratch, 'ends-begin', [
        packet(0, 0, 0, 1000, [switch(0, 0, 7), event(10, 'sched_process_exit', 7), event(20, 'sched_process_exec', '/bin/job', 7, 7),
                               event(30, 'sched_process_exit', 7), switch(40, 7, 8), event(50, 'sched_process_exit', 8), END]),
        packet(1, 0, 0, 1000, [switch(5, 0, 9), event(60, 'sched_process_exit', 9), event(70, 'sched_process_exit', 9)])])
    # The switch at 40 says that 7 is t7 again.
    same(found_of(made, 'sched_process_exit; sched_process_exit @job', overlapped=3), ([(10, 30)], [30]))
    same(found_of(made, 'sched_process_exit; sched_process_exit @job|9', overlapped=1), ([(10, 30), (30, 60), (60, 70)], [70]))
    same(found_of(made, 'sched_process_exit @"t[78]"|x; sched_process_exit @t*', overlapped=0), ([(10, 50), (50, 60)], []))
    same(found_of(made, 'sched_process_exit @8; sched_process_exit @9'), ([(50, 60)], []))
    same(found_of(made, 'sched_process_exit; sched_process_exit; by global'), ([(10, 30), (30, 50), (50, 60), (60, 70)], [70]))
    # On one thread an end begins the next, too.
    jobs = report_of(made, '--job', 'sched_process_exit; sched_process_exit')['jobs']
    same(sorted((one['begin'], one['end']) for one in jobs['longest']), [(10, 30), (60, 70)])
    row = total_of(made, '-a', 'jobs', '--job', 'x = sched_process_exit; sched_process_exit')['jobs']
    same((row['ended'], row['open']), (2, 3))


def test_across_keys(scratch):
    """What keys tell apart is open at once, ends in any order and on idle CPUs; an id that comes again begins again."""
    issue, done = ('block_rq_issue', 8), ('block_rq_complete', 8)
    made = Made(scratch, 'keys', [
        packet(0, 0, 0, 1000, [switch(0, 0, 7), event(10, *issue, 1), event(20, *issue, 2), event(30, *issue, 3), switch(40, 7, 0),
                               event(50, *done, 2), event(60, *done, 1), event(65, *done, 1), event(70, *issue, 3), END]),
        packet(1, 0, 0, 1000, [switch(5, 0, 9), event(80, *done, 3), event(90, *issue, 4)])])
    job = 'block_rq_issue; block_rq_complete; by dev, sector'
    same(found_of(made, job, overlapped=1), ([(10, 60), (20, 50), (70, 80)], [90]))
    jobs = report_of(made, '--job', job)['jobs']
    same([(one.get('thread', {}).get('tid'), one.get('last', {}).get('tid')) for one in jobs['longest']], [(7, None), (7, None), (None, 9)])
    # The one that begins and ends on known threads, or one of them, is explained.
    same([(one['path']['thread']['tid'], one['begin'], one['is_open']) for one in jobs['worst']], [(9, 90, True), (7, 10, False), (7, 20, False)])
    same(found_of(made, 'block_rq_issue; block_rq_complete; by $cpu, sector', overlapped=1), ([(10, 60), (20, 50)], [70, 90]))
    same(found_of(made, 'block_rq_issue; block_rq_complete; by $tid, sector', overlapped=0), ([], [10, 20, 30, 90]))
    complains(2, 'a report has no period of what keys tell apart', 'report', '--job', '%s; every 1s' % job, made.path)
    complains(2, '--every: not of what keys tell apart', 'report', '--job', job, '--every', '1s', made.path)
    same(report_of(made, '--job', job, '--thread', '9')['path']['thread']['tid'], 9)


def test_across_gaps(scratch):
    """What is open where events of any CPU are missing may have ended there; a hole is no other."""
    job = 'sched_process_exit; sched_process_free; by tid'
    made = Made(scratch, 'gap', [
        packet(0, 0, 0, 1000, [switch(0, 0, 7), event(10, 'sched_process_exit', 1), event(200, 'sched_process_free', 1),
                               event(300, 'sched_process_exit', 2), event(310, 'sched_process_free', 2), END]),
        packet(1, 0, 0, 50, [switch(5, 0, 9)]) + packet(1, 2, 100, 1000, [switch(120, 9, 0)])])
    same(found_of(made, job, cut=1), ([(300, 310)], []))
    made = Made(scratch, 'hole', [
        packet(0, 0, 0, 50, [switch(0, 0, 7), event(10, 'sched_process_exit', 1)]) +
        packet(0, 1, 5 * S, 5 * S + 100, [event(5 * S + 10, 'sched_process_free', 1), switch(5 * S + 20, 7, 0)])])
    same(found_of(made, job, cut=1), ([], []))


def test_across_unknown(scratch):
    """Who runs is not known before the first switch of a CPU behind a gap: no @ has such a thread."""
    made = Made(scratch, 'unknown', [
        packet(0, 0, 0, 50, [switch(0, 0, 7)]) + packet(0, 2, 100, 1000, [
            event(110, 'sched_process_exit', 1), event(120, 'sched_process_free', 1), switch(130, 8, 7),
            event(140, 'sched_process_exit', 1), event(150, 'sched_process_free', 1), END])])
    # Of the first, the switch behind it shows that 8 ran.
    same(found_of(made, 'sched_process_exit; sched_process_free; by tid'), ([(110, 120), (140, 150)], []))
    same(found_of(made, 'sched_process_exit @t7; sched_process_free @7'), ([(140, 150)], []))


def test_across_within(scratch):
    """Executions within others: both levels are listed, and drawn."""
    issue, done = ('block_rq_issue', 8), ('block_rq_complete', 8)
    made = Made(scratch, 'within', [
        packet(0, 0, 0, 1000, [
            switch(0, 0, 7), event(10, 'syscall_entry_read'), event(20, *issue, 1), event(30, *issue, 2), event(40, *done, 1),
            event(60, *done, 2), event(70, 'syscall_exit_read', 1), event(80, *issue, 3), event(90, 'syscall_entry_read'),
            event(100, *done, 3), event(110, 'syscall_exit_read', 1), switch(120, 7, 0), END])])
    words = ['--job', 'block_rq_issue; block_rq_complete; by sector', '--within', 'syscall_entry_read; syscall_exit_read']
    jobs = report_of(made, *words)['jobs']
    same(sorted((one['begin'], one['end'], one['within_begin']) for one in jobs['longest']), [(20, 40, 10), (30, 60, 10)])
    same([(one['begin'], one['end'], one['count'], one['inner_ns'], one['thread']['tid'], one['is_open']) for one in jobs['outer']],
         [(10, 70, 2, 50, 7, False), (90, 110, 0, 0, 7, False)])
    # The other way round: around are those over threads, of which the last begun counts.
    jobs = report_of(made, '--job', words[3], '--within', words[1])['jobs']
    same((jobs['count'], [(one['begin'], one['count']) for one in jobs['outer']]), (0, [(30, 0), (20, 0), (80, 0)]))
    jobs = report_of(made, '--job', words[1], '--within', 'block_rq_issue sector=1; block_rq_complete sector=3; by global')['jobs']
    same((jobs['count'], jobs['outer'][0]['count']), (3, 3))
    text = run('report', *words, made.path)[1]
    assert 'WITHIN syscall_entry_read; syscall_exit_read: 2' in text and 'AROUND THEM' in text, text
    out = os.path.join(scratch, 'within.pftrace')
    same(run('report', '-q', '-f', 'perfetto', '-o', out, *words, made.path)[0], 0)
    with open(out, 'rb') as file:
        drawn = perfetto_file.File(file.read())
    around = [number for number, track in drawn.tracks.items() if track.name == 'around executions']
    marks = [mark for mark in drawn.marks if drawn.tracks[mark.track].parent in around and mark.name]
    same([(mark.ts, mark.name) for mark in marks], [(10, '60 ns, 2 inside'), (90, '20 ns, 0 inside')])


def test_across_path(scratch):
    """The critical path leads from where it ends back to its begin, over the fork of that thread."""
    text = metadata(0).replace('_parent_pid; ', '_parent_pid; %s _parent_tid; ' % FIELD['s32'])
    made = Made(scratch, 'path', [packet(0, 0, 0, 1000, [
        switch(0, 0, 7), event(10, 'sched_process_exit', 7), event(20, 'sched_waking', 5), switch(30, 7, 5, 64),
        event(40, 'sched_process_fork', 'child', 9, 9, 5) + struct.pack('<i', 5), event(45, 'sched_wakeup_new', 9), switch(60, 5, 9), event(90, 'sched_process_exit', 9),
        switch(100, 9, 0, 64), END])], text)
    for job in 'sched_process_exit @7; sched_process_exit @t9', 'sched_process_exit tid=7; sched_process_exit tid=9; by global':
        worst = report_of(made, '--job', job)['jobs']['worst'][0]
        path = worst['path']
        same((path['begin'], path['end'], path['thread']['tid'], worst['last']['tid']), (10, 90, 9, 9))
        same({part['thread']['tid']: sum(value for key, value in part.items() if key.endswith('_ns')) for part in path['parts']},
             {9: 50, 5: 20, 7: 10})
