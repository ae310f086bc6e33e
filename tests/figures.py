#!/usr/bin/env python3
"""figures: the examples of doc/expressions.md are read as it says, or refused.

usage: figures.py SILLAGE DOCUMENT
"""
import re
import subprocess
import sys


def lines(text, kind):
    """(example, what is said of it) of each line of the blocks of this kind."""
    for block in re.findall(r'^```%s\n(.*?)^```' % kind, text, re.S | re.M):
        for line in block.splitlines():
            example, _, said = line.partition(' # ')
            yield example.strip(), said.strip()


def check(program, expression):
    done = subprocess.run([program, 'triggers', '--check', expression], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    return done.returncode, done.stderr.decode()


def main():
    program, document = sys.argv[1:]
    with open(document) as file:
        text = file.read()
    figures, refused, values = (list(lines(text, kind)) for kind in ('figures', 'refused', 'values'))
    bad = ['%s: no examples' % kind for kind, found in
           (('figures', figures), ('refused', refused), ('values', values)) if not found]
    # auto() has no unit: it fits behind any figure.
    for expression in [figure + ' > auto(1e-4)' for figure, _ in figures] + [one for one, _ in values]:
        status, said = check(program, expression)
        if status != 0:
            bad.append('%s: status %d: %s' % (expression, status, said.strip()))
    for figure, why in refused:
        status, said = check(program, figure + ' > 1')
        if status != 1 or why not in said:
            bad.append('%s: status %d: %s; expected: %s' % (figure, status, said.strip(), why))
    # What is no file is an expression, also where it lacks a comparison.
    for expression, why in (('x == 5ms', 'no analysis has'), ('cpu.busy = 1', 'expected >'), ('cpu.busy', 'expected >'),
                            ('cpu', 'cpu: No such file')):
        status, said = check(program, expression)
        if status != 1 or why not in said:
            bad.append('%s: status %d: %s' % (expression, status, said.strip()))
    for one in bad:
        print('not ok: ' + one)
    print('%s figures: %d examples' % ('not ok' if bad else 'ok', len(figures + refused + values)))
    return 1 if bad else 0


if __name__ == '__main__':
    sys.exit(main())
