#!/usr/bin/env python3
"""discovery: jobs that `report --discover` finds, compared with what the workload recorded.

In each real-time trace threads repeat a loop of a known period (truth.json).  What is found first for
such a thread must be it, with the name of its model, and with its period.  The line that is printed goes
as it is to `report`: there is an execution for each of the workload's, and the workload's lies in it; of
the jobs of a timer the responses and the missed deadlines are the workload's, too.

With --tile, the same is found in a trace that repeats the first one: a tid has several threads there.

With --programs: the loops and requests of two traces of a shop, with the figures of a plain program; and none in others.

usage: discovery.py SILLAGE [--tile PROGRAM] TRACE...      directories with kernel/ and truth.json
       discovery.py SILLAGE --programs SHOP SHOP TRACE...  (also: babeltrace2 in the path)
"""
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

# Of each workload its threads: the job that is found, and the names of begin and end of what the thread does in
# truth.json.
TIMERS = {'nanosleep': 'periodic', 'timerfd': 'timerfd', 'signal': 'signal'}
FUTEX = r'syscall_exit_futex uaddr=(\d+); syscall_entry_futex uaddr=\1'
THREADS = {
    'rt_timer_jobs': lambda of: {'job': (TIMERS[of['timer']], 'start_ns', 'end_ns')},
    'rt_mutex_inversion': lambda of: {'mtx-low': ('periodic', 'low_lock_ns', 'low_unlock_ns'),
                                      'mtx-high': ('periodic' if of['release'] == 'timer' else FUTEX, 'high_request_ns', 'high_end_ns')},
    'rt_mqueue_inversion': lambda of: {'mq-client': ('periodic', 'request_ns', 'reply_ns'), 'mq-server': ('mq', 'serve_start_ns', 'serve_end_ns')},
    'rt_signal_inversion': lambda of: {'sig-waiter': ('periodic', 'wait_start_ns', 'signalled_ns'),
                                       'sig-worker': ('signal', 'work_start_ns', 'work_end_ns')}}
RESPONSE_NS = 500000  # by so much a program sees its own responses otherwise than the kernel


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


def loops_of(workload):
    """The threads of a workload that repeat a loop, by name."""
    return THREADS[workload['workload']](workload) if workload and workload.get('workload') in THREADS else {}


def printed(sillage, thread, trace):
    """The options of the first job that is printed for a thread, as words."""
    text = run(sillage, 'report', '-q', '--discover', '--thread', thread, trace)
    return shlex.split(re.search(r'^ +(--thread .*)$', text[text.index('JOBS FOUND'):], re.M)[1])


def executions(sillage, words, trace):
    """All of them by begin, and the line that they are from."""
    jobs = json.loads(run(sillage, 'report', '-f', 'json', *words, trace).splitlines()[0])['jobs']
    return sorted(jobs['longest'] + jobs['open'], key=lambda one: one['begin']), jobs


def check_executions(what, found, jobs, job, truth):
    """One for each of the workload's.  Start-up before the first, and what ends a thread, is none."""
    workload, offset = truth['workload'], truth['clock_offset_ns']
    done = workload.get('jobs', workload.get('cycles'))
    check(len(found) == len(done), what, len(found), 'executions of', len(done))
    for one, real in zip(found, done):
        begin, end = real[job[1]] + offset, real[job[2]] + offset
        check(one['begin'] <= begin and end <= one['end'], what, 'not the same execution:', one, real)
        if 'response_ns' in real:
            check(abs(one['response_ns'] - real['response_ns']) < RESPONSE_NS, what, 'response', one, real)
    if 'jobs' in workload:
        check(jobs['misses'] == sum(real['deadline_missed'] for real in done), what, 'misses', jobs['misses'])
        check([one['begin'] for one in found if one['response_ns'] > jobs['deadline_ns']] ==
              [one['begin'] for one, real in zip(found, done) if real['deadline_missed']], what, 'others were late')


