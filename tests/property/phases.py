#!/usr/bin/env python3
"""phases: `--phases` of analyze and live, against a plain program.

Goal    The phases equal those of a program that keeps every slice and computes each partition from
        the definition (doc/definitions.md, 8.6).  They do not depend on workers, chunks, other
        analyses, other figures in the output, or on a state that was saved and read again.  Live
        they are those of the recorded trace.  What was recorded: reference/phases_truth.py.

usage: phases.py SILLAGE DATA [--store]
"""
import json
import math
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'peer'))
import scripted_relay as relays  # noqa: E402
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'reference'))
from suggestion import Suggestion  # noqa: E402

STAY, CHANGE, HELD = 3, 0.1, 100


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

def mean(slices, series, first, last):
    return sum(values[series] for values in slices[first:last + 1]) / (last - first + 1)


def scaled(slices, count):
    """The last series is divided by one CPU's time, or by the power of two above its largest value, in ns, if that is more."""
    most = max(values[-1] for values in slices[:count]) * 1e9
    scale = max(1e9, 2 ** math.ceil(math.log2(most)) if most > 1e9 else 0) / 1e9
    return [values[:-1] + [values[-1] / scale] for values in slices]


def plain_phases(raw, opposite):
    """First slices of phases.  At most HELD slices, so that none is dropped."""
    slices = raw
    check(len(slices) <= HELD, 'too many slices for the plain program')
    counts = [i not in opposite for i in range(len(slices[0]))]
    stayed, changes = {}, [0]
    for count in range(1, len(slices) + 1):
        slices = scaled(raw, count)
        suggestion = Suggestion(list(map(list, zip(*slices[:count]))), counts)
        clear = {first for first, _ in suggestion.parts(is_over=False)}
        cuts = [first for first, _ in suggestion.maybe[1:]]
        stayed = {cut: stayed.get(cut, 0) + 1 for cut in cuts}
        for cut, following in zip(cuts, cuts[1:] + [count]):
            known = changes[-1]
            has_moved = known > 0 and known not in cuts and cut - known <= STAY
            if cut <= known or has_moved:
                continue
            if stayed[cut] < STAY:
                break  # those behind it wait for it
            if cut not in clear:
                continue
            begins = (cut, cut + 1) if following == count else (cut,)  # the last part: not its first slice alone
            if any(all(abs(mean(slices, i, begin, following - 1) - mean(slices, i, known, cut - 1)) >= CHANGE
                       for begin in begins) for i in range(len(slices[0])) if i not in opposite):
                changes.append(cut)
    return changes


def check_plain(sillage, name, trace, interval):
    windows = lines_of(run(sillage, 'analyze', '-q', '-f', 'json', '-a', 'cpu,sched', '-i', interval, trace), 'window')
    cpus = sorted({row['cpu'] for window in windows for row in window['cpu']['cpus']})
    slices = []
    for window in windows:
        rows = {row['cpu']: row for row in window['cpu']['cpus']}
        slices.append([])
        for cpu in cpus:
            times = [rows[cpu][key] if cpu in rows else 0 for key in ('busy_ns', 'idle_ns', 'unknown_ns')]
            slices[-1] += [time / (sum(times) or 1) for time in times]
        waited = sum(window['sched'][key].get('sum_ns', 0) for key in ('wake', 'requeue'))
        slices[-1].append(waited / (window['end'] - window['begin']))
    wanted = plain_phases(slices, range(1, 3 * len(cpus), 3))
    phases = [line for line in phases_of(sillage, trace, interval) if not line['open']] + \
        phases_of(sillage, trace, interval)[-1:]
    check([phase['begin'] for phase in phases] == [windows[at]['begin'] for at in wanted], name, interval,
          'other phases:', phases, wanted)
    for phase, first, last in zip(phases, wanted, wanted[1:] + [len(slices)]):
        check(phase['slices'] == last - first, name, 'slices')
        for i, value in enumerate(phase['means']):
            value['mean'] /= 1 if value['unit'] == 'share' else 1e9
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
    shown = [line for line in windows if line['type'] == 'window']
    check([line['end'] for line in windows if line['type'] == 'trigger'] ==  # once as long as it holds
          [line['end'] for at, line in enumerate(shown) if line['phase']['change'] and not (at and changes[at - 1])],
          name, 'triggers')
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


