#!/usr/bin/env python3
"""expressions: each example of events in doc/expressions.md finds what stands behind it, or is refused so,
by overview and export, too.

Each word in quotes of their grammar stands in an example.  Figures: figures.py.

usage: expressions.py SILLAGE ROOT
"""
import json
import os
import re
import shlex
import subprocess
import sys

TRACES = ['tests/data/io-mix', 'tests/data/ust']
EXAMPLE = re.compile(r'^((?:report )?--.*?\S) +([#!]) (.+)$')


def examples(text):
    """(option and its text, kind, what stands behind it)."""
    for language, block in re.findall(r'^```(\w*)\n(.*?)^```$', text, re.M | re.S):
        for line in [] if language else block.replace('\\\n ', '').splitlines():
            found = EXAMPLE.match(line)
            assert found, 'not an example: %s' % line
            yield found.groups()


def ended(line):
    """Periods, executions and calls that ended, by a line of JSON."""
    found = json.loads(line)
    if found['type'] == 'report':
        return found['jobs']['count']
    return sum(found[name]['calls' if name == 'calls' else 'ended'] or 0 for name in ('periods', 'jobs', 'calls') if name in found) if found['type'] == 'total' else 0


def fault_of(sillage, root, written, kind, wanted):
    words = shlex.split(written)
    report = words[0] == 'report'
    command = [sillage, *(words if report else ['analyze', *words]), '-q', '-f', 'json', *TRACES[:1 if report else 2]]
    if kind == '!' and not report and '--call' not in words:
        for other in ('overview', '-q'), ('export', '-o', os.devnull):
            refused = subprocess.run([sillage, *other, *words, *TRACES], cwd=root, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            if refused.returncode == 0 or wanted not in refused.stderr.decode():
                return other[0], refused.returncode, refused.stderr.decode()
    done = subprocess.run(command, cwd=root, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    said = done.stderr.decode()
    if kind == '!':
        return None if done.returncode != 0 and wanted in said else '%d %s' % (done.returncode, said)
    if done.returncode != 0 or said:
        return said
    count = sum(ended(line) for line in done.stdout.splitlines())
    return None if count == int(wanted) else count


def unused(text):
    """Words of the grammar that no example has."""
    grammar = re.search(r'^```ebnf\n(.*?)^```$', text, re.M | re.S).group(1)
    lines = ' '.join(written for written, kind, _ in examples(text))
    words = {one or other for one, other in re.findall(r'"([^"\n]+)"|\'([^\'\n]+)\'', grammar.split('\nname ')[0])}
    return sorted(word for word in words if word not in lines)


def main():
    sillage, root = os.path.abspath(sys.argv[1]), sys.argv[2]
    with open(os.path.join(root, 'doc', 'expressions.md'), encoding='utf-8') as file:
        text = file.read()
    faults, count = ['the grammar has %s, and no example has' % word for word in unused(text)], 0
    for written, kind, wanted in examples(text):
        count += 1
        fault = fault_of(sillage, root, written, kind, wanted)
        if fault is not None:
            faults.append('%s\n    wanted %s %s, found %s' % (written, kind, wanted, fault))
    for fault in faults:
        print('not ok ' + fault)
    print('%s expressions: %d examples, %d faults' % ('not ok' if faults else 'ok', count, len(faults)))
    return 1 if faults or count < 20 else 0


if __name__ == '__main__':
    sys.exit(main())
