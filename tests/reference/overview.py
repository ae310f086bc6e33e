#!/usr/bin/env python3
"""overview: phases, computed again by a plain program, and compared with what was recorded.

For each trace: the series equal the windows of `analyze`; each partition of the overview is the best
for its p by the definition (doc/definitions.md, 8), and no partition is missing between two of
them.  The suggested one is that of suggestion.py.  What was recorded of phases: phases_truth.py.

usage: overview.py SILLAGE TRACE...      a directory with kernel/ and maybe truth.json, or a trace
"""
import json
import math
import os
import subprocess
import sys

from suggestion import Suggestion

TOLERANCE = 1e-6


def run(*command, status=0):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != status:
        raise SystemExit('not ok %s: status %d\n%s' % (' '.join(command), done.returncode, done.stderr))
    return done.stdout if status == 0 else done.stderr


def f(x):
    return x * math.log2(x) if x > 0 else 0.0


class Table:
    """Gain and loss of all intervals."""

    def __init__(self, series, slices):
        self.slices = slices
        self.gain = [[0.0] * slices for _ in range(slices)]
        self.loss = [[0.0] * slices for _ in range(slices)]
        for values in series:
            for first in range(slices):
                total = inner = 0.0
                for last in range(first, slices):
                    total += values[last]
                    inner += f(values[last])
                    gain = f(total) - inner
                    self.gain[first][last] += gain
                    self.loss[first][last] += total * math.log2(last - first + 1) - gain
        self.all_gain = self.gain[0][-1] if self.gain[0][-1] > 1e-9 else 1
        self.all_loss = self.loss[0][-1] if self.loss[0][-1] > 1e-9 else 1

    def of(self, ends):
        gain = loss = 0.0
        first = 0
        for last in ends:
            gain += self.gain[first][last]
            loss += self.loss[first][last]
            first = last + 1
        return gain / self.all_gain, loss / self.all_loss

    def best(self, p):
        """The value of the best partition for p."""
        tails = [0.0] * (self.slices + 1)
        for first in range(self.slices - 1, -1, -1):
            tails[first] = max(p * self.gain[first][last] / self.all_gain -
                               (1 - p) * self.loss[first][last] / self.all_loss + tails[last + 1]
                               for last in range(first, self.slices))
        return tails[0]


def close(a, b):
    return abs(a - b) <= TOLERANCE * max(1, abs(a), abs(b))


def check(condition, *what):
    if not condition:
        raise SystemExit('not ok ' + ' '.join(map(str, what)))


LEAST = {'share': 1, 'ns/s': 1e9}
HALF = 5  # half of a thread's time, or of the most threads, changes what a process does


def scale_of(series, has_cpus):
    """What the model divides the series by; 0: it is no part of it."""
    name, most = series['name'], max(series['values'])
    if series['unit'] == 'share' or name == 'waiting':
        return max(LEAST[series['unit']], most if series['unit'] != 'share' else 0)
    if ': ' in name or (name.startswith('CPU ') and name.endswith(' waiting')):  # figures of analyses
        return 0 if has_cpus else most
    return HALF * max(1e9, most)


def model_of(overview):
    """The values that partitions are made of, and which of them may cut: idle says the opposite of busy."""
    has_cpus = any(s['unit'] == 'share' for s in overview['series'])
    for one in overview['series']:
        check(close(one['scale'], scale_of(one, has_cpus)), one['name'], 'is divided by', one['scale'])
    used = [one for one in overview['series'] if one['scale'] > 0 and max(one['values']) > 0]
    return [[v / s['scale'] for v in s['values']] for s in used], [not s['name'].endswith('idle') for s in used]


def check_partitions(name, overview):
    series, counts = model_of(overview)
    table = Table(series, len(overview['slices']))
    partitions = overview['partitions']
    suggested = Suggestion(series, counts).parts()
    check([one['ends'] for one in partitions if one['suggested']] == [[last for _, last in suggested]], name,
          'another one is suggested:', suggested)
    check(partitions[0]['p'] == 0, name, 'the first partition is not that of p = 0')
    for at, partition in enumerate(partitions):
        gain, loss = table.of(partition['ends'])
        p = partition['p']
        check(close(gain, partition['gain']) and close(loss, partition['loss']), name, 'gain and loss', p)
        check(partition['ends'][-1] == table.slices - 1, name, 'not all slices', p)
        if partition['suggested'] and p == partitions[min(at + 1, len(partitions) - 1)]['p']:
            continue  # it is the best for no p
        following = partitions[at + 1]['p'] if at + 1 < len(partitions) else 1
        for between in (p, (p + following) / 2, following):
            value = between * gain - (1 - between) * loss
            check(close(value, table.best(between)), name, 'a better partition for p', between)
    near = min((at for at in range(len(partitions)) if not partitions[at]['suggested'] or partitions[at]['nearest']),
               key=lambda at: (round((partitions[at]['gain'] - 1) ** 2 + partitions[at]['loss'] ** 2, 9), at))
    check(partitions[near]['nearest'], name, 'another one is the nearest')
    return len(partitions)


