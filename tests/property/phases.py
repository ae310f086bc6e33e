#!/usr/bin/env python3
"""phases: `--phases` of analyze and live, against a plain program and against what was recorded.

Goal    The phases equal those of a program that keeps every slice and computes each partition from
        the definition (doc/definitions.md, 8.6).  They do not depend on workers, chunks, other
        analyses, other figures in the output, or on a state that was saved and read again.  Live
        they are those of the recorded trace.  Each recorded boundary (truth.json) is found within
        one slice, and no other one while the workload ran.

usage: phases.py SILLAGE DATA [TRACE...]      TRACE: a directory with kernel/ and truth.json
"""
import json
import math
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'peer'))
import scripted_relay as relays  # noqa: E402

HELD, STAY, CHANGE, MIX, LOSS, LEAST, GROUPS = 600, 3, 0.1, 0.1, 0.02, 0.005, 100
NEAR = 1e-9


def check(condition, *what):
    if not condition:
        raise SystemExit('not ok ' + ' '.join(map(str, what)))


def run(*command, status=0):
    done = subprocess.run(command, capture_output=True, text=True)
    check(done.returncode == status, ' '.join(command), done.returncode, done.stderr)
    return done.stdout


def lines_of(text, *types):
    return [line for line in map(json.loads, text.splitlines()) if line['type'] in types]


def phases_of(sillage, trace, interval, *options):
    return lines_of(run(sillage, 'analyze', '-q', '-f', 'json', '--phases', '-i', interval, *options, trace), 'phase')


# ---- a plain program ----

def f(x):
    return x * math.log2(x) if x > 0 else 0.0


class Sums:
    """Gain and loss of each interval of slices, from the definition."""

    def __init__(self, slices):
        self.count = len(slices)
        self.gain = [[0.0] * self.count for _ in slices]
        self.loss = [[0.0] * self.count for _ in slices]
        for series in zip(*slices):
            for first in range(self.count):
                total = inner = 0.0
                for last in range(first, self.count):
                    total += series[last]
                    inner += f(series[last])
                    gain = f(total) - inner if last > first else 0
                    self.gain[first][last] += gain
                    self.loss[first][last] += total * math.log2(last - first + 1) - gain

    def best(self, weight):
        """The best partition: (first slices, gain, loss).  Of equal ones that with the larger gain."""
        best = [(0.0, 0.0, 0.0, ())]
        for last in range(self.count):
            found = None
            for first in range(last + 1):
                value, gain, loss, firsts = best[first]
                value += weight * self.gain[first][last] - self.loss[first][last]
                gain += self.gain[first][last]
                loss += self.loss[first][last]
                if not found or value > found[0] + NEAR or abs(value - found[0]) <= NEAR and gain > found[1] + NEAR:
                    found = (value, gain, loss, firsts + (first,))
            best.append(found)
        return best[-1][3], best[-1][1], best[-1][2]

    def range_of_weights(self):
        """In which the suggested partition is best: bisected, whereas the program finds it exactly."""
        whole_loss = self.loss[0][-1]
        if whole_loss <= NEAR:
            return 0, math.inf
        low, high = 0.0, 1e6
        for _ in range(60):  # the largest weight that loses little enough
            middle = (low + high) / 2 if high - low > 1e-3 else math.sqrt(max(low, 1e-9) * high)
            low, high = (middle, high) if self.best(middle)[2] <= LOSS * whole_loss else (low, middle)
            if high - low < 1e-7 * high:
                break
        firsts, top = self.best(low * (1 - 1e-6))[0], high
        low, high = 0.0, top
        for _ in range(60):  # the least one that gives the same
            middle = (low + high) / 2 if low > 0 else high / 4
            low, high = (low, middle) if self.best(middle)[0] == firsts else (middle, high)
            if high - low < 1e-7 * high or high < 1e-9:
                break
        return high, top


