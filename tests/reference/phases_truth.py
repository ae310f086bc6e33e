#!/usr/bin/env python3
"""phases_truth: the phases of `overview` and of `--phases`, against what was recorded beside the traces.

Each boundary that is shown is, within a slice, one that the workload reports (truth.json), or lies in
the start or the end of the recording, or is that of other tasks of the host, as their exit accounts
tell.  No boundary of the workload is missing; where its phases are as short as a slice, none that
the partition nearest to the ideal corner has.  Steady workloads have four phases at most: start,
idle, load, end.  A line of the table for each trace.

`--phases` with windows of a slice tells the boundaries that overview shows, within 3 slices, and no
other ones; behind --told, which needs no truth, that is all that is looked at.

usage: phases_truth.py SILLAGE [DIRECTORY...] [--told TRACE...]    directories have kernel/ and truth.json
"""
import json
import os
import subprocess
import sys

SHORT = ('burst-2cpu',)  # phases of both CPUs overlap by 50 ms, which is a slice and a quarter
# Two cuts that are clear when they are told, and noise in a trace that goes on.
BESIDE = {'service': 2}
LARGE = ('mixed-large',)  # 44 workloads at once, each of which has phases: no more than the nearest partition has


def check(condition, *what):
    if not condition:
        raise SystemExit('not ok ' + ' '.join(map(str, what)))


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True)
    check(done.returncode == 0, ' '.join(command), done.returncode, done.stderr)
    return [json.loads(line) for line in done.stdout.splitlines()]


def recorded(truth):
    """Boundaries, and when the workload began and ended; ns since the epoch."""
    offset, command = truth['clock_offset_ns'], truth['command']
    begin, end = command['start_ns'] + offset, command['end_ns'] + offset
    argv = command['argv']
    if argv[0] == 'burst':
        threads = truth['workload']['threads']
        return sorted({phase['start_ns'] + offset for thread in threads for phase in thread['phases'][1:]}), begin, end
    if argv[0] == 'pert':  # SECONDS FROM TO THREADS: the decoder is disturbed
        return [begin + int(second) * 1_000_000_000 for second in argv[2:4]], begin, end
    return [], begin, end


def others(truth, slice_ns):
    """When other tasks ended that ran for more than a tenth of a slice, a slice at a time."""
    ran = {}
    for task in truth['exited_tasks']:
        if task['tgid'] != truth['command']['pid']:
            at = (task['mono_ns'] + truth['clock_offset_ns']) // slice_ns
            ran[at] = ran.get(at, 0) + task['run_ns']
    return [at * slice_ns for at, ns in ran.items() if 10 * ns >= slice_ns]


def live(sillage, trace, slice_ns):
    """The begins of phases that `--phases` tells, and how many windows later."""
    found, windows = {}, []
    for line in run(sillage, 'analyze', '-q', '-f', 'json', '--phases', '-i', '%dns' % slice_ns, trace):
        if line['type'] == 'window':
            windows.append(line['begin'])
        elif line['type'] == 'phase' and line['number'] > 1:  # two may become known at once
            found.setdefault(line['begin'], len(windows) - windows.index(line['begin']))
    return found


def near(a, b, slice_ns, slices=1):
    """In borders of slices: a change within a slice shows at the nearer one."""
    return abs(round(a / slice_ns) - round(b / slice_ns)) <= slices


def check_told(sillage, name, trace, overview=None):
    """`--phases` and overview have the same boundaries; returns how much later each is told."""
    overview = overview or run(sillage, 'overview', '-q', '-f', 'json', trace)[0]
    slice_ns = overview['slices'][2] - overview['slices'][1]
    shown, told = [phase['begin'] for phase in overview['phases'][1:]], live(sillage, trace, slice_ns)
    beside = [at for at in told if not any(near(at, one, slice_ns, 3) for one in shown)]
    check(len(beside) <= BESIDE.get(name, 0), name, '--phases tells others:', beside, shown)
    for one in shown:
        check(any(near(one, at, slice_ns, 3) for at in told), name, '--phases misses', one, told)
    return told


def check_trace(sillage, folder):
    name, trace = os.path.basename(os.path.normpath(folder)), os.path.join(folder, 'kernel')
    with open(os.path.join(folder, 'truth.json'), encoding='utf-8') as file:
        truth = json.load(file)
    overview = run(sillage, 'overview', '-q', '-f', 'json', trace)[0]
    slice_ns = overview['slices'][2] - overview['slices'][1]
    wanted, begin, end = recorded(truth)
    other = others(truth, slice_ns)
    nearest = next(one for one in overview['partitions'] if one['nearest'])
    shown = [phase['begin'] for phase in overview['phases'][1:]]
    for at in shown if name not in LARGE else []:
        check(any(near(at, one, slice_ns) for one in wanted) or at < begin + 2 * slice_ns or at > end - 2 * slice_ns or
              any(near(at, one, slice_ns, 2) for one in other) or not wanted, name, 'no such phase:', at)
    most = len(nearest['ends']) if name in LARGE else 4
    check(wanted or len(shown) < most, name, 'has', len(shown) + 1, 'phases')
    must = [one for one in wanted if name not in SHORT or
            any(near(one, overview['slices'][last + 1], slice_ns) for last in nearest['ends'][:-1])]
    for one in must:
        check(any(near(one, at, slice_ns) for at in shown), name, 'a phase is missing:', one)
    told = check_told(sillage, name, trace, overview)
    print('ok %-20s %3d slices: %2d boundaries recorded, %2d in the nearest partition, %2d shown, %2d told, '
          '%d windows later at least, %d at most' % (
              name, len(overview['slices']), len(wanted), len(nearest['ends']) - 1, len(shown), len(told),
              min(told.values(), default=0), max(told.values(), default=0)), flush=True)


if __name__ == '__main__':
    is_told = False
    for argument in sys.argv[2:]:
        if argument == '--told':
            is_told = True
        elif is_told:
            shown = check_told(sys.argv[1], os.path.basename(os.path.dirname(os.path.normpath(argument))), argument)
            print('ok told %s: %d, up to %d windows later' % (argument, len(shown), max(shown.values(), default=0)))
        else:
            check_trace(sys.argv[1], argument)
