#!/usr/bin/env python3
"""joined_live: windows of programs' traces and the kernel's as one, from a real lttng-relayd.

Goal    - What a live run says of both is what `analyze` says of them recorded, window by window.
        - Whoever ends first is waited for; who comes later is joined, and does not hold up who is there; who never
          comes is not waited for.  Each is said.
        - Sessions of the same names that come later are others.
        - A connection that is lost, of one or both, changes nothing in the end.
        - Where traces are of other hosts or clocks, or a state is kept, each has windows of its own.

usage: joined_live.py SILLAGE APP DATA [x NAME [SERVICE...]]
"""
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, '..', 'reference')]
import joined  # noqa: E402
import peer  # noqa: E402
from peer import LONG, Proxy, Ust, totals  # noqa: E402

JOB = 'req = service:request_begin; service:request_end; by id'
ASKED = ('-a', 'jobs,sched,cpu,waits,count,ust', '-i', '50ms', '--job', JOB)
AS_ONE = "is read with the kernel's trace as one"


def reports(lines):
    """Windows and totals, without what is of this run."""
    return [{key: value for key, value in line.items() if key not in ('trace', 'lag_ns')} for line in lines
            if line['type'] in ('window', 'total')]


def recorded(t, place, *args):
    out = subprocess.run([t.sillage, 'analyze', '-q', '-f', 'json', *args, place], stdout=subprocess.PIPE, check=True).stdout
    return reports(map(json.loads, out.splitlines()))


def check_same(got, wanted, why):
    got = reports(got)
    for a, b in zip(got, wanted):
        differs = [key for key in b if a.get(key) != b[key]]
        assert not differs, (why, b['type'], b.get('seq'), [(key, a.get(key), b[key]) for key in differs][:2])
    assert len(got) == len(wanted), (why, len(got), len(wanted))


def play(t, relay, place, domain, *args, session='s', speed='0'):
    return t.replay(relay, os.path.join(place, domain), '--session', session, '--hostname', 'h', '--speed', speed, '--live-timer',
                    '100ms', '--linger', LONG, *args)


def end(replay):
    replay.terminate()
    assert peer.ended(replay) == 0, 'replay failed'


def stored(t, relay, place, *replays):
    for domain, replay in zip(('kernel', 'ust'), replays):
        relay.wait_stored('s', os.path.join(place, domain), before=replay.before)


def both(t, relay, place):
    """Sessions of both are there, and wait for a viewer."""
    return [play(t, relay, place, domain, '--wait-viewer') for domain in ('kernel', 'ust')]


def kept(t):
    return '--history', '100s', '--capture-dir', os.path.join(t.scratch, 'captures')


def services(t):
    return [os.path.join(t.data, 'request')] + sys.argv[6:]


def test_same(t):
    """Windows are those of the recorded traces, of each service, whoever ends first."""
    for number, place in enumerate(services(t)):
        relay, wanted = t.relay(), recorded(t, place, *ASKED)
        live = t.live('--from', 'beginning', *ASKED, relay.live + '/host/h/s')
        replays = both(t, relay, place)
        live.wait_for(lambda one: one.said().count('attached to') == 2)
        stored(t, relay, place, *replays)
        for replay in replays[::-1] if number % 2 else replays:
            before = live.said().count('the session ended')
            end(replay)
            live.wait_for(lambda one: one.said().count('the session ended') > before)
        lines = live.finish()
        assert AS_ONE in live.said(), live.said()
        check_same(lines, wanted, place)
        (total,) = totals(lines)
        assert total['trace']['domain'] == 'kernel' and total['jobs']['parts'][0]['running']['count'] > 0, total['trace']
        relay.stop()


def test_one_session(t):
    """The same where the relay has one session of all traces."""
    place, relay = os.path.join(t.data, 'request'), t.relay()
    live = t.live('--from', 'beginning', *ASKED, relay.live + '/host/h/p')
    publisher = peer.publish(t, relay, 'request', 'p', '--linger', '2', domains=('kernel', 'ust'))
    assert peer.ended(publisher) == 0
    lines = live.finish()
    assert AS_ONE in live.said(), live.said()
    check_same(totals(lines), recorded(t, place, *ASKED)[-1:], 'one session')


