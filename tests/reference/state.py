#!/usr/bin/env python3
"""state: the state at a window's end against `report` of that instant.

Goal    Each thread that is alive is in the state that its timeline has, in every window; so are CPUs'
        threads; counts of processes and of the trace are those of their threads, and so is what text lists and counts.
Method  The last ns before the end of a window as a range of `report`, whose timeline is another
        program over the same events.

usage: state.py SILLAGE TRACE...
"""
import collections
import json
import re
import subprocess
import sys

STATES = ('running', 'runnable', 'blocked', 'stopped', 'unknown')
WINDOWS = 12  # of a trace, that are compared


def windows_of(sillage, trace, interval, chunk='64K'):
    out = subprocess.run([sillage, 'analyze', '-a', 'state', '-f', 'json', '-n', '0', '-i', interval,
                          '--chunk-size', chunk, trace], check=True, capture_output=True)
    for line in out.stdout.splitlines():
        line = json.loads(line)
        if line['type'] == 'window' and line['trace']['domain'] == 'kernel':
            yield line


def states_of(window):
    """{(tid, state): threads}"""
    found = collections.Counter()
    for row in window['state']['threads']:
        for state in STATES:
            found[row['tid'], 'blocked' if state == 'stopped' else state] += row[state + '_threads'] or 0
    return +found


def timeline_at(sillage, trace, end, is_last):
    """A trace ends with its last event, which its last window has."""
    begin = end if is_last else end - 1
    out = subprocess.run([sillage, 'report', '-f', 'json', '-n', '0', '--begin', str(begin), '--end', str(begin + 1),
                          trace], capture_output=True, check=False)
    found = collections.Counter()
    if out.returncode != 0:
        return None
    for line in out.stdout.splitlines():
        for row in json.loads(line).get('threads', ()):
            waits = sum(row.get(key, 0) for key in ('wait_ns', 'preempted_ns', 'new_ns'))
            state = ('running' if row['run_ns'] else 'blocked' if row.get('blocked_ns') else
                     'runnable' if waits else 'unknown')
            found[row['thread']['tid'], state] += 1
    return found


def check_sums(window):
    state = window['state']
    for key in STATES:
        of_threads = [row[key + '_threads'] for row in state['threads']]
        if state[key + '_threads'] is None:
            assert not any(of_threads), 'unknown, but counted'
            continue
        for rows in state['threads'], state['processes']:
            assert sum(row[key + '_threads'] for row in rows) == state[key + '_threads'], key
            ages = [row[key + '_ns'] for row in rows]
            assert max(ages, default=0) == state[key + '_ns'], key
    if state['running_threads'] is not None:
        assert len(state['running']) == state['running_threads']
        assert sum(row['running_threads'] for row in state['cpus']) <= state['running_threads']
    assert all(row['ns'] >= 0 and row['end'] == window['end'] for row in state.get('open', ()))


def differ_at(sillage, trace, window, is_last):
    """(tid, state, threads here, threads there) of what is not the same; a timeline has threads that no state was told of."""
    ours, theirs = states_of(window), timeline_at(sillage, trace, window['end'], is_last)
    if theirs is None:
        return []
    return sorted((*key, ours[key], theirs[key]) for key in ours.keys() | theirs.keys()
                  if ours[key] != theirs[key] and key[0] > 0 and not (key[1] == 'unknown' and ours[key] < theirs[key]))


def compare(sillage, trace, interval):
    windows = list(windows_of(sillage, trace, interval))
    step, wrong = max(1, len(windows) // WINDOWS), 0
    for window in windows:
        check_sums(window)
    for window in windows[::step] + windows[-1:]:
        differs = differ_at(sillage, trace, window, window is windows[-1])
        if differs:
            wrong += 1
            print('%s at %d: %s' % (trace, window['end'], differs[:6]))
    return len(windows), wrong


def cuts_differ(sillage, trace):
    """A call goes on where a chunk ends: what it waits for may be told in the next one."""
    windows = [list(windows_of(sillage, trace, '10ms', size)) for size in ('1', '1G')]
    if windows[0] != windows[1]:
        print('%s: not the same in chunks of a packet' % trace)
    return windows[0] != windows[1]


LISTS = {'OLDEST OPEN CALLS': ('open_calls',), 'BLOCKED IN CALL': ('blocked_threads', 'stopped_threads'),
         'RUNNABLE': ('runnable_threads',), 'RUNNING': ('running_threads',)}


def lists_of_text(text):
    """{title: threads that are listed, or counted below}, of the total; an unnamed one is not listed."""
    counts, title = collections.Counter(), None
    for line in text[text.index('  total  '):].splitlines():
        head = re.match(r'  ([A-Z ]+?)  +[A-Z]', line)
        counted = re.match(r'  (?:\.\.\. and )?([0-9,]+) (?:more|threads? of which no call is known)$', line)
        if head:
            title = head.group(1)
        elif counted:
            counts[title] += int(counted.group(1).replace(',', ''))
        elif title and line.startswith('  '):
            assert not line.startswith('  ?'), line
            counts[title] += 1
    return counts


def text_differs(sillage, trace):
    """What a list leaves out is counted: lines and counts are the threads that are in that state."""
    command, wrong = [sillage, 'analyze', '-q', '-a', 'state', '-n', '3', trace], False
    texts = [subprocess.run([*command, '-f', form], check=True, capture_output=True, text=True).stdout for form in ('text', 'json')]
    state = next(line['state'] for line in map(json.loads, texts[1].splitlines()) if line['type'] == 'total')
    for title, keys in LISTS.items():
        count, of = lists_of_text(texts[0])[title], sum(state[key] or 0 for key in keys)
        if count != of:
            wrong = True
            print('%s: %s has %d threads of %d' % (trace, title, count, of))
    return wrong


def main():
    sillage, traces, wrong = sys.argv[1], sys.argv[2:], 0
    for trace in traces:
        wrong += cuts_differ(sillage, trace) + text_differs(sillage, trace)
        for interval in ('100ms', '37ms'):
            count, differ = compare(sillage, trace, interval)
            wrong += differ
            print('%s: %s: %d windows%s' % (trace, interval, count, ', %d differ' % differ if differ else ''))
    sys.exit(wrong > 0)


if __name__ == '__main__':
    main()
