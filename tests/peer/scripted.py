#!/usr/bin/env python3
"""scripted: `sillage live` against a relay that does wrong by a script (scripted_relay.py).

Each case is one session of a recorded trace, a few faults, and one law by which it is judged:

    packets        those whose index the viewer was given = analysed + reported lost, once each.  Where
                   the relay recovers, so must the viewer: then it is all packets of the session.
    events         those of the packets that were delivered, once each
    resources      with --bounds: the most memory that it had is at most --max-memory and the constant of
                   the manual, and no turn of its loop took more than 100 ms of processor time
    the end        the run ends by itself, says what happened, and does not connect in a busy loop; no
                   assertion, no signal, no report of a sanitizer

usage: scripted.py SILLAGE DATA [--events EVENTS] [--all] [--only PATTERN] [--lanes N] [--list]
                   [--random N | --minutes M [--seed S]]

    --all      each byte and each value, not only some; several minutes
    --random   N relays with random faults and lies; a failure prints its seed, which --seed repeats
    --minutes  the same for so long, seed after seed
"""
import argparse
import fnmatch
import itertools
import json
import os
import re
import resource
import select
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import traceback

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..'))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import bounded  # noqa: E402
import guard  # noqa: E402
import scripted_cases  # noqa: E402
import scripted_relay as relays  # noqa: E402

CPU_S = 60  # of one run
MOST = '64M'  # --max-memory
ASLEEP_S, ASLEEP_SLOW_S = 60, 150  # of one run; the second is longer than all limits of the program together
ATTACHES_MAX = 12  # in 5 s; with pauses that double from 0.5 s on it is 4
CONNECTIONS_MAX = 60  # in 5 s


def count_events(sillage, traces, folder):
    """Each packet's own number of events: each is made a trace."""
    packets = {}
    for number, trace in enumerate(traces):
        for i, packet in enumerate(trace.packets()):
            name = '%d-%d' % (number, i)
            os.makedirs(os.path.join(folder, name))
            packets[os.path.join(folder, name)] = packet
            for file, data in (('metadata', trace.metadata), ('stream', packet.data)):
                with open(os.path.join(folder, name, file), 'wb') as out:
                    out.write(data)
    out = subprocess.run([sillage, 'analyze', '-q', '-f', 'json', '-a', 'count', folder], check=True,
                         stdout=subprocess.PIPE).stdout
    for line in map(json.loads, out.decode().splitlines()):
        if line['type'] == 'total':
            packets[line['trace']['path']].events = line['count']['events']
    assert all(packet.events is not None for packet in packets.values())


class Wrong(Exception):
    pass


