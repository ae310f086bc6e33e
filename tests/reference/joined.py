#!/usr/bin/env python3
"""joined: a program's trace and the kernel's as one, on traces made event by event and on what a service noted.

Goal    - The two have one time: by the clock where its uuid is the same, by the epoch where there is none, never where
          clocks or hosts differ.  Each is said.
        - An event of user space is of the thread that runs on its CPU, whatever it calls that thread; its own number
          helps where that is not known, or where the thread had just been moved.
        - Executions end where they end, over threads and with events of both; what is lost in one trace cuts what that
          trace is about.  The keys tell which one it is.
        - Every request that waited for the lock of a service names who held it; preempters of its late loops are those of
          the kernel's trace alone.

        - Labels name ids as those of `analyze` do: which executions are wanted, and the rows that a group gives.
        - A program's events that are the kernel's under other names, without any context, are executed as those are.

        - Windows of `jobs` are of both as one, too: the executions, how long they took, and how the time of those that one
          thread began and ended divides, are those of the report, whatever windows, chunks and workers.

usage: joined.py SILLAGE [NAME/kernel...] [SERVICE...]     (also: babeltrace2 in the path)
"""
import json
import os
import random
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

import models
import perfetto_file
import synthetic

EVENTS = {'a:begin': (('u64', 'id'),), 'a:end': (('u64', 'id'),), 'a:name': (('u64', 'id'), ('u64', 'kind'))}
JOB = 'a:begin; a:end; by id'
OFFSET, LATER = 10 ** 18, -1400  # of the kernel's trace; by how much times of the user's are more
CLOCK = '01234567-89ab-cdef-0123-456789abcdef'
US = 1000


def check(condition, *what):
    if not condition:
        raise SystemExit('not ok joined: ' + ' '.join(map(str, what)))


