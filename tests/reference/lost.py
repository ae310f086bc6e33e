#!/usr/bin/env python3
"""lost: events and packets that are missing, by stream, as babeltrace2 tells them, and events that are there.

usage: lost.py SILLAGE TRACE...     (also: babeltrace2 in the path)

LTTng ends the names of stream files with the number of the CPU.
"""
import collections
import json
import re
import subprocess
import sys

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


def main():
    if len(sys.argv) < 3:
        return 77
    failed = 0
    for trace in sys.argv[2:]:
        ours, wanted = of_sillage(sys.argv[1], trace), of_babeltrace(trace)
        failed += ours != wanted
        print('%s %s: %s%s' % ('ok' if ours == wanted else 'not ok', trace, ours, '' if ours == wanted else ', babeltrace2 has %s' % (wanted,)))
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
