#!/usr/bin/env python3
"""setup: what `sillage setup` has recorded is what the analyses need.

Goal    A trace of which only the events and contexts that `setup -a X` enables keep their names gives
        the same figures of X as the whole trace.
        --run runs the commands that are printed; if one fails, the session is destroyed.
        Each command has the form that lttng's manual pages give, also for the kernel.

usage: setup.py SILLAGE DATA
"""
import json
import os
import re
import shlex
import shutil
import struct
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
TRACES = ('burst', 'io-mix', 'lost-events', 'migrate')
PERIOD = 'p = sched_switch; syscall_entry_read'

# A stand-in for lttng, which notes its words, and fails where it is told to.
FAKE = '''#!/bin/sh
echo "$*" >> "$FAKE_LOG"
case "$1 $2" in *"$FAKE_FAIL"*) [ -z "$FAKE_FAIL" ] || { echo "Error: refused" >&2; exit 1; } ;; esac
'''
# Options of each command, with what their value is like; '': the option has none.
FORMS = {
    'create': ({'--live': r'\d+', '--set-url': r'net6?://\S+'}, 1),
    'enable-channel': ({'-k': '', '-u': '', '-s': r'\S+', '--subbuf-size': r'\d+[KMG]', '--num-subbuf': r'\d+',
                        '--tracefile-size': r'\d+[KMG]', '--tracefile-count': r'\d+'}, 1),
    'add-context': ({'-k': '', '-u': '', '-s': r'\S+', '-c': r'\S+', '-t': r'\w+'}, 0),
    'enable-event': ({'-k': '', '-u': '', '--syscall': '', '--all': '', '-s': r'\S+', '-c': r'\S+'}, 1),
    'start': ({}, 1),
}


