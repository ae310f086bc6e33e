#!/usr/bin/env python3
"""counters: differences of counters from the begin of a period to its end, against a plain program.

Goal    The numbers, sums and largest of what `diff` asks for are those of the plain program, in one process or from
        partials and states.  A counter of a thread counts where a period begins and ends on one, one of a CPU where it
        does on one CPU.  What an event lacks, or a counter that went back, is not measured, and never 0.
Method  Made-up events of two processes, with the contexts that LTTng records for counters, which this machine may lack.

usage: counters.py SILLAGE
"""
import collections
import json
import os
import random
import struct
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'property'))
import models
import synthetic

EVENTS = {'c:begin': (('u64', 'id'), ('u64', 'bytes'), ('i64', 'level')), 'c:more': (('u64', 'id'),), 'c:end': (('u64', 'id'), ('u64', 'bytes'), ('u64', 'level'))}
NAMES = list(EVENTS)
CYCLES, MISSES = '$ctx.perf_thread_cpu_cycles', 'perf_cpu_cache_misses'
# Name, pattern, what its events agree in, fields of diff, group.
PERIODS = (
    ('own', ('c:begin', 'c:end'), ('pid', 'tid'), (CYCLES, 'bytes'), None),
    ('by-id', ('c:begin', 'c:end'), ('pid', 'id'), (CYCLES, MISSES, 'bytes', 'level'), 'id'),
    ('chain', ('c:begin', 'c:more', 'c:end'), ('pid', 'id'), (CYCLES, 'bytes', MISSES), None),
)


def text_of(period):
    name, events, keys, diffs, group = period
    by = '; by id' if 'id' in keys else ''
    text = '%s = %s; %s%s' % (name, events[0], events[1], by)
    text += ''.join('; then %s%s' % (event, by) for event in events[2:])
    return text + ('; group ' + group if group else '') + '; diff ' + ', '.join(diffs)


def events_of(seed, count=2500):
    """[(ns, cpu, pid, tid, name, {field: value; None: the event lacks it})]"""
    rng, ts, found = random.Random(seed), 10 ** 9, []
    threads, cpus, total = collections.Counter(), collections.Counter(), 0
    for _ in range(count):
        ts += rng.choice((1000, 40000)) + rng.randrange(500)
        cpu, pid, tid = rng.randrange(2), rng.choice((100, 200)), rng.choice((7, 8))
        threads[pid, tid] += rng.randrange(5000)
        cpus[cpu] += rng.randrange(300)
        total = total + rng.randrange(900) if rng.random() < .97 else rng.randrange(100)  # it begins again
        name = rng.choice(NAMES)
        fields = {CYCLES: 2 ** 63 - 10 ** 6 + threads[pid, tid], MISSES: cpus[cpu], 'bytes': total, 'id': rng.randrange(4)}
        # Signed where a period begins, not where it ends.
        fields['level'] = rng.choice((-3, 0, 5, -10 ** 12) if name == 'c:begin' else (0, 7, 10 ** 12))
        found.append((ts, cpu, pid, tid, name, fields))
    return found


def write(scratch, name, events):
    """c:end of CPU 1 is of a channel without the counter of threads."""
    text = models.made_metadata(EVENTS)
    one = 'int32_t _vpid; int32_t _vtid;'
    assert one in text
    begin = text.index('stream {')
    end = text.index('event { name', begin)
    stream = text[begin:end]
    counted = stream.replace(one, one + ' uint64_t _perf_thread_cpu_cycles; uint64_t _perf_cpu_cache_misses;')
    other = stream.replace('id = 0;', 'id = 1;', 1).replace(one, one + ' uint64_t _perf_cpu_cache_misses;')
    assert counted != stream and other.count('id = 1;') == 1
    events_text = text[end:]
    text = text[:begin] + counted + other + events_text + events_text.replace('stream_id = 0', 'stream_id = 1')
    packets = [[], []]
    for ts, cpu, pid, tid, what, fields in events:
        data = struct.pack('<HQii', NAMES.index(what), ts, pid, tid)
        data += struct.pack('<Q', fields[CYCLES]) if cpu == 0 else b''
        data += struct.pack('<Q', fields[MISSES])
        packets[cpu].append(data + b''.join(struct.pack('<Q', fields[field] % 2 ** 64) for _, field in EVENTS[what]))
    streams = []
    for cpu, data in enumerate(packets):
        streams.append(synthetic.packet(cpu, 0, 10 ** 9, events[-1][0], data, stream=cpu))
    return synthetic.Made(scratch, name, streams, text).path


