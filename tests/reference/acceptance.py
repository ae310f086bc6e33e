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

SLICE_NS = 100000000
WANTED = {
    'many-threads': {
        'events': 240644, 'names': 181, 'switches': 28325, 'length': 432662358,
        'busy': [226220045, 228322595, 238895988, 247329854, 230959519, 239270294, 224750381,
                 238661404],
        'total': 1874410080, 'threads': 8058,
        # In slices of 100 ms from the first event on: of all, and of thread 2673.
        'slices': [(356571048, 24248453), (465066696, 32675727), (453808988, 31811055), (464758104, 31442308),
                   (134205244, 8305549)],
        'top': [(2673, 128483092), (1382, 6903202), (10704, 4941273), (4298, 4367088),
                (4042, 3616525)],
        'read': 9232561, 'written': 9089145, 'reads': 1093, 'writes': 8489,
        'readers': {4298: 8388608, 4297: 622592, 10704: 149193},
        'writers': {4298: 8389504, 4297: 622592, 2673: 48000},
        'wake': {'count': 6741, 'sum_ns': 17732827, 'min_ns': 921, 'max_ns': 315435,
                 'mean_ns': 2630.593, 'stdev_ns': 6887.613,
                 'log2': {'9': 2, '10': 4903, '11': 1395, '12': 161, '13': 192, '14': 62, '15': 19,
                          '16': 2, '17': 4, '18': 1}},
        'wake percentiles': [1698, 6715, 18208, 84845],
        'requeue': {'count': 591, 'sum_ns': 12870543, 'max_ns': 417759},
        'fork': {'count': 8003, 'sum_ns': 163348543, 'min_ns': 1473, 'max_ns': 1040658},
        'sched': {'unexplained': 0, 'races': 115},
        'syscalls': {'calls': 70056, 'errors': 372, 'child_returns': 8003, 'orphans': 27},
        'syscall time': 6592312802, 'in flight': 8029,
        'calls': {'open': (8192, 32127464), 'write': (8164, 3801845), 'close': (8154, 1660083),
                  'clone': (8003, 27627543), 'futex': (5551, 1346536285), 'mmap': (4140, 4024015),
                  'read': (623, 457297)},
        'call errors': {'open': 55, 'futex': 83, 'read': 67},
        'irq': {26: (141, 309187), 28: (8, 12866), 30: (4, 35409)},
        'softirq': {1: (1019, 630904, 1019, 1576379), 3: (8, 84875, 8, 5457),
                    4: (141, 745399, 141, 62450), 7: (778, 1963055, 777, 1117408),
                    9: (4096, 11726510, 4096, 4768089)},
    },
    'bug446190': {
        'events': 31556, 'names': 129, 'switches': 1052, 'length': 7639695034389 - 7633688544089 ,
        'busy': [13828000, 55301000, 7895200, 31058700], 'total': 108082900, 'threads': 26,
        'top': [(482, 46243000), (496, 16296000), (526, 8400600)],
        'read': 1260143, 'written': 1251830,
        # The published 542 count two new threads from sched_wakeup_new on, 37500 ns in all; by the
        # rules those are forks (sched.fork).
        'wake': {'count': 540, 'sum_ns': 21794700 - 37500, 'min_ns': 2300, 'max_ns': 9302300},
        'requeue': {'count': 172, 'sum_ns': 2862100},
        'syscalls': {'calls': 1801, 'errors': 146, 'orphans': 10},
        'syscall time': 28145837500, 'in flight': 16,
        'calls': {'ioctl': (339, 64560800), 'splice': (182, 6380100), 'read': (93, 5887990200)},
        'call errors': {'open': 66, 'read': 7},
        'irq': {27: (287, 5982200)},
        'softirq': {1: (273, 2644000, 273, 4380000), 3: (317, 6580700, 317, 1491800)},
        'pages': [756, 501, 108], 'eth0': [24410, 1760],
    },
}


def near(got, wanted):
    """Percentiles are those of a histogram: at most 1/64 above."""
    return all(low <= value <= low + low // 64 for value, low in zip(got, wanted))


def times(row, *keys):
    return tuple(row[key].get(figure, 0) for key in keys for figure in ('count', 'sum_ns'))


def found(total):
    sched, syscalls, irq = total['sched'], total['syscalls'], total['irq']
    figures = {
        'wake': sched['wake'], 'requeue': sched['requeue'], 'fork': sched['fork'], 'sched': sched,
        'wake percentiles': [sched['wake'][key] for key in ('p50_ns', 'p95_ns', 'p99_ns', 'p999_ns')],
        'syscalls': syscalls, 'syscall time': syscalls['time']['sum_ns'],
        'in flight': syscalls['in_flight'] + syscalls['never_returned'],
        'calls': {row['name']: times(row, 'time') for row in syscalls['by_name']},
        'call errors': {row['name']: row['errors'] for row in syscalls['by_name']},
        'irq': {row['irq']: times(row, 'time') for row in irq['hard']},
        'softirq': {row['vec']: times(row, 'time', 'raise') for row in irq['soft']},
        'pages': [total['memory'][key] for key in ('allocated_pages', 'freed_pages',
                                                   'freed_batched_pages')],
        'eth0': [row[key] for row in total['net']['interfaces'] for key in ('rx_bytes', 'tx_bytes')],
    }
    return dict(figures, **base_figures(total))


def base_figures(total):
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


def total_of(sillage, trace, *args):
    out = subprocess.run([sillage, 'analyze', '-f', 'json', *args, trace], stdout=subprocess.PIPE, check=True).stdout.decode()
    return [line for line in map(json.loads, out.splitlines()) if line['type'] == 'total'][0]


def slices(sillage, trace, begin, count):
    for at in range(begin, begin + count * SLICE_NS, SLICE_NS):
        cpu = total_of(sillage, trace, '-a', 'cpu', '--begin', str(at), '--end', str(at + SLICE_NS))['cpu']
        yield cpu['busy_ns'], sum(row['run_ns'] for row in cpu['threads'] if row['tid'] == 2673)


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
        trace = os.path.join(sys.argv[2], name)
        total = total_of(sys.argv[1], trace, '-a', 'all')
        got = dict(found(total), slices=list(slices(sys.argv[1], trace, total['begin'], len(wanted.get('slices', [])))))
        for key, value in wanted.items():
            same = near if key == 'wake percentiles' else lambda a, b: not differs(a, b)
            if not same(got[key], value):
                print('not ok %s: %s is %r, wanted %r' % (name, key, got[key], value))
                failed += 1
    print('%s acceptance' % ('not ok' if failed else 'ok'))
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
