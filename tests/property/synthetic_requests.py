"""synthetic_requests: cases of synthetic_cases.py on requests of disks (definitions.md, 4.7).

What the events of one request say differs by what it is, and by the kernel; several may look alike.
"""
import struct

from synthetic import declared, lines_of, Made, metadata, packet, same, switch, total_of

MS, S = 10**6, 10**9
DEV, NONE = 8 << 20, -1  # device 8,0; no sector
READ, WRITE, DISCARD, SYNC, FLUSH, PREFLUSH = 4, 1, 2, 32, 256, 1024
REQUEST = (('s32', 'dev'), ('s64', 'sector'), ('s32', 'nr_sector'), ('s32', 'rwbs'), ('s32', 'tid'))
EVENTS = ('insert', 'issue', 'complete', 'requeue', 'merge')


def text_of(events=EVENTS):
    """Metadata without the disks' events of synthetic.py, but with these."""
    lines = [line for line in metadata(0).splitlines() if 'block_rq_' not in line]
    return '\n'.join(lines) + '\n' + ''.join(
        declared(200 + i, 'block_rq_' + name, REQUEST[:4] + ((('s32', 'error'),) if name == 'complete' else REQUEST[4:]))
        for i, name in enumerate(EVENTS) if name in events)


def request(what, ts, sector, sectors, rwbs, last=50, dev=DEV):
    """@last: the thread; of a completion whether it failed."""
    last = 0 if what == 'complete' and last == 50 else last
    return struct.pack('<HQiqiii', 200 + EVENTS.index(what), ts, dev, sector, sectors, rwbs, last)


def blocks(scratch, name, *streams, text=None):
    """The figures of a trace, the same for any cut: each stream is a list of lists of events, or bytes."""
    made = Made(scratch, name, streams, text or text_of())
    found = [total_of(made, '-a', 'block', *more)['block'] for more in
             (['--chunk-size', '1'], ['--chunk-size', '1M'], ['-i', '1ms'], ['-i', '7ms'], ['-j', '0'])]
    for one in found[1:]:
        same(one, found[0])
    return found[0]


def one_stream(scratch, name, *events, end=100 * MS, text=None):
    return blocks(scratch, name, packet(0, 0, 0, end, [switch(1, 0, 50)] + list(events) + [switch(end - 1, 50, 0)]), text=text)


def figures(block, *keys):
    """Of the trace, and of its one disk: sums of times by their count and sum."""
    disk, out = (block['disks'] or [{'time': {'count': 0}, 'in_flight': 0, 'busy_ns': 0}])[0], []  # 0 is not listed
    for key in keys:
        value = disk[key] if key in disk and key != 'requests' else block[key]
        out.append((value['count'], value.get('sum_ns', 0)) if isinstance(value, dict) else value)
    return tuple(out)


def test_request_flush(scratch):
    """A flush is issued at sector 0 and completes at none; the empty write that asked for it never reaches the disk."""
    flush = FLUSH | PREFLUSH
    block = one_stream(
        scratch, 'journal',
        request('issue', 10 * MS, 0, 0, flush), request('complete', 12 * MS, NONE, 0, flush),
        request('complete', 12 * MS + 1000, 0, 0, WRITE | SYNC),
        request('issue', 13 * MS, 2048, 8, WRITE | SYNC), request('complete', 14 * MS, 2048, 8, WRITE | SYNC),
        request('issue', 15 * MS, 0, 0, flush), request('complete', 18 * MS, NONE, 0, flush))
    same(figures(block, 'requests', 'flushes', 'orphans', 'cut', 'busy_ns', 'depth_max', 'in_flight', 'time'),
         (3, 2, 0, 0, 6 * MS, 1, 0, (3, 6 * MS)))


def test_request_without_place(scratch):
    """Commands, zeroes and appends: their completion says no sector, or where they were written."""
    block = one_stream(
        scratch, 'noplace',
        request('issue', 1 * MS, 0, 0, 0), request('issue', 2 * MS, 0, 4096, 0), request('issue', 3 * MS, 524288, 8, 0),
        request('issue', 4 * MS, 524288, 16, 0), request('complete', 5 * MS, 524296, 16, 0),
        request('complete', 6 * MS, NONE, 8, 0), request('complete', 7 * MS, NONE, 8, 0),
        request('complete', 9 * MS, 0, 4096, 0))
    same(figures(block, 'requests', 'orphans', 'read_bytes', 'write_bytes', 'in_flight', 'time'),
         (4, 0, 0, 0, 0, (4, (6 - 1 + 5 - 4 + 7 - 3 + 9 - 2) * MS)))
    same([(row['tid'], row['read_bytes'], row['write_bytes'], row['requests']) for row in block['threads']], [(50, 0, 0, 4)])


