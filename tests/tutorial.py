#!/usr/bin/env python3
"""tutorial: each command of doc/tutorial.md runs, and prints what stands there.

A block of `console` holds a command behind `$ ` and lines of its output in their order; [...] stands
for lines that are left out.  Traces do not change, so each line is compared whole.  A block of `sh`
is for a live session: its command has to come as far as to be refused by a port without a relay.

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


def main():
    sillage, root = os.path.abspath(sys.argv[1]), sys.argv[2]
    with open(os.path.join(root, 'doc', 'tutorial.md'), encoding='utf-8') as file:
        text = file.read()
    blocks = re.findall(r'^```console\n\$ (.*)\n((?:.*\n)*?)```$', text, re.M)
    assert len(blocks) >= 8, 'the blocks were not found'
    live = re.findall(r'^```sh\n((?:.*\n)*?)```$', text, re.M)
    assert live, 'no block of a live session was found'
    status = 0
    for command in live:
        asked = command.rstrip().replace('net://localhost', '--no-retry net://127.0.0.1:1')
        said = run(asked, sillage, tempfile.gettempdir())
        if not any('Connection refused' in line for line in said):
            print('not ok %s\n    %s' % (command, '\n    '.join(said)))
            status = 1
    for command, wanted in blocks:
        why = differs(wanted.splitlines(), run(command, sillage, root))
        if why:
            print('not ok %s\n    %s' % (command, why))
            status = 1
    return status


if __name__ == '__main__':
    sys.exit(main())
