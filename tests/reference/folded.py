#!/usr/bin/env python3
"""folded: the stacks of `export -f folded`, against figures of other analyses of the same traces.

Goal    - Kernel: of each thread the time that it waited for a CPU is waited_ns of `sched`, and its sleeps are those of
          `report`; a sleep names who ended it, as a plain program finds it; no stack has more than four wakers.
        - User space: of each call the time of its stacks is its self time in `calls`.
        - Lines are sorted, each stack is there once, and the flamegraph.pl that is installed takes them.

usage: folded.py SILLAGE KERNEL_TRACE... --ust TRACE...
"""
import collections
import json
import re
import shutil
import subprocess
import sys
import tempfile

import perfetto
import reference
import sleeps

WAITS = '[waits for a CPU: woken]', '[waits for a CPU: preempted]'


def run(sillage, *words):
    done = subprocess.run([sillage, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False, timeout=300)
    assert done.returncode == 0, (words, done.stderr.decode())
    return done.stdout.decode()


def total(sillage, trace, analysis):
    return [line for line in map(json.loads, run(sillage, 'analyze', '-q', '-f', 'json', '-a', analysis, trace).splitlines()) if line['type'] == 'total'][0]


def stacks(sillage, trace):
    text = run(sillage, 'export', '-q', '-f', 'folded', trace)
    found = [line.rsplit(' ', 1) for line in text.splitlines()]
    names = [stack for stack, _ in found]
    assert names == sorted(names) and len(set(names)) == len(names), 'stacks are not sorted, or twice'
    assert all(int(ns) > 0 for _, ns in found)
    if shutil.which('flamegraph.pl') and text:
        done = subprocess.run(['flamegraph.pl', '--countname', 'ns'], input=text.encode(), stdout=subprocess.PIPE, check=True)
        assert b'<svg' in done.stdout
    return [(tuple(stack.split(';')), int(ns)) for stack, ns in found]


def tid_of(frame):
    return int(re.search(r'\((\d+)\)$', frame)[1])


def check_kernel(sillage, trace):
    waits, sleep, wakers = collections.Counter(), collections.Counter(), collections.Counter()
    for stack, ns in stacks(sillage, trace):
        tid = tid_of(stack[0])
        if stack[1] in WAITS:
            waits[tid] += ns
        elif not stack[1].startswith('[waits for a CPU'):
            sleep[tid] += ns
            assert 3 <= len(stack) <= 6, stack
            if stack[2].endswith(')'):
                wakers[tid, tid_of(stack[2])] += ns
    rows = collections.Counter()
    for row in total(sillage, trace, 'sched')['sched']['threads']:
        rows[row['tid']] += row['waited_ns']
    assert +waits == +rows, {tid: (waits[tid], rows[tid]) for tid in waits.keys() | rows.keys() if waits[tid] != rows[tid]}
    told = json.loads(run(sillage, 'report', '-q', '-f', 'json', '-n', '1000', trace).splitlines()[0])
    blocked = collections.Counter()
    for row in told['threads']:
        blocked[row['thread']['tid']] += row.get('blocked_ns', 0)
    sleep = collections.Counter({tid: ns for tid, ns in sleep.items() if tid in blocked or len(told['threads']) < 1000})  # it lists no more
    assert +sleep == +blocked, {tid: (sleep[tid], blocked[tid]) for tid in sleep.keys() | blocked.keys() if sleep[tid] != blocked[tid]}
    check_wakers(trace, wakers)
    return len(wakers)


def check_wakers(trace, wakers):
    """Who ended the sleeps of a thread: only threads that woke it, and all of them that a sleep was seen to end by."""
    plain = sleeps.Sleeps(list(reference.events_of(trace)))
    woke = collections.Counter((tid, waker) for (tid, _), waker in plain.woken.items() if waker)
    assert wakers.keys() <= woke.keys(), sorted(wakers.keys() - woke.keys())[:5]


def check_user(sillage, trace):
    """An open call's stack has its time up to the end, which is in `oldest_ns`."""
    ours, wanted = collections.Counter(), {}
    for stack, ns in stacks(sillage, trace):
        ours[stack[-1]] += ns
    for row in total(sillage, trace, 'calls')['calls']['by_name']:
        name = row['name'].replace('lttng_ust_cyg_profile:func ', '')
        if row.get('open', 0) > 0:
            assert ours.pop(name) >= row['self_ns']
        elif row['self_ns']:
            wanted[name] = row['self_ns']
    assert ours == wanted, {name: (ours.get(name), wanted.get(name)) for name in ours.keys() | wanted.keys() if ours.get(name) != wanted.get(name)}
    return len(ours)


MADE = {('app:req',): 4 + 6 + 5, ('app:a',): 2, ('app:b',): 3, ('app:span outer',): 2 + 1 + 1, ('app:span outer', 'app:span inner'): 2,
        ('app:span outer', 'app:span inner', 'app:span inner'): 1, ('app:span outer', 'app:span lost'): 1}


def check_made(sillage):
    """Overlapping, nested, recursive calls, and one whose end is missing: the time of each stack."""
    with tempfile.TemporaryDirectory() as folder:
        trace = perfetto.overlaps_trace(folder)
        found = {stack: ns for stack, ns in stacks(sillage, trace)}
        nothing = subprocess.run([sillage, 'export', '-f', 'folded', '--begin', '@9000000000', trace], stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE, check=False, timeout=300)
    assert nothing.returncode == 1 and not nothing.stdout and b'nothing to fold in this range' in nothing.stderr, nothing
    assert {stack[:2] for stack in found} == {('process (5)', 'thread (7)')}, found
    assert {stack[2:]: ns for stack, ns in found.items()} == {stack: 1000 * us for stack, us in MADE.items()}, found


def main():
    check_made(sys.argv[1])
    at = sys.argv.index('--ust')
    for trace in sys.argv[2:at]:
        print('ok', trace, check_kernel(sys.argv[1], trace), 'pairs of sleeper and waker')
    for trace in sys.argv[at + 1:]:
        print('ok', trace, check_user(sys.argv[1], trace), 'calls')


if __name__ == '__main__':
    main()
