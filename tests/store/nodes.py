#!/usr/bin/env python3
"""nodes: many sessions on two relays, each with its shard of one ClickHouse; a viewer is killed midway.

Goal    The pattern of doc/fleet.md.  Each relay has a viewer that writes to the shard of the relay.  Beside one is
        a stand-by with the same --state and --store; the first is SIGKILLed while sessions are played, the stand-by
        takes over.  All is in the cluster once: asked on either shard, what the store has of each session
        is what `analyze` says of its trace, and the sums of all are the sums of analyze.  While a shard is away, the
        other one has its own.  A stand-by that was never needed writes nothing.  A cluster that is not known, and a store that only shows others, are refused in a line.
Method  Real relays and two clickhouse-servers on loopback; traces are replayed as of now, each under its own session
        and host.

usage: nodes.py SILLAGE APP DATA [--sessions N]
"""
import collections
import json
import os
import re
import shutil
import signal
import sys
import tempfile
import time
import uuid

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'peer'))
import peer  # noqa: E402
import server  # noqa: E402

TRACES = ('burst', 'idle-gaps', 'migrate', 'sched-compact', 'small-packets')
LISTS = 'count,cpu,sched,io'
SESSIONS = 50


def shards(t):
    if not shutil.which('clickhouse-server'):
        raise peer.Skip('clickhouse-server is not installed')
    ports = [peer.free_ports() for _ in range(2)]
    known = '<remote_servers><fleet>%s</fleet></remote_servers>' % ''.join(
        '<shard><replica><host>127.0.0.1</host><port>%d</port></replica></shard>' % port for port in ports)
    found = []
    for port in ports:
        folder = tempfile.mkdtemp(prefix='sillage-shard-', dir=server.in_memory())
        t.cleanups.append(lambda folder=folder: shutil.rmtree(folder, ignore_errors=True))
        found.append(server.Server(folder, '<tcp_port>%d</tcp_port>%s' % (port, known)))
        t.cleanups.insert(0, found[-1].kill)
    return found


def threads(table, *keys):
    return sorted(tuple(str(row.get(key)) for key in ('tid', 'comm') + keys) for row in table)


def figures(line):
    """What does not depend on when the trace was played, nor on how long its session was silent at the end: the last
    thread ran on, for all that is known."""
    cpu, sched, io = line['cpu'], line['sched'], line['io']
    found = {'events': line['count']['events'], 'discarded': line['count']['discarded'], 'by_name': line['count']['by_name'],
             'cpu_threads': threads(cpu['threads'], 'switches', 'migrations', 'preemptions'),
             'sched_threads': threads(sched['threads'], 'wake', 'requeue', 'waited_ns'),
             'io_threads': threads(io['threads'], 'read_bytes', 'write_bytes', 'reads', 'writes', 'errors')}
    found.update({key: sched[key] for key in ('wakeups', 'unexplained', 'wake', 'requeue', 'fork')})
    return dict(found, **{key: io[key] for key in ('read_bytes', 'write_bytes')})


def copy_of(t, trace, number):
    """The trace with a UUID of its own, as recordings have: a state knows traces by that."""
    path = os.path.join(t.scratch, 'traces', 'of-%03d' % number)
    shutil.copytree(os.path.join(t.data, trace), path)
    with open(next(os.path.join(place, 'metadata') for place, _, names in os.walk(path) if 'metadata' in names), 'rb') as file:
        old = uuid.UUID(re.search(rb'uuid = "([-0-9a-f]{36})"', file.read()).group(1).decode())
    new = uuid.UUID(int=old.int ^ number + 1)
    for place, _, names in os.walk(path):
        for name in names:
            with open(os.path.join(place, name), 'r+b') as file:
                data = file.read()
                file.seek(0)
                file.write(data.replace(old.bytes, new.bytes).replace(str(old).encode(), str(new).encode()))
    return path


class Node:
    """A relay, what plays its sessions, and its viewers."""

    def __init__(self, t, number, shard):
        self.t, self.relay, self.sessions = t, t.relay(), {}
        self.store = shard.url('sillage', options='?cluster=fleet&spool=%s' % os.path.join(t.scratch, 'spool-%d' % number))
        self.state = os.path.join(t.scratch, 'state-%d' % number)

    def viewer(self):
        return self.t.live('-v', '-a', LISTS, '-i', '100ms', '--from', 'beginning', '--state', self.state, '--state-every', '500ms',
                           '--store', self.store, self.relay.live)

    def play(self, number):
        trace, name = TRACES[number % len(TRACES)], 's%03d' % number
        self.sessions[name] = trace, self.t.replay(self.relay, copy_of(self.t, trace, number), '--session', name, '--hostname', 'host-%03d' % number, '--as-now',
                                                   '--live-timer', '100ms', '--linger', peer.LONG)

    def end_sessions(self):
        for name, (trace, process) in self.sessions.items():
            self.t.stop_replay(process, self.relay, trace, name)


def wait_kept(machine, before, now):
    """Until the shard has all windows that were printed, which a busy machine may take long for.  Windows without
    events, which the first viewer printed while nothing came, are known to nobody once it is dead."""
    wanted = {(line['trace']['session'], line['begin']) for line in before + now if line['type'] == 'window' and
              (line in now or line['count']['events'])}

    def lacking():
        rows = machine.ask('SELECT named, begin FROM (SELECT trace, begin FROM sillage.windows FINAL)'
                           ' ALL INNER JOIN (SELECT trace, session AS named FROM sillage.traces FINAL) USING trace')
        return wanted - {(row.split('\t')[0], int(row.split('\t')[1])) for row in rows.splitlines()}

    def is_kept():
        time.sleep(0.3)
        return not lacking()

    peer.wait_until(is_kept, lambda: 'the store lacks windows: %s' % sorted(lacking())[:9])


