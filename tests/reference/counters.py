#!/usr/bin/env python3
"""counters: differences of counters from the begin to the end of periods, executions and calls, against plain programs.

Goal    The numbers, sums and largest of what `diff` asks for are those of the plain program, in one process or from
        partials and states.  A counter of a thread counts where both events happen on one, one of a CPU where they do
        on one CPU.  What an event lacks, or a counter that went back, is not
        measured, and never 0.  Triggers and stores have all this, and calls, as windows do.
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

EVENTS = {'c:begin': (('u64', 'id'), ('u64', 'bytes'), ('i64', 'level'), ('u64', 'whose')), 'c:more': (('u64', 'id'),),
          'c:end': (('u64', 'id'), ('u64', 'bytes'), ('u64', 'level'), ('u64', 'whose'))}
NAMES = list(EVENTS)
CYCLES, MISSES = '$ctx.perf_thread_cpu_cycles', 'perf_cpu_cache_misses'
# Name, pattern, what its events agree in, fields of diff, group.
PERIODS = (
    ('own', ('c:begin', 'c:end'), ('pid', 'tid'), (CYCLES, 'bytes'), None),
    ('by-id', ('c:begin', 'c:end'), ('pid', 'id'), (CYCLES, MISSES, 'bytes', 'level'), 'id'),
    ('chain', ('c:begin', 'c:more', 'c:end'), ('pid', 'id'), (CYCLES, 'bytes', MISSES), None),
)
JOBS = PERIODS[:2] + (
    ('steps', ('c:begin', 'c:more', 'c:end'), ('pid', 'tid'), (CYCLES, 'bytes', MISSES), None),
    ('about', ('c:begin whose=$tid', 'c:end whose=$tid'), ('whose',), (CYCLES, 'bytes'), None),
    ('inner', ('c:more', 'c:end'), ('pid', 'tid'), (CYCLES, MISSES), None),
)
# Both end alike, and have not the same fields.
CALLS = (('own', ('c:begin', 'c:end'), ('pid', 'tid'), ('bytes', CYCLES), None),
         ('other', ('c:more', 'c:end'), ('pid', 'tid'), (CYCLES, MISSES), None)) + PERIODS[1:2]


def text_of(period, then='; then '):
    name, events, keys, diffs, group = period
    by = ''.join('; by ' + key for key in keys if key in ('id', 'sector'))
    text = '%s = %s; %s%s' % (name, events[0], events[1], by)
    text += ''.join(then + event + by for event in events[2:])
    text += '; group ' + group if group else ''
    return text + '; diff ' + ', '.join(diffs) + ('; within own' if name == 'inner' else '')


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
        fields = {CYCLES: 2 ** 63 - 10 ** 6 + threads[pid, tid], MISSES: cpus[cpu], 'bytes': total, 'id': rng.randrange(4), 'whose': rng.choice((7, 8, 9))}
        # Signed where a period begins, not where it ends.
        fields['level'] = rng.choice((-3, 0, 5, -10 ** 12) if name == 'c:begin' else (0, 7, 10 ** 12))
        found.append((ts, cpu, pid, tid, name, fields))
    return found


def write(scratch, name, *parts):
    """A packet of each stream for each part.  c:end of CPU 1 is of a channel without the counter of threads."""
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
    streams, at = [b'', b''], 10 ** 9
    for seq, part in enumerate(parts):
        packets = [[], []]
        for ts, cpu, pid, tid, what, fields in part:
            data = struct.pack('<HQii', NAMES.index(what), ts, pid, tid)
            data += struct.pack('<Q', fields[CYCLES]) if cpu == 0 else b''
            data += struct.pack('<Q', fields[MISSES])
            packets[cpu].append(data + b''.join(struct.pack('<Q', fields[field] % 2 ** 64) for _, field in EVENTS[what]))
        for cpu, data in enumerate(packets):
            streams[cpu] += synthetic.packet(cpu, seq, at, part[-1][0], data, stream=cpu)
        at = part[-1][0]
    return synthetic.Made(scratch, name, streams, text).path


def measured(begin, event, diffs, lacking=(1,)):
    """[(field, difference)] of what can be told."""
    for diff in diffs:
        lacks = diff == CYCLES and (begin[1] in lacking or event[1] in lacking or begin[2:4] != event[2:4])
        lacks |= diff == MISSES and begin[1] != event[1]
        if not lacks and event[5].get(diff, 0) - begin[5].get(diff, 0) >= 0:
            yield diff.replace('$ctx', 'context'), event[5][diff] - begin[5][diff]


def key_of(event, keys):
    return tuple({'pid': event[2], 'tid': event[3], **event[5]}[one] for one in keys)


def periods_of(events, asked):
    """(name, begin, end): what waits for the same is dropped."""
    for name, steps, keys, _, _ in asked:
        waiting = {}
        for event in events:
            key = key_of(event, keys)
            for step in reversed(range(len(steps))):
                if steps[step] != event[4]:
                    continue
                begin = event if step == 0 else waiting.pop((step, key), None)
                if begin and step + 1 < len(steps):
                    waiting[step + 1, key] = begin
                elif begin:
                    yield name, begin, event


def jobs_of(events, asked):
    """By keys as periods.  On a thread the first begin counts, and events come one after the other."""
    found = []
    for name, steps, keys, diffs, group in asked:
        steps = [step.split()[0] for step in steps]
        if 'id' in keys:
            found += periods_of(events, [(name, steps, keys, diffs, group)])
            continue
        at = collections.defaultdict(list)
        for event in events:
            seen = at[key_of(event, keys)]
            if event[4] == steps[len(seen)]:
                seen.append(event)
                if len(seen) == len(steps):
                    found.append((name, seen[0], event))
                    seen.clear()
    around = [(begin, end) for name, begin, end in found if name == 'own']
    return [one for one in found if one[0] != 'inner' or any(
        begin[0] <= one[1][0] and one[2][0] <= end[0] and begin[2:4] == one[1][2:4] for begin, end in around)]


def calls_of(events, asked):
    """The newest of the thread by thread, which breaks what began later there; else the newest of the key in the process."""
    by_thread = [one for one in asked if 'id' not in one[2]]
    stacks = collections.defaultdict(list)
    for event in events:
        stack = stacks[event[2:4]]
        for name, steps, _, _, _ in by_thread:
            if event[4] == steps[0]:
                stack.append((name, event))
        if event[4] == by_thread[0][1][1] and stack:
            name, begin = stack.pop()
            yield name, begin, event
    for name, steps, keys, _, _ in asked:
        opens = []
        for event in events if 'id' in keys else ():
            if event[4] == steps[0]:
                opens.append(event)
            if event[4] == steps[1]:
                like = [one for one in opens if key_of(one, keys) == key_of(event, keys)]
                like = [one for one in like if one[3] == event[3]][-1:] or like[-1:]
                for begin in like:
                    opens.remove(begin)
                    yield name, begin, event


WAYS = {'periods': (PERIODS, '--period', periods_of), 'jobs': (JOBS, '--job', jobs_of), 'calls': (CALLS, '--call', calls_of)}


def differences_of(events, analysis):
    asked, _, found = WAYS[analysis]
    rows = collections.defaultdict(list)
    groups = {name: (diffs, group) for name, _, _, diffs, group in asked}
    for name, begin, end in found(events, asked):
        diffs, group = groups[name]
        for field, difference in measured(begin, end, diffs):
            row = '%s %s' % (name, field) + (' id=%d' % begin[5]['id'] if group else '')
            if analysis == 'calls' and group:
                row = '%s %d %s' % (name, begin[5]['id'], field)
            rows[row].append(difference)
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


KERNEL = (('own', ('syscall_entry_read', 'syscall_exit_read'), ('pid', 'tid'), (CYCLES, MISSES), None),
          ('disk', ('block_rq_issue', 'block_rq_complete'), ('sector',), (CYCLES, 'nr_sector', MISSES), None))
CONTEXT = 'event.context := struct { stamp_t _perf_thread_cpu_cycles; stamp_t _perf_cpu_cache_misses; };'


def kernel_of(seed, count=1500):
    """Events as those of events_of(), and the bytes of each CPU: threads run here and there."""
    rng, ts, found, data = random.Random(seed), 10 ** 9, [], [[], []]
    threads, cpus, runs = collections.Counter(), collections.Counter(), [7, 8]
    for _ in range(count):
        ts, cpu = ts + rng.randrange(20, 900), rng.randrange(2)
        tid, name = runs[cpu], rng.choice(KERNEL[0][1] + KERNEL[1][1] + ('sched_switch',))
        threads[tid] += rng.randrange(5000)
        cpus[cpu] += rng.randrange(300)
        fields = {CYCLES: threads[tid], MISSES: cpus[cpu], 'nr_sector': rng.randrange(40), 'sector': rng.randrange(3)}
        if name == 'sched_switch':
            runs[cpu] = rng.choice([other for other in range(7, 12) if other not in runs])
            made = synthetic.switch(ts, tid, runs[cpu], 0)
        elif name.startswith('block'):
            made = synthetic.event(ts, name, 8, fields['sector'], fields['nr_sector'])
        else:
            made = synthetic.event(ts, name, *[0] * name.startswith('syscall_exit'))
        data[cpu].append(made[:10] + struct.pack('<QQ', fields[CYCLES], fields[MISSES]) + made[10:])
        found.append((ts, cpu, 0, tid, name, fields))
    return found, data


def check_reports(sillage, scratch, seed):
    """Executions of a kernel's events: live figures, and those of reports."""
    events, data = kernel_of(seed)
    text = synthetic.metadata(0).replace('packet.context := struct {', CONTEXT + ' packet.context := struct {')
    streams = [synthetic.packet(cpu, 0, 10 ** 9, events[-1][0], one) for cpu, one in enumerate(data)]
    trace = synthetic.Made(scratch, 'kernel-%d' % seed, streams, text).path
    words = [text_of(one) for one in KERNEL]
    wanted = collections.defaultdict(list)
    for name, begin, end in jobs_of(events, KERNEL[:1]) + list(periods_of(events, KERNEL[1:])):
        for field, difference in measured(begin, end, KERNEL[name == 'disk'][3], ()):
            wanted[name, field].append((end[0], difference))
    sums = {key: (len(all), sum(one for _, one in all), max(one for _, one in all)) for key, all in wanted.items()}
    assert len(sums) == 5, sums
    for way in ((), ('--chunk-size', '1', '-j', '2'), ('--chunk-size', '200')):
        out = run(sillage, 'analyze', '-q', '-f', 'json', '-n', '0', *way, *[word for one in words for word in ('--job', one)], trace)
        if total_of(out, 'jobs') != {' '.join(key): value for key, value in sums.items()}:
            yield 'kernel %s: %r, not %r' % (way, total_of(out, 'jobs'), sums)
    for one, text in zip(KERNEL, words):
        jobs = json.loads(run(sillage, 'report', '-f', 'json', '-n', '0', '--job', text.split(' = ')[1], trace))['jobs']
        found = {(one[0], row['field']): (row['measured'], row['total'], row['largest']) for row in jobs['differences']}
        each = collections.defaultdict(list)
        for execution in jobs['longest']:
            for field, difference in execution['differences'].items():
                each[one[0], field].append((execution['end'], difference))
        if found != {key: value for key, value in sums.items() if key[0] == one[0]}:
            yield 'report of %s: %r, not %r' % (one[0], found, sums)
        if any(sorted(all) != sorted(wanted[key]) for key, all in each.items()):
            yield 'report of %s: each execution' % one[0]
        lines = run(sillage, 'report', '--job', text.split(' = ')[1], trace)
        if not all('%s' % field.replace('$ctx', 'context') in lines for field in one[3]) or 'DIFFERENCE ' not in lines:
            yield 'report of %s: as text' % one[0]


