#!/usr/bin/env python3
"""phases: `--phases` of analyze and live, against a plain program.

Goal    The phases equal those of a program that keeps every slice and computes each partition from
        the definition (doc/definitions.md, 8.6).  They do not depend on workers, chunks, other
        analyses, other figures in the output, or on a state that was saved and read again.  Live
        they are those of the recorded trace.  What was recorded: reference/phases_truth.py.

usage: phases.py SILLAGE DATA [--store]
"""
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'peer'))
import scripted_relay as relays  # noqa: E402
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'reference'))
from suggestion import Suggestion  # noqa: E402

STAY, MOVE, CHANGE, HELD = 5, 3, 0.1, 100
IDLE = 1795225003  # a second of burst in which both CPUs are idle


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

ASLEEP = ('fd_ns', 'socket_ns', 'mqueue_ns', 'futex_ns', 'timer_ns', 'child_ns', 'signal_ns', 'events_ns', 'message_ns')
DOES = {'run_ns': 'runs', 'wait_ns': 'waits for a CPU', 'preempted_ns': 'is preempted', 'stopped_ns': 'is stopped',
        'other_ns': 'sleeps', **{key: 'waits for ' + key[:-3] for key in ASLEEP}}


def mean(values, first, last):
    return sum(values[first:last + 1]) / (last - first + 1)


def states_of(windows):
    """By process and thread, for each window the rates of each state, or None where it is not known for all of it."""
    has_calls = next((row['other_ns'] is not None for window in windows for row in window['waits']['threads'] or ()), False)
    does = {key: text for key, text in DOES.items()}
    if not has_calls:
        does['asleep_ns'] = 'sleeps'
    names, found = {}, {}
    for at, window in enumerate(windows):
        length = window['end'] - window['begin']
        for row in window['waits']['threads'] or ():
            if row['tid'] > 0 and row.get('pid', 0) > 0 and sum(row[key] or 0 for key in does) >= length:
                rates = {key: round((row[key] or 0) * 1e9 / length) for key in does}
                found.setdefault(row['pid'], {}).setdefault((row['tid'], row.get('life')), [None] * len(windows))[at] = rates
        for row in window['waits']['processes'] or ():
            if 'pid' in row:
                names.setdefault(row['pid'], {})[at] = '%s (%d)' % (row['comm'], row['pid'])
    return names, found, does


def beside(states, count):
    """The states of processes that change in so many windows: {name: values}, and what they are divided by."""
    (names, found, does), ret = states, {}
    for pid, threads in found.items():
        known = [rates[:count] for rates in threads.values() if sum(rate is not None for rate in rates[:count]) >= 6]
        for key, text in does.items() if known else ():
            values = [0] * count
            for rates in known:
                rate = next(rate[key] for rate in rates if rate)
                for at in range(count):
                    rate = rates[at][key] if rates[at] else rate
                    values[at] += rate
            most = max(1e9, *values)
            if any(abs(sum(values[at:at + 3]) - sum(values[at - 3:at])) / 3 / most >= 0.5 for at in range(3, count - 2)):
                name = names[pid][max(at for at in names[pid] if at < count)]
                ret['%s %s' % (name, text)] = (values, 5 * most)
    return ret


def model_of(windows, states):
    """{name: (values, what they are divided by)} of so many windows; that of CPUs and of waiting first."""
    ret = {}
    for cpu in sorted({row['cpu'] for window in windows for row in window['cpu']['cpus']}):
        rows = [{row['cpu']: row for row in window['cpu']['cpus']}.get(cpu) for window in windows]
        for state in ('busy', 'idle', 'unknown'):
            ret['CPU %d %s' % (cpu, state)] = ([row[state + '_ns'] / (sum(row[one + '_ns'] for one in (
                'busy', 'idle', 'unknown')) or 1) if row else 0 for row in rows], 1)
    waited = [(window['waits']['wait_ns'] + window['waits']['preempted_ns']) * 1e9 / (window['end'] - window['begin'])
              for window in windows]
    ret['waiting'] = waited, max(1e9, *waited)
    ret.update(beside(states, len(windows)))
    return ret