def run(sillage, *args):
    done = subprocess.run([sillage, *map(str, args)], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def report(sillage, place, *args, job=JOB):
    status, out, err = run(sillage, 'report', '-f', 'json', '-n', '0', '--worst', '1000', '--job', job, *args, place)
    check(status == 0, place, status, err)
    return [json.loads(line) for line in out.splitlines()], err


def totals(sillage, place, *args, job=JOB):
    """Of `jobs`, of each trace, or traces that are one."""
    status, out, err = run(sillage, 'analyze', '-f', 'json', '-a', 'jobs', '--job', 'j = ' + job, *args, place)
    check(status == 0, 'analyze', place, status, err)
    return [json.loads(line) for line in out.splitlines() if json.loads(line)['type'] == 'total'], err


PARTS = {'running': ('user_ns', 'syscall_ns', 'irq_ns', 'softirq_ns'), 'preempted': ('preempted_ns',), 'waiting': ('wait_ns',),
         'blocked': ('blocked_ns',)}


def check_windows(sillage, place, *args, job=JOB, count=1, has_parts=True):
    """The report's executions, and what of them one thread began and ended."""
    lines = report(sillage, place, job=job)[0]
    all_, err = totals(sillage, place, *args, job=job)
    check(len(all_) == len(lines) == count, place, err, len(all_), len(lines))
    for wanted, got in zip((line['jobs'] for line in lines), (line['jobs'] for line in all_)):
        (row,) = got['jobs'] or [{'duration': {'count': 0, 'sum_ns': 0}}]
        check((row['duration']['count'], row['duration'].get('sum_ns', 0)) == (wanted['count'], wanted['total_ns']), place, job, row, wanted)
        check((got['open'] + got['abandoned'], got['abandoned']) == (wanted['open_count'], wanted['abandoned']), place, job, 'open', got, wanted['open'])
        check((got['cut'], got['overlapped']) == (wanted['cut'], wanted['overlapped']), place, job, got, wanted)
        own_ = [one for one in wanted['longest'] if 'last' not in one and 'thread' in one]
        check(not has_parts or len(own_) == wanted['count'] or 'by' in job, place, 'executions without a thread')
        parts = got['parts'][0] if got['parts'] else {}
        if has_parts and parts:
            sums = {part: sum(one.get(key, 0) for one in own_ for key in keys) for part, keys in PARTS.items()}
            check({part: parts[part]['sum_ns'] for part in sums} == sums and parts['running']['count'] == len(own_), place, parts, sums)
        check(not own_ or not has_parts or parts, place, got)


# ---- made ----

def with_clock(text, uuid, host='made'):
    text = text.replace('freq = 1000000000;', 'freq = 1000000000; uuid = "%s";' % uuid) if uuid else text
    return text.replace('hostname = "made"', 'hostname = "%s"' % host)


def kernel(place, cpus, uuid=CLOCK, name='kernel', losses=()):
    """@cpus: of each its switches (time in us, from, to, state).  Behind a loss a packet begins."""
    data = []
    for cpu, switches in enumerate(cpus):
        packets, begin = b'', 0
        cuts = [at for where, at in losses if where == cpu] + [len(switches)]
        for seq, cut in enumerate(cuts):
            some = switches[begin:cut]
            packets += synthetic.packet(cpu, seq, some[0][0] * US, some[-1][0] * US,
                                        [synthetic.switch(at * US, *rest) if rest[0] != 'wake' else
                                         synthetic.event(at * US, 'sched_waking', rest[1]) for at, *rest in some], discarded=seq)
            begin = cut
        data.append(packets)
    return synthetic.Made(place, name, data, with_clock(synthetic.metadata(OFFSET), uuid))


def user(place, cpus, uuid=CLOCK, name='ust', host='made', contexts=True, losses=()):
    """@cpus: of each its events (time in ns, pid, tid, name, id)."""
    text = with_clock(models.made_metadata(EVENTS), uuid, host).replace('offset = 0', 'offset = %d' % (OFFSET + LATER))
    data = []
    if not contexts:
        text = text.replace('int32_t _vpid; int32_t _vtid;', 'int32_t _one; int32_t _two;')
    for cpu, events in enumerate(cpus):
        packets, begin = b'', 0
        for seq, cut in enumerate([at for where, at in losses if where == cpu] + [len(events)]):
            some = [models.made_event(*one, events=EVENTS)[1] for one in events[begin:cut]]
            if some:
                packets += synthetic.packet(cpu, seq, events[begin][0], events[cut - 1][0], some, discarded=seq)
            begin = cut
        data.append(packets)
    return synthetic.Made(place, name, data, text)


# Thread 7 runs on CPU 0 from 100 us on, 8 on CPU 1 from 200 us on; 7 waits for 8 from 300 to 400 us, which wakes it.
CPUS = ([(10, 0, 5, 0), (100, 5, 7, 1), (300, 7, 0, 1), (410, 0, 7, 0), (600, 7, 5, 0), (900, 5, 0, 1)],
        [(10, 0, 6, 0), (200, 6, 8, 1), (400, 'wake', 7), (700, 8, 6, 0), (900, 6, 0, 1)])


# Thread 7 is moved from CPU 0 to CPU 1 at 300 us.
MOVED = ([(10, 0, 5, 0), (100, 5, 7, 1), (300, 7, 5, 0), (600, 5, 0, 1)], [(10, 0, 6, 0), (300, 6, 7, 1), (700, 7, 6, 1), (900, 6, 0, 1)])


def first(at):
    """Begins on 7, right behind its switch, and ends on 8; another one stays on 7."""
    return ([(100 * US + 200, *at(7), 'a:begin', 1), (250 * US, *at(7), 'a:begin', 2), (500 * US, *at(7), 'a:end', 2)],
            [(450 * US, *at(8), 'a:end', 1)])


def own(tid):
    return 70, tid


def spans(line):
    base = OFFSET
    return {one['by']: (one['begin'] - base, one['end'] - base, one.get('thread', {}).get('tid'),
                        one.get('last', one.get('thread', {})).get('tid')) for one in line['jobs']['longest']}


FIRST = {'id=1': (100 * US + 200, 450 * US, 7, 8), 'id=2': (250 * US, 500 * US, 7, 7)}


def exported_times(data):
    """When the events of programs are in a file for Perfetto."""
    packets = map(perfetto_file.message, perfetto_file.message(perfetto_file.inflate(data))[1])
    return {perfetto_file.one(packet, perfetto_file.TIME) for packet in packets if perfetto_file.TRACK_EVENT in packet}


def check_times(sillage, scratch):
    place = os.path.join(scratch, 'times')
    kernel(place, CPUS)
    user(place, first(own))
    (line,), err = report(sillage, place)
    check(err == '', err)
    check(spans(line) == FIRST, spans(line))
    check(line['joined'] == [{'trace': place + '/ust', 'by': 'clock', 'offset_ns': LATER}], line['joined'])
    two = [one for one in line['jobs']['worst'] if one['by'] == 'id=2'][0]
    check(two['blocked_ns'] == 100 * US and two['wait_ns'] == 10 * US and two['user_ns'] == 140 * US, two)
    check([(part['tid'], part['state']) for part in two['path']['segments']] == [(7, 'run'), (8, 'run'), (7, 'wait'), (7, 'run')],
          two['path']['segments'])
    out = run(sillage, 'report', '--job', JOB, place)[1]
    check('with %s/ust, by the same clock: its own times are 1.40 us less' % place in out and '350 us (id=1)' in out, out)
    # An export has both on the kernel's clock.
    file = os.path.join(scratch, 'times.perfetto')
    check(run(sillage, 'export', '-q', '-o', file, place)[0] == 0, 'export')
    with open(file, 'rb') as data:
        times = exported_times(data.read())
    wanted = {at + OFFSET for events in first(own) for at, *_ in events}
    check(wanted <= times and not {at + LATER for at in wanted} & times, sorted(times)[:4], sorted(wanted)[:4])
    # The kernel's trace alone has nothing of it, the user's nothing to explain.
    check('no event "a:begin" is recorded' in run(sillage, 'report', '--job', JOB, place + '/kernel')[2], 'kernel alone')
    check('both as one: sillage report --job ... %s' % place in run(sillage, 'report', '--job', JOB, place + '/ust')[2], 'user alone')
    check('--job explains what lies between' in run(sillage, 'report', place)[1], 'no job')
    for args in (), ('-i', '1ms'), ('--chunk-size', '4096', '--jobs', '2'):
        check_windows(sillage, place, *args)
    check_windows(sillage, place, job='sched_switch next_tid=$tid; a:end')
    # Of traces that are read alone the words say what they said; only the program's trace has its events.
    check([line['trace']['path'] for line in totals(sillage, place)[0]] == [place + '/kernel'], 'one trace')
    check([line['trace']['path'] for line in totals(sillage, place, job='sched_switch; sched_waking')[0]] ==
          [place + '/kernel', place + '/ust'], 'two traces')
    # Events of both.
    (line,), err = report(sillage, place, job='a:begin id=2; sched_switch next_tid=7; by global')
    check(err == '' and [(one['begin'] - OFFSET, one['end'] - OFFSET) for one in line['jobs']['longest']] == [(250 * US, 410 * US)], err)
    check_windows(sillage, place, job='a:begin id=2; sched_switch next_tid=7; by global')
    check('takes those of a session as one' in run(sillage, 'map', '-o', os.path.join(scratch, 'partials'), '-a', 'jobs', '--job',
                                                   'x = a:begin; sched_switch; by global', place)[2], 'map')
    # Neither says that what the other one has is not recorded, wherever they lie.
    other = os.path.join(scratch, 'elsewhere')
    for name in 'kernel', 'ust':
        shutil.copytree(os.path.join(place, name), os.path.join(other, 'of-' + name))
    for folder in place, other:
        err = run(sillage, 'analyze', '-a', 'cpu,jobs', '--job', 'x = ' + JOB, folder)[2]
        check('sched_switch' not in err and 'a:begin' not in err, folder, err)
    (line,), err = report(sillage, other)
    check(spans(line) == FIRST, spans(line))
    # A range.
    (line,), err = report(sillage, place, '--begin', '%dns' % (OFFSET + 200 * US), '--end', '%dns' % (OFFSET + 560 * US))
    check(list(spans(line)) == ['id=2'], spans(line))


def check_threads(sillage, scratch):
    """Numbers of a container, none at all, and of the kernel."""
    for name, at, contexts in ('container', lambda tid: (1, tid - 6), True), ('none', own, False):
        place = os.path.join(scratch, name)
        kernel(place, CPUS)
        user(place, first(at), contexts=contexts)
        (line,), err = report(sillage, place)
        check(spans(line) == FIRST, name, spans(line))
        check_windows(sillage, place)
    # By thread: the machine of each is its own.
    place = os.path.join(scratch, 'by-thread')
    kernel(place, CPUS)
    user(place, ([(110 * US, *own(7), 'a:begin', 1), (510 * US, *own(7), 'a:end', 1)],
                 [(210 * US, *own(8), 'a:begin', 1), (220 * US, *own(8), 'a:end', 1)]))
    (line,), err = report(sillage, place, job='a:begin; a:end')
    check(sorted((one['thread']['tid'], one['end'] - one['begin']) for one in line['jobs']['longest']) == [(7, 400 * US), (8, 10 * US)], line)
    check_windows(sillage, place, job='a:begin; a:end')
    # A period by thread has both, whoever tells the process.
    for text in 'a:begin; sched_out', 'sched_in; a:end', 'a:begin; sched_switch; by $tid':
        ended = []
        for measure in 'period', 'job':
            status, out, err = run(sillage, 'analyze', '-q', '-f', 'json', '-a', measure + 's', '--' + measure, 'x = ' + text, place)
            ended.append([line[measure + 's']['ended'] for line in map(json.loads, out.splitlines()) if line['type'] == 'total'])
        check(ended[0] == ended[1] and sum(ended[0]) > 0, text, ended)
    # It chose the buffer of CPU 0, and was moved to CPU 1 before it read the clock.
    place = os.path.join(scratch, 'moved')
    kernel(place, MOVED)
    user(place, ([(150 * US, *own(7), 'a:begin', 1), (310 * US, *own(7), 'a:end', 1)], []))
    (line,), err = report(sillage, place)
    check(spans(line) == {'id=1': (150 * US, 310 * US, 7, 7)}, spans(line))
    # The same in a container, once two events have said whom its number means.
    place = os.path.join(scratch, 'moved-in-container')
    kernel(place, MOVED)
    user(place, ([(150 * US, 1, 3, 'a:begin', 1), (160 * US, 1, 3, 'a:begin', 2), (310 * US, 1, 3, 'a:end', 1)], []))
    (line,), err = report(sillage, place)
    check(spans(line) == {'id=1': (150 * US, 310 * US, 7, 7)}, spans(line))
    # It is not known who ran: the number decides if that is known to be the kernel's, else nobody does.
    for name, more in ('known', [(20 * US, *own(5), 'a:begin', 3), (30 * US, *own(5), 'a:end', 3)]), ('unknown', []):
        place = os.path.join(scratch, name)
        kernel(place, CPUS, losses=[(0, 2)])
        user(place, (more + first(own)[0], first(own)[1]))
        (line,), err = report(sillage, place)
        wanted = {'known': {**FIRST, 'id=3': (20 * US, 30 * US, 5, 5)},
                  'unknown': {key: (begin, end, None, 8 if key == 'id=1' else 7) for key, (begin, end, _, _) in FIRST.items()}}
        check(spans(line) == wanted[name], name, spans(line))
        check_windows(sillage, place, has_parts=name == 'unknown')


def check_lost(sillage, scratch):
    """What the kernel lost cuts nothing of user space; what the program's trace lost does."""
    place = os.path.join(scratch, 'lost-kernel')
    kernel(place, CPUS, losses=[(0, 3)])
    user(place, first(own))
    (line,), err = report(sillage, place)
    check(line['gaps'] == 1 and line['jobs']['cut'] == 0 and spans(line) == FIRST, spans(line))
    check_windows(sillage, place)
    check_windows(sillage, place, job='a:begin; a:end')
    (line,), err = report(sillage, place, job='a:begin; sched_switch next_tid=5; by global')
    check(line['jobs']['cut'] == 1, line['jobs'])
    check_windows(sillage, place, job='a:begin; sched_switch next_tid=5; by global')
    place = os.path.join(scratch, 'lost-user')
    kernel(place, CPUS)
    user(place, ([(20 * US, *own(5), 'a:begin', 3), (30 * US, *own(5), 'a:end', 3), *first(own)[0]], first(own)[1]), losses=[(0, 4)])
    (line,), err = report(sillage, place)
    check(line['jobs']['cut'] == 2 and list(spans(line)) == ['id=3'] and line['gaps'] == 0, line['jobs'])
    check_windows(sillage, place)


def check_extents(sillage, scratch):
    """One begins earlier and ends later, or has no event at all."""
    place = os.path.join(scratch, 'longer')
    kernel(place, CPUS)
    user(place, ([(1 * US, *own(7), 'a:begin', 8), (2 * US, *own(7), 'a:end', 8), *first(own)[0], (2000 * US, *own(7), 'a:begin', 9),
                  (2100 * US, *own(7), 'a:end', 9)], first(own)[1]))
    (line,), err = report(sillage, place)
    check(spans(line) == FIRST and line['jobs']['outside'] == 2, line['jobs'])
    check('and 2 that began before or after the kernel\'s trace' in run(sillage, 'report', '--job', JOB, place)[1], 'outside')
    place = os.path.join(scratch, 'empty')
    kernel(place, CPUS)
    user(place, ())
    (line,), err = report(sillage, place)
    check(line['jobs']['count'] == 0 and len(line['joined']) == 1, line)


def check_others(sillage, scratch):
    """Clocks that differ or are unknown, hosts, two kernels."""
    other = CLOCK.replace('0', '1')
    place = os.path.join(scratch, 'clocks')
    kernel(place, CPUS)
    user(place, first(own), uuid=other)
    (line,), err = report(sillage, place)
    check('joined' not in line and 'ust counts by another clock than' in err and line['jobs']['count'] == 0, err)
    check('another clock' not in run(sillage, 'report', place)[2], 'told without --job')
    place = os.path.join(scratch, 'hosts')
    kernel(place, CPUS)
    user(place, first(own), host='other')
    (line,), err = report(sillage, place)
    check('joined' not in line and 'is of another host than' in err, err)
    for name, uuids in ('no-uuid', (None, None)), ('one-uuid', (CLOCK, None)), ('no-uuid-at-all', (None, 'none')):
        place = os.path.join(scratch, name)
        kernel(place, CPUS, uuid=uuids[0])
        user(place, first(own), uuid=uuids[1])
        (line,), err = report(sillage, place)
        moved = {key: (begin + LATER, end + LATER) for key, (begin, end, _, _) in FIRST.items()}
        check({key: one[:2] for key, one in spans(line).items()} == moved and line['joined'][0]['by'] == 'epoch', name, spans(line))
        check('by the time since the epoch: no uuid says' in run(sillage, 'report', '--job', JOB, place)[1], name)
    place = os.path.join(scratch, 'times-apart')
    kernel(place, CPUS, uuid=None)
    user(place, [[(at + 10 ** 10, *rest) for at, *rest in events] for events in first(own)], uuid=None)
    (line,), err = report(sillage, place)
    check('joined' not in line and 'is of another time than' in err, err)
    # Of two sessions below one folder each is for itself, and so are two machines.
    place = os.path.join(scratch, 'sessions')
    kernel(place + '/one', CPUS)
    user(place + '/one', first(own))
    kernel(place + '/two', CPUS)
    lines, err = report(sillage, place)
    check([line.get('joined', [{}])[0].get('trace') for line in lines] == [place + '/one/ust', None], lines)
    # A trace of each process: all are read, and few are named.
    place = os.path.join(scratch, 'many')
    kernel(place, CPUS)
    for i in range(20):
        user(place, [[(at, pid, tid, what, number + 10 * i) for at, pid, tid, what, number in events] for events in first(own)], name='ust/pid/a-%d' % i)
    (line,), err = report(sillage, place)
    check(line['jobs']['count'] == 40 and len(line['joined']) == 20 and err == '', line['jobs']['count'], err)
    out = run(sillage, 'report', '--job', JOB, place)[1]
    check(out.count('  with ') == 5 and '  ... and 15 more' in out, out[:600])
    # A session that was rotated: of the kernel's trace two chunks, of the program's one.
    place = os.path.join(scratch, 'rotated')
    kernel(place + '/archives/20260101T000000+0000-20260101T000001+0000-1', [cpu[:2] for cpu in CPUS])
    kernel(place + '/archives/20260101T000001+0000-20260101T000002+0000-2', [cpu[2:] for cpu in CPUS])
    user(place + '/archives/20260101T000000+0000-20260101T000001+0000-1', first(own), name='ust/uid/0/64-bit')
    (line,), err = report(sillage, place)
    check(spans(line) == FIRST and err == '', spans(line), err)
    # Two kernels' traces, one after the other: each with the program's.
    place = os.path.join(scratch, 'kernels')
    kernel(place, CPUS, name='early')
    kernel(place, [[(at + 1000, *rest) for at, *rest in cpu] for cpu in CPUS], name='late')
    user(place, [events + [(at + 1000 * US, pid, tid, what, number + 10) for at, pid, tid, what, number in events]
                 for events in map(list, first(own))])
    lines, err = report(sillage, place)
    check([list(spans(line)) for line in lines] == [['id=1', 'id=2'], ['id=11', 'id=12']], lines)


# ---- named ----

NAMED = JOB + '; only kind(id)=%d; group kind(id), id'


def wanted_rows(events, kind):
    """Durations of each row, of the executions whose id is called @kind when they begin; as ids are called at the end."""
    called, begun, rows = {}, {}, {}
    for at, _, _, name, number, *of in events:
        if name == 'a:name':
            called[number] = of[0]
        elif name == 'a:begin' and called.get(number) == kind:
            begun[number] = at
        elif name == 'a:end' and number in begun:
            rows.setdefault(number, []).append(at - begun.pop(number))
    return {'%d id=%d' % (called[number], number): (len(ns), sum(ns), max(ns)) for number, ns in rows.items()}


def check_names(sillage, scratch):
    draw = random.Random(5)
    for kind in range(3):
        events = []
        for at in range(110 * US, 290 * US, US):
            number = draw.randrange(6)
            if draw.random() < 0.2:
                events.append((at, *own(7), 'a:name', number, draw.randrange(3)))
            else:
                events.append((at, *own(7), draw.choice(('a:begin', 'a:end')), number))
        wanted, place = wanted_rows(events, kind), os.path.join(scratch, 'named-%d' % kind)
        kernel(place, CPUS)
        user(place, [events])
        label = 'kind = a:name key=id name=kind'
        (line,), err = report(sillage, place, '--label', label, job=NAMED % kind)
        rows = {row['name']: (row['count'], row['total_ns'], row['max_ns']) for row in line['jobs']['rows'] if row['count']}
        check(wanted and rows == wanted and err == '', kind, rows, wanted)
        check({one['row'] for one in line['jobs']['longest']} == set(wanted), line['jobs']['longest'])
        status, out, err = run(sillage, 'analyze', '-q', '-f', 'json', '-a', 'jobs', '--label', label, '--job', 'x = ' + NAMED % kind, place + '/ust')
        totals = [one for one in map(json.loads, out.splitlines()) if one.get('type') == 'total']
        rows = {row['label'][2:]: tuple(row['duration'][part] for part in ('count', 'sum_ns', 'max_ns')) for row in totals[0]['jobs']['jobs'] if row['duration']['count']}
        check(rows == wanted, kind, rows, wanted)
    status, out, err = run(sillage, 'report', '--label', label, '--job', NAMED % 7, place)
    check(re.search(r'--job: \d+ begin, and only leaves all of them out', err) and '; only kind(id)=7: 0' in out, err, out[:300])
    # A job of a model, by its name.
    model = os.path.join(scratch, 'model')
    with open(model, 'w') as file:
        file.write('# of a test\nlabel kind = a:name key=id name=kind\nperiod other = a:x; a:y\njob asked = %s\njob late = %s; every 1ms\n' %
                   (NAMED % 2, JOB))
    (again,), err = report(sillage, place, '--model', model, job='asked')
    check(again['jobs'] == line['jobs'] and err == '', err)
    (line,), err = report(sillage, place, '--model', model, job='late')
    check(line['jobs']['count'] > 0 and 'period_ns' not in line['jobs'], line['jobs'])
    alone = os.path.join(scratch, 'alone')
    shutil.copytree(place + '/ust', alone)
    for job, shown in ('asked', 'asked'), ('mine = ' + NAMED % 2, 'mine'):
        err = run(sillage, 'report', '--job', job, '--model', model, alone)[2]
        command = re.search(r'took: sillage (.*)\); to record', err)
        check(command and shown in run(sillage, *shlex.split(command[1]))[1], err)
    check('give --job asked, late' in run(sillage, 'report', '--model', model, place)[2], 'which job')


# ---- mirrored ----

MIRROR = {'u:entry': (), 'u:exit': (), 'u:waking': (('u64', 'tid'),), 'u:in': (('u64', 'tid'),)}
# What the kernel's events are called in the program's trace, and the field that goes with them.
CALLED = {'syscall_entry_read': ('u:entry', None), 'syscall_exit_read': ('u:exit', None),
          'sched_waking': ('u:waking', 'tid'), 'sched_switch': ('u:in', 'next_tid')}
MIRRORED = (('syscall_entry_read; syscall_exit_read', 'u:entry; u:exit'),
            ('sched_waking; sched_switch; by global tid=next_tid', 'u:waking; u:in; by global tid'),
            ('sched_waking; u:in; by global tid', 'u:waking; sched_switch; by global tid=next_tid'))


def mirrored(trace):
    """(ts, name, value) of each CPU, and the uuid of its clock."""
    out = subprocess.run(['babeltrace2', '--clock-cycles', '--no-delta', trace], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True)
    cpus = {}
    for line in out.stdout.decode(errors='replace').splitlines():
        found = re.match(r'\[(\d+)\] (?:\S+ )?(\w+): \{ cpu_id = (\d+) \}', line)
        name, field = CALLED.get(found[2], (None, None))
        if name:
            value = int(re.search(r'\b%s = (-?\d+)' % field, line)[1]) if field else 0
            cpus.setdefault(int(found[3]), []).append((int(found[1]), name, value))
    with open(os.path.join(trace, 'metadata'), 'rb') as file:
        text = file.read().decode(errors='replace')
    clock = text[text.index('clock {'):]
    return cpus, re.search(r'uuid = "([0-9a-f-]+)"', clock)[1], int(re.search(r'offset = (\d+)', clock)[1])


def check_mirror(sillage, scratch, trace):
    """A program whose events are the kernel's, at the same times: executions of either are the same."""
    place = os.path.join(scratch, os.path.basename(os.path.dirname(trace)))
    os.makedirs(place)
    os.symlink(os.path.abspath(trace), os.path.join(place, 'kernel'))
    cpus, uuid, offset = mirrored(trace)
    text = with_clock(models.made_metadata(MIRROR), uuid).replace('offset = 0;', 'offset = %d;' % (offset + 123456))
    text = re.sub(r'hostname = "\w+"; ', '', text).replace('int32_t _vpid; int32_t _vtid;', 'int32_t _one; int32_t _two;')
    synthetic.Made(place, 'ust', [
        synthetic.packet(cpu, 0, events[0][0], events[-1][0], [models.made_event(ts, 0, 0, name, value, events=MIRROR)[1] for ts, name, value in events])
        for cpu, events in sorted(cpus.items())], text)
    for kernels, users in MIRRORED:
        wanted, got = (report(sillage, place, '--worst', '5', job=job)[0][0]['jobs'] for job in (kernels, users))
        for one in [one for jobs in (wanted, got) for key in ('longest', 'worst', 'open') for one in jobs[key]]:
            one.pop('by', None)  # one field has two names
        check(wanted['count'] > 0 and {**got, 'pattern': kernels} == {**wanted, 'pattern': kernels}, trace, users,
              [(wanted[key], got[key]) for key in wanted if key != 'pattern' and wanted[key] != got[key]][:1])
        check_windows(sillage, place, job=users)


# ---- a service ----

def check_service(sillage, folder):
    """What it noted, of each instance, on the kernel's clock."""
    with open(os.path.join(folder, 'truth.json')) as file:
        offset = json.load(file)['clock_offset_ns']
    (line,), err = report(sillage, folder, job='service:request_begin; service:request_end; by id')
    check(err == '' and line['joined'][0]['by'] == 'clock', err)
    rows = {}
    for one in line['jobs']['worst']:
        rows[one['thread']['pid'], int(one['by'].split('=')[1])] = one
    count = waited = 0
    for name in sorted(os.listdir(folder)):
        if not name.startswith('service.'):
            continue
        with open(os.path.join(folder, name)) as file:
            noted = json.load(file)
        count += len(noted['requests'])
        for request in noted['requests']:
            row = rows[noted['pid'], request['id']]
            check(abs(row['begin'] - offset - request['begin_ns']) < 100000 and abs(row['end'] - offset - request['end_ns']) < 100000 and
                  row['thread']['tid'] == request['tid'], request, row)
            held = [one for one in noted['lock_held'] if request['method'] == 'PUT' and one['id'] != request['id'] and
                    one['begin_ns'] < request['end_ns'] and request['begin_ns'] < one['end_ns'] < request['end_ns']]
            for one in held:
                waited += 1
                check(one['tid'] in [part['thread']['tid'] for part in row['path']['parts'] if part['thread']['tid'] != request['tid']][:1],
                      request, one, row['path'])
    check(line['jobs']['count'] == count and (waited > 0 or len(rows) > 1000), folder, count, waited)
    for job in 'service:request_begin; service:request_end; by id', 'service:loop_begin; service:loop_end':
        check_windows(sillage, folder, job=job)
    # What the kernel's events say is what they say of its trace alone.
    asked, loop = ('analyze', '-q', '-f', 'json', '-a', 'cpu,sched,waits,jobs'), 'service:loop_begin; service:loop_end'
    (both,), (alone,) = ([json.loads(line) for line in run(sillage, *asked, '--job', 'x = ' + job, place)[1].splitlines()
                          if '"type":"total"' in line] for job, place in ((loop, folder), ('run', folder + '/kernel')))
    check(all(both[name] == alone[name] for name in ('begin', 'end', 'cpu', 'sched', 'waits')), folder,
          [key for name in ('cpu', 'sched', 'waits') for key in both[name] if both[name][key] != alone[name][key]])
    return waited


def check_loops(sillage, folder):
    (line,), err = report(sillage, folder, '--every', '5ms', job='service:loop_begin; service:loop_end')
    late = [one for one in line['jobs']['worst'] if one['response_ns'] > 5000000]
    check(late and all(one['arrival_from'] == 'timer' for one in late), folder, len(late))
    for one in late:
        status, out, err = run(sillage, 'report', '-f', 'json', '-n', '0', '--thread', one['thread']['tid'],
                               '--begin', '%dns' % one['arrival'], '--end', '%dns' % one['end'], folder + '/kernel')
        check(status == 0, err)
        wanted = {rival['thread']['tid']: rival['total_ns'] for rival in json.loads(out)['rivals']}
        check({rival['thread']['tid']: rival['total_ns'] for rival in one['rivals']} == wanted, one['rivals'], wanted)


def main():
    sillage, traces = sys.argv[1], sys.argv[2:]
    services = [trace for trace in traces if os.path.basename(trace) != 'kernel']
    with tempfile.TemporaryDirectory() as scratch:
        for test in check_times, check_threads, check_lost, check_extents, check_others, check_names:
            test(sillage, scratch)
        for trace in traces:
            if trace not in services:
                check_mirror(sillage, scratch, trace)
    for folder in services:
        print('# %s: %d waits for a lock' % (os.path.basename(folder), check_service(sillage, folder)))
        check_loops(sillage, folder)
    if not services:
        print('# skipped: services, whose traces are not there')
    print('ok joined')


if __name__ == '__main__':
    main()
