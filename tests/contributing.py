#!/usr/bin/env python3
"""contributing: each command of CONTRIBUTING.md does what it says.

What sets up a build is run in an empty folder, where nothing is built: it has to be one in which an edit is
rebuilt soon, so without LTO.  The other commands are run on the build that this test is of.

usage: contributing.py ROOT BUILD
"""
import json
import os
import re
import subprocess
import sys
import tempfile

LINES_MAX = 80


def commands_of(text):
    """Lists of commands, one for each block."""
    return [block.splitlines() for block in re.findall(r'^```\n(.*?)^```$', text, re.M | re.S)]


def run(command, root):
    done = subprocess.run(['bash', '-c', command], cwd=root, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0:
        raise SystemExit('not ok: %s: status %d\n%s' % (command, done.returncode, done.stdout[-2000:]))
    return done.stdout


def check_setup(setup, ninja, root):
    with tempfile.TemporaryDirectory(prefix='sillage-contributing-') as scratch:
        build = os.path.join(scratch, 'build')
        run(setup.replace(' build ', ' %s ' % build), root)
        assert 'Linking target sillage' in run(ninja.replace('-C build', '-n -C ' + build), root)
        with open(os.path.join(build, 'compile_commands.json')) as file:
            compiled = [one['command'] for one in json.load(file)]
        assert len(compiled) > 100 and all('-O1' in one and '-flto' not in one for one in compiled), compiled[0]


def main():
    root, build = sys.argv[1:3]
    with open(os.path.join(root, 'CONTRIBUTING.md'), encoding='utf-8') as file:
        text = file.read()
    first, *blocks = commands_of(text)
    check_setup(*first, root)
    commands = [command for block in blocks for command in block]
    assert len(commands) >= 5, commands
    for command in commands:
        here = re.sub(r'(?<!\S)build(?=$|/|\s)', build, command)
        # What is built is built; the logs of the tests that this one is among stay as they are.
        run(here.replace('ninja ', 'ninja -n ').replace('meson test ', 'meson test --no-rebuild --logbase contributing '), root)
    for name in re.findall(r'`((?:tests|contrib|src)/[\w./-]+|\./\w+)', text):
        assert os.path.exists(os.path.join(root, name)) or name.isupper() or 'NAME' in name, name
    lines = text.count('\n')
    assert lines <= LINES_MAX, '%d lines' % lines
    print('ok contributing: %d commands, %d lines' % (len(first) + len(commands), lines))
    return 0


if __name__ == '__main__':
    sys.exit(main())
