"""synthetic_input: cases of synthetic_cases.py on bad input and wrong use.

One clear line and the right exit status for each kind.
"""
import json
import os
import struct

import synthetic
from synthetic import (complains, event, lines_of, Made, metadata, packet, run, same, switch,
                       total_of)


# Two packets that are right.
GOOD = [packet(0, 0, 0, 50, [switch(1, 0, 7)]), packet(0, 1, 50, 100, [switch(60, 7, 0)])]


def test_wrong_times(scratch):
    """
    An event that goes back, or lies behind its packet, is an anomaly for all analyses and cuts.
    """
    trace = Made(scratch, 'times', [
        packet(0, 0, 1000, 2000, [event(ts, 'syscall_entry_read') for ts in (1500, 1400, 1600, 2100)]) +
        packet(0, 1, 2000, 3000, [event(ts, 'syscall_entry_read') for ts in (2500, 3100, 3050)])])
    for asked in ('count', 'count,io', 'all'):
        for chunk in ('1', '1M'):
            count = total_of(trace, '-a', asked, '--chunk-size', chunk)['count']
            same((asked, chunk, count['anomalies'], count['events']), (asked, chunk, 4, 7))
    late = [packet(0, seq, 1000 * seq, 1000 * seq + 999,
                   [event(1000 * seq + (1000 if seq == 2 else 10), 'syscall_entry_read')]) for seq in range(4)]
    trace = Made(scratch, 'late', [b''.join(late)])
    for chunk in ('1', '1M'):
        assert 'from packet 2 on' in run('analyze', '--chunk-size', chunk, trace.path)[2]


def test_unknown_packets(scratch):
    """
    From a state on, packets without number and time count again: otherwise new ones would be lost.
    """
    text = metadata(0).replace('packet_seq_num', 'unknown').replace(' map = clock.mono.value;', '')
    text = ''.join(line for line in text.splitlines(True) if not line.startswith('clock {'))
    text = text.replace(' timestamp', ' t')  # by that name it would be a time
    packets = [packet(0, seq, 0, 1000, [event(ts, 'syscall_entry_read') for ts in (10, 20)]) for seq in range(4)]
    state = os.path.join(scratch, 'state')
    for name, count, wanted in (('first', 2, 4), ('all', 4, 12)):
        trace = Made(scratch, name, [b''.join(packets[:count])], text)
        same(run('analyze', '-a', 'count', '--state', state, trace.path)[0], 0)
        total = [json.loads(line) for line in run('merge', '-f', 'json', state)[1].splitlines()][-2]
        same((total['type'], total['count']['events']), ('total', wanted))


def test_wrong_use(scratch):
    complains(2, 'did you mean "analyze"', 'analyse')
    complains(2, 'did you mean "--format"', 'analyze', '--formt', 'json', scratch)
    complains(2, 'did you mean "count"', 'analyze', '-a', 'cuont', scratch)
    complains(2, 'did you mean "json"', 'analyze', '-f', 'jsn', scratch)
    complains(2, '"5parsecs" is not a duration', 'analyze', '-i', '5parsecs', scratch)
    complains(2, '"12Q" is not a size', 'analyze', '--chunk-size', '12Q', scratch)
    complains(2, 'is not net://', 'live', 'http://localhost')
    complains(2, 'analyze needs TRACE', 'analyze')
    complains(2, '--to', 'replay', scratch)
    complains(2, 'is not a time', 'analyze', '--begin', 'tomorrow', scratch)


def test_no_relay(scratch):
    for args in (('live', '--no-retry'), ('list',)):
        complains(1, '127.0.0.1:1', *args, 'net://127.0.0.1:1')


def test_not_a_trace(scratch):
    complains(1, 'No such file', 'analyze', os.path.join(scratch, 'nowhere'))
    os.mkdir(os.path.join(scratch, 'empty'))
    complains(1, 'there is no file "metadata"', 'analyze', os.path.join(scratch, 'empty'))
    complains(1, 'a trace is a directory', 'analyze', synthetic.SILLAGE)
    assert os.path.isdir(scratch)


def test_bad_metadata(scratch):
    text = metadata(0).replace('uint32_t stream_id;', 'uint33_t stream_id;')
    complains(1, 'metadata line 9: unknown type "uint33_t"', 'analyze',
              Made(scratch, 'type', GOOD, text).path)
    complains(0, 'ends inside a declaration', 'analyze',
              Made(scratch, 'cut', GOOD, metadata(0)[:-30]).path)
    complains(1, 'no trace block', 'analyze', Made(scratch, 'none', GOOD, '/* nothing */\n').path)