def seen(live):
    """Sessions of which it has printed windows."""
    return {line['trace']['session'] for line in live.lines() if line['type'] == 'window'}


def history(t, url, *options):
    code, printed, said = server.run(t.sillage, 'history', '-q', '-f', 'json', '-a', LISTS, *options, url)
    assert code == 0 and not said, (code, said)
    return peer.totals([json.loads(line) for line in printed.splitlines()])


def check_same(what, found, expected):
    for key, value in expected.items():
        if found[key] != value:
            pairs = [pair for pair in zip(found[key], value) if pair[0] != pair[1]][:2] if isinstance(value, list) else (found[key], value)
            raise AssertionError('%s: %s differs: %s' % (what, key, pairs))


def check(t, machines, nodes):
    expected = {trace: figures(t.analyze(trace, '-a', LISTS)) for trace in TRACES}
    played = {name: trace for node in nodes for name, (trace, _) in node.sessions.items()}
    for machine in machines:
        found = {line['trace']['session']: figures(line) for line in history(t, machine.url('sillage_all'))}
        assert set(found) == set(played), (set(found) ^ set(played))
        for name, trace in played.items():
            check_same((name, trace), found[name], expected[trace])
        sums = collections.Counter()
        for trace in played.values():
            one = expected[trace]
            sums.update(events=one['events'], switches=sum(int(row[2]) for row in one['cpu_threads']), woken=one['wake']['count'], waited=one['wake']['sum_ns'])
        totals = [int(machine.ask('SELECT sum(%s) FROM sillage_all.%s FINAL' % pair)) for pair in (
            ('events', 'windows'), ('switches', 'cpu_threads'), ('wake_count', 'sched_totals'), ('wake_sum', 'sched_totals'))]
        assert totals == list(sums.values()), (totals, sums)
        merged, = history(t, machine.url('sillage_all'), '--merged')
        assert (merged['count']['events'], merged['sched']['wake']['count']) == (sums['events'], sums['woken']), merged['count']
    # Each shard has its own, and no more; it has that, too, when the other one is away.
    machines[1].kill()
    code, _, said = server.run(t.sillage, 'history', machines[0].url('sillage_all'))
    assert code == 1 and said.count('\n') == 1, (code, said)
    own = history(t, machines[0].url('sillage'))
    machines[1].start()
    assert {line['trace']['session'] for line in own} == set(nodes[0].sessions), len(own)
    own = [history(t, machine.url('sillage')) for machine in machines]
    assert [len(one) for one in own] == [len(node.sessions) for node in nodes], [len(one) for one in own]


def refused(t, what, status, url, text):
    code, _, said = server.run(t.sillage, 'analyze', '-a', 'count', '-i', '1s', '-o', '/dev/null', '-q', '--store', url,
                               os.path.join(t.data, 'burst'))
    assert code == status and text in said and said.count('\n') == 1, (what, code, said)


def test_nodes(t):
    """Sessions by the dozen, a viewer that is killed, a stand-by that takes over, a cluster of two shards."""
    machines = shards(t)
    nodes = [Node(t, number, machine) for number, machine in enumerate(machines)]
    viewers = [node.viewer() for node in nodes]
    for number in range(SESSIONS // 2):
        nodes[number % 2].play(number)
    viewers[0].wait_for(lambda live: len(seen(live)) >= len(nodes[0].sessions) // 2 and os.path.exists(nodes[0].state))
    standby = nodes[0].viewer()
    standby.wait_said('waiting')
    assert not [line for line in standby.lines() if line['type'] == 'window']
    viewers[0].process.send_signal(signal.SIGKILL)
    peer.ended(viewers[0].process)
    for number in range(SESSIONS // 2, SESSIONS):
        nodes[number % 2].play(number)
    unused = nodes[1].viewer()
    unused.wait_said('waiting')
    live = [standby, viewers[1]]
    for one, node in zip(live, nodes):
        one.wait_for(lambda one, node=node: one.said().count('attached') >= len(node.sessions))
        node.end_sessions()
    unused.finish(signal.SIGTERM, -signal.SIGTERM)
    for one, node, machine, before in zip(live, nodes, machines, (viewers[0].lines(), [])):
        one.wait_for(lambda one, node=node: len(peer.totals(one.lines())) >= len(node.sessions))
        wait_kept(machine, before, one.lines())
        one.finish(signal.SIGTERM)
        closed, stored, spooled, lost = server.account(one.said())
        assert closed == stored > 0 and spooled == lost == 0, one.said()
    check(t, machines, nodes)
    refused(t, 'cluster', 1, machines[0].url('other', options='?cluster=none'), 'none')
    refused(t, 'all', 2, machines[0].url('sillage_all'), 'write to the database of one')
    refused(t, 'name', 2, machines[0].url('other', options="?cluster=a'b"), 'no option')


if __name__ == '__main__':
    if '--sessions' in sys.argv:
        SESSIONS = int(sys.argv[sys.argv.index('--sessions') + 1])
        del sys.argv[sys.argv.index('--sessions'):]
    sys.exit(peer.main(globals()))