def mean(slices, series, first, last):
    return sum(values[series] for values in slices[first:last + 1]) / (last - first + 1)


def mixture(slices, before, part, after):
    """The share of `after` in the slice `part`; None: it is no mixture."""
    a = [mean(slices, i, *before) for i in range(len(slices[0]))]
    b = [mean(slices, i, *after) for i in range(len(slices[0]))]
    m = slices[part[0]]
    down = sum((y - x) ** 2 for x, y in zip(a, b))
    share = min(max(sum((z - x) * (y - x) for x, y, z in zip(a, b, m)) / down, 0), 1) if down > 0 else 0
    return share if all(abs(z - x - share * (y - x)) <= MIX for x, y, z in zip(a, b, m)) else None


def begins(slices, firsts):
    parts = [(a, b - 1) for a, b in zip(firsts, list(firsts[1:]) + [len(slices)])]
    found, last, at = [], parts[0], 1
    while at < len(parts):
        share = None
        if at + 1 < len(parts) and parts[at][0] == parts[at][1]:
            share = mixture(slices, last, parts[at], parts[at + 1])
        if share is not None and share < 0.5:
            last = (last[0], parts[at][1])
        else:
            found.append(parts[at][0])
            last = parts[at]
            if share is not None:
                at += 1
                last = (last[0], parts[at][1])
        at += 1
    return found


def plain_phases(slices, opposite):
    """First slices of phases.  At most GROUPS slices, so that none is dropped and none is grouped."""
    check(len(slices) <= GROUPS, 'too many slices for the plain program')
    weight, weighed, stayed, changes = 0.0, 0, {}, [0]
    for count in range(1, len(slices) + 1):
        sums = Sums(slices[:count])
        if (count - weighed) * 10 >= count:
            low, high = sums.range_of_weights()
            least = LEAST * count / (sum(map(sum, slices[:count])) or count)
            if high == math.inf:
                weight = least
            elif not (weight >= least and low * (1 - 1e-6) <= weight <= high * (1 + 1e-6)):
                # The middle is that of p, which gain and loss of the whole divide.
                scale = (sums.loss[0][-1] if sums.loss[0][-1] > NEAR else 1) / (sums.gain[0][-1] if sums.gain[0][-1] > NEAR else 1)
                p_low = low / scale / (1 + low / scale)
                p_high = high / scale / (1 + high / scale)
                p = (p_low + p_high) / 2
                weight = max(p / (1 - p) * scale, least)
            weighed = count
        firsts = sums.best(weight)[0]
        cuts = begins(slices[:count], firsts)
        stayed = {cut: stayed.get(cut, 0) + 1 for cut in cuts}
        for cut, following in zip(cuts, cuts[1:] + [count]):
            known = changes[-1]
            has_moved = known > 0 and known not in cuts and cut - known <= STAY
            if cut <= known or stayed[cut] < STAY or has_moved or following - cut < STAY:
                continue
            if any(abs(mean(slices, i, cut, following - 1) - mean(slices, i, known, cut - 1)) >= CHANGE
                   for i in range(len(slices[0])) if i not in opposite):
                changes.append(cut)
    return changes


def check_plain(sillage, name, trace, interval):
    windows = lines_of(run(sillage, 'analyze', '-q', '-f', 'json', '-a', 'cpu', '-i', interval, trace), 'window')
    cpus = sorted({row['cpu'] for window in windows for row in window['cpu']['cpus']})
    slices = []
    for window in windows:
        rows = {row['cpu']: row for row in window['cpu']['cpus']}
        slices.append([])
        for cpu in cpus:
            times = [rows[cpu][key] if cpu in rows else 0 for key in ('busy_ns', 'idle_ns', 'unknown_ns')]
            slices[-1] += [time / (sum(times) or 1) for time in times]
    wanted = plain_phases(slices, range(1, 3 * len(cpus), 3))
    phases = [line for line in phases_of(sillage, trace, interval) if not line['open']] + \
        phases_of(sillage, trace, interval)[-1:]
    check([phase['begin'] for phase in phases] == [windows[at]['begin'] for at in wanted], name, interval,
          'other phases:', phases, wanted)
    for phase, first, last in zip(phases, wanted, wanted[1:] + [len(slices)]):
        check(phase['slices'] == last - first, name, 'slices')
        for i, value in enumerate(phase['means']):
            check(abs(value['mean'] - mean(slices, i, first, last - 1)) < 1e-6, name, 'mean of', value)
        if first > 0:
            check(abs(phase['change']['before'] - phase['change']['after']) >= CHANGE / 2, name, 'change', phase)
    return len(wanted)


