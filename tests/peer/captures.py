#!/usr/bin/env python3
"""captures: what triggers and signals make sillage write, from a real lttng-relayd, read by babeltrace2.

usage: captures.py SILLAGE APP DATA [x NAME]
"""
import json
import os
import random
import re
import resource
import shlex
import shutil
import signal
import socket
import stat
import subprocess
import sys
import time

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, '..', 'reference'), os.path.join(HERE, '..', 'property')]
import joined  # noqa: E402
import peer  # noqa: E402
from peer import Skip, Ust, check_sums, totals  # noqa: E402


def babeltrace(path, *args, is_whole=True):
    """Its lines; it may not say anything else, but that packets are missing if they are."""
    if not shutil.which('babeltrace2'):
        raise Skip('babeltrace2 is not installed')
    done = subprocess.run(['babeltrace2', '--clock-seconds', '--clock-gmt'] + list(args) + [path], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, check=True)
    said = [line for line in done.stderr.decode().splitlines() if is_whole or 'Tracer discarded' not in line]
    assert not said, said
    # The time since the event before is left out: that may be in another packet.
    return [re.sub(r'\(\+\S+\)', '', line) for line in done.stdout.decode().splitlines()]


def described(path):
    with open(os.path.join(path, 'capture.json')) as file:
        return json.load(file)


def captured(lines):
    return [line for line in lines if line['type'] == 'capture']


def finished(live):
    """What it printed when its one trace has ended, and its captures have their reports.  These are made by
    children, one after the other; a signal leaves them seconds only, however busy the machine is."""
    live.wait_for(lambda one: totals(one.lines()))
    quiet = 0
    while quiet < 20 and live.process.poll() is None:
        quiet = 0 if peer.guard.descendants(live.process.pid) else quiet + 1
        time.sleep(0.05)
    return live.finish(signal.SIGTERM)


def seconds(ns):
    return '%d.%09d' % divmod(ns, 10**9)


def check_range(capture, original):
    """The capture has all that the original has in its range, and nothing else than packets of it."""
    of_range = babeltrace(original, '--begin=' + seconds(capture['begin']), '--end=' + seconds(capture['end']))
    found = babeltrace(capture['path'])
    everything = set(babeltrace(original))
    assert set(of_range) <= set(found), 'of %d events in the range %d are not there' % (
        len(of_range), len(set(of_range) - set(found)))
    assert set(found) <= everything, 'it has events that were not sent'
    return len(found), len(everything)


def check_bytes(path, original):
    """Its streams are stretches of the original's, its metadata is the same."""
    with open(os.path.join(path, 'metadata'), 'rb') as a, open(os.path.join(original, 'metadata'), 'rb') as b:
        assert a.read() == b.read(), 'metadata'
    streams = [name for name in os.listdir(path) if name.startswith('channel')]
    assert streams, 'no stream in ' + path
    for name in streams:
        with open(os.path.join(path, name), 'rb') as a, open(os.path.join(original, name), 'rb') as b:
            assert a.read() in b.read(), name
        assert os.path.exists(os.path.join(path, 'index', name + '.idx')), 'no index of ' + name
    return streams


def left_in(directory):
    return sorted(os.listdir(directory)) if os.path.isdir(directory) else []


