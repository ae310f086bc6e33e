#!/usr/bin/env python3
"""perfetto: what `export` and `report -f perfetto` write, against what `analyze` counts of the same traces.

Files are read by perfetto_file.py, which knows the wire format and Perfetto's own numbers of fields; protoc decodes them
with the program's description of the format, and must find no field that this lacks.

usage: perfetto.py SILLAGE PROTO PROTOC KERNEL_TRACE... --ust TRACE     (PROTOC "": there is none)
"""
import collections
import json
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile

import deep
import models
import perfetto_file
import reference
import sleeps
import synthetic
from perfetto_file import BEGIN, COUNTER, END, INSTANT, File

UNKNOWN_FIELD = re.compile(rb'^\s*\d+[ :{]', re.M)
NS = re.compile(r'_ns(?=$|\.|\])')


class Runner:
    def __init__(self, sillage, proto, protoc, folder):
        self.sillage, self.proto, self.protoc, self.folder = sillage, proto, protoc, folder

    def run(self, *arguments, status=0):
        done = subprocess.run([self.sillage, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
        assert done.returncode == status, '%s: status %d: %s' % (arguments, done.returncode, done.stderr.decode())
        return done

    def lines(self, trace, *arguments):
        return [json.loads(line) for line in self.run('analyze', '-q', '-f', 'json', *arguments, trace).stdout.splitlines()]

    def total(self, trace, *arguments):
        return [line for line in self.lines(trace, *arguments) if line['type'] == 'total'][0]

    def bytes(self, *arguments):
        path = os.path.join(self.folder, 'out.perfetto')
        self.run(*arguments, '-o', path)
        with open(path, 'rb') as file:
            return file.read()

    def file(self, *arguments):
        made = File(self.bytes(*arguments))
        if self.protoc:
            decoded = subprocess.run([self.protoc, '--proto_path=' + os.path.dirname(self.proto), '--decode=perfetto.Trace',
                                      os.path.basename(self.proto)], input=made.plain, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=True)
            assert not decoded.stderr, decoded.stderr
            assert not UNKNOWN_FIELD.search(decoded.stdout), 'a field that is not described'
        return made


def runs_of(total):
    ns = collections.Counter()
    for row in total['cpu']['threads']:
        ns[row.get('tid', 0)] += row['run_ns']
    return {tid: value for tid, value in ns.items() if tid > 0 and value}


def check_running(runner, trace, *options):
    """Each thread runs as long as the analysis says; everything nests."""
    made, total = runner.file('export', '-q', *options, trace), runner.total(trace, '-a', 'cpu,count', *options)
    ours = made.running(total['end'])
    assert ours == runs_of(total), 'running times: %s' % {tid: (ours.get(tid), runs_of(total).get(tid)) for tid in ours.keys() | runs_of(total).keys()
                                                          if ours.get(tid) != runs_of(total).get(tid)}
    made.calls()
    made.check_interrupts()
    made.slices()
    for event in made.events[0]:
        assert total['begin'] <= event.ts <= total['end'], 'an event is not in the range'
    return made, total


def check_counts(made, total):
    """Events that are written as they are: as many as there are.  Calls without a thread are left out."""
    names, kinds = total['count']['by_name'], collections.Counter(event.kind for event in made.events[0])
    source = names.get('sched_waking') or names.get('sched_wakeup', 0)
    assert kinds[perfetto_file.WAKING] == source
    assert kinds[perfetto_file.NEWTASK] == names.get('sched_process_fork', 0)
    assert kinds[perfetto_file.FREE] == names.get('sched_process_free', 0)
    assert len(made.processes) <= names.get('lttng_statedump_process_state', 0)
    if not made.lost:
        assert kinds[perfetto_file.IRQ_ENTRY] == names.get('irq_handler_entry', 0)
        begun = collections.Counter(name for calls in made.calls().values() for _, _, name in calls)
        wanted = {name[len('syscall_entry_'):]: count for name, count in names.items() if name.startswith('syscall_entry_')}
        assert begun == wanted, 'system calls: %s, %s' % (begun - collections.Counter(wanted), collections.Counter(wanted) - begun)


def check_range(runner, trace):
    total = runner.total(trace, '-a', 'cpu')
    third = (total['end'] - total['begin']) // 3
    check_running(runner, trace, '--begin', '%dns' % (total['begin'] + third), '--end', '%dns' % (total['begin'] + 2 * third))
    runner.run('export', '--end', '1970-01-01T00:00:01', '-o', os.path.join(runner.folder, 'none'), trace, status=1)


def counters_of(made):
    values = collections.defaultdict(dict)
    for mark in made.marks:
        if mark.kind == COUNTER:
            assert mark.ts not in values[made.tracks[mark.track].name]
            values[made.tracks[mark.track].name][mark.ts] = mark.value
    return values


def check_windows(runner, trace):
    """Counters are the figures of windows: of the trace, of its CPUs, of distributions."""
    arguments = '-a', 'cpu,sched,io', '-i', '50ms'
    made = runner.file('export', '-q', *arguments, '--trigger', 'cpu.busy > 0', trace)
    values = counters_of(made)
    wanted, fired = collections.defaultdict(dict), 0
    for line in runner.lines(trace, *arguments, '--trigger', 'cpu.busy > 0'):
        fired += line['type'] == 'trigger'
        if line['type'] != 'window':
            continue
        for analysis in ('cpu', 'sched', 'io'):
            for key, value in line[analysis].items():
                add_wanted(wanted, '%s.%s' % (analysis, key), value, line['begin'])
    assert values.keys() >= {'cpu.busy', 'cpu.cpus[0].busy', 'sched.wake.p99', 'io.read_bytes'}, sorted(values)
    for name, by_time in wanted.items():
        if name.endswith('].cpu'):
            continue  # it is what the row is about
        since = min((begin for begin, value in by_time.items() if value), default=None)
        shown = {begin: value for begin, value in by_time.items() if since is not None and begin >= since}
        assert values.get(name, {}) == shown, '%s: %s, wanted %s' % (name, values.get(name), shown)
    assert values.keys() <= wanted.keys()
    instants = [mark for mark in made.marks if made.tracks[mark.track].name == 'triggers']
    assert fired > 0 and len(instants) == fired and all(mark.kind == INSTANT for mark in instants)


def add_wanted(wanted, name, value, begin):
    if isinstance(value, int):
        wanted[NS.sub('', name)][begin] = value
    elif isinstance(value, dict) and 'count' in value:
        for part in ('count', 'p50', 'p99', 'max'):
            wanted['%s.%s' % (NS.sub('', name), part)][begin] = value.get(part + ('_ns' if part != 'count' else ''), 0)
    elif name == 'cpu.cpus':
        for row in value:
            for key, figure in row.items():
                add_wanted(wanted, '%s[%d].%s' % (name, row['cpu'], key), figure, begin)


def check_report(runner, trace, *arguments):
    """Slices tile the path; each change of thread is a flow; the executions are those of the JSON."""
    made = runner.file('report', '-q', '-f', 'perfetto', *arguments, trace)
    told = json.loads(runner.run('report', '-q', '-f', 'json', *arguments, trace).stdout.splitlines()[0])
    slices = made.slices()
    names = {number: track.name for number, track in made.tracks.items()}
    path = [number for number, name in names.items() if name and name.startswith('critical path of')][0]
    whole = sorted(slices[path])
    parts = sorted((span for number, spans in slices.items() if made.tracks[number].parent == path for span in spans), key=lambda span: span[:2])
    assert [span[1] for span in whole[:-1]] == [span[0] for span in whole[1:]], 'the path has a hole'
    assert [span[1] for span in parts[:-1]] == [span[0] for span in parts[1:]]
    assert (whole[0][0], whole[-1][1]) == (parts[0][0], parts[-1][1]) == (told['path']['begin'], told['path']['end'])
    assert len(made.check_flows()) == len(whole) - 1 > 0, 'flows between threads'
    assert len(parts) == told['path']['segment_count']
    for state in ('running', 'preempted'):
        key = state.replace('running', 'user') + '_ns'
        assert sum(span[1] - span[0] for span in parts if span[2] == state) == sum(part.get(key, 0) for part in told['path']['parts']) > 0
    executions = [number for number, name in names.items() if name == 'executions']
    drawn = sorted((span[0], span[1]) for number, spans in slices.items() if executions and made.tracks[number].parent == executions[0] for span in spans)
    if '--job' in arguments:
        wanted = told['jobs']['longest'] + told['jobs']['open']
        assert drawn == sorted((one['begin'], one['end']) for one in wanted) and drawn
    assert made.events[0]
    check_states(made, slices, told, os.path.join(trace, 'kernel'))


def check_states(made, slices, told, trace):
    """Of each thread that is shown: times by state as in the JSON; on the CPU when the switches have it there; each sleep
    names the thread that woke it, if one did."""
    parent, = [number for number, track in made.tracks.items() if track.name == 'states']
    plain, known = sleeps.Sleeps(list(reference.events_of(trace))), collections.Counter()
    tracks = [number for number, track in made.tracks.items() if track.parent == parent]
    rows = {'%s (%d)' % (row['thread']['comm'] or '?', row['thread']['tid']): row for row in told['threads']}
    assert tracks
    for number in tracks:
        row, spans, times = rows[made.tracks[number].name], sorted(slices[number]), collections.Counter()
        assert all(a[1] == b[0] for a, b in zip(spans, spans[1:])), 'states of a thread have a hole'
        for begin, end, name, _ in spans:
            state = re.split('[,:]', name)[0]
            times[state + '_ns'] += end - begin
            if state == 'blocked':
                said, woken = re.search(r', woken by .* \((\d+)\)$', name), plain.woken.get((row['thread']['tid'], end))
                assert (int(said[1]) if said else None) == woken, (made.tracks[number].name, begin, name, woken)
                known['woken'] += bool(said)
        wanted = {key: ns for key, ns in row.items() if key.endswith('_ns') and key not in ('run_ns', 'dead_ns')}
        assert times == wanted, (made.tracks[number].name, times, wanted)
        ran = deep.on_cpu(trace, row['thread']['tid'])
        for begin, end, name, _ in spans:
            if ran and ran[0][0] <= begin and end <= ran[-1][1]:  # before the first switch to it, and after the last, the switches do not say
                on = deep.within(ran, begin, end)
                assert on == (end - begin if name in ('user', 'syscall', 'irq', 'softirq') else 0), (made.tracks[number].name, begin, name, on)
                known['ran'] += on > 0
    assert known['woken'] and known['ran'], known


def changed(runner, trace, name, change):
    """A copy of the trace whose files are changed by a function of name and bytes."""
    copy = os.path.join(runner.folder, name)
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(trace, copy)
    for folder, _, files in os.walk(copy):
        for file in files:
            path = os.path.join(folder, file)
            with open(path, 'rb') as opened:
                data = opened.read()
            with open(path, 'wb') as opened:
                opened.write(change(file, data))
    return copy


def check_hosts(runner, trace):
    other = changed(runner, trace, 'other', lambda name, data: data.replace(b'"testhost"', b'"otherone"') if name == 'metadata' else data)
    made = runner.file('export', '-q', '-a', 'cpu', trace, other)
    assert made.hosts == {0: 'testhost', 1: 'otherone'}
    assert len(made.events[0]) == len(made.events[1]) > 0 and {track.machine for track in made.tracks.values()} == {0, 1}
    end = runner.total(trace, '-a', 'cpu')['end']
    assert made.running(end, 0) == made.running(end, 1)


def check_hostile(runner, trace):
    """A name that is not UTF-8 is repaired wherever it stands."""
    comm = [switch.next_comm for switch in runner.file('export', '-q', trace).switches() if len(switch.next_comm or '') > 7 and switch.next][0]
    bad = comm.encode()[:-3] + b'\xff\x80\xc3'
    copy = changed(runner, trace, 'hostile', lambda name, data: data if name == 'metadata' else data.replace(comm.encode(), bad))
    made, _ = check_running(runner, copy)
    assert any(switch.next_comm == comm[:-3] + 3 * '\N{REPLACEMENT CHARACTER}' for switch in made.switches())


def check_damage(runner, trace):
    """Of a trace with a hole, a cut end or nothing at all, what is there is shown, and what is missing."""
    def cut(name, data):
        return data if name == 'metadata' or name.endswith('.idx') else data[:len(data) * 2 // 3]

    def damage(name, data):
        return data if name == 'metadata' or name.endswith('.idx') else data[:len(data) // 2] + bytes(64) + data[len(data) // 2 + 64:]

    check_running(runner, changed(runner, trace, 'cut', cut))
    copy = changed(runner, trace, 'damaged', damage)
    made, _ = check_running(runner, copy)
    lost = runner.total(copy, '-a', 'lost')['lost']  # the bytes may be of a field only
    assert any(mark.name.endswith('events lost') for mark in made.marks) or not (lost['events'] or lost['packets'] or lost['bad_packets']), \
        'a loss is silent'
    empty = changed(runner, trace, 'empty', lambda name, data: data if name == 'metadata' else b'')
    made = runner.file('export', '-q', empty)
    assert not made.events[0] and not made.marks
    said = runner.run('export', os.path.join(runner.folder, 'nowhere'), '-o', os.path.join(runner.folder, 'none'), status=1).stderr
    assert b'nowhere' in said and said.count(b'\n') == 1


def check_ust(runner, trace):
    """Each event is a mark of its thread; slices nest."""
    made, total = runner.file('export', '-q', trace), runner.total(trace, '-a', 'count')
    marks = collections.Counter(mark.kind for mark in made.marks)
    marks[INSTANT] -= len([mark for mark in made.marks if made.tracks[mark.track].name == 'events lost'])
    assert marks[BEGIN] + marks[INSTANT] + marks[END] == total['count']['events'] > 0, (marks, total['count']['events'])
    made.slices(open_allowed=True)
    assert not made.events[0]
    check_args(made, trace)
    return marks


# ---- arguments, against babeltrace2 ----

TOKEN = re.compile(r'\s*(?:("(?:[^"\\]|\\.)*")|([][{}(),:=])|([^][{}(),:=\s"]+))')


class Told:
    """What babeltrace2 prints of an event's fields: a struct is a list of pairs, an array a tuple."""

    def __init__(self, line):
        self.tokens, self.at = [match.groups() for match in TOKEN.finditer(line)], 0

    def take(self, sign=None):
        token = self.tokens[self.at]
        self.at += 1
        assert sign is None or token[1] == sign, (token, sign)
        return token

    def ahead(self):
        return self.tokens[self.at] if self.at < len(self.tokens) else (None, None, None)

    def value(self):
        text, sign, word = self.take()
        if text is not None:
            return re.sub(r'\\(.)', r'\1', text[1:-1])
        if sign == '{' and self.ahead()[1] != '}' and (self.ahead()[1] in ('{', '[', '(') or self.tokens[self.at + 1][1] == '}'):  # a variant
            value = self.value()
            self.take('}')
            return value
        if sign == '{':
            return self.members('}')
        if sign == '[':
            return tuple(value for _, value in self.members(']'))
        if sign == '(':  # an enumeration
            label = self.label()
            self.take(':')
            self.take()
            self.take('=')
            number = self.value()
            self.take(')')
            return number if label is None else label
        return int(word, 0) if re.fullmatch(r'-?(0x[0-9A-Fa-f]+|\d+)', word) else float(word)

    def label(self):
        """The first of those that the number has."""
        found = None
        while self.ahead()[1] != ':':
            text, _, _ = self.take()
            found = text[1:-1] if text is not None and found is None else found
        return found

    def members(self, end):
        found = []
        while self.ahead()[1] != end:
            if end == ']':
                self.take('[')
                self.take()
                self.take(']')
                name = None
            else:
                name = self.take()[2] if self.ahead()[1] != '=' else ''
            self.take('=')
            found.append((name, self.value()))
            if self.ahead()[1] == ',':
                self.take(',')
        self.take(end)
        return found

    def structs(self):
        """Those of an event, one after the other."""
        found = []
        while self.ahead()[1] == '{':
            found.append(self.value())
            if self.ahead()[1] == ',':
                self.take(',')
        return found


def same_values(ours, told):
    """babeltrace2 prints six digits of a real number, and, for an empty text, sometimes the one of an event before."""
    if isinstance(ours, float):
        short = float('%g' % ours)
        return isinstance(told, (int, float)) and (short == told or (short != short and told != told))
    if isinstance(told, (list, tuple)) and not told:
        return not ours
    if isinstance(told, list):
        return isinstance(ours, list) and len(ours) == len(told) and all(a[0] == b[0] and same_values(a[1], b[1]) for a, b in zip(ours, told))
    if isinstance(told, tuple):
        return isinstance(ours, tuple) and len(ours) == len(told) and all(same_values(a, b) for a, b in zip(ours, told))
    return ours == told or (ours == '' and isinstance(told, str))


def events_told(trace):
    """Time, name, contexts and payload of each event, as babeltrace2 has them."""
    lines = subprocess.run(['babeltrace2', '--clock-seconds', '--no-delta', trace], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                           check=True).stdout.decode(errors='replace').splitlines()
    for line in lines:
        ts, name, rest = re.match(r'\[(\d+\.\d+)\] (?:\S+ )?(\S+): (.*)', line).groups()
        structs = Told(rest).structs()
        if structs and structs[0] and structs[0][0][0] == 'cpu_id':
            structs = structs[1:]  # of the packet
        yield int(ts.replace('.', '')), name, [pair for one in structs[:-1] for pair in one], structs[-1]


def check_args(made, trace):
    """All fields and contexts of all events, with their values and in their order."""
    if not shutil.which('babeltrace2'):
        print('not checked, as babeltrace2 is not installed: arguments of', trace)
        return
    ours, told = collections.defaultdict(list), collections.defaultdict(list)
    for mark in made.marks:
        if mark.args:
            assert mark.args[0][0] == 'context', mark
            ours[mark.ts].append((mark, mark.args[0][1], mark.args[1:]))
    for ts, name, contexts, payload in events_told(trace):
        told[ts].append((name, contexts, payload))
    assert ours.keys() == told.keys()
    for ts, events in told.items():
        assert len(ours[ts]) == len(events), ts
        for name, contexts, payload in events:
            found = [i for i, (mark, ours_contexts, ours_payload) in enumerate(ours[ts]) if same_values(ours_contexts, contexts) and
                     same_values(ours_payload, payload) and (mark.kind != INSTANT or mark.name == name)]
            assert found, 'no event has these arguments: %s' % ((ts, name, contexts, payload, ours[ts]),)
            mark = ours[ts].pop(found[0])[0]
            assert mark.kind == END or mark.category == (name.split(':')[0] if ':' in name else None), mark


# ---- spans ----

EVENTS = {'app:req_begin': (('u64', 'id'),), 'app:req_end': (('u64', 'id'),), 'app:a_start': (), 'app:a_stop': (), 'app:b_start': (), 'app:b_stop': (),
          'app:span_enter': (('text', 'name'),), 'app:span_exit': (('text', 'name'),), 'app:mark': (('text', 'name'),)}
BASE = 10 ** 9
# Time in us, thread, event, field; and of each name its slices: begin, end, whether it is one of the thread's own.
OVERLAPS = (
    [(10, 7, 'req_begin', 1), (12, 7, 'req_begin', 2), (14, 7, 'req_end', 1), (18, 7, 'req_end', 2),  # an event loop
     (20, 7, 'a_start'), (21, 7, 'b_start'), (22, 7, 'a_stop'), (24, 7, 'b_stop'),  # without keys
     (30, 7, 'span_enter', 'outer'), (31, 7, 'span_enter', 'inner'), (32, 7, 'span_enter', 'inner'), (33, 7, 'span_exit', 'inner'),
     (34, 7, 'span_exit', 'inner'), (35, 7, 'mark', 'x'), (36, 7, 'span_exit', 'outer'),  # nested, recursive
     (40, 7, 'req_begin', 3), (45, 8, 'req_end', 3),  # it ends on another thread
     (50, 7, 'span_enter', 'outer'), (51, 7, 'span_enter', 'lost'), (52, 7, 'span_exit', 'outer'),  # an end is missing
     (60, 8, 'b_stop')],  # and a begin
    {'app:req': [(10, 14, False), (12, 18, False), (40, 45, False)], 'app:a': [(20, 22, True)], 'app:b': [(21, 24, False)],
     'app:span outer': [(30, 36, True), (50, 52, True)], 'app:span inner': [(31, 34, True), (32, 33, True)], 'app:span lost': [(51, 52, True)]})


def overlaps_trace(folder):
    bodies = [models.made_event(BASE + 1000 * ts, 5, tid, 'app:' + name, *values, events=EVENTS)[1] for ts, tid, name, *values in OVERLAPS[0]]
    stream = synthetic.packet(0, 0, BASE, BASE + 10 ** 6, bodies)
    return synthetic.Made(folder, 'overlaps', [stream], models.made_metadata(EVENTS)).path


def check_overlaps(runner):
    """Spans that overlap on a thread are as long as their events say; those that nest are the thread's."""
    wanted, trace = OVERLAPS[1], overlaps_trace(runner.folder)
    made = runner.file('export', '-q', trace)
    found = collections.defaultdict(list)
    for number, spans in made.slices().items():
        for begin, end, name, _ in spans:
            found[name].append(((begin - BASE) // 1000, (end - BASE) // 1000, made.tracks[number].thread is not None))
    assert {name: sorted(spans) for name, spans in found.items()} == wanted, dict(found)
    assert sorted(mark.name for mark in made.marks if mark.kind == INSTANT) == ['app:b_stop', 'app:mark']
    check_args(made, trace)


TYPES = """/* CTF 1.8 */
trace { major = 1; minor = 8; byte_order = le; };
env { domain = "ust"; };
clock { name = c; freq = 1000000000; };
typealias integer { size = 8; align = 8; } := u8;
stream { event.header := struct { u8 id; integer { size = 64; align = 8; map = clock.c.value; } timestamp; };
    event.context := struct { integer { size = 32; align = 8; signed = true; } _vtid; }; };
event { name = "t:all"; id = 0; context := struct { string app; }; fields := struct {
    integer { size = 5; signed = true; } bits; integer { size = 16; align = 8; byte_order = be; } _wide;
    struct { u8 x; string s; struct { floating_point { exp_dig = 8; mant_dig = 24; align = 8; } f; } deep; } inner;
    u8 n; struct { u8 p; enum : u8 { A = 1, B = 2 ... 3 } e; } rows[n];
    enum : u8 { one = 1, two = 2 } tag; variant <tag> { u8 one; struct { u8 q; string r; } two; } v;
    string names[2]; u8 grid[2][2]; integer { size = 8; align = 8; encoding = UTF8; } text[4]; }; };
"""


def check_periods(runner, kernel):
    """Each period and execution is a slice, with what tells it from others; none is said twice."""
    trace = overlaps_trace(os.path.join(runner.folder, 'periods'))
    made = runner.file('export', '-q', '--period', 'req = app:req_begin; app:req_end; by id', trace)
    drawn = sorted(((begin - BASE) // 1000, (end - BASE) // 1000, name) for number, spans in made.slices().items()
                   for begin, end, name, _ in spans if made.tracks[number].name == 'req')
    assert drawn == [(10, 14, 'req'), (12, 18, 'req'), (40, 45, 'req')], drawn
    marks = [mark for mark in made.marks if mark.category == 'periods']
    assert sorted(dict(mark.args)['by'] for mark in marks) == ['id=1', 'id=2', 'id=3']
    made = runner.file('export', '-q', '--call', 'request = app:req_begin; app:req_end; by id', trace)
    calls = {(mark.track, mark.ts): mark for mark in made.marks if mark.category == 'calls'}
    drawn = sorted(((begin - BASE) // 1000, (end - BASE) // 1000, name, dict(calls[number, begin].args).get('by'))
                   for number, spans in made.slices().items() for begin, end, name, _ in spans if (number, begin) in calls)
    assert [one[:3] for one in drawn if one[2] == 'request'] == [(10, 14, 'request'), (12, 18, 'request'), (40, 45, 'request')], drawn
    assert sorted(one[3] for one in drawn if one[2] == 'request') == ['id=1', 'id=2', 'id=3'], drawn
    arguments = '-a', 'jobs', '--job', 'wake-to-sleep', '-i', '100ms'
    made = runner.file('export', '-q', *arguments, kernel)
    wanted = sorted((one['begin'], one['end'], one['tid']) for line in runner.lines(kernel, *arguments, '-n', '1000') if line['type'] == 'window'
                    for one in line['jobs']['worst'])
    ends = {(number, begin): end for number, spans in made.slices().items() for begin, end, _, _ in spans}
    assert sorted((mark.ts, ends[mark.track, mark.ts], dict(mark.args)['tid']) for mark in made.marks if mark.category == 'jobs') == wanted and wanted


# Time in ms, thread, event, id: a chain over threads, one that comes back, one whose middle is on a thread that is not known, and one that stays.
CHAINS = [(10, 7, 'req_begin', 1), (12, 8, 'a_start', 1), (15, 8, 'a_stop', 1), (20, 9, 'req_end', 1),
          (30, 7, 'req_begin', 2), (31, 7, 'a_start', 2), (32, 8, 'a_stop', 2), (33, 7, 'req_end', 2),
          (40, 7, 'req_begin', 3), (41, 0, 'a_start', 3), (42, 0, 'a_stop', 3), (43, 9, 'req_end', 3),
          (50, 7, 'req_begin', 4), (51, 7, 'a_start', 4), (52, 7, 'a_stop', 4), (53, 7, 'req_end', 4)]
CHAIN = 'work = app:req_begin; app:a_start; by id; then app:a_stop; by id; then app:req_end; by id'


def stays_of(events):
    """What a chain does on each thread that is known, one after the other."""
    stays = []
    for ts, tid, _, _ in events:
        if stays and stays[-1][0] == tid:
            stays[-1][2] = ts
        else:
            stays.append([tid, ts, ts])
    return [tuple(stay) for stay in stays if stay[0] > 0]


def check_chains(runner):
    """One flow a chain, through a slice on each thread that it visits; whatever the window, workers and chunks."""
    kinds = {name: (('u64', 'id'),) for name in ('app:req_begin', 'app:req_end', 'app:a_start', 'app:a_stop')}
    bodies = [models.made_event(BASE + 10 ** 6 * ts, 5, tid, 'app:' + name, number, events=kinds)[1] for ts, tid, name, number in CHAINS]
    trace = synthetic.Made(runner.folder, 'chains', [synthetic.packet(0, 0, BASE, BASE + 10 ** 8, bodies)], models.made_metadata(kinds)).path
    chains = [stays_of([event for event in CHAINS if event[3] == number]) for number in range(1, 5)]
    for option, wanted in (('--period', [chain for chain in chains if len(chain) > 1]),
                           ('--job', [[(chain[0][0],) + 2 * chain[0][1:2], (chain[-1][0],) + 2 * chain[-1][2:]] for chain in chains if chain[0][0] != chain[-1][0]])):
        asked = CHAIN if option == '--period' else 'work = app:req_begin; app:req_end; by id'
        for words in (), ('-i', '7ms'), ('-j', '2'):
            made = runner.file('export', '-q', option, asked, *words, trace)
            slices = {(number, begin, name): end for number, spans in made.slices().items() for begin, end, name, _ in spans}
            ours = []
            for marks in made.check_flows().values():
                ours.append([(int(re.fullmatch(r'work: thread (\d+)', made.tracks[mark.track].name)[1]), (mark.ts - BASE) // 10 ** 6,
                              (slices[mark.track, mark.ts, mark.name] - BASE) // 10 ** 6) for mark in marks])
            assert sorted(ours) == sorted(wanted), (option, words, sorted(ours), sorted(wanted))


def check_all_types(runner):
    """Structs and arrays in each other, both options of a variant, labels and none, bits, both byte orders, no element."""
    events = b''
    for i, rows in enumerate((b'', b'\x07\x01', b'\x01\x02\x02\x03\x03\x09')):
        option = b'\x01\x2a' if i == 1 else b'\x02\x05r\xc3\xa9\0'
        events += struct.pack('<BQi', 0, 1000 + i, 7) + b'a b\0' + bytes([0x10 + i]) + struct.pack('>H', 300 + i) + b'\x03s q\0' + struct.pack('<f', 1.5 * i)
        events += bytes([len(rows) // 2]) + rows + option + b'first\0second\0' + bytes(range(4)) + b'ab\0\0'
    trace = synthetic.Made(runner.folder, 'types', [events], TYPES).path
    made = runner.file('export', '-q', trace)
    check_args(made, trace)
    assert dict(made.marks[2].args)['rows'] == ([('p', 1), ('e', 'B')], [('p', 2), ('e', 'B')], [('p', 3), ('e', 9)]), made.marks[2].args
    assert dict(made.marks[1].args)['v'] == 42 and dict(made.marks[0].args)['v'] == [('q', 5), ('r', 'r\xe9')]


def check_workers(runner, trace):
    assert len({runner.bytes('export', '-q', '-j', jobs, '-a', 'cpu', trace) for jobs in '03'}) == 1, 'the file depends on the workers'


def check_usage(runner, trace):
    said = runner.run('export', '--period', 'on = sched_switch; sched_wakeup_ne', '-o', os.path.join(runner.folder, 'none'), trace, status=1).stderr
    assert b'did you mean "sched_wakeup_new"?' in said, said
    for arguments in (['export', '--to', 'svg', trace], ['analyze', '-f', 'perfetto', trace], ['export', '--begin', 'x', trace]):
        said = runner.run(*arguments, '-o', os.path.join(runner.folder, 'none'), status=2).stderr
        assert said.count(b'\n') == 1, said


def main():
    at = sys.argv.index('--ust')
    kernel, ust = sys.argv[4:at], sys.argv[at + 1:]
    with tempfile.TemporaryDirectory() as folder:
        runner = Runner(*sys.argv[1:4], folder)
        for trace in kernel:
            made, total = check_running(runner, trace)
            check_counts(made, total)
            check_damage(runner, trace)
            print('ok', trace)
        check_range(runner, kernel[0])
        check_windows(runner, kernel[0])
        check_report(runner, kernel[1])
        check_report(runner, kernel[1], '--job', 'wake-to-sleep')
        check_hosts(runner, kernel[0])
        check_hostile(runner, kernel[1])
        for trace in ust:
            print('ok', trace, dict(check_ust(runner, trace)))
        check_overlaps(runner)
        check_all_types(runner)
        check_periods(runner, kernel[1])
        check_chains(runner)
        check_workers(runner, kernel[0])
        check_usage(runner, kernel[0])
    if not runner.protoc:
        print('skipped: protoc is not installed, which has to decode the files too; all else holds')
        return 77
    return 0


if __name__ == '__main__':
    sys.exit(main())
