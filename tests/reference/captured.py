#!/usr/bin/env python3
"""captured: what capture.json says is repeated by `analyze CAPTURE` and `report CAPTURE`, and does nothing else.

Captures are made here: the directory of a trace and a capture.json of each kind, of others' making too.

usage: captured.py SILLAGE DATA
"""
import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile

JOB = 'ctl = timerfd; every 4ms'


def run(*command, status=0, limit=120):
    done = subprocess.run(command, capture_output=True, timeout=limit, check=False)
    said = done.stderr.decode(errors='replace')
    assert done.returncode == status, '%s: status %d, not %d\n%s' % (' '.join(command), done.returncode, status, said)
    return done.stdout.decode(), said.splitlines()


def total(out):
    return [line for line in map(json.loads, out.splitlines()) if line['type'] == 'total'][0]


class Captures:
    def __init__(self, sillage, data, scratch):
        self.sillage, self.scratch, self.count = sillage, scratch, 0
        self.trace = os.path.join(data, 'timer-jobs-timerfd', 'kernel')

    def make(self, measured, **more):
        """A capture with these options; a text in place of them is the file."""
        self.count += 1
        path = os.path.join(self.scratch, 'capture %d' % self.count)
        shutil.copytree(self.trace, os.path.join(path, 'kernel'))
        description = {'sillage': '0', 'json': 2, 'host': 'h', 'session': 's', 'triggers': [], **more}
        if measured is not None:
            description['measured'] = [{'option': name, 'value': value} for name, value in measured]
        with open(os.path.join(path, 'capture.json'), 'w', encoding='utf-8') as file:
            json.dump(description, file)
        return path

    def analyze(self, *words):
        out, said = run(self.sillage, 'analyze', '-f', 'json', *words)
        again = [line for line in said if 'measured as its run did' in line]
        assert again == [] or said[0] == again[0], said
        return total(out), shlex.split(again[0].split('did:')[1]) if again else [], said

    def plain(self, *words):
        return total(run(self.sillage, 'analyze', '-q', '-f', 'json', *words, self.trace)[0])


def same(one, other):
    return {key: one[key] for key in one if key != 'trace'} == {key: other[key] for key in other if key != 'trace'}


def check_repeated(c):
    """All that was measured, or what the command line leaves of it."""
    path = c.make([('analyses', 'cpu,jobs'), ('job', JOB), ('comm', 'job')])
    words = ['--analyses=cpu,jobs', '--job=' + JOB, '--comm=job']
    for given, left, as_if in (
            ((), words, ('-a', 'cpu,jobs', '--job', JOB, '--comm', 'job')),
            (('-a', 'jobs'), words[1:], ('-a', 'jobs', '--job', JOB, '--comm', 'job')),
            (('-a', 'sched'), words[2:], ('-a', 'sched', '--comm', 'job')),
            (('--comm', 'disturber'), words[:2], ('-a', 'cpu,jobs', '--job', JOB, '--comm', 'disturber')),
            (('--tid', '18645'), words[:2], ('-a', 'cpu,jobs', '--job', JOB, '--tid', '18645')),
            (('--job', 'x = run'), ['--analyses=cpu', '--comm=job'], ('-a', 'cpu,jobs', '--job', 'x = run', '--comm', 'job')),
            (('--period', 'p = syscall_entry_read; syscall_exit_read'), ['--analyses=cpu', '--comm=job'],
             ('-a', 'cpu,periods', '--period', 'p = syscall_entry_read; syscall_exit_read', '--comm', 'job'))):
        found, again, _ = c.analyze(*given, path)
        assert again == left, (given, again)
        assert same(found, c.plain(*as_if)), given
    assert run(c.sillage, 'analyze', '-q', path)[1] == [], 'it is said with -q'
    only = c.make([('analyses', 'jobs'), ('job', JOB)])
    found, again, _ = c.analyze('--job', 'x = run', only)
    assert again == ['--analyses=jobs'] and same(found, c.plain('-a', 'jobs', '--job', 'x = run')), again
    # Of several captures, and of a directory in one, nothing is.
    for others in ((path, only), (os.path.join(path, 'kernel'),)):
        found, again, _ = c.analyze('-a', 'count', *others)
        assert again == [] and 'jobs' not in found, again