def differences_of(events):
    rows = collections.defaultdict(list)
    for name, steps, keys, diffs, group in PERIODS:
        waiting = {}
        for event in events:
            _, cpu, pid, tid, what, fields = event
            key = tuple({'pid': pid, 'tid': tid, 'id': fields['id']}[one] for one in keys)
            for step in reversed(range(len(steps))):
                if steps[step] != what:
                    continue
                begin = event
                if step > 0:
                    begin = waiting.pop((step, key), None)
                    if not begin:
                        continue
                if step + 1 < len(steps):
                    waiting[step + 1, key] = begin
                    continue
                for diff in diffs:
                    lacks = diff == CYCLES and (begin[1] == 1 or cpu == 1 or begin[2:4] != event[2:4])
                    lacks |= diff == MISSES and begin[1] != cpu
                    if not lacks and fields[diff] - begin[5][diff] >= 0:
                        row = '%s %s' % (name, diff.replace('$ctx', 'context')) + (' id=%d' % begin[5]['id'] if group else '')
                        rows[row].append(fields[diff] - begin[5][diff])
    return {name: (len(all), sum(all), max(all)) for name, all in rows.items()}


def check_ends(sillage, scratch):
    """Sums end at 2^64 - 1, in a window and over windows; no difference is more."""
    events, data = {'c:begin': (('u64', 'huge'), ('i64', 'level')), 'c:end': (('u64', 'huge'), ('i64', 'level'))}, []
    for i in range(3):
        for ts, name, huge, level in ((10 ** 9 * (i + 1), 0, 5, -2 ** 62), (10 ** 9 * (i + 1) + 1000, 1, 5 + 2 ** 63, 2 ** 62 + i)):
            data.append((ts, struct.pack('<HQiiQq', name, ts, 7, 7, huge, level)))
    trace = synthetic.Made(scratch, 'ends', [synthetic.packet(0, 0, data[0][0], data[-1][0], [one for _, one in data])],
                           models.made_metadata(events)).path
    for interval, wanted in (('10s', []), ('1s', [2 ** 63] * 3)):
        out = run(sillage, 'analyze', '-q', '-f', 'json', '-i', interval, '--period', 'x = c:begin; c:end; diff huge, level', trace)
        lines = [json.loads(line) for line in out.splitlines()]
        rows = {line['type']: {row['name']: row for row in line['periods']['differences']} for line in lines if 'periods' in line}
        windows = [row['total'] for line in lines if line['type'] == 'window' for row in line['periods']['differences'] if row['name'] == 'x huge']
        total = rows['total']['x huge'], rows['total']['x level']
        found = [(row['measured'], row['total'], row['largest']) for row in total]
        if found != [(3, 2 ** 64 - 1, 2 ** 63), (3, 2 ** 64 - 1, 2 ** 63 + 2)] or (wanted and windows != wanted):
            yield 'sums that end, -i %s: %s, windows %s' % (interval, found, windows)


def total_of(out):
    line = next(line for line in map(json.loads, out.splitlines()) if line['type'] == 'total')
    return {row['name']: tuple(row[key] for key in ('measured', 'total', 'largest')) for row in line['periods']['differences']}


def run(sillage, *args):
    return subprocess.run([sillage, *args], stdout=subprocess.PIPE, check=True).stdout.decode()


def main():
    sillage = sys.argv[1]
    synthetic.SILLAGE = sillage
    asked = [word for period in PERIODS for word in ('--period', text_of(period))]
    faults = []
    with tempfile.TemporaryDirectory(prefix='sillage-counters-') as scratch:
        faults += check_ends(sillage, scratch)
        for seed in (1, 2):
            events = events_of(seed)
            trace, half = write(scratch, 'made-%d' % seed, events), write(scratch, 'half-%d' % seed, events[:len(events) // 2])
            wanted = differences_of(events)
            assert len(wanted) == 2 + 16 + 3, wanted
            found = {'alone': total_of(run(sillage, 'analyze', '-q', '-f', 'json', '-n', '0', *asked, trace)),
                     'in pieces': total_of(run(sillage, 'analyze', '-q', '-f', 'json', '-n', '0', '-j', '2', '--chunk-size', '300', *asked, trace))}
            partials, state = (os.path.join(scratch, '%s-%d' % (name, seed)) for name in ('partials', 'state'))
            run(sillage, 'map', '-q', '-a', 'periods', *asked, '-o', partials, trace)
            found['merged'] = total_of(run(sillage, 'merge', '-q', '-f', 'json', '-n', '0', partials))
            for part in (half, trace):
                run(sillage, 'analyze', '-q', '-a', 'periods', *asked, '--state', state, part)
            faults += ['seed %d: %s: %r, not %r' % (seed, how, got, wanted) for how, got in found.items() if got != wanted]
    print('\n'.join('# ' + fault for fault in faults[:20]))
    print('%s: %d faults' % ('not ok' if faults else 'ok', len(faults)))
    return 1 if faults else 0


if __name__ == '__main__':
    sys.exit(main())
