"""synthetic_packets: cases of synthetic_cases.py on what packets say of their times.

What a packet says of its begin and end must not change when its events were.
"""
import json
import os
import random

from synthetic import Made, metadata, packet, report_of, run, same, switch, total_of


CHUNKS = ('1', '300', '1M')
S = 10**9


def tracer(major, minor):
    """Metadata of that LTTng."""
    env = 'tracer_name = "lttng-modules"; tracer_major = %d; tracer_minor = %d; tracer_patchlevel = 0; }' % (
        major, minor)
    return metadata(0).replace('kernel_release = "6.1.0"; }', 'kernel_release = "3.6.11"; ' + env)


def switches(pick, count):
    """Threads take turns, at random times."""
    ts, running = pick.randrange(1000, 2000), 0
    for _ in range(count):
        following = pick.choice([tid for tid in (0, 5, 6, 7) if tid != running])
        yield ts, (running, following)
        ts += pick.randrange(1, 1000)
        running = following


def closed(pick, begin, end, following):
    return begin, end


def never_closed(pick, begin, end, following):
    """Buffers of a tracer that died, at any place."""
    return begin, pick.choice((0, begin - 1, end))


def ends_early(pick, begin, end, following):
    """LTTng 2.2 to 2.10: the last events may lie behind the end."""
    return begin, pick.randrange(begin, end + 1)


def overlaps(pick, begin, end, following):
    """LTTng up to 2.3: the end may lie behind the begin of the next packet, and behind its events."""
    return begin, pick.randrange(end, following + 500)


def made_of(scratch, name, seed, bounds, text):
    """The same events, with bounds that a tracer of that kind may have written."""
    streams = []
    for cpu in (0, 1):
        pick, rest, data = random.Random(seed * 2 + cpu), [], b''
        events = list(switches(pick, 40))
        while events:
            size = pick.randrange(1, 6)
            rest.append(events[:size])
            events = events[size:]
        for seq, part in enumerate(rest):
            following = rest[seq + 1][0][0] if seq + 1 < len(rest) else part[-1][0] + 10
            begin, end = bounds(pick, part[0][0], part[-1][0], following)
            data += packet(cpu, seq, begin, end, [switch(ts, *tids) for ts, tids in part])
        streams.append(data)
    return Made(scratch, name, streams, text)


def seen(made, chunk):
    total = total_of(made, '-a', 'cpu,sched', '--chunk-size', chunk)
    return total['begin'], total['end'], total['cpu'], total['sched']


def test_packet_times(scratch):
    """The law: of the same events all figures are the same, whatever their packets' times."""
    kinds = ((never_closed, metadata(0)), (ends_early, tracer(2, 9)), (overlaps, tracer(2, 1)))
    for bounds, text in kinds:
        for seed in range(4):
            name = '%s-%d' % (bounds.__name__, seed)
            good = made_of(scratch, name + '-good', seed, closed, text)
            made = made_of(scratch, name, seed, bounds, text)
            wanted = seen(good, '1M')
            for chunk in CHUNKS:
                same((name, chunk, seen(made, chunk)), (name, chunk, wanted))
                same(total_of(made, '-a', 'lost', '--chunk-size', chunk)['lost']['anomalies'], 0)
            same(report_of(made)['cpus'], report_of(good)['cpus'])


def test_overview_by_events(scratch):
    """Packets without times: those of the events tell how long the trace is."""
    text = metadata(0).replace('timestamp_begin;', 'first;').replace('timestamp_end;', 'last;')
    made = Made(scratch, 'timeless', [packet(0, 0, 0, 0, [switch(1000, 0, 5), switch(1900, 5, 0)]) +
                                      packet(0, 1, 0, 0, [switch(2500, 0, 6), switch(3500, 6, 0)])], text)
    status, out, err = run('overview', '-f', 'json', made.path)
    assert status == 0, err
    found = json.loads(out.splitlines()[0])
    same((found['begin'], found['end']), (1000, 3500))