def test_truncated(scratch):
    """
    A file ends inside the only event of a packet: the event is lost with a warning, the rest is
    read.
    """
    made = Made(scratch, 'truncated', [b''.join(GOOD)[:-10]])
    status, out, err = run('analyze', '-f', 'json', made.path)
    assert status == 0 and 'passes the end' in err and 'channel0_0' in err, err
    total = [json.loads(line) for line in out.splitlines() if '"total"' in line][0]
    same(total['count']['events'], 1)
    same(total['count']['bad_packets'], 1)
    warnings = [json.loads(line) for line in out.splitlines() if '"warning"' in line]
    assert warnings and warnings[0]['stream'] == 'channel0_0' and warnings[0]['packet'] == 1


def test_bad_event(scratch):
    """An unknown event id: the rest of that packet is lost, and the warning has the bit."""
    bad = packet(0, 1, 50, 80, [switch(60, 7, 0), struct.pack('<HQ', 999, 70)])
    last = packet(0, 2, 80, 100, [switch(90, 5, 7), event(100, 'sched_process_exit', 1)])
    made = Made(scratch, 'event', [GOOD[0] + bad + last])
    for chunk in ('1', '1M'):
        status, out, err = run('analyze', '-f', 'json', '--chunk-size', chunk, made.path)
        assert status == 0 and 'no event class has the id (999)' in err and 'bit ' in err, err
        total = [json.loads(line) for line in out.splitlines() if '"total"' in line][0]
        same((total['count']['events'], total['count']['bad_packets']), (4, 1))
        same(total['cpu']['unknown_ns'], 30)  # from the last good event to the next switch


def test_bad_header(scratch):
    """A packet with a wrong magic number, and none behind it."""
    made = Made(scratch, 'magic', [GOOD[0] + b'\0' * len(GOOD[1])])
    status, _, err = run('analyze', made.path)
    assert status == 0 and 'magic number' in err, err


def test_cut(scratch):
    """A file ends inside the third event of a packet: two events count, and one packet is bad."""
    events = [switch(60, 7, 0), switch(70, 0, 7), switch(75, 7, 0)]
    cut = packet(0, 1, 50, 80, events)
    for index in (5, len(events[2]), len(events[2]) + 1):  # the last: between two events
        made = Made(scratch, 'cut%d' % index, [GOOD[0] + cut[:-index]])
        status, out, err = run('analyze', '-f', 'json', made.path)
        assert status == 0 and ('passes the end' in err or 'of which only' in err), err
        total = [json.loads(line) for line in out.splitlines() if '"total"' in line][0]
        wanted = 1 + (1 if index > len(events[2]) else 2)
        same((total['count']['events'], total['count']['bad_packets']), (wanted, 1))


def test_clock_back(scratch):
    """A time stamp that goes back counts as the last one, and is reported once."""
    made = Made(scratch, 'back', [packet(0, 0, 10, 100, [switch(20, 0, 5), switch(15, 5, 6), switch(50, 6, 0)])])
    status, out, err = run('analyze', '-f', 'json', made.path)
    assert status == 0 and 'went back' in err, err
    total = [json.loads(line) for line in out.splitlines() if '"total"' in line][0]
    same(total['count']['events'], 3)
    same({t['tid']: t['run_ns'] for t in total['cpu']['threads'] if t["tid"] in (5, 6)}, {5: 0, 6: 30})


def test_backwards(scratch):
    """A clock that goes back inside a packet is clamped.  Every event counts."""
    made = Made(scratch, 'back', [packet(0, 0, 0, 100, [
        switch(50, 0, 7), switch(40, 7, 0), event(90, 'sched_process_exit', 1)])])
    total = total_of(made)
    same(total['count']['events'], 3)
    same(total['cpu']['busy_ns'] + total['cpu']['idle_ns'] + total['cpu']['unknown_ns'],
         total['end'] - total['begin'])


def test_time_jump(scratch):
    """A jump of the clock by centuries is one long window, not billions."""
    far = 10**9 * 10**9
    made = Made(scratch, 'jump', [packet(0, 0, 0, far, [switch(0, 0, 7), switch(far, 7, 0)])])
    windows = [line for line in lines_of(made, '-i', '1s') if line['type'] == 'window']
    assert len(windows) < 10, len(windows)
    same(sum(w['cpu']['busy_ns'] for w in windows), far)


def test_output(scratch):
    made = Made(scratch, 'out', [b''.join(GOOD)])
    complains(1, 'cannot write', 'analyze', '-o', os.path.join(scratch, 'no/where'), made.path)
    if os.path.exists('/dev/full'):
        complains(1, 'No space left', 'analyze', '-o', '/dev/full', made.path)
    status, out, _ = run('analyze', '-a', 'help')
    assert status == 0 and out.startswith('count'), out
