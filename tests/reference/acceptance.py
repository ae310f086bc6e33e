#!/usr/bin/env python3
"""acceptance: published figures of two public traces, to the nanosecond and the byte.

Goal    Numbers that other programs computed from the same traces.
Method  `sillage analyze` on many-threads and bug446190 of the Trace Compass test traces; the
        figures were computed from babeltrace2's text by scripts that are not ours.

usage: acceptance.py SILLAGE DIR
"""
import json
import os
import subprocess
import sys

WANTED = {
    'many-threads': {
        'events': 240644, 'names': 181, 'switches': 28325, 'length': 432662358,
        'busy': [226220045, 228322595, 238895988, 247329854, 230959519, 239270294, 224750381,
                 238661404],
        'total': 1874410080, 'threads': 8058,
        'top': [(2673, 128483092), (1382, 6903202), (10704, 4941273), (4298, 4367088),
                (4042, 3616525)],
        'read': 9232561, 'written': 9089145, 'reads': 1093, 'writes': 8489,
        'readers': {4298: 8388608, 4297: 622592, 10704: 149193},
        'writers': {4298: 8389504, 4297: 622592, 2673: 48000},
    },
    'bug446190': {
        'events': 31556, 'names': 129, 'switches': 1052, 'length': 7639695034389 - 7633688544089 ,
        'busy': [13828000, 55301000, 7895200, 31058700], 'total': 108082900, 'threads': 26,
        'top': [(482, 46243000), (496, 16296000), (526, 8400600)],
        'read': 1260143, 'written': 1251830,
    },
}


def found(total):
    cpus = sorted(total['cpu']['cpus'], key=lambda row: row['cpu'])
    io = total['io']['threads']
    return {
        'events': total['count']['events'], 'names': len(total['count']['by_name']),
        'switches': total['count']['by_name']['sched_switch'],
        'length': total['end'] - total['begin'],
        'busy': [row['busy_ns'] for row in cpus], 'total': total['cpu']['busy_ns'],
        'threads': sum(1 for row in total['cpu']['threads'] if row['run_ns'] > 0),
        'top': [(row['tid'], row['run_ns']) for row in total['cpu']['threads'][:5]],
        'read': total['io']['read_bytes'], 'written': total['io']['write_bytes'],
        'reads': sum(row['reads'] for row in io), 'writes': sum(row['writes'] for row in io),
        'readers': {row['tid']: row['read_bytes'] for row in io},
        'writers': {row['tid']: row['write_bytes'] for row in io},
    }


def differs(got, wanted):
    if isinstance(wanted, dict):
        return any(got.get(key) != value for key, value in wanted.items())
    return got[:len(wanted)] != wanted if isinstance(wanted, list) else got != wanted


def main():
    if len(sys.argv) < 3:
        print('skipped: the public traces are not here')
        return 77
    failed = 0
    for name, wanted in WANTED.items():
        out = subprocess.run([sys.argv[1], 'analyze', '-f', 'json', os.path.join(sys.argv[2], name)],
                             stdout=subprocess.PIPE, check=True).stdout.decode()
        got = found([line for line in map(json.loads, out.splitlines()) if line['type'] == 'total'][0])
        for key, value in wanted.items():
            if differs(got[key], value):
                print('not ok %s: %s is %r, wanted %r' % (name, key, got[key], value))
                failed += 1
    print('%s acceptance' % ('not ok' if failed else 'ok'))
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
