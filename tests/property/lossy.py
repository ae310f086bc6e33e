"""lossy: requests of disks where events are lost, by the plain program (definitions.md, 4.7).

For laws.py.  The generator says which events are missing, the packets that are there say where.
"""
import collections
import os
import types

import generated
import reference
import sequential


def gaps_of(path):
    """(begin, end, channel) of each gap: packets are missing before a packet, or the tracer discarded events."""
    with open(os.path.join(path, 'metadata')) as file:
        order, found = '<' if 'byte_order = le' in file.read() else '>', []
    for name in os.listdir(path):
        if name == 'metadata' or not os.path.isfile(os.path.join(path, name)):
            continue
        with open(os.path.join(path, name), 'rb') as file:
            packets = generated.split(file.read(), order)
        channel = int.from_bytes(packets[0][4][20:24], 'little' if order == '<' else 'big') if packets else 0
        for (_, end, seq, discarded, _), (begin, _, next_seq, next_discarded, _) in zip(packets, packets[1:]):
            if next_seq != seq + 1 or next_discarded != discarded:
                found.append((end, begin, channel))
    return found


def steps_of(path, events, lost):
    """All in time order; at one ns, what no thread does comes before what threads do."""
    first = min(ts for ts, _, cpu, _ in events if (ts, cpu) not in lost.events)
    steps = [((ts, name == 'block_rq_issue', 0), 'event', (ts, name, text, cpu)) for ts, name, cpu, text in events
             if (ts, cpu) not in lost.events and ('block_' in name)]
    steps += [((begin, False, 1), 'gap', (begin, end, channel)) for begin, end, channel in gaps_of(path)]
    steps += [((begin, True, 2), 'hole', (begin,)) for begin, _ in reference.holes_of(path) if begin >= first]
    return sorted(steps, key=lambda step: step[0])


def book_of(path, events, lost, end):
    block = sequential.Block(types.SimpleNamespace(thread=lambda tid: None), reference.declared(path)[1])
    book, until, has_requests = sequential.Book(), 0, False
    channel = next((where for name, where in lost.channels.items() if name.startswith('block_rq')), None)

    def go_on(ts):
        nonlocal until
        if until and until <= ts:
            block.cut(until, book)
            until = 0

    for _, what, values in steps_of(path, events, lost):
        if values[0] > end:
            break
        go_on(values[0])
        if what == 'event':
            ts, name, text, _ = values
            has_requests |= name.startswith('block_rq')
            block.event(ts, name, text, book)
        elif what == 'hole':
            block.cut(values[0], book)
        elif has_requests and values[2] == channel:
            block.cut(values[0], book)
            until = max(until, values[1])
    go_on(end)
    block.end_window(end, book)
    return book


def requests_differ(path, events, lost, total):
    """The first figure of disks that is another one."""
    book = book_of(path, events, lost, total['end'])
    book.fix(lambda thread: thread)
    line = {name: {'longest': []} for name in sequential.ANALYSES}
    line['block'] = {key: value for key, value in total['block'].items() if key not in ('threads', 'processes', 'containers')}
    book.sums = collections.Counter({path_: value for path_, value in book.sums.items() if 'threads' not in path_})
    return next(sequential.differences(line, book, lambda thread: thread), None)
