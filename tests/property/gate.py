#!/usr/bin/env python3
"""gate: exit statuses and test cases of --fail, --strict, --junit and --tap.

Goal    The statuses 0, 1, 2, 3, 4 and 130 come when the manual page says so; the files are what a
        parser of XML and one of TAP take, whatever the names; all say the same as the status; a run
        that was stopped and resumed fires as one that went on.

usage: gate.py SILLAGE DATA
"""
import contextlib
import json
import os
import re
import shutil
import signal
import sqlite3
import struct
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

HOLDS, NEVER = 'count.events > 1', 'count.rate > 900G'
NOBODY = 'cpu.threads[comm=burts-1].run > 900%'
SHARE = 'cpu[comm=%s].run / cpu[comm=%s].run > 1%%'
USER_JOB = 'x = lttng_jul:event; lttng_jul:event; by global; deadline 1h'
EITHER = 'cpu.threads[comm=burst-1].run > 900% or ' + NOBODY


def run(sillage, *words):
    done = subprocess.run([sillage, 'analyze', '-q', '-o', '/dev/null', *words], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, check=False)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def check_quiet(sillage, data, _):
    """With -q one line says why a run is no success, unless a condition held."""
    burst, lost = os.path.join(data, 'burst'), os.path.join(data, 'lost-events')
    for status, says, words in ((1, 'nothing matched --thread nope\n', ('--thread', 'nope', burst)),
                                (4, '--strict: ', ('-a', 'count', '--strict', '--fail', HOLDS, lost)), (3, '', ('--fail', HOLDS, burst)),
                                (0, '', ('--strict', burst))):
        found, out, said = run(sillage, *words)
        if (found, out, said.count('\n')) != (status, '', 1 if says else 0) or says not in said:
            yield 'with -q %s: status %d, says %r' % (' '.join(words), found, said)


def tap_of(text):
    """By name: ok, not ok or skip; the plan has to be right, and nothing but TAP may be there."""
    lines = [line for line in text.split('\n') if line and not line.startswith('#')]
    assert lines[0] == 'TAP version 13', lines
    count, cases = int(re.fullmatch(r'1\.\.(\d+)', lines[1]).group(1)), {}
    for line in lines[2:]:
        found = re.fullmatch(r'(not ok|ok) (\d+) - (.*?)(?<!\\)( # SKIP .*)?', line)
        if line.startswith('Bail out! '):
            cases['bail'] = line
            continue
        assert found and int(found.group(2)) == len(cases) + 1, line
        cases[re.sub(r'\\(.)', r'\1', found.group(3))] = 'skip' if found.group(4) else found.group(1)
    assert len([name for name in cases if name != 'bail']) == count, text
    return cases


def junit_of(path):
    suite = xml.etree.ElementTree.parse(path).getroot()
    kinds = {'failure': 'not ok', 'error': 'bail', 'skipped': 'skip'}
    cases = {}
    for case in suite:
        found = [kinds[child.tag] for child in case if child.tag in kinds]
        prefix = case.get('classname').partition('.')[2]
        cases[(prefix + ': ' if prefix else '') + case.get('name')] = found[0] if found else 'ok'
    assert int(suite.get('tests')) == len(suite)
    for name, kind in (('failures', 'not ok'), ('skipped', 'skip'), ('errors', 'bail')):
        assert int(suite.get(name)) == list(cases.values()).count(kind), (name, cases)
    return cases


