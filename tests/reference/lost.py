#!/usr/bin/env python3
"""lost: events and packets that are missing, by stream, as babeltrace2 tells them, and events that are there.

Each loss is said with when it was and, once a stream, with what helps: the times are those of babeltrace2, and those of
packets that are made here.

usage: lost.py SILLAGE TRACE...     (also: babeltrace2 in the path)

LTTng ends the names of stream files with the number of the CPU.
"""
import collections
import json
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'property'))
import synthetic

TOLD = re.compile(r'Tracer discarded (\d+) (event|packet)s? .*?within stream ".*?(?:_(\d+))?" \(stream class ID: (\d+)')
SEEN = re.compile(r'(\d+) Event message')


def of_babeltrace(trace):
    """Missing events and packets by CPU and channel; events."""
    done = subprocess.run(['babeltrace2', trace], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=True)
    missing = collections.defaultdict(lambda: [0, 0])
    for count, what, cpu, channel in TOLD.findall(done.stderr.decode().replace('\n', ' ')):
        missing[(int(cpu or -1), channel)][what == 'packet'] += int(count)
    counted = subprocess.run(['babeltrace2', trace, '-c', 'sink.utils.counter'], stdout=subprocess.PIPE, check=True)
    return dict(missing), int(SEEN.findall(counted.stdout.decode())[-1])  # it counts aloud


def of_sillage(sillage, trace):
    out = subprocess.run([sillage, 'analyze', '-q', '-a', 'lost', '-f', 'json', trace], stdout=subprocess.PIPE, check=True).stdout
    lost = [line for line in map(json.loads, out.decode().splitlines()) if line['type'] == 'total'][0]['lost']
    rows = {(row.get('cpu', -1), row['channel']): [row['events'], row['packets']] for row in lost['streams']}
    sums = [sum(row[i] for row in rows.values()) for i in range(2)]
    assert sums == [lost['events'], lost['packets']], 'the rows of %s are not its total' % trace
    return {key: row for key, row in rows.items() if any(row)}, lost['seen']


REMEDY = 'larger or more sub-buffers would hold them (lttng enable-channel --subbuf-size, --num-subbuf)'
SAID = re.compile(r'the tracer discarded (\d+) events? before packet (\d+), between ([\d:.]+) and ([\d:.]+)(; .*)?$', re.M)


def said_of(sillage, trace):
    done = subprocess.run([sillage, 'analyze', '-a', 'lost', '-o', os.devnull, trace], stderr=subprocess.PIPE, check=True,
                          env=dict(os.environ, TZ='UTC'))
    return SAID.findall(done.stderr.decode())


def check_said(sillage, trace):
    """As many as babeltrace2 says, since when it says; it has the end of the packet, which may be later."""
    done = subprocess.run(['babeltrace2', trace], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=True, env=dict(os.environ, TZ='UTC'))
    told = re.findall(r'discarded (\d+) events? between \[([\d:.]+)\] and \[([\d:.]+)\]', done.stderr.decode().replace('\n', ' '))
    said = said_of(sillage, trace)
    assert len(said) == len(told), (said, told)
    for (count, _, begin, end, _), (theirs, since, until) in zip(sorted(said), sorted(told)):
        assert count == theirs and begin == since[:len(begin)] and begin < end <= until, (said, told)
    return len(said)


def check_made(sillage):
    """Of two streams with two losses each: between the packets that are there, and the remedy once each."""
    with tempfile.TemporaryDirectory(prefix='sillage-lost-') as scratch:
        streams = [b''.join(synthetic.packet(cpu, seq, begin * 1000000, end * 1000000, [synthetic.switch(begin * 1000000 + 1, 0, cpu + 1)], discarded)
                            for seq, (begin, end, discarded) in enumerate(((1, 2, 0), (5, 6, 7), (8, 9, 7), (12 + cpu, 15, 10)))) for cpu in range(2)]
        said = said_of(sillage, synthetic.Made(scratch, 'made', streams).path)
    wanted = [('7', '1', '00:00:00.002000', '00:00:00.005000'), ('7', '1', '00:00:00.002000', '00:00:00.005000'),
              ('3', '3', '00:00:00.009000', '00:00:00.012000'), ('3', '3', '00:00:00.009000', '00:00:00.013000')]
    assert sorted(one[:4] for one in said) == sorted(wanted), said
    assert sorted(one[4] for one in said) == ['', '', '; ' + REMEDY, '; ' + REMEDY] and all(one[4] for one in said if one[0] == '7'), said


def main():
    if len(sys.argv) < 3:
        return 77
    failed = 0
    for trace in sys.argv[2:]:
        ours, wanted = of_sillage(sys.argv[1], trace), of_babeltrace(trace)
        failed += ours != wanted
        print('%s %s: %s%s' % ('ok' if ours == wanted else 'not ok', trace, ours, '' if ours == wanted else ', babeltrace2 has %s' % (wanted,)))
        if 'lost' in trace:
            failed += check_said(sys.argv[1], trace) == 0
    check_made(sys.argv[1])
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