# ---- laws ----

def check_laws(sillage, name, trace, interval, scratch):
    phases = phases_of(sillage, trace, interval)
    check([phase['open'] for phase in phases[::2]].count(True) <= 1 and phases[-1]['open'], name, 'the last one is open')
    over = [phase for phase in phases if not phase['open']]
    check([phase['number'] for phase in over] == list(range(1, len(over) + 1)), name, 'numbers')
    check(all(a['end'] == b['begin'] for a, b in zip(over, over[1:] + phases[-1:])), name, 'phases do not meet')
    others = [] if name == 'ust' else ['-a', 'all']  # without CPU time, phases are those of the analyses
    for options in (['-j', '0'], ['-j', '4', '--chunk-size', '4K'], others, ['-n', '1'],
                    ['--trigger', 'phase.change > 0'], ['--trigger', 'count.events < 0', '--trigger-interval', '1ms']):
        check(phases_of(sillage, trace, interval, *options) == phases, name, 'depends on', options)
    windows = lines_of(run(sillage, 'analyze', '-q', '-f', 'json', '--phases', '-i', interval,
                           '--trigger', 'phase.change > 0', trace), 'window', 'total', 'trigger')
    changes = [line['phase']['change'] for line in windows if line['type'] == 'window']
    check(sum(changes) == windows[-1]['phase']['change'] == len(over), name, 'changes')
    check([line['end'] for line in windows if line['type'] == 'trigger'] ==
          [line['end'] for line in windows if line['type'] == 'window' and line['phase']['change']], name, 'triggers')
    check(windows[-1]['phase']['number'] == phases[-1]['number'] and
          windows[-1]['phase']['age_ns'] == phases[-1]['end'] - phases[-1]['begin'], name, 'figures of the total')
    plain = run(sillage, 'analyze', '-q', '-f', 'json', '-i', interval, trace)
    with_phases = [json.loads(line) for line in run(sillage, 'analyze', '-q', '-f', 'json', '--phases', '-i', interval, trace).splitlines()]
    for line in with_phases:
        line.pop('phase', None)
    check(lines_of(plain, 'window', 'total') == [line for line in with_phases if line['type'] in ('window', 'total')],
          name, 'other figures change')
    check_state(sillage, name, trace, interval, phases, scratch)
    return len(phases)


def live(sillage, trace, interval, *options, packets=None):
    """The phases that `live` prints of a relay that serves the trace, or only so many packets of it."""
    waits = relays.Rule(relays.INDEX, relays.patch(status=relays.RETRY), nth=(packets or 0) + 1, count=1 << 30)
    relay = relays.Relay([relays.Session('s', [relays.Trace(trace)])], [waits] if packets else [])
    try:
        text = run(sillage, 'live', '-q', '-f', 'json', '--phases', '-i', interval, '-n', '1', '--from', 'beginning',
                   *options, relay.url('s'))
    finally:
        relay.close()
    phases = lines_of(text, 'phase')
    for phase in phases:
        phase.pop('trace')
    return phases


