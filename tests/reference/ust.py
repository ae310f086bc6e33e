#!/usr/bin/env python3
"""ust: events by process (by name), by log level, and by name in each process, as babeltrace2 and the metadata have them.

usage: ust.py SILLAGE TRACE...     (also: babeltrace2 in the path)
"""
import collections
import json
import re
import subprocess
import sys

LEVELS = ('EMERG ALERT CRIT ERR WARNING NOTICE INFO DEBUG_SYSTEM DEBUG_PROGRAM DEBUG_PROCESS '
          'DEBUG_MODULE DEBUG_UNIT DEBUG_FUNCTION DEBUG_LINE DEBUG').split()
EVENT = re.compile(r'\) (?:\S+ )?([\w:]+): \{.*v[pt]id = (\d+), procname = "([^"]*)"')


def check(sillage, trace):
    text = subprocess.run(['babeltrace2', trace], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                          check=True).stdout.decode()
    metadata = subprocess.run(['babeltrace2', '-o', 'ctf-metadata', trace], stdout=subprocess.PIPE,
                              check=True).stdout.decode()
    classes = dict(re.findall(r'event \{\s*name = "([^"]*)";.*?loglevel = (\d+);', metadata, re.S))
    processes, levels, events = collections.Counter(), collections.Counter(), collections.Counter()
    for line in text.splitlines():
        name, _, procname = EVENT.search(line).groups()
        vpid = re.search(r'\bvpid = (\d+)', line)
        events[vpid and int(vpid.group(1)), name] += 1
        processes[procname] += 1
        levels[LEVELS[int(classes[name])]] += 1
    out = subprocess.run([sillage, 'analyze', '-q', '-a', 'ust', '-f', 'json', trace],
                         stdout=subprocess.PIPE, check=True).stdout.decode()
    ust = [line for line in map(json.loads, out.splitlines()) if line['type'] == 'total'][0]['ust']
    ours = collections.Counter()
    for row in ust['processes']:
        ours[row['procname']] += row['events']
    our_levels = {row['level_name']: row['events'] for row in ust['levels']}
    our_events = {(row.get('vpid'), row['event']): row['events'] for row in ust['events']}
    same = ours == processes and our_events == dict(events) and our_levels == dict(levels) and processes
    print('%s %s: %s %s' % ('ok' if same else 'not ok', trace, dict(processes), dict(levels)))
    if not same:
        print('# ours: %s %s' % (ours, our_levels))
    return same


if __name__ == '__main__':
    results = [check(sys.argv[1], trace) for trace in sys.argv[2:]]
    sys.exit(0 if results and all(results) else 1)
