"""synthetic_windows: cases of synthetic_cases.py on windows, ranges and runs that end early."""
import json
import os
import signal
import subprocess

import synthetic
from synthetic import (complains, event, lines_of, Made, packet, run, same, switch, total_of)

S = 10**9
DAY = 86400 * S


def test_hog_over_windows(scratch):
    """A thread keeps a CPU for four windows: in each it counts with its time so far, in the total with all of it."""
    made = Made(scratch, 'hog', [packet(0, 0, 0, 5 * S, [
        switch(S // 2, 3, 7), switch(9 * S // 2, 7, 3), event(5 * S, 'sched_waking', 1)])])
    for chunk in '1', '1M':
        lines = lines_of(made, '-a', 'cpu', '-i', '1s', '--chunk-size', chunk)
        rows = [line['cpu']['threads'] for line in lines if line['type'] == 'window']
        same([[(row['tid'], row['longest_ns']) for row in row_of] for row_of in rows], [
            [(7, S // 2)], [(7, 3 * S // 2)], [(7, 5 * S // 2)], [(7, 7 * S // 2)], [(3, S // 2), (7, 4 * S)], []])
        for interval in ([], ['-i', '1s'], ['-i', '10ms']):
            total = total_of(made, '-a', 'cpu', '--chunk-size', chunk, *interval)
            same([(row['tid'], row['longest_ns']) for row in total['cpu']['threads']], [(7, 4 * S), (3, S // 2)])
    # What was before a range is part of the interval.
    total = total_of(made, '-a', 'cpu', '--begin', '%dns' % (2 * S + 1), '--end', '%dns' % (3 * S))
    same([(row['tid'], row['run_ns'], row['longest_ns']) for row in total['cpu']['threads']], [(7, S - 1, 5 * S // 2)])


def test_hog_until_a_gap(scratch):
    """Events are lost while a thread is on its CPU: it was there up to the gap, whatever windows ended."""
    made = Made(scratch, 'hog-gap', [
        packet(0, 0, 0, 3 * S, [switch(S // 2, 0, 7), event(3 * S, 'sched_waking', 1)]) +
        packet(0, 2, 4 * S, 6 * S, [switch(5 * S, 7, 0), event(6 * S, 'sched_waking', 1)])])
    for interval in ([], ['-i', '1s'], ['-i', '10ms']):
        total = total_of(made, '-a', 'cpu', *interval)
        same([(row['run_ns'], row['longest_ns']) for row in total['cpu']['threads']], [(5 * S // 2, 5 * S // 2)])


def test_process_known_later(scratch):
    """The process of the thread that waited longest is told in a later window: the total has it, for any window."""
    made = Made(scratch, 'known-later', [packet(0, 0, 0, 5 * S, [
        event(S // 2, 'sched_waking', 7), switch(3 * S // 4, 0, 7), switch(S, 7, 0),
        event(4 * S, 'lttng_statedump_process_state', 7, 70, 'late'), event(5 * S, 'sched_waking', 1)])])
    for interval in ([], ['-i', '1s'], ['-i', '10ms']):
        lines = lines_of(made, '-a', 'sched', *interval)
        one = [line for line in lines if line['type'] == 'total'][0]['sched']['longest'][0]
        same((one['tid'], one.get('pid')), (7, 70))


def test_period_of_keys(scratch):
    """The longest periods that belong to keys: who began them, and their keys."""
    made = Made(scratch, 'keys', [
        packet(0, 0, 0, 5 * S, [
            switch(10, 3, 7), event(20, 'block_rq_issue', 8, 5, 1, 1), switch(30, 7, 0),
            event(40, 'block_rq_issue', 8, 6, 1, 1), event(4 * S, 'lttng_statedump_process_state', 7, 70, 't7')]),
        packet(1, 0, 0, 5 * S, [switch(15, 4, 5), event(1000, 'block_rq_complete', 8, 5, 1, 1, 0),
                                event(2000, 'block_rq_complete', 8, 6, 1, 1, 0)])])
    period = ['-a', 'count', '--period', 'disk = block_rq_issue; block_rq_complete; by dev, sector']
    for more in ([], ['--chunk-size', '1'], ['-i', '1s'], ['-i', '100ms', '--chunk-size', '1']):
        rows = total_of(made, *period, *more)['periods']['longest']
        same([(row['ns'], row['by'], row['cpu'], row['tid'], row.get('pid'), row['comm']) for row in rows], [
            (1960, 'dev=8 sector=6', 1, 0, None, '(idle)'), (980, 'dev=8 sector=5', 1, 7, 70, 't7')])
    out = run('analyze', '-q', *period, made.path)[1]
    assert 't7 (7)' in out and 'dev=8 sector=5' in out and 'CPU 1' not in out, out


# ---- ranges ----

def test_times_of_day(scratch):
    """Times of day are local, and of any day of the trace."""
    noon = 20_000 * DAY + 12 * 3600 * S
    events = [event(noon + i * 3600 * S, 'sched_waking', 1) for i in range(25)]
    made = Made(scratch, 'days', [packet(0, 0, noon, noon + DAY, events)])

    def range_of(zone, *args):
        os.environ['TZ'] = zone
        try:
            total = total_of(made, '-a', 'count', *args)
        finally:
            del os.environ['TZ']
        return (total['begin'] - noon) / (3600 * S), (total['end'] - noon) / (3600 * S)

    same(range_of('UTC0', '--begin', '13:00:00', '--end', '14:00:00'), (1, 2))
    same(range_of('UTC0', '--begin', '00:30:00'), (12.5, 24))
    same(range_of('UTC0', '--begin', '23:00:00', '--end', '01:00:00'), (11, 13))
    same(range_of('UTC0', '--begin', '11:30:00', '--end', '12:30:00'), (23.5, 24))
    same(range_of('UTC0', '--end', '11:00:00'), (0, 23))
    # In New York it is 07:00 when the trace begins.
    same(range_of('EST5', '--begin', '00:00:00'), (17, 24))
    same(range_of('EST5', '--begin', '08:00:00', '--end', '09:30:00.5'), (1, 2.5 + 0.5 / 3600))
    seconds = noon // S
    same(range_of('UTC0', '--begin', '@%d' % (seconds + 3600), '--end', '%d.5' % (seconds + 7200)), (1, 2 + 0.5 / 3600))
    complains(2, 'write @%d' % seconds, 'analyze', '--begin', str(seconds), made.path)


def test_begin_outside_utc(scratch):
    """A time of day is one, also where 1970 began on the day before."""
    made = Made(scratch, 'west', [packet(0, 0, 0, 100, [event(50, 'sched_waking', 1)])])
    os.environ['TZ'] = 'EST5'
    try:
        status, _, err = run('analyze', '-q', '--begin', '00:00:00', made.path)
    finally:
        del os.environ['TZ']
    same((status, err), (0, ''))


def test_range_that_misses(scratch):
    """A range in which the trace has nothing is an error of one line, whatever command is asked."""
    made = Made(scratch, 'missed', [packet(0, 0, 100, 1000, [switch(200, 0, 7), switch(900, 7, 0)])])
    for command in 'analyze', 'report', 'lami':
        for bounds in (['--begin', '5000'], ['--end', '50'], ['--begin', '5000', '--end', '6000']):
            asked = ['-a', 'cpu'] if command == 'lami' else []
            complains(1, 'nothing of it is in this range', command, *asked, *bounds, made.path)
    for bounds in (['--begin', '500', '--end', '500'], ['--begin', '500', '--end', '400']):
        for command in 'analyze', 'report', 'map':
            complains(2, 'not before', command, *bounds, *(['-o', '/dev/null'] if command == 'map' else []), made.path)
    status, out, _ = run('analyze', '-f', 'json', '--begin', '5000', made.path)
    types = [(line['type'], line.get('exit')) for line in map(json.loads, out.splitlines())]
    same((status, types), (1, [('start', None), ('warning', None), ('end', 1)]))
    partials = os.path.join(scratch, 'partials')
    complains(1, 'nothing of it is in this range', 'map', '--begin', '5000', '-o', partials, made.path)
    complains(1, 'nothing of it is in this range', 'merge', partials)
    total = total_of(made, '--begin', '300', '--end', '400')  # nothing happens there, but it is a part of the trace
    same((total['begin'], total['end'], total['count']['events']), (300, 400, 0))


def test_range_before_empty_packets(scratch):
    """The packets behind the range have no events, as where a session is rotated: the range has its end all the same."""
    ms = S // 1000

    def stream(cpu, later):
        return (packet(cpu, 0, 0, 40 * ms, [switch(10 * ms, 0, 7), switch(30 * ms, 7, 0)]) +
                packet(cpu, 1, 40 * ms, 100 * ms, []) + packet(cpu, 2, 100 * ms, 200 * ms, []) + later)

    made = Made(scratch, 'rotated', [stream(0, packet(0, 3, 200 * ms, 300 * ms, [switch(250 * ms, 0, 7)])), stream(1, b'')])
    ends = Made(scratch, 'ends', [stream(0, b''), stream(1, b'')])
    asked = ['-a', 'cpu', '--begin', str(20 * ms), '--end', str(90 * ms)]
    for more in ([], ['-i', '10ms'], ['-i', '10ms', '-j', '3', '--chunk-size', '1']):
        for trace, end in (made, 90 * ms), (ends, 30 * ms):
            lines = lines_of(trace, *asked, *more)
            total = [line for line in lines if line['type'] == 'total'][0]
            windows = [line for line in lines if line['type'] == 'window']
            same((total['begin'], total['end'], total['cpu']['idle_ns']), (20 * ms, end, 2 * (end - 30 * ms)))
            same(not more or windows[-1]['end'] == end, True)
    partials = os.path.join(scratch, 'partials')
    same(run('map', '-q', *asked, '-o', partials, made.path)[0], 0)
    out = run('merge', '-q', '-f', 'json', partials)[1]
    same([line['end'] for line in map(json.loads, out.splitlines()) if line['type'] == 'total'], [90 * ms])


# ---- losses ----

def test_time_of_losses(scratch):
    """A loss says when it was; the first one of the tracer also says what helps against it."""
    made = Made(scratch, 'losses', [
        packet(0, 0, 100, 1000, [event(200, 'sched_waking', 1)]) +
        packet(0, 1, 3000, 4000, [event(3500, 'sched_waking', 1)], discarded=5) +
        packet(0, 4, 9000, 9500, [event(9100, 'sched_waking', 1)], discarded=8)])
    partials = os.path.join(scratch, 'partials')
    same(run('map', '-q', '-o', partials, made.path)[0], 0)
    for words in ['analyze', made.path], ['merge', partials]:
        lines = [json.loads(line) for line in run(words[0], '-q', '-f', 'json', words[1])[1].splitlines()]
        warnings = [line for line in lines if line['type'] == 'warning']
        same([(line['what'], line['begin'], line['end']) for line in warnings], [
            ('discarded', 1000, 3000), ('discarded', 4000, 9000), ('lost-packets', 4000, 9000)])
        same([', between ' in line['message'] for line in warnings], [True] * 3)
        same(['--subbuf-size' in line['message'] for line in warnings], [True, False, False])


# ---- runs that do not see the end ----

def test_state_without_a_window(scratch):
    """No window is closed: there is no total so far, which would be one of nothing."""
    made = Made(scratch, 'first-piece', [packet(0, 0, 0, 100, [switch(1, 0, 7), switch(50, 7, 0)])])
    state = os.path.join(scratch, 'state')
    status, out, err = run('analyze', '--state', state, made.path)
    same((status, out, 'no window is closed' in err, len(err.splitlines())), (0, '', True, 1))
    same([line['type'] for line in map(json.loads, run('analyze', '-f', 'json', '--state', state + '2', '-q',
                                                       made.path)[1].splitlines())], ['start', 'end'])
    out = run('merge', '-f', 'json', state)[1]
    total = [line for line in map(json.loads, out.splitlines()) if line['type'] == 'total'][0]
    same(total['count']['events'], 2)


def test_state_that_is_damaged(scratch):
    """The one before is used, and stays: nothing but a whole file takes its place."""
    made = [Made(scratch, 'piece-%d' % i, [packet(0, i, 100 * i, 100 * i + 100, [switch(100 * i + 1, 0, 7), switch(100 * i + 50, 7, 0)])])
            for i in range(4)]
    os.mkdir(os.path.join(scratch, 'nothing'))
    state = os.path.join(scratch, 'state')

    def bytes_of(name):
        with open(name, 'rb') as file:
            return file.read()

    for trace in made[:2]:
        same(run('analyze', '-q', '--state', state, trace.path)[0], 0)
    before = bytes_of(state + '.1')
    with open(state, 'r+b') as file:
        file.seek(100)
        file.write(b'damage')
    damaged = bytes_of(state)
    same(run('analyze', '-q', '--state', state, os.path.join(scratch, 'nothing'))[0], 1)
    same((bytes_of(state) == damaged, bytes_of(state + '.1') == before), (True, True))
    status, _, err = run('analyze', '-q', '--state', state, made[1].path)
    same((status, 'the one before' in err, bytes_of(state + '.1') == before), (0, True, True))
    same(run('analyze', '-q', '--state', state, made[2].path)[0], 0)
    same(bytes_of(state + '.1') == before, False)
    total = [line for line in map(json.loads, run('merge', '-f', 'json', state)[1].splitlines()) if line['type'] == 'total'][0]
    same(total['count']['events'], 6)


def test_interrupted(scratch):
    """A signal before all is read: the output says so, and so does the exit status."""
    made = Made(scratch, 'long', [b''.join(
        packet(0, seq, seq * S // 100, seq * S // 100 + 5, [event(seq * S // 100 + 1, 'sched_waking', 1)])
        for seq in range(3000))])
    for number, status in (signal.SIGINT, 130), (signal.SIGTERM, 143):
        lines = interrupted(made.path, number, status)
        total = [line for line in lines if line['type'] == 'total']
        same(([line.get('interrupted') for line in total], lines[-1]['interrupted'], lines[-1]['exit']),
             ([True], True, status))
    # What map wrote until then is complete in itself, and says that there was more.
    done = subprocess.Popen([synthetic.SILLAGE, 'map', '-j', '0', '--chunk-size', '1', made.path],
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0)
    first = done.stdout.read(100)
    done.send_signal(signal.SIGINT)
    out, err = done.communicate()
    same((done.returncode, b'interrupted' in err, len(err.splitlines())), (130, True, 1))
    out = subprocess.run([synthetic.SILLAGE, 'merge', '-q', '-f', 'json', '-'], input=first + out, check=True,
                         stdout=subprocess.PIPE).stdout
    lines = [json.loads(line) for line in out.splitlines()]
    same([line['type'] for line in lines if 'interrupted' in line.get('message', '')], ['warning'])
    same(0 < [line for line in lines if line['type'] == 'total'][0]['count']['events'] < 3000, True)


def interrupted(path, number, status):
    """The lines of a run that gets a signal as soon as it has printed something.  Its pipe is full before it ends."""
    done = subprocess.Popen([synthetic.SILLAGE, 'analyze', '-f', 'json', '-a', 'all', '-j', '0', '--chunk-size', '1',
                             '-i', '10ms', path], stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0)
    first = done.stdout.readline() + done.stdout.readline()
    done.send_signal(number)
    out, err = done.communicate()
    same((done.returncode, b'interrupted after' in err), (status, True))
    return [json.loads(line) for line in (first + out).splitlines()]