def check_live(sillage, name, trace, interval, scratch):
    """Live, also in two runs, the second of which goes on from the state of the first."""
    phases = phases_of(sillage, trace, interval)
    for phase in phases:
        phase.pop('trace')
    check(live(sillage, trace, interval) == phases, name, 'live differs')
    count, left = len(list(relays.Trace(trace).packets())), 0
    for packets in (count // 3, count // 2, count - 1):
        state = os.path.join(scratch, '%s.live-state-%d' % (name, packets))
        parts = live(sillage, trace, interval, '--state', state, '--duration', '1s', packets=packets)
        left += len(phases) - len(parts)
        parts += live(sillage, trace, interval, '--state', state)
        check(parts == phases, name, 'in two runs')
    return left


def check_state(sillage, name, trace, interval, phases, scratch):
    """A state that was left in the middle of the trace; the rest of the packets follows."""
    state = os.path.join(scratch, name + '.state')
    first = lines_of(run(sillage, 'analyze', '-q', '-f', 'json', '--phases', '-i', interval, '--state', state, trace), 'phase')
    again = lines_of(run(sillage, 'analyze', '-q', '-f', 'json', '--phases', '-i', interval, '--state', state, trace),
                     'phase', 'total')
    check(first == phases[:len(first)], name, 'with --state')
    check(again[-1]['phase']['number'] == phases[-1]['number'], name, 'the number is lost')
    run(sillage, 'merge', '-q', '-f', 'json', state)


def recorded_boundaries(truth):
    threads = truth['workload']['threads']
    offset = truth['clock_offset_ns']
    return (sorted({phase['start_ns'] + offset for thread in threads for phase in thread['phases'][1:]}),
            min(t['start_ns'] for t in threads) + offset, max(t['end_ns'] for t in threads) + offset)


def check_truth(sillage, name, folder, interval, length):
    with open(os.path.join(folder, 'truth.json'), encoding='utf-8') as file:
        wanted, begin, end = recorded_boundaries(json.load(file))
    found = [phase['begin'] for phase in phases_of(sillage, os.path.join(folder, 'kernel'), interval) if phase['open']]
    for boundary in wanted:
        check(any(abs(boundary - at) <= length for at in found), name, interval, 'a phase is not found:', boundary)
    for at in found:
        if begin + length < at < end - length:
            check(any(abs(boundary - at) <= length for boundary in wanted), name, interval, 'no such phase:', at)
    return len(wanted)


def main():
    sillage, data, traces = sys.argv[1], sys.argv[2], sys.argv[3:]
    with tempfile.TemporaryDirectory() as scratch:
        for name, interval in (('burst', '25ms'), ('io-mix', '10ms'), ('idle-gaps', '50ms'), ('lost-events', '10ms'),
                               ('migrate', '10ms'), ('ust', '1ms')):
            trace = os.path.join(data, name, 'kernel')
            trace = trace if os.path.isdir(trace) else os.path.join(data, name)
            check_laws(sillage, name, trace, interval, scratch)
            print('ok laws %s' % name, flush=True)
        for name, interval in (('burst', '20ms'), ('idle-gaps', '50ms')):
            left = check_live(sillage, name, os.path.join(data, name, 'kernel'), interval, scratch)
            print('ok live %s, %d records after a state' % (name, left), flush=True)
    for name, interval in (('burst', '40ms'), ('burst', '25ms'), ('idle-gaps', '100ms'), ('migrate', '10ms'), ('io-mix', '10ms')):
        print('ok %s at %s: %d phases' % (name, interval, check_plain(
            sillage, name, os.path.join(data, name, 'kernel'), interval)), flush=True)
    # Phases of the other traces are as short as 50 ms, which is 5 windows of 10 ms.
    for folder, lengths in [(os.path.join(data, 'burst'), (10, 20, 25, 50))] + [(trace, (10,)) for trace in traces]:
        for length in lengths:
            count = check_truth(sillage, os.path.basename(folder), folder, '%dms' % length, length * 1_000_000)
            print('ok %s at %d ms: %d recorded boundaries' % (os.path.basename(folder), length, count), flush=True)


if __name__ == '__main__':
    main()
