#!/usr/bin/env python3
"""processes: ids of several programs that write to one trace, or to one each, against a plain program.

Goal    Two processes with equal ids never mix: keys are of a process, by the context vpid, or by the trace where its
        buffers are of one process; `by global` says otherwise.  A trace that does not tell processes apart says so.
Method  Two processes, with equal tids too, give the same few ids again and again: pairs overlap, begin again, end
        without a begin.  A plain program pairs them as definitions.md (4.12, 6.1) has it.

usage: processes.py SILLAGE
"""
import collections
import json
import os
import random
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'property'))
import models
import synthetic

EVENTS = {'p:begin': (('u64', 'id'),), 'p:more': (('u64', 'id'),), 'p:end': (('u64', 'id'),)}
PIDS, TIDS = (100, 200), (7, 8, 9)
BEGIN, MORE, END = 'p:begin', 'p:more', 'p:end'
ID, THREAD = ('id',), ('tid',)

# Name, text, events, what each pair of events agrees in, each.
PERIODS = (
    ('own', 'p:begin; p:end; by id', (BEGIN, END), (('pid', 'id'),), False),
    ('any', 'p:begin; p:end; by global id', (BEGIN, END), (ID,), False),
    ('named', 'p:begin; p:end; by global $pid, id', (BEGIN, END), (('pid', 'id'),), False),
    ('on-thread', 'p:begin; p:end; by $tid, id', (BEGIN, END), (('pid', 'tid', 'id'),), False),
    ('plain', 'p:begin; p:end', (BEGIN, END), (('pid', 'tid'),), False),
    ('chain', 'p:begin; p:more; by id; then p:end; by id', (BEGIN, MORE, END), (('pid', 'id'), ('pid', 'id')), False),
    ('there', 'p:begin; p:more; by global id; then p:end', (BEGIN, MORE, END), (ID, ('pid', 'tid')), False),
    ('many', 'p:begin; p:more; by id; each', (BEGIN, MORE), (('pid', 'id'),), True),
)
JOBS = (('own', 'p:begin; p:end; by id', ('pid', 'id')), ('any', 'p:begin; p:end; by global id', ID),
        ('named', 'p:begin; p:end; by global $pid, id', ('pid', 'id')))


def events_of(seed, count=3000):
    """[(ns, cpu, pid, tid, name, id)], which go up in ids that are given again."""
    rng, ts, found = random.Random(seed), 10 ** 9, []
    for _ in range(count):
        ts += rng.choice((1000, 40000)) + rng.randrange(500)
        found.append((ts, rng.randrange(2), rng.choice(PIDS), rng.choice(TIDS), rng.choice((BEGIN, BEGIN, MORE, END, END)), rng.randrange(5)))
    return found


def key_of(event, names):
    return tuple({'pid': event[2], 'tid': event[3], 'id': event[5]}[name] for name in names)


def periods_of(events):
    """{name: Counter(count, sum)} and all of ended, restarted, unmatched, open."""
    rows, counts = collections.defaultdict(collections.Counter), collections.Counter()
    for name, _, steps, links, each in PERIODS:
        waiting = {}
        for event in events:
            for step in reversed(range(len(steps))):
                if steps[step] != event[4]:
                    continue
                begin = event[0]
                if step > 0:
                    at = step, key_of(event, links[step - 1])
                    if at not in waiting:
                        counts['unmatched'] += step == 1
                        continue
                    begin = waiting[at][0]
                    waiting[at] = begin, True
                    if not each:
                        del waiting[at]
                if step + 1 == len(steps):
                    counts['ended'] += 1
                    rows[name].update(count=1, sum=event[0] - begin)
                else:
                    at = step + 1, key_of(event, links[step])
                    counts['restarted'] += at in waiting and not waiting[at][1]
                    waiting[at] = begin, False
        counts['open'] += sum(not gone_on for _, gone_on in waiting.values())
    return rows, counts


def jobs_of(events):
    """{name: Counter(count, sum, overlapped)}"""
    rows = {}
    for name, _, key in JOBS:
        rows[name], waiting = collections.Counter(), {}
        for event in events:
            at = key_of(event, key)
            if event[4] == END and at in waiting:
                rows[name].update(count=1, sum=event[0] - waiting.pop(at))
            elif event[4] == BEGIN:
                rows[name]['overlapped'] += at in waiting
                waiting[at] = event[0]
    return rows


