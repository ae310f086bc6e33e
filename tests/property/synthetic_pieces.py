"""synthetic_pieces: cases of synthetic_cases.py on traces in pieces, each of which goes on from the state of the one before.

Windows and the total are those of the whole trace, wherever it was cut: what is known of CPUs, and what
was lost, is in the state.
"""
import json
import os

from synthetic import Made, event, lines_of, packet, run, same, switch, total_of

S = 10**9
KINDS = ('window', 'total')


def bare(line):
    """Without the name of the directory."""
    return {key: value for key, value in line.items() if key != 'trace'}


def of_pieces(scratch, name, pieces, *args):
    """What the runs on @pieces report, and `merge` in the end.  A piece has the packets of each stream."""
    state, lines = os.path.join(scratch, name + '.state'), []
    for i, streams in enumerate(pieces):
        made = Made(scratch, '%s.%d' % (name, i), streams)
        for number, data in enumerate(streams):
            if not data:
                os.unlink(os.path.join(made.path, 'channel0_%d' % number))
        lines += lines_of(made, *args, '--state', state)
    status, out, err = run('merge', '-q', '-f', 'json', state)
    same((status, err), (0, ''))
    lines += [json.loads(line) for line in out.splitlines()]
    return [bare(line) for line in lines if line['type'] in KINDS and not line.get('so_far')]


def check_cuts(scratch, name, streams):
    """Of @streams, lists of (begin, packet)."""
    whole = Made(scratch, name, [b''.join(data for _, data in stream) for stream in streams])
    for interval in '100ms', '1s', '7s':
        args = '-a', 'all', '-i', interval
        wanted = [bare(line) for line in lines_of(whole, *args) if line['type'] in KINDS]
        for cut in sorted({begin for stream in streams for begin, _ in stream}):
            pieces = [[b''.join(data for begin, data in stream if (begin >= cut) == is_later) for stream in streams]
                      for is_later in (False, True)]
            for extra in [], ['--max-memory', '1K', '--chunk-size', '1']:
                same(of_pieces(scratch, '%s-%d-%s-%d' % (name, cut, interval, len(extra)), pieces, *args, *extra), wanted)


def test_cpus_in_pieces(scratch):
    """A CPU that leaves, or has not yet; one whose second switch is in another piece than its first, and fits or not."""
    def busy(count, tid=7):
        return [(i * S, packet(0, i, i * S, i * S + S, [switch(i * S, 0, tid), switch(i * S + 100, tid, 0)])) for i in range(count)]

    def other(*switches):
        return [(ts, packet(1, i, ts, ts + 40, [switch(ts + 20, prev, next_)])) for i, (ts, prev, next_) in enumerate(switches)]

    check_cuts(scratch, 'leaves', [busy(4), other((S, 0, 8), (S + 100, 8, 0))])
    check_cuts(scratch, 'leaves-late', [busy(4), other((S, 0, 8), (3 * S + 100, 8, 0))])
    check_cuts(scratch, 'fits', [busy(4), other((S // 2, 9, 8), (S, 8, 9), (2 * S, 9, 8))])
    check_cuts(scratch, 'fits-not', [busy(4), other((S // 2, 9, 0), (S, 9, 0), (2 * S, 9, 0))])
    check_cuts(scratch, 'hole', [[(0, packet(0, 0, 0, 100, [switch(20, 3, 7), event(90, 'sched_process_exit', 1)])),
                                  (5 * S, packet(0, 1, 5 * S, 5 * S + 100, [switch(5 * S + 40, 9, 7), switch(5 * S + 60, 7, 0)]))]])


def one(cpu, number):
    """One second of a CPU, which idles but for 100 ns."""
    return packet(cpu, number, number * S, number * S + S, [switch(number * S, 0, 7), switch(number * S + 100, 7, 0)])


def unreadable(data):
    return bytes(4) + data[4:]


def figures_of(line):
    return ([(row['cpu'], row['busy_ns'], row['idle_ns'], row['unknown_ns']) for row in line['cpu']['cpus']],
            [(row.get('cpu'), row['packets']) for row in line['lost']['streams']])


def test_lost_in_pieces(scratch):
    """A file without a readable packet goes on with the stream of its name: its loss counts once, as if it came in the whole."""
    args = '-a', 'cpu,lost', '-i', '1s'
    for bad in range(3):
        streams = [[one(cpu, i) for i in range(3)] for cpu in range(2)]
        streams[1][bad] = unreadable(streams[1][bad])
        whole = Made(scratch, 'bad-%d' % bad, [b''.join(stream) for stream in streams])
        wanted = figures_of(total_of(whole, *args))
        same(wanted[1], [(1, 1)])
        same(figures_of(of_pieces(scratch, 'bad-%d' % bad, list(zip(*streams)), *args)[-1]), wanted)


def test_lost_by_nobody(scratch):
    """What was lost of a stream of which nothing is known is in the last window, for any chunks, and in a state."""
    streams = [b''.join(one(0, i) for i in range(10)), unreadable(one(1, 0))]
    made = Made(scratch, 'nobody', streams)
    os.rename(os.path.join(made.path, 'channel0_0'), os.path.join(made.path, 'channel0_7'))  # no name says a CPU
    for interval, count in ('1s', 10), ('7s', 2):
        for way in ('--chunk-size', '1', '-j', '0'), ('--chunk-size', '1', '-j', '2', '--max-memory', '1K'), ('--chunk-size', '1M'):
            found = [line['count']['lost_packets'] for line in lines_of(made, '-a', 'count', '-i', interval, *way)
                     if line['type'] in KINDS]
            same(found, [0] * (count - 1) + [1, 1])
        state = os.path.join(scratch, interval + '.state')
        lines = lines_of(made, '-a', 'count', '-i', interval, '--state', state)
        lines += [json.loads(line) for line in run('merge', '-q', '-f', 'json', state)[1].splitlines()]
        same([line['count']['lost_packets'] for line in lines if line['type'] in KINDS and not line.get('so_far')],
             [0] * (count - 1) + [1, 1])