def check_within(c):
    """What executions lie in is a part of what was measured; the report explains those, and not what they lie in."""
    inner, outer = 'i = run; deadline 100us', 'o = timerfd'
    path = c.make([('analyses', 'jobs'), ('job', inner), ('within', outer), ('comm', 'job')])
    for given, as_if in (((), ('--job', inner, '--within', outer)), (('--within', 'run-to-sleep'), ('--job', inner, '--within', 'run-to-sleep')),
                         (('--job', 'x = run'), ('--job', 'x = run'))):
        found, again, _ = c.analyze(*given, path)
        assert same(found, c.plain('-a', 'jobs', '--comm', 'job', *as_if)), (given, again)
    clause = c.make([('analyses', 'jobs'), ('job', outer), ('job', inner + '; within o'), ('comm', 'job')])
    plain = report(c, '--job', 'run', '--deadline', '100us', '--within', 'timerfd', '--comm', 'job', c.trace)[0]['jobs']
    for words in (path,), (clause,), ('--worst', '1', path), ('--deadline', '100us', clause):
        jobs = report(c, *words)[0]['jobs']
        assert [(jobs[key], plain[key]) for key in ('pattern', 'within', 'count', 'misses', 'total_ns', 'outer') if jobs[key] != plain[key]] == [], words
    jobs = report(c, '--within', 'run-to-sleep', clause)[0]['jobs']
    assert (jobs['pattern'], jobs['within']) == ('run', 'run-to-sleep'), jobs['within']


def report(c, *words):
    out, said = run(c.sillage, 'report', '-f', 'json', *words)
    return json.loads(out.splitlines()[0]), said


def check_explained(c):
    """The thread and the job that the run looked at; those of the trigger go before, those of the user before all."""
    selected = c.make([('analyses', 'cpu'), ('job', JOB), ('comm', 'jo[b]')])
    found, _ = report(c, selected)
    assert found['path']['thread']['comm'] == 'job' and found['jobs']['misses'] == 6, found['path']['thread']
    assert [row['thread']['comm'] for row in found['jobs']['threads']] == ['job'], found['jobs']['threads']
    found, _ = report(c, '--thread', 'disturber', '--job', 'run', selected)
    assert found['path']['thread']['comm'] == 'disturber' and found['jobs']['pattern'] == 'run', found['path']['thread']
    for whom in (('tid', '18646'), ('pid', '18644'), ('thread', 'disturber'), ('comm', 'nobody-here')):
        found, _ = report(c, c.make([('analyses', 'cpu'), whom]))
        assert 'jobs' not in found and (found['path']['thread']['comm'] in ('job', 'disturber', 'rt_timer_jobs')), found['path']['thread']
    found, _ = report(c, c.make([('analyses', 'cpu'), ('tid', '18646')]))
    assert found['path']['thread']['tid'] == 18646, found['path']['thread']
    value = {'figure': 'jobs.threads.misses', 'row': 'disturber (18646)'}
    for values, job_of, thread in (([value], 'disturber', 'disturber'), ([dict(value, figure='cpu.threads.run')], 'job', 'disturber')):
        path = c.make([('analyses', 'cpu'), ('job', 'ctl = run'), ('comm', 'job')], triggers=[{'name': 'x', 'values': values}])
        found, _ = report(c, path)
        assert [row['thread']['comm'] for row in found['jobs']['threads']] == [job_of], found['jobs']['threads']
        assert found['path']['thread']['comm'] == thread, found['path']['thread']
    # Options that need a job have that of the capture.
    path = c.make([('analyses', 'cpu'), ('job', JOB), ('comm', 'job')])
    found = [report(c, *words, path)[0]['jobs'] for words in
             ((), ('--worst', '1'), ('--worst', '0'), ('--deadline', '1s'), ('--executions', '4'), ('--every', '8ms'), ('--within', 'run'))]
    assert all(one['pattern'] == 'timerfd' for one in found), found
    assert [len(one.get('worst', ())) for one in found[:3]] == [3, 1, 0], [one.get('worst') for one in found[:3]]
    assert (found[3]['misses'], found[4]['count'], found[6]['within']) == (0, 4, 'run'), found[3:]
    for words, without in ((('--deadline', '1s'), None), (('--worst', '1'), [('analyses', 'cpu')])):
        run(c.sillage, 'report', *words, c.make(without), status=2)
    # Of an older version: the job of the trigger, and all of its threads.
    found, said = report(c, c.make(None, job=JOB))
    assert found['jobs']['pattern'] == 'timerfd' and not said, (found['jobs']['pattern'], said)
    found, said = report(c, c.make(None))
    assert 'jobs' not in found and not said, said