def total_of(out, analysis):
    line = next(line for line in map(json.loads, out.splitlines()) if line['type'] == 'total')
    return {row['name']: tuple(row[key] for key in ('measured', 'total', 'largest')) for row in line[analysis]['differences']}


def run(sillage, *args):
    return subprocess.run([sillage, *args], stdout=subprocess.PIPE, check=True).stdout.decode()


def check_made(sillage, scratch, analysis, events, traces):
    wanted = differences_of(events, analysis)
    all, option, _ = WAYS[analysis]
    asked = [word for one in all for word in (option, text_of(one, '; ' if analysis == 'jobs' else '; then '))]
    assert len(wanted) == {'periods': 2 + 16 + 3, 'jobs': 2 + 16 + 3 + 2 + 2, 'calls': 2 + 2 + 16}[analysis], wanted
    found = {'alone': run(sillage, 'analyze', '-q', '-f', 'json', '-n', '0', *asked, traces[1]),
             'in pieces': run(sillage, 'analyze', '-q', '-f', 'json', '-n', '0', '-j', '2', '--chunk-size', '300', *asked, traces[1])}
    run(sillage, 'map', '-q', '-a', analysis, *asked, '-o', scratch + '-partials', traces[1])
    found['merged'] = run(sillage, 'merge', '-q', '-f', 'json', '-n', '0', scratch + '-partials')
    for trace in traces:
        run(sillage, 'analyze', '-q', '-a', analysis, *asked, '--state', scratch + '-state', trace)
    found['gone on'] = run(sillage, 'merge', '-q', '-f', 'json', '-n', '0', scratch + '-state')
    for how, out in found.items():
        got = total_of(out, analysis)
        if got != wanted:
            keys = sorted(key for key in set(got) | set(wanted) if got.get(key) != wanted.get(key))
            yield '%s, %s: %r' % (analysis, how, [(key, got.get(key), wanted.get(key)) for key in keys][:4])