def plain_phases(windows):
    """First slices of phases, and the means of each.  At most HELD slices, so that none is dropped."""
    check(len(windows) <= HELD, 'too many slices for the plain program')
    stayed, changes, means, states = {}, [0], [], states_of(windows)
    for count in [*range(1, len(windows) + 1), None]:
        is_over = count is None
        count = count or len(windows)
        model = model_of(windows[:count], states)
        series = [[value / scale for value in values] for values, scale in model.values()]
        counts = [not name.endswith(' idle') for name in model]
        suggestion = Suggestion(series, counts)
        clear = {first for first, _ in suggestion.parts(is_over=is_over)}
        cuts = [first for first, _ in suggestion.maybe[1:]]
        stayed = {cut: stayed.get(cut, 0) + 1 for cut in cuts}
        for cut, following in zip(cuts, cuts[1:] + [count]):
            known = changes[-1]
            has_moved = known > 0 and known not in cuts and cut - known <= MOVE
            if cut <= known or has_moved:
                continue
            if stayed[cut] < STAY and not is_over:
                break  # those behind it wait for it
            if cut not in clear:
                continue
            begins = (cut, cut + 1) if following == count and not is_over else (cut,)  # not its first slice alone
            if any(all(abs(mean(values, begin, following - 1) - mean(values, known, cut - 1)) >= CHANGE
                       for begin in begins) for values, one in zip(series, counts) if one):
                changes.append(cut)
                means.append({name: mean(values, known, cut - 1) for name, (values, _) in model.items()})
    return changes, means + [{name: mean(values, changes[-1], count - 1) for name, (values, _) in model.items()}]


def check_plain(sillage, name, trace, interval):
    windows = lines_of(run(sillage, 'analyze', '-q', '-f', 'json', '-a', 'cpu,waits', '-i', interval, trace), 'window')
    wanted, means = plain_phases(windows)
    phases = phases_of(sillage, trace, interval)
    phases = [line for line in phases if not line['open']] + phases[-1:]
    check([phase['begin'] for phase in phases] == [windows[at]['begin'] for at in wanted], name, interval,
          'other phases:', phases, wanted)
    for phase, plain, first, last in zip(phases, means, wanted, wanted[1:] + [len(windows)]):
        check(phase['slices'] == last - first, name, 'slices')
        found = {one['series']: one for one in phase['means']}
        check(set(plain) <= set(found) and len(set(found) - set(plain)) <= 1, name, 'series', set(plain) ^ set(found))
        for series, value in plain.items():  # of what the phase began with may be no series any more
            check(abs(found[series]['mean'] - value) <= 1e-6 * max(1, value), name, 'mean of', series, found[series], value)
        if first > 0:
            change = phase['change']
            check(abs(change['before'] - change['after']) >= CHANGE / 2, name, 'change', phase)
    return len(wanted), sum(not key.startswith('CPU ') and key != 'waiting' for key in means[-1])


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
    # Those that the end of the run tells are in the total only.
    check(sum(changes) <= windows[-1]['phase']['change'] == len(over), name, 'changes')
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
    # Other windows may follow where a state is kept: the end of the run tells nothing then.
    ended, phases = phases, live(sillage, trace, interval, '--state', os.path.join(scratch, name + '.whole'))
    check(phases[:-1] == ended[:len(phases) - 1], name, 'a state changes what is told')
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
    check(first[:-1] == phases[:len(first) - 1], name, 'with --state')
    # The last window stays open in a state, and a change that it tells is not known yet; nor does the end tell any.
    check(total['phase']['number'] <= phases[-1]['number'], name, 'the number', total)
    check(again[-1]['phase']['number'] == total['phase']['number'], name, 'the number is lost')
    run(sillage, 'merge', '-q', '-f', 'json', state)


def check_text(sillage, trace):
    """Each phase has a figure, also one in which all CPUs are idle."""
    text = run(sillage, 'analyze', '-q', '-a', 'cpu', '--phases', '-i', '1ms', '--begin', '@%s.270' % IDLE, '--end', '@%s.330' % IDLE, trace)
    lines = [line for line in text.splitlines() if line.startswith('~ phase')]
    check(len(lines) == 9 and all(' %' in line for line in lines), 'as text', lines)
    check(any('CPU 0 idle 100.0 %, CPU 1 idle 100.0 %' in line for line in lines), 'idle as text', lines)


def main():
    sillage, data = sys.argv[1:3]
    check_text(sillage, os.path.join(data, 'burst', 'kernel'))
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
    for name, interval in (('burst', '40ms'), ('idle-gaps', '200ms'), ('migrate', '10ms'), ('io-mix', '10ms')):
        print('ok %s at %s: %d phases, %d states of processes' % (name, interval, *check_plain(
            sillage, name, os.path.join(data, name, 'kernel'), interval)), flush=True)


if __name__ == '__main__':
    main()
