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
import subprocess
import sys
import tempfile

import deep
import perfetto_file
import reference
import sleeps
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
    for name, by_time in values.items():
        assert by_time == wanted[name], '%s: %s, wanted %s' % (name, by_time, wanted[name])
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
    assert made.check_flows() == len(whole) - 1 > 0, 'flows between threads'
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
    return marks


def check_workers(runner, trace):
    assert len({runner.bytes('export', '-q', '-j', jobs, '-a', 'cpu', trace) for jobs in '03'}) == 1, 'the file depends on the workers'


def check_usage(runner, trace):
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
        check_workers(runner, kernel[0])
        check_usage(runner, kernel[0])
    if not runner.protoc:
        print('skipped: protoc is not installed, which has to decode the files too; all else holds')
        return 77
    return 0


if __name__ == '__main__':
    sys.exit(main())
