#!/usr/bin/env python3
"""record --to: the kernel of this host as a live session at a real relay.

Goal    What is recorded is what a viewer follows, what babeltrace2 reads of the session, what the relay has stored, and
        what a replay of that shows: event by event equal in number, with the recorder's own account beside.
        CPUs without events hold no window up.  A relay that goes away ends the recorder, which tells what it lost.
        Two capabilities are enough, as in contrib/sillage-record.service.  Nothing is left in tracefs.
        `live` without a URL shows this host, and nothing is left, whatever ends it.

usage: record_to.py SILLAGE APP DATA [x NAME]
"""
import collections
import json
import os
import re
import shutil
import signal
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import peer  # noqa: E402
from peer import check_sums, ended, LONG, Skip, totals, wait_until  # noqa: E402

TRACING = '/sys/kernel/tracing/instances'


def need_tracefs():
    if not os.access(TRACING, os.W_OK):
        raise Skip('no tracefs that may be written to')


def instances():
    return {name for name in os.listdir(TRACING) if name.startswith('sillage-')}


class Recorder:
    """A running `sillage record --to`."""

    def __init__(self, test, relay, *args, before=(), to=None):
        self.said_in = os.path.join(test.scratch, 'record-%d' % len(os.listdir(test.scratch)))
        with open(self.said_in, 'w') as said:
            where = ['--to', to] if to else ['--to', relay.control, '--session', 'r']
            self.process = subprocess.Popen([*before, test.sillage, 'record', *where, '--hostname', 'h', '--live-timer', '100ms',
                                             *args], stderr=said)
        test.processes.append(self.process)
        wait_until(self.records, 'it does not record')

    def said(self):
        with open(self.said_in) as said:
            return said.read()

    def records(self):
        assert self.process.poll() is None, self.said()
        return '^C ends it' in self.said()

    def end(self, number=signal.SIGINT, status=0):
        """Recorded and lost, as it says itself."""
        if number:
            self.process.send_signal(number)
        assert ended(self.process) == status, self.said()
        found = re.search(r'the relay has (\d+) events of .*; (\d+) lost', self.said())
        assert found, self.said()
        assert 'sillage-%d' % self.process.pid not in instances(), instances()
        return [int(text.replace(',', '')) for text in found.groups()]


def events(line):
    return line['count']['events']


def stored(relay, session='r'):
    """The trace that the relay has."""
    return [place for place, names in relay.stored(session) if 'metadata' in names][0]


def by_cpu(path):
    """Lines of babeltrace2, in order, of each CPU."""
    found = {}
    with open(path) as file:
        for line in file:
            found.setdefault(re.search(r'cpu_id = (\d+)', line)[1], []).append(line)
    return found


def test_equal(t):
    """Live = stored = replayed = the recorder's account."""
    need_tracefs()
    relay = t.relay()
    recorder = Recorder(t, relay, '-a', 'sched')
    live = t.live('-a', 'count,cpu,lost', '--no-retry', '--from', 'beginning', '-i', '100ms', relay.live + '/host/h/r')
    live.wait_for(lambda one: sum(line['type'] == 'window' and events(line) > 0 for line in one.lines()) >= 3)
    recorded, lost = recorder.end()
    lines = live.finish()
    check_sums(lines)
    total, trace = totals(lines)[0], stored(relay)
    kept = t.analyze(trace, '-a', 'count,cpu,lost')
    assert recorded == events(total) == events(kept) > 0 == lost, (recorded, events(total), events(kept), lost)
    for analysis in 'count', 'cpu', 'lost':
        assert total[analysis] == kept[analysis], (analysis, total[analysis], kept[analysis])
    again = t.live('-a', 'count,cpu', '--from', 'beginning', relay.live + '/host/h/again')
    t.play(again, relay, os.path.abspath(trace), '--session', 'again', '--hostname', 'h', '--speed', '0')
    played = totals(again.finish())[0]
    assert played['count'] == kept['count'] and played['cpu'] == kept['cpu'], (played['count'], kept['count'])