def check_series(sillage, name, trace, overview):
    """The shares of CPUs, from windows of the same length."""
    length = min(b - a for a, b in zip(overview['slices'][1:], overview['slices'][2:]))
    windows = {}
    for line in run(sillage, 'analyze', '-f', 'json', '-a', 'cpu', '-i', '%dns' % length, trace).splitlines():
        line = json.loads(line)
        if line['type'] == 'window':
            windows[line['begin'] // length * length] = {row['cpu']: row for row in line['cpu']['cpus']}
    for series in overview['series']:
        if series['unit'] != 'share':
            continue
        cpu, state = int(series['name'].split()[1]), series['name'].split()[2]
        for at, value in enumerate(series['values']):
            begin = overview['slices'][at] // length * length
            row = windows.get(begin, {}).get(cpu)
            if row is None:
                check(value == 0, name, series['name'], at, 'where no window is')
                continue
            whole = row['busy_ns'] + row['idle_ns'] + row['unknown_ns']
            check(close(value, row[state + '_ns'] / whole if whole else 0), name, series['name'], at)


def check_trace(sillage, name):
    trace = os.path.join(name, 'kernel') if os.path.isdir(os.path.join(name, 'kernel')) else name
    base = os.path.basename(os.path.normpath(name))
    lines = run(sillage, 'overview', '-f', 'json', trace).splitlines()
    overview = json.loads(lines[0])
    has_cpus = any(series['unit'] == 'share' for series in overview['series'])
    count = check_partitions(base, overview)
    check(all(a < b for a, b in zip(overview['slices'], overview['slices'][1:] + [overview['end']])), base, 'a slice of no time')
    if has_cpus:
        check_series(sillage, base, trace, overview)
    check(overview['phases'][0]['begin'] == overview['begin'] and
          overview['phases'][-1]['end'] == overview['end'], base, 'phases do not cover the trace')
    # The time of events, not that of packets, which may last an hour longer.
    check(len(overview['slices']) >= 37 or overview['end'] - overview['begin'] < 100_000_000, base, 'few slices have events')
    for a, b in zip(overview['phases'], overview['phases'][1:]):
        check(a['end'] == b['begin'], base, 'phases do not meet')
    other = run(sillage, 'overview', '-f', 'json', '-j', '0', '--chunk-size', '4K', trace)
    check(other.splitlines() == lines, base, 'depends on chunks or workers')
    text = run(sillage, 'overview', trace)
    check('%d phase' % len(overview['phases']) in text, base, 'no text')
    suggested = [line.split()[1] for line in text.splitlines() if line.endswith('  suggested')]
    check(suggested == ['%d' % len(overview['phases'])], base, 'the suggested partition has', suggested, 'phases')
    page = run(sillage, 'overview', '-q', '-f', 'html', trace)
    check(page.startswith('<!DOCTYPE html>') and page.endswith('</html>\n'), base, 'no page')
    print('ok %s: %d partitions, %d phases' % (base, count, len(overview['phases'])))


def check_usage(sillage, trace):
    trace = os.path.join(trace, 'kernel') if os.path.isdir(os.path.join(trace, 'kernel')) else trace
    for options, status, text in (
            (('-p', '1.5'), 2, 'from 0 to 1'), (('-p', 'nan'), 2, 'from 0 to 1'),
            (('--slices', '1'), 2, 'from 2 to 1000'), (('--slices', '9' * 30), 2, 'from 2 to 1000'),
            (('--begin', '2100-01-01T00:00:00Z'), 1, 'in'), (('-f', 'htm'), 2, 'html'), (('--comm', 'nobody*'), 1, 'nobody')):
        said = run(sillage, 'overview', *options, trace, status=status)
        check(text in said and len(said.splitlines()) == 1, options, repr(said))
    one = json.loads(run(sillage, 'overview', '-f', 'json', '-p', '1', trace))
    check(len(one['phases']) == 1, 'p = 1 has', len(one['phases']), 'phases')
    few = json.loads(run(sillage, 'overview', '-f', 'json', '--slices', '2', trace))
    check(len(few['slices']) <= 2, 'two slices')
    figures = json.loads(run(sillage, 'overview', '-f', 'json', '-a', 'cpu,count', trace))
    check(any(series['unit'] == '1/s' for series in figures['series']), 'no figures')
    print('ok usage')


def check_calls(sillage, trace):
    """Series of a call are those of a period of its events, where none lies in another."""
    events = ' = syscall_entry_read; syscall_exit_read'
    lines = run(sillage, 'overview', '-q', '-f', 'json', '--call', 'x' + events, '--period', 'x' + events, trace).splitlines()
    series = {one['name']: one for line in map(json.loads, lines) for one in line.get('series', ())}
    for figure in 'ended', 'time':
        ours, theirs = (dict(series['%s: x %s' % (analysis, figure)], name='') for analysis in ('calls', 'periods'))
        if ours != theirs:
            raise SystemExit('not ok %s: series of calls: %s' % (trace, figure))
    found = {}
    for analysis, option in (('calls', '--call'), ('periods', '--period')):  # of a run that goes on, too
        lines = run(sillage, 'analyze', '-q', '-f', 'json', '-i', '20ms', '--phases', option, 'x' + events, trace).splitlines()
        found[analysis] = [[mean for mean in line['means'] if mean['series'] in (analysis + ': x ended', analysis + ': x time')] for line in map(json.loads, lines)
                           if line['type'] == 'phase']
    if not any(found['calls']) or json.dumps(found['calls']).replace('calls: ', 'periods: ') != json.dumps(found['periods']):
        raise SystemExit('not ok %s: series of calls in phases: %r' % (trace, found))


def main():
    sillage, traces = sys.argv[1], sys.argv[2:]
    check_usage(sillage, traces[0])
    for trace in traces:
        check_trace(sillage, trace)
    for trace in [trace for trace in traces if 'io-mix' in trace]:
        check_calls(sillage, trace)


if __name__ == '__main__':
    main()
