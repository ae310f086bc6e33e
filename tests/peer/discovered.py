#!/usr/bin/env python3
"""discovered: jobs from discovery to the misses that the workload recorded, recorded and live.

The line that `report --discover` prints goes as it is to `report`, `analyze` and `live`, and its job to a
file of a model.  All of them find the same executions, and the late ones are those of truth.json
(tests/reference/discovery.py compares each execution of a report with it).

usage: discovered.py SILLAGE APP DATA [--only NAME]
"""
import json
import os
import re
import shlex
import signal
import subprocess
import sys

import peer

MISSES = {'timer-jobs': 6, 'timer-jobs-timerfd': 6, 'timer-jobs-signal': 5}


def printed(t, trace):
    """The options of the job that is found first, as words."""
    done = subprocess.run([t.sillage, 'report', '-q', '--discover', '--thread', 'job', trace], stdout=subprocess.PIPE, check=True)
    text = done.stdout.decode()
    return shlex.split(re.search(r'^ +(--thread .*)$', text[text.index('JOBS FOUND'):], re.M)[1])


def reported(t, words, trace):
    done = subprocess.run([t.sillage, 'report', '-q', '-f', 'json', *words, trace], stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout.decode())['jobs']


def check_jobs(t, name):
    trace = os.path.join(t.data, name)
    with open(os.path.join(trace, 'truth.json'), encoding='utf-8') as file:
        truth = json.load(file)
    late = [one['end_ns'] + truth['clock_offset_ns'] for one in truth['workload']['jobs'] if one['deadline_missed']]
    assert len(late) == MISSES[name], late
    words = printed(t, trace)
    jobs = reported(t, words, trace)
    assert (jobs['count'] + jobs['open_count'], jobs['misses']) == (300, len(late)), (jobs['count'], jobs['misses'])
    model = os.path.join(t.scratch, name)
    with open(model, 'w', encoding='utf-8') as file:
        file.write('job %s\n' % words[words.index('--job') + 1])
    recorded = t.analyze(trace, '-a', 'jobs', *words)['jobs']
    assert t.analyze(trace, '-a', 'jobs', '--thread', 'job', '--model', model)['jobs'] == recorded, 'a model finds other jobs'
    relay = t.relay()
    live = t.live('-a', 'jobs', '-i', '100ms', '-n', '400', '--from', 'beginning', *words, relay.live)
    t.play(live, relay, trace, '--session', 's', '--hostname', 'h', '--live-timer', '100ms')
    live.wait_for(lambda one: peer.totals(one.lines()))
    lines = live.finish(signal.SIGTERM)
    total = peer.totals(lines)[0]['jobs']
    assert total['jobs'] == recorded['jobs'] and total['misses'] == recorded['misses'], (total, recorded)
    row, = total['jobs']
    assert row['duration']['count'] == jobs['count'] and total['misses'] + total.get('open_misses', 0) == jobs['misses'], (row, jobs)
    assert row['response']['max_ns'] == max(one['response_ns'] for one in jobs['longest']), (row, jobs['longest'][0])
    # Window by window the same executions are late: each where the workload's ends.
    fired = [line for line in lines if line['type'] == 'window' and line['jobs']['misses'] > 0]
    for end in late:
        assert any(line['begin'] <= end < line['end'] + 1000000 for line in fired), (end, fired)
    assert sum(line['jobs']['misses'] for line in fired) == len(late), fired


def test_nanosleep(t):
    """A job that sleeps until the next time."""
    check_jobs(t, 'timer-jobs')


def test_timerfd(t):
    """A job that reads a timer."""
    check_jobs(t, 'timer-jobs-timerfd')


def test_signal(t):
    """A job that waits for a timer's signal."""
    check_jobs(t, 'timer-jobs-signal')


if __name__ == '__main__':
    sys.exit(peer.main(globals()))