def check_status(sillage, data, folder):
    """Each case: what is asked of which trace, its status, and what the test cases are."""
    burst, lost, bad = (os.path.join(data, name) for name in ('burst', 'lost-events', 'bad'))
    hostile = 'count.by_name[name="<&\\">]]>\x07 # SKIP \\\\ \xff"] > 1'
    empty = os.path.join(folder, 'empty')
    os.makedirs(os.path.join(empty, 'kernel'))
    shutil.copy(os.path.join(burst, 'kernel', 'metadata'), os.path.join(empty, 'kernel'))
    for words, status, cases in (
            (['--fail', NEVER, burst], 0, {'fail: ' + NEVER: 'ok'}),
            (['--fail', HOLDS, burst], 3, {'fail: ' + HOLDS: 'not ok'}),
            (['--trigger', HOLDS, '--fail', NEVER, burst], 0, {'trigger: ' + HOLDS: 'ok', 'fail: ' + NEVER: 'ok'}),
            (['--trigger', HOLDS, burst], 0, {'trigger: ' + HOLDS: 'ok'}),
            (['--fail', NEVER, '--fail', HOLDS, burst], 3, {'fail: ' + NEVER: 'ok', 'fail: ' + HOLDS: 'not ok'}),
            (['--strict', burst], 0, {'nothing is missing': 'ok'}),
            (['--strict', lost], 4, {'nothing is missing': 'not ok'}),
            (['--strict', '--fail', HOLDS, lost], 4, {'fail: ' + HOLDS: 'not ok', 'nothing is missing': 'not ok'}),
            (['--fail', HOLDS, lost], 3, {'fail: ' + HOLDS: 'not ok'}),
            # What the chosen analyses need and no trace has.
            (['--strict', '-a', 'block', burst], 4, {'nothing is missing': 'not ok'}),
            (['--strict', '-a', 'cpu', os.path.join(data, 'ust')], 4, {'nothing is missing': 'not ok'}),
            # What was never evaluated has not passed.
            (['--fail', 'cpu.busy > auto(1e-3)', burst], 0, {'fail: cpu.busy > auto(1e-3)': 'skip'}),
            (['--strict', '--fail', 'cpu.busy > auto(1e-3)', burst], 4,
             {'fail: cpu.busy > auto(1e-3)': 'skip', 'nothing is missing': 'not ok'}),
            # A name that no row has, and one that has a row.
            (['--fail', NOBODY, burst], 0, {'fail: ' + NOBODY: 'skip'}),
            (['--trigger', NOBODY, '--strict', burst], 4, {'trigger: ' + NOBODY: 'skip', 'nothing is missing': 'not ok'}),
            (['--trigger', 'cpu.busy > auto(1e-3)', '--strict', burst], 0,
             {'trigger: cpu.busy > auto(1e-3)': 'skip', 'nothing is missing': 'ok'}),
            (['--strict', '--fail', NOBODY, burst], 4, {'fail: ' + NOBODY: 'skip', 'nothing is missing': 'not ok'}),
            (['--strict', '--fail', EITHER, burst], 4, {'fail: ' + EITHER: 'skip', 'nothing is missing': 'not ok'}),
            (['--strict', '--fail', NOBODY.replace('burts', 'burst'), burst], 0,
             {'fail: ' + NOBODY.replace('burts', 'burst'): 'ok', 'nothing is missing': 'ok'}),
            (['--comm', 'burst-1', '--strict', '--fail', 'cpu.cpu[1].busy > 900%', burst], 0,
             {'fail: cpu.cpu[1].busy > 900%': 'ok', 'nothing is missing': 'ok'}),
            (['--fail', NEVER, empty], 0, {'fail: ' + NEVER: 'skip'}),
            (['--strict', '--fail', NEVER, empty], 4, {'fail: ' + NEVER: 'skip', 'nothing is missing': 'not ok'}),
            # Sums over rows of their own: that none is of the first kind is well, of the second nothing is measured.
            (['--strict', '--fail', SHARE % ('no-error', '*'), burst], 0, {'fail: ' + SHARE % ('no-error', '*'): 'ok', 'nothing is missing': 'ok'}),
            (['--strict', '--fail', SHARE % ('burst-*', '*'), burst], 3, {'fail: ' + SHARE % ('burst-*', '*'): 'not ok', 'nothing is missing': 'ok'}),
            (['--strict', '--fail', SHARE % ('burst-*', 'none'), burst], 4,
             {'fail: ' + SHARE % ('burst-*', 'none'): 'skip', 'nothing is missing': 'not ok'}),
            # Jobs of programs need nothing of the kernel.
            (['--strict', '-a', 'jobs', '--job', USER_JOB, '--fail', 'jobs.misses / jobs.ended > 1%', os.path.join(data, 'cases', 'agent-levels')], 0,
             {'fail: jobs.misses / jobs.ended > 1%': 'ok', 'nothing is missing': 'ok'}),
            # Failures go before all.
            (['--fail', HOLDS, burst, os.path.join(folder, 'none')], 1, {'fail: ' + HOLDS: 'not ok'}),
            (['--fail', 'block.requests > 1', burst], 1, {'fail: block.requests > 1': 'skip'}),
            (['--trigger', hostile, '--fail', HOLDS, burst], 1, None)):
        junit, tap = os.path.join(folder, 'junit'), os.path.join(folder, 'tap')
        found, _, said = run(sillage, *words, '--junit', junit, '--tap', tap)
        what = '%s: ' % ' '.join(words)
        if found != status:
            yield what + 'status %d, not %d: %s' % (found, status, said)
        with open(tap) as file:
            text = file.read()
        by_tap, by_junit = tap_of(text), junit_of(junit)
        has_bailed = by_tap.pop('bail', None) is not None
        if has_bailed != (status == 1) or has_bailed != (by_junit.pop('the run came to its end', 'ok') == 'bail'):
            yield what + 'a run that failed and the files differ'
        with open(junit) as file:
            reasons = re.findall(r'<error message="(.*?)"', file.read())
        if has_bailed and not (reasons[0].startswith('the run failed: ') and ': ' in reasons[0][16:]):
            yield what + 'the reason is not in the file: %s' % reasons
        if cases and by_tap != cases or by_tap != by_junit:
            yield what + 'cases are %s and %s' % (by_tap, by_junit)
        if run(sillage, *words, '--tap', '-')[1] != text:
            yield what + 'another TAP on standard output'
    # What one of several traces has is there.
    for traces, is_there in (([], False), ([burst], True)):
        done = subprocess.run([sillage, 'analyze', '-o', '/dev/null', '--strict', '-a', 'cpu', os.path.join(data, 'ust'), *traces],
                              stderr=subprocess.PIPE, check=False)
        if (b'--strict: not recorded: sched_switch' in done.stderr) == is_there:
            yield 'missing in %d traces: %s' % (1 + len(traces), done.stderr.decode())
    for words in (['--fail', 'cpu'], ['--fail', 'cpu.busy > auto(3)'], ['--junit', 'x'], ['--tap', 'x'], ['--trigger-interval', '1ms'],
                  # What the selection leaves out is refused, as a gate, a trigger and a limit of a file.
                  *(['--comm', 'a*,b', '--fail', 'cpu.threads[comm=%s].run > 1%%' % one] for one in ('c', 'c*')),
                  ['--comm', 'a', '--trigger', 'cpu.busy > 1% until cpu.threads[comm=b].run > 1%'],
                  ['--tid', '5,6', '--fail', 'cpu.threads[7].run > 1%'], ['--tid', '5', '--fail', 'cpu.threads[tid=6].run > 1%'],
                  ['--pid', '5', '--fail', 'cpu.processes[6].run > 1%'], ['--pid', '5', '--fail', 'cpu.threads[pid=6*].run > 1%'],
                  ['--cpu', '0', '--fail', 'cpu.cpu[1].busy > 1%'],
                  ['--strict', '--junit', '-', '--tap', '-'], ['--strict', '--junit', 'x', '--tap', 'x'],
                  ['--strict', '--tap', 'x', '-o', 'x'], ['--strict', '--junit', 'x', '-o', 'x']):
        if run(sillage, *words, burst)[0] != 2:
            yield '%s: not refused' % words
    said = run(sillage, '--strict', '--fail', NOBODY, burst)[2]
    if 'did you mean "burst-1"?' not in said:
        yield 'a row that is misspelled: %s' % said
    if run(sillage, '--strict', '--junit', folder, burst)[0] != 1:
        yield 'a file that cannot be written is no failure'
    if os.path.isdir(bad) and run(sillage, '--strict', bad)[0] not in (1, 4):
        yield 'damaged traces pass'