class Run:
    """One case, from its start to its judgement."""

    def __init__(self, sillage, traces, case, folder, has_bounds):
        self.sillage, self.case, self.folder, self.has_bounds = sillage, case, folder, has_bounds
        self.peak = 0
        self.sessions = case.sessions(traces)
        self.relay = relays.Relay(self.sessions, case.rules(), **case.relay_options)
        self.said, self.lines, self.status, self.story_failed = '', [], None, None

    def go(self):
        try:
            self.live()
            self.judge()
        finally:
            self.relay.close()

    def live(self):
        case = self.case
        options = {'--from': 'beginning', '-a': 'count,lost', '--retry': '3s', '-j': '1',
                   '--max-memory': MOST}
        options.update(case.options)
        if '--before' in options:
            options['--capture-dir'] = os.path.join(self.folder, 'captures')
        words = [self.sillage, 'live', '-f', 'json']
        for name, value in options.items():
            words += [name] if value is None else [name, value]
        words += [self.relay.url(session) for session in case.follows]
        with open(os.path.join(self.folder, 'out'), 'wb') as out, open(os.path.join(self.folder, 'err'), 'wb') as err:
            process = subprocess.Popen(words, stdout=out, stderr=err)
        # Not in the child: Python would copy itself, 24 threads and all.
        resource.prlimit(process.pid, resource.RLIMIT_CPU, (CPU_S, CPU_S + 5))
        try:
            self.wait(process)
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()
        self.status = process.returncode
        with open(os.path.join(self.folder, 'err'), errors='replace') as err:
            self.said = err.read()
        with open(os.path.join(self.folder, 'out')) as out:
            self.lines = [json.loads(line) for line in out]

    def patience(self):
        is_slow = self.case.is_slow and self.case.name not in scripted_cases.FAILS
        return ASLEEP_SLOW_S if is_slow else ASLEEP_S

    def tell(self, process):
        """The case's story.  It ends the process as a rule: without it the run would only not end."""
        try:
            self.case.story(self.relay, process)
        except Exception:
            if process.poll() is None:
                self.story_failed = 'the story failed: ' + traceback.format_exc()

    def wait(self, process):
        asleep = guard.Asleep(lambda: guard.alone(process.pid), period_s=0.25)
        if self.case.story:
            threading.Thread(target=self.tell, args=(process,), daemon=True).start()
        ended = os.pidfd_open(process.pid)  # wait(timeout) of 24 lanes polls
        try:
            pause = 0.01
            while not select.select([ended], [], [], pause)[0]:
                pause = min(pause * 1.1, 0.2)
                self.peak = max(self.peak, guard.peak_bytes(process.pid))
                if self.story_failed or asleep.now() > self.patience():
                    what = self.story_failed or 'it does not end'
                    with open(os.path.join(self.folder, 'err'), errors='replace') as err:
                        raise Wrong('%s; it said:\n%s' % (what, err.read()))
            process.wait()
        finally:
            os.close(ended)
            asleep.stop()

    # -- judgement --

    def expect(self, fine, what):
        if not fine:
            rules = ''.join('  rule: %s\n' % rule for rule in self.relay.rules)
            raise Wrong('%s\n%s  exit status %s, it said:\n%s' % (what, rules, self.status, self.said[-3000:]))

    def judge(self):
        case = self.case
        for word in ('Sanitizer', 'runtime error:', 'Assertion', 'assertion'):
            self.expect(word not in self.said, word)
        self.expect(self.status in (0, 1), 'it ended by a signal')
        self.expect(case.status is None or self.status == case.status, 'exit status %d' % self.status)
        self.expect(self.lines and self.lines[-1]['type'] == 'end', 'no last line')
        # The protocol has DETACH_SESSION, and a status for it.  Whoever sends it owes cases of it to statuses().
        self.expect(all(command != relays.DETACH for _, _, command, _ in self.relay.log), 'it detaches')
        self.pauses([at for at in self.relay.attaches], ATTACHES_MAX * len(self.sessions), 'attaches')
        self.pauses([at for at, _, command, _ in self.relay.log if command == relays.CONNECT],
                    CONNECTIONS_MAX * len(self.sessions),
                    'connections')
        if case.says_gone:
            self.expect(self.relay.was_up == 1, 'the metric says that the relay is away before it is')
            for what in ('sillage_relay_up 0', 'a message'):
                late = scripted_cases.NOTICED_S + scripted_cases.SLACK_S
                self.expect(self.relay.noticed.get(what, late) < late, 'no %s after %d s' % (what, late))
        self.expect(case.attaches in (None, len(self.relay.attaches)), '%d attaches' % len(self.relay.attaches))
        lines = self.said.count('\n')
        self.expect(case.says_at_most is None or lines <= case.says_at_most, '%d lines' % lines)
        if case.says:
            self.expect(re.search(case.says, self.said), 'it does not say "%s"' % case.says)
        if case.law:
            self.account()
        if self.has_bounds:
            self.bounds()

    def bounds(self):
        options = self.case.options
        most = int(options.get('--max-memory', MOST)[:-1]) + bounded.constant_of_manual(int(options.get('-j', '1')))
        self.expect(self.peak <= most << 20, 'it had %d MiB, %d are allowed' % (self.peak >> 20, most))
        turn = self.lines[-1]['turn_max_ns']
        self.expect(turn <= bounded.TURN_MAX_NS, 'a turn of its loop took %.1f ms of processor time' % (turn / 1e6))

    def pauses(self, times, most, what):
        for i in range(len(times) - most):
            self.expect(times[i + most] - times[i] > 5, '%d %s in 5 s' % (most, what))

    def account(self):
        totals = [line['count'] for line in self.lines if line['type'] == 'total' and not line.get('so_far')]
        analysed = self.lines[-1]['packets']
        events = sum(total['events'] for total in totals)
        end = self.lines[-1]
        lost = end['lost_packets']
        in_totals = sum(total['lost_packets'] for total in totals)
        # A trace whose metadata never came has no total.
        self.expect(in_totals == lost or not totals or self.case.law == 'own' and in_totals < lost,
                    '%d packets are lost, %d by the totals' % (lost, in_totals))
        accounted = end['packets'] + end['duplicates'] + end['passed_packets'] + end['unfetched_packets'] + lost
        self.expect(end['announced'] <= accounted, '%d packets announced, of %d' % (end['announced'], accounted))
        if self.case.law == 'own':
            return
        known = set(self.relay.announced)
        if self.case.law == 'all':
            for session in self.sessions:
                known |= session.all_keys()
        by_key = {}
        for session in self.relay.all_sessions:
            for trace in session.traces:
                for packet in trace.packets():
                    by_key[(session.name,) + packet.key] = packet.events
        wanted = sum(by_key[key] for key in self.relay.delivered) if analysed else 0
        text = ('%d packets (announced %d, delivered %d) are %d analysed and %d reported lost; '
                '%d events, wanted %d' % (len(known), len(self.relay.announced), len(self.relay.delivered), analysed,
                                          lost, events, wanted))
        # Who goes away takes along what the viewer has not read, the last indexes among it.
        unread = len(self.relay.in_flight - self.relay.delivered) if self.case.law == 'announced' else 0
        self.expect(len(known) - unread <= analysed + lost <= len(known), text)
        # A packet that was reported lost may be delivered later, and is not counted then.
        late = sorted((by_key[key] for key in self.relay.delivered), reverse=True)
        late = late[:max(0, len(self.relay.delivered) - analysed) if lost else 0]
        self.expect(wanted - sum(late) <= events <= wanted, text)
        self.expect(events == self.lines[-1]['events'], 'the last line has %d events' % self.lines[-1]['events'])
        if self.case.law == 'all' and not self.case.may_lose:
            self.expect(lost == 0, text)


