#!/usr/bin/env python3
"""defaults: what commands show, and record, of programs and of the kernel where -a names no analyses.

Goal    - A trace of programs begins with their calls; of what kernels record nothing is missed, nor the other way round.
        - Both together have both, one after the other.
        - Who records events of programs alone records no kernel with them.
        - Live as recorded: see peer/programs.py.

usage: defaults.py SILLAGE DATA
"""
import json
import os
import re
import subprocess
import sys
import tempfile

import models
import synthetic

EVENTS = {'svc:req_begin': (('u64', 'id'),), 'svc:req_end': (('u64', 'id'),)}
OF_KERNEL, OF_PROGRAMS = ['count', 'cpu', 'io'], ['count', 'calls', 'ust']


def check(condition, *what):
    if not condition:
        raise SystemExit('not ok defaults: ' + ' '.join(map(str, what)))


def run(*words, wanted=0):
    done = subprocess.run([sys.argv[1], *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    check(done.returncode == wanted, words, done)
    return done.stdout.decode(), done.stderr.decode()


def analyses_of(*words):
    out, err = run('analyze', '-f', 'json', *words)
    check('not recorded' not in err and '"missing"' not in out, words, 'misses something', err)
    return json.loads(out.splitlines()[0])['analyses']


def made(scratch):
    body = [models.made_event(10**9 + i * 1000, 7, 7 + i % 2, list(EVENTS)[i % 2], i // 2, events=EVENTS)[1] for i in range(40)]
    return synthetic.Made(scratch, 'ust', [synthetic.packet(0, 0, 10**9, 10**9 + 40000, body)], models.made_metadata(EVENTS)).path


def check_recorded(data, user):
    kernel, old = os.path.join(data, 'io-mix', 'kernel'), os.path.join(data, 'ust')
    check(analyses_of(kernel) == OF_KERNEL, 'of a kernel')
    check(analyses_of(user) == analyses_of(old) == OF_PROGRAMS, 'of programs', analyses_of(user))
    check(analyses_of('--period', 'x = svc:req_begin; svc:req_end', user) == ['count', 'calls', 'periods', 'ust'], 'with a period')
    check(analyses_of(kernel, user) == ['count', 'cpu', 'io', 'calls', 'ust'], 'of both')
    check(analyses_of('-a', 'cpu', kernel) == ['cpu'], 'what is named')
    out, _ = run('analyze', '-q', user)
    lists = re.findall(r'^(?:  )?([a-zA-Z]+) ', out, re.M)
    check(lists[:4] == ['count', 'calls', 'time', 'CALL'], 'text begins with', lists)
    out, _ = run('analyze', kernel, user)
    check('not recorded' not in out and out.index('\ncpu  ') < out.index('\ncalls  '), 'text of both')
    out, err = run('analyze', '-a', 'cpu', user)
    check('not recorded: sched_switch' in out, 'what was asked for is missed')
    out, _ = run('overview', '-f', 'json', '--slices', '4', user)
    check('"calls.calls"' in out or 'calls' in out, 'overview', out[:300])


def check_setup():
    for words, has_kernel, has_user in (
            ([], True, False), (['--ust', 'svc:*'], False, True), (['--model', 'ros2'], False, True), (['--job', 'svc:a; svc:b'], False, True),
            (['--period', 'svc:a; svc:b'], False, True), (['--call', 'svc:a; svc:b'], False, True), (['--period', 'sched_in; sched_out'], True, False),
            (['--ust', 'svc:*', '--period', 'sched_in; sched_out'], True, True), (['-a', 'cpu', '--ust', 'svc:*'], True, True)):
        out, _ = run('setup', *words)
        check(not re.search(r"enable-event -u.*[ ',]\*[',\n]", out), 'setup records all of user space', words, out)
        check(('enable-event -k' in out, 'enable-event -u' in out) == (has_kernel, has_user), 'setup', words, out)


def main():
    synthetic.SILLAGE = sys.argv[1]
    with tempfile.TemporaryDirectory() as scratch:
        check_recorded(sys.argv[2], made(scratch))
    check_setup()
    print('ok defaults')


if __name__ == '__main__':
    main()