def test_again(t):
    """A kernel and programs that come while programs of a session before still run are one; those stay with theirs.  With
    a history, which has packets of sessions that end first."""
    place, relay = os.path.join(t.data, 'request'), t.relay()
    live = t.live('--from', 'beginning', *ASKED, *kept(t), relay.live + '/host/h/s')
    replays = both(t, relay, place)
    live.wait_for(lambda one: one.said().count('attached to') == 2)
    stored(t, relay, place, *replays)
    end(replays.pop(0))
    live.wait_said('the session ended')
    more = both(t, relay, place)
    live.wait_for(lambda one: one.said().count('attached to') == 4)
    stored(t, relay, place, *more)
    for number, replay in enumerate(replays + more[::-1]):
        end(replay)
        live.wait_for(lambda one: one.said().count('the session ended') == 2 + number)
    lines = live.finish()
    assert live.said().count(AS_ONE) == 2, live.said()
    check_same(totals(lines), recorded(t, place, *ASKED)[-1:] * 2, 'again')


def test_stopped(t):
    """A run that is told to stop has both, up to there."""
    place, relay = os.path.join(t.data, 'request'), t.relay()
    live = t.live('--from', 'beginning', *ASKED, *kept(t), relay.live + '/host/h/s')
    both(t, relay, place)
    live.wait_for(lambda one: [line for line in one.lines() if line['type'] == 'window' and line['jobs']['ended']])
    lines = live.finish(signal.SIGTERM)
    (total,) = totals(lines)
    windows = [line for line in lines if line['type'] == 'window']
    assert total['jobs']['ended'] == sum(line['jobs']['ended'] for line in windows) > 0, total['jobs']
    assert total['trace']['domain'] == 'kernel', total['trace']


def test_absent(t):
    """Either comes alone, and is not held up; a program that comes then is joined, a kernel that comes then is not."""
    place = os.path.join(t.data, 'request')
    for first, second in ('kernel', 'ust'), ('ust', 'kernel'):
        relay = t.relay()
        live = t.live('--from', 'beginning', *ASKED, relay.live + '/host/h/s')
        replays = [play(t, relay, place, first)]
        live.wait_for(lambda one: any(line['type'] == 'window' for line in one.lines()))
        if first == 'kernel':
            assert 'no trace of a program has come yet' in live.said(), live.said()
        replays.append(play(t, relay, place, second))
        live.wait_said('windows that are closed are without it' if first == 'kernel' else
                       "was begun before the kernel's trace came: the two are not read as one")
        live.wait_for(lambda one: one.said().count('attached to') == 2)
        stored(t, relay, place, *replays[::1 if first == 'kernel' else -1])
        for replay in replays:
            end(replay)
        found = totals(live.finish())
        asked = ('-a', 'ust,count')
        events = [t.analyze(os.path.join(place, one), *asked)['count']['events'] for one in (first, second)]
        if first == 'kernel':
            assert [one['count']['events'] for one in found] == [sum(events)], (found, events)
        else:
            assert sorted(one['count']['events'] for one in found) == sorted(events), (found, events)
        relay.stop()


def test_apart(t):
    """Another host or clock: said, and each has its windows.  With a state, too; without such a job nothing is said."""
    job = ('-a', 'jobs,count', '-i', '100ms', '--job', joined.JOB)
    for name, uuid, host, args, why in (('clock', joined.CLOCK.replace('0', 'f'), 'made', job, 'ust counts by another clock than kernel'),
                                        ('host', joined.CLOCK, 'other', job, 'ust is of another host than kernel'),
                                        ('state', joined.CLOCK, 'made', job + ('--state', os.path.join(t.scratch, 'of-live')), 'with --state'),
                                        ('count', joined.CLOCK, 'made', ('-a', 'count', '-i', '100ms'), None)):
        relay, place = t.relay(), os.path.join(t.scratch, name)
        joined.kernel(place, joined.CPUS)
        joined.user(place, joined.first(joined.own), uuid, host=host)
        live = t.live('--from', 'beginning', *args, relay.live + '/host/h/s')
        replays = both(t, relay, place)
        live.wait_for(lambda one: one.said().count('attached to') == 2)
        stored(t, relay, place, *replays)
        for replay in replays:
            end(replay)
        found = totals(live.finish())
        assert sorted(one['trace']['domain'] for one in found) == ['kernel', 'ust'], found
        assert AS_ONE not in live.said() and (why or 'attached') in live.said(), live.said()
        relay.stop()