# ---- the run ----

class Results:
    def __init__(self):
        self.lock = threading.Lock()
        self.wrong, self.right, self.known = [], 0, 0
        self.peak, self.turn_ns = 0, 0

    def note(self, run):
        with self.lock:
            self.peak = max(self.peak, run.peak)
            self.turn_ns = max(self.turn_ns, run.lines[-1]['turn_max_ns'])

    def take(self, case, why, seconds, says_all):
        known = case.name in scripted_cases.FAILS
        with self.lock:
            if why is None and known:
                why = 'it passes: remove it from the table of those that fail'
            elif why is not None and known:
                self.known += 1
                if says_all:
                    print('ok %s (known: %s)' % (case.name, scripted_cases.FAILS[case.name]))
                return
            if why is None:
                self.right += 1
                if says_all:
                    print('ok %s (%.1f s)' % (case.name, seconds))
            else:
                self.wrong.append(case.name)
                print('not ok %s: %s' % (case.name, why))
            sys.stdout.flush()


def work(todo, results, args, traces, folder):
    while True:
        taken = todo.take()
        if taken is None:
            return
        number, case = taken
        place = os.path.join(folder, 'case-%d' % number)
        os.mkdir(place)
        begin, why = time.monotonic(), None
        try:
            run = Run(args.sillage, traces, case, place, args.bounds)
            run.go()
            if args.bounds:
                results.note(run)
        except Wrong as wrong:
            why = str(wrong)
        except Exception:  # a mistake of this program
            why = traceback.format_exc()
        if why is None:
            shutil.rmtree(place)
        results.take(case, why, time.monotonic() - begin, args.verbose)


def seeds(args):
    begin = time.monotonic()
    for seed in itertools.count(args.seed):
        if time.monotonic() - begin > args.minutes * 60:
            print('seeds %d to %d' % (args.seed, seed - 1))
            return
        yield scripted_cases.chaos(seed, bool(args.events))


class Todo:
    """Cases, in turn."""

    def __init__(self, cases):
        self.lock, self.cases, self.count = threading.Lock(), iter(cases), 0

    def take(self):
        """The number of the next one, and the case; None: there is no more."""
        with self.lock:
            case = next(self.cases, None)
            self.count += case is not None
            return None if case is None else (self.count, case)


def choose(args):
    if args.minutes:
        return seeds(args)
    if args.random:
        return [scripted_cases.chaos(args.seed + i, bool(args.events)) for i in range(args.random)]
    cases = [case for case in scripted_cases.cases(args.all, bool(args.events)) if fnmatch.fnmatch(case.name, args.only)]
    cases = [case for case in cases if not (args.fast and case.is_slow)]
    names = [case.name for case in cases]
    assert len(names) == len(set(names)), [name for name in names if names.count(name) > 1]
    if args.only == '*':
        assert set(scripted_cases.FAILS) <= {case.name for case in scripted_cases.cases(True, True)}
    return sorted(cases, key=lambda case: not case.is_slow)  # these wait most of their time


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('sillage')
    parser.add_argument('data')
    parser.add_argument('--events', help='the program that says metadata in CTF 2 (events.c)')
    parser.add_argument('--all', action='store_true')
    parser.add_argument('--only', default='*')
    parser.add_argument('--lanes', type=int, default=12)
    parser.add_argument('--random', type=int, default=0)
    parser.add_argument('--minutes', type=float, default=0)
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--list', action='store_true')
    parser.add_argument('--bounds', action='store_true', help='resources are judged; not with sanitizers')
    parser.add_argument('--fast', action='store_true', help='without the cases that wait long')
    parser.add_argument('--keep', action='store_true', help='the folder with the output of what failed')
    parser.add_argument('-v', '--verbose', action='store_true')
    args = parser.parse_args()
    cases = choose(args)
    if args.list:
        print('\n'.join(case.name for case in cases))
        return 0
    folder = tempfile.mkdtemp(prefix='sillage-scripted-')
    try:
        traces = scripted_cases.load(args.data, args.events)
        os.mkdir(os.path.join(folder, 'packets'))
        count_events(args.sillage, list(traces.values()), os.path.join(folder, 'packets'))
        todo, results = Todo(cases), Results()
        lanes = [threading.Thread(target=work, args=(todo, results, args, traces, folder)) for _ in range(args.lanes)]
        for lane in lanes:
            lane.start()
        for lane in lanes:
            lane.join()
    finally:
        if args.keep:
            print('output: %s' % folder)
        else:
            shutil.rmtree(folder, ignore_errors=True)
    print('%d cases: %d right, %d known to fail, %d wrong; at most %d MiB, turns of %.1f ms' %
          (todo.count, results.right, results.known, len(results.wrong), results.peak >> 20, results.turn_ns / 1e6))
    return 1 if results.wrong else 0


if __name__ == '__main__':
    sys.exit(main())
