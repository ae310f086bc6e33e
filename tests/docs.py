#!/usr/bin/env python3
"""docs: what is written down is what the program has.

Goal    Options of --help, of the manual page and of the completion are the same, in every command;
        doc/json.md has the keys that the tables have; the README names every command.

usage: docs.py SILLAGE ROOT
"""
import os
import re
import subprocess
import sys


def said(*command):
    return subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout.decode()


def read(root, *path):
    with open(os.path.join(root, *path)) as file:
        return file.read()


def main():
    sillage, root = sys.argv[1:3]
    usage, manual = said(sillage, 'help'), read(root, 'doc', 'sillage.1.scd')
    commands = [name for name in re.findall(r'^  (\w+) +\S', usage, re.M) if name != 'help']
    faults, options = [], set()
    for command in commands:
        text = said(sillage, command, '--help')
        found = set(re.findall(r'--([a-z-]+)', text.split('Examples:')[0]))
        completion = re.search(r"^    %s\) options='(.*)'" % command, read(root, 'contrib', 'sillage.bash'), re.M)
        if not completion or set(completion.group(1).replace('--', '').split()) != found:
            faults.append('the completion of %s is old: sillage help completion > contrib/sillage.bash' % command)
        if 'sillage %s*' % command not in manual or 'sillage %s' % command not in read(root, 'README.md'):
            faults.append('%s is not in the manual page, or not in the README' % command)
        options |= found
    documented = set(re.findall(r'\*--([a-z-]+)\*', manual))
    faults += ['--%s is not in the manual page' % option for option in sorted(options - documented - {'help'})]
    faults += ['--%s is in the manual page only' % option for option in sorted(documented - options - {'version'})]
    if said(sillage, 'help', 'json') not in read(root, 'doc', 'json.md'):
        faults.append('doc/json.md has other keys than `sillage help json`')
    for name in re.findall(r'^(\w+) ', said(sillage, 'analyze', '-a', 'help'), re.M):
        if not re.search(r'\b%s\b' % name, manual):
            faults.append('the analysis %s is not in the manual page' % name)
    for fault in faults:
        print('not ok: ' + fault)
    print('%s docs: %d commands, %d options' % ('not ok' if faults else 'ok', len(commands), len(options)))
    return 1 if faults or len(commands) < 6 else 0


if __name__ == '__main__':
    sys.exit(main())