def test_network(t):
    """Connections that break anywhere, of both sessions: all windows are of both, and the sums are the same."""
    place = os.path.join(t.data, 'request')
    asked = ('-a', 'count,jobs', '-i', '20ms', '--job', JOB)
    wanted = recorded(t, place, *asked)[-1]
    for seed in range(peer.chaos_seed(), peer.chaos_seed() + 2):
        relay = t.relay()
        replays = [play(t, relay, place, domain) for domain in ('kernel', 'ust')]
        proxy = Proxy(relay.port + 2, seed, 12)
        live = t.live('--from', 'beginning', *asked, proxy.url)
        live.wait_for(lambda one: one.said().count('attached to') == 2)
        stored(t, relay, place, *replays)
        time.sleep(1)  # for faults: none is needed
        proxy.is_calm = True
        for number in range(2):  # each session is attached to again at least once
            before = live.said().count('attached again')
            proxy.cut_all()
            live.wait_for(lambda one: proxy.refused > 0)
            proxy.is_down = False
            live.wait_for(lambda one: one.said().count('attached again') >= before + 2)
        for replay in replays:
            end(replay)
        live.wait_for(lambda one: totals(one.lines()))
        (total,) = reports(totals(live.finish(signal.SIGTERM)))
        if 'windows that are closed are without it' in live.said():  # the list of sessions was cut off for so long
            total['count']['late_events'] = 0
            total['jobs'] = wanted['jobs']
        assert total['count'] == wanted['count'], (seed, total['count'], wanted['count'])
        assert total['jobs'] == wanted['jobs'], (seed, total['jobs'], wanted['jobs'])
        relay.stop()


def clock_now():
    """The kernel's clock, as LTTng describes it."""
    with open('/proc/sys/kernel/random/boot_id') as file:
        boot = file.read().strip()
    return boot, time.time_ns() - time.monotonic_ns()


def kernel_now(place, seconds):
    """A trace of this host's kernel, from now on: on each CPU two threads take turns."""
    boot, offset = clock_now()
    now, data = time.monotonic_ns(), []
    for cpu in range(os.cpu_count()):
        packets = b''
        for seq in range(seconds * 2):
            at = [now + (seq * 2 + one) * 250 * 10**6 for one in range(2)]
            packets += joined.synthetic.packet(cpu, seq, at[0], at[1], [joined.synthetic.switch(at[0], cpu + 901, cpu + 801, 0),
                                                                        joined.synthetic.switch(at[1], cpu + 801, cpu + 901, 0)])
        data.append(packets)
    made = joined.with_clock(joined.synthetic.metadata(offset), boot, host=socket.gethostname())
    joined.synthetic.Made(place, 'kernel', data, made)
    return os.path.join(place, 'kernel')


def test_programs(t):
    """LTTng itself: a program that comes later, with events that were not known, is a part of a kernel's trace, which is
    made here.  Each of its executions counts once, and what of a CPU's time it had is known."""
    relay = t.relay()
    ust = Ust(t, relay)
    ust.start('prog', events='sillage_test:scalars')
    ust.run(1)  # so that the relay has the session
    listed = lambda: subprocess.run([t.sillage, 'list', relay.live], stdout=subprocess.PIPE, check=True).stdout.decode()
    peer.wait_until(lambda: 'prog' in listed(), 'no session')
    host, name = re.search(r'^(\S+) +(prog\S*)', listed(), re.M).groups()
    live = t.live('-a', 'jobs,ust', '-i', '100ms', '--from', 'beginning', '--job', 'j = sillage_test:scalars; sillage_test:texts',
                  relay.live + '/host/%s/%s' % (host, name))
    t.processes.append(subprocess.Popen([t.sillage, 'replay', '-q', kernel_now(t.scratch, 300), '--to', relay.control, '--session', name,
                                         '--hostname', host, '--live-timer', '100ms', '--linger', LONG]))
    live.wait_said(AS_ONE)
    ust.lttng('enable-event', '-u', '-s', 'prog', '-c', 'c', 'sillage_test:texts')
    done = 0
    for rounds in 50, 70:
        ust.run(rounds)
        done += rounds
        live.wait_for(lambda one: sum(line['jobs']['ended'] or 0 for line in one.lines() if line['type'] == 'window') >= done)
    ust.lttng('destroy', 'prog')
    live.wait_said('the session ended')
    (total,) = totals(live.finish(signal.SIGTERM))
    assert (total['trace']['domain'], total['jobs']['ended']) == ('kernel', done), total['jobs']
    assert total['jobs']['parts'][0]['running']['count'] > 0, total['jobs']


if __name__ == '__main__':
    sys.exit(peer.main(globals()))
