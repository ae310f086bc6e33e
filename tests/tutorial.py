#!/usr/bin/env python3
"""tutorial: each command of the README and the tutorials runs, and prints what stands there.

A block holds commands behind `$ `, each with lines of its output in their order; [...] stands for
lines that are left out.  Traces do not change, so each line is compared whole.  Commands on a relay
are left out, but for the blocks `sh` of doc/tutorial.md, which are for live sessions: their command has to
come as far as to be refused by a port without a relay.  Commands and options that doc/tutorial.md names in its
sentences are run as well: the live ones by peer/sentences.py.

usage: tutorial.py SILLAGE ROOT
"""
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile

OMITTED = '[...]'


def run(command, sillage, root):
    env = dict(os.environ, PATH=os.path.dirname(sillage) + ':' + os.environ['PATH'], LC_ALL='C.UTF-8', TZ='UTC')
    out = subprocess.run(['bash', '-c', command], cwd=root, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return [line.rstrip() for line in out.stdout.decode().splitlines()]


def differs(wanted, got):
    """What is wrong, or None."""
    at, may_pass = 0, False
    for line in wanted:
        if line == OMITTED:
            may_pass = True
            continue
        found = at
        while may_pass and found < len(got) and got[found] != line:
            found += 1
        if found == len(got) or got[found] != line:
            return 'not printed: %s' % line
        at, may_pass = found + 1, False
    return None if may_pass or at == len(got) else 'printed besides: %s' % got[at]


END = 'end of a command'


def blocks_of(root, name):
    """Lists of (command, wanted lines): what a block does is done by one shell."""
    with open(os.path.join(root, name), encoding='utf-8') as file:
        text = file.read()
    for block in re.findall(r'^```(?:console)?\n(\$ (?:.*\n)*?)```$', text, re.M):
        commands = re.findall(r'^\$ ((?:.*\\\n)*.*)\n((?:(?!\$ ).*\n)*)', block, re.M)
        if 'net://' not in block and any('sillage ' in command for command, _ in commands):
            yield [(command, wanted.splitlines()) for command, wanted in commands]


def outputs(commands, execute):
    """The lines of each command's output, by what runs a script in a shell.  $? is that of the command before."""
    script = ''.join('%s\n{ was=$?; echo "%s"; (exit $was); }\n' % (command, END) for command, _ in commands)
    found, lines = [], []
    for line in execute(script):
        if line == END:
            while lines and not lines[-1]:
                lines.pop()
            found, lines = found + [lines], []
        else:
            lines.append(line)
    return found


def check_live(sillage, root):
    with open(os.path.join(root, 'doc', 'tutorial.md'), encoding='utf-8') as file:
        live = re.findall(r'^```sh\n((?:.*\n)*?)```$', file.read(), re.M)
    assert live, 'no block of a live session was found'
    faults = []
    for command in live:
        asked = command.rstrip().replace('net://localhost', '--no-retry net://127.0.0.1:1')
        said = run(asked, sillage, tempfile.gettempdir())
        if not any('Connection refused' in line for line in said):
            faults.append('%s\n    %s' % (command, '\n    '.join(said)))
    return faults


LIVE = ('sillage watch -a cpu,sched', 'sillage live -a cpu,sched net://localhost', 'sillage top net://localhost')
# It has no session before the first one is created.
FAKE_LTTNG = '#!/bin/sh\n[ "$1 $2" != "--no-sessiond list" ] || exit 1\necho "lttng $*" >>"$(dirname "$0")/log"\n'


def sentences(root):
    """Commands, options and triggers that the tutorial names in its sentences."""
    with open(os.path.join(root, 'doc', 'tutorial.md'), encoding='utf-8') as file:
        text = re.sub(r'^```.*?^```', '', file.read(), flags=re.M | re.S)
    found = [' '.join(one.split()) for one in re.findall(r'`([^`]+)`', text)]
    return [one for one in found if ' ' in one and re.match(r'sillage \w+ .|-|\w+\.', one)]


def check_setup(command, sillage, root, scratch):
    """--run runs what the same command prints without it."""
    fake = os.path.join(scratch, 'lttng')
    with open(fake, 'w', encoding='utf-8') as file:
        file.write(FAKE_LTTNG)
    os.chmod(fake, 0o755)
    run('export TMPDIR=%s PATH=%s:$PATH; %s' % (shlex.quote(scratch), shlex.quote(scratch), command), sillage, root)
    with open(os.path.join(scratch, 'log'), encoding='utf-8') as file:
        ran = file.read().splitlines()
    printed = run(command.replace(' --run', ''), sillage, root)
    assert ran and ran == [' '.join(shlex.split(line)) for line in printed if line.startswith('lttng ')], (ran, printed)


def explained(options, sillage, root, scratch):
    """What the command that explains the worst execution writes with these options too."""
    command, = [command for commands in blocks_of(root, 'doc/tutorial.md') for command, _ in commands if '--worst 1' in command]
    name = options.split()[-1]
    said = run('%s %s' % (command, options.replace(name, os.path.join(scratch, name))), sillage, root)
    assert not said, said
    with open(os.path.join(scratch, name), 'rb') as file:
        return file.read()


def check_html(options, sillage, root, scratch):
    page = explained(options, sillage, root, scratch).decode()
    assert page.startswith('<!') and '"tid":18645' in re.sub(r'\s', '', page) and 'disturber' in page and '<canvas' not in page, page[:200]


def check_perfetto(options, sillage, root, scratch):
    sys.path.insert(0, os.path.join(root, 'tests', 'reference'))
    import perfetto_file
    tracks = perfetto_file.File(explained(options, sillage, root, scratch)).tracks.values()
    assert {'executions', 'states', 'job (18645)'} <= {track.name for track in tracks}, tracks


def windows_of(options, sillage, root):
    lines = run('sillage analyze -q -f json -a cpu --per container -i 100ms %s tests/data/containers' % options, sillage, root)
    return [json.loads(line) for line in lines]


def named(scratch, sillage, root):
    """The option that calls one of the containers `web`, and the number of its namespace."""
    rows = [row for line in windows_of('', sillage, root) if line['type'] == 'total' for row in line['cpu']['containers']]
    number = rows[0]['pid_ns']
    with open(os.path.join(scratch, 'names'), 'w', encoding='utf-8') as file:
        file.write('%d web\n' % number)
    return '--containers ' + os.path.join(scratch, 'names'), number


def check_containers(option, sillage, root, scratch):
    given, number = named(scratch, sillage, root)
    assert option.split()[0] == given.split()[0]
    rows = [row for line in windows_of(given, sillage, root) if line['type'] == 'total' for row in line['cpu']['containers']]
    assert {row['pid_ns']: row['name'] for row in rows}[number] == 'web' and len({row['name'] for row in rows}) == len(rows) > 2, rows


def check_trigger(trigger, sillage, root, scratch):
    """It fires in the windows in which the container had more."""
    given, number = named(scratch, sillage, root)
    lines = windows_of("%s --trigger '%s'" % (given, trigger), sillage, root)
    limit = float(re.search(r'> (\d+)%', trigger)[1]) / 100
    over = [row['run_ns'] > limit * (line['end'] - line['begin']) for line in lines if line['type'] == 'window'
            for row in line['cpu']['containers'] if row.get('pid_ns') == number]
    fired = sum(line['type'] == 'trigger' for line in lines)
    assert fired == sum(now and not before for before, now in zip([False] + over, over)) and any(over) and not all(over), (fired, over)


def check_hanging(trigger, sillage, root, _):
    """It fires where a thread hangs for that long; nothing in the trace hangs for 5 s."""
    command = "sillage analyze -q -a state -i 1ms -f json --trigger '%s' tests/data/rt-mqueue"
    fired = [sum('"type":"trigger"' in line for line in run(command % text, sillage, root)) for text in (trigger, trigger.replace('5s', '4ms'))]
    assert fired[0] == 0 and fired[1] > 3, fired


SENTENCES = {
    'state.thread[comm=mq-*].blocked > 5s': check_hanging,
    'sillage setup --run -a cpu,sched': check_setup,
    '-f html -o job.html': check_html,
    '-f perfetto -o job.pftrace': check_perfetto,
    '--containers FILE': check_containers,
    'cpu.container[name=web].run > 80%': check_trigger,
}


def check_sentences(sillage, root):
    faults, found = [], sentences(root)
    for one in found:
        with tempfile.TemporaryDirectory(prefix='sillage-tutorial-') as scratch:
            try:
                if one not in LIVE:
                    assert one in SENTENCES, 'no test knows this one'
                    SENTENCES[one](one, sillage, root, scratch)
            except AssertionError as error:
                faults.append('doc/tutorial.md: `%s`\n    %s' % (one, error))
    missing = {*LIVE, *SENTENCES} - set(found)
    return faults + ['doc/tutorial.md has no more: ' + one for one in missing]


def main():
    sillage, root = os.path.abspath(sys.argv[1]), sys.argv[2]
    faults, count = check_live(sillage, root) + check_sentences(sillage, root), 0
    for name in ('README.md', 'doc/tutorial.md', 'doc/service.md', 'doc/ci.md'):
        blocks = list(blocks_of(root, name))
        assert blocks, '%s: no blocks were found' % name
        for commands in blocks:
            got = outputs(commands, lambda script: run(script, sillage, root))
            for (command, wanted), lines in zip(commands, got):
                count += 1
                why = differs(wanted, lines)
                if why:
                    faults.append('%s: %s\n    %s' % (name, command, why))
    for fault in faults:
        print('not ok ' + fault)
    print('%s: %d commands, %d faults' % ('not ok' if faults or count < 16 else 'ok', count, len(faults)))
    return 1 if faults or count < 16 else 0


if __name__ == '__main__':
    sys.exit(main())