def test_request_merged(scratch):
    """What was inserted and merged is gone with the request that took it, whether the merge is recorded or not."""
    for merges in True, False:
        block = one_stream(
            scratch, 'merged%d' % merges,
            request('insert', 10 * MS, 100, 8, WRITE, 7), request('insert', 10 * MS + 100, 108, 8, WRITE, 8),
            *[request('merge', 10 * MS + 200, 108, 8, WRITE)] * merges,
            request('insert', 10 * MS + 300, 96, 4, READ), request('insert', 10 * MS + 400, 204, 4, WRITE, 9),
            request('issue', 11 * MS, 100, 16, WRITE), request('complete', 12 * MS, 100, 16, WRITE),
            request('issue', 13 * MS, 200, 8, WRITE), request('complete', 14 * MS, 200, 8, WRITE),
            request('issue', 90 * MS, 108, 8, WRITE), request('complete', 91 * MS, 108, 8, WRITE))
        same(figures(block, 'queued', 'time', 'in_flight'), ((2, MS + 13 * MS - 10 * MS - 400), (3, 3 * MS), 0))
        same([row.get('tid') for row in block['longest']], [7, 9, 50])


def test_request_same_sector(scratch):
    """Two readers of one sector at once are two requests; a read does not end a write."""
    block = one_stream(
        scratch, 'same', request('insert', 9 * MS, 0, 1, READ, 7), request('insert', 9 * MS + 1, 0, 1, READ, 8),
        request('issue', 10 * MS, 0, 1, READ), request('issue', 11 * MS, 0, 1, READ), request('issue', 12 * MS, 0, 1, WRITE),
        request('complete', 14 * MS, 0, 1, READ), request('complete', 15 * MS, 0, 1, READ),
        request('complete', 16 * MS, 0, 1, READ), request('complete', 17 * MS, 0, 1, WRITE))
    same(figures(block, 'requests', 'orphans', 'busy_ns', 'depth_ns', 'read_time', 'write_time', 'queued'),
         (3, 1, 7 * MS, 13 * MS, (2, 8 * MS), (1, 5 * MS), (2, 3 * MS - 1)))
    same([(row['ns'], row['tid']) for row in block['longest']], [(5 * MS, 50), (4 * MS, 7), (4 * MS, 8)])


def test_request_in_parts(scratch):
    """A part completes, with an error; the rest is requeued, inserted and issued again: it is one request."""
    block = one_stream(
        scratch, 'parts', request('insert', 9 * MS, 1000, 16, WRITE, 7), request('issue', 10 * MS, 1000, 16, WRITE, 50),
        request('complete', 11 * MS, 1000, 8, WRITE, -5), request('requeue', 12 * MS, 1008, 8, WRITE),
        request('insert', 13 * MS, 1008, 8, WRITE, 51), request('issue', 14 * MS, 1008, 8, WRITE, 51),
        request('complete', 15 * MS, 1008, 8, WRITE))
    same(figures(block, 'requests', 'requeues', 'errors', 'orphans', 'write_bytes', 'busy_ns', 'queued', 'time', 'in_flight'),
         (1, 1, 1, 0, 8192, 3 * MS, (1, MS), (1, 5 * MS), 0))
    same([(row['tid'], row['write_bytes'], row['requests']) for row in block['threads'] if row['requests']], [(50, 8192, 1)])


def test_request_requeues_unrecorded(scratch):
    """Where requeues are not recorded, the issue of an equal request that is in flight is that again."""
    for events, wanted in ((EVENTS, (1, 0, 1)), (('issue', 'complete'), (1, 0, 0))):
        block = one_stream(
            scratch, 'again%d' % len(events), request('issue', 10 * MS, 64, 8, READ), request('issue', 20 * MS, 64, 8, READ),
            request('complete', 30 * MS, 64, 8, READ), text=text_of(events))
        same(figures(block, 'requests', 'orphans', 'in_flight'), wanted)
        same(block['disks'][0]['time']['sum_ns'], 20 * MS)


