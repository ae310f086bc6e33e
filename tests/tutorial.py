#!/usr/bin/env python3
"""tutorial: each command of the README and the tutorials runs, and prints what stands there.

A block holds commands behind `$ `, each with lines of its output in their order; [...] stands for
lines that are left out.  Traces do not change, so each line is compared whole.  Commands on a relay
are left out, but for the blocks `sh` of doc/tutorial.md, which are for live sessions: their command has to
come as far as to be refused by a port without a relay.

usage: tutorial.py SILLAGE ROOT
"""
import os
import re
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


def outputs(commands, sillage, root):
    """The lines of each command's output.  $? is that of the command before."""
    script = ''.join('%s\n{ was=$?; echo "%s"; (exit $was); }\n' % (command, END) for command, _ in commands)
    found, lines = [], []
    for line in run(script, sillage, root):
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


def main():
    sillage, root = os.path.abspath(sys.argv[1]), sys.argv[2]
    faults, count = check_live(sillage, root), 0
    for name in ('README.md', 'doc/tutorial.md', 'doc/ci.md'):
        blocks = list(blocks_of(root, name))
        assert blocks, '%s: no blocks were found' % name
        for commands in blocks:
            got = outputs(commands, sillage, root)
            for (command, wanted), lines in zip(commands, got):
                count += 1
                why = differs(wanted, lines)
                if why:
                    faults.append('%s: %s\n    %s' % (name, command, why))
    for fault in faults:
        print('not ok ' + fault)
    print('%s: %d commands, %d faults' % ('not ok' if faults or count < 13 else 'ok', count, len(faults)))
    return 1 if faults or count < 13 else 0


if __name__ == '__main__':
    sys.exit(main())