def check_stored(sillage, store, wanted):
    """The store has what was said of each phase last, by begin."""
    found = lines_of(run(sillage, 'history', '-q', '-f', 'json', '--phases', '-n', '1', store), 'phase')
    for phase in found:
        phase.pop('trace')
    check(found == list(wanted.values()), 'the store has', found, 'and not', wanted)


def check_live(sillage, name, trace, interval, scratch, has_store):
    """Live, also in two runs, the second of which goes on from the state of the first."""
    phases = phases_of(sillage, trace, interval)
    for phase in phases:
        phase.pop('trace')
    check(live(sillage, trace, interval) == phases, name, 'live differs')
    count, left = len(list(relays.Trace(trace).packets())), 0
    for packets in (count // 3, count // 2, count - 1):
        state = os.path.join(scratch, '%s.live-state-%d' % (name, packets))
        store = state + '.db'
        stored = ('--store', store) if has_store else ()
        parts = live(sillage, trace, interval, '--state', state, *stored, '--duration', '1s', packets=packets)
        left += len(phases) - len(parts)
        parts += live(sillage, trace, interval, '--state', state, *stored)
        check(parts == phases, name, 'in two runs')
        if has_store:
            check_stored(sillage, store, {phase['begin']: phase for phase in phases})
    return left


def check_state(sillage, name, trace, interval, phases, scratch):
    """A state that was left in the middle of the trace; the rest of the packets follows."""
    state = os.path.join(scratch, name + '.state')
    first = lines_of(run(sillage, 'analyze', '-q', '-f', 'json', '--phases', '-i', interval, '--state', state, trace),
                     'phase', 'total')
    again = lines_of(run(sillage, 'analyze', '-q', '-f', 'json', '--phases', '-i', interval, '--state', state, trace),
                     'phase', 'total')
    total = first.pop()
    check(first == phases[:len(first)], name, 'with --state')
    # The last window stays open in a state, and a change that it tells is not known yet.
    check(phases[-1]['number'] - total['phase']['number'] in (0, 1), name, 'the number', total)
    check(again[-1]['phase']['number'] == total['phase']['number'], name, 'the number is lost')
    run(sillage, 'merge', '-q', '-f', 'json', state)


def main():
    sillage, data = sys.argv[1:3]
    with tempfile.TemporaryDirectory() as scratch:
        for name, interval in (('burst', '25ms'), ('io-mix', '10ms'), ('idle-gaps', '50ms'), ('lost-events', '10ms'),
                               ('migrate', '10ms'), ('ust', '1ms')):
            trace = os.path.join(data, name, 'kernel')
            trace = trace if os.path.isdir(trace) else os.path.join(data, name)
            check_laws(sillage, name, trace, interval, scratch)
            print('ok laws %s' % name, flush=True)
        for name, interval in (('burst', '20ms'), ('idle-gaps', '50ms')):
            left = check_live(sillage, name, os.path.join(data, name, 'kernel'), interval, scratch, '--store' in sys.argv)
            print('ok live %s, %d records after a state' % (name, left), flush=True)
    for name, interval in (('burst', '40ms'), ('burst', '25ms'), ('idle-gaps', '100ms'), ('migrate', '10ms'), ('io-mix', '10ms')):
        print('ok %s at %s: %d phases' % (name, interval, check_plain(
            sillage, name, os.path.join(data, name, 'kernel'), interval)), flush=True)


if __name__ == '__main__':
    main()