def test_request_cut(scratch):
    """A loss on any CPU cuts what is open at its begin and at its end; what completes nevertheless has no time."""
    first = [switch(1, 0, 50), request('insert', 9 * MS, 700, 8, READ),
             request('issue', 10 * MS, 100, 8, READ), request('issue', 10 * MS, 300, 8, READ),
             request('issue', 15 * MS, 400, 8, READ), request('complete', 16 * MS, 400, 8, READ),
             request('issue', 17 * MS, 500, 8, READ),
             request('issue', 50 * MS, 200, 8, READ), request('complete', 51 * MS, 200, 8, READ),
             request('complete', 52 * MS, 300, 8, READ), request('issue', 60 * MS, 700, 8, READ),
             request('complete', 61 * MS, 700, 8, READ), switch(99 * MS, 50, 0)]
    second = packet(1, 0, 0, 11 * MS, []) + packet(1, 1, 20 * MS, 100 * MS, [], discarded=5)
    block = blocks(scratch, 'cut', packet(0, 0, 0, 100 * MS, first), second)
    same(figures(block, 'requests', 'cut', 'orphans', 'read_bytes', 'time', 'queued', 'in_flight'),
         (4, 3, 0, 4 * 4096, (3, 3 * MS), (0, 0), 0))
    same(block['disks'][0]['busy_ns'], (11 - 10 + 16 - 15 + 20 - 17 + 51 - 50 + 61 - 60) * MS)
    # A write is issued, all CPUs lose events, a read of that sector completes: there is no such request.
    streams = [packet(cpu, 0, 0, 20 * MS, [switch(1 + cpu, 0, 50 + cpu)] + write) + packet(cpu, 1, 80 * MS, 100 * MS, read, discarded=1)
               for cpu, write, read in ((0, [request('issue', 10 * MS, 64, 16, WRITE)], []),
                                        (1, [], [request('complete', 90 * MS, 64, 16, READ)]))]
    block = blocks(scratch, 'mispaired', *streams)
    same(figures(block, 'requests', 'orphans', 'cut', 'time', 'busy_ns', 'in_flight'), (0, 1, 1, (0, 0), 10 * MS, 0))


def test_request_cut_by_channel(scratch):
    """Events of disks are in a channel of their own: what others lose is not theirs."""
    text = text_of().replace('stream_id = 0; fields := struct { integer { size = 32; align = 8; signed = 1; } _dev', 'stream_id = 1; fields := '
                             'struct { integer { size = 32; align = 8; signed = 1; } _dev')
    text += metadata(0)[metadata(0).index('stream {'):metadata(0).index('event {')].replace('id = 0', 'id = 1')
    own = packet(0, 0, 0, 100 * MS, [request('issue', 10 * MS, 64, 8, READ), request('complete', 90 * MS, 64, 8, READ)], stream=1)
    others = packet(0, 0, 0, 20 * MS, [switch(1, 0, 50)]) + packet(0, 1, 30 * MS, 100 * MS, [switch(99 * MS, 50, 0)], discarded=4)
    block = blocks(scratch, 'channels', own, others, text=text)
    same(figures(block, 'requests', 'cut', 'time'), (1, 0, (1, 80 * MS)))


def test_request_for_ever(scratch):
    """A completion is lost without a word: after 300 s the request is not in flight any more."""
    events = [switch(1, 0, 50), request('issue', 10 * S, 64, 8, READ), request('insert', 20 * S, 72, 8, READ)]
    later = [request('issue', 320 * S, 72, 8, READ), request('complete', 321 * S, 72, 8, READ),
             request('complete', 322 * S, 64, 8, READ), switch(500 * S - 1, 50, 0)]
    for args in [], ['-i', '10s'], ['-i', '333s']:
        made = Made(scratch, 'ever%d' % len(args + args[1:] * (args[1:] == ['333s'])),
                    [packet(0, 0, 0, 500 * S, events + later)], text_of())
        block = total_of(made, '-a', 'block', *args)['block']
        same(figures(block, 'requests', 'cut', 'orphans', 'busy_ns', 'queued', 'in_flight'), (1, 1, 1, 301 * S, (0, 0), 0))


def test_request_skew(scratch):
    """The clock of one CPU is behind: a completion comes before its issue, and nothing stays in flight for that."""
    for after, wanted in ((1000, (0, 1, 1, 0, (0, 0))), (100_000, (0, 1, 1, 0, (0, 0))), (100_001, (0, 1, 0, 1, (0, 0)))):
        block = blocks(scratch, 'skew%d' % after,
                       packet(0, 0, 0, 100 * MS, [switch(1, 0, 50), request('issue', 10 * MS + after, 64, 8, READ), switch(99 * MS, 50, 0)]),
                       packet(1, 0, 0, 100 * MS, [request('complete', 10 * MS, 64, 8, READ)]))
        same(figures(block, 'requests', 'orphans', 'cut', 'in_flight', 'time'), wanted)
    # One that was issued before the trace, read again and again: each but the first is known.
    again = [one for i in range(1, 5) for one in (request('complete', i * MS, 64, 8, READ), request('issue', i * MS + 2000, 64, 8, READ))]
    block = one_stream(scratch, 'rereads', *again, request('complete', 5 * MS, 64, 8, READ))
    same(figures(block, 'requests', 'orphans', 'cut', 'time'), (4, 1, 1, (3, 3 * (MS - 2000))))


