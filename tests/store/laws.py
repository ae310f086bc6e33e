#!/usr/bin/env python3
"""laws: what a store has is what `analyze` prints.

Goal    `history` of the store of a trace gives the windows and the total of `analyze -i`, byte by byte in
        JSON: with the windows that were stored, and with longer ones put together from them.  Windows
        that are stored again replace themselves.  The store of several traces has what each has.
        `--merged` adds up: events by name of all are the sums of those of each.  SQL sees the same
        figures, and names with quotes in them are data.
Method  The traces given, and generated ones (tests/property/generated.py), some with losses.

usage: laws.py SILLAGE [--count N] [--seed S] TRACE...
"""
import argparse
import contextlib
import json
import os
import random
import shutil
import sqlite3
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'property'))
import generated
from database import copied

SHORT, LONG = '10ms', ('10ms', '50ms', '1s')
# Without preempt: its pairs of threads are not kept.
KEPT = 'count,cpu,io,files,sched,syscalls,irq,block,memory,net,lost,ust,faults,state'
ALL = ['-q', '-f', 'json', '-a', KEPT, '-j', '0']


def lines(*command):
    """Windows and totals, as they were printed."""
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if done.returncode != 0 or done.stderr:
        raise SystemExit('%s: exit %d: %s' % (' '.join(command), done.returncode, done.stderr.decode()))
    return [line for line in done.stdout.splitlines() if line.startswith((b'{"type":"window"', b'{"type":"total"'))]


def difference(a, b, path=''):
    if isinstance(a, dict) and isinstance(b, dict) and a.keys() == b.keys():
        pairs = [(a[key], b[key], '%s.%s' % (path, key)) for key in a]
    elif isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
        pairs = [(a[i], b[i], '%s[%d]' % (path, i)) for i in range(len(a))]
    else:
        return '' if a == b else '%s: %s, %s' % (path, a, b)
    return next((found for found in (difference(*pair) for pair in pairs) if found), '')


def compare(what, expected, found):
    if expected == found:
        return
    if len(expected) != len(found):
        raise SystemExit('%s: %d lines, expected %d' % (what, len(found), len(expected)))
    for number, (a, b) in enumerate(zip(expected, found)):
        if a != b:
            raise SystemExit('%s: line %d: %s' % (what, number, difference(json.loads(a), json.loads(b)) or 'order'))


def rows_of(path):
    with contextlib.closing(sqlite3.connect(path)) as db:
        db.text_factory = bytes
        names = [name.decode() for (name,) in db.execute('SELECT name FROM sqlite_master WHERE type = "table"')]
        return {name: sorted(db.execute('SELECT * FROM "%s"' % name), key=repr) for name in names}


def by_name(line):
    return json.loads(line)['count']['by_name']


def figures_of(line):
    return {key: value for key, value in json.loads(line).items()
            if key not in ('type', 'seq', 'complete', 'lag_ns', 'stored', 'summed_threads')}


