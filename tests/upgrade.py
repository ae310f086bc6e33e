#!/usr/bin/env python3
"""upgrade: what sillage 0.1.0 wrote is read, or refused with the way out.

Input   tests/data/upgrade: files of the first commit that was called 0.1.0 (first.*) and of the last (last.*),
        of tests/data/ust; a store of ust, sched-compact and timer-jobs, and what `history` of that program
        printed of it; a capture of ust; a model, and triggers as its manual has them.
Laws    A store: each figure that its program knew is the same; one that it did not know is unknown, also after
        this program went on with the store, and that program would have refused it then.  Captures and JSON are
        read.  Partials and states are refused: the message names both versions and what to do, and the file stays.
        All JSON says its version.

usage: upgrade.py SILLAGE DATA
"""
import contextlib
import json
import lzma
import os
import re
import sqlite3
import subprocess
import sys
import tarfile
import tempfile

FORM = 2  # JSON_FORM
GONE = ('block', 'replaced'),  # members whose meaning has no successor of the same name; NEWS.md says why
faults = []


def check(is_right, *what):
    if not is_right:
        faults.append(what)


def run(sillage, *words):
    done = subprocess.run([sillage, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def unpacked(data, name, to):
    path = os.path.join(to, name[:-3])
    with lzma.open(os.path.join(data, 'upgrade', name)) as packed, open(path, 'wb') as file:
        file.write(packed.read())
    return path


def lines_of(text):
    return [json.loads(line) for line in text.splitlines()]


def key_of(row):
    return json.dumps([row.get(key) for key in ('tid', 'pid', 'comm', 'cpu', 'irq', 'vec', 'name', 'path', 'vpid', 'level', 'prio', 'order',
                                                'errno', 'channel', 'begin', 'end', 'disk', 'number', 'ns', 'fd', 'call')])


def same(old, new, where):
    """What the old one has is in the new one; what only the new one has is unknown, or made of the rest."""
    if isinstance(old, dict):
        for key, value in old.items():
            check((key in new) != ((where[-1], key) in GONE), where, key, 'is gone')
            if key in new:
                same(value, new[key], where + [key])
        for key in set(new) - set(old):
            made = key == 'waited_ns' and new[key] == old['wake'].get('sum_ns', 0) + old['requeue'].get('sum_ns', 0)
            made |= where[-1] == 'stored' and new[key]['known_ns'] == 0  # an analysis that came since
            check(new[key] in (None, []) or made or key in ('version', 'json', 'missing', 'stored', 'comm_of'), where, key, new[key])
    elif isinstance(old, list) and old and isinstance(old[0], dict) and where[-1] != 'missing':
        rows = {}
        for row in new:
            rows.setdefault(key_of(row), []).append(row)
        check(len(old) == len(new), where, len(old), len(new))
        for row in old:
            found = rows.get(key_of(row))
            check(found, where, row, 'is gone')
            if found:
                same(row, found.pop(0), where + [key_of(row)])
    elif where[-1] not in ('version', 'missing', 'stored'):
        check(old == new, where, old, new)


def check_store(sillage, data, scratch):
    path, old = (unpacked(data, 'store.%s.xz' % one, scratch) for one in ('db', 'json'))
    with open(old) as file:
        old = {line['trace']['session']: line for line in lines_of(file.read()) if line['type'] == 'total'}
    assert len(old) == 3
    for goes_on in (False, True):
        if goes_on:
            status, _, said = run(sillage, 'analyze', '-q', '-a', 'all', '-i', '1s', '-o', '/dev/null', '--store', path,
                                  os.path.join(data, 'burst'))
            check(status == 0, 'store', status, said)
        status, text, said = run(sillage, 'history', '-q', '-a', 'all', '-f', 'json', path)
        check(status == 0, 'history', status, said)
        new = {line['trace']['session']: line for line in lines_of(text) if line['type'] == 'total'}
        check(set(old) <= set(new) and ('burst' in new) == goes_on, 'traces', sorted(new))
        for session, line in old.items():
            if session in new:
                same(line, new[session], ['store', goes_on, session])
        waits = [row['waited_ns'] for row in new['timer-jobs']['sched']['threads']]
        check(waits == sorted(waits, reverse=True) and waits[0] > 0, 'threads by what they waited', waits[:9])
        with contextlib.closing(sqlite3.connect(path)) as db:
            check(db.execute('PRAGMA user_version').fetchone() == (2 if goes_on else 1,), 'version', goes_on)
    status, text, said = run(sillage, 'history', '-q', '--per', 'host', path)
    check(status == 0 and 'testhost' in text, 'hosts', status, said)


def check_unwritten(sillage, data, scratch):
    """A figure that the writer did not know is unknown, also where the table has got its column since."""
    path = unpacked(data, 'store.db.xz', scratch)
    with contextlib.closing(sqlite3.connect(path)) as db:
        db.execute('ALTER TABLE cpu_threads DROP COLUMN preemptions')
        db.execute('ALTER TABLE io_totals DROP COLUMN read_bytes')
        db.commit()
    for goes_on in (False, True):
        if goes_on:
            assert run(sillage, 'analyze', '-q', '-a', 'cpu,io', '-i', '1s', '-o', '/dev/null', '--store', path, os.path.join(data, 'burst'))[0] == 0
        totals = {line['trace']['session']: line for line in lines_of(run(sillage, 'history', '-q', '-a', 'cpu,io', '-f', 'json', path)[1])
                  if line['type'] == 'total'}
        old = totals['timer-jobs']
        check(old['cpu']['threads'] and {row['preemptions'] for row in old['cpu']['threads']} == {None}, goes_on, old['cpu']['threads'][0])
        check(old['io']['read_bytes'] is None and old['io']['write_bytes'] is not None, goes_on, old['io']['read_bytes'])
        check(not goes_on or any(row['preemptions'] for row in totals['burst']['cpu']['threads']), 'the new rows')


def check_tracer(sillage, data, scratch):
    """A store has the tracer of a trace, for what history advises; one that was begun without it gets it from who goes on."""
    trace, path = os.path.join(data, 'cases', 'perf-to-ctf'), os.path.join(scratch, 'tracer.db')
    asked = ['-q', '-a', 'block,sched', '-f', 'json']

    def lacks(*words):
        total = [line for line in lines_of(run(sillage, *words)[1]) if line['type'] == 'total' and 'perf' in line['trace']['path']][0]
        return [total[name]['missing'] for name in ('block', 'sched')]

    wanted = lacks('analyze', *asked, trace)
    check(all(one['tracer'] == 'perf' for missing in wanted for one in missing), 'analyze', wanted)
    for goes_on in (False, True):
        if goes_on:
            with contextlib.closing(sqlite3.connect(path)) as db:
                db.execute('ALTER TABLE traces DROP COLUMN tracer')
                db.commit()
            check('command' in lacks('history', *asked, path)[0][0], 'without a tracer')
        for one in (trace, os.path.join(data, 'burst')):
            check(run(sillage, 'analyze', *asked, '-i', '1s', '-o', os.devnull, '--store', path, one)[0] == 0, 'store', one)
        check(lacks('history', *asked, path) == wanted, goes_on, 'history')
        with contextlib.closing(sqlite3.connect(path)) as db:
            found = {tracer for tracer, in db.execute('SELECT tracer FROM traces')}
            check(found == {'perf', 'lttng-modules 2.13.23'}, goes_on, found)


def check_captures(sillage, data, scratch):
    with tarfile.open(os.path.join(data, 'upgrade', 'capture.tar.xz')) as packed:
        packed.extractall(scratch)
    place = os.path.join(scratch, 'capture')
    for first in (False, True):
        if first:
            os.replace(os.path.join(place, 'capture-first.json'), os.path.join(place, 'capture.json'))
        status, text, said = run(sillage, 'analyze', '-q', '-a', 'count,ust', '-f', 'json', place)
        total = lines_of(text)[-2] if status == 0 else None
        check(total and total['count']['events'] == 675 and total['ust']['processes'][0]['procname'] == 'app', 'capture', status, said)
        status, _, said = run(sillage, 'report', place)
        check(status == 1 and 'not recorded: sched_switch' in said, 'report of a capture', status, said)


def check_texts(sillage, data, _):
    """What users wrote: a model, and a file of triggers with each form that the manual of 0.1.0 has."""
    upgrade = os.path.join(data, 'upgrade')
    status, _, said = run(sillage, 'triggers', '--check', os.path.join(upgrade, 'triggers'))
    check(status == 0, 'triggers', status, said)
    found = [run(sillage, 'setup', '--model', model) for model in (os.path.join(upgrade, 'model'), 'ros2')]
    check(found[0][0] == 0 and found[0][1].count('ros2:') > 10, 'model', found[0])
    names = [set(re.findall(r'\w+:\w+', one[1].split('enable-event -u')[1].splitlines()[0])) for one in found]
    check(names[0] <= names[1] and "'*" not in found[0][1], 'model', found)


def check_refused(sillage, data, scratch):
    trace = os.path.join(data, 'ust')
    for name in ('first', 'last'):
        for kind, status, words in (('partials', 1, ['merge']), ('state', 2, ['analyze', '-a', 'count,cpu', '-i', '100ms', '--state'])):
            path = os.path.join(scratch, '%s.%s' % (name, kind))
            with open(os.path.join(data, 'upgrade', '%s.%s' % (name, kind)), 'rb') as file:
                old = file.read()
            with open(path, 'wb') as file:
                file.write(old)
            found, out, said = run(sillage, *words, path, *([trace] if kind == 'state' else []))
            check(found == status and out == '', kind, found, out)
            check(path in said and 'another sillage' in said and 'go on with that one' in said, kind, said)
            check(('make the file again' in said) and ('remove it' in said), kind, said)
            with open(path, 'rb') as file:
                check(file.read() == old, kind, 'is not what it was')


def check_json(sillage, data, scratch):
    trace = os.path.join(data, 'ust')
    for name in ('first', 'last'):
        path = os.path.join(data, 'upgrade', name + '.json')
        status, text, said = run(sillage, 'compare', '-q', path, trace)
        check(status == 0 and 'nothing that both have differs' in text, 'compare', name, status, said, text[:300])
    newer = os.path.join(scratch, 'newer.json')
    with open(os.path.join(data, 'upgrade', 'last.json')) as file, open(newer, 'w') as to:
        to.write(file.read().replace('"version":"0.1.0"', '"version":"9","json":%d' % (FORM + 1), 1))
    status, _, said = run(sillage, 'compare', '-q', newer, trace)
    check(status == 2 and 'of a newer sillage' in said, 'newer', status, said)
    kernel = os.path.join(data, 'timer-jobs', 'kernel')
    version = subprocess.run([sillage, '--version'], stdout=subprocess.PIPE).stdout.decode().split()[1]
    for words in (['analyze'], ['report'], ['report', '--discover'], ['overview'], ['compare', kernel]):
        status, text, said = run(sillage, *words, '-q', '-f', 'json', kernel)
        first = lines_of(text)[0]
        check(status == 0 and (first.get('version'), first.get('json')) == (version, FORM), words, status, said, first.keys())


def main():
    sillage, data = (os.path.abspath(path) for path in sys.argv[1:3])
    with tempfile.TemporaryDirectory(prefix='sillage-upgrade-') as scratch:
        for part in (check_store, check_unwritten, check_tracer, check_captures, check_texts, check_refused, check_json):
            part(sillage, data, scratch)
    for fault in faults[:30]:
        print('not ok:', *fault)
    print('%s upgrade: %d faults' % ('not ok' if faults else 'ok', len(faults)))
    return 1 if faults else 0


if __name__ == '__main__':
    sys.exit(main())