def row_of(rows, name):
    return next((row for row in rows if row['name'] == name), {})


# Figure, its value in a window as JSON has it (None: it has none), and how a limit is written.
KEPT = (
    ('periods.differences[name="by-id bytes id=1"].total', lambda w: row_of(w['periods']['differences'], 'by-id bytes id=1').get('total', 0), '%d'),
    ('periods.differences[name="own bytes"].largest', lambda w: row_of(w['periods']['differences'], 'own bytes').get('largest', 0), '%d'),
    ('calls.differences[name="own bytes"].total', lambda w: row_of(w['calls']['differences'], 'own bytes').get('total', 0), '%d'),
    ('jobs.differences[name="own bytes"].measured', lambda w: row_of(w['jobs']['differences'], 'own bytes').get('measured', 0), '%d'),
    ('calls.calls', lambda w: w['calls']['calls'], '%d'),
    ('calls.by_name[name=own].time.p99', lambda w: (row_of(w['calls']['by_name'], 'own').get('time') or {}).get('p99_ns'), '%dns'),
    ('calls.by_name[name=own].open', lambda w: row_of(w['calls']['by_name'], 'own').get('open', 0), '%d'),
)


def check_kept(sillage, scratch, trace):
    """Triggers on differences and on calls fire where the windows of JSON say, and nowhere else; a store keeps these windows."""
    asked = [word for option, some in (('--period', PERIODS[:2]), ('--job', JOBS[:1]), ('--call', CALLS[:1])) for one in some for word in (option, text_of(one))]
    store, words = scratch + '-kept.db', ['-q', '-f', 'json', '-n', '0', '-i', '2ms', '-a', 'periods,jobs,calls', *asked]
    windows = [line for line in map(json.loads, run(sillage, 'analyze', *words, '--store', store, trace).splitlines()) if line['type'] == 'window']
    limits = []
    for figure, value_of, form in KEPT:
        values = sorted(value for value in map(value_of, windows) if value is not None)
        limits += [(figure, value_of, limit, form % limit) for limit in (values[len(values) // 2], values[-1])]
    triggers = [word for figure, _, _, limit in limits for word in ('--trigger', '%s > %s' % (figure, limit))]
    fired = collections.defaultdict(list)
    for line in map(json.loads, run(sillage, 'analyze', *words, *triggers, trace).splitlines()):
        if line['type'] == 'trigger':
            fired[line['when']].append(line['end'])
    for figure, value_of, limit, text in limits:
        above = [(window['end'], (value_of(window) or 0) > limit) for window in windows]
        wanted = [end for (_, before), (end, now) in zip([(0, False)] + above, above) if now and not before]
        if fired['%s > %s' % (figure, text)] != wanted:
            yield '%s > %s: fired at %s, not %s' % (figure, text, fired['%s > %s' % (figure, text)], wanted)
        status = subprocess.run([sillage, 'history', '-q', '-o', os.devnull, '-i', '2ms', '--fail', '%s > %s' % (figure, text), store], check=False).returncode
        if status != (3 if wanted else 0):
            yield '%s > %s: in a store %d' % (figure, text, status)
    if not any(fired.values()) or all(fired['%s > %s' % (figure, text)] for figure, _, _, text in limits):
        yield 'triggers: nothing to test'
    kept = [line for line in map(json.loads, run(sillage, 'history', '-q', '-f', 'json', '-n', '0', '-i', '2ms', store).splitlines()) if line['type'] == 'window']
    for key in 'begin', 'end', 'periods', 'jobs', 'calls':
        if len(kept) != len(windows) or [window[key] for window in kept] != [window[key] for window in windows]:
            yield 'a store: %s of windows: %s' % (key, next(((a[key], b[key]) for a, b in zip(kept, windows) if a[key] != b[key]), (len(kept), len(windows))))


def main():
    sillage = sys.argv[1]
    synthetic.SILLAGE = sillage
    faults = []
    with tempfile.TemporaryDirectory(prefix='sillage-counters-') as scratch:
        faults += check_ends(sillage, scratch)
        for seed in (1, 2):
            faults += check_reports(sillage, scratch, seed)
            events = events_of(seed)
            early, late = events[:len(events) // 2], events[len(events) // 2:]
            trace, half = write(scratch, 'made-%d' % seed, early, late), write(scratch, 'half-%d' % seed, early)
            faults += check_kept(sillage, os.path.join(scratch, 'made-%d' % seed), trace) if seed == 1 else []
            for analysis in WAYS:
                faults += ['seed %d: %s' % (seed, fault) for fault in check_made(sillage, os.path.join(scratch, '%s-%d' % (analysis, seed)),
                                                                               analysis, events, (half, trace))]
    print('\n'.join('# ' + fault for fault in faults[:20]))
    print('%s: %d faults' % ('not ok' if faults else 'ok', len(faults)))
    return 1 if faults else 0


if __name__ == '__main__':
    sys.exit(main())