def test_babeltrace(t):
    """babeltrace2 reads the session, from when it comes on, and all of what the relay has."""
    need_tracefs()
    if not shutil.which('babeltrace2'):
        raise Skip('babeltrace2 is not installed')
    relay = t.relay()
    recorder = Recorder(t, relay, '-a', 'sched')
    printed, whole = (os.path.join(t.scratch, name) for name in ('printed', 'whole'))
    with open(printed, 'wb') as out:
        viewer = subprocess.Popen(['babeltrace2', '--no-delta', '-i', 'lttng-live', relay.live + '/host/h/r'], stdout=out,
                                  stderr=subprocess.DEVNULL)
    t.processes.append(viewer)
    wait_until(lambda: os.path.getsize(printed) > 0 or viewer.poll() is not None, 'babeltrace2 prints nothing')
    recorded, lost = recorder.end()
    assert ended(viewer) == 0
    with open(whole, 'wb') as out:
        subprocess.run(['babeltrace2', '--no-delta', stored(relay)], stdout=out, check=True)
    came, all_of = by_cpu(printed), by_cpu(whole)
    assert came and all(found == all_of[cpu][-len(found):] for cpu, found in came.items()), {
        cpu: (len(found), len(all_of[cpu]), found[0], found[-1], all_of[cpu][-1]) for cpu, found in came.items()}
    assert recorded == sum(map(len, all_of.values())) and lost == 0, (recorded, lost)


def test_idle_cpus(t):
    """Of CPUs without events beacons come: windows close while the recorder goes on."""
    need_tracefs()
    relay = t.relay()
    recorder = Recorder(t, relay, '-a', 'block')
    live = t.live('-a', 'count', '--no-retry', '--from', 'beginning', '-i', '100ms', relay.live + '/host/h/r')
    live.wait_for(lambda one: sum(line['type'] == 'window' for line in one.lines()) >= 5)
    recorder.end()
    check_sums(live.finish())


def test_relay_gone(t):
    """The relay is killed: the recorder ends, with what it lost; at the relay is what it says, or more.  The relay is back:
    the next recorder goes on there, in a session that its URL names."""
    need_tracefs()
    relay = t.relay()
    recorder = Recorder(t, relay, '-a', 'sched')
    seen = set()  # what is sent next comes after the replies to what was sent

    def has_grown():
        seen.add(sum(size for _, size in relay.files('r').values()))
        return len(seen) > 5

    wait_until(has_grown, 'nothing comes')
    relay.stop(signal.SIGKILL)
    recorded, lost = recorder.end(None, status=1)
    assert recorded > 0 < lost, recorder.said()
    assert re.search('the relay|sending', recorder.said()), recorder.said()
    kept = t.analyze(stored(relay), '-a', 'count')
    assert events(kept) >= recorded, (events(kept), recorded)
    relay.start()
    again = Recorder(t, relay, '-a', 'sched', to=relay.control + '/back')
    recorded, lost = again.end()
    kept = t.analyze(stored(relay, 'back'), '-a', 'count')
    assert recorded == events(kept) > 0 == lost, (recorded, events(kept), lost)


def test_capabilities(t):
    """What the unit leaves it: root's user, and two capabilities."""
    need_tracefs()
    relay = t.relay()
    only = ['setpriv', '--bounding-set=-all,+sys_ptrace,+dac_read_search', '--inh-caps=-all', '--no-new-privs', '--']
    recorder = Recorder(t, relay, '-a', 'sched', before=only)
    wait_until(lambda: any(size > 1 << 14 for _, size in relay.files('r').values()), 'nothing comes')
    recorded, lost = recorder.end(signal.SIGTERM)
    assert recorded > 0 == lost, recorder.said()