def check_interrupt(sillage, data, folder):
    """The run has 3,000 traces to read when the signal comes."""
    slow = os.path.join(folder, 'slow')
    os.makedirs(slow)
    for name in ('burst',):
        shutil.copytree(os.path.join(data, name, 'kernel'), os.path.join(slow, 'kernel'))
    long = [os.path.join(slow, 'kernel')] * 3000
    tap = os.path.join(folder, 'interrupted')
    process = subprocess.Popen([sillage, 'analyze', '-q', '-a', 'all', '-i', '20ms', '--strict', '--fail', HOLDS, '--tap', tap, *long],
                               stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    process.stdout.read(1)  # before it has analysed anything, a signal ends it with no test cases
    process.send_signal(signal.SIGINT)
    process.communicate()
    if process.returncode != 130:
        yield 'interrupted: status %d' % process.returncode
    with open(tap) as file:
        if 'bail' not in tap_of(file.read()):
            yield 'interrupted: the test cases do not say so'


def part(trace, folder, share):
    """A copy of the trace whose streams end after a share of their packets."""
    copy = os.path.join(folder, 'part')
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(trace, copy)
    index = os.path.join(copy, 'index')
    for name in os.listdir(index):
        with open(os.path.join(index, name), 'rb') as file:
            data = file.read()
        each = struct.unpack('>I', data[12:16])[0]
        entries = [data[at:at + each] for at in range(16, len(data), each)]
        offset = struct.unpack('>Q', entries[int(len(entries) * share)][:8])[0]
        os.truncate(os.path.join(copy, name[:-4]), offset)
    shutil.rmtree(index)
    return copy


def fired(sillage, *words):
    done = subprocess.run([sillage, 'analyze', '-q', '-f', 'json', '-i', '1ms', *words], stdout=subprocess.PIPE, check=True)
    lines = [json.loads(line) for line in done.stdout.decode().split('\n') if line]
    for line in lines:
        line.get('trace', {}).pop('path', None)
    return [line for line in lines if line['type'] == 'trigger']


def check_state(sillage, data, folder):
    triggers = ['--trigger', 'cpu.busy > auto(1e-2)', '--trigger', 'cpu.cpu.busy > auto(1e-2, drift 20ms)', '--trigger',
                'count.events < auto(1e-2)', '--trigger', 'cpu.busy > 90% for 20ms',
                '--trigger', '60% of windows: cpu.busy < 40%', '--trigger', '80% of windows in 100ms: cpu.busy < 40%']
    trace, state = os.path.join(data, 'small-packets', 'kernel'), os.path.join(folder, 'state')
    both = 0
    for trace, share in ((trace, 0.5), (trace, 0.8), *((os.path.join(data, 'burst', 'kernel'), i / 8) for i in range(1, 8))):
        if os.path.exists(state):
            os.remove(state)
        # The last windows are closed by the end of the trace only, which --state never takes it for.
        whole = fired(sillage, *triggers, trace)
        first = fired(sillage, *triggers, '--state', state, part(trace, folder, share))
        second = fired(sillage, *triggers, '--state', state, trace)
        both += bool(first and second)
        parts = first + second
        if parts != whole[:len(parts)] or len(whole) - len(parts) > 4:
            yield '%s: %d triggers fired, in two pieces %d and %d' % (trace, len(whole), len(first), len(second))
    if not both:
        yield 'nothing fired before and after a stop'


def check_rows(sillage, data, _):
    """Rows of a job that something divides have its name in front."""
    trace = os.path.join(data, 'timer-jobs-timerfd')
    for name, wanted in (('x', 0), ('x prio=*', 3), ('x prio=-51', 0), ('x*', 3), ('y prio=*', 1), ('xy*', 1), ('*', 3)):
        status, _, err = run(sillage, '--job', 'x = wake-to-sleep; group prio; deadline 1us', '--fail', 'jobs.jobs[name="%s"].misses > 0' % name, trace)
        if status != wanted:
            yield 'rows of a job, [name=%s]: status %d, wanted %d: %s' % (name, status, wanted, err)


def check_shares(sillage, data, folder):
    """A quotient of rows of its own: of a store as of the trace."""
    trace, store, path = os.path.join(data, 'burst'), os.path.join(folder, 'share.db'), os.path.join(folder, 'share')
    figure = 'cpu[comm=burst-*].run / cpu[comm=*].run'
    run(sillage, '-a', 'cpu', '-i', '500ms', '--store', store, trace)
    run(sillage, '-a', 'cpu', '-f', 'json', '-o', path, trace)
    with open(path) as file:
        rows = [line['cpu']['threads'] for line in map(json.loads, file) if line['type'] == 'total'][0]
    wanted = sum(row['run_ns'] for row in rows if row['comm'].startswith('burst-')) / sum(row['run_ns'] for row in rows)
    done = subprocess.run([sillage, 'history', '-q', '--per', 'host', '-f', 'json', '--figure', figure, store], stdout=subprocess.PIPE, check=True)
    found = [line['rows'][0]['values'][0] for line in map(json.loads, done.stdout.splitlines()) if line['type'] == 'fleet-total']
    if len(found) != 1 or not found[0] or abs(found[0] - wanted) > 1e-6:
        yield '%s of a store: %s, not %s' % (figure, found, wanted)


def check_budgets(sillage, data, folder):
    """Objectives against the windows that JSON has; those without a value do not count."""
    trace, path = os.path.join(data, 'timer-jobs-timerfd'), os.path.join(folder, 'budget')
    words = ['-i', '3ms', '-a', 'jobs', '--job', 'x = timerfd; deadline 3ms', trace]
    run(sillage, '-f', 'json', '-o', path, *words)
    with open(path) as file:
        lines = [line['jobs']['jobs'] for line in map(json.loads, file) if line['type'] == 'window']
    values = [row['duration']['p99_ns'] for rows in lines for row in rows if row['name'] == 'x' and row['duration']['count']]
    bad = sum(value >= 2500000 for value in values)
    held = 100 - 100 * bad / len(values)
    if not 0 < bad < len(values) < len(lines):
        yield 'objectives: nothing to test: %d of %d of %d windows' % (bad, len(values), len(lines))
    for share, wanted in ((100, 3), (round(held, 3) + 0.5, 3), (round(held, 3) - 0.5, 0), (1, 0)):
        what = '%.9g%% of windows: jobs.jobs[name=x].duration.p99 < 2.5ms' % share
        status, out, err = run(sillage, '--strict', '--fail', what, '--tap', '-', '-f', 'json', '-o', path, *words)
        says = 'held in %d of %d windows (%.6g %%); %d bad, %.4g allowed: ' % (
            len(values) - bad, len(values), held, bad, (100 - share) / 100 * len(values))
        with open(path) as file:
            left = [line['budget'] for line in map(json.loads, file) if line['type'] == 'budget']
        if status != wanted or says not in out or ('not ok' in out) != (wanted == 3):
            yield '%s: status %d, wanted %d, %r: %s' % (what, status, wanted, says, out)
        if [one['bad'] for one in left] != list(range(1, bad + 1)):
            yield '%s: bad windows are told of as %r' % (what, left)
    # Windows of a time: it is over more than once, and those to come are good.
    what = '99%% of windows in %s: jobs.jobs[name=x].duration.p99 < 2.5ms'
    for time, wanted in (('30ms', 3), ('1h', 0)):
        if run(sillage, '--fail', what % time, *words)[0] != wanted:
            yield '%s: not %d' % (what % time, wanted)
    if run(sillage, '--strict', '--fail', '9% of windows: jobs.jobs.late.p99 / jobs.jobs.misses < 1s', '-i', '1ms', *words[2:])[0] not in (0, 4):
        yield 'a quotient without a value fails'
    if run(sillage, '--strict', '--fail', '9% of windows: cpu[comm=none].longest < 1s', trace)[0] != 4:
        yield 'an objective of a row that is not there passes'


def check_compared(sillage, data, folder):
    """An objective of `compare`: each side has the budget that `analyze` has of it, be it a trace or a store; B decides."""
    good, bad = (os.path.join(data, name) for name in ('timer-jobs', 'timer-jobs-timerfd'))
    words, budgets = ['-i', '3ms', '-a', 'jobs', '--job', 'x = sched_in; sched_out; deadline 3ms'], {}
    what = '%.9g%% of windows: jobs.jobs[name=x].duration.p99 < 500us'
    sides = {}
    for name, trace in (('good', good), ('bad', bad)):
        sides[name] = trace, os.path.join(folder, 'objective-%s.db' % name)
        said = run(sillage, *words, '--store', sides[name][1], '--fail', what % 50, '--tap', '-', trace)[1]
        budgets[name] = [tuple(map(int, found)) for found in re.findall(r'held in (\d+) of (\d+) windows', said)]
    shares = {name: 100 * held / all for name, ((held, all),) in budgets.items()}
    better, worse = sorted(shares, key=shares.get, reverse=True)
    between = round((shares[better] + shares[worse]) / 2, 6)
    if shares[better] - shares[worse] < 0.01:
        yield 'objectives of two: nothing to test: %r' % shares
    for a, b in ((better, worse), (worse, better)):
        for kinds in ((0, 0), (1, 1), (0, 1)):
            args = ['compare', '--strict', '--fail', what % between, '-i', '3ms', '-a', 'jobs', *(words[4:] if 0 in kinds else []),
                    sides[a][kinds[0]], sides[b][kinds[1]]]
            done = subprocess.run([sillage, *args, '-f', 'json'], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            lines = [line for line in map(json.loads, done.stdout.splitlines()) if line['type'] == 'compare-objective']
            found = [(line['side'], line['met'], (line['budget']['windows'] - line['budget']['bad'], line['budget']['windows'])) for line in lines]
            if found != [('a', a == better, budgets[a][0]), ('b', b == better, budgets[b][0])] or done.returncode != (0 if b == better else 3):
                yield '%s: %d, %r, not %r' % (args, done.returncode, found, budgets)
            text, table, page = (subprocess.run([sillage, *args, *form], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout.decode()
                                 for form in ((), ('-f', 'csv', '--table', 'compare-objective'), ('-f', 'html')))
            if text.count('\nOBJECTIVE  ' + what % between) != 1 or len(re.findall('\n  [AB]  (?:met|missed) +held in ', text)) != 2:
                yield '%s: %s' % (args, text[-500:])
            if len(table.splitlines()) != 3 or 'budget.left' not in table or 'OBJECTIVE  ' + what % between not in page.replace('\\u003c', '<'):
                yield '%s: as a table %r, or a page' % (args, table)
    status = run_compare(sillage, '--strict', '--fail', '9% of windows: jobs.jobs[name=none].duration.p99 < 1s', *words, good, bad)
    if status != 4:
        yield 'an objective of a row that neither side has: %d' % status
    for wrong, more in (('9% of windows: cpu.bsy > 1', ()), ('9% of windows: cpu.busy > baseline', ()), ('9% of windows: cpu.busy > 1%', ('--phases',)),
                        ('9% of windows: phase.change > 1', ())):
        if run_compare(sillage, '--fail', wrong, *more, good, bad) != 2:
            yield 'compare takes %s %s' % (wrong, more)


def run_compare(sillage, *words):
    return subprocess.run([sillage, 'compare', *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode


def check_history(sillage, data, folder):
    """A store is judged as the trace was whose windows it has: by statuses, and by what is said at the end."""
    trace, store, says = os.path.join(data, 'timer-jobs'), os.path.join(folder, 'judged.db'), re.compile('^sillage: .*(?:held|evaluated).*$', re.M)
    words = ['-i', '50ms', '-a', 'cpu,jobs', '--job', 'x = periodic; every 5ms']
    run(sillage, *words, '--store', store, trace)
    few, statuses = 'cpu.threads[comm=disturber].run < 5%', set()
    for asked in (['99%% of windows: %s' % few], ['5%% of windows: %s' % few], ['jobs.jobs[name=x].misses > 0'], ['cpu.busy > 900%'],
                  ['40% of windows in 200ms: jobs.jobs[name=x].duration.p99 < 1ms', 'cpu.busy > 1%'], ['cpu[comm=none].longest > 1s']):
        fails = [word for one in asked for word in ('--fail', one)]
        wanted = subprocess.run([sillage, 'analyze', '-o', '/dev/null', *words, *fails, trace], stderr=subprocess.PIPE, check=False)
        statuses.add(wanted.returncode)
        for more in ([], ['-n', '1', '-a', 'jobs']):
            found = subprocess.run([sillage, 'history', '-f', 'json', '-i', '50ms', *more, *fails, store], stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, check=False)
            if found.returncode != wanted.returncode or says.findall(found.stderr.decode()) != says.findall(wanted.stderr.decode()):
                yield 'history %s: status %d, not %d: %r, not %r' % (asked, found.returncode, wanted.returncode, found.stderr, wanted.stderr)
    if not statuses <= {0, 3} or len(statuses) != 2:
        yield 'history: the conditions end with %s' % statuses
    # What the store has lost is not judged.
    with contextlib.closing(sqlite3.connect(store)) as db, db:
        db.execute('INSERT INTO gaps(begin, "end", windows, why) SELECT begin, "end", 1, ? FROM windows LIMIT 1', ('a test',))
    for more, status in (([], 0), (['--strict'], 4)):
        found = subprocess.run([sillage, 'history', '-i', '50ms', *more, '--fail', 'cpu.busy > 900%', store], stdout=subprocess.DEVNULL,
                               stderr=subprocess.PIPE, check=False)
        if found.returncode != status:
            yield 'history %s of a store with a gap: status %d: %r' % (more, found.returncode, found.stderr)
    # Without -i windows of a second are judged, and none is printed.
    found = subprocess.run([sillage, 'history', '-f', 'json', '--fail', '99% of windows: cpu.busy < 1%', store], stdout=subprocess.PIPE,
                           stderr=subprocess.PIPE, check=False)
    kinds = {json.loads(line)['type'] for line in found.stdout.decode().splitlines()}
    if found.returncode != 3 or 'window' in kinds or b' of 2 windows' not in found.stderr and b' of 3 windows' not in found.stderr:
        yield 'history without -i: %d %s %s' % (found.returncode, kinds, found.stderr)
    found = subprocess.run([sillage, 'history', '--follow', '--strict', store], stderr=subprocess.PIPE, check=False)
    if found.returncode != 2 or b'has no --follow' not in found.stderr:
        yield 'history --follow --strict: %r' % found.stderr


def check_jobs(sillage, data, folder):
    """What no job can have is refused, not passed: a job that is not given, misses without a deadline."""
    trace = os.path.join(data, 'timer-jobs-timerfd')
    free, strict = ['--job', 'x = timerfd'], ['--job', 'y = timerfd; deadline 3ms']
    every = ['--job', 'y = timerfd; every 5ms']
    for jobs, figure, wanted in (
            (free, 'jobs.misses', 1), (free, 'jobs.job[name=x].misses', 1), (free, 'jobs.thread.misses', 1),
            (free, 'jobs.process.misses', 1), (free, 'jobs.job[name=x].open_misses', 1),
            (free, 'jobs.job[name=x].duration.count', 3), (strict, 'jobs.job[name=x].duration.count', 1),
            (strict, 'jobs.part[name=x].running.count', 1), (strict, 'jobs.job[name=y].misses', 3),
            (strict, 'jobs.job[name=?].misses', 3), (every, 'jobs.job[name=y].response.count', 3),
            (free + strict, 'jobs.misses', 3), (free + strict, 'jobs.job[name=x].misses', 1),
            (free + strict, 'jobs.job.misses', 3)):
        status, _, err = run(sillage, *jobs, '--fail', figure + ' > 0', trace)
        if status != wanted or ('cannot hold' in err) != (wanted == 1):
            yield '%s %s: status %d, wanted %d: %s' % (' '.join(jobs), figure, status, wanted, err)
    for jobs, is_known in ((free, False), (strict, True), (free + strict, True), (every, True)):
        path = os.path.join(folder, 'jobs.json')
        run(sillage, '-f', 'json', '-a', 'jobs', *jobs, '-o', path, trace)
        with open(path) as file:
            total = [line for line in map(json.loads, file) if line['type'] == 'total'][0]['jobs']
        keys = ('misses', 'misses_run', 'open_misses')
        found = [row[key] for row in [total] + total['jobs'] for key in keys]
        found += [row['misses'] for row in total['threads'] + total['processes']]
        if {value is not None for value in found} != {is_known}:
            yield '%s: misses are %r' % (' '.join(jobs), found)


def main():
    sillage, data = sys.argv[1:3]
    folder = tempfile.mkdtemp(prefix='sillage-gate-')
    try:
        wrong = [fault for check in (check_status, check_quiet, check_interrupt, check_state, check_jobs, check_rows,
                                check_budgets, check_compared, check_shares, check_history)
                 for fault in check(sillage, data, folder)]
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print('\n'.join(wrong) or 'ok')
    return 1 if wrong else 0


if __name__ == '__main__':
    sys.exit(main())