def check_hostile(c):
    """Options that do more than to measure are left out, wrong ones said; names are quoted; no file is waited for."""
    made = os.path.join(c.scratch, 'made')
    bad = [('output', made), ('store', made + '.db'), ('on-trigger', 'exec touch ' + made), ('trigger', 'cpu.busy > 0'), ('help', ''),
           ('state', made), ('-o', made), ('job', 'help'), ('analyses', 'cpu,help'), ('comm -o ' + made, 'x'), ('junit', made)]
    path = c.make(bad + [('model', '/etc/passwd'), ('model', '../' + made)])
    found, again, said = c.analyze(path)
    assert again == [] and same(found, c.plain()) and sum('a model by its path' in line for line in said) == 2, (again, said)
    path = c.make([('analyses', 'cpu'), ('comm', "a'; touch %s; $(touch %s)\n\x1b[2J" % (made, made))])
    said = run(c.sillage, 'analyze', path, status=1)[1]  # nothing matches
    assert said[0].endswith("--analyses=cpu $'--comm=a\\047; touch %s; $(touch %s)\\012\\033[2J'" % (made, made)), said
    for wrong in ([('job', '((('), ('analyses', 'cpu')], [('analyses', 'nothing')], [('tid', 'x')], [('model', 'no-such')], [('job', 'x' * 100000)]):
        path = c.make(wrong)
        found, again, said = c.analyze(path)
        assert same(found, c.plain()) and any('that is not repeated' in line for line in said), said
        assert any('what was measured:' in line for line in report(c, path)[1]), report(c, path)[1]
    pair = '{"sillage":"x","triggers":7,"job":[],"measured":'
    for text in ('', '[', '[]', '7', '"x"', 'x' * (17 << 20), '{"sillage":' + '[' * 100000, pair + '{}}', pair + '[1,"x",null,[],{}]}',
                 pair + '[{"option":1,"value":2},{"option":"job"},{"value":"run"},{"option":"job","value":null}]}',
                 '{"triggers":[1,{"values":{}},{"begin":"x","values":[1,{"figure":1,"row":2}]}]}'):
        path = c.make(None)
        with open(os.path.join(path, 'capture.json'), 'w', encoding='utf-8') as file:
            file.write(text)
        found, _, said = c.analyze(path)
        assert same(found, c.plain()), text[:40]
        explained, report_said = report(c, path)
        assert 'jobs' not in explained, text[:40]
        is_object = text.startswith('{') and not text.endswith('[')
        for lines in said, report_said:
            assert is_object or any('capture.json: it is ' in line for line in lines), (text[:40], lines)
    assert run(c.sillage, 'report', '-q', c.make([('model', '/etc/passwd')]))[1] == [], 'it is said with -q'
    # A file that cannot be opened is not an absent one.
    path = c.make(None)
    os.unlink(os.path.join(path, 'capture.json'))
    os.symlink('capture.json', os.path.join(path, 'capture.json'))
    for said in c.analyze(path)[2], report(c, path)[1]:
        assert any('capture.json: Too many' in line for line in said), said
    for command in ('analyze', 'report'):
        path = c.make(None)
        os.unlink(os.path.join(path, 'capture.json'))
        os.mkfifo(os.path.join(path, 'capture.json'))
        run(c.sillage, command, '-q', path)
    assert not [name for name in os.listdir(c.scratch) if name.startswith('made')], os.listdir(c.scratch)


def main():
    with tempfile.TemporaryDirectory(prefix='sillage-captured-') as scratch:
        captures = Captures(sys.argv[1], sys.argv[2], scratch)
        for check in check_repeated, check_within, check_explained, check_hostile:
            check(captures)
            print('ok', check.__name__)


if __name__ == '__main__':
    main()