def test_here(t):
    """`live` without a URL: windows of this host; after ^C and after kill -9 nothing is left."""
    need_tracefs()
    before, tmp = instances(), os.path.join(t.scratch, 'tmp')
    os.mkdir(tmp)
    env = dict(os.environ, TMPDIR=tmp)
    for number, status in (signal.SIGINT, 0), (signal.SIGKILL, -signal.SIGKILL):
        live = t.live('--tracer', 'ftrace', '-a', 'cpu,sched', '-i', '100ms', env=env)
        live.wait_for(lambda one: sum(line['type'] == 'window' and line['cpu']['busy_ns'] > 0 for line in one.lines()) >= 3)
        lines = live.finish(number, status)
        wait_until(lambda: not os.listdir(tmp), lambda: 'left: %s' % os.listdir(tmp))
        wait_until(lambda: instances() <= before, lambda: 'left: %s' % instances())
        if status == 0:
            assert totals(lines)[0]['trace']['host'] == os.uname().nodename, totals(lines)[0]['trace']


def test_programs_beside(t):
    """`watch --ust` with ftrace: one session has the kernel of this tracer, and programs of LTTng."""
    need_tracefs()
    if not shutil.which('lttng-sessiond'):
        raise Skip('lttng-sessiond is not installed')
    before, home = instances(), os.path.join(t.scratch, 'home')
    os.mkdir(home)
    # The last: the daemon drops a program that does not answer for 5 s, else.
    env = dict(os.environ, HOME=home, LTTNG_HOME=home, TMPDIR=home, LTTNG_UST_REGISTER_TIMEOUT='-1', LTTNG_APP_SOCKET_TIMEOUT='-1')
    watch = t.live('--tracer', 'ftrace', '-a', 'count,sched', '--ust', 'sillage_test:*', '-i', '100ms', env=env, command='watch')
    watch.wait_for(lambda one: any(line['type'] == 'window' and events(line) > 0 for line in one.lines()))
    assert peer.run([t.app, '30'], env=env).returncode == 0

    def counted(one):
        found = collections.Counter()
        for line in one.lines():
            if line['type'] == 'window':
                found[line['trace']['domain']] += events(line)
        return found

    watch.wait_for(lambda one: counted(one)['kernel'] > 0 and counted(one)['ust'] > 0)
    found = totals(watch.finish(signal.SIGINT))
    of = {domain: [line for line in found if line['trace']['domain'] == domain] for domain in ('kernel', 'ust')}
    # Each user has a trace, the daemon's too.  LTTng's part may begin a little after the kernel's, and so after the program.
    assert 0 < sum(line['count']['events'] for line in of['ust']) <= 90 and all('sched' in line for line in of['kernel']), found
    assert len({line['trace']['session'] for line in found}) == 1 and of['kernel'], found
    wait_until(lambda: instances() <= before, lambda: 'left: %s' % instances())


def test_refused(t):
    """What cannot be is said."""
    for words, said in (['live', '--tracer', 'ftrace', 'net://localhost'], 'it is recorded already'), \
            (['setup', '--tracer', 'ftrace', '--run', '-a', 'cpu'], 'the unit sillage-record'), \
            (['record', '--to', 'net://localhost/one', '--session', 'two'], 'the session has two names'), \
            (['record', '--to', 'net://localhost/one/two'], 'is not net://HOST[:CONTROL[:DATA]][/SESSION]'), \
            (['setup', '--tracer', 'ftrace', '--rate', '1000', '-a', 'cpu'], '--buffer'):
        done = peer.run([t.sillage, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        assert done.returncode == 2 and said in done.stderr.decode(), (words, done)
    done = peer.run([t.sillage, 'setup', '--tracer', 'ftrace', '-a', 'cpu,sched', '--relay', 'net://far:5342'], stdout=subprocess.PIPE)
    assert 'sillage record -a cpu,sched --to net://far:5342 --session sillage\n' in done.stdout.decode(), done
    assert 'lttng ' not in done.stdout.decode(), done


if __name__ == '__main__':
    sys.exit(peer.main(globals()))