def check_job(sillage, name, truth, thread, job, found):
    """The first job of a thread is the one of the workload, by its options in the text, too."""
    trace, what = os.path.join(name, 'kernel'), '%s: %s:' % (os.path.basename(os.path.normpath(name)), thread)
    mine = [one for one in found['jobs'] if one['thread']['comm'] == thread]
    check(mine, what, 'nothing is found')
    first, period = mine[0], truth['workload']['period_us'] * 1000
    wanted = '%s = %s; every %gms' % (thread, job[0], period / 1e6)
    check(re.fullmatch(wanted, first['job']), what, first['job'], 'is not', wanted)
    check(abs(first['period_ns'] - period) <= period / 100, what, 'period', first['period_ns'])
    words = printed(sillage, thread, trace)
    check(words == ['--thread', thread, '--job', first['job']], what, 'the text has', words)
    all_found, jobs = executions(sillage, words, trace)
    check(jobs['count'] == first['count'], what, 'discovery counts', first['count'], 'and --job', jobs['count'])
    check_executions(what, all_found, jobs, job, truth)
    print('ok %s %d executions, %d late' % (what, len(all_found), jobs['misses']))


def check_trace(sillage, name):
    with open(os.path.join(name, 'truth.json'), encoding='utf-8') as file:
        truth = json.load(file)
    loops, trace = loops_of(truth['workload']), os.path.join(name, 'kernel')
    if not loops:
        return
    lines = run(sillage, 'report', '--discover', '-f', 'json', trace).splitlines()
    found = json.loads(lines[-1])
    check(found['type'] == 'discovery' and found['complete'], name, 'no line of what was found, or not of all')
    check(len({one['job'].split(' = ')[0] for one in found['jobs']}) == len(found['jobs']), name, 'two jobs have one name')
    for thread, job in loops.items():
        check_job(sillage, name, truth, thread, job, found)
    check_page(sillage, name, trace, found['jobs'])


def check_limits(sillage, trace):
    """So many executions, events, a support: the first of them, and none that has less."""
    with open(os.path.join(trace, 'truth.json'), encoding='utf-8') as file:
        done = json.load(file)['workload']['jobs']
    trace = os.path.join(trace, 'kernel')
    words = printed(sillage, 'job', trace)
    whole, some = (executions(sillage, words + more, trace)[0] for more in ([], ['--executions', '60']))
    check(some == whole[:60], trace, 'not the first 60 executions')
    late = executions(sillage, words + ['--executions', '60'], trace)[1]
    check((late['count'], late['open_count'], late['misses']) == (60, 0, sum(one['deadline_missed'] for one in done[:60])), trace, late)
    inner = [executions(sillage, ['--thread', 'job', '--job', 'run', '--within', 'wake-to-sleep'] + more, trace)[0] for more in ([], ['--executions', '9'])]
    check(len(inner[1]) == 9 and inner[1] == inner[0][:9], trace, 'not the first nine')

    def of(*more):
        lines = run(sillage, 'report', '-f', 'json', '--discover', '--thread', 'job', *more, trace).splitlines()
        return json.loads(lines[-1])
    check(of('--executions', '60')['jobs'][0]['count'] == 60, trace, 'more than 60 are measured')
    check(of('--executions', '2')['jobs'][0]['count'] == 5, trace, 'two executions show no period')
    few = of('--events', '1000')
    check(not few['complete'] and 0 < few['jobs'][0]['count'] < 250, trace, few)
    check(of('--support', '299')['jobs'][0]['count'] == 299 and of('--support', '300')['jobs'] == [], trace, 'support')
    check(any(one['count'] < 200 for one in of('--support', '50%')['jobs']), trace, 'a lower support finds more')
    for bad in ('0', '101%', '0.5', 'x', '5x', ''):
        check('a number of executions, or a share from 1% to 100%' in
              run(sillage, 'report', '--discover', '--support', bad, trace, status=2), trace, 'support', bad)
    check('no effect' in run(sillage, 'report', '--executions', '5', trace, status=2), trace, '--executions alone')


def check_tiled(sillage, tile, name):
    """The job's thread is searched first in both, and its jobs are the same."""
    with tempfile.TemporaryDirectory(prefix='sillage-discovery-') as scratch:
        tiled = os.path.join(scratch, 'tiled')
        run(tile, os.path.join(name, 'kernel'), tiled, '5')
        found = []
        for trace in (os.path.join(name, 'kernel'), tiled):
            jobs = json.loads(run(sillage, 'report', '--discover', '-f', 'json', trace).splitlines()[-1])['jobs']
            found.append([job for job in jobs if job['thread']['comm'] == 'job'])
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


