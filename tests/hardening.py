#!/usr/bin/env python3
"""An optimized program has what makes a fault hard to use: read from the file itself.

It reads bytes from sockets and from files of others: a fault must end it, and be of no use.
"""
import re
import subprocess
import sys

# What readelf prints, and what would be absent without it.
EXPECTED = (
    (r'Type: +DYN ', 'it is not position-independent (-fPIE, -pie)'),
    (r'FLAGS_1\W.*\bPIE\b', 'it is not position-independent (-fPIE, -pie)'),
    (r'FLAGS_1\W.*\bNOW\b', 'symbols are bound when they are first used (-z now)'),
    (r'^ +GNU_RELRO ', 'its tables stay writable (-z relro)'),
    (r'^ +GNU_STACK .* RW +0x', 'its stack can be executed'),
    (r'\bUND __stack_chk_fail\b', 'nothing guards the stack (-fstack-protector-strong)'),
    (r'\bUND __(mem|str|[a-z]*print|snprint)\w*_chk\b', 'no length is checked (_FORTIFY_SOURCE)'),
)


def lacks(program):
    read = subprocess.run(['readelf', '-W', '-h', '-l', '-d', '--dyn-syms', program],
                          stdout=subprocess.PIPE, check=True).stdout.decode()
    return [why for pattern, why in EXPECTED if not re.search(pattern, read, re.M)]


def main():
    program, = sys.argv[1:]
    faults = lacks(program)
    for why in faults:
        print('%s: %s' % (program, why))
    print('%s hardening: %d properties of %s' % ('not ok' if faults else 'ok', len(EXPECTED), program))
    return 1 if faults else 0


if __name__ == '__main__':
    raise SystemExit(main())