def test_burst(t):
    """A burst of CPU time replayed at its own speed: captured in its two phases, and only there."""
    relay, into = t.relay(), os.path.join(t.scratch, 'captures')
    # The second of these never is: the phases last 0.2 and 0.4 s.
    live = t.live('-a', 'count', '-i', '20ms', '--from', 'beginning', '--trigger', 'cpu.thread[comm=burst-*].run > 95% for 60ms',
                  '--trigger', 'cpu.busy > 80% for 1s', '--on-trigger', 'capture,report,perfetto', '--history', '10s', '--before', '300ms',
                  '--after', '50ms', '--capture-dir', into, relay.live)
    t.play(live, relay, 'burst', '--session', 'b', '--hostname', 'h', '--live-timer', '100ms')
    lines = finished(live)
    fired = [line for line in lines if line['type'] == 'trigger']
    made = captured(lines)
    assert len(fired) == len(made) == 2, (fired, made)
    with open(os.path.join(t.data, 'burst', 'truth.json')) as file:
        truth = json.load(file)
    phases = [phase for thread in truth['workload']['threads'] for phase in thread['phases'] if phase['percent'] == 100]
    assert len(phases) == 2, phases
    for trigger, capture, phase in zip(fired, made, phases):
        # From the first whole window on.
        assert 0 <= trigger['begin'] - (phase['start_ns'] + truth['clock_offset_ns']) < 25 * 10**6, (trigger['begin'], phase)
        assert (capture['begin'], capture['end']) == (trigger['end'] - 300 * 10**6, trigger['end'] + 50 * 10**6), (trigger, capture)
        assert capture['complete'] and capture['triggers'] == trigger['name'], capture
        check_range(capture, os.path.join(t.data, 'burst'))
        check_bytes(os.path.join(capture['path'], 'kernel'), os.path.join(t.data, 'burst', 'kernel'))
        said = described(capture['path'])
        assert said['triggers'] == [trigger] and said['at'] == trigger['end'], said
        assert 'sillage report ' + capture['path'] in live.said(), live.said()
        report = subprocess.run([t.sillage, 'report', '-f', 'json', capture['path']], stdout=subprocess.PIPE, check=True)
        report = json.loads(report.stdout.decode())
        change = report['changes'][0]
        assert report['changed_at'] == trigger['begin'] and change['thread']['comm'] == 'burst-1', report['changes'][0]
        wanted = [t.analyze(capture['path'], '-a', 'cpu', *only)['cpu']['threads'] for only in (
            ('--end', str(trigger['begin'])), ('--begin', str(trigger['begin'])))]
        for part, rows, length in zip(('before', 'after'), wanted, (trigger['begin'] - report['begin'],
                                                                     report['end'] - trigger['begin'])):
            ran = [row['run_ns'] for row in rows if row.get('tid') == change['thread']['tid']]
            assert abs(change[part] - ran[0] / length) < 0.002, (change, ran, length)
        assert report['path']['thread']['comm'] == 'burst-1' and report['triggers'] == trigger['name'], report['path']['thread']
        top = t.analyze(capture['path'], '-a', 'cpu', '--begin', str(trigger['begin']), '--end', str(trigger['end']))
        assert top['cpu']['threads'][0]['comm'] == 'burst-1', top['cpu']['threads'][0]
        assert capture['report'], capture
        with open(os.path.join(capture['path'], 'report.html')) as page:
            assert 'burst-1' in page.read(), 'the page lacks the thread'
        exported = os.path.join(capture['path'], 'trace.perfetto')
        assert capture['perfetto'], capture
        again = subprocess.run([t.sillage, 'export', '-q', capture['path']], stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
        with open(exported, 'rb') as file:
            assert again.stdout == file.read(), 'the action wrote what export does not'
    assert left_in(into) == sorted(os.path.basename(capture['path']) for capture in made), left_in(into)


def test_jobs(t):
    """A missed deadline is captured, and the capture's report explains the job's executions without being told which."""
    relay, into = t.relay(), os.path.join(t.scratch, 'captures')
    live = t.live('-a', 'count', '-i', '100ms', '--from', 'beginning', '--job', 'other = run', '--job',
                  'ctl = timerfd; deadline 4ms; every 4ms', '--trigger', 'jobs.job[name=ctl].misses > 0', '--on-trigger',
                  'capture,report,discover', '--history', '10s', '--before', '300ms', '--after', '50ms', '--capture-dir', into, relay.live)
    t.play(live, relay, 'timer-jobs-timerfd', '--session', 'j', '--hostname', 'h', '--live-timer', '100ms')
    lines = finished(live)
    total = [line for line in lines if line['type'] == 'total'][0]
    recorded = t.analyze(os.path.join(t.data, 'timer-jobs-timerfd'), '--job', 'other = run', '--job',
                         'ctl = timerfd; deadline 4ms; every 4ms', '-a', 'jobs')
    assert total['jobs'] == recorded['jobs'], 'live is not as recorded'
    made = captured(lines)
    assert made, 'nothing was captured'
    for capture in made:
        said = described(capture['path'])
        assert said['job'] == 'ctl = timerfd; deadline 4ms; every 4ms', said
        report = subprocess.run([t.sillage, 'report', '-f', 'json', capture['path']], stdout=subprocess.PIPE, check=True)
        jobs = json.loads(report.stdout.decode())['jobs']
        assert (jobs['pattern'], jobs['deadline_ns'], jobs['period_ns']) == ('timerfd', 4 * 10**6, 4 * 10**6), jobs
        assert jobs['misses'] > 0 and jobs['worst'][0]['response_ns'] > 4 * 10**6, jobs['worst'][0]
        with open(os.path.join(capture['path'], 'report.html')) as page:
            data = page.read()
        # Which jobs ran: the thread's loop is the first that it lists.
        assert 'timerfd' in data and data.index('"found":[{') < data.index('"job":"job = timerfd; every 4ms"'), data[:300]


def test_across(t):
    """The same of executions that go over threads: live they are as recorded, and the report leads back to the begin."""
    relay, into = t.relay(), os.path.join(t.scratch, 'captures')
    jobs = ['--job', 'woken = sched_waking tid=$tid; sched_in @job|dist*; by $tid; deadline 30us',
            '--job', 'next = sched_in @job; sched_in @job; deadline 4900us']
    live = t.live('-a', 'jobs', '-i', '100ms', '--from', 'beginning', *jobs, '--trigger', 'jobs.job[name=woken].misses > 0', '--on-trigger',
                  'capture,report', '--history', '10s', '--before', '300ms', '--after', '50ms', '--capture-dir', into, relay.live)
    t.play(live, relay, 'timer-jobs', '--session', 'a', '--hostname', 'h', '--live-timer', '100ms')
    lines = finished(live)
    total = [line for line in lines if line['type'] == 'total'][0]
    recorded = t.analyze(os.path.join(t.data, 'timer-jobs'), '-a', 'jobs', *jobs)
    assert total['jobs'] == recorded['jobs'], 'live is not as recorded'
    assert {row['name']: row['duration']['count'] > 100 for row in total['jobs']['jobs']} == {'woken': True, 'next': True}, total['jobs']
    made = captured(lines)
    assert made, 'nothing was captured'
    for capture in made:
        report = subprocess.run([t.sillage, 'report', '-f', 'json', capture['path']], stdout=subprocess.PIPE, check=True)
        found = json.loads(report.stdout.decode())['jobs']
        assert (found['pattern'], found['deadline_ns']) == ('sched_waking tid=$tid; sched_in @job|dist*; by $tid', 30000), found
        worst = found['worst'][0]
        assert found['misses'] > 0 and worst['response_ns'] > 30000, worst
        assert (worst['path']['begin'], worst['path']['end']) == (worst['begin'], worst['end']), worst


def test_explains(t):
    """The report of a capture is of the job and the thread that the run looked at, and analyze measures the same again."""
    job = 'ctl = periodic; every 5ms'
    for trigger, thread in (('jobs.misses > 0', True), ('jobs.thread[comm=job].misses > 0', True), ('jobs.job[name=ctl].misses > 0', True),
                            ('jobs.thread[comm=job].misses > 0', False)):
        relay, into = t.relay(), os.path.join(t.scratch, 'captures-%d-%s' % (thread, re.sub(r'\W', '', trigger)))
        live = t.live('-a', 'jobs', '-i', '100ms', '--from', 'beginning', '--job', job, *(['--thread', 'job'] if thread else []), '--trigger',
                      trigger, '--on-trigger', 'capture,report', '--history', '10s', '--before', '300ms', '--after', '50ms', '--capture-dir', into,
                      relay.live)
        t.play(live, relay, 'timer-jobs', '--session', 'j', '--hostname', 'h', '--live-timer', '100ms')
        made = captured(finished(live))
        # The last ones may have been left without a report when the run ended, none before one that has it.
        have = [bool(one['report']) for one in made]
        assert made and have[0] and have == sorted(have, reverse=True), (trigger, made)
        measured = [(one['option'], one['value']) for one in described(made[0]['path'])['measured']]
        assert measured == [('analyses', 'jobs'), ('job', job)] + ([('thread', 'job')] if thread else []), measured
        for capture in made:
            report = json.loads(subprocess.run([t.sillage, 'report', '-f', 'json', capture['path']], stdout=subprocess.PIPE, check=True).stdout)
            assert report['jobs']['misses'] > 0 and report['jobs']['worst'][0]['thread']['comm'] == 'job', (trigger, report['jobs']['worst'])
            assert [row['thread']['comm'] for row in report['jobs']['threads']] == ['job'], (trigger, report['jobs']['threads'])
            assert report['path']['thread']['comm'] == 'job' and 'job (' in report['answer'], (trigger, report['answer'])
            again = subprocess.run([t.sillage, 'analyze', '-f', 'json', capture['path']], stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=True)
            said = again.stderr.decode().splitlines()[0]
            words = ["--analyses=jobs", '--job=' + job] + (['--thread=job'] if thread else [])
            assert 'measured as its run did: ' in said and shlex.split(said.split('did: ')[1]) == words, said
            asked = t.analyze(capture['path'], '-a', 'jobs', '--job', job, *(['--thread', 'job'] if thread else []))
            assert totals([json.loads(line) for line in again.stdout.splitlines()])[0] == asked, trigger


def test_user_space_spans(t):
    """Without a kernel's trace the report is of the periods that the run measured."""
    relay, into = t.relay(), os.path.join(t.scratch, 'captures')
    live = t.live('-a', 'periods', '-i', '20ms', '--from', 'beginning', '--period', 'span = sillage_test:scalars; sillage_test:texts', '--trigger',
                  'periods.unmatched >= 0 every 1h', '--on-trigger', 'capture,report', '--history', '10s', '--before', '10s', '--after', '50ms',
                  '--capture-dir', into, relay.live)
    t.play(live, relay, os.path.join(t.data, 'ust'), '--session', 'u', '--hostname', 'h', '--speed', '0', '--live-timer', '100ms')
    made = captured(finished(live))
    assert made and made[0]['report'] and 'no report' not in live.said(), (made, live.said())
    with open(os.path.join(made[0]['path'], 'report.txt')) as file:
        text = file.read()
    assert '  span ' in text and 'PERIOD' in text, text


def test_user_space(t):
    """What a capture of user space lacks is said: no thread is explained without the kernel's trace."""
    relay, into = t.relay(), os.path.join(t.scratch, 'captures')
    live = t.live('-a', 'count', '-i', '20ms', '--from', 'beginning', '--trigger', 'count.events > 0 every 1h', '--on-trigger', 'capture,report',
                  '--history', '10s', '--before', '300ms', '--after', '50ms', '--capture-dir', into, relay.live)
    t.play(live, relay, os.path.join(t.data, 'ust'), '--session', 'u', '--hostname', 'h', '--live-timer', '100ms')
    made = captured(finished(live))
    assert made and not made[0]['report'], made
    assert 'h/u: no report of this capture: only a trace of the kernel says what threads wait for, and no period' in live.said(), live.said()

def both_domains(t, live, relay, place, session):
    """A program's trace beside the kernel's, until something of them is captured."""
    ends = [t.replay(relay, os.path.join(place, domain), '--session', session, '--hostname', 'h', '--speed', '0', '--live-timer', '100ms',
                     '--linger', peer.LONG, '--wait-viewer') for domain in ('kernel', 'ust')]
    live.wait_for(lambda one: captured(one.lines()))
    return ends


def test_joined(t):
    """A program's slow request is captured with the kernel's trace, which is another session of the relay's, and the
    report of the capture says which request it was, and whom it waited for; that of the relay is as recorded."""
    relay, into, place = t.relay(), os.path.join(t.scratch, 'captures'), os.path.join(t.scratch, 'pair')
    later = 2 * 10**6  # us: all windows before are closed while the session goes on
    joined.kernel(place, [cpu + [(later, cpu[-1][2], 5 + i, 0)] for i, cpu in enumerate(joined.CPUS)])
    joined.user(place, [events + [(later * 1000, 70, 9, 'a:end', 77)] for events in joined.first(joined.own)])
    job, url = 'req = a:begin; a:end; by id', relay.live + '/host/h/pair'
    live = t.live('-a', 'jobs', '-i', '100ms', '--from', 'beginning', '--job', job, '--trigger', 'jobs.job[name=req].duration.max > 300us',
                  '--on-trigger', 'capture,report', '--history', '10s', '--before', '1s', '--after', '50ms', '--capture-dir', into, url)
    ends = both_domains(t, live, relay, place, 'pair')
    lines = live.finish(signal.SIGTERM)
    made, fired = captured(lines), [line for line in lines if line['type'] == 'trigger']
    assert [line['trace']['domain'] for line in totals(lines) + fired] == ['kernel'] * 2, 'windows are of both as one'
    (row,) = totals(lines)[0]['jobs']['parts']
    assert (row['running']['count'], row['blocked']['sum_ns']) == (1, 100000), row  # of id=2, which one thread began and ended
    assert len(made) == 1 and made[0]['complete'] and made[0]['report'], (made, live.said())
    assert [os.path.isdir(os.path.join(made[0]['path'], domain)) for domain in ('kernel', 'ust')] == [True, True], os.listdir(made[0]['path'])

    def explained(*args):
        out = subprocess.run([t.sillage, 'report', '-f', 'json', '-q', *args], stdout=subprocess.PIPE, check=True).stdout
        return json.loads(out)

    report = explained(made[0]['path'])
    assert len(report['joined']) == 1 and joined.spans(report) == joined.FIRST, report
    assert '(id=1)' in report['answer'] and report['jobs']['worst'][0]['by'] == 'id=1', report['answer']
    with open(os.path.join(made[0]['path'], 'report.html')) as page:
        assert 'id=1' in page.read(), 'the page does not say which request it was'
    recorded, fetched = explained('--job', job, place), explained('--job', job, url)
    assert fetched['jobs'] == recorded['jobs'] and fetched['joined'][0]['by'] == 'clock', fetched.get('joined')
    for end in ends:
        end.terminate()
        assert peer.ended(end) == 0


def other_joined(t, option, trigger, more, number):
    """Whether the capture has the kernel's part, and then: whether it is explained."""
    relay, into = t.relay(), os.path.join(t.scratch, 'captures%s%d-%d' % (option, len(more), number))
    live = t.live('-a', option[2:] + 's', '-i', '1ms', '--from', 'beginning', option,
                  'req = service:request_begin; service:request_end; by id; group method', '--trigger', trigger, '--on-trigger',
                  'capture', *more, '--before', '1s', '--after', '1ms', '--capture-dir', into, relay.live + '/host/h/r')
    ends = both_domains(t, live, relay, 'request', 'r')
    path = captured(live.finish(signal.SIGTERM))[0]['path']
    has_kernel = os.path.isdir(os.path.join(path, 'kernel'))
    if has_kernel:
        said = described(path)
        assert said['job'] == 'req = service:request_begin; service:request_end; by id', said['job']
        out = subprocess.run([t.sillage, 'report', path], stdout=subprocess.PIPE, check=True).stdout.decode()
        assert 'at most for 41.2 ms (id=168)' in out and ', id=169 since' in out, out
    for end in ends:
        end.terminate()
        assert peer.ended(end) == 0
    return has_kernel


def test_joined_others(t):
    """The same of a trigger on a period and on a call: they are what the report explains.  Also without a history: a
    period's windows are of both traces as one then, too.  Those of a call are of the program's trace alone: where the kernel's
    session came later than the capture, it is not in it."""
    period = 'periods.by_name[name="req method=PUT"].time.max > 30ms'
    for option, trigger, more in (('--period', period, ['--history', '10s']), ('--period', period, []),
                                  ('--call', 'calls.by_name[name="req PUT"].time.max > 30ms', [])):
        tries = 10 if option == '--call' else 1
        assert any(other_joined(t, option, trigger, more, number) for number in range(tries)), (option, more)


def test_measured(t):
    """What looks at a capture measures what the run did: the command that is printed, and what capture.json has."""
    relay, into = t.relay(), os.path.join(t.scratch, 'captures')
    period = "span = sillage_test:scalars; sillage_test:texts"
    live = t.live('-a', 'count', '-i', '100ms', '--from', 'beginning', '--period', period, '--cpu', '0,1', '--trigger', 'count.events > 10',
                  '--history', '10s', '--capture-dir', into, relay.live)
    t.play(live, relay, 'ust', '--session', 'm', '--hostname', 'h', '--speed', '0', '--live-timer', '100ms')
    capture, = captured(finished(live))
    line = next(one for one in live.said().splitlines() if 'look at it with: ' in one)
    command = line.split('look at it with: ', 1)[1]
    words = shlex.split(command)
    assert words[:2] == ['sillage', 'analyze'] and words[-1] == capture['path'], command
    assert words[words.index('--period') + 1] == period and words[words.index('--cpu') + 1] == '0,1', command
    assert described(capture['path'])['asked'] == command[len('sillage analyze '):-len(capture['path'])].strip(), command
    found = subprocess.run([t.sillage, *words[1:-1], '-q', '-f', 'json', words[-1]], stdout=subprocess.PIPE, check=True)
    total = [json.loads(one) for one in found.stdout.decode().splitlines()][-2]
    assert [row['name'] for row in total['periods']['by_name']] == ['span'], total['periods']


def test_snapshot(t):
    """A trigger has a flight recorder on this host record a snapshot."""
    relay = t.relay()
    ust = Ust(t, relay)
    out = os.path.join(ust.home, 'flight')
    ust.lttng('create', 'flight', '--snapshot', '--output=' + out)
    ust.lttng('enable-event', '-u', '-s', 'flight', 'sillage_test:*')
    ust.lttng('start', 'flight')
    ust.run(50)
    # As the user whose session it is.
    live = subprocess.Popen(ust.user + [t.sillage, 'live', '-q', '-a', 'count', '-f', 'json', '--from', 'beginning', '--trigger',
                                        'count.events > 0', '--on-trigger', 'lttng-snapshot flight', relay.live],
                            env=ust.env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    t.processes.append(live)
    t.replay(relay, 'burst', '--session', 'b', '--hostname', 'h', '--speed', '0', '--wait-viewer', '--linger', peer.LONG)
    peer.wait_until(lambda: os.path.isdir(out) and os.listdir(out), 'no snapshot')
    live.terminate()
    said = peer.output(live)[1].decode()
    assert 'Snapshot recorded' in said, said
    assert len(babeltrace(out)) == 150, 'the snapshot has %d events' % len(babeltrace(out))
    done = subprocess.run([t.sillage, 'live', '--trigger', 'count.events > 0', '--on-trigger', 'lttng-snapshot a;b', relay.live],
                          stderr=subprocess.PIPE)
    assert done.returncode == 2 and 'not the name of a session' in done.stderr.decode(), done.stderr.decode()


def test_range(t):
    """Packets of 4 KiB: what is captured is the range, and little more."""
    relay, into = t.relay(), os.path.join(t.scratch, 'captures')
    live = t.live('-a', 'count', '-i', '10ms', '--from', 'beginning', '--trigger', 'count.events > 500',
                  '--history', '40ms', '--after', '10ms', '--capture-dir', into, relay.live)
    t.play(live, relay, 'small-packets', '--session', 's', '--hostname', 'h', '--speed', '0.5',
           '--live-timer', '100ms')
    lines = finished(live)
    made = captured(lines)
    assert len(made) == 5, made
    for capture in made:
        found, everything = check_range(capture, os.path.join(t.data, 'small-packets'))
        check_bytes(os.path.join(capture['path'], 'kernel'), os.path.join(t.data, 'small-packets', 'kernel'))
        assert 0 < found < everything * 0.6, 'of %d events it has %d' % (everything, found)
        assert capture['complete'], capture
    check_sums(lines)


def test_asked(t):
    """SIGUSR2 on a real UST session, three times, of which two are kept."""
    relay, into = t.relay(), os.path.join(t.scratch, 'captures')
    ust = Ust(t, relay)
    others = os.path.join(into, 'mine')
    os.makedirs(others)  # what somebody else keeps there
    with open(os.path.join(others, 'capture.json'), 'w') as file:
        file.write('{"mine": 1}')
    ust.start('asked')
    live = t.live('-a', 'count', '-i', '100ms', '--from', 'beginning', '--history', '1h', '--after', '0', '--keep', '2',
                  '--capture-dir', into, relay.live)
    for i in range(1, 4):
        ust.run(100)
        live.wait_for(lambda one: peer.events_seen(one) == 300 * i)
        live.process.send_signal(signal.SIGUSR2)
        live.wait_for(lambda one: len(captured(one.lines())) == i)
    ust.lttng('destroy', 'asked')
    made = captured(finished(live))
    assert left_in(into) == sorted([os.path.basename(capture['path']) for capture in made[1:]] + ['mine']), left_in(into)
    for i, capture in enumerate(made[1:]):
        assert described(capture['path'])['triggers'] == [], capture
        assert len(babeltrace(capture['path'])) == 300 * (i + 2), capture


def test_from(t):
    """With --from a capture begins before the viewer came: all that it has was stored by then."""
    relay, into = t.relay(), os.path.join(t.scratch, 'captures')
    path = os.path.join(t.data, 'small-packets')
    t.replay(relay, path, '--session', 's', '--hostname', 'h', '--speed', '0', '--linger', peer.LONG)
    relay.wait_stored('s', os.path.join(path, 'kernel'))
    total = t.analyze(path, '-a', 'count')
    middle = (total['begin'] + total['end']) // 2
    live = t.live('-a', 'count', '-i', '10ms', '--from', str(middle), '--history', '1h', '--before', '1h', '--after', '0',
                  '--capture-dir', into, relay.live + '/host/h/s')
    live.wait_for(lambda one: any(line['type'] == 'window' and line['end'] > total['end'] - 20 * 10**6 for line in one.lines()))
    live.process.send_signal(signal.SIGUSR2)
    live.wait_for(lambda one: captured(one.lines()))
    live.finish(signal.SIGTERM)
    capture = captured(live.lines())[0]
    assert capture['begin'] < middle and not capture['complete'], capture  # what is before --from is missing, and said
    found, everything = check_range(dict(capture, begin=middle), path)
    check_bytes(os.path.join(capture['path'], 'kernel'), os.path.join(path, 'kernel'))
    assert 0 < found < 0.7 * everything, (found, everything)


def ask(t, at, *args):
    return peer.run([t.sillage, 'capture', at] + list(args), stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def test_recalled(t):
    """Without a history: what a trigger captures comes from the relay's disk, and nothing is analysed twice."""
    relay, into = t.relay(), os.path.join(t.scratch, 'captures')
    live = t.live('-a', 'count', '-i', '20ms', '--from', 'beginning', '--trigger', 'cpu.thread[comm=burst-*].run > 95% for 60ms',
                  '--on-trigger', 'capture,report', '--before', '300ms', '--after', '50ms', '--capture-dir', into, relay.live)
    t.replay(relay, 'burst', '--session', 'b', '--hostname', 'h', '--live-timer', '100ms', '--wait-viewer', '--linger', peer.LONG)
    live.wait_for(lambda one: len(captured(one.lines())) == 2)
    lines = live.finish(signal.SIGTERM)
    fired = [line for line in lines if line['type'] == 'trigger']
    made = captured(lines)
    assert len(fired) == len(made) == 2, (fired, made)
    for trigger, capture in zip(fired, made):
        assert (capture['begin'], capture['end']) == (trigger['end'] - 300 * 10**6, trigger['end'] + 50 * 10**6), (trigger, capture)
        assert capture['complete'] and capture['report'], capture
        check_range(capture, os.path.join(t.data, 'burst'))
        check_bytes(os.path.join(capture['path'], 'kernel'), os.path.join(t.data, 'burst', 'kernel'))
    assert 'fetching again what the relay has since' in live.said() and 'attached again' not in live.said(), live.said()
    check_sums(lines)
    out = subprocess.run([t.sillage, 'analyze', '-q', '-f', 'json', '-a', 'count', '-i', '20ms', os.path.join(t.data, 'burst')],
                         stdout=subprocess.PIPE, check=True)
    recorded = {line['end']: line['count'] for line in map(json.loads, out.stdout.decode().splitlines()) if line['type'] == 'window'}
    windows = [line for line in lines if line['type'] == 'window' and line['complete']]
    assert len(windows) > 20 and all(line['count'] == recorded[line['end']] for line in windows), len(windows)


def busy_relay(t, into, *options, **more):
    """A run that captures when the trigger of test_recalled fires."""
    relay = t.relay()
    live = t.live('-a', 'count', '-i', '20ms', '--from', 'beginning', '--trigger', 'cpu.thread[comm=burst-*].run > 95% for 60ms',
                  '--history', '10s', '--before', '300ms', '--after', '50ms', '--capture-dir', into, *options, relay.live, **more)
    t.replay(relay, 'burst', '--session', 'b', '--hostname', 'h', '--live-timer', '100ms', '--wait-viewer', '--linger', peer.LONG)
    return live


def test_pipe_among_captures(t):
    """A pipe where another capture has its description is not waited for."""
    into = os.path.join(t.scratch, 'captures')
    os.makedirs(os.path.join(into, 'other'))
    os.mkfifo(os.path.join(into, 'other', 'capture.json'))
    live = busy_relay(t, into, '--on-trigger', 'capture', '--keep', '1')
    live.wait_for(lambda one: len(captured(one.lines())) == 2)
    live.finish(signal.SIGTERM)
    assert os.path.exists(os.path.join(into, 'other', 'capture.json'))


def test_report_stopped(t):
    """The report of a capture does nothing: it has five seconds when the run ends, and the capture stays."""
    into, never = os.path.join(t.scratch, 'captures'), os.path.join(os.path.dirname(t.app), 'never.so')
    live = busy_relay(t, into, '--on-trigger', 'capture,report',
                      env=dict(os.environ, LD_PRELOAD=never, SILLAGE_NEVER='report'))
    peer.wait_until(lambda: os.path.isdir(into) and [name for name in os.listdir(into) if not name.startswith('.')])
    made = captured(live.finish(signal.SIGTERM))
    assert made and not any(capture['report'] for capture in made), made
    assert 'ending: captures first' in live.said(), live.said()


def test_recalled_before_start(t):
    """A capture begins before the viewer came, who follows from the present on."""
    relay, into = t.relay(), os.path.join(t.scratch, 'captures')
    path = os.path.join(t.data, 'small-packets')
    whole = t.analyze(path, '-a', 'count')
    t.replay(relay, path, '--session', 's', '--hostname', 'h', '--speed', '0.02', '--live-timer', '100ms', '--linger', peer.LONG)
    relay.wait_stored('s', os.path.join(path, 'kernel'), most=1)
    live = t.live('-a', 'count', '-i', '1ms', '--before', '1h', '--after', '0', '--capture-dir', into, relay.live + '/host/h/s')
    live.wait_for(lambda one: peer.events_seen(one) > 100)
    live.process.send_signal(signal.SIGUSR2)
    live.wait_for(lambda one: captured(one.lines()))
    before = peer.events_seen(live)
    live.wait_for(lambda one: peer.events_seen(one) > before + 100)
    live.process.send_signal(signal.SIGUSR2)
    live.wait_for(lambda one: len(captured(one.lines())) == 2)
    lines = live.finish(signal.SIGTERM)
    total = totals(lines)[0]
    assert total['begin'] > whole['begin'], 'it came too late to show anything'
    for capture in captured(lines):
        assert capture['complete'], capture
        check_range(dict(capture, begin=whole['begin']), path)
        check_bytes(os.path.join(capture['path'], 'kernel'), os.path.join(path, 'kernel'))
    check_sums(lines)
    # Nothing is counted twice, and once packets of both streams have come, nothing is missing.
    out = subprocess.run([t.sillage, 'analyze', '-q', '-f', 'json', '-a', 'count', '-i', '1ms', path], stdout=subprocess.PIPE, check=True)
    recorded = {line['begin']: line['count'] for line in map(json.loads, out.stdout.decode().splitlines()) if line['type'] == 'window'}
    windows = [line for line in lines if line['type'] == 'window']
    for number, window in enumerate(windows[1:], 1):  # the first begins where the viewer came
        seen, there = window['count']['events'], recorded[window['begin']]['events']
        assert seen <= there and (seen == there or not window['complete']), (number, len(windows), seen, there, window)


def test_recalled_without_room(t):
    """More than there is memory for: the oldest packets are missing, and said; on disk there is room."""
    path = os.path.join(t.data, 'small-packets')
    begin = t.analyze(path, '-a', 'count')['begin']
    for options, is_whole in (((), False), (('--history-dir', t.scratch), True)):
        relay, into = t.relay(), os.path.join(t.scratch, 'captures%d' % is_whole)
        live = t.live('-a', 'count', '-i', '10ms', '--from', 'beginning', '--max-memory', '20k', '--trigger',
                      'count.events > 500 every 1h', '--before', '1h', '--after', '0', '--capture-dir', into, *options, relay.live)
        t.replay(relay, path, '--session', 's', '--hostname', 'h', '--speed', '0.2', '--live-timer', '100ms', '--wait-viewer',
                 '--linger', peer.LONG)
        live.wait_for(lambda one: captured(one.lines()))
        live.finish(signal.SIGTERM)
        capture = captured(live.lines())[0]
        assert capture['complete'] == is_whole, (capture, live.said())
        if is_whole:
            check_range(dict(capture, begin=begin), path)
        else:
            of_range = babeltrace(path, '--end=' + seconds(capture['end']))
            found = set(babeltrace(capture['path'], is_whole=False))
            assert found and found <= set(babeltrace(path)) and set(of_range) - found, capture


def test_control(t):
    """Asked through a socket: the path of each session's capture; and what can go wrong."""
    relay, into, at = t.relay(), os.path.join(t.scratch, 'captures'), os.path.join(t.scratch, 'control')
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(at)  # of one that is gone
    options = ['-a', 'count', '-i', '20ms', '--from', 'beginning', '--history', '1h', '--after', '100ms', '--control', at,
               '--capture-dir', into]
    live = t.live(*options, relay.live)
    live.wait_for(lambda one: not ask(t, at).stderr.decode().count('refused'))
    assert stat.S_IMODE(os.stat(at).st_mode) == 0o600, oct(os.stat(at).st_mode)
    done = ask(t, at)
    assert done.returncode == 1 and 'no session is followed' in done.stderr.decode(), done.stderr.decode()
    other = peer.run([t.sillage, 'live'] + options + [relay.live], stderr=subprocess.PIPE)
    assert other.returncode == 1 and 'in use' in other.stderr.decode(), other.stderr.decode()
    for name in ('one', 'two'):
        t.replay(relay, 'burst', '--session', name, '--hostname', 'h', '--wait-viewer', '--live-timer', '100ms',
                 '--linger', peer.LONG)
    live.wait_for(lambda one: len({line['trace']['session'] for line in one.lines() if line['type'] == 'window'}) == 2)
    with socket.socket(socket.AF_UNIX) as bad, socket.socket(socket.AF_UNIX) as long:
        bad.connect(at)
        bad.send(b'destroy\n')
        said = json.loads(bad.recv(1000))['message']
        assert 'expected' in said and bad.recv(1) == b'', said
        long.connect(at)
        long.send(b'c' * 1000)
        said = json.loads(long.recv(1000))['message']
        assert 'expected' in said, said
    done = ask(t, at)
    assert done.returncode == 0, done.stderr.decode()
    assert sorted(re.sub(r'-\d{8}T.*', '', os.path.basename(path)) for path in done.stdout.decode().split()) == [
        'h-one', 'h-two'], done.stdout
    for path in done.stdout.decode().split():
        babeltrace(path)
    done = ask(t, at, '-f', 'json')
    assert [json.loads(line)['type'] for line in done.stdout.decode().splitlines()] == ['capture'] * 2, done
    # The socket is a source: of what the run has kept, while it has the session's viewer.
    before, pack = len(left_in(into)), os.path.join(t.scratch, 'now.tar.zst')
    for words in (('analyze', '-a', 'count', '-f', 'json', at), ('report', at), ('pack', '-o', pack, at)):
        done = peer.run([t.sillage, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        assert done.returncode == 0 and done.stderr.decode().count('captured into') == 2, (words, done.stderr.decode())
        if words[0] == 'analyze':
            totals_ = [line for line in map(json.loads, done.stdout.decode().splitlines()) if line['type'] == 'total']
            assert [line['trace']['host'] for line in totals_] == ['testhost'] * 2, totals_
            assert all(line['count']['events'] > 4000 for line in totals_), totals_
    assert len(left_in(into)) == before + 6, left_in(into)
    live.finish(signal.SIGTERM)
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(at)
    done = peer.run([t.sillage, 'report', at], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert done.returncode == 1 and 'has ended' in done.stderr.decode(), done.stderr.decode()
    os.unlink(at)
    done = ask(t, at)
    assert not os.path.exists(at) and done.returncode == 1, (os.path.exists(at), done)


def test_on_disk(t):
    """A history on disk: captures are the same; what cannot be written there stays in memory."""
    for limit in (None, 20000, 'gone', 'wrong'):
        relay, into, on = t.relay(), os.path.join(t.scratch, 'captures%s' % limit), os.path.join(t.scratch, 'on%s' % limit)
        os.mkdir(on)
        live = t.live('-a', 'count', '-i', '1s', '--from', 'beginning', '--history', '1h', '--after', '0', '--before', '1h',
                      '--history-dir', on, '--capture-dir', into, relay.live)
        if limit == 20000:
            resource.prlimit(live.process.pid, resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
        replay = t.replay(relay, 'burst', '--session', 's', '--hostname', 'h', '--wait-viewer', '--live-timer', '100ms',
                          '--linger', peer.LONG)
        live.wait_for(lambda one: one.said().count('stay in memory') == 1 if limit == 20000 else
                      on_disk(one.process.pid, on) > 10000)
        live.wait_for(lambda one: any(line['type'] == 'window' and line['seq'] == 1 for line in one.lines()))
        resource.prlimit(live.process.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        if limit in ('gone', 'wrong'):  # what the disk had cannot be read any more
            on_disk(live.process.pid, on, cut=True, zeros=limit == 'wrong')
        live.process.send_signal(signal.SIGUSR2)
        live.wait_for(lambda one: captured(one.lines()))
        made = captured(live.lines())[0]
        if limit in ('gone', 'wrong'):
            assert 'Input/output error' in made['error'] and left_in(into) == [], made
            live.finish(signal.SIGTERM)
            replay.kill()
            continue
        check_bytes(os.path.join(made['path'], 'kernel'), os.path.join(t.data, 'burst', 'kernel'))
        assert len(babeltrace(made['path'])) > 4000 and os.listdir(on) == [], made
        live.finish(signal.SIGTERM)
        replay.kill()
    for options, said in ((('--history-dir', t.scratch), 'no effect without --history'),
                          (('--history', '1s', '--history-dir', '/nowhere'), 'cannot be made there')):
        live = t.live(*options, relay.live)
        assert peer.ended(live.process) == 2 and said in live.said(), live.said()


def on_disk(pid, directory, cut=False, zeros=False):
    """Bytes in files without a name, which are made empty with @cut, or all @zeros."""
    fds, found = '/proc/%d/fd' % pid, 0
    for fd in os.listdir(fds):
        try:
            if os.readlink(os.path.join(fds, fd)).startswith(directory + '/'):
                found += os.stat(os.path.join(fds, fd)).st_size
                size = os.stat(os.path.join(fds, fd)).st_size
                for length in (0, size if zeros else 0) if cut else ():
                    os.truncate(os.path.join(fds, fd), length)
        except FileNotFoundError:
            pass  # it was closed meanwhile
    return found


def test_room(t):
    """With room for a few packets only: it says that some are missing."""
    relay, into = t.relay(), os.path.join(t.scratch, 'captures')
    live = t.live('-a', 'count', '-i', '50ms', '--from', 'beginning', '--trigger', 'count.events > 0 for 200ms',
                  '--history', '8K', '--capture-dir', into, relay.live)
    t.play(live, relay, 'small-packets', '--session', 's', '--hostname', 'h', '--live-timer', '100ms')
    made = captured(finished(live))
    assert len(made) == 1 and not made[0]['complete'], made
    assert not described(made[0]['path'])['traces'][0]['has_all_kept'], made
    assert 'some is missing' in live.said(), live.said()
    found, everything = len(babeltrace(made[0]['path'], is_whole=False)), len(babeltrace(os.path.join(t.data, 'small-packets')))
    assert 0 < found < everything / 2, (found, everything)


def test_cannot_write(t):
    """No room on the disk (here: for one process): said, nothing left, and it goes on."""
    relay, into, port = t.relay(), os.path.join(t.scratch, 'captures'), peer.free_ports()
    left = os.path.join(into, '.sillage-%d-1' % 2**22, 'kernel')
    os.makedirs(left)  # of a process that is gone
    live = t.live('-a', 'count', '-i', '20ms', '--from', 'beginning', '--trigger', 'count.events > 0 for 100ms',
                  '--history', '10s', '--capture-dir', into, '--metrics', ':%d' % port, relay.live)
    # (What it prints goes to a file, too, which is smaller than the trace's metadata.)
    resource.prlimit(live.process.pid, resource.RLIMIT_FSIZE, (200000, 200000))
    t.play(live, relay, 'small-packets', '--session', 's', '--hostname', 'h', '--live-timer', '100ms')
    live.wait_for(lambda one: captured(one.lines()))
    told = {name: list(peer.samples(peer.fetch(port)[1])[name].values()) for name in ('sillage_captures_failed_total', 'sillage_captures_written_total')}
    assert told == {'sillage_captures_failed_total': [1], 'sillage_captures_written_total': [0]}, told
    lines = finished(live)
    made = captured(lines)
    assert len(made) == 1 and 'File too large' in made[0]['error'] and 'path' not in made[0], made
    assert 'could not be captured' in live.said(), live.said()
    assert left_in(into) == [], left_in(into)
    check_sums(lines)
    assert totals(lines)[0]['count'] == t.analyze('small-packets', '-a', 'count')['count'], totals(lines)[0]['count']


def test_limits(t):
    """Not more than so many an hour; none when it is dry; wrong options."""
    relay, asked = t.relay(), ('-a', 'count', '-i', '10ms', '--trigger', 'count.events > 500')
    recorded = subprocess.run([t.sillage, 'analyze', '-q', '-f', 'json', *asked, os.path.join(t.data, 'small-packets')],
                              stdout=subprocess.PIPE, check=True)
    wanted = [line['end'] for line in map(json.loads, recorded.stdout.splitlines()) if line['type'] == 'trigger']
    assert len(wanted) > 2, wanted
    for options, count in ((('--captures-per-hour', '2'), 2), (('--dry-run',), 0)):
        into = os.path.join(t.scratch, 'captures%d' % count)
        live = t.live(*asked, '--from', 'beginning', '--history', '20ms', '--after', '0', '--capture-dir', into, *options,
                      relay.live + '/host/h/s%d' % count)
        t.play(live, relay, 'small-packets', '--session', 's%d' % count, '--hostname', 'h',
               '--live-timer', '100ms')
        lines = live.finish()
        assert len(captured(lines)) == len(left_in(into)) == count, (captured(lines), left_in(into))
        fired = [line['end'] for line in lines if line['type'] == 'trigger']
        assert fired == wanted, 'it fired at %s, and on what is recorded at %s; windows: %s' % (
            fired, wanted, [(line['end'], line['count']['events']) for line in lines if line['type'] == 'window'])
        assert live.said().count('captures in the last hour') == (count > 0), live.said()
    for options, why in ((('--on-trigger', 'capture', '--trigger', 'cpu.busy > 1%'), 'needs --history'),
                         (('--history', '1s', '--before', '2s'), 'is longer than --history'),
                         (('--history', 'long'), 'a duration such as'), (('--keep', '0'), 'a number such as')):
        done = subprocess.run([t.sillage, 'live'] + list(options) + [relay.live], stderr=subprocess.PIPE)
        assert done.returncode == 2 and why in done.stderr.decode(), done.stderr.decode()


def test_names(t):
    """Names that come from the network lead nowhere else."""
    relay, into = t.relay(), os.path.join(t.scratch, 'captures')
    live = t.live('-a', 'count', '--from', 'beginning', '--history', '1h', '--trigger', 'count.events > 0',
                  '--capture-dir', into, relay.live)
    t.play(live, relay, 'burst', '--session', 'a b;$(c)', '--hostname', '-h*', '--speed', '0')
    made = captured(finished(live))
    assert len(made) == 1, live.said()
    assert all(re.fullmatch(r'_h_-a_b___c_-\d{8}T\d{6}\.\d{3}Z(-\d+)?', name) for name in left_in(into)), left_in(into)


def test_odd_names(t):
    """Sessions and hosts of any name: they are replayed, followed, and captured into one directory."""
    for session, host, into_one in (('a/b', 'h/x', 'h_x-a_b-'), ('../..', '..', '_.-_._..-'), ('x\ty', '', 'localhost-x_y-'),
                                    ('s' * 300, 'h' * 100, 'h' * 63 + '-' + 's' * 100 + '-')):
        relay, into = t.relay(), os.path.join(t.scratch, 'captures' + into_one[:4])
        live = t.live('-a', 'count', '--from', 'beginning', '--history', '1h', '--trigger', 'count.events > 0 every 1h',
                      '--capture-dir', into, '-q', relay.live)
        t.replay(relay, 'burst', '--session', session, '--hostname', host, '--speed', '0', '--wait-viewer', '--linger', '1s')
        live.wait_for(lambda one: captured(one.lines()))
        assert all('path' in line for line in captured(live.lines())), captured(live.lines())
        assert [name for name in left_in(into) if name.startswith(into_one)] and len(left_in(into)) == 1, left_in(into)
        live.finish(signal.SIGTERM)


def test_journal(t):
    """Nobody reads the output, and -q is given: what fired and what was captured is said all the same."""
    relay, into = t.relay(), os.path.join(t.scratch, 'captures')
    live = t.live('-a', 'count', '--from', 'beginning', '--history', '1h', '--trigger', 'count.events > 0 every 1h',
                  '--capture-dir', into, '-q', '-o', '/dev/null', relay.live)
    t.replay(relay, 'burst', '--session', 's', '--hostname', 'h', '--speed', '0', '--wait-viewer', '--linger', '1s')
    live.wait_for(lambda one: 'h/s: captured ' in one.said())
    assert 'trigger count.events > 0 every 1h fired in h/s/kernel: count.events' in live.said(), live.said()
    live.finish(signal.SIGTERM)


def test_killed(t):
    """Killed at any time: what has a name is whole.  Stopped: it is still written."""
    seed = int(os.environ.get('SILLAGE_CHAOS_SEED', random.randrange(10**6)))
    chance = random.Random(seed)
    into = os.path.join(t.scratch, 'captures')
    relay = t.relay()
    for i in range(5):
        live = t.live('-a', 'count', '-i', '10ms', '--from', 'beginning', '--trigger', 'count.events > 500',
                      '--captures-per-hour', '1000', '--history', '10s', '--after', '0', '--capture-dir', into,
                      relay.live + '/host/h/k%d' % i)
        process = t.replay(relay, 'small-packets', '--session', 'k%d' % i, '--hostname', 'h', '--wait-viewer',
                           '--live-timer', '100ms', '--speed', '0.3', '--linger', peer.LONG)
        live.wait_for(lambda one: [line for line in one.lines() if line['type'] == 'trigger'])
        time.sleep(chance.random() * 0.1)
        if i < 4:
            live.process.kill()
            live.process.wait()
        else:
            live.finish(signal.SIGTERM)
            assert captured(live.lines()), 'seed %d' % seed
        process.kill()
        process.wait()
    names = [name for name in left_in(into) if not name.startswith('.')]
    assert names, 'seed %d' % seed
    for name in names:
        assert described(os.path.join(into, name))['traces'], 'seed %d' % seed
        babeltrace(os.path.join(into, name))
    # The last one has taken away what those before left.
    assert names == left_in(into), (seed, left_in(into))


if __name__ == '__main__':
    sys.exit(peer.main(globals()))
