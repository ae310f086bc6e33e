#!/usr/bin/env python3
"""stops: tracing that is stopped and started while a real lttng-relayd is followed.

Live totals are those of the same trace when it is recorded; time that no packet covers is unknown,
and it is said once for each stop.

usage: stops.py SILLAGE APP DATA [x NAME]
"""
import os
import signal
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'property'))
import peer  # noqa: E402
from peer import LONG, Ust, analyzed, check_sums, events_seen, figures, totals  # noqa: E402
from synthetic import event, Made, packet, switch  # noqa: E402

S = 10**9
SILENT = 'is tracing stopped?'


def windows_of(lines):
    return [line for line in lines if line['type'] == 'window']


def silences(live):
    return live.said().count(SILENT)


def packets(cpu, last):
    """Packets of a CPU where two threads take turns; tracing pauses twice, for longer than a second."""
    found, at = [], S
    for seq in range(9):
        at += {3: 1_700_000_000, 6: 2_300_000_000}.get(seq, 0) + cpu
        tids = [10 * cpu + 7, 10 * cpu + 8] * 3
        events = [switch(at + i * 10**8, tids[i], tids[i + 1]) for i in range(4)]
        if seq == 8 and last:
            events.append(event(at + 400_000_000, 'sched_process_exit', 1))
        found.append(packet(cpu, seq, at, at + 400_000_000, events))
        at += 400_000_000
    return b''.join(found)


def test_paused(t):
    """A trace with holes: live totals are those of analyze, whatever the windows."""
    relay = t.relay()
    made = Made(t.scratch, 'paused', [packets(0, True), packets(1, False)])
    for interval in '100ms', '700ms', '3s':
        wanted = t.analyze(made.path, '-a', 'all', '-i', '1s')
        session = 'paused-' + interval
        live = t.live('-a', 'all', '-i', interval, '--from', 'beginning', relay.live + '/host/h/' + session)
        t.play(live, relay, made.path, '--session', session, '--hostname', 'h', '--speed', '4', '--live-timer', '100ms')
        lines = live.finish()
        check_sums(lines)
        total = totals(lines)[0]
        if total['end'] == wanted['end']:  # else a second went by before the session ended
            assert figures(total) == figures(wanted), (interval, figures(total), figures(wanted))
            assert total['sched'] == wanted['sched'], interval
        for key in 'busy_ns', 'idle_ns':
            assert total['cpu'][key] == wanted['cpu'][key], (interval, key, total['cpu'][key], wanted['cpu'][key])
        assert total['cpu']['unknown_ns'] > 2 * 4 * S - S


def test_stopped(t):
    """A kernel session that was stopped for good: nobody runs, as far as is known, and that is said once."""
    relay = t.relay()
    wanted = t.analyze('burst', '-a', 'cpu', '-i', '100ms')
    live = t.live('-a', 'cpu', '-i', '100ms', '--from', 'beginning', relay.live + '/host/h/stopped')
    t.replay(relay, 'burst', '--session', 'stopped', '--hostname', 'h', '--speed', '4', '--live-timer', '100ms',
             '--wait-viewer', '--linger', LONG)
    live.wait_said(SILENT)
    live.wait_for(lambda one: windows_of(one.lines())[-1]['begin'] > wanted['end'] + 2 * S)
    assert silences(live) == 1, live.said()
    lines = live.finish(signal.SIGTERM)
    check_sums(lines)
    after = [line for line in windows_of(lines) if line['begin'] > wanted['end'] + S // 10]
    assert after and not any(line['cpu']['busy_ns'] + line['cpu']['idle_ns'] for line in after), after[0]
    total = totals(lines)[-1]['cpu']
    for key in 'busy_ns', 'idle_ns':  # packets end after the last event of the trace
        assert wanted['cpu'][key] <= total[key] <= wanted['cpu'][key] + 2 * S // 10, (key, total[key])


def test_ust_stops(t):
    """`lttng stop`, `lttng start`, and `lttng stop` for good: all events count, as they were stored."""
    relay = t.relay()
    ust = Ust(t, relay)
    ust.start('stops')
    live = t.live('-a', 'count,ust', '-i', '100ms', '--from', 'beginning', relay.live)
    ust.run(50)
    ust.lttng('stop', 'stops')
    live.wait_said(SILENT)
    live.wait_for(lambda one: events_seen(one) == 150)
    ust.lttng('start', 'stops')
    ust.run(50)
    live.wait_for(lambda one: events_seen(one) == 300)
    ust.lttng('stop', 'stops')
    ust.lttng('destroy', 'stops')
    live.wait_for(lambda one: totals(one.lines()))
    lines = live.finish(signal.SIGTERM)
    check_sums(lines)
    assert silences(live) == 1, live.said()  # programs may be silent: it is asked only once
    stored = totals(analyzed(t, os.path.join(t.scratch, 'relay')))
    assert [line['count']['events'] for line in stored] == [300], stored
    assert totals(lines)[0]['count'] == stored[0]['count'], totals(lines)


if __name__ == '__main__':
    sys.exit(peer.main(globals()))