def test_nothing_to_export(scratch):
    """A trace without length: nobody gave a range, so none is spoken of."""
    made = Made(scratch, 'instant', [packet(0, 0, 1000, 1000, [switch(1000, 0, 5)])])
    for args in (('report',), ('overview',)):
        status, _, err = run(*args, made.path)
        assert status == 1 and 'range' not in err and made.path in err, (args, err)
    empty = os.path.join(scratch, 'out')
    assert 'range' not in run('export', '-o', empty, made.path)[2]


def test_total_of_nothing(scratch):
    """No event, no time: not that of 1970."""
    made = Made(scratch, 'nothing', [packet(0, 0, 1000, 2000, [])])
    total = total_of(made)
    same([total[key] for key in ('begin', 'begin_time', 'end', 'end_time')], [None] * 4)
    status, out, _ = run('analyze', made.path)
    assert status == 0 and 'total  no events' in out and '00:00' not in out, out


def test_streams_in_one_file(scratch):
    """One link carries the packets of all CPUs: figures are those of a file for each."""
    rest = [[packet(cpu, seq, 1000 * seq + cpu, 1000 * seq + 900 + cpu,
                    [switch(1000 * seq + 10 + cpu, 0, 5 + cpu), switch(1000 * seq + 400 * (cpu + 1), 5 + cpu, 0)])
             for seq in range(100)] for cpu in range(2)]
    apart = Made(scratch, 'apart', [b''.join(packets) for packets in rest])
    mixed = [b''.join(one + other for one, other in zip(*rest)),
             b''.join(rest[1][:3] + rest[0] + rest[1][3:])]
    same(report_of(apart)['cpus'][1]['busy_ns'], 100 * (800 - 11))
    for i, data in enumerate(mixed):
        made = Made(scratch, 'mixed%d' % i, [data + bytes(40)])  # damage counts once
        for chunk in CHUNKS:
            total = total_of(made, '-a', 'cpu,lost', '--chunk-size', chunk)
            same(total['cpu'], total_of(apart, '-a', 'cpu')['cpu'])
            same((total['lost']['packets'], total['lost']['anomalies']), (1, 0))
        same(report_of(made)['cpus'], report_of(apart)['cpus'])


def test_times_that_cannot_be_shown(scratch):
    """Before 1970, behind 2^64 ns: order and distances hold, and the shift is said once."""
    rest = [packet(0, 0, S, 4 * S, [switch(S, 0, 5), switch(2 * S, 5, 0), switch(4 * S, 0, 5)])]
    wanted = seen(Made(scratch, 'good', rest), '1M')
    timeless = metadata(0).replace('timestamp_begin;', 'first;').replace('timestamp_end;', 'last;')
    for name, offset, text in (('before', -5 * S, None), ('between', -3 * S, None), ('behind', 2**63 - 1, None),
                               ('timeless', -5 * S, timeless)):
        text = (text or metadata(0)).replace('offset = 0;', 'offset_s = %d; offset = %d;' % (
            10**11 if offset > 0 else 0, offset))
        made = Made(scratch, name, rest, text)
        same((name, seen(made, '1M')), (name, wanted))
        same(report_of(made)['cpus'][0]['busy_ns'], S)
        for command in 'analyze', 'report':
            err = run(command, made.path)[2]
            same((name, command, err.count("own zero, %s" % ('-' if offset > 0 else '+'))), (name, command, 1))


def test_offsets_of_chunks(scratch):
    """A rotated session whose chunks have other offsets of one clock: that of the first is used."""
    for at, (name, offset) in enumerate((('20240101T000000+0000-1', 0), ('20240101T000001+0000-2', S // 2))):
        os.makedirs(os.path.join(scratch, 'archives', name))
        Made(os.path.join(scratch, 'archives', name), 'kernel',
             [packet(0, at, at * S, at * S + 900, [switch(at * S + 10, 0, 5), switch(at * S + 800, 5, 0)])],
             metadata(offset))
    whole = Made.__new__(Made)
    whole.path = scratch
    total = total_of(whole, '-a', 'cpu')
    same((total['begin'], total['end']), (10, S + 800))
    for command in 'analyze', 'report':
        assert run(command, scratch)[2].count('differ by 0.500000000 s between chunks') == 1, command