def write(scratch, name, events, contexts, scheme, vpid=None):
    """A trace of them, with these contexts, which may name its process in the environment."""
    text = models.made_metadata(EVENTS)
    declared = ' '.join('int32_t _%s;' % context for context in contexts)
    text = text.replace('int32_t _vpid; int32_t _vtid;', declared)
    more = 'tracer_buffering_scheme = "%s"; ' % scheme + ('vpid = %d; procname = "prog-%d"; ' % (vpid, vpid) if vpid else '')
    text = text.replace('domain = "ust"', more + 'domain = "ust"')
    assert declared in text and more in text
    cpus = [[], []]
    for ts, cpu, pid, tid, what, id in events:
        data = models.made_event(ts, pid, tid, what, id, events=EVENTS)[1]
        cpus[cpu].append(data[:10] + data[14:] if 'vpid' not in contexts else data)
    return synthetic.Made(scratch, name, [synthetic.packet(cpu, 0, 10 ** 9, events[-1][0], data) for cpu, data in enumerate(cpus)], text).path


def analyzed(sillage, path, *args):
    asked = [arg for name, text, *_ in PERIODS for arg in ('--period', '%s = %s' % (name, text)) if '$pid' not in text or '-no-pid' not in path]
    asked += [arg for name, text, *_ in JOBS for arg in ('--job', '%s = %s' % (name, text)) if '$pid' not in text or '-no-pid' not in path]
    done = subprocess.run([sillage, 'analyze', '-f', 'json', '-a', 'periods,jobs', '-n', '0', *asked, *args, path],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert done.returncode == 0, done.stderr.decode()
    rows, counts, jobs, processes = collections.defaultdict(collections.Counter), collections.Counter(), collections.defaultdict(collections.Counter), {}
    for line in map(json.loads, done.stdout.decode().splitlines()):
        if line['type'] != 'total':
            continue
        for row in line['periods']['by_name']:
            rows[row['name']].update(count=row['time']['count'], sum=row['time']['sum_ns'])
        counts.update({key: line['periods'][key] for key in ('ended', 'restarted', 'unmatched', 'open')})
        for row in line['jobs']['jobs']:
            jobs[row['name']].update(count=row['duration']['count'], sum=row['duration']['sum_ns'])
        jobs['all'].update(overlapped=line['jobs']['overlapped'])
        processes.update({row.get('pid'): row['time']['count'] for row in line['periods']['processes']})
    return rows, counts, jobs, processes, done.stderr.decode()


def compare(what, found, events, faults):
    rows, counts = periods_of(events)
    jobs = jobs_of(events)
    wanted = collections.Counter(overlapped=sum(row['overlapped'] for row in jobs.values()))
    for name in rows:
        if found[0][name] != rows[name]:
            faults.append('%s: period %s is %r, not %r' % (what, name, dict(found[0][name]), dict(rows[name])))
    for key in ('ended', 'restarted', 'unmatched', 'open'):
        if found[1][key] != counts[key]:
            faults.append('%s: %s is %d, not %d' % (what, key, found[1][key], counts[key]))
    for name in jobs:
        if any(found[2][name][key] != jobs[name][key] for key in ('count', 'sum')):
            faults.append('%s: job %s is %r, not %r' % (what, name, dict(found[2][name]), dict(jobs[name])))
    if found[2]['all']['overlapped'] != wanted['overlapped']:
        faults.append('%s: overlapped is %r, not %r' % (what, found[2]['all'], wanted))


def grouped(sillage, path, period):
    """{name: periods} of all traces below."""
    out = subprocess.run([sillage, 'analyze', '-q', '-f', 'json', '-a', 'periods', '-n', '0', '--period', period, path], stdout=subprocess.PIPE, check=True).stdout
    found = collections.Counter()
    for line in map(json.loads, out.decode().splitlines()):
        for row in line['periods']['by_name'] if line['type'] == 'total' else ():
            found[row['name']] += row['time']['count']
    return found


def check_names(sillage, uid, own, events, faults):
    """What names processes and threads, as groups and in conditions."""
    ended = collections.Counter()
    for pid in PIDS:
        for tid in TIDS:
            some = [event for event in events if event[2:4] == (pid, tid)]
            ended[pid, tid] = periods_of(some)[0]['on-thread']['count']
    by_pid = {pid: sum(ended[pid, tid] for tid in TIDS) for pid in PIDS}
    for path in (uid, own):
        for field in ('$pid', 'vpid', '$ctx.vpid'):
            word = field.replace('$ctx', 'context')
            wanted = {'x %s=%d' % (word, pid): by_pid[pid] for pid in PIDS}
            found = grouped(sillage, path, 'x = p:begin; p:end; by $tid, id; group ' + field)
            faults += ['%s: group %s: %r, not %r' % (path, field, found, wanted)] if found != wanted else []
            wanted = sum(ended[100, tid] for tid in (8, 9))
            found = grouped(sillage, path, 'x = p:begin %s<200, vtid>7; p:end; by $tid, id' % field)['x']
            faults += ['%s: %s<200: %d, not %d' % (path, field, found, wanted)] if found != wanted else []
        found, wanted = grouped(sillage, path, 'x = p:begin; p:end; by $tid, id; group $tid, $pid'), {
            'x $tid=%d $pid=%d' % (tid, pid): count for (pid, tid), count in ended.items()}
        faults += ['%s: group $tid, $pid: %r, not %r' % (path, found, wanted)] if found != wanted else []
    wanted = {'x procname=prog-%d' % pid: by_pid[pid] for pid in PIDS}
    found = grouped(sillage, own, 'x = p:begin procname~/^prog/; p:end; by $tid, id; group procname')
    faults += ['group procname: %r, not %r' % (found, wanted)] if found != wanted else []


def of_processes(events):
    """How many periods of threads each process has."""
    found = collections.Counter()
    for pid in PIDS:
        rows = periods_of([event for event in events if event[2] == pid])[0]
        found[pid] = sum(rows[name]['count'] for name in ('on-thread', 'plain'))
    return found


def main():
    sillage = sys.argv[1]
    synthetic.SILLAGE = sillage
    faults = []
    with tempfile.TemporaryDirectory(prefix='sillage-processes-') as scratch:
        for seed in (1, 2, 3):
            events = events_of(seed)
            uid = write(scratch, 'uid-%d' % seed, events, ('vpid', 'vtid'), 'uid')
            for jobs, chunk in (('0', '1M'), ('3', '300')):
                found = analyzed(sillage, uid, '-j', jobs, '--chunk-size', chunk)
                compare('uid', found, events, faults)
                if found[3] != of_processes(events) or found[4]:
                    faults.append('uid: processes are %r, says %r' % (found[3], found[4]))

            own = os.path.join(scratch, 'pid-%d' % seed)
            parts = [[event for event in events if event[2] == pid] for pid in PIDS]
            for pid, part in zip(PIDS, parts):
                write(own, 'prog-%d' % pid, part, ('vtid',), 'pid', pid)
            found = analyzed(sillage, own)
            each = [(periods_of(part), jobs_of(part)) for part in parts]
            for at, key in ((0, 'rows'), (1, 'counts')):
                wanted = collections.Counter() if at else collections.defaultdict(collections.Counter)
                for one, _ in each:
                    for name in one[at]:
                        if at:
                            wanted[name] += one[1][name]
                        else:
                            wanted[name].update(one[0][name])
                if {name: found[at][name] for name in wanted} != dict(wanted):
                    faults.append('pid: %s are %r, not %r' % (key, found[at], wanted))
            if found[3] != of_processes(events) or found[4]:
                faults.append('pid: processes are %r, not %r, says %r' % (found[3], of_processes(events), found[4]))

            check_names(sillage, uid, own, events, faults)
            # Nothing tells processes apart: they are one, and that is said of all that asked for it.
            mixed = write(scratch, 'uid-no-pid-%d' % seed, events, ('vtid',), 'uid')
            found = analyzed(sillage, mixed)
            one = [event[:2] + (1,) + event[3:] for event in events]
            compare_names = [name for name, text, *_ in PERIODS if '$pid' not in text]
            rows = periods_of(one)[0]
            faults += ['no pid: %s is %r, not %r' % (name, found[0][name], rows[name]) for name in compare_names if found[0][name] != rows[name]]
            said = sorted(line.split(': ')[1] for line in found[4].splitlines() if 'add-context -u -t vpid' in line)
            if said != ['--job own', '--period chain', '--period many', '--period own'] or found[4].count('\n') != len(said):
                faults.append('no pid: says %s' % found[4])
    print('\n'.join('# ' + fault for fault in faults[:20]))
    print('%s: %d faults' % ('not ok' if faults else 'ok', len(faults)))
    return 1 if faults else 0


if __name__ == '__main__':
    sys.exit(main())