def test_request_at_once(scratch):
    """At one ns an issue comes last, whether it names a thread or not: behind losses and behind completions."""
    for tid in 0, 50:
        block = blocks(scratch, 'issue_last%d' % tid,
                       packet(0, 0, 0, 11 * MS, [switch(1, 0, 50), request('requeue', 2 * MS, 0, 8, WRITE),
                                                 request('issue', 11 * MS, 64, 8, READ, tid)]) +
                       packet(0, 1, 20 * MS, 100 * MS, [switch(99 * MS, 50, 0)], discarded=1))
        same(figures(block, 'cut', 'busy_ns', 'in_flight'), (1, 9 * MS, 0))
        block = blocks(scratch, 'orphan_first%d' % tid,
                       packet(0, 0, 0, 100 * MS, [switch(1, 0, 50), request('issue', 10 * MS, 64, 8, READ, tid), switch(99 * MS, 50, 0)]),
                       packet(1, 0, 0, 100 * MS, [request('complete', 10 * MS, 64, 8, READ)]))
        same(figures(block, 'requests', 'orphans', 'cut', 'time'), (0, 1, 1, (0, 0)))


def test_request_and_loss_at_once(scratch):
    """What is inserted in the ns of a loss may be lost there, whatever the CPUs are called."""
    for lost in 0, 1:
        streams = [packet(1 - lost, 0, 0, 100 * MS, [switch(1, 0, 50), request('requeue', 2 * MS, 0, 8, WRITE),
                                                     request('insert', 10 * MS, 64, 8, READ), request('issue', 12 * MS, 64, 8, READ),
                                                     switch(99 * MS, 50, 0)]),
                   packet(lost, 0, 0, 10 * MS, []) + packet(lost, 1, 10 * MS, 100 * MS, [], discarded=1)]
        block = blocks(scratch, 'insert-loss%d' % lost, *streams)
        same(figures(block, 'queued', 'cut', 'in_flight'), ((0, 0), 0, 1))


def test_request_lost_at_the_end(scratch):
    """A loss behind the last event is behind the last window: the request is in flight up to there."""
    for stream, events in (1, []), (0, [request('requeue', 2 * MS, 0, 8, WRITE)]):
        first = [switch(1, 0, 50), request('issue', 10 * MS, 64, 8, READ), switch(50 * MS, 50, 0)]
        block = blocks(scratch, 'loss-behind%d' % stream, packet(0, 0, 0, 60 * MS, first),
                       packet(1, 0, 0, 55 * MS, events) + packet(1, 1, 58 * MS, 58 * MS, [], discarded=1))
        same(figures(block, 'cut', 'busy_ns', 'in_flight'), (0, 40 * MS, 1))


def test_request_windows(scratch):
    """Windows show what is in flight at their end, and what is cut where it is cut."""
    made = Made(scratch, 'windows', [packet(0, 0, 0, 11 * MS, [switch(1, 0, 50), request('issue', 5 * MS, 64, 8, READ)]) +
                                     packet(0, 1, 25 * MS, 40 * MS, [switch(39 * MS, 50, 0)], discarded=1)], text_of())
    windows = [line['block'] for line in lines_of(made, '-a', 'block', '-i', '10ms') if line['type'] == 'window']
    same([figures(block, 'cut', 'in_flight', 'busy_ns') for block in windows],
         [(0, 1, 5 * MS), (1, 0, 1 * MS), (0, 0, 0), (0, 0, 0)])


def test_request_too_many(scratch):
    """More are open than any disk holds: the oldest are cut, and those that are left complete."""
    events = [request('issue', 1000 + i * 10, i * 8, 8, READ) for i in range(8292)]
    ends = [request('complete', MS + i * 10, i * 8, 8, READ) for i in range(8292)]
    block = one_stream(scratch, 'many', *events, *ends)
    same(figures(block, 'requests', 'cut', 'orphans', 'depth_max', 'in_flight'), (8192, 100, 100, 8193, 0))