def check_at(name, sillage, path, plain):
    """--at a time is the shortest window that has it, whose first ns is in it, and whose end is not."""
    windows = [line for line in plain if line.startswith(b'{"type":"window"')]
    for line in windows[:1] + windows[len(windows) // 2:][:1] + windows[-1:]:
        window = json.loads(line)
        for at in window['begin'], window['end'] - 1:
            found = [figures_of(one) for one in lines(sillage, 'history', *ALL[:-2], '--at', '%dns' % at, path)]
            if figures_of(line) not in found:
                raise SystemExit('%s: --at %d: %s' % (name, at, difference(figures_of(line), found[0])))


def check(sillage, scratch, name, traces):
    path = os.path.join(scratch, 'a.db')
    stored = lines(sillage, 'analyze', *ALL, '-i', SHORT, '--store', path, *traces)
    plain = lines(sillage, 'analyze', *ALL, '-i', SHORT, *traces)
    compare(name + ': with --store', plain, stored)
    for interval in LONG:
        expected = plain if interval == SHORT else lines(sillage, 'analyze', *ALL, '-i', interval, *traces)
        compare('%s: -i %s' % (name, interval), sorted(expected),
                sorted(lines(sillage, 'history', *ALL[:-2], '-i', interval, path)))
    check_at(name, sillage, path, plain)
    compare(name + ': total', sorted(lines(sillage, 'analyze', *ALL, *traces)),
            sorted(lines(sillage, 'history', *ALL[:-2], path)))
    before = rows_of(path)
    lines(sillage, 'analyze', *ALL, '-i', SHORT, '--store', 'sqlite:' + path, *traces)
    if rows_of(path) != before:
        raise SystemExit(name + ': what was stored again did not replace itself')
    totals = [by_name(line) for line in plain if b'"type":"total"' in line]
    merged = by_name(lines(sillage, 'history', *ALL[:-2], '--merged', path)[-1])
    summed = {key: sum(total.get(key, 0) for total in totals) for total in totals for key in total}
    if merged != summed:
        raise SystemExit(name + ': --merged: %s' % difference(summed, merged))
    with contextlib.closing(sqlite3.connect(path)) as db:
        db.text_factory = lambda text: text.decode(errors='replace')
        found = dict(db.execute('SELECT name, sum(count) FROM count_by_name GROUP BY name'))
    if found != summed:
        raise SystemExit(name + ': SQL: %s' % difference(summed, found))
    os.unlink(path)


NAMED = ('--label', 'line = irq_handler_entry key=irq name=name',
         '--period', 'served = irq_handler_entry; irq_handler_exit; by irq, $cpu; group line(irq)',
         '--job', 'stay = sched_in; sched_out; deadline 1ms; group next_prio')


def check_named(sillage, scratch, trace):
    """Of periods and jobs, with what divides them, and with names for ids."""
    path = os.path.join(scratch, 'named.db')
    base = ['-q', '-f', 'json', '-n', '1000']
    lines(sillage, 'analyze', *base, '-i', SHORT, *NAMED, '--store', path, trace)
    for interval in LONG:
        expected = lines(sillage, 'analyze', *base, '-i', interval, *NAMED, trace)
        compare('named: -i ' + interval, expected, lines(sillage, 'history', *base, '-i', interval, path))
    total = json.loads(expected[-1])
    rows = {analysis: [row for row in total[analysis][what] if row['name'] != row.get('label', row['name'])]
            for analysis, what in (('periods', 'by_name'), ('periods', 'longest'))}
    if not all(rows.values()) or len(total['jobs']['jobs']) < 2:
        raise SystemExit('named: nothing has a name, or one row')
    with contextlib.closing(sqlite3.connect(path)) as db:
        found = {label for (label,) in db.execute('SELECT label FROM periods_by_name')}
    if found != {row['label'] for row in total['periods']['by_name']}:
        raise SystemExit('named: SQL: %s' % found)
    os.unlink(path)


# What was stored one after the other, as lists of analyses and -i; lists that history is asked for.
MIXED = (('cpu', '1s'), ('sched,cpu', '10ms')), (('sched', '10ms'), ('cpu,irq', '10ms')), \
        (('cpu,sched', '10ms'), ('cpu', '50ms')), (('count', '10ms'), ('sched', '50ms'), ('cpu,sched', '1s'))


def check_mixed(sillage, scratch, trace):
    """Runs of one trace with other analyses and other lengths: each of them is there as analyze prints it."""
    for number, runs in enumerate(MIXED):
        path = os.path.join(scratch, 'mixed.db')
        for lists, interval in runs:
            lines(sillage, 'analyze', '-q', '-f', 'json', '-a', lists, '-i', interval, '--store', path, trace)
        stored = {name for lists, _ in runs for name in lists.split(',')}
        for lists in {lists for lists, _ in runs} | {'cpu', 'sched', 'cpu,sched'} | {','.join(sorted(stored))}:
            if not set(lists.split(',')) <= stored:
                continue
            for interval in ([], ['-i', '1s']):
                options = ['-q', '-f', 'json', '-a', lists, *interval]
                compare('mixed %d: %s' % (number, options), lines(sillage, 'analyze', *options, trace),
                        lines(sillage, 'history', *options, path))
        os.unlink(path)


def said(*command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def check_short(sillage, scratch, trace):
    """Of a time without an analysis that is said, in text, JSON and on stderr; no part of it is a figure of all."""
    path = os.path.join(scratch, 'short.db')
    lines(sillage, 'analyze', '-q', '-f', 'json', '-a', 'cpu', '-i', '10ms', '--store', path, trace)
    lines(sillage, 'analyze', '-q', '-f', 'json', '-a', 'sched', '-i', '10ms', '--end', '1795225001400000000', '--store', path, trace)
    with contextlib.closing(sqlite3.connect(path)) as db:
        both, all_ns = (db.execute('SELECT sum("end" - begin) FROM windows WHERE ' + which).fetchone()[0]
                        for which in ('analyses LIKE "%sched%"', '1'))
    if not 0 < both < all_ns:
        raise SystemExit('short: %s of %s' % (both, all_ns))
    for lists in (['-a', 'cpu,sched'], []):
        code, out, err = said(sillage, 'history', '-f', 'json', *lists, path)
        total = json.loads([line for line in out.splitlines() if '"type":"total"' in line][-1])
        if code or total.get('stored') != {'sched': {'known_ns': both, 'of_ns': all_ns}} or 'have no sched' not in err:
            raise SystemExit('short: %s: %d, %s, %s' % (lists, code, total.get('stored'), err))
        code, out, err = said(sillage, 'history', *lists, path)
        if 'not stored: sched (only ' not in out or err.count('\n') != 1:
            raise SystemExit('short: %s: %s' % (err, out))
    out = said(sillage, 'history', '-q', '-f', 'json', '-a', 'cpu,irq', path)[1]
    total = json.loads([line for line in out.splitlines() if '"type":"total"' in line][-1])
    if total.get('stored') != {'irq': {'known_ns': 0, 'of_ns': all_ns}}:
        raise SystemExit('short: irq: %s' % total.get('stored'))
    os.unlink(path)


# Options that select or sort, and what of them a store cannot tell apart is marked.
SELECT = (['--irq', '1'], ['--irq', '[rt]*'], ['--irq', '999'], ['--per', 'cpu'], ['--per', 'tid'], ['--per', 'pid'], ['--per', 'comm'],
          ['--per', 'prio'], ['--comm', 'kdamond*'], ['--comm', 'nobody'], ['--sort', 'run_ns'], ['--sort', 'wake.max'], ['--min', '100us'],
          ['--max', '1ms'], ['--min', '10s'], ['--cpu', '0'], ['--cpu', '77'], ['--tid', '18710'], ['--pid', '18710'], ['--tid', '999999'],
          ['-n', '3'], ['--buckets'], ['--freq'], ['--per', 'container'])


def unlike(plain, found):
    """What differs, and is not marked as a figure of the whole system."""
    for analysis, figures in plain.items():
        if not isinstance(figures, dict) or analysis == 'trace':
            continue
        whole = found[analysis].get('whole_system', [])
        missing = set(figures.get('whole_system', [])) - set(whole)
        if missing:
            yield '%s: not marked: %s' % (analysis, missing)
        for key, value in figures.items():
            is_marked = key in whole or ('totals' in whole and not isinstance(value, list))
            if key != 'whole_system' and not is_marked and found[analysis].get(key) != value:
                yield '%s.%s: %s, %s' % (analysis, key, str(value)[:200], str(found[analysis].get(key))[:200])


def check_options(sillage, scratch, trace):
    """Each option that selects or sorts: what history shows is what analyze does, or is marked, in JSON and in text."""
    path = os.path.join(scratch, 'options.db')
    base = ['-a', 'cpu,sched,irq,syscalls,io,block,count']
    lines(sillage, 'analyze', '-q', *base, '-i', '10ms', '-n', '1000', '-o', '/dev/null', '--store', path, trace)
    for options in SELECT:
        texts = {}
        for form in ('json', 'text'):
            plain = said(sillage, 'analyze', *base, '-f', form, *options, trace)
            found = said(sillage, 'history', *base, '-f', form, *options, path)
            if plain[0] != found[0] or ('nothing matched' in plain[2]) != ('nothing matched' in found[2]):
                raise SystemExit('options: %s: exit %d, %d: %s%s' % (options, plain[0], found[0], plain[2], found[2]))
            texts[form] = [plain[1], found[1]]
            if options[0] not in ('--buckets', '--freq') and not (plain[1] and found[1]):  # each of one form
                raise SystemExit('options: %s: nothing printed: %s%s' % (options, plain[2], found[2]))
        plain, found = ([json.loads(line) for line in text.splitlines() if '"type":"total"' in line] for text in texts['json'])
        errors = [error for pair in zip(plain, found) for error in unlike(*pair)]
        is_same = plain == found
        if errors or (is_same and texts['text'][0] != texts['text'][1]) or (not is_same and '(whole system)' not in texts['text'][1]):
            raise SystemExit('options: %s: %s' % (options, errors or 'text'))
    os.unlink(path)


def check_many(sillage, scratch, traces):
    """Several stores are as one that has all: a trace in each, one in two of them, two halves, other analyses."""
    whole, parts = os.path.join(scratch, 'whole.db'), []
    for number, (trace, lists, interval) in enumerate([(trace, 'count,cpu,sched', '10ms') for trace in traces]
                                                      + [(traces[0], 'count,cpu,sched', '10ms'), (traces[0], 'irq,count', '50ms')]):
        part = os.path.join(scratch, 'part-%d.db' % number)
        for path in (whole, part):
            lines(sillage, 'analyze', '-q', '-f', 'json', '-n', '1000', '-a', lists, '-i', interval, '--store', path, trace)
        parts.append(part)
    halves = []
    with contextlib.closing(sqlite3.connect(whole)) as db:
        middle = db.execute('SELECT avg(begin) FROM windows').fetchone()[0]
    for number, less in enumerate(('<', '>=')):  # of all traces, by time
        halves.append(os.path.join(scratch, 'half-%d.db' % number))
        copied(whole, halves[-1])
        with contextlib.closing(sqlite3.connect(halves[-1])) as db:
            db.execute('DELETE FROM windows WHERE begin %s ?' % less, (middle,))
            db.commit()
    for options in (['-i', '10ms'], ['-i', '200ms'], [], ['--merged', '-i', '50ms'], ['--per', 'host', '-i', '200ms'], ['--per', 'host'],
                    ['-a', 'irq,cpu'], ['--host', 'none'], ['-f', 'text'], ['--per', 'host', '-f', 'text']):
        command = [sillage, 'history', '-q', '-f', 'json', *options]
        expected = [line for line in said(*command, whole)[1].splitlines() if '"type":"end"' not in line]
        for stores in (parts, parts[::-1], halves):
            found = [line for line in said(*command, *stores)[1].splitlines() if '"type":"end"' not in line]
            if found != expected or bool(expected) == ('none' in options):
                raise SystemExit('many: %s %s: %d lines, expected %d' % (options, stores, len(found), len(expected)))
    for options, text in ((['--follow', *halves], 'one store at a time'), ([halves[0], os.path.join(scratch, 'gone.db')], 'gone.db')):
        code, out, err = said(sillage, 'history', *options)
        if code == 0 or out or text not in err or err.count('\n') != 1:
            raise SystemExit('many: %s: exit %d: %s' % (options, code, err))
    for path in (whole, *parts, *halves):
        os.unlink(path)


def rename(path):
    """Gives a generated trace a UUID of its own: all have the same."""
    old = bytes(range(1, 17))
    for name in os.listdir(path):
        with open(os.path.join(path, name), 'rb') as file:
            data = file.read()
        with open(os.path.join(path, name), 'wb') as file:
            file.write(data.replace(old, b'\x99' + old[1:]).replace(b'01020304-0506', b'99020304-0506'))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('sillage')
    parser.add_argument('--count', type=int, default=4)
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('traces', nargs='*')
    args = parser.parse_intermixed_args()
    scratch = tempfile.mkdtemp(prefix='sillage-store-')
    try:
        for path in args.traces:
            check(args.sillage, scratch, path, [path])
            if 'lost-events' in path:
                check_named(args.sillage, scratch, path)
            if 'migrate' in path:
                check_mixed(args.sillage, scratch, path)
                check_short(args.sillage, scratch, path)
                check_options(args.sillage, scratch, path)
        if len(args.traces) > 1:
            check_many(args.sillage, scratch, args.traces)
        for seed in range(args.seed, args.seed + args.count):
            rng = random.Random(seed)
            made = [os.path.join(scratch, 'trace-%d' % k) for k in range(2)]
            for path in made:
                generated.make(rng, path, loses=seed % 2 == 0)
            rename(made[1])
            check(args.sillage, scratch, 'seed %d' % seed, made)
            for path in made:
                shutil.rmtree(path)
    finally:
        shutil.rmtree(scratch)
    print('ok store laws: %d traces, %d generated pairs' % (len(args.traces), args.count))


if __name__ == '__main__':
    main()
