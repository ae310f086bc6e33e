#!/usr/bin/env python3
"""nothing: where there is nothing to find, one line says what is missing, or the answer is right all the same.

Goal    A pattern that never completes, a thread without events, more slices than a range has time, numbers that are
        none, a trace of one CPU only, of user space, or without events of the scheduler.
Method  Each is asked for, and the one line of standard error is compared; or what the answer must have.

usage: nothing.py SILLAGE DATA      DATA has timer-jobs/kernel, migrate/kernel and ust
"""
import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile


def run(sillage, *args):
    done = subprocess.run([sillage, *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True)
    return done.returncode, done.stdout, done.stderr


def says(sillage, status, wanted, *args):
    got, _, said = run(sillage, *args)
    lines = [line for line in said.splitlines() if 'the tracer discarded' not in line]
    assert got == status and len(lines) == 1 and wanted in lines[0], (args, got, lines, wanted)


def check_jobs(sillage, jobs):
    """Patterns that nothing executes, and threads that do nothing."""
    report = ('report', '-f', 'json')
    never = 'syscall_exit_clock_nanosleep; syscall_entry_fork'
    says(sillage, 0, '--job: nothing executes this: no thread comes to event 2 of it, syscall_entry_fork', *report, '--job', never, jobs)
    says(sillage, 0, 'event 1 of it, syscall_entry_fork', *report, '--job', 'syscall_entry_fork; sched_in', jobs)
    says(sillage, 0, '--within: nothing executes this: no thread comes to event 2', *report, '--job', 'run', '--within', never, jobs)
    says(sillage, 0, 'event 2 of it, sched_switch', *report, '--job', 'sched_waking; sched_in @nobody', jobs)
    assert run(sillage, *report, '--job', 'run', jobs)[2] == ''
    says(sillage, 1, 'no event "timer_hrtimer_init" is recorded', *report, '--job', 'timer_hrtimer_init; sched_in', jobs)
    found = json.loads(run(sillage, *report, '--job', never, jobs)[1])['jobs']
    assert (found['count'], found['longest'], 'slow_tenth' in found) == (0, [], False) and found['open_count'] > 0, found
    total = json.loads(run(sillage, 'analyze', '-q', '-f', 'json', '-a', 'jobs', '--job', 'x = ' + never, jobs)[1].splitlines()[1])
    row = total['jobs']['jobs'][0]
    assert row['duration']['count'] == 0 and row['open'] > 0, row
    for more in ((), ('--discover',), ('--job', 'run'), ('--resources',)):
        says(sillage, 1, 'no thread no-such', 'report', '--thread', 'no-such', *more, jobs)
    # This one is known from the state dump, and sleeps.
    got, out, said = run(sillage, 'report', '--thread', 'kthreadd', '--discover', jobs)
    assert (got, said) == (0, '') and '\n\nJOBS FOUND: none, no such thread ran\n\nWHO RAN' in out, (got, out, said)
    jobs_of = json.loads(run(sillage, *report, '--thread', 'kthreadd', '--job', 'run', jobs)[1])['jobs']
    assert (jobs_of['count'], jobs_of['open_count'], jobs_of['threads']) == (0, 0, []), jobs_of


def check_leads_on(sillage, jobs):
    """A report names the command that finds jobs, as it can be pasted: for the same threads and range of the same trace."""
    with tempfile.TemporaryDirectory(prefix='sillage-nothing-') as folder:
        trace = os.path.join(folder, "it's; $(false)")
        shutil.copytree(jobs, trace)
        begin = str(json.loads(run(sillage, 'report', '-f', 'json', jobs)[1])['begin'] + 10**8)
        for asked, says_none, more in (
                (('--thread', 'job'), 'its jobs and deadlines: ', ()), (('--thread', 'job', '--begin', begin), 'its jobs and deadlines: ', ()),
                (('--thread', 'jo*,distur[b]er'), '  nothing executes it in these threads; ', ('--job', 'timerfd')),
                (('--thread', 'job'), '  nothing executes it in this thread; ', ('--job', 'timerfd', '-n', '3', '--worst', '1')),
                (('--thread', 'job'), '  nothing executes it inside timerfd in this thread; ', ('--job', 'periodic', '--within', 'timerfd')),
                ((), '  nothing ends it; ', ('--job', 'syscall_exit_clock_nanosleep; syscall_entry_fork'))):
            got, out, _ = run(sillage, 'report', '-q', *asked, *more, trace)
            command, = [line.split(': ', 1)[1] for line in out.splitlines() if ': sillage report --discover' in line]
            assert got == 0 and says_none in out and out.index(command) < out.index('WHO RAN'), (asked, out)
            assert shlex.split(command) == ['sillage', 'report', '--discover', *asked, trace], (asked, command)
            pasted = run(sillage, *shlex.split(command)[1:])
            assert pasted[0] == 0 and '--job ' in pasted[1], (command, pasted)
        for asked in ((), ('--thread', 'kthreadd'), ('--thread', 'job', '--discover'), ('--thread', 'job', '--job', 'run')):
            assert 'sillage report' not in run(sillage, 'report', *asked, trace)[1], asked


def check_start(sillage, jobs):
    """Only jobs that begin with an event."""
    for start, first in (('sched_in', ('sched_in', 'run')), ('sched_out', ('sched_switch prev_tid=$tid', 'sleep')),
                         ('sched_waking', ('sched_waking tid=$tid', 'wake-to-sleep')),
                         ('syscall_exit_clock_nanosleep', ('syscall_exit_clock_nanosleep', 'periodic'))):
        out = run(sillage, 'report', '-f', 'json', '--discover', '--start', start, '--thread', 'job', jobs)[1]
        found = json.loads(out.splitlines()[-1])['jobs']
        assert found and all(one['job'].split(' = ')[1].startswith(first) for one in found), (start, found)
    says(sillage, 1, '--start: no event "syscall_exit_reed" is recorded; did you mean "syscall_exit_read"?', 'report', '--discover',
         '--start', 'syscall_exit_reed', jobs)
    says(sillage, 2, '--start: "irq_handler_entry" is left out of jobs', 'report', '--discover', '--start', 'irq_handler_entry', jobs)
    says(sillage, 2, '--start has no effect without --discover', 'report', '--start', 'sched_in', jobs)


def check_overview(sillage, jobs):
    """More slices than there is time, and numbers that are none."""
    whole = json.loads(run(sillage, 'overview', '-f', 'json', jobs)[1])
    middle = (whole['begin'] + whole['end']) // 2
    for length in (300, 100000, 3000000):
        got, out, _ = run(sillage, 'overview', '-f', 'json', '--slices', '1000', '--begin', str(middle), '--end', str(middle + length), jobs)
        part = json.loads(out)
        assert got == 0 and 1 <= len(part['slices']) <= 4 and part['phases'][0]['begin'] == middle, part['slices']
        assert part['phases'][-1]['end'] == middle + length, part['phases'][-1]
    for p in ('-0.1', '1.1', 'x', 'nan', ''):
        says(sillage, 2, 'is not a number from 0 to 1', 'overview', '-p', p, jobs)
    for slices in ('0', '1', '1001', '-3', 'x'):
        says(sillage, 2, 'is not a number from 2 to 1000', 'overview', '--slices', slices, jobs)
    says(sillage, 1, 'is not before --end', 'overview', '--begin', str(middle), '--end', str(middle), jobs)


def check_one_cpu(sillage, trace):
    """A trace with the stream of one CPU: its own time is known."""
    with tempfile.TemporaryDirectory(prefix='sillage-nothing-') as scratch:
        for name in ('metadata', 'channel0_0'):
            shutil.copy(os.path.join(trace, name), scratch)
        overview = json.loads(run(sillage, 'overview', '-f', 'json', '--hierarchy', 'cpu', scratch)[1])
        shares = [one['name'] for one in overview['series'] if one['unit'] == 'share']
        assert shares and all(name.startswith('CPU 0 ') for name in shares), shares
        assert len(overview['hierarchies']) == 1, overview['hierarchies']
        got, out, said = run(sillage, 'report', '-f', 'json', '--discover', scratch)
        report, found = [json.loads(line) for line in out.splitlines()]
        assert (got, said) == (0, '') and [cpu['cpu'] for cpu in report['cpus']] == [0] and found['jobs'], (got, said)


def check_user_space(sillage, trace):
    """No events of the scheduler."""
    got, out, said = run(sillage, 'report', '-q', '--discover', trace)
    assert (got, said) == (0, '') and out.startswith('LOOPS AND REQUESTS FOUND') and ': none' in out, (got, out, said)
    got, _, said = run(sillage, 'report', trace)
    assert 'sillage report --discover ' + trace in said, said
    for more in ((), ('--resources',), ('--job', 'demo_begin; demo_end')):
        got, out, said = run(sillage, 'report', *more, trace)
        lines = [line for line in said.splitlines() if 'the tracer discarded' not in line]
        assert (got, out, len(lines)) == (1, '', 1), (more, got, lines)
        assert 'lttng enable-event' in lines[0] or 'no event' in lines[0], lines
    got, out, said = run(sillage, 'overview', '-q', '-f', 'json', trace)
    assert got == 0 and all(one['unit'] == '1/s' for one in json.loads(out)['series']), said
    says(sillage, 1, '--hierarchy: no sched_switch events show who ran where', 'overview', '--hierarchy', 'cpu', trace)


def main():
    sillage, data = sys.argv[1:3]
    jobs = os.path.join(data, 'timer-jobs', 'kernel')
    check_jobs(sillage, jobs)
    check_leads_on(sillage, jobs)
    check_start(sillage, jobs)
    check_overview(sillage, jobs)
    check_one_cpu(sillage, os.path.join(data, 'migrate', 'kernel'))
    check_user_space(sillage, os.path.join(data, 'ust'))
    print('ok nothing')


if __name__ == '__main__':
    main()
