#!/usr/bin/env python3
"""discovery: jobs that `report --discover` finds, compared with what the workload recorded.

In each real-time trace the job's thread has one loop of a known period (truth.json).  What is found
first for that thread must be it: its period within 1 %, nearly all of its executions, nearly all of
the thread's running time.  The pattern that is printed must find as many executions with --job.

With --tile, the same is found in a trace that repeats the first one: a tid has several threads there.

usage: discovery.py SILLAGE [--tile PROGRAM] TRACE...      directories with kernel/ and truth.json
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

# The thread that repeats the loop, by workload, and the calls in which it waits for the next turn: the
# pattern begins and ends there.
THREADS = {'rt_timer_jobs': ('job', ('clock_nanosleep', 'read', 'rt_sigtimedwait')),
           'rt_mutex_inversion': ('mtx-low', ('clock_nanosleep', 'futex')),
           'rt_mqueue_inversion': ('mq-server', ('mq_timedreceive',)), 'rt_signal_inversion': ('sig-worker', ('rt_sigtimedwait',))}


def run(*command, status=0):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != status:
        raise SystemExit('not ok %s: status %d\n%s' % (' '.join(command), done.returncode, done.stderr))
    return done.stdout if status == 0 else done.stderr


def check(condition, *what):
    if not condition:
        raise SystemExit('not ok ' + ' '.join(map(str, what)))


def check_page(sillage, base, trace, jobs):
    """A page has the same rows."""
    page = run(sillage, 'report', '--discover', '-n', '0', '-f', 'html', trace)
    data = json.loads(re.search(r'<script id="data" type="application/json">(.*?)</script>', page, re.S)[1])[0]
    rows = [dict(row, thread=data['names'][row['thread']]) for row in data['found']]
    check(rows == [{key: value for key, value in job.items() if key != 'variation'} for job in jobs], base, 'the page has', rows)


def check_trace(sillage, name):
    with open(os.path.join(name, 'truth.json'), encoding='utf-8') as file:
        workload = json.load(file)['workload']
    base, trace = os.path.basename(os.path.normpath(name)), os.path.join(name, 'kernel')
    comm, calls = THREADS.get(workload.get('workload'), (None, ()))
    if not comm:
        return
    lines = run(sillage, 'report', '--discover', '-f', 'json', trace).splitlines()
    found = json.loads(lines[-1])
    check(found['type'] == 'discovery', base, 'no line of what was found')
    jobs = [job for job in found['jobs'] if job['thread']['comm'] == comm]
    check(jobs, base, 'nothing is found for', comm)
    first = jobs[0]
    recorded = len(workload.get('jobs', workload.get('cycles')))
    period = workload['period_us'] * 1000
    check(abs(first['period_ns'] - period) <= period / 100, base, 'period', first['period_ns'])
    check(0.95 * recorded <= first['count'] <= recorded, base, 'count', first['count'], 'of', recorded)
    check(first['coverage'] > 0.95, base, 'coverage', first['coverage'])
    parts = first['job'].split('; ')
    turns = [call for call in calls if 'syscall_exit_' + call in parts and 'syscall_entry_' + call in parts and
             parts.index('syscall_exit_' + call) < parts.index('syscall_entry_' + call)]
    check(turns, base, 'no turn of the loop in', first['job'])
    check(parts[0] == 'sched_waking tid=$tid' and parts[-1] == 'sched_switch prev_tid=$tid, prev_state&207!=0',
          base, 'not from its wake-up to its sleep:', first['job'])
    tid = str(first['thread']['tid'])
    report = json.loads(run(sillage, 'report', '-f', 'json', '--thread', tid, '--job', first['job'],
                            trace).splitlines()[0])
    count = report['jobs']['count']
    # A pattern takes the first event that fits, an episode the shortest window.
    check(abs(count - first['count']) <= 2, base, '--job finds', count, 'of', first['count'])
    text = run(sillage, 'report', '--discover', '--thread', tid, trace)
    check("--job '%s'" % first['job'] in text, base, 'no such line in the text')
    check_page(sillage, base, trace, found['jobs'])
    print('ok %s: %s, %d of %d, every %.3f ms' % (base, comm, first['count'], recorded,
                                                  first['period_ns'] / 1e6))


def check_tiled(sillage, tile, name):
    """The job's thread is searched first in both, and its jobs are the same."""
    with tempfile.TemporaryDirectory(prefix='sillage-discovery-') as scratch:
        tiled = os.path.join(scratch, 'tiled')
        run(tile, os.path.join(name, 'kernel'), tiled, '5')
        found = []
        for trace in (os.path.join(name, 'kernel'), tiled):
            jobs = json.loads(run(sillage, 'report', '--discover', '-f', 'json', trace).splitlines()[-1])['jobs']
            with open(os.path.join(name, 'truth.json'), encoding='utf-8') as file:
                comm = THREADS[json.load(file)['workload']['workload']][0]
            found.append([job for job in jobs if job['thread']['comm'] == comm])
        check(found[0] and found[0] == found[1], name, 'five times:', found[1][:1], 'not', found[0][:1])


def check_old(sillage, name):
    """A kernel before 4.14 has other bits for the states that sleep: the pattern has those."""
    with tempfile.TemporaryDirectory(prefix='sillage-discovery-') as scratch:
        old = os.path.join(scratch, 'old')
        shutil.copytree(os.path.join(name, 'kernel'), old)
        with open(os.path.join(old, 'metadata'), 'r+b') as file:
            text = file.read()
            release = re.search(rb'kernel_release = "(\d+\.\d+)', text)
            file.seek(release.start(1))
            file.write(b'4.8.0'[:len(release[1])].ljust(len(release[1]), b'0'))
        of = [json.loads(run(sillage, 'report', '--discover', '-f', 'json', trace).splitlines()[-1])['jobs']
              for trace in (os.path.join(name, 'kernel'), old)]
        check(of[0] and [job['count'] for job in of[0]] == [job['count'] for job in of[1]], name, 'an old kernel:', of[1][:1])
        check(all('prev_state&207' not in job['job'] for job in of[1]) and any('prev_state&143' in job['job'] for job in of[1]),
              name, 'the states of another kernel:', of[1][:1])


def main():
    sillage, traces = sys.argv[1], sys.argv[2:]
    if traces[0] == '--tile':
        check_tiled(sillage, traces[1], traces[2])
        traces = traces[2:]
        check_old(sillage, traces[0])
    for trace in traces:
        check_trace(sillage, trace)


if __name__ == '__main__':
    main()