def check_without(sillage, name):
    """Timers, interrupts, wake-ups are not recorded: the jobs are the same, and as many are late."""
    for events in (('timer_hrtimer_start', 'timer_hrtimer_expire_entry', 'timer_hrtimer_expire_exit', 'timer_hrtimer_cancel'),
                   ('irq_handler_entry', 'irq_softirq_entry', 'irq_softirq_exit'), ('sched_waking', 'sched_wakeup')):
        with tempfile.TemporaryDirectory(prefix='sillage-discovery-') as scratch:
            less = os.path.join(scratch, 'less')
            shutil.copytree(name, less)
            with open(os.path.join(less, 'kernel', 'metadata'), 'r+b') as file:
                text = file.read()
                for event in events:
                    text = text.replace(event.encode(), b'zzz_' + event[4:].encode())
                file.seek(0)
                file.write(text)
            check_trace(sillage, less)


# ---- programs ----

def found_of(sillage, trace, *words):
    lines = [json.loads(line) for line in run(sillage, 'report', '--discover', '-f', 'json', *words, trace).splitlines()]
    return [line for line in lines if line['type'] == 'discovery' and 'events' in line][0]


def plain_pairs(events, first, last, by):
    """(count, sum) of what alternates, by a field or, None, by thread: an end takes the begin before it."""
    open_, count, ns = {}, 0, 0
    for ts, name, fields in events:
        key = (fields['vpid'], fields['vtid'] if by is None else fields[by]) if name in (first, last) else None
        if name == first:
            open_.setdefault(key, ts)
        elif name == last and key in open_:
            ns += ts - open_.pop(key)
            count += 1
    return count, ns


def events_of(trace):
    """(ns, name, fields) as babeltrace2 prints them."""
    for line in run('babeltrace2', '--clock-seconds', trace).splitlines():
        at = re.match(r'\[(\d+)\.(\d{9})\] .*? ([\w:]+): (.*)', line)
        fields = {name: int(value) if re.fullmatch(r'-?\d+', value) else value for name, value in re.findall(r'(\w+) = ("[^"]*"|[^\s,{}]+)', at[4])}
        yield int(at[1]) * 10 ** 9 + int(at[2]), at[3], fields


def check_program(sillage, trace, wanted):
    """What is found is what is wanted, has the figures of a plain program, and of what it prints."""
    found, events = found_of(sillage, trace), list(events_of(trace))
    check(found['complete'] and found['events'] == len(events), trace, found['events'])
    check([one['job'] for one in found['jobs']] == wanted, trace, found['jobs'])
    text = run(sillage, 'report', '-q', '--discover', trace)
    for one in found['jobs']:
        first, last, *rest = one['job'].split(' = ')[1].split('; ')
        by = next((word[3:] for word in rest if word.startswith('by ')), None)
        count, ns = plain_pairs(events, first, last, by)
        check((one['count'], one['mean_ns']) == (count, ns // count), trace, one, count, ns // max(count, 1))
        check(shlex.quote(one['job']) in text, trace, one['job'], 'is not in', text)
        total = [line for line in map(json.loads, run(sillage, 'analyze', '-q', '-f', 'json', '-a', 'jobs', '--job', one['job'], trace).splitlines())
                 if line['type'] == 'total'][0]['jobs']
        check(total['jobs'][0]['duration']['count'] == count, trace, total['jobs'])
    check(found_of(sillage, trace, '--thread', 'no-such')['events'] == 0, trace, 'events of no thread')
    check(found_of(sillage, trace, '--support', '200')['jobs'] == [one for one in found['jobs'] if one['count'] >= 200], trace, 'support')
    check(found_of(sillage, trace, '--start', first)['jobs'] == [one for one in found['jobs'] if ' = %s;' % first in one['job']], trace, 'start')
    print('ok %s: %d found' % (trace, len(found['jobs'])))


def main():
    if sys.argv[2] == '--programs':
        for trace in sys.argv[3:5]:
            check_program(sys.argv[1], trace, ['tick = shop:tick_begin; shop:tick_end; every 10ms', 'request = shop:request_begin; shop:request_end; by id'])
        for trace in sys.argv[5:]:
            check(found_of(sys.argv[1], trace)['jobs'] == [], trace, 'something is found')
        return
    sillage, traces = sys.argv[1], sys.argv[2:]
    if traces[0] == '--tile':
        check_tiled(sillage, traces[1], traces[2])
        traces = traces[2:]
        check_old(sillage, traces[0])
        check_limits(sillage, traces[0])
        check_without(sillage, traces[0])
    for trace in traces:
        check_trace(sillage, trace)


if __name__ == '__main__':
    main()