def metadata_text(path):
    """The text of a TSDL metadata, packets or not."""
    with open(path, 'rb') as file:
        data = file.read()
    if struct.unpack_from('<I', data)[0] != 0x75D11D57:
        return data.decode()
    text, at = b'', 0
    while at < len(data):
        content, packet = struct.unpack_from('<II', data, at + 24)
        text += data[at + 37:at + content // 8]
        at += packet // 8
    return text.decode()


def commands(sillage, *args, env=None):
    done = subprocess.run([sillage, 'setup'] + list(args), stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env)
    lines = [line for line in done.stdout.decode().splitlines() if not line.startswith('#')]
    return done, [shlex.split(line) for line in lines]


def check_form(words):
    """As lttng-create(1), lttng-enable-channel(1) and the others have it."""
    assert words[0] == 'lttng', words
    options, at_most = FORMS[words[1]]
    rest = words[2:]
    plain, seen = [], set()
    while rest:
        word, rest = rest[0], rest[1:]
        if not word.startswith('-'):
            plain.append(word)
            continue
        name, _, value = word.partition('=')
        assert name in options and (name not in seen or name == '-t'), (word, words)
        seen.add(name)
        if options[name] and not value:
            value, rest = rest[0], rest[1:]
        assert re.fullmatch(options[name], value), (word, value)
    assert len(plain) + ('--all' in seen) == at_most, words
    assert len({'-k', '-u'} & seen) == (1 if '-k' in options else 0), words
    assert '--tracefile-count' not in seen or '--tracefile-size' in seen, words


def enabled(lines):
    """Names of events of the kernel, and contexts."""
    names, calls, contexts, every = set(), set(), set(), False
    for words in lines:
        if words[1] == 'add-context' and '-k' in words:
            contexts.update(after for word, after in zip(words, words[1:]) if word == '-t')
        if words[1] == 'enable-event' and '-k' in words:
            every |= '--all' in words
            if '--all' not in words:
                (calls if '--syscall' in words else names).update(words[-1].split(','))
    return names, calls, contexts, every


def only_of(text, lines):
    """The metadata with other names for what is not enabled."""
    names, calls, contexts, every = enabled(lines)

    def event(found):
        name = found.group(2)
        call = re.fullmatch(r'(?:compat_)?syscall_(?:entry|exit)_(.*)', name)
        keeps = (every or call.group(1) in calls) if call else any(
            re.fullmatch(one.replace('*', '.*'), name) for one in names)
        return found.group(0) if keeps else '%soff_%s"' % (found.group(1), name)

    def context(found):
        return re.sub(r'\b_(\w+);', lambda field: field.group(0) if field.group(1) in contexts
                      else '_off_%s;' % field.group(1), found.group(0))

    text = re.sub(r'(event \{\s*name = ")([^"]*)"', event, text)
    return re.sub(r'event\.context := struct \{.*?\}', context, text, flags=re.S)


def analyzed(sillage, trace, args):
    """The total, without what tells one directory from another."""
    done = subprocess.run([sillage, 'analyze', '-q', '-f', 'json'] + args + [trace], stdout=subprocess.PIPE, check=True)
    lines = [json.loads(line) for line in done.stdout.decode().splitlines()]
    total = [line for line in lines if line['type'] == 'total'][0]
    del total['trace']
    return total


def check_figures(sillage, data, scratch, names):
    for name in TRACES:
        whole = os.path.join(data, name, 'kernel')
        text = metadata_text(os.path.join(whole, 'metadata'))
        for analysis in names:
            asked = ['-a', analysis] + (['--period', PERIOD] if analysis == 'periods' else []) + (
                ['--job', 'j = run'] if analysis == 'jobs' else [])
            done, lines = commands(sillage, *asked)
            assert done.returncode == 0, done.stderr.decode()
            for words in lines:
                check_form(words)
            part = os.path.join(scratch, name, 'kernel')
            shutil.rmtree(os.path.dirname(part), ignore_errors=True)
            shutil.copytree(whole, part)
            changed = only_of(text, lines)
            assert 'name = "off_' in changed or analysis in ('files', 'syscalls', 'faults', 'io'), (name, analysis)
            with open(os.path.join(part, 'metadata'), 'w') as file:
                file.write(changed)
            assert analyzed(sillage, part, asked) == analyzed(sillage, whole, asked), (
                '%s of %s differs if only what setup enables is recorded' % (analysis, name))
        print('ok figures of %s: %d analyses' % (name, len(names)))


def check_run(sillage, scratch):
    log = os.path.join(scratch, 'log')
    with open(os.path.join(scratch, 'lttng'), 'w') as file:
        file.write(FAKE)
    os.chmod(file.name, 0o755)
    env = dict(os.environ, PATH=scratch + ':' + os.environ['PATH'], FAKE_LOG=log, FAKE_FAIL='')
    asked = ['-a', 'sched,syscalls,ust', '--ust', "it's:*", '--session', 's', '--relay', 'net://relay:1:2']

    def noted():
        with open(log) as file:
            found = [line for line in file.read().splitlines()]
        os.remove(log)
        return found

    printed = [' '.join(words[1:]) for words in commands(sillage, *asked)[1]]
    done, ran = commands(sillage, *asked, '--run', env=env)
    assert done.returncode == 0 and noted() == printed == [' '.join(words[1:]) for words in ran], done
    assert any("it's:*" in line for line in printed) and '--set-url=net://relay:1:2' in printed[0], printed
    env['FAKE_FAIL'] = 'enable-event'
    done, ran = commands(sillage, *asked, '--run', env=env)
    found = noted()
    assert done.returncode == 1 and 'refused' in done.stderr.decode(), done
    assert found[-1].endswith('destroy s') and 'start s' not in found, found
    env['FAKE_FAIL'] = 'create'
    done, ran = commands(sillage, *asked, '--run', env=env)
    assert done.returncode == 1 and len(noted()) == 1, 'somebody else\'s session of this name was destroyed'
    os.remove(os.path.join(scratch, 'lttng'))
    env['PATH'] = scratch
    done, _ = commands(sillage, *asked, '--run', env=env)
    assert done.returncode == 1 and 'lttng is not installed' in done.stderr.decode(), done
    print('ok --run')


def check_refused(sillage):
    for args, said in ((['-a', 'count'], '--ust PATTERN'), (['--session', 'a b'], 'is not a name'),
                       (['--session', '-x'], 'is not a name'), (['--relay', 'http://x'], 'is not net://'),
                       (['-a', 'nothing'], 'unknown'), (['--period', 'x'], 'expected = and an event')):
        done, lines = commands(sillage, *args)
        assert done.returncode == 2 and not lines and said in done.stderr.decode(), (args, done)
    for args in (['-a', 'count', '--ust', 'a:*'], ['-a', 'periods', '--ust-span', 'a:b,a:c'], ['-a', 'ust']):
        lines = commands(sillage, *args)[1]
        assert lines and not any('-k' in words for words in lines), lines
    print('ok what is refused')


def check_next(sillage):
    """The command that is printed for afterwards asks for the same, and is a command."""
    asked = ['--label', 'who = sched_switch key=next_tid name=next_comm', '--period', "stay = sched_in; sched_out",
             '--job', 'turn = run; deadline 1ms; group who(next_tid)', '--ust-span', 'a:b,a:c']
    done = subprocess.run([sillage, 'setup', '-a', 'periods,jobs'] + asked, stdout=subprocess.PIPE, check=True)
    found, = [line[len('# then: '):] for line in done.stdout.decode().splitlines() if line.startswith('# then: ')]
    words = shlex.split(found)
    assert all(words.count(word) >= asked.count(word) for word in asked if word not in ('--ust-span', 'a:b,a:c')), words
    words = [sillage] + words[1:-1] + ['--no-retry', 'net://127.0.0.1:1']
    done = subprocess.run(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    assert done.returncode == 1 and b'Connection refused' in done.stderr, (words, done)
    print('ok what follows')


def main():
    sillage, data = (os.path.abspath(path) for path in sys.argv[1:3])
    listed = subprocess.run([sillage, 'analyze', '-a', 'help'], stdout=subprocess.PIPE, check=True).stdout.decode()
    names = [line.split()[0] for line in listed.splitlines()]
    assert 'sched' in names and 'ust' in names, names
    names = [name for name in names if name not in ('count', 'lost', 'ust')]
    scratch = tempfile.mkdtemp(prefix='sillage-setup-')
    try:
        check_refused(sillage)
        check_next(sillage)
        check_run(sillage, scratch)
        check_figures(sillage, data, scratch, names)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


if __name__ == '__main__':
    main()
